"""Boundaries of cells and nuclei of a Xenium output bundle: tables of vertices in µm."""

import re
from pathlib import Path

from ..archive import StrPath
from .curve_table import Found

_BOUNDARIES = re.compile(r"(cell|nucleus)_boundaries", re.IGNORECASE)


def in_microns(found: Found, path: StrPath) -> Found:
    """Return what was read from a table, in µm if it is one of Xenium by its name, which states no unit."""
    if _BOUNDARIES.search(Path(path).name) and not (found.meta or found.unit):
        found.unit, found.calibrated = "µm", True
    return found
