"""Inspection of outlines: ranking by suspicion, correction, and comparison without excluded curves."""

import contextlib
import getpass
import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from napari.layers import Image, Labels, Layer, Shapes
from napari.utils import Colormap
from numpy.typing import NDArray
from psygnal import Signal

from ..comparison import Comparison, Settings, compare
from ..comparison.display import MARK, simplified
from ..inspection import CorrectedLabels, CorrectedStack, Entry, Inspection, Review, Ticks, inspect_curves
from ..inspection.correcting import numbered_pieces, plane_at
from ..inspection.ranking import disagreement, disputed
from ..io import Calibration
from ..io.corrected import read_log, write_corrected
from ..outlines import Outlines
from ..palette import EXCLUDED, OUTLINE, RANKED
from ..progress import report
from .camera_flight import move_camera, view_of
from .choices import Choices, ChosenLayer
from .inputs import (
    ACCEPTED,
    OWN,
    PARTS,
    Refs,
    Source,
    Sources,
    file_errors_named,
    fingerprint,
    is_own,
    pixel_size_of,
    plane_of,
    shown_plane,
    symbol,
    trace,
)
from .layers import ColorFeature, OwnLayers, name_after
from .overlap import common_words
from .task import PIXEL_EVENTS, Debouncer, JobRunner, JobSteps, RunInputs, Task
from .world import drawn_at, world_at

#: The questions, and their labels.
SUSPICIOUS, AGREE, ANNOTATORS = "suspicious", "agree", "annotators"
QUESTIONS = {
    SUSPICIOUS: "Which curves are suspicious?",
    AGREE: "Do two segmentations agree?",
    ANNOTATORS: "Where do annotators differ?",
}
#: Review orders, by `uncertain_first`.
ORDERS = {False: "suspicious", True: "uncertain"}
#: Feature that colors suspicious curves.
SCORE = ColorFeature("score", "score")
# Debounce of brush strokes, in milliseconds.
_DEBOUNCE_MS = 150
#: Keys on the canvas and in the dock -> action; none is used by napari.
KEYS = {"N": "next", "K": "right", "W": "wrong", "Q": "fix", "U": "undo"}


