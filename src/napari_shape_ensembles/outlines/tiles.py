"""Outlines of labels too large for memory: tile by tile, with every object found once and whole, also across seams.

First the bounding box of every label is found, tile by tile. Then each tile traces the objects whose boxes start in it,
from a window that holds all of them whole. An object's outline depends on its own pixels alone, so it is the one that
`extract_curves` finds in the whole plane.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from .._types import Index
from ..budget import reserve_labels
from ..progress import each_block, report
from .border import window_of
from .ensemble import Ensemble
from .reasons import AT_BORDER, NEGATIVE, Reason, too_small
from .recipe import Recipe
from .tracing import pixel_of, traced_labels

#: Side of a tile in pixels.
TILE = 2048
# Labels up to this one are looked up in a table, higher ones by binary search.
_MAX_TABLE_LABEL = 1 << 26


@dataclass(frozen=True, eq=False)
class Boxes:
    """Bounding boxes of the labels of a plane.

    Attributes
    ----------
    values : (K,) array of int
        Labels above 0, ascending.
    corners : (K, 4) array of int
        Top, left, bottom and right of each; bottom and right are exclusive.
    areas : (K,) array of int
        Numbers of pixels.
    negative : int
        Number of tiles with labels below 0.
    """

    values: Index
    corners: Index
    areas: Index
    negative: int = 0

    @classmethod
    def joined(cls, parts: Sequence["Boxes"]) -> "Boxes":
        """Merge the boxes of several tiles into those of one plane."""
        values = np.concatenate([part.values for part in parts])
        order = np.argsort(values, kind="stable")
        values, starts = np.unique(values[order], return_index=True)
        negative = sum(part.negative for part in parts)
        if not len(values):
            return cls(values, np.empty((0, 4), np.int64), np.empty(0, np.int64), negative)
        corners = np.concatenate([part.corners for part in parts])[order]
        first, last = np.minimum.reduceat(corners[:, :2], starts), np.maximum.reduceat(corners[:, 2:], starts)
        areas = np.add.reduceat(np.concatenate([part.areas for part in parts])[order], starts)
        return cls(values, np.concatenate([first, last], axis=1), areas, negative)


@dataclass(frozen=True, eq=False)
class Window:
    """Objects that are traced together, and the part of the plane that holds them whole.

    Attributes
    ----------
    box : (int, int, int, int)
        Top, left, bottom, right.
    values : (k,) array of int
        Their labels, ascending.
    dropped : mapping of Reason to int
        Objects of this tile that are not traced, by reason.
    """

    box: tuple[int, int, int, int]
    values: Index
    dropped: Counter[Reason]


def boxes_in(labels: Any, tile: tuple[int, int, int, int]) -> Boxes:
    """Bounding boxes of the labels in one tile, from the runs of equal pixels in its rows."""
    top, left, bottom, right = tile
    plane = np.asarray(labels[top:bottom, left:right])
    if plane.ndim != 2 or plane.dtype.kind not in "iu":
        raise ValueError(f"labels must be a plane of integers, not {plane.dtype} values of shape {plane.shape}")
    width = right - left
    begins = np.ones(plane.shape, dtype=np.bool_)
    np.not_equal(plane[:, 1:], plane[:, :-1], out=begins[:, 1:])
    starts = np.flatnonzero(begins)
    values = plane.ravel()[starts].astype(np.int64)
    lengths = np.diff(starts, append=plane.size)
    negative = int((values < 0).any())
    kept = values > 0
    values, starts, lengths = values[kept], starts[kept], lengths[kept]
    rows, columns = np.divmod(starts, width)
    corners = np.stack([rows + top, columns + left, rows + top + 1, columns + left + lengths], axis=1)
    return Boxes.joined([Boxes(values, corners, lengths, negative)])


def windows_of(boxes: Boxes, shape: Sequence[int], recipe: Recipe, tile: int = TILE) -> list[Window]:
    """Assign objects to the tile in which their box starts; objects larger than a tile have a window of their own."""
    top, left, bottom, right = boxes.corners.T
    small = boxes.areas < recipe.min_area
    at_border = (top == 0) | (left == 0) | (bottom == shape[0]) | (right == shape[1])
    cut = at_border & ~small & (not recipe.keep_border)
    across = -(-shape[1] // tile)
    owner = (top // tile) * across + left // tile
    large = np.maximum(bottom - top, right - left) > tile
    windows = []
    order = np.argsort(owner, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(owner[order])) + 1) if len(order) else ():
        reasons = {too_small(recipe.min_area): small, AT_BORDER: cut}
        dropped = Counter({reason: int(out[group].sum()) for reason, out in reasons.items()})
        traced = group[~small[group] & ~cut[group]]
        together = traced[~large[traced]]
        for some in (together, *traced[large[traced]][:, None]):
            if len(some) or dropped.total():
                low = boxes.corners[some, :2].min(axis=0, initial=np.iinfo(np.int64).max)
                high = boxes.corners[some, 2:].max(axis=0, initial=0)
                box = (int(low[0]), int(low[1]), int(high[0]), int(high[1])) if len(some) else (0, 0, 0, 0)
                windows.append(Window(box, np.sort(boxes.values[some]), dropped))
                dropped = Counter()
    if boxes.negative:
        windows.append(Window((0, 0, 0, 0), boxes.values[:0], Counter({NEGATIVE: boxes.negative})))
    return windows


def trace_window(
    labels: Any, window: Window, recipe: Recipe, *, scale: Sequence[float] = (1, 1), unit: str = "pixel", name: str = ""
) -> Ensemble:
    """Outlines of the objects of one window, in the coordinates of the whole plane; holes have ids below 0."""
    top, left, bottom, right = window.box
    reserve_labels((bottom - top) * (right - left), np.dtype(labels.dtype).itemsize)
    plane = np.asarray(labels[top:bottom, left:right])
    highest = int(plane.max(initial=0))
    if highest < _MAX_TABLE_LABEL:
        table = np.zeros(highest + 1, np.int32)
        present = window.values <= highest
        table[window.values[present]] = np.flatnonzero(present) + 1
        numbers = table[np.maximum(plane, 0)] if plane.dtype.kind == "i" else table[plane]
    else:
        place = np.minimum(np.searchsorted(window.values, plane), max(len(window.values) - 1, 0))
        numbers = np.where(window.values[place] == plane, place + 1, 0)
    # Padded with background, so that no object touches the border of the window.
    numbers, whole = np.pad(numbers, 1), replace(recipe, keep_border=True)
    beside: Counter[Reason] = Counter()
    if len(window.values) == 1:  # a single label would be split like a mask; a pixel of another label prevents this
        numbers[0, 0] = 2
        beside.update(Ensemble(**traced_labels(np.pad([[1]], 1), whole, scale=scale)).dropped)
    traced = Ensemble(**traced_labels(numbers, whole, scale=scale, unit=unit, name=name))
    if len(window.values) == 1:
        traced = traced[traced.ids < 2]
    ids = traced.ids.copy()
    ids[ids > 0] = window.values[ids[ids > 0] - 1]
    offset = np.array([top - 1, left - 1]) * pixel_of(scale)
    return traced.derived(
        [curve + offset for curve in traced.curves],
        ids=ids,
        dropped=Counter(traced.dropped) + window.dropped - beside,
        window=window_of(labels.shape, pixel_of(scale), keeps_border=recipe.keep_border, holes=recipe.holes),
        tracing=traced.tracing | {"keep_border": recipe.keep_border},
    )


def outlines_in_tiles(
    labels: Any,
    recipe: Recipe,
    *,
    scale: Sequence[float] = (1, 1),
    unit: str = "pixel",
    name: str = "",
    tile: int = TILE,
) -> Ensemble:
    """Trace labels of any size tile by tile; the result is that of `extract_curves`.

    Parameters
    ----------
    labels : (rows, columns) array
        A Zarr, Dask or memory-mapped array, or any array-like with shape, dtype and slicing; each value one object.
    recipe : Recipe
        Parameters of tracing.
    scale, unit, name
        As in `extract_curves`.
    tile : int
        Side of a tile in pixels.

    Returns
    -------
    Ensemble
        In the order of the tiles in which the objects' boxes start, within each by label.

    Raises
    ------
    ValueError
        For anything but a 2D array of integers, or an object larger than the memory.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Outlines
    >>> from napari_shape_ensembles.outlines.tiles import outlines_in_tiles
    >>> labels = np.zeros((60, 60), int)
    >>> labels[10:25, 5:50], labels[30:50, 20:44] = 1, 2
    >>> outlines_in_tiles(labels, Outlines(), tile=32).to_dataframe()[["id", "area"]].sort_values("id").round()
       id   area
    1   1  671.0
    0   2  476.0
    """
    parts = list(outlines_by_tile(labels, recipe, scale=scale, unit=unit, name=name, tile=tile))
    ids = np.concatenate([np.empty(0, np.int64), *(part.ids for part in parts)])
    ids[ids < 0] = -1 - np.arange(np.count_nonzero(ids < 0))  # holes are numbered within their windows
    return Ensemble(
        [curve for part in parts for curve in part.curves],
        name=name,
        unit=unit,
        ids=ids,
        dropped=sum((Counter(part.dropped) for part in parts), Counter[Reason]()),
        filled=sum(part.filled for part in parts),
        pixel_size=pixel_of(scale),
        window=parts[0].window if parts else None,
        tracing=parts[0].tracing if parts else None,
    )


def outlines_by_tile(
    labels: Any,
    recipe: Recipe,
    *,
    scale: Sequence[float] = (1, 1),
    unit: str = "pixel",
    name: str = "",
    tile: int = TILE,
) -> Iterator[Ensemble]:
    """As `outlines_in_tiles`, one ensemble per tile as soon as it is traced, to save memory."""
    rows, columns = labels.shape
    corners = product(range(0, rows, tile), range(0, columns, tile))
    tiles = [(top, left, min(top + tile, rows), min(left + tile, columns)) for top, left in corners]
    parts = []
    report("finding objects", 0, 2 * len(tiles))
    for place, boxes in enumerate(each_block(lambda one: boxes_in(labels, one), tiles), start=1):
        report("finding objects", place, 2 * len(tiles))
        parts.append(boxes)
    windows = windows_of(Boxes.joined(parts), labels.shape, recipe, tile)
    trace = each_block(lambda one: trace_window(labels, one, recipe, scale=scale, unit=unit, name=name), windows)
    report("tracing outlines", len(tiles), 2 * len(tiles))
    for place, ensemble in enumerate(trace, start=1):
        report("tracing outlines", len(tiles) + place * len(tiles) // len(windows), 2 * len(tiles))
        yield ensemble
