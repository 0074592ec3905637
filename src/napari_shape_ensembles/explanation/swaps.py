"""Control experiment: forms and scales of two samples exchanged, and the new curves compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._types import Real
from ..checks import RandomState, Sealed, expect, seed_of
from ..comparison import Comparison, Settings, compare
from ..comparison.answer import differing
from ..comparison.figures import plot_comparison
from ..comparison.settings import landmarks_of
from ..comparison.verdict import ROW_WORDS, table_row
from ..outlines import Ensemble
from ..shapes import decompose, register
from ..shapes.registration import archetype_index, choose_archetype

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Swap(Sealed):
    """Curves with the form of one sample and the scale of the other, compared with one of the two.

    The part taken from the sample they are compared with is kept; the other part is replaced.

    Attributes
    ----------
    form, scale, against : {"A", "B"}
        Sources of the forms and the scales, and the sample the new curves are compared with: A is the first of the
        comparison, B the second.
    of_form, of_scale : Comparison
        Comparisons of the new curves, traced anew from their outlines: for the test of undulation, and for that of
        scale. The replaced part is tested between all curves, the kept part between halves.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, resynthesis, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> swap = resynthesis(compare(a, b, Settings(landmarks=60, rank=10, permutations=199)))[0]
    >>> swap.form, swap.scale, swap.against, swap.case
    ('A', 'B', 'A', '1∧0')
    """

    form: str
    scale: str
    against: str
    of_form: Comparison
    of_scale: Comparison

    @property
    def case(self) -> str:
        """Row of the truth table."""
        return table_row(self.of_form.undulation.rejected, self.of_scale.scale.rejected)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the test of undulation of `of_form` and that of scale of `of_scale`; returns the Matplotlib axes."""
        return plot_comparison(self.of_form.undulation, self.of_scale.scale, self.case, ax)

    def expected(self, comparison: Comparison) -> tuple[str, ...]:
        """Quantities in which the new curves should differ: those in which A and B differ, of the replaced part."""
        of_scale = differing(comparison.scale) if self.scale != self.against else ()
        return (*of_scale, *(differing(comparison.undulation) if self.form != self.against else ()))

    def found(self) -> tuple[str, ...]:
        """Quantities in which they do differ, by the parts of the two tests."""
        return (*differing(self.of_scale.scale), *differing(self.of_form.undulation))


