"""Whether a result still holds: what it rests on, what has changed since, and when to look."""

import itertools
import weakref
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from napari.components import ViewerModel
from napari.layers import Layer
from qtpy.QtCore import QObject, QTimer, Signal

from ..comparison import Settings
from .inputs import SegmentationSettings, fingerprint
from .sides import Excluded, LayersOfSides, Refs, alive, refs_of

# What a layer tells when something changes that outlines rest on; which of it matters is seen by looking.
_TOLD = ("data", "set_data", "scale", "units", "features", "paint", "labels_update")
_PAUSE = 150  # ms, to look once after a row of events


@dataclass(frozen=True)
class Basis:
    """What a result rests on.

    Attributes
    ----------
    layers : pair of tuples of weak references
        A's and B's.
    prints : pair of tuples
        Fingerprints of these layers.
    segmentation, analysis
        The settings.
    excluded : tuple of frozensets
        Ids left out by hand of each layer, A's before B's.
    more : mapping of str to Hashable
        Further choices, by the words for them.
    """

    layers: tuple[Refs, Refs]
    prints: tuple[tuple[Hashable, ...], tuple[Hashable, ...]]
    segmentation: SegmentationSettings
    analysis: Settings
    excluded: Excluded
    more: Mapping[str, Hashable] = field(default_factory=dict)

    def printed(self) -> Iterator[tuple["weakref.ref[Layer]", Hashable]]:
        """Every layer with its fingerprint."""
        for layers, prints in zip(self.layers, self.prints, strict=True):
            yield from zip(layers, prints, strict=True)

    def alive(self) -> LayersOfSides | None:
        """The layers, as long as all are there."""
        return alive(self.layers)


def basis(
    viewer: ViewerModel,
    sides: LayersOfSides,
    segmentation: SegmentationSettings,
    analysis: Settings,
    excluded: Excluded | None = None,
    more: Mapping[str, Hashable] | None = None,
) -> Basis:
    """What a run started now would rest on."""
    a, b = (tuple(fingerprint(layer, viewer.dims) for layer in side) for side in sides)
    none_out = tuple(frozenset[Any]() for _ in itertools.chain(*sides))
    return Basis(refs_of(sides), (a, b), segmentation, analysis, excluded or none_out, more or {})


def changes(then: Basis, now: Basis | None) -> list[str]:
    """What has changed since, in words; nothing for a result that still holds.

    `now` is None where there is nothing to compare any more.
    """
    if now is None or list(map(set, then.layers)) != list(map(set, now.layers)):
        return ["other layers are chosen"]
    before = dict(then.printed())
    edited = [f"{layer.name} was changed" for ref, after in now.printed() if before[ref] != after and (layer := ref())]
    left_out = [dict(zip(itertools.chain(*one.layers), one.excluded, strict=True)) for one in (then, now)]
    settings = [*_different(then.segmentation, now.segmentation), *_different(then.analysis, now.analysis)]
    excluded = ["the choice of excluded curves was changed"] if left_out[0] != left_out[1] else []
    more = [f"{words} was changed" for words, value in then.more.items() if value != now.more.get(words)]
    return [*edited, *settings, *excluded, *more]


def _different(before: Any, after: Any) -> Iterator[str]:
    """Settings that differ, in words."""
    new = asdict(after)
    for name, value in asdict(before).items():
        if new[name] != value:
            yield f"{name.replace('_', ' ')} was {_word(value)} and is {_word(new[name])}"


def _word(value: object) -> str:
    return {"True": "on", "False": "off"}.get(str(value), str(value))


class Watch(QObject):
    """Listens to some layers and to the viewer's sliders.

    Signals
    -------
    told
        Something may have changed; sent once after a row of events.
    """

    told = Signal()

    def __init__(self, viewer: ViewerModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._dims = viewer.dims
        self._layers: list[Layer] = []
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_PAUSE)
        self._timer.timeout.connect(self.told)

    def follow(self, layers: Iterable[Layer]) -> None:
        """Listen to these layers, and no longer to others."""
        self.rest()
        self._layers = list(dict.fromkeys(layers))
        for event in self._events():
            event.connect(self._tell)

    def rest(self) -> None:
        """Listen to nothing."""
        for event in self._events():
            event.disconnect(self._tell)
        self._layers = []
        self._timer.stop()

    def _events(self) -> Iterator[Any]:
        if self._layers:
            yield from (self._dims.events.point, self._dims.events.order)
        for layer in self._layers:
            yield from (getattr(layer.events, name) for name in _TOLD if hasattr(layer.events, name))

    def _tell(self, event: object = None) -> None:
        self._timer.start()
