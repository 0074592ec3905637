"""Quadrature weights, derivatives and eigenfunctions: closed forms, dense matrices, and convergence."""

import numpy as np
import pytest
from scipy.special import ellipe, ellipk

from curve_makers import arc_length_ellipse, blobs, cassini_oval, ellipse
from napari_shape_ensembles import Ensemble, decompose, to_landmarks
from napari_shape_ensembles.shapes import grassmann
from napari_shape_ensembles.shapes.quadrature import Eigenfunctions, fourier_derivative, quadrature_weights

MATRIX = np.array([[1.7, 0.4], [-0.3, 0.8]])


def equal_angles(n, offset=0.0):
    return 2 * np.pi * np.arange(n) / n + offset


def differentiation_matrix(n):
    """Trefethen's differentiation matrices for period 1: the cotangent for even n, the cosecant for odd n."""
    gap = np.pi * (np.arange(n)[:, None] - np.arange(n)) / n
    sign = (-1.0) ** np.subtract.outer(np.arange(n), np.arange(n))
    np.fill_diagonal(gap, 1)
    matrix = np.pi * sign / (np.tan(gap) if n % 2 == 0 else np.sin(gap))
    np.fill_diagonal(matrix, 0)
    return matrix


@pytest.mark.parametrize("n", [24, 25])
def test_derivatives_of_an_analytic_function_are_exact(n):
    t = equal_angles(n)
    values = np.stack([np.exp(np.sin(t)), np.cos(3 * t)], axis=-1)
    expected = 2 * np.pi * np.stack([np.cos(t) * np.exp(np.sin(t)), -3 * np.sin(3 * t)], axis=-1)
    np.testing.assert_allclose(fourier_derivative(values), expected, atol=2e-11)


@pytest.mark.parametrize("n", [16, 17, 500, 501])
def test_derivatives_agree_with_differentiation_matrices(n):
    values = np.random.default_rng(0).normal(size=(3, n, 2))
    expected = differentiation_matrix(n) @ values
    np.testing.assert_allclose(fourier_derivative(values), expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())


def test_the_highest_mode_of_even_n_has_no_derivative():
    assert np.abs(fourier_derivative(np.cos(np.pi * np.arange(16))[:, None])).max() < 1e-13


@pytest.mark.parametrize("aspect", [2, 3, 5])
def test_arc_length_moments_of_ellipses_are_elliptic_integrals(aspect):
    a, b, m = aspect, 1, 1 - aspect**-2.0
    e, k = ellipe(m), ellipk(m)
    expected = [b**2 * ((1 + m) * e - (1 - m) * k), a**2 * ((2 * m - 1) * e + (1 - m) * k)] / (3 * m * e)
    nodes = ellipse(aspect, 1, 512)[None]
    _, scale = decompose(nodes, quadrature_weights(nodes))
    moments = np.linalg.eigvalsh(scale[0] @ scale[0])
    np.testing.assert_allclose(moments, expected, rtol=1e-12)


def test_weights_compensate_any_parametrization():
    u = equal_angles(400)
    slow = u + 0.4 * np.sin(u) + 0.1 * np.sin(3 * u)
    nodes = np.stack([ellipse(2, 1, 400), ellipse(2, 1, angles=slow)])
    _, scale = decompose(nodes, quadrature_weights(nodes))
    np.testing.assert_allclose(scale[1], scale[0], atol=1e-13)
    even, _ = decompose(arc_length_ellipse(2, 400)[None])
    np.testing.assert_allclose(np.linalg.eigvalsh(scale[0]), np.sqrt([0.579923306748, 1.680306773009]), atol=1e-12)
    assert grassmann.dist(even, decompose(ellipse(1, 1, 400)[None])[0])[0] == pytest.approx(0.1120416553, abs=1e-9)


def test_inverse_speed_weights_are_a_different_measure():
    nodes = ellipse(2, 1, 512)[None]
    speed = np.linalg.norm(fourier_derivative(nodes), axis=-1)
    _, scale = decompose(nodes, 1 / speed)
    moments = np.linalg.eigvalsh(scale[0] @ scale[0])
    np.testing.assert_allclose(moments, [0.415440, 2.338240], atol=1e-6)


def test_weights_sum_to_one_and_follow_the_speed():
    nodes = blobs(4, 128)
    weights = quadrature_weights(nodes)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    speed = np.linalg.norm(fourier_derivative(nodes), axis=-1)
    np.testing.assert_allclose(weights / speed, (weights / speed)[:, :1].repeat(128, axis=1))


def test_gauss_legendre_nodes_measure_the_same_length():
    x, steps = np.polynomial.legendre.leggauss(80)
    t = np.pi * (x + 1)
    velocity = np.pi * np.stack([-2 * np.sin(t), np.cos(t)], axis=-1)[None]
    nodes = ellipse(2, 1, angles=t)[None]
    _, scale = decompose(nodes, quadrature_weights(nodes, velocity=velocity, steps=steps))
    np.testing.assert_allclose(scale[0] @ scale[0], np.diag([1.680306773009, 0.579923306748]), atol=1e-11)


