"""The approximation for large samples: opt-in, reported, level held, and close to the exact test."""

import numpy as np
import pytest
from scipy.stats import binom

from napari_shape_ensembles.mmd import mmd_test
from napari_shape_ensembles.mmd import two_sample as mmd
from napari_shape_ensembles.mmd.kernel import gaussian
from napari_shape_ensembles.mmd.permutations import nystrom_features
from napari_shape_ensembles.mmd.two_sample import combined_mmd_test


def samples(m, n, d=4, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, d)), rng.normal(size=(n, d)) + shift


def test_approximation_is_opt_in_and_always_reported():
    x, y = samples(40, 60)
    assert mmd_test(x, y).approximation == ""
    assert mmd_test(x, y, approximate_above=100).approximation == ""
    test = mmd_test(x, y, approximate_above=99)
    assert test.approximation == "kernel projected on 512 of 100 points"


def test_projection_on_all_points_is_the_exact_test():
    x, y = samples(60, 90, shift=0.3)
    exact, projected = mmd_test(x, y), mmd_test(x, y, approximate_above=10)
    assert projected.p_value == exact.p_value
    np.testing.assert_allclose(projected.null, exact.null, atol=1e-7)


def test_features_reproduce_the_kernel_between_the_chosen_points_and_never_exceed_it():
    z = np.random.default_rng(0).normal(size=(300, 3))
    phi, k = nystrom_features(z, 1.5, 80, 0), gaussian(z, z, 1.5)
    chosen = np.random.default_rng([0, 1]).choice(300, 80, replace=False)
    assert phi.shape[1] <= 80
    np.testing.assert_allclose((phi @ phi.T)[np.ix_(chosen, chosen)], k[np.ix_(chosen, chosen)], atol=1e-6)
    assert np.linalg.eigvalsh(k - phi @ phi.T).min() > -1e-6


def test_the_level_holds(monkeypatch):
    monkeypatch.setattr(mmd, "FEATURES", 8)
    rejections = 0
    for seed in range(400):
        x, y = samples(15, 25, 20, seed=seed)
        parts = {"raw": (x, y), "cubes": (x**3, y**3)}
        rejections += combined_mmd_test(
            parts, permutations=99, significance=0.1, approximate_above=1, seed=seed
        ).rejected
    low, high = binom.ppf([0.0005, 0.9995], 400, 0.1)
    assert low <= rejections <= high


@pytest.mark.parametrize("d", [3, 100])
def test_a_difference_in_a_large_sample_is_detected(d):
    x, y = samples(3000, 3000, d, shift=0.12 / np.sqrt(d) * 1.5)
    assert mmd_test(x, y, approximate_above=5000, permutations=300).rejected
    assert not mmd_test(*samples(3000, 3000, d), approximate_above=5000, permutations=300).rejected
