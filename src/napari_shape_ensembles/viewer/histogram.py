"""How large the objects are: a histogram with its range and median below it."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from qtpy.QtCore import QRectF, QSize, Qt
from qtpy.QtGui import QPainter, QPaintEvent
from qtpy.QtWidgets import QSizePolicy, QWidget

from .fonts import Drawing

_HEIGHT = 56
_MARGIN = 8
_BINS = 24
_NARROW = 200
_MIDDLE = "median diameter"


class Histogram(Drawing):
    """Numbers of objects over their size, on a logarithmic axis."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._values: NDArray[np.float64] = np.empty(0)
        self._unit = ""
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setToolTip("Equivalent diameters of the objects kept: diameters of circles of the same area.")

    def show_values(self, values: ArrayLike, unit: str) -> None:
        """Show positive sizes in a unit."""
        self._values, self._unit = np.asarray(values, dtype=np.float64), unit
        self.updateGeometry()
        self.update()

    def labels(self) -> list[str]:
        """Smallest, median and largest size, as written below the bars."""
        if not len(self._values):
            return ["", "no objects", ""]
        low, middle, high = np.quantile(self._values, [0, 0.5, 1])
        return [f"{low:.3g}", f"{_MIDDLE} {middle:.3g} {self._unit}", f"{high:.3g}"]

    def counts(self) -> NDArray[np.integer]:
        """Numbers of objects in equal steps of the logarithm of their size."""
        if not len(self._values):
            return np.zeros(_BINS, dtype=int)
        logs = np.log(self._values)
        spread = (logs.min(), logs.max()) if np.ptp(logs) > 0 else (logs[0] - 0.5, logs[0] + 0.5)
        return np.histogram(logs, _BINS, spread)[0]

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Room for the bars and the words."""
        width = max(_NARROW, self.fontMetrics().horizontalAdvance(f"{_MIDDLE} 00.00 pixel") + 2 * _MARGIN)
        return QSize(width, self.heightForWidth(width))

    minimumSizeHint = sizeHint  # noqa: N815 - Qt's name

    def heightForWidth(self, width: int) -> int:  # noqa: N802 - Qt's name
        """One line of words or two: asking for more width would move the dock while its preview changes."""
        return _HEIGHT + self._lines(width) * self.fontMetrics().height() + 6

    def _lines(self, width: int) -> int:
        return 1 if self.fontMetrics().horizontalAdvance("  ".join(self.labels())) <= width - 2 * _MARGIN else 2

    def paintEvent(self, event: QPaintEvent | None) -> None:  # noqa: N802 - Qt's name
        """Draw the bars and the words in the theme's colours."""
        painter = QPainter(self)
        counts = self.counts()
        width = (self.width() - 2 * _MARGIN) / _BINS
        heights = counts / max(counts.max(), 1) * (_HEIGHT - 2)
        color = self.palette().windowText().color()
        for index, height in enumerate(heights.tolist()):
            painter.fillRect(QRectF(_MARGIN + index * width, _HEIGHT - height, max(width - 1, 1), height), color)
        painter.setPen(color)
        painter.drawLine(_MARGIN, _HEIGHT, self.width() - _MARGIN, _HEIGHT)
        self._draw_words(painter)
        painter.end()

    def _draw_words(self, painter: QPainter) -> None:
        """The ends at the sides; the middle between them, or below."""
        height = self.fontMetrics().height()
        line = QRectF(_MARGIN, _HEIGHT + 4, self.width() - 2 * _MARGIN, height)
        below = line.translated(0, height) if self._lines(self.width()) > 1 else line
        low, middle, high = self.labels()
        painter.drawText(line, Qt.AlignmentFlag.AlignLeft, low)
        painter.drawText(below, Qt.AlignmentFlag.AlignHCenter, middle)
        painter.drawText(line, Qt.AlignmentFlag.AlignRight, high)
