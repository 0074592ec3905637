"""EBSD orientation maps as images: read through orix, resampled onto pixels, grains by misorientation.

A square grid has one pixel per point. On a hexagonal grid every point is two pixels wide, and odd rows are shifted by
one pixel: in this brick layout each point touches its six hexagonal neighbors, and areas are preserved.
"""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._types import Index, Real
from ..archive import ContentError, StrPath, errors_named, opened
from ..budget import budget, reserve
from ..outlines.exchange import needed
from .content import bytes_of, decompressed
from .oina import read_oina

Grid = Literal["square", "hexagonal"]

#: File extensions of supported maps.
ENDINGS = (".ang", ".ctf", ".h5", ".hdf5", ".h5ebsd", ".h5oina", ".ang.gz", ".ctf.gz")
NOT_INDEXED = -1

# Memory in bytes per point while parsing a text map, per number of any map, and number of simultaneous copies.
_BYTES_PER_POINT, _BYTES_PER_NUMBER, _COPIES = 600, 8, 3
# Columns of a .ctf file, and those without which a map can be read.
_CTF_COLUMNS = ("Phase", "X", "Y", "Bands", "Error", "Euler1", "Euler2", "Euler3", "MAD", "BC", "BS")
_CTF_OPTIONAL = ("Bands", "Error", "MAD", "BC", "BS")
# Coordinates are written with few digits: positions within this fraction of a step coincide.
_POSITION_TOLERANCE = 0.2
# Names that programs use for the pattern quality, the most common first.
_QUALITIES = ("BC", "band_contrast", "iq", "IQ", "RadonQuality", "MADPhase", "dp", "DP", "scores", "CI", "ci", "BS")


@dataclass(frozen=True, eq=False)
class CrystalPhase:
    """Crystallographic phase.

    Attributes
    ----------
    name : str
    symmetry : orix Symmetry
        Point group.
    """

    name: str
    symmetry: Any


@dataclass(frozen=True, eq=False)
class EBSDMap:
    """Map of crystal orientations (EBSD): N points on R × W pixels.

    Attributes
    ----------
    rotations : (N, 4) array
        Unit quaternions that rotate the sample axes into the crystal axes.
    phase : (N,) int array
        Key into `phases`; -1 for points that are not indexed.
    quality : (N,) array
        Quality of the diffraction pattern: band contrast if available.
    quality_name : str
        Name of the quality in the file; empty if there is none.
    points : (R, W) int array
        Index of the point at each pixel; -1 if there is none.
    scale : (float, float)
        Pixel height and width in `unit`.
    unit : str
    grid : {"square", "hexagonal"}
    phases : mapping of int to CrystalPhase
    name : str
        Name of the file.

    Examples
    --------
    >>> import numpy as np
    >>> from orix.quaternion import symmetry
    >>> from napari_shape_ensembles.io.ebsd import EBSDMap
    >>> from napari_shape_ensembles.io.ebsd import CrystalPhase
    >>> turned = np.deg2rad([0, 0, 30, 30]) / 2
    >>> rotations = np.stack([np.cos(turned), 0 * turned, 0 * turned, np.sin(turned)], axis=1)
    >>> ebsd = EBSDMap(
    ...     rotations, np.ones(4, int), np.ones(4), "", np.arange(4)[None], (0.5, 0.5), "µm", "square",
    ...     {1: CrystalPhase("iron", symmetry.Oh)}, "one row",
    ... )
    >>> ebsd.phase_image
    array([[1, 1, 1, 1]], dtype=int32)
    """

    rotations: Real
    phase: NDArray[np.int32]
    quality: Real
    quality_name: str
    points: Index
    scale: tuple[float, float]
    unit: str
    grid: Grid
    phases: Mapping[int, CrystalPhase]
    name: str

    def image(self, values: NDArray[Any]) -> NDArray[Any]:
        """Map values per point (N, ...) onto the pixels (R, W, ...), 0 where there is none."""
        laid = np.asarray(values)[np.maximum(self.points, 0)]
        laid[self.points < 0] = 0
        return laid

    @property
    def phase_image(self) -> NDArray[np.int32]:
        """Phase of each pixel, 0 where not indexed."""
        return self.image(np.maximum(self.phase, 0)).astype(np.int32)

    def key_of(self, name: str) -> int:
        """Return the key of a phase given by its name, or by the key as text.

        Raises
        ------
        ValueError
            For a phase that is not in the map, listing those that are.
        """
        known = {key: self.phases[key].name for key in np.unique(self.phase[self.phase >= 0]).tolist()}
        for key, called in known.items():
            if name.strip().lower() in (called.lower(), str(key)):
                return int(key)
        listed = ", ".join(f"{key} ({called})" for key, called in known.items()) or "none"
        raise ContentError(f"there is no phase {name}: the map holds {listed}")

    @property
    def quality_image(self) -> NDArray[np.float32]:
        """Quality of each pixel."""
        return self.image(self.quality).astype(np.float32)

    def ipf_colours(self, direction: tuple[float, float, float] = (0, 0, 1)) -> NDArray[np.uint8]:
        """Inverse pole figure colors (TSL) for a sample direction, (R, W, 3); black where not indexed."""
        from orix.plot import IPFColorKeyTSL
        from orix.quaternion import Orientation
        from orix.vector import Vector3d

        colours = np.zeros((len(self.phase), 3), dtype=np.uint8)
        for key, phase in self.phases.items():
            chosen = self.phase == key
            if chosen.any():
                legend = IPFColorKeyTSL(phase.symmetry.laue, direction=Vector3d(direction))
                rgb = legend.orientation2color(Orientation(self.rotations[chosen], symmetry=phase.symmetry))
                colours[chosen] = np.round(np.clip(rgb, 0, 1) * 255)
        return self.image(colours)


