"""Trace the outline of every object of a label image with sub-pixel vertices, and account for every object.

The parameters of an `Ensemble` are returned, whose own `from_labels` is built on this.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage
from skimage.measure import points_in_poly

from .._types import Index, Real
from ..checks import unmasked
from ..compiled import kernels
from ..progress import over_blocks
from .border import window_of
from .offsets import following
from .reasons import AT_BORDER, EXTRA, FROM_ZERO, NEGATIVE, VANISHED, Reason, too_small
from .recipe import Recipe, SmoothingUnit

#: Parameters of the recipe that are recorded in an ensemble.
RECORDED_FIELDS = (
    "outline_smoothing",
    "smoothing_unit",
    "min_area",
    "min_length",
    "min_vertices",
    "holes",
    "keep_border",
)
#: Truncation of the Gaussian, in standard deviations.
TRUNCATE_SIGMAS = 4
# Largest standard deviation in pixels: wider filters come from mistaken units, and would exhaust the memory.
_MAX_SIGMA_PX = 1000
# ... and with narrower ones the next pixel has zero weight.
_MIN_SIGMA_PX = 0.1
# Objects traced per block.
_BLOCK = 128


def tracing_recipe(
    *,
    smoothing: float = Recipe.outline_smoothing,
    smoothing_unit: SmoothingUnit = Recipe.smoothing_unit,
    holes: bool = Recipe.holes,
    border: bool = Recipe.keep_border,
    min_area: float = Recipe.min_area,
    min_vertices: int = Recipe.min_vertices,
    min_length: float = Recipe.min_length,
) -> Recipe:
    """Return the recipe with these parameters, which have the names and defaults of those of `extract_curves`."""
    return Recipe(
        outline_smoothing=smoothing,
        smoothing_unit=smoothing_unit,
        holes=holes,
        keep_border=border,
        min_area=min_area,
        min_vertices=min_vertices,
        min_length=min_length,
    )


def traced_labels(
    labels: ArrayLike,
    recipe: Recipe,
    *,
    scale: float | Sequence[float] = 1,
    unit: str = "pixel",
    name: str = "",
) -> dict[str, Any]:
    """Trace the objects of labels as `extract_curves` does; return the parameters of their `Ensemble`."""
    plane = label_plane(labels)
    pixel = pixel_of(scale)
    sigma, radius = blur(recipe.outline_smoothing, recipe.smoothing_unit, pixel)
    small = too_small(recipe.min_area)
    dropped: Counter[Reason] = Counter()
    if np.asarray(labels).min() < 0:
        below = np.unique(labels)[np.unique(labels) <= 0]
        dropped[FROM_ZERO if below.tolist() == [-1, 0] else NEGATIVE] = int((below < 0).sum())
    values, plane, areas, boxes = _surveyed(plane)
    # Rejected objects, each counted for the first reason that applies. A filter far wider than the object would take
    # time and memory in proportion to its own width.
    refused = {
        small: areas < recipe.min_area,
        AT_BORDER: (boxes[:, :2] == 0).any(axis=1) | (boxes[:, 2:] == plane.shape).any(axis=1),
        VANISHED: highest_level(boxes[:, 2:] - boxes[:, :2], sigma, radius) <= 0.5,
    }
    if recipe.keep_border:
        del refused[AT_BORDER]
    wanted = areas > 0
    wanted[0] = False
    for reason, unusable in refused.items():
        dropped[reason] += int(np.count_nonzero(wanted & unusable))
        wanted &= ~unusable
    objects = np.flatnonzero(wanted)
    contours = _contours(plane, objects, boxes[objects], sigma, radius)
    starts, ends, after = contours.offsets[:-1], contours.offsets[1:], following(contours.offsets)
    x, y = (contours.vertices - np.repeat(contours.vertices[starts], ends - starts, axis=0)).T
    signed = np.add.reduceat(x * y[after] - x[after] * y, starts) / 2
    lengths = np.add.reduceat(np.hypot(x[after] - x, y[after] - y), starts)
    here, first = np.unique(contours.owners, return_index=True)
    dropped[VANISHED] += len(objects) - len(here)
    # Here outer contours have negative signed area, and holes positive.
    outer = signed < 0
    dropped[EXTRA] += int(np.count_nonzero(outer)) - len(here)
    chosen = []  # contours with their label values; 0 for holes
    for owner, start, stop in zip(here, first, np.append(first, len(contours.owners))[1:], strict=True):
        largest = start + int(np.abs(signed[start:stop]).argmax()) if stop > start + 1 else start
        chosen.append((largest, int(values[objects[owner] - 1])))
        # All its holes vanished.
        dropped[VANISHED] += int(recipe.holes and contours.hollow[owner] and outer[start:stop].all())
        around = contours.vertices[starts[largest] : ends[largest]]
        for hole in start + np.flatnonzero(~outer[start:stop]) if recipe.holes else ():
            if not points_in_poly(contours.vertices[starts[hole]][None], around)[0]:
                continue
            if signed[hole] >= recipe.min_area:
                chosen.append((hole, 0))
            else:
                dropped[small] += 1
    ids, curves, hole_ids, scaled = [], [], itertools.count(-1, -1), contours.vertices * pixel
    for contour, label in chosen:
        if ends[contour] - starts[contour] < recipe.min_vertices:
            dropped[Reason("vertices", recipe.min_vertices)] += 1
        elif lengths[contour] < recipe.min_length:
            dropped[Reason("length", recipe.min_length)] += 1
        else:
            curve = scaled[starts[contour] : ends[contour]]
            ids.append(label or next(hole_ids))
            curves.append(curve[::-1] if label else curve)
    return {
        "curves": curves,
        "name": name,
        "unit": unit,
        "ids": np.array(ids, dtype=np.int64),
        "dropped": dropped,
        "pixel_size": pixel,
        "window": window_of(plane.shape, pixel, keeps_border=recipe.keep_border, holes=recipe.holes),
        "filled": 0 if recipe.holes else int(np.count_nonzero(contours.hollow[here])),
        "tracing": {choice: getattr(recipe, choice) for choice in RECORDED_FIELDS},
    }


def _surveyed(plane: NDArray[np.integer]) -> tuple[Index, NDArray[np.int32], Index, Index]:
    """Label values, and the plane relabeled consecutively, so that no array is as long as the largest label.

    Also the areas and bounding boxes of the background and all labels: first row and column, and exclusive ends.
    """
    if plane.max() <= min(plane.size, np.iinfo(np.int32).max):
        values = np.arange(1, plane.max() + 1)
    else:
        values, numbered = np.unique(plane, return_inverse=True)
        background = int(values[0] == 0)
        values, plane = values[background:], numbered.reshape(plane.shape) + 1 - background
    given = np.ascontiguousarray(plane, np.int32)
    areas, boxes = np.zeros(1 + len(values), np.int64), np.zeros((1 + len(values), 4), np.int64)
    kernels(__package__).survey(given, areas, boxes)
    return values, given, areas, boxes


class _Contours(NamedTuple):
    """Contours of objects, concatenated."""

    vertices: Real  #: in pixels
    offsets: Index  #: start of each contour, and end of the last
    owners: Index  #: index of each contour's object, ascending
    hollow: NDArray[np.bool_]  #: whether an object has holes, before any smoothing


def _contours(
    plane: NDArray[np.int32],
    objects: Index,
    boxes: Index,
    sigma: tuple[float, float],
    radius: tuple[int, int],
) -> _Contours:
    """Contours of the masks of some objects after the Gaussian filter."""
    down, across = map(_gaussian, sigma, radius)
    trace = kernels(__package__).trace_contours
    parts = [slice(start, start + _BLOCK) for start in range(0, len(objects), _BLOCK)]
    traced = over_blocks(lambda part: trace(plane, objects[part], boxes[part], down, across), parts)
    none = np.empty((0, 2)), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_)
    vertices, counts, owners, hollow = (np.concatenate(one) for one in zip(none, *traced, strict=True))
    owners += _BLOCK * np.repeat(np.arange(len(parts)), [len(one[2]) for one in traced])
    return _Contours(vertices, np.append(0, np.cumsum(counts)), owners, hollow)


def _gaussian(sigma: float, radius: int) -> Real:
    weights: Real = kernels(__package__).gaussian(max(sigma, _MIN_SIGMA_PX), radius)
    return weights


def has_holes(labels: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether each of the labels 1 to K encloses background, before any smoothing: (1 + K,), False for 0."""
    _, plane, areas, boxes = _surveyed(labels)
    hollow, objects = np.zeros(len(areas), dtype=bool), np.flatnonzero(areas[1:]) + 1
    hollow[objects] = kernels(__package__).has_holes(plane, objects, boxes[objects])
    return hollow


