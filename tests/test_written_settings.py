"""What tools/write_settings.py writes is up to date with the declared parameters."""

import importlib.util
from pathlib import Path

import pytest
import yaml

from napari_shape_ensembles import Outlines, Settings
from napari_shape_ensembles.parameters import parameters_of

ROOT = Path(__file__).resolve().parents[1]
REMEDY = "run python tools/write_settings.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("write_settings", ROOT / "tools" / "write_settings.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_settings_is_up_to_date_and_names_all(tool):
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert page == tool.page(), REMEDY
    for cls in (Outlines, Settings):
        assert all(f"| `{name}` |" in page for name in parameters_of(cls))


def test_the_preferences_of_napari_agree_with_the_settings(tool):
    manifest = (ROOT / "src" / "napari_shape_ensembles" / "napari.yaml").read_text(encoding="utf-8")
    assert manifest == tool.manifest(), REMEDY
    declared = yaml.safe_load(manifest)["contributions"]["configurations"]["comparison"]["properties"]
    assert set(declared) == {*tool.PREFERRED, "colormap"}
    for name in tool.PREFERRED:
        assert declared[name]["default"] == getattr(Settings(), name)
        for end in ("minimum", "maximum"):
            if end in declared[name]:
                Settings(**{name: declared[name][end]})
