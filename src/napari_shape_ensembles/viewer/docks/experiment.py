"""The page of an experiment: what was found of all groups of the design table."""

from functools import partial
from typing import Any

from napari.components import ViewerModel

from ...comparison import Experiment
from ..panels.plot_view import PlotView
from ..panels.widgets import PickTable, Section, column, scrolling, wrapped
from ..session import Session
from .base import Dock

_QUANTITIES = ("size", "elongation", "roughness")


class ExperimentPage(Dock):
    """Shows the contrasts of an experiment: in sentences, as a table, and every replicate over its outlines."""

    def __init__(self, napari_viewer: ViewerModel) -> None:
        task = Session.of(napari_viewer).experiment
        super().__init__(
            napari_viewer,
            task,
            run="Compare the groups of the design table, with replicates as what is exchangeable",
            renewal="Compare the groups as they are now",
        )
        self.run_button.setText("&Compare")
        self._drawn: object = None
        self.sentences, self.contrasts, self.notes, self.message = wrapped(), wrapped(), wrapped(), wrapped()
        font = self.sentences.font()
        font.setBold(True)
        self.sentences.setFont(font)
        self.table = PickTable("contrast", "row", "p form", "p scale", "size")
        self.table.setMinimumHeight(120)
        self.table.setAccessibleName("Contrasts")
        self.table.setToolTip("One line per pair of groups; adjusted p-values; size: ratio of the means.")
        self.view = PlotView()
        self.view.setMinimumHeight(220)
        self.view.setToolTip("Grey: outlines. Marks: replicates. Lines: means of groups with 95 % intervals.")
        self.numbers = Section("In words, and notes", column(self.contrasts, self.notes))
        state = self.reason, self.step, self.progress, self.stale, self.message
        scrolling(self, self.buttons(), *state, self.sentences, self.view, self.table, self.numbers)
        self.attach()

    def show_result(self) -> None:
        found = self.result
        self.message.setText(self.task.message)
        self.message.setVisible(bool(self.task.message))
        for part in (self.sentences, self.view, self.table, self.numbers):
            part.setVisible(found is not None)
        self.run_button.setVisible(self.state != "done")
        if found is not None and found is not self._drawn:
            self._drawn = found
            self.sentences.setText("\n".join(found.sentences))
            self.contrasts.setText("\n".join(found.contrasts))
            self.notes.setText("\n".join(f"⚠ {note}" for note in found.notes))
            self.table.show_rows(found.rows)
            self.view.show_plot(partial(_drawn, found.experiment))


def _drawn(result: Experiment, figure: Any) -> Any:
    from ...studies.superplot import draw_superplot  # loads Matplotlib, here in a thread of its own

    return draw_superplot(figure, result, _QUANTITIES)
