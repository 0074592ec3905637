"""Tests of whole replicates: brute force, closed forms and simulated nulls."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from napari_shape_ensembles.mmd import kernel, replicates
from napari_shape_ensembles.mmd.replicates import (
    Hypothesis,
    closed_p_values,
    closure,
    explained,
    joint_p_values,
    least_p,
    mean_kernels,
    precision_differs,
    replicate_mmd_test,
    replicate_test,
    replicates_needed,
    small_sample_test,
)

SIZES = (4, 7, 2, 5, 3, 6)
ONE = np.ones(1)


def random_replicates(sizes=SIZES, d=2, seed=0, shift=None, icc=0.1):
    """Points of replicates of unequal size that vary between replicates, in random order."""
    rng = np.random.default_rng(seed)
    replicate = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    means = np.sqrt(icc) * rng.normal(size=(len(sizes), d))
    if shift is not None:
        means += np.asarray(shift, dtype=float)[:, None]
    return means[replicate] + np.sqrt(1 - icc) * rng.normal(size=(len(replicate), d)), replicate


def brute_kernels(points, replicate, width):
    total = replicate.max() + 1
    found = np.zeros((total, total))
    for u in range(total):
        for v in range(total):
            pairs = [
                np.exp(-((points[i] - points[j]) ** 2).sum() / (2 * width**2))
                for i in np.flatnonzero(replicate == u)
                for j in np.flatnonzero(replicate == v)
                if i != j
            ]
            found[u, v] = np.mean(pairs)
    return found


def brute_p(kernel, labellings, statistic):
    """Fraction of labelings with a statistic at least as large as that of the first."""
    values = np.array([statistic(kernel, labels) for labels in labellings])
    return np.mean(values >= values[0] - 1e-12)


def between_groups(kernel, labels):
    """Between-group sum of squares, by definition."""
    labels = np.array(labels)
    whole = kernel.sum() / len(labels)
    return sum(kernel[np.ix_(labels == g, labels == g)].sum() / (labels == g).sum() for g in set(labels)) - whole


def test_mean_kernels_average_over_all_pairs():
    points, replicate = random_replicates()
    found = mean_kernels(points, replicate, bandwidth=0.8)
    assert found.counts.tolist() == list(SIZES)
    np.testing.assert_allclose(found.between, brute_kernels(points, replicate, 0.8), atol=1e-12)


@pytest.mark.parametrize("kind", ["energy", "mean"])
def test_other_kernels_average_over_all_pairs(kind):
    points, replicate = random_replicates()
    centred = points - points.mean(axis=0)
    whole = centred @ centred.T if kind == "mean" else -np.linalg.norm(points[:, None] - points, axis=-1)
    found = mean_kernels(points, replicate, kernel=kind)
    for u in range(6):
        for v in range(6):
            part = whole[np.ix_(replicate == u, replicate == v)]
            n = len(part)
            expected = (part.sum() - np.trace(part)) / (n * (n - 1)) if u == v else part.mean()
            assert found.between[u, v] == pytest.approx(expected)
            assert found.gram[u, v] == pytest.approx(part.mean())


def test_results_do_not_depend_on_row_blocks(monkeypatch):
    points, replicate = random_replicates((130, 90, 1, 200, 40))
    whole = mean_kernels(points, replicate).between
    monkeypatch.setattr(kernel, "row_blocks", lambda n: (slice(i, min(i + 37, n)) for i in range(0, n, 37)))
    np.testing.assert_allclose(mean_kernels(points, replicate).between, whole, atol=1e-12)


def test_the_projected_kernel_is_close(monkeypatch):
    points, replicate = random_replicates((150,) * 6)
    exact = mean_kernels(points, replicate)
    monkeypatch.setattr(replicates, "NYSTROM_FROM", 100)
    np.testing.assert_allclose(mean_kernels(points, replicate).between, exact.between, atol=2e-3)


def test_a_replicate_of_one_point_includes_self_pairs():
    points, replicate = random_replicates((1, 3, 2))
    found = mean_kernels(points, replicate, bandwidth=1.0)
    assert found.between[0, 0] == 1
    within = brute_kernels(points[replicate == 1], np.zeros(3, int), 1.0)[0, 0]
    assert found.between[1, 1] == pytest.approx((1 + 2 * within) / 3)


def test_replicates_weigh_equally_regardless_of_size():
    points, replicate = random_replicates()
    again = np.repeat(np.arange(len(points)), np.where(replicate == 2, 10, 1))
    more = mean_kernels(points[again], replicate[again], bandwidth=1.0)
    np.testing.assert_allclose(more.gram, mean_kernels(points, replicate, bandwidth=1.0).gram, atol=1e-12)


def test_degenerate_input_is_rejected():
    with pytest.raises(ValueError, match="2 points have NaN"):
        mean_kernels(np.array([[0.0], [np.nan], [np.inf]]), np.arange(3))
    with pytest.raises(ValueError, match="replicate 1 has no point"):
        mean_kernels(np.zeros((2, 1)), np.array([0, 2]))


@pytest.mark.parametrize(("m", "n"), [(3, 3), (2, 4), (1, 5), (4, 3)])
def test_two_groups_enumerate_all_labelings(m, n):
    points, replicate = random_replicates((5,) * (m + n), shift=[0] * m + [1] * n)
    kernel = mean_kernels(points, replicate)
    # The observed labeling comes first, and once more among all.
    labellings = [[0] * m + [1] * n]
    labellings += [[int(i in chosen) for i in range(m + n)] for chosen in combinations(range(m + n), n)]
    total = len(labellings) - 1
    test = replicate_test({"": kernel}, Hypothesis(np.arange(m + n) >= m))
    assert test.p_value == pytest.approx(brute_p(kernel.between, labellings, between_groups) * len(labellings) / total
                                         - 1 / total)  # fmt: skip
    assert (test.labellings, test.complete, test.least_p) == (total, True, least_p(m, n))
    squared = kernel.between[:m, :m].mean() + kernel.between[m:, m:].mean() - 2 * kernel.between[:m, m:].mean()
    assert test.statistic**2 * (1 / m + 1 / n) == pytest.approx(max(squared, 0))


def test_several_groups_enumerate_all_labelings():
    groups = [0, 0, 1, 1, 2, 2, 2]
    points, replicate = random_replicates((4,) * 7, shift=groups)
    kernel = mean_kernels(points, replicate)
    test = replicate_test({"": kernel}, Hypothesis(np.eye(3)[groups]))
    labellings = [tuple(groups), *{one for one in permutations(groups) if one != tuple(groups)}]
    assert test.labellings == len(labellings) == 210
    assert test.p_value == pytest.approx(brute_p(kernel.between, labellings, between_groups))
    assert test.least_p == 2 / 210  # groups of two may exchange labels


def test_blocks_are_permuted_within():
    groups, blocks = np.array([0, 1, 0, 1, 1, 0, 1, 0]), np.repeat(np.arange(4), 2)
    points, replicate = random_replicates((4,) * 8, shift=3 * groups + blocks / 4)
    kernel = mean_kernels(points, replicate)
    test = replicate_test({"": kernel}, Hypothesis(groups, blocks))

    def between(kernel, labels):
        signs = np.array(labels) * 2 - 1  # after subtracting the mean of each pair
        return signs @ kernel @ signs / len(signs)

    swaps = np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1).T
    labellings = [np.where(np.repeat(swap, 2), 1 - groups, groups) for swap in swaps]
    assert test.labellings == 16
    assert test.p_value == pytest.approx(brute_p(kernel.between, labellings, between))
    assert test.p_value == test.least_p == 2 / 16


def test_blocks_of_one_group_do_not_lower_the_least_p():
    """Exchanging the labels of two groups in all blocks with both gives the same statistic."""
    groups = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    blocks = np.array([0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 3, 3])
    points, replicate = random_replicates((4,) * 12, shift=9 * groups)
    test = replicate_test({"": mean_kernels(points, replicate)}, Hypothesis(groups, blocks))
    assert test.labellings == 36
    assert test.p_value == test.least_p == 2 / 36
    assert Hypothesis(groups[[0, 1, 6, 7, 10]], blocks[[0, 1, 6, 7, 10]]).labellings == (6, 2)
    assert Hypothesis(np.array([0.0, 0, 1]), np.array([0, 0, 1])).labellings == (1, 1)
    three = np.eye(3)[[0, 1, 0, 1, 2, 2]]  # the third group has its own block
    assert Hypothesis(three, np.array([0, 0, 1, 1, 2, 2])).labellings == (4, 2)


def test_a_trend_enumerates_all_orders():
    dose = np.array([0.0, 1, 2, 5, 7])
    points, replicate = random_replicates((4,) * 5, shift=dose / 3)
    kernel = mean_kernels(points, replicate)
    test = replicate_test({"": kernel}, Hypothesis(dose))

    def slope(kernel, order):
        x = dose[list(order)] - dose.mean()
        return x @ kernel @ x

    assert test.labellings == 120
    assert test.p_value == pytest.approx(brute_p(kernel.between, list(permutations(range(5))), slope))
    assert test.least_p == 1 / 120
    assert Hypothesis(np.arange(5.0)).rearrangements().least_p == 2 / 120  # the order of equal steps can be reversed


@given(st.lists(st.integers(0, 2), min_size=3, max_size=7), st.booleans(), st.integers(0, 99))
def test_equivalent_labelings_are_those_with_the_same_statistic(groups, blocked, seed):
    groups = np.array(groups)
    blocks = np.arange(len(groups)) % 2 if blocked else np.zeros(len(groups), int)
    columns = (groups[:, None] == np.unique(groups)).astype(float)
    hypothesis = Hypothesis(columns, blocks)
    if not hypothesis.tested.shape[1] or len(groups) <= hypothesis.tested.shape[1] + hypothesis.nuisance.shape[1]:
        return
    orders = hypothesis.rearrangements()
    points = np.random.default_rng(seed).normal(size=(3 * len(groups), 4))
    kernel = mean_kernels(points, np.arange(len(points)) // 3)
    values = explained(kernel, hypothesis, orders.orders)
    assert np.isclose(values, values[0], rtol=1e-9, atol=1e-12).sum() >= orders.alike
    assert orders.least_p <= replicate_test({"": kernel}, hypothesis).p_value


def test_many_labellings_are_drawn_at_random():
    orders = Hypothesis(np.arange(20) < 10).rearrangements(draws=500)
    assert (len(orders.orders), orders.complete, orders.labellings) == (501, False, 184756)
    assert orders.orders[0].tolist() == list(range(20))
    assert orders.least_p == pytest.approx(1 / 501)
    within = Hypothesis(np.arange(20.0), np.arange(20) % 2).rearrangements(draws=50).orders
    assert (within % 2 == np.arange(20) % 2).all()


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=2, max_size=7))
def test_every_distinct_labeling_is_listed_once(rows):
    labels, blocks = np.transpose(rows)
    found = Hypothesis(labels, blocks).rearrangements()
    within = [order for order in permutations(range(len(labels))) if (blocks[list(order)] == blocks).all()]
    assert (np.sort(found.orders, axis=1) == np.arange(len(labels))).all()
    assert {tuple(labels[order]) for order in found.orders} == {tuple(labels[list(order)]) for order in within}
    assert len(found.orders) == found.labellings == len({tuple(labels[order]) for order in found.orders})
    assert labels[found.orders[0]].tolist() == labels.tolist()


@pytest.mark.parametrize("covariates", [None, np.linspace(-1, 1, 30) ** 3])
def test_draws_in_blocks_equal_single_draws(covariates):
    groups = np.arange(30) % 4
    points, replicate = random_replicates((3,) * 30, d=3, shift=groups)
    kernel = mean_kernels(points, replicate, kernel="energy")
    blocks = None if covariates is not None else np.arange(30) // 10
    hypothesis = Hypothesis(np.eye(4)[groups], blocks, covariates)
    orders = hypothesis.rearrangements(draws=2500, seed=3).orders  # of several blocks of labelings
    rest = np.eye(30) - hypothesis.nuisance @ hypothesis.nuisance.T
    gram = rest @ (kernel.between if covariates is None else kernel.gram) @ rest
    brute = []
    for order in orders:
        x, z = hypothesis.tested[order], hypothesis.nuisance[order]
        square = sum(x[:, k] @ gram @ x[:, k] for k in range(3))
        left = np.trace(gram) - sum(column @ gram @ column for column in z.T) - square
        brute.append(square if covariates is None else square / left)
    found = explained(kernel, hypothesis, orders)
    np.testing.assert_allclose(found, brute, rtol=0, atol=1e-12 * np.abs(brute).max())
    shares = [np.mean(found >= value) for value in found]
    np.testing.assert_array_equal(joint_p_values(found[None])[0][0], shares)


def test_draws_of_a_design_are_cached_and_read_only():
    first, again = (Hypothesis(np.arange(20.0)).rearrangements(draws=100, seed=7).orders for _ in range(2))
    other = Hypothesis(np.arange(20.0)).rearrangements(draws=100, seed=8).orders
    assert first is again
    assert not (first == other).all()
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 0
    # Each replicate is equally often at each position: 6 standard deviations of a binomial fraction.
    many = Hypothesis(np.arange(12.0)).rearrangements(draws=9_000).orders[1:]
    shares = (many[:, :, None] == np.arange(12)).mean(axis=0)
    assert np.abs(shares - 1 / 12).max() < 6 * np.sqrt(11 / 144 / 9_000)


def test_covariates_are_regressed_out():
    rng = np.random.default_rng(5)
    length = rng.normal(size=14)
    group = np.arange(14) % 2
    points, replicate = random_replicates((6,) * 14, shift=3 * length)
    kernel = mean_kernels(points, replicate)
    assert replicate_test({"": kernel}, Hypothesis(length)).p_value < 0.01
    assert replicate_test({"": kernel}, Hypothesis(length, covariates=length + group)).p_value < 0.01
    with pytest.raises(ValueError, match="nothing to test"):
        replicate_test({"": kernel}, Hypothesis(length, covariates=2 * length))


def test_covariates_leave_the_level_near_nominal():
    rng, rejected = np.random.default_rng(6), 0
    for seed in range(150):
        covariate = rng.normal(size=12)
        group = (covariate + rng.normal(size=12) > 0).astype(float)
        if not 2 <= group.sum() <= 10:
            continue
        points, replicate = random_replicates((5,) * 12, d=1, seed=seed, shift=covariate)
        test = replicate_test(
            {"": mean_kernels(points, replicate)}, Hypothesis(group, covariates=covariate), draws=199, seed=seed
        )
        rejected += test.p_value <= 0.1
    assert rejected <= stats.binom.ppf(0.999, 150, 0.11)


def test_parts_are_combined_by_the_smallest_p_value():
    sets = [random_replicates((5,) * 6, shift=[0, 0, 0, s, s, s], seed=seed) for seed, s in ((1, 0), (2, 2))]
    kernels = {name: mean_kernels(points, replicate) for name, (points, replicate) in zip("ab", sets, strict=True)}
    hypothesis = Hypothesis(np.arange(6) >= 3)
    both = replicate_test(kernels, hypothesis)
    assert both.parts == {name: replicate_test({name: one}, hypothesis).p_value for name, one in kernels.items()}
    assert min(both.parts.values()) <= both.p_value <= 2 * min(both.parts.values())
    as_mmd = replicate_mmd_test(kernels, hypothesis, significance=0.2)
    assert as_mmd.p_value == both.p_value
    assert as_mmd.mmd == pytest.approx(both.statistic * np.sqrt(2 / 3))
    assert {name: part.p_value for name, part in as_mmd.parts.items()} == both.parts
    assert len(as_mmd.null) == 19


@given(st.integers(0, 200), st.sampled_from([0.01, 0.05, 0.1, 0.3]))
def test_the_threshold_is_exceeded_if_and_only_if_rejected(seed, level):
    points, replicate = random_replicates((3,) * 7, seed=seed, shift=[0, 0, 0, 1, 1, 1, 1])
    kernels = {"a": mean_kernels(points, replicate), "b": mean_kernels(points[:, :1], replicate)}
    test = replicate_mmd_test(kernels, Hypothesis(np.arange(7) >= 3), significance=level)
    for one in (test, *test.parts.values()):
        assert one.rejected == (one.p_value <= level) == (one.mmd > one.threshold)


@given(st.permutations(range(6)), st.floats(0, 6), st.integers(0, 50))
def test_invariance_to_order_names_and_rigid_motions(order, angle, seed):
    points, replicate = random_replicates(shift=[0, 0, 0, 1, 1, 1], seed=seed)
    hypothesis = Hypothesis(np.arange(6) >= 3)
    p_value = replicate_test({"": mean_kernels(points, replicate)}, hypothesis).p_value
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    renamed = np.argsort(order)[replicate]
    shuffled = np.random.default_rng(seed).permutation(len(points))
    moved = mean_kernels((points @ turn + 3)[shuffled], renamed[shuffled])
    assert replicate_test({"": moved}, Hypothesis(np.array(order) >= 3)).p_value == pytest.approx(p_value)


def test_too_few_replicates_are_reported():
    points, replicate = random_replicates((3, 3))
    with pytest.raises(ValueError, match="2 replicates for 2 groups, blocks and covariates"):
        replicate_test({"": mean_kernels(points, replicate)}, Hypothesis(np.array([0, 1])))
    with pytest.raises(ValueError, match="nothing to test"):
        small_sample_test(np.zeros((4, 2)), ONE, Hypothesis(np.zeros(4)))


# -------------------------------------------------------------------------------------------- contrasts


def test_hypotheses_of_equal_groups_are_all_partitions():
    every = [(i, j) for i in range(5) for j in range(i + 1, 5)]
    assert [len(closure(k, [p for p in every if max(p) < k])) for k in (3, 4, 5)] == [4, 14, 51]
    assert len(closure(4, [(0, 1), (0, 2), (0, 3)])) == 7
    assert closure(9, [(i, j) for i in range(9) for j in range(i + 1, 9)]) is None


def adjusted_p_values(kernel, group, pairs, **options):
    """p-values of pairs of groups, raw and adjusted."""
    chosen = [np.flatnonzero(np.isin(group, pair)) for pair in pairs]
    alone = [
        replicate_test({"": kernel.subset(rows)}, Hypothesis(group[rows] == j), **options)
        for rows, (_, j) in zip(chosen, pairs, strict=True)
    ]
    p_values = np.array([test.p_value for test in alone])
    return p_values, closed_p_values({"": kernel}, group, pairs, p_values, **options)


def test_adjusted_p_values_are_not_smaller_and_find_the_differing_group():
    group = np.repeat([0, 1, 2], 6)
    points, replicate = random_replicates((6,) * 18, shift=2.0 * (group == 2), icc=0.05)
    pairs = [(0, 1), (0, 2), (1, 2)]
    p_values, adjusted = adjusted_p_values(mean_kernels(points, replicate), group, pairs, draws=999)
    assert (adjusted >= p_values).all()
    assert adjusted[0] > 0.05
    assert adjusted[1:].max() <= 0.01


def test_the_family_wise_level_holds_if_one_group_differs():
    group, pairs = np.repeat([0, 1, 2, 3], 4), [(i, j) for i in range(4) for j in range(i + 1, 4)]
    wrong = 0
    for seed in range(120):
        points, replicate = random_replicates((4,) * 16, d=1, seed=seed, shift=3.0 * (group == 3))
        _, adjusted = adjusted_p_values(mean_kernels(points, replicate), group, pairs, draws=199, seed=seed)
        wrong += any(p <= 0.1 for p, (_, j) in zip(adjusted, pairs, strict=True) if j != 3)
    assert wrong <= stats.binom.ppf(0.999, 120, 0.1)


def test_many_groups_are_adjusted_by_holm():
    group = np.repeat(np.arange(8), 3)
    points, replicate = random_replicates((3,) * 24)
    pairs = [(0, j) for j in range(1, 8)]
    p_values, adjusted = adjusted_p_values(mean_kernels(points, replicate), group, pairs)
    order = np.argsort(p_values, kind="stable")
    np.testing.assert_allclose(
        adjusted[order], np.minimum(np.maximum.accumulate(p_values[order] * np.arange(7, 0, -1)), 1)
    )


# --------------------------------------------------------------------------------------- few replicates


def test_identical_replicates_give_no_warning():
    test = small_sample_test(np.array([0.0, 0, 8, 8]), ONE, Hypothesis(np.array([0, 0, 1, 1])))
    assert (test.p_value, test.f) == (0.0, np.inf)


def test_one_component_gives_a_t_test_or_anova():
    values = np.random.default_rng(0).normal(size=9)
    group = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1])
    t = stats.ttest_ind(values[:4], values[4:])
    test = small_sample_test(values, ONE, Hypothesis(group))
    assert (test.p_value, test.f, test.freedom) == (pytest.approx(t.pvalue), pytest.approx(t.statistic**2), (1, 7))
    f = stats.f_oneway(values[:3], values[3:6], values[6:])
    test = small_sample_test(values, ONE, Hypothesis(np.eye(3)[np.repeat([0, 1, 2], 3)]))
    assert (test.p_value, test.freedom) == (pytest.approx(f.pvalue), (2, 6))
    pairs = stats.ttest_rel(values[:8:2], values[1:8:2])
    test = small_sample_test(values[:8], ONE, Hypothesis(np.tile([0, 1], 4), np.repeat(np.arange(4), 2)))
    assert (test.p_value, test.freedom) == (pytest.approx(pairs.pvalue), (1, 3))
    slope = stats.linregress(np.arange(9), values)
    assert small_sample_test(values, ONE, Hypothesis(np.arange(9.0))).p_value == pytest.approx(slope.pvalue)


@pytest.mark.parametrize(("m", "n", "c"), [(2, 2, 3), (3, 3, 9), (3, 5, 4)])
def test_the_level_holds_for_gaussian_replicates(m, n, c):
    rng, rounds = np.random.default_rng(m + n), 3000
    mix = rng.normal(size=(c, c))
    hypothesis = Hypothesis(np.arange(m + n) >= m)
    p_values = np.array([
        small_sample_test(rng.normal(size=(m + n, c)) @ mix, np.ones(c), hypothesis).p_value for _ in range(rounds)
    ])  # fmt: skip
    for level in (0.05, 0.01):
        low, high = stats.binom.ppf([0.0005, 0.9995], rounds, level)
        assert low <= np.sum(p_values <= level) <= high


@given(st.integers(0, 99), st.floats(0.1, 10))
def test_invariance_to_units_of_components(seed, factor):
    rng = np.random.default_rng(seed)
    means, within = rng.normal(size=(6, 3)), rng.uniform(0.5, 2, 3)
    hypothesis, units = Hypothesis(np.arange(6) >= 3), np.array([factor, 1, -2])
    test = small_sample_test(means, within, hypothesis)
    scaled = small_sample_test(means * units + 5, within * np.abs(units), hypothesis)
    assert scaled.p_value == pytest.approx(test.p_value, rel=1e-6)


def test_components_without_variation_are_omitted():
    means = np.stack([np.arange(6.0), np.full(6, 3.0)], axis=1)
    hypothesis = Hypothesis(np.arange(6) >= 3)
    alone = small_sample_test(means[:, 0], ONE, hypothesis).p_value
    assert small_sample_test(means, np.ones(2), hypothesis).p_value == pytest.approx(alone)
    assert small_sample_test(np.full((6, 2), 3.0), np.ones(2), hypothesis).p_value == 1


@pytest.mark.parametrize(("m", "n", "of_a", "of_b"), [(5, 15, 3, 30), (6, 20, 4, 12), (3, 3, 5, 50)])
def test_means_of_few_and_of_many_points_are_compared_at_the_level(m, n, of_a, of_b):
    """Without weights 5 replicates of 3 points against 15 of 30 are rejected in a sixth of null designs."""
    rng, counts = np.random.default_rng(0), np.repeat([of_a, of_b], [m, n])
    hypothesis = Hypothesis(np.arange(m + n) >= m)
    assert precision_differs(hypothesis, counts)
    assert not precision_differs(hypothesis, np.full(m + n, 7))
    within = np.array([*[1.0] * 8, 0.0])
    rejected = [
        small_sample_test(
            rng.normal(size=(m + n, 9)) / np.sqrt(counts)[:, None] * within + 3, within, hypothesis, counts
        ).rejected(0.025)
        for _ in range(600)
    ]
    assert np.mean(rejected) <= stats.binom.isf(0.001, 600, 1.4 * 0.025) / 600


def test_skewed_means_of_few_points_in_blocks_differ_from_those_of_many_at_nearly_the_level():
    """Without a correction for skewness blocks of 3 and 40 skewed points are rejected in .045 of null designs."""
    rng, counts, rejected = np.random.default_rng(1), np.tile([3, 40], 8), 0
    hypothesis = Hypothesis(counts == 40, np.repeat(np.arange(8), 2))
    for _ in range(2500):
        means = rng.gamma(np.tile(counts[:, None], 2)) / counts[:, None]
        rejected += small_sample_test(means, np.ones(2), hypothesis, counts).rejected(0.025)
    assert rejected / 2500 < 0.04


@pytest.mark.parametrize(
    ("m", "n", "of_a", "of_b", "share"),
    [(4, 12, 5, 22, 1.05), (3, 6, 5, 50, 1.1), (5, 15, 3, 30, 1.05), (4, 12, 40, 4, 0.7)],
)
def test_one_of_two_quantities_of_unequally_precise_replicates_is_found_as_by_welchs_test(m, n, of_a, of_b, share):
    """If p-values are at least half those of Welch's test, the first three are found 0.92 to 0.94 times as often."""
    rng, counts, second = np.random.default_rng(3), np.repeat([of_a, of_b], [m, n]), np.arange(m + n) >= m
    error, found, welch = np.sqrt(1 / of_a / m + 1 / of_b / n), 0, 0
    for _ in range(600):
        means = rng.normal(size=(m + n, 2)) / np.sqrt(counts)[:, None] + second[:, None] * [0, 3.3 * error]
        found += small_sample_test(means, np.ones(2), Hypothesis(second), counts).rejected(0.025)
        welch += stats.ttest_ind(means[second, 1], means[~second, 1], equal_var=False).pvalue <= 0.025
    assert found > share * welch > 100


