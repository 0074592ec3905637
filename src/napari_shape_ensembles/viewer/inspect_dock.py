"""The dock *Inspect curves*: which outlines deserve a second look, and what the answer is without them."""

from functools import partial
from typing import Any

import numpy as np
from napari.components import ViewerModel
from napari.layers import Shapes
from qtpy.QtCore import Qt
from qtpy.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QProgressBar,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from ..comparison import Comparison, Settings, compare
from ..inspection import Inspection, disagreement, inspect_curves
from ..outlines import Outlines, segment
from ..progress import Progress, report
from .colorbar import ColorBar
from .fonts import with_label_font
from .inputs import ACCEPTED, SegmentationSettings, Source, source_of, trace
from .inspect_layers import SCORE, exclude, excluded_of, inspected_layers, score_limits
from .layer_choice import LayerChoice
from .layers import OwnLayers, is_own
from .result_dock import ResultDock
from .staleness import Basis, basis
from .ticks import with_clear_boxes
from .widgets import NarrowList, ScrollColumn, form, keeping_focus, run_keys, tip, wrapped
from .worker import Failure

_SUSPICIOUS, _TWO = "suspicious", "two"
_QUESTIONS = {
    _SUSPICIOUS: "Which curves are suspicious?",
    _TWO: "Do two segmentations agree?",
}
_COLUMNS = ("exclude", "of", "id", "score", "why")
# A curve is shown with this many times its size around it.
_AROUND = 3.0


