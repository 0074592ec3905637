"""Closed curves: cleaned into an ensemble, extracted from labels, and sampled at landmarks."""

from .ensemble import Ensemble, counted
from .extract import SmoothingUnit, extract_curves
from .landmarks import Interpolation, Measure, to_landmarks
from .levels import level_curves
from .mask import trace_mask
from .matching import Matching, boundary_distances, match_labels
from .quality import suspicious
from .repair import repaired, self_touching
from .tiling import Boundary, Tiling
from .units import conversion_factor, in_unit

__all__ = [
    "Boundary",
    "Ensemble",
    "Interpolation",
    "Matching",
    "Measure",
    "SmoothingUnit",
    "Tiling",
    "boundary_distances",
    "conversion_factor",
    "counted",
    "extract_curves",
    "in_unit",
    "level_curves",
    "match_labels",
    "repaired",
    "self_touching",
    "suspicious",
    "to_landmarks",
    "trace_mask",
]
