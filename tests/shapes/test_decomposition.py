"""Undulation and scale: analytic moments, polar factors, and nearly collinear curves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from curve_makers import blobs, ellipse, rotation
from napari_shape_ensembles import decompose
from napari_shape_ensembles.shapes import affine_standardization, grassmann


@pytest.mark.parametrize("n", [5, 8, 64, 501])
def test_a_unit_circle_has_half_the_identity_as_squared_scale(n):
    _, scale = decompose(ellipse(1, 1, n)[None])
    np.testing.assert_allclose(scale[0] @ scale[0], np.eye(2) / 2, atol=1e-15)


@pytest.mark.parametrize("turn", [0.0, 0.4])
def test_an_ellipse_at_equal_angles_has_its_half_axes_as_scale_and_no_undulation(turn):
    undulation, scale = decompose(ellipse(3, 2, 100, turn=turn)[None])
    np.testing.assert_allclose(np.linalg.eigvalsh(scale[0] @ scale[0]), [2**2 / 2, 3**2 / 2], rtol=1e-13)
    circle, _ = decompose(ellipse(1, 1, 100)[None])
    assert grassmann.dist(circle, undulation)[0] < 1e-14


def test_weights_proportional_to_speed_measure_arc_length():
    u = 2 * np.pi * np.arange(512) / 512
    speed = np.hypot(2 * np.sin(u), np.cos(u))
    _, scale = decompose(ellipse(2, 1, 512)[None], speed)
    moments = np.linalg.eigvalsh(scale[0] @ scale[0])
    np.testing.assert_allclose(moments, [0.579923306748, 1.680306773009], atol=1e-9)


def test_factors_agree_with_the_singular_value_decomposition():
    curves = blobs(20, 100)
    undulation, scale = decompose(curves)
    for curve, x, p in zip(curves, undulation, scale, strict=True):
        u, s, vt = np.linalg.svd((curve - curve.mean(axis=0)) / 10, full_matrices=False)
        np.testing.assert_allclose(x, u @ vt, atol=1e-13)
        np.testing.assert_allclose(p, vt.T * s @ vt, atol=1e-13)


def test_factors_multiply_back_to_the_weighted_landmarks():
    curves = blobs(5, 64)
    weights = np.random.default_rng(0).uniform(0.5, 2, 64)
    weights /= weights.sum()
    undulation, scale = decompose(curves, weights)
    centred = curves - np.einsum("n,qni->qi", weights, curves)[:, None]
    np.testing.assert_allclose(undulation @ scale, np.sqrt(weights)[:, None] * centred, atol=1e-13)


@pytest.mark.parametrize("aspect", [1e2, 1e4, 1e6])
def test_thin_curves_keep_orthonormal_undulations(aspect):
    undulation, scale = decompose(ellipse(aspect, 1, 200, turn=0.3)[None])
    np.testing.assert_allclose(undulation[0].T @ undulation[0], np.eye(2), atol=1e-14)
    assert np.linalg.cond(scale[0]) == pytest.approx(aspect, rel=1e-8)


@given(
    arrays(float, (2, 2), elements=st.floats(-3, 3)).filter(lambda m: abs(m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]) > 0.1)
)
def test_a_linear_map_changes_the_scale_and_leaves_the_plane_of_undulation(matrix):
    curve = blobs(1, 64)
    before, scale = decompose(curve)
    after, mapped = decompose(curve @ matrix)
    assert grassmann.dist(before, after)[0] < 1e-12
    expected = matrix.T @ scale[0] @ scale[0] @ matrix
    np.testing.assert_allclose(mapped[0] @ mapped[0], expected, atol=1e-11 * np.abs(expected).max())


def test_rotating_a_curve_rotates_its_scale():
    curve, turn = blobs(1, 64), rotation(0.7)
    _, scale = decompose(curve)
    _, turned = decompose(curve @ turn.T)
    np.testing.assert_allclose(turned[0], turn @ scale[0] @ turn.T, atol=1e-13)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_the_collinearity_check_does_not_depend_on_the_unit(size):
    for turn in (0.0, 0.3, 1.2):
        decompose(size * ellipse(9e6, 1, 64, turn=turn)[None])
        with pytest.raises(ValueError, match="lie on a line"):
            decompose(size * ellipse(1.1e7, 1, 64, turn=turn)[None])


def test_affine_standardization_follows_the_principal_axes():
    curves = blobs(20, 100)
    undulation, linear = affine_standardization(curves)
    centred = (curves - curves.mean(axis=1, keepdims=True)) / 10
    np.testing.assert_allclose(undulation @ linear, centred, atol=1e-13)
    np.testing.assert_allclose(undulation.swapaxes(1, 2) @ undulation, np.eye(2)[None].repeat(20, axis=0), atol=1e-13)
    assert (np.linalg.det(linear) > 0).all()
    extents = np.linalg.svd(centred, compute_uv=False)
    np.testing.assert_allclose(linear @ linear.swapaxes(1, 2), extents[:, None] ** 2 * np.eye(2), atol=1e-12)
    assert (linear[np.arange(20), 0, np.abs(linear[:, 0]).argmax(axis=1)] > 0).all()
    assert grassmann.dist(undulation, decompose(curves)[0]).max() < 1e-13


def test_a_collinear_curve_is_rejected_with_its_index():
    line = np.linspace(0, 1, 16)[:, None] * [1.0, 2.0]
    with pytest.raises(ValueError, match=r"1 curve\(s\) lie on a line \(first: 1\)"):
        decompose(np.stack([ellipse(1, 1, 16), line]))


@pytest.mark.parametrize(
    ("landmarks", "weights", "message"),
    [
        (np.zeros((4, 2)), None, "shape"),
        (np.full((1, 8, 2), np.nan), None, "NaN"),
        (ellipse(1, 1, 8)[None], np.ones(7), "weights must have shape"),
        (ellipse(1, 1, 8)[None], -np.ones(8), "positive"),
    ],
)
def test_malformed_input_is_rejected(landmarks, weights, message):
    with pytest.raises(ValueError, match=message):
        decompose(landmarks, weights)
