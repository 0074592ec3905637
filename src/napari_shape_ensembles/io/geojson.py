"""Curves as GeoJSON, QuPath flavor: annotations in pixels of the full image, with the origin at its corner."""

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from .._types import Real
from ..archive import ContentError, StrPath, Tree
from ..outlines.reasons import HOLES, Reason
from .annotation_files import merged, points_of
from .content import json_of, names_in_zip
from .curve_table import CENTRE, FORMAT, CurveTable, Found, columns_of, metadata, positions
from .outline_order import refuse_degrees

# Properties that QuPath writes for every object.
_QUPATH = ("objectType", "name", "color", "isLocked")
# Objects of QuPath around cells.
_REGIONS = ("annotation", "tile", "tmacore", "root")
# Any fixed UUID will do: it gives the same curve the same id in every file.
_NAMESPACE = uuid.UUID("6f1c9b2e-58a4-4d0b-9a55-3a3c0f3a7f10")


def geojson_parts(table: CurveTable) -> Iterator[bytes]:
    """Yield a FeatureCollection of annotations, one per line; numbers become measurements, strings metadata."""
    head = json.dumps({"type": "FeatureCollection", FORMAT: metadata(table)}, ensure_ascii=False, allow_nan=False)
    yield f'{head[:-1]}, "features": ['.encode()
    ensemble, columns = table.ensemble, [str(name) for name in table.features]
    rows = table.features.itertuples(index=False, name=None) if columns else repeat(())
    for place, (name, curve, values) in enumerate(zip(ensemble.ids.tolist(), ensemble.curves, rows, strict=False)):
        row = dict(zip(columns, values, strict=True))
        feature = _feature(name, curve / table.scale, row, ensemble.name)
        text = json.dumps(feature, ensure_ascii=False, allow_nan=False)
        yield f"{',' if place else ''}\n{text}".encode()
    yield b"\n]}\n"


def geojson_merged(table: CurveTable, _: Path, original: Tree | None, before: CurveTable | None) -> bytes:
    """Return GeoJSON in which corrected outlines replace those of an original, whose objects keep all else."""
    objects = _objects(original) if original is not None else None
    if not objects or (isinstance(original, dict) and FORMAT in original):
        return b"".join(geojson_parts(table))
    entries = {_name_of(item, place): item for place, item in enumerate(objects, start=1)}
    if len(entries) < len(objects):
        raise ContentError("names of its objects repeat, so corrections cannot be assigned: save under a new name")

    def feature(entry: Tree | None, curve: Real, row: Mapping[str, Any]) -> Tree:
        if entry is None:
            return _feature(str(uuid.uuid4()), curve, dict(row), table.ensemble.name)
        ring = points_of(curve)
        kept = {key: value for key, value in (entry.get("geometry") or {}).items() if key == "plane"}
        return {**entry, "geometry": {**kept, "type": "Polygon", "coordinates": [[*ring, ring[0]]]}}

    features = merged(entries, before, table, feature)
    whole = {**original, "features": features} if isinstance(original, dict) and "features" in original else features
    return json.dumps(whole, ensure_ascii=False).encode()


def _name_of(item: Tree, place: int) -> Any:
    """Return the id of an outline: the name of the object, else its place in the file."""
    return (item.get("properties") or {}).get("name") or place


def _feature(name: Any, curve: Real, row: Tree, image: str) -> Tree:
    ring = (curve[:, ::-1] + CENTRE).tolist()
    properties: Tree = {"objectType": "annotation", "name": str(name)}
    numbers = {key: _plain(value) for key, value in row.items() if _is_number(value)}
    # JSON has no infinity, so that is written as a string; NaN is omitted.
    words = {key: str(value) for key, value in row.items() if not _is_number(value) or np.isinf(value)}
    if numbers:
        properties["measurements"] = {key: value for key, value in numbers.items() if np.isfinite(value)}
    if words:
        properties["metadata"] = words
    return {
        "type": "Feature",
        "id": str(uuid.uuid5(_NAMESPACE, f"{image}/{name}")),
        "geometry": {"type": "Polygon", "coordinates": [[*ring, ring[0]]]},
        "properties": properties,
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)


def _plain(value: Any) -> int | float:
    return value.item() if isinstance(value, np.generic) else value


def is_geojson(content: Any) -> bool:
    """Whether a JSON value looks like GeoJSON."""
    return bool(isinstance(content, list | dict) and content and _objects(content) is not None)


def read_geojson(path: StrPath) -> Found:
    """Return the polygons of a GeoJSON file, with QuPath's measurements, names and classes as features."""
    return geojson_found(json_of(path))


def is_geometry_collection(content: Any) -> bool:
    """Whether a JSON value is a collection of geometries, one per cell, as Baysor writes and Xenium Ranger imports."""
    geometries = content.get("geometries") if isinstance(content, dict) else None
    return isinstance(geometries, list) and content.get("type") == "GeometryCollection"


