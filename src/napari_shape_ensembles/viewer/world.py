"""Where layers lie in the world as it is drawn: in the unit that the viewer draws all of them in, on the axes shown."""

from typing import TYPE_CHECKING

import numpy as np
from napari.components import LayerList, ViewerModel
from napari.layers import Layer
from numpy.typing import ArrayLike, NDArray

from .choices import Choices
from .inputs import unit_factors

if TYPE_CHECKING:
    from napari.components import Dims

Real = NDArray[np.float64]


def world_scale(layer: Layer, layers: LayerList) -> Real:
    """Units that a viewer draws its layers in, in one unit of this layer's own world, for each of its axes (d,).

    Since version 0.9 napari draws layers in nm and in µm in one unit. Older ones, and all where units do not fit
    together, take each layer's numbers as they are.
    """
    units = getattr(layers.extent, "units", None)
    if units is None:
        return np.ones(layer.ndim)
    return unit_factors(layer, range(layer.ndim), units[-layer.ndim :])


def drawn_axes(layer: Layer, dims: "Dims") -> list[int]:
    """The axes of a layer that are drawn as rows and columns, the two last in the order of the viewer."""
    before = dims.ndim - layer.ndim  # axes that the layer has not: the first ones
    return [int(axis) - before for axis in dims.order if axis >= before][-2:]


def drawn_extent(layer: Layer, viewer: ViewerModel | Choices) -> Real | None:
    """The least and the largest row and column of a layer as it is drawn, (2, 2); None where it is empty."""
    world = np.asarray(layer.extent.world) * world_scale(layer, viewer.layers)
    extent: Real = world[:, drawn_axes(layer, viewer.dims)]
    return extent if np.isfinite(extent).all() else None


def rows_and_columns(positions: ArrayLike, dims: "Dims") -> Real:
    """Of positions (n, d) in the viewer, such as the mouse's, the rows and columns (n, 2) that are shown."""
    return np.asarray(positions, dtype=np.float64)[:, dims.displayed[-2:]]


def drawn_at(layer: Layer, points: Real, viewer: ViewerModel | Choices) -> Real:
    """Rows and columns (n, 2) at which points (n, d) of a layer, in its pixels, are drawn."""
    corner = np.asarray(layer.data_to_world(np.zeros(layer.ndim)))
    steps = np.stack([np.asarray(layer.data_to_world(step)) - corner for step in np.eye(layer.ndim)])
    world: Real = (points @ steps + corner) * world_scale(layer, viewer.layers)
    return world[:, drawn_axes(layer, viewer.dims)]


def pixels_at(layer: Layer, drawn: Real, viewer: ViewerModel | Choices) -> Real:
    """Places (n, d) of a layer, in its pixels, that are drawn at rows and columns (n, 2), on the plane shown."""
    world = np.tile(np.asarray(viewer.dims.point[-layer.ndim :], dtype=np.float64), (len(drawn), 1))
    world[:, drawn_axes(layer, viewer.dims)] = drawn
    return np.array([layer.world_to_data(place) for place in world / world_scale(layer, viewer.layers)])
