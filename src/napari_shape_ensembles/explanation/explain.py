"""All explanation analyses of one comparison: why two ensembles differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._types import Real
from ..checks import Sealed, expect
from ..comparison import Comparison
from ..comparison.answer import Statement, formless, names_of, ratio_sentence, statements
from ..comparison.verdict import INCONCLUSIVE
from ..mmd.contrasts import standardised_difference
from ..mmd.family import FamilyTests, family_tests
from ..mmd.replicates import DRAWS
from ..progress import Listener, report, reporting
from .components import Components, component_shares
from .modes import Modes, mode_tests
from .outline import OutlineDifference, outline_difference
from .properties import bands, properties

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_INCONCLUSIVE = "The comparison is inconclusive: the following describes these curves and is not a test result."

_NO_P_VALUES = "The comparison is inconclusive: too few images to reach the significance level."

#: Steps of an explanation, in order.
EXPLANATION_STEPS = (
    "measuring curves",
    "finding typical curves",
    "computing shares",
    "testing modes",
    "testing along the outline",
    "testing descriptors",
)


@dataclass(frozen=True, eq=False)
class Descriptors(Sealed):
    """Hand-picked descriptors, tested for comparison with the shape tensors.

    Attributes
    ----------
    tests : FamilyTests
        One test per descriptor, with joint p-values.
    difference : (k,) array
        Mean of B minus mean of A, in within-sample standard deviations.
    medians : (2, k) array
        Medians of A and of B.
    """

    tests: FamilyTests
    difference: Real
    medians: Real


@dataclass(frozen=True, eq=False)
class Explanation(Sealed):
    """Result of `explain`: the analyses of a difference found by a comparison.

    Attributes
    ----------
    comparison : Comparison
    witness : DataFrame
        One row per curve, a's first: sample, id, and the values witness_undulation and witness_scale (positive: typical
        of A).
        The undulation's is that of the deciding part of its test.
    properties : dict of str to (N,) array
        Measurements of every curve; see `explanation.properties`.
    components : Components
        Shares of size, elongation, coarse form and roughness.
    modes : Modes
    form : OutlineDifference
        Difference along the outline, with every curve at the mean scale.
    descriptors : Descriptors
        Tests of `Ensemble.features`.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, explain, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
    >>> explain(result).witness.columns.tolist()
    ['sample', 'id', 'witness_undulation', 'witness_scale']
    """

    comparison: Comparison
    witness: pd.DataFrame
    properties: dict[str, Real]
    components: Components
    modes: Modes
    form: OutlineDifference
    descriptors: Descriptors

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the share of each component in the difference; `explanation.figures` has all other figures.

        Examples
        --------
        >>> from napari_shape_ensembles import Settings, compare, explain, samples
        >>> a, b = samples.powder_outlines().ensembles()
        >>> explanation = explain(compare(a, b, Settings(landmarks=60, rank=10, permutations=199)))
        >>> [label.get_text() for label in explanation.plot().get_yticklabels()]
        ['size', 'elongation', 'coarse form', 'roughness']
        """
        return self.components.plot(ax)

    @property
    def mean_differs(self) -> NDArray[np.bool_]:
        """Landmarks at which the mean form differs; none unless the coarse form does.

        Finer waves blur the mean of a common form, as they shift its landmarks along the outline.
        """
        _, p_adjusted = self.comparison.quantity_p_values.get("coarse form", (np.nan, np.nan))
        shifted = self.form.shifted
        return np.zeros_like(shifted) if p_adjusted > self.comparison.settings.test_level else shifted

    def sentences(self) -> tuple[str, ...]:
        """Return the explanation in plain sentences, strongest statements first."""
        return tuple(one.text for one in self.statements())

    def statements(self) -> tuple[Statement, ...]:
        """Return the sentences with what each is about: the quantities of the answer, then modes and places."""
        by_images, inconclusive = self.comparison.permuted != "curves", self.comparison.case == INCONCLUSIVE
        if inconclusive and by_images:
            ratios = ratio_sentence(self.comparison)
            return Statement(_NO_P_VALUES), *([Statement(ratios, "size")] if ratios else [])
        counts = " and ".join(map(str, self.comparison.image_counts))
        over_images = f"P-values and intervals are over images ({counts}), each with the same weight."
        return (
            *([Statement(_INCONCLUSIVE)] if inconclusive else []),
            *(statements(self.comparison) or [Statement("No difference was detected.")]),
            *([Statement(over_images)] if by_images else []),
            *self._form_statements(self.comparison.settings.test_level),
        )

    def _form_statements(self, level: float) -> list[Statement]:
        if not self.comparison.undulation.rejected:
            return []  # no mode or place differs where the form as a whole does not
        said = []
        found = [m for m in self.modes.by_relevance(level) if self.modes.tests.adjusted[m] <= level]
        if found:
            words = (
                f"{len(found)} of {len(self.modes)} modes of form {'differs' if len(found) == 1 else 'differ'}. "
                f"{self.modes.sentence(found[0])}"
            )
            said.append(Statement(words, self.modes.tests.names[found[0]]))
        if words := formless(self.comparison):
            return [*said, Statement(words)]
        for where, about, words in (
            (self.mean_differs, "mean form", "the mean form differs"),
            (self.form.spread, "variability", "the variability differs"),
        ):
            if where.any():
                share = where.mean()
                on = f"{share:.0%}" if share >= 0.01 else "less than 1%"
                said.append(Statement(f"On {on} of the outline {words}.", about))
        return said


