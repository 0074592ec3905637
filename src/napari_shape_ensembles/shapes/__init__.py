"""Separable shape tensors: landmarks, registration, undulation and scale, and the learned shape space."""

from .decomposition import affine_standardization, decompose
from .distances import ShapeDistances, procrustes_distances, shape_distances
from .expansion import Expansion, LegendreExpansion, TrigonometricExpansion
from .landmarks import to_landmarks
from .quadrature import Eigenfunctions, fourier_derivative, quadrature_weights
from .registration import Registration, choose_archetype, distinctness, register
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
    "choose_archetype",
    "decompose",
    "distinctness",
    "fourier_derivative",
    "procrustes_distances",
    "quadrature_weights",
    "register",
    "shape_distances",
    "to_landmarks",
]
