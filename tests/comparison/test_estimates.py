"""Estimates: closed forms, coverage of the intervals, agreement with the tests, and detectable differences."""

import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri
from shapely import Polygon

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Settings, compare
from napari_shape_ensembles.comparison import estimates
from napari_shape_ensembles.comparison.answer import empty_cells, estimate_rows, sentence
from napari_shape_ensembles.comparison.detectable import detectable_differences
from napari_shape_ensembles.comparison.estimates import (
    COLUMNS,
    QUANTITIES,
    Units,
    mean_ratios,
    resample,
    spread_ratios,
    standardized_distance,
    unbiased,
    unbiased_of_images,
)
from napari_shape_ensembles.comparison.quantities import geometric_median, log_deviations
from napari_shape_ensembles.mmd import mmd_test
from napari_shape_ensembles.mmd.contrasts import bootstrap_counts, percentile_ends
from napari_shape_ensembles.mmd.kernel import gaussian
from napari_shape_ensembles.mmd.replicates import Hypothesis, mean_kernels, replicate_mmd_test
from napari_shape_ensembles.mmd.two_sample import pooled_mmd_test

SPREAD = 0.5 ** np.arange(10)
# Of two standard normal distributions in four dimensions, 0.7 apart, from samples of 5000; with means of images of
# standard deviation 0.3 besides.
TRUE_DISTANCE = {False: 0.246, True: 0.236}


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


def test_many_curves_have_the_estimates_of_fewer_resamples(monkeypatch):
    a, b = (Ensemble(list(blobs(80, 40, seed=seed) * scale)) for seed, scale in ((1, 1), (2, 1.3)))
    result = compare(a, b, landmarks=40, rank=5, permutations=99)
    few = result.estimates.set_index("quantity")
    monkeypatch.setattr(estimates, "MAX_RESAMPLED", 100)
    monkeypatch.setattr(estimates, "MAX_PAIRED", 120)
    many = estimates.estimates(result).set_index("quantity")
    ratios = few["kind"] == "ratio"
    ends = ["estimate", "low", "high"]
    np.testing.assert_allclose(many.loc[ratios, ends], few.loc[ratios, ends], rtol=0.05)
    one, other = (table.loc["coarse form"] for table in (few, many))
    assert one["low"] - 0.1 < other["estimate"] < one["high"] + 0.1
    assert other["low"] <= other["estimate"] <= other["high"]


def test_what_more_images_would_detect_is_stated_by_an_experiment():
    a, b = ([Ensemble(list(blobs(5, 40, seed=3 * side + i))) for i in range(3)] for side in (0, 1))
    with pytest.raises(ValueError, match=r"permuted images: .*planning\(\) of an experiment"):
        compare(a, b, landmarks=40, rank=5).detectable()


def test_an_existing_difference_does_not_count_as_spread():
    t, l, first = coordinates()
    apart = l.copy()
    apart[first:] += 0.2
    one = detectable_differences(t, l, first, *both_tests(t, l, first))
    other = detectable_differences(t, apart, first, *both_tests(t, apart, first))
    assert other.size_ratio == pytest.approx(one.size_ratio, rel=0.1)


def test_nothing_is_detectable_with_too_few_permutations():
    data = coordinates(20, 20)
    least = detectable_differences(*data, *both_tests(*data, permutations=10))
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


def values(m, n, seed=0):
    return np.random.default_rng(seed).normal(size=(m + n, 1))


@pytest.mark.parametrize(("ratios", "change"), [(mean_ratios, np.add), (spread_ratios, np.multiply)])
def test_ratios_are_exact_and_their_intervals_cover(ratios, change):
    covered = 0
    for seed in range(60):
        given = values(40, 40, seed)
        given[40:] = change(given[40:], np.log(1.5) if change is np.add else 1.5)
        ratio, low, high = ratios(given, 40, bootstrap_counts(40, 80, 200, seed), Units())[:, 0]
        sides = given[:40], given[40:]
        one, other = ([side.mean(), 0] if change is np.add else [0, np.log(side.std())] for side in sides)
        assert ratio == pytest.approx(np.exp(np.sum(other) - np.sum(one)))
        covered += low <= 1.5 <= high
    assert covered >= 50