def test_a_deviant_replicate_of_few_points_at_a_high_dose_is_no_trend():
    """Without an error for unequal variances a deviant one of 14 is found to be a trend in 8 of 100 null designs."""
    rng, counts = np.random.default_rng(0), np.repeat([30, 12, 4], [8, 4, 2])
    hypothesis = Hypothesis(np.repeat([0.0, 1, 3, 10], [4, 4, 4, 2]))
    spread, rejected = np.sqrt(0.3 / 0.7 + 1 / counts)[:, None], []
    for shift in (False, True):
        found = []
        for _ in range(300):
            means = spread * rng.normal(size=(14, 9)) + shift * 0.15 * np.asarray(hypothesis.columns)[:, None]
            means[rng.integers(14)] += 5 * (1 - shift) * rng.normal(size=9)
            found.append(small_sample_test(means, np.ones(9), hypothesis, counts).rejected(0.025))
        rejected.append(np.mean(found))
    assert rejected[0] <= 0.03
    assert rejected[1] >= 0.6


@pytest.mark.parametrize("other", [0, 2])
def test_nothing_differs_by_a_single_replicate_of_few_points(other):
    """Of its block, the third replicate alone tells the effect: how far it deviates by itself is not known."""
    hypothesis = Hypothesis(np.array([0, 0, 1, other, other, other]), np.repeat([0, 1], 3))
    means = np.random.default_rng(0).normal(size=(6, 3))
    means[2] += 30
    assert small_sample_test(means, np.ones(3), hypothesis, np.array([30, 30, 4, 20, 20, 30])).p_value >= 0.5
    assert small_sample_test(means, np.ones(3), hypothesis, np.full(6, 30)).rejected(0.01)


