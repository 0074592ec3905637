"""Comparison of two ensembles: learning, two tests, and one row of the truth table."""

from ..mmd.contrasts import Estimate
from .compare import (
    Comparison,
    Images,
    comparable,
    compare,
    permutation_options,
    read_view,
    sample_of,
    software_versions,
)
from .design import Design, checked_design, design_from_names
from .detectable import Detectable, detectable_differences, planned_power
from .effects import EffectSizes, aspects, effect_sizes
from .experiment import Experiment, experiment
from .inputs import InputFile, Inputs
from .learning import STEPS, Learned, learn
from .parts import Part, Parts, form_parts, scale_parts
from .position import PositionDependence, position_dependence
from .sensitivity import ArchetypeSensitivity, archetype_sensitivity
from .settings import Settings
from .verdict import INCONCLUSIVE, TRUTH_TABLE, inconclusive, table_row

__all__ = [
    "INCONCLUSIVE",
    "STEPS",
    "TRUTH_TABLE",
    "ArchetypeSensitivity",
    "Comparison",
    "Design",
    "Detectable",
    "EffectSizes",
    "Estimate",
    "Experiment",
    "Images",
    "InputFile",
    "Inputs",
    "Learned",
    "Part",
    "Parts",
    "PositionDependence",
    "Settings",
    "archetype_sensitivity",
    "aspects",
    "checked_design",
    "comparable",
    "compare",
    "design_from_names",
    "detectable_differences",
    "effect_sizes",
    "experiment",
    "form_parts",
    "inconclusive",
    "learn",
    "permutation_options",
    "planned_power",
    "position_dependence",
    "read_view",
    "sample_of",
    "scale_parts",
    "software_versions",
    "table_row",
]
