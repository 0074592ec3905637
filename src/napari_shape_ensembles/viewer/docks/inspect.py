"""The page *Inspect* of the bench, alone the dock *Inspect curves*: suspect labels, and their correction."""

import numpy as np
import pandas as pd
from napari.components import ViewerModel
from qtpy.QtCore import QSignalBlocker
from qtpy.QtWidgets import QLabel, QWidget

from ...comparison.answer import in_one_line
from ..inspecting import ANNOTATORS, QUESTIONS
from ..layer_choice import LayerChoice
from ..panels.color_by import ColorBar
from ..panels.queue import Queue
from ..panels.widgets import NarrowList, Notice, Section, WrappedLabel, button, column, form, scrolling
from ..review_layers import SCORE, score_limits, scores
from ..session import Session
from .base import ChoicesLine, TaskPage


class InspectCurves(TaskPage):
    """Review the labels of one or two layers, correct or exclude them, and compare again."""

    def __init__(self, napari_viewer: ViewerModel) -> None:
        task = self.inspection = Session.of(napari_viewer).inspection
        super().__init__(
            napari_viewer,
            task,
            "&Inspect",
            run="Trace the curves, compare them and rank them",
            run_again="Inspect the chosen layers as they are now",
        )
        self._shown_result: pd.DataFrame | None = None
        tooltip = (
            "Find faulty or unusual curves; compare two label layers of one image; or compare all visible label "
            "layers of one image, one per annotator, with a consensus to correct and save."
        )
        question = self.question = NarrowList(tooltip, QUESTIONS)
        question.currentIndexChanged.connect(lambda _: task.set_question(question.currentData()))
        self.a = LayerChoice(task.a, "Image, labels or shapes to inspect.")
        self.b = LayerChoice(task.b, "A second layer to compare with the first; optional.", nothing="– none –")
        self.recipe = ChoicesLine(self, "recipe")
        self.message, self.verdict, self.verdict_again = WrappedLabel(), WrappedLabel(), WrappedLabel()
        self.ranked_with = WrappedLabel()
        self.as_labels = Notice("Use as labels", "Inspect its values as labels; the image is not changed")
        self.as_labels.button.clicked.connect(self._use_as_labels)
        self.queue = Queue(task)
        self.colorbar = ColorBar()
        self.colorbar.setToolTip("Score by which the curves are colored; larger is more suspicious.")
        self.score_row = column(QLabel("Curves colored by score"), self.colorbar)
        self.again_button = button("Compare without the &excluded", "Compare again, without the ticked curves")
        self.again_button.clicked.connect(task.compare_again)
        top = form()
        self.sets = WrappedLabel()
        for label, control in (
            ("Question", question),
            ("Layer", self.a),
            ("Second", self.b),
            ("Label sets", self.sets),
        ):
            top.addRow(label, control)
        self._top = top
        inner = column(top_row := QWidget(), self.recipe, self.buttons())
        top_row.setLayout(top)
        self.chosen, self._folded = Section("Question and layers", inner, folded=False), False
        self.findings = self.verdict, self.ranked_with, self.score_row
        state = self.reason, self.step, self.progress, self.stale, self.verdict, self.ranked_with
        below = self.queue, self.message, self.as_labels, self.score_row, self.again_button, self.verdict_again
        scrolling(self, self.chosen, *state, *below, grows=self.queue)
        self.link(task.a.changed, self.a.refresh)
        self.link(task.b.changed, self.b.refresh)
        self.link(self.session.segmentation.converted, self._inspect_converted)
        self.attach()

    def _use_as_labels(self) -> None:
        image = None if self.inspection.mask is None else self.inspection.mask()
        if image is not None:
            self.session.segmentation.convert([image])

    def _inspect_converted(self) -> None:
        """Inspect the labels that were made of the refused image, in its place."""
        task = self.inspection
        image = None if task.mask is None else task.mask()
        labels = self.session.design.replacement_of(image)
        if labels is not None:
            task.mask = None
            (task.b if task.b.chosen() is image else task.a).choose(labels)
            self.run()

    def show_result(self) -> None:
        """Show the queue, the verdict, and the verdict without the excluded curves."""
        task, result = self.inspection, self.inspection.result
        with QSignalBlocker(self.question):
            self.question.setCurrentIndex(self.question.findData(task.question))
        several = task.question == ANNOTATORS
        self.sets.setText(", ".join(layer.name for layer in task.label_sets()) if several else "")
        self._top.setRowVisible(self.sets, several)
        self._top.setRowVisible(self.b, not several)
        two = task.b.chosen() is not None and not several
        self._top.labelForField(self.a).setText("First" if two else "Layer")
        self.message.show_text("" if task.mask is not None else task.message)
        self.as_labels.set_message(task.message if task.mask is not None else "")
        for part in (self.queue, self.score_row):
            part.setVisible(result is not None)
        if result is not None and not self._folded:  # the inputs
            self.chosen.fold()
        self._folded = result is not None
        some = task.again is not None or any(one.any() for one in task.excluded_curves)
        self.again_button.setVisible(result is not None and len(result.ensembles) == 2 and some)
        self.again_button.setEnabled(not task.busy)
        self.verdict_again.setText("" if task.again is None else f"Without the excluded: {in_one_line(task.again)}")
        self.ranked_with.show_text(f"{task.ranked_with} {task.scale_of_score()}".strip() if result is not None else "")
        if result is not None:
            self.queue.refresh()
            if task.rows is not self._shown_result:
                self._shown_result = task.rows
                self.verdict.show_text(result.sentence)
                a, *b = scores(result)
                names = ("", "") if result.comparison is None else result.comparison.names
                self.colorbar.show_values(SCORE, score_limits(result), a, b[0] if b else np.empty(0), "", names)
