"""The truth table, and samples too small for a result."""

from math import comb

import numpy as np
import pytest

from napari_shape_ensembles.comparison.verdict import TRUTH_TABLE, inconclusive, smallest_p_value, table_row
from napari_shape_ensembles.mmd import mmd_test


@pytest.mark.parametrize(
    ("undulation", "scale", "case"),
    [(False, False, "1∧1"), (False, True, "1∧0"), (True, False, "0∧1"), (True, True, "0∧0")],
)
def test_rejections_are_the_zeros_of_the_row(undulation, scale, case):
    assert table_row(undulation, scale) == case
    assert case in TRUTH_TABLE


def test_no_row_claims_equality():
    assert not any("same" in meaning or "accept" in meaning for meaning in TRUTH_TABLE.values())


@pytest.mark.parametrize(
    ("m", "n", "enough"), [(1, 1, False), (4, 5, False), (1, 50, False), (6, 6, True), (1, 400, True)]
)
def test_small_samples_cannot_reach_the_level(m, n, enough):
    reason = inconclusive(m, n, 1000, 0.01)
    assert (reason is None) == enough
    if not enough:
        assert f"{m} and {n} curves cannot reach p ≤ 0.005, half the level of a test: " in reason


@pytest.mark.parametrize(("m", "n", "permutations"), [(5, 5, 1000), (1, 150, 1000), (30, 30, 150)])
def test_samples_that_reach_the_level_but_not_half_of_it_are_reported(m, n, permutations):
    """Of 5 and 5 curves p = 2/252 is below 0.01, but depends on the permutations drawn."""
    assert 0.005 < smallest_p_value(m, n, permutations) < 0.01
    reason = inconclusive(m, n, permutations, 0.01)
    assert "cannot reach p ≤ 0.005, half the level of a test" in reason
    assert "p < 0.01" not in reason


def test_too_few_permutations_are_reported_with_the_remedy():
    assert (
        inconclusive(500, 500, 99, 0.01)
        == "99 permutations cannot reach p ≤ 0.005, half the level of a test: use at least 200"
    )
    assert inconclusive(500, 500, 200, 0.01) is None


@pytest.mark.parametrize(("m", "n"), [(6, 6), (7, 7), (8, 8), (5, 12), (30, 30)])
def test_the_recommended_number_of_permutations_suffices(m, n):
    reason = inconclusive(m, n, 150, 0.01)
    assert reason.startswith("150 permutations cannot reach p ≤ 0.005, half the level of a test: use at least ")
    enough = int(reason.split()[-1])
    assert inconclusive(m, n, enough, 0.01) is None
    assert f"use at least {enough}" in inconclusive(m, n, 198, 0.01)


def test_the_minimum_number_of_permutations_suffices_for_large_samples():
    """199 permutations reach half of 0.01 exactly, whatever the rounding of the number of labelings."""
    assert inconclusive(30, 30, 199, 0.01) is None
    assert inconclusive(500, 500, 199, 0.01) is None


def test_every_reason_makes_a_comparison_inconclusive():
    assert inconclusive(500, 500, 1000, 0.01) is None
    assert "cannot reach" in inconclusive(4, 5, 1000, 0.01)
    assert "use at least 200" in inconclusive(500, 500, 99, 0.01)


def test_thresholds_without_permutations_need_enough_curves():
    assert inconclusive(500, 500, 1, 0.01, null="gamma") is None
    assert inconclusive(500, 500, 1, 0.01, null="bound") is None
    assert "cannot reach" in inconclusive(4, 5, 1, 0.01, null="gamma")
    # √(2/15)·(1 + √(2 ln 100)) = 1.47 exceeds √2; for 20 curves per sample it is 1.28.
    assert "exceeds any possible MMD of 15 and 15 curves" in inconclusive(15, 15, 1000, 0.01, null="bound")
    assert inconclusive(20, 20, 1000, 0.01, null="bound") is None


@pytest.mark.parametrize(("m", "n"), [(3, 3), (2, 5)])
def test_the_smallest_p_value_is_attained_by_separated_samples(m, n):
    x, y = np.arange(m)[:, None] * 0.01, 100 + np.arange(n)[:, None] * 0.01
    found = np.mean([mmd_test(x, y, permutations=400, random_state=seed).p_value for seed in range(40)])
    assert smallest_p_value(m, n, 400) == pytest.approx(found, rel=0.05)
    assert smallest_p_value(m, n, 4) == pytest.approx((1 + 4 * smallest_p_value(m, n, 10**12)) / 5)


@pytest.mark.parametrize("n", [1098, 1099, 1100, 1101, 10**7])
def test_the_smallest_p_value_of_large_samples_is_limited_by_permutations(n):
    assert smallest_p_value(1099, 1099, 10**9) == (1 + 10**9 * (2 / comb(2198, 1099))) / (1 + 10**9)
    assert smallest_p_value(n, n + 1, 199) == smallest_p_value(n, n, 199) == 1 / 200
