"""Thresholds without permutations: closed forms, all labelings, reference cases, and level."""

import json
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from napari_shape_ensembles.mmd import gretton_test, mmd_test
from napari_shape_ensembles.mmd.kernel import gaussian
from napari_shape_ensembles.mmd.thresholds import distribution_free_threshold, permutation_moments


def pair(m, n, d=3, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    return {"": (rng.normal(size=(m, d)), rng.normal(size=(n, d)) + shift)}


def test_the_bound_for_equal_sizes_is_gretton_corollary_9():
    for m, alpha in [(10, 0.05), (200, 0.01)]:
        expected = np.sqrt(2 / m) * (1 + np.sqrt(2 * np.log(1 / alpha)))
        assert distribution_free_threshold(m, m, alpha) == pytest.approx(expected, rel=1e-14)
    assert distribution_free_threshold(20, 80, 0.01) == distribution_free_threshold(80, 20, 0.01)


@pytest.mark.parametrize(("m", "n"), [(3, 4), (2, 5), (4, 4), (1, 6)])
def test_moments_agree_with_all_labelings(m, n):
    z = np.random.default_rng(m).normal(size=(m + n, 2))
    k = gaussian(z, z, 0.8)
    values = []
    for first in combinations(range(m + n), m):
        w = np.full(m + n, -1 / n)
        w[list(first)] = 1 / m
        values.append(w @ k @ w)
    _, mean, variance = permutation_moments(z, m, 0.8)
    assert mean == pytest.approx(np.mean(values), rel=1e-10)
    assert variance == pytest.approx(np.var(values), rel=1e-10)


def test_moments_agree_with_the_reference_cases(real_data):
    checked = 0
    for case in json.loads((real_data / "mmd-reference" / "cases.json").read_text())["cases"]:
        if "permutation_mean_biased" in case:
            scope = {}
            exec(case["generator"], scope)
            x, y = scope["X"], scope["Y"]
            _, mean, variance = permutation_moments(np.concatenate([x, y]), len(x), case["median_bandwidth"])
            assert mean == pytest.approx(case["permutation_mean_biased"], abs=1e-10)
            assert np.sqrt(variance) == pytest.approx(case["permutation_sd_biased"], abs=1e-10)
            checked += 1
    assert checked


@pytest.mark.parametrize("null", ["gamma", "bound"])
def test_the_statistic_equals_that_of_the_permutation_test(null):
    samples = pair(30, 45, shift=0.3)
    test = gretton_test(samples, null)
    assert test.mmd == pytest.approx(mmd_test(*samples[""]).mmd, abs=1e-12)
    assert test.rejected == (test.mmd > test.threshold) == (test.p_value <= test.significance)
    assert len(test.null) == 0
    assert null in test.approximation.replace("-free", "")


def test_the_gamma_distribution_approximates_the_permutations():
    samples = pair(80, 120, shift=0.2)
    exact = mmd_test(*samples[""], permutations=20_000)
    test = gretton_test(samples, "gamma")
    assert test.p_value == pytest.approx(exact.p_value, rel=0.2)
    assert test.threshold == pytest.approx(exact.threshold, rel=0.03)


def test_the_bound_is_the_level_at_which_it_would_be_reached():
    samples = pair(200, 200, shift=1.5)
    test = gretton_test(samples, "bound")
    assert test.rejected
    assert distribution_free_threshold(200, 200, test.p_value) == pytest.approx(test.mmd, rel=1e-12)
    assert gretton_test(pair(200, 200), "bound").p_value > 0.9


def test_the_gamma_threshold_is_nearly_exact_and_the_bound_conservative():
    gamma = bound = 0
    for seed in range(400):
        gamma += gretton_test(pair(25, 25, seed=seed), "gamma", significance=0.1).rejected
        bound += gretton_test(pair(25, 25, seed=seed), "bound", significance=0.1).rejected
    low, high = binom.ppf([0.0005, 0.9995], 400, 0.1)
    assert low <= gamma <= high
    assert bound == 0


@pytest.mark.parametrize("null", ["gamma", "bound"])
def test_parts_are_combined_by_bonferroni(null):
    x, y = pair(60, 60, shift=0.9)[""]
    parts = {"one": (x, y), "two": (x**3, y**3)}
    joint = gretton_test(parts, null, factor=[0.5, 1])
    assert len(joint.parts) == 4
    assert joint.p_value == pytest.approx(min(1, 4 * min(part.p_value for part in joint.parts.values())))
    assert joint.rejected == (joint.mmd > joint.threshold) == (joint.p_value <= 0.05)
    assert joint.significance == 0.05


def test_coinciding_points_are_not_different():
    for null in ("gamma", "bound"):
        test = gretton_test({"": (np.zeros((10, 2)), np.zeros((9, 2)))}, null)
        assert (test.p_value, test.rejected) == (1, False)


def test_malformed_input_is_rejected():
    with pytest.raises(ValueError, match="null must be one of gamma, bound"):
        gretton_test(pair(5, 5), "normal")
    with pytest.raises(ValueError, match="at least 4"):
        gretton_test(pair(2, 1), "gamma")
