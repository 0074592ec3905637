"""The witness function: definition, identities with MMD², and typical curves."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from napari_shape_ensembles.mmd import mmd_test
from napari_shape_ensembles.mmd.witness import most_typical, witness


def samples(seed=0, m=30, n=45, d=3):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=(m, d)), rng.normal(0.4, 1.3, size=(n, d))]), m


def by_definition(points, first, width, own):
    values = []
    for i, z in enumerate(points):
        means = []
        for part in (range(first), range(first, len(points))):
            near = [np.exp(-((z - points[j]) ** 2).sum() / (2 * width**2)) for j in part if own or j != i]
            means.append(sum(near) / len(near))
        values.append(means[0] - means[1])
    return np.array(values)


@pytest.mark.parametrize("own", [True, False])
def test_the_witness_is_the_difference_of_mean_kernels(own):
    points, m = samples()
    np.testing.assert_allclose(witness(points, m, 1.7, own=own), by_definition(points, m, 1.7, own), atol=1e-14)


def test_blocks_agree_with_the_whole_kernel_matrix():
    points, m = samples(m=700, n=400)
    kernel = np.exp(-cdist(points, points, "sqeuclidean") / (2 * 1.7**2))
    expected = kernel[:, :m].mean(axis=1) - kernel[:, m:].mean(axis=1)
    np.testing.assert_allclose(witness(points, m, 1.7, own=True), expected, atol=1e-14)


def test_invariance_to_the_scale_of_points():
    points, m = samples()
    np.testing.assert_allclose(witness(points * 1e-170, m), witness(points, m), atol=1e-14)


def test_the_projected_witness_agrees_with_the_projected_test():
    points, m = samples(m=400, n=500, d=20)
    exact, projected = witness(points, m), witness(points, m, features=512)
    assert np.corrcoef(exact, projected)[0, 1] > 0.999
    test = mmd_test(points[:m], points[m:], permutations=10, approximate_above=800)
    values = witness(points, m, test.bandwidth, own=True, features=512)
    assert "512" in test.approximation
    assert values[:m].mean() - values[m:].mean() == pytest.approx(test.mmd**2, rel=1e-8)
    np.testing.assert_array_equal(witness(points, m, features=900), exact)


def test_the_difference_of_mean_witnesses_is_mmd_squared():
    points, m = samples(m=300, n=700)
    test = mmd_test(points[:m], points[m:], permutations=10)
    values = witness(points, m, test.bandwidth, own=True)
    assert values[:m].mean() - values[m:].mean() == pytest.approx(test.mmd**2, rel=1e-10)


def test_the_held_out_witness_is_zero_without_a_difference():
    points, m = np.random.default_rng(3).normal(size=(400, 20)), 150
    held_out, plain = witness(points, m), witness(points, m, own=True)
    assert abs(held_out[:m].mean() - held_out[m:].mean()) < 0.002
    assert plain[:m].mean() - plain[m:].mean() > 0.003


def test_the_most_typical_points_are_in_the_distinguishing_cluster():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(200, 2))
    points[:10] += [0, 12]
    points[100:115] += [12, 0]
    values = witness(points, 100)
    of_a, of_b = most_typical(values, 100, 10)
    assert set(of_a) == set(range(10))
    assert set(of_b) <= set(range(100, 115))
    assert (np.diff(values[of_a]) <= 0).all()
    assert (np.diff(values[of_b]) >= 0).all()


def test_swapping_the_samples_changes_the_sign():
    points, m = samples()
    swapped = witness(np.concatenate([points[m:], points[:m]]), len(points) - m)
    np.testing.assert_allclose(witness(points, m), -np.roll(swapped, m), atol=1e-14)


def test_numbers_are_one_dimensional_points():
    points, m = samples(d=1)
    np.testing.assert_array_equal(witness(points[:, 0], m), witness(points, m))


@pytest.mark.parametrize(("m", "width", "sentence"), [(1, 1.0, "at least 2 in each"), (3, 0.0, "positive distance")])
def test_input_without_witness_is_rejected(m, width, sentence):
    with pytest.raises(ValueError, match=sentence):
        witness(np.arange(6.0), m, width)
