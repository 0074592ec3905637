"""Results that come out of files: found among the viewer's layers, and shown as if they had been found here."""

import itertools
import weakref
from functools import partial
from typing import TYPE_CHECKING, cast

from napari.components import ViewerModel
from napari.layers import Shapes
from qtpy.compat import isalive
from qtpy.QtCore import QObject

from ..comparison import Comparison
from ..comparison.display import MARK
from .file_actions import left_out
from .layers import complete, is_whole, opened_pairs
from .paints import PAINTS
from .tasks import Opened, restoring
from .views import Shown
from .widgets import once

if TYPE_CHECKING:
    from .compare_dock import CompareShapes
    from .worker import Turn


# Those of all docks: of several docks in a window one takes up a result.
_all: "weakref.WeakSet[OpenedResults]" = weakref.WeakSet()
_uses = itertools.count(1)


class OpenedResults(QObject):
    """Takes up results for a dock: each once, whoever opened it, and by the dock in sight that was used last."""

    def __init__(self, dock: "CompareShapes", viewer: ViewerModel) -> None:
        super().__init__(dock)
        self._viewer = viewer
        self._seen: weakref.WeakSet[Comparison] = weakref.WeakSet()
        self._looking = once(dock, self.look)
        self._used = 0
        _all.add(self)
        dock.kept.back.clicked.connect(self.bring_back)

    @property
    def _dock(self) -> "CompareShapes":
        """The parent: an attribute would keep both alive in a ring."""
        return cast("CompareShapes", self.parent())

    def look_later(self) -> None:
        """Layers have come or gone: look once both of a comparison can be there."""
        self._looking.start()

    def note_use(self) -> None:
        """The dock is being used: what is opened from now on is for it."""
        self._used = next(_uses)

    def look(self) -> None:
        """Take up the layers of a comparison that was opened in the viewer."""
        new = [(result, pair) for result, pair in opened_pairs(self._viewer.layers).items() if result not in self._seen]
        for layer in itertools.chain.from_iterable(pair for _, pair in new):
            layer.editable = False  # or a curve could be deleted before the dock has its numbers
        meant = bool(new) and self._is_for_this_dock(*new[-1])
        if self._dock.runner.busy:  # it looks again when it rests
            if meant:
                self._dock.results.note("The comparison that was opened is shown after this run.")
            return
        self._seen.update(result for result, _ in new)
        if meant:
            self._restore(*new[-1])

    def _is_for_this_dock(self, result: Comparison, layers: list[Shapes]) -> bool:
        docks = [one for one in _all if isalive(one) and one._listens_to(layers[0])]
        taken = any(one._dock.result is result for one in docks if one is not self)
        return not taken and max(docks, key=OpenedResults._nearness, default=self) is self

    def _listens_to(self, layer: Shapes) -> bool:
        return self._dock.sides.following and layer in self._viewer.layers

    def _nearness(self) -> tuple[bool, int]:
        """How likely a person means this dock: it can be seen, and has been used last."""
        return not self._dock.visibleRegion().isEmpty(), self._used

    def _restore(self, result: Comparison, layers: list[Shapes]) -> None:
        view, path = layers[0].metadata[MARK].get("view", {}), str(layers[0].source.path or "")
        try:
            shown = Shown.of_file(result, view, path)
        except ValueError as error:
            self._dock.results.note(f"⚠ {error}")
        else:
            self._dock.start_task(partial(restoring, shown, layers), self.take_up)

    def take_up(self, opened: Opened) -> "list[Turn]":
        """Show a result with its settings and its painting, in turns; its layers are in the viewer."""
        dock = self._dock
        self._seen.add(opened.shown.result)
        if not is_whole(opened.shown.result, opened.layers):
            dock.results.note("⚠ Its layers were changed meanwhile: open the comparison again.")
            return []
        dock.keep_unsaved()
        shown = opened.shown.tied(self._viewer)
        ready = partial(self._make_ready, shown, opened.layers)
        return [ready, *dock.showing(shown, unsaved=False), partial(self._set_controls, shown)]

    def _make_ready(self, shown: Shown, layers: list[Shapes]) -> None:
        complete(layers, shown.result)
        painted = shown.view.get("painted")
        self._dock.painting.choose(painted if painted in PAINTS else "product")

    def _set_controls(self, shown: Shown) -> None:
        """Set the controls as they were for the result, and say which of its settings they cannot have."""
        dock = self._dock
        left = dock.settings.show_settings(shown.result.settings, shown.segmentation)
        sides = None if shown.basis is None else shown.basis.alive()
        if shown.basis is not None and sides is not None:
            dock.sides.choose(*sides)
            dock.exclusions.put(sides, shown.excluded, shown.basis.segmentation)
        dock.results.note(left_out(left))

    def bring_back(self) -> None:
        """Show the unsaved result again that another one has replaced."""
        if self._dock.kept.kept is not None:
            self._dock.start_task(partial(restoring, self._dock.kept.kept), self._brought_back)

    def _brought_back(self, opened: Opened) -> "list[Turn]":
        """Show what was kept; what is shown now, if it is unsaved too, is kept in its place."""
        kept = self._dock.kept
        before, parts = kept.kept, self.take_up(opened)
        if kept.kept is before:
            kept.keep(None)
        return [*parts, self._mark_unsaved]

    def _mark_unsaved(self) -> None:
        self._dock.unsaved = True
