"""Two ensembles compared: learning, two tests, and one row of the truth table."""

from .compare import (
    Comparison,
    Images,
    comparable,
    compare,
    comparison_steps,
    levels,
    run_through,
    software_versions,
    undulation_descriptions,
)
from .detectable import Detectable, detectable_differences
from .effects import EffectSizes, Estimate, aspects, effect_sizes, effect_steps
from .learning import STEPS, Learned, Step, learning_steps
from .sensitivity import ArchetypeSensitivity, archetype_sensitivity, sensitivity_steps
from .settings import Settings
from .verdict import INCONCLUSIVE, TRUTH_TABLE, inconclusive, row, too_few

__all__ = [
    "INCONCLUSIVE",
    "STEPS",
    "TRUTH_TABLE",
    "ArchetypeSensitivity",
    "Comparison",
    "Detectable",
    "EffectSizes",
    "Estimate",
    "Images",
    "Learned",
    "Settings",
    "Step",
    "archetype_sensitivity",
    "aspects",
    "comparable",
    "compare",
    "comparison_steps",
    "detectable_differences",
    "effect_sizes",
    "effect_steps",
    "inconclusive",
    "learning_steps",
    "levels",
    "row",
    "run_through",
    "sensitivity_steps",
    "software_versions",
    "too_few",
    "undulation_descriptions",
]
