"""The answer at a glance: typical outlines, a dot plot of the images, and a headline sentence."""

import numpy as np
from qtpy.QtCore import QPointF, QRectF, QSize, Qt
from qtpy.QtGui import QColor, QPainter, QPen
from qtpy.QtWidgets import QSizePolicy, QWidget

from ...comparison import Comparison
from ...comparison.answer import names_of
from ...explanation.headline import Headline
from ...outlines.units import UNIT_SYMBOLS
from ...palette import SIDE_COLORS
from .distributions import paint_labels
from .fonts import Drawing, elided
from .shape_canvas import TypicalOutlines
from .widgets import column, headline_label, tip, wrapped_label

_DOT, _LINE = 5.0, 22  # pixels
_TYPICAL = (
    "Outlines nearest to the middle of their group in the quantities that differ, at one scale; the most typical one "
    "is filled. Click one, or use the arrow keys, to see it in its image."
)


class VerdictPanel(QWidget):
    """Shows a `Headline`; until it is computed, the summary of the comparison."""

    def __init__(self) -> None:
        super().__init__()
        self.picture, self.dots = TypicalOutlines(), ImageDots()
        self.picture.setMinimumHeight(170)
        self.picture.setMaximumHeight(230)
        # An expanding canvas would push the sentences apart on a tall screen.
        self.picture.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.sentence, self.beside = headline_label(), wrapped_label()
        column(self.picture, self.dots, self.sentence, self.beside, page=self)

    def show_headline(self, result: Comparison | None, known: Headline | None, said: str = "") -> None:
        """Show the result, its headline if already computed, and the message of the last run."""
        drawn = result is not None and known is not None
        several = known is not None and max(map(len, known.image_sizes)) > 1
        self.picture.setVisible(drawn)
        self.dots.setVisible(drawn and several)
        words, beside = said, ""
        if result is not None:
            words = result.summary() if known is None else known.sentence
            beside = said
        if result is not None and known is not None:
            a, b = names_of(result)
            rows = [side.tolist() for side in known.typical]
            self.picture.show_typical(rows, known.outlines, known.means, (a, b), result.a.unit)
            self.picture.setToolTip(tip(f"{_TYPICAL} {known.formless}".strip()))
            self.dots.show_sizes(known.image_sizes, result.a.unit, (a, b))
            level = f"{result.settings.significance:g}"
            tested = (
                f"Tested at a level of {level}, half of it for form and half for scale; in brackets: "
                "95\N{NO-BREAK SPACE}% intervals."
            )
            interval = tested if "times" in known.sentence else ""
            note = f"⚠ {result.note}." if result.note else ""
            is_overruled = result.settings.overrule and bool(result.quality.serious)
            faults = "⚠ Shown despite faults of the outlines." if is_overruled else ""
            more = (said, known.missed, known.scope, note, faults, interval, known.formless)
            beside = " ".join(words for words in more if words)
        self.sentence.show_text(words)
        self.beside.show_text(beside)


class ImageDots(Drawing):
    """Dot plot of the mean outline size per image, a line for each group, on a logarithmic axis."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.show_sizes(({}, {}), "")

    def show_sizes(
        self, sizes: tuple[dict[str, float], dict[str, float]], unit: str, names: tuple[str, str] = ("A", "B")
    ) -> None:
        """Show the mean outline size of each image of two groups."""
        self.sizes, self._names, unit = sizes, names, UNIT_SYMBOLS.get(unit, unit)
        every = [size for side in sizes for size in side.values()] or [1.0]
        self._low, self._high = np.log(min(every)), np.log(max(every))
        room = 0.1 * (self._high - self._low) or 0.1
        self._low, self._high = self._low - room, self._high + room
        self.labels = f"{np.exp(self._low):.3g}", f"mean size per image, {unit}", f"{np.exp(self._high):.3g}"
        listed = [
            f"{group}: {name}: {size:.3g} {unit}"
            for group, own in zip(names, sizes, strict=True)
            for name, size in own.items()
        ]
        self.setToolTip(
            "\n".join(["One dot per image: mean (geometric) of the RMS extents of its outlines.", *listed[:30]])
        )
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, 2 * _LINE + self.fontMetrics().height() + 6)

    minimumSizeHint = sizeHint

    def draw(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ink, metrics = self.palette().windowText().color(), self.fontMetrics()
        left = min(max(map(metrics.horizontalAdvance, self._names)) + 10.0, self.width() / 3)
        room = self.width() - left - 10
        for row, (side, group, own) in enumerate(zip("AB", self._names, self.sizes, strict=True)):
            middle = row * _LINE + _LINE / 2
            painter.setPen(ink)
            words = elided(metrics, group, left - 10)
            painter.drawText(QRectF(0, row * _LINE, left, _LINE), Qt.AlignmentFlag.AlignVCenter, words)
            painter.drawLine(QPointF(left, middle), QPointF(left + room, middle))
            places = [left + room * (np.log(size) - self._low) / (self._high - self._low) for size in own.values()]
            color = QColor(SIDE_COLORS[side])
            color.setAlpha(190)
            painter.setBrush(color)
            for place in places:
                painter.drawEllipse(QPointF(place, middle), _DOT, _DOT)
            if places:
                painter.setPen(QPen(ink, 3))
                mean = float(np.mean(places))
                painter.drawLine(QPointF(mean, middle - _LINE / 2 + 2), QPointF(mean, middle + _LINE / 2 - 2))
        painter.setPen(ink)
        paint_labels(painter, QRectF(left, 2 * _LINE + 2, room, metrics.height() + 2), self.labels)
