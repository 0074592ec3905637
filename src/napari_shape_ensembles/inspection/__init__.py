"""Which outlines deserve a second look, and how far two segmentations agree."""

from .agreement import Agreement, agreement, agreement_steps
from .quality import suspicious
from .ranking import Inspection, disagreement_steps, inspection_steps

__all__ = [
    "Agreement",
    "Inspection",
    "agreement",
    "agreement_steps",
    "disagreement_steps",
    "inspection_steps",
    "suspicious",
]
