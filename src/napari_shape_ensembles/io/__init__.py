"""Results and foreign formats as files, and back."""

from .settings_file import SettingsFile, load_settings, save_settings

__all__ = ["SettingsFile", "load_settings", "save_settings"]
