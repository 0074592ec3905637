"""Quality control of labels and outlines: suspicious objects, their correction, and agreement of segmentations."""

from .agreement import Agreement, agreement
from .annotators import Annotators, annotators
from .correcting import CorrectedLabels
from .reviewing import Review
from .suspects import missing_objects, rank_suspects

__all__ = [
    "Agreement",
    "Annotators",
    "CorrectedLabels",
    "Review",
    "agreement",
    "annotators",
    "missing_objects",
    "rank_suspects",
]
