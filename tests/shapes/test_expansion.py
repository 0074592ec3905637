"""Orthogonal expansions: values, derivatives, lengths and decompositions versus closed forms and landmarks."""

import numpy as np
import pytest
from scipy.special import ellipe

from curve_makers import blobs, cassini_oval, ellipse
from napari_shape_ensembles import ShapeSpace, decompose, register
from napari_shape_ensembles.shapes import grassmann
from napari_shape_ensembles.shapes.expansion import LegendreExpansion, TrigonometricExpansion
from napari_shape_ensembles.shapes.quadrature import fourier_derivative

KINDS = [TrigonometricExpansion, LegendreExpansion]


def oval(u):
    """Two smooth closed curves as functions of u in [0, 1]."""
    return np.stack([cassini_oval(2 * np.pi * u), ellipse(2, 1, angles=2 * np.pi * u)])


@pytest.mark.parametrize("kind", KINDS)
def test_basis_functions_are_orthonormal(kind):
    expansion = kind(np.zeros((1, kind.size(12), 2)))
    x, weights = np.polynomial.legendre.leggauss(60)
    values = expansion.basis((x + 1) / 2)
    np.testing.assert_allclose((values * weights[:, None] / 2).T @ values, np.eye(kind.size(12)), atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_smooth_curves_are_resolved_to_rounding_error(kind):
    u = np.random.default_rng(0).uniform(size=200)
    np.testing.assert_allclose(kind.project(oval)(u), oval(u), atol=2e-12)


@pytest.mark.parametrize("n", [40, 41])
def test_a_trigonometric_expansion_interpolates_its_landmarks(n):
    landmarks = blobs(3, n, modes=30)
    expansion = TrigonometricExpansion.through(landmarks)
    u = np.arange(n) / n
    np.testing.assert_allclose(expansion(u), landmarks, atol=1e-12)
    np.testing.assert_allclose(expansion.derivative()(u), fourier_derivative(landmarks), atol=1e-10)


# Near the ends of the interval, derivatives of polynomials amplify rounding errors by the square of the degree.
@pytest.mark.parametrize(("kind", "accuracy"), [(TrigonometricExpansion, 1e-11), (LegendreExpansion, 1e-7)])
def test_derivatives_agree_with_the_closed_form_at_any_resolution(kind, accuracy):
    for p in (7, 1000):
        t = 2 * np.pi * np.linspace(0, 1, p)
        expected = 2 * np.pi * np.stack([-2 * np.sin(t), np.cos(t)], axis=-1)
        first = kind.project(oval).derivative()
        np.testing.assert_allclose(first(t / (2 * np.pi))[1], expected, atol=accuracy)
        second = -4 * np.pi**2 * ellipse(2, 1, angles=t)
        np.testing.assert_allclose(first.derivative()(t / (2 * np.pi))[1], second, atol=3e3 * accuracy)


@pytest.mark.parametrize("kind", KINDS)
def test_the_lipschitz_constant_of_an_ellipse(kind):
    assert kind.project(oval).lipschitz()[1] == pytest.approx(4 * np.pi, rel=1e-12)


def test_the_lipschitz_constant_is_a_sharp_bound():
    expansion = TrigonometricExpansion.through(blobs(5, 120))
    u = np.linspace(0, 1, 20001)
    points = expansion(u)
    chords = np.linalg.norm(np.diff(points, axis=1), axis=-1).max(axis=1) * 20000
    bound = expansion.lipschitz()
    assert (chords <= bound * (1 + 1e-9)).all()
    np.testing.assert_allclose(chords, bound, rtol=1e-4)


def test_the_maximum_speed_may_be_at_the_end_of_an_open_curve():
    parabola = LegendreExpansion.project(lambda u: np.stack([u, u**2], axis=-1)[None])
    assert parabola.lipschitz()[0] == pytest.approx(np.sqrt(5), rel=1e-12)
    assert parabola.lengths()[0] == pytest.approx(np.sqrt(5) / 2 + np.arcsinh(2) / 4, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_lengths_are_elliptic_integrals(kind):
    assert kind.project(oval).lengths()[1] == pytest.approx(8 * ellipe(0.75), rel=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_center_scale_and_undulation_need_no_landmarks(kind):
    expansion = kind.project(lambda u: oval(u) + np.array([3, -1]))
    undulation, scale = expansion.decompose()
    u = np.arange(400) / 400
    expected, expected_scale = decompose(oval(u))
    np.testing.assert_allclose(expansion.centre(), [[3, -1]] * 2, atol=1e-12)
    np.testing.assert_allclose(scale, expected_scale, atol=1e-12)
    np.testing.assert_allclose(undulation(u) / np.sqrt(400), expected, atol=1e-12)
    columns = undulation.coefficients
    np.testing.assert_allclose(grassmann.dist(*columns), grassmann.dist(*expected), atol=1e-12)


def test_both_bases_represent_the_same_curve():
    trigonometric = TrigonometricExpansion.through(blobs(2, 80))
    polynomial = LegendreExpansion.project(trigonometric)
    u = np.linspace(0, 1, 333)
    np.testing.assert_allclose(polynomial(u), trigonometric(u), atol=1e-11)
    np.testing.assert_allclose(polynomial.lipschitz(), trigonometric.lipschitz(), rtol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_interpolation_at_the_nodes_is_exact(kind):
    expansion = kind.project(oval)
    for degree in (5, 60, 150):
        np.testing.assert_allclose(expansion.at_nodes(degree), expansion(kind.nodes(degree)[0]), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_truncation_is_the_best_approximation_of_its_degree(kind):
    full = kind.project(oval)
    u, weights = kind.nodes(200)
    error = full(u) - full.truncated(6)(u)
    dropped = (full.coefficients[:, kind.size(6) :] ** 2).sum(axis=(1, 2))
    np.testing.assert_allclose((error**2).sum(axis=-1) @ weights, dropped, rtol=1e-9, atol=1e-20)


def test_evaluation_points_may_differ_between_curves():
    expansion = TrigonometricExpansion.through(blobs(3, 50))
    u = np.random.default_rng(0).uniform(size=(3, 9))
    for one, places, points in zip(range(3), u, expansion(u), strict=True):
        np.testing.assert_allclose(points, expansion(places)[one], atol=1e-12)


def test_a_curve_with_corners_needs_an_explicit_degree():
    def corner(u):
        return np.stack([np.abs(u - 0.5), u], axis=-1)[None]

    with pytest.raises(ValueError, match="2048 does not resolve"):
        LegendreExpansion.project(corner)
    assert np.abs(LegendreExpansion.project(corner, 100)(np.array([0.2])) - corner(np.array([0.2]))).max() < 1e-3


def test_malformed_and_collinear_landmarks_are_rejected():
    with pytest.raises(ValueError, match="shape"):
        TrigonometricExpansion.through(np.zeros((4, 2)))
    line = LegendreExpansion.project(lambda u: np.stack([u, 2 * u], axis=-1)[None])
    with pytest.raises(ValueError, match="line"):
        line.decompose()


def test_lipschitz_constants_of_reconstructions_grow_with_the_rank():
    curves = blobs(80, 200, seed=5)
    registered = decompose(register(curves, curves[0]).landmarks)
    space = ShapeSpace.learn(*registered, 60)
    t, l = space.coordinates(*registered)
    typical = [
        np.median(TrigonometricExpansion.through(space.reconstruct(t[:, :r], l)).lipschitz()) for r in (1, 5, 15, 60)
    ]
    assert typical == sorted(typical)
    assert typical[-1] > 1.2 * typical[0]
