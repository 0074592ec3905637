"""The plugin's own layers: the only place that builds and repaints them."""

import itertools
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd
from napari.components import ViewerModel
from napari.layers import Layer, Shapes
from napari.settings import get_settings

from ..archive import Tree
from ..comparison import Comparison
from ..comparison.display import MARK, LayerData
from ..outlines import Ensemble, in_unit
from .inputs import Source
from .paints import PAINTS
from .sides import Sources
from .views import comparison_view

# Metadata under MARK: {"source": "A" or "B", "curves": the Ensemble in full, in the source's unit}; of layers out of
# a file "comparison", "view" and "part", the image's place among those of its side, instead of the curves.
# Up to so many curves everything is computed at once.
_QUICK = 1000
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

    def in_places(self) -> list[Shapes | None]:
        """The layer of each image; None where it was deleted."""
        here = (ref() for ref, _ in self._refs)
        return [layer if layer is not None and layer in self._layers else None for layer in here]

    def replacing(self, layers: Sequence[Shapes], *, new: bool = True) -> list[Callable[[], None]]:
        """What puts layers where those before them were, in parts that the window can draw between.

        napari takes a tenth of a second for thousands of curves, and longer to draw them for the first time. Layers
        that are not new are in the viewer, unless they were deleted.
        """
        away = [partial(self._remove, layer) for layer in self if layer not in layers]
        come = [partial(self._add, layer) for layer in layers] if new else []
        return [*away, partial(self._count, layers), *come]

    def _remove(self, layer: Shapes) -> None:
        if layer in self._layers:
            self._layers.remove(layer)

    def _add(self, layer: Shapes) -> None:
        if layer not in self._layers:
            self._layers.append(layer)

    def _count(self, layers: Sequence[Shapes]) -> None:
        """Take layers for those of the dock, in the viewer or about to be."""
        counts = [len(layer.features) for layer in layers]
        first_rows = itertools.accumulate(counts[:-1], initial=0)
        self._refs = [(weakref.ref(layer), row) for layer, row in zip(layers, first_rows, strict=True)]


def curve_layers(result: Comparison, sources: Sources) -> list[Shapes]:
    """Make one Shapes layer per image, its curves filled by their distance from the mean shape.

    Parameters
    ----------
    result : Comparison
    sources : pair of tuples of Source
        Where the curves of A and of B come from.

    Returns
    -------
    list of Shapes
        A's before B's. Feature columns id, those of `PAINTS`, source, excluded, and painted, the one that is shown.
        Not yet in a viewer.
    """
    data = painted_data(result, comparison_view(result, sources), PAINTS)
    for (side, source, ensemble), (_, options, _) in zip(_images(result, sources), data, strict=True):
        options |= source.placement | {"name": f"{source.name} curves"}
        options["features"]["source"] = source.name
        options["metadata"] = {MARK: {"source": side, "curves": ensemble}}
    return layers_of(data)


def _images(result: Comparison, sources: Sources) -> Iterator[tuple[str, Source, Ensemble]]:
    """Side, source and curves of each image, these in the source's own unit."""
    for side, ensemble, images in (("A", result.a, sources[0]), ("B", result.b, sources[1])):
        for source in images:
            own = ensemble if len(images) == 1 else ensemble.subset(ensemble.images == source.name)
            yield side, source, in_unit(own, source.unit)


def layers_of(data: Sequence[LayerData]) -> list[Shapes]:
    """Shapes layers of the plugin itself, not yet in a viewer."""
    get_settings()  # before it is read, napari triangulates in Python, a hundred times more slowly
    layers = [Shapes(curves, **options) for curves, options, _ in data]
    for layer in layers:
        layer.editable = False
        claim(layer)
    return layers


def complete(layers: Sequence[Shapes], result: Comparison) -> None:
    """Make layers that napari read from a file like those of a run: with all columns, and nothing to edit."""
    columns = pd.DataFrame({name: paint.values(result) for name, paint in PAINTS.items()})
    ends = itertools.accumulate(len(layer.features) for layer in layers)
    for layer, end in zip(layers, ends, strict=True):
        own = columns.iloc[end - len(layer.features) : end].reset_index(drop=True)
        layer.features = layer.features.assign(**own)
        layer.editable = False
        claim(layer)


def opened_pairs(layers: Iterable[Layer]) -> dict[Comparison, list[Shapes]]:
    """Comparisons whose layers, A's and B's, have been read from a file or added by `Comparison.to_layers`."""
    found: dict[Comparison, dict[tuple[str, int], Shapes]] = {}
    for layer in layers:
        known = layer.metadata.get(MARK)
        if isinstance(layer, Shapes) and isinstance(known, dict) and isinstance(known.get("comparison"), Comparison):
            place = str(known.get("source")), int(known.get("part", 0))
            found.setdefault(known["comparison"], {}).setdefault(place, layer)
    sorted_ = {result: [parts[key] for key in sorted(parts)] for result, parts in found.items()}
    return {result: own for result, own in sorted_.items() if is_whole(result, own)}


def is_whole(result: Comparison, layers: Sequence[Shapes]) -> bool:
    """Whether all layers of a comparison are there, and nothing was added to them or deleted."""
    counts = Counter[str]()
    for layer in layers:
        counts[str(layer.metadata[MARK].get("source"))] += len(layer.features)
    return counts == {"A": len(result.a), "B": len(result.b)}


def painted_data(result: Comparison, view: Tree, names: Collection[str] = ()) -> list[LayerData]:
    """Data of the layers of a comparison, painted as a view says.

    By distance where what it says takes too long: the dock, if it is there, will paint as soon as it is known.

    Parameters
    ----------
    result : Comparison
    view : dict
        As `comparison_view` makes it.
    names : collection of str
        Columns of `PAINTS` to have whatever they cost.

    Raises
    ------
    ValueError
        Where the view asks for a painting that does not exist.
    """
    painted = str(view.get("painted", "product"))
    if len(result.distances) > _QUICK and painted in PAINTS and PAINTS[painted].slow and painted not in names:
        painted = "product"
    known = {name: paint for name, paint in PAINTS.items() if not paint.slow or name in (painted, *names)}
    columns = pd.DataFrame({name: paint.values(result) for name, paint in known.items()})
    data = result.layer_data({**view, "painted": painted}, columns, by_pixels=True)
    limits = PAINTS[painted].limits(columns[painted].to_numpy(), CLIPPED)
    for _, options, _ in data:
        options |= {"face_contrast_limits": limits, "face_colormap": PAINTS[painted].colormap}
        options["metadata"][MARK]["view"] = view
    return data


def repaint(layer: Shapes, column: str, low_high: tuple[float, float]) -> None:
    """Fill the curves of an own layer by another feature; those excluded or without a number stay unfilled.

    Setting `face_color` to a column would fit the limits to this layer alone and upload everything twice; setting
    `features` would check all the columns anew. What is painted like that already is left alone.
    """
    features, colormap = layer.features, PAINTS[column].colormap
    values = features[column].astype(float).mask(features["excluded"].astype(bool))
    alike = layer.face_contrast_limits == low_high and layer.face_colormap == colormap
    if alike and np.array_equal(values, features["painted"], equal_nan=True):
        return
    features["painted"] = values
    layer.face_colormap = colormap
    layer.face_contrast_limits = low_high
    layer.refresh_colors(update_color_mapping=False)


def select(layer: Shapes, rows: Collection[int]) -> None:
    """Mark curves of an own layer, and no others.

    napari also tells that the line width changed, at which the whole mesh would be uploaded again.
    """
    with layer.events.edge_width.blocker():
        layer.selected_data = set(rows)
