"""Trace labels, masks and scalar fields to closed curves with sub-pixel vertices, and account for every object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import ndimage
from skimage.measure import find_contours

from .._types import Real
from ..checks import switch, unmasked
from ..parameters import parameters_of
from .border import window_of
from .ensemble import Ensemble
from .reasons import AT_BORDER, too_small
from .recipe import Recipe, SmoothingUnit
from .tracing import blur, pixel_of, traced_labels, tracing_recipe


def extract_curves(
    labels: ArrayLike,
    *,
    smoothing: float = Recipe.outline_smoothing,
    smoothing_unit: SmoothingUnit = Recipe.smoothing_unit,
    scale: float | Sequence[float] = 1,
    unit: str = "pixel",
    holes: bool = Recipe.holes,
    border: bool = Recipe.keep_border,
    min_area: float = Recipe.min_area,
    min_vertices: int = Recipe.min_vertices,
    min_length: float = Recipe.min_length,
    name: str = "",
) -> Ensemble:
    """Trace the outline of every labeled object.

    The outline is the 0.5 level set of the object's mask after a Gaussian filter. Pixel centers have integer
    coordinates. Curves have positive signed area in (row, column) axes.

    Parameters
    ----------
    labels : (rows, columns) array
        Integers, 0 = background. A mask (booleans, or one value in several places) is split into connected components.
    smoothing : float
        Standard deviation of the filter; 0 for none.
    smoothing_unit : {"pixel", "physical", "window"}
        Unit of `smoothing`: pixels; `unit`, which smooths isotropically also with anisotropic pixels; or the paper's σ,
        in pixels with the filter truncated to a window of 2⌊σ/2⌋ + 1 of them, nearly a box filter.
    scale, unit : float or (float, float), str
        Height and width of a pixel, and the unit of both and of the outlines.
    holes, border : bool
        Also trace holes, as curves with ids -1, -2, …; keep objects that touch the image border, closed along it.
    min_area, min_length : float
        Minimum area of objects and holes, and length of outlines, in pixels (the paper's batteries: a length of 20).
    min_vertices : int
        Minimum number of vertices; marching squares yields about 1.3 per pixel of length.

    Returns
    -------
    Ensemble
        Ids are the label values. If a label has several components, or splits under smoothing, the largest is kept.
        Rejected objects and holes are counted by reason in `dropped`, and objects whose holes are not traced in
        `filled`.

    Raises
    ------
    ValueError
        For labels that are not a 2D array of integers, or parameters out of range.

    References
    ----------
    W. E. Lorensen, H. E. Cline, "Marching cubes: a high resolution 3D surface construction algorithm", Computer
    Graphics 21 (1987) 163-169.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import extract_curves
    >>> labels = np.zeros((40, 60), int)
    >>> labels[10:30, 5:25], labels[5:35, 35:60] = 1, 2
    >>> ensemble = extract_curves(labels, scale=(0.5, 0.5), unit="µm")
    >>> ensemble
    Ensemble('': 1 curve in µm, 1 left out)
    >>> ensemble.dropped
    {Reason('border'): 1}
    """
    recipe = tracing_recipe(
        smoothing=smoothing,
        smoothing_unit=smoothing_unit,
        holes=holes,
        border=border,
        min_area=min_area,
        min_vertices=min_vertices,
        min_length=min_length,
    )
    return Ensemble(**traced_labels(labels, recipe, scale=scale, unit=unit, name=name))


def signed_area(curve: Real) -> float:
    """Signed area of a closed curve in (row, column) axes."""
    x, y = (curve - curve[0]).T
    return float(x @ np.roll(y, -1) - np.roll(x, -1) @ y) / 2


def trace_mask(
    mask: ArrayLike,
    *,
    smoothing: float = Recipe.outline_smoothing,
    scale: float | Sequence[float] = 1,
    unit: str = "pixel",
    holes: bool = Recipe.holes,
    border: bool = Recipe.keep_border,
    min_area: float = Recipe.min_area,
    name: str = "",
) -> Ensemble:
    """Trace the 0.5 level set of a mask after a Gaussian filter (paper, "Segmentation Efficacy").

    Unlike `extract_curves`, which smooths each object separately, this smooths the whole image: under a wide filter
    neighbors merge and small objects vanish.

    Parameters
    ----------
    mask : (rows, columns) bool array
        True on objects; non-zero values of other types.
    smoothing : float
        Standard deviation of the filter in pixels; 0 for none.
    scale, unit, name
        As in `extract_curves`.
    holes : bool
        Also trace holes, as curves of their own, with ids -1, -2, …
    border : bool
        Close curves along the image border; otherwise they are dropped as "touching the image border".
    min_area : float
        Curves that enclose fewer pixels are dropped as "smaller than … px²".

    Returns
    -------
    Ensemble
        Ids count from 1 in the order the curves were found.

    Raises
    ------
    ValueError
        For a mask that is not 2D, or parameters out of range.

    References
    ----------
    Z. Grey, N. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".

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
    holes, border = switch(holes, "holes"), switch(border, "border")
    plane = unmasked(mask, "the mask")
    if plane.ndim != 2 or plane.size == 0:
        raise ValueError(f"the mask has shape {plane.shape}: give one plane (rows, columns)")
    sigma, radius = blur(smoothing, "pixel", pixel)
    if max(sigma) > max(plane.shape):
        raise ValueError(
            f"smoothing by {max(sigma):g} pixels is wider than the mask ({plane.shape[0]} × {plane.shape[1]}): take "
            "less than the width of the objects"
        )
    margin = np.add(radius, 1) if border else np.zeros(2, dtype=int)
    level = np.pad((plane != 0).astype(np.float64), [(side, side) for side in margin])
    if any(radius):
        level = ndimage.gaussian_filter(level, sigma, radius=radius, mode="nearest")
    closed, areas, cut = _contours(level, 0.5, positive_orientation="high")
    wanted = (areas > 0) | holes
    large = np.abs(areas) >= min_area
    kept = np.flatnonzero(wanted & large)
    return Ensemble(
        [(closed[i][:: 1 if areas[i] > 0 else -1] - margin) * pixel for i in kept],
        name=name,
        unit=unit,
        ids=np.where(areas[kept] > 0, np.cumsum(areas[kept] > 0), -1 * np.cumsum(areas[kept] <= 0)),
        dropped={AT_BORDER: cut, too_small(min_area): int((wanted & ~large).sum())},
        pixel_size=pixel,
        window=window_of(plane.shape, pixel, keeps_border=border, holes=holes),
    )


def level_curves(
    field: ArrayLike,
    *,
    value: float | None = None,
    quantile: float | None = None,
    scale: float | Sequence[float] = 1,
    unit: str = "pixel",
    min_area: float = Recipe.min_area,
    name: str = "",
) -> Ensemble:
    """Trace the closed contours of a scalar field at one level, by marching squares on the field itself.

    Parameters
    ----------
    field : (rows, columns) array
        Real values, without NaN.
    value, quantile : float
        Exactly one of the two: the level, or the fraction of pixels below it.
    scale : float or (float, float)
        Height and width of a pixel in `unit`.
    unit : str
        Unit of the resulting coordinates.
    min_area : float
        Curves around fewer pixels are dropped as "smaller than … px²".
    name : str
        Name of the ensemble.

    Returns
    -------
    Ensemble
        Ids count from 1. Curves that leave the field are counted as "touching the image border". Maxima and minima are
        both enclosed by curves; all have positive signed area.

    Raises
    ------
    ValueError
        For a field that is not a 2D array of finite numbers, unless exactly one of `value` and `quantile` is given, or
        for parameters out of range.

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
    plane = unmasked(field, "the field")
    if plane.ndim != 2 or min(plane.shape) < 2 or plane.dtype.kind not in "biuf" or not np.isfinite(plane).all():
        raise ValueError(
            f"a field must be a plane of at least 2 by 2 finite numbers, not {plane.dtype} of {plane.shape}"
        )
    parameters_of(Recipe)["min_area"].checked(min_area)
    pixel = pixel_of(scale)
    if (value is None) == (quantile is None):
        raise ValueError("give either the value of the level or its quantile")
    if value is not None and not np.isfinite(value):
        raise ValueError(f"the value of the level must be a finite number, not {value!r}")
    if quantile is not None and not 0 <= quantile <= 1:
        raise ValueError(f"quantile must be between 0 and 1, not {quantile!r}")
    level = value if quantile is None else np.quantile(plane, quantile)
    closed, areas, cut = _contours(plane.astype(np.float64), level)
    kept = np.flatnonzero(np.abs(areas) >= min_area)
    return Ensemble(
        [closed[i][:: 1 if areas[i] > 0 else -1] * pixel for i in kept],
        name=name,
        unit=unit,
        ids=np.arange(1, len(kept) + 1),
        dropped={AT_BORDER: cut, too_small(min_area): len(closed) - len(kept)},
        pixel_size=pixel,
        window=window_of(plane.shape, pixel, keeps_border=False),
    )


def _contours(plane: Real, level: Any, **options: Any) -> tuple[list[Real], Real, int]:
    """Closed contours without the repeated vertex, their signed areas, and the number of those cut by the border."""
    contours = find_contours(plane, level, **options)
    closed = [contour[:-1] for contour in contours if (contour[0] == contour[-1]).all()]
    return closed, np.array([signed_area(curve) for curve in closed]), len(contours) - len(closed)
