"""What a person has chosen and found in one viewer. Docks show it and ask it for things; it outlives them all."""

import weakref

from napari.components import ViewerModel

from .choices import Choices
from .comparing import ComparisonTask
from .explaining import ExplanationTask
from .inspecting import InspectionTask
from .learning import LearningTask, ProposingTask
from .segmenting import SegmentationTask
from .studying import LandscapeTask, SmoothingTask

# napari has no place for what a plugin knows of a viewer; a session lives exactly as long as its viewer.
_sessions: "weakref.WeakKeyDictionary[ViewerModel, Session]" = weakref.WeakKeyDictionary()


class Session:
    """The state of the plugin in one viewer: what is chosen before a run, and one task for each kind of work."""

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
        self._docks = 0

    @classmethod
    def of(cls, viewer: ViewerModel) -> "Session":
        """The session of a viewer."""
        viewer = getattr(viewer, "__wrapped__", viewer)  # plugins are handed a proxy
        if viewer not in _sessions:
            _sessions[viewer] = cls(viewer)
        return _sessions[viewer]

    def attach(self) -> None:
        """Note that a dock is open; the first one makes the session follow the viewer."""
        self._docks += 1
        self.choices.sides.follow()

    def detach(self) -> None:
        """Note that a dock is closed; after the last one nothing listens to the viewer."""
        self._docks -= 1
        if not self._docks:
            self.choices.sides.rest()
            self.learning.rest()
            self.proposing.rest()
            self.comparison.rest()  # which *Shape space* may have run after its own dock was closed
