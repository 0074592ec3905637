"""The user's choices in a viewer: the two samples, the recipe, the settings, and the excluded curves."""

import itertools
import re
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from napari.components import Dims, ViewerModel
from napari.layers import Image, Labels, Layer, Shapes
from napari.utils.events import Event
from psygnal import Signal

from ..comparison import Settings
from ..comparison.display import MARK
from ..outlines import Outlines
from .inputs import ACCEPTED, PARTS, Excluded, Ids, LayersOfSides, Plane, is_own, plane_of

PLUGIN = "napari-shape-ensembles"
#: Settings whose initial values are read from napari's preferences.
PREFERRED = ("significance", "permutations", "landmarks", "rank")
_DIGITS = re.compile(r"([0-9]+)")
# Types of layer list events handled; the event for a rename depends on the version of napari.
_LAYER_LIST_EVENTS = ("inserted", "removed", "reordered", "renamed", "name")
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

    def offered(self) -> list[Layer]:
        """Return the layers that can be chosen, in list order."""
        return [layer for layer in self._layers if self._accepts(layer)]

    def chosen(self) -> Layer | None:
        """Return the chosen layer if it is still in the viewer and accepted."""
        layer = self._chosen()
        return layer if layer is not None and layer in self._layers and self._accepts(layer) else None

    def choose(self, layer: Layer | None) -> None:
        self._chosen = weakref.ref(layer) if layer is not None else lambda: None
        self.changed.emit()

    def refresh(self, event: Event | None = None) -> None:
        """Keep the chosen layer if it still exists; else choose the active layer or the first one offered."""
        if event is None or event.type in (*_LAYER_LIST_EVENTS, "visible"):
            chosen = self.chosen()
            if chosen is None and not self._optional:
                offered, active = self.offered(), self._layers.selection.active
                chosen = active if active in offered else next(iter(offered), None)
            self.choose(chosen)


