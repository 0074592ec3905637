"""The plugin's own part of napari's preferences: what the docks start with."""

from typing import Any

PLUGIN = "napari-shape-ensembles"


def preferred(name: str, default: Any) -> Any:
    """What the preferences say of a setting; the default in a napari that keeps none for plugins."""
    try:
        from napari.settings import get_plugin_settings

        return getattr(get_plugin_settings(PLUGIN).comparison, name)
    except (ImportError, KeyError, ValueError, AttributeError):
        return default
