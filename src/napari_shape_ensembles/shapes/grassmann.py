"""The Grassmannian Gr(2, n) of undulations: planes spanned by orthonormal (n, 2) matrices.

Functions have the standard names of the operations. Only 2 × 2 matrices are decomposed: log and mean need nothing but
the 2 × 2 products with the base point (section 5.2 of the handbook).

References
----------
T. Bendokat, R. Zimmermann, P.-A. Absil, "A Grassmann manifold handbook: basic geometry and computational aspects",
Advances in Computational Mathematics 50 (2024) 6.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._types import Real
from ..progress import over_blocks
from .decomposition import curve_blocks, planes

_MAX_ITERATIONS = 100
# Principal angles closer than this to π/2 are at the cut locus numerically: the logarithm is not unique there.
_CUT_LOCUS_GAP = 1e-6
#: Points per block when Gram matrices are summed: many, as large matrix products are faster.
GRAM_BLOCK = 1024


def log(base: Real, points: Real) -> Real:
    """Tangent vectors at `base` along the shortest geodesics to the points.

    Parameters
    ----------
    base : (n, 2) array
        Orthonormal columns.
    points : (N, n, 2) array
        Orthonormal columns.

    Returns
    -------
    (N, n, 2) array
        Δ with baseᵀΔ = 0; its Frobenius norm is the geodesic distance.

    Raises
    ------
    ValueError
        For points with a principal angle above π/2 - 1e-6 to the base: they lie at its cut locus, where the shortest
        geodesic is not unique.

    Notes
    -----
    With baseᵀY = V cos Θ Wᵀ, Log(Y) = Y · W (Θ / sin Θ) Vᵀ - base · V (Θ / tan Θ) Vᵀ.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes import grassmann
    >>> x = np.array([[1.0, 0], [0, 1], [0, 0]])
    >>> y = np.array([[1.0, 0], [0, np.cos(0.3)], [0, np.sin(0.3)]])
    >>> tangent = grassmann.log(x, y[None])
    >>> np.linalg.norm(tangent, axis=(1, 2)).round(3)
    array([0.3])
    >>> np.allclose(grassmann.exp(x, tangent)[0], y)
    True
    """
    tangents = Tangents(base, points)
    logs = np.empty((len(points), 2, len(base)))

    def fill(part: slice) -> None:
        logs[part] = tangents[part]

    over_blocks(fill, curve_blocks(len(logs)))
    return logs.swapaxes(1, 2)


class Tangents:
    """Logarithms of points as in `log`, computed lazily in blocks: `tangents[part]` is a (k, 2, n) array."""

    def __init__(self, base: Real, points: Real) -> None:
        self.points, self.base = planes(points), planes(base)

    def __getitem__(self, part: slice) -> Real:
        points = self.points[part]
        tangents = np.empty(points.shape)
        for some in curve_blocks(len(points)):
            toward, back, cosine = _log_factors(self.base, points[some])
            if cosine.min(initial=1) < np.sin(_CUT_LOCUS_GAP):
                self._refuse_beyond_cut_locus()
            np.matmul(toward.swapaxes(1, 2), points[some], out=tangents[some])
            tangents[some] -= back @ self.base
        return tangents

    def _refuse_beyond_cut_locus(self) -> None:
        cosines = [_log_factors(self.base, self.points[part])[2] for part in curve_blocks(len(self.points))]
        far = np.concatenate(cosines).min(axis=-1) < np.sin(_CUT_LOCUS_GAP)
        raise ValueError(
            f"{far.sum()} outline(s) are orthogonal to the mean undulation (first: {np.flatnonzero(far)[0]}), "
            "where coordinates are not unique: inspect them, and leave them out if they are outliers"
        )


def exp(base: Real, tangents: Real) -> Real:
    """Points reached from `base` along tangent vectors; the inverse of `log` for principal angles below π/2.

    Parameters
    ----------
    base : (n, 2) array
    tangents : (N, n, 2) array
        Each with baseᵀΔ = 0.

    Returns
    -------
    (N, n, 2) array
        Orthonormal representatives Y, aligned with the base: baseᵀY is symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes import grassmann
    >>> x = np.array([[1.0, 0], [0, 1], [0, 0]])
    >>> y = np.array([[1.0, 0], [0, np.cos(0.3)], [0, np.sin(0.3)]])
    >>> halfway = grassmann.exp(x, grassmann.log(x, y[None]) / 2)
    >>> grassmann.dist(x, halfway).round(3)
    array([0.15])
    """
    squared, v = np.linalg.eigh(np.swapaxes(tangents, 1, 2) @ tangents)
    angle = np.sqrt(np.maximum(squared, 0))
    cosine = (v * np.cos(angle)[:, None, :]) @ v.swapaxes(1, 2)
    sine = (v * np.sinc(angle / np.pi)[:, None, :]) @ v.swapaxes(1, 2)
    return base @ cosine + tangents @ sine


def dist(x: Real, y: Real) -> Real:
    """Geodesic distances between points, (..., n, 2) each, broadcast: the norm of the principal angles.

    Computed from sines as well as cosines, so that small distances keep full precision.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes import grassmann
    >>> x = np.array([[1.0, 0], [0, 1], [0, 0]])
    >>> y = np.array([[1.0, 0], [0, np.cos(0.3)], [0, np.sin(0.3)]])
    >>> grassmann.dist(x, np.stack([x, y, y[:, ::-1]])).round(3)
    array([0. , 0.3, 0.3])
    """
    product = np.swapaxes(x, -1, -2) @ y
    normal = y - x @ product
    sine = np.sqrt(np.maximum(np.linalg.eigvalsh(np.swapaxes(normal, -1, -2) @ normal), 0))
    cosine = np.linalg.svd(product, compute_uv=False)
    return np.linalg.norm(np.arctan2(sine, cosine), axis=-1)


def frechet_mean(points: Real, *, tolerance: float = 1e-11) -> Real:
    """Fréchet (Karcher) mean by gradient descent with unit step size.

    Parameters
    ----------
    points : (N, n, 2) array
        Orthonormal columns.
    tolerance : float
        Norm of the mean tangent vector at which the descent stops.

    Returns
    -------
    (n, 2) array
        Orthonormal columns.

    Raises
    ------
    ValueError
        If the descent does not converge in 100 iterations: the points are too dispersed for a unique mean.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes import grassmann
    >>> x = np.array([[1.0, 0], [0, 1], [0, 0]])
    >>> y = np.array([[1.0, 0], [0, np.cos(0.3)], [0, np.sin(0.3)]])
    >>> mean = grassmann.frechet_mean(np.stack([x, y]))
    >>> grassmann.dist(mean, np.stack([x, y])).round(3)
    array([0.15, 0.15])
    """
    flat = planes(points)
    return mean_of_sums(lambda mean: summed_logs(flat, mean), points[0], len(points), tolerance=tolerance)


def summed_logs(points: Real, mean: Real) -> Real:
    """Sum (2, n) of the logarithms of points (N, 2, n) at a mean (2, n).

    They are not formed: two passes of 2 × 2 algebra and one tall product. Blocks are summed in a fixed order, so the
    result does not depend on the number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes import grassmann
    >>> mean = np.eye(2, 6)
    >>> np.allclose(grassmann.summed_logs(np.stack([mean, mean]), mean), 0)
    True
    """

    def pulled(part: slice) -> tuple[Real, Real]:
        some = points[part]
        toward, back, _ = _log_factors(mean, some)
        rows = 2 * len(some)
        return toward.transpose(2, 0, 1).reshape(2, rows) @ some.reshape(rows, -1), back.sum(axis=0)

    pulls = over_blocks(pulled, curve_blocks(len(points)))
    toward, back = (sum(parts[1:], parts[0]) for parts in zip(*pulls, strict=True))
    return toward - back @ mean


def mean_of_sums(logs: Callable[[Real], Real], start: Real, count: int, *, tolerance: float = 1e-11) -> Real:
    """Fréchet mean (n, 2) of `count` points from the sum of their logarithms, a function of the mean (2, n).

    Examples
    --------
    >>> import numpy as np
    >>> from functools import partial
    >>> from napari_shape_ensembles.shapes import grassmann
    >>> points = np.stack([np.eye(2, 6), np.eye(2, 6)])
    >>> grassmann.mean_of_sums(partial(grassmann.summed_logs, points), np.eye(6, 2), 2).shape
    (6, 2)
    """
    mean = planes(start)
    for _ in range(_MAX_ITERATIONS):
        gradient = logs(mean) / count
        size = np.linalg.norm(gradient)
        if size <= tolerance:
            return mean.T
        point = exp(mean.T, gradient.T[None])[0]
        # Remove accumulated rounding error without rotating the columns (one Newton-Schulz step).
        mean = (point @ (1.5 * np.eye(2) - 0.5 * point.T @ point)).T
    raise ValueError(
        f"the mean undulation did not converge in {_MAX_ITERATIONS} iterations (remaining step {size:.1e}): the "
        "outlines are too dispersed; look for outliers and leave them out"
    )


def _log_factors(base: Real, points: Real) -> tuple[Real, Real, Real]:
    """C and the symmetric F (N, 2, 2) of Log(Y) = Y C - base F, and the cosines (N, 2) of the principal angles."""
    count, _, n = points.shape
    product = (points.reshape(2 * count, n) @ base.T).reshape(count, 2, 2).swapaxes(1, 2)
    # Singular values V diag(σ) Wᵀ in closed form: as a map of complex numbers the product is z -> a·z + b·z̄, whose
    # singular values are |a| ± |b|.
    m = product.reshape(-1, 4).T
    a = (m[0] + m[3] + 1j * (m[2] - m[1])) / 2
    b = (m[0] - m[3] + 1j * (m[2] + m[1])) / 2
    turns = []
    for turn in ((np.angle(b) + np.angle(a)) / 2, (np.angle(b) - np.angle(a)) / 2):
        c, s = np.cos(turn), np.sin(turn)
        turns.append(np.stack([c, -s, s, c], axis=-1).reshape(-1, 2, 2))
    v, w = turns
    low = np.abs(a) - np.abs(b)
    w[:, :, 1] *= np.where(low < 0, -1, 1)[:, None]
    cosine = np.clip(np.stack([np.abs(a) + np.abs(b), np.abs(low)], axis=-1), 0, 1)
    # Near 0 this angle has only half its digits, but Θ / sin Θ is flat there.
    angle = np.arctan2(np.sqrt((1 - cosine) * (1 + cosine)), cosine)
    ratio = 1 / np.sinc(angle / np.pi)
    toward = (w * ratio[:, None, :]) @ v.swapaxes(1, 2)
    back = (v * (ratio * cosine)[:, None, :]) @ v.swapaxes(1, 2)
    return toward, back, cosine
