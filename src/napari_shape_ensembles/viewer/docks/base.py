"""Base classes of the pages: running and cancelling a task, its progress and state, and closing."""

import weakref
from abc import abstractmethod
from collections.abc import Callable
from html import escape
from itertools import combinations
from typing import Any, Literal

from napari.components import ViewerModel
from psygnal import SignalInstance
from qtpy.compat import isalive
from qtpy.QtCore import QEvent, Qt, Signal
from qtpy.QtWidgets import QApplication, QHBoxLayout, QProgressBar, QPushButton, QWidget

from ...progress import Progress
from ..canvas_context import CanvasContext, enclosing
from ..choices import PLUGIN
from ..close_confirmation import CloseConfirmation
from ..debouncing import Debouncer
from ..form import Form, in_words
from ..panels.widgets import NarrowList, Notice, WrappedLabel, button, row, run_keys
from ..session import Session
from ..task import Task

BENCH = "Shape bench"  #: title of the dock with all pages
#: Flags of a label with links.
LINKS = Qt.TextInteractionFlag.LinksAccessibleByMouse | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
_MAX_LISTED = 3  # maximum number of changes listed


class Page(QWidget):
    """A page that is connected to the session and its tasks while open, and updates itself when reopened."""

    def __init__(self, session: Session, *tasks: Task[Any]) -> None:
        super().__init__()
        self.session = session
        self._connection = SessionConnection(session, *tasks)
        # A bound method, which PyQt holds weakly. A partial would be collected together with the page; if that is in a
        # worker thread, Qt destroys the widget later, and calling the collected partial crashes Python.
        self.destroyed.connect(self._connection.on_page_destroyed)
        self._followers: list[weakref.WeakMethod[Callable[[], Any]]] = []
        self._was_shown = False
        self._close_debouncer = Debouncer(self._disconnect_if_closed)
        self._orphan_debouncer = Debouncer(self._delete_if_orphaned)

    def link(self, signal: SignalInstance, slot: Callable[..., Any]) -> None:
        """Connect a slot to a signal of the session while the page is open."""
        self._connection.links.append((signal, weakref.WeakMethod(slot)))

    def follow(self, signal: SignalInstance, slot: Callable[[], Any]) -> None:
        """Connect a slot to a signal while the page is open, and call it each time the page is opened."""
        self.link(signal, slot)
        self._followers.append(weakref.WeakMethod(slot))

    def add_close_handler(self, action: Callable[[], object]) -> None:
        """Call a function, which must not refer to the page, when the page is closed or destroyed."""
        self._connection.close_handlers.append(action)

    def enclose(self, page: "Page") -> None:
        """Disconnect a page inside of this one together with it, also while hidden."""
        self.add_close_handler(page._connection.disconnect)

    def request_page(self, title: str) -> None:
        """Ask the bench to show a page, or the form of the recipe or settings; in a window, the bench is opened."""
        if (window := getattr(self.session.choices.viewer, "window", None)) is not None:
            window.add_plugin_dock_widget(PLUGIN, BENCH)[0].show()
        self.session.page_requested.emit(title)

    def attach(self) -> None:
        """Connect to the session, and update the page after a time without a connection."""
        if self._connection.connect():
            for ref in self._followers:
                if (slot := ref()) is not None:
                    slot()
            self.sync_with_session()

    @abstractmethod
    def sync_with_session(self) -> None:
        """Update the page from the current state of the session."""

    def showEvent(self, event: QEvent | None) -> None:
        """Reconnect to the session after the page was closed."""
        self._was_shown = True
        self._close_debouncer.stop()
        self.attach()
        CloseConfirmation.watch(self, self.session)
        CanvasContext.watch(self, self.session.choices.layers)
        super().showEvent(event)

    def hideEvent(self, event: QEvent | None) -> None:
        """Schedule a disconnect if this is due to closing, rather than a tab change or a minimized window.

        A page that is put into another widget before it was ever shown is hidden, too, by Qt before 6.9.
        """
        if self._was_shown:
            self._close_debouncer.start()
        super().hideEvent(event)

    def changeEvent(self, event: QEvent | None) -> None:
        """Delete a page that napari has taken out of its dock, instead of leaving it to the garbage collector.

        That may run in a worker thread, where PySide would destroy the widget.
        """
        if event is not None and event.type() == QEvent.Type.ParentChange:
            self._orphan_debouncer.start()
        super().changeEvent(event)

    def _delete_if_orphaned(self) -> None:
        if self.parent() is None:
            self.deleteLater()

    def _disconnect_if_closed(self) -> None:
        frame = self.parentWidget()
        while frame is not None and not frame.isHidden():
            frame = frame.parentWidget()
        # An ancestor is hidden: the dock was closed, or a stack or tab widget shows another page.
        if frame is not None or self.parentWidget() is None:
            self._connection.disconnect()


