"""The dock *Shape space*: explore what a comparison learned, and why its images differ."""

from pathlib import Path

import numpy as np
from napari.components import ViewerModel
from napari.layers import Shapes
from qtpy.QtCore import QEvent
from qtpy.QtWidgets import QComboBox, QFileDialog, QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from ..comparison import Comparison
from ..curves import Ensemble
from ..explanations import Explanation
from .compare_dock import CompareShapes
from .explanation_panel import ExplanationPanel
from .shape_explorer import ShapeExplorer
from .shape_path import ShapePlaces
from .tasks import explaining, saving_report
from .widgets import ScrollColumn, is_closed, keeping_focus, once, run_keys, wrapped
from .worker import Failure, Progress, Runner

_NONE = (
    "There is no comparison yet. Open the dock Compare shapes, choose two layers and press Run; "
    "its result appears here."
)
_PLUGIN, _COMPARE = "napari-shape-ensembles", "Compare shapes"
_MARK = "napari-shape-ensembles"


class ShapeSpace(QWidget):
    """Explores the shape space of the comparison made in the same viewer.

    Parameters
    ----------
    napari_viewer : ViewerModel
        The viewer whose dock *Compare shapes* is followed.
    """

    def __init__(self, napari_viewer: ViewerModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._viewer = napari_viewer
        self._followed: list[CompareShapes] = []
        self._following = False
        self.comparison: Comparison | None = None
        self.runner = Runner(self)
        self._looking = once(self, self.look_for_comparison)
        self._closing = once(self, self._stop_if_closed)
        self._make_controls()
        self._lay_out()
        self._connect()
        self.look_for_comparison()

    def _make_controls(self) -> None:
        self.status = wrapped(_NONE)
        self.open_compare = QPushButton("&Open Compare shapes")
        self.open_compare.setToolTip("Open the dock that compares two layers")
        self.explorer = ShapeExplorer()
        self.explain_button = QPushButton("&Explain the difference")
        self.explain_button.setToolTip(
            "Find typical curves, and test components and modes; takes a few seconds (Enter)"
        )
        self.cancel_button = QPushButton("&Cancel")
        self.cancel_button.setToolTip("Stop explaining, or saving (Esc)")
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
        self.panel = ExplanationPanel()
        self.save_report = QPushButton("&Save report …")
        self.save_report.setToolTip("Save everything as one HTML page, or as PDF, with figures and sentences")

    def _lay_out(self) -> None:
        buttons = QHBoxLayout()
        for button in (self.cancel_button, self.save_report):
            buttons.addWidget(button)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(6, 6, 6, 6)
        column.addWidget(self.status)
        column.addWidget(self.open_compare)
        column.addWidget(self.explorer, 1)
        column.addWidget(self.explain_button)
        column.addLayout(buttons)
        column.addWidget(self.progress)
        column.addWidget(self.panel)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(ScrollColumn(page))
        self._show_state()

    def _connect(self) -> None:
        self.open_compare.clicked.connect(self._open_compare)
        self.explain_button.clicked.connect(self.explain)
        self.cancel_button.clicked.connect(self.cancel)
        run_keys(self, self.explain, self.cancel)
        self.save_report.clicked.connect(self._ask_for_report)
        self.runner.progressed.connect(self._show_progress)
        self.runner.ended.connect(self._end)
        self.panel.mode_chosen.connect(lambda mode: self.explorer.choose_modes([mode]))
        self.panel.curve_chosen.connect(self.explorer.show_curve)
        self.explorer.wants_selected.connect(self._take_selected)
        self.explorer.wants_layer.connect(self.add_layer)

    def look_for_comparison(self) -> None:
        """Follow the docks *Compare shapes* of this viewer, and take the result that is there."""
        window = getattr(self._viewer, "window", None)
        docks = [dock for dock in window.dock_widgets.values() if isinstance(dock, CompareShapes)] if window else []
        for dock in docks:
            if dock not in self._followed:
                self._followed.append(dock)
                dock.finished.connect(lambda dock=dock: self._take_result(dock))
        for dock in docks:
            if dock.result is not None and self.comparison is None:
                self.set_comparison(dock.result)

    def _take_result(self, dock: CompareShapes) -> None:
        if dock.result is not None and dock.result is not self.comparison:
            self.set_comparison(dock.result)

    def set_comparison(self, comparison: Comparison) -> None:
        """Explore another comparison; an explanation of the one before is dropped."""
        self.cancel()
        self.comparison = comparison
        self.explorer.set_places(ShapePlaces(comparison))
        self.panel.clear_explanation()
        self._show_state()

    def _show_state(self, words: str = "") -> None:
        has, busy = self.comparison is not None, self.runner.busy
        self.status.setText(words or (self.comparison.summary() if self.comparison else _NONE))
        self.open_compare.setVisible(not has)
        for part in (self.explorer, self.explain_button, self.panel):
            part.setVisible(has)
        with keeping_focus(self, self.cancel_button if busy else self.explain_button):
            for button in (self.explain_button, self.save_report):
                button.setEnabled(not busy)
            for part in (self.cancel_button, self.progress):
                part.setVisible(busy)
        self.save_report.setVisible(self.panel.explanation is not None)

    def _open_compare(self) -> None:
        window = getattr(self._viewer, "window", None)
        if window is not None:
            window.add_plugin_dock_widget(_PLUGIN, _COMPARE)
        self.look_for_comparison()

    def explain(self) -> None:
        """Explain the comparison in the background."""
        if self.comparison is not None and not self.runner.busy:
            self.runner.start(explaining(self.comparison))
            self._show_state()

    def cancel(self) -> None:
        """Stop explaining."""
        if self.runner.busy:
            self.runner.cancel()
            self._show_state("Cancelled.")

    def _show_progress(self, progress: Progress) -> None:
        self.progress.setRange(0, progress.total)
        self.progress.setValue(progress.done)
        self.status.setText(f"{progress.name[0].upper()}{progress.name[1:]} …")

    def _end(self, outcome: Explanation | Path | Failure) -> None:
        if isinstance(outcome, Failure):
            self._show_state(f"⚠ {outcome.reason}")
        elif isinstance(outcome, Path):
            self._show_state(f"Report saved: {outcome.name}")
        else:
            self.panel.show_explanation(outcome)
            self.explorer.choose_modes(outcome.modes.order()[:4].tolist())
            self._show_state()

    def _take_selected(self, combo: QComboBox) -> None:
        row = self.selected_row()
        if row is None:
            self._show_state("⚠ Select one curve in a curve layer of the comparison first.")
        else:
            self._show_state()
            self.explorer.choose(combo, row)

    def selected_row(self) -> int | None:
        """Row, among the pooled ones, of the one curve that is selected in the viewer; None where there is none."""
        layer = self._viewer.layers.selection.active
        if self.comparison is None or not isinstance(layer, Shapes) or len(layer.selected_data) != 1:
            return None
        if _MARK not in layer.metadata or not {"id", "source"} <= set(layer.features):
            return None
        features = layer.features.iloc[next(iter(layer.selected_data))]
        for name, ensemble, before in self._sides(layer):
            found = np.flatnonzero(ensemble.ids == features["id"])
            if name and len(found):
                return before + int(found[0])
        return None

    def _sides(self, layer: Shapes) -> list[tuple[bool, Ensemble, int]]:
        assert self.comparison is not None
        a, b = self.comparison.a, self.comparison.b
        known = layer.metadata[_MARK]
        side = known.get("source") if isinstance(known, dict) else None
        source = layer.features["source"].iloc[0]
        return [
            (side == "A" if side else source == a.name, a, 0),
            (side == "B" if side else source == b.name, b, len(a)),
        ]

    def add_layer(self) -> None:
        """Add the outline shown to the viewer."""
        shown = self.explorer.shape()
        if shown is None or self.comparison is None:
            return
        curve, name = shown
        unit = self.comparison.a.unit
        self._viewer.add_shapes(
            [curve],
            shape_type="polygon",
            name=name,
            face_color="transparent",
            edge_color="yellow",
            edge_width=float(np.ptp(curve) / 80),
            units=(unit, unit) if unit != "pixel" else None,
            metadata={_MARK: {"shape": name}},
        )

    def _ask_for_report(self) -> None:
        chosen, _ = QFileDialog.getSaveFileName(self, "Save report", "report.html", "Report (*.html *.pdf)")
        if chosen:
            self.write_report(Path(chosen))

    def write_report(self, path: Path) -> None:
        """Save the report in the background; say where, or why not."""
        if self.panel.explanation is not None and not self.runner.busy:
            self.runner.start(saving_report(self.panel.explanation, path))
            self._show_state()

    def showEvent(self, event: QEvent | None) -> None:  # noqa: N802 - Qt's name
        """Follow the viewer, and look for a comparison again."""
        super().showEvent(event)
        if not self._following:
            self._viewer.layers.events.inserted.connect(self._look_later)
            self._following = True
        self.look_for_comparison()

    def hideEvent(self, event: QEvent | None) -> None:  # noqa: N802 - Qt's name
        """Closing the dock only hides it: stop then, but not for another tab or a minimised window."""
        super().hideEvent(event)
        self.explorer.stop()
        self._closing.start()

    def _stop_if_closed(self) -> None:
        if is_closed(self):
            self.cancel()
            if self._following:
                self._viewer.layers.events.inserted.disconnect(self._look_later)
                self._following = False

    def _look_later(self) -> None:
        """A dock may have been opened since: its layers come before its result is announced."""
        self._looking.start()
