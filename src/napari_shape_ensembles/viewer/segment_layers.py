"""The layers that a committed segmentation leaves: labels, and outlines with their measures."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from napari.layers import Image, Labels, Shapes
from numpy.typing import NDArray

from ..outlines import Ensemble, Outlines
from ..progress import as_part, report
from .inputs import Source


@dataclass(frozen=True, eq=False)
class Committed:
    """What a segmentation was turned into: two layers, not yet in a viewer, and the curves of every plane."""

    labels: Labels
    curves: Shapes
    ensembles: list[Ensemble]


@dataclass(frozen=True)
class Batch:
    """The planes of one layer that are segmented together, copied out of it.

    Attributes
    ----------
    source : Source
        The displayed plane, and the name, scale and unit of all.
    planes : dict of tuple of int to array
        By their place along the axes that are not displayed; () for a single plane.
    shape : tuple of int
        Sizes of those axes.
    placement : dict
        Arguments that put a new layer where the image is.
    """

    source: Source
    planes: dict[tuple[int, ...], NDArray[Any]]
    shape: tuple[int, ...]
    placement: dict[str, Any]


def displayed(source: Source) -> Batch:
    """The displayed plane alone."""
    return Batch(source, {(): source.data}, (), source.placement)


def all_planes(layer: Image, source: Source) -> Batch:
    """Every plane of a stack, in time or depth, each for itself; rows and columns have to be the last axes."""
    data = np.asarray(layer.data[0] if layer.multiscale else layer.data)
    hidden = data.shape[: layer.ndim - 2]
    placement = {"scale": layer.scale, "translate": layer.translate, "units": layer.units}
    return Batch(source, {place: data[place] for place in np.ndindex(*hidden)}, hidden, placement)


def commit(batch: Batch, settings: Outlines) -> Committed:
    """Segment and trace every plane, and make the layers."""
    total = 2 * len(batch.planes) + 1
    sheets: dict[tuple[int, ...], NDArray[np.integer]] = {}
    ensembles: dict[tuple[int, ...], Ensemble] = {}
    for index, (place, plane) in enumerate(batch.planes.items()):
        where = f" plane {', '.join(map(str, place))}" if place else ""
        with as_part(2 * index, total, f"segmenting {batch.source.name}{where}: "):
            sheets[place] = settings.labels(plane)
        report(f"tracing {batch.source.name}{where}", 2 * index + 1, total)
        ensembles[place] = settings.trace(
            sheets[place], scale=tuple(batch.source.scale), unit=batch.source.unit, name=batch.source.name
        )
    report("making layers", total - 1, total)
    return Committed(
        _labels_layer(batch, sheets, settings), _curves_layer(batch, ensembles, settings), list(ensembles.values())
    )


def _labels_layer(batch: Batch, sheets: dict[tuple[int, ...], NDArray[np.integer]], settings: Outlines) -> Labels:
    plane = next(iter(sheets.values()))
    data = np.zeros(batch.shape + plane.shape, dtype=np.int32)
    for place, sheet in sheets.items():
        data[place] = sheet
    return Labels(
        data, name=f"{batch.source.name} labels", metadata={"segmentation": settings.changed()}, **batch.placement
    )


def _curves_layer(batch: Batch, ensembles: dict[tuple[int, ...], Ensemble], settings: Outlines) -> Shapes:
    outlines, tables = [], []
    for place, ensemble in ensembles.items():
        for curve in ensemble.curves:
            pixels = curve / batch.source.scale
            outlines.append(np.concatenate([np.broadcast_to(place, (len(curve), len(place))), pixels], axis=1))
        axes = {f"plane {axis}": index for axis, index in enumerate(place)}
        tables.append(ensemble.features.assign(**axes, excluded=False))
    return Shapes(
        outlines or None,
        ndim=2 + len(batch.shape),
        shape_type="polygon",
        name=f"{batch.source.name} outlines",
        features=pd.concat(tables, ignore_index=True) if outlines else None,
        face_color="transparent",
        edge_color="#ffd400",
        edge_width=1.0,
        metadata={"segmentation": settings.changed(), "unit": batch.source.unit},
        **batch.placement,
    )
