"""The settings of the dock as the file that the command line reads too, and back."""

from ..io import SettingsFile
from .settings_form import SettingsForm


def to_file(form: SettingsForm) -> SettingsFile:
    """All that the form sets."""
    return SettingsFile(form.analysis(), form.segmentation())


def take_over(form: SettingsForm, file: SettingsFile) -> list[str]:
    """Set the form to a file; what the file leaves out gets its default.

    Returns
    -------
    list of str
        What the dock cannot do, in words; the form has these at the nearest that can be set.
    """
    return form.show_settings(file.analysis, file.outlines)
