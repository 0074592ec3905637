"""What a reference says of an image: what is unusual, whether it can be judged, and all images of a folder in words."""

from collections.abc import Mapping, Sequence, Set
from math import ceil, isfinite
from typing import TYPE_CHECKING

import numpy as np

from ..outlines import Ensemble
from ..outlines.ensemble import DIFFERS
from ..outlines.precision import way_of
from ..words import counted, listed, p_text
from .reference_measures import QUANTITIES, Measured, resolved

if TYPE_CHECKING:
    import pandas as pd

# Parameters of tracing that follow from the pixel size, which is compared by itself.
_OF_PIXELS = ("pixel_size", "at_pixel_size")
# Vertices further apart than in any reference image by this factor, or closer together, were drawn in another way.
_SPACING = 1.5
# A smaller change of a ratio is none.
_MIN_CHANGE = 0.005
# The mean of fewer outlines says little of an image.
_FEW_OUTLINES = 5


def what_differs(ratios: Mapping[str, float], unusual: Sequence[str]) -> str:
    """Name the unusual quantities with their ratios: "rougher, 1.3 times; smaller, 0.8 times".

    Of coarse form and roughness, only that which changes more is named.
    """
    words, names = [], list(unusual)
    if {"coarse form", "roughness"} <= {*names}:
        # Strong fine waves shift landmarks, and so change the coarse ones, and the other way round.
        names.remove(min(("coarse form", "roughness"), key=lambda name: abs(np.log(ratios[name]))))
    for name in names:
        _, less, more = QUANTITIES[name]
        if isfinite(ratios[name]) and abs(ratios[name] - 1) > _MIN_CHANGE:
            words.append(f"{more if ratios[name] > 1 else less}, {ratios[name]:.3g} times")
    return "; ".join(words) or "no quantity by itself is unusual"


def acquisition(
    query: Ensemble,
    measured: Measured,
    images: Sequence[Ensemble],
    ways: Set[str],
    reference: Sequence[Measured],
    count: int,
) -> tuple[str, list[str]]:
    """Whether the way in which outlines were made lets an image be judged.

    Parameters
    ----------
    query, measured : Ensemble, Measured
    images : sequence of Ensemble
        Of the reference.
    ways : set of str
        How their outlines were acquired.
    reference : sequence of Measured
        The same, at one pixel size with the query.
    count : int
        Number of outlines drawn from each image.

    Returns
    -------
    reason : str
        Why it cannot be judged, or empty.
    remarks : list of str
        What else to know.
    """
    if len(query) and not count:
        return (
            f"at its pixels, of {max(query.pixel_size or (0,)):g} {query.unit}, no outline of the reference is left",
            [],
        )
    if not count:
        left_out = "; ".join(f"{number} {why}" for why, number in query.dropped.items())
        return "it has no usable outline" + (f" ({left_out})" if left_out else ""), []
    reason, remarks = _tracing(query, images) or _acquired_otherwise(query, ways), []
    if same := [one.name for one, its in zip(images, reference, strict=True) if _is_same(its, measured)]:
        remarks.append(f"it has the outlines of {same[0]}, which is in the reference: see how that ranks there")
    if count < _FEW_OUTLINES:
        remarks.append(f"only {counted(count, 'outline')} of each image {'is' if count == 1 else 'are'} compared")
    if (query.pixel_size is None) != (images[0].pixel_size is None):
        remarks.append(
            f"the pixel size of the {'image' if query.pixel_size is None else 'reference'} is unknown: a difference in "
            "roughness may be one of pixels"
        )
    lobes = min(one.lobes for one in reference)
    columns = measured.form.shape[1]
    if len(resolved(measured.lobes, columns)) < len(resolved(lobes, columns)):
        remarks.append(
            f"its pixels resolve up to {measured.lobes:.0f} lobes, those of the reference {lobes:.0f}: finer ones are "
            "not compared"
        )
    drawn = [one for one in reference if len(one)]
    apart, by_size = ([one.spacing for one in drawn], [_per_size(one) for one in drawn])
    if _is_outside(measured.spacing, apart) and _is_outside(_per_size(measured), by_size):
        remarks.append(
            f"its vertices are {measured.spacing:.3g} {query.unit} apart, those of the reference {min(apart):.3g} to "
            f"{max(apart):.3g}: a difference in form may come from how outlines were drawn"
        )
    return reason, remarks


def _is_same(one: Measured, other: Measured) -> bool:
    return np.array_equal(one.scale, other.scale) and np.array_equal(one.form, other.form)


def _per_size(measured: Measured) -> float:
    """Distance of neighboring vertices relative to the size of the outlines."""
    return measured.spacing / float(np.exp(measured.scale[:, 0].mean()))


def _is_outside(value: float, usual: Sequence[float]) -> bool:
    return not min(usual) / _SPACING <= value <= _SPACING * max(usual)


def _tracing(query: Ensemble, images: Sequence[Ensemble]) -> str:
    """Name a parameter of tracing that no image of the reference shares."""
    for name, value in query.tracing.items():
        usual = [image.tracing[name] for image in images if name in image.tracing]
        if name not in _OF_PIXELS and usual and value not in usual and DIFFERS not in (value, *usual):
            return f"it was traced with {name} = {value}, the reference with {usual[0]}: trace it by the same recipe"
    return ""


def _acquired_otherwise(query: Ensemble, ways: Set[str]) -> str:
    """Say how the outlines of an image were acquired, if that is known and those of the reference were otherwise."""
    if not (way := way_of(query)) or way in ways or "" in ways:
        return ""
    return f"its outlines {way}, those of the reference {listed(sorted(ways))}: make both in the same way"


def folder_sentences(table: "pd.DataFrame", significance: float) -> list[str]:
    """Sentences on the table of `Reference.judge`: on each image that differs, each that is not judged, and on all."""
    said = []
    for row in table.to_dict("records"):
        if row["differs"] is None:
            said.append(f"{row['name']}: not judged: {row['reason']}.")
        elif row["differs"] != "nothing":
            what = "form and scale differ" if row["differs"] == "both" else f"{row['differs']} differs"
            but = f" But note: {row['remarks']}." if row["remarks"] else ""
            said.append(f"{row['name']}: {what} (p = {p_text(row['p'], significance)}): {row['what']}.{but}")
    judged = table[table["differs"].notna()]
    if judged.empty:
        return [*said, "No image was judged."]
    unlike = int((judged["differs"] != "nothing").sum())
    said.append(
        f"{unlike} of {counted(len(judged), 'image')} {'differs' if unlike == 1 else 'differ'} from the reference."
    )
    if len(judged) > 1:
        least = float(judged["least_p"].min())
        needed = ceil(len(judged) * least / significance - 1e-9)
        reach = (
            f"{needed} of them must show the least p-value, {p_text(least, significance)}"
            if needed <= len(judged)
            else f"the least p-value, {p_text(least, significance)}, is too large"
        )
        said.append(f"For a false discovery rate of {significance:g} over {counted(len(judged), 'image')}, {reach}.")
    return said
