"""Permutation tests for nested sets of coordinates: the first r of them, for many r at once.

Squared distances between points are sums over coordinates, so those of a higher rank are those of the lower one
plus the coordinates between. Each rank then costs one kernel, and all ranks share the permuted labels.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Unpack

import numpy as np

from .._types import Index, Real
from ..progress import over_blocks
from .kernel import (
    KERNELS,
    Distances,
    Kernel,
    median_of,
    median_subset,
    pairwise_squared_distances,
    pooled,
    row_blocks,
)
from .two_sample import MMDTest, Options, Procedure, common_sizes

# Squared distances are kept from rank to rank up to this many (512 MB); beyond, they are recomputed for each rank.
MAX_KEPT_DISTANCES = 1 << 27


def nested_mmd_tests(
    samples: Mapping[str, tuple[Real, Real]],
    ranks: Sequence[int],
    *,
    kernels: Mapping[str, Kernel] | None = None,
    whole: Collection[str] = (),
    **options: Unpack[Options],
) -> Iterator[MMDTest]:
    """Yield the result of `combined_mmd_test` for `x[:, :r]` and `y[:, :r]` of the samples, for every rank r.

    Descriptions in `whole` are always tested with all coordinates. Ranks ascend between 1 and the number of
    coordinates. Options are those of `pooled_mmd_test`; other parameters and errors those of `combined_mmd_test`.
    """
    kinds = {name: KERNELS[(kernels or {}).get(name, "gaussian")] for name in samples}
    points = {name: pooled(x, y) for name, (x, y) in samples.items()}
    m, n = common_sizes(samples)
    dimensions = [z.shape[1] for name, z in points.items() if name not in whole]
    _check_ranks(ranks, min(dimensions, default=max(ranks, default=1)))
    procedure = Procedure(m, m + n, **options)
    seed, order = procedure.seed, procedure.labels.order
    nests = {name: _Nest(z, seed, kinds[name], order) for name, z in points.items() if name not in whole}
    for rank in ranks:
        for nest in nests.values():
            nest.grow(rank)
        yield procedure.settled(
            {name: nests[name] if name in nests else kinds[name](z, order) for name, z in points.items()}
        )


def _check_ranks(ranks: Sequence[int], dimension: int) -> None:
    rising = all(low < high for low, high in pairwise(ranks))
    if not rising or (len(ranks) and not 1 <= ranks[0] <= ranks[-1] <= dimension):
        raise ValueError(
            f"ranks {list(ranks)}: give increasing numbers from 1 to {dimension}, the number of coordinates"
        )


class _Nest(Distances):
    """Squared distances in the leading coordinates of one description, updated as coordinates are added."""

    def __init__(self, points: Real, seed: int, kind: type[Distances], order: Index | None) -> None:
        super().__init__(points[:, :0])
        self.kind = kind
        self._all, self._subset = points if order is None else points[order], median_subset(points, seed)
        self._pairs = np.zeros(len(self._subset) * (len(self._subset) - 1) // 2)
        self._kept: dict[int, Real] = {}
        if len(points) ** 2 <= MAX_KEPT_DISTANCES:  # only those on and right of the diagonal are kept
            self._kept = {r.start: np.zeros((r.stop - r.start, len(points) - r.start)) for r in row_blocks(len(points))}

    def grow(self, rank: int) -> None:
        """Add the coordinates up to `rank`, which must not decrease between calls."""
        new = slice(self.points.shape[1], rank)
        self._pairs += pairwise_squared_distances(self._subset[:, new])
        added = Distances(self._all[:, new])

        def add(rows: slice) -> None:
            self._kept[rows.start] += added.block(rows)

        if self._kept:
            over_blocks(add, row_blocks(len(added)))
        self.points = self._all[:, :rank]
        self._blocks.clear()
        self.factors.clear()

    def block(self, rows: slice) -> Real:
        """Squared distances of a block of rows from all points from its first row on."""
        return self._kept[rows.start] if self._kept else super().block(rows)

    def median(self, seed: int) -> float:
        """Median distance over the subset drawn at the start."""
        return median_of(self._pairs)
