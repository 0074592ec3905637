"""Shares of size, elongation, coarse form and roughness in a difference."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from .._types import Index, Real
from ..checks import Sealed
from ..comparison.effects import MIN_UNITS, resample, unbiased_of_images
from ..comparison.learning import KNOWN
from ..mmd import MMDTest
from ..mmd.contrasts import (
    RESAMPLES,
    difference_of_means,
    percentile_ends,
    spread_interval,
    spread_ratio,
    welch_interval,
)
from ..mmd.family import FamilyTests, family_tests
from ..mmd.kernel import PERMUTATIONS, SIGNIFICANCE, gaussian, median_distance
from ..mmd.replicates import mean_kernels
from ..palette import axes_of
from ..progress import one_library_thread, over_blocks
from ..shapes import ShapeSpace, grassmann, spd
from .properties import coarse_coordinates, fine_amplitude

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: The four components a difference is split into.
COMPONENTS = ("size", "elongation", "coarse form", "roughness")
#: Components of scale, and components of form.
OF_SCALE, OF_FORM = COMPONENTS[:2], COMPONENTS[2:]
#: Description of the quantity of each of the two tests, as worded in the answer.
TEST_QUANTITIES = {"scale": "size or elongation", "undulation": "form"}
# Display names of parts of a test whose own names are ambiguous; see `comparison.parts`.
PART_NAMES = {"size": "size (mean and spread)", "size and elongation": "size and elongation together"}
# What coordinates of undulation mainly describe.
_OF_COORDINATES = {"raw": "coarse form", "normalized": "roughness"}
_WORDS = {
    "size": ("smaller", "larger"),
    "elongation": ("less elongated", "more elongated"),
    "roughness": ("smoother", "rougher"),
}
_ROWS = 512
# A ratio of spreads below this factor is not reported in sentences.
_MIN_SPREAD_RATIO = 1.15
# Ratios from here to there are written without an exponent.
_MIN_FIXED, _MAX_FIXED = 1e-3, 1e5


@dataclass(frozen=True, eq=False)
class Components(Sealed):
    """Decomposition of the difference into components.

    Attributes
    ----------
    tests : FamilyTests
        One test per component of `COMPONENTS`, with joint p-values.
    share : (4,) array
        Unbiased MMD² of each component, clipped at zero, over their sum: the additive parts of the MMD² of the sum of
        their kernels. All zero if no component shows a difference.
    share_interval : (2, 4) array
        95 % bootstrap interval of the shares; NaN if there are too few images or curves.
    ratio : (4,) array
        B over A: geometric means of size, elongation (ratio of the RMS extents) and fine amplitude; NaN for the coarse
        form, which is not a scalar.
    ratio_interval : (2, 4) array
        95 % interval of the ratios, by symmetric bootstrap-t; of images, or fewer than five curves, Student's (Welch).
    spread : (4,) array
        Standard deviation of B over that of A, of the logarithms; NaN for the coarse form, and if neither varies.
    spread_interval : (2, 4) array
        95 % interval of these ratios, by symmetric bootstrap-t; of images Student's (Welch).
    """

    tests: FamilyTests
    share: Real
    share_interval: Real
    ratio: Real
    ratio_interval: Real
    spread: Real
    spread_interval: Real

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Plot the share of each component, with its bootstrap interval, on axes, by default those of a new figure."""
        axis = axes_of(ax, height=1.9)
        rows = np.arange(len(COMPONENTS))[::-1]
        axis.barh(rows, self.share, color="0.7", edgecolor="0.2")
        # The interval of a share need not hold it, as shares below zero count as zero.
        middle, reach = self.share_interval.mean(axis=0), np.ptp(self.share_interval, axis=0) / 2
        axis.errorbar(middle, rows, xerr=reach, fmt="none", ecolor="black", capsize=3)
        axis.set_yticks(rows, COMPONENTS)
        axis.set(xlim=(0, 1.02), xlabel="share of the squared MMD of all components (bar: 95 % bootstrap interval)")
        return axis

    def differing(self, significance: float = SIGNIFICANCE) -> tuple[str, ...]:
        """Names of the components that differ at a family-wise error rate."""
        rejected = self.tests.rejected(significance)
        return tuple(name for name, differs in zip(COMPONENTS, rejected, strict=True) if differs)

    def sentence(self, component: str) -> str:
        """Describe how B differs from A in one component, with the numbers."""
        i = COMPONENTS.index(component)
        p = f"adjusted p = {self.tests.adjusted[i]:.2g}"
        if component not in _WORDS:
            return f"The coarse form differs (waves of up to 5 lobes around the outline; {p})."
        less, more = _WORDS[component]
        parts = []
        if not _holds_one(self.ratio_interval[:, i]):
            ratio, low, high = ratio_words(self.ratio[i], *self.ratio_interval[:, i])
            comparative = less if self.ratio[i] < 1 else more
            parts.append(
                f"B's outlines are {comparative}: {component} {ratio} times A's, 95 % interval {low} to {high}"
            )
        parts += self._spread_words(i)
        return f"{'; '.join(parts) or f'The distribution of {component} differs'} ({p})."

    def ratio_sentence(self) -> str:
        """Describe the ratios of all scalar components, without a statement on whether they differ."""
        listed, known = [], False
        for name in _WORDS:
            i = COMPONENTS.index(name)
            interval = self.ratio_interval[:, i]
            finite = bool(np.isfinite(interval).all())
            ratio, low, high = ratio_words(self.ratio[i], *(interval if finite else (self.ratio[i],) * 2))
            listed.append(f"{name} {ratio}" + (f" ({low} to {high})" if finite else ""))
            known = known or finite
        intervals = ", with 95 % intervals" if known else ""
        return f"Ratios of the means of images, B over A{intervals}: {', '.join(listed)}."

    def _spread_words(self, i: int) -> list[str]:
        ratio, interval = self.spread[i], self.spread_interval[:, i]
        if ratio in (0, np.inf):
            return [f"{'B' if ratio == 0 else 'A'}'s {COMPONENTS[i]} does not vary"]
        if np.isnan(ratio) or 1 / _MIN_SPREAD_RATIO < ratio < _MIN_SPREAD_RATIO or _holds_one(interval):
            return []
        words, low, high = ratio_words(ratio, *interval)
        return [f"B's {COMPONENTS[i]} varies {words} times as widely as A's, 95 % interval {low} to {high}"]


