"""Two-sample tests on shape coordinates, and the truth table they lead to."""

from .mmd import MMDTest, combined_mmd_test, median_distance, mmd_test
from .nested import nested_mmd_tests
from .verdict import INCONCLUSIVE, TRUTH_TABLE, row, too_few

__all__ = [
    "INCONCLUSIVE",
    "TRUTH_TABLE",
    "MMDTest",
    "combined_mmd_test",
    "median_distance",
    "mmd_test",
    "nested_mmd_tests",
    "row",
    "too_few",
]
