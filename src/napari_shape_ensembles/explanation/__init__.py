"""Why two ensembles differ: components, modes, typical curves, and their figures."""

from .explain import STEPS, Explanation, explain
from .swaps import Swap, resynthesis

__all__ = ["STEPS", "Explanation", "Swap", "explain", "resynthesis"]
