"""Two-sample tests by maximum mean discrepancy, on points rather than shapes."""

from .dependence import DependenceTest, dependence_test
from .thresholds import gretton_test
from .two_sample import MMDTest, combined_mmd_test, mmd_test

__all__ = [
    "DependenceTest",
    "MMDTest",
    "combined_mmd_test",
    "dependence_test",
    "gretton_test",
    "mmd_test",
]
