"""The dock *Smoothing study*: two samples in, the answer at every smoothing of their outlines out."""

from functools import partial
from typing import Any

import numpy as np
from napari.components import ViewerModel
from qtpy.QtWidgets import QCheckBox, QWidget

from ...studies import SmoothingStudy
from ..panels.plot_view import Plot
from ..session import Session
from .study import StudyDock, add_to_tip


class SmoothingDock(StudyDock):
    """See how much smoothing of the outlines the answer rests on.

    Parameters
    ----------
    napari_viewer : ViewerModel
        The viewer whose layers are compared.
    """

    def __init__(self, napari_viewer: ViewerModel, parent: QWidget | None = None) -> None:
        self.smoothing = Session.of(napari_viewer).smoothing
        self.merge = QCheckBox("Smooth each image as a whole")
        self.merge.setToolTip(
            "On: objects are smoothed together, and neighbours may merge, as in the paper.\n"
            "Off: each object is smoothed by itself. Default off."
        )
        super().__init__(napari_viewer, self.smoothing, parent)
        self.merge.toggled.connect(self.smoothing.set_merge)
        control = self.settings.controls["outline_smoothing"]
        add_to_tip(control, "Marked in the plot by dots; the study itself sweeps it.")

    def own_controls(self) -> tuple[QWidget, ...]:
        """Whether objects may merge."""
        return (self.merge,)

    def show_result(self) -> None:
        """Show what is chosen of the study's own, and what is known."""
        self.merge.setChecked(self.smoothing.merge)
        super().show_result()

    def marked(self) -> float | None:
        """The smoothing in use, which is marked by dots."""
        return self.smoothing.sigma

    def plot(self, result: SmoothingStudy, test: str, marked: float | None) -> Plot:
        """The three panels."""
        return partial(_plotted, result, test=test, current=marked)

    def place(self, axes: int, x: float, y: float) -> int | None:
        """Place of the nearest σ; None where nothing is known of it."""
        index = int(np.abs(self.result.sigmas - x).argmin())
        return index if self.result.steps[index].sizes is not None else None

    def words(self, place: int) -> str:
        """The numbers at one σ."""
        result: SmoothingStudy = self.result
        a, b = result.sizes[place].astype(int)
        words = f"σ = {result.sigmas[place]:g} px: {a} and {b} curves"
        if result.landscapes[place] is None:
            return f"{words}; {result.reasons[place]}."
        return (
            f"{words}; undulation differs in {result.share_rejected()[place]:.0%} of the cells, "
            f"scale in {result.share_rejected('scale')[place]:.0%}; mean ambiguity "
            f"{result.mean_ambiguity()[place]:.2f}."
        )

    def load(self, place: int) -> None:
        """Choose one of the σ."""
        self.smoothing.load(place)


def _plotted(result: SmoothingStudy, figure: Any, **options: Any) -> Any:
    from ...studies.figures import plot_study  # which needs matplotlib

    return plot_study(result, figure, **options)
