"""Counts, names and lists in words."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

# Of more names than this, the others are counted.
_MAX_NAMED = 3
# The name of so many images at most is made of all of theirs.
_MAX_POOLED = 2
# A name beside others has at most this many letters.
_MAX_LETTERS = 24
# Levels that a reader may have in mind: of a row, of each of its two tests, and of anything further.
_LEVELS = (0.05, 0.025, 0.01)


def counted(count: int, noun: str) -> str:
    """A number with its noun: "1 curve", "2 curves"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(names: Sequence[str]) -> str:
    """Return up to three names, and the number of the others."""
    more = [f"{len(names) - _MAX_NAMED} more"] if len(names) > _MAX_NAMED else []
    return " and ".join([", ".join(names[:_MAX_NAMED]), *more])


def pooled_name(names: Sequence[str]) -> str:
    """Return a name for several images that is short enough for a sentence: "a + b", "a + 3 more"."""
    return " + ".join(names if len(names) <= _MAX_POOLED else [names[0], f"{len(names) - 1} more"])


def shortened(name: str, letters: int = _MAX_LETTERS, start: int | None = None) -> str:
    """A name of at most this many letters: of a longer one, its middle is left out, after `start` letters."""
    start = letters // 2 if start is None else start
    return name if len(name) <= letters else f"{name[:start]}…{name[len(name) - (letters - 1 - start) :]}"


def shortened_apart(names: Sequence[str], letters: int = _MAX_LETTERS) -> list[str]:
    """Shorten names that are shown together so that they stay apart: where they are alike rather than in the middle."""
    apart = len(set(names))
    for start in (letters // 2, letters - 1, 0):
        words = [shortened(name, letters, start) for name in names]
        if len(set(words)) == apart:
            return words
    alike = len([*itertools.takewhile(lambda place: len(set(place)) == 1, zip(*names, strict=False))])
    start = max(alike - letters // 2 + 2, 0)  # the first letter that differs is in the middle
    words = [name if len(name) <= letters else f"…{name[start : start + letters - 2]}…" for name in names]
    return words if len(set(words)) == apart else distinct(words)


def p_text(p_value: float, *levels: float) -> str:
    """A p-value with two digits, or as many more as show on which side of these, and of the usual, levels it lies."""
    if p_value != p_value:
        return "–"
    for digits in range(2, 17):
        text = f"{p_value:.{digits}g}"
        if all((float(text) <= level) == (p_value <= level) for level in (*_LEVELS, *levels)):
            break
    return text


def account_of(dropped: Mapping[Any, int], filled: int = 0) -> list[str]:
    """Describe rejected and filled objects in words: "12 objects have holes: filled"."""
    holes = "1 object has holes: filled" if filled == 1 else f"{filled} objects have holes: filled"
    return [*(f"{count} left out: {reason}" for reason, count in dropped.items()), *([holes] if filled else [])]


def distinct(names: list[str]) -> list[str]:
    """Make names of images unique by numbers that yield no other image's name."""
    whole = [name or "image" for name in names]
    taken, found = set(whole), set[str]()
    apart = []
    for name in whole:
        if name in found:
            name = next(new for new in (f"{name} ({number})" for number in itertools.count(2)) if new not in taken)
            taken.add(name)
        found.add(name)
        apart.append(name)
    return apart
