"""Real samples that come with the package; `data/` holds them with their licenses.

The result of each pair with the default settings is tabulated in docs/reference/samples.md.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import imageio.v3 as iio
import numpy as np
from numpy.typing import NDArray

from .pair import SamplePair

Curves = list[NDArray[np.float64]]

_DATA = files(__package__).joinpath("data")
# Source and license.
_POWDER = ("rccohn/AMPIS (Cohn et al., JOM 73 (2021) 2159); Ames Laboratory", "MIT")
_NUCLEI = ("stardist/stardist; 2018 Data Science Bowl (BBBC038)", "BSD-3-Clause")
_CELLS = ("geomstats/geomstats", "MIT")
_POWDER_HEIGHT, _POWDER_WIDTH = 1024, 1536
_ROW_WIDTH = 3000
_FIELDS = ("Powder, field 1", "Powder, field 2")


def powder() -> SamplePair:
    """Two scanning electron micrographs of one metal powder.

    Returns
    -------
    SamplePair
        Two images of 1024 × 1536 pixels. The particles are close together and carry satellites, so the result depends
        on the segmentation: `powder_outlines` has manual annotations of the same particles.

    Examples
    --------
    >>> from napari_shape_ensembles import samples
    >>> samples.powder().a.shape
    (1024, 1536)
    """
    a, b = (_image(f"ampis_powder/Sc1Tile_001-00{field}-000.png") for field in (1, 2))
    return SamplePair(
        "Metal powder: two micrographs", _FIELDS, "image", a, b, _POWDER_WIDTH, *_POWDER, height=_POWDER_HEIGHT
    )


def powder_outlines() -> SamplePair:
    """Hand-drawn outlines of the particles in two micrographs of one metal powder.

    Returns
    -------
    SamplePair
        174 and 295 outlines in the coordinates of the images of `powder`, without satellites and particles that touch
        the image border.

    Examples
    --------
    >>> from napari_shape_ensembles import samples
    >>> [len(curves) for curves in (samples.powder_outlines().a, samples.powder_outlines().b)]
    [174, 295]
    """
    data = _arrays("ampis_powder/polygons.npz")
    curves, image, kind = _curves(data), data["image"], data["kind"]
    whole = np.array(
        [(curve > 1).all() and (curve < (_POWDER_HEIGHT - 2, _POWDER_WIDTH - 2)).all() for curve in curves]
    )
    a, b = ([curves[i] for i in np.flatnonzero((image == field) & (kind == 0) & whole)] for field in (0, 1))
    title = "Metal powder: particles drawn by hand"
    names = (f"{_FIELDS[0]}, drawn by hand", f"{_FIELDS[1]}, drawn by hand")
    return SamplePair(title, names, "curves", a, b, _POWDER_WIDTH, *_POWDER, height=_POWDER_HEIGHT)


def nuclei() -> SamplePair:
    """Left and right halves of one fluorescence micrograph of nuclei.

    Returns
    -------
    SamplePair
        Two images of 512 × 256 pixels.

    Examples
    --------
    >>> from napari_shape_ensembles import samples
    >>> samples.nuclei().names
    ('Nuclei, left half', 'Nuclei, right half')
    """
    a, b = np.hsplit(_image("dsb_nuclei/image.png"), 2)
    names = ("Nuclei, left half", "Nuclei, right half")
    return SamplePair("Nuclei: left and right half of a micrograph", names, "image", a, b, 256, *_NUCLEI)


def nuclei_labels() -> SamplePair:
    """Manually annotated labels of the nuclei in the left and right halves of one micrograph.

    Returns
    -------
    SamplePair
        Two label images of 512 × 256 pixels. Nuclei on the line between the halves are cut, as at any border.

    Examples
    --------
    >>> from napari_shape_ensembles import samples
    >>> [len(ensemble) for ensemble in samples.nuclei_labels().ensembles()]
    [60, 47]
    """
    a, b = np.hsplit(_image("dsb_nuclei/labels.png").astype(np.int32), 2)
    names = ("Nuclei, left half, labels", "Nuclei, right half, labels")
    return SamplePair("Nuclei: the same halves, labeled by hand", names, "labels", a, b, 256, *_NUCLEI)


def cells() -> SamplePair:
    """Outlines of untreated osteosarcoma cells, and of cells under cytochalasin D, which disrupts actin filaments.

    Returns
    -------
    SamplePair
        318 and 175 outlines of two cell lines, laid out in rows: the original positions are unknown.

    Examples
    --------
    >>> from napari_shape_ensembles import samples
    >>> samples.cells().licence
    'MIT'
    """
    data = _arrays("osteosarcoma_cells/cells.npz")
    curves, treatment = _curves(data), data["treatment"]
    a, b = (_arranged_in_rows([curves[i] for i in np.flatnonzero(treatment == which)]) for which in (0, 2))
    names = ("Cells, control", "Cells, cytochalasin D")
    return SamplePair("Osteosarcoma cells: control and cytochalasin D", names, "curves", a, b, _ROW_WIDTH, *_CELLS)


def _image(name: str) -> NDArray[Any]:
    with _DATA.joinpath(name).open("rb") as file:
        return iio.imread(file, extension=".png")


def _arrays(name: str) -> dict[str, NDArray[Any]]:
    with _DATA.joinpath(name).open("rb") as file:
        return dict(np.load(file))


def _curves(data: dict[str, NDArray[Any]]) -> Curves:
    return np.split(data["xy"][:, ::-1].astype(np.float64), data["offsets"][1:-1])


def _arranged_in_rows(curves: Curves, width: int = _ROW_WIDTH, gap: int = 20) -> Curves:
    """Arrange curves from left to right in rows of about the given width."""
    placed, row, column, height = [], 0.0, 0.0, 0.0
    for curve in curves:
        size = np.ptp(curve, axis=0)
        if column + size[1] > width:
            row, column, height = row + height + gap, 0.0, 0.0
        placed.append(curve - curve.min(axis=0) + (row, column))
        column, height = column + size[1] + gap, max(height, size[0])
    return placed
