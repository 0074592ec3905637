"""Ranges of numbers as people write them: "2-20:2, 25, 50" are 2, 4, …, 20, 25 and 50."""

import re

import numpy as np
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QLineEdit, QWidget

from .panels.fonts import with_label_font

_NUMBER = r"\s*(\d+(?:\.\d+)?)\s*"
_PART = re.compile(rf"{_NUMBER}(?:[-–]{_NUMBER}(?::{_NUMBER})?)?")
_MOST = 500


def numbers(text: str) -> list[float]:
    """Read numbers and ranges, separated by commas.

    Returns
    -------
    list of float
        Distinct and rising.

    Raises
    ------
    ValueError
        For what is no such list, naming the part that cannot be read.
    """
    found: set[float] = set()
    for part in text.split(","):
        found |= _expanded(part)
    if len(found) > _MOST:
        raise ValueError(f"{len(found)} values are more than a study can show: take at most {_MOST}")
    return sorted(found)


def _expanded(part: str) -> set[float]:
    match = _PART.fullmatch(part)
    if not match:
        raise ValueError(f'"{part.strip()}" is no number or range: write, for example, 2-20:2, 25, 50')
    low, high, step = match.groups()
    if high is None:
        return {float(low)}
    by = float(step or 1)
    if float(high) < float(low) or by == 0:
        raise ValueError(f'"{part.strip()}" holds no numbers: write the lower end first, and a step above 0')
    count = int((float(high) - float(low)) / by + 1e-9) + 1
    return set(np.round(float(low) + by * np.arange(min(count, _MOST + 1)), 9).tolist())


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
        found = numbers(self.text())
        if found[0] < self._least:
            raise ValueError(f"{found[0]:g} is too small: take at least {self._least}")
        odd = [value for value in found if self._whole and value != int(value)]
        if odd:
            raise ValueError(f"{odd[0]:g} is no whole number")
        return found

    def whole_values(self) -> list[int]:
        """The numbers written, as whole ones."""
        return [int(value) for value in self.values()]
