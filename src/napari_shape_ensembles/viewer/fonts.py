"""Text as large as napari is set to: its style sheet gives that size to labels, buttons and lists, not to all there is.

Neither does it give spin boxes the width that their text needs.
"""

from qtpy.QtCore import QEvent, Qt
from qtpy.QtGui import QFontMetrics
from qtpy.QtWidgets import QDoubleSpinBox, QLabel, QSizePolicy, QSpinBox, QTableView, QWidget

_STYLED = (QEvent.Type.Polish, QEvent.Type.StyleChange, QEvent.Type.FontChange)
_ROW, _AROUND = 30, 8  # pixels of a row of a table at least, and around its text


class Drawing(QLabel):
    """Something painted, its words as large as those of labels."""


class _LabelFont(QLabel):
    """An unseen label, whose font what it is inside takes over."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.hide()

    def event(self, event: QEvent | None) -> bool:
        """Hand on the font as soon as it is another."""
        done = super().event(event)
        whole = self.parentWidget()
        if event is not None and event.type() in _STYLED and whole is not None:
            self.ensurePolished()  # Qt does so for what is seen only
            whole.setFont(self.font())
            if isinstance(whole, QTableView):
                _fit_rows(whole)
        return bool(done)


def _fit_rows(table: QTableView) -> None:
    across, beside = table.horizontalHeader(), table.verticalHeader()
    if across is not None and beside is not None:
        across.setFont(table.font())
        beside.setDefaultSectionSize(max(_ROW, table.fontMetrics().height() + _AROUND))


def with_label_font(widget: QWidget) -> None:
    """Let the text of a widget be as large as that of labels, from now on."""
    _LabelFont(widget)


class SteadyLabel(QLabel):
    """A label that is always as wide as its longest text, so that nothing moves when it changes."""

    def __init__(self, text: str, longest: str, parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self._longest = longest
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Ignored)  # no new layout for every text

    def event(self, event: QEvent | None) -> bool:
        """Take another width when the font is another."""
        done = super().event(event)
        if event is not None and event.type() in _STYLED:
            self.setFixedWidth(self.fontMetrics().horizontalAdvance(self._longest) + _AROUND)
        return bool(done)


class NamedLine(QLabel):
    """A line of words around a name, whose middle is left out as far as there is no room for it."""

    def __init__(self, before: str, name: str, after: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = before, name, after
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setText(before + name + after)

    def event(self, event: QEvent | None) -> bool:
        """Leave out more, or less, at another width or in another font."""
        done = super().event(event)
        if event is not None and event.type() in (QEvent.Type.Resize, *_STYLED):
            before, name, after = self._words
            room = self.contentsRect().width() - self.fontMetrics().horizontalAdvance(before + after) - _AROUND
            self.setText(before + elided(self.fontMetrics(), name, room) + after)
        return bool(done)


def elided(metrics: QFontMetrics, text: str, room: float) -> str:
    """A text without its middle, as far as that is too long."""
    return metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, max(int(room), 0))


class WholeBox(QSpinBox):
    """A box for a whole number that is as wide as its longest text."""

    def event(self, event: QEvent | None) -> bool:
        """Ask for another width when the font is another."""
        done = super().event(event)
        if event is not None and event.type() in _STYLED:
            fit_text(self)
        return bool(done)


class DecimalBox(QDoubleSpinBox):
    """A box for a number that is as wide as its longest text."""

    def event(self, event: QEvent | None) -> bool:
        """Ask for another width when the font is another."""
        done = super().event(event)
        if event is not None and event.type() in _STYLED:
            fit_text(self)
        return bool(done)


def fit_text(box: QSpinBox | QDoubleSpinBox) -> None:
    """Give a box the width of its longest text; napari's style sheet sets a least width that is a number of pixels."""
    box.setMinimumWidth(box.sizeHint().width())
