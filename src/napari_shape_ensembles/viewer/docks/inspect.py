"""The dock *Inspect curves*: which outlines deserve a second look, and what the answer is without them."""

import numpy as np
from napari.components import ViewerModel
from qtpy.QtCore import QSignalBlocker, Qt
from qtpy.QtWidgets import QLabel, QTableWidgetItem

from ...inspection import Inspection
from ..form import OutlinesForm
from ..inspecting import QUESTIONS, SCORE, score_limits, scores
from ..layer_choice import LayerChoice
from ..panels.color_by import ColorBar
from ..panels.widgets import NarrowList, PickTable, button, column, form, scrolling, wrapped
from ..session import Session
from .base import Dock

_FOLDED = ("Find", "Clean up and split", "Trace")


class InspectCurves(Dock):
    """Rank the curves of one or two layers, zoom to them, exclude some, and compare again without."""

    def __init__(self, napari_viewer: ViewerModel) -> None:
        task = self.inspection = Session.of(napari_viewer).inspection
        super().__init__(
            napari_viewer,
            task,
            run="Trace the curves, compare them and rank them",
            renewal="Inspect the layers that are chosen, as they are now",
        )
        self.run_button.setText("&Inspect")
        self._listed: Inspection | None = None
        tooltip = "Single curves with a fault or far from the others; or two label layers of one image."
        question = self.question = NarrowList(tooltip, QUESTIONS)
        question.currentIndexChanged.connect(lambda _: task.ask(question.currentData()))
        self.a = LayerChoice(task.a, "Image, labels or shapes to inspect.")
        self.b = LayerChoice(task.b, "A second layer to compare with the first; none is fine.", nothing="– none –")
        self.form = OutlinesForm(self.session.choices.recipe, folded=_FOLDED, omitted=("pixel_size", "unit"))
        self.message, self.verdict, self.verdict_again = wrapped(), wrapped(), wrapped()
        self.table = PickTable("exclude", "of", "id", "score", "why")
        self.table.setMinimumHeight(220)
        self.table.setToolTip("Click a curve to zoom to it; tick it to exclude it. Nothing is deleted.")
        self.table.itemChanged.connect(self._tick)
        # Not the current cell: a table has one as soon as the focus comes to it, and nobody has chosen that.
        self.table.itemSelectionChanged.connect(self._zoom)
        self.table.cellClicked.connect(lambda row, _: task.zoom(row))
        self.colorbar = ColorBar()
        self.colorbar.setToolTip("Score by which the curves are colored; the larger, the more suspicious.")
        self.score_row = column(QLabel("Curves colored by score"), self.colorbar)
        self.again_button = button(
            "Compare without the &excluded", "Compare both layers again, without the curves that are ticked"
        )
        self.again_button.clicked.connect(task.compare_again)
        top = form()
        for label, control in (("Question", question), ("A", self.a), ("B", self.b)):
            top.addRow(label, control)
        state = self.reason, self.step, self.progress, self.stale, self.message, self.verdict
        found = self.table, self.score_row, self.again_button, self.verdict_again
        scrolling(self, top, self.form, self.buttons(), *state, *found, grows=self.table)
        self.bind(self.form, "recipe")
        self.link(task.a.changed, self.a.refresh)
        self.link(task.b.changed, self.b.refresh)
        self.attach()

    def _zoom(self) -> None:
        for chosen in self.table.selectionModel().selectedRows():
            self.inspection.zoom(chosen.row())

    def _tick(self, item: QTableWidgetItem) -> None:
        if item.column() == 0:
            self.inspection.exclude(item.row(), item.checkState() == Qt.CheckState.Checked)

    def show_result(self) -> None:
        """Show the ranking, the verdict, and that without the excluded curves."""
        task, result = self.inspection, self.inspection.result
        with QSignalBlocker(self.question):
            self.question.setCurrentIndex(self.question.findData(task.question))
        self.message.setText(task.message)
        self.message.setVisible(bool(task.message))
        for part in (self.table, self.score_row):
            part.setVisible(result is not None)
        self.again_button.setVisible(result is not None and len(result.ensembles) == 2)
        self.again_button.setEnabled(not task.busy)
        self.verdict_again.setText("" if task.again is None else f"Without the excluded: {task.again.summary()}")
        if result is not None and result is not self._listed:
            self._listed = result
            listed = f"{len(result.ranking)} of {sum(map(len, result.ensembles))} curves are listed."
            self.verdict.setText(f"{result.sentence}\n\n{listed}" if result.sentence else listed)
            a, *b = scores(result)
            self.colorbar.show_values(SCORE, score_limits(result), a, b[0] if b else np.empty(0), "")
            self._list(result)

    def _list(self, result: Inspection) -> None:
        """One row per curve, the most suspicious first."""
        entries = result.ranking.itertuples()
        self.table.show_rows(
            [("", *map(str, (one.source, one.id, f"{one.score:.2f}", one.reasons))) for one in entries]
        )
        with QSignalBlocker(self.table):
            for row in range(self.table.rowCount()):
                excluded = self.inspection.is_excluded(row)
                self.table.item(row, 0).setCheckState(Qt.CheckState.Checked if excluded else Qt.CheckState.Unchecked)
