"""Several descriptions of the same two samples, each tested by its own MMD at one joint level (max-T).

All tests use the same permutations. Each statistic is standardized by its own permutations, and each adjusted p-value
is the fraction of permutations whose largest statistic reaches it. This controls the family-wise error rate for any
number of descriptions and any dependence between them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._types import Index, Mask, Real
from ..checks import Sealed
from ..progress import cancellation_check, over_blocks
from .kernel import PERMUTATIONS, SIGNIFICANCE, gaussian, median_distance
from .permutations import Labellings, chunks, permuted_labels
from .replicates import Hypothesis, forms_in_orders, mean_kernels

# Beyond this many standard deviations the Gaussian spectrum of the kernel is below 1e-12.
_SPECTRUM_SIGMAS = 7.5
# With more frequencies than this (widely spread samples) the kernel matrix is used instead.
_MAX_FREQUENCIES = 256
_ROWS = 512
# Weights of labelings per block: 128 MiB.
WEIGHTS_AT_ONCE = 2**24
# Squared statistics closer than this are equal up to rounding error.
_TIE = 1e-12


@dataclass(frozen=True, eq=False)
class FamilyTests(Sealed):
    """Outcome of a family of k tests.

    Attributes
    ----------
    names : tuple of k str
    mmd : (k,) array
        Biased MMD of each description, Gaussian kernel at its own median distance.
    p_values : (k,) array
        Unadjusted p-values.
    adjusted : (k,) array
        Adjusted p-values (step-down max-T): rejecting those at most α has a family-wise error rate of at most α.
    """

    names: tuple[str, ...]
    mmd: Real
    p_values: Real
    adjusted: Real

    def rejected(self, significance: float = SIGNIFICANCE) -> NDArray[np.bool_]:
        """Which descriptions differ at a family-wise error rate: (k,)."""
        return self.adjusted <= significance


def family_tests(
    descriptions: Mapping[str, Real],
    first: int,
    *,
    image: Index | None = None,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> FamilyTests:
    """Test every description, (N,) or (N, d), of the pooled sample, A's rows first, for a difference of its parts.

    With the image of each curve, numbered from 0, those of A first, whole images are permuted, with equal weights; all
    labelings of images are enumerated if there are at most 20 000. All descriptions share the labelings. The p-values
    are those of Westfall and Young 1993, algorithm 2.8 (step-down), with statistics (MMD² - mean) / sd over the
    permutations, including the observed labeling. No description, descriptions of different numbers of curves, NaNs, or
    an empty sample raise a ValueError.
    """
    values = {name: np.asarray(x, dtype=np.float64).reshape(len(x), -1) for name, x in descriptions.items()}
    total = _check(values, first)
    leave = cancellation_check()
    if image is None:
        labels = permuted_labels(first, total, permutations, seed)
        rows = list(over_blocks(lambda x: _squared_mmd(x, labels, leave), values.values()))
    else:
        in_a, orders = image_labelings(image, first, permutations, seed)
        rows = list(over_blocks(lambda x: _squared_mmd_of_images(x, image, in_a, orders), values.values()))
    mmd = np.sqrt(np.maximum([row[0] for row in rows], 0))
    for row in rows:  # in place, as a million labelings of a hundred descriptions take 800 MB
        spread = row.std()
        row -= row.mean()
        row /= spread if spread > 0 else 1
    p_values = np.array([np.mean(row >= row[0]) for row in rows])
    return FamilyTests(tuple(values), mmd, p_values, _step_down(rows))


def _check(values: Mapping[str, Real], first: int) -> int:
    if not values:
        raise ValueError("a family of tests needs at least one description")
    sizes = {len(x) for x in values.values()}
    if len(sizes) != 1:
        raise ValueError(f"the descriptions of a family must be of the same curves, not of {sorted(sizes)} curves")
    total = sizes.pop()
    if not 1 <= first < total:
        raise ValueError(f"samples of {first} and {total - first} curves: each needs at least one")
    bad = [name for name, x in values.items() if not np.isfinite(x).all()]
    if bad:
        raise ValueError(f"{', '.join(bad)}: some values are NaN or infinite: leave these curves out")
    return total


def image_labelings(image: Index, first: int, permutations: int, seed: int) -> tuple[Mask, Index]:
    """Whether each image is A's, (U,), and the order of these in every labeling, (1 + B, U); row 0 is the observed."""
    in_a = np.arange(int(image.max()) + 1) <= image[:first].max()
    return in_a, Hypothesis(in_a).rearrangements(draws=permutations, seed=seed).orders