class InspectionTask(Task[Inspection]):
    """Ranks the curves of one or two layers by suspicion, and compares again without the excluded ones.

    Attributes
    ----------
    a, b : ChosenLayer
        The layers to inspect; B is optional.
    question : str
        One of `QUESTIONS`.
    curves : OwnLayers
        The curve layers in the viewer, colored by score.
    excluded_curves : list of (N,) bool arrays
        Masks of the excluded curves of each ensemble of the result.
    again : Comparison or None
        The comparison without the excluded curves.
    review : Review or None
        The verdicts on the labels of the result, and their corrections.
    rows : DataFrame
        The review queue, as `Review.table`.
    current : Entry or None
        The label under review.
    uncertain_first : bool
        Whether to review labels by uncertainty (score closest to 0.5), from which the ranking learns most, rather than
        by suspicion.
    ticks : Ticks
        All verdicts since the viewer was opened, which the ranking of later inspections learns from.
    by : str
        Name of the reviewer, for the logs.
    ranked_with : str
        Sentences that name the image with which each of the labels was ranked, or say that there was none.
    """

    layers_changed = Signal()  #: layers of an inspection were added and removed, before napari handles the events

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.a, self.b = (
            ChosenLayer(choices.viewer, lambda one: isinstance(one, ACCEPTED) and not is_own(one), optional=optional)
            for optional in (False, True)
        )
        self.curves = OwnLayers(choices)
        self.excluded_curves: list[NDArray[np.bool_]] = []
        self.again: Comparison | None = None
        self.question = SUSPICIOUS
        self.uncertain_first = False
        self.review: Review | None = None
        self.rows = pd.DataFrame({name: [] for name in ("image", "label", "index", "score", "reasons", "mark")})
        self.current: Entry | None = None
        self.ticks, self.by, self.ranked_with = Ticks(), _user_name(), ""
        self.unlisted = OwnLayers(choices)
        self.update_runner = JobRunner()
        self._copies: dict[int, weakref.ref[Labels]] = {}
        self._corrected: weakref.WeakKeyDictionary[Labels, CorrectedLabels] = weakref.WeakKeyDictionary()
        # Inspected layer -> its labels in the last review of it, and these -> the verdicts.
        self._reviewed: weakref.WeakKeyDictionary[Layer, CorrectedLabels] = weakref.WeakKeyDictionary()
        self._verdicts: weakref.WeakKeyDictionary[CorrectedLabels, dict[int, bool]] = weakref.WeakKeyDictionary()
        # Files of layers, and of copies.
        self._files: weakref.WeakKeyDictionary[Layer, LabelsFile] = weakref.WeakKeyDictionary()
        self._stacks: weakref.WeakKeyDictionary[Layer, CorrectedStack] = weakref.WeakKeyDictionary()
        self._planes: weakref.WeakKeyDictionary[Labels, StackPlane] = weakref.WeakKeyDictionary()  # copies of planes
        self._in_stacks: tuple[StackPlane | None, ...] = ()  # position in a stack, per image
        self._proposals: weakref.WeakSet[Labels] = weakref.WeakSet()  # copies of a consensus: not label sets
        self._unlisted_images: list[int] = []  # images with a layer of objects without curves
        self._key_bindings: dict[str, Any] = {}
        self._key_viewer = weakref.ref(choices.viewer)
        self._stroke_debouncer = Debouncer(self._apply_strokes, _DEBOUNCE_MS)
        self._sources: tuple[Source, ...] = ()
        for layer in (self.a, self.b):
            layer.changed.connect(self._sides_changed)
        choices.sides.original_restored.connect(self._on_original_restored)

    def set_question(self, question: str) -> None:
        self.question = question
        self.changed.emit()

    # The run.

    def label_sets(self) -> list[Labels]:
        """Return the visible 2D Labels layers with the shape and scale of A, each by one annotator."""
        a = self.a.chosen()
        return [
            layer
            for layer in self.a.offered()
            if isinstance(layer, Labels)
            and isinstance(a, Labels)
            and (layer.visible or layer is a)
            and layer not in self._proposals
            and not layer.multiscale
            and layer.data.shape == a.data.shape
            and np.allclose(layer.scale, a.scale)
        ]

    def current_inputs(self) -> RunInputs:
        """Return A and B, if chosen, and the question; excluded curves are inspected too."""
        if self.question == ANNOTATORS:
            sets = tuple(weakref.ref(layer) for layer in self.label_sets())
            none, question = (frozenset[str](),) * len(sets), {"the question": self.question}
            return RunInputs((sets, ()), self.choices.recipe, self.choices.settings, none, question)
        a, b = (() if (layer := one.chosen()) is None else (weakref.ref(layer),) for one in (self.a, self.b))
        choices, more = self.choices, {"the question": self.question}
        return RunInputs((a, b), choices.recipe, choices.settings, (frozenset(),) * len(a + b), more)

    def blocking_reason(self) -> str:
        a, b = self.a.chosen(), self.b.chosen()
        if a is None:
            return "Open an image, labels or shapes to inspect."
        if self.question == ANNOTATORS:
            several = len(self.label_sets()) > 1
            return "" if several else "Show two or more labels layers of the same image, one per annotator."
        if a == b:
            return "Choose two different layers, or none for B."
        if self.question == AGREE and (b is None or isinstance(a, Shapes) or isinstance(b, Shapes)):
            return "Choose two labels layers (or images) of the same scene."
        return ""

    def work(self, sources: Sources, run_inputs: RunInputs) -> JobSteps:
        """Inspect the layers, and replace the previous curve layers; no curve is excluded yet."""
        is_current = False
        while not is_current:  # also with what was corrected or judged meanwhile
            outcome: InspectionOutcome = yield self._inspection_function(sources, run_inputs)
            self._apply_strokes()
            is_current = self._is_current(outcome)
        self.update_runner.cancel()
        with self.choices.layers.batched_update():  # the curves, and their arrangement
            yield from self.curves.replace(outcome.layers, shown=False)
            self._take(outcome, run_inputs)
            yield from self._replace_unlisted(outcome.unlisted, shown=False)
            self._name_layers()
            self.layers_changed.emit()
            yield None
        yield None
        yield from self.curves.replace(outcome.layers, new=False)
        yield from self._replace_unlisted(outcome.unlisted, new=False)

    def _take(self, outcome: "InspectionOutcome", run_inputs: RunInputs) -> None:
        """Take over the result and the review, whose curves are in the viewer."""
        self.result, self.run_inputs = outcome.review.inspection, run_inputs
        self.excluded_curves = [np.zeros(len(one), dtype=bool) for one in outcome.review.inspection.ensembles]
        self.again = self.current = None
        self.ranked_with = outcome.ranked_with
        self.review, self._sources, self._in_stacks = outcome.review, outcome.sources, outcome.in_stacks
        if run_inputs.more["the question"] == SUSPICIOUS:
            for ref, own, verdicts in zip(self._inspected, self.review.corrected, self.review.verdicts, strict=True):
                if own is not None and isinstance(layer := ref(), Labels):
                    self._reviewed[layer], self._verdicts[own] = own, verdicts
        self._copies = {
            image: weakref.ref(layer)
            for image, own in enumerate(outcome.review.corrected)
            for layer, known in self._corrected.items()
            if known is own and layer in self.choices.layers
        }
        for image in self._copies:
            self._hide_other_planes(image)
        self._show_corrected()
        self._refresh_review()

    def _inspection_function(self, sources: Sources, run_inputs: RunInputs) -> "Callable[[], InspectionOutcome]":
        """Return the function that answers the question in a worker thread."""
        both, recipe, question = tuple(itertools.chain(*sources)), run_inputs.recipe, run_inputs.more["the question"]
        layers = [ref() for ref in itertools.chain(*run_inputs.layers)]
        in_stacks = [self._in_stack(layer) if isinstance(layer, Labels) else None for layer in layers]
        if question == ANNOTATORS:
            under = self._image_under(layers[0], in_stacks[0])
            return partial(inspect_consensus, both, recipe, under, by=self.by)
        if question != SUSPICIOUS:
            return partial(inspect_disagreement, both, recipe, run_inputs.settings)
        self._apply_strokes()
        copies = [self._corrected.get(layer) if isinstance(layer, Labels) else None for layer in layers]
        both = tuple(  # with all strokes, also those made since the layer was read
            source if own is None else replace(source, data=own.original)
            for source, own in zip(both, copies, strict=True)
        )
        resumed = [self._resumed(layer) if isinstance(layer, Labels) else None for layer in layers]
        going_on = [
            copy if copy is not None else None if own in copies else own
            for own, copy in zip(resumed, copies, strict=True)  # labels beside their copy are as they were
        ]
        verdicts = {own: dict(given) for own, given in self._verdicts.items()}
        known: dict[str, Any] = {"ticks": self.ticks, "by": self.by, "corrected": going_on, "verdicts": verdicts}
        images = [self._image_under(layer, place) for layer, place in zip(layers, in_stacks, strict=True)]
        return partial(inspect_suspicious, both, recipe, run_inputs.settings, images, in_stacks=in_stacks, **known)

    def _resumed(self, layer: Labels) -> CorrectedLabels | None:
        """Return the corrections of a layer that an inspection resumes, unless the layer was changed since.

        Those of a layer whose corrected copy was deleted are not resumed.
        """
        own = self._reviewed.get(layer)
        if own is None or layer.ndim > 2:  # planes are resumed by their stack
            return None
        there = any(known is own and copy in self.choices.layers for copy, known in self._corrected.items())
        return own if there or not own.changes else None

    def _is_current(self, outcome: "InspectionOutcome") -> bool:
        """Whether labels inspected again have the corrections and verdicts that an outcome resumed."""
        resumed = zip(outcome.sources, outcome.review.corrected, outcome.review.verdicts, strict=True)
        return all(
            np.array_equal(source.data, own.labels) and verdicts == self._verdicts[own]
            for source, own, verdicts in resumed
            if own is not None and own in self._verdicts
        )

    def _in_stack(self, layer: Labels) -> "StackPlane | None":
        """Return the position in a stack of the plane that a layer shows; None for a 2D layer."""
        if layer in self._planes:
            return self._planes[layer]
        whole, part = layer, PARTS.get(layer)
        if part is not None and isinstance(part.whole, Labels) and part.part.plane:
            whole, place, axes = part.whole, part.part.plane, (part.whole.ndim - 2, part.whole.ndim - 1)
            data = whole.data
            if whole.multiscale or not np.array_equal(layer.data, data[place]):  # a modified copy
                return None
        elif layer.ndim > 2 and not layer.multiscale:
            shown = shown_plane(layer, self.choices.dims)
            axes, data = (shown.axes[0], shown.axes[1]), shown.data
            place = tuple(int(shown.point[axis]) for axis in range(layer.ndim) if axis not in axes)
        else:
            return None
        stack = self._stacks.get(whole)
        if stack is None or stack.original is not data:
            stack = self._stacks[whole] = CorrectedStack(data)
        steps = {axis: (float(whole.scale[axis]), symbol(whole.units[axis])) for axis in range(whole.ndim - 2)}
        file = self._files.setdefault(whole, LabelsFile(str(whole.source.path or "")))
        scale, unit = pixel_size_of(whole, (whole.ndim - 2, whole.ndim - 1))
        size = Calibration((float(scale[0]), float(scale[1])), unit, "layer")
        return StackPlane(stack, place, axes, whole.name, file, size, steps)

    def _image_under(self, labels: Any, of_stack: "StackPlane | None") -> "ImageUnder | None":
        """Return the visible image whose pixels are drawn below those of labels, or None.

        Of several, it is the one whose name has most in common with theirs, or else the topmost. For labels in a stack,
        it may be the same plane of an image stack.
        """
        if not isinstance(labels, Labels):
            return None
        known, name = PARTS.get(labels), labels.name if of_stack is None else of_stack.name
        if known is not None and known.whole is not None and known.part.region:  # inspected in the whole plane
            labels = known.whole
        plane = _only_plane(labels, of_stack)
        below = [layer for layer in reversed(self.choices.layers) if isinstance(layer, Image) and layer not in OWN]
        found = [
            ImageUnder(layer.name, partial(plane_at, own.data, own.place, own.axes))
            for layer in below
            if layer.visible and plane and (own := _only_plane(layer, of_stack)) and self._coincide(plane, own)
        ]
        return max(found, key=lambda one: common_words(one.name, name), default=None)

    def _coincide(self, one: "LayerPlane", other: "LayerPlane") -> bool:
        """Whether two planes have the same pixels: of the same number, drawn less than one pixel apart."""
        if one.shape != other.shape:
            return False
        apart, across = (world_at(plane.layer, plane.corners(), self.choices) for plane in (one, other))
        first, *steps = world_at(one.layer, np.eye(one.layer.ndim + 1, one.layer.ndim, -1), self.choices)
        pixel = np.abs(np.subtract(steps, first)).max(axis=0)
        if one.layer.ndim == other.layer.ndim:
            return bool((np.abs(apart - across) < pixel).all())
        # The depth of one of them is unknown, and a copy of a plane may be drawn with rows and columns exchanged.
        apart, pixel, orders = apart[:, one.axes], pixel[[*one.axes]], (other.axes, other.axes[::-1])
        return any((np.abs(apart - across[:, order]) < pixel).all() for order in orders)

    def activate(self) -> None:
        """Follow changes of the layer list and of the result's layers."""
        super().activate()
        for layer in (self.a, self.b):
            if not layer.is_connected:
                layer.connect_events()
        for key, action in KEYS.items():
            if key not in self._key_bindings:
                press = self._key_bindings[key] = _key_callback(weakref.ref(self), action)
                with contextlib.suppress(ValueError):  # the user has bound the key
                    self.choices.viewer.bind_key(key, press)
        if self.review is not None and self.review.unmeasured and not self.update_runner.busy:
            self.update_runner.begin(self._update_job())

    def deactivate(self) -> None:
        super().deactivate()
        self.update_runner.cancel()
        self._stroke_debouncer.stop()
        self.a.disconnect_events()
        self.b.disconnect_events()
        viewer = self._key_viewer()
        if viewer is None:  # deleted before its docks
            return
        for key in list(self._key_bindings):
            press, bound = self._key_bindings.pop(key), viewer.bind_key(key, None)
            if bound is not None and bound is not press:
                viewer.bind_key(key, bound)

    # Actions on the result.

    def _entry_at(self, row: int) -> tuple[Entry, tuple[int, int]]:
        """Return the entry in a row of the queue, with its image and the index of its curve (-1 for none)."""
        one = self.rows.iloc[row]
        return Entry(int(one["image"]), int(one["label"])), (int(one["image"]), int(one["index"]))

    def is_excluded(self, row: int) -> bool:
        _, (image, index) = self._entry_at(row)
        return index >= 0 and bool(self.excluded_curves[image][index])

    def exclude(self, row: int, excluded: bool) -> None:
        """Exclude the curve in a row of the queue, or include it again; no data are deleted."""
        _, (image, index) = self._entry_at(row)
        if index < 0:
            self.message = "There is no outline to exclude."
        else:
            self.excluded_curves[image][index] = excluded
            self.again = None
            layer = self.curves.by_image()[image]
            if layer is not None:
                layer.features = layer.features.assign(excluded=self.excluded_curves[image])
                fill_by_score(layer)
        self.changed.emit()

    def compare_again(self) -> None:
        """Compare the two ensembles without the excluded curves."""
        if self.result is not None and self.result.comparison is not None:
            a, b = self.result.without(tuple(self.excluded_curves))
            self.message = ""
            self.start_secondary_job(partial(compare, a, b, self.result.comparison.settings), self._on_compared_again)

    def _on_compared_again(self, comparison: Comparison) -> Iterable[None]:
        self.again, self.failed = comparison, False
        return ()

    # The review.

    def go_to(self, row: int) -> None:
        """Go to a row of the queue: move the camera to its curve and select it, unless its layer was deleted."""
        if not 0 <= row < len(self.rows):
            return
        self.current, (image, index) = self._entry_at(row)
        label = self.current.label
        layers = self.curves.by_image() if index >= 0 else self.unlisted.by_image()
        layer = layers[image if index >= 0 else self._unlisted_images.index(image)]
        copy, viewer = self.copy_of(image), self.choices.viewer
        if copy is not None and label > 0:
            copy.selected_label = label
        if layer is not None:
            shape = index if index >= 0 else layer.features["id"].tolist().index(label)
            drawn = drawn_at(layer, np.asarray(layer.data[shape]), viewer)
            move_camera(viewer, *view_of(viewer, drawn))
            if viewer.layers.selection.active is not copy or copy is None:  # keep a copy being painted active
                viewer.layers.selection.active = layer
            layer.selected_data = {shape}
        self.changed.emit()

    def next(self) -> None:
        """Go to the next label without a verdict, by suspicion or uncertainty."""
        self.message = ""
        waiting = np.flatnonzero(self.rows["mark"] == "")
        if self.uncertain_first:
            score = self.rows["score"].to_numpy(dtype=np.float64)[waiting]
            waiting = waiting[np.argsort(np.abs(score - 0.5), kind="stable")]
        if len(waiting):
            (here,) = np.nonzero(waiting == self.row)  # skip the current label
            self.go_to(int(waiting[(here[0] + 1) % len(waiting) if len(here) else 0]))

    def tick(self, wrong: bool) -> None:
        """Record whether the current label is wrong or right, and go to the next one."""
        if self.review is not None and self.current is not None:
            self.review.tick(self.current, wrong)
            self._refresh_review()
            self.next()

    def fix(self, action: str = "", other: int | None = None) -> None:
        """Correct the current label on a copy of its layer, by default as suggested by its first reason."""
        review, entry = self.review, self.current
        if review is None or entry is None:
            return
        self._apply_strokes()
        self.message = ""
        try:
            action = action or review.suggestion(entry)
            copy = self._ensure_copy(entry.image)
            if action == "merge" and other is None and copy.selected_label not in (0, entry.label):
                other = int(copy.selected_label)  # picked on the canvas
            if action == "redraw":
                self.choices.layers.selection.active = copy
                copy.selected_label, copy.mode = max(entry.label, 0) or int(copy.data.max()) + 1, "paint"
                words = "Paint, erase or fill on the selected layer; every stroke is logged."
                self.message = f"{self.message} {words}".strip()
            else:
                change = review.fix(entry, action, other)
                if action == "add":
                    self.current = Entry(entry.image, max(change.labels))
                self._show_correction()
                return
        except ValueError as error:
            self.message = f"⚠ {error}"
        self.changed.emit()

    def undo(self) -> None:
        """Undo the last verdict or correction."""
        if self.review is None:
            return
        self._apply_strokes()
        self.message = ""
        latest = [() if own is None else own.changes[-1].labels if own.changes else () for own in self.review.corrected]
        try:
            last = self.review.undo()
        except ValueError as error:
            self.message = f"⚠ {error}"
            self.changed.emit()
            return
        if isinstance(last, int):
            self.current = Entry(last, min(latest[last]))
            self._show_correction()
            self.go_to(self.row)  # nowhere, if the label was deleted: it is listed again once it is measured
        else:
            self._refresh_review()
            self.go_to(self._row_of(last))

    def to_save(self) -> dict[int, str]:
        """Return the corrected images that can be saved, with their names; planes of a stack are saved as one stack."""
        if self.review is None:
            return {}
        names: dict[int, str] = {}
        stacks: set[CorrectedStack] = set()
        for image in range(len(self.review.corrected)):
            if (known := self._stack_of(image)) is None:
                if self.review.to_save(image):
                    names[image] = self.name_of_copy(image)
            elif known.stack not in stacks and any(own.changes or own.saved for own in known.stack.planes.values()):
                stacks.add(known.stack)
                names[image] = f"{known.name} corrected"
        return names

    def save(self, paths: dict[int, Path]) -> None:
        """Write the corrected labels of images, or whole stacks, with their calibration and a log file each."""
        assert self.review is not None
        jobs = []
        for image, path in paths.items():
            own, source, known = self.review.corrected[image], self._sources[image], self._stack_of(image)
            if known is not None:
                jobs.append(SaveJob(path, known.stack, known.size, known.file, known.steps))
            elif own is not None:
                size = Calibration(tuple(source.scale.tolist()), source.unit, "layer")
                jobs.append(SaveJob(path, own, size, self._file_of(image)))
        self.start_secondary_job(partial(write_corrected_files, jobs), partial(self._on_saved, jobs))

    def _on_saved(self, jobs: "list[SaveJob]", paths: list[tuple[Path, Path, str]]) -> Iterable[None]:
        for job in jobs:
            planes = job.corrected.planes.values() if isinstance(job.corrected, CorrectedStack) else [job.corrected]
            for own in planes:
                own.saved = own.saved or bool(own.changes) or own is job.corrected
        lines = [[f"Saved as {labels.name}, the log as {log.name}.", out and f"⚠ {out}."] for labels, log, out in paths]
        self.message = "\n".join(filter(None, itertools.chain.from_iterable(lines)))
        return ()

    def _file_of(self, image: int) -> "LabelsFile":
        """Return the file from which the labels of an image were read; a consensus has none."""
        layer = self._inspected[image]() if image < len(self._inspected) and self._sources[image].path else None
        copy = self.copy_of(image)
        if copy is not None and copy in self._files:
            return self._files[copy]
        if isinstance(layer, Layer):
            return self._files.setdefault(layer, LabelsFile(self._sources[image].path))
        return LabelsFile(self._sources[image].path)

    def _stack_of(self, image: int) -> "StackPlane | None":
        return self._in_stacks[image] if image < len(self._in_stacks) else None

    def trigger(self, action: str) -> None:
        """Trigger an action of `KEYS`."""
        if action in ("right", "wrong"):
            self.tick(wrong=action == "wrong")
        else:
            getattr(self, action)()

    def set_reviewer(self, by: str) -> None:
        """Set the name of the reviewer, for the logs."""
        self.by = by
        if self.review is not None:
            self.review.by = by

    @property
    def _inspected(self) -> Refs:
        """The input layers of the result."""
        return () if self.run_inputs is None else tuple(itertools.chain(*self.run_inputs.layers))

    @property
    def row(self) -> int:
        """The row of the current label in the queue, or -1."""
        return -1 if self.current is None else self._row_of(self.current)

    def _row_of(self, entry: Entry) -> int:
        same = (self.rows["image"] == entry.image) & (self.rows["label"] == entry.label)
        return int(same.to_numpy().argmax()) if same.any() else -1

    def copy_of(self, image: int) -> Labels | None:
        """Return the layer on which the labels of an image are corrected; None before the first correction."""
        layer = self._copies[image]() if image in self._copies else None
        return layer if layer in self._corrected and layer in self.choices.layers else None

    def name_of_copy(self, image: int) -> str:
        """Return the name of the corrected labels of an image, with the plane of a stack."""
        origin = self._origin(image)
        return f"{self._sources[image].name if origin is None else origin.name} {self._role_of_copy(image)}"

    def _role_of_copy(self, image: int) -> str:
        return f"{self._sources[image].plane} corrected".strip()

    def _origin(self, image: int) -> Layer | None:
        """Return the layer of an image, after which its own layers are named; None for a consensus, or if deleted."""
        of_several = self.run_inputs is None or self.run_inputs.more["the question"] == ANNOTATORS
        layer = None if of_several or image >= len(self._inspected) else self._inspected[image]()
        return layer if layer in self.choices.layers else None

    def _name_layers(self) -> None:
        """Let the layers of outlines follow the names of the layers that were inspected."""
        curves = enumerate(self.curves.by_image())
        unlisted = zip(self._unlisted_images, self.unlisted.by_image(), strict=False)
        for role, own in (("inspected", curves), ("without outline", unlisted)):
            for image, layer in own:
                if layer is not None and (origin := self._origin(image)) is not None:
                    name_after(layer, origin, role)

    def layers_over(self, layer: Layer) -> list[Layer]:
        """Return the layers over an inspected layer, or over its corrected copy."""
        refs, curves, unlisted = self._inspected, self.curves.by_image(), self.unlisted.by_image()
        here = [image for image, ref in enumerate(refs) if (self.copy_of(image) or ref()) is layer]
        found = [curves[image] for image in here if image < len(curves)]
        found += [one for image, one in zip(self._unlisted_images, unlisted, strict=False) if image in here]
        return [one for one in found if one is not None]

    def _ensure_copy(self, image: int) -> Labels:
        """Return the layer on which the labels of an image are corrected, created lazily; it belongs to the user."""
        assert self.review is not None
        if (layer := self.copy_of(image)) is not None:
            return layer
        own, source = self.review.corrected[image], self._sources[image]
        if own is None:
            if source.kind != "shapes":
                raise ValueError(f'labels are corrected under the question "{QUESTIONS[SUSPICIOUS]}"')
            raise ValueError("only labels can be corrected here: edit shapes in their own layer")
        origin, plane = self._origin(image), self._stack_of(image)
        if origin is not None and self._labels_changed(image, origin, plane, own):  # the copy would take its place
            raise ValueError(f"{origin.name} was changed since it was inspected: inspect it again to correct it")
        layer = Labels(own.labels.copy(), name=self.name_of_copy(image), opacity=0.4, **source.placement)
        layer.preserve_labels = True  # neighbors keep their pixels
        if self.current is not None and self.current.label > 0:
            layer.selected_label = self.current.label
        self._copies[image], self._corrected[layer] = weakref.ref(layer), own
        if plane is not None:
            self._planes[layer] = plane
        else:
            self._files[layer] = self._file_of(image)
        proposed = self.run_inputs is not None and self.run_inputs.more["the question"] == ANNOTATORS
        if proposed:  # a new label set, which replaces no annotator's
            self._proposals.add(layer)
            self.choices.sides.opted_out.add(layer)
        for name in PIXEL_EVENTS:
            getattr(layer.events, name).connect(self._stroke_debouncer.start)
        active = self.choices.layers.selection.active
        self.choices.layers.append(layer)
        self.choices.layers.selection.active = active
        if origin is not None:
            name_after(layer, origin, self._role_of_copy(image))
        if not proposed:
            self._compare_in_place(image, layer)
        self._hide_other_planes(image)
        return layer

    def _labels_changed(self, image: int, layer: Layer, plane: "StackPlane | None", own: CorrectedLabels) -> bool:
        """Whether an inspected layer, or the inspected plane of it, was changed since; not if it shows another one."""
        if plane is not None and layer.ndim > 2:
            if layer.data is not plane.stack.original:
                return True
            return not _is_correction(np.asarray(plane_at(layer.data, plane.place, plane.axes)), own)
        if self.run_inputs is None or plane_of(layer, self.choices.dims) != self.run_inputs.planes[image]:
            return False
        return fingerprint(layer, self.choices.dims) != self.run_inputs.fingerprints[image]

    def _other_planes(self, image: int) -> list[Labels]:
        """Return the layers on which other planes of an image's stack are corrected."""
        known, copy = self._stack_of(image), self.copy_of(image)
        planes = [] if known is None else known.stack.planes.values()
        return [layer for layer, own in self._corrected.items() if layer is not copy and own in planes]

    def _hide_other_planes(self, image: int) -> None:
        """Hide corrected layers of other planes of the stack, which would cover this one."""
        if (copy := self.copy_of(image)) is not None and (others := self._other_planes(image)):
            copy.visible = True
            for other in others:
                other.visible = False

    def _compare_in_place(self, image: int, copy: Labels) -> None:
        """Replace the original layer, or another plane of it, by the corrected labels in the comparison."""
        layer = self._origin(image)
        compared = list(itertools.chain(*self.choices.sides.chosen()))
        layer = next((other for other in self._other_planes(image) if other in compared), layer)
        if layer is not None:
            self.choices.sides.replace({layer: copy})
            self.message = f"{copy.name} takes the place of {layer.name}."

    def _on_original_restored(self, words: str) -> None:
        self.message = words
        self.changed.emit()

    def _apply_strokes(self) -> None:
        """Apply brush strokes on the copies to the review, and to corrections that are not under review."""
        strokes: list[tuple[Labels, CorrectedLabels, NDArray[np.bool_]]] = []
        for layer, own in list(self._corrected.items()):
            if layer not in self.choices.layers:
                continue
            if np.shape(layer.data) != own.labels.shape:
                del self._corrected[layer]
                self.message = f"⚠ {layer.name} holds labels of another shape now: a new copy will be corrected."
                self.changed.emit()
            elif (differs := np.asarray(layer.data != own.labels)).any():
                strokes.append((layer, own, differs))
        painted = False
        for layer, own, differs in strokes:  # which may change the labels of crossing planes of a stack, too
            image = next((image for image in self._copies if self.copy_of(image) is layer), None)
            plane = np.where(differs, layer.data, own.labels)
            try:
                if self.review is not None and image is not None:
                    self.review.paint(image, plane)
                else:
                    own.by = self.by
                    own.paint(plane)
                painted = True
            except ValueError as error:
                self.message = f"⚠ {error}"
                self.changed.emit()
        if painted:
            self._show_correction()

    def _show_corrected(self) -> None:
        """Update all corrected layers, also after a correction in a crossing plane."""
        for layer, own in list(self._corrected.items()):
            differs = np.nonzero(layer.data != own.labels)
            if len(differs[0]):
                layer.data_setitem(differs, own.labels[differs])

    def _show_correction(self) -> None:
        """Show a correction at once, and measure and trace the changed labels again in the background."""
        self._show_corrected()
        self._refresh_review()
        self.changed.emit()
        self.update_runner.begin(self._update_job())

    def _update_job(self) -> JobSteps:
        assert self.review is not None
        try:
            renewed = yield self.review.renewal()
        except ValueError as error:
            self.message = f"⚠ {error}"
        else:
            before = self.review.inspection.ensembles
            self.review.take(renewed)
            for image in renewed:
                out = set(before[image].ids[self.excluded_curves[image]].tolist())
                ids = self.review.inspection.ensembles[image].ids.tolist()
                self.excluded_curves[image] = np.array([one in out for one in ids], dtype=bool)
            self.again = None
            self.result, self.rows = self.review.inspection, self.review.table
            if self.row < 0:  # deleted, or its addition undone
                self.current = None
            layers, unlisted = yield partial(both_layers, self.review, self._sources)
            for layer, excluded in zip(layers, self.excluded_curves, strict=True):
                layer.features = layer.features.assign(excluded=excluded)
                fill_by_score(layer)
            active = self.choices.layers.selection.active
            yield from self.curves.replace(layers)
            yield from self._replace_unlisted(unlisted)
            self._name_layers()
            if active not in self.choices.layers:
                active = next((layer for layer in self.curves.by_image() if layer is not None), None)
            self.choices.layers.selection.active = active
            if self.run_inputs is not None:  # own corrections do not make the result stale
                refs = itertools.chain(*self.run_inputs.layers)
                fingerprints = [
                    fingerprint(layer, self.choices.dims) if (layer := ref()) in self._corrected and layer else old
                    for ref, old in zip(refs, self.run_inputs.fingerprints, strict=True)
                ]
                self.run_inputs = replace(self.run_inputs, fingerprints=tuple(fingerprints))
        self.changed.emit()

    def _replace_unlisted(self, layers: dict[int, Shapes], *, new: bool = True, shown: bool = True) -> Iterator[None]:
        self._unlisted_images = list(layers)
        yield from self.unlisted.replace(list(layers.values()), new=new, shown=shown)

    def _refresh_review(self) -> None:
        """Update the result, the queue and the colors from the review."""
        assert self.review is not None
        self.result, self.rows = self.review.inspection, self.review.table
        for layer, score in zip(self.curves.by_image(), scores(self.result), strict=False):
            if layer is not None and len(score) == len(layer.features):
                layer.features = layer.features.assign(score=score)
                fill_by_score(layer)


