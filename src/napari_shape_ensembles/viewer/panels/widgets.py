"""Small widgets and layout helpers shared by the docks."""

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from qtpy.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QSignalBlocker, QSize, Qt, Signal
from qtpy.QtGui import QCursor, QKeyEvent, QKeySequence, QPaintEvent, QPalette, QResizeEvent, QShortcut, QWheelEvent
from qtpy.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QComboBox,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLayout,
    QMenu,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionComboBox,
    QStyleOptionViewItem,
    QStylePainter,
    QTabBar,
    QTableView,
    QTableWidget,
    QTableWidgetItem,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from ..debouncing import Debouncer
from .fonts import with_label_font

#: Menu entries: text -> callback and tooltip.
Entries = Mapping[str, tuple[Callable[[], None], str]]

# Zero-width space: lets lines break within names of files and layers, which have no other break opportunities.
_ZERO_WIDTH_SPACE = "\u200b"
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
# Spaces within "p = 0.05", "× 1.4" and "95 %", and between a number and its unit.
_WITHIN_NUMBER = re.compile(r" (?=[=≤×] [−\d])|(?<=[=≤×]) (?=[−\d])|(?<=\d) (?=%|(?:px|µm|nm|mm|sd)\b)")
_LINE_END = re.compile("[\u2028\u2029]")  # Qt's line and paragraph separators
_MARKUP = re.compile(r"(<[^>]*>)")
_LONG_WORD = re.compile(r"[^\s<>&;]{16,}")
_WORD_PART = re.compile(r"[^_./\\-]*[_./\\-]?")
_MAX_PART_LETTERS = 16
_MIN_LETTERS = 8  # minimum contents length of a combo box
_HEADLINE_SCALE = 1.15  # font size of the main sentence of a page, relative to other labels
_INITIAL_WIDTH_PX = 370  # initial width of a dock, in pixels
_REST_MS = 400  # time for which a control that has moved under the pointer takes no clicks, in ms
_TEXT_PADDING_PX = 4  # padding of a combo box's text, in pixels
#: Style sheet of a focus frame, which napari's theme draws for text inputs only; the purple has a contrast of at least
#: 3:1 with the background of both themes. With a frame, buttons have less padding, so that it does not cut their text:
#: napari's theme draws one around those that are disabled.
FOCUS = """
QPushButton:focus, QToolButton:focus, QCheckBox:focus, QComboBox:focus, QAbstractSpinBox:focus, QLineEdit:focus,
QAbstractItemView:focus, QSlider:focus, QTabBar::tab:focus { border: 2px solid #a864d6; }
QPushButton:focus { padding: 2px; }
QPushButton:disabled { padding: 3px; }
"""
_MEASURED_ROWS = 20  # rows measured to size a table's columns: hundreds would take 0.1 s


class ScrollColumn(QScrollArea):
    """A vertical scroll area that is always as wide as its contents require.

    Contents that arrive late move what is below them: a click that was meant for what was there before does nothing.
    """

    def __init__(self, page: QWidget) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)  # no tab stop: Tab goes to the contents
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setWidget(page)
        page.installEventFilter(self)
        for part in page.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly):
            part.installEventFilter(self)
        self._rest_debouncer = Debouncer(self._take_clicks, _REST_MS)
        # Fit again once the nested layouts are updated: until then their size hints are out of date.
        self._fit_debouncer = Debouncer(self.fit)
        self._part = page
        self._part_debouncer = Debouncer(self._show_part)

    def scroll_to(self, part: QWidget) -> None:
        """Scroll to a part of the page, once it is laid out; a section is unfolded, and shown from its heading."""
        self._part = part
        if isinstance(part, Section):
            part.fold(False)
            part.show()
        self._part_debouncer.start()

    def _show_part(self) -> None:
        if isinstance(self._part, Section):
            self.verticalScrollBar().setValue(self._part.y())
        else:
            self.ensureWidgetVisible(self._part)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Refit when the size hint of the page may have changed, and notice parts that move under the pointer."""
        page = self.widget()
        if watched is page and event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.StyleChange):
            self.fit()
            self._fit_debouncer.start()
        elif watched is not page and event.type() == QEvent.Type.Move and _is_under_pointer(watched):
            page.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            self._rest_debouncer.start()
        return super().eventFilter(watched, event)

    def _take_clicks(self) -> None:
        self.widget().setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def sizeHint(self) -> QSize:
        return super().sizeHint().expandedTo(QSize(_INITIAL_WIDTH_PX, 0))

    def fit(self) -> None:
        """Set the minimum width from page and scroll bar, and the page's minimum height for its word-wrapped text."""
        page, bar = self.widget(), self.verticalScrollBar().sizeHint().width()
        if page is None or page.layout() is None:
            return
        width = page.minimumSizeHint().width() + bar + 4
        if width != self.minimumWidth():
            self.setMinimumWidth(width)
        height = max(page.layout().totalHeightForWidth(max(self.viewport().width(), width - bar)), 0)
        if height != page.minimumHeight():
            page.setMinimumHeight(height)


