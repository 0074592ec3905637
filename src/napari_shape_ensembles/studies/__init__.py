"""Studies: many comparisons at once, over settings or smoothing."""

from .choices import Choice, ChoiceStudy, choice_study
from .landscape import DecisionLandscape, Decisions, decision_landscape
from .recommendation import Recommendation
from .smoothing import SmoothingStudy, smoothing_study

__all__ = [
    "Choice",
    "ChoiceStudy",
    "DecisionLandscape",
    "Decisions",
    "Recommendation",
    "SmoothingStudy",
    "choice_study",
    "decision_landscape",
    "smoothing_study",
]
