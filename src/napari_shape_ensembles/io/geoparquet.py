"""Outlines as GeoParquet polygons, one row per outline: x rightwards, y downwards, in the ensemble's unit.

Written to the specification (version 1.0.0) with PyArrow and Shapely alone, so that GeoPandas, DuckDB, QGIS and others
can read it. There is no coordinate reference system (`crs` is null).
"""

import json
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from ..archive import ContentError, StrPath, Tree
from ..budget import reserve_curves
from ..outlines import Ensemble
from ..outlines.units import length_unit
from .curve_table import FORMAT, CurveTable, Found, metadata
from .outline_order import refuse_degrees
from .polygons import take_polygons
from .tables import opened_parquet, pyarrow_modules, read_parquet

if TYPE_CHECKING:
    import pandas as pd

_GEOMETRY = "geometry"
# Bytes per vertex in well-known binary (WKB).
_BYTES_PER_VERTEX = 16


def geoparquet_bytes(table: CurveTable) -> bytes:
    """Return a GeoParquet file of ids, features and polygons, with the metadata in its schema."""
    if clash := sorted({*table.features.columns} & {"id", _GEOMETRY}):
        raise ContentError(f'a feature cannot be named "{clash[0]}" in GeoParquet: rename it')
    rows = table.features.copy()
    rows.insert(0, "id", table.ensemble.ids)
    return polygons_bytes(rows, table.ensemble, {FORMAT: metadata(table)})


def polygons_bytes(rows: "pd.DataFrame", ensemble: Ensemble, more: dict[str, Any] | None = None) -> bytes:
    """Return a GeoParquet file of a table and the polygons of its curves; `more` goes into the schema as JSON."""
    pyarrow, parquet = pyarrow_modules()
    counts = np.diff(ensemble.offsets)
    rings = shapely.linearrings(ensemble.vertices[:, ::-1], indices=np.repeat(np.arange(len(ensemble)), counts))
    arrow = pyarrow.Table.from_pandas(rows, preserve_index=False)
    binary = pyarrow.array(shapely.to_wkb(shapely.polygons(rings)).tolist(), pyarrow.binary())
    arrow = arrow.append_column(_GEOMETRY, binary)
    column: dict[str, Any] = {"encoding": "WKB", "geometry_types": ["Polygon"], "crs": None}
    if len(ensemble):
        low, high = ensemble.vertices.min(axis=0)[::-1], ensemble.vertices.max(axis=0)[::-1]
        column["bbox"] = [*low.tolist(), *high.tolist()]
    geo = {"version": "1.0.0", "primary_column": _GEOMETRY, "columns": {_GEOMETRY: column}}
    words = {name: json.dumps(value) for name, value in {"geo": geo, **(more or {})}.items()}
    arrow = arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), **words})
    file = BytesIO()
    parquet.write_table(arrow, file)
    return file.getvalue()


def read_any_parquet(path: StrPath, curve_column: str | None = None) -> Found:
    """Read the curves of a Parquet file: polygons, which often have this extension too, or a table of vertices."""
    with opened_parquet(path) as (file, _, _):
        is_geoparquet = b"geo" in (file.schema_arrow.metadata or {})
    return read_geoparquet(path) if is_geoparquet else read_parquet(path, curve_column)


def read_geoparquet(path: StrPath) -> Found:
    """Read the polygons of any GeoParquet file, with the other columns as features."""
    try:
        with opened_parquet(path) as (file, _, size):
            layout = file.schema_arrow
            known = layout.metadata or {}
            if b"geo" not in known:
                raise ContentError("has no geometry: save a table of vertices as .parquet")
            geo = json.loads(known[b"geo"])
            name = geo["primary_column"]
            about = geo["columns"][name]
            if about.get("encoding") != "WKB":
                raise ContentError(
                    f"its geometry is encoded as {about.get('encoding')!r}: save it as well-known binary (WKB)"
                )
            meta = json.loads(known.get(FORMAT.encode(), b"{}"))
            unit = unit_of_system(about.get("crs") or {})
            reserve_curves(size // _BYTES_PER_VERTEX, file.metadata.num_rows)
            types = pyarrow_modules()[0].types
            plain = [field.name for field in layout if field.name != name and not types.is_nested(field.type)]
            geometries = shapely.from_wkb(file.read(columns=[name]).column(name).to_pylist())
            frame = file.read(columns=plain).to_pandas()
    except shapely.errors.ShapelyError as error:
        raise ContentError(f"its polygons are damaged ({str(error)[:200]})") from error
    found = Found(meta=meta, calibrated=bool(meta or unit), unit="" if meta else unit)
    take_polygons(found, geometries, frame)
    if not (meta or unit):
        refuse_degrees(found.curves)
    return found


def unit_of_system(system: Tree) -> str:
    """Return the unit of length of a coordinate reference system in PROJJSON; empty if there is none."""
    base = system.get("source_crs", {}) if system.get("type") == "BoundCRS" else system
    parts = [part for part in [base, *base.get("components", [])] if isinstance(part, dict)]
    if any(str(part.get("type", "")).startswith("Geographic") for part in parts):
        raise ContentError("its coordinates are geographic: export the outlines in pixels or a unit of length")
    axes = [axis for part in parts for axis in part.get("coordinate_system", {}).get("axis", [])]
    stated = next((axis["unit"] for axis in axes if "unit" in axis), "")
    if isinstance(stated, dict):
        stated = stated.get("name", "")
    if stated in ("degree", "radian", "grad"):
        raise ContentError(f"its coordinates are angles ({stated}): export the outlines in pixels or a unit of length")
    return length_unit({"metre": "m", "US survey foot": "survey_foot"}.get(stated, stated)) if stated else ""
