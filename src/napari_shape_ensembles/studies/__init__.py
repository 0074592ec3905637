"""Studies: many comparisons at once, over settings, smoothing or images."""

from .choices import Choice, ChoiceStudy, choice_study
from .landscape import DecisionLandscape, Decisions, decision_landscape
from .pairs import PairTable, PairTests, all_pairs
from .recommendation import Recommendation, recommend
from .smoothing import Smoothed, SmoothingStudy, smoothing_study

__all__ = [
    "Choice",
    "ChoiceStudy",
    "DecisionLandscape",
    "Decisions",
    "PairTable",
    "PairTests",
    "Recommendation",
    "Smoothed",
    "SmoothingStudy",
    "all_pairs",
    "choice_study",
    "decision_landscape",
    "recommend",
    "smoothing_study",
]
