"""Permutation tests for nested sets of coordinates: the first r of them, for many r at once.

Squared distances between points are sums over coordinates, so those of a higher rank are those of the lower one
plus the coordinates between. Each rank then costs one kernel, and all ranks share the permuted labels.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..threads import over_blocks
from . import mmd
from .mmd import MMDTest

Real = NDArray[np.float64]

# Squared distances are kept from rank to rank up to this many (512 MB); beyond, each rank sums them anew.
_KEPT = 1 << 26


def nested_mmd_tests(
    samples: Mapping[str, tuple[Real, Real]],
    ranks: Sequence[int],
    *,
    permutations: int = 1000,
    significance: float = 0.01,
    bandwidth: float | None = None,
    seed: int = 0,
) -> Iterator[MMDTest]:
    """Test the first r coordinates of the samples, for every rank r.

    Parameters
    ----------
    samples : mapping of str to (x, y)
        Named descriptions of the same two samples, (m, d) and (n, d) arrays, as in `combined_mmd_test`.
    ranks : sequence of R ints
        Numbers of leading coordinates, rising, between 1 and d.
    permutations, significance, bandwidth, seed
        As in `combined_mmd_test`.

    Yields
    ------
    MMDTest
        For each rank what `combined_mmd_test` gives for `x[:, :r]` and `y[:, :r]`.

    Raises
    ------
    ValueError
        As `combined_mmd_test`, and for ranks that do not rise or lie outside 1 to d.
    """
    pooled = {name: mmd._pooled(x, y) for name, (x, y) in samples.items()}
    m, n = mmd._sizes(samples)
    mmd._check_levels(permutations, significance)
    _check_ranks(ranks, min(points.shape[1] for points in pooled.values()))
    labels = mmd._permuted_labels(m, m + n, permutations, seed)
    nests = {name: _Nest(points, labels, m, seed) for name, points in pooled.items()}
    for rank in ranks:
        tests = {name: nest.test(rank, significance, bandwidth) for name, nest in nests.items()}
        yield next(iter(tests.values())) if len(tests) == 1 else mmd._combined(tests)


def _check_ranks(ranks: Sequence[int], dimension: int) -> None:
    rising = all(low < high for low, high in pairwise(ranks))
    if not rising or (len(ranks) and not 1 <= ranks[0] <= ranks[-1] <= dimension):
        raise ValueError(f"ranks {list(ranks)}: give rising numbers from 1 to the {dimension} coordinates there are")


class _Nest:
    """Squared distances of one description, growing with the rank."""

    def __init__(self, points: Real, labels: Real, first: int, seed: int) -> None:
        self._points, self._labels, self._first = points, labels, first
        self._blocks = list(mmd._row_blocks(len(points)))
        keeps = len(points) ** 2 <= _KEPT
        self._kept = [np.zeros((len(points[rows]), len(points))) for rows in self._blocks] if keeps else None
        self._subset = points
        if len(points) > mmd._SUBSET:
            self._subset = np.random.default_rng(seed).choice(points, mmd._SUBSET, replace=False, axis=0)
        self._above = np.triu_indices(len(self._subset), 1)
        self._pairs = np.zeros(len(self._above[0]))
        self._rank = 0

    def test(self, rank: int, significance: float, bandwidth: float | None) -> MMDTest:
        """Test the first `rank` coordinates; ranks must not fall from call to call."""
        new = self._subset[:, self._rank : rank]
        self._pairs += mmd._squared_distances(new, new)[self._above]
        width = self._median() if bandwidth is None else bandwidth
        squared = self._squared_mmd(rank, width)
        self._rank = rank
        return _outcome(squared, significance, width)

    def _median(self) -> float:
        median = float(np.median(np.sqrt(self._pairs))) if len(self._pairs) else 0.0
        return median if median > 0 else 1.0

    def _squared_mmd(self, rank: int, bandwidth: float) -> Real:
        first, total = self._first, len(self._points)
        centred = self._labels - first / total

        def share(block: int) -> Real:
            kernel = np.exp(self._distances(block, rank) / (-2 * bandwidth**2))
            return np.einsum("ib,ib->b", centred[self._blocks[block]], kernel @ centred)

        shares = over_blocks(share, range(len(self._blocks)))
        return np.sum(shares, axis=0) * (1 / first + 1 / (total - first)) ** 2

    def _distances(self, block: int, rank: int) -> Real:
        rows = self._blocks[block]
        start = self._rank if self._kept else 0
        new = self._points[:, start:rank]
        squared = mmd._squared_distances(new[rows], new)
        if not self._kept:
            return squared
        self._kept[block] += squared
        return self._kept[block]


def _outcome(squared: Real, significance: float, bandwidth: float) -> MMDTest:
    """The test of one rank, from the squared statistics of the observed and the permuted labels."""
    # A permutation may repeat the observed labelling; rounding must not break that tie.
    squared = np.where(np.abs(squared - squared[0]) <= mmd._TIE, squared[0], squared)
    statistics = np.sqrt(np.maximum(squared, 0))
    observed, null = float(statistics[0]), statistics[1:]
    p_value = (1 + np.count_nonzero(null >= observed)) / (1 + len(null))
    threshold = mmd._exceeded_when(null, p_value_at_most=significance)
    return MMDTest(observed, p_value, threshold, observed > threshold, bandwidth, null, significance)
