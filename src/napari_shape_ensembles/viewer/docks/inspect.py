"""The dock *Inspect curves*: which outlines deserve a second look, and what the answer is without them."""

from typing import Any

import numpy as np
from napari.components import ViewerModel
from qtpy.QtCore import Qt
from qtpy.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLabel,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from ...inspection import Inspection
from ..form import OutlinesForm
from ..inspecting import QUESTIONS, SCORE, InspectionTask, score_limits, scores
from ..layer_choice import LayerChoice
from ..panels.color_by import ColorBar
from ..panels.fonts import with_label_font
from ..panels.widgets import NarrowList, ScrollColumn, column, form, tip, with_clear_boxes, wrapped
from ..session import Session
from .base import Dock

_COLUMNS = ("exclude", "of", "id", "score", "why")
_FOLDED = ("Find", "Clean up and split", "Trace")


class InspectCurves(Dock):
    """Rank the curves of one or two layers, zoom to them, exclude some, and compare again without.

    Parameters
    ----------
    napari_viewer : ViewerModel
    """

    def __init__(self, napari_viewer: ViewerModel, parent: QWidget | None = None) -> None:
        self.inspection = Session.of(napari_viewer).inspection
        super().__init__(
            napari_viewer,
            self.inspection,
            run="Trace the curves, compare them and rank them",
            renewal="Inspect the layers that are chosen, as they are now",
            parent=parent,
        )
        self._listed: Inspection | None = None
        self._make_controls()
        self._lay_out()
        self._connect()
        self.attach()

    def _make_controls(self) -> None:
        self.question = NarrowList()
        for value, words in QUESTIONS.items():
            self.question.addItem(words, value)
        self.question.setToolTip("Single curves with a fault or far from the others; or two label layers of one image.")
        self.a = LayerChoice(self.inspection.a, "Image, labels or shapes to inspect.")
        self.b = LayerChoice(
            self.inspection.b, "A second layer to compare with the first; none is fine.", nothing="– none –"
        )
        self.form = OutlinesForm(self.session.choices.recipe, folded=_FOLDED, omitted=("pixel_size", "unit"))
        self.inspect_button = self.run_button
        self.inspect_button.setText("&Inspect")
        self.message, self.verdict, self.verdict_again = wrapped(), wrapped(), wrapped()
        self.table = _table()
        self.colorbar = ColorBar()
        self.colorbar.setToolTip("Score by which the curves are colored; the larger, the more suspicious.")
        self.again_button = QPushButton("Compare without the &excluded")
        self.again_button.setToolTip("Compare both layers again, without the curves that are ticked")

    def _lay_out(self) -> None:
        top = form()
        for label, control in (("Question", self.question), ("A", self.a), ("B", self.b)):
            top.addRow(label, control)
        page = QWidget()
        rows = QVBoxLayout(page)
        rows.setContentsMargins(6, 6, 6, 6)
        rows.addLayout(top)
        rows.addWidget(self.form)
        rows.addLayout(self.buttons())
        self.score_row = column(QLabel("Curves colored by score"), self.colorbar)
        for part in (self.reason, self.step, self.progress, self.stale, self.message, self.verdict):
            rows.addWidget(part)
        rows.addWidget(self.table, 1)
        for part in (self.score_row, self.again_button, self.verdict_again):
            rows.addWidget(part)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(ScrollColumn(page))

    def _connect(self) -> None:
        task, question = self.inspection, self.question
        self.bind(self.form, "recipe")
        for shown, chosen in ((self.a, task.a), (self.b, task.b)):
            self.link(chosen.changed, shown.refresh)
        question.currentIndexChanged.connect(lambda _: setattr(task, "question", question.currentData()))
        self.again_button.clicked.connect(task.compare_again)
        self.table.itemChanged.connect(self._tick)
        self.table.currentCellChanged.connect(lambda row, *_: task.zoom(row))
        self.table.cellClicked.connect(lambda row, _: task.zoom(row))

    def _tick(self, item: QTableWidgetItem) -> None:
        if item.column() == 0:
            self.inspection.exclude(item.row(), item.checkState() == Qt.CheckState.Checked)

    def show_result(self) -> None:
        """Show the ranking, the verdict, and that without the excluded curves."""
        task, result = self.inspection, self.inspection.result
        was_blocked = self.question.blockSignals(True)
        self.question.setCurrentIndex(self.question.findData(task.question))
        self.question.blockSignals(was_blocked)
        self.message.setText(task.message)
        self.message.setVisible(bool(task.message))
        for part in (self.table, self.score_row):
            part.setVisible(result is not None)
        self.again_button.setVisible(result is not None and len(result.ensembles) == 2)
        self.again_button.setEnabled(not task.busy)
        self.verdict_again.setText("" if task.again is None else f"Without the excluded: {task.again.summary()}")
        if result is not None and result is not self._listed:
            self._listed = result
            self._list(result)

    def _list(self, result: Inspection) -> None:
        count = sum(map(len, result.ensembles))
        listed = f"{len(result.ranking)} of {count} curves are listed."
        self.verdict.setText(f"{result.sentence}\n\n{listed}" if result.sentence else listed)
        a, *b = scores(result)
        self.colorbar.show_values(SCORE, score_limits(result), a, b[0] if b else np.empty(0), "")
        _fill(self.table, self.inspection, result)


def _table() -> QTableWidget:
    table = QTableWidget(0, len(_COLUMNS))
    with_label_font(table)
    with_clear_boxes(table)
    table.setHorizontalHeaderLabels(list(_COLUMNS))
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setMinimumHeight(220)
    table.verticalHeader().setVisible(False)
    table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    table.horizontalHeader().setSectionResizeMode(len(_COLUMNS) - 1, QHeaderView.ResizeMode.Stretch)
    table.setToolTip("Click a curve to zoom to it; tick it to exclude it. Nothing is deleted.")
    return table


def _fill(table: QTableWidget, task: InspectionTask, result: Inspection) -> None:
    """One row per curve, the most suspicious first."""
    was_blocked = table.blockSignals(True)
    table.setRowCount(len(result.ranking))
    for row, entry in enumerate(result.ranking.itertuples()):
        for place, item in enumerate(_items(entry, task.is_excluded(row))):
            table.setItem(row, place, item)
    table.blockSignals(was_blocked)


def _items(entry: Any, excluded: bool) -> list[QTableWidgetItem]:
    tick = QTableWidgetItem()
    tick.setFlags(Qt.ItemFlag.ItemIsUserCheckable | Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
    tick.setCheckState(Qt.CheckState.Checked if excluded else Qt.CheckState.Unchecked)
    texts = [QTableWidgetItem(text) for text in (entry.source, str(entry.id), f"{entry.score:.2f}", entry.reasons)]
    for item in texts:
        item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
        item.setToolTip(tip(item.text()))
    return [tick, *texts]