def _is_under_pointer(part: QObject) -> bool:
    """Whether a visible widget contains the pointer."""
    return isinstance(part, QWidget) and part.isVisible() and part.rect().contains(part.mapFromGlobal(QCursor.pos()))


class Section(QWidget):
    """A collapsible section below a heading."""

    toggled = Signal(bool)  #: bool: whether it is now expanded
    unfolded: bool

    def __init__(self, title: str, content: QWidget, *, folded: bool = True) -> None:
        super().__init__()
        self._title = title
        self.content = content
        self.heading = QPushButton()
        self.heading.setStyleSheet("text-align: left; padding: 3px;")
        self.heading.clicked.connect(lambda: self.fold(self.unfolded))
        column(self.heading, content, page=self).layout().setSpacing(2)
        self.fold(folded)

    def rename(self, title: str) -> None:
        self._title = title
        self._show_title()

    def fold(self, folded: bool = True) -> None:
        self.unfolded = not folded
        self.content.setVisible(self.unfolded)
        self._show_title()
        self.toggled.emit(self.unfolded)

    def _show_title(self) -> None:
        title = self._title.replace("&", "")
        self.heading.setText(f"{'▾' if self.unfolded else '▸'}  {self._title}")
        self.heading.setToolTip(f"{'Fold' if self.unfolded else 'Unfold'} {title.lower()}")
        self.heading.setAccessibleName(f"{title}, {'unfolded' if self.unfolded else 'folded'}")


def button(text: str, tooltip: str, *, checkable: bool = False) -> QPushButton:
    """Return a push button with a tooltip."""
    made = QPushButton(text)
    made.setToolTip(tooltip)
    made.setCheckable(checkable)
    made.setAutoDefault(True)  # so that Enter clicks it where it does not run the dock's task
    return made


def menu_button(text: str, tooltip: str, entries: Entries) -> QPushButton:
    """Return a push button that opens a menu."""
    whole = button(text, tooltip)
    whole.setStyleSheet("padding: 3px 18px 3px 6px;")  # room for the menu arrow
    menu = QMenu(whole)
    menu.setToolTipsVisible(True)
    for words, (action, tooltip) in entries.items():
        entry = menu.addAction(words)
        entry.setToolTip(tooltip)
        entry.triggered.connect(action)
    whole.setMenu(menu)
    return whole


def column(
    *parts: QWidget | QLayout,
    page: QWidget | None = None,
    margins: tuple[int, int, int, int] = (0, 0, 0, 0),
    grows: QWidget | None = None,
) -> QWidget:
    """Stack widgets and layouts vertically, on `page` or a new widget; `grows` takes the remaining height."""
    page = QWidget() if page is None else page
    layout = QVBoxLayout(page)
    layout.setContentsMargins(*margins)
    for part in parts:
        layout.addWidget(part, int(part is grows)) if isinstance(part, QWidget) else layout.addLayout(part)
    return page


def row(*parts: QWidget, grows: QWidget | None = None) -> QHBoxLayout:
    """Return a horizontal layout of the widgets; `grows` takes the remaining width."""
    layout = QHBoxLayout()
    for part in parts:
        layout.addWidget(part, int(part is grows))
    return layout


def scrolling(dock: QWidget, *parts: QWidget | QLayout, grows: QWidget | None = None) -> ScrollColumn:
    """Fill a dock with a scrolling column."""
    page = column(*parts, margins=(6, 6, 6, 6), grows=grows)
    page.layout().addStretch()  # takes the remaining height while `grows` is hidden
    column(scroll := ScrollColumn(page), page=dock)
    return scroll


def buddy_label(text: str, control: QWidget) -> QLabel:
    """Return a label whose mnemonic (&) focuses a control, and that shares its tooltip."""
    label = QLabel(text)
    label.setBuddy(control)
    label.setToolTip(control.toolTip())
    return label


