"""What a person has chosen in one viewer: the two samples, the recipe, the settings, and the curves left out."""

import itertools
import re
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
from napari.components import ViewerModel
from napari.layers import Image, Labels, Layer, Shapes
from napari.utils.events import Event
from psygnal import Signal

from ..comparison import Settings
from ..comparison.display import MARK
from ..outlines import Outlines
from .inputs import ACCEPTED, PARTS, Excluded, Ids, LayersOfSides, is_own

PLUGIN = "napari-shape-ensembles"
#: Settings whose first value napari's preferences may say.
PREFERRED = ("significance", "permutations", "landmarks", "rank")
_DIGITS = re.compile(r"([0-9]+)")
# What happens to a list or to a name; older and newer napari tell of renaming by different events.
_FOLLOWED = ("inserted", "removed", "reordered", "renamed", "name")


class FollowsLayers:
    """A choice among the layers of a viewer that can be kept in step with the viewer's list."""

    changed = Signal()  #: other layers are chosen or offered, or one has another name

    def __init__(self, viewer: ViewerModel) -> None:
        self._layers = viewer.layers
        self.following = False

    def follow(self) -> None:
        """Keep in step with the layer list from now on, and catch up with it."""
        if not self.following:
            for events in (self._layers.events, self._layers.selection.events.changed):
                events.connect(self.refresh)
            self.following = True
        self.refresh()

    def rest(self) -> None:
        if self.following:
            for events in (self._layers.events, self._layers.selection.events.changed):
                events.disconnect(self.refresh)
            self.following = False

    def refresh(self, event: Event | None = None) -> None:
        """Keep what is chosen where it is still there."""


class ChosenLayer(FollowsLayers):
    """One layer out of those that a condition holds for; an optional one can be none, and is at first."""

    def __init__(self, viewer: ViewerModel, accepts: Callable[[Layer], bool], *, optional: bool = False) -> None:
        super().__init__(viewer)
        self._accepts, self._optional = accepts, optional
        self._chosen: Callable[[], Layer | None] = lambda: None

    def offered(self) -> list[Layer]:
        """The layers that can be chosen, in the order of the viewer's list."""
        return [layer for layer in self._layers if self._accepts(layer)]

    def chosen(self) -> Layer | None:
        """The chosen layer, as long as it is in the viewer."""
        layer = self._chosen()
        return layer if layer is not None and layer in self._layers and self._accepts(layer) else None

    def choose(self, layer: Layer | None) -> None:
        self._chosen = weakref.ref(layer) if layer is not None else lambda: None
        self.changed.emit()

    def refresh(self, event: Event | None = None) -> None:
        """Keep what is chosen where it is still there; else take the active layer or the first one offered."""
        if event is None or event.type in (*_FOLLOWED, "visible"):
            chosen = self.chosen()
            if chosen is None and not self._optional:
                offered, active = self.offered(), self._layers.selection.active
                chosen = active if active in offered else next(iter(offered), None)
            self.choose(chosen)


