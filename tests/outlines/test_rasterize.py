"""Rasterization of outlines: which pixels belong to which curve."""

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from skimage.measure import points_in_poly

from curve_makers import blobs
from napari_shape_ensembles.compiled import kernels
from napari_shape_ensembles.outlines.rasterize import rasterize

CENTRES = np.stack(np.meshgrid(np.arange(50), np.arange(60), indexing="ij"), axis=-1).reshape(-1, 2)


@given(st.integers(0, 10_000), st.floats(2, 30), st.floats(-10, 60), st.floats(-10, 60))
def test_a_pixel_belongs_to_a_curve_if_its_center_is_inside(seed, size, row, column):
    curve = blobs(1, 40, seed=seed)[0] * size + (row, column)
    expected = points_in_poly(CENTRES, curve).reshape(50, 60)
    np.testing.assert_array_equal(rasterize([curve], (50, 60)) > 0, expected)


def test_self_intersecting_curves_follow_the_even_odd_rule():
    star = np.array([[np.cos(angle), np.sin(angle)] for angle in np.arange(5) * 4 * np.pi / 5]) * 20 + (25.2, 25.3)
    image = rasterize([star], (50, 60))
    np.testing.assert_array_equal(image > 0, points_in_poly(CENTRES, star).reshape(50, 60))
    assert image[25, 25] == 0


def test_later_curves_are_on_top_and_labels_follow_the_order():
    square = np.array([[0.5, 0.5], [0.5, 6.5], [6.5, 6.5], [6.5, 0.5]])
    image = rasterize([square, square + 3, square + 20], (12, 12))
    assert (image[1:4, 1:7] == 1).all()
    assert (image[4:10, 4:10] == 2).all()
    assert set(np.unique(image)) == {0, 1, 2}


def test_curves_that_share_an_edge_leave_no_gap_and_no_overlap():
    left = np.array([[0, 0], [0, 5], [10, 7], [10, 0]], dtype=float)
    right = np.array([[0, 5], [0, 12], [10, 12], [10, 7]], dtype=float)
    one, other = (rasterize([curve], (10, 12)) for curve in (left, right))
    assert ((one + other) == 1).all()


def test_thousands_of_overlapping_curves_match_sequential_filling():
    places = np.stack(np.divmod(np.arange(3000), 60), axis=-1) * 8
    curves = list(blobs(3000, 40) * 5 + places[:, None])
    expected = np.zeros((420, 490), dtype=np.int32)
    for index, curve in enumerate(curves):
        expected[rasterize([curve], expected.shape) > 0] = index + 1
    np.testing.assert_array_equal(rasterize(curves, expected.shape), expected)
    assert 1000 < len(np.unique(expected)) < 3001


def test_labels_have_any_type_and_curves_are_clipped():
    square = np.array([[-2.5, -3.5], [-2.5, 1.5], [1.5, 1.5], [1.5, -3.5]])
    image = rasterize([square, square + 1e12, square + np.array([2, 4]), np.empty((0, 2))], (3, 4), np.uint16)
    assert image.dtype == np.uint16
    np.testing.assert_array_equal(image, [[1, 3, 3, 3], [1, 3, 3, 3], [0, 3, 3, 3]])


@pytest.mark.parametrize("curves", [[], [np.array([[0.1, 0.1], [0.1, 0.4], [0.4, 0.4]])]])
def test_curves_without_a_pixel_center_are_omitted(curves):
    assert not rasterize(curves, (5, 5)).any()


@pytest.mark.parametrize("seed", range(6))
def test_covered_shares_of_pixels_are_areas_of_intersections(seed):
    rng = np.random.default_rng(seed)
    angles = np.sort(rng.uniform(0, 2 * np.pi, int(rng.integers(3, 30))))
    around = rng.uniform(2, 7, len(angles))[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    curve = (np.array([8.0, 9.0]) + (np.rint(around) if seed % 3 == 0 else around))[:: 1 if seed % 2 else -1]
    whole = shapely.make_valid(shapely.Polygon(curve))
    assert whole.area == pytest.approx(shapely.Polygon(curve).area)
    pixels = [[shapely.box(i - 0.5, j - 0.5, i + 0.5, j + 0.5) for j in range(20)] for i in range(18)]
    shares = np.zeros((18, 20))
    kernels("napari_shape_ensembles.outlines").cover(curve + 0.5, shares)
    np.testing.assert_allclose(shares, shapely.area(shapely.intersection(pixels, whole)), atol=1e-9)