def clear_layout(layout: QLayout) -> None:
    """Remove and delete all widgets of a layout."""
    while (item := layout.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            widget.hide()
            widget.deleteLater()


def run_keys(page: QWidget, run: Callable[[], object], cancel: Callable[[], object]) -> QShortcut:
    """Bind Enter within a dock to `run`, and Esc within the whole window to `cancel`; return the Esc shortcut.

    napari uses Esc itself, so enable the shortcut only while there is something to cancel.
    """
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
        shortcut = QShortcut(QKeySequence(key), page)
        shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        for asked in (shortcut.activated, shortcut.activatedAmbiguously):  # ambiguous for a page inside of another
            asked.connect(run)
    escape = QShortcut(QKeySequence(Qt.Key.Key_Escape), page)
    escape.setEnabled(False)
    for asked in (escape.activated, escape.activatedAmbiguously):  # ambiguous if several docks are busy
        asked.connect(cancel)
    return escape


class NarrowList(QComboBox):
    """A combo box that may be narrower than its longest entry, and elides the current text in the middle."""

    def __init__(self, tooltip: str = "", choices: Mapping[Any, str] | None = None) -> None:
        super().__init__()
        self.setToolTip(tooltip)
        pass_wheel(self)
        self.setMinimumContentsLength(_MIN_LETTERS)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        for value, words in (choices or {}).items():
            self.addItem(words, value)

    def offer(self, entries: Sequence[tuple[Any, str]], chosen: Any) -> None:
        """Offer these values, each with its text, and show the chosen one, if any, without emitting signals.

        Unchanged entries are left alone: a combo box must not be filled during its own signal.
        """
        with QSignalBlocker(self):
            if list(entries) != [(self.itemData(row), self.itemText(row)) for row in range(self.count())]:
                self.clear()
                for value, words in entries:
                    self.addItem(words, value)
            self.setCurrentIndex(next((row for row, (value, _) in enumerate(entries) if value == chosen), -1))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the combo box with elided text; Qt would clip it."""
        painter, option = QStylePainter(self), QStyleOptionComboBox()
        self.initStyleOption(option)
        part = QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, part, self)
        text = self.fontMetrics().elidedText(
            self.currentText(), Qt.TextElideMode.ElideMiddle, room.width() - _TEXT_PADDING_PX
        )
        option.currentText = text
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
        painter.end()


class _WheelToParent(QObject):
    """Event filter that passes wheel events on to the parent of a control."""

    def eventFilter(self, _: QObject | None, event: QEvent | None) -> bool:
        if event is None or event.type() != QEvent.Type.Wheel:
            return False
        event.ignore()
        return True


def pass_wheel(control: QWidget) -> None:
    """Let the wheel scroll the page, rather than change the control's value or focus it."""
    control.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    control.installEventFilter(_WheelToParent(control))


class SteadyTabs(QTabWidget):
    """A tab widget that ignores the wheel and is a single tab stop."""

    def __init__(self) -> None:
        super().__init__()
        self.setTabBar(bar := _SteadyBar())
        bar.setAccessibleName("Tabs")
        self.setFocusProxy(None)  # the tab bar takes the focus itself
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)


class _SteadyBar(QTabBar):
    def wheelEvent(self, event: QWheelEvent) -> None:
        """Let the wheel scroll the page."""
        event.ignore()


class WrappedLabel(QLabel):
    """A word-wrapped label with selectable text, which breaks lines within long words, but not within "p = 0.05".

    The text is plain unless `rich`: HTML, in which names have to be escaped. Links have the color of the text: Qt's
    blue is unreadable in the dark theme.
    """

    def __init__(self, text: str = "", *, rich: bool = False) -> None:
        super().__init__()
        self._text = ""
        self.setTextFormat(Qt.TextFormat.RichText if rich else Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)  # its Copy would include the break characters
        self.setText(text)

    def setText(self, text: str | None) -> None:
        self._text = text or ""
        if self.textFormat() == Qt.TextFormat.PlainText:
            super().setText(_with_breaks(self._text))
            return
        ink = self.palette().windowText().color().name()
        parts = _MARKUP.split(self._text.replace("<a ", f"<a style='color: {ink}' "))
        super().setText("".join(part if part.startswith("<") else _with_breaks(part) for part in parts))

    def text(self) -> str:
        return self._text

    def changeEvent(self, event: QEvent | None) -> None:
        """Follow the theme."""
        super().changeEvent(event)
        if event is not None and event.type() == QEvent.Type.StyleChange and "<a " in self._text:
            self.setText(self._text)

    def show_text(self, text: str) -> None:
        """Show a text; an empty one hides the label."""
        self.setText(text)
        self.setVisible(bool(text))

    def selectedText(self) -> str:
        """Return the selected text without the break characters."""
        text = super().selectedText().replace(_ZERO_WIDTH_SPACE, "").replace(_NO_BREAK_SPACE, " ")
        return _LINE_END.sub("\n", text)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            QApplication.clipboard().setText(self.selectedText())
        else:
            super().keyPressEvent(event)


