"""Drawings of outlines, painted by Qt in the theme's colors: one large live shape, and thumbnails."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from qtpy.QtCore import QPointF, QRectF, QSize, Qt, Signal
from qtpy.QtGui import QBrush, QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from qtpy.QtWidgets import QPushButton, QSizePolicy, QWidget

from ...palette import SIDE_COLORS
from .fonts import Drawing

Real = NDArray[np.float64]

_MARGIN = 10
_THUMBNAIL, _BETWEEN = 46, 18


@dataclass(frozen=True, eq=False)
class StyledOutline:
    """An outline (n, 2) in (row, column), its side ("A", "B" or neither, in the text's color), and its style."""

    curve: Real
    side: str = ""
    filled: bool = False
    dashed: bool = False
    width: float = 2.0


def paint_outline(painter: QPainter, outline: StyledOutline, centre: QPointF, scale: float, ink: QColor) -> None:
    """Draw one outline around `centre`, rows downwards; a filled one has a line in the color of text, to be seen."""
    points = outline.curve[:, ::-1] * scale + (centre.x(), centre.y())
    color = QColor(SIDE_COLORS.get(outline.side, ink))
    style = Qt.PenStyle.DashLine if outline.dashed else Qt.PenStyle.SolidLine
    painter.setPen(QPen(ink if outline.filled else color, outline.width, style))
    color.setAlpha(130 if outline.side else 60)
    painter.setBrush(QBrush(color) if outline.filled else QBrush())
    painter.drawPolygon(QPolygonF([QPointF(x, y) for x, y in points.tolist()]))


def radius(outlines: Iterable[Real]) -> float:
    """Greatest distance of any vertex from the origin; 1 where there is none."""
    return max((float(np.linalg.norm(outline, axis=1).max()) for outline in outlines), default=1.0) or 1.0


def round_length(longest: float) -> float:
    """The largest of 1, 2 or 5 times a power of ten that is not above `longest`."""
    power = 10.0 ** np.floor(np.log10(longest))
    return float(max(step for step in (1, 2, 5) if step * power <= longest) * power)


class ShapeCanvas(Drawing):
    """Outlines over each other at one scale, with a scale bar."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.outlines: tuple[StyledOutline, ...] = ()  #: what is drawn, the last one on top
        self._reach, self._unit, self._title = 1.0, "", ""
        self.frames = 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(200, 200)

    def set_scale(self, reach: float, unit: str) -> None:
        """Show at least `reach` units around the centre, so that a moving shape is seen to grow."""
        self._reach, self._unit = max(reach, 1e-12), unit
        self.update()

    def show_shapes(self, outlines: Sequence[StyledOutline], title: str = "") -> None:
        """Draw these outlines, the last one on top, and a title."""
        self.outlines, self._title = tuple(outlines), title
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """A square that leaves room for the controls."""
        return QSize(260, 240)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw everything."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        line = painter.fontMetrics().height() + 4
        whole = self.rect().adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        wrap = Qt.TextFlag.TextWordWrap.value
        above = painter.boundingRect(whole, wrap, self._title).height() if self._title else 0
        room = QRectF(whole).adjusted(0, above, 0, -line)
        scale = min(room.width(), room.height()) / (2 * self._reach)
        ink = self.palette().windowText().color()
        for outline in self.outlines:
            paint_outline(painter, outline, room.center(), scale, ink)
        painter.setPen(ink)
        painter.drawText(whole, wrap, self._title)
        if self._unit and self.outlines:
            bar = QRectF(room.left(), room.bottom(), room.width(), line)
            length = round_length(bar.width() / 5 / scale)
            label = f"{length:g} {self._unit}"
            painter.drawText(bar, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, label)
            painter.setPen(QPen(ink, 2))
            right = QPointF(bar.right() - painter.fontMetrics().horizontalAdvance(label) - 6, bar.center().y())
            painter.drawLine(right - QPointF(length * scale, 0), right)
        painter.end()
        self.frames += 1


class Thumbnails(Drawing):
    """Outlines at one scale in two rows, A's above B's, as many as there is room for; a click chooses one."""

    chosen = Signal(int)  #: int: row of the curve among the pooled ones

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: list[list[tuple[int, Real]]] = [[], []]
        self.setMinimumHeight(2 * (_THUMBNAIL + _BETWEEN))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setToolTip("The curves most typical of each side and not of the other. Click one to see it above.")

    def show_curves(self, of_a: list[tuple[int, Real]], of_b: list[tuple[int, Real]]) -> None:
        """Show (row, outline) pairs of each side, strongest first."""
        self._rows = [of_a, of_b]
        self.update()

    def indices(self) -> list[list[int]]:
        """Rows of the curves shown, of A and of B."""
        return [[index for index, _ in row] for row in self._rows]

    def cell(self, side: int, place: int) -> QRectF:
        """Where a thumbnail lies."""
        left = self.fontMetrics().horizontalAdvance("B") + 8
        top = side * (_THUMBNAIL + _BETWEEN) + _BETWEEN // 2
        return QRectF(left + place * _THUMBNAIL, top, _THUMBNAIL, _THUMBNAIL)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Choose the curve under the mouse."""
        for side, row in enumerate(self._rows):
            for place, (index, _) in enumerate(row):
                if self.cell(side, place).contains(event.position()):
                    self.chosen.emit(index)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the thumbnails that fit into the width."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ink = self.palette().windowText().color()
        scale = (_THUMBNAIL / 2 - 2) / radius([curve for row in self._rows for _, curve in row])
        for index, (side, row) in enumerate(zip("AB", self._rows, strict=True)):
            for place, (_, curve) in enumerate(row):
                cell = self.cell(index, place)
                if place == 0:
                    painter.setPen(ink)
                    painter.drawText(cell.translated(2 - cell.left(), 0), Qt.AlignmentFlag.AlignVCenter, side)
                if cell.right() <= self.width():
                    outline = StyledOutline(curve, side, filled=True, width=1.2)
                    paint_outline(painter, outline, cell.center(), scale, ink)
        painter.end()


class OutlineButton(QPushButton):
    """An outline to click, with the letter of its side in the corner."""

    def __init__(self, row: int, side: str, outline: Real, reach: float, size: int = 52) -> None:
        super().__init__()
        self.row, self.side = row, side
        self._outline = StyledOutline(outline, side, filled=True, width=1.2)
        self._scale = (size / 2 - 4) / reach
        self.setFixedSize(size, size)
        self.setStyleSheet("padding: 0px;")
        self.setToolTip(f"A curve of {side}: click to pick it")
        self.setAccessibleName(f"curve {row} of {side}")

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the outline on the button."""
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ink = self.palette().windowText().color()
        painter.setPen(ink)
        painter.drawText(self.rect().adjusted(4, 1, 0, 0), Qt.AlignmentFlag.AlignLeft, self.side)
        paint_outline(painter, self._outline, QRectF(self.rect()).center(), self._scale, ink)
        painter.end()
