"""A scatter plot of the curves: any two measurements, the groups distinguished by marker and color."""

import numpy as np
from qtpy.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from qtpy.QtGui import QColor, QMouseEvent, QPainter, QPainterPath, QPen, QPixmap, QPolygonF, QResizeEvent
from skimage.measure import points_in_poly

from ..._types import Index, Real
from ...palette import COLOR_A, COLOR_B
from ..panels.distributions import paint_labels
from ..panels.fonts import Drawing, elided, elided_apart, painting
from ..panels.shape_canvas import SIDE_MARKS
from ..panels.widgets import tip

_RADIUS, _PICK_RADIUS = 3.0, 9.0
_RING = 5.5  # radius of the ring around a selected point
_STAMP = 7.0  # half the width of a marker's pixmap
_LEGEND_MARKER_PX = 12  # width of a marker in the legend, in pixels
_LEAST_PX = 150  # height of the plot itself


class ScatterPlot(Drawing):
    """Scatter plot with selection by click and by lasso."""

    picked = Signal(object)  #: array: pooled indices selected by click or lasso; Shift extends the selection
    hovered = Signal(int)  #: int: pooled index of the hovered curve, or -1

    def __init__(self) -> None:
        super().__init__()
        self.points: Real = np.empty((0, 2))
        self.rows: Index = np.empty(0, dtype=np.int64)
        self._first = 0
        self._names = self._sides = ("", "")
        self._lasso: list[QPointF] = []
        self._hovered_row = -1
        self._pixmap: QPixmap | None = None
        self.setMouseTracking(True)
        self.setAccessibleName("Scatter plot of the curves")

    def show_points(self, points: Real, first: int, names: tuple[str, str], sides: tuple[str, str] = ("", "")) -> None:
        """Show points (N, 2), the `first` of them of one group; `names` label the x and y axis, `sides` the groups."""
        self.points, self._first, self._names, self._sides = points, first, names, sides
        self._pixmap = None
        marks = "   ".join(f"{mark} {side}" for mark, side in zip(SIDE_MARKS.values(), sides, strict=True))
        self.setToolTip(tip(f"{marks}\nClick a curve, or draw a line around several; Shift adds."))
        self.update()

    def mark(self, rows: Index) -> None:
        self.rows = rows
        self.update()

    def highlight(self, row: int) -> None:
        """Highlight the curve that is hovered in any linked view; -1 for none."""
        self._hovered_row = row
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(360, 260)

    def minimumSizeHint(self) -> QSize:
        """The least height at which points can be told apart, besides the lines of text around them."""
        _, top, below = self._margins()
        return QSize(220, _LEAST_PX + top + below)

    def widget_points(self) -> Real:
        """Return the points (N, 2) in widget pixels, x to the right and y downwards."""
        low, high = self.span()
        box = self._box()
        share = (self.points - low) / (high - low)
        return np.stack([box.left() + share[:, 0] * box.width(), box.bottom() - share[:, 1] * box.height()], axis=1)

    def span(self) -> tuple[Real, Real]:
        """Return the lower and upper limits of both axes; that of a nonnegative quantity does not start below 0."""
        if not np.isfinite(self.points).any():
            return np.zeros(2), np.ones(2)
        low, high = np.nanmin(self.points, axis=0), np.nanmax(self.points, axis=0)
        room = np.where(high > low, 0.03 * (high - low), 0.5)
        return np.where(low >= 0, np.maximum(low - room, 0), low - room), high + room

    def _box(self) -> QRectF:
        left, top, below = self._margins()
        return QRectF(left, top, max(self.width() - left - 6, 1), max(self.height() - top - below, 1))

    def _margins(self) -> tuple[int, int, int]:
        """Room for the labels at the left, above and below."""
        line = self.fontMetrics().height()
        return 2 * line + 4, 2 * line + 8, line + 6

    def legend(self) -> tuple[str, str]:
        """Return the legend entries of both groups, elided to the available width: one takes what the other leaves."""
        metrics, half = self.fontMetrics(), self.width() / 2 - 2 * _LEGEND_MARKER_PX
        rooms = (max(half, 2 * half - metrics.horizontalAdvance(other)) for other in self._sides[::-1])
        a, b = elided_apart(metrics, self._sides, [*rooms])
        return a, b

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:  # the right one opens the menu
            self._lasso = [event.position()]

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._lasso:
            self._lasso.append(event.position())
            self.update()
        else:
            found = self._index_at(np.array([event.position().x(), event.position().y()]))
            self.hovered.emit(int(found[0]) if len(found) else -1)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.hovered.emit(-1)

    def _index_at(self, place: Real) -> Index:
        """Return the index of the point nearest to a widget position, empty if none is within reach."""
        distance = np.nan_to_num(np.linalg.norm(self.widget_points() - place, axis=1), nan=np.inf)
        return np.argsort(distance)[:1][np.sort(distance)[:1] <= _PICK_RADIUS]

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if not self._lasso:
            return
        lasso = np.array([(point.x(), point.y()) for point in [*self._lasso, event.position()]])
        self._lasso = []
        if np.ptp(lasso, axis=0).max() > _PICK_RADIUS:
            rows = np.flatnonzero(points_in_poly(np.nan_to_num(self.widget_points(), nan=-1e6), lasso))
        else:
            rows = self._index_at(lasso[-1])
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            rows = np.union1d(self.rows, rows)
        self.picked.emit(rows)
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._pixmap = None

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        self._pixmap = None

    def draw(self, painter: QPainter) -> None:
        """Draw the points, cached in a pixmap, and the selection on top."""
        if self._pixmap is None:
            self._pixmap = _blank(self.size(), self.devicePixelRatioF())
            with painting(self._pixmap) as once:
                self._draw_points(once)
        painter.drawPixmap(0, 0, self._pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ink = self.palette().windowText().color()
        _draw_markers(
            painter, _circle(_RING), self.widget_points()[self.rows[self.rows < len(self.points)]], QPen(ink, 2)
        )
        if 0 <= self._hovered_row < len(self.points):
            _draw_markers(painter, _circle(_RING), self.widget_points()[[self._hovered_row]], QPen(ink, 1))
        painter.setPen(QPen(ink, 1, Qt.PenStyle.DashLine))
        painter.drawPolyline(QPolygonF(self._lasso))

    def _draw_points(self, painter: QPainter) -> None:
        metrics = self.fontMetrics()
        painter.setFont(self.font())  # a painter on a pixmap does not inherit the widget's
        ink, box, line = self.palette().windowText().color(), self._box(), metrics.height() + 2
        (left, bottom), (right, top) = (tuple(f"{value:.2g}" for value in ends) for ends in self.span())
        painter.setPen(ink)
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
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        triangle = QPainterPath(QPointF(0, -_RADIUS))
        for x in (_RADIUS, -_RADIUS):
            triangle.lineTo(x, _RADIUS)
        places, key = self.widget_points(), 2.0  # x of the next legend entry
        sides = places[: self._first], places[self._first :]
        looks = (_circle(_RADIUS), COLOR_A), (triangle, COLOR_B)
        for (mark, color), side, words in zip(looks, sides, self.legend(), strict=True):
            painter.setPen(ink)
            painter.drawText(QRectF(key + _LEGEND_MARKER_PX, 0, self.width(), line), Qt.AlignmentFlag.AlignLeft, words)
            finite = side[np.isfinite(side).all(axis=1)]
            legend = [(key + _RADIUS + 1, metrics.height() / 2 + 1)]
            _draw_markers(painter, mark, np.concatenate([legend, finite]), QPen(Qt.PenStyle.NoPen), QColor(color))
            key += 2 * _LEGEND_MARKER_PX + metrics.horizontalAdvance(words)


def _circle(radius: float) -> QPainterPath:
    path = QPainterPath()
    path.addEllipse(QPointF(0, 0), radius, radius)
    return path


def _draw_markers(painter: QPainter, mark: QPainterPath, places: Real, pen: QPen, fill: QColor | None = None) -> None:
    """Draw a marker at each position: rendered once to a pixmap, which is blitted thousands of times."""
    stamp = _blank(QSize(int(2 * _STAMP), int(2 * _STAMP)), painter.device().devicePixelRatioF())
    with painting(stamp) as once:
        once.setRenderHint(QPainter.RenderHint.Antialiasing)
        once.translate(_STAMP, _STAMP)
        once.setPen(pen)
        once.setBrush(Qt.BrushStyle.NoBrush if fill is None else fill)
        once.drawPath(mark)
    for x, y in (places - _STAMP).tolist():
        painter.drawPixmap(QPointF(x, y), stamp)


def _blank(size: QSize, ratio: float) -> QPixmap:
    picture = QPixmap(size * ratio)
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    return picture
