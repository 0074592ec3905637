"""Recipes: validation, files, and agreement with the underlying functions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curve_makers import blobs
from napari_shape_ensembles import Outlines, extract_curves, segment
from napari_shape_ensembles.outlines.recipe import Method
from napari_shape_ensembles.outlines.tiling import Tiling
from napari_shape_ensembles.parameters import changed, matters, parameters_of, tree

METHODS = Method.__args__
NUMBERS = [name for name, item in parameters_of(Outlines).items() if item.kind in (int, float) and not item.choices]


def cells(size=120):
    """Bright polygons on a dark background."""
    rows, columns = np.mgrid[:size, :size]
    return 1.0 * ((rows // 30 + columns // 30) % 2) + 0.01 * np.random.default_rng(0).normal(size=(size, size))


def values_of(name):
    declared = parameters_of(Outlines)[name]
    if declared.choices:
        return st.sampled_from(list(declared.choices))
    if declared.kind is bool:
        return st.booleans()
    if name == "ignore":
        return st.sampled_from(["auto", "none", "448:512, :; 0:40, 0:200"])
    if declared.kind is str:
        return st.sampled_from(["objects.npz", "cellpose"])
    low = declared.least if declared.least is not None else declared.above
    if declared.kind is int:
        return st.integers(int(low), int(declared.most or 10**6))
    return st.floats(low, declared.most, exclude_min=declared.above is not None, allow_nan=False, allow_infinity=False)


@st.composite
def recipes(draw):
    plain = set(parameters_of(Outlines)) - {"pixel_size", "unit", "classes", "object_classes", "threshold", "quantile"}
    choices = {name: draw(values_of(name)) for name in draw(st.sets(st.sampled_from(sorted(plain))))}
    choices["threshold" if draw(st.booleans()) else "quantile"] = draw(st.floats(0, 1))
    choices["method"] = draw(st.sampled_from([name for name in METHODS if "threshold" in choices or name != "manual"]))
    if draw(st.booleans()):
        size = st.floats(1e-9, 1e9)
        choices |= {"pixel_size": draw(size | st.tuples(size, size)), "unit": draw(st.sampled_from(["µm", "nm"]))}
    return Outlines(**choices)


@settings(max_examples=60)
@given(recipes())
def test_a_recipe_round_trips_through_a_file(tmp_path_factory, recipe):
    path = tmp_path_factory.mktemp("recipe") / "recipe.toml"
    recipe.save(path)
    assert Outlines.load(path) == recipe
    assert Outlines(**changed(recipe)) == recipe


@pytest.mark.parametrize("value", [np.nan, np.inf, "many", True])
def test_invalid_values_are_reported_with_their_field(value):
    for name in NUMBERS:
        with pytest.raises(ValueError, match=rf"^{name} must be a"):
            Outlines(**{name: value})


def test_a_pixel_size_is_a_length():
    with pytest.raises(ValueError, match='a unit of length such as "µm", not "second"'):
        Outlines(pixel_size=0.5, unit="second")


def test_a_pixel_size_needs_a_unit():
    for half in ({"pixel_size": 0.5}, {"unit": "µm"}):
        with pytest.raises(ValueError, match="pixel_size and unit go together"):
            Outlines(**half)


def test_a_recipe_agrees_with_the_functions():
    image = cells()
    recipe = Outlines(smoothing=2, outline_smoothing=0.5, min_area=50, keep_border=True, holes=True)
    labels = segment(image, smoothing=2)
    np.testing.assert_array_equal(recipe.labels(image), labels)
    expected = extract_curves(labels, smoothing=0.5, min_area=50, border=True, holes=True)
    found = recipe(image, name="cells")
    assert found.name == "cells"
    assert len(found) == len(expected) > 0
    np.testing.assert_array_equal(found.vertices, expected.vertices)


@pytest.mark.parametrize("choices", [{"method": "boundaries"}, {"method": "superpixels", "all_regions": True}])
def test_tilings_are_traced_along_shared_boundaries(choices):
    recipe = Outlines(iterations=3, keep_border=True, **choices)
    assert recipe.is_tiling
    assert not replace(recipe, method="otsu").is_tiling
    labels = recipe.labels(cells())
    expected = Tiling.of(labels).smoothed(3).ensemble(border=True)
    np.testing.assert_array_equal(recipe.trace(labels).vertices, expected.vertices)


def test_the_pixel_size_of_the_recipe_overrides_that_of_the_image():
    labels = np.pad(np.ones((20, 30), int), 5)
    stated = Outlines().trace(labels, scale=(0.5, 0.25), unit="µm")
    given_ = Outlines(pixel_size=(500, 250), unit="nm").trace(labels, scale=(7, 7), unit="mm")
    assert (stated.unit, given_.unit) == ("µm", "nm")
    np.testing.assert_allclose(1000 * stated.vertices, given_.vertices)
    assert Outlines(pixel_size=2, unit="nm").trace(labels).vertices.max() == Outlines().trace(labels).vertices.max() * 2


def test_at_resolution_keeps_physical_lengths():
    fine = Outlines(outline_smoothing=2, min_area=80, min_length=20, pixel_size=0.5, unit="µm", smoothing=2)
    coarse = fine.at_resolution(0.5)
    assert (coarse.outline_smoothing, coarse.min_area, coarse.min_length, coarse.pixel_size) == (1, 20, 10, (1.0, 1.0))
    physical = replace(fine, smoothing_unit="physical")
    assert physical.at_resolution(0.5).outline_smoothing == 2


@pytest.mark.parametrize("method", METHODS)
def test_relevant_parameters_of_each_method(method):
    needed = {name for name in parameters_of(Outlines) if matters((Outlines, {"method": method}), name)}
    assert ("window" in needed) == (method in ("local", "boundaries"))
    assert ("threshold" in needed) == (method in ("manual", "hysteresis", "level"))
    assert ("opening" in needed) == (method not in ("boundaries", "superpixels"))
    assert ("iterations" in needed) == (method == "boundaries") != ("outline_smoothing" in needed)
    assert matters((Outlines, {"method": "superpixels", "all_regions": True}), "iterations")
    assert not matters((Outlines, {"split_touching": "none"}), "neck")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[outlines]\nsmooth = 1", r"\[outlines\] has no option 'smooth'; the options are method"),
        ("[outlines]\nmin_area = -1", "min_area must be a number of 0 or more pixels, not -1"),
        ("outlines = 3", r"outlines must be a table of options, \[outlines\], not 3"),
        ("[outlines", "is not a TOML file"),
    ],
)
def test_an_invalid_file_is_reported_with_its_error(tmp_path, text, message):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"mine\.toml: .*{message}"):
        Outlines.load(path)


def test_function_defaults_match_the_recipe():
    labels = np.zeros((200, 200), int)
    for number, blob in enumerate(blobs(4, 30, seed=1), start=1):
        corner = 50 * np.array(divmod(number, 4)) + 5
        blob = blob - blob.min(axis=0)
        rows, columns = np.floor(blob / blob.max() * 30).astype(int).T
        labels[rows + corner[0], columns + corner[1]] = number
    np.testing.assert_array_equal(extract_curves(labels).vertices, Outlines().trace(labels).vertices)
    assert tree(Outlines())["min_area"] == Outlines.min_area == 16
