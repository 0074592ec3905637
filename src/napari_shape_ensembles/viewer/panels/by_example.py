"""Training a segmentation model from painted examples, and thumbnails of proposed recipes."""

import numpy as np
from numpy.typing import NDArray
from qtpy.QtCore import QRect, QSignalBlocker, QSize, Qt, Signal
from qtpy.QtGui import QIcon, QImage, QPixmap
from qtpy.QtWidgets import QCheckBox, QListView, QListWidget, QListWidgetItem, QSizePolicy, QWidget

from ...outlines.proposals import Proposal, describe_finding, distinguishing_descriptions
from ...words import counted
from ..dialogs import Dialogs
from ..session import Session
from .fonts import with_label_font
from .widgets import Section, WrappedLabel, button, column, menu_button, row

_THUMBNAIL_PX = 96  # side length of a thumbnail, in pixels
_GAP = 6  # padding around a thumbnail and its caption, in pixels
_COLUMNS = 3  # thumbnails side by side in a dock of the initial width


class ByExample(QWidget):
    """Controls to paint example objects, train a model on them and correct its results, iteratively."""

    corrected = Signal()  #: requests an object-by-object review of the segmentation

    def __init__(self, session: Session, dialogs: Dialogs) -> None:
        super().__init__()
        task = self._task = session.learning
        self.paint = button(
            "Paint &object",
            "Paint one whole object in the brush color; press again for the next object that touches it.\nObjects "
            "that do not touch can share a color. Ctrl+Z undoes a stroke.",
        )
        self.background = button("Paint &background", "Paint what is not an object, such as dirt that was outlined")
        self.click = button(
            "Click objects",
            "A click on an outlined object makes it an example, with Shift background.\n"
            "A click on an example removes it. If the outlines are doubtful, five candidates are marked first.",
        )
        self.learn = button("L&earn", "Learn from all painted images, and outline all images with one model")
        self.live = QCheckBox("After every stroke")
        self.live.setToolTip("Learn again after every stroke. Default off.")
        self.models = menu_button("Model", "Save or load a model, or use a method again", dialogs.model_entries())
        self.correct = button(
            "Correct objects …",
            "Review the objects found in this image: split, merge, delete, add or redraw them, with undo.\nThis "
            "works on a copy, which is compared instead of the image.",
        )
        self.painted, self.message = WrappedLabel(), WrappedLabel()
        self.paint.clicked.connect(lambda: task.paint())
        self.background.clicked.connect(lambda: task.paint(background=True))
        self.click.clicked.connect(lambda: task.click(session.proposing.candidates()))
        self.learn.clicked.connect(task.run)
        self.live.toggled.connect(lambda on: setattr(task, "live", on))
        self.correct.clicked.connect(self.corrected)
        more = column(row(self.background, self.models), self.live, row(self.correct))
        self.more = Section("More: background, models, corrections", more)
        column(row(self.paint, self.click), self.painted, row(self.learn), self.message, self.more, page=self)
        self.show_state()

    def show_state(self, _: object = None) -> None:
        """Show the annotation counts, the state of the model, and any running task."""
        task = self._task
        reason, changed = task.blocking_reason(), task.changed_since()
        has_image = task.segmentation.image.chosen() is not None
        for brush in (self.paint, self.background, self.click, self.correct):
            brush.setEnabled(has_image)
        self.learn.setEnabled(not (reason or task.busy))
        with QSignalBlocker(self.live):
            self.live.setChecked(task.live)
        counts = [
            f"{counted(objects, 'object')}{' and background' if ground else ''} in {name}"
            for name, (objects, ground) in task.painted_counts().items()
        ]
        self.learn.setVisible(bool(counts) or task.busy or task.result is not None)
        self.painted.setText(f"Painted: {'; '.join(counts)}." if counts else reason)
        words = ""
        if task.busy:
            words = task.step.text
        elif task.message:
            words = task.message
        elif task.result is not None:
            in_use = task.choices.recipe.find is not None
            words = f"The model was {task.result}{', and finds all objects' if in_use else ' and is not in use'}."
            words += " ↻ The painted examples were changed: learn again." if changed else ""
        self.message.show_text(words)


