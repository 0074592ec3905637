"""Masks traced as a whole: level sets, holes, borders, merging."""

import numpy as np
import pytest

from napari_shape_ensembles import extract_curves, trace_mask
from napari_shape_ensembles.outlines.reasons import AT_BORDER, too_small

ROWS, COLUMNS = np.mgrid[:100, :120]


def disc(row, column, radius):
    return (ROWS - row) ** 2 + (COLUMNS - column) ** 2 < radius**2


def test_a_single_object_is_traced_like_its_label():
    mask = disc(50, 60, 20)
    one, other = trace_mask(mask, smoothing=2), extract_curves(mask.astype(int), smoothing=2)
    np.testing.assert_allclose(one.features["area"], other.features["area"], rtol=1e-6)
    np.testing.assert_allclose(one[0].mean(axis=0), other[0].mean(axis=0), atol=1e-6)


def test_outer_curves_and_holes_have_positive_area():
    ring = disc(50, 50, 30) & ~disc(50, 50, 12)
    outer, both = trace_mask(ring), trace_mask(ring, holes=True)
    assert outer.ids.tolist() == [1]
    assert both.ids.tolist() == [1, -1]
    np.testing.assert_allclose(both.features["area"], [np.pi * 30**2, np.pi * 12**2], rtol=0.05)
    for x, y in (curve.T for curve in both.curves):
        assert x @ np.roll(y, -1) - np.roll(x, -1) @ y > 0


def test_neighbors_merge_under_a_wide_filter_and_small_objects_vanish():
    pair = disc(50, 40, 14) | disc(50, 72, 14) | disc(15, 15, 3)
    assert len(trace_mask(pair, smoothing=1)) == 3
    assert len(trace_mask(pair, smoothing=3)) == 2
    assert len(trace_mask(pair, smoothing=7)) == 1


def test_objects_at_the_border_are_counted_or_closed_along_it():
    mask = disc(0, 60, 20) | disc(60, 60, 10)
    left_out = trace_mask(mask)
    assert len(left_out) == 1
    assert left_out.dropped == {AT_BORDER: 1}
    kept = trace_mask(mask, border=True)
    assert not kept.dropped
    assert sorted(kept.features["area"]) == pytest.approx([np.pi * 100, np.pi * 200], rel=0.06)


def test_small_curves_are_counted_and_pixels_have_a_size():
    mask = disc(50, 60, 20) | disc(10, 10, 2)
    traced = trace_mask(mask, smoothing=0, scale=(0.5, 2), unit="µm", min_area=30)
    assert traced.dropped == {too_small(30): 1}
    assert traced.unit == "µm"
    np.testing.assert_allclose(np.ptp(traced[0], axis=0), [0.5 * 39, 2 * 39])


@pytest.mark.parametrize(
    ("mask", "options", "words"),
    [
        (np.ones(5), {}, "give one plane"),
        (np.ones((3, 3, 3)), {}, r"shape \(3, 3, 3\)"),
        (np.ones((5, 5)), {"smoothing": -1}, "standard deviation"),
    ],
)
def test_invalid_input_is_rejected(mask, options, words):
    with pytest.raises(ValueError, match=words):
        trace_mask(mask, **options)
