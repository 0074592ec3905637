"""Histograms and a stacked bar, painted by Qt in the theme's colors."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from qtpy.QtCore import QPointF, QRect, QRectF, QSize, Qt
from qtpy.QtGui import QBrush, QPainter, QPen, QPolygonF
from qtpy.QtWidgets import QSizePolicy

from ..._types import Real
from ...mmd import MMDTest
from ...outlines.units import UNIT_SYMBOLS
from .fonts import Drawing, color_in
from .widgets import tip

_MARGIN, _PLOT, _NARROW = 8, 56, 200  # pixels
_MARKER_HALF_WIDTH_PX = 5  # half the width of the triangular marker, in pixels
_WRAP = Qt.TextFlag.TextWordWrap.value


def bin_shares(samples: Sequence[Real], low: float, high: float, bins: int) -> list[Real]:
    """Return a histogram of each sample from `low` to `high`, as fractions; outliers are counted in the outer bins."""
    edges = np.linspace(low, high, bins + 1)
    return [np.histogram(np.clip(values, low, high), edges)[0] / max(len(values), 1) for values in samples]


def paint_steps(painter: QPainter, box: QRectF, heights: Real, pen: QPen, alpha: int) -> None:
    """Paint a histogram with heights from 0 to 1 into a box, filled with the pen's color at this alpha.

    With an alpha of 0, the baseline is not drawn.
    """
    sides = np.repeat(np.linspace(box.left(), box.right(), len(heights) + 1), 2)
    tops = box.bottom() - box.height() * np.concatenate([[0], np.repeat(heights, 2), [0]])
    fill = pen.color()
    fill.setAlpha(alpha)
    painter.setPen(pen)
    painter.setBrush(fill)
    # PySide6 accepts no iterator here, and an exception raised while painting aborts the process.
    corners = QPolygonF([QPointF(x, y) for x, y in zip(sides.tolist(), tops.tolist(), strict=True)])
    (painter.drawPolygon if alpha else painter.drawPolyline)(corners)


def paint_labels(painter: QPainter, line: QRectF, labels: Sequence[str]) -> None:
    """Draw the tick labels at the minimum, the center and the maximum of an axis."""
    sides = (Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignHCenter, Qt.AlignmentFlag.AlignRight)
    for label, side in zip(labels, sides, strict=True):
        painter.drawText(line, side, label)


class Histogram(Drawing):
    """A histogram with a labeled axis, a caption and markers; subclasses define the data.

    The axis is labeled at its minimum, center and maximum. The observed value is marked by a solid line with a
    triangle, the threshold by a dashed line; neither is drawn if it is not finite.
    """

    bins = 40
    longest = ""  #: The longest possible label, for a size hint (and dock width) that does not depend on the values.

    def __init__(self) -> None:
        super().__init__()
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.show_distribution(np.empty(0), (0.0, 1.0), ("", "", ""))

    def show_distribution(
        self,
        values: Real,
        span: tuple[float, float],
        labels: Sequence[str],
        caption: str = "",
        observed: float = np.nan,
        threshold: float = np.nan,
    ) -> None:
        self.values, self.span, self.labels, self.caption = values, span, labels, caption
        self.observed, self.threshold = observed, threshold
        self.updateGeometry()
        self.update()

    def counts(self) -> NDArray[np.integer]:
        return np.histogram(self.values, self.bins, self.span)[0]

    def place(self, value: float) -> float:
        """Return the x coordinate of a value, in widget pixels."""
        low, high = self.span
        return _MARGIN + (value - low) / (high - low) * (self.width() - 2 * _MARGIN)

    def sizeHint(self) -> QSize:
        width = max(_NARROW, self.fontMetrics().horizontalAdvance(self.longest) + 2 * _MARGIN)
        return QSize(width, self.heightForWidth(width))

    minimumSizeHint = sizeHint

    def heightForWidth(self, width: int) -> int:
        """Wrap caption and labels onto a second line if needed: a larger width would resize the dock."""
        font = self.fontMetrics()
        lines = 1 if font.horizontalAdvance("  ".join(self.labels)) <= width - 2 * _MARGIN else 2
        caption = font.boundingRect(QRect(0, 0, width, 10 * _PLOT), _WRAP, self.caption).height() + _MARGIN
        return (caption if self.caption else 0) + _PLOT + lines * font.height() + _MARKER_HALF_WIDTH_PX

    def draw(self, painter: QPainter) -> None:
        ink, line = self.palette().windowText().color(), self.fontMetrics().height()
        counts = self.counts()
        caption = self.fontMetrics().boundingRect(QRect(0, 0, self.width(), 10 * _PLOT), _WRAP, self.caption)
        above = caption.height() + _MARGIN if self.caption else 0
        lines = (self.heightForWidth(self.width()) - above - _PLOT - _MARKER_HALF_WIDTH_PX) // line
        box = QRectF(_MARGIN, above, self.width() - 2 * _MARGIN, _PLOT)
        painter.setPen(ink)
        painter.drawText(self.rect(), _WRAP, self.caption)
        below = QRectF(box.left(), box.bottom() + 3, box.width(), line + 2)
        low, middle, high = self.labels
        paint_labels(painter, below, (low, "", high))
        paint_labels(painter, below.translated(0, (lines - 1) * line), ("", middle, ""))
        paint_steps(painter, box, counts / max(counts.max(), 1), QPen(ink, 1), 70)
        for value, style in ((self.threshold, Qt.PenStyle.DashLine), (self.observed, Qt.PenStyle.SolidLine)):
            if np.isfinite(value):
                painter.setPen(QPen(ink, 2, style))
                top = QPointF(self.place(value), box.top())
                painter.drawLine(top, QPointF(top.x(), box.bottom()))
        if np.isfinite(self.observed):
            painter.setBrush(ink)
            corners = [
                QPointF(-_MARKER_HALF_WIDTH_PX, -_MARKER_HALF_WIDTH_PX),
                QPointF(_MARKER_HALF_WIDTH_PX, -_MARKER_HALF_WIDTH_PX),
                QPointF(0, _MARKER_HALF_WIDTH_PX),
            ]
            painter.drawPolygon(QPolygonF([top + corner for corner in corners]))


class SizeHistogram(Histogram):
    """Histogram of the objects' equivalent diameters, on a logarithmic axis."""

    bins = 24
    longest = "median diameter 000.0 px"

    def __init__(self) -> None:
        super().__init__()
        self.setToolTip("Equivalent diameters of the objects kept: diameters of circles of the same area.")

    def show_values(self, values: ArrayLike, unit: str) -> None:
        """Show positive sizes in a unit, with their minimum, median and maximum as labels."""
        sizes = np.asarray(values, dtype=np.float64)
        if not len(sizes):
            self.show_distribution(sizes, (0.0, 1.0), ("", "no objects", ""))
            return
        low, middle, high = np.quantile(sizes, [0, 0.5, 1])
        room = 0.0 if high > low else 0.5
        labels = f"{low:.3g}", f"median diameter {middle:.3g} {UNIT_SYMBOLS.get(unit, unit)}", f"{high:.3g}"
        self.show_distribution(np.log(sizes), (np.log(low) - room, np.log(high) + room), labels)