class Proposals(QWidget):
    """Thumbnails of recipes tried on an image crop; a click applies one to all images."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session, self._task = session, session.proposing
        self._shown: list[Proposal] = []
        self.propose = button("Propose", "Try methods, bright and dark, on parts of all images, and show the best six")
        self.largest = QCheckBox("Largest object only")
        self.largest.setToolTip("One object per image, such as an otolith or a leaf. Default off.")
        self.message = WrappedLabel()
        self.pictures = QListWidget()
        with_label_font(self.pictures)
        self.pictures.setViewMode(QListView.ViewMode.IconMode)
        self.pictures.setIconSize(QSize(_THUMBNAIL_PX, _THUMBNAIL_PX))
        self.pictures.setMovement(QListView.Movement.Static)
        self.pictures.setResizeMode(QListView.ResizeMode.Adjust)
        self.pictures.setWordWrap(True)
        self.pictures.setSpacing(_GAP // 2)
        # A list that expands would draw the message apart from it on a tall screen.
        self.pictures.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.pictures.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.pictures.setToolTip("Click a picture to use its settings for all images; the first is ranked best.")
        self.pictures.setAccessibleName("Proposed outlines")
        self.propose.clicked.connect(self._task.run)
        self.pictures.itemClicked.connect(self._choose)
        self.pictures.itemActivated.connect(self._choose)
        self.largest.toggled.connect(self._task.keep_largest)
        column(self.message, self.pictures, row(self.propose, self.largest, grows=self.propose), page=self)
        self.show_state()

    def _choose(self, item: QListWidgetItem) -> None:
        self._task.choose(self.pictures.row(item))

    def show_state(self, _: object = None) -> None:
        """Show the proposals, and select the one that equals the current recipe."""
        task, recipe = self._task, self._session.choices.recipe
        self.propose.setEnabled(not (task.busy or task.blocking_reason()))
        with QSignalBlocker(self.largest):
            self.largest.setChecked(recipe.largest)
        self.message.show_text(task.status_text())
        proposals = [] if task.result is None else task.result.proposals
        with QSignalBlocker(self.pictures):
            if proposals is not self._shown:
                self._shown = proposals
                self.pictures.clear()
                differ = distinguishing_descriptions([proposal.recipe for proposal in proposals])
                common = set.intersection(*(set(words.split(", ")) for words in differ)) if len(differ) > 1 else set()
                pictures = [] if task.result is None else task.result.pictures
                for proposal, pixels, words in zip(proposals, pictures, differ, strict=True):
                    caption = ", ".join(part for part in words.split(", ") if part not in common)
                    item = QListWidgetItem(QIcon(pixmap_of(pixels)), caption, self.pictures)
                    found = counted(int(proposal.labels.max()), "object")
                    said = dict.fromkeys([*words.split(", "), *describe_finding(proposal.recipe).split(", ")])
                    item.setToolTip(f"{', '.join(said)}; {found} in this part")
                self._fit_to_captions()
            chosen = [number for number, one in enumerate(proposals) if task.recipe_with(one) == recipe]
            self.pictures.setCurrentRow(chosen[0] if chosen else -1)
        self.pictures.setVisible(bool(proposals))

    def _fit_to_captions(self) -> None:
        """Size each picture for its word-wrapped caption, and the list for two rows."""
        wraps, metrics = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignHCenter, self.pictures.fontMetrics()
        items, heights = [self.pictures.item(row) for row in range(self.pictures.count())], []
        room = QRect(0, 0, _THUMBNAIL_PX - _GAP, 10 * _THUMBNAIL_PX)  # the list leaves a margin beside a caption
        for item in items:
            heights.append(_THUMBNAIL_PX + metrics.boundingRect(room, wraps, item.text()).height() + _GAP)
            item.setSizeHint(QSize(_THUMBNAIL_PX + _GAP, heights[-1]))
        rows = heights[:_COLUMNS], heights[_COLUMNS:]
        self.pictures.setFixedHeight(sum(max(row) + 2 * _GAP for row in rows if row) + _GAP)


def pixmap_of(pixels: NDArray[np.uint8]) -> QPixmap:
    """Return a thumbnail of the width shown."""
    rows, columns = pixels.shape[:2]
    image = QImage(np.ascontiguousarray(pixels).tobytes(), columns, rows, 3 * columns, QImage.Format.Format_RGB888)
    return QPixmap.fromImage(image.copy()).scaled(
        _THUMBNAIL_PX, _THUMBNAIL_PX, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
    )
