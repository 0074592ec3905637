"""Masks of single objects in annotation files: run lengths in several encodings, traced like labels."""

import numpy as np

from .._types import Mask, Real
from ..archive import ContentError
from ..budget import budget, reserve, reserve_labels
from ..outlines import Outlines
from ..outlines.extract import signed_area
from ..outlines.reasons import PARTS, Reason
from .curve_table import Found

#: An object of whose mask there are no pixels.
EMPTY = Reason("empty masks")

# Memory in bytes per pixel of a mask while its places are listed; and what a pixel to be traced counts towards the
# budget of the whole file, so that time is limited too.
_BYTES_PER_PLACE, _BYTES_PER_TRACED = 40, 8
# Characters of a compressed COCO mask are six bits beyond this one: five of a number, and one for "continued".
_FIRST_CHARACTER, _BITS, _CONTINUED, _NEGATIVE = 48, 5, 0x20, 0x10
# ... of numbers that fit into 64 bits.
_MAX_CHARACTERS = 12


def counts_of_text(text: str) -> list[int]:
    """Decode the compressed run lengths of a COCO mask, each from the third on a difference to the last but one."""
    counts: list[int] = []
    value = shift = 0
    for sign in text.encode():
        bits = sign - _FIRST_CHARACTER
        if not 0 <= bits < 2 * _CONTINUED or shift >= _BITS * _MAX_CHARACTERS:
            raise ContentError("a compressed mask holds characters that are no run lengths")
        value |= (bits & (_CONTINUED - 1)) << shift
        shift += _BITS
        if bits & _CONTINUED:
            continue
        if bits & _NEGATIVE:
            value -= 1 << shift
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
        value = shift = 0
    return counts


def outline_of_runs(
    found: Found,
    counts: object,
    shape: tuple[int, int],
    *,
    by_columns: bool,
    corner: tuple[int, int] = (0, 0),
    image: tuple[int, int] | None = None,
) -> Real | None:
    """Trace the object in run lengths of background and object in turns, of which the first is background.

    The runs fill the rows and columns of `shape`, down the columns or along the rows; if they do not fit, a ValueError
    says so. Other parameters and the result are those of `outline_of_mask`.
    """
    runs = np.asarray(counts, dtype=np.int64)
    rows, columns = (int(side) for side in shape)
    if runs.ndim != 1 or (runs < 0).any() or min(rows, columns) < 1 or sum(runs.tolist()) > rows * columns:
        raise ContentError(f"the runs of a mask do not fit into {rows} × {columns} pixels")
    starts, lengths = (np.cumsum(runs) - runs)[1::2], runs[1::2]
    count = int(lengths.sum())
    if not count:
        found.dropped[EMPTY] += 1
        return None
    with budget():  # freed before the next mask is decoded
        reserve(count * _BYTES_PER_PLACE)
        places = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(count)
        down, across = np.divmod(places, columns) if not by_columns else np.divmod(places, rows)[::-1]
        first = int(down.min()), int(across.min())
        box = int(down.max()) - first[0] + 1, int(across.max()) - first[1] + 1
        reserve_labels(box[0] * box[1], 1)
        mask = np.zeros(box, dtype=np.bool_)
        mask[down - first[0], across - first[1]] = True
    return outline_of_mask(found, mask, (first[0] + corner[0], first[1] + corner[1]), image)


def outline_of_mask(
    found: Found, mask: Mask, corner: tuple[int, int] = (0, 0), image: tuple[int, int] | None = None
) -> Real | None:
    """Trace the largest object in a part of a plane with the default recipe, as labels are.

    Return its vertices (m, 2), in pixels of the image; None if there is no outline. What is left out is counted in
    `found`: objects that touch the image border, further pieces, and so on. `corner` is the row and column of the first
    pixel in the image, and `image` its rows and columns; if these are unknown, only its first row and column are its
    border.
    """
    reserve(mask.size * _BYTES_PER_TRACED)
    ends = [start + size for start, size in zip(corner, mask.shape, strict=True)]
    inside = [True, True] if image is None else [end < side for end, side in zip(ends, image, strict=True)]
    # Objects at the border of a plane are cut off, and left out: a margin stands for pixels of the image around it.
    margin = [(int(start > 0), int(more)) for start, more in zip(corner, inside, strict=True)]
    ensemble = Outlines().trace(np.pad(mask, margin))
    found.dropped.update(ensemble.dropped)
    if not len(ensemble):
        found.dropped[EMPTY] += int(not mask.any())
        return None
    outline = max(ensemble.curves, key=lambda curve: abs(signed_area(curve)))
    found.dropped[PARTS] += len(ensemble) - 1
    found.traced += 1
    found.tracing = ensemble.tracing
    return outline + np.subtract(corner, [before for before, _ in margin])
