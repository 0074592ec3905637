"""Tests of single quantities: their level under unequal spread, and roughness beyond what lobes imply."""

import numpy as np
import pytest
from scipy import stats

from napari_shape_ensembles import Ensemble, Settings, compare, explain
from napari_shape_ensembles.comparison.answer import named, statements
from napari_shape_ensembles.comparison.estimates import Units, spread_ratios
from napari_shape_ensembles.comparison.quantity_tests import (
    adjusted_difference,
    family_p_values,
    label_orders,
    p_value_of_points,
    quantile_of,
    spread_difference,
)

QUICK = Settings(landmarks=120, rank=40, permutations=299)


def waved(count, seed, *, lobes=1.0, fine=1.0):
    """Outlines of 2 to 5 lobes and 7 to 14 fine waves, all of random phases."""
    rng, angle = np.random.default_rng(seed), 2 * np.pi * np.arange(240) / 240
    curves = []
    heights = {k: 0.06 * lobes / np.sqrt(k - 1) for k in range(2, 6)} | dict.fromkeys(range(7, 15), 0.012 * fine)
    for _ in range(count):
        radius = np.ones(240)
        for waves, height in heights.items():
            radius += height * abs(1 + 0.3 * rng.normal()) * np.cos(waves * angle + rng.uniform(0, 2 * np.pi))
        radius *= 20 * np.exp(0.15 * rng.normal())
        curves.append(np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1))
    return Ensemble(curves)


def p_values(first, **quantities):
    total = len(next(iter(quantities.values())))
    labels = label_orders(first, None, None, total, 199, 0)
    none = np.zeros((total, 0))
    return family_p_values({name: adjusted_difference(own, labels, none) for name, own in quantities.items()})


def test_a_difference_without_covariates_is_that_of_welch():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=30), rng.normal(0.5, 2, size=30)])
    labels = label_orders(30, None, None, 60, 0, 0)
    found = adjusted_difference(values, labels, np.zeros((60, 0)))
    test = stats.ttest_ind(values[30:], values[:30], equal_var=False)
    assert found.value[0] == pytest.approx(values[30:].mean() - values[:30].mean())
    assert found.value[0] / found.error[0] == pytest.approx(test.statistic, rel=1e-6)


@pytest.mark.parametrize("apart", [0.0, 1.0, 1e4])
def test_sums_over_groups_give_the_differences_of_least_squares(apart):
    """Equal weights are no change, but take the general way."""
    values = np.random.default_rng(0).lognormal(size=60) + apart * (np.arange(60) >= 20)
    labels, none = label_orders(20, None, None, 60, 199, 0), np.zeros((60, 0))
    found, expected = (adjusted_difference(values, labels, none, weights) for weights in (None, np.ones(60)))
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-9, atol=1e-12 * (1 + apart))
    np.testing.assert_allclose(found.error, expected.error, rtol=1e-6)


@pytest.mark.parametrize("images", [4, 8])
@pytest.mark.parametrize("spread", [1e-3, 1e-6, 0])
def test_a_mirrored_labeling_ties_with_the_observed_one_however_far_groups_are_apart(images, spread):
    """No p-value is below that of both: rounding errors of sums over groups do not tell them apart."""
    labels = label_orders(images, np.arange(2 * images), None, 2 * images, 999, 0)
    for seed in range(20):
        values = np.repeat([0.0, 1.0], images) + spread * np.random.default_rng(seed).normal(size=2 * images)
        found = adjusted_difference(values, labels, np.zeros((len(values), 0)))
        assert family_p_values({"size": found})["size"][0] >= 2 / len(labels)


def test_covariates_are_adjusted_for():
    rng = np.random.default_rng(0)
    second = np.arange(80) >= 40
    covariate = rng.normal(size=(80, 1)) + second[:, None]
    values = 2 * covariate[:, 0] + 0.01 * rng.normal(size=80)
    labels = label_orders(40, None, None, 80, 199, 0)
    assert family_p_values({"": adjusted_difference(values, labels, covariate)})[""][0] > 0.05
    found = adjusted_difference(values + 0.3 * second, labels, covariate)
    assert found.value[0] == pytest.approx(0.3, abs=0.01)
    assert family_p_values({"": found})[""] == (0.005, 0.005)


