"""Conventions for the whole project: imports, manifest, dependencies, and names that no file may contain."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import metadata, packages_distributions, requires
from pathlib import Path

import npe2
import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "napari_shape_ensembles"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
SCREEN = ("napari", "qtpy", "magicgui", "superqt", "vispy", "PyQt6", "PySide6")


def run_python(code):
    """Output of a separate process, which compiles no kernels: only its imports matter."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


@cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path):
    return list(ast.walk(parsed(path)))


def imported(path, *, at_once=False):
    """What a file imports by its whole name, such as "numpy.typing.NDArray"; `at_once`, when it is itself imported."""
    for node in parsed(path).body if at_once else nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{one.name}" for one in node.names)


def libraries(path, **how):
    """Libraries that a file imports: top module -> the distributions that have it."""
    tops = {name.split(".")[0] for name in imported(path, **how)} - sys.stdlib_module_names - {PACKAGE.name}
    return {top: distributions()[top] for top in tops}


@cache
def distributions():
    """Top module -> the installed distributions that have it."""
    found = packages_distributions().items()
    return {top: {name.lower().replace("_", "-") for name in packages} for top, packages in found}


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_a_session_without_window_imports_only_what_it_needs():
    """The package alone imports no heavy library, its command line none that is slow; used, neither napari nor Qt.

    Threads that use it for the first time at once do not import from one another's half of a subpackage.
    """
    names = ["compare", "explain", "io", "Reference", "samples", "shapes", "smoothing_study", "rank_suspects"]
    code = f"""
import pkgutil, sys
import napari_shape_ensembles as package
print([name for name in ("numpy", "scipy", "skimage", "pandas", "pint", "numba") if name in sys.modules])
import napari_shape_ensembles.cli
print([name for name in ("pandas", "scipy.stats", "sklearn", "matplotlib", "pint", "numba") if name in sys.modules])
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
for name in [name for name in sys.modules if name.split(".")[0] == package.__name__]:
    del sys.modules[name]
import napari_shape_ensembles as package
together = Barrier({len(names)})
def first_use(name):
    together.wait()
    return getattr(package, name).__name__.split(".")[-1]
with ThreadPoolExecutor({len(names)}) as pool:
    print(list(pool.map(first_use, [name for name in {names} if name in dir(package)])))
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
    assert run_python(code).splitlines() == ["[]", "[]", str(names), "[]"]


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
    (floor,) = {
        one.specifier
        for one in map(Requirement, requires("napari-shape-ensembles"))
        if one.name == "napari" and one.specifier
    }
    assert f"needs napari {floor}, and this is 0.6.4" in said
    assert 'pip install "napari-shape-ensembles[napari]"' in said


def test_the_viewer_uses_public_names_of_its_host_only():
    """No private attribute but of our own classes, no class is swapped, and the garbage collector is left alone."""
    every = [node for file in PACKAGE.rglob("*.py") for node in nodes_of(file)]
    ours = {node.attr for node in every if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    ours |= {node.name for node in every if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    ours |= {node.id for node in every if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for file in (PACKAGE / "viewer").rglob("*.py"):
        nodes = nodes_of(file)
        used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        assert not {name for name in used - ours if name.startswith("_") and not name.startswith("__")}, file
        imported = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
        imported |= {one.name for node in nodes if isinstance(node, ast.Import) for one in node.names}
        assert "gc" not in imported, file
        assert not {name for name in imported if "._" in name}, file
        assert "__class__" not in {
            node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        }, file
        texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        assert not texts & {"__class__", "_qt_window", "_qt_viewer"}, file


def names(requirements):
    return {re.match(r"[\w-]+", line)[0] for line in requirements}


def test_licences_of_dependencies_are_permissive():
    asked = names(PROJECT["dependencies"] + PROJECT["optional-dependencies"]["napari"])
    assert len(asked) > 15
    listed = (ROOT / "docs" / "contributing" / "releasing.md").read_text(encoding="utf-8").partition("\n| license |")[2]
    assert not [name for name in asked if name not in listed]
    for name in asked:
        about = metadata(name)
        words = [about.get("License-Expression"), about.get("License"), *(about.get_all("Classifier") or [])]
        stated = " ".join(word.splitlines()[0] for word in words if word)
        assert re.search(r"BSD|MIT|HPND|Apache|PSF|Python Software Foundation", stated), f"{name}: {stated}"
        assert not re.search(r"GPL|General Public", stated), f"{name}: {stated}"


def test_every_imported_library_is_declared():
    base, window = names(PROJECT["dependencies"]), names(EXTRAS["napari"])
    others = names(line for extra, lines in EXTRAS.items() if extra != "napari" for line in lines)
    missing = []
    for path in PACKAGE.rglob("*.py"):
        in_window = path.is_relative_to(PACKAGE / "viewer")
        declared = base | (window if in_window else others)
        missing += [(path.name, top) for top, packages in libraries(path).items() if not packages & declared]
        if not in_window:
            needed = libraries(path, at_once=True)
            missing += [(path.name, top, "at once") for top, packages in needed.items() if not packages & base]
    assert not missing


def test_mypy_runs_without_the_libraries_of_extras():
    """What `make lint` needs in the job `lint`, where only the extra `dask` and the group `lint` are installed."""
    installed = names(PROJECT["dependencies"] + EXTRAS["dask"] + PYPROJECT["dependency-groups"]["lint"])
    overrides = [one for one in PYPROJECT["tool"]["mypy"]["overrides"] if one.get("ignore_missing_imports")]
    skipped = {module for one in overrides for module in one["module"]}
    asked = {top for path in PACKAGE.rglob("*.py") for top, owns in libraries(path).items() if not owns & installed}
    assert not {f"{top}.*" for top in asked} - skipped


def test_headless_tests_import_neither_napari_nor_qt():
    """What the jobs `headless` and `sdist` collect, directly or through a module beside this one."""
    window = re.compile(rf"({'|'.join(SCREEN)}|npe2|{PACKAGE.name}\.viewer)\b")
    helpers = {path.stem: path for path in TESTS.glob("*.py")}

    def needed(path):
        for name in imported(path):
            yield name
            if helper := helpers.get(name.split(".")[0]):
                yield from needed(helper)

    left_out = TESTS / "viewer", TESTS / "test_project.py", TESTS / "docks.py"
    collected = [path for path in TESTS.rglob("*.py") if not any(map(path.is_relative_to, left_out))]
    assert len(collected) > 100
    found = {(path.name, name) for path in collected for name in needed(path) if window.match(name)}
    assert not found


def private_names():
    """Names with a leading underscore that the package gives to something of its own."""
    for node in (node for path in PACKAGE.rglob("*.py") for node in nodes_of(path)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


def touched(path, private):
    """Where a file imports one of these names, takes it of an object, or patches it by its name."""
    yield from (name for name in imported(path) if name.startswith(PACKAGE.name) and private & {*name.split(".")})
    for node in nodes_of(path):
        if isinstance(node, ast.Attribute):
            if node.attr in private and ast.unparse(node.value) not in ("self", "cls"):  # of a class of the tests
                yield ast.unparse(node)
        elif isinstance(node, ast.Constant) and str(node.value).split(".")[-1] in private:
            yield node.value


def test_tests_use_no_private_names_of_the_package():
    private = {name for name in private_names() if name.startswith("_") and not name.endswith("_")}
    found = [(path.name, name) for path in TESTS.rglob("*.py") for name in touched(path, private)]
    assert not found


def module_of(path):
    """Dotted name of the module in a file; a stub is part of the module that it describes."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def own_imports(path, modules):
    """Set of the package's modules that a file imports: at the top, in a function, or for the type checker only."""
    package = module_of(path).split(".")[: None if path.stem == "__init__" else -1]
    found = set()
    for node in nodes_of(path):
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
        graph.setdefault(module_of(path), set()).update(own_imports(path, modules) - {module_of(path)})
    assert graph["napari_shape_ensembles.outlines.outlines"] >= {"napari_shape_ensembles.outlines.recipe"}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"imported by the next, in a circle: {' > '.join(error.args[1])}")


