"""Distances between shapes: metric axioms and invariances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curve_makers import blobs, ellipse, randomly_moved, rotation
from napari_shape_ensembles import Ensemble, to_landmarks
from napari_shape_ensembles.shapes import procrustes_distances, shape_distances


def brute_force(curve, other):
    """Least ‖C(p) X - Y R‖ over whole-sample shifts, both directions and O(2), for centered curves of unit norm."""
    x, y = (c - c.mean(axis=0) for c in (curve, other))
    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    best = np.inf
    for candidate in (x, x[::-1]):
        for p in range(len(x)):
            u, _, vt = np.linalg.svd(y.T @ np.roll(candidate, -p, axis=0))
            best = min(best, np.linalg.norm(np.roll(candidate, -p, axis=0) - y @ u @ vt))
    return best


def test_distances_agree_with_brute_force_for_whole_sample_shifts():
    # An odd wave on a circle with a mark: by symmetry, the best shift is zero.
    u = 2 * np.pi * np.arange(48) / 48
    direction = np.stack([np.cos(u), np.sin(u)], axis=-1)
    curve, other = ((1 + 0.3 * np.cos(u) + a * np.cos(3 * u))[:, None] * direction for a in (0.1, 0.15))
    changed = np.roll(other, 11, axis=0) @ rotation(2.0)
    expected = brute_force(changed, curve)
    assert procrustes_distances(changed[None], curve[None])[0, 0] == pytest.approx(expected, rel=1e-12)


def test_refined_distances_are_just_below_those_of_whole_shifts():
    curves = blobs(6, 120, seed=2)
    found = procrustes_distances(curves)
    for i in range(6):
        for j in range(i):
            expected = brute_force(curves[i], curves[j])
            assert expected - 0.01 < found[i, j] <= expected + 1e-12


def test_the_cyclic_procrustes_distance_is_a_metric():
    curves = blobs(25, 101, seed=3)
    found = procrustes_distances(curves)
    np.testing.assert_array_equal(np.diag(found), 0)
    np.testing.assert_allclose(found, procrustes_distances(curves, curves), atol=1e-7)
    np.testing.assert_allclose(procrustes_distances(curves[:5], curves[5:]), found[:5, 5:], atol=1e-7)
    assert (found[:, None] <= found[:, :, None] + found[None] + 1e-9).all()
    assert found[np.triu_indices(25, 1)].min() > 0.01
    assert found.max() <= np.sqrt(2)


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.booleans())
def test_distances_are_invariant_to_motions_parametrization_and_size(seed, mirror):
    curves = blobs(4, 80, seed=seed)
    rng = np.random.default_rng(seed)
    again = np.stack([randomly_moved(curve, rng, mirror=mirror) * rng.uniform(0.5, 2) for curve in curves])
    assert np.diag(procrustes_distances(curves, again)).max() < 1e-7
    np.testing.assert_allclose(procrustes_distances(again), procrustes_distances(curves), atol=1e-7)


def test_mirror_images_differ_without_reflections():
    curve = blobs(1, 128, seed=2)
    mirrored = curve * [1, -1]
    assert procrustes_distances(curve, mirrored)[0, 0] < 1e-9
    assert procrustes_distances(curve, mirrored, reflections=False)[0, 0] > 0.05


def test_shape_distances_separate_scale_and_undulation():
    curves = Ensemble(list(blobs(3, 300, seed=8)))
    stretched = Ensemble([curve @ np.diag([1.5, 0.8]) for curve in curves.curves])
    one, other = to_landmarks(curves, 200), to_landmarks(stretched, 200)
    for curve, image in zip(one, other, strict=True):
        found = shape_distances(image[None], curve)
        assert found.undulation[0] < 1e-7
        assert found.scale[0] > 0.3
        assert found.procrustes[0] > 0.05


def test_shape_distances_of_ellipses_depend_on_their_axes():
    circle, long = ellipse(1, 1, 120), ellipse(3, 2, 120, turn=0.6)
    found = shape_distances(long[None], circle)
    assert found.undulation[0] < 1e-12
    assert found.scale[0] == pytest.approx(np.hypot(np.log(3), np.log(2)), rel=1e-10)
    assert found.product[0] == pytest.approx(found.scale[0], rel=1e-10)
    assert shape_distances(2 * circle[None], circle).procrustes[0] < 1e-12


def test_shape_distances_are_invariant_to_rigid_motions():
    curves = blobs(9, 100, seed=4)
    rng = np.random.default_rng(1)
    again = np.stack([randomly_moved(curve, rng, mirror=bool(i % 2)) for i, curve in enumerate(curves[1:])])
    one, other = shape_distances(curves[1:], curves[0]), shape_distances(again, curves[0])
    for name in ("undulation", "scale", "product", "procrustes"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), atol=1e-7)
    np.testing.assert_allclose(one.product**2, one.undulation**2 + one.scale**2, rtol=1e-12)


def test_different_numbers_of_landmarks_are_rejected():
    with pytest.raises(ValueError, match="have 50 and 60 landmarks"):
        procrustes_distances(blobs(2, 50), blobs(2, 60))