def _key_callback(task: "weakref.ref[InspectionTask]", action: str) -> Callable[[Any], None]:
    """Return a callback for a key binding; napari requires a named function."""

    def press(_: Any) -> None:
        if (own := task()) is not None and own.review is not None:
            own.trigger(action)

    return press


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no user name available
        return ""


@dataclass(eq=False)
class LabelsFile:
    """The file from which labels were read."""

    path: str  #: or empty

    @cached_property
    def log(self) -> pd.DataFrame | None:
        """The log file next to it, cached before it is overwritten, or None."""
        return read_log(self.path) if self.path else None


@dataclass(frozen=True, eq=False)
class StackPlane:
    """The position of a plane in a stack of labels, and properties of the stack."""

    stack: CorrectedStack
    place: tuple[int, ...]  #: index along the axes that are not displayed
    axes: tuple[int, int]  #: axes displayed as rows and columns
    name: str
    file: LabelsFile
    size: Calibration  #: pixel size of its last two axes, regardless of those displayed
    steps: dict[int, tuple[float, str]]  #: axis -> spacing of the planes, and its unit


@dataclass(frozen=True, eq=False)
class SaveJob:
    """A job to save corrected labels."""

    path: Path
    corrected: CorrectedLabels | CorrectedStack
    size: Calibration  #: pixel size of the layer
    file: LabelsFile
    steps: dict[int, tuple[float, str]] = field(default_factory=dict)


