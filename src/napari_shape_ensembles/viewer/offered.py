"""The layers of a viewer that can be chosen: one of them, or those that can be compared."""

import re
import weakref
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from napari.components import ViewerModel
from napari.layers import Image, Labels, Layer, Shapes
from napari.utils.events import Event
from psygnal import Signal

from ..comparison.display import MARK
from .inputs import ACCEPTED, MADE_FOR, PARTS, is_own

_DIGITS = re.compile(r"([0-9]+)")
# Types of layer list events handled.
_LAYER_LIST_EVENTS = ("inserted", "removed", "reordered", "renamed")
#: Types of events of a layer, passed on by the layer list, that may change its pixel size.
PIXEL_SIZE_EVENTS = ("scale", "units", "affine", "rotate", "shear")


class LayerListFollower:
    """Base class of layer choices that can be synchronized with the viewer's layer list."""

    changed = Signal()  #: the chosen or offered layers, or their names, have changed

    def __init__(self, viewer: ViewerModel) -> None:
        self._layers = viewer.layers
        self.is_connected = False

    def connect_events(self) -> None:
        """Connect to the layer list, and update from it."""
        if not self.is_connected:
            for events in (self._layers.events, self._layers.selection.events.changed):
                events.connect(self.refresh)
            self.is_connected = True
        self.refresh()

    def disconnect_events(self) -> None:
        if self.is_connected:
            for events in (self._layers.events, self._layers.selection.events.changed):
                events.disconnect(self.refresh)
            self.is_connected = False

    def refresh(self, event: Event | None = None) -> None:
        """Update the choice after a change of the layer list."""


class ChosenLayer(LayerListFollower):
    """A choice of one of the layers that a predicate accepts; an optional one is initially None."""

    def __init__(self, viewer: ViewerModel, accepts: Callable[[Layer], bool], *, optional: bool = False) -> None:
        super().__init__(viewer)
        self._accepts, self._optional = accepts, optional
        self._chosen: Callable[[], Layer | None] = lambda: None
        self.is_automatic = True  #: whether the layer was not chosen by the user

    def offered(self) -> list[Layer]:
        """Return the layers that can be chosen, in list order."""
        return [layer for layer in self._layers if self._accepts(layer)]

    def chosen(self) -> Layer | None:
        """Return the chosen layer if it is still in the viewer and accepted."""
        layer = self._chosen()
        return layer if layer is not None and layer in self._layers and self._accepts(layer) else None

    def choose(self, layer: Layer | None, *, automatically: bool = False) -> None:
        self.is_automatic = automatically
        self._chosen = weakref.ref(layer) if layer is not None else lambda: None
        self.changed.emit()

    def refresh(self, event: Event | None = None) -> None:
        """Keep the chosen layer if it still exists; else choose the active layer or the first one offered."""
        if event is None or event.type in (*_LAYER_LIST_EVENTS, "visible"):
            chosen = self.chosen()
            if chosen is None and not self._optional:
                offered, active = self.offered(), self._layers.selection.active
                chosen, self.is_automatic = active if active in offered else next(iter(offered), None), True
            self.choose(chosen, automatically=self.is_automatic)


