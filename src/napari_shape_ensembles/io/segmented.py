"""Output files of a segmentation: labels as a calibrated TIFF, outlines as curves."""

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..archive import write_bytes
from ..outlines import Ensemble
from ..outlines.tracing import label_plane
from .calibration import Calibration
from .curve_files import FORMATS, write_curves, writer_of
from .curve_table import CurveTable
from .outputs import CURVES, LABELS
from .sources import Labelled


def segmented_files(folder: Path, name: str, form: str) -> list[Path]:
    """Return the paths that `write_segmented` may write for an image: curves, labels, and the table of ids.

    Raises
    ------
    ValueError
        For an unsupported format.
    """
    curves = folder / f"{name}{CURVES}.{form}"
    writer_of(curves)
    return [curves, folder / f"{name}{LABELS}", folder / f"{name}.ids.csv"]


def earlier_files(folder: Path, name: str) -> list[Path]:
    """Return the paths that `write_segmented` may have written for an image in any format."""
    forms = [ending.removeprefix(".") for ending, kind in FORMATS.items() if kind.write]
    return list(dict.fromkeys(path for form in forms for path in segmented_files(folder, name, form)))


def write_segmented(
    folder: Path, found: Labelled, ensemble: Ensemble, form: str = "csv", name: str | None = None
) -> list[Path]:
    """Write <name>.curves.<form> and <name>.labels.ome.tif; returns their paths.

    The labels are an OME-TIFF of 16 or 32 bits, with the pixel size if known; components of a mask have the ids of
    their curves. Labels beyond 32 bits are relabeled, and <name>.ids.csv maps new to old ones. `name` is by default
    that of the image.
    """
    written = write_outlines(folder, ensemble, form, name or found.name, found.calibration.scale, found.name)
    _, labels, ids = segmented_files(folder, name or found.name, form)
    plane = label_plane(found.labels)
    written.append(labels)
    if plane.max(initial=0) >= 2**32:
        values, plane = np.unique(plane, return_inverse=True)
        plane = plane.reshape(found.labels.shape) + (values[0] != 0)
        numbers = np.arange(len(values)) + (values[0] != 0)
        lines = [f"{new},{int(old)}\n" for new, old in zip(numbers, values, strict=True) if old]
        write_bytes(ids, "".join(["label,id\n", *lines]).encode())
        written.append(ids)
    write_plane(labels, plane.astype(np.uint16 if plane.max(initial=0) < 2**16 else np.uint32), found.calibration)
    return written


def write_outlines(
    folder: Path, ensemble: Ensemble, form: str, name: str, pixel: tuple[float, float], image: str
) -> list[Path]:
    """Write <name>.curves.<form> with the measures of each outline; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    curves, *_ = segmented_files(folder, name, form)
    measured = ensemble.features.drop(columns="id")
    write_curves(curves, CurveTable(ensemble, measured, pixel, {"image": image}))
    return [curves]


def write_plane(path: Path, plane: NDArray[Any], calibration: Calibration) -> None:
    """Write an image as OME-TIFF atomically, with the pixel size if known."""
    import tifffile

    file, axes, colours = BytesIO(), *(("YX", "minisblack") if plane.ndim == 2 else ("YXS", "rgb"))
    metadata = {"axes": axes, **calibration.ome}
    tifffile.imwrite(file, plane, ome=True, compression="zlib", metadata=metadata, photometric=colours)
    write_bytes(path, file.getvalue())
