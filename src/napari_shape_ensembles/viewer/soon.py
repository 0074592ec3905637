"""Functions called once after a row of events, however many there were."""

import weakref
from collections.abc import Callable

from qtpy.QtCore import QTimer


class Soon:
    """Calls a method once after the events that are under way.

    Held weakly, so that nothing is called of an object that is gone; without a timer of its own, which could be
    destroyed only in the thread that made it.

    Parameters
    ----------
    method : bound method
    wait : int
        Milliseconds.
    """

    def __init__(self, method: Callable[[], object], wait: int = 0) -> None:
        self._method = weakref.WeakMethod(method)
        self._wait = wait
        self._asked = 0

    def start(self) -> None:
        """Call it soon; asked again meanwhile, it is called later."""
        self._asked += 1
        asked, own = self._asked, weakref.ref(self)
        QTimer.singleShot(self._wait, lambda: None if (soon := own()) is None else soon._act(asked))

    def stop(self) -> None:
        self._asked += 1

    def _act(self, asked: int) -> None:
        method = self._method()
        if asked == self._asked and method is not None:
            method()
