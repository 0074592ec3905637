from .comparison import Comparison, Settings, Step, compare, comparison_steps
from .curves import Ensemble, extract_curves, to_landmarks
from .discrepancy import (
    DependenceTest,
    EffectSizes,
    MMDTest,
    dependence_test,
    detectable_differences,
    effect_sizes,
    mmd_test,
)
from .explanations import Explanation, explain, resynthesis
from .segment import segment
from .sensitivity import ArchetypeSensitivity, archetype_sensitivity
from .tensors import Registration, ShapeSpace, decompose, register

__all__ = [
    "ArchetypeSensitivity",
    "Comparison",
    "DependenceTest",
    "EffectSizes",
    "Ensemble",
    "Explanation",
    "MMDTest",
    "Registration",
    "Settings",
    "ShapeSpace",
    "Step",
    "archetype_sensitivity",
    "compare",
    "comparison_steps",
    "decompose",
    "dependence_test",
    "detectable_differences",
    "effect_sizes",
    "explain",
    "extract_curves",
    "mmd_test",
    "register",
    "resynthesis",
    "segment",
    "to_landmarks",
]
