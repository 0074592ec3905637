"""Regions of a picture without data: missing tiles, corners of rotated scans, what surrounds a field of view."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from .._types import Mask, Real
from .methods import NEIGHBOURS, extreme_nearby
from .recipe import Place

# Fewest pixels of a region, as a fraction of the picture, and at most this many regions of one color.
_MIN_FRACTION, _MIN_PX, _MAX_REGIONS = 0.001, 40, 60
# What is left is an image if at most this fraction of it is as flat: else it is a mask, a drawing, or clipped.
_MAX_FLAT = 0.25
# ... and at most this fraction equals its neighbors on both sides along a row or a column, as in a drawn gradient.
_MAX_EVEN = 0.8
# Colors that differ by less than this fraction of the range are one after compression.
_COMPRESSED = 0.0125
# Corners of polygons deviate from their outline by at most this many pixels, without and with compression.
_TOLERANCE_PX = {0.0: 1.0, _COMPRESSED: 2.0}
# Sides are straight from this many pixels on, and hold this fraction of the outline within the picture.
_MIN_SIDE_PX, _MIN_STRAIGHT = 12, 0.9
# Sides of missing tiles away from the edges and at them, and of wedges at the edges, as a fraction of the shorter side
# of the picture; and fewest pixels of those at the edges, as a fraction of all.
_MIN_TILE, _MIN_STRIP, _MIN_WEDGE_SIDE, _MAX_WEDGE_SIDES = 0.06, 0.2, 0.1, 3
_MIN_AT_EDGE = 0.005
# A field of view fills this fraction of the picture, reaches along this fraction of a side, and is a polygon with at
# most so many sides, or an ellipse within this fraction of its axes.
_MIN_FIELD, _MIN_REACH, _MAX_FIELD_SIDES, _MAX_MISFIT = 0.3, 0.6, 8, 0.01
# Half width of the square by which regions are opened.
_OPENING_PX = 2
# Fraction of the border of a field of view that lies on the ellipse: cameras mark its orientation by a tab.
_MIN_ON_ELLIPSE = 0.85
# Outlines longer than this times that of the rectangle around them are no such form; fewest pixels of an ellipse.
_MAX_RAGGED, _MIN_BORDER_PX = 2.5, 50
# Of what is beside a region, at most this fraction has its color; and the step in gray level beside it is at least this
# fraction of that some pixels farther off, where optics have blurred nothing.
_MAX_ALIKE, _MIN_STEP, _MIN_TILE_STEP = 0.3, 0.3, 0.25
_RINGS, _FAR_PX = ((1, 1), (2, 2), (2, 4), (5, 7)), 7
# Drawn over the image, a region of another form is of one gray level to its last pixel, and a step follows at once.
_MAX_DRAWN, _MIN_OF_COLOR, _MAX_DRAWN_ALIKE, _MIN_DRAWN_STEP = 1, 0.98, 0.02, 0.85


def without_values(plane: NDArray[np.generic]) -> Mask | None:
    """Regions of pixels that are not finite, 3 pixels wide or more; None if there is none."""
    if plane.dtype.kind != "f":
        return None
    missing = ~np.isfinite(plane)
    if not missing.any():
        return None
    wide = ndimage.binary_erosion(missing, structure=np.ones((3, 3)), border_value=1)
    return ndimage.binary_propagation(wide, structure=np.ones((3, 3)), mask=missing) if wide.any() else None


def from_nearest(image: NDArray[Any], mask: Mask) -> NDArray[Any]:
    """Return an image with the values of the nearest pixels outside of a mask in it."""
    nearest = ndimage.distance_transform_edt(mask, return_distances=False, return_indices=True)
    filled: NDArray[Any] = image[tuple(nearest)]
    return filled


def no_data(levels: NDArray[np.float32]) -> tuple[Mask, Mask]:
    """Regions of one color that end in straight lines or around an ellipse, and corners cut off by a straight line.

    Parameters
    ----------
    levels : (rows, columns) array
        Gray levels between 0 and 1.
    """
    empty, corners = np.zeros((2, *levels.shape), dtype=bool)
    if not levels.size:
        return empty, corners
    flat = extreme_nearby(levels, 1) == extreme_nearby(levels, 1, np.minimum)
    repeated = [ndimage.convolve1d(levels, [1, -1], axis=axis) == 0 for axis in (0, 1)]
    even = np.any([one & np.roll(one, 1, axis=axis) for axis, one in enumerate(repeated)], axis=0)
    colors, counts = np.unique(levels[flat], return_counts=True)
    for place in np.argsort(-counts)[:3]:
        if counts[place] < _least(levels) / 4:
            break
        for tolerance in _TOLERANCE_PX:
            found, at_corners = _of_color(levels, colors[place], tolerance, flat & ~(empty | corners), even)
            if found.any():
                empty |= found
            if at_corners.any():
                corners |= at_corners
            if found.any() or at_corners.any():
                break
    return empty, corners


def _least(levels: NDArray[np.floating]) -> float:
    return max(_MIN_FRACTION * levels.size, _MIN_PX)


def _of_color(
    levels: NDArray[np.float32], color: np.float32, tolerance: float, flat: Mask, even: Mask
) -> tuple[Mask, Mask]:
    """Regions of a color, and corners."""
    alike = np.abs(levels - color) <= tolerance
    empty, corners = np.zeros((2, *levels.shape), dtype=bool)
    labels, count = ndimage.label(alike)
    sizes = np.bincount(labels.ravel(), minlength=count + 1)
    sizes[np.bincount(labels[flat & alike], minlength=count + 1) == 0] = 0
    is_large = sizes >= _least(levels)
    is_large[0] = False
    number = np.count_nonzero(is_large)
    if not 0 < number <= _MAX_REGIONS:
        return empty, corners
    labels = (np.cumsum(is_large) * is_large)[labels]
    regions = labels > 0
    left = np.count_nonzero(~regions)
    if any(np.count_nonzero(one & ~regions) > most * left for one, most in ((flat, _MAX_FLAT), (even, _MAX_EVEN))):
        return empty, corners
    around = _around_field(levels, color, tolerance, regions)
    if around is not None:
        return (empty, around) if _are_corners(around) else (around, corners)
    # What touches a region, such as specks of its color, is narrower; of rectangles a square leaves all.
    if tolerance:  # in it are specks of other colors
        regions = extreme_nearby(extreme_nearby(regions, _OPENING_PX), _OPENING_PX, np.minimum)
    regions = extreme_nearby(extreme_nearby(regions, _OPENING_PX, np.minimum), _OPENING_PX)
    labels, number = ndimage.label(regions)
    places = enumerate(ndimage.find_objects(labels), start=1)
    kinds = {one: _kind(levels, color, tolerance, labels, one, place) for one, place in places}
    # Where objects are of this color, too, some of them may end in straight lines by chance.
    alone = all(kinds.values())
    accepted = {"tile", "corner", "wedge"} if alone else {"tile"}
    if alone and list(kinds.values()).count("drawn") <= _MAX_DRAWN and regions.sum() >= _MIN_OF_COLOR * alike.sum():
        accepted.add("drawn")
    for one, kind in kinds.items():
        if kind in accepted:
            (corners if kind == "corner" else empty)[labels == one] = True
    for mask in (empty, corners):  # with the tips that opening has cut off, and interpolated pixels
        mask |= extreme_nearby(mask, 2 * _OPENING_PX) & alike
        mask[ndimage.binary_dilation(mask)] = True
    return empty, corners


def _around_field(levels: NDArray[np.float32], color: np.float32, tolerance: float, regions: Mask) -> Mask | None:
    """What surrounds a field of view, a convex polygon or an ellipse; None if there is no such field."""
    seeds = np.zeros(regions.shape, dtype=bool)
    for edge in (np.s_[0], np.s_[-1], np.s_[:, 0], np.s_[:, -1]):
        seeds[edge] = regions[edge]
    if not seeds.any():
        return None
    outside = ndimage.binary_propagation(seeds, mask=regions)
    parts = ndimage.label(~outside)[0]
    sizes = np.bincount(parts.ravel(), minlength=2)
    sizes[0] = 0
    field = parts == sizes.argmax()
    rows, columns = (np.flatnonzero(field.any(axis=axis)) for axis in (1, 0))
    reach = max(len(rows) / len(field), len(columns) / field.shape[1])
    if sizes.max() < _MIN_FIELD * field.size or reach < _MIN_REACH or _raggedness(field) > _MAX_RAGGED:
        return None
    field = ndimage.binary_opening(field, structure=np.ones((3, 3)))  # without specks at its border
    hull = _convex_hull(field)
    border = hull & ~ndimage.binary_erosion(hull, border_value=1)
    border[[0, -1]] = border[:, [0, -1]] = False
    length = np.count_nonzero(border)
    missed, beyond = np.count_nonzero(hull & outside), np.count_nonzero(~hull & ~outside)
    if (
        missed > max(_TOLERANCE_PX[tolerance] * length, 0.05 * np.count_nonzero(outside))
        or beyond > 0.01 * np.count_nonzero(~hull) + length
        or not (_is_polygon(hull) or _is_ellipse(border))
    ):
        return None
    beside = ndimage.binary_erosion(hull, iterations=2, border_value=1)
    beside ^= ndimage.binary_erosion(beside, iterations=2, border_value=1)
    if (np.abs(levels[beside] - color) <= max(tolerance, _COMPRESSED / 2)).mean() > _MAX_ALIKE:
        return None
    around: Mask = ndimage.binary_dilation(~hull)
    return around


def _raggedness(own: Mask) -> float:
    """Length of the outline relative to that of the rectangle around it, 1 for rectangles and convex polygons."""
    rows, columns = (np.count_nonzero(own.any(axis=axis)) for axis in (1, 0))
    padded = np.pad(own, 1)
    steps = sum(np.count_nonzero(padded[here] != padded[there]) for here, there in NEIGHBOURS)
    return float(steps / max(2 * int(rows + columns), 1))


def _convex_hull(field: Mask) -> Mask:
    """Convex hull of a field, from the first and last pixels of its rows: a hundred times as fast as scikit-image's."""
    rows = np.flatnonzero(field.any(axis=1))
    first, last = field[rows].argmax(axis=1), field.shape[1] - 1 - field[rows, ::-1].argmax(axis=1)
    everywhere = np.arange(len(field))
    ends = []
    for columns, sign in ((first, 1), (last, -1)):
        chain = list[tuple[int, int]]()  # of the lower envelope, by Andrew's monotone chain
        for point in zip(rows.tolist(), (sign * columns).tolist(), strict=True):
            while len(chain) > 1 and _turns_down(chain[-2], chain[-1], point):
                chain.pop()
            chain.append(point)
        at, nearest = np.transpose(chain)
        ends.append(sign * np.interp(everywhere, at, nearest, left=np.inf, right=np.inf))
    along = np.arange(field.shape[1])
    hull: Mask = (along >= ends[0][:, None] - 0.5) & (along <= ends[1][:, None] + 0.5)
    return hull