class InspectCurves(ResultDock):
    """Rank the curves of one or two layers, zoom to them, exclude some, and compare again without.

    Parameters
    ----------
    napari_viewer : ViewerModel
    """

    def __init__(self, napari_viewer: ViewerModel, parent: QWidget | None = None) -> None:
        super().__init__(napari_viewer, "Inspect the layers that are chosen, as they are now", parent)
        self._layers: list[Shapes] = []
        self._own = OwnLayers(napari_viewer)
        self._next: Basis | None = None
        self.result: Inspection | None = None
        self.again: Comparison | None = None
        self._make_controls()
        self._lay_out()
        self._connect()
        self.follow()

    def _make_controls(self) -> None:
        self.question = NarrowList()
        for value, words in _QUESTIONS.items():
            self.question.addItem(words, value)
        self.question.setToolTip("Single curves with a fault or far from the others; or two label layers of one image.")
        self.a = LayerChoice(self.viewer, _offered, "Image, labels or shapes to inspect.")
        self.b = LayerChoice(
            self.viewer, _offered, "A second layer to compare with the first; none is fine.", nothing="– none –"
        )
        self.border = QCheckBox("Keep border objects")
        self.border.setToolTip("Also inspect objects cut by the image border; default off, as in a comparison.")
        self.inspect_button = QPushButton("&Inspect")
        self.inspect_button.setToolTip("Trace the curves, compare them and rank them (Enter)")
        self.cancel_button = QPushButton("Cancel")
        self.cancel_button.setToolTip("Stop; layers and results stay as they are (Esc)")
        self.reason, self.verdict, self.verdict_again = wrapped(), wrapped(), wrapped()
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
        self.table = _table()
        self.colorbar = ColorBar()
        self.colorbar.setToolTip("Score by which the curves are filled; the larger, the more suspicious.")
        self.again_button = QPushButton("Compare without the &excluded")
        self.again_button.setToolTip("Compare both layers again, without the curves that are ticked")

    def _lay_out(self) -> None:
        top = form()
        for label, control in (("Question", self.question), ("A", self.a), ("B", self.b)):
            top.addRow(label, control)
        top.addRow("", self.border)
        buttons = QHBoxLayout()
        buttons.addWidget(self.inspect_button, 1)
        buttons.addWidget(self.cancel_button)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(6, 6, 6, 6)
        column.addLayout(top)
        column.addLayout(buttons)
        for part in (self.reason, self.progress, self.stale, self.verdict, self.table):
            column.addWidget(part, int(part is self.table))
        self.score_row = QWidget()
        score = QVBoxLayout(self.score_row)
        score.setContentsMargins(0, 0, 0, 0)
        score.addWidget(QLabel("Curves filled by score"))
        score.addWidget(self.colorbar)
        for part in (self.score_row, self.again_button, self.verdict_again):
            column.addWidget(part)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(ScrollColumn(page))
        self._show_result()
        self._show_idle()

    def _connect(self) -> None:
        for combo in (self.a, self.b):
            combo.chosen_changed.connect(self._choose)
        self.question.currentIndexChanged.connect(self._choose)
        self.border.toggled.connect(self._choose)
        self.inspect_button.clicked.connect(self.inspect)
        self.stale.again.clicked.connect(self.inspect)
        self.cancel_button.clicked.connect(self.cancel)
        run_keys(self, self.inspect, self.cancel)
        self.again_button.clicked.connect(self.compare_again)
        self.table.itemChanged.connect(self._toggle)
        self.table.currentCellChanged.connect(lambda row, *_: self._zoom(row))
        self.table.cellClicked.connect(lambda row, _: self._zoom(row))
        self.runner.progressed.connect(self._show_progress)
        self.runner.ended.connect(self._end)

    def _choose(self) -> None:
        self._show_idle()
        self.show_staleness()

    def now(self) -> Basis | None:
        """What an inspection of what is chosen now would rest on."""
        a, b = self.a.chosen(), self.b.chosen()
        if a is None:
            return None
        sides = (a,), () if b is None else (b,)
        tracing = SegmentationSettings(keep_border=self.border.isChecked())
        return basis(self.viewer, sides, tracing, Settings(), more={"the question": self.question.currentData()})

    def why_not(self) -> str:
        """Why nothing can be inspected; empty when it can."""
        a, b = self.a.chosen(), self.b.chosen()
        if a is None:
            return "Open an image, labels or shapes to inspect."
        if b is not None and a == b:
            return "Choose two different layers, or none for B."
        if self.question.currentData() == _TWO and (b is None or isinstance(a, Shapes) or isinstance(b, Shapes)):
            return "Choose two labels layers (or images) of the same scene."
        return ""

    def inspect(self) -> None:
        """Copy what the layers show, and rank their curves in the background."""
        if self.runner.busy or self.why_not():
            return
        layers = [layer for layer in (self.a.chosen(), self.b.chosen()) if layer is not None]
        try:
            sources = tuple(source_of(layer, self.viewer.dims) for layer in layers)
            self._next = self.now()
        except ValueError as error:
            self._end(Failure(str(error)))
            return
        inspect = _inspection if self.question.currentData() == _SUSPICIOUS else _disagreement
        self.runner.start(partial(inspect, sources, self.border.isChecked()))
        self._show_progress(Progress("starting"))

    def compare_again(self) -> None:
        """Compare the two ensembles without the curves that are marked as excluded."""
        if self.runner.busy or self.result is None or len(self._layers) != 2:
            return
        a, b = self.result.without(tuple(excluded_of(layer) for layer in self._layers))
        self.runner.start(partial(compare, a, b, Settings()))
        self._show_progress(Progress("comparing again"))

    def cancel(self) -> None:
        """Stop what is under way; layers on their way into the viewer still come."""
        if self.runner.busy and not self.runner.finish_turns():
            self.runner.cancel()
            self._show_idle()
            self.reason.setText("Cancelled.")
            self.reason.setVisible(True)
            self.show_staleness()
            self.finished.emit()

    def _show_progress(self, step: Progress) -> None:
        with keeping_focus(self, self.cancel_button):
            self.stale.hide()
            for part in (self.cancel_button, self.progress, self.reason):
                part.setVisible(True)
            self.inspect_button.setEnabled(False)
            self.again_button.setEnabled(False)
        self.progress.setRange(0, 0)
        self.reason.setText(f"{step.name[0].upper()}{step.name[1:]} …")

    def _show_idle(self) -> None:
        if self.runner.busy:
            return
        reason = self.why_not()
        self.reason.setText(reason)
        self.reason.setVisible(bool(reason))
        with keeping_focus(self, self.inspect_button):
            self.inspect_button.setEnabled(not reason)
            self.again_button.setEnabled(self.result is not None)
            self.cancel_button.setVisible(False)
            self.progress.setVisible(False)

    def _end(self, outcome: "tuple[Inspection, list[Shapes]] | Comparison | Failure") -> None:
        self._show_idle()
        if isinstance(outcome, Failure):
            self.reason.setText(f"⚠ {outcome.reason}")
            self.reason.setVisible(True)
        elif isinstance(outcome, Comparison):
            self.again = outcome
            self.verdict_again.setText(f"Without the excluded: {outcome.summary()}")
        else:
            self._show_inspection(*outcome)
            return
        self.show_staleness()
        self.finished.emit()

    def _show_inspection(self, result: Inspection, layers: list[Shapes]) -> None:
        """Put the curves into the viewer, one layer after another, in place of those of the inspection before."""
        self.runner.in_turns([*self._own.replacing(layers), partial(self._conclude, result, layers)])

    def _conclude(self, result: Inspection, layers: list[Shapes]) -> None:
        self.result, self.basis, self._layers, self.again = result, self._next, layers, None
        self.verdict_again.setText("")
        self._show_result()
        self._show_idle()
        self.watch_result()
        self.finished.emit()

    def _show_result(self) -> None:
        result = self.result
        for part in (self.table, self.score_row):
            part.setVisible(result is not None)
        self.again_button.setVisible(result is not None and len(result.ensembles) == 2)
        if result is None:
            return
        count = sum(len(ensemble) for ensemble in result.ensembles)
        listed = f"{len(result.ranking)} of {count} curves are listed."
        self.verdict.setText(f"{result.sentence}\n\n{listed}" if result.sentence else listed)
        scores = [layer.features["score"].to_numpy(dtype=float) for layer in self._layers]
        self.colorbar.show_values(SCORE, score_limits(result), scores[0], scores[1] if scores[1:] else np.empty(0), "")
        _fill(self.table, result)

    def _row(self, row: int) -> tuple[Shapes, int] | None:
        """Layer and place of the curve in a row of the table, as long as its layer is there."""
        if self.result is None or not 0 <= row < len(self.result.ranking):
            return None
        entry = self.result.ranking.iloc[row]
        layer = self._layers["AB".index(entry["source"])]
        return (layer, int(entry["index"])) if layer in self.viewer.layers else None

    def _toggle(self, item: QTableWidgetItem) -> None:
        place = self._row(item.row())
        if item.column() == 0 and place is not None:
            exclude(*place, item.checkState() == Qt.CheckState.Checked)
            self.verdict_again.setText("")

    def _zoom(self, row: int) -> None:
        """Bring one curve into view, and select it."""
        place = self._row(row)
        if place is None:
            return
        layer, index = place
        world = np.array([layer.data_to_world(point) for point in layer.data[index]])[:, -2:]
        self.viewer.reset_view()
        whole = np.ptp(np.asarray(self.viewer.layers.extent.world)[:, -2:], axis=0)
        size = np.maximum(np.ptp(world, axis=0), 1e-9)
        camera = getattr(self.viewer, "scene", self.viewer).camera  # in the scene since napari 0.9
        camera.center = (0.0, *((world.min(axis=0) + world.max(axis=0)) / 2))
        camera.zoom *= max(float((whole / (_AROUND * size)).min()), 1.0)
        self.viewer.layers.selection.active = layer
        layer.selected_data = {index}

    def can_run(self) -> bool:
        """Whether all that an inspection needs is chosen."""
        return not self.why_not()

    def follow(self) -> None:
        """Keep in step with the layer list from now on."""
        self.a.follow()
        self.b.follow()

    def rest(self) -> None:
        """Stop following."""
        self.a.rest()
        self.b.rest()


