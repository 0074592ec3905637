"""Comparison of two ensembles: learning, two tests, and one row of the truth table."""

from .compare import compare
from .design import Design, design_from_names
from .experiment import Experiment, experiment
from .inputs import InputFile as InputFile
from .inputs import Inputs as Inputs
from .position import position_dependence
from .result import Comparison
from .sensitivity import ArchetypeSensitivity as ArchetypeSensitivity
from .settings import Settings

__all__ = [
    "Comparison",
    "Design",
    "Experiment",
    "Settings",
    "compare",
    "design_from_names",
    "experiment",
    "position_dependence",
]