def write_corrected_files(jobs: Sequence[SaveJob]) -> list[tuple[Path, Path, str]]:
    """Write corrected labels and their logs, with the pixel size of the layer, or else of the original file.

    Return the paths of both, and a sentence on metadata that the format cannot store.
    """
    written = []
    for job in jobs:
        report(f"saving {job.path.name}")
        original = job.file.path if job.file.path and Path(job.file.path).is_file() else None
        size = None if job.size.unit == "pixel" and original is not None else job.size
        with file_errors_named(job.path):
            found = write_corrected(job.path, job.corrected, original, size, job.steps, job.file.log)
        written.append(found)
    return written


class LayerPlane(NamedTuple):
    """A plane of a layer."""

    layer: Layer
    data: Any
    place: tuple[int, ...]  #: index along the axes that are not its rows and columns
    axes: tuple[int, int]

    @property
    def shape(self) -> tuple[int, int]:
        return self.data.shape[self.axes[0]], self.data.shape[self.axes[1]]

    def corners(self) -> NDArray[np.float64]:
        """Return its first pixel, and the ends of the first column and row, (3, d), in pixels of the layer."""
        corners = np.zeros((3, self.layer.ndim))
        corners[:, [axis for axis in range(self.layer.ndim) if axis not in self.axes]] = self.place
        corners[[1, 2], self.axes] = self.shape
        return corners


