"""The sensitivity studies of the two samples: swept ranges, runs, and partial results."""

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, ClassVar, TypeVar

import numpy as np
from napari.layers import Shapes
from numpy.typing import NDArray

from ..comparison import Settings
from ..comparison.design import cannot_reach
from ..comparison.parts import FORM
from ..mmd.replicates import least_p
from ..outlines import Ensemble, Outlines
from ..progress import Progress, report
from ..studies import ChoiceStudy, DecisionLandscape, SmoothingStudy, choice_study, decision_landscape, smoothing_study
from ..studies.choices import CHOICES, COARSENING
from ..studies.ranges import LANDSCAPE, SMOOTHING, numbers
from .choices import Choices
from .experimenting import titles_of_groups
from .inputs import Excluded, LayersOfSides, Sources, labels_of, trace_sides
from .task import CANCELLED, JobFunction, JobSteps, RunInputs, Task

Study = TypeVar("Study", bound=DecisionLandscape | SmoothingStudy | ChoiceStudy)
SweptStudy = TypeVar("SweptStudy", bound=DecisionLandscape | SmoothingStudy)

#: The tests that can be plotted, and their labels.
TESTS = {
    "undulation": "undulation (form)",
    "coarse form": "– coarse form",
    "roughness": "– roughness",
    "concavity": "– concavity",
    "raw": "– raw coordinates",
    "normalized": "– normalized coordinates",
    "scale": "scale (size, elongation)",
    "product": "both together (product MMD)",
}
_PREVIOUS_SHOWN = "This is the previous result."
_LANDMARKS_HELP = "Numbers of landmarks (points) placed on every outline."
_RANKS_HELP = "Numbers of undulation coordinates."
# Parameters that apply to images only; and those that apply to images and labels, but not to outlines.
_IMAGE_FIELDS, _LABEL_FIELDS = ("method", "smoothing", "split_touching"), ("min_area", "outline_smoothing")
_MAX_RANGE = 500  # maximum length of a range, for the resolution of the plot


@dataclass(frozen=True)
class Range:
    """The values of a parameter that a study sweeps."""

    label: str
    default: str  #: in the syntax of the input
    help: str
    least: int
    whole: bool = True  #: restricted to integers

    def read(self, text: str) -> Sequence[float]:
        """Parse the numbers of a range; raise a ValueError for invalid input."""
        found = numbers(text, least=self.least, whole=self.whole, most=_MAX_RANGE)
        return [int(value) for value in found] if self.whole else found


class StudyTask(Task[Study]):
    """A study of A and B; while it runs, `result` is the partial result."""

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self._studied: RunInputs | None = None  # the inputs of the last study that was started
        self.progressed.connect(self._on_partial_result)

    @abstractmethod
    def study_function(self, sources: Sources, run_inputs: RunInputs) -> JobFunction:
        """Return the function that does the study in a worker thread."""

    def work(self, sources: Sources, run_inputs: RunInputs) -> JobSteps:
        self._studied = run_inputs
        self.result = yield self.study_function(sources, run_inputs)
        self.run_inputs = run_inputs

    @property
    def is_partial(self) -> bool:
        """Whether the result is that of a run that was cancelled, or is still running."""
        result = self.result
        return result is not None and bool(result.missing if isinstance(result, ChoiceStudy) else not result.complete)

    def _on_partial_result(self, step: Progress) -> None:
        if step.result is not None and step.result.done_something:
            self.result, self.run_inputs = step.result, self._studied