@pytest.mark.parametrize("count", [3, 6, 15])
def test_a_precision_that_differs_by_just_the_largest_factor_is_permuted_for_any_number_of_replicates(count):
    hypothesis = Hypothesis(np.arange(2 * count) >= count)
    assert not precision_differs(hypothesis, np.repeat([10, 20], count))
    assert precision_differs(hypothesis, np.repeat([10, 21], count))


def test_one_component_that_differs_stands_out_from_a_common_variation_of_few_and_of_many_points():
    """With the weights of equal numbers it is found in a tenth of designs; by Welch's test of it in half."""
    rng, counts = np.random.default_rng(0), np.repeat([3, 30], [5, 15])
    second, between = np.arange(20) >= 5, np.sqrt(0.1 / 0.9)
    shift = 3.2 * np.sqrt((between**2 + 1 / 3) / 5 + (between**2 + 1 / 30) / 15) * np.eye(9)[0]
    rejected = []
    for _ in range(100):
        common, own, within = rng.normal(size=(20, 1)), rng.normal(size=(20, 9)), rng.normal(size=(20, 9))
        effects = between * (np.sqrt(0.7) * common + np.sqrt(0.3) * own)
        means = effects + within / np.sqrt(counts)[:, None] + second[:, None] * shift
        rejected.append(small_sample_test(means, np.ones(9), Hypothesis(second), counts).rejected(0.025))
    assert np.mean(rejected) > 0.22


