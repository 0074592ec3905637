"""A colour bar for what the curves are painted by; Shapes layers have none of their own."""

import numpy as np
from napari.utils import Colormap
from numpy.typing import NDArray
from qtpy.QtCore import QPointF, QRectF, QSize, Qt
from qtpy.QtGui import QColor, QImage, QPainter, QPaintEvent, QPen, QPolygonF
from qtpy.QtWidgets import QSizePolicy, QWidget

from .fonts import Drawing
from .paints import Paint

Real = NDArray[np.float64]

_BAR, _BINS, _NARROW = 14, 40, 200


class ColorBar(Drawing):
    """The colours with their numbers below, and above them how many curves of A and of B have each colour."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._paint = Paint("", lambda result: np.empty(0))
        self._unit = ""
        self._limits = (0.0, 1.0)
        self._sides: tuple[Real, Real] = (np.empty(0), np.empty(0))
        self._pixels = np.empty(0)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setToolTip("Above the colours: how many curves of A and of B have them. ≥ and ≤: beyond, one colour.")
        self._color_by(self._paint.colormap)

    def show_values(self, paint: Paint, limits: tuple[float, float], a: Real, b: Real, unit: str) -> None:
        """Show the values of A's and B's curves on a scale."""
        self._paint, self._limits, self._unit = paint, limits, unit
        self._sides = (a[np.isfinite(a)], b[np.isfinite(b)])
        self._color_by(paint.colormap)
        self.updateGeometry()
        self.update()

    def _color_by(self, colormap: Colormap) -> None:
        colors = colormap.map(np.linspace(0, 1, 256))
        self._pixels = np.ascontiguousarray(np.round(colors * 255).astype(np.uint8))

    def labels(self) -> list[str]:
        """The words below the bar, from left to right."""
        if self._paint.ends is not None:
            return [self._paint.ends[0], "0" if self._paint.centred else "", self._paint.ends[1]]
        low, high = self._limits
        values = np.concatenate(self._sides)
        ends = [f"{value:.3g}" for value in (low, (low + high) / 2, high)]
        below, above = ((values < low).any(), (values > high).any()) if len(values) else (False, False)
        return [("≤ " if below else "") + ends[0], ends[1], ("≥ " if above else "") + ends[2] + self._in_unit()]

    def _in_unit(self) -> str:
        return f" {self._unit}" if self._unit else ""

    def shares(self) -> tuple[Real, Real]:
        """Share of A's and of B's curves in each of the bins along the bar; those beyond its ends in the last ones."""
        edges = np.linspace(*self._limits, _BINS + 1)
        counts = [np.histogram(np.clip(side, *self._limits), edges)[0] / max(len(side), 1) for side in self._sides]
        return counts[0], counts[1]

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Room for two distributions, the bar and one line of numbers."""
        words = self.fontMetrics().horizontalAdvance("  ".join(self.labels()))
        height = 2 * self._strip() + _BAR + self.fontMetrics().height() + 8
        return QSize(max(_NARROW, words + 2 * self._margin()), height)

    minimumSizeHint = sizeHint  # noqa: N815 - Qt's name

    def _strip(self) -> int:
        """Height of a distribution, beside which its image's letter stands."""
        return self.fontMetrics().height() + 4

    def _margin(self) -> int:
        return self.fontMetrics().horizontalAdvance("B") + 8

    def paintEvent(self, event: QPaintEvent | None) -> None:  # noqa: N802 - Qt's name
        """Draw all of it, in the theme's text colour."""
        painter = QPainter(self)
        ink = self.palette().windowText().color()
        margin, height = self._margin(), self._strip()
        width = self.width() - 2 * margin
        shares = self.shares()
        for index, (name, side, share) in enumerate(zip("AB", self._sides, shares, strict=True)):
            if not len(side):
                continue
            strip = QRectF(margin, index * height + 2, width, height - 4)
            self._draw_strip(painter, strip, share / (share.max() or 1.0), ink)
            painter.drawText(QRectF(0, strip.top(), margin - 4, height), Qt.AlignmentFlag.AlignRight, name)
        image = QImage(self._pixels.tobytes(), 256, 1, QImage.Format.Format_RGBA8888)
        painter.drawImage(QRectF(margin, 2 * height + 2, width, _BAR), image)
        line = QRectF(margin, 2 * height + _BAR + 4, width, self.fontMetrics().height() + 2)
        sides = (Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignHCenter, Qt.AlignmentFlag.AlignRight)
        for text, side in zip(self.labels(), sides, strict=True):
            painter.drawText(line, side, text)
        painter.end()

    def _draw_strip(self, painter: QPainter, strip: QRectF, heights: Real, ink: QColor) -> None:
        painter.setPen(QPen(ink, 1))
        painter.setBrush(QColor(ink.red(), ink.green(), ink.blue(), 110))
        painter.drawPolygon(steps(strip, heights))


def steps(box: QRectF, heights: Real) -> QPolygonF:
    """Outline of a histogram that fills a box, for heights from 0 to 1."""
    edges = np.repeat(np.linspace(box.left(), box.right(), len(heights) + 1), 2)
    tops = np.concatenate([[0], np.repeat(heights, 2), [0]])
    return QPolygonF([QPointF(x, box.bottom() - top * box.height()) for x, top in zip(edges, tops, strict=True)])
