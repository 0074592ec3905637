"""Curves as a tidy table in CSV or Parquet: one row per vertex, with the id and the features of its curve."""

import csv
import json
import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from io import BytesIO, StringIO
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Real
from ..archive import ContentError, StrPath, Tree, exact_csv_options
from ..budget import reserve, reserve_curves
from ..comparison.design import with_numbers
from ..outlines.exchange import needed
from ..outlines.extract import signed_area
from ..outlines.order import is_closed
from ..outlines.reasons import HOLES, OPEN, PARTS, Reason
from .columns import (
    PARTS_OF_OBJECT,
    RINGS,
    Roles,
    bare_name,
    ids_of,
    images_of_rows,
    jumps,
    name_positions,
    roles_of,
    unit_in,
    varies,
)
from .content import bytes_of, decoded, decompressed, is_number
from .curve_table import FORMAT, CurveTable, Found, metadata
from .polygons import geometry_column, polygons_of_table
from .via import REGIONS, read_via, via_of_table

if TYPE_CHECKING:
    import pandas as pd

_VERTEX_COLUMNS = ("id", "vertex", "row", "column")
_OWN_ROLES = Roles("row", "column", "vertex", ("id",), ())
_OPEN_KINDS = {"line", "path", "point", "points"}
_DEGREES = re.compile(r"(?<![a-z])(deg|degrees?|°)\W*$", re.IGNORECASE)
# Start of a string that a spreadsheet evaluates as a formula, after any number of escaping apostrophes.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
# Words for a missing number, and copies of the text of a table of another program.
_MISSING, _COPIES_OF_TEXT = ("", "nan", "na", "n/a", "null", "none"), 6
# Memory in bytes per cell of a table, which may be a string.
_BYTES_PER_CELL = 64


def escaped_cell(cell: Any) -> Any:
    """Escape a cell against formula injection: a string that starts like a formula gets a leading apostrophe."""
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) and not is_number(cell) else cell


def _unescaped_cell(cell: Any) -> Any:
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
    """Read the curves of a CSV file: our own, napari's shapes, or any with columns of coordinates."""
    content = decompressed(bytes_of(path))
    reserve(content.count(b",") * _BYTES_PER_CELL)
    reserve_curves(content.count(b"\n"))
    meta = _stated_in(content)
    frame = _frame_of_text(content, meta)
    if REGIONS in frame:
        return read_via(via_of_table(frame), path)
    return _found(frame, meta, curve_column)


def has_header(text: str) -> bool:
    """Whether the first line of a text names three columns or more, two of them as coordinates."""
    line = next((line for line in text.splitlines() if line.strip() and line[0] != "#"), "")
    names = [name.strip('" ') for name in re.split(r"[,;\t]" if re.search("[,;\t]", line) else r"\s+", line)]
    return len(names) > len("xy") and name_positions(names)


def _stated_in(content: bytes) -> Tree:
    """Return the metadata in the first line of our own table; also after a spreadsheet has saved it again.

    A spreadsheet takes the line for cells, and quotes them.
    """
    own = content.startswith(b"# {")
    line = decoded(content.partition(b"\n")[0] if own else content).partition("\n")[0].strip()
    if line.startswith("# {"):
        meta: Tree = json.loads(line[2:])
        return meta if meta.get("format") == FORMAT else {}
    if not re.match(r'"?# \{', line):
        return {}
    try:
        cells = next(csv.reader([line], delimiter=max(",;\t", key=lambda sign: line.count(f'"{sign}'))))
        meta = json.loads(",".join(cells).rstrip(", ")[2:])
    except ValueError as error:
        raise ContentError(
            "its first line, which holds unit and pixel size, was changed by another program: write the outlines "
            "again, or remove the line and give the pixel size"
        ) from error
    return meta if meta.get("format") == FORMAT else {}


def _frame_of_text(content: bytes, meta: Tree) -> "pd.DataFrame":
    """Return the cells of a table, as numbers where all cells of a column are."""
    import pandas as pd

    file: BytesIO | StringIO = BytesIO(content)
    separator, untouched = ",", content.startswith(b"# {")
    if untouched:
        file.readline()
    else:
        reserve(_COPIES_OF_TEXT * len(content))
        text = decoded(content)
        while text.startswith(("#", '"#')) and REGIONS not in text.partition("\n")[0]:  # of VIA: "#filename"
            text = text.partition("\n")[2]
        separator = max(",;\t", key=text.partition("\n")[0].count)
        separator = separator if separator in text.partition("\n")[0] else r"\s+"
        file = StringIO(text)
    words = {name: str for name, kind in meta.get("columns", {}).items() if kind == "text"}
    if meta.get("ids") == "text":
        words["id"] = str
    try:
        frame = pd.read_csv(
            file,
            sep=separator,
            dtype=words,
            encoding="utf-8-sig",
            keep_default_na=False,
            na_values={} if not meta else {name: [""] for name in meta.get("columns", {}) if name not in words},
            **exact_csv_options(),
        )
    except pd.errors.ParserError as error:
        place = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        if place is None:
            raise
        columns, line, cells = place.groups()
        raise ContentError(
            f"row {line} of the table has {cells} cells, and those above it {columns}: correct it"
        ) from error
    if meta:
        frame = frame.rename(columns=_unescaped_cell)
        for name in {*words, *(["id"] if meta.get("ids") == "text" else [])} & {*frame}:
            frame[name] = frame[name].map(_unescaped_cell)
    return frame if untouched and meta else _tidied(frame, keep=words, commas=separator != ",")


