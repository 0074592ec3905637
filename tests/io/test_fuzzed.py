"""Files that `tools/fuzz_readers.py` found to end otherwise than in a sentence, kept so that they stay mended."""

from pathlib import Path

import pytest

from napari_shape_ensembles import Comparison
from napari_shape_ensembles.io import load_settings, read_curves, read_ebsd, read_image

FILES = sorted((Path(__file__).parent / "fuzzed").iterdir())
READERS = {".tif": read_image, ".png": read_image, ".ang": read_ebsd, ".toml": load_settings}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_that_once_broke_a_reader_is_refused_by_name(path):
    read = Comparison.load if path.name.startswith("comparison") else READERS.get(path.suffix, read_curves)
    with pytest.raises(ValueError, match=path.name):
        read(path)
