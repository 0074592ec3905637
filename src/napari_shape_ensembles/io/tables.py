"""Curves as a tidy table in CSV or Parquet: one row per vertex, with the id and the features of its curve."""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO, StringIO
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from ..archive import ContentError, StrPath, Tree, exact_csv_options
from ..budget import reserve, reserve_curves
from ..outlines.exchange import needed
from ..outlines.reasons import OPEN, Reason
from .content import bytes_of, is_number
from .curve_table import FORMAT, CurveTable, Found, metadata

if TYPE_CHECKING:
    import pandas as pd

#: Names of our columns in other programs, among them napari's shapes tables.
_SYNONYMS = {
    "id": ("id", "index", "curve", "label", "contour", "curve_id", "contour_id", "specimen_id", "object_id", "cell_id"),
    "vertex": ("vertex", "vertex-index", "point", "vertex_id", "point_id", "coord_id"),
    "row": ("row", "axis-0", "y"),
    "column": ("column", "axis-1", "col", "x"),
}
_VERTEX_COLUMNS = ("id", "vertex", "row", "column")
_OPEN_KINDS = {"line", "path", "point", "points"}
# Minimum vertices of a curve; minimum vertices for jump detection; and jump threshold in median steps.
_MIN_VERTICES, _MANY_VERTICES, _MIN_JUMP = 3, 30, 20
# Start of a string that a spreadsheet evaluates as a formula, after any number of escaping apostrophes.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
# Memory in bytes per cell of a table, which may be a string.
_BYTES_PER_CELL = 64


def escaped_cell(cell: Any) -> Any:
    """Escape a cell against formula injection: a string that starts like a formula gets a leading apostrophe."""
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) and not is_number(cell) else cell


def _unescaped_cell(cell: Any) -> Any:
    """Undo `escaped_cell`."""
    return cell[1:] if isinstance(cell, str) and cell[:1] == "'" and _FORMULA.match(cell) else cell


def csv_parts(table: CurveTable) -> Iterator[bytes]:
    """Yield a CSV file curve by curve; its first line is a comment with the metadata."""
    _refuse_clashes(table)
    rows = table.features.itertuples(index=False) if table.features.shape[1] else repeat(())
    first_lines = (
        f"# {json.dumps(metadata(table), ensure_ascii=False)}",
        _cells([*_VERTEX_COLUMNS, *table.features.columns]),
    )
    yield "\n".join([*first_lines, ""]).encode()  # small pieces: a long one would block all other threads
    for name, curve, row in zip(table.ensemble.ids.tolist(), table.ensemble.curves, rows, strict=False):
        first, last = _cells([name]), "".join(f",{cell}" for cell in [_cells(list(row))] if row)
        lines = [f"{first},{place},{y!r},{x!r}{last}\n" for place, (y, x) in enumerate(curve.tolist())]
        yield "".join(lines).encode()


def _cells(values: Sequence[Any]) -> str:
    """Format values as the cells of a row, quoted if needed; floats with full precision, NaN as an empty cell."""
    text = StringIO()
    plain = ["" if isinstance(value, float) and value != value else escaped_cell(value) for value in values]
    # csv quotes strings depending on the line terminator; the table's own is added later.
    csv.writer(text, lineterminator="\r\n").writerow([float(v) if isinstance(v, np.floating) else v for v in plain])
    return text.getvalue().removesuffix("\r\n")


def read_csv(path: StrPath, curve_column: str | None = None) -> Found:
    """Read the curves of a CSV file: our own, napari's shapes, or any with columns id, row, column (or x, y)."""
    import pandas as pd

    content = bytes_of(path)
    reserve(content.count(b",") * _BYTES_PER_CELL)
    reserve_curves(content.count(b"\n"))
    file = BytesIO(content)
    first = file.readline().decode("utf-8-sig")
    meta: Tree = json.loads(first[2:]) if first.startswith("# {") else {}
    if meta.get("format") != FORMAT:
        meta = {}
    if not first.startswith("#"):
        file.seek(0)
    words = {name: str for name, kind in meta.get("columns", {}).items() if kind == "text"}
    if meta.get("ids") == "text":
        words["id"] = str
    frame = pd.read_csv(
        file,
        dtype=words,
        encoding="utf-8-sig",
        keep_default_na=False,
        na_values={} if not meta else {name: [""] for name in meta.get("columns", {}) if name not in words},
        **exact_csv_options(),
    )
    if meta:
        frame = frame.rename(columns=_unescaped_cell)
        for name in {*words, *(["id"] if meta.get("ids") == "text" else [])} & {*frame}:
            frame[name] = frame[name].map(_unescaped_cell)
    return _found(frame, meta, curve_column)