def differing_parts(test: MMDTest, significance: float, told: Collection[str] = ()) -> list[str]:
    """Name the parts in which a combined test found a difference, without redundant and already reported ones."""
    differing = dict.fromkeys(_described(name) for name, part in test.parts.items() if part.p_value <= significance)
    found = [name for name in differing if name and not any(known in name for known in told)]
    return [PART_NAMES.get(name, name) for name in found if not any(one != name and one in name for one in found)]


def differences_named(test: MMDTest, intervals: Mapping[str, Real], significance: float) -> tuple[list[str], list[str]]:
    """Name what the answer states of a test that rejects: components by their ratio, and further parts.

    `intervals` holds (low, high) of the ratio of each component. One is named if its interval excludes 1 and its own
    part of the test, if there is one, rejects: an interval of 95 % alone is less strict than the test. One that was
    left out of the test is not named.
    """
    ratios = [
        name
        for name, interval in intervals.items()
        if name not in test.left_out
        and not _holds_one(interval)
        and min(_own_p_values(test, name), default=0.0) <= significance
    ]
    return ratios, differing_parts(test, significance, ratios)


def _own_p_values(test: MMDTest, component: str) -> list[float]:
    """Return the p-values of the parts of a test that test this component and no other."""
    others = [other for other in COMPONENTS if other != component]
    return [
        part.p_value
        for name, part in test.parts.items()
        if component in _described(name) and not any(other in name for other in others)
    ]


def _described(part: str) -> str:
    """Return what a part of a test describes, without the width of its kernel; empty for the whole quantity."""
    name = part.partition("s = ")[0].rstrip(", ")
    return _OF_COORDINATES.get(name, name)