def test_ratios_over_images_have_student_intervals():
    image, given = np.repeat(np.arange(9), 5), values(20, 25)
    ratio, low, high = mean_ratios(given, 20, np.zeros((0, 45)), Units(image))[:, 0]
    means = given[:, 0].reshape(9, 5).mean(axis=1)
    test = stats.ttest_ind(means[4:], means[:4], equal_var=False)
    assert ratio == pytest.approx(np.exp(means[4:].mean() - means[:4].mean()))
    np.testing.assert_allclose([low, high], np.exp(test.confidence_interval()))
    deviations = np.log(given[:, 0].reshape(9, 5).std(axis=1, ddof=1))
    spread = spread_ratios(given, 20, np.zeros((0, 45)), Units(image))[0, 0]
    assert spread == pytest.approx(np.exp(deviations[4:].mean() - deviations[:4].mean()))
    assert np.isnan(spread_ratios(given[:-4], 20, np.zeros((0, 41)), Units(image[:-4]))).all()


def test_a_sample_without_variation_has_no_spread():
    given = values(40, 40)
    given[:40] = 0.3 + 1e-15 * np.arange(40)[:, None]
    assert spread_ratios(given, 40, bootstrap_counts(40, 80, 40), Units())[0] == np.inf


def circles(scales, stretch=1):
    u = 2 * np.pi * np.arange(80) / 80
    return Ensemble([s * np.stack([np.cos(u), stretch * np.sin(u)], axis=-1) for s in scales])


def test_circles_and_ellipses_have_exactly_the_same_form():
    """What does not vary at all has an interval of no width, not one of what rounding left."""
    scales, settings = np.linspace(10, 20, 12), Settings(landmarks=40, rank=10, permutations=100)
    table = compare(circles(scales), circles(scales, 2), settings).estimates.set_index("quantity")
    assert table.loc["coarse form", ["estimate", "low", "high"]].tolist() == [0, 0, 0]
    for name in ("lobes", "roughness", "concavity"):
        np.testing.assert_allclose(table.loc[name, ["estimate", "low", "high"]].to_list(), 1, atol=1e-9)
    assert table.loc["elongation", "estimate"] == pytest.approx(2)


def test_roughness_that_pixels_do_not_hold_is_not_estimated():
    small, smaller = (Ensemble([radius * c for c in waves_of(3.0).curves], pixel_size=1.0) for radius in (0.3, 0.28))
    result = compare(small, smaller, landmarks=100, rank=10, permutations=99)
    assert "the outlines hold" in result.undulation.left_out["roughness"]
    table = result.estimates.set_index("quantity")
    assert table.loc[["roughness", "concavity"], ["estimate", "low", "high"]].isna().all(axis=None)


def waves_of(factor, *, digits=8):
    """Circles with waves of random height and phase, times a factor."""
    rng, u, k = np.random.default_rng(3), 2 * np.pi * np.arange(400) / 400, np.arange(2, 25)
    curves = []
    for _ in range(60):
        cosines, sines = factor * 0.02 * rng.normal(size=(2, len(k))) / k
        radius = 30 * (1 + cosines @ np.cos(np.outer(k, u)) + sines @ np.sin(np.outer(k, u)))
        curves.append(np.round(np.stack([radius * np.cos(u), radius * np.sin(u)], axis=1), digits))
    return Ensemble(curves)


def test_forms_vary_twice_as_much_with_waves_twice_as_high():
    table = compare(waves_of(1.0), waves_of(2.0)).estimates.set_index("quantity")["estimate"]
    np.testing.assert_allclose(table[["spread of form", "lobes"]], 2, rtol=0.03)


