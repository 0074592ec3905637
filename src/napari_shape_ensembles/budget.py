"""Memory budget for reading one file, which every reader checks before it allocates.

The estimate is of peak memory use, with the dtypes that values are converted to and intermediate copies, rather than of
the file size. Small files that decompress to large arrays are thus rejected with a message, as are large ones that
would exhaust the memory. The running time of readers is linear in the number of bytes.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from .checks import ContentError

#: Default memory limit in GiB for reading one file.
DEFAULT_MEMORY_GIB = 4.0

# Memory in bytes per vertex while coordinates are read, scaled, concatenated and cleaned, and overhead per curve.
_BYTES_PER_VERTEX, _BYTES_PER_CURVE = 160, 1500
# Memory in bytes per pixel of a plane, beyond the pixel itself, while it is smoothed, thresholded, split and traced,
# and per pixel of labels that are traced. `python benchmarks/large.py whole 4000` finds 64 over all methods (34 where
# touching objects are not split), 72 for colors, and 5 for 32-bit labels; other labels are copied to these.
_BYTES_PER_COLOR_PIXEL, _BYTES_PER_LABEL = 72, 24
# Memory in bytes of parsed JSON per character of the text: lists, mappings, items of both, and keys.
_BYTES_PER_JSON_CHARACTER = {b"[": 72, b"{": 240, b",": 40, b":": 120}


class OverBudgetError(ContentError):
    """Reading a file would take more memory than the limit."""


@dataclass
class _Budget:
    """Memory limit in GiB, and number of bytes allocated so far."""

    memory: float
    reserved: int = 0


_current: ContextVar[_Budget | None] = ContextVar("budget", default=None)


@contextmanager
def budget(memory: float | None = None) -> Iterator[None]:
    """Account all allocations within the context to the reading of one file.

    Parameters
    ----------
    memory : float, optional
        Limit in GiB; by default that of the enclosing `budget`, or `DEFAULT_MEMORY_GIB`.

    Raises
    ------
    ValueError
        For a limit that is not positive.
    """
    outer = _current.get()
    token = _current.set(
        _Budget(limit_of(memory if memory is not None else outer.memory if outer else DEFAULT_MEMORY_GIB))
    )
    try:
        yield
    finally:
        _current.reset(token)


def limit_of(memory: float | None) -> float:
    """Validate a limit in GiB; by default `DEFAULT_MEMORY_GIB`.

    Raises
    ------
    ValueError
        For a limit that is not positive.
    """
    limit = DEFAULT_MEMORY_GIB if memory is None else memory
    if isinstance(limit, bool | str) or not limit > 0:
        raise ContentError(f"memory must be a number of GiB above 0, not {memory!r}")
    return limit


def reserve(count: int, remedy: str = "split it") -> None:
    """Account for bytes that are about to be allocated.

    Raises
    ------
    ValueError
        If that would exceed the budget, with advice on raising it.
    """
    known = _current.get() or _Budget(DEFAULT_MEMORY_GIB)
    known.reserved += int(count)
    if known.reserved > known.memory * 2**30:
        raise OverBudgetError(
            f"would take {known.reserved / 2**30:.3g} GiB of memory; the limit for one file is {known.memory:g} GiB: "
            f"{remedy}, or raise the limit (memory=, on the command line --memory)"
        )


def reserve_curves(vertices: int, curves: int = 0) -> None:
    """Account for the vertices and curves of an ensemble that is about to be built."""
    reserve(vertices * _BYTES_PER_VERTEX + curves * _BYTES_PER_CURVE)


def reserve_json(content: bytes) -> None:
    """Account for JSON text that is about to be parsed."""
    reserve(2 * len(content) + sum(content.count(sign) * size for sign, size in _BYTES_PER_JSON_CHARACTER.items()))


def reserve_labels(count: int, size: int) -> None:
    """Account for labels of `size` bytes each that are about to be read and traced."""
    reserve(count * (size + _BYTES_PER_LABEL))


def reserve_pixels(shape: Sequence[int], size: int) -> None:
    """Account for an image with pixels of `size` bytes that is about to be read, and one plane of it segmented."""
    reserve(
        _pixel_bytes(shape, size),
        "split it, bring its labels (OME-Zarr, or TIFF with --labels), which are read by tile",
    )


def exceeds_limit(shape: Sequence[int], size: int, memory: float | None) -> bool:
    """Whether reading such an image and segmenting one plane of it takes more than the limit in GiB."""
    return _pixel_bytes(shape, size) > limit_of(memory) * 2**30


def _pixel_bytes(shape: Sequence[int], size: int) -> int:
    """Return the memory in bytes of an image or stack with `size`-byte pixels, and of segmenting a plane of it."""
    plane = shape[-3:-1] if len(shape) > 2 and shape[-1] in (3, 4) else shape[-2:]
    return math.prod(shape) * size + math.prod(plane) * _BYTES_PER_COLOR_PIXEL
