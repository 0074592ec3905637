"""The review queue: a list of labels ranked by suspicion, with verdicts and corrections for each."""

from pathlib import Path
from typing import Any

from qtpy.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QSignalBlocker, Qt
from qtpy.QtGui import QKeySequence, QShortcut
from qtpy.QtWidgets import QLineEdit, QTableView, QWidget

from ...inspection.reviewing import FIXES
from ...io.layouts import ending_of
from ...words import counted, shortened_apart
from ..dialogs import ask_save_path
from ..inspecting import KEYS, ORDERS, InspectionTask
from .fonts import with_label_font
from .widgets import (
    NarrowList,
    Section,
    WrappedLabel,
    button,
    column,
    form,
    menu_button,
    pick_rows,
    row,
    tip,
)

_ROLES = (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.CheckStateRole)
_HEADINGS = {
    "exclude": "Whether the outline is left out of the comparison",
    "label": "Value of the object in the labels",
    "score": "Orders the labels, from 0 to 1. It is a rank until there are enough verdicts to scale it: on images of\n"
    "other kinds, more of the low scores are wrong. Your verdicts on this image set it to 0 or 1.",
    "why": "Reasons found in the outline, the image and the labels around",
}
_COLUMNS = ("index", "image", "label", "score", "mark", "reasons")  # of the rows of the task
_VERDICT_MARKS = {"right": "✓ ", "wrong": "✗ ", "corrected": "✎ ", "": ""}
_FIX_TOOLTIPS = {
    "fill holes": "Fill the background it encloses; other objects in its holes are kept",
    "split": "Cut it at its narrowest neck; separate pieces become separate labels (erase a line across it first)",
    "merge": "Join it with the neighbor it most likely belongs to, or with the label picked on the canvas (napari's L)",
    "delete": "Turn it into background",
    "add": "Add a label for an object that has none",
    "redraw": "Paint, erase or fill with napari's tools on the copy; every stroke is logged",
}

_LABEL_KINDS = {"TIFF (*.tif)": ".tif", "TIFF (*.tiff)": ".tiff", "PNG (*.png)": ".png", "NumPy array (*.npy)": ".npy"}

# Reasons longer than this do not fit into two lines of the table, and are shown there by their first words.
_MAX_REASONS = 40

# Parent index of top-level rows.
_ROOT = QModelIndex()