def test_the_outline_that_is_the_median_does_not_decide_the_spread_of_form():
    """Of an odd number of outlines that vary in one band of lobes alone, one is the median, at a distance of 0."""

    def triangular(count):
        heights = 0.1 * np.exp(0.3 * ndtri((np.arange(count) + 0.5) / count))
        u = 2 * np.pi * np.arange(200) / 200
        radius = 10 * (1 + heights[:, None] * np.cos(3 * u))
        return Ensemble(np.stack([radius * np.cos(u), radius * np.sin(u)], axis=-1))

    table = compare(triangular(9), triangular(40), permutations=99).estimates.set_index("quantity")
    assert table["estimate"]["spread of form"] == pytest.approx(1, abs=0.2)


def test_the_error_of_a_spread_includes_that_of_the_median():
    """Skewed points mostly in one direction, as amplitudes of lobes: without it the error is a tenth too small."""
    rng, means, errors = np.random.default_rng(0), [], []
    for _ in range(800):
        points = np.exp(0.6 * rng.normal(size=(100, 1))) * [1, 0.5, 0.25] + 0.06 * np.abs(rng.normal(size=(100, 3)))
        values = log_deviations(points)
        means.append(values.mean())
        errors.append(values.std() / np.sqrt(len(values)))
    assert np.sqrt(np.mean(np.square(errors))) > 0.97 * np.std(means)
    apart = np.linalg.norm(points - geometric_median(points, np.ones(100)), axis=1)
    assert means[-1] == pytest.approx(np.log(np.maximum(apart, np.median(apart) / 100) * np.sqrt(100 / 99)).mean())


def test_concavity_is_the_unfilled_share_of_the_convex_hull():
    sides = waves_of(2.0), waves_of(6.0)
    known = [[1 - Polygon(curve).area / Polygon(curve).convex_hull.area for curve in side.curves] for side in sides]
    (first, second), table = np.log(np.add(known, 1e-3)).mean(axis=1), compare(*sides).estimates.set_index("quantity")
    assert table["estimate"]["concavity"] == pytest.approx(np.exp(second - first), abs=0.02)


def test_estimates_of_form_hardly_depend_on_the_digits_of_coordinates():
    """Those of the concavity and of the spread of form depended on the precision that was known."""
    found = [compare(waves_of(2.0, digits=digits), waves_of(4.0, digits=digits)).estimates for digits in (8, 2)]
    exact, rounded = (one.set_index("quantity").loc[["spread of form", "concavity"], "estimate"] for one in found)
    np.testing.assert_allclose(exact, rounded, rtol=0.01)


def test_two_equal_outlines_have_estimates_without_p_values():
    result = compare(circles([10]), circles([10]), Settings(landmarks=40, rank=10, permutations=100))
    table = result.estimates.set_index("quantity")
    assert (table.loc["size", "estimate"], table.loc["size", "high"]) == (1, np.inf)
    assert np.isnan(table.loc["size", "p"])


def test_roughness_beyond_lobes_is_unknown_where_each_sample_repeats_one_outline():
    """Lobes that tell the samples apart explain any difference in roughness, which divided rounding errors before."""
    one, other = blobs(2, seed=1)
    with warnings.catch_warnings(action="error"):
        result = compare(Ensemble([one] * 6), Ensemble([other] * 6), Settings(landmarks=40, rank=10, permutations=100))
        table = result.estimates.set_index("quantity")
    assert table.loc["roughness", ["estimate", "low", "high"]].isna().all()
    assert table.loc["roughness", "p"] == 1
    assert table.loc["coarse form", "estimate"] == np.inf


def test_a_single_outline_has_no_spread():
    curves = list(blobs(21, 60, seed=3))
    table = compare(Ensemble(curves[:1]), Ensemble(curves[1:]), landmarks=50, rank=5, permutations=99).estimates
    table = table.set_index("quantity")
    spreads = table.loc[["spread of size", "spread of form"], ["estimate", "p", "p_adjusted"]]
    assert not np.isfinite(spreads).any(axis=None)
    assert np.isfinite(table.loc[["size", "roughness"], "estimate"]).all()
    assert not np.isfinite(table.loc[["size", "elongation", "roughness"], "high"]).any()
    alone = compare(Ensemble(curves[1:]), Ensemble(curves[:1]), landmarks=50, rank=5, permutations=99)
    assert alone.estimates.set_index("quantity").loc["spread of size", ["estimate", "low", "high"]].isna().all()
    assert {row[0]: row[1] for row in estimate_rows(alone)}["spread of size"] == "–"  # not a ratio of 0


