"""What the docks of studies have in common: run and cancel, a plot that grows as results come, and closing."""

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import fields, replace
from typing import Any, Protocol, TypeVar

from napari.components import ViewerModel
from napari.layers import Layer
from qtpy.QtCore import Qt, QTimer
from qtpy.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from ..progress import Progress
from .plot_view import Plot, PlotView
from .ranges import NumbersEdit
from .result_dock import ResultDock
from .settings_form import SettingsForm
from .staleness import Basis, basis
from .widgets import NarrowList, ScrollColumn, form, keeping_focus, run_keys, wrapped
from .worker import Failure, Work

Choices = TypeVar("Choices")

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
_CLICK = "Click a place in the plot to load its settings into Compare shapes."
_BEFORE = "This is the result of the run before."


class LayerChoice(Protocol):
    """The part of a dock in which layers are chosen; keeps in step with the viewer's list."""

    changed: Any

    def chosen(self) -> tuple[Sequence[Layer], Sequence[Layer]]:
        """The layers of A and those of B."""

    def follow(self) -> None:
        """Keep in step from now on."""

    def rest(self) -> None:
        """Stop following."""


class StudyDock(ResultDock):
    """A dock that runs a study, and holds what is known in `result`.

    Subclasses say what is chosen, what is run, and how it is drawn.
    """

    #: Settings that the study itself sweeps: the form's own play no part in it.
    swept: tuple[str, ...]

    def __init__(
        self,
        napari_viewer: ViewerModel,
        choice: Any,
        ranges: dict[str, tuple[str, NumbersEdit]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(napari_viewer, "Run the study of what is chosen now", parent)
        self.choice: LayerChoice = choice
        self.ranges = {name: edit for name, (_, edit) in ranges.items()}
        self.result: Any = None
        self._next: Basis | None = None
        self._before: tuple[Any, Basis | None] = (None, None)
        self._make_controls()
        self._lay_out(choice, ranges)
        self._connect()
        self.choice.follow()

    # What a study has of its own.

    @abstractmethod
    def why_not(self) -> str:
        """Why the study cannot be run; empty when it can."""

    @abstractmethod
    def work(self) -> Work:
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
        self.cancel_button = QPushButton("Cancel")
        self.cancel_button.setToolTip("Stop the study; what is drawn so far is kept (Esc)")
        self.reason, self.answer, self.picked = wrapped(), wrapped(), wrapped(_CLICK)
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
        self._latest = Progress("starting")

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
        for part in (self.reason, self.step, self.progress, self.stale, self.answer):
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
        for changed in (self.choice.changed, *(edit.changed for edit in self.ranges.values())):
            changed.connect(self._show_reason)
            changed.connect(self.show_staleness)
        self.settings.changed.connect(self.show_staleness)
        self.run_button.clicked.connect(self.run)
        self.stale.again.clicked.connect(self.run)
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
        self._before = self.result, self.basis
        try:
            work, self._next = self.work(), self.now()
        except ValueError as error:
            self._end(Failure(str(error)))
            return
        self._say("" if self.result is None else _BEFORE)
        self.picked.setText(_CLICK)
        self._latest = Progress("starting")
        self.runner.start(work)
        self._show_busy()

    def cancel(self) -> None:
        """Stop the study under way; what is known stays."""
        if self.runner.busy:
            self.runner.cancel()
            known = "So far:" if self.basis is self._next else _BEFORE
            self._conclude("Cancelled." + (f" {known} {self.result.summary()}" if self.result is not None else ""))

    def now(self) -> Basis | None:
        """What the study of what is chosen now would rest on."""
        a, b = map(tuple, self.choice.chosen())
        if not a or not b:
            return None
        parts = (
            _at_defaults(self.settings.segmentation(), self.swept),
            _at_defaults(self.settings.analysis(), self.swept),
        )
        return basis(self.viewer, (a, b), *parts, more=self.more())

    def more(self) -> dict[str, Hashable]:
        """Choices beside the form's, by the words for them."""
        return {f'the range "{edit.accessibleName()}"': tuple(edit.values()) for edit in self.ranges.values()}

    def can_run(self) -> bool:
        """Whether all that a run needs is chosen."""
        return not self._reason()

    def _note_progress(self, progress: Progress) -> None:
        """Keep what a run tells; it may tell more than a window can show."""
        self._latest = progress
        if progress.result is not None and progress.result.done_something:
            self.result, self.basis = progress.result, self._next
            self._say("")
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
            self.stale.hide()
            for part in (self.cancel_button, self.progress, self.step):
                part.setVisible(True)
            self._show_reason()
        self._show_progress()

    def _redraw_soon(self) -> None:
        if self.result is not None and not self._redraw.isActive():
            self._redraw.start()

    def redraw(self) -> None:
        """Draw what is known."""
        drawable = self.result is not None and self.result.done_something
        self._show_plot_parts(drawable)
        if drawable:
            self.view.show_plot(self.plot(self.result, self._test()))

    def _test(self) -> str:
        """The test to be drawn: a part only where there are parts."""
        test = str(self.shown.currentData())
        parted = self.result.settings.coordinates == "both"
        return test if parted or test not in ("raw", "normalized") else "undulation"

    def _show_plot_parts(self, visible: bool) -> None:
        for part in (self.shown_row, self.view, self.picked):
            part.setVisible(visible)

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
        """Take what a run has led to; one that failed leaves the result before it, if only in part."""
        if not isinstance(outcome, Failure):
            self.result, self.basis = outcome, self._next
            self._conclude(outcome.summary())
            return
        words = f"⚠ {outcome.reason}"
        if self._before[0] is not None:
            self.result, self.basis = self._before
            words += f"\n{_BEFORE} {self.result.summary()}"
        self._conclude(words)

    def _conclude(self, words: str) -> None:
        """The dock rests, and says what it shows."""
        self._show_idle()
        self._say(words)
        self.redraw()
        self.watch_result()
        self.finished.emit()

    def follow(self) -> None:
        """Keep in step with the layer list from now on."""
        self.choice.follow()

    def rest(self) -> None:
        """Stop following."""
        self.choice.rest()


def _at_defaults(choices: Choices, names: Sequence[str]) -> Choices:
    """Some of the choices set to their defaults, so that they make no difference."""
    known: Any = choices
    return replace(known, **{field.name: field.default for field in fields(known) if field.name in names})


def named(edit: NumbersEdit, name: str) -> NumbersEdit:
    """Give a line a name for messages and for screen readers."""
    edit.setAccessibleName(name)
    edit.setObjectName(name)
    return edit
