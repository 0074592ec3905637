"""A line that says how many curves are left out by hand, and a button that takes them in again."""

from qtpy.QtWidgets import QHBoxLayout, QPushButton, QWidget

from .widgets import wrapped


class ExclusionRow(QWidget):
    """Hidden as long as there is nothing to say."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.words = wrapped()
        self.include = QPushButton("&Include all")
        self.include.setToolTip("Take all curves in again that were left out by hand")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.words, 1)
        row.addWidget(self.include)
        self.hide()

    def show_count(self, count: int) -> None:
        """Say how many are left out."""
        self.words.setText(f"✂ {count} curve{'s' if count > 1 else ''} left out by hand.")
        self.setVisible(count > 0)
