"""Why two ensembles differ: components, modes, typical curves, and their figures."""

from .explain import Explanation, explain
from .swaps import resynthesis

__all__ = [
    "Explanation",
    "explain",
    "resynthesis",
]
