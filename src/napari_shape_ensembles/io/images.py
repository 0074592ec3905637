"""Reading of one plane of an image file and its pixel size, with safeguards against damaged files."""

import math
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..archive import ContentError, StrPath, errors_named, npy_header, opened
from ..budget import budget, reserve_pixels
from .calibration import Calibration, read_calibration
from .image_parts import plane_of_stack, shape_of_plane

#: File extensions of supported images, and that of folders which are read as one image (OME-Zarr).
ENDINGS, ZARR = (".tif", ".tiff", ".png", ".jpg", ".jpeg", ".bmp", ".npy"), ".zarr"
# Upper limit of the number of pages, including pyramid levels, of any image of one plane.
_MAX_PAGES = 1000
# Upper limit of the compression ratio of any codec in use.
_MAX_COMPRESSION_RATIO = 2000
# Modes that must be converted to get colors: CMYK, and grayscale or palette with alpha.
_READ_AS = {"CMYK": "RGB", "LA": "RGBA", "PA": "RGBA"}


@dataclass(frozen=True, eq=False)
class ImageFile:
    """An image and its pixel size.

    Attributes
    ----------
    pixels : (rows, columns) array, or with a last axis of 3 or 4 for colors
    calibration : Calibration
    name : str
        Name of the file, without its extension.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.io import Calibration
    >>> from napari_shape_ensembles.io.images import ImageFile
    >>> ImageFile(np.zeros((8, 6)), Calibration((0.5, 0.5), "µm"), "field 1").calibration.unit
    'µm'
    """

    pixels: NDArray[Any]
    calibration: Calibration
    name: str


def read_image(
    path: StrPath,
    calibration: Calibration | None = None,
    *,
    plane: tuple[int, ...] = (),
    memory: float | None = None,
) -> ImageFile:
    """Read a two-dimensional image, or one plane of a stack, with its pixel size.

    Parameters
    ----------
    path : path
    calibration : Calibration, optional
        Used instead of the calibration in the file, which is then not read.
    plane : tuple of int
        For a stack, the index along each leading axis.
    memory : float, optional
        Memory limit in GiB for reading and processing; by default 4.

    Raises
    ------
    ValueError
        For an unknown extension, a damaged file, complex numbers, a header that claims more pixels than fit into the
        file or the memory limit, or a stack without `plane`.
    OSError
        If the file does not exist, or cannot be read.

    Examples
    --------
    >>> import numpy as np
    >>> import tifffile
    >>> from napari_shape_ensembles.io import read_image
    >>> tifffile.imwrite("field.tif", np.zeros((8, 6), np.uint8))
    >>> image = read_image("field.tif")
    >>> image.name, image.pixels.shape
    ('field', (8, 6))
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ContentError(f"{Path(path).name}: unknown image format; the extension is not one of {', '.join(ENDINGS)}")
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
    with errors_named(path, "image"), budget(memory):
        pixels = _pixels(path, ending, size, plane)
        if np.iscomplexobj(pixels):
            raise ContentError("its pixels are complex numbers: save their magnitude or another image of real numbers")
    return ImageFile(pixels, calibration or read_calibration(path), Path(path).stem.removesuffix(".ome"))


def is_ome_zarr(path: Path) -> bool:
    """Whether a folder is (in) an OME-Zarr image, judged by names: "x.ome.zarr", "x.zarr/labels/cells"."""
    return path.is_dir() and any(part.lower().endswith(ZARR) for part in path.parts[-3:])


def _pixels(path: StrPath, ending: str, size: int, plane: tuple[int, ...]) -> NDArray[Any]:
    """Read one plane; `size` is that of the file in bytes."""
    if ending == ".npy":
        with opened(path) as file:
            shape, _, dtype = npy_header(file)
        reserve_pixels(shape_of_plane(shape, plane) if len(shape) > 2 else shape, dtype.itemsize)
        # Of a stack, only the plane is read.
        return np.array(plane_of_stack(np.load(path, "r" if plane else None, allow_pickle=False), plane))
    if ending in (".tif", ".tiff"):
        return _tiff_pixels(path, size, plane)
    import imageio.v3 as imageio
    from PIL import Image

    # Pillow rejects images beyond 179 megapixels as decompression bombs; claimed sizes are checked against the file
    # here.
    most, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        properties = imageio.improps(path, plugin="pillow")
        count, itemsize = int(np.prod(properties.shape, dtype=object)), np.dtype(properties.dtype).itemsize
        refuse_claims(count, itemsize, size)
        reserve_pixels(properties.shape, itemsize)
        mode = imageio.immeta(path, plugin="pillow", exclude_applied=False).get("mode")
        return plane_of_stack(imageio.imread(path, plugin="pillow", mode=_READ_AS.get(str(mode))), plane)
    finally:
        Image.MAX_IMAGE_PIXELS = most


def _tiff_pixels(path: StrPath, size: int, plane: tuple[int, ...]) -> NDArray[Any]:
    """Read one plane of the first image in a TIFF; of a stack, the others only if it is not stored by plane."""
    import tifffile

    with tifffile.TiffFile(path) as tiff:
        refuse_many_pages(tiff)
        series = tiff.series[0]
        refuse_claims(series.size, series.dtype.itemsize, size)
        shape = shape_of_plane(series.shape, plane)
        axes = tuple(side for side in series.shape if side > 1)[: len(plane)]
        is_mapped, is_paged = series.dataoffset is not None, len(series) == math.prod(axes)
        if not plane or not (is_mapped or is_paged):
            reserve_pixels(series.shape, series.dtype.itemsize)
            return plane_of_stack(series.asarray(), plane)
        reserve_pixels(shape, series.dtype.itemsize)
        if is_mapped:  # uncompressed and in one piece
            stack = tifffile.memmap(path, series=0, level=0, mode="r")
            return np.array(plane_of_stack(stack, plane), series.dtype.newbyteorder("="))
        return np.asarray(tiff.asarray(key=int(np.ravel_multi_index(plane, axes)), series=0)).reshape(shape)


def refuse_claims(count: int, itemsize: int, size: int) -> None:
    """Raise if a header claims more pixels than a file of this size can hold."""
    if count * itemsize > max(size, 1) * _MAX_COMPRESSION_RATIO:
        raise ContentError(f"declares {count * itemsize} bytes of pixels, but the file has {size}")


def refuse_many_pages(tiff: Any) -> None:
    """Count pages by following the IFD offsets alone: parsing many is slow, and damaged chains are cyclic."""
    form, handle = tiff.tiff, tiff.filehandle
    seen: set[int] = set()
    handle.seek(form.offsetsize)
    while offset := struct.unpack(form.offsetformat, handle.read(form.offsetsize))[0]:
        if offset in seen:
            raise ContentError("its pages form a cycle: the file is damaged, save the image again")
        seen.add(offset)
        if len(seen) > _MAX_PAGES:
            raise ContentError(f"holds more than {_MAX_PAGES} pages: save one plane, grayscale or color")
        handle.seek(offset)
        tags = struct.unpack(form.tagnoformat, handle.read(form.tagnosize))[0]
        handle.seek(offset + form.tagnosize + tags * form.tagsize)
