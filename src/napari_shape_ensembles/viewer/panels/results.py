"""The results panel: the answer in a sentence, the truth table, the tests, and what was left out."""

from functools import reduce
from html import escape

import numpy as np
from qtpy.QtCore import QRect, Qt, Signal
from qtpy.QtGui import QPainter, QPaintEvent, QPen
from qtpy.QtWidgets import QGridLayout, QLabel, QVBoxLayout, QWidget

from ...comparison import INCONCLUSIVE, Comparison
from ...mmd import MMDTest
from ...outlines import Ensemble, counted
from ..report import image_counts, settings_words, tests_of
from ..shown import Shown
from .distributions import NullPlot
from .widgets import Section, button, column, emptied, tip, wrapped

#: What each case means: undulation, scale, and both in a sentence.
ROWS = {
    "1∧1": ("no difference", "no difference", "No difference was detected."),
    "1∧0": ("no difference", "differs", "The same form, another size or elongation."),
    "0∧1": ("differs", "no difference", "Another form, the same size and elongation."),
    "0∧0": ("differs", "differs", "Another form, and another size or elongation."),
}
_HEADINGS = ("", "", "Undulation (form)", "Scale (size, elongation)")
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
        self.answer, self.origin, self.warnings, self.said = wrapped(), wrapped(), wrapped(), wrapped()
        self.details, self.used = wrapped(rich=True), wrapped()
        font = self.answer.font()
        font.setPointSizeF(font.pointSizeF() * 1.15)
        font.setBold(True)
        self.answer.setFont(font)
        self.table = TruthTable()
        self.tests = QGridLayout()
        self.tests.setHorizontalSpacing(6)
        self.null_plots = {name: NullPlot(name) for name in ("Undulation", "Scale")}
        self._make_buttons()
        self._lay_out()
        self.say("")
        self.note("")

    def _make_buttons(self) -> None:
        self.help = button("What does this &mean?", "Explain the marked row, on this computer")
        self.copy_text = button("Copy te&xt", "Copy the answer with its numbers, counts and settings")
        self.copy_python = button("Copy P&ython", "Copy a script that makes this comparison again")
        self.explore = button(
            "&Explore curves", "Open a scatter plot, a table and a gallery of the curves, linked to the layers"
        )
        self.side_by_side = button(
            "Si&de by side",
            "Show A beside B in the viewer's grid; pan and zoom go together. Default off.",
            checkable=True,
        )
        self.store = button("Save, exp&ort", "Save the whole comparison, its curves as a table, or a report")
        self.check = button(
            "Chec&k robustness",
            "Test whether undulation and scale depend on each other, and compare again with other archetypes; "
            "takes about five times as long as the comparison",
        )

    def _lay_out(self) -> None:
        self.nulls = Section("Null distributions", column(*self.null_plots.values()), folded=False)
        self.settings = Section("Settings used", self.used)
        grid = QGridLayout()
        buttons = (self.explore, self.side_by_side, self.copy_text, self.copy_python, self.store, self.check)
        for place, one in enumerate(buttons):
            grid.addWidget(one, *divmod(place, 2))
        self._of_result = column(self.nulls, self.details, self.settings, grid)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        for part in (self.answer, self.origin, self.warnings, self.table, self.help):
            layout.addWidget(part)
        layout.addLayout(self.tests)
        layout.addWidget(self._of_result)
        layout.addWidget(self.said)

    def fail(self, reason: str) -> None:
        """Show why there is no result."""
        self.say(f"⚠ {reason}")
        self.failed = True

    def note(self, sentence: str, tooltip: str = "") -> None:
        """Say what became of a file, below the result; nothing to say hides it."""
        _show_text(self.said, sentence)
        self.said.setToolTip(tip(tooltip))
        if sentence:
            self.noted.emit()

    def show_busy(self, busy: bool) -> None:
        """Offer what takes a while only when nothing else is running."""
        self.store.setEnabled(not busy)
        self.check.setEnabled(self._checkable and not busy)

    def mark_stale(self, stale: bool) -> None:
        """Show the result as out of date, or as one that holds."""
        self.answer.setEnabled(not stale)
        self.table.setEnabled(not stale)

    def say(self, sentence: str) -> None:
        """Show a sentence, and no result."""
        self.failed = False
        self.mark_stale(False)
        _show_text(self.answer, sentence)
        for part in (self.table, self.warnings, self.origin, self.help, self._of_result):
            part.hide()
        emptied(self.tests)

    def show_result(self, shown: Shown, notes: tuple[str, ...] = ()) -> None:
        """Show the row, the numbers and the warnings of a comparison."""
        result = shown.result
        self.failed = False
        _show_text(self.answer, result.summary())
        _show_text(self.origin, shown.origin)
        warnings = (*notes, *shown.notes, *result.warnings)
        _show_text(self.warnings, "\n".join(text if text.startswith("✓") else f"⚠ {text}" for text in warnings))
        self.table.mark(result.case)
        self._fill_tests(result)
        self.details.setText(_counts("A", result.a) + _counts("B", result.b))
        self.used.setText("\n".join(settings_words(shown.recipe, result.settings)))
        for part in (self.table, self.help, self._of_result):
            part.show()
        self._checkable = result.case != INCONCLUSIVE
        self.show_busy(False)

    def _fill_tests(self, result: Comparison) -> None:
        emptied(self.tests)
        rows = [[f"<small>{heading}</small>" for heading in _COLUMNS]]
        rows += [_line(name, test, result.case != INCONCLUSIVE) for name, test in tests_of(result)]
        for row, cells in enumerate(rows):
            for place, text in enumerate(cells):
                side = Qt.AlignmentFlag.AlignRight if place else Qt.AlignmentFlag.AlignLeft
                self.tests.addWidget(QLabel(text), row, place, side | Qt.AlignmentFlag.AlignTop)
        self.tests.setColumnStretch(len(_COLUMNS), 1)
        self.null_plots["Undulation"].show_test(result.undulation)
        self.null_plots["Scale"].show_test(result.scale)

    def text(self) -> str:
        """Everything the panel says, line by line."""
        cells = [self.tests.itemAt(index).widget().text() for index in range(self.tests.count())]
        return "\n".join([self.answer.text(), self.warnings.text(), *cells, self.details.text()])


