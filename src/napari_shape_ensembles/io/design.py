"""Design tables: images with group, replicate, block and covariates, from a CSV or from file names."""

import codecs
import csv
import os
import re
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from ..archive import ContentError, write_bytes
from ..comparison import design_from_names
from ..outlines.units import length_unit
from ..words import counted
from .ebsd import ENDINGS as MAPS
from .image_parts import Box, ImagePart, polygon_of
from .sources import distinct_names, feature_text, files_of

if TYPE_CHECKING:
    import pandas as pd


def take_pixel_sizes(
    paths: list[Path], table: "pd.DataFrame", name: str
) -> tuple[dict[Path, tuple[float | tuple[float, float], str]], "pd.DataFrame"]:
    """Extract the pixel sizes from a table of images.

    Parameters
    ----------
    paths : list of Path
        The images, one per row.
    table : DataFrame
        With or without columns pixel_size and unit; for a row without a size, that of the image file holds.
    name : str
        Name of the table, for error messages.

    Returns
    -------
    sizes : mapping of Path to (float or (float, float), str)
        Pixel side, or height and width ("0.5 × 0.4"), and its unit, by resolved path.
    table : DataFrame
        The remaining columns.

    Raises
    ------
    ValueError
        For one of the two columns without the other, or a size that is not a positive number.
    """
    import pandas as pd

    if "pixel_size" not in table:
        return {}, table
    if "unit" not in table:
        raise ContentError(f"{name} has a column pixel_size but no column unit: add one, with µm, nm, mm, …")
    sizes: dict[Path, tuple[float | tuple[float, float], str]] = {}
    for path, size, unit in zip(paths, table["pixel_size"], table["unit"], strict=True):
        if pd.isna(size):
            continue
        try:
            height, *width = (float(side) for side in re.split("[×x*]", str(size).replace(",", ".")))
        except ValueError:
            height, width = 0.0, []
        if len(width) > 1 or not all(0 < side < float("inf") for side in (height, *width)) or not isinstance(unit, str):
            raise ContentError(f"{name}: the pixel size of {path.name} is {size!r} {unit!r}, not a size with a unit")
        try:
            sizes[path.resolve()] = (height, width[0]) if width else height, length_unit(unit)
        except ContentError as error:
            raise ContentError(f"{name}: {path.name}: {error}") from error
    return sizes, table.drop(columns=["pixel_size", "unit"])


def read_design(path: Path) -> tuple[list[Path], "pd.DataFrame"]:
    """Read a design table.

    Parameters
    ----------
    path : Path
        CSV, separated by commas, semicolons or tabs, with a column image: file names relative to the table's folder.
        Exports of Excel are supported: in Unicode or Windows-1252, with decimal commas, and with empty rows.

    Returns
    -------
    paths : list of Path
        The images, one per row.
    table : DataFrame
        The remaining columns, as `experiment` takes them.

    Raises
    ------
    ValueError
        For a table that cannot be read, one without that column, a missing image, or an image in two rows that name the
        same part of it (see `take_parts`).
    FileNotFoundError
        If the table does not exist.
    """
    import pandas as pd

    if path.is_dir():
        raise ContentError(f"{path} is a folder: give a table of its images, or columns from their names (--pattern)")
    if not path.is_file():
        raise FileNotFoundError(f"there is no table {path}")
    text = _text_of(path)
    try:
        heads = pd.read_csv(StringIO(text), sep=None, engine="python", nrows=0).columns
        named = {name: str for name in heads if str(name).strip().lower() in ("image", *_NAMES)}  # such as 001
        table = pd.read_csv(StringIO(text), sep=None, engine="python", dtype=named)
        cells = pd.read_csv(StringIO(text), sep=None, engine="python", dtype=str, keep_default_na=False)
    except (ValueError, csv.Error) as error:
        raise ContentError(f"{path.name} is not a CSV table: {error}") from error
    for name in table:
        known, words = str(name).strip().lower(), cells[name].str.strip().isin(_WORDS)
        of_names = known in _NAMES or not (known in _KNOWN or pd.api.types.is_numeric_dtype(table[name]))
        if of_names and words.any():
            table[name] = cells[name].where(table[name].notna() | words)
    table = table.dropna(how="all", ignore_index=True)
    table.columns = table.columns.str.strip()
    written = {name: name.lower() for name in table.columns if name.lower() in _KNOWN}  # Excel capitalizes them
    if len({*written.values()}) == len(written):
        table = table.rename(columns=written)
    if "image" not in table:
        raise ContentError(f"{path.name} has no column 'image'; its columns are {', '.join(map(repr, table.columns))}")
    if not len(table) or table["image"].isna().any():
        raise ContentError(f"{path.name}: {'it has no rows' if not len(table) else 'some rows have no image'}")
    paths = [path.parent / name.strip() for name in table["image"]]
    missing = [str(one) for one in paths if not one.exists()]
    if missing:
        raise ContentError(f"{path.name}: {counted(len(missing), 'image')} not found, such as {missing[0]}")
    own = table[["image", *(column for column in PART_COLUMNS if column in table)]]
    if (again := own.duplicated()).any():
        first = own[again].iloc[0]
        raise ContentError(
            f"{path.name}: {', '.join(str(value) for value in first)} is in more than one row: give one row per "
            "image, or distinguish its parts by a column plane, region, class, phase or feature"
        )
    return [file for one in paths for file in files_of(one, groups=False)], table.drop(columns="image")


