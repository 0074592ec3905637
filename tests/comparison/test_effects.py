"""Effect sizes: closed forms, coverage of the intervals, localization of a known difference, and detectable effects."""

import warnings

import numpy as np
import pytest

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Settings, compare
from napari_shape_ensembles.comparison import aspects, detectable_differences, effect_sizes
from napari_shape_ensembles.comparison.effects import resample, unbiased, unbiased_of_images
from napari_shape_ensembles.mmd import mmd_test
from napari_shape_ensembles.mmd.contrasts import percentile_ends
from napari_shape_ensembles.mmd.kernel import gaussian
from napari_shape_ensembles.mmd.replicates import mean_kernels

SPREAD = 0.5 ** np.arange(10)


def coordinates(m=80, n=80, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m + n, 10)) * SPREAD, rng.normal(size=(m + n, 3)) * 0.3, m


def true_mmd(shift, s, d=1):
    """MMD of two standard normal distributions in d dimensions whose means differ by `shift`."""
    width = s**2 + 2
    return np.sqrt(2 * (s**2 / width) ** (d / 2) * (1 - np.exp(-(shift**2) / (2 * width))))


def test_the_observed_value_is_the_unbiased_statistic():
    t, _, first = coordinates(20, 30)
    k = gaussian(t, t, 0.9)
    x, y = slice(first), slice(first, None)

    def others(block):
        return (block.sum() - np.trace(block)) / (len(block) * (len(block) - 1))

    counts = resample(first, 50, 30, 0)
    squared, spread = unbiased(t, counts, first, 0.9)
    assert squared[0] == pytest.approx(others(k[x, x]) + others(k[y, y]) - 2 * k[x, y].mean(), abs=1e-12)
    assert spread[0] == pytest.approx(1 - (others(k[x, x]) + others(k[y, y])) / 2, abs=1e-12)


def test_weighted_resamples_match_repeated_points_without_self_pairs():
    t, _, first = coordinates(12, 15)
    counts = resample(first, 27, 25, 0)
    assert (counts[:, :first].sum(axis=1) == first).all()
    squared, _ = unbiased(t, counts, first, 0.9)
    for row in (1, 7, 25):
        drawn = np.repeat(np.arange(27), counts[row].astype(int))
        k = gaussian(t[drawn], t[drawn], 0.9)
        apart = drawn[:, None] != drawn
        x, y = slice(first), slice(first, None)
        means = [(k[part, part] * apart[part, part]).sum() / apart[part, part].sum() for part in (x, y)]
        assert squared[row] == pytest.approx(sum(means) - 2 * k[x, y].mean(), abs=1e-6)


def test_intervals_cover_the_true_mmd():
    s, shift = 1.0, 0.8
    counts = resample(60, 120, 300, 1)
    inside = 0
    for seed in range(200):
        z = np.random.default_rng(seed).normal(size=(120, 1))
        z[60:] += shift
        squared, _ = unbiased(z, counts, 60, s)
        low, high = np.quantile(squared[1:], [0.025, 0.975])
        inside += low <= true_mmd(shift, s) ** 2 <= high
    assert 180 <= inside <= 199


def test_estimates_do_not_grow_as_samples_shrink():
    means = []
    for m in (10, 40, 160):
        values = [
            unbiased(np.random.default_rng(seed).normal(size=(2 * m, 1)), np.ones((1, 2 * m)), m, 1.0)[0][0]
            for seed in range(100)
        ]
        means.append(np.mean(values))
        assert abs(np.mean(values)) < 4 * np.std(values) / 10


@pytest.mark.parametrize(
    ("aspect", "change"),
    [
        ("size", lambda t, l: (t, l + np.array([0.3, 0, 0.3]))),
        ("elongation", lambda t, l: (t, l + np.array([0.3, 0, -0.3]))),
        ("elongation", lambda t, l: (t, l + np.array([0, 0.4, 0]))),
        ("coarse form", lambda t, l: (t + np.eye(10)[0], l)),
        ("roughness", lambda t, l: (t * np.where(np.arange(10) < 3, 1, 2.5), l)),
    ],
)
def test_shares_of_the_difference_locate_it(aspect, change):
    t, l, first = coordinates()
    t[first:], l[first:] = change(t[first:], l[first:])
    effects = effect_sizes(t, l, first, resamples=100)
    assert sum(share.value for share in effects.shares.values()) == pytest.approx(1)
    share = effects.shares[aspect]
    assert share.value > 0.8
    assert share.low <= share.value <= share.high
    assert effects.standardized[aspect].low > 0.3
    others = [name for name in effects.shares if name != aspect]
    assert all(effects.shares[name].value < 0.2 for name in others)


