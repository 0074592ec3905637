"""Other kernels than the Gaussian one, and points far from the origin: direct computations."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from napari_shape_ensembles.mmd import mmd_test
from napari_shape_ensembles.mmd.kernel import KERNELS
from napari_shape_ensembles.mmd.nested import nested_mmd_tests
from napari_shape_ensembles.mmd.permutations import nystrom_features, permuted_labels
from napari_shape_ensembles.mmd.two_sample import combined_mmd_test, joint_thresholds


def samples(m=30, n=40, d=3, *, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, d)), rng.normal(size=(n, d)) + shift


def energy_distance(x, y):
    return 2 * cdist(x, y).mean() - cdist(x, x).mean() - cdist(y, y).mean()


def test_permutations_of_the_energy_distance():
    x, y = samples(12, 9, shift=0.5)
    test = combined_mmd_test({"": (x, y)}, kernels={"": "energy"}, permutations=30, seed=3)
    both = np.concatenate([x, y])
    assert test.bandwidth == pytest.approx(np.median(pdist(both)))
    labels = permuted_labels(12, 21, 30, 3).indicators(slice(None)).astype(bool)
    expected = [np.sqrt(energy_distance(both[a], both[~a]) / test.bandwidth) for a in labels]
    np.testing.assert_allclose(np.append(test.mmd, test.null), expected, atol=1e-12)
    assert test.p_value == (1 + sum(value >= expected[0] for value in expected[1:])) / 31


def test_permutations_of_the_difference_of_means():
    x, y = samples(12, 9, 4)
    test = combined_mmd_test({"": (x, y)}, kernels={"": "mean"}, permutations=30, seed=3)
    both = np.concatenate([x, y])
    labels = permuted_labels(12, 21, 30, 3).indicators(slice(None)).astype(bool)
    expected = [np.linalg.norm(both[a].mean(axis=0) - both[~a].mean(axis=0)) / 2 for a in labels]
    np.testing.assert_allclose(np.append(test.mmd, test.null), expected, atol=1e-12)


def test_the_energy_distance_of_two_pairs_of_points():
    test = combined_mmd_test({"": ([0.0, 1.0], [3.0, 4.0])}, kernels={"": "energy"}, bandwidth=1.0, permutations=5)
    assert test.mmd**2 == pytest.approx(2 * 3 - 0.5 - 0.5)


@pytest.mark.parametrize("kernel", ["energy", "mean"])
def test_single_and_double_precision_give_the_same_p_value(kernel):
    x, y = samples(600, 500, 20, shift=0.02)
    test = combined_mmd_test({"": (x, y)}, kernels={"": kernel}, permutations=200)
    both = np.concatenate([x, y])
    weights = permuted_labels(600, 1100, 200, 0).weights(slice(None)) * (1 / 600 + 1 / 500)
    distances = cdist(both, both)
    matrix = -distances / test.bandwidth if kernel == "energy" else -(distances**2) / 2 / 20
    expected = np.einsum("bi,bi->b", weights @ matrix, weights)
    assert test.p_value == np.mean(expected >= expected[0])


def test_energy_kernel_features_on_all_points_are_exact():
    x, y = samples(20, 25)
    both = np.concatenate([x, y])
    phi = nystrom_features(both, 1.0, 100, 0, KERNELS["energy"])
    weights = np.repeat([1 / 20, -1 / 25], [20, 25])
    assert np.sum((weights @ phi) ** 2) == pytest.approx(energy_distance(x, y), rel=1e-6)
    near = combined_mmd_test({"": (x, y)}, kernels={"": "energy"}, approximate_above=10)
    assert near.mmd == pytest.approx(combined_mmd_test({"": (x, y)}, kernels={"": "energy"}).mmd, rel=1e-6)


def test_nested_tests_accept_kernels_and_whole_descriptions():
    x, y = samples(20, 25, 6, shift=0.3)
    z = samples(20, 25, 2, seed=1)
    options = {"kernels": {"t": "energy", "z": "mean"}, "permutations": 99}
    ranks = [2, 4, 6]
    for rank, test in zip(ranks, nested_mmd_tests({"t": (x, y), "z": z}, ranks, whole=["z"], **options), strict=True):
        expected = combined_mmd_test({"t": (x[:, :rank], y[:, :rank]), "z": z}, **options)
        assert test.p_value == expected.p_value
        for name in "tz":
            assert test.parts[name].mmd == pytest.approx(expected.parts[name].mmd)


def test_other_kernels_do_not_depend_on_the_widths():
    x, y = samples()
    test = combined_mmd_test({"a": (x, y), "b": (x, y)}, kernels={"b": "energy"}, factor=(0.5, 1.0), permutations=49)
    assert list(test.parts) == ["a, s = 0.5 × median", "a, s = 1 × median", "b"]


def test_joint_thresholds_are_exceeded_if_and_only_if_rejected():
    decisions = []
    for seed in range(60):
        x, y = samples(15, 15, 2, seed=seed, shift=0.3)
        test = combined_mmd_test(
            {"a": (x, y), "b": (x**2, y**2), "c": (x, y)},
            kernels={"b": "mean", "c": "energy"},
            permutations=99,
            significance=0.1,
        )
        thresholds = joint_thresholds(test)
        assert test.rejected == any(part.mmd > thresholds[name] for name, part in test.parts.items())
        decisions.append(test.rejected)
    assert 0 < sum(decisions) < 60


def test_bandwidth_and_mmd_are_stable_far_from_the_origin():
    x, y = samples(50, 45)
    near, far = mmd_test(x, y), mmd_test(x + 1e6, y + 1e6)
    distances = pdist(np.concatenate([x + 1e6, y + 1e6]))
    assert far.bandwidth == pytest.approx(np.median(distances), rel=1e-12)
    assert far.bandwidth == pytest.approx(near.bandwidth, rel=1e-9)
    assert far.mmd == pytest.approx(near.mmd, rel=1e-8)
    assert far.p_value == near.p_value
