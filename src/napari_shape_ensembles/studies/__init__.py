"""Studies: many comparisons at once, over settings, smoothing or images."""

from .choices import ChoiceStudy, choice_study
from .landscape import DecisionLandscape, decision_landscape
from .pairs import PairTable, all_pairs
from .smoothing import SmoothingStudy, smoothing_study

__all__ = [
    "ChoiceStudy",
    "DecisionLandscape",
    "PairTable",
    "SmoothingStudy",
    "all_pairs",
    "choice_study",
    "decision_landscape",
    "smoothing_study",
]