def _squared_mmd_of_images(x: Real, image: Index, in_a: Mask, orders: Index) -> Real:
    """MMD² between the mean embeddings of two groups of images, for every labeling of the images, (1 + B,)."""
    width = median_gap(x[:, 0]) if x.shape[1] == 1 else median_distance(x)
    kernel = mean_kernels(x, image, bandwidth=width).between
    weights = in_a / in_a.sum() - ~in_a / (~in_a).sum()
    squared = forms_in_orders(kernel, weights[:, None], orders)
    squared[np.abs(squared - squared[0]) <= _TIE] = squared[0]
    return squared


def _squared_mmd(x: Real, labels: Labellings, leave: Callable[[], None]) -> Real:
    """Biased MMD² for every labeling, (1 + B,)."""
    width = median_gap(x[:, 0]) if x.shape[1] == 1 else median_distance(x)
    waves = _wave_numbers(x, width) if x.shape[1] == 1 else None
    factor, found = 1 / labels.first + 1 / (labels.total - labels.first), []
    for some in chunks(len(labels), labels.total, WEIGHTS_AT_ONCE):
        weights = labels.weights(some) * factor
        if waves is None:
            found.append(_by_kernel(x, weights, width, leave))
        else:
            found.append(_by_waves(x[:, 0] / width, weights, waves))
    squared = np.concatenate(found)
    # A permutation may repeat the observed labeling; rounding must not break that tie.
    squared[np.abs(squared - squared[0]) <= _TIE] = squared[0]
    return squared


def median_gap(x: Real) -> float:
    """Median distance between pairs of numbers (N,), by bisection on the number of closer pairs; 1 where it is 0."""
    ordered = np.sort(x)
    half = len(x) * (len(x) - 1) / 4
    low, high = 0.0, float(ordered[-1] - ordered[0])
    for _ in range(50):
        middle = (low + high) / 2
        nearer = np.searchsorted(ordered, ordered + middle, side="right").sum() - len(x) * (len(x) + 1) / 2
        low, high = (low, middle) if nearer >= half else (middle, high)
    return high if high > 1e-12 * max(abs(ordered[0]), abs(ordered[-1])) else 1.0


def _wave_numbers(x: Real, width: float) -> int | None:
    count = int(np.ceil(_SPECTRUM_SIGMAS * (np.ptp(x) / width + _SPECTRUM_SIGMAS) / (2 * np.pi)))
    return count if count <= _MAX_FREQUENCIES else None


def _by_waves(u: Real, weights: Real, count: int) -> Real:
    """MMD² of numbers as a weighted distance between characteristic functions.

    exp(-d²/2) is the Fourier transform of a Gaussian. The trapezoidal rule with this many frequencies is exact to
    machine precision for all distances in the sample, in O(N) instead of O(N²).
    """
    step = 2 * np.pi / (np.ptp(u) + _SPECTRUM_SIGMAS)
    frequency = step * np.arange(count + 1)
    share = step * np.exp(-(frequency**2) / 2) * np.sqrt(2 / np.pi)
    share[0] /= 2
    phase = frequency * (u - u.min())[:, None]
    sums = weights @ np.concatenate([np.cos(phase), np.sin(phase)], axis=1)
    return np.asarray(sums**2 @ np.concatenate([share, share]))


def _by_kernel(x: Real, weights: Real, width: float, leave: Callable[[], None]) -> Real:
    total = np.zeros(len(weights))
    for start in range(0, len(x), _ROWS):
        leave()
        rows = slice(start, start + _ROWS)
        total += np.einsum("bi,bi->b", weights[:, rows], weights @ gaussian(x, x[rows], width))
    return total


def _step_down(statistics: Sequence[Real]) -> Real:
    """Step-down adjusted p-values (k,): each from the maximum over the statistics not larger than its own."""
    observed = np.array([row[0] for row in statistics])
    rising = np.argsort(-observed, kind="stable")[::-1]
    adjusted, largest = np.empty(len(rising)), np.full(len(statistics[0]), -np.inf)
    for k in rising:
        np.maximum(largest, statistics[k], out=largest)
        adjusted[k] = np.mean(largest >= observed[k])
    adjusted[rising[::-1]] = np.maximum.accumulate(adjusted[rising[::-1]])
    return adjusted
