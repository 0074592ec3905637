"""Two-sample tests by maximum mean discrepancy, on points rather than shapes."""

from .dependence import DependenceTest, dependence_test
from .kernel import KERNELS, PERMUTATIONS, SIGNIFICANCE, Kernel, median_distance
from .nested import nested_mmd_tests
from .thresholds import distribution_free_threshold, gretton_test, permutation_moments
from .two_sample import MMDTest, combined_mmd_test, mmd_test

__all__ = [
    "KERNELS",
    "PERMUTATIONS",
    "SIGNIFICANCE",
    "DependenceTest",
    "Kernel",
    "MMDTest",
    "combined_mmd_test",
    "dependence_test",
    "distribution_free_threshold",
    "gretton_test",
    "median_distance",
    "mmd_test",
    "nested_mmd_tests",
    "permutation_moments",
]
