"""Studies: many comparisons at once, over settings, smoothing or images."""

from .choices import Choice, ChoiceStudy, choice_study
from .landscape import DecisionLandscape, Decisions, decision_landscape
from .pairs import PairTable, all_pairs
from .recommendation import Recommendation
from .smoothing import SmoothingStudy, smoothing_study

__all__ = [
    "Choice",
    "ChoiceStudy",
    "DecisionLandscape",
    "Decisions",
    "PairTable",
    "Recommendation",
    "SmoothingStudy",
    "all_pairs",
    "choice_study",
    "decision_landscape",
    "smoothing_study",
]
