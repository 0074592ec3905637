"""One plane of an image file, read with care, and the size of its pixels."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..archive import ContentError, StrPath
from .calibration import Calibration, read_calibration
from .content import errors_named

#: Endings of the images that are read.
ENDINGS = (".tif", ".tiff", ".png", ".jpg", ".jpeg", ".bmp", ".npy")
# Bytes of one image in memory.
_MOST_BYTES = 4 * 2**30
# No compression in use packs more closely than this.
_CLOSEST_PACKING = 2000
_COLOURS = (3, 4)
# Inks and transparent greys are no colours yet.
_READ_AS = {"CMYK": "RGB", "LA": "RGBA", "PA": "RGBA"}


@dataclass(frozen=True, eq=False)
class ImageFile:
    """An image and the size of its pixels.

    Attributes
    ----------
    pixels : (rows, columns) array, or with a last axis of 3 or 4 for colours
    calibration : Calibration
    name : str
        Of the file, without its ending.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.io import Calibration, ImageFile
    >>> ImageFile(np.zeros((8, 6)), Calibration((0.5, 0.5), "µm"), "field 1").calibration.unit
    'µm'
    """

    pixels: NDArray[Any]
    calibration: Calibration
    name: str


def read_image(path: StrPath, calibration: Calibration | None = None) -> ImageFile:
    """Read a two-dimensional image and the size of its pixels.

    Parameters
    ----------
    path : path
    calibration : Calibration, optional
        In place of what the file states, which is then not looked at.

    Raises
    ------
    ValueError
        For an unknown ending, a damaged file, a claim of more pixels than the file can hold, or a stack.
    OSError
        When there is no such file, or it cannot be read.

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
        raise ContentError(f"{Path(path).name}: the ending is none of {', '.join(ENDINGS)}, so it is no known image")
    size = Path(path).stat().st_size
    with errors_named(path, "image"):
        pixels = _pixels(path, ending, size)
        while pixels.ndim > 2 and 1 in pixels.shape:  # some formats put axes of length 1 around a plane
            pixels = pixels.squeeze(pixels.shape.index(1))
        if pixels.ndim != 2 and not (pixels.ndim == 3 and pixels.shape[2] in _COLOURS):
            raise ContentError(f"holds an image of shape {pixels.shape}: save one plane, in grey or in colour")
    return ImageFile(pixels, calibration or read_calibration(path), Path(path).stem.removesuffix(".ome"))


def _pixels(path: StrPath, ending: str, size: int) -> NDArray[Any]:
    if ending == ".npy":
        return np.array(np.load(path, mmap_mode="r", allow_pickle=False))
    if ending in (".tif", ".tiff"):
        import tifffile

        with tifffile.TiffFile(path) as tiff:
            seen: set[int] = set()
            for page in tiff.pages:  # of a damaged file they may follow each other in a circle, without end
                if page.offset in seen:
                    raise ContentError(
                        "its pages follow each other in a circle: the file is damaged, save the image anew"
                    )
                seen.add(page.offset)
            series = tiff.series[0]
            _refuse_claims(series.nbytes, size)
            return np.asarray(series.asarray())
    import imageio.v3 as imageio
    from PIL import Image

    # Pillow takes scans beyond 179 megapixels for attacks; claims are held against the size of the file here.
    most, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        properties = imageio.improps(path, plugin="pillow")
        _refuse_claims(int(np.prod(properties.shape, dtype=object)) * np.dtype(properties.dtype).itemsize, size)
        mode = imageio.immeta(path, plugin="pillow", exclude_applied=False).get("mode")
        return np.asarray(imageio.imread(path, plugin="pillow", mode=_READ_AS.get(str(mode))))
    finally:
        Image.MAX_IMAGE_PIXELS = most


def _refuse_claims(claimed: int, size: int) -> None:
    if claimed > min(_MOST_BYTES, max(size, 1) * _CLOSEST_PACKING):
        raise ContentError(f"claims {claimed} bytes of pixels, but the file has {size}")
