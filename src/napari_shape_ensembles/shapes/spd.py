"""The manifold S²₊₊ of generalized scales: symmetric positive definite 2 × 2 matrices, affine-invariant metric.

References
----------
X. Pennec, P. Fillard, N. Ayache, "A Riemannian framework for tensor computing", International Journal of Computer
Vision 66 (2006) 41-66.
"""

import numpy as np

from .._types import Real
from .decomposition import curve_blocks

_MAX_ITERATIONS = 100
_ROOT2 = np.sqrt(2.0)
# Matrices per block when taking logarithms: temporaries are ten times their size.
_BLOCK = 1 << 12


def logm(matrices: Real) -> Real:
    """Matrix logarithm of positive definite 2 × 2 matrices, (..., 2, 2).

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes import spd
    >>> spd.logm(np.diag([1.0, np.e])).round(6)
    array([[0., 0.],
           [0., 1.]])
    """
    root = np.sqrt(_det(matrices))[..., None, None]
    part = matrices / root
    traceless = part - np.trace(part, axis1=-2, axis2=-1)[..., None, None] / 2 * np.eye(2)
    size = np.linalg.norm(traceless, axis=(-2, -1), keepdims=True) / _ROOT2
    # asinh rather than acosh: the latter loses half the digits for nearly round curves.
    ratio = np.where(size > 0, np.arcsinh(size) / np.where(size > 0, size, 1), 1)
    return ratio * traceless + np.log(root) * np.eye(2)


def expm(matrices: Real) -> Real:
    """Matrix exponential of symmetric 2 × 2 matrices, (..., 2, 2).

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes import spd
    >>> spd.expm(np.diag([0.0, 1.0])).round(3)
    array([[1.   , 0.   ],
           [0.   , 2.718]])
    """
    half = np.trace(matrices, axis1=-2, axis2=-1)[..., None, None] / 2 * np.eye(2)
    traceless = matrices - half
    size = np.linalg.norm(traceless, axis=(-2, -1), keepdims=True) / _ROOT2
    ratio = np.where(size > 0, np.sinh(size) / np.where(size > 0, size, 1), 1)
    return np.exp(half[..., :1, :1]) * (np.cosh(size) * np.eye(2) + ratio * traceless)


def sqrtm(matrices: Real) -> Real:
    """Square root of positive definite 2 × 2 matrices, (..., 2, 2).

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes import spd
    >>> spd.sqrtm(np.diag([4.0, 9.0])).round(6)
    array([[2., 0.],
           [0., 3.]])
    """
    root = np.sqrt(_det(matrices))
    trace = np.trace(matrices, axis1=-2, axis2=-1)
    return (matrices + root[..., None, None] * np.eye(2)) / np.sqrt(trace + 2 * root)[..., None, None]


def log(base: Real, matrices: Real) -> Real:
    """Tangent vectors at `base` towards the matrices: B^½ log(B^-½ P B^-½) B^½, symmetric (N, 2, 2).

    Raises
    ------
    ValueError
        For matrices that are not positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes import spd
    >>> base, matrices = np.eye(2), np.diag([1.0, np.e])[None]
    >>> spd.log(base, matrices).round(6)
    array([[[0., 0.],
            [0., 1.]]])
    """
    root, inner = _roots(base, matrices)
    return root @ logm(inner @ matrices @ inner) @ root


def exp(base: Real, tangents: Real) -> Real:
    """Matrices (N, 2, 2) reached from `base` along symmetric tangent vectors: the inverse of `log`, everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes import spd
    >>> base, matrices = np.diag([1.0, 2.0]), np.array([[[2.0, 1.0], [1.0, 3.0]]])
    >>> np.allclose(spd.exp(base, spd.log(base, matrices)), matrices)
    True
    """
    root = sqrtm(base)
    inner = np.linalg.inv(root)
    return root @ expm(inner @ tangents @ inner) @ root


def _roots(base: Real, matrices: Real) -> tuple[Real, Real]:
    """B^½ and B^-½; raises unless the base and the matrices are positive definite."""
    for given in (base, matrices):
        bad = np.atleast_1d(~((_det(given) > 0) & (np.trace(given, axis1=-2, axis2=-1) > 0)))
        if bad.any():
            raise ValueError(
                f"{bad.sum()} scale(s) are not positive definite (first: {np.argwhere(bad)[0].tolist()}): their "
                "curves are collinear, or contain NaN; leave them out"
            )
    root = sqrtm(base)
    return root, np.asarray(np.linalg.inv(root), dtype=np.float64)


