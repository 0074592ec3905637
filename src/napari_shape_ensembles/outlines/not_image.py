"""Parts of a picture that are not image: information bars, frames, letters, scale bars, regions without data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from skimage.measure import regionprops

from .._types import Index, Mask, Real
from ..checks import unmasked
from .methods import extreme_nearby, gray_plane
from .no_data import from_nearest, no_data, without_values
from .reasons import Reason
from .recent import Recent
from .recipe import Place, regions_of

# Gray levels closer than this fraction of the range are one flat color: JPEG blurs what was drawn in one value.
_FLAT = 0.025
# A row of a bar is mostly of the color of the bar, between the letters; the image beside it is not.
_MIN_BAR_ROW, _MIN_BAR_MEAN, _MIN_MARGIN_ROW, _MAX_BESIDE = 0.3, 0.55, 0.85, 0.3
# Rows between the bar and the image that a resampled picture may have blurred, and fewest rows of a bar.
_BLURRED_ROWS, _MIN_BAR_ROWS = 3, 3
_MAX_BAR_FRACTION = 0.4
# Rows of a thin frame, at most.
_MAX_LINE_ROWS = 4
# Median difference of the image beside a bar from its color, at least, as a fraction of the range.
_MIN_EDGE = 0.06
# Rows with letters on less than this fraction are a frame, if they are as uniform as this fraction of the range.
_MIN_LETTERS, _UNIFORM = 0.002, 0.012
# Letters are at least this high in pixels, and at most this fraction of the image.
_MIN_LETTER_PX, _MAX_LETTER_FRACTION = 6, 0.2
_MIN_PANEL_LETTER, _MIN_PANEL_SHARP = 0.04, 0.95
# Letters consist of strokes: the inscribed circle has a radius of at most this fraction of the longer side.
_MAX_STROKE = 0.2
# Solidity of a line of letters, and of a single letter, at most; scale bars fill their bounding box.
_MAX_LINE_SOLIDITY, _MAX_LETTER_SOLIDITY, _MIN_BAR_FILL = 0.88, 0.8, 0.9
# Least width of a scale bar in pixels, and as a fraction of the image; its difference, and that of letters beside it,
# from their surroundings.
_MIN_BAR_PX, _MIN_BAR_WIDTH, _MIN_BAR_STEP = 20, 0.05, 0.1
# Fraction of what is as long and horizontal, in their gray level, that scale bars are at least.
_MIN_OF_LONG = 0.5
# Boxes fill theirs, too, and those away from the edges hold letters on at least this fraction.
_MIN_BOX_FILL, _MIN_TEXT = 0.96, 0.01
# Fraction of the surroundings that differ from a drawn part by the fraction of the range.
_MIN_SHARP, _MIN_STEP, _MIN_BOX_STEP = 0.75, 0.25, 0.04
# Letters, and scale bars without letters, are accepted within this fraction of the image from its edges.
_EDGE = 0.25
# Fraction of what has the size of letters, in their gray level, that letters and scale bars are at least.
_MIN_EXPLAINED = 0.4
# Letters beside others may differ from their gray level by this fraction of the range.
_NEAR_COLOR = 0.3
# With more candidates than this, the picture is a texture or a drawing.
_MAX_CANDIDATES = 400
# Pictures of which more neighboring pixels are equal are drawings, too.
_MAX_EQUAL = 0.9
# Letters have at most two holes.
_MIN_EULER = -1
# Images with fewer pixels of intermediate gray levels are masks or drawings.
_MIN_GRAY_FRACTION = 0.02
# Margin around drawn parts, for their blurred border.
_MARGIN = 3


@dataclass(frozen=True, eq=False)
class NotImage:
    """Parts of a picture that are not image.

    Attributes
    ----------
    mask : (rows, columns) bool array
        True where there is no image.
    reasons : mapping of Reason to int
        What was found, and how often.
    window : (slice, slice)
        Rows and columns without the bars and frames at the edges.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.outlines import not_image
    >>> picture = np.random.default_rng(0).integers(60, 200, (90, 120))
    >>> picture[70:] = 0
    >>> picture[76:84, 10:50:4] = 255
    >>> found = not_image(picture)
    >>> {str(reason): count for reason, count in found.reasons.items()}, int(found.mask.sum()) == 20 * 120
    ({'information bar of 20 rows': 1}, True)
    """

    mask: Mask
    reasons: Mapping[Reason, int]
    window: tuple[slice, slice]

    def __bool__(self) -> bool:
        return bool(self.reasons)

    def coarse(self, factor: int) -> NotImage:
        """Return the same for the image downsampled by a factor."""
        rows, columns = (slice(-(-one.start // factor), max(one.stop // factor, 1)) for one in self.window)
        return NotImage(self.mask[factor // 2 :: factor, factor // 2 :: factor], self.reasons, (rows, columns))

    def filled(self, image: NDArray[Any]) -> NDArray[Any]:
        """Return the image in the window, with the values of the nearest pixels where parts of it are masked."""
        part, mask = image[self.window], self.mask[self.window]
        if not mask.any():
            return part
        return from_nearest(part, mask)

    def cut(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Return the labels of the objects that touch a masked part, and may go on below it."""
        if not self:
            return np.empty(0, dtype=labels.dtype)
        beside = ndimage.binary_dilation(self.mask, structure=np.ones((3, 3)))
        touched = np.unique(labels[beside])
        return touched[touched > 0]


