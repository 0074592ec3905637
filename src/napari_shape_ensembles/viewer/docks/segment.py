"""The page *Outlines* of the bench, alone the dock *Segment curves*: from images to outlines, with a live preview."""

import re
from functools import partial
from html import escape
from itertools import chain

from napari.components import ViewerModel
from napari.layers import Layer
from qtpy.QtCore import QSignalBlocker, Signal
from qtpy.QtWidgets import QCheckBox

from ...compiled import WAITING
from ...progress import Progress
from ...words import account_of, counted
from ..dialogs import Dialogs
from ..form import OutlinesForm
from ..layer_choice import LayerChoice
from ..panels.by_example import ByExample, Proposals
from ..panels.distributions import SizeHistogram
from ..panels.widgets import (
    Notice,
    Section,
    WrappedLabel,
    column,
    form,
    menu_button,
    scrolling,
    tip,
)
from ..segmenting import Verdict, grey_levels
from ..session import Session
from .base import TaskPage

# Maximum number of findings listed, and of images without findings; a finding takes three lines.
_MAX_LISTED = 2
_MAX_COUNTED = 6  # maximum number of labels or shapes layers listed with their numbers of outlines


class SegmentCurves(TaskPage):
    """Segment the objects of images, and trace their outlines; it begins with the active layer.

    Unless `alone`, it is a page of the bench, whose own button makes labels and outlines of a single image.
    """

    previewed = Signal()  #: the full (not draft) preview of the current recipe, or its error message, is shown

    def __init__(self, napari_viewer: ViewerModel, *, alone: bool = True) -> None:
        task = self.segmentation = Session.of(napari_viewer).segmentation
        super().__init__(
            napari_viewer,
            task,
            "&Make labels and outlines",
            run="Add a labels layer and a shapes layer with the outlines and their measures",
            run_again="Make them again, from the image as it is now",
        )
        self.run_button.setToolTip(self.run_button.toolTip().removesuffix(" (Enter)"))
        # Not a method, or the combo box would keep the page alive.
        self._images = partial(_images_to_choose, self.session, alone)
        self.layer = LayerChoice(task.image, "The image whose objects are outlined.", layers=self._images)
        self.form = OutlinesForm(self.session.choices.recipe, omitted=("pixel_size", "unit"))
        self.live = QCheckBox("L&ive preview")
        self.live.setToolTip("Show the outlines while the recipe is changed; nothing is kept.")
        self.live.toggled.connect(task.show_live)
        self.count, self.verdict, self.message = WrappedLabel(rich=True), WrappedLabel(rich=True), WrappedLabel()
        self.labels = Notice(
            "Use as labels", "Treat each value as an object instead of segmenting; the image is not changed"
        )
        self.classes = Notice(
            "Compare classes", "The components of the first two classes, without the background, become the two groups"
        )
        self.labels.button.clicked.connect(lambda: task.use_as_labels())
        self.classes.button.clicked.connect(lambda: task.use_as_labels(classes_apart=True))
        self.sizes = SizeHistogram()
        self.planes = QCheckBox("&All planes of the stack")
        self.planes.setToolTip("Segment every plane along the sliders independently; off: only the shown plane.")
        self.planes.toggled.connect(lambda on: setattr(task, "all_planes", on))
        self.dialogs = Dialogs(self, self.session, task.show_message)
        tooltip = "Open any file of the bench, or save the settings, shared by all pages"
        self.files = menu_button("Setti&ngs …", tooltip, self.dialogs.settings_entries())
        self.proposals = Proposals(self.session)
        self.by_example = ByExample(self.session, self.dialogs)
        self.by_example.corrected.connect(self._open_review)
        self._offered = False  # whether the proposals were expanded for the current outlines
        top = form()
        top.addRow("Numbers of", self.layer)
        self._top = top
        settings = column(self.buttons(self.files), self.live, self.planes, self.form)
        pair = all(self.session.design.sides())  # to be compared; else the outlines are what is wanted
        self.settings = Section("Settings, keep as layers", settings, folded=pair or not alone)
        self.other_ways = Section("Proposals", self.proposals)
        found = self.count, self.sizes, self.verdict, self.labels, self.classes
        state = self.reason, self.step, self.progress, self.stale, self.message
        self.examples = Section("By example", self.by_example)
        ways = self.other_ways, self.examples, self.settings
        self.scroll = scrolling(self, top, *found, *state, *ways)
        self.bind(self.form, "recipe")
        self.link(task.image.changed, self.layer.refresh)
        self.link(self.session.design.changed, self._choose_image)
        self.link(task.snapshot_changed, self._fit_form)
        self.link(task.previewed, self._emit_previewed)
        self.link(task.previewer.progressed, self._show_waiting)
        for part, other in ((self.proposals, self.session.proposing), (self.by_example, self.session.learning)):
            for signal in (other.changed, other.progressed, self.session.choices.changed, task.changed):
                self.link(signal, part.show_state)
        self.attach()

    def sync_with_session(self) -> None:
        """Update the page, and the proposals and examples, which may have changed while another page was shown."""
        super().sync_with_session()
        for part in (self.proposals, self.by_example):
            part.show_state()

    def run_by_key(self) -> None:
        """Do not run: Enter in a spin box commits its value, and every run adds layers."""

    def attach(self) -> None:
        """Begin with the active layer."""
        if (active := self.session.choices.layers.selection.active) in self._images():
            self.segmentation.image.choose(active, automatically=True)
        self._choose_image()
        super().attach()

    def _choose_image(self) -> None:
        """Choose an image that is offered, and update the list of these."""
        image, offered = self.segmentation.image, self._images()
        if image.chosen() is not None and image.chosen() not in offered:
            image.choose(offered[0], automatically=True)
        self.layer.refresh()

    def _open_review(self) -> None:
        self.request_page("Inspect")
        self.session.inspection.inspect(self.segmentation.image.chosen())

    def _emit_previewed(self) -> None:
        self.previewed.emit()

    def _fit_form(self) -> None:
        """Set the ranges of the threshold controls from the image's gray levels."""
        if self.segmentation.source is not None:
            self.form.show_image(**grey_levels(self.segmentation.source))

    def show_settings(self) -> None:
        self.scroll.scroll_to(self.settings)

    def _show_waiting(self, step: Progress) -> None:
        """Say that the preview waits for the compiler, or does so no longer."""
        if (WAITING in step.name) != (WAITING in self.count.text()):
            self.show_result()

    def show_result(self) -> None:
        """Show the numbers of the preview, and the outcome of the last run."""
        task, preview = self.segmentation, self.segmentation.preview
        for box, on in ((self.live, task.live), (self.planes, task.all_planes)):
            with QSignalBlocker(box):
                box.setChecked(on)
        self.sizes.show_values([] if preview is None else preview.diameters, "" if preview is None else preview.unit)
        updating = f"updating, {WAITING} …" if WAITING in task.previewer.step.name else "updating …"
        words = [updating] if task.is_preview_pending else []
        if preview is not None:
            told = f" · {updating}" if task.is_preview_pending else ""
            words = [f"<b>{counted(len(preview.diameters), 'object')}</b>{' (draft)' if preview.draft else ''}{told}"]
            drawn = " (dotted)" if task.is_preview_drawn else ""
            words += [f"{escape(line)}{drawn}" for line in account_of(preview.left_out)]
            words += account_of({}, preview.filled)
        found, rest = verdict_lines(task.verdict)
        if task.image.chosen() is None and task.verdict.counts:  # labels or shapes alone
            listed = list(task.verdict.counts.items())
            words = [f"<b>{counted(count, 'outline')}</b> in {escape(name)}" for name, count in listed[:_MAX_COUNTED]]
            words += [f"… and {len(listed) - _MAX_COUNTED} more"] * (len(listed) > _MAX_COUNTED)
            rest = [] if found else ["✓ No faults found."]
        if task.contents:  # the outlines are not those of the labels
            rest = []
        if doubt := self.session.proposing.doubt:
            rest = [f"⚠ {doubt}"]
        self.count.show_text("<br>".join(words))
        more = [f"… and {len(found) - _MAX_LISTED} more, in the tooltip"] if len(found) > _MAX_LISTED else []
        self.verdict.setText("<br>".join(map(escape, [*found[:_MAX_LISTED], *more, *rest])))
        self.verdict.setDisabled(task.is_preview_pending)  # it refers to the previous outlines
        counts = [f"{name}: {counted(count, 'outline')}" for name, count in task.verdict.counts.items()]
        self.verdict.setToolTip(tip("\n".join([*found, *counts])) if more or len(counts) > _MAX_LISTED else "")
        holds = [f"{name} holds {'a mask' if what == 'mask' else what}" for name, what in task.contents.items()]
        classes = "classes" in task.contents.values()
        self.labels.set_message(f"⚠ {'; '.join(holds)}, not gray levels." if holds else "")
        self.classes.set_message("Two classes can be the two samples." if classes else "")
        made = "labels and outlines" if task.labels_alone is None else "outlines"
        self.run_button.setText(f"&Make {made}")
        self.planes.setVisible(task.is_stack)
        counted_above = [] if preview is None else account_of(preview.left_out, preview.filled)
        lines = (task.message or task.preview_error).splitlines()
        said = "\n".join(line for line in lines if line not in counted_above)
        self.message.show_text("" if said in found[:_MAX_LISTED] else said)  # else in the verdict
        segmented = task.image.chosen() is not None  # else there are labels or curves alone
        several = len({*self._images(), *self.session.design.free()}) > 1
        self._top.setRowVisible(self.layer, segmented and several)
        self.sizes.setVisible(segmented and preview is not None)
        self._offer_proposals()

    def _offer_proposals(self) -> None:
        """Expand the proposals if there are any, or if the outlines are fragmented; examples if these are doubtful."""
        broken = any(finding.check == "specks" for finding in self.segmentation.verdict.quality.serious)
        proposed = self.session.proposing.result
        offered = broken or (proposed is not None and bool(proposed.proposals))
        if offered and not self._offered:
            doubtful = proposed is not None and proposed.candidates is not None
            (self.examples if doubtful else self.other_ways).fold(False)
        self._offered = offered


def _images_to_choose(session: Session, alone: bool) -> list[Layer]:
    """Return the images that can be chosen: in the bench, those that are compared, if any are, and a chosen one."""
    image, design = session.segmentation.image, session.design
    offered, own = image.offered(), [] if image.is_automatic else [image.chosen()]
    groups = () if alone or not all(design.sides()) else design.groups().values()
    compared = [layer for layer in chain(*groups) if layer in offered]
    return [*dict.fromkeys([*compared, *filter(None, own)])] if compared else offered


def verdict_lines(verdict: Verdict) -> tuple[list[str], list[str]]:
    """Return the findings on the outlines, the most serious first, and a line on the images without findings."""
    findings = verdict.quality.findings
    ordered = sorted(findings, key=lambda finding: not finding.serious)
    fine = [
        f"{name}: {counted(count, 'outline')}"
        for name, count in verdict.counts.items()
        if not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", finding.text) for finding in findings)
    ]
    more = f", and {len(fine) - _MAX_LISTED} more" if len(fine) > _MAX_LISTED else ""
    lines = [f"{'⚠' if finding.serious else '•'} {finding.text}" for finding in ordered]
    return lines, [f"✓ {', '.join(fine[:_MAX_LISTED])}{more}"] if fine else []
