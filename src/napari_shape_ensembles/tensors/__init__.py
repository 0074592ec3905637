"""Separable shape tensors: registered landmarks, undulation and scale, and the learned shape space."""

from .decomposition import decompose
from .registration import Registration, distinctness, register
from .space import ShapeSpace

__all__ = ["Registration", "ShapeSpace", "decompose", "distinctness", "register"]
