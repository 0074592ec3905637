"""The dock *Compare shapes*: compares two samples, colors their curves and shows the row of the truth table."""

from functools import partial
from typing import Any

from napari.components import ViewerModel
from qtpy.QtWidgets import QApplication

from ...words import counted
from ..curves.window import CurveWindow
from ..dialogs import Dialogs
from ..panels.color_by import ColorBy
from ..panels.help import HelpWindow
from ..panels.results import ResultsPanel
from ..panels.widgets import Notice, ScrollColumn, excluded_notice, menu_button, scrolling, single_shot_timer
from ..report import script_of, text_of
from ..session import Session
from .base import SamplesDock

#: Groups of settings that are initially collapsed.
FOLDED = ("Clean up and split", "Trace", "Analysis", "Advanced")


class CompareShapes(SamplesDock):
    """Compare the outlines of two layers, or of several images per side."""

    shows_doubts = True  #: whether warnings that most results have are listed

    def __init__(self, napari_viewer: ViewerModel) -> None:
        task = self.comparison = Session.of(napari_viewer).comparison
        super().__init__(
            napari_viewer,
            task,
            run="Segment, trace and compare A and B",
            run_again="Compare the two layers as they are now",
            folded=FOLDED,
        )
        self._shown: tuple[Any, ...] = ()
        self._colored: tuple[Any, ...] = ()
        self.help: HelpWindow | None = None
        self.dialogs = Dialogs(self, self.session, task.message_posted.emit)
        tooltip = "Open a saved comparison; load or save the settings"
        self.files = menu_button("Ope&n …", tooltip, self.dialogs.file_entries())
        results = self.results = ResultsPanel(self.dialogs.result_entries(), doubts=self.shows_doubts)
        self.excluded, self.recover_notice = excluded_notice(), Notice("Undo", "Show the previous result again")
        self.faults = Notice("Answer anyway", "The outlines have been checked and are correct: show the result")
        self.color_by = ColorBy()
        self.curve_window = CurveWindow(self.viewer, task)
        self.state_lines = (
            self.reason,
            self.step,
            self.progress,
            self.stale,
            self.recover_notice,
            self.excluded,
            self.faults,
        )
        self.scroll = self.lay_out()
        self._note_scroll_timer, self._result_scroll_timer = (
            single_shot_timer(self, partial(self.scroll.ensureWidgetVisible, part))
            for part in (results.message, self.color_by)
        )
        self._result_scroll_timer.timeout.connect(partial(self.scroll.ensureWidgetVisible, results.answer))
        self.link(task.message_posted, results.show_note)
        self.link(task.recolored, self.show_result)
        self.link(task.side_by_side.switched_off, self._release_side_by_side)
        self.faults.button.clicked.connect(task.overrule)
        self.excluded.button.clicked.connect(self.session.choices.exclusions.clear)
        self.recover_notice.button.clicked.connect(task.recover)
        self.color_by.changed.connect(task.set_coloring)
        results.note_shown.connect(self._note_scroll_timer.start)
        results.help.clicked.connect(self.explain)
        results.explore.clicked.connect(self.curve_window.open)
        results.side_by_side.toggled.connect(task.arrange)
        results.check.clicked.connect(task.check_robustness)
        results.copy_text.clicked.connect(self.copy_text)
        results.copy_python.clicked.connect(self.copy_python)
        self.attach()

    def lay_out(self) -> ScrollColumn:
        """Lay out the parts in a column."""
        above = self.sides, self.settings, self.buttons(self.files)
        return scrolling(self, *above, *self.state_lines, self.results, self.color_by)

    def show_result(self) -> None:
        """Show the result, its origin, and the actions on it."""
        task, results = self.comparison, self.results
        shown, message = (None, "") if task.running else (task.shown, task.message)
        result = None if task.running else task.result
        count, kept = sum(map(len, task.current_inputs().excluded)), task.recoverable
        self.excluded.set_message(f"✂ {counted(count, 'curve')} excluded manually." if count else "")
        names = "" if kept is None else f"{kept.result.a.name} and {kept.result.b.name}"
        self.recover_notice.set_message(f"↶ The previous result ({names}) was not saved." if names else "")
        self.files.setEnabled(not task.busy)
        if task.running and not results.message.isHidden():
            results.show_note("")
        if (shown, message) != self._shown:
            self._shown = shown, message
            results.show_result(shown, message)
            withheld = result is not None and result.withheld
            self.faults.set_message("⚠ No answer until the outlines have been checked." if withheld else "")
        colored = result, task.color_by, task.percentile
        if colored != self._colored:
            self._colored = colored
            self.color_by.setVisible(result is not None)
            if result is not None:
                self.color_by.show_colors(task.color_by, task.percentile, result)
        results.show_state(busy=task.busy, stale=not self.stale.isHidden())
        if task.is_new_result and not task.busy:
            task.is_new_result = False
            self._result_scroll_timer.start()

    def show_note(self, words: str) -> None:
        """Show progress messages below the result's buttons."""
        self.results.show_note(words)

    def _release_side_by_side(self) -> None:
        self.results.side_by_side.setChecked(False)

    def explain(self) -> None:
        if self.result is not None:
            self.help = self.help or HelpWindow(self)
            self.help.open_at(self.result.case)

    def copy_text(self) -> None:
        """Copy the result as text to the clipboard, with what has changed since."""
        if self.comparison.shown is not None:
            QApplication.clipboard().setText(text_of(self.comparison.shown, self.comparison.changed_since()))

    def copy_python(self) -> None:
        """Copy a script that reproduces the comparison, or loads it from its file, to the clipboard."""
        if self.comparison.shown is not None:
            if script := script_of(self.comparison.shown):
                QApplication.clipboard().setText(script)
            else:
                self.results.show_note("⚠ No script can reproduce this result: its layers and its file are gone.")