def test_aspects_preserve_distances_and_partition_the_variance():
    t, l, _ = coordinates()
    parts = aspects(t, l)
    assert list(parts) == ["size", "elongation", "coarse form", "roughness"]
    both = np.concatenate([parts["size"], parts["elongation"]], axis=1)
    np.testing.assert_allclose((both**2).sum(axis=1), (l**2).sum(axis=1))
    coarse = parts["coarse form"]
    share = np.cumsum(t.var(axis=0)) / t.var(axis=0).sum()
    assert share[coarse.shape[1] - 1] >= 0.9 > share[coarse.shape[1] - 2]
    np.testing.assert_allclose(parts["roughness"].std(axis=0), 1)
    assert "roughness" not in aspects(t[:, :1], l)


def test_the_size_ratio_is_a_ratio_of_lengths():
    t, l, first = coordinates(500, 500)
    l[first:] += np.log(1.2) * np.array([1, 0, 1])
    ratio = effect_sizes(t, l, first, resamples=200).size_ratio
    assert ratio.low < 1.2 < ratio.high
    assert ratio.high - ratio.low < 0.1
    exact = np.exp((l[first:, [0, 2]].sum(axis=1).mean() - l[:first, [0, 2]].sum(axis=1).mean()) / 2)
    assert ratio.value == pytest.approx(exact)


def test_without_a_difference_there_are_no_shares():
    t, l = np.zeros((20, 4)), np.zeros((20, 3))
    effects = effect_sizes(t, l, 10, resamples=50)
    assert effects.mmd["undulation"].value == 0
    assert all(np.isnan(share.value) for share in effects.shares.values())
    assert effects.size_ratio.value == 1


def test_the_same_seed_gives_identical_results():
    t, l, first = coordinates()
    assert effect_sizes(t, l, first, random_state=3) == effect_sizes(t, l, first, random_state=3)
    assert effect_sizes(t, l, first, random_state=3) != effect_sizes(t, l, first, random_state=4)


def test_malformed_input_is_rejected():
    t, l, _ = coordinates()
    with pytest.raises(ValueError, match="at least two curves"):
        effect_sizes(t, l[:-1], 80)
    with pytest.raises(ValueError, match="at least 20"):
        effect_sizes(t, l, 80, resamples=5)


def both_tests(t, l, first, **options):
    return mmd_test(t[:first], t[first:], **options), mmd_test(l[:first], l[first:], **options)


def found(power_of, repeats=150):
    return np.mean([power_of(seed) for seed in range(repeats)])


def test_detectable_differences_are_found_with_the_stated_power():
    t, l, first = coordinates(60, 90)
    least = detectable_differences(t, l, first, *both_tests(t, l, first), power=0.8)

    def size(seed):
        _, l, first = coordinates(60, 90, seed + 1)
        l[first:] += np.log(least.size_ratio) * np.array([1, 0, 1])
        return mmd_test(l[:first], l[first:], permutations=300, random_state=seed).rejected

    def elongation(seed):
        _, l, first = coordinates(60, 90, seed + 1)
        l[first:] += np.log(least.elongation_ratio) / 2 * np.array([1, 0, -1])
        return mmd_test(l[:first], l[first:], permutations=300, random_state=seed).rejected

    def form(seed):
        t, _, first = coordinates(60, 90, seed + 1)
        t[first:, 0] += least.form_shift * SPREAD[0]
        return mmd_test(t[:first], t[first:], permutations=300, random_state=seed).rejected

    assert 0.65 < found(size) < 0.95
    assert 0.65 < found(elongation) < 0.95
    assert 0.65 < found(form) < 0.95


def test_detectable_differences_shrink_with_more_curves():
    few, many = (
        detectable_differences(*data, *both_tests(*data)) for data in (coordinates(20, 20), coordinates(200, 200))
    )
    assert 1 < many.size_ratio < few.size_ratio
    assert 1 < many.elongation_ratio < few.elongation_ratio
    assert 0 < many.form_shift < few.form_shift


def test_an_existing_difference_does_not_count_as_spread():
    t, l, first = coordinates()
    apart = l.copy()
    apart[first:] += 0.2
    one = detectable_differences(t, l, first, *both_tests(t, l, first))
    other = detectable_differences(t, apart, first, *both_tests(t, apart, first))
    assert other.size_ratio == pytest.approx(one.size_ratio, rel=0.1)


def test_nothing_is_detectable_with_too_few_permutations():
    data = coordinates(20, 20)
    least = detectable_differences(*data, *both_tests(*data, permutations=20))
    assert least.size_ratio == least.elongation_ratio == least.form_shift == np.inf
    with pytest.raises(ValueError, match=r"power 0\.2"):
        detectable_differences(*data, *both_tests(*data), power=0.2)


