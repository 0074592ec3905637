"""Landmarks: equal weights, closed forms, SciPy's spline, and invariances."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq

from curve_makers import blobs, ellipse, pixelated, ragged_blobs, randomly_moved, rotation
from napari_shape_ensembles import Ensemble, decompose, register, to_landmarks
from napari_shape_ensembles.shapes import grassmann

MEASURES = ["affine", "arc-length"]


def landmarks(*curves, n=200, **options):
    return to_landmarks(Ensemble(curves), n, **options)


def reference_landmarks(curve, start, n):
    """Equal arc lengths from a given point of SciPy's periodic spline over the chord-length parameter."""
    closed = np.concatenate([curve, curve[:1]])
    chord = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1))])
    spline = CubicSpline(chord, closed, bc_type="periodic")
    slope = spline.derivative()
    lengths = [quad(lambda u: np.linalg.norm(slope(u)), a, b, epsabs=1e-13)[0] for a, b in pairwise(chord)]
    before = np.concatenate([[0], np.cumsum(lengths)])

    def length(u):
        i = min(np.searchsorted(chord, u, side="right") - 1, len(lengths) - 1)
        return before[i] + quad(lambda v: np.linalg.norm(slope(v)), chord[i], u, epsabs=1e-13)[0]

    dense = np.linspace(0, chord[-1], 4000)
    nearest = dense[np.linalg.norm(spline(dense) - start, axis=1).argmin()]
    first = length(brentq(lambda u: (spline(u) - start) @ slope(u), nearest - 0.02, nearest + 0.02, xtol=1e-14))
    targets = (first + before[-1] * np.arange(n) / n) % before[-1]
    return np.stack([spline(brentq(lambda u, s=s: length(u) - s, 0, chord[-1], xtol=1e-13)) for s in targets])


@pytest.mark.parametrize("n", [7, 50.0, "50", None, True])
def test_an_invalid_number_of_landmarks_is_rejected(n):
    square = Ensemble([[(0, 0), (0, 2), (2, 2), (2, 0)]])
    with pytest.raises(ValueError, match=f"the number of landmarks, must be an integer of at least 8, not {n!r}"):
        to_landmarks(square, n)


@pytest.mark.parametrize("given", [None, 5, [[(0, 0), (0, 2), (2, 2)]]])
def test_input_other_than_an_ensemble_is_rejected(given):
    with pytest.raises(ValueError, match="takes an Ensemble or several, not"):
        to_landmarks(given, 50)


def test_landmarks_agree_with_scipys_periodic_spline_and_adaptive_quadrature():
    curve = blobs(1, 160, seed=5, modes=5)[0]
    found = landmarks(curve, n=12, measure="arc-length")[0]
    np.testing.assert_allclose(found, reference_landmarks(curve, found[0], 12), atol=1e-7)


def test_reference_moments_of_an_ellipse_at_equal_arc_length():
    for aspect, expected in [(2, (0.579923306748, 1.680306773009)), (5, (0.640678961096, 8.983025972602))]:
        found = landmarks(ellipse(aspect, 1, 6000), n=1000, measure="arc-length")
        moments = np.linalg.eigvalsh(np.cov(found[0].T, bias=True))
        np.testing.assert_allclose(moments, expected, atol=1e-9)


def test_the_affine_measure_of_an_ellipse_is_that_of_a_stretched_circle():
    found = landmarks(ellipse(5, 1, 6000, turn=0.4))
    undulation, scale = decompose(found)
    np.testing.assert_allclose(np.linalg.eigvalsh(scale[0] @ scale[0]), [1 / 2, 25 / 2], rtol=1e-9)
    assert grassmann.dist(undulation[0], decompose(ellipse(1, 1, 200)[None])[0][0]) < 1e-6


