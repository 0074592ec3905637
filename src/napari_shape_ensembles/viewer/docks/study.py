"""The studies on the page *Trust* of the bench: parameter sweeps of a comparison, plotted as results arrive."""

from abc import abstractmethod
from functools import partial
from typing import Any

import numpy as np
from napari.components import ViewerModel
from qtpy.QtWidgets import QCheckBox, QLabel, QLineEdit, QWidget

from ...comparison.verdict import ROW_WORDS
from ...progress import Progress
from ...studies import DecisionLandscape, SmoothingStudy
from ...studies.figures import plot_landscape, plot_study
from ...words import counted, p_text
from ..debouncing import Debouncer
from ..panels.fonts import with_label_font
from ..panels.plot_view import Plot, PlotView
from ..panels.widgets import (
    NarrowList,
    WrappedLabel,
    column,
    excluded_notice,
    form,
    row,
    scrolling,
)
from ..session import Session
from ..studying import TESTS, SweepTask
from .base import ChoicesLine, TaskPage

# Milliseconds between plots of partial results: rendering competes with the study for processor time.
_REDRAW_MS = 1000
_PROGRESS_MS = 150  # milliseconds between updates of the progress bar (throttled)
_GRID = 1  # index of the axes with the heat map of a landscape
_CLICK = "Click a point in the plot to use its settings. The settings in use are framed or dotted."
_LOADED = "In use now: press Run again in Answer for its curves."
_SYNTAX = "Numbers and ranges, separated by commas, such as 2 to 20 by 2, or 2-20:2."


class StudyPage(TaskPage):
    """A study of the two samples; `own` are controls of this study only."""

    def __init__(self, viewer: ViewerModel, study: SweepTask[Any], *own: QWidget) -> None:
        super().__init__(
            viewer,
            study,
            run="Run the study; results are drawn as they arrive",
            run_again="Run the study of the current choice",
        )
        self.study = study
        self._drawn_state: tuple[Any, ...] = ()
        self.cancel_button.setToolTip("Stop the study; results so far are kept (Esc)")
        self.ranges: dict[str, QLineEdit] = {}  #: line edits of the swept ranges
        rows = form()
        for name, swept in study.ranges.items():
            line = self.ranges[name] = QLineEdit(study.texts[name])
            line.setCursorPosition(0)  # a long range is read from its start
            with_label_font(line)
            line.setAccessibleName(swept.label)
            line.setObjectName(name)
            line.textChanged.connect(partial(study.write, name))
            rows.addRow(swept.label, line)
            for part in (line, rows.labelForField(line)):
                part.setToolTip(f"{swept.help}\n{_SYNTAX}")
        self.excluded = excluded_notice()
        self.excluded.button.clicked.connect(self.session.choices.exclusions.clear)
        self.answer, self.picked = WrappedLabel(), WrappedLabel(_CLICK)
        shown = self.shown = NarrowList("Test to draw", TESTS)
        shown.setAccessibleName("Test that is drawn")
        shown.currentIndexChanged.connect(lambda _: study.draw(shown.currentData()))
        self.shown_row = column(row(QLabel("Test drawn"), shown, grows=shown))
        self.view = PlotView()
        self.view.setToolTip("Click a point to load its settings")
        self.view.describe = self.describe
        self.view.clicked.connect(self._pick)
        self._redraw_debouncer = Debouncer(self.redraw, _REDRAW_MS)
        self._progress_debouncer = Debouncer(self._show_running, _PROGRESS_MS)
        state = self.reason, self.step, self.progress, self.stale, self.excluded, self.answer
        self.findings = (self.answer,)
        self.line = ChoicesLine(self, "recipe", "settings")
        used = *own, self.line
        scrolling(self, rows, self.buttons(), *state, *used, self.shown_row, self.view, self.picked, grows=self.view)
        self.attach()

    @abstractmethod
    def marked(self) -> Any:
        """Return the settings in use, which the plot marks."""

    @abstractmethod
    def plot(self, result: Any, test: str, marked: Any) -> Plot:
        """Return a callable that draws a result; it runs in a worker thread, so it must not touch widgets."""

    @abstractmethod
    def index_at(self, axes: int, x: float, y: float) -> Any:
        """Return the index into the result of a position in the plot, None if it has not been computed."""

    @abstractmethod
    def sentence_at(self, place: Any) -> str:
        """Return a sentence with the numbers at an index of the result."""

    @property
    def drawing(self) -> bool:
        """Whether a plot is being rendered or scheduled."""
        return self.view.busy or self._redraw_debouncer.pending

    def run(self) -> None:
        self.picked.setText(_CLICK)
        super().run()

    def show_result(self) -> None:
        study = self.study
        for name, line in self.ranges.items():
            if line.text() != study.texts[name]:
                line.setText(study.texts[name])
                line.setCursorPosition(0)
        self.shown.setCurrentIndex(self.shown.findData(study.test))
        count = sum(map(len, study.excluded(study.choices.design.sides())))
        self.excluded.set_message(f"✂ {counted(count, 'curve')} excluded manually." if count else "")
        self.run_button.setVisible(self.stale.isHidden())  # not beside *Run again*
        self.answer.show_text(study.answer)
        if self._plot_state() != self._drawn_state:
            if not study.running:
                self.redraw()
            else:
                self._redraw_debouncer.request()

    def _plot_state(self) -> tuple[Any, ...]:
        return self.result, self.study.drawn, self.marked()

    def redraw(self) -> None:
        self._redraw_debouncer.stop()
        self._drawn_state = self._plot_state()
        drawable = self.result is not None and self.result.done_something
        for part in (self.shown_row, self.view, self.picked):
            part.setVisible(drawable)
        if drawable:
            self.view.show_plot(self.plot(*self._drawn_state))

    def show_progress(self, step: Progress) -> None:
        """Show the progress and the partial result, throttled."""
        if not self._progress_debouncer.pending:
            super().show_progress(step)
            self._progress_debouncer.start()

    def _show_running(self) -> None:
        if self.busy:
            super().show_progress(self.study.step)
            self.show_result()

    def describe(self, axes: int, x: float, y: float) -> str:
        """Return a tooltip for a position in the plot."""
        place = None if self.result is None else self.index_at(axes, x, y)
        return "" if place is None else self.sentence_at(place)

    def _pick(self, axes: int, x: float, y: float) -> None:
        """Use the settings at a position in the plot, and show the answer, which they outdate."""
        place = None if self.result is None else self.index_at(axes, x, y)
        if place is not None:
            self.study.load(place)
            self.picked.setText(f"{self.sentence_at(place)}\n{_LOADED}")
            self.request_page("Answer")