def explain(comparison: Comparison, *, progress: Listener | None = None) -> Explanation:
    """Run all explanation analyses of a comparison: which components, modes, places and curves carry a difference.

    Parameters
    ----------
    comparison : Comparison
        Its settings give the level, the permutations and the seed.
    progress : callable, optional
        Called with the `Progress` of each step before it starts; an exception that it raises aborts the computation.

    Returns
    -------
    Explanation

    Raises
    ------
    ValueError
        If a sample has fewer than 2 curves.
    TypeError
        For anything but a Comparison.

    Notes
    -----
    If the comparison permuted images, so do all tests here, exactly for up to 20 000 labelings; images have equal
    weights, and intervals are over images. The witness compares curves.

    References
    ----------
    A. Gretton, K. M. Borgwardt, M. J. Rasch, B. Schölkopf, A. Smola, "A kernel two-sample test", Journal of Machine
    Learning Research 13 (2012) 723-773.
    P. H. Westfall, S. S. Young, "Resampling-Based Multiple Testing", Wiley (1993).

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, explain, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
    >>> explanation = explain(result)
    >>> explanation.sentences()
    ('The distribution of size differs, but no single quantity can be named (p = 0.0001).',)
    """
    expect(comparison, Comparison, "explain takes the Comparison that compare returns")
    space, t, l, first = comparison.space, comparison.t, comparison.l, len(comparison.a)
    if min(first, len(t) - first) < 2:
        raise ValueError(f"{first} and {len(t) - first} curves: an explanation needs at least 2 on each side")
    image, level = comparison.replicates, comparison.settings.test_level
    permutations, seed = comparison.settings.permutations, comparison.settings.seed
    if image is not None:
        permutations = max(permutations, DRAWS)  # permutations of images are cheap
    draws: dict[str, Any] = {"image": image, "permutations": permutations, "seed": seed}
    with reporting(progress):
        _report_step("measuring curves")
        measured = properties(space.reconstruct(t, l))
        _report_step("finding typical curves")
        typical = comparison.witnesses
        _report_step("computing shares")
        parts = component_shares(comparison.components, first, image=image, seed=seed)
        _report_step("testing modes")
        waves, names = bands(space.undulation_mean_, space.basis_), names_of(comparison)
        modes = mode_tests(t, first, measured, bands=waves, samples=names, **draws)
        _report_step("testing along the outline")
        form = outline_difference(space, t, np.zeros_like(l), first, significance=level, **draws)
        _report_step("testing descriptors")
        descriptors = descriptor_tests(comparison, **draws)
    return Explanation(comparison, typical, measured, parts, modes, form, descriptors)


def _report_step(name: str) -> None:
    report(name, EXPLANATION_STEPS.index(name), len(EXPLANATION_STEPS))


def descriptor_tests(comparison: Comparison, image: NDArray[np.intp] | None, **options: Any) -> Descriptors:
    """Test every column of `Ensemble.features` by its own MMD, jointly, for comparison with the shape tensors.

    The features are those of the outlines at one precision, as they were compared; options are those of `family_tests`.
    """
    tables = [ensemble.features.drop(columns="id") for ensemble in comparison.compared]
    columns = [name for name in tables[0] if all(np.isfinite(table[name]).all() for table in tables)]
    values = {str(name): np.concatenate([table[name] for table in tables]).astype(float) for name in columns}
    first = len(comparison.a)
    tests = family_tests(values, first, image=image, **options)
    stacked = np.stack(list(values.values()), axis=1)
    medians = np.stack([np.median(side, axis=0) for side in (stacked[:first], stacked[first:])])
    return Descriptors(tests, standardised_difference(stacked, first, image), medians)
