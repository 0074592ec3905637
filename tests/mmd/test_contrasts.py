"""Ratios of means and spreads: intervals versus closed forms, and their coverage."""

import warnings

import numpy as np
import pytest
from scipy import stats

from napari_shape_ensembles.mmd.contrasts import (
    bootstrap_counts,
    difference_of_means,
    percentile_ends,
    spread_interval,
    spread_ratio,
    standardised_difference,
    welch,
    welch_interval,
)


def samples(seed, m=25, n=50):
    rng = np.random.default_rng(seed)
    return np.abs(rng.normal(size=(m + n, 1))), m, bootstrap_counts(m, m + n, 300, seed)


def test_intervals_are_symmetric_about_what_was_observed():
    values, first, counts = samples(0)
    value, low, high = difference_of_means(values, first, counts)
    assert value == pytest.approx(values[first:].mean() - values[:first].mean())
    assert (low + high) / 2 == pytest.approx(value)
    ends = spread_interval(values, first, counts)
    assert np.sqrt(ends[0] * ends[1]) == pytest.approx(spread_ratio(values, first))


def test_an_interval_scales_with_the_unit():
    values, first, counts = samples(1)
    one, other = (np.stack(difference_of_means(v, first, counts)) for v in (values, 3 * values + 7))
    np.testing.assert_allclose(other, 3 * one, atol=1e-12)
    np.testing.assert_allclose(
        spread_interval(3 * values + 7, first, counts), spread_interval(values, first, counts), rtol=1e-9
    )


def test_coverage_of_intervals():
    """Percentile intervals of the same resamples cover the ratio of spreads in 0.89 of such samples."""
    held = []
    for seed in range(400):
        values, first, counts = samples(seed)
        _, low, high = difference_of_means(values, first, counts)
        least, most = spread_interval(values, first, counts)[:, 0]
        held.append((low[0] <= 0 <= high[0], least <= 1 <= most))
    means, spreads = np.mean(held, axis=0)
    assert 0.92 <= means <= 0.98
    assert 0.91 <= spreads <= 0.98


@pytest.mark.parametrize(("m", "n"), [(2, 2), (2, 20), (20, 2), (3, 3), (3, 20), (5, 5), (10, 10)])
def test_coverage_for_few_curves(m, n):
    inside, widths = 0, []
    for seed in range(300):
        values = np.random.default_rng(seed).normal(size=(m + n, 1))
        _, low, high = difference_of_means(values, m, bootstrap_counts(m, m + n, 200, seed))
        inside += low[0] <= 0 <= high[0]
        widths.append(high[0] - low[0])
    assert inside >= 0.92 * 300  # three standard errors below 0.95 is 0.912
    assert np.median(widths) < 30  # and the claim is not trivial


def test_few_curves_have_welchs_interval():
    values = np.random.default_rng(3).normal(size=(8, 2)) * [1, 0]
    value, low, high = difference_of_means(values, 4, bootstrap_counts(4, 8, 50, 0))
    expected = stats.ttest_ind(values[4:, 0], values[:4, 0], equal_var=False).confidence_interval()
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high))
    assert low[1] == value[1] == high[1] == 0
    alone = difference_of_means(values, 1, bootstrap_counts(1, 8, 50, 0))
    assert (alone[1][0], alone[2][0]) == (-np.inf, np.inf)


@pytest.mark.parametrize(("m", "n"), [(2, 2), (2, 6), (2, 20), (3, 3), (3, 20), (5, 5)])
def test_coverage_of_welchs_interval_for_unequal_sizes(m, n):
    values = np.random.default_rng(0).normal(size=(m + n, 4000))
    _, low, high = welch_interval(values[:m], values[m:])
    assert 0.94 <= np.mean((low <= 0) & (high >= 0)) <= 0.985  # 0.88 for 2 and 20 with Welch's own degrees of freedom
    value, error, freedom = welch(values[:m, 0], values[m:, 0])
    expected = stats.ttest_ind(values[m:, 0], values[:m, 0], equal_var=False)
    assert value / error == pytest.approx(expected.statistic)
    assert freedom == pytest.approx(min(expected.df, 2 * min(m, n) - 2))


def test_two_curves_have_no_interval_for_a_ratio_of_spreads():
    """Both of two curves are one standard deviation from their mean, so that no error can be estimated from them."""
    values = np.random.default_rng(4).normal(size=(22, 1))
    for m in (2, 20):
        assert spread_interval(values, m, bootstrap_counts(m, 22, 50, 0)).ravel().tolist() == [0, np.inf]
    assert spread_interval(values[:4], 2, bootstrap_counts(2, 4, 50, 0)).ravel().tolist() == [0, np.inf]


@pytest.mark.parametrize(("still", "ends"), [(slice(10), np.inf), (slice(10, None), 0.0), (slice(None), 1.0)])
def test_samples_without_variation_have_no_uncertainty_of_spread(still, ends):
    values = np.random.default_rng(2).normal(size=(20, 1))
    values[still] = 0.5
    assert (spread_interval(values, 10, bootstrap_counts(10, 20, 50, 0)) == ends).all()


def test_an_interval_without_bounds_gives_no_warning():
    """Some resamples of four values vary so little that the upper limit overflows."""
    values = np.random.default_rng(0).normal(size=(8, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        low, high = spread_interval(values, 4, bootstrap_counts(4, 8, 500, 0))
    assert (low[0], high[0]) == (0, np.inf)


def test_percentiles_widen_for_small_samples():
    assert percentile_ends(10**6, 10**6) == pytest.approx((0.025, 0.975), abs=1e-5)
    # Student's quantile for 9 degrees of freedom is 2.2622; times √(10/9) it is the normal quantile of 0.9914.
    assert percentile_ends(10, 10) == pytest.approx((0.0086, 0.9914), abs=1e-4)
    assert percentile_ends(5, 5)[0] < percentile_ends(5, 50)[0] < percentile_ends(50, 50)[0]
    assert sum(percentile_ends(7, 30)) == pytest.approx(1)


def test_samples_that_do_not_vary_are_infinitely_far_apart():
    """Whatever the unit; the spread of repeated values is that of rounding errors."""
    values = np.repeat([[0.1, 3e-11, 0.0], [0.3, 1e-11, 0.0]], 20, axis=0)
    values[::2] *= 1 + 1e-15
    np.testing.assert_array_equal(standardised_difference(values, 20), [np.inf, -np.inf, 0])
    rng = np.random.default_rng(0)
    varied = rng.normal(size=(40, 1))
    np.testing.assert_allclose(standardised_difference(1e-12 * varied, 20), standardised_difference(varied, 20))
