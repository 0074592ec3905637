"""Curves that a person leaves out: remembered for each sample, as ids, as long as it is segmented in the same way."""

from typing import Any

from .inputs import SegmentationSettings
from .sides import Ids, Refs


class Exclusions:
    """Ids left out of samples. Nothing is deleted: a curve left out can be taken in again."""

    def __init__(self) -> None:
        self._ids: dict[Refs, Ids] = {}
        self._segmentation: SegmentationSettings | None = None

    def toggle(self, side: Refs, one: Any, segmentation: SegmentationSettings) -> None:
        """Leave a curve out, or take it in again."""
        if segmentation != self._segmentation:
            self.clear()
        self._segmentation = segmentation
        self._ids[side] = self._ids.get(side, frozenset()) ^ {one}

    def put(self, sides: tuple[Refs, Refs], ids: tuple[Ids, Ids], segmentation: SegmentationSettings) -> None:
        """Leave out these curves of two samples, and no others."""
        self.clear()
        self._segmentation = segmentation
        self._ids = dict(zip(sides, ids, strict=True))

    def of(self, sides: tuple[Refs, Refs], segmentation: SegmentationSettings) -> tuple[Ids, Ids]:
        """What is left out of two samples; nothing once other settings trace other outlines."""
        if segmentation != self._segmentation:
            return frozenset(), frozenset()
        a, b = sides
        return self._ids.get(a, frozenset()), self._ids.get(b, frozenset())

    def clear(self) -> None:
        """Take all in again."""
        self._ids.clear()