def _only_plane(layer: Layer, of_stack: "StackPlane | None") -> "LayerPlane | None":
    """Return the only plane of a layer, or, for one of the shape of a stack, the same plane as of this."""
    data, count = layer.data[0] if layer.multiscale else layer.data, layer.ndim
    if of_stack is not None and data.shape[:count] == of_stack.stack.original.shape:
        return LayerPlane(layer, data, of_stack.place, of_stack.axes)
    single = count > 1 and set(data.shape[: count - 2]) <= {1}
    return LayerPlane(layer, data, (0,) * (count - 2), (count - 2, count - 1)) if single else None


class ImageUnder(NamedTuple):
    """The image, or the plane of it, that labels lie on."""

    name: str
    pixels: Callable[[], Any]  #: called in the background, as they may be large, or not in memory


@dataclass(frozen=True, eq=False)
class InspectionOutcome:
    """The outcome of a run: a review, and its layers, not yet in a viewer."""

    review: Review
    sources: tuple[Source, ...]
    layers: list[Shapes]
    unlisted: dict[int, Shapes]
    in_stacks: tuple[StackPlane | None, ...] = ()
    ranked_with: str = ""  #: see `InspectionTask`


def inspect_suspicious(
    sources: tuple[Source, ...],
    recipe: Outlines,
    settings: Settings,
    images: "Sequence[ImageUnder | None]" = (None, None),
    *,
    corrected: Sequence[CorrectedLabels | None] = (None, None),
    verdicts: Mapping[CorrectedLabels, Mapping[int, bool]] = MappingProxyType({}),
    in_stacks: Sequence[StackPlane | None] = (None, None),
    **known: Any,
) -> InspectionOutcome:
    """Rank the curves of one or two layers by suspicion; for labels, with the image below, if any.

    The `Review` continues with earlier corrections (`corrected`) of the same labels and the `verdicts` on them, and
    with all ticks and the reviewer (`known`). Labels that were corrected before are inspected in their corrected state,
    unless they were changed since.
    """
    going_on = [
        place.stack.plane(*place.place, axes=place.axes)
        if before is None and place is not None
        else before
        if before is not None and _is_correction(source.data, before)
        else None
        for source, before, place in zip(sources, corrected, in_stacks, strict=False)
    ]
    sources = tuple(
        source if own is None else replace(source, data=own.labels.copy())
        for source, own in zip(sources, going_on, strict=False)
    )
    known["verdicts"] = [{} if own is None else verdicts.get(own, {}) for own in going_on]
    planes = tuple(
        None if one.kind == "shapes" else recipe.labels(one.data) if one.kind == "image" else one.data
        for one in sources
    )
    pictures = tuple(
        one.data if one.kind == "image" else seen and np.array(seen.pixels())
        for one, seen in zip(sources, images, strict=False)
    )
    ranked_with = [
        f'"{one.name}" is ranked with the image "{seen.name}".'
        if seen
        else f'"{one.name}" is ranked without an image: no visible one has its size and place.'
        for one, seen in zip(sources, images, strict=False)
        if one.kind == "labels"
    ]
    traced = [
        source if plane is None else replace(source, kind="labels", data=plane)
        for source, plane in zip(sources, planes, strict=True)
    ]
    ensembles = tuple(trace(source, recipe) for source in traced)
    result = inspect_curves(ensembles, settings, labels=planes, images=pictures)
    review = Review(result, planes, pictures, outlines=recipe, corrected=going_on, **known)
    import_module("sklearn.linear_model")  # verdicts need it on the main thread, where its import would take a second
    layers, unlisted = both_layers(review, sources)
    return InspectionOutcome(review, sources, layers, unlisted, tuple(in_stacks), " ".join(ranked_with))


