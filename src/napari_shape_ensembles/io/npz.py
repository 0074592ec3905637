"""Curves as an archive of NumPy arrays, lossless; and foreign archives of `xy` and `offsets`."""

import zipfile
from collections.abc import Container
from io import BytesIO

import numpy as np

from ..archive import ContentError, StrPath, Tree, array_of, is_archive, npy_header, read_archive, write_archive
from ..budget import reserve_curves
from ..comparison import records
from ..comparison.saved import COMPARISON
from .content import bytes_of, unpacked
from .curve_table import FORMAT, LAYOUT, CurveTable, Found, metadata

#: Entries of a foreign archive that may hold vertices; the last of StarDist, (N, 2, m) rows and columns.
POINTS = ("vertices.npy", "xy.npy", "coord.npy")
_OFFSETS = "offsets.npy"


def write_npz(path: StrPath, table: CurveTable) -> None:
    """Write an archive of vertices, offsets, ids and one array per feature."""
    features = {}
    for place, (_, column) in enumerate(table.features.items()):
        values = column.to_numpy()
        plain = values.dtype.kind in "biuf"
        features[f"column{place}"] = values if plain else np.array([str(value) for value in values], dtype=np.str_)
    tree = {**records.ensemble_tree(table.ensemble), "meta": metadata(table), "features": features}
    write_archive(path, FORMAT, LAYOUT, tree)


def read_npz(path: StrPath) -> Found:
    """Read our own archive, or arrays `xy` (columns, rows) or `vertices` (rows, columns) with `offsets`."""
    if is_archive(path, FORMAT):
        return read_archive(path, FORMAT, LAYOUT, _own)
    if is_archive(path, COMPARISON):
        raise ContentError(
            "is a saved comparison, not curves: open it in napari, or explain it (shape-ensembles report)"
        )
    with zipfile.ZipFile(BytesIO(bytes_of(path))) as archive:
        wanted = _wanted(shapes_of(archive))
        arrays = {name.removesuffix(".npy"): array_of(data, name) for name, data in unpacked(archive, wanted)}
    return _foreign(arrays)


def shapes_of(archive: zipfile.ZipFile) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all arrays from their headers; no data are unpacked."""
    shapes = {}
    for name in archive.namelist():
        if name.lower().endswith(".npy"):
            with archive.open(name) as file:
                shapes[name] = npy_header(file)[0]
    return shapes


def _wanted(shapes: dict[str, tuple[int, ...]]) -> Container[str]:
    """Return the names of the entries that define curves; vertices are counted before unpacking."""
    points = next((name for name in POINTS if name in shapes), None)
    if points == POINTS[-1] and len(shapes[points]) == 3:
        reserve_curves(shapes[points][0] * shapes[points][2], shapes[points][0])
        return {points, *(name for name, shape in shapes.items() if shape == shapes[points][:1])}
    if points is None or len(shapes.get(_OFFSETS, ())) != 1 or not shapes[points]:
        return shapes
    (ends,) = shapes[_OFFSETS]
    reserve_curves(shapes[points][0], ends)
    return {name for name, shape in shapes.items() if name in (points, _OFFSETS) or shape == (ends - 1,)}


def _own(tree: Tree) -> Found:
    ensemble = records.ensemble_of_tree(tree)
    meta = records.value(tree, "meta", dict)
    features = records.value(tree, "features", dict)
    names = list(meta.get("columns", {}))
    columns = {name: records.array(features, f"column{place}", "biufU", (len(ensemble),)) for place, name in
               enumerate(names)}  # fmt: skip
    return Found(
        list(ensemble.curves), ensemble.ids, {k: v.tolist() for k, v in columns.items()}, meta=meta, calibrated=True
    )


def _foreign(arrays: dict[str, np.ndarray]) -> Found:
    if "coord" in arrays and arrays["coord"].shape[1:2] == (2,):
        stars = records.array(arrays, "coord", "iuf", (None, 2, None)).astype(np.float64)
        columns = {key: values.tolist() for key, values in arrays.items() if values.shape == stars.shape[:1]}
        return Found(list(stars.transpose(0, 2, 1)), range(1, len(stars) + 1), columns)
    name = next((name for name in ("vertices", "xy") if name in arrays), None)
    if name is None or "offsets" not in arrays:
        raise ContentError(
            f"contains, instead of vertices (or xy) with offsets, {', '.join(sorted(arrays)[:8]) or 'no arrays'}; "
            "save one set of curves per file"
        )
    points, offsets = records.array(arrays, name, "iuf", (None, 2)), records.array(arrays, "offsets", "iu", (None,))
    points, offsets = points.astype(np.float64), offsets.astype(np.int64)
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(points) or (np.diff(offsets) < 0).any():
        raise ContentError("the offsets of its curves do not fit its vertices")
    curves = np.split(points[:, ::-1] if name == "xy" else points, offsets[1:-1]) if len(offsets) > 1 else []
    alike = {key: values for key, values in arrays.items() if values.shape == (len(curves),) and key != "offsets"}
    ids = alike.pop("ids", np.arange(len(curves)))
    return Found(curves, ids, {key: values.tolist() for key, values in alike.items()})
