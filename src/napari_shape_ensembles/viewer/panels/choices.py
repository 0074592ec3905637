"""Plot of a one-at-a-time sensitivity analysis: the truth-table row for each changed setting."""

from qtpy.QtCore import QEvent, QRectF, QSize, Qt
from qtpy.QtGui import QColor, QHelpEvent, QPainter, QPen
from qtpy.QtWidgets import QSizePolicy, QToolTip

from ...comparison.verdict import INCONCLUSIVE, ROW_WORDS
from ...studies import ChoiceStudy
from ...studies.choices import FIELDS, Choice
from ...words import p_text
from .fonts import Drawing
from .widgets import tip

_GAP = 4  # pixels between cells
_MARGINS = 8  # pixels of a cell's width that hold no words: its frame, and the space beside them
_CELLS_PER_ROW = 5  # cells per row, unless their labels need more width


class ChoicePicture(Drawing):
    """One row per setting, with a cell for each value that shows the resulting truth-table row.

    Cells that agree with the settings in use are filled, others have a dashed frame; the value in use has a bold frame.
    """

    def __init__(self) -> None:
        super().__init__()
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.study: ChoiceStudy | None = None
        self.lines: dict[str, list[Choice]] = {}

    def show_study(self, study: ChoiceStudy | None) -> None:
        self.study, self.lines = study, {} if study is None else study.rows()
        self.updateGeometry()
        self.update()

    def heightForWidth(self, width: int) -> int:
        return max(sum(self._height(own, width) for own in self.lines.values()), 1)

    def sizeHint(self) -> QSize:
        return QSize(220, self.heightForWidth(220))

    minimumSizeHint = sizeHint

    def _columns(self, own: list[Choice], width: int) -> int:
        """Return into how many columns the cells of a setting are put, so that their labels and rows fit."""
        words = [word for one in own for word in (one.label, self._row_words(one))]
        longest = max(map(self.fontMetrics().horizontalAdvance, words)) + _MARGINS
        fit = max(int((width + _GAP) // (longest + _GAP)), 1)
        rows = -(-len(own) // fit)
        return max(-(-len(own) // rows), min(fit, _CELLS_PER_ROW) if rows == 1 else 1)

    def _row_words(self, one: Choice) -> str:
        """Return the row of a cell in words, marked if it is not that of the settings in use."""
        assert self.study is not None
        case = "–" if one.case == INCONCLUSIVE else ROW_WORDS[one.case]
        return case if one.case == self.study.used.case else f"{case} !"

    def _height(self, own: list[Choice], width: int) -> int:
        """Return the height of a setting: its name, and its cells in one or more rows."""
        line, rows = self.fontMetrics().height(), -(-len(own) // self._columns(own, width))
        return line + 2 + rows * (2 * line + 2 + _GAP) + _GAP

    def boxes(self) -> list[tuple[QRectF, Choice]]:
        """Return the bounding box of the cell of each choice."""
        line, found, top = self.fontMetrics().height(), [], 0.0
        for own in self.lines.values():
            columns = self._columns(own, self.width())
            width = (self.width() + _GAP) / columns - _GAP
            for place, one in enumerate(own):
                row, column = divmod(place, columns)
                down = top + line + 2 + row * (2 * line + 2 + _GAP)
                found.append((QRectF(column * (width + _GAP), down, width, 2 * line + 2).adjusted(1, 0, -1, 0), one))
            top += self._height(own, self.width())
        return found

    def event(self, event: QEvent) -> bool:
        """Show the p-values of the hovered cell as a tooltip."""
        if isinstance(event, QHelpEvent):
            at = [one for box, one in self.boxes() if box.contains(event.pos())]
            QToolTip.showText(event.globalPos(), tip(self.sentence_of(at[0])) if at else "", self)
            return True
        return bool(super().event(event))

    def sentence_of(self, one: Choice) -> str:
        field = FIELDS[one.name]
        named = f"{field.label}: {one.label} {field.unit}".rstrip()
        if one.case == INCONCLUSIVE:
            return f"{named}: no answer{f' ({one.reason})' if one.reason else ''}."
        return f"{named}: {ROW_WORDS[one.case]} (form p = {p_text(one.undulation_p)}, scale p = {p_text(one.scale_p)})."

    def draw(self, painter: QPainter) -> None:
        if self.study is None:
            return
        ink, metrics = self.palette().windowText().color(), self.fontMetrics()
        line, top = metrics.height(), 0.0
        painter.setPen(ink)
        for own in self.lines.values():
            title = own[0].field_label
            painter.drawText(QRectF(0, top, self.width(), line + 2), Qt.AlignmentFlag.AlignLeft, title)
            top += self._height(own, self.width())
        for box, one in self.boxes():
            used = one.value == self.study.values[one.name]
            same = one.case == self.study.used.case
            fill = QColor(ink)
            fill.setAlpha(45 if same else 0)
            painter.setBrush(fill)
            style = Qt.PenStyle.SolidLine if same else Qt.PenStyle.DashLine
            painter.setPen(QPen(ink, 2.5 if used else 1, style))
            painter.drawRoundedRect(box, 3, 3)
            painter.setPen(ink)
            for words, half in ((one.label, 0), (self._row_words(one), 1)):
                place = QRectF(box.left() + 2, box.top() + 1 + half * line, box.width() - 4, line)
                short = metrics.elidedText(words, Qt.TextElideMode.ElideRight, int(place.width()))
                painter.drawText(place, Qt.AlignmentFlag.AlignCenter, short)