class TaskPage(Page):
    """A page for a task of the session; `run` and `run_again` are the tooltips of *Run* and *Run again*.

    Subclasses create and lay out their controls after `__init__` of this class, which creates the buttons and message
    labels, call `attach` last, and implement `show_result`.
    """

    finished = Signal()  #: the task has completed, failed or been cancelled

    def __init__(self, viewer: ViewerModel, task: Task[Any], name: str = "&Run", *, run: str, run_again: str) -> None:
        super().__init__(Session.of(viewer), task)
        self.viewer, self.task = viewer, task
        self.run_button = button(name, f"{run} (Enter)")
        self.cancel_button = button("Cancel", "Stop; layers and results are kept (Esc)")
        self.reason, self.step = WrappedLabel(), WrappedLabel()
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
        self.stale = Notice("Run a&gain", run_again, rich=True)
        self.run_button.clicked.connect(self.run)
        self.stale.button.clicked.connect(self.run_again)
        self.cancel_button.clicked.connect(self.cancel)
        self._cancel_shortcut = run_keys(self, self._on_enter, self.cancel)
        self._form: tuple[Form[Any], str] | None = None  # the form of the page, and what it is bound to
        self._shown_value: Any = None  # last set on the form
        self._was_busy = False
        self._interrupted: QWidget | None = None  # the control that *Cancel* took the focus from
        self.findings: tuple[QWidget, ...] = ()  #: what states the result, gray while it is out of date
        self._invalid_reason = ""  # why the values of the form are invalid
        self.link(self.session.choices.changed, self._show_choices)
        self.link(task.changed, self.show_state)
        self.link(task.progressed, self.show_progress)

    def bind(self, form: Form[Any], name: Literal["recipe", "settings"]) -> None:
        """Bind a form to the recipe or the settings, which all pages share, in both directions."""
        form.changed.connect(self._store_value)
        self._form = form, name

    def _store_value(self) -> None:
        """Store the value of the form in the session; an invalid combination is not stored, and disables Run."""
        assert self._form is not None
        (form, name), said, self._invalid_reason = self._form, self._invalid_reason, ""
        try:
            self.session.choices.set(**{name: form.value})
        except ValueError as error:
            self._invalid_reason = str(error)
        if said or self._invalid_reason:
            self.show_state()

    def _show_choices(self) -> None:
        if self._form is None:
            return
        form, name = self._form
        chosen = getattr(self.session.choices, name)
        if chosen is not self._shown_value:  # do not overwrite incomplete input
            self._shown_value = form.value = chosen
        if self._invalid_reason:
            self._store_value()

    def buttons(self, *more: QWidget) -> QHBoxLayout:
        return row(self.run_button, self.cancel_button, *more, grows=self.run_button)

    @abstractmethod
    def show_result(self) -> None:
        """Show the result of the task, or its absence."""

    @property
    def result(self) -> Any:
        return self.task.result

    @property
    def busy(self) -> bool:
        return self.task.busy

    @property
    def state(self) -> str:
        return self.task.state

    def run(self) -> None:
        """Run the task in the background, unless the values of the form are invalid."""
        if not self._invalid_reason:
            self.task.run()

    def _on_enter(self) -> None:
        """Press the focused button, which may save or unfold something, or else run, maybe a page inside of this one.

        Not *Cancel*, which takes the focus from *Run*: a key pressed twice would cancel the run.
        """
        focused = QApplication.focusWidget()
        page = enclosing(focused, TaskPage) or self  # type: ignore[type-abstract]  # of any kind
        if isinstance(focused, QPushButton) and focused is not page.cancel_button:
            focused.click()
        else:
            page.run_by_key()

    def run_by_key(self) -> None:
        """Handle Enter in a control other than a button."""
        self.run()

    def cancel(self) -> None:
        self.task.cancel()

    def run_again(self) -> None:
        self.run()

    def show_state(self) -> None:
        """Show the progress, why Run is disabled, whether the result is out of date, and the result."""
        busy = self.task.busy
        reason = "" if busy else self._invalid_reason or self.task.blocking_reason()
        changed = [] if self.task.running else self.task.changed_since()
        focused = QApplication.focusWidget()
        self.run_button.setEnabled(not (busy or reason))
        self._cancel_shortcut.setEnabled(busy)
        self.reason.show_text("" if changed else reason)
        shown_while_busy = self.cancel_button, self.progress, self.step
        if busy:
            for part in shown_while_busy:
                part.show()
        more = f", and {len(changed) - _MAX_LISTED} more" if len(changed) > _MAX_LISTED else ""
        listed = escape(f"{', '.join(changed[:_MAX_LISTED])}{more}. {reason}".rstrip(), quote=False)
        self.stale.set_message(f"<b>↻ Out of date:</b> {listed}" if changed else "")
        for part in self.findings:
            part.setEnabled(not changed)
        self.stale.button.setEnabled(self.run_button.isEnabled())
        if busy:
            self.show_progress(self.task.step)
        self.show_result()
        # The focused widget may be disabled or hidden now; without the focus, the dock's shortcuts would not work, and
        # Qt would give it to a widget elsewhere on the page, and scroll there.
        is_lost = focused is not None and self.isAncestorOf(focused) and QApplication.focusWidget() is not focused
        if busy and is_lost:
            self._interrupted = focused
            self.cancel_button.setFocus()
        elif not busy and (is_lost or focused is self.cancel_button):
            before, self._interrupted = self._interrupted, None
            again = self.stale.button if self.run_button.isHidden() else self.run_button
            (before if before is not None and isalive(before) and before.isVisible() else again).setFocus()
        if not busy:
            for part in shown_while_busy:
                part.hide()
        ended, self._was_busy = self._was_busy and not busy, busy
        if ended:
            self.finished.emit()

    def show_progress(self, step: Progress) -> None:
        self.progress.setUpdatesEnabled(False)  # else Qt repaints the whole window at every step
        self.progress.setRange(0, step.total)
        self.progress.setValue(step.done)
        self.progress.setUpdatesEnabled(True)
        self.step.setText(step.text)
        if not (self.task.running or self.task.delivering):
            self.show_note(f"{self.step.text()} Esc cancels.")

    def show_note(self, words: str) -> None:
        """Show the progress of a secondary task near its own button, which may be far from the progress bar."""

    def attach(self) -> None:
        self._show_choices()
        super().attach()

    def sync_with_session(self) -> None:
        self.show_state()


