"""Splitting a layer into layers for its parts, each with a row in the design table.

Planes and regions are array views: painting in one changes the whole. The objects of a region are segmented in the
whole plane, so that regions share a threshold (`inputs.PARTS`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely
from napari.layers import Image, Labels, Layer, Shapes
from numpy.typing import NDArray

from .._types import Real
from ..comparison.display import LayerData
from ..io.curve_table import feature_text
from ..io.image_parts import WHOLE, Box, ImagePart, polygon_of
from ..outlines import Outlines, objects_of_classes
from ..outlines.reasons import AT_BORDER
from ..outlines.units import conversion_factor
from ..palette import OUTLINE
from .inputs import (
    PARTS,
    Ids,
    PartOf,
    Source,
    axis_names,
    kind_of,
    labels_of,
    pixels_of,
    placement_of,
    shown_plane,
    source_of,
    symbol,
)

if TYPE_CHECKING:
    import pandas as pd
    from napari.components import Dims


# Maximum number of parts of a layer, and of distinct values of a categorical feature or class mask.
_MAX_PARTS, _MAX_VALUES = 200, 20
_APPEARANCE_ATTRIBUTES = ("colormap", "contrast_limits", "gamma", "rgb")
_NUMBERS = ("id", "index")


@dataclass(frozen=True, eq=False)
class NewPart:
    """A part to be created: its label, its definition, its layer data, and the number of objects left out."""

    label: str
    part: ImagePart
    layer: LayerData
    left_out: int = 0
    picked: bool = False  #: whether its outlines were picked by hand


@dataclass(frozen=True)
class SplitOption:
    """A way to split a layer."""

    title: str
    pieces: Callable[[], list[NewPart]]  #: slow: call it in the background
    regions: Layer | None = None  #: the layer whose shapes or labels are the regions
    replicates: str = ""  #: the feature whose values name replicates, each a part; empty for other parts


def split_options(layer: Layer, others: Iterable[Layer], dims: "Dims") -> list[SplitOption]:
    """Return the ways to split a layer: along axes that are not displayed, by regions, classes and features.

    Raise a ValueError with a remedy if no plane of it is shown.
    """
    source, hidden = source_of(layer, dims), _sliced_axes(layer, dims)
    found = [
        SplitOption(
            f"Planes along {axis_names(layer)[axis]} ({len(places)})", partial(_planes, layer, dims, axis, places)
        )
        for axis in hidden
        if 1 < len(places := _indices(layer, axis)) <= _MAX_PARTS
    ]
    if not isinstance(layer, Shapes) and (classes := _classes(source.data)):
        names = layer.metadata.get("phases", {})
        named = {value: str(names.get(value, f"class {value}")) for value in classes}
        plane = tuple(int(place) for axis, place in hidden.items())
        found.append(SplitOption(f"Classes ({len(classes)})", partial(_class_parts, layer, source, named, plane)))
    for column in _features(layer, _MAX_VALUES):
        values = _values_of(layer, column)
        found.append(SplitOption(f"Values of {column} ({len(values)})", partial(_value_parts, layer, column, values)))
    found += [replicate_option(layer, column) for column in _features(layer, _MAX_PARTS)]
    if not hidden:
        regions = [one for one in others if one is not layer and isinstance(one, Shapes | Labels) and one.ndim >= 2]
        found += [
            SplitOption(f"Regions of {one.name}", partial(_region_parts, layer, one, dims), one) for one in regions
        ]
    return found


def replicate_option(layer: Layer, column: str) -> SplitOption:
    """Return the way to split a layer by a feature that names replicates."""
    title = f"Replicates by {column} ({len(_values_of(layer, column))})"
    return SplitOption(title, partial(_replicate_parts, layer, column), replicates=column)


def features_of(layer: Layer) -> "pd.DataFrame":
    """Return the features of the outlines of a layer, without the background of labels; empty for images."""
    import pandas as pd

    table: pd.DataFrame = pd.DataFrame() if isinstance(layer, Image) else layer.features
    return table[table["index"] > 0] if isinstance(layer, Labels) and "index" in table else table


def layers_of(whole: Layer, pieces: Sequence[NewPart]) -> list[Layer]:
    """Create the layers of parts, and register them as such."""
    found = []
    for piece in pieces:
        data, options, kind = piece.layer
        layer = Layer.create(data, {**options, "name": f"{whole.name} {piece.label}"}, kind)
        PARTS[layer] = PartOf(whole, piece.part, picked=piece.picked)
        found.append(layer)
    return found


def root_of(layer: Layer) -> tuple[Layer, ImagePart | None]:
    """Return the layer that was split, through repeated splits, and this layer's part of it; None if undefined."""
    part: ImagePart | None = WHOLE
    while (known := PARTS.get(layer)) is not None:
        given, inner = known.part.given(), (part or WHOLE).given()
        named = known.part != WHOLE or known.whole is None
        part = replace(part, **given) if part is not None and named and not {*given} & {*inner} else None
        if known.whole is None:
            break
        layer = known.whole
    return layer, part


