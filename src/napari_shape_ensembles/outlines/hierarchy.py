"""From pixel probabilities to objects: a tree of watershed basins, cut where the objects resemble the examples."""

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial import ConvexHull
from skimage.segmentation import watershed

from .methods import NEIGHBOURS, passes, root

Real = NDArray[np.floating]
Labels = NDArray[np.integer]

# Foreground threshold of the pixel probability.
_FOREGROUND_THRESHOLD = 0.45
# Standard deviation of the filter of the relief, in radii of the examples.
_SMOOTH = 0.25
# Distances to the edge of the foreground beyond this, in radii, do not raise the relief any more.
_MAX_DISTANCE_RADII = 1.5
# Minimum area of candidates relative to the smallest example, and maximum relative to the largest.
_MIN_RELATIVE_AREA, _MAX_RELATIVE_AREA = 0.1, 12.0
# Lower limits of the examples' standard deviations of log area, concavity, texture and edge: absolute, and relative to
# the median.
_MIN_SPREAD, _MIN_SHARE = np.array([0.4, 0.02, 0.02, 0.01]), np.array([0, 0, 0.2, 0.2])
# Logistic regression on candidates in the images of mask_corrections in the shared data: weights of the measures and of
# their squares, and the intercept: `python tools/train_segmentation.py candidates`.
_WEIGHTS = {
    "size": (0.027, -0.0320),
    "off size": (-0.220, -0.0320),
    "dents": (-0.032, -0.0435),
    "texture": (0.022, -0.0169),
    "edge": (0.222, -0.0974),
    "concavity": (-4.275, -5.9214),
    "inside": (4.979, 2.8011),
    "rim": (-2.703, -4.2442),
    "joined": (0.747, 1.4937),
    "joins": (-0.462, -1.5234),
    "at border": (0.066, 0.0660),
}
_INTERCEPT = -2.166
# Measures are clipped to this many standard deviations.
_CLIP_SIGMAS = 4.0
# An object raises the expected F1 if its probability exceeds F1 / 2; F1 is estimated, so this is an upper limit of that
# threshold.
_MAX_THRESHOLD = 0.4
# Iterations of the estimate of F1, which depends on the objects chosen by it.
_ITERATIONS = 3


