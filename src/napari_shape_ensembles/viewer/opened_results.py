"""Results that come out of files: found among the viewer's layers, and shown as if they had been found here."""

import weakref
from typing import TYPE_CHECKING, cast

from napari.components import ViewerModel
from napari.layers import Shapes
from qtpy.QtCore import QObject

from ..comparison import Comparison
from ..painted import MARK
from .file_actions import left_out
from .layers import complete, opened_pairs
from .paints import PAINTS
from .tasks import Opened, restoring
from .views import Shown
from .widgets import once

if TYPE_CHECKING:
    from .compare_dock import CompareShapes


class OpenedResults(QObject):
    """Takes up results for a dock. Each comparison is taken up once, whoever opened it."""

    def __init__(self, dock: "CompareShapes", viewer: ViewerModel) -> None:
        super().__init__(dock)
        self._viewer = viewer
        self._seen: weakref.WeakSet[Comparison] = weakref.WeakSet()
        self._looking = once(dock, self.look)

    @property
    def _dock(self) -> "CompareShapes":
        """The parent: an attribute would keep both alive in a ring."""
        return cast("CompareShapes", self.parent())

    def look_later(self) -> None:
        """Layers have come or gone: look once both of a comparison can be there."""
        self._looking.start()

    def look(self) -> None:
        """Take up the layers of a comparison that was opened in the viewer."""
        new = [(result, pair) for result, pair in opened_pairs(self._viewer.layers).items() if result not in self._seen]
        self._seen.update(result for result, _ in new)
        if new and self._dock.runner.busy:
            self._dock.results.note("The comparison that was opened is not shown here: open it again after this run.")
        elif new:
            self._restore(*new[-1])

    def _restore(self, result: Comparison, layers: list[Shapes]) -> None:
        view, path = layers[0].metadata[MARK].get("view", {}), str(layers[0].source.path or "")
        try:
            shown = Shown.of_file(result, view, path)
        except ValueError as error:
            self._dock.results.note(f"⚠ {error}")
        else:
            self._dock.start_task(restoring(shown, layers), self.take_up)

    def take_up(self, opened: Opened) -> None:
        """Show a result with its settings and its painting; its layers are in the viewer."""
        dock, result = self._dock, opened.shown.result
        shown = opened.shown.tied(self._viewer)
        self._seen.add(result)
        complete(opened.layers, result)
        left = dock.settings.show_settings(result.settings, shown.segmentation)
        if shown.basis is not None:
            a, b = (ref() for ref in shown.basis.layers)
            dock.layer_pair.choose(a, b)
            if a is not None and b is not None:
                dock.exclusions.put(a, b, shown.excluded, shown.basis.segmentation)
        painted = shown.view.get("painted")
        dock.painting.choose(painted if painted in PAINTS else "product")
        dock.show_result(shown)
        dock.results.note(left_out(left))