def test_affine_weights_are_equivariant_to_linear_maps():
    nodes = blobs(5, 200, seed=3)
    weights = quadrature_weights(nodes, measure="affine")
    np.testing.assert_allclose(quadrature_weights(nodes @ MATRIX, measure="affine"), weights, rtol=1e-9)
    np.testing.assert_allclose(quadrature_weights(ellipse(3, 1, 64)[None], measure="affine"), 1 / 64, rtol=1e-12)


def test_affine_weights_match_affine_landmarks():
    dense = cassini_oval(equal_angles(4000)) * [1.5, 1]
    landmarks = to_landmarks(Ensemble([dense]), 500, measure="affine")
    _, placed = decompose(landmarks)
    _, weighted = decompose(dense[None], quadrature_weights(dense[None], measure="affine"))
    np.testing.assert_allclose(np.abs(placed), np.abs(weighted), atol=1e-9)


@pytest.mark.parametrize("offset", [0.1, 0.0])
def test_eigenfunctions_of_a_cassini_oval_converge_geometrically(offset):
    fine = cassini_oval(equal_angles(10000, offset))[None]

    def evaluated(n):
        nodes = cassini_oval(equal_angles(n, offset))[None]
        return Eigenfunctions.from_nodes(nodes, quadrature_weights(nodes))(fine)

    reference = evaluated(8192)
    error = {n: np.linalg.norm(evaluated(n) - reference, axis=-1).max() for n in (8, 16, 32, 64, 128)}
    assert error[8] < 9e-2
    assert error[16] < 2e-3
    assert error[32] < 1e-7
    assert error[64] < 2e-14
    assert error[128] < 1e-14


def test_eigenfunctions_at_the_nodes_equal_the_undulation():
    nodes = blobs(3, 90)
    weights = quadrature_weights(nodes)
    functions = Eigenfunctions.from_nodes(nodes, weights)
    undulation, scale = decompose(nodes, weights)
    root = np.sqrt(weights)[..., None]
    np.testing.assert_allclose(root * functions.undulation(nodes), undulation, atol=1e-13)
    values = root * functions(nodes)
    np.testing.assert_allclose(values.swapaxes(1, 2) @ values, np.eye(2)[None].repeat(3, axis=0), atol=1e-13)
    diagonal = functions.axes.swapaxes(1, 2) @ scale @ functions.axes
    np.testing.assert_allclose(diagonal, functions.extents[:, None] * np.eye(2), atol=1e-12)
    assert (functions.extents[:, 0] >= functions.extents[:, 1]).all()


def test_eigenfunctions_solve_the_integral_equation():
    nodes, points = blobs(1, 200)[0], blobs(1, 200)[0][::7]
    weights = quadrature_weights(nodes[None])[0]
    functions = Eigenfunctions.from_nodes(nodes[None], weights)
    centred = nodes - weights @ nodes
    kernel = (points - weights @ nodes) @ centred.T
    for j in range(2):
        left = kernel @ (weights * functions(nodes[None])[0, :, j])
        right = functions.extents[0, j] ** 2 * functions(points[None])[0, :, j]
        np.testing.assert_allclose(left, right, atol=1e-11)


def test_the_circle_has_cosine_and_sine_times_root_two():
    t = equal_angles(7, 0.3)
    functions = Eigenfunctions.from_nodes(ellipse(1, 1, 16)[None])
    values = functions.undulation(ellipse(1, 1, angles=t)[None])[0]
    np.testing.assert_allclose(values, np.sqrt(2) * np.stack([np.cos(t), np.sin(t)], axis=-1), atol=1e-14)


def test_larger_entries_of_the_axes_are_positive():
    axes = Eigenfunctions.from_nodes(blobs(30, 64)).axes
    strongest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    assert (strongest > 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measure": "length"}, "measure must be"),
        ({"velocity": np.ones((1, 7, 2))}, "velocity must have the same"),
        ({"steps": np.ones(7)}, "steps"),
        ({"steps": -np.ones(8)}, r"1 curve\(s\) have zero velocity"),
        ({"velocity": np.zeros((1, 8, 2))}, r"1 curve\(s\) have zero velocity"),
    ],
)
def test_incompatible_shapes_are_rejected(options, message):
    with pytest.raises(ValueError, match=message):
        quadrature_weights(ellipse(1, 1, 8)[None], **options)


def test_a_diverging_affine_measure_is_rejected(monkeypatch):
    from napari_shape_ensembles.shapes import quadrature

    monkeypatch.setattr(quadrature, "MAX_ITERATIONS", 2)
    with pytest.raises(ValueError, match="did not converge in 2 iterations"):
        quadrature_weights(blobs(1, 64), measure="affine")
