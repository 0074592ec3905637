"""What the columns of a table of vertices mean, by their names and by their values.

A name alone misleads: ids start again in each image, `index` may number the rows, `label` may be a class, and `row` and
`column` may be those of a well plate. So every name is checked against the values of the other columns.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._types import Index, Real
from ..archive import ContentError
from ..outlines.order import MANY_VERTICES, MIN_JUMP, is_closed
from ..outlines.units import length_unit
from .content import is_number

if TYPE_CHECKING:
    import pandas as pd

# Names as they read without case, spaces and punctuation; pairs of (row, column) in the order of preference.
_COORDINATES = (
    ("row", "column"), ("row", "col"), ("axis0", "axis1"), ("axis1", "axis2"), ("y", "x"), ("vertexy", "vertexx"),
    ("ycoord", "xcoord"), ("ycoordinate", "xcoordinate"), ("coordy", "coordx"), ("posy", "posx"),
    ("positiony", "positionx"), ("ylocal", "xlocal"), ("locationy", "locationx"), ("ypos", "xpos"),
    ("yposition", "xposition"), ("pointy", "pointx"),
)  # fmt: skip
_DEPTHS = ("z", "axis2", "depth")
_IDS = (
    "id", "index", "curve", "label", "contour", "curveid", "contourid", "specimenid", "objectid", "cellid",
    "objectnumber", "roi", "roiid", "roiname", "object", "outline", "outlineid", "polygon", "polygonid", "shape",
    "shapeid", "instance", "instanceid", "particle", "particleid", "nucleusid", "grainid", "labelid", "trackid", "cell",
    "specimen", "nucleus", "grain", "mask", "maskid", "track",
)  # fmt: skip
_VERTICES = ("vertex", "vertexindex", "point", "vertexid", "pointid", "coordid", "vertexnumber", "pointindex", "order")
#: Columns of the rings of one outline (the first around it, the others holes), and of the parts of one object.
RINGS, PARTS_OF_OBJECT = (
    ("ring", "ringid", "ringindex", "hole"),
    ("part", "partid", "partindex", "piece", "polygonpart"),
)
#: Columns of images, and of the parts of one image.
IMAGES = (
    "image", "imageid", "imagename", "imagenumber", "imagefile", "imagefilename", "img", "file", "fileid", "filename",
    "path", "series", "scene", "field", "fieldid", "fieldofview", "fov", "site", "position", "pos", "well", "wellid",
    "tile", "plate", "plateid", "row", "column", "col", "scenename", "seriesname", "folder", "foldername", "directory",
    "sample", "samplename", "sampleid",
)  # fmt: skip
FRAMES = (
    "frame", "frameid", "frameindex", "framenumber", "t", "time", "timepoint", "timeindex", "slice", "sliceid",
    "slicenumber", "plane", "planeid", "z", "zslice", "zindex", "zplane", "section", "axis0",
)  # fmt: skip
#: Columns of channels, which show the same place; and of kinds of objects.
CHANNELS, CLASSES = (
    ("channel", "channelid", "channelname", "ch", "c"),
    ("class", "classid", "classname", "category", "classification", "type", "label", "kind", "phase"),
)
# Columns that number frames rather than measure a time or a depth, which may vary along an outline.
_NUMBERED_FRAMES = ("frame", "frameid", "frameindex", "framenumber", "slice", "sliceid", "slicenumber", "timepoint")

# A unit at the end of a name: in brackets, or one of these.
_UNIT = re.compile(r"\s*[\[(]\s*([^\])]+?)\s*[\])]\s*$|[ _](px|pixels?|[uµμ]m|microns?|nm|mm)$", re.IGNORECASE)
_SPELLINGS = {"um": "µm", "μm": "µm"}
_MIN_VERTICES = 3
_MIN_CLOSED_FRACTION = 0.9
# Two pairs of columns hold the same positions in different units if they correlate by at least this.
_MIN_CORRELATION = 0.9999
_MAX_NAMED = 8


def bare_name(name: object) -> str:
    """Return a name without case, spaces, punctuation and its unit: "Cell ID" and "cell_id" are alike.

    Also without the prefix that CellProfiler gives to what describes an image.
    """
    return re.sub(r"[^a-z0-9]", "", _UNIT.sub("", str(name)).lower()).removeprefix("metadata")


def unit_in(name: object) -> str:
    """Return the unit of length that the name of a column states, as "x [µm]" and "x_um" do; empty if there is none."""
    stated = _UNIT.search(str(name))
    if stated is None:
        return ""
    try:
        return length_unit(_SPELLINGS.get(unit := stated.group(1) or stated.group(2), unit))
    except ContentError:
        return ""


@dataclass(frozen=True)
class Roles:
    """Columns of a table of vertices.

    Attributes
    ----------
    row, column : str
        Coordinates.
    vertex : str
        Order of the vertices of a curve; empty if that is the order of the rows.
    keys : tuple of str
        Columns that identify the curve together; empty for a single curve.
    images : tuple of str
        Columns of images, which are constant along each curve.
    """

    row: str
    column: str
    vertex: str
    keys: tuple[str, ...]
    images: tuple[str, ...]


def roles_of(frame: "pd.DataFrame", curve_columns: Sequence[str] = ()) -> Roles:
    """Return the roles of the columns of a table with one row per vertex.

    `curve_columns` identify the curve, if the user has named them. A table without coordinates or with three of them,
    and one whose columns can be read in several ways, raise a ValueError, which asks for the columns by name.
    """
    names: dict[str, str] = {}
    for name in frame.columns:
        names.setdefault(bare_name(name), name)
    if missing := [name for name in curve_columns if name not in frame]:
        raise ContentError(f"has no column {missing[0]}; its columns are {_columns(frame)}")
    row, column = _coordinates(frame, names)
    if coordinates := [name for name in curve_columns if name in (row, column)]:
        raise ContentError(f"curve_column: {coordinates[0]} holds coordinates; give the column that identifies a curve")
    vertex = next((names[name] for name in _VERTICES if name in names and names[name] not in curve_columns), "")
    others = [name for name in frame.columns if name not in (row, column, vertex)]
    vertices = frame[[row, column]].to_numpy(dtype=np.float64)
    codes = {name: _codes(frame[name]) for name in others}
    keys, vertex = _keys(codes, vertices, tuple(curve_columns), vertex)
    keys, curve = _refined(codes, vertices, keys, named_only=bool(curve_columns))
    _refuse_repeats(frame, vertices, keys, curve, vertex)
    _refuse_objects(frame, codes, keys, vertex)
    _refuse_tracks(codes, keys, curve)
    known = {bare_name(column), *(name for _, name in _COORDINATES)}
    depths = {_other_axis(name, "z") for name in known if "x" in name[:1] + name[-1:]} | {*_DEPTHS}
    depth = next((name for name in others if bare_name(name) in depths), None)
    if depth is not None and depth not in keys and _varies(codes[depth], curve):
        raise ContentError(
            f"its outlines are curves in space (column {depth}): save them in one plane, or remove the column"
        )
    # Also a column of any other name in whose groups ids start again.
    apart = (*FRAMES, *RINGS, *PARTS_OF_OBJECT, *CHANNELS, *CLASSES)
    again = [] if curve_columns else [name for name in keys[:-1] if bare_name(name) not in apart]
    again = [name for name in again if 2 * codes[name].max() < curve.max()]  # each of several curves
    images = [
        name for name in codes if (bare_name(name) in IMAGES or name in again) and not _varies(codes[name], curve)
    ]
    return Roles(row, column, vertex, keys, tuple(images))


def _columns(frame: "pd.DataFrame") -> str:
    return ", ".join(map(str, frame.columns[:_MAX_NAMED])) or "none"


def _coordinates(frame: "pd.DataFrame", names: Mapping[str, str]) -> tuple[str, str]:
    """Return the columns of rows and columns, of several pairs that which varies along the curves."""
    pairs = [(names[row], names[column]) for row, column in _COORDINATES if row in names and column in names]
    if {"axis0", "axis1", "axis2"} <= {*names}:  # shapes of napari, in the planes of a stack
        planes = frame[names["axis0"]]
        flat = "index" in names and frame.groupby(names["index"])[names["axis0"]].nunique().max() == 1
        pairs = [pair for pair in pairs if (names["axis0"] in pair) != (flat or planes.nunique() == 1)]
    if not pairs:
        found = [(_other_axis(name, "y"), name) for name in names if name != _other_axis(name, "y")]
        pairs = [(names[row], names[column]) for row, column in found if row in names]
        if len(pairs) > 1:
            listed = "; ".join(", ".join(pair) for pair in pairs[:_MAX_NAMED])
            raise ContentError(
                f"has several pairs of columns that may be positions ({listed}): name those of the vertices x and y"
            )
    if not pairs and all(is_number(str(name)) for name in frame.columns):
        raise ContentError("has numbers in its first row: add a row with the names of the columns, such as id,x,y")
    if not pairs:
        raise ContentError(f"has no columns row and column (or x and y); its columns are {_columns(frame)}")
    usable = [pair for pair in pairs if all(frame[name].dtype.kind in "iuf" for name in pair)]
    if not usable:
        name = next(name for name in pairs[0] if frame[name].dtype.kind not in "iuf")
        word = next((word for word in frame[name] if not isinstance(word, int | float)), "")
        raise ContentError(f"its column {name} does not hold numbers, but words such as {str(word)[:40]!r}")
    if len(usable) == 1:
        return usable[0]
    # Wells and other groups of objects are constant over many rows.
    steps = {pair: np.diff(frame[list(pair)].to_numpy(dtype=np.float64), axis=0).any(axis=1) for pair in usable}
    varying = [pair for pair in usable if steps[pair].sum() * _MIN_VERTICES > len(frame)]
    first = (varying or usable)[0]
    for other in varying[1:]:
        if min(_correlation(frame[one], frame[two]) for one, two in zip(first, other, strict=True)) < _MIN_CORRELATION:
            raise ContentError(
                f"its columns {', '.join(first)} and {', '.join(other)} are different positions: remove those that "
                "are not the vertices of the outlines"
            )
    return first


def name_positions(names: Sequence[str]) -> bool:
    """Whether names of columns include those of two coordinates."""
    bare = {*map(bare_name, names)}
    known = any({*pair} <= bare for pair in _COORDINATES)
    return known or any(_other_axis(name, "y") in bare - {name} for name in bare)


def _other_axis(name: str, axis: str) -> str:
    """Return the name of the column of another axis that belongs to a column of x: "posx" and "posy"; else the name."""
    if name.endswith("x"):
        return f"{name[:-1]}{axis}"
    return f"{axis}{name[1:]}" if name.startswith("x") else name


def _correlation(one: "pd.Series", other: "pd.Series") -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.nan_to_num(one.corr(other)))


def _codes(column: "pd.Series") -> Index:
    """Number the distinct values of a column; missing ones are a value of their own."""
    codes, _ = column.factorize(use_na_sentinel=False)
    return np.asarray(codes, dtype=np.int64)


def _runs(codes: Index) -> Index:
    return np.diff([*np.flatnonzero(np.diff(codes, prepend=-2)), len(codes)])


def _joined(*codes: Index) -> Index:
    """Number the distinct combinations of several columns, in the order of their first rows."""
    if len(codes) == 1:
        return codes[0]
    _, first, found = np.unique(np.stack(codes), axis=1, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[found.reshape(-1)])


def _varies(codes: Index, curve: Index) -> bool:
    return int(_joined(curve, codes).max(initial=-1)) > int(curve.max(initial=-1))


def _keys(
    codes: Mapping[str, Index], vertices: Real, given: tuple[str, ...], vertex: str
) -> tuple[tuple[str, ...], str]:
    """Return the columns that identify the curve at first sight, and that which orders the vertices."""
    if given or not len(vertices):
        return given, vertex
    by_name = {bare_name(name): name for name in codes}
    named = [by_name[name] for name in _IDS if name in by_name]
    groups = {name: int(codes[name].max()) + 1 for name in codes}
    runs = {name: _runs(codes[name]) for name in codes}
    grouping = [name for name in codes if runs[name].min() >= _MIN_VERTICES and groups[name] > 1]
    usable = []
    for name in named:
        if groups[name] * _MIN_VERTICES > len(vertices) and groups[name] > 1:
            continue  # numbers the rows
        others = [other for other in grouping if other != name]
        if runs[name].max() == 1 and not vertex and _is_shorter(others, name, codes, vertices):
            vertex = name  # numbers the vertices of each curve
            continue
        usable.append(name)
    if usable:
        finest = max(usable, key=lambda name: groups[name])
        # The usual names first: a cell beside its id, or a class beside its object, is the coarser one.
        return (usable[0] if groups[usable[0]] == groups[finest] else finest,), vertex
    single = [name for name in grouping if len(runs[name]) == groups[name] and name != vertex]
    base = max(single, key=lambda name: groups[name], default=None)
    for name in single:
        if base is not None and _varies(codes[name], codes[base]):
            raise ContentError(
                f"its columns {', '.join(map(str, single))} group the vertices differently: give the one that "
                "identifies curves (curve_column=, on the command line --curve-column)"
            )
    return (() if base is None else (base,)), vertex


def _is_shorter(others: Sequence[str], name: str, codes: Mapping[str, Index], vertices: Real) -> bool:
    """Whether curves grouped by one of the other columns are shorter than those grouped by a column."""
    return any(_length(codes[other], vertices) < _length(codes[name], vertices) for other in others)


def _length(curve: Index, vertices: Real) -> float:
    place = np.argsort(curve, kind="stable")
    within = np.diff(curve[place]) == 0
    return float(np.nanmean(np.linalg.norm(np.diff(vertices[place], axis=0), axis=1)[within]))


def _refined(
    codes: Mapping[str, Index], vertices: Real, keys: tuple[str, ...], named_only: bool
) -> tuple[tuple[str, ...], Index]:
    """Add the columns that tell apart curves of equal keys: the image or the frame in which ids start again.

    Other columns are added if the curves that they tell apart are closed, unless only names of images count.
    """
    curve = _joined(*(codes[name] for name in keys)) if keys else np.zeros(len(vertices), dtype=np.int64)
    if not keys:
        return keys, curve
    order = [name for name in codes if bare_name(name) in (*IMAGES, *FRAMES)]
    for name in [*order, *(name for name in codes if name not in order and not named_only)]:
        if name in keys or not _varies(codes[name], curve):
            continue
        finer = _joined(curve, codes[name])
        counts = np.bincount(finer)
        if np.median(counts) < _MIN_VERTICES:
            continue  # one of the measures of a vertex
        if name in order or _are_closed(finer, vertices):
            keys, curve = (*keys[:-1], name, keys[-1]), finer
    return keys, curve


def _are_closed(curve: Index, vertices: Real) -> bool:
    """Whether groups of consecutive rows are outlines: each ends where it began, unlike the pieces of an outline."""
    if _runs(curve).min() < _MIN_VERTICES + 1:
        return False
    place = np.argsort(curve, kind="stable")
    starts = np.flatnonzero(np.diff(curve[place], prepend=-1))
    closed = [is_closed(piece) for piece in np.split(vertices[place], starts[1:])]
    return bool(np.mean(closed) >= _MIN_CLOSED_FRACTION)


def _refuse_repeats(frame: "pd.DataFrame", vertices: Real, keys: tuple[str, ...], curve: Index, vertex: str) -> None:
    """Raise if the vertices of several outlines have one key."""
    if not keys or not len(curve):
        return
    remedy = (
        "ids that start again in each image or frame need a column of that image or frame: add it, or give the "
        "columns that identify a curve (curve_column=, on the command line --curve-column, separated by commas)"
    )
    together = ", ".join(map(str, keys))
    if vertex and frame[vertex].dtype.kind in "iuf":
        places = _joined(curve, _codes(frame[vertex]))
        if (doubled := len(places) - int(places.max()) - 1) > len(places) // 10:
            raise ContentError(
                f"{doubled} of {len(places)} vertices repeat a number ({vertex}) of their {together}: {remedy}"
            )
        return
    runs = np.flatnonzero(np.diff(curve, prepend=-1))
    again = len(runs) - len(np.unique(curve))
    if again and np.diff([*runs, len(curve)]).min() > _MIN_VERTICES:
        pieces = [is_closed(piece) for piece in np.split(vertices, runs[1:])]
        if np.mean(pieces) >= _MIN_CLOSED_FRACTION:
            raise ContentError(f"the values of {together} come again after others, {again} times: {remedy}")


def _refuse_objects(frame: "pd.DataFrame", codes: Mapping[str, Index], keys: tuple[str, ...], vertex: str) -> None:
    """Raise for a table of centers: one row per object instead of one per vertex."""
    if keys or vertex or len(frame) < _MIN_VERTICES:
        return
    objects = [name for name in codes if bare_name(name) in _IDS and bare_name(name) not in ("id", "index")]
    if single := [name for name in objects if int(codes[name].max()) + 1 == len(frame)]:
        raise ContentError(
            f"has one row per {single[0]}, such as the center of each object: save a table of the vertices of their "
            "outlines, or labels"
        )


def _refuse_tracks(codes: Mapping[str, Index], keys: tuple[str, ...], curve: Index) -> None:
    """Raise for a table of centers over time: one row per object and frame."""
    for name in codes:
        if bare_name(name) not in _NUMBERED_FRAMES or name in keys or not keys:
            continue
        if _varies(codes[name], curve) and int(_joined(curve, codes[name]).max(initial=-1)) + 1 == len(curve):
            raise ContentError(
                f"has one row per {keys[-1]} and {name}, such as the center of each object over time: save a table of "
                "the vertices of their outlines, or labels"
            )


def images_of_rows(frame: "pd.DataFrame", images: Sequence[str]) -> list[str]:
    """Return the name of the image of each row: words as they are, numbers with the name of their column.

    Empty if there are not several images.
    """
    if not images or len(frame[list(images)].drop_duplicates()) < 2:
        return []
    words = []
    for name in images:
        values: list[object] = frame[name].tolist()
        words.append([value if isinstance(value, str) else f"{name} {value}" for value in values])
    return [" ".join(parts) for parts in zip(*words, strict=True)]


def jumps(vertices: Real) -> int:
    """Count steps far above the median step in a curve of many vertices: several indicate separate curves."""
    steps = np.linalg.norm(np.diff(vertices, axis=0), axis=1)
    count = int((steps > MIN_JUMP * np.median(steps)).sum()) if len(vertices) >= MANY_VERTICES else 0
    return count if count > 1 else 0


def varies(values: "pd.Series", curve: Index) -> bool:
    """Whether a column has several values along any curve, whose rows are consecutive."""
    codes = _codes(values)
    return bool((np.diff(codes) != 0)[np.diff(curve) == 0].any())


def ids_of(frame: "pd.DataFrame", keys: Sequence[str]) -> "pd.Series":
    """Return the id of the curve of each row: the key that differs between all curves, else all joined by colons."""
    import pandas as pd

    if not keys:
        return pd.Series(0, index=frame.index)
    curves = frame[list(keys)].drop_duplicates()
    for name in keys[::-1]:
        if curves[name].is_unique:
            return frame[name]
    words = zip(*(frame[name].astype(str).tolist() for name in keys), strict=True)
    return pd.Series([":".join(parts) for parts in words], index=frame.index)