def _tidied(frame: "pd.DataFrame", *, keep: Container[str], commas: bool) -> "pd.DataFrame":
    """Return a table as spreadsheets and other programs write it, without empty rows and columns, and with numbers.

    Columns to `keep` are words, even if they look like numbers. `commas` are decimal ones.
    """
    frame = frame.reset_index(drop=True)  # of a table whose header has one cell less
    frame.columns = [str(name).strip() for name in frame.columns]
    empty = frame.apply(lambda cells: cells.isna() | (cells.dtype.kind not in "biuf" and _stripped(cells) == ""))
    frame = frame.loc[~empty.all(axis=1), ~(empty.all() & frame.columns.str.startswith("Unnamed:"))]
    return frame.apply(lambda column: column if column.name in keep else _numbers_of(column, commas))


def _stripped(cells: "pd.Series") -> "pd.Series":
    return cells.astype(str).str.strip()


def _numbers_of(cells: "pd.Series", commas: bool) -> "pd.Series":
    """Return a column as numbers, NaN where it says so or is empty, if all its cells are."""
    if cells.dtype.kind in "biuf":
        return cells
    words = _stripped(cells)
    given = words[~words.str.lower().isin(_MISSING)]
    if commas and given.str.contains(",", regex=False).any():
        given = given.str.replace(",", ".", regex=False)
    numbers = with_numbers(given)
    return numbers.reindex(cells.index) if len(given) and numbers.dtype.kind in "iuf" else cells


def parquet_bytes(table: CurveTable) -> bytes:
    """Return a Parquet file with the metadata in its schema."""
    pyarrow, parquet = pyarrow_modules()
    rows = pyarrow.Table.from_pandas(_frame(table), preserve_index=False)
    rows = rows.replace_schema_metadata({**(rows.schema.metadata or {}), FORMAT.encode(): json.dumps(metadata(table))})
    file = BytesIO()
    parquet.write_table(rows, file)
    return file.getvalue()


def read_parquet(path: StrPath, curve_column: str | None = None) -> Found:
    """Read the curves of a Parquet file with the same columns; see `geoparquet.read_any_parquet`."""
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
    if not meta and (name := geometry_column(frame)):
        return polygons_of_table(frame, name)
    own = replace(_OWN_ROLES, vertex="vertex" if "vertex" in frame else "")
    roles = own if meta else roles_of(frame, _named_columns(frame, curve_column))
    if missing := [name for name in (roles.row, roles.column, *roles.keys) if name not in frame]:
        raise ContentError(f"has no column {missing[0]}; its columns are {', '.join(map(str, frame.columns[:8]))}")
    identity = ids_of(frame, roles.keys)
    frame, dropped = _closed(frame, identity) if not meta else (frame, Counter())
    number, ids = _numbered(identity.loc[frame.index])
    # Rows may have been sorted by another column in a spreadsheet.
    place = frame[roles.vertex].to_numpy() if roles.vertex else np.zeros(len(frame))
    order = np.lexsort((place, number)) if place.dtype.kind in "iuf" else np.argsort(number, kind="stable")
    ordered, number = frame.iloc[order], number[order]
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    vertices = ordered[[roles.row, roles.column]].to_numpy(dtype=np.float64)
    told_apart = {roles.row, roles.column, roles.vertex, *(roles.keys if len(roles.keys) == 1 else ())}
    others = [name for name in frame.columns if name not in {*told_apart, *(() if meta else ("shape-type",))}]
    features = {
        str(name): ordered[name].iloc[starts].tolist()
        for name in others
        if meta or not varies(ordered[name], number)  # else of the vertices
    }
    if "image" not in features and len(images := images_of_rows(ordered.iloc[starts], roles.images)):
        features["image"] = images
    curves = np.split(vertices, starts[1:]) if len(starts) else []
    if meta:
        return Found(curves, ids, features, dropped, meta, calibrated=True)
    unit, pixel = _unit_of(frame, roles)
    if not roles.keys and len(pieces := _between_gaps(vertices)) > 1:
        curves, ids, features = pieces, [*range(1, len(pieces) + 1)], {}
    elif not roles.keys and (count := jumps(vertices)):
        raise ContentError(
            f"has no column that identifies curves, and as one curve its vertices jump {count} times: give the "
            "column (curve_column=, on the command line --curve-column), or add a column id"
        )
    found = Found([curve * pixel for curve in curves], ids, features, dropped, calibrated=bool(unit), unit=unit)
    return _without_rings(
        found, [name for name in roles.keys if bare_name(name) in (*RINGS, *PARTS_OF_OBJECT)], roles.keys
    )


