"""The window *Curves*: scatter plot, table, gallery and crops of the curves of a result, and the card of selected ones.

All share one selection, and the menu of what is done with it.
"""

import weakref
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from napari.components import ViewerModel
from qtpy.compat import isalive
from qtpy.QtCore import QPoint, Qt
from qtpy.QtWidgets import QApplication, QFrame, QScrollArea, QWidget

from ..._types import Real
from ...comparison import Comparison
from ...comparison.answer import titles_of
from ...comparison.colorings import COLORINGS
from ..comparing import ComparisonTask
from ..explaining import same_data
from ..layers import CurveSelection
from ..panels.widgets import NarrowList, ScrollColumn, SteadyTabs, buddy_label, column, row
from .card import CurveCard
from .crops import CurveCrops
from .gallery import CurveGallery
from .scatter import ScatterPlot
from .table import CurveTableView

_AXES_PX = 280  # width of the choice of axes: the default names are not elided
_LEAST_HEIGHT_PX = 250  # where the plot needs no scroll bar; on a screen with less room, the window floats
_MAX_COORDINATES = 6  # number of undulation coordinates offered for the axes


class CurveExplorer(QWidget):
    """Linked views of the curves of a result, which share a selection."""

    def __init__(self, selection: CurveSelection) -> None:
        super().__init__()
        self.selection = selection
        self._comparison: ComparisonTask | None = None
        self._result: Comparison | None = None
        self._names = ("", "")  # of its groups
        self._excluded: frozenset[int] = frozenset()
        self._columns: dict[str, Real] = {}
        self.scatter, self.table, self.gallery = ScatterPlot(), CurveTableView(), CurveGallery()
        self.crops, self.card = CurveCrops(), CurveCard(selection)
        self.x = NarrowList("Horizontal axis. Default: undulation distance from the mean")
        self.y = NarrowList("Vertical axis. Default: scale distance from the mean")
        axes = column(buddy_label("Hori&zontal", self.x), self.x, buddy_label("Vertic&al", self.y), self.y)
        axes.layout().addStretch()
        axes.setFixedWidth(_AXES_PX)
        self.tabs = SteadyTabs()
        self.setMinimumHeight(_LEAST_HEIGHT_PX)
        # Beside the plot, not above: the window is low.
        scatter = column(row(axes, self.scatter, grows=self.scatter), margins=(9, 4, 9, 4))
        self.tabs.addTab(scatter, "Scatter")
        self.tabs.addTab(self.table, "Table")
        self.tabs.addTab(_scrolled(self.gallery), "Gallery")
        self.tabs.addTab(_scrolled(self.crops), "Side by side")
        column(row(self.tabs, ScrollColumn(self.card), grows=self.tabs), page=self, margins=(4, 4, 4, 4))
        for view in (self.scatter, self.table):
            view.picked.connect(selection.select_and_center)
        for buttons in (self.gallery, self.crops, self.card):
            buttons.picked.connect(self._pick)
        for view in (self.scatter, self.table, self.gallery, self.crops, self.card):
            view.hovered.connect(selection.hover)
        for view in (self.scatter, self.table, self.gallery, self.crops):
            view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
            view.customContextMenuRequested.connect(partial(self._open_menu, view))
        for axis in (self.x, self.y):
            axis.currentIndexChanged.connect(self._draw)
        selection.changed.connect(self._show_selection)
        selection.hover_changed.connect(self._show_hovered)

    def connect_to(self, comparison: ComparisonTask) -> None:
        """Connect to a comparison task, and show the curves of its results."""
        self._comparison = comparison
        comparison.changed.connect(self._show_comparison)
        self._show_comparison()

    def _show_comparison(self) -> None:
        comparison = self._comparison
        if comparison is not None and comparison.result is not None and isalive(self):
            if comparison.result is not self._result or comparison.result.names != self._names:
                self.show_result(comparison.result)
            self.show_excluded(comparison.excluded_rows())

    def show_result(self, result: Comparison) -> None:
        if self._result is None or not same_data(self._result, result):  # not the same with the findings of checks
            self.crops.clear()
        self._result, self._names, self._excluded = result, result.names, frozenset()
        self._columns = measured_columns(result)
        for axis, default in ((self.x, "undulation distance from the mean"), (self.y, "scale distance from the mean")):
            before = axis.currentText()
            axis.offer([(name, name) for name in self._columns], before if before in self._columns else default)
        self.table.show_frame(table_of(result))
        self.gallery.show_result(result)
        self._draw()
        self._show_selection()

    def show_excluded(self, rows: frozenset[int]) -> None:
        """Set which curves the card shows as excluded from the next run."""
        if rows != self._excluded:
            self._excluded = rows
            self._show_card()

    def _draw(self) -> None:
        names = self.x.currentText(), self.y.currentText()
        if self._result is not None and all(names):
            points = np.stack([self._columns[name] for name in names], axis=1)
            self.scatter.show_points(points, len(self._result.a), names, titles_of(self._result))

    def _show_selection(self) -> None:
        if not isalive(self):
            return
        self.scatter.mark(self.selection.rows)
        self.table.mark(self.selection.rows)
        for buttons in (self.gallery, self.crops):
            buttons.mark(self.selection.rows)
        self._show_card()

    def _pick(self, row: int) -> None:
        """Select a clicked curve; with Shift or Ctrl, add it to the selected ones, or remove it from them."""
        if QApplication.keyboardModifiers() & (Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier):
            self.selection.pick(np.setxor1d(self.selection.rows, [row]))
        else:
            self.selection.select_and_center([row])

    def _open_menu(self, view: QWidget, place: QPoint) -> None:
        if len(self.selection.rows):
            self.card.menu.popup(view.mapToGlobal(place))

    def open_side_by_side(self) -> None:
        """Show the selected curves with their pictures, which stay while others are selected."""
        if isalive(self) and self._comparison is not None:
            self.crops.show_curves(self._comparison, self.selection.rows)
            self.crops.mark(self.selection.rows)
            self.tabs.setCurrentIndex(self.tabs.count() - 1)

    def _show_hovered(self) -> None:
        if isalive(self):
            for view in (self.scatter, self.table, self.gallery, self.crops, self.card):
                view.highlight(self.selection.hovered_row)

    def _show_card(self) -> None:
        if self._result is not None:
            self.card.show_curve(self._result, self.selection.rows, self._excluded)


