"""The dock *Compare shapes*: two samples in, painted curves and a row of the truth table out."""

import itertools
import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from napari.components import ViewerModel
from napari.layers import Layer
from qtpy.QtCore import QEvent, Signal
from qtpy.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from ..comparison import INCONCLUSIVE, Comparison
from ..progress import Progress
from .copies import Copies
from .curve_views import CurveViews, SideBySide
from .exclusion_row import ExclusionRow
from .exclusions import ExclusionActions, Exclusions
from .file_actions import FileActions
from .help import HelpWindow
from .kept_row import KeptRow
from .layer_sides import LayerSides
from .layers import OwnLayers
from .opened_results import OpenedResults
from .painting import Painting
from .results import ResultsPanel
from .settings_form import SettingsForm
from .sides import LayersOfSides, Sources, refs_of
from .stale_banner import StaleBanner
from .staleness import Basis, Watch, basis, changes
from .tasks import Opened
from .views import Shown
from .widgets import ScrollColumn, is_closed, keeping_focus, once, run_keys, wrapped
from .worker import Failure, Outcome, Runner, Turn, Work, run


class CompareShapes(QWidget):
    """Compare the outlines in two layers, or in several images each.

    Parameters
    ----------
    napari_viewer : ViewerModel
        The viewer whose layers are compared.

    Signals
    -------
    finished
        A run has ended: with a result (`result` is set), an error, or by being cancelled.
    """

    finished = Signal()

    def __init__(self, napari_viewer: ViewerModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._viewer = napari_viewer
        self._next: tuple[Basis, Sources] | None = None
        self._looked_at: list[set[weakref.ref[Layer]]] = []
        self._then: Callable[[Any], list[Turn] | None] | None = None
        self._help: HelpWindow | None = None
        self.shown: Shown | None = None
        self.unsaved = self._unseen = False
        self.curves = OwnLayers(napari_viewer)
        self.views = CurveViews(napari_viewer, self.curves, self)
        self.exclusions = Exclusions()
        self._side_by_side = SideBySide(napari_viewer, self)
        self.runner = Runner(self)
        self.watch = Watch(napari_viewer, self)
        self._make_controls()
        self._lay_out()
        self._connect()
        self.file_actions = FileActions(self)
        self.excluding = ExclusionActions(self)
        self.opened = OpenedResults(self, self._viewer)
        self.sides.follow()

    def _make_controls(self) -> None:
        self.sides = LayerSides(self._viewer)
        self.settings = SettingsForm()
        self.run_button = QPushButton("&Run")
        self.run_button.setToolTip("Segment, trace and compare A and B (Enter)")
        self.cancel_button = QPushButton("Cancel")
        self.cancel_button.setToolTip("Stop the comparison; layers and results stay as they are (Esc)")
        self.files = QPushButton("Ope&n …")
        self.files.setStyleSheet("padding: 3px 18px 3px 6px;")  # room for the sign of a menu
        self.files.setToolTip("Open a saved comparison; load or save the settings")
        self.reason = wrapped()
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
        self.step = wrapped()
        self.stale = StaleBanner()
        self.results = ResultsPanel()
        self.excluded = ExclusionRow()
        self.kept = KeptRow()
        self.painting = Painting(self.curves)
        self._closing = once(self, self._stop_if_closed)
        self._noting = once(self, self._bring_note_into_view)
        self._arriving = once(self, self._bring_answer_into_view)

    def _lay_out(self) -> None:
        buttons = QHBoxLayout()
        buttons.addWidget(self.run_button, 1)
        buttons.addWidget(self.cancel_button)
        buttons.addWidget(self.files)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(6, 6, 6, 6)
        for part in (self.sides, self.settings):
            column.addWidget(part)
        column.addLayout(buttons)
        for part in (
            self.reason,
            self.step,
            self.progress,
            self.stale,
            self.kept,
            self.excluded,
            self.results,
            self.painting,
        ):
            column.addWidget(part)
        column.addStretch(1)
        self._scroll = ScrollColumn(page)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._scroll)
        self.painting.hide()
        self._show_idle()

    def _connect(self) -> None:
        self.sides.changed.connect(self._inputs_changed)
        self.settings.changed.connect(self.show_staleness)
        self.watch.told.connect(self.show_staleness)
        self.run_button.clicked.connect(self.run)
        self.stale.again.clicked.connect(self.run)
        self.cancel_button.clicked.connect(self.cancel)
        self.results.help.clicked.connect(self.explain)
        self.results.noted.connect(self._noting.start)
        self.results.explore.clicked.connect(self.views.open_explorer)
        self.results.side_by_side.toggled.connect(self._arrange)
        self._side_by_side.left.connect(partial(self.results.side_by_side.setChecked, False))
        run_keys(self, self.run, self.cancel)
        self.runner.progressed.connect(self._show_progress)
        self.runner.ended.connect(self._end)

    @property
    def result(self) -> Comparison | None:
        """The comparison that is shown."""
        return None if self.shown is None else self.shown.result

    @property
    def basis(self) -> Basis | None:
        """What it rests on; None where that is not in the viewer."""
        return None if self.shown is None else self.shown.basis

    @property
    def state(self) -> str:
        """What the dock shows: empty, ready, running, done, inconclusive, stale or error."""
        if self.runner.busy:
            return "running"
        if self.results.failed:
            return "error"
        if self.result is None:
            return "empty" if self.sides.why_not() else "ready"
        if self.changed_since():
            return "stale"
        return INCONCLUSIVE if self.result.case == INCONCLUSIVE else "done"

    def run(self) -> None:
        """Copy what the layers show, and compare it in the background."""
        if self.runner.busy or self.sides.why_not():
            return
        chosen = self.sides.chosen()
        copies = Copies(self._viewer, chosen)
        self.opened.note_use()
        self.results.note("")
        self.results.say("")
        self.painting.hide()
        self.runner.prepare(copies.turns(), partial(self._work, chosen, copies))
        with keeping_focus(self, self.cancel_button):
            self.stale.hide()
            self._show_progress(Progress("starting"))

    def _work(self, chosen: LayersOfSides, copies: Copies) -> Work:
        segmentation, analysis = self.settings.segmentation(), self.settings.analysis()
        excluded = self.exclusions.of(itertools.chain(*chosen), segmentation)
        self._next = copies.basis(segmentation, analysis, excluded), copies.sources()
        return partial(run, copies.sources(), segmentation, analysis, excluded)

    def _basis_of(self, chosen: LayersOfSides) -> Basis:
        segmentation = self.settings.segmentation()
        excluded = self.exclusions.of(itertools.chain(*chosen), segmentation)
        return basis(self._viewer, chosen, segmentation, self.settings.analysis(), excluded)

    def cancel(self) -> None:
        """Stop the run or the task under way; layers and the result before it stay.

        A result whose curves are on their way into the viewer is shown in full: nothing is left to be stopped.
        """
        if self.runner.busy and not self.runner.finish_turns():
            self.runner.cancel()
            self._next = None
            with keeping_focus(self, self.run_button):
                self._show_idle()
            if self._then is not None:
                self._then = None
                self.results.note("Cancelled.")
                self.show_staleness()
            elif self.result is None:
                self.results.say("Cancelled.")
            else:
                self._show_panel("Cancelled. This is the result of the run before.")
                self._show_painting()
                self.show_staleness()
            self.opened.look_later()
            self.finished.emit()

    def changed_since(self) -> list[str]:
        """What has changed since the result was found, in words."""
        if self.result is None or self.basis is None:
            return []
        chosen = self.sides.chosen()
        try:
            now = self._basis_of(chosen) if all(chosen) else None
        except ValueError as error:  # settings that no comparison can have
            return [str(error)]
        return changes(self.basis, now)

    def _inputs_changed(self) -> None:
        """Look what other layers mean for the result; the same ones in another order mean nothing, and are many."""
        self._show_reason()
        chosen = [set(refs) for refs in refs_of(self.sides.chosen())]
        if chosen != self._looked_at:
            self._looked_at = chosen
            self._follow_inputs()
            self.show_staleness()
        self.opened.look_later()

    def _follow_inputs(self) -> None:
        """Listen to the chosen layers as long as there is a result that they may outdate."""
        self.watch.follow([layer for side in self.sides.chosen() for layer in side if self.result])

    def show_staleness(self) -> None:
        """Say whether the result still holds, and how many curves are left out; after a run, not during it."""
        changed = [] if self.runner.busy and self._then is None else self.changed_since()
        ids = self.exclusions.of(itertools.chain(*self.sides.chosen()), self.settings.segmentation())
        self.excluded.show_count(sum(map(len, ids)))
        self.stale.show_changes(changed, can_run=self.run_button.isEnabled())
        self.results.mark_stale(bool(changed))

    def _show_progress(self, progress: Progress) -> None:
        self.run_button.setEnabled(False)
        for part in (self.cancel_button, self.progress, self.step):
            part.setVisible(True)
        self.progress.setRange(0, progress.total)
        self.progress.setValue(progress.done)
        self.step.setText(f"{progress.name[0].upper()}{progress.name[1:]} …")
        if self._then is not None:  # the progress bar may be out of sight of the buttons that start a task
            self.results.note(f"{self.step.text()} Esc cancels.")
        self._show_reason()

    def _show_idle(self) -> None:
        for part in (self.cancel_button, self.progress, self.step):
            part.setVisible(False)
        self._show_reason()

    def _show_reason(self) -> None:
        """Say why Run cannot be pressed, where it cannot."""
        reason = "" if self.runner.busy else self.sides.why_not()
        self.reason.setText(reason)
        self.reason.setVisible(bool(reason))
        self.run_button.setEnabled(not reason and not self.runner.busy)
        self.files.setEnabled(not self.runner.busy)
        self.results.show_busy(self.runner.busy)

    def _end(self, outcome: Any) -> None:
        """Take what a run or a task has led to, its layers one after another."""
        layers = outcome.layers if isinstance(outcome, Outcome | Opened) else []
        new = not isinstance(outcome, Opened) or outcome.new
        arriving = self.curves.replacing(layers, new=new) if layers else []
        self.runner.in_turns([*arriving, partial(self._conclude, outcome)])

    def _conclude(self, outcome: Any) -> None:
        then, self._then = self._then, None
        if then is None:
            parts = self._end_run(outcome)
        elif isinstance(outcome, Failure):
            self.results.note(f"⚠ {outcome.reason}")
            parts = []
        else:
            self.results.note("")
            parts = then(outcome) or []
        self.runner.in_turns([*parts, self._settle])

    def _settle(self) -> None:
        """The last turn: the dock rests, looks whether anything has changed meanwhile, and scrolls to what is new."""
        with keeping_focus(self, self.run_button):
            self._show_idle()
        self.excluding.show()
        self.show_staleness()
        self.opened.look_later()
        if self._unseen:
            self._unseen = False
            self._arriving.start()
        self.finished.emit()

    def _end_run(self, outcome: Outcome | Failure) -> list[Turn]:
        if isinstance(outcome, Failure):
            self.keep_unsaved()
            self.shown = None
            self._side_by_side.restore()
            self.results.fail(outcome.reason)
            self._follow_inputs()
            self._unseen = True
            return []
        assert self._next is not None
        self.kept.keep(None)
        return self.showing(Shown.of_run(outcome.result, *self._next))

    def start_task(self, work: Work, then: Callable[[Any], list[Turn] | None]) -> None:
        """Do something with the result, or with a file, in the background.

        `then` takes what it returns, and may return turns that the window is to draw between.
        """
        if not self.runner.busy:
            self._then = then
            self.opened.note_use()
            self.runner.start(work)
            with keeping_focus(self, self.cancel_button):
                self._show_progress(Progress("starting"))

    def keep_unsaved(self) -> None:
        """Keep a result that can be found nowhere else at hand, before another takes its place."""
        if self.unsaved and self.shown is not None:
            self.kept.keep(replace(self.shown, view=self.shown.to_view(self.painting.choice.currentData())))

    def showing(self, shown: Shown, *, unsaved: bool = True) -> list[Turn]:
        """The turns that show another result in all views, one that can be found nowhere else or one that can."""
        return [partial(self._take, shown, unsaved), self._show_panel, self._show_painting]

    def _take(self, shown: Shown, unsaved: bool) -> None:
        self.shown, self.unsaved = shown, unsaved
        self.views.show_result(shown.result)
        self._arrange(self.results.side_by_side.isChecked())
        self._follow_inputs()
        self._unseen = True

    def _show_panel(self, *notes: str) -> None:
        assert self.shown is not None
        self.results.show_result(self.shown, notes)

    def _show_painting(self) -> None:
        assert self.shown is not None
        self.painting.show_result(self.shown.result)

    def explain(self) -> None:
        """Open the help at the row that holds."""
        if self.result is not None:
            self._help = self._help or HelpWindow(self)
            self._help.open_at(self.result.case)

    def _arrange(self, side_by_side: bool) -> None:
        """Show A beside B, or everything as before."""
        if side_by_side and self.shown is not None:
            curves = self.curves.in_places()
            refs = [] if self.basis is None else list(itertools.chain(*self.basis.layers))
            self._side_by_side.arrange([ref() for ref in refs] or [None for _ in curves], curves)
        else:
            self._side_by_side.restore()

    def _bring_note_into_view(self) -> None:
        self._scroll.ensureWidgetVisible(self.results.said)

    def _bring_answer_into_view(self) -> None:
        self._scroll.ensureWidgetVisible(self.painting)
        self._scroll.ensureWidgetVisible(self.results.answer)

    def showEvent(self, event: QEvent | None) -> None:  # noqa: N802 - Qt's name
        """Follow the layers again after the dock was closed, and see what has changed meanwhile."""
        self._closing.stop()
        self.opened.note_use()
        self.sides.follow()
        self.views.link.link()
        super().showEvent(event)

    def hideEvent(self, event: QEvent | None) -> None:  # noqa: N802 - Qt's name
        """Closing the dock only hides it: stop then, but not for another tab or a minimised window."""
        self._closing.start()
        super().hideEvent(event)

    def _stop_if_closed(self) -> None:
        if is_closed(self):
            self.cancel()
            self.results.side_by_side.setChecked(False)
            self.sides.rest()
            self.watch.rest()
            self.views.rest()
            self._looked_at = []  # or nothing would be looked at when the dock is opened again
