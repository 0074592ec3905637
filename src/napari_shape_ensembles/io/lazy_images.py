"""Labels that are read lazily, by tile: in OME-Zarr, or in a TIFF that exceeds the memory limit."""

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..archive import errors_named
from ..budget import exceeds_limit
from ..outlines.exchange import needed
from .calibration import read_calibration
from .images import count_images, is_ome_zarr, refuse_claims, refuse_many_pages, series_of
from .ome_zarr import LazyImage, open_ome_zarr


@dataclass(frozen=True, eq=False)
class TiffArray:
    """Lazy pixels of a TIFF that is opened for each slice: picklable, and holds no open file.

    Attributes
    ----------
    path : Path
    shape, dtype
        Those of the first series, with all its axes.
    """

    path: Path
    shape: tuple[int, ...]
    dtype: Any

    @cached_property
    def is_plain(self) -> bool:
        """Whether the pixels are uncompressed and in one piece."""
        import tifffile

        with tifffile.TiffFile(self.path) as tiff:
            return series_of(tiff)[1].dataoffset is not None

    def __getitem__(self, place: tuple[slice | int, ...]) -> NDArray[Any]:
        import tifffile

        zarr = needed("zarr", "zarr", "a TIFF larger than memory")
        if self.is_plain:  # often in one strip, which would be read whole for every tile
            with tifffile.TiffFile(self.path) as tiff:
                number, *_ = series_of(tiff)
            return np.array(tifffile.memmap(self.path, series=number, level=0, mode="r")[place], self.dtype)
        with tifffile.TiffFile(self.path) as tiff, series_of(tiff)[1].aszarr(level=0) as store:
            return np.asarray(zarr.open(store, mode="r")[place])


def lazy_labels(path: Path, *, labels: bool | None = None, memory: float | None = None) -> LazyImage | None:
    """Open labels that exceed the memory limit for reading by tile; None for any other file.

    An OME-Zarr is opened as labels if its metadata say so, or if `labels` is true; a TIFF if it is true.
    """
    if is_ome_zarr(path):
        image = None if labels is False else open_ome_zarr(path, labels=labels)
        if image is None or not (labels or image.is_labels):
            return None
    else:
        image = _large_tiff(path, memory) if labels else None
    if image is None or len(image.array.shape) != 2 or image.array.dtype.kind not in "iu":
        return None
    return image if exceeds_limit(image.array.shape, image.array.dtype.itemsize, memory) else None


def _large_tiff(path: Path, memory: float | None) -> LazyImage | None:
    """Open a TIFF that exceeds the memory limit; None for any other file."""
    if path.suffix.lower() not in (".tif", ".tiff") or not path.is_file():
        return None
    import tifffile

    with errors_named(path, "image"), tifffile.TiffFile(path) as tiff:
        if count_images(path) > 1:
            return None
        refuse_many_pages(tiff)
        series = series_of(tiff)[1]
        shape, dtype = series.shape, series.dtype
        if not exceeds_limit(shape, dtype.itemsize, memory):
            return None
        refuse_claims(math.prod(shape), dtype.itemsize, path.stat().st_size)
    needed("zarr", "zarr", "a TIFF larger than memory")
    return LazyImage(TiffArray(path, tuple(shape), dtype), read_calibration(path), path.stem.removesuffix(".ome"))
