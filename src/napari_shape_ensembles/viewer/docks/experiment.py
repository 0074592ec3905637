"""The part of the page *Answer* about all groups of the design table."""

from itertools import combinations
from typing import Any

from napari.components import ViewerModel
from qtpy.QtCore import QSignalBlocker, Qt
from qtpy.QtWidgets import QListWidget, QListWidgetItem, QSizePolicy

from ...comparison.design import GROUP, RequestedTests
from ..dialogs import Dialogs
from ..experimenting import withheld_words
from ..panels.plot_view import PlotView
from ..panels.widgets import (
    NarrowList,
    Notice,
    PickTable,
    Section,
    column,
    menu_button,
    row,
    with_visible_check_boxes,
    wrapped_label,
)
from ..session import Session
from .base import TaskPage

_ALL_PAIRS_TEXT = "all pairs of groups"
_MAX_LISTED = 50  # maximum number of contrasts in words
_MAX_LIST_ROWS = 6  # maximum number of visible rows in a list of columns
_CHECKED = Qt.CheckState.Checked


class ExperimentPage(TaskPage):
    """Shows the contrasts of an experiment: in sentences, as a table, and as a SuperPlot of the replicates."""

    def __init__(self, napari_viewer: ViewerModel) -> None:
        task = Session.of(napari_viewer).experiment
        super().__init__(
            napari_viewer,
            task,
            run="Compare the groups of the design table, permuting replicates",
            run_again="Compare the groups as they are now",
        )
        self.run_button.setText("Compare")  # the letters are those of the page around it
        self.stale.button.setText("Run again")
        self._drawn: object = None
        self._figures: dict[str, Any] = {}
        self.sentences, self.contrasts, self.notes, self.message = (
            wrapped_label(),
            wrapped_label(),
            wrapped_label(),
            wrapped_label(),
        )
        font = self.sentences.font()
        font.setBold(True)
        self.sentences.setFont(font)
        self.table = PickTable("contrast", "row", "p form", "p scale", "size")
        self.table.setMinimumHeight(120)
        self.table.setAccessibleName("Contrasts")
        self.table.setToolTip(
            "One row per pair of groups; adjusted p-values; size: ratio of the means. Click: show the pair below. "
            "Double click: open the group with its outlines."
        )
        self.table.cellClicked.connect(self._show_row)
        self.table.cellDoubleClicked.connect(self._open_row)
        self.control = NarrowList("Compare all pairs of groups, or all groups with one control")
        self.control.setAccessibleName("Compared with")
        self.control.activated.connect(self._choose_control)
        self.figure = NarrowList("Figure to show")
        self.figure.setAccessibleName("Figure")
        self.figure.currentIndexChanged.connect(self._draw)
        self.dialogs = Dialogs(self, self.session, task.show_message)
        self.files = menu_button("Files", "Save, export, or open an experiment", self.dialogs.experiment_entries())
        self.given, self.interactions = QListWidget(), QListWidget()
        self.requested = Section(
            "Covariates and interactions",
            column(
                wrapped_label("Adjust groups and trends for:"),
                self.given,
                wrapped_label("Interactions (the effect of one depends on the other):"),
                self.interactions,
                wrapped_label("A trend is tested for every numeric column."),
            ),
        )
        for ticked, name in ((self.given, "Adjusted for"), (self.interactions, "Interactions")):
            with_visible_check_boxes(ticked)
            ticked.setAccessibleName(name)
            ticked.itemChanged.connect(self._request_tests)
        self.given.setToolTip(
            "Form and scale adjusted for these columns: means of named quantities, permuted residuals (Freedman "
            "and Lane)"
        )
        self.interactions.setToolTip("Adjusted for both main effects; means of named quantities are tested")
        self.faults = Notice("Answer anyway", "The outlines have been checked and are correct: show the results")
        self.faults.button.clicked.connect(task.overrule)
        self.view = PlotView()
        self.view.setMinimumHeight(220)
        self.view.setToolTip(
            "SuperPlot: outlines in gray, a mark per replicate, lines for group means with 95 % intervals. Plate: "
            "click a well to open it."
        )
        self.view.clicked.connect(self._open_well)
        self.numbers = Section("Summary and notes", column(self.contrasts, self.notes))
        state = self.reason, self.step, self.progress, self.stale, self.faults, self.message
        self.files.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        buttons = self.buttons(), row(self.control, self.files, grows=self.control), self.requested
        parts = self.sentences, self.table, row(self.figure), self.view, self.numbers
        column(*buttons, *state, *parts, page=self)
        self.attach()

    def show_result(self) -> None:
        found = self.result
        self.message.setText(self.task.message)
        self.message.setVisible(bool(self.task.message))
        self.faults.set_message("" if found is None else withheld_words(found.experiment))
        for part in (self.sentences, self.view, self.figure, self.table, self.numbers):
            part.setVisible(found is not None)
        self.run_button.setVisible(self.state not in ("done", "stale"))  # not beside *Run again*
        self._offer_controls()
        self._offer_questions()
        if found is not None and found is not self._drawn:
            self._drawn = found
            for words, said in ((self.sentences, found.sentences), (self.contrasts, found.contrasts[:_MAX_LISTED])):
                words.setText("\n".join(said).replace("p = ", "p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"))
            self.notes.setText("\n".join(f"⚠ {note}" for note in found.notes))
            self.table.show_rows(found.rows)
            self._figures = found.figures
            with QSignalBlocker(self.figure):
                self.figure.clear()
                self.figure.addItems(list(self._figures))
            self._draw()

    def _draw(self, _: int = 0) -> None:
        if (draw := self._figures.get(self.figure.currentText())) is not None:
            self.view.show_plot(draw)

    def _offer_controls(self) -> None:
        names = list(self.session.design.groups())
        words = [_ALL_PAIRS_TEXT, *(f"all with {name}" for name in names)]
        with QSignalBlocker(self.control):
            if words != [self.control.itemText(place) for place in range(self.control.count())]:
                self.control.clear()
                for text, name in zip(words, ["", *names], strict=True):
                    self.control.addItem(text, name)
            self.control.setCurrentIndex(max(self.control.findData(self.session.experiment.control), 0))
        self.control.setVisible(len(names) > 2)

    def _offer_questions(self) -> None:
        """List the possible covariates and interactions, with the requested ones checked."""
        design = self.session.design
        more, requested = design.extra_columns(), design.requested
        offered = (
            (self.given, {name: name in requested.given for name in more}),
            (
                self.interactions,
                {" × ".join(pair): pair in requested.interactions for pair in combinations((GROUP, *more), 2)},
            ),
        )
        for ticked, entries in offered:
            with QSignalBlocker(ticked):
                if list(entries) != [ticked.item(place).text() for place in range(ticked.count())]:
                    ticked.clear()
                    ticked.addItems(list(entries))
                    ticked.setFixedHeight(ticked.sizeHintForRow(0) * min(max(len(entries), 1), _MAX_LIST_ROWS) + 6)
                for place, wanted in enumerate(entries.values()):
                    ticked.item(place).setCheckState(_CHECKED if wanted else Qt.CheckState.Unchecked)
        self.requested.setVisible(bool(more))
        count = len(requested.given) + len(requested.interactions)
        self.requested.rename(f"Covariates and interactions{f' ({count})' if count else ''}")

    def _request_tests(self, _: QListWidgetItem) -> None:
        given, interactions = (
            [
                ticked.item(place).text()
                for place in range(ticked.count())
                if ticked.item(place).checkState() == _CHECKED
            ]
            for ticked in (self.given, self.interactions)
        )
        pairs = combinations((GROUP, *self.session.design.extra_columns()), 2)
        self.session.design.request_tests(
            RequestedTests(tuple(given), tuple(pair for pair in pairs if " × ".join(pair) in interactions))
        )

    def _choose_control(self, _: int) -> None:
        self.session.design.set_control(self.control.currentData())

    def _show_row(self, place: int, _: int) -> None:
        if self.result is not None:
            self.session.comparison.show_contrast(*self.result.pairs[place])

    def _open_row(self, place: int, _: int) -> None:
        if self.result is not None:
            self.session.experiment.show_group(self.result.pairs[place][1])

    def _open_well(self, _: int, x: float, y: float) -> None:
        found = self.result
        wells = {} if found is None else found.wells
        if self.figure.currentText().startswith("Plate"):
            for name, well in wells.items():
                if well == (round(y), round(x)):
                    self.session.experiment.show_group(name)
