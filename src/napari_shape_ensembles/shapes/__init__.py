"""Separable shape tensors: landmarks, registration, undulation and scale, and the learned shape space."""

from .decomposition import affine_standardization, decompose
from .distances import procrustes_distances, shape_distances
from .landmarks import to_landmarks
from .registration import register
from .space import ShapeSpace

__all__ = [
    "ShapeSpace",
    "affine_standardization",
    "decompose",
    "procrustes_distances",
    "register",
    "shape_distances",
    "to_landmarks",
]
