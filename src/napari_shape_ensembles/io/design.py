"""Tables of designs: images with their group, replicate, block and covariates, from a CSV or from names of files."""

from pathlib import Path
from typing import TYPE_CHECKING

from ..archive import ContentError
from ..comparison import design_from_names
from .sources import files_of

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
        For a table that cannot be read, without that column, or with an image that is missing or named twice.
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
    again = table["image"][table["image"].duplicated()].tolist()
    if again:
        raise ContentError(f"{path.name}: {again[0]} is in more than one row: one row per image")
    return [file for one in paths for file in files_of(one, groups=False)], table.drop(columns="image")


def design_of_folder(folder: Path, pattern: str, *, labels: bool = False) -> tuple[list[Path], "pd.DataFrame"]:
    """Design of all images and files of curves in a folder, by a pattern of their names; see `design_from_names`."""
    paths = files_of(folder, groups=True, labels=labels)
    return paths, design_from_names([path.name for path in paths], pattern).drop(columns="image")
