"""The settings of the dock as the file that the command line reads too, and back."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..archive import ContentError
from ..io import SettingsFile
from ..outlines import Segmentation
from .inputs import SegmentationSettings
from .settings_form import SettingsForm

# Control of the form -> option of `segment`, or of `extract_curves`.
_SEGMENTATION = {"objects": "objects", "smoothing": "smoothing", "split_touching": "split_touching"}
_OUTLINES = {"outline_smoothing": "smoothing", "min_area": "min_area", "keep_border": "border"}
# What changes nothing when it is set.
_OF_OUTLINES = {"holes": False, "smoothing_unit": "pixel", "min_vertices": 3, "min_length": 0}
_SPLIT = {"distance": True, "none": False}


def to_file(form: SettingsForm) -> SettingsFile:
    """All that the form sets."""
    values = form.values()
    return SettingsFile(
        form.analysis(),
        {option: values[name] for name, option in _SEGMENTATION.items()},
        {option: values[name] for name, option in _OUTLINES.items()},
    )


def take_over(form: SettingsForm, file: SettingsFile) -> list[str]:
    """Set the form to a file; what the file leaves out gets its default.

    Returns
    -------
    list of str
        What the dock cannot do, in words; the form has these at their defaults.

    Raises
    ------
    ValueError
        For a value that is out of range, naming it; the form stays as it was.
    """
    _check(file)
    values: dict[str, Any] = {}
    left: list[str] = []
    for table, controls in ((file.segmentation, _SEGMENTATION), (file.outlines, _OUTLINES)):
        values |= {name: _plain(table[option]) for name, option in controls.items() if option in table}
        left += list(_others(table, set(controls.values())))
    if not isinstance(values.get("split_touching", True), bool):
        left.append(f"split_touching = {values.pop('split_touching')}")
    return form.show_settings(file.analysis, SegmentationSettings(**values)) + left


def _check(file: SettingsFile) -> None:
    try:
        Segmentation(**file.segmentation)
    except TypeError as error:
        raise ContentError(f"[segmentation]: {str(error).partition('() ')[2] or error}") from error
    for name, value in file.outlines.items():
        if name not in {*_OUTLINES.values(), *_OF_OUTLINES}:
            raise ContentError(f"[outlines] has no option {name!r}")
        if isinstance(value, str) != (name == "smoothing_unit"):
            raise ContentError(f"[outlines] {name} cannot be {value!r}")


def _plain(value: Any) -> Any:
    return _SPLIT.get(value, value) if isinstance(value, str) else value


def _others(table: Mapping[str, Any], known: set[str]) -> Iterator[str]:
    """Options that the dock has no control for, as far as they are not at their defaults."""
    defaults = {**vars(Segmentation()), **_OF_OUTLINES}
    for option, value in table.items():
        if option not in known and value != defaults[option]:
            yield f"{option} = {value}"
