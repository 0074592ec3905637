"""Which principal modes of undulation carry the difference, and what they look like."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..checks import Sealed
from ..mmd import PERMUTATIONS
from ..mmd.contrasts import spread_ratio, standardised_difference
from ..mmd.family import FamilyTests, family_tests
from ..progress import one_library_thread
from ..shapes import ShapeSpace
from .properties import COARSE, PROPERTIES, Property

Real = NDArray[np.float64]

# A mode is named after a property only where their rank correlation over all curves is at least this ...
_SUPPORT = 0.6
# Properties whose correlations are this near to the best one support a name alike.
_ALIKE = 0.05
_WAVES = ("triangularity", "squareness", "asymmetry", "roughness")
# ... and said to differ in its mean, or its spread, from these on, and only by more than so many standard errors.
_SHIFTED, _SPREAD = 0.2, 1.15
_ERRORS = 2.0
# A mode of a smaller share of the variance moves no outline by what can be seen.
_SEEN = 0.01


@dataclass(frozen=True, eq=False)
class Modes(Sealed):
    """The r tangent principal modes, by falling variance.

    Attributes
    ----------
    tests : FamilyTests
        One test per mode, joint over all modes; names "mode 1" to "mode r".
    variance : (r,) array
        Share of the variance of all undulation coordinates.
    mean_difference : (r,) array
        Mean of B less mean of A, in within-sample standard deviations.
    spread_ratio : (r,) array
        Standard deviation of B over that of A.
    correlation : (r, k) array
        Rank correlation of the mode's coordinate with each of the k properties of `PROPERTIES`.
    property_difference : (k,) array
        Of the properties themselves, B less A, in standard deviations of their ranks.
    sizes : (m, n)
        Curves in A and B; where images were permuted, how many independent curves their images are worth.
    bands : (r, 2) int array
        Fewest and most lobes of the waves that each mode consists of; see `properties.bands`. 0 where not known.
    """

    tests: FamilyTests
    variance: Real
    mean_difference: Real
    spread_ratio: Real
    correlation: Real
    property_difference: Real
    sizes: tuple[float, float]
    bands: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.variance)

    def order(self) -> NDArray[np.intp]:
        """Modes by rising adjusted p-value; of equal ones, those that vary most, and are easiest to see, first."""
        return np.lexsort((-self.variance, self.tests.adjusted))

    def to_look_at(self) -> list[int]:
        """The same, those first along which the outline moves enough to be seen."""
        return sorted(self.order().tolist(), key=lambda mode: self.variance[mode] < _SEEN)

    def named(self, mode: int) -> tuple[Property, float] | None:
        """The property that mode (from 0) goes with, and the correlation; None where none supports a name."""
        best = PROPERTIES.index(_clearest(np.abs(self.correlation[mode])))
        correlation = float(self.correlation[mode, best])
        return (PROPERTIES[best], correlation) if abs(correlation) >= _SUPPORT else None

    def label(self, mode: int) -> str:
        """The name of mode (from 0) with what supports it, for a table; empty where nothing supports one."""
        if named := self.named(mode):
            return f"{named[0].name} ({abs(named[1]):.2f})"
        return self._waves(mode) if self._fine(mode) else ""

    def sentence(self, mode: int) -> str:
        """What is known of mode (from 0) in words: its p-value, what it goes with, how B differs along it."""
        words = [
            f"Mode {mode + 1} (adjusted p = {self.tests.adjusted[mode]:.2g}, {self.variance[mode]:.1%} of variance)"
        ]
        if named := self.named(mode):
            words.append(f"goes with {named[0].name} (rank correlation {abs(named[1]):.2f})")
        elif self._fine(mode):
            words.append(f"consists of {self._waves(mode)}")
        return f"{' '.join(words)}: {self._direction(mode)}."

    def _fine(self, mode: int) -> bool:
        return bool(self.bands[mode, 0] > COARSE)

    def _waves(self, mode: int) -> str:
        low, high = self.bands[mode].tolist()
        return f"waves of {low} lobes" if low == high else f"waves of {low} to {high} lobes"

    def _direction(self, mode: int) -> str:
        """How B differs from A; a word for the form only where the property itself differs the same way."""
        shift, ratio = self.mean_difference[mode], self.spread_ratio[mode]
        parts = []
        if abs(shift) >= self._clear:
            parts.append(self._word(mode) or f"B lies {abs(shift):.2f} sd towards {'+' if shift > 0 else '−'}")
        if spread := self._spread_words(ratio):
            parts += [*self._rough_words(mode), *spread]
        return "; ".join(parts) or "no clear shift or change of spread"

    @property
    def _clear(self) -> float:
        """The least shift, in standard deviations, that is no luck of the draw of so few curves."""
        return max(_SHIFTED, _ERRORS * float(np.sqrt(sum(1 / size for size in self.sizes))))

    def _spread_words(self, ratio: float) -> list[str]:
        if ratio in (0, np.inf):
            return [f"{'B' if ratio == 0 else 'A'} does not vary"]
        # The logarithm of a standard deviation of n values has a standard error of about √(1/2n).
        least = max(np.log(_SPREAD), _ERRORS * np.sqrt(sum(1 / (2 * size) for size in self.sizes)))
        return [f"B varies {ratio:.2f} times as widely as A"] if abs(np.log(ratio)) >= least else []

    def _rough_words(self, mode: int) -> list[str]:
        """Waves that vary more widely make rougher outlines: said of fine ones, where roughness itself differs so."""
        rough = next(i for i, one in enumerate(PROPERTIES) if one.name == "roughness")
        measured, wider = self.property_difference[rough], self.spread_ratio[mode] > 1
        if self.named(mode) or not self._fine(mode) or abs(measured) < self._clear or wider != (measured > 0):
            return []
        return [f"B's outlines are {PROPERTIES[rough].more if wider else PROPERTIES[rough].less}"]

    def _word(self, mode: int) -> str | None:
        named = self.named(mode)
        if named is None:
            return None
        towards = self.mean_difference[mode] * named[1]
        measured = self.property_difference[PROPERTIES.index(named[0])]
        if towards * measured <= 0 or abs(measured) < self._clear:
            return None
        return f"B's outlines are {named[0].more if towards > 0 else named[0].less}"


def _clearest(support: Real) -> Property:
    """The property with the most support; every wave makes concave places, and a notch is made of several waves."""
    alike = {one.name: one for one, value in zip(PROPERTIES, support, strict=True) if value >= support.max() - _ALIKE}
    waves = [alike[name] for name in _WAVES if name in alike]
    if "triangularity" in alike:  # three lobes are asymmetric by themselves
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
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Modes:
    """Test every undulation mode by its marginal MMD, jointly over all modes.

    Parameters
    ----------
    t : (N, r) array
        Undulation coordinates, A's rows first.
    first : int
        Number of curves in A.
    measured : dict of str to (N,) array
        `properties` of the same curves, which may name modes.
    image : (N,) array of int, optional
        Image of each curve, those of A numbered first: then images are permuted, and each weighs the same.
    bands : (r, 2) int array, optional
        `properties.bands` of the modes, which may name those that no property names.
    permutations, seed
        As in `family_tests`.

    Returns
    -------
    Modes

    Notes
    -----
    Modes are ranked by the MMD of one coordinate alone. Gradients of the joint MMD and leaving one coordinate out
    miss changes of spread.
    """
    tests = family_tests(
        {f"mode {j + 1}": t[:, j] for j in range(t.shape[1])}, first, image=image, permutations=permutations, seed=seed
    )
    variances = t.var(axis=0)
    ranked = _ranks(np.stack([measured[one.name] for one in PROPERTIES], axis=1))
    return Modes(
        tests,
        variances / (variances.sum() or 1),
        standardised_difference(t, first, image),
        spread_ratio(t, first),
        _correlation(_ranks(t), ranked),
        standardised_difference(ranked, first, image),
        (first, len(t) - first) if image is None else _worth(np.concatenate([t, ranked], axis=1), first, image),
        np.zeros((t.shape[1], 2), dtype=np.intp) if bands is None else bands,
    )


def along_mode(space: ShapeSpace, t: Real, mode: int, deviations: Real | tuple[float, ...] = (-2, 0, 2)) -> Real:
    """Curves along one mode, at the mean scale and the mean of all other modes.

    Parameters
    ----------
    space : ShapeSpace
    t : (N, r) array
        Undulation coordinates whose mean and standard deviation set the steps.
    mode : int
        Counted from 0.
    deviations : sequence of k floats
        Places in standard deviations from the mean.

    Returns
    -------
    (k, n, 2) array
    """
    steps = np.asarray(deviations, dtype=np.float64)
    places = np.zeros((len(steps), t.shape[1]))
    places[:, mode] = t[:, mode].mean() + steps * t[:, mode].std()
    return space.reconstruct(places, np.zeros((len(steps), 3)))


def exaggeration(space: ShapeSpace, t: Real, mode: int, visible: float = 0.08) -> int:
    """How many times ± 2 sd of a mode must be enlarged before the outline moves by a visible share of its radius."""
    low, mean, high = along_mode(space, t, mode)
    moved = np.linalg.norm(high - low, axis=1).max() / 2
    radius = np.linalg.norm(mean, axis=1).mean()
    return int(np.clip(np.ceil(visible * radius / max(moved, 1e-12)), 1, 50))


def _worth(values: Real, first: int, image: NDArray[np.intp]) -> tuple[float, float]:
    """How many independent curves the images of A, and of B, are worth: by the mean intraclass correlation of columns.

    No fewer than there are images, and no more than there are curves.
    """
    counts = np.bincount(image)
    own, total = int(image[:first].max()) + 1, len(counts)
    means = np.stack([np.bincount(image, column) / counts for column in values.T], axis=1)
    within = ((values - means[image]) ** 2).sum(axis=0) / max(len(image) - total, 1)
    of_sides = [part - part.mean(axis=0) for part in (means[:own], means[own:])]
    between = sum((part**2).sum(axis=0) for part in of_sides) / max(total - 2, 1) - within * (1 / counts).mean()
    between = np.maximum(between, 0)
    icc = float((between / np.maximum(between + within, np.finfo(float).tiny)).mean())
    worth = [float((part / (1 + (part - 1) * icc)).sum()) for part in (counts[:own], counts[own:])]
    return worth[0], worth[1]


def _ranks(values: Real) -> Real:
    """Rank of every value within its column, from 1; equal ones share their mean rank, so that their order is none."""
    pairs = zip(np.sort(values, axis=0).T, values.T, strict=True)
    return np.stack([(np.searchsorted(s, v) + np.searchsorted(s, v, "right") + 1) / 2 for s, v in pairs], axis=1)


def _correlation(x: Real, y: Real) -> Real:
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    return (x.T @ y) / np.maximum(np.linalg.norm(x, axis=0)[:, None] * np.linalg.norm(y, axis=0), 1e-300)
