"""Quality control of labels and outlines: suspicious objects, their correction, and agreement of segmentations."""

from .agreement import Agreement, agreement
from .annotators import Annotators, annotators
from .correcting import Change, CorrectedLabels, CorrectedStack
from .ranking import Inspection
from .reviewing import Entry, Review
from .suspects import Suspects, Ticks, missing_objects, rank_suspects

__all__ = [
    "Agreement",
    "Annotators",
    "Change",
    "CorrectedLabels",
    "CorrectedStack",
    "Entry",
    "Inspection",
    "Review",
    "Suspects",
    "Ticks",
    "agreement",
    "annotators",
    "missing_objects",
    "rank_suspects",
]
