"""The choice of one layer, kept in step with the viewer's layer list."""

import weakref
from collections.abc import Callable

from napari.components import ViewerModel
from napari.layers import Layer
from napari.utils.events import Event
from psygnal import Signal

from .choices import FOLLOWED


class ChosenLayer:
    """One layer out of those that a condition holds for; an optional one can be none, and is at first."""

    changed = Signal()  #: another layer is chosen, others are offered, or one has another name

    def __init__(self, viewer: ViewerModel, accepts: Callable[[Layer], bool], *, optional: bool = False) -> None:
        self._layers, self._accepts, self._optional = viewer.layers, accepts, optional
        self._chosen: Callable[[], Layer | None] = lambda: None
        self.following = False

    def offered(self) -> list[Layer]:
        """The layers that can be chosen, in the order of the viewer's list."""
        return [layer for layer in self._layers if self._accepts(layer)]

    def chosen(self) -> Layer | None:
        """The chosen layer, as long as it is in the viewer."""
        layer = self._chosen()
        return layer if layer in self.offered() else None

    def choose(self, layer: Layer | None) -> None:
        self._chosen = weakref.ref(layer) if layer is not None else lambda: None
        self.changed.emit()

    def follow(self) -> None:
        """Keep in step with the layer list from now on, and catch up with it."""
        if not self.following:
            self._layers.events.connect(self._on_event)
            self.following = True
        self.refresh()

    def rest(self) -> None:
        if self.following:
            self._layers.events.disconnect(self._on_event)
            self.following = False

    def refresh(self) -> None:
        """Keep what is chosen where it is still there; else take the active layer or the first one offered."""
        chosen = self.chosen()
        if chosen is None and not self._optional:
            offered, active = self.offered(), self._layers.selection.active
            chosen = active if active in offered else next(iter(offered), None)
        self.choose(chosen)

    def _on_event(self, event: Event) -> None:
        if event.type in FOLLOWED:
            self.refresh()