_recent = Recent[NotImage](1e8, lambda one: one.mask.nbytes)


def ignored_parts(image: ArrayLike, ignore: str) -> NotImage:
    """Return the parts of an image that a recipe ignores: those found, none, or given ones."""
    if ignore == "auto":
        return not_image(image)
    shape = np.shape(image)[:2]
    mask = np.zeros(shape, dtype=bool)
    if ignore != "none":
        for place in regions_of(ignore):
            mask[place] = True
    whole = slice(0, shape[0]), slice(0, shape[1])
    return NotImage(mask, {Reason("given"): len(regions_of(ignore))} if mask.any() else {}, whole)


def not_image(image: ArrayLike) -> NotImage:
    """Find what is not image in a picture: bars and frames at its edges, letters, scale bars, regions without data.

    Parameters
    ----------
    image : (rows, columns) array, or with a last axis of 3 or 4 for RGB(A)

    Returns
    -------
    NotImage
        Empty for masks and for pictures in which nothing was found. Only flat colors with sharp borders are found: for
        letters and scale bars the brightest and the darkest gray level, else any. Regions without data are NaN or
        infinite, or of one color and end in straight lines or around an ellipse: missing tiles, corners of rotated
        scans, what surrounds a field of view. They are not told from objects or background that are clipped to the
        same gray level.

    Raises
    ------
    ValueError
        For an image that cannot be segmented, see `segment`.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.outlines import not_image
    >>> picture = np.random.default_rng(0).normal(100, 10, (200, 200))
    >>> picture[180:] = 0
    >>> not_image(picture).window
    (slice(0, 180, None), slice(0, 200, None))
    """
    plane = gray_plane(unmasked(image, "the image"), finite=False)
    return _recent.of(lambda: _found_in(plane), plane)


def with_values(image: NDArray[Any]) -> NDArray[Any]:
    """Return an image with the values of the nearest pixels in its regions of NaN."""
    if image.dtype.kind != "f" or np.isfinite(image).all():
        return image
    missing = not_image(image).mask & ~np.isfinite(image.reshape(*image.shape[:2], -1)).all(axis=-1)
    return from_nearest(image, missing) if missing.any() else image


