"""A segmentation as files: labels as a calibrated TIFF, outlines as curves."""

from io import BytesIO
from pathlib import Path

import numpy as np

from ..archive import write_bytes
from ..outlines import Ensemble
from .curve_files import write_curves
from .curve_table import CurveTable
from .sources import Labelled


def write_segmented(folder: Path, found: Labelled, ensemble: Ensemble, form: str = "csv") -> tuple[Path, Path]:
    """Write <name>.labels.tif and <name>.curves.<form>; returns their paths.

    The labels are an OME-TIFF with the size of a pixel where it is known, in 16 or 32 bits.
    """
    folder.mkdir(parents=True, exist_ok=True)
    import tifffile

    labels, curves = folder / f"{found.name}.labels.ome.tif", folder / f"{found.name}.curves.{form}"
    measured = ensemble.features.drop(columns="id")
    write_curves(curves, CurveTable(ensemble, measured, found.calibration.scale, {"image": found.name}))
    metadata: dict[str, object] = {"axes": "YX"}
    if found.calibration.unit != "pixel":
        for axis, size in zip("YX", found.calibration.scale, strict=True):
            metadata |= {f"PhysicalSize{axis}": size, f"PhysicalSize{axis}Unit": found.calibration.unit}
    smallest = np.uint16 if found.labels.max(initial=0) < 2**16 else np.uint32
    file = BytesIO()
    tifffile.imwrite(file, found.labels.astype(smallest), ome=True, compression="zlib", metadata=metadata)
    write_bytes(labels, file.getvalue())
    return labels, curves
