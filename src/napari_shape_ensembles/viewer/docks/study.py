"""What the docks of studies have in common: the ranges, and a plot that grows as results come."""

from abc import abstractmethod
from typing import Any

from napari.components import ViewerModel
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QSplitter, QVBoxLayout, QWidget

from ...progress import Progress
from ..panels.fonts import with_label_font
from ..panels.notices import ExclusionNotice
from ..panels.plot_view import Plot, PlotView
from ..panels.widgets import NarrowList, ScrollColumn, form, once, wrapped
from ..studying import TESTS, StudyTask
from .base import SamplesDock

_FOLDED = ("Find", "Clean up and split", "Trace", "Analysis", "Advanced")
# Milliseconds between two pictures of a growing result: drawing takes time from the study itself.
_REDRAW = 1000
_PULSE = 150  # milliseconds between two changes of the progress shown: a run tells more than a window can show
_CONTROLS = 270  # pixels of the upper half at first
_CLICK = "Click a place in the plot to load its settings into Compare shapes."
_LOADED = "Loaded into Compare shapes: press Run there for its curves."
_SYNTAX = "Numbers and ranges, separated by commas: 2-20:2 means 2, 4, … 20."


class StudyDock(SamplesDock):
    """A dock that shows a study of the two samples.

    Subclasses say how its result is drawn, and what there is at a place of the plot.

    Attributes
    ----------
    ranges : dict of str to QLineEdit
        The lines in which the ranges are written, by their names.
    """

    def __init__(self, viewer: ViewerModel, study: StudyTask[Any], parent: QWidget | None = None) -> None:
        super().__init__(
            viewer,
            study,
            run="Run the study; results are drawn as they come",
            renewal="Run the study of what is chosen now",
            folded=_FOLDED,
            parent=parent,
        )
        self.study = study
        self._drawn: tuple[Any, ...] = ()
        self._make_controls()
        self._lay_out()
        self._connect()
        self.attach()

    # What a study has of its own.

    @abstractmethod
    def marked(self) -> Any:
        """What is marked in the plot: the settings in use."""

    @abstractmethod
    def plot(self, result: Any, test: str, marked: Any) -> Plot:
        """Return what draws a result; it runs in another thread, so it must not touch the window."""

    @abstractmethod
    def place(self, axes: int, x: float, y: float) -> Any:
        """The place of the result that a place in the plot shows; None where nothing is known of it."""

    @abstractmethod
    def words(self, place: Any) -> str:
        """The numbers at a place of the result."""

    @abstractmethod
    def load(self, place: Any) -> None:
        """Choose the settings of a place of the result."""

    def own_controls(self) -> tuple[QWidget, ...]:
        """Controls between the ranges and the settings."""
        return ()

    # What all have.

    def _make_controls(self) -> None:
        self.cancel_button.setToolTip("Stop the study; what is drawn so far is kept (Esc)")
        self.ranges: dict[str, QLineEdit] = {}
        for name, swept in self.study.ranges.items():
            line = self.ranges[name] = QLineEdit(self.study.texts[name])
            with_label_font(line)
            line.setToolTip(f"{swept.help}\n{_SYNTAX}")
            line.setAccessibleName(swept.label)
            line.setObjectName(name)
        self.excluded = ExclusionNotice()
        self.answer, self.picked = wrapped(), wrapped(_CLICK)
        self.shown = NarrowList()
        for test, words in TESTS.items():
            self.shown.addItem(words, test)
        self.shown.setToolTip("Which of the tests is drawn")
        self.view = PlotView()
        self.view.setToolTip("Click a place to load its settings into Compare shapes")
        self.view.describe = self.describe
        self._redraw, self._pulse = once(self, self.redraw), once(self, self._show_running)
        self._redraw.setInterval(_REDRAW)
        self._pulse.setInterval(_PULSE)

    def _lay_out(self) -> None:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(6, 6, 6, 6)
        column.addWidget(self.sides)
        rows = form()
        for line in self.ranges.values():
            rows.addRow(line.accessibleName(), line)
            rows.labelForField(line).setToolTip(line.toolTip())
        column.addLayout(rows)
        for part in (*self.own_controls(), self.settings):
            column.addWidget(part)
        column.addStretch(1)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.addWidget(ScrollColumn(page))
        splitter.addWidget(self._lower_half())
        splitter.setStretchFactor(1, 1)
        splitter.setSizes([_CONTROLS, 10 * _CONTROLS])
        splitter.setChildrenCollapsible(False)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(splitter)

    def _lower_half(self) -> QWidget:
        lower = QWidget()
        column = QVBoxLayout(lower)
        column.setContentsMargins(6, 0, 6, 6)
        column.addLayout(self.buttons())
        for part in (self.reason, self.step, self.progress, self.stale, self.excluded, self.answer):
            column.addWidget(part)
        self.shown_row = QWidget()
        row = QHBoxLayout(self.shown_row)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(QLabel("Test drawn"))
        row.addWidget(self.shown, 1)
        column.addWidget(self.shown_row)
        column.addWidget(self.view, 1)
        column.addWidget(self.picked)
        return lower

    def _connect(self) -> None:
        study, shown = self.study, self.shown
        for name, line in self.ranges.items():
            line.textChanged.connect(lambda text, name=name: study.write(name, text))
        shown.currentIndexChanged.connect(lambda _: study.draw(shown.currentData()))
        self.excluded.button.clicked.connect(self.session.choices.exclusions.clear)
        self.view.clicked.connect(self._pick)

    def run(self) -> None:
        """Run the study in the background."""
        self.picked.setText(_CLICK)
        super().run()

    @property
    def drawing(self) -> bool:
        """Whether a picture is being drawn, or about to be."""
        return self.view.busy or self._redraw.isActive()

    def show_result(self) -> None:
        """Show what is chosen of the study's own, and what is known."""
        study = self.study
        for name, line in self.ranges.items():
            if line.text() != study.texts[name]:
                line.setText(study.texts[name])
        self.shown.setCurrentIndex(self.shown.findData(study.test))
        self.excluded.show_count(sum(map(len, study.excluded(study.layers()))))
        self.answer.setText(study.answer)
        self.answer.setVisible(bool(study.answer))
        if self._to_draw() != self._drawn:
            if not study.running:
                self.redraw()
            elif not self._redraw.isActive():
                self._redraw.start()

    def _to_draw(self) -> tuple[Any, ...]:
        return self.result, self.study.drawn, self.marked()

    def redraw(self) -> None:
        """Draw what is known."""
        self._redraw.stop()
        self._drawn = self._to_draw()
        drawable = self.result is not None and self.result.done_something
        for part in (self.shown_row, self.view, self.picked):
            part.setVisible(drawable)
        if drawable:
            self.view.show_plot(self.plot(*self._drawn))

    def show_progress(self, step: Progress) -> None:
        """Show the step under way, and now and then what is known so far."""
        if not self._pulse.isActive():
            super().show_progress(step)
            self._pulse.start()

    def _show_running(self) -> None:
        if self.busy:
            super().show_progress(self.study.step)
            self.show_result()

    def describe(self, axes: int, x: float, y: float) -> str:
        """What there is at a place in the plot, in words."""
        place = None if self.result is None else self.place(axes, x, y)
        return "" if place is None else self.words(place)

    def _pick(self, axes: int, x: float, y: float) -> None:
        """Load the settings of a place in the plot, for all docks, and bring *Compare shapes* beside this one."""
        place = None if self.result is None else self.place(axes, x, y)
        if place is not None:
            self.load(place)
            self.picked.setText(f"{self.words(place)}\n{_LOADED}")
            window = getattr(self.viewer, "window", None)
            if window is not None:
                frame, _ = window.add_plugin_dock_widget("napari-shape-ensembles", "Compare shapes", tabify=True)
                frame.show()


def add_to_tip(control: QWidget, words: str) -> None:
    """Add a line to the tooltip of a control."""
    control.setToolTip(f"<qt>{control.toolTip().removeprefix('<qt>').removesuffix('</qt>')}<br>{words}</qt>")