def test_the_manifest_is_valid_and_all_its_commands_exist():
    manifest = npe2.PluginManifest.from_distribution("napari-shape-ensembles")
    for command in manifest.contributions.commands:
        module, name = command.python_name.split(":")
        assert callable(getattr(__import__(module, fromlist=[name]), name))
    assert len(manifest.contributions.commands) <= 14
    assert len(manifest.contributions.widgets) == 3
    assert manifest.contributions.sample_data


def test_the_top_level_manifest_is_a_copy_of_the_one_in_the_package_and_no_link():
    # Git checks a link out as a text file on Windows.
    assert not (ROOT / "napari.yaml").is_symlink()
    package = ROOT / "src" / "napari_shape_ensembles" / "napari.yaml"
    assert (ROOT / "napari.yaml").read_text(encoding="utf-8") == package.read_text(encoding="utf-8")
    assert "120000" not in {line.split()[0] for line in git("ls-files", "--stage").splitlines()}


def test_only_the_recipe_for_conda_states_a_version():
    """The version is that of the tag; conda-forge needs it in the recipe, which is built from the source archive."""
    stated = re.compile(r"^\s*(?:version|__version__) *[:=] *[\"']?(\d+\.[\w.]+)", re.MULTILINE)
    files = git("ls-files", "*.toml", "*.yaml", "*.yml", "*.cff", "*.py", "*.cfg").split()
    found = {name: stated.findall((ROOT / name).read_text(encoding="utf-8")) for name in files}
    assert [name for name, said in found.items() if said] == ["tools/conda-forge/recipe.yaml"]


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
