"""Thresholds without permutations: Gretton's distribution-free bound, and a gamma approximation by two moments.

Both are fast and neither is exact. The bound holds for every distribution and every sample size, and is so conservative
that it misses most differences that a permutation test finds. The gamma approximation is close to the null for samples
of some dozens and more, but guarantees nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
from scipy.special import gammaincc, gammainccinv

from .._types import Real
from ..progress import each_block
from .kernel import SIGNIFICANCE, median_distance, pooled, row_blocks, squared_distances
from .two_sample import MMDTest, Widths, check_level, common_sizes, widths

Null = Literal["gamma", "bound"]
_WORDS = {
    "gamma": "null approximated by a gamma distribution",
    "bound": "threshold from the distribution-free bound",
}


def distribution_free_threshold(m: int, n: int, significance: float) -> float:
    """MMD that m and n points of one distribution, whatever it is, exceed with at most the given probability.

    For kernels between 0 and 1: √(1/m + 1/n) · (1 + √(2 ln 1/α)). Gretton et al. 2012, corollary 9, is the case m = n;
    the general one follows in the same way, by McDiarmid's inequality.
    """
    check_level(significance)
    return float(np.sqrt(1 / m + 1 / n) * (1 + np.sqrt(2 * np.log(1 / significance))))


def gretton_test(
    samples: Mapping[str, tuple[Real, Real]],
    null: Null,
    *,
    significance: float = SIGNIFICANCE,
    bandwidth: Widths | None = None,
    factor: Widths = 1.0,
    seed: int = 0,
) -> MMDTest:
    """Test whether two samples of points have the same distribution, by a threshold that needs no permutations.

    As `combined_mmd_test`, with one description of the points or several, but the threshold follows from the moments of
    the null distribution.

    Parameters
    ----------
    samples : mapping of str to (x, y)
    null : {"gamma", "bound"}
        A gamma distribution with the permutations' exact mean and variance (Gretton et al. 2009 took moments
        estimated for m = n), or the distribution-free bound.
    significance, bandwidth, factor, seed
        As in `combined_mmd_test`.

    Returns
    -------
    MMDTest
        `null` is empty and `approximation` names the threshold. Several parts are combined by Bonferroni correction.

    References
    ----------
    A. Gretton, K. Fukumizu, Z. Harchaoui, B. K. Sriperumbudur, "A fast, consistent kernel two-sample test", Advances
    in Neural Information Processing Systems 22 (2009) 673-681.
    A. Gretton, K. M. Borgwardt, M. J. Rasch, B. Schölkopf, A. Smola, "A kernel two-sample test", Journal of Machine
    Learning Research 13 (2012) 723-773.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.mmd import gretton_test
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(40, 2)), rng.normal(1, size=(40, 2))
    >>> test = gretton_test({"points": (x, y)}, "gamma")
    >>> test.rejected, test.approximation
    (True, 'null approximated by a gamma distribution')
    """
    if null not in _WORDS:
        raise ValueError(f"null must be one of {', '.join(_WORDS)}, not {null!r}")
    check_level(significance)
    m, n = common_sizes(samples)
    if m + n < 4:
        raise ValueError(f"{m} and {n} points: a threshold without permutations needs at least 4 in all")
    found = {}
    for name, (x, y) in samples.items():
        points = pooled(x, y)
        for part, s in widths(name, partial(median_distance, points, seed), bandwidth, factor).items():
            found[part] = permutation_moments(points, m, s), s
    tests = {part: _single(null, moments, (m, n), s, significance) for part, (moments, s) in found.items()}
    if len(tests) == 1:
        return next(iter(tests.values()))
    part = min(tests, key=lambda name: tests[name].p_value)
    joint = _single(null, found[part][0], (m, n), found[part][1], significance / len(tests))
    return replace(joint, p_value=min(1.0, len(tests) * joint.p_value), significance=significance, parts=tests)


def permutation_moments(points: Real, first: int, bandwidth: float) -> tuple[float, float, float]:
    """Biased MMD² of the first points of (N, d) and the others, and its exact mean and variance over all labelings.

    Moments of tr(A P B Pᵀ) over permutations P, for centered A and B: Kazi-Aoual et al. 1995. B = wwᵀ here.
    """
    total = len(points)
    weights = np.where(np.arange(total) < first, 1 / first, -1 / (total - first))
    row_sums, observed, squares = np.empty(total), 0.0, 0.0

    def share(rows: slice) -> tuple[slice, Real, float, float]:
        kernel = np.exp(squared_distances(points[rows], points) / (-2 * bandwidth**2))
        return rows, kernel.sum(axis=1), float(weights[rows] @ kernel @ weights), float(np.vdot(kernel, kernel))

    for rows, sums, form, square in each_block(share, row_blocks(total)):
        row_sums[rows] = sums
        observed += form
        squares += square
    grand = row_sums.sum()
    diagonal = 1 - 2 * row_sums / total + grand / total**2
    centred = squares - 2 * (row_sums @ row_sums) / total + (grand / total) ** 2
    mean, variance = _permuted_trace(
        total,
        (float(diagonal.sum()), float(centred), float(diagonal @ diagonal)),
        (float(weights @ weights), float(weights @ weights) ** 2, float((weights**4).sum())),
    )
    return max(observed, 0.0), mean, variance


def _permuted_trace(n: int, a: tuple[float, float, float], b: tuple[float, float, float]) -> tuple[float, float]:
    """Mean and variance of tr(A P B Pᵀ), given trace, squared norm and squared diagonal of centered A and B."""

    def spread(trace: float, norm: float, _: float) -> float:
        return (n - 1) * norm - trace**2

    def excess(trace: float, norm: float, diagonal: float) -> float:
        return n * (n + 1) * diagonal - (n - 1) * (trace**2 + 2 * norm)

    variance = 2 * spread(*a) * spread(*b) / ((n - 1) ** 2 * (n + 1) * (n - 2))
    variance += excess(*a) * excess(*b) / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
    return a[0] * b[0] / (n - 1), max(variance, 0.0)


def _single(
    null: Null, moments: tuple[float, float, float], sizes: tuple[int, int], bandwidth: float, significance: float
) -> MMDTest:
    observed, mean, variance = moments
    mmd = float(np.sqrt(observed))
    if null == "bound":
        p_value, threshold = _bound_p_value(mmd, sizes), distribution_free_threshold(*sizes, significance)
    else:
        p_value, threshold = _gamma(observed, mean, variance, significance)
    return MMDTest(
        mmd,
        p_value,
        threshold,
        mmd > threshold,
        bandwidth,
        np.empty(0),
        significance,
        approximation=_WORDS[null],
    )


def _bound_p_value(mmd: float, sizes: tuple[int, int]) -> float:
    """Smallest level at which the bound rejects."""
    excess = mmd / np.sqrt(1 / sizes[0] + 1 / sizes[1]) - 1
    return float(np.exp(-(excess**2) / 2)) if excess > 0 else 1.0


def _gamma(observed: float, mean: float, variance: float, significance: float) -> tuple[float, float]:
    """p-value of an MMD² and threshold of the MMD."""
    if not variance > 0:  # all labelings give the same value
        return 1.0, float(np.sqrt(max(mean, observed)))
    shape, scale = mean**2 / variance, variance / mean
    return float(gammaincc(shape, observed / scale)), float(np.sqrt(scale * gammainccinv(shape, significance)))
