"""A combo box of layers: a view of a choice, without a state of its own."""

from collections.abc import Callable, Sequence

from napari.layers import Layer

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
        nothing = [(None, self._nothing)] if self._nothing else []
        self.offer([*nothing, *((layer, layer.name) for layer in self._layers())], self._layer.chosen())
