"""Rasterization of closed curves into a label image."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._types import Real
from ..compiled import kernels


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
    Every edge crosses the pixel rows between its ends. Along each row, the crossings of a curve alternate between the
    start and the end of a run.

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
    image = np.zeros(shape, dtype=np.int32)
    offsets = np.cumsum([0, *map(len, curves)], dtype=np.int64)
    kernels(__package__).fill(np.concatenate([np.empty((0, 2)), *curves], dtype=np.float64), offsets, image)
    return image.astype(dtype, copy=False)