def read_geometry_collection(content: Mapping[str, Any], _: StrPath) -> Found:
    """Return the polygons, named by their cells; their coordinates are those of the transcripts, not of pixels."""
    features = [
        {"type": "Feature", "geometry": one, "properties": {"name": str(one.get("cell", place))}}
        for place, one in enumerate(content["geometries"], start=1)
        if isinstance(one, dict)
    ]
    found = geojson_found({"type": "FeatureCollection", "features": features})
    found.curves = [curve + CENTRE for curve in found.curves]
    return found


def zipped_geojson(path: StrPath) -> bool:
    """Whether a zip holds nothing but one GeoJSON file, as QuPath compresses its exports."""
    return [name.lower().endswith(".geojson") for name in names_in_zip(path)] == [True]


def geojson_found(content: Any) -> Found:
    """Return the curves of a parsed GeoJSON value."""
    objects = _objects(content)
    if objects is None:
        raise ContentError("holds no GeoJSON features")
    if (system := content.get("crs") if isinstance(content, dict) else None) is not None:
        name = (system.get("properties") or {}).get("name", system) if isinstance(system, dict) else system
        if re.search(r"(CRS84|\b4326|\b4258)$", str(name)):
            raise ContentError(f"its coordinates are geographic ({str(name)[:80]}): export the outlines in pixels")
        raise ContentError(
            f"its coordinates are those of a map ({str(name)[:80]}), without their unit: export the outlines "
            "in pixels, or in a projected system as GeoPackage or GeoParquet"
        )
    meta = content.get(FORMAT, {}) if isinstance(content, dict) else {}
    found = Found(meta=meta)
    if not meta:
        objects = _without_regions(objects, found)
    for number, item in enumerate(objects, start=1):
        found.dropped[Reason("nuclei")] += isinstance(item.get("nucleusGeometry"), dict)
        ring = None
        with found.entry():
            ring = _outline(item, found)
        if ring is not None:
            properties = item.get("properties") or {}
            name = properties["name"] if meta else _name_of(item, number)
            row = _features(properties, own=bool(meta)) | ({} if meta else _plane(item["geometry"]))
            found.add(ring - CENTRE, name, row)
    if not meta:
        refuse_degrees(found.curves)
    found.rows[:1] = [dict.fromkeys(meta.get("columns", {}), np.nan) | row for row in found.rows[:1]]
    found.features = columns_of(found.rows, np.nan)
    return found


def _without_regions(objects: list[Tree], found: Found) -> list[Tree]:
    """Leave out QuPath's annotations and tiles if there are detections, which lie in them, and count them."""
    kinds = [str((item.get("properties") or {}).get("objectType") or item.get("id")).lower() for item in objects]
    kinds = [re.sub("^path|[ _]|object$", "", kind) for kind in kinds]  # as older versions of QuPath name them
    if not {"detection", "cell"} & {*kinds}:
        return objects
    kept = [item for item, kind in zip(objects, kinds, strict=True) if kind not in _REGIONS]
    found.dropped[Reason("regions")] += len(objects) - len(kept)
    return kept


def _objects(content: Any) -> list[Tree] | None:
    if isinstance(content, dict) and content.get("type") == "FeatureCollection":
        content = content.get("features")
    elif isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return None
    features = all(isinstance(item, dict) and item.get("type") == "Feature" for item in content)
    return content if features else None


def _outline(item: Tree, found: Found) -> Real | None:
    """Return the outer ring of the largest polygon of a feature; count the parts and holes that are dropped."""
    geometry = item.get("geometry") or {}
    pieces = {"Polygon": lambda c: [c], "MultiPolygon": list}.get(str(geometry.get("type")), lambda c: [])(
        geometry.get("coordinates") or []
    )
    found.dropped[HOLES] += sum(len(piece) - 1 for piece in pieces if piece)
    return found.outline_of([positions(piece[0]) for piece in pieces if piece])


def _plane(geometry: Tree) -> dict[str, int]:
    """Return where in a stack QuPath has an object: slice and frame, counted from 0."""
    plane = geometry.get("plane")
    if not isinstance(plane, dict):
        return {}
    places = {"slice": plane.get("z"), "frame": plane.get("t"), "channel": plane.get("c")}
    return {name: place for name, place in places.items() if isinstance(place, int) and place >= 0}


def _features(properties: Tree, *, own: bool) -> Tree:
    values = properties.get("measurements")  # a list in older versions of QuPath
    pairs = values.items() if isinstance(values, dict) else ((v["name"], v["value"]) for v in values or [])
    row: Tree = {str(name): value for name, value in pairs if isinstance(value, int | float)}
    row.update({key: value for key, value in (properties.get("metadata") or {}).items() if isinstance(value, str)})
    kind = properties.get("classification")
    if isinstance(kind, dict) and not own:
        row["classification"] = str(kind.get("name", kind.get("names", "")))
    # Other programs write the attributes of a feature directly into its properties.
    others = {
        key: value for key, value in properties.items() if key not in _QUPATH and isinstance(value, str | float | int)
    }
    return row if own else others | row