def read_small_table(path: Path) -> "pd.DataFrame":
    """Read a CSV table, as Excel saves it too: separated as its header is, by commas, semicolons or tabs.

    Raises
    ------
    ValueError
        For a file that is no such table.
    """
    import pandas as pd

    text = _text_of(path)
    header = text.partition("\n")[0]
    try:
        return pd.read_csv(StringIO(text), sep=max(",;\t", key=header.count))
    except ValueError as error:
        raise ContentError(f"{path.name} is not a CSV table: {error}") from error


def _text_of(path: Path) -> str:
    """Decode a table, in Unicode or in Excel's Windows-1252, without its separator line ("sep=;")."""
    content = path.read_bytes()
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = content.decode("utf-16", errors="replace")
    elif b"\0" in content:
        raise ContentError(f"{path.name} is a binary file, not a text table: save the table as CSV")
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("cp1252", errors="replace")
    first, _, rest = text.partition("\n")
    return rest if re.fullmatch(r"sep=.\r?", first) else text


#: Columns that identify the part of an image that a row describes.
PART_COLUMNS = ("plane", "region", "class", "phase", "feature")
# Columns of names, and names that pandas takes for missing values.
_NAMES, _WORDS = ("group", "replicate", "block"), ("None", "null")
# Columns matched case-insensitively.
_KNOWN = ("image", "group", "replicate", "block", "pixel_size", "unit", *PART_COLUMNS)


def take_parts(paths: list[Path], table: "pd.DataFrame", name: str) -> tuple[list[ImagePart], "pd.DataFrame"]:
    """Extract the columns that identify parts of images from a design table.

    Parameters
    ----------
    paths : list of Path
        The images, one per row.
    table : DataFrame
        With or without columns plane (of a stack, counted from 0; of several axes separated by commas), region
        (top:bottom, left:right in pixels, or a POLYGON as well-known text), class (value in a mask of classes), phase
        (name, of a map of orientations) and feature (of a file of curves, such as "kind = round"). An empty cell stands
        for the whole image. A region, class or feature of plain words, and a phase where no image is an orientation
        map, is a factor of the design and is kept.
    name : str
        Name of the table, for error messages.

    Returns
    -------
    parts : list of ImagePart
        One per row.
    table : DataFrame
        The remaining columns. If an image is in several rows and there is no column replicate, the image becomes the
        replicate: parts of one image are not independent.

    Raises
    ------
    ValueError
        For a part that cannot be parsed, or duplicate rows for the same part of an image.
    """
    import pandas as pd

    columns = {column: table[column] for column in PART_COLUMNS if column in table}
    if "region" in columns and not columns["region"].astype(str).str.contains(r":|POLYGON", case=False).any():
        del columns["region"]
    if "class" in columns and pd.to_numeric(columns["class"], errors="coerce").isna().all():
        del columns["class"]
    if "phase" in columns and not any(path.name.lower().endswith(MAPS) for path in paths):
        del columns["phase"]
    if "feature" in columns and not columns["feature"].astype(str).str.contains("=").any():
        del columns["feature"]
    parts = []
    for place in range(len(table)):
        cells = {column: _cell(values.iloc[place]) for column, values in columns.items()}
        try:
            parts.append(part_of(cells))
        except ValueError as error:
            raise ContentError(f"{name}: row {place + 1} has {error}") from error
    table, seen = table.drop(columns=list(columns)), set()
    for path, part in zip(paths, parts, strict=True):
        if (path, part) in seen:
            columns_said = "distinguish its parts by a column plane, region, class, phase or feature"
            raise ContentError(f"{name}: {path.name} {part}".rstrip() + f" is in more than one row: {columns_said}")
        seen.add((path, part))
    if len(set(paths)) < len(paths) and "replicate" not in table:
        table = table.assign(replicate=distinct_names(paths))
    return parts, table


