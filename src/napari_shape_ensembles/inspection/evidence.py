"""Evidence on every object of a label image, and the image it was made from: topology, shape, edges.

All measurements are vectorized over objects. Lengths are in pixels, levels in units of the contrast between the objects
and their surroundings, so that the numbers are comparable between images of any kind and bit depth.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage
from skimage.measure import label as connected
from skimage.segmentation import watershed

from .._types import Index, Mask, Real
from ..checks import unmasked
from ..outlines import segment
from ..outlines.matching import Overlaps
from ..outlines.methods import NEIGHBOURS, crofton_perimeters, passes, root
from ..outlines.recognise import numbered, refuse_grey
from ..outlines.tracing import label_plane
from ..progress import cancellation_check

if TYPE_CHECKING:
    import pandas as pd


# Profiles across an outline reach half the typical radius of the objects, within these limits in pixels.
_MIN_REACH, _MAX_REACH = 3, 10
# Half width of the window for estimating the normal of an outline.
_NORMAL = 3
# From this typical radius in pixels, every second row and column is sufficient.
_SUBSAMPLED_RADIUS_PX = 8
# Uneven illumination is fitted to some of the background: fewer pixels do not determine a quadratic surface, more only
# take time.
_MIN_TREND_PIXELS, _MAX_TREND_PIXELS = 100, 20_000
# The fit is repeated, each time without pixels farther from it than this many robust standard deviations.
_TREND_ROUNDS, _TREND_SIGMAS = 6, 2.0


@dataclass(frozen=True, eq=False)
class Plane:
    """Labels renumbered 1 to N, and statistics per label."""

    values: Index
    labels: NDArray[np.int32]

    @classmethod
    def of(cls, labels: ArrayLike) -> "Plane":
        """Renumber labels, or label the connected components of a mask."""
        values, index = numbered(label_plane(labels))
        background = int(values[0] == 0)
        return cls(values[background:].astype(np.int64), (index + 1 - background).astype(np.int32))

    def __len__(self) -> int:
        return len(self.values)

    def total(self, labels: NDArray[np.integer], values: NDArray[Any] | None = None) -> Real:
        """Sum `values` (or count) over each label (N,), ignoring the background."""
        return np.bincount(labels.ravel(), None if values is None else values.ravel(), len(self) + 1)[1:].astype(float)

    def mean(self, labels: NDArray[np.integer], values: NDArray[Any], otherwise: float | Real = 0.0) -> Real:
        """Mean of `values` over each label (N,), `otherwise` if it has none."""
        count = self.total(labels)
        return np.where(count > 0, self.total(labels, values) / np.maximum(count, 1), otherwise)

    def spread(self, labels: NDArray[np.integer], values: Real) -> Real:
        """Standard deviation of `values` over each label (N,)."""
        return np.sqrt(np.maximum(self.mean(labels, values**2) - self.mean(labels, values) ** 2, 0))

    def greatest(self, values: Real) -> Real:
        """Greatest of some values above 0 in each label (N,)."""
        most = np.zeros(len(self) + 1)
        np.maximum.at(most, self.labels.ravel(), values.ravel())
        return most[1:]

    @cached_property
    def area(self) -> Real:
        """Number of pixels of each label."""
        return self.total(self.labels)

    @cached_property
    def edge(self) -> Mask:
        """Pixels adjacent to a pixel of another value."""
        edge = np.zeros(self.labels.shape, dtype=bool)
        for here, there in NEIGHBOURS:
            differs = self.labels[here] != self.labels[there]
            edge[here] |= differs
            edge[there] |= differs
        return edge & (self.labels > 0)

    @cached_property
    def depth(self) -> Real:
        """Distance of every object pixel from the outline."""
        edge = np.pad(self.edge | (self.labels == 0), 1, mode="edge")
        return np.where(self.labels > 0, ndimage.distance_transform_edt(~edge)[1:-1, 1:-1] + 0.5, 0)

    @cached_property
    def deepest(self) -> Real:
        """Greatest depth of each label."""
        return self.greatest(self.depth)

    @cached_property
    def radius(self) -> float:
        """Typical radius: that of a disk of the median area."""
        return float(np.sqrt(np.median(self.area) / np.pi))

    @property
    def around(self) -> float:
        """Width of the surroundings of an object, in pixels."""
        return float(np.clip(self.radius, 4, 30))

    @property
    def coarse(self) -> tuple[slice, slice]:
        """Rows and columns that suffice for objects of the typical radius: all, or every second."""
        step = slice(None, None, 2 if self.radius >= _SUBSAMPLED_RADIUS_PX else 1)
        return step, step

    @cached_property
    def centres(self) -> tuple[Real, Real]:
        """Mean row and column of each label."""
        rows, columns = np.nonzero(self.labels)
        owner = self.labels[rows, columns]
        return self.mean(owner, rows), self.mean(owner, columns)

    @cached_property
    def moments(self) -> Real:
        """Variances of the rows and of the columns of each label, and their covariance, (3, N)."""
        rows, columns = np.nonzero(self.labels)
        owner = self.labels[rows, columns]
        y, x = (places - centre[owner - 1] for places, centre in zip((rows, columns), self.centres, strict=True))
        # A pixel is a square, with a variance of 1/12 along each side.
        return np.stack([self.mean(owner, y * y) + 1 / 12, self.mean(owner, x * x) + 1 / 12, self.mean(owner, x * y)])

    @cached_property
    def outside(self) -> tuple[Real, NDArray[np.int32]]:
        """Distance of every background pixel from the nearest object, and that object."""
        distance, (rows, columns) = ndimage.distance_transform_edt(self.labels == 0, return_indices=True)
        return distance, self.labels[rows, columns]


def topology(plane: Plane) -> tuple[dict[str, Real], Plane]:
    """Components and holes of every label, and the plane with the holes filled.

    Other labels in a hole are kept; holes with background are also counted separately, as "open" ones.

    The number of holes follows from that of components and from the Euler characteristic of the pixels as closed
    squares, vertices minus edges plus squares, which is counted for all labels at once.
    """
    labels, count = plane.labels, len(plane)
    same = sum(plane.total(np.where(labels[here] == labels[there], labels[here], 0)) for here, there in NEIGHBOURS)
    padded = np.pad(labels, 1)
    corners = [padded[:-1, :-1], padded[:-1, 1:], padded[1:, :-1], padded[1:, 1:]]
    vertices = np.zeros(count)
    for place, corner in enumerate(corners):
        new = np.logical_and.reduce([corner != other for other in corners[:place]], initial=True) & (corner > 0)
        vertices += plane.total(corner[new])
    euler = vertices - (4 * plane.area - same) + plane.area
    pieces_plane = connected(labels, background=0, connectivity=2)
    sizes = np.bincount(pieces_plane.ravel())
    owner = np.zeros(len(sizes), dtype=np.int64)
    owner[pieces_plane.ravel()] = labels.ravel()
    pieces = np.bincount(owner[1:], minlength=count + 1)[1:].astype(float)
    largest = np.zeros(count + 1)
    np.maximum.at(largest, owner[1:], sizes[1:])
    holes = np.round(pieces - euler)
    filled, hole_pixels, open_holes, open_pixels = labels.copy(), *np.zeros((3, count))
    boxes, apart = ndimage.find_objects(labels), pieces.copy()
    for index in np.flatnonzero(pieces > 1):
        # Labels that lie on an object may divide it.
        mask, joined = (
            labels[boxes[index]] == index + 1,
            ndimage.label(labels[boxes[index]], structure=np.ones((3, 3)))[0],
        )
        apart[index] = len(np.unique(joined[mask]))
    # The innermost first, as a hole in a label that lies in a hole belongs to the inner label.
    for index in sorted(np.flatnonzero(holes > 0), key=lambda index: labels[boxes[index]].size):
        box = boxes[index]
        mask = labels[box] == index + 1
        hole = ndimage.binary_fill_holes(mask) & ~mask
        ground = hole & (filled[box] == 0)
        hole_pixels[index], open_pixels[index] = hole.sum(), ground.sum()
        open_holes[index] = len(np.unique(ndimage.label(hole)[0][ground]))
        filled[box][ground] = index + 1
    return {
        "holes": holes,
        "hole_pixels": hole_pixels,
        "hole_share": hole_pixels / (plane.area + hole_pixels),
        "open_holes": open_holes,
        "open_pixels": open_pixels,
        "enclosed_pixels": hole_pixels - open_pixels,
        "pieces": pieces,
        "pieces_apart": apart,
        "loose_share": 1 - largest[1:] / plane.area,
    }, Plane(plane.values, filled)


def shape(plane: Plane) -> dict[str, Real]:
    """Size and shape of every label."""
    labels, area = plane.labels, plane.area
    rows, columns = np.nonzero(labels)
    owner = labels[rows, columns]
    yy, xx, xy = plane.moments
    spread, split = yy + xx, np.hypot(yy - xx, 2 * xy)
    major, minor = (spread + split) / 2, np.maximum((spread - split) / 2, 1e-9)
    perimeter = crofton_perimeters(np.pad(labels, 1), len(plane))
    # The convex hull is that of the first and the last pixel of each row of an object, corners included.
    line = (owner - 1) * labels.shape[0] + rows
    first, last = np.full(len(plane) * labels.shape[0], labels.shape[1]), np.full(len(plane) * labels.shape[0], -1)
    np.minimum.at(first, line, columns)
    np.maximum.at(last, line, columns)
    used = np.flatnonzero(last >= 0)
    of, at = np.divmod(used, labels.shape[0])
    ends = np.stack([first[used] - 0.5, last[used] + 0.5, first[used] - 0.5, last[used] + 0.5], axis=1)
    above = np.stack([at - 0.5, at - 0.5, at + 0.5, at + 0.5], axis=1)
    corners = np.stack([above.ravel(), ends.ravel()], axis=1)
    clouds = shapely.linestrings(corners, indices=np.repeat(of, 4))
    hull = shapely.area(shapely.convex_hull(clouds))
    frame = np.ones(labels.shape, dtype=bool)
    frame[1:-1, 1:-1] = False
    row, column = plane.centres
    return {
        "area": area,
        "circularity": 4 * np.pi * area / perimeter**2,
        "solidity": area / hull,
        "ellipse_fit": area / (4 * np.pi * np.sqrt(major * minor)),
        "elongation": np.sqrt(major / minor),
        "width": plane.deepest / np.sqrt(area / np.pi),
        "border_share": plane.total(labels[frame]) / perimeter,
        "row": row,
        "column": column,
        "perimeter": perimeter,
    }


def spurs_and_crevices(plane: Plane) -> dict[str, Real]:
    """Spurs and crevices of every label: removed by an opening and added by a closing, as fractions of its area.

    The frame is not padded with background, so that a notch at the image border counts as a crevice.
    """
    labels, out = plane.labels, {}
    background = np.pad(labels == 0, 1)
    gap = ndimage.distance_transform_edt(background)
    _, nearest = plane.outside
    for name, reach in (("", 1.5), ("_wide", float(np.clip(0.2 * plane.radius, 2.5, 8)))):
        spur = (labels > 0) & ~dilated(plane.depth > reach, reach)
        narrow = (background & ~dilated(gap > reach, reach))[1:-1, 1:-1]
        # Space between two objects is not a crevice of either.
        size = 2 * int(np.ceil(reach)) + 1
        most = ndimage.maximum_filter(labels, size)
        least = ndimage.minimum_filter(np.where(labels > 0, labels, len(plane) + 1), size)
        alone = most == least
        out[f"spurs{name}"] = plane.total(np.where(spur, labels, 0)) / plane.area
        out[f"crevices{name}"] = plane.total(np.where(narrow & alone, nearest, 0)) / plane.area
        out[f"gaps{name}"] = plane.total(np.where(narrow & ~alone, nearest, 0)) / np.sqrt(plane.area)
    out["thickness"] = np.minimum(plane.deepest, 20.0)
    return out


def dilated(mask: Mask, reach: float) -> Mask:
    """Pixels within this distance of a mask; for distances of a few pixels faster than a distance transform."""
    wider_mask = np.zeros(mask.shape, dtype=bool)
    steps = np.arange(int(reach) + 1)
    widths = 2 * (np.sqrt(steps**2 + steps[:, None] ** 2) <= reach).sum(axis=1) - 1  # of the rows of a disk
    widths = widths[: len(mask)]
    for width in np.unique(widths).tolist():
        wider = ndimage.maximum_filter1d(mask.view(np.uint8), width, axis=1).view(bool)
        for step in np.flatnonzero(widths == width).tolist():
            wider_mask[step:] |= wider[: len(wider) - step]
            wider_mask[: len(wider_mask) - step] |= wider[step:]
    return wider_mask


def dents(plane: Plane) -> dict[str, Real]:
    """Depths of the deepest dent of every outline below its convex hull, and of the next one elsewhere, in radii."""
    rows, columns = np.nonzero(plane.edge)
    owner = plane.labels[rows, columns]
    order = np.argsort(owner, kind="stable")
    rows, columns, owner = rows[order], columns[order], owner[order]
    first, second = np.zeros(len(plane) + 1), np.zeros(len(plane) + 1)
    _, of = np.unique(owner, return_inverse=True)
    hulls = shapely.boundary(shapely.convex_hull(shapely.multipoints(np.stack([rows, columns], axis=1), indices=of)))
    depth = np.nan_to_num(shapely.distance(shapely.points(rows, columns), hulls[of]))
    radius = np.sqrt(plane.area / np.pi)
    np.maximum.at(first, owner, depth)
    deepest, order = np.zeros(len(plane) + 1, dtype=np.int64), np.argsort(depth, kind="stable")
    deepest[owner[order]] = order  # the largest is written last
    at = deepest[owner]
    apart = np.hypot(rows - rows[at], columns - columns[at]) > 0.7 * radius[owner - 1]
    np.maximum.at(second, owner[apart], depth[apart])
    return {"dent": first[1:] / radius, "dent2": second[1:] / radius}


def necks(plane: Plane, height: Real, least: float) -> tuple[Real, Real, Real]:
    """Deepest saddle between two basins of each label: relative to the lower peak; drop; share of the smaller.

    `height` is positive in the objects; peaks closer than `least` are merged.
    """
    labels = plane.labels
    inside = labels > 0
    for here, there in NEIGHBOURS:  # one side of a contact between two objects is left out: basins do not extend across
        inside[here] &= (labels[here] == labels[there]) | (labels[there] == 0)
    size = 2 * max(int(least), 1) + 1
    highest = ndimage.maximum_filter(height, size)
    peaks, _ = ndimage.label((height == highest) & inside, structure=np.ones((3, 3)))
    basins = watershed(-height, peaks, mask=inside)
    count = int(basins.max()) + 1
    owner, peak = np.zeros(count, dtype=np.int64), np.full(count, -np.inf)
    owner[basins.ravel()] = labels.ravel()
    np.maximum.at(peak, basins.ravel(), height.ravel())
    sizes = np.bincount(basins.ravel(), minlength=count).astype(float)
    # Kruskal's algorithm: the saddle between two peaks is on the highest path; basins merge from the highest saddle
    # down.
    ratio, drop, lesser = np.ones(len(plane)), np.zeros(len(plane)), np.zeros(len(plane))
    parent = np.arange(count)
    for a, b, level in passes(basins, height):
        one, other = root(parent, a), root(parent, b)
        if one == other or owner[one] != owner[other]:
            continue
        low, high = sorted((one, other), key=lambda basin: peak[basin])
        owning = owner[low] - 1
        share = min(sizes[low], sizes[high]) / plane.area[owning]
        depth = level / peak[low] if peak[low] > 0 else 1.0
        weight = (1 - depth) * min(1.0, share / 0.15)
        if weight > (1 - ratio[owning]) * min(1.0, lesser[owning] / 0.15):
            ratio[owning], drop[owning], lesser[owning] = depth, peak[low] - level, share
        parent[low] = high
        sizes[high] += sizes[low]
    return ratio, drop, lesser


def grey_of(image: ArrayLike, plane: Plane) -> Real:
    """Project colors on the direction that best separates objects from their surroundings.

    Fisher's discriminant of pixels in the labels and pixels around them, signed so that objects are bright.
    """
    pixels = unmasked(image, "the image")
    if pixels.shape[:2] != plane.labels.shape or pixels.ndim not in (2, 3):
        raise ValueError(
            f"an image of shape {pixels.shape} does not match labels of shape {plane.labels.shape}: give the plane "
            "that was segmented, grayscale or with color as the last axis"
        )
    if pixels.dtype.kind not in "biuf":
        raise ValueError(f"the image holds {pixels.dtype} values: give real numbers")
    values = (pixels if pixels.ndim == 3 else pixels[..., None]).astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"{(~np.isfinite(values)).sum()} values of the image are NaN or infinite: fill them first")
    if min(plane.labels.shape) < 2 or (values == values[0, 0]).all():
        raise ValueError("the image is blank, or one pixel wide, and shows no edges: leave it out")
    distance, _ = plane.outside
    inside, around = plane.labels > 0, (distance > 1) & (distance <= plane.around)
    if not around.any():
        around = plane.labels == 0
    if not around.any():
        return values.mean(axis=-1)
    one, other = values[inside], values[around]
    within = np.zeros((values.shape[-1],) * 2)
    for side in (one, other):
        within += np.cov(side.T) if len(side) > 1 else 0  # a single pixel does not vary
    within += np.eye(len(within)) * (1e-3 * np.trace(within) / len(within) + 1e-12)
    direction = np.linalg.solve(within, np.median(one, axis=0) - np.median(other, axis=0))
    if not direction.any():
        direction = np.ones(len(direction))
    return values @ (direction / np.linalg.norm(direction))


def _grown(labels: NDArray[np.int32], distance: Real, nearest: NDArray[np.int32], reach: float) -> NDArray[np.int32]:
    """Labels with the background within this distance of them."""
    return np.where(labels > 0, labels, np.where(distance <= reach, nearest, 0))


def _cores(labels: NDArray[np.int32], depth: Real, deepest: Real) -> NDArray[np.int32]:
    """Labels without the pixels next to the outline, where levels mix; of a thin object, most of it."""
    return labels * (depth > np.minimum(2.0, 0.4 * np.append(0, deepest)[labels]))


def levels(plane: Plane, grey: Real) -> dict[str, Real]:
    """Contrast of every object with its surroundings, and fractions of misclassified pixels inside and outside."""
    labels = plane.labels
    distance, nearest = plane.outside
    width = plane.around
    surely = _cores(labels, plane.depth, plane.deepest)
    inner = plane.mean(surely, grey, plane.mean(labels, grey))
    ring = np.where((labels == 0) & (distance > 2) & (distance <= width), nearest, 0)
    ground = (labels == 0) & (distance > 2)
    common = float(np.median(grey[ground])) if ground.any() else float(np.min(inner))
    outer = plane.mean(ring, grey, common)
    near = np.where((labels == 0) & (distance > 0) & (distance <= 2.3), nearest, 0)
    rim = labels * (plane.depth < 2.3)
    scale = max(float(np.median(np.abs(inner - outer))), 1e-9)
    contrast = (inner - outer) / scale
    # The level half way between an object and its surroundings classifies the pixels.
    half = np.append(0, (inner + outer) / 2)
    here = _grown(labels, distance, nearest, width)
    looks = (grey > half[here]) & (here > 0)
    within = plane.total(np.where(looks & (labels > 0), labels, 0))
    beyond_near = plane.total(np.where(looks & (labels == 0) & (distance <= width / 2), here, 0))
    # Pixels that look like the object and are connected to it, within its Voronoi cell.
    owned = connected(np.where(looks | (labels > 0), here, 0), background=0, connectivity=1)
    count = int(owned.max()) + 1
    holds = np.zeros(count, dtype=bool)
    holds[owned[labels > 0]] = True
    beyond = plane.total(np.where(looks & (labels == 0) & holds[owned], here, 0))
    drawn = {}
    for name, share in (("low", 0.2), ("high", 0.75)):
        level = np.append(0, outer + share * (inner - outer))
        region = np.where((grey > level[here]) & (here > 0), here, 0)
        overlap = plane.total(np.where(labels > 0, region, 0))
        other = plane.total(region)
        drawn[f"fit_{name}"] = overlap / np.maximum(plane.area + other - overlap, 1)
        drawn[f"area_{name}"] = np.log((other + 1) / plane.area)
    noise = float(np.median(np.abs(grey[ground] - common))) * 1.4826 / scale if ground.any() else 0.0
    return {
        "level": (inner - common) / scale,
        "contrast": contrast,
        "outer_level": (outer - common) / scale,
        "leak_share": 1 - within / plane.area,
        "missed_share": beyond / plane.area,
        "missed_near": beyond_near / plane.area,
        "fit": within / (plane.area + beyond),
        **drawn,
        "step": (plane.mean(rim, grey) - plane.mean(near, grey, common)) / scale,
        "texture": plane.spread(surely, grey) / scale,
        "texture_all": plane.spread(labels, grey) / scale,
        "outer_texture": plane.spread(ring, grey) / scale,
        "ground_noise": np.full(len(plane), noise),
    }


def profiles(plane: Plane, grey: Real) -> dict[str, Real]:
    """Offset of the image edge from each outline, its direction, and its sharpness.

    Levels are sampled along the normal of every outline pixel; the edge is at their steepest descent.
    """
    labels = plane.labels
    reach = int(np.clip(round(0.5 * plane.radius), _MIN_REACH, _MAX_REACH))
    rows, columns = np.nonzero(plane.edge)
    owner = labels[rows, columns]
    padded = np.pad(labels, _NORMAL)
    normal = np.zeros((2, len(rows)))
    for dy in range(-_NORMAL, _NORMAL + 1):
        for dx in range(-_NORMAL, _NORMAL + 1):
            if dy or dx:
                alike = padded[rows + dy + _NORMAL, columns + dx + _NORMAL] == owner
                normal -= alike * np.array([[dy], [dx]])
    length = np.hypot(*normal)
    normal = np.where(length > 0, normal / np.maximum(length, 1e-9), 0)
    steps = np.arange(-reach - 1, reach + 2)
    y = rows + (steps[:, None] + 0.5) * normal[0]
    x = columns + (steps[:, None] + 0.5) * normal[1]
    smooth = ndimage.gaussian_filter(grey, 1.0)
    sampled = ndimage.map_coordinates(smooth, [y, x], order=1, mode="nearest")
    fall = (sampled[:-2] - sampled[2:]) / 2  # at steps -reach .. reach
    at = labels[
        np.clip(np.round(y).astype(int), 0, labels.shape[0] - 1),
        np.clip(np.round(x).astype(int), 0, labels.shape[1] - 1),
    ][1:-1]
    # Beyond a neighbor, or on the far side of a thin part, an edge belongs to something else.
    middle = reach
    stranger = np.where(steps[1:-1, None] > 0, (at != 0), at != owner)
    blocked = np.zeros_like(stranger)
    for step in range(1, reach + 1):
        blocked[middle + step] = blocked[middle + step - 1] | stranger[middle + step]
        blocked[middle - step] = blocked[middle - step + 1] | stranger[middle - step]
    fall = np.where(blocked, -np.inf, fall)
    best = fall.argmax(axis=0)
    strength = fall.max(axis=0)
    offset = (best - middle).astype(float)
    here = fall[middle - 1 : middle + 2].max(axis=0)
    here_mean = fall[middle]
    touching = _beside_another(labels)[rows, columns]
    clear = strength[~touching] if (~touching).any() else strength
    scale = max(float(np.median(clear)) if len(clear) else 0.0, 1e-9)
    strength, here, here_mean = strength / scale, here / scale, here_mean / scale
    weight = np.clip(strength, 0, 2)
    total = np.maximum(plane.total(owner, weight), 1e-9)
    mean_offset = plane.total(owner, weight * offset) / total
    spread = plane.total(owner, weight * np.abs(offset - mean_offset[owner - 1])) / total
    shift = np.hypot(
        plane.total(owner, weight * offset * normal[0]) / total, plane.total(owner, weight * offset * normal[1]) / total
    )
    share, far = here / np.maximum(strength, 1e-9), max(1.5, 0.15 * plane.radius)
    return {
        "edge_offset": mean_offset,
        "edge_offset_abs": plane.total(owner, weight * np.abs(offset)) / total,
        "edge_spread": spread,
        "shift": 2 * shift,
        "sharpness": plane.mean(owner, np.clip(here_mean, -3, 3)),
        "edge_here": plane.mean(owner, np.clip(here, -3, 3)),
        "edge_best": plane.mean(owner, np.clip(strength, -3, 3)),
        "edge_share": plane.mean(owner, np.clip(share, -1, 1)),
        "no_edge": plane.mean(owner, (here < 0.3).astype(float)),
        "edge_off": plane.mean(owner, (np.abs(offset) > far).astype(float)),
        "edge_out": plane.mean(owner, (offset > far).astype(float)),
        "edge_in": plane.mean(owner, (offset < -far).astype(float)),
    }


def snapped(plane: Plane, grey: Real) -> dict[str, Real]:
    """Change of every outline when retraced along image edges, starting from the core of its object."""
    radius, (distance, _) = plane.radius, plane.outside
    deepest = np.append(0, plane.deepest)
    core = plane.labels * (plane.depth >= 0.6 * deepest[plane.labels])
    coarse = plane.coarse
    step = coarse[0].step
    labels, distance, core = plane.labels[coarse], distance[coarse], core[coarse]
    smooth = ndimage.gaussian_filter(grey, float(np.clip(0.1 * radius, 1, 3)))[coarse]
    slope = np.hypot(ndimage.sobel(smooth, 0), ndimage.sobel(smooth, 1))
    width = max(3.0, 0.6 * radius)
    markers = np.where((labels == 0) & (distance > width), len(plane) + 1, core)
    region = watershed(slope, markers, mask=distance <= width + 2 * step)
    region = np.where(region == len(plane) + 1, 0, region)
    area, new = np.maximum(plane.total(labels), 1), plane.total(region)
    shared = plane.total(np.where(region == labels, labels, 0))
    return {"snap_iou": shared / np.maximum(area + new - shared, 1), "snap_area": np.log(np.maximum(new, 1) / area)}


def alternatives(plane: Plane, grey: Real) -> dict[str, Real]:
    """Largest IoU with objects of other segmentations of the image."""
    coarse = plane.coarse
    radius = plane.radius / coarse[0].step
    plane, grey = Plane(plane.values, plane.labels[coarse]), grey[coarse]
    labels = plane.labels
    out = {}
    for name, choices in (
        ("alike_otsu", {"method": "otsu"}),
        ("alike_local", {"method": "local", "window": 2.0 * int(3 * radius) + 21}),
        ("alike_li", {"method": "li"}),
        ("alike_triangle", {"method": "triangle"}),
    ):
        other = (
            segment(grey, min_size=10, ignore="none", **choices)
            if np.ptp(grey) > 0
            else np.zeros(labels.shape, np.int32)
        )
        overlaps = Overlaps.of(labels, other)
        out[name] = np.zeros(len(plane))
        np.maximum.at(out[name], overlaps.a - 1, overlaps.iou)
        out[name + "_in"] = plane.mean(labels, other > 0)
    # All of them split touching objects; the trees know two of them under other names as well.
    for name, same in (("alike_parts", "alike_otsu"), ("alike_local_parts", "alike_local")):
        out[name], out[name + "_in"] = out[same], out[same + "_in"]
    return out


def level_lines(plane: Plane, grey: Real) -> dict[str, Real]:
    """Isocontours of the image around every object: the steepest level, and the level of the outline.

    Levels run from the surroundings of an object, 0, to its inside, 1. By the coarea formula the mean slope along an
    isocontour is the sum of the squared slopes over the pixels between two levels, divided by the sum of the slopes.
    """
    radius, width = plane.radius, plane.around / 2
    smooth = ndimage.gaussian_filter(grey, float(np.clip(0.1 * radius, 1, 3)))
    slope = np.hypot(*np.gradient(smooth))
    coarse = plane.coarse
    distance, nearest = plane.outside[0][coarse], plane.outside[1][coarse]
    depth, smooth, slope = plane.depth[coarse], smooth[coarse], slope[coarse]
    surely = _cores(plane.labels[coarse], depth, plane.deepest)
    plane = Plane(plane.values, plane.labels[coarse])
    labels, count = plane.labels, len(plane)
    here = _grown(labels, distance, nearest, width)
    inner = plane.mean(surely, smooth, plane.mean(labels, smooth))
    ground = (labels == 0) & (distance > 2)
    common = float(np.median(smooth[ground])) if ground.any() else float(smooth.min())
    outer = plane.mean(np.where(ground, here, 0), smooth, common)
    typical = max(float(np.median(inner - outer)), 1e-9)
    step = np.append(1.0, np.maximum(inner - outer, 0.05 * typical))
    value, slope = (smooth - np.append(0, outer)[here]) / step[here], slope / step[here]
    # Pixel counts, sums of slopes and of squared slopes in bins of levels; the first and the last bin are open.
    edges = np.linspace(0.05, 0.95, 10)
    bins, used = len(edges) + 1, here > 0
    at = (here[used] - 1) * bins + np.digitize(value[used], edges)
    number, length, steep = (
        np.bincount(at, weight, count * bins).reshape(count, bins) for weight in (None, slope[used], slope[used] ** 2)
    )
    inner_bins = slice(1, bins - 1)
    mean_slope = steep[:, inner_bins] / np.maximum(length[:, inner_bins], 1e-9)
    above = (number[:, ::-1].cumsum(axis=1)[:, ::-1] - number / 2)[:, inner_bins]
    steepest = ndimage.uniform_filter1d(mean_slope, 3, axis=1, mode="nearest").argmax(axis=1)
    one, level = np.arange(count), ((edges[:-1] + edges[1:]) / 2)[steepest]
    area = np.maximum(plane.area, 1)
    rim = labels * (depth < 1)
    inside = plane.mean(rim, value)
    outside = plane.mean(np.where((labels == 0) & (distance < 1.5), nearest, 0), value, inside)
    drawn = (inside + outside) / 2
    return {
        "steep_level": level,
        "steep_area": np.log((above[one, steepest] + 1) / area),
        "steepness": mean_slope.max(axis=1) * np.sqrt(area) * coarse[0].step,
        "outline_level": drawn,
        "outline_spread": np.sqrt(np.maximum(plane.mean(rim, value**2) - inside**2, 0)),
        "outline_off": drawn - level,
        "area_slope": np.log((above[:, 1] + 1) / (above[:, -2] + 1)),
    }


def blobs(plane: Plane, grey: Real) -> dict[str, Real]:
    """Number and strength of blobs in every object, by the Laplacian of Gaussian at typical and half the typical size.

    Strengths are relative to the median over the objects.
    """
    radius, out = plane.radius, {}
    for name, share in (("blobs", 0.6), ("blobs_fine", 0.35)):
        scale = float(np.clip(share * radius, 1, 20))
        step = max(1, int(scale // 2))
        coarse = (slice(None, None, step),) * 2
        labels = plane.labels[coarse]
        smooth = ndimage.gaussian_filter(grey, 0.5 * scale)[coarse] if step > 1 else grey
        response = -ndimage.gaussian_laplace(smooth, scale / step)
        peak = ndimage.maximum_filter(response, 2 * max(1, round(scale / step)) + 1) == response
        best = Plane(plane.values, labels).greatest(response)
        strong = peak & (labels > 0) & (response > 0.3 * np.maximum(np.append(0, best), 1e-12)[labels])
        typical = max(float(np.median(best)), 1e-12)
        out[name] = plane.total(labels[strong])
        out[f"{name}_best"] = np.clip(best / typical, 0, 5)
        out[f"{name}_mean"] = np.clip(plane.mean(labels, response) / typical, -3, 3)
    return out


def _beside_another(labels: NDArray[np.int32]) -> Mask:
    """Whether a pixel is adjacent to another object."""
    touching = np.zeros(labels.shape, dtype=bool)
    for here, there in NEIGHBOURS:
        both = (labels[here] != labels[there]) & (labels[here] > 0) & (labels[there] > 0)
        touching[here] |= both
        touching[there] |= both
    return touching


def neighbours(plane: Plane, grey: Real | None, measured: dict[str, Real], inner: Real | None) -> dict[str, Real]:
    """Evidence that an object and a neighbor are one: contact, shape of their union, a seam between them."""
    labels = plane.labels
    distance, nearest = plane.outside
    grown = _grown(labels, distance, nearest, 1.5)
    pairs, seams = [], []
    for here, there in NEIGHBOURS[::-1]:
        a, b = grown[here], grown[there]
        touching = (a != b) & (a > 0) & (b > 0)
        pairs.append(np.sort(np.stack([a[touching], b[touching]], axis=1), axis=1))
        if grey is not None:
            seams.append(((grey[here] + grey[there]) / 2)[touching])
    n = len(plane)
    out = {
        name: np.zeros(n)
        for name in ("contact", "join_gain", "join_solid", "seam", "contacts", "partner", "partner_size", "sliver")
    }
    pair, index, length = np.unique(np.concatenate(pairs), axis=0, return_inverse=True, return_counts=True)
    if not len(pair):
        return out
    i, j = (pair - 1).T
    area, (row, column), cov = plane.area, plane.centres, plane.moments
    # Second moments of the union from those of each.
    both = area[i] + area[j]
    dy, dx = row[i] - row[j], column[i] - column[j]
    mix = area[i] * area[j] / both**2
    joined = (area[i] * cov[:, i] + area[j] * cov[:, j]) / both + mix * np.stack([dy * dy, dx * dx, dy * dx])
    fit = both / (4 * np.pi * np.sqrt(np.maximum(joined[0] * joined[1] - joined[2] ** 2, 1e-9)))
    alone = (area[i] * measured["ellipse_fit"][i] + area[j] * measured["ellipse_fit"][j]) / both
    radius = np.sqrt(np.minimum(area[i], area[j]) / np.pi)
    contact = length / (2 * radius)
    seam = np.zeros(len(pair))
    if grey is not None and inner is not None:
        mean = np.bincount(index.ravel(), np.concatenate(seams)) / length
        seam = np.minimum(inner[i], inner[j]) - mean
    weight = contact * np.maximum(fit - 0.8, 0)
    for one, other in ((i, j), (j, i)):
        np.add.at(out["contacts"], one, contact)
        order = np.argsort(weight, kind="stable")
        out["contact"][one[order]] = contact[order]
        out["join_gain"][one[order]] = (fit - alone)[order]
        out["join_solid"][one[order]] = fit[order]
        out["seam"][one[order]] = seam[order]
        out["partner"][one[order]] = plane.values[other[order]]
        out["partner_size"][one[order]] = np.log(area[other] / area[one])[order]
        # A sliver adjacent to an object often belongs to it.
        thin = np.where(plane.deepest[other] <= 2, length, 0) / np.sqrt(area[one])
        np.maximum.at(out["sliver"], one, thin)
    return out


def evidence(labels: ArrayLike, image: ArrayLike | None = None) -> "pd.DataFrame":
    """Compute all evidence; one row per label."""
    import pandas as pd  # slow to import, and not needed for a comparison

    leave = cancellation_check()
    refuse_grey(labels, image)
    given = Plane.of(labels)
    if not len(given):
        return pd.DataFrame(index=pd.Index(given.values, name="label"))
    measured, plane = topology(given)
    measured |= shape(plane)
    measured |= spurs_and_crevices(plane)
    measured |= dents(plane)
    radius = plane.radius
    ratio, _, lesser = necks(plane, ndimage.gaussian_filter(plane.depth, 1.0), 3)
    measured |= {"neck": ratio, "neck_share": lesser}
    if image is not None:
        leave()
        grey = grey_of(image, plane)
        measured |= levels(plane, grey)
        measured |= profiles(plane, grey)
        leave()
        measured |= snapped(plane, grey)
        measured |= alternatives(plane, grey)
        leave()
        measured |= level_lines(plane, grey)
        measured |= blobs(plane, grey)
        smooth = ndimage.gaussian_filter(grey, float(np.clip(0.2 * radius, 1, 4)))
        above = np.where(plane.labels > 0, smooth - smooth.min() + 1e-6, 0)
        _, drop, lesser = necks(plane, above, max(3, radius / 3))
        unit = max(float(np.ptp(np.percentile(smooth, [1, 99]))), 1e-9)
        measured |= {"valley": drop / unit, "valley_share": lesser}
        together = neighbours(plane, grey, measured, plane.mean(plane.labels, grey))
        together["seam"] = together["seam"] / unit
    else:
        together = neighbours(plane, None, measured, None)
    measured |= together
    return pd.DataFrame(measured, index=pd.Index(plane.values, name="label"))


def unlabelled(labels: ArrayLike, image: ArrayLike, least: float = 0.4) -> "tuple[pd.DataFrame, NDArray[np.integer]]":
    """Find unlabeled regions that look like the labeled objects; see `missing_objects`.

    Also returns an array of the shape of the labels in which the pixels of row k of the table are k + 1.
    """
    import pandas as pd  # slow to import, and not needed for a comparison

    refuse_grey(labels, image)
    _, plane = topology(Plane.of(labels))
    columns = ["row", "column", "area", "contrast", "score", "reasons"]
    nothing = pd.DataFrame(columns=columns), np.zeros(plane.labels.shape, np.int32)
    if not len(plane):
        return nothing
    smooth = ndimage.gaussian_filter(grey_of(image, plane), 1.0)
    distance, _ = plane.outside
    ground = (plane.labels == 0) & (distance > 2)
    if not ground.any():
        return nothing
    smooth -= _trend(smooth, ground)
    inner = plane.mean(plane.labels, smooth)
    common = float(np.median(smooth[ground]))
    typical = float(np.median(inner)) - common
    if typical <= 0:
        return nothing
    area = float(np.median(plane.area))
    # The halo of a labeled object is not an object.
    candidate = ndimage.binary_opening(ground & (smooth > common + max(least, 0.3) * typical), iterations=1)
    regions, count = ndimage.label(candidate)
    numbers = np.arange(1, count + 1)
    sizes = np.bincount(regions.ravel(), minlength=count + 1)[1:]
    contrast = (ndimage.mean(smooth, regions, numbers) - common) / typical if count else np.empty(0)
    deepest = ndimage.maximum(ndimage.distance_transform_edt(regions > 0), regions, numbers) if count else np.empty(0)
    width = float(np.median(plane.deepest))
    # As wide as objects: rims and bridges between labeled objects are thin.
    kept = (sizes >= least * area) & (np.asarray(deepest) >= 0.5 * width)
    centres = np.array(ndimage.center_of_mass(regions > 0, regions, numbers[kept])).reshape(-1, 2)
    contrast, sizes = np.asarray(contrast)[kept], sizes[kept]
    alike = np.exp(-np.abs(np.log(sizes / area)) / 2) * np.clip(contrast, 0, 1)
    words = [
        f"missing: {size} px without a label, contrast {strength:.2f} of the typical one"
        for size, strength in zip(sizes, contrast, strict=True)
    ]
    table = pd.DataFrame(dict(zip(columns, (*centres.T, sizes, contrast, alike, words), strict=True)))
    order = np.argsort(-alike, kind="stable")
    places = np.zeros(count + 1, dtype=np.int32)
    places[numbers[kept][order]] = np.arange(1, len(order) + 1)
    return table.iloc[order].reset_index(drop=True), places[regions]


def _trend(grey: Real, ground: Mask) -> Real:
    """Uneven illumination: a quadratic surface fitted to the background, without objects that may be in it.

    Beyond the rows and columns with background it is continued as a constant, as parabolas are soon far off there.
    """
    rows, columns = np.nonzero(ground)
    if len(rows) < _MIN_TREND_PIXELS:
        return np.zeros(grey.shape)
    y, x = (
        np.interp(np.arange(length), (where.min(), where.max()), (-1, 1))
        for length, where in zip(grey.shape, (rows, columns), strict=True)
    )
    step = max(1, len(rows) // _MAX_TREND_PIXELS)
    rows, columns = rows[::step], columns[::step]
    terms = [(i, j) for i in range(3) for j in range(3 - i)]
    design = np.stack([y[rows] ** i * x[columns] ** j for i, j in terms], axis=1)
    values = grey[rows, columns]
    kept = np.ones(len(values), dtype=bool)
    factors = np.zeros(len(terms))
    for _ in range(_TREND_ROUNDS):
        # Monomials on [-1, 1] of degree 2 are far from collinear: normal equations are accurate and thrice as fast.
        of_kept = design[kept].T
        solution = np.linalg.lstsq(of_kept @ of_kept.T, of_kept @ values[kept], rcond=None)[0]
        factors = np.asarray(solution, dtype=np.float64)
        apart = values - design @ factors
        middle = np.median(apart)
        kept = np.abs(apart - middle) <= _TREND_SIGMAS * 1.4826 * np.median(np.abs(apart - middle))
    surface = np.zeros(grey.shape)
    for factor, (i, j) in zip(factors, terms, strict=True):
        surface += factor * np.multiply.outer(y**i, x**j)
    return surface
