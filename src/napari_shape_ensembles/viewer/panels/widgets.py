"""Small widgets that several docks are made of."""

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from qtpy.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QSignalBlocker, QSize, Qt, QTimer, Signal
from qtpy.QtGui import QKeyEvent, QKeySequence, QPaintEvent, QPalette, QResizeEvent, QShortcut, QWheelEvent
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
    QTableWidget,
    QTableWidgetItem,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from .fonts import with_label_font

#: Of a menu: words -> what they do, and a tooltip.
Entries = Mapping[str, tuple[Callable[[], None], str]]

# A place without width at which a line may break; names of files and layers have no others.
_BREAK = "\u200b"
_LINE_END = re.compile("[\u2028\u2029]")  # what Qt has for the end of a line
_LONG_WORD = re.compile(r"[^\s<>&;]{16,}")
_PART = re.compile(r"[^_./\\-]*[_./\\-]?")
_PART_LETTERS = 16
_LETTERS = 8  # that a list shows at least
_COMFORTABLE = 370  # pixels of a dock, at first
_EDGE = 4  # pixels beside the text of a list
#: A line around what has the focus, which napari's style shows of nothing but text, in a purple that stands out from
#: the ground of both themes three times and more.
FOCUS = """
QPushButton:focus, QToolButton:focus, QCheckBox:focus, QComboBox:focus, QAbstractSpinBox:focus, QLineEdit:focus,
QAbstractItemView:focus, QSlider:focus, QTabBar:focus { border: 2px solid #a864d6; }
QPushButton:focus { padding: 2px; }
"""
_MEASURED = 20  # rows of a table that its columns are fitted to: of hundreds it would take a tenth of a second


