"""Tilings: boundaries shared by neighbors in a label image, smoothed once for both sides.

The network lies on the corners between pixels; pixel (r, c) has its corners at (r ± ½, c ± ½). Each step from corner to
corner between two different labels is one edge, stored once. Corners where three or four edges meet are junctions. The
background (0) and the outside of the image (-1) are treated as labels.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array

from .._types import Index, Mask, Real
from ..checks import switch
from ..parameters import parameters_of
from .border import window_of
from .ensemble import Ensemble
from .extract import signed_area
from .reasons import AT_BORDER, EXTRA, VANISHED, Reason, too_small
from .recipe import Recipe
from .tracing import label_plane, pixel_of

OUTSIDE = -1

# Relaxation factor of a smoothing step: a corner moves to the mean of itself and its two neighbors. A full step would
# never remove the zigzag of a diagonal line.
_RELAXATION = 2 / 3
# Directions of a step, in (row, column), each a quarter turn to the left of the one before.
_DOWN, _RIGHT = 0, 1
_DIRECTIONS = np.array([(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)])


@dataclass(frozen=True, eq=False)
class Boundary:
    """A boundary between two neighbors.

    Attributes
    ----------
    labels : (int, int)
        Labels left and right of the points in their order; -1 is the outside of the image, 0 the background.
    points : (m, 2) array
        From junction to junction; a boundary without junctions is closed and repeats its first point.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.outlines.tiling import Tiling
    >>> shared = Tiling.of(np.repeat([[1, 2]], 3, axis=0)).boundaries()[0]
    >>> shared.labels, shared.points.tolist()
    ((2, 1), [[-0.5, 0.5], [0.5, 0.5], [1.5, 0.5], [2.5, 0.5]])
    """

    labels: tuple[int, int]
    points: Real


@dataclass(frozen=True, eq=False)
class Tiling:
    """The boundary network of a label image.

    Attributes
    ----------
    points : (V, 2) array
        Corners in use, (row, column) in pixels.
    edges : (E, 2) int array
        Indices of the two corners of every edge.
    directions : (E,) int array
        0 for edges to the next row, 1 for edges to the next column.
    sides : (E, 2) int array
        Labels left and right of every edge, where right is a quarter turn from the column axis to the row axis.
    pixels : dict of int to int
        Number of pixels of each label.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.outlines.tiling import Tiling
    >>> tiling = Tiling.of(np.repeat([[1, 1, 2, 2, 2, 3]], 4, axis=0))
    >>> tiling.pixels
    {1: 8, 2: 12, 3: 4}
    >>> tiling.ensemble(border=True, min_area=1).features["area"].tolist()
    [8.0, 12.0, 4.0]
    """

    points: Real
    edges: Index
    directions: Index
    sides: Index
    pixels: dict[int, int]

    @classmethod
    def of(cls, labels: ArrayLike) -> "Tiling":
        """Extract the network of a label image; labels as for `extract_curves`.

        Raises
        ------
        ValueError
            For labels that are not a 2D array of integers.
        """
        plane = label_plane(labels).astype(np.int64)
        values, counts = np.unique(plane, return_counts=True)
        steps, directions, sides = _edges(np.pad(plane, 1, constant_values=OUTSIDE))
        used, edges = np.unique(steps, return_inverse=True)
        points = np.stack(np.divmod(used, plane.shape[1] + 1), axis=1) - 0.5
        pixels = dict(zip(values.tolist(), counts.tolist(), strict=True))
        return cls(points, edges.reshape(-1, 2), directions, sides, pixels)

    @cached_property
    def degrees(self) -> Index:
        """Number of edges at each corner: 2 along a boundary, 3 or 4 at a junction."""
        return np.bincount(self.edges.ravel(), minlength=len(self.points))

    @cached_property
    def fixed(self) -> Mask:
        """Corners that smoothing does not move: junctions, and the border of the image."""
        fixed = self.degrees > 2
        fixed[self.edges[(self.sides == OUTSIDE).any(axis=1)]] = True
        return fixed

    def smoothed(self, iterations: int) -> "Tiling":
        """Move every free corner to the mean of itself and its two neighbors, `iterations` times.

        Junctions and the border are fixed, and each corner is shared by both sides, so neighbors stay flush
        (constrained Laplacian smoothing).

        Raises
        ------
        ValueError
            If the number of iterations is not an integer, or negative.
        """
        if not isinstance(iterations, int | np.integer) or iterations < 0:
            raise ValueError(f"iterations must be an integer of 0 or more, not {iterations!r}")
        # One iteration as a sparse matrix.
        both = np.concatenate([self.edges, self.edges[:, ::-1]])
        free = both[~self.fixed[both[:, 0]]]
        every = np.arange(len(self.points))
        rows, columns = np.concatenate([free, np.stack([every, every], axis=1)]).T
        weights = np.concatenate([np.full(len(free), _RELAXATION / 2), np.where(self.fixed, 1.0, 1 - _RELAXATION)])
        average = coo_array((weights, (rows, columns)), shape=(len(every),) * 2).tocsr()
        points = self.points
        for _ in range(iterations):
            points = average @ points
        return replace(self, points=points)

    @cached_property
    def _halves(self) -> "_Halves":
        return _Halves.of(self)

    def rings(self) -> Iterator[tuple[int, Index]]:
        """Yield the label and corner indices of every closed line around a label, with the label on the left.

        Before smoothing, outer lines have positive area in (row, column) axes, holes negative. Pixels that meet only at
        a corner are not connected.
        """
        for label, corners, _ in self._loops():
            yield label, corners

    def _loops(self) -> Iterator[tuple[int, Index, bool]]:
        """As `rings`, and whether each is an outer line: by its steps on the grid, as smoothing may invert it."""
        halves = self._halves
        for cycle in _chains(halves.following, np.flatnonzero(halves.left > 0)):
            steps = _DIRECTIONS[halves.heading[cycle]]
            yield int(halves.left[cycle[0]]), halves.tail[cycle], signed_area(np.cumsum(steps, axis=0)) > 0

    def boundaries(self) -> list[Boundary]:
        """Return every boundary between two neighbors, once."""
        halves = self._halves
        chained = np.where(self.degrees[halves.head] > 2, -1, halves.following)
        starts = np.flatnonzero(self.degrees[halves.tail] > 2)
        found, seen = [], np.zeros(len(self.edges), dtype=bool)
        for chain in _chains(chained, np.concatenate([starts, np.arange(len(halves.tail))])):
            if not seen[halves.edge[chain[0]]]:
                seen[halves.edge[chain]] = True
                corners = np.append(halves.tail[chain], halves.head[chain[-1]])
                labels = int(halves.left[chain[0]]), int(halves.right[chain[0]])
                found.append(Boundary(labels, self.points[corners]))
        return found

    def ensemble(
        self,
        *,
        scale: float | Sequence[float] = 1,
        unit: str = "pixel",
        holes: bool = Recipe.holes,
        border: bool = Recipe.keep_border,
        min_area: float = Recipe.min_area,
        name: str = "",
    ) -> Ensemble:
        """Assemble the boundaries into one closed curve per label; parameters as for `extract_curves`.

        Returns
        -------
        Ensemble
            Ids are the label values. If a label has several components, the largest is kept, the others are counted as
            "extra pieces of a label"; labels that smoothing inverted, as "vanished under smoothing".
        """
        parameters_of(Recipe)["min_area"].checked(min_area)
        holes, border = switch(holes, "holes"), switch(border, "border")
        pixel = pixel_of(scale)
        dropped: Counter[Reason] = Counter()
        labels = {label for label in self.pixels if label > 0}
        large = {label for label in labels if self.pixels[label] >= min_area}
        cut = set() if border else set(self.sides[(self.sides == OUTSIDE).any(axis=1)].ravel().tolist())
        dropped[too_small(min_area)] += len(labels - large)
        dropped[AT_BORDER] += len(large & cut)
        wanted = large - cut
        outer: dict[int, tuple[float, Real]] = {}
        inner: list[Real] = []
        for label, corners, is_outer in self._loops():
            curve = self.points[corners]
            area = signed_area(curve)
            if label not in wanted:
                continue
            if not is_outer:
                inner += [curve[::-1]] if holes and -area >= min_area else []
                dropped[too_small(min_area)] += holes and -area < min_area
                continue
            dropped[EXTRA] += label in outer
            outer[label] = max(outer.get(label, (area, curve)), (area, curve), key=lambda ring: ring[0])
        kept = {label: curve for label, (area, curve) in outer.items() if area > 0}
        dropped[VANISHED] += len(outer) - len(kept)
        curves = [curve * pixel for curve in [*kept.values(), *inner]]
        ids = np.array([*kept, *range(-1, -len(inner) - 1, -1)], dtype=np.int64)
        window = window_of(np.ptp(self.points, axis=0).astype(int), pixel, keeps_border=border, holes=holes)
        return Ensemble(curves, name=name, unit=unit, ids=ids, dropped=dropped, pixel_size=pixel, window=window)


@dataclass(frozen=True, eq=False)
class _Halves:
    """Half-edges: every edge twice, once for each side, with the label of that side on the left.

    Half-edge h < E runs along edge h, half-edge E + h back along it. `following` is the next half-edge around the label
    on the left, by the sharpest turn to the left.
    """

    edge: Index
    tail: Index
    head: Index
    heading: Index
    left: Index
    right: Index
    following: Index

    @classmethod
    def of(cls, tiling: Tiling) -> "_Halves":
        count = len(tiling.edges)
        edge = np.tile(np.arange(count), 2)
        tail, head = np.concatenate([tiling.edges, tiling.edges[:, ::-1]]).T
        left, right = np.concatenate([tiling.sides, tiling.sides[:, ::-1]]).T
        heading = np.concatenate([tiling.directions, tiling.directions + 2])
        leaving = np.full((len(tiling.points), 4), -1)
        leaving[tail, heading] = np.arange(2 * count)
        following = np.full(2 * count, -1)
        for turn in (-1, 0, 1):  # the last one that fits is the sharpest
            ahead = leaving[head, (heading + turn) % 4]
            fits = (ahead >= 0) & (left[ahead] == left)
            following[fits] = ahead[fits]
        return cls(edge, tail, head, heading, left, right, following)


def _edges(plane: NDArray[np.int64]) -> tuple[Index, Index, Index]:
    """Corner numbers (E, 2), directions and sides (E, 2) of all edges of a padded plane."""
    corners = np.arange((plane.shape[0] - 1) * (plane.shape[1] - 1)).reshape(plane.shape[0] - 1, -1)
    right, left = plane[1:-1, :-1], plane[1:-1, 1:]
    differ = left != right
    down = np.stack([corners[:-1][differ], corners[1:][differ], left[differ], right[differ]], axis=1)
    above, below = plane[:-1, 1:-1], plane[1:, 1:-1]
    differ = above != below
    across = np.stack([corners[:, :-1][differ], corners[:, 1:][differ], above[differ], below[differ]], axis=1)
    both = np.concatenate([down, across])
    return both[:, :2], np.repeat([_DOWN, _RIGHT], [len(down), len(across)]), both[:, 2:]


def _chains(following: Index, starts: Index) -> Iterator[Index]:
    """Follow links from every start not yet visited, until a visited place or an end (-1)."""
    after = following.tolist()
    passed = bytearray(len(after))
    for start in starts.tolist():
        chain = []
        while start >= 0 and not passed[start]:
            passed[start] = 1
            chain.append(start)
            start = after[start]
        if chain:
            yield np.array(chain)
