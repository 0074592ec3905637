"""What the docks of studies have in common: run and cancel, a plot that grows as results come, and closing."""

from abc import abstractmethod
from collections.abc import Generator
from typing import Any, Protocol

from napari.components import ViewerModel
from qtpy.QtCore import QEvent, Qt, QTimer, Signal
from qtpy.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from ..studies import Partial
from .plot_view import Plot, PlotView
from .ranges import NumbersEdit
from .settings_form import SettingsForm
from .widgets import NarrowList, ScrollColumn, form, is_closed, keeping_focus, once, run_keys, wrapped
from .worker import Failure, Progress, Runner

_TESTS = {
    "undulation": "undulation (form)",
    "raw": "– coarse form",
    "normalized": "– roughness",
    "scale": "scale (size, elongation)",
    "product": "both together (product MMD)",
}
# Milliseconds between two pictures of a growing result: drawing takes time from the study itself.
_REDRAW = 1000
_PULSE = 150  # milliseconds between two changes of the progress shown
_CONTROLS = 270  # pixels of the upper half at first


class LayerChoice(Protocol):
    """The part of a dock in which layers are chosen; keeps in step with the viewer's list."""

    changed: Any

    def follow(self) -> None:
        """Keep in step from now on."""

    def rest(self) -> None:
        """Stop following."""


