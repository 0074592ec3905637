"""Segmentation of an image: a live preview of the recipe, and labels and outlines as layers.

For large images and slow methods, a draft at a lower resolution is shown first, and the full-resolution preview
follows. Labels and shapes without an image are not segmented: their outlines are counted and judged as they are.
"""

import itertools
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from napari.layers import Image, Labels, Layer, Shapes
from napari.utils.colormaps import Colormap
from numpy.typing import NDArray
from psygnal import Signal
from scipy import ndimage
from skimage.segmentation import find_boundaries, relabel_sequential

from ..comparison import COLORINGS, unusual_outlines
from ..comparison.display import DEFAULT_PERCENTILE
from ..outlines import Ensemble, Outlines, Quality, content_of, objects_of_classes, quality
from ..outlines.finders import model_of
from ..outlines.gate import Finding
from ..outlines.learned import PixelFeatures
from ..outlines.methods import NEIGHBOURS
from ..outlines.not_image import NotImage, with_values
from ..outlines.proposals import best_recipe
from ..outlines.reasons import AT_BORDER, MASKED, Reason, too_small
from ..outlines.recent import Recent
from ..outlines.recipe import TILINGS
from ..outlines.recognise import Content, as_labels, classes_of, drawn_outlines
from ..outlines.tracing import has_holes, label_plane
from ..palette import OUTLINE
from ..progress import Progress, as_part, each_block, report
from ..words import account_of, counted
from .choices import Choices
from .debouncing import Debouncer
from .inputs import (
    MADE_FOR,
    OWN,
    Ref,
    Refs,
    Source,
    Sources,
    fingerprint,
    is_own,
    pixels_of,
    placement_of,
    source_of,
    trace,
)
from .layers import MANY_LAYERS, add_unselected, batched, colormap_of, existing, name_after
from .offered import ChosenLayer
from .task import PIXEL_EVENTS, JobRunner, JobSteps, RunInputs, Task
from .world import drawn_axes

LabelImage = NDArray[np.integer]

# Maximum side length in pixels: of an image without a draft, if all steps are fast; of a draft; and of a second draft,
# of images more than twice as large.
_MAX_UNDRAFTED_PX, _DRAFT_PX, _SECOND_DRAFT_PX = 1024, 400, 1600
# Size of the feature cache in bytes; the features of a gray level image of 1024 × 1024 pixels take 90 MB.
_CACHE_BYTES = 1.5e9
_MIN_COMPONENT_PX = 10  # minimum mean size of the components of a mask of objects, in pixels
_MAX_SAMPLED_PX = 100_000  # number of pixels whose mean and standard deviation suggest a threshold
_KEPT, _LEFT_OUT = 1, 2
_COLORS = Colormap([[0, 0, 0, 0], [1, 0.83, 0, 1], [1, 0.2, 0.4, 1]], name="segmentation preview", interpolation="zero")
# Debounce of changes before a preview starts, in milliseconds.
_DEBOUNCE_MS = 25
# Events of a layer that change its pixels or its place; those of painted labels are `PIXEL_EVENTS`.
_IMAGE_EVENTS = ("data", "scale", "units", "translate", "rotate", "shear", "affine")
FAILED = "failed"  #: check of the findings on images that cannot be segmented
_NO_IMAGE = "Open an image to segment."


