"""The MMD witness function: which points are typical of one sample and not of the other."""

import numpy as np

from .._types import Index, Real
from ..progress import each_block, over_blocks
from .kernel import Distances, median_distance, row_blocks
from .permutations import projection


def witness(
    points: Real,
    first: int,
    bandwidth: float | None = None,
    *,
    own: bool = False,
    features: int | None = None,
    seed: int = 0,
) -> Real:
    """Value of the witness function at every point of the pooled sample.

    f(z) is the mean kernel between z and the points of A minus that between z and the points of B: positive where A is
    denser, negative where B is.

    Parameters
    ----------
    points : (N, d) array
        Both samples, A's first; a one-dimensional array counts as d = 1.
    first : int
        Number of points m in A.
    bandwidth : float, optional
        Width s of the Gaussian kernel exp(-d²/(2s²)); by default the median distance, as in `mmd_test`.
    own : bool
        Include the kernel of a point with itself. It raises every point of A by 1/m and lowers those of B by 1/n even
        if the samples do not differ, so it is excluded by default.
    features : int, optional
        Project the kernel on this many of the points, as tests of many points do: O(N) instead of O(N²).
    seed : int
        Seed for drawing these points.

    Returns
    -------
    (N,) array
        Dimensionless, between -1 and 1. Its mean over A minus that over B is MMD²: the biased one with `own`, the
        unbiased one without.

    Raises
    ------
    ValueError
        If a sample has fewer than 2 points, or the width is not positive.

    Notes
    -----
    Gretton et al. 2012, section 2.3. Graded evidence, not a test of single points: a threshold calibrated over all
    points rarely selects the right ones.
    """
    points = np.asarray(points, dtype=np.float64).reshape(len(points), -1)
    total = len(points)
    if not 2 <= first <= total - 2:
        raise ValueError(f"samples of {first} and {total - first} points: a witness needs at least 2 in each")
    width = median_distance(points) if bandwidth is None else bandwidth
    if not width > 0:
        raise ValueError(f"bandwidth {width}: the kernel width must be a positive distance")

    unit = np.ldexp(1.0, np.frexp(width)[1])  # a power of two is exact, and scaling prevents underflow of squares
    distances = Distances(points / unit)
    if features is not None and features < total:
        to_a, to_b, with_itself = _projected_sums(distances, first, width / unit, features, seed)
    else:
        (to_a, to_b), with_itself = _sums(distances, first, width / unit), np.ones(total)
    in_a = np.arange(total) < first
    less = 0 if own else 1
    to_a, to_b = to_a - less * in_a * with_itself, to_b - less * ~in_a * with_itself
    return to_a / (first - less * in_a) - to_b / (total - first - less * ~in_a)


def _sums(distances: Distances, first: int, width: float) -> Real:
    """Sums of the kernel between every point and those of A, and those of B: (2, N)."""
    total = np.zeros((2, len(distances)))

    def share(rows: slice) -> tuple[slice, Real, Real]:
        # The kernel is symmetric: a block of rows is combined only with the columns from its own on, and used for both.
        kernel = distances.kernel(distances.block(rows), width)
        count, split = len(kernel), max(first - rows.start, 0)
        across = np.stack([kernel[:, :split].sum(axis=1), kernel[:, split:].sum(axis=1)])
        return rows, across, np.stack([kernel[:split, count:].sum(axis=0), kernel[split:, count:].sum(axis=0)])

    for rows, across, down in each_block(share, row_blocks(len(distances))):
        total[:, rows] += across
        total[:, rows.stop :] += down
    return total


def _projected_sums(
    distances: Distances, first: int, width: float, features: int, seed: int
) -> tuple[Real, Real, Real]:
    """As `_sums` for the kernel projected on some points, and its values for every point with itself: (N,) each."""
    kernel, root = projection(distances.some, len(distances), width, features, seed)

    def summed(rows: slice) -> Real:
        found, split = kernel(distances.some(rows)), max(first - rows.start, 0)
        return np.stack([found[:split].sum(axis=0), found[split:].sum(axis=0)])

    sides = sum(each_block(summed, row_blocks(len(distances)))) @ root

    def share(rows: slice) -> Real:
        found = kernel(distances.some(rows)) @ root
        return np.concatenate([found @ sides.T, np.einsum("iq,iq->i", found, found)[:, None]], axis=1)

    to_a, to_b, with_itself = np.concatenate(over_blocks(share, row_blocks(len(distances)))).T
    return to_a, to_b, with_itself


def most_typical(values: Real, first: int, count: int = 12) -> tuple[Index, Index]:
    """Indices of A's curves most typical of A, and of B's most typical of B, by witness values, in decreasing order.

    `count` of each sample; fewer if it has fewer curves.
    """
    of_a = np.argsort(-values[:first], kind="stable")[:count]
    of_b = first + np.argsort(values[first:], kind="stable")[:count]
    return of_a, of_b
