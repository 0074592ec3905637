"""Small drawings of outlines: one large live shape, thumbnails, and bars. Painted by Qt, in the theme's colours."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from qtpy.QtCore import QPointF, QRectF, QSize, Qt, Signal
from qtpy.QtGui import QBrush, QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from qtpy.QtWidgets import QSizePolicy, QWidget

from .fonts import Drawing

Real = NDArray[np.float64]

#: Colours of A and B, distinct to colour-blind eyes and on both themes; B's lines are dashed as well.
COLOURS = {"A": "#3b8fd9", "B": "#e08214", "": "#8c8c8c"}
_LINES = {"A": Qt.PenStyle.SolidLine, "B": Qt.PenStyle.DashLine}
_MARGIN = 10


@dataclass(frozen=True, eq=False)
class Drawn:
    """An outline (n, 2) in (row, column), whose it is ("A", "B" or neither), and how it is drawn."""

    curve: Real
    side: str = ""
    filled: bool = False
    dashed: bool = False
    width: float = 2.0


class ShapeCanvas(Drawing):
    """Outlines over each other at one scale, with a bar that tells how long a unit is."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._drawn: tuple[Drawn, ...] = ()
        self._reach = 1.0
        self._unit = ""
        self._words = ""
        self.painted = 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(200, 200)

    def set_scale(self, reach: float, unit: str) -> None:
        """Show at least `reach` units around the centre, so that a moving shape is seen to grow."""
        self._reach, self._unit = max(reach, 1e-12), unit
        self.update()

    def show_shapes(self, drawn: Sequence[Drawn], words: str = "") -> None:
        """Draw these outlines, the last one on top, and a line of words."""
        self._drawn, self._words = tuple(drawn), words
        self.update()

    def shapes(self) -> tuple[Drawn, ...]:
        """What is drawn."""
        return self._drawn

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """A square that leaves room for the controls."""
        return QSize(260, 240)

    def paintEvent(self, event: QPaintEvent | None) -> None:  # noqa: N802 - Qt's name
        """Draw everything."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        line = painter.fontMetrics().height() + 4
        whole = self.rect().adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        wrap = Qt.TextFlag.TextWordWrap.value
        above = painter.boundingRect(whole, wrap, self._words).height() if self._words else 0
        room = QRectF(whole).adjusted(0, above, 0, -line)
        scale = min(room.width(), room.height()) / (2 * self._reach)
        ink = self.palette().windowText().color()
        for one in self._drawn:
            paint_outline(painter, one, room.center(), scale, ink)
        painter.setPen(ink)
        painter.drawText(whole, wrap, self._words)
        self._paint_bar(painter, QRectF(room.left(), room.bottom(), room.width(), line), scale)
        painter.end()
        self.painted += 1

    def _paint_bar(self, painter: QPainter, line: QRectF, scale: float) -> None:
        """Paint the bar that tells how long a unit is."""
        metrics = painter.fontMetrics()
        length = round_length(line.width() / 5 / scale)
        label = f"{length:g} {self._unit}" if self._unit and self._drawn else ""
        if label:
            painter.drawText(line, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, label)
            painter.setPen(QPen(self.palette().windowText().color(), 2))
            right = QPointF(line.right() - metrics.horizontalAdvance(label) - 6, line.center().y())
            painter.drawLine(right - QPointF(length * scale, 0), right)


def paint_outline(painter: QPainter, one: Drawn, centre: QPointF, scale: float, ink: QColor) -> None:
    """Draw one outline around `centre`, rows downwards."""
    points = one.curve[:, ::-1] * scale + (centre.x(), centre.y())
    polygon = QPolygonF([QPointF(x, y) for x, y in points.tolist()])
    colour = QColor(COLOURS[one.side]) if one.side else ink
    pen = QPen(colour, one.width, Qt.PenStyle.DashLine if one.dashed else Qt.PenStyle.SolidLine)
    fill = QColor(colour)
    fill.setAlpha(60)
    painter.setPen(pen)
    painter.setBrush(QBrush(fill) if one.filled else QBrush())
    painter.drawPolygon(polygon)


def round_length(longest: float) -> float:
    """The largest of 1, 2 or 5 times a power of ten that is not above `longest`."""
    power = 10.0 ** np.floor(np.log10(longest))
    return float(max(step for step in (1, 2, 5) if step * power <= longest) * power)


class Densities(QWidget):
    """Two histograms over each other: A filled, B as a bold dashed line."""

    _BINS = 24

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bars: tuple[Real, Real] = (np.zeros(1), np.zeros(1))
        self.setFixedHeight(54)
        self.setToolTip("Distribution of the coordinate over the curves of A (filled) and of B (dashed)")

    def show_samples(self, a: Real, b: Real) -> None:
        """Show the shares of A's and of B's values in common bins, outliers in the outer ones."""
        low, high = np.quantile(np.concatenate([a, b]), [0.005, 0.995])
        edges = np.linspace(low, high if high > low else low + 1, self._BINS + 1)
        counts = [np.histogram(np.clip(x, edges[0], edges[-1]), edges)[0] / max(len(x), 1) for x in (a, b)]
        self._bars = counts[0], counts[1]
        self.update()

    def bars(self) -> tuple[Real, Real]:
        """Shares of A's and of B's values in each bin."""
        return self._bars

    def paintEvent(self, event: QPaintEvent | None) -> None:  # noqa: N802 - Qt's name
        """Draw both as steps."""
        painter = QPainter(self)
        top = max(float(max(bars.max() for bars in self._bars)), 1e-12)
        step, height = (self.width() - 2) / len(self._bars[0]), self.height() - 4
        for side, bars in zip("AB", self._bars, strict=True):
            corners = [QPointF(1, 2 + height)]
            for place, share in enumerate(bars):
                y = 2 + height * (1 - share / top)
                corners += [QPointF(1 + place * step, y), QPointF(1 + (place + 1) * step, y)]
            corners.append(QPointF(1 + len(bars) * step, 2 + height))
            colour = QColor(COLOURS[side])
            painter.setPen(QPen(colour, 1 if side == "A" else 2, _LINES[side]))
            colour.setAlpha(110)
            painter.setBrush(QBrush(colour) if side == "A" else QBrush())
            painter.drawPolygon(QPolygonF(corners))
        painter.end()


class Gallery(Drawing):
    """Thumbnails of outlines at one scale in two rows, A's above B's; a click chooses one.

    Signals
    -------
    chosen : int
        Row of the curve among the pooled ones.
    """

    chosen = Signal(int)

    _SIZE = 46

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: list[list[tuple[int, Real]]] = [[], []]
        self.setMinimumHeight(2 * (self._SIZE + 18))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setToolTip("The curves most typical of each image and not of the other. Click one to see it above.")

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
        return QRectF(left + place * self._SIZE, side * (self._SIZE + 18) + 9, self._SIZE, self._SIZE)

    def mousePressEvent(self, event: QMouseEvent | None) -> None:  # noqa: N802 - Qt's name
        """Choose the curve under the mouse."""
        assert event is not None
        for side, row in enumerate(self._rows):
            for place, (index, _) in enumerate(row):
                if self.cell(side, place).contains(event.position()):
                    self.chosen.emit(index)

    def paintEvent(self, event: QPaintEvent | None) -> None:  # noqa: N802 - Qt's name
        """Draw the thumbnails that fit into the width."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ink = self.palette().windowText().color()
        curves = [curve for row in self._rows for _, curve in row]
        reach = max((float(np.linalg.norm(curve, axis=1).max()) for curve in curves), default=1.0)
        for side, row in enumerate(self._rows):
            name = "AB"[side]
            if row:
                painter.setPen(ink)
                room = QRectF(2, self.cell(side, 0).top(), self.cell(side, 0).left(), self._SIZE)
                painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, name)
            for place, (_, curve) in enumerate(row):
                cell = self.cell(side, place)
                if cell.right() <= self.width():
                    paint_outline(painter, Drawn(curve, name, True, False, 1.2), cell.center(), 21 / reach, ink)
        painter.end()


