"""The page *Answer* of the bench: the picture and the answer first, then the row, numbers, curves and files."""

from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from napari.components import ViewerModel
from napari.layers import Layer
from qtpy.QtWidgets import QApplication, QFileDialog

from ...comparison.fragility import checks_in_words
from ...comparison.verdict import INCONCLUSIVE, ROW_WORDS
from ...words import counted, listed
from ..curves.window import CurveWindow
from ..dialogs import Dialogs
from ..form import Form
from ..panels.color_by import ColorBy
from ..panels.help import HelpWindow
from ..panels.results import ResultsPanel
from ..panels.verdict import VerdictPanel
from ..panels.widgets import (
    Notice,
    Section,
    WrappedLabel,
    button,
    column,
    division_notice,
    excluded_notice,
    menu_button,
    row,
    scrolling,
    tip,
)
from ..report import script_of, text_of
from ..session import Session
from .base import LINKS, ChoicesLine, PairChoice, TaskPage
from .experiment import GroupsPanel
from .reference import ReferencePanel

_CHECKS = (
    "From an inspection of the outlines, and comparisons without single outlines and with other choices, made while "
    "idle. Fragile: another row without one outline, or with more than a quarter of the choices."
)


class AnswerPage(TaskPage):
    """Compares all groups of the table, and shows two: their curves, the answer and the row of the truth table."""

    def __init__(self, napari_viewer: ViewerModel) -> None:
        session = Session.of(napari_viewer)
        task = self.comparison = session.comparison
        super().__init__(
            napari_viewer,
            task,
            "Co&mpare",
            run="Segment, trace and compare the groups",
            run_again="Compare the images as they are now",
        )
        self.explanation = session.explanation
        self.groups: GroupsPanel | None = None  #: the part about all groups, created when there are several
        self._place_of_groups = column()
        self._shown: tuple[Any, ...] = ()
        self._colored: tuple[Any, ...] = ()
        self.help: HelpWindow | None = None
        self.dialogs = Dialogs(self, session, task.message_posted.emit)
        tooltip = "Open any file of the bench, or save the settings"
        self.files = menu_button("Ope&n …", tooltip, self.dialogs.settings_entries())
        results = self.results = ResultsPanel(self.dialogs.result_entries())
        self.divided = division_notice()
        self.excluded, self.recover_notice = excluded_notice(), Notice("Undo", "Show the previous result again")
        self.suspects = Notice(
            "Leave out", "Exclude these outlines of all images, found without regard to groups or answer", rich=True
        )
        self.checks = WrappedLabel()
        self.missing_images = Notice("Find …", "Choose the folder of the images; they are recognized by content")
        self.redraw = Notice("Show again", "Add the curves of this result to the viewer again")
        self.faults = Notice("Answer anyway", "The outlines have been checked and are correct: show the result")
        self.color_by = ColorBy()
        self.curve_window = CurveWindow(self.viewer, task)
        self.verdict = VerdictPanel()
        self.row = Section("", column(self.verdict.tested, results.table, results.help))
        self.paper = button(
            "Eve&rything for a paper …",
            "Write figures, a methods paragraph with QUAREP-LiMi's checklist, tables of objects and images, the script "
            "and the result to a folder; of all groups",
        )
        self.numbers = Section("Numbers, curves, files", column(self.color_by.limit, results))
        self.reference = ReferencePanel(self.viewer)
        self.enclose(self.reference)
        self.of_reference = Section("Compare with a reference", self.reference)
        self.settings_form = Form(session.choices.settings, folded=("Advanced",))
        self.findings = self.verdict, self.verdict.tested, self.checks, results.table, results.tests, results.details
        self.recipe = ChoicesLine(self, "recipe")
        self.settings = Section("Settings", column(row(self.files), self.recipe, self.settings_form))
        notices = self.recover_notice, self.missing_images, self.excluded, self.divided, self.redraw, self.faults
        state = self.reason, self.step, self.progress, self.stale, *notices
        # Messages about files stay visible, outside of collapsed sections and even without a result.
        self.pair = PairChoice(self)
        of_pair = self.pair, self.suspects, self.verdict, self.checks, self.row, self.color_by, self.numbers
        parts = results.message, self._place_of_groups, *of_pair, self.of_reference, self.settings
        self.scroll = scrolling(self, self.buttons(), *state, *parts)
        self.layout().addWidget(self.paper)  # below: what arrives on the page later must not move it
        self.bind(self.settings_form, "settings")
        self.link(task.message_posted, results.show_note)
        self.link(task.recolored, self.show_result)
        self.link(self.explanation.changed, self._show_verdict)
        self.link(session.design.changed, self.show_state)
        self.follow(session.referring.opened, self._show_reference)
        self.faults.button.clicked.connect(task.overrule)
        self.missing_images.button.clicked.connect(self._find_images)
        self.redraw.button.clicked.connect(task.redraw)
        self.link(task.side_by_side.arranged, self._show_missing_curves)
        self.suspects.label.setTextInteractionFlags(LINKS)
        self.suspects.label.linkActivated.connect(self._inspect_suspects)
        self.suspects.button.clicked.connect(session.checking.leave_out)
        self.excluded.button.clicked.connect(session.choices.exclusions.clear)
        self.divided.button.clicked.connect(task.divisions.undo)
        self.link(task.selection.side_by_side_requested, self.curve_window.open_side_by_side)
        self.link(task.selection.changed, self._mark_selected)
        self.recover_notice.button.clicked.connect(task.recover)
        self.color_by.changed.connect(task.set_coloring)
        self.verdict.picture.chosen.connect(self._show_curve)
        self.paper.clicked.connect(self._ask_for_folder)
        results.note_shown.connect(partial(self.scroll.scroll_to, results.message))
        results.help.clicked.connect(self.explain)
        results.explore.clicked.connect(self.curve_window.open)
        results.check.clicked.connect(task.check_robustness)
        results.reference.clicked.connect(self._ask_reference)
        results.copy_text.clicked.connect(self.copy_text)
        results.copy_python.clicked.connect(self.copy_python)
        self.attach()

    def show_settings(self) -> None:
        self.scroll.scroll_to(self.settings)

    def _show_reference(self) -> None:
        """Unfold the reference, if there is one."""
        self.reference.show_state()
        if self.session.referring.reference is not None:
            self._ask_reference()

    def _ask_reference(self) -> None:
        """Unfold the reference, or where one is made; below a result it is hidden until then."""
        self.scroll.scroll_to(self.of_reference)

    def show_result(self) -> None:
        """Show the result, its origin, and the actions on it."""
        task, results = self.comparison, self.results
        shown, message = (None, "") if task.running else (task.shown, task.message)
        result = None if task.running else task.result
        count, kept = sum(map(len, task.current_inputs().excluded)), task.recoverable
        self.excluded.set_message(f"✂ {counted(count, 'curve')} excluded manually." if count else "")
        self.divided.set_message(task.divisions.sentence())
        names = "" if kept is None else kept.title
        self.recover_notice.set_message(f"↶ The previous result ({names}) was not saved." if names else "")
        gone = [] if task.missing_images is None else task.missing_images[1]
        self.missing_images.set_message(f"Not found: {', '.join(gone)}." if gone else "")
        self.files.setEnabled(not task.busy)
        if task.running and not results.message.isHidden():
            results.show_note("")
        groups = None if result is None else result.names  # an image may have been renamed
        if (shown, message, groups) != self._shown:
            self._shown = shown, message, groups
            results.show_result(shown)
            if result is not None:
                notes = len(results.warnings.text().splitlines())
                self.row.rename(f"Truth table: {ROW_WORDS[result.case]}")
                self.numbers.rename(f"Numbers, curves, files{f' (⚠ {notes})' if notes else ''}")
        drawn = None if task.busy and task.is_new_result else result  # its curves are still being added
        colored = drawn, task.color_by, task.percentile, groups
        if colored != self._colored:
            self._colored = colored
            self.color_by.setVisible(drawn is not None)
            if drawn is not None:
                self.color_by.show_colors(task.color_by, task.percentile, drawn)
        results.show_state(busy=task.busy)
        for part in (self.row, self.numbers):
            part.setVisible(result is not None)
        self.of_reference.setVisible(result is None or self.of_reference.unfolded)
        self.paper.setVisible(
            result is not None or (task.is_described and task.answer is not None and not task.running)
        )
        self.paper.setEnabled(not self.busy)
        if several := task.is_described:
            if self.groups is None:
                groups = self.groups = GroupsPanel(self)
                self.findings += groups.sentences, groups.table, groups.contrasts
                self._place_of_groups.layout().addWidget(groups)
            self.groups.show_answer()
        self._place_of_groups.setVisible(several)
        self.faults.set_message("" if task.running else task.withheld)
        self.run_button.setVisible(self.state not in ("done", "stale", INCONCLUSIVE))  # not beside *Run again*
        if self.run_button.isHidden() and self.stale.isHidden() and not self._invalid_reason:
            self.reason.hide()  # of a run that is not offered, as of a result that was opened without its images
        self._show_verdict()
        self._show_checks()
        self._show_missing_curves()
        if task.is_new_result and not task.busy:
            task.is_new_result = False
            if not several:  # else the table of contrasts is read first
                self.scroll.scroll_to(self.verdict)

    def _show_missing_curves(self) -> None:
        """Offer to add curves again whose layers were deleted."""
        task = self.comparison
        gone = [] if task.busy or not self.stale.isHidden() else task.without_curves()
        self.redraw.set_message(f"The curves of {listed(gone)} were deleted." if gone else "")

    def _show_verdict(self) -> None:
        running = self.comparison.running
        result, task = (None if running else self.result), self.explanation
        known = task.headline if task.explained_comparison is result else None
        self.verdict.show_headline(result, known, "" if running else self.comparison.message)
        self._mark_selected()

    def _show_checks(self) -> None:
        """Show what the checks in the background have found: suspects above the answer, the rest below it."""
        result = None if self.comparison.running else self.result
        said = [] if result is None else list(checks_in_words(result, briefly=True))
        looks = [words for words in said if " wrong: " in words]
        said = [words for words in said if words not in looks]
        looks = looks if self.stale.isHidden() else []  # they may be left out by now
        link = " <a href='Inspect'>Look</a>" if looks else ""
        self.suspects.set_message("<br>".join(f"⚠ {escape(words)}" for words in looks) + link)
        self.checks.show_text(" ".join(said))
        self.checks.setToolTip(tip("\n".join([_CHECKS, *([] if result is None else result.checks.exceptions)])))

    def _inspect_suspects(self, title: str) -> None:
        """Show the page *Inspect*, and inspect the image with the most suspects."""
        session, then = self.session, self.comparison.inputs_shown
        refs = () if then is None else then.refs
        counts = {ref: len(own) for ref, own in zip(refs, session.checking.suspects, strict=False)}
        layer = None if not counts else max(counts, key=lambda ref: counts[ref])()
        self.request_page(title)
        if layer is not None and not session.inspection.busy:
            session.inspection.inspect(layer if isinstance(layer, Layer) else None)

    def _show_curve(self, row: int) -> None:
        if self.result is not None:
            self.comparison.selection.select_and_center([row])

    def _mark_selected(self) -> None:
        """Mark the selected curves among the typical ones."""
        self.verdict.picture.mark(self.comparison.selection.rows)

    def show_note(self, words: str) -> None:
        self.results.show_note(words)

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

    def _find_images(self) -> None:
        """Ask where the images of an opened result are now, and open it again with them."""
        missing = self.comparison.missing_images
        if missing is not None and (folder := QFileDialog.getExistingDirectory(self, "Folder of the images")):
            self.comparison.open(missing[0], Path(folder))

    def _ask_for_folder(self) -> None:
        if folder := QFileDialog.getExistingDirectory(self, "Folder for everything"):
            self.comparison.export_for_paper(Path(folder))
