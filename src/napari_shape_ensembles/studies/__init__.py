"""Studies: many comparisons at once, over settings, smoothing or images."""

from .landscape import DecisionLandscape, Decisions, decision_landscape, landscape_steps
from .steps import Partial

__all__ = [
    "DecisionLandscape",
    "Decisions",
    "Partial",
    "decision_landscape",
    "landscape_steps",
]