def _is_correction(labels: NDArray[Any], corrected: CorrectedLabels) -> bool:
    """Whether labels are those that were corrected, before or after."""
    return np.array_equal(labels, corrected.labels) or np.array_equal(numbered_pieces(labels), corrected.original)


def inspect_disagreement(sources: tuple[Source, ...], recipe: Outlines, settings: Settings) -> InspectionOutcome:
    """Rank the objects of two segmentations of an image by disagreement."""
    one, other = (recipe.labels(source.data) if source.kind == "image" else source.data for source in sources)
    scale, unit = tuple(sources[0].scale), sources[0].unit
    result = disagreement((one, other), settings, outlines=recipe, scale=scale, unit=unit)
    review = Review(result)
    return InspectionOutcome(review, sources, *both_layers(review, sources))


def inspect_consensus(
    sources: tuple[Source, ...], recipe: Outlines, image: "ImageUnder | None" = None, *, by: str = ""
) -> InspectionOutcome:
    """Rank the objects of the consensus of several annotators of an image by their disagreement."""
    first, names = sources[0], [source.name for source in sources]
    labels = {
        name if names.count(name) == 1 else f"{name} [{number}]": source.data
        for number, (name, source) in enumerate(zip(names, sources, strict=True), start=1)
    }
    result, plane = disputed(labels, outlines=recipe, scale=tuple(first.scale), unit=first.unit)
    review = Review(result, (plane,), (image and np.array(image.pixels()),), outlines=recipe, by=by)
    consensus = (replace(first, name="consensus", data=plane, path=""),)
    return InspectionOutcome(review, consensus, *both_layers(review, consensus))


