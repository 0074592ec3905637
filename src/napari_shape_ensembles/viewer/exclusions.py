"""Curves that a person leaves out: remembered for each layer, as ids, as long as it is segmented in the same way."""

import weakref
from typing import Any

from napari.layers import Layer

from .inputs import SegmentationSettings

Ids = frozenset[Any]


class Exclusions:
    """Ids left out of layers. Nothing is deleted: a curve left out can be taken in again."""

    def __init__(self) -> None:
        self._ids: weakref.WeakKeyDictionary[Layer, Ids] = weakref.WeakKeyDictionary()
        self._segmentation: SegmentationSettings | None = None

    def toggle(self, layer: Layer, one: Any, segmentation: SegmentationSettings) -> None:
        """Leave a curve out, or take it in again."""
        if segmentation != self._segmentation:
            self.clear()
        self._segmentation = segmentation
        self._ids[layer] = self._ids.get(layer, frozenset()) ^ {one}

    def put(self, a: Layer, b: Layer, ids: tuple[Ids, Ids], segmentation: SegmentationSettings) -> None:
        """Leave out these curves of two layers, and no others."""
        self.clear()
        self._segmentation = segmentation
        self._ids[a], self._ids[b] = ids

    def of(self, a: Layer, b: Layer, segmentation: SegmentationSettings) -> tuple[Ids, Ids]:
        """What is left out of two layers; nothing once other settings trace other outlines."""
        if segmentation != self._segmentation:
            return frozenset(), frozenset()
        return self._ids.get(a, frozenset()), self._ids.get(b, frozenset())

    def clear(self) -> None:
        """Take all in again."""
        self._ids.clear()
