"""Inspection of outlines: ranking by suspicion, correction, and comparison without excluded curves."""

import contextlib
import getpass
import itertools
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from napari.layers import Labels, Layer, Shapes
from numpy.typing import NDArray
from psygnal import Signal

from ..comparison import Comparison, Settings, compare
from ..inspection import CorrectedLabels, Review
from ..inspection.correcting import CorrectedStack, numbered_pieces, plane_at
from ..inspection.ranking import Inspection, disagreement, disputed
from ..inspection.reviewing import Entry
from ..inspection.suspects import Ticks, scale_of_score
from ..outlines import Outlines
from ..outlines.recognise import Content
from .camera_flight import move_camera, view_of
from .choices import Choices
from .debouncing import Debouncer
from .inputs import ACCEPTED, Ref, Source, Sources, fingerprint, is_own, labels_of, plane_of, trace
from .layers import batched, select
from .offered import ChosenLayer
from .review_files import (
    ReviewedImage,
    ReviewFiles,
    StackPlane,
    autosave_path,
    corrections_of,
    images_to_save,
    write_corrected_files,
)
from .review_layers import LayerPlane, ReviewLayers, both_layers, fill_by_score, image_under
from .segmenting import content_of_objects
from .shapes_writer import write_shapes
from .task import JobRunner, JobSteps, RunInputs, Task
from .world import drawn_at, is_under_pointer, pixels_at, rows_and_columns

#: The questions, and their labels.
SUSPICIOUS, AGREE, ANNOTATORS = "suspicious", "agree", "annotators"
QUESTIONS = {
    SUSPICIOUS: "Which curves are suspicious?",
    AGREE: "Do two segmentations agree?",
    ANNOTATORS: "Where do annotators differ?",
}
#: Review orders, by `uncertain_first`.
ORDERS = {False: "suspicious", True: "uncertain"}
# Debounce of brush strokes, in milliseconds.
_DEBOUNCE_MS = 150
# Debounce of marks, which are saved with the whole labels.
_AUTOSAVE_MS = 1000
#: Keys on the canvas and in the dock -> action; none is used by napari.
KEYS = {"N": "next", "K": "right", "W": "wrong", "Q": "fix", "U": "undo"}
# Maximum size of labels, or a stack, that is saved after every correction, in bytes.
_MAX_AUTOSAVED_BYTES = 2**28
# In the inputs of a run.
_QUESTION = "the question"