def test_points_of_equal_means_and_unequal_spread_keep_the_level():
    """By the distance of the means alone 0.2 of such pairs are rejected."""
    labels, rejected, found = label_orders(20, None, None, 80, 199, 0), 0, 0
    for seed in range(200):
        points = np.random.default_rng(seed).normal(size=(80, 2)) * np.repeat([3.0, 1.0], [20, 60])[:, None]
        rejected += p_value_of_points(points, labels) <= 0.05
        found += p_value_of_points(points + np.repeat([3.0, 0.0], [20, 60])[:, None], labels) <= 0.05
    assert rejected <= 18
    assert found >= 180
    few = label_orders(2, None, None, 80, 199, 0)
    assert p_value_of_points(points, few) == 1
    many = label_orders(15_000, None, None, 30_000, 199, 0)
    assert p_value_of_points(np.random.default_rng(0).normal(size=(30_000, 2)), many) > 0.05


def test_equal_means_with_unequal_spread_keep_the_level():
    """Permuted differences of means that are not in standard errors reject in 0.15 of such pairs."""
    rejected = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        values = np.concatenate([3 * rng.normal(size=20), rng.normal(size=60)])
        rejected += p_values(20, only=values)["only"][0] <= 0.05
    assert 2 <= rejected <= 20  # 10 of 200 at 5 %


DRAWN = {
    "normal": lambda rng, count: rng.normal(size=count),
    "heavy tails": lambda rng, count: rng.standard_t(3, size=count),
    "skewed": lambda rng, count: rng.gamma(2, size=count),
}


@pytest.mark.parametrize("kind", DRAWN)
def test_the_test_of_a_spread_is_that_of_its_interval(kind):
    """By mean absolute deviations one in five spreads with p ≤ 0.025 had a bootstrap interval that holds 1."""
    labels, none, rejected, covered = label_orders(30, None, None, 60, 199, 0), np.zeros((0, 60)), 0, 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        for factor in (1.0, 2.0):
            values = np.concatenate([DRAWN[kind](rng, 30), factor * DRAWN[kind](rng, 30)])
            found = spread_difference(values, labels)
            (p, _), *_ = family_p_values({"": found}).values()
            ratio, low, high = spread_ratios(values[:, None], 30, none, Units(), quantile_of(found))[:, 0]
            assert np.exp(found.value[0]) == pytest.approx(ratio)
            assert (p <= 0.05) == (not low <= 1 <= high)
            rejected += factor == 1 and p <= 0.05
            covered += low <= factor <= high
    assert rejected <= 12  # 5 expected
    assert covered >= 0.91 * 200


def test_spreads_of_few_outlines_an_image_are_no_smaller():
    """The mean logarithm of the standard deviation of three normal values is that of a quarter less."""
    rng, image = np.random.default_rng(0), np.repeat(np.arange(40), [*[3] * 20, *[30] * 20])
    drawn = (rng.normal(size=(660, 1)) for _ in range(40))
    ratios = [spread_ratios(values, 60, np.zeros((0, 660)), Units(image))[0, 0] for values in drawn]
    assert np.exp(np.log(ratios).mean()) == pytest.approx(1, abs=0.07)


def test_p_values_are_adjusted_for_the_other_quantities():
    rng = np.random.default_rng(0)
    noise = {f"{place}": rng.normal(size=60) for place in range(3)}
    differs = rng.normal(size=60) + 3 * (np.arange(60) >= 30)
    found = p_values(30, differs=differs, **noise)
    assert found["differs"] == (0.005, 0.005)
    assert all(p <= joint for p, joint in found.values())
    assert max(joint for _, joint in found.values()) <= 1


def test_values_without_variation_within_the_groups():
    second = np.arange(40) >= 20
    found = p_values(20, constant=np.full(40, 0.3), apart=0.3 + 0.1 * second)
    assert found["constant"][0] == 1
    assert found["apart"][0] == 0.005


