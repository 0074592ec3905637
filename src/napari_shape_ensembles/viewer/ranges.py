"""A line to write ranges of numbers into."""

from qtpy.QtCore import Signal
from qtpy.QtWidgets import QLineEdit, QWidget

from ..studies import ranges
from .fonts import with_label_font

_MOST = 500  # more are not told apart in a dock


class NumbersEdit(QLineEdit):
    """A line to write numbers and ranges into."""

    changed = Signal()

    def __init__(
        self, text: str, tooltip: str, *, least: int, whole: bool = True, parent: QWidget | None = None
    ) -> None:
        super().__init__(text, parent)
        with_label_font(self)
        self._least, self._whole = least, whole
        self.setToolTip(f"{tooltip}\nNumbers and ranges, separated by commas: 2-20:2 means 2, 4, … 20.")
        self.textChanged.connect(lambda _: self.changed.emit())

    def values(self) -> list[float]:
        """The numbers written.

        Raises
        ------
        ValueError
            Where they cannot be read, are too small, or no whole numbers where whole ones are needed.
        """
        return ranges.numbers(self.text(), least=self._least, whole=self._whole, most=_MOST)

    def whole_values(self) -> list[int]:
        """The numbers written, as whole ones."""
        return [int(value) for value in self.values()]
