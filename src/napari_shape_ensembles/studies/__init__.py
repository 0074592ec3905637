"""Studies: many comparisons at once, over settings or smoothing."""

from .choices import ChoiceStudy, choice_study
from .landscape import DecisionLandscape, decision_landscape
from .smoothing import SmoothingStudy, smoothing_study

__all__ = [
    "ChoiceStudy",
    "DecisionLandscape",
    "SmoothingStudy",
    "choice_study",
    "decision_landscape",
    "smoothing_study",
]
