"""Ensembles: validation, counts of excluded curves, and shape measurements."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from skimage.morphology import disk

from curve_makers import blobs, ellipse, load_curves
from napari_shape_ensembles import Ensemble, extract_curves
from napari_shape_ensembles.outlines.reasons import AT_BORDER, OPEN, Reason

SQUARE = np.array([[0.0, 0], [0, 2], [2, 2], [2, 0]])


def test_an_ensemble_of_an_ensemble_is_rejected_with_the_remedy():
    squares = Ensemble([SQUARE, SQUARE])
    with pytest.raises(ValueError, match=r"already: select some with ensemble\[rows\], .* list\(ensemble\)"):
        Ensemble(squares)
    assert len(Ensemble(list(squares))) == 2


@pytest.mark.parametrize("curves", [None, 5])
def test_input_other_than_a_sequence_of_curves_is_rejected(curves):
    with pytest.raises(ValueError, match=f"curves must be a sequence of .* arrays, .*, not {curves}"):
        Ensemble(curves)


def test_duplicate_consecutive_vertices_are_dropped():
    repeated = np.repeat(SQUARE, [1, 3, 1, 2], axis=0)
    ensemble = Ensemble([np.concatenate([SQUARE, SQUARE[:1]]), repeated])
    assert [len(curve) for curve in ensemble.curves] == [4, 4]
    assert not ensemble.dropped


def test_a_short_step_is_no_repeated_vertex_wherever_few_outlines_start():
    """Contours of pixels have such steps by chance, anywhere; outlines that repeat their first vertex all do."""
    outline = ellipse(2, 1, 60)
    short = np.insert(outline, 20, outline[20] + np.array([0, 1e-3]), axis=0)
    for start in range(61):
        ensemble = Ensemble([*[outline] * 15, np.roll(short, start, axis=0)])
        assert len(ensemble[15]) == 61
    closed = np.roll(short, 40, axis=0)
    assert {len(curve) for curve in Ensemble([closed, *[outline] * 5, closed]).curves} == {60}
    few = Ensemble([closed, *[outline] * 20])
    for part in (few[:1], few.derived(few.curves[:1], np.arange(1)), Ensemble.pooled([few[:1], few[1:2]])):
        np.testing.assert_array_equal(part[0], few[0])


@pytest.mark.parametrize("apart", [1e-7, 1e-3])
def test_nearly_equal_vertices_are_one(apart):
    """To single precision anywhere; within a thousandth of the size where an outline closes."""
    outline = ellipse(2, 1, 60)
    closed = np.insert(outline, 60, outline[0] + np.array([0, apart]), axis=0)
    np.testing.assert_array_equal(Ensemble([closed])[0], outline)
    inside = np.insert(outline, 20, outline[20] + np.array([0, 1e-8]), axis=0)
    assert len(Ensemble([inside])[0]) == 60
    sliver = np.array([[0, 0], [0, 9.0], [0.01, 9]])
    assert len(Ensemble([sliver])[0]) == 3


@pytest.mark.parametrize(
    ("curve", "reason"),
    [
        (np.array([[0, 0], [1, np.nan], [1, 1]]), "NaN or infinite vertices"),
        (np.array([[0, 0], [1, np.inf], [1, 1]]), "NaN or infinite vertices"),
        (np.ma.masked_greater(SQUARE, 1), "NaN or infinite vertices"),
        (np.array([[0, 0], [1e308, 0], [1e308, -1e308]]), "vertices beyond 1e+30"),
        (np.array([[0, 0], [1e-40, 0], [1e-40, 1e-40]]), "shorter than 1e-30"),
        (np.zeros((0, 2)), "fewer than 3 distinct vertices"),
        (np.array([[1.0, 2]] * 9), "fewer than 3 distinct vertices"),
        (np.array([[0, 0], [1, 1], [0, 0]]), "fewer than 3 distinct vertices"),
        (np.array([[0, 0], [1, 1], [2, 2], [5, 5]]), "collinear"),
        (np.array([[0, 0], [1, 1], [1, 0], [0, 1]]), "zero area"),
        (np.argwhere(disk(9)), str(Reason("order"))),  # the pixels of an object: of zero area, too
        (1e9 + np.array([[0, 0], [1, 1], [2, 2], [5, 5]]), "collinear"),
    ],
)
def test_unusable_curves_are_counted_by_reason(curve, reason):
    ensemble = Ensemble([SQUARE, curve, SQUARE + 5, curve])
    assert {str(key): count for key, count in ensemble.dropped.items()} == {reason: 2}
    assert ensemble.ids.tolist() == [0, 2]
    np.testing.assert_array_equal(ensemble[1], SQUARE + 5)


def test_vertices_that_do_not_follow_an_outline_are_counted_and_cost_no_other_curve():
    outlines = [10 * (curve - curve.min(axis=0)) for curve in blobs(4, 60)]
    by_rows = outlines[0].round()[np.lexsort(outlines[0].round().T[::-1])]
    two = np.concatenate([outlines[1], outlines[1] + 300])
    missing = np.concatenate([outlines[2], [(-1.0, -1.0)]])
    found = Ensemble([by_rows, outlines[0], two, missing, outlines[3]])
    assert found.dropped == {Reason("order"): 1, Reason("several"): 1, Reason("missing points"): 1}
    assert found.ids.tolist() == [1, 4]
    np.testing.assert_array_equal(found[1], outlines[3])
    # A mirrored, stretched or turned outline crosses itself as often.
    assert Ensemble([by_rows * (1, -3)]).dropped == Ensemble([by_rows @ [[0.6, 0.8], [-0.8, 0.6]]]).dropped


def test_earlier_counts_are_added_to():
    ensemble = Ensemble([np.zeros((5, 2))], dropped={AT_BORDER: 3, Reason("collinear"): 0})
    assert ensemble.dropped == {AT_BORDER: 3, Reason("distinct", 3): 1}


def test_the_flat_view_and_the_curves_are_the_same():
    curves = [*blobs(3, 20), SQUARE]
    ensemble = Ensemble(curves)
    assert ensemble.offsets.tolist() == [0, 20, 40, 60, 64]
    for curve, start, stop in zip(curves, ensemble.offsets[:-1], ensemble.offsets[1:], strict=True):
        np.testing.assert_array_equal(ensemble.vertices[start:stop], curve)


def test_curves_cannot_be_changed_by_accident():
    ensemble = Ensemble([SQUARE])
    with pytest.raises(ValueError, match="read-only"):
        ensemble[0][0] = 9


def test_measurements_are_in_physical_units():
    star = np.array([[0, 0], [4, 0], [4, 4], [2, 1], [0, 4.0]])
    table = Ensemble([SQUARE * 0.5, ellipse(3, 2, 2000), star], unit="um").features
    assert table["id"].tolist() == [0, 1, 2]
    np.testing.assert_allclose(table["area"], [1, 6 * np.pi, 10], rtol=1e-5)
    assert table["perimeter"][0] == 4
    np.testing.assert_allclose(table["equivalent_diameter"][0], 2 / np.sqrt(np.pi))
    np.testing.assert_allclose(table["circularity"][0], np.pi / 4)


def test_measurements_are_invariant_to_translation_and_orientation():
    curve = blobs(1, 50)[0]
    table = Ensemble([curve, curve + 1e8, curve[::-1]]).features
    np.testing.assert_allclose(table["area"], table["area"][0], rtol=1e-6)
    np.testing.assert_allclose(table["perimeter"], table["perimeter"][0], rtol=1e-6)


def test_a_subset_keeps_ids_name_unit_and_counts():
    ensemble = Ensemble([SQUARE, SQUARE + 1, SQUARE + 2], ids=["a", "b", "c"], name="x", unit="um", dropped={OPEN: 1})
    part = ensemble[[True, False, True]]
    assert (part.ids.tolist(), part.name, part.unit, part.dropped) == (["a", "c"], "x", "um", {OPEN: 1})
    assert len(part) == 2


def test_an_empty_ensemble_is_valid():
    ensemble = Ensemble([])
    assert len(ensemble) == 0
    assert ensemble.curves == ()
    assert len(ensemble.features) == 0


@settings(max_examples=200)
@given(st.lists(arrays(float, st.tuples(st.integers(0, 8), st.just(2))), max_size=5))
def test_whatever_is_given_is_kept_or_counted(curves):
    with np.errstate(all="ignore"):
        ensemble = Ensemble(curves)
        assert len(ensemble) + sum(ensemble.dropped.values()) == len(curves)
    for curve in ensemble.curves:
        assert len(np.unique(curve, axis=0)) >= 3


@pytest.mark.parametrize(
    ("curves", "options", "message"),
    [
        ([np.zeros(4)], {}, "shape"),
        ([np.zeros((4, 3))], {}, "shape"),
        ([[["a", "b"]]], {}, "curve 0"),
        ([SQUARE], {"ids": [1, 2]}, "ids"),
        ([SQUARE, SQUARE], {"ids": [1, 1]}, "ids"),
        ([SQUARE], {"unit": ""}, 'unit must be "pixel" or a unit of length such as "µm", not ""'),
        ([SQUARE], {"unit": "second"}, 'not "second": give the unit of the coordinates'),
        ([SQUARE], {"unit": "furlongs per fortnight"}, "a unit of length"),
    ],
)
def test_malformed_input_is_rejected(curves, options, message):
    with pytest.raises(ValueError, match=message):
        Ensemble(curves, **options)


def test_real_outlines_are_all_kept(real_data):
    assert len(Ensemble(load_curves(real_data / "osteosarcoma_cells" / "cells.npz"))) == 650
    assert len(Ensemble(load_curves(real_data / "ampis_powder" / "polygons.npz"))) == 219 + 201 + 351 + 133


def test_grains_of_the_paper_are_all_kept(shared_data):
    assert len(Ensemble(load_curves(shared_data / "paper" / "pil184_grains.npz", "hlf2_smooth5"))) == 467


def test_the_pixel_size_is_kept_with_the_curves():
    square = np.array([[0.0, 0], [0, 2], [2, 2], [2, 0]])
    ensemble = Ensemble([square, square + 5], unit="µm", pixel_size=(0.5, 0.25))
    assert ensemble.pixel_size == (0.5, 0.25)
    assert ensemble[[True, False]].pixel_size == (0.5, 0.25)
    assert ensemble.to("µm") is ensemble
    assert ensemble.to("nm").pixel_size == (500, 250)
    np.testing.assert_array_equal(ensemble.to("nm").curves[0], 1000 * square)
    assert Ensemble([square]).pixel_size is None
    assert Ensemble([square], pixel_size=2).pixel_size == (2, 2)
    assert Ensemble.pooled([ensemble, ensemble.to("nm")]).pixel_size == pytest.approx((0.5, 0.25))
    assert Ensemble.pooled([ensemble, Ensemble([square], unit="µm", pixel_size=1)]).pixel_size is None
    assert Ensemble.pooled([ensemble, Ensemble([square], unit="µm")]).pixel_size is None
    assert extract_curves(np.pad(np.ones((9, 9), int), 3), scale=(2, 3), unit="nm").pixel_size == (2, 3)


@pytest.mark.parametrize("size", [0, -1, np.nan, (1, 2, 3), (1, np.inf)])
def test_a_pixel_has_a_height_and_a_width(size):
    with pytest.raises(ValueError, match="pixel_size must be the height and width of a pixel"):
        Ensemble([np.array([[0.0, 0], [0, 2], [2, 2]])], pixel_size=size)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"name": None}, "the name of an ensemble must be a string, not None"),
        ({"name": 5}, "the name of an ensemble must be a string, not 5"),
        ({"name": Path("a.tif")}, r"the name of an ensemble must be a string, not .*a\.tif"),
        ({"name": "a\ud800"}, "cannot be encoded"),
        ({"unit": "µm\ud800"}, "cannot be encoded"),
        ({"ids": ["a\ud800"]}, "ids contains characters that cannot be encoded"),
        ({"ids": [b"a"]}, "ids must be numbers or strings"),
        ({"ids": [None]}, "ids must be numbers or strings"),
        ({"ids": [True]}, "ids must be numbers or strings"),
        ({"ids": [2**70]}, "ids must be numbers or strings"),
        ({"ids": [np.nan]}, "ids must be finite"),
        ({"images": ["a\ud800"]}, "cannot be encoded"),
        ({"dropped": {"open": 1}}, "dropped must be keyed by reasons"),
        ({"dropped": {Reason("small", np.nan): 1}}, "must be finite"),
        ({"dropped": {Reason("a\ud800"): 1}}, "cannot be encoded"),
    ],
    ids=str,
)
def test_metadata_that_cannot_be_saved_is_rejected_early(options, said):
    with pytest.raises(ValueError, match=said):
        Ensemble([SQUARE], **options)


@pytest.mark.parametrize("unit", ["px", "pix", "pixel", "pixels", "Pixel", " px "])
def test_every_spelling_of_pixel_is_a_pixel_and_not_a_css_pixel(unit):
    ensemble = Ensemble([SQUARE], unit=unit)
    assert ensemble.unit == "pixel"
    assert ensemble.to("px") is ensemble
    with pytest.raises(ValueError, match="cannot be compared"):
        ensemble.to("µm")
    with pytest.raises(ValueError, match="cannot be compared"):
        Ensemble([SQUARE], unit="µm").to(unit)


@pytest.mark.parametrize("index", [[0.5, 1.5], 1.7, None, np.array(1.0), [[0, 1]], ("0", "1")])
def test_curves_are_indexed_by_integers_only(index):
    ensemble = Ensemble(list(blobs(3, 20, seed=1)))
    with pytest.raises((IndexError, TypeError)) as error:
        ensemble[index]
    assert "selected by integers, a slice, or a mask of 3 booleans" in str(error.value)
    assert ensemble[np.array(1)].shape == ensemble[1].shape
    assert ensemble[[-1, 0]].ids.tolist() == [2, 0]
    assert len(ensemble[[]]) == 0


@pytest.mark.parametrize("kind", [object, "string", "category"])
def test_ids_may_be_a_pandas_series(kind):
    names = pd.Series(["a", "b"]).astype(kind)
    assert Ensemble(list(blobs(2, 20, seed=1)), ids=names).ids.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="ids must be numbers or strings"):
        Ensemble(list(blobs(2, 20, seed=1)), ids=np.array(["a", 1], dtype=object))