class Queue(QWidget):
    """The review queue with the actions for the current label; a view of the task that any dock can embed."""

    def __init__(self, task: InspectionTask) -> None:
        super().__init__()
        self._task = task
        self.table = QTableView()
        self.model = QueueModel(task, self.table)
        self.table.setModel(self.model)
        pick_rows(self.table, lines=2)
        self.table.setMinimumHeight(220)
        self.table.setAccessibleName("Labels, the most suspicious first")
        self.table.setToolTip(
            "Click a label to look at it; tick it to exclude its curve from the comparison. Nothing is deleted.\n"
            "✓ right, ✗ wrong, ✎ corrected (a merge or split corrects two labels); all are saved and logged.\n"
            "On the canvas and here: N next, K right (keep), W wrong, Q fix, U undo."
        )
        # Not the current index: a table sets one as soon as it gets the focus, without a choice of the user.
        self.table.selectionModel().selectionChanged.connect(self._on_row_selected)
        self.table.clicked.connect(self._on_row_selected)
        self.progress, self.reasons = WrappedLabel(), WrappedLabel()
        self.next_button = button("Next  N", "Go to the next unreviewed label (N)")
        order = self.order = NarrowList(
            "Next label: the most suspicious, which finds most errors per label; or the one with a score closest "
            "to 0.5, from which the ranking learns most.",
            ORDERS,
        )
        order.setAccessibleName("Next label")
        order.setCurrentIndex(order.findData(task.uncertain_first))
        order.currentIndexChanged.connect(lambda _: setattr(task, "uncertain_first", bool(order.currentData())))
        self.right_button = button("Right  K", "This label is right: keep it. The others are ranked again (K)")
        self.wrong_button = button("Wrong  W", "This label is wrong. The others are ranked again (W)")
        self.fix_button = button("Fix  Q", "Correct it, on a copy of the labels (Q)")
        self.undo_button = button("Undo  U", "Undo the last decision or correction (U)")
        for part, action in (
            (self.next_button, task.next),
            (self.fix_button, task.fix),
            (self.undo_button, task.undo),
        ):
            part.clicked.connect(_ignoring_arguments(action))
        self.right_button.clicked.connect(lambda: task.tick(wrong=False))
        self.wrong_button.clicked.connect(lambda: task.tick(wrong=True))
        entries = {
            words.capitalize(): (_ignoring_arguments(task.fix, action), _FIX_TOOLTIPS[action])
            for action, words in FIXES.items()
        }
        self.fixes = menu_button("All fixes …", "All corrections, on a copy of the labels", entries)
        self.save_button = button(
            "Save corrected …",
            "Save the corrected labels in their original format, with whole stacks, and the log; outlines of a file of "
            "annotations in its format, with all else in it",
        )
        self.save_button.clicked.connect(self._save)
        self.by = QLineEdit(task.by)
        with_label_font(self.by)
        self.by.setToolTip("Reviewer, recorded in the log of every correction.")
        self.by.setAccessibleName("Reviewed by")
        self.by.textChanged.connect(task.set_reviewer)
        said = row(self.next_button, self.right_button, self.wrong_button)
        done = row(self.fix_button, self.undo_button, grows=self.fix_button)
        others = row(self.fixes, self.save_button, grows=self.fixes)
        rows = form()
        rows.addRow("Next is", self.order)
        rows.addRow("By", self.by)
        self.more = Section("All fixes, order, name, save", column(others, rows))
        column(self.progress, self.table, self.reasons, said, done, self.more, page=self, grows=self.table)
        for key, does in KEYS.items():
            shortcut = QShortcut(QKeySequence(key), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(_ignoring_arguments(task.trigger, does))

    def refresh(self) -> None:
        """Update all controls from the current state of the review."""
        task, review = self._task, self._task.review
        if review is None:
            return
        self.model.refresh()
        counts = review.counts()
        said = [f"{counts[mark]} {mark}" for mark in ("right", "wrong", "corrected") if counts[mark]]
        changes = sum(len(own.changes) for own in review.corrected if own is not None)
        if counts["corrected"] and changes != counts["corrected"]:  # a merge corrects two labels
            said[-1] += f" by {counted(changes, 'change')}"
        reviewed = sum(counts[mark] for mark in ("right", "wrong", "corrected"))
        listed = "labels and places without one" if (review.table["label"] < 0).any() else "labels"
        lines = [f"{reviewed} of {counts['all']} {listed} reviewed"]
        self.progress.setText(": ".join([*lines, ", ".join(said)] if said else lines))
        if task.saved_as:
            self.progress.setText(f"{self.progress.text()}\n{task.saved_as}")
        here, entry = task.row, task.current
        if self.by.text() != task.by:
            self.by.setText(task.by)
        with QSignalBlocker(self.table.selectionModel()):
            self.table.setCurrentIndex(self.model.index(here, 1))
            if here >= 0:
                self.table.scrollTo(self.model.index(here, 1))
        reasons = str(task.rows["reasons"].iloc[here]) if here >= 0 else "Click a label, or press N for the first one."
        self.reasons.setText(reasons or "Nothing stands out.")
        on_labels = entry is not None and review.corrected[entry.image] is not None
        on_shapes = entry is not None and task.layers.images[entry.image].source.kind == "shapes"
        for part in (self.right_button, self.wrong_button):
            part.setEnabled(entry is not None)
        self.fix_button.setEnabled(on_labels or on_shapes)
        self.fixes.setEnabled(on_labels)
        words = "edit it" if on_shapes else FIXES[review.suggestion(entry)] if entry is not None else ""
        self.undo_button.setVisible(reviewed > 0)
        self.fix_button.setText(f"Fix: {words}  Q" if words else "Fix  Q")
        where = "by its vertices, in its own layer" if on_shapes else "on a copy of the labels"
        self.fix_button.setToolTip(f"{words.capitalize() or 'Correct it'}, {where} (Q)")
        self.save_button.setEnabled(bool(task.to_save()))

    def _on_row_selected(self, *_: object) -> None:
        for chosen in self.table.selectionModel().selectedRows():
            self._task.go_to(chosen.row())

    def _save(self) -> None:
        """Ask for a file name for each corrected image or stack and each file of outlines, and save them."""
        paths, annotated = {}, self._task.annotated()
        for image, name in self._task.to_save().items():
            what, kinds, proposed = "labels", _LABEL_KINDS, f"{name}.tif"
            if image in annotated:
                ending = ending_of(name)
                what, kinds, proposed = (
                    "outlines",
                    {f"(*{ending})": ending},
                    f"{Path(name).with_suffix('')}.corrected{ending}",
                )
            if (path := ask_save_path(self, f"Save corrected {what}", proposed, kinds)) is not None:
                paths[image] = path
        if paths:
            self._task.save(paths)


class QueueModel(QAbstractTableModel):
    """Table model of the rows of a review; stays fast with thousands of rows that change at every verdict."""

    def __init__(self, task: InspectionTask, parent: Any) -> None:
        super().__init__(parent)
        self._task = task
        self._read()

    def _read(self) -> None:
        """Read the rows column by column: a table takes a millisecond for a row, and Qt asks ten times for each."""
        self._rows = self._task.rows
        self._columns = {name: self._rows[name].tolist() for name in _COLUMNS}

    def refresh(self) -> None:
        """Emit the change of the data, or reset the model if the rows were replaced."""
        if self._rows is self._task.rows:
            self._read()
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows) - 1, len(_HEADINGS) - 1))
        else:
            self.beginResetModel()
            self._read()
            self.endResetModel()

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = _ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: QModelIndex | QPersistentModelIndex = _ROOT) -> int:
        return len(_HEADINGS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role in (
            Qt.ItemDataRole.DisplayRole,
            Qt.ItemDataRole.ToolTipRole,
        ):
            return [*_HEADINGS][section] if role == Qt.ItemDataRole.DisplayRole else [*_HEADINGS.values()][section]
        return None

    def flags(self, index: QModelIndex | QPersistentModelIndex) -> Qt.ItemFlag:
        flags = super().flags(index)
        own = index.isValid() and index.column() == 0 and self._columns["index"][index.row()] >= 0
        return flags | Qt.ItemFlag.ItemIsUserCheckable if own else flags

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= min(len(self._rows), len(self._task.rows)):  # out of date
            return None
        if role not in _ROLES:  # Qt asks for the font and the colors of every cell too
            return None
        row, heading = {name: self._columns[name][index.row()] for name in _COLUMNS}, [*_HEADINGS][index.column()]
        if heading == "exclude":
            if role == Qt.ItemDataRole.CheckStateRole and row["index"] >= 0:
                excluded = self._task.is_excluded(index.row())
                return Qt.CheckState.Checked if excluded else Qt.CheckState.Unchecked
            return None
        result = self._task.result
        compared = None if result is None else result.comparison
        side = "" if compared is None else f"{shortened_apart(compared.names)[row['image']]} "
        texts = {
            "label": f"{_VERDICT_MARKS[row['mark']]}{side}{row['label'] if row['label'] > 0 else 'none'}",
            "score": f"{row['score']:.2f}",
            "why": brief(row["reasons"]),
        }
        if role == Qt.ItemDataRole.DisplayRole:
            return texts[heading]
        return tip(row["reasons"]) if role == Qt.ItemDataRole.ToolTipRole and heading == "why" else None

    def setData(
        self, index: QModelIndex | QPersistentModelIndex, value: Any, role: int = Qt.ItemDataRole.EditRole
    ) -> bool:
        if role != Qt.ItemDataRole.CheckStateRole or index.column():
            return False
        self._task.exclude(index.row(), Qt.CheckState(value) == Qt.CheckState.Checked)
        return True


def brief(reasons: str) -> str:
    """Return reasons without the figures after their colons if they are long; they are shown below the table."""
    if len(reasons) <= _MAX_REASONS:
        return reasons
    return "; ".join(reason.partition(": ")[0] for reason in reasons.split("; "))


def _ignoring_arguments(action: Any, *arguments: Any) -> Any:
    """Return a slot that ignores the signal's arguments, such as the checked state of a button."""
    return lambda *_: action(*arguments)
