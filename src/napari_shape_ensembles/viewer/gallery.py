"""Outlines as pictures: one, one to click, and the gallery of the usual and the unusual ones of A and of B."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from qtpy.QtCore import QPointF, QRectF, QSize, Qt, Signal
from qtpy.QtGui import QPainter, QPaintEvent, QPen, QPolygonF
from qtpy.QtWidgets import QGridLayout, QPushButton, QWidget

from ..comparison import Comparison
from .fonts import NamedLine
from .outlines import aligned, usual_and_unusual
from .widgets import tip

Real = NDArray[np.float64]

_EDGE = 4


class OutlineView(QWidget):
    """Outlines at one scale, in the theme's text colour."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._outlines: Sequence[Real] = ()
        self._dashed: Real | None = None
        self.setMinimumSize(120, 120)

    def show_outlines(self, outlines: Sequence[Real], dashed: Real | None = None) -> None:
        """Show outlines around the origin, and one more as a dashed line."""
        self._outlines, self._dashed = outlines, dashed
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """A square to begin with."""
        return QSize(180, 180)

    def paintEvent(self, event: QPaintEvent | None) -> None:  # noqa: N802 - Qt's name
        """Draw the outlines, the largest of them filling the view."""
        everything = [*self._outlines, *([] if self._dashed is None else [self._dashed])]
        if not everything:
            return
        reach = max(float(np.abs(outline).max()) for outline in everything)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ink = self.palette().windowText().color()
        for outline in self._outlines:
            painter.setPen(QPen(ink, 2))
            painter.drawPolygon(placed(outline, QRectF(self.rect()), reach))
        if self._dashed is not None:
            painter.setPen(QPen(ink, 1, Qt.PenStyle.DashLine))
            painter.drawPolygon(placed(self._dashed, QRectF(self.rect()), reach))
        painter.end()


class OutlineButton(QPushButton):
    """An outline to click, with the name of its image in the corner."""

    def __init__(self, row: int, side: str, outline: Real, reach: float, size: int = 52) -> None:
        super().__init__()
        self.row, self.side = row, side
        self._outline, self._reach = outline, reach
        self.setFixedSize(size, size)
        self.setStyleSheet("padding: 0px;")
        self.setToolTip(f"A curve of {side}: click to pick it")
        self.setAccessibleName(f"curve {row} of {side}")

    def paintEvent(self, event: QPaintEvent | None) -> None:  # noqa: N802 - Qt's name
        """Draw the outline on the button."""
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self.palette().windowText().color(), 1.3))
        painter.drawText(self.rect().adjusted(4, 1, 0, 0), Qt.AlignmentFlag.AlignLeft, self.side)
        painter.drawPolygon(placed(self._outline, QRectF(self.rect()), self._reach))
        painter.end()


class Gallery(QWidget):
    """A beside B: the curves nearest to the mean shape, and those farthest from it, aligned and at one scale.

    Signals
    -------
    picked : array of one pooled row
        An outline was clicked.
    """

    picked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self.buttons: list[OutlineButton] = []

    def show_result(self, result: Comparison, count: int = 6) -> None:
        """Fill the gallery anew."""
        self._clear()
        sides = usual_and_unusual(result, count)
        rows = np.concatenate([kind for side in sides for kind in side])
        outlines = aligned(result, rows)
        reach = float(np.abs(outlines).max())
        pictures = iter(zip(rows.tolist(), outlines, strict=True))
        for line, (name, side) in enumerate(zip("AB", sides, strict=True)):
            ensemble = (result.a, result.b)[line]
            for block, (words, kind) in enumerate(zip(("most typical", "most unusual"), side, strict=True)):
                heading = NamedLine(f"{name} ", ensemble.name, f": {words}")
                heading.setToolTip(tip(ensemble.name))
                self._grid.addWidget(heading, 2 * line, block * (count + 1), 1, count)
                for place in range(len(kind)):
                    row, outline = next(pictures)
                    self._add(OutlineButton(row, name, outline, reach, 72), 2 * line + 1, block * (count + 1) + place)
        self._grid.setColumnMinimumWidth(count, 24)
        self._grid.setRowStretch(4, 1)
        self._grid.setColumnStretch(2 * count + 2, 1)

    def _add(self, button: OutlineButton, line: int, column: int) -> None:
        button.clicked.connect(lambda: self.picked.emit(np.array([button.row])))
        self._grid.addWidget(button, line, column)
        self.buttons.append(button)

    def _clear(self) -> None:
        self.buttons = []
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.setParent(None)
                widget.deleteLater()


def placed(outline: Real, box: QRectF, reach: float) -> QPolygonF:
    """An outline around the origin as a polygon in the middle of a box, `reach` of it up to the nearer edges."""
    step = (min(box.width(), box.height()) / 2 - _EDGE) / (reach or 1.0)
    middle = box.center()
    return QPolygonF([QPointF(middle.x() + step * column, middle.y() + step * row) for row, column in outline])
