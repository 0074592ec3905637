"""From a cell of a study to the dock *Compare shapes*: its settings are loaded there, ready to be run."""

from collections.abc import Mapping, Sequence
from typing import Any

from napari.components import ViewerModel
from napari.layers import Layer

from .compare_dock import CompareShapes

_PLUGIN = "napari-shape-ensembles"
_DOCK = "Compare shapes"


def load_into_compare(
    viewer: ViewerModel, values: Mapping[str, Any], sides: tuple[Sequence[Layer], Sequence[Layer]] | None = None
) -> CompareShapes | None:
    """Open the dock where it is not, and set its controls.

    Parameters
    ----------
    viewer : ViewerModel
    values : mapping of str to Any
        Names of controls of the `SettingsForm`, and what they are set to.
    sides : pair of sequences of layers, optional
        To be chosen as A and B.

    Returns
    -------
    CompareShapes or None
        None for a viewer without a window.
    """
    window = getattr(viewer, "window", None)
    if window is None:
        return None
    dock, compare = window.add_plugin_dock_widget(_PLUGIN, _DOCK, tabify=True)
    dock.show()
    compare.settings.load(values)
    if sides is not None:
        compare.sides.choose(*sides)
    return compare
