"""A combo box of layers: a view of a choice, without a state of its own."""

from collections.abc import Callable, Sequence

from napari.layers import Layer
from qtpy.QtCore import QSignalBlocker

from .offered import ChosenLayer
from .panels.widgets import NarrowList

Listed = Callable[[], Sequence[Layer]]


class LayerChoice(NarrowList):
    """A combo box of layers, of `layers` if given; if `nothing` is given, it is the first entry, for "no layer"."""

    def __init__(self, layer: ChosenLayer, tooltip: str, *, nothing: str = "", layers: Listed | None = None) -> None:
        super().__init__(tooltip)
        self._layer, self._nothing, self._layers = layer, nothing, layers or layer.offered
        self.currentIndexChanged.connect(lambda _: layer.choose(self.currentData()))

    def refresh(self) -> None:
        """Show the layers, unless unchanged: a combo box must not be modified during its own signal."""
        chosen, layers = self._layer.chosen(), self._layers()
        entries = [*([(self._nothing, None)] if self._nothing else []), *((layer.name, layer) for layer in layers)]
        listed = [(self.itemText(row), self.itemData(row)) for row in range(self.count())]
        if listed != entries or self.currentData() != chosen:
            with QSignalBlocker(self):
                self.clear()
                for name, layer in entries:
                    self.addItem(name, layer)
                self.setCurrentIndex(next((row for row, (_, layer) in enumerate(entries) if layer == chosen), -1))
