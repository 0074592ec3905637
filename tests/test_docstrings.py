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
    studies,
)
from napari_shape_ensembles.shapes import grassmann, product, spd

PACKAGE = "napari_shape_ensembles"
SOURCE = Path(napari_shape_ensembles.__file__).parent
ROOMS = (outlines, shapes, mmd, comparison, explanation, inspection, studies, io, samples)
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


def modules_with_examples():
    """Names of the modules outside the viewer that have examples, by room."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if ">>> " in path.read_text(encoding="utf-8") and "viewer" not in parts:
            found.setdefault(parts[0], []).append(".".join((PACKAGE, *parts)).removesuffix(".__init__"))
    return found


MODULES = modules_with_examples()


def test_every_public_name_has_a_summary_and_an_example():
    words = {name: inspect.getdoc(PUBLIC[name]) for name in CALLABLE}
    assert not [name for name, text in words.items() if not text.splitlines()[0].endswith((".", "?"))]
    example = re.compile(r"^Examples\n-{8}\n+>>> ", flags=re.MULTILINE)
    assert not [name for name, text in words.items() if not example.search(text)]


def test_signatures_name_their_types_as_the_source_does():
    """`ArrayLike` and `Ensemble`, not the union and the modules that these names stand for.

    Except the recipe and the settings, where the choices that a name stands for are what a reader looks for.
    """
    functions = {}
    for name, value in PUBLIC.items():
        if value in (outlines.Outlines, comparison.Settings):
            continue
        if inspect.isclass(value):
            own = {one: inner for one, inner in vars(value).items() if inspect.isfunction(inner)}
            functions |= {f"{name}.{one}": inner for one, inner in own.items() if one == "__init__" or one[0] != "_"}
        elif inspect.isfunction(value):
            functions[name] = value
    signatures = {name: str(inspect.signature(one)) for name, one in functions.items()}
    expanded = re.compile(r"numpy\.\w*\._|_typing\.|collections\.abc|napari_shape_ensembles\.")
    assert not {name: text for name, text in signatures.items() if expanded.search(text)}


def test_every_cited_source_is_in_the_references():
    cited = {}
    for name in CALLABLE:
        words = inspect.getdoc(PUBLIC[name])
        for author in re.findall(r"([A-Z]\w+)(?: et al\.| and [A-Z]\w+)? (?:19|20)\d\d\b", words):
            cited[name, author] = re.search(rf"^References\n-{{10}}\n.*{author}", words, re.M | re.S)
    assert {author for _, author in cited} >= {"Gretton", "Hemerik"}
    assert not [where for where, found in cited.items() if not found]


@pytest.mark.parametrize("room", MODULES)
def test_the_examples_run(room, tmp_path, monkeypatch, request):
    if room == "io":
        request.getfixturevalue("orix")
    monkeypatch.chdir(tmp_path)  # some examples write files
    for module in MODULES[room]:
        found = doctest.testmod(import_module(module))
        assert found.attempted, module
        assert not found.failed, module
