"""The five steps of the bench, from images to a robust answer, and the state of each."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from napari.layers import Shapes

from ..outlines.units import conversion_factor
from ..words import counted
from .inputs import pixel_size_of
from .session import Session
from .task import Task
from .world import drawn_axes

STEPS = ("Images", "Outlines", "Answer", "Why", "Trust")
#: Labels of the states, with a symbol rather than by color alone.
STATES = {"open": "–", "running": "…", "done": "✓ done", "look": "! check", "stale": "↻ redo"}
# Relative tolerance for equal pixel sizes (rounding).
_SIZE_TOLERANCE = 1e-3
_REMEDY = "Enter the pixel size of every image with a unit of length, such as 0.5 µm, in the column pixel."


@dataclass(frozen=True)
class PageStatus:
    """The state of a step, one of `STATES`, and the reason."""

    state: str
    reason: str = ""


def page_statuses(session: Session) -> dict[str, PageStatus]:
    """Return the state of each step by name; slow, as it hashes layers, so debounce its callers."""
    comparison = session.comparison
    covers = comparison.covers_chosen_layers()
    result = comparison.result if covers else None  # else of outlines of other images
    reason, segmentation, preview = comparison.blocking_reason(), session.segmentation, session.segmentation.preview
    verdict = segmentation.verdict if segmentation.verdict.counts or result else segmentation.cached_verdict()
    images = PageStatus("open", reason) if reason else images_status(session)
    if images.state == "done" and session.design.warnings:
        images = PageStatus("look", session.design.warnings[0])
    findings = (verdict.quality if result is None else result.quality).findings
    if findings:
        outlines = PageStatus("look", findings[0].text)
    elif segmentation.preview_error:
        outlines = PageStatus("look", segmentation.preview_error)
    elif result is not None:
        outlines = PageStatus("done", f"{len(result.a)} and {len(result.b)} outlines.")
    elif covers and comparison.has_result:
        outlines = PageStatus("done", "Compared.")
    elif preview is not None:
        outlines = PageStatus("done", f"{counted(len(preview.diameters), 'object')} in the image shown.")
    elif counts := verdict.counts:
        outlines = PageStatus("done", f"{counted(sum(counts.values()), 'outline')} in {counted(len(counts), 'image')}.")
    else:
        outlines = PageStatus("open", "Not viewed yet.")
    answer = _status_of_task(comparison)  # `state` would hash the layers a second time
    if answer.state == "done" and comparison.unanswered:
        answer = PageStatus("look", comparison.unanswered)
    why = (
        _status_of_task(session.explanation)
        if session.explanation.explained_comparison is not None
        else PageStatus("open", "Compare first.")
    )
    trusted = [_status_of_task(task) for task in (session.trust, session.landscape, session.smoothing)]
    trust = min(trusted, key=lambda step: ("running", "look", "stale", "done", "open").index(step.state))
    return dict(zip(STEPS, (images, outlines, answer, why, trust), strict=True))


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
