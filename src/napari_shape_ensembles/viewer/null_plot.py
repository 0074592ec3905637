"""What the statistic of a test would be without a difference, and where the observed one lies."""

import numpy as np
from qtpy.QtCore import QPointF, QRect, QRectF, QSize, Qt
from qtpy.QtGui import QColor, QPainter, QPaintEvent, QPen
from qtpy.QtWidgets import QSizePolicy, QWidget

from ..mmd import MMDTest
from .colorbar import steps
from .fonts import Drawing

_BINS, _MARGIN, _PLOT = 40, 8, 56
_NARROW = 200


class NullPlot(Drawing):
    """Histogram of the permuted statistics, with the threshold as a dashed and the observed one as a solid line."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = title
        self._test: MMDTest | None = None
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setToolTip(
            "Grey: the MMD after shuffling the labels A and B, once per permutation. Dashed: the threshold. "
            "Solid, with a triangle: the MMD of your images. To the right of the threshold, a difference is detected."
        )

    def show_test(self, test: MMDTest) -> None:
        """Draw this test from now on."""
        self._test = test
        self.updateGeometry()
        self.update()

    def span(self) -> tuple[float, float]:
        """Smallest and largest value drawn."""
        if self._test is None:
            return 0.0, 1.0
        marks = [self._test.mmd, *([self._test.threshold] if np.isfinite(self._test.threshold) else [])]
        low, high = min(self._test.null.min(), *marks), max(self._test.null.max(), *marks)
        room = 0.05 * (high - low) or 0.05
        return float(low - room), float(high + room)

    def place(self, value: float) -> float:
        """Horizontal place of a value, in pixels of the widget."""
        low, high = self.span()
        return _MARGIN + (value - low) / (high - low) * (self.width() - 2 * _MARGIN)

    def caption(self) -> str:
        """The numbers in words."""
        test = self._test
        if test is None:
            return ""
        threshold = f"{test.threshold:.3f}" if np.isfinite(test.threshold) else "out of reach"
        return f"{self.title}: ▾ {test.mmd:.3f}, threshold ┆ {threshold}"

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Room for the caption, the histogram and a line of numbers."""
        return QSize(_NARROW, self.heightForWidth(_NARROW))

    minimumSizeHint = sizeHint  # noqa: N815 - Qt's name

    def heightForWidth(self, width: int) -> int:  # noqa: N802 - Qt's name
        """The caption may need two lines."""
        return self._caption_height(width) + _PLOT + self.fontMetrics().height() + 12

    def _caption_height(self, width: int) -> int:
        room = QRect(0, 0, width, 10 * _PLOT)
        return self.fontMetrics().boundingRect(room, Qt.TextFlag.TextWordWrap.value, self.caption() or " ").height()

    def paintEvent(self, event: QPaintEvent | None) -> None:  # noqa: N802 - Qt's name
        """Draw in the theme's text colour."""
        if self._test is None:
            return
        painter = QPainter(self)
        ink, line = self.palette().windowText().color(), self.fontMetrics().height()
        above = self._caption_height(self.width())
        box = QRectF(_MARGIN, above + 8, self.width() - 2 * _MARGIN, _PLOT)
        painter.setPen(ink)
        painter.drawText(QRect(0, 0, self.width(), above + 2), Qt.TextFlag.TextWordWrap.value, self.caption())
        self._draw_null(painter, box, ink)
        self._draw_marks(painter, box, ink)
        for value, side in zip(self.span(), (Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight), strict=True):
            painter.drawText(QRectF(box.left(), box.bottom() + 2, box.width(), line + 2), side, f"{value:.3f}")
        painter.drawText(
            QRectF(box.left(), box.bottom() + 2, box.width(), line + 2), Qt.AlignmentFlag.AlignHCenter, "MMD"
        )
        painter.end()

    def _draw_null(self, painter: QPainter, box: QRectF, ink: QColor) -> None:
        assert self._test is not None
        counts = np.histogram(self._test.null, np.linspace(*self.span(), _BINS + 1))[0]
        painter.setPen(QPen(ink, 1))
        painter.setBrush(QColor(ink.red(), ink.green(), ink.blue(), 70))
        painter.drawPolygon(steps(box, counts / max(counts.max(), 1)))

    def _draw_marks(self, painter: QPainter, box: QRectF, ink: QColor) -> None:
        assert self._test is not None
        if np.isfinite(self._test.threshold):
            painter.setPen(QPen(ink, 2, Qt.PenStyle.DashLine))
            x = self.place(self._test.threshold)
            painter.drawLine(QPointF(x, box.top() - 4), QPointF(x, box.bottom()))
        x = self.place(self._test.mmd)
        painter.setPen(QPen(ink, 2))
        painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))
        painter.setBrush(ink)
        painter.drawPolygon([QPointF(x - 5, box.top() - 5), QPointF(x + 5, box.top() - 5), QPointF(x, box.top() + 4)])
