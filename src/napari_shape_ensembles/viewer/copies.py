"""What a run is made from, copied out of the layers one by one: of large images each takes a while."""

from collections.abc import Callable, Hashable
from functools import partial

from napari.components import ViewerModel
from napari.layers import Layer

from ..comparison import Settings
from .inputs import SegmentationSettings, Source, fingerprint, source_of
from .sides import Excluded, LayersOfSides, Sources, refs_of
from .staleness import Basis


class Copies:
    """Copies of the layers of both samples, complete once every one of `turns` has been taken."""

    def __init__(self, viewer: ViewerModel, chosen: LayersOfSides) -> None:
        self._viewer = viewer
        self._chosen = chosen
        self._sources: list[Source] = []
        self._prints: list[Hashable] = []

    def turns(self) -> list[Callable[[], None]]:
        """Copy each layer; a ValueError says what is wrong with it."""
        return [partial(self._copy, layer) for side in self._chosen for layer in side]

    def _copy(self, layer: Layer) -> None:
        self._sources.append(source_of(layer, self._viewer.dims))
        self._prints.append(fingerprint(layer, self._viewer.dims))

    def sources(self) -> Sources:
        """The copies of A's layers, and those of B's."""
        first = len(self._chosen[0])
        return tuple(self._sources[:first]), tuple(self._sources[first:])

    def basis(self, segmentation: SegmentationSettings, analysis: Settings, excluded: Excluded) -> Basis:
        """What a run of them rests on."""
        first = len(self._chosen[0])
        prints = tuple(self._prints[:first]), tuple(self._prints[first:])
        return Basis(refs_of(self._chosen), prints, segmentation, analysis, excluded)
