"""Outlines too many for napari's Shapes layers, painted as labels: the layer, its colors, what is where.

A Shapes layer draws, colors and marks its outlines one by one. A picture of labels at several resolutions is drawn in
the time that the canvas takes, and colored anew by a table of colors, however many there are.
"""

from collections.abc import Collection
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
#: Outlines of one image up to which each has a color of its own: as many as napari has, which draws larger labels in
#: the same colors in turn. Of more, those whose color is the same are drawn as one label; see `Shades`.
MOST_LABELS = 2**16 - 1
#: Pixels of one layer at its full resolution, of 2 bytes each, or of 4 where there are more outlines.
MOST_PIXELS = 2**26
# Pixels across a typical outline: where there are fewer they are made finer, and shapes stay where they would be fewer
# than can be told apart.
_FINE, _COARSE = 16, 4
# Labels of more outlines: of what is picked, and of the steps of the scale, more than can be told apart.
_MARKED, _STEPS = 1, 4096
# Pixels along the longer side of the picture at its lowest resolution.
_SMALLEST = 512
# Share of a typical diameter by which those that stay shapes are thinned.
_THINNED = 0.01
# Options that are the same for both kinds of layers.
_KEPT = ("name", "opacity", "units", "rotate", "affine")

# Metadata under MARK, besides those of all own layers: "boxes" (N, 4), top, left, bottom and right of each outline in
# pixels of the layer; "painted by", the colormap and its limits; "picked", the rows that are marked; "shades", of more
# than `MOST_LABELS` outlines the label that each is drawn as, after that of the background.


