"""Outlines too many for napari's Shapes layers, painted as labels: the layer, its colors, what is where.

A Shapes layer draws, colors and marks its outlines one by one. A picture of labels at several resolutions is drawn in
the time that the canvas takes, and colored anew by a table of colors, however many there are.
"""

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import pandas as pd
from napari.layers import Labels
from napari.utils import Colormap
from napari.utils.color import ColorValue
from napari.utils.colormaps import CyclicLabelColormap
from numpy.typing import NDArray

from ..comparison.display import MARK, LayerData, simplified
from ..outlines.rasterize import rasterize
from ..palette import PICKED

Real = NDArray[np.float64]

#: Outlines of one comparison up to which they are shapes: beyond, a change of color or a pick takes more than 0.1 s.
MOST_SHAPES = 5_000
#: Outlines of one image up to which they are labels: as many as 16 bits hold. Of larger numbers napari draws colors in
#: turn, and each picture has to be gone through anew for that.
MOST_LABELS = 2**16 - 1
#: Pixels of one layer at its full resolution, of 2 bytes each.
MOST_PIXELS = 2**26
# Pixels across a typical outline: where there are fewer they are made finer, and shapes stay where they would be fewer
# than can be told apart.
_FINE, _COARSE = 16, 4
# Pixels along the longer side of the picture at its lowest resolution.
_SMALLEST = 512
# Share of a typical diameter by which those that stay shapes are thinned.
_THINNED = 0.01
# Options that are the same for both kinds of layers.
_KEPT = ("name", "opacity", "units", "rotate", "affine")

# Metadata under MARK, besides those of all own layers: "boxes" (N, 4), top, left, bottom and right of each outline in
# pixels of the layer; "painted by", the colormap and its limits; "picked", the rows that are marked.


def label_layer(curves: list[Real], options: dict[str, Any], kind: str = "shapes") -> LayerData:
    """Data of a Labels layer that shows what a Shapes layer would: row i of its features is label i + 1.

    Parameters
    ----------
    curves, options, kind
        Data of a Shapes layer, filled by the feature "painted"; the curves in full.

    Returns
    -------
    (levels, options, "labels")
        Pixels are those of the layer that the curves were found in, whose whole numbers are their centres: finer
        where a typical outline is less than 16 of them across, coarser where there would be more than `MOST_PIXELS`.
        Of outlines that overlap, the later is on top. Each level has half the rows and columns of that before it.
        What labels cannot hold stays as it is, thinned: more than `MOST_LABELS` outlines, and so few and far apart
        that each would be a few pixels.
    """
    vertices, starts = np.concatenate(curves), np.cumsum([0, *map(len, curves[:-1])])
    boxes = np.stack([ends.reduceat(vertices, starts) for ends in (np.minimum, np.maximum)], axis=1)
    size = float(np.median(np.ptp(boxes, axis=1)))
    corner, far = np.floor(boxes[:, 0].min(axis=0)), boxes[:, 1].max(axis=0)
    coarsest = float(np.sqrt(np.prod(far - corner + 1) / MOST_PIXELS))
    if len(curves) > MOST_LABELS or coarsest > size / _COARSE:
        return simplified(curves, _THINNED * size), options, kind
    step = max(min(1.0, size / _FINE), coarsest)
    extent = np.ceil((far - corner) / step).astype(int) + 1
    halvings = max(int(np.ceil(np.log2(extent.max() / _SMALLEST))), 1)  # napari wants two levels at least
    height, width = (-(-extent // 2**halvings) * 2**halvings).tolist()  # or the levels would not lie on each other
    whole = rasterize(np.split((vertices - corner) / step, starts[1:]), (height, width), np.uint16)
    levels = [whole, *(np.ascontiguousarray(whole[:: 2**k, :: 2**k]) for k in range(1, halvings + 1))]
    scale = np.asarray(options["scale"])
    moved = np.asarray(options.get("rotate", np.eye(2))) @ (scale * corner)
    features, metadata = options["features"], options["metadata"]
    known = metadata[MARK] | {
        "boxes": ((boxes - corner) / step).reshape(-1, 4),
        "painted by": (options["face_colormap"], options["face_contrast_limits"]),
        "picked": frozenset(),
    }
    kept: dict[str, Any] = {name: options[name] for name in _KEPT if name in options}
    painted = {
        "multiscale": True,
        "scale": scale * step,
        "translate": np.asarray(options["translate"]) + moved,
        "features": features.assign(index=np.arange(1, len(features) + 1)),
        "colormap": colors_of(features, known),
        "metadata": metadata | {MARK: known},
    }
    return levels, kept | painted, "labels"


def colors_of(features: pd.DataFrame, known: dict[str, Any]) -> CyclicLabelColormap:
    """One color per label: of its number on the scale, of a mark where it is picked, none where it has no number."""
    colormap, (low, high) = known["painted by"]
    values = features["painted"].to_numpy(np.float64)
    filled = np.flatnonzero(~np.isnan(values))
    colors = np.zeros((len(values) + 1, 4), dtype=np.float32)
    colors[filled + 1] = colormap.map(np.clip((values[filled] - low) / (high - low), 0, 1))
    colors[np.array(sorted(known["picked"]), dtype=np.int64) + 1] = ColorValue(PICKED)
    return CyclicLabelColormap(colors=colors, background_value=0)


def fill(layer: Labels, values: "pd.Series[float]", colormap: Colormap, low_high: tuple[float, float]) -> None:
    """Color the outlines by numbers, none where there is none; what is colored like that already is left alone."""
    known: dict[str, Any] = layer.metadata[MARK]
    painted_by = (colormap, low_high)
    if known["painted by"] != painted_by or not np.array_equal(values, layer.features["painted"], equal_nan=True):
        layer.features["painted"] = values
        known["painted by"] = painted_by
        layer.colormap = colors_of(layer.features, known)


def mark(layer: Labels, rows: Collection[int]) -> None:
    """Mark outlines, and no others."""
    known: dict[str, Any] = layer.metadata[MARK]
    known["picked"] = frozenset(rows)
    layer.colormap = colors_of(layer.features, known)


def row_under(layer: Labels, position: Iterable[float]) -> int | None:
    """The row of the outline at a place of the viewer, at full resolution whatever is drawn."""
    whole = layer.data[0]
    place = np.round(layer.world_to_data(position)).astype(int)
    inside = (place >= 0).all() and (place < whole.shape).all()
    label = int(whole[tuple(place)]) if inside else 0
    return label - 1 if label else None
