"""The part of the page *Answer* about all groups of the design table."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from qtpy.QtCore import QSignalBlocker, Qt
from qtpy.QtWidgets import QHeaderView, QListWidget, QListWidgetItem, QSizePolicy, QWidget

from ...comparison.design import GROUP, RequestedTests
from ..dialogs import Dialogs
from ..panels.plot_view import PlotView
from ..panels.widgets import (
    NarrowList,
    PickTable,
    Section,
    WrappedLabel,
    column,
    menu_button,
    row,
    with_visible_check_boxes,
)
from .base import Page

_MAX_LISTED = 50  # maximum number of contrasts in words
_MAX_LIST_ROWS = 6  # maximum number of visible rows in a list of columns
_CHECKED = Qt.CheckState.Checked


class GroupsPanel(QWidget):
    """Shows the contrasts of all groups: in sentences, as a table, and as a SuperPlot of the replicates."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        self._session = page.session
        self._comparison = page.session.comparison
        self._drawn: object = None
        self._figures: Mapping[str, Any] = {}
        self.sentences, self.contrasts, self.notes = WrappedLabel(), WrappedLabel(), WrappedLabel()
        font = self.sentences.font()
        font.setBold(True)
        self.sentences.setFont(font)
        self.table = PickTable("contrast", "row", "p\nform", "p\nscale", "size", "elon-\ngation")
        # In a dock of the initial width numbers are whole, and the words of the row take two lines.
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        self.table.setMinimumHeight(120)
        self.table.setAccessibleName("Contrasts")
        self.table.setToolTip(
            "One row per pair of groups; adjusted p-values; size, elongation: ratios of the means. Click: show the "
            "pair below. Double click: open the group with its outlines."
        )
        self.table.cellClicked.connect(self._show_row)
        self.table.cellDoubleClicked.connect(self._open_row)
        control = self.control = NarrowList("Compare all pairs of groups, or all groups with one control")
        control.setAccessibleName("Compared with")
        design = page.session.design
        control.activated.connect(lambda _: design.set_control(control.currentData()))
        self.figure = NarrowList("Figure to show")
        self.figure.setAccessibleName("Figure")
        self.figure.currentIndexChanged.connect(self._draw)
        self.dialogs = Dialogs(self, self._session, self._comparison.message_posted.emit)
        self.files = menu_button("Files", "Save, export, or open an experiment", self.dialogs.experiment_entries())
        self.given, self.interactions = QListWidget(), QListWidget()
        self.requested = Section(
            "Covariates and interactions",
            column(
                WrappedLabel("Adjust groups and trends for:"),
                self.given,
                WrappedLabel("Interactions (the effect of one depends on the other):"),
                self.interactions,
                WrappedLabel("A trend is tested for every numeric column."),
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
        self.view = PlotView()
        self.view.setMinimumHeight(220)
        self.view.setToolTip(
            "SuperPlot: outlines in gray, a mark per replicate, lines for group means with 95 % intervals. Plate: "
            "click a well to open it."
        )
        self.view.clicked.connect(self._open_well)
        self.numbers = Section("Summary and notes", column(self.contrasts, self.notes))
        self.files.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        buttons = row(self.control, self.files, grows=self.control), self.requested
        column(*buttons, self.sentences, self.table, row(self.figure), self.view, self.numbers, page=self)

    def show_answer(self) -> None:
        """Show the comparison of all groups, if there is one, and what can be asked."""
        answer = self._comparison.answer
        for part in (self.sentences, self.view, self.figure, self.table, self.numbers):
            part.setVisible(answer is not None and answer.is_described)
        self._offer_controls()
        self._offer_questions()
        if answer is not None and answer is not self._drawn:
            self._drawn = answer
            texts = (self.sentences, answer.sentences), (self.contrasts, answer.contrasts[:_MAX_LISTED])
            for label, sentences in texts:
                label.setText("\n".join(sentences))
            self.notes.setText("\n".join(note if note.startswith("✓") else f"⚠ {note}" for note in answer.notes))
            self.table.verticalHeader().setDefaultSectionSize(2 * self.table.fontMetrics().lineSpacing() + 6)
            self.table.show_rows(answer.rows)
            self._figures = answer.figures
            self.figure.offer([(name, name) for name in self._figures], next(iter(self._figures), None))
            self._draw()

    def _draw(self, _: int = 0) -> None:
        if (draw := self._figures.get(self.figure.currentText())) is not None:
            self.view.show_plot(draw)

    def _offer_controls(self) -> None:
        names = list(self._session.design.groups())
        offered = [("", "all pairs of groups"), *((name, f"all with {name}") for name in names)]
        self.control.offer(offered, self._comparison.control)
        self.control.setVisible(len(names) > 2)

    def _offer_questions(self) -> None:
        """List the possible covariates and interactions, with the requested ones checked."""
        design = self._session.design
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
        pairs = combinations((GROUP, *self._session.design.extra_columns()), 2)
        self._session.design.request_tests(
            RequestedTests(tuple(given), tuple(pair for pair in pairs if " × ".join(pair) in interactions))
        )

    def _show_row(self, place: int, _: int) -> None:
        if (answer := self._comparison.answer) is not None:
            self._comparison.show_contrast(*answer.pairs[place])

    def _open_row(self, place: int, _: int) -> None:
        if (answer := self._comparison.answer) is not None:
            self._comparison.show_group(answer.pairs[place][1])

    def _open_well(self, _: int, x: float, y: float) -> None:
        answer = self._comparison.answer
        if answer is not None and self.figure.currentText().startswith("Plate"):
            for name, well in answer.wells.items():
                if well == (round(y), round(x)):
                    self._comparison.show_group(name)