@dataclass(frozen=True, eq=False)
class Candidates:
    """What may be objects: a binary tree whose leaves are watershed basins, and whose nodes are unions of two others.

    The relief (distance to the background, plus half the core evidence) is segmented by a watershed into one basin per
    peak. Adjacent basins are merged from the highest saddle down.

    Attributes
    ----------
    basins : (rows, columns) int array
        Labels of the leaves, from 1; 0 for the background.
    children : (N, 2) int array
        Children of each node; -1 for the leaves, which come first.
    measures : mapping of str to (N,) array
        Features of the candidates. In standard deviations of the examples from their median: `size`, the logarithm of
        its area, and `off size`, the absolute value; `dents`, one minus its solidity; `texture`, the standard deviation
        of its gray levels; `edge`, the mean gradient along its boundary. Not standardized: `concavity`, one minus
        solidity; `inside`, the mean probability of its pixels, and `rim` of those along its boundary; `joined`, the
        saddle between its parts relative to the lower peak, and `joins`, the saddle to its neighbor relative to its
        own peak; `at border`, whether the image cuts it.
    possible : (N,) bool array
        Whether its area is in the range of the examples.

    References
    ----------
    P. Salembier, L. Garrido, "Binary partition tree as an efficient representation for image processing,
    segmentation, and information retrieval", IEEE Transactions on Image Processing 9 (2000) 561-576.
    """

    basins: Labels
    children: NDArray[np.int64]
    measures: dict[str, NDArray[np.float64]]
    possible: NDArray[np.bool_]

    @classmethod
    def of(cls, inside: Real, core: Real, levels: Real, edges: Real, examples: Real) -> "Candidates":
        """Segment the foreground into candidates.

        Parameters
        ----------
        inside : (rows, columns) array
            Probability that a pixel belongs to an object.
        core : (rows, columns) array
            Evidence for the inner part of objects, between -1 and 1.
        levels, edges : (rows, columns) array
            Gray levels, and the magnitude of their gradient.
        examples : (K, 4) array
            From `object_features`.
        """
        radius = float(np.sqrt(np.median(examples[:, 0]) / np.pi))
        mask = ndimage.gaussian_filter(inside, min(1.0, 0.1 * radius)) > _FOREGROUND_THRESHOLD
        depth = ndimage.distance_transform_edt(np.pad(mask, 1, mode="edge"))[1:-1, 1:-1] / radius
        relief = ndimage.gaussian_filter(np.minimum(depth, _MAX_DISTANCE_RADII), max(0.7, _SMOOTH * radius))
        relief += 0.5 * np.maximum(ndimage.gaussian_filter(core, max(0.7, 0.15 * radius)), 0)
        peaks = ndimage.label((relief == ndimage.maximum_filter(relief, 3)) & mask, np.ones((3, 3)))[0]
        basins = watershed(-relief, peaks, mask=mask)
        tree = _Tree.of(basins, relief, _Regions.of(basins, (levels, levels**2, inside), (edges, inside)))
        shapes = _shapes(tree.sums, tree.around, tree.hulls)
        median, spread = _typical_features(examples)
        possible = (shapes[:, 0] >= _MIN_RELATIVE_AREA * examples[:, 0].min()) & (
            shapes[:, 0] <= _MAX_RELATIVE_AREA * examples[:, 0].max()
        )
        size, dents, texture, edge = ((_with_log_area(shapes) - median) / spread).T
        measures = {
            "size": size,
            "off size": np.abs(size),
            "dents": dents,
            "texture": texture,
            "edge": edge,
            "concavity": shapes[:, 1],
            "inside": tree.sums[:, 3] / tree.sums[:, 0],
            "rim": tree.around[:, 2] / np.maximum(tree.around[:, 0], 1),
            "joined": tree.joined,
            "joins": tree.joins,
            "at border": tree.at_border.astype(np.float64),
        }
        return cls(basins, tree.children, measures, possible)

    def objects(self) -> NDArray[np.int64]:
        """Labels of disjoint candidates that approximately maximize the expected F1.

        References
        ----------
        Z. C. Lipton, C. Elkan, B. Naryanaswamy, "Optimal thresholding of classifiers to maximize F1 measure", ECML
        PKDD (2014) 225-239.
        """
        chosen = self.best(self.probability - min(_MAX_THRESHOLD, self.expected_f1 / 2))
        number = np.zeros(len(self.children), dtype=np.int64)
        number[chosen] = np.arange(1, len(chosen) + 1)
        for node in range(len(number) - 1, -1, -1):
            if number[node] and self.children[node, 0] >= 0:
                number[self.children[node]] = number[node]
        return _filled(np.append(0, number[: int(self.basins.max(initial=0))])[self.basins])

    @cached_property
    def expected_f1(self) -> float:
        """Expected F1 of `objects`, given calibrated probabilities."""
        probability, f1 = self.probability, 2 * _MAX_THRESHOLD
        expected = probability[self.best(probability)].sum()
        for _ in range(_ITERATIONS):
            chosen = self.best(probability - min(_MAX_THRESHOLD, f1 / 2))
            f1 = float(2 * probability[chosen].sum() / max(len(chosen) + expected, 1))
        return f1

    @cached_property
    def probability(self) -> NDArray[np.float64]:
        """Probability that a candidate is an object, (N,)."""
        terms = [one * term + two * term**2 for term, (one, two) in zip(self.terms, _WEIGHTS.values(), strict=True)]
        return np.where(self.possible, 1 / (1 + np.exp(-(np.sum(terms, axis=0) + _INTERCEPT))), 0)

    @property
    def terms(self) -> NDArray[np.float64]:
        """Measures (M, N), clipped to an absolute value of 4."""
        return np.clip(np.array(list(self.measures.values())), -_CLIP_SIGMAS, _CLIP_SIGMAS)

    def best(self, gain: Real) -> NDArray[np.int64]:
        """Return the disjoint nodes with the largest sum of `gain` (N,), excluding gains of 0 or less."""
        best, whole = np.maximum(gain, 0), np.asarray(gain > 0)
        for node in np.flatnonzero(self.children[:, 0] >= 0):
            apart = best[self.children[node]].sum()
            whole[node] = gain[node] > apart
            best[node] = max(gain[node], apart)
        free = np.ones(len(gain), dtype=bool)
        for parent in range(len(gain) - 1, -1, -1):
            if self.children[parent, 0] >= 0 and (whole[parent] or not free[parent]):
                free[self.children[parent]] = False
        return np.flatnonzero(whole & free)


