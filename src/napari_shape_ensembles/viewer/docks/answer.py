"""The page *Answer* of the bench: figure and headline first, numbers in a collapsed section."""

from pathlib import Path

from napari.components import ViewerModel
from qtpy.QtWidgets import QFileDialog

from ...comparison.verdict import INCONCLUSIVE, ROW_SENTENCES
from ..panels.verdict import VerdictPanel
from ..panels.widgets import ScrollColumn, Section, button, column, scrolling
from ..session import Session
from .compare import CompareShapes


class AnswerPage(CompareShapes):
    """The contents of *Compare shapes*, ordered by importance."""

    shows_doubts = False  # the page *Trust* does

    def __init__(self, napari_viewer: ViewerModel) -> None:
        self.explanation = Session.of(napari_viewer).explanation
        super().__init__(napari_viewer)

    def lay_out(self) -> ScrollColumn:
        """Put the verdict first, and collapse what is seldom needed."""
        results = self.results
        self.run_button.setText("Comp&are")
        self.verdict = VerdictPanel()
        self.row = Section("", column(results.table, results.help))
        self.paper = button(
            "Eve&rything for a paper …",
            "Write a figure (SVG, PNG), a methods paragraph, tables of objects and of images, the script and the "
            "comparison to a folder",
        )
        self.paper.clicked.connect(self._ask_for_folder)
        self.numbers = Section("Numbers, curves and files", column(self.color_by.limit, results))
        self.choices = Section("Samples and settings", column(self.files, self.sides, self.settings))
        results.side_by_side.hide()  # the bench controls the canvas
        self.link(self.explanation.changed, self._show_verdict)
        # Messages about files stay visible, outside of collapsed sections and even without a result.
        shown = results.message, self.verdict, self.row, self.color_by, self.paper, self.numbers, self.choices
        return scrolling(self, self.buttons(), *self.state_lines, *shown)

    def show_result(self) -> None:
        super().show_result()
        result = None if self.comparison.running else self.result
        self.results.answer.hide()
        for part in (self.row, self.paper, self.numbers):
            part.setVisible(result is not None)
        self.paper.setEnabled(not self.busy)
        self.run_button.setVisible(self.state not in ("done", "stale", INCONCLUSIVE))  # not beside *Run again*
        if result is not None:
            notes = len(self.results.warnings.text().splitlines())
            self.row.rename(f"{result.case}  {ROW_SENTENCES.get(result.case, '')}".strip())
            self.numbers.rename(f"Numbers, curves and files{f' (⚠ {notes})' if notes else ''}")
        self._show_verdict()

    def _show_verdict(self) -> None:
        running = self.comparison.running
        result, task = (None if running else self.result), self.explanation
        known = task.headline if task.explained_comparison is result else None
        self.verdict.show_headline(result, known, "" if running else self.comparison.message)
        self.verdict.setEnabled(self.stale.isHidden())

    def _ask_for_folder(self) -> None:
        if folder := QFileDialog.getExistingDirectory(self, "Folder for everything"):
            self.comparison.export_for_paper(Path(folder))
