"""The dock *Shape space*: explore the learned shape space of a comparison, and explain its difference."""

from pathlib import Path

import numpy as np
from napari.components import ViewerModel
from qtpy.QtCore import QEvent
from qtpy.QtWidgets import QComboBox, QFileDialog

from ...comparison.display import MARK
from ...explanation.shape_paths import ShapePlaces
from ...explanation.swaps import swap_sentences
from ..explaining import same_data
from ..panels.explanation import ExplanationPanel
from ..panels.shape_explorer import ShapeExplorer
from ..panels.widgets import Section, button, column, scrolling, wrapped_label
from ..session import Session
from .base import Dock


class ShapeSpaceDock(Dock):
    """Explorer of the shape space of the viewer's comparison, and the explanation of its difference."""

    def __init__(self, napari_viewer: ViewerModel) -> None:
        task = self.explanation = Session.of(napari_viewer).explanation
        super().__init__(
            napari_viewer,
            task,
            run="Find typical curves, and test components and modes; takes a few seconds",
            run_again="Compare the current choice in Compare shapes",
        )
        self.run_button.setText("&Explain the difference")
        self.status = wrapped_label()
        self.open_compare = button("&Open Compare shapes", "Open the dock that compares two layers")
        self.open_compare.clicked.connect(self.open_compare_dock)
        self.explorer, self.panel = ShapeExplorer(), ExplanationPanel()
        self.panel.mode_chosen.connect(self._show_mode)
        self.panel.curve_chosen.connect(self.explorer.show_curve)
        self.panel.curve_chosen.connect(self._show_typical_curve)
        self.explorer.wants_selected.connect(self._use_selected)
        self.explorer.wants_layer.connect(self.add_layer)
        self.save_report = button(
            "S&ave report …", "Save everything as one HTML page, or as PDF, with figures and text"
        )
        self.save_report.clicked.connect(self._ask_for_report)
        self.control = button(
            "E&xchange form and scale",
            "Compare curves with the form of A and the scale of B, and the reverse, with A and B: only the exchanged "
            "part may differ. Takes about eight comparisons",
        )
        self.control.clicked.connect(task.run_control)
        self.controlled = wrapped_label()
        self.folded_control = Section("Control experiment", column(self.control, self.controlled))
        self.lay_out()
        self.attach()

    def lay_out(self) -> None:
        """Lay out the parts in a column."""
        above = self.reason, self.status, self.stale, self.open_compare, self.explorer
        below = self.step, self.progress, self.save_report, self.panel
        scrolling(self, *above, self.buttons(), *below, self.folded_control, grows=self.explorer)

    def _show_mode(self, mode: int) -> None:
        self.explorer.choose_modes([mode])

    def open_compare_dock(self) -> None:
        self.open_dock("Compare shapes")

    def run_again(self) -> None:
        """Run the comparison again, and show its dock with the progress."""
        self.open_compare_dock()
        self.explanation.comparison.run()

    def show_result(self) -> None:
        task, places = self.explanation, self.explorer.places
        explained_comparison, explanation = task.explained_comparison, task.result
        self.open_compare.setVisible(explained_comparison is None)
        self.stale.button.setEnabled(not (task.comparison.busy or task.comparison.blocking_reason()))
        for part in (self.status, self.explorer, self.run_button, self.panel):
            part.setVisible(explained_comparison is not None)
        self.save_report.setVisible(explanation is not None)
        self.save_report.setEnabled(not task.busy)
        self.folded_control.setVisible(explanation is not None)
        self.control.setEnabled(not task.busy)
        self.controlled.setText("\n".join(swap_sentences(task.swaps)) if task.swaps else "")
        self.controlled.setVisible(bool(task.swaps))
        if explained_comparison is not None:
            self.status.setText(task.message or explained_comparison.summary())
            if places is None or not same_data(places.comparison, explained_comparison):
                self.explorer.set_places(ShapePlaces(explained_comparison))
        shown = self.panel.explanation
        if explanation is None:
            self.panel.clear_explanation()
        elif shown is None or shown.modes is not explanation.modes:
            self.panel.show_explanation(explanation)
            if not self.explorer.moved:  # keep what the user has set
                self.explorer.choose_modes(explanation.modes.visible_first()[:4])
        elif shown is not explanation:
            self.panel.update_sentences(explanation)

    def _show_typical_curve(self, row: int) -> None:
        """Select a typical curve in all views, and move the camera to it."""
        comparison = self.explanation.comparison
        if comparison.result is self.explanation.explained_comparison:
            comparison.selection.select_and_center([row])

    def _use_selected(self, combo: QComboBox) -> None:
        row = self.explanation.selected_row()
        self.explanation.message = "⚠ Select one curve in a curve layer of the comparison first." * (row is None)
        self.show_state()
        if row is not None:
            self.explorer.choose(combo, row)

    def add_layer(self) -> None:
        shown, explained_comparison = self.explorer.shape, self.explanation.explained_comparison
        if shown is None or explained_comparison is None:
            return
        curve, name = shown
        unit = explained_comparison.a.unit
        self.viewer.add_shapes(
            [curve],
            shape_type="polygon",
            name=name,
            face_color="transparent",
            edge_color="yellow",
            edge_width=float(np.ptp(curve) / 80),
            units=(unit, unit) if unit != "pixel" else None,
            metadata={MARK: {"shape": name}},
        )

    def _ask_for_report(self) -> None:
        chosen, _ = QFileDialog.getSaveFileName(self, "Save report", "report.html", "Report (*.html *.pdf)")
        if chosen:
            self.explanation.save_report(Path(chosen))

    def hideEvent(self, event: QEvent | None) -> None:
        self.explorer.stop()
        super().hideEvent(event)


class WhyPage(ShapeSpaceDock):
    """The bench's page *Why*: the sentences first, then the explorer."""

    def lay_out(self) -> None:
        self.explorer.canvas.setMinimumHeight(150)
        self.folded_explorer = Section("Explore the shape space", self.explorer)
        self.stale.button.setToolTip("Compare A and B as they are now")  # no dock of its own here
        self.compare = button("Compare A and B", "Compare the first two groups, and explain what differs")
        self.compare.clicked.connect(self.run_again)
        self.pair = wrapped_label()
        self.link(self.session.design.changed, self.show_result)
        above = self.pair, self.reason, self.compare, self.stale, self.buttons(), self.step, self.progress, self.panel
        scrolling(
            self, *above, self.folded_explorer, self.folded_control, self.save_report, self.open_compare, self.status
        )

    def show_result(self) -> None:
        """Show the explanation, which is computed without a request, and offer Compare if there is none to explain."""
        super().show_result()
        task = self.explanation
        self.pair.setText(self.session.design.pair_in_words())
        self.pair.setVisible(bool(self.pair.text()))
        self.folded_explorer.setVisible(task.explained_comparison is not None)
        self.explorer.setVisible(self.folded_explorer.unfolded)
        self.open_compare.hide()
        self.compare.setVisible(task.explained_comparison is None)
        self.compare.setEnabled(self.stale.button.isEnabled())
        self.status.setVisible(bool(task.message))
        self.run_button.setVisible(task.explained_comparison is not None and task.result is None and not task.busy)

    def run_again(self) -> None:
        """Run the comparison again; the heading shows its progress."""
        self.explanation.comparison.run()
