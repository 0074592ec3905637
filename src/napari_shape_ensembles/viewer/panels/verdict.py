"""The answer at a glance: typical outlines, a dot plot of the replicates, and a headline sentence."""

from collections.abc import Sequence
from html import escape

import numpy as np
from qtpy.QtCore import QPointF, QRectF, QSize, Qt
from qtpy.QtGui import QPainter, QPen
from qtpy.QtWidgets import QSizePolicy, QWidget

from ...comparison import Comparison
from ...comparison.answer import border_words, empty_cells, in_one_line, names_of
from ...explanation.headline import Headline
from ...outlines.units import UNIT_SYMBOLS
from .distributions import paint_labels
from .fonts import Drawing, color_in, elided_apart
from .shape_canvas import TypicalOutlines
from .widgets import WrappedLabel, column, headline_label, tip

_DOT, _LINE = 5.0, 22  # pixels
_TYPICAL = (
    "Outlines nearest to the middle of their group in the quantities that differ, at one scale; the most typical one "
    "is filled. Click one, or use the arrow keys, to see it in its image."
)
_IN_BRACKETS = "In brackets: 95\N{NO-BREAK SPACE}% intervals"
_TABLE = (
    "Every quantity, whether a difference was detected or not: ratios of means with pointwise 95 % intervals; the "
    "coarse form has a distance in standard deviations instead. Bold: differs, by the p-value adjusted for the other "
    "quantities of the same test. Areas are tested as sizes."
)


class VerdictPanel(QWidget):
    """Shows a `Headline` and the estimates behind it; until it is computed, the summary of the comparison."""

    def __init__(self) -> None:
        super().__init__()
        self.picture, self.dots = TypicalOutlines(), ReplicateDots()
        self.picture.setMinimumHeight(170)
        self.picture.setMaximumHeight(230)
        # An expanding canvas would push the sentences apart on a tall screen.
        self.picture.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.sentence, self.beside = headline_label(), WrappedLabel()
        self.table, self.tested = WrappedLabel(rich=True), WrappedLabel()
        column(self.picture, self.dots, self.sentence, self.beside, self.table, page=self)

    def show_headline(self, result: Comparison | None, known: Headline | None, said: str = "") -> None:
        """Show the result, its headline if already computed, and the message of the last run."""
        drawn = result is not None and known is not None
        several = known is not None and max(map(len, known.replicate_means)) > 1
        self.picture.setVisible(drawn)
        self.table.setVisible(drawn)
        self.table.setText("" if known is None else table_html(known.estimates))
        empty = [] if result is None or known is None else empty_cells(result)
        missed = "" if known is None else known.missed
        self.table.setToolTip(tip(" ".join(filter(None, [_TABLE, *empty, missed]))))
        self.dots.setVisible(drawn and several)
        words, beside, border = said, "", ""
        if result is not None:
            words = in_one_line(result) if known is None else f"{known.opening} {known.sentence}".strip()
            beside = said
        if result is not None and known is not None:
            a, b = names_of(result)
            rows = [side.tolist() for side in known.typical]
            self.picture.show_typical(rows, known.outlines, known.means, (a, b), result.a.unit)
            self.picture.setToolTip(tip(f"{_TYPICAL} {known.formless}".strip()))
            unit = result.a.unit if known.drawn == "size" else ""
            of = "replicate" if result.permuted == "replicates" else "image"
            self.dots.show_means(known.replicate_means, known.drawn, unit, (a, b), of=of)
            self.tested.setText(
                f"Tested at a level of {result.settings.significance:g}, half of it for form and half for scale."
            )
            is_overruled = result.settings.overrule and bool(result.quality.serious)
            faults = "⚠ Shown despite faults of the outlines." if is_overruled else ""
            border = border_words(result)
            more = said, known.scope, border_words(result, briefly=True), faults
            beside = " ".join(words for words in more if words)
        self.sentence.show_text(words)
        self.sentence.setToolTip(_IN_BRACKETS if known is not None and "times" in known.sentence else "")
        self.beside.show_text(beside)
        self.beside.setToolTip(tip(border))


def table_html(rows: Sequence[tuple[str, ...]]) -> str:
    """Return the table of estimates as rich text: headings first, quantities that differ in bold."""
    lines = []
    for row in rows:
        cell = "th align=left" if row is rows[0] else "td style='font-weight: bold'" if row[-1] == "differs" else "td"
        cells = (escape(one.replace(" to ", "–")) for one in row[:-1])  # narrower, in a page of few words
        lines.append("".join(f"<{cell}>{one}</{cell[:2]}>" for one in cells))
    return f"<table cellpadding=2 cellspacing=0 style='font-size: small'><tr>{'</tr><tr>'.join(lines)}</tr></table>"


class ReplicateDots(Drawing):
    """Dot plot of the mean of a quantity per replicate, a line for each group, on a logarithmic axis."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.show_means(({}, {}), "size", "")

    def show_means(
        self,
        means: tuple[dict[str, float], dict[str, float]],
        quantity: str,
        unit: str,
        names: tuple[str, str] = ("A", "B"),
        *,
        of: str = "image",
    ) -> None:
        """Show the mean of a quantity of each image, or replicate, of two groups."""
        self.means, self._names, unit = means, names, UNIT_SYMBOLS.get(unit, unit)
        every = [mean for side in means for mean in side.values()] or [1.0]
        self._low, self._high = np.log(min(every)), np.log(max(every))
        room = 0.1 * (self._high - self._low) or 0.1
        self._low, self._high = self._low - room, self._high + room
        self.labels = (
            f"{np.exp(self._low):.3g}",
            f"mean {quantity} per {of}{f', {unit}' if unit else ''}",
            f"{np.exp(self._high):.3g}",
        )
        listed = [
            f"{group}: {name}: {mean:.3g} {unit}".strip()
            for group, own in zip(names, means, strict=True)
            for name, mean in own.items()
        ]
        self.setToolTip(
            "\n".join([f"One dot per {of}: geometric mean of the {quantity} of its outlines.", *listed[:30]])
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
        shown = elided_apart(metrics, self._names, [left - 10] * 2)
        for row, (side, words, own) in enumerate(zip("AB", shown, self.means, strict=True)):
            middle = row * _LINE + _LINE / 2
            painter.setPen(ink)
            painter.drawText(QRectF(0, row * _LINE, left, _LINE), Qt.AlignmentFlag.AlignVCenter, words)
            painter.drawLine(QPointF(left, middle), QPointF(left + room, middle))
            places = [left + room * (np.log(size) - self._low) / (self._high - self._low) for size in own.values()]
            color = color_in(self, side)
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
