from .agreement import Agreement, agreement
from .comparison import Comparison, compare, comparison_steps
from .curves import (
    Ensemble,
    Tiling,
    extract_curves,
    level_curves,
    match_labels,
    repaired,
    suspicious,
    to_landmarks,
    trace_mask,
)
from .discrepancy import (
    DependenceTest,
    EffectSizes,
    MMDTest,
    dependence_test,
    detectable_differences,
    effect_sizes,
    mmd_test,
)
from .explanations import Explanation, explain
from .learning import Step
from .segment import Segmentation, segment, segment_stack
from .sensitivity import ArchetypeSensitivity, archetype_sensitivity
from .settings import Settings
from .studies import DecisionLandscape, PairTable, SmoothingStudy, all_pairs, decision_landscape, smoothing_study
from .swaps import resynthesis
from .tensors import Registration, ShapeSpace, decompose, register

__all__ = [
    "Agreement",
    "ArchetypeSensitivity",
    "Comparison",
    "DecisionLandscape",
    "DependenceTest",
    "EffectSizes",
    "Ensemble",
    "Explanation",
    "MMDTest",
    "PairTable",
    "Registration",
    "Segmentation",
    "Settings",
    "ShapeSpace",
    "SmoothingStudy",
    "Step",
    "Tiling",
    "agreement",
    "all_pairs",
    "archetype_sensitivity",
    "compare",
    "comparison_steps",
    "decision_landscape",
    "decompose",
    "dependence_test",
    "detectable_differences",
    "effect_sizes",
    "explain",
    "extract_curves",
    "level_curves",
    "match_labels",
    "mmd_test",
    "register",
    "repaired",
    "resynthesis",
    "segment",
    "segment_stack",
    "smoothing_study",
    "suspicious",
    "to_landmarks",
    "trace_mask",
]
