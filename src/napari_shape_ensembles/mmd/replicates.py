"""Permutation tests in which whole replicates (images, dishes, animals) are exchangeable, not the points in them.

The kernel of N points is summed once over all pairs of U replicates. The result is a U × U matrix of mean kernels, the
inner products of the replicates' mean embeddings. Every statistic here is a quadratic form in that matrix, so a
permutation of the replicates costs O(U²) instead of O(N²).

A hypothesis is a set of columns over the replicates, such as indicators of groups or a dose; nuisance columns (blocks,
covariates) are removed from the data first. So two groups, several groups, trends and interactions are one test.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from math import comb, factorial, prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, fdtri, stdtr

from .._types import Index, Real
from ..progress import cancellation_check
from .kernel import KERNELS, SIGNIFICANCE, Kernel, group_sums, median_distance
from .permutations import chunks, nystrom_features
from .two_sample import (
    MORE,
    MMDTest,
    Widths,
    agreeing,
    is_settled,
    joint_error,
    monte_carlo_error,
    shares_as_large,
    widths,
)

#: Up to this many labelings are enumerated; otherwise `DRAWS` are drawn at random.
MAX_ENUMERATED, DRAWS = 20_000, 24_999
# With more points than this the kernel is projected on this many of them (Nyström approximation).
NYSTROM_FROM, _FEATURES = 20_000, 512
# Statistics that differ by less than this fraction of the largest are equal up to rounding error.
_TIE = 1e-10
# A kernel that varies by no more than this fraction of its largest value between replicates is constant up to rounding.
_CONSTANT_KERNEL = 1e-13
# Ratio of the groups' mean 1/n, and variance of a contrast relative to that under permutation, beyond which replicates
# of unequal numbers of points n are not exchanged.
_MAX_PRECISION_RATIO, _MAX_CONTRAST_VARIANCE = 2.0, 1.05
# Power of a component's standard deviation over the replicates that is its weight in the score, if precision differs.
_UNEQUAL_EMPHASIS = 4
# ... of more components than these, which are tested one by one: a score would follow the one that varies most.
_FEW_COMPONENTS = 2
# Elements per product of labelings and kernel, which fit in the CPU cache.
_CHUNK = 2**16


@dataclass(frozen=True, eq=False)
class MeanKernels:
    """Mean kernels between U replicates.

    Attributes
    ----------
    between : (U, U) array
        Mean of k(x, y) over x in one replicate and y in another; the diagonal excludes pairs of a point with itself.
        (If any replicate has a single point, the diagonal includes them, for all.)
    counts : (U,) array
        Number of points of each replicate.
    bandwidth : float
        Width s of the kernel exp(-d²/(2s²)); 1 for kernels without a width.
    own : (U,) array
        Mean kernel of the points of each replicate with themselves.
    """

    between: Real
    counts: Index
    bandwidth: float
    own: Real

    @property
    def gram(self) -> Real:
        """Inner products of the mean embeddings, (U, U), including pairs of a point with itself: positive definite."""
        if self.counts.min() < 2:
            return self.between
        return self.between + np.diag((self.own - np.diag(self.between)) / self.counts)

    def subset(self, chosen: Index) -> "MeanKernels":
        """Select some of the replicates."""
        return MeanKernels(self.between[np.ix_(chosen, chosen)], self.counts[chosen], self.bandwidth, self.own[chosen])


def mean_kernels(
    points: Real,
    replicate: Index,
    *,
    kernel: Kernel = "gaussian",
    bandwidth: float | None = None,
    factor: float = 1.0,
    seed: int = 0,
) -> MeanKernels:
    """Sum a kernel of all points over pairs of replicates, numbered from 0.

    The kernel is "gaussian", exp(-d²/(2s²)); "energy", -d, whose statistics are energy distances; or "mean", the inner
    product, which detects means only. The bandwidth s is by default the median pairwise distance times `factor`. The
    seed is that of the subset for the median of more than 2000 points, and of the points on which the kernel of more
    than 20 000 points is projected. Points have equal weights within a replicate, and replicates have equal weights
    whatever their number of points. NaNs, or a replicate without a point, raise a ValueError.
    """
    points = np.asarray(points, dtype=np.float64).reshape(len(points), -1)
    if not np.isfinite(points).all():
        raise ValueError(f"{(~np.isfinite(points)).any(axis=1).sum()} points have NaN or infinite coordinates")
    counts = np.bincount(replicate)
    if not counts.all():
        raise ValueError(f"replicate {int(counts.argmin())} has no point: number them from 0 without gaps")
    order = np.argsort(replicate, kind="stable")
    points, starts = points[order], np.concatenate([[0], np.cumsum(counts)[:-1]])
    points = points - points.mean(axis=0)
    if kernel == "gaussian" and bandwidth is None:
        bandwidth = factor * median_distance(points, seed)
    width, features = bandwidth or 1.0, points
    if kernel == "gaussian" and len(points) > NYSTROM_FROM:
        features = nystrom_features(points, width, _FEATURES, seed)
    if kernel == "mean" or features is not points:
        sums = np.add.reduceat(features, starts)
        total = sums @ sums.T
        selves = np.add.reduceat(np.einsum("ij,ij->i", features, features), starts)
    else:
        (total,) = group_sums(KERNELS[kernel](points), [width], starts)
        selves = counts if kernel == "gaussian" else 0.0 * counts
    means = total / np.outer(counts, counts)
    if counts.min() > 1:
        np.fill_diagonal(means, (np.diag(total) - selves) / (counts * (counts - 1.0)))
    return MeanKernels(means, counts, width, selves / counts)


def mean_kernels_of_widths(
    name: str, points: Real, replicate: Index, *, kernel: Kernel = "gaussian", factor: Widths = 1.0, seed: int = 0
) -> dict[str, MeanKernels]:
    """Kernels of one description by name, as in `combined_mmd_test`: one for every multiple of the median distance.

    Kernels without a width have one. Other arguments are those of `mean_kernels`.
    """
    if kernel != "gaussian" or not isinstance(factor, tuple):
        return {name: mean_kernels(points, replicate, kernel=kernel, factor=np.atleast_1d(factor)[0], seed=seed)}
    found = widths(name, partial(median_distance, points, seed), None, factor)
    return {part: mean_kernels(points, replicate, bandwidth=width, seed=seed) for part, width in found.items()}


# ---------------------------------------------------------------------------------------------- labelings


@dataclass(frozen=True, eq=False)
class Rearrangements:
    """Permutations of the replicates under which a hypothesis is tested.

    Attributes
    ----------
    orders : (1 + B, U) array of int
        Row 0 is the observed order; of the narrowest type.
    complete : bool
        Whether they are all distinct labelings.
    labellings : int
        Number of distinct labelings.
    alike : int
        Number of labelings that no test distinguishes from the observed one, such as two equal-sized groups exchanged.
    """

    orders: NDArray[Any]
    complete: bool
    labellings: int
    alike: int

    @property
    def least_p(self) -> float:
        """Smallest attainable p-value."""
        return max(self.alike / self.labellings, 0.0 if self.complete else 1 / len(self.orders))

    def error_of(self, p_value: float) -> float:
        """Monte-Carlo error of a p-value."""
        return 0.0 if self.complete else monte_carlo_error(p_value, len(self.orders) - 1)

    def error_of_joint(self, each: Real) -> float:
        """Monte-Carlo error of the joint p-value of several parts, from their p-values under every labeling."""
        smallest = each.min(axis=0)
        return 0.0 if self.complete else joint_error(smallest, float(smallest[0]), len(self.orders) - 1)


def _members(own: Index) -> list[Index]:
    """Rows of each block."""
    return [np.flatnonzero(own == block) for block in np.unique(own)]


# Shared by all parts of both tests, and by all contrasts of one size in a screen.
@lru_cache(maxsize=2)
def _orders(labels: bytes, own: bytes, draws: int, seed: int) -> NDArray[Any]:
    """Orders of rows with these labels and blocks, the observed one first: `draws` random ones, or all for 0."""
    kinds, blocks = np.frombuffer(labels, dtype=np.intp), np.frombuffer(own, dtype=np.intp)
    found = _random_orders(blocks, draws, seed) if draws else _all_orders(kinds, _members(blocks))
    found = found.astype(np.min_scalar_type(len(kinds)), copy=False)  # there may be a million
    found.flags.writeable = False
    return found


def _random_orders(blocks: Index, draws: int, seed: int) -> NDArray[Any]:
    """Random orders of rows within blocks, the observed one first."""
    # Block number, random bits (none in the first row) and row number are packed into one integer: sorting these is
    # much faster than shuffling one labeling after another.
    count, rng = len(blocks), np.random.default_rng(seed)
    low = count.bit_length()
    high = 63 - 2 * low
    groups = np.unique(blocks, return_inverse=True)[1] << high
    places = np.argsort(blocks, kind="stable")
    found = np.empty((1 + draws, count), dtype=np.min_scalar_type(count))
    for some in chunks(1 + draws, count):
        orders = rng.integers(1 << high, size=(some.stop - some.start, count), dtype=np.intp)
        orders[: some.start == 0] = 0
        orders += groups
        orders <<= low
        orders |= np.arange(count)
        orders.sort(axis=1)
        orders &= (1 << low) - 1
        found[some] = orders[:, np.argsort(places)] if (places[1:] < places[:-1]).any() else orders
    return found


def _all_orders(labels: Index, members: Sequence[Index]) -> Index:
    """Every distinct labeling as an order of the rows, the observed one first."""
    choices = [_arranged(labels[rows], rows) for rows in members]
    combined = np.unravel_index(np.arange(prod(map(len, choices))), [len(choice) for choice in choices])
    orders = np.empty((len(combined[0]), len(labels)), dtype=np.intp)
    for rows, choice, which in zip(members, choices, combined, strict=True):
        orders[:, rows] = choice[which]
    observed = np.flatnonzero((labels[orders] == labels).all(axis=1))[0]
    orders[[0, observed]] = orders[[observed, 0]]
    return orders


def _arranged(labels: Index, rows: Index) -> Index:
    """Distinct arrangements of labels within one block, each as the rows assigned to its places."""
    arranged = np.empty((1, len(rows)), dtype=np.intp)
    free = np.arange(len(rows))[None]  # places without a label so far
    for kind in np.unique(labels):
        own = rows[labels == kind]
        left = free.shape[1]
        chosen = np.array(list(itertools.combinations(range(left), len(own))), dtype=np.intp)
        rest = np.ones((len(chosen), left), dtype=np.bool_)
        np.put_along_axis(rest, chosen, values=False, axis=1)
        others = np.nonzero(rest)[1].reshape(len(chosen), left - len(own))
        arranged = np.repeat(arranged, len(chosen), axis=0)
        np.put_along_axis(arranged, free[:, chosen].reshape(len(arranged), -1), own, axis=1)
        free = free[:, others].reshape(len(arranged), -1)
    return arranged


def _alike(columns: Real, labels: Index, members: Sequence[Index], *, exchange: bool) -> int:
    """Number of labelings that span the same space as the observed one, and so have the same statistic.

    Groups with the same number of replicates in every block may exchange their names, unless covariates tell them apart
    (`exchange`); numeric columns may be reflected about their means. Blocks with one label do not matter to any test.
    """
    kinds = labels.max() + 1
    informative = [rows for rows in members if len(np.unique(labels[rows])) > 1]
    names_only = kinds == 2 or np.isin(columns, (0, 1)).all()
    if exchange and names_only and np.linalg.matrix_rank(columns - columns.mean(axis=0)) == kinds - 1:
        table = np.zeros((kinds, len(informative)), dtype=np.intp)
        for place, own in enumerate(informative):
            table[:, place] = np.bincount(labels[own], minlength=kinds)
        compared = table[table.any(axis=1)]
        return prod(factorial(count) for count in np.unique(compared, axis=0, return_counts=True)[1].tolist())
    for places in members:
        rows = columns[places]
        rows = (
            np.round((rows - rows.mean(axis=0)) / np.maximum(np.abs(columns).max(axis=0), np.finfo(float).tiny), 9)
            + 0.0
        )
        if not np.array_equal(rows[np.lexsort(rows.T)], (-rows + 0.0)[np.lexsort(-rows.T)]):
            return 1
    return 2


# --------------------------------------------------------------------------------------------------- tests


@dataclass(frozen=True, eq=False)
class ReplicateTest:
    """Outcome of a permutation test of replicates.

    Attributes
    ----------
    p_value : float
        Joint over the parts (min-p): the fraction of labelings whose smallest p-value is at most the observed one.
    statistic : float
        √ of the explained sum of squares of the part with the smallest p-value. Between two groups it is the MMD of
        the replicates' mean embeddings times √(m n / (m + n)).
    parts : mapping of str to float
        Unadjusted p-value of each part.
    least_p : float
        Smallest p-value attainable with this number of replicates.
    labellings : int
        Number of distinct labelings.
    complete : bool
        Whether all of them were enumerated.
    p_error : float
        Monte-Carlo error (standard error) of the p-value; 0 if they were.
    """

    p_value: float
    statistic: float
    parts: Mapping[str, float] = field(default_factory=dict)
    least_p: float = 0.0
    labellings: int = 0
    complete: bool = True
    p_error: float = 0.0

    def rejected(self, significance: float = SIGNIFICANCE) -> bool:
        """Whether the hypothesis is rejected at a level."""
        return self.p_value <= significance


Outcome = TypeVar("Outcome", MMDTest, ReplicateTest)


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """Columns over U replicates whose effect is tested, after nuisance columns have been removed.

    Attributes
    ----------
    columns : (U, q) array
        Such as indicators of groups, or a dose.
    blocks : (U,) array of int, optional
        Replicates are permuted only within a block, and block means are removed.
    covariates : (U, z) array, optional
        Removed by regression (Freedman and Lane), which makes the test approximate.
    weights : (U,) array, optional
        Multiples in which the replicates are given, such as the inverse standard errors of their means: the columns
        are multiplied by them, too.

    References
    ----------
    D. Freedman, D. Lane, "A nonstochastic interpretation of reported significance levels", Journal of Business and
    Economic Statistics 1 (1983) 292-298.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.mmd.replicates import Hypothesis
    >>> treated = Hypothesis(np.arange(6) >= 3)
    >>> treated.tested.shape, treated.rearrangements().complete
    ((6, 1), True)
    """

    columns: Real | NDArray[np.bool_]
    blocks: Index | None = None
    covariates: Real | None = None
    weights: Real | None = None

    @cached_property
    def nuisance(self) -> Real:
        """Orthonormal nuisance columns: the mean, blocks and covariates."""
        parts = [np.zeros((len(self.columns), 0))]
        if self.blocks is not None:
            parts.append((self.blocks[:, None] == np.unique(self.blocks)).astype(np.float64))
        if self.covariates is not None:
            parts.append(np.asarray(self.covariates, dtype=np.float64).reshape(len(self.columns), -1))
        constant = np.full((len(self.columns), 1), len(self.columns) ** -0.5)
        columns = np.concatenate([constant, _orthonormal(_centred(np.concatenate(parts, axis=1)))], axis=1)
        return columns if self.weights is None else np.linalg.qr(columns * self.weights[:, None])[0]

    @cached_property
    def tested(self) -> Real:
        """Orthonormal basis of the tested columns, orthogonal to the nuisance columns: (U, q')."""
        columns = _centred(np.asarray(self.columns, dtype=np.float64).reshape(len(self.columns), -1))
        if self.weights is not None:
            columns = columns * self.weights[:, None] / np.linalg.norm(self.weights) * len(columns) ** 0.5
        return _orthonormal(columns - self.nuisance @ (self.nuisance.T @ columns))

    @cached_property
    def _rows(self) -> Real:
        """All columns of the design, (U, q + z): equal rows are the same label."""
        parts = (self.columns,) if self.covariates is None else (self.columns, self.covariates)
        return np.concatenate([np.asarray(part, dtype=np.float64).reshape(len(part), -1) for part in parts], axis=1)

    @cached_property
    def _labels(self) -> tuple[Index, Index]:
        """Label of each row, and its block."""
        labels = np.unique(self._rows, axis=0, return_inverse=True)[1].ravel().astype(np.intp)
        blocks = np.zeros(len(labels)) if self.blocks is None else self.blocks
        return labels, np.asarray(blocks, dtype=np.intp)

    @cached_property
    def labellings(self) -> tuple[int, int]:
        """Number of distinct labelings, and of those that no test distinguishes from the observed one."""
        labels, members = self._labels[0], _members(self._labels[1])
        sizes = [np.unique(labels[rows], return_counts=True)[1].tolist() for rows in members]
        count = prod(factorial(sum(size)) // prod(map(factorial, size)) for size in sizes)
        return count, _alike(self._rows, labels, members, exchange=self.covariates is None)

    def least_p(self, draws: int = DRAWS) -> float:
        """Smallest p-value attainable by permuting these replicates."""
        count, alike = self.labellings
        return max(alike / count, 0.0 if count <= MAX_ENUMERATED else 1 / (1 + draws))

    def rearrangements(self, *, draws: int = DRAWS, seed: int = 0) -> Rearrangements:
        """Permutations of the replicates to test it on: all distinct ones, or so many of more than 20 000."""
        count, alike = self.labellings
        complete, (labels, blocks) = count <= MAX_ENUMERATED, self._labels
        orders = _orders(labels.tobytes(), blocks.tobytes(), 0 if complete else draws, 0 if complete else seed)
        return Rearrangements(orders, complete, count, alike)


def _centred(columns: Real) -> Real:
    """Center the columns and scale them to unit length."""
    columns = columns - columns.mean(axis=0)
    length = np.linalg.norm(columns, axis=0)
    return columns / np.where(length > 0, length, 1)


def _orthonormal(columns: Real) -> Real:
    """Orthonormal basis of the span of centered columns of unit length, or of their projections."""
    u, values, _ = np.linalg.svd(columns, full_matrices=False)
    return u[:, values > 1e-8]


def explained(kernels: MeanKernels, hypothesis: Hypothesis, orders: Index) -> Real:
    """Statistic of a hypothesis under every order of the replicates, (1 + B,).

    Without covariates the explained sum of squares tr(XᵀK X), X the orthonormal tested columns. With covariates its
    ratio to the residual sum of squares, with the residuals under the null permuted (Freedman and Lane 1983).
    """
    tested, nuisance = hypothesis.tested, hypothesis.nuisance
    exact = hypothesis.covariates is None
    kernel = kernels.between if exact else kernels.gram
    rest, largest = np.eye(len(kernel)) - nuisance @ nuisance.T, np.abs(kernel).max()
    kernel = rest @ kernel @ rest
    if np.abs(kernel).max() <= _CONSTANT_KERNEL * largest:
        return np.zeros(len(orders))
    squares = forms_in_orders(kernel, tested, orders)
    if not exact:
        left = np.trace(kernel) - forms_in_orders(kernel, nuisance, orders) - squares
        squares = squares / np.maximum(left, np.finfo(float).tiny)
    return squares


def forms_in_orders(kernel: Real, columns: Real, orders: NDArray[Any]) -> Real:
    """tr(XᵀKX) for the rows of X in every order."""
    leave, found = cancellation_check(), np.zeros(len(orders))
    size = max(1, _CHUNK // len(kernel))
    for start in range(0, len(orders), size):
        leave()
        part = slice(start, start + size)
        for column in columns.T:
            rows = column[orders[part]]
            found[part] += np.einsum("bu,bu->b", rows @ kernel, rows)
    return found


def rounded_ties(statistics: Real) -> Real:
    """Make statistics (..., 1 + B) equal that differ by rounding error only: labelings may repeat or mirror another.

    Values are rounded to a grid that contains the observed one.
    """
    observed = statistics[..., :1]
    step = _TIE * np.maximum(np.abs(statistics).max(axis=-1, keepdims=True), np.finfo(float).tiny)
    return np.asarray(np.rint((statistics - observed) / step))


def joint_p_values(statistics: Real) -> tuple[Real, Real]:
    """p-values of each of k statistics under every labeling, the observed one first, and their combination.

    Each is the fraction of labelings with a statistic at least as large. The joint one is the smallest of them; ties
    between labelings are broken by the largest statistic, in standard deviations of its permutations. The joint p-value
    of a labeling is the fraction of labelings with a value at most as large.
    """
    total = statistics.shape[1]
    each = np.stack([shares_as_large(row) for row in statistics])
    spread = statistics.std(axis=1, keepdims=True)
    centred = statistics - statistics.mean(axis=1, keepdims=True)
    outstanding = np.round((centred / np.where(spread > 0, spread, 1)).max(axis=0), 9)
    # The tie-breaker stays below the step between successive p-values.
    return each, np.asarray(np.round(each.min(axis=0) + shares_as_large(outstanding) / (4 * total), 14))


def replicate_test(
    kernels: Mapping[str, MeanKernels],
    hypothesis: Hypothesis,
    *alternatives: Hypothesis,
    draws: int = DRAWS,
    seed: int = 0,
    significance: float | None = None,
) -> ReplicateTest:
    """Test a hypothesis by permuting replicates, jointly over several descriptions of them.

    Parameters
    ----------
    kernels : mapping of str to MeanKernels
        Parts, each a description of the same U replicates.
    hypothesis : Hypothesis
    *alternatives : Hypothesis
        Other columns for the same hypothesis, such as ranks in addition to a dose: tested on the same permutations, and
        combined with it.
    draws : int
        Random labelings if there are more than 20 000.
    seed : int
    significance : float, optional
        Five times as many random labelings are drawn if the p-value lies within four standard errors of this level:
        see `pooled_mmd_test`.

    Returns
    -------
    ReplicateTest

    Raises
    ------
    ValueError
        If nothing is left to test: a single group, or columns that blocks and covariates determine.

    Notes
    -----
    Exact without covariates where replicates are exchangeable (within blocks) under the hypothesis: with equally many
    points in each, or numbers that do not depend on what is tested; see `precision_differs`.

    References
    ----------
    D. Freedman, D. Lane, "A nonstochastic interpretation of reported significance levels", Journal of Business and
    Economic Statistics 1 (1983) 292-298. P. H. Westfall, S. S. Young, "Resampling-Based Multiple Testing" (1993).
    M. J. Anderson, "A new method for non-parametric multivariate analysis of variance", Austral Ecology 26 (2001)
    32-46.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.mmd.replicates import Hypothesis, mean_kernels, replicate_test
    >>> rng = np.random.default_rng(0)
    >>> replicate = np.repeat(np.arange(10), 30)
    >>> points = rng.normal(size=(300, 2)) + 0.3 * rng.normal(size=(10, 2))[replicate]
    >>> treated = np.arange(10) >= 5
    >>> kernels = {"": mean_kernels(points + 2 * treated[replicate, None], replicate)}
    >>> test = replicate_test(kernels, Hypothesis(treated))
    >>> round(test.p_value, 4), test.labellings, test.complete
    (0.0079, 252, True)
    """
    require_testable(hypothesis)
    test = partial(_replicate_test, kernels, hypothesis, alternatives)
    return _settled(test, hypothesis, significance, draws, seed)


def _replicate_test(
    kernels: Mapping[str, MeanKernels],
    hypothesis: Hypothesis,
    alternatives: Sequence[Hypothesis],
    drawn: Rearrangements,
) -> ReplicateTest:
    """The test of a hypothesis, and of alternatives to its columns, on these labelings."""
    parts = [(name, one) for one in (hypothesis, *alternatives) for name in kernels]
    squares = np.stack([explained(kernels[name], one, drawn.orders) for name, one in parts])
    each, joint = joint_p_values(rounded_ties(squares))
    deciding, by = parts[int(each[:, 0].argmin())]
    observed = forms_in_orders(kernels[deciding].between, by.tested, drawn.orders[:1])[0]
    smallest = each[:, 0].reshape(-1, len(kernels)).min(axis=0)
    p_value = float(np.mean(joint <= joint[0]))
    return ReplicateTest(
        p_value,
        float(np.sqrt(max(observed, 0.0))),
        dict(zip(kernels, smallest.tolist(), strict=True)),
        drawn.least_p,
        drawn.labellings,
        drawn.complete,
        drawn.error_of_joint(each),
    )


def replicate_mmd_test(
    kernels: Mapping[str, MeanKernels],
    hypothesis: Hypothesis,
    *,
    significance: float = SIGNIFICANCE,
    draws: int = DRAWS,
    seed: int = 0,
) -> MMDTest:
    """Test two groups of replicates as `combined_mmd_test` does two samples of points.

    The column (U,) of the hypothesis is whether a replicate is of the second group; each kernel is a part, a
    description of the same replicates. The MMD is that between the groups' mean embeddings, with equal weights of the
    replicates, and the p-value that of `replicate_test`. The null holds all other labelings if there are few. Five
    times as many random labelings are drawn if the p-value lies within four standard errors of the level: see
    `pooled_mmd_test`.
    """
    return _settled(partial(_mmd_test, kernels, hypothesis, significance), hypothesis, significance, draws, seed)


def _settled(
    test: Callable[[Rearrangements], Outcome], hypothesis: Hypothesis, significance: float | None, draws: int, seed: int
) -> Outcome:
    """Outcome of a test, with more random labelings where the decision at a level depends on these."""
    drawn = hypothesis.rearrangements(draws=draws, seed=seed)
    found = test(drawn)
    alone = drawn.error_of(found.p_value)
    if significance is None or alone == 0 or is_settled(found.p_value, draws, significance, found.p_error / alone):
        return found
    return test(hypothesis.rearrangements(draws=MORE * draws, seed=seed))


def _mmd_test(
    kernels: Mapping[str, MeanKernels], hypothesis: Hypothesis, significance: float, drawn: Rearrangements
) -> MMDTest:
    """The test of two groups of replicates on these labelings."""
    squares = np.stack([explained(one, hypothesis, drawn.orders) for one in kernels.values()])
    each, joint = joint_p_values(rounded_ties(squares))
    p_value = float(np.mean(joint <= joint[0]))
    # The largest p-value of a part at which the joint test rejects.
    smallest = np.sort(each.min(axis=0))
    below = np.searchsorted(smallest, smallest, side="right") <= significance * len(smallest)
    critical = float(smallest[below].max(initial=0.0))
    second = int(np.count_nonzero(hypothesis.columns))
    factor = 1 / (len(hypothesis.columns) - second) + 1 / second
    tests = {}
    for name, one, own, p_values in zip(kernels, kernels.values(), squares, each, strict=True):
        mmd = np.sqrt(np.maximum(own, 0) * factor)
        alone, rejected = float(p_values[0]), bool(p_values[0] <= significance)
        threshold = _threshold(mmd, p_values, significance, rejected)
        error = drawn.error_of(alone)
        tests[name] = MMDTest(
            float(mmd[0]), alone, threshold, rejected, one.bandwidth, mmd[1:], significance, p_error=error
        )
    if len(tests) == 1:
        return next(iter(tests.values()))
    deciding = list(tests)[int(each[:, 0].argmin())]
    test, rejected = tests[deciding], p_value <= significance
    mmd = np.append(test.mmd, test.null)
    threshold = _threshold(mmd, each[list(tests).index(deciding)], critical, rejected)
    error = drawn.error_of_joint(each)
    return replace(test, p_value=p_value, rejected=rejected, threshold=threshold, parts=tests, p_error=error)


def _threshold(mmd: Real, p_values: Real, level: float, rejected: bool) -> float:
    """Largest MMD that is not rejected; consistent with the decision on the observed one, at index 0."""
    kept = mmd[p_values > level]
    threshold = float(kept.max()) if len(kept) else float("inf")
    return agreeing(threshold, float(mmd[0]), rejected)


def require_testable(hypothesis: Hypothesis) -> None:
    """Raise if a hypothesis leaves nothing to test, or no residual degrees of freedom."""
    tested, nuisance = hypothesis.tested.shape[1], hypothesis.nuisance.shape[1]
    if not tested:
        raise ValueError(
            "nothing to test: there is only one group, or blocks and covariates already determine the group"
        )
    if len(hypothesis.columns) <= tested + nuisance:
        raise ValueError(
            f"{len(hypothesis.columns)} replicates for {tested + nuisance} groups, blocks and covariates: at least "
            "one more replicate is needed for a test"
        )


# -------------------------------------------------------------------------------------- several contrasts


def closed_p_values(
    kernels: Mapping[str, MeanKernels],
    group: Index,
    pairs: Sequence[tuple[int, int]],
    p_values: Real,
    blocks: Index | None = None,
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> Real:
    """Adjust the p-values of several pairs of groups for the family-wise error rate.

    Parameters
    ----------
    kernels : mapping of str to MeanKernels
    group : (U,) array of int
        Group of each replicate, 0 to k - 1.
    pairs : sequence of (int, int)
        Contrasts.
    p_values : (number of pairs,) array
        Unadjusted p-value of each pair, from `replicate_test` on its replicates.
    blocks : (U,) array of int, optional
    draws, seed : int
        As in `replicate_test`.

    Returns
    -------
    (number of pairs,) array
        Rejecting pairs with an adjusted p-value of at most α has a family-wise error rate of at most α, whichever
        groups differ.

    Notes
    -----
    Closed testing (Marcus, Peritz and Gabriel 1976). The hypothesis that groups fall into certain sets of equal ones is
    tested by the smallest p-value over the pairs within the sets, with its null from permutations of replicates within
    the sets: so groups that do differ are never mixed. The number of such hypotheses grows fast, see `closure`; if
    there are too many, Holm's method is applied to the p-values of the pairs.

    References
    ----------
    R. Marcus, E. Peritz, K. R. Gabriel, "On closed testing procedures with special reference to ordered analysis of
    variance", Biometrika 63 (1976) 655-660.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.mmd.replicates import closed_p_values, mean_kernels
    >>> rng = np.random.default_rng(0)
    >>> replicate, group = np.repeat(np.arange(12), 30), np.arange(12) // 4
    >>> points = rng.normal(size=(360, 2)) + 2 * (group == 2)[replicate, None]
    >>> kernels = {"": mean_kernels(points, replicate)}
    >>> closed_p_values(kernels, group, [(0, 1), (0, 2)], np.array([0.5, 0.0286])).round(3)
    array([0.5  , 0.029])
    """
    sets = closure(int(group.max()) + 1, pairs)
    if sets is None:
        return adjusted(p_values, "family")
    closed = p_values.copy()
    for partition in sets:
        together = [place for place, (i, j) in enumerate(pairs) if partition[i] == partition[j]]
        if len(together) > 1:
            p_value = _intersection_p(kernels, group, [pairs[k] for k in together], partition, blocks, draws, seed)
            closed[together] = np.maximum(closed[together], p_value)
    return closed


def adjusted(p_values: Real, correction: str) -> Real:
    """Holm's family-wise p-values, or those of Benjamini and Hochberg; NaN is kept and not counted."""
    found = np.full(len(p_values), np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    count = len(order)
    if correction == "family":
        found[order] = np.minimum(np.maximum.accumulate(p_values[order] * np.arange(count, 0, -1)), 1)
    else:
        steps = p_values[order] * count / np.arange(1, count + 1)
        found[order] = np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1)
    return found


def _intersection_p(
    kernels: Mapping[str, MeanKernels],
    group: Index,
    pairs: Sequence[tuple[int, int]],
    partition: Sequence[int],
    blocks: Index | None,
    draws: int,
    seed: int,
) -> float:
    """p-value of the hypothesis that the groups within each set of a partition are equal."""
    sets = np.asarray(partition)[group]
    within = sets if blocks is None else sets * (blocks.max() + 1) + blocks
    drawn = Hypothesis(group.astype(np.float64), within).rearrangements(draws=draws, seed=seed)
    statistics = []
    for i, j in pairs:
        # The pair's columns are zero on other groups; block means are removed from its own replicates.
        chosen = np.flatnonzero(np.isin(group, (i, j)))
        tested = Hypothesis(group[chosen] == j, None if blocks is None else blocks[chosen]).tested
        column = np.zeros((len(group), tested.shape[1]))
        column[chosen] = tested
        statistics += [forms_in_orders(kernel.between, column, drawn.orders) for kernel in kernels.values()]
    _, joint = joint_p_values(rounded_ties(np.stack(statistics)))
    return float(np.mean(joint <= joint[0]))


def closure(groups: int, pairs: Sequence[tuple[int, int]], most: int = 64) -> list[tuple[int, ...]] | None:
    """Partitions of groups into sets of equal ones, each as the set of every group; None if there are too many.

    For contrasts with one control only the control's set matters, so there are 2^(k - 1) - 1 of them; for all pairs, as
    many as there are partitions of the groups, minus one: 4 for three groups, 14 for four, 51 for five.
    """
    common = set.intersection(*map(set, pairs)) if pairs else set()
    if common and len(pairs) > 1:
        control, others = common.pop(), sorted({i for pair in pairs for i in pair})
        others.remove(control)
        if 2 ** len(others) > most:
            return None
        chosen = itertools.chain.from_iterable(
            itertools.combinations(others, size) for size in range(1, len(others) + 1)
        )
        return [tuple(control if i in one else i for i in range(groups)) for one in chosen]
    found: list[tuple[int, ...]] = []
    for sets in _partitions(groups):
        if len(set(sets)) < groups:
            found.append(sets)
        if len(found) > most:
            return None
    return found


def _partitions(count: int) -> Iterator[tuple[int, ...]]:
    """Yield partitions of `count` elements, each as the set index of every element."""

    def extend(sets: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(sets) == count:
            yield sets
            return
        for one in range(max(sets, default=-1) + 2):
            yield from extend((*sets, one))

    return extend(())


# ----------------------------------------------------------------------------------------- few replicates


@dataclass(frozen=True)
class SmallSampleTest:
    """Outcome of `small_sample_test`.

    Attributes
    ----------
    p_value : float
    f : float
        F statistic of the replicates' scores; with one tested column t².
    freedom : (int, int)
        Degrees of freedom of numerator and denominator.
    tests : int
        Number of components that were tested one by one, of which this is the one that differs most: its p-value is so
        many times that of F (Bonferroni).
    """

    p_value: float
    f: float
    freedom: tuple[int, int]
    tests: int = 1

    def rejected(self, significance: float = SIGNIFICANCE) -> bool:
        """Whether the hypothesis is rejected at a level."""
        return self.p_value <= significance

    def f_at(self, p_value: float) -> float:
        """F statistic with a p-value."""
        return float(fdtri(*self.freedom, 1 - p_value / self.tests))


def group_means(values: Real, group: Index, weights: Real | None = None) -> Real:
    """Means of (N, k) values over each of U groups, such as images, (U, k); `weights` (N,) are equal by default."""
    given = np.ones(len(values)) if weights is None else weights
    sums = np.stack([np.bincount(group, column * given) for column in values.T], axis=1)
    return np.asarray(sums / np.bincount(group, given)[:, None])


def replicate_means(points: Real, replicate: Index) -> tuple[Real, Real]:
    """Means of the replicates' points (U, c), and pooled standard deviations within replicates (c,)."""
    means = group_means(points, replicate)
    squares = ((points - means[replicate]) ** 2).sum(axis=0)
    return means, np.sqrt(squares / max(len(points) - len(means), 1))


def ranks(values: Real) -> Real:
    """Ranks of numbers (N,), or within each column (N, k), from 1 and averaged over ties."""
    if values.ndim == 2:
        return np.stack([ranks(column) for column in values.T], axis=1)
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[places])


def precision_differs(hypothesis: Hypothesis, counts: Index) -> bool:
    """Whether replicates' numbers of points depend so much on what is tested that they cannot be exchanged.

    The mean of n points has variance σ_b² + σ_w²/n: permuting replicates of few and of many points is exact only if few
    and many are equally common in all groups. Here 1/n, the variance of a mean without variation between replicates,
    must not differ by more than a factor of two between groups, and must not make the variance of the tested contrast
    larger by more than a twentieth than it is under permutation: then p-values of permutations are at most 0.025 in at
    most .031 of null designs (6000 each of six at that limit, without variation between replicates).
    """
    tested, nuisance, variance = hypothesis.tested, hypothesis.nuisance, 1 / np.asarray(counts, dtype=np.float64)
    if not tested.shape[1] or np.ptp(counts) == 0:
        return False
    fitted = variance.mean() + tested @ (tested.T @ variance)
    contrast = float((tested**2 * variance[:, None]).sum()) / tested.shape[1]
    free = 1 - (nuisance**2).sum(axis=1)
    permuted = float(variance @ free) / (len(counts) - nuisance.shape[1])
    ratio, larger = fitted.max() / fitted.min(), contrast / permuted
    return bool(ratio > _MAX_PRECISION_RATIO * (1 + _TIE) or larger > _MAX_CONTRAST_VARIANCE * (1 + _TIE))


def precisions(squares: Real, within: float, counts: Index, hypothesis: Hypothesis) -> Real:
    """Inverse standard deviations of the means of replicates, up to a factor, (U,), from the inner products of these.

    √(σ_b² + σ_w²/n) with the variance σ_b² between replicates by the method of moments (DerSimonian and Laird 1986),
    whatever is tested: it does not depend on the assignment of replicates to groups. `within` is the variance σ_w² of
    the points within replicates, summed over coordinates; nuisance columns of the hypothesis are removed.
    """
    root = np.sqrt(counts.astype(np.float64))
    nuisance = replace(hypothesis, weights=root).nuisance
    scaled = squares * np.outer(root, root)
    rest = float(np.trace(scaled) - np.einsum("uz,uv,vz->", nuisance, scaled, nuisance))
    expected = within * (len(counts) - nuisance.shape[1])
    unit = float(counts.sum() - (nuisance**2 * counts[:, None]).sum())
    between = max(rest - expected, 0.0) / unit
    return np.asarray(1 / np.sqrt(between / within + 1 / counts) if within > 0 else np.ones(len(counts)))


def small_sample_test(
    means: Real, within: Real, hypothesis: Hypothesis, counts: Index | None = None
) -> SmallSampleTest:
    """Test a hypothesis on one score per replicate: an F test that holds its level with three replicates a side.

    Parameters
    ----------
    means : (U, c) array
        Means of each replicate's points in a few named components.
    within : (c,) array
        Standard deviations within replicates, the unit of the comparison; see `replicate_means`.
    hypothesis : Hypothesis
    counts : (U,) array of int, optional
        Number of points of each replicate; by default they are equal.

    Returns
    -------
    SmallSampleTest

    Raises
    ------
    ValueError
        As `replicate_test`.

    Notes
    -----
    Läuter 1996; Läuter, Glimm and Kropf 1998. Each component, in units of its standard deviation within replicates, is
    weighted by its total standard deviation over the replicates; the score is the first principal component of these.
    So components that vary most between replicates have the largest weight, for whatever reason. The weights depend on
    the total sum of squares, which does not involve the hypothesis, and on the deviations within, so for Gaussian means
    of replicates with one covariance matrix F is exact, however few there are. (The weighting was chosen on simulated
    shifts of one, three and all components; see `benchmarks/replicates.py`.)

    With unequal `counts` means and columns are first divided by the means' standard errors (`precisions`): a weighted
    regression, which is approximate. If `precision_differs`, this test decides however many replicates there are. Then
    one or two components are tested one by one and corrected by Bonferroni's method; of more, the weights are the
    fourth power of the standard deviations: a single component that differs stands out, where the score would otherwise
    follow what varies in common between replicates. Between groups with unequal numbers of replicates the p-value is
    then at least a quarter of that of Welch's test of the scores (1951), with at most the degrees of freedom of groups
    as small as the smallest: the weights are estimated, and a deviant replicate of a small group weighs too much. (A
    half would lose power: one of two components, at half the level, could only differ where Welch's test of it rejects
    at the full level.) Likewise that of a trend is at least a quarter of that with a standard error for unequal
    variances (MacKinnon and White 1985; Bell and McCaffrey 2002): few replicates at a high dose have much leverage. In
    blocks that of a single component is at least half that with a correction for skewness (Hall 1992), which means of
    few points have and the sum of several components less. It is at least a half if any tested effect is that of a
    single replicate, such as the only one of its group. (`benchmarks/unequal_precision.py` measures its rates of
    rejection.)

    References
    ----------
    P. Hall, "On the removal of skewness by transformation", Journal of the Royal Statistical Society B 54 (1992)
    221-228.
    J. Läuter, "Exact t and F tests for analyzing studies with multiple endpoints", Biometrics 52 (1996) 964-970.
    J. Läuter, E. Glimm, S. Kropf, "Multivariate tests based on left-spherically distributed linear scores", Annals of
    Statistics 26 (1998) 1972-1988.
    J. G. MacKinnon, H. White, "Some heteroskedasticity-consistent covariance matrix estimators with improved finite
    sample properties", Journal of Econometrics 29 (1985) 305-325.
    R. M. Bell, D. F. McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage samples",
    Survey Methodology 28 (2002) 169-181.
    B. L. Welch, "On the comparison of several mean values: an alternative approach", Biometrika 38 (1951) 330-336.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.mmd.replicates import Hypothesis, small_sample_test
    >>> rng = np.random.default_rng(0)
    >>> treated = np.repeat([False, True], 3)
    >>> means = rng.normal(size=(6, 4)) + 4 * treated[:, None]
    >>> test = small_sample_test(means, np.ones(4), Hypothesis(treated))
    >>> test.freedom, test.p_value < 0.01
    ((1, 4), True)
    """
    require_testable(hypothesis)
    means = np.asarray(means, dtype=np.float64).reshape(len(means), -1)
    given, units = hypothesis, np.asarray(within)
    unequal = counts is not None and precision_differs(hypothesis, counts)
    varying = np.ptp(means, axis=0) > 1e-9 * np.abs(means).max(axis=0)
    if unequal and 1 < (number := int(varying.sum())) <= _FEW_COMPONENTS:
        each = (small_sample_test(means[:, [one]], units[[one]], given, counts) for one in np.flatnonzero(varying))
        found = min(each, key=lambda test: test.p_value)
        return replace(found, p_value=min(number * found.p_value, 1.0), tests=number)
    varying &= units > 0
    if counts is not None and np.ptp(counts) and varying.any():
        scaled = means[:, varying] / units[varying]
        weights = precisions(scaled @ scaled.T, float(varying.sum()), counts, hypothesis)
        means, hypothesis = means * weights[:, None], replace(hypothesis, weights=weights)
    nuisance, tested = hypothesis.nuisance, hypothesis.tested
    left = means - nuisance @ (nuisance.T @ means)
    spread = np.linalg.norm(left, axis=0)
    varies = spread > 1e-9 * np.maximum(np.abs(means).max(axis=0), np.finfo(float).tiny)
    # If replicates are single points, all components are scaled to equal variance.
    unit = np.where(units > 0, units, spread)[varies]
    scale = (spread[varies] / unit) ** (_UNEQUAL_EMPHASIS if unequal else 1) / unit
    left = left[:, varies] * scale
    freedom = tested.shape[1], len(means) - nuisance.shape[1] - tested.shape[1]
    if not left.shape[1]:
        return SmallSampleTest(1.0, 0.0, freedom)
    direction = np.linalg.svd(left, full_matrices=False)[2][0]
    scores = left @ direction
    explained_squares = float(((tested.T @ scores) ** 2).sum())
    rest = max(float((scores**2).sum()) - explained_squares, np.finfo(float).tiny)
    with np.errstate(over="ignore"):  # identical replicates: infinite, and p = 0
        f = (explained_squares / freedom[0]) / (np.float64(rest) / freedom[1])
    p_value = float(fdtrc(*freedom, f))
    if unequal and hypothesis.weights is not None:
        unweighted = (means[:, varies] / hypothesis.weights[:, None]) @ (direction * scale)
        p_value = max(p_value, _least_p_of_unequal_variances(unweighted, given))
        if given.nuisance.shape[1] > 1 and freedom[0] == left.shape[1] == 1:
            p_value = max(p_value, _skewness_p(scores, hypothesis) / 2)
    return SmallSampleTest(p_value, float(f), freedom)


def _least_p_of_unequal_variances(scores: Real, hypothesis: Hypothesis) -> float:
    """Smallest p-value that scores may have whose variances differ, by tests that do not estimate them; 0 for any."""
    own, others = ((basis**2).sum(axis=1) for basis in (hypothesis.tested, hypothesis.nuisance))
    if ((own > _TIE) & (own + others > 1 - _TIE)).any():  # an effect is that of a single replicate, however deviant
        return 0.5
    columns = np.asarray(hypothesis.columns, dtype=np.float64).reshape(len(scores), -1)
    group = np.unique(columns, axis=0, return_inverse=True)[1].ravel()
    sizes, tested = np.bincount(group), hypothesis.tested.shape[1]
    if tested == 1 and len(sizes) > 2:
        return _sandwich_p(scores, hypothesis) / 4
    only_groups = len(sizes) == tested + 1 and hypothesis.nuisance.shape[1] == 1
    return _welch_p(scores, group) / 4 if only_groups and np.ptp(sizes) else 0.0


def _skewness_p(scores: Real, hypothesis: Hypothesis) -> float:
    """p-value of one column by Student's t corrected for the skewness of the scores (Hall 1992)."""
    tested, nuisance = hypothesis.tested[:, 0], hypothesis.nuisance
    slope = float(tested @ scores)
    rest = scores - nuisance @ (nuisance.T @ scores) - slope * tested
    freedom = len(scores) - nuisance.shape[1] - 1
    error = max(float(np.sqrt(rest @ rest / freedom)), np.finfo(float).tiny)
    left = np.maximum(1 - (nuisance**2).sum(axis=1) - tested**2, _TIE)  # share of a residual's variance
    t, skewness = slope / error, float(((tested * rest) ** 3 / left**1.5).sum()) / error**3
    corrected = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6
    return float(2 * stdtr(freedom, -abs(corrected)))


def _sandwich_p(scores: Real, hypothesis: Hypothesis) -> float:
    """p-value of one column by an error that holds for unequal variances (HC2), with Bell and McCaffrey's freedom."""
    tested, nuisance = hypothesis.tested[:, 0], hypothesis.nuisance
    rest = np.eye(len(scores)) - nuisance @ nuisance.T - np.outer(tested, tested)
    shares = tested / np.sqrt(np.maximum(np.diag(rest), _TIE))
    error = max(float(((shares * (rest @ scores)) ** 2).sum()), np.finfo(float).tiny)
    form = rest * np.outer(shares, shares)
    freedom = float(np.trace(form) ** 2 / (form**2).sum())
    return float(2 * stdtr(freedom, -abs(tested @ scores) / np.sqrt(error)))


def _welch_p(scores: Real, group: Index) -> float:
    """p-value of Welch's test of groups."""
    sizes = np.bincount(group)
    k, means = len(sizes), np.bincount(group, scores) / sizes
    variances = np.bincount(group, (scores - means[group]) ** 2) / (sizes - 1)
    weights = sizes / np.maximum(variances, np.finfo(float).tiny * sizes)
    shares = weights / weights.sum()
    spent = float(((1 - shares) ** 2 / (sizes - 1)).sum())
    f = float((weights * (means - shares @ means) ** 2).sum()) / (k - 1) / (1 + 2 * (k - 2) / (k**2 - 1) * spent)
    freedom = min((k**2 - 1) / (3 * spent), k * (sizes.min() - 1.0))
    return float(fdtrc(k - 1, freedom, f))


def least_p(m: int, n: int) -> float:
    """Smallest p-value attainable by permuting m and n replicates."""
    return (2 if m == n else 1) / comb(m + n, m)


def replicates_needed(significance: float) -> int:
    """Minimum number of replicates a side that reach a level by permutation, whichever part differs.

    The joint test of several parts has the least p-value of a single one: ties between labelings that are the most
    extreme in some part are broken by how extreme they are.

    Examples
    --------
    >>> from napari_shape_ensembles.mmd.replicates import replicates_needed
    >>> replicates_needed(0.05), replicates_needed(0.025), replicates_needed(0.005)
    (4, 5, 6)
    """
    return next(count for count in itertools.count(1) if least_p(count, count) <= significance)
