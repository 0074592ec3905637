"""What outlines can show: the pixels, smoothing, grid of coordinates or clicked vertices of their acquisition."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._types import Index, Real
from .ensemble import PIXEL_COLUMNS, Ensemble
from .offsets import following
from .polygons import areas_and_perimeters, moments_of_area
from .recipe import Recipe
from .tracing import blur

# Precisions within this factor count as equal.
TOLERANCE = 1.1
# Outlines of fewer vertices are polygons clicked by hand, unless their vertices are as dense as pixels; those of fewer
# than the second number are corners, all of which are kept.
_MIN_TRACED_VERTICES, MIN_CLICKED_VERTICES = 60, 8
# Vertices closer than this many steps of their grid follow the boundary of pixels, as do polygons with this share of
# their edges along rows, columns and diagonals.
_MAX_CHAIN_SPACING, _MIN_ALIGNED = 1.5, 0.95
# Pixels across an outline beyond which they hold all waves that are tested, and below which a grid is none.
MAX_ACROSS, _MIN_ACROSS = 310.0, 4.0
# A grid is found where there are so many different coordinates, all multiples of a step but for this share of it.
_MIN_GRID_PLACES, GRID_ERROR = 8, 0.02
# Outlines that were traced again are known to this share of a pixel. Simulated errors equal others in the mean only:
# of forms that hardly vary, amplitudes below ten times this are errors, of which those of other objects differ.
_PIXEL_ERROR = 0.02
# Difference of the second moments of area over their sum, at most: of an ellipse 20 times as long as wide.
_MAX_ELONGATION = 0.995
# What the record of tracing holds of outlines that were traced again.
TRACED_AGAIN = "traced_again"


class Precision(NamedTuple):
    """What each of N outlines can show, in the unit of the ensemble.

    Attributes
    ----------
    size : (N,) array
        Diameter of a circle of equal area.
    pixel : (N, 2) array
        Height and width of the pixels that an outline was traced from; 0 if it was not, as far as is known.
    smoothing : (N, 2) array
        Standard deviation of the smoothing with which it was traced, along rows and columns.
    step : (N, 2) array
        Step of the grid that vertices were rounded to; 0 for none.
    vertices : (N,) array
        Number of vertices of a drawn polygon; infinite for other outlines.
    edge : (N,) array
        Mean distance of the vertices of an outline that follows the boundaries of pixels and is not smoothed, in
        pixels, which differs between ways to do so; 0 for other outlines.
    """

    size: Real
    pixel: Real
    smoothing: Real
    step: Real
    vertices: Real
    edge: Real

    def rows(self, index: Index | slice) -> Precision:
        """Of some of the outlines."""
        return Precision(*(of[index] for of in self))

    def along(self, axes: Real) -> Precision:
        """Pixels and smoothing along axes (N, 2, 2), the columns, in units of their lengths."""
        inverse = np.square(np.linalg.inv(axes))
        pixel, smoothing = (np.sqrt(np.einsum("nij,nj->ni", inverse, of**2)) for of in (self.pixel, self.smoothing))
        return self._replace(pixel=pixel, smoothing=smoothing)


def principal_axes(ensemble: Ensemble) -> Real:
    """Principal axes of the area of each outline, the longer first: the columns of (N, 2, 2) arrays of determinant 1.

    Their inverse takes an outline to its form, which is free of elongation.
    """
    total, stretch = moments_of_area(ensemble.vertices, ensemble.offsets)
    length = np.exp(np.arctanh(np.minimum(np.abs(stretch) / np.abs(total), _MAX_ELONGATION)) / 2)
    longer = np.exp(0.5j * np.angle(stretch))
    sides = np.stack([longer * length, 1j * longer / length], axis=1)
    return np.stack([sides.real, sides.imag], axis=1)


def was_traced_again(ensemble: Ensemble) -> bool:
    """Whether outlines were brought to another precision."""
    return TRACED_AGAIN in ensemble.tracing


def precision_of(ensemble: Ensemble) -> Precision:
    """Find what outlines can show, from their pixel size, the parameters of their tracing and their coordinates.

    Vertices on a grid, such as whole pixels, reveal its step. Outlines of few vertices, far apart, are polygons clicked
    by hand. How densely other outlines are sampled is no matter.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Ensemble
    >>> from napari_shape_ensembles.outlines.precision import precision_of
    >>> u = 2 * np.pi * np.arange(40) / 40
    >>> circle = 20 * np.stack([np.cos(u), np.sin(u)], axis=1)
    >>> precision_of(Ensemble([np.round(circle) * 0.5], unit="µm")).step.round(2)
    array([[0.5, 0.5]])
    """
    counts, (area, perimeter) = np.diff(ensemble.offsets), areas_and_perimeters(ensemble.vertices, ensemble.offsets)
    size, spacing = np.sqrt(4 * area / np.pi), perimeter / counts
    pixel, step = pixels_of(ensemble), np.zeros((len(ensemble), 2))
    unknown = ~pixel.any(axis=1)
    if unknown.any():
        step[unknown] = _grids(ensemble)[unknown]
    step[step.max(axis=1, initial=0) * _MIN_ACROSS > size] = 0
    traced = ~unknown & (spacing <= 3 * _MAX_CHAIN_SPACING * pixel.max(axis=1))
    if "outline_smoothing" in ensemble.tracing:
        traced = ~unknown
    chain = spacing <= _MAX_CHAIN_SPACING * step.max(axis=1)
    chain = step.any(axis=1) & (chain | (_aligned(ensemble, step) >= _MIN_ALIGNED)) & (counts >= MIN_CLICKED_VERTICES)
    smoothing = pixel * _smoothing(ensemble)
    pixel = np.where(traced[:, None], pixel, np.where(chain[:, None], step, 0))
    drawn = ~traced & ~chain & ((counts < _MIN_TRACED_VERTICES) | step.any(axis=1))
    held = size[:, None] >= MAX_ACROSS * np.stack([pixel, step])
    pixel, step = np.where(held, 0, np.stack([pixel, step]))
    smoothing = np.where(traced[:, None] & pixel.any(axis=1, keepdims=True), smoothing, 0)
    side = np.sqrt(pixel.prod(axis=1))
    return Precision(
        size,
        pixel,
        smoothing,
        np.where(drawn[:, None], step, 0),
        np.where(drawn & (counts >= MIN_CLICKED_VERTICES), counts, np.inf),
        np.where((side > 0) & ~smoothing.any(axis=1), spacing / np.where(side > 0, side, 1), 0),
    )


def pixels_of(ensemble: Ensemble) -> Real:
    """Height and width of the pixel that each outline was traced from, (N, 2); 0 if unknown."""
    if set(PIXEL_COLUMNS) <= set(ensemble.metadata.columns):
        return np.nan_to_num(ensemble.metadata[list(PIXEL_COLUMNS)].to_numpy(dtype=np.float64))
    return np.tile(np.array(ensemble.pixel_size or (0.0, 0.0)), (len(ensemble), 1))


def simulated_error(ensemble: Ensemble) -> Real:
    """Error of outlines that were traced again from larger pixels, (N,); 0 if they were not."""
    return _PIXEL_ERROR * was_traced_again(ensemble) * pixels_of(ensemble).max(axis=1)


def _smoothing(ensemble: Ensemble) -> Real:
    """Standard deviation of the smoothing, in pixels along rows and columns."""
    tracing = ensemble.tracing
    sigma, unit = tracing.get("outline_smoothing"), tracing.get("smoothing_unit", Recipe.smoothing_unit)
    if not isinstance(sigma, int | float) or (unit == "physical" and ensemble.pixel_size is None):
        sigma, unit = Recipe.outline_smoothing, "pixel"
    (rows, columns), radius = blur(sigma, unit, np.array(ensemble.pixel_size or (1.0, 1.0)))
    if unit == "window":  # nearly a box filter
        return np.sqrt((2 * np.array(radius) + 1) ** 2 - 1) / np.sqrt(12)
    return np.array([rows, columns])


def _aligned(ensemble: Ensemble, step: Real) -> Real:
    """Share of the edges of each outline along a grid and its diagonals, (N,)."""
    if not step.any():
        return np.zeros(len(ensemble))
    counts, after = np.diff(ensemble.offsets), following(ensemble.offsets)
    edges = np.abs(ensemble.vertices[after] - ensemble.vertices)
    rows, columns = (edges / np.repeat(np.where(step > 0, step, 1), counts, axis=0)).T
    aligned = (rows < GRID_ERROR) | (columns < GRID_ERROR) | (np.abs(rows - columns) < GRID_ERROR)
    return np.asarray(np.add.reduceat(aligned.astype(np.float64), ensemble.offsets[:-1]) / counts)


def _grids(ensemble: Ensemble) -> Real:
    """Step of the grid on which the vertices of each outline lie, image by image, (N, 2); 0 for none."""
    found, images, offsets = np.zeros((len(ensemble), 2)), ensemble.images, ensemble.offsets
    for image in dict.fromkeys(images.tolist()):
        own = images == image
        first = ensemble.curves[int(np.argmax(own))]
        # Nearly always decided by one outline, if it has enough vertices.
        if len(first) <= _MIN_GRID_PLACES or _grid_step(first - first[0]).all():
            counts = np.diff(offsets)
            away = ensemble.vertices - np.repeat(ensemble.vertices[offsets[:-1]], counts, axis=0)
            away = away[np.repeat(own, counts)]
            step = _grid_step(away)
            if step.all():
                # Contours at half the level of a mask cross from pixel to pixel midway, either along rows or columns.
                crossings = not (np.rint(away / step).sum(axis=1) % 2).any()
                found[own] = step * (1 + crossings)
    return found


def _grid_step(places: Real) -> Real:
    """Step along rows and columns of which all coordinates (M, 2) are multiples, (2,); 0 if there is none."""
    steps = np.zeros(2)
    for axis, values in enumerate(places.T):
        different = np.unique(values)
        gaps = np.diff(different)
        gaps = gaps[gaps > 1e-6 * np.ptp(different)] if len(gaps) else gaps
        if len(gaps) + 1 < _MIN_GRID_PLACES:
            continue
        multiples = np.rint(different / gaps.min())
        step = float(different @ multiples / (multiples @ multiples))
        if np.abs(different / step - np.rint(different / step)).max() < GRID_ERROR:
            steps[axis] = step
    return steps
