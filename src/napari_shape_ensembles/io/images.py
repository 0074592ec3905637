"""Reading of one plane of an image file and its pixel size, with safeguards against damaged files."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..archive import ContentError, StrPath, errors_named, npy_header, opened
from ..budget import budget, reserve_pixels
from ..outlines.recognise import content_of
from .calibration import Calibration, read_calibration
from .cellpose import read_seg
from .image_parts import plane_of_stack, shape_of_plane
from .spatialdata_store import is_spatialdata
from .vendor_images import VENDORS, chosen_image, count_scenes, read_scene

#: File extensions of supported images, and that of folders which are read as one image (OME-Zarr).
ENDINGS, ZARR = (".tif", ".tiff", ".png", ".jpg", ".jpeg", ".bmp", ".npy", *VENDORS), ".zarr"
_TIFF = (".tif", ".tiff")
# Upper limit of the number of pages, including pyramid levels, of any image of one plane.
_MAX_PAGES = 1000
# Upper limit of the compression ratio of any codec in use.
_MAX_COMPRESSION_RATIO = 2000
# Modes that must be converted to get colors: CMYK, and grayscale or palette with alpha.
_MIN_IS_WHITE = 0
# Index that VOC gives to the pixels around objects, which belong to none.
_VOID = 255
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
        Index of the image if the file holds several, such as positions; and for a stack, that along each leading axis.
    memory : float, optional
        Memory limit in GiB for reading and processing; by default 4.

    Raises
    ------
    ValueError
        For an unknown extension, a damaged file, complex numbers, a header that claims more pixels than fit into the
        file or the memory limit, or a stack or several images without `plane`.
    ImportError
        For .czi, .lif and .nd2 if bioio is not installed, with instructions.
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
    if is_ome_zarr(Path(path)):
        raise ContentError(f"{Path(path).name}: read an OME-Zarr image with io.read_ome_zarr")
    if ending not in ENDINGS:
        raise ContentError(f"{Path(path).name}: unknown image format; the extension is not one of {', '.join(ENDINGS)}")
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
    with errors_named(path, "image"), budget(memory):
        if ending in VENDORS:
            pixels, stated = read_scene(path, plane)
            calibration = calibration or stated
        else:
            pixels = _pixels(path, ending, size, plane)
        if np.iscomplexobj(pixels):
            raise ContentError("its pixels are complex numbers: save their magnitude or another image of real numbers")
        pixels = _without_alpha(pixels)
    calibration = calibration or read_calibration(path, plane[0] if plane and count_images(path) > 1 else 0)
    return ImageFile(pixels, calibration, Path(path).stem.removesuffix(".ome"))


def count_images(path: StrPath) -> int:
    """Return the number of images of one kind in a file, such as the positions of an OME-TIFF; 1 for other files.

    Images of unequal shapes, such as a slide and its label, are not of one kind.
    """
    ending = Path(path).suffix.lower()
    if ending in VENDORS:
        with errors_named(path, "image"):
            return count_scenes(path)
    if ending not in _TIFF or not Path(path).is_file():
        return 1
    import tifffile

    with errors_named(path, "image"), tifffile.TiffFile(path) as tiff:
        refuse_many_pages(tiff)
        images = _images_of(tiff)
        return len(images) if len({(one.shape, one.dtype) for _, one in images}) == 1 else 1


def is_ome_zarr(path: Path) -> bool:
    """Whether a folder is (in) an OME-Zarr image, judged by names: "x.ome.zarr", "x.zarr/labels/cells".

    A SpatialData store that has shapes is none.
    """
    if not path.is_dir() or is_spatialdata(path) or not any(part.lower().endswith(ZARR) for part in path.parts):
        return False
    inside = any((path / name).is_file() for name in (".zattrs", ".zgroup", "zarr.json"))  # such as a field of a plate
    return inside or any(part.lower().endswith(ZARR) for part in path.parts[-3:])


def _pixels(path: StrPath, ending: str, size: int, plane: tuple[int, ...]) -> NDArray[Any]:
    """Read one plane; `size` is that of the file in bytes."""
    if ending == ".npy":
        with opened(path) as file:
            shape, _, dtype = npy_header(file)
        masks = read_seg(path) if dtype.hasobject else None
        shape, dtype = (shape, dtype) if masks is None else (masks.shape, masks.dtype)
        reserve_pixels(shape_of_plane(shape, plane) if len(shape) > 2 else shape, dtype.itemsize)
        # Of a stack, only the plane is read.
        stack = masks if masks is not None else np.load(path, "r" if plane else None, allow_pickle=False)
        return np.array(plane_of_stack(stack, plane))
    if ending in _TIFF:
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
        if mode == "P":
            if (indices := _labels_with_palette(path)) is not None:
                return indices
            with Image.open(path) as image:
                mode = "PA" if "transparency" in image.info else mode
        return plane_of_stack(imageio.imread(path, plugin="pillow", mode=_READ_AS.get(str(mode))), plane)
    finally:
        Image.MAX_IMAGE_PIXELS = most


def _labels_with_palette(path: StrPath) -> NDArray[Any] | None:
    """Return the indices into the palette of an image if these are labels, as those of VOC and labelme; else None."""
    from PIL import Image

    with Image.open(path) as image:
        indices = np.asarray(image)
    indices = np.where(indices == _VOID, 0, indices)
    return indices if content_of(indices) in ("labels", "classes") else None


def _without_alpha(pixels: NDArray[Any]) -> NDArray[Any]:
    """Return the alpha channel of silhouettes, whose color is the same wherever they are opaque; else all channels."""
    if pixels.ndim != 3 or pixels.shape[2] != 4 or not np.ptp(pixels[..., 3]):
        return pixels
    visible = pixels[pixels[..., 3] > 0][:, :3]
    return pixels[..., 3] if (visible == visible[0]).all() else pixels


def _tiff_pixels(path: StrPath, size: int, plane: tuple[int, ...]) -> NDArray[Any]:
    """Read one plane of an image in a TIFF; of a stack, the others only if it is not stored by plane."""
    import tifffile

    with tifffile.TiffFile(path) as tiff:
        refuse_many_pages(tiff)
        number, series, plane = series_of(tiff, plane)
        refuse_claims(series.size, series.dtype.itemsize, size)
        if series.axes.startswith("S") and len(series.shape) == 3 and not plane:  # colors in separate planes
            reserve_pixels(series.shape, series.dtype.itemsize)
            return np.moveaxis(series.asarray(), 0, -1)
        shape = shape_of_plane(series.shape, plane)
        axes = tuple(side for side in series.shape if side > 1)[: len(plane)]
        is_mapped, is_paged = series.dataoffset is not None, len(series) == math.prod(axes)
        if not plane or not (is_mapped or is_paged):
            reserve_pixels(series.shape, series.dtype.itemsize)
            return _dark_at_zero(plane_of_stack(_decoded(path, series, series.asarray), plane), series)
        reserve_pixels(shape, series.dtype.itemsize)
        if is_mapped:  # uncompressed and in one piece
            stack = tifffile.memmap(path, series=number, level=0, mode="r")
            pixels = np.array(plane_of_stack(stack, plane), series.dtype.newbyteorder("="))
        else:
            page = int(np.ravel_multi_index(plane, axes))
            pixels = _decoded(path, series, lambda: tiff.asarray(key=page, series=number)).reshape(shape)
        return _dark_at_zero(pixels, series)


def series_of(tiff: Any, plane: tuple[int, ...] = ()) -> tuple[int, Any, tuple[int, ...]]:
    """Return the number and the series of an image in a TIFF, and the rest of the plane; see `read_image`.

    Raises
    ------
    ValueError
        For a file of several images, such as the positions of an OME-TIFF, without the index of one.
    """
    images = _images_of(tiff)
    place, rest = chosen_image(len(images), plane)
    return *images[place], rest


def _images_of(tiff: Any) -> list[tuple[int, Any]]:
    """Return the numbers and the series of the images in a TIFF, without thumbnails that are marked as such.

    An OME-TIFF that consists of several files refers to the images in all of them: those of this file are meant.
    """
    numbered = list(enumerate(tiff.series))
    images = [(number, one) for number, one in numbered if one.size and not one.keyframe.is_reduced]
    images = [(number, one) for number, one in images if one.keyframe.parent is tiff] or images or numbered[:1]
    if not images:
        raise ContentError("holds no image")
    return images


def _decoded(path: StrPath, series: Any, read: Callable[[], Any]) -> NDArray[Any]:
    """Return the pixels that tifffile reads; where their compression needs a further package, read them with Pillow.

    Raises
    ------
    ValueError
        For a stack or a compression that Pillow does not know either, with the remedy.
    """
    try:
        return np.asarray(read())
    except (ValueError, ImportError) as missing:  # of Zstandard, in the standard library from Python 3.14 on
        if not isinstance(missing, ImportError) and "imagecodecs" not in str(missing):
            raise
        error = missing
    from PIL import Image

    name = series.keyframe.compression.name
    if len(series.pages) == 1:
        with suppress(OSError, ValueError), Image.open(path) as image:
            pixels = np.asarray(image)
            if pixels.shape == series.shape and pixels.dtype == series.dtype:
                return pixels
    raise ContentError(
        f"is compressed ({name}), which needs a further package: pip install imagecodecs, or save the image without "
        "compression"
    ) from error


def _dark_at_zero(pixels: NDArray[Any], series: Any) -> NDArray[Any]:
    """Return gray levels of which 0 is dark; some TIFFs state that 0 is white. Labels are left as they are."""
    is_white = series.keyframe.photometric == _MIN_IS_WHITE and pixels.dtype.kind in "bu"
    # tifffile writes booleans as they are, and states that 0 is white.
    is_white &= not (pixels.dtype == bool and str(series.keyframe.software).startswith("tifffile"))
    if not is_white or content_of(pixels) in ("labels", "classes"):
        return pixels
    return ~pixels if pixels.dtype == bool else np.iinfo(pixels.dtype).max - pixels


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