class LandscapePage(StudyPage):
    """Sensitivity of the result to the rank and the number of landmarks."""

    def __init__(self, napari_viewer: ViewerModel) -> None:
        super().__init__(napari_viewer, Session.of(napari_viewer).landscape)

    def marked(self) -> tuple[int, int]:
        settings = self.session.choices.settings
        return settings.landmarks, settings.rank

    def plot(self, result: DecisionLandscape, test: str, marked: tuple[int, int]) -> Plot:
        return partial(plot_landscape, result, test=test, current=marked)

    def index_at(self, axes: int, x: float, y: float) -> tuple[int, int] | None:
        result: DecisionLandscape = self.result
        i, j = round(y), round(x)
        inside = axes == _GRID and 0 <= i < len(result.landmarks) and 0 <= j < len(result.ranks)
        return (i, j) if inside and result.undulation.computed[i, j] else None

    def sentence_at(self, place: tuple[int, int]) -> str:
        result: DecisionLandscape = self.result
        tests = (("form", result.undulation), ("scale", result.scale))
        numbers = "; ".join(
            f"{name} p = {p_text(test.p_value[place])}, MMD {test.mmd[place]:.3f}" for name, test in tests
        )
        (i, j), row = place, ROW_WORDS[result.case[place]]
        why = f"{row}: {result.inconclusive}" if result.inconclusive else row
        return f"{result.landmarks[i]} landmarks, rank {result.ranks[j]}: {why} ({numbers})."


class SmoothingPage(StudyPage):
    """Sensitivity of the result to the smoothing of the outlines."""

    def __init__(self, napari_viewer: ViewerModel) -> None:
        self.smoothing = Session.of(napari_viewer).smoothing
        self.merge = QCheckBox("Smooth each image as a whole")
        self.merge.setToolTip(
            "On: objects are smoothed together, and neighbors may merge, as in the paper.\nOff: each object is "
            "smoothed separately. Default off."
        )
        self.merge.toggled.connect(self.smoothing.set_merge)
        super().__init__(napari_viewer, self.smoothing, self.merge)

    def show_result(self) -> None:
        self.merge.setChecked(self.smoothing.merge)
        super().show_result()

    def marked(self) -> float | None:
        return self.smoothing.sigma

    def plot(self, result: SmoothingStudy, test: str, marked: float | None) -> Plot:
        return partial(plot_study, result, test=test, current=marked)

    def index_at(self, axes: int, x: float, y: float) -> int | None:
        index = int(np.abs(self.result.sigmas - x).argmin())
        return index if self.result.steps[index].sizes is not None else None

    def sentence_at(self, place: int) -> str:
        result: SmoothingStudy = self.result
        a, b = result.sizes[place].astype(int)
        words = f"Smoothed by {result.sigmas[place]:g} px: {a} and {b} curves"
        if result.landscapes[place] is None or result.reasons[place]:
            return f"{words}; {result.reasons[place]}."
        undulation, scale = result.share_rejected()[place], result.share_rejected("scale")[place]
        differs = f"form differs in {undulation:.0%} of the cells, scale in {scale:.0%}"
        return f"{words}; {differs}; mean ambiguity {result.mean_ambiguity()[place]:.2f}."
