"""Outlines in a SpatialData store: those that this software wrote, or the polygons of another program."""

from pathlib import Path

from ..archive import ContentError, StrPath
from ..budget import reserve_curves
from ..outlines import Ensemble
from ..outlines.exchange import KEY, needed
from ..words import listed
from .curve_table import Found, metadata, plain, with_features
from .geoparquet import read_geoparquet

_SHAPES, _TABLES, _POLYGONS = "shapes", "tables", "shapes.parquet"


def is_spatialdata(path: StrPath) -> bool:
    """Whether a folder is a SpatialData store that has shapes, or one of its shapes, judged by names."""
    folder = Path(path)
    return (folder / _SHAPES).is_dir() or (folder.parent.name == _SHAPES and (folder / _POLYGONS).is_file())


def read_spatialdata(path: StrPath) -> Found:
    """Read the outlines of a store, or of one of its shapes.

    Raises
    ------
    ValueError
        For a store without polygons, and for one of another program that has several, which may be those of cells and
        of their nuclei: it names them.
    """
    folder = Path(path)
    if (folder / _POLYGONS).is_file():
        return read_geoparquet(folder / _POLYGONS)
    outlines = f"uns/{KEY}"
    if tables := [table for table in sorted((folder / _TABLES).glob("*")) if (table / outlines).is_dir()]:
        zarr, anndata = (needed(name, "spatialdata", "a SpatialData store") for name in ("zarr", "anndata"))
        group = zarr.open_group(str(tables[0] / outlines), mode="r")
        reserve_curves(group["vertices"].shape[0], group["offsets"].shape[0])
        table = plain(with_features(Ensemble.from_anndata(anndata.read_zarr(tables[0]))))
        columns = {str(name): values.tolist() for name, values in table.features.items()}
        return Found(list(table.ensemble.curves), table.ensemble.ids, columns, meta=metadata(table), calibrated=True)
    elements = [file.parent.name for file in sorted((folder / _SHAPES).glob(f"*/{_POLYGONS}"))]
    found = [(name, read_geoparquet(folder / _SHAPES / name / _POLYGONS)) for name in elements]
    polygons = {name: one for name, one in found if one.curves}  # others are points or circles
    if len(polygons) != 1:
        if not polygons:
            raise ContentError(f"holds no polygons (its shapes are {listed(elements) or 'none'})")
        raise ContentError(
            f"holds polygons in several shapes ({listed(list(polygons))}), which may be of the same objects: give one, "
            f"such as {folder.name}/{_SHAPES}/{next(iter(polygons))}"
        )
    return next(iter(polygons.values()))