@pytest.mark.parametrize("interpolation", ["spline", "polygon"])
def test_landmarks_are_equally_spaced_in_arc_length(interpolation):
    found = landmarks(*ragged_blobs(5, fewest=300), n=2000, measure="arc-length", interpolation=interpolation)
    chords = np.linalg.norm(np.roll(found, -1, axis=1) - found, axis=-1)
    spread = chords.std(axis=1) / chords.mean(axis=1)
    # Chords cut the corners of a polygon; on a smooth curve they equal arcs to third order.
    assert (spread < (0.02 if interpolation == "polygon" else 1e-3)).all()


def test_polygon_landmarks_of_a_square_divide_its_sides():
    square = np.array([[0, 0], [0, 4], [4, 4], [4, 0]], dtype=float)
    found = landmarks(square, n=16, interpolation="polygon", measure="arc-length")[0]
    assert ((np.isclose(found, 0, atol=1e-12) | np.isclose(found, 4, atol=1e-12)).any(axis=1)).all()
    corner = np.abs(np.abs(found - 2) - 2).max(axis=1).argmin()
    steps = np.abs(np.roll(found, -corner, axis=0)[1:] - np.roll(found, -corner, axis=0)[:-1]).sum(axis=1)
    np.testing.assert_allclose(steps, 1, atol=1e-9)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("kind", ["smooth", "pixelated"])
def test_equivariance_to_start_direction_and_rigid_motions(measure, kind):
    rng = np.random.default_rng(0)
    curves = ragged_blobs(8, seed=2)
    curves = curves if kind == "smooth" else [pixelated(curve) for curve in curves]
    found = landmarks(*curves, measure=measure)
    for mirror in (False, True):
        again = landmarks(*(randomly_moved(curve, rng, mirror=mirror) for curve in curves), measure=measure)
        for before, after in zip(found, again, strict=True):
            expected = np.roll(before[::-1], 1, axis=0) * [1, -1] if mirror else before
            assert procrustes_gap(expected, after) < 1e-9