class StudyDock(QWidget):
    """A dock that runs a study. Subclasses say what is chosen, what is run, and how it is drawn.

    Signals
    -------
    finished
        A run has ended: completely, by an error, or by being cancelled. `result` holds what is known.
    """

    finished = Signal()

    def __init__(
        self,
        napari_viewer: ViewerModel,
        choice: Any,
        ranges: dict[str, tuple[str, NumbersEdit]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.viewer = napari_viewer
        self.choice: LayerChoice = choice
        self.ranges = {name: edit for name, (_, edit) in ranges.items()}
        self.result: Any = None
        self.runner = Runner(self)
        self._closing = once(self, self._stop_if_closed)
        self._make_controls()
        self._lay_out(choice, ranges)
        self._connect()
        self.choice.follow()

    # What a study has of its own.

    @abstractmethod
    def why_not(self) -> str:
        """Why the study cannot be run; empty when it can."""

    @abstractmethod
    def steps(self) -> Generator[Any, None, Any]:
        """The study, from copies of the layers; a ValueError says what is wrong."""

    @abstractmethod
    def plot(self, result: Any, test: str) -> Plot:
        """Return what draws a result; it runs in another thread, so it must not touch the window."""

    @abstractmethod
    def loaded(self, axes: int, x: float, y: float) -> str:
        """Load the settings of a place in the plot; return what to say of it, or nothing."""

    @abstractmethod
    def describe(self, axes: int, x: float, y: float) -> str:
        """What there is at a place in the plot, in words."""

    # What all have.

    def _make_controls(self) -> None:
        self.settings = SettingsForm(folded=True)
        self.run_button = QPushButton("&Run")
        self.run_button.setToolTip("Run the study; results are drawn as they come (Enter)")
        self.cancel_button = QPushButton("&Cancel")
        self.cancel_button.setToolTip("Stop the study; what is drawn so far is kept (Esc)")
        self.reason, self.answer, self.picked = wrapped(), wrapped(), wrapped()
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
        self.step = wrapped()
        self.shown = NarrowList()
        for name, words in _TESTS.items():
            self.shown.addItem(words, name)
        self.shown.setToolTip("Which of the tests is drawn")
        self.view = PlotView()
        self.view.setToolTip("Click a place to load its settings into Compare shapes")
        self.view.describe = self.describe
        self._redraw = QTimer(self)
        self._redraw.setSingleShot(True)
        self._redraw.setInterval(_REDRAW)
        self._pulse = QTimer(self)
        self._pulse.setSingleShot(True)
        self._pulse.setInterval(_PULSE)
        self._latest: Progress | Partial[Any] = Progress("starting", 0, 0)

    def _lay_out(self, choice: QWidget, ranges: dict[str, tuple[str, NumbersEdit]]) -> None:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(6, 6, 6, 6)
        column.addWidget(choice)
        rows = form()
        for words, edit in ranges.values():
            rows.addRow(words, edit)
            rows.labelForField(edit).setToolTip(edit.toolTip())
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

    def own_controls(self) -> tuple[QWidget, ...]:
        """Controls between the ranges and the settings."""
        return ()

    def _lower_half(self) -> QWidget:
        lower = QWidget()
        column = QVBoxLayout(lower)
        column.setContentsMargins(6, 0, 6, 6)
        buttons = QHBoxLayout()
        buttons.addWidget(self.run_button, 1)
        buttons.addWidget(self.cancel_button)
        column.addLayout(buttons)
        for part in (self.reason, self.step, self.progress, self.answer):
            column.addWidget(part)
        self.shown_row = QWidget()
        row = QHBoxLayout(self.shown_row)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(QLabel("Test drawn"))
        row.addWidget(self.shown, 1)
        column.addWidget(self.shown_row)
        column.addWidget(self.view, 1)
        column.addWidget(self.picked)
        self._show_idle()
        self._say("")
        self._show_plot_parts(False)
        return lower

    def _connect(self) -> None:
        self.choice.changed.connect(self._show_reason)
        for edit in self.ranges.values():
            edit.changed.connect(self._show_reason)
        self.run_button.clicked.connect(self.run)
        self.cancel_button.clicked.connect(self.cancel)
        run_keys(self, self.run, self.cancel)
        self.shown.currentIndexChanged.connect(self.redraw)
        self.settings.changed.connect(self._redraw_soon)
        self._redraw.timeout.connect(self.redraw)
        self._pulse.timeout.connect(self._show_progress)
        self.view.clicked.connect(self._pick)
        self.runner.progressed.connect(self._note_progress)
        self.runner.ended.connect(self._end)

    def run(self) -> None:
        """Copy what the layers show, and study it in the background."""
        if self.runner.busy or self._reason():
            return
        try:
            steps = self.steps()
        except ValueError as error:
            self._end(Failure(str(error)))
            return
        self.result = None
        self._say("")
        self._show_plot_parts(False)
        self._latest = Progress("starting", 0, 0)
        self.runner.start(steps)
        self._show_busy()

    def cancel(self) -> None:
        """Stop the study under way; what is known stays."""
        if self.runner.busy:
            self.runner.cancel()
            self._show_idle()
            kept = self.result is not None and self.result.done_something
            self._say("Cancelled. " + (f"So far: {self.result.summary()}" if kept else ""))
            self.redraw()
            self.finished.emit()

    def _note_progress(self, progress: Progress | Partial[Any]) -> None:
        """Keep what a run tells; it may tell more than a window can show."""
        self._latest = progress
        if isinstance(progress, Partial):
            self.result = progress.result
            self._redraw_soon()
        if not self._pulse.isActive():
            self._pulse.start()

    def _show_progress(self) -> None:
        if self.runner.busy:
            progress = self._latest
            self.progress.setRange(0, progress.total)
            self.progress.setValue(progress.done)
            self.step.setText(f"{progress.name[0].upper()}{progress.name[1:]} …")

    def _show_busy(self) -> None:
        with keeping_focus(self, self.cancel_button):
            for part in (self.cancel_button, self.progress, self.step):
                part.setVisible(True)
            self._show_reason()
        self._show_progress()

    def _redraw_soon(self) -> None:
        if self.result is not None and not self._redraw.isActive():
            self._redraw.start()

    def redraw(self) -> None:
        """Draw what is known."""
        if self.result is None or not self.result.done_something:
            return
        if not self.shown_row.isVisibleTo(self):
            self._show_plot_parts(True)
        self.view.show_plot(self.plot(self.result, self._test()))

    def _test(self) -> str:
        """The test to be drawn: a part only where there are parts."""
        test = str(self.shown.currentData())
        parted = self.result.settings.coordinates == "both"
        return test if parted or test not in ("raw", "normalized") else "undulation"

    def _show_plot_parts(self, visible: bool) -> None:
        for part in (self.shown_row, self.view, self.picked):
            part.setVisible(visible)
        self.picked.setText("Click a place in the plot to load its settings into Compare shapes.")

    def _pick(self, axes: int, x: float, y: float) -> None:
        words = self.loaded(axes, x, y)
        if words:
            self.picked.setText(words)

    def _show_idle(self) -> None:
        with keeping_focus(self, self.run_button):
            self._show_reason()
            for part in (self.cancel_button, self.progress, self.step):
                part.setVisible(False)

    def _reason(self) -> str:
        """Why Run cannot be pressed; empty when it can."""
        for edit in self.ranges.values():
            try:
                edit.values()
            except ValueError as error:
                return f"{edit.accessibleName()}: {error}."
        return self.why_not()

    def _show_reason(self) -> None:
        reason = "" if self.runner.busy else self._reason()
        self.reason.setText(reason)
        self.reason.setVisible(bool(reason))
        self.run_button.setEnabled(not reason and not self.runner.busy)

    def _say(self, words: str) -> None:
        self.answer.setText(words)
        self.answer.setVisible(bool(words))

    def _end(self, outcome: Any) -> None:
        self._show_idle()
        if isinstance(outcome, Failure):
            self._say(f"⚠ {outcome.reason}")
        else:
            self.result = outcome
            self._say(outcome.summary())
            self.redraw()
        self.finished.emit()

    def showEvent(self, event: QEvent | None) -> None:  # noqa: N802 - Qt's name
        """Follow the layers again after the dock was closed."""
        self.choice.follow()
        super().showEvent(event)

    def hideEvent(self, event: QEvent | None) -> None:  # noqa: N802 - Qt's name
        """Closing the dock only hides it: stop then, but not for another tab or a minimised window."""
        self._closing.start()
        super().hideEvent(event)

    def _stop_if_closed(self) -> None:
        if is_closed(self):
            self.choice.rest()
            self.cancel()


def named(edit: NumbersEdit, name: str) -> NumbersEdit:
    """Give a line a name for messages and for screen readers."""
    edit.setAccessibleName(name)
    edit.setObjectName(name)
    return edit
