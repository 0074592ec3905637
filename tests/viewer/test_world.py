"""Positions of layers in displayed world coordinates."""

import numpy as np
import pytest
from napari.components import ViewerModel
from napari.layers import Image, Points, Shapes

from napari_shape_ensembles.viewer.session import Session
from napari_shape_ensembles.viewer.world import drawn_extent, world_scale


def test_extents_are_in_the_displayed_unit():
    viewer = ViewerModel()
    coarse = viewer.add_image(np.zeros((11, 21)), scale=(0.5, 0.5), units=("um", "um"))
    np.testing.assert_allclose(drawn_extent(coarse, viewer), [[0, 0], [5, 10]])
    fine = viewer.add_image(np.zeros((11, 21)), scale=(200, 200), units=("nm", "nm"), translate=(100, 0))
    np.testing.assert_allclose(world_scale(coarse, viewer.layers), 1000)
    np.testing.assert_allclose(world_scale(fine, viewer.layers), 1)
    np.testing.assert_allclose(drawn_extent(coarse, viewer), [[0, 0], [5000, 10000]])
    np.testing.assert_allclose(drawn_extent(fine, viewer), [[100, 0], [2100, 4000]])
    both = [drawn_extent(layer, viewer) for layer in (coarse, fine)]
    np.testing.assert_allclose(np.min(both, axis=0)[0], viewer.layers.extent.world[0])
    np.testing.assert_allclose(np.max(both, axis=0)[1], viewer.layers.extent.world[1])
    viewer.add_image(np.zeros((4, 4)))  # in pixels: there is no common unit
    np.testing.assert_allclose(drawn_extent(coarse, viewer), [[0, 0], [5, 10]])


def test_extents_are_of_the_displayed_axes():
    viewer = ViewerModel()
    stack, plane = Image(np.zeros((3, 11, 21)), scale=(7, 1, 1)), Image(np.zeros((5, 9)))
    viewer.layers.extend([stack, plane])
    np.testing.assert_allclose(drawn_extent(stack, viewer), [[0, 0], [10, 20]])
    np.testing.assert_allclose(drawn_extent(plane, viewer), [[0, 0], [4, 8]])
    viewer.dims.order = 2, 0, 1
    np.testing.assert_allclose(drawn_extent(stack, viewer), [[0, 0], [14, 10]])
    np.testing.assert_allclose(drawn_extent(plane, viewer), [[0, 0], [8, 4]])  # napari reverses it, too


@pytest.mark.parametrize("make", [Points, Shapes])
def test_empty_layers_have_no_extent(make):
    viewer = ViewerModel()
    layer = viewer.add_layer(make(ndim=2))
    assert drawn_extent(layer, viewer) is None
    viewer.add_image(np.zeros((5, 5)))
    assert drawn_extent(layer, viewer) is None


def test_a_plane_over_a_stack_adds_no_slider_steps():
    viewer = ViewerModel()
    session = Session.of(viewer)
    session.attach(by="a page")
    stack = viewer.add_image(np.zeros((40, 60, 5)), scale=(1, 1, 2))
    viewer.dims.order = 2, 0, 1
    viewer.dims.set_point(2, 4)
    steps = viewer.dims.nsteps
    plane = viewer.add_image(np.zeros((40, 60)))
    assert viewer.dims.nsteps == steps == (40, 60, 5)
    assert tuple(viewer.dims.range[2]) == (0, 8, 2)
    assert viewer.dims.point[2] == 4
    viewer.dims.order = 0, 1, 2  # the plane is now displayed over columns and time, as in napari
    assert viewer.dims.nsteps[1:] == (60, 60)
    viewer.dims.order = 2, 0, 1
    viewer.layers.remove(stack)
    assert viewer.dims.nsteps == plane.data.shape
    session.detach(by="a page")


def test_a_plane_added_in_3d_adds_no_slider_steps():
    viewer = ViewerModel()
    session = Session.of(viewer)
    session.attach(by="a page")
    viewer.add_image(np.zeros((40, 60, 5)))
    viewer.dims.order = 2, 0, 1
    viewer.dims.ndisplay = 3
    viewer.add_image(np.zeros((40, 60)))
    viewer.dims.ndisplay = 2
    assert viewer.dims.nsteps == (40, 60, 5)
    session.detach(by="a page")