class Sides(LayerListFollower):
    """The layers of samples A and B; `several` allows several images per sample."""

    comparison_opened = Signal()  #: a layer of a saved comparison was added, or may exist already
    layer_replaced = Signal(object, object)  #: (before, after): a layer inherits another's place and row in the design
    calibrated = Signal()  #: the pixel size of a layer may have changed
    original_restored = Signal(str)  #: str: message that a replacement was deleted and the original layer is used again

    def __init__(self, viewer: ViewerModel) -> None:
        super().__init__(viewer)
        self._chosen: tuple[list[weakref.ref[Layer]], list[weakref.ref[Layer]]] = ([], [])
        #: replacement -> original layer, until the replacement is deleted.
        self.originals: weakref.WeakKeyDictionary[Layer, weakref.ref[Layer]] = weakref.WeakKeyDictionary()
        self._last_state: tuple[Any, ...] = ()
        self.several = self._set_by_user = False
        #: Annotation layers (added empty), never chosen automatically -> the image that was active before each.
        self.image_of_annotation: weakref.WeakKeyDictionary[Layer, Callable[[], Layer | None]] = (
            weakref.WeakKeyDictionary()
        )
        #: Layers that the user removed from a sample, or that were replaced: never chosen automatically again.
        self.opted_out: weakref.WeakSet[Layer] = weakref.WeakSet()
        self._classified: weakref.WeakSet[Layer] = weakref.WeakSet()
        self._last_active_image: Callable[[], Layer | None] = lambda: None  # the image active last

    def allow_several(self, several: bool) -> None:
        """Allow several images per sample, or only one."""
        a, b = self.chosen()
        self.several = several
        self._set_chosen(a, b) if several else self._set_chosen(
            *_completed_pair((a[:1], b[:1]), [], self.offered_automatically())
        )

    def offered(self) -> list[Layer]:
        """Return the layers that can be compared, in list order, except those whose parts are in the viewer."""
        split = {PARTS[layer].whole for layer in self._layers if layer in PARTS}
        return [
            layer for layer in self._layers if isinstance(layer, ACCEPTED) and not (is_own(layer) or layer in split)
        ]

    def offered_automatically(self) -> list[Layer]:
        """Return the layers that can fill an empty sample automatically: if there are images, no annotation layers."""
        offered = self.offered()
        images = any(isinstance(layer, Image) for layer in offered)
        return [layer for layer in offered if not (images and layer in self.image_of_annotation)]

    def chosen(self) -> LayersOfSides:
        """Return the layers of A and of B that are in the viewer; with several per sample, sorted by name."""
        offered = self.offered()
        a, b = (tuple(layer for ref in side if (layer := ref()) in offered and layer) for side in self._chosen)
        return (sorted_by_name(a), sorted_by_name(b)) if self.several else (a, b)

    def choose(self, a: Iterable[Layer], b: Iterable[Layer]) -> None:
        """Choose the layers of A and of B; layers that are not in the viewer are ignored."""
        a, b = list(a), list(b)
        self.several = max(len(a), len(b)) > 1
        self._set_chosen(a, b)

    def choose_several(self, a: Iterable[Layer], b: Iterable[Layer]) -> None:
        """Choose these layers, with several per sample."""
        self.several = self._set_by_user = True
        self._set_chosen(a, b)

    def replace(self, places: Mapping[Layer, Layer]) -> None:
        """Replace layers (before -> after) until the replacements are deleted."""
        self.originals.update({after: weakref.ref(before) for before, after in places.items()})
        self.opted_out.update(places)
        self._apply_replacements(places)

    def is_replaced(self, layer: Layer) -> bool:
        """Whether another layer in the viewer has replaced this one."""
        return any(before() is layer for after, before in self.originals.items() if after in self._layers)

    def _restore_originals(self) -> None:
        """Put the original layers back in place of deleted replacements."""
        for layer in [layer for layer in self.originals if layer not in self._layers]:
            before = self.originals.pop(layer)()
            if before is not None and before in self._layers:
                self.opted_out.discard(before)
                self._apply_replacements({layer: before})
                self.original_restored.emit(f"{layer.name} was deleted: {before.name} is back in its place.")

    def _apply_replacements(self, places: Mapping[Layer, Layer]) -> None:
        for before, after in places.items():
            self.layer_replaced.emit(before, after)
        sides = ([layer for ref in side if (layer := ref())] for side in self._chosen)
        new = set(places.values())  # a new layer may have filled an empty sample meanwhile
        self._set_chosen(*([places.get(layer, layer) for layer in side if layer not in new] for side in sides))

    def swap(self) -> None:
        a, b = self.chosen()
        self._set_chosen(b, a)

    def refresh(self, event: Event | None = None) -> None:
        """Keep the chosen layers that still exist, and fill empty samples unless the user has ticked layers.

        If exactly two layers are selected in the layer list, they become A and B, in the order of the design table:
        that of the layer list changes with the arrangement of the canvas.
        """
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
        (a, b), offered = self.chosen(), self.offered()
        selected = [layer for layer in offered if layer in self._layers.selection]
        if event is not None and event.source is self._layers.selection:
            if not self.several and len(selected) == 2 and set(selected) != {*a, *b}:
                first, second = sorted_by_name(selected)
                self._set_chosen([first], [second])
            return
        if self.several:
            if not (a or b or self._set_by_user) and len(free := self.offered_automatically()) > 1:
                a, b = (free[0],), (free[1],)
        elif not (a and b):
            free = [layer for layer in self.offered_automatically() if layer not in self.opted_out]
            a, b = _completed_pair((a, b), [layer for layer in selected if layer in free], free)
        self._set_chosen(a, b)
        if event is None:
            self.comparison_opened.emit()

    def _classify(self, layer: Layer) -> None:
        """Record whether an added layer is an annotation layer (empty, or points, tracks, …)."""
        self._classified.add(layer)
        painted = isinstance(layer, Labels) and isinstance(layer.data, np.ndarray)
        empty = not any(map(np.any, layer.data)) if painted else isinstance(layer, Shapes) and not len(layer.data)
        if empty or not isinstance(layer, ACCEPTED):
            self.image_of_annotation[layer] = self._last_active_image

    def _set_chosen(self, a: Iterable[Layer], b: Iterable[Layer]) -> None:
        self._chosen = [weakref.ref(layer) for layer in a], [weakref.ref(layer) for layer in b]
        now = self.several, self._chosen, {(weakref.ref(layer), layer.name) for layer in self.offered()}
        if now != self._last_state:
            self._last_state = now
            self.changed.emit()


def _completed_pair(before: LayersOfSides, selected: list[Layer], offered: list[Layer]) -> LayersOfSides:
    """Keep chosen layers; fill an empty side from the selection, then with layers of the same type, in list order."""
    a, b = before
    others = [layer for layer in dict.fromkeys([*selected, *offered]) if layer not in (*a, *b)]
    first = next(iter((*a, *b, *others)), None)
    others.sort(key=lambda layer: (layer not in selected, layer.__class__ is not first.__class__))
    fill = tuple(sorted(others[: (not a) + (not b)], key=offered.index))
    if not a:
        a, fill = fill[:1], fill[1:]
    return a, b or fill[:1]


