"""Quadrature on closed curves of any parametrization.

A curve is given by its values at n nodes of a parameter u from 0 to 1. The measure is arc length, so a node's weight is
its share of the length: speed × Δu, normalized. Only such weights give the same undulation and scale for every
parametrization; with equidistant parameters the error falls geometrically with n for smooth curves.
"""

from dataclasses import dataclass

import numpy as np
import scipy.fft

from .._types import Real
from .decomposition import check_landmarks, decompose
from .landmarks import Measure

MAX_ITERATIONS = 100
_TOLERANCE = 1e-13


def fourier_derivative(values: Real) -> Real:
    """Derivative with respect to u of periodic values at n equidistant u from 0 to 1.

    Parameters
    ----------
    values : (..., n, d) array
        Smooth functions of u with period 1.

    Returns
    -------
    (..., n, d) array
        Derivative of the trigonometric interpolant at the same nodes. For even n its Nyquist mode, a cosine whose
        derivative vanishes at the nodes, contributes zero.

    Notes
    -----
    Equivalent to the cotangent (even n) and cosecant (odd n) matrices of Trefethen, Spectral Methods in MATLAB, chapter
    3, at the cost of two FFTs.

    References
    ----------
    L. N. Trefethen, "Spectral Methods in MATLAB", SIAM (2000), chapter 3.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes.quadrature import fourier_derivative
    >>> u = np.arange(16)[:, None] / 16
    >>> derivative = fourier_derivative(np.sin(2 * np.pi * u))
    >>> np.allclose(derivative, 2 * np.pi * np.cos(2 * np.pi * u))
    True
    """
    n = values.shape[-2]
    frequency = np.arange(n // 2 + 1)
    # For even n the Nyquist coefficient becomes imaginary, which the inverse transform ignores.
    spectrum = 2j * np.pi * frequency[:, None] * scipy.fft.rfft(values, axis=-2)
    derivative: Real = scipy.fft.irfft(spectrum, n, axis=-2)
    return derivative


def quadrature_weights(
    nodes: Real,
    *,
    velocity: Real | None = None,
    steps: Real | None = None,
    measure: Measure = "arc-length",
) -> Real:
    """Quadrature weights of the nodes of each curve under its arc-length measure.

    Parameters
    ----------
    nodes : (N, n, 2) array
        Points of N curves.
    velocity : (N, n, 2) array, optional
        Derivatives of the curves with respect to the parameter. By default the nodes are equidistant in the parameter
        of a smooth closed curve, and the Fourier derivative is used.
    steps : (n,) array, optional
        Quadrature weights Δu of the parameter itself, such as Gauss-Legendre weights; equal by default.
    measure : {"arc-length", "affine"}
        Length of the curve as it is, or of the curve whitened by its own second moment under that very measure, which
        is equivariant under linear maps.

    Returns
    -------
    (N, n) array
        Positive, each row summing to 1, as `decompose` expects.

    Raises
    ------
    ValueError
        For arrays of incompatible shapes, a curve with zero speed at a node, or an affine measure that does not
        converge.

    Notes
    -----
    Paper, "Nyström's Method for Curves", but proportional to the speed: the inverse printed there does not
    measure length.

    References
    ----------
    Z. Grey, N. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes.quadrature import quadrature_weights
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    >>> weights = quadrature_weights((circle * [1, 2])[None])
    >>> weights[0, [0, 25]].round(4)
    array([0.0065, 0.013 ])
    >>> np.allclose(weights.sum(axis=1), 1)
    True
    """
    check_landmarks(nodes)
    if measure not in ("arc-length", "affine"):
        raise ValueError(f'measure must be "arc-length" or "affine", not {measure!r}')
    velocity = fourier_derivative(nodes) if velocity is None else np.asarray(velocity, dtype=np.float64)
    steps = np.ones(nodes.shape[1]) if steps is None else np.asarray(steps, dtype=np.float64)
    if velocity.shape != nodes.shape or steps.shape != nodes.shape[1:2]:
        raise ValueError(
            f"nodes have shape {nodes.shape}, so velocity must have the same and steps {nodes.shape[1:2]}, not "
            f"{velocity.shape} and {steps.shape}"
        )
    weights = _shares(velocity, steps)
    if measure == "arc-length":
        return weights
    for _ in range(MAX_ITERATIONS):  # fixed-point iteration: whiten by the second moment, measure length on the result
        _, scale = decompose(nodes, weights)
        updated = _shares(velocity @ np.linalg.inv(scale), steps)
        change = np.abs(updated - weights).max() * weights.shape[1]
        weights = updated
        if change <= _TOLERANCE:
            return weights
    raise ValueError(
        f"the affine measure did not converge in {MAX_ITERATIONS} iterations (remaining change {change:.1e}): "
        'use "arc-length"'
    )


def _shares(velocity: Real, steps: Real) -> Real:
    """Share of each node in the length of its curve."""
    length = np.linalg.norm(velocity, axis=-1) * steps
    still = ~(length > 0).all(axis=-1)
    if still.any():
        raise ValueError(
            f"{still.sum()} curve(s) have zero velocity at a node, or steps that are not positive (first: "
            f"{np.flatnonzero(still)[0]}): move the nodes, or leave these curves out"
        )
    return length / length.sum(axis=-1, keepdims=True)


@dataclass(frozen=True)
class Eigenfunctions:
    """Orthonormal eigenfunctions ṽⱼ(s) = αⱼ·τ(s)/σⱼ of each curve's integral operator, anywhere on the curve.

    Attributes
    ----------
    centre : (N, 2) array
        Mean of each curve under its measure; τ is the curve minus its center.
    axes : (N, 2, 2) array
        The orthonormal α₁, α₂ as columns; the larger entry of each is positive.
    extents : (N, 2) array
        σ₁ ≥ σ₂, in the curves' unit.

    Notes
    -----
    Nyström's method: paper, eq. (evalvs) and (discrete_evalprob), normalized as in eq. (ortho_eigfunc). The axes of
    a curve with equal extents, such as a circle, are arbitrary; `undulation` is not.

    References
    ----------
    Z. Grey, N. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes.quadrature import Eigenfunctions
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    >>> Eigenfunctions.from_nodes((circle * [1, 2])[None]).extents.round(3)
    array([[1.414, 0.707]])
    """

    centre: Real
    axes: Real
    extents: Real

    @classmethod
    def from_nodes(cls, nodes: Real, weights: Real | None = None) -> "Eigenfunctions":
        """Solve the 2 × 2 eigenproblem of each curve from n nodes.

        Parameters
        ----------
        nodes : (N, n, 2) array
        weights : (n,) or (N, n) array, optional
            Quadrature weights of the measure, such as `quadrature_weights`; equal by default.

        Raises
        ------
        ValueError
            As `decompose`.
        """
        undulation, scale = decompose(nodes, weights)
        share = np.full(nodes.shape[1:2], 1.0) if weights is None else np.asarray(weights, dtype=np.float64)
        share = np.broadcast_to(share / share.sum(axis=-1, keepdims=True), undulation.shape[:2])
        extents, axes = np.linalg.eigh(scale)
        extents, axes = extents[:, ::-1], axes[:, :, ::-1]
        larger = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
        return cls(np.einsum("qn,qni->qi", share, nodes), axes * np.sign(larger), extents)

    def __call__(self, points: Real) -> Real:
        """Values (N, m, 2) of ṽ₁, ṽ₂ at points (N, m, 2) of the curves."""
        return (points - self.centre[:, None]) @ self.axes / self.extents[:, None]

    def undulation(self, points: Real) -> Real:
        """The same in the unique view ṽ Aᵀ = P⁻¹ τ, (N, m, 2): √wᵢ times it is row i of the undulation X̃."""
        return self(points) @ self.axes.swapaxes(1, 2)
