"""Images in the formats of microscopes (Zeiss, Leica, Nikon), through bioio where it is installed."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..archive import ContentError, StrPath
from ..budget import reserve_pixels
from ..outlines.exchange import needed
from .calibration import Calibration
from .image_parts import plane_of_stack, shape_of_plane

#: File extensions.
VENDORS = (".czi", ".lif", ".nd2")
# The extra with which bioio and its readers of these formats are installed.
_EXTRA = "bioio"


def count_scenes(path: StrPath) -> int:
    """Return the number of images (scenes, positions) in a file."""
    with _opened(path) as image:
        return len(image.scenes)


def read_scene(path: StrPath, plane: tuple[int, ...]) -> tuple[NDArray[Any], Calibration]:
    """Read one plane of one image of a file, with its pixel size.

    `plane` is the index of the image if there are several, then that along each leading axis of a stack: without these
    a ValueError lists what there is. An ImportError says how to install bioio, or its reader of this format.
    """
    with _opened(path) as image:
        scene, plane = chosen_image(len(image.scenes), plane)
        image.set_scene(scene)
        array = image.dask_data
        reserve_pixels(shape_of_plane(array.shape, plane), array.dtype.itemsize)
        sides = image.physical_pixel_sizes.Y, image.physical_pixel_sizes.X
        sized = all(side is not None and isfinite(side) and side > 0 for side in sides)
        calibration = Calibration((float(sides[0]), float(sides[1])), "µm", "bioio") if sized else Calibration()
        try:
            return np.array(plane_of_stack(array, plane)), calibration
        except ContentError:
            raise
        except Exception as error:  # of any type, in scan modes that bioio does not know
            raise ContentError(f"bioio cannot read its pixels ({str(error)[:80]}): export the image as TIFF") from error


def chosen_image(count: int, plane: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Return the index of one of several images in a file, and the rest of the plane; that of the only image is 0.

    Raises
    ------
    ValueError
        If none is given, or there is none of that index.
    """
    if count == 1:
        return 0, plane
    if not plane:
        raise ContentError(
            f"holds {count} images, such as positions: in a design table, the first number of a column plane selects "
            "one, counted from 0 (in Python plane=)"
        )
    if not 0 <= plane[0] < count:
        raise ContentError(f"has no image {plane[0]}: it holds {count}, counted from 0")
    return plane[0], plane[1:]


@contextmanager
def _opened(path: StrPath) -> Iterator[Any]:
    bioio = needed("bioio", _EXTRA, "an image of a microscope's own format, unlike TIFF,")
    try:
        image = bioio.BioImage(path)
    except Exception as error:
        # bioio raises the same error, of no built-in type, for a damaged file and for one without reader.
        if type(error).__name__ != "UnsupportedFileFormatError":
            raise
        if find_spec(f"bioio_{Path(path).suffix[1:].lower()}") is None:
            remedy = f'pip install "napari-shape-ensembles[{_EXTRA}]", or export TIFF'
            raise ImportError(f"bioio has no reader of {Path(path).name}: {remedy}") from error
        raise ContentError(
            "bioio does not know its content: open it in the program it comes from, and export TIFF"
        ) from error
    yield image
