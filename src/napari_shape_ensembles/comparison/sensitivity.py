"""Sensitivity of a result to the archetype: the comparison repeated with several of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import Sealed
from ..palette import axes_of
from ..progress import Listener, as_part, reporting
from ..words import p_text
from .compare import compare_again
from .fragility import Without
from .learning import COMPARISON_STEPS
from .result import Comparison
from .verdict import ROW_WORDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class ArchetypeSensitivity(Sealed):
    """Comparisons of the same ensembles that differ only in the archetype.

    Attributes
    ----------
    comparisons : tuple of Comparison
        The first with the archetype of the settings, the others with random curves, given by `settings.archetype`.

    Examples
    --------
    >>> from napari_shape_ensembles import archetype_sensitivity, compare, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> result = compare(a, b, landmarks=60, rank=10, permutations=199)
    >>> archetype_sensitivity(result, archetypes=2).p_values("scale")
    (0.00010049241282283188, 0.00010049241282283188)
    """

    comparisons: tuple[Comparison, ...]

    @property
    def cases(self) -> tuple[str, ...]:
        """Row of the truth table for each archetype."""
        return tuple(comparison.case for comparison in self.comparisons)

    @property
    def stable(self) -> bool:
        """Whether all archetypes give the same row."""
        return len(set(self.cases)) == 1

    @property
    def comparison(self) -> Comparison:
        """The comparison with the archetype of the settings, marked as inconclusive if archetypes disagree."""
        return self.judged(self.comparisons[0])

    def judged(self, comparison: Comparison) -> Comparison:
        """Mark a comparison with whether its row is the same for other archetypes."""
        return replace(comparison, row_depends_on_archetype=not self.stable, archetypes_agree=self.stable)

    def p_values(self, test: str) -> tuple[float, float]:
        """Smallest and largest p-value of the "undulation" or the "scale" test over the archetypes."""
        values = [getattr(comparison, test).p_value for comparison in self.comparisons]
        return min(values), max(values)

    def mmd(self, test: str) -> tuple[float, float]:
        """Smallest and largest MMD of the "undulation" or the "scale" test over the archetypes."""
        values = [getattr(comparison, test).mmd for comparison in self.comparisons]
        return min(values), max(values)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the p-values of both tests for every archetype, that of the settings as a diamond, and the level.

        Returns the Matplotlib axes.
        """
        ax, level, tests = axes_of(ax, height=1.9), self.comparisons[0].settings.test_level, ("scale", "undulation")
        ax.axvline(level, color="0.3", linestyle=":", label=f"level {level:g}")
        for place, test in enumerate(tests):
            first, *others = (getattr(comparison, test).p_value for comparison in self.comparisons)
            spread = np.linspace(-0.25, 0.25, len(others))
            label = None if place else "other archetypes"
            ax.plot(others, place + spread, "o", color="0.4", fillstyle="none", markersize=5, label=label)
            ax.plot(first, place, "D", color="C3", label=None if place else "archetype of the settings")
        ax.set_yticks(range(len(tests)), tests)
        ax.set(xscale="log", xlabel="p-value", ylim=(-0.5, len(tests) - 0.5), xlim=(None, 1.3))
        same = f"{ROW_WORDS[self.cases[0]]}, with every archetype"
        ax.set_title(same if self.stable else "the result depends on the archetype", loc="left", fontsize="medium")
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False, fontsize="x-small")
        return ax

    def summary(self) -> str:
        """Return the result as one sentence."""
        count = len(self.cases)
        ranges = "; ".join(
            f"{words} p from {p_text(low)} to {p_text(high)}"
            for words, (low, high) in (("form", self.p_values("undulation")), ("scale", self.p_values("scale")))
        )
        if self.stable:
            return f"All {count} archetypes lead to the same answer: {ROW_WORDS[self.cases[0]]} ({ranges})."
        rows = ", ".join(f"{self.cases.count(case)}: {ROW_WORDS[case]}" for case in dict.fromkeys(self.cases))
        return f"The result depends on the archetype; of {count}, {rows} ({ranges})."


