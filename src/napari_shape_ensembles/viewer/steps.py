"""The five steps of the bench, from images to a robust answer, and the state of each."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from napari.layers import Shapes

from ..comparison import INCONCLUSIVE
from ..outlines import conversion_factor, counted
from .inputs import pixel_size_of
from .session import Session
from .task import Task

STEPS = ("Images", "Outlines", "Answer", "Why", "Trust")
#: Labels of the states, with a symbol rather than by color alone.
STATES = {"open": "–", "running": "…", "done": "✓ done", "look": "! check", "stale": "↻ outdated"}
# Relative tolerance for equal pixel sizes (rounding).
_ALIKE = 1e-3
_REMEDY = "Enter the pixel size of every image with a unit of length, such as 0.5 µm, in the column pixel."


@dataclass(frozen=True)
class Step:
    """The state of a step, one of `STATES`, and the reason."""

    state: str
    words: str = ""


def steps_of(session: Session) -> dict[str, Step]:
    """Return the state of each step by name; slow, as it hashes layers, so debounce its callers."""
    comparison, result = session.comparison, session.comparison.result
    asked = session.experiment if session.design.is_experiment else comparison
    reason, segmentation, preview = asked.why_not(), session.segmentation, session.segmentation.preview
    verdict = segmentation.verdict if segmentation.verdict.counts or result else segmentation.verdict_before()
    images = Step("open", reason) if reason else step_of_images(session)
    findings = (verdict.quality if result is None else result.quality).findings
    if findings:
        outlines = Step("look", findings[0].text)
    elif segmentation.preview_error:
        outlines = Step("look", segmentation.preview_error)
    elif result is not None:
        outlines = Step("done", f"{len(result.a)} and {len(result.b)} outlines.")
    elif asked.result is not None:
        outlines = Step("done", "Compared.")
    elif preview is not None:
        outlines = Step("done", f"{counted(len(preview.diameters), 'object')} in the image shown.")
    elif counts := verdict.counts:
        outlines = Step("done", f"{counted(sum(counts.values()), 'outline')} in {counted(len(counts), 'image')}.")
    else:
        outlines = Step("open", "Not viewed yet.")
    answer = _task(asked)  # `state` would hash the layers a second time
    if asked is comparison and answer.state == "done" and result is not None and result.case == INCONCLUSIVE:
        answer = Step("look", result.summary())
    elif asked.failed and not asked.busy:
        answer = Step("look", asked.message)
    why = _task(session.explanation) if session.explanation.explored is not None else Step("open", "Compare first.")
    trusted = [_task(task) for task in (session.trust, session.landscape, session.smoothing)]
    order = ("running", "stale", "done", "open")
    trust = min(trusted, key=lambda step: order.index(step.state) if step.state in order else len(order))
    return dict(zip(STEPS, (images, outlines, answer, why, trust), strict=True))


def step_of_images(session: Session) -> Step:
    """Return whether the images can be compared: they need equal pixel sizes in convertible units."""
    recipe = session.choices.recipe
    rows = [row for own in session.design.groups().values() for row in own]
    layers, sizes = session.design.open_layers(), []
    if not layers:
        return Step("done", f"{counted(len(rows), 'image')}.")
    for layer in layers:
        try:
            size, unit = pixel_size_of(layer, [layer.ndim - 2, layer.ndim - 1])
        except ValueError as error:
            return Step("look", str(error))
        if recipe.pixel_scale is not None and not isinstance(layer, Shapes):
            size, unit = np.array(recipe.pixel_scale), recipe.unit or unit
        sizes.append((size, unit))
    (first, unit), *others = sizes
    for layer, (size, other) in zip(layers[1:], others, strict=True):
        try:
            factor = 1.0 if other == unit else conversion_factor(other, unit)
        except ValueError:
            words = f'"{layers[0].name}" is measured in {unit}, "{layer.name}" in {other}: they cannot be compared.'
            return Step("look", f"{words} {_REMEDY}")
        if abs(size * factor / first - 1).max() > _ALIKE:
            return Step("look", f"Pixel sizes differ: {layer.name} has {size[0]:g} × {size[1]:g} {other}.")
    return Step("done", f"{counted(len(rows), 'image')}.")


def _task(task: Task[Any]) -> Step:
    """Return the state of a task as a step."""
    if task.busy:
        return Step("running", f"{task.step.name[:1].upper()}{task.step.name[1:]} …")
    if task.result is None:
        return Step("open", task.why_not())
    changed = task.changed_since()
    return Step("stale", f"Out of date: {', '.join(changed[:3])}.") if changed else Step("done")