# Layer geometry ---------------------------------------------------------------------------------------------------


def _sliced_axes(layer: Layer, dims: "Dims") -> dict[int, int]:
    """Return the axes of length > 1 that are not displayed, with the current index on each."""
    shown, point, *_ = shown_plane(layer, dims)
    return {
        axis: int(max(point[axis], 0))
        for axis in range(layer.ndim)
        if axis not in shown and (isinstance(layer, Shapes) or pixels_of(layer).shape[axis] > 1)
    }


def _indices(layer: Layer, axis: int) -> list[int]:
    if isinstance(layer, Shapes):
        return sorted({round(float(np.asarray(shape)[0, axis])) for shape in layer.data})
    return list(range(pixels_of(layer).shape[axis]))


def _appearance(layer: Layer) -> dict[str, Any]:
    return {name: getattr(layer, name) for name in _APPEARANCE_ATTRIBUTES} if isinstance(layer, Image) else {}


def _some_shapes(layer: Shapes, rows: Sequence[int]) -> tuple[list[Any], dict[str, Any]]:
    """Return some shapes of a layer, with layer options for their types and features."""
    features = layer.features.iloc[list(rows)].reset_index(drop=True)
    kinds = [layer.shape_type[row] for row in rows]
    look = {"face_color": "transparent", "edge_color": OUTLINE, "edge_width": layer.edge_width[0]}
    options = {"shape_type": kinds or "polygon", "features": features, "ndim": layer.ndim, **look}
    return [np.asarray(layer.data[row]) for row in rows], options


# Ways to split ----------------------------------------------------------------------------------------------------


def _planes(layer: Layer, dims: "Dims", axis: int, places: Sequence[int]) -> list[NewPart]:
    """Return the planes along an axis, at the current index of the other sliced axes."""
    source, hidden, pieces = source_of(layer, dims), _sliced_axes(layer, dims), []
    shown = shown_plane(layer, dims).axes
    for place in places:
        at = {**hidden, axis: place}
        part = ImagePart(plane=tuple(at[one] for one in sorted(at)))
        if isinstance(layer, Shapes):
            on_plane = [
                row
                for row, shape in enumerate(layer.data)
                if all((np.round(np.asarray(shape)[:, one]) == where).all() for one, where in at.items())
            ]
            data, options = _some_shapes(layer, on_plane)
            data, options = [shape[:, shown] for shape in data], {**options, "ndim": 2}
        else:
            whole = pixels_of(layer)
            data = whole[tuple(slice(None) if one in shown else at.get(one, 0) for one in range(layer.ndim))]
            data, options = data.swapaxes(0, 1) if shown[0] > shown[1] else data, _appearance(layer)
        pieces.append(NewPart(str(part), part, (data, {**options, **source.placement}, kind_of(layer))))
    return pieces


def _classes(plane: NDArray[Any]) -> list[int]:
    """Return the nonzero values of a class mask; empty for other arrays."""
    if not isinstance(plane, np.ndarray) or plane.ndim != 2 or plane.dtype.kind not in "iu" or not plane.size:
        return []
    if plane.min() < 0 or plane.max() > 255:
        return []
    values = np.flatnonzero(np.bincount(plane.ravel()))
    values = values[values > 0].tolist()
    return values if 1 < len(values) <= _MAX_VALUES else []


def _class_parts(layer: Layer, source: Any, names: dict[int, str], plane: tuple[int, ...]) -> list[NewPart]:
    return [
        NewPart(
            name,
            ImagePart(plane=plane, value=value),
            (objects_of_classes(source.data, [value]), dict(source.placement), "labels"),
        )
        for value, name in names.items()
    ]


