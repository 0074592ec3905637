"""The plugin's own layers: the only place that builds and repaints them."""

import weakref
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import shapely
from napari.components import ViewerModel
from napari.layers import Layer, Shapes
from numpy.typing import NDArray

from ..comparison import Comparison
from ..curves import Ensemble
from .inputs import Source

#: What curves can be painted by: feature column -> words for it.
PAINTED = {
    "product": "distance from the mean shape",
    "undulation": "undulation distance from the mean",
    "scale": "scale distance from the mean",
}
COLORMAP = "viridis"

#: Key of the layers' metadata: {"source": "A" or "B", "curves": the Ensemble in full, in the source's unit}.
MARK = "napari-shape-ensembles"
# Outlines are thinned for display only, by at most this much of a pixel.
_TOLERANCE = 0.25
# The few most unusual curves may share the last colour, or they would leave one colour to all others.
_CLIPPED = 99


# Known by themselves rather than by their metadata: a copy that a user makes is the user's.
_own: "weakref.WeakSet[Layer]" = weakref.WeakSet()


def is_own(layer: Layer) -> bool:
    """Whether a layer was made by this plugin."""
    return layer in _own


class OwnLayers:
    """The layers that one dock has put into the viewer, as far as they are still there.

    Held weakly: what the user deletes is gone.
    """

    def __init__(self, viewer: ViewerModel) -> None:
        self._layers = viewer.layers
        self._refs: list[weakref.ref[Shapes]] = []

    def __iter__(self) -> Iterator[Shapes]:
        alive = (ref() for ref in self._refs)
        return iter([layer for layer in alive if layer is not None and layer in self._layers])

    def replace(self, layers: Sequence[Shapes]) -> None:
        """Put new layers where those before them were; away with those."""
        for layer in self:
            self._layers.remove(layer)
        self._refs = [weakref.ref(layer) for layer in layers]
        for layer in layers:
            self._layers.append(layer)


def limits(result: Comparison, column: str) -> tuple[float, float]:
    """The colour scale both images share: 0 to the 99th percentile of all curves."""
    high = float(np.percentile(result.distances[column], _CLIPPED))
    return 0.0, high or 1.0


def curve_layers(result: Comparison, sources: tuple[Source, Source], traced: tuple[Ensemble, Ensemble]) -> list[Shapes]:
    """Make one Shapes layer per image, its curves filled by their distance from the mean shape.

    Parameters
    ----------
    result : Comparison
    sources, traced : pairs
        Where the curves come from, and the curves in each source's own unit.

    Returns
    -------
    list of two Shapes
        Feature columns id, area, perimeter, product, undulation, scale, source, and painted, the one that is
        shown. Not yet in a viewer.
    """
    table = result.distances
    low_high = limits(result, "product")
    return [
        _curve_layer(side, source, ensemble, table[table["source"] == side].reset_index(drop=True), low_high)
        for side, source, ensemble in zip("AB", sources, traced, strict=True)
    ]


def _curve_layer(
    side: str, source: Source, ensemble: Ensemble, distances: pd.DataFrame, low_high: tuple[float, float]
) -> Shapes:
    measures = ensemble.features
    features = pd.DataFrame(
        {
            "id": measures["id"],
            "area": measures["area"],
            "perimeter": measures["perimeter"],
            **{column: distances[column].astype(float) for column in PAINTED},
            "source": source.name,
            "painted": distances["product"].astype(float),
        }
    )
    layer = Shapes(
        [simplified(curve / source.scale) for curve in ensemble.curves],
        shape_type="polygon",
        name=f"{source.name} curves",
        features=features,
        face_color="painted",
        face_colormap=COLORMAP,
        face_contrast_limits=low_high,
        edge_color="white",
        edge_width=_edge_width(ensemble, source),
        opacity=0.8,
        metadata={MARK: {"source": side, "curves": ensemble}},
        **source.placement,
    )
    layer.editable = False
    _own.add(layer)
    return layer


def simplified(curve: NDArray[np.float64]) -> NDArray[np.float64]:
    """Thin a curve in pixel coordinates for display, by at most a quarter of a pixel."""
    ring = shapely.simplify(shapely.Polygon(curve), _TOLERANCE, preserve_topology=True)
    thinned = shapely.get_coordinates(ring)[:-1]
    return thinned if len(thinned) >= 3 else curve


def _edge_width(ensemble: Ensemble, source: Source) -> float:
    """A thin line, in the layer's own pixels, that leaves small curves their colour."""
    diameter = ensemble.features["equivalent_diameter"].median() / source.scale.mean()
    return float(np.clip(diameter / 40, 0.1, 2.0))


def repaint(layer: Shapes, column: str, low_high: tuple[float, float]) -> None:
    """Fill the curves of an own layer by another feature.

    Setting `face_color` to a column would fit the limits to this layer alone and upload everything twice.
    """
    layer.features = layer.features.assign(painted=layer.features[column])
    layer.face_contrast_limits = low_high
    layer.refresh_colors(update_color_mapping=False)
