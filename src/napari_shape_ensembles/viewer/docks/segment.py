"""The dock *Segment curves*: from a raw image to outlines, with a live preview before anything is committed."""

from html import escape

from napari.components import ViewerModel
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QCheckBox, QPushButton, QVBoxLayout, QWidget

from ..dialogs import Dialogs, fill_menu
from ..form import OutlinesForm
from ..layer_choice import LayerChoice
from ..panels.distributions import SizeHistogram
from ..panels.widgets import ScrollColumn, form, wrapped
from ..segmenting import Preview, grey_levels
from ..session import Session
from .base import Dock


class SegmentCurves(Dock):
    """Find the objects of an image and trace their outlines.

    Parameters
    ----------
    napari_viewer : ViewerModel

    Signals
    -------
    drafted
        A preview at lower resolution is shown.
    previewed
        The exact preview of the present recipe is shown, or the reason why there is none.
    """

    drafted = Signal()
    previewed = Signal()

    def __init__(self, napari_viewer: ViewerModel, parent: QWidget | None = None) -> None:
        self.segmentation = Session.of(napari_viewer).segmentation
        super().__init__(
            napari_viewer,
            self.segmentation,
            run="Add a labels layer and a shapes layer with the outlines and their measures",
            renewal="",
            parent=parent,
        )
        self._make_controls()
        self._lay_out()
        self._connect()
        self.attach()

    def _make_controls(self) -> None:
        self.layer = LayerChoice(self.segmentation.image, "The image whose objects are outlined.")
        self.form = OutlinesForm(self.session.choices.recipe, omitted=("pixel_size", "unit"))
        self.live = QCheckBox("L&ive preview")
        self.live.setToolTip("Show what the recipe gives while it is changed; nothing is kept of it.")
        self.count, self.message = wrapped(rich=True), wrapped()
        self.sizes = SizeHistogram()
        self.planes = QCheckBox("&All planes of the stack")
        self.planes.setToolTip("Segment every plane in time or depth independently; off: the plane that is shown.")
        self.commit_button = self.run_button
        self.commit_button.setText("&Make labels and outlines")
        self.files = QPushButton("Setti&ngs …")
        self.files.setStyleSheet("padding: 3px 18px 3px 6px;")  # room for the sign of a menu
        self.files.setToolTip("Load or save the settings, which all docks share")
        self.dialogs = Dialogs(self, self.session, self._note)
        fill_menu(self.files, self.dialogs.settings())

    def _lay_out(self) -> None:
        top = form()
        top.addRow("Image", self.layer)
        buttons = self.buttons()
        buttons.addWidget(self.files)
        page, below = QWidget(), QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(6, 6, 6, 6)
        column.addLayout(top)
        column.addWidget(self.form)
        column.addWidget(self.sizes)
        column.addStretch(1)
        in_sight = QVBoxLayout(below)  # of the form only a part may fit; what comes of it stays in sight
        in_sight.setContentsMargins(6, 0, 6, 6)
        for part in (self.live, self.count, self.planes):
            in_sight.addWidget(part)
        in_sight.addLayout(buttons)
        for part in (self.reason, self.step, self.progress, self.stale, self.message):
            in_sight.addWidget(part)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(ScrollColumn(page), 1)
        outer.addWidget(below)

    def _connect(self) -> None:
        task = self.segmentation
        self.bind(self.form, "recipe")
        self.link(task.image.changed, self.layer.refresh)
        self.link(task.copied, self._fit_form)
        self.link(task.drafted, self._tell_drafted)
        self.link(task.previewed, self._tell_previewed)
        self.live.toggled.connect(lambda on: setattr(task, "live", on))
        self.planes.toggled.connect(lambda on: setattr(task, "all_planes", on))

    def _tell_drafted(self) -> None:
        self.drafted.emit()

    def _tell_previewed(self) -> None:
        self.previewed.emit()

    def _fit_form(self) -> None:
        """Fit the controls of thresholds to the image."""
        if self.segmentation.source is not None:
            self.form.show_image(**grey_levels(self.segmentation.source))

    def _note(self, sentence: str, _: str) -> None:
        self.segmentation.say(sentence)

    def show_result(self) -> None:
        """Show the numbers of the preview, and what became of the last run."""
        task, preview = self.segmentation, self.segmentation.preview
        for box, on in ((self.live, task.live), (self.planes, task.all_planes)):
            was_blocked = box.blockSignals(True)
            box.setChecked(on)
            box.blockSignals(was_blocked)
        self.count.setText("" if preview is None else _words(preview))
        self.sizes.show_values([] if preview is None else preview.diameters, "" if preview is None else preview.unit)
        self.planes.setVisible(task.is_stack)
        self.message.setText(task.message or task.preview_error)


def _words(preview: Preview) -> str:
    counts = [f"<b>{len(preview.diameters)} objects</b>{' (draft)' if preview.draft else ''}"]
    counts += [f"{count} left out: {escape(reason)} (dotted)" for reason, count in preview.left_out.items()]
    return "<br>".join(counts)
