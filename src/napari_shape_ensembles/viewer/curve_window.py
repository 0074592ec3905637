"""Opens the window *Curves* on the result of a comparison, and keeps it in step with that."""

from typing import Any

from napari.components import ViewerModel
from qtpy.compat import isalive

from .comparing import ComparisonTask
from .explore import Explorer


class CurveWindow:
    """The window of the curves, made when it is first asked for."""

    def __init__(self, viewer: ViewerModel, comparison: ComparisonTask) -> None:
        self._viewer, self._comparison = viewer, comparison
        self._explorer: Explorer | None = None

    @property
    def explorer(self) -> Explorer | None:
        """The window, as long as it is there."""
        return self._explorer if self._explorer is not None and isalive(self._explorer) else None

    def open(self) -> None:
        """Open the window of the curves, or bring it to the front."""
        if self._comparison.result is None:
            return
        if self.explorer is None:
            self._explorer = Explorer(self._comparison)
            window = getattr(self._viewer, "window", None)
            if window is not None:
                window.add_dock_widget(self._explorer, name="Curves", area="bottom")
        frame: Any = self._explorer.parentWidget() or self._explorer
        frame.show()
        frame.raise_()