def _features(layer: Layer, most: int) -> list[str]:
    """Return the categorical features: few distinct values, shared by several objects."""
    table, found = features_of(layer), []
    for name in table:
        if name in _NUMBERS or (table[name].dtype.kind == "f" and (table[name].dropna() % 1 != 0).any()):
            continue
        if 1 < table[name].nunique(dropna=False) <= min(most, len(table) / 2):
            found.append(str(name))
    return found


def _values_of(layer: Layer, column: str) -> list[str]:
    return list(dict.fromkeys(features_of(layer)[column].map(feature_text)))


def _replicate_parts(layer: Layer, column: str) -> list[NewPart]:
    """Return the parts with each value of a feature; all outlines must have one."""
    values = features_of(layer)[column]
    if missing := int((values.isna() | (values.map(feature_text) == "")).sum()):
        raise ValueError(
            f'{missing} of {len(values)} outlines of "{layer.name}" have no {column}: fill the column, or delete them'
        )
    parts = _value_parts(layer, column, _values_of(layer, column))
    return [replace(piece, label=f"{column} {piece.label}") if piece.label[:1].isdigit() else piece for piece in parts]


def _value_parts(layer: Layer, column: str, values: Sequence[str]) -> list[NewPart]:
    texts, place = layer.features[column].map(feature_text), placement_of(layer)
    pieces = []
    for value in values:
        if isinstance(layer, Shapes):
            part = ImagePart(feature=(column, value))
        else:  # an orientation map (EBSD) has the phase of each grain
            part = ImagePart(phase=value) if column == "phase" else WHOLE
        rows = np.flatnonzero(texts == value)
        if isinstance(layer, Shapes):
            data, options = _some_shapes(layer, rows.tolist())
            pieces.append(NewPart(value, part, (data, {**options, **place}, "shapes")))
        else:
            ids = layer.features["index"].to_numpy()[rows] if "index" in layer.features else rows
            ids = ids[ids > 0]
            if not len(ids):
                continue
            whole = np.asarray(pixels_of(layer))
            labels = np.where(np.isin(whole, ids), whole, 0)
            pieces.append(NewPart(value, part, (labels, place, "labels")))
    return pieces


def picked_parts(source: Source, recipe: Outlines, picked: Ids, excluded: Ids, name: str) -> list[NewPart]:
    """Return the picked outlines of an image as a part, after all its other ones, if any, as another: "rest".

    They are the labels that the recipe finds, so that both are traced as before. The outlines of a tiling, which share
    boundaries, are shapes, like those of shapes; as these are numbered anew, excluded ones are left out.
    """
    if source.kind == "shapes":
        known = dict(enumerate(source.data))
    else:
        # Not those of a comparison, which lack what the coarser images do not show.
        labels, ignored, _ = labels_of(source, recipe)
        scale = tuple(source.scale)
        found = recipe.trace(labels, scale=scale, unit=source.unit, name=source.name, ignored=ignored)
        known = {one: curve / source.scale for one, curve in zip(found.ids.tolist(), found.curves, strict=True)}
    as_labels = source.kind != "shapes" and not recipe.is_tiling
    others = frozenset(map(str, known)) - picked - (frozenset() if as_labels else excluded)
    parts = [("rest", others, False)] * bool(others) + [(name, picked, True)]
    if as_labels:
        return [
            NewPart(
                label,
                WHOLE,
                (np.where(np.isin(labels, [int(one) for one in ids]), labels, 0), {**source.placement}, "labels"),
                picked=by_hand,
            )
            for label, ids, by_hand in parts
        ]
    width = float(np.median([np.ptp(curve, axis=0).max() for curve in known.values()])) / 40
    look = {"shape_type": "polygon", "face_color": "transparent", "edge_color": OUTLINE, "edge_width": width}
    return [
        NewPart(
            label,
            WHOLE,
            ([curve for one, curve in known.items() if str(one) in ids], {**look, **source.placement}, "shapes"),
            picked=by_hand,
        )
        for label, ids, by_hand in parts
    ]


