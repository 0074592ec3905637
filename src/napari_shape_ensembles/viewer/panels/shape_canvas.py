"""Widgets that paint outlines in the theme's colors: a large live canvas, and thumbnails."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from qtpy.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt, Signal
from qtpy.QtGui import QBrush, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap, QPolygonF
from qtpy.QtWidgets import QGridLayout, QPushButton, QSizePolicy, QWidget
from shapely import Point, Polygon

from ..._types import Index, Real
from ...outlines.units import UNIT_SYMBOLS
from .fonts import Drawing, NamedLine, color_in, elided_apart, painting
from .widgets import clear_layout, tip

_MARGIN, _DOT = 10, 4.0  # pixels
_TITLE_SHARE = 0.6  # of the width, beside a scale bar
_THIN, _MARKED = 1.2, 3.5  # lines of typical outlines, and of the selected ones, in pixels
_REACH_PX = 5  # distance of a click that chooses the line of an outline
_THUMBNAILS_PER_ROW = 4  # thumbnails per row
#: Mark of each group, as colors alone do not tell them apart.
SIDE_MARKS = {"A": "●", "B": "▲"}


@dataclass(frozen=True, eq=False)
class StyledOutline:
    """An outline (n, 2) in (row, column), its side ("A", "B", or "" for the text color), and its line style."""

    curve: Real
    side: str = ""
    filled: bool = False
    dashed: bool = False
    width: float = 2.0


def paint_outline(painter: QPainter, outline: StyledOutline, centre: QPointF, scale: float, widget: QWidget) -> None:
    """Draw an outline around `centre`, rows downwards; a filled one is stroked in the text color for contrast."""
    points = outline.curve[:, ::-1] * scale + (centre.x(), centre.y())
    color = color_in(widget, outline.side)
    style = Qt.PenStyle.DashLine if outline.dashed else Qt.PenStyle.SolidLine
    style = style if outline.width else Qt.PenStyle.NoPen
    painter.setPen(QPen(color_in(widget) if outline.filled else color, outline.width, style))
    color.setAlpha(130 if outline.side else 60)
    painter.setBrush(QBrush(color) if outline.filled else QBrush())
    painter.drawPolygon(QPolygonF([QPointF(x, y) for x, y in points.tolist()]))


def radius(outlines: Iterable[Real]) -> float:
    """Return the largest distance of any vertex from the origin, or 1 without vertices."""
    return max((float(np.linalg.norm(outline, axis=1).max()) for outline in outlines), default=1.0) or 1.0


def round_length(longest: float) -> float:
    """Return the largest 1, 2 or 5 times a power of ten that is not above `longest`."""
    power = 10.0 ** np.floor(np.log10(longest))
    return float(max(step for step in (1, 2, 5) if step * power <= longest) * power)


class ShapeCanvas(Drawing):
    """Overlaid outlines at a common scale, with a scale bar."""

    def __init__(self) -> None:
        super().__init__()
        self.outlines: tuple[StyledOutline, ...] = ()  #: outlines drawn, the last one on top
        self.dots: Real = np.empty((0, 2))  #: (row, column) of marked points
        self._reach, self._columns, self._unit = 1.0, 1, ""
        self.title = ""  #: text above the outlines
        self.frames = 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(200, 200)

    def set_scale(self, reach: float, unit: str, *, columns: int = 1) -> None:
        """Set the visible extent to `reach` units around the center, so that growth of an animated shape is visible.

        With several columns of outlines, each is as wide.
        """
        self._reach, self._columns, self._unit = max(reach, 1e-12), columns, UNIT_SYMBOLS.get(unit, unit)
        self.update()

    def show_shapes(self, outlines: Sequence[StyledOutline], title: str = "", dots: Real | tuple[()] = ()) -> None:
        """Draw these outlines, the last one on top, a title, and dots at marked points."""
        self.outlines, self.title, self.dots = tuple(outlines), title, np.reshape(dots, (-1, 2))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(260, 240)

    def draw(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        room, scale, title = self._layout()
        ink, metrics = self.palette().windowText().color(), painter.fontMetrics()
        for outline in self.outlines:
            paint_outline(painter, outline, room.center(), scale, self)
        painter.setPen(QPen(ink, _DOT, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        for row, column in (self.dots * scale).tolist():
            painter.drawPoint(room.center() + QPointF(column, row))
        painter.setPen(ink)
        painter.drawText(title, Qt.TextFlag.TextWordWrap.value, self.title)
        if self._unit and self.outlines:
            line = QRectF(
                room.left(), title.top() if self._columns > 1 else room.bottom(), room.width(), _line(metrics)
            )
            length = round_length(line.width() / 5 / scale)
            label = f"{length:g} {self._unit}"
            painter.drawText(line, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, label)
            painter.setPen(QPen(ink, 2))
            right = QPointF(line.right() - metrics.horizontalAdvance(label) - 6, line.center().y())
            painter.drawLine(right - QPointF(length * scale, 0), right)
        self.frames += 1

    def _layout(self) -> tuple[QRectF, float, QRect]:
        """Return the rectangle of the outlines, the pixels per unit of length, and the rectangle of the title.

        The scale bar is below the outlines; of several columns, beside the title, as their names are below.
        """
        metrics = self.fontMetrics()
        whole = self.rect().adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        free = round(whole.width() * _TITLE_SHARE) if self._columns > 1 else whole.width()
        title = QRect(whole.left(), whole.top(), free, whole.height())
        above = metrics.boundingRect(title, Qt.TextFlag.TextWordWrap.value, self.title).height() if self.title else 0
        room = QRectF(whole).adjusted(0, above, 0, -_line(metrics))
        return room, min(room.width() / self._columns, room.height()) / (2 * self._reach), title


def _line(metrics: QFontMetrics) -> int:
    """Return the height of the scale bar or of the names of groups."""
    return metrics.height() + 4


class TypicalOutlines(ShapeCanvas):
    """Typical outlines of two groups beside each other at one scale; a click, or an arrow key, chooses one of them."""

    chosen = Signal(int)  #: int: index of the chosen curve into the pooled sample

    def __init__(self) -> None:
        super().__init__()
        self.rows: tuple[int, ...] = ()  #: of the outlines that can be chosen, the most typical of each group first
        self.names, self._at = ("", ""), -1
        self._places: list[Real] = []
        self._drawn: list[int] = []  # place of each of the rows among the outlines drawn
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName("Typical outlines")

    def show_typical(
        self,
        rows: Sequence[Sequence[int]],
        outlines: Sequence[Sequence[Real]],
        means: Sequence[tuple[Real, Real] | None],
        names: tuple[str, str],
        unit: str,
    ) -> None:
        """Show outlines of two named groups, the most typical of each first, and their means and bands."""
        reach = 1.05 * radius([curve for side in outlines for curve in side])
        drawn, self._places, self._drawn, self.names = list[StyledOutline](), [], [], names
        before, self.rows = self.rows, tuple(int(row) for side in rows for row in side)
        self._at = self._at if self.rows == before else -1  # the same are shown again when more is known of them
        for letter, right, side, mean in zip("AB", (-reach, reach), outlines, means, strict=True):
            placed = [curve + np.array([0, right]) for curve in side]
            self._places += placed
            first, others = len(drawn), len(placed) - 1
            self._drawn += [first + others, *range(first, first + others)]
            drawn += [StyledOutline(curve, letter, width=_THIN) for curve in placed[1:]]
            drawn.append(StyledOutline(placed[0], letter, filled=True))
            if mean is not None:
                outline, band = (part + np.array([0, right]) for part in mean)
                drawn.append(StyledOutline(band, filled=True, width=0.0))
                drawn.append(StyledOutline(outline, dashed=True, width=1.0))
        self.set_scale(reach, unit, columns=2)
        explained = " (dashed: mean; gray: middle half)" if any(means) else ""
        self.show_shapes(drawn, f"Typical outlines{explained}")

    def draw(self, painter: QPainter) -> None:
        super().draw(painter)
        room, metrics = self._layout()[0], painter.fontMetrics()
        line = QRectF(room.left(), room.bottom(), room.width() / 2, _line(metrics))
        free = line.width() - max(map(metrics.horizontalAdvance, SIDE_MARKS.values())) - _MARGIN
        for place, name in enumerate(elided_apart(metrics, self.names, [free] * len(self.names))):
            words = f"{SIDE_MARKS['AB'[place]]} {name}"
            painter.drawText(line.translated(place * line.width(), 0), Qt.AlignmentFlag.AlignCenter, words)

    def mark(self, rows: Index) -> None:
        """Draw the lines of the selected curves thicker."""
        outlines = list(self.outlines)
        for row, place in zip(self.rows, self._drawn, strict=True):
            usual = StyledOutline.width if outlines[place].filled else _THIN
            outlines[place] = replace(outlines[place], width=_MARKED if row in rows else usual)
        self.show_shapes(outlines, self.title)

    def row_at(self, point: QPointF) -> int | None:
        """Return the row of the outline whose line is at a point of this widget, or of the filled one around it."""
        room, scale, _ = self._layout()
        place = Point((point.x() - room.center().x()) / scale, (point.y() - room.center().y()) / scale)
        polygons = [Polygon(curve[:, ::-1]) for curve in self._places]
        distance, row = min(
            ((one.exterior.distance(place), row) for one, row in zip(polygons, self.rows, strict=True)),
            default=(np.inf, -1),
        )
        if distance * scale <= _REACH_PX:
            return row
        # The most typical outline of each group is filled, and comes first; of two groups one is around the point.
        around = (row for one, row in zip(polygons, self.rows, strict=True) if one.buffer(0).contains(place))
        return next(around, None)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and (row := self.row_at(event.position())) is not None:
            self._at = self.rows.index(row)
            self.chosen.emit(row)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}.get(Qt.Key(event.key()), 0)
        if not (step and self.rows):
            super().keyPressEvent(event)
            return
        self._at = (self._at + step) % len(self.rows) if self._at >= 0 else 0
        self.chosen.emit(self.rows[self._at])


class OutlineButton(QPushButton):
    """A push button that shows an outline, with the mark of its group in the corner."""

    hovered = Signal(int)  #: int: its row when the mouse enters, -1 when it leaves

    def __init__(self, row: int, side: str, group: str, outline: Real, reach: float, size: int = 52) -> None:
        super().__init__()
        self.row, self.side = row, side
        self.outline = StyledOutline(outline, side, filled=True, width=1.2)
        self._scale = (size / 2 - 4) / reach
        self._is_highlighted = self._is_marked = False
        self.picture: QPixmap | None = None
        self.setFixedSize(size, size)
        self.setStyleSheet("padding: 0px;")
        self.setToolTip(tip(f"A curve of {group}: click to select it"))
        self.setAccessibleName(f"curve {row} of {group}")

    def set_picture(self, picture: QPixmap) -> None:
        """Show the outline over a picture, which has the size of the button's content."""
        self.picture = picture
        self.outline = replace(self.outline, filled=False)

    def mark(self, marked: bool) -> None:
        if marked != self._is_marked:
            self._is_marked = marked
            self.update()

    def highlight(self, row: int) -> None:
        """Highlight the button if `row`, the curve hovered in any linked view, is its own."""
        if self._is_highlighted != (row == self.row):
            self._is_highlighted = row == self.row
            self.update()

    def enterEvent(self, event: QEvent) -> None:
        super().enterEvent(event)
        self.hovered.emit(self.row)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.hovered.emit(-1)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        ink = self.palette().windowText().color()
        with painting(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(ink)
            if self.picture is None:
                painter.drawText(self.rect().adjusted(4, 1, 0, 0), Qt.AlignmentFlag.AlignLeft, SIDE_MARKS[self.side])
            else:
                painter.drawPixmap(self.rect().adjusted(4, 4, -4, -4), self.picture)
            paint_outline(painter, self.outline, QRectF(self.rect()).center(), self._scale, self)
            if self._is_highlighted or self._is_marked:
                painter.setPen(QPen(ink, 3 if self._is_marked else 2))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(self.rect().adjusted(1, 1, -1, -1))


class OutlineButtons(QWidget):
    """Base class of views whose buttons show curves, linked to the other views of these."""

    picked = Signal(int)  #: int: pooled index of the clicked curve
    hovered = Signal(int)  #: int: pooled index of the hovered curve, or -1

    def __init__(self) -> None:
        super().__init__()
        self.buttons: list[OutlineButton] = []

    def new_button(self, row: int, side: str, group: str, outline: Real, reach: float, size: int = 52) -> OutlineButton:
        button = OutlineButton(row, side, group, outline, reach, size)
        button.clicked.connect(lambda: self.picked.emit(row))
        button.hovered.connect(self.hovered)
        self.buttons.append(button)
        return button

    def highlight(self, row: int) -> None:
        """Highlight the curve that is hovered in any linked view; -1 for none."""
        for button in self.buttons:
            button.highlight(row)

    def mark(self, rows: Index) -> None:
        for button in self.buttons:
            button.mark(bool(np.isin(button.row, rows)))


class Thumbnails(OutlineButtons):
    """A grid of outline buttons, those of the first group above those of the second."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setColumnStretch(_THUMBNAILS_PER_ROW, 1)

    def show_curves(
        self, of_a: list[tuple[int, Real]], of_b: list[tuple[int, Real]], names: tuple[str, str] = ("", "")
    ) -> None:
        """Show (row, outline) pairs of two named groups, strongest first, at a common scale."""
        clear_layout(self._grid)
        self.buttons = []
        reach = radius([outline for _, outline in (*of_a, *of_b)])
        for side, group, found in zip("AB", names, (of_a, of_b), strict=True):
            first = self._grid.rowCount()
            if found:
                heading = NamedLine(f"{SIDE_MARKS[side]} ", group, "")
                heading.setToolTip(tip(group))
                self._grid.addWidget(heading, first, 0, 1, _THUMBNAILS_PER_ROW + 1)
                first += 1
            for place, (row, outline) in enumerate(found):
                button = self.new_button(row, side, group, outline, reach)
                self._grid.addWidget(button, first + place // _THUMBNAILS_PER_ROW, place % _THUMBNAILS_PER_ROW)
