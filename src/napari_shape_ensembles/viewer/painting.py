"""Labels layers in place of Shapes layers for large numbers of outlines: rasterization, colors and hit testing.

A Shapes layer draws, colors and highlights its outlines one by one. A multiscale Labels layer is drawn in a time that
depends on the canvas only, and recolored through a lookup table, regardless of the number of outlines.
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

from .._types import Real
from ..comparison.display import MARK, LayerData, simplified
from ..outlines.rasterize import rasterize
from ..palette import PICKED

#: Maximum number of outlines in Shapes layers: beyond, recoloring or selecting takes more than 0.1 s.
MAX_SHAPES = 5_000
#: Maximum number of outlines per image with a color each, as napari's label colors repeat beyond. With more, outlines
#: of the same color share a label; see `ShadeArray`.
MAX_LABELS = 2**16 - 1
#: Maximum number of pixels of a layer at full resolution, 2 bytes each, or 4 with more than `MAX_LABELS` outlines.
MAX_PIXELS = 2**26
# Pixels across a typical outline: the resolution is increased to the first; below the second, Shapes layers are kept.
_FINE, _COARSE = 16, 4
# Labels used by `ShadeArray`: the selection, and the steps of the color scale, finer than can be distinguished.
_SELECTED_LABEL, _COLOR_STEPS = 1, 4096
# Pixels along the longer side at the lowest resolution.
_SMALLEST_LEVEL_PX = 512
# Tolerance for the simplification of outlines that stay shapes, relative to a typical diameter.
_SIMPLIFY_TOLERANCE = 0.01
# Layer options shared by Shapes and Labels.
_SHARED_OPTIONS = ("name", "opacity", "units", "rotate", "affine")

# Metadata under MARK, in addition to those of all own layers: "boxes" (N, 4), the bounding box (top, left, bottom,
# right) of each outline in layer pixels; "painted by", the colormap and its limits; "picked", the selected rows;
# "shades", with more than `MAX_LABELS` outlines, the label of the background and of each outline.


class ShadeArray:
    """Array of labels for more outlines than napari has label colors: outlines of the same color share a label.

    The labels of the region drawn, about as large as the canvas, are looked up lazily.
    """

    def __init__(self, rows: NDArray[np.uint32], shades: NDArray[np.uint16]) -> None:
        self.rows, self._shades = rows, shades  #: per pixel, 1 + the row of its outline, or 0
        self.shape, self.ndim, self.size, self.dtype = rows.shape, rows.ndim, rows.size, shades.dtype

    def __getitem__(self, key: Any) -> Any:
        return self._shades[self.rows[key]]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[...], dtype=dtype)


def label_layer(curves: list[Real], options: dict[str, Any], kind: str = "shapes") -> LayerData:
    """Return layer data of a Labels layer equivalent to a Shapes layer: row i of its features is label i + 1.

    Parameters
    ----------
    curves, options, kind
        Layer data of a Shapes layer, colored by the feature "painted"; with the full curves.

    Returns
    -------
    (levels, options, "labels")
        Pixels are those of the layer in which the curves were found (centers at integers): finer if a typical outline
        is less than 16 pixels across, coarser if there would be more than `MAX_PIXELS`. Later outlines are on top.
        Levels are downsampled by 2. For more than `MAX_LABELS` outlines, levels are `ShadeArray`. If each outline would
        be only a few pixels, the Shapes data are returned, simplified.
    """
    vertices, starts = np.concatenate(curves), np.cumsum([0, *map(len, curves[:-1])])
    boxes = np.stack([ends.reduceat(vertices, starts) for ends in (np.minimum, np.maximum)], axis=1)
    size = float(np.median(np.ptp(boxes, axis=1)))
    corner, far = np.floor(boxes[:, 0].min(axis=0)), boxes[:, 1].max(axis=0)
    coarsest = float(np.sqrt(np.prod(far - corner + 1) / MAX_PIXELS))
    if coarsest > size / _COARSE:
        return simplified(curves, _SIMPLIFY_TOLERANCE * size), options, kind
    step = max(min(1.0, size / _FINE), coarsest)
    extent = np.ceil((far - corner) / step).astype(int) + 1
    halvings = max(int(np.ceil(np.log2(extent.max() / _SMALLEST_LEVEL_PX))), 1)  # napari requires at least two levels
    height, width = (-(-extent // 2**halvings) * 2**halvings).tolist()  # else the levels would not align
    many = len(curves) > MAX_LABELS
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
    levels = [ShadeArray(level, known["shades"]) for level in levels] if many else levels
    kept: dict[str, Any] = {name: options[name] for name in _SHARED_OPTIONS if name in options}
    painted = {
        "multiscale": True,
        "scale": scale * step,
        "translate": np.asarray(options["translate"]) + moved,
        # napari looks features up by "index" = label; labels of `ShadeArray` must not match any outline.
        "features": features.assign(index=np.arange(1, len(features) + 1) + (2**16 if many else 0)),
        "colormap": colors_of(features, known),
        "metadata": metadata | {MARK: known},
    }
    return levels, kept | painted, "labels"


def colors_of(features: pd.DataFrame, known: dict[str, Any]) -> CyclicLabelColormap:
    """Return the colormap of the labels: by value, the highlight color if selected, transparent if the value is NaN.

    With shades, also update the shade of each outline.
    """
    colormap, (low, high) = known["painted by"]
    values = features["painted"].to_numpy(np.float64)
    filled, picked = np.flatnonzero(~np.isnan(values)) + 1, np.array(sorted(known["picked"]), dtype=np.int64) + 1
    on_scale = np.clip((values[filled - 1] - low) / (high - low), 0, 1)
    shades = known["shades"]
    if shades is not None:
        shades[:] = 0
        shades[filled] = _SELECTED_LABEL + 1 + np.round(on_scale * (_COLOR_STEPS - 1)).astype(np.uint16)
        shades[picked] = _SELECTED_LABEL
        on_scale, filled, picked = (
            np.linspace(0, 1, _COLOR_STEPS),
            np.arange(_COLOR_STEPS) + _SELECTED_LABEL + 1,
            np.array([_SELECTED_LABEL]),
        )
    colors = np.zeros((len(values) + 1 if shades is None else _COLOR_STEPS + _SELECTED_LABEL + 1, 4), dtype=np.float32)
    colors[filled] = colormap.map(on_scale)
    colors[picked] = ColorValue(PICKED)
    return CyclicLabelColormap(colors=colors, background_value=0)


def draw(layer: Labels) -> None:
    """Update the colors of a layer."""
    known: dict[str, Any] = layer.metadata[MARK]
    layer.colormap = colors_of(layer.features, known)
    if known["shades"] is not None:
        layer.refresh(extent=False)


def fill(layer: Labels, values: "pd.Series[float]", colormap: Colormap, low_high: tuple[float, float]) -> None:
    """Color the outlines by values (transparent for NaN), unless unchanged."""
    known: dict[str, Any] = layer.metadata[MARK]
    painted_by = (colormap, low_high)
    if known["painted by"] != painted_by or not np.array_equal(values, layer.features["painted"], equal_nan=True):
        layer.features["painted"] = values
        known["painted by"] = painted_by
        draw(layer)


def mark(layer: Labels, rows: Collection[int]) -> None:
    """Highlight exactly these outlines."""
    known: dict[str, Any] = layer.metadata[MARK]
    known["picked"] = frozenset(rows)
    draw(layer)


def rows_within(layer: Labels, places: Real) -> NDArray[np.int64]:
    """Return the rows of outlines whose bounding boxes intersect that of points (n, 2), in layer pixels."""
    top, left, bottom, right = layer.metadata[MARK]["boxes"].T
    low, high = places.min(axis=0), places.max(axis=0)
    return np.flatnonzero((bottom >= low[0]) & (top <= high[0]) & (right >= low[1]) & (left <= high[1]))


def in_pixels(layer: Labels, row: int, curve: Real) -> Real:
    """Convert vertices (m, 2) of an outline from any unit to the pixels of its layer."""
    low, high = layer.metadata[MARK]["boxes"][row].reshape(2, 2)
    start = curve.min(axis=0)
    placed: Real = low + (curve - start) * ((high - low) / (curve.max(axis=0) - start))
    return placed


def row_under(layer: Labels, place: Real) -> int | None:
    """Return the row of the outline at a point (2,) in layer pixels, by the full-resolution level, or None."""
    whole = getattr(layer.data[0], "rows", layer.data[0])
    place = np.round(place).astype(int)
    inside = (place >= 0).all() and (place < whole.shape).all()
    label = int(whole[tuple(place)]) if inside else 0
    return label - 1 if label else None
