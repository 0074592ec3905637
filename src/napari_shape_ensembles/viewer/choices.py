"""What a person has chosen in one viewer: the two samples, the recipe, the settings, and the curves left out."""

import itertools
import re
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from napari.components import ViewerModel
from napari.layers import Layer
from napari.utils.events import Event
from psygnal import Signal

from ..comparison import Settings
from ..outlines import Outlines
from .inputs import ACCEPTED
from .layers import is_own
from .preferences import preferred
from .sides import Excluded, Ids, LayersOfSides

#: Settings whose first value napari's preferences may say.
PREFERRED = ("significance", "permutations", "landmarks", "rank")
_DIGITS = re.compile(r"([0-9]+)")
#: What happens to a list or to a name; older and newer napari tell of renaming by different events.
FOLLOWED = ("inserted", "removed", "reordered", "renamed", "name")


class Sides:
    """The layers of sample A and those of sample B, kept in step with the viewer's layer list.

    Signals
    -------
    changed
        Other layers are chosen or offered, or one has another name.
    listed
        The viewer's list is another, if only by the plugin's own layers.
    """

    changed = Signal()
    listed = Signal()

    def __init__(self, viewer: ViewerModel) -> None:
        self._layers = viewer.layers
        self._chosen: tuple[list[weakref.ref[Layer]], list[weakref.ref[Layer]]] = ([], [])
        self._told: tuple[Any, ...] = ()
        self._several = self._ticked = False
        self.following = False

    @property
    def several(self) -> bool:
        """Whether a sample may be several images."""
        return self._several

    @several.setter
    def several(self, several: bool) -> None:
        a, b = self.chosen()
        self._several = several
        self._put(a, b) if several else self._put(*_pair((a[:1], b[:1]), [], self.offered()))

    def offered(self) -> list[Layer]:
        """The layers that can be compared, in the order of the viewer's list."""
        return [layer for layer in self._layers if isinstance(layer, ACCEPTED) and not is_own(layer)]

    def chosen(self) -> LayersOfSides:
        """The layers of A and those of B that are in the viewer; of several, in the order of their names."""
        offered = self.offered()
        a, b = (tuple(layer for ref in side if (layer := ref()) in offered and layer) for side in self._chosen)
        return (by_name(a), by_name(b)) if self._several else (a, b)

    def choose(self, a: Iterable[Layer], b: Iterable[Layer]) -> None:
        """Choose the layers of A and of B; what is not in the viewer is passed over."""
        a, b = list(a), list(b)
        self._several = max(len(a), len(b)) > 1
        self._put(a, b)

    def tick(self, a: Iterable[Layer], b: Iterable[Layer]) -> None:
        """Choose these layers, several for each sample."""
        self._several = self._ticked = True
        self._put(a, b)

    def swap(self) -> None:
        """Swap A and B."""
        a, b = self.chosen()
        self._put(b, a)

    def why_not(self) -> str:
        """Why what is chosen cannot be compared; empty when it can."""
        a, b = self.chosen()
        if self._several:
            if not a or not b:
                return "Tick at least one layer in A and one in B."
            both = [layer.name for layer in a if layer in b]
            return f'"{both[0]}" is in both groups: take it out of one.' if both else ""
        if not a or not b:
            return "Open two images (or labels, or shapes) to compare."
        return "Choose two different layers." if a == b else ""

    def follow(self) -> None:
        """Keep in step with the layer list from now on, and catch up with it."""
        if not self.following:
            self._layers.events.connect(self._on_event)
            self._layers.selection.events.changed.connect(self._on_selection)
            self.following = True
        self.refresh()

    def rest(self) -> None:
        """Stop following."""
        if self.following:
            self._layers.events.disconnect(self._on_event)
            self._layers.selection.events.changed.disconnect(self._on_selection)
            self.following = False

    def refresh(self) -> None:
        """Keep what is chosen where it is still there, and fill empty places as long as nothing was ticked."""
        chosen, offered = self.chosen(), self.offered()
        if not self._several:
            self._put(*_pair(chosen, self._selected(), offered))
        elif not (any(chosen) or self._ticked) and len(offered) > 1:
            self._put(offered[:1], offered[1:2])
        else:
            self._put(*chosen)
        self.listed.emit()

    def _put(self, a: Iterable[Layer], b: Iterable[Layer]) -> None:
        self._chosen = [weakref.ref(layer) for layer in a], [weakref.ref(layer) for layer in b]
        now = self._several, self._chosen, [(weakref.ref(layer), layer.name) for layer in self.offered()]
        if now != self._told:
            self._told = now
            self.changed.emit()

    def _selected(self) -> list[Layer]:
        return [layer for layer in self.offered() if layer in self._layers.selection]

    def _on_event(self, event: Event) -> None:
        if event.type in FOLLOWED:
            self.refresh()

    def _on_selection(self, event: object = None) -> None:
        """Two layers selected in the viewer's list become A and B, in the list's order."""
        selected = self._selected()
        if not self._several and len(selected) == 2 and set(selected) != set(itertools.chain(*self.chosen())):
            self._put(selected[:1], selected[1:])


def _pair(
    before: tuple[Sequence[Layer], Sequence[Layer]], selected: list[Layer], offered: list[Layer]
) -> tuple[Sequence[Layer], Sequence[Layer]]:
    """What was chosen stays; empty places are filled from the selection, then by layers of its kind, in list order."""
    a, b = before
    others = [layer for layer in dict.fromkeys([*selected, *offered]) if layer not in (*a, *b)]
    first = next(iter((*a, *b, *others)), None)
    others.sort(key=lambda layer: (layer not in selected, layer.__class__ is not first.__class__))
    fill = sorted(others[: (not a) + (not b)], key=offered.index)
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
    """Ids left out of layers, as long as these are outlined in the same way. Nothing is deleted.

    Signals
    -------
    changed
        A curve is left out, or taken in again.
    """

    changed = Signal()

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


class Choices:
    """All that is chosen before a run; one recipe and one set of settings serve every dock.

    Attributes
    ----------
    sides : Sides
    exclusions : Exclusions

    Signals
    -------
    changed
        The recipe or the settings are others.
    """

    changed = Signal()

    def __init__(self, viewer: ViewerModel) -> None:
        self._viewer = weakref.ref(viewer)
        self._recipe = Outlines()
        default = Settings()
        self._settings = replace(default, **{name: preferred(name, getattr(default, name)) for name in PREFERRED})
        self.sides = Sides(viewer)
        self.exclusions = Exclusions()

    @property
    def viewer(self) -> ViewerModel:
        """The viewer; held weakly, as it is what keeps all this."""
        viewer = self._viewer()
        assert viewer is not None
        return viewer

    @property
    def recipe(self) -> Outlines:
        """How outlines are found and traced."""
        return self._recipe

    @recipe.setter
    def recipe(self, recipe: Outlines) -> None:
        self.set(recipe, self._settings)

    @property
    def settings(self) -> Settings:
        """How they are compared."""
        return self._settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self.set(self._recipe, settings)

    def set(self, recipe: Outlines, settings: Settings) -> None:
        """Choose both, and tell of it once."""
        if (recipe, settings) != (self._recipe, self._settings):
            self._recipe, self._settings = recipe, settings
            self.changed.emit()

    def excluded(self) -> Excluded:
        """Ids left out of each of the chosen layers, A's before B's."""
        return self.exclusions.of(itertools.chain(*self.sides.chosen()), self._recipe)
