"""Debouncing of events."""

import weakref
from collections.abc import Callable

from qtpy.compat import isalive
from qtpy.QtCore import QObject, QTimer


class Debouncer:
    """Debounces a method: calls it once, some milliseconds after the last of a burst of events.

    The method is held by a weak reference, so that objects can be deleted; that of a deleted widget is not called.
    There is no QTimer object, which would have to be destroyed in the thread that created it.
    """

    def __init__(self, method: Callable[[], object], wait: int = 1) -> None:  # with 0, before events that are due
        self._method = weakref.WeakMethod(method)
        self._wait = wait
        self._requests = 0
        self.pending = self.is_held = False  #: whether a call is due; whether calls wait until `start` is called again

    def start(self, _: object = None) -> None:
        """Schedule the call; a pending one is postponed."""
        self._requests += 1
        self.pending = True
        request = self._requests
        QTimer.singleShot(self._wait, lambda: self._call_if_latest(request))

    def request(self, _: object = None) -> None:
        """Schedule the call, unless one is pending already."""
        if not self.pending:
            self.start()

    def stop(self) -> None:
        self._requests += 1
        self.pending = False

    def flush(self) -> None:
        """Call it at once if a call is due."""
        method = self._method()
        if self.pending and method is not None:
            self.stop()
            owner = getattr(method, "__self__", None)
            if not isinstance(owner, QObject) or isalive(owner):
                method()

    def _call_if_latest(self, request: int) -> None:
        if request == self._requests and not self.is_held:
            self.flush()
