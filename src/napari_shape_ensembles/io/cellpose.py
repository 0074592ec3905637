"""Outlines of Cellpose (`_cp_outlines.txt`): one object per line, "x,y,x,y,…"; and its masks (`_seg.npy`).

Cellpose lists the outermost pixels of each object, half a pixel inside its boundary; so these chains of pixels are
filled again and traced, as its masks would be.
"""

import os
import re
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skimage.draw import polygon

from .._types import Real
from ..archive import ContentError, StrPath, errors_named, npy_header, opened
from ..budget import budget, reserve, reserve_curves, reserve_labels
from ..outlines.reasons import Reason
from .curve_table import Found, positions
from .masks import outline_of_mask
from .pickled import Call, array_in, parsed_pickle

#: End of the names of files in which Cellpose keeps its masks, with all else that it knows of an image.
SEG = "_seg.npy"

_FEW = Reason("objects of a few pixels")
_LINE = re.compile(r"-?\d+(\.0)?(,-?\d+(\.0)?){5,}")


def is_cellpose(text: str) -> bool:
    """Whether a text holds outlines of Cellpose."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return bool(lines) and all(_LINE.fullmatch(line) and line.count(",") % 2 for line in lines)


def read_cellpose(text: str, _: StrPath) -> Found:
    """Return the outlines, numbered by their lines, as in the masks of Cellpose."""
    reserve_curves(text.count(",") // 2, text.count("\n"))
    lines = text.splitlines()
    chains = {
        number: positions(np.array(line.split(","), dtype=np.float64).reshape(-1, 2))
        for number, line in enumerate(lines, start=1)
        if line.strip()
    }
    found = Found()
    found.dropped[_FEW] += len(lines) - len(chains)  # of an object of a few pixels the line is empty
    steps = (np.diff(chain, axis=0, append=chain[:1]) for chain in chains.values())
    are_pixels = all(np.abs(step).max(initial=0) <= 1 for step in steps)
    for number, chain in chains.items():
        found.add(_filled(chain, found) if are_pixels else chain, number, {})
    return found


def _filled(chain: Real, found: Found) -> Real | None:
    """Return the outline of the object whose outermost pixels are given."""
    pixels = chain.astype(np.int64)
    corner = pixels.min(axis=0)
    rows, columns = (pixels - corner).T
    shape = int(rows.max()) + 1, int(columns.max()) + 1
    with budget():
        reserve_labels(shape[0] * shape[1], 1)
        mask = np.zeros(shape, dtype=np.bool_)
        mask[polygon(rows, columns, shape)] = True
        mask[rows, columns] = True
    return outline_of_mask(found, mask, (int(corner[0]), int(corner[1])))


def is_seg(path: StrPath) -> bool:
    """Whether a file is of masks of Cellpose by its name, and holds Python objects, as these do."""
    if not str(path).lower().endswith(SEG):
        return False
    with opened(path) as file, suppress(ValueError):
        return npy_header(file)[2].hasobject
    return False


def read_seg(path: StrPath) -> NDArray[Any]:
    """Return the masks in a `_seg.npy`, of one plane or a stack.

    Raises
    ------
    ValueError
        For a file that is damaged, or holds other Python objects.
    """
    with errors_named(path, "file of Cellpose"), opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        reserve(size)
        npy_header(file)
        saved = parsed_pickle(file.read(size))  # an array with one object in it, a dictionary
        *_, items = saved.state if isinstance(saved, Call) and isinstance(saved.state, tuple) else [None]
        held = items[0] if isinstance(items, list) and len(items) == 1 else None
        masks = array_in(held.get("masks")) if isinstance(held, dict) else None
        if masks is None:
            raise ContentError(
                "holds Python objects, which are not read unless they are masks of Cellpose: export the masks or the "
                "image as PNG or TIFF"
            )
        return masks
