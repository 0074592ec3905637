"""The state of the plugin in a viewer: choices and results. Docks are its views, and it outlives them."""

import atexit
import gc
import weakref
from collections import Counter
from functools import partial
from typing import Any

from napari.components import ViewerModel
from napari.layers import Layer

from .choices import Choices
from .comparing import ComparisonTask
from .curves.image_cells import ImageCells
from .design_files import DesignWork
from .designing import DesignTable
from .experimenting import ExperimentTask
from .explaining import ExplanationTask
from .inputs import OWN, is_own
from .inspecting import InspectionTask
from .learning import LearningTask, ProposingTask
from .position_check import PositionCheck
from .segmenting import SegmentationTask
from .sliders import SliderRanges
from .studying import ChoiceTask, LandscapeTask, SmoothingTask
from .task import Debouncer, Task

_EXEMPT_DEBOUNCE_MS = 1000  # debounce of layer list changes, in ms
# Fewer exempt objects are immortal ones, which Python 3.12 exempts whenever it collects garbage; hundreds of thousands
# exist in napari.
_MIN_FROZEN = 10_000

# Sessions by viewer, as napari offers no place for a plugin's state; each is freed with its viewer.
_sessions: "weakref.WeakKeyDictionary[ViewerModel, Session]" = weakref.WeakKeyDictionary()


class Session:
    """The state of the plugin in a viewer: the choices, and a task for each kind of work.

    While a page is open, existing objects except our own layers are exempt from garbage collection (`gc.freeze`):
    napari collects whenever layers were added or removed, as does Python from time to time, and traversing the hundreds
    of thousands of objects of napari and the libraries would block the event loop for 0.2 s each time. The exemption
    ends before a layer that is not ours is removed, so that it can be freed, and is renewed soon after.
    """

    def __init__(self, viewer: ViewerModel) -> None:
        self.choices = Choices(viewer)
        self._slider_ranges = SliderRanges(self.choices)
        self.comparison = ComparisonTask(self.choices)
        self.explanation = ExplanationTask(self.choices, self.comparison)
        self.segmentation = SegmentationTask(self.choices)
        self.learning = LearningTask(self.choices, self.segmentation)
        self.proposing = ProposingTask(self.choices, self.segmentation)
        self.inspection = InspectionTask(self.choices)
        self.landscape = LandscapeTask(self.choices)
        self.smoothing = SmoothingTask(self.choices)
        self.trust = ChoiceTask(self.choices)
        self.position = PositionCheck(self.comparison)
        self.design = DesignTable(self.choices.sides)
        self.design_work = DesignWork(self.choices, self.design)
        self.experiment = ExperimentTask(self.choices, self.design)
        self.image_cells = ImageCells(
            self.comparison, self.segmentation, self.learning, self.inspection, self.experiment, self.design
        )
        self.comparison.side_by_side.follow(self.image_cells.cells)
        self.segmentation.extra_layers = self.design.open_layers
        self.proposing.has_answer = partial(_has_result, self.comparison, self.experiment)
        self.design.changed.connect(self.comparison.side_by_side.schedule_arrange)
        self.design.changed.connect(self.segmentation.update_previews)
        for layers_changed in (self.segmentation.layers_changed, self.experiment.layers_changed):
            layers_changed.connect(self.comparison.side_by_side.arrange_now)
        # The layers below the curves are known then.
        self.inspection.finished.connect(self.comparison.side_by_side.schedule_arrange)
        self.comparison.extra_state, self.comparison.restore_extra_state = (
            self.experiment.to_tree,
            self.experiment.restore_tree,
        )
        self._open_pages: list[object] = []  # an entry for each open page, see `attach`
        self._pages = Counter[Task[Any]]()
        self._layers, self._is_frozen = viewer.layers, False
        self._freeze_debouncer = Debouncer(self._freeze_existing, _EXEMPT_DEBOUNCE_MS)
        self.choices.sides.layer_removing.connect(self._on_layer_removing)
        # napari creates many objects per cell, and collects garbage soon after creating many cells.
        self.comparison.side_by_side.arranged.connect(self._freeze_debouncer.start)
        self.choices.batch_changed.connect(self._freeze_more)

    @classmethod
    def of(cls, viewer: ViewerModel) -> "Session":
        """Return the session of a viewer, created if missing."""
        viewer = getattr(viewer, "__wrapped__", viewer)  # plugins receive a proxy
        if viewer not in _sessions:
            _sessions[viewer] = cls(viewer)
        return _sessions[viewer]

    def attach(self, *tasks: Task[Any], by: object = None) -> None:
        """Register an open page for these tasks; the first one connects the session to the viewer.

        The object `by` which it is registered is kept alive until it is unregistered.
        """
        self._open_pages.append(by)
        if len(self._open_pages) == 1:
            self._freeze_existing()
            self._slider_ranges.connect_events()
        self._pages.update(tasks)
        self.choices.sides.connect_events()
        for task in tasks:
            task.activate()

    def detach(self, *tasks: Task[Any], by: object = None) -> None:
        """Unregister a closed page: tasks without a page stop; the last one disconnects the session from the viewer."""
        self._open_pages.remove(by)
        self._pages.subtract(tasks)
        for task in tasks:
            if not self._pages[task]:
                task.deactivate()
        if not self._open_pages:
            self.deactivate()

    def deactivate(self) -> None:
        """Cancel all work, and disconnect from all events."""
        for task in self._pages:
            task.deactivate()
        self.choices.sides.disconnect_events()
        self._slider_ranges.disconnect_events()
        self.learning.deactivate()
        self.position.cancel()
        self.design_work.cancel()
        self.proposing.deactivate()
        self.comparison.deactivate()  # may have been run from *Shape space* after its own dock was closed
        self.segmentation.finish_removal()
        self._freeze_debouncer.stop()
        self._unfreeze()

    def _freeze_existing(self) -> None:
        """Exempt all existing objects from garbage collection.

        Not if others, such as the session of another viewer, have done so: `gc.unfreeze` would end their exemption too.
        """
        if self._is_frozen:
            self._freeze_more()
        elif self._open_pages and gc.get_freeze_count() < _MIN_FROZEN:
            gc.freeze()
            self._is_frozen = True

    def _freeze_more(self) -> None:
        """Exempt objects created since, unless our own layers, which must be freed later, are or may be among them."""
        making = any(task.busy for task in self._pages)  # may create layers in worker threads
        if self._is_frozen and not (making or OWN or any(map(is_own, self._layers))):
            gc.freeze()

    def _unfreeze(self) -> None:
        if self._is_frozen:
            gc.unfreeze()
        self._is_frozen = False

    def _on_layer_removing(self, layer: Layer) -> None:
        if not is_own(layer):
            self._unfreeze()
            self._freeze_debouncer.start()


@atexit.register
def _deactivate_all() -> None:
    """Restore the canvases while they exist: after an exception, Qt destroys the windows without closing them."""
    for session in list(_sessions.values()):
        session.deactivate()


def _has_result(*tasks: Task[Any]) -> bool:
    return any(task.busy or task.result is not None for task in tasks)
