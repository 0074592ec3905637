"""From an image to labels: smooth, find, clean, split; one plane at a time."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from ..progress import report
from .cleanup import clean
from .plane import oriented, plane_of
from .recipe import TILINGS, Recipe
from .regions import cells, superpixels
from .split import by_distance, by_intensity
from .threshold import mask_of

Labels = NDArray[np.int32]


def segment(image: ArrayLike, recipe: Recipe | None = None, **changes: Any) -> Labels:
    """Label the objects of an image.

    Parameters
    ----------
    image : (rows, columns) array of any real type, or with a last axis of 3 or 4 for RGB(A)
        A boolean image is taken as the mask itself.
    recipe : Outlines, optional
        All choices together; those of tracing play no part.
    **changes
        Single choices, in place of those of `recipe`: `method="local"`, `objects="dark"`, `smoothing=2`, ...; see
        `Outlines` for all of them.

    Returns
    -------
    (rows, columns) int32 array
        1, 2, … for the objects, 0 for the background. Nothing is removed for touching the border;
        `extract_curves` does that, and counts it.

    Raises
    ------
    ValueError
        For an empty image, a stack, NaNs, an image of one value, or choices out of range.

    References
    ----------
    N. Otsu, "A threshold selection method from gray-level histograms", IEEE Transactions on Systems, Man, and
    Cybernetics 9 (1979) 62-66.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import segment
    >>> rows, columns = np.indices((60, 120))
    >>> image = 1.0 * (np.hypot(rows - 30, columns - 30) < 15) + 1.0 * (np.hypot(rows - 30, columns - 85) < 20)
    >>> np.bincount(segment(image).ravel())
    array([5242,  705, 1253])
    """
    settings = replace(recipe or Recipe(), **changes)
    pixels = np.asarray(image)
    plane = plane_of(pixels, settings.channel)
    report("smoothing")
    if plane.dtype == bool:
        values, mask = plane.astype(np.float64), plane if settings.objects == "bright" else ~plane
    else:
        grey = oriented(plane, settings)
        values = grey.values
        report("finding objects")
        if settings.method in TILINGS:
            return _tiling(pixels, values, settings).astype(np.int32)
        mask = mask_of(grey, settings)
    report("cleaning")
    mask = clean(mask, settings)
    report("splitting")
    return _numbered(mask, values, settings).astype(np.int32)


def _tiling(pixels: NDArray[Any], values: NDArray[np.float64], settings: Recipe) -> NDArray[np.integer]:
    return cells(values, settings) if settings.method == "boundaries" else superpixels(pixels, values, settings)


def _numbered(mask: NDArray[np.bool_], values: NDArray[np.float64], settings: Recipe) -> NDArray[np.integer]:
    if settings.split_touching == "distance":
        return by_distance(mask, settings.neck)
    if settings.split_touching == "intensity":
        return by_intensity(mask, values, settings.neck)
    return ndimage.label(mask)[0]


def segment_stack(stack: ArrayLike, recipe: Recipe | None = None, **changes: Any) -> Iterator[Labels]:
    """Segment the planes along the first axis of a stack one by one, in time or in depth.

    Parameters
    ----------
    stack : (planes, rows, columns) array, or with a last axis of 3 or 4 for RGB(A)
    recipe, **changes
        As for `segment`; every plane is treated alike, and for itself.

    Yields
    ------
    (rows, columns) int32 array
        Labels of one plane. Numbers start again in each.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import segment_stack
    >>> rows, columns = np.indices((60, 60)) - 30
    >>> stack = [1.0 * (np.hypot(rows, columns) < radius) for radius in (10, 15, 20)]
    >>> [int((labels > 0).sum()) for labels in segment_stack(stack)]
    [313, 705, 1253]
    """
    for index, plane in enumerate(np.asarray(stack)):
        try:
            yield segment(plane, recipe, **changes)
        except ValueError as error:
            raise ValueError(f"plane {index}: {error}") from error
