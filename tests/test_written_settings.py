"""The files written by tools/write_settings.py match the declared parameters."""

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


def test_the_settings_page_is_up_to_date_and_complete(tool):
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    assert page == tool.page(), REMEDY
    for cls in (Outlines, Settings):
        assert all(f"| `{name}` |" in page for name in parameters_of(cls))


def test_napari_preferences_match_the_settings(tool):
    manifest = (ROOT / "src" / "napari_shape_ensembles" / "napari.yaml").read_text(encoding="utf-8")
    assert manifest == tool.manifest(), REMEDY
    declared = yaml.safe_load(manifest)["contributions"]["configurations"]["comparison"]["properties"]
    assert set(declared) == {*tool.PREFERRED, "segmenters", "colormap"}
    for name in tool.PREFERRED:
        assert declared[name]["default"] == getattr(Settings(), name)
        for end in ("minimum", "maximum"):
            if end in declared[name]:
                Settings(**{name: declared[name][end]})


@pytest.mark.parametrize("check", [True, False])
def test_check_reports_outdated_files_and_writes_nothing(tool, tmp_path, monkeypatch, capsys, check):
    page, manifest = tmp_path / "settings.md", tmp_path / "napari.yaml"
    page.write_text("old", encoding="utf-8")
    manifest.write_text(tool.manifest(), encoding="utf-8")
    for name, value in {"ROOT": tmp_path, "PAGE": page, "MANIFEST": manifest, "COPY": manifest}.items():
        monkeypatch.setattr(tool, name, value)
    monkeypatch.setattr("sys.argv", ["write_settings.py", *["--check"] * check])
    assert tool.main() is check
    assert capsys.readouterr().out == f"{'out of date' if check else 'written'}: settings.md\n"
    assert page.read_text(encoding="utf-8") == ("old" if check else tool.page())
    assert tool.main() is check
    assert (capsys.readouterr().out == "Everything is up to date.\n") is not check