def parquet_bytes(table: CurveTable) -> bytes:
    """Return a Parquet file with the metadata in its schema."""
    pyarrow, parquet = pyarrow_modules()
    rows = pyarrow.Table.from_pandas(_frame(table), preserve_index=False)
    rows = rows.replace_schema_metadata({**(rows.schema.metadata or {}), FORMAT.encode(): json.dumps(metadata(table))})
    file = BytesIO()
    parquet.write_table(rows, file)
    return file.getvalue()


def read_parquet(path: StrPath, curve_column: str | None = None) -> Found:
    """Read the curves of a Parquet file with the same columns."""
    with opened_parquet(path) as (file, content, _):
        layout, rows = file.schema_arrow, file.metadata.num_rows
        pyarrow, parquet = pyarrow_modules()
        if nested := [field.name for field in layout if pyarrow.types.is_nested(field.type)]:
            raise ContentError(f"its column {nested[0]} holds lists or records: remove it")
        reserve(rows * len(layout) * _BYTES_PER_CELL)
        reserve_curves(rows)
        # Read strings dictionary-encoded: each distinct one is stored once.
        words = [field.name for field in layout if not pyarrow.types.is_primitive(field.type)]
        meta = json.loads((layout.metadata or {}).get(FORMAT.encode(), b"{}"))
        return _found(parquet.ParquetFile(content, read_dictionary=words).read().to_pandas(), meta, curve_column)


@contextmanager
def opened_parquet(path: StrPath) -> Iterator[tuple[Any, BytesIO, int]]:
    """Yield a Parquet file, its content, and its unpacked size in bytes, which is within the memory budget."""
    pyarrow, parquet = pyarrow_modules()
    content = BytesIO(bytes_of(path))
    try:
        file = parquet.ParquetFile(content)
        size = sum(file.metadata.row_group(group).total_byte_size for group in range(file.metadata.num_row_groups))
        reserve(size)
        yield file, content, size
    except pyarrow.ArrowException as error:  # not all are subclasses of ValueError
        raise ValueError(str(error)) from error


def pyarrow_modules() -> tuple[Any, Any]:
    """Import PyArrow and its Parquet module."""
    return needed("pyarrow", "parquet", "Parquet, unlike CSV,"), import_module("pyarrow.parquet")


def _frame(table: CurveTable) -> "pd.DataFrame":
    """Return one row per vertex: id, vertex, row, column in the unit of the ensemble, features of the curve."""
    import pandas as pd

    ensemble = table.ensemble
    counts = np.diff(ensemble.offsets)
    _refuse_clashes(table)
    places = pd.DataFrame(
        {
            "id": np.repeat(ensemble.ids, counts),
            "vertex": np.arange(len(ensemble.vertices)) - np.repeat(ensemble.offsets[:-1], counts),
            "row": ensemble.vertices[:, 0],
            "column": ensemble.vertices[:, 1],
        }
    )
    repeated = table.features.loc[np.repeat(np.arange(len(table.features)), counts if table.features.shape[1] else 0)]
    return pd.concat([places, repeated.reset_index(drop=True)], axis=1)


def _refuse_clashes(table: CurveTable) -> None:
    clash = sorted(set(table.features.columns) & set(_VERTEX_COLUMNS))
    if clash:
        raise ContentError(f'a feature cannot be named "{clash[0]}" in a table of vertices: rename it')


