"""Reading and writing curves, with the format chosen by the file extension."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from ..archive import ContentError, StrPath, errors_named, replacing, write_bytes
from ..budget import budget
from ..outlines import Ensemble
from .annotations import read_json
from .curve_table import CurveTable, Found, assembled, plain, with_features
from .geojson import geojson_parts, read_geojson
from .geoparquet import geoparquet_bytes, read_any_parquet, read_geoparquet
from .imagej import read_roi, roi_zip_bytes
from .morphometrics import read_chain_codes, read_coordinates, read_tps
from .npz import read_npz, write_npz
from .rda import read_rda
from .tables import csv_parts, parquet_bytes, read_csv


@dataclass(frozen=True)
class Format:
    """A curve format: its name, and its reader and writer, if any."""

    name: str
    read: Callable[..., Found]
    write: Callable[[StrPath, CurveTable], None] | None = None


def _written(content: Callable[[CurveTable], bytes]) -> Callable[[StrPath, CurveTable], None]:
    return lambda path, table: write_bytes(path, content(table))


def _streamed(parts: Callable[[CurveTable], Iterator[bytes]]) -> Callable[[StrPath, CurveTable], None]:
    """Write one curve at a time, so that the whole text is never in memory."""

    def write(path: StrPath, table: CurveTable) -> None:
        with replacing(path) as file:
            file.writelines(parts(table))

    return write


#: Formats by file extension.
FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        ".csv": Format("CSV table of vertices", read_csv, _streamed(csv_parts)),
        ".parquet": Format("Parquet table of vertices", read_any_parquet, _written(parquet_bytes)),
        ".geojson": Format("GeoJSON", read_geojson, _streamed(geojson_parts)),
        ".json": Format("JSON of annotations (GeoJSON, COCO or VIA)", read_json),
        ".geoparquet": Format("GeoParquet", read_geoparquet, _written(geoparquet_bytes)),
        ".zip": Format("zip of ImageJ regions", read_roi, _written(roi_zip_bytes)),
        ".roi": Format("ImageJ region", read_roi),
        ".npz": Format("NumPy archive of curves", read_npz, write_npz),
        ".chc": Format("file of chain codes", read_chain_codes),
        ".tps": Format("TPS file", read_tps),
        ".rda": Format("R data file", read_rda),
        ".rdata": Format("R data file", read_rda),
        ".rds": Format("R data file", read_rda),
        ".txt": Format("text file of coordinates", read_coordinates),
    }
)


def read_curves(path: StrPath, *, memory: float | None = None, curve_column: str | None = None) -> CurveTable:
    """Read the closed curves in a file.

    Parameters
    ----------
    path : path
        .csv, .parquet, .geojson, .geoparquet, .json (GeoJSON, COCO, VIA), .zip or .roi (ImageJ), .npz, .chc, .tps,
        .rda, .RData or .rds (R) or .txt.
    memory : float, optional
        Memory limit in GiB; by default 4.
    curve_column : str, optional
        For tables (.csv, .parquet): the column that identifies the curve. By default one called id, index, curve,
        label, contour or the like, else the one that groups the vertices.

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
    if curve_column is not None and kind.read not in (read_csv, read_any_parquet):
        raise ContentError(f"{Path(path).name}: curve_column applies only to tables (.csv, .parquet)")
    read = kind.read if curve_column is None else partial(kind.read, curve_column=curve_column)
    with errors_named(path, kind.name), budget(memory):
        # "cells.curves.csv" is named "cells".
        table = assembled(read(path), Path(path).stem.removesuffix(".curves"))
        if not len(table.ensemble) and not table.ensemble.dropped:
            raise ContentError("holds no curves")
        return table


def write_curves(path: StrPath, curves: CurveTable | Ensemble) -> None:
    """Write closed curves with their features, scale, unit and provenance.

    Parameters
    ----------
    path : path
        .csv, .parquet, .geojson, .zip (ImageJ) or .npz. An existing file of that name is replaced atomically.
    curves : CurveTable or Ensemble
        For an ensemble, its measured features are written.

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
    >>> write_curves("squares.npz", Ensemble([[(0, 0), (0, 2), (2, 2), (2, 0)]], unit="µm"))
    >>> read_curves("squares.npz").features["area"].tolist()
    [4.0]
    """
    write = writer_of(path)
    with errors_named(path, "table of curves"):
        write(path, plain(with_features(curves)))


def writer_of(path: StrPath) -> Callable[[StrPath, CurveTable], None]:
    """Return the writer for a file of this name; raise a ValueError that lists the extensions if there is none."""
    kind = FORMATS.get(Path(path).suffix.lower())
    if kind is None or kind.write is None:
        endings = ", ".join(ending for ending, one in FORMATS.items() if one.write)
        raise ContentError(f"{Path(path).name}: curves can be saved as {endings}")
    return kind.write


def _format(path: StrPath) -> Format:
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise ContentError(f"{Path(path).name}: unknown format; the extension is not one of {', '.join(FORMATS)}")
    return FORMATS[ending]
