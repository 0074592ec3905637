"""A line that says that an unsaved result was replaced, and a button that brings it back."""

from qtpy.QtWidgets import QHBoxLayout, QPushButton, QWidget

from .views import Shown
from .widgets import wrapped


class KeptRow(QWidget):
    """Hidden as long as nothing is kept.

    Attributes
    ----------
    kept : Shown or None
    """

    kept: Shown | None

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.words = wrapped()
        self.back = QPushButton("Undo")
        self.back.setToolTip("Show the result again that was there before the file was opened")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.words, 1)
        row.addWidget(self.back)
        self.keep(None)

    def keep(self, shown: Shown | None) -> None:
        """Keep a result, and nothing before it; None to let go."""
        self.kept = shown
        if shown is not None:
            names = f"{shown.result.a.name} and {shown.result.b.name}"
            self.words.setText(f"↶ The result before ({names}) was not saved.")
        self.setVisible(shown is not None)
