"""Studies: many comparisons at once, over settings, smoothing or images."""

from .landscape import DecisionLandscape, Decisions, decision_landscape, landscape_steps
from .pairs import PairTable, PairTests, all_pairs, pair_steps
from .recommendation import Recommendation, recommend
from .smoothing import Smoothed, SmoothingStudy, smoothing_steps, smoothing_study
from .steps import Partial

__all__ = [
    "DecisionLandscape",
    "Decisions",
    "PairTable",
    "PairTests",
    "Partial",
    "Recommendation",
    "Smoothed",
    "SmoothingStudy",
    "all_pairs",
    "decision_landscape",
    "landscape_steps",
    "pair_steps",
    "recommend",
    "smoothing_steps",
    "smoothing_study",
]