def test_lobes_are_called_lobed_and_fine_waves_rough_and_not_the_other_way_round():
    """Of pairs without a difference in fine waves, one in 40 may be called rough at a level of 0.025."""
    called, ratios = {("lobes", "roughness"): 0, ("fine", "lobes"): 0}, {"lobes": [], "fine": []}
    for seed in range(6):
        for name, factor in (("lobes", 1.5), ("fine", 1.6)):
            result = compare(waved(60, 2 * seed), waved(60, 2 * seed + 1, **{name: factor}), QUICK)
            estimate = result.estimates.set_index("quantity")["estimate"]
            ratios[name].append(estimate[["lobes", "roughness"]])
            assert not any("mean form" in words for words in explain(result).sentences())
            for differs, other in (("lobes", "roughness"), ("fine", "lobes")):
                called[differs, other] += name == differs and other in named(result)["undulation"]
            assert ("lobes" if name == "lobes" else "roughness") in named(result)["undulation"]
    assert max(called.values()) <= 1
    np.testing.assert_allclose(np.exp(np.log(ratios["lobes"]).mean(axis=0)), (1.5, 1), atol=0.05)
    np.testing.assert_allclose(np.exp(np.log(ratios["fine"]).mean(axis=0)), (1, 1.6), atol=0.1)


@pytest.mark.parametrize(("lobes", "fine"), [(0.0, 1.0), (0.3, 1.0), (0.5, 3.0)])
def test_the_ratio_of_roughness_does_not_depend_on_how_high_the_lobes_are(lobes, fine):
    """Fine waves make coarse ones along the arc length: given those, a ratio of 1.6 was said as 1.2 to 1.5."""
    sides = (waved(60, seed, lobes=lobes, fine=fine * factor) for seed, factor in ((1, 1.0), (2, 1.6)))
    row = compare(*sides, QUICK).estimates.set_index("quantity").loc["roughness"]
    assert row["estimate"] == pytest.approx(1.6, abs=0.08)
    assert row["low"] < 1.6 < row["high"]


def test_high_lobes_that_vary_are_not_rough():
    """Lobes of 22 % of the radius make finer waves, without the regression 1.2 times those of lobes of 15 %."""
    rng, angle = np.random.default_rng(3), 2 * np.pi * np.arange(240) / 240

    def side(height):
        curves = []
        for _ in range(60):
            radius, common = np.ones(240), np.exp(0.15 * rng.normal())
            for waves in [*range(2, 6), *range(7, 15)]:
                high = height * common / np.sqrt(waves - 1) if waves < 6 else 0.006
                wave = np.cos(waves * angle + rng.uniform(0, 2 * np.pi))
                radius += high * np.exp(0.2 * rng.normal()) * wave
            curves.append(np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1))
        return Ensemble(curves)

    result = compare(side(0.15), side(0.225), QUICK, overrule=True)
    assert result.ratios.set_index("quantity").loc["roughness", "estimate"] == pytest.approx(1, abs=0.1)
    assert "rougher" not in " ".join(one.text for one in statements(result))


def test_the_coarse_form_of_images_is_not_called_different_for_finer_waves():
    """By its part of the test, in which finer waves differ too, it was."""
    images = [[waved(10, 10 * side + i, fine=2.0 if side else 1.0) for i in range(6)] for side in (0, 1)]
    result = compare(*images, QUICK)
    assert result.permuted == "images"
    assert "roughness" in named(result)["undulation"]
    assert "coarse form" not in named(result)["undulation"]


def test_equivalence_is_an_interval_inside_the_margin():
    result = compare(waved(60, 1), waved(60, 2), QUICK)
    table = result.equivalence(0.2).merge(result.estimates, on="quantity", suffixes=("", "_of"))
    assert (table["equivalent"] == ((table["low_of"] > 1 / 1.2) & (table["high_of"] < 1.2))).all()
    assert table["equivalent"].any()
    assert not result.equivalence(1e-6)["equivalent"].any()
    with pytest.raises(ValueError, match="margin 0: give a positive margin"):
        result.equivalence(0)
