"""Curves that a person leaves out: remembered for each layer, as ids, as long as it is segmented in the same way."""

import itertools
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

import numpy as np
from napari.layers import Layer
from qtpy.QtCore import QObject

from .inputs import SegmentationSettings
from .sides import Excluded, Ids, LayersOfSides, own_ids

if TYPE_CHECKING:
    from .compare_dock import CompareShapes


class Exclusions:
    """Ids left out of layers. Nothing is deleted: a curve left out can be taken in again."""

    def __init__(self) -> None:
        self._ids: weakref.WeakKeyDictionary[Layer, Ids] = weakref.WeakKeyDictionary()
        self._segmentation: SegmentationSettings | None = None

    def toggle(self, layer: Layer, one: str, segmentation: SegmentationSettings) -> None:
        """Leave a curve out, or take it in again."""
        if segmentation != self._segmentation:
            self.clear()
        self._segmentation = segmentation
        self._ids[layer] = self._ids.get(layer, frozenset()) ^ {one}

    def put(self, sides: LayersOfSides, excluded: Excluded, segmentation: SegmentationSettings) -> None:
        """Leave out these curves, and no others."""
        self.clear()
        self._segmentation = segmentation
        self._ids.update(zip(itertools.chain.from_iterable(sides), excluded, strict=True))

    def of(self, layers: Iterable[Layer | None], segmentation: SegmentationSettings) -> Excluded:
        """What is left out of each layer; nothing once other settings trace other outlines."""
        known = self._ids if segmentation == self._segmentation else {}
        return tuple(frozenset() if layer is None else known.get(layer, frozenset()) for layer in layers)

    def clear(self) -> None:
        """Take all in again."""
        self._ids.clear()


class ExclusionActions(QObject):
    """Leaves curves of a dock's result out of its next run, and tells all its views."""

    def __init__(self, dock: "CompareShapes") -> None:
        super().__init__(dock)
        dock.views.excluded.connect(self.exclude)
        dock.excluded.button.clicked.connect(self.include_all)

    @property
    def _dock(self) -> "CompareShapes":
        """The parent: an attribute would keep both alive in a ring."""
        return cast("CompareShapes", self.parent())

    def exclude(self, row: int) -> None:
        """Leave a curve of the result out of the next run, or take it in again."""
        dock = self._dock
        if dock.result is None:
            dock.results.note("⚠ There is no result any more. Run compares the layers anew.")
            return
        side = int(row >= len(dock.result.a))
        sample, first = ((dock.result.a, 0), (dock.result.b, len(dock.result.a)))[side]
        place, one = own_ids(sample)[row - first]
        layer = None if dock.basis is None else dock.basis.layers[side][place]()
        if dock.basis is None or layer is None:
            dock.results.note("⚠ Curves can be left out only of layers that are in the viewer. Run compares them anew.")
            return
        dock.exclusions.toggle(layer, one, dock.basis.segmentation)
        self.show()
        dock.show_staleness()

    def include_all(self) -> None:
        """Take in again all curves that were left out by hand."""
        self._dock.exclusions.clear()
        self.show()
        self._dock.show_staleness()

    def show(self) -> None:
        """Tell all views which curves of the result are left out."""
        dock = self._dock
        flags: list[bool] = []
        if dock.result is None or dock.basis is None:
            dock.views.show_excluded(frozenset())
            return
        for sample, refs in zip((dock.result.a, dock.result.b), dock.basis.layers, strict=True):
            out = dock.exclusions.of([ref() for ref in refs], dock.basis.segmentation)
            flags += [one in out[place] for place, one in own_ids(sample)]
        if dock.views.show_excluded(frozenset(np.flatnonzero(flags).tolist())):
            dock.color_by.recolor()