def coordinates(base: Real, matrices: Real) -> Real:
    """Isometric normal coordinates of matrices at `base`: log(B^-½ P B^-½) as (a, √2·b, c).

    Parameters
    ----------
    base : (2, 2) array
    matrices : (N, 2, 2) array

    Returns
    -------
    (N, 3) array
        Dimensionless; Euclidean norms are affine-invariant distances from the base.

    Raises
    ------
    ValueError
        For matrices that are not positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes import spd
    >>> matrices = np.stack([np.eye(2), 2 * np.eye(2)])
    >>> spd.coordinates(np.eye(2), matrices).round(3)
    array([[0.   , 0.   , 0.   ],
           [0.693, 0.   , 0.693]])
    """
    inner, normal = _roots(base, matrices)[1], np.empty((len(matrices), 3))
    for part in curve_blocks(len(matrices), _BLOCK):
        tangent = logm(inner @ matrices[part] @ inner)
        normal[part, 0], normal[part, 1], normal[part, 2] = (
            tangent[:, 0, 0],
            _ROOT2 * tangent[:, 0, 1],
            tangent[:, 1, 1],
        )
    return normal


def from_coordinates(base: Real, l: Real) -> Real:
    """Matrices (N, 2, 2) with normal coordinates (N, 3) at `base`: the inverse of `coordinates`.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes import spd
    >>> spd.from_coordinates(np.eye(2), np.array([[np.log(2), 0, 0]])).round(6)
    array([[[2., 0.],
            [0., 1.]]])
    """
    a, b, c = np.moveaxis(np.asarray(l, dtype=np.float64), -1, 0)
    tangent = np.stack([a, b / _ROOT2, b / _ROOT2, c], axis=-1).reshape(*a.shape, 2, 2)
    outer = sqrtm(base)
    return outer @ expm(tangent) @ outer


def dist(x: Real, y: Real) -> Real:
    """Affine-invariant distances between matrices, (..., 2, 2) each, broadcast.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes import spd
    >>> x, y = np.eye(2), np.diag([1.0, np.e])
    >>> shear = np.array([[1.0, 0.5], [0, 2]])
    >>> np.allclose([spd.dist(x, y), spd.dist(shear @ x @ shear.T, shear @ y @ shear.T)], 1)
    True
    """
    inner = _roots(x, y)[1]
    return np.linalg.norm(logm(inner @ y @ inner), axis=(-2, -1))


def frechet_mean(matrices: Real, *, tolerance: float = 1e-13) -> Real:
    """Fréchet (Karcher) mean of (N, 2, 2) matrices under the affine-invariant metric; unique.

    Raises
    ------
    ValueError
        If the descent does not converge in 100 iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes import spd
    >>> spd.frechet_mean(np.stack([np.eye(2), 4 * np.eye(2)])).round(6)
    array([[2., 0.],
           [0., 2.]])
    """
    mean = expm(logm(matrices).mean(axis=0))
    for _ in range(_MAX_ITERATIONS):
        tangents = coordinates(mean, matrices)
        # The Hessian of half the mean squared distance lies between 1 and `bend`, which gives the optimal step size.
        # Along directions that change the elongation the manifold is a hyperbolic plane of curvature -1/2, so one point
        # at distance d√2 in that direction contributes d·coth d: 1 unless elongations differ by orders of magnitude.
        a, b, c = tangents.T
        far = np.hypot((a - c) / 2, b / _ROOT2)
        bend = np.where(far > 0, far / np.tanh(np.where(far > 0, far, 1)), 1).mean()
        step = 2 / (1 + bend) * tangents.mean(axis=0)
        mean = from_coordinates(mean, step)
        if np.linalg.norm(step) <= tolerance:
            return mean
    raise ValueError(
        f"the mean scale did not converge in {_MAX_ITERATIONS} iterations: sizes or elongations are too dispersed; "
        "look for outliers and leave them out"
    )


def _det(matrices: Real) -> Real:
    return matrices[..., 0, 0] * matrices[..., 1, 1] - matrices[..., 0, 1] * matrices[..., 1, 0]
