"""Selection by the image border: what touches it is left out, and that happens to large outlines more often.

An outline whose bounding box is h × w lies whole in a window H × W at a share (H - h)(W - w) / HW of all places.
Its inverse, the weight of Miles and Lantuéjoul, makes up for those that were cut.

References
----------
R. E. Miles, "On the elimination of edge effects in planar sampling", in Stochastic Geometry, Wiley (1974) 228-247.
C. Lantuéjoul, "On the estimation of mean values in individual analysis of particles", Microscopica Acta, Suppl. 4
(1980) 266-273.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import Index, Real

#: No outline stands for more than so many: one that hardly fits into its image would decide an estimate alone.
MAX_WEIGHT = 10.0


def box_sides(vertices: Real, offsets: Index) -> Real:
    """Height and width of the bounding box of each curve, (N, 2)."""
    if len(offsets) < 2:
        return np.zeros((0, 2))
    return np.maximum.reduceat(vertices, offsets[:-1]) - np.minimum.reduceat(vertices, offsets[:-1])


def window_of(shape: Sequence[int], pixel: Real, *, keeps_border: bool, holes: bool = False) -> Real | None:
    """Height and width of the window of an image: outlines of objects off its border lie between these pixel centers.

    None where objects at the border are kept, and if holes are traced too, which are left out with their objects.
    """
    sides = (np.asarray(shape[:2]) - 1) * pixel
    return None if keeps_border or holes or not (sides > 0).all() else sides


def extents(columns: Sequence[NDArray[Any]]) -> Real:
    """Height and width of windows, (N, 2), of two columns of a table; NaN for what is no positive number."""
    import pandas as pd  # slow to import

    sides = np.stack([pd.to_numeric(pd.Series(column), errors="coerce").to_numpy(np.float64) for column in columns], 1)
    return np.where(sides > 0, sides, np.nan)


def inclusion(sides: Real, windows: Real) -> Real:
    """Share of the places at which boxes (N, 2) lie whole in windows (N, 2); NaN where a window is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.outlines.border import inclusion
    >>> inclusion(np.array([[10.0, 20.0], [90.0, 120.0]]), np.array([[100.0, 100.0]]))
    array([0.72, 0.  ])
    """
    return np.asarray(np.maximum(1 - sides / windows, 0).prod(axis=1))


def weights_of(sides: Real, windows: Real) -> Real:
    """Weights of Miles and Lantuéjoul, (N,), of at most `MAX_WEIGHT`; NaN where a window is unknown."""
    return np.asarray(1 / np.maximum(inclusion(sides, windows), 1 / MAX_WEIGHT))
