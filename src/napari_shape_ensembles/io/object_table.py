"""Export of the object table of a run, one row per outline, with the format chosen by the file extension."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..archive import ContentError, StrPath, replacing, write_bytes
from ..comparison import Comparison, Experiment
from ..outlines import Ensemble
from .curve_files import write_curves
from .curve_table import FORMAT, CurveTable, metadata
from .geoparquet import polygons_bytes
from .results import write_table
from .tables import pyarrow_modules

if TYPE_CHECKING:
    import pandas as pd

#: File extensions of object tables, with their format.
ENDINGS = {
    ".csv": "table",
    ".parquet": "table",
    ".geoparquet": "table with polygons",
    ".geojson": "QuPath's annotations",
    ".h5ad": "AnnData",
    ".zarr": "SpatialData",
}


def check_ending(path: Path) -> None:
    """Raise for an unknown file extension, before any computation.

    Raises
    ------
    ValueError
        Listing the known extensions.
    """
    if path.suffix.lower() not in ENDINGS:
        known = ", ".join(f"{ending} ({what})" for ending, what in ENDINGS.items())
        raise ContentError(f"{path.name}: a table of outlines must end in {known}")
    if path.suffix.lower() == ".zarr" and path.exists():
        raise ContentError(f"{path} already exists: choose another name")


def write_objects(path: StrPath, source: Comparison | Experiment | Ensemble, rows: pd.DataFrame | None = None) -> Path:
    """Write one row per outline; returns the path.

    Parameters
    ----------
    path : path
        .csv and .parquet hold the columns of `to_dataframe`; .geoparquet also the polygons; .geojson QuPath annotations
        in pixels; .h5ad is AnnData, .zarr SpatialData.
    source : Comparison, Experiment or Ensemble
        Of an experiment, .h5ad and .zarr are written by contrast.
    rows : DataFrame, optional
        Used instead of `source.to_dataframe()`; not for .h5ad and .zarr.

    Raises
    ------
    ValueError
        For another extension, or one that cannot hold an experiment.
    ImportError
        If the format needs a package that is not installed, with instructions.

    Examples
    --------
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from napari_shape_ensembles import Ensemble
    >>> from napari_shape_ensembles.io import write_objects
    >>> squares = Ensemble([[(0, 0), (0, 2), (2, 2), (2, 0)]], name="field 1", unit="µm")
    >>> pd.read_csv(write_objects(Path("squares.csv"), squares))[["id", "image", "area"]]
       id    image  area
    0   0  field 1   4.0
    """
    if not isinstance(source, Comparison | Experiment | Ensemble):
        raise TypeError(f"write_objects takes a Comparison, an Experiment or an Ensemble, not {type(source).__name__}")
    path = Path(path)
    check_ending(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    ending = path.suffix.lower()
    if ending in (".h5ad", ".zarr"):
        _write_annotated(path, source)
        return path
    if rows is None:
        rows = source.to_dataframe(coordinates=True) if isinstance(source, Comparison) else source.to_dataframe()
    if ending == ".csv":
        write_table(path, rows)
        return path
    if ending == ".parquet":
        pyarrow, parquet = pyarrow_modules()
        with replacing(path) as file:
            parquet.write_table(pyarrow.Table.from_pandas(rows, preserve_index=False), file)
        return path
    ensemble = _outlines(source)
    known = CurveTable(ensemble, rows.drop(columns="id"), ensemble.pixel_size or (1.0, 1.0))
    if ending == ".geoparquet":
        write_bytes(path, polygons_bytes(rows, ensemble, {FORMAT: metadata(known)}))
    else:
        write_curves(path, known)
    return path


def _outlines(source: Comparison | Experiment | Ensemble) -> Ensemble:
    """Return the outlines in the order of the table."""
    if isinstance(source, Ensemble):
        return source
    return Ensemble.pooled(source.groups.images if isinstance(source, Experiment) else [source.a, source.b])


def _write_annotated(path: Path, source: Comparison | Experiment | Ensemble) -> None:
    """Write AnnData or SpatialData; the former to a temporary file, renamed once it is complete."""
    if isinstance(source, Experiment):
        raise ContentError(f"{path.name}: {path.suffix} holds one contrast: write .parquet, or experiment.contrast(…)")
    if path.suffix.lower() == ".zarr":
        source.to_spatialdata().write(path)
        return
    draft = path.with_name(f".{path.name}.part")
    try:
        source.to_anndata().write_h5ad(draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
