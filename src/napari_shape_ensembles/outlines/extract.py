"""From labels to closed curves, with sub-pixel vertices and every object accounted for."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage
from skimage.measure import find_contours, points_in_poly

from .ensemble import Ensemble
from .recipe import Recipe, SmoothingUnit

Real = NDArray[np.float64]
Mask = NDArray[np.bool_]

AT_BORDER = "touching the image border"
VANISHED = "vanished under smoothing"
EXTRA = "extra pieces of a label"

# Beyond this many standard deviations the Gaussian is cut off.
_REACH = 4
# Pixels of standard deviation: wider filters are mistaken units, and would take all memory.
_WIDEST = 1000


def extract_curves(
    labels: ArrayLike,
    *,
    smoothing: float = Recipe.outline_smoothing,
    smoothing_unit: SmoothingUnit = Recipe.smoothing_unit,
    scale: Sequence[float] = (1, 1),
    unit: str = "pixel",
    holes: bool = Recipe.holes,
    border: bool = Recipe.keep_border,
    min_area: float = Recipe.min_area,
    min_vertices: int = Recipe.min_vertices,
    min_length: float = Recipe.min_length,
    name: str = "",
) -> Ensemble:
    """Trace the outline of every labelled object.

    The outline is the 0.5 level set of the object's mask after a Gaussian filter. Pixel centres have whole
    coordinates. Curves run in the direction of positive area in (row, column) axes.

    Parameters
    ----------
    labels : (rows, columns) array
        Whole numbers, 0 = background. Of a mask (booleans, or one value in several places) the connected components.
    smoothing : float
        Standard deviation of the filter; 0 for none.
    smoothing_unit : {"pixel", "physical", "window"}
        Of `smoothing`: pixels; `unit`, so that pixels of unequal sides smooth alike in both directions; or the
        paper's σ, pixels with the filter cut off to a window of 2⌊σ/2⌋ + 1 of them, nearly a box filter.
    scale, unit : (float, float), str
        Height and width of a pixel, and the unit of both and of the outlines.
    holes, border : bool
        Also trace holes, as curves with ids -1, -2, …; keep objects that touch the image border, closed along it.
    min_area, min_length : float
        Least area of objects and holes, and length of outlines, in pixels (the paper's batteries: a length of 20).
    min_vertices : int
        Least number of vertices; marching squares set about 1.3 per pixel of length.

    Returns
    -------
    Ensemble
        Ids are the label values. Where a label has several pieces, or falls apart under smoothing, the largest is
        kept. All that is left out is counted by reason in `dropped`.

    Raises
    ------
    ValueError
        For labels that are not a plane of whole numbers from 0 up, or parameters out of range.

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
    {'touching the image border': 1}
    """
    recipe = Recipe(
        outline_smoothing=smoothing,
        smoothing_unit=smoothing_unit,
        holes=holes,
        keep_border=border,
        min_area=min_area,
        min_vertices=min_vertices,
        min_length=min_length,
    )
    return outlines_of_labels(labels, recipe, scale=scale, unit=unit, name=name)


def outlines_of_labels(
    labels: ArrayLike, recipe: Recipe, *, scale: Sequence[float] = (1, 1), unit: str = "pixel", name: str = ""
) -> Ensemble:
    """Do as `extract_curves`, with the choices of a recipe."""
    plane = _label_plane(np.asarray(labels))
    pixel = pixel_of(scale)
    blur = Blur.of(recipe.outline_smoothing, recipe.smoothing_unit, pixel)
    dropped: Counter[str] = Counter()
    traced = []
    objects = _objects(plane, recipe.keep_border, recipe.min_area, dropped)
    for number, curve in _traced(objects, blur, recipe.holes, recipe.min_area, dropped):
        if reason := _too_coarse(curve, recipe.min_vertices, recipe.min_length):
            dropped[reason] += 1
        else:
            traced.append((number, curve * pixel))
    ids = _numbered_holes([number for number, _ in traced])
    return Ensemble([curve for _, curve in traced], name=name, unit=unit, ids=ids, dropped=dropped, pixel_size=pixel)


def _traced(
    objects: Iterable[tuple[int, Mask, Real]],
    blur: "Blur",
    holes: bool,
    min_area: float,
    dropped: Counter[str],
) -> Iterator[tuple[int, Real]]:
    """Outlines in pixels by their label values, and large holes as -1."""
    for value, mask, corner in objects:
        outline, inner = _outlines(mask, blur, holes, dropped)
        if outline is not None:
            yield value, outline + corner
        large = [hole for hole in inner if signed_area(hole) >= min_area]
        dropped[too_small(min_area)] += len(inner) - len(large)
        for hole in large:
            yield -1, hole + corner


@dataclass(frozen=True)
class Blur:
    """A Gaussian filter: standard deviation and half width in pixels along rows and columns."""

    sigma: tuple[float, float]
    radius: tuple[int, int]

    @classmethod
    def of(cls, smoothing: float, unit: SmoothingUnit, pixel: Real) -> "Blur":
        """The filter that `smoothing` in `unit` stands for, with pixels of this height and width."""
        if not 0 <= smoothing < np.inf:
            raise ValueError(f"smoothing is a standard deviation, 0 or more, not {smoothing!r}")
        rows, columns = smoothing / pixel if unit == "physical" else (smoothing, smoothing)
        if max(rows, columns) > _WIDEST:
            raise ValueError(f"smoothing by {max(rows, columns):g} pixels leaves nothing: {_WIDEST} are the most")
        if unit == "window":
            return cls((rows, columns), (int(smoothing / 2),) * 2)
        return cls((rows, columns), (int(np.ceil(_REACH * rows)), int(np.ceil(_REACH * columns))))

    @property
    def margin(self) -> tuple[int, int]:
        """How far a mask's values reach beyond it, and one pixel."""
        return self.radius[0] + 1, self.radius[1] + 1

    def applied(self, values: Real, mode: Literal["reflect", "nearest"] = "reflect") -> Real:
        """The values, filtered; `mode` says what lies beyond them."""
        return (
            ndimage.gaussian_filter(values, self.sigma, radius=self.radius, mode=mode) if any(self.radius) else values
        )


def _label_plane(labels: NDArray[Any]) -> NDArray[np.integer]:
    if labels.ndim != 2 or labels.size == 0:
        raise ValueError(f"labels have shape {labels.shape}: give one plane (rows, columns)")
    if labels.dtype != bool and np.issubdtype(labels.dtype, np.floating):
        whole = (np.abs(labels) < 2.0**63) & (labels == np.round(labels))
        if not whole.all():
            raise ValueError(f"{(~whole).sum()} pixels hold no whole number: give labels, or segment the image first")
        labels = labels.astype(np.int64)
    if labels.dtype != bool and not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(f"labels hold {labels.dtype} values: give whole numbers")
    if labels.max() > np.iinfo(np.int64).max:
        raise ValueError(f"the highest label is {labels.max()}: label values are below 2⁶³")
    if labels.min() < 0:
        raise ValueError(f"the lowest label is {labels.min()}: labels count from 1, and 0 is the background")
    return _components(labels) if labels.dtype == bool or _one_value(labels) else labels


def _one_value(labels: NDArray[Any]) -> bool:
    return bool(((labels == 0) | (labels == labels.max())).all())


def _components(mask: NDArray[Any]) -> NDArray[np.integer]:
    """Numbered components of a mask; a label in one piece is no mask."""
    numbered, count = ndimage.label(mask)
    return mask if count <= 1 and mask.dtype != bool else numbered


def pixel_of(scale: Sequence[float]) -> Real:
    """Height and width of a pixel, two positive numbers."""
    pixel = np.asarray(scale, dtype=np.float64)
    if pixel.shape != (2,) or not (np.isfinite(pixel).all() and (pixel > 0).all()):
        raise ValueError(f"scale is the height and width of a pixel, two positive numbers, not {scale!r}")
    return pixel


def _objects(
    plane: NDArray[np.integer], border: bool, min_area: float, dropped: Counter[str]
) -> Iterator[tuple[int, Mask, Real]]:
    """Value, mask and upper left corner of every object to be traced; the others are counted."""
    values, plane = _compact(plane)
    areas = np.bincount(plane.ravel(), minlength=len(values) + 1)
    boxes: Sequence[tuple[slice, ...] | None] = ndimage.find_objects(plane)
    for index, box in enumerate(boxes, start=1):
        if box is None:
            continue
        if areas[index] < min_area:
            dropped[too_small(min_area)] += 1
        elif not border and _at_border(box, plane.shape):
            dropped[AT_BORDER] += 1
        else:
            corner = np.array([side.start for side in box], dtype=np.float64)
            yield int(values[index - 1]), plane[box] == index, corner


def _compact(plane: NDArray[np.integer]) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Label values, and the plane numbered so that no array need be as long as the largest label."""
    largest = int(plane.max())
    if largest <= plane.size:
        return np.arange(1, largest + 1), plane.astype(np.int64, copy=False)
    values, numbered = np.unique(plane, return_inverse=True)
    background = int(values[0] == 0)
    return values[background:], numbered.reshape(plane.shape) + 1 - background


def _at_border(box: tuple[slice, ...], shape: tuple[int, ...]) -> bool:
    return any(side.start == 0 or side.stop == length for side, length in zip(box, shape, strict=True))


def too_small(min_area: float) -> str:
    """The reason under which objects of too few pixels are counted."""
    return f"smaller than {min_area:g} px²"


def _too_coarse(curve: Real, min_vertices: int, min_length: float) -> str:
    """Why an outline is too short to have a form; empty where it is not."""
    if len(curve) < min_vertices:
        return f"fewer than {min_vertices} vertices"
    if min_length and np.linalg.norm(curve - np.roll(curve, 1, axis=0), axis=1).sum() < min_length:
        return f"shorter than {min_length:g} px"
    return ""


def _outlines(mask: Mask, blur: Blur, holes: bool, dropped: Counter[str]) -> tuple[Real | None, list[Real]]:
    """The largest outer curve of a mask, in the mask's coordinates, and the holes in it if wanted."""
    level = blur.applied(np.pad(mask.astype(np.float64), [(side, side) for side in blur.margin]))
    contours = [contour[:-1] - blur.margin for contour in find_contours(level, 0.5)]
    signed = np.array([signed_area(contour) for contour in contours])
    if not contours:
        dropped[VANISHED] += 1
        return None, []
    largest = int(np.abs(signed).argmax())
    outer = signed * signed[largest] > 0
    dropped[EXTRA] += int(outer.sum()) - 1
    outline = forward(contours[largest], signed[largest])
    inside = [
        forward(contours[i], signed[i])
        for i in np.flatnonzero(~outer)
        if holes and points_in_poly(contours[i][:1], outline)[0]
    ]
    return outline, inside


def signed_area(curve: Real) -> float:
    """Area of a closed curve in (row, column) axes; negative where it runs the other way round."""
    x, y = (curve - curve[0]).T
    return float(x @ np.roll(y, -1) - np.roll(x, -1) @ y) / 2


def forward(curve: Real, area: float) -> Real:
    """The curve in the direction of positive area."""
    return curve if area > 0 else curve[::-1]


def _numbered_holes(ids: list[int]) -> NDArray[np.int64]:
    numbered = np.array(ids, dtype=np.int64)
    hole = numbered < 0
    numbered[hole] = -np.arange(1, hole.sum() + 1)
    return numbered
