"""What outlines can show: the pixels, smoothing, grid of coordinates or clicked vertices by which they were acquired.

An acquisition can be simulated: outlines are traced again from larger pixels with more smoothing, moved to a coarser
grid, or reduced to fewer vertices, as they would have been acquired at a lower precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._types import Index, Mask, Real
from ..checks import expect
from ..compiled import kernels
from ..progress import over_blocks
from .ensemble import PIXEL_COLUMNS, Ensemble, areas_and_perimeters, moments_of_area
from .offsets import following
from .reasons import VANISHED, too_small
from .recipe import Recipe
from .tracing import TRUNCATE_SIGMAS, blur

# Precisions within this factor count as equal.
_TOLERANCE = 1.1
# Outlines of fewer vertices are polygons clicked by hand, unless their vertices are as dense as pixels; those of fewer
# than the second number are corners, all of which are kept.
_MIN_TRACED_VERTICES, MIN_CLICKED_VERTICES = 60, 8
# Vertices closer than this many steps of their grid follow the boundary of pixels, as do polygons with this share of
# their edges along rows, columns and diagonals.
_MAX_CHAIN_SPACING, _MIN_ALIGNED = 1.5, 0.95
# Smoothing of outlines that follow pixels and of others, in pixels: with that of tracing, 1, one of 13 images of nearly
# smooth outlines on whole pixels is unlike a reference of traced ones, with this one of 25, as of traced ones.
_OVER_CORNERS = 1.5
# Pixels across an outline beyond which they hold all waves that are tested, and below which a grid is none.
_MAX_ACROSS, _MIN_ACROSS = 310.0, 4.0
# A grid is found where there are so many different coordinates, all multiples of a step but for this share of it.
_MIN_GRID_PLACES, _GRID_ERROR = 8, 0.02
# Relative differences, and decimals of pixels, that are rounding errors.
_ROUNDING, _DIGITS = 1e-6, 6
# A simulated grid lies at so many radii of an outline from its middle: it falls on each in another way.
_SPREAD = 5.3
# Least simulated smoothing, relative to the simulated pixels.
_LEAST_SMOOTHING = 0.5
# Simulated pixels are turned by half the angle between rows and diagonals: parts of an outline that its first pixels
# made straight along either would be moved as a whole by pixels in the same direction, where a curve averages them.
_TURN = np.pi / 8
# ... where their sides and the smoothing in both directions are in proportion, but for this factor.
_MAX_UNEQUAL = 1.25
# Edges along rows and columns are straight at any pixel size: an outline that consists of them, but for this length at
# its corners, in standard deviations of its smoothing, has no errors of pixels in its waves, and is only smoothed.
_CORNERS, _MAX_SLOPE = 20.0, 0.02
# Between vertices outlines are taken for straight, which smooths them by this variance, in squared pixels: a sixth of
# the mean square distance of the crossings of a line with rows and columns, which are the vertices.
_CHORDS = 0.16
# Outlines that were traced again are known to this share of a pixel. Simulated errors equal others in the mean only:
# of forms that hardly vary, amplitudes below ten times this are errors, of which those of other objects differ.
_PIXEL_ERROR = 0.02
# Standard deviation of simulated smoothing in units of its raster, at least.
_FINENESS = 1.5
# Outlines of which less than this share of the area is left came apart.
_LEAST_LEFT = 0.5
# Difference of the second moments of area over their sum, at most: of an ellipse 20 times as long as wide.
_MAX_ELONGATION = 0.995
# Outlines through the outermost pixels of objects have fewer right angles per pixel than this: 0.01 in the mean of 40
# that are 20 pixels across, where vertices rounded to whole pixels have 0.2 to 0.6.
_RARE_TURNS = 0.05
# Weight of the errors of pixels in outlines that were rounded to their centers, and have most of these errors already:
# of 0.35, 0.5, 0.65 and 1 the one with which wavy circles 60 and 80 pixels across differ least from exact ones.
_ROUNDED_WEIGHT = 0.65
# Polygons of at least so many times the vertices wanted are reduced to vertices spaced like those of others.
_MANY = 1.8
# Polygons of an image whose spacings are used, at most.
_MOST_SPACINGS = 200
# Clicks rarely hit the farthest point of an outline, which would make it longer: multiples of this share of a gap, all
# different and evenly spread modulo 1, are between that point and the nearest click.
_GOLDEN = (5**0.5 - 1) / 2
# Points of a spline between two vertices of a polygon.
_PER_EDGE = 12
# What the record of tracing holds of outlines that were traced again.
_TRACED_AGAIN = "traced_again"
# Outlines that are traced again per block.
_BLOCK = 32


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
    return _TRACED_AGAIN in ensemble.tracing


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
    held = size[:, None] >= _MAX_ACROSS * np.stack([pixel, step])
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


class Acquisition(NamedTuple):
    """How most outlines of an image were acquired, as in `Precision`, in the unit of the ensemble."""

    pixel: tuple[float, float] = (0.0, 0.0)
    smoothing: tuple[float, float] = (0.0, 0.0)
    step: tuple[float, float] = (0.0, 0.0)
    vertices: float = np.inf
    edge: float = 0.0

    @classmethod
    def of(cls, ensemble: Ensemble) -> Acquisition:
        """Medians over the outlines of an ensemble."""
        if not len(ensemble):
            return cls()
        own = precision_of(ensemble)
        pixel, smoothing, step = (_pair(np.median(of, axis=0)) for of in (own.pixel, own.smoothing, own.step))
        return cls(pixel, smoothing, step, float(np.median(own.vertices)), float(np.median(own.edge)))

    @classmethod
    def coarsest(cls, acquired: Sequence[Acquisition]) -> Acquisition:
        """The one to which outlines that were acquired in several ways can be brought."""
        pixel, smoothing, step = np.max([[one.pixel, one.smoothing, one.step] for one in acquired], axis=0)
        edges = [one.edge for one in acquired]
        if max(edges) > _TOLERANCE * min(edges):
            # Ways around the corners of pixels differ; smoothed, they are alike.
            smoothing = np.maximum(smoothing, _OVER_CORNERS * pixel)
        return cls(_pair(pixel), _pair(smoothing), _pair(step), min(one.vertices for one in acquired), min(edges))

    def has_sides_of(self, others: Sequence[Acquisition]) -> bool:
        """Whether its pixels, if any, are as wide as high as those of others."""
        ratios = [one.pixel[0] / one.pixel[1] for one in others if all(one.pixel)]
        if not all(self.pixel) or not ratios:
            return True
        return any(1 / _TOLERANCE <= self.pixel[0] / self.pixel[1] / one <= _TOLERANCE for one in ratios)

    def is_among(self, others: Sequence[Acquisition]) -> bool:
        """Whether it is one of others, or between them."""
        every = (self, *others)
        numbers = ([*one.pixel, *one.smoothing, *one.step, 1 / one.vertices, one.edge] for one in every)
        return all(
            min(usual) / _TOLERANCE <= own <= _TOLERANCE * max(usual) for own, *usual in zip(*numbers, strict=True)
        )


def _pair(sides: Real) -> tuple[float, float]:
    return float(sides[0]), float(sides[1])


def acquired_as(ensemble: Ensemble, wanted: Acquisition, polygons: Sequence[Ensemble]) -> Ensemble:
    """Return outlines as they would have been acquired in a coarser way; the ensemble itself if none changes.

    Parameters
    ----------
    ensemble : Ensemble
    wanted : Acquisition
    polygons : sequence of Ensemble
        Where `wanted` has few vertices, outlines get as many as the polygon of their rank of size, spaced like these.
    """
    if any(wanted.pixel):
        ensemble = without_small(ensemble, wanted.pixel)
    own = precision_of(ensemble)
    size, spacings, vertices = own.size[:, None], [], np.full(len(ensemble), np.inf)
    if np.isfinite(wanted.vertices):
        known = [precision_of(image) for image in polygons]
        for image, of in zip(polygons, known, strict=True):
            spacings += spacings_of(image, of)
        sizes, counts = (np.concatenate([getattr(of, name) for of in known]) for name in ("size", "vertices"))
        clicked = np.isfinite(counts)
        counts = counts[clicked][np.argsort(sizes[clicked], kind="stable")]
        rank = (np.argsort(np.argsort(own.size, kind="stable")) + 0.5) / max(len(ensemble), 1)
        vertices = counts[(rank * len(counts)).astype(np.intp)]
    pixel, step = (
        np.where(size < _MAX_ACROSS * np.array(side), np.array(side), 0) for side in (wanted.pixel, wanted.step)
    )
    target = Precision(own.size, pixel / size, np.array(wanted.smoothing) / size, step, vertices, own.edge)
    found = acquired_at(ensemble, own, target, size[..., None] * np.eye(2), spacings)
    if found is ensemble or not any(wanted.pixel):
        return found
    metadata = found.metadata.drop(columns=list(PIXEL_COLUMNS), errors="ignore")
    sigma = {"outline_smoothing": wanted.smoothing[0] / wanted.pixel[0], "smoothing_unit": "pixel"}
    more: dict[str, Any] = {"pixel_size": wanted.pixel, "metadata": metadata, "tracing": found.tracing | sigma}
    return found.derived(found.curves, **more)


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
    aligned = (rows < _GRID_ERROR) | (columns < _GRID_ERROR) | (np.abs(rows - columns) < _GRID_ERROR)
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
        if np.abs(different / step - np.rint(different / step)).max() < _GRID_ERROR:
            steps[axis] = step
    return steps


# ------------------------------------------------------------------------------------------- a lower precision


def acquired_at(ensemble: Ensemble, own: Precision, wanted: Precision, axes: Real, spacings: list[Real]) -> Ensemble:
    """Return outlines as they would have been acquired at another precision; the ensemble itself if none changes.

    Parameters
    ----------
    ensemble : Ensemble
    own, wanted : Precision
        Where an outline is coarser than wanted, or finer by less than a tenth, it stays as it is. Pixels and smoothing
        wanted are along the axes, in units of their lengths.
    axes : (N, 2, 2) array
        The columns.
    spacings : list of (K,) arrays
        From `spacings_of`: other outlines are reduced to vertices spaced like those of one of these polygons.
    """
    curves, drawn = list(ensemble.curves), np.isfinite(own.vertices)
    counts = np.diff(ensemble.offsets)
    fewer = wanted.vertices * _TOLERANCE < counts
    thinned = fewer & drawn & (wanted.vertices * _MANY > counts)
    for index in np.flatnonzero(thinned):
        curves[index] = _thinned(curves[index], int(wanted.vertices[index]))
    # Others are reduced to vertices at the end.
    spaced = fewer & ~thinned
    dense = ~drawn & ~fewer
    grid = np.maximum(own.step, np.where(dense[:, None], own.pixel, 0))
    regridded = (wanted.step > _TOLERANCE * grid).any(axis=1) & ~spaced
    corners = np.zeros((len(curves), 2))
    for index in np.flatnonzero(regridded):
        curves[index], corners[index] = _rounded(curves[index], grid[index], wanted.step[index])
    new = (dense & regridded)[:, None]
    own = own._replace(
        pixel=np.where(new, np.maximum(own.pixel, wanted.step), own.pixel), step=np.where(new, wanted.step, own.step)
    )
    retraced: Mask = np.asarray(_coarser(wanted, own.along(axes)).any(axis=1))
    if not (fewer | regridded | retraced).any():
        return ensemble
    kept = np.ones(len(ensemble), dtype=bool)

    def replace(rows: Index, again: Sequence[Real | None]) -> None:
        for row, curve in zip(rows.tolist(), again, strict=True):
            kept[row] &= curve is not None
            curves[row] = curves[row] if curve is None else curve

    # Vertices on whole pixels are a mask, which is traced with its own pixels first: steps would beat with others.
    edges = retraced & own.pixel.all(axis=1) & ~own.smoothing.any(axis=1)
    rows = np.flatnonzero(edges)
    for row in np.flatnonzero(edges & ~regridded):
        corners[row] = _center_beside(curves[row] / own.pixel[row]) * own.pixel[row]
    masks = [curves[row] - corners[row] for row in rows]
    turns = np.median([_turns(mask / side) for mask, side in zip(masks, own.pixel[rows], strict=True)] or [np.nan])
    masks = traced_again(masks, own.pixel[rows], np.ones(2), error=_GRID_ERROR, turns=turns)
    replace(rows, [mask if mask is None else mask + corner for mask, corner in zip(masks, corners[rows], strict=True)])
    own = own._replace(smoothing=np.where(edges[:, None], own.pixel, own.smoothing))
    inner = own.along(axes)
    rows = np.flatnonzero(retraced & _coarser(wanted, inner).any(axis=1))
    lacking = np.sqrt(np.maximum(wanted.smoothing**2 - inner.smoothing**2 - _CHORDS * inner.pixel**2, 0))
    straight = _along_grid([curves[row] for row in rows], own.pixel[rows], own.smoothing[rows])
    inverse = np.linalg.inv(axes)
    finer = [(_smooth(curves[row]) if drawn[row] else curves[row]) @ inverse[row].T for row in rows]
    places = [_place_of_grid(curve) for curve in finer]
    finer = [curve - place for curve, place in zip(finer, places, strict=True)]
    again = _simulated(finer, inner.pixel[rows], wanted.pixel[rows], inner.smoothing[rows], lacking[rows], straight)
    back = zip(again, places, axes[rows], strict=True)
    again = [curve if curve is None else (curve + place) @ along.T for curve, place, along in back]
    clicked = zip(again, rows, drawn[rows], strict=True)
    replace(rows, [_nearest(curve, curves[row]) if few and curve is not None else curve for curve, row, few in clicked])
    # What is left of one that came apart is no outline if it is smaller than what is traced by default.
    left, _ = areas_and_perimeters(np.concatenate(curves), np.cumsum([0, *map(len, curves)], dtype=np.int64))
    area, _ = areas_and_perimeters(ensemble.vertices, ensemble.offsets)
    least = np.minimum(_LEAST_LEFT * area, Recipe.min_area * (own.size[:, None] * wanted.pixel).prod(axis=1))
    kept &= ~retraced | (left >= least)
    # Outlines of equal size, which may be equal, are spaced alike.
    order = np.unique(np.round(own.size / own.size.max(initial=1), _DIGITS), return_inverse=True)[1]
    lengths = np.array([len(one) for one in spacings])
    for index in np.flatnonzero(kept & spaced):
        away = np.abs(lengths - int(wanted.vertices[index]))
        alike = np.flatnonzero(away == away.min())
        start = 0 if drawn[index] else order[index] * _GOLDEN % 1 - 0.5
        curves[index] = _spaced(curves[index], spacings[alike[order[index] % len(alike)]], start)
        curves[index], _ = _rounded(curves[index], own.step[index], wanted.step[index])
    dropped = ensemble.dropped
    if not kept.all():
        dropped[VANISHED] = dropped.get(VANISHED, 0) + int(np.count_nonzero(~kept))
    held = pixels_of(ensemble)
    held[retraced] = (own.size[:, None] * np.maximum(wanted.pixel, inner.pixel))[retraced]
    columns = dict(zip(PIXEL_COLUMNS, held.T, strict=True)) if retraced.any() else {}
    rows = np.flatnonzero(kept)
    metadata = ensemble.metadata.assign(**columns).iloc[rows]
    tracing = ensemble.tracing | ({_TRACED_AGAIN: True} if retraced.any() else {})
    return ensemble.derived([curves[row] for row in rows], rows, dropped=dropped, metadata=metadata, tracing=tracing)


def _coarser(wanted: Precision, own: Precision) -> Mask:
    """Whether pixels or smoothing are to become larger, (N, 2)."""
    return (wanted.pixel > _TOLERANCE * own.pixel) | (wanted.smoothing > _TOLERANCE * own.smoothing)


def at_pixel_size(ensemble: Ensemble, size: float, *, smoothing: float = Recipe.outline_smoothing) -> Ensemble:
    """Return the outlines as they would appear in an image with larger pixels.

    Each outline is rasterized at this pixel size, smoothed by the difference between the two smoothings, and traced
    again. Objects of fewer than 16 of these pixels are left out and counted.

    Parameters
    ----------
    ensemble : Ensemble
        Outlines of an image with known pixel size.
    size : float
        Side of the larger pixels, in the ensemble's unit.
    smoothing : float
        Standard deviation of the smoothing of outlines at both pixel sizes, in pixels of each.

    Returns
    -------
    Ensemble
        With the same ids; the ensemble itself if its pixels are as large already.

    Raises
    ------
    ValueError
        For a size that is not positive, or an ensemble with unknown pixel size.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import at_pixel_size, extract_curves
    >>> rows, columns = np.indices((100, 100))
    >>> fine = extract_curves(np.hypot(rows - 50, columns - 50) < 40, scale=(0.5, 0.5), unit="µm")
    >>> coarse = at_pixel_size(fine, 2.0)
    >>> coarse.pixel_size, len(coarse[0]) < len(fine[0]) / 3
    ((2.0, 2.0), True)
    """
    expect(ensemble, Ensemble, "at_pixel_size takes an Ensemble")
    if not 0 < size < np.inf:
        raise ValueError(f"the size of a pixel must be a positive number, not {size!r}")
    if ensemble.pixel_size is None:
        raise ValueError(f"the pixel size of {ensemble.name or 'the ensemble'} is unknown: give it")
    if size <= max(ensemble.pixel_size) * _TOLERANCE:
        return ensemble
    own = np.array(ensemble.pixel_size)
    ensemble = without_small(ensemble, (size, size))
    # Variances of Gaussian filters add up: what is left of the smoothing at the larger pixels.
    left = np.maximum(smoothing * np.sqrt(1 - (own / size) ** 2), _LEAST_SMOOTHING / 4)
    curves = traced_again(ensemble.curves, np.full((len(ensemble), 2), size), left)
    rows = np.array([row for row, curve in enumerate(curves) if curve is not None], dtype=np.intp)
    dropped = ensemble.dropped
    if len(rows) < len(curves):
        dropped[VANISHED] = dropped.get(VANISHED, 0) + len(curves) - len(rows)
    more: dict[str, Any] = {"pixel_size": size, "tracing": ensemble.tracing | {"at_pixel_size": float(size)}}
    return ensemble.derived([curves[row] for row in rows], rows, dropped=dropped, **more)


def without_small(ensemble: Ensemble, pixel: Sequence[float] | Real, among: Mask | bool = True) -> Ensemble:
    """Leave out, and count, outlines of fewer pixels than are traced by default, at larger pixels, `among` some."""
    area = float(np.prod(pixel))
    areas, _ = areas_and_perimeters(ensemble.vertices, ensemble.offsets)
    kept = np.flatnonzero((areas >= Recipe.min_area * area) | ~np.asarray(among))
    if len(kept) == len(ensemble):
        return ensemble
    reason = too_small(Recipe.min_area)._replace(pixel=f"{np.sqrt(area):.4g} {ensemble.unit}")
    dropped = ensemble.dropped
    dropped[reason] = dropped.get(reason, 0) + len(ensemble) - len(kept)
    return ensemble.derived([ensemble.curves[row] for row in kept], kept, dropped=dropped)


def _place_of_grid(curve: Real) -> Real:
    """A point (2,) of a simulated grid: anywhere, but moved with the curve, whose place in the image is irrelevant.

    Turned with it, too, where one vertex is farthest from the middle.
    """
    middle = curve.mean(axis=0)
    return np.asarray(middle + _SPREAD * (curve[_farthest(curve)] - middle))


def _farthest(curve: Real) -> int:
    """The vertex farthest from the middle of all; the same of several on every computer and in every unit."""
    spokes = curve - curve.mean(axis=0)
    away = np.square(spokes).sum(axis=1)
    rows = np.flatnonzero(away >= (1 - _ROUNDING) * away.max())
    return int(rows[np.lexsort(np.round(spokes[rows] / np.sqrt(away.max()), _DIGITS).T)[0]])


def _rounded(curve: Real, own: Real, wanted: Real) -> tuple[Real, Real]:
    """A curve on a grid of larger steps than its own, (2,) each, in the directions in which they are; and its place."""
    place = _place_of_grid(curve)
    # Variances of the errors of rounding add up.
    step = np.sqrt(np.maximum(wanted**2 - own**2, 0))
    larger = wanted > _TOLERANCE * own
    on_grid = place + np.rint((curve - place) / np.where(larger, step, 1)) * step
    return np.where(larger, on_grid, curve), place


def _thinned(curve: Real, count: int) -> Real:
    """Equally many of the vertices of a polygon between those kept, from the one farthest from their middle.

    Of two vertices in the middle of such a gap the farther one, so that the direction of traversal does not matter.
    """
    away = np.square(curve - curve.mean(axis=0)).sum(axis=1)
    first, places = _farthest(curve), 2 * len(curve) * np.arange(count)
    up, down = (first + (places + count) // (2 * count), first - (count - places) // (2 * count))
    up, down = up % len(curve), down % len(curve)
    return curve[np.sort(np.where(away[up] > away[down], up, down))]


def _smooth(polygon: Real) -> Real:
    """Points of the closed cubic spline through the vertices of a polygon, by chord length."""
    from scipy.interpolate import CubicSpline  # slow to import

    closed = np.concatenate([polygon, polygon[:1]])
    length = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(closed, axis=0).T))])
    places = np.interp(np.arange(len(polygon) * _PER_EDGE) / _PER_EDGE, np.arange(len(closed)), length)
    return np.asarray(CubicSpline(length, closed, bc_type="periodic")(places))


def _nearest(curve: Real, polygon: Real) -> Real:
    """The vertices of a dense curve that are nearest to those of a polygon, in the order of the curve."""
    away = np.square(curve[:, None] - polygon).sum(axis=2)
    return curve[np.unique(np.round(away / away.max(), _DIGITS).argmin(axis=0))]


def spacings_of(ensemble: Ensemble, own: Precision) -> list[Real]:
    """Where the vertices of polygons clicked by hand lie along them, as shares of their lengths.

    They start at the vertex farthest from the middle, and go along the farther side first. Of many polygons some.
    """
    rows = np.flatnonzero(np.isfinite(own.vertices))
    found = [_from_farthest(ensemble.curves[row]) for row in rows[:: 1 + len(rows) // _MOST_SPACINGS]]
    return [np.cumsum([0, *lengths[:-1]]) / lengths.sum() for _, lengths in found]


def _spaced(curve: Real, places: Real, start: float) -> Real:
    """Vertices of a curve nearest to places along it, as `spacings_of` returns them.

    The first is up to half of a gap (`start` -0.5 to 0.5) before or after the vertex farthest from the middle of all.
    Of two equally near ones the one farther from the middle, so that the direction of traversal does not matter.
    """
    curve, lengths = _from_farthest(curve)
    places = places + start * (places[1] if start > 0 else 1 - places[-1])
    apart = np.abs(((np.cumsum(lengths) - lengths) / lengths.sum())[:, None] - places)
    away = np.square(curve - curve.mean(axis=0)).sum(axis=1)
    farther = away[:, None] / away.max() * 0.1**_DIGITS
    return curve[np.unique((np.minimum(apart, 1 - apart).round(_DIGITS) - farther).argmin(axis=0))]


def _from_farthest(curve: Real) -> tuple[Real, Real]:
    """A curve from the vertex farthest from the middle, first along its farther side; and the lengths of its edges."""
    curve = np.roll(curve, -_farthest(curve), axis=0)
    lengths = np.hypot(*(np.roll(curve, -1, axis=0) - curve).T)
    away = np.square(curve - curve.mean(axis=0)).sum(axis=1)
    side = np.sin(2 * np.pi * (np.cumsum(lengths) - lengths) / lengths.sum())
    if np.sum(away * side * (lengths + np.roll(lengths, 1))) < 0:
        return np.concatenate([curve[:1], curve[:0:-1]]), lengths[::-1]
    return curve, lengths


def _center_beside(curve: Real) -> Real:
    """Center of the pixel at the origin (2,), for an outline in pixels whose vertices are on their grid.

    They are on centers, wherever these are in the image, or halfway between integers: beside the edges of pixels if the
    outline follows these along rows and columns only.
    """
    beside = curve[0] - np.rint(curve[0])
    alike = np.abs(curve - curve[0] - np.rint(curve - curve[0])).max() < _GRID_ERROR
    oblique = (np.abs(np.roll(curve, -1, axis=0) - curve).min(axis=1) > _GRID_ERROR).any()
    return np.where((alike and oblique) | (np.abs(beside) < 0.5 - _GRID_ERROR), beside, 0)


def _turns(curve: Real) -> float:
    """Share of right angles, per pixel, in an outline along rows, columns and diagonals through the centers of pixels.

    NaN for another outline. OpenCV and Cellpose write outlines through the outermost pixels of an object, which go
    around corners by diagonal steps; vertices that were rounded to whole pixels often turn from a row to a column.
    """
    edges = np.roll(curve, -1, axis=0) - curve
    shorter, longer = np.sort(np.abs(edges), axis=1).T
    straight, diagonal = shorter < _GRID_ERROR, np.abs(longer - shorter) < _GRID_ERROR
    at_centers = np.abs(curve - np.rint(curve)).max() < _GRID_ERROR
    if not at_centers or not diagonal.any() or not (straight | diagonal).all():
        return np.nan
    across = np.abs(np.sum(edges * np.roll(edges, -1, axis=0), axis=1)) < _GRID_ERROR
    return float(np.sum(straight & np.roll(straight, -1) & across) / longer.sum())


def _along_grid(curves: Sequence[Real], pixel: Real, smoothing: Real) -> Mask:
    """Whether outlines consist of edges along rows and columns, but for what smoothing makes of corners, (N,)."""
    if not len(curves):
        return np.zeros(0, dtype=bool)
    counts, vertices = [len(curve) for curve in curves], np.concatenate(curves)
    offsets = np.cumsum([0, *counts], dtype=np.int64)
    side = np.where(pixel > 0, pixel, np.inf)  # without pixels there is no grid
    edges = np.abs(vertices[following(offsets)] - vertices) / np.repeat(side, counts, axis=0)
    lengths = np.hypot(*edges.T)
    oblique = np.where(edges.min(axis=1) > _MAX_SLOPE * lengths, lengths, 0)
    found = np.add.reduceat(oblique, offsets[:-1]) <= _CORNERS * (smoothing / side).max(axis=1)
    return np.asarray(found & pixel.all(axis=1))


def _simulated(
    curves: Sequence[Real], own: Real, wanted: Real, smoothing: Real, lacking: Real, straight: Mask
) -> list[Real | None]:
    """Outlines from their `own` pixels (N, 2) as from the larger pixels wanted (N, 2), smoothed by what is `lacking`.

    Variances of filters add up. So do those of errors of pixels, per length of the outline, as lengths to the third
    power: errors of the larger pixels have the weight that makes up for the variance of those of the first. They are
    smoothed by the first `smoothing` (N, 2), too, as the outline has been. Its edge is as sharp as before, so that it
    is moved less, and errors are to be larger in proportion. Where edges are `straight` along the own pixels, neither
    have errors. None for an outline that vanishes.
    """
    coarse = np.maximum(wanted, own)
    added = np.where(wanted > _TOLERANCE * own, coarse**3 - own**3, 0)
    # What is only smoothed needs no particular pixels.
    coarse = np.where(coarse.any(axis=1, keepdims=True), coarse, lacking)
    coarse = np.maximum(coarse, coarse.max(axis=1, keepdims=True) / 4)
    lacking = np.maximum(lacking, _LEAST_SMOOTHING * np.maximum(np.cbrt(added), coarse.max(axis=1, keepdims=True) / 4))
    sharper = np.sqrt(1 + np.mean((smoothing / lacking) ** 2, axis=1))
    # Turned pixels are smoothed equally in both directions.
    ratios = coarse / lacking
    turned = ratios.max(axis=1) < _MAX_UNEQUAL * ratios.min(axis=1)
    side = np.where(turned[:, None], lacking * np.sqrt(ratios.prod(axis=1, keepdims=True)), coarse)
    weight = np.where(straight, 0, sharper * np.sqrt(np.mean(added / side**3, axis=1)))
    parts = np.ceil(_FINENESS * (side / lacking).max(axis=1)).astype(np.int64)
    # The covered shares are smoothed by their own squares.
    width = np.sqrt((parts[:, None] * lacking / side) ** 2 - 1 / 12)
    first = np.where(weight[:, None] > 0, parts[:, None] * smoothing / side, 0)
    return _retraced(curves, side, np.where(turned, _TURN, 0), parts, weight, np.stack([first, width]))


def traced_again(
    curves: Sequence[Real], pixel: Real, sigma: Real, *, error: float = 0, turns: float = np.nan
) -> list[Real | None]:
    """Rasterize outlines at pixels of their own (N, 2), smooth them by sigma (2,) of these pixels, and trace them.

    Coordinates within an `error` of multiples of half a pixel are these. If outlines pass through the centers of pixels
    with few `turns`, these pixels belong to them; with many, vertices were rounded to them. None for an outline that
    vanishes.
    """
    one = np.ones(len(curves))
    width, weight = sigma * one[:, None], _ROUNDED_WEIGHT if turns > _RARE_TURNS else 1.0
    filters, parts = np.stack([0 * width, width]), one.astype(np.int64)
    within = turns <= _RARE_TURNS
    return _retraced(curves, pixel, 0 * one, parts, weight * one, filters, error=error, through_centers=within)


def _retraced(
    curves: Sequence[Real],
    side: Real,
    angle: Real,
    parts: Index,
    weight: Real,
    sigma: Real,
    *,
    error: float = 0,
    through_centers: bool = False,
) -> list[Real | None]:
    """Trace outlines again from pixels with sides (N, 2), turned by an angle (N,), with filters (2, N, 2).

    See `kernels.retrace`. Whether a pixel with its center on an outline is in it does not depend on rounding `error`.
    """
    turn = np.exp(1j * angle)
    radius = np.ceil(TRUNCATE_SIGMAS * sigma).astype(np.int64)
    retrace = kernels(__package__).retrace

    def trace(block: slice) -> list[Real | None]:
        counts = [len(curve) for curve in curves[block]]
        offsets = np.cumsum([0, *counts], dtype=np.int64)
        scaled = np.concatenate(curves[block]) / np.repeat(side[block], counts, axis=0)
        # The same digits, whole pixels away or in another unit.
        corner = np.floor(np.round(np.minimum.reduceat(scaled, offsets[:-1]), _DIGITS)) * (turn[block] == 1)[:, None]
        scaled = np.round(scaled - np.repeat(corner, counts, axis=0), _DIGITS)
        halves = np.rint(2 * scaled) / 2
        scaled = np.where(np.abs(scaled - halves) < error, halves, scaled)
        turned = scaled.view(np.complex128)[:, 0] * np.repeat(turn[block].conj(), counts)
        filters = [np.ascontiguousarray(of[:, block]) for of in (sigma, radius)]
        vertices, counts = retrace(
            turned.view(np.float64).reshape(-1, 2), offsets, parts[block], weight[block], *filters, through_centers
        )
        back = vertices.view(np.complex128)[:, 0] * np.repeat(turn[block], counts)
        found = back.view(np.float64).reshape(-1, 2) + np.repeat(corner, counts, axis=0)
        found *= np.repeat(side[block], counts, axis=0)
        return [curve if len(curve) else None for curve in np.split(found, np.cumsum(counts)[:-1])]

    blocks = [slice(start, start + _BLOCK) for start in range(0, len(curves), _BLOCK)]
    return [curve for found in over_blocks(trace, blocks) for curve in found]
