from .comparison import Comparison, Settings, Step, compare, comparison_steps
from .curves import Ensemble, extract_curves, to_landmarks
from .discrepancy import MMDTest, mmd_test
from .explanations import Explanation, explain, resynthesis
from .segment import segment
from .tensors import Registration, ShapeSpace, decompose, register

__all__ = [
    "Comparison",
    "Ensemble",
    "Explanation",
    "MMDTest",
    "Registration",
    "Settings",
    "ShapeSpace",
    "Step",
    "compare",
    "comparison_steps",
    "decompose",
    "explain",
    "extract_curves",
    "mmd_test",
    "register",
    "resynthesis",
    "segment",
    "to_landmarks",
]
