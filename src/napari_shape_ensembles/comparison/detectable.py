"""Smallest detectable differences for given numbers of curves, and numbers of curves needed for given differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtr

from .._types import Real
from ..checks import RandomState, seed_of
from ..mmd import MMDTest
from ..mmd.kernel import KERNELS, Distances, Kernel, squared_distances
from ..mmd.two_sample import combined_mmd_test, joint_thresholds
from ..progress import one_library_thread, report
from ..shapes import spd
from .parts import scale_measures, scale_parts, sides
from .settings import Settings

# A `Comparison` has the functions of this module as methods, so its class cannot be imported here.
Comparison = Any

# Kernels of the parts of form other than the Gaussian.
_KINDS: dict[str, Kernel] = {"coarse form": "energy"}
# Size of the sample that represents the population, and iterations of the bisection.
_POINTS, _HALVINGS = 500, 40
# Simulated tests of scale, which give a power of 0.8 to ± 0.06, and iterations of the bisection with these.
_DRAWS, _SIMULATED_HALVINGS = 200, 11
# Most copies of the outlines of the larger sample per outline of the smaller one.
_MAX_COPIES = 10


@dataclass(frozen=True)
class Detectable:
    """Differences that the tests would detect with the given probability; infinite if no difference would be.

    Attributes
    ----------
    size_ratio : float
        Ratio of the lengths of all outlines of one image to those of the other, at equal form and elongation.
    elongation_ratio : float
        Ratio of the elongations (length to width) of all outlines of one image to the other's, at equal area.
    form_shift : float
        Shift of all outlines of one image along the leading undulation coordinate, in its standard deviations.
    power : float
        The probability.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Settings, compare, samples
    >>> a, b = (drawn[np.arange(len(drawn)) < 100] for drawn in samples.powder_outlines().ensembles())
    >>> found = compare(a, b, Settings(landmarks=60, rank=10, permutations=199)).detectable()
    >>> round(found.size_ratio, 1), found.power
    (1.4, 0.8)
    """

    size_ratio: float
    elongation_ratio: float
    form_shift: float
    power: float


def detectable_differences(
    t: Real,
    l: Real,
    first: int,
    undulation: MMDTest,
    scale: MMDTest,
    *,
    power: float = 0.8,
    random_state: RandomState = 0,
    scale_mean: Real | None = None,
) -> Detectable:
    """Smallest differences that would be detected with samples of this size; see `Comparison.detectable`.

    From the coordinates t and l of the pooled curves, `first` rows of A, and the permutation tests of these. The seed
    is that of the subset of 500 curves that represents the population, and of the simulated tests. `scale_mean` is the
    reference of elongations; by default as if outlines were round on average. Tests without permutations, or a power
    outside of 0.5 to 1, raise a ValueError.
    """
    seed = seed_of(random_state)
    if not 0.5 <= power < 1:
        raise ValueError(f"power {power}: give a probability from 0.5 to below 1, such as 0.8")
    if not len(undulation.null) or not len(scale.null):
        raise ValueError("these tests used no permutations: use permutation tests")
    t, l = (_without_difference(points, first) for points in (t, l))
    mean = np.eye(2) if scale_mean is None else scale_mean
    leading = np.zeros(t.shape[1])
    leading[int(t.std(axis=0).argmax())] = 1
    chances = partial(_shift, sizes=(first, len(t) - first), power=power, seed=seed)
    if "mean size" in scale.parts or "elongation" in scale.parts:
        experiments = _ScaleExperiments(l, mean, scale, (first, len(l) - first), seed)
        spreads = dict(zip(("mean size", "elongation"), experiments.spreads, strict=True))
        directions = {"mean size": (1.0, 0.0), "elongation": (0.0, 1.0)}
        size, elongation = (
            _least(partial(experiments.power, direction=directions[name]), 20 * spread, power, _SIMULATED_HALVINGS)
            if name in scale.parts
            else float("inf")
            for name, spread in spreads.items()
        )
    else:
        # l along (1, 0, 1): log of both lengths; along (½, 0, -½): log of their ratio.
        size, elongation = (
            min(chances(l, np.array(direction), scale, name) for name in scale.parts or [""])  # a part per width
            for direction in ([1.0, 0, 1.0], [0.5, 0, -0.5])
        )
    name = next((name for name in ("coarse form", "raw") if name in undulation.parts), next(iter(undulation.parts), ""))
    varies = float(t.std(axis=0).max())  # 0 for outlines of one form, which have no unit of a shift
    form = chances(t, leading, undulation, name) / varies if varies > 0 else float("inf")
    with np.errstate(over="ignore"):
        return Detectable(float(np.exp(size)), float(np.exp(elongation)), float(form), power)


def planned_power(
    result: Comparison,
    count: int | tuple[int, int],
    *,
    size_ratio: float = 1.0,
    elongation_ratio: float = 1.0,
    draws: int = 200,
    random_state: RandomState = 0,
) -> float:
    """Probability that the test of scale detects a given difference at given numbers of curves.

    Parameters
    ----------
    count : int or (int, int)
        Number of outlines planned on each side.
    size_ratio, elongation_ratio : float
        Ratio of the lengths of B's outlines to A's; ratio of their elongations (length to width).
    draws : int
        Number of simulated experiments: 200 estimate a probability of one half to ± 0.07.
    random_state : int, Generator or RandomState
        Seed of the draws.

    Raises
    ------
    ValueError
        For ratios that are not positive, fewer than two outlines or one draw, or a comparison that permuted images.

    Notes
    -----
    Bootstrap: outlines are resampled with replacement after removing the difference between the samples; B's are
    scaled, and stretched along their own axes; the whole test is done with permutations. This is the power for
    outlines that are drawn independently: if images or animals are replicated, see `ReplicateQuantities.planning`.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import compare, samples
    >>> a, b = (drawn[np.arange(len(drawn)) < 100] for drawn in samples.powder_outlines().ensembles())
    >>> result = compare(a, b, landmarks=60, rank=10, permutations=199, significance=0.1)
    >>> few, many = (result.planned_power(count, elongation_ratio=1.1, draws=50) for count in (20, 80))
    >>> few < 0.5 < many
    True
    """
    m, n = count if isinstance(count, tuple | list) else (count, count)
    if not all(isinstance(number, int | np.integer) for number in (m, n, draws)):
        raise ValueError(f"{m} and {n} outlines, {draws} draws: give integers")
    if min(m, n) < 2 or draws < 1:
        raise ValueError(f"{m} and {n} outlines, {draws} draws: give at least two outlines per side and one draw")
    if not (np.isfinite([size_ratio, elongation_ratio]).all() and min(size_ratio, elongation_ratio) > 0):
        raise ValueError(f"ratios {size_ratio} and {elongation_ratio}: give positive numbers, such as 1.1")
    require_curves_permuted(result)
    settings, mean, seed = result.settings, result.space.scale_mean_, seed_of(random_state)
    l = _without_difference(result.l, len(result.a))
    moved = _changed(l, mean, np.log(size_ratio), np.log(elongation_ratio))
    found = 0
    for draw in range(draws):
        report("simulating experiments", draw, draws)
        rng = np.random.default_rng([seed, draw])
        drawn = np.concatenate([l[rng.integers(len(l), size=m)], moved[rng.integers(len(l), size=n)]])
        samples, kernels = sides(scale_parts(drawn, mean, settings).tested, m)
        found += combined_mmd_test(
            samples,
            kernels=kernels,
            permutations=settings.permutations,
            significance=settings.test_level,
            factor=settings.bandwidth,
            bins=settings.bins,
            seed=seed + draw,
        ).rejected
    return found / draws


def require_curves_permuted(result: Comparison) -> None:
    """Raise for a comparison that permuted images."""
    if result.permuted != "curves":
        raise ValueError(
            f"this comparison permuted {result.permuted}: quantities.planning() of an experiment states what more of "
            "them would detect"
        )


def _without_difference(points: Real, first: int) -> Real:
    """Center both samples, so that the difference between them does not count as spread."""
    return np.concatenate([part - part.mean(axis=0) for part in (points[:first], points[first:])])


def _changed(l: Real, mean: Real, size: float, elongation: float) -> Real:
    """Scale coordinates of outlines scaled, and stretched along their own axes, by ratios with these logarithms."""
    extents, axes = np.linalg.eigh(spd.from_coordinates(mean, l))
    extents = extents * np.exp(size + elongation * np.array([-0.5, 0.5]))
    return spd.coordinates(mean, (axes * extents[:, None]) @ axes.swapaxes(1, 2))


class _ScaleExperiments:
    """Simulated tests of components of scale, on resampled outlines of which one sample is changed.

    A linear approximation will not do: winsorized sizes follow only part of a change, and outlines that are elongated
    on average change in the registered frame, too.
    """

    def __init__(self, l: Real, mean: Real, test: MMDTest, sizes: tuple[int, int], seed: int) -> None:
        m, n = sizes
        rng = np.random.default_rng(seed)
        if len(l) > _POINTS:
            l = rng.choice(l, _POINTS, replace=False, axis=0)
        self._l, self._mean, self._test, self._thresholds = l, mean, test, joint_thresholds(test)
        even = np.full(len(l), 1 / len(l))
        self._a, self._b = (rng.multinomial(count, even, size=_DRAWS) / count for count in sizes)
        self._signed = np.concatenate([self._a, -self._b], axis=1).astype(np.float32)
        # The parts are learned from pooled curves: so many unchanged and changed ones.
        self._copies = [min(_MAX_COPIES, max(1, round(ratio))) for ratio in (m / n, n / m)]
        measured = scale_measures(l, mean)
        #: Standard errors of a difference in mean log size and in mean log elongation.
        self.spreads = [float(values[:, 0].std()) * np.sqrt(1 / m + 1 / n) for values in measured]

    def power(self, amount: float, direction: tuple[float, float]) -> float:
        """Share of tests that detect a change of log size and log elongation by a multiple of the direction."""
        changed = _changed(self._l, self._mean, amount * direction[0], amount * direction[1])
        both = np.concatenate([self._l] * self._copies[0] + [changed] * self._copies[1])
        found = np.zeros(_DRAWS, dtype=bool)
        for name, part in scale_parts(both, self._mean, Settings()).tested.items():
            if name in self._test.parts:
                x, y = part.points[: len(self._l)], part.points[-len(self._l) :]
                found |= (
                    self._squared(x, y, part.kernel, self._test.parts[name].bandwidth) > self._thresholds[name] ** 2
                )
        return float(found.mean())

    def _squared(self, x: Real, y: Real, kind: Kernel, bandwidth: float) -> Real:
        """Squared MMD of every simulated pair of samples, from points unchanged and changed."""
        if kind == "mean":
            return np.asarray((((self._a @ x - self._b @ y) / bandwidth) ** 2).sum(axis=1))
        points = np.concatenate([x, y])
        kernel = KERNELS[kind].kernel(squared_distances(points, points), bandwidth)
        np.fill_diagonal(kernel, KERNELS[kind].kernel(np.zeros(1), bandwidth)[0])  # without rounding errors
        with one_library_thread():  # small products, which several threads only slow down on a busy machine
            return np.einsum("ij,ij->i", self._signed @ kernel.astype(np.float32), self._signed)


def _least(found: Callable[[float], float], reach: float, power: float, halvings: int) -> float:
    """Least amount up to `reach` that is found with the given power; infinite if none is."""
    if found(reach) < power:
        return float("inf")
    low, high = 0.0, reach
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) >= power else (middle, high)
    return high


def _shift(
    points: Real, direction: Real, test: MMDTest, name: str, *, sizes: tuple[int, int], power: float, seed: int
) -> float:
    """Multiple of the direction by which one sample must be shifted for the test to have the given power."""
    part = test.parts.get(name, test)
    threshold = joint_thresholds(test)[name if test.parts else ""] ** 2
    reach = 20 * (part.bandwidth + float(points.std(axis=0).max())) / float(np.linalg.norm(direction))
    some = points
    if len(points) > _POINTS:
        some = np.random.default_rng(seed).choice(points, _POINTS, replace=False, axis=0)
    found = _Power(some, direction, part, KERNELS[_KINDS.get(name, "gaussian")], threshold, sizes)
    return _least(found, reach, power, _HALVINGS) if np.isfinite(threshold) else float("inf")


class _Power:
    """Power of the test for a shift, by the normal limit of its statistic."""

    def __init__(
        self,
        points: Real,
        direction: Real,
        test: MMDTest,
        kind: type[Distances],
        threshold: float,
        sizes: tuple[int, int],
    ) -> None:
        self._points, self._direction, self._sizes = points, direction, sizes
        self._kind, self._bandwidth, self._threshold = kind, test.bandwidth, threshold
        self._null_mean, self._null_variance = float((test.null**2).mean()), float((test.null**2).var())
        self._within = self._kernel(points)
        own = float(kind.kernel(np.zeros(1), test.bandwidth)[0])
        self._spread = own - float(self._within.mean()) * len(points) / max(1, len(points) - 1)

    def __call__(self, shift: float) -> float:
        m, n = self._sizes
        across = self._kernel(self._points + shift * self._direction)
        apart = (self._within - across) * len(across) / max(1, len(across) - 1)
        witness_x, witness_y = apart.mean(axis=1), -apart.mean(axis=0)
        squared = float(witness_x.mean() - witness_y.mean())
        # The shift widens the pooled sample, and with it the null distribution of the test.
        share = m / (m + n)
        wider = 1 + share * (1 - share) * squared / max(self._spread, np.finfo(float).tiny)
        variance = self._null_variance + 4 * (witness_x.var() / m + witness_y.var() / n)
        deviation = np.sqrt(max(variance, np.finfo(float).tiny))
        return float(ndtr((squared + self._null_mean - wider * self._threshold) / deviation))

    def _kernel(self, others: Real) -> Real:
        """Kernel of the points with others, without self-pairs, which a population does not have."""
        kernel = self._kind.kernel(squared_distances(self._points, others), self._bandwidth)
        np.fill_diagonal(kernel, 0)
        return kernel
