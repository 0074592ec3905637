from .agreement import Agreement, agreement
from .comparison import Comparison, Settings, Step, compare, comparison_steps
from .curves import Ensemble, Tiling, extract_curves, level_curves, match_labels, repaired, suspicious, to_landmarks
from .discrepancy import MMDTest, mmd_test
from .segment import Segmentation, segment, segment_stack
from .tensors import Registration, ShapeSpace, decompose, register

__all__ = [
    "Agreement",
    "Comparison",
    "Ensemble",
    "MMDTest",
    "Registration",
    "Segmentation",
    "Settings",
    "ShapeSpace",
    "Step",
    "Tiling",
    "agreement",
    "compare",
    "comparison_steps",
    "decompose",
    "extract_curves",
    "level_curves",
    "match_labels",
    "mmd_test",
    "register",
    "repaired",
    "segment",
    "segment_stack",
    "suspicious",
    "to_landmarks",
]
