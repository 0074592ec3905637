"""Separation of landmarks into undulation and scale (square-root quadrature decomposition)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .._types import Real
from ..checks import unmasked
from ..compiled import kernels
from ..progress import over_blocks

# Curves per block, few enough to fit in the CPU cache.
_BLOCK = 256
# Ratio of extents below which a curve is a line to double precision.
_MIN_EXTENT_RATIO = 1e-7


def planes(points: NDArray[np.floating]) -> Real:
    """Return (N, n, 2) points as a contiguous (N, 2, n) array: each coordinate in one run of memory.

    Arrays made in this subpackage have this memory layout already, so this rarely copies.
    """
    return np.ascontiguousarray(np.swapaxes(points, -1, -2), dtype=np.float64)


def curve_blocks(count: int, size: int = _BLOCK) -> Iterator[slice]:
    """Yield slices of curves that are processed together."""
    for start in range(0, count, size):
        yield slice(start, start + size)


def check_landmarks(landmarks: NDArray[np.floating]) -> None:
    """Raise unless landmarks are a finite (N, n, 2) array.

    Raises
    ------
    ValueError
        States the shape or value found.
    """
    landmarks = unmasked(landmarks, "the landmarks")
    if landmarks.ndim != 3 or landmarks.shape[-1] != 2 or landmarks.shape[-2] < 3:
        raise ValueError(f"landmarks must have shape (curves, landmarks, 2), not {landmarks.shape}")
    found = [~np.isfinite(landmarks[part]).all(axis=(1, 2)) for part in curve_blocks(len(landmarks))]
    bad = np.concatenate([np.empty(0, dtype=bool), *found])
    if bad.any():
        raise ValueError(f"{bad.sum()} curve(s) have NaN or infinite landmarks (first: {np.flatnonzero(bad)[0]})")


def decompose(landmarks: NDArray[np.floating], weights: NDArray[np.floating] | None = None) -> tuple[Real, Real]:
    """Separate curves into undulation (form) X̃ and scale (size and elongation) P, with W^½ T = X̃ P.

    Parameters
    ----------
    landmarks : (N, n, 2) array
        Landmarks of N curves; they are centered here.
    weights : (n,) or (N, n) array, optional
        Positive quadrature weights of the measure; scaled to sum to 1. Equal weights when left out.

    Returns
    -------
    undulation : (N, n, 2) array
        X̃, orthonormal columns: a point of the Stiefel manifold St(2, n).
    scale : (N, 2, 2) array
        P, symmetric positive definite, in the landmarks' unit: its eigenvalues are the RMS extents
        (a circle of radius ρ has ρ/√2 twice).

    Raises
    ------
    ValueError
        For malformed landmarks or weights, or curves that lie on a line.

    Notes
    -----
    Paper, eq. (SRQD) and (derived_polar_decomp). Gram-Schmidt orthogonalisation comes first, so that the polar factor
    of a thin curve loses no precision: only a 2 × 2 triangular matrix is left to be decomposed.

    References
    ----------
    Z. Grey, N. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import decompose
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    >>> undulation, scale = decompose(np.stack([circle, circle * [1, 3]]))
    >>> np.linalg.eigvalsh(scale).round(3)
    array([[0.707, 0.707],
           [0.707, 2.121]])
    >>> np.allclose(undulation[0], undulation[1])
    True
    """
    check_landmarks(landmarks)
    points = planes(landmarks)
    undulation = np.empty(points.shape)
    return undulation.swapaxes(1, 2), separate(points, undulation, weights)


def _measure(points: Real, weights: NDArray[np.floating] | None) -> Real:
    """Validated weights that sum to 1, (1, n) or (N, n); equal ones by default."""
    count, _, n = points.shape
    if weights is None:
        return np.full((1, n), 1 / n)
    given = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    if given.shape not in ((1, n), (count, n)):
        raise ValueError(f"weights must have shape ({n},) or ({count}, {n}), not {np.shape(weights)}")
    if not (np.isfinite(given).all() and (given > 0).all()):
        raise ValueError("quadrature weights must be positive and finite")
    return np.ascontiguousarray(given / given.sum(axis=-1, keepdims=True))


def separate(points: Real, undulation: Real, weights: NDArray[np.floating] | None = None) -> Real:
    """Write the undulations (N, 2, n) of curves (N, 2, n), possibly in place, and return their scales (N, 2, 2).

    Raises
    ------
    ValueError
        For malformed weights, or curves that lie on a line.
    """
    scale, measure, kernel = np.empty((len(points), 2, 2)), _measure(points, weights), kernels(__package__).separate

    def work(part: slice) -> None:
        kernel(points[part], measure[part] if len(measure) > 1 else measure, undulation[part], scale[part])

    over_blocks(work, curve_blocks(len(points)))
    _refuse_collinear(scale)
    return scale


def affine_standardization(
    landmarks: NDArray[np.floating], weights: NDArray[np.floating] | None = None
) -> tuple[Real, Real]:
    """Split centered landmarks as W^½ T = V M along their principal axes; `decompose` is the polar standardization.

    Parameters
    ----------
    landmarks, weights
        As in `decompose`.

    Returns
    -------
    undulation : (N, n, 2) array
        V, orthonormal columns, the longer axis first: the plane of `decompose` in another frame.
    linear : (N, 2, 2) array
        M = Σ Aᵀ with det M > 0, in the landmarks' unit: rows are orthogonal, the larger entry of the first is
        positive.

    Raises
    ------
    ValueError
        As `decompose`.

    Notes
    -----
    Paper, "Separable Shape Tensors". The axes of a curve with equal extents are arbitrary, and so is the frame of V.

    References
    ----------
    Z. Grey, N. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes import affine_standardization
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    >>> undulation, linear = affine_standardization(np.stack([circle * [1, 3]]))
    >>> np.linalg.norm(linear, axis=2).round(3)
    array([[2.121, 0.707]])
    >>> np.allclose(undulation[0].T @ undulation[0], np.eye(2))
    True
    """
    undulation, scale = decompose(landmarks, weights)
    extents, axes = np.linalg.eigh(scale)
    longer = axes[:, :, 1]
    longer = longer * np.sign(np.take_along_axis(longer, np.abs(longer).argmax(axis=1)[:, None], axis=1))
    frame = np.stack([longer, np.stack([-longer[:, 1], longer[:, 0]], axis=1)], axis=2)
    return undulation @ frame, extents[:, ::-1, None] * frame.swapaxes(1, 2)


def polar(x: Real, y: Real) -> tuple[Real, Real]:
    """Polar factors of the N matrices with columns x and y, each (N, n).

    Raises
    ------
    ValueError
        For collinear columns.
    """
    points, scale = np.stack([x, y], axis=1), np.empty((len(x), 2, 2))
    kernels(__package__).polar(points, scale)
    _refuse_collinear(scale)
    return points.swapaxes(1, 2), scale


def _refuse_collinear(scale: Real) -> None:
    (a, b), (_, d) = np.moveaxis(scale, 0, -1)
    flat = a * d - b * b <= _MIN_EXTENT_RATIO * (a * a + 2 * b * b + d * d)
    if flat.any():
        raise ValueError(
            f"{flat.sum()} curve(s) lie on a line (first: {np.flatnonzero(flat)[0]}): leave them out before decomposing"
        )
