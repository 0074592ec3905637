"""The part of the page *Answer* that compares images with a reference instead of a group."""

from pathlib import Path

from qtpy.QtWidgets import QFileDialog, QHeaderView, QProgressBar, QWidget

from ...progress import Progress
from ..dialogs import Dialogs
from ..panels.plot_view import PlotView
from ..panels.widgets import NarrowList, PickTable, WrappedLabel, button, column, menu_button, row
from ..referring import COLUMNS
from .base import Page


class ReferencePanel(QWidget):
    """Makes or opens a reference, judges images by it, and shows them as a ranked table and as dots."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        self._session = page.session
        task = self.task = page.session.referring
        self._drawn: object = None
        self.about = WrappedLabel()
        self.group = NarrowList("Group of images of the accepted kind")
        self.group.setAccessibleName("Group of the reference")
        self.make = button(
            "Make a reference of this group",
            "Trace the images of this group: each other image is then judged to be one more of them, or not",
        )
        self.dialogs = Dialogs(self, page.session, task.message_posted.emit)
        self.files = menu_button("File", "Open or save a reference", self.dialogs.reference_entries())
        self.judge = button("&Judge the other images", "Say of each image whether it is one more of the accepted kind")
        self.folder = button("Judge a folder …", "Judge all image and curve files in a folder")
        self.cancel = button("Cancel", "Stop; results are kept")
        self.progress = QProgressBar()
        self.progress.setTextVisible(False)
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
        column(
            self.about,
            *(row(self.group), row(self.make), row(self.judge, self.cancel, grows=self.judge)),
            row(self.folder, self.files, grows=self.folder),
            *(self.message, self.progress, self.note, self.sentences, self.table, self.view),
            page=self,
        )
        group = self.group
        self.make.clicked.connect(lambda: task.make(group.currentText()))
        self.judge.clicked.connect(task.run)
        self.folder.clicked.connect(self._ask_for_folder)
        self.cancel.clicked.connect(task.cancel)
        page.link(task.changed, self.show_state)
        page.link(task.progressed, self._show_progress)
        page.link(task.message_posted, self._show_note)
        page.link(page.session.design.changed, self.show_state)
        page.add_close_handler(task.deactivate)

    def _ask_for_folder(self) -> None:
        if folder := QFileDialog.getExistingDirectory(self, "Folder of images to judge"):
            self.task.judge_folder(Path(folder))

    def _show_progress(self, step: Progress) -> None:
        self.progress.setMaximum(step.total)
        self.progress.setValue(step.done)
        self.message.show_text(f"{step.name} …")

    def _show_note(self, words: str, tooltip: str = "") -> None:
        self.note.show_text(words)
        self.note.setToolTip(tooltip)

    def show_state(self) -> None:
        """Show the reference, what can be done, and the images judged."""
        task, busy = self.task, self.task.busy
        reference, judged = task.reference, task.result
        warnings = () if reference is None else reference.warnings
        self.about.setText("\n".join([task.title or task.blocking_reason(), *(f"⚠ {one}" for one in warnings)]))
        names = list(self._session.design.groups())
        chosen = self.group.currentText()
        self.group.offer([(name, name) for name in names], chosen if chosen in names else next(iter(names), None))
        self.make.setEnabled(bool(names) and not busy)
        reason = task.blocking_reason()
        self.judge.setEnabled(not (busy or reason))
        self.folder.setEnabled(reference is not None and not busy)
        self.cancel.setVisible(busy)
        self.progress.setVisible(busy)
        changed = [] if busy else task.changed_since()
        stale = f"↻ Out of date: {', '.join(changed[:3])}." if changed else ""
        blocked = reason if reference is not None else ""
        self.message.show_text("" if busy else "\n".join(filter(None, (task.message, blocked, stale))))
        for part in (self.sentences, self.table, self.view):
            part.setVisible(judged is not None)
        if judged is not None and judged is not self._drawn:
            self._drawn = judged
            self.sentences.setText("\n".join(judged.sentences))
            self.table.show_rows(judged.rows)
            self.view.show_plot(judged.draw)
