"""The choice of one layer, kept in step with the viewer's layer list."""

from collections.abc import Callable

from napari.components import ViewerModel
from napari.layers import Layer
from napari.utils.events import Event
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QWidget

from .panels.widgets import NarrowList

# What happens to a list or to a name; older and newer napari tell of renaming by different events.
_FOLLOWED = ("inserted", "removed", "reordered", "renamed", "name")


class LayerChoice(NarrowList):
    """A list of those layers of a viewer that a condition holds for.

    Parameters
    ----------
    viewer : ViewerModel
    offered : callable
        Whether a layer is listed.
    tooltip : str
    nothing : str
        Words for "no layer", listed first; empty where a layer has to be chosen.

    Signals
    -------
    chosen_changed
        Another layer is chosen, or none.
    """

    chosen_changed = Signal()

    def __init__(
        self,
        viewer: ViewerModel,
        offered: Callable[[Layer], bool],
        tooltip: str,
        *,
        nothing: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._layers, self._offered, self._nothing = viewer.layers, offered, nothing
        self._before: Layer | None = None
        self.following = False
        self.setToolTip(tooltip)
        self.currentIndexChanged.connect(self._tell)

    def chosen(self) -> Layer | None:
        """The chosen layer, as long as it is in the viewer."""
        layer: Layer | None = self.currentData()
        return layer

    def choose(self, layer: Layer) -> None:
        """Choose a listed layer."""
        self.setCurrentIndex(self._place(layer))

    def _place(self, layer: Layer | None) -> int:
        # Equal, not identical: napari hands every plugin layers in wrappers of its own.
        places = (index for index in range(self.count()) if self.itemData(index) == layer)
        return next(places, -1)

    def follow(self) -> None:
        """Keep in step with the layer list from now on, and catch up with it."""
        if not self.following:
            self._layers.events.connect(self._on_event)
            self.following = True
        self.refresh()

    def rest(self) -> None:
        """Stop following, so that a closed dock leaves nothing behind."""
        if self.following:
            self._layers.events.disconnect(self._on_event)
            self.following = False

    def refresh(self) -> None:
        """List the layers of now, keeping what is chosen where it is still there."""
        layers = [layer for layer in self._layers if self._offered(layer)]
        chosen = self.chosen() if self.chosen() in layers else self._first(layers)
        was_blocked = self.blockSignals(True)
        self.clear()
        if self._nothing:
            self.addItem(self._nothing, None)
        for layer in layers:
            self.addItem(layer.name, layer)
        self.setCurrentIndex(self._place(chosen))
        self.blockSignals(was_blocked)
        self._tell()

    def _first(self, layers: list[Layer]) -> Layer | None:
        if self._nothing:
            return None
        active = self._layers.selection.active
        return active if active in layers else next(iter(layers), None)

    def _on_event(self, event: Event) -> None:
        if event.type in _FOLLOWED:
            self.refresh()

    def _tell(self) -> None:
        if self.chosen() != self._before:
            self._before = self.chosen()
            self.chosen_changed.emit()
