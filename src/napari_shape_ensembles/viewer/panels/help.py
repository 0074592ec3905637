"""The offline help: a single page, opened at a given section."""

from importlib.resources import files

from qtpy.QtGui import QTextCursor
from qtpy.QtWidgets import QDialog, QDialogButtonBox, QTextBrowser, QWidget

from .widgets import column


class HelpWindow(QDialog):
    """Shows the help page."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("What does this mean?")
        self.resize(560, 620)
        self.page = QTextBrowser()
        self.page.setOpenExternalLinks(True)
        self.page.setMarkdown(help_text())
        close = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        close.rejected.connect(self.reject)
        column(self.page, close, page=self, margins=(9, 9, 9, 9))

    def open_at(self, heading: str) -> None:
        """Show the page, scrolled to the first heading that starts with this text."""
        self.show()
        self.raise_()
        cursor = QTextCursor(self.page.document())
        while not (cursor.blockFormat().headingLevel() and cursor.block().text().startswith(heading)):
            if not cursor.movePosition(QTextCursor.MoveOperation.NextBlock):
                break
        self.page.moveCursor(QTextCursor.MoveOperation.End)  # so that the heading is scrolled to the top
        self.page.setTextCursor(cursor)


def help_text() -> str:
    """Return the help page, in Markdown."""
    return files(__package__).joinpath("help.md").read_text(encoding="utf-8")
