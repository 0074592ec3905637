"""Every public name is documented: an example that runs, and a place in docs/api.md."""

import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import napari_shape_ensembles
from napari_shape_ensembles import io, samples, shapes
from napari_shape_ensembles.shapes import grassmann, product, spd

API = Path(__file__).parents[1] / "docs" / "api.md"
PACKAGE = "napari_shape_ensembles"
SOURCE = Path(napari_shape_ensembles.__file__).parent
PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (napari_shape_ensembles, io, shapes)
    for name in module.__all__
} | {
    f"{module.__name__}.{name}": value
    for module in (grassmann, product, spd)
    for name, value in vars(module).items()
    if inspect.isfunction(value) and not name.startswith("_") and value.__module__ == module.__name__
}
CALLABLE = [name for name, value in PUBLIC.items() if inspect.isfunction(value) or inspect.isclass(value)]
MODULES = [
    ".".join((PACKAGE, *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
    for path in sorted(SOURCE.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8") and "viewer" not in path.parts
]


@pytest.mark.parametrize("name", CALLABLE)
def test_a_public_name_has_a_summary_and_an_example(name):
    words = inspect.getdoc(PUBLIC[name])
    assert words.splitlines()[0].endswith((".", "?"))
    assert re.search(r"^Examples\n-{8}\n+>>> ", words, flags=re.MULTILINE)


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_run(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    found = doctest.testmod(import_module(module))
    assert found.attempted
    assert not found.failed


def documented():
    """Full names of what docs/api.md documents."""
    module = ""
    for directive, name in re.findall(r"^\.\. (\w+):: (\S+)$", API.read_text(encoding="utf-8"), flags=re.MULTILINE):
        if directive == "currentmodule":
            module = name
        elif directive == "automodule":
            members = vars(import_module(name)).values()
            yield from (f"{name}.{member.__name__}" for member in members if inspect.isfunction(member))
        else:
            yield name if name.startswith(PACKAGE) else f"{module}.{name}"


def test_every_public_name_is_in_the_reference():
    names = [f"{module.__name__}.{name}" for module in (napari_shape_ensembles, io, samples) for name in module.__all__]
    assert not sorted({*names} - {*documented()})


def test_the_reference_documents_nothing_that_is_not_there():
    for name in documented():
        module, _, attribute = name.rpartition(".")
        assert hasattr(import_module(module), attribute), name
