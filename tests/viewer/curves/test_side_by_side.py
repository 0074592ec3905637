"""The cells of napari's grid, found in one pass over the layers."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from napari.components import ViewerModel
from napari.components.grid import GridCanvas

from napari_shape_ensembles.viewer.curves.side_by_side import QuickGrid
from napari_shape_ensembles.viewer.session import Session

told_layers = pytest.mark.skipif(
    not hasattr(ViewerModel(), "canvas"), reason="before napari 0.9 a grid knows no layers"
)


@told_layers
@given(
    visible=st.lists(st.booleans(), max_size=12),
    stride=st.integers(-4, 4).filter(bool),
    shape=st.tuples(*[st.sampled_from([-1, 1, 2, 3])] * 2),
    enabled=st.booleans(),
)
def test_the_quick_grid_has_the_cells_of_that_of_napari(visible, stride, shape, enabled):
    layers = [SimpleNamespace(visible=one) for one in visible]
    quick, slow = (kind(stride=stride, shape=shape, enabled=enabled) for kind in (QuickGrid, GridCanvas))
    assert list(quick.iter_viewboxes(layers)) == list(slow.iter_viewboxes(layers))


@told_layers
def test_the_grid_is_quick_while_images_are_side_by_side_and_that_of_napari_again(model):
    heard = []
    model.canvas.grid.events.enabled.connect(lambda event: heard.append(event.value))
    comparison = Session.of(model).comparison
    comparison.arrange(True)
    assert type(model.canvas.grid) is QuickGrid
    model.canvas.grid.enabled = not model.canvas.grid.enabled
    assert len(heard) == 1
    comparison.arrange(False)
    assert type(model.canvas.grid) is GridCanvas
