"""The results panel: the answer in a sentence, the truth table, the tests, and what was left out."""

from html import escape

import numpy as np
from qtpy.QtCore import Qt, Signal
from qtpy.QtWidgets import QGridLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from ..comparison import INCONCLUSIVE, Comparison
from ..mmd import MMDTest
from ..outlines import Ensemble, counted
from .null_plot import NullPlot
from .report import image_counts, settings_words, tests_of
from .truth_table import TruthTable
from .views import Shown
from .widgets import Section, tip, wrapped

_COLUMNS = ("difference", "MMD", "threshold", "p")


class ResultsPanel(QWidget):
    """Shows a `Comparison`, or a sentence where there is none.

    Signals
    -------
    noted
        There is something to read below the result.
    """

    noted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.failed = self._checkable = False
        self.answer = wrapped()
        font = self.answer.font()
        font.setPointSizeF(font.pointSizeF() * 1.15)
        font.setBold(True)
        self.answer.setFont(font)
        self.table = TruthTable()
        self.details, self.warnings, self.used = wrapped(rich=True), wrapped(), wrapped()
        self.origin, self.said = wrapped(), wrapped()
        self.tests = QGridLayout()
        self.tests.setHorizontalSpacing(6)
        self.null_plots = {name: NullPlot(name) for name in ("Undulation", "Scale")}
        self._make_buttons()
        self._lay_out()
        self.say("")
        self.note("")

    def _make_buttons(self) -> None:
        self.help = QPushButton("What does this &mean?")
        self.help.setToolTip("Explain the marked row, on this computer")
        self.copy_text = QPushButton("Copy te&xt")
        self.copy_text.setToolTip("Copy the answer with its numbers, counts and settings")
        self.copy_python = QPushButton("Copy P&ython")
        self.copy_python.setToolTip("Copy a script that makes this comparison again")
        self.explore = QPushButton("&Explore curves")
        self.explore.setToolTip("Open a scatter plot, a table and a gallery of the curves, tied to the layers")
        self.side_by_side = QPushButton("Si&de by side")
        self.side_by_side.setToolTip("Show A beside B in the viewer's grid; pan and zoom go together. Default off.")
        self.side_by_side.setCheckable(True)
        self.store = QPushButton("Save, exp&ort")
        self.store.setToolTip("Save the whole comparison, its curves as a table, or a report")
        self.check = QPushButton("Chec&k robustness")
        self.check.setToolTip(
            "Test whether undulation and scale depend on each other, and compare again against other archetypes; "
            "takes about five times as long as the comparison"
        )

    def _lay_out(self) -> None:
        plots = QWidget()
        below = QVBoxLayout(plots)
        below.setContentsMargins(0, 0, 0, 0)
        for plot in self.null_plots.values():
            below.addWidget(plot)
        self.nulls = Section("Null distributions", plots, folded=False)
        self.settings = Section("Settings used", self.used)
        self.buttons = QWidget()
        grid = QGridLayout(self.buttons)
        grid.setContentsMargins(0, 0, 0, 0)
        buttons = (self.explore, self.side_by_side, self.copy_text, self.copy_python, self.store, self.check)
        for place, button in enumerate(buttons):
            grid.addWidget(button, *divmod(place, 2))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        for part in (self.answer, self.origin, self.warnings, self.table, self.help):
            layout.addWidget(part)
        layout.addLayout(self.tests)
        self._parts = (self.help, self.nulls, self.details, self.settings, self.buttons)
        for part in (*self._parts[1:], self.said):
            layout.addWidget(part)

    def fail(self, reason: str) -> None:
        """Show why there is no result."""
        self.say(f"⚠ {reason}")
        self.failed = True

    def note(self, sentence: str, tooltip: str = "") -> None:
        """Say what became of a file, below the result; nothing to say hides it."""
        self.said.setText(sentence)
        self.said.setToolTip(tip(tooltip))
        self.said.setVisible(bool(sentence))
        if sentence:
            self.noted.emit()

    def show_busy(self, busy: bool) -> None:
        """Offer what takes a while only when nothing else is under way."""
        self.store.setEnabled(not busy)
        self.check.setEnabled(self._checkable and not busy)

    def mark_stale(self, stale: bool) -> None:
        """Show the result as one of the past, or as one that holds."""
        for part in (self.answer, self.table):
            part.setEnabled(not stale)

    def say(self, sentence: str) -> None:
        """Show a sentence, and no result."""
        self.failed = False
        self.mark_stale(False)
        self.answer.setText(sentence)
        self.answer.setVisible(bool(sentence))
        self._show_parts(False)

    def show_result(self, shown: Shown, notes: tuple[str, ...] = ()) -> None:
        """Show the row, the numbers and the warnings of a comparison."""
        result = shown.result
        self.failed = False
        self.answer.setText(result.summary())
        self.answer.setVisible(True)
        self.table.mark(result.case)
        self._fill_tests(result)
        self.details.setText("".join(_counts(side, ensemble) for side, ensemble in (("A", result.a), ("B", result.b))))
        words = settings_words(shown.segmentation, result.settings)
        self.used.setText("\n".join(words))
        self._show_parts(True)
        self._checkable = result.case != INCONCLUSIVE
        self.show_busy(False)
        self.origin.setText(shown.origin)
        self.origin.setVisible(bool(shown.origin))
        warnings = (*notes, *shown.notes, *result.warnings)
        self.warnings.setText("\n".join(text if text.startswith("✓") else f"⚠ {text}" for text in warnings))
        self.warnings.setVisible(bool(warnings))

    def _show_parts(self, visible: bool) -> None:
        for part in (self.table, self.warnings, self.origin, *self._parts):
            part.setVisible(visible)
        if not visible:
            _emptied(self.tests)

    def _fill_tests(self, result: Comparison) -> None:
        _emptied(self.tests)
        decided = result.case != INCONCLUSIVE
        rows = [[f"<small>{heading}</small>" for heading in _COLUMNS]]
        rows += [_line(name, test, decided) for name, test in tests_of(result)]
        for row, cells in enumerate(rows):
            for column, text in enumerate(cells):
                cell = QLabel(text)
                side = Qt.AlignmentFlag.AlignRight if column else Qt.AlignmentFlag.AlignLeft
                self.tests.addWidget(cell, row, column, side | Qt.AlignmentFlag.AlignTop)
        self.tests.setColumnStretch(len(_COLUMNS), 1)
        self.null_plots["Undulation"].show_test(result.undulation)
        self.null_plots["Scale"].show_test(result.scale)

    def text(self) -> str:
        """Everything the panel says, line by line."""
        cells = [self.tests.itemAt(index).widget().text() for index in range(self.tests.count())]
        return "\n".join([self.answer.text(), self.warnings.text(), *cells, self.details.text()])


def _line(name: str, test: MMDTest, decided: bool) -> list[str]:
    decision = "detected" if test.rejected else "not detected"
    return [
        f"{name}:<br><b>{decision if decided else 'too few'}</b>",
        f"{test.mmd:.3f}",
        f"{test.threshold:.3f}" if np.isfinite(test.threshold) else "–",
        f"{test.p_value:.2g}",
    ]


def _counts(side: str, ensemble: Ensemble) -> str:
    name = escape(ensemble.name)
    reasons = "".join(
        f"<br>&nbsp;&nbsp;{count} left out: {escape(reason)}" for reason, count in ensemble.dropped.items()
    )
    images = "".join(f"<br>&nbsp;&nbsp;{escape(words)}" for words in image_counts(ensemble))
    return (
        f"<p><b>{side}</b> {name}: {counted(len(ensemble), 'curve')}, in {escape(ensemble.unit)}{images}{reasons}</p>"
    )


def _emptied(grid: QGridLayout) -> None:
    while (item := grid.takeAt(0)) is not None:
        widget = item.widget()
        widget.setParent(None)
        widget.deleteLater()
