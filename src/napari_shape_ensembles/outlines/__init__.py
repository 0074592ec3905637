"""From images to closed curves: segmented, traced, and cleaned into an ensemble."""

from .ensemble import Ensemble, account_of, counted, in_unit
from .extract import extract_curves, level_curves, trace_mask
from .matching import Matching, boundary_distances, match_labels
from .outlines import Outlines
from .recipe import TILINGS, Method, Objects, Recipe, SmoothingUnit, Split
from .repair import repaired, self_touching
from .segment import segment, segment_stack
from .tiling import Boundary, Tiling
from .units import conversion_factor

__all__ = [
    "TILINGS",
    "Boundary",
    "Ensemble",
    "Matching",
    "Method",
    "Objects",
    "Outlines",
    "Recipe",
    "SmoothingUnit",
    "Split",
    "Tiling",
    "account_of",
    "boundary_distances",
    "conversion_factor",
    "counted",
    "extract_curves",
    "in_unit",
    "level_curves",
    "match_labels",
    "repaired",
    "segment",
    "segment_stack",
    "self_touching",
    "trace_mask",
]
