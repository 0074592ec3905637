"""What holds for the project as a whole: the order of the packages, the manifest, what no file may name."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import metadata, version
from pathlib import Path

import npe2
import pytest

import napari_shape_ensembles

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
SCRIPTS = str(Path(sys.executable).parent)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SCREEN = ("napari", "qtpy", "magicgui", "superqt", "vispy", "PyQt6", "PySide6")


def run_python(code):
    """What a process of its own prints. It compiles no kernels: it is the imports that count."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_all_but_the_viewer_loads_without_napari_or_qt():
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


def test_an_older_napari_is_refused_with_the_remedy():
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


def test_importing_the_package_loads_no_heavy_library():
    code = """
import sys, napari_shape_ensembles
print([name for name in ("numpy", "scipy", "skimage", "pandas", "pint") if name in sys.modules])
"""
    assert run_python(code).strip() == "[]"


def names(requirements):
    return {re.match(r"[\w-]+", line)[0] for line in requirements}


def test_dependencies_ask_no_more_than_bsd_does():
    asked = names(PROJECT["dependencies"] + PROJECT["optional-dependencies"]["napari"])
    assert len(asked) > 15
    for name in asked:
        about = metadata(name)
        words = [about.get("License-Expression"), about.get("License"), *(about.get_all("Classifier") or [])]
        stated = " ".join(word.splitlines()[0] for word in words if word)
        assert re.search(r"BSD|MIT|Apache|PSF|Python Software Foundation", stated), f"{name}: {stated}"
        assert not re.search(r"GPL|General Public", stated), f"{name}: {stated}"


def test_rooms_import_only_the_rooms_above_them():
    linter = shutil.which("lint-imports", path=SCRIPTS)
    done = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout


def module_of(path):
    """Dotted name of the module in a file; a stub is part of the module that it describes."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def imported(path, modules):
    """Set of the package's modules that a file imports: at the top, in a function, or for the type checker only."""
    package = module_of(path).split(".")[: None if path.stem == "__init__" else -1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [[alias.name] for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            names = [[f"{source}.{alias.name}", source] for alias in node.names]  # a module, or what is in one
        else:
            continue
        found |= {next(name for name in known if name in modules) for known in names if modules & {*known}}
    return found


def test_no_modules_import_each_other_in_a_circle():
    files = [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.pyi")]
    modules, graph = {module_of(path) for path in files}, {}
    for path in files:
        graph.setdefault(module_of(path), set()).update(imported(path, modules) - {module_of(path)})
    assert graph["napari_shape_ensembles.outlines.segment"] >= {"napari_shape_ensembles.outlines.recipe"}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"imported by the next, in a circle: {' > '.join(error.args[1])}")


def test_every_public_name_is_there():
    for name in napari_shape_ensembles.__all__:
        assert getattr(napari_shape_ensembles, name).__doc__


def test_the_manifest_is_valid_and_all_its_commands_exist():
    manifest = npe2.PluginManifest.from_distribution("napari-shape-ensembles")
    for command in manifest.contributions.commands:
        module, name = command.python_name.split(":")
        assert callable(getattr(__import__(module, fromlist=[name]), name))
    assert [item.command for item in manifest.contributions.menus["napari/layers/measure"]]
    assert len(manifest.contributions.sample_data) == 9


def test_the_manifest_at_the_top_is_a_link_to_the_one_in_the_package():
    # Asked of git: a checkout on Windows may hold a text file in place of the link.
    assert git("ls-files", "--stage", "napari.yaml").startswith("120000")
    assert git("cat-file", "blob", ":napari.yaml") == "src/napari_shape_ensembles/napari.yaml"


def test_the_version_stands_in_one_place():
    assert version("napari-shape-ensembles") == PROJECT["version"]
    stating = git("grep", "-lE", "^(version|__version__)\\b *[:=] *[\"']?[0-9]+\\.").split()
    assert stating == ["pyproject.toml"]


def test_base_dependencies_are_those_of_the_rooms_without_a_screen():
    assert not names(PROJECT["dependencies"]) & set(SCREEN)


def test_no_binding_of_qt_is_installed_beside_an_existing_napari():
    asked = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["napari"]
    assert not [line for line in asked if re.match(r"(?i)pyqt|pyside|napari\[(all|pyqt|pyside|qt)", line)]


def tracked_texts():
    for name in git("grep", "--cached", "-I", "--name-only", "-z", "-e", "").split("\0")[:-1]:
        yield name, (ROOT / name).read_text(encoding="utf-8")


def test_no_file_names_a_machine_or_a_package_registry():
    hosts = "|".join([r"pypi\." + "org", "python" + "hosted", r"npmjs\." + "org", r"deb\." + "debian"])
    forbidden = re.compile(rf"(?<![\w./])/(work|root|home|farm|Users|tmp/bash_jobs)\b|{hosts}", re.IGNORECASE)
    found = [(name, match.group()) for name, text in tracked_texts() for match in forbidden.finditer(text)]
    assert not found
