"""The curves of a result in the viewer: which are picked, in all views alike, and A beside B in the grid."""

import itertools
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from napari.components import ViewerModel
from napari.layers import Layer, Shapes
from numpy.typing import ArrayLike, NDArray
from psygnal import Signal

from .layers import OwnLayers, select

Index = NDArray[np.int64]


class CurveSelection:
    """The pooled rows picked, A's first; sorted.

    Signals
    -------
    changed
        Other curves are picked.
    """

    changed = Signal()

    def __init__(self) -> None:
        self.rows: Index = np.empty(0, dtype=np.int64)

    def pick(self, rows: ArrayLike) -> None:
        """Pick these curves and no others."""
        new = np.unique(np.asarray(rows, dtype=np.int64))
        if not np.array_equal(new, self.rows):
            self.rows = new
            self.changed.emit()


class LayerLink:
    """Ties the selection of the two curve layers to a `CurveSelection`, and picks the curve that is clicked.

    Curves can be picked, not moved: the layers are not editable.
    """

    def __init__(self, viewer: ViewerModel, curves: OwnLayers, selection: CurveSelection) -> None:
        self._viewer, self._curves, self._selection = weakref.ref(viewer), curves, selection
        self._linked: list[tuple[weakref.ref[Shapes], int]] = []
        self._silent = False
        selection.changed.connect(self._show)

    def link(self) -> None:
        """Tie to the layers of now."""
        self.rest()
        for layer, start in self._curves.with_first_rows():
            self._linked.append((weakref.ref(layer), start))
            layer.selected_data.events.items_changed.connect(self._layer_changed)
            layer.mouse_drag_callbacks.append(self._clicked)

    def rest(self) -> None:
        """Tie to nothing."""
        for layer, _ in self._alive():
            layer.selected_data.events.items_changed.disconnect(self._layer_changed)
            layer.mouse_drag_callbacks.remove(self._clicked)
        self._linked = []

    def _alive(self) -> list[tuple[Shapes, int]]:
        """The layers tied, each with the row of its first curve; held weakly, so that what is deleted is gone."""
        found = ((ref(), start) for ref, start in self._linked)
        return [(layer, start) for layer, start in found if layer is not None]

    def _show(self) -> None:
        """Mark the picked curves in the layers."""
        self._silent = True
        for layer, start in self._alive():
            inside = self._selection.rows - start
            rows = set(inside[(inside >= 0) & (inside < len(layer.features))].tolist())
            if set(layer.selected_data) != rows:
                select(layer, rows)
        self._silent = False

    def _layer_changed(self, *_: Any) -> None:
        if not self._silent:
            self._selection.pick([row + start for layer, start in self._alive() for row in layer.selected_data])

    def _clicked(self, layer: Shapes, event: Any) -> Iterator[None]:
        """Pick the curve under the mouse, unless it is dragged; with Shift add it, or take it out."""
        where, moved = event.position, False
        yield
        while event.type == "mouse_move":
            moved = True
            yield
        if not moved:
            row = self._row_at(where)
            if "Shift" in event.modifiers:
                self._selection.pick(np.setxor1d(self._selection.rows, [] if row is None else [row]))
            else:
                self._selection.pick([] if row is None else [row])

    def _row_at(self, position: Iterable[float]) -> int | None:
        """The topmost visible curve at a place of the viewer; in a grid only of the layers shown there."""
        for layer, start in reversed(self._alive()):
            if layer.visible and self._shown_there(layer):
                index = layer.get_value(position, world=True)
                if index is not None and index[0] is not None:
                    return int(index[0]) + start
        return None

    def _shown_there(self, layer: Shapes) -> bool:
        viewer = self._viewer()
        if viewer is None:
            return False
        grid = getattr(viewer, "canvas", viewer).grid
        if not grid.enabled:
            return True
        place = grid.position(viewer.layers.index(layer), _grid_layers(viewer, grid))
        return tuple(getattr(viewer.cursor, "viewbox", None) or place) == tuple(place)


def _grid_layers(viewer: ViewerModel, grid: Any) -> Any:
    """What `grid.position` asks for: the layers, in older napari their number."""
    return viewer.layers if hasattr(grid, "iter_viewboxes") and hasattr(viewer, "canvas") else len(viewer.layers)


class SideBySide:
    """Each image with its curves beside the others, A's first, in the viewer's grid: pan and zoom go together there.

    Signals
    -------
    left
        The grid was switched off by other means.
    """

    left = Signal()

    def __init__(self, viewer: ViewerModel) -> None:
        self._layers = viewer.layers
        self._grid = getattr(viewer, "canvas", viewer).grid
        self._before: tuple[bool, int] | None = None
        self._order: list[weakref.ref[Layer]] = []
        self._arranged: list[weakref.ref[Layer]] = []

    @property
    def on(self) -> bool:
        """Whether the grid is arranged so."""
        return self._before is not None

    def arrange(self, sources: Sequence[Layer | None], curves: Sequence[Layer | None]) -> None:
        """Bring the layers to the end of the list, A's last, and show an image and its curves to a cell from the end.

        The grid knows cells of one size only: an image or curves without the other come after those that are whole.
        """
        if self._before is None:
            self._before = self._grid.enabled, self._grid.stride
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
        if self._before is None:
            return
        before, self._before = self._before, None
        self._grid.events.enabled.disconnect(self._switched)
        self._grid.enabled, self._grid.stride = before
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
        if self._before is not None and not self._grid.enabled:
            self._before = False, self._before[1]
            self.left.emit()
