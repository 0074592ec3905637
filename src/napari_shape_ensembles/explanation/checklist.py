"""The checklists of QUAREP-LiMi for image analysis workflows, filled in as far as a result knows the answers."""

import platform
from collections.abc import Collection, Mapping

from ..outlines import ObjectModel, Outlines
from ..words import counted, listed

#: Marks a point that only the authors can answer.
BLANK = "TO BE FILLED IN BY THE AUTHORS"
_HEAD = (
    "Checklist of QUAREP-LiMi for image analysis workflows (Schmied et al. 2024, doi:10.1038/s41592-023-01987-9). "
    f"[x] is answered here; [ ] is not, or only in part: {BLANK}."
)
_CITED = (
    "Grey, Fisher and Glaws (method, arXiv:2410.12994); napari-shape-ensembles, see its CITATION.cff; napari "
    "(doi:10.5281/zenodo.3555620)"
)

#: Level -> its points, each with whether it is answered, and the answer.
Levels = Mapping[str, Mapping[str, tuple[bool, str]]]


def checklist(
    outlines: Outlines | None, versions: Mapping[str, str], kinds: Collection[str], by_hand: int, files: Collection[str]
) -> str:
    """Return the checklists that apply: for established workflows, and for machine learning if objects were learned.

    Parameters
    ----------
    outlines : Outlines or None
        Recipe of the outlines, if known.
    versions : mapping of str to str
        Versions of the software.
    kinds : collection of {"image", "labels", "shapes", "file", "picked"}
        What the outlines come from; "picked" if some of them were picked by hand.
    by_hand : int
        Number of outlines that were left out by hand.
    files : collection of str
        Names of the files beside this text.
    """
    lists = {"Established workflows": _established(versions, kinds, by_hand, files)}
    if outlines is not None and outlines.find is not None and "image" in kinds:
        lists["Machine learning workflows"] = _learned(outlines)
    lines = [_HEAD]
    for title, levels in lists.items():
        lines += ["", title]
        for level, points in levels.items():
            lines += [
                level,
                *(f"[{'x' if done else ' '}] {point}: {answer}" for point, (done, answer) in points.items()),
            ]
    return "\n".join(lines)


def _established(versions: Mapping[str, str], kinds: Collection[str], by_hand: int, files: Collection[str]) -> Levels:
    drawn = [kind for kind in ("labels", "shapes") if kind in kinds]
    where = f", by their ids in {listed(sorted(files))}" if files else ""
    rois = [f"{counted(by_hand, 'outline')} left out by hand{where}"] * bool(by_hand)
    rois += [f"how the given {' and '.join(drawn)} were made, and where they are, {BLANK}"] * bool(drawn)
    rois += [f"by what outlines were picked by hand, {BLANK}"] * ("picked" in kinds)
    on = f"{platform.system()} {platform.release()} ({platform.machine()})"
    exact = ", ".join(f"{name} {version}" for name, version in versions.items())
    return {
        "Minimal": {
            "Cite workflow & platform": (True, f"{_CITED}; {on}."),
            "Key settings": (True, "in the methods above."),
            "Example data": (False, f"where images for testing the workflow are, {BLANK}."),
            "Manual ROIs": (not drawn and "picked" not in kinds, f"{'; '.join(rois) or 'none'}."),
            "Exact version": (True, f"{exact}."),
        },
        "Recommended": {
            "All settings": (True, f"above{f', and in {listed(sorted(files))}' if files else ''}."),
            "Public example": (False, f"repository and DOI of images and of this folder, {BLANK}."),
        },
        "Ideal": {
            "Document usage (e.g. screen recording or tutorial)": (
                False,
                f"tutorials come with napari-shape-ensembles; of this analysis, {BLANK}.",
            ),
            "Cloud hosted or container": (False, f"{BLANK}."),
        },
    }


def _learned(outlines: Outlines) -> Levels:
    own = isinstance(outlines.find, ObjectModel)
    name = "a classifier of pixels learned from painted objects" if own else f"{outlines.find}"
    cite = (True, f"{name}, of napari-shape-ensembles.") if own else (False, f"{name}: its publication, {BLANK}.")
    return {
        "Minimal": {
            "Cite original method": cite,
            "Access to model": (False, f"where the model is, {BLANK}."),
            "Example or validation data": (False, f"{BLANK}."),
        },
        "Recommended": {
            "Train, test & metadata": (False, f"the painted images, {BLANK}." if own else f"{BLANK}."),
            "Code available": (own, "napari-shape-ensembles." if own else f"{BLANK}."),
            "Limitations": (False, f"{BLANK}."),
            "Cloud hosted or container": (False, f"{BLANK}."),
        },
        "Ideal": {"Standardized format": (False, f"{BLANK}.")},
    }