def read_ebsd(path: StrPath, *, memory: float | None = None) -> EBSDMap:
    """Read a crystal orientation map (EBSD).

    Parameters
    ----------
    path : path
        .ang (EDAX, EMsoft, ASTAR), .ctf (Oxford, Bruker, MTEX), either also as .gz, .h5oina (Oxford), or HDF5
        (Bruker, EMsoft, orix).
    memory : float, optional
        Memory limit in GiB; by default 4.

    Returns
    -------
    EBSDMap

    Raises
    ------
    ValueError
        For an unknown extension, a damaged file, or points that do not lie on a grid.
    OSError
        If the file does not exist, or cannot be read.

    Examples
    --------
    >>> import numpy as np
    >>> import orix.io
    >>> from orix.crystal_map import CrystalMap, Phase, PhaseList
    >>> from orix.quaternion import Rotation
    >>> from napari_shape_ensembles.io import read_ebsd
    >>> y, x = (axis.ravel() * 2.0 for axis in np.indices((2, 3)))
    >>> iron = PhaseList(Phase("iron", point_group="m-3m"))
    >>> orix.io.save("map.h5", CrystalMap(Rotation.identity((6,)), np.zeros(6, int), x, y, iron, scan_unit="nm"))
    >>> ebsd = read_ebsd("map.h5")
    >>> ebsd.points.shape, ebsd.scale, ebsd.unit
    ((2, 3), (2.0, 2.0), 'nm')
    """
    ending = next((ending for ending in ENDINGS if str(path).lower().endswith(ending)), None)
    if ending is None:
        raise ContentError(f"{Path(path).name}: unknown map format; the extension is not one of {', '.join(ENDINGS)}")
    with opened(path):
        pass  # raise system errors before those of a library
    with errors_named(path, "orientation map"), budget(memory):
        needed("orix", "ebsd", "an orientation map")
        from orix import io

        name = Path(path).name.removesuffix(".gz").rpartition(".")[0]
        if ending == ".h5oina":
            return _map(read_oina(path), name)
        with _readable(Path(path), ending) as readable, warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="loadtxt: input contained no data")  # an error follows
            options = {"autogen_names": False} if readable.suffix.lower() == ".ang" else {}
            return _map(io.load(str(readable), **options), name)


@contextmanager
def _readable(path: Path, ending: str) -> Iterator[Path]:
    """Yield the file, within the memory budget; or a copy that is unpacked, and in ASCII if it is not.

    orix expects UTF-8, and older headers are in Latin-1.
    """
    if ending in (".h5", ".hdf5", ".h5ebsd"):
        _check_hdf5(path)
        yield path
        return
    packed = bytes_of(path)
    content = decompressed(packed)
    reserve(content.count(b"\n") * _BYTES_PER_POINT)
    if ending.removesuffix(".gz") == ".ctf":
        content = _standard_ctf(content)
    if content is packed and content.isascii():
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / f"map{ending.removesuffix('.gz')}"
        copy.write_text(content.decode("latin-1").encode("ascii", "replace").decode(), newline="")
        yield copy


def _standard_ctf(content: bytes) -> bytes:
    """Return a .ctf file as orix expects it: with decimal points, and with all columns in their usual order."""
    head, found, body = content.partition(b"\nPhase\t")
    first, _, rows = body.partition(b"\n")
    names = ["Phase", *first.decode("latin-1").split()]
    width = len(rows.partition(b"\n")[0].split())
    if set(names[width:]) <= {*_CTF_OPTIONAL}:  # a header of all columns above rows of some
        names = names[:width]
    commas = re.search(rb"\d,\d", rows[:2000]) is not None
    if not found or (not commas and names == list(_CTF_COLUMNS)):
        return content
    if missing := [name for name in _CTF_COLUMNS if name not in (*names, *_CTF_OPTIONAL)]:
        raise ContentError(f"has no column {missing[0]}; its columns are {', '.join(names)}")
    if commas:
        head, rows = (re.sub(rb"(?<=\d),(?=\d)", b".", part) for part in (head, rows))
    cells = [line.split() for line in rows.splitlines() if line.strip()]
    if short := next((number for number, row in enumerate(cells, start=1) if len(row) != len(names)), 0):
        raise ContentError(f"point {short} has {len(cells[short - 1])} values, not {len(names)}: export the map again")
    places = [names.index(name) if name in names else -1 for name in _CTF_COLUMNS]
    lines = [b"\t".join(b"0" if place < 0 else row[place] for place in places) for row in cells]
    return b"\n".join([head, "\t".join(_CTF_COLUMNS).encode(), *lines, b""])