class TruthTable(QWidget):
    """Undulation ∧ scale: 1 = no difference detected, 0 = differs. The case is marked by a sign, a frame and bold."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.case = ""
        self._rows: dict[str, list[QLabel]] = {}
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(0)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(3, 1)
        for place, heading in enumerate(_HEADINGS):
            grid.addWidget(_cell(f"<small>{heading}</small>"), 0, place)
        for index, (case, (undulation, scale, sentence)) in enumerate(ROWS.items()):
            *cells, below = self._rows[case] = [_cell(text) for text in ("", case, undulation, scale, sentence)]
            for place, cell in enumerate(cells):
                grid.addWidget(cell, 1 + 2 * index, place)
            grid.addWidget(below, 2 + 2 * index, 1, 1, 3)

    def mark(self, case: str) -> None:
        """Mark the row that holds; any other text leaves all rows unmarked."""
        self.case = case
        for name, (sign, *cells) in self._rows.items():
            sign.setText("►" if name == case else "")
            for cell in cells:
                font = cell.font()
                font.setBold(name == case)
                cell.setFont(font)
        self.update()

    def marked(self) -> list[str]:
        """The rows that carry the sign."""
        return [name for name, (sign, *_) in self._rows.items() if sign.text()]

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Frame the row that holds, in the theme's text color: style sheets do not pass it on to frames."""
        if self.case in self._rows:
            row = reduce(QRect.united, (cell.geometry() for cell in self._rows[self.case]))
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(self.palette().windowText().color(), 2))
            painter.drawRoundedRect(row.adjusted(1, 1, -1, -1), 3, 3)
            painter.end()


def _cell(text: str) -> QLabel:
    label = QLabel(text)
    label.setMargin(3)
    label.setWordWrap(True)
    return label


def _show_text(label: QLabel, text: str) -> None:
    label.setText(text)
    label.setVisible(bool(text))


def _line(name: str, test: MMDTest, decided: bool) -> list[str]:
    decision = "detected" if test.rejected else "not detected"
    return [
        f"{name}:<br><b>{decision if decided else 'too few'}</b>",
        f"{test.mmd:.3f}",
        f"{test.threshold:.3f}" if np.isfinite(test.threshold) else "–",
        f"{test.p_value:.2g}",
    ]


def _counts(side: str, ensemble: Ensemble) -> str:
    lines = [f"<b>{side}</b> {escape(ensemble.name)}: {counted(len(ensemble), 'curve')}, in {escape(ensemble.unit)}"]
    lines += [escape(words) for words in image_counts(ensemble)]
    lines += [f"{count} left out: {escape(reason)}" for reason, count in ensemble.dropped.items()]
    return f"<p>{'<br>&nbsp;&nbsp;'.join(lines)}</p>"
