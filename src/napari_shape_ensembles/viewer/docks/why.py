"""The page *Why* of the bench: what a difference consists of, and the learned shape space."""

import numpy as np
from napari.components import ViewerModel
from qtpy.QtCore import QEvent
from qtpy.QtWidgets import QComboBox

from ...comparison.display import MARK
from ...explanation.shape_paths import ShapePlaces
from ...explanation.swaps import swap_sentences
from ..dialogs import REPORTS, ask_save_path
from ..explaining import same_data
from ..panels.explanation import ExplanationPanel
from ..panels.shape_explorer import ShapeExplorer
from ..panels.widgets import Section, WrappedLabel, button, column, scrolling
from ..session import Session
from .base import PairChoice, TaskPage


class WhyPage(TaskPage):
    """The explanation of the comparison's difference, in sentences and pictures, and an explorer of its shape space."""

    def __init__(self, napari_viewer: ViewerModel) -> None:
        task = self.explanation = Session.of(napari_viewer).explanation
        super().__init__(
            napari_viewer,
            task,
            "&Explain the difference",
            run="Find typical curves, and test components and modes; takes a few seconds",
            run_again="Compare the groups as they are now",
        )
        self.status = WrappedLabel()
        self.compare = button("Compare the groups", "Compare the first two groups, and explain what differs")
        self.compare.clicked.connect(self.run_again)
        self.pair = PairChoice(self)
        self.explorer, self.panel = ShapeExplorer(), ExplanationPanel()
        self.panel.mode_chosen.connect(self._show_mode)
        self.panel.curve_chosen.connect(self._show_typical_curve)
        self.explorer.wants_selected.connect(self._use_selected)
        self.explorer.wants_layer.connect(self.add_layer)
        self.save_report = button(
            "S&ave report …", "Save everything as one HTML page, or as PDF, with figures and text"
        )
        self.save_report.clicked.connect(self._ask_for_report)
        self.control = button(
            "E&xchange form and scale",
            "Compare curves with the form of one group and the scale of the other, and the reverse, with both groups: "
            "only the exchanged part may differ. Takes about eight comparisons",
        )
        self.control.clicked.connect(task.run_control)
        self.controlled = WrappedLabel()
        self.folded_control = Section("Control experiment", column(self.control, self.controlled))
        self.explorer.canvas.setMinimumHeight(150)
        self.folded_explorer = Section("Explore the shape space", self.explorer)
        self.folded_explorer.toggled.connect(self._fill_unfolded)
        self._modes: object = None  # which the explorer shows
        self._swaps: object = None  # whose sentences are shown
        self.findings = *self.panel.pages, self.explorer, self.controlled
        above = self.pair, self.reason, self.compare, self.stale, self.buttons(), self.step, self.progress, self.panel
        parts = *above, self.folded_explorer, self.folded_control, self.save_report, self.status
        self.scroll = scrolling(self, *parts)
        self.attach()

    def _show_mode(self, mode: int) -> None:
        self._fill_explorer()
        self.explorer.choose_modes([mode])

    def _fill_unfolded(self) -> None:
        """Show the shape space in the explorer; while folded, this would only delay the page."""
        if self.folded_explorer.unfolded:
            self._fill_explorer()

    def _fill_explorer(self) -> None:
        task, places = self.explanation, self.explorer.places
        compared, explained = task.explained_comparison, task.result
        if compared is not None and (places is None or not same_data(places.comparison, compared)):
            self.explorer.set_places(ShapePlaces(compared))
        if explained is not None and explained.modes is not self._modes:
            self._modes = explained.modes
            if not self.explorer.moved:  # keep what the user has set
                self.explorer.choose_modes(explained.modes.visible_first()[:4])

    def run_again(self) -> None:
        """Compare again; the heading shows the progress."""
        self.explanation.comparison.run()

    def show_result(self) -> None:
        task = self.explanation
        explained_comparison, explanation = task.explained_comparison, task.result
        compared = explained_comparison is not None
        self.compare.setVisible(not compared)
        self.stale.button.setEnabled(not (task.comparison.busy or task.comparison.blocking_reason()))
        self.compare.setEnabled(self.stale.button.isEnabled())
        self.folded_explorer.setVisible(compared)
        self.run_button.setVisible(compared and explanation is None and not task.busy)
        self.status.show_text(task.message)
        self.save_report.setVisible(explanation is not None)
        self.save_report.setEnabled(not task.busy)
        self.folded_control.setVisible(explanation is not None)
        self.control.setEnabled(not task.busy)
        swapped = swap_sentences(task.swaps, explanation.comparison.names) if explanation and task.swaps else ()
        if swapped and task.swaps is not self._swaps:  # below the fold
            self.scroll.scroll_to(self.controlled)
        self._swaps = task.swaps
        self.controlled.show_text("\n".join(swapped))
        self._fill_unfolded()
        self.panel.show_explanation(explanation)

    def _show_typical_curve(self, row: int) -> None:
        """Select a typical curve in all views and in the explorer, and move the camera to it."""
        self._fill_explorer()
        self.explorer.show_curve(row)
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
        if (path := ask_save_path(self, "Save report", "report.html", REPORTS)) is not None:
            self.explanation.save_report(path)

    def hideEvent(self, event: QEvent | None) -> None:
        self.explorer.stop()
        super().hideEvent(event)
