"""Parsing of lists and ranges of numbers: "2 to 20 by 2, 25", "2-20:2, 25" or "2:20:2, 25" are 2, 4, …, 20 and 25."""

import re

import numpy as np

#: Default sweeps of the studies.
LANDSCAPE = {"ranks": "2 to 20 by 2, 25, 30, 40, 50, 75, 100, 150", "landmarks": "100 to 500 by 100"}
SMOOTHING = {"sigmas": "0 to 8", "ranks": "10, 20, 50, 100", "landmarks": "100, 200, 400"}

_NUMBER = r"\s*(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*"
_PART = re.compile(rf"{_NUMBER}(?:(?:[-–:]|\bto\b){_NUMBER}(?:(?::|\bby\b){_NUMBER})?)?")
_EXAMPLES = "write numbers and ranges, for example 2 to 20 by 2, 25, 50 or 5:150:5"
_MAX_NUMBERS = 10_000


def numbers(text: str, *, least: float = 0, whole: bool = False, most: int = _MAX_NUMBERS) -> list[float]:
    """Parse numbers and ranges, separated by commas.

    Parameters
    ----------
    text : str
        A range is "first to last" or "first to last by step"; also first-last:step or first:last:step. Its last number
        is included.
    least : float
        Smallest number allowed.
    whole : bool
        Whether only integers are allowed.
    most : int
        Maximum number of values.

    Returns
    -------
    list of float
        Distinct and ascending.

    Raises
    ------
    ValueError
        For text that is not such a list, naming the part that cannot be parsed; for numbers that are not allowed.
    """
    found: set[float] = set()
    for part in text.split(","):
        found |= _expanded(part, most)
    if len(found) > most:
        raise ValueError(f"{len(found)} values are too many for one study: use at most {most}")
    if min(found) < least:
        raise ValueError(f"{min(found):g} is too small: use at least {least:g}")
    odd = [value for value in sorted(found) if whole and value != int(value)]
    if odd:
        raise ValueError(f"{odd[0]:g} is not an integer")
    return sorted(found)


def whole_numbers(text: str, *, least: int = 0) -> list[int]:
    """Parse integers as `numbers` does."""
    return [int(value) for value in numbers(text, least=least, whole=True)]


def _expanded(part: str, most: int) -> set[float]:
    match = _PART.fullmatch(part)
    ends = [float(end) for end in match.groups() if end] if match else [np.inf]
    if not np.isfinite(ends).all():
        raise ValueError(f'"{part.strip()}" is not a number or range: {_EXAMPLES}')
    if len(ends) == 1:
        return {ends[0]}
    low, high, by = [*ends, 1.0][:3]
    if high < low or by == 0:
        raise ValueError(f'"{part.strip()}" is an empty range: {_EXAMPLES}, the lower end first and a step above 0')
    count = min(int((high - low) / by + 1e-9), most) + 1
    return set(np.round(low + by * np.arange(count), 9).tolist())
