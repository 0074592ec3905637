"""Outlines as vector files of maps (shapefile, GeoPackage, FlatGeobuf), read by GeoPandas where it is installed."""

import os

from ..archive import ContentError, StrPath
from ..budget import reserve, reserve_curves
from ..outlines.exchange import needed
from .curve_table import Found
from .geoparquet import unit_of_system
from .polygons import take_polygons

# Bytes of a vertex in these files, and memory per byte of the file for the attributes.
_BYTES_PER_VERTEX, _BYTES_PER_BYTE = 16, 8


def read_vector_file(path: StrPath) -> Found:
    """Return the polygons of the only layer of a file, with its other columns as features.

    Raises
    ------
    ValueError
        For several layers, and for geographic coordinates.
    ImportError
        Without GeoPandas, with instructions to install it.
    """
    geopandas = needed("geopandas", "geo", "a file of vectors such as a shapefile or a GeoPackage")
    size = os.stat(path).st_size
    reserve(size * _BYTES_PER_BYTE)
    reserve_curves(size // _BYTES_PER_VERTEX)
    layers = geopandas.list_layers(path)["name"].tolist()
    if len(layers) != 1:
        raise ContentError(f"holds {len(layers)} layers ({', '.join(layers)[:200]}): save each in a file of its own")
    frame = geopandas.read_file(path)
    if not hasattr(frame, "geometry"):
        raise ContentError("has no geometry: save outlines as polygons")
    unit = unit_of_system({} if frame.crs is None else frame.crs.to_json_dict())
    found = Found(calibrated=bool(unit), unit=unit)
    take_polygons(found, frame.geometry, frame.drop(columns=frame.geometry.name))
    return found
