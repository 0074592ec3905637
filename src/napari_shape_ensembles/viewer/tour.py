"""A guided tour of the bench: one stop per page.

Plugins cannot extend napari's own tours (*Help > Take a tour*), so this one has a menu entry next to the bench.
"""

from qtpy.compat import isalive
from qtpy.QtCore import QEvent, QObject, QPoint, Qt, Signal
from qtpy.QtGui import QKeyEvent
from qtpy.QtWidgets import QFrame, QLabel, QWidget

from .debouncing import Debouncer
from .page_status import STEPS
from .panels.widgets import WrappedLabel, button, column, row
from .session import Session

_WIDTH, _GAP = 300, 16  # pixels
_SETTLE_MS = 400  # ms until a newly shown page has its final width
_STOPS = {
    "Images": "Each row is an image; its group, its replicate and the size of a pixel are columns. "
    "Click a cell to change it.",
    "Outlines": "The best of several recipes is chosen. Yellow: what would be compared. Dotted: left out. Settings and "
    "proposals hold for all images at once.",
    "Answer": "Typical outlines of both groups, and what differs, in which direction and by how much. Click a "
    "curve in an image: its card appears. With Shift, draw a line around several.",
    "Why": "What the difference consists of: size, elongation, coarse form or roughness; other tabs show the modes "
    "and the most typical curves.",
    "Trust": "Try other choices repeats the comparison under about thirty settings and shows whether the answer "
    "holds. It takes a minute.",
}


class Tour(QFrame):
    """A callout beside the bench for each of its pages; arrow keys or Enter navigate, Esc ends."""

    page_requested = Signal(int)  #: int: place of the page among the steps
    answer_requested = Signal()  #: the page *Answer*, and a comparison for it

    def __init__(self, bench: QWidget, session: Session) -> None:
        super().__init__(bench.window())
        self.setObjectName("tour")
        self.bench, self.session, self.place = bench, session, 0
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAutoFillBackground(True)
        self.setFixedWidth(_WIDTH)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.title, self.text, self.count = QLabel(), WrappedLabel(), QLabel()
        font = self.title.font()
        font.setBold(True)
        self.title.setFont(font)
        self.end = button("End", "End the tour (Esc)")
        self.back = button("‹", "Previous page (left arrow)")
        self.back.setAccessibleName("Back")
        self.next = button("Next ›", "Next page (right arrow, Enter)")
        for part, action in ((self.end, self.close), (self.back, self.show_previous), (self.next, self.show_next)):
            part.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            part.clicked.connect(action)
        foot = row(self.count, self.end, self.back, self.next, grows=self.count)
        column(self.title, self.text, foot, page=self, margins=(12, 10, 12, 10))
        self._reposition_debouncer = Debouncer(self.reposition, _SETTLE_MS)
        for signal in (session.proposing.changed, session.segmentation.changed):
            signal.connect(self._show_next)
        bench.destroyed.connect(self.deleteLater)
        self.parentWidget().installEventFilter(self)

    def start(self) -> None:
        """Start at the first page, and close a tour already running."""
        for before in self.parentWidget().findChildren(QWidget, "tour"):
            if before is not self:
                before.close()
        self.show_stop(0)

    def show_stop(self, place: int) -> None:
        """Show a page and its explanation; run the comparison first if the answer is missing."""
        self.place = place
        name = STEPS[place]
        if name == "Answer" and self.session.comparison.result is None:
            self.answer_requested.emit()
        else:
            self.page_requested.emit(place)
        self.title.setText(name)
        self.text.setText(_STOPS[name])
        self.count.setText(f"{place + 1} of {len(STEPS)}")
        self.back.setVisible(place > 0)
        self.end.setVisible(place < len(STEPS) - 1)
        self._show_next()
        self.setAccessibleName(f"Tour, {name}: {_STOPS[name]}")
        self.reposition()
        self._reposition_debouncer.start()
        self.setFocus()

    def _show_next(self) -> None:
        """Wait on *Outlines* while the recipe is chosen by which the answer is found."""
        if not isalive(self):
            return
        waits = STEPS[self.place] == "Outlines" and self.session.proposing.is_choosing
        self.next.setText("Choosing …" if waits else "Next ›" if self.place < len(STEPS) - 1 else "Done")
        self.next.setEnabled(not waits)

    def reposition(self) -> None:
        """Place the callout to the left of the bench, or in the middle of the window if the bench is floating."""
        self.setFixedHeight(self.layout().totalHeightForWidth(_WIDTH))
        window = self.parentWidget()
        inside = self.bench.window() is window
        corner = self.bench.mapTo(window, QPoint(0, 0)) if inside else QPoint(window.width() // 2, _GAP)
        self.move(max(corner.x() - self.width() - _GAP, 0), max(corner.y() + 2 * _GAP, 0))
        self.show()
        self.raise_()

    def eventFilter(self, window: QObject, event: QEvent) -> bool:
        """Follow the size of the window, which may become smaller than the place of the callout."""
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._reposition_debouncer.start()
        return super().eventFilter(window, event)

    def show_next(self) -> None:
        """Go to the next page, or end after the last one."""
        if not self.next.isEnabled():
            return
        if self.place + 1 < len(STEPS):
            self.show_stop(self.place + 1)
        else:
            self.close()

    def show_previous(self) -> None:
        self.show_stop(max(self.place - 1, 0))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Navigate, or end."""
        does = {
            Qt.Key.Key_Right: self.show_next,
            Qt.Key.Key_Return: self.show_next,
            Qt.Key.Key_Enter: self.show_next,
            Qt.Key.Key_Left: self.show_previous,
            Qt.Key.Key_Escape: self.close,
        }
        if event.key() in does:
            does[event.key()]()
        else:
            super().keyPressEvent(event)

    def closeEvent(self, event: QEvent) -> None:
        super().closeEvent(event)
        self.deleteLater()
