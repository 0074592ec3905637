"""From files to ensembles: images are segmented and traced, files of curves are read; one file in memory at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..archive import ContentError
from ..outlines import Ensemble
from .calibration import Calibration
from .curve_files import FORMATS, read_curves
from .images import ENDINGS, read_image
from .settings_file import SettingsFile

# In a folder these are more often notes and settings than curves.
_AMBIGUOUS = (".txt", ".json", ".npy")
_IN_FOLDERS = tuple(ending for ending in (*ENDINGS, *FORMATS) if ending not in _AMBIGUOUS)


@dataclass(frozen=True)
class Reading:
    """How files become ensembles.

    Attributes
    ----------
    settings : SettingsFile
        Its recipe is used here; a pixel size in it takes the place of what the files state.
    labels : bool
        Images hold labels, or masks, rather than grey levels.
    """

    settings: SettingsFile = field(default_factory=SettingsFile)
    labels: bool = False


@dataclass(frozen=True, eq=False)
class Labelled:
    """Labels of an image, and the size of its pixels."""

    labels: NDArray[Any]
    calibration: Calibration
    name: str


def files_of(path: Path, *, groups: bool) -> list[Path]:
    """Files of one sample: the file itself, or of a folder the images and curves in it, by name.

    Raises
    ------
    ValueError
        For a folder that is not announced, or one without files that can be read.
    FileNotFoundError
        When there is no such file or folder.
    """
    try:
        path.name.encode()
    except UnicodeEncodeError as error:
        raise ContentError(f"the name of {path.name!r} is no text that can be written down: rename it") from error
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}")
    if not path.is_dir():
        return [path]
    if not groups:
        raise ContentError(f"{path} is a folder: with --groups each folder is one sample of several images")
    found = sorted(item for item in path.iterdir() if item.suffix.lower() in _IN_FOLDERS and item.name[0] != ".")
    if not found:
        raise ContentError(f"{path} holds no images and no curves ({', '.join(_IN_FOLDERS)})")
    return found


def labelled(path: Path, reading: Reading) -> Labelled:
    """Labels of an image file: read, or found by segmentation.

    Raises
    ------
    ValueError
        When the file is no image or cannot be segmented, naming it.
    """
    outlines = reading.settings.outlines
    given = outlines.pixel_scale and Calibration(outlines.pixel_scale, str(outlines.unit), "as given")
    image = read_image(path, given)
    pixels, calibration = image.pixels, image.calibration
    if not reading.labels:
        with named(path.name):
            return Labelled(outlines.labels(pixels), calibration, image.name)
    if pixels.ndim != 2:
        raise ContentError(f"{path.name}: labels have one plane of whole numbers, not colours")
    values = np.unique(pixels)  # two of them are a mask, whatever the higher one is
    is_mask = len(values) == 2 and values[0] == 0
    return Labelled(pixels == values[-1] if is_mask else pixels, calibration, image.name)


def traced(found: Labelled, reading: Reading) -> Ensemble:
    """The outlines of labels, in the unit of their image."""
    with named(found.name):
        return reading.settings.outlines.trace(
            found.labels, scale=found.calibration.scale, unit=found.calibration.unit, name=found.name
        )


@contextmanager
def named(what: str) -> Iterator[None]:
    """Errors name what was being read."""
    try:
        yield
    except ValueError as error:
        raise ContentError(f"{what}: {error}") from error


def ensemble_of_file(path: Path, reading: Reading) -> Ensemble:
    """The curves of one file, an image or a file of curves.

    Raises
    ------
    ValueError
        When it cannot be read, segmented or traced, naming it.
    """
    if path.suffix.lower() in ENDINGS:
        return traced(labelled(path, reading), reading)
    return read_curves(path).ensemble
