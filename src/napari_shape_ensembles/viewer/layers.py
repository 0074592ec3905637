"""The plugin's own layers: the only place that builds and repaints them."""

import itertools
import weakref
from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pandas as pd
import shapely
from napari.components import ViewerModel
from napari.layers import Layer, Shapes
from napari.settings import get_settings
from numpy.typing import NDArray

from ..comparison import Comparison
from ..curves import Ensemble
from .inputs import Source
from .paints import PAINTS

Real = NDArray[np.float64]

#: Key of the layers' metadata: {"source": "A" or "B", "curves": the Ensemble in full, in the source's unit}.
MARK = "napari-shape-ensembles"
# Outlines are thinned for display only, by at most this much of a pixel.
_TOLERANCE = 0.25
# From here on lines around curves cost more time than they help the eye.
_MANY = 2000
#: Percentile at which colours end: the few most unusual curves would leave one colour to all others.
CLIPPED = 99


# Known by themselves rather than by their metadata: a copy that a user makes is the user's.
_own: "weakref.WeakSet[Layer]" = weakref.WeakSet()


def claim(layer: Layer) -> None:
    """Count a layer among those made by this plugin: it is not offered as something to compare."""
    _own.add(layer)


def is_own(layer: Layer) -> bool:
    """Whether a layer was made by this plugin, or belongs to a comparison that was opened from a file."""
    known = layer.metadata.get(MARK)
    return layer in _own or (isinstance(known, dict) and "comparison" in known)


class OwnLayers:
    """The layers that one dock has put into the viewer, as far as they are still there.

    Held weakly: what the user deletes is gone.
    """

    def __init__(self, viewer: ViewerModel) -> None:
        self._layers = viewer.layers
        self._refs: list[tuple[weakref.ref[Shapes], int]] = []

    def __iter__(self) -> Iterator[Shapes]:
        return iter([layer for layer, _ in self.with_first_rows()])

    def with_first_rows(self) -> list[tuple[Shapes, int]]:
        """Each layer with the row, among those of all layers, of its first curve."""
        alive = ((ref(), row) for ref, row in self._refs)
        return [(layer, row) for layer, row in alive if layer is not None and layer in self._layers]

    def replace(self, layers: Sequence[Shapes]) -> None:
        """Put new layers where those before them were; away with those."""
        for layer in self:
            self._layers.remove(layer)
        counts = [len(layer.features) for layer in layers]
        first_rows = itertools.accumulate(counts[:-1], initial=0)
        self._refs = [(weakref.ref(layer), row) for layer, row in zip(layers, first_rows, strict=True)]
        for layer in layers:
            self._layers.append(layer)


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
        Feature columns id, those of `PAINTS`, source, excluded, and painted, the one that is shown.
        Not yet in a viewer.
    """
    get_settings()  # before it is read, napari triangulates in Python, a hundred times more slowly
    columns = pd.DataFrame({name: paint.values(result) for name, paint in PAINTS.items()})
    limits = PAINTS["product"].limits(columns["product"].to_numpy(), CLIPPED)
    first = len(traced[0])
    parts = columns.iloc[:first], columns.iloc[first:].reset_index(drop=True)
    return [
        _curve_layer(side, source, ensemble, part, limits)
        for side, source, ensemble, part in zip("AB", sources, traced, parts, strict=True)
    ]


def _curve_layer(
    side: str, source: Source, ensemble: Ensemble, columns: pd.DataFrame, low_high: tuple[float, float]
) -> Shapes:
    features = pd.DataFrame(
        {
            "id": ensemble.ids,
            **columns,
            "source": source.name,
            "excluded": False,
            "painted": columns["product"],
        }
    )
    layer = Shapes(
        simplified([curve / source.scale for curve in ensemble.curves]),
        shape_type="polygon",
        name=f"{source.name} curves",
        features=features,
        face_color="painted",
        face_colormap=PAINTS["product"].colormap,
        face_contrast_limits=low_high,
        edge_color="white",
        edge_width=_edge_width(ensemble, source),
        opacity=0.8,
        metadata={MARK: {"source": side, "curves": ensemble}},
        **source.placement,
    )
    layer.editable = False
    claim(layer)
    return layer


def simplified(curves: Sequence[Real]) -> list[Real]:
    """Thin curves in pixel coordinates for display, each by at most a quarter of a pixel.

    All at once, as a call per curve takes ten times as long. The few that would cross themselves are thinned again
    with more care.
    """
    if not curves:
        return []
    closed = [np.concatenate([curve, curve[:1]]) for curve in curves]
    place = np.repeat(np.arange(len(closed)), [len(curve) for curve in closed])
    # Lines rather than rings: of a ring the first vertex may go as well, and with it the bound.
    rings = shapely.linestrings(np.concatenate(closed), indices=place)
    thinned = shapely.simplify(rings, _TOLERANCE, preserve_topology=False)
    doubtful = (shapely.get_num_coordinates(thinned) < 4) | ~shapely.is_simple(thinned)
    thinned[doubtful] = shapely.simplify(rings[doubtful], _TOLERANCE, preserve_topology=True)
    vertices, place = shapely.get_coordinates(thinned, return_index=True)
    parts = np.split(vertices, np.flatnonzero(np.diff(place)) + 1)
    return [part[:-1] for part in parts]


def _edge_width(ensemble: Ensemble, source: Source) -> float:
    """A thin line, in the layer's own pixels, that leaves small curves their colour; none around thousands."""
    if len(ensemble) > _MANY:
        return 0.0
    diameter = ensemble.features["equivalent_diameter"].median() / source.scale.mean()
    return float(np.clip(diameter / 40, 0.1, 2.0))


def repaint(layer: Shapes, column: str, low_high: tuple[float, float]) -> None:
    """Fill the curves of an own layer by another feature; those excluded or without a number stay unfilled.

    Setting `face_color` to a column would fit the limits to this layer alone and upload everything twice.
    """
    values = layer.features[column].astype(float)
    layer.features = layer.features.assign(painted=values.mask(layer.features["excluded"].astype(bool)))
    layer.face_colormap = PAINTS[column].colormap
    layer.face_contrast_limits = low_high
    layer.refresh_colors(update_color_mapping=False)


def select(layer: Shapes, rows: Collection[int]) -> None:
    """Mark curves of an own layer, and no others.

    napari also tells that the line width changed, at which the whole mesh would be uploaded again.
    """
    with layer.events.edge_width.blocker():
        layer.selected_data = set(rows)
