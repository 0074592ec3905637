"""Opens the window *Curves* on the result of a comparison, and keeps it in step with that."""

from typing import Any

from napari.components import ViewerModel
from qtpy.compat import isalive

from ..comparing import ComparisonTask
from .explorer import CurveExplorer


class CurveWindow:
    """The window of the curves, made when it is first asked for."""

    def __init__(self, viewer: ViewerModel, comparison: ComparisonTask) -> None:
        self._viewer, self._comparison = viewer, comparison
        self._explorer: CurveExplorer | None = None
        self._shown: object = None

    @property
    def explorer(self) -> CurveExplorer | None:
        """The window, as long as it is there; it may have been opened from a dock that is gone."""
        if self._explorer is None or not isalive(self._explorer):
            window = getattr(self._viewer, "window", None)
            opened = () if window is None else window.dock_widgets.values()
            self._explorer = next((one for one in opened if isinstance(one, CurveExplorer) and isalive(one)), None)
        return self._explorer

    def open(self) -> None:
        """Open the window of the curves, or bring it to the front."""
        if self._comparison.result is None:
            return
        explorer = self.explorer
        if explorer is None:
            explorer = self._explorer = CurveExplorer(self._comparison.selection)
            explorer.excluded.connect(self._comparison.exclude)
            self._shown = None
            self.refresh()
            window = getattr(self._viewer, "window", None)
            if window is not None:
                window.add_dock_widget(explorer, name="Curves", area="bottom")
        frame: Any = explorer.parentWidget() or explorer
        frame.show()
        frame.raise_()

    def refresh(self) -> None:
        """Show the result of now, and which of its curves are left out."""
        result, explorer = self._comparison.result, self.explorer
        if explorer is not None and result is not None:
            if result is not self._shown:
                self._shown = result
                explorer.show_result(result)
            explorer.show_excluded(self._comparison.excluded_rows())