class ComparedLayers(LayerListFollower):
    """The layers that can be compared; a layer may be replaced by another one until that is deleted."""

    comparison_opened = Signal()  #: a layer of a saved comparison was added, or may exist already
    calibrated = Signal()  #: the pixel size of a layer may have changed
    original_restored = Signal(str)  #: str: message that a replacement was deleted and the original layer is used again

    def __init__(self, viewer: ViewerModel) -> None:
        super().__init__(viewer)
        #: replacement -> original layer, until the replacement is deleted.
        self.originals: weakref.WeakKeyDictionary[Layer, weakref.ref[Layer]] = weakref.WeakKeyDictionary()
        #: Annotation layers (added empty), never chosen automatically -> the image that was active before each.
        self.image_of_annotation: weakref.WeakKeyDictionary[Layer, Callable[[], Layer | None]] = (
            weakref.WeakKeyDictionary()
        )
        #: Layers that the user took out of a group, or that were replaced: never chosen automatically again.
        self.opted_out: weakref.WeakSet[Layer] = weakref.WeakSet()
        self._classified: weakref.WeakSet[Layer] = weakref.WeakSet()
        self._last_active_image: Callable[[], Layer | None] = lambda: None  # the image active last

    def offered(self) -> list[Layer]:
        """Return the layers that can be compared, in list order, except those whose parts are in the viewer."""
        split = {PARTS[layer].whole for layer in self._layers if layer in PARTS}
        return [
            layer for layer in self._layers if isinstance(layer, ACCEPTED) and not (is_own(layer) or layer in split)
        ]

    def offered_automatically(self) -> list[Layer]:
        """Return the layers that can be put into a group automatically: if there are images, no annotation layers."""
        offered = [layer for layer in self.offered() if layer not in MADE_FOR]
        images = any(isinstance(layer, Image) for layer in offered)
        return [layer for layer in offered if not (images and layer in self.image_of_annotation)]

    def free(self) -> list[Layer]:
        """Return those of `offered_automatically` that the user or the program did not take out."""
        return [layer for layer in self.offered_automatically() if layer not in self.opted_out]

    def replace(self, places: Mapping[Layer, Layer]) -> None:
        """Replace layers (before -> after) until the replacements are deleted."""
        self.originals.update({after: weakref.ref(before) for before, after in places.items()})
        self.opted_out.update(places)
        self._move(places)

    def replacement_of(self, layer: Layer | None) -> Layer | None:
        """Return the layer in the viewer that has replaced this one, or None."""
        alive = (after for after, before in self.originals.items() if after in self._layers and before() is layer)
        return None if layer is None else next(alive, None)

    def _move(self, places: Mapping[Layer, Layer]) -> None:
        """Give the layers of the values what is known of those of the keys."""

    def _fill(self, event: Event | None, selected: list[Layer]) -> None:
        """Choose layers after a change of the layer list or its selection, which contains `selected`."""

    def _restore_originals(self) -> None:
        for layer in [layer for layer in self.originals if layer not in self._layers]:
            before = self.originals.pop(layer)()
            if before is not None and before in self._layers:
                self.opted_out.discard(before)
                self._move({layer: before})
                self.original_restored.emit(f"{layer.name} was deleted: {before.name} is back in its place.")

    def refresh(self, event: Event | None = None) -> None:
        """Follow the layer list and its selection."""
        if event is not None and event.type not in (*_LAYER_LIST_EVENTS, "changed"):
            if event.type in PIXEL_SIZE_EVENTS:
                self.calibrated.emit()
            return
        if event is not None and event.type in ("inserted", "removed") and is_own(event.value):
            known = event.value.metadata.get(MARK)
            if event.type == "inserted" and isinstance(known, dict) and "comparison" in known:
                self.comparison_opened.emit()
            return
        if self.originals:
            self._restore_originals()
        for layer in self._layers:
            if not (layer in self._classified or is_own(layer)):
                self._classify(layer)
        active = self._layers.selection.active
        if isinstance(active, Image) and not is_own(active):
            self._last_active_image = weakref.ref(active)
        elif active is not None:
            self._last_active_image = self.image_of_annotation.get(active, self._last_active_image)
        self._fill(event, [layer for layer in self.offered() if layer in self._layers.selection])
        if event is None:
            self.comparison_opened.emit()

    def _classify(self, layer: Layer) -> None:
        """Record whether an added layer is an annotation layer (empty, or points, tracks, …)."""
        self._classified.add(layer)
        painted = isinstance(layer, Labels) and isinstance(layer.data, np.ndarray)
        empty = not any(map(np.any, layer.data)) if painted else isinstance(layer, Shapes) and not len(layer.data)
        if empty or not isinstance(layer, ACCEPTED):
            self.image_of_annotation[layer] = self._last_active_image


def sorted_by_name(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    """Return layers in natural sort order of their names (2 before 10): list order changes with every arrangement."""

    def parts(layer: Layer) -> list[tuple[bool, int, str]]:
        words = _DIGITS.split(layer.name)
        return [(word.isdecimal(), int(word) if word.isdecimal() else 0, word) for word in words]

    return tuple(sorted(layers, key=parts))
