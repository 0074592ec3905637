"""Outlines of images too large for memory: segmented tile by tile into the labels of the whole image.

What a threshold needs of the whole image, its range and a histogram, is accumulated per tile, with a margin as wide as
the smoothing filter. The mask is stored packed, at most one bit per pixel. Holes and noise are its connected
components, joined across the seams; touching objects are split one cluster at a time, in a window that holds the whole
cluster.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from skimage import filters

from .._types import Mask, Real
from ..budget import limit_of
from ..checks import unmasked
from ..progress import each_block, one_processor, processors, report
from .ensemble import Ensemble
from .methods import above_neighbourhood, closed_by_disc, gray_plane, opened_by_disc, refuse_wider, separated, upwards
from .multi_otsu import multi_otsu
from .packed import Box, ConnectedComponents, PackedMask, components_of, of_components, pack, unpack
from .recipe import TILINGS, Recipe
from .tiles import Boxes, joined, tiles_of
from .tracing import pixel_of, traced_labels

Item = TypeVar("Item")
Result = TypeVar("Result")
#: Maps a function over items, in threads or other processes; results in the items' order.
Over = Callable[[Callable[[Item], Result], Sequence[Item]], Iterable[Result]]

#: Side of a tile in pixels: 2048 takes a sixth longer and half as much memory again, 512 two fifths longer.
TILE = 1024
# Context of a cluster of objects that affects how it is split: peaks are compared over 3 pixels, of heights smoothed
# over 8, or of distances to an edge that is nearer than 10 and smoothed over 4.
_MARGIN = 18
# Memory per pixel, in bytes, for smoothing and thresholding, or for splitting and tracing its objects.
_BYTES_PER_PIXEL = 64
# Windows are up to twice as high and wide as a tile, and twice as many as are processed in parallel are queued.
_WINDOW_MEMORY_FACTOR = 8
# Above this size, tiles are multiples of it: whole chunks of most files.
_CHUNK = 256
_BINS = 256
# Truncation of SciPy's Gaussian filter, in standard deviations.
_TRUNCATE_SIGMAS = 4


@dataclass(frozen=True, eq=False)
class SmoothedImage:
    """Values of an image that `segment` compares with a threshold, computed per box.

    Attributes
    ----------
    image : (rows, columns) array, or with a last axis of 3 or 4 for RGB(A)
        Any array-like with shape, dtype and slicing.
    recipe : Recipe
    ends : (float, float)
        Minimum and maximum of the image.
    """

    image: Any
    recipe: Recipe
    ends: tuple[float, float] = (0.0, 0.0)

    @property
    def reach(self) -> int:
        """Radius in pixels of the neighborhood that a value depends on."""
        # Background subtraction applies a minimum, a maximum and a mean filter of one width.
        return int(_TRUNCATE_SIGMAS * self.recipe.smoothing + 0.5) + 3 * int(np.ceil(self.recipe.background))

    @property
    def is_mask(self) -> bool:
        """Whether the image itself is the mask; colors of any type are converted to luminance instead."""
        grey = len(self.image.shape) == 3 and self.recipe.channel == "luminance"
        return bool(np.dtype(self.image.dtype) == bool) and not grey

    def plane(self, box: Box) -> NDArray[Any]:
        """Validated pixels of a box."""
        top, left, bottom, right = box
        try:
            return gray_plane(unmasked(self.image[top:bottom, left:right], "the image"), self.recipe.channel)
        except ValueError as error:
            raise ValueError(f"the tile at row {top}, column {left}: {error}") from error

    def within(self, box: Box) -> tuple[Real, float, float]:
        """Result of `upwards` for the whole image, within a box."""
        wide = grown(box, self.reach, self.image.shape)
        plane = self.plane(wide)
        if self.is_mask:
            values, zero, unit = plane.astype(np.float64), 0.0, 1.0
        else:
            with one_processor():
                values, zero, unit = upwards(plane, self.recipe, self.ends)
        return inner(values, wide, box), zero, unit


@dataclass(frozen=True, eq=False)
class ObjectWindow:
    """Clusters of objects that are split and traced together, and the part of the mask that affects the result.

    Attributes
    ----------
    box : (int, int, int, int)
        Top, left, bottom and right of the window.
    mask : bytes
        Packed mask of all pixels in it.
    core : (int, int, int, int)
        The tile in which the bounding boxes of the clusters start, or the bounding box of a cluster larger than a tile.
    alone : bool
        Whether it is a single cluster.
    values : SmoothedImage
        Values of the image.
    lowest : float, optional
        Lowest value in the mask of the whole image, if objects are split by intensity.
    """

    box: Box
    mask: bytes
    core: Box
    alone: bool
    values: SmoothedImage
    lowest: float | None = None

    def trace(self, *, scale: Sequence[float] = (1, 1), unit: str = "pixel", name: str = "") -> Ensemble:
        """Outlines of the objects in the coordinates of the image; ids are indices of its pixels, from 1.

        An object's id is the index of its first pixel in row-major order; holes have ids below 0.
        """
        recipe, (rows, columns) = self.values.recipe, self.values.image.shape[:2]
        top, left, bottom, right = self.box
        mask = unpack(self.mask, bottom - top, right - left)
        clusters, _ = ndimage.label(mask)
        own = np.append(False, self._are_own(ndimage.find_objects(clusters), (rows, columns)))
        heights = self.values.within(self.box)[0] if recipe.split_touching == "intensity" else np.empty((0, 0))
        with one_processor():
            labels = separated(heights, mask, recipe, self.lowest)
            labels[~own[clusters]] = 0
            found = Ensemble(**traced_labels(labels, recipe, scale=scale, unit=unit, name=name))
        ids, places = found.ids.copy(), np.flatnonzero(labels)[::-1]
        first = np.zeros(labels.max(initial=0) + 1, np.int64)
        first[labels.ravel()[places]] = places  # assigned in reverse: the first pixel is written last
        row, column = np.divmod(first[ids[ids > 0]], right - left)
        ids[ids > 0] = (row + top) * columns + column + left + 1
        offset = np.array([top, left]) * pixel_of(scale)
        return found.derived([curve + offset for curve in found.curves], ids=ids)

    def _are_own(self, places: Sequence[tuple[slice, slice]], shape: tuple[int, int]) -> Mask:
        """Which clusters in the mask, by their slices, belong to this window."""
        corner = np.array(self.box[:2])
        first = np.array([[side.start for side in place] for place in places], np.int64).reshape(-1, 2) + corner
        last = np.array([[side.stop for side in place] for place in places], np.int64).reshape(-1, 2) + corner
        if self.alone:
            return np.asarray((np.hstack([first, last]) == self.core).all(axis=1))
        # Clusters cut by the sides of the window start elsewhere, or are larger than a tile.
        cut = (first == corner) & (corner > 0) | (last == self.box[2:]) & (last < shape)
        low, high = np.array(self.core[:2]), np.array(self.core[2:])
        own: Mask = (~cut & (first >= low) & (first < high) & (last - first <= (high - low).max())).all(axis=1)
        return own


def grown(box: Box, margin: int, shape: Sequence[int]) -> Box:
    """Expand a box by a margin, clipped to the plane."""
    top, left, bottom, right = box
    return max(top - margin, 0), max(left - margin, 0), min(bottom + margin, shape[0]), min(right + margin, shape[1])


def inner(values: NDArray[Any], wide: Box, box: Box) -> NDArray[Any]:
    """Crop values of a wide box to a box inside it."""
    top, left = box[0] - wide[0], box[1] - wide[1]
    return values[top : top + box[2] - box[0], left : left + box[3] - box[1]]


def outlines_of_large_image(
    image: Any,
    recipe: Recipe,
    *,
    scale: Sequence[float] = (1, 1),
    unit: str = "pixel",
    name: str = "",
    tile: int = TILE,
    memory: float | None = None,
) -> Ensemble:
    """Segment and trace an image of any size tile by tile; the result is that of the whole image.

    Parameters
    ----------
    image : (rows, columns) array, or with a last axis of 3 or 4 for RGB(A)
        A Zarr, Dask or memory-mapped array, or any array-like with shape, dtype and slicing.
    recipe : Recipe
        With a method of one threshold, or `local`.
    scale, unit, name
        As in `extract_curves`.
    tile : int, optional
        Maximum side of a tile in pixels, reduced as the memory limit requires.
    memory : float, optional
        Memory limit in GiB; by default 4.

    Returns
    -------
    Ensemble
        Independent of the tiles: an object's id is the index of its first pixel in row-major order, from 1, and the
        objects are in this order.

    Raises
    ------
    ValueError
        For input that `segment` rejects, a recipe that needs the whole image at once, or a cluster of objects that
        exceeds the memory limit, with a remedy.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Outlines
    >>> from napari_shape_ensembles.outlines.large_images import outlines_of_large_image
    >>> rows, columns = np.indices((60, 120))
    >>> image = 1.0 * (np.hypot(rows - 30, columns - 30) < 15) + 1.0 * (np.hypot(rows - 30, columns - 85) < 20)
    >>> outlines_of_large_image(image, Outlines(), tile=50).to_dataframe()[["id", "area"]].round()
         id    area
    0  1400  1249.0
    1  1946   701.0
    """
    windows = object_windows(image, recipe, tile=tile, memory=memory)
    trace = partial(_traced, scale=scale, unit=unit, name=name)
    found = [
        Ensemble(**traced_labels(np.zeros((1, 1), np.int32), recipe, scale=scale, unit=unit))
    ]  # without any object
    report("tracing outlines", 0, len(windows))
    for place, ensemble in enumerate(_retrying_alone(trace, windows), start=1):
        report("tracing outlines", place, len(windows))
        found.append(ensemble)
    return joined(found, name=name, unit=unit, scale=scale, by_id=True)


def _traced(window: ObjectWindow, **what: Any) -> Ensemble:
    return window.trace(**what)


def _retrying_alone(trace: Callable[[ObjectWindow], Ensemble], windows: Sequence[ObjectWindow]) -> Iterator[Ensemble]:
    """Trace the windows in parallel, then one at a time those that may take all the memory."""
    yield from each_block(trace, [window for window in windows if not window.alone])
    yield from map(trace, [window for window in windows if window.alone])


def object_windows(
    image: Any, recipe: Recipe, *, tile: int = TILE, memory: float | None = None, over: Over[Any, Any] = each_block
) -> list[ObjectWindow]:
    """Find the objects of an image of any size; parameters as for `outlines_of_large_image`.

    Parameters
    ----------
    over : callable
        Maps a module-level function over what is read of every tile, possibly in other processes.
    """
    _refuse_untileable(recipe)
    shape = _shape_of(image)
    refuse_wider(recipe, shape)
    memory = limit_of(memory)
    tile = _tile_of(memory, tile)
    values = SmoothedImage(image, recipe)
    _refuse_wide_filters(values, tile, memory)
    run = _Passes(tiles_of(shape, tile), over)
    if not values.is_mask:
        ends = list(run("reading the image", partial(_ends, values)))
        values = SmoothedImage(image, recipe, (min(low for low, _ in ends), max(high for _, high in ends)))
    mask = _mask_of(values, run, PackedMask(shape, tile, []))
    lowest = None
    if recipe.split_touching == "intensity":
        lowest = min(
            run("finding the lowest value", partial(_lowest, values), list(zip(run.tiles, mask.packed, strict=True)))
        )
    return _windows(mask, components_of(mask, partial(run.here, "finding objects")), values, lowest, memory)


@dataclass
class _Passes:
    """Run work on every tile and report its progress."""

    tiles: list[Box]
    over: Over[Any, Any]

    def __call__(
        self, name: str, work: Callable[[Any], Result], items: Sequence[Any] | None = None
    ) -> Iterator[Result]:
        """Run work that reads the image, on every tile or on one item per tile."""
        return self._with_progress(name, self.over(work, self.tiles if items is None else items))

    def here(self, name: str, work: Callable[[int], Result]) -> Iterator[Result]:
        """Run work on data in memory, by the index of the tile."""
        return self._with_progress(name, each_block(work, range(len(self.tiles))))

    def _with_progress(self, name: str, results: Iterable[Result]) -> Iterator[Result]:
        report(name, 0, len(self.tiles))
        for place, result in enumerate(results, start=1):
            report(name, place, len(self.tiles))
            yield result


def _refuse_untileable(recipe: Recipe) -> None:
    """Raise for recipes whose result at a pixel depends on more than a threshold, its neighborhood and its cluster."""
    instead = {
        "auto": "choose the recipe on a typical part of it (propose), and give that",
        "li": "choose otsu or triangle, or give the threshold found on a typical part (manual)",
        **dict.fromkeys(TILINGS, "segment it with a tool for large images, and give its labels"),
    }
    what, remedy = f"method {recipe.method}", instead.get(recipe.method, "")
    if recipe.find is not None:
        what, remedy = "a model or another segmenter", "save its labels as OME-Zarr, part by part, and use these"
    elif recipe.method == "level" and recipe.quantile is not None:
        what, remedy = "a quantile", "give the threshold"
    elif recipe.largest:
        what, remedy = "largest object only", "give a smaller copy of it, or turn that off"
    if remedy:
        raise ValueError(
            f"an image larger than memory cannot be segmented tile by tile by {what}: {remedy}; or raise the limit "
            "(memory=, on the command line --memory)"
        )


def _shape_of(image: Any) -> tuple[int, int]:
    shape = tuple(image.shape)
    if 0 in shape:
        raise ValueError(f"the image is empty (shape {shape}): choose another one")
    if len(shape) != 2 and not (len(shape) == 3 and shape[-1] in (3, 4)):
        raise ValueError(f"the image has shape {shape}: give one plane (rows, columns), not a stack")
    return int(shape[0]), int(shape[1])


def _tile_of(memory: float, most: int) -> int:
    """Side of tiles such that those processed in parallel fit in memory."""
    side = int(np.sqrt(memory * 2**30 / (_WINDOW_MEMORY_FACTOR * _BYTES_PER_PIXEL * processors())))
    return min(most, side // _CHUNK * _CHUNK if side >= _CHUNK else max(side, 1))


def _refuse_wide_filters(values: SmoothedImage, tile: int, memory: float) -> None:
    recipe, (rows, columns) = values.recipe, values.image.shape[:2]
    around = values.reach + (int(recipe.window) if recipe.method == "local" else 0)
    around = max(around, 2 * int(np.ceil(max(recipe.opening, recipe.closing))) + 2)
    need = min(tile + 2 * around, rows) * min(tile + 2 * around, columns) * _BYTES_PER_PIXEL / 2**30
    if need > memory:
        raise ValueError(
            f"smoothing, background, window, opening and closing reach {around} pixels around a tile, which takes "
            f"{need:.3g} GiB; the limit is {memory:g}: use smaller ones, or raise the limit (memory=, on the "
            "command line --memory)"
        )


def _ends(values: SmoothedImage, tile: Box) -> tuple[float, float]:
    """Minimum and maximum of the image in a tile."""
    plane = values.plane(tile)
    return float(plane.min()), float(plane.max())


def _range(values: SmoothedImage, tile: Box) -> tuple[float, float]:
    """Minimum and maximum of the smoothed values in a tile."""
    smooth = values.within(tile)[0]
    return float(smooth.min()), float(smooth.max())


def _counts(values: SmoothedImage, ends: tuple[float, float], tile: Box) -> NDArray[np.int64]:
    """Histogram of the smoothed values in a tile, in the bins of the whole image."""
    return np.histogram(values.within(tile)[0], _BINS, ends)[0].astype(np.int64)


def _lowest(values: SmoothedImage, item: tuple[Box, bytes]) -> float:
    """Lowest smoothed value in the mask of a tile."""
    (top, left, bottom, right), packed = item
    return float(values.within(item[0])[0].min(initial=np.inf, where=unpack(packed, bottom - top, right - left)))


def _mask_of(values: SmoothedImage, run: _Passes, none: PackedMask) -> PackedMask:
    """Mask of the objects, cleaned but not yet split: what `heights_and_mask` finds in the whole image."""
    recipe = values.recipe
    found = list(run("finding objects", partial(_above, values, *_levels(values, run))))
    mask = none.with_tiles(low for low, _ in found)
    if recipe.method == "hysteresis" and not values.is_mask:
        high = none.with_tiles(high for _, high in found)
        mask = _kept(mask, run, lambda found: found.marked, marks=high)
    if radius := recipe.opening:
        reach = 2 * int(np.ceil(radius)) + 1
        mask = none.with_tiles(run.here("cleaning", partial(_opened, mask, radius, reach)))
    if radius := recipe.closing:
        reach = 2 * int(np.ceil(radius)) + 1
        mask = none.with_tiles(run.here("cleaning", partial(_closed, mask, radius, reach)))
    if recipe.fill_holes:
        mask = _kept(mask, run, lambda found: ~_at_border(found.boxes, mask.shape), inside=False)
    if recipe.min_size > 1:
        mask = _kept(mask, run, lambda found: found.boxes.areas >= recipe.min_size)
    return mask


def _levels(values: SmoothedImage, run: _Passes) -> tuple[tuple[float, ...], float]:
    """Thresholds between the classes of the whole image, if the recipe needs them, and its range."""
    recipe = values.recipe
    given = recipe.low is not None and recipe.threshold is not None
    binned = recipe.method in ("otsu", "triangle", "multi-otsu") or (recipe.method == "hysteresis" and not given)
    if values.is_mask or not (binned or recipe.method == "local"):
        return (), 0.0
    parts = list(run("smoothing", partial(_range, values)))
    low, high = min(low for low, _ in parts), max(high for _, high in parts)
    if not binned:
        return (), high - low
    counts = np.sum(list(run("finding the threshold", partial(_counts, values, (low, high)))), axis=0)
    edges = np.histogram_bin_edges([low, high], _BINS, (low, high))
    hist = counts, (edges[:-1] + edges[1:]) / 2
    if recipe.method == "otsu":
        return (float(filters.threshold_otsu(hist=hist)) if low < high else low,), high - low
    if recipe.method == "triangle":
        return (_triangle(*hist) if low < high else low,), high - low
    classes = 3 if recipe.method == "hysteresis" else recipe.classes
    return tuple(multi_otsu(*hist, classes).tolist()), high - low


def _triangle(counts: NDArray[np.int64], centres: Real) -> float:
    """Threshold by the triangle method: the bin farthest below the line from the peak to the longer tail's end.

    As `skimage.filters.threshold_triangle`, which takes an image instead of a histogram.
    """
    first, last = np.flatnonzero(counts)[[0, -1]]
    peak = int(counts.argmax())
    flip = peak - first < last - peak
    if flip:
        counts, first, peak = counts[::-1], len(counts) - last - 1, len(counts) - peak - 1
    height, width = float(counts[peak]), float(peak - first)
    norm = np.hypot(height, width)
    below = np.arange(peak - first)
    place = int(np.argmax(height / norm * below - width / norm * counts[first:peak])) + int(first)
    return float(centres[len(centres) - place - 1 if flip else place])


def _above(values: SmoothedImage, levels: tuple[float, ...], span: float, tile: Box) -> tuple[bytes, bytes]:
    """Packed mask of a tile; for hysteresis, masks of the low and of the high threshold."""
    recipe, shape = values.recipe, values.image.shape
    if values.is_mask:
        plane = values.plane(tile)
        return pack(plane if recipe.objects == "bright" else ~plane), b""
    wide = grown(tile, int(recipe.window / 2) if recipe.method == "local" else 0, shape)
    smooth, zero, unit = values.within(wide)
    if recipe.method == "local":
        return pack(inner(above_neighbourhood(smooth, recipe, span), wide, tile)), b""
    low, level = (None if given is None else (given - zero) / unit for given in (recipe.low, recipe.threshold))
    if recipe.method == "hysteresis":
        low, level = sorted((levels[0] if low is None else low, levels[1] if level is None else level))
        return pack(smooth > low), pack(smooth > level)
    if recipe.method == "multi-otsu":
        level = levels[-recipe.object_classes]
    elif levels:
        level = levels[0]
    assert level is not None  # validated by the recipe
    return pack(smooth > level), b""


def _kept(
    mask: PackedMask,
    run: _Passes,
    choose: Callable[[ConnectedComponents], Mask],
    *,
    inside: bool = True,
    marks: PackedMask | None = None,
) -> PackedMask:
    """Select components of a mask, or fill components of its background."""
    found = components_of(mask, partial(run.here, "cleaning"), inside=inside, marks=marks)
    wanted = choose(found)

    def work(number: int) -> bytes:
        chosen = of_components(mask, number, found, wanted)
        return pack(chosen if inside else chosen | mask.at(number))

    return mask.with_tiles(run.here("cleaning", work))


def _at_border(boxes: Boxes, shape: tuple[int, int]) -> Mask:
    """Which boxes touch the border of the plane."""
    found: Mask = (boxes.corners[:, :2] == 0).any(axis=1) | (boxes.corners[:, 2:] == shape).any(axis=1)
    return found


def _opened(mask: PackedMask, radius: float, reach: int, number: int) -> bytes:
    tile = mask.tiles[number]
    wide = grown(tile, reach, mask.shape)
    return pack(inner(opened_by_disc(mask.within(wide), radius), wide, tile))


def _closed(mask: PackedMask, radius: float, reach: int, number: int) -> bytes:
    top, left, bottom, right = tile = mask.tiles[number]
    wide = top - reach, left - reach, bottom + reach, right + reach  # empty beyond the plane
    return pack(inner(closed_by_disc(mask.within(wide), radius), wide, tile))


def _windows(
    mask: PackedMask, found: ConnectedComponents, values: SmoothedImage, lowest: float | None, memory: float
) -> list[ObjectWindow]:
    """Windows to split and trace: the clusters that start in one tile, and each cluster larger than a tile."""
    corners, tile = found.boxes.corners, mask.tile
    owner = corners[:, 0] // tile * mask.across + corners[:, 1] // tile
    large = (corners[:, 2:] - corners[:, :2]).max(axis=1, initial=0) > tile
    windows = []
    for number in np.unique(owner).tolist():
        here = owner == number
        small = corners[here & ~large]
        together = [(small, mask.tiles[number], False)] if len(small) else []
        for group, core, alone in (
            *together,
            *((one[None], tuple(one.tolist()), True) for one in corners[here & large]),
        ):
            top, left = group[:, :2].min(axis=0).tolist()
            bottom, right = group[:, 2:].max(axis=0).tolist()
            need = (bottom - top) * (right - left) * _BYTES_PER_PIXEL / 2**30
            if need > memory:
                raise ValueError(
                    f"objects that touch each other reach over {bottom - top} × {right - left} pixels from row "
                    f"{top}, column {left}: separating them would take {need:.3g} GiB; the limit is {memory:g}: if "
                    "the background was taken for an object, set objects to dark (or bright); otherwise use a "
                    "higher threshold or an opening, or raise the limit (memory=, on the command line --memory)"
                )
            box = grown((top, left, bottom, right), _MARGIN, mask.shape)
            windows.append(ObjectWindow(box, pack(mask.within(box)), core, alone, values, lowest))
    return windows
