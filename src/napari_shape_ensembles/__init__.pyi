from .comparison import Comparison, Settings, Step, compare, comparison_steps
from .curves import Ensemble, extract_curves, to_landmarks, trace_mask
from .discrepancy import MMDTest, mmd_test
from .segment import segment
from .studies import DecisionLandscape, PairTable, SmoothingStudy, all_pairs, decision_landscape, smoothing_study
from .tensors import Registration, ShapeSpace, decompose, register

__all__ = [
    "Comparison",
    "DecisionLandscape",
    "Ensemble",
    "MMDTest",
    "PairTable",
    "Registration",
    "Settings",
    "ShapeSpace",
    "SmoothingStudy",
    "Step",
    "all_pairs",
    "compare",
    "comparison_steps",
    "decision_landscape",
    "decompose",
    "extract_curves",
    "mmd_test",
    "register",
    "segment",
    "smoothing_study",
    "to_landmarks",
    "trace_mask",
]
