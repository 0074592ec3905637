"""Closed curves: cleaned into an ensemble, extracted from labels, and sampled at landmarks."""

from .ensemble import Ensemble
from .extract import SmoothingUnit, extract_curves
from .landmarks import Interpolation, Measure, to_landmarks
from .levels import level_curves
from .repair import repaired, self_touching
from .tiling import Boundary, Tiling
from .units import conversion_factor, in_unit

__all__ = [
    "Boundary",
    "Ensemble",
    "Interpolation",
    "Measure",
    "SmoothingUnit",
    "Tiling",
    "conversion_factor",
    "extract_curves",
    "in_unit",
    "level_curves",
    "repaired",
    "self_touching",
    "to_landmarks",
]