def _between_gaps(vertices: Real) -> list[Real]:
    """Return the outlines between rows of NaN; none where these are missing vertices of one outline."""
    missing = np.isnan(vertices).all(axis=1)
    pieces = [piece[~np.isnan(piece).all(axis=1)] for piece in np.split(vertices, np.flatnonzero(missing))]
    pieces = [piece for piece in pieces if len(piece)]
    return pieces if all(map(is_closed, pieces)) else []


def _unit_of(frame: "pd.DataFrame", roles: Roles) -> tuple[str, float]:
    """Return the unit of the coordinates, and the pixel size by which they have to be multiplied."""
    stated = [unit_in(name) for name in (roles.row, roles.column)]
    if all(stated) and stated[0] != stated[1]:
        raise ContentError(f"its columns {roles.row} and {roles.column} have different units: save both in one unit")
    if angle := next((name for name in (roles.row, roles.column) if _DEGREES.search(str(name))), ""):
        raise ContentError(f"its column {angle} is in degrees: save the coordinates in a unit of length, or in pixels")
    names = {bare_name(name): name for name in frame}
    units: list[Any] = frame[names["unit"]].dropna().astype(str).unique().tolist() if "unit" in names else []
    sizes: list[Any] = frame[names["pixelsize"]].dropna().unique().tolist() if "pixelsize" in names else []
    for what, values in (("units", units), ("pixel sizes", sizes)):
        if len(values) > 1:
            listed = ", ".join(map(str, values[:3]))
            raise ContentError(f"its outlines have several {what} ({listed}): save those of each in a file of its own")
    unit = unit_in(f"x [{units[0]}]") if len(units) else ""
    if len(sizes) and not unit_in(roles.column) and unit:
        if not sizes[0] > 0:
            raise ContentError(f"states a pixel size of {sizes[0]}: give one above 0")
        return unit, float(sizes[0])
    return unit_in(roles.column) or ("" if unit == "pixel" else unit), 1.0


def _without_rings(found: Found, columns: list[str], keys: Sequence[str]) -> Found:
    """Keep the largest ring of each object where a column tells its rings or parts apart, and count the others."""
    if not columns:
        return found
    others = [found.features[name] for name in keys if name not in columns and name in found.features]
    objects: dict[tuple[Any, ...], list[int]] = {}
    for row, object_ in enumerate(zip(*others, strict=True)):
        objects.setdefault(object_, []).append(row)
    largest = [max(rows, key=lambda row: abs(signed_area(found.curves[row]))) for rows in objects.values()]
    holes = any(bare_name(name) in RINGS for name in columns)
    found.dropped[HOLES if holes else PARTS] += len(found.curves) - len(largest)
    found.curves = [found.curves[row] for row in largest]
    found.ids = [":".join(map(str, object_)) if len(object_) > 1 else object_[0] for object_ in objects]
    found.features = {
        name: [values[row] for row in largest] for name, values in found.features.items() if name not in columns
    }
    return found


def _named_columns(frame: "pd.DataFrame", curve_column: str | None) -> list[str]:
    """Return the columns that the user named, one or several separated by commas, in any case."""
    if curve_column is None or curve_column in frame:
        return [] if curve_column is None else [curve_column]
    known = {str(name).strip().lower(): str(name) for name in frame.columns}
    return list(dict.fromkeys(known.get(name.strip().lower(), name.strip()) for name in curve_column.split(",")))


def _closed(frame: "pd.DataFrame", identity: "pd.Series") -> tuple["pd.DataFrame", Counter[Reason]]:
    """Return the closed shapes of a napari table, and the number of the others."""
    if "shape-type" not in frame:
        return frame, Counter()
    kinds = frame.groupby(identity)["shape-type"].first()
    open_ones = kinds[kinds.isin(_OPEN_KINDS)]
    ellipses = kinds[kinds == "ellipse"]
    dropped = Counter({OPEN: len(open_ones), Reason("ellipses"): len(ellipses)})
    left_out = identity.isin([*open_ones.index, *ellipses.index])
    return frame[~left_out], +dropped


def _numbered(identity: "pd.Series") -> tuple[np.ndarray, list[Any]]:
    import pandas as pd

    number, values = pd.factorize(identity)
    if (number < 0).any():
        raise ContentError(f"{(number < 0).sum()} rows have no id")
    return number, list(values)