def _found_in(plane: NDArray[Any]) -> NotImage:
    reasons: Counter[Reason] = Counter()
    mask = np.zeros(plane.shape, dtype=bool)
    window = slice(0, plane.shape[0]), slice(0, plane.shape[1])
    everything = NotImage(mask, reasons, window)
    if plane.dtype == bool or min(plane.shape) < 4 * _MIN_BAR_ROWS:
        return everything
    missing = without_values(plane)
    if missing is not None:
        plane = from_nearest(plane, missing)
    lowest, highest = float(plane.min()), float(plane.max())  # NaN where single pixels are
    if not 0 < highest - lowest < np.inf:
        return everything
    is_drawing = np.mean(plane[:, 1:] == plane[:, :-1]) > _MAX_EQUAL
    if is_drawing and missing is None:
        return everything
    levels = ((plane.astype(np.float64) - lowest) / (highest - lowest)).astype(np.float32)
    if not is_drawing:
        window = _without_bars(levels, reasons)
    mask[:] = True
    mask[window] = False
    inside, drawn = levels[window], mask[window]  # a view
    empty, corners = np.zeros((2, *inside.shape), dtype=bool) if is_drawing else no_data(inside)
    if missing is not None:
        empty |= missing[window]
    drawn |= empty | corners
    if empty.any():
        percent = float(f"{100 * np.count_nonzero(empty) / mask.size:.2g}")
        reasons[Reason("no data", percent)] = ndimage.label(empty, structure=np.ones((3, 3)))[1]
    if number := sum(int(corners[row, column]) for row in (0, -1) for column in (0, -1)):
        reasons[Reason("corners")] = number
    if not is_drawing:
        _mask_drawn(inside, drawn, reasons)
    mask.flags.writeable = False  # callers share it
    return NotImage(mask, dict(reasons), window)


def _without_bars(levels: NDArray[np.float32], reasons: Counter[Reason]) -> tuple[slice, slice]:
    """Rows and columns inside of bars and frames, which are counted."""
    ends = [[0, levels.shape[0]], [0, levels.shape[1]]]
    for axis, what in ((0, "rows"), (1, "columns")):
        for side in (1, 0):
            part = levels[slice(*ends[0]), slice(*ends[1])]
            along = part if axis == 0 else part.T
            toward_end = along if side else along[::-1]
            count, letters = _bar_at_end(toward_end)
            count = count or _line_at_end(toward_end)
            if count:
                reasons[Reason(f"bar {what}" if letters else f"frame {what}", count)] += 1
                ends[axis][side] += -count if side else count
    return slice(*ends[0]), slice(*ends[1])


def _bar_at_end(levels: NDArray[np.float32]) -> tuple[int, bool]:
    """Number of last rows that are a bar or a frame, and whether they hold letters."""
    rows = len(levels)
    last = levels[-min(rows, 4 * _MIN_BAR_ROWS) :]
    counts, edges = np.histogram(last, bins=64, range=(0, 1))
    color = float(np.median(last[(last >= edges[counts.argmax()]) & (last <= edges[counts.argmax() + 1])]))
    share = (np.abs(levels - color) <= _FLAT).mean(axis=1)
    top = max(rows - 2, 0)  # the last rows may be blurred by a resampling
    while top and (share[top - 1] >= _MIN_BAR_ROW or _is_line(levels[top - 1])):
        top -= 1
    # The bar begins with a margin; above it, the image begins at once.
    while top < rows and share[top] < _MIN_MARGIN_ROW:
        top += 1
    count = rows - top
    if count < _MIN_BAR_ROWS or count > _MAX_BAR_FRACTION * rows or share[top:].mean() < _MIN_BAR_MEAN:
        return 0, False
    if share[: max(top - _BLURRED_ROWS, 1)].mean() > _MAX_BESIDE:
        return 0, False
    if share[max(top - 2 * _BLURRED_ROWS, 0) : max(top - _BLURRED_ROWS, 1)].mean() > 2 * _MAX_BESIDE:
        return 0, False
    if np.median(np.abs(levels[max(top - 2 * _BLURRED_ROWS, 0) : max(top - _BLURRED_ROWS, 1)] - color)) < _MIN_EDGE:
        return 0, False  # a gradient
    letters = bool((np.abs(levels[top:] - color) > _MIN_STEP).mean() > _MIN_LETTERS)
    if not letters and (np.abs(levels[top : rows - 2] - color) <= _UNIFORM).mean() < 1 - _MIN_LETTERS:
        return 0, False
    # Rows blurred with the bar belong to it.
    beside = float(np.median(levels[max(top - 3 * _BLURRED_ROWS, 0) : max(top - _BLURRED_ROWS, 1)]))
    for _ in range(min(_BLURRED_ROWS, top)):
        blurred = abs(float(np.median(levels[top - 1])) - beside) >= _MIN_STEP * abs(color - beside)
        if not blurred or share[top - 1] >= _MIN_BAR_ROW:  # a part of the row is of its color, which is no blur
            break
        top -= 1
    return rows - top, letters


