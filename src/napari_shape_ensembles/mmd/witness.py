"""The MMD witness: which points are typical of one sample and not of the other."""

import numpy as np
from numpy.typing import NDArray

from ..progress import over_blocks
from .kernel import gaussian, median_distance

Real = NDArray[np.float64]
Index = NDArray[np.intp]

# Rows of the kernel matrix made at a time.
_ROWS = 512


def witness(points: Real, first: int, bandwidth: float | None = None, *, own: bool = False) -> Real:
    """Value of the witness function at every point of the pooled sample.

    f(z) is the mean kernel between z and the points of A less that between z and the points of B: positive where
    A is denser, negative where B is.

    Parameters
    ----------
    points : (N, d) array
        Both samples, A's first; a one-dimensional array counts as d = 1.
    first : int
        Number of points m in A.
    bandwidth : float, optional
        s of the Gaussian kernel exp(-d²/(2s²)); by default the median distance, as in `mmd_test`.
    own : bool
        Count the kernel of a point with itself. It lifts every point of A by 1/m and lowers those of B by 1/n,
        also where the samples do not differ, so it is left out by default.

    Returns
    -------
    (N,) array
        Without unit, between -1 and 1. Its mean over A less that over B is MMD²: the biased one with `own`, the
        unbiased one without.

    Raises
    ------
    ValueError
        When a sample has fewer than 2 points, or the width is not positive.

    Notes
    -----
    Gretton et al. 2012, section 2.3. Graded evidence, not a test of single points: under a threshold calibrated
    over all points the right ones are rarely singled out.
    """
    points = np.asarray(points, dtype=np.float64).reshape(len(points), -1)
    total = len(points)
    if not 2 <= first <= total - 2:
        raise ValueError(f"samples of {first} and {total - first} points: a witness needs at least 2 in each")
    width = median_distance(points) if bandwidth is None else bandwidth
    if not width > 0:
        raise ValueError(f"bandwidth {width}: the kernel's width is a positive distance")

    def sums(rows: slice) -> Real:  # of the kernel between these points and those of A, and those of B
        kernel = gaussian(points[rows], points, width)
        # The diagonal is 1 exactly, whatever rounding makes of the distance of a point from itself.
        kernel[np.arange(len(kernel)), rows.start + np.arange(len(kernel))] = 1
        return np.stack([kernel[:, :first].sum(axis=1), kernel[:, first:].sum(axis=1)])

    blocks = (slice(start, start + _ROWS) for start in range(0, total, _ROWS))
    to_a, to_b = np.concatenate(over_blocks(sums, blocks), axis=1)
    in_a = np.arange(total) < first
    less = 0 if own else 1
    return (to_a - less * in_a) / (first - less * in_a) - (to_b - less * ~in_a) / (total - first - less * ~in_a)


def most_typical(values: Real, first: int, count: int = 12) -> tuple[Index, Index]:
    """Places of the curves of A most typical of A, and of those of B most typical of B, strongest first.

    Parameters
    ----------
    values : (N,) array
        Witness values, A's first.
    first : int
        Number of points in A.
    count : int
        Places wanted of each sample; fewer where it has fewer.
    """
    of_a = np.argsort(-values[:first], kind="stable")[:count]
    of_b = first + np.argsort(values[first:], kind="stable")[:count]
    return of_a, of_b
