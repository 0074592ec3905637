"""Otsu thresholds between several classes of gray levels, by dynamic programming.

The exhaustive search of scikit-image takes seconds for five classes and minutes for six; this takes milliseconds.
"""

import numpy as np
from numpy.typing import NDArray

from .._types import Real


def multi_otsu(counts: NDArray[np.integer], levels: Real, classes: int) -> Real:
    """Thresholds that maximize the variance between classes; the lowest in case of ties.

    Parameters
    ----------
    counts : (bins,) array of int
        Pixels in each bin.
    levels : (bins,) array
        Centers of the bins, ascending.
    classes : int
        Number of classes, at least two.

    Returns
    -------
    (classes - 1,) array
        Level of the last bin of each class except the highest.

    Raises
    ------
    ValueError
        If fewer bins than classes hold pixels.

    References
    ----------
    N. Otsu, "A threshold selection method from gray-level histograms", IEEE Transactions on Systems, Man, and
    Cybernetics 9 (1979) 62-66, equation 18 for several classes. The recursion over classes is that of
    W. D. Fisher, "On grouping for maximum homogeneity", Journal of the American Statistical Association 53 (1958).
    """
    if np.count_nonzero(counts) < classes:
        raise ValueError(f"the image has too few gray levels for {classes} classes: choose fewer, or another method")
    bins = np.arange(len(counts))
    ends = np.cumsum([counts, counts * bins], axis=1, dtype=np.float64)  # integers, hence exact
    # Indexed by the first and the last bin of a class.
    weight, moment = (end - np.concatenate([[0], end[:-1]])[:, None] for end in ends)
    between = np.divide(moment**2, weight, out=np.zeros_like(weight), where=weight > 0)
    between[bins[:, None] > bins] = -np.inf
    # Best partition of the bins up to each, then with one more class, which begins after the threshold.
    best, thresholds = between[0], []
    for _ in range(classes - 1):
        total = best[:-1, None] + between[1:]
        thresholds.append(total.argmax(axis=0))
        best = total.max(axis=0)
    last = [len(counts) - 1]
    for threshold in reversed(thresholds):
        last.append(int(threshold[last[-1]]))
    return levels[last[:0:-1]]
