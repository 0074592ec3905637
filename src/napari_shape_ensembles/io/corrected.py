"""Corrected labels as files, as they came: of the same type and with the same size of a pixel, and the log beside."""

from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..archive import ContentError, StrPath, write_bytes
from ..inspection import CorrectedLabels
from .calibration import Calibration, read_calibration

_WRITTEN = (".tif", ".tiff", ".png", ".npy")


def save_corrected(
    path: StrPath,
    corrected: CorrectedLabels,
    *,
    original: StrPath | None = None,
    calibration: Calibration | None = None,
) -> tuple[Path, Path]:
    """Write corrected labels and the log of their corrections.

    Parameters
    ----------
    path : path
        Of the labels, ending in .tif, .tiff, .png or .npy. The log is written beside it as <name>.log.csv.
    corrected : CorrectedLabels
    original : path, optional
        The file the labels came from: the size of its pixels is kept. Only TIFF can hold one.
    calibration : Calibration, optional
        The size of a pixel, in place of that of a file.

    Returns
    -------
    (path, path)
        Of the labels and of the log.

    Raises
    ------
    ValueError
        For another ending, a type that the format cannot hold, or a size of a pixel that it cannot.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.inspection import CorrectedLabels
    >>> from napari_shape_ensembles.io import read_image, save_corrected
    >>> corrected = CorrectedLabels(np.eye(5, dtype=np.uint16))
    >>> change = corrected.delete(1)
    >>> labels, log = save_corrected("mask.png", corrected)
    >>> read_image(labels).pixels.dtype, log.name
    (dtype('uint16'), 'mask.log.csv')
    """
    path = Path(path)
    if calibration is None and original is not None:
        calibration = read_calibration(original)
    write_labels(path, corrected.labels, calibration)
    log = path.with_name(f"{path.name.removesuffix(path.suffix).removesuffix('.ome')}.log.csv")
    write_bytes(log, corrected.log.to_csv(index=False).encode())
    return path, log


def write_labels(path: Path, labels: NDArray[np.integer], calibration: Calibration | None = None) -> None:
    """Write labels of the type they have, with the size of a pixel where it is known; errors as of `save_corrected`."""
    ending = path.suffix.lower()
    if ending not in _WRITTEN:
        raise ContentError(f"{path.name}: labels are written as {', '.join(_WRITTEN)}")
    sized = calibration is not None and calibration.unit != "pixel"
    if sized and ending not in (".tif", ".tiff"):
        raise ContentError(f"{ending} cannot hold the size of a pixel, {calibration}: save the labels as .tif")
    file = BytesIO()
    if ending == ".npy":
        np.save(file, labels)
    elif ending == ".png":
        import imageio.v3 as imageio

        if labels.dtype not in (np.uint8, np.uint16):
            raise ContentError(f".png holds labels of 8 or 16 bits without sign, not {labels.dtype}: save them as .tif")
        imageio.imwrite(file, labels, extension=".png")
    else:
        import tifffile

        metadata: dict[str, object] = {"axes": "YX"}
        if calibration is not None and sized:
            for axis, size in zip("YX", calibration.scale, strict=True):
                metadata |= {f"PhysicalSize{axis}": size, f"PhysicalSize{axis}Unit": calibration.unit}
        # OME knows no whole numbers of 64 bits.
        ome = labels.dtype.itemsize < 8
        if sized and not ome:
            raise ContentError(f"OME-TIFF holds no {labels.dtype} labels: convert them to 32 bits before correcting")
        tifffile.imwrite(file, labels, ome=ome, compression="zlib", metadata=metadata if ome else None)
    write_bytes(path, file.getvalue())
