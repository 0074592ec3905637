"""Level curves of scalar fields, and repair of self-intersecting outlines."""

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from curve_makers import load_curves
from napari_shape_ensembles import Ensemble
from napari_shape_ensembles.outlines import level_curves, repair
from napari_shape_ensembles.outlines.reasons import AT_BORDER, Reason, too_small
from napari_shape_ensembles.outlines.repair import self_touching

ROWS, COLUMNS = np.indices((101, 121)) - np.array([50, 60])[:, None, None]


def test_the_level_of_a_paraboloid_is_a_circle_to_a_thousandth_of_a_pixel():
    curve = level_curves(ROWS**2 + COLUMNS**2, value=30.0**2)[0]
    radius = np.hypot(*(curve - [50, 60]).T)
    np.testing.assert_allclose(radius, 30, atol=5e-3)


@pytest.mark.parametrize("sign", [1, -1])
def test_maxima_and_minima_give_positively_oriented_curves(sign):
    ensemble = level_curves(sign * (ROWS**2 + COLUMNS**2), value=sign * 400.0, scale=(0.5, 2), unit="mm")
    x, y = ensemble[0].T
    assert (x @ np.roll(y, -1) - np.roll(x, -1) @ y) / 2 == pytest.approx(400 * np.pi, rel=1e-3)


def test_a_quantile_is_the_fraction_of_pixels_below():
    field = np.hypot(ROWS, COLUMNS)
    ensemble = level_curves(field, quantile=0.2)
    assert ensemble.features["area"][0] == pytest.approx(0.2 * field.size, rel=0.01)


def test_open_and_tiny_curves_are_counted():
    field = np.sin(ROWS / 5.0) * np.sin(COLUMNS / 5.0)
    ensemble = level_curves(field, value=0.5)
    open_ones = ensemble.dropped[AT_BORDER]
    everything = level_curves(field, value=0.5, min_area=1e9)
    assert everything.dropped == {AT_BORDER: open_ones, too_small(1e09): len(ensemble)}


@pytest.mark.parametrize(
    ("field", "options", "message"),
    [
        (np.zeros((3, 3, 3)), {"value": 1}, "a field must be a plane"),
        (np.full((3, 3), np.nan), {"value": 1}, "finite"),
        (np.zeros((3, 3)), {}, "either the value"),
        (np.zeros((3, 3)), {"value": 1, "quantile": 0.5}, "either the value"),
        (np.zeros((3, 3)), {"value": np.nan}, "a finite number, not nan"),
        (np.zeros((3, 3)), {"quantile": 2}, "between 0 and 1, not 2"),
        (np.zeros((3, 3)), {"value": 1, "scale": (-1, 1)}, "two positive numbers"),
        (np.zeros((3, 3)), {"value": 1, "scale": -3}, "two positive numbers"),
        (np.zeros((3, 3)), {"value": 1, "min_area": np.nan}, "min_area must be a number"),
    ],
)
def test_malformed_fields_are_rejected(field, options, message):
    with pytest.raises(ValueError, match=message):
        level_curves(field, **options)


BOX = np.array([[0, 0], [0, 10], [10, 10], [10, 0]], dtype=float)
WHISKER = np.array([[0, 0], [0, 10], [10, 10], [10, 5], [15, 5], [10, 5], [10, 0]], dtype=float)
EIGHT = np.array([[0, 0], [0, 10], [10, -4], [10, 2]], dtype=float)
PINCHED = np.array([[0, 0], [0, 10], [10, 10], [10, 0], [5, 0], [2, -3], [2, -6], [5, 0]], dtype=float)


def test_self_touching_outlines_are_detected_and_repaired():
    ensemble = Ensemble([BOX, WHISKER, EIGHT, PINCHED], ids=[4, 5, 6, 7])
    assert self_touching(ensemble).tolist() == [False, True, True, True]
    whole = repair(ensemble)
    assert whole.ids.tolist() == [4, 5, 6, 7]
    np.testing.assert_array_equal(whole[0], BOX)
    np.testing.assert_allclose(whole.features["area"][[1, 3]], 100)
    assert not self_touching(whole).any()
    assert whole.dropped == {Reason("loops"): 2}


def test_valid_outlines_are_returned_unchanged():
    ensemble = Ensemble([BOX])
    assert repair(ensemble) is ensemble


@settings(max_examples=100)
@given(st.integers(0, 10**6), st.integers(4, 30))
def test_random_polygons_are_repaired_or_counted_as_excluded(seed, corners):
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(corners, 2))
    around = np.arctan2(*points.T) + generator.normal(0, 0.5, corners)
    ensemble = Ensemble([points[np.argsort(around)]])
    if not len(ensemble):  # they hardly follow an outline
        assert ensemble.dropped == {Reason("order"): 1}
        return
    whole = repair(ensemble)
    assert len(whole) == 1
    assert shapely.is_valid(shapely.Polygon(whole[0]))
    assert not self_touching(whole).any()


def test_a_third_of_the_cells_needs_repair(real_data):
    ensemble = Ensemble(load_curves(real_data / "osteosarcoma_cells" / "cells.npz"))
    assert self_touching(ensemble).sum() == 370
    whole = repair(ensemble)
    assert len(whole) == 650
    assert not self_touching(whole).any()
    kept = whole.features["area"] / ensemble.features["area"]
    assert kept.median() == 1
    assert (kept > 0.95).mean() > 0.98