def both_layers(review: Review, sources: tuple[Source, ...]) -> tuple[list[Shapes], dict[int, Shapes]]:
    """Return layers of the curves, colored by score, and of labels without a curve and objects without a label."""
    layers = {}
    for image, source in enumerate(sources):
        features, outlines = review.without_curve(image)
        if not outlines:
            continue
        layer = Shapes(
            outlines,
            ndim=2,
            shape_type="polygon",
            name=f"{source.name} without outline",
            features=features,
            face_color="transparent",
            edge_color=OUTLINE,
            edge_width=0.5,
            **source.placement,
        )
        layer.editable = False
        OWN.add(layer)
        layers[image] = layer
    return inspected_layers(review.inspection, sources), layers


def score_limits(result: Inspection) -> tuple[float, float]:
    """Return the contrast limits of all layers: no suspicion, and the highest score."""
    return SCORE.limits(result.ranking["score"].to_numpy(dtype=np.float64), 100)


def scores(result: Inspection) -> list[NDArray[np.float64]]:
    """Return the scores of the curves of each ensemble; 0 for those that are not listed."""
    every = [np.zeros(len(ensemble)) for ensemble in result.ensembles]
    for values, source in zip(every, "AB", strict=False):
        listed = listed_curves(result, source)
        values[listed["index"].to_numpy()] = listed["score"].to_numpy()
    return every


