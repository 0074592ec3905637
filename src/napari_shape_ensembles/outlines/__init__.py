"""From images to closed curves: segmentation, tracing, and cleaning into an ensemble."""

from .acquisition import at_pixel_size
from .ensemble import Ensemble
from .extract import extract_curves, level_curves, trace_mask
from .finders import segmenters
from .gate import Quality, quality
from .learned import ObjectModel, learn_objects
from .matching import match_labels
from .not_image import not_image
from .outlines import Outlines, segment, segment_stack
from .propose import propose
from .reasons import Reason
from .recognise import content_of, objects_of_classes
from .repair import repair

__all__ = [
    "Ensemble",
    "ObjectModel",
    "Outlines",
    "Quality",
    "Reason",
    "at_pixel_size",
    "content_of",
    "extract_curves",
    "learn_objects",
    "level_curves",
    "match_labels",
    "not_image",
    "objects_of_classes",
    "propose",
    "quality",
    "repair",
    "segment",
    "segment_stack",
    "segmenters",
    "trace_mask",
]