class ScrollColumn(QScrollArea):
    """A page that scrolls up and down, and is always as wide as its contents need."""

    def __init__(self, page: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)  # Tab goes to what is inside
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setWidget(page)
        page.installEventFilter(self)
        # Once more after all layouts inside have been updated: until then they tell their sizes of before.
        self._later = once(self, self.fit)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Ask for more width when the contents have come to need it, and for less when they no longer do."""
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.StyleChange):
            self.fit()
            self._later.start()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def sizeHint(self) -> QSize:
        return super().sizeHint().expandedTo(QSize(_COMFORTABLE, 0))

    def fit(self) -> None:
        """Ask for the width of the page and the scroll bar, and give the page the height of its broken lines."""
        page, bar = self.widget(), self.verticalScrollBar().sizeHint().width()
        if page is None or page.layout() is None:
            return
        width = page.minimumSizeHint().width() + bar + 4
        if width != self.minimumWidth():
            self.setMinimumWidth(width)
        height = max(page.layout().totalHeightForWidth(max(self.viewport().width(), width - bar)), 0)
        if height != page.minimumHeight():
            page.setMinimumHeight(height)


class Section(QWidget):
    """A heading that folds what is below it."""

    toggled = Signal(bool)  #: bool: it was unfolded, or folded
    unfolded: bool

    def __init__(self, title: str, content: QWidget, *, folded: bool = True, parent: QWidget | None = None) -> None:
        super().__init__(parent)
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
        self.heading.setText(f"{'▾' if self.unfolded else '▸'}  {self._title}")
        self.heading.setToolTip(f"{'Fold' if self.unfolded else 'Unfold'} {self._title.replace('&', '').lower()}")


def button(text: str, tooltip: str, *, checkable: bool = False) -> QPushButton:
    """A button and what it does."""
    made = QPushButton(text)
    made.setToolTip(tooltip)
    made.setCheckable(checkable)
    made.setAutoDefault(True)  # Enter presses it, too, where it does not run what the dock is for
    return made


def menu_button(text: str, tooltip: str, entries: Entries) -> QPushButton:
    """A button that opens a menu."""
    whole = button(text, tooltip)
    whole.setStyleSheet("padding: 3px 18px 3px 6px;")  # room for the sign of a menu
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
    """Widgets and layouts below each other, on a page of their own or a given one; one takes what height is left."""
    page = QWidget() if page is None else page
    layout = QVBoxLayout(page)
    layout.setContentsMargins(*margins)
    for part in parts:
        layout.addWidget(part, int(part is grows)) if isinstance(part, QWidget) else layout.addLayout(part)
    return page


def row(*parts: QWidget, grows: QWidget | None = None) -> QHBoxLayout:
    """Widgets beside each other; one takes what width is left."""
    layout = QHBoxLayout()
    for part in parts:
        layout.addWidget(part, int(part is grows))
    return layout


def scrolling(dock: QWidget, *parts: QWidget | QLayout, grows: QWidget | None = None) -> ScrollColumn:
    """Fill a dock with one column that scrolls."""
    page = column(*parts, margins=(6, 6, 6, 6), grows=grows)
    page.layout().addStretch()  # takes the height while what grows is hidden
    column(scroll := ScrollColumn(page), page=dock)
    return scroll


def buddy_label(text: str, control: QWidget) -> QLabel:
    """A label whose key (&) goes to a control, and that has its tooltip."""
    label = QLabel(text)
    label.setBuddy(control)
    label.setToolTip(control.toolTip())
    return label


def emptied(layout: QLayout) -> None:
    """Delete all widgets of a layout."""
    while (item := layout.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            widget.hide()
            widget.deleteLater()


def run_keys(page: QWidget, run: Callable[[], object], cancel: Callable[[], object]) -> QShortcut:
    """Enter runs wherever in a dock the focus is; Esc, which is returned, cancels wherever it is in the window.

    Esc has meanings of its own in napari, so it is to be enabled only while there is something to cancel.
    """
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
        shortcut = QShortcut(QKeySequence(key), page)
        shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        shortcut.activated.connect(run)
    escape = QShortcut(QKeySequence(Qt.Key.Key_Escape), page)
    escape.setEnabled(False)
    for asked in (escape.activated, escape.activatedAmbiguously):  # of several docks at work one after the other
        asked.connect(cancel)
    return escape


def once(owner: QWidget, action: Callable[[], object]) -> QTimer:
    """A timer that acts once after the events that are under way.

    Its owner takes it along; a single shot could come when the owner is no more.
    """
    timer = QTimer(owner)
    timer.setSingleShot(True)
    timer.timeout.connect(action)
    return timer


class NarrowList(QComboBox):
    """A list that may be narrower than its longest entry: closed, it leaves out the middle of what is chosen."""

    def __init__(self, tooltip: str = "", choices: Mapping[Any, str] | None = None) -> None:
        super().__init__()
        self.setToolTip(tooltip)
        pass_wheel(self)
        self.setMinimumContentsLength(_LETTERS)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        for value, words in (choices or {}).items():
            self.addItem(words, value)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw it with as much of the text as there is room for; Qt would cut it off."""
        painter, option = QStylePainter(self), QStyleOptionComboBox()
        self.initStyleOption(option)
        part = QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, part, self)
        text = self.fontMetrics().elidedText(self.currentText(), Qt.TextElideMode.ElideMiddle, room.width() - _EDGE)
        option.currentText = text
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
        painter.end()


class _WheelPasses(QObject):
    """Sends the wheel on to the page below a control."""

    def eventFilter(self, _: QObject | None, event: QEvent | None) -> bool:
        if event is None or event.type() != QEvent.Type.Wheel:
            return False
        event.ignore()
        return True


def pass_wheel(control: QWidget) -> None:
    """Let the wheel scroll the page of a control, not change its value or give it the focus."""
    control.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    control.installEventFilter(_WheelPasses(control))


