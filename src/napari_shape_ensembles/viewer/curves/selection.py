"""Which curves are picked: one choice, shared by the layers, the scatter plot, the table and the card."""

import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from napari.components import ViewerModel
from napari.layers import Shapes
from numpy.typing import ArrayLike, NDArray
from psygnal import Signal

from ..layers import OwnLayers, select

Index = NDArray[np.int64]


class CurveSelection:
    """The pooled rows picked, A's first; sorted."""

    changed = Signal()  #: other curves are picked

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
        viewer = self._viewer()
        for layer, start in reversed(self._alive()):
            if viewer is not None and layer.visible and _in_sight(viewer, layer):
                index = layer.get_value(position, world=True)
                if index is not None and index[0] is not None:
                    return int(index[0]) + start
        return None


def _in_sight(viewer: ViewerModel, layer: Shapes) -> bool:
    """Whether a layer is in the cell of the grid below the cursor, or there is no grid."""
    grid = getattr(viewer, "canvas", viewer).grid
    # What `position` asks for: the layers, in older napari their number.
    several = viewer.layers if hasattr(grid, "iter_viewboxes") and hasattr(viewer, "canvas") else len(viewer.layers)
    place = tuple(grid.position(viewer.layers.index(layer), several))
    return not grid.enabled or tuple(getattr(viewer.cursor, "viewbox", None) or place) == place
