"""Why two ensembles differ: components, modes, typical curves, and their figures."""

from .explain import Explanation, explain
from .swaps import Swap, resynthesis

__all__ = [
    "Explanation",
    "Swap",
    "explain",
    "resynthesis",
]
