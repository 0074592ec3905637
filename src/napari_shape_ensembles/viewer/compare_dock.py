"""The dock *Compare shapes*: two layers in, painted curves and a row of the truth table out."""

from napari.components import ViewerModel
from napari.layers import Shapes
from qtpy.QtCore import QEvent, Qt, QTimer, Signal
from qtpy.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from ..comparison import Comparison
from .colorbar import ColorBar
from .inputs import Source, source_of
from .layer_pair import LayerPair, why_not
from .layers import COLORMAP, PAINTED, limits, repaint
from .results import ResultsPanel, wrapped
from .settings_form import SettingsForm
from .worker import Failure, Outcome, Progress, Runner, run


class CompareShapes(QWidget):
    """Compare the outlines in two layers.

    Parameters
    ----------
    napari_viewer : ViewerModel
        The viewer whose layers are compared.

    Signals
    -------
    finished
        A run has ended: with a result (`result` is set), an error, or by being cancelled.
    """

    finished = Signal()

    def __init__(self, napari_viewer: ViewerModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._viewer = napari_viewer
        self._own_layers: list[Shapes] = []
        self._notes: tuple[str, ...] = ()
        self.result: Comparison | None = None
        self.runner = Runner(self)
        self._make_controls()
        self._lay_out()
        self._connect()
        self.layer_pair.follow()

    def _make_controls(self) -> None:
        self.layer_pair = LayerPair(self._viewer)
        self.settings = SettingsForm()
        self.run_button = QPushButton("&Run")
        self.run_button.setToolTip("Segment, trace and compare the two layers")
        self.cancel_button = QPushButton("&Cancel")
        self.cancel_button.setToolTip("Stop the comparison; layers and results stay as they are")
        self.reason = wrapped()
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
        self.step = QLabel()
        self.results = ResultsPanel()
        self.painted = QComboBox()
        for column, words in PAINTED.items():
            self.painted.addItem(words, column)
        self.painted.setToolTip("What the curves are filled by; without unit. Both images share one colour scale.")
        self.colorbar = ColorBar(COLORMAP)
        self.paint_row = QWidget()

    def _lay_out(self) -> None:
        buttons = QHBoxLayout()
        buttons.addWidget(self.run_button, 1)
        buttons.addWidget(self.cancel_button)
        paint = QVBoxLayout(self.paint_row)
        paint.setContentsMargins(0, 0, 0, 0)
        paint.addWidget(QLabel("Curves filled by"))
        paint.addWidget(self.painted)
        paint.addWidget(self.colorbar)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(6, 6, 6, 6)
        for part in (self.layer_pair, self.settings):
            column.addWidget(part)
        column.addLayout(buttons)
        for part in (self.reason, self.step, self.progress, self.results, self.paint_row):
            column.addWidget(part)
        column.addStretch(1)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self._scroll.setWidget(page)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._scroll)
        self.paint_row.hide()
        self._show_idle()

    def _connect(self) -> None:
        self.layer_pair.changed.connect(self._show_reason)
        self.run_button.clicked.connect(self.run)
        self.cancel_button.clicked.connect(self.cancel)
        self.painted.currentIndexChanged.connect(self._repaint)
        self.runner.progressed.connect(self._show_progress)
        self.runner.ended.connect(self._end)

    def run(self) -> None:
        """Copy what the two layers show, and compare it in the background."""
        a, b = self.layer_pair.chosen()
        if self.runner.busy or why_not(a, b):
            return
        try:
            sources = source_of(a, self._viewer.dims), source_of(b, self._viewer.dims)
            steps = run(sources, self.settings.segmentation(), self.settings.analysis())
        except ValueError as error:
            self._end(Failure(str(error)))
            return
        self._notes = _notes(sources)
        self.results.say("")
        self.paint_row.hide()
        self.runner.start(steps)
        self._show_progress(Progress("starting", 0, 0))

    def cancel(self) -> None:
        """Stop the run under way; layers and earlier curves stay."""
        if self.runner.busy:
            self.runner.cancel()
            self._show_idle()
            self.results.say("Cancelled.")
            self.finished.emit()

    def _show_progress(self, progress: Progress) -> None:
        self.run_button.setEnabled(False)
        for part in (self.cancel_button, self.progress, self.step):
            part.setVisible(True)
        self.progress.setRange(0, progress.total)
        self.progress.setValue(progress.done)
        self.step.setText(f"{progress.name[0].upper()}{progress.name[1:]} …")
        self._show_reason()

    def _show_idle(self) -> None:
        for part in (self.cancel_button, self.progress, self.step):
            part.setVisible(False)
        self._show_reason()

    def _show_reason(self) -> None:
        """Say why Run cannot be pressed, where it cannot."""
        reason = "" if self.runner.busy else why_not(*self.layer_pair.chosen())
        self.reason.setText(reason)
        self.reason.setVisible(bool(reason))
        self.run_button.setEnabled(not reason and not self.runner.busy)

    def _end(self, outcome: Outcome | Failure) -> None:
        self._show_idle()
        if isinstance(outcome, Failure):
            self.result = None
            self.results.say(f"⚠ {outcome.reason}")
        else:
            self.result = outcome.result
            self._show_layers(outcome.layers)
            self.results.show_result(outcome.result, self._notes)
            self.paint_row.setVisible(True)
            self._repaint()
        QTimer.singleShot(0, self._bring_answer_into_view)
        self.finished.emit()

    def _fit_width(self) -> None:
        """Ask for the width that the contents need, so that nothing is cut off at the side."""
        self._scroll.widget().layout().activate()
        page, bar = self._scroll.widget(), self._scroll.verticalScrollBar()
        self._scroll.setMinimumWidth(page.minimumSizeHint().width() + bar.sizeHint().width() + 4)

    def _bring_answer_into_view(self) -> None:
        self._fit_width()
        self._scroll.ensureWidgetVisible(self.paint_row)
        self._scroll.ensureWidgetVisible(self.results.answer)

    def _show_layers(self, layers: list[Shapes]) -> None:
        """Put the curves into the viewer in place of those of the run before."""
        for layer in self._own_layers:
            if layer in self._viewer.layers:
                self._viewer.layers.remove(layer)
        self._own_layers = layers
        for layer in layers:
            self._viewer.add_layer(layer)

    def _repaint(self) -> None:
        if self.result is None:
            return
        column = self.painted.currentData()
        low, high = limits(self.result, column)
        for layer in self._own_layers:
            if layer in self._viewer.layers:
                repaint(layer, column, (low, high))
        self.colorbar.show_limits(low, high, clipped=bool(self.result.distances[column].max() > high))

    def showEvent(self, event: QEvent | None) -> None:  # noqa: N802 - Qt's name
        """Follow the layers again after the dock was closed."""
        self.layer_pair.follow()
        super().showEvent(event)
        QTimer.singleShot(0, self._fit_width)  # after napari's style sheet has reached the controls

    def hideEvent(self, event: QEvent | None) -> None:  # noqa: N802 - Qt's name
        """Closing the dock only hides it: stop then, but not for another tab or a minimised window."""
        QTimer.singleShot(0, self._stop_if_closed)
        super().hideEvent(event)

    def _stop_if_closed(self) -> None:
        if self._dock_closed():
            self.layer_pair.rest()
            self.cancel()

    def _dock_closed(self) -> bool:
        dock = self.parentWidget()
        return dock is None or dock.isHidden()


def _notes(sources: tuple[Source, Source]) -> tuple[str, ...]:
    """Which planes of stacks were compared, in words."""
    return tuple(f"{source.name}: the {source.plane} is compared." for source in sources if source.plane)
