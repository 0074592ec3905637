from .comparison import Comparison, Settings, Step, compare, comparison_steps
from .curves import Ensemble, extract_curves, to_landmarks
from .discrepancy import MMDTest, mmd_test
from .segment import segment
from .studies import DecisionLandscape, decision_landscape
from .tensors import Registration, ShapeSpace, decompose, register

__all__ = [
    "Comparison",
    "DecisionLandscape",
    "Ensemble",
    "MMDTest",
    "Registration",
    "Settings",
    "ShapeSpace",
    "Step",
    "compare",
    "comparison_steps",
    "decision_landscape",
    "decompose",
    "extract_curves",
    "mmd_test",
    "register",
    "segment",
    "to_landmarks",
]
