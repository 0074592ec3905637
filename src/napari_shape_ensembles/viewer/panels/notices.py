"""One line with a button, hidden while it has nothing to say: out of date, replaced, excluded."""

from html import escape

from qtpy.QtWidgets import QFrame, QHBoxLayout, QWidget

from ..shown import Shown
from .widgets import button, wrapped

_MANY = 3


class Notice(QFrame):
    """A line of text and what can be done about it."""

    def __init__(self, action: str, tooltip: str, parent: QWidget | None = None, *, rich: bool = False) -> None:
        super().__init__(parent)
        self.words = wrapped(rich=rich)
        self.button = button(action, tooltip)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 2, 0, 2)
        row.addWidget(self.words, 1)
        row.addWidget(self.button)
        self.hide()

    def say(self, text: str) -> None:
        """Show a text, or hide for none."""
        self.words.setText(text)
        self.setVisible(bool(text))


class StaleNotice(Notice):
    """Says what has changed since a result was found; its button finds it again.

    Parameters
    ----------
    renewal : str
        What the button does.
    """

    def __init__(self, renewal: str = "Compare the two layers as they are now", parent: QWidget | None = None) -> None:
        super().__init__("Run a&gain", renewal, parent, rich=True)

    def show_changes(self, changed: list[str], *, can_run: bool) -> None:
        """Say what has changed; nothing for a result that holds."""
        self.button.setEnabled(can_run)
        more = f", and {len(changed) - _MANY} more" if len(changed) > _MANY else ""
        listed = escape(", ".join(changed[:_MANY]), quote=False)
        self.say(f"<b>↻ Out of date:</b> {listed}{more}." if changed else "")


class ReplacedNotice(Notice):
    """Says that an unsaved result was replaced; its button brings it back."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Undo", "Show the previous result again", parent)

    def show_kept(self, shown: Shown | None) -> None:
        """Say which result is kept; None for none."""
        names = f"{shown.result.a.name} and {shown.result.b.name}" if shown else ""
        self.say(f"↶ The previous result ({names}) was not saved." if shown else "")


class ExclusionNotice(Notice):
    """Says how many curves are excluded manually; its button includes them again."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("&Include all", "Restore all manually excluded curves", parent)

    def show_count(self, count: int) -> None:
        """Say how many are excluded."""
        self.say(f"✂ {count} curve{'s' if count > 1 else ''} left out by hand." if count else "")
