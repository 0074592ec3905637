"""The dock *Segment curves*: from a raw image to outlines, with a live preview before anything is committed."""

from functools import partial
from html import escape
from typing import Any

import numpy as np
from napari.components import ViewerModel
from napari.layers import Image, Layer
from napari.utils.colormaps import Colormap
from qtpy.QtCore import QEvent, QTimer, Signal
from qtpy.QtWidgets import QCheckBox, QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from .inputs import Source, source_of
from .layer_choice import LayerChoice
from .layers import claim, is_own
from .panels.distributions import SizeHistogram
from .panels.widgets import ScrollColumn, form, is_closed, keeping_focus, once, run_keys, wrapped
from .preview import Preview, previews
from .segment_form import SegmentForm
from .segment_layers import Committed, all_planes, commit, displayed
from .worker import Failure, Progress, Runner

# How long further changes are waited for before a preview starts.
_DEBOUNCE_MS = 25
_COLORS = Colormap([[0, 0, 0, 0], [1, 0.83, 0, 1], [1, 0.2, 0.4, 1]], name="segmentation preview", interpolation="zero")


class SegmentCurves(QWidget):
    """Find the objects of an image and trace their outlines.

    Parameters
    ----------
    napari_viewer : ViewerModel

    Signals
    -------
    previewed
        The exact preview of the present settings is shown, or the reason why there is none.
    drafted
        A preview at lower resolution is shown.
    finished
        A commit has ended: its layers are in the viewer, or the reason is shown.
    """

    previewed = Signal()
    drafted = Signal()
    finished = Signal()

    def __init__(self, napari_viewer: ViewerModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._viewer = napari_viewer
        self._lines: Image | None = None
        self._source: Source | None = None
        self._image: Layer | None = None
        self.shown: Preview | None = None
        self.committed: Committed | None = None
        self.previewer, self.runner = Runner(self), Runner(self)
        self._closing = once(self, self._leave_if_closed)
        self._debounce = QTimer(self)
        self._debounce.setSingleShot(True)
        self._debounce.setInterval(_DEBOUNCE_MS)
        self._make_controls()
        self._lay_out()
        self._connect()
        self._follow()

    def _make_controls(self) -> None:
        self.layer = LayerChoice(self._viewer, _can_be_segmented, "The image whose objects are outlined.")
        self.form = SegmentForm()
        self.live = QCheckBox("L&ive preview")
        self.live.setChecked(True)
        self.live.setToolTip("Show what the settings give while they are changed; nothing is kept of it.")
        self.count = wrapped(rich=True)
        self.sizes = SizeHistogram()
        self.planes = QCheckBox("&All planes of the stack")
        self.planes.setToolTip("Segment every plane in time or depth for itself; off: the plane that is shown.")
        self.commit_button = QPushButton("&Make labels and outlines")
        self.commit_button.setToolTip(
            "Add a labels layer and a shapes layer with the outlines and their measures (Enter)"
        )
        self.cancel_button = QPushButton("Cancel")
        self.cancel_button.setToolTip("Stop; the layers stay as they are (Esc)")
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
        self.message = wrapped()

    def _lay_out(self) -> None:
        top = form()
        top.addRow("Image", self.layer)
        buttons = QHBoxLayout()
        buttons.addWidget(self.commit_button, 1)
        buttons.addWidget(self.cancel_button)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(6, 6, 6, 6)
        column.addLayout(top)
        for part in (self.form, self.live, self.count, self.sizes, self.planes):
            column.addWidget(part)
        column.addLayout(buttons)
        for part in (self.progress, self.message):
            column.addWidget(part)
        column.addStretch(1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(ScrollColumn(page))
        self._show_idle()

    def _connect(self) -> None:
        self.layer.chosen_changed.connect(self._choose_image)
        self.form.changed.connect(self.ask)
        self.live.toggled.connect(self.ask)
        self._debounce.timeout.connect(self._start_preview)
        self.previewer.progressed.connect(self._show_preview)
        self.previewer.ended.connect(self._end_preview)
        self.commit_button.clicked.connect(self.commit)
        self.cancel_button.clicked.connect(self.cancel)
        run_keys(self, self.commit, self.cancel)
        self.runner.progressed.connect(self._show_progress)
        self.runner.ended.connect(self._end_commit)

    def _follow(self) -> None:
        if not self.layer.following:
            self._viewer.dims.events.current_step.connect(self._take_image)
            self._viewer.dims.events.order.connect(self._take_image)
        self.layer.follow()
        if self._image is None:
            self._choose_image()

    def _rest(self) -> None:
        if self.layer.following:
            self._viewer.dims.events.current_step.disconnect(self._take_image)
            self._viewer.dims.events.order.disconnect(self._take_image)
        self.layer.rest()
        self._listen_to(None)
        self._debounce.stop()

    def _choose_image(self) -> None:
        """Take the image chosen now, and take it again whenever it changes."""
        self._listen_to(self.layer.chosen())
        self._take_image()

    def _listen_to(self, chosen: Layer | None) -> None:
        """Listen to this image, and to no other."""
        for image, change in ((self._image, "disconnect"), (chosen, "connect")):
            if image is not None:
                for event in (image.events.data, image.events.scale, image.events.units, image.events.translate):
                    getattr(event, change)(self._take_image)
        self._image = chosen

    def _take_image(self) -> None:
        """Copy what the image shows now."""
        self._source, self._image_error = None, ""
        if self._image is not None:
            try:
                self._source = source_of(self._image, self._viewer.dims)
            except ValueError as error:
                self._image_error = str(error)
        self.planes.setVisible(self._image is not None and self._image.ndim > 2)
        if self._source is not None:
            self.form.show_image(**_range(self._source, self._image))
        self.ask()

    def ask(self) -> None:
        """Show a preview of what is set now, soon; any earlier one is given up."""
        self.previewer.cancel()
        self.message.setText("")
        self._show_idle()
        self._debounce.start()

    def _start_preview(self) -> None:
        if self._source is None or not self.live.isChecked():
            self._clear_preview()
            return
        try:
            settings = self.form.segmentation()
        except ValueError as error:
            self._end_preview(Failure(str(error)))
            return
        steps: Any = previews(self._source, settings)
        self.previewer.start(steps)

    def _show_preview(self, preview: Preview | None) -> None:
        if preview is None:
            return
        self.shown = preview
        self._draw(preview.lines)
        self.count.setText(_words(preview))
        assert self._source is not None
        self.sizes.show_values(preview.diameters, self._source.unit)
        if preview.draft:
            self.drafted.emit()

    def _end_preview(self, outcome: Preview | Failure) -> None:
        if isinstance(outcome, Failure):
            self._clear_preview()
            self.message.setText(f"⚠ {outcome.reason}")
        else:
            self._show_preview(outcome)
        self.previewed.emit()

    def _draw(self, lines: np.ndarray) -> None:
        """Lay the outlines over the image, in one layer that every preview uses again."""
        assert self._source is not None
        placement = self._source.placement
        if self._lines in self._viewer.layers and self._lines is not None:
            for name in ("scale", "translate", "units"):
                if not np.array_equal(getattr(self._lines, name), placement[name]):
                    setattr(self._lines, name, placement[name])
            self._lines.data = lines
            return
        selected = set(self._viewer.layers.selection)
        self._lines = Image(
            lines,
            name="segmentation preview",
            colormap=_COLORS,
            contrast_limits=(0, 2),
            blending="translucent",
            **placement,
        )
        claim(self._lines)
        self._viewer.add_layer(self._lines)
        self._viewer.layers.selection = selected

    def _clear_preview(self) -> None:
        self._remove_lines()
        self.shown = None
        self.count.setText("")
        self.sizes.show_values([], "")

    def _remove_lines(self) -> None:
        self.previewer.cancel()
        if self._lines is not None and self._lines in self._viewer.layers:
            self._viewer.layers.remove(self._lines)

    def commit(self) -> None:
        """Turn what is set into a labels layer and a shapes layer."""
        if self.runner.busy or self._source is None or self._image is None:
            return
        stack = not self.planes.isHidden() and self.planes.isChecked()
        try:
            batch = all_planes(self._image, self._source) if stack else displayed(self._source)
            steps: Any = commit(batch, self.form.segmentation())
        except ValueError as error:
            self._end_commit(Failure(str(error)))
            return
        self.runner.start(steps)
        with keeping_focus(self, self.cancel_button):
            self._show_progress(Progress("starting", 0, 0))

    def cancel(self) -> None:
        """Stop a commit under way; layers on their way into the viewer still come."""
        if self.runner.busy and not self.runner.finish_turns():
            self.runner.cancel()
            self._show_idle()
            self.message.setText("Cancelled.")
            self.finished.emit()

    def _show_progress(self, progress: Progress) -> None:
        self.cancel_button.setVisible(True)
        self.progress.setVisible(True)
        self.progress.setRange(0, progress.total)
        self.progress.setValue(progress.done)
        self.commit_button.setEnabled(False)
        self.message.setText(f"{progress.name[0].upper()}{progress.name[1:]} …")

    def _show_idle(self) -> None:
        if self.runner.busy:
            return
        reason = "" if self._source is not None else self._why_not()
        with keeping_focus(self, self.commit_button):
            self.commit_button.setEnabled(not reason)
            self.cancel_button.setVisible(False)
            self.progress.setVisible(False)
        if reason:
            self.message.setText(reason)

    def _why_not(self) -> str:
        return getattr(self, "_image_error", "") or "Open an image to segment."

    def _end_commit(self, outcome: Committed | Failure) -> None:
        self._show_idle()
        if isinstance(outcome, Failure):
            self.message.setText(f"⚠ {outcome.reason}")
        else:
            self.committed = outcome
            outcome.labels.opacity = 0.3
            come = [partial(self._viewer.add_layer, layer) for layer in (outcome.labels, outcome.curves)]
            self.runner.in_turns([self._remove_lines, *come, partial(self._conclude, outcome)])
            return
        self.finished.emit()

    def _conclude(self, outcome: Committed) -> None:
        self._show_idle()
        self.message.setText(_account(outcome))
        self.finished.emit()

    def showEvent(self, event: QEvent | None) -> None:  # noqa: N802 - Qt's name
        """Follow the layers again after the dock was closed."""
        self._follow()
        super().showEvent(event)

    def hideEvent(self, event: QEvent | None) -> None:  # noqa: N802 - Qt's name
        """Closing the dock only hides it: leave nothing behind then, but stay for another tab."""
        self._closing.start()
        super().hideEvent(event)

    def _leave_if_closed(self) -> None:
        if is_closed(self):
            self._rest()
            self.cancel()
            self._clear_preview()


def _can_be_segmented(layer: Layer) -> bool:
    return isinstance(layer, Image) and not is_own(layer)


def _range(source: Source, layer: Layer | None) -> dict[str, Any]:
    """Colours, range and middle of an image, for the controls of its thresholds."""
    rgb = bool(getattr(layer, "rgb", False))
    values = source.data[..., :3].mean(axis=-1) / 255 if rgb else source.data
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    middle = float(finite.mean() + finite.std()) if finite.size else 0.5
    return {"rgb": rgb, "low": low, "high": high, "middle": min(middle, high)}


def _words(preview: Preview) -> str:
    counts = [f"<b>{len(preview.diameters)} objects</b>{' (draft)' if preview.draft else ''}"]
    counts += [f"{count} left out: {escape(reason)} (dotted)" for reason, count in preview.left_out.items()]
    return "<br>".join(counts)


def _account(committed: Committed) -> str:
    curves = sum(len(ensemble) for ensemble in committed.ensembles)
    left_out: dict[str, int] = {}
    for ensemble in committed.ensembles:
        for reason, count in ensemble.dropped.items():
            left_out[reason] = left_out.get(reason, 0) + count
    lines = [f"{curves} outlines made."] + [f"{count} left out: {reason}" for reason, count in left_out.items()]
    return "\n".join(lines)
