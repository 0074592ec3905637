"""The user's choices in a viewer: the design table, the recipe, the settings, and the excluded curves."""

import itertools
import warnings
import weakref
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from napari.components import Dims, ViewerModel
from napari.layers import Layer
from psygnal import Signal

from ..comparison import Settings
from ..outlines import Outlines
from ..outlines.external import choose_pythons
from .designing import DesignTable
from .inputs import Excluded, Ids, ImageRow, Plane, plane_of

PLUGIN = "napari-shape-ensembles"
#: Settings whose initial values are read from napari's preferences.
PREFERRED = ("significance", "permutations", "landmarks", "rank")


class Exclusions:
    """Ids of curves excluded per plane of a layer, valid for one recipe. No data are deleted.

    Another plane of a stack has other objects with the same ids, so a curve is excluded from its own plane only: the
    one displayed, unless told otherwise.
    """

    changed = Signal()  #: the set of excluded curves has changed

    def __init__(self, dims: Dims) -> None:
        self._dims = dims
        self._ids: weakref.WeakKeyDictionary[Layer | ImageRow, dict[Plane, Ids]] = weakref.WeakKeyDictionary()
        self._recipe: Outlines | None = None
        self.unsaved = False  #: whether curves were excluded that no saved result leaves out

    def put(
        self,
        layer: Layer | ImageRow,
        ids: Ids | set[str],
        recipe: Outlines,
        plane: Plane | None = None,
        *,
        excluded: bool = True,
    ) -> None:
        """Exclude several curves, or include them again; the caller emits `changed` once for all layers."""
        if recipe != self._recipe:
            self._ids.clear()
        self._recipe = recipe
        plane = plane_of(layer, self._dims) if plane is None else plane
        known = self._ids.setdefault(layer, {})
        before = known.get(plane, frozenset())
        known[plane] = before | ids if excluded else before - ids
        self.unsaved = any(any(planes.values()) for planes in self._ids.values())

    def replace_all(self, layers: Iterable[Layer | ImageRow], excluded: Excluded, recipe: Outlines) -> None:
        """Exclude exactly these curves of the displayed planes."""
        self._ids.clear()
        self._recipe = recipe
        for layer, ids in zip(layers, excluded, strict=True):
            self._ids[layer] = {plane_of(layer, self._dims): ids}
        self.unsaved = False
        self.changed.emit()

    def of(
        self, layers: Iterable[Layer | ImageRow | None], recipe: Outlines, planes: Iterable[Plane | None] | None = None
    ) -> Excluded:
        """Return the excluded ids of each layer; none for another recipe, which finds other outlines."""
        found: list[Ids] = []
        for layer, plane in zip(layers, itertools.repeat(None) if planes is None else planes, strict=False):
            known = self._ids.get(layer) if layer is not None and recipe == self._recipe else None
            if layer is None or not known:
                found.append(frozenset())
            else:
                found.append(known.get(plane_of(layer, self._dims) if plane is None else plane, frozenset()))
        return tuple(found)

    def clear(self) -> None:
        """Include all curves again."""
        self._ids.clear()
        self.unsaved = False
        self.changed.emit()


def preferred(name: str, default: Any) -> Any:
    """Return a setting from napari's preferences, or the default in versions without plugin settings."""
    try:
        from napari.settings import get_plugin_settings

        return getattr(get_plugin_settings(PLUGIN).comparison, name)
    except (ImportError, KeyError, ValueError, AttributeError):
        return default


class Choices:
    """All inputs of a run; the recipe and the settings are shared by all docks, and changed by `set`."""

    changed = Signal()  #: the recipe or the settings have changed

    def __init__(self, viewer: ViewerModel) -> None:
        self._viewer = weakref.ref(viewer)
        self.layers, self.dims = viewer.layers, viewer.dims
        self.recipe = Outlines()
        self.recipe_loaded = False  #: whether the recipe is from a settings file, even one that sets no field
        self.proposed: dict[Outlines | None, int] = {}  #: number, from 1, of each recipe chosen among the proposals
        default = Settings()
        self.settings = replace(default, **{name: preferred(name, getattr(default, name)) for name in PREFERRED})
        try:
            choose_pythons(preferred("segmenters", ""))
        except ValueError as error:
            warnings.warn(f"napari's preferences: {error}", stacklevel=2)
        self.design = DesignTable(viewer)
        self.exclusions = Exclusions(self.dims)

    @property
    def viewer(self) -> ViewerModel:
        """The viewer, held by a weak reference, as it owns the session."""
        viewer = self._viewer()
        assert viewer is not None
        return viewer

    def permutes_images(self) -> bool:
        """Return whether a comparison of A and B permutes whole images, not single outlines."""
        permute, several = self.settings.permute, max(map(len, self.design.sides())) > 1
        return permute == "images" or (permute == "auto" and several)

    def set(self, recipe: Outlines | None = None, settings: Settings | None = None) -> None:
        """Set the recipe, the settings or both, and emit `changed` once."""
        chosen = recipe or self.recipe, settings or self.settings
        if chosen != (self.recipe, self.settings):
            self.recipe, self.settings = chosen
            self.changed.emit()