class SweepTask(StudyTask[SweptStudy]):
    """A study that sweeps ranges of parameters."""

    ranges: ClassVar[Mapping[str, Range]]  #: swept parameters

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.texts = {name: swept.default for name, swept in self.ranges.items()}  #: the ranges as text
        self.test = "undulation"  #: the test of `TESTS` to plot
        self._previous: tuple[SweptStudy | None, RunInputs | None] = (None, None)

    @abstractmethod
    def load(self, place: Any) -> None:
        """Apply the settings at an index of the result."""

    def write(self, name: str, text: str) -> None:
        """Set the text of a range; `blocking_reason` reports invalid input."""
        self.texts[name] = text
        self.changed.emit()

    def draw(self, test: str) -> None:
        self.test = test
        self.changed.emit()

    @property
    def drawn(self) -> str:
        """The test to plot; "undulation" if the result does not have the chosen one."""
        parts = {"components": FORM, "both": ("raw", "normalized")}
        tested = parts.get(self.result.settings.coordinates, ()) if self.result is not None else ()
        return self.test if self.test in ("undulation", "scale", "product", *tested) else "undulation"

    def values(self) -> dict[str, Any]:
        """Return the parsed ranges; raise a ValueError for invalid input."""
        found = {}
        for name, swept in self.ranges.items():
            try:
                found[name] = swept.read(self.texts[name])
            except ValueError as error:
                raise ValueError(f"{swept.label}: {error}.") from error
        return found

    def blocking_reason(self) -> str:
        try:
            self.values()
        except ValueError as error:
            return str(error)
        return super().blocking_reason()

    def current_inputs(self) -> RunInputs:
        """Return the samples and ranges, with the swept parameters at their defaults."""
        (recipe, settings), excluded = self.parts(), self.excluded(self.choices.design.sides())
        run_inputs = replace(super().current_inputs(), names=tuple(self.choices.design.samples))
        return replace(run_inputs, recipe=recipe, settings=settings, excluded=excluded, more=self.more())

    def excluded(self, sides: LayersOfSides) -> Excluded:
        return self.choices.exclusions.of(chain(*sides), self.choices.recipe)

    def parts(self) -> tuple[Outlines, Settings]:
        """Return the recipe and settings with the swept parameters at their defaults, so that changes are ignored."""
        return self.choices.recipe, replace(self.choices.settings, landmarks=Settings.landmarks, rank=Settings.rank)

    def more(self) -> dict[str, Hashable]:
        return {f'the range "{self.ranges[name].label}"': tuple(values) for name, values in self.values().items()}

    def run(self) -> None:
        if not self.busy:
            self._previous = self.result, self.run_inputs
        super().run()

    def on_failed(self, reason: str) -> None:
        """Restore the previous result after a failed run; without one, keep the partial result."""
        super().on_failed(reason)
        result, run_inputs = self._previous
        if result is not None:
            self.result, self.run_inputs = result, run_inputs
            self.message += f"\n{_PREVIOUS_SHOWN} {result.summary()}"

    def on_cancelled(self) -> None:
        """Report which result is shown after a cancelled run: the partial or the previous one."""
        self.message = CANCELLED
        if self.result is not None:
            known = _PREVIOUS_SHOWN if self.result is self._previous[0] else "So far:"
            self.message += f" {known} {self.result.summary()}"
        self.activate()

    @property
    def answer(self) -> str:
        """The summary of the study, or the message of the last run."""
        if self.message or self.result is None:
            return self.message
        if self.running:
            return _PREVIOUS_SHOWN if self.result is self._previous[0] else ""
        return self.result.summary()


class LandscapeTask(SweepTask[DecisionLandscape]):
    """Sensitivity of the result to the rank and the number of landmarks."""

    ranges: ClassVar = {
        "ranks": Range("Ranks", LANDSCAPE["ranks"], _RANKS_HELP, least=1),
        "landmarks": Range("Landmarks", LANDSCAPE["landmarks"], _LANDMARKS_HELP, least=20),
    }

    def study_function(self, sources: Sources, run_inputs: RunInputs) -> JobFunction:
        return partial(landscape_of, sources, *self.parts(), run_inputs, **self.values())

    def load(self, place: tuple[int, int]) -> None:
        assert self.result is not None
        i, j = place
        self.choices.set(settings=self.result.settings_at(self.result.landmarks[i], self.result.ranks[j]))


class SmoothingTask(SweepTask[SmoothingStudy]):
    """Sensitivity of the result to the smoothing of the outlines."""

    ranges: ClassVar = {
        "sigmas": Range(
            "Smoothing (px)",
            SMOOTHING["sigmas"],
            "Of the outlines, in pixels.",
            least=0,
            whole=False,
        ),
        "ranks": Range("Ranks", SMOOTHING["ranks"], _RANKS_HELP, least=1),
        "landmarks": Range("Landmarks", SMOOTHING["landmarks"], _LANDMARKS_HELP, least=20),
    }

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.merge = False  #: whether all objects of an image are smoothed as one mask

    def set_merge(self, merge: bool) -> None:
        self.merge = merge
        self.changed.emit()

    def parts(self) -> tuple[Outlines, Settings]:
        recipe, settings = super().parts()
        sigma, unit = Outlines.outline_smoothing, Outlines.smoothing_unit
        return replace(recipe, outline_smoothing=sigma, smoothing_unit=unit), settings

    def blocking_reason(self) -> str:
        shapes = [layer.name for layer in chain(*self.choices.design.sides()) if isinstance(layer, Shapes)]
        if shapes:
            return f'"{shapes[0]}" holds finished outlines (shapes): smoothing is studied on images or labels.'
        if self.choices.recipe.is_tiling:
            return "Neighbors that share a boundary are not smoothed: choose another segmentation method."
        return super().blocking_reason()

    def more(self) -> dict[str, Hashable]:
        return {**super().more(), '"Smooth each image as a whole"': self.merge}

    def excluded(self, sides: LayersOfSides) -> Excluded:
        """Exclude no curves, as their ids differ at every σ."""
        return tuple(frozenset() for _ in chain(*sides))

    def study_function(self, sources: Sources, run_inputs: RunInputs) -> JobFunction:
        names = titles_of_groups(run_inputs.names, sources)
        return partial(smoothing_of, sources, *self.parts(), names=names, merge=self.merge, **self.values())

    @property
    def sigma(self) -> float | None:
        """The smoothing in use, in pixels; None if it is in another unit."""
        recipe = self.choices.recipe
        return recipe.outline_smoothing if recipe.smoothing_unit == "pixel" else None

    def load(self, place: int) -> None:
        assert self.result is not None
        sigma = float(self.result.sigmas[place])
        self.choices.set(replace(self.choices.recipe, outline_smoothing=sigma, smoothing_unit="pixel"))


