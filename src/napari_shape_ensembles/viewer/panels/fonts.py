"""Widgets that follow napari's font size setting.

napari's style sheet sets the font size of labels, buttons and lists, but not of other widgets (tables, custom painted
widgets), and gives spin boxes a fixed minimum width that may be too small for their text.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from qtpy.QtCore import QEvent, Qt
from qtpy.QtGui import QColor, QFontMetrics, QPaintDevice, QPainter, QPaintEvent, QResizeEvent
from qtpy.QtWidgets import QDoubleSpinBox, QLabel, QSizePolicy, QSpinBox, QTableView, QWidget

from ...palette import SIDE_COLORS
from ...words import shortened_apart

_FONT_EVENTS = (QEvent.Type.Polish, QEvent.Type.StyleChange, QEvent.Type.FontChange)
_ROW, _VIEW_EXTENT = 30, 8  # minimum height of a table row, and padding around its text, in pixels
_SHORT = 8  # letters of a name that is never elided


@contextmanager
def painting(device: QPaintDevice) -> Iterator[QPainter]:
    """Return a painter that ends with the block, even after an exception: one left active aborts the process."""
    painter = QPainter(device)
    try:
        yield painter
    finally:
        painter.end()


def color_in(widget: QWidget, side: str = "") -> QColor:
    """The color of the text of a widget, or of a group in it; both are gray while it is disabled."""
    ink = widget.palette().windowText().color()
    return QColor(SIDE_COLORS.get(side, ink)) if widget.isEnabled() else ink


class Drawing(QLabel):
    """Base class of custom painted widgets; a QLabel, so that the style sheet sets its font."""

    @abstractmethod
    def draw(self, painter: QPainter) -> None:
        """Paint the contents of the widget."""

    def paintEvent(self, event: QPaintEvent) -> None:
        with painting(self) as painter:
            self.draw(painter)


class _FontAwareMixin:
    """Mixin for widgets that call `fit` whenever their font may have changed."""

    def fit(self) -> None:
        """Set the minimum width from the size hint, overriding the fixed one of napari's style sheet."""
        self.setMinimumWidth(self.sizeHint().width())  # type: ignore[attr-defined]  # defined by the Qt base

    def event(self, event: QEvent) -> bool:
        done = super().event(event)  # type: ignore[misc]  # defined by the Qt base
        if event.type() in _FONT_EVENTS:
            self.fit()
        return bool(done)


class _LabelFont(_FontAwareMixin, QLabel):
    """A hidden label that copies its font to its parent widget."""

    def __init__(self, parent: QWidget, lines: int) -> None:
        super().__init__(parent)
        self._lines = lines
        self.hide()

    def fit(self) -> None:
        """Set the font of the parent, and the row height if it is a table."""
        whole = self.parentWidget()
        self.ensurePolished()  # Qt polishes visible widgets only
        whole.setFont(self.font())
        if isinstance(whole, QTableView):
            across, beside = whole.horizontalHeader(), whole.verticalHeader()
            assert across is not None  # not their truth values: a header without sections is false
            assert beside is not None
            across.setFont(whole.font())
            beside.setDefaultSectionSize(max(_ROW, self._lines * whole.fontMetrics().height() + _VIEW_EXTENT))


def with_label_font(widget: QWidget, *, lines: int = 1) -> None:
    """Make a widget's font follow the style sheet's font of labels; rows of a table have room for a number of lines."""
    _LabelFont(widget, lines)


class SteadyLabel(_FontAwareMixin, QLabel):
    """A label with the fixed width of its longest text, so that a change of text does not move the layout."""

    def __init__(self, text: str, longest: str) -> None:
        super().__init__(text)
        self._longest = longest
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Ignored)  # avoids a layout pass per text

    def fit(self) -> None:
        self.setFixedWidth(self.fontMetrics().horizontalAdvance(self._longest) + _VIEW_EXTENT)


class NamedLine(_FontAwareMixin, QLabel):
    """A single-line label with a name in its text, elided in the middle if space is short."""

    def __init__(self, before: str, name: str, after: str) -> None:
        super().__init__(before + name + after)
        self._parts = before, name, after
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def fit(self) -> None:
        """Elide the name to the available width."""
        before, name, after = self._parts
        room = self.contentsRect().width() - self.fontMetrics().horizontalAdvance(before + after) - 2 * _VIEW_EXTENT
        self.setText(before + elided(self.fontMetrics(), name, room) + after)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()


def elided(metrics: QFontMetrics, text: str, room: float) -> str:
    """Return the text elided in the middle to a width in pixels; short ones are not."""
    return elided_apart(metrics, [text], [room])[0]


def elided_apart(metrics: QFontMetrics, names: Sequence[str], rooms: Sequence[float]) -> list[str]:
    """Elide names that are shown together to widths in pixels, so that they stay apart; short ones are not elided."""
    for letters in range(max(map(len, names), default=0), _SHORT, -1):
        words = shortened_apart(names, letters)
        if all(metrics.horizontalAdvance(one) <= room for one, room in zip(words, rooms, strict=True)):
            return words
    return shortened_apart(names, _SHORT)


class WholeBox(_FontAwareMixin, QSpinBox):
    """An integer spin box at least as wide as its longest text."""


class DecimalBox(_FontAwareMixin, QDoubleSpinBox):
    """A decimal spin box at least as wide as its longest text."""
