"""Touching objects cut apart: a watershed whose basins are joined again where no neck parts them.

The basin of a summit is all that climbs to it, each pixel to the highest of its four neighbours. This is the watershed
by steepest descent, turned upside down; it needs no queue, so every step is one over all pixels at once.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from .strips import by_strips, gaussian_reach

Real = NDArray[np.floating]
Mask = NDArray[np.bool_]
Labels = NDArray[np.integer]
Index = NDArray[np.intp]

# Summits nearer to each other than this many pixels are one.
_APART = 3
# The landscape of grey levels is smoothed once more: texture inside an object is no neck.
_TEXTURE = 2.0


def by_distance(mask: Mask, neck: float) -> Labels:
    """Cut where an object is narrower than `neck` times the lesser of the two radii beside the neck."""
    if mask.all():  # there is nothing to be far from
        return np.ones(mask.shape, dtype=np.int32)
    farthest = int(ndimage.distance_transform_cdt(mask, metric="taxicab").max())
    return _split(mask, by_strips(_smoothed_distance, mask, farthest + gaussian_reach(1.0)), neck)


def _smoothed_distance(mask: Mask) -> NDArray[np.float32]:
    return ndimage.gaussian_filter(ndimage.distance_transform_edt(mask).astype(np.float32), 1.0)


def by_intensity(mask: Mask, values: Real, neck: float) -> Labels:
    """Cut where the values pass a saddle lower than `neck` times the lower peak, counted from the mask's lowest."""
    if not mask.any():
        return np.zeros(mask.shape, dtype=np.int32)
    return _split(mask, ndimage.gaussian_filter(values - values[mask].min(), _TEXTURE), neck)


def _split(mask: Mask, height: Real, neck: float) -> Labels:
    """Basins of `height` in the mask, without the cuts that are no neck."""
    inside = np.flatnonzero(mask)
    uphill = _uphill(mask, height, inside)
    summits = np.flatnonzero(uphill == np.arange(len(uphill)))
    number = np.zeros(len(inside), dtype=np.intp)
    number[summits] = np.arange(1, len(summits) + 1)
    basins = np.zeros(mask.shape, dtype=np.intp)
    basins.ravel()[inside] = number[_climbed(uphill)]
    peaks = np.concatenate([[0], _peaks(height, inside[summits])])
    return _joined_without_neck(basins, height, peaks, neck)


def _uphill(mask: Mask, height: Real, inside: Index) -> Index:
    """For each pixel inside, which of them it climbs to in one step; a summit stays where it is.

    Of equally high pixels the later one is the higher, so that a flat top has one summit and no walk goes in a circle.
    """
    width = mask.shape[1] + 1  # one empty column keeps a step sideways from reaching another row
    padded = np.full((mask.shape[0] + 2, width), -np.inf, dtype=height.dtype)
    padded[1:-1, :-1] = np.where(mask, height, -np.inf)
    flat, middle = padded.ravel(), slice(width, padded.size - width)
    highest, step = flat[middle].copy(), np.zeros(mask.shape[0] * width, dtype=np.intp)
    for away, above in ((-width, np.greater), (-1, np.greater), (1, np.greater_equal), (width, np.greater_equal)):
        beside = flat[middle.start + away : middle.stop + away]
        higher = above(beside, highest)
        np.copyto(highest, beside, where=higher)
        np.copyto(step, away, where=higher)
    places = inside + inside // mask.shape[1]
    number = np.empty(step.size, dtype=np.intp)
    number[places] = np.arange(len(inside))
    return number[places + step[places]]


def _climbed(uphill: Index) -> Index:
    """Where each walk ends: twice as far in every round."""
    while not np.array_equal(further := uphill[uphill], uphill):
        uphill = further
    return uphill


def _peaks(height: Real, summits: Index) -> Real:
    """Heights of summits; 0 for a lesser one beside another, so that whatever it touches takes it in."""
    reach = range(-_APART, _APART + 1)
    padded = np.pad(height, _APART)
    row, column = (axis + _APART for axis in np.unravel_index(summits, height.shape))
    around = np.max([padded[row + down, column + right] for down in reach for right in reach], axis=0, initial=0)
    own = height.ravel()[summits]
    return np.where(own < around, 0, own)


def _joined_without_neck(basins: Labels, height: Real, peaks: Real, neck: float) -> Labels:
    """Join neighbouring basins again unless the pass between them is clearly lower than both of their peaks."""
    pairs, passes = _passes(basins, height)
    parent = np.arange(len(peaks))
    for (one, other), level in sorted(zip(pairs.tolist(), passes.tolist(), strict=True), key=lambda item: -item[1]):
        one, other = _root(parent, one), _root(parent, other)
        if one != other and level > neck * min(peaks[one], peaks[other]):
            low, high = sorted((one, other), key=lambda basin: peaks[basin])
            parent[low] = high
    roots = np.array([_root(parent, basin) for basin in range(len(parent))])
    _, merged = np.unique(roots, return_inverse=True)
    return merged[basins]


def _root(parent: NDArray[np.integer], basin: int) -> int:
    while parent[basin] != basin:
        basin = int(parent[basin])
    return basin


def _passes(basins: Labels, height: Real) -> tuple[Labels, Real]:
    """Pairs of basins that touch, and the highest point on the line between them."""
    found, levels = [], []
    for here, there in neighbours():
        a, b = basins[here], basins[there]
        touching = (a != b) & (a > 0) & (b > 0)
        found.append(np.sort(np.stack([a[touching], b[touching]], axis=1), axis=1))
        levels.append(np.minimum(height[here], height[there])[touching])
    pairs, index = np.unique(np.concatenate(found), axis=0, return_inverse=True)
    highest = np.zeros(len(pairs))
    np.maximum.at(highest, index.ravel(), np.concatenate(levels))
    return pairs, highest


def neighbours() -> tuple[tuple[tuple[slice, slice], tuple[slice, slice]], ...]:
    """Index pairs that lay each pixel of a plane on its left, and on its upper, neighbour."""
    every, later, earlier = slice(None), slice(1, None), slice(None, -1)
    return ((every, later), (every, earlier)), ((later, every), (earlier, every))
