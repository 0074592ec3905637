"""Design tables: images with group, replicate, block and covariates, from a CSV or from file names."""

from __future__ import annotations

import csv
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..archive import ContentError, StrPath, write_bytes
from ..comparison import design_from_names
from ..outlines import Ensemble, Outlines
from ..outlines.units import length_unit
from ..words import counted
from .content import decoded, number_in
from .curve_table import feature_text
from .ebsd import ENDINGS as MAPS
from .image_parts import WHOLE, Box, ImagePart, polygon_of
from .settings_file import BEST_OF_SEVERAL, SettingsFile
from .sources import PixelSize, Reading, distinct_names, files_of, naming, read_images

if TYPE_CHECKING:
    import pandas as pd


class DesignImages(NamedTuple):
    """Images and their design, which are not read yet: a row each.

    Attributes
    ----------
    paths : list of Path
    table : DataFrame
        As `experiment` takes it: columns group and, optionally, replicate, block and covariates.
    parts : list of ImagePart
        The part of the image that each row describes.
    pixel_sizes : mapping of Path to PixelSize
        Those that the table states, by resolved path.
    """

    paths: list[Path]
    table: pd.DataFrame
    parts: list[ImagePart]
    pixel_sizes: dict[Path, PixelSize]


def read_experiment(
    path: StrPath,
    *,
    pattern: str | None = None,
    outlines: Outlines | None = None,
    labels: bool | None = None,
    memory: float | None = None,
) -> tuple[list[Ensemble], pd.DataFrame]:
    """Read the images that a design table lists, or those in a folder, as `experiment` takes them.

    Parameters
    ----------
    path : path
        Design table, see `read_design`; or with `pattern` a folder of images and curve files.
    pattern : str, optional
        Columns of the design in the names of the files, such as "{group}_{replicate}"; see `design_from_names`.
    outlines : Outlines, optional
        Recipe for images; by default the best of several for all of them.
    labels : bool, optional
        Whether the images are labels or masks; by default detected for each.
    memory : float, optional
        Memory limit in GiB per file; by default 4.

    Returns
    -------
    ensembles : list of Ensemble
        One per image, or per part of one that is in a row of its own. A warning names the files of a folder that are
        left out.
    design : DataFrame
        The other columns of the table.

    Raises
    ------
    ValueError
        For a table that cannot be read, or an image that cannot be read, segmented or traced, naming it.
    FileNotFoundError
        If the table or the folder does not exist.

    Examples
    --------
    >>> from pathlib import Path
    >>> from napari_shape_ensembles import samples
    >>> from napari_shape_ensembles.io import read_experiment, write_curves
    >>> Path("powders").mkdir()
    >>> for name, powder in zip(("sieved_1", "raw_1"), samples.powder_outlines().ensembles()):
    ...     write_curves(f"powders/{name}.npz", powder)
    >>> ensembles, design = read_experiment("powders", pattern="{group}_{replicate}")
    >>> design["group"].tolist(), [len(ensemble) for ensemble in ensembles]
    (['raw', 'sieved'], [295, 174])
    """
    left_out = partial(warnings.warn, stacklevel=4)
    images = images_of_design(Path(path), pattern, labels=bool(labels), tell=left_out)
    reading = Reading(
        SettingsFile(outlines=outlines or BEST_OF_SEVERAL), labels, memory, pixel_sizes=images.pixel_sizes
    )
    ensembles, _ = read_images(images.paths, reading, images.parts)
    return ensembles, images.table


def images_of_design(
    path: Path, pattern: str | None, *, labels: bool = False, tell: Callable[[str], None] = lambda _: None
) -> DesignImages:
    """Return the images that a table lists, or with a pattern for their names those in a folder; not read yet.

    Raises
    ------
    ValueError
        As `read_design`, or for a file instead of a folder.
    """
    if pattern is None:
        return read_design(path)
    if not path.is_dir():
        raise ContentError(f"{path} is not a folder: with --pattern, give the folder of the images")
    paths = files_of(path, groups=True, labels=labels, tell=tell)
    table = design_from_names([path.name for path in paths], pattern).drop(columns="image")
    return DesignImages(paths, table, [WHOLE] * len(paths), {})


def read_design(path: Path) -> DesignImages:
    """Read a design table.

    Parameters
    ----------
    path : Path
        CSV, separated by commas, semicolons or tabs. Exports of Excel are supported: in Unicode or Windows-1252, with
        decimal commas, and with empty rows. A column image holds file names relative to the table's folder. Columns
        pixel_size and unit are optional; for a row without a size, that in the image file holds. Columns plane (of a
        stack, counted from 0; of several axes separated by commas), region (top:bottom, left:right in pixels, or a
        POLYGON as well-known text), class (value in a mask of classes), phase (name, of a map of orientations) and
        feature (of a file of curves, such as "kind = round") select a part of the image, and an empty cell all of it.
        A region, class or feature of plain words, and a phase where no image is an orientation map, is a factor of the
        design.

    Returns
    -------
    DesignImages
        If an image is in several rows and there is no column replicate, the image becomes the replicate: parts of one
        image are not independent.

    Raises
    ------
    ValueError
        For a table that cannot be read, one without that column, a missing image, a cell that cannot be parsed, a pixel
        size without a unit, or an image in two rows that name the same part of it.
    FileNotFoundError
        If the table does not exist.
    """
    if path.is_dir():
        raise ContentError(f"{path} is a folder: give a table of its images, or columns from their names (--pattern)")
    if not path.is_file():
        raise FileNotFoundError(f"there is no table {path}")
    table = _cells_of(path)
    if "image" not in table:
        raise ContentError(f"{path.name} has no column 'image'; its columns are {', '.join(map(repr, table.columns))}")
    if not len(table) or table["image"].isna().any():
        raise ContentError(f"{path.name}: {'it has no rows' if not len(table) else 'some rows have no image'}")
    paths = [path.parent / name.strip() for name in table["image"]]
    if missing := [str(one) for one in paths if not one.exists()]:
        raise ContentError(f"{path.name}: {counted(len(missing), 'image')} not found, such as {missing[0]}")
    paths = [file for one in paths for file in files_of(one, groups=False)]
    sizes, table = _take_pixel_sizes(paths, table.drop(columns="image"), path.name)
    parts, table = _take_parts(paths, table, path.name)
    return DesignImages(paths, table, parts, sizes)


