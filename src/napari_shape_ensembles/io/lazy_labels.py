"""Label images that are read a tile at a time: labels in OME-Zarr, and in TIFF where they outgrow the memory."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..budget import MEMORY, pixel_bytes
from ..outlines.exchange import needed
from .calibration import Calibration, read_calibration
from .ome_zarr import is_ome_zarr, open_ome_zarr

if TYPE_CHECKING:
    from .sources import Reading


@dataclass(frozen=True, eq=False)
class LazyLabels:
    """Labels of which nothing is read until they are sliced, and the size of their pixels."""

    array: Any
    calibration: Calibration
    name: str


def lazy_labels(path: Path, reading: "Reading") -> LazyLabels | None:
    """Open labels that are to be read in tiles; None for any other file, and for recipes of tilings.

    Parameters
    ----------
    path : Path
    reading : Reading
        An OME-Zarr is taken for labels where it says so, or `labels` are asked for; a TIFF where they are asked for and
        it is larger than the memory that reading one file may take.
    """
    if reading.settings.outlines.is_tiling or reading.labels is False or not path.exists():
        return None
    reading = reading.of(path)
    if is_ome_zarr(path):
        found = open_ome_zarr(path, labels=reading.labels)
        if (reading.labels or found.is_labels) and len(found.array.shape) == 2 and found.array.dtype.kind in "iu":
            return LazyLabels(found.array, found.calibration, found.name)
    elif reading.labels and path.suffix.lower() in (".tif", ".tiff"):
        import tifffile

        with tifffile.TiffFile(path) as tiff:
            series = tiff.series[0]
            shape, dtype = series.shape, series.dtype
        large = pixel_bytes(math.prod(shape), dtype.itemsize) > (reading.memory or MEMORY) * 2**30
        if large and len(shape) == 2 and dtype.kind in "iu":
            zarr = needed("zarr", "zarr", "a TIFF larger than the memory")
            array = zarr.open(tifffile.imread(path, aszarr=True, level=0), mode="r")
            return LazyLabels(array, read_calibration(path), path.stem.removesuffix(".ome"))
    return None
