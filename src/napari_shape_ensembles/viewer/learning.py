"""Segmentation by example: a model is trained on objects painted in Labels layers of all images."""

import weakref
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from napari.layers import Image, Labels, Layer
from napari.utils import DirectLabelColormap
from numpy.typing import NDArray
from psygnal import Signal
from skimage.measure import label
from skimage.segmentation import find_boundaries

from ..outlines import ObjectModel, Outlines, learn_objects, propose
from ..outlines.proposals import (
    DOUBTFUL,
    PROPOSED_FIELDS,
    Proposal,
    candidate_examples,
    describe_finding,
    opposite_contrast,
    places_tried,
    reason_not_tried,
    sets_finding,
    varied,
)
from ..palette import OUTLINE
from ..progress import over_blocks, report
from ..words import counted
from .choices import Choices
from .debouncing import Debouncer
from .inputs import (
    MADE_FOR,
    OWN,
    Sources,
    file_errors_named,
    is_own,
    pixel_size_of,
    pixels_of,
    placement_of,
    source_of,
    write_file,
)
from .layers import add_unselected, brush_for, name_after
from .overlap import are_disjoint
from .segmenting import FAILED, FeatureCache, SegmentationTask
from .task import PIXEL_EVENTS, JobSteps, RunInputs, Task, saved_message
from .world import drawn_axes, drawn_extent, is_under_pointer, pixels_at, rows_and_columns

#: Label of painted background; all others are objects.
BACKGROUND = 1
# Colors of the background, and cyclically of objects, to distinguish touching neighbors.
_BACKGROUND_COLOR = "#808080"
_OBJECT_COLORS = ("#ff3ea5", "#00c2b2", "#ff8a1f", "#9b6bff", "#b7d932", "#2fa8ff")
# Painted pieces of fewer pixels are ignored as accidental.
_MIN_PIECE_PX = 5
_DEBOUNCE_MS = 400  # debounce of brush strokes before training, in ms


