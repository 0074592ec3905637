"""The dock *Decision landscape*: two samples in, the answer at every rank and number of landmarks out."""

from functools import partial
from typing import Any

from napari.components import ViewerModel
from qtpy.QtWidgets import QWidget

from ...studies import DecisionLandscape
from ..panels.plot_view import Plot
from ..session import Session
from .study import StudyDock, add_to_tip

_GRID = 1  # the panel with the cells


class LandscapeDock(StudyDock):
    """See how the answer depends on the rank and the number of landmarks.

    Parameters
    ----------
    napari_viewer : ViewerModel
        The viewer whose layers are compared.
    """

    def __init__(self, napari_viewer: ViewerModel, parent: QWidget | None = None) -> None:
        self.landscape = Session.of(napari_viewer).landscape
        super().__init__(napari_viewer, self.landscape, parent)
        for name in ("landmarks", "rank"):
            add_to_tip(self.settings.controls[name], "Framed in the plot; the study itself sweeps it.")

    def marked(self) -> tuple[int, int]:
        """The cell of the settings in use, which is framed."""
        settings = self.session.choices.settings
        return settings.landmarks, settings.rank

    def plot(self, result: DecisionLandscape, test: str, marked: tuple[int, int]) -> Plot:
        """The three panels."""
        return partial(_plotted, result, test=test, current=marked)

    def place(self, axes: int, x: float, y: float) -> tuple[int, int] | None:
        """Row and column of the cell at a place of the grid; None beside it."""
        result: DecisionLandscape = self.result
        i, j = round(y), round(x)
        inside = axes == _GRID and 0 <= i < len(result.landmarks) and 0 <= j < len(result.ranks)
        return (i, j) if inside and result.undulation.computed[i, j] else None

    def words(self, place: tuple[int, int]) -> str:
        """The numbers of a cell."""
        result: DecisionLandscape = self.result
        numbers = "; ".join(
            f"{name} p = {test.p_value[place]:.2g}, MMD {test.mmd[place]:.3f}"
            for name, test in (("undulation", result.undulation), ("scale", result.scale))
        )
        i, j = place
        return f"{result.landmarks[i]} landmarks, rank {result.ranks[j]}: {result.case[place]} ({numbers})."

    def load(self, place: tuple[int, int]) -> None:
        """Choose the settings of a cell."""
        self.landscape.load(*place)


def _plotted(result: DecisionLandscape, figure: Any, **options: Any) -> Any:
    from ...studies.figures import plot_landscape  # which needs matplotlib

    return plot_landscape(result, figure, **options)