def _holds_one(interval: Real) -> bool:
    return bool(interval[0] <= 1 <= interval[1])


def ratio_words(*ratios: float) -> list[str]:
    """Format ratios with two digits, or as many more as distinguish them from 0 and from 1; or as 1.03e-08."""
    for digits in range(2, 6):
        words = [f"{ratio:.{digits}f}" for ratio in ratios]
        if not {0.0, 1.0} & {float(word) for word in words}:
            break
    return [
        word if ratio in (0, 1) or _MIN_FIXED <= ratio < _MAX_FIXED or not isfinite(ratio) else f"{ratio:.3g}"
        for word, ratio in zip(words, ratios, strict=True)
    ]


@one_library_thread()
def components(space: ShapeSpace, t: Real, l: Real) -> dict[str, Real]:
    """Coordinates of every curve in each component of `COMPONENTS`.

    Parameters
    ----------
    space : ShapeSpace
    t : (N, r) array
    l : (N, 3) array

    Returns
    -------
    dict of str to array
        size (N,): logarithm of the geometric mean of the RMS extents. elongation (N,): logarithm of their ratio.
        coarse form (N, d): waves of up to `COARSE` lobes, in the registered frame. roughness (N,): logarithm of the RMS
        amplitude of all finer waves in the r coordinates. What varies by no more than the precision of outlines is
        rounding error, and constant here.
    """
    tangents = np.tensordot(t, space.basis[: t.shape[1]], axes=1)
    undulation = grassmann.exp(space.undulation_mean, tangents)
    extents = np.linalg.eigvalsh(spd.from_coordinates(space.scale_mean, l))
    found = {
        "size": np.log(extents).mean(axis=1),
        "elongation": np.log(extents[:, 1] / extents[:, 0]),
        "coarse form": coarse_coordinates(undulation),
        "roughness": np.log(fine_amplitude(undulation)),
    }
    return {name: np.where(values.std(axis=0) > KNOWN, values, values.mean(axis=0)) for name, values in found.items()}


@one_library_thread()
def component_tests(
    parts: dict[str, Real],
    first: int,
    *,
    image: Index | None = None,
    permutations: int = PERMUTATIONS,
    rounds: int = RESAMPLES,
    seed: int = 0,
) -> Components:
    """Test the four components jointly, and compute their shares in the difference.

    Parameters
    ----------
    parts : dict of str to array
        From `components`, A's rows first.
    first : int
        Number of curves in A.
    image : (N,) array of int, optional
        Image of each curve, those of A numbered first: then images are permuted and resampled, with equal weights, and
        ratios have Student's interval (Welch) over the images' means, spreads over the logarithms of the deviations
        within images. With fewer than 4 images, or curves, a side shares have no interval.
    permutations : int
        Random relabelings.
    rounds : int
        Bootstrap resamples of the curves, or the images, of each sample.
    seed : int

    Returns
    -------
    Components

    Notes
    -----
    The MMD² of a sum of kernels, each on its own component, is exactly the sum of the components' MMD², which makes the
    shares additive. It does not detect differences in the dependence between components.
    """
    if image is not None:
        return _over_images(parts, first, image, permutations, rounds, seed)
    total = len(parts["size"])
    counts = resample(first, total, rounds, seed)
    squared = np.stack([_unbiased_squared_mmd(parts[name], first, counts) for name in COMPONENTS], axis=1)
    shares = _shares(squared)
    ratios = _ratios(parts, first, counts[1:])
    return Components(
        family_tests(parts, first, permutations=permutations, seed=seed),
        shares[0],
        _share_interval(shares, first, total),
        *ratios,
    )


def _share_interval(shares: Real, own: int, total: int) -> Real:
    """Percentile interval of the shares of curves or images, observed and for every resample; NaN for too few."""
    if min(own, total - own) < MIN_UNITS:
        return np.full((2, 4), np.nan)
    return np.quantile(shares[1:], percentile_ends(own, total - own), axis=0)


