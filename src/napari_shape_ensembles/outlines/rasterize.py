"""Rasterization of closed curves into a label image: thousands of polygons in one vectorized pass."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._types import Real
from ..compiled import kernels

# Vertices, and pixels, per block, which fit in the CPU cache.
_BLOCK = 2**16
# Shares of a pixel below this are rounding errors.
_ROUNDING = 1e-9


def rasterize(curves: Sequence[Real], shape: tuple[int, int], dtype: DTypeLike = np.int32) -> NDArray[Any]:
    """Rasterize closed curves into a label image: the first with 1, the next with 2, and so on.

    A pixel belongs to a curve if its center lies inside, by the even-odd rule; of overlapping curves, the later is on
    top. A center exactly on an edge belongs to the curve below or right of the edge, so that curves which share an edge
    leave no gap. Curves are clipped to the image.

    Parameters
    ----------
    curves : sequence of (m, 2) arrays
        Vertices in rows and columns; integers are centers of pixels.
    shape : (int, int)
        Height and width of the image.
    dtype : data type, optional
        Data type of the labels; it has to hold the number of curves.

    Returns
    -------
    (height, width) array
        0 is the background. A curve that contains no pixel center is absent.

    See Also
    --------
    skimage.draw.polygon : the pixels of one polygon.

    Notes
    -----
    Scanline algorithm: every edge crosses the pixel rows between its ends; sorted along each row, the crossings of a
    curve alternate between the start and the end of a run.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.outlines.rasterize import rasterize
    >>> square = np.array([[0.5, 0.5], [0.5, 2.5], [2.5, 2.5], [2.5, 0.5]])
    >>> rasterize([square, square + 1], (4, 4))
    array([[0, 0, 0, 0],
           [0, 1, 1, 0],
           [0, 1, 2, 2],
           [0, 0, 2, 2]], dtype=int32)
    """
    image = np.zeros(shape, dtype=dtype)
    flat, (height, width) = image.reshape(-1), shape
    ends = np.cumsum([len(curve) for curve in curves], dtype=np.int64)
    first = 0
    while first < len(curves):
        before = ends[first] - len(curves[first])
        last = max(int(np.searchsorted(ends, before + _BLOCK, side="right")), first + 1)
        here, closing = np.concatenate(curves[first:last]), ends[first:last] - before
        following = np.arange(1, len(here) + 1)
        following[closing - 1] = np.concatenate([[0], closing[:-1]])
        there = here[following]
        # Rows from the first at or below the upper end to the last above the lower end.
        rows, below = (np.clip(np.ceil(end[:, 0]), 0, height).astype(np.int64) for end in (here, there))
        crossing = np.flatnonzero(rows != below)
        counts = np.abs(rows - below)[crossing]
        owner = np.repeat(np.searchsorted(closing, crossing, side="right"), counts)
        skipped = np.cumsum(counts) - counts
        row = np.arange(counts.sum()) + np.repeat(np.minimum(rows, below)[crossing] - skipped, counts)
        start, end = here[crossing], there[crossing]
        slope = (end[:, 1] - start[:, 1]) / (end[:, 0] - start[:, 0])
        column = np.repeat(start[:, 1] - slope * start[:, 0], counts) + np.repeat(slope, counts) * row
        column = np.clip(np.ceil(column), 0, width).astype(np.int64)
        crossings = np.sort((owner * height + row) * (width + 1) + column)
        line, begins = np.divmod(crossings[0::2], width + 1)
        lengths = crossings[1::2] - crossings[0::2]
        owner, row = np.divmod(line, height)
        begins += row * width
        filled = np.cumsum(lengths)
        place = 0
        while place < len(lengths):
            limit = filled[place] - lengths[place] + _BLOCK
            until = max(int(np.searchsorted(filled, limit, side="right")), place + 1)
            some = lengths[place:until]
            pixels = np.repeat(begins[place:until] - (np.cumsum(some) - some), some) + np.arange(some.sum())
            flat[pixels] = np.repeat(owner[place:until] + first + 1, some)
            place = until
        first = last
    return image


def covered(curves: Sequence[Real], shape: tuple[int, int]) -> Real:
    """Share of each pixel that closed curves cover, which must lie within the image, cross nothing and not overlap.

    Parameters
    ----------
    curves : sequence of (m, 2) arrays
        Vertices in rows and columns; integers are centers of pixels.
    shape : (int, int)
        Height and width of the image.

    Returns
    -------
    (height, width) array
        Of numbers from 0 to 1, exact up to rounding.

    Raises
    ------
    ValueError
        For curves that extend to the lower or right edge, or beyond the image.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.outlines.rasterize import covered
    >>> covered([np.array([[0.5, 0.5], [0.5, 2.0], [2.0, 2.0], [2.0, 0.5]])], (3, 4))
    array([[0.  , 0.  , 0.  , 0.  ],
           [0.  , 1.  , 0.5 , 0.  ],
           [0.  , 0.5 , 0.25, 0.  ]])
    """
    steps, vertices = np.zeros(shape), np.concatenate([np.empty((0, 2)), *curves]) + 0.5
    if (vertices < 0).any() or (vertices >= np.array(shape) - 1e-9).any():
        raise ValueError(f"the curves do not lie within {shape[0]} × {shape[1]} pixels")
    kernels(__package__).cover(vertices, np.cumsum([0, *map(len, curves)], dtype=np.int64), steps)
    shares = np.abs(np.cumsum(steps, axis=1))
    shares[shares < _ROUNDING] = 0
    return np.minimum(shares, 1)
