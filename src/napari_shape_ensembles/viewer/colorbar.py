"""A colour bar for what the curves are painted by; Shapes layers have none of their own."""

import numpy as np
from napari.utils.colormaps import ensure_colormap
from qtpy.QtCore import QRectF, QSize, Qt
from qtpy.QtGui import QImage, QPainter, QPaintEvent
from qtpy.QtWidgets import QSizePolicy, QWidget

_BAR_HEIGHT = 14
_MARGIN = 8


class ColorBar(QWidget):
    """Horizontal bar with its limits below it, and a sign where larger values share the last colour."""

    def __init__(self, colormap: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        colors = ensure_colormap(colormap).map(np.linspace(0, 1, 256))
        self._pixels = np.ascontiguousarray(np.round(colors * 255).astype(np.uint8))
        self._limits = (0.0, 1.0)
        self._clipped = False
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_limits(self, low: float, high: float, *, clipped: bool) -> None:
        """Set the values at the two ends, and whether there are larger ones."""
        self._limits, self._clipped = (low, high), clipped
        self.update()

    def labels(self) -> list[str]:
        """The numbers below the bar, from left to right."""
        low, high = self._limits
        ends = [f"{value:.3g}" for value in (low, (low + high) / 2, high)]
        return [*ends[:2], ("≥ " if self._clipped else "") + ends[2]]

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Room for the bar and one line of numbers."""
        return QSize(200, _BAR_HEIGHT + self.fontMetrics().height() + 6)

    minimumSizeHint = sizeHint  # noqa: N815 - Qt's name

    def paintEvent(self, event: QPaintEvent | None) -> None:  # noqa: N802 - Qt's name
        """Draw the colours and the numbers, in the theme's text colour."""
        painter = QPainter(self)
        width = self.width() - 2 * _MARGIN
        image = QImage(self._pixels.tobytes(), 256, 1, QImage.Format.Format_RGBA8888)
        painter.drawImage(QRectF(_MARGIN, 2, width, _BAR_HEIGHT), image)
        line = QRectF(_MARGIN, _BAR_HEIGHT + 4, width, self.fontMetrics().height())
        painter.setPen(self.palette().windowText().color())
        sides = (Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignHCenter, Qt.AlignmentFlag.AlignRight)
        for text, side in zip(self.labels(), sides, strict=True):
            painter.drawText(line, side, text)
        painter.end()
