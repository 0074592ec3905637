"""Parts of images that exceed the memory limit: labels by tile, and one plane of a stack."""

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..archive import errors_named
from ..budget import budget, exceeds_limit, reserve_pixels
from ..outlines.exchange import needed
from .calibration import Calibration, read_calibration
from .images import ImageFile, refuse_claims, refuse_many_pages
from .ome_zarr import is_ome_zarr, open_ome_zarr

_COLOURS = (3, 4)


@dataclass(frozen=True, eq=False)
class LazyImage:
    """An image or labels that are read lazily, on slicing, with the pixel size."""

    array: Any
    calibration: Calibration
    name: str

    def is_large(self, memory: float | None = None) -> bool:
        """Whether the whole array would exceed the memory limit of a file; see `budget`."""
        return exceeds_limit(self.array.shape, self.array.dtype.itemsize, memory)


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
            return tiff.series[0].dataoffset is not None

    def __getitem__(self, place: tuple[slice | int, ...]) -> NDArray[Any]:
        import tifffile

        zarr = needed("zarr", "zarr", "a TIFF larger than memory")
        if self.is_plain:  # often in one strip, which would be read whole for every tile
            return np.array(tifffile.memmap(self.path, series=0, level=0, mode="r")[place], self.dtype)
        with tifffile.imread(self.path, aszarr=True, level=0) as store:
            return np.asarray(zarr.open(store, mode="r")[place])


def lazy_labels(path: Path, *, labels: bool | None = None, memory: float | None = None) -> LazyImage | None:
    """Open labels for reading by tile; None for any other file.

    Parameters
    ----------
    path : Path
    labels : bool, optional
        An OME-Zarr is opened as labels if its metadata say so, or with True; a TIFF with True if it exceeds the memory
        limit.
    memory : float, optional
        Memory limit in GiB per file; see `budget`.
    """
    if labels is False or not path.exists():
        return None
    if is_ome_zarr(path):
        found = open_ome_zarr(path, labels=labels)
        if (labels or found.is_labels) and len(found.array.shape) == 2 and found.array.dtype.kind in "iu":
            return LazyImage(found.array, found.calibration, found.name)
        return None
    image = _large_tiff(path, memory) if labels else None
    return image if image is not None and len(image.array.shape) == 2 and image.array.dtype.kind in "iu" else None


def read_large_stack(path: Path, plane: tuple[int, ...], memory: float | None = None) -> ImageFile | None:
    """Read one plane of an image file that exceeds the memory limit.

    None for any other file, or if `plane` is not a valid index.

    Parameters
    ----------
    path : Path
    plane : tuple of int
        For a stack, the index along each leading axis, ignoring axes of length 1.
    memory : float, optional
        Memory limit in GiB per file; see `budget`.

    Raises
    ------
    ValueError
        If the plane exceeds the memory limit, too.
    """
    found: LazyImage | None = None
    if is_ome_zarr(path):
        image = open_ome_zarr(path)
        found = None if image.is_labels else LazyImage(image.array, image.calibration, image.name)
    else:
        found = _large_tiff(path, memory)
    if found is None or not found.is_large(memory):
        return None
    shape, places = found.array.shape, list(plane)
    axes = shape[: -3 if len(shape) > 2 and shape[-1] in _COLOURS else -2]
    if len(plane) != sum(size > 1 for size in axes):
        return None
    before = tuple(places.pop(0) if size > 1 else 0 for size in axes)
    if any(not 0 <= place < size for place, size in zip(before, axes, strict=True)):
        return None
    with errors_named(path, "image"), budget(memory):
        reserve_pixels(shape[len(axes) :], found.array.dtype.itemsize)
        return ImageFile(np.asarray(found.array[before]), found.calibration, found.name)


def _large_tiff(path: Path, memory: float | None) -> LazyImage | None:
    """Open a TIFF that exceeds the memory limit; None for any other file."""
    if path.suffix.lower() not in (".tif", ".tiff") or not path.is_file():
        return None
    import tifffile

    with errors_named(path, "image"), tifffile.TiffFile(path) as tiff:
        refuse_many_pages(tiff)
        series = tiff.series[0]
        shape, dtype = series.shape, series.dtype
        if not exceeds_limit(shape, dtype.itemsize, memory):
            return None
        refuse_claims(math.prod(shape), dtype.itemsize, path.stat().st_size)
    needed("zarr", "zarr", "a TIFF larger than memory")
    return LazyImage(TiffArray(path, tuple(shape), dtype), read_calibration(path), path.stem.removesuffix(".ome"))
