"""Transforms between layer pixels and world coordinates as drawn: in the viewer's unit, on the displayed axes."""

from typing import TYPE_CHECKING

import numpy as np
from napari.components import LayerList, ViewerModel
from napari.layers import Layer
from numpy.typing import ArrayLike

from .._types import Real
from .choices import Choices
from .inputs import unit_factors

if TYPE_CHECKING:
    from napari.components import Dims


def world_scale(layer: Layer, layers: LayerList) -> Real:
    """Return the factors (d,) from this layer's world units to those in which the viewer draws all layers.

    Incompatible units are not converted.
    """
    units = layers.extent.units
    if units is None:
        return np.ones(layer.ndim)
    return unit_factors(layer, range(layer.ndim), units[-layer.ndim :])


def drawn_axes(layer: Layer, dims: "Dims") -> list[int]:
    """Return the axes of a layer that are displayed as rows and columns: the last two in the viewer's order."""
    before = dims.ndim - layer.ndim  # the layer lacks the viewer's first axes
    return [int(axis) - before for axis in dims.order if axis >= before][-2:]


def drawn_extent(layer: Layer, viewer: ViewerModel | Choices) -> Real | None:
    """Return the minimum and maximum row and column (2, 2) of a layer as drawn; None if it is empty."""
    world = np.asarray(layer.extent.world) * world_scale(layer, viewer.layers)
    extent: Real = world[:, drawn_axes(layer, viewer.dims)]
    return extent if np.isfinite(extent).all() else None


def rows_and_columns(positions: ArrayLike, dims: "Dims") -> Real:
    """Return the displayed rows and columns (n, 2) of positions (n, d), such as the cursor's."""
    return np.asarray(positions, dtype=np.float64)[:, dims.displayed[-2:]]


def is_under_pointer(layer: Layer, viewer: ViewerModel) -> bool:
    """Whether a layer is in the grid cell under the pointer; always without a grid."""
    grid, under = viewer.canvas.grid, viewer.cursor.viewbox
    return under is None or grid.position(viewer.layers.index(layer), viewer.layers) == tuple(under)


def drawn_at(layer: Layer, points: Real, viewer: ViewerModel | Choices) -> Real:
    """Transform points (n, d) from layer pixels to rows and columns (n, 2) as drawn."""
    return world_at(layer, points, viewer)[:, drawn_axes(layer, viewer.dims)]


def world_at(layer: Layer, points: Real, viewer: ViewerModel | Choices) -> Real:
    """Transform points (n, d) from layer pixels to the world, in the unit in which the viewer draws."""
    corner = np.asarray(layer.data_to_world(np.zeros(layer.ndim)))
    steps = np.stack([np.asarray(layer.data_to_world(step)) - corner for step in np.eye(layer.ndim)])
    world: Real = (points @ steps + corner) * world_scale(layer, viewer.layers)
    return world


def pixels_at(layer: Layer, drawn: Real, viewer: ViewerModel | Choices) -> Real:
    """Transform rows and columns (n, 2) as drawn to layer pixels (n, d), on the current slice."""
    world = np.tile(np.asarray(viewer.dims.point[-layer.ndim :], dtype=np.float64), (len(drawn), 1))
    world[:, drawn_axes(layer, viewer.dims)] = drawn
    return np.array([layer.world_to_data(place) for place in world / world_scale(layer, viewer.layers)])