class Sides(FollowsLayers):
    """The layers of sample A and those of sample B; `several` where a sample may be several images."""

    opened = Signal()  #: a layer of a comparison out of a file has come, or may have been there before
    replaced = Signal(object, object)  #: a layer takes the place of another, with all that is written beside it
    leaving = Signal(object)  #: a layer is about to be removed from the list
    restored = Signal(str)  #: a layer was deleted, and the one that it had replaced is back in its place: in words

    def __init__(self, viewer: ViewerModel) -> None:
        super().__init__(viewer)
        self._chosen: tuple[list[weakref.ref[Layer]], list[weakref.ref[Layer]]] = ([], [])
        #: Layers that stand in the places of others, until they are deleted, and what each stands for.
        self.instead: weakref.WeakKeyDictionary[Layer, weakref.ref[Layer]] = weakref.WeakKeyDictionary()
        self._told: tuple[Any, ...] = ()
        self.several = self._ticked = False
        #: Layers to mark, paint or draw in, none of them a sample unasked; and the image that was active before each.
        self.begun: weakref.WeakKeyDictionary[Layer, Callable[[], Layer | None]] = weakref.WeakKeyDictionary()
        #: Layers that a person took out, or that others have replaced: none of them is a sample again unasked.
        self.taken_out: weakref.WeakSet[Layer] = weakref.WeakSet()
        self._met: weakref.WeakSet[Layer] = weakref.WeakSet()
        self._image: Callable[[], Layer | None] = lambda: None  # the one that was active last

    def allow_several(self, several: bool) -> None:
        """Let a sample be several images, or a single one."""
        a, b = self.chosen()
        self.several = several
        self._put(a, b) if several else self._put(*_pair((a[:1], b[:1]), [], self.unasked()))

    def offered(self) -> list[Layer]:
        """The layers that can be compared, in the order of the viewer's list; without those that are there in parts."""
        split = {PARTS[layer].whole for layer in self._layers if layer in PARTS}
        return [
            layer for layer in self._layers if isinstance(layer, ACCEPTED) and not (is_own(layer) or layer in split)
        ]

    def unasked(self) -> list[Layer]:
        """Those that may take an empty place unasked: beside images, none that was begun."""
        offered = self.offered()
        images = any(isinstance(layer, Image) for layer in offered)
        return [layer for layer in offered if not (images and layer in self.begun)]

    def chosen(self) -> LayersOfSides:
        """The layers of A and those of B that are in the viewer; of several, in the order of their names."""
        offered = self.offered()
        a, b = (tuple(layer for ref in side if (layer := ref()) in offered and layer) for side in self._chosen)
        return (by_name(a), by_name(b)) if self.several else (a, b)

    def choose(self, a: Iterable[Layer], b: Iterable[Layer]) -> None:
        """Choose the layers of A and of B; what is not in the viewer is passed over."""
        a, b = list(a), list(b)
        self.several = max(len(a), len(b)) > 1
        self._put(a, b)

    def tick(self, a: Iterable[Layer], b: Iterable[Layer]) -> None:
        """Choose these layers, several for each sample."""
        self.several = self._ticked = True
        self._put(a, b)

    def replace(self, places: Mapping[Layer, Layer]) -> None:
        """Let layers take the places of others, until they are deleted."""
        self.instead.update({after: weakref.ref(before) for before, after in places.items()})
        self.taken_out.update(places)
        self._hand_over(places)

    def _restore(self) -> None:
        """Give the places of deleted layers back to those that they were taken from."""
        for layer in [layer for layer in self.instead if layer not in self._layers]:
            before = self.instead.pop(layer)()
            if before is not None and before in self._layers:
                self.taken_out.discard(before)
                self._hand_over({layer: before})
                self.restored.emit(f"{layer.name} was deleted: {before.name} is back in its place.")

    def _hand_over(self, places: Mapping[Layer, Layer]) -> None:
        for before, after in places.items():
            self.replaced.emit(before, after)
        sides = ([layer for ref in side if (layer := ref())] for side in self._chosen)
        new = set(places.values())  # one that has just come may have taken an empty place meanwhile
        self._put(*([places.get(layer, layer) for layer in side if layer not in new] for side in sides))

    def swap(self) -> None:
        a, b = self.chosen()
        self._put(b, a)

    def refresh(self, event: Event | None = None) -> None:
        """Keep what is chosen where it is still there; empty places are filled as long as nothing was ticked.

        Two layers that are selected in the viewer's list become A and B, in the list's order.
        """
        if event is not None and event.type not in (*_FOLLOWED, "changed"):
            if event.type == "removing":
                self.leaving.emit(self._layers[event.index])
            return
        if self.instead:
            self._restore()
        for layer in self._layers:
            if not (layer in self._met or is_own(layer)):
                self._meet(layer)
        active = self._layers.selection.active
        if isinstance(active, Image) and not is_own(active):
            self._image = weakref.ref(active)
        elif active is not None:
            self._image = self.begun.get(active, self._image)
        (a, b), offered = self.chosen(), self.offered()
        selected = [layer for layer in offered if layer in self._layers.selection]
        if self.several:
            if not (a or b or self._ticked) and len(free := self.unasked()) > 1:
                a, b = (free[0],), (free[1],)
        elif event is not None and event.type == "changed":
            if len(selected) == 2 and set(selected) != {*a, *b}:
                a, b = (selected[0],), (selected[1],)
        elif not (a and b):
            free = [layer for layer in self.unasked() if layer not in self.taken_out]
            a, b = _pair((a, b), [layer for layer in selected if layer in free], free)
        self._put(a, b)
        known = None if event is None else getattr(getattr(event, "value", None), "metadata", {}).get(MARK)
        if event is None or (event.type == "inserted" and isinstance(known, dict) and "comparison" in known):
            self.opened.emit()

    def _meet(self, layer: Layer) -> None:
        """Note of a layer that came whether it is one to mark, paint or draw in."""
        self._met.add(layer)
        painted = isinstance(layer, Labels) and isinstance(layer.data, np.ndarray)
        empty = not any(map(np.any, layer.data)) if painted else isinstance(layer, Shapes) and not len(layer.data)
        if empty or not isinstance(layer, ACCEPTED):
            self.begun[layer] = self._image

    def _put(self, a: Iterable[Layer], b: Iterable[Layer]) -> None:
        self._chosen = [weakref.ref(layer) for layer in a], [weakref.ref(layer) for layer in b]
        now = self.several, self._chosen, {(weakref.ref(layer), layer.name) for layer in self.offered()}
        if now != self._told:
            self._told = now
            self.changed.emit()


