"""Two-sample tests by maximum mean discrepancy, on points rather than shapes."""

from .dependence import dependence_test
from .thresholds import gretton_test
from .two_sample import MMDTest, mmd_test

__all__ = [
    "MMDTest",
    "dependence_test",
    "gretton_test",
    "mmd_test",
]
