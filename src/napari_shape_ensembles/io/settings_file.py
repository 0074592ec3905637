"""Settings as a TOML file that people can read and edit: the same one for the docks, scripts and the command line."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..archive import ContentError, StrPath, write_bytes
from ..comparison import Settings, records

TABLES = ("analysis", "segmentation", "outlines")
_HEADER = "# Settings of napari-shape-ensembles. What is left out has its default.\n\n"
# A settings file of hand-written lines is far below this.
_LARGEST = 10**6


@dataclass(frozen=True)
class SettingsFile:
    """What one file sets.

    Attributes
    ----------
    analysis : Settings
        Of the comparison.
    segmentation : mapping
        Options of `segment` by name.
    outlines : mapping
        Options of `extract_curves` by name: smoothing, holes, border, min_area.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings
    >>> from napari_shape_ensembles.io import SettingsFile
    >>> SettingsFile(analysis=Settings(rank=20)).analysis.rank
    20
    """

    analysis: Settings = field(default_factory=Settings)
    segmentation: Mapping[str, Any] = field(default_factory=dict)
    outlines: Mapping[str, Any] = field(default_factory=dict)


def save_settings(path: StrPath, settings: SettingsFile | Settings) -> None:
    """Write settings, complete or not at all.

    Parameters
    ----------
    path : path
        Such as "settings.toml".
    settings : SettingsFile or Settings
        With `Settings` alone the file holds the table [analysis] only.

    Raises
    ------
    OSError
        When the file cannot be written; an earlier file of that name stays.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings
    >>> from napari_shape_ensembles.io import SettingsFile, load_settings, save_settings
    >>> save_settings("settings.toml", Settings(rank=20))
    >>> load_settings("settings.toml") == SettingsFile(analysis=Settings(rank=20))
    True
    """
    import tomli_w  # only where a file is written

    chosen = SettingsFile(settings) if isinstance(settings, Settings) else settings
    tables = {
        "analysis": records.choices_tree(chosen.analysis),
        "segmentation": dict(chosen.segmentation),
        "outlines": dict(chosen.outlines),
    }
    kept = {name: _without_none(table) for name, table in tables.items() if table}
    write_bytes(path, (_HEADER + tomli_w.dumps(kept)).encode())


def _without_none(table: Mapping[str, Any]) -> dict[str, Any]:
    """TOML has no None: an option that is not set is left out."""
    return {name: value for name, value in table.items() if value is not None}


def load_settings(path: StrPath) -> SettingsFile:
    """Read settings from a TOML file with any of the tables [analysis], [segmentation] and [outlines].

    Raises
    ------
    ValueError
        For a file that is no TOML, a table or an entry that does not exist, or a value out of range.
    OSError
        When there is no such file, or it cannot be read.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings
    >>> from napari_shape_ensembles.io import load_settings, save_settings
    >>> save_settings("settings.toml", Settings(rank=20))
    >>> load_settings("settings.toml").analysis.rank
    20
    """
    name = Path(path).name
    with open(path, "rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(f"{name} is larger than {_LARGEST // 10**6} MB: this is no settings file")
    try:
        return _checked(tomllib.loads(content.decode()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{name} is no TOML file: {error}") from error
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _checked(tables: Mapping[str, Any]) -> SettingsFile:
    unknown = sorted(set(tables) - set(TABLES))
    if unknown:
        raise ContentError(f"there is no table [{unknown[0]}]: use {', '.join(f'[{name}]' for name in TABLES)}")
    for name, table in tables.items():
        if not isinstance(table, Mapping):
            raise ContentError(f"{name} is a table of options, [{name}], not {table!r}")
    return SettingsFile(
        records.choices_of(Settings, tables.get("analysis", {})),
        tables.get("segmentation", {}),
        tables.get("outlines", {}),
    )
