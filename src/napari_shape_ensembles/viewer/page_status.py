"""The five steps of the bench, from images to a robust answer, and the state of each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from napari.layers import Shapes

from ..comparison.fragility import LEAST_SHARE, checks_in_words
from ..comparison.verdict import INCONCLUSIVE
from ..outlines.units import conversion_factor
from ..words import counted, listed
from .inputs import pixel_size_of
from .session import Session
from .studying import StudyTask
from .task import Task
from .world import drawn_axes

STEPS = ("Images", "Outlines", "Answer", "Why", "Trust")
#: Labels of the states, with a symbol rather than by color alone.
STATES = {
    "open": "–",
    "running": "…",
    "done": "✓ done",
    "traced": "✓ traced",
    "look": "! check",
    "fragile": "! fragile",
    "stale": "↻ redo",
}
# Relative tolerance for equal pixel sizes (rounding).
_SIZE_TOLERANCE = 1e-3
_REMEDY = "Enter the pixel size of every image with a unit of length, such as 0.5 µm, in the column pixel."


@dataclass(frozen=True)
class PageStatus:
    """The state of a step, one of `STATES`, and the reason."""

    state: str
    reason: str = ""


def _images_step(session: Session) -> PageStatus:
    if reason := session.comparison.blocking_reason():
        return PageStatus("open", reason)
    status = images_status(session)
    warnings = session.design.warnings
    return PageStatus("look", warnings[0]) if status.state == "done" and warnings else status


def _outlines_step(session: Session) -> PageStatus:
    comparison, segmentation = session.comparison, session.segmentation
    covers = comparison.covers_chosen_layers()
    result = comparison.result if covers else None  # else of outlines of other images
    verdict = segmentation.verdict if segmentation.verdict.counts or result else segmentation.cached_verdict()
    findings = (verdict.quality if result is None else result.quality).findings
    if findings:
        return PageStatus("look", findings[0].text)
    if segmentation.preview_error:
        return PageStatus("look", segmentation.preview_error)
    if segmentation.contents:
        return PageStatus("look", f"{listed([*segmentation.contents])}: labels, a mask or classes, not gray levels.")
    if result is not None and result.checks.suspects:
        return PageStatus("look", checks_in_words(result)[0])
    if doubt := session.proposing.doubt:
        return PageStatus("look", doubt)
    if result is not None:
        return _traced(f"{len(result.a)} and {len(result.b)} outlines")
    if session.proposing.is_choosing:
        return PageStatus("running", "Choosing the best recipe.")
    if covers and comparison.has_result:
        return _traced("Outlines of all groups")
    if (preview := segmentation.preview) is not None:
        return _traced(f"{counted(len(preview.diameters), 'object')} in the image shown")
    if counts := verdict.counts:
        return _traced(f"{counted(sum(counts.values()), 'outline')} in {counted(len(counts), 'image')}")
    return PageStatus("open", "Not viewed yet.")


def _traced(what: str) -> PageStatus:
    """Of outlines without a fault: no check finds what a recipe has missed, such as the dark side of an image."""
    return PageStatus("traced", f"{what}, without faults. Whether objects are missing is not checked: look.")


def _answer_step(session: Session) -> PageStatus:
    status = _status_of_task(session.comparison)  # `state` would hash the layers a second time
    if status.state != "done":
        return status
    if unanswered := session.comparison.unanswered:
        return PageStatus("look", unanswered)
    result = session.comparison.result
    if result is not None and (result.fragile or result.checks.suspects):
        return PageStatus("fragile" if result.fragile else "look", " ".join(checks_in_words(result)))
    return status


def _why_step(session: Session) -> PageStatus:
    compared = session.explanation.explained_comparison is not None
    return _status_of_task(session.explanation) if compared else PageStatus("open", "Compare first.")


def _trust_step(session: Session) -> PageStatus:
    tasks: tuple[StudyTask[Any], ...] = session.trust, session.landscape, session.smoothing
    states = [_status_of_task(task) for task in tasks]
    for place, task in enumerate(tasks):
        if states[place].state == "done" and task.is_partial:
            states[place] = PageStatus("open", task.message)
    result = session.comparison.result
    ranks, smoothed = session.landscape.result, session.smoothing.result
    for place, name, studied in ((1, "Rank", [ranks]), (2, "Smoothing", smoothed.landscapes if smoothed else ())):
        cells = np.concatenate([[], *(one.case.ravel() for one in studied if one is not None)])
        rows = cells[(cells != "") & (cells != INCONCLUSIVE)]
        others = 0 if result is None or result.case == INCONCLUSIVE else int((rows != result.case).sum())
        if states[place].state == "done" and others > (1 - LEAST_SHARE) * len(rows):
            states[place] = PageStatus("look", f"{name}: another answer in {others} of {len(rows)} cells.")
    if result is not None and result.fragile and states[0].state == "done":
        states[0] = PageStatus("look", " ".join(checks_in_words(result)))
    return min(states, key=lambda step: ("running", "look", "stale", "done", "open").index(step.state))


#: Functions for the state of each step; slow, as they hash layers, so debounce their callers.
STATUS_OF: Mapping[str, Callable[[Session], PageStatus]] = dict(
    zip(STEPS, (_images_step, _outlines_step, _answer_step, _why_step, _trust_step), strict=True)
)


def images_status(session: Session) -> PageStatus:
    """Return whether the images can be compared: they need equal pixel sizes in convertible units."""
    recipe = session.choices.recipe
    rows, layers, sizes = session.design.grouped(), session.design.open_layers(), []
    if not layers:
        return PageStatus("done", f"{counted(len(rows), 'image')}.")
    for layer in layers:
        try:
            size, unit = pixel_size_of(layer, drawn_axes(layer, session.choices.dims))
        except ValueError as error:
            return PageStatus("look", str(error))
        if recipe.pixel_scale is not None and not isinstance(layer, Shapes):
            size, unit = np.array(recipe.pixel_scale), recipe.unit or unit
        sizes.append((size, unit))
    (first, unit), *others = sizes
    for layer, (size, other) in zip(layers[1:], others, strict=True):
        try:
            factor = 1.0 if other == unit else conversion_factor(other, unit)
        except ValueError:
            words = f'"{layers[0].name}" is measured in {unit}, "{layer.name}" in {other}: they cannot be compared.'
            return PageStatus("look", f"{words} {_REMEDY}")
        if abs(size * factor / first - 1).max() > _SIZE_TOLERANCE:
            return PageStatus("look", f"Pixel sizes differ: {layer.name} has {size[0]:g} × {size[1]:g} {other}.")
    return PageStatus("done", f"{counted(len(rows), 'image')}.")


def _status_of_task(task: Task[Any]) -> PageStatus:
    """Return the state of a task as a step."""
    if task.busy:
        return PageStatus("running", task.step.text)
    if task.failed:
        return PageStatus("look", task.message)
    if not task.has_result:
        return PageStatus("open", task.blocking_reason())
    changed = task.changed_since()
    return PageStatus("stale", f"Out of date: {', '.join(changed[:3])}.") if changed else PageStatus("done")