def _over_images(
    parts: dict[str, Real], first: int, image: Index, permutations: int, rounds: int, seed: int
) -> Components:
    """As `component_tests`, with images instead of curves."""
    own, total = int(image[:first].max()) + 1, int(image.max()) + 1
    counts = resample(own, total, rounds, seed)
    squared = []
    for name in COMPONENTS:
        points = parts[name].reshape(len(image), -1)
        between = mean_kernels(points, image, bandwidth=median_distance(points)).between
        squared.append(np.nan_to_num(unbiased_of_images(between, counts, own)[0]))
    shares = _shares(np.stack(squared, axis=1))
    interval = _share_interval(shares, own, total)
    of_means, of_spreads = np.full((3, 4), np.nan), np.full((3, 4), np.nan)
    sizes = np.bincount(image)
    for place, name in enumerate(COMPONENTS):
        values = parts[name]
        if values.ndim > 1:
            continue
        means = np.bincount(image, values) / sizes
        of_means[:, place] = _welch_ratio(means, own)
        if sizes.min() > 1:
            deviations = np.sqrt(np.bincount(image, (values - means[image]) ** 2) / (sizes - 1))
            if deviations.min() > 0:
                of_spreads[:, place] = _welch_ratio(np.log(deviations), own)
    tests = family_tests(parts, first, image=image, permutations=permutations, seed=seed)
    return Components(tests, shares[0], interval, of_means[0], of_means[1:], of_spreads[0], of_spreads[1:])


def _welch_ratio(logarithms: Real, own: int) -> Real:
    """Ratio of the geometric means of two groups of logarithms, with Student's interval (infinite for one image)."""
    with np.errstate(over="ignore"):
        return np.exp(welch_interval(logarithms[:own], logarithms[own:]))


def _shares(squared: Real) -> Real:
    positive = np.maximum(squared, 0)
    total = positive.sum(axis=1, keepdims=True)
    return positive / np.where(total > 0, total, 1)


def _ratios(parts: dict[str, Real], first: int, counts: Real) -> tuple[Real, Real, Real, Real]:
    """Ratios and their interval, spreads and theirs; NaN for components with more than one coordinate."""
    single = [name for name in COMPONENTS if parts[name].ndim == 1]
    where = [COMPONENTS.index(name) for name in single]
    values = np.stack([parts[name] for name in single], axis=1)
    ratio, spread = np.full(4, np.nan), np.full(4, np.nan)
    of_ratio, of_spread = np.full((2, 4), np.nan), np.full((2, 4), np.nan)
    with np.errstate(over="ignore"):
        ratio[where], of_ratio[0, where], of_ratio[1, where] = np.exp(difference_of_means(values, first, counts))
    spread[where], of_spread[:, where] = spread_ratio(values, first), spread_interval(values, first, counts)
    return ratio, of_ratio, spread, of_spread


def _unbiased_squared_mmd(x: Real, first: int, weights: Real) -> Real:
    """MMD² for every row of counts (R, N) of the curves, without self-pairs: (R,)."""
    x = x.reshape(len(x), -1)
    width = median_distance(x)
    a, b = weights.copy(), weights.copy()
    a[:, first:], b[:, :first] = 0, 0

    def sums(rows: slice) -> Real:
        kernel = gaussian(x[rows], x, width)
        kernel[np.arange(len(kernel)), rows.start + np.arange(len(kernel))] = 0
        to_a, to_b = (weights[:, side] @ kernel[:, side].T for side in (slice(first), slice(first, None)))
        pairs = ((a, to_a), (b, to_b), (a, to_b))
        return np.stack([np.einsum("ri,ri->r", one[:, rows], other) for one, other in pairs])

    blocks = (slice(start, start + _ROWS) for start in range(0, len(x), _ROWS))
    in_a, in_b, across = np.sum(over_blocks(sums, blocks), axis=0)
    return in_a / _pairs(a) + in_b / _pairs(b) - 2 * across / (a.sum(axis=1) * b.sum(axis=1))


def _pairs(counts: Real) -> Real:
    """Number of ordered pairs of different curves, (R,)."""
    return np.maximum(counts.sum(axis=1) ** 2 - (counts**2).sum(axis=1), 1)
