"""Keeps the garbage collector from blocking the event loop."""

import gc
from collections.abc import Collection
from typing import Any

from .choices import Choices
from .inputs import OWN, is_own
from .task import Debouncer, Task

_DEBOUNCE_MS = 1000  # debounce of layer list changes, in ms
# Fewer exempt objects are immortal ones, which Python 3.12 exempts whenever it collects garbage; hundreds of thousands
# exist in napari.
_MIN_FROZEN = 10_000


class CollectionExemption:
    """Exempts existing objects except our own layers from garbage collection (`gc.freeze`), from `begin` to `end`.

    napari collects whenever layers were added or removed, as does Python from time to time, and traversing the hundreds
    of thousands of objects of napari and the libraries would block the event loop for 0.2 s each time. The exemption
    is lifted before a layer that is not ours is removed, so that it can be freed, and is renewed soon after.
    """

    def __init__(self, choices: Choices, tasks: Collection[Task[Any]]) -> None:
        self._layers, self._tasks = choices.layers, tasks
        self._has_begun = self._is_frozen = False
        self._freeze_debouncer = Debouncer(self._freeze, _DEBOUNCE_MS)
        choices.sides.layer_removing.connect(self._on_layer_removing)
        choices.batch_changed.connect(self._freeze_more)

    def begin(self) -> None:
        self._has_begun = True
        self._freeze()

    def end(self) -> None:
        self._has_begun = False
        self._freeze_debouncer.stop()
        self._unfreeze()

    def schedule(self) -> None:
        """Exempt objects created since, soon."""
        self._freeze_debouncer.start()

    def _freeze(self) -> None:
        """Exempt all existing objects.

        Not if others, such as the session of another viewer, have done so: `gc.unfreeze` would end their exemption too.
        """
        if self._is_frozen:
            self._freeze_more()
        elif self._has_begun and gc.get_freeze_count() < _MIN_FROZEN:
            gc.freeze()
            self._is_frozen = True

    def _freeze_more(self) -> None:
        """Exempt objects created since, unless our own layers, which must be freed later, are or may be among them."""
        making = any(task.busy for task in self._tasks)  # may create layers in worker threads
        if self._is_frozen and not (making or OWN or any(map(is_own, self._layers))):
            gc.freeze()

    def _unfreeze(self) -> None:
        if self._is_frozen:
            gc.unfreeze()
        self._is_frozen = False

    def _on_layer_removing(self) -> None:
        self._unfreeze()
        self._freeze_debouncer.start()
