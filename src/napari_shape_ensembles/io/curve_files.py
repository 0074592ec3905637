"""Reading and writing curves, with the format chosen by the file extension."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..archive import ContentError, StrPath, errors_named, replacing, write_bytes
from ..budget import budget
from ..outlines import Ensemble
from .columns import FRAMES, bare_name
from .curve_table import CurveTable, Found, assembled, feature_text, plain, with_features
from .cvat import is_cvat_zip, parsed, read_cvat
from .geojson import geojson_parts, read_geojson, zipped_geojson
from .geoparquet import geoparquet_bytes, read_any_parquet, read_geoparquet
from .imagej import read_roi, roi_zip_bytes
from .layouts import LAYOUTS, ending_of, layout_of, read_annotations, writer_of_layout
from .morphometrics import read_chain_codes, read_tps
from .npz import read_npz, write_npz
from .rda import read_rda
from .spatialdata_store import is_spatialdata, read_spatialdata
from .tables import csv_parts, parquet_bytes, read_csv
from .vector_files import read_vector_file

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Format:
    """A curve format.

    Attributes
    ----------
    name : str
    read : callable
        Returns the content of a file.
    write : callable, optional
        Writes a table to a path.
    programs : str
        That write or read it, for the documentation.
    unit : str
        Of its coordinates, for the documentation.
    """

    name: str
    read: Callable[..., Found]
    write: Callable[[StrPath, CurveTable], None] | None = None
    programs: str = ""
    unit: str = "pixel"


# Verdicts on outlines; the words of a log of corrections too.
_RIGHT, _WRONG = ("right", "kept", "modified"), ("wrong", "deleted")
_MAX_NAMED = 8
_OF_XENIUM = re.compile(r"(cell|nucleus)_boundaries", re.IGNORECASE)


def _written(content: Callable[[CurveTable], bytes]) -> Callable[[StrPath, CurveTable], None]:
    return lambda path, table: write_bytes(path, content(table))


def _streamed(parts: Callable[[CurveTable], Iterator[bytes]]) -> Callable[[StrPath, CurveTable], None]:
    """Write one curve at a time, so that the whole text is never in memory."""

    def write(path: StrPath, table: CurveTable) -> None:
        with replacing(path) as file:
            file.writelines(parts(table))

    return write


def _boundaries(read: Callable[..., Found]) -> Callable[..., Found]:
    """Read a table of vertices: in µm if it is one of a Xenium bundle by its name, which states no unit."""

    def in_unit(path: StrPath, *columns: str, **options: Any) -> Found:
        found = read(path, *columns, **options)
        if _OF_XENIUM.search(Path(path).name) and not (found.meta or found.unit):
            found.unit, found.calibrated = "µm", True
        return found

    return in_unit


def _read_zip(path: StrPath) -> Found:
    if zipped_geojson(path):
        return read_geojson(path)
    return read_cvat(parsed(path), path) if is_cvat_zip(path) else read_roi(path)


_CSV, _PARQUET = _boundaries(read_csv), _boundaries(read_any_parquet)
_ANNOTATIONS, _VECTORS = "file of annotations", "shapefile, GeoPackage or FlatGeobuf"
_ANY, _OF_MAP = "as stated", "as stated, else pixel"
_MAPS = "QGIS, ArcGIS, GeoPandas"
#: Formats by file extension; those of annotations are told apart by their content.
FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        ".csv": Format(
            "CSV table of vertices", _CSV, _streamed(csv_parts), "spreadsheets, R, napari, Xenium, CellProfiler", _ANY
        ),
        ".tsv": Format("table of vertices, with tabs", _CSV, None, "R, spreadsheets", _ANY),
        ".csv.gz": Format("CSV table of vertices", _CSV, None, "Xenium (cell and nucleus boundaries)", "µm"),
        ".parquet": Format(
            "Parquet table of vertices", _PARQUET, _written(parquet_bytes), "pandas, Polars, DuckDB, Xenium", _ANY
        ),
        ".geojson": Format("GeoJSON", read_geojson, _streamed(geojson_parts), "QuPath"),
        ".geojson.gz": Format("GeoJSON", read_geojson, None, "QuPath"),
        ".json": Format("JSON of annotations", read_annotations),
        ".xml": Format("XML of annotations", read_annotations),
        ".txt": Format("text file of outlines", read_annotations, None, "text editors; one vertex per line"),
        ".geoparquet": Format(
            "GeoParquet", read_geoparquet, _written(geoparquet_bytes), "GeoPandas, QGIS, SpatialData", _OF_MAP
        ),
        ".shp": Format(_VECTORS, read_vector_file, None, _MAPS, _OF_MAP),
        ".gpkg": Format(_VECTORS, read_vector_file, None, _MAPS, _OF_MAP),
        ".fgb": Format(_VECTORS, read_vector_file, None, _MAPS, _OF_MAP),
        ".zip": Format("zip of ImageJ regions", _read_zip, _written(roi_zip_bytes), "ImageJ, Fiji"),
        ".roi": Format("ImageJ region", read_roi, None, "ImageJ, Fiji"),
        ".zarr": Format("SpatialData store", read_spatialdata, None, "SpatialData", _OF_MAP),
        ".npz": Format("NumPy archive of curves", read_npz, write_npz, "NumPy", _ANY),
        ".chc": Format("file of chain codes", read_chain_codes, None, "SHAPE, Momocs, ktch", "mm where stated"),
        ".tps": Format("TPS file", read_tps, None, "tpsDig", "as SCALE"),
        ".rda": Format("R data file", read_rda, None, "Momocs, R"),
        ".rdata": Format("R data file", read_rda, None, "Momocs, R"),
        ".rds": Format("R data file", read_rda, None, "Momocs, R"),
    }
)


def read_curves(
    path: StrPath, *, memory: float | None = None, curve_column: str | Sequence[str] | None = None
) -> CurveTable:
    """Read the closed curves in a file.

    Parameters
    ----------
    path : path
        .csv, .tsv or .csv.gz, .parquet, .geojson, .geojson.gz, .geoparquet, .json (COCO, labelme, Label Studio, VIA,
        GeoJSON), .xml (CVAT), .txt (Cellpose, YOLO, coordinates), .zip (ImageJ, CVAT, QuPath), .roi, .npz, .chc, .tps,
        .rda, .RData or .rds (R), with GeoPandas .shp, .gpkg or .fgb; or a folder .zarr (SpatialData).
    memory : float, optional
        Memory limit in GiB; by default 4.
    curve_column : str or sequence of str, optional
        For tables (.csv, .tsv, .parquet): the column that identifies the curve, or several that do so together. By
        default one called id, index, curve, label, contour or the like, else the one that groups the vertices.

    Returns
    -------
    CurveTable
        In the unit that the file states, else in pixels, with the center of the first pixel at (0, 0). Items that are
        not closed outlines are counted in `.ensemble.dropped`.

    Raises
    ------
    ValueError
        For an unknown extension, a damaged or malicious file, one that exceeds the memory limit, or vertices that are
        NaN or infinite, naming the file.
    OSError
        If the file does not exist, or cannot be read.

    Examples
    --------
    >>> from napari_shape_ensembles import Ensemble
    >>> from napari_shape_ensembles.io import read_curves, write_curves
    >>> write_curves("squares.geojson", Ensemble([[(0, 0), (0, 2), (2, 2), (2, 0)]], unit="µm"))
    >>> read_curves("squares.geojson").ensemble
    Ensemble('squares': 1 curve in µm)
    """
    kind = _format(path)
    if curve_column is not None:
        curve_column = ", ".join(
            map(str, curve_column)
            if np.iterable(curve_column) and not isinstance(curve_column, str)
            else [str(curve_column)]
        )
    if curve_column is not None and kind.read not in (_CSV, _PARQUET):
        raise ContentError(f"{Path(path).name}: curve_column applies only to tables (.csv, .tsv, .parquet)")
    read = kind.read if curve_column is None else partial(kind.read, curve_column=curve_column)
    with errors_named(path, kind.name), budget(memory):
        # "cells.curves.csv" is named "cells".
        table = assembled(read(path), Path(path).stem.removesuffix(".curves"))
        if not len(table.ensemble) and not table.ensemble.dropped:
            raise ContentError("holds no curves")
        return table


def write_curves(
    path: StrPath, curves: CurveTable | Ensemble, *, layout: str = "", original: StrPath | None = None
) -> None:
    """Write closed curves with their features, scale, unit and provenance.

    Parameters
    ----------
    path : path
        .csv, .parquet, .geojson, .geoparquet, .zip (ImageJ) or .npz; or a file of annotations in pixels: .json, .xml
        (CVAT) or .txt (YOLO). An existing file of that name is replaced atomically.
    curves : CurveTable or Ensemble
        For an ensemble, its measured features are written.
    layout : str
        The format of annotations: "COCO", "labelme", "GeoJSON", "CVAT" or "YOLO". By default that of `original`, or the
        only one that has this extension.
    original : path, optional
        A file of annotations from which the curves were read: all else in it is kept, and of the images that the curves
        are of, outlines are replaced, added and removed by their ids.

    Raises
    ------
    ValueError
        For an extension that cannot be written, or content that the format cannot hold.
    OSError
        If the file cannot be written; an existing file of that name is kept.

    Examples
    --------
    >>> from napari_shape_ensembles import Ensemble
    >>> from napari_shape_ensembles.io import read_curves, write_curves
    >>> square = Ensemble([[(0, 0), (0, 2), (2, 2), (2, 0)]])
    >>> write_curves("squares.npz", square)
    >>> read_curves("squares.npz").features["area"].tolist()
    [4.0]
    >>> write_curves("squares.json", square, layout="COCO")
    >>> read_curves("squares.json").features["category"].tolist()
    ['object']
    """
    kind = format_of(path)
    if original is not None or layout or (kind is not None and kind.read is read_annotations):
        _write_annotations(Path(path), with_features(curves), layout, original)
        return
    write = writer_of(path)
    with errors_named(path, "table of curves"):
        write(path, plain(with_features(curves)))


def without(table: CurveTable, said: pd.DataFrame) -> CurveTable:
    """Leave out the outlines that a table with the columns label and status says are wrong.

    Raises
    ------
    ValueError
        For another table, other words, and for labels that are no ids.
    """
    if missing := {"label", "status"} - {*said}:
        raise ContentError(f"a table of verdicts needs the columns label and status: {min(missing)} is missing")
    status = said["status"].astype(str).str.strip().str.lower()
    if unknown := sorted({*status} - {*_RIGHT, *_WRONG}):
        raise ContentError(f"status must be right or wrong, not {unknown[0]!r}")
    names = {feature_text(one): place for place, one in enumerate(table.ensemble.ids.tolist())}
    labels = [feature_text(label) for label in said["label"]]
    if unknown := [label for label in labels if label not in names]:
        raise ContentError(f"there is no outline {unknown[0]}: the ids are {', '.join([*names][:_MAX_NAMED])}")
    kept = np.ones(len(names), dtype=np.bool_)
    kept[[names[label] for label, word in zip(labels, status, strict=True) if word in _WRONG]] = False
    return table[kept]


def _write_annotations(path: Path, table: CurveTable, layout: str, original: StrPath | None) -> None:
    """Write a file of annotations, into the original if there is one."""
    ending, content, before = path.suffix.lower(), None, None
    if original is not None:
        with errors_named(original, _ANNOTATIONS), budget():
            if not ending_of(original):
                raise ContentError(f"is not a file of annotations ({', '.join(LAYOUTS)})")
            known, content = layout_of(original)
            assert known is not None
            if layout and layout != known.name:
                raise ContentError(f"is not a file of {layout}: leave it out to write a new file")
            layout = known.name
            before = _of_images(assembled(known.read(content, original), Path(original).stem), table)
    with errors_named(path, _ANNOTATIONS):
        only = [one.name for one in LAYOUTS.get(ending, ()) if one.write is not None]
        write = writer_of_layout(layout or (only[0] if len(only) == 1 else ""), ending)
        if table.ensemble.unit != "pixel" and table.scale == (1.0, 1.0):
            raise ContentError(
                f"annotations are in pixels, and these outlines are in {table.ensemble.unit} without a pixel size: "
                "write them as .geoparquet, .csv or .npz"
            )
        # The image beside the original has the size to which fractions refer.
        write_bytes(path, write(plain(table), path if original is None else Path(original), content, before))


def _of_images(before: CurveTable, table: CurveTable) -> CurveTable:
    """Return the outlines of those images and frames that a table has outlines of; of all, if it names none."""
    shared = [name for name in before.features if name in table.features]
    chosen = np.ones(len(before.ensemble), dtype=np.bool_)
    for name in (name for name in shared if name == "image" or bare_name(name) in FRAMES):
        values = set(map(feature_text, table.features[name]))
        chosen &= [feature_text(value) in values for value in before.features[name]]
    return before[chosen]


def writer_of(path: StrPath) -> Callable[[StrPath, CurveTable], None]:
    """Return the writer for a file of this name; raise a ValueError that lists the extensions if there is none."""
    kind = format_of(path)
    if kind is None or kind.write is None:
        endings = ", ".join(ending for ending, one in FORMATS.items() if one.write)
        raise ContentError(f"{Path(path).name}: curves can be saved as {endings}")
    return kind.write


def format_of(path: StrPath) -> Format | None:
    """Return the format of a file by its name, or None; a folder in a SpatialData store may have any name."""
    name = ".zarr" if is_spatialdata(path) else Path(path).name.lower()
    return next((kind for ending, kind in FORMATS.items() if name.endswith(ending)), None)


def _format(path: StrPath) -> Format:
    kind = format_of(path)
    if kind is None:
        raise ContentError(f"{Path(path).name}: unknown format; the extension is not one of {', '.join(FORMATS)}")
    return kind
