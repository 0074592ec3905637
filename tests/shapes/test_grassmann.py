"""Gr(2, n): distances, logarithms and means versus dense linear algebra and closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import subspace_angles

from curve_makers import arc_length_ellipse, blobs, ellipse
from napari_shape_ensembles import decompose
from napari_shape_ensembles.shapes import grassmann


def planes_near(seed, count=20, n=40, spread=0.5):
    rng = np.random.default_rng(seed)
    base = np.linalg.qr(rng.normal(size=(n, 2)))[0]
    return base, np.linalg.qr(base + spread * rng.normal(size=(count, n, 2)) / np.sqrt(n))[0]


@pytest.mark.parametrize(
    ("aspect", "expected"), [(1.2, 0.0320197682), (2, 0.1120416553), (3, 0.1579263832), (5, 0.1932856708)]
)
def test_reference_distances_of_ellipses_from_the_circle(aspect, expected):
    undulation, _ = decompose(np.stack([ellipse(1, 1, 512), arc_length_ellipse(aspect)]))
    assert grassmann.dist(*undulation) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.floats(0.01, 3))
def test_exp_inverts_log(seed, spread):
    base, points = planes_near(seed, spread=spread)
    tangents = grassmann.log(base, points)
    np.testing.assert_allclose(base.T @ tangents, 0, atol=1e-12)
    assert grassmann.dist(grassmann.exp(base, tangents), points).max() < 1e-11
    np.testing.assert_allclose(np.linalg.norm(tangents, axis=(1, 2)), grassmann.dist(base, points), atol=1e-12)


def test_distances_are_the_norm_of_the_principal_angles():
    base, points = planes_near(1, spread=2)
    expected = [np.linalg.norm(subspace_angles(base, point)) for point in points]
    np.testing.assert_allclose(grassmann.dist(base, points), expected, rtol=1e-12)


def test_small_distances_are_accurate():
    base, points = planes_near(2, count=1)
    direction = grassmann.log(base, points)
    near = grassmann.exp(base, 1e-9 * direction)
    assert grassmann.dist(base, near)[0] == pytest.approx(1e-9 * np.linalg.norm(direction), rel=1e-6)


def right_angled(gap):
    """A base and a point with principal angles π/2 - gap and 0.3."""
    base, other = np.eye(6)[:, :2], np.eye(6)[:, 2:4]
    angle = np.array([np.pi / 2 - gap, 0.3])
    return base, base * np.cos(angle) + other * np.sin(angle), np.linalg.norm(angle)


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1.1e-6])
def test_logarithms_stay_accurate_up_to_the_cut_locus(gap):
    base, point, length = right_angled(gap)
    tangent = grassmann.log(base, point[None])
    assert np.linalg.norm(tangent) == pytest.approx(length, abs=1e-14)
    assert grassmann.dist(grassmann.exp(base, tangent)[0], point) < 1e-14


@pytest.mark.parametrize("gap", [9e-7, 1e-8, 0])
def test_logarithms_at_the_cut_locus_are_rejected_but_distances_are_not(gap):
    base, point, length = right_angled(gap)
    with pytest.raises(ValueError, match=r"1 outline\(s\) are orthogonal to the mean undulation \(first: 1\)"):
        grassmann.log(base, np.stack([base, point]))
    assert grassmann.dist(base, point) == pytest.approx(length, abs=1e-15)


def test_logarithms_and_exponentials_agree_with_dense_ones():
    base, points = planes_near(5, spread=1.5)
    tangents = grassmann.log(base, points)
    for point, tangent, reached in zip(points, tangents, grassmann.exp(base, tangents), strict=True):
        normal = (point - base @ (base.T @ point)) @ np.linalg.inv(base.T @ point)
        u, s, vt = np.linalg.svd(normal, full_matrices=False)
        np.testing.assert_allclose(tangent, u * np.arctan(s) @ vt, atol=1e-12)
        u, s, vt = np.linalg.svd(tangent, full_matrices=False)
        dense = base @ vt.T * np.cos(s) @ vt + u * np.sin(s) @ vt
        np.testing.assert_allclose(reached, dense, atol=1e-12)
        np.testing.assert_allclose(base.T @ reached, (base.T @ reached).T, atol=1e-13)


def test_tangent_vectors_beyond_the_cut_locus_wrap_around():
    base, other = np.eye(6)[:, :2], np.eye(6)[:, 2:4]
    far = other * np.array([2.0, 0.3])
    reached = grassmann.exp(base, far[None])
    assert np.linalg.norm(grassmann.log(base, reached)) == pytest.approx(np.hypot(np.pi - 2.0, 0.3))


def test_invariance_to_the_representative_of_a_plane():
    base, points = planes_near(3)
    mix = np.linalg.qr(np.random.default_rng(0).normal(size=(20, 2, 2)))[0]
    np.testing.assert_allclose(grassmann.log(base, points @ mix), grassmann.log(base, points), atol=1e-13)


def test_the_mean_has_zero_gradient_and_ignores_the_order():
    undulation, _ = decompose(blobs(40, 120))
    mean = grassmann.frechet_mean(undulation)
    assert np.linalg.norm(grassmann.log(mean, undulation).mean(axis=0)) < 1e-11
    np.testing.assert_allclose(mean.T @ mean, np.eye(2), atol=1e-14)
    assert grassmann.dist(mean, grassmann.frechet_mean(undulation[::-1])) < 1e-10


def test_the_mean_is_independent_of_the_start():
    undulation, _ = decompose(blobs(40, 120))
    mean, other = grassmann.frechet_mean(undulation), grassmann.frechet_mean(np.roll(undulation, 7, axis=0))
    assert grassmann.dist(mean, other) < 4e-11
    frame = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    turned = grassmann.log(mean @ frame, undulation)
    np.testing.assert_allclose(turned, grassmann.log(mean, undulation) @ frame, atol=1e-13)


def test_the_mean_of_two_points_is_their_geodesic_midpoint():
    base, points = planes_near(4, count=1)
    middle = grassmann.exp(base, grassmann.log(base, points) / 2)[0]
    assert grassmann.dist(grassmann.frechet_mean(np.stack([base, points[0]])), middle) < 1e-10


def test_points_without_a_unique_mean_are_rejected():
    opposite = np.stack([np.eye(4)[:, :2], np.eye(4)[:, 2:]])
    rng = np.random.default_rng(0)
    scattered = np.linalg.qr(rng.normal(size=(3, 200, 2)))[0]
    with pytest.raises(ValueError, match="too dispersed"):
        grassmann.frechet_mean(np.concatenate([opposite.repeat(50, axis=1)[:, :200] / np.sqrt(50), scattered]))
