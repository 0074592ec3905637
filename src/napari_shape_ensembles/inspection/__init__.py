"""Which outlines deserve a second look, and how far two segmentations agree."""

from .agreement import Agreement, agreement
from .quality import suspicious
from .ranking import Inspection, disagreement, inspect_curves

__all__ = [
    "Agreement",
    "Inspection",
    "agreement",
    "disagreement",
    "inspect_curves",
    "suspicious",
]
