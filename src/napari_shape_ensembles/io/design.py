"""Tables of designs: images with their group, replicate, block and covariates, from a CSV or from names of files."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ..archive import ContentError
from ..comparison import design_from_names
from .image_parts import ImagePart
from .sources import distinct_names, files_of

if TYPE_CHECKING:
    import pandas as pd


def take_pixel_sizes(
    paths: list[Path], table: "pd.DataFrame", name: str
) -> tuple[dict[Path, tuple[float, str]], "pd.DataFrame"]:
    """Take the sizes of pixels out of a table of images.

    Parameters
    ----------
    paths : list of Path
        Of the images, one per row.
    table : DataFrame
        With or without columns pixel_size and unit; a row without a size leaves it to the image.
    name : str
        Of the table, for errors.

    Returns
    -------
    sizes : mapping of Path to (float, str)
        Side of a pixel and its unit, by resolved paths.
    table : DataFrame
        The other columns.

    Raises
    ------
    ValueError
        For one of both columns without the other, or a size that is no positive number.
    """
    import pandas as pd

    if "pixel_size" not in table:
        return {}, table
    if "unit" not in table:
        raise ContentError(f"{name} has a column pixel_size and no column unit: say µm, nm, mm, …")
    sizes = {}
    for path, size, unit in zip(paths, table["pixel_size"], table["unit"], strict=True):
        if pd.isna(size):
            continue
        if not isinstance(size, int | float) or not 0 < size < float("inf") or not isinstance(unit, str):
            raise ContentError(f"{name}: the pixels of {path.name} are {size!r} {unit!r}, not a size and its unit")
        sizes[path.resolve()] = float(size), unit.strip()
    return sizes, table.drop(columns=["pixel_size", "unit"])


def read_design(path: Path) -> tuple[list[Path], "pd.DataFrame"]:
    """Read a table of a design.

    Parameters
    ----------
    path : Path
        CSV, separated by commas, semicolons or tabs, with a column image: files, relative to the table's folder.

    Returns
    -------
    paths : list of Path
        Of the images, one per row.
    table : DataFrame
        The other columns, as `experiment` takes them.

    Raises
    ------
    ValueError
        For a table that cannot be read, without that column, with an image that is missing, or with one
        in two rows that name the same part of it (see `take_parts`).
    FileNotFoundError
        Where there is no such table.
    """
    import pandas as pd

    if not path.is_file():
        raise FileNotFoundError(f"there is no table {path}")
    try:
        table = pd.read_csv(path, sep=None, engine="python", encoding="utf-8-sig", dtype={"image": str})
    except (ValueError, UnicodeDecodeError) as error:
        raise ContentError(f"{path.name} is no table of comma-separated values: {error}") from error
    table.columns = table.columns.str.strip()
    if "image" not in table:
        raise ContentError(f"{path.name} has no column 'image', but {', '.join(map(repr, table.columns))}")
    if not len(table) or table["image"].isna().any():
        raise ContentError(f"{path.name}: {'it has no rows' if not len(table) else 'some rows name no image'}")
    paths = [path.parent / name.strip() for name in table["image"]]
    missing = [str(one) for one in paths if not one.exists()]
    if missing:
        raise ContentError(f"{path.name}: {len(missing)} images are not there, such as {missing[0]}")
    own = table[["image", *(column for column in PARTS if column in table)]]
    if (again := own.duplicated()).any():
        first = own[again].iloc[0]
        raise ContentError(
            f"{path.name}: {', '.join(str(value) for value in first)} is in more than one row: one row per image, or "
            "columns plane, region or class that differ"
        )
    return [file for one in paths for file in files_of(one, groups=False)], table.drop(columns="image")


#: Columns that tell which part of an image a row is.
PARTS = ("plane", "region", "class")


def take_parts(paths: list[Path], table: "pd.DataFrame", name: str) -> tuple[list[ImagePart], "pd.DataFrame"]:
    """Take the columns that name parts of images out of the table of a design.

    Parameters
    ----------
    paths : list of Path
        Of the images, one per row.
    table : DataFrame
        With or without columns plane (of a stack, counted from 0; of several axes separated by commas), region
        (top:bottom, left:right in pixels) and class (value in a mask of classes). An empty cell is all of the image.
        A region or a class in words is a factor of the design and stays.
    name : str
        Of the table, for errors.

    Returns
    -------
    parts : list of ImagePart
        One per row.
    table : DataFrame
        The other columns. Where one image is in several rows and there is no column replicate, it is the replicate:
        parts of one image are no independent images.

    Raises
    ------
    ValueError
        For a part that cannot be read, or rows that are one and the same part of one image.
    """
    import pandas as pd

    columns = {column: table[column] for column in PARTS if column in table}
    if "region" in columns and not columns["region"].astype(str).str.contains(":").any():
        del columns["region"]
    if "class" in columns and pd.to_numeric(columns["class"], errors="coerce").isna().all():
        del columns["class"]
    parts = []
    for place in range(len(table)):
        cells = {column: _cell(values.iloc[place]) for column, values in columns.items()}
        if not re.fullmatch(r"(\d+([,; ]+\d+)*)?", cells.get("plane", "")):
            raise ContentError(f"{name}: row {place + 1} has plane {cells['plane']!r}: give whole numbers from 0 on")
        region = re.fullmatch(r"(?:(\d+):(\d+)[,; ]+(\d+):(\d+))?", cells.get("region", ""))
        top, bottom, left, right = map(int, region.groups("0")) if region else (0, 0, 0, 0)
        if cells.get("region") and not (top < bottom and left < right):
            raise ContentError(
                f"{name}: row {place + 1} has region {cells['region']!r}: give top:bottom, left:right in pixels, such "
                "as 0:512, 512:1024"
            )
        if not re.fullmatch(r"([1-9]\d*)?", value := cells.get("class", "")):
            raise ContentError(
                f"{name}: row {place + 1} has class {value!r}: give a whole number above 0, as in the mask"
            )
        plane = tuple(map(int, re.findall(r"\d+", cells.get("plane", ""))))
        parts.append(
            ImagePart(plane, (top, bottom, left, right) if cells.get("region") else None, int(value) if value else None)
        )
    table, seen = table.drop(columns=list(columns)), set()
    for path, part in zip(paths, parts, strict=True):
        if (path, part) in seen:
            columns_said = "a column plane, region or class tells its parts apart"
            raise ContentError(f"{name}: {path.name} {part}".rstrip() + f" is in more than one row: {columns_said}")
        seen.add((path, part))
    if len(set(paths)) < len(paths) and "replicate" not in table:
        table = table.assign(replicate=distinct_names(paths))
    return parts, table


def _cell(value: object) -> str:
    """A cell as text: nothing where it is empty, and whole numbers in a column with gaps without their ".0"."""
    if isinstance(value, float):
        return "" if value != value else f"{value:g}"
    return str(value).strip()


def design_of_folder(folder: Path, pattern: str, *, labels: bool = False) -> tuple[list[Path], "pd.DataFrame"]:
    """Design of all images and files of curves in a folder, by a pattern of their names; see `design_from_names`."""
    paths = files_of(folder, groups=True, labels=labels)
    return paths, design_from_names([path.name for path in paths], pattern).drop(columns="image")