def procrustes_gap(x, y):
    """Maximum distance between landmarks of equal index after optimal rotation."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    u, _, vt = np.linalg.svd(x.T @ y)
    return np.abs(x @ (u @ np.diag([1, np.linalg.det(u @ vt)]) @ vt) - y).max()


@given(
    st.integers(0, 10**6),
    st.floats(-3, 3),
    st.floats(0.2, 5),
    st.floats(0.2, 5),
    st.booleans(),
    st.sampled_from(["spline", "polygon"]),
)
def test_affine_landmarks_are_equivariant_to_linear_maps(seed, turn, stretch, squeeze, mirror, interpolation):
    curve = blobs(1, 80, seed=seed, roughness=0.25)[0]
    matrix = rotation(turn) @ np.diag([stretch, -squeeze if mirror else squeeze]) @ rotation(1 - turn)
    before, after = (landmarks(c, interpolation=interpolation)[0] for c in (curve, curve @ matrix))
    expected = (np.roll(before[::-1], 1, axis=0) if mirror else before) @ matrix
    np.testing.assert_allclose(after, expected, atol=1e-8 * np.abs(expected).max())


def test_arc_length_landmarks_are_not_equivariant_to_linear_maps():
    curve = blobs(1, 200)[0]
    undulation, _ = decompose(landmarks(curve, curve * [2.1, 0.7], measure="arc-length"))
    assert grassmann.dist(*undulation) > 1e-2


def test_the_affine_measure_is_arc_length_of_the_whitened_curve():
    found = landmarks(blobs(1, 400)[0], n=2000)
    undulation, _ = decompose(found)
    chords = np.linalg.norm(np.roll(undulation[0], -1, axis=0) - undulation[0], axis=-1)
    assert chords.std() / chords.mean() < 1e-3


def test_symmetric_outlines_are_sampled_symmetrically():
    square = np.array([[0, 0], [0, 1], [0, 2], [1, 2], [2, 2], [2, 1], [2, 0], [1, 0]], dtype=float)
    found = landmarks(square, np.roll(square, 3, axis=0), n=40)
    quarter = rotation(np.pi / 2)
    gaps = [procrustes_gap(np.roll(found[0], shift, axis=0), found[1]) for shift in (0, 10, 20, 30)]
    assert min(gaps) < 1e-9
    np.testing.assert_allclose(np.roll(found[0] - 1, 10, axis=0) @ quarter.T, found[0] - 1, atol=1e-9)


@pytest.mark.parametrize(("vertices", "median"), [(160, 2e-5), (320, 1e-6)])
@pytest.mark.parametrize("measure", MEASURES)
def test_few_vertices_determine_the_undulation_of_a_smooth_outline(measure, vertices, median):
    exact = Ensemble(blobs(40, 16000, seed=7, roughness=0.05, elongation=4.5))
    polygons = to_landmarks(exact, vertices, measure="arc-length")
    expected, _ = decompose(to_landmarks(exact, 500, measure=measure))
    found, _ = decompose(to_landmarks(Ensemble(list(polygons)), 500, measure=measure))
    aligned = [register(y[None], x).landmarks[0] for x, y in zip(expected, found, strict=True)]
    assert np.median(grassmann.dist(expected, decompose(np.stack(aligned))[0])) <= median


def test_all_landmarks_have_the_same_orientation():
    curve = blobs(1, 100)[0]
    x, y = landmarks(curve, curve[::-1]).transpose(2, 0, 1)
    assert ((x * np.roll(y, -1, axis=1) - y * np.roll(x, -1, axis=1)).sum(axis=1) > 0).all()


def test_curves_are_processed_independently():
    curves = ragged_blobs(150, seed=4)
    together = landmarks(*curves)
    for index in (0, 77, 149):
        np.testing.assert_allclose(landmarks(curves[index])[0], together[index], atol=1e-11)


def test_curves_that_converge_in_different_iterations_are_independent():
    angle, radius = np.linspace(0, 2 * np.pi, 5, endpoint=False), np.array([[4.0], [0.25], [0.25], [0.25], [0.25]])
    spike = radius * np.stack([np.sin(angle), np.cos(angle)], axis=-1)
    triangle = np.array([[3.0, -2], [0, -1], [0, -3]])
    together = landmarks(spike, triangle, measure="affine")
    for one, alone in zip(together, (spike, triangle), strict=True):
        np.testing.assert_allclose(one, landmarks(alone, measure="affine")[0], atol=1e-11)


@pytest.mark.parametrize("measure", MEASURES)
def test_triangles_and_close_vertices(measure):
    triangle = np.array([[0.0, 0], [0, 3], [4, 0]])
    close = np.insert(ellipse(3, 2, 50), 10, ellipse(3, 2, 50)[10] + 1e-9, axis=0)
    assert np.isfinite(landmarks(triangle, close, measure=measure)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [({"n": 7}, "at least 8"), ({"interpolation": "linear"}, "polygon"), ({"measure": "area"}, "arc-length")],
)
def test_unknown_options_are_rejected(options, message):
    with pytest.raises(ValueError, match=message):
        landmarks(ellipse(2, 1, 30), **options)


def test_an_empty_ensemble_has_no_landmarks():
    assert landmarks(n=50).shape == (0, 50, 2)


@pytest.mark.parametrize("measure", MEASURES)
def test_landmarks_of_polygons_do_not_depend_on_uninitialized_memory(measure):
    polygon = np.linspace([[0, 0], [0, 3], [5, 3], [5, 0]], [[0, 3], [5, 3], [5, 0], [0, 0]], 25, endpoint=False)
    polygon = polygon.swapaxes(0, 1).reshape(-1, 2)
    found = []
    for _ in range(5):
        held = [np.full(15 * len(polygon) + more, np.nan) for more in range(-10, 60)]
        del held  # the next allocation probably reuses their memory
        found.append(landmarks(polygon, n=40, interpolation="polygon", measure=measure))
    np.testing.assert_allclose(found, np.broadcast_to(found[0], np.shape(found)), atol=1e-12)
    assert np.isfinite(found).all()
