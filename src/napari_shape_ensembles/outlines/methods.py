"""The methods of `segment`: smoothing, thresholding, cleaning, splitting; one plane at a time."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from skimage import filters
from skimage.exposure import histogram
from skimage.morphology import isotropic_dilation, isotropic_erosion
from skimage.segmentation import slic, watershed

from .._types import Index, Labels, Mask, Real
from ..checks import unmasked
from ..progress import over_blocks, processors, report
from .multi_otsu import multi_otsu
from .recipe import TILINGS, Recipe

Value = TypeVar("Value", bound=np.generic)

#: Index pairs that align each pixel of a plane with its left, and with its upper, neighbor.
NEIGHBOURS = (np.s_[:, 1:], np.s_[:, :-1]), (np.s_[1:, :], np.s_[:-1, :])

# Weights of red, green and blue in the luminance (Rec. 709, as in scikit-image).
_LUMINANCE = np.array([0.2125, 0.7154, 0.0721])
# Minimum number of rows per thread.
_MIN_ROWS_PER_THREAD = 128
# Truncation of SciPy's Gaussian filter, in standard deviations.
_TRUNCATE_SIGMAS = 4
# Peaks closer to each other than this many pixels are one.
_MIN_PEAK_DISTANCE = 3
# Additional smoothing of gray levels before splitting: texture inside an object is not a neck.
_TEXTURE = 2.0


def labels_by_method(image: ArrayLike, settings: Recipe) -> Labels:
    """Label the objects of an image by the method of a recipe, any but "auto".

    Raises
    ------
    ValueError
        As `segment` does.
    """
    pixels = unmasked(image, "the image")
    plane = gray_plane(pixels, settings.channel)
    refuse_wider(settings, plane.shape)
    if settings.method in TILINGS and plane.dtype != bool:
        report("smoothing")
        values, _, _ = upwards(plane, settings)
        report("finding objects")
        tiles = _cells(values, settings) if settings.method == "boundaries" else _superpixels(pixels, values, settings)
        return tiles.astype(np.int32)
    values, mask = heights_and_mask(plane, settings)
    report("splitting")
    return separated(values, mask, settings)


def refuse_wider(settings: Recipe, shape: Sequence[int]) -> None:
    """Raise for filters wider than the image, which leave nothing and take time and memory by their own width."""
    rows, columns = shape
    for name in ("smoothing", "background", "opening", "closing"):
        if (width := getattr(settings, name)) > max(rows, columns):
            raise ValueError(
                f"{name} of {width:g} pixels is wider than the image ({rows} × {columns}): use less than the width "
                "of the objects"
            )


def heights_and_mask(plane: NDArray[Any], settings: Recipe) -> tuple[Real, Mask]:
    """Values of a validated plane with bright objects, and the mask of the objects, cleaned but not yet split.

    For the methods that do not tile the image.
    """
    report("smoothing")
    if plane.dtype == bool:
        values, mask = plane.astype(np.float64), plane if settings.objects == "bright" else ~plane
    else:
        values, zero, unit = upwards(plane, settings)
        report("finding objects")
        mask = above_threshold(values, zero, unit, settings)
    return values, cleaned(mask, settings)


def cleaned(mask: Mask, settings: Recipe) -> Mask:
    """Open and close the mask of the objects, fill its holes, and remove small parts, by the settings."""
    report("cleaning")
    if settings.opening:
        mask = _opened_by_disc(mask, settings.opening)
    if settings.closing:  # opening of the background, padded with it so that nothing grows along the border
        margin = int(np.ceil(settings.closing)) + 1
        mask = ~_opened_by_disc(~np.pad(mask, margin), settings.closing)[margin:-margin, margin:-margin]
    if settings.fill_holes:
        parts, count = ndimage.label(~mask)
        is_hole = np.arange(count + 1) > 0
        for side in (parts[0], parts[-1], parts[:, 0], parts[:, -1]):
            is_hole[side] = False
        mask = mask | is_hole[parts]
    return _without_small(mask, settings.min_size)


def separated(values: Real, mask: Mask, settings: Recipe) -> Labels:
    """Label the objects in the result of `heights_and_mask`."""
    if settings.split_touching == "distance":
        labels = _split_by_distance(mask, settings.neck)
    elif settings.split_touching == "intensity" and mask.any():
        labels = _split(mask, ndimage.gaussian_filter(values - values[mask].min(), _TEXTURE), settings.neck)
    else:
        labels = ndimage.label(mask)[0]
    return (only_largest(labels) if settings.largest else labels).astype(np.int32)


def only_largest(labels: NDArray[Any]) -> NDArray[Any]:
    """Keep the object with the most pixels, as label 1."""
    pixels = np.bincount(labels.ravel(), minlength=2)
    pixels[0] = 0
    return ((labels == pixels.argmax()) & (labels > 0)).astype(labels.dtype)


def gray_plane(image: NDArray[Any], channel: str | int = "luminance", *, finite: bool = True) -> NDArray[Any]:
    """Reduce an image to one validated plane, of finite values by default: colors to luminance or to one channel.

    Raises
    ------
    ValueError
        For an empty image, a stack, NaNs, or values other than real numbers.
    """
    if image.size == 0:
        raise ValueError(f"the image is empty (shape {image.shape}): choose another one")
    if image.ndim == 3 and image.shape[-1] in (3, 4):
        if channel != "luminance":
            image = image[..., int(channel)]
        elif image.dtype.kind in "biuf":  # a matrix product might depend on the position of a pixel
            red, green, blue = (np.multiply(image[..., i], _LUMINANCE[i], dtype=np.float64) for i in range(3))
            image = red + green + blue
        else:  # rejected below
            image = image[..., 0]
    if image.ndim == 0:
        raise ValueError(f"an image must be an array, not {image.item()!r:.80}: io.read_image(path).pixels reads one")
    if image.ndim != 2:
        raise ValueError(f"the image has shape {image.shape}: give one plane (rows, columns), not a stack")
    if np.iscomplexobj(image) or not (np.issubdtype(image.dtype, np.number) or image.dtype == bool):
        raise ValueError(f"the image holds {image.dtype} values: give real numbers")
    bad = image.size - np.count_nonzero(np.isfinite(image)) if finite else 0
    if bad:
        raise ValueError(f"{bad} of {image.size} pixels are NaN or infinite: fill them or crop the image")
    return image


def upwards(plane: NDArray[Any], settings: Recipe) -> tuple[Real, float, float]:
    """Smoothed values in a range of about 1, with bright objects and the background subtracted.

    Also returns the `zero` and `unit` of these values: the image value v is mapped to (v - zero) / unit.
    """
    grey = plane.astype(np.float64)
    lowest, highest = float(grey.min()), float(grey.max())
    span = highest - lowest
    if span == 0:
        raise ValueError(f"every pixel is {lowest:g}: objects cannot be told from background")
    if span == np.inf:
        raise ValueError(f"the pixels lie between {lowest:g} and {highest:g}, too far apart: rescale the values")
    unit = span if settings.objects == "bright" else -span
    values = np.subtract(grey, lowest, out=grey)
    values /= unit
    if sigma := settings.smoothing:
        values = by_strips(partial(ndimage.gaussian_filter, sigma=sigma), values, int(_TRUNCATE_SIGMAS * sigma + 0.5))
    if settings.background:
        # Background estimate: opening by a square window, which removes everything narrower, then smoothed.
        width = 2 * int(np.ceil(settings.background)) + 1
        floor = ndimage.minimum_filter(values, width, mode="nearest")
        floor = ndimage.maximum_filter(floor, width, mode="nearest")
        return values - ndimage.uniform_filter(floor, width, mode="nearest"), 0.0, unit
    return values, lowest, unit


def above_threshold(values: Real, zero: float, unit: float, settings: Recipe) -> Mask:
    """Mask of the objects by the method of the settings, from the result of `upwards`."""
    low, level = (None if given is None else (given - zero) / unit for given in (settings.low, settings.threshold))
    match settings.method:
        case "otsu":
            level = filters.threshold_otsu(values)
        case "li":
            level = filters.threshold_li(values)
        case "triangle":
            level = filters.threshold_triangle(values)
        case "multi-otsu":
            level = _otsu_levels(values, settings.classes)[-settings.object_classes]
        case "level" if settings.quantile is not None:
            share = settings.quantile if settings.objects == "bright" else 1 - settings.quantile
            level = float(np.quantile(values, share))
        case "local":
            return _above_neighbourhood(values, settings)
        case "hysteresis":
            levels = _otsu_levels(values, 3) if low is None or level is None else (0.0, 0.0)
            ends = sorted((levels[0] if low is None else low, levels[1] if level is None else level))
            return filters.apply_hysteresis_threshold(values, *ends)
    assert level is not None  # validated by the recipe
    return values > level


def _otsu_levels(values: Real, classes: int) -> Real:
    counts, levels = histogram(values.ravel())
    return multi_otsu(counts, levels, classes)


def _above_neighbourhood(values: Real, settings: Recipe) -> Mask:
    """Pixels above the mean of the window around them by a fraction of the range."""
    width = 2 * int(settings.window / 2) + 1
    return values > ndimage.uniform_filter(values, width, mode="nearest") + settings.offset * np.ptp(values)


def _opened_by_disc(mask: Mask, radius: float) -> Mask:
    if mask.all():  # there is no edge to measure a distance to
        return mask
    left = isotropic_erosion(mask, radius)
    return isotropic_dilation(left, radius) if left.any() else left


def _without_small(mask: Mask, min_size: int) -> Mask:
    """Remove components of fewer pixels."""
    if min_size <= 1:
        return mask
    components, _ = ndimage.label(mask)
    large = np.bincount(components.ravel()) >= min_size
    large[0] = False
    kept: Mask = large[components]
    return kept


def _split_by_distance(mask: Mask, neck: float) -> NDArray[np.integer]:
    """Cut where an object is narrower than `neck` times the smaller of the two radii beside the neck."""
    if mask.all():  # there is no edge to measure a distance to
        return _split(mask, np.ones(mask.shape), neck)
    farthest = int(ndimage.distance_transform_cdt(mask, metric="taxicab").max())
    depth = by_strips(
        lambda strip: ndimage.gaussian_filter(ndimage.distance_transform_edt(strip), 1.0),
        mask,
        farthest + _TRUNCATE_SIGMAS,
    )
    return _split(mask, depth, neck)


def _split(mask: Mask, height: Real, neck: float) -> NDArray[np.integer]:
    """Watershed of `height` in the mask, with basins merged where no neck separates them.

    A neck is a saddle lower than `neck` times the lower of the two peaks beside it.
    """
    # Local maxima within `_MIN_PEAK_DISTANCE` pixels; adjacent pixels of equal height are one peak.
    highest = extreme_nearby(np.where(mask, height, 0), _MIN_PEAK_DISTANCE)
    peaks = ndimage.label(mask & (height == highest) & (height > 0))[0]
    # Only components with several peaks need a watershed, which takes most of the time.
    components, count = ndimage.label(mask)
    at_peak = peaks > 0
    owners, owned = _unique_pairs(components[at_peak], peaks[at_peak])[:2]
    only = np.zeros(count + 1, dtype=peaks.dtype)
    only[owners] = owned
    contested = (np.bincount(owners, minlength=count + 1) > 1)[components]
    basins = only[components]
    if contested.any():
        basins = np.where(contested, watershed(-height, np.where(contested, peaks, 0), mask=contested), basins)
    # Components without a peak are labeled as well, so that nothing of the mask is lost.
    missed = mask & (basins == 0)
    if missed.any():
        basins = np.where(missed, ndimage.label(missed)[0] + basins.max(), basins)
    summits = np.zeros(basins.max() + 1)
    np.maximum.at(summits, basins.ravel(), height.ravel())  # with that of the background, which is not used
    # From the highest saddle down, each basin is merged with the neighbor of higher peak unless a neck separates them.
    parent = np.arange(len(summits))
    for one, other, level in passes(basins, height):
        low, high = root(parent, one), root(parent, other)
        if summits[low] > summits[high]:
            low, high = high, low
        if level > neck * summits[low]:
            parent[low] = high
    while (parent[parent] != parent).any():
        parent = parent[parent]
    merged: NDArray[np.integer] = np.unique(parent, return_inverse=True)[1][basins]
    return merged


def passes(basins: NDArray[np.integer], height: NDArray[np.floating]) -> list[tuple[int, int, float]]:
    """Adjacent basins and the height of the saddle between them; the highest first."""
    lower, upper, levels = [], [], []
    for here, there in NEIGHBOURS:
        a, b = basins[here], basins[there]
        touching = (a != b) & (a > 0) & (b > 0)
        a, b = a[touching], b[touching]
        lower.append(np.minimum(a, b))
        upper.append(np.maximum(a, b))
        levels.append(np.minimum(height[here][touching], height[there][touching]))
    low, high, index = _unique_pairs(np.concatenate(lower), np.concatenate(upper))
    highest = np.full(len(low), -np.inf)
    np.maximum.at(highest, index, np.concatenate(levels))
    order = np.argsort(-highest, kind="stable")
    return list(zip(low[order].tolist(), high[order].tolist(), highest[order].tolist(), strict=True))


def root(parent: Index, node: int) -> int:
    """Root of the tree that a node belongs to, in a forest of parents; paths to it are shortened."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = int(parent[node])
    return node


