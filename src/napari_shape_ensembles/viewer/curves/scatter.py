"""A scatter plot of the curves: any two of their numbers, A and B told apart by shape and color."""

import numpy as np
from numpy.typing import NDArray
from qtpy.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from qtpy.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap, QPolygonF, QResizeEvent
from qtpy.QtWidgets import QWidget
from skimage.measure import points_in_poly

from ...palette import COLOR_A, COLOR_B
from ..panels.distributions import paint_labels
from ..panels.fonts import Drawing, elided

Real = NDArray[np.float64]
Index = NDArray[np.int64]

_RADIUS, _REACH = 3.0, 9.0
_RING = 5.5  # radius of the ring around a picked point
_STAMP = 7.0  # half the width of the picture of a mark
_SIGN = 12  # pixels that a mark takes in the legend


class ScatterPlot(Drawing):
    """Points to look at, to click, and to draw a lasso around.

    Signals
    -------
    picked : array of pooled rows
        By a click or a lasso; Shift adds to what is picked.
    """

    picked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.points: Real = np.empty((0, 2))
        self.rows: Index = np.empty(0, dtype=np.int64)
        self._first = 0
        self._names = self._sides = ("", "")
        self._lasso: list[QPointF] = []
        self._picture: QPixmap | None = None
        self.setMinimumSize(220, 180)
        self.setToolTip("● A   ▲ B.  Click a curve, or draw a line around several; Shift adds.")

    def show_points(self, points: Real, first: int, names: tuple[str, str], sides: tuple[str, str] = ("", "")) -> None:
        """Show points (N, 2), the first of them A's; names of the horizontal and the vertical axis, and of A and B."""
        self.points, self._first, self._names, self._sides = points, first, names, sides
        self._picture = None
        self.update()

    def mark(self, rows: Index) -> None:
        """Mark the picked points."""
        self.rows = rows
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """A size to begin with."""
        return QSize(360, 260)

    def places(self) -> Real:
        """Points in pixels of the widget (N, 2), x to the right and y downwards."""
        low, high = self.span()
        box = self._box()
        share = (self.points - low) / (high - low)
        return np.stack([box.left() + share[:, 0] * box.width(), box.bottom() - share[:, 1] * box.height()], axis=1)

    def span(self) -> tuple[Real, Real]:
        """Lower ends and upper ends of both axes; an axis of numbers that are not negative does not begin below 0."""
        if not np.isfinite(self.points).any():
            return np.zeros(2), np.ones(2)
        low, high = np.nanmin(self.points, axis=0), np.nanmax(self.points, axis=0)
        room = np.where(high > low, 0.03 * (high - low), 0.5)
        return np.where(low >= 0, np.maximum(low - room, 0), low - room), high + room

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

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Begin a lasso, or a click."""
        self._lasso = [event.position()]

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Go on with the lasso."""
        if self._lasso:
            self._lasso.append(event.position())
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Pick what is inside, or what was clicked."""
        if not self._lasso:
            return
        lasso = np.array([(point.x(), point.y()) for point in [*self._lasso, event.position()]])
        self._lasso = []
        rows = self._inside(lasso) if np.ptp(lasso, axis=0).max() > _REACH else self._nearest(lasso[-1])
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            rows = np.union1d(self.rows, rows)
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

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Draw anew at another size."""
        self._picture = None

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Draw anew in other colors, or in another font."""
        super().changeEvent(event)
        self._picture = None

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the points once, and on top what is picked."""
        if self._picture is None:
            self._picture = self._painted()
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ink = self.palette().windowText().color()
        ring = _stamp(self.devicePixelRatioF(), pen=QPen(ink, 2), size=_RING)
        _put(painter, ring, self.places()[self.rows[self.rows < len(self.points)]])
        painter.setPen(QPen(ink, 1, Qt.PenStyle.DashLine))
        painter.drawPolyline(QPolygonF(self._lasso))
        painter.end()

    def _painted(self) -> QPixmap:
        ratio = self.devicePixelRatioF()
        picture = _blank(self.size(), ratio)
        painter = QPainter(picture)
        painter.setFont(self.font())  # a picture does not know what it is shown on
        self._paint_axes(painter)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        stamps = _stamp(ratio, QColor(COLOR_A)), _stamp(ratio, QColor(COLOR_B), corners=True)
        self._paint_legend(painter, stamps)
        places = self.places()
        for stamp, side in zip(stamps, (places[: self._first], places[self._first :]), strict=True):
            _put(painter, stamp, side[np.isfinite(side).all(axis=1)])
        painter.end()
        return picture

    def _paint_axes(self, painter: QPainter) -> None:
        box, metrics = self._box(), self.fontMetrics()
        line = metrics.height() + 2
        (left, bottom), (right, top) = (tuple(f"{value:.2g}" for value in ends) for ends in self.span())
        painter.setPen(self.palette().windowText().color())
        painter.drawLine(box.bottomLeft(), box.bottomRight())
        painter.drawLine(box.bottomLeft(), box.topLeft())
        room = box.width() - 2 * max(metrics.horizontalAdvance(f"{end}  ") for end in (left, right))
        name = elided(metrics, f"{self._names[0]} →", room)
        paint_labels(painter, QRectF(box.left(), box.bottom() + 3, box.width(), line), (left, name, right))
        painter.drawText(QRectF(2, line, self.width() - 4, line), Qt.AlignmentFlag.AlignLeft, f"↑ {self._names[1]}")
        painter.translate(2, box.bottom())
        painter.rotate(-90)
        paint_labels(painter, QRectF(0, 8, box.height(), line), (bottom, "", top))
        painter.resetTransform()

    def _paint_legend(self, painter: QPainter, stamps: tuple[QPixmap, QPixmap]) -> None:
        line, left = self.fontMetrics().height(), 2.0
        for stamp, words in zip(stamps, self.legend(), strict=True):
            _put(painter, stamp, np.array([[left + _RADIUS + 1, line / 2 + 1]]))
            painter.drawText(QRectF(left + _SIGN, 0, self.width() / 2, line + 2), Qt.AlignmentFlag.AlignLeft, words)
            left += 2 * _SIGN + self.fontMetrics().horizontalAdvance(words)


def _put(painter: QPainter, stamp: QPixmap, places: Real) -> None:
    """Draw a mark at each of many places."""
    for x, y in (places - _STAMP).tolist():
        painter.drawPixmap(QPointF(x, y), stamp)


def _stamp(
    ratio: float,
    brush: QColor | None = None,
    *,
    pen: QPen | None = None,
    size: float = _RADIUS,
    corners: bool = False,
) -> QPixmap:
    """A mark, round or three-cornered: drawn once, put down thousands of times."""
    stamp = _blank(QSize(int(2 * _STAMP), int(2 * _STAMP)), ratio)
    painter = QPainter(stamp)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(pen or QPen(Qt.PenStyle.NoPen))
    if brush is not None:
        painter.setBrush(brush)
    painter.translate(_STAMP, _STAMP)
    if corners:
        painter.drawPolygon(QPolygonF([QPointF(0, -size), QPointF(size, size), QPointF(-size, size)]))
    else:
        painter.drawEllipse(QPointF(0, 0), size, size)
    painter.end()
    return stamp


def _blank(size: QSize, ratio: float) -> QPixmap:
    picture = QPixmap(size * ratio)
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    return picture
