"""A table of all curves of all images, sortable by any column."""

from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from qtpy.QtCore import QAbstractTableModel, QEvent, QItemSelection, QItemSelectionModel, QModelIndex, Qt, Signal
from qtpy.QtGui import QShowEvent
from qtpy.QtWidgets import QAbstractItemView, QApplication, QTableView

from ..._types import Index
from ..panels.fonts import with_label_font

AnyIndex: TypeAlias = Any  # QModelIndex or QPersistentModelIndex

_COLUMN_LINE_HEIGHTS = 11  # column width in line heights: two lines hold the longest heading, in bold where selected


class CurveTableModel(QAbstractTableModel):
    """Table model of a data frame with vectorized sorting: cell by cell, 6000 rows would take seconds."""

    def __init__(self) -> None:
        super().__init__()
        self._frame = pd.DataFrame()
        self.hovered_row = -1  #: pooled index of the curve hovered in any linked view
        self._shape = 0, 0  # cached: Qt asks for it thousands of times while rows are selected
        self.order: NDArray[np.integer] = np.empty(0, dtype=np.int64)

    def show_frame(self, frame: pd.DataFrame) -> None:
        self.beginResetModel()
        self._frame, self._shape = frame, frame.shape
        self.order = np.arange(len(frame))
        self.endResetModel()

    def rowCount(self, parent: AnyIndex = QModelIndex()) -> int:  # noqa: B008 - Qt's default
        return 0 if parent.isValid() else self._shape[0]

    def columnCount(self, parent: AnyIndex = QModelIndex()) -> int:  # noqa: B008 - Qt's default
        return 0 if parent.isValid() else self._shape[1]

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.BackgroundRole and self.order[index.row()] == self.hovered_row:
            return QApplication.palette().highlight()
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        value = self._frame.iat[int(self.order[index.row()]), index.column()]
        return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        told = role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole)
        return str(self._frame.columns[section]) if told and orientation == Qt.Orientation.Horizontal else None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column (stable)."""
        if not 0 <= column < self._frame.shape[1]:
            return
        self.layoutAboutToBeChanged.emit()
        # Not `argsort`, which gives -1 for NaN.
        values = self._frame.iloc[:, column].reset_index(drop=True)
        ascending = values.sort_values(kind="stable").index.to_numpy()
        self.order = ascending if order == Qt.SortOrder.AscendingOrder else ascending[::-1]
        self.layoutChanged.emit()


class CurveTableView(QTableView):
    """Table view with row selection."""

    picked = Signal(object)  #: array: pooled indices of the rows that the user selected; not emitted by `mark`
    hovered = Signal(int)  #: int: pooled index of the hovered curve, or -1

    def __init__(self) -> None:
        super().__init__()
        with_label_font(self)
        self.curves = CurveTableModel()
        self._is_updating = self._scrolls_when_shown = False
        self.setModel(self.curves)
        self.setMouseTracking(True)
        self.setAccessibleName("Table of the curves")
        self.entered.connect(self._on_entered)
        self.setSortingEnabled(True)
        self.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.verticalHeader().hide()
        alignment = Qt.AlignmentFlag(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap)
        self.horizontalHeader().setDefaultAlignment(alignment)
        self._fit_headings()
        self.setToolTip("All curves of all images. Click a heading to sort, rows to select curves.")
        self.curves.layoutChanged.connect(self._restore_selection)
        self._rows: Index = np.empty(0, dtype=np.int64)
        self.selectionModel().selectionChanged.connect(self._emit_picked)

    def _restore_selection(self) -> None:
        self.mark(self._rows)

    def _fit_headings(self) -> None:
        line = self.fontMetrics().height()
        self.horizontalHeader().setDefaultSectionSize(_COLUMN_LINE_HEIGHTS * line)
        self.horizontalHeader().setMinimumHeight(2 * line + 10)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit_headings()

    def show_frame(self, frame: pd.DataFrame) -> None:
        self._is_updating = True
        self.curves.show_frame(frame)
        self._rows = np.empty(0, dtype=np.int64)
        self._is_updating = False

    def highlight(self, row: int) -> None:
        """Highlight the row of the curve that is hovered in any linked view; -1 for none."""
        before, self.curves.hovered_row = self.curves.hovered_row, row
        last = self.curves.columnCount() - 1
        for place in np.flatnonzero(np.isin(self.curves.order, [before, row])).tolist():
            self.curves.dataChanged.emit(self.curves.index(place, 0), self.curves.index(place, last))

    def _on_entered(self, index: QModelIndex) -> None:
        self.hovered.emit(int(self.curves.order[index.row()]))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.hovered.emit(-1)

    def mark(self, rows: Index) -> None:
        """Select the rows of these curves, without emitting `picked`."""
        self._rows = rows
        self._is_updating = True
        places = np.flatnonzero(np.isin(self.curves.order, rows))
        chosen, last = QItemSelection(), self.curves.columnCount() - 1
        for run in np.split(places, np.flatnonzero(np.diff(places) != 1) + 1) if len(places) else []:
            chosen.select(self.curves.index(int(run[0]), 0), self.curves.index(int(run[-1]), last))
        self.selectionModel().select(chosen, QItemSelectionModel.SelectionFlag.ClearAndSelect)
        if self.isVisible():
            self._scroll_to_marked()
        else:  # a hidden view does not know its size
            self._scrolls_when_shown = True
        self._is_updating = False

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._scrolls_when_shown:
            self._scroll_to_marked()

    def _scroll_to_marked(self) -> None:
        """Scroll to the first of the marked rows."""
        self._scrolls_when_shown = False
        places = np.flatnonzero(np.isin(self.curves.order, self._rows))
        if len(places):
            self.scrollTo(self.curves.index(int(places[0]), 0))

    def _emit_picked(self) -> None:
        if not self._is_updating:
            places = [index.row() for index in self.selectionModel().selectedRows()]
            self._rows = np.sort(self.curves.order[places]) if places else np.empty(0, dtype=np.int64)
            self.picked.emit(self._rows)
