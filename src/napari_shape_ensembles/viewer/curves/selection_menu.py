"""The menu of the selected curves: leave them out, put them into a group, open them side by side."""

from qtpy.QtWidgets import QInputDialog, QMenu, QWidget

from ...words import counted
from ..layers import CurveSelection

_DEFAULT_GROUP = "selected"


class SelectionMenu(QMenu):
    """What can be done with all selected curves at once, whether selected by lasso, in the gallery or in the table."""

    def __init__(self, selection: CurveSelection, parent: QWidget) -> None:
        super().__init__(parent)
        self._selection = selection
        self.setToolTipsVisible(True)
        self.leave_out = self.addAction("")
        self.leave_out.setToolTip("From the next run, or include them again; no image is changed")
        self.group = self.addAction("&Put into a group …")
        self.group.setToolTip("A sample of its own in the table of images, to be compared; undone by one click")
        self.side_by_side = self.addAction("&Open side by side")
        self.side_by_side.setToolTip("Their pictures with their outlines, at one scale, in the window Curves")
        self.leave_out.triggered.connect(lambda: selection.leave_out_requested.emit())
        self.group.triggered.connect(self._ask_for_group)
        self.side_by_side.triggered.connect(lambda: selection.side_by_side_requested.emit())
        self.update_entries(all_excluded=False)

    def update_entries(self, *, all_excluded: bool) -> None:
        """Update the entries for the curves that are selected; whether all of these are excluded already."""
        for entry in self.actions():
            entry.setEnabled(len(self._selection.rows) > 0)
        self.leave_out.setText("&Include again" if all_excluded else "&Leave out")

    def _ask_for_group(self) -> None:
        words = f"Group of the {counted(len(self._selection.rows), 'selected curve')}:"
        name, accepted = QInputDialog.getText(self.parentWidget(), "Put into a group", words, text=_DEFAULT_GROUP)
        if accepted and name.strip():
            self._selection.group_requested.emit(name)
