"""Label images that are read a tile at a time: labels in OME-Zarr, and in TIFF where they outgrow the memory."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..budget import MEMORY, pixel_bytes
from ..outlines.exchange import needed
from .calibration import Calibration, read_calibration
from .ome_zarr import is_ome_zarr, open_ome_zarr


@dataclass(frozen=True, eq=False)
class LazyLabels:
    """Labels of which nothing is read until they are sliced, and the size of their pixels."""

    array: Any
    calibration: Calibration
    name: str

    def is_large(self, memory: float | None = None) -> bool:
        """Whether they, read whole, would take more memory than a file may; see `budget`."""
        return _is_large(self.array.shape, self.array.dtype, memory)


def _is_large(shape: tuple[int, ...], dtype: Any, memory: float | None) -> bool:
    return pixel_bytes(math.prod(shape), dtype.itemsize) > (memory or MEMORY) * 2**30


def lazy_labels(path: Path, *, labels: bool | None = None, memory: float | None = None) -> LazyLabels | None:
    """Open labels that are to be read in tiles; None for any other file.

    Parameters
    ----------
    path : Path
    labels : bool, optional
        An OME-Zarr is taken for labels where it says so, or they are asked for; a TIFF where they are asked for and it
        is larger than the memory.
    memory : float, optional
        GiB that reading one file may take; see `budget`.
    """
    if labels is False or not path.exists():
        return None
    if is_ome_zarr(path):
        found = open_ome_zarr(path, labels=labels)
        if (labels or found.is_labels) and len(found.array.shape) == 2 and found.array.dtype.kind in "iu":
            return LazyLabels(found.array, found.calibration, found.name)
    elif labels and path.suffix.lower() in (".tif", ".tiff"):
        import tifffile

        with tifffile.TiffFile(path) as tiff:
            series = tiff.series[0]
            shape, dtype = series.shape, series.dtype
        if _is_large(shape, dtype, memory) and len(shape) == 2 and dtype.kind in "iu":
            zarr = needed("zarr", "zarr", "a TIFF larger than the memory")
            array = zarr.open(tifffile.imread(path, aszarr=True, level=0), mode="r")
            return LazyLabels(array, read_calibration(path), path.stem.removesuffix(".ome"))
    return None
