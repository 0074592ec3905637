"""The dock *Decision landscape*: two samples in, the answer at every rank and number of landmarks out."""

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
from napari.components import ViewerModel
from qtpy.QtWidgets import QWidget

from ..studies import DecisionLandscape
from ..studies.ranges import LANDSCAPE
from .hand_over import load_into_compare
from .inputs import source_of
from .layer_sides import LayerSides
from .plot_view import Plot
from .ranges import NumbersEdit
from .study_dock import StudyDock, named
from .study_worker import Ranges, run_landscape

_GRID = 1  # the panel with the cells


class LandscapeDock(StudyDock):
    """See how the answer depends on the rank and the number of landmarks.

    Parameters
    ----------
    napari_viewer : ViewerModel
        The viewer whose layers are compared.
    """

    swept = ("landmarks", "rank")

    def __init__(self, napari_viewer: ViewerModel, parent: QWidget | None = None) -> None:
        self.sides = LayerSides(napari_viewer)
        ranks = NumbersEdit(LANDSCAPE["ranks"], "Numbers of undulation coordinates.", least=1)
        landmarks = NumbersEdit(LANDSCAPE["landmarks"], "Numbers of points placed on every outline.", least=20)
        ranges = {"ranks": ("Ranks", named(ranks, "Ranks")), "landmarks": ("Landmarks", named(landmarks, "Landmarks"))}
        super().__init__(napari_viewer, self.sides, ranges, parent)
        for name in self.swept:
            control = self.settings.controls[name]
            control.setToolTip(f"{control.toolTip()}\nFramed in the plot; the study itself sweeps it.")

    def why_not(self) -> str:
        """Why the two samples cannot be compared."""
        return self.sides.why_not()

    def work(self) -> Callable[[], DecisionLandscape]:
        """The landscape of the two samples, from copies of what their layers show."""
        a, b = (tuple(source_of(layer, self.viewer.dims) for layer in side) for side in self.sides.chosen())
        swept = Ranges(*(tuple(self.ranges[name].whole_values()) for name in ("ranks", "landmarks")))
        return partial(run_landscape, (a, b), self.settings.segmentation(), self.settings.analysis(), swept)

    def plot(self, result: DecisionLandscape, test: str) -> Plot:
        """The three panels, with the settings in use framed."""
        settings = self.settings.analysis()
        return partial(_plotted, result, test=test, current=(settings.landmarks, settings.rank))

    def _cell(self, axes: int, x: float, y: float) -> tuple[int, int] | None:
        """Row and column of the cell at a place of the grid; None beside it."""
        if axes != _GRID or self.result is None:
            return None
        i, j = round(y), round(x)
        inside = 0 <= i < len(self.result.landmarks) and 0 <= j < len(self.result.ranks)
        return (i, j) if inside and self.result.undulation.computed[i, j] else None

    def loaded(self, axes: int, x: float, y: float) -> str:
        """Load the settings of a cell here and into Compare shapes."""
        cell = self._cell(axes, x, y)
        if cell is None:
            return ""
        i, j = cell
        settings = self.result.settings_at(self.result.landmarks[i], self.result.ranks[j])
        used = {field.name: getattr(settings, field.name) for field in fields(settings)}
        own = {name: value for name, value in used.items() if name in self.settings.controls}
        self.settings.load(own)
        load_into_compare(self.viewer, self.settings.values(), self.sides.chosen())
        return f"{self.describe(axes, x, y)}\nLoaded into Compare shapes: press Run there for its curves."

    def describe(self, axes: int, x: float, y: float) -> str:
        """The numbers of a cell."""
        cell = self._cell(axes, x, y)
        if cell is None:
            return ""
        i, j = cell
        result: DecisionLandscape = self.result
        numbers = "; ".join(
            f"{name} p = {test.p_value[i, j]:.2g}, MMD {test.mmd[i, j]:.3f}"
            for name, test in (("undulation", result.undulation), ("scale", result.scale))
        )
        place = f"{result.landmarks[i]} landmarks, rank {result.ranks[j]}"
        return f"{place}: {np.str_(result.case[i, j])} ({numbers})."


def _plotted(result: DecisionLandscape, figure: Any, **options: Any) -> Any:
    from ..studies.figures import plot_landscape  # which needs matplotlib

    return plot_landscape(result, figure, **options)
