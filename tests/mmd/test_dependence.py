"""Dependence of undulation and scale: direct computation, level, and power."""

import numpy as np
import pytest
from scipy.stats import binom

from napari_shape_ensembles.mmd import dependence_test
from napari_shape_ensembles.mmd.dependence import pairings
from napari_shape_ensembles.mmd.kernel import gaussian, median_distance


def independent(m=40, n=50, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m + n, 5)), rng.normal(size=(m + n, 3)), m


def test_hsic_agrees_with_its_definition():
    t, l, first = independent()
    k, h = (gaussian(z, z, median_distance(z)) for z in (t, l))
    side = np.arange(90) < first
    centring = np.eye(90) - np.where(side[:, None] == side, np.where(side, 1 / first, 1 / (90 - first)), 0)
    k, h = centring @ k @ centring, centring @ h @ centring
    test = dependence_test(t, l, first)
    assert test.hsic == pytest.approx(np.trace(k @ h) / 90**2, rel=1e-8)
    assert test.normalized == pytest.approx(np.trace(k @ h) / np.sqrt(np.trace(k @ k) * np.trace(h @ h)), rel=1e-8)


def test_dependence_is_detected_and_equals_one_for_a_copy():
    t, l, first = independent()
    assert dependence_test(t, l + 2 * t[:, :3], first).p_value < 0.01
    copied = dependence_test(l, l, first)
    assert copied.normalized == pytest.approx(1)
    assert copied.rejected


def test_a_difference_between_the_samples_is_not_dependence():
    t, l, first = independent()
    t[:first] += 2
    l[:first] += 2
    assert dependence_test(t, l, first).p_value > 0.05


def test_permutations_stay_within_samples():
    orders = pairings(np.random.default_rng(0), (4, 6), 30)
    assert (np.sort(orders[:, :4], axis=1) == np.arange(4)).all()
    assert (np.sort(orders[:, 4:], axis=1) == np.arange(4, 10)).all()
    assert len({tuple(order) for order in orders}) == 30


def test_the_level_holds():
    rejections = sum(
        dependence_test(*independent(12, 15, seed), permutations=99, significance=0.1, random_state=seed).rejected
        for seed in range(300)
    )
    low, high = binom.ppf([0.0005, 0.9995], 300, 0.1)
    assert low <= rejections <= high


def test_dependence_is_detected_with_projected_kernels():
    t, l, first = independent(300, 300)
    assert not dependence_test(t, l, first, permutations=199).rejected
    assert dependence_test(t, l + t[:, :3], first, permutations=199).rejected


def test_points_that_all_coincide_are_independent():
    assert dependence_test(np.zeros((10, 2)), np.zeros((10, 3)), 5).p_value == 1


@pytest.mark.parametrize(("rows", "first"), [(9, 4), (10, 1), (10, 9)])
def test_malformed_input_is_rejected(rows, first):
    with pytest.raises(ValueError, match="at least two curves of each sample"):
        dependence_test(np.zeros((10, 2)), np.zeros((rows, 3)), first)
