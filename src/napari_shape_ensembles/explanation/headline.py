"""Headline of a comparison: its sentences, with typical outlines and the means of replicates to draw beside them."""

from collections.abc import Sequence
from dataclasses import dataclass

from .._types import Index, Real
from ..checks import Sealed
from ..comparison import Comparison, answer
from ..comparison.estimates import drawn_logarithms, geometric_means
from ..comparison.mean_outline import mean_outlines
from ..comparison.typical import typical_outlines, typical_rows


@dataclass(frozen=True, eq=False)
class Headline(Sealed):
    """Headline of a comparison.

    Attributes
    ----------
    opening : str
        Which samples differ: these images, or the conditions; empty without a result.
    sentence : str
        What differs, in which direction and how much, with 95 % intervals; or that nothing was detected.
    missed : str
        Largest difference that could have been missed; empty if both tests detected one.
    scope : str
        Whether the result holds for the conditions or for these images alone; empty without a result.
    typical : two arrays of int
        Rows of typical outlines of A and of B among the pooled ones, the medoid first; see `Comparison.typical`.
    outlines : two sequences of (n, 2) arrays
        These outlines, centered and turned like the medoid, in the unit of the comparison.
    means : two pairs of (n, 2) and (2n + 2, 2) arrays, or None
        Mean outlines of A and of B (geometric medians), turned like the medoid, each at its own mean scale; and the
        band around it that holds the middle half of the forms at every point. None for a group whose outlines have no
        common form.
    formless : str
        Of which groups no mean is drawn, and why; empty if of none.
    estimates : sequence of tuples of str
        The table of estimates in words, with its headings first; see `answer.estimate_rows`.
    drawn : str
        The quantity of which the means of replicates are drawn: the first that is named, else the size. Empty if all
        that are named are distances, which a single replicate does not have.
    replicate_means : tuple of two dicts of str to float
        For A and B, the geometric mean of this quantity (of the size: of the RMS extents) over the outlines of every
        replicate, or of every image if none were permuted.
    """

    opening: str
    sentence: str
    missed: str
    scope: str
    typical: tuple[Index, Index]
    outlines: tuple[Sequence[Real], Sequence[Real]]
    means: tuple[tuple[Real, Real] | None, tuple[Real, Real] | None]
    formless: str
    estimates: Sequence[tuple[str, ...]]
    drawn: str
    replicate_means: tuple[dict[str, float], dict[str, float]]


def headline(result: Comparison) -> Headline:
    """State the result of a comparison in a sentence with direction, effect size and interval.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
    >>> headline(result).sentence
    'The distribution of size differs, but no single quantity can be named. No difference in form was detected.'
    """
    named = [one for names in answer.named(result).values() for one in names] or ["size"]
    values = {name: found for name in named if (found := drawn_logarithms(result, name)) is not None}
    drawn = next(iter(values), "")
    means = geometric_means(result, values[drawn]) if drawn else ({}, {})
    words = answer.opening(result), answer.sentence(result), answer.missed(result), answer.scope(result)
    rows = typical_rows(result)
    a, b = typical_outlines(result, rows)
    outlines = mean_outlines(result, (a[0], b[0]))
    table = [answer.estimate_headings(result), *answer.estimate_rows(result)]
    return Headline(*words, rows, (a, b), outlines, answer.formless(result), table, drawn, means)
