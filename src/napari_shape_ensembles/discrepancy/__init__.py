"""Two-sample tests on shape coordinates, and the truth table they lead to."""

from .dependence import DependenceTest, dependence_steps, dependence_test
from .detectable import Detectable, detectable_differences
from .effects import EffectSizes, Estimate, aspects, effect_sizes, effect_steps
from .kernel import median_distance
from .mmd import MMDTest, combined_mmd_steps, combined_mmd_test, mmd_test
from .nested import nested_mmd_tests
from .thresholds import distribution_free_threshold, gretton_steps, gretton_test, permutation_moments
from .verdict import INCONCLUSIVE, TRUTH_TABLE, inconclusive, row, too_few

__all__ = [
    "INCONCLUSIVE",
    "TRUTH_TABLE",
    "DependenceTest",
    "Detectable",
    "EffectSizes",
    "Estimate",
    "MMDTest",
    "aspects",
    "combined_mmd_steps",
    "combined_mmd_test",
    "dependence_steps",
    "dependence_test",
    "detectable_differences",
    "distribution_free_threshold",
    "effect_sizes",
    "effect_steps",
    "gretton_steps",
    "gretton_test",
    "inconclusive",
    "median_distance",
    "mmd_test",
    "nested_mmd_tests",
    "permutation_moments",
    "row",
    "too_few",
]
