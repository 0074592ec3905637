"""A scatter plot of the curves: any two of their numbers, A and B told apart by shape and colour."""

import numpy as np
from numpy.typing import NDArray
from qtpy.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from qtpy.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap, QPolygonF, QResizeEvent
from qtpy.QtWidgets import QWidget
from skimage.measure import points_in_poly

from .fonts import Drawing, elided
from .paints import BLUE, ORANGE

Real = NDArray[np.float64]
Index = NDArray[np.int64]

_RADIUS, _REACH = 3.0, 9.0
_SIGN = 12  # pixels that a mark takes in the legend
# From the edge of the ring around a picked point to its middle.
_RING = _RADIUS + 4.0


class Scatter(Drawing):
    """Points to look at, to click, and to draw a lasso around.

    Signals
    -------
    picked : array of pooled rows
        By a click or a lasso; Shift adds to what is picked.
    """

    picked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._points: Real = np.empty((0, 2))
        self._first = 0
        self._names = self._sides = ("", "")
        self._rows: Index = np.empty(0, dtype=np.int64)
        self._lasso: list[QPointF] = []
        self._picture: QPixmap | None = None
        self.setMinimumSize(220, 180)
        self.setToolTip("● A   ▲ B.  Click a curve, or draw a line around several; Shift adds.")

    def show_points(self, points: Real, first: int, names: tuple[str, str], sides: tuple[str, str] = ("", "")) -> None:
        """Show points (N, 2), the first of them A's; names of the horizontal and the vertical axis, and of A and B."""
        self._points, self._first, self._names, self._sides = points, first, names, sides
        self._picture = None
        self.update()

    def mark(self, rows: Index) -> None:
        """Mark the picked points."""
        self._rows = rows
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """A size to begin with."""
        return QSize(360, 260)

    def places(self) -> Real:
        """Points in pixels of the widget (N, 2), x to the right and y downwards."""
        low, high = self._span()
        box = self._box()
        share = (self._points - low) / (high - low)
        return np.stack([box.left() + share[:, 0] * box.width(), box.bottom() - share[:, 1] * box.height()], axis=1)

    def _span(self) -> tuple[Real, Real]:
        if not np.isfinite(self._points).any():
            return np.zeros(2), np.ones(2)
        low, high = np.nanmin(self._points, axis=0), np.nanmax(self._points, axis=0)
        room = np.where(high > low, 0.03 * (high - low), 0.5)
        return low - room, high + room

    def _box(self) -> QRectF:
        line = self.fontMetrics().height()
        margin, top = 2 * line + 4, 2 * line + 8
        return QRectF(margin, top, max(self.width() - margin - 6, 1), max(self.height() - margin - top, 1))

    def legend(self) -> tuple[str, str]:
        """What is written beside the marks of A and B, above the points: their names, as far as there is room."""
        room = self.width() / 2 - 2 * _SIGN
        a, b = (f"{side} {name}".strip() for side, name in zip("AB", self._sides, strict=True))
        return elided(self.fontMetrics(), a, room), elided(self.fontMetrics(), b, room)

    # Mouse -----------------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent | None) -> None:  # noqa: N802 - Qt's name
        """Begin a lasso, or a click."""
        if event is not None:
            self._lasso = [event.position()]

    def mouseMoveEvent(self, event: QMouseEvent | None) -> None:  # noqa: N802 - Qt's name
        """Go on with the lasso."""
        if event is not None and self._lasso:
            self._lasso.append(event.position())
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent | None) -> None:  # noqa: N802 - Qt's name
        """Pick what is inside, or what was clicked."""
        if event is None or not self._lasso:
            return
        lasso = np.array([(point.x(), point.y()) for point in [*self._lasso, event.position()]])
        self._lasso = []
        rows = self._inside(lasso) if np.ptp(lasso, axis=0).max() > _REACH else self._nearest(lasso[-1])
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            rows = np.union1d(self._rows, rows)
        self.picked.emit(rows)
        self.update()

    def _inside(self, lasso: Real) -> Index:
        return np.flatnonzero(points_in_poly(np.nan_to_num(self.places(), nan=-1e6), lasso))

    def _nearest(self, place: Real) -> Index:
        distance = np.linalg.norm(self.places() - place, axis=1)
        if not len(distance) or not np.nanmin(distance) <= _REACH:
            return np.empty(0, dtype=np.int64)
        return np.array([np.nanargmin(distance)])

    # Painting --------------------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent | None) -> None:  # noqa: N802 - Qt's name
        """Draw anew at another size."""
        self._picture = None

    def changeEvent(self, event: QEvent | None) -> None:  # noqa: N802 - Qt's name
        """Draw anew in other colours, or in another font."""
        super().changeEvent(event)
        self._picture = None

    def paintEvent(self, event: QPaintEvent | None) -> None:  # noqa: N802 - Qt's name
        """Draw the points once, and on top what is picked."""
        if self._picture is None:
            self._picture = self._drawn()
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ink = self.palette().windowText().color()
        places, ring = self.places(), _ring(ink, self.devicePixelRatioF())
        for x, y in places[self._rows[self._rows < len(places)]] - _RING:
            painter.drawPixmap(QPointF(x, y), ring)
        painter.setPen(QPen(ink, 1, Qt.PenStyle.DashLine))
        painter.drawPolyline(QPolygonF(self._lasso))
        painter.end()

    def _drawn(self) -> QPixmap:
        ratio = self.devicePixelRatioF()
        picture = QPixmap(self.size() * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        painter.setFont(self.font())  # a picture does not know what it is shown on
        self._draw_axes(painter)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        places = self.places()
        stamps = _stamps(ratio)
        self._draw_legend(painter, stamps)
        for row in np.flatnonzero(np.isfinite(places).all(axis=1)):
            stamp = stamps[int(row >= self._first)]
            painter.drawPixmap(QPointF(places[row, 0] - _RADIUS - 1, places[row, 1] - _RADIUS - 1), stamp)
        painter.end()
        return picture

    def _draw_axes(self, painter: QPainter) -> None:
        box, (low, high) = self._box(), self._span()
        line = self.fontMetrics().height()
        painter.setPen(self.palette().windowText().color())
        painter.drawLine(box.bottomLeft(), box.bottomRight())
        painter.drawLine(box.bottomLeft(), box.topLeft())
        below = QRectF(box.left(), box.bottom() + 3, box.width(), line + 2)
        _three_words(painter, below, (f"{low[0]:.2g}", f"{self._names[0]} →", f"{high[0]:.2g}"))
        above = QRectF(2, line + 2, self.width() - 4, line + 2)
        painter.drawText(above, Qt.AlignmentFlag.AlignLeft, f"↑ {self._names[1]}")
        painter.translate(2, box.bottom())
        painter.rotate(-90)
        _three_words(painter, QRectF(0, 8, box.height(), line + 2), (f"{low[1]:.2g}", "", f"{high[1]:.2g}"))
        painter.resetTransform()

    def _draw_legend(self, painter: QPainter, stamps: tuple[QPixmap, QPixmap]) -> None:
        line, left = self.fontMetrics().height(), 2.0
        for stamp, words in zip(stamps, self.legend(), strict=True):
            painter.drawPixmap(QPointF(left, line / 2 - _RADIUS), stamp)
            painter.drawText(QRectF(left + _SIGN, 0, self.width() / 2, line + 2), Qt.AlignmentFlag.AlignLeft, words)
            left += 2 * _SIGN + self.fontMetrics().horizontalAdvance(words)


def _three_words(painter: QPainter, line: QRectF, words: tuple[str, str, str]) -> None:
    """The smaller end, the name and the larger end of an axis."""
    low, name, high = words
    metrics = painter.fontMetrics()
    ends = [metrics.horizontalAdvance(f"{end} ") for end in (low, high)]
    middle = line.adjusted(ends[0], 0, -ends[1], 0)
    painter.drawText(line, Qt.AlignmentFlag.AlignLeft, low)
    painter.drawText(middle, Qt.AlignmentFlag.AlignHCenter, elided(metrics, name, middle.width()))
    painter.drawText(line, Qt.AlignmentFlag.AlignRight, high)


def _stamps(ratio: float) -> tuple[QPixmap, QPixmap]:
    """A round blue and a three-cornered orange point: drawn once, put down thousands of times."""
    return _stamp(BLUE, False, ratio), _stamp(ORANGE, True, ratio)


def _ring(color: QColor, ratio: float) -> QPixmap:
    """What is drawn around a point that is picked, its middle at `_RING`."""
    stamp = _blank(2 * _RING, ratio)
    painter = QPainter(stamp)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(color, 2))
    painter.drawEllipse(QPointF(_RING, _RING), _RADIUS + 2.5, _RADIUS + 2.5)
    painter.end()
    return stamp


def _blank(width: float, ratio: float) -> QPixmap:
    size = int(np.ceil(width * ratio))
    stamp = QPixmap(QSize(size, size))
    stamp.setDevicePixelRatio(ratio)
    stamp.fill(Qt.GlobalColor.transparent)
    return stamp


def _stamp(color: tuple[float, ...], cornered: bool, ratio: float) -> QPixmap:
    stamp = _blank(2 * (_RADIUS + 1), ratio)
    painter = QPainter(stamp)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor.fromRgbF(*color))
    middle = QPointF(_RADIUS + 1, _RADIUS + 1)
    if cornered:
        corners = [(0, -_RADIUS), (_RADIUS, _RADIUS), (-_RADIUS, _RADIUS)]
        painter.drawPolygon(QPolygonF([middle + QPointF(x, y) for x, y in corners]))
    else:
        painter.drawEllipse(middle, _RADIUS, _RADIUS)
    painter.end()
    return stamp
