"""The four answers, with the one that holds marked by a sign, a frame and bold type."""

from qtpy.QtCore import Qt
from qtpy.QtGui import QPainter, QPaintEvent, QPen
from qtpy.QtWidgets import QGridLayout, QLabel, QWidget

ROWS = {
    "1∧1": ("no difference", "no difference", "Nothing tells the two apart."),
    "1∧0": ("no difference", "differs", "The same form, another size or elongation."),
    "0∧1": ("differs", "no difference", "Another form, the same size and elongation."),
    "0∧0": ("differs", "differs", "Another form, and another size or elongation."),
}
_HEADINGS = ("", "", "Undulation (form)", "Scale (size, elongation)")


class TruthTable(QWidget):
    """Undulation ∧ scale: 1 = no difference detected, 0 = differs."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.case = ""
        self._rows: dict[str, tuple[Outline, QLabel, list[QLabel]]] = {}
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(0)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(3, 1)
        for column, heading in enumerate(_HEADINGS):
            grid.addWidget(_label(f"<small>{heading}</small>"), 0, column)
        for index, (case, row) in enumerate(ROWS.items()):
            self._add_row(grid, 1 + 2 * index, case, *row)
        self.mark("")

    def _add_row(self, grid: QGridLayout, line: int, case: str, undulation: str, scale: str, words: str) -> None:
        frame, sign = Outline(self), _label("")
        grid.addWidget(frame, line, 0, 2, 4)
        cells = [_label(text) for text in (case, undulation, scale)]
        for column, cell in enumerate([sign, *cells]):
            grid.addWidget(cell, line, column)
        explanation = _label(words)
        grid.addWidget(explanation, line + 1, 1, 1, 3)
        self._rows[case] = (frame, sign, [*cells, explanation])

    def mark(self, case: str) -> None:
        """Mark the row that holds; any other text leaves all rows unmarked."""
        self.case = case
        for name, (frame, sign, cells) in self._rows.items():
            holds = name == case
            sign.setText("►" if holds else "")
            frame.setVisible(holds)
            for cell in cells:
                font = cell.font()
                font.setBold(holds)
                cell.setFont(font)

    def marked(self) -> list[str]:
        """The rows that carry the sign."""
        return [name for name, (_, sign, _) in self._rows.items() if sign.text()]


class Outline(QWidget):
    """A frame in the theme's text colour: style sheets do not pass it on to frames."""

    def paintEvent(self, event: QPaintEvent | None) -> None:  # noqa: N802 - Qt's name
        """Draw the frame."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self.palette().windowText().color(), 2))
        painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), 3, 3)
        painter.end()


def _label(text: str) -> QLabel:
    label = QLabel(text)
    label.setMargin(3)
    label.setWordWrap(True)
    label.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    return label