class ChoicesLine(WrappedLabel):
    """The recipe and the settings in a line of text, with a link to the form of each."""

    def __init__(self, page: Page, *parts: Literal["recipe", "settings"]) -> None:
        super().__init__(rich=True)
        self._choices, self._parts = page.session.choices, parts
        self.setTextInteractionFlags(LINKS)
        self.setToolTip("Open the form to change them")
        self.linkActivated.connect(page.request_page)
        page.follow(self._choices.changed, self.show_choices)

    def show_choices(self) -> None:
        lines = []
        for part in self._parts:
            words = escape(in_words(getattr(self._choices, part)))
            lines.append(f"{part.capitalize()}: {words}. <a href='{part}'>Change</a>")
        self.setText("<br>".join(lines))


class PairChoice(NarrowList):
    """A choice of the two groups that are A and B, where there are more than two."""

    def __init__(self, page: Page) -> None:
        super().__init__("Two of the groups: explained, tried with other choices, and written for a paper")
        self._session = page.session
        self.setAccessibleName("Pair of groups")
        self.activated.connect(self._choose)
        page.follow(self._session.design.changed, self.refresh)

    def refresh(self) -> None:
        """List the pairs, and show the current one."""
        design = self._session.design
        groups = list(design.groups())
        pairs = list(combinations(groups, 2)) if len(groups) > 2 else []
        shown = next((pair for pair in pairs if {*pair} == {*design.samples}), None)
        self.offer([([a, b], f"{a} and {b}") for a, b in pairs], shown and [*shown])
        self.setVisible(bool(pairs))

    def _choose(self, _: int) -> None:
        self._session.comparison.show_contrast(*self.currentData())


class SessionConnection:
    """Connects a page to the session and its tasks, which run only while connected to any page.

    It is separate from the page, and held by the session, so that it can disconnect after Qt has destroyed the page.
    """

    def __init__(self, session: Session, *tasks: Task[Any]) -> None:
        # Weak references to the slots, or the connection would keep the page alive.
        self.links: list[tuple[SignalInstance, weakref.WeakMethod[Callable[..., Any]]]] = []
        self.close_handlers: list[Callable[[], object]] = []
        self._session, self._tasks, self._is_connected = session, tasks, False

    def connect(self) -> bool:
        """Connect to the session; return whether it was disconnected before."""
        if self._is_connected:
            return False
        self._is_connected = True
        for signal, ref in self.links:
            if (slot := ref()) is not None:
                signal.connect(slot, check_nargs=False)
        self._session.attach(*self._tasks, by=self)
        return True

    def disconnect(self) -> None:
        """Disconnect from the session, which stops tasks without a page."""
        if not self._is_connected:
            return
        self._is_connected = False
        for action in self.close_handlers:
            action()
        self._session.detach(*self._tasks, by=self)
        self._disconnect_links()

    def on_page_destroyed(self, _: object = None) -> None:
        """Disconnect after the page was destroyed: its slots are not called any more."""
        self._disconnect_links()
        self.disconnect()

    def _disconnect_links(self) -> None:
        for signal, ref in self.links:
            if (slot := ref()) is not None:
                signal.disconnect(slot, missing_ok=True)
