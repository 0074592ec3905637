"""Curves as orthogonal expansions: smooth functions of u on [0, 1] with exact derivatives.

The paper's quasi-matrices. Both bases are orthonormal on the interval, so a curve's center, its second moment and the
angles between undulations are sums over coefficients, independent of any number of landmarks.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np
import scipy.fft
from numpy.polynomial import legendre

from .._types import Real
from .decomposition import check_landmarks, polar

# Degrees tried by default, and the reciprocal of the fraction of trailing coefficients that must be negligible.
_DEGREES = (16, 32, 64, 128, 256, 512, 1024, 2048)
_TAIL_DIVISOR = 8
# Oversampling of the grid for maximum speeds and lengths.
_OVERSAMPLING = 4


@dataclass(frozen=True)
class Expansion(ABC):
    """N curves, each a sum of orthonormal functions of u on [0, 1].

    Attributes
    ----------
    coefficients : (N, K, 2) array
        Coefficients of the K basis functions, in the curves' unit; the first function is 1.

    References
    ----------
    Z. Grey, N. Fisher, A. Glaws, "Explainable Binary Classification of Separable Shape Ensembles".

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes.expansion import TrigonometricExpansion
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    >>> expansion = TrigonometricExpansion.through(circle[None])
    >>> expansion.lengths().round(6)
    array([6.283185])
    """

    coefficients: Real

    @staticmethod
    @abstractmethod
    def size(degree: int) -> int:
        """Number K of basis functions up to a degree."""

    @staticmethod
    @abstractmethod
    def nodes(degree: int) -> tuple[Real, Real]:
        """Quadrature nodes and weights on [0, 1] that are exact for products of two functions of the given degree."""

    @abstractmethod
    def basis(self, u: Real) -> Real:
        """Values (..., K) of the basis functions at parameters u of any shape (...)."""

    @abstractmethod
    def derivative(self) -> Self:
        """The derivative with respect to u."""

    @classmethod
    def project(cls, curve: Callable[[Real], Real], degree: int | None = None, *, tolerance: float = 1e-13) -> Self:
        """Project a function onto the basis.

        Parameters
        ----------
        curve : callable
            Maps parameters u (p,) in [0, 1] to points (N, p, 2): another expansion, for example.
        degree : int, optional
            By default it is doubled from 16 until the coefficients have fallen below the tolerance.
        tolerance : float
            Size of negligible coefficients relative to the largest.

        Raises
        ------
        ValueError
            If a degree of 2048 does not suffice: the function is not smooth. Pass a degree to accept its error.
        """
        if degree is not None:
            return cls._least_squares(curve, degree)
        for degree in _DEGREES:
            expansion = cls._least_squares(curve, degree)
            # Largest coefficients of the degrees 1, 2, … relative to their curve's largest; maximum over all curves.
            size = np.abs(expansion.coefficients[:, 1:]).max(axis=-1)
            size = (size / size.max(axis=1, keepdims=True)).max(axis=0).reshape(-1, cls.size(1) - 1).max(axis=1)
            tail = size[-degree // _TAIL_DIVISOR :].max()
            if tail <= tolerance:
                # Coefficients at rounding level would only be amplified by differentiation.
                return expansion.truncated(int(np.flatnonzero(size > tolerance).max(initial=0)) + 1)
        raise ValueError(
            f"a degree of {_DEGREES[-1]} does not resolve the curves (the last coefficients are {tail:.1e} of the "
            "largest): give a degree, and accept its error"
        )

    @classmethod
    def _least_squares(cls, curve: Callable[[Real], Real], degree: int) -> Self:
        u, weights = cls.nodes(degree)
        basis = cls(np.empty((0, cls.size(degree), 2))).basis(u)
        return cls((weights[:, None] * basis).T @ curve(u))

    def __call__(self, u: Real) -> Real:
        """Points (N, p, 2) at parameters u, (p,) for all curves or (N, p)."""
        return self.basis(np.asarray(u, dtype=np.float64)) @ self.coefficients

    def at_nodes(self, degree: int) -> Real:
        """Points (N, p, 2) at the `nodes` of a degree."""
        return self(self.nodes(degree)[0])

    def truncated(self, degree: int) -> Self:
        """Best approximation of a lower degree: the truncated expansion."""
        return type(self)(self.coefficients[:, : self.size(degree)])

    def centre(self) -> Real:
        """Mean over u of each curve, (N, 2)."""
        return self.coefficients[:, 0]

    def decompose(self) -> tuple[Self, Real]:
        """Split into undulation and scale without choosing landmarks.

        Returns
        -------
        undulation : Expansion
            Its coefficients are orthonormal columns: the quasi-matrix Ṽ of the paper, eq. (cont_SST), in the unique
            view. The planes spanned by the coefficients of two curves have the principal angles of the curves
            themselves.
        scale : (N, 2, 2) array
            P, in the curves' unit; the measure is uniform in u.

        Raises
        ------
        ValueError
            For curves that lie on a line.
        """
        x, y = np.moveaxis(self.coefficients[:, 1:], -1, 0)
        undulation, scale = polar(x, y)
        return type(self)(np.concatenate([np.zeros((len(x), 1, 2)), undulation], axis=1)), scale

    def lengths(self) -> Real:
        """Length of each curve, (N,)."""
        degree = _OVERSAMPLING * self.coefficients.shape[1]
        return np.linalg.norm(self.derivative().at_nodes(degree), axis=-1) @ self.nodes(degree)[1]

    def lipschitz(self) -> Real:
        """Lipschitz constant λ of each curve as a function of u: its maximum speed, (N,).

        Notes
        -----
        Paper, eq. (reg_Hilbert_space). The maximum speed on a fine grid, refined by Newton's method on its square.
        """
        velocity = self.derivative()
        acceleration = velocity.derivative()
        jerk = acceleration.derivative()
        degree = _OVERSAMPLING * self.coefficients.shape[1]
        grid = np.concatenate([[0.0], self.nodes(degree)[0], [1.0]])
        points = np.concatenate([velocity(grid[:1]), velocity.at_nodes(degree), velocity(grid[-1:])], axis=1)
        best = np.linalg.norm(points, axis=-1).argmax(axis=-1)
        low, u, high = (grid[np.clip(best + k, 0, len(grid) - 1)][:, None] for k in (-1, 0, 1))
        for _ in range(8):
            v, a, j = velocity(u), acceleration(u), jerk(u)
            slope, bend = (v * a).sum(axis=-1), (a * a + v * j).sum(axis=-1)
            before = u
            u = np.clip(u - np.where(bend < 0, slope / np.where(bend < 0, bend, 1), 0), low, high)
            if np.abs(u - before).max(initial=0) < 1e-12:
                break
        return np.maximum(np.linalg.norm(points, axis=-1).max(axis=-1), np.linalg.norm(velocity(u), axis=-1)[:, 0])


class TrigonometricExpansion(Expansion):
    """Fourier series 1, √2 cos 2πu, √2 sin 2πu, √2 cos 4πu, ...: for smooth closed curves.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes.expansion import TrigonometricExpansion
    >>> expansion = TrigonometricExpansion(np.array([[[0.0, 0], [1, 0], [0, 1]]]) / np.sqrt(2))
    >>> expansion.lengths().round(6)
    array([6.283185])
    """

    @classmethod
    def through(cls, landmarks: Real) -> "TrigonometricExpansion":
        """Interpolate landmarks (N, n, 2) at equidistant u.

        Raises
        ------
        ValueError
            For malformed landmarks.
        """
        check_landmarks(landmarks)
        count, n, _ = landmarks.shape
        spectrum = np.sqrt(2) / n * np.fft.rfft(landmarks, axis=1)
        coefficients = np.empty((count, cls.size(n // 2), 2))
        coefficients[:, 0] = spectrum[:, 0].real / np.sqrt(2)
        coefficients[:, 1::2], coefficients[:, 2::2] = spectrum[:, 1:].real, -spectrum[:, 1:].imag
        if n % 2 == 0:  # the Nyquist mode is a single cosine
            coefficients[:, -2] /= 2
        return cls(coefficients)

    @staticmethod
    def size(degree: int) -> int:
        """Number K of basis functions up to a degree."""
        return 2 * degree + 1

    @staticmethod
    def nodes(degree: int) -> tuple[Real, Real]:
        """Equidistant nodes, exact for products of two functions of the given degree."""
        count = 2 * degree + 1
        return np.arange(count) / count, np.full(count, 1 / count)

    def at_nodes(self, degree: int) -> Real:
        """Points (N, p, 2) at equidistant nodes, by one FFT where they resolve the expansion."""
        count, size, _ = self.coefficients.shape
        if degree < size // 2:
            return super().at_nodes(degree)
        spectrum = np.zeros((count, degree + 1, 2), dtype=np.complex128)
        spectrum[:, 0] = self.coefficients[:, 0]
        spectrum[:, 1 : size // 2 + 1] = (self.coefficients[:, 1::2] - 1j * self.coefficients[:, 2::2]) / np.sqrt(2)
        points: Real = scipy.fft.irfft(spectrum, 2 * degree + 1, axis=1, norm="forward")
        return points

    def basis(self, u: Real) -> Real:
        """Values (..., K) of the basis functions at parameters u of any shape (...)."""
        angle = 2 * np.pi * u[..., None] * np.arange(1, self.coefficients.shape[1] // 2 + 1)
        values = np.empty((*u.shape, self.coefficients.shape[1]))
        values[..., 0] = 1
        values[..., 1::2], values[..., 2::2] = np.sqrt(2) * np.cos(angle), np.sqrt(2) * np.sin(angle)
        return values

    def derivative(self) -> "TrigonometricExpansion":
        """The derivative with respect to u."""
        rate = 2 * np.pi * np.arange(1, self.coefficients.shape[1] // 2 + 1)[:, None]
        result = np.zeros_like(self.coefficients)
        result[:, 1::2], result[:, 2::2] = rate * self.coefficients[:, 2::2], -rate * self.coefficients[:, 1::2]
        return TrigonometricExpansion(result)


class LegendreExpansion(Expansion):
    """Legendre polynomials √(2k + 1) Pₖ(2u - 1), the paper's choice: also for open curves.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.shapes.expansion import LegendreExpansion
    >>> expansion = LegendreExpansion.project(lambda u: np.stack([u, u**2], axis=-1)[None])
    >>> expansion.lengths().round(6)
    array([1.478943])
    """

    @staticmethod
    def size(degree: int) -> int:
        """Number K of basis functions up to a degree."""
        return degree + 1

    @staticmethod
    def nodes(degree: int) -> tuple[Real, Real]:
        """Gauss-Legendre nodes, exact for products of two functions of the given degree."""
        return _gauss_legendre(degree + 1)

    def basis(self, u: Real) -> Real:
        """Values (..., K) of the basis functions at parameters u of any shape (...)."""
        values: Real = legendre.legvander(2 * u - 1, self.coefficients.shape[1] - 1) * self._norms()
        return values

    def derivative(self) -> "LegendreExpansion":
        """The derivative with respect to u."""
        plain = self.coefficients * self._norms()[:, None]
        lower = legendre.legder(plain, scl=2, axis=1)
        return LegendreExpansion(lower / self._norms()[: lower.shape[1], None])

    def _norms(self) -> Real:
        return np.sqrt(2 * np.arange(self.coefficients.shape[1]) + 1)


@cache
def _gauss_legendre(n: int) -> tuple[Real, Real]:
    """Gauss-Legendre nodes and weights on [0, 1] by Newton's method.

    With 2048 nodes, products of basis functions are accurate to 2e-13; nodes from eigenvalues of the Jacobi matrix, as
    in SciPy, give 3e-10, which differentiation would amplify.
    """
    x = -np.cos(np.pi * (np.arange(n) + 0.75) / (n + 0.5))
    for _ in range(5):
        before, value = np.ones(n), x
        for k in range(2, n + 1):
            before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
        slope = n * (x * value - before) / (x * x - 1)
        x = x - value / slope
    return (x + 1) / 2, 1 / ((1 - x * x) * slope**2)