@pytest.mark.parametrize(
    ("m", "n", "known"), [(2, 2, False), (2, 20, False), (3, 3, False), (4, 4, True), (4, 9, True)]
)
def test_distances_of_few_curves_have_no_interval(m, n, known):
    """Resamples of a single curve are ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        distance, low, high = standardized_distance(coordinates(m, n)[0], m)
    assert distance >= 0
    assert (low <= high) == known
    assert np.isfinite([low, high]).all() == known


def test_the_distance_is_relative_to_the_spread_within_the_samples():
    t, _, first = coordinates(200, 200)
    alike, low, _ = standardized_distance(t, first, resamples=50)
    assert alike < 0.1
    assert low == 0
    t[first:, 0] += 3
    assert standardized_distance(t, first, resamples=50)[0] > 0.7
    assert (standardized_distance(t, first, resamples=50) == standardized_distance(t, first, resamples=50)).all()


@pytest.mark.parametrize("images", [False, True])
def test_the_interval_of_a_distance_holds_zero_where_a_test_does_not_reject(images):
    """Percentiles of resamples hold 0 in half of the draws in which the energy distance has a p-value below 0.02."""
    named = zero = found = inside = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        image = np.repeat(np.arange(20), 5) if images else None
        points = rng.normal(size=(100, 4)) + (0 if image is None else 0.3 * rng.normal(size=(20, 4))[image])
        distance, low, high = standardized_distance(points, 50, image, resamples=200, seed=seed)
        found += low > 0
        assert low <= distance <= high
        points[50:, 0] += 0.7
        distance, low, high = standardized_distance(points, 50, image, resamples=200, seed=seed)
        inside += low <= TRUE_DISTANCE[images] <= high
        if image is None:
            p = pooled_mmd_test({"": points}, 50, kernels={"": "energy"}, permutations=199, seed=seed).p_value
            named, zero = named + (p <= 0.02), zero + (p <= 0.02 and low == 0)
    assert found <= 5  # 1.5 of 60 at 2.5 %
    assert inside >= 51  # 57 at 95 %
    assert images or (named >= 25 and zero <= 2)


def test_a_distance_of_means_is_that_of_means():
    """Unbiased, in root mean squares within the samples, whatever else differs between these."""
    rng, image = np.random.default_rng(0), np.repeat(np.arange(8), 25)
    points = rng.normal(size=(200, 2))
    points[100:] *= 3
    wider, low, _ = standardized_distance(points, 100, kernel="mean")
    assert wider < 0.15
    assert low == 0
    points[100:] = rng.normal([1, 0], size=(100, 2))
    for of in (None, image):
        distance, low, high = standardized_distance(points, 100, of, kernel="mean")
        assert distance == pytest.approx(np.sqrt(1 / 2), abs=0.12)
        assert 0 < low < distance < high


def side(seed, factor, images=6):
    own = np.random.default_rng(seed)
    forms = [blobs(8, 60, seed=seed + i) * factor * np.exp(0.2 * own.normal()) for i in range(images)]
    return [Ensemble(list(one), name=f"{seed}{i}") for i, one in enumerate(forms)]


def test_estimates_of_several_images_use_variation_between_images():
    quick = Settings(landmarks=48, rank=6)
    a, b = side(10, 1), side(50, 1.5)
    tables = [compare(a, b, quick, permute=kind).estimates.set_index("quantity") for kind in ("images", "curves")]
    of_images, of_curves = (table.loc["size"] for table in tables)
    assert of_images["estimate"] == pytest.approx(of_curves["estimate"])
    assert of_images["high"] / of_images["low"] > of_curves["high"] / of_curves["low"]
    alone = compare(a[:1], b, quick).estimates.set_index("quantity")
    assert not np.isfinite(alone.loc["size", "high"])
    assert alone.loc["coarse form", ["estimate", "low", "high"]].isna().all()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("images", [True, False])
def test_every_estimate_has_an_interval_and_a_p_value_or_a_reason(count, images):
    """A distance of 30 standard deviations of three images says nothing."""
    a, b = side(10, 1)[:count], side(50, 1.5)[:count]
    if not images:
        a, b = (Ensemble([one.curves[0] for one in own]) for own in (a, b))
    result = compare(a, b, Settings(landmarks=48, rank=6, permutations=99))
    told = " ".join(empty_cells(result))
    reasoned = {name for words in empty_cells(result) for name in words[3:].partition(" (")[0].split(", ")}
    for name, value, interval, p, *_ in estimate_rows(result):
        assert (value == "–") == (interval == "–"), name
        if name not in {"area", *result.undulation.left_out, *result.scale.left_out}:
            assert ("–" in (value, p)) == (name in reasoned), name
    if result.decided_by == "small-sample":
        assert "direction of elongation (not a part of the small-sample test)" in told
    assert all(words in result.summary() for words in empty_cells(result)) or len(result.a) == 1


def test_a_quantity_without_an_interval_is_named_without_a_ratio():
    """One image against the condition of 45."""
    result = compare(side(1, 1, 1), side(90, 3, 45), landmarks=48, rank=6)
    assert result.scale.rejected
    assert "– to –" not in sentence(result)
    assert "differs" in sentence(result)


@pytest.mark.parametrize("changes", [{}, {"coordinates": "both"}, {"coordinates": "raw"}, {"null": "gamma"}])
@pytest.mark.parametrize("count", [1, 6])
def test_the_table_has_the_p_values_of_the_parts_of_the_tests(changes, count):
    result = compare(side(10, 1, count), side(50, 1.5, count), Settings(landmarks=48, rank=6, **changes))
    table = result.estimates
    assert list(table) == list(COLUMNS)
    assert table["quantity"].tolist() == list(QUANTITIES)
    for test in (result.undulation, result.scale):
        assert set(test.adjusted) == set(test.parts)
        assert min(test.adjusted.values(), default=test.p_value) == test.p_value
        assert all(test.adjusted[name] >= part.p_value for name, part in test.parts.items())
    by_name = table.set_index("quantity")
    if "coarse form" in result.undulation.parts:
        own = by_name.loc["coarse form", ["p", "p_adjusted"]].tolist()
        part = result.undulation
        if result.permuted == "curves":  # that of the waves of the coarse form, whatever the finer ones
            options = {"permutations": result.settings.permutations, "bins": result.settings.bins}
            points = {"waves": result.components["coarse form"]}
            test = pooled_mmd_test(points, len(result.a), kernels={"waves": "energy"}, **options)
            assert own[0] == test.p_value
            assert max(own[0], part.p_value) <= own[1] <= 1
        else:
            hypothesis = Hypothesis(np.arange(2 * count) >= count)
            kernels = {"waves": mean_kernels(result.components["coarse form"], result.replicates, kernel="energy")}
            assert own[0] == replicate_mmd_test(kernels, hypothesis, seed=result.settings.seed).p_value
            assert max(own[0], part.p_value) <= own[1] <= 1
    part = result.scale
    if "direction of elongation" in part.parts:
        p, adjusted = by_name.loc["direction of elongation", ["p", "p_adjusted"]]  # or that under unequal spread
        assert part.parts["direction of elongation"].p_value <= p <= 1
        assert max(part.adjusted["direction of elongation"], p) <= adjusted <= 1
    for name in ("size", "elongation", "lobes", "roughness"):
        p, adjusted = by_name.loc[name, ["p", "p_adjusted"]]
        assert 0 < p <= adjusted <= 1
        assert adjusted >= getattr(result, QUANTITIES[name]).p_value
    assert by_name.loc["size", "p"] < 0.05
    assert np.isfinite(by_name.loc[["size", "elongation", "coarse form", "roughness"], "estimate"]).all()
    ratios = table[table["kind"] == "ratio"].reset_index(drop=True)
    assert ratios.equals(result.ratios)
