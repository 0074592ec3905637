"""The keys of every dock: Enter runs, Esc cancels, and the focus stays where both are heard."""

import time

import pytest
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QApplication

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Settings, compare
from napari_shape_ensembles.viewer import inspect_dock, landscape_dock, segment_dock, shape_space_dock, smoothing_dock
from napari_shape_ensembles.viewer.inspect_dock import InspectCurves
from napari_shape_ensembles.viewer.landscape_dock import LandscapeDock
from napari_shape_ensembles.viewer.segment_dock import SegmentCurves
from napari_shape_ensembles.viewer.shape_space_dock import ShapeSpace
from napari_shape_ensembles.viewer.smoothing_dock import SmoothingDock
from napari_shape_ensembles.viewer.worker import Progress

from .conftest import press, spots


def slow(*_):
    """Work without an end, in place of what a dock does."""
    while True:
        yield Progress("counting", 0, 0)
        time.sleep(0.01)


# Each dock, where its work comes from, the button that starts it and a control somewhere else.
DOCKS = {
    "segment": (SegmentCurves, segment_dock, "commit", "commit_button", lambda dock: dock.form.controls["min_area"]),
    "inspect": (InspectCurves, inspect_dock, "_inspection", "inspect_button", lambda dock: dock.border),
    "landscape": (LandscapeDock, landscape_dock, "run_landscape", "run_button", lambda dock: dock.ranges["ranks"]),
    "smoothing": (SmoothingDock, smoothing_dock, "run_smoothing", "run_button", lambda dock: dock.merge),
    "space": (ShapeSpace, shape_space_dock, "explaining", "explain_button", lambda dock: dock.explorer.sliders[0]),
}


@pytest.fixture(params=DOCKS.values(), ids=DOCKS)
def ready(request, model, qtbot, monkeypatch):
    """A dock in sight whose work never ends, the button that starts it, and another control."""
    make, module, work, button, control = request.param
    for seed, name in ((1, "one"), (2, "two")):
        model.add_image(spots(seed, rows=3), name=name)
    dock = make(model)
    qtbot.addWidget(dock, before_close_func=lambda dock: settle(dock, qtbot))
    if make is ShapeSpace:
        a, b = (Ensemble(list(blobs(20, 60, seed=seed)), name=str(seed)) for seed in (1, 2))
        dock.set_comparison(compare(a, b, Settings(landmarks=50, rank=5, permutations=99)))
    monkeypatch.setattr(module, work, slow)
    dock.resize(420, 900)
    with qtbot.waitExposed(dock):
        dock.show()
    dock.activateWindow()
    qtbot.waitUntil(dock.isActiveWindow, timeout=3000)
    return dock, getattr(dock, button), control(dock)


def settle(dock, qtbot):
    dock.hide()
    qtbot.waitUntil(lambda: not dock.runner.busy and not dock.runner._running, timeout=5000)


def focused(dock):
    """The widget that hears the keys, which must be one of the dock's."""
    widget = QApplication.focusWidget()
    assert widget is not None
    assert dock.isAncestorOf(widget)
    return widget


def test_escape_cancels_what_a_press_of_the_button_started(ready, qtbot):
    dock, button, _ = ready
    button.setFocus()
    press(button, qtbot)
    assert dock.runner.busy
    qtbot.keyClick(focused(dock), Qt.Key.Key_Escape)
    assert not dock.runner.busy
    assert button.isEnabled()
    focused(dock)


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_enter_runs_and_escape_cancels_from_another_control(ready, qtbot, key):
    dock, _, control = ready
    control.setFocus()
    qtbot.keyClick(control, key)
    assert dock.runner.busy
    qtbot.keyClick(focused(dock), key)  # a second run cannot start on top
    assert len(dock.runner._running) == 1
    qtbot.keyClick(focused(dock), Qt.Key.Key_Escape)
    assert not dock.runner.busy
