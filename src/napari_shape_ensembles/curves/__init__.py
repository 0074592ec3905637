"""Closed curves: cleaned into an ensemble, extracted from labels, and sampled at landmarks."""

from .ensemble import Ensemble
from .extract import extract_curves
from .landmarks import Interpolation, Measure, to_landmarks
from .mask import trace_mask
from .units import conversion_factor, in_unit

__all__ = [
    "Ensemble",
    "Interpolation",
    "Measure",
    "conversion_factor",
    "extract_curves",
    "in_unit",
    "to_landmarks",
    "trace_mask",
]
