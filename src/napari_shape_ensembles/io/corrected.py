"""Export of corrected labels in their original form (whole stacks, dtype and calibration), with a log."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..archive import ContentError, StrPath, errors_named, write_bytes
from ..inspection import CorrectedLabels
from ..inspection.correcting import CorrectedStack
from .calibration import Calibration, StackAxes, read_axes, read_calibration
from .cellpose import SEG

if TYPE_CHECKING:
    import pandas as pd

_PLANE = StackAxes()
_TIFF_SUFFIXES = ".tif", ".tiff"
_WRITTEN_SUFFIXES = (*_TIFF_SUFFIXES, ".png", ".npy")
# OME has no 64-bit integers.
_MAX_OME_BYTES = 4


def save_corrected(
    path: StrPath,
    corrected: CorrectedLabels | CorrectedStack,
    *,
    original: StrPath | None = None,
    calibration: Calibration | None = None,
    steps: Mapping[int, tuple[float, str]] | None = None,
    earlier: pd.DataFrame | None = None,
) -> tuple[Path, Path]:
    """Write corrected labels and the log of the corrections; for a stack, all planes.

    Parameters
    ----------
    path : path
        File of the labels: .tif, .tiff, .png or .npy. The log is written beside it as <name>.log.csv.
    corrected : CorrectedLabels or CorrectedStack
    original : path, optional
        The file that the labels were read from: its pixel size, print resolution and stack axes are kept. Only TIFF can
        hold these.
    calibration : Calibration, optional
        Pixel size, overriding that of `original`.
    steps : mapping of int to (float, str), optional
        For a stack, the distance between planes along each axis and its unit, in place of those of a file.
    earlier : DataFrame, optional
        The log that came with the labels, see `read_log`; the new rows are appended to it.

    Returns
    -------
    (path, path)
        Paths of the labels and of the log.

    Warns
    -----
    UserWarning
        If the plane spacing of a stack is known, but cannot be stored in the format (.npy); or if labels are stored
        with 32 bits as OME-TIFF cannot hold 64, and only that can hold their pixel size.

    Raises
    ------
    ValueError
        For another extension, or a dtype or pixel size that the format cannot hold.

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
    labels, log, left_out = write_corrected(path, corrected, original, calibration, steps, earlier)
    if left_out:
        warnings.warn(left_out, UserWarning, stacklevel=2)
    return labels, log


def write_corrected(
    path: StrPath,
    corrected: CorrectedLabels | CorrectedStack,
    original: StrPath | None,
    calibration: Calibration | None,
    steps: Mapping[int, tuple[float, str]] | None,
    earlier: pd.DataFrame | None,
) -> tuple[Path, Path, str]:
    """Like `save_corrected`, also returning a note on what the format cannot store, or an empty one."""
    path = Path(path)
    if calibration is None and original is not None:
        calibration = read_calibration(original)
    labels, axes = corrected.labels, _PLANE
    if labels.ndim > 2:
        axes = read_axes(original) if original is not None else axes
        axes = axes.fitted(labels.shape, steps or {})
    left_out, sized = "", calibration is not None and calibration.unit != "pixel"
    if sized and path.suffix.lower() in _TIFF_SUFFIXES and labels.dtype.itemsize > _MAX_OME_BYTES:
        narrow = labels.astype(f"{labels.dtype.kind}{_MAX_OME_BYTES}")
        if np.array_equal(narrow, labels):
            left_out = f"{path.name} holds {narrow.dtype} labels, as OME-TIFF cannot hold {labels.dtype}"
            labels = narrow
    write_labels(path, labels, calibration, axes, None if original is None else _resolution(original))
    log, rows = _log_beside(path), corrected.log
    if earlier is not None:
        import pandas as pd  # slow to import, and not needed for correcting

        rows = pd.concat([earlier, rows], ignore_index=True) if len(rows) else earlier
    write_bytes(log, rows.to_csv(index=False).encode())
    if axes.steps and path.suffix.lower() == ".npy":
        listed = ", ".join(f"{step:g} {unit} along {axis}" for axis, (step, unit) in axes.steps.items())
        left_out = f"{path.name} cannot store the spacing of its planes ({listed}): save the stack as .tif to keep it"
    return path, log, left_out