def _region_parts(layer: Layer, drawn: Layer, dims: "Dims") -> list[NewPart]:
    """Return the parts of a layer inside the shapes or labels of another."""
    polygons = _polygons(drawn, dims)
    if not polygons:
        raise ValueError(f'"{drawn.name}" contains no closed region')
    if len(polygons) > _MAX_PARTS:
        raise ValueError(f'"{drawn.name}" holds {len(polygons)} regions: the maximum is {_MAX_PARTS}')
    to_pixels = _pixel_map(drawn, layer, dims)
    pieces = []
    for number, polygon in polygons.items():
        region = shapely.transform(polygon, lambda xy: to_pixels(xy[:, ::-1])[:, ::-1])
        if not region.is_valid:
            raise ValueError(f'region {number} of "{drawn.name}" intersects itself: draw it again')
        label, part = f"region {number}", ImagePart(region=shapely.to_wkt(region, rounding_precision=3))
        if isinstance(layer, Shapes):
            shapely.prepare(region)
            closed = shapely.polygons([np.asarray(shape)[:, ::-1] for shape in layer.data])
            inside, touched = shapely.contains_properly(region, closed), shapely.intersects(region, closed)
            data, options = _some_shapes(layer, np.flatnonzero(inside).tolist())
            cut = int((touched & ~inside).sum())
            pieces.append(NewPart(label, WHOLE, (data, {**options, **placement_of(layer)}, "shapes"), cut))
            continue
        pieces.append(NewPart(label, part, region_layer(layer, str(part.region), dims, label)))
    return pieces


def region_layer(layer: Layer, region: Box | str, dims: "Dims", label: str = "") -> LayerData:
    """Return layer data of the bounding box of a region of an image or labels, as a view, with its translation."""
    source = source_of(layer, dims)
    if isinstance(region, str):
        left, top, right, bottom = shapely.bounds(polygon_of(region)).tolist()
        box = np.array([[np.floor(top), np.ceil(bottom) + 1], [np.floor(left), np.ceil(right) + 1]])
    else:
        box = np.reshape(region, (2, 2))
    shape = np.array(source.data.shape[:2])
    low, high = np.clip(box.T.astype(int), 0, shape)
    if (high <= low).any():
        raise ValueError(f'{label or "the region"} lies outside "{layer.name}"')
    shown, whole = shown_plane(layer, dims).axes, pixels_of(layer)
    plane = whole[tuple(slice(None) if axis in shown else 0 for axis in range(layer.ndim))]
    plane = plane.swapaxes(0, 1) if shown[0] > shown[1] else plane
    linear = source.placement["rotate"] * source.placement["scale"]
    moved = {**source.placement, "translate": source.placement["translate"] + linear @ low}
    return plane[low[0] : high[0], low[1] : high[1]], {**_appearance(layer), **moved}, kind_of(layer)


def _polygons(drawn: Layer, dims: "Dims") -> dict[int, shapely.Geometry]:
    """Return the regions of a layer by number, as polygons with x = column and y = row in layer pixels."""
    source = source_of(drawn, dims)
    if source.kind == "shapes":
        return {number: shapely.polygons(shape[:, ::-1]) for number, shape in enumerate(source.data, 1)}
    found = {}
    values = np.unique(source.data)
    for value in values[values > 0][: _MAX_PARTS + 1].tolist():
        mask = np.pad(source.data == value, ((0, 0), (1, 1))).astype(np.int8)
        rows, starts = np.nonzero(np.diff(mask, axis=1) == 1)
        _, ends = np.nonzero(np.diff(mask, axis=1) == -1)
        boxes = shapely.box(starts - 0.5, rows - 0.5, ends - 0.5, rows + 0.5)
        found[int(value)] = shapely.simplify(shapely.union_all(boxes), 0)
    return found


def _pixel_map(one: Layer, other: Layer, dims: "Dims") -> Callable[[Real], Real]:
    """Return the map from the pixels of one layer to those of another, on the displayed plane."""
    maps = []
    for layer in (one, other):
        shown = shown_plane(layer, dims).axes
        corner, *ends = (
            np.asarray(layer.data_to_world(place))[shown]
            for place in [np.zeros(layer.ndim), *np.eye(layer.ndim)[shown]]
        )
        units = [conversion_factor(symbol(layer.units[axis]), symbol(other.units[-1])) for axis in shown]
        matrix = np.stack([end - corner for end in ends], axis=1) * np.array(units)[:, None]
        maps.append((matrix, corner * units))
    (into, start), (own, origin) = maps
    return lambda points: np.linalg.solve(own, (points @ into.T + start - origin).T).T


def left_out_sentence(pieces: Sequence[NewPart]) -> str:
    """Return a sentence on the objects left out of regions, empty for none."""
    cut = sum(piece.left_out for piece in pieces)
    return f"{cut} outlines left out: {AT_BORDER}." if cut else ""
