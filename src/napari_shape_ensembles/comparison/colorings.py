"""What outlines are colored by: one table of names, meanings and values, for window, files and documentation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._types import Real
from ..outlines.units import UNIT_SYMBOLS
from ..words import shortened_apart
from .unusual import NEAREST

# `Comparison` imports this module, so it cannot be imported here.
Comparison = Any


@dataclass(frozen=True)
class Coloring:
    """Something that outlines are colored by.

    Attributes
    ----------
    name : str
        Its column in the table of outlines.
    label, meaning : str
        A few words, and one line; {a} and {b} are the names of the groups.
    unit : str
        As a format of the unit of length, "{}²" for an area; empty if dimensionless.
    from_zero : bool
        Whether the color scale starts at 0.
    ends : (str, str), optional
        Labels of 0 and 1 for two categories, or of both ends of a diverging scale; with names as in `label`.
    diverging : bool
        Whether the scale is symmetric about 0.
    """

    name: str
    label: str
    meaning: str = ""
    unit: str = ""
    from_zero: bool = True
    ends: tuple[str, str] | None = None
    diverging: bool = False

    @property
    def numeric(self) -> bool:
        """Whether the values are numeric rather than categorical."""
        return self.ends is None or self.diverging

    def title(self, result: Comparison) -> str:
        """Return the label with the names of the groups, and the unit."""
        unit, label = UNIT_SYMBOLS.get(result.a.unit, result.a.unit), with_names(self.label, result.names)
        return f"{label} ({self.unit.format(unit)})" if self.unit else label

    @property
    def slow(self) -> bool:
        """Whether the values take seconds for many curves."""
        return self.diverging

    def values(self, result: Comparison) -> Real:
        """Return a value per curve of the pooled sample; curves with NaN are not filled."""
        if not self.numeric:
            return np.repeat([0.0, 1.0], [len(result.a), len(result.b)])
        table = result.witnesses if self.diverging else result.outlines
        return np.asarray(table[self.name], dtype=np.float64)

    def limits(self, values: Real, percentile: float) -> tuple[float, float]:
        """Return the limits of the color scale: values beyond the percentile share the last color."""
        finite = values[np.isfinite(values)]
        if not len(finite) or not self.numeric:
            return 0.0, 1.0
        if self.diverging:
            far = float(np.percentile(np.abs(finite), percentile)) or 1.0
            return -far, far
        low = min(0.0, float(finite.min())) if self.from_zero else float(np.percentile(finite, 100 - percentile))
        high = float(np.percentile(finite, percentile))
        return low, high if high > low else low + 1.0


def with_names(text: str, groups: tuple[str, str] = ("the first group", "the second")) -> str:
    """Insert the names of the two groups, shortened, in a text of a coloring."""
    a, b = shortened_apart(groups)
    return text.format(a=a, b=b)


_TYPICAL: Any = {"ends": ("typical of {b}", "typical of {a}"), "diverging": True}
#: Colorings by name, the default first.
COLORINGS: Mapping[str, Coloring] = {
    one.name: one
    for one in (
        Coloring(
            "distance_from_mean",
            "distance from the mean shape",
            "Distances of form and of scale from their geometric medians, each divided by its median, together.",
        ),
        Coloring(
            "unusual",
            "unusual form, size or elongation",
            "Unusual form, and the deviation of size and elongation from their medians, each divided by its median.",
        ),
        Coloring(
            "unusual_form",
            "unusual form",
            f"Mean difference of lobes and sharpest bends from the {NEAREST} outlines nearest in form; depends on no "
            "mean and no registration.",
        ),
        Coloring(
            "unusual_size",
            "unusual size",
            "How many times larger or smaller than the median outline, in length.",
            from_zero=False,
        ),
        Coloring(
            "witness_undulation",
            "typical of {a} or {b}, by form",
            "Witness of the test of form: positive where outlines of {a} are denser.",
            **_TYPICAL,
        ),
        Coloring(
            "witness_scale",
            "typical of {a} or {b}, by scale",
            "Witness of the test of scale: positive where outlines of {a} are denser.",
            **_TYPICAL,
        ),
        Coloring("undulation", "undulation distance from the mean", "Distance of the form from the mean form."),
        Coloring("scale", "scale distance from the mean", "Distance of size and elongation from their mean."),
        Coloring(
            "paper_distance",
            "distance as in the paper",
            "Distances of form and of scale from their means, each divided by its largest value, together.",
        ),
        Coloring("area", "area", "Area.", "{}²"),
        Coloring("perimeter", "perimeter", "Perimeter.", "{}"),
        Coloring("equivalent_diameter", "equivalent diameter", "Diameter of a circle of the same area.", "{}"),
        Coloring("circularity", "circularity", "4π × area / perimeter²: 1 for a circle.", from_zero=False),
        Coloring("image", "group", "The group.", ends=("{a}", "{b}")),
    )
}
#: The default.
DEFAULT = next(iter(COLORINGS))