def _cells_of(path: Path) -> pd.DataFrame:
    """Read the cells of a design table, names as text even if they are numbers, such as 001."""
    import pandas as pd

    text = _text_of(path)
    try:
        cells = pd.read_csv(StringIO(text), sep=None, engine="python", dtype=str, keep_default_na=False)
        names = {name: str for name in map(str, cells) if name.strip().lower() in ("image", *_NAMES)}
        table = pd.read_csv(StringIO(text), sep=None, engine="python", dtype=names)
    except (ValueError, csv.Error) as error:
        raise ContentError(f"{path.name} is not a CSV table: {error}") from error
    for name in map(str, table):
        known, words = name.strip().lower(), cells[name].str.strip().isin(_WORDS)
        of_names = known in _NAMES or not (known in _KNOWN or pd.api.types.is_numeric_dtype(table[name]))
        if of_names and words.any():
            table[name] = cells[name].where(table[name].notna() | words)
    table = table.dropna(how="all", ignore_index=True)
    table.columns = table.columns.str.strip()
    written = {name: name.lower() for name in table.columns if name.lower() in _KNOWN}  # Excel capitalizes them
    return table.rename(columns=written) if len({*written.values()}) == len(written) else table


def _take_pixel_sizes(paths: list[Path], table: pd.DataFrame, name: str) -> tuple[dict[Path, PixelSize], pd.DataFrame]:
    """Return the pixel sizes ("0.5" or "0.5 × 0.4") by resolved path, and the other columns."""
    import pandas as pd

    if "pixel_size" not in table:
        return {}, table
    if "unit" not in table:
        raise ContentError(f"{name} has a column pixel_size but no column unit: add one, with µm, nm, mm, …")
    sizes: dict[Path, PixelSize] = {}
    for path, size, unit in zip(paths, table["pixel_size"], table["unit"], strict=True):
        if pd.isna(size):
            continue
        words = re.split("[×x*]", str(size))
        if grouped := next((word.strip() for word in words if number_in(word) is None and "," in word), ""):
            raise ContentError(
                f"{name}: the pixel size {grouped} of {path.name} may be {grouped.replace(',', '')} or "
                f"{grouped.replace(',', '.', 1)}: write it without a comma"
            )
        height, *width = (number_in(word) or 0.0 for word in words)
        if len(width) > 1 or not all(0 < side < float("inf") for side in (height, *width)) or not isinstance(unit, str):
            raise ContentError(f"{name}: the pixel size of {path.name} is {size!r} {unit!r}, not a size with a unit")
        with naming(f"{name}: {path.name}"):
            sizes[path.resolve()] = (height, width[0]) if width else height, length_unit(unit)
    return sizes, table.drop(columns=["pixel_size", "unit"])


def read_small_table(path: Path) -> pd.DataFrame:
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
    try:
        return decoded(path.read_bytes())
    except ContentError as error:
        raise ContentError(f"{path.name} {error}") from error
    except UnicodeDecodeError as error:
        raise ContentError(f"{path.name} is not a CSV table: {error}") from error


#: Columns that identify the part of an image that a row describes.
PART_COLUMNS = ("plane", "region", "class", "phase", "feature")
# Columns of names, and names that pandas takes for missing values.
_NAMES, _WORDS = ("group", "replicate", "block"), ("None", "null")
# Columns matched case-insensitively.
_KNOWN = ("image", "group", "replicate", "block", "pixel_size", "unit", *PART_COLUMNS)


def _take_parts(paths: list[Path], table: pd.DataFrame, name: str) -> tuple[list[ImagePart], pd.DataFrame]:
    """Return the part of the image that each row describes, and the other columns; see `read_design`."""
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
    rows: dict[tuple[Path, ImagePart], None] = {}
    for place, path in enumerate(paths):
        try:
            row = path, part_of({column: _cell(values.iloc[place]) for column, values in columns.items()})
        except ValueError as error:
            raise ContentError(f"{name}: row {place + 1} has {error}") from error
        if row in rows:
            raise ContentError(
                f"{name}: {path.name} {row[1]}".rstrip() + " is in more than one row: give one row per image, or "
                "distinguish its parts by a column plane, region, class, phase or feature"
            )
        rows[row] = None
    parts, table = [part for _, part in rows], table.drop(columns=list(columns))
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
    """Write a design table that `read_design` can read, atomically.

    Each row is an image file, written relative to the table, the part of it, and the other cells by column. A column
    whose name is reserved for parts of images, if there are such parts, raises a ValueError.
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
