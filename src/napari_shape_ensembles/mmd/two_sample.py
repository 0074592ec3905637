"""Two-sample tests by maximum mean discrepancy (MMD) and label permutations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np

from .._types import Real
from ..checks import RandomState, Sealed, expect, seed_of
from .figures import plot_null
from .kernel import KERNELS, PERMUTATIONS, SIGNIFICANCE, Distances, Kernel, pooled
from .permutations import (
    MAX_FACTORIZED,
    Labellings,
    Statistics,
    nystrom_statistics,
    permuted_labels,
    permuted_statistics,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Nyström features of the approximation.
FEATURES = 512

Widths = float | Sequence[float]

# Largest kernel width: neither its square nor those of the distances compared with it overflow.
_MAX_BANDWIDTH = 1e100
#: Factor by which the number of permutations is raised at first while p lies within some standard errors of the level.
MORE = 5
# So many.
_SETTLED = 4
# Squared MMDs closer than this fraction of the largest are equal up to rounding error.
_TIE = 1e-10


@dataclass(frozen=True, eq=False)
class MMDTest(Sealed):
    """Outcome of a two-sample test.

    Attributes
    ----------
    mmd : float
        Biased (V-statistic) MMD of the two samples: the square root of wᵀKw, K the kernel.
    p_value : float
        (1 + #{null ≥ observed}) / (B + 1).
    threshold : float
        `rejected` exactly when `mmd` exceeds it. For a combined test, that of the deciding part.
    rejected : bool
        True: the samples differ at the given significance.
    bandwidth : float
        Width s of the kernel exp(-d²/(2s²)); for an energy distance or a difference of means, the unit of distance.
    null : (B,) array
        MMD under permuted labels, to about six digits where no p-value depends on it. Empty for a test without
        permutations.
    significance : float
        Level of the test.
    parts : mapping of str to MMDTest
        Parts of a combined test with their own p-values and thresholds, else empty.
    approximation : str
        Description of the approximation of kernel or null; empty for an exact permutation test.
    left_out : mapping of str to str
        Parts without any power on these data, which were not tested, with the reason.
    p_error : float
        Monte-Carlo error (standard error) of `p_value`: 0 where all permutations were enumerated, or none were drawn.

    References
    ----------
    A. Gretton, K. M. Borgwardt, M. J. Rasch, B. Schölkopf, A. Smola, "A kernel two-sample test", Journal of Machine
    Learning Research 13 (2012) 723-773.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import mmd_test
    >>> rng = np.random.default_rng(0)
    >>> test = mmd_test(rng.normal(size=(50, 2)), rng.normal(size=(50, 2)), permutations=199)
    >>> test.rejected, test.mmd > test.threshold
    (False, False)
    >>> test.null.shape
    (199,)
    """

    mmd: float
    p_value: float
    threshold: float
    rejected: bool
    bandwidth: float
    null: Real
    significance: float
    parts: Mapping[str, MMDTest] = field(default_factory=dict)
    approximation: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)
    p_error: float = 0.0

    @cached_property
    def adjusted(self) -> Mapping[str, float]:
        """p-value of each part, adjusted for the other parts (min-p on their permutations); empty without parts.

        None is smaller than the test's own p-value, which is that of the deciding part: at no level does a part differ
        where the test as a whole does not. Without permutations Bonferroni's.
        """
        parts = self.parts
        if len(parts) < 2 or not len(self.null):
            return {name: max(self.p_value, min(1.0, len(parts) * part.p_value)) for name, part in parts.items()}
        refined = _refined_p_values(parts, ties=True)
        smallest, own = refined.min(axis=0), refined[:, 0]
        joint = [self.p_value if p == own.min() else float(np.mean(smallest <= p)) for p in own]
        both = zip(parts.items(), joint, strict=True)
        return {name: max(self.p_value, part.p_value, p) for (name, part), p in both}

    @cached_property
    def judged(self) -> Mapping[str, MMDTest]:
        """The parts as the test judges them: with their `adjusted` p-values, and the thresholds that these imply."""
        thresholds, judged = joint_thresholds(self) if len(self.null) else {}, {}
        for name, part in self.parts.items():
            p_value, threshold = self.adjusted[name], thresholds.get(name, part.threshold)
            rejected = self.rejected and p_value <= self.significance
            limit = agreeing(threshold, part.mmd, rejected)
            judged[name] = replace(part, p_value=p_value, rejected=rejected, threshold=limit)
        return judged

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the MMD under permuted labels as a histogram, and the observed one; returns the Matplotlib axes."""
        return plot_null(self.null, self.mmd, self.p_value, "MMD", ax)


class Options(TypedDict, total=False):
    """Options of permutation tests: those of `mmd_test`, and `most` of `pooled_mmd_test`."""

    permutations: int
    significance: float
    bandwidth: Widths | None
    factor: Widths
    approximate_above: int | None
    bins: int
    seed: int
    most: int


def mmd_test(
    x: Real,
    y: Real,
    *,
    permutations: int = PERMUTATIONS,
    significance: float = SIGNIFICANCE,
    bandwidth: Widths | None = None,
    factor: Widths = 1.0,
    approximate_above: int | None = None,
    bins: int = 0,
    random_state: RandomState = 0,
) -> MMDTest:
    """Test whether two samples come from one distribution.

    Parameters
    ----------
    x, y : (m, d) and (n, d) arrays
        The samples; one-dimensional arrays count as d = 1.
    permutations : int
        Number B of random relabelings.
    significance : float
        Level of the test, between 0 and 1.
    bandwidth : float or sequence of floats, optional
        Width s of the Gaussian kernel exp(-d²/(2s²)), in the units of the data. Several are combined as
        `combined_mmd_test` combines descriptions. By default the median pairwise distance of the pooled sample
        (over a seeded subset of 2000 points when there are more) times `factor`.
    factor : float or sequence of floats
        Multiples of the median distance, where no `bandwidth` is given.
    approximate_above : int, optional
        With more pooled points than this the kernel is projected on 512 of them (see Notes); the result then says so in
        `approximation`. By default the kernel is exact.
    bins : int
        With at least four times as many pooled points, about this many random bins of points are permuted instead of
        single points (see Notes). 0, the default, always permutes single points.
    random_state : int, Generator or RandomState
        Seed of the permutations and the subsets.

    Returns
    -------
    MMDTest

    Raises
    ------
    ValueError
        For empty or mismatched samples, NaNs, or parameters out of range.

    Notes
    -----
    Gretton et al. 2012, eq. 5 (biased statistic); paper, "Maximum Mean Discrepancy". The approximation replaces K by
    its Nyström projection on points drawn independently of the labels: another statistic, but the same for all
    permutations, so the level is exact while power may be lost.

    Bins hold equal numbers of points of one sample, drawn at random. Their permutations are a subgroup of those of the
    points: the statistic is the same, and the level is exact (Hemerik and Goeman 2018). The kernel is summed once over
    all pairs of bins, after which a permutation costs no more than for as many points as there are bins.

    References
    ----------
    A. Gretton, K. M. Borgwardt, M. J. Rasch, B. Schölkopf, A. Smola, "A kernel two-sample test", Journal of Machine
    Learning Research 13 (2012) 723-773.
    J. Hemerik, J. Goeman, "Exact testing with random permutations", TEST 27 (2018) 811-825.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import mmd_test
    >>> rng = np.random.default_rng(0)
    >>> test = mmd_test(rng.normal(0, 1, (50, 2)), rng.normal(1, 1, (50, 2)), permutations=199)
    >>> test.rejected, test.p_value
    (True, 0.005)
    """
    return combined_mmd_test(
        {"": (x, y)},
        permutations=permutations,
        significance=significance,
        bandwidth=bandwidth,
        factor=factor,
        approximate_above=approximate_above,
        bins=bins,
        seed=seed_of(random_state),
    )


def combined_mmd_test(
    samples: Mapping[str, tuple[Real, Real]],
    *,
    kernels: Mapping[str, Kernel] | None = None,
    **options: Unpack[Options],
) -> MMDTest:
    """Test several descriptions of the same two samples at once, at an exact joint level.

    Every description, at every width of the kernel, is tested on the same permutations; the smallest of their p-values
    is compared with its distribution under those permutations (min-p; Westfall and Young 1993). If it is the smallest
    attainable with that many permutations, the distance from the mean of the permutations breaks the tie.

    Parameters
    ----------
    samples : mapping of str to (x, y)
        Named descriptions, each with the same m and n rows. With only one, and one width, this is `mmd_test`.
    kernels : mapping of str to {"gaussian", "energy", "mean"}, optional
        Kernels of some descriptions, instead of the Gaussian one: -d, whose MMD² is the energy distance, in units of
        the median distance; or -d²/2, whose MMD is the distance between the means, in units of √d for d coordinates. A
        `bandwidth` replaces their unit too; `factor` applies to the Gaussian kernel only.
    **options
        Of `mmd_test`: permutations, significance, bandwidth, factor, approximate_above, bins; and seed.

    Returns
    -------
    MMDTest
        `p_value` and `rejected` are joint; `mmd`, `null`, `bandwidth` are those of the part with the smallest
        p-value, and `threshold` is that part's joint one. `parts` holds every part with its own p-value, under
        the name of its description; with several widths under "name, s = 2 × median" or "name, s = 2".

    References
    ----------
    P. H. Westfall, S. S. Young, "Resampling-Based Multiple Testing", Wiley (1993).

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.mmd.two_sample import combined_mmd_test
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(40, 2)), rng.normal(1, size=(40, 2))
    >>> test = combined_mmd_test({"first coordinate": (x[:, :1], y[:, :1]), "both": (x, y)}, permutations=199)
    >>> test.p_value, list(test.parts)
    (0.005, ['first coordinate', 'both'])
    """
    expect(samples, Mapping, "combined_mmd_test takes a dict of pairs of samples")
    points = {name: pooled(x, y) for name, (x, y) in samples.items()}
    first, _ = common_sizes(samples)
    return pooled_mmd_test(points, first, kernels=kernels, **options)


def pooled_mmd_test(
    points: Mapping[str, Real],
    first: int,
    *,
    kernels: Mapping[str, Kernel] | None = None,
    **options: Unpack[Options],
) -> MMDTest:
    """As `combined_mmd_test`, for pooled descriptions (N, d), which are not copied; the first sample's rows first.

    With a larger number `most` of permutations, up to so many are drawn while the decision depends on the draw.

    Notes
    -----
    Five times as many permutations are drawn if the p-value lies within four standard errors of the level, and `most`
    if it still does. The first of them are the same. At a level of 0.025 and from 1000 permutations, a decision of a
    single test that is taken earlier differs from that of the exact p-value with a probability of at most 4e-4, if the
    exact p-value is at the level; wrong rejections of that kind add less than 1e-8 to the level, over a uniform exact
    p-value (binomial probabilities).
    """
    kinds = {name: KERNELS[(kernels or {}).get(name, "gaussian")] for name in points}
    procedure = Procedure(first, len(next(iter(points.values()))), **options)
    return procedure.settled({name: kinds[name](z, procedure.labels.order) for name, z in points.items()})


def is_settled(p_value: float, permutations: int, significance: float, excess: float = 1.0) -> bool:
    """Whether the Monte-Carlo error of a p-value is too small to matter for its decision.

    `excess` is its error relative to that of a single test.
    """
    error = excess * np.sqrt(significance * (1 - significance) / (1 + permutations))
    return bool(abs(p_value - significance) > _SETTLED * error)


def monte_carlo_error(p_value: float, permutations: int) -> float:
    """Standard error of a p-value of so many random permutations."""
    return float(np.sqrt(p_value * (1 - p_value) / (1 + permutations)))


def joint_error(smallest: Real, least: float, permutations: int) -> float:
    """Standard error of a joint p-value, the fraction of labelings with a smallest p-value of at most the observed one.

    The labelings that reach the observed p-value are about the k-fold of those that reach the statistic of the part, so
    its error is up to √k times that of a single test.
    """
    error = monte_carlo_error(max(least, 1 / (1 + permutations)), permutations)
    more, fewer = (float(np.mean(smallest <= least + sign * error)) for sign in (1, -1))
    return max((more - fewer) / 2, monte_carlo_error(float(np.mean(smallest <= least)), permutations))


@dataclass(frozen=True, eq=False)
class Procedure:
    """How descriptions of one pair of samples are tested: sizes of the first sample and of both, and the `Options`."""

    first: int
    total: int
    permutations: int = PERMUTATIONS
    significance: float = SIGNIFICANCE
    bandwidth: Widths | None = None
    factor: Widths = 1.0
    approximate_above: int | None = None
    bins: int = 0
    seed: int = 0
    most: int = 0

    def __post_init__(self) -> None:
        check_level(self.significance)

    @cached_property
    def labels(self) -> Labellings:
        """The permutations."""
        return permuted_labels(self.first, self.total, self.permutations, self.seed, self.bins)

    def settled(self, descriptions: Mapping[str, Distances]) -> MMDTest:
        """Test all descriptions with more permutations, up to `most`, while the decision depends on the draw."""
        test = first = self.test(descriptions)
        permutations, most = len(self.labels) - 1, self.most
        if self.labels.total > MAX_FACTORIZED and self.labels.sizes is None:
            most = min(most, MORE * permutations)  # each costs O(N²)
        while permutations < most:
            alone = monte_carlo_error(test.p_value, permutations)
            if is_settled(test.p_value, permutations, self.significance, test.p_error / alone if alone else 1.0):
                break
            permutations = min(MORE * permutations, most) if test is first else most
            test = replace(self, permutations=permutations).test(descriptions)
        return test

    def test(self, descriptions: Mapping[str, Distances]) -> MMDTest:
        """Test all descriptions at one joint level."""
        approximate = self.approximate_above is not None and self.total > self.approximate_above
        found: dict[str, tuple[float, Statistics]] = {}
        for name, distances in descriptions.items():
            bandwidth, factor = self.bandwidth, self.factor
            if not distances.kind.has_widths:  # the unit does not affect the test
                bandwidth, factor = None if bandwidth is None else float(np.max(bandwidth)), 1.0
            named = widths(name, partial(distances.median, self.seed), bandwidth, factor)
            wanted = list(named.values())
            if approximate:
                statistics = nystrom_statistics(distances, self.labels, wanted, FEATURES, self.seed)
            else:
                statistics = permuted_statistics(distances, self.labels, wanted)
            found |= {part: (s, one) for (part, s), one in zip(named.items(), statistics, strict=True)}
        if len(found) > 1:
            # Make exact which permutations have a smallest p-value at most as large as the observed one.
            rank = min(int(np.count_nonzero(one.values >= one.values[0])) for _, one in found.values())
            for _, one in found.values():
                one.settle_rank(rank)
        words = f"kernel projected on {FEATURES} of {self.labels.total} points" if approximate else ""
        tests = {}
        for name, (s, one) in found.items():
            mmds = np.sqrt(np.maximum(one.values, 0))
            mmd, null = float(mmds[0]), mmds[1:]
            p_value = (1 + int(np.count_nonzero(null >= mmd))) / (1 + len(null))
            threshold = _exceeded_when(null, p_value_at_most=self.significance)
            rejected = mmd > threshold
            error = monte_carlo_error(p_value, len(null))
            tests[name] = MMDTest(
                mmd, p_value, threshold, rejected, s, null, self.significance, approximation=words, p_error=error
            )
        if len(tests) == 1:
            return next(iter(tests.values()))
        # The smallest p-value is calibrated on the permutations that the parts share.
        refined = _refined_p_values(tests)
        smallest = refined.min(axis=0)
        p_value = float(np.mean(smallest <= smallest[0]))
        name = list(tests)[int(refined[:, 0].argmin())]
        threshold, rejected = _thresholds(tests, smallest, self.significance)[name], p_value <= self.significance
        error = joint_error(smallest, float(smallest[0]), len(self.labels) - 1)
        return replace(tests[name], p_value=p_value, rejected=rejected, threshold=threshold, parts=tests, p_error=error)


def common_sizes(samples: Mapping[str, tuple[Real, Real]]) -> tuple[int, int]:
    """Sizes m and n that all descriptions share."""
    sizes = {(len(x), len(y)) for x, y in samples.values()}
    if len(sizes) != 1:
        raise ValueError(f"the descriptions have different numbers of points: {sorted(sizes)}")
    return sizes.pop()


def check_level(significance: float) -> None:
    """Raise unless a significance level lies between 0 and 1."""
    if not 0 < significance < 1:
        raise ValueError(f"significance {significance}: give a level between 0 and 1, such as {SIGNIFICANCE}")


def widths(name: str, median: Callable[[], float], bandwidth: Widths | None, factor: Widths) -> dict[str, float]:
    """Kernel widths s for a description, by the names of the resulting parts."""
    values = np.atleast_1d(np.asarray(factor if bandwidth is None else bandwidth, dtype=np.float64))
    kind = "factor" if bandwidth is None else "bandwidth"
    if not values.size or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(f"{kind} {values.tolist()}: the kernel width must be a positive distance")
    if values.max() > _MAX_BANDWIDTH or values.min() < 1 / _MAX_BANDWIDTH:
        raise ValueError(
            f"{kind} {values.tolist()}: a kernel this wide or narrow does not distinguish points; give a width "
            "near the distances between them"
        )
    if len(np.unique(values)) < len(values):
        raise ValueError(f"{kind} {values.tolist()}: give each width once")
    unit = median() if bandwidth is None else 1.0
    if len(values) == 1:
        return {name: float(values[0]) * unit}
    times = " × median" if bandwidth is None else ""
    return {", ".join(filter(None, [name, f"s = {value:g}{times}"])): float(value) * unit for value in values}


def agreeing(threshold: float, mmd: float, rejected: bool) -> float:
    """Threshold, or that nearest to it by which the decision on an MMD is the given one."""
    return min(threshold, float(np.nextafter(mmd, -1))) if rejected else max(threshold, float(mmd))


def _exceeded_when(null: Real, p_value_at_most: float) -> float:
    """Threshold that a statistic exceeds exactly when its permutation p-value is small enough."""
    allowed = int(np.floor(p_value_at_most * (1 + len(null)) * (1 + 1e-12))) - 1
    return float(np.sort(null)[-1 - allowed]) if allowed >= 0 else float("inf")


def joint_thresholds(test: MMDTest) -> dict[str, float]:
    """Thresholds of the MMD of each part in the joint test; for a test without parts its own, under ""."""
    if not test.parts:
        return {"": test.threshold}
    return _thresholds(test.parts, _refined_p_values(test.parts).min(axis=0), test.significance)


def _thresholds(tests: Mapping[str, MMDTest], smallest: Real, significance: float) -> dict[str, float]:
    candidates, counts = np.unique(smallest, return_counts=True)
    within = candidates[np.cumsum(counts) <= significance * len(smallest) * (1 + 1e-12)]
    # The largest of the smallest p-values that the joint test rejects; 0 if it rejects none.
    level = float(within[-1]) if len(within) else 0.0
    found = {}
    for name, test in tests.items():
        found[name] = _exceeded_when(test.null, p_value_at_most=level)
        if 0 < level < 1 / len(smallest):  # only some of the labelings with the largest statistic of a part
            values = np.append(test.mmd, test.null)
            least = values.mean() - values.std() * np.log(level * len(smallest))
            found[name] = max(float(test.null.max()), float(least) * (1 - 1e-12))
    return found


def shares_as_large(values: Real) -> Real:
    """Fraction of values at least as large as each."""
    total, order = len(values), np.argsort(values)
    ordered = values[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))  # of equal values
    shares = np.empty(total)
    shares[order] = (total - np.repeat(first, np.diff(first, append=total))) / total
    return shares


def _refined_p_values(tests: Mapping[str, MMDTest], *, ties: bool = False) -> Real:
    """p-value that each labeling would have in each test if it were the observed one, (number, 1 + B).

    The largest statistic of a test has the smallest p-value that B permutations can give, however large it is. To break
    ties between tests, a larger distance from the mean, in standard deviations, counts as a smaller p-value, so that
    few permutations do not blur the joint test. As the same function is applied to all labelings, the level is exact.
    With `ties` squares that differ by rounding error are equal: labelings of few images mirror each other.
    """
    values = np.stack([np.append(test.mmd, test.null) for test in tests.values()])
    if ties:
        step = _TIE * np.maximum(values.max(axis=1, keepdims=True) ** 2, np.finfo(float).tiny)
        values = np.sqrt(np.maximum(values[:, :1] ** 2 + np.rint((values**2 - values[:, :1] ** 2) / step) * step, 0))
    p_values = np.stack([shares_as_large(row) for row in values])
    spread = values.std(axis=1, keepdims=True)
    apart = (values - values.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1)
    largest = p_values * values.shape[1] < 1.5
    return np.where(largest, p_values * np.exp(-np.maximum(apart, 0)), p_values)