def _line_at_end(levels: NDArray[np.float32]) -> int:
    """Number of last rows that are a thin frame: of one color to the last pixel, beside others that are not."""
    uniform = np.ptp(levels[-_MAX_LINE_ROWS - 1 :], axis=1) <= _UNIFORM
    count = int(np.argmin(uniform[::-1]))
    if not count:  # neither a frame nor, where all rows are uniform, an image
        return 0
    beside, color = levels[-count - 2 : -count], levels[-1, 0]
    is_step = np.abs(beside - color) > _FLAT
    return count if is_step.mean() > 1 - _MAX_BESIDE else 0


def _is_line(row: NDArray[np.float32]) -> bool:
    """Whether a row has one color, as lines across a bar."""
    return bool(np.mean(np.abs(row - np.median(row)) <= _FLAT) >= _MIN_MARGIN_ROW)


def _mask_drawn(levels: NDArray[np.float32], mask: Mask, reasons: Counter[Reason]) -> None:
    """Mask boxes, lines of letters and scale bars in the brightest and in the darkest gray level."""
    if not levels.size or np.mean((levels > _FLAT) & (levels < 1 - _FLAT)) < _MIN_GRAY_FRACTION:
        return
    # Letters inside of a box are masked with it. Those of compressed pictures vary more than boxes, and are told from
    # other signs by the scale bar that they stand beside.
    for kind, tolerance in (("box", _FLAT), ("sign", _FLAT), ("compressed", 2 * _FLAT)):
        for extreme in (1.0, 0.0):
            flat = (np.abs(levels - np.float32(extreme)) <= tolerance) & ~mask
            for place, key in _drawn(levels, flat, extreme, kind):
                mask[_widened(place, _MARGIN)] = True
                reasons[Reason(key)] += 1