class Shades:
    """A picture of more outlines than napari has colors for: of those in one color it shows the same label.

    What napari draws of it, about as much as the canvas has pixels, is looked up when it is drawn.
    """

    def __init__(self, rows: NDArray[np.uint32], shades: NDArray[np.uint16]) -> None:
        self.rows, self._shades = rows, shades  #: of each pixel 1 + the row of its outline, 0 for none
        self.shape, self.ndim, self.size, self.dtype = rows.shape, rows.ndim, rows.size, shades.dtype

    def __getitem__(self, key: Any) -> Any:
        return self._shades[self.rows[key]]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[...], dtype=dtype)


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
        More than `MOST_LABELS` outlines are `Shades`. Those so far apart that each would be a few pixels stay as they
        are, thinned.
    """
    vertices, starts = np.concatenate(curves), np.cumsum([0, *map(len, curves[:-1])])
    boxes = np.stack([ends.reduceat(vertices, starts) for ends in (np.minimum, np.maximum)], axis=1)
    size = float(np.median(np.ptp(boxes, axis=1)))
    corner, far = np.floor(boxes[:, 0].min(axis=0)), boxes[:, 1].max(axis=0)
    coarsest = float(np.sqrt(np.prod(far - corner + 1) / MOST_PIXELS))
    if coarsest > size / _COARSE:
        return simplified(curves, _THINNED * size), options, kind
    step = max(min(1.0, size / _FINE), coarsest)
    extent = np.ceil((far - corner) / step).astype(int) + 1
    halvings = max(int(np.ceil(np.log2(extent.max() / _SMALLEST))), 1)  # napari wants two levels at least
    height, width = (-(-extent // 2**halvings) * 2**halvings).tolist()  # or the levels would not lie on each other
    many = len(curves) > MOST_LABELS
    dtype = np.uint32 if many else np.uint16
    whole = rasterize(np.split((vertices - corner) / step, starts[1:]), (height, width), dtype)
    levels: list[Any] = [whole, *(np.ascontiguousarray(whole[:: 2**k, :: 2**k]) for k in range(1, halvings + 1))]
    scale = np.asarray(options["scale"])
    moved = np.asarray(options.get("rotate", np.eye(2))) @ (scale * corner)
    features, metadata = options["features"], options["metadata"]
    known = metadata[MARK] | {
        "boxes": ((boxes - corner) / step).reshape(-1, 4),
        "painted by": (options["face_colormap"], options["face_contrast_limits"]),
        "picked": frozenset(),
        "shades": np.zeros(len(curves) + 1, dtype=np.uint16) if many else None,
    }
    levels = [Shades(level, known["shades"]) for level in levels] if many else levels
    kept: dict[str, Any] = {name: options[name] for name in _KEPT if name in options}
    painted = {
        "multiscale": True,
        "scale": scale * step,
        "translate": np.asarray(options["translate"]) + moved,
        # napari takes "index" for the label; where that is a shade, it is to find no outline by it.
        "features": features.assign(index=np.arange(1, len(features) + 1) + (2**16 if many else 0)),
        "colormap": colors_of(features, known),
        "metadata": metadata | {MARK: known},
    }
    return levels, kept | painted, "labels"


def colors_of(features: pd.DataFrame, known: dict[str, Any]) -> CyclicLabelColormap:
    """One color per label: of its number on the scale, of a mark where it is picked, none where it has no number.

    Where there are shades, each outline gets that of its color.
    """
    colormap, (low, high) = known["painted by"]
    values = features["painted"].to_numpy(np.float64)
    filled, picked = np.flatnonzero(~np.isnan(values)) + 1, np.array(sorted(known["picked"]), dtype=np.int64) + 1
    on_scale = np.clip((values[filled - 1] - low) / (high - low), 0, 1)
    shades = known["shades"]
    if shades is not None:
        shades[:] = 0
        shades[filled] = _MARKED + 1 + np.round(on_scale * (_STEPS - 1)).astype(np.uint16)
        shades[picked] = _MARKED
        on_scale, filled, picked = np.linspace(0, 1, _STEPS), np.arange(_STEPS) + _MARKED + 1, np.array([_MARKED])
    colors = np.zeros((len(values) + 1 if shades is None else _STEPS + _MARKED + 1, 4), dtype=np.float32)
    colors[filled] = colormap.map(on_scale)
    colors[picked] = ColorValue(PICKED)
    return CyclicLabelColormap(colors=colors, background_value=0)


def draw(layer: Labels) -> None:
    """Let napari draw the colors of the outlines as they are now."""
    known: dict[str, Any] = layer.metadata[MARK]
    layer.colormap = colors_of(layer.features, known)
    if known["shades"] is not None:
        layer.refresh(extent=False)


def fill(layer: Labels, values: "pd.Series[float]", colormap: Colormap, low_high: tuple[float, float]) -> None:
    """Color the outlines by numbers, none where there is none; what is colored like that already is left alone."""
    known: dict[str, Any] = layer.metadata[MARK]
    painted_by = (colormap, low_high)
    if known["painted by"] != painted_by or not np.array_equal(values, layer.features["painted"], equal_nan=True):
        layer.features["painted"] = values
        known["painted by"] = painted_by
        draw(layer)


def mark(layer: Labels, rows: Collection[int]) -> None:
    """Mark outlines, and no others."""
    known: dict[str, Any] = layer.metadata[MARK]
    known["picked"] = frozenset(rows)
    draw(layer)


def rows_within(layer: Labels, places: Real) -> NDArray[np.int64]:
    """The rows of the outlines whose boxes touch that of places (n, 2) in the layer, in its pixels."""
    top, left, bottom, right = layer.metadata[MARK]["boxes"].T
    low, high = places.min(axis=0), places.max(axis=0)
    return np.flatnonzero((bottom >= low[0]) & (top <= high[0]) & (right >= low[1]) & (left <= high[1]))


def in_pixels(layer: Labels, row: int, curve: Real) -> Real:
    """Vertices (m, 2) of an outline, in whatever unit, in pixels of the layer that it is painted in."""
    low, high = layer.metadata[MARK]["boxes"][row].reshape(2, 2)
    start = curve.min(axis=0)
    placed: Real = low + (curve - start) * ((high - low) / (curve.max(axis=0) - start))
    return placed


def row_under(layer: Labels, place: Real) -> int | None:
    """The row of the outline at a place (2,) in the layer, in its pixels, at full resolution whatever is drawn."""
    whole = getattr(layer.data[0], "rows", layer.data[0])
    place = np.round(place).astype(int)
    inside = (place >= 0).all() and (place < whole.shape).all()
    label = int(whole[tuple(place)]) if inside else 0
    return label - 1 if label else None