class LearningTask(Task[ObjectModel]):
    """Trains a model on the annotations of all images; the recipe, shared by all docks, then uses it.

    Every annotated image has its own Labels layer: 0 is unknown, 1 is background, and all other labels are objects
    painted whole. Disconnected pieces of a label are separate objects.
    """

    layers_changed = Signal()  #: a layer of examples was added, before napari handles the events

    def __init__(self, choices: Choices, segmentation: SegmentationTask) -> None:
        super().__init__(choices)
        self.segmentation, self._viewer = segmentation, weakref.ref(choices.viewer)
        self._saved: ObjectModel | None = None  # the model that a file has
        self.live = False  #: whether to train after every stroke
        self._after_preview: Callable[[], object] | None = None  # to be called once the chosen image is previewed
        segmentation.previewed.connect(self._on_previewed)
        self.clicking = False  #: whether clicks add segmented objects as examples, and remove examples
        self._examples: weakref.WeakKeyDictionary[Layer, weakref.ref[Labels]] = weakref.WeakKeyDictionary()
        self._counts: weakref.WeakKeyDictionary[Labels, tuple[int, tuple[int, bool]]] = weakref.WeakKeyDictionary()
        self._stroke_debouncer = Debouncer(self._on_stroke, _DEBOUNCE_MS)
        self._painted: list[int] = []  # checksums of the examples at the last stroke

    # Annotations.

    def examples(self) -> list[tuple[Layer, Labels]]:
        """Return the annotated images of the viewer, each with its layer of examples."""
        layers = self.choices.layers
        pairs = ((image, ref()) for image, ref in self._examples.items())
        there = [(image, painted) for image, painted in pairs if image in layers and painted in layers and painted]
        return sorted(there, key=lambda pair: layers.index(pair[0]))

    def painted_counts(self) -> dict[str, tuple[int, bool]]:
        """Return the number of painted objects, and whether background is painted, for each annotated image."""
        counts = {}
        for image, layer in self.examples():
            now = painted_checksum(layer)
            known, count = self._counts.get(layer, (None, (0, False)))
            if now != known:
                values = np.asarray(layer.data)
                numbers = np.unique(values)
                objects = (
                    len(np.unique(painted_objects(values)[0])) - 1
                    if values.ndim == 2
                    else int((numbers > BACKGROUND).sum())
                )
                count = objects, BACKGROUND in numbers
                self._counts[layer] = now, count
            if any(count):
                counts[image.name] = count
        return counts

    def unsaved_examples(self) -> list[str]:
        """Return the images with examples that no saved model has learned from."""
        learned = self.result is not None and not (self.is_model_unsaved or self.changed_since())
        return [] if learned else list(self.painted_counts())

    @property
    def is_model_unsaved(self) -> bool:
        """Whether a model was learned that is in no file."""
        return self.result is not None and self.result is not self._saved

    def paint(self, *, background: bool = False) -> None:
        """Activate the brush for the next object, or for background, in the image's layer of examples."""
        image = self.segmentation.image.chosen()
        if image is None:
            return
        layer, callbacks = self._examples_within_reach(image), self.choices.viewer.mouse_drag_callbacks
        if self._follow_pointer not in callbacks:
            callbacks.append(self._follow_pointer)
        self._bring_to_front(image)
        self.clicking = False
        layer.selected_label = BACKGROUND if background else next_number(layer)
        layer.mode = "paint"
        self.choices.layers.selection.active = layer
        self.changed.emit()

    def _examples_within_reach(self, image: Layer) -> Labels:
        """Return the layer of examples of an image; side by side, the others shown have one as well.

        A stroke over an image without one would be drawn at the same pixels of the image whose layer is active.
        """
        if self.choices.viewer.canvas.grid.enabled:
            for other in self.segmentation.image.offered():
                if other.visible:
                    self._examples_of(other)
        return self._examples_of(image)

    def _examples_of(self, image: Layer) -> Labels:
        """Return the layer of examples of an image, created if missing."""
        layer = dict(self.examples()).get(image)
        if layer is None:
            shape = pixels_of(image).shape[: image.ndim]
            colors: dict[int | None, Any] = {0: "transparent", BACKGROUND: _BACKGROUND_COLOR, None: _OBJECT_COLORS[0]}
            colors |= {BACKGROUND + 1 + place: _OBJECT_COLORS[place % len(_OBJECT_COLORS)] for place in range(500)}
            layer = Labels(np.zeros(shape, dtype=np.int32), opacity=0.5, **placement_of(image))
            name_after(layer, image, "examples")
            layer.colormap = DirectLabelColormap(color_dict=colors)
            layer.brush_size = self._brush_size(image)
            OWN.add(layer)  # so that it is not offered for comparison
            self._examples[image] = weakref.ref(layer)
            MADE_FOR[layer] = weakref.ref(image)
            layer.mouse_drag_callbacks.append(self._on_click)
            for name in PIXEL_EVENTS:
                getattr(layer.events, name).connect(self._stroke_debouncer.start)
            add_unselected(layer, self.choices.layers)
            self.layers_changed.emit()
        return layer

    def _brush_size(self, image: Layer) -> int:
        """Return a brush that fits the objects previewed; without a preview, the image."""
        preview, axes = self.segmentation.preview, drawn_axes(image, self.choices.dims)
        sizes = np.empty(0) if preview is None else np.bincount(preview.labels.ravel())[1:]
        if sizes.any():
            return brush_for(sizes)
        shape = pixels_of(image).shape
        return max(3, min(shape[axis] for axis in axes) // 60)

    def _follow_pointer(self, viewer: Any, event: Any) -> None:
        """Before a stroke or a click, hand the tool to the examples of the image under the pointer, if it has any.

        napari passes an event on to the layer that is active after the callbacks of the viewer. No layer is created
        here: that would rearrange the grid, and the rest of the stroke would be drawn elsewhere.
        """
        active, known = viewer.layers.selection.active, dict(self.examples())
        before = next((image for image, painted in known.items() if painted is active), None)
        image = None if before is None else self._image_at(event.position)
        if image is None or image is before or (layer := known.get(image)) is None:
            return
        layer.brush_size, layer.mode = active.brush_size, active.mode
        layer.selected_label = BACKGROUND if active.selected_label == BACKGROUND else next_number(layer)
        viewer.layers.selection.active = layer

    def _image_at(self, position: Sequence[float]) -> Layer | None:
        """Return the topmost visible image at a world position; in a grid, the one in the cell under the pointer."""
        (drawn,) = rows_and_columns([position], self.choices.dims)
        for image in reversed(self.segmentation.image.offered()):
            box = drawn_extent(image, self.choices) if image.visible else None
            inside = box is not None and (box[0] <= drawn).all() and (drawn <= box[1]).all()
            if inside and is_under_pointer(image, self.choices.viewer):
                return image
        return None

    def _bring_to_front(self, image: Layer) -> None:
        """Show an image, and hide images that cover it, unless images are shown side by side."""
        layers = self.choices.layers
        image.visible = True
        if not self.choices.viewer.canvas.grid.enabled:
            for layer in layers[layers.index(image) + 1 :]:
                if isinstance(layer, Image) and not is_own(layer) and not are_disjoint([image, layer], self.choices):
                    layer.visible = False

    def click(self, candidates: NDArray[np.int32] | None = None) -> None:
        """Let clicks on previewed objects add them as examples, and clicks on examples remove them.

        Candidates are added as examples if the image has none yet.
        """
        self.paint()
        for image, layer in self.examples():
            if image is self.segmentation.image.chosen():
                if candidates is not None and candidates.shape == layer.data.shape and not np.any(layer.data):
                    layer.data_setitem(np.nonzero(candidates), candidates[candidates > 0] + BACKGROUND)
                layer.mode = "pan_zoom"
                self.clicking = True
        self.changed.emit()

    def _on_click(self, layer: Labels, event: Any) -> Iterator[None]:
        """Handle a click without a drag; with Shift, the clicked object becomes background."""
        yield
        if event.type == "mouse_release" and self.clicking and layer.mode == "pan_zoom" and layer.ndim == 2:
            viewer = self.choices.viewer
            (place,) = pixels_at(layer, rows_and_columns([event.position], viewer.dims), viewer)
            row, column = np.round(place).astype(int).tolist()
            on_found = partial(self._toggle_in, weakref.ref(layer), row, column, "Shift" in event.modifiers)
            image = MADE_FOR[layer]()
            if image is None or image is self.segmentation.image.chosen():
                on_found()
            else:  # the objects are those found in the image chosen
                self._after_preview = on_found
                self.segmentation.image.choose(image)

    def _toggle_in(self, ref: "weakref.ref[Labels]", row: int, column: int, background: bool) -> None:
        if (layer := ref()) is not None and MADE_FOR[layer]() is self.segmentation.image.chosen():
            self.toggle_found_object(layer, row, column, background=background)

    def _on_previewed(self) -> None:
        """Finish a click on an image whose objects had not been found yet."""
        on_found, self._after_preview = self._after_preview, None
        if on_found is not None:
            on_found()

    def toggle_found_object(self, layer: Labels, row: int, column: int, *, background: bool = False) -> None:
        """Add the segmented object at a pixel as an example or as background, or remove an example there."""
        preview = self.segmentation.preview
        if preview is None or not (0 <= row < layer.data.shape[0] and 0 <= column < layer.data.shape[1]):
            return
        rows, columns = drawn_axes(layer, self.choices.dims)
        found, painted = preview.labels if rows < columns else preview.labels.T, np.asarray(layer.data)
        if painted[row, column]:
            alike = label(painted == painted[row, column])
            layer.data_setitem(np.nonzero(alike == alike[row, column]), 0)
        elif found.shape == painted.shape and found[row, column]:
            number = BACKGROUND if background else next_number(layer)
            layer.data_setitem(np.nonzero((found == found[row, column]) & (painted == 0)), number)

    def _on_stroke(self) -> None:
        painted = [painted_checksum(layer) for _, layer in self.examples()]
        if painted == self._painted:  # the event had another cause
            return
        self._painted = painted
        if self.live and self.segmentation.source is not None and not self.blocking_reason():
            if self.busy:
                self.cancel()
            self.run()
        self.changed.emit()

    # The run.

    def current_inputs(self) -> RunInputs:
        """Return all annotated images."""
        pairs = [(image, layer) for image, layer in self.examples() if np.any(layer.data)]
        sums = tuple(painted_checksum(layer) for _, layer in pairs)
        return self.inputs_of([image for image, _ in pairs], (), whole=True, more={"what is painted": sums})

    def blocking_reason(self) -> str:
        if self.segmentation.image.chosen() is None:
            return "Open an image to paint objects in."
        if not any(objects for objects, _ in self.painted_counts().values()):
            return "Paint about five whole objects in one or more images."
        return ""

    def changed_since(self) -> list[str]:
        """Describe whether the annotations have changed."""
        if self.result is None or self.run_inputs is None:
            return []
        return ["the painted examples were changed"] if self.current_inputs().more != self.run_inputs.more else []

    def work(self, sources: Sources, run_inputs: RunInputs) -> JobSteps:
        """Train a model, and set it in the recipe, which updates all previews."""
        known = dict(self.examples())
        painted = [known[image] for image in run_inputs.existing() if image is not None and image in known]
        planes = [np.array(source_of(layer, self.choices.dims).data) for layer in painted]
        images = [(source.name, source.data, plane) for source, plane in zip(sources[0], planes, strict=True)]
        model: ObjectModel = yield partial(train_model, images, self.segmentation.features)
        self.result, self.run_inputs = model, run_inputs
        self.choices.set(recipe=replace(self.choices.recipe, find=model))

    def deactivate(self) -> None:
        super().deactivate()
        viewer = self._viewer()
        if viewer is not None and self._follow_pointer in viewer.mouse_drag_callbacks:
            viewer.mouse_drag_callbacks.remove(self._follow_pointer)

    def on_cancelled(self) -> None:
        """Report nothing: the run was superseded by another stroke."""

    # The model.

    def save(self, path: Path) -> None:
        """Write the model to a file, and refer to the file in the recipe."""
        if self.result is not None:
            self.start_secondary_job(partial(write_file, self.result, path), partial(self._on_saved, self.result))

    def _on_saved(self, model: ObjectModel, path: Path) -> None:
        self._saved = model
        self.choices.set(recipe=replace(self.choices.recipe, find=str(path)))
        self.message = saved_message([path])[0]

    def load(self, path: Path) -> None:
        work = file_errors_named(path, "read")(partial(ObjectModel.load, path))
        self.start_secondary_job(work, partial(self._on_loaded, path))

    def _on_loaded(self, path: Path, model: ObjectModel) -> None:
        self._saved = model
        self.result, self.run_inputs, self.message = model, None, f"{path.name} was {model}."
        self.choices.set(recipe=replace(self.choices.recipe, find=str(path)))

    def discard_model(self) -> None:
        """Segment by a method again, without the model; annotations are kept."""
        self.choices.set(recipe=replace(self.choices.recipe, find=None))


def painted_checksum(layer: Labels) -> int:
    """Return a checksum of the painted labels."""
    return zlib.adler32(np.ascontiguousarray(layer.data).view(np.uint8).data)


def next_number(layer: Labels) -> int:
    """Return an unused label for the next object."""
    return max(int(np.max(layer.data, initial=0)), BACKGROUND) + 1


def painted_objects(plane: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the painted objects, relabeled by connected pieces and without tiny ones, and the background mask."""
    objects = label(np.where(plane > BACKGROUND, plane, 0), connectivity=1, background=0)
    small = np.bincount(objects.ravel()) < _MIN_PIECE_PX
    return np.where(small[objects], 0, objects).astype(np.int32), plane == BACKGROUND


def train_model(
    images: list[tuple[str, NDArray[Any], NDArray[Any]]], features: FeatureCache, seed: int = 0
) -> ObjectModel:
    """Train a model on all annotated images."""
    painted, grounds = zip(*(painted_objects(plane) for _, _, plane in images), strict=True)
    seen = []
    for number, (name, image, _) in enumerate(images):
        report(f"checking {name}", number, len(images) + 1)
        seen.append(features.of(image))
    names = [name for name, _, _ in images]
    model = learn_objects(seen, list(painted), background=list(grounds), names=names, random_state=seed)
    report("learning", len(images), len(images) + 1)
    _ = model._classifier
    return model


# Proposals -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Proposed:
    """Proposed recipes, the best first, and the images on which they were tried."""

    proposals: list[Proposal]
    images: int  #: number of images on which they were tried
    pictured: int  #: index of the image, among those given, that the thumbnails show
    refused: list[tuple[str, str]]  #: (name, reason) of images that cannot be segmented, or by no recipe
    opposite: str = ""  #: that the objects are bright in some of them and dark in others
    candidates: NDArray[np.int32] | None = None  #: for examples in the pictured image, if the best is doubtful
    pictures: Sequence[NDArray[np.uint8]] = ()  #: (rows, columns, 3) of each proposal: the part tried, and its outlines


class ProposingTask(Task[Proposed]):
    """Tries recipes on crops of the images of both samples, and of the image chosen in *Segment curves*."""

    def __init__(self, choices: Choices, segmentation: SegmentationTask, answering: Task[Any] | None = None) -> None:
        super().__init__(choices)
        self.segmentation = segmentation
        self._answering = answering  # the task whose result a changed recipe would outdate
        self._set_recipe: Outlines | None = None  # the recipe applied automatically
        self._tried: frozenset[weakref.ref[Layer]] = frozenset()
        segmentation.contents_changed.connect(self._begin_automatically)
        segmentation.awaits_recipe = lambda: self.busy and self._may_set_recipe()
        self.finished.connect(segmentation.preview_in_full)

    def current_inputs(self) -> RunInputs:
        """Return the chosen image and others without those that contain labels; a subset if there are many."""
        sides, contents = self.choices.design.sides(), self.segmentation.contents
        layers = dict.fromkeys(
            [self.segmentation.image.chosen(), *sides[0], *sides[1], *self.choices.design.open_layers()]
        )
        images = [one for one in layers if isinstance(one, Image) and one.name not in contents and self._is_usable(one)]
        return self.inputs_of([images[place] for place in places_tried(len(images))], (), whole=True)

    def _is_usable(self, image: Image) -> bool:
        """Whether the pixels of an image are rectangular; if not, the preview says so."""
        try:
            pixel_size_of(image, drawn_axes(image, self.choices.dims))
        except ValueError:
            return False
        return True

    def blocking_reason(self) -> str:
        if reason := self.segmentation.blocking_reason():
            return reason
        return "" if self.current_inputs().layers[0] else "Choose an intensity image: this one holds labels."

    def changed_since(self) -> list[str]:
        """Return an empty list: thumbnails of another image are not a result that could be out of date."""
        return []

    def work(self, sources: Sources, run_inputs: RunInputs) -> JobSteps:
        """Try recipes, and choose the best if the user has chosen none."""
        images = [(source.name, source.data) for source in sources[0]]
        outcome: Proposed = yield partial(propose_recipes, images, replace(self.choices.recipe, find=None))
        self.result, self.run_inputs = outcome, run_inputs
        if outcome.proposals and self._may_set_recipe():
            self.choose(0)
            self._set_recipe = self.choices.recipe
        self._discard_if_removed()  # meanwhile

    def _sides_changed(self) -> None:
        if not self.busy:
            self._discard_if_removed()
        super()._sides_changed()

    def _discard_if_removed(self) -> None:
        if self.result is not None and self.run_inputs is not None:
            pictured = self.run_inputs.layers[0][self.result.pictured]()
            if pictured not in self.choices.layers:
                self.result, self.message = None, ""
                self.changed.emit()

    def _may_set_recipe(self) -> bool:
        """Whether the recipe may be set automatically: the user has neither chosen one nor seen a result of it."""
        recipe = self.choices.recipe
        chosen = self.choices.recipe_loaded or (sets_finding(recipe) and recipe != self._set_recipe)
        layers = [*chain(*self.choices.design.sides()), *self.choices.design.open_layers()]
        segmented = any(isinstance(one, Image) for one in layers or [self.segmentation.image.chosen()])  # not labels
        answered = self._answering is not None and (self._answering.busy or self._answering.has_result)
        return segmented and not (chosen or answered)

    @property
    def is_choosing(self) -> bool:
        """Whether the recipe is about to be set automatically, after the previews or the run."""
        previewed = self.segmentation.live and self.segmentation.source is not None
        return self._may_set_recipe() and (self.busy or (previewed and self._has_new_images()))

    def _has_new_images(self) -> bool:
        return not self._tried.issuperset(self.current_inputs().layers[0])

    def _begin_automatically(self) -> None:
        """Run automatically for images that were not tried yet, and again if they come during a run."""
        if self._may_set_recipe() and self._has_new_images() and not self.blocking_reason():
            if self.busy:
                self.cancel()
            self._tried = frozenset(self.current_inputs().layers[0])
            self.run()

    def on_cancelled(self) -> None:
        """Record that the run was cancelled, such as by leaving the page: its images are still to be tried."""
        super().on_cancelled()
        self._tried = frozenset()

    def candidates(self) -> NDArray[np.int32] | None:
        """Candidates for examples in the image chosen in *Segment curves*; None unless the best proposal is doubtful.

        They are marked as examples before any are painted, and a click removes a wrong one.
        """
        image = self.segmentation.image.chosen()
        if self.result is None or self.run_inputs is None or image is None:
            return None
        pictured = self.run_inputs.layers[0][self.result.pictured]()
        return self.result.candidates if pictured is image else None

    def choose(self, number: int) -> None:
        """Apply the recipe of a proposal to all images."""
        if self.result is not None:
            recipe = self.recipe_with(self.result.proposals[number])
            self.choices.proposed[recipe] = number + 1
            self.choices.set(recipe=recipe)

    def recipe_with(self, proposal: Proposal) -> Outlines:
        """Return the current recipe with the objects found as proposed; a minimum size chosen since then is kept."""
        recipe = self.choices.recipe
        proposals = [] if self.result is None else self.result.proposals
        untouched = {Outlines().min_size, *(one.recipe.min_size for one in proposals)}
        names = [*PROPOSED_FIELDS, *(["min_size"] if recipe.min_size in untouched else [])]
        return replace(recipe, **{name: getattr(proposal.recipe, name) for name in names})

    @property
    def doubt(self) -> str:
        """What makes the outlines of a proposal doubtful, if one is used; empty if nothing does."""
        if self.result is None or not self.result.proposals or self.choices.recipe not in self.choices.proposed:
            return ""
        doubtful = f"{DOUBTFUL}: under By example, Click objects marks five candidates"
        words = self.result.opposite or (doubtful if self.result.proposals[0].is_doubtful else "")
        return f"{words[0].upper()}{words[1:]}." if words else ""

    def status_text(self) -> str:
        """Return the progress, the error message, or which proposal is used."""
        if self.busy:
            return self.step.text
        if self.result is None or self.message:
            return self.message
        named = {finding.where for finding in self.segmentation.verdict.quality.findings if finding.check == FAILED}
        refused = [(name, reason) for name, reason in self.result.refused if name not in named]
        words = [f"⚠ {name} gives no outlines: {reason}." for name, reason in refused]
        if not self.result.proposals:
            return "\n".join([*words, "Choose other images, or paint examples."])
        best = self.result.proposals[0].recipe
        if self.recipe_with(self.result.proposals[0]) == self.choices.recipe:
            tried = counted(self.result.images, "image")
            words.insert(0, f"The best of several tried on {tried} is used: {describe_finding(best)}.")
        return "\n".join(words)

    def keep_largest(self, on: bool) -> None:
        """Set whether to keep only the largest object per image."""
        self.choices.set(recipe=replace(self.choices.recipe, largest=on))


def propose_recipes(images: list[tuple[str, NDArray[Any]]], recipe: Any) -> Proposed:
    """Return the best distinct proposals for all images, and the images for which there is none."""
    reasons = over_blocks(lambda one: reason_not_tried(one[1], recipe), images)
    refused = [(name, reason) for (name, _), reason in zip(images, reasons, strict=True) if reason]
    usable = [one for one, reason in zip(images, reasons, strict=True) if not reason]
    found = propose([image for _, image in usable], recipe) if usable else []
    for place, (name, _) in enumerate(usable):
        if not any(proposal.finds[place] for proposal in found):
            refused.append((name, "no recipe finds objects in it"))
    pictured = next((place for place, reason in enumerate(reasons) if not reason), 0)
    candidates = candidate_examples(images[pictured][1], found) if found and found[0].is_doubtful else None
    opposite = opposite_contrast(found, [name for name, _ in usable])
    best = varied(found, _MAX_PROPOSALS)
    pictures = [picture_of(proposal) for proposal in best]
    return Proposed(best, len(usable), pictured, refused, opposite, candidates, pictures)


def picture_of(proposal: Proposal) -> NDArray[np.uint8]:
    """Return the image crop in gray, overlaid with the outlines of the segmented objects."""
    low, high = np.percentile(proposal.thumbnail, (0.5, 99.5))
    grey = np.clip((proposal.thumbnail - low) / ((high - low) or 1.0), 0, 1) * 255
    pixels: NDArray[np.uint8] = np.repeat(grey[..., None], 3, axis=2).astype(np.uint8)
    lines = find_boundaries(proposal.labels, mode="thick")
    pixels[lines] = [int(OUTLINE[place : place + 2], 16) for place in (1, 3, 5)]
    return pixels


#: Number of proposals shown.
_MAX_PROPOSALS = 6
