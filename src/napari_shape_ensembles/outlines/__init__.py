"""From images to closed curves: segmentation, tracing, and cleaning into an ensemble."""

from .ensemble import Ensemble, at_one_pixel_size, at_pixel_size
from .extract import extract_curves, level_curves, trace_mask
from .finders import segmenters
from .gate import Finding, Quality, quality
from .learned import ObjectModel, PixelFeatures, learn_objects
from .matching import Matching, match_labels
from .outlines import Outlines, segment, segment_stack
from .proposals import Proposal
from .propose import propose
from .reasons import Reason
from .recognise import content_of, objects_of_classes
from .repair import repair
from .tiling import Boundary, Tiling

__all__ = [
    "Boundary",
    "Ensemble",
    "Finding",
    "Matching",
    "ObjectModel",
    "Outlines",
    "PixelFeatures",
    "Proposal",
    "Quality",
    "Reason",
    "Tiling",
    "at_one_pixel_size",
    "at_pixel_size",
    "content_of",
    "extract_curves",
    "learn_objects",
    "level_curves",
    "match_labels",
    "objects_of_classes",
    "propose",
    "quality",
    "repair",
    "segment",
    "segment_stack",
    "segmenters",
    "trace_mask",
]
