"""Strokes of a brush as mouse events on the canvas: each reaches the image under the pointer, whatever is refreshed."""

import time

import numpy as np
import pytest
from qtpy.QtCore import QEvent, QPointF, Qt
from qtpy.QtGui import QMouseEvent
from qtpy.QtWidgets import QApplication
from skimage.measure import regionprops

from docks import add_spots, press
from image_makers import spots
from napari_shape_ensembles import segment
from napari_shape_ensembles.viewer.docks.inspect import InspectCurves
from napari_shape_ensembles.viewer.session import Session

_INTERVAL = 0.011  # in seconds: vispy drops moves that follow faster
BUTTON = Qt.MouseButton.LeftButton


@pytest.fixture
def viewer(make_napari_viewer):
    viewer = make_napari_viewer(show=True)
    viewer.window.resize(800, 500)
    QApplication.processEvents()
    viewer.window._qt_viewer.canvas.native.setUpdatesEnabled(False)  # drawing is slow, and not needed for its events
    return viewer


def stroke(viewer, layer, places, between=lambda: None):
    """Draw with the pressed button through pixels of a layer, as the mouse does; call `between` after each event."""
    canvas = viewer.window._qt_viewer.canvas.native
    frame = Session.of(viewer).comparison.side_by_side.frames((canvas.width(), canvas.height()))[layer]
    points = [frame.on_canvas(np.array([layer.data_to_world(place)]))[0][::-1] for place in places]
    kinds = [QEvent.Type.MouseButtonPress, *[QEvent.Type.MouseMove] * (len(points) - 1), QEvent.Type.MouseButtonRelease]
    for kind, point in zip(kinds, [*points, points[-1]], strict=True):
        held = Qt.MouseButton.NoButton if kind == QEvent.Type.MouseButtonRelease else BUTTON
        button = Qt.MouseButton.NoButton if kind == QEvent.Type.MouseMove else BUTTON
        where = QPointF(*point)
        everywhere = QPointF(canvas.mapToGlobal(where.toPoint()))
        time.sleep(_INTERVAL)
        event = QMouseEvent(kind, where, everywhere, button, held, Qt.KeyboardModifier.NoModifier)
        QApplication.sendEvent(canvas, event)
        between()
    QApplication.processEvents()


def painted(viewer, qtbot):
    """Return an inspection of labels whose corrected copy is being painted on."""
    image = spots(1, rows=3, noise=0.05)
    labels = segment(image)
    viewer.add_image(image, name="field")
    viewer.add_labels(labels, name="nuclei")
    qtbot.addWidget(dock := InspectCurves(viewer))
    dock.inspection.a.choose(viewer.layers["nuclei"])
    with qtbot.waitSignal(dock.finished):
        press(dock.run_button, qtbot)
    dock.inspection.go_to(0)
    dock.inspection.fix("redraw")
    copy = viewer.layers["nuclei corrected"]
    copy.brush_size, copy.selected_label, copy.preserve_labels = 1, 99, False
    return dock.inspection


def test_each_stroke_is_one_row_of_the_log_however_slow_or_quick(viewer, qtbot):
    task = painted(viewer, qtbot)
    copy, own = viewer.layers["nuclei corrected"], task.review.corrected[0]
    stroke(viewer, copy, [(5, 5), (5, 8), (5, 11), (5, 14)], between=lambda: qtbot.wait(250))
    qtbot.waitUntil(lambda: len(own.changes) > 0)
    stroke(viewer, copy, [(8, 5), (8, 9)])
    stroke(viewer, copy, [(11, 5), (11, 9)])
    qtbot.waitUntil(lambda: np.array_equal(own.labels, copy.data))
    assert own.log["action"].tolist() == ["paint"] * 3
    assert own.log["pixels"].tolist() == [10, 5, 5]
    qtbot.waitUntil(lambda: not task.update_runner.busy)


