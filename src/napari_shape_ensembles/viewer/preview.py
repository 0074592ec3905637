"""What a segmentation would give: outlines to lay over the image, a count, and sizes; nothing is committed.

A large image, or one that takes long, is first segmented at a lower resolution, so that an answer comes at once; the
exact one follows.
"""

from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..outlines import TILINGS, Outlines, segmentation_steps
from ..outlines.extract import AT_BORDER, too_small
from ..outlines.split import neighbours
from .inputs import Source
from .worker import Kept

Labels = NDArray[np.integer]

# Rows and columns: of what is shown at once without a draft, where no step takes long, and of a draft at most.
_AT_ONCE, _DRAFT = 1024, 400
_KEPT, _LEFT_OUT = 1, 2


@dataclass(frozen=True, eq=False)
class Preview:
    """A segmentation to be looked at.

    Attributes
    ----------
    lines : (rows, columns) uint8 array
        1 along the outlines of objects kept, 2 (dotted) along those left out.
    diameters : (N,) array
        Equivalent diameters of the objects kept, in the source's unit.
    left_out : dict of str to int
    draft : bool
        Found at a lower resolution.
    """

    lines: NDArray[np.uint8]
    diameters: NDArray[np.float64]
    left_out: dict[str, int]
    draft: bool


def previews(source: Source, settings: Outlines) -> Generator[Preview | None, None, Preview]:
    """Yield None between steps and a draft as soon as there is one; return the exact preview."""
    side = max(source.data.shape[:2])
    if side > (_DRAFT if _takes_long(settings) else _AT_ONCE):
        factor = int(np.ceil(side / _DRAFT))
        coarse = reduced(source.data, factor)
        for _ in (steps := Kept(segmentation_steps(coarse, settings.at_resolution(1 / factor)))):
            yield None
        rows, columns = source.data.shape[:2]
        yield preview(_enlarged(steps.value, factor, (rows, columns)), source, settings, draft=True)
    for _ in (steps := Kept(segmentation_steps(source.data, settings))):
        yield None
    return preview(steps.value, source, settings, draft=False)


def _takes_long(settings: Outlines) -> bool:
    slow = settings.background, settings.opening, settings.closing, settings.split_touching != "none"
    return settings.method in TILINGS or any(slow)


def reduced(image: NDArray[Any], factor: int) -> NDArray[Any]:
    """Means of blocks of factor × factor pixels; of a mask every factor-th pixel."""
    if image.dtype == bool:
        return image[factor // 2 :: factor, factor // 2 :: factor]
    rows, columns = (max(side // factor, 1) for side in image.shape[:2])
    whole = image[: rows * factor, : columns * factor]
    means: NDArray[Any] = whole.reshape(rows, factor, columns, factor, *image.shape[2:]).mean(axis=(1, 3))
    return means.astype(image.dtype) if image.ndim == 3 and image.dtype == np.uint8 else means


def _enlarged(labels: Labels, factor: int, shape: tuple[int, int]) -> Labels:
    large = labels.repeat(factor, axis=0).repeat(factor, axis=1)
    rest = [(0, max(side - length, 0)) for side, length in zip(shape, large.shape, strict=True)]
    return np.pad(large, rest, mode="edge")[: shape[0], : shape[1]]


def preview(labels: Labels, source: Source, settings: Outlines, *, draft: bool) -> Preview:
    """Tell the objects that would become curves from those that would be left out."""
    sizes = np.bincount(labels.ravel())
    small = sizes < settings.min_area
    cut = np.zeros(len(sizes), dtype=bool)
    cut[[*labels[0], *labels[-1], *labels[:, 0], *labels[:, -1]]] = not settings.keep_border
    small[0] = cut[0] = False
    exists = sizes > 0
    exists[0] = False
    out = exists & (small | cut)
    counts = Counter({too_small(settings.min_area): int((exists & small).sum()), AT_BORDER: int((out & ~small).sum())})
    kept = sizes[exists & ~out] * np.prod(source.scale)
    return Preview(_lines(labels, out), np.sqrt(4 * kept / np.pi), {k: v for k, v in counts.items() if v}, draft)


def _lines(labels: Labels, left_out: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Pixels on both sides of every step between two labels; dotted where only objects left out are beside it."""
    kept = np.zeros(labels.shape, dtype=bool)
    dotted = np.zeros(labels.shape, dtype=bool)
    is_kept = ~left_out
    is_kept[0] = False
    for here, there in neighbours():
        rows, columns = np.nonzero(labels[here] != labels[there])
        one, other = labels[here][rows, columns], labels[there][rows, columns]
        for lines, marks in ((kept, is_kept), (dotted, left_out)):
            beside = marks[one] | marks[other]
            for side in (here, there):
                lines[side][rows[beside], columns[beside]] = True
    rows, columns = np.nonzero(dotted)
    gap = (rows + columns) % 6 >= 3
    dotted[rows[gap], columns[gap]] = False
    return np.where(kept, _KEPT, _LEFT_OUT * dotted).astype(np.uint8)
