"""Comparison of two ensembles: learning, two tests, and one row of the truth table."""

from .compare import Comparison, compare
from .design import Design, design_from_names
from .detectable import Detectable
from .experiment import Experiment, experiment
from .inputs import InputFile, Inputs
from .position import PositionDependence, position_dependence
from .sensitivity import ArchetypeSensitivity, archetype_sensitivity
from .settings import Settings

__all__ = [
    "ArchetypeSensitivity",
    "Comparison",
    "Design",
    "Detectable",
    "Experiment",
    "InputFile",
    "Inputs",
    "PositionDependence",
    "Settings",
    "archetype_sensitivity",
    "compare",
    "design_from_names",
    "experiment",
    "position_dependence",
]
