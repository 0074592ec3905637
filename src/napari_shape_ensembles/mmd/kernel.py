"""The kernel of a sample: its width, and weighted sums over it.

Unless another kernel is named, it is exp(-d²/(2s²)) with the Euclidean distance d and the width s. (For the conventions
exp(-d²/s²) and exp(-γd²): their s is √2 times ours, and γ = 1/(2s²).)
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .._types import Index, Real
from ..checks import unmasked
from ..compiled import kernels
from ..progress import each_block, one_library_thread, over_blocks

#: Defaults of all tests: significance level and number of permutations.
SIGNIFICANCE, PERMUTATIONS = 0.05, 1000
#: Up to so many permutations are drawn while the Monte-Carlo error of a p-value matters for a decision.
MOST_PERMUTATIONS = 50_000

Kernel = Literal["gaussian", "energy", "mean"]

Single = NDArray[np.float32]

# With more points than this the median distance is taken over a seeded subset of this size.
SUBSET = 2000
# Size of the subsample that brackets the median, and half width of the bracket in quantiles.
_PROBE, _MARGIN = 20_000, 0.02
# Columns per tile of the kernel matrix: it fits in the cache with the rows of a block.
_TILE = 512
# Distances per block in the search for their median.
_DISTANCES_PER_BLOCK = 1 << 17
# Squared distances of up to so many points are kept: 4 MiB.
_MAX_KEPT = 1024
# Up to this many coordinates a matrix product does not pay off.
_MAX_DIRECT_DIMENSIONS = 8
# Numbers between the inverse of this and this can be squared without overflow or underflow.
_MAX_SQUARABLE = 1e150


def pooled(x: Real, y: Real) -> Real:
    """Pool both samples as one (m + n, d) array, x first; raise for samples that cannot be tested."""
    x, y = (unmasked(sample, "the points").astype(np.float64) for sample in (x, y))
    x, y = (sample[:, None] if sample.ndim == 1 else sample for sample in (x, y))
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
        raise ValueError(f"samples have shapes {x.shape} and {y.shape}: give (m, d) and (n, d) arrays")
    if not len(x) or not len(y):
        raise ValueError(f"samples of {len(x)} and {len(y)} points: each needs at least one")
    both = np.concatenate([x, y])
    if not np.isfinite(both).all():
        raise ValueError(f"{(~np.isfinite(both)).any(axis=1).sum()} points have NaN or infinite coordinates")
    spread = float(np.ptp(both, axis=0).max(initial=0))
    if spread and not 1 / _MAX_SQUARABLE < spread < _MAX_SQUARABLE:
        raise ValueError(f"the points spread over {spread:g}, whose square overflows: use another unit")
    return both


def squared_distances(x: Real, y: Real) -> Real:
    """Squared Euclidean distances (m, n) between the rows of two arrays, accurate also far from the origin."""
    centre = y.mean(axis=0)
    return _expanded(x - centre, y - centre)


def _expanded(x: Real, y: Real) -> Real:
    """Squared distances as |x|² - 2xy + |y|², for centered points: otherwise cancellation would lose digits."""
    # The squared norms are extra columns of one matrix product: separate passes over the result would take as long
    # again.
    d = x.shape[1]
    rows, columns = np.ones((len(x), d + 2)), np.ones((len(y), d + 2))
    np.multiply(x, -2, out=rows[:, :d])
    columns[:, :d] = y
    np.einsum("id,id->i", x, x, out=rows[:, d])
    np.einsum("id,id->i", y, y, out=columns[:, d + 1])
    squared = rows @ columns.T
    return np.maximum(squared, 0, out=squared)


def gaussian(x: Real, y: Real, bandwidth: float) -> Real:
    """Gaussian kernel matrix (m, n) between the rows of two arrays, of any magnitude."""
    unit = np.ldexp(1.0, np.frexp(bandwidth)[1])
    squared = squared_distances(x / unit, y / unit)
    squared /= -2 * (bandwidth / unit) ** 2
    return np.exp(squared, out=squared)


def median_distance(points: Real, seed: int = 0) -> float:
    """Median pairwise Euclidean distance; over a seeded subset of 2000 points when there are more.

    1 where all points coincide, so that the kernel stays defined.
    """
    chosen = median_subset(points, seed)
    chosen = chosen - chosen.mean(axis=0)
    # Scaled before squaring: squares of very small numbers underflow.
    unit = np.ldexp(1.0, np.frexp(np.abs(chosen).max(initial=0))[1])  # a power of two is exact
    return float(_median(pairwise_squared_distances(chosen / unit)) * unit) or 1.0


def median_subset(points: Real, seed: int) -> Real:
    """Points whose pairs determine the median."""
    if len(points) <= SUBSET:
        return points
    return np.random.default_rng(seed).choice(points, SUBSET, replace=False, axis=0)


def median_of(squared: Real) -> float:
    """Median distance, from squared distances; 1 if there are none or all vanish."""
    return _median(squared) or 1.0


def _median(squared: Real) -> float:
    """Median distance, from squared distances; 0 if there are none."""
    if not len(squared):
        return 0.0
    first, second = (len(squared) - 1) // 2, len(squared) // 2
    below, inside = (0, squared) if len(squared) <= _PROBE else _bracketed(squared)
    if not below <= first <= second < below + len(inside):
        below, inside = 0, squared
    middle = np.partition(inside, [first - below, second - below])[[first - below, second - below]]
    return float(np.sqrt(middle).mean())


def _bracketed(squared: Real) -> tuple[int, Real]:
    """Values in a bracket that a subsample puts around the median, so that only these are sorted; number below it."""
    probe = np.sort(squared[:: max(1, len(squared) // _PROBE)])
    low, high = probe[[int((0.5 - _MARGIN) * len(probe)), int((0.5 + _MARGIN) * len(probe))]]

    def bracketed(part: slice) -> tuple[int, Real]:
        some = squared[part]
        above = some >= low
        return len(some) - int(np.count_nonzero(above)), some[above & (some <= high)]

    parts = [slice(start, start + _DISTANCES_PER_BLOCK) for start in range(0, len(squared), _DISTANCES_PER_BLOCK)]
    counts, middles = zip(*over_blocks(bracketed, parts), strict=True)
    return sum(counts), np.concatenate(middles)


def pairwise_squared_distances(points: Real) -> Real:
    """Squared distances of all pairs i < j."""
    right_of_diagonal = [np.empty(0)]
    for block in each_block(Distances(points).block, row_blocks(len(points))):
        right_of_diagonal += [row[place:] for place, row in enumerate(block, start=1)]
    return np.concatenate(right_of_diagonal)


def row_blocks(total: int) -> Iterator[slice]:
    """Yield blocks of rows of the kernel matrix: it is never in memory as a whole, and no block takes long."""
    rows = 256 if total <= 25_000 else 128
    for start in range(0, total, rows):
        yield slice(start, min(start + rows, total))


class Distances:
    """Squared distances within a sample, in blocks of rows, and a kernel of them: here the Gaussian.

    Subclasses define other kernels. All are functions of the distance d and a width s, in units of which d is measured.
    With an `order` the rows are the points in that order.
    """

    #: Whether tests depend on the width.
    has_widths = True

    def __init__(self, points: Real, order: Index | None = None) -> None:
        self.given, self.centre = points, points.mean(axis=0)
        self.order = order
        self.kind = type(self)
        self._medians: dict[int, float] = {}
        # Blocks of few points: they are needed again for every threshold.
        self._blocks: dict[tuple[int, int], Real] = {}
        # Factors of the kernel by its width; see `permutations`.
        self.factors: dict[float, tuple[Single, float, float, float]] = {}

    def __len__(self) -> int:
        return len(self.given)

    @cached_property
    def points(self) -> Real:
        """Centered points, in their order."""
        centred = self.given - self.centre
        return centred if self.order is None else centred[self.order]

    def some(self, rows: slice | Index) -> Real:
        """Centered points of some rows, where there are too many to copy all of them."""
        return self.given[rows if self.order is None else self.order[rows]] - self.centre

    def block(self, rows: slice) -> Real:
        """Squared distances of a block of rows from all points from its first row on."""
        if (rows.start, rows.stop) in self._blocks:
            return self._blocks[rows.start, rows.stop]
        squared = _expanded(self.points[rows], self.points[rows.start :])
        np.fill_diagonal(squared, 0)
        if len(self) <= _MAX_KEPT:
            self._blocks[rows.start, rows.stop] = squared
        return squared

    def median(self, seed: int) -> float:
        """Median distance of the points in their original order, the unit of widths; see `median_distance`."""
        if seed not in self._medians:
            self._medians[seed] = median_distance(median_subset(self.given, seed) - self.centre, seed)
        return self._medians[seed]

    @staticmethod
    def kernel(squared: Real, width: float) -> Real:
        """Evaluate the kernel at squared distances of any shape."""
        kernel = squared / (-2 * width**2)
        return np.exp(kernel, out=kernel)


class EnergyDistances(Distances):
    """The kernel -d/s: its MMD² is the energy distance (Székely and Rizzo 2013) in units of s, the median distance."""

    has_widths = False

    @staticmethod
    def kernel(squared: Real, width: float) -> Real:
        """Evaluate the kernel at squared distances of any shape."""
        kernel = np.sqrt(squared)
        kernel /= -width
        return kernel


class MeanDistances(Distances):
    """The kernel -d²/(2s²): its MMD is the distance between the two means in units of s, √d for d coordinates."""

    has_widths = False

    def median(self, seed: int) -> float:
        """Square root of the number of coordinates: the MMD of standardized ones is the RMS of their differences."""
        return float(np.sqrt(self.given.shape[1]))

    @staticmethod
    def kernel(squared: Real, width: float) -> Real:
        """Evaluate the kernel at squared distances of any shape."""
        return squared / (-2 * width**2)


#: Kernels by name.
KERNELS = MappingProxyType({"gaussian": Distances, "energy": EnergyDistances, "mean": MeanDistances})


def quadratic_forms(
    distances: Distances, bandwidths: Sequence[float], fast: Single, precise: Real
) -> tuple[Real, Real]:
    """wᵀKw for many weights w and several kernel widths, which share the squared distances: (S, B) and (S, E) arrays.

    Weights (B, N) whose sums are computed fast, in single precision, and those (E, N) in double precision. K is
    symmetric, so a block of rows is combined only with the columns from its own on: its diagonal block counts once and
    the rest twice. Blocks are summed in a fixed order, so the result does not depend on the number of threads.
    """
    kernel = distances.kind.kernel
    with one_library_thread():
        first = distances.block(next(row_blocks(len(distances))))
    # Rows and columns are centered, so that the kernel values left are small: in single precision the error falls some
    # thirtyfold. The center need not be the exact mean, so it is estimated from one block of rows.
    means = [kernel(first, s).mean(axis=0) for s in bandwidths]
    centres = [mean - mean.mean() / 2 for mean in means]

    def share(rows: slice) -> tuple[Real, Real]:
        squared = distances.block(rows) if rows.start else first
        singles, doubles = np.zeros((len(centres), len(fast))), np.empty((len(centres), len(precise)))
        for s, centre, single, double in zip(bandwidths, centres, singles, doubles, strict=True):
            block = kernel(squared, s)
            block -= centre[rows, None]
            block -= centre[rows.start :]
            block[:, : len(block)] *= 0.5
            double[:] = np.einsum("er,er->e", precise[:, rows], precise[:, rows.start :] @ block.T)
            if len(fast):
                right = fast[:, rows.start :] @ block.astype(np.float32).T
                single[:] = np.einsum("br,br->b", fast[:, rows], right)
        return singles, doubles

    sums = []
    for weights in (fast, precise):  # contribution of the centers: zero where the weights of a row sum to 0
        totals = weights.sum(axis=1, dtype=np.float64)
        squares = np.einsum("br,br->b", weights, weights)
        totals[np.abs(totals) <= np.finfo(weights.dtype).eps * np.sqrt(len(distances) * squares)] = 0
        sums.append(np.stack([2 * totals * (weights @ centre.astype(weights.dtype)) for centre in centres]))
    for shares in each_block(share, row_blocks(len(distances))):
        for total, part in zip(sums, shares, strict=True):
            total += 2 * part
    return sums[0], sums[1]


def group_sums(distances: Distances, bandwidths: Sequence[float], starts: Index) -> list[Real]:
    """Sums of the kernel over all pairs of groups of points, (U, U), for each of several widths of it.

    Groups are contiguous, and begin at `starts`. The diagonal includes the pairs of points with themselves.
    """
    kernel = distances.kind.kernel
    compiled = kernels(__package__) if distances.kind is EnergyDistances else None
    sizes = np.diff(starts, append=len(distances))
    group, points = np.repeat(np.arange(len(starts)), sizes), distances.points
    squares = np.einsum("id,id->i", points, points)

    def share(rows: slice) -> tuple[int, list[Real]]:
        # The kernel is symmetric: a block of rows is combined only with the columns from its own on; its own square
        # counts half.
        own = group[rows]
        sums = [np.zeros((own[-1] - own[0] + 1, len(starts))) for _ in bandwidths]
        down = np.flatnonzero(np.diff(own, prepend=-1))
        for columns in (rows, *tiles(rows.stop, len(distances))):
            if compiled is not None:
                where = own - own[0], group[columns], columns is rows, sums[0]
                if points.shape[1] <= _MAX_DIRECT_DIMENSIONS:
                    compiled.add_flat_distances(points[rows], np.ascontiguousarray(points[columns].T), *where)
                else:
                    compiled.add_distances(points[rows] @ points[columns].T, squares[rows], squares[columns], *where)
                continue
            squared = _expanded(points[rows], points[columns])
            if columns is rows:
                np.fill_diagonal(squared, 0)
            there = group[columns]
            across = np.flatnonzero(np.diff(there, prepend=-1))
            for total, s in zip(sums, bandwidths, strict=True):
                block = kernel(squared, s)
                found = np.add.reduceat(np.add.reduceat(block, across, axis=1), down, axis=0)
                total[:, there[0] : there[-1] + 1] += found * (0.5 if columns is rows else 1)
        if compiled is not None:
            sums = [sums[0] / -s for s in bandwidths]
        return own[0], sums

    totals = [np.zeros((len(starts), len(starts))) for _ in bandwidths]
    for first, sums in each_block(share, row_blocks(len(distances))):
        for total, part in zip(totals, sums, strict=True):
            total[first : first + len(part)] += part
    return [total + total.T for total in totals]


def tiles(start: int, stop: int) -> Iterator[slice]:
    """Yield tiles of columns that are processed with a block of rows, few enough for the caches."""
    for first in range(start, stop, _TILE):
        yield slice(first, min(first + _TILE, stop))
