"""The product manifold Gr(2, n) × S²₊₊: undulation and scale together.

A point is a pair (X̃, P) as `decompose` returns it, and its curve is √n · X̃ P. Distances combine as in a Euclidean
product.

References
----------
Z. Grey, N. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".
"""

import numpy as np

from .._types import Real
from . import grassmann, spd

Point = tuple[Real, Real]


def compose(point: Point) -> Real:
    """Landmarks √n · X̃ P of points, (..., n, 2), centered: the inverse of `decompose` at equal weights.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import decompose
    >>> from napari_shape_ensembles.shapes import product
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    >>> curves = np.stack([circle, circle * [1, 2]])
    >>> np.allclose(product.compose(decompose(curves)), curves)
    True
    """
    undulation, scale = point
    return np.sqrt(undulation.shape[-2]) * undulation @ scale


def align(base: Real, points: Point) -> Point:
    """Rotate whole curves to align their undulations with a base: baseᵀX̃ becomes symmetric and positive semi-definite.

    Parameters
    ----------
    base : (n, 2) array
        Orthonormal columns.
    points : pair of (N, n, 2) and (N, 2, 2) arrays

    Returns
    -------
    pair of arrays of the same shapes
        (X̃Q, QᵀPQ) with Q in O(2): the same planes, the same curves up to a rotation, and scales in the frame of the
        representatives that `grassmann.exp` returns.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import decompose
    >>> from napari_shape_ensembles.shapes import product
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    >>> x, p = decompose(np.stack([circle, np.roll(circle, 25, axis=0)]))
    >>> aligned, _ = product.align(x[0], (x, p))
    >>> np.allclose(aligned[0], aligned[1])
    True
    """
    undulation, scale = points
    u, _, vt = np.linalg.svd(base.T @ undulation)
    turn = (u @ vt).swapaxes(-1, -2)
    return undulation @ turn, turn.swapaxes(-1, -2) @ scale @ turn


def log(base: Point, points: Point) -> Point:
    """Tangent vectors at a base point towards the points, in both factors.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import decompose
    >>> from napari_shape_ensembles.shapes import product
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    >>> x, p = decompose(np.stack([circle, circle * [1, 2]]))
    >>> start = x[0], p[0]
    >>> tangents = product.log(start, (x, p))
    >>> [round(float(np.linalg.norm(tangent[1])), 3) for tangent in tangents]
    [0.0, 0.49]
    """
    return grassmann.log(base[0], points[0]), spd.log(base[1], points[1])


def exp(base: Point, tangents: Point) -> Point:
    """Points reached along tangent vectors, in both factors.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import decompose
    >>> from napari_shape_ensembles.shapes import product
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    >>> x, p = decompose(np.stack([circle, circle * [1, 2]]))
    >>> start = x[0], p[0]
    >>> _, scales = product.exp(start, product.log(start, (x, p)))
    >>> np.allclose(scales, p)
    True
    """
    return grassmann.exp(base[0], tangents[0]), spd.exp(base[1], tangents[1])


def dist(x: Point, y: Point) -> Real:
    """Geodesic distances √(d_Gr² + d_S²), broadcast.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import decompose
    >>> from napari_shape_ensembles.shapes import product
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    >>> x, p = decompose(np.stack([circle, circle * [1, 2]]))
    >>> start = x[0], p[0]
    >>> product.dist(start, (x, p)).round(3)
    array([0.   , 0.693])
    """
    return np.hypot(grassmann.dist(x[0], y[0]), spd.dist(x[1], y[1]))


def geodesic(start: Point, end: Point, times: Real) -> Point:
    """Points on the shortest geodesic from one curve to another.

    Parameters
    ----------
    start, end : pairs of (n, 2) and (2, 2) arrays
    times : (T,) array
        0 at the start, 1 at the end.

    Returns
    -------
    pair of (T, n, 2) and (T, 2, 2) arrays
        `compose` gives the curves. The end is first aligned with the start, so the last curve is the given one up to a
        rotation; the distance grows linearly with time.

    Raises
    ------
    ValueError
        If the undulations are so far apart that the shortest geodesic is not unique.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import decompose
    >>> from napari_shape_ensembles.shapes import product
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    >>> x, p = decompose(np.stack([circle, circle * [1, 2]]))
    >>> start, end = (x[0], p[0]), (x[1], p[1])
    >>> curves = product.compose(product.geodesic(start, end, np.array([0, 0.5, 1])))
    >>> np.ptp(curves, axis=1).round(3)
    array([[2.   , 2.   ],
           [2.   , 2.828],
           [2.   , 4.   ]])
    """
    faced = align(start[0], (end[0][None], end[1][None]))
    undulation, scale = log(start, faced)
    share = np.asarray(times, dtype=np.float64)[:, None, None]
    return exp(start, (share * undulation, share * scale))
