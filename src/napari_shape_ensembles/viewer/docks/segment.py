"""The dock *Segment curves*: from a raw image to outlines, with a live preview before anything is committed."""

from html import escape

from napari.components import ViewerModel
from qtpy.QtCore import QSignalBlocker, Signal
from qtpy.QtWidgets import QCheckBox, QWidget

from ...outlines import account_of, counted
from ..dialogs import Dialogs
from ..form import OutlinesForm
from ..layer_choice import LayerChoice
from ..panels.distributions import SizeHistogram
from ..panels.widgets import column, form, menu_button, scrolling, wrapped
from ..segmenting import grey_levels
from ..session import Session
from .base import Dock


class SegmentCurves(Dock):
    """Find the objects of an image and trace their outlines."""

    previewed = Signal()  #: the exact preview of the present recipe is shown, or the reason why there is none

    def __init__(self, napari_viewer: ViewerModel) -> None:
        task = self.segmentation = Session.of(napari_viewer).segmentation
        super().__init__(
            napari_viewer,
            task,
            run="Add a labels layer and a shapes layer with the outlines and their measures",
            renewal="",
        )
        self.run_button.setText("&Make labels and outlines")
        self.layer = LayerChoice(task.image, "The image whose objects are outlined.")
        self.form = OutlinesForm(self.session.choices.recipe, omitted=("pixel_size", "unit"))
        self.live = QCheckBox("L&ive preview")
        self.live.setToolTip("Show what the recipe gives while it is changed; nothing is kept of it.")
        self.live.toggled.connect(task.show_live)
        self.count, self.message = wrapped(rich=True), wrapped()
        self.sizes = SizeHistogram()
        self.planes = QCheckBox("&All planes of the stack")
        self.planes.setToolTip("Segment every plane in time or depth independently; off: the plane that is shown.")
        self.planes.toggled.connect(lambda on: setattr(task, "all_planes", on))
        self.dialogs = Dialogs(self, self.session, task.say)
        tooltip = "Load or save the settings, which all docks share"
        self.files = menu_button("Setti&ngs …", tooltip, self.dialogs.settings())
        top, buttons, above = form(), self.buttons(self.files), QWidget()
        top.addRow("Image", self.layer)
        scrolling(above, top, self.form, self.sizes)
        state = self.reason, self.step, self.progress, self.stale, self.message
        # Of the form only a part may fit; what comes of it stays in sight.
        below = column(self.live, self.count, self.planes, buttons, *state, margins=(6, 0, 6, 6))
        column(above, below, page=self, grows=above)
        self.bind(self.form, "recipe")
        self.link(task.image.changed, self.layer.refresh)
        self.link(task.copied, self._fit_form)
        self.link(task.previewed, self._tell_previewed)
        self.attach()

    def _tell_previewed(self) -> None:
        self.previewed.emit()

    def _fit_form(self) -> None:
        """Fit the controls of thresholds to the image."""
        if self.segmentation.source is not None:
            self.form.show_image(**grey_levels(self.segmentation.source))

    def show_result(self) -> None:
        """Show the numbers of the preview, and what became of the last run."""
        task, preview = self.segmentation, self.segmentation.preview
        for box, on in ((self.live, task.live), (self.planes, task.all_planes)):
            with QSignalBlocker(box):
                box.setChecked(on)
        self.sizes.show_values([] if preview is None else preview.diameters, "" if preview is None else preview.unit)
        words = []
        if preview is not None:
            words = [f"<b>{counted(len(preview.diameters), 'object')}</b>{' (draft)' if preview.draft else ''}"]
            words += [f"{count} left out: {escape(reason)} (dotted)" for reason, count in preview.left_out.items()]
            words += account_of({}, preview.filled)
        self.count.setText("<br>".join(words))
        self.planes.setVisible(task.is_stack)
        self.message.setText(task.message or task.preview_error)
