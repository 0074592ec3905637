"""From images to closed curves: segmentation, tracing, and cleaning into an ensemble."""

from .ensemble import Ensemble, account_of, counted
from .extract import at_one_pixel_size, at_pixel_size, extract_curves, level_curves, trace_mask
from .finders import segmenters
from .gate import Finding, Quality, quality
from .learned import ObjectModel, PixelFeatures, learn_objects
from .matching import Matching, boundary_distances, match_labels
from .outlines import Outlines
from .proposals import Proposal
from .propose import propose
from .recipe import TILINGS, Method, Objects, Recipe, SmoothingUnit, Split
from .recognise import as_labels, content_of, objects_of_classes
from .repair import repaired, self_touching
from .segment import segment, segment_stack
from .tiling import Boundary, Tiling
from .units import conversion_factor

__all__ = [
    "TILINGS",
    "Boundary",
    "Ensemble",
    "Finding",
    "Matching",
    "Method",
    "ObjectModel",
    "Objects",
    "Outlines",
    "PixelFeatures",
    "Proposal",
    "Quality",
    "Recipe",
    "SmoothingUnit",
    "Split",
    "Tiling",
    "account_of",
    "as_labels",
    "at_one_pixel_size",
    "at_pixel_size",
    "boundary_distances",
    "content_of",
    "conversion_factor",
    "counted",
    "extract_curves",
    "learn_objects",
    "level_curves",
    "match_labels",
    "objects_of_classes",
    "propose",
    "quality",
    "repaired",
    "segment",
    "segment_stack",
    "segmenters",
    "self_touching",
    "trace_mask",
]
