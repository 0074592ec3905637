"""The smallest difference that so many curves could have shown."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from ..mmd import MMDTest
from ..mmd.kernel import Real, gaussian

# Points that stand for the population, and halvings of the bracket.
_POINTS, _HALVINGS = 500, 40


@dataclass(frozen=True)
class Detectable:
    """Differences that the tests would have found with the given probability; infinite where none would do.

    Attributes
    ----------
    size_ratio : float
        All outlines of one image so many times as long as the other's, form and elongation alike.
    elongation_ratio : float
        All outlines of one image drawn out to so many times their ratio of length to width, area alike.
    form_shift : float
        All outlines of one image moved so far along the leading undulation coordinate, in its standard deviations.
    power : float
        The probability.
    """

    size_ratio: float
    elongation_ratio: float
    form_shift: float
    power: float


def detectable_differences(
    t: Real, l: Real, first: int, undulation: MMDTest, scale: MMDTest, *, power: float = 0.8, seed: int = 0
) -> Detectable:
    """Smallest differences that these samples could have shown.

    Parameters
    ----------
    t, l : (N, r) and (N, 3) arrays
        Undulation and scale coordinates of the pooled curves, A's rows first.
    first : int
        Number of A's rows.
    undulation, scale : MMDTest
        The permutation tests of these coordinates.
    power : float
        Probability with which the difference would be found, between 0.5 and 1.
    seed : int
        Of the subset of 500 curves that stands for the population.

    Returns
    -------
    Detectable

    Notes
    -----
    From the tests' own null, and the normal limit of the MMD of two samples of which one is shifted (Gretton et al.
    2012, asymptotic distribution under the alternative). `benchmarks/calibration.py` checks it by simulation. For a
    combined test its raw part is taken, at the level that Bonferroni's rule leaves to it.

    References
    ----------
    A. Gretton, K. M. Borgwardt, M. J. Rasch, B. Schölkopf, A. Smola, "A kernel two-sample test", Journal of Machine
    Learning Research 13 (2012) 723-773.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Settings, compare, detectable_differences, samples
    >>> a, b = (drawn.subset(np.arange(len(drawn)) < 100) for drawn in samples.powder_outlines().ensembles())
    >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
    >>> found = detectable_differences(result.t, result.l, len(result.a), result.undulation, result.scale)
    >>> round(found.size_ratio, 1)
    1.6
    """
    if not 0.5 <= power < 1:
        raise ValueError(f"power {power}: give a probability from 0.5 to below 1, such as 0.8")
    if not len(undulation.null) or not len(scale.null):
        raise ValueError("these tests drew no permutations: give permutation tests")
    t, l = (_without_difference(points, first) for points in (t, l))
    sizes = first, len(t) - first
    along = np.array([1, 0, 1]) / np.sqrt(2), np.array([1, 0, -1]) / np.sqrt(2)
    size, elongation = (_shift(l, direction, scale, sizes, power, seed) for direction in along)
    leading = np.zeros(t.shape[1])
    leading[int(t.std(axis=0).argmax())] = 1
    form = _shift(t, leading, undulation, sizes, power, seed) / max(t.std(axis=0).max(), np.finfo(float).tiny)
    # l along (1, 0, ±1)/√2 by h: both lengths times exp(h/√2), or one of them times and the other over it.
    with np.errstate(over="ignore"):
        return Detectable(float(np.exp(size / np.sqrt(2))), float(np.exp(np.sqrt(2) * elongation)), float(form), power)


def _without_difference(points: Real, first: int) -> Real:
    """Both samples moved to the mean 0, so that the difference there is does not count as spread."""
    return np.concatenate([part - part.mean(axis=0) for part in (points[:first], points[first:])])


def _shift(points: Real, direction: Real, test: MMDTest, sizes: tuple[int, int], power: float, seed: int) -> float:
    """Length of the shift of one sample that the test would find with the given probability."""
    name = "raw" if "raw" in test.parts else next(iter(test.parts), "")
    part = test.parts[name] if test.parts else test
    level = test.significance / max(1, len(test.parts))
    threshold = _threshold(part, level)
    reach = 20 * (part.bandwidth + float(points.std(axis=0).max()))
    some = points
    if len(points) > _POINTS:
        some = np.random.default_rng(seed).choice(points, _POINTS, replace=False, axis=0)
    found = _Power(some, direction, part, threshold, sizes)
    if not np.isfinite(threshold) or found(reach) < power:
        return float("inf")
    low, high = 0.0, reach
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) >= power else (middle, high)
    return high


def _threshold(test: MMDTest, level: float) -> float:
    """Squared MMD that the null exceeds with the probability `level`."""
    allowed = int(np.floor(level * (1 + len(test.null)) * (1 + 1e-12))) - 1
    return float(np.sort(test.null)[-1 - allowed] ** 2) if allowed >= 0 else float("inf")


class _Power:
    """Probability that the test finds a shift, by the normal limit of its statistic."""

    def __init__(self, points: Real, direction: Real, test: MMDTest, threshold: float, sizes: tuple[int, int]) -> None:
        self._points, self._direction, self._sizes = points, direction, sizes
        self._bandwidth, self._threshold = test.bandwidth, threshold
        self._null_mean, self._null_variance = float((test.null**2).mean()), float((test.null**2).var())
        self._within = _other_points(gaussian(points, points, test.bandwidth))
        self._spread = 1 - float(self._within.mean()) * len(points) / max(1, len(points) - 1)

    def __call__(self, shift: float) -> float:
        m, n = self._sizes
        across = _other_points(gaussian(self._points, self._points + shift * self._direction, self._bandwidth))
        apart = (self._within - across) * len(across) / max(1, len(across) - 1)
        witness_x, witness_y = apart.mean(axis=1), -apart.mean(axis=0)
        squared = float(witness_x.mean() - witness_y.mean())
        # The shift spreads the pooled sample, and with it the null that the test will draw.
        share = m / (m + n)
        wider = 1 + share * (1 - share) * squared / max(self._spread, np.finfo(float).tiny)
        variance = self._null_variance + 4 * (witness_x.var() / m + witness_y.var() / n)
        deviation = np.sqrt(max(variance, np.finfo(float).tiny))
        return float(ndtr((squared + self._null_mean - wider * self._threshold) / deviation))


def _other_points(kernel: Real) -> Real:
    """Leave out each point's pair with itself, of which the population has none."""
    np.fill_diagonal(kernel, 0)
    return kernel
