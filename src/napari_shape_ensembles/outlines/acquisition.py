"""Simulate a coarser acquisition: larger pixels, more smoothing, a grid of coordinates or fewer vertices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._types import Mask, Real
from ..checks import expect
from .ensemble import PIXEL_COLUMNS, Ensemble
from .polygons import areas_and_perimeters
from .precision import GRID_ERROR, MAX_ACROSS, TOLERANCE, TRACED_AGAIN, Precision, pixels_of, precision_of
from .reasons import VANISHED, too_small
from .recipe import Recipe
from .retracing import LEAST_SMOOTHING, along_grid, masks_traced_again, traced_again, with_larger_pixels

# Smoothing of outlines that follow pixels and of others, in pixels: with that of tracing, 1, one of 13 images of nearly
# smooth outlines on whole pixels is unlike a reference of traced ones, with this one of 25, as of traced ones.
_OVER_CORNERS = 1.5
# Relative differences, and decimals of pixels, that are rounding errors.
_ROUNDING, _DIGITS = 1e-6, 6
# A simulated grid lies at so many radii of an outline from its middle: it falls on each in another way.
_SPREAD = 5.3
# Between vertices outlines are taken for straight, which smooths them by this variance, in squared pixels: a sixth of
# the mean square distance of the crossings of a line with rows and columns, which are the vertices.
_CHORDS = 0.16
# Outlines of which less than this share of the area is left came apart.
_LEAST_LEFT = 0.5
# Polygons of at least so many times the vertices wanted are reduced to vertices spaced like those of others.
_MANY = 1.8
# Polygons of an image whose spacings are used, at most.
_MOST_SPACINGS = 200
# Clicks rarely hit the farthest point of an outline, which would make it longer: multiples of this share of a gap, all
# different and evenly spread modulo 1, are between that point and the nearest click.
_GOLDEN = (5**0.5 - 1) / 2
# Points of a spline between two vertices of a polygon.
_PER_EDGE = 12


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
        if max(edges) > TOLERANCE * min(edges):
            # Ways around the corners of pixels differ; smoothed, they are alike.
            smoothing = np.maximum(smoothing, _OVER_CORNERS * pixel)
        return cls(_pair(pixel), _pair(smoothing), _pair(step), min(one.vertices for one in acquired), min(edges))

    def has_sides_of(self, others: Sequence[Acquisition]) -> bool:
        """Whether its pixels, if any, are as wide as high as those of others."""
        ratios = [one.pixel[0] / one.pixel[1] for one in others if all(one.pixel)]
        if not all(self.pixel) or not ratios:
            return True
        return any(1 / TOLERANCE <= self.pixel[0] / self.pixel[1] / one <= TOLERANCE for one in ratios)

    def is_among(self, others: Sequence[Acquisition]) -> bool:
        """Whether it is one of others, or between them."""
        every = (self, *others)
        numbers = ([*one.pixel, *one.smoothing, *one.step, 1 / one.vertices, one.edge] for one in every)
        return all(
            min(usual) / TOLERANCE <= own <= TOLERANCE * max(usual) for own, *usual in zip(*numbers, strict=True)
        )


def _pair(sides: Real) -> tuple[float, float]:
    return float(sides[0]), float(sides[1])


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
    counts, drawn = np.diff(ensemble.offsets), np.isfinite(own.vertices)
    fewer = wanted.vertices * TOLERANCE < counts
    thinned = fewer & drawn & (wanted.vertices * _MANY > counts)
    spaced = fewer & ~thinned
    on_pixels = ~drawn & ~fewer
    step = np.maximum(own.step, np.where(on_pixels[:, None], own.pixel, 0))
    regridded = (wanted.step > TOLERANCE * step).any(axis=1) & ~spaced
    on_larger = (on_pixels & regridded)[:, None]
    own = own._replace(
        pixel=np.where(on_larger, np.maximum(own.pixel, wanted.step), own.pixel),
        step=np.where(on_larger, wanted.step, own.step),
    )
    retraced = _coarser(wanted, own.along(axes))
    if not (fewer | regridded | retraced).any():
        return ensemble
    given, grids = list(ensemble.curves), dict[int, Real]()
    for row in np.flatnonzero(thinned).tolist():
        given[row] = _thinned(given[row], int(wanted.vertices[row]))
    for row in np.flatnonzero(regridded).tolist():
        given[row], grids[row] = _rounded(given[row], step[row], wanted.step[row])
    curves: list[Real | None] = list(given)
    rows = np.flatnonzero(retraced)
    coarse, places = [given[row] for row in rows], [grids.get(row) for row in rows.tolist()]
    again = _traced_coarser(coarse, places, own.rows(rows), wanted.rows(rows), axes[rows])
    for row, curve in zip(rows.tolist(), again, strict=True):
        curves[row] = curve
    curves = _reduced(curves, spaced, own, wanted, spacings)
    if not len(rows):
        return _left(ensemble, curves)
    held = pixels_of(ensemble)
    held[rows] = (own.size[:, None] * np.maximum(wanted.pixel, own.along(axes).pixel))[rows]
    ensemble = ensemble.assign(**dict(zip(PIXEL_COLUMNS, held.T, strict=True)))
    return _left(ensemble, curves, tracing=ensemble.tracing | {TRACED_AGAIN: True})


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
        np.where(size < MAX_ACROSS * np.array(side), np.array(side), 0) for side in (wanted.pixel, wanted.step)
    )
    target = Precision(own.size, pixel / size, np.array(wanted.smoothing) / size, step, vertices, own.edge)
    found = acquired_at(ensemble, own, target, size[..., None] * np.eye(2), spacings)
    if found is ensemble or not any(wanted.pixel):
        return found
    metadata = found.metadata.drop(columns=list(PIXEL_COLUMNS), errors="ignore")
    sigma = {"outline_smoothing": wanted.smoothing[0] / wanted.pixel[0], "smoothing_unit": "pixel"}
    more: dict[str, Any] = {"pixel_size": wanted.pixel, "metadata": metadata, "tracing": found.tracing | sigma}
    return found.derived(found.curves, **more)


def _coarser(wanted: Precision, own: Precision) -> Mask:
    """Whether pixels or smoothing are to become larger, (N,)."""
    larger = (wanted.pixel > TOLERANCE * own.pixel) | (wanted.smoothing > TOLERANCE * own.smoothing)
    return np.asarray(larger.any(axis=1))


def _traced_coarser(
    curves: Sequence[Real], grids: Sequence[Real | None], own: Precision, wanted: Precision, axes: Real
) -> list[Real | None]:
    """Trace outlines from larger pixels; `grids` are points of those that outlines were moved to.

    None for an outline of which too little is left.
    """
    found: list[Real | None] = list(curves)
    # Vertices on whole pixels are a mask, which is traced with its own pixels first: steps would beat with others.
    masks: Mask = np.asarray(own.pixel.all(axis=1) & ~own.smoothing.any(axis=1))
    rows = np.flatnonzero(masks)
    followed = [(curves[row], own.pixel[row], grids[row]) for row in rows.tolist()]
    centers = [_center_beside(curve, pixel) if on is None else on for curve, pixel, on in followed]
    moved = [curve - center for (curve, _, _), center in zip(followed, centers, strict=True)]
    again = masks_traced_again(moved, own.pixel[rows])
    for row, center, curve in zip(rows.tolist(), centers, again, strict=True):
        found[row] = curve if curve is None else curve + center
    own = own._replace(smoothing=np.where(masks[:, None], own.pixel, own.smoothing))
    there = np.array([curve is not None for curve in found], dtype=bool)
    rows = np.flatnonzero(there & _coarser(wanted, own.along(axes)))
    rest = [curve for curve in map(found.__getitem__, rows.tolist()) if curve is not None]
    again = _at_larger_pixels(rest, own.rows(rows), wanted.rows(rows), axes[rows])
    for row, curve in zip(rows.tolist(), again, strict=True):
        found[row] = curve
    # What is left of one that came apart is no outline if it is smaller than what is traced by default.
    pixels = (own.size[:, None] * wanted.pixel).prod(axis=1)
    least = np.minimum(_LEAST_LEFT * np.pi / 4 * own.size**2, Recipe.min_area * pixels)
    left = _areas([np.zeros((1, 2)) if curve is None else curve for curve in found])
    return [None if small else curve for curve, small in zip(found, left < least, strict=True)]


def _at_larger_pixels(curves: Sequence[Real], own: Precision, wanted: Precision, axes: Real) -> list[Real | None]:
    """Trace outlines from larger pixels along axes; of polygons, what their vertices become."""
    inner, inverse, drawn = own.along(axes), np.linalg.inv(axes), np.isfinite(own.vertices)
    lacking = np.sqrt(np.maximum(wanted.smoothing**2 - inner.smoothing**2 - _CHORDS * inner.pixel**2, 0))
    straight = along_grid(curves, own.pixel, own.smoothing)
    along = [(_smooth(curve) if few else curve) @ to.T for curve, few, to in zip(curves, drawn, inverse, strict=True)]
    places = [_place_of_grid(curve) for curve in along]
    moved = [curve - place for curve, place in zip(along, places, strict=True)]
    again = with_larger_pixels(moved, inner.pixel, wanted.pixel, inner.smoothing, lacking, straight)
    found: list[Real | None] = []
    for curve, polygon, place, few, back in zip(again, curves, places, drawn, axes, strict=True):
        curve = curve if curve is None else (curve + place) @ back.T
        found.append(_nearest(curve, polygon) if few and curve is not None else curve)
    return found


def _reduced(
    curves: Sequence[Real | None], among: Mask, own: Precision, wanted: Precision, spacings: Sequence[Real]
) -> list[Real | None]:
    """Reduce outlines, `among` others, to vertices spaced like those of polygons."""
    # Outlines of equal size, which may be equal, are spaced alike.
    order = np.unique(np.round(own.size / own.size.max(initial=1), _DIGITS), return_inverse=True)[1]
    lengths, found = np.array([len(one) for one in spacings]), list(curves)
    for row in np.flatnonzero(among).tolist():
        away = np.abs(lengths - int(wanted.vertices[row]))
        alike = np.flatnonzero(away == away.min())
        start = 0 if np.isfinite(own.vertices[row]) else order[row] * _GOLDEN % 1 - 0.5
        if (curve := curves[row]) is not None:
            curve = _spaced(curve, spacings[alike[order[row] % len(alike)]], start)
            found[row], _ = _rounded(curve, own.step[row], wanted.step[row])
    return found


def _areas(curves: Sequence[Real]) -> Real:
    offsets = np.cumsum([0, *map(len, curves)], dtype=np.int64)
    return areas_and_perimeters(np.concatenate([np.zeros((0, 2)), *curves]), offsets)[0]


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
    if size <= max(ensemble.pixel_size) * TOLERANCE:
        return ensemble
    own = np.array(ensemble.pixel_size)
    ensemble = without_small(ensemble, (size, size))
    # Variances of Gaussian filters add up: what is left of the smoothing at the larger pixels.
    left = np.maximum(smoothing * np.sqrt(1 - (own / size) ** 2), LEAST_SMOOTHING / 4)
    curves = traced_again(ensemble.curves, np.full((len(ensemble), 2), size), left)
    return _left(ensemble, curves, pixel_size=size, tracing=ensemble.tracing | {"at_pixel_size": float(size)})


def _left(ensemble: Ensemble, curves: Sequence[Real | None], **changes: Any) -> Ensemble:
    """What is left of an ensemble whose outlines became these, with other changes; those that vanished are counted."""
    rows = np.array([row for row, curve in enumerate(curves) if curve is not None], dtype=np.intp)
    dropped = ensemble.dropped
    if len(rows) < len(curves):
        dropped[VANISHED] = dropped.get(VANISHED, 0) + len(curves) - len(rows)
    return ensemble.derived([curve for curve in curves if curve is not None], rows, dropped=dropped, **changes)


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
    larger = wanted > TOLERANCE * own
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


def _center_beside(curve: Real, pixel: Real) -> Real:
    """Center of a pixel beside the origin (2,), for an outline whose vertices are on the grid of pixels (2,).

    They are on centers, wherever these are in the image, or halfway between integers: beside the edges of pixels if the
    outline follows these along rows and columns only.
    """
    curve = curve / pixel
    beside = curve[0] - np.rint(curve[0])
    alike = np.abs(curve - curve[0] - np.rint(curve - curve[0])).max() < GRID_ERROR
    oblique = (np.abs(np.roll(curve, -1, axis=0) - curve).min(axis=1) > GRID_ERROR).any()
    return pixel * np.where((alike and oblique) | (np.abs(beside) < 0.5 - GRID_ERROR), beside, 0)
