"""The state of the plugin in a viewer: choices and results. Docks are its views, and it outlives them."""

import gc
import weakref
from collections import Counter
from functools import partial
from typing import Any

from napari.components import ViewerModel
from napari.layers import Layer

from ..comparison.design import GROUP
from .choices import Choices
from .comparing import ComparisonTask
from .design_files import DesignWork
from .designing import DesignTable
from .experimenting import ExperimentTask
from .explaining import ExplanationTask
from .inputs import OWN, is_own
from .inspecting import InspectionTask
from .learning import LearningTask, ProposingTask
from .position import PositionLight
from .segmenting import SegmentationTask
from .studying import ChoiceTask, LandscapeTask, SmoothingTask
from .task import Soon, Task

_QUIET = 1000  # debounce of layer list changes, in ms

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
        self.comparison = ComparisonTask(self.choices)
        self.explanation = ExplanationTask(self.choices, self.comparison)
        self.segmentation = SegmentationTask(self.choices)
        self.learning = LearningTask(self.choices, self.segmentation)
        self.proposing = ProposingTask(self.choices, self.segmentation)
        self.inspection = InspectionTask(self.choices)
        self.landscape = LandscapeTask(self.choices)
        self.smoothing = SmoothingTask(self.choices)
        self.trust = ChoiceTask(self.choices)
        self.position = PositionLight(self.comparison)
        self.design = DesignTable(self.choices.sides)
        self.design_work = DesignWork(self.choices, self.design)
        self.experiment = ExperimentTask(self.choices, self.design)
        self.comparison.over = partial(_over, self.segmentation, self.experiment, self.inspection, self.learning)
        self.comparison.group = partial(self.design.cell, column=GROUP)
        self.segmentation.beside = self.design.open_layers
        self.proposing.answered = partial(_answered, self.comparison, self.experiment)
        self.design.changed.connect(self.comparison.side_by_side.renew)
        self.design.changed.connect(self.segmentation.see_images)
        for laid in (self.segmentation.laid, self.experiment.laid):
            laid.connect(self.comparison.side_by_side.renew_now)
        self.inspection.finished.connect(self.comparison.side_by_side.renew)  # the layers below curves are known
        self.comparison.beside, self.comparison.put_beside = self.experiment.to_tree, self.experiment.take_tree
        self.comparison.opened = self.experiment.opened
        self._open: list[object] = []  # an entry for each open page, see `attach`
        self._pages = Counter[Task[Any]]()
        self._layers, self._exempting, self._exempts = viewer.layers, Soon(self._exempt, _QUIET), False
        self.choices.sides.leaving.connect(self._leaving)
        # napari creates many objects per cell, and collects garbage soon after creating many cells.
        self.comparison.side_by_side.arranged.connect(self._exempting.start)
        self.choices.rearranges.connect(self._exempt_more)

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
        self._open.append(by)
        if len(self._open) == 1:
            self._exempt()
        self._pages.update(tasks)
        self.choices.sides.follow()
        for task in tasks:
            task.follow()

    def detach(self, *tasks: Task[Any], by: object = None) -> None:
        """Unregister a closed page: tasks without a page stop; the last one disconnects the session from the viewer."""
        self._open.remove(by)
        self._pages.subtract(tasks)
        for task in tasks:
            if not self._pages[task]:
                task.rest()
        if not self._open:
            self.rest()

    def rest(self) -> None:
        """Cancel all work, and disconnect from all events."""
        for task in self._pages:
            task.rest()
        self.choices.sides.rest()
        self.learning.rest()
        self.position.cancel()
        self.design_work.cancel()
        self.proposing.rest()
        self.comparison.rest()  # may have been run from *Shape space* after its own dock was closed
        self.segmentation.settle()
        self._exempting.stop()
        self._exempt_nothing()

    def _exempt(self) -> None:
        """Exempt all existing objects from garbage collection.

        Not if others, such as the session of another viewer, have done so: `gc.unfreeze` would end their exemption too.
        """
        if self._exempts:
            self._exempt_more()
        elif self._open and not gc.get_freeze_count():
            gc.freeze()
            self._exempts = True

    def _exempt_more(self) -> None:
        """Exempt objects created since, unless our own layers, which must be freed later, are or may be among them."""
        making = any(task.busy for task in self._pages)  # may create layers in worker threads
        if self._exempts and not (making or OWN or any(map(is_own, self._layers))):
            gc.freeze()

    def _exempt_nothing(self) -> None:
        if self._exempts:
            gc.unfreeze()
        self._exempts = False

    def _leaving(self, layer: Layer) -> None:
        if not is_own(layer):
            self._exempt_nothing()
            self._exempting.start()


def _answered(*tasks: Task[Any]) -> bool:
    return any(task.busy or task.result is not None for task in tasks)


def _over(
    segmentation: SegmentationTask,
    experiment: ExperimentTask,
    inspection: InspectionTask,
    learning: LearningTask,
    layer: Layer,
) -> list[Layer]:
    """Return all layers over an image."""
    examples = [painted for image, painted in learning.examples() if image is layer]
    return [*segmentation.over(layer), *experiment.over(layer), *inspection.over(layer), *examples]