def _offered(layer: Any) -> bool:
    return isinstance(layer, ACCEPTED) and not is_own(layer)


def _inspection(sources: tuple[Source, ...], border: bool) -> tuple[Inspection, list[Shapes]]:
    ensembles = tuple(trace(source, SegmentationSettings(keep_border=border)) for source in sources)
    pixels = tuple(float(np.sqrt(np.prod(source.scale))) for source in sources)
    result = inspect_curves(ensembles, pixels=pixels, frames=tuple(map(_frame, sources)))
    return result, inspected_layers(result, sources)


def _frame(source: Source) -> Any:
    """First and last corner of the image in its unit; none for shapes."""
    if source.kind == "shapes":
        return None
    return (np.array([[0, 0], source.data.shape[:2]]) - 0.5) * source.scale


def _disagreement(sources: tuple[Source, ...], border: bool) -> tuple[Inspection, list[Shapes]]:
    report("segmenting")
    labels = [segment(source.data) if source.kind == "image" else source.data for source in sources]
    one = sources[0]
    result = disagreement(
        (labels[0], labels[1]), outlines=Outlines(keep_border=border), scale=tuple(one.scale), unit=one.unit
    )
    return result, inspected_layers(result, sources)


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


def _fill(table: QTableWidget, result: Inspection) -> None:
    """One row per curve, the most suspicious first."""
    was_blocked = table.blockSignals(True)
    table.setRowCount(len(result.ranking))
    for row, entry in enumerate(result.ranking.itertuples()):
        for column, item in enumerate(_items(entry)):
            table.setItem(row, column, item)
    table.blockSignals(was_blocked)


def _items(entry: Any) -> list[QTableWidgetItem]:
    tick = QTableWidgetItem()
    tick.setFlags(Qt.ItemFlag.ItemIsUserCheckable | Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
    tick.setCheckState(Qt.CheckState.Unchecked)
    texts = [QTableWidgetItem(text) for text in (entry.source, str(entry.id), f"{entry.score:.2f}", entry.reasons)]
    for item in texts:
        item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
        item.setToolTip(tip(item.text()))
    return [tick, *texts]