def object_features(labels: Labels, levels: Real, edges: Real) -> NDArray[np.float64]:
    """Return the features of every object of a label image, in the order of the labels.

    Returns
    -------
    (K, 4) array
        Area in pixels, one minus solidity, standard deviation of the gray levels, and mean gradient along the boundary.
    """
    numbers = np.searchsorted(np.unique(labels[labels > 0]), labels) + (labels > 0)
    regions = _Regions.of(numbers, (levels, levels**2), (edges,))
    hulls = np.array([_hull(corners)[1] for corners in _corners(numbers)])
    return _shapes(regions.inside, regions.around(), hulls)


@dataclass(frozen=True, eq=False)
class _Regions:
    """Sums over the regions 1, 2, … of a plane, and over steps from their pixels to neighbors in other regions.

    Sums over a union are sums over its parts; along its boundary, minus the steps between the parts.
    """

    inside: NDArray[np.float64]  #: (regions, 1 + K): pixels, and sums of K planes
    pairs: NDArray[np.int64]  #: (P, 2) regions before and after a step, counted from 0; -1 for the background
    across: NDArray[np.float64]  #: (P, 1 + I): steps, and sums of I planes before them

    @classmethod
    def of(cls, regions: Labels, planes: tuple[Real, ...], before: tuple[Real, ...]) -> "_Regions":
        count = int(regions.max(initial=0)) + 1
        places = np.flatnonzero(regions)
        flat = regions.ravel()[places]
        weights = [None, *(plane.ravel()[places] for plane in planes)]
        inside = np.column_stack([np.bincount(flat, weight, minlength=count) for weight in weights]).astype(np.float64)
        codes, values = [], []
        for sides in NEIGHBOURS:
            for one, other in (sides, sides[::-1]):
                steps = (regions[one] != regions[other]) & (regions[one] > 0)
                codes.append(regions[one][steps].astype(np.int64) * count + regions[other][steps])
                values.append([np.ones(len(codes[-1])), *(plane[one][steps] for plane in before)])
        steps_between, index = np.unique(np.concatenate(codes), return_inverse=True)
        columns = np.concatenate([np.array(part) for part in values], axis=1)
        sums = [np.bincount(index, column, minlength=len(steps_between)).astype(np.float64) for column in columns]
        return cls(inside[1:], np.column_stack(np.divmod(steps_between, count)) - 1, np.column_stack(sums))

    def around(self) -> NDArray[np.float64]:
        """Sums along the boundary of every region, (regions, 1 + I)."""
        total = np.zeros((len(self.inside), self.across.shape[1]))
        np.add.at(total, self.pairs[:, 0], self.across)
        return total


