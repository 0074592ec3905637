"""Masks tidied: thin parts off, gaps closed, holes filled, specks out."""

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from skimage.morphology import isotropic_closing, isotropic_opening

from .recipe import Recipe

Mask = NDArray[np.bool_]


def clean(mask: Mask, settings: Recipe) -> Mask:
    """Open, close, fill and drop specks, in this order."""
    if settings.opening:
        mask = isotropic_opening(mask, settings.opening)
    if settings.closing:
        mask = _closed(mask, settings.closing)
    if settings.fill_holes:
        mask = _filled(mask)
    return without_small(mask, settings.min_size)


def _closed(mask: Mask, radius: float) -> Mask:
    """Closing as if the plane went on, empty, beyond its border; nothing grows along the border."""
    margin = int(np.ceil(radius)) + 1
    closed: Mask = isotropic_closing(np.pad(mask, margin), radius)[margin:-margin, margin:-margin]
    return closed


def _filled(mask: Mask) -> Mask:
    """With every part of the background that does not reach the border."""
    ground, count = ndimage.label(~mask)
    is_open = np.zeros(count + 1, dtype=bool)
    for side in (ground[0], ground[-1], ground[:, 0], ground[:, -1]):
        is_open[side] = True
    is_open[0] = False
    return ~is_open[ground]


def without_small(mask: Mask, min_size: int) -> Mask:
    """Drop components of fewer pixels."""
    if min_size <= 1:
        return mask
    components, _ = ndimage.label(mask)
    large = np.bincount(components.ravel()) >= min_size
    large[0] = False
    kept: Mask = large[components]
    return kept
