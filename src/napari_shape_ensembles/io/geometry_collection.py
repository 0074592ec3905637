"""GeoJSON geometries without features, as Baysor writes them and Xenium Ranger imports them: one polygon per cell."""

from collections.abc import Mapping
from typing import Any

from ..archive import StrPath
from .curve_table import CENTRE, Found
from .geojson import geojson_found


def is_geometry_collection(content: Any) -> bool:
    """Whether a JSON value is a collection of geometries."""
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