class ChoiceTask(StudyTask[ChoiceStudy]):
    """One-at-a-time sensitivity of the truth-table row to all settings."""

    def blocking_reason(self) -> str:
        """Return why nothing can be compared, or why every choice would be inconclusive: none changes these numbers."""
        if reason := super().blocking_reason():
            return reason
        level, (a, b) = self.choices.settings.test_level, map(len, self.choices.design.sides())
        if self.choices.permutes_images() and min(a, b) < 2 and (least := least_p(a, b)) > level:
            return f"With every choice, {cannot_reach(a, b, level, least)}."
        return ""

    def study_function(self, sources: Sources, run_inputs: RunInputs) -> JobFunction:
        return partial(choices_of, sources, run_inputs.recipe, run_inputs.settings, run_inputs.excluded)


# In the worker thread.


def choices_of(sources: Sources, recipe: Outlines, settings: Settings, excluded: Excluded) -> ChoiceStudy:
    """Compare two samples repeatedly, one parameter changed at a time; those of the recipe only if applicable."""
    kinds = {source.kind for source in chain(*sources)}
    found_in = {"image": (), "labels": _IMAGE_FIELDS, "shapes": (*_IMAGE_FIELDS, *_LABEL_FIELDS)}
    without = set(found_in["image"] if "image" in kinds else found_in["labels" if "labels" in kinds else "shapes"])
    if "shapes" in kinds:
        without.add(COARSENING)  # outlines drawn by hand have no pixels
    asked = {name: values for name, values in CHOICES.items() if name not in without}

    def trace(changed: Outlines) -> tuple[Ensemble, Ensemble]:
        return trace_sides(sources, changed, excluded if changed == recipe else ())

    return choice_study(trace, recipe, settings, choices=asked)


def landscape_of(
    sources: Sources, recipe: Outlines, settings: Settings, run_inputs: RunInputs, **ranges: Any
) -> DecisionLandscape:
    """Trace two samples, then compare them over ranks and numbers of landmarks."""
    a, b = trace_sides(sources, recipe, run_inputs.excluded, titles_of_groups(run_inputs.names, sources))
    return decision_landscape(a, b, settings=settings, **ranges)


def smoothing_of(
    sources: Sources, recipe: Outlines, settings: Settings, *, names: Sequence[str], merge: bool, **ranges: Any
) -> SmoothingStudy:
    """Segment the images of two samples, then sweep the smoothing of their outlines.

    A ValueError names an image that cannot be segmented, or two with different pixel sizes, for which a σ in pixels
    would mean different lengths.
    """
    first = sources[0][0]
    for source in chain(*sources):
        if recipe.pixel_size is None and (source.unit != first.unit or not np.allclose(source.scale, first.scale)):
            sizes = ", ".join(f"{s.name}: {s.scale[0]:g} × {s.scale[1]:g} {s.unit}" for s in (first, source))
            raise ValueError(
                f"The pixel sizes differ ({sizes}): smoothing in pixels would not be the same smoothing for both."
            )
    if recipe.pixel_size is None:
        recipe = replace(recipe, pixel_size=(float(first.scale[0]), float(first.scale[1])), unit=first.unit)
    found: tuple[list[NDArray[Any]], list[NDArray[Any]]] = ([], [])
    for source, labels in ((source, labels) for side, labels in zip(sources, found, strict=True) for source in side):
        report(f"segmenting {source.name}")
        try:
            labels.append(labels_of(source, recipe)[0])
        except ValueError as error:
            raise ValueError(f"{source.name}: {error}") from error
    a, b = ([labels > 0 for labels in side] if merge else side for side in found)
    return smoothing_study(a, b, settings=settings, outlines=recipe, names=(names[0], names[1]), **ranges)
