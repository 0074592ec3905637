"""Touching objects cut apart: a watershed whose basins are joined again where no neck parts them."""

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from skimage.segmentation import watershed

from .strips import by_strips, gaussian_reach

Real = NDArray[np.float64]
Mask = NDArray[np.bool_]
Labels = NDArray[np.integer]

# Peaks nearer to each other than this many pixels are one.
_APART = 3
# The landscape of grey levels is smoothed once more: texture inside an object is no neck.
_TEXTURE = 2.0


def by_distance(mask: Mask, neck: float) -> Labels:
    """Cut where an object is narrower than `neck` times the lesser of the two radii beside the neck."""
    return _split(mask, _depth(mask), neck)


def _depth(mask: Mask) -> Real:
    """Distance to what is not the mask, smoothed."""
    if mask.all():  # there is no edge to be far from
        return np.ones(mask.shape)
    farthest = int(ndimage.distance_transform_cdt(mask, metric="taxicab").max())
    return by_strips(_smoothed_distance, mask, farthest + gaussian_reach(1.0))


def _smoothed_distance(mask: Mask) -> Real:
    return ndimage.gaussian_filter(ndimage.distance_transform_edt(mask), 1.0)


def by_intensity(mask: Mask, values: Real, neck: float) -> Labels:
    """Cut where the values pass a saddle lower than `neck` times the lower peak, counted from the mask's lowest."""
    if not mask.any():
        return np.zeros(mask.shape, dtype=np.int32)
    return _split(mask, ndimage.gaussian_filter(values - values[mask].min(), _TEXTURE), neck)


def _split(mask: Mask, height: Real, neck: float) -> Labels:
    """Watershed of `height` in the mask from its peaks, without the cuts that are no neck."""
    basins = _basins(mask, height, _peaks(mask, height))
    highest = np.zeros(basins.max() + 1)
    np.maximum.at(highest, basins[mask], height[mask])
    return _joined_without_neck(basins, height, highest, neck)


def _peaks(mask: Mask, height: Real) -> Labels:
    """Number the pixels in the mask that are highest within `_APART` pixels; neighbours of one height are one peak."""
    highest = ndimage.maximum_filter(np.where(mask, height, 0), 2 * _APART + 1)
    peaks: Labels = ndimage.label(mask & (height == highest) & (height > 0))[0]
    return peaks


def _basins(mask: Mask, height: Real, peaks: Labels) -> Labels:
    """One basin per peak; only components with several need a watershed, which takes most of the time."""
    components, count = ndimage.label(mask)
    at_peak = peaks > 0
    pairs = np.unique(np.stack([components[at_peak], peaks[at_peak]], axis=1), axis=0)
    several = np.bincount(pairs[:, 0], minlength=count + 1) > 1
    only = np.zeros(count + 1, dtype=peaks.dtype)
    only[pairs[:, 0]] = pairs[:, 1]
    contested = several[components]
    flooded = watershed(-height, np.where(contested, peaks, 0), mask=contested)
    return _with_the_missed(np.where(contested, flooded, only[components]), mask)


def _with_the_missed(basins: Labels, mask: Mask) -> Labels:
    """Number the components that hold no peak as well, so that nothing of the mask is lost."""
    missed = mask & (basins == 0)
    if missed.any():
        extra, _ = ndimage.label(missed)
        basins = np.where(missed, extra + basins.max(), basins)
    return basins


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
