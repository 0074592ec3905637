"""What a reference says of an image: what is unusual, whether it can be judged, and all images of a folder in words."""

from collections.abc import Mapping, Sequence
from math import ceil, isfinite
from typing import TYPE_CHECKING

import numpy as np

from ..outlines import Ensemble
from ..outlines.ensemble import DIFFERS
from ..words import counted, p_text
from .reference_measures import QUANTITIES, Measured, resolved

if TYPE_CHECKING:
    import pandas as pd

# Parameters of tracing of which outlines can be brought to one precision.
_OF_PRECISION = ("pixel_size", "at_pixel_size", "traced_again", "outline_smoothing", "smoothing_unit")
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
    reference: Sequence[Measured],
    count: int,
) -> tuple[str, list[str]]:
    """Whether the way in which outlines were made lets an image be judged.

    Parameters
    ----------
    query, measured : Ensemble, Measured
    images : sequence of Ensemble
        Of the reference.
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
    reason, remarks = _tracing(query, images), []
    if same := [one.name for one, its in zip(images, reference, strict=True) if _is_same(its, measured)]:
        remarks.append(f"it has the outlines of {same[0]}, which is in the reference: see how that ranks there")
    if count < _FEW_OUTLINES:
        remarks.append(f"only {counted(count, 'outline')} of each image {'is' if count == 1 else 'are'} compared")
    lobes = min(one.lobes for one in reference)
    columns = measured.form.shape[1]
    if len(resolved(measured.lobes, columns)) < len(resolved(lobes, columns)):
        remarks.append(
            f"its pixels resolve up to {measured.lobes:.0f} lobes, those of the reference {lobes:.0f}: finer ones are "
            "not compared"
        )
    return reason, remarks


def _is_same(one: Measured, other: Measured) -> bool:
    return np.array_equal(one.scale, other.scale) and np.array_equal(one.form, other.form)


def _tracing(query: Ensemble, images: Sequence[Ensemble]) -> str:
    """Name a parameter of tracing that no image of the reference shares."""
    for name, value in query.tracing.items():
        usual = [image.tracing[name] for image in images if name in image.tracing]
        if name not in _OF_PRECISION and usual and value not in usual and DIFFERS not in (value, *usual):
            return f"it was traced with {name} = {value}, the reference with {usual[0]}: trace it by the same recipe"
    return ""


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