class NullPlot(Histogram):
    """Null (permutation) distribution of a test statistic, with the threshold and the observed value."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title
        self.setToolTip(
            "Gray: null distribution of the MMD, from permuted group labels. Dashed: the threshold. Solid, with "
            "a triangle: the MMD of your images. To the right of the threshold, a difference is detected."
        )

    def show_test(self, test: MMDTest) -> None:
        reachable = np.isfinite(test.threshold)
        # Tests without permutations have an empty null.
        drawn = np.concatenate([test.null, [test.mmd], [test.threshold] if reachable else []])
        low, high = float(drawn.min()), float(drawn.max())
        room = 0.05 * (high - low) or 0.05
        low, high = low - room, high + room
        caption = (
            f"{self.title}: ▾ {test.mmd:.3f}, threshold ┆ {f'{test.threshold:.3f}' if reachable else 'out of reach'}"
        )
        labels = f"{low:.3f}", "MMD", f"{high:.3f}"
        self.show_distribution(test.null, (low, high), labels, caption, test.mmd, test.threshold)


class PairedHistogram(Drawing):
    """Overlaid histograms of two groups: the first filled, the second as a bold dashed line."""

    def __init__(self) -> None:
        super().__init__()
        self._shares = [np.zeros(1)] * 2
        self.setFixedHeight(_PLOT)

    def show_samples(self, a: Real, b: Real, names: tuple[str, str] = ("the first group", "the second group")) -> None:
        """Show the normalized histograms of two groups with common bins; outliers are counted in the outer bins."""
        of_a, of_b = names
        self.setToolTip(tip(f"Distribution of the coordinate in {of_a} (filled) and in {of_b} (dashed)"))
        low, high = np.quantile(np.concatenate([a, b]), [0.005, 0.995])
        self._shares = bin_shares([a, b], low, high if high > low else low + 1, 24)
        self.update()

    def shares(self) -> list[Real]:
        return self._shares

    def draw(self, painter: QPainter) -> None:
        top = max(*(share.max() for share in self._shares), 1e-12)
        pens = QPen(color_in(self, "A"), 1), QPen(color_in(self, "B"), 2, Qt.PenStyle.DashLine)
        for share, pen, alpha in zip(self._shares, pens, (110, 0), strict=True):
            paint_steps(painter, QRectF(self.rect()).adjusted(1, 2, -1, -2), share / top, pen, alpha)


class ShareBar(Drawing):
    """A stacked bar of fractions of a whole, with a legend that gives each fraction and its interval."""

    _FILLS = (
        Qt.BrushStyle.SolidPattern,
        Qt.BrushStyle.BDiagPattern,
        Qt.BrushStyle.CrossPattern,
        Qt.BrushStyle.Dense5Pattern,
    )

    def __init__(self) -> None:
        super().__init__()
        self._shares: Sequence[float] = ()
        self.lines: list[str] = []  #: of the legend below the bar
        self.setToolTip(
            "Share of each component in the squared MMD of all four, with its 95 % bootstrap interval; dimensionless."
        )

    def show_shares(self, shares: Sequence[float], lines: list[str]) -> None:
        self._shares, self.lines = shares, lines
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        widest = max((metrics.horizontalAdvance(line) for line in self.lines), default=0)
        return QSize(22 + widest, 26 + len(self.lines) * (metrics.height() + 2))

    minimumSizeHint = sizeHint

    def draw(self, painter: QPainter) -> None:
        ink = self.palette().windowText().color()
        left, line = 1.0, self.fontMetrics().height() + 2
        for i, (share, words) in enumerate(zip(self._shares, self.lines, strict=True)):
            painter.setPen(ink)
            painter.setBrush(QBrush(ink, self._FILLS[i % 4]))
            painter.drawRect(QRectF(left, 1, share * (self.width() - 2), 18))
            left += share * (self.width() - 2)
            top = 24 + i * line
            painter.drawRect(QRectF(1, top + 3, 14, line - 6))
            painter.drawText(QRectF(22, top, self.width() - 22, line), Qt.AlignmentFlag.AlignVCenter, words)
