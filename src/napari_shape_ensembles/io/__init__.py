"""Readers and writers of results and foreign formats."""

from ..comparison.saved import read_view as read_comparison_view
from .calibration import Calibration, read_calibration
from .corrected import read_log, save_corrected
from .curve_files import read_curves, write_curves
from .curve_table import CurveTable
from .design import read_experiment
from .ebsd import read_ebsd
from .grains import find_grains
from .images import read_image
from .object_table import write_objects
from .ome_zarr import read_ome_zarr, write_ome_zarr_labels
from .references import read_folder
from .rerun import rerun
from .settings_file import SettingsFile, load_settings, save_settings

__all__ = [
    "Calibration",
    "CurveTable",
    "SettingsFile",
    "find_grains",
    "load_settings",
    "read_calibration",
    "read_comparison_view",
    "read_curves",
    "read_ebsd",
    "read_experiment",
    "read_folder",
    "read_image",
    "read_log",
    "read_ome_zarr",
    "rerun",
    "save_corrected",
    "save_settings",
    "write_curves",
    "write_objects",
    "write_ome_zarr_labels",
]
