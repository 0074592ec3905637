"""Reading of one plane of an image file and its pixel size, with safeguards against damaged files."""

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
from .image_parts import plane_of_stack, refuse_no_plane

#: File extensions of supported images.
ENDINGS = (".tif", ".tiff", ".png", ".jpg", ".jpeg", ".bmp", ".npy")
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
        pixels = plane_of_stack(pixels, plane)
    return ImageFile(pixels, calibration or read_calibration(path), Path(path).stem.removesuffix(".ome"))


def _pixels(path: StrPath, ending: str, size: int, plane: tuple[int, ...]) -> NDArray[Any]:
    if ending == ".npy":
        with opened(path) as file:
            shape, _, dtype = npy_header(file)
        if len(shape) > 2:
            refuse_no_plane(shape, plane)
        reserve_pixels(shape, dtype.itemsize)
        return np.asarray(np.load(path, allow_pickle=False))
    if ending in (".tif", ".tiff"):
        import tifffile

        with tifffile.TiffFile(path) as tiff:
            refuse_many_pages(tiff)
            series = tiff.series[0]
            refuse_claims(series.size, series.dtype.itemsize, size)
            refuse_no_plane(series.shape, plane)
            reserve_pixels(series.shape, series.dtype.itemsize)
            return np.asarray(series.asarray())
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
        return np.asarray(imageio.imread(path, plugin="pillow", mode=_READ_AS.get(str(mode))))
    finally:
        Image.MAX_IMAGE_PIXELS = most


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
