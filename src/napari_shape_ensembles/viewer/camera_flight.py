"""Camera movements to a curve, animated if desired."""

import time
import weakref

import numpy as np
from napari.components import ViewerModel

from .._types import Real
from .debouncing import Debouncer
from .world import rows_and_columns

_DURATION_S, _FRAME_MS = 0.3, 25  # duration of the animation, and minimum milliseconds per frame
_VIEW_EXTENT = 3.0  # extent of the view relative to the curve

# Viewer -> center and zoom of its camera as last set by `move_camera`.
_moved: "weakref.WeakKeyDictionary[ViewerModel, object]" = weakref.WeakKeyDictionary()


def move_camera(viewer: ViewerModel, center: Real, zoom: float) -> None:
    """Move the camera of a viewer on behalf of the plugin."""
    camera = viewer.scene.camera
    camera.center, camera.zoom = tuple(center), zoom
    _moved[viewer] = _camera_state(viewer)


def is_where_moved(viewer: ViewerModel) -> bool:
    """Whether the user has not moved the camera since `move_camera`."""
    return _moved.get(viewer) == _camera_state(viewer)


def _camera_state(viewer: ViewerModel) -> object:
    camera = viewer.scene.camera
    return tuple(camera.center), camera.zoom


def view_of(viewer: ViewerModel, drawn: Real, around: float = _VIEW_EXTENT) -> tuple[Real, float]:
    """Return the camera center and zoom for a close-up of an outline (n, 2) in world coordinates.

    The camera itself is not moved.
    """
    camera = viewer.scene.camera
    before = camera.center, camera.zoom
    viewer.reset_view(reset_camera_angle=False)
    whole = np.ptp(rows_and_columns(viewer.layers.extent.world, viewer.dims), axis=0)
    size = np.maximum(np.ptp(drawn, axis=0), 1e-9)
    zoom = float(camera.zoom) * max(float((whole / (around * size)).min()), 1.0)
    camera.center, camera.zoom = before
    return np.array([0.0, *((drawn.min(axis=0) + drawn.max(axis=0)) / 2)]), zoom


class Flight:
    """Animates the camera of a viewer, at the frame rate that the canvas can draw, until it is moved otherwise."""

    def __init__(self, viewer: ViewerModel) -> None:
        self._viewer = weakref.ref(viewer)
        self._ends: tuple[tuple[Real, float], tuple[Real, float]] | None = None
        self._start_time = 0.0
        self._frame_debouncer = Debouncer(self._frame, _FRAME_MS)

    def to(self, centre: Real, zoom: float) -> None:
        """Animate to a center (depth, row, column) in world coordinates, and a zoom."""
        if (viewer := self._viewer()) is not None:
            camera = viewer.scene.camera
            start = np.asarray(camera.center, dtype=np.float64), float(camera.zoom)
            self._ends, self._start_time = (start, (centre, zoom)), time.perf_counter()
            move_camera(viewer, *start)
            self._frame()

    def _frame(self) -> None:
        viewer = self._viewer()
        if viewer is None or self._ends is None or not is_where_moved(viewer):
            self._ends = None
            return
        (centre, zoom), (last, nearest) = self._ends
        share = min((time.perf_counter() - self._start_time) / _DURATION_S, 1.0)
        eased = share * share * (3 - 2 * share)
        move_camera(viewer, centre + eased * (last - centre), zoom * (nearest / zoom) ** eased)
        if share < 1:
            self._frame_debouncer.start()
        else:
            self._ends = None
