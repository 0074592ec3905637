"""Two-sample tests by maximum mean discrepancy (MMD) and label permutations.

With label weights w (1/m on the first sample, -1/n on the second) the biased statistic is MMD² = wᵀKw, so all
permutations of the labels are one product of the kernel matrix with a matrix of labels.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..threads import over_blocks

Real = NDArray[np.float64]

# Rows of the kernel matrix made at a time: it is never held whole.
_ROWS = 512
# Above this many points the median distance is taken over a seeded subset of as many.
_SUBSET = 2000
# Squared statistics nearer than this are equal to rounding.
_TIE = 1e-13


@dataclass(frozen=True, eq=False)
class MMDTest:
    """Outcome of a permutation test.

    Attributes
    ----------
    mmd : float
        Biased (V-statistic) MMD of the two samples: the square root of wᵀKw.
    p_value : float
        (1 + #{null ≥ observed}) / (B + 1).
    threshold : float
        `rejected` exactly when `mmd` exceeds it. For a combined test it belongs to the deciding part.
    rejected : bool
        True: the samples differ at the given significance.
    bandwidth : float
        s of the Gaussian kernel exp(-d²/(2s²)).
    null : (B,) array
        MMD under the permuted labels.
    significance : float
        Level of the test.
    parts : mapping of str to MMDTest
        For a combined test its parts with their own p-values and thresholds, else empty.
    """

    mmd: float
    p_value: float
    threshold: float
    rejected: bool
    bandwidth: float
    null: Real
    significance: float
    parts: Mapping[str, "MMDTest"] = field(default_factory=dict)


def mmd_test(
    x: Real,
    y: Real,
    *,
    permutations: int = 1000,
    significance: float = 0.01,
    bandwidth: float | None = None,
    seed: int = 0,
) -> MMDTest:
    """Test whether two samples come from one distribution.

    Parameters
    ----------
    x, y : (m, d) and (n, d) arrays
        The samples; one-dimensional arrays count as d = 1.
    permutations : int
        Number B of random relabellings.
    significance : float
        Level of the test, between 0 and 1.
    bandwidth : float, optional
        s of the Gaussian kernel exp(-d²/(2s²)), in the units of the data; by default the median pairwise
        distance of the pooled sample (over a seeded subset of 2000 points when there are more).
    seed : int
        Of the permutations and the subset.

    Returns
    -------
    MMDTest

    Raises
    ------
    ValueError
        For empty or mismatched samples, NaNs, or parameters out of range.

    Notes
    -----
    Gretton et al. 2012, eq. 5 (biased statistic); paper, "Maximum Mean Discrepancy".
    """
    return combined_mmd_test(
        {"": (x, y)}, permutations=permutations, significance=significance, bandwidth=bandwidth, seed=seed
    )


def combined_mmd_test(
    samples: Mapping[str, tuple[Real, Real]],
    *,
    permutations: int = 1000,
    significance: float = 0.01,
    bandwidth: float | None = None,
    seed: int = 0,
) -> MMDTest:
    """Test several descriptions of the same two samples at once, at an exact joint level.

    Every description is tested on the same permutations; the smallest of their p-values is compared with
    what it is under those permutations (min-p; Westfall and Young 1993).

    Parameters
    ----------
    samples : mapping of str to (x, y)
        Named descriptions, each with the same m and n rows. With only one this is `mmd_test`.
    permutations, significance, bandwidth, seed
        As in `mmd_test`.

    Returns
    -------
    MMDTest
        `p_value` and `rejected` are joint; `mmd`, `null`, `bandwidth` are those of the part with the smallest
        p-value, and `threshold` is that part's joint one. `parts` holds every part with its own p-value.
    """
    pooled = {name: _pooled(x, y) for name, (x, y) in samples.items()}
    m, n = _sizes(samples)
    _check_levels(permutations, significance)
    labels = _permuted_labels(m, m + n, permutations, seed)
    tests = {
        name: _single_test(z, labels, m, significance, median_distance(z, seed) if bandwidth is None else bandwidth)
        for name, z in pooled.items()
    }
    return next(iter(tests.values())) if len(tests) == 1 else _combined(tests)


def _pooled(x: Real, y: Real) -> Real:
    x, y = (np.asarray(sample, dtype=np.float64) for sample in (x, y))
    x, y = (sample[:, None] if sample.ndim == 1 else sample for sample in (x, y))
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
        raise ValueError(f"samples have shapes {x.shape} and {y.shape}: give (m, d) and (n, d) arrays")
    if not len(x) or not len(y):
        raise ValueError(f"samples of {len(x)} and {len(y)} points: both need at least one")
    pooled = np.concatenate([x, y])
    if not np.isfinite(pooled).all():
        raise ValueError(f"{(~np.isfinite(pooled)).any(axis=1).sum()} points have NaN or infinite coordinates")
    return pooled


def _sizes(samples: Mapping[str, tuple[Real, Real]]) -> tuple[int, int]:
    sizes = {(len(x), len(y)) for x, y in samples.values()}
    if len(sizes) != 1:
        raise ValueError(f"the descriptions have different numbers of points: {sorted(sizes)}")
    return sizes.pop()


def _check_levels(permutations: int, significance: float) -> None:
    if not 0 < significance < 1:
        raise ValueError(f"significance {significance}: give a level between 0 and 1, such as 0.01")
    if permutations < 1:
        raise ValueError(f"{permutations} permutations: take at least 1 (1000 is the default)")


def median_distance(points: Real, seed: int = 0) -> float:
    """Median pairwise Euclidean distance; over a seeded subset of 2000 points when there are more.

    1 where all points coincide, so that the kernel stays defined.
    """
    if len(points) > _SUBSET:
        points = np.random.default_rng(seed).choice(points, _SUBSET, replace=False, axis=0)
    above = np.triu_indices(len(points), 1)
    squared = _squared_distances(points, points)[above]
    median = float(np.median(np.sqrt(squared))) if len(squared) else 0.0
    return median if median > 0 else 1.0


def _squared_distances(x: Real, y: Real) -> Real:
    squared = np.einsum("id,id->i", x, x)[:, None] + np.einsum("id,id->i", y, y) - 2 * (x @ y.T)
    return np.maximum(squared, 0, out=squared)


def _permuted_labels(first: int, total: int, permutations: int, seed: int) -> Real:
    """Indicators (total, 1 + permutations) of the first sample; column 0 is the observed labelling."""
    labels = np.zeros((1 + permutations, total))
    labels[:, :first] = 1
    np.random.default_rng(seed).permuted(labels[1:], axis=1, out=labels[1:])
    return np.ascontiguousarray(labels.T)


def _single_test(points: Real, labels: Real, first: int, significance: float, bandwidth: float) -> MMDTest:
    if not bandwidth > 0:
        raise ValueError(f"bandwidth {bandwidth}: the kernel's width is a positive distance")
    statistics = np.sqrt(np.maximum(_squared_mmd(points, labels, first, bandwidth), 0))
    observed, null = float(statistics[0]), statistics[1:]
    p_value = (1 + np.count_nonzero(null >= observed)) / (1 + len(null))
    threshold = _exceeded_when(null, p_value_at_most=significance)
    return MMDTest(observed, p_value, threshold, observed > threshold, bandwidth, null, significance)


def _squared_mmd(points: Real, labels: Real, first: int, bandwidth: float) -> Real:
    """Biased MMD² of every labelling, (1 + B,)."""
    total = len(points)
    labels = labels - first / total  # weights that sum to zero lose no digits to the kernel's mean
    weight = 1 / first + 1 / (total - first)

    def share(rows: slice) -> Real:
        kernel = np.exp(_squared_distances(points[rows], points) / (-2 * bandwidth**2))
        return np.einsum("ib,ib->b", labels[rows], kernel @ labels)

    squared = np.sum(over_blocks(share, _row_blocks(total)), axis=0) * weight**2
    # A permutation may repeat the observed labelling; rounding must not break that tie.
    squared[np.abs(squared - squared[0]) <= _TIE] = squared[0]
    return squared


def _row_blocks(total: int) -> Iterator[slice]:
    for start in range(0, total, _ROWS):
        yield slice(start, start + _ROWS)


def _exceeded_when(null: Real, p_value_at_most: float) -> float:
    """The value that a statistic exceeds exactly when its permutation p-value is small enough."""
    allowed = int(np.floor(p_value_at_most * (1 + len(null)) * (1 + 1e-12))) - 1
    return float(np.sort(null)[-1 - allowed]) if allowed >= 0 else float("inf")


def _combined(tests: dict[str, MMDTest]) -> MMDTest:
    """Joint test by the smaller p-value, calibrated on the permutations that the parts share."""
    ranks = np.stack([_all_p_values(np.append(test.mmd, test.null)) for test in tests.values()])
    smallest = ranks.min(axis=0)
    p_value = float(np.mean(smallest <= smallest[0]))
    deciding = list(tests.values())[int(ranks[:, 0].argmin())]
    threshold = _exceeded_when(deciding.null, p_value_at_most=_critical(smallest, deciding.significance))
    return replace(
        deciding, p_value=p_value, rejected=p_value <= deciding.significance, threshold=threshold, parts=tests
    )


def _all_p_values(statistics: Real) -> Real:
    """p-value that each labelling would have if it were the observed one."""
    below = np.searchsorted(np.sort(statistics), statistics, side="left")
    return (len(statistics) - below) / len(statistics)


def _critical(smallest: Real, significance: float) -> float:
    """Largest of the smallest p-values that the joint test still rejects; 0 where it rejects none."""
    values, counts = np.unique(smallest, return_counts=True)
    rejected = np.cumsum(counts) <= significance * len(smallest) * (1 + 1e-12)
    return float(values[rejected][-1]) if rejected.any() else 0.0
