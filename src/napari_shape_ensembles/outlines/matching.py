"""Two segmentations of one image, object by object: matches, agreement, merges and splits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy  # its subpackages load lazily: optimize alone takes longer to import than a small comparison
import shapely
from numpy.typing import ArrayLike, NDArray

from .._types import Index, Real
from .ensemble import Ensemble
from .recognise import numbered, refuse_grey
from .tracing import label_plane

if TYPE_CHECKING:
    import pandas as pd


# An object with more than this fraction of its pixels inside another one belongs to it.
_MIN_CONTAINED_FRACTION = 0.5
# Number of equidistant points at which outlines are compared.
_COMPARED_POINTS = 200


@dataclass(frozen=True, eq=False)
class Matching:
    """Objects of two label images of one scene, matched one to one.

    Attributes
    ----------
    pairs : DataFrame
        a, b (label values) and iou, for every object that has a partner.
    only_a, only_b : tuple of int
        Objects without partner.
    merges : dict of int to tuple of int
        Objects of b that hold most of several objects of a: b -> those of a.
    splits : dict of int to tuple of int
        Objects of a that hold most of several objects of b: a -> those of b.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import match_labels
    >>> a = np.repeat([[1, 1, 1, 2, 0, 3, 3]], 4, axis=0)
    >>> b = np.repeat([[5, 5, 5, 5, 0, 6, 6]], 4, axis=0)
    >>> found = match_labels(a, b)
    >>> found.pairs["a"].tolist(), found.only_a, found.merges
    ([1, 3], (2,), {5: (1, 2)})
    """

    pairs: pd.DataFrame
    only_a: tuple[int, ...]
    only_b: tuple[int, ...]
    merges: dict[int, tuple[int, ...]]
    splits: dict[int, tuple[int, ...]]

    def summary(self, names: tuple[str, str] = ("A", "B")) -> str:
        """Summarize in one line, with the names of the two segmentations."""
        mean, (a, b) = self.pairs["iou"].mean() if len(self.pairs) else 0.0, names
        return (
            f"{len(self.pairs)} matched (mean IoU {mean:.3f}), {len(self.only_a)} only in {a}, {len(self.only_b)} only "
            f"in {b}, {len(self.merges)} merged in {b}, {len(self.splits)} split in {b}"
        )


def match_labels(a: ArrayLike, b: ArrayLike, *, min_iou: float = 0.5) -> Matching:
    """Match the objects of two segmentations one to one, maximizing the sum of their IoU.

    Parameters
    ----------
    a, b : (rows, columns) arrays
        Labels as for `extract_curves`, of one shape.
    min_iou : float
        Objects that overlap by less (intersection over union) are not matched. From 0.5 the matching is unique in any
        case.

    Returns
    -------
    Matching

    Raises
    ------
    ValueError
        For labels of different shapes, gray levels in place of labels, or a `min_iou` outside (0, 1].

    References
    ----------
    D. F. Crouse, "On implementing 2D rectangular assignment algorithms", IEEE Transactions on Aerospace and Electronic
    Systems 52 (2016) 1679-1696.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import match_labels
    >>> a, b = np.zeros((2, 20, 20), int)
    >>> a[2:12, 2:12], b[3:12, 2:12], b[15:19, 15:19] = 1, 7, 8
    >>> matching = match_labels(a, b)
    >>> matching.pairs
       a  b  iou
    0  1  7  0.9
    >>> matching.only_b
    (8,)
    """
    import pandas as pd  # slow to import, and not needed for a comparison

    one, other = label_plane(a), label_plane(b)
    if one.shape != other.shape:
        raise ValueError(f"two segmentations of one image must have the same shape, not {one.shape} and {other.shape}")
    if not 0 < min_iou <= 1:
        raise ValueError(f"min_iou must be above 0 and at most 1, not {min_iou!r}")
    overlaps = Overlaps.of(one, other)
    chosen = _assigned(overlaps.iou, overlaps.a, overlaps.b, min_iou)
    if not len(chosen):  # where some match, both are labels
        refuse_grey(one)
        refuse_grey(other)
    pairs = pd.DataFrame({"a": overlaps.a[chosen], "b": overlaps.b[chosen], "iou": overlaps.iou[chosen]})
    return Matching(
        pairs,
        tuple(np.setdiff1d(np.unique(one[one > 0]), pairs["a"]).tolist()),
        tuple(np.setdiff1d(np.unique(other[other > 0]), pairs["b"]).tolist()),
        _holders(overlaps.b, overlaps.a, overlaps.pixels / overlaps.of_a),
        _holders(overlaps.a, overlaps.b, overlaps.pixels / overlaps.of_b),
    )


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Pairs of objects that overlap: labels, number of shared pixels, and area of each object; (K,) each."""

    a: Index
    b: Index
    pixels: Real
    of_a: Real
    of_b: Real

    @classmethod
    def of(cls, one: NDArray[np.integer], other: NDArray[np.integer]) -> Overlaps:
        """Count the pixels that the labels of two planes share."""
        (values_a, index_a), (values_b, index_b) = (numbered(plane.ravel()) for plane in (one, other))
        sizes_a, sizes_b = np.bincount(index_a), np.bincount(index_b)
        both = (index_a > 0) & (index_b > 0) if values_a[0] == values_b[0] == 0 else slice(None)
        codes, pixels = _counted((index_a * len(values_b) + index_b)[both], len(values_a) * len(values_b))
        i, j = np.divmod(codes, len(values_b))
        objects = (values_a[i] > 0) & (values_b[j] > 0)
        i, j, pixels = i[objects], j[objects], pixels[objects]
        a, b = values_a[i].astype(np.int64), values_b[j].astype(np.int64)
        return cls(a, b, pixels.astype(float), sizes_a[i].astype(float), sizes_b[j].astype(float))

    @property
    def iou(self) -> Real:
        """Intersection over union of every pair."""
        return self.pixels / (self.of_a + self.of_b - self.pixels)