def archetype_sensitivity(
    comparison: Comparison, archetypes: int = 5, *, progress: Listener | None = None
) -> ArchetypeSensitivity:
    """Repeat a comparison against several archetypes.

    Parameters
    ----------
    comparison : Comparison
    archetypes : int
        Number of archetypes, at least 2: that of the settings, and pooled curves drawn at random.
    progress : callable, optional
        As in `compare`.

    Examples
    --------
    >>> from napari_shape_ensembles import archetype_sensitivity, compare, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> result = compare(a, b, landmarks=60, rank=10, permutations=199)
    >>> sensitivity = archetype_sensitivity(result, archetypes=3)
    >>> sensitivity.cases, sensitivity.stable
    (('1∧0', '1∧0', '1∧0'), True)
    """
    if archetypes < 2:
        raise ValueError(f"{archetypes} archetypes: use at least 2 to see whether they agree")
    settings = comparison.settings
    drawn = np.random.default_rng(settings.seed).permutation(len(comparison.t)).tolist()
    others = [index for index in drawn if index != settings.archetype][: archetypes - 1]
    count, results = 1 + len(others), []
    with reporting(progress):
        for number, archetype in enumerate((settings.archetype, *others)):
            prefix = f"archetype {number + 1} of {count}: "
            with as_part(number * len(COMPARISON_STEPS), count * len(COMPARISON_STEPS), prefix):
                results.append(compare_again(comparison, archetype=archetype))
    return ArchetypeSensitivity(tuple(results))


def influence(comparison: Comparison, outlines: int = 3, *, progress: Listener | None = None) -> tuple[Without, ...]:
    """Repeat a comparison without each of the outlines farthest from the mean shape, one at a time.

    Parameters
    ----------
    comparison : Comparison
    outlines : int
        Number of outlines, chosen by their distance alone, without regard to the samples.
    progress : callable, optional
        As in `compare`.

    Returns
    -------
    tuple of Without
        Those whose image keeps other outlines. Empty for a contrast of an experiment of several, whose p-values depend
        on all of them.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, samples
    >>> from napari_shape_ensembles.comparison.sensitivity import influence
    >>> a, b = samples.powder_outlines().ensembles()
    >>> [one.case for one in influence(compare(a, b, Settings(landmarks=60, rank=10, permutations=199)), 2)]
    ['1∧0', '1∧0']
    """
    if comparison.p_adjusted is not None:
        return ()
    first, found = len(comparison.a), []
    rows = np.argsort(-comparison.distances["distance_from_mean"].to_numpy(), kind="stable")[:outlines].tolist()
    images = np.concatenate([comparison.a.images, comparison.b.images])
    ids = np.concatenate([comparison.a.ids.astype(str), comparison.b.ids.astype(str)])
    with reporting(progress):
        for number, row in enumerate(rows):
            units, keep = comparison.replicates, np.arange(len(images)) != row
            if units is not None and np.count_nonzero(units == units[row]) == 1:
                continue
            sides = keep[:first], keep[first:]
            if not all(side.any() for side in sides):
                continue
            a, b = comparison.a[sides[0]], comparison.b[sides[1]]
            compared = comparison.compared[0][sides[0]], comparison.compared[1][sides[1]]
            units = None if units is None else units[keep]
            rest = replace(comparison, a=a, b=b, compared=compared, replicates=units)
            changes: dict[str, Any] = {}
            archetype = comparison.settings.archetype
            if isinstance(archetype, int):
                changes["archetype"] = archetype - (row < archetype) if row != archetype else 0
            with as_part(number * len(COMPARISON_STEPS), len(rows) * len(COMPARISON_STEPS), f"without {ids[row]}: "):
                again = compare_again(rest, **changes)
            found.append(Without(str(images[row]), str(ids[row]), again.case))
    return tuple(found)
