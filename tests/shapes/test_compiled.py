"""Compiled loops over curves agree with NumPy."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from curve_makers import blobs, ellipse, ragged_blobs
from napari_shape_ensembles import Ensemble, decompose, register, to_landmarks
from napari_shape_ensembles.shapes import distinctness
from napari_shape_ensembles.shapes.lobes import hull_measures

few = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])


def curves(seed):
    """Smooth and angular outlines of different lengths and orientations, anywhere in the plane."""
    rng = np.random.default_rng(seed)
    corners = [rng.uniform(-1, 1, (rng.integers(3, 10), 2)) for _ in range(2)]  # most of them self-intersecting
    sides = np.linspace([[0, 0], [0, 3], [5, 3], [5, 0]], [[0, 3], [5, 3], [5, 0], [0, 0]], 6, endpoint=False)
    drawn = [*ragged_blobs(4, seed=seed), *corners, sides.swapaxes(0, 1).reshape(-1, 2), ellipse(2, 1, 40)]
    return [(curve[:: rng.choice([-1, 1])] * 10.0 ** rng.integers(-3, 4)) + rng.normal(0, 100, 2) for curve in drawn]


@few
@given(st.integers(0, 10_000), st.sampled_from([40, 101]), st.sampled_from(["affine", "arc-length"]))
@pytest.mark.parametrize("interpolation", ["auto", "spline", "polygon"])
def test_landmarks(both_ways, interpolation, seed, n, measure):
    ensemble = Ensemble(curves(seed))
    numpy, compiled = both_ways(lambda: to_landmarks(ensemble, n, interpolation=interpolation, measure=measure))
    known = 1e-9 * np.ptp(numpy, axis=1).max(axis=1) + 1e-12 * np.abs(numpy).max(axis=(1, 2))
    assert (np.abs(compiled - numpy).max(axis=(1, 2)) < known).all()


@pytest.mark.parametrize("measure", ["affine", "arc-length"])
def test_landmarks_of_polygons_do_not_depend_on_uninitialized_memory(both_ways, measure):
    polygon = np.linspace([[0, 0], [0, 3], [5, 3], [5, 0]], [[0, 3], [5, 3], [5, 0], [0, 0]], 25, endpoint=False)
    polygon = polygon.swapaxes(0, 1).reshape(-1, 2)

    def landmarks():
        held = [np.full(15 * len(polygon) + more, np.nan) for more in range(-10, 60)]
        del held  # the next allocation probably reuses their memory
        return to_landmarks(Ensemble([polygon]), 40, interpolation="polygon", measure=measure)

    for _ in range(10):
        np.testing.assert_allclose(*both_ways(landmarks), atol=1e-9)


def test_a_curve_without_converging_affine_measure_is_reported(both_ways):
    fold = np.concatenate([np.stack([np.linspace(0, 1, 50), np.zeros(50)], axis=1), [[0.5, 1e-7]]])

    def message():
        try:
            return to_landmarks(Ensemble([fold], ids=[7])).shape
        except ValueError as error:
            return str(error)

    numpy, compiled = both_ways(message)
    assert numpy == compiled


@few
@given(st.integers(0, 10_000), st.sampled_from([40, 41, 250]), st.booleans())
def test_registration(both_ways, seed, n, reflections):
    rng = np.random.default_rng(seed)
    some = blobs(6, n, seed=seed) * 10.0 ** rng.integers(-3, 4)
    some[::2] = some[::2, ::-1] * [1, -1]
    some[3] = ellipse(2, 1, n)  # matches itself in two ways
    given = np.concatenate([some, blobs(1, n, seed=seed + 1)])
    numpy, compiled = both_ways(lambda: register(given, given[-1], reflections=reflections))
    size = np.linalg.norm(numpy.landmarks, axis=(1, 2))[:, None, None]
    np.testing.assert_allclose(compiled.landmarks / size, numpy.landmarks / size, atol=1e-9)
    np.testing.assert_allclose(np.exp(2j * np.pi * (compiled.shift - numpy.shift) / n), 1, atol=1e-9)
    for field in ("rotation", "residual", "distinctness"):
        np.testing.assert_allclose(getattr(compiled, field), getattr(numpy, field), atol=1e-9)
    for field in ("reversed", "ambiguous"):
        np.testing.assert_array_equal(getattr(compiled, field), getattr(numpy, field))
    np.testing.assert_allclose(*both_ways(lambda: distinctness(given, reflections=reflections)), atol=1e-9)


@few
@given(st.integers(0, 10_000), st.floats(-5, 0))
def test_decomposition_and_hulls(both_ways, seed, flat):
    some = blobs(5, 60, seed=seed) * [1, 10**flat] + np.random.default_rng(seed).normal(0, 10, 2)
    (undulation, scale), (again, scale_again) = both_ways(lambda: decompose(some))
    np.testing.assert_allclose(again, undulation, atol=1e-9)
    np.testing.assert_allclose(scale_again, scale, rtol=1e-9, atol=1e-12 * scale.max())
    for turned in (undulation, undulation[:, ::-1]):
        np.testing.assert_allclose(*both_ways(lambda turned=turned: hull_measures(turned)), rtol=1e-9)


def test_hulls_of_self_intersecting_outlines_and_repeated_points(both_ways):
    rng = np.random.default_rng(0)
    wild = rng.normal(size=(40, 30, 2))
    wild[:, 1] = wild[:, 0]
    grid = rng.integers(0, 4, size=(40, 30, 2)).astype(float)
    for points in (wild, grid):
        np.testing.assert_allclose(*both_ways(lambda points=points: hull_measures(points)[:, 1:]), rtol=1e-12)


def test_collinear_curves_are_rejected(both_ways):
    line = np.stack([np.linspace(0, 1, 30)] * 2, axis=1)[None]

    def message():
        with pytest.raises(ValueError, match="lie on a line") as caught:
            decompose(line)
        return str(caught.value)

    numpy, compiled = both_ways(message)
    assert numpy == compiled
