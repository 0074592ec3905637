"""The state of the plugin in a viewer: choices and results. Docks are its views, and it outlives them."""

import atexit
import weakref
from collections import Counter
from pathlib import Path
from typing import Any

from napari.components import ViewerModel
from psygnal import Signal

from ..archive import is_archive
from ..comparison.saved import COMPARISON, EXPERIMENT, REFERENCE
from ..compiled import begin_compiling
from ..io import load_settings
from ..outlines.learned import FORMAT as MODEL
from .checking import CheckingTask, PositionCheck
from .choices import Choices
from .comparing import ENDING, ComparisonTask
from .curves.image_cells import ImageCells
from .design_files import DesignWork, is_table_of_groups
from .experimenting import ENDING as ENDING_OF_EXPERIMENT
from .explaining import ExplanationTask
from .inputs import file_errors_named
from .inspecting import InspectionTask
from .learning import LearningTask, ProposingTask
from .referring import ReferenceTask
from .segmenting import SegmentationTask
from .sliders import SliderRanges
from .studying import ChoiceTask, LandscapeTask, SmoothingTask
from .task import Task

# Sessions by viewer, as napari offers no place for a plugin's state; each is freed with its viewer.
_sessions: "weakref.WeakKeyDictionary[ViewerModel, Session]" = weakref.WeakKeyDictionary()


class Session:
    """The state of the plugin in a viewer: the choices, and a task for each kind of work.

    It listens to the viewer and works only while a page is open.
    """

    page_requested = Signal(str)  #: str: title of a page or tab of the bench to show

    def __init__(self, viewer: ViewerModel) -> None:
        self.choices = Choices(viewer)
        self._slider_ranges = SliderRanges(self.choices)
        self.comparison = ComparisonTask(self.choices)
        self.explanation = ExplanationTask(self.choices, self.comparison)
        self.segmentation = SegmentationTask(self.choices)
        self.learning = LearningTask(self.choices, self.segmentation)
        self.proposing = ProposingTask(self.choices, self.segmentation, self.comparison)
        self.inspection = InspectionTask(self.choices)
        self.landscape = LandscapeTask(self.choices)
        self.smoothing = SmoothingTask(self.choices)
        self.trust = ChoiceTask(self.choices)
        self.checking = CheckingTask(self.comparison, self.trust)
        self.position = PositionCheck(self.comparison)
        self.referring = ReferenceTask(self.choices)
        self.design = self.choices.design
        self.design_work = DesignWork(self.choices, self.comparison.divisions)
        self.image_cells = ImageCells(self.comparison, self.segmentation, self.learning, self.inspection)
        for changed in (self.segmentation.layers_changed, self.choices.changed, self.comparison.changed):
            changed.connect(self._veil_curves, check_nargs=False)
        self._open_pages: list[object] = []  # an entry for each open page, see `attach`
        self._pages = Counter[Task[Any]]()
        self._left: set[Task[Any]] = set()  # tasks without a page that finish their run

    @classmethod
    def of(cls, viewer: ViewerModel) -> "Session":
        """Return the session of a viewer, created if missing."""
        viewer = getattr(viewer, "__wrapped__", viewer)  # plugins receive a proxy
        if viewer not in _sessions:
            _sessions[viewer] = cls(viewer)
        return _sessions[viewer]

    def _veil_curves(self) -> None:
        """Hide the curves of a result while the outlines of another recipe are previewed."""
        then = self.comparison.inputs_shown
        is_other = then is not None and then.recipe != self.choices.recipe
        self.comparison.curves.veil(is_other and self.segmentation.is_preview_drawn)

    def open_file(self, path: Path) -> str:
        """Open a file that the bench writes, recognized by its content; return a sentence if it is open already.

        Raise a ValueError if it is another file, or invalid settings.
        """
        if path.suffix.lower() == ".toml":
            with file_errors_named(path, "read"):
                file = load_settings(path)
                self.choices.set(file.outlines, file.analysis)
            self.choices.recipe_loaded = True
            return f"Settings of {path.name} loaded."
        if is_table_of_groups(path):
            self.design_work.open(path)
        elif is_archive(path, MODEL):
            self.learning.load(path)
        elif is_archive(path, REFERENCE):
            self.referring.open(path)
            self.page_requested.emit("Answer")
        elif path.name.endswith((ENDING, ENDING_OF_EXPERIMENT)) or any(
            is_archive(path, kind) for kind in (COMPARISON, EXPERIMENT)
        ):
            self.comparison.open(path)
            self.page_requested.emit("Answer")
        else:
            words = "is not a file of the bench: open images and outlines by napari's File menu, or drop them on it"
            raise ValueError(f"{path.name} {words}.")
        return ""

    def attach(self, *tasks: Task[Any], by: object = None) -> None:
        """Register an open page for these tasks; the first one connects the session to the viewer.

        The object `by` which it is registered is kept alive until it is unregistered.
        """
        self._open_pages.append(by)
        if len(self._open_pages) == 1:
            begin_compiling()  # once per installation, while the user looks at the images
            self._slider_ranges.connect_events()
        self._pages.update(tasks)
        self._left -= {*tasks}
        self.choices.design.connect_events()
        for task in tasks:
            task.activate()

    def detach(self, *tasks: Task[Any], by: object = None) -> None:
        """Unregister a closed page: the last one disconnects the session from the viewer, and cancels all work.

        Tasks without a page stop, once they have finished their run: another page of the bench is shown meanwhile.
        """
        self._open_pages.remove(by)
        self._pages.subtract(tasks)
        for task in tasks:
            if not self._pages[task]:
                self._left.add(task)
                task.changed.connect(self._deactivate_left, check_nargs=False, unique=True)
        self._deactivate_left()
        if not self._open_pages:
            self.deactivate()

    def _deactivate_left(self) -> None:
        for task in [one for one in self._left if not one.busy]:
            self._left.remove(task)
            task.deactivate()

    def deactivate(self) -> None:
        """Cancel all work, and disconnect from all events."""
        for task in self._pages:
            task.deactivate()
        self.choices.design.disconnect_events()
        self._slider_ranges.disconnect_events()
        self.learning.deactivate()
        self.position.cancel()
        self.checking.cancel()
        self.design_work.cancel()
        self.proposing.deactivate()
        self.comparison.deactivate()  # may have been run from *Shape space* after its own dock was closed
        self.segmentation.finish_removal()


@atexit.register
def _deactivate_all() -> None:
    """Restore the canvases while they exist: after an exception, Qt destroys the windows without closing them."""
    for session in list(_sessions.values()):
        session.deactivate()
