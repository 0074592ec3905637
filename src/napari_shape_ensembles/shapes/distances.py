"""Distances between registered shapes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._types import Real
from ..checks import switch
from ..progress import over_blocks
from . import grassmann, spd
from .decomposition import check_landmarks, decompose, planes
from .registration import match, register

# Pairs of curves per block, few enough to fit in the CPU cache.
_BLOCK = 64


@dataclass(frozen=True)
class ShapeDistances:
    """Distances of curves from a reference, (N,) each.

    Attributes
    ----------
    undulation : array
        Geodesic distance on Gr(2, n), in radians: invariant to linear maps if landmarks follow the affine measure.
    scale : array
        Affine-invariant distance on S²₊₊, dimensionless.
    product : array
        √(undulation² + scale²).
    procrustes : array
        Cyclic Procrustes distance of the curves at unit size, 0 to √2; see `procrustes_distances`.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes import shape_distances
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    >>> shape_distances(np.stack([circle, 2 * circle]), circle).product.round(3)
    array([0.  , 0.98])
    """

    undulation: Real
    scale: Real
    product: Real
    procrustes: Real


def shape_distances(landmarks: Real, reference: Real, *, reflections: bool = True) -> ShapeDistances:
    """Distances of curves from a reference curve, invariant to pose and first landmark.

    Parameters
    ----------
    landmarks : (N, n, 2) array
        Landmarks at equal weights of the measure.
    reference : (n, 2) array
    reflections : bool
        A curve and its mirror image count as the same.

    Raises
    ------
    ValueError
        For malformed landmarks or curves that lie on a line.

    Notes
    -----
    Undulations are registered with each other; the frame of the scale comes from registering the curves themselves.

    References
    ----------
    Z. Grey, N. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes import shape_distances
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    >>> curves = np.stack([circle, 2 * circle, circle * [1, 2]])
    >>> distances = shape_distances(curves, circle)
    >>> distances.undulation.round(3), distances.scale.round(3)
    (array([0., 0., 0.]), array([0.   , 0.98 , 0.693]))
    """
    undulation, scale = decompose(landmarks)
    target, target_scale = decompose(np.asarray(reference)[None])
    matched = register(undulation, target[0], reflections=reflections)
    raw = register(landmarks, reference, reflections=reflections)
    framed = raw.rotation @ scale @ raw.rotation.swapaxes(1, 2)
    nonlinear, linear = grassmann.dist(target, matched.landmarks), spd.dist(target_scale, framed)
    return ShapeDistances(nonlinear, linear, np.hypot(nonlinear, linear), raw.residual)


def procrustes_distances(x: Real, y: Real | None = None, *, reflections: bool = True) -> Real:
    """Cyclic Procrustes distances of all pairs of curves.

    Parameters
    ----------
    x : (N, n, 2) array
        Landmarks at equal weights.
    y : (M, n, 2) array, optional
        The same curves by default.
    reflections : bool
        A curve and its mirror image count as the same.

    Returns
    -------
    (N, M) array
        min ‖C(p) X - Y R‖ over shifts p and R in O(2), for centered curves of unit norm. A metric on shapes modulo
        rigid motions and size: symmetric, 0 only for equal shapes, and satisfies the triangle inequality.

    Raises
    ------
    ValueError
        For malformed landmarks or different numbers of them.

    Notes
    -----
    Paper, theorem "Separable Cyclic Procrustes", with sub-sample shifts.

    References
    ----------
    Z. Grey, N. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes import procrustes_distances
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    >>> ellipse = circle * [1, 2]
    >>> turned = 5 * np.roll(ellipse, 20, axis=0) @ [[0, 1], [-1, 0]]
    >>> procrustes_distances(np.stack([circle, ellipse, turned])).round(3)
    array([[0.  , 0.32, 0.32],
           [0.32, 0.  , 0.  ],
           [0.32, 0.  , 0.  ]])
    """
    for curves in (x, x if y is None else y):
        check_landmarks(curves)
    switch(reflections, "reflections")
    if y is not None and x.shape[1] != y.shape[1]:
        raise ValueError(f"the two sets of curves have {x.shape[1]} and {y.shape[1]} landmarks: use the same number")
    one, other = planes(x), _unit(x if y is None else y)
    distances = np.zeros((len(one), len(other)))
    rows, columns = np.triu_indices(len(one), 1) if y is None else np.indices(distances.shape).reshape(2, -1)

    def fill(part: slice) -> None:
        i, j = rows[part], columns[part]
        distances[i, j] = match(one[i], other[j], reflections)[3]

    over_blocks(fill, [slice(start, start + _BLOCK) for start in range(0, len(rows), _BLOCK)])
    return distances + distances.T if y is None else distances


def _unit(curves: Real) -> NDArray[np.complex128]:
    points = planes(curves)
    z = points[:, 0] + 1j * points[:, 1]
    z = z - z.mean(axis=-1, keepdims=True)
    return z / np.linalg.norm(z, axis=-1, keepdims=True)