class InspectionTask(Task[Inspection]):
    """Ranks the curves of one or two layers by suspicion, and compares again without the excluded ones.

    Attributes
    ----------
    a, b : ChosenLayer
        The layers to inspect; the second is optional.
    question : str
        One of `QUESTIONS`.
    layers : ReviewLayers
        The curve layers in the viewer, colored by score, and the copies on which labels are corrected.
    files : ReviewFiles
        The files that labels are from.
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
        self._stroke_debouncer = Debouncer(self._apply_strokes, _DEBOUNCE_MS)
        self._autosave_debouncer = Debouncer(self._save_marks, _AUTOSAVE_MS)
        self.layers, self.files = ReviewLayers(choices, self._stroke_debouncer), ReviewFiles()
        self.excluded_curves: list[NDArray[np.bool_]] = []
        self.again: Comparison | None = None
        self.question = SUSPICIOUS
        self.uncertain_first = False
        self.review: Review | None = None
        self.rows = pd.DataFrame({name: [] for name in ("image", "label", "index", "score", "reasons", "mark")})
        self.current: Entry | None = None
        self._to_fix: Entry | None = None  # once it is measured
        self.ticks, self.by, self.ranked_with = Ticks(), _user_name(), ""
        self.mask: Ref | None = None  #: an image of labels, which the last run has refused
        self.saved_as = ""  #: where the corrections were saved by themselves, as a sentence, or why they were not
        # Corrected labels, or their stack -> the numbers of the changes that a file has, and that file if it is ours.
        self._saved_changes: weakref.WeakKeyDictionary[Any, tuple[int, ...]] = weakref.WeakKeyDictionary()
        self._autosaved: weakref.WeakKeyDictionary[Any, Path] = weakref.WeakKeyDictionary()
        self.update_runner = JobRunner()
        # Inspected layer -> its labels in the last review of it; and all labels reviewed so far.
        self._reviewed: weakref.WeakKeyDictionary[Layer, CorrectedLabels] = weakref.WeakKeyDictionary()
        self._known: weakref.WeakSet[CorrectedLabels] = weakref.WeakSet()
        self._key_bindings: dict[str, Any] = {}
        self._key_viewer = weakref.ref(choices.viewer)
        for layer in (self.a, self.b):
            layer.changed.connect(self._sides_changed)
        choices.design.original_restored.connect(self._on_original_restored)

    def set_question(self, question: str) -> None:
        self.question = question
        self.changed.emit()

    def inspect(self, layer: Layer | None) -> None:
        """Look for suspicious curves in a layer alone."""
        self.a.choose(layer)
        self.b.choose(None)
        self.set_question(SUSPICIOUS)
        self.run()

    # The run.

    def label_sets(self) -> list[Labels]:
        """Return the visible 2D Labels layers with the shape and scale of the first layer, each by one annotator."""
        a = self.a.chosen()
        return [
            layer
            for layer in self.a.offered()
            if isinstance(layer, Labels)
            and isinstance(a, Labels)
            and (layer.visible or layer is a)
            and layer not in self.layers.proposals
            and not layer.multiscale
            and layer.data.shape == a.data.shape
            and np.allclose(layer.scale, a.scale)
        ]

    def current_inputs(self) -> RunInputs:
        """Return the layers, if chosen, or the label sets, and the question; excluded curves are inspected too."""
        if self.question == ANNOTATORS:
            sides: list[list[Labels] | list[Layer]] = [self.label_sets(), []]
        else:
            sides = [[layer for layer in (one.chosen(),) if layer is not None] for one in (self.a, self.b)]
        return self.inputs_of(*sides, whole=True, more={_QUESTION: self.question})

    def blocking_reason(self) -> str:
        a, b = self.a.chosen(), self.b.chosen()
        if a is None:
            return "Open an image, labels or shapes to inspect."
        if self.question == ANNOTATORS:
            several = len(self.label_sets()) > 1
            return "" if several else "Show two or more labels layers of the same image, one per annotator."
        if a == b:
            return "Choose two different layers, or none as the second."
        if self.question == AGREE and (b is None or isinstance(a, Shapes) or isinstance(b, Shapes)):
            return "Choose two labels layers (or images) of the same scene."
        return ""

    def work(self, sources: Sources, run_inputs: RunInputs) -> JobSteps:
        """Inspect the layers, and replace the previous curve layers; no curve is excluded yet."""
        self.mask = None
        contents = yield partial(_contents, [*itertools.chain(*sources)])
        for ref, content in zip(run_inputs.refs, contents, strict=True):
            if content != "grey" and run_inputs.more[_QUESTION] == SUSPICIOUS:
                self.mask = ref
                name = "" if (layer := ref()) is None else layer.name
                what = "a mask" if content == "mask" else content
                raise ValueError(f"{name} holds {what}, opened as an image: it would be segmented, not inspected")
        is_current = False
        while not is_current:  # with the corrections and verdicts that were made meanwhile
            outcome: InspectionOutcome = yield self._inspection_function(sources, run_inputs)
            self._apply_strokes()
            review = outcome.review
            is_current = all(
                np.array_equal(image.source.data, own.labels)
                and verdicts == {label: mark.wrong for label, mark in own.marks.items()}
                for image, own, verdicts in zip(outcome.images, review.corrected, review.verdicts, strict=True)
                if own is not None and own in self._known
            )
        self.update_runner.cancel()
        with batched(self.choices.layers):  # the curves, and their arrangement
            yield from self.layers.curves.replace(outcome.layers)
            self._take(outcome, run_inputs)
            yield from self.layers.replace_unlisted(outcome.unlisted)
            self.layers.name()
            self.layers_changed.emit()
            yield None
        yield None
        yield from self.layers.show()

    def _take(self, outcome: "InspectionOutcome", run_inputs: RunInputs) -> None:
        """Take over the result and the review, whose curves are in the viewer."""
        self.review, self.run_inputs = outcome.review, run_inputs
        self.excluded_curves = [np.zeros(len(one), dtype=bool) for one in outcome.review.inspection.ensembles]
        self.again = self.current = None
        self.ranked_with = outcome.ranked_with
        self.layers.images = outcome.images
        for image, own in zip(outcome.images, self.review.corrected, strict=True):
            layer, copy = image.ref(), None if own is None else self.layers.copy_with(own)
            image.copy = None if copy is None else weakref.ref(copy)
            path = image.source.path
            known = copy if copy is not None else layer if path else None
            image.file = self.files.file_of(known, path) if image.plane is None else image.plane.file
            if run_inputs.more[_QUESTION] == SUSPICIOUS and own is not None and isinstance(layer, Labels):
                self._reviewed[layer] = own
                self._known.add(own)
        self.saved_as = ""
        for place, image in enumerate(outcome.images):
            own = self.review.corrected[place]
            if image.resumed is not None and own is not None and self.layers.copy_of(place) is None:
                file = image.resumed.path
                self._saved_changes[own], self._autosaved[own] = _numbers_of(own), file
                if own.changes:
                    self._ensure_copy(place)
                what = "Corrections and marks" if own.marks and own.changes else "Marks" if own.marks else "Corrections"
                self.saved_as = f"{what} of {file.name} are continued{'; U undoes them' if own.changes else ''}."
            self.layers.hide_other_planes(place)
        self.layers.show_corrected()
        self._refresh_review()

    def _inspection_function(self, sources: Sources, run_inputs: RunInputs) -> "Callable[[], InspectionOutcome]":
        """Return the function that answers the question in a worker thread."""
        images = [
            ReviewedImage(ref, source, self.files.plane_of(ref(), self.choices.dims))
            for ref, source in zip(run_inputs.refs, itertools.chain(*sources), strict=True)
        ]
        below = [image_under(image.ref(), image.plane, self.choices) for image in images]
        for one, seen in zip(images, below, strict=True):
            one.beside = one.source.path if one.plane is None else one.plane.file.path
            original = self.choices.design.originals.get(layer) if (layer := one.ref()) is not None else None
            if original is not None and not one.beside and (picture := original()) is not None:
                one.beside = str(picture.source.path or "")  # the file of an image that they were made of
            if seen is not None and not one.beside:
                one.beside = str(seen.layer.source.path or "")
        recipe, settings, question = run_inputs.recipe, run_inputs.settings, run_inputs.more[_QUESTION]
        if question == ANNOTATORS:
            return partial(inspect_consensus, images, recipe, below[0], by=self.by)
        if question != SUSPICIOUS:
            return partial(inspect_disagreement, images, recipe, settings)
        self._apply_strokes()
        layers = [image.ref() for image in images]
        copies = [self.layers.corrected.get(layer) if isinstance(layer, Labels) else None for layer in layers]
        going_on = list(copies)
        for place, (image, layer, copy) in enumerate(zip(images, layers, copies, strict=True)):
            if copy is not None:  # with all strokes, also those made since the layer was read
                image.source = replace(image.source, data=copy.original)
            elif isinstance(layer, Labels) and layer.ndim == 2:  # planes are resumed by their stack
                own = self._reviewed.get(layer)
                # Not those of a deleted copy; and labels beside their copy are as they were.
                if (
                    own is not None
                    and own not in copies
                    and (not own.changes or self.layers.copy_with(own) is not None)
                ):
                    going_on[place] = own
        known: dict[str, Any] = {"ticks": self.ticks, "by": self.by, "corrected": going_on}
        known["new"] = [isinstance(layer, Labels) and layer not in self._reviewed for layer in layers]
        return partial(inspect_suspicious, images, recipe, settings, below, **known)

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
        if self._on_press not in self.choices.viewer.mouse_drag_callbacks:
            self.choices.viewer.mouse_drag_callbacks.append(self._on_press)
        if self.review is not None and not self.update_runner.busy:
            if self.review.unmeasured:
                self.update_runner.begin(self._update_job())
            elif self.unsaved_corrections():
                self._autosave_debouncer.start()

    def deactivate(self) -> None:
        super().deactivate()
        self.update_runner.cancel()
        self._stroke_debouncer.stop()
        self._autosave_debouncer.stop()
        self.a.disconnect_events()
        self.b.disconnect_events()
        viewer = self._key_viewer()
        if viewer is None:  # deleted before its docks
            return
        if self._on_press in viewer.mouse_drag_callbacks:
            viewer.mouse_drag_callbacks.remove(self._on_press)
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
            if (layer := self.layers.curves.by_image()[image]) is not None:
                fill_by_score(layer, excluded=self.excluded_curves[image])
        self.changed.emit()

    def compare_again(self) -> None:
        if self.result is not None and self.result.comparison is not None:
            a, b = self.result.without(tuple(self.excluded_curves))
            self.message = ""
            self.start_secondary_job(partial(compare, a, b, self.result.comparison.settings), self._on_compared_again)

    def _on_compared_again(self, comparison: Comparison) -> None:
        self.again, self.failed = comparison, False

    # The review.

    def go_to(self, row: int, *, in_view: bool = False) -> None:
        """Go to a row of the queue: move the camera to its curve and select it, unless its layer was deleted.

        A label clicked on the canvas is already in view: neither the camera nor the active layer is changed.
        """
        if not 0 <= row < len(self.rows):
            return
        self.current, (image, index) = self._entry_at(row)
        label = self.current.label
        layer = self.layers.curves.by_image()[image] if index >= 0 else self.layers.unlisted_of(image)
        copy, viewer = self.layers.copy_of(image), self.choices.viewer
        if copy is not None and label > 0:
            copy.selected_label = label
        if layer is not None:
            shape = index if index >= 0 else layer.features["id"].tolist().index(label)
            if not in_view:
                drawn = drawn_at(layer, np.asarray(layer.data[shape]), viewer)
                move_camera(viewer, *view_of(viewer, drawn))
                if viewer.layers.selection.active is not copy or copy is None:  # keep a copy being painted active
                    viewer.layers.selection.active = layer
            select(layer, {shape})
        self.changed.emit()

    def _on_press(self, viewer: Any, event: Any) -> Iterator[None]:
        """Go to the label that is clicked, unless a tool of the active layer takes the click."""
        active, moved = viewer.layers.selection.active, False
        is_tool = str(getattr(active, "mode", "pan_zoom")) != "pan_zoom"
        yield
        while event.type == "mouse_move":
            moved = True
            yield
        if not (is_tool or moved) and self.review is not None:
            self.go_to(self._row_at(event.position), in_view=True)

    def _row_at(self, position: Sequence[float]) -> int:
        """Return the row of the label at a world position, or -1."""
        assert self.review is not None
        viewer = self.choices.viewer
        for image, own in enumerate(self.review.corrected):
            layer = self.layers.copy_of(image) or self.layers.images[image].ref()
            if own is None or layer is None or layer not in viewer.layers or layer.ndim != own.labels.ndim:
                continue
            if layer.visible and is_under_pointer(layer, viewer):
                (place,) = np.round(pixels_at(layer, rows_and_columns([position], viewer.dims), viewer)).astype(int)
                if (place >= 0).all() and (place < own.labels.shape).all() and (label := int(own.labels[tuple(place)])):
                    return self._row_of(Entry(image, label))
        return -1

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
            self._autosave_debouncer.start()
            self.next()

    def fix(self, action: str = "", other: int | None = None) -> None:
        """Correct the current label on a copy of its layer, by default as suggested by its first reason.

        An outline is edited by its vertices, in its own layer.

        The reasons of a label that was just changed, such as by an undo, are those before the change: a suggested
        correction waits until it is measured again.
        """
        review, entry = self.review, self.current
        if review is None or entry is None:
            return
        self._apply_strokes()
        self.message = ""
        self._to_fix = None
        if self.layers.images[entry.image].source.kind == "shapes":
            self._edit_shape(entry)
            return
        if not (action or review.is_measured(entry)) and self.update_runner.busy:
            self._to_fix, self.message = entry, "The label is measured first."
            self.changed.emit()
            return
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

    def _edit_shape(self, entry: Entry) -> None:
        """Select the vertices of an outline in its layer, which belongs to the user."""
        image = self.layers.images[entry.image]
        layer, row = image.ref(), image.source.rows[entry.label]
        if not isinstance(layer, Shapes) or layer not in self.choices.layers:
            self.message = "⚠ the layer of this outline was deleted"
        elif row >= len(layer.data):
            self.message = f"⚠ outlines of {layer.name} were deleted since it was inspected: inspect it again"
        else:
            self.choices.layers.selection.active = layer
            layer.mode = "direct"
            select(layer, {row})
            self.message = "Move its vertices, or delete it, on the selected layer; then inspect again."
        self.changed.emit()

    def undo(self) -> None:
        """Undo the last verdict or correction."""
        if self.review is None:
            return
        self._apply_strokes()
        self.message, self._to_fix = "", None
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
            self._autosave_debouncer.start()
            self.go_to(self._row_of(last))

    def to_save(self) -> dict[int, str]:
        """Return the images that can be saved, with their names: corrected labels, and outlines of an annotation file.

        Planes of a stack are saved as one stack.
        """
        if self.review is None:
            return {}
        return images_to_save(self.review, self.layers.images, self.layers.name_of_copy) | self.annotated()

    def annotated(self) -> dict[int, str]:
        """Return the files of annotations from which the outlines under review were read."""
        layers = {place: image.ref() for place, image in enumerate(self.layers.images)}
        shown = {place: layer for place, layer in layers.items() if layer in self.choices.layers}
        files = {place: layer.metadata.get("file", "") for place, layer in shown.items() if isinstance(layer, Shapes)}
        return {place: file for place, file in files.items() if file and Path(file).is_file()}

    def save(self, paths: dict[int, Path]) -> None:
        """Write the corrected labels of images, or whole stacks, with their calibration and a log file each.

        Outlines are written as they are in their layer, in the format of the file from which they were read.
        """
        for image in paths:
            if (whole := self._whole_of(image)) is not None:
                self._saved_changes[whole] = _numbers_of(whole)
        outlines = [
            (path, layer.as_layer_data_tuple())
            for place, path in paths.items()
            if isinstance(layer := self.layers.images[place].ref(), Shapes)
        ]
        self.start_secondary_job(partial(_write, self._saving_jobs(paths), outlines), self._on_saved)

    def _saving_jobs(self, paths: Mapping[int, Path]) -> list[tuple[Path, ReviewedImage, CorrectedLabels]]:
        assert self.review is not None
        corrected = self.review.corrected
        return [(paths[i], self.layers.images[i], own) for i in paths if (own := corrected[i]) is not None]

    def _whole_of(self, image: int) -> CorrectedLabels | CorrectedStack | None:
        """Return what a file of the corrections of an image holds: its labels, or the stack with this plane."""
        plane = self.layers.images[image].plane
        return plane.stack if plane is not None else None if self.review is None else self.review.corrected[image]

    def unsaved_corrections(self) -> dict[int, str]:
        """Return the images whose corrections or marks are in no file, with their names."""
        return {
            image: name
            for image, name in self.to_save().items()
            if (whole := self._whole_of(image)) is not None and _numbers_of(whole) != self._saved_changes.get(whole, ())
        }

    def _autosave_job(self) -> JobSteps:
        """Save new corrections and marks beside the labels, or their image; say where, or why not."""
        places = {}
        for image in self.unsaved_corrections():
            whole, reviewed = self._whole_of(image), self.layers.images[image]
            if whole is None or not reviewed.beside or not Path(reviewed.beside).is_file():
                self.saved_as = "⚠ The review is in no file yet: Save corrected …"
            elif whole.labels.nbytes <= _MAX_AUTOSAVED_BYTES:
                places[image] = self._autosaved.get(whole) or autosave_path(reviewed, set(self._autosaved.values()))
                self._autosaved[whole] = places[image]
        if not places:
            return
        made = {image: _numbers_of(whole) for image in places if (whole := self._whole_of(image)) is not None}
        try:
            yield partial(write_corrected_files, self._saving_jobs(places))
        except ValueError as error:
            self.saved_as = f"⚠ {error}"
        else:
            for image, numbers in made.items():
                if (whole := self._whole_of(image)) is not None:
                    self._saved_changes[whole] = numbers
            names = ", ".join(path.name for path in places.values())
            self.saved_as = f"Saved automatically: {names}, beside {Path(self.layers.images[min(places)].beside).name}."

    def _on_saved(self, paths: list[tuple[Path, Path | None, str]]) -> None:
        logged = [f"Saved as {path.name}{f', the log as {log.name}' if log else ''}." for path, log, _ in paths]
        lines = [[line, out and f"⚠ {out}."] for line, (*_, out) in zip(logged, paths, strict=True)]
        self.message = "\n".join(filter(None, itertools.chain.from_iterable(lines)))

    def scale_of_score(self) -> str:
        """Say whether the scores are ranks or probabilities; "" if they do not depend on verdicts."""
        if self.review is None or not any(self.review.inspection.suspects):
            return ""
        said = scale_of_score(self.ticks.wrong)
        return f"{said[0].upper()}{said[1:]}."

    def trigger(self, action: str) -> None:
        if action in ("right", "wrong"):
            self.tick(wrong=action == "wrong")
        else:
            getattr(self, action)()

    def set_reviewer(self, by: str) -> None:
        self.by = by
        if self.review is not None:
            self.review.by = by

    @property
    def row(self) -> int:
        """The row of the current label in the queue, or -1."""
        return -1 if self.current is None else self._row_of(self.current)

    def _row_of(self, entry: Entry) -> int:
        same = (self.rows["image"] == entry.image) & (self.rows["label"] == entry.label)
        return int(same.to_numpy().argmax()) if same.any() else -1

    def _ensure_copy(self, image: int) -> Labels:
        """Return the layer on which the labels of an image are corrected, created lazily."""
        assert self.review is not None
        if (layer := self.layers.copy_of(image)) is not None:
            return layer
        own, reviewed, origin = self.review.corrected[image], self.layers.images[image], self.layers.origin(image)
        if own is None:
            raise ValueError(f'labels are corrected under the question "{QUESTIONS[SUSPICIOUS]}"')
        if origin is not None and self._labels_changed(image, origin, reviewed.plane, own):  # see compare_in_place
            raise ValueError(f"{origin.name} was changed since it was inspected: inspect it again to correct it")
        layer = self.layers.add_copy(image, own, 0 if self.current is None else self.current.label)
        self.files.inherit(layer, reviewed)
        if not reviewed.is_consensus and (words := self.layers.compare_in_place(image, layer)):
            self.message = words
        self.layers.hide_other_planes(image)
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

    def _on_original_restored(self, words: str) -> None:
        self.message = words
        self.changed.emit()

    def _apply_strokes(self) -> None:
        """Apply brush strokes on the copies to the review, and to corrections that are not under review."""

        def paint(image: int | None, own: CorrectedLabels, plane: NDArray[np.integer]) -> None:
            if self.review is not None and image is not None:
                self.review.paint(image, plane)
            else:
                own.by = self.by
                own.paint(plane)

        painted, faults = self.layers.apply_strokes(paint)
        if faults:
            self.message = f"⚠ {faults[-1]}"
            self.changed.emit()
        if painted:
            self._show_correction()

    def _show_correction(self) -> None:
        """Show a correction at once, and measure and trace the changed labels again in the background."""
        self.layers.show_corrected()
        self._refresh_review()
        self.changed.emit()
        self.update_runner.begin(self._update_job())

    def _save_marks(self) -> None:
        if self.update_runner.busy:
            self._autosave_debouncer.start()
        elif self.review is not None:
            self.update_runner.begin(self._update_job())

    def _update_job(self) -> JobSteps:
        """Measure and trace corrected labels again, and save them, and the marks."""
        assert self.review is not None
        if not self.review.unmeasured:
            yield from self._autosave_job()
            self.changed.emit()
            return
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
            curves, unlisted = yield partial(both_layers, self.review, self.layers.images)
            for layer, excluded in zip(curves, self.excluded_curves, strict=True):
                fill_by_score(layer, excluded=excluded)
            with batched(self.choices.layers):
                yield from self.layers.curves.replace(curves)
                yield from self.layers.replace_unlisted(unlisted)
                self.layers.name()
                self.layers_changed.emit()
            yield from self.layers.show()
            if self.run_inputs is not None:  # own corrections do not make the result stale
                layers = zip(self.run_inputs.existing(), self.run_inputs.fingerprints, strict=True)
                fingerprints = [
                    fingerprint(one, self.choices.dims)
                    if isinstance(one, Labels) and one in self.layers.corrected
                    else old
                    for one, old in layers
                ]
                self.run_inputs = replace(self.run_inputs, fingerprints=tuple(fingerprints))
            yield from self._autosave_job()
        self.changed.emit()
        to_fix, self._to_fix = self._to_fix, None
        if to_fix is not None and to_fix == self.current:
            self.fix()

    def _refresh_review(self) -> None:
        assert self.review is not None
        self.result, self.rows = self.review.inspection, self.review.table
        self.layers.color(self.result)


def _write(
    jobs: Sequence[tuple[Path, ReviewedImage, CorrectedLabels]], outlines: Sequence[tuple[Path, Any]]
) -> list[tuple[Path, Path | None, str]]:
    """Write corrected labels, and outlines of layers; returns paths, those of the logs, and what is not stored."""
    written: list[tuple[Path, Path | None, str]] = [*write_corrected_files(jobs)]
    for path, (data, attributes, _) in outlines:
        write_shapes(str(path), data, attributes)
        written.append((path, None, ""))
    return written


def _contents(sources: Sequence[Source]) -> list[Content]:
    """Return what images contain; "grey" also for labels and shapes, which are inspected as they are."""
    return [content_of_objects(source.data) if source.kind == "image" else "grey" for source in sources]


def _key_callback(task: "weakref.ref[InspectionTask]", action: str) -> Callable[[Any], None]:
    """Return a callback for a key binding; napari requires a named function."""

    def press(_: Any) -> None:
        if (own := task()) is not None and own.review is not None:
            own.trigger(action)

    return press


def _numbers_of(corrected: CorrectedLabels | CorrectedStack) -> tuple[int, ...]:
    """Return the numbers of the changes and marks, which differ after every correction, mark and undo."""
    every = corrected.planes.values() if isinstance(corrected, CorrectedStack) else [corrected]
    numbers = [[*(one.number for one in own.changes), *(mark.number for mark in own.marks.values())] for own in every]
    return tuple(sorted(itertools.chain(*numbers)))


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no user name available
        return ""


@dataclass(frozen=True, eq=False)
class InspectionOutcome:
    """The outcome of a run: a review, and its layers, not yet in a viewer."""

    review: Review
    images: list[ReviewedImage]
    layers: list[Shapes]
    unlisted: dict[int, Shapes]
    ranked_with: str = ""  #: see `InspectionTask`

    @classmethod
    def of(cls, review: Review, images: list[ReviewedImage], ranked_with: str = "") -> "InspectionOutcome":
        return cls(review, images, *both_layers(review, images), ranked_with)


def inspect_suspicious(
    images: Sequence[ReviewedImage],
    recipe: Outlines,
    settings: Settings,
    below: Sequence[LayerPlane | None],
    *,
    corrected: Sequence[CorrectedLabels | None],
    new: Sequence[bool],
    **known: Any,
) -> InspectionOutcome:
    """Rank the curves of one or two layers by suspicion; for labels, with the image below, if any.

    The `Review` continues with earlier corrections (`corrected`) of the same labels and the marks on them, and with all
    ticks and the reviewer (`known`). Labels that were corrected before are inspected in their corrected state,
    unless they were changed since; those that are `new` to the viewer, with the corrections in a file beside them.
    """
    ranked, planes, pictures, going_on, ensembles, ranked_with = [], [], [], [], [], []
    for image, before, seen, is_new in zip(images, corrected, below, new, strict=True):
        source, own = image.source, before
        if is_new and before is None and image.plane is None and image.beside:
            image.resumed = corrections_of(image.beside, source.data)
            if image.resumed is not None:
                before = own = CorrectedLabels(numbered_pieces(source.data), by=known["by"])
                image.resumed = replace(image.resumed, log=own.resume(image.resumed.labels, image.resumed.log))
        if before is None and (place := image.plane) is not None:
            own = place.stack.plane(*place.place, axes=place.axes)
        elif before is not None and not _is_correction(source.data, before):
            own = None
        if own is not None:
            source = replace(source, data=own.labels.copy())
        labels = source.data if source.kind == "labels" else None
        if source.kind == "image":
            labels = recipe.labels(source.data)
        traced = source if labels is None else replace(source, kind="labels", data=labels)
        ensembles.append(trace(traced, recipe))
        going_on.append(own)
        planes.append(labels)
        pictures.append(source.data if source.kind == "image" else seen and seen.pixels())
        ranked.append(replace(image, source=source))
        if source.kind == "labels":
            without = "without an image: no visible one has its size and place"
            with_one = f'with the image "{seen.layer.name}"' if seen else without
            ranked_with.append(f'"{source.name}" is ranked {with_one}.')
    result = Inspection.of(tuple(ensembles), settings, labels=tuple(planes), images=tuple(pictures))
    review = Review(result, planes, pictures, outlines=recipe, corrected=going_on, **known)
    import_module("sklearn.linear_model")  # verdicts need it on the main thread, where its import would take a second
    return InspectionOutcome.of(review, ranked, " ".join(ranked_with))


def _is_correction(labels: NDArray[Any], corrected: CorrectedLabels) -> bool:
    """Whether labels are those that were corrected, before or after."""
    return np.array_equal(labels, corrected.labels) or np.array_equal(numbered_pieces(labels), corrected.original)


def inspect_disagreement(images: Sequence[ReviewedImage], recipe: Outlines, settings: Settings) -> InspectionOutcome:
    """Rank the objects of two segmentations of an image by disagreement."""
    first, second = sources = [image.source for image in images]
    one, other = (labels_of(source, recipe)[0] for source in sources)
    scale = tuple(first.scale)
    names = first.name, second.name
    result = disagreement((one, other), settings, outlines=recipe, scale=scale, unit=first.unit, names=names)
    return InspectionOutcome.of(Review(result), [replace(image, plane=None) for image in images])


def inspect_consensus(
    images: Sequence[ReviewedImage], recipe: Outlines, below: LayerPlane | None, *, by: str
) -> InspectionOutcome:
    """Rank the objects of the consensus of several annotators of an image by their disagreement."""
    first, names = images[0].source, [image.source.name for image in images]
    labels = {
        name if names.count(name) == 1 else f"{name} [{number}]": image.source.data
        for number, (name, image) in enumerate(zip(names, images, strict=True), start=1)
    }
    result, plane = disputed(labels, outlines=recipe, scale=tuple(first.scale), unit=first.unit)
    review = Review(result, (plane,), (below and below.pixels(),), outlines=recipe, by=by)
    consensus = replace(first, name="consensus", data=plane, path="")
    return InspectionOutcome.of(review, [ReviewedImage(images[0].ref, consensus, is_consensus=True)])