def test_equal_numbers_of_points_change_nothing():
    rng, hypothesis = np.random.default_rng(1), Hypothesis(np.arange(7) >= 3)
    means = rng.normal(size=(7, 4))
    plain = small_sample_test(means, np.ones(4), hypothesis)
    assert small_sample_test(means, np.ones(4), hypothesis, np.full(7, 12)) == plain


def test_the_number_of_replicates_needed_is_reported():
    assert [least_p(n, n) for n in (3, 4, 5, 6)] == pytest.approx([0.1, 2 / 70, 2 / 252, 2 / 924])
    assert replicates_needed(0.01) == 5
    assert [replicates_needed(row / 2) for row in (0.05, 0.01)] == [5, 6]


@pytest.mark.parametrize("sizes", [(3, 3), (5, 5), (2, 7), (4, 9)])
@pytest.mark.parametrize("kernel", ["gaussian", "energy", "mean"])
@pytest.mark.parametrize("place", [0.0, 0.1])
def test_identical_points_do_not_differ_by_rounding(sizes, kernel, place):
    replicate = np.repeat(np.arange(sum(sizes)), 7)
    kernels = {"": mean_kernels(np.full((len(replicate), 1), place), replicate, kernel=kernel)}
    hypothesis = Hypothesis(np.arange(sum(sizes)) >= sizes[0])
    assert replicate_test(kernels, hypothesis).p_value == 1
    assert replicate_mmd_test(kernels, hypothesis).p_value == 1


