"""How large a difference is: ratios and distances of named quantities with their intervals and p-values.

One table has all of them, for the window, reports, texts and files. Ratios are those of geometric means, B over A, but
for areas, whose arithmetic means show what few large outlines add, and for spreads.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import digamma, stdtrit

from .._types import Index, Real
from ..mmd import MMDTest
from ..mmd.contrasts import (
    RESAMPLES,
    bootstrap_counts,
    difference_of_means,
    percentile_ends,
    spread_interval,
    spread_ratio,
)
from ..mmd.kernel import KERNELS, Kernel, median_distance, quadratic_forms
from ..mmd.replicates import DRAWS, Hypothesis, group_means, mean_kernels, replicate_mmd_test
from ..mmd.two_sample import pooled_mmd_test
from ..outlines.polygons import areas_and_perimeters
from ..shapes.lobes import BANDS
from ..words import distinct, pooled_name
from .learning import KNOWN
from .quantities import COARSE, LOBES, log_deviations, resolved_lobes, unresolved
from .quantity_tests import (
    PermutedDifferences,
    adjusted_difference,
    family_p_values,
    holm,
    label_orders,
    p_value_of_points,
    quantile_of,
    spread_difference,
)
from .replicate_quantities import difference_of_replicates
from .verdict import SMALL_SAMPLE

if TYPE_CHECKING:
    import pandas as pd


class Units(NamedTuple):
    """What estimates are over: the replicate of each outline and its block, if any, and the weights of the outlines."""

    image: Index | None = None  #: (N,), those of A numbered first: then replicates have equal weights
    blocks: Index | None = None  #: of each replicate
    weights: Real | None = None  #: (N,), also of the outlines within each replicate; by default equal


# A `Comparison` has the functions of this module as methods, so its class cannot be imported here.
Comparison = Any

#: Each quantity, and the test that concerns it.
QUANTITIES = {
    "size": "scale",
    "area": "scale",
    "spread of size": "scale",
    "elongation": "scale",
    "direction of elongation": "scale",
    "coarse form": "undulation",
    "spread of form": "undulation",
    "lobes": "undulation",
    "roughness": "undulation",
    "concavity": "undulation",
}
# The distances, which have a part of a test to themselves, and their kernels: of the direction, that of means.
_DIRECTION, _COARSE = "direction of elongation", "coarse form"
_DISTANCES: dict[str, Kernel] = {_DIRECTION: "mean", _COARSE: "energy"}
# Bands of lobes that belong to the coarse form.
_COARSE_LOBES = tuple(name for name, band in zip(LOBES, BANDS, strict=True) if band[1] <= COARSE)
#: Columns of the table.
COLUMNS = ("quantity", "estimate", "kind", "low", "high", "p", "p_adjusted")
#: With fewer images or curves a side the bootstrap undercovers: 80 to 86 % with 3 in simulations, 93 to 95 % with 4.
MIN_UNITS = 4
#: Of more curves, intervals of ratios are the normal ones, which 500 resamples of so many no longer change; and a
#: distance is that of at most half as many of each sample as `MAX_PAIRED`, as its time grows with their square.
MAX_RESAMPLED, MAX_PAIRED = 20_000, 4_000
# The spread of size, and the least number of curves of a sample of which it is tested: of 5 and 5 skewed ones permuted
# deviations from the means reject in .13 of draws at .05, of 10 and 10 in .08.
_SPREAD, _MIN_OF_SPREAD = "spread of size", 10
# What coordinates of undulation mainly describe.
_OF_COORDINATES = {"raw": "coarse form", "normalized": "roughness"}
_MISSING = np.full(3, np.nan)
# Descriptors of the convex hull, after those of the bands of lobes.
_OF_HULL = 2
# Kernels of a point with itself.
_ITSELF: dict[Kernel, float] = {"gaussian": 1, "energy": 0, "mean": 0}
# Mean distance within samples, in median distances of all, below which these vary by rounding errors only.
_LEAST_SPREAD = 1e-6
# Amplitudes of lobes below this, relative to the size of an outline, imply no finer waves: fine waves themselves make
# lobes that seem to be as high.
_LEAST_LOBES = 0.1


def estimates(comparison: Comparison, *, distances: bool = True) -> "pd.DataFrame":
    """Table of the named quantities of a comparison; see `Comparison.estimates`.

    Distances, which are no ratios, can be left out: their bootstrap takes seconds for thousands of curves.
    """
    import pandas as pd

    image, first, seed = comparison.replicates, len(comparison.a), comparison.settings.seed
    tested, measured = comparison.quantity_p_values, quantities_of(comparison)
    counts = resamples_of_ratios(first, len(comparison.t), seed, image)
    units = Units(image, comparison.blocks, comparison.weights)
    coarse = {name: comparison.lobes[name] for name in _COARSE_LOBES}
    found = ratios(measured | coarse, first, counts, units)
    if "spread of form" in tested:
        found["spread of form"] = _spread_of_form(comparison, counts, units)
    quantile = None if comparison.permuted_spread is None else quantile_of(comparison.permuted_spread)
    found[_SPREAD] = spread_ratios(measured["size"][:, None], first, counts, units, quantile)[:, 0]
    found["area"] = area_ratio(comparison, counts, units)
    found |= dict.fromkeys(unresolved(comparison.space.bands_), _MISSING)
    rows = []
    for name in QUANTITIES:
        if name in _DISTANCES and not distances:
            continue
        estimate, kind = found.get(name, _MISSING), "distance" if name in _DISTANCES else "ratio"
        untested = name == _DIRECTION and comparison.decided_by == SMALL_SAMPLE  # which has no such part
        if name in _DISTANCES and not untested and (points := _points(comparison, name)) is not None:
            estimate = standardized_distance(points, first, image, kernel=_DISTANCES[name], seed=seed)
            estimate = _MISSING if np.isnan(estimate[1]) else estimate
        rows.append([name, estimate[0], kind, *estimate[1:], *tested.get(name, _MISSING[:2])])
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _points(comparison: Comparison, name: str) -> Real | None:
    """Points (N, d) whose distance is the estimate of a quantity; None if they are not defined."""
    if name == _COARSE:
        return np.asarray(comparison.components[name])
    part = comparison.scale_parts().tested.get(name)
    return None if part is None else part.points


def quantities_of(comparison: Comparison) -> dict[str, Real]:
    """Logarithms of those quantities that are one number of every outline, (N,) each."""
    measured = {name: comparison.components[name] for name in ("size", "elongation", "roughness")}
    measured["lobes"] = comparison.lobes["lobes"]
    if comparison.descriptors[:, -_OF_HULL:].any():  # all 0 with too few pixels for it
        measured["concavity"] = comparison.lobes["concavity"]
    return measured


def quantity_p_values(comparison: Comparison) -> dict[str, tuple[float, float]]:
    """p-value of every quantity, and the one adjusted for the other quantities of the same test.

    The first is that of a permutation test of just this quantity, by its difference in standard errors: it holds under
    unequal spread as well, and its statistic is that of the interval. No adjusted p-value is smaller than that of the
    test as a whole. The direction of elongation, and by the small-sample test the coarse form, have the p-values of
    their parts of the tests; that of the direction is at least the one that holds under unequal spread.
    """
    image, blocks, settings = comparison.replicates, comparison.blocks, comparison.settings
    first, total, measured = len(comparison.a), len(comparison.t), quantities_of(comparison)
    labels = label_orders(first, image, blocks, total, settings.permutations, settings.seed)
    values = dict(measured)
    if 1 < first < total - 1 and comparison.descriptors.shape[1] > _OF_HULL:  # a single outline has no spread
        values["spread of form"] = _form_deviations(comparison)
    nuisance = np.zeros((labels.shape[1], 0))
    if blocks is not None:
        nuisance = (blocks[:, None] == np.unique(blocks)).astype(np.float64)
    lobed = _coarse_lobes(comparison.lobes)
    if image is not None:
        values["roughness"] = values["roughness"] - _implied(values["roughness"], lobed, image)
        values = {name: group_means(own[:, None], image)[:, 0] for name, own in values.items()}
        if (deviations := _log_deviations(measured["size"][:, None], image)) is not None:
            values[_SPREAD] = deviations[:, 0]
    found = {}
    for of in ("scale", "undulation"):
        test, differences = getattr(comparison, of), {}
        for name, own in values.items():
            if QUANTITIES[name] == of and name not in test.left_out:
                given = lobed if name == "roughness" and image is None else nuisance
                differences[name] = adjusted_difference(own, labels, given)
        if of == "scale" and comparison.permuted_spread is not None:
            differences[_SPREAD] = comparison.permuted_spread
        family = family_p_values(differences)
        if comparison.decided_by == SMALL_SAMPLE:  # permutations of so few replicates reach no level
            second = np.arange(labels.shape[1]) > image[:first].max()
            family = holm({name: difference_of_replicates(values[name], second, blocks).p_value for name in family})
        for name, (p, joint) in family.items():
            found[name] = p, max(joint, test.p_value)
    found[_DIRECTION] = p_values(comparison.scale, (_DIRECTION,))
    points = None if comparison.decided_by == SMALL_SAMPLE else _points(comparison, _DIRECTION)
    if points is not None and points.shape[1] == 2:
        own = points if image is None else group_means(points, image)
        least = p_value_of_points(own - nuisance @ np.linalg.lstsq(nuisance, own)[0], labels)
        found[_DIRECTION] = max(found[_DIRECTION][0], least), max(found[_DIRECTION][1], least)
    found[_COARSE] = _coarse_p_values(comparison, 1 + len(differences))
    return found


def permuted_spread(comparison: Comparison) -> PermutedDifferences | None:
    """Difference of the spreads of size for every labeling of single curves; None if these are few or not permuted."""
    first, total, settings = len(comparison.a), len(comparison.t), comparison.settings
    if comparison.replicates is not None or not _MIN_OF_SPREAD <= first <= total - _MIN_OF_SPREAD:
        return None
    labels = label_orders(first, None, None, total, settings.permutations, settings.seed)
    return spread_difference(comparison.components["size"], labels)


def _coarse_p_values(comparison: Comparison, quantities: int) -> tuple[float, float]:
    """p-value of the coarse form, and the one adjusted for all quantities of the test of form (Bonferroni).

    The part of the test is about all coordinates, in which finer waves differ too.
    """
    test, settings, points = comparison.undulation, comparison.settings, comparison.components[_COARSE]
    image, first, few = comparison.replicates, len(comparison.a), comparison.decided_by == SMALL_SAMPLE
    if few or _COARSE not in test.parts or not points.any():
        return p_values(test, (_COARSE,))
    if image is not None:
        second = np.arange(int(image.max()) + 1) > image[:first].max()
        kernels = {"": mean_kernels(points, image, kernel="energy", seed=settings.seed)}
        options: dict[str, Any] = {"draws": max(settings.permutations, DRAWS), "seed": settings.seed}
        p = replicate_mmd_test(kernels, Hypothesis(second, comparison.blocks), **options).p_value
        return p, max(min(quantities * p, 1.0), test.p_value)
    p = pooled_mmd_test(
        {"": points},
        first,
        kernels={"": "energy"},
        permutations=settings.permutations,
        approximate_above=settings.approximate_above or None,
        bins=settings.bins,
        seed=settings.seed,
    ).p_value
    return p, max(min(quantities * p, 1.0), test.p_value)


def _form_deviations(comparison: Comparison) -> Real:
    """Logarithm of the distance of every outline from the median of its sample in the amplitudes of its lobes, (N,).

    Amplitudes of the bands that the pixels resolve depend on no registration, nor on a mean form.
    """
    resolved = [comparison.lobes[name] for name in resolved_lobes(comparison.space.bands_)]
    bands = np.exp(np.stack(resolved, axis=1))
    return np.concatenate([log_deviations(side) for side in np.split(bands, [len(comparison.a)])])


def _spread_of_form(comparison: Comparison, counts: Real, units: Units) -> Real:
    """Ratio of the spreads of form, B over A, and its interval: as in `spread_ratio` if a sample does not vary."""
    first, deviations = len(comparison.a), _form_deviations(comparison)
    a_varies, b_varies = ((side > np.log(KNOWN)).any() for side in np.split(deviations, [first]))
    if a_varies and b_varies:
        return ratios({"": deviations}, first, counts, units)[""]
    return np.array([np.inf if b_varies else 0.0 if a_varies else np.nan, 0.0, np.inf])


def area_ratio(comparison: Comparison, counts: Real, units: Units) -> Real:
    """Ratio of the mean areas, B over A, and the ends of its 95 % interval, (3,)."""
    first, (image, _, weights) = len(comparison.a), units
    area = np.concatenate([areas_and_perimeters(side.vertices, side.offsets)[0] for side in comparison.compared])
    if image is not None:
        means = np.log(group_means(area[:, None], image, weights))
        return _ratios_of_replicates(means, first, units)[:, 0]
    # The logarithm of a mean has the standard error of the mean over the mean.
    of_a, of_b = group_means(area[:, None], (np.arange(len(area)) >= first).astype(np.intp), weights)[:, 0]
    relative = np.concatenate([area[:first] / of_a, area[first:] / of_b])[:, None]
    value = float(np.log(of_b / of_a))
    _, low, high = difference_of_means(relative, first, counts, weights)
    with np.errstate(over="ignore"):
        return np.exp(np.array([value, value + low[0], value + high[0]]))


def _coarse_lobes(lobes: Mapping[str, Real]) -> Real:
    """Covariate (N, 1) by which the coarse lobes of an outline imply finer waves."""
    amplitudes = np.logaddexp.reduce([2 * lobes[name] for name in _COARSE_LOBES]) / 2
    return np.maximum(amplitudes, np.log(_LEAST_LOBES))[:, None]


def _implied(roughness: Real, lobed: Real, group: Index) -> Real:
    """Part of the logarithm of roughness that follows from the coarse lobes, by regression within groups or images."""

    def within(values: Real) -> Real:
        return values - group_means(values, group)[group]

    slopes = np.linalg.lstsq(within(lobed), within(roughness[:, None])[:, 0], rcond=1e-8)[0]
    return np.asarray((lobed - lobed.mean(axis=0)) @ slopes)


def described(part: str) -> str:
    """Return what a part of a test describes, without the width of its kernel; empty for the whole quantity."""
    name = part.partition("s = ")[0].rstrip(", ")
    return _OF_COORDINATES.get(name, name)


def p_values(test: MMDTest, parts: Collection[str]) -> tuple[float, float]:
    """Smallest p-value of some parts of a test, and the one adjusted for all parts; NaN if none of them was tested."""
    found = [(one.p_value, test.adjusted[name]) for name, one in test.parts.items() if described(name) in parts]
    return min(found, default=(np.nan, np.nan))


def resamples_of_ratios(first: int, total: int, seed: int, image: Index | None = None) -> Real:
    """Bootstrap counts for the intervals of ratios over curves, (R, N); none for images, and for very many curves."""
    resampled = image is None and total <= MAX_RESAMPLED
    return bootstrap_counts(first, total, RESAMPLES if resampled else 0, seed)


def ratios(measured: Mapping[str, Real], first: int, counts: Real, units: Units) -> dict[str, Real]:
    """Ratio of every quantity by name, with the ends of its interval, (3,); see `mean_ratios`.

    The ratio of roughness is that beyond what the coarse lobes imply, if these are among the quantities: high lobes
    make finer waves, fewer in `lobes.fine_amplitude` than along the arc length.
    """
    values = np.stack([*measured.values()], axis=1)
    found = dict(zip(measured, mean_ratios(values, first, counts, units).T, strict=True))
    if {"roughness", *_COARSE_LOBES} <= measured.keys():
        found["roughness"] = _roughness_ratio(measured["roughness"], _coarse_lobes(measured), first, units)
    return found


def _roughness_ratio(roughness: Real, lobed: Real, first: int, units: Units) -> Real:
    if units.image is not None:
        beyond = roughness - _implied(roughness, lobed, units.image)
        return _ratios_of_replicates(group_means(beyond[:, None], units.image, units.weights), first, units)[:, 0]
    observed = np.arange(len(roughness))[None] >= first
    value, error = (float(one[0]) for one in adjusted_difference(roughness, observed, lobed, units.weights))
    if np.isinf(error):  # all outlines of a side have the same lobes
        return _MISSING
    freedom = len(roughness) - lobed.shape[1] - 2
    reach = float(stdtrit(freedom, 0.975)) * error if freedom > 0 and 1 < first < len(roughness) - 1 else np.inf
    with np.errstate(over="ignore"):
        return np.exp(np.array([value, value - reach, value + reach]))


def mean_ratios(logarithms: Real, first: int, counts: Real, units: Units) -> Real:
    """Ratio of geometric means of B over A, from logarithms (N, k), and the ends of its 95 % interval, (3, k).

    Over curves by the resamples `counts`, from `resamples_of_ratios`: symmetric bootstrap-t, with fewer than five
    curves on a side Student's (Welch). Over replicates Student's over their means, infinite if a side is a single one;
    see `difference_of_replicates`.
    """
    if units.image is None:
        with np.errstate(over="ignore"):
            return np.exp(np.stack(difference_of_means(logarithms, first, counts, units.weights)))
    return _ratios_of_replicates(group_means(logarithms, units.image, units.weights), first, units)


def _ratios_of_replicates(means: Real, first: int, units: Units) -> Real:
    assert units.image is not None
    second = np.arange(len(means)) > units.image[:first].max()
    found = [difference_of_replicates(column, second, units.blocks) for column in means.T]
    with np.errstate(over="ignore"):
        return np.exp(np.array([[one.value, *one.interval()] for one in found]).T)


def drawn_logarithms(comparison: Comparison, quantity: str) -> Real | None:
    """Logarithms (N,) of which `geometric_means` are those of a quantity of the table; None of a distance."""
    if quantity == "spread of form":
        return _form_deviations(comparison)
    measured = quantities_of(comparison)
    if quantity == _SPREAD:
        unit = _units(comparison)
        deviations = _log_deviations(measured["size"][:, None], unit, comparison.weights)
        return None if deviations is None else deviations[unit, 0]
    return measured.get(quantity)


def _units(comparison: Comparison, *, by_image: bool = False) -> Index:
    """Replicate of every outline, (N,), numbered over both samples; its image if there are none, or `by_image`."""
    if not by_image and comparison.replicates is not None:
        return np.asarray(comparison.replicates)
    a, b = (np.unique(side.images, return_inverse=True)[1] for side in (comparison.a, comparison.b))
    return np.concatenate([a, b + a.max() + 1])


def geometric_means(
    comparison: Comparison, values: Real, *, by_image: bool = False
) -> tuple[dict[str, float], dict[str, float]]:
    """Geometric mean of a quantity over the outlines of every replicate of a and of b, from its logarithms (N,).

    Replicates are called by their images, as a pooled ensemble; images where none were permuted, or `by_image`.
    """
    unit, weights, first = _units(comparison, by_image=by_image), comparison.weights, len(comparison.a)
    found = []
    for side, rows in ((comparison.a, slice(None, first)), (comparison.b, slice(first, None))):
        own, images = unit[rows], side.images
        numbers = list(dict.fromkeys(own.tolist()))
        names = distinct([pooled_name([*dict.fromkeys(images[own == one].tolist())]) for one in numbers])
        means = np.exp([np.average(values[rows][own == one], weights=weights[rows][own == one]) for one in numbers])
        found.append(dict(zip(names, means.tolist(), strict=True)))
    return found[0], found[1]


def spread_ratios(logarithms: Real, first: int, counts: Real, units: Units, quantile: float | None = None) -> Real:
    """Ratio of the standard deviations of logarithms, B over A, and its interval, (3, k); as `mean_ratios`.

    Over curves with the given `quantile` of standard errors instead of resamples, that of the permuted labels by which
    the ratio is tested: it covers as well, and the interval excludes 1 where the test rejects. Over images: of the
    geometric means of the deviations within images. NaN if a sample, or an image, has a single curve.
    """
    image, _, weights = units
    if image is None:
        if min(first, len(logarithms) - first) < 2:
            return np.full((3, logarithms.shape[1]), np.nan)
        return np.stack(
            [spread_ratio(logarithms, first, weights), *spread_interval(logarithms, first, counts, weights, quantile)]
        )
    of_images = _log_deviations(logarithms, image, weights)
    if of_images is None:
        return np.full((3, logarithms.shape[1]), np.nan)
    return _ratios_of_replicates(of_images, first, units)


def _log_deviations(values: Real, image: Index, weights: Real | None = None) -> Real | None:
    """Logarithm of the standard deviation of (N, k) values within each image, (U, k); None if one does not vary.

    Without the bias by which that of a few normal values is too small: of 3, by a quarter.
    """
    if np.bincount(image).min() < 2:
        return None
    squares = (values - group_means(values, image, weights)[image]) ** 2
    given = np.ones(len(image)) if weights is None else weights
    # The sum of squared shares: 1 over the number of curves if all weights are equal.
    itself = np.bincount(image, given**2) / np.bincount(image, given) ** 2
    variances = group_means(squares, image, weights) / (1 - itself)[:, None]
    if not variances.min() > 0:
        return None
    half = (1 / itself - 1)[:, None] / 2  # of the degrees of freedom
    return np.asarray(np.log(variances) - digamma(half) + np.log(half)) / 2


def standardized_distance(
    points: Real,
    first: int,
    image: Index | None = None,
    *,
    kernel: Kernel = "energy",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Real:
    """Distance of two samples of points (N, d) relative to that within them, with its interval, (3,).

    At 1 the samples are as far apart as the points of one sample are from each other (analogous to Cohen's d): the
    root of the unbiased energy distance over the mean distance within the samples; with kernel "mean", of the squared
    distance of the means over their variance. NaN ends for few curves, or few images. Of more than `MAX_PAIRED` curves
    a random sample.

    Notes
    -----
    The square of a random half of the samples and that of the half that is left vary about the observed one by a linear
    part, half their difference, and a quadratic one. Samples of equal distributions vary by the second alone, as under
    permuted labels, and the first is proportional to the distance. So every draw implies a distance, with which the
    observed one would have come of it, and their percentiles are the interval: it holds 0 where a test does not reject.
    Percentiles of resamples hold it far more often.
    """
    if image is None and len(points) > MAX_PAIRED:
        order, most = np.random.default_rng(seed).permutation(len(points)), MAX_PAIRED // 2
        chosen = np.concatenate([order[order < first][:most], order[order >= first][:most]])
        points, first = points[chosen], min(first, most)
    own, total = sizes(first, len(points), image)
    known = min(own, total - own) >= MIN_UNITS
    counts = _halves(own, total, resamples if known else 0, seed)
    squared, spread = squared_mmd(points, first, counts, image, kernel=kernel, seed=seed)
    if spread[0] < _LEAST_SPREAD:
        return np.full(3, np.inf if np.ptp(points, axis=0).any() else 0.0)
    scale, distance = np.sqrt(spread[0]), np.sqrt(max(squared[0], 0))
    if not known:
        return np.array([distance / scale, np.nan, np.nan])
    one, other = np.split(squared[1:], 2)
    linear, quadratic = (one - other) / 2, (one + other) / 2 - squared[0]
    slope = linear / (2 * np.sqrt(max(squared[0], quadratic.std(), np.finfo(float).tiny)))
    rest = np.maximum(squared[0] - quadratic, 0)
    implied = np.where(rest > 0, np.sqrt(slope**2 + rest) - slope, 0)
    return np.array([distance, *percentile_interval(implied, own, total)]) / scale


def _halves(first: int, total: int, draws: int, seed: int) -> Real:
    """Counts of each curve in both samples, in random halves of these, and in the other halves: (1 + 2·draws, N)."""
    rng, sides = np.random.default_rng(seed), []
    for count in (first, total - first):
        chosen = rng.permuted(np.tile(np.arange(count) < count // 2, (draws, 1)), axis=1)
        both = np.concatenate([chosen, ~chosen])
        sides.append(both * (count / np.maximum(both.sum(axis=1, keepdims=True), 1)))
    return np.concatenate([np.ones((1, total)), np.concatenate(sides, axis=1)])


def sizes(first: int, count: int, image: Index | None) -> tuple[int, int]:
    """Number of units, curves or images, of the first sample, and of both."""
    return (first, count) if image is None else (int(image[:first].max()) + 1, int(image.max()) + 1)


def percentile_interval(values: Real, own: int, total: int) -> Real:
    """Ends of the percentile interval of resampled values (R, ...), widened for small samples; NaN for few units."""
    if min(own, total - own) < MIN_UNITS:
        return np.full((2, *values.shape[1:]), np.nan)
    return np.nanquantile(values, percentile_ends(own, total - own), axis=0)


def resample(first: int, total: int, resamples: int, seed: int) -> Real:
    """Bootstrap counts of each curve, (1 + resamples, N); row 0 holds the samples as they are."""
    return np.concatenate([np.ones((1, total)), bootstrap_counts(first, total, resamples, seed)])


def squared_mmd(
    points: Real,
    first: int,
    counts: Real,
    image: Index | None = None,
    *,
    kernel: Kernel = "gaussian",
    seed: int = 0,
) -> tuple[Real, Real]:
    """Unbiased squared MMD of every resample of curves or images, and the mean spread within the samples."""
    points = points.reshape(len(points), -1)
    width = median_distance(points, seed)
    if image is None:
        return unbiased(points, counts, first, width, kernel)
    if kernel == "mean":  # that of distances, as for curves, not of inner products
        means, squares = (group_means(values, image) / width for values in (points, points**2 / width))
        squares = squares.sum(axis=1)
        between = means @ means.T - (squares[:, None] + squares) / 2
    else:
        between = mean_kernels(points, image, kernel=kernel, bandwidth=width).between
    return unbiased_of_images(between, counts, sizes(first, len(points), image)[0], kernel)


def unbiased(
    points: Real, counts: Real, first: int, bandwidth: float, kernel: Kernel = "gaussian"
) -> tuple[Real, Real]:
    """Unbiased squared MMD of every resample, and the mean spread k(x, x) - k within the samples."""
    side = np.arange(len(points)) < first
    sizes = first, len(points) - first
    of_x, of_y = np.where(side, counts / sizes[0], 0), np.where(side, 0, counts / sizes[1])
    weights = np.concatenate([of_x - of_y, of_x, of_y])
    # Row 0 of each third is the observed one: in double precision.
    rows = np.arange(3) * len(counts)
    fast, precise = quadratic_forms(KERNELS[kernel](points), [bandwidth], weights.astype(np.float32), weights[rows])
    forms = fast[0].reshape(3, -1)
    forms[:, 0] = precise[0]
    squared, spread = forms[0], np.zeros(len(counts))
    for within, form in ((of_x, forms[1]), (of_y, forms[2])):
        repeats = (within**2).sum(axis=1)  # pairs of a curve with itself
        # NaN for a resample of one curve alone.
        apart = np.divide(_ITSELF[kernel] - form, 1 - repeats, out=np.full_like(repeats, np.nan), where=repeats < 1)
        squared = squared - repeats * apart
        spread += apart / 2
    return squared, np.maximum(spread, np.finfo(float).tiny)


def unbiased_of_images(between: Real, counts: Real, own: int, kernel: Kernel = "gaussian") -> tuple[Real, Real]:
    """Unbiased squared MMD of every resample of images, (1 + R,), and the mean spread between images of one sample.

    From the mean kernels `between` images (U, U), those of the first sample, `own` many, first, and `counts` from
    `resample`. For a single image the pairs within it replace those between images. NaN if a resample repeats a single
    image.
    """

    def within(side: slice) -> Real:
        own, drawn = between[side, side], counts[:, side]
        if len(own) < 2:
            return np.full(len(counts), own[0, 0])
        itself = (drawn**2 * np.diag(own)).sum(axis=1)
        pairs = drawn.sum(axis=1) ** 2 - (drawn**2).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((((drawn @ own) * drawn).sum(axis=1) - itself) / pairs)

    first, second = slice(own), slice(own, None)
    a, b = counts[:, first], counts[:, second]
    across = ((a @ between[first, second]) * b).sum(axis=1) / (a.sum(axis=1) * b.sum(axis=1))
    with np.errstate(invalid="ignore"):
        inside = within(first) + within(second)
    return inside - 2 * across, np.maximum(_ITSELF[kernel] - inside / 2, np.finfo(float).tiny)