def label_plane(labels: ArrayLike) -> NDArray[np.integer]:
    """Validate labels: a 2D array of integers, negative ones set to 0; masks are split into connected components.

    Raises
    ------
    ValueError
        For anything else.
    """
    labels = unmasked(labels, "the labels")
    if labels.ndim != 2 or labels.size == 0:
        raise ValueError(f"labels have shape {labels.shape}: give one plane (rows, columns)")
    if labels.dtype != bool and np.issubdtype(labels.dtype, np.floating):
        whole = (np.abs(labels) < 2.0**63) & (labels == np.round(labels))
        if not whole.all():
            raise ValueError(f"{(~whole).sum()} pixels are not integers: give labels, or segment the image first")
        labels = labels.astype(np.int64)
    if labels.dtype != bool and not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(f"labels hold {labels.dtype} values: give integers")
    most = labels.max()
    if most > np.iinfo(np.int64).max:
        raise ValueError(f"the highest label is {most}: label values must be below 2⁶³")
    if labels.dtype != bool and labels.min() < 0:
        labels, most = labels.clip(min=0), max(most, 0)
    # Row by row, as the first few usually show that labels are not a mask.
    if labels.dtype == bool or all(((row == 0) | (row == most)).all() for row in labels):
        numbered, count = ndimage.label(labels)
        return numbered if count > 1 or labels.dtype == bool else labels  # a label with one component is not a mask
    return labels


