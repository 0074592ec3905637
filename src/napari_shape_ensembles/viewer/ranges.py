"""Ranges of numbers as people write them: "2-20:2, 25, 50" are 2, 4, …, 20, 25 and 50."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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


@dataclass(frozen=True)
class Range:
    """Numbers that a study sweeps.

    Attributes
    ----------
    label : str
    default : str
        As a person writes it.
    help : str
    least : int
    whole : bool
        Whether only whole numbers make sense.
    """

    label: str
    default: str
    help: str
    least: int
    whole: bool = True

    def read(self, text: str) -> Sequence[float]:
        """The numbers written, whole ones as such.

        Raises
        ------
        ValueError
            Where they cannot be read, are too small, or no whole numbers where whole ones are needed.
        """
        found = numbers(text)
        if found[0] < self.least:
            raise ValueError(f"{found[0]:g} is too small: take at least {self.least}")
        if not self.whole:
            return found
        odd = [value for value in found if value != int(value)]
        if odd:
            raise ValueError(f"{odd[0]:g} is no whole number")
        return [int(value) for value in found]