class SteadyTabs(QTabWidget):
    """Pages under tabs that the wheel does not turn, and that the Tab key comes to once."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTabBar(_SteadyBar())
        self.setFocusProxy(None)  # the bar takes the focus itself
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)


class _SteadyBar(QTabBar):
    def wheelEvent(self, event: QWheelEvent) -> None:
        """Let it scroll the page below."""
        event.ignore()


class Words(QLabel):
    """A label that breaks its lines, within long words too, and whose text can be copied.

    Its text is shown as it is; only a `rich` one is HTML, in which names have to be escaped.
    """

    def __init__(self, text: str = "", parent: QWidget | None = None, *, rich: bool = False) -> None:
        super().__init__(parent)
        self._text = ""
        self.setTextFormat(Qt.TextFormat.RichText if rich else Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)  # its Copy would copy the breaks as well
        self.setText(text)

    def setText(self, text: str | None) -> None:
        self._text = text or ""
        super().setText(_LONG_WORD.sub(_breakable, self._text))

    def text(self) -> str:
        return self._text

    def selectedText(self) -> str:
        """What is marked, without the breaks."""
        return _LINE_END.sub("\n", super().selectedText().replace(_BREAK, ""))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            QApplication.clipboard().setText(self.selectedText())
        else:
            super().keyPressEvent(event)


def _breakable(word: re.Match[str]) -> str:
    """Allow breaks between the parts of a word, and anywhere within parts that are long themselves."""
    parts = _PART.findall(word.group())
    return _BREAK.join(part if len(part) < _PART_LETTERS else _BREAK.join(part) for part in parts if part)


def wrapped(text: str = "", *, rich: bool = False) -> Words:
    """A label that breaks its lines and whose text can be copied; `rich` for HTML."""
    return Words(text, rich=rich)


class Notice(QFrame):
    """One line of text and what can be done about it, hidden while there is nothing to say."""

    def __init__(self, action: str, tooltip: str, *, rich: bool = False) -> None:
        super().__init__()
        self.words = wrapped(rich=rich)
        self.button = button(action, tooltip)
        column(row(self.words, self.button, grows=self.words), page=self, margins=(0, 2, 0, 2))
        self.hide()

    def say(self, text: str) -> None:
        """Show a text, or hide for none."""
        self.words.setText(text)
        self.setVisible(bool(text))


def excluded_notice() -> Notice:
    """Says how many curves are left out by hand; its button includes them again."""
    return Notice("&Include all", "Restore all manually excluded curves")


def tip(text: str) -> str:
    """Words for a tooltip or a message box, shown as they are: Qt would take names that look like HTML for it."""
    return f"<qt>{escape(text)}</qt>".replace("\n", "<br>") if "<" in text else text


def form(page: QWidget | None = None) -> QFormLayout:
    """Labels beside their controls, or above those that are too wide for that."""
    rows = QFormLayout(page)
    rows.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    rows.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
    return rows


class _ClearBoxes(QStyledItemDelegate):
    """Draws items as usual, but check boxes in the color of text: in a shade of the ground they are unseen on dark."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        """Give the style the colors it makes boxes and ticks of."""
        super().initStyleOption(option, index)
        # Of the view, which is asked for: one that was kept would keep this, and be kept by it.
        palette, theme = option.palette, self.parent().palette()
        for role in (QPalette.ColorRole.Window, QPalette.ColorRole.Text):
            palette.setColor(role, theme.windowText().color())
        palette.setColor(QPalette.ColorRole.Base, theme.window().color())


def with_clear_boxes(view: QAbstractItemView) -> None:
    """Draw the check boxes of a list or a table in the color of text, from now on."""
    view.setItemDelegate(_ClearBoxes(view))


class PickTable(QTableWidget):
    """A table of words to pick a row from; its last column takes what width is left."""

    def __init__(self, *headings: str) -> None:
        super().__init__(0, len(headings))
        with_label_font(self)
        with_clear_boxes(self)
        self.setHorizontalHeaderLabels(headings)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setTabKeyNavigation(False)  # Tab leaves it
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.verticalHeader().hide()
        self.horizontalHeader().setResizeContentsPrecision(_MEASURED)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.horizontalHeader().setSectionResizeMode(len(headings) - 1, QHeaderView.ResizeMode.Stretch)

    def show_rows(self, rows: Sequence[Sequence[str]]) -> None:
        """Show other words, without a signal."""
        with QSignalBlocker(self):
            self.setRowCount(len(rows))
            for row, texts in enumerate(rows):
                for place, text in enumerate(texts):
                    item = QTableWidgetItem(text)
                    item.setToolTip(tip(text))
                    self.setItem(row, place, item)
