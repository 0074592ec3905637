"""Where layers lie in the world as it is drawn: in the unit that the viewer draws all of them in, on the axes shown."""

from typing import TYPE_CHECKING

import numpy as np
from napari.components import LayerList, ViewerModel
from napari.layers import Layer
from numpy.typing import NDArray

if TYPE_CHECKING:
    from napari.components import Dims

    from .choices import Choices

Real = NDArray[np.float64]


def world_scale(layer: Layer, layers: LayerList) -> Real:
    """Units that a viewer draws its layers in, in one unit of this layer's own world, for each of its axes (d,).

    Since version 0.9 napari draws layers in nm and in µm in one unit. Older ones, and all where units do not fit
    together, take each layer's numbers as they are.
    """
    units = getattr(layers.extent, "units", None)
    if units is None:
        return np.ones(layer.ndim)
    pairs = zip(layer.units, units[-layer.ndim :], strict=True)
    return np.array([1.0 if own == drawn else (1 * own).to(drawn).magnitude for own, drawn in pairs])


def drawn_axes(layer: Layer, dims: "Dims") -> list[int]:
    """The axes of a layer that are drawn as rows and columns, the two last in the order of the viewer."""
    before = dims.ndim - layer.ndim  # axes that the layer has not: the first ones
    return [int(axis) - before for axis in dims.order if axis >= before][-2:]


def drawn_extent(layer: Layer, viewer: "ViewerModel | Choices") -> Real | None:
    """The least and the largest row and column of a layer as it is drawn, (2, 2); None where it is empty."""
    world = np.asarray(layer.extent.world) * world_scale(layer, viewer.layers)
    extent: Real = world[:, drawn_axes(layer, viewer.dims)]
    return extent if np.isfinite(extent).all() else None
