"""How much memory the reading of one file may take: asked by every reader before it allocates.

Memory is counted as it will be used, in the types that values are converted to and with the copies made on the way, not
as the file packs it. A small file that unpacks to much is thereby refused in a sentence, as is a large one that the
computer would choke on. What a reader does to the bytes takes time in proportion to them.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from .checks import ContentError

#: GiB that the reading of one file may take where nothing else is said.
MEMORY = 4.0

# Bytes of a vertex as coordinates are read, scaled, joined and cleaned, and of a curve beside its vertices.
_VERTEX, _CURVE = 160, 1500
# Bytes of a pixel of a plane beside its own, while it is smoothed, thresholded, separated and traced, and of one of
# labels that are traced. `python benchmarks/large.py whole 4000` finds 64 by all methods (34 where touching objects are
# not split), 72 of colors, and 5 of labels of 32 bits; other labels are copied to these.
_PIXEL, _LABEL = 72, 24
# Bytes that JSON becomes in memory, by the signs it is made of: lists, mappings, entries of both, and names.
_JSON = {b"[": 72, b"{": 240, b",": 40, b":": 120}


@dataclass
class _Budget:
    """GiB that may be taken, and bytes that have been."""

    memory: float
    taken: int = 0


_current: ContextVar[_Budget | None] = ContextVar("budget", default=None)


@contextmanager
def budget(memory: float | None = None) -> Iterator[None]:
    """Count all that is taken within as the reading of one file.

    Parameters
    ----------
    memory : float, optional
        GiB; by default those of the surrounding `budget`, or `MEMORY`.

    Raises
    ------
    ValueError
        For a limit that is no positive number.
    """
    outer = _current.get()
    token = _current.set(_Budget(limit_of(memory if memory is not None else outer.memory if outer else MEMORY)))
    try:
        yield
    finally:
        _current.reset(token)


def limit_of(memory: float | None) -> float:
    """A limit in GiB, checked; by default `MEMORY`.

    Raises
    ------
    ValueError
        For a limit that is no positive number.
    """
    limit = MEMORY if memory is None else memory
    if isinstance(limit, bool | str) or not limit > 0:
        raise ContentError(f"memory is a number of GiB above 0, not {memory!r}")
    return limit


def take(count: int) -> None:
    """Count bytes that are about to be used.

    Raises
    ------
    ValueError
        When there would be more than the budget has, saying how to raise it.
    """
    known = _current.get() or _Budget(MEMORY)
    known.taken += int(count)
    if known.taken > known.memory * 2**30:
        raise ContentError(
            f"would take {known.taken / 2**30:.3g} GiB of memory, and one file may take {known.memory:g}: split it, or "
            "raise the limit (memory=, on the command line --memory)"
        )


def take_curves(vertices: int, curves: int = 0) -> None:
    """Count so many vertices, and curves, that are about to become an ensemble."""
    take(vertices * _VERTEX + curves * _CURVE)


def take_json(content: bytes) -> None:
    """Count what the text of a JSON file is about to become."""
    take(2 * len(content) + sum(content.count(sign) * size for sign, size in _JSON.items()))


def take_labels(count: int, size: int) -> None:
    """Count so many labels of `size` bytes that are about to be read and traced."""
    take(count * (size + _LABEL))


def take_pixels(shape: Sequence[int], size: int) -> None:
    """Count the pixels of an image, of `size` bytes, that are about to be read, and a plane of it that is segmented."""
    take(pixel_bytes(shape, size))


def pixel_bytes(shape: Sequence[int], size: int) -> int:
    """Bytes that an image or a stack takes, of pixels of `size` bytes, and a plane of it while it is segmented."""
    plane = shape[-3:-1] if len(shape) > 2 and shape[-1] in (3, 4) else shape[-2:]
    return math.prod(shape) * size + math.prod(plane) * _PIXEL