class SegmentationTask(Task[list[Ensemble]]):
    """Segments an image: shows a live preview of the recipe, and adds labels and outlines to the viewer.

    Its result is the outlines of every plane that were added to the viewer.
    """

    snapshot_changed = Signal()  #: `source` was renewed: another image was chosen, or its data changed
    previewed = Signal()  #: the full preview of the current recipe, or its error message, is shown
    layers_changed = Signal()  #: preview layers were added or removed, before napari handles the events
    contents_changed = Signal()  #: the images are read, and `contents` is up to date; their previews follow
    converted = Signal()  #: images that contain labels were converted to Labels layers
    verdict_changed = Signal()  #: all images are previewed, and `verdict` is up to date

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.image = ChosenLayer(
            choices.viewer,
            lambda layer: isinstance(layer, Image) and not (is_own(layer) or choices.design.replacement_of(layer)),
        )
        self.source: Source | None = None  #: snapshot of the image
        self.live = True  #: whether previews are shown
        self.all_planes = False  #: whether every plane of a stack is segmented, rather than the displayed one
        self.preview: Preview | None = None
        self.preview_error = self._snapshot_error = ""
        self.verdict = Verdict()  #: on the outlines of all previewed images
        self._contents: Mapping[Ref, Content] = {}  # of previewed images that contain labels, a mask or classes
        self._last_verdict: tuple[tuple[object, ...], Verdict] | None = None  # the last verdict, and its inputs
        self.is_preview_pending = False  #: whether a preview is pending, so that verdict and counts are out of date
        self.awaits_recipe: Callable[[], bool] = lambda: False  #: whether another recipe is about to be set
        self.features = FeatureCache()
        self._lines: dict[Ref, Image] = {}  # of each previewed image, which may be deleted before them
        self.previewer, self._removal_runner, self.converter = JobRunner(), JobRunner(), JobRunner()
        self._watched_image: Layer | None = None
        self._image_events: list[Any] = []  # connected
        self._previewed_recipe = choices.recipe
        self._to_hide: list[Ref] = []  # images that labels were made of
        self._previewed_samples: tuple[Refs, ...] = ()
        self._edit_events: list[Any] = []  # connected, of labels and shapes
        self._previewed_labels: list[str] = []  # and the fingerprints of these layers
        self._labels_debouncer = Debouncer(self._follow_labels, _DEBOUNCE_MS)
        self._change_events: list[Any] = []  # connected, of the layers previewed besides the image
        self._preview_debouncer = Debouncer(self._start_preview, _DEBOUNCE_MS)
        self.image.changed.connect(self._on_image_chosen)
        choices.changed.connect(self._on_recipe_changed)
        choices.design.changed.connect(self.update_previews)
        self.previewer.progressed.connect(self._on_progress_of_preview)

    # The image.

    def current_inputs(self) -> RunInputs:
        """Return the image, or labels that are alone, as a single sample."""
        image = self.image.chosen() or self.labels_alone
        return self.inputs_of(() if image is None else (image,), (), whole=True)

    def blocking_reason(self) -> str:
        if self.image.chosen() is not None:
            return self._snapshot_error
        if self.labels_alone is not None:
            return ""
        offered = self.choices.design.offered()
        ready = [kind.__name__ for kind in (Labels, Shapes) if any(isinstance(one, kind) for one in offered)]
        return f"{' and '.join(ready)} need no segmentation: they are compared as they are." if ready else _NO_IMAGE

    @property
    def labels_alone(self) -> Layer | None:
        """The only layer that can be compared, if it is of labels: their outlines can be made."""
        layers = self.choices.design.offered_automatically()
        return layers[0] if len(layers) == 1 and isinstance(layers[0], Labels) else None

    @property
    def is_stack(self) -> bool:
        layer = self.image.chosen() or self.labels_alone
        return layer is not None and layer.ndim > 2

    def activate(self) -> None:
        """Follow changes of the image and the sliders, and show a preview."""
        super().activate()
        if not self.image.is_connected:
            self.image.connect_events()
            if self.image.chosen() is None:  # else the preview is scheduled with the image
                self.schedule_preview()

    def deactivate(self) -> None:
        """Disconnect from all events, cancel the job, and remove the preview."""
        super().deactivate()
        if self.image.is_connected:
            self.image.disconnect_events()
            self._watch_image(None)
            self._watch_samples(())
            self.source, self._snapshot_error, self.is_preview_pending, self._contents = None, "", False, {}
            self._preview_debouncer.stop()
            self._labels_debouncer.stop()
            self.converter.cancel()
            self._clear_preview()
            if not self._removal_runner.busy:  # else last
                self._hide_converted()

    def _on_image_chosen(self) -> None:
        chosen = self.image.chosen()
        if self._active and chosen is not self._watched_image:
            self._watch_image(chosen)
            self._update_snapshot()

    def _watch_image(self, image: Layer | None) -> None:
        """Renew the snapshot whenever this image changes or a slider moves; disconnect from the previous image."""
        sliders, events = self.choices.dims.events, list[Any]()
        if image is not None:
            events = [sliders.point, sliders.order, *(getattr(image.events, name) for name in _IMAGE_EVENTS)]
        self._image_events = _reconnected(self._image_events, events, self._update_snapshot)
        self._watched_image = image

    def _update_snapshot(self, event: object = None) -> None:
        self.source, self._snapshot_error = None, ""
        if self._watched_image is not None:
            try:
                self.source = source_of(self._watched_image, self.choices.viewer.dims)
            except ValueError as error:
                self._snapshot_error = str(error)
        self.snapshot_changed.emit()
        self.schedule_preview()

    # The preview.

    def show_live(self, live: bool) -> None:
        self.live = live
        self.schedule_preview()

    def schedule_preview(self, _: object = None) -> None:
        """Schedule a preview of the current recipe; cancel any earlier one."""
        self.previewer.cancel()
        self._previewed_recipe = self.choices.recipe
        self.message, self.failed = "", False
        self.is_preview_pending = self._is_watching and (self.source is not None or any(self._samples()))
        if self._active:
            self._preview_debouncer.start()
        self.changed.emit()

    def _on_recipe_changed(self) -> None:
        if self._active and self.choices.recipe != self._previewed_recipe:
            self.schedule_preview()

    def update_previews(self) -> None:
        """Update the previews if the samples have changed, except by renaming or by layers that a run adds."""
        if self._active and self.image.chosen() is None:
            self.changed.emit()  # `blocking_reason` depends on the layers
        if self._is_watching and not self.delivering and self._samples() != self._previewed_samples:
            self.schedule_preview()

    @property
    def _is_watching(self) -> bool:
        """Whether a preview follows the samples, or, without an image, the verdict on labels and shapes."""
        return self._active and self.live and (self.source is not None or self.image.chosen() is None)

    def _samples(self) -> tuple[Refs, ...]:
        """Return the images and labels to preview, as weak references: a running preview must keep none alive.

        Without an image, return the labels and shapes to judge.
        """
        kinds = Image | Labels if self.image.chosen() is not None else Labels | Shapes
        a, b = self.choices.design.sides()
        beside = [layer for layer in self.choices.design.open_layers() if layer not in (*a, *b)]
        return tuple(tuple(weakref.ref(layer) for layer in own if isinstance(layer, kinds)) for own in (a, b, beside))

    def _watch_samples(self, samples: tuple[Refs, ...]) -> None:
        """Connect to edits of labels and shapes in the samples, and to changes of the layers besides the image."""
        layers = {layer for side in samples for ref in side if (layer := ref()) is not None}
        edited = [layer.events for layer in layers if isinstance(layer, Labels | Shapes)]
        edits = [getattr(events, name) for events in edited for name in PIXEL_EVENTS if hasattr(events, name)]
        changes = [getattr(layer.events, name) for layer in layers - {self._watched_image} for name in _IMAGE_EVENTS]
        self._edit_events = _reconnected(self._edit_events, edits, self._labels_debouncer.start)
        self._change_events = _reconnected(self._change_events, changes, self.schedule_preview)
        self._previewed_labels = self._label_fingerprints()

    def _label_fingerprints(self) -> list[str]:
        dims, refs = self.choices.dims, itertools.chain(*self._previewed_samples)
        return [fingerprint(layer, dims) for ref in refs if isinstance(layer := ref(), Labels | Shapes)]

    def _follow_labels(self) -> None:
        """Update the preview if labels were edited; some of the events have other causes."""
        if self._active and self._label_fingerprints() != self._previewed_labels:
            self.schedule_preview()

    def _start_preview(self) -> None:
        self._previewed_samples = self._samples()
        self._watch_samples(self._previewed_samples)
        if self.source is None or not self.live:
            before, self._contents = self.verdict, {}
            self._clear_preview()
            if self._is_watching and any(self._previewed_samples):
                self.verdict = before  # until the new one
                self.previewer.begin(self._verdict_job())
            self.changed.emit()
        else:
            self.previewer.begin(
                self._preview_job(self.source.calibrated(self._previewed_recipe), self._previewed_recipe)
            )

    def _on_progress_of_preview(self, step: Progress) -> None:
        if isinstance(step.result, Previewed):
            self._show_preview(*step.result)

    def _preview_job(self, source: Source, recipe: Outlines) -> JobSteps:
        """Preview the chosen image first, then the other images of the samples; then judge the quality of all."""
        while self._removal_runner.busy:  # removing the previous preview layers
            yield None
        samples, image = self._samples(), self.image.chosen()
        if image is None:
            return
        shown, image = weakref.ref(image), None  # no strong references while images are segmented
        failed: list[Finding] = []
        others = [ref for side in samples for ref in side if ref != shown]
        sources = {shown: source} | self._other_sources(others, recipe, failed)
        yield from self._add_preview_layers(sources)
        self._contents = yield partial(contents_of, sources)
        self.contents_changed.emit()
        if recipe.method == "auto":  # resolve to one recipe for all images; the change starts a new preview
            images = [one.data for one in sources.values() if one.kind == "image"]
            best = yield partial(best_recipe, images, recipe)
            self.choices.set(recipe=best)
            return
        if self.awaits_recipe():  # full previews of this one would delay the other, and be replaced at once
            yield from self._draft_job(sources, recipe)
            if self.awaits_recipe():
                return
        found: dict[Ref, tuple[Source, LabelImage]] = {}
        outcomes = yield partial(report_previews, [*sources.items()], recipe, self.features)
        for (ref, one), outcome in zip(sources.items(), outcomes, strict=True):
            if isinstance(outcome, Preview):
                found[ref] = one, outcome.labels
                continue
            failed.append(Finding(FAILED, one.name, True, f"{one.name}: {outcome}"))
            self._remove_lines(ref)
            if ref == shown:
                self.preview, self.preview_error = None, f"⚠ {one.name}: {outcome}"
                self.changed.emit()
        self.previewed.emit()
        *sides, beside = ([found[ref] for ref in own if ref in found] for own in samples)
        beside += [found[shown]] if shown in found and not any(shown in own for own in samples) else []
        yield from self._judge(sides, recipe, beside, failed)

    def _draft_job(self, sources: Mapping[Ref, Source], recipe: Outlines) -> JobSteps:
        """Show drafts of the images that need to be segmented."""
        for ref, source in sources.items():
            if source.kind != "image" or ref in self._contents:
                continue
            rows, columns = source.data.shape[:2]
            factor = min(-(-max(rows, columns) // _DRAFT_PX), rows, columns)
            with suppress(ValueError):  # the full resolution says what is wrong
                draft = yield partial(draft_of, source, recipe, factor)
                self._show_preview(ref, source, draft)

    def preview_in_full(self) -> None:
        """Preview the present recipe in full, if this was left until another one would be set."""
        if self.is_preview_pending and not self.previewer.busy:
            self.schedule_preview()

    def _verdict_job(self) -> JobSteps:
        """Judge the quality of labels and shapes, which need no preview."""
        samples, recipe, failed = self._samples(), self.choices.recipe, list[Finding]()
        sources = self._other_sources([ref for side in samples for ref in side], recipe, failed)
        *sides, beside = ([(sources[ref], None) for ref in own if ref in sources] for own in samples)
        yield from self._judge(sides, recipe, beside, failed)

    def _judge(
        self,
        sides: "Sequence[Sequence[Judged]]",
        recipe: Outlines,
        beside: "Sequence[Judged]",
        failed: Sequence[Finding],
    ) -> JobSteps:
        try:
            verdict: Verdict = yield partial(verdict_on, sides, recipe, beside, self.choices.design.samples)
        except ValueError as error:  # such as units that cannot be converted
            verdict = Verdict(Quality((Finding(FAILED, "", True, str(error)),)))
        self.verdict = replace(verdict, quality=Quality((*failed, *verdict.quality.findings)))
        self._last_verdict = self._verdict_inputs(), self.verdict
        self.is_preview_pending = False
        self._hide_converted()
        self.verdict_changed.emit()
        self.changed.emit()

    def _other_sources(self, others: Sequence[Ref], recipe: Outlines, failed: list[Finding]) -> dict[Ref, Source]:
        """Return snapshots of these layers, and add those that cannot be segmented to `failed`."""
        sources: dict[Ref, Source] = {}
        for ref in others:
            if (layer := ref()) is not None and layer in self.choices.layers:
                try:
                    sources[ref] = source_of(layer, self.choices.dims).calibrated(recipe)
                except ValueError as error:
                    failed.append(Finding(FAILED, layer.name, True, f"{layer.name}: {error}"))
        return sources

    def _add_preview_layers(self, sources: Mapping[Ref, Source]) -> JobSteps:
        """Add layers for the lines, before the worker starts, as both would compete for the interpreter.

        Lines over other images are removed.
        """
        layers = self.choices.layers
        drawn = {ref for ref, lines in self._lines.items() if lines in layers}
        missing = [ref for ref in sources if ref not in drawn]
        gone = drawn - {*sources}
        if not (missing or gone):
            return
        with batched(layers):
            for ref in gone:
                self._remove_lines(ref)
            for ref in missing:
                if (image := ref()) is not None and image in layers:
                    self._draw(image, sources[ref], np.zeros(sources[ref].data.shape[:2], dtype=np.uint8))
                    image = None
                    yield None
            self.layers_changed.emit()
            yield None

    def cached_verdict(self) -> "Verdict":
        """Return the last verdict, even without a preview, if images and recipe are unchanged since."""
        if self._last_verdict is None or self._last_verdict[0] != self._verdict_inputs():
            return Verdict()
        return self._last_verdict[1]

    def _verdict_inputs(self) -> tuple[object, ...]:
        samples = self._samples()
        layers = (ref() for side in samples for ref in side)
        fingerprints = [fingerprint(layer, self.choices.dims) for layer in layers if layer is not None]
        return self.choices.recipe, samples, fingerprints

    def _show_preview(self, ref: Ref, source: Source, preview: "Preview") -> None:
        """Show the outlines over an image, in a layer that is reused by every preview of it."""
        if (image := ref()) is None or image not in self.choices.layers:
            return
        lines = self._draw(image, source, preview.lines)
        if lines.visible != image.visible:  # napari lays out its grid again for each event
            lines.visible = image.visible
        if image is self.image.chosen():
            self.preview, self.preview_error = preview, ""
            self.changed.emit()

    def _draw(self, image: Layer, source: Source, pixels: NDArray[np.uint8]) -> Image:
        """Return the layer of the lines over an image, created if missing: for the chosen image, on top of all.

        A new layer is hidden until it has lines, as the first draw of several layers at once would block the event loop
        for half a second; not among many layers, where showing one takes longer.
        """
        layers, lines = self.choices.layers, self._lines.get(weakref.ref(image))
        if lines is not None and lines in layers:
            for name, value in source.placement.items():
                if not np.array_equal(getattr(lines, name), value):
                    setattr(lines, name, value)
            lines.data = pixels
            return lines
        look = {"colormap": _COLORS, "contrast_limits": (0, 2), "blending": "translucent"}
        shown = image.visible and len(layers) > MANY_LAYERS
        lines = self._lines[weakref.ref(image)] = Image(pixels, visible=shown, **look, **source.placement)
        name_after(lines, image, "preview")
        OWN.add(lines)
        MADE_FOR[lines] = weakref.ref(image)
        add_unselected(lines, layers, None if image is self.image.chosen() else layers.index(image) + 1)
        return lines

    @property
    def is_preview_drawn(self) -> bool:
        """Whether the outlines of the preview are in the viewer; not once layers were made of them."""
        return any(lines in self.choices.layers for lines in self._lines.values())

    def _clear_preview(self) -> None:
        self._remove_preview_layers()
        self.preview, self.preview_error, self.verdict = None, "", Verdict()

    def _remove_preview_layers(self) -> None:
        self.previewer.cancel()
        here = [lines for lines in self._lines.values() if lines in self.choices.layers]
        self._lines.clear()
        if here:
            alone = len(here) == 1
            self._removal_runner.begin(self._removal_job(here))
            self._removal_runner.delivering = True  # so that `cancel` completes it at once
            if alone:
                self.finish_removal()

    def _removal_job(self, lines: list[Image]) -> JobSteps:
        """Remove preview layers, one per event loop turn."""
        with batched(self.choices.layers):
            while lines:
                if (last := lines.pop()) in self.choices.layers:
                    self.choices.layers.remove(last)
                last = None
                yield None
            self.layers_changed.emit()
            yield None
        if not self.is_preview_pending:  # no preview will be renewed
            self._hide_converted()

    def finish_removal(self) -> None:
        """Complete the removal of preview layers at once."""
        self._removal_runner.cancel()

    def _remove_lines(self, image: Ref) -> None:
        lines = self._lines.pop(image, None)
        if lines is not None and lines in self.choices.layers:
            self.choices.layers.remove(lines)

    # Images that contain labels.

    @property
    def contents(self) -> dict[str, Content]:
        """Contents of previewed images that contain labels, a mask or classes, by their current name."""
        return {layer.name: content for ref, content in self._contents.items() if (layer := ref()) is not None}

    def use_as_labels(self, *, classes_apart: bool = False) -> None:
        """Convert images that contain labels, a mask or classes to Labels layers, and choose these instead.

        With `classes_apart`, the components of the first two classes of the chosen image become the two groups; its
        background is none.
        """
        shown = self.image.chosen()
        candidates = dict.fromkeys([*([shown] if shown is not None else []), *self.choices.design.open_layers()])
        images = [one for one in candidates if isinstance(one, Image) and one.name in self.contents]
        self.convert(images[:1] if classes_apart else images, classes_apart=classes_apart)

    def convert(self, images: Sequence[Layer], *, classes_apart: bool = False) -> None:
        """Convert these images, which contain labels, a mask or classes."""
        if images and not self.converter.busy:  # a second click would add the labels twice
            self.converter.begin(self._conversion_job([weakref.ref(one) for one in images], classes_apart))

    def _conversion_job(self, refs: Sequence[Ref], classes_apart: bool) -> JobSteps:
        """Convert images, and hide them last: drivers crash where they are hidden as previews are removed."""
        viewer = self.choices.viewer
        made: list[list[weakref.ref[Layer]]] = [[] for _ in refs]
        for ref, own in zip(refs, made, strict=True):
            if (image := ref()) is None or image not in viewer.layers:
                continue
            try:
                source = source_of(image, self.choices.dims)
                image = None
                planes = yield partial(_label_planes, source.data, classes_apart)
            except ValueError as error:
                self.show_message(str(error))
                continue
            for words, plane in planes.items():
                if (image := ref()) is None or image not in viewer.layers:  # deleted meanwhile
                    break
                layer = Labels(plane, name=f"{image.name} {words}", **source.placement)
                add_unselected(layer, viewer.layers)
                own.append(weakref.ref(layer))
                image = layer = None
                yield None
        layers = [existing(own, self.choices.layers) for own in made]
        if classes_apart:
            if len(layers[0]) > 1:
                self.choices.design.choose(layers[0][:1], layers[0][1:2])
        else:
            pairs = zip([ref() for ref in refs], layers, strict=True)
            self.choices.design.replace({image: own[0] for image, own in pairs if image is not None and own})
            self.image.refresh()
        self._to_hide += [ref for ref, own in zip(refs, layers, strict=True) if own]
        del layers
        self.converted.emit()
        if not self.is_preview_pending:
            self._hide_converted()

    def _hide_converted(self) -> None:
        """Hide the images that labels were made of, once the previews are renewed."""
        for ref in self._to_hide:
            if (image := ref()) is not None:
                image.visible = False
        self._to_hide = []

    # The run.

    def work(self, sources: Sources, run_inputs: RunInputs) -> JobSteps:
        """Segment and trace, add both layers, which belong to the user, to the viewer, and remove the preview."""
        outcome: SegmentationOutcome = yield self._segmentation_function(sources[0][0], run_inputs)
        self._remove_preview_layers()
        if self.is_preview_pending:  # cancelled with its layers: the message counts the outlines made
            self.is_preview_pending, self.preview = False, None
        for layer in filter(None, (outcome.labels, outcome.curves)):
            yield None
            MADE_FOR[layer] = run_inputs.layers[0][0]
            add_unselected(layer, self.choices.layers)
        self._previewed_samples = self._samples()
        self.result, self.run_inputs = outcome.ensembles, run_inputs
        self.show_message(outcome.account())

    def _segmentation_function(self, source: Source, run_inputs: RunInputs) -> "Callable[[], SegmentationOutcome]":
        """Return the function that segments and traces the displayed plane, or every plane of the stack."""
        recipe, image = run_inputs.recipe, run_inputs.layers[0][0]()
        if not self.all_planes or image is None or image.ndim == 2:
            return partial(run_segmentation, source, recipe)
        rows, columns = drawn_axes(image, self.choices.dims)
        return partial(run_segmentation, source, recipe, pixels_of(image), placement_of(image), (rows, columns))

    def show_message(self, words: str, _: str = "") -> None:
        self.message = words
        self.changed.emit()

    def changed_since(self) -> list[str]:
        """Return an empty list: layers added to the viewer are not updated."""
        return []


def _reconnected(before: list[Any], after: list[Any], slot: Callable[..., object]) -> list[Any]:
    """Disconnect a slot from events, and connect it to others, which are returned."""
    for event in before:
        event.disconnect(slot)
    for event in after:
        event.connect(slot)
    return after


def _label_planes(pixels: NDArray[Any], classes_apart: bool) -> dict[str, NDArray[np.int64]]:
    """Return the labels that an image contains, or those of the components of each of two classes, by a name."""
    planes: dict[str, NDArray[Any]]
    if classes_apart:
        values = classes_of(pixels)[:2]
        if len(values) < 2:
            raise ValueError("There is one class beside the background, not two to compare: use it as labels.")
        planes = {f"class {value}": objects_of_classes(pixels, [value]) for value in values}
    else:
        planes = {"labels": label_plane(np.asarray(as_labels(pixels, insist=True)[0]))}
    return {name: np.asarray(plane).astype(np.int64) for name, plane in planes.items()}


def grey_levels(source: Source) -> dict[str, Any]:
    """Return whether an image is RGB, its gray level range and an initial threshold, for the form."""
    rgb = source.data.ndim == 3
    values = source.data[..., :3].mean(axis=-1) / 255 if rgb else source.data
    if values.size and not np.isfinite([values.min(), values.max()]).all():
        values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    # Of some pixels, as the event loop waits; in double precision, as squares of float16 overflow.
    few = values.ravel()[:: max(values.size // _MAX_SAMPLED_PX, 1)]
    middle = float(few.mean(dtype=np.float64) + few.std(dtype=np.float64)) if few.size else 0.5
    return {"rgb": rgb, "low": low, "high": high, "middle": min(middle, high)}


@dataclass(frozen=True, eq=False)
class Preview:
    """A segmentation for display."""

    lines: NDArray[np.uint8]  #: (rows, columns), 1 on the outlines of kept objects, 2 (dotted) on those left out
    diameters: NDArray[np.float64]  #: (N,) equivalent diameters of the kept objects, in `unit`
    unit: str
    left_out: dict[Reason, int]
    filled: int  #: number of kept objects with filled holes
    draft: bool  #: whether segmented at a lower resolution
    labels: LabelImage


class FeatureCache:
    """Pixel features of recent images, for retraining after a correction."""

    def __init__(self) -> None:
        self._recent = Recent[PixelFeatures](_CACHE_BYTES, lambda one: one.values.nbytes)

    def of(self, image: NDArray[Any]) -> PixelFeatures:
        """Return the features of an image, computed if they are not kept."""
        return self._recent.of(partial(PixelFeatures.of, image), image)


def exact_preview(source: Source, recipe: Outlines, features: FeatureCache) -> Preview:
    """Return the full-resolution preview of an image or labels; for a model, with cached features."""
    if source.kind == "labels":
        return preview_of(relabel_sequential(label_plane(source.data))[0], source, recipe)
    image: Any = source.data if model_of(recipe.find) is None else features.of(source.data)
    ignored = recipe.ignored(source.data)
    return preview_of(recipe.labels(image, ignored=ignored), source, recipe, ignored)


def contents_of(sources: Mapping[Ref, Source]) -> dict[Ref, Content]:
    """Return the contents of images that contain labels, a mask or classes."""
    contents = {ref: content_of_objects(source.data) for ref, source in sources.items() if source.kind == "image"}
    return {ref: content for ref, content in contents.items() if content != "grey"}


def content_of_objects(image: NDArray[Any]) -> Content:
    """Return the content of an image; a mask of single bright pixels counts as gray levels."""
    content = content_of(image)
    few = content == "mask" and np.count_nonzero(image) < _MIN_COMPONENT_PX * ndimage.label(image)[1]
    return "grey" if few else content


@dataclass(frozen=True)
class Verdict:
    """Quality findings on the outlines of all previewed images."""

    quality: Quality = field(default_factory=lambda: Quality(()))
    counts: Mapping[str, int] = field(default_factory=dict)  #: number of outlines of each image


#: A source and the labels of its objects; without them, labels or shapes as they are.
Judged: TypeAlias = tuple[Source, LabelImage | None]


def verdict_on(
    sides: Sequence[Sequence[Judged]],
    recipe: Outlines,
    beside: Sequence[Judged] = (),
    groups: Sequence[str] = ("A", "B"),
) -> Verdict:
    """Trace the labels of two groups (maybe empty) and of further images, and judge the quality of the outlines."""
    samples, drawn, empty = [], [], list[Finding]()
    for side in (*sides, beside):
        traced = []
        for source, labels in side:
            report(f"checking {source.name}")
            if labels is None:
                traced.append(trace(source, recipe))
                continue
            pixel, ignored = tuple(source.scale), recipe.ignored(source.data) if source.kind == "image" else None
            traced.append(recipe.trace(labels, scale=pixel, unit=source.unit, name=source.name, ignored=ignored))
            if count := drawn_outlines(source.data):
                words = f"{source.name}: {count} closed colored lines are drawn on it and segmented with it"
                drawn.append(Finding("drawn", source.name, False, words))
        if len(traced) > 1:  # pooled below; a single one is named as its sample
            empty += [
                Finding("few curves", one.name, True, f"{one.name} has no usable outline") for one in traced if not one
            ]
        samples.append(traced)
    names = [side[0].name if len(side) == 1 else name for side, name in zip(samples, (*groups, "others"), strict=True)]
    *pooled, other = (
        Ensemble.pooled(side, name=name) if side else None for side, name in zip(samples, names, strict=True)
    )
    counts = {one.name: len(one) for side in samples for one in side}
    compared = [sample for sample in pooled if sample is not None]
    found = [
        finding
        for group in (compared, [other] if other is not None else [])
        if group
        for finding in quality(*group).findings
    ]
    return Verdict(Quality((*empty, *drawn, *found)), counts)


class Previewed(NamedTuple):
    """A preview of a layer."""

    ref: Ref
    source: Source
    preview: Preview


def report_previews(
    sources: Sequence[tuple[Ref, Source]], recipe: Outlines, features: FeatureCache
) -> list[Preview | ValueError]:
    """Return the full-resolution previews of images and labels, or why there are none; report each once it is ready.

    Drafts of the first are reported before. Images are segmented in parallel, but not by a model or by an installed
    segmenter, which takes the whole machine.
    """
    ref, first = sources[0]
    for draft in drafts(first, recipe, features):
        report("segmenting", result=Previewed(ref, first, draft))

    def outcome_of(one: tuple[Ref, Source]) -> Preview | ValueError:
        try:
            return exact_preview(one[1], recipe, features)
        except ValueError as error:
            return error

    outcomes: list[Preview | ValueError] = []
    each = each_block if recipe.find is None else map
    for (ref, source), outcome in zip(sources, each(outcome_of, sources), strict=True):
        outcomes.append(outcome)
        if isinstance(outcome, Preview):
            report("segmenting", len(outcomes), len(sources), Previewed(ref, source, outcome))
    return outcomes


def drafts(source: Source, recipe: Outlines, features: FeatureCache) -> Iterator[Preview]:
    """Yield previews at lower resolutions of a large image, or for a slow method."""
    rows, columns = source.data.shape[:2]
    longer = max(rows, columns)
    if recipe.find is not None:
        if (model := model_of(recipe.find)) is not None and longer > _DRAFT_PX:
            coarse = model.labels(features.of(source.data), step=int(np.ceil(longer / _DRAFT_PX)))
            yield preview_of(coarse, source, recipe, recipe.ignored(source.data), draft=True)
        return
    slow = recipe.background, recipe.opening, recipe.closing, recipe.split_touching != "none", recipe.refine
    takes_long = recipe.method in TILINGS or any(slow)
    for side, is_drafted in (
        (_DRAFT_PX, longer > (_DRAFT_PX if takes_long else _MAX_UNDRAFTED_PX)),
        (_SECOND_DRAFT_PX, longer > 2 * _SECOND_DRAFT_PX),
    ):
        if is_drafted:
            with suppress(ValueError):  # such as too few gray levels; the full resolution may have enough
                yield draft_of(source, recipe, factor=min(-(-longer // side), rows, columns))


def draft_of(source: Source, recipe: Outlines, factor: int) -> Preview:
    """Return the preview of an image downsampled by a factor, of the size of the image."""
    ignored, quick = recipe.ignored(source.data).coarse(factor), replace(recipe.at_resolution(1 / factor), refine=False)
    coarse = quick.labels(downsampled(with_values(source.data), factor), ignored=ignored)
    preview = preview_of(coarse, source, recipe, ignored, factor=factor, draft=True)

    def enlarged(pixels: NDArray[Any]) -> NDArray[Any]:
        large = pixels.repeat(factor, axis=0).repeat(factor, axis=1)
        pairs = zip(source.data.shape[:2], large.shape, strict=True)
        rows, columns = ((0, max(side - length, 0)) for side, length in pairs)
        return np.pad(large, (rows, columns), mode="edge")[: source.data.shape[0], : source.data.shape[1]]

    return replace(preview, lines=enlarged(preview.lines), labels=enlarged(preview.labels))


def downsampled(image: NDArray[Any], factor: int) -> NDArray[Any]:
    """Downsample by the mean of factor × factor blocks, or a mask by taking every factor-th pixel."""
    if image.dtype == bool:
        return image[factor // 2 :: factor, factor // 2 :: factor]
    rows, columns = (max(side // factor, 1) for side in image.shape[:2])
    whole = image[: rows * factor, : columns * factor]
    means: NDArray[Any] = whole.reshape(rows, factor, columns, factor, *image.shape[2:]).mean(axis=(1, 3))
    return means.astype(image.dtype) if image.ndim == 3 and image.dtype == np.uint8 else means


def preview_of(
    labels: LabelImage,
    source: Source,
    recipe: Outlines,
    ignored: NotImage | None = None,
    *,
    factor: int = 1,
    draft: bool = False,
) -> Preview:
    """Return a preview that distinguishes objects that would become curves from those left out.

    Parts of the picture that are not image are outlined like what is left out.

    A pixel of the labels is as wide as `factor` pixels of the image.
    """
    sizes = np.bincount(labels.ravel()) * factor**2
    exists = sizes > 0
    exists[0] = False
    small = exists & (sizes < recipe.min_area)
    cut = np.zeros(len(sizes), dtype=bool)
    cut[[*labels[0], *labels[-1], *labels[:, 0], *labels[:, -1]]] = not recipe.keep_border
    counts = {too_small(recipe.min_area): int(small.sum()), AT_BORDER: int((exists & cut & ~small).sum())}
    if ignored:
        labels = np.where(ignored.mask, 0, labels)
        masked = np.zeros(len(sizes), dtype=bool)
        masked[ignored.cut(labels)] = not recipe.keep_border
        counts |= {MASKED: int((exists & masked & ~cut & ~small).sum()), **ignored.reasons}
        cut |= masked
    out = small | (exists & cut)
    kept = exists & ~out
    # Pixels on both sides of every label boundary; dotted if only left-out objects are adjacent.
    solid, dotted = np.zeros(labels.shape, dtype=bool), np.zeros(labels.shape, dtype=bool)
    for here, there in NEIGHBOURS:
        rows, columns = np.nonzero(labels[here] != labels[there])
        one, other = labels[here][rows, columns], labels[there][rows, columns]
        for lines, marks in ((solid, kept), (dotted, out)):
            beside = marks[one] | marks[other]
            for side in (here, there):
                lines[side][rows[beside], columns[beside]] = True
    if ignored:
        dotted |= find_boundaries(ignored.mask, mode="inner")
    filled = 0 if recipe.holes else np.count_nonzero(kept & has_holes(labels))
    rows, columns = np.nonzero(dotted)
    dotted[rows, columns] = (rows + columns) % 6 < 3
    return Preview(
        np.where(solid, _KEPT, _LEFT_OUT * dotted).astype(np.uint8),
        np.sqrt(4 * sizes[kept] * np.prod(source.scale) / np.pi),
        source.unit,
        {reason: count for reason, count in counts.items() if count},
        int(filled),
        draft,
        labels,
    )


@dataclass(frozen=True, eq=False)
class SegmentationOutcome:
    """The outcome of a run: layers, not yet in a viewer, and the curves of every plane."""

    labels: Labels | None  #: None if labels were given
    curves: Shapes
    ensembles: list[Ensemble]

    def account(self) -> str:
        """Return a summary of the numbers of outlines and of objects left out."""
        left_out: Counter[Reason] = Counter()
        for ensemble in self.ensembles:
            left_out.update(ensemble.dropped)
        made = f"{counted(sum(map(len, self.ensembles)), 'outline')} made."
        if "unusual" in self.curves.features and self.curves.features["unusual"].notna().any():
            most = int(self.curves.features["unusual"].argmax())
            made += f" Colored by how unusual they are, most of all outline {self.curves.features['id'][most]}. "
            made += f"{self.curves.features['why'][most]}"
        return "\n".join([made, *account_of(left_out, sum(ensemble.filled for ensemble in self.ensembles))])


def run_segmentation(
    source: Source,
    recipe: Outlines,
    data: Any = None,
    placement: Mapping[str, Any] | None = None,
    axes: tuple[int, int] = (-2, -1),
) -> SegmentationOutcome:
    """Segment and trace the plane of a source, or every plane of `data` independently, and create the layers.

    Labels are traced as they are. `axes` are the row and column axes of the planes. A ValueError names a plane that
    cannot be segmented.
    """
    placement = source.placement if placement is None else placement
    data = source.data if data is None else data
    count = len(placement["scale"])
    shown = [axis % count for axis in axes]
    hidden = [axis for axis in range(count) if axis not in shown]
    data = np.moveaxis(data, shown, (count - 2, count - 1))  # colors stay the last axis
    shape = data.shape[: len(hidden)]
    places = list(np.ndindex(*shape))
    total = 2 * len(places) + 1
    sheets, ensembles, outlines, tables = [], [], [], []
    for index, place in enumerate(places):
        name = f"{source.name}{' plane ' if place else ''}{', '.join(map(str, place))}"
        try:
            with as_part(2 * index, total, f"segmenting {name}: "):
                sheet = np.asarray(data[place])
                ignored = None if source.kind == "labels" else recipe.ignored(sheet)
                sheets.append(sheet if source.kind == "labels" else recipe.labels(sheet, ignored=ignored))
            report(f"tracing {name}", 2 * index + 1, total)
            pixel = tuple(source.scale)
            found = recipe.trace(sheets[-1], scale=pixel, unit=source.unit, name=source.name, ignored=ignored)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
        ensembles.append(found)
        for curve in found.curves:
            vertices = np.empty((len(curve), count))
            vertices[:, hidden], vertices[:, shown] = place, curve / source.scale
            outlines.append(vertices)
        where = {f"plane {axis}": there for axis, there in zip(hidden, place, strict=True)}
        tables.append(found.features.assign(**where, excluded=False))
    report("making layers", total - 1, total)
    features, colors = None, dict[str, Any](face_color="transparent")
    if outlines:
        unusual = unusual_outlines(Ensemble.pooled(ensembles)).drop(columns="id")
        features = pd.concat([pd.concat(tables, ignore_index=True), unusual], axis=1)
        coloring = COLORINGS["unusual"]
        if (known := unusual[coloring.name]).notna().all():
            limits = coloring.limits(known.to_numpy(), DEFAULT_PERCENTILE)
            colors = {
                "face_color": coloring.name,
                "face_colormap": colormap_of(coloring),
                "face_contrast_limits": limits,
            }
    metadata = {"segmentation": recipe.changed()}
    curves = Shapes(
        outlines or None,
        ndim=count,
        shape_type="polygon",
        name=f"{source.name} outlines",
        features=features,
        opacity=0.6,
        **colors,
        edge_color=OUTLINE,
        edge_width=1.0,
        metadata=metadata | {"unit": source.unit},
        **placement,
    )
    if source.kind == "labels":
        return SegmentationOutcome(None, curves, ensembles)
    planes = np.reshape(sheets, (*shape, *sheets[0].shape)).astype(np.int32)
    labels = np.ascontiguousarray(np.moveaxis(planes, (-2, -1), shown))
    named = {"name": f"{source.name} labels", "metadata": metadata, "opacity": 0.3}
    return SegmentationOutcome(Labels(labels, **named, **placement), curves, ensembles)
