"""The two-sample test: reference values, brute-force permutations, invariances, and level."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.spatial.distance import cdist, pdist
from scipy.stats import binom

from napari_shape_ensembles import mmd_test
from napari_shape_ensembles.mmd.kernel import median_distance
from napari_shape_ensembles.mmd.permutations import permuted_labels
from napari_shape_ensembles.mmd.two_sample import combined_mmd_test, is_settled, pooled_mmd_test


def samples(m=30, n=40, d=5, *, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, d)), rng.normal(size=(n, d)) + shift


def biased_mmd(x, y, bandwidth):
    def mean(a, b):
        return np.exp(-(cdist(a, b) ** 2) / (2 * bandwidth**2)).mean()

    return np.sqrt(max(mean(x, x) + mean(y, y) - 2 * mean(x, y), 0))


def reference_cases(real_data):
    for case in json.loads((real_data / "mmd-reference" / "cases.json").read_text())["cases"]:
        scope = {}
        exec(case["generator"], scope)
        yield case, scope["X"], scope["Y"]


def test_reference_values_agree_to_ten_digits(real_data):
    for case, x, y in reference_cases(real_data):
        test = mmd_test(x, y)
        assert test.bandwidth == pytest.approx(case["median_bandwidth"], abs=1e-10)
        assert test.mmd**2 == pytest.approx(case["mmd2_biased"], abs=1e-10)
        fixed = mmd_test(x, y, bandwidth=case["fixed_sigma"])
        assert fixed.mmd**2 == pytest.approx(case["mmd2_biased_fixed_sigma"], abs=1e-10)


def test_reference_p_values_are_within_binomial_error(real_data):
    ranges = [
        (case["p_value"]["biased_range_B1000"], mmd_test(x, y).p_value)
        for case, x, y in reference_cases(real_data)
        if "biased_range_B1000" in case["p_value"]
    ]
    assert len(ranges) >= 3
    for (low, high), p_value in ranges:
        assert low <= p_value <= high


def test_the_permutation_mean_is_within_its_standard_error(real_data):
    for case, x, y in reference_cases(real_data):
        if "permutation_mean_biased" in case:
            null = mmd_test(x, y, permutations=4000).null ** 2
            error = case["permutation_sd_biased"] / np.sqrt(4000)
            assert abs(null.mean() - case["permutation_mean_biased"]) <= 4 * error + 1e-12


def test_every_permutation_agrees_with_a_direct_computation():
    x, y = samples(12, 7)
    test = mmd_test(x, y, permutations=25, random_state=3)
    pooled = np.concatenate([x, y])
    labels = permuted_labels(12, 19, 25, 3).indicators(slice(None)).astype(bool)
    expected = [biased_mmd(pooled[first], pooled[~first], test.bandwidth) for first in labels]
    np.testing.assert_allclose(np.append(test.mmd, test.null), expected, atol=1e-12)
    assert test.p_value == (1 + sum(value >= expected[0] for value in expected[1:])) / 26


@given(st.integers(0, 10**6), st.floats(0, 1), st.sampled_from([0.01, 0.05, 0.2]), st.integers(20, 120))
def test_rejection_threshold_and_p_value_are_consistent(seed, shift, significance, permutations):
    x, y = samples(8, 9, 2, seed=seed, shift=shift)
    test = mmd_test(x, y, permutations=permutations, significance=significance, random_state=seed)
    assert test.rejected == (test.mmd > test.threshold) == (test.p_value <= significance)


def test_a_difference_is_detected_and_its_absence_is_not():
    assert mmd_test(*samples(60, 60, shift=0.8)).p_value == 1 / 1001
    assert not mmd_test(*samples(60, 60)).rejected


@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_invariance_to_rotation_and_translation(seed):
    x, y = samples(15, 10, 3, seed=seed, shift=0.3)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    one, other = mmd_test(x, y), mmd_test(x @ turn + 1, y @ turn + 1)
    assert other.mmd == pytest.approx(one.mmd, abs=1e-10)
    assert other.p_value == one.p_value


def test_repeats_of_the_observed_labeling_count_as_ties():
    test = mmd_test(np.array([0.0, 0.1]), np.array([5.0, 5.1]), permutations=5000)
    # 2 of the 6 labelings separate the samples as given.
    assert test.p_value == pytest.approx(1 / 3, abs=0.03)


def test_too_few_permutations_never_reject():
    test = mmd_test(*samples(50, 50, shift=3), permutations=50, significance=0.01)
    assert test.p_value == 1 / 51
    assert test.threshold == np.inf
    assert not test.rejected


def test_results_are_reproducible_with_the_seed():
    x, y = samples(shift=0.2)
    assert (mmd_test(x, y, random_state=1).null == mmd_test(x, y, random_state=1).null).all()
    assert (mmd_test(x, y, random_state=1).null != mmd_test(x, y, random_state=2).null).any()


def test_the_median_is_over_all_pairs_or_a_representative_subset():
    points = np.random.default_rng(0).normal(size=(3000, 4))
    assert median_distance(points[:500]) == pytest.approx(np.median(pdist(points[:500])), rel=1e-12)
    assert median_distance(points) == pytest.approx(np.median(pdist(points)), rel=0.02)


def test_coinciding_points_are_not_different():
    test = mmd_test(np.zeros((10, 2)), np.zeros((10, 2)))
    assert (test.mmd, test.p_value, test.rejected) == (0, 1, False)


@pytest.fixture
def two_descriptions():
    x, y = samples(40, 40, 3, shift=0.5)
    other_x, other_y = samples(40, 40, 3, seed=9)
    return {"raw": (x, y), "normalized": (other_x, other_y)}


def test_parts_of_a_combined_test_equal_single_tests(two_descriptions):
    joint = combined_mmd_test(two_descriptions)
    assert list(joint.parts) == ["raw", "normalized"]
    for name, (x, y) in two_descriptions.items():
        assert joint.parts[name].p_value == mmd_test(x, y).p_value
        assert joint.parts[name].mmd == mmd_test(x, y).mmd


def test_a_combined_p_value_is_between_minimum_and_bonferroni(two_descriptions):
    joint = combined_mmd_test(two_descriptions)
    smallest = min(part.p_value for part in joint.parts.values())
    assert smallest <= joint.p_value <= 2 * smallest + 1e-12
    assert joint.mmd == joint.parts["raw"].mmd


def test_a_duplicated_description_changes_nothing():
    x, y = samples(shift=0.25)
    joint = combined_mmd_test({"raw": (x, y), "normalized": (x, y)})
    alone = mmd_test(x, y)
    assert joint.p_value == alone.p_value
    assert joint.threshold == alone.threshold


@given(st.integers(0, 10**6), st.floats(0, 1.2))
def test_combined_rejection_and_threshold_agree(seed, shift):
    (x, y), (u, v) = samples(9, 8, 2, seed=seed, shift=shift), samples(9, 8, 2, seed=seed + 1)
    joint = combined_mmd_test({"raw": (x, y), "normalized": (u, v)}, permutations=99, significance=0.1)
    assert joint.rejected == (joint.p_value <= 0.1) == (joint.mmd > joint.threshold)


def test_the_joint_level_holds_under_the_null():
    rejections = 0
    for seed in range(400):
        x, y = samples(12, 12, 3, seed=seed)
        parts = {"raw": (x, y), "normalized": (x**3, y**3)}
        rejections += combined_mmd_test(parts, permutations=99, significance=0.1, seed=seed).rejected
    low, high = binom.ppf([0.0005, 0.9995], 400, 0.1)
    assert low <= rejections <= high


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.zeros((0, 2)), np.zeros((3, 2))), {}, "0 and 3 points"),
        ((np.zeros((3, 2)), np.zeros((3, 4))), {}, "shapes"),
        ((np.full((3, 2), np.nan), np.zeros((3, 2))), {}, "3 points have NaN"),
        (samples(), {"significance": 1.5}, "level between 0 and 1"),
        (samples(), {"permutations": 0}, "at least 1"),
        (samples(), {"bandwidth": 0.0}, "positive distance"),
        (samples(), {"factor": [1.0, -0.5]}, r"factor \[1.0, -0.5\]: .* positive distance"),
        (samples(), {"factor": [1.0, 1.0]}, "each width once"),
        (samples(), {"bandwidth": []}, "positive distance"),
    ],
)
def test_malformed_input_is_rejected(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        mmd_test(*arguments, **options)


def test_descriptions_of_different_samples_are_rejected():
    with pytest.raises(ValueError, match="different numbers"):
        combined_mmd_test({"raw": samples(5, 5), "normalized": samples(5, 6)})


def test_widths_are_absolute_or_multiples_of_the_median():
    x, y = samples()
    median = median_distance(np.concatenate([x, y]))
    assert mmd_test(x, y, factor=0.7).bandwidth == pytest.approx(0.7 * median)
    assert mmd_test(x, y, factor=0.7).mmd == mmd_test(x, y, bandwidth=0.7 * median).mmd
    assert mmd_test(x, y, factor=0.7).mmd == pytest.approx(biased_mmd(x, y, 0.7 * median), abs=1e-12)


def test_several_widths_are_parts_equal_to_single_tests():
    x, y = samples(shift=0.3)
    joint = mmd_test(x, y, factor=[0.5, 1, 2])
    assert list(joint.parts) == ["s = 0.5 × median", "s = 1 × median", "s = 2 × median"]
    for factor, part in zip([0.5, 1, 2], joint.parts.values(), strict=True):
        alone = mmd_test(x, y, factor=factor)
        assert (part.p_value, part.mmd, part.threshold) == (alone.p_value, alone.mmd, alone.threshold)
    assert min(p.p_value for p in joint.parts.values()) <= joint.p_value
    assert list(mmd_test(x, y, bandwidth=[1, 3]).parts) == ["s = 1", "s = 3"]


def test_descriptions_and_widths_are_combined_together(two_descriptions):
    joint = combined_mmd_test(two_descriptions, factor=[0.5, 1])
    assert list(joint.parts) == [
        "raw, s = 0.5 × median",
        "raw, s = 1 × median",
        "normalized, s = 0.5 × median",
        "normalized, s = 1 × median",
    ]
    ranks = [np.append(part.mmd, part.null) for part in joint.parts.values()]
    p_values = [[np.mean(values >= value) for value in values] for values in ranks]
    smallest = np.min(p_values, axis=0)
    assert joint.p_value == np.mean(smallest <= smallest[0])


def test_the_joint_level_holds_over_descriptions_and_widths():
    rejections = 0
    for seed in range(300):
        x, y = samples(12, 12, 3, seed=seed)
        parts = {"raw": (x, y), "normalized": (x**3, y**3)}
        joint = combined_mmd_test(parts, permutations=99, significance=0.1, factor=[0.3, 1, 3], seed=seed)
        rejections += joint.rejected
    low, high = binom.ppf([0.0005, 0.9995], 300, 0.1)
    assert low <= rejections <= high


@pytest.mark.parametrize("permutations", [True, 5.5, "100", 0])
def test_permutations_is_an_integer(permutations):
    with pytest.raises(ValueError, match=f"permutations must be an integer of at least 1, not {permutations!r}"):
        mmd_test(np.zeros((3, 1)), np.ones((3, 1)), permutations=permutations)


def test_masked_points_are_rejected():
    points = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match=r"values of the points are masked: fill them"):
        mmd_test(np.ma.masked_greater(points, 1), points)


@pytest.mark.parametrize("width", [1e300, 1e-300])
@pytest.mark.parametrize("kind", ["factor", "bandwidth"])
def test_a_width_that_does_not_distinguish_points_is_rejected(kind, width):
    points = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match="does not distinguish points"):
        mmd_test(points, points + 1, **{kind: width})


def test_decisions_before_the_last_permutation_are_rarely_wrong():
    level, wrong, added = 0.025, 0.0, 0.0
    exact = np.linspace(level, 3 * level, 1001)  # beyond, a rejection is less probable than 1e-40
    for permutations in (1000, 5000):
        counts = np.arange(permutations + 1)  # of permutations at least as extreme
        p_values = (1 + counts) / (1 + permutations)
        settled = np.array([is_settled(p_value, permutations, level) for p_value in p_values])
        wrong += binom.pmf(counts[settled], permutations, level).sum()
        rejects = counts[settled & (p_values <= level)].max()
        added += trapezoid(binom.cdf(rejects, permutations, exact), exact)
    assert wrong < 4e-4
    assert added < 1e-8


def test_permutations_continue_only_while_the_decision_depends_on_them():
    rng = np.random.default_rng(3)
    points = {"one": np.concatenate([rng.normal(size=(40, 1)), rng.normal(0.2, 1, (40, 1))])}
    few = pooled_mmd_test(points, 40, permutations=199)
    assert 0.1 < few.p_value < 0.9
    assert pooled_mmd_test(points, 40, permutations=199, significance=0.01, most=4975).p_value == few.p_value
    near = pooled_mmd_test(points, 40, permutations=199, significance=few.p_value, most=4975)
    many = pooled_mmd_test(points, 40, permutations=4975, significance=few.p_value)
    assert near.p_value == many.p_value
    assert near.p_error < few.p_error / 4


def test_the_error_of_a_joint_p_value_is_that_of_repeated_draws():
    rng = np.random.default_rng(5)
    points = {name: rng.normal(size=(60, 1)) for name in "abcd"}
    points["a"][:30] += 0.9
    tests = [pooled_mmd_test(points, 30, permutations=400, seed=seed) for seed in range(60)]
    drawn = np.std([test.p_value for test in tests], ddof=1)
    assert 0.005 < np.mean([test.p_value for test in tests]) < 0.3
    assert np.mean([test.p_error for test in tests]) == pytest.approx(drawn, rel=0.35)
