"""Trace outlines again from pixels that are larger than those they were traced from, or smoothed more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._types import Index, Mask, Real
from ..compiled import kernels
from ..progress import over_blocks
from .offsets import following
from .precision import GRID_ERROR, TOLERANCE
from .tracing import TRUNCATE_SIGMAS

# Decimals of pixels that are not rounding errors.
_DIGITS = 6
# Least simulated smoothing, relative to the simulated pixels.
LEAST_SMOOTHING = 0.5
# Simulated pixels are turned by half the angle between rows and diagonals: parts of an outline that its first pixels
# made straight along either would be moved as a whole by pixels in the same direction, where a curve averages them.
_TURN = np.pi / 8
# ... where their sides and the smoothing in both directions are in proportion, but for this factor.
_MAX_UNEQUAL = 1.25
# Edges along rows and columns are straight at any pixel size: an outline that consists of them, but for this length at
# its corners, in standard deviations of its smoothing, has no errors of pixels in its waves, and is only smoothed.
_CORNERS, _MAX_SLOPE = 20.0, 0.02
# Standard deviation of simulated smoothing in units of its raster, at least.
_FINENESS = 1.5
# Outlines through the outermost pixels of objects have fewer right angles per pixel than this: 0.01 in the mean of 40
# that are 20 pixels across, where vertices rounded to whole pixels have 0.2 to 0.6.
_RARE_TURNS = 0.05
# Weight of the errors of pixels in outlines that were rounded to their centers, and have most of these errors already:
# of 0.35, 0.5, 0.65 and 1 the one with which wavy circles 60 and 80 pixels across differ least from exact ones.
_ROUNDED_WEIGHT = 0.65
# Outlines that are traced again per block.
_BLOCK = 32


def with_larger_pixels(
    curves: Sequence[Real], own: Real, wanted: Real, smoothing: Real, lacking: Real, straight: Mask
) -> list[Real | None]:
    """Trace outlines of `own` pixels (N, 2) as from the larger pixels wanted (N, 2), smoothed by what is `lacking`.

    Variances of filters add up. So do those of errors of pixels, per length of the outline, as lengths to the third
    power: errors of the larger pixels have the weight that makes up for the variance of those of the first. They are
    smoothed by the first `smoothing` (N, 2), too, as the outline has been. Its edge is as sharp as before, so that it
    is moved less, and errors are to be larger in proportion. Where edges are `straight` along the own pixels, neither
    have errors. None for an outline that vanishes.
    """
    coarse = np.maximum(wanted, own)
    added = np.where(wanted > TOLERANCE * own, coarse**3 - own**3, 0)
    # What is only smoothed needs no particular pixels.
    coarse = np.where(coarse.any(axis=1, keepdims=True), coarse, lacking)
    coarse = np.maximum(coarse, coarse.max(axis=1, keepdims=True) / 4)
    lacking = np.maximum(lacking, LEAST_SMOOTHING * np.maximum(np.cbrt(added), coarse.max(axis=1, keepdims=True) / 4))
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


def along_grid(curves: Sequence[Real], pixel: Real, smoothing: Real) -> Mask:
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


def traced_again(curves: Sequence[Real], pixel: Real, sigma: Real) -> list[Real | None]:
    """Rasterize outlines at pixels of their own (N, 2), smooth them by sigma (2,) of these pixels, and trace them.

    None for an outline that vanishes.
    """
    one = np.ones(len(curves))
    return _retraced(curves, pixel, 0 * one, one.astype(np.int64), one, _without_own(sigma, len(curves)))


def masks_traced_again(masks: Sequence[Real], pixel: Real) -> list[Real | None]:
    """Trace outlines that follow the boundaries of pixels (N, 2) from these, smoothed by one pixel.

    Coordinates next to multiples of half a pixel are these. If outlines pass through the centers of pixels with few
    right angles, these pixels belong to them; with many, vertices were rounded to them. None for an outline that
    vanishes.
    """
    one = np.ones(len(masks))
    in_pixels = [_on_halves(mask / side) for mask, side in zip(masks, pixel, strict=True)]
    turns = np.median([_turns(mask) for mask in in_pixels] or [np.nan])
    weight = one * (_ROUNDED_WEIGHT if turns > _RARE_TURNS else 1.0)
    through_centers = bool(turns <= _RARE_TURNS)
    filters = _without_own(np.ones(2), len(masks))
    found = _retraced(
        in_pixels, np.ones((len(masks), 2)), 0 * one, one.astype(np.int64), weight, filters, through_centers
    )
    return [curve if curve is None else curve * side for curve, side in zip(found, pixel, strict=True)]


def _on_halves(curve: Real) -> Real:
    halves = np.rint(2 * curve) / 2
    return np.where(np.abs(curve - halves) < GRID_ERROR, halves, curve)


def _without_own(sigma: Real, count: int) -> Real:
    """Filters (2, N, 2) of sigma (2,) pixels, without one of the errors of pixels alone."""
    width = np.tile(sigma, (count, 1))
    return np.stack([0 * width, width])


def _turns(curve: Real) -> float:
    """Share of right angles, per pixel, in an outline along rows, columns and diagonals through the centers of pixels.

    NaN for another outline. OpenCV and Cellpose write outlines through the outermost pixels of an object, which go
    around corners by diagonal steps; vertices that were rounded to whole pixels often turn from a row to a column.
    """
    edges = np.roll(curve, -1, axis=0) - curve
    shorter, longer = np.sort(np.abs(edges), axis=1).T
    straight, diagonal = shorter < GRID_ERROR, np.abs(longer - shorter) < GRID_ERROR
    at_centers = np.abs(curve - np.rint(curve)).max() < GRID_ERROR
    if not at_centers or not diagonal.any() or not (straight | diagonal).all():
        return np.nan
    across = np.abs(np.sum(edges * np.roll(edges, -1, axis=0), axis=1)) < GRID_ERROR
    return float(np.sum(straight & np.roll(straight, -1) & across) / longer.sum())


def _retraced(
    curves: Sequence[Real],
    side: Real,
    angle: Real,
    parts: Index,
    weight: Real,
    sigma: Real,
    through_centers: bool = False,
) -> list[Real | None]:
    """Trace outlines again from pixels with sides (N, 2), turned by an angle (N,), with filters (2, N, 2).

    See `kernels.retrace`.
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
