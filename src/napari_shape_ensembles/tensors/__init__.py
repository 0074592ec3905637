"""Separable shape tensors: registered landmarks, undulation and scale, and the learned shape space."""

from .decomposition import affine_standardization, decompose
from .distances import ShapeDistances, procrustes_distances, shape_distances
from .expansion import Expansion, LegendreExpansion, TrigonometricExpansion
from .quadrature import Eigenfunctions, fourier_derivative, quadrature_weights
from .registration import Registration, distinctness, register
from .space import ShapeSpace

__all__ = [
    "Eigenfunctions",
    "Expansion",
    "LegendreExpansion",
    "Registration",
    "ShapeDistances",
    "ShapeSpace",
    "TrigonometricExpansion",
    "affine_standardization",
    "decompose",
    "distinctness",
    "fourier_derivative",
    "procrustes_distances",
    "quadrature_weights",
    "register",
    "shape_distances",
]
