"""Keeps all views of the curves together: their layers and the window *Curves*."""

from typing import Any

import numpy as np
from napari.components import ViewerModel
from qtpy.compat import isalive
from qtpy.QtCore import QObject, Signal

from ...comparison import Comparison
from ..layers import OwnLayers
from .explorer import CurveExplorer
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
        self._explorer: CurveExplorer | None = None
        self._result: Comparison | None = None
        self._excluded: frozenset[int] = frozenset()

    @property
    def explorer(self) -> CurveExplorer | None:
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

    def show_excluded(self, rows: frozenset[int]) -> bool:
        """Tell all views which curves are left out of the next run; whether that was news to a layer."""
        self._excluded = rows
        news = False
        for layer, start in self.curves.with_first_rows():
            inside = np.isin(np.arange(len(layer.features)) + start, list(rows))
            if not np.array_equal(layer.features["excluded"], inside):
                layer.features["excluded"] = inside  # to set all features would check every column anew
                news = True
        if self.explorer is not None:
            self.explorer.show_excluded(rows)
        return news

    def open_explorer(self) -> None:
        """Open the window of the curves, or bring it to the front."""
        if self._result is None:
            return
        explorer = self.explorer
        if explorer is None:
            explorer = self._explorer = CurveExplorer(self.selection)
            explorer.excluded.connect(self.excluded)
            explorer.show_result(self._result)
            explorer.show_excluded(self._excluded)
            self._dock_explorer(explorer)
        frame: Any = explorer.parentWidget() or explorer
        frame.show()
        frame.raise_()

    def _dock_explorer(self, explorer: CurveExplorer) -> None:
        window = getattr(self._viewer, "window", None)
        if window is not None:
            window.add_dock_widget(explorer, name="Curves", area="bottom")

    def rest(self) -> None:
        """Let go of the layers."""
        self.link.rest()