class ShareBar(Drawing):
    """Shares of a difference as one bar, each part named below with its interval."""

    _FILLS = (
        Qt.BrushStyle.SolidPattern,
        Qt.BrushStyle.BDiagPattern,
        Qt.BrushStyle.CrossPattern,
        Qt.BrushStyle.Dense5Pattern,
    )

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._parts: list[tuple[str, float, tuple[float, float]]] = []
        self.setToolTip(
            "Share of each component in the squared MMD of all four, with its 95 % bootstrap interval; without unit."
        )

    def show_shares(self, parts: list[tuple[str, float, tuple[float, float]]]) -> None:
        """Show (name, share, interval) of each part."""
        self._parts = parts
        self.updateGeometry()
        self.update()

    def lines(self) -> list[str]:
        """What stands below the bar."""
        return [f"{name} {share:.0%} ({low:.0%} to {high:.0%})" for name, share, (low, high) in self._parts]

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Room for the bar and its lines."""
        metrics = self.fontMetrics()
        widest = max((metrics.horizontalAdvance(line) for line in self.lines()), default=0)
        return QSize(22 + widest, 26 + len(self._parts) * (metrics.height() + 2))

    minimumSizeHint = sizeHint  # noqa: N815 - Qt's name

    def paintEvent(self, event: QPaintEvent | None) -> None:  # noqa: N802 - Qt's name
        """Draw the bar, then a line for each part with a patch of its pattern."""
        painter = QPainter(self)
        ink = self.palette().windowText().color()
        left, line = 1.0, self.fontMetrics().height() + 2
        for i, ((_, share, _), words) in enumerate(zip(self._parts, self.lines(), strict=True)):
            painter.setPen(ink)
            painter.setBrush(QBrush(ink, self._FILLS[i % 4]))
            painter.drawRect(QRectF(left, 1, share * (self.width() - 2), 18))
            left += share * (self.width() - 2)
            top = 24 + i * line
            painter.drawRect(QRectF(1, top + 3, 14, line - 6))
            painter.drawText(QRectF(22, top, self.width() - 22, line), Qt.AlignmentFlag.AlignVCenter, words)
        painter.end()
