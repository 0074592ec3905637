"""Layers are removed with the context of the canvas current, whichever was before."""

import numpy as np
import pytest
from qtpy.QtGui import QOffscreenSurface, QOpenGLContext
from qtpy.QtWidgets import QDockWidget

from napari_shape_ensembles.viewer.canvas_context import CanvasContext, canvas_of, enclosing
from napari_shape_ensembles.viewer.close_confirmation import CloseConfirmation
from napari_shape_ensembles.viewer.layers import batched


@pytest.mark.parametrize("in_batch", [False, True])
def test_layers_are_freed_in_the_context_of_the_canvas(make_napari_viewer, qtbot, in_batch):
    viewer = make_napari_viewer(show=True)
    _, bench = viewer.window.add_plugin_dock_widget("napari-shape-ensembles", "Shape bench")
    layer = viewer.add_image(np.zeros((8, 8)))
    canvas = canvas_of(bench.window())
    qtbot.waitUntil(lambda: bench.isVisible() and canvas.context() is not None)
    own = canvas.context()
    surface, other, freed_in = QOffscreenSurface(), QOpenGLContext(), []
    surface.create()
    assert other.create()

    def record():
        freed_in.append(QOpenGLContext.currentContext())

    if in_batch:
        viewer.layers.events.end_batch.connect(record)
        with batched(viewer.layers):
            viewer.layers.remove(layer)
            assert other.makeCurrent(surface)  # as when Qt composes the window between two steps of a task
    else:
        viewer.layers.events.removed.connect(record)
        assert other.makeCurrent(surface)
        viewer.layers.remove(layer)
    assert freed_in
    assert all(one is own for one in freed_in)


def test_a_dock_that_floats_from_the_start_watches_the_window_it_belongs_to(make_napari_viewer, qtbot):
    viewer = make_napari_viewer()
    _, bench = viewer.window.add_plugin_dock_widget("napari-shape-ensembles", "Shape bench")
    enclosing(bench, QDockWidget).setFloating(True)
    viewer.window.show()
    qtbot.waitUntil(bench.isVisible)
    assert bench.window() is enclosing(bench, QDockWidget)
    (context,) = viewer.window._qt_window.findChildren(CanvasContext)
    (confirmation,) = viewer.window._qt_window.findChildren(CloseConfirmation)
    assert context.parent() is confirmation.parent()
    assert confirmation.session() is bench.session
