"""Tests of the principal modes of undulation, and their interpretation."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._types import Real
from ..checks import Sealed
from ..comparison.quantities import COARSE
from ..mmd.contrasts import spread_ratio, standardised_difference
from ..mmd.family import FamilyTests, family_tests
from ..mmd.kernel import PERMUTATIONS
from ..mmd.replicates import group_means, ranks
from ..progress import one_library_thread
from ..shapes import ShapeSpace
from ..words import p_text
from .properties import PROPERTIES, Property

# A mode is named after a property only if their rank correlation over all curves is at least this.
_MIN_CORRELATION = 0.6
# Properties whose correlations are this close to the best one support a name equally.
_CORRELATION_TOLERANCE = 0.05
_WAVES = ("triangularity", "squareness", "asymmetry", "roughness")
# Minimum shift and spread ratio of a mode that are reported, and the number of standard errors they must exceed.
_MIN_SHIFT, _MIN_SPREAD_RATIO = 0.2, 1.15
_MIN_STANDARD_ERRORS = 2.0
# Change relative to the radius that is visible.
_VISIBLE = 0.08
# A mode with a smaller fraction of the variance has no visible effect on the outline.
_MIN_VISIBLE_SHARE = 0.01


@dataclass(frozen=True, eq=False)
class Modes(Sealed):
    """The r tangent principal modes, by decreasing variance.

    Attributes
    ----------
    tests : FamilyTests
        One test per mode, with joint p-values; names "mode 1" to "mode r".
    variance : (r,) array
        Fraction of the variance of all undulation coordinates.
    mean_difference : (r,) array
        Mean of B minus mean of A, in within-sample standard deviations.
    spread_ratio : (r,) array
        Standard deviation of B over that of A.
    correlation : (r, k) array
        Rank correlation of the mode's coordinate with each of the k properties of `PROPERTIES`.
    property_difference : (k,) array
        Difference of the properties themselves, B minus A, in standard deviations of their ranks.
    sizes : (m, n)
        Curves in A and B; if images were permuted, the effective number of independent curves.
    bands : (r, 2) int array
        Minimum and maximum lobes of the waves of each mode; see `properties.bands`. 0 if unknown.
    samples : (str, str)
        What the two samples are called in sentences.
    """

    tests: FamilyTests
    variance: Real
    mean_difference: Real
    spread_ratio: Real
    correlation: Real
    property_difference: Real
    sizes: tuple[float, float]
    bands: NDArray[np.intp]
    samples: tuple[str, str] = ("A", "B")

    def __len__(self) -> int:
        return len(self.variance)

    def order(self) -> NDArray[np.intp]:
        """Modes by ascending adjusted p-value; ties by decreasing variance."""
        return np.lexsort((-self.variance, self.tests.adjusted))

    def visible_first(self) -> list[int]:
        """As `order`, but with visible modes first."""
        return sorted(self.order().tolist(), key=lambda mode: self.variance[mode] < _MIN_VISIBLE_SHARE)

    def by_relevance(self, significance: float) -> list[int]:
        """As `order`, but with modes that differ first, and among these and the others the visible ones."""
        return sorted(self.visible_first(), key=lambda mode: self.tests.adjusted[mode] > significance)

    def named(self, mode: int) -> tuple[Property, float] | None:
        """The property that mode (from 0) correlates with, and the correlation; None if no property supports a name."""
        best = PROPERTIES.index(_clearest(np.abs(self.correlation[mode])))
        correlation = float(self.correlation[mode, best])
        return (PROPERTIES[best], correlation) if abs(correlation) >= _MIN_CORRELATION else None

    def label(self, mode: int) -> str:
        """Name of mode (from 0) with its correlation, for a table; empty if nothing supports one."""
        if named := self.named(mode):
            return f"{named[0].name} ({abs(named[1]):.2f})"
        return self._waves(mode) if self._fine(mode) else ""

    def sentence(self, mode: int) -> str:
        """Describe mode (from 0): its p-value, the property it correlates with, and how B differs along it."""
        words = [
            f"Mode {mode + 1} (adjusted p = {p_text(self.tests.adjusted[mode])}, {self.variance[mode]:.1%} of variance)"
        ]
        if named := self.named(mode):
            words.append(f"correlates with {named[0].name} (rank correlation {abs(named[1]):.2f})")
        elif self._fine(mode):
            words.append(f"consists of {self._waves(mode)}")
        return f"{' '.join(words)}: {self._direction(mode)}."

    def _fine(self, mode: int) -> bool:
        return bool(self.bands[mode, 0] > COARSE)

    def _waves(self, mode: int) -> str:
        low, high = self.bands[mode].tolist()
        return f"waves of {low} lobes" if low == high else f"waves of {low} to {high} lobes"

    def _direction(self, mode: int) -> str:
        """Describe how B differs from A; names the form only if the property itself differs in the same direction."""
        shift, ratio, (_, b) = self.mean_difference[mode], self.spread_ratio[mode], self.samples
        parts = []
        if abs(shift) >= self._clear:
            away = f" {abs(shift):.2f} sd" if np.isfinite(shift) else ""
            parts.append(self._word(mode) or f"{b} lies{away} toward {'+' if shift > 0 else '−'}")
        if spread := self._spread_words(ratio):
            parts += [*self._rough_words(mode), *spread]
        return "; ".join(parts) or "no clear shift or change of spread"

    @property
    def _clear(self) -> float:
        """Smallest shift, in standard deviations, that exceeds the sampling error at these sample sizes."""
        return max(_MIN_SHIFT, _MIN_STANDARD_ERRORS * float(np.sqrt(sum(1 / size for size in self.sizes))))

    def _spread_words(self, ratio: float) -> list[str]:
        a, b = self.samples
        if ratio in (0, np.inf):
            return [f"{b if ratio == 0 else a} does not vary"]
        # The logarithm of a standard deviation of n values has a standard error of about √(1/2n).
        least = max(
            np.log(_MIN_SPREAD_RATIO), _MIN_STANDARD_ERRORS * np.sqrt(sum(1 / (2 * size) for size in self.sizes))
        )
        return [f"{b}'s spread is {ratio:.2f} times {a}'s"] if abs(np.log(ratio)) >= least else []

    def _rough_words(self, mode: int) -> list[str]:
        """Wider variation of fine waves makes rougher outlines: stated only if roughness itself differs accordingly."""
        rough = next(i for i, one in enumerate(PROPERTIES) if one.name == "roughness")
        measured, wider = self.property_difference[rough], self.spread_ratio[mode] > 1
        if self.named(mode) or not self._fine(mode) or abs(measured) < self._clear or wider != (measured > 0):
            return []
        return [f"{self.samples[1]}'s outlines are {PROPERTIES[rough].more if wider else PROPERTIES[rough].less}"]

    def _word(self, mode: int) -> str | None:
        named = self.named(mode)
        if named is None:
            return None
        towards = self.mean_difference[mode] * named[1]
        measured = self.property_difference[PROPERTIES.index(named[0])]
        if towards * measured <= 0 or abs(measured) < self._clear:
            return None
        return f"{self.samples[1]}'s outlines are {named[0].more if towards > 0 else named[0].less}"


def _clearest(support: Real) -> Property:
    """Property with the most support; every wave makes concavities, and a notch consists of several waves."""
    alike = {
        one.name: one
        for one, value in zip(PROPERTIES, support, strict=True)
        if value >= support.max() - _CORRELATION_TOLERANCE
    }
    waves = [alike[name] for name in _WAVES if name in alike]
    if "triangularity" in alike:  # three lobes are asymmetric by nature
        waves = [one for one in waves if one.name != "asymmetry"]
    if "concavity" in alike and waves:
        return waves[0] if len(waves) == 1 else alike["concavity"]
    return PROPERTIES[int(support.argmax())]


@one_library_thread()
def mode_tests(
    t: Real,
    first: int,
    measured: dict[str, Real],
    *,
    image: NDArray[np.intp] | None = None,
    bands: NDArray[np.intp] | None = None,
    samples: tuple[str, str] = ("A", "B"),
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Modes:
    """Test every undulation mode by its marginal MMD, jointly over all modes.

    Modes may be named after `measured`, the `properties` of the same curves; `properties.bands` describe the others.
    `samples` are what A and B are called in sentences; other parameters are those of `family_tests`. Modes are ranked
    by the MMD of their single coordinate. Gradients of the joint MMD, or leaving one coordinate out, would miss changes
    of spread.
    """
    tests = family_tests(
        {f"mode {j + 1}": t[:, j] for j in range(t.shape[1])}, first, image=image, permutations=permutations, seed=seed
    )
    variances = t.var(axis=0)
    ranked = ranks(np.stack([measured[one.name] for one in PROPERTIES], axis=1))
    return Modes(
        tests,
        variances / (variances.sum() or 1),
        standardised_difference(t, first, image),
        spread_ratio(t, first),
        _correlation(ranks(t), ranked),
        standardised_difference(ranked, first, image),
        (first, len(t) - first) if image is None else _worth(np.concatenate([t, ranked], axis=1), first, image),
        np.zeros((t.shape[1], 2), dtype=np.intp) if bands is None else bands,
        samples,
    )


def along_mode(space: ShapeSpace, t: Real, mode: int, deviations: Real | tuple[float, ...] = (-2, 0, 2)) -> Real:
    """Curves (k, n, 2) along one mode, counted from 0, at the mean scale and the mean of all other modes.

    `deviations` are places in standard deviations of t from its mean.
    """
    steps = np.asarray(deviations, dtype=np.float64)
    places = np.zeros((len(steps), t.shape[1]))
    places[:, mode] = t[:, mode].mean() + steps * t[:, mode].std()
    return space.reconstruct(places, np.zeros((len(steps), 3)))


def exaggeration(space: ShapeSpace, t: Real, mode: int) -> int:
    """Factor by which ± 2 sd of a mode must be exaggerated for a visible change relative to the radius."""
    low, mean, high = along_mode(space, t, mode)
    moved = np.linalg.norm(high - low, axis=1).max() / 2
    radius = np.linalg.norm(mean, axis=1).mean()
    return int(np.clip(np.ceil(_VISIBLE * radius / max(moved, 1e-12)), 1, 50))


def _worth(values: Real, first: int, image: NDArray[np.intp]) -> tuple[float, float]:
    """Effective number of independent curves in the images of A and of B, from the mean intraclass correlation.

    At least the number of images, and at most the number of curves.
    """
    counts = np.bincount(image)
    own, total = int(image[:first].max()) + 1, len(counts)
    means = group_means(values, image)
    within = ((values - means[image]) ** 2).sum(axis=0) / max(len(image) - total, 1)
    of_sides = [part - part.mean(axis=0) for part in (means[:own], means[own:])]
    between = sum((part**2).sum(axis=0) for part in of_sides) / max(total - 2, 1) - within * (1 / counts).mean()
    between = np.maximum(between, 0)
    icc = float((between / np.maximum(between + within, np.finfo(float).tiny)).mean())
    worth = [float((part / (1 + (part - 1) * icc)).sum()) for part in (counts[:own], counts[own:])]
    return worth[0], worth[1]


def _correlation(x: Real, y: Real) -> Real:
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    return (x.T @ y) / np.maximum(np.linalg.norm(x, axis=0)[:, None] * np.linalg.norm(y, axis=0), 1e-300)