def _with_breaks(text: str) -> str:
    """Allow line breaks within long words, and none within "p = 0.05"."""
    return _LONG_WORD.sub(_breakable, _WITHIN_NUMBER.sub(_NO_BREAK_SPACE, text))


def _breakable(word: re.Match[str]) -> str:
    """Insert break opportunities between the parts of a word, and between all letters of long parts."""
    parts = _WORD_PART.findall(word.group())
    return _ZERO_WIDTH_SPACE.join(
        part if len(part) < _MAX_PART_LETTERS else _ZERO_WIDTH_SPACE.join(part) for part in parts if part
    )


def headline_label() -> WrappedLabel:
    """Return a word-wrapped label for the main sentence of a page, larger and bold."""
    label = WrappedLabel()
    font = label.font()
    font.setPointSizeF(font.pointSizeF() * _HEADLINE_SCALE)
    font.setBold(True)
    label.setFont(font)
    return label


class Notice(QFrame):
    """A message with an action button, hidden while there is no message."""

    def __init__(self, action: str, tooltip: str, *, rich: bool = False) -> None:
        super().__init__()
        self.label = WrappedLabel(rich=rich)
        self.button = button(action, tooltip)
        column(row(self.label, self.button, grows=self.label), page=self, margins=(0, 2, 0, 2))
        self.hide()

    def set_message(self, text: str) -> None:
        """Show a message; an empty one hides the notice."""
        self.label.setText(text)
        self.setVisible(bool(text))


def excluded_notice() -> Notice:
    """Return a notice for the number of manually excluded curves, with a button that restores them."""
    return Notice("&Include all", "Restore all manually excluded curves")


def division_notice() -> Notice:
    """Return a notice for layers that were split into parts, with a button that takes this back."""
    return Notice("Undo", "Remove the parts, and compare the whole images again")


def tip(text: str) -> str:
    """Return literal text for a tooltip or message box, escaped if Qt might interpret it as HTML."""
    return f"<qt>{escape(text)}</qt>".replace("\n", "<br>") if "<" in text else text


def form(page: QWidget | None = None) -> QFormLayout:
    """Return a form layout whose labels move above controls that are too wide."""
    rows = QFormLayout(page)
    rows.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    rows.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
    return rows


class _VisibleCheckBoxes(QStyledItemDelegate):
    """Item delegate with check boxes in the text color: the default shade is invisible in the dark theme."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        """Set the palette roles from which the style derives the colors of check boxes."""
        super().initStyleOption(option, index)
        # Look up the view by `parent()`: a stored reference would be a reference cycle.
        palette, theme = option.palette, self.parent().palette()
        for role in (QPalette.ColorRole.Window, QPalette.ColorRole.Text):
            palette.setColor(role, theme.windowText().color())
        palette.setColor(QPalette.ColorRole.Base, theme.window().color())


def with_visible_check_boxes(view: QAbstractItemView) -> None:
    """Draw the check boxes of a list or table in the text color."""
    view.setItemDelegate(_VisibleCheckBoxes(view))


def pick_rows(table: QTableView, *, lines: int = 1) -> None:
    """Let single rows of a table be selected, each of some lines; its last column takes the remaining width."""
    with_label_font(table, lines=lines)
    with_visible_check_boxes(table)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setTabKeyNavigation(False)  # Tab moves the focus out of the table
    table.verticalHeader().hide()
    header = table.horizontalHeader()
    header.setResizeContentsPrecision(_MEASURED_ROWS)
    header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    header.setSectionResizeMode(header.count() - 1, QHeaderView.ResizeMode.Stretch)


class PickTable(QTableWidget):
    """A read-only text table with single-row selection; its last column takes the remaining width."""

    def __init__(self, *headings: str) -> None:
        super().__init__(0, len(headings))
        self.setHorizontalHeaderLabels(headings)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        pick_rows(self)

    def show_rows(self, rows: Sequence[Sequence[str]]) -> None:
        """Replace the contents without emitting signals."""
        with QSignalBlocker(self):
            self.setRowCount(len(rows))
            for row, texts in enumerate(rows):
                for place, text in enumerate(texts):
                    item = QTableWidgetItem(text)
                    item.setToolTip(tip(text))
                    self.setItem(row, place, item)