def extreme_nearby(values: NDArray[Value], reach: int, choose: np.ufunc = np.maximum) -> NDArray[Value]:
    """Maximum, or minimum, within the square of 2 × reach + 1 pixels; several times faster than SciPy's for few."""
    for _ in values.shape:
        values = values.T  # rows of one order in memory, columns of the other
        nearby = values.copy(order="K")
        for step in range(1, reach + 1):
            choose(nearby[step:], values[:-step], out=nearby[step:])
            choose(nearby[:-step], values[step:], out=nearby[:-step])
        values = nearby
    return values


def crofton_perimeters(labels: NDArray[np.integer], count: int) -> Real:
    """Lengths of the outlines of the labels 1 to `count` within a plane, by the Crofton formula in four directions."""
    steps = np.zeros(count + 1)
    later, earlier = slice(1, None), slice(None, -1)
    diagonals = ((later, later), (earlier, earlier)), ((later, earlier), (earlier, later))
    for (here, there), weight in zip((*NEIGHBOURS, *diagonals), (1, 1, 0.5**0.5, 0.5**0.5), strict=True):
        a, b = labels[here], labels[there]
        differ = np.flatnonzero(a != b)  # several times faster than a mask as an index
        steps += weight * sum(np.bincount(side.ravel()[differ], minlength=count + 1) for side in (a, b))
    return steps[1:] * np.pi / 8


