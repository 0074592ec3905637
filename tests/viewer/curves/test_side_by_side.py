"""Images in the cells of napari's grid, and the captions over them."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from napari.components import ViewerModel
from napari.components.grid import GridCanvas
from scipy import ndimage

from docks import grid_of
from napari_shape_ensembles.viewer.curves.over_canvas import Captions
from napari_shape_ensembles.viewer.curves.side_by_side import CellGrid
from napari_shape_ensembles.viewer.docks.bench import Bench
from napari_shape_ensembles.viewer.flying import camera_of
from napari_shape_ensembles.viewer.session import Session

told_layers = pytest.mark.skipif(
    not hasattr(ViewerModel(), "canvas"), reason="before napari 0.9 a grid knows no layers"
)


def cell_grid(cells, **options):
    grid = GridCanvas(**options)
    object.__setattr__(grid, "cells_of_layers", lambda: cells)
    object.__setattr__(grid, "__class__", CellGrid)
    return grid


@told_layers
@given(
    visible=st.lists(st.booleans(), min_size=1, max_size=12),
    stride=st.integers(1, 4),
    shape=st.tuples(*[st.sampled_from([-1, 1, 2, 3])] * 2),
    enabled=st.booleans(),
)
def test_cells_of_one_number_of_layers_lie_where_napari_puts_them(visible, stride, shape, enabled):
    layers = [SimpleNamespace(visible=one) for one in visible]
    napari = GridCanvas(stride=stride, shape=shape, enabled=enabled)
    own = cell_grid([i // stride if one else -1 for i, one in enumerate(visible)], shape=shape, enabled=enabled)
    assert own.actual_shape(layers) == napari.actual_shape(layers)
    assert list(own.iter_viewboxes(layers)) == list(napari.iter_viewboxes(layers))
    for index in range(len(layers)):
        assert own.position(index, layers) == napari.position(index, layers)
    assert own.contents_at((0, 1), layers) == napari.contents_at((0, 1), layers)


def test_cells_have_as_many_layers_as_they_are_told():
    grid = cell_grid([2, 0, 0, 0, -1, 7], shape=(2, 2), enabled=True)
    layers = [SimpleNamespace(visible=True)] * 6
    assert dict(grid.iter_viewboxes(layers)) == {(0, 0): (1, 2, 3), (0, 1): (0,), (1, 0): (5,), (1, 1): ()}
    assert grid.position(5, layers) == (1, 0)


def test_the_grid_is_that_of_napari_again_afterwards(model):
    heard = []
    grid = grid_of(model)
    before = grid.stride, grid.shape, grid.spacing
    grid.events.enabled.connect(lambda event: heard.append(event.value))
    comparison = Session.of(model).comparison
    comparison.arrange(True)
    grid.enabled = not grid.enabled
    assert len(heard) == 1
    comparison.arrange(False)
    assert type(grid) is GridCanvas
    assert (grid.stride, grid.shape, grid.spacing) == before


# On the screen -------------------------------------------------------------------------------------------------


def boxes(viewer):
    """Top, left, bottom and right on the canvas of the images, which are uniform, by their brightness."""
    seen = np.asarray(viewer.screenshot(canvas_only=True, flash=False))[..., 0]
    found = {}
    for value in (100, 200):
        labels, _ = ndimage.label(np.abs(seen.astype(int) - value) < 5)
        (rows, columns) = ndimage.find_objects(np.where(labels == np.argmax(np.bincount(labels.flat)[1:]) + 1, 1, 0))[0]
        found[value] = rows.start, columns.start, rows.stop, columns.stop
    return found


def stand_above(viewer, captions, value, words):
    """Whether these words stand right above the image of this brightness, from its left side on."""
    top, left, _, _ = boxes(viewer)[value]
    rooms = [room for caption, room in captions.shown if caption.words == words]
    return any(abs(room.bottom() - top) <= 4 and abs(room.left() - left) <= 3 for room in rooms)


@pytest.mark.parametrize("apart", [False, True])
def test_captions_stand_above_their_images_and_go_with_them(make_napari_viewer, qtbot, apart):
    viewer = make_napari_viewer(show=True)
    viewer.window.resize(1100, 700)
    options = {"contrast_limits": (0, 255)}
    viewer.add_image(np.full((60, 80), 100.0), name="one", **options)
    viewer.add_image(np.full((60, 80), 200.0), name="two", translate=(0, 100 * apart), **options)
    viewer.layers.selection = set(viewer.layers)
    bench = Bench(viewer)
    viewer.window.add_dock_widget(bench)
    qtbot.waitUntil(lambda: len(viewer.window._qt_window.findChildren(Captions)) == 1)
    (captions,) = viewer.window._qt_window.findChildren(Captions)
    both = {100: "A · one", 200: "B · two"}

    def right():
        return len(captions.shown) == 2 and all(stand_above(viewer, captions, *one) for one in both.items())

    qtbot.waitUntil(lambda: grid_of(viewer).enabled is not apart)
    qtbot.waitUntil(right, timeout=5000)
    assert captions.isVisible()
    assert captions.accessibleName() == "A · one, B · two"
    camera_of(viewer).zoom *= 0.7
    camera_of(viewer).center = 0, 10, 20 + 50 * apart
    qtbot.waitUntil(right, timeout=5000)
    viewer.layers["one"].name = "first"
    both[100] = "A · first"
    qtbot.waitUntil(right, timeout=5000)
    bench.session.choices.sides.swap()
    both.update({100: "B · first", 200: "A · two"})
    qtbot.waitUntil(right, timeout=5000)
    viewer.layers["two"].visible = False
    qtbot.waitUntil(lambda: [one.words for one, _ in captions.shown] == ["B · first"], timeout=5000)
    camera_of(viewer).zoom *= 8  # its upper edge is out of sight
    ((_, room),) = captions.shown
    assert room.top() >= 0
    camera_of(viewer).center = 0, 1e4, 0
    assert not captions.isVisible()
    bench.session.comparison.arrange(False)
    viewer.reset_view()
    qtbot.waitUntil(lambda: not captions.isVisible())
