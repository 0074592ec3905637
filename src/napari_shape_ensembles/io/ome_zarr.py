"""OME-Zarr: reading planes of images and labels by block, and writing labels, with the pixel size.

Reads versions 0.4 (Zarr 2) and 0.5 (Zarr 3) of the format; writes 0.4, which more programs support.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..archive import ContentError, StrPath, errors_named
from ..budget import budget, reserve_pixels
from ..outlines.exchange import needed
from ..progress import report
from ..words import counted
from .calibration import Calibration
from .image_parts import plane_of_stack, shape_of_plane
from .images import ZARR, ImageFile

# Chunk side in writing, and maximum side of the smallest pyramid level.
_CHUNK = 1024
_UNITS = {"micrometer": "µm", "nanometer": "nm", "millimeter": "mm", "centimeter": "cm", "meter": "m"}


@dataclass(frozen=True, eq=False)
class LazyImage:
    """An image in an OME-Zarr store, or another one that is read lazily, on slicing.

    Attributes
    ----------
    array : zarr.Array
        Full-resolution level, with all axes.
    calibration : Calibration
    name : str
        Name of the store, without its extensions.
    is_labels : bool
        Whether the metadata of the store identify it as labels.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.io import write_ome_zarr_labels
    >>> from napari_shape_ensembles.io.ome_zarr import open_ome_zarr
    >>> write_ome_zarr_labels("cells.ome.zarr", np.eye(8, dtype=np.int32))
    >>> open_ome_zarr("cells.ome.zarr").array.shape
    (8, 8)
    """

    array: Any
    calibration: Calibration
    name: str
    is_labels: bool = False


def open_ome_zarr(path: StrPath, *, labels: bool | None = None) -> LazyImage:
    """Open an image or labels in an OME-Zarr store.

    Parameters
    ----------
    path : path
        A folder: an image, or a label image such as "field.ome.zarr/labels/cells".
    labels : bool, optional
        True opens the labels of an image, which must have exactly one label image; by default only if the folder holds
        nothing else.

    Raises
    ------
    ValueError
        For a folder that is not an OME-Zarr store, or an image with no or several label images, naming them.
    ImportError
        If zarr is not installed, with instructions.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.io import Calibration, write_ome_zarr_labels
    >>> from napari_shape_ensembles.io.ome_zarr import open_ome_zarr
    >>> write_ome_zarr_labels("um.ome.zarr", np.eye(8, dtype=np.int32), Calibration((0.5, 0.5), "µm"))
    >>> open_ome_zarr("um.ome.zarr").calibration
    Calibration(scale=(0.5, 0.5), unit='µm', source='OME-Zarr')
    """
    zarr = needed("zarr", "zarr", "OME-Zarr")
    if not Path(path).is_dir():
        raise FileNotFoundError(f"there is no folder {path}")
    with errors_named(path, "OME-Zarr image"):
        group = zarr.open(str(path), mode="r")
        if not isinstance(group, zarr.Group):
            raise ContentError("is an array, which is one level of an image: give the folder that holds it")
        own = _metadata(group)
        inside = list(_metadata(group["labels"]).get("labels", [])) if "labels" in group else []
        if inside and "image-label" not in own and (labels or "multiscales" not in own):
            if len(inside) > 1:
                names = ", ".join(inside)
                raise ContentError(f"holds several sets of labels ({names}): name one, as in labels/{inside[0]}")
            group = group[f"labels/{inside[0]}"]
            own = _metadata(group)
        elif labels and "image-label" not in own and "multiscales" not in own:
            raise ContentError("holds no labels")
        if "multiscales" not in own:
            if fields := own.get("well", {}).get("images") or own.get("plate", {}).get("wells"):
                inside = fields[0]["path"] + ("/0" if "plate" in own else "")
                what = counted(len(fields), "well" if "plate" in own else "field")
                raise ContentError(f"holds {what} of a plate: give a field, such as {Path(path).name}/{inside}")
            raise ContentError("is not an OME-Zarr image: its metadata have no multiscales")
        scales = own["multiscales"][0]
        first = scales["datasets"][0]
        array = group[first["path"]]
        return LazyImage(array, _calibration(scales, first, array.ndim), _name(Path(path)), "image-label" in own)


def read_ome_zarr(
    path: StrPath, *, plane: tuple[int, ...] = (), labels: bool | None = None, memory: float | None = None
) -> ImageFile:
    """Read a whole plane of an OME-Zarr image or labels; parameters as for `read_image` and `open_ome_zarr`.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.io import read_ome_zarr, write_ome_zarr_labels
    >>> write_ome_zarr_labels("diagonal.ome.zarr", np.eye(4, dtype=np.int32))
    >>> read_ome_zarr("diagonal.ome.zarr").pixels.sum().item()
    4
    """
    found = open_ome_zarr(path, labels=labels)
    with errors_named(path, "OME-Zarr image"), budget(memory):
        reserve_pixels(shape_of_plane(found.array.shape, plane, ()), found.array.dtype.itemsize)
        return ImageFile(plane_of_stack(found.array, plane, ()), found.calibration, found.name)


def write_ome_zarr_labels(
    path: StrPath, labels: Any, calibration: Calibration | None = None, *, levels: int | None = None
) -> None:
    """Write a plane of labels as a multiscale OME-Zarr, one band of rows at a time.

    Parameters
    ----------
    path : path
        A folder that does not exist yet.
    labels : (rows, columns) array
        Integers: a NumPy, Dask or Zarr array, or any array-like with shape, dtype and slicing.
    calibration : Calibration, optional
        Pixel size; by default none is written.
    levels : int, optional
        Number of pyramid levels, each downsampled by 2; by default until one fits into a chunk of 1024 pixels a side.

    Raises
    ------
    ValueError
        For an array other than a plane of integers, or a folder that exists already.
    ImportError
        If zarr is not installed, with instructions.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.io import read_ome_zarr, write_ome_zarr_labels
    >>> labels = np.arange(12, dtype=np.int32).reshape(3, 4)
    >>> write_ome_zarr_labels("twelve.ome.zarr", labels)
    >>> bool((read_ome_zarr("twelve.ome.zarr").pixels == labels).all())
    True
    """
    zarr = needed("zarr", "zarr", "OME-Zarr")
    shape, dtype = tuple(labels.shape), np.dtype(labels.dtype)
    if len(shape) != 2 or dtype.kind not in "iu":
        raise ContentError(f"labels must be a plane of integers, not {dtype} values of shape {shape}")
    if Path(path).exists():
        raise ContentError(f"{path} already exists: choose another name")
    if levels is None:
        levels = max(0, math.ceil(math.log2(max(*shape, 1) / _CHUNK))) + 1
    group = zarr.open_group(str(path), mode="w", zarr_format=2)
    copies = [
        group.create_array(
            str(level),
            shape=tuple(-(-side // 2**level) for side in shape),
            chunks=(_CHUNK, _CHUNK),
            dtype=dtype,
            chunk_key_encoding={"name": "v2", "separator": "/"},
        )
        for level in range(levels)
    ]
    band = _CHUNK * 2 ** (levels - 1)  # whole chunks at every level
    band = min(band, -(-shape[0] // _CHUNK) * _CHUNK)
    for start in range(0, shape[0], band):
        report(f"writing {Path(path).name}", start, shape[0])
        for top in range(start, min(start + band, shape[0]), _CHUNK):
            rows = np.asarray(labels[top : min(top + _CHUNK, shape[0])])
            for level, copy in enumerate(copies):
                step = 2**level
                first = -(-top // step)
                thinned = rows[first * step - top :: step, ::step]
                copy[first : first + len(thinned)] = thinned
    calibration = calibration or Calibration()
    height, width = calibration.scale
    unit = {short: long for long, short in _UNITS.items()}.get(calibration.unit, calibration.unit)
    known = {} if unit == "pixel" else {"unit": unit}
    group.attrs["multiscales"] = [
        {
            "version": "0.4",
            "name": _name(Path(path)),
            "axes": [{"name": axis, "type": "space", **known} for axis in "yx"],
            "datasets": [
                {
                    "path": str(level),
                    "coordinateTransformations": [{"type": "scale", "scale": [height * 2**level, width * 2**level]}],
                }
                for level in range(levels)
            ],
        }
    ]
    group.attrs["image-label"] = {"version": "0.4"}


def _metadata(group: Any) -> Mapping[str, Any]:
    attributes = dict(group.attrs)
    known = attributes.get("ome", attributes)  # version 0.5, and earlier ones
    return known if isinstance(known, Mapping) else {}


def _name(path: Path) -> str:
    """Return the display name: "field cells" for "field.ome.zarr/labels/cells", "plate A 1 0" for a field."""
    parts = [part for part in path.parts if part != "labels"]
    start = next((place for place, part in enumerate(parts) if part.lower().endswith(ZARR)), len(parts) - 1)
    return " ".join(part.removesuffix(ZARR).removesuffix(".ome") for part in parts[start:])


def _calibration(scales: Mapping[str, Any], first: Mapping[str, Any], axes: int) -> Calibration:
    """Combine the scale transformations of an image and of its first level into the pixel size."""
    size = np.ones(axes)
    for transformation in (*first.get("coordinateTransformations", ()), *scales.get("coordinateTransformations", ())):
        if transformation.get("type") == "scale":
            size = size * np.asarray(_numbers(transformation["scale"], axes))
    known = [axis for axis in scales.get("axes", ()) if isinstance(axis, Mapping)]
    units = [str(axis.get("unit") or "") for axis in known[-2:]] or [""]
    unit = _UNITS.get(units[-1], units[-1])
    if not unit or len(set(units)) > 1:
        return Calibration()
    return Calibration((float(size[-2]), float(size[-1])), unit, "OME-Zarr")


def _numbers(values: Sequence[Any], count: int) -> NDArray[np.float64]:
    numbers = np.array(values, dtype=np.float64)
    if numbers.shape != (count,):
        raise ContentError(f"a scale of {numbers.shape} numbers does not fit its {count} axes")
    return numbers
