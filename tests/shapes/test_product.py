"""The product manifold: geodesics, alignment, and conversion to curves and back."""

import numpy as np
import pytest

from curve_makers import blobs, rotation
from napari_shape_ensembles import ShapeSpace, decompose, register
from napari_shape_ensembles.shapes import grassmann, product, spd


def congruent(curve, other):
    """Distance between two centered curves after optimal rotation or reflection, relative to their size."""
    u, _, vt = np.linalg.svd(curve.T @ other)
    return np.linalg.norm(curve @ u @ vt - other) / np.linalg.norm(other)


@pytest.fixture
def points():
    curves = blobs(12, 80, seed=6)
    return decompose(register(curves, curves[0]).landmarks)


def at(points, index):
    return points[0][index], points[1][index]


def test_compose_inverts_decompose():
    curves = blobs(4, 60)
    np.testing.assert_allclose(
        product.compose(decompose(curves)), curves - curves.mean(axis=1, keepdims=True), atol=1e-13
    )


def test_exp_inverts_log_and_norms_are_distances(points):
    base = at(points, 0)
    tangents = product.log(base, points)
    reached = product.exp(base, tangents)
    assert product.dist(reached, points).max() < 1e-11
    whitened = spd.coordinates(base[1], points[1])
    sizes = np.hypot(np.linalg.norm(tangents[0], axis=(1, 2)), np.linalg.norm(whitened, axis=1))
    np.testing.assert_allclose(product.dist(base, points), sizes, atol=1e-12)


def test_geodesics_connect_two_curves_at_constant_speed(points):
    start, end = at(points, 0), at(points, 1)
    path = product.geodesic(start, end, np.linspace(0, 1, 5))
    curves = product.compose(path)
    np.testing.assert_allclose(curves[0], product.compose(start), atol=1e-12)
    assert congruent(curves[-1], product.compose(end)) < 1e-12
    steps = product.dist(at(path, slice(None, -1)), at(path, slice(1, None)))
    np.testing.assert_allclose(steps, steps[0], rtol=1e-9)


def test_no_detour_is_shorter_than_the_geodesic(points):
    direct = product.dist(at(points, 0), at(points, 1))
    for k in range(2, 12):
        detour = product.dist(at(points, 0), at(points, k)) + product.dist(at(points, k), at(points, 1))
        assert direct <= detour + 1e-12


def test_aligned_points_are_rotated_curves(points):
    base = points[0][0]
    spun = points[0] @ rotation(0.4), rotation(0.4).T @ points[1] @ rotation(0.4)
    aligned = product.align(base, spun)
    facing = base.T @ aligned[0]
    np.testing.assert_allclose(facing, facing.swapaxes(1, 2), atol=1e-13)
    assert (np.linalg.eigvalsh(facing) > 0).all()
    for before, after in zip(product.compose(points), product.compose(aligned), strict=True):
        assert congruent(before, after) < 1e-13
    np.testing.assert_allclose(aligned[1], product.align(base, points)[1], atol=1e-12)


def test_aligned_curves_are_reconstructed_up_to_rotation(points):
    space = ShapeSpace.learn(*points, 1000)
    aligned = product.align(space.undulation_mean_, points)
    rebuilt = space.reconstruct(*space.coordinates(*aligned))
    for curve, other in zip(product.compose(points), rebuilt, strict=True):
        assert congruent(curve, other) < 1e-10


def test_distances_combine_those_of_the_factors(points):
    x, y = at(points, slice(6)), at(points, slice(6, 12))
    expected = np.sqrt(grassmann.dist(x[0], y[0]) ** 2 + spd.dist(x[1], y[1]) ** 2)
    np.testing.assert_allclose(product.dist(x, y), expected, rtol=1e-14)
