"""Grain segmentation of orientation maps: connected components of points below a misorientation threshold."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from .._types import Labels, Real
from ..checks import expect
from ..progress import over_blocks
from .ebsd import EBSDMap

# Neighbor pairs per block: times 24 symmetries, a block about fits into the CPU cache.
_PAIRS = 16384


def find_grains(ebsd: EBSDMap, *, threshold: float = 10.0, min_points: int = 5, fill: bool = False) -> Labels:
    """Label the grains of a crystal orientation map (EBSD).

    Neighbors belong to the same grain if both are indexed, of the same phase, and misoriented by less than the
    threshold; grains are the connected components.

    Parameters
    ----------
    ebsd : EBSDMap
    threshold : float
        Minimum misorientation of a grain boundary in degrees; that is the smallest angle under the crystal symmetry.
    min_points : int
        Grains of fewer points are considered noise: their points become background, like those that are not indexed.
    fill : bool
        Assign background within the map to the nearest grain, so that grains tile it.

    Returns
    -------
    (R, W) int32 array
        1, 2, … for the grains in the order of their first pixels, 0 for background.

    Raises
    ------
    ValueError
        For a threshold outside its range or a negative number of points.

    Examples
    --------
    >>> import numpy as np
    >>> from orix.quaternion import symmetry
    >>> from napari_shape_ensembles.io import find_grains
    >>> from napari_shape_ensembles.io.ebsd import EBSDMap
    >>> from napari_shape_ensembles.io.ebsd import CrystalPhase
    >>> turned = np.deg2rad([0, 0, 30, 30]) / 2
    >>> rotations = np.stack([np.cos(turned), 0 * turned, 0 * turned, np.sin(turned)], axis=1)
    >>> ebsd = EBSDMap(
    ...     rotations, np.ones(4, int), np.ones(4), "", np.arange(4)[None], (0.5, 0.5), "µm", "square",
    ...     {1: CrystalPhase("iron", symmetry.Oh)}, "one row",
    ... )
    >>> find_grains(ebsd, min_points=1)
    array([[1, 1, 2, 2]], dtype=int32)
    """
    expect(ebsd, EBSDMap, "find_grains takes the EBSDMap that read_ebsd returns")
    if not 0 < threshold < 180:
        raise ValueError(f"the threshold must be an angle between 0 and 180 degrees, not {threshold!r}")
    if min_points < 0:
        raise ValueError(f"min_points must be a number of 0 or more, not {min_points!r}")
    # Pairs of distinct points with adjacent pixels, reduced to those within the same grain.
    pixels = ebsd.points
    sides = (pixels[:-1], pixels[1:]), (pixels[:, :-1], pixels[:, 1:])
    pairs = np.concatenate([np.stack([one.ravel(), other.ravel()]) for one, other in sides], axis=1)
    pairs = pairs[:, (pairs >= 0).all(axis=0) & (pairs[0] != pairs[1])]
    one, other = ebsd.phase[pairs]
    pairs = pairs[:, (one == other) & (one >= 0)]
    found = [pairs[:, :0]]
    for key, phase in ebsd.phases.items():
        same = pairs[:, ebsd.phase[pairs[0]] == key]
        found.append(same[:, misorientations(ebsd.rotations, same, phase.symmetry) < threshold])
    joined = np.concatenate(found, axis=1)
    total = len(ebsd.phase)
    graph = coo_array((np.ones(joined.shape[1], dtype=np.bool_), tuple(joined)), shape=(total, total))
    _, grain = connected_components(graph, directed=False)
    keep = (np.bincount(grain)[grain] >= min_points) & (ebsd.phase >= 0)
    labels = _numbered(ebsd.image(np.where(keep, grain + 1, 0)))
    if not fill or not labels.any():
        return labels
    nearest = ndimage.distance_transform_edt(
        labels == 0, sampling=ebsd.scale, return_distances=False, return_indices=True
    )
    return np.where(ebsd.points >= 0, labels[tuple(nearest)], 0).astype(np.int32)


def cut_grains(ebsd: EBSDMap, grains: Labels) -> NDArray[Any]:
    """Return the labels of the grains beside places within the map that were not measured.

    The measured area need not be a rectangle. Grains at the border of the map are cut too, and are not returned.
    """
    missing = ebsd.points < 0
    if ebsd.grid == "hexagonal":  # every second row begins or ends half a point later
        missing = missing.copy()
        missing[:, [0, -1]] &= missing[:, [1, -2]]
    beside = ndimage.binary_dilation(missing, np.ones((3, 3))) & ~missing
    at_border = np.concatenate([grains[0], grains[-1], grains[:, 0], grains[:, -1]])
    return np.setdiff1d(np.unique(grains[beside]), [0, *at_border])


def misorientations(rotations: Real, pairs: NDArray[np.int64], symmetry: Any) -> Real:
    """Return the misorientation angles of pairs (2, M), in degrees: the minima over the crystal symmetry.

    Rotations (N, 4) are unit quaternions from the sample axes to the crystal axes; of the point group, the proper Laue
    group is used. The scalar part of q₁ q̄₂ s̄ is the dot product of the quaternions q₁ q̄₂ and s. As a group is closed
    under products, a single symmetry s covers symmetries on both sides.
    """
    group = _proper_laue_group(symmetry)

    def angles(block: slice) -> Real:
        p, q = rotations[pairs[0, block]], rotations[pairs[1, block]]
        a, v, b, w = p[:, :1], p[:, 1:], q[:, :1], -q[:, 1:]  # p q̄, scalar first
        product = np.concatenate([a * b - (v * w).sum(axis=1, keepdims=True), a * w + b * v + np.cross(v, w)], axis=1)
        cosine = np.abs(product @ group.T).max(axis=1)
        return np.rad2deg(2 * np.arccos(np.minimum(cosine, 1)))

    blocks = [slice(start, start + _PAIRS) for start in range(0, pairs.shape[1], _PAIRS)]
    return np.concatenate([np.empty(0), *over_blocks(angles, blocks)])


@lru_cache(maxsize=32)  # slow: orix finds all subgroups first
def _proper_laue_group(symmetry: Any) -> Real:
    """Quaternions of the rotations of the Laue group of a point group."""
    return np.array(symmetry.laue_proper_subgroup.data, dtype=np.float64)


def _numbered(labels: NDArray[np.int64]) -> Labels:
    """Relabel consecutively in the order of the first pixels, keeping 0."""
    values, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(np.where(values == 0, -1, first)))
    return (order + (values[0] != 0))[inverse].reshape(labels.shape).astype(np.int32)