def pixel_of(scale: float | Sequence[float]) -> Real:
    """Return the height and width of a pixel, two positive numbers; one number is both."""
    pixel = np.asarray(scale, dtype=np.float64)
    if pixel.ndim == 0:
        pixel = np.repeat(pixel, 2)
    if pixel.shape != (2,) or not (np.isfinite(pixel).all() and (pixel > 0).all()):
        raise ValueError(
            f"scale must be the size of a pixel or its height and width, one or two positive numbers, not {scale!r}"
        )
    return pixel


def blur(smoothing: float, unit: SmoothingUnit, pixel: Real) -> tuple[tuple[float, float], tuple[int, int]]:
    """Standard deviation and radius, in pixels along rows and columns, of the filter specified by `smoothing`."""
    if not 0 <= smoothing < np.inf:
        raise ValueError(f"smoothing must be a standard deviation, 0 or more, not {smoothing!r}")
    rows, columns = smoothing / pixel if unit == "physical" else (smoothing, smoothing)
    if max(rows, columns) > _MAX_SIGMA_PX:
        raise ValueError(f"smoothing by {max(rows, columns):g} pixels leaves nothing: the maximum is {_MAX_SIGMA_PX}")
    if unit == "window":
        return (rows, columns), (int(smoothing / 2),) * 2
    return (rows, columns), (int(np.ceil(TRUNCATE_SIGMAS * rows)), int(np.ceil(TRUNCATE_SIGMAS * columns)))


def highest_level(shapes: ArrayLike, sigma: Sequence[float], radius: Sequence[int]) -> Real:
    """Highest values (...) of any masks in boxes of shapes (..., 2) after the Gaussian filter: of the full boxes."""
    sides = np.asarray(shapes)
    highest = np.ones(sides.shape[:-1])
    for lengths, width, reach in zip(np.moveaxis(sides, -1, 0), sigma, radius, strict=True):
        if reach and width > _MIN_SIGMA_PX:
            weights = _gaussian(width, reach)
            runs, place = np.unique(lengths, return_inverse=True)
            inside = [weights[max(reach - run // 2, 0) : reach + (run + 1) // 2].sum() for run in runs.tolist()]
            highest *= np.array(inside)[place.reshape(lengths.shape)]
    return highest
