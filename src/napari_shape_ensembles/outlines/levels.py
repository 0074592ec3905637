"""Level curves of a scalar field, such as simulation output: exact along the field, not along pixels."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from skimage.measure import find_contours

from ..parameters import parameters_of
from .ensemble import Ensemble
from .extract import AT_BORDER, forward, pixel_of, signed_area, too_small
from .recipe import Recipe


def level_curves(
    field: ArrayLike,
    *,
    value: float | None = None,
    quantile: float | None = None,
    scale: Sequence[float] = (1, 1),
    unit: str = "pixel",
    min_area: float = Recipe.min_area,
    name: str = "",
) -> Ensemble:
    """Trace the closed curves on which a field has one value, by marching squares on the field itself.

    Parameters
    ----------
    field : (rows, columns) array
        Real values, without NaN.
    value, quantile : float
        One of the two: the level, or the share of pixels below it.
    scale : (float, float)
        Height and width of a pixel in `unit`.
    unit : str
        Of the resulting coordinates.
    min_area : float
        Curves around less than this many pixels are counted as "smaller than … px²".
    name : str
        Of the ensemble.

    Returns
    -------
    Ensemble
        Ids count from 1. Curves that leave the field are counted as "touching the image border". Maxima and
        minima are both surrounded by curves; all run in the direction of positive area.

    Raises
    ------
    ValueError
        For a field that is no plane of finite numbers, other than one of `value` and `quantile`, or parameters out
        of range.

    References
    ----------
    W. E. Lorensen, H. E. Cline, "Marching cubes: a high resolution 3D surface construction algorithm", Computer
    Graphics 21 (1987) 163-169.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import level_curves
    >>> rows, columns = np.indices((41, 41)) - 20
    >>> circle = level_curves(np.hypot(rows, columns), value=12)
    >>> circle.features["area"].round(0).tolist(), round(12**2 * np.pi)
    ([452.0], 452)
    """
    plane = np.asarray(field)
    if plane.ndim != 2 or min(plane.shape) < 2 or plane.dtype.kind not in "biuf" or not np.isfinite(plane).all():
        raise ValueError(f"a field is a plane of at least 2 by 2 finite numbers, not {plane.dtype} of {plane.shape}")
    parameters_of(Recipe)["min_area"].checked(min_area)
    pixel = pixel_of(scale)
    level = _level(plane, value, quantile)
    dropped: Counter[str] = Counter()
    curves = []
    for contour in find_contours(plane.astype(np.float64), level):
        closed = np.array_equal(contour[0], contour[-1])
        area = signed_area(contour[:-1])
        if not closed:
            dropped[AT_BORDER] += 1
        elif abs(area) < min_area:
            dropped[too_small(min_area)] += 1
        else:
            curves.append(forward(contour[:-1], area) * pixel)
    return Ensemble(curves, name=name, unit=unit, ids=np.arange(1, len(curves) + 1), dropped=dropped, pixel_size=pixel)


def _level(plane: NDArray[Any], value: float | None, quantile: float | None) -> float:
    if (value is None) == (quantile is None):
        raise ValueError("give either the value of the level or its quantile")
    if value is not None:
        if not np.isfinite(value):
            raise ValueError(f"the value of the level is a finite number, not {value!r}")
        return float(value)
    assert quantile is not None
    if not 0 <= quantile <= 1:
        raise ValueError(f"quantile is a share between 0 and 1, not {quantile!r}")
    return float(np.quantile(plane, quantile))