def _found(frame: "pd.DataFrame", meta: Tree, curve_column: str | None) -> Found:
    names = {ours: next((name for name in all_ if name in frame), "") for ours, all_ in _SYNONYMS.items()}
    if not (names["row"] and names["column"]):
        raise ContentError(
            "has no columns row and column (or x and y); its columns are "
            f"{', '.join(map(str, frame.columns[:8])) or 'none'}"
        )
    if "axis-2" in frame and not meta:
        raise ContentError("its shapes have three axes or more: save the shapes of one plane")
    if curve_column is not None and curve_column not in frame:
        raise ContentError(f"has no column {curve_column}; its columns are {', '.join(map(str, frame.columns[:8]))}")
    names["id"] = curve_column or names["id"] or _grouping(frame, [*names.values()])
    told_apart = bool(names["id"])
    if not told_apart:
        frame, names["id"] = frame.assign(id=0), "id"
    frame, dropped = _closed(frame, names["id"]) if not meta else (frame, Counter())
    number, ids = _numbered(frame[names["id"]])
    # Rows may have been sorted by another column in a spreadsheet.
    place = frame[names["vertex"]].to_numpy() if names["vertex"] else np.zeros(len(frame))
    order = np.lexsort((place, number)) if place.dtype.kind in "iuf" else np.argsort(number, kind="stable")
    ordered, number = frame.iloc[order], number[order]
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    vertices = ordered[[names["row"], names["column"]]].to_numpy(dtype=np.float64)
    others = [name for name in frame.columns if name not in {*names.values(), *(() if meta else ("shape-type",))}]
    features = {str(name): ordered[name].iloc[starts].tolist() for name in others}
    curves = np.split(vertices, starts[1:]) if len(starts) else []
    if not told_apart and (jumps := _jumps(vertices)):
        raise ContentError(
            f"has no column that identifies curves, and as one curve its vertices jump {jumps} times: give the "
            "column (curve_column=, on the command line --curve-column), or add a column id"
        )
    return Found(curves, ids, features, dropped, meta, calibrated=bool(meta))


def _grouping(frame: "pd.DataFrame", known: Sequence[str]) -> str:
    """Return the column that identifies the curve, if none is named accordingly; empty if there is none.

    Its values form runs of three rows or more, with one run per value; of several such columns, the one with most
    values, provided that each of its curves lies within one group of all others.
    """
    found: dict[str, np.ndarray] = {}
    for name in frame.columns:
        if name not in known:
            codes, values = frame[name].factorize()
            runs = np.flatnonzero(np.diff(codes, prepend=-2))
            if 1 < len(values) == len(runs) and np.diff([*runs, len(codes)]).min() >= _MIN_VERTICES:
                found[name] = codes
    finest = max(found, key=lambda name: int(found[name].max()), default="")
    for codes in found.values():
        if len(np.unique(np.stack([found[finest], codes]), axis=1).T) > found[finest].max() + 1:
            raise ContentError(
                f"its columns {', '.join(map(str, found))} group the vertices differently: give the one that "
                "identifies curves (curve_column=, on the command line --curve-column)"
            )
    return finest


def _jumps(vertices: np.ndarray) -> int:
    """Count steps far above the median step in a curve of many vertices: several indicate separate curves."""
    steps = np.linalg.norm(np.diff(vertices, axis=0), axis=1)
    jumps = int((steps > _MIN_JUMP * np.median(steps)).sum()) if len(vertices) >= _MANY_VERTICES else 0
    return jumps if jumps > 1 else 0


def _closed(frame: "pd.DataFrame", identity: str) -> tuple["pd.DataFrame", Counter[Reason]]:
    """Return the closed shapes of a napari table, and the number of the others."""
    if "shape-type" not in frame:
        return frame, Counter()
    kinds = frame.groupby(identity)["shape-type"].first()
    open_ones = kinds[kinds.isin(_OPEN_KINDS)]
    ellipses = kinds[kinds == "ellipse"]
    dropped = Counter({OPEN: len(open_ones), Reason("ellipses"): len(ellipses)})
    left_out = frame[identity].isin([*open_ones.index, *ellipses.index])
    return frame[~left_out], +dropped


def _numbered(identity: "pd.Series") -> tuple[np.ndarray, list[Any]]:
    import pandas as pd

    number, values = pd.factorize(identity)
    if (number < 0).any():
        raise ContentError(f"{(number < 0).sum()} rows have no id")
    return number, list(values)
