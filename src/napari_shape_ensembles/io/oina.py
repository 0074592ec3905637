"""EBSD maps of Oxford Instruments (`.h5oina`), by the published specification of the format."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..archive import ContentError, StrPath
from ..budget import reserve

# Memory in bytes per number of a map: its copies while the map is built. Patterns may be stored too, and are not read.
_BYTES_PER_NUMBER = 24
# Names that orix has for what these files call differently.
_PROPERTIES = {"Band Contrast": "BC", "Band Slope": "BS", "Mean Angular Deviation": "MAD", "Bands": "bands"}


def read_oina(path: StrPath) -> Any:
    """Return the orix `CrystalMap` of the only EBSD map in a file.

    Raises
    ------
    ValueError
        For a file without an EBSD map, or with several.
    """
    import h5py
    from orix.crystal_map import CrystalMap
    from orix.quaternion import Rotation

    with h5py.File(path, "r") as file:
        maps = [name for name, group in file.items() if isinstance(group, h5py.Group) and "EBSD" in group]
        if len(maps) != 1:
            what = f"{len(maps)} EBSD maps: export each to a file of its own" if maps else "no EBSD map: export it too"
            raise ContentError(f"holds {what}")
        ebsd = file[maps[0]]["EBSD"]
        data, header = ebsd["Data"], ebsd["Header"]
        euler = _values(data["Euler"]).astype(np.float64)
        phase = _values(data["Phase"]).ravel().astype(np.int64)
        if euler.ndim != 2 or euler.shape != (len(phase), 3):
            raise ContentError(f"{len(phase)} phases do not match angles of shape {euler.shape}")
        x, y = _positions(data, header, len(phase))
        known = {name: _values(data[column]).ravel() for column, name in _PROPERTIES.items() if column in data}
        phases = _phases(header["Phases"])
    # Of a map that is no rectangle, the points outside the measured area are NaN.
    measured = np.isfinite(euler).all(axis=1) & np.isfinite(x) & np.isfinite(y)
    return CrystalMap(
        rotations=Rotation.from_euler(euler[measured]),
        phase_id=np.where(phase > 0, phase, -1)[measured],
        x=x[measured],
        y=y[measured],
        phase_list=phases,
        prop={name: values[measured] for name, values in known.items() if len(values) == len(phase)},
        scan_unit="um",
    )


def _values(dataset: Any) -> NDArray[Any]:
    """Return the numbers of a dataset, within the memory budget: it may claim any size."""
    reserve(dataset.size * _BYTES_PER_NUMBER)
    return np.asarray(dataset)


def _positions(data: Mapping[str, Any], header: Mapping[str, Any], count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    if "X" in data and "Y" in data:
        x, y = (_values(data[name]).ravel().astype(np.float64) for name in "XY")
        if len(x) == len(y) == count:
            return x, y
    columns, rows = (int(np.ravel(header[f"{axis} Cells"])[0]) for axis in "XY")
    if columns * rows != count:
        raise ContentError(f"holds {count} points, not {columns} × {rows}")
    width, height = (float(np.ravel(header[f"{axis} Step"])[0]) for axis in "XY")
    row, column = np.divmod(np.arange(count), columns)
    return column * width, row * height


def _phases(groups: Mapping[str, Any]) -> Any:
    """Return the crystal phases: their symmetry is that of the space group, else of the Laue group."""
    from orix.crystal_map import Phase, PhaseList

    phases = {}
    for key, group in groups.items():
        name = _text(group["Phase Name"]) or f"phase {key}"
        space = int(np.ravel(group["Space Group"])[0]) if "Space Group" in group else 0
        laue = group["Laue Group"].attrs.get("Symbol") if "Laue Group" in group else None
        symmetry = {"space_group": space} if 1 <= space <= 230 else {"point_group": _text(laue)} if laue else {}
        phases[int(key)] = Phase(name, **symmetry)
    return PhaseList(phases)


def _text(value: Any) -> str:
    first = np.ravel(np.asarray(value))[0] if np.size(value) else ""
    return first.decode("utf-8", "replace") if isinstance(first, bytes) else str(first)
