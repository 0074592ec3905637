"""Color-by controls: the feature, the upper limit (percentile) of its color scale, and the color bar."""

import numpy as np
from qtpy.QtCore import QRectF, QSignalBlocker, QSize, Qt, Signal
from qtpy.QtGui import QImage, QPainter, QPen
from qtpy.QtWidgets import QSizePolicy, QWidget

from ..._types import Real
from ...comparison import Comparison
from ...outlines.units import UNIT_SYMBOLS
from ..layers import COLOR_FEATURES, DEFAULT_PERCENTILE, ColorFeature
from .distributions import bin_shares, paint_labels, paint_steps
from .fonts import Drawing, WholeBox
from .widgets import NarrowList, buddy_label, column, pass_wheel, row

_BAR, _BINS, _NARROW = 14, 40, 200
_ABOVE, _BESIDE = 4, 8  # pixels


class ColorBy(QWidget):
    """Combo box of the features that color the curves, the percentile of the upper limit, and the color bar."""

    changed = Signal(str, int)  #: (str, int): the chosen feature and percentile

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.choice = NarrowList(
            "Feature that colors the curves; all images share one color scale. Default: distance from the "
            "mean.\nTypical of A or B: the witness of the test, positive where curves of A are denser.",
            {name: feature.label for name, feature in COLOR_FEATURES.items()},
        )
        self.percentile = WholeBox()
        self.percentile.setRange(50, 100)
        self.percentile.setValue(DEFAULT_PERCENTILE)
        self.percentile.setSuffix(" %")
        pass_wheel(self.percentile)
        self.percentile.setToolTip(
            "Percentile of all curves at which the color scale ends; curves beyond share the last color. Default "
            f"{DEFAULT_PERCENTILE} %; 100 % for none."
        )
        self.colorbar = ColorBar()
        limit = row(buddy_label("Upper limit", self.percentile), self.percentile)
        limit.addStretch(1)
        self.limit = column(limit)
        column(buddy_label("Color &by", self.choice), self.choice, self.limit, self.colorbar, page=self)
        self.choice.currentIndexChanged.connect(self._emit_changed)
        self.percentile.valueChanged.connect(self._emit_changed)

    def _emit_changed(self) -> None:
        self.changed.emit(self.choice.currentData(), self.percentile.value())

    def show_colors(self, chosen: str, percentile: int, result: Comparison) -> None:
        """Show the feature that colors the curves of a result, and its contrast limits, without emitting `changed`."""
        with QSignalBlocker(self.choice), QSignalBlocker(self.percentile):
            self.choice.setCurrentIndex(self.choice.findData(chosen))
            self.percentile.setValue(percentile)
        feature, first = COLOR_FEATURES[chosen], len(result.a)
        values = feature.values(result)
        limits = feature.limits(values, percentile)
        unit = feature.unit.format(UNIT_SYMBOLS.get(result.a.unit, result.a.unit))
        self.colorbar.show_values(feature, limits, values[:first], values[first:], unit)
        self.show()


class ColorBar(Drawing):
    """A color bar with tick labels below it, and histograms of the values of A and of B above it.

    napari draws no color bar for Shapes layers.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setToolTip("Above the color bar: histograms of A and B. ≥ and ≤: values beyond share one color.")
        self.show_values(ColorFeature("", ""), (0.0, 1.0), np.empty(0), np.empty(0), "")

    def show_values(self, feature: ColorFeature, limits: tuple[float, float], a: Real, b: Real, unit: str) -> None:
        self._limits = limits
        self._sides = [side[np.isfinite(side)] for side in (a, b)]
        colors = np.round(255 * feature.colormap.map(np.linspace(0, 1, 256)))
        self._pixels = colors.astype(np.uint8).tobytes()
        if feature.ends is not None:
            self.labels = [feature.ends[0], "0" if feature.diverging else "", feature.ends[1]]
        else:
            (low, high), values = limits, np.concatenate(self._sides)
            below, above = "≤ " * bool((values < low).any()), "≥ " * bool((values > high).any())
            self.labels = [f"{below}{low:.3g}", f"{(low + high) / 2:.3g}", f"{above}{high:.3g} {unit}".strip()]
        self.updateGeometry()
        self.update()

    def shares(self) -> list[Real]:
        """Return the histograms of A and of B along the bar, as fractions; outliers are counted in the outer bins."""
        return bin_shares(self._sides, *self._limits, _BINS)

    def sizeHint(self) -> QSize:
        font = self.fontMetrics()
        width = font.horizontalAdvance("  ".join(self.labels)) + 2 * (font.horizontalAdvance("B") + _BESIDE)
        return QSize(max(_NARROW, width), 2 * (font.height() + _ABOVE) + _BAR + font.height() + 8)

    minimumSizeHint = sizeHint

    def draw(self, painter: QPainter) -> None:
        ink = QPen(self.palette().windowText().color(), 1)
        # With two samples, the margin holds the letter of each.
        margin, height = self.fontMetrics().horizontalAdvance("B") + _BESIDE, self.fontMetrics().height() + _ABOVE
        bar = QRectF(margin, 2 * height + 2, self.width() - 2 * margin, _BAR)
        for index, (name, side, share) in enumerate(zip("AB", self._sides, self.shares(), strict=True)):
            if len(side):
                strip = QRectF(margin, index * height + 2, bar.width(), height - 4)
                paint_steps(painter, strip, share / (share.max() or 1.0), ink, 110)
                if all(map(len, self._sides)):
                    painter.drawText(QRectF(0, strip.top(), margin - 4, height), Qt.AlignmentFlag.AlignRight, name)
        painter.drawImage(bar, QImage(self._pixels, 256, 1, QImage.Format.Format_RGBA8888))
        painter.setPen(ink)
        line = QRectF(margin, bar.bottom() + 2, bar.width(), self.fontMetrics().height() + 2)
        paint_labels(painter, line, self.labels)
