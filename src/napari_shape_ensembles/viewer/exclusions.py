"""Curves that a person leaves out: remembered for each sample, as ids, as long as it is segmented in the same way."""

import weakref
from typing import Any

from napari.layers import Layer

from .inputs import SegmentationSettings
from .sides import Ids, Refs


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
