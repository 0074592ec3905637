"""Whether a result still holds: what it rests on, what has changed since, and when to look."""

import itertools
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, TypeAlias

from napari.components import ViewerModel
from napari.layers import Layer
from psygnal import Signal

from ..comparison import Settings
from ..outlines import Outlines
from .inputs import Source, fingerprint, source_of
from .sides import Excluded, LayersOfSides, Refs, Sources, alive
from .soon import Soon

#: Fingerprints of the layers of A and of those of B.
Prints: TypeAlias = tuple[tuple[Hashable, ...], tuple[Hashable, ...]]

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
    recipe, settings
    excluded : tuple of frozensets
        Ids left out by hand of each layer, A's before B's.
    more : mapping of str to Hashable
        Further choices, by the words for them.
    """

    layers: tuple[Refs, Refs]
    prints: Prints
    recipe: Outlines
    settings: Settings
    excluded: Excluded
    more: Mapping[str, Hashable] = field(default_factory=dict)

    def printed(self) -> Iterator[tuple["weakref.ref[Layer]", Hashable]]:
        """Every layer with its fingerprint."""
        for layers, prints in zip(self.layers, self.prints, strict=True):
            yield from zip(layers, prints, strict=True)

    def alive(self) -> LayersOfSides | None:
        """The layers, as long as all are there."""
        return alive(self.layers)

    def there(self) -> list[Layer]:
        """Those of the layers that are there."""
        return [layer for ref in itertools.chain(*self.layers) if (layer := ref()) is not None]


def changes(then: Basis, now: Basis | None) -> list[str]:
    """What has changed since, in words; nothing for a result that still holds.

    `now` is None where there is nothing to compare any more.
    """
    if now is None or list(map(set, then.layers)) != list(map(set, now.layers)):
        return ["other layers are chosen"]
    before = dict(then.printed())
    edited = [f"{layer.name} was changed" for ref, after in now.printed() if before[ref] != after and (layer := ref())]
    left_out = [dict(zip(itertools.chain(*one.layers), one.excluded, strict=True)) for one in (then, now)]
    settings = [*_different(then.recipe, now.recipe), *_different(then.settings, now.settings)]
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


class Copies:
    """Copies of the layers a run is made from, complete once every one of `turns` has been taken.

    Of large images each takes a while.
    """

    def __init__(self, viewer: ViewerModel, chosen: LayersOfSides) -> None:
        self._dims, self.chosen = viewer.dims, chosen
        self._copied: list[tuple[Source, Hashable]] = []

    def turns(self) -> list[Callable[[], None]]:
        """Copy each layer; a ValueError says what is wrong with it."""
        return [partial(self._copy, layer) for layer in itertools.chain(*self.chosen)]

    def _copy(self, layer: Layer) -> None:
        self._copied.append((source_of(layer, self._dims), fingerprint(layer, self._dims)))

    def by_side(self) -> tuple[Sources, Prints]:
        """The copies of A's layers and those of B's, and their fingerprints likewise."""
        first = len(self.chosen[0])
        sources, prints = zip(*self._copied, strict=True)
        return (sources[:first], sources[first:]), (prints[:first], prints[first:])


class Watch:
    """Listens to some layers and to the viewer's sliders.

    Signals
    -------
    told
        Something may have changed; sent once after a row of events.
    """

    told = Signal()

    def __init__(self, viewer: ViewerModel) -> None:
        self._dims = viewer.dims
        self._layers: list[weakref.ref[Layer]] = []
        self._soon = Soon(self._say, _PAUSE)

    def follow(self, layers: Iterable[Layer]) -> None:
        """Listen to these layers, and no longer to others."""
        self.rest()
        self._layers = [weakref.ref(layer) for layer in dict.fromkeys(layers)]
        for event in self._events():
            event.connect(self._tell)

    def rest(self) -> None:
        """Listen to nothing."""
        for event in self._events():
            event.disconnect(self._tell)
        self._layers = []
        self._soon.stop()

    def _events(self) -> Iterator[Any]:
        if self._layers:
            yield from (self._dims.events.point, self._dims.events.order)
        for layer in (there for ref in self._layers if (there := ref()) is not None):
            yield from (getattr(layer.events, name) for name in _TOLD if hasattr(layer.events, name))

    def _tell(self, event: object = None) -> None:
        self._soon.start()

    def _say(self) -> None:
        self.told.emit()
