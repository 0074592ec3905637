"""Planes divided between neighbours: cells between dark lines, and superpixels merged by colour."""

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from skimage.filters import threshold_otsu
from skimage.segmentation import slic, watershed

from .cleanup import without_small
from .plane import is_colour
from .recipe import Recipe
from .split import by_distance, neighbours
from .threshold import local

Real = NDArray[np.float64]
Labels = NDArray[np.integer]


def cells(values: Real, settings: Recipe) -> Labels:
    """Cells between lines that are lower than what surrounds them; neighbours meet along the bottom of the line.

    Gaps in a line are closed where they are narrower than a neck (`split_touching`).
    """
    inside = ~local(-values, settings)
    inside = without_small(inside, settings.min_size)
    parts = by_distance(inside, settings.neck) if settings.split_touching != "none" else ndimage.label(inside)[0]
    if not parts.any():
        raise ValueError("no cell lies between the lines: lower the offset, or choose the other kind of lines")
    return watershed(-values, parts)


def superpixels(image: NDArray[np.generic], values: Real, settings: Recipe) -> Labels:
    """SLIC regions, those of like colour merged, and of these the ones on the objects' side (or all)."""
    colours = _unit_range(
        image[..., :3].astype(np.float64) if is_colour(image) and settings.channel == "luminance" else values[..., None]
    )
    fine = slic(
        colours,
        n_segments=settings.superpixels,
        compactness=settings.compactness,
        channel_axis=-1,
        convert2lab=False,
        start_label=0,
    )
    merged = _merged(fine, _means(fine, colours), settings.merge)
    if settings.all_regions:
        return merged + 1
    means = _means(merged, values[..., None])[:, 0]
    chosen = means > threshold_otsu(means) if len(means) > 1 else means > means.min()
    chosen &= np.bincount(merged.ravel()) >= settings.min_size
    return np.where(chosen, np.cumsum(chosen), 0)[merged]


def _unit_range(colours: Real) -> Real:
    return (colours - colours.min()) / np.ptp(colours)


def _means(regions: Labels, colours: Real) -> Real:
    """Mean colour of regions 0, 1, …, (regions, channels)."""
    flat = regions.ravel()
    sums = [np.bincount(flat, channel.ravel()) for channel in np.moveaxis(colours, -1, 0)]
    return np.stack(sums, axis=-1) / np.bincount(flat)[:, None]


def _merged(regions: Labels, means: Real, nearness: float) -> Labels:
    """Join regions that touch and differ by less than `nearness` in colour; numbers from 0."""
    pairs = np.concatenate(
        [np.stack([regions[here].ravel(), regions[there].ravel()]) for here, there in neighbours()], axis=1
    )
    pairs = np.unique(pairs[:, pairs[0] != pairs[1]], axis=1)
    alike = np.linalg.norm(means[pairs[0]] - means[pairs[1]], axis=-1) < nearness * np.sqrt(means.shape[1])
    links = coo_array((np.ones(alike.sum()), pairs[:, alike]), shape=(len(means),) * 2)
    return connected_components(links, directed=False)[1][regions]
