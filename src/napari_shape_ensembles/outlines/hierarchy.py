"""From pixel probabilities to objects: a tree of watershed basins, cut where the objects resemble the examples."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial import ConvexHull
from skimage.segmentation import watershed

from .segment import passes

Real = NDArray[np.floating]
Labels = NDArray[np.int64]

# All of these were chosen on images whose labels play no part in the figures of docs/segmentation.md.
# Pixels are foreground above this probability; objects need this mean probability.
_CUT, _SURE = 0.45, 0.56
# How much more probable objects need to be whose size or shape is unlike that of the examples.
_DOUBT = 0.1
# Objects of less than this share of the smallest example are noise.
_LEAST = 0.2
# Spread of log area that the examples are taken to have at least, and how many spreads from their mean cost nothing.
_SPREAD, _FREE = 0.8, 1.0
# What is missing from the convex hull counts in units of this share of it.
_CONCAVE = 0.06
# Smoothing of the relief, and how far from the edge depth stops to count, in radii of the examples.
_SMOOTH, _DEEPEST = 0.25, 1.5
# Two objects need to be better than one by this, where no valley lies between them.
_WHOLE = 0.1


def objects_like(inside: Real, core: Real, areas: Real) -> Labels:
    """Divide the foreground into objects of about the sizes of the examples, as convex as can be.

    The relief (distance to the background, plus half the evidence for cores) is divided by a watershed into one basin
    per peak. Neighbouring basins are merged from the highest pass down, which makes a binary tree; each node is a
    candidate, with a quality from its area and its convexity. Of all sets of candidates without overlap the one with
    the largest sum of area times quality is kept.

    Parameters
    ----------
    inside : (rows, columns) array
        Probability that a pixel belongs to an object.
    core : (rows, columns) array
        Evidence for the inner part of objects, between -1 and 1.
    areas : (K,) array
        Of the examples, in pixels.

    Returns
    -------
    (rows, columns) int array
        Labels 1, 2, …; 0 for the background.

    References
    ----------
    P. Salembier, L. Garrido, "Binary partition tree as an efficient representation for image processing,
    segmentation, and information retrieval", IEEE Transactions on Image Processing 9 (2000) 561-576.
    """
    radius = float(np.sqrt(np.median(areas) / np.pi))
    mask = ndimage.gaussian_filter(inside, min(1.0, 0.1 * radius)) > _CUT
    depth = ndimage.distance_transform_edt(np.pad(mask, 1, mode="edge"))[1:-1, 1:-1] / radius
    smooth = max(0.7, _SMOOTH * radius)
    relief = ndimage.gaussian_filter(np.minimum(depth, _DEEPEST), smooth)
    relief += 0.5 * np.maximum(ndimage.gaussian_filter(core, max(0.7, 0.15 * radius)), 0)
    peaks = ndimage.label((relief == ndimage.maximum_filter(relief, 3)) & mask, np.ones((3, 3)))[0]
    basins = watershed(-relief, peaks, mask=mask)
    if not basins.any():
        return np.zeros(mask.shape, dtype=np.int64)
    found, quality = _best_of_tree(basins, relief, areas)
    labels = found[basins]
    pixels = np.bincount(labels.ravel())
    sure = np.bincount(labels.ravel(), inside.ravel()) / np.maximum(pixels, 1)
    kept = (pixels >= _LEAST * areas.min()) & (sure > _SURE + _DOUBT * (1 - quality[: len(pixels)]))
    kept[0] = False
    return _filled(np.where(kept, np.cumsum(kept), 0)[labels])


@dataclass
class _Node:
    """A union of basins: its pixels, the corners of its hull, its highest point, and how it is best divided."""

    basins: list[int]
    area: float
    hull: Real
    cut: bool
    top: float
    best: float = 0.0
    parts: tuple[tuple[list[int], float], ...] = ()  #: basins of each object, and its quality


def _best_of_tree(basins: Labels, relief: Real, areas: Real) -> tuple[Labels, Real]:
    """The object that each basin belongs to, (basins + 1,), 0 for the background; the quality of each object."""
    center, spread = float(np.log(areas).mean()), max(float(np.log(areas).std()), _SPREAD)

    def judged(node: _Node, hull_area: float, apart: float, parts: tuple[tuple[list[int], float], ...]) -> _Node:
        from_mean = (np.log(node.area) - center) / spread
        if node.cut and from_mean < 0:  # the border of the image hides the rest
            from_mean *= 0.3
        unusual = max(abs(from_mean) - _FREE, 0.0)
        concave = (1 - min(node.area / hull_area, 1.0)) / _CONCAVE
        quality = float(np.exp(-(unusual**2 + concave**2) / 2))
        whole = node.area * quality
        node.best, node.parts = (whole, ((node.basins, quality),)) if whole >= apart else (apart, parts)
        return node

    count, nodes = int(basins.max()), {}
    edge = np.ones(basins.shape, dtype=bool)
    edge[1:-1, 1:-1] = False
    rim = (ndimage.minimum_filter(basins, 3) != ndimage.maximum_filter(basins, 3)) | edge
    order = np.argsort(basins[rim], kind="stable")
    places = np.argwhere(rim)[order]
    starts = np.searchsorted(basins[rim][order], np.arange(1, count + 2))
    pixels, at_edge = np.bincount(basins.ravel()), np.bincount(basins[edge], minlength=count + 1) > 0
    tops = ndimage.maximum(relief, basins, np.arange(count + 1))
    corners = np.array([(-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)])
    for i in range(1, count + 1):
        around = places[starts[i - 1] : starts[i]]
        hull, hull_area = _hull((around[:, None] + corners).reshape(-1, 2))
        node = _Node([i], float(pixels[i]), hull, bool(at_edge[i]), float(tops[i]))
        nodes[i] = judged(node, hull_area, 0.0, ())
    owner = np.arange(count + 1)
    for a, b, height in passes(basins, relief):
        one, other = _root(owner, a), _root(owner, b)
        if one == other:
            continue
        first, second = nodes[one], nodes.pop(other)
        owner[other] = one
        hull, hull_area = _hull(np.concatenate([first.hull, second.hull]))
        valley = max(height, 0.0) / max(min(first.top, second.top), 1e-6)
        node = _Node(
            first.basins + second.basins,
            first.area + second.area,
            hull,
            first.cut or second.cut,
            max(first.top, second.top),
        )
        apart = (first.best + second.best) * (1 - _WHOLE * valley)
        nodes[one] = judged(node, hull_area, apart, first.parts + second.parts)
        if len(nodes[one].parts) > 1:  # the price of dividing is for this choice alone
            nodes[one].best = first.best + second.best
    found, qualities = np.zeros(count + 1, dtype=np.int64), np.ones(count + 1)
    for number, (part, quality) in enumerate((part for node in nodes.values() for part in node.parts), start=1):
        found[part], qualities[number] = number, quality
    return found, qualities


def _hull(points: Real) -> tuple[Real, float]:
    """Corners and area of the convex hull."""
    hull = ConvexHull(points)
    return points[hull.vertices], float(hull.volume)


def _root(owner: Labels, basin: int) -> int:
    while owner[basin] != basin:
        owner[basin] = owner[owner[basin]]
        basin = int(owner[basin])
    return basin


def _filled(labels: Labels) -> Labels:
    """Labels without holes."""
    for number, box in enumerate(ndimage.find_objects(labels), start=1):
        part = labels[box]
        part[ndimage.binary_fill_holes(part == number) & (part == 0)] = number
    return labels
