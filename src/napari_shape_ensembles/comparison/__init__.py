"""Comparison of two ensembles: learning, two tests, and one row of the truth table."""

from .colorings import COLORINGS
from .compare import compare
from .design import Design, design_from_names
from .experiment import Experiment, experiment
from .position import position_dependence
from .reference import Reference, accepted_by
from .result import Comparison
from .sensitivity import archetype_sensitivity
from .settings import Settings
from .unusual import unusual_outlines

__all__ = [
    "COLORINGS",
    "Comparison",
    "Design",
    "Experiment",
    "Reference",
    "Settings",
    "accepted_by",
    "archetype_sensitivity",
    "compare",
    "design_from_names",
    "experiment",
    "position_dependence",
    "unusual_outlines",
]
