"""Pairs of example samples: real data that come with the package, and simulated data drawn from a seed.

Examples
--------
>>> from napari_shape_ensembles import compare, samples
>>> pair = samples.powder_outlines()
>>> pair.title, pair.licence
('Metal powder: particles drawn by hand', 'MIT')
>>> compare(*pair.ensembles()).case
'1∧0'
"""

from .real import cells, nuclei, nuclei_labels, powder, powder_outlines
from .simulated import simulated_fields, simulated_rolling, simulated_sieving, simulated_treatment

__all__ = [
    "cells",
    "nuclei",
    "nuclei_labels",
    "powder",
    "powder_outlines",
    "simulated_fields",
    "simulated_rolling",
    "simulated_sieving",
    "simulated_treatment",
]