def test_covariates_break_the_symmetry_of_equal_groups():
    """Three combinations of two factors: exchanging their labels would exchange the tested and the given factor."""
    group, sex = np.array([0.0, 0, 1, 1, 1, 1]), np.array([0.0, 0, 0, 0, 1, 1])
    found = []
    for seed in range(60):
        points = np.random.default_rng(seed).normal(size=(6, 1))
        kernels = {"": mean_kernels(points, np.arange(6), kernel="mean")}
        found.append(replicate_test(kernels, Hypothesis(group, covariates=sex)))
    assert found[0].labellings == 90
    assert found[0].least_p <= min(one.p_value for one in found) < 6 / 90


def test_more_labelings_are_drawn_only_where_the_decision_depends_on_them():
    rng, treated = np.random.default_rng(4), np.arange(20) >= 10
    points = rng.normal(size=(20, 2)) + 0.8 * treated[:, None]
    kernels = {str(i): mean_kernels(points[:, i], np.arange(20), kernel="mean") for i in range(2)}
    p = replicate_test(kernels, Hypothesis(treated), draws=2000).p_value
    assert 0 < p < 1
    for level, draws in ((p, 10_000), (p / 4, 2000)):
        test = replicate_mmd_test(kernels, Hypothesis(treated), significance=level, draws=2000)
        assert len(test.null) == draws
        same = replicate_test(kernels, Hypothesis(treated), draws=2000, significance=level)
        assert (same.p_value, same.p_error) == (test.p_value, test.p_error)
    assert replicate_test(kernels, Hypothesis(treated), draws=2000).p_value == p


def test_a_component_that_does_not_vary_is_no_second_test():
    """Circles have one elongation: it doubled the p-value of their size."""
    rng, group = np.random.default_rng(0), np.repeat([0, 1], 3)
    means, counts = np.stack([rng.normal(size=6) + 3 * group, np.full(6, 2.0)], axis=1), np.array([5] * 3 + [50] * 3)
    for within in (0.0, 1.0):
        both = small_sample_test(means, np.array([1.0, within]), Hypothesis(group == 1), counts)
        alone = small_sample_test(means[:, :1], np.ones(1), Hypothesis(group == 1), counts)
        assert (both.p_value, both.tests) == (alone.p_value, 1)
