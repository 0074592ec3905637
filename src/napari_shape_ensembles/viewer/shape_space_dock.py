"""The dock *Shape space*: explore what a comparison learned, and why its images differ."""

import weakref
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from napari.components import ViewerModel
from napari.layers import Layer, Shapes
from qtpy.compat import isalive
from qtpy.QtCore import QEvent
from qtpy.QtWidgets import QComboBox, QFileDialog, QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from ..comparison import Comparison
from ..explanation import Explanation
from ..outlines import Ensemble
from ..progress import Progress
from .compare_dock import CompareShapes
from .explanation_panel import ExplanationPanel
from .shape_explorer import ShapeExplorer
from .shape_path import ShapePlaces
from .stale_banner import StaleBanner
from .staleness import Watch
from .tasks import explaining, saving_report
from .widgets import ScrollColumn, is_closed, keeping_focus, once, run_keys, wrapped
from .worker import Failure, Runner

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
        self._origin: CompareShapes | None = None
        self.watch = Watch(napari_viewer, self)
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
        self.stale = StaleBanner("Compare what is chosen now in Compare shapes")
        self.explorer = ShapeExplorer()
        self.explain_button = QPushButton("&Explain the difference")
        self.explain_button.setToolTip(
            "Find typical curves, and test components and modes; takes a few seconds (Enter)"
        )
        self.cancel_button = QPushButton("Cancel")
        self.cancel_button.setToolTip("Stop explaining, or saving (Esc)")
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
        self.panel = ExplanationPanel()
        self.save_report = QPushButton("S&ave report …")
        self.save_report.setToolTip("Save everything as one HTML page, or as PDF, with figures and sentences")

    def _lay_out(self) -> None:
        buttons = QHBoxLayout()
        for button in (self.cancel_button, self.save_report):
            buttons.addWidget(button)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(6, 6, 6, 6)
        for part in (self.status, self.stale, self.open_compare):
            column.addWidget(part)
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
        self.stale.again.clicked.connect(self._run_again)
        self.watch.told.connect(self.show_staleness)
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
                dock.stale.told.connect(self.show_staleness)
        for dock in docks:
            if self.comparison is None:
                self._take_result(dock)
        self.show_staleness()

    def _take_result(self, dock: CompareShapes) -> None:
        if dock.result is not None and dock.result is not self.comparison:
            self._origin = dock
            self.set_comparison(dock.result)
            self._watch_layers()
        self.show_staleness()

    def _watch_layers(self) -> None:
        """Listen to the layers of the comparison, for the dock that made it may be closed."""
        refs = self._refs() if self._following else []
        self.watch.follow(layer for ref in refs if (layer := ref()) is not None)

    def _refs(self) -> "list[weakref.ref[Layer]]":
        basis = None if self._origin is None else self._origin.basis
        return [] if basis is None else [ref for side in basis.layers for ref in side]

    def changed_since(self) -> list[str]:
        """What has changed since the comparison was made, in words."""
        dock = self._origin
        if dock is None or not isalive(dock):
            return []
        if dock.result is not self.comparison:
            return ["the run after it has failed"]
        deleted = any(ref() not in self._viewer.layers for ref in self._refs())
        return dock.changed_since() or (["a layer was deleted"] if deleted else [])

    def show_staleness(self) -> None:
        """Say whether the comparison still holds; not while it is made anew."""
        dock = self._origin
        if dock is not None and isalive(dock) and not dock.runner.busy:
            with keeping_focus(self, self.explain_button):
                self.stale.show_changes(self.changed_since(), can_run=dock.run_button.isEnabled())

    def _run_again(self) -> None:
        if self._origin is not None:
            if is_closed(self._origin):
                self._open_compare()
            self._origin.run()

    def set_comparison(self, comparison: Comparison) -> None:
        """Explore another comparison; an explanation is dropped unless it explains the same data."""
        before, self.comparison = self.comparison, comparison
        if before is not None and _same_data(before, comparison):
            self.panel.judge_anew(comparison)
            self._show_state()
            return
        self.cancel()
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
            self.runner.start(partial(explaining, self.comparison))
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
            assert self.comparison is not None
            self.panel.show_explanation(replace(outcome, comparison=self.comparison))
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
            self.runner.start(partial(saving_report, self.panel.explanation, path))
            self._show_state()

    def showEvent(self, event: QEvent | None) -> None:  # noqa: N802 - Qt's name
        """Follow the viewer, and look for a comparison again."""
        super().showEvent(event)
        if not self._following:
            for event in self._events():
                event.connect(self._look_later)
            self._following = True
            self._watch_layers()
        self.look_for_comparison()

    def hideEvent(self, event: QEvent | None) -> None:  # noqa: N802 - Qt's name
        """Closing the dock only hides it: stop then, but not for another tab or a minimised window."""
        super().hideEvent(event)
        self.explorer.stop()
        self._closing.start()

    def _stop_if_closed(self) -> None:
        if is_closed(self):
            self.cancel()
            self.watch.rest()
            if self._following:
                for event in self._events():
                    event.disconnect(self._look_later)
                self._following = False

    def _events(self) -> tuple[Any, ...]:
        return self._viewer.layers.events.inserted, self._viewer.layers.events.removed

    def _look_later(self) -> None:
        """A dock may have been opened since: its layers come before its result is announced."""
        self._looking.start()


def _same_data(one: Comparison, other: Comparison) -> bool:
    """Whether two comparisons have curves, settings and coordinates in common, whatever else is known of them."""
    return all(getattr(one, name) is getattr(other, name) for name in ("a", "b", "settings", "space", "t", "l"))