def _turns_down(one: tuple[int, int], middle: tuple[int, int], other: tuple[int, int]) -> bool:
    return (middle[1] - one[1]) * (other[0] - one[0]) >= (other[1] - one[1]) * (middle[0] - one[0])


def _is_polygon(field: Mask) -> bool:
    lengths = np.array([np.hypot(*(end - start)) for start, end in _sides(field, 1.5)])
    long = lengths >= _MIN_SIDE_PX
    return long.sum() <= _MAX_FIELD_SIDES and lengths[long].sum() >= _MIN_STRAIGHT * lengths.sum()


def _is_ellipse(border: Mask) -> bool:
    """Whether most pixels of a border lie on the conic that fits them best, and this is an ellipse."""
    points = np.argwhere(border).astype(np.float64)
    if len(points) < _MIN_BORDER_PX:
        return False
    points = points[:: max(len(points) // _MIN_BORDER_PX // 5, 1)]
    size = np.ptp(points)
    x, y = ((points - points.mean(axis=0)) / size).T
    terms = np.stack([x**2, x * y, y**2, x, y], axis=1)
    a, b, c, d, e = conic = np.linalg.lstsq(terms, np.ones(len(terms)), rcond=None)[0]
    quadratic = np.array([[2 * a, b], [b, 2 * c]])
    if np.linalg.det(quadratic) <= 0:
        return False
    middle = np.linalg.solve(quadratic, [-d, -e])
    shorter = size * np.sqrt((2 + middle @ quadratic @ middle) / np.linalg.eigvalsh(quadratic)[1])
    slope = np.hypot(2 * a * x + b * y + d, b * x + 2 * c * y + e)
    misfit = size * np.abs(terms @ conic - 1) / np.maximum(slope, np.finfo(float).tiny)
    return bool(np.quantile(misfit, _MIN_ON_ELLIPSE) <= max(_MAX_MISFIT * shorter, 1.5))


def _are_corners(part: Mask, tolerance: float = 1.5) -> bool:
    """Whether a part of the picture ends in as many straight lines as there are corners of the picture in it."""
    lengths = np.array([np.hypot(*(end - start)) for start, end in _sides(part, tolerance)])
    number = int(part[:: len(part) - 1, :: part.shape[1] - 1].sum())
    return bool(np.sort(lengths)[-number:].sum() >= _MIN_STRAIGHT * lengths.sum()) if number and lengths.size else False


def _sides(part: Mask, tolerance: float) -> Iterator[tuple[Real, Real]]:
    """Ends of the sides of a part as a polygon, without those along the edges of the picture."""
    rows, columns = (np.flatnonzero(part.any(axis=axis)) for axis in (1, 0))
    crop = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
    return _sides_in(part[crop], crop, part.shape, tolerance)


def _sides_in(own: Mask, place: Place, shape: tuple[int, ...], tolerance: float) -> Iterator[tuple[Real, Real]]:
    from skimage.measure import approximate_polygon, find_contours  # slow to import

    corner, last = np.array([one.start for one in place], dtype=np.float64), np.array(shape) - 1.0
    for contour in find_contours(np.pad(own, 1).astype(np.float32), 0.5):
        if len(contour) < _MIN_SIDE_PX:
            continue
        corners = approximate_polygon(contour, tolerance) + corner - 1
        for start, end in pairwise(corners):
            along = ((start < tolerance) & (end < tolerance)) | ((start > last - tolerance) & (end > last - tolerance))
            if not along.any():
                yield start, end


def _kind(
    levels: NDArray[np.float32],
    color: np.float32,
    tolerance: float,
    labels: NDArray[np.integer],
    one: int,
    place: Place,
) -> str:
    """What a region is: "tile", "wedge", "corner", "drawn", or ""."""
    shorter, least, own = min(labels.shape), _MIN_AT_EDGE * labels.size, labels[place] == one
    if _raggedness(own) > _MAX_RAGGED:
        return ""
    near = _steps(levels, color, labels, one, place)
    if near is None:
        return ""
    alike, first, second = near
    if alike > _MAX_ALIKE or second < _MIN_STEP:
        return ""
    sides = np.array(
        [np.abs(end - start) for start, end in _sides_in(own, place, labels.shape, _TOLERANCE_PX[tolerance])]
    )
    if not len(sides):
        return ""
    lengths = np.hypot(*sides.T)
    touching = any(one.start == 0 or one.stop == side for one, side in zip(place, labels.shape, strict=True))
    upright = (sides.min(axis=1) <= _TOLERANCE_PX[tolerance]) & (lengths >= _MIN_SIDE_PX)
    if lengths[upright].sum() >= _MIN_STRAIGHT * lengths.sum() and (touching or first >= _MIN_TILE_STEP):
        width = min(one.stop - one.start for one in place)
        if width >= _MIN_TILE * shorter or (touching and lengths.max() >= _MIN_STRIP * shorter and own.sum() >= least):
            return "tile"
    if touching:
        long = lengths >= _MIN_WEDGE_SIDE * shorter
        if 0 < long.sum() <= _MAX_WEDGE_SIDES and lengths[long].sum() >= _MIN_STRAIGHT * lengths.sum():
            if _are_corners(labels == one, 2 * _TOLERANCE_PX[tolerance]):
                return "corner"
            return "wedge" if own.sum() >= least else ""
        return ""
    if (
        tolerance == 0
        and alike <= _MAX_DRAWN_ALIKE
        and first >= _MIN_DRAWN_STEP
        and ndimage.distance_transform_edt(np.pad(own, 1)).max() >= _MIN_TILE / 2 * shorter
        and not (ndimage.binary_fill_holes(own) & ~own).any()
    ):
        return "drawn"
    return ""


def _steps(
    levels: NDArray[np.float32], color: np.float32, labels: NDArray[np.integer], one: int, place: Place
) -> tuple[float, float, float] | None:
    """Fraction of about its color beside a region, and the first and second steps relative to those farther off."""
    wider = tuple(slice(max(side.start - _FAR_PX, 0), side.stop + _FAR_PX) for side in place)
    distance = ndimage.distance_transform_cdt(labels[wider] != one, metric="taxicab")
    differs = np.abs(levels[wider] - color)
    first, second, near, far = (differs[(distance >= a) & (distance <= b)] for a, b in _RINGS)
    if not (first.size and second.size and far.size):
        return None
    usual = max(float(np.median(far)), 1e-6)
    return float((near <= _COMPRESSED).mean()), float(np.median(first)) / usual, float(np.median(second)) / usual
