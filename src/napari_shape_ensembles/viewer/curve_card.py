"""The card of one curve: its numbers, its outline on the mean, its nearest neighbours, and a way to leave it out."""

from html import escape

import numpy as np
from numpy.typing import NDArray
from qtpy.QtCore import QSize, Signal
from qtpy.QtGui import QResizeEvent
from qtpy.QtWidgets import QGridLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from ..comparison import Comparison
from .gallery import OutlineButton, OutlineView
from .outlines import aligned, mean_outline, neighbours
from .paints import PAINTS
from .widgets import wrapped

Index = NDArray[np.int64]

_NARROW, _GAP, _MARGINS = 230, 3, 20  # pixels
_LONG = 80  # letters


class CurveCard(QWidget):
    """Shows one curve, or says how to pick one.

    Signals
    -------
    picked : array of one pooled row
        A neighbour was clicked.
    excluded : int
        The curve of this pooled row is to be left out, or taken in again.
    """

    picked = Signal(object)
    excluded = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.row = -1
        self.numbers = wrapped(rich=True)
        self.outline = OutlineView()
        self.outline.setToolTip("Solid: this curve. Dashed: the mean shape. Turned onto each other, at one scale.")
        self.exclude = QPushButton("Excl&ude")
        self.exclude.setToolTip("Leave this curve out of the next run, or take it in again; the image stays as it is")
        self.exclude.clicked.connect(lambda: self.excluded.emit(self.row))
        self._near = QGridLayout()
        self._near.setHorizontalSpacing(_GAP)
        column = QVBoxLayout(self)
        for part in (self.numbers, self.outline, self.exclude, QLabel("Nearest in A, and in B")):
            column.addWidget(part)
        column.addLayout(self._near)
        column.addStretch(1)
        self.buttons: list[OutlineButton] = []

    def show_curve(self, result: Comparison, rows: Index, excluded: frozenset[int]) -> None:
        """Show a curve; with several picked, say so."""
        single = len(rows) == 1
        self.row = int(rows[0]) if single else -1
        self.exclude.setEnabled(single)
        self._clear()
        if not single:
            some = f"{len(rows)} curves are picked." if len(rows) else "Click a curve to see its card."
            self.numbers.setText(some)
            self.outline.show_outlines([])
            return
        self.exclude.setText("Incl&ude again" if self.row in excluded else "Excl&ude")
        self.numbers.setText(_numbers(result, self.row))
        self._show_outlines(result)

    def _show_outlines(self, result: Comparison) -> None:
        near = np.concatenate(neighbours(result, self.row))
        outlines = aligned(result, [self.row, *near])
        self.outline.show_outlines([outlines[0]], dashed=mean_outline(result))
        reach = float(np.abs(outlines).max())
        for row, outline in zip(near.tolist(), outlines[1:], strict=True):
            button = OutlineButton(row, _side(result, row), outline, reach)
            button.clicked.connect(lambda _=False, row=row: self.picked.emit(np.array([row])))
            self.buttons.append(button)
        self._arrange()

    def _arrange(self) -> None:
        """The nearest in A beside those in B, or above them."""
        buttons = self.buttons
        beside = sum(button.width() + _GAP for button in buttons) <= self.contentsRect().width() - _MARGINS
        first = sum(button.side == "A" for button in buttons)
        for place, button in enumerate(buttons):
            above = beside or place < first
            self._near.addWidget(button, 0 if above else 1, place if above else place - first)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Narrower than the nearest side by side: they find another place."""
        return QSize(_NARROW, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent | None) -> None:  # noqa: N802 - Qt's name
        """Put the nearest where there is room."""
        super().resizeEvent(event)
        self._arrange()

    def _clear(self) -> None:
        for button in self.buttons:
            self._near.removeWidget(button)
            button.setParent(None)
            button.deleteLater()
        self.buttons = []


def _side(result: Comparison, row: int) -> str:
    return "A" if row < len(result.a) else "B"


def _short(name: str) -> str:
    """A name without its middle where it would fill the card, as those of several images together do."""
    return name if len(name) <= _LONG else f"{name[: _LONG // 2]}…{name[-_LONG // 2 :]}"


def _numbers(result: Comparison, row: int) -> str:
    """The curve's image, id and numbers with their units."""
    table = result.distances
    name = (result.a if row < len(result.a) else result.b).name
    lines = [f"<b>{_side(result, row)}</b> {escape(_short(name))}, curve {escape(str(table['id'].iloc[row]))}"]
    for paint in PAINTS.values():
        if paint.numeric:
            value, unit = paint.values(result)[row], paint.unit(result)
            lines.append(f"{paint.words}: {value:.4g}{f' {escape(unit)}' if unit else ''}")
    return "<br>".join(lines)
