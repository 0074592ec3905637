"""Small widgets that several docks are made of."""

from collections.abc import Callable

from qtpy.QtCore import QEvent, QObject, Qt, QTimer, Signal
from qtpy.QtGui import QResizeEvent
from qtpy.QtWidgets import QFrame, QLabel, QPushButton, QScrollArea, QSizePolicy, QVBoxLayout, QWidget


class ScrollColumn(QScrollArea):
    """A page that scrolls up and down, and is always as wide as its contents need."""

    def __init__(self, page: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setWidget(page)
        page.installEventFilter(self)
        # Once more after all layouts inside have been updated: until then they tell their sizes of before.
        self._later = once(self, self.fit)

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:  # noqa: N802 - Qt's name
        """Ask for more width when the contents have come to need it, and for less when they no longer do."""
        if event is not None and event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.StyleChange):
            self.fit()
            self._later.start()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent | None) -> None:  # noqa: N802 - Qt's name
        """Lines break elsewhere at another width."""
        super().resizeEvent(event)
        self.fit()

    def fit(self) -> None:
        """Ask for the width of the page and the scroll bar, and give the page the height of its broken lines."""
        page, bar, view = self.widget(), self.verticalScrollBar(), self.viewport()
        layout = None if page is None else page.layout()
        if page is None or bar is None or view is None or layout is None:
            return
        width = page.minimumSizeHint().width() + bar.sizeHint().width() + 4
        if width != self.minimumWidth():
            self.setMinimumWidth(width)
        height = max(layout.totalHeightForWidth(max(view.width(), width - bar.sizeHint().width())), 0)
        if height != page.minimumHeight():
            page.setMinimumHeight(height)


class Section(QWidget):
    """A heading that folds what is below it.

    Attributes
    ----------
    unfolded : bool

    Signals
    -------
    toggled : bool
        It was unfolded, or folded.
    """

    toggled = Signal(bool)
    unfolded: bool

    def __init__(self, title: str, content: QWidget, *, folded: bool = True, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = title
        self.content = content
        self.heading = QPushButton()
        self.heading.setStyleSheet("text-align: left; padding: 3px;")
        self.heading.clicked.connect(lambda: self.fold(self.unfolded))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(self.heading)
        layout.addWidget(content)
        self.unfolded = not folded
        self.fold(folded)

    def fold(self, folded: bool = True) -> None:
        """Hide the content, or show it."""
        self.unfolded = not folded
        self.content.setVisible(self.unfolded)
        self.heading.setText(f"{'▾' if self.unfolded else '▸'}  {self._title}")
        self.heading.setToolTip(f"{'Fold' if self.unfolded else 'Unfold'} {self._title.replace('&', '').lower()}")
        self.toggled.emit(self.unfolded)


def is_closed(page: QWidget) -> bool:
    """Whether the dock around a page was closed, which only hides it; not for another tab or a minimised window."""
    dock = page.parentWidget()
    return dock is None or dock.isHidden()


def once(owner: QWidget, action: Callable[[], object]) -> QTimer:
    """A timer that acts once after the events that are under way.

    Its owner takes it along; a single shot could come when the owner is no more.
    """
    timer = QTimer(owner)
    timer.setSingleShot(True)
    timer.timeout.connect(action)
    return timer


def wrapped(text: str = "") -> QLabel:
    """A label that breaks its lines and whose text can be copied."""
    label = QLabel(text)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    label.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
    return label
