"""The window *Curves*: scatter plot, table and gallery of the curves of a result, and the card of the one picked."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from qtpy.compat import isalive
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QComboBox, QFrame, QHBoxLayout, QScrollArea, QTabWidget, QVBoxLayout, QWidget

from ...comparison import Comparison
from ..color_features import COLOR_FEATURES
from ..panels.widgets import NarrowList, ScrollColumn, buddy_label
from .card import CurveCard
from .gallery import CurveGallery
from .scatter import ScatterPlot
from .selection import CurveSelection
from .table import CurveTableView

Real = NDArray[np.float64]

_COORDINATES = 6  # of undulation that can be put on an axis


class CurveExplorer(QWidget):
    """All views of the curves of one result, on one selection.

    Signals
    -------
    excluded : int
        The curve of this pooled row is to be excluded, or included again.
    """

    excluded = Signal(int)

    def __init__(self, selection: CurveSelection, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.selection = selection
        self._result: Comparison | None = None
        self._excluded: frozenset[int] = frozenset()
        self._columns: dict[str, Real] = {}
        self.scatter, self.table, self.gallery, self.card = ScatterPlot(), CurveTableView(), CurveGallery(), CurveCard()
        self.x, self.y = NarrowList(), NarrowList()
        self.x.setToolTip("Horizontal axis. Default: undulation distance from the mean")
        self.y.setToolTip("Vertical axis. Default: scale distance from the mean")
        self._lay_out()
        for view in (self.scatter, self.table, self.gallery, self.card):
            view.picked.connect(selection.pick)
        for axis in (self.x, self.y):
            axis.currentIndexChanged.connect(self._draw)
        selection.changed.connect(self._show_selection)
        self.card.excluded.connect(self.excluded)

    def _lay_out(self) -> None:
        axes = QHBoxLayout()
        for name, axis in (("Hori&zontal", self.x), ("Vertic&al", self.y)):
            axes.addWidget(buddy_label(name, axis))
            axes.addWidget(axis, 1)
        plot, gallery = QWidget(), QScrollArea()
        column = QVBoxLayout(plot)
        column.addLayout(axes)
        column.addWidget(self.scatter, 1)
        gallery.setWidgetResizable(True)
        gallery.setFrameShape(QFrame.Shape.NoFrame)
        gallery.setWidget(self.gallery)
        self.tabs = QTabWidget()
        for title, page in (("Scatter", plot), ("Table", self.table), ("Gallery", gallery)):
            self.tabs.addTab(page, title)
        row = QHBoxLayout(self)
        row.setContentsMargins(4, 4, 4, 4)
        row.addWidget(self.tabs, 1)
        row.addWidget(ScrollColumn(self.card))

    def show_result(self, result: Comparison) -> None:
        """Show the curves of a result, nothing picked."""
        self._result, self._excluded = result, frozenset()
        self.selection.pick([])
        self._columns = columns_of(result)
        for axis, default in ((self.x, "undulation distance from the mean"), (self.y, "scale distance from the mean")):
            _refill(axis, list(self._columns), default)
        self.table.show_frame(table_of(result))
        self.gallery.show_result(result)
        self._draw()
        self._show_selection()

    def show_excluded(self, rows: frozenset[int]) -> None:
        """Tell which curves are excluded from the next run."""
        if rows != self._excluded:
            self._excluded = rows
            self._show_card()

    def _draw(self) -> None:
        names = self.x.currentText(), self.y.currentText()
        if self._result is not None and all(names):
            points = np.stack([self._columns[name] for name in names], axis=1)
            sides = self._result.a.name, self._result.b.name
            self.scatter.show_points(points, len(self._result.a), names, sides)

    def _show_selection(self) -> None:
        if not isalive(self):
            return
        self.scatter.mark(self.selection.rows)
        self.table.mark(self.selection.rows)
        self._show_card()

    def _show_card(self) -> None:
        if self._result is not None:
            self.card.show_curve(self._result, self.selection.rows, self._excluded)


def columns_of(result: Comparison) -> dict[str, Real]:
    """What can be put on an axis: name -> one number per pooled curve."""
    numeric = (feature for feature in COLOR_FEATURES.values() if feature.numeric)
    columns = {feature.title(result): feature.values(result) for feature in numeric}
    columns |= {f"undulation t{index + 1}": result.t[:, index] for index in range(min(_COORDINATES, result.t.shape[1]))}
    return columns | {f"scale ℓ{index + 1}": result.l[:, index] for index in range(result.l.shape[1])}


def table_of(result: Comparison) -> pd.DataFrame:
    """One row per pooled curve: its image, its id and its numbers."""
    ids = result.distances["id"]
    # Numbers and words of two images cannot be sorted together.
    named = {"image": result.distances["source"], "id": ids if ids.map(type).nunique() == 1 else ids.astype(str)}
    return pd.DataFrame({**named, **columns_of(result)})


def _refill(axis: QComboBox, names: list[str], default: str) -> None:
    """Offer names, keeping what is chosen where it is among them."""
    before = axis.currentText()
    was_blocked = axis.blockSignals(True)
    axis.clear()
    axis.addItems(names)
    axis.setCurrentText(before if before in names else default)
    axis.blockSignals(was_blocked)
