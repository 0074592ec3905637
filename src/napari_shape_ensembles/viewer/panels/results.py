"""The results panel: a summary sentence, the truth table, the test statistics, and counts of dropped curves."""

from functools import reduce
from html import escape

import numpy as np
from qtpy.QtCore import QRect, Signal
from qtpy.QtGui import QPainter, QPaintEvent, QPen
from qtpy.QtWidgets import QGridLayout, QLabel, QWidget

from ...comparison.answer import titles_of
from ...comparison.fragility import checks_in_words
from ...comparison.verdict import INCONCLUSIVE, TRUTH_TABLE
from ...words import counted, p_text
from ..displayed_result import DisplayedResult, count_lines, doubts_of, settings_lines, tests_of
from .distributions import NullPlot
from .widgets import Entries, Section, WrappedLabel, button, column, menu_button, tip

_HEADINGS = ("", "", "Undulation (form)", "Scale (size, elongation)")
_NUMBERS = ("MMD", "threshold", "p")


class ResultsPanel(QWidget):
    """Shows the numbers of a `Comparison`; a menu offers what can be saved.

    The warnings that most results have are left to the page *Trust*, and what the checks found to the answer.
    """

    note_shown = Signal()  #: a message was shown below the result

    def __init__(self, entries: Entries) -> None:
        super().__init__()
        self._checkable = False
        self.origin, self.warnings = WrappedLabel(), WrappedLabel()
        self.details, self.used, self.message = WrappedLabel(rich=True), WrappedLabel(), WrappedLabel()
        self.table = TruthTable()
        self.tests = WrappedLabel(rich=True)
        self.null_plots = {name: NullPlot(name) for name in ("Undulation", "Scale")}
        self.help = button("What &does this mean?", "Explain the marked row (offline help)")
        self.copy_text = button("Copy te&xt", "Copy the answer with its numbers, counts and settings")
        self.copy_python = button("Copy P&ython", "Copy a script that reproduces this comparison")
        self.explore = button(
            "&Explore curves", "Open a scatter plot, a table and a gallery of the curves, linked to the layers"
        )
        tooltip = "Save the whole comparison, its curves as a table, or a report"
        self.store = menu_button("Save, exp&ort", tooltip, entries)
        self.check = button(
            "Chec&k robustness",
            "Test whether undulation and scale depend on each other, and compare again with other archetypes; "
            "takes about five times as long as the comparison",
        )
        self.reference = button("&Use a reference", "Judge each image by a group, or by a saved reference")
        self.nulls = Section("Null distributions", column(*self.null_plots.values()), folded=False)
        self.settings = Section("Settings used", self.used)
        grid = QGridLayout()
        buttons = (self.explore, self.copy_text, self.copy_python, self.store, self.check, self.reference)
        for place, one in enumerate(buttons):
            grid.addWidget(one, *divmod(place, 2))
        self._result_widgets = column(self.nulls, self.details, self.settings, grid)
        column(self.origin, self.warnings, self.tests, self._result_widgets, page=self)
        self.show_result(None)
        self.show_note("")

    def show_note(self, sentence: str, tooltip: str = "") -> None:
        """Show a message about a saved file below the result; an empty one hides the label."""
        self.message.show_text(sentence)
        self.message.setToolTip(tip(tooltip))
        if sentence:
            self.note_shown.emit()

    def show_state(self, *, busy: bool) -> None:
        """Disable long-running actions while busy."""
        self.store.setEnabled(not busy)
        self.check.setEnabled(self._checkable and not busy)

    def show_result(self, shown: DisplayedResult | None) -> None:
        """Show the case, statistics and warnings of a comparison, or nothing."""
        self._result_widgets.setVisible(shown is not None)
        origin, warnings, tests = "", "", ""
        if shown is not None:
            result = shown.result
            decided = result.case != INCONCLUSIVE
            origin, doubts = shown.origin, doubts_of(result)
            elsewhere = {*doubts, *checks_in_words(result)}
            found = [words for words in result.warnings if words not in elsewhere]
            lines = [*shown.notes, *found]
            warnings = "\n".join(line if line.startswith("✓") else f"⚠ {line}" for line in lines)
            tests = "<table cellpadding=1 style='font-size: small'><tr><td colspan=2>difference"
            tests += "".join(f"<td align=right>{heading}" for heading in _NUMBERS)
            for name, test in tests_of(result):
                decision = "detected" if test.rejected else "not detected"
                if not decided:
                    decision = "withheld" if result.undecided == "withheld" else "too few"
                threshold = f"{test.threshold:.3f}" if np.isfinite(test.threshold) else "–"
                numbers = f"{test.mmd:.3f}", threshold, p_text(test.p_value, test.significance)
                title = name.replace(" and ", " and<br>").replace(" of ", " of<br>")
                bold = "b" if decision == "detected" else "span"
                tests += f"<tr><td>{title}<td><{bold}>{decision}</{bold}>"
                tests += "".join(f"<td align=right>{number}" for number in numbers)
            tests += "</table>"
            details = []
            for title, ensemble in zip(titles_of(result), (result.a, result.b), strict=True):
                curves = f"<b>{escape(title)}</b>: {counted(len(ensemble), 'curve')}, in {escape(ensemble.unit)}"
                details.append("<br>&nbsp;&nbsp;".join([curves, *map(escape, count_lines(ensemble))]))
            self.details.setText("".join(f"<p>{paragraph}</p>" for paragraph in details))
            self.used.setText("\n".join(settings_lines(shown.recipe, result.settings)))
            self.table.mark(result.case)
            for name, test in (("Undulation", result.undulation), ("Scale", result.scale)):
                self.null_plots[name].show_test(test)
            self._checkable = decided
        words = ((self.origin, origin), (self.warnings, warnings), (self.tests, tests))
        for label, text in words:
            label.setText(text)
            label.setVisible(bool(text))
        self.show_state(busy=False)

    def text(self) -> str:
        return "\n".join(label.text() for label in (self.warnings, self.tests, self.details))


class TruthTable(QWidget):
    """Undulation ∧ scale: 1 = no difference detected, 0 = differs. The case is marked by ►, a frame and bold text."""

    def __init__(self) -> None:
        super().__init__()
        self.case = ""
        self._rows: dict[str, list[QLabel]] = {}
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(0)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(3, 1)
        for place, heading in enumerate(_HEADINGS):
            grid.addWidget(_cell(f"<small>{heading}</small>"), 0, place)
        for index, (case, meaning) in enumerate(TRUTH_TABLE.items()):
            words = ("differs" if decision == "0" else "no difference" for decision in case.split("∧"))
            *cells, below = self._rows[case] = [
                _cell(text) for text in ("", case, *words, f"{meaning[0].upper()}{meaning[1:]}.")
            ]
            for place, cell in enumerate(cells):
                grid.addWidget(cell, 1 + 2 * index, place)
            grid.addWidget(below, 2 + 2 * index, 1, 1, 3)

    def mark(self, case: str) -> None:
        """Mark the row of this case; any other string leaves all rows unmarked."""
        self.case = case
        for name, (sign, *cells) in self._rows.items():
            sign.setText("►" if name == case else "")
            for cell in cells:
                font = cell.font()
                font.setBold(name == case)
                cell.setFont(font)
        self.update()

    def marked(self) -> list[str]:
        return [name for name, (sign, *_) in self._rows.items() if sign.text()]

    def paintEvent(self, event: QPaintEvent) -> None:
        """Frame the marked row in the theme's text color, which style sheets do not apply to frames."""
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
