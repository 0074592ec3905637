from .agreement import Agreement, agreement
from .comparison import Comparison, Settings, Step, compare, comparison_steps
from .curves import Ensemble, Tiling, extract_curves, level_curves, match_labels, repaired, suspicious, to_landmarks
from .discrepancy import (
    DependenceTest,
    EffectSizes,
    MMDTest,
    dependence_test,
    detectable_differences,
    effect_sizes,
    mmd_test,
)
from .segment import Segmentation, segment, segment_stack
from .sensitivity import ArchetypeSensitivity, archetype_sensitivity
from .tensors import Registration, ShapeSpace, decompose, register

__all__ = [
    "Agreement",
    "ArchetypeSensitivity",
    "Comparison",
    "DependenceTest",
    "EffectSizes",
    "Ensemble",
    "MMDTest",
    "Registration",
    "Segmentation",
    "Settings",
    "ShapeSpace",
    "Step",
    "Tiling",
    "agreement",
    "archetype_sensitivity",
    "compare",
    "comparison_steps",
    "decompose",
    "dependence_test",
    "detectable_differences",
    "effect_sizes",
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
