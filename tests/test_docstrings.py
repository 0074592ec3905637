"""Every public name has a summary and an example that runs."""

import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import napari_shape_ensembles
from napari_shape_ensembles import (
    comparison,
    explanation,
    inspection,
    io,
    mmd,
    outlines,
    samples,
    shapes,
    streaming,
    studies,
)
from napari_shape_ensembles.shapes import grassmann, product, spd

PACKAGE = "napari_shape_ensembles"
SOURCE = Path(napari_shape_ensembles.__file__).parent
ROOMS = (outlines, shapes, mmd, comparison, explanation, inspection, studies, io, streaming, samples)
PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (napari_shape_ensembles, *ROOMS)
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


@pytest.mark.parametrize("name", CALLABLE)
def test_a_source_that_a_public_name_cites_is_in_its_references(name):
    words = inspect.getdoc(PUBLIC[name])
    cited = re.findall(r"([A-Z]\w+)(?: et al\.| and [A-Z]\w+)? (?:19|20)\d\d\b", words)
    assert not [author for author in cited if not re.search(rf"^References\n-{{10}}\n.*{author}", words, re.M | re.S)]


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_run(module, tmp_path, monkeypatch, request):
    if module in (f"{PACKAGE}.io.ebsd", f"{PACKAGE}.io.grains"):
        request.getfixturevalue("orix")
    monkeypatch.chdir(tmp_path)  # some examples write files
    found = doctest.testmod(import_module(module))
    assert found.attempted
    assert not found.failed
