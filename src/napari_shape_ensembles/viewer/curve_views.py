"""Keeps all views of the curves together: their layers, the window *Curves*, and the grid of A beside B."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from napari.components import ViewerModel
from napari.layers import Layer
from qtpy.compat import isalive
from qtpy.QtCore import QObject, Signal

from ..comparison import Comparison
from .explore import Explorer
from .layers import OwnLayers
from .selection import CurveSelection, LayerLink


class CurveViews(QObject):
    """Made by the dock, which tells it of results.

    Signals
    -------
    excluded : int
        The curve of this pooled row is to be left out, or taken in again.
    """

    excluded = Signal(int)

    def __init__(self, viewer: ViewerModel, curves: OwnLayers, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._viewer = viewer
        self.curves = curves
        self.selection = CurveSelection(self)
        self.link = LayerLink(viewer, curves, self.selection, self)
        self._explorer: Explorer | None = None
        self._result: Comparison | None = None
        self._excluded: frozenset[int] = frozenset()

    @property
    def explorer(self) -> Explorer | None:
        """The window of the curves, as long as it is there."""
        return self._explorer if self._explorer is not None and isalive(self._explorer) else None

    def show_result(self, result: Comparison) -> None:
        """Show another result everywhere."""
        self._result = result
        self._excluded = frozenset()
        self.selection.pick([])
        self.link.link()
        if self.explorer is not None:
            self.explorer.show_result(result)

    def show_excluded(self, rows: frozenset[int]) -> None:
        """Tell all views which curves are left out of the next run."""
        self._excluded = rows
        for layer, start in self.curves.with_first_rows():
            inside = np.isin(np.arange(len(layer.features)) + start, list(rows))
            layer.features = layer.features.assign(excluded=inside)
        if self.explorer is not None:
            self.explorer.show_excluded(rows)

    def open_explorer(self) -> None:
        """Open the window of the curves, or bring it to the front."""
        if self._result is None:
            return
        explorer = self.explorer
        if explorer is None:
            explorer = self._explorer = Explorer(self.selection)
            explorer.excluded.connect(self.excluded)
            explorer.show_result(self._result)
            explorer.show_excluded(self._excluded)
            self._dock_explorer(explorer)
        frame: Any = explorer.parentWidget() or explorer
        frame.show()
        frame.raise_()

    def _dock_explorer(self, explorer: Explorer) -> None:
        window = getattr(self._viewer, "window", None)
        if window is not None:
            window.add_dock_widget(explorer, name="Curves", area="bottom")

    def rest(self) -> None:
        """Let go of the layers."""
        self.link.rest()


class SideBySide:
    """Each image with its curves beside the others, A's first, in the viewer's grid: pan and zoom go together there."""

    def __init__(self, viewer: ViewerModel) -> None:
        self._layers = viewer.layers
        self._grid = getattr(viewer, "canvas", viewer).grid
        self._before: tuple[bool, int] | None = None

    def arrange(self, sources: Sequence[Layer | None], curves: OwnLayers) -> None:
        """Bring the layers to the end of the list, A's last, and show a layer and its curves to a cell from the end."""
        if self._before is None:
            self._before = self._grid.enabled, self._grid.stride
        for source, layer in reversed(list(zip(sources, curves, strict=False))):
            for one in (source, layer):
                if one is not None and one in self._layers:
                    self._layers.move(self._layers.index(one), len(self._layers))
        self._grid.stride = -2 if any(source is not None for source in sources) else -1
        self._grid.enabled = True

    def restore(self) -> None:
        """Go back to the grid as it was."""
        if self._before is not None:
            self._grid.enabled, self._grid.stride = self._before
            self._before = None
