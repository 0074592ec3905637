"""Quitting with a result that can be found nowhere else is asked about once."""

import weakref

from napari.settings import get_settings
from qtpy.QtCore import QEvent, QObject, QTimer
from qtpy.QtWidgets import QDialog, QLabel, QMainWindow, QMessageBox, QWidget

from .session import Session

UNSAVED = "The comparison is not saved: it would be lost."


class AsksBeforeLeaving(QObject):
    """Watches a window as long as it is there.

    napari asks before it closes, unless its preferences say otherwise: its question then says what would be lost.
    Where napari does not ask a person who closes the window, this does.
    """

    def __init__(self, window: QMainWindow, session: Session) -> None:
        super().__init__(window)
        self._session = weakref.ref(session)
        window.installEventFilter(self)

    @classmethod
    def watch(cls, page: QWidget, session: Session) -> None:
        """Watch the window that a page is in; each window once."""
        window = page.window()
        if isinstance(window, QMainWindow) and window.findChild(cls) is None:
            cls(window, session)

    def eventFilter(self, window: QObject | None, event: QEvent | None) -> bool:
        """Look for napari's question when the window gets a child; ask where a person closes it and napari does not."""
        session = self._session()
        if event is None or session is None or not (lost := unsaved(session)):
            return False
        if event.type() == QEvent.Type.ChildAdded:
            QTimer.singleShot(0, self.look)
            return False
        napari_asks = get_settings().application.confirm_close_window and len(session.choices.layers)
        if event.type() != QEvent.Type.Close or not event.spontaneous() or napari_asks:
            return False
        buttons = QMessageBox.StandardButton.Close | QMessageBox.StandardButton.Cancel
        chosen = QMessageBox.question(self.parent(), "Not saved", lost, buttons)
        event.setAccepted(chosen == QMessageBox.StandardButton.Close)
        return not event.isAccepted()

    def look(self) -> None:
        """Say in napari's question, where it is asked, what would be lost."""
        window, session = self.parent(), self._session()
        lost = "" if session is None else unsaved(session)
        for dialog in window.findChildren(QDialog) if isinstance(window, QWidget) else ():
            layout = dialog.layout()
            asks = type(dialog).__name__ == "ConfirmCloseDialog" and dialog.isVisible()
            if lost and asks and layout is not None and not dialog.findChild(QLabel, UNSAVED):
                words = QLabel(f"⚠ {lost}")
                words.setObjectName(UNSAVED)
                layout.insertWidget(0, words)


def unsaved(session: Session) -> str:
    """What would be lost, in words; empty for nothing."""
    comparison, experiment = session.comparison, session.experiment
    words = [UNSAVED] if comparison.unsaved and comparison.shown is not None else []
    words += [UNSAVED.replace("comparison", "experiment")] if experiment.unsaved else []
    return "\n".join(words)
