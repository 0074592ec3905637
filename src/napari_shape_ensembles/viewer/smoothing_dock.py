"""The dock *Smoothing study*: two groups of layers in, the answer at every smoothing of their outlines out."""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import numpy as np
from napari.components import ViewerModel
from qtpy.QtWidgets import QCheckBox, QWidget

from ..studies import SmoothingStudy
from ..studies.ranges import SMOOTHING
from .hand_over import load_into_compare
from .inputs import source_of
from .layer_groups import LayerGroups, why_not
from .plot_view import Plot
from .ranges import NumbersEdit
from .study_dock import StudyDock, named
from .study_worker import Ranges, run_smoothing


class SmoothingDock(StudyDock):
    """See how much smoothing of the outlines the answer rests on.

    Parameters
    ----------
    napari_viewer : ViewerModel
        The viewer whose layers are compared.
    """

    swept = ("landmarks", "rank", "outline_smoothing")

    def __init__(self, napari_viewer: ViewerModel, parent: QWidget | None = None) -> None:
        self.groups = LayerGroups(napari_viewer)
        self.merge = QCheckBox("Smooth each image as a whole")
        self.merge.setToolTip(
            "On: objects are smoothed together, and neighbours may merge, as in the paper.\n"
            "Off: each object is smoothed by itself. Default off."
        )
        edits = {
            "sigmas": (
                "Smoothing σ (px)",
                NumbersEdit(SMOOTHING["sigmas"], "Gaussian σ in pixels.", least=0, whole=False),
            ),
            "ranks": ("Ranks", NumbersEdit(SMOOTHING["ranks"], "Numbers of undulation coordinates.", least=1)),
            "landmarks": (
                "Landmarks",
                NumbersEdit(SMOOTHING["landmarks"], "Numbers of points on every outline.", least=20),
            ),
        }
        ranges = {name: (words, named(edit, words)) for name, (words, edit) in edits.items()}
        super().__init__(napari_viewer, self.groups, ranges, parent)
        self.merge.toggled.connect(self.show_staleness)
        control = self.settings.controls["outline_smoothing"]
        control.setToolTip(f"{control.toolTip()}\nMarked in the plot by dots; the study itself sweeps it.")

    def more(self) -> dict[str, Hashable]:
        """Choices beside the form's, by the words for them."""
        return {**super().more(), f'"{self.merge.text()}"': self.merge.isChecked()}

    def own_controls(self) -> tuple[QWidget, ...]:
        """Whether objects may merge."""
        return (self.merge,)

    def why_not(self) -> str:
        """Why the two groups cannot be compared."""
        return why_not(*self.groups.chosen())

    def work(self) -> Callable[[], SmoothingStudy]:
        """The study of the two groups, from copies of what their layers show."""
        a, b = ([source_of(layer, self.viewer.dims) for layer in group] for group in self.groups.chosen())
        swept = Ranges(
            tuple(self.ranges["ranks"].whole_values()),
            tuple(self.ranges["landmarks"].whole_values()),
            tuple(self.ranges["sigmas"].values()),
        )
        segmentation, settings = self.settings.segmentation(), self.settings.analysis()
        return partial(run_smoothing, (a, b), segmentation, settings, swept, self.merge.isChecked())

    def plot(self, result: SmoothingStudy, test: str) -> Plot:
        """The three panels, with the smoothing in use marked."""
        return partial(_plotted, result, test=test, current=self.settings.segmentation().outline_smoothing)

    def _place(self, x: float) -> int | None:
        """Place of the nearest σ; None where nothing is known of it."""
        if self.result is None:
            return None
        index = int(np.abs(self.result.sigmas - x).argmin())
        return index if self.result.steps[index].sizes is not None else None

    def loaded(self, axes: int, x: float, y: float) -> str:
        """Load the smoothing of a place here and into Compare shapes."""
        index = self._place(x)
        if index is None:
            return ""
        self.settings.load({"outline_smoothing": float(self.result.sigmas[index])})
        load_into_compare(self.viewer, self.settings.values(), self.groups.chosen())
        return f"{self.describe(axes, x, y)}\nLoaded into Compare shapes: press Run there for its curves."

    def describe(self, axes: int, x: float, y: float) -> str:
        """The numbers at one σ."""
        index = self._place(x)
        if index is None:
            return ""
        result: SmoothingStudy = self.result
        a, b = result.sizes[index].astype(int)
        words = f"σ = {result.sigmas[index]:g} px: {a} and {b} curves"
        if result.landscapes[index] is None:
            return f"{words}; {result.reasons[index]}."
        return (
            f"{words}; undulation differs in {result.share_rejected()[index]:.0%} of the cells, "
            f"scale in {result.share_rejected('scale')[index]:.0%}; mean ambiguity "
            f"{result.mean_ambiguity()[index]:.2f}."
        )


def _plotted(result: SmoothingStudy, figure: Any, **options: Any) -> Any:
    from ..studies.figures import plot_study  # which needs matplotlib

    return plot_study(result, figure, **options)
