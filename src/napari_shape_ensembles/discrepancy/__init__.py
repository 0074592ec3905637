"""Two-sample tests on shape coordinates, and the truth table they lead to."""

from .kernel import median_distance
from .mmd import MMDTest, combined_mmd_steps, combined_mmd_test, mmd_test
from .verdict import INCONCLUSIVE, TRUTH_TABLE, row, too_few

__all__ = [
    "INCONCLUSIVE",
    "TRUTH_TABLE",
    "MMDTest",
    "combined_mmd_steps",
    "combined_mmd_test",
    "median_distance",
    "mmd_test",
    "row",
    "too_few",
]
