"""A line that says what has changed since a result was found, and a button that finds it again."""

from html import escape

from qtpy.QtCore import Signal
from qtpy.QtWidgets import QFrame, QHBoxLayout, QPushButton, QWidget

from .widgets import wrapped

_MANY = 3


class StaleBanner(QFrame):
    """Hidden as long as the result holds.

    Parameters
    ----------
    renewal : str
        What the button does.

    Signals
    -------
    told
        Whether the result holds has been looked at again.
    """

    told = Signal()

    def __init__(self, renewal: str = "Compare the two layers as they are now", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.words = wrapped(rich=True)
        self.again = QPushButton("Run a&gain")
        self.again.setToolTip(renewal)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 4, 0, 4)
        row.addWidget(self.words, 1)
        row.addWidget(self.again)
        self.hide()

    def show_changes(self, changed: list[str], *, can_run: bool) -> None:
        """Say what has changed; nothing for a result that holds."""
        more = f", and {len(changed) - _MANY} more" if len(changed) > _MANY else ""
        self.words.setText(f"<b>↻ Out of date:</b> {escape(', '.join(changed[:_MANY]), quote=False)}{more}.")
        self.again.setEnabled(can_run)
        self.setVisible(bool(changed))
        self.told.emit()
