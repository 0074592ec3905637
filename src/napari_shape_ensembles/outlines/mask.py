"""From a binary mask to closed curves, smoothed as a whole: objects that lie close together may merge."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from skimage.measure import find_contours

from ..parameters import parameters_of
from .ensemble import Ensemble
from .extract import AT_BORDER, Blur, forward, pixel_of, signed_area, too_small
from .recipe import Recipe

Real = NDArray[np.float64]


def trace_mask(
    mask: ArrayLike,
    *,
    smoothing: float = Recipe.outline_smoothing,
    scale: Sequence[float] = (1, 1),
    unit: str = "pixel",
    holes: bool = Recipe.holes,
    border: bool = Recipe.keep_border,
    min_area: float = Recipe.min_area,
    name: str = "",
) -> Ensemble:
    """Trace the 0.5 level set of a mask after a Gaussian filter (paper, "Segmentation Efficacy").

    Unlike `extract_curves`, which smooths each object by itself, this smooths the whole image: under a wide filter
    neighbours merge and small objects vanish.

    Parameters
    ----------
    mask : (rows, columns) bool array
        True on objects; of numbers those other than 0.
    smoothing : float
        Standard deviation of the filter in pixels; 0 for none.
    scale, unit, name
        As in `extract_curves`.
    holes : bool
        Also trace holes, as curves of their own, with ids -1, -2, …
    border : bool
        Close curves along the image border; else they are counted as "touching the image border".
    min_area : float
        Curves that enclose fewer pixels are counted as "smaller than … px²".

    Returns
    -------
    Ensemble
        Ids count from 1 in the order the curves were found.

    Raises
    ------
    ValueError
        For a mask that is no plane, or parameters out of range.

    References
    ----------
    Z. Grey, O. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import trace_mask
    >>> rows, columns = np.indices((40, 60))
    >>> mask = (np.hypot(rows - 20, columns - 18) < 10) | (np.hypot(rows - 20, columns - 40) < 10)
    >>> len(trace_mask(mask)), len(trace_mask(mask, smoothing=6))
    (2, 1)
    """
    parameters_of(Recipe)["min_area"].checked(min_area)
    pixel = pixel_of(scale)
    contours = _level_set(_plane(mask), Blur.of(smoothing, "pixel", pixel), border)
    dropped: Counter[str] = Counter()
    closed = [contour[:-1] for contour in contours if (contour[0] == contour[-1]).all()]
    dropped[AT_BORDER] = len(contours) - len(closed)
    areas = np.array([signed_area(curve) for curve in closed])
    wanted = (areas > 0) | holes
    large = np.abs(areas) >= min_area
    dropped[too_small(min_area)] = int((wanted & ~large).sum())
    kept = np.flatnonzero(wanted & large)
    curves = [forward(closed[i], areas[i]) * pixel for i in kept]
    return Ensemble(curves, name=name, unit=unit, ids=_ids(areas[kept] > 0), dropped=dropped, pixel_size=pixel)


def _plane(mask: ArrayLike) -> Real:
    array = np.asarray(mask)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"the mask has shape {array.shape}: give one plane (rows, columns)")
    return (array != 0).astype(np.float64)


def _level_set(mask: Real, blur: Blur, border: bool) -> list[Real]:
    margin = np.array(blur.margin) if border else np.zeros(2, dtype=int)
    level = blur.applied(np.pad(mask, [(side, side) for side in margin]), mode="nearest")
    return [contour - margin for contour in find_contours(level, 0.5, positive_orientation="high")]


def _ids(outer: NDArray[np.bool_]) -> NDArray[np.int64]:
    """1, 2, … for outer curves and -1, -2, … for holes."""
    return np.where(outer, np.cumsum(outer), -1 * np.cumsum(~outer))
