"""Ratios of means and of spreads: their intervals against closed forms, and how often they hold the truth."""

import numpy as np
import pytest

from napari_shape_ensembles.mmd.contrasts import (
    bootstrap_counts,
    difference_of_means,
    percentile_ends,
    spread_interval,
    spread_ratio,
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


def test_an_interval_moves_with_the_units():
    values, first, counts = samples(1)
    one, other = (np.stack(difference_of_means(v, first, counts)) for v in (values, 3 * values + 7))
    np.testing.assert_allclose(other, 3 * one, atol=1e-12)
    np.testing.assert_allclose(
        spread_interval(3 * values + 7, first, counts), spread_interval(values, first, counts), rtol=1e-9
    )


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    """Percentiles of the same rounds hold the ratio of the spreads in 0.89 of such samples."""
    held = []
    for seed in range(400):
        values, first, counts = samples(seed)
        _, low, high = difference_of_means(values, first, counts)
        least, most = spread_interval(values, first, counts)[:, 0]
        held.append((low[0] <= 0 <= high[0], least <= 1 <= most))
    means, spreads = np.mean(held, axis=0)
    assert 0.92 <= means <= 0.98
    assert 0.91 <= spreads <= 0.98


@pytest.mark.parametrize(("still", "ends"), [(slice(10), np.inf), (slice(10, None), 0.0), (slice(None), 1.0)])
def test_samples_that_do_not_vary_have_no_uncertain_spread(still, ends):
    values = np.random.default_rng(2).normal(size=(20, 1))
    values[still] = 0.5
    assert (spread_interval(values, 10, bootstrap_counts(10, 20, 50, 0)) == ends).all()


def test_percentiles_move_out_as_samples_shrink():
    assert percentile_ends(10**6, 10**6) == pytest.approx((0.025, 0.975), abs=1e-5)
    # Student's quantile at 9 degrees of freedom is 2.2622; times √(10/9) it is the normal quantile of 0.9914.
    assert percentile_ends(10, 10) == pytest.approx((0.0086, 0.9914), abs=1e-4)
    assert percentile_ends(5, 5)[0] < percentile_ends(5, 50)[0] < percentile_ends(50, 50)[0]
    assert sum(percentile_ends(7, 30)) == pytest.approx(1)
