"""Conventions for the whole project: layering, manifest, dependencies, and names that no file may contain."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import metadata, version
from pathlib import Path

import npe2

import napari_shape_ensembles

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = str(Path(sys.executable).parent)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SCREEN = ("napari", "qtpy", "magicgui", "superqt", "vispy", "PyQt6", "PySide6")


def run_python(code):
    """Output of a separate process, which compiles no kernels: only its imports matter."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_everything_but_the_viewer_imports_without_napari_or_qt():
    code = f"""
import pkgutil, sys
import napari_shape_ensembles as package
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    if ".viewer" not in module.name:
        __import__(module.name)
import numpy as np
from napari_shape_ensembles import *
u = np.linspace(0, 6, 40)
blobs = [np.stack([np.cos(u), (1 + i / 9) * np.sin(u) + np.cos(2 * u) / 3], axis=-1) for i in range(12)]
compare(Ensemble(blobs[:6]), Ensemble(blobs[6:]), Settings(landmarks=20, permutations=20))
image = np.zeros((60, 60))
image[10:50, 20:40] = 1
assert len(extract_curves(segment(image))) == 1
print([name for name in {SCREEN!r} if name in sys.modules])
"""
    assert run_python(code).strip() == "[]"


def test_an_old_napari_is_rejected_with_the_remedy():
    code = """
import importlib.metadata
importlib.metadata.version = lambda name: "0.6.4"
try:
    import napari_shape_ensembles.viewer
except ImportError as error:
    print(error)
"""
    said = run_python(code)
    assert "needs napari >=0.7.1, and this is 0.6.4" in said
    assert 'pip install "napari-shape-ensembles[napari]"' in said


def test_importing_the_package_imports_no_heavy_library():
    code = """
import sys, napari_shape_ensembles
print([name for name in ("numpy", "scipy", "skimage", "pandas", "pint") if name in sys.modules])
"""
    assert run_python(code).strip() == "[]"


def names(requirements):
    return {re.match(r"[\w-]+", line)[0] for line in requirements}


def test_licences_of_dependencies_are_permissive():
    asked = names(PROJECT["dependencies"] + PROJECT["optional-dependencies"]["napari"])
    assert len(asked) > 15
    for name in asked:
        about = metadata(name)
        words = [about.get("License-Expression"), about.get("License"), *(about.get_all("Classifier") or [])]
        stated = " ".join(word.splitlines()[0] for word in words if word)
        assert re.search(r"BSD|MIT|Apache|PSF|Python Software Foundation", stated), f"{name}: {stated}"
        assert not re.search(r"GPL|General Public", stated), f"{name}: {stated}"


def test_packages_import_only_lower_layers():
    linter = shutil.which("lint-imports", path=SCRIPTS)
    done = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout


def test_every_public_name_exists():
    for name in napari_shape_ensembles.__all__:
        assert getattr(napari_shape_ensembles, name).__doc__


def test_the_manifest_is_valid_and_all_its_commands_exist():
    manifest = npe2.PluginManifest.from_distribution("napari-shape-ensembles")
    for command in manifest.contributions.commands:
        module, name = command.python_name.split(":")
        assert callable(getattr(__import__(module, fromlist=[name]), name))
    assert [item.command for item in manifest.contributions.menus["napari/layers/measure"]]
    assert len(manifest.contributions.sample_data) == 9


def test_the_top_level_manifest_links_to_the_one_in_the_package():
    # Ask git: a checkout on Windows may hold a text file instead of the symlink.
    assert git("ls-files", "--stage", "napari.yaml").startswith("120000")
    assert git("cat-file", "blob", ":napari.yaml") == "src/napari_shape_ensembles/napari.yaml"


def test_the_version_is_stated_once():
    assert version("napari-shape-ensembles") == PROJECT["version"]
    stating = git("grep", "-lE", "^(version|__version__)\\b *[:=] *[\"']?[0-9]+\\.").split()
    assert stating == ["pyproject.toml"]


def test_base_dependencies_are_those_of_the_headless_packages():
    assert not names(PROJECT["dependencies"]) & set(SCREEN)


def test_no_qt_binding_is_installed_beside_an_existing_napari():
    asked = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["napari"]
    assert not [line for line in asked if re.match(r"(?i)pyqt|pyside|napari\[(all|pyqt|pyside|qt)", line)]


def tracked_texts():
    for name in git("grep", "--cached", "-I", "--name-only", "-z", "-e", "").split("\0")[:-1]:
        yield name, (ROOT / name).read_text(encoding="utf-8")


def test_no_file_names_a_host_or_package_registry():
    hosts = "|".join([r"pypi\." + "org", "python" + "hosted", r"npmjs\." + "org", r"deb\." + "debian"])
    forbidden = re.compile(rf"(?<![\w./])/(work|root|home|farm|Users|tmp/bash_jobs)\b|{hosts}", re.IGNORECASE)
    found = [(name, match.group()) for name, text in tracked_texts() for match in forbidden.finditer(text)]
    assert not found