def read_log(path: StrPath) -> pd.DataFrame | None:
    """Read the log beside corrected labels, to continue it.

    Parameters
    ----------
    path : path
        File of the labels, not of the log.

    Returns
    -------
    DataFrame or None
        One row per correction, all texts, in the columns that `CorrectedLabels.log` has, and those of
        `CorrectedStack.log`; None if `save_corrected` wrote no log there.

    See Also
    --------
    save_corrected : takes it as `earlier`.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.inspection import CorrectedLabels
    >>> from napari_shape_ensembles.io import read_image, read_log, save_corrected
    >>> corrected = CorrectedLabels(np.diag(np.arange(1, 6, dtype=np.uint16)))
    >>> change = corrected.delete(1)
    >>> labels, log = save_corrected("seen.png", corrected)
    >>> again = CorrectedLabels(read_image(labels).pixels)
    >>> change = again.delete(2)
    >>> labels, log = save_corrected("seen.png", again, earlier=read_log("seen.png"))
    >>> read_log("seen.png")["label"].tolist()
    ['1', '2']
    """
    log = _log_beside(Path(path))
    if not log.is_file():
        return None
    import pandas as pd

    try:
        rows = pd.read_csv(log, dtype=str, keep_default_na=False)
    except (OSError, ValueError):  # not our log
        return None
    return rows if {"action", "label", "pixels", "when", "by"} <= {*rows} else None


def _log_beside(path: Path) -> Path:
    return path.with_name(f"{path.name.removesuffix(path.suffix).removesuffix('.ome')}.log.csv")


def write_labels(
    path: Path,
    labels: NDArray[np.integer],
    calibration: Calibration | None = None,
    axes: StackAxes = _PLANE,
    resolution: Mapping[str, Any] | None = None,
) -> None:
    """Write labels with their dtype, and pixel size and print resolution if known; errors as in `save_corrected`."""
    ending = path.suffix.lower()
    if ending not in _WRITTEN_SUFFIXES:
        raise ContentError(f"{path.name}: labels can be saved as {', '.join(_WRITTEN_SUFFIXES)}")
    sized = calibration is not None and calibration.unit != "pixel"
    if sized and ending not in _TIFF_SUFFIXES:
        raise ContentError(f"{ending} cannot store the pixel size, {calibration}: save the labels as .tif")
    file = BytesIO()
    if path.name.lower().endswith(SEG):
        raise ContentError(
            f"{path.name}: Cellpose keeps more than labels in a file of this name: save them as .tif or .png, which it "
            "opens by File > Load masks"
        )
    if ending == ".npy":
        np.save(file, labels)
    elif ending == ".png":
        import imageio.v3 as imageio

        if labels.ndim > 2:
            raise ContentError(".png can hold only a single plane: save the stack as .tif")
        if labels.dtype not in (np.uint8, np.uint16):
            raise ContentError(
                f".png can hold only unsigned 8- or 16-bit labels, not {labels.dtype}: save them as .tif"
            )
        imageio.imwrite(file, labels, extension=".png")
    else:
        import tifffile

        metadata: dict[str, object] = {"axes": axes.names, **(calibration.ome if calibration else {})}
        for axis, (step, unit) in axes.steps.items():
            field = "TimeIncrement" if axis == "T" else f"PhysicalSize{axis}"
            metadata |= {field: step, f"{field}Unit": unit}
        if not axes.names:
            raise ContentError(f"TIFF can hold stacks of up to five axes, not {labels.ndim}: save them as .npy")
        ome = labels.dtype.itemsize <= _MAX_OME_BYTES
        if sized and not ome:
            raise ContentError(
                f"OME-TIFF cannot hold {labels.dtype} labels up to {labels.max()}: number them below 2³¹, or save them "
                "as .npy without a pixel size"
            )
        options = {"ome": ome, "compression": "zlib", "photometric": "minisblack", **(resolution or {})}
        tifffile.imwrite(file, labels, metadata=metadata if ome else {"axes": axes.names}, **options)
    write_bytes(path, file.getvalue())


def _resolution(path: StrPath) -> dict[str, Any]:
    """Return the print resolution of a TIFF as options of tifffile; empty for other files and without one."""
    if Path(path).suffix.lower() not in _TIFF_SUFFIXES or not Path(path).is_file():
        return {}
    import tifffile

    with errors_named(path, "TIFF"), tifffile.TiffFile(path) as tiff:
        tags = tiff.pages.first.tags
        found = [tags.valueof(name) for name in ("XResolution", "YResolution", "ResolutionUnit")]
    if not (all(found) and all((*found[0], *found[1]))):
        return {}
    return {"resolution": (found[0], found[1]), "resolutionunit": found[2]}
