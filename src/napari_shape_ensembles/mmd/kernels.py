"""Compiled loops over pairs of points; see `compiled`."""

import numpy as np
from numba import njit, types

# Input may be read-only.
_real, _groups = types.Array(types.float64, 1, "C", readonly=True), types.Array(types.int64, 1, "C", readonly=True)
_points = types.Array(types.float64, 2, "C", readonly=True)


@njit(
    types.void(_points, _real, _real, _groups, _groups, types.boolean, types.float64[:, ::1]),
    cache=True,
    nogil=True,
)
def add_distances(products, rows, columns, down, across, square, sums):
    """Add the distances between the points of a tile to the sums over pairs of groups; see `kernel.group_sums`.

    Parameters
    ----------
    products : (a, b) array
        Inner products of the points of the rows with those of the columns.
    rows, columns : (a,) and (b,) arrays
        Squares of the points' norms.
    down, across : (a,) and (b,) arrays of int
        Index in `sums` of the group of each point; groups are contiguous.
    square : bool
        Rows and columns are the same points: each distance counts half, as it occurs twice, and self-distances are 0.
    sums : (U, V) array
    """
    total = np.zeros(len(columns))  # over the rows of one group, so that the inner loop runs over contiguous columns
    for i in range(len(rows)):
        for j in range(len(columns)):
            total[j] += np.sqrt(max(rows[i] + columns[j] - 2 * products[i, j], 0.0))
        if square:
            total[i] -= np.sqrt(max(rows[i] + columns[i] - 2 * products[i, i], 0.0))
        if i + 1 == len(rows) or down[i + 1] != down[i]:
            share = 0.5 if square else 1.0
            for j in range(len(columns)):
                sums[down[i], across[j]] += share * total[j]
                total[j] = 0.0


@njit(
    types.void(_points, _points, _groups, _groups, types.boolean, types.float64[:, ::1]),
    cache=True,
    nogil=True,
)
def add_flat_distances(rows, columns, down, across, square, sums):
    """As `add_distances`, for points with few coordinates: those of the rows (a, d), those of the columns (d, b)."""
    total, squared = np.zeros(columns.shape[1]), np.empty(columns.shape[1])
    for i in range(len(rows)):
        squared[:] = 0.0
        last = len(columns) - 1
        for k in range(last):
            place, others = rows[i, k], columns[k]
            for j in range(len(others)):
                squared[j] += (others[j] - place) * (others[j] - place)
        place, others = rows[i, last], columns[last]
        for j in range(len(total)):
            total[j] += np.sqrt(squared[j] + (others[j] - place) * (others[j] - place))
        if i + 1 == len(rows) or down[i + 1] != down[i]:
            share = 0.5 if square else 1.0
            for j in range(len(total)):
                sums[down[i], across[j]] += share * total[j]
                total[j] = 0.0
