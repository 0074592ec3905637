"""Each image with its curves beside the others, in the viewer's grid."""

import itertools
import weakref
from collections.abc import Sequence

from napari.components import ViewerModel
from napari.layers import Layer
from psygnal import Signal


class SideBySide:
    """Each image with its curves beside the others, A's first, in the viewer's grid: pan and zoom go together there."""

    left = Signal()  #: the grid was switched off by other means

    def __init__(self, viewer: ViewerModel) -> None:
        self._layers = viewer.layers
        self._grid = getattr(viewer, "canvas", viewer).grid
        self.on = False  #: whether the grid is arranged so
        self._before: tuple[bool, int] = (False, 1)
        self._order: list[weakref.ref[Layer]] = []
        self._arranged: list[weakref.ref[Layer]] = []

    def arrange(self, sources: Sequence[Layer | None], curves: Sequence[Layer | None]) -> None:
        """Bring the layers to the end of the list, A's last, and show an image and its curves to a cell from the end.

        The grid knows cells of one size only: an image or curves without the other come after those that are whole.
        """
        if not self.on:
            self.on, self._before = True, (self._grid.enabled, self._grid.stride)
            self._order = list(map(weakref.ref, self._layers))
            self._grid.events.enabled.connect(self._switched)
        cells = [[one for one in cell if one in self._layers] for cell in zip(sources, curves, strict=True)]
        size = max(map(len, cells), default=1)
        last = list(itertools.chain.from_iterable(reversed([cell for cell in cells if len(cell) == size])))
        self._reorder([*(layer for layer in self._layers if layer not in last), *last])
        self._arranged = list(map(weakref.ref, self._layers))
        self._grid.stride = -size
        self._grid.enabled = True

    def restore(self) -> None:
        """Go back to the grid as it was, and to the order of the layers, unless a person has changed that since."""
        if not self.on:
            return
        self.on = False
        self._grid.events.enabled.disconnect(self._switched)
        self._grid.enabled, self._grid.stride = self._before
        if self._alive(self._arranged) == [layer for layer in self._layers if weakref.ref(layer) in self._arranged]:
            first = self._alive(self._order)
            self._reorder([*first, *(layer for layer in self._layers if layer not in first)])

    def _reorder(self, layers: Sequence[Layer]) -> None:
        """Tell of it once: the window takes tens of milliseconds each time."""
        reordered = self._layers.events.reordered
        with reordered.blocker():
            for place, layer in enumerate(layers):
                if self._layers[place] != layer:
                    self._layers.move(self._layers.index(layer), place)
        reordered(value=self._layers)

    def _alive(self, refs: list["weakref.ref[Layer]"]) -> list[Layer]:
        return [layer for ref in refs if (layer := ref()) is not None and layer in self._layers]

    def _switched(self, event: object = None) -> None:
        if self.on and not self._grid.enabled:
            self._before = False, self._before[1]
            self.left.emit()