def images_of(rng, m, shift):
    """Points of 2m images of 20 each: image means with SD 0.5, total SD 1; the second half is shifted."""
    image = np.repeat(np.arange(2 * m), 20)
    points = np.sqrt(0.75) * rng.normal(size=len(image)) + 0.5 * rng.normal(size=2 * m)[image]
    return (points + shift * (image >= m))[:, None], image


def test_estimates_over_images_use_pairs_of_images():
    points, image = images_of(np.random.default_rng(0), 4, 0.5)
    counts = resample(4, 8, 20, 0)
    squared, spread = unbiased_of_images(mean_kernels(points, image, bandwidth=0.9).between, counts, 4)
    k = gaussian(points, points, 0.9)
    for row in (0, 3, 11):
        drawn = np.repeat(np.arange(8), counts[row].astype(int))

        def mean(one, other, drawn=drawn):
            pairs = [(i, j) for i in drawn[one] for j in drawn[other] if i != j]
            return np.mean([k[np.ix_(image == i, image == j)].mean() for i, j in pairs])

        x, y = slice(4), slice(4, 8)
        assert squared[row] == pytest.approx(mean(x, x) + mean(y, y) - 2 * mean(x, y), abs=1e-6)
        assert spread[row] == pytest.approx(1 - (mean(x, x) + mean(y, y)) / 2, abs=1e-6)


def test_intervals_over_images_cover_the_true_mmd():
    s, shift, m, inside, of_curves = 1.0, 1.2, 10, 0, 0
    counts, by_curve = resample(m, 2 * m, 200, 1), resample(20 * m, 40 * m, 50, 1)
    ends = percentile_ends(m, m)
    for seed in range(150):
        points, image = images_of(np.random.default_rng(seed), m, shift)
        squared, _ = unbiased_of_images(mean_kernels(points, image, bandwidth=s).between, counts, m)
        low, high = np.quantile(squared[1:], ends)
        inside += low <= true_mmd(shift, s) ** 2 <= high
        if seed < 40:
            squared, _ = unbiased(points, by_curve, 20 * m, s)
            low, high = np.quantile(squared[1:], [0.025, 0.975])
            of_curves += low <= true_mmd(shift, s) ** 2 <= high
    assert inside >= 133  # 142 of 150 at 95 %
    assert of_curves < 30  # of 40: curves are not independent draws


def test_effects_of_several_images_use_variation_between_images():
    def side(seed, factor):
        own = np.random.default_rng(seed)
        return [
            Ensemble(list(blobs(8, 60, seed=seed + i) * factor * np.exp(0.2 * own.normal())), name=f"{i}")
            for i in range(6)
        ]

    quick = Settings(landmarks=48, rank=6)
    a, b = side(10, 1), side(50, 1.5)
    of_images, of_curves = (effect_sizes(compare(a, b, quick, permute=kind)) for kind in ("images", "curves"))
    assert (of_images.resampled, of_curves.resampled) == ("images", "curves")
    assert of_images.size_ratio.value == pytest.approx(of_curves.size_ratio.value)
    wide, narrow = (np.log(one.size_ratio.high / one.size_ratio.low) for one in (of_images, of_curves))
    assert wide > narrow
    alone = effect_sizes(compare(a[:1], b, quick))
    assert alone.resampled == "images"
    assert np.isnan(alone.size_ratio.low)
    assert np.isnan(alone.mmd["scale"].high)
    assert alone.mmd["scale"].value > 0
    three = effect_sizes(compare(a[:3], b[:3], quick))
    assert three.size_ratio.low < three.size_ratio.value < three.size_ratio.high
    assert np.isnan(three.standardized["size"].low)


@pytest.mark.parametrize(("m", "n"), [(4, 4), (4, 9)])
def test_resamples_of_a_single_curve_are_ignored(m, n):
    t, l, _ = coordinates(m, n)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = effect_sizes(t, l, m)
    one = found.mmd["undulation"]
    assert np.isfinite([one.value, one.low, one.high]).all()
    assert one.low <= one.high


@pytest.mark.parametrize(("m", "n"), [(2, 2), (2, 20), (3, 3)])
def test_too_few_curves_have_no_bootstrap_interval(m, n):
    t, l, _ = coordinates(m, n)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = effect_sizes(t, l, m)
    assert np.isfinite([one.value for one in found.mmd.values()]).all()
    for one in (*found.mmd.values(), *found.standardized.values(), *found.shares.values()):
        assert np.isnan([one.low, one.high]).all()
    assert found.size_ratio.low < found.size_ratio.value < found.size_ratio.high
