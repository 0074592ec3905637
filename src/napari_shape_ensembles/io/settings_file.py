"""Settings as one human-readable TOML file, shared by the docks, scripts and the command line.

The table [outlines] holds the recipe, [analysis] the settings of the comparison.
"""

from __future__ import annotations

from dataclasses import dataclass

from .. import parameters
from ..archive import ContentError, StrPath
from ..comparison import Settings
from ..outlines import Outlines
from ..outlines.proposals import PROPOSED_FIELDS

_ANALYSIS, _OUTLINES = "analysis", "outlines"
_KNOWN = (_ANALYSIS, _OUTLINES, "version")


#: Recipe for a set of images if none is given: one for all of them, tried on all of them.
BEST_OF_SEVERAL = Outlines(method="auto")


@dataclass(frozen=True)
class SettingsFile:
    """Comparison settings and the outline recipe, as stored in one TOML file.

    Attributes
    ----------
    analysis : Settings
        Settings of the comparison.
    outlines : Outlines
        Recipe from images to outlines; by default the best of several for all images together.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings
    >>> from napari_shape_ensembles.io import SettingsFile
    >>> SettingsFile(analysis=Settings(rank=20)).analysis.rank
    20
    """

    analysis: Settings = Settings()
    outlines: Outlines = BEST_OF_SEVERAL


def save_settings(path: StrPath, settings: SettingsFile | Settings | Outlines) -> None:
    """Write settings to a TOML file atomically.

    Parameters
    ----------
    path : path
        Such as "settings.toml".
    settings : SettingsFile, Settings or Outlines
        For one of the last two, the file holds its table only.

    Raises
    ------
    OSError
        If the file cannot be written; an existing file of that name is kept.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings
    >>> from napari_shape_ensembles.io import SettingsFile, load_settings, save_settings
    >>> save_settings("settings.toml", Settings(rank=20))
    >>> load_settings("settings.toml") == SettingsFile(analysis=Settings(rank=20))
    True
    """
    if isinstance(settings, SettingsFile):
        tables = {_OUTLINES: settings.outlines, _ANALYSIS: settings.analysis}
    else:
        tables = {_ANALYSIS if isinstance(settings, Settings) else _OUTLINES: settings}
    parameters.write_tables(path, tables)


def load_settings(path: StrPath) -> SettingsFile:
    """Read settings from a TOML file with any of the tables [outlines] and [analysis].

    Raises
    ------
    ValueError
        For a file that is not valid TOML, an unknown table or entry, or a value outside its range.
    OSError
        If the file does not exist, or cannot be read.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings
    >>> from napari_shape_ensembles.io import load_settings, save_settings
    >>> save_settings("settings.toml", Settings(rank=20))
    >>> load_settings("settings.toml").analysis.rank
    20
    """
    with parameters.file_named(path):
        tables = parameters.read_tables(path)
        if unknown := sorted(set(tables) - set(_KNOWN)):
            raise ContentError(f"there is no table [{unknown[0]}]: use [{_ANALYSIS}], [{_OUTLINES}]")
        analysis = parameters.from_tree(Settings, parameters.table(tables, _ANALYSIS), f"[{_ANALYSIS}]")
        recipe = parameters.table(tables, _OUTLINES)
        # A file that says nothing of how objects are found leaves that to the images, like no file.
        if not any(name in recipe for name in PROPOSED_FIELDS):
            recipe = {"method": BEST_OF_SEVERAL.method, **recipe}
        return SettingsFile(analysis, Outlines.from_tables({_OUTLINES: recipe}))
