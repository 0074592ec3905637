"""Test martingales: expectation 1, Ville's inequality, and a change that is noticed."""

import numpy as np
import pytest

from napari_shape_ensembles.mmd.sequential import martingale


def test_uniform_p_values_reach_the_limit_with_a_probability_of_at_most_the_level():
    rng = np.random.default_rng(0)
    highest = np.array([martingale(1 - rng.random(100)).max() for _ in range(500)])
    for level in (0.05, 0.2):
        assert (highest >= 1 / level).mean() <= level + 3 * np.sqrt(level * (1 - level) / 500)
    assert (highest >= 5).mean() > 0.02  # it does bet


def test_each_bet_is_fair():
    """Integrate over p = u¹⁰, for which the bets are smooth at 0."""
    u = (np.arange(2000) + 0.5) / 2000
    capital = np.array([martingale(np.array([0.3, p]))[-1] for p in u**10])
    assert (capital * 10 * u**9).mean() == pytest.approx(martingale(np.array([0.3]))[-1], rel=1e-4)


def test_small_p_values_after_a_long_quiet_time_are_noticed():
    quiet = 1 - np.random.default_rng(1).random(300)
    values = martingale(np.concatenate([quiet, np.full(12, 0.01)]))
    assert values[299] < 2
    assert values[-1] > 20


def test_no_p_values_give_no_evidence():
    assert martingale(np.empty(0)).shape == (0,)
