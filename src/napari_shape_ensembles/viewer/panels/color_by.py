"""Color-by controls: the feature, the upper limit (percentile) of its color scale, and the color bar."""

import numpy as np
from qtpy.QtCore import QRectF, QSignalBlocker, QSize, Qt, Signal
from qtpy.QtGui import QImage, QPainter, QPen
from qtpy.QtWidgets import QSizePolicy, QWidget

from ..._types import Real
from ...comparison import Comparison
from ...comparison.colorings import COLORINGS, Coloring, with_names
from ...comparison.display import DEFAULT_PERCENTILE
from ...outlines.units import UNIT_SYMBOLS
from ..layers import colormap_of
from .distributions import bin_shares, paint_labels, paint_steps
from .fonts import Drawing, WholeBox, elided_apart
from .widgets import NarrowList, buddy_label, column, pass_wheel, row, tip

_BAR, _BINS, _NARROW = 14, 40, 200
_ABOVE, _BESIDE, _MAX_NAME = 4, 8, 80  # pixels


class ColorBy(QWidget):
    """Combo box of the features that color the curves, the percentile of the upper limit, and the color bar."""

    changed = Signal(str, int)  #: (str, int): the chosen feature and percentile

    def __init__(self) -> None:
        super().__init__()
        self.choice = NarrowList(
            "Feature that colors the curves; all images share one color scale. Default: distance from the "
            "mean.\nTypical of a group: the witness of the test, positive where curves of the first group are denser.",
            {name: with_names(feature.label) for name, feature in COLORINGS.items()},
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
            for place, feature in enumerate(COLORINGS.values()):
                self.choice.setItemText(place, with_names(feature.label, result.names))
                meaning = tip(with_names(feature.meaning, result.names))
                self.choice.setItemData(place, meaning, Qt.ItemDataRole.ToolTipRole)
            self.choice.setCurrentIndex(self.choice.findData(chosen))
            self.percentile.setValue(percentile)
        feature, first = COLORINGS[chosen], len(result.a)
        values = feature.values(result)
        limits = feature.limits(values, percentile)
        unit = feature.unit.format(UNIT_SYMBOLS.get(result.a.unit, result.a.unit))
        self.colorbar.show_values(feature, limits, values[:first], values[first:], unit, result.names)
        self.show()


class ColorBar(Drawing):
    """A color bar with tick labels below it, and histograms of the values of both groups above it.

    napari draws no color bar for Shapes layers.
    """

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.show_values(Coloring("", ""), (0.0, 1.0), np.empty(0), np.empty(0), "")

    def show_values(
        self,
        feature: Coloring,
        limits: tuple[float, float],
        a: Real,
        b: Real,
        unit: str,
        names: tuple[str, str] = ("", ""),
    ) -> None:
        """Show the colors of a feature, and the histograms of its values in two named groups, or in one."""
        self._limits, self._names = limits, names
        self._sides = [side[np.isfinite(side)] for side in (a, b)]
        colors = np.round(255 * colormap_of(feature).map(np.linspace(0, 1, 256)))
        self._pixels = colors.astype(np.uint8).tobytes()
        if feature.ends is not None:
            left, right = (with_names(end, names) for end in feature.ends)
            self.labels = [left, "0" if feature.diverging else "", right]
        else:
            (low, high), values = limits, np.concatenate(self._sides)
            below, above = "≤ " * bool((values < low).any()), "≥ " * bool((values > high).any())
            self.labels = [f"{below}{low:.3g}", f"{(low + high) / 2:.3g}", f"{above}{high:.3g} {unit}".strip()]
        groups = f"histograms of {names[0]} and of {names[1]}. " if all(names) else "a histogram. "
        self.setToolTip(tip(f"Above the color bar: {groups}≥ and ≤: values beyond share one color."))
        self._fixed = feature.ends is None  # whether all labels have to fit, as names are elided
        self.updateGeometry()
        self.update()

    def shares(self) -> list[Real]:
        """Return the histogram of each group along the bar, as fractions; outliers are counted in the outer bins."""
        return bin_shares(self._sides, *self._limits, _BINS)

    def sizeHint(self) -> QSize:
        font = self.fontMetrics()
        width = font.horizontalAdvance("  ".join(self.labels)) * self._fixed + self._margin() + _BESIDE
        return QSize(max(_NARROW, width), 2 * (font.height() + _ABOVE) + _BAR + font.height() + 8)

    minimumSizeHint = sizeHint

    def _margin(self) -> int:
        """Return the width left of the bar, in which the names of two groups are shown."""
        widest = max(map(self.fontMetrics().horizontalAdvance, self._names)) if all(map(len, self._sides)) else 0
        return min(widest, _MAX_NAME) + _BESIDE

    def draw(self, painter: QPainter) -> None:
        ink, metrics = QPen(self.palette().windowText().color(), 1), self.fontMetrics()
        margin, height = self._margin(), metrics.height() + _ABOVE
        bar = QRectF(margin, 2 * height + 2, self.width() - margin - _BESIDE, _BAR)
        shown = elided_apart(metrics, self._names, [margin - _BESIDE] * len(self._names))
        for index, (words, side, share) in enumerate(zip(shown, self._sides, self.shares(), strict=True)):
            if len(side):
                strip = QRectF(margin, index * height + 2, bar.width(), height - 4)
                paint_steps(painter, strip, share / (share.max() or 1.0), ink, 110)
                if all(map(len, self._sides)):
                    painter.drawText(QRectF(0, strip.top(), margin - 4, height), Qt.AlignmentFlag.AlignRight, words)
        painter.drawImage(bar, QImage(self._pixels, 256, 1, QImage.Format.Format_RGBA8888))
        painter.setPen(ink)
        line = QRectF(margin, bar.bottom() + 2, bar.width(), metrics.height() + 2)
        room = line.width() if self._fixed else line.width() / 2 - metrics.horizontalAdvance("  0")
        paint_labels(painter, line, elided_apart(metrics, self.labels, [room] * len(self.labels)))