@dataclass(frozen=True, eq=False)
class _Tree:
    """Sums over all nodes, the areas of their convex hulls, and the saddles that join them."""

    children: NDArray[np.int64]
    sums: NDArray[np.float64]
    around: NDArray[np.float64]
    hulls: NDArray[np.float64]
    joined: NDArray[np.float64]
    joins: NDArray[np.float64]
    at_border: NDArray[np.bool_]

    @classmethod
    def of(cls, basins: Labels, relief: Real, regions: _Regions) -> "_Tree":
        """Merge basins from the highest saddle down."""
        count = int(basins.max(initial=0))
        size = max(2 * count - 1, 0)
        children, joined, joins = np.full((size, 2), -1), np.ones(size), np.zeros(size)
        sums, around = np.zeros((size, regions.inside.shape[1])), np.zeros((size, regions.across.shape[1]))
        tops, at_border = np.zeros(size), np.zeros(size, dtype=bool)
        if count:
            sums[:count], around[:count] = regions.inside, regions.around()
            inside = basins > 0
            np.maximum.at(tops, basins[inside] - 1, relief[inside])  # many times faster than SciPy's
            cut = np.unique(np.concatenate([basins[0], basins[-1], basins[:, 0], basins[:, -1]]))
            at_border[cut[cut > 0] - 1] = True
        hulls = [_hull(corners) for corners in _corners(basins)]
        shared: list[dict[int, Real]] = [{} for _ in range(size)]  # sums over steps from a node to another
        for (one, other), across in zip(regions.pairs.tolist(), regions.across, strict=True):
            if other >= 0:
                shared[one][other] = across
        owner, node = np.arange(size), count
        for a, b, level in passes(basins, relief):
            one, other = root(owner, a - 1), root(owner, b - 1)
            if one == other:
                continue
            owner[[one, other]] = node
            children[node] = one, other
            sums[node] = sums[one] + sums[other]
            around[node] = around[one] + around[other] - shared[one].pop(other) - shared[other].pop(one)
            for part in (one, other):
                for neighbour, across in shared[part].items():
                    shared[node][neighbour] = shared[node].get(neighbour, 0) + across
                    shared[neighbour][node] = shared[neighbour].get(node, 0) + shared[neighbour].pop(part)
                shared[part] = {}
            hulls.append(_hull(np.concatenate([hulls[one][0], hulls[other][0]])))
            joined[node] = max(level, 0.0) / max(min(tops[one], tops[other]), 1e-6)
            joins[[one, other]] = max(level, 0.0) / np.maximum(tops[[one, other]], 1e-6)
            tops[node], at_border[node] = max(tops[one], tops[other]), at_border[one] or at_border[other]
            node += 1
        areas = np.array([area for _, area in hulls])
        return cls(children[:node], sums[:node], around[:node], areas, joined[:node], joins[:node], at_border[:node])


def _shapes(inside: Real, around: Real, hulls: Real) -> NDArray[np.float64]:
    """Features of regions, (regions, 4), from their sums and the areas of their convex hulls; see `object_features`."""
    pixels = inside[:, 0]
    level, square = inside[:, 1] / pixels, inside[:, 2] / pixels
    solidity = np.minimum(pixels / hulls, 1)
    spread = np.sqrt(np.maximum(square - level**2, 0))
    return np.column_stack([pixels, 1 - solidity, spread, around[:, 1] / np.maximum(around[:, 0], 1)])


def _with_log_area(shapes: Real) -> NDArray[np.float64]:
    return np.column_stack([np.log(shapes[:, 0]), shapes[:, 1:]])


def _typical_features(examples: Real) -> tuple[Real, Real]:
    features = _with_log_area(examples)
    median = np.median(features, axis=0)
    return median, np.maximum(features.std(axis=0), np.maximum(_MIN_SPREAD, _MIN_SHARE * median))


def _corners(regions: Labels) -> list[NDArray[np.float64]]:
    """Corners of the pixels along the boundary of each region 1, 2, …"""
    edge = np.ones(regions.shape, dtype=bool)
    edge[1:-1, 1:-1] = False
    rim = (ndimage.minimum_filter(regions, 3) != ndimage.maximum_filter(regions, 3)) | edge
    order = np.argsort(regions[rim], kind="stable")
    places = np.argwhere(rim)[order]
    starts = np.searchsorted(regions[rim][order], np.arange(1, int(regions.max(initial=0)) + 2))
    corners = np.array([(-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)])
    return [(places[one:other, None] + corners).reshape(-1, 2) for one, other in itertools.pairwise(starts)]


def _hull(points: Real) -> tuple[Real, float]:
    hull = ConvexHull(points)
    return points[hull.vertices], float(hull.volume)


def _filled(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    for number, box in enumerate(ndimage.find_objects(labels), start=1):
        part = labels[box]
        part[ndimage.binary_fill_holes(part == number) & (part == 0)] = number
    return labels
