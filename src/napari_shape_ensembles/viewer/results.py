"""The results panel: the answer in a sentence, the truth table, the tests, and what was left out."""

from html import escape

from qtpy.QtCore import Qt
from qtpy.QtWidgets import QGridLayout, QLabel, QVBoxLayout, QWidget

from ..comparison import Comparison
from ..curves import Ensemble
from ..discrepancy import MMDTest
from .truth_table import TruthTable

_PARTS = {"raw": "– coarse form", "normalized": "– roughness"}
_COLUMNS = ("", "MMD", "threshold", "p", "difference")


class ResultsPanel(QWidget):
    """Shows a `Comparison`, or a sentence where there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.answer = wrapped()
        font = self.answer.font()
        font.setPointSizeF(font.pointSizeF() * 1.15)
        font.setBold(True)
        self.answer.setFont(font)
        self.table = TruthTable()
        self.details = wrapped()
        self.warnings = wrapped()
        self.tests = QGridLayout()
        self.tests.setHorizontalSpacing(6)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        for part in (self.answer, self.warnings, self.table):
            layout.addWidget(part)
        layout.addLayout(self.tests)
        layout.addWidget(self.details)
        self.say("")

    def say(self, sentence: str) -> None:
        """Show a sentence, and no result."""
        self.answer.setText(sentence)
        self.answer.setVisible(bool(sentence))
        self._show_parts(False)

    def show_result(self, result: Comparison, notes: tuple[str, ...] = ()) -> None:
        """Show the row, the numbers and the warnings of a comparison."""
        self.answer.setText(result.summary())
        self.answer.setVisible(True)
        self.table.mark(result.case)
        self._fill_tests(result)
        self.details.setText("".join(_counts(side, ensemble) for side, ensemble in (("A", result.a), ("B", result.b))))
        self._show_parts(True)
        warnings = (*notes, *result.warnings)
        self.warnings.setText("<br>".join(f"⚠ {escape(text)}" for text in warnings))
        self.warnings.setVisible(bool(warnings))

    def _show_parts(self, visible: bool) -> None:
        for part in (self.table, self.details, self.warnings):
            part.setVisible(visible)
        if not visible:
            _emptied(self.tests)

    def _fill_tests(self, result: Comparison) -> None:
        _emptied(self.tests)
        decided = result.case != "inconclusive"
        lines = [("Undulation", result.undulation)]
        lines += [(_PARTS.get(name, name), part) for name, part in result.undulation.parts.items()]
        lines += [("Scale", result.scale)]
        rows = [[f"<small>{heading}</small>" for heading in _COLUMNS]]
        rows += [_line(name, test, decided) for name, test in lines]
        for row, cells in enumerate(rows):
            for column, text in enumerate(cells):
                cell = QLabel(text)
                side = Qt.AlignmentFlag.AlignRight if 0 < column < len(_COLUMNS) - 1 else Qt.AlignmentFlag.AlignLeft
                self.tests.addWidget(cell, row, column, side)
        self.tests.setColumnStretch(len(_COLUMNS) - 1, 1)

    def text(self) -> str:
        """Everything the panel says, line by line."""
        cells = [self.tests.itemAt(index).widget().text() for index in range(self.tests.count())]
        return "\n".join([self.answer.text(), self.warnings.text(), *cells, self.details.text()])


def _line(name: str, test: MMDTest, decided: bool) -> list[str]:
    decision = "detected" if test.rejected else "not detected"
    return [
        name,
        f"{test.mmd:.3f}",
        f"{test.threshold:.3f}",
        f"{test.p_value:.2g}",
        decision if decided else "too few",
    ]


def _counts(side: str, ensemble: Ensemble) -> str:
    name = escape(ensemble.name)
    reasons = "".join(
        f"<br>&nbsp;&nbsp;{count} left out: {escape(reason)}" for reason, count in ensemble.dropped.items()
    )
    return f"<p><b>{side}</b> {name}: {len(ensemble)} curves, in {escape(ensemble.unit)}{reasons}</p>"


def _emptied(grid: QGridLayout) -> None:
    while (item := grid.takeAt(0)) is not None:
        widget = item.widget()
        widget.setParent(None)
        widget.deleteLater()


def wrapped(text: str = "") -> QLabel:
    """A label that breaks its lines and whose text can be copied."""
    label = QLabel(text)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label