def _check_hdf5(path: StrPath) -> None:
    """Check that the size that an HDF5 file declares is within the budget, and that it holds an orientation map.

    One that no program for these maps wrote is not damaged.
    """
    import h5py

    claimed = [0]

    def add(_: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            claimed[0] += item.size * max(item.dtype.itemsize, _BYTES_PER_NUMBER) * _COPIES

    with h5py.File(path, "r") as file:
        file.visititems(add)
        reserve(claimed[0])
        if not any("manufacturer" in name.lower() for name in file):
            held = ", ".join(list(file)[:8]) or "nothing"
            raise ContentError(
                f"is an HDF5 file without an orientation map of Bruker, EMsoft or orix (it holds {held}): save an "
                "image as TIFF"
            )


def _map(found: Any, name: str) -> EBSDMap:
    rotations = np.asarray(found.rotations.data, dtype=np.float64).reshape(found.size, -1, 4)[:, 0]
    if not len(rotations):
        raise ContentError("holds no points")
    x, y = (np.zeros(found.size) if axis is None else np.asarray(axis, np.float64) for axis in (found.x, found.y))
    points, scale, grid = laid_out(x, y)
    phase = np.asarray(found.phase_id).reshape(found.size, -1)[:, 0].astype(np.int32)
    phases = {int(key): CrystalPhase(str(item.name), item.point_group) for key, item in found.phases if key >= 0}
    known = [key for key, item in phases.items() if item.symmetry is not None]
    phase[~np.isin(phase, known) | ~np.isfinite(rotations).all(axis=1)] = NOT_INDEXED
    quality_name = next((name for name in _QUALITIES if name in found.prop), "")
    quality = np.asarray(found.prop[quality_name] if quality_name else np.zeros(found.size), dtype=np.float64)
    unit = {"um": "µm", "px": "pixel"}.get(found.scan_unit, found.scan_unit)
    return EBSDMap(
        rotations, phase, quality.reshape(found.size, -1)[:, 0], quality_name, points, scale, unit, grid,
        {key: phases[key] for key in known}, name
    )  # fmt: skip


def laid_out(x: Real, y: Real) -> tuple[Index, tuple[float, float], Grid]:
    """Assign points to pixels of a grid: the index of the point at each pixel, -1 if there is none; its size; the grid.

    Points that do not lie on a grid, or coincide, raise a ValueError.
    """
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ContentError("points with NaN or infinite coordinates")
    row, height = _places(y)
    column, width = _places(x)
    if height == 0 or width == 0:
        height = width = height or width or 1.0
    shape = (int(row.max()) + 1, int(column.max()) + 1)
    # In each row the points occupy every other column, with alternate rows offset by one.
    staggered = len(np.unique((row + column) % 2)) == 1 and len(np.unique(column % 2)) == 2
    hexagonal = staggered and shape[0] >= 2 and shape[1] >= 3
    if shape[0] * shape[1] > 4 * len(x) + sum(shape):
        raise ContentError(f"{len(x)} points would need {shape[0]} × {shape[1]} places: they do not lie on a grid")
    doubled = len(x) - len(np.unique(row * shape[1] + column))
    if doubled:
        raise ContentError(f"{doubled} of {len(x)} points coincide with another: save one map per file")
    points = np.full((shape[0], shape[1] + hexagonal), -1, dtype=np.int64)
    points[row, column] = np.arange(len(x))
    if hexagonal:
        points[row, column + 1] = np.arange(len(x))
    return points, (height, width), "hexagonal" if hexagonal else "square"


def _places(coordinate: Real) -> tuple[Index, float]:
    """Return the grid index of each coordinate, and the grid step; 0 if all coordinates coincide."""
    values = np.unique(coordinate)
    gaps = np.diff(values)
    if not len(gaps):
        return np.zeros(len(coordinate), dtype=np.int64), 0.0
    # Gaps far below the typical one are rounding in the file.
    real = gaps[gaps > _POSITION_TOLERANCE * np.median(gaps[gaps > _POSITION_TOLERANCE * gaps.max()])]
    step = float(np.median(real[real < 1.5 * np.percentile(real, 10)]))
    step = float((values[-1] - values[0]) / max(round((values[-1] - values[0]) / step), 1))
    place = (coordinate - values[0]) / step
    number = np.round(place).astype(np.int64)
    if np.abs(place - number).max() > _POSITION_TOLERANCE:
        raise ContentError(f"coordinates are not multiples of a common step (about {step:g})")
    return number, step
