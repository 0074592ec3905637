"""From images to labels."""

from .pipeline import segment, segment_stack, segmentation_steps
from .settings import TILINGS, Method, Objects, Segmentation, Split

__all__ = [
    "TILINGS",
    "Method",
    "Objects",
    "Segmentation",
    "Split",
    "segment",
    "segment_stack",
    "segmentation_steps",
]
