"""Text as large as napari is set to: its style sheet gives that size to labels, buttons and lists, not to all there is.

Neither does it give spin boxes the width that their text needs. And what is painted, whose text is that of labels.
"""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

from qtpy.QtCore import QEvent, Qt
from qtpy.QtGui import QFontMetrics, QPaintDevice, QPainter, QPaintEvent, QResizeEvent
from qtpy.QtWidgets import QDoubleSpinBox, QLabel, QSizePolicy, QSpinBox, QTableView, QWidget

_STYLED = (QEvent.Type.Polish, QEvent.Type.StyleChange, QEvent.Type.FontChange)
_ROW, _AROUND = 30, 8  # pixels of a row of a table at least, and around its text


@contextmanager
def painting(device: QPaintDevice) -> Iterator[QPainter]:
    """Give a painter that ends with the block, also by an error: one that outlives its event ends the process."""
    painter = QPainter(device)
    try:
        yield painter
    finally:
        painter.end()


class Drawing(QLabel):
    """A base of painted widgets whose text is as large as that of labels."""

    @abstractmethod
    def draw(self, painter: QPainter) -> None:
        """Paint all there is to see."""

    def paintEvent(self, event: QPaintEvent) -> None:
        with painting(self) as painter:
            self.draw(painter)


class _FontFollower:
    """A base of widgets that `fit` whenever their font may have changed."""

    def fit(self) -> None:
        """Give a spin box the width of its longest text; napari's style sheet sets a least width in pixels."""
        self.setMinimumWidth(self.sizeHint().width())  # type: ignore[attr-defined]  # that of the widget

    def event(self, event: QEvent) -> bool:
        done = super().event(event)  # type: ignore[misc]  # that of the widget
        if event.type() in _STYLED:
            self.fit()
        return bool(done)


class _LabelFont(_FontFollower, QLabel):
    """A hidden label that hands its font on to its parent."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.hide()

    def fit(self) -> None:
        """Hand on the font, and adapt the rows of a table."""
        whole = self.parentWidget()
        self.ensurePolished()  # Qt does so only for what is visible
        whole.setFont(self.font())
        if (
            isinstance(whole, QTableView)
            and (across := whole.horizontalHeader())
            and (beside := whole.verticalHeader())
        ):
            across.setFont(whole.font())
            beside.setDefaultSectionSize(max(_ROW, whole.fontMetrics().height() + _AROUND))


def with_label_font(widget: QWidget) -> None:
    """Let the text of a widget be as large as that of labels, from now on."""
    _LabelFont(widget)


class SteadyLabel(_FontFollower, QLabel):
    """A label that is always as wide as its longest text, so that nothing moves when it changes."""

    def __init__(self, text: str, longest: str, parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self._longest = longest
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Ignored)  # no new layout for every text

    def fit(self) -> None:
        self.setFixedWidth(self.fontMetrics().horizontalAdvance(self._longest) + _AROUND)


class NamedLine(_FontFollower, QLabel):
    """A line of text around a name, whose middle is left out where there is no room for it."""

    def __init__(self, before: str, name: str, after: str, parent: QWidget | None = None) -> None:
        super().__init__(before + name + after, parent)
        self._parts = before, name, after
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def fit(self) -> None:
        """Leave out as much of the name as needed."""
        before, name, after = self._parts
        room = self.contentsRect().width() - self.fontMetrics().horizontalAdvance(before + after) - _AROUND
        self.setText(before + elided(self.fontMetrics(), name, room) + after)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()


def elided(metrics: QFontMetrics, text: str, room: float) -> str:
    """A text without its middle, as far as it is too long."""
    return metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, max(int(room), 0))


class WholeBox(_FontFollower, QSpinBox):
    """A spin box for integers that is as wide as its longest text."""


class DecimalBox(_FontFollower, QDoubleSpinBox):
    """A spin box for decimal numbers that is as wide as its longest text."""
