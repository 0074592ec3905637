"""The part of the page *Answer* that compares images with a reference instead of a group."""

from pathlib import Path

from napari.components import ViewerModel
from qtpy.QtWidgets import QFileDialog, QHeaderView

from ..dialogs import Dialogs
from ..panels.plot_view import PlotView
from ..panels.widgets import NarrowList, PickTable, WrappedLabel, button, column, menu_button, row
from ..referring import COLUMNS
from ..session import Session
from .base import TaskPage


class ReferencePanel(TaskPage):
    """Makes or opens a reference, judges images by it, and shows them as a ranked table and as dots."""

    def __init__(self, napari_viewer: ViewerModel) -> None:
        task = self.referring = Session.of(napari_viewer).referring
        super().__init__(
            napari_viewer,
            task,
            "&Judge the other images",
            run="Say of each image whether it is one more of the accepted kind",
            run_again="Judge the images as they are now",
        )
        self.stale.button.setText("Run again")  # the page that this is a part of has a shortcut for its own
        self._drawn: object = None
        self.about = WrappedLabel()
        self.group = NarrowList("Group of images of the accepted kind")
        self.group.setAccessibleName("Group of the reference")
        self.make = button(
            "Make a reference of this group",
            "Trace the images of this group: each other image is then judged to be one more of them, or not",
        )
        self.dialogs = Dialogs(self, self.session, task.message_posted.emit)
        self.files = menu_button("File", "Open or save a reference", self.dialogs.reference_entries())
        self.folder = button("Judge a folder …", "Judge all image and curve files in a folder")
        self.message, self.note, self.sentences = WrappedLabel(), WrappedLabel(), WrappedLabel()
        self.note.hide()
        self.table = PickTable(*COLUMNS)
        self.table.setMinimumHeight(120)
        self.table.setAccessibleName("Judged images")
        self.table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)  # words wrap
        self.table.setToolTip(
            "One row per image, the least usual first. p: how often an image of the accepted kind is as unusual. The "
            "outlines of unlike images are painted by how much they make them so."
        )
        self.view = PlotView()
        self.view.setMinimumHeight(220)
        self.view.setToolTip("One dot per image, of the reference and of those judged: size and roughness")
        self.findings = self.sentences, self.table
        buttons = self.buttons(), row(self.folder, self.files, grows=self.folder)
        state = self.message, self.reason, self.step, self.progress, self.stale, self.note
        column(self.about, row(self.group), row(self.make), *buttons, *state, *self.findings, self.view, page=self)
        group = self.group
        self.make.clicked.connect(lambda: task.make(group.currentText()))
        self.folder.clicked.connect(self._ask_for_folder)
        self.link(task.message_posted, self._show_note)
        self.link(self.session.design.changed, self.show_state)
        self.attach()

    def _ask_for_folder(self) -> None:
        if folder := QFileDialog.getExistingDirectory(self, "Folder of images to judge"):
            self.referring.judge_folder(Path(folder))

    def _show_note(self, words: str, tooltip: str = "") -> None:
        self.note.show_text(words)
        self.note.setToolTip(tooltip)

    def show_result(self) -> None:
        """Show the reference, what can be done, and the images judged."""
        task, busy = self.referring, self.task.busy
        reference, judged = task.reference, task.result
        warnings = () if reference is None else reference.warnings
        self.about.show_text("\n".join(filter(None, [task.title, *(f"⚠ {one}" for one in warnings)])))
        names = list(self.session.design.groups())
        chosen = self.group.currentText()
        self.group.offer([(name, name) for name in names], chosen if chosen in names else next(iter(names), None))
        self.make.setEnabled(bool(names) and not busy)
        self.folder.setEnabled(reference is not None and not busy)
        self.message.show_text("" if busy else task.message)
        for part in (*self.findings, self.view):
            part.setVisible(judged is not None)
        if judged is not None and judged is not self._drawn:
            self._drawn = judged
            self.sentences.setText("\n".join(judged.sentences))
            self.table.show_rows(judged.rows)
            self.view.show_plot(judged.draw)