class CurveWindow:
    """Creates the window *Curves* of a comparison lazily."""

    def __init__(self, viewer: ViewerModel, comparison: ComparisonTask) -> None:
        self._viewer, self._comparison = viewer, comparison
        self._explorer: CurveExplorer | None = None  # keeps it alive while it has no parent

    @property
    def explorer(self) -> CurveExplorer | None:
        """The window, or None if closed; it may have been opened from a dock that is closed by now."""
        explorer = self._comparison.curve_explorer()
        return explorer if explorer is not None and isalive(explorer) else None

    def open(self) -> None:
        if self._comparison.result is None:
            return
        explorer = self.explorer
        if explorer is None:
            explorer = self._explorer = CurveExplorer(self._comparison.selection)
            self._comparison.curve_explorer = weakref.ref(explorer)
            explorer.connect_to(self._comparison)
            if (window := getattr(self._viewer, "window", None)) is not None:
                dock = window.add_dock_widget(explorer, name="Curves", area="bottom")
                main = dock.window()
                height = main.minimumSizeHint().height() + dock.minimumSizeHint().height()
                # Else the window would outgrow the screen.
                dock.setFloating(height > main.screen().availableGeometry().height())
                if dock.isFloating():  # beside the pages, and below the captions
                    dock.move(main.mapToGlobal(QPoint(0, main.height() - dock.height())))
        frame: Any = explorer.parentWidget() or explorer
        frame.show()
        frame.raise_()

    def open_side_by_side(self) -> None:
        self.open()
        if (explorer := self.explorer) is not None:
            explorer.open_side_by_side()


def _scrolled(view: QWidget) -> QScrollArea:
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setWidget(view)
    return area


def measured_columns(result: Comparison) -> dict[str, Real]:
    """Return the quantities offered for the axes: name -> a value per curve of the pooled sample."""
    numeric = (feature for feature in COLORINGS.values() if feature.numeric)
    columns = {feature.title(result): feature.values(result) for feature in numeric}
    columns |= {
        f"undulation t{index + 1}": result.t[:, index] for index in range(min(_MAX_COORDINATES, result.t.shape[1]))
    }
    return columns | {f"scale ℓ{index + 1}": result.l[:, index] for index in range(result.l.shape[1])}


def table_of(result: Comparison) -> pd.DataFrame:
    """Return a table of the pooled curves: sample, image, id and measurements."""
    known = result.outlines[["sample", "image", "id"]]
    if known["id"].map(type).nunique() > 1:  # ids of mixed types (integers and strings) cannot be sorted
        known = known.astype({"id": str})
    return pd.concat([known, pd.DataFrame(measured_columns(result))], axis=1)