def sorted_by_name(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    """Return layers in natural sort order of their names (2 before 10): list order changes with every arrangement."""

    def parts(layer: Layer) -> list[tuple[bool, int, str]]:
        words = _DIGITS.split(layer.name)
        return [(word.isdecimal(), int(word) if word.isdecimal() else 0, word) for word in words]

    return tuple(sorted(layers, key=parts))


class Exclusions:
    """Ids of curves excluded per plane of a layer, valid for one recipe. No data are deleted.

    Another plane of a stack has other objects with the same ids, so a curve is excluded from its own plane only: the
    one displayed, unless told otherwise.
    """

    changed = Signal()  #: the set of excluded curves has changed

    def __init__(self, dims: Dims) -> None:
        self._dims = dims
        self._ids: weakref.WeakKeyDictionary[Layer, dict[Plane, Ids]] = weakref.WeakKeyDictionary()
        self._recipe: Outlines | None = None

    def toggle(self, layer: Layer, one: str, recipe: Outlines, plane: Plane | None = None) -> None:
        """Exclude a curve, or include it again."""
        if recipe != self._recipe:
            self._ids.clear()
        self._recipe = recipe
        plane = plane_of(layer, self._dims) if plane is None else plane
        known = self._ids.setdefault(layer, {})
        known[plane] = known.get(plane, frozenset()) ^ {one}
        self.changed.emit()

    def replace_all(self, sides: LayersOfSides, excluded: Excluded, recipe: Outlines) -> None:
        """Exclude exactly these curves of the displayed planes."""
        self._ids.clear()
        self._recipe = recipe
        for layer, ids in zip(itertools.chain.from_iterable(sides), excluded, strict=True):
            self._ids[layer] = {plane_of(layer, self._dims): ids}
        self.changed.emit()

    def of(
        self, layers: Iterable[Layer | None], recipe: Outlines, planes: Iterable[Plane | None] | None = None
    ) -> Excluded:
        """Return the excluded ids of each layer; none for another recipe, which finds other outlines."""
        found: list[Ids] = []
        for layer, plane in zip(layers, itertools.repeat(None) if planes is None else planes, strict=False):
            known = self._ids.get(layer) if layer is not None and recipe == self._recipe else None
            if layer is None or not known:
                found.append(frozenset())
            else:
                found.append(known.get(plane_of(layer, self._dims) if plane is None else plane, frozenset()))
        return tuple(found)

    def clear(self) -> None:
        """Include all curves again."""
        self._ids.clear()
        self.changed.emit()


def preferred(name: str, default: Any) -> Any:
    """Return a setting from napari's preferences, or the default in versions without plugin settings."""
    try:
        from napari.settings import get_plugin_settings

        return getattr(get_plugin_settings(PLUGIN).comparison, name)
    except (ImportError, KeyError, ValueError, AttributeError):
        return default


class Choices:
    """All inputs of a run; the recipe and the settings are shared by all docks, and changed by `set`."""

    changed = Signal()  #: the recipe or the settings have changed

    def __init__(self, viewer: ViewerModel) -> None:
        self._viewer = weakref.ref(viewer)
        self.layers, self.dims = viewer.layers, viewer.dims
        self.recipe = Outlines()
        self.recipe_loaded = False  #: whether the recipe is from a settings file, even one that sets no field
        default = Settings()
        self.settings = replace(default, **{name: preferred(name, getattr(default, name)) for name in PREFERRED})
        self.sides = Sides(viewer)
        self.exclusions = Exclusions(self.dims)

    @property
    def viewer(self) -> ViewerModel:
        """The viewer, held by a weak reference, as it owns the session."""
        viewer = self._viewer()
        assert viewer is not None
        return viewer

    def permutes_images(self) -> bool:
        """Return whether a comparison of A and B permutes whole images, not single outlines."""
        permute, several = self.settings.permute, max(map(len, self.sides.chosen())) > 1
        return permute == "images" or (permute == "auto" and several)

    def set(self, recipe: Outlines | None = None, settings: Settings | None = None) -> None:
        """Set the recipe, the settings or both, and emit `changed` once."""
        chosen = recipe or self.recipe, settings or self.settings
        if chosen != (self.recipe, self.settings):
            self.recipe, self.settings = chosen
            self.changed.emit()
