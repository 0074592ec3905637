"""Tables with a polygon in each row, as those of geographic programs: in well-known text or binary, or of GeoPandas."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import shapely

from .._types import Real
from ..archive import ContentError
from ..outlines.reasons import HOLES
from .columns import bare_name
from .curve_table import Found
from .outline_order import refuse_degrees

if TYPE_CHECKING:
    import pandas as pd

_GEOMETRIES = ("geometry", "geom", "wkt", "wkb", "polygon", "boundary", "thegeom")
_TEXTS = ("POLYGON", "MULTIPOLYGON", "GEOMETRYCOLLECTION", "POINT", "LINESTRING")


def geometry_column(frame: "pd.DataFrame") -> str:
    """Return the column of a table that holds geometries as well-known text or binary; empty if there is none."""
    for name in frame:
        if bare_name(name) in _GEOMETRIES and len(known := frame[name].dropna()):
            first = known.iloc[0]
            if isinstance(first, bytes) or (isinstance(first, str) and first.lstrip().upper().startswith(_TEXTS)):
                return str(name)
    return ""


def polygons_of_table(frame: "pd.DataFrame", name: str) -> Found:
    """Return the polygons in a column of a table, in pixels, with the other columns as features."""
    cells = frame[name].tolist()
    binary = any(isinstance(cell, bytes) for cell in cells)
    try:
        geometries = (shapely.from_wkb if binary else shapely.from_wkt)([cell or None for cell in cells])
    except (shapely.errors.ShapelyError, TypeError) as error:
        raise ContentError(f"its column {name} holds damaged polygons ({str(error)[:200]})") from error
    found = Found(calibrated=True)
    take_polygons(found, geometries, frame.drop(columns=name))
    refuse_degrees(found.curves)
    return found


def take_polygons(found: Found, geometries: Iterable[Any], frame: "pd.DataFrame") -> None:
    """Add the polygons of a table with one row per object; its column id, else the number of the row, is their id."""
    rings = [_ring(geometry, found) for geometry in geometries]
    kept = [place for place, ring in enumerate(rings) if ring is not None]
    found.curves += [ring for ring in rings if ring is not None]
    rows = frame.iloc[kept]
    found.ids = rows["id"].tolist() if "id" in rows else [place + 1 for place in kept]
    found.features = {str(name): rows[name].tolist() for name in rows if name != "id"}


def _ring(geometry: Any, found: Found) -> Real | None:
    """Return the outer ring of the largest polygon as rows and columns; count the parts and holes dropped."""
    parts = [] if geometry is None else shapely.get_parts(geometry).tolist()
    polygons = [part for part in parts if part.geom_type == "Polygon" and not part.is_empty]
    found.dropped[HOLES] += sum(len(polygon.interiors) for polygon in polygons)
    return found.outline_of([shapely.get_coordinates(polygon.exterior)[:-1, ::-1] for polygon in polygons])