def listed_curves(result: Inspection, side: str) -> pd.DataFrame:
    """Return the rows of the ranking that are curves of a side, not labels without one."""
    return result.ranking[(result.ranking["source"] == side) & (result.ranking["index"] >= 0)]


def inspected_layers(result: Inspection, sources: tuple[Source, ...]) -> list[Shapes]:
    """Return a Shapes layer per ensemble, colored by score; not yet in a viewer.

    Feature columns: id and measures of the curve, score, reasons, excluded.
    """
    layers = []
    for side, source, ensemble, score in zip("AB", sources, result.ensembles, scores(result), strict=False):
        features = ensemble.features.assign(score=score, reasons="", excluded=False)
        listed = listed_curves(result, side)
        features.loc[listed["index"].to_numpy(), "reasons"] = listed["reasons"].to_numpy()
        layer = Shapes(
            simplified([curve / source.scale for curve in ensemble.curves]),
            ndim=2,
            shape_type="polygon",
            name=f"{source.name} inspected",
            features=features,
            face_color="transparent",
            edge_color=RANKED,
            edge_width=0.5,
            opacity=0.9,
            metadata={MARK: {"highest score": score_limits(result)[1]}},
            **source.placement,
        )
        layer.editable = False
        OWN.add(layer)
        fill_by_score(layer)
        layers.append(layer)
    return layers


def fill_by_score(layer: Shapes) -> None:
    """Fill suspicious curves by their score; excluded ones are not filled, and have another edge color."""
    score, excluded = layer.features["score"].to_numpy(dtype=float), layer.features["excluded"].to_numpy(dtype=bool)
    faces = SCORE.colormap.map(score / layer.metadata[MARK]["highest score"]).astype(float)
    faces[:, 3] = np.where((score > 0) & ~excluded, 0.6, 0)
    layer.face_color = faces
    layer.edge_color = Colormap([RANKED, EXCLUDED]).map(excluded.astype(float))
