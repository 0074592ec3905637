"""What docks with a result have in common: they tell when it no longer holds, and rest while they are closed."""

from abc import abstractmethod

from napari.components import ViewerModel
from qtpy.QtCore import QEvent, Signal
from qtpy.QtWidgets import QWidget

from .panels.notices import StaleNotice
from .panels.widgets import is_closed, once
from .staleness import Basis, Watch, changes
from .worker import Runner


class ResultDock(QWidget):
    """A dock whose result rests on layers and settings; `basis` is what it rests on, None as long as there is none.

    Parameters
    ----------
    viewer : ViewerModel
    renewal : str
        What the button beside the words of an outdated result does.

    Signals
    -------
    finished
        What was under way has ended: completely, by an error, or by being cancelled.
    """

    finished = Signal()

    def __init__(self, viewer: ViewerModel, renewal: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.viewer = viewer
        self.runner = Runner(self)
        self.basis: Basis | None = None
        self.stale = StaleNotice(renewal)
        self.watch = Watch(viewer, self)
        self.watch.told.connect(self.show_staleness)
        self._closing = once(self, self._leave_if_closed)

    @abstractmethod
    def now(self) -> Basis | None:
        """What a result found now would rest on; a ValueError says why there can be none."""

    @abstractmethod
    def can_run(self) -> bool:
        """Whether all that a run needs is chosen."""

    @abstractmethod
    def cancel(self) -> None:
        """Stop what is under way."""

    @abstractmethod
    def follow(self) -> None:
        """Keep in step with the layer list from now on."""

    @abstractmethod
    def rest(self) -> None:
        """Stop following."""

    def changed_since(self) -> list[str]:
        """What has changed since the result was found, in words."""
        if self.basis is None:
            return []
        try:
            return changes(self.basis, self.now())
        except ValueError as error:
            return [str(error)]

    def show_staleness(self) -> None:
        """Say whether the result still holds; after a run, not during it."""
        changed = [] if self.runner.busy else self.changed_since()
        self.stale.show_changes(changed, can_run=self.can_run())

    def watch_result(self) -> None:
        """Listen to the layers that the result rests on, and say whether it still holds."""
        refs = [] if self.basis is None else [ref for side in self.basis.layers for ref in side]
        self.watch.follow(layer for ref in refs if (layer := ref()) is not None)
        self.show_staleness()

    def showEvent(self, event: QEvent | None) -> None:  # noqa: N802 - Qt's name
        """Follow the layers again after the dock was closed, and see what has changed meanwhile."""
        self.follow()
        self.watch_result()
        super().showEvent(event)

    def hideEvent(self, event: QEvent | None) -> None:  # noqa: N802 - Qt's name
        """Closing the dock only hides it: stop then, but not for another tab or a minimised window."""
        self._closing.start()
        super().hideEvent(event)

    def _leave_if_closed(self) -> None:
        if is_closed(self):
            self.cancel()
            self.rest()
            self.watch.rest()