def _drawn(levels: NDArray[np.float32], flat: Mask, extreme: float, kind: str) -> list[tuple[Place, str]]:
    """Boxes, or letters and scale bars, among the flat parts of one color; with the key of the reason of each."""
    labels, count = ndimage.label(flat, structure=np.ones((3, 3)))
    if not count:
        return []
    boxes, places = kind == "box", ndimage.find_objects(labels)
    sides = np.array([[one.stop - one.start for one in place] for place in places])
    areas = np.bincount(labels.ravel())[1:]
    if boxes:
        candidates = (sides.min(axis=1) >= _MIN_LETTER_PX + 2) & (areas > 0.4 * sides.prod(axis=1))
    else:
        candidates = _of_letter_size(sides, places, flat.shape)
    bars = [] if boxes else _scale_bars(levels, flat, extreme, labels, places)
    if not 0 < np.count_nonzero(candidates) <= _MAX_CANDIDATES:
        return [(bar, "scale bar") for bar in bars if _is_long(bar)]
    least = np.full(levels.shape, _MIN_BOX_STEP if boxes else _MIN_STEP)
    for bar in bars:
        least[_widened(bar, len(levels) // 10)] = _MIN_BAR_STEP
    sharp = _sharpness(np.abs(levels - np.float32(extreme)) >= least, flat, labels, candidates)
    chosen = np.flatnonzero(candidates & (sharp >= _MIN_SHARP)).tolist()
    if boxes:
        return [(places[part], "box") for part in chosen if _is_box(levels, extreme, labels, places[part], part)]
    lines = _text_lines(labels, places, chosen, sharp)
    near = [_widened(line, 2 * (line[0].stop - line[0].start)) for line in lines]
    bars = [bar for bar in bars if _is_long(bar) or any(_holds(area, bar, part=True) for area in near)]
    bars = [bar for bar in bars if not any(_holds(line, bar) for line in lines)]
    # Where much else of this color has the size of letters, these are specks or texture, except beside a scale bar.
    explained = sum(np.count_nonzero(flat[place]) for place in (*lines, *bars))
    if kind == "compressed" or explained < _MIN_EXPLAINED * areas[candidates & (areas >= _MIN_LETTER_PX)].sum():
        beside = [any(_holds(area, bar, part=True) for bar in bars) for area in near]
        lines = list(compress(lines, beside))
    near_color = np.abs(levels - np.float32(extreme)) <= _NEAR_COLOR
    return [
        *((_whole_line(line, near_color), "letters") for line in lines),
        *((bar, "scale bar") for bar in bars),
    ]


def _of_letter_size(sides: Index, places: Sequence[Place], shape: tuple[int, ...]) -> Mask:
    """Which parts are as high and wide as letters, and do not touch the edges of the image."""
    height, width = sides.T
    limit = _MAX_LETTER_FRACTION * min(shape)
    inside = [all(one.start > 0 and one.stop < side for one, side in zip(of, shape, strict=True)) for of in places]
    return np.asarray((height >= _MIN_LETTER_PX) & (height <= limit) & (width <= 2 * limit) & inside)


def _sharpness(stepped: Mask, flat: Mask, labels: NDArray[np.int32], among: Mask) -> Real:
    """Share of the pixels around each part, `among` some, that differ from its color by a step."""
    around = extreme_nearby(labels * np.concatenate([[False], among])[labels], 3)
    ring = (around > 0) & ~extreme_nearby(flat, 2)
    owners, count = around[ring], len(among) + 1
    total = np.bincount(owners, minlength=count)[1:]
    return np.asarray(np.bincount(owners[stepped[ring]], minlength=count)[1:] / np.maximum(total, 1))


def _is_box(levels: NDArray[np.float32], extreme: float, labels: NDArray[np.int32], place: Place, part: int) -> bool:
    """Whether a part is a filled rectangle, not too large, with text in it unless it touches the edges of the image."""
    filled = ndimage.binary_fill_holes(labels[place] == part + 1)
    text = np.abs(levels[place] - extreme)[filled] > 0.5
    touching = any(one.start <= 2 or one.stop >= side - 2 for one, side in zip(place, labels.shape, strict=True))
    small = filled.size < _MAX_BAR_FRACTION * labels.size
    return bool(small and filled.mean() >= _MIN_BOX_FILL and text.mean() > (0 if touching else _MIN_TEXT))


def _text_lines(labels: NDArray[np.int32], places: Sequence[Place], letters: Sequence[int], sharp: Real) -> list[Place]:
    """Lines of letters, near the upper or lower edge of the image, and single large letters in its corners."""

    def of_part(part: int) -> Any:
        return regionprops(np.pad(labels[places[part]] == part + 1, 1).astype(np.uint8))[0]

    def is_stroke(part: int) -> bool:
        own = np.pad(labels[places[part]] == part + 1, 1)
        thick = max(_MAX_STROKE * max(own.shape[0] - 2, own.shape[1] - 2), 1.5)
        return ndimage.distance_transform_edt(own).max() <= thick and of_part(part).euler_number >= _MIN_EULER

    lines: list[Place] = []
    for line in _lines(places, np.array([part for part in letters if is_stroke(part)], dtype=np.intp)):
        whole = _around([places[part] for part in line])
        at_edge = [
            one.start <= _EDGE * side or one.stop >= (1 - _EDGE) * side
            for one, side in zip(whole, labels.shape, strict=True)
        ]
        if len(line) > 1:
            most, near = _MAX_LINE_SOLIDITY, at_edge[0]
        else:  # such as the letter of a panel
            height = whole[0].stop - whole[0].start
            large = height >= _MIN_PANEL_LETTER * labels.shape[0] and sharp[line[0]] >= _MIN_PANEL_SHARP
            most, near = _MAX_LETTER_SOLIDITY, large and all(at_edge)
        if near and np.mean([of_part(part).solidity for part in line]) < most:
            lines.append(whole)
    return [one for one in lines if not any(one != other and _holds(other, one) for other in lines)]


def _scale_bars(
    levels: NDArray[np.float32], flat: Mask, extreme: float, parts: NDArray[np.int32], places: Sequence[Place]
) -> list[Place]:
    """Candidates for scale bars: horizontal bars of one color in the upper and lower part of an image.

    `parts` numbers the connected parts of `flat`, which are at these `places`.
    """
    least = max(_MIN_BAR_PX, int(_MIN_BAR_WIDTH * flat.shape[1]))
    # What touches a bar, such as ticks and specks of its color, is narrower.
    runs = flat.view(np.uint8)
    for filtered in (ndimage.minimum_filter1d, ndimage.maximum_filter1d):  # an opening, faster than of binary images
        runs = filtered(runs, 2 * (least // 2) + 1, axis=1)
    labels, _ = ndimage.label(runs)
    found, of_bars, of_all = list[Place](), 0, 0
    for number, bar in enumerate(ndimage.find_objects(labels), start=1):
        rows, columns = bar
        height, width = rows.stop - rows.start, columns.stop - columns.start
        sides = slice(max(rows.start - 5, 0), max(rows.start - 2, 0)), slice(rows.stop + 2, rows.stop + 5)
        beside = np.concatenate([levels[side, columns] for side in sides])
        sharp = np.abs(beside - np.float32(extreme)) >= _MIN_BAR_STEP
        if not _is_long(bar, 3) or not sharp.size or sharp.mean() < _MIN_SHARP:
            continue
        area = int(np.count_nonzero(labels[bar] == number))
        of_all += area
        middle = (rows.start + rows.stop) / 2 / len(flat)
        if (
            height >= 2
            and _is_long(bar, 4)
            and area >= _MIN_BAR_FILL * height * width
            and abs(middle - 0.5) >= 0.5 - _EDGE
            and 0 < columns.start < columns.stop < flat.shape[1]
        ):
            whole = places[parts[rows, columns].max() - 1]  # with the ticks at its ends
            found.append(whole if _is_long(whole, 2) and whole[1].stop - whole[1].start < 1.2 * width else bar)
            of_bars += area
    # Among others as long they are fibers, needles or layers that happen to be horizontal.
    return found if of_bars >= _MIN_OF_LONG * of_all else []


def _is_long(place: Place, heights: float = 6) -> bool:
    return place[1].stop - place[1].start >= heights * (place[0].stop - place[0].start)


def _around(places: Sequence[Place]) -> Place:
    rows, columns = (
        slice(min(one.start for one in sides), max(one.stop for one in sides)) for sides in zip(*places, strict=True)
    )
    return rows, columns


def _widened(place: Place, margin: int) -> Place:
    rows, columns = (slice(max(one.start - margin, 0), one.stop + margin) for one in place)
    return rows, columns


def _holds(outer: Place, inner: Place, *, part: bool = False) -> bool:
    """Whether a rectangle holds another, or a part of it."""
    pairs = zip(outer, inner, strict=True)
    if part:
        return all(one.start < other.stop and other.start < one.stop for one, other in pairs)
    return all(one.start <= other.start and other.stop <= one.stop for one, other in pairs)


def _whole_line(place: Place, near_color: Mask) -> Place:
    """Extend a line of letters by those beside it that a resampling has blurred."""
    height = place[0].stop - place[0].start
    strip = slice(max(place[0].start - height // 2, 0), place[0].stop + height // 2)
    labels, _ = ndimage.label(near_color[strip], structure=np.ones((3, 3)))
    signs = [
        (slice(rows.start + strip.start, rows.stop + strip.start), columns)
        for rows, columns in ndimage.find_objects(labels)
        if rows.stop - rows.start >= 3
        and columns.stop - columns.start <= 3 * height
        and (rows.start > 0 or strip.start == 0)
        and (rows.stop < len(labels) or strip.stop >= len(near_color))
    ]
    while True:
        reached = [sign for sign in signs if _holds(_widened(place, height), sign, part=True)]
        whole = _around([place, *reached])
        if whole[1] == place[1]:
            return whole
        place = whole


def _lines(places: Sequence[Place], signs: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Group signs into lines: those beside each other that are of similar height and share most of their rows."""
    if not len(signs):
        return []
    top, bottom, left, right = np.array(
        [(places[i][0].start, places[i][0].stop, places[i][1].start, places[i][1].stop) for i in signs]
    ).T
    height = bottom - top
    shared = np.minimum(bottom[:, None], bottom) - np.maximum(top[:, None], top)
    gap = np.maximum(left[:, None], left) - np.minimum(right[:, None], right)
    smaller, larger = np.minimum(height[:, None], height), np.maximum(height[:, None], height)
    beside = (shared >= 0.5 * smaller) & (gap <= 1.2 * larger) & (larger <= 2.5 * smaller)
    groups = connected_components(coo_array(beside), directed=False)[1]
    return [signs[groups == group] for group in range(groups.max() + 1)]
