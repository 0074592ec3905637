"""Curves that a person leaves out: remembered for each sample, as ids, as long as it is segmented in the same way."""

import weakref
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from napari.layers import Layer
from qtpy.QtCore import QObject

from .inputs import SegmentationSettings
from .sides import Ids, Refs

if TYPE_CHECKING:
    from .compare_dock import CompareShapes


class Exclusions:
    """Ids left out of samples. Nothing is deleted: a curve left out can be taken in again."""

    def __init__(self) -> None:
        self._ids: dict[frozenset[weakref.ref[Layer]], Ids] = {}
        self._segmentation: SegmentationSettings | None = None

    def toggle(self, side: Refs, one: Any, segmentation: SegmentationSettings) -> None:
        """Leave a curve out, or take it in again."""
        if segmentation != self._segmentation:
            self.clear()
        self._segmentation = segmentation
        key = frozenset(side)
        self._ids[key] = self._ids.get(key, frozenset()) ^ {one}

    def put(self, sides: tuple[Refs, Refs], ids: tuple[Ids, Ids], segmentation: SegmentationSettings) -> None:
        """Leave out these curves of two samples, and no others."""
        self.clear()
        self._segmentation = segmentation
        self._ids = dict(zip(map(frozenset, sides), ids, strict=True))

    def of(self, sides: tuple[Refs, Refs], segmentation: SegmentationSettings) -> tuple[Ids, Ids]:
        """What is left out of two samples; nothing once other settings trace other outlines."""
        if segmentation != self._segmentation:
            return frozenset(), frozenset()
        a, b = (self._ids.get(frozenset(side), frozenset()) for side in sides)
        return a, b

    def clear(self) -> None:
        """Take all in again."""
        self._ids.clear()


class ExclusionActions(QObject):
    """Leaves curves of a dock's result out of its next run, and tells all its views."""

    def __init__(self, dock: "CompareShapes") -> None:
        super().__init__(dock)
        dock.views.excluded.connect(self.exclude)
        dock.excluded.include.clicked.connect(self.include_all)

    @property
    def _dock(self) -> "CompareShapes":
        """The parent: an attribute would keep both alive in a ring."""
        return cast("CompareShapes", self.parent())

    def exclude(self, row: int) -> None:
        """Leave a curve of the result out of the next run, or take it in again."""
        dock = self._dock
        if dock.result is None:
            return
        side = int(row >= len(dock.result.a))
        if dock.basis is None or None in [ref() for ref in dock.basis.layers[side]]:
            dock.results.note("⚠ Curves can be left out only of layers that are in the viewer. Run compares them anew.")
            return
        one = dock.result.distances["id"].tolist()[row]
        dock.exclusions.toggle(dock.basis.layers[side], one, dock.basis.segmentation)
        self._show()

    def include_all(self) -> None:
        """Take in again all curves that were left out by hand."""
        self._dock.exclusions.clear()
        self._show()

    def _show(self) -> None:
        dock = self._dock
        if dock.result is not None and dock.basis is not None:
            out = dock.exclusions.of(dock.basis.layers, dock.basis.segmentation)
            sides = zip((dock.result.a, dock.result.b), out, strict=True)
            flags = [one in ids for ensemble, ids in sides for one in ensemble.ids.tolist()]
            dock.views.show_excluded(frozenset(np.flatnonzero(flags).tolist()))
            dock.painting.repaint_layers()
        dock.show_staleness()
