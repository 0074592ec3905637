from .comparison import Comparison, Step, compare, comparison_steps
from .curves import Ensemble, extract_curves, to_landmarks, trace_mask
from .discrepancy import (
    DependenceTest,
    EffectSizes,
    MMDTest,
    dependence_test,
    detectable_differences,
    effect_sizes,
    mmd_test,
)
from .segment import segment
from .sensitivity import ArchetypeSensitivity, archetype_sensitivity
from .settings import Settings
from .studies import DecisionLandscape, PairTable, SmoothingStudy, all_pairs, decision_landscape, smoothing_study
from .tensors import Registration, ShapeSpace, decompose, register

__all__ = [
    "ArchetypeSensitivity",
    "Comparison",
    "DecisionLandscape",
    "DependenceTest",
    "EffectSizes",
    "Ensemble",
    "MMDTest",
    "PairTable",
    "Registration",
    "Settings",
    "ShapeSpace",
    "SmoothingStudy",
    "Step",
    "all_pairs",
    "archetype_sensitivity",
    "compare",
    "comparison_steps",
    "decision_landscape",
    "decompose",
    "dependence_test",
    "detectable_differences",
    "effect_sizes",
    "extract_curves",
    "mmd_test",
    "register",
    "segment",
    "smoothing_study",
    "to_landmarks",
    "trace_mask",
]
