"""Confirmation before closing a window with an unsaved result or a running task."""

import weakref
from collections.abc import Callable

from napari.settings import get_settings
from qtpy.QtCore import QEvent, QObject, Qt, QTimer
from qtpy.QtGui import QKeySequence
from qtpy.QtWidgets import QApplication, QDialog, QLabel, QMainWindow, QMessageBox, QPushButton, QWidget

from ..words import counted
from .canvas_context import enclosing
from .session import Session

UNSAVED = "The comparison is not saved: it would be lost."
CORRECTIONS = "The review of {} is not saved: it would be lost."
EXAMPLES = "Examples painted in {} would be lost."
MODEL = "The learned model is not saved: it would be lost."
GROUPS = "The table of groups is not saved: it would be lost."
EXCLUSIONS = "The exclusion of {} is not saved: it would be lost."
RUNNING = "A run is under way: it would be stopped."
OTHER_WINDOW = "In another window {}."
_LOSS_LABEL = "what would be lost"  # object name of the label added to napari's dialog


class CloseConfirmation(QObject):
    """Event filter on a main window, for its lifetime.

    Unless its preferences disable it, napari confirms closing: a label with what would be lost (on quit, in all
    windows) is added to its dialog. Otherwise this shows its own dialog. Once the window is closed, the session is
    disconnected, before Qt destroys first the canvas and then the docks.
    """

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self.session: Callable[[], Session | None] = lambda: None  #: weak reference to the session of its pages
        self._confirmed = False  # whether the user has confirmed in napari's dialog
        window.installEventFilter(self)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._on_focus_changed)

    @classmethod
    def watch(cls, page: QWidget, session: Session) -> None:
        """Watch the window that a page belongs to, each window once."""
        own = cls._watcher_of(enclosing(page, QMainWindow) or page)
        if own is not None:
            own.session = weakref.ref(session)

    @classmethod
    def _watcher_of(cls, window: QWidget) -> "CloseConfirmation | None":
        """Return the watcher of a window, which may have no page; created if missing."""
        return (window.findChild(cls) or cls(window)) if isinstance(window, QMainWindow) else None

    def _on_focus_changed(self, _: QWidget | None, widget: QWidget | None) -> None:
        """Watch each window that gets the focus, as napari can be quit from any."""
        if widget is not None:
            self._watcher_of(widget.window())

    def eventFilter(self, window: QObject | None, event: QEvent | None) -> bool:
        """Extend napari's dialog when it is added to the window; on a close event, ask if napari does not."""
        session = self.session()
        if event is None or not isinstance(window, QMainWindow):
            return False
        if event.type() == QEvent.Type.ChildAdded:
            QTimer.singleShot(0, self.extend_dialog)
        if session is None:
            return False
        if event.type() == QEvent.Type.Hide and not event.spontaneous():
            session.deactivate()
        if event.type() != QEvent.Type.Close:
            return False
        agreed, self._confirmed = self._confirmed, False
        by_script = not event.spontaneous() and is_empty(window)
        napari_asks = get_settings().application.confirm_close_window and len(session.choices.layers)
        lost = self._losses(everywhere=not event.spontaneous())  # closed by shortcut or menu, it may be a quit
        if agreed or by_script or napari_asks or not lost:
            return False
        buttons = QMessageBox.StandardButton.Close | QMessageBox.StandardButton.Cancel
        chosen = QMessageBox.question(window, "Close?", lost, buttons)
        event.setAccepted(chosen == QMessageBox.StandardButton.Close)
        return not event.isAccepted()

    def extend_dialog(self) -> None:
        """Add a label with what would be lost to napari's dialog, if it is open."""
        window = self.parent()
        for dialog in window.findChildren(QDialog) if isinstance(window, QWidget) else ():
            layout = dialog.layout()
            asks = type(dialog).__name__ == "ConfirmCloseDialog" and dialog.isVisible()
            if asks and layout is not None and not dialog.findChild(QLabel, _LOSS_LABEL):
                keys = [button.shortcut() for button in dialog.findChildren(QPushButton)]
                if lost := self._losses(everywhere=QKeySequence("Ctrl+Q") in keys):
                    words = QLabel(lost)
                    words.setObjectName(_LOSS_LABEL)
                    layout.insertWidget(0, words)
                    dialog.accepted.connect(self._on_confirmed)

    def _on_confirmed(self) -> None:
        self._confirmed = True

    def _losses(self, *, everywhere: bool) -> str:
        """Return a text on what would be lost by closing this window or all of them."""
        found = dict.fromkeys(loss_warnings(self.session()))
        others = QApplication.topLevelWidgets() if everywhere else []
        for other in (window.findChild(CloseConfirmation) for window in others if not window.isHidden()):
            if other is not None and other is not self:
                lines = loss_warnings(other.session())
                found |= dict.fromkeys(OTHER_WINDOW.format(f"{line[0].lower()}{line[1:-1]}") for line in lines)
        return "\n".join(f"⚠ {line}" for line in found)


def is_empty(window: QMainWindow) -> bool:
    """Whether the central widget shows nothing: `viewer.close()` closes the canvas first, unlike keys and menus."""
    centre = window.centralWidget()
    children = [] if centre is None else centre.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
    return all(child.isHidden() for child in children)


def loss_warnings(session: Session | None) -> list[str]:
    """Return sentences on what would be lost."""
    if session is None:
        return []
    comparison = session.comparison
    answer = comparison.answer
    lost = UNSAVED.replace("comparison", "experiment") if answer is not None and answer.is_described else UNSAVED
    words = [lost] if comparison.unsaved else []
    if corrections := session.inspection.unsaved_corrections():
        words.append(CORRECTIONS.format(", ".join(corrections.values())))
    learning = session.learning
    if painted := learning.unsaved_examples():
        words.append(EXAMPLES.format(", ".join(painted)))
    if learning.is_model_unsaved:
        words.append(MODEL)
    if session.design.unsaved:
        words.append(GROUPS)
    count = sum(map(len, comparison.current_inputs().excluded))
    if count and session.choices.exclusions.unsaved:
        words.append(EXCLUSIONS.format(counted(count, "curve")))
    words += [UNSAVED.replace("comparison", "reference")] if session.referring.unsaved else []
    runs = comparison, session.referring, session.landscape, session.smoothing, session.trust
    return words + [RUNNING] * any(task.busy and task.running for task in runs)
