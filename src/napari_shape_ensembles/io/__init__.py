"""Results and foreign formats as files, and back."""

from .comparison_file import read_comparison_view
from .curve_files import FORMATS, read_curves, write_curves
from .curve_table import CurveTable
from .settings_file import SettingsFile, load_settings, save_settings

__all__ = [
    "FORMATS",
    "CurveTable",
    "SettingsFile",
    "load_settings",
    "read_comparison_view",
    "read_curves",
    "save_settings",
    "write_curves",
]
