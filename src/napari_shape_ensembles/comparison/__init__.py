"""Comparison of two ensembles: learning, two tests, and one row of the truth table."""

from ..mmd.contrasts import Estimate
from .compare import compare
from .design import Design, design_from_names
from .detectable import Detectable, detectable_differences, planned_power
from .effects import EffectSizes, aspects, effect_sizes
from .experiment import Experiment, experiment
from .inputs import InputFile, Inputs
from .position import PositionDependence, position_dependence
from .result import Comparison
from .sensitivity import ArchetypeSensitivity
from .settings import Settings

__all__ = [
    "ArchetypeSensitivity",
    "Comparison",
    "Design",
    "Detectable",
    "EffectSizes",
    "Estimate",
    "Experiment",
    "InputFile",
    "Inputs",
    "PositionDependence",
    "Settings",
    "aspects",
    "compare",
    "design_from_names",
    "detectable_differences",
    "effect_sizes",
    "experiment",
    "planned_power",
    "position_dependence",
]