def part_of(cells: dict[str, str]) -> ImagePart:
    """Parse the part that the cells of a row describe; a ValueError names the invalid cell."""
    plane, value = cells.get("plane", ""), cells.get("class", "")
    if not re.fullmatch(r"(\d+([,; ]+\d+)*)?", plane):
        raise ValueError(f"plane {plane!r}: give integers from 0 on")
    if not re.fullmatch(r"([1-9]\d*)?", value):
        raise ValueError(f"class {value!r}: give an integer above 0, as in the mask")
    feature = cells.get("feature", "")
    name, sign, wanted = (word.strip() for word in feature.partition("="))
    if feature and not (name and sign and wanted):
        raise ValueError(f"feature {feature!r}: give a name and a value, such as kind = round")
    return ImagePart(
        tuple(map(int, re.findall(r"\d+", plane))),
        _region(cells.get("region", "")),
        int(value) if value else None,
        cells.get("phase") or None,
        (name, wanted) if feature else None,
    )


def _region(text: str) -> Box | str | None:
    if not text:
        return None
    if "POLYGON" in text.upper():
        polygon_of(text)
        return text
    match = re.fullmatch(r"(\d+):(\d+)[,; ]+(\d+):(\d+)", text)
    top, bottom, left, right = map(int, match.groups()) if match else (0, 0, 0, 0)
    if not (top < bottom and left < right):
        raise ValueError(
            f"region {text!r}: give top:bottom, left:right in pixels, such as 0:512, 512:1024, or a POLYGON as "
            "well-known text"
        )
    return top, bottom, left, right


def _cell(value: object) -> str:
    """Return a cell as text: empty if missing, and integers in a column with gaps without their ".0"."""
    return "" if value is None or value != value else feature_text(value)


def write_design(path: Path, rows: Sequence[tuple[Path, ImagePart, Mapping[str, str]]]) -> None:
    """Write a design table that `read_design` and `take_parts` can read, atomically.

    Parameters
    ----------
    path : Path
        CSV.
    rows : sequence of (path, part, cells)
        Image file, written relative to the table; the part of it; and the other cells by column.

    Raises
    ------
    ValueError
        For a column whose name is reserved for parts of images, if there are such parts.
    """
    import pandas as pd

    lines = []
    for image, part, cells in rows:
        place = os.path.relpath(image.resolve(), path.parent.resolve())
        line = {"image": Path(place).as_posix(), **cells_of(part)}
        if both := sorted({*line} & {*cells}):
            raise ContentError(f"a column {both[0]} is reserved for parts of images: rename the column of the design")
        lines.append({**line, **cells})
    columns = list(dict.fromkeys(name for line in lines for name in line))
    order = ("image", *PART_COLUMNS)
    columns.sort(key=lambda name: order.index(name) if name in order else len(order))
    text = pd.DataFrame(lines, columns=columns).fillna("").to_csv(index=False, lineterminator="\n")
    write_bytes(path, text.encode())


def cells_of(part: ImagePart) -> dict[str, str]:
    """Return the cells that describe a part, the inverse of `part_of`."""
    found = {"plane": ",".join(map(str, part.plane))} if part.plane else {}
    if part.region is not None:
        top, bottom, left, right = (0, 0, 0, 0) if isinstance(part.region, str) else part.region
        found["region"] = part.region if isinstance(part.region, str) else f"{top}:{bottom}, {left}:{right}"
    if part.value is not None:
        found["class"] = str(part.value)
    if part.phase is not None:
        found["phase"] = part.phase
    if part.feature is not None:
        found["feature"] = " = ".join(part.feature)
    return found


def design_of_folder(folder: Path, pattern: str, *, labels: bool = False) -> tuple[list[Path], "pd.DataFrame"]:
    """Derive the design of all images and curve files in a folder from their names; see `design_from_names`."""
    paths = files_of(folder, groups=True, labels=labels)
    return paths, design_from_names([path.name for path in paths], pattern).drop(columns="image")
