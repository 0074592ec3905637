"""S²₊₊: agreement with SciPy's dense functions, and invariances of the metric."""

import tracemalloc

import numpy as np
import pytest
from scipy.linalg import eigvalsh, expm, logm, sqrtm

from curve_makers import rotation
from napari_shape_ensembles.shapes import spd


def matrices(count=30, seed=0, spread=0.8):
    factors = np.random.default_rng(seed).normal(size=(count, 2, 2)) * spread + np.eye(2)
    return factors @ factors.swapaxes(1, 2) + 0.05 * np.eye(2)


@pytest.mark.parametrize(
    ("ours", "theirs", "of"),
    [(spd.logm, logm, matrices()), (spd.sqrtm, sqrtm, matrices()), (spd.expm, expm, matrices() - np.eye(2))],
)
def test_functions_of_matrices_agree_with_dense_ones(ours, theirs, of):
    np.testing.assert_allclose(ours(of), [theirs(matrix) for matrix in of], atol=1e-12)


@pytest.mark.parametrize("ratio", [1.0, 1 + 1e-12, 1 + 1e-6])
def test_logarithms_of_nearly_isotropic_matrices_are_accurate(ratio):
    expected = np.diag([np.log(ratio), 0.0])
    np.testing.assert_allclose(spd.logm(np.diag([ratio, 1.0])), expected, atol=3e-16, rtol=1e-9)


def test_coordinates_of_many_matrices_need_little_memory():
    base, many = matrices(1, seed=1)[0], matrices(30_000)
    tracemalloc.start()
    found = spd.coordinates(base, many)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    for place in (0, 4095, 4096, 29_999):
        assert (spd.coordinates(base, many[place : place + 1]) == found[place]).all()
    assert peak < 2 * many.nbytes


def test_indices_of_matrices_that_are_not_positive_definite_are_reported():
    many = matrices(9000)
    many[[5000, 8000]] = np.diag([1.0, -1.0])
    with pytest.raises(ValueError, match=r"2 scale\(s\) are not positive definite \(first: \[5000\]\)"):
        spd.coordinates(np.eye(2), many)


def test_coordinates_are_isometric_in_any_frame():
    points, base, turn = matrices(), matrices(1, seed=5)[0], rotation(0.5)
    before = spd.coordinates(base, points)
    after = spd.coordinates(turn @ base @ turn.T, turn @ points @ turn.T)
    pairs = np.linalg.norm(before[:, None] - before, axis=-1)
    np.testing.assert_allclose(np.linalg.norm(after[:, None] - after, axis=-1), pairs, atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(before, axis=1), spd.dist(base, points), rtol=1e-12)


def test_coordinates_round_trip():
    points, base = matrices(), matrices(1, seed=5)[0]
    np.testing.assert_allclose(spd.from_coordinates(base, spd.coordinates(base, points)), points, rtol=1e-11)


def test_distances_by_generalized_eigenvalues_and_affine_invariance():
    x, y = matrices(2)
    expected = np.linalg.norm(np.log(eigvalsh(y, x)))
    assert spd.dist(x, y) == pytest.approx(expected, rel=1e-12)
    a = np.array([[2.0, 1.0], [0.3, 1.5]])
    assert spd.dist(a @ x @ a.T, a @ y @ a.T) == pytest.approx(expected, rel=1e-11)


def test_the_mean_has_zero_gradient_and_is_equivariant_to_linear_maps():
    points = matrices()
    mean = spd.frechet_mean(points)
    assert np.linalg.norm(spd.coordinates(mean, points).mean(axis=0)) < 1e-12
    a = np.array([[2.0, 1.0], [0.3, 1.5]])
    np.testing.assert_allclose(spd.frechet_mean(a @ points @ a.T), a @ mean @ a.T, rtol=1e-11)


def test_the_mean_of_commuting_matrices_is_geometric():
    points = np.stack([np.diag([1.0, 4.0]), np.diag([9.0, 1.0])])
    np.testing.assert_allclose(spd.frechet_mean(points), np.diag([3.0, 2.0]), rtol=1e-13)


def test_a_mean_that_does_not_converge_is_rejected():
    with pytest.raises(ValueError, match="did not converge"):
        spd.frechet_mean(matrices(), tolerance=0)


def of_eigenvalues(function, matrix):
    values, vectors = np.linalg.eigh(matrix)
    return vectors * function(values) @ vectors.T


def test_logarithms_and_exponentials_at_a_base_agree_with_dense_ones():
    points, base = matrices(), matrices(1, seed=5)[0]
    root = of_eigenvalues(np.sqrt, base)
    inner = np.linalg.inv(root)
    tangents = spd.log(base, points)
    np.testing.assert_allclose(
        tangents, [root @ of_eigenvalues(np.log, inner @ point @ inner) @ root for point in points], atol=1e-12
    )
    np.testing.assert_allclose(spd.exp(base, tangents), points, rtol=1e-12, atol=1e-12)
    dense = [root @ of_eigenvalues(np.exp, inner @ tangent @ inner) @ root for tangent in tangents]
    np.testing.assert_allclose(spd.exp(base, tangents), dense, rtol=1e-12, atol=1e-12)


def test_geodesics_between_diagonal_matrices_are_geometric():
    start, end = np.diag([1.0, 4.0]), np.diag([9.0, 1.0])
    middle = spd.exp(start, spd.log(start, end[None]) / 2)[0]
    np.testing.assert_allclose(middle, np.diag([3.0, 2.0]), rtol=1e-13)


@pytest.mark.parametrize(
    "bad", [np.diag([1.0, -1.0]), np.diag([-1.0, -1.0]), np.ones((2, 2)), np.full((2, 2), np.nan)], ids=str
)
def test_matrices_that_are_not_positive_definite_are_rejected(bad):
    points = np.stack([np.eye(2), bad])
    for function in (spd.log, spd.coordinates, spd.dist):
        with pytest.raises(ValueError, match=r"1 scale\(s\) are not positive definite \(first: \[1\]\)"):
            function(np.eye(2), points)
        with pytest.raises(ValueError, match="not positive definite"):
            function(bad, np.eye(2)[None])


@pytest.mark.parametrize("aspect", [1e2, 1e4, 1e6])
def test_means_of_widely_spread_scales_converge(aspect):
    rng = np.random.default_rng(0)
    turns = np.stack([rotation(angle) for angle in rng.uniform(0, np.pi, 50)])
    extents = aspect ** rng.uniform(0, 1, (50, 2)) * 1e-3
    points = turns * extents[:, None] @ turns.swapaxes(1, 2)
    mean = spd.frechet_mean(points)
    assert np.linalg.norm(spd.coordinates(mean, points).mean(axis=0)) < 1e-9