def _unique_pairs(one: NDArray[np.integer], other: NDArray[np.integer]) -> tuple[Index, Index, Index]:
    """Unique pairs of non-negative integers, sorted, and the index of every given pair among them."""
    width = int(other.max(initial=0)) + 1
    pairs, index = np.unique(one.astype(np.int64) * width + other, return_inverse=True)  # unique over rows is slower
    return *np.divmod(pairs, width), index


def _cells(values: Real, settings: Recipe) -> NDArray[np.integer]:
    """Cells between lines that are lower than their surroundings; neighbors meet along the bottom of the line.

    Gaps in a line are closed if they are narrower than a neck (`split_touching`).
    """
    inside = _without_small(~_above_neighbourhood(-values, settings), settings.min_size)
    split = settings.split_touching != "none"
    parts = _split_by_distance(inside, settings.neck) if split else ndimage.label(inside)[0]
    if not parts.any():
        raise ValueError("no cells found between the lines: lower the offset, or swap bright and dark")
    return watershed(-values, parts)


def _superpixels(image: NDArray[np.generic], values: Real, settings: Recipe) -> NDArray[np.integer]:
    """SLIC regions, merged by similar color, restricted to those on the objects' side (or all)."""
    coloured = image.ndim == 3 and settings.channel == "luminance"
    colours = image[..., :3].astype(np.float64) if coloured else values[..., None]
    colours = (colours - colours.min()) / np.ptp(colours)
    fine = slic(
        colours,
        n_segments=settings.superpixels,
        compactness=settings.compactness,
        channel_axis=-1,
        convert2lab=False,
        start_label=0,
    )
    # Adjacent regions that differ by less than `merge` in color are merged.
    means = _region_means(fine, colours)
    pairs = np.concatenate([np.stack([fine[here].ravel(), fine[there].ravel()]) for here, there in NEIGHBOURS], axis=1)
    pairs = np.unique(pairs[:, pairs[0] != pairs[1]], axis=1)
    alike = np.linalg.norm(means[pairs[0]] - means[pairs[1]], axis=-1) < settings.merge * np.sqrt(means.shape[1])
    links = coo_array((np.ones(alike.sum()), pairs[:, alike]), shape=(len(means),) * 2)
    merged: NDArray[np.integer] = connected_components(links, directed=False)[1][fine]
    if settings.all_regions:
        return merged + 1
    heights = _region_means(merged, values[..., None])[:, 0]
    chosen = heights > filters.threshold_otsu(heights) if len(heights) > 1 else heights > heights.min()
    chosen &= np.bincount(merged.ravel()) >= settings.min_size
    return np.where(chosen, np.cumsum(chosen), 0)[merged]


def _region_means(regions: NDArray[np.integer], colours: Real) -> Real:
    """Mean color of regions 0, 1, …, (regions, channels)."""
    flat = regions.ravel()
    sums = [np.bincount(flat, channel.ravel()) for channel in np.moveaxis(colours, -1, 0)]
    return np.stack(sums, axis=-1) / np.bincount(flat)[:, None]


def by_strips(work: Callable[[NDArray[Any]], NDArray[Value]], plane: NDArray[np.generic], reach: int) -> NDArray[Value]:
    """Apply a filter that reaches at most `reach` rows to horizontal strips, in parallel."""
    rows = max(_MIN_ROWS_PER_THREAD, -(-len(plane) // processors()))
    if 2 * reach > rows:  # strips would be mostly margin
        return work(plane)
    starts = range(0, len(plane), rows)
    strips = over_blocks(work, [plane[max(start - reach, 0) : start + rows + reach] for start in starts])
    return np.concatenate([strip[min(start, reach) :][:rows] for start, strip in zip(starts, strips, strict=True)])