def resynthesis(comparison: Comparison, *, random_state: RandomState = 0) -> tuple[Swap, ...]:
    """Combine A's forms with B's scales and vice versa, and compare the new curves with both samples.

    If form and scale are separable, curves with A's form and B's scale differ from A only in scale and from B only in
    form.

    Parameters
    ----------
    comparison : Comparison
    random_state : int, Generator or RandomState
        Seed of the halves and of the pairing.

    Returns
    -------
    tuple of four Swap

    Raises
    ------
    ValueError
        If a sample has fewer than 4 curves.

    Notes
    -----
    Each test is between curves that share nothing of the tested part, so all are ordinary permutation tests at their
    level. B's scales and A's are independent: the replaced part is tested with every curve. A's forms would reappear in
    A: for the kept part, a random half of A provides it to the new curves, and these are compared with the other half.
    The untested part may be used more than once. Single curves are permuted even if the comparison permuted images:
    curves made of parts of two images belong to none, so the answers hold for these images alone. The reference curves
    are resynthesised likewise, from their own forms and scales, so that all are traced alike.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, resynthesis, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
    >>> [(swap.form, swap.scale, swap.against, swap.case) for swap in resynthesis(result)]
    [('A', 'B', 'A', '1∧0'), ('A', 'B', 'B', '1∧1'), ('B', 'A', 'A', '1∧1'), ('B', 'A', 'B', '1∧0')]
    """
    expect(comparison, Comparison, "resynthesis takes the Comparison that compare returns")
    sizes = {"A": len(comparison.a), "B": len(comparison.b)}
    if min(sizes.values()) < 4:
        raise ValueError(
            f"{sizes['A']} and {sizes['B']} curves: resynthesis splits each sample in two and needs at least 4 curves "
            "in each"
        )
    rng = np.random.default_rng(seed_of(random_state))
    given = {name: rng.permutation(size) < size // 2 for name, size in sizes.items()}
    by_curves = replace(comparison.settings, permute="curves")
    mixer = _Mixer(given, *polar_factors(comparison), comparison.a.unit, by_curves, rng)
    return tuple(mixer.swap(form, scale, against) for form, scale in ("AB", "BA") for against in "AB")


def swap_sentences(swaps: Sequence[Swap], names: tuple[str, str] = ("A", "B")) -> tuple[str, ...]:
    """State whether only the replaced part differs in the swaps of `resynthesis`, and their rows, with groups named."""
    named = dict(zip("AB", names, strict=True))
    kept = [swap.of_form.undulation if swap.form == swap.against else swap.of_scale.scale for swap in swaps]
    said = (
        "⚠ Curves with one part exchanged differ in the part that was kept, too: form and scale are not separated here."
        if any(test.rejected for test in kept)
        else "✓ Curves with one part exchanged differ in no other part: form and scale are separated."
    )
    pairs = [[one for one in swaps if one.form == form] for form in dict.fromkeys(swap.form for swap in swaps)]
    rows = [
        f"Form of {named[own[0].form]}, scale of {named[own[0].scale]}: "
        f"{'; '.join(f'{ROW_WORDS[swap.case]} against {named[swap.against]}' for swap in own)}."
        for own in pairs
    ]
    return said, *rows


@dataclass(frozen=True, eq=False)
class _Mixer:
    """Combines forms and scales of two samples into curves, and compares them.

    `given` marks the half of each sample that provides the kept part; `forms` and `scales` are of all curves, A's
    first.
    """

    given: dict[str, NDArray[np.bool_]]
    forms: Real
    scales: Real
    unit: str
    settings: Settings
    rng: np.random.Generator

    def swap(self, form: str, scale: str, against: str) -> Swap:
        """One of the four swaps."""
        forms, scales = self._tested(form, scale, against), self._tested(scale, form, against)
        name = f"form of {form}, scale of {scale}"
        of_form = compare(self._made(name, *forms), self._others(form, against), self.settings)
        of_scale = compare(self._made(name, *scales[::-1]), self._others(scale, against), self.settings)
        return Swap(form, scale, against, of_form, of_scale)

    def _tested(self, tested: str, other: str, against: str) -> tuple[Rows, Rows]:
        """Curves that provide the tested part, each once, and as many that provide the other part."""
        rows = self._rows(tested, self.given[tested] if tested == against else None)
        return rows, np.resize(self.rng.permutation(self._rows(other)), len(rows))

    def _others(self, tested: str, against: str) -> Ensemble:
        """Reference curves: all of a sample, or the half that was not used for the new curves."""
        rows = self._rows(against, ~self.given[against] if tested == against else None)
        return self._made(f"form and scale of {against}", rows, rows)

    def _rows(self, name: str, chosen: NDArray[np.bool_] | None = None) -> Rows:
        rows = np.arange(len(self.given[name])) if chosen is None else np.flatnonzero(chosen)
        return rows + (len(self.given["A"]) if name == "B" else 0)

    def _made(self, name: str, forms: Rows, scales: Rows) -> Ensemble:
        curves = np.sqrt(self.forms.shape[1]) * self.forms[forms] @ self.scales[scales]
        return Ensemble(curves, name=name, unit=self.unit)


def polar_factors(comparison: Comparison) -> tuple[Real, Real]:
    """X̃ and P of all curves in one frame, from registering the raw landmarks, so that they can be exchanged."""
    settings = comparison.settings
    landmarks = landmarks_of(comparison.compared, settings)
    standardized, _ = decompose(landmarks)
    preshapes = standardized if settings.registration == "standardized" else landmarks
    index = archetype_index(preshapes, settings.archetype, reflections=settings.reflections, seed=settings.seed)
    archetype = choose_archetype(landmarks, index, reflections=settings.reflections)
    return decompose(register(landmarks, archetype, reflections=settings.reflections).landmarks)