def _counted(codes: Index, limit: int) -> tuple[Index, Index]:
    if limit <= max(codes.size, 2**16):  # counting is much faster than sorting
        counts = np.bincount(codes)
        present = np.flatnonzero(counts)
        return present, counts[present]
    return np.unique(codes, return_counts=True)


def _assigned(iou: Real, a: Index, b: Index, min_iou: float) -> Index:
    """Indices of the matched pairs: a linear assignment where an object has several candidates."""
    enough = np.flatnonzero(iou >= min_iou)
    rows, columns = (np.unique(side[enough], return_inverse=True)[1] for side in (a, b))
    single = (np.bincount(rows)[rows] == 1) & (np.bincount(columns)[columns] == 1)
    contested = enough[~single]
    if not len(contested):
        return enough
    rows, columns = (np.unique(side[contested], return_inverse=True)[1] for side in (a, b))
    table = np.zeros((rows.max() + 1, columns.max() + 1))
    place = np.full(table.shape, -1)
    table[rows, columns], place[rows, columns] = iou[contested], contested
    best = place[scipy.optimize.linear_sum_assignment(table, maximize=True)]
    return np.sort(np.concatenate([enough[single], best[best >= 0]]))


def _holders(wholes: Index, parts: Index, shares: Real) -> dict[int, tuple[int, ...]]:
    """Objects that hold most of several parts, from pairs; `shares` is the fraction of each part's pixels."""
    held: dict[int, list[int]] = {}
    mostly = shares > _MIN_CONTAINED_FRACTION
    for whole, part in zip(wholes[mostly].tolist(), parts[mostly].tolist(), strict=True):
        held.setdefault(whole, []).append(part)
    return {whole: tuple(inside) for whole, inside in sorted(held.items()) if len(inside) > 1}


def boundary_distances(a: Ensemble, b: Ensemble) -> Real:
    """Mean and maximum distance between the outlines of two ensembles, curve by curve.

    Parameters
    ----------
    a, b : Ensemble
        With as many curves in the same unit; curve i of one is compared with curve i of the other.

    Returns
    -------
    (N, 2) array
        Mean distance, averaged over both directions, and the Hausdorff distance, in their unit; at 200 equidistant
        points of each outline.
    """
    if len(a) != len(b) or a.unit != b.unit:
        raise ValueError(f"{len(a)} curves in {a.unit} cannot be matched with {len(b)} curves in {b.unit}")
    steps = np.arange(_COMPARED_POINTS) / _COMPARED_POINTS
    distances = np.empty((len(a), 2))
    for row, pair in zip(distances, zip(a.curves, b.curves, strict=True), strict=True):
        one, other = (
            shapely.get_coordinates(shapely.line_interpolate_point(shapely.linearrings(curve), steps, normalized=True))
            for curve in pair
        )
        there, back = (scipy.spatial.cKDTree(to).query(at)[0] for at, to in ((one, other), (other, one)))
        row[:] = (there.mean() + back.mean()) / 2, max(there.max(), back.max())
    return distances