def test_no_stroke_is_lost_or_misplaced_while_outlines_are_renewed(viewer, qtbot):
    task = painted(viewer, qtbot)
    labels, copy = viewer.layers["nuclei"].data, viewer.layers["nuclei corrected"]
    assert (copy.mode, viewer.layers.selection.active) == ("paint", copy)
    camera = tuple(viewer.scene.camera.center), viewer.scene.camera.zoom
    refreshed, expected = [], labels.copy()
    task.layers_changed.connect(lambda: refreshed.append(1), check_nargs=False)
    rng = np.random.default_rng(0)
    for number in range(200):
        row, column = rng.integers(2, np.array(labels.shape) - 5)
        before = len(refreshed)
        stroke(viewer, copy, [(row, column), (row, column + 2)])
        expected[row, column : column + 3] = 99
        if number % 20 == 0:  # the outlines are renewed while the next strokes are drawn
            qtbot.waitUntil(lambda before=before: task.update_runner.busy or len(refreshed) > before)
        if number % 40 == 39:
            qtbot.waitUntil(lambda: not task.update_runner.busy)
        assert (copy.mode, viewer.layers.selection.active) == ("paint", copy)
    qtbot.waitUntil(lambda: np.array_equal(task.review.corrected[0].labels, expected))
    np.testing.assert_array_equal(copy.data, expected)
    assert len(refreshed) >= 5
    assert (tuple(viewer.scene.camera.center), viewer.scene.camera.zoom) == camera
    qtbot.waitUntil(lambda: not task.update_runner.busy)


def test_a_stroke_goes_to_the_image_under_the_pointer(viewer, qtbot):
    add_spots(viewer, "one", "two", rows=3)
    bench = viewer.window.add_plugin_dock_widget("napari-shape-ensembles", "Shape bench")[1]
    session = bench.session
    bench.show_part("Outlines")
    page = bench.pages["Outlines"].show_tab(0)
    qtbot.waitUntil(lambda: len(session.segmentation.verdict.counts) == 2)
    qtbot.waitUntil(lambda: viewer.canvas.grid.enabled and not session.proposing.busy)
    session.segmentation.image.choose(viewer.layers["two"])
    qtbot.waitUntil(lambda: not session.segmentation.previewer.busy)
    press(page.by_example.paint, qtbot)
    two = viewer.layers["two examples"]
    diameter = np.sqrt(4 * np.median(np.bincount(session.segmentation.preview.labels.ravel())[1:]) / np.pi)
    assert two.brush_size == round(diameter / 3)
    one = viewer.layers["one examples"]  # the other image that is shown
    viewer.window._qt_viewer.canvas.native.setUpdatesEnabled(True)  # the cells of the grid are laid out by drawing
    qtbot.wait(500)
    one.brush_size = two.brush_size = 1
    for name, place in (("two", (10, 12)), ("one", (20, 22)), ("two", (30, 32)), ("one", (40, 42))):
        qtbot.wait(50)
        stroke(viewer, viewer.layers[name], [place, place])
        assert viewer.layers.selection.active is viewer.layers[f"{name} examples"]
    for name, places in (("two", [(10, 12), (30, 32)]), ("one", [(20, 22), (40, 42)])):
        painted = np.argwhere(viewer.layers[f"{name} examples"].data)
        np.testing.assert_allclose(painted, places, atol=1 / viewer.scene.camera.zoom)  # a pixel of the screen
    press(page.by_example.background, qtbot)
    qtbot.wait(50)
    stroke(viewer, viewer.layers["one"], [(50, 52), (50, 52)])
    assert (viewer.layers["one examples"].data == 1).sum() == 1


def test_a_click_adds_the_object_of_the_image_under_the_pointer(viewer, qtbot):
    """It added what lies at the same pixels of the image chosen."""
    add_spots(viewer, "one", "two", rows=3)
    bench = viewer.window.add_plugin_dock_widget("napari-shape-ensembles", "Shape bench")[1]
    session = bench.session
    bench.show_part("Outlines")
    page = bench.pages["Outlines"].show_tab(0)
    qtbot.waitUntil(lambda: len(session.segmentation.verdict.counts) == 2)
    qtbot.waitUntil(lambda: viewer.canvas.grid.enabled and not session.proposing.busy)
    session.segmentation.image.choose(viewer.layers["two"])
    qtbot.waitUntil(lambda: not session.segmentation.previewer.busy and session.segmentation.preview is not None)
    press(page.by_example.click, qtbot)
    viewer.window._qt_viewer.canvas.native.setUpdatesEnabled(True)
    qtbot.wait(500)
    labels = session.choices.recipe.labels(viewer.layers["one"].data)
    found = regionprops(labels)[0]
    where = tuple(np.round(found.centroid).astype(int))
    stroke(viewer, viewer.layers["one"], [where])  # a click
    added = viewer.layers["one examples"]
    qtbot.waitUntil(lambda: np.any(added.data), timeout=10_000)
    assert session.segmentation.image.chosen() is viewer.layers["one"]
    np.testing.assert_array_equal(added.data > 0, labels == found.label)
    assert not np.any(viewer.layers["two examples"].data)