def _pair(before: LayersOfSides, selected: list[Layer], offered: list[Layer]) -> LayersOfSides:
    """What was chosen stays; empty places are filled from the selection, then by layers of its kind, in list order."""
    a, b = before
    others = [layer for layer in dict.fromkeys([*selected, *offered]) if layer not in (*a, *b)]
    first = next(iter((*a, *b, *others)), None)
    others.sort(key=lambda layer: (layer not in selected, layer.__class__ is not first.__class__))
    fill = tuple(sorted(others[: (not a) + (not b)], key=offered.index))
    if not a:
        a, fill = fill[:1], fill[1:]
    return a, b or fill[:1]


def by_name(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    """Layers in the order of their names, image 2 before image 10: that of the list changes with every arrangement."""

    def parts(layer: Layer) -> list[tuple[bool, int, str]]:
        words = _DIGITS.split(layer.name)
        return [(word.isdecimal(), int(word) if word.isdecimal() else 0, word) for word in words]

    return tuple(sorted(layers, key=parts))


class Exclusions:
    """Ids left out of layers, as long as these are outlined in the same way. Nothing is deleted."""

    changed = Signal()  #: a curve is left out, or taken in again

    def __init__(self) -> None:
        self._ids: weakref.WeakKeyDictionary[Layer, Ids] = weakref.WeakKeyDictionary()
        self._recipe: Outlines | None = None

    def toggle(self, layer: Layer, one: str, recipe: Outlines) -> None:
        """Leave a curve out, or take it in again."""
        if recipe != self._recipe:
            self._ids.clear()
        self._recipe = recipe
        self._ids[layer] = self._ids.get(layer, frozenset()) ^ {one}
        self.changed.emit()

    def put(self, sides: LayersOfSides, excluded: Excluded, recipe: Outlines) -> None:
        """Leave out these curves, and no others."""
        self._ids.clear()
        self._recipe = recipe
        self._ids.update(zip(itertools.chain.from_iterable(sides), excluded, strict=True))
        self.changed.emit()

    def of(self, layers: Iterable[Layer | None], recipe: Outlines) -> Excluded:
        """What is left out of each layer; nothing once another recipe finds other outlines."""
        known = self._ids if recipe == self._recipe else {}
        return tuple(frozenset() if layer is None else known.get(layer, frozenset()) for layer in layers)

    def clear(self) -> None:
        """Take all in again."""
        self._ids.clear()
        self.changed.emit()


def preferred(name: str, default: Any) -> Any:
    """What napari's preferences say of a setting; the default in a napari that keeps none for plugins."""
    try:
        from napari.settings import get_plugin_settings

        return getattr(get_plugin_settings(PLUGIN).comparison, name)
    except (ImportError, KeyError, ValueError, AttributeError):
        return default


class Choices:
    """All that is chosen before a run; one recipe and one set of settings, to be changed by `set`, serve every dock."""

    changed = Signal()  #: the recipe or the settings are others
    rearranges = Signal(bool)  #: changes of the layer list in many ways have begun, or are at their end

    def __init__(self, viewer: ViewerModel) -> None:
        self._viewer = weakref.ref(viewer)
        self.layers, self.dims = viewer.layers, viewer.dims
        self.recipe = Outlines()
        self.loaded = False  #: the recipe is that of a settings file, even where it says nothing
        default = Settings()
        self.settings = replace(default, **{name: preferred(name, getattr(default, name)) for name in PREFERRED})
        self.sides = Sides(viewer)
        self.exclusions = Exclusions()
        self.rearranging = 0  #: so many pieces of work change the layer list in many ways, which may take turns
        self.unseen: weakref.WeakSet[Layer] = weakref.WeakSet()  #: in the viewer, and about to be shown
        self.batch = ExitStack()  #: of these changes, of which napari hears once

    @property
    def viewer(self) -> ViewerModel:
        """The viewer; held weakly, as it is what keeps all this."""
        viewer = self._viewer()
        assert viewer is not None
        return viewer

    def set(self, recipe: Outlines | None = None, settings: Settings | None = None) -> None:
        """Choose a recipe, settings or both, and tell of it once."""
        chosen = recipe or self.recipe, settings or self.settings
        if chosen != (self.recipe, self.settings):
            self.recipe, self.settings = chosen
            self.changed.emit()
