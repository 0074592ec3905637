"""Menus and file dialogs; the session reads and writes the files, and reports the outcome."""

import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from qtpy.QtWidgets import QFileDialog, QMessageBox, QWidget

from ..io import SettingsFile, save_settings
from ..io.outputs import with_ending
from .comparing import ENDING, paths_of_sides
from .experimenting import ENDING as _ENDING
from .files import prefer_own_reader
from .inputs import file_errors_named
from .panels.widgets import Entries, tip
from .referring import ENDING as OF_REFERENCE
from .session import Session
from .task import saved_message

# All that the bench reads, except images and outlines, which napari opens.
_READABLE = {"Files of the bench (*.npz *.toml *.csv)": "", "All files (*)": ""}
_COMPARISONS = {"Comparison (*.npz)": ENDING}
_EXPERIMENTS = {"Experiment (*.npz)": _ENDING}
_REFERENCES = {"References (*.npz)": OF_REFERENCE}
_CURVES = {
    "CSV tables (*.csv)": ".csv",
    "GeoJSON, for QuPath (*.geojson)": ".geojson",
    "ImageJ regions (*.zip)": ".zip",
    "NumPy archives (*.npz)": ".npz",
    "Parquet tables (*.parquet)": ".parquet",
}
_REQUIRED_PACKAGES = {".zip": "roifile", ".parquet": "pyarrow"}
REPORTS = {"Web page (*.html)": ".html", "PDF (*.pdf)": ".pdf"}
_MODELS = {"Models (*.npz)": ".npz"}
_SETTINGS = {"Settings (*.toml)": ".toml"}
_TABLES = {"Tables (*.csv)": ".csv"}


class Dialogs:
    """File dialogs of a dock.

    `show_message` is called with the outcome for a settings file: a sentence, and the text of its tooltip.
    """

    def __init__(self, parent: QWidget, session: Session, show_message: Callable[[str, str], object]) -> None:
        self._parent = weakref.ref(parent)  # avoids a reference cycle with the dock
        self._session, self._show_message = session, show_message
        self._folder = Path()

    def result_entries(self) -> Entries:
        return {
            "&Save comparison …": (self.save, "Everything in one file, which can be reopened here"),
            "&Export curves …": (self.export, "Curves of both groups with distances and measures, one file each"),
            "Write &report …": (self.report, "What differs, and why, with figures; takes a few seconds"),
        }

    def open_entry(self) -> Entries:
        words = "Open any file of the bench: a result, reference, model, settings, or a table of groups"
        return {"&Open …": (self.open, words)}

    def settings_entries(self) -> Entries:
        return {
            **self.open_entry(),
            "&Save settings …": (self.save_settings, "Save all controls, also for the command line"),
        }

    def table_entries(self) -> Entries:
        return {
            "&Open table …": (self.open, "Replace this table with a CSV file: column image, and those here"),
            "&Save table …": (
                self.save_table,
                "Save the table (CSV) and the settings, for shape-ensembles experiment",
            ),
        }

    def save_table(self) -> None:
        if (path := self._ask_save_path("Save table", "design.csv", _TABLES)) is not None:
            self._session.design_work.save(path)

    def experiment_entries(self) -> Entries:
        return {
            "&Save experiment …": (self.save_experiment, "Everything in one file, which can be reopened here"),
            "&Export tables and figures …": (self.export_experiment, "Write all tables and figures to a folder"),
            **self.open_entry(),
        }

    def save_experiment(self) -> None:
        if self._session.comparison.answer is None:
            self._show_message("⚠ There is nothing to save yet: compare first.", "")
        elif (path := self._ask_save_path("Save experiment", f"result{_ENDING}", _EXPERIMENTS)) is not None:
            prefer_own_reader()
            self._session.comparison.save_experiment(path)

    def export_experiment(self) -> None:
        if self._session.comparison.answer is None:
            self._show_message("⚠ There is nothing to export yet: compare first.", "")
        elif folder := QFileDialog.getExistingDirectory(self._parent(), "Folder for results", str(self._folder)):
            self._folder = Path(folder)
            self._session.comparison.export_experiment(self._folder)

    def reference_entries(self) -> Entries:
        return {
            **self.open_entry(),
            "&Save reference …": (self.save_reference, "Save the reference to one file, also for the command line"),
        }

    def save_reference(self) -> None:
        if self._session.referring.reference is None:
            self._show_message("⚠ There is nothing to save yet: make a reference first.", "")
        elif (path := self._ask_save_path("Save reference", f"accepted{OF_REFERENCE}", _REFERENCES)) is not None:
            self._session.referring.save(path)

    def model_entries(self) -> Entries:
        return {
            "&Save model …": (self.save_model, "Save the model to a file, for use in settings and scripts"),
            **self.open_entry(),
            "Use a &method": (
                self._session.learning.discard_model,
                "Segment by a threshold again; painted examples are kept",
            ),
        }

    def save_model(self) -> None:
        if (path := self._ask_save_path("Save model", "objects.npz", _MODELS)) is not None:
            self._session.learning.save(path)

    def save(self) -> None:
        if (path := self._ask_save_path("Save comparison", f"comparison{ENDING}", _COMPARISONS)) is not None:
            prefer_own_reader()
            self._session.comparison.save(path)

    def export(self) -> None:
        kinds = {words: ending for words, ending in _CURVES.items() if find_spec(_REQUIRED_PACKAGES.get(ending, "csv"))}
        path = self._ask_save_path("Export curves of both groups", "curves.csv", kinds)
        if path is not None and _confirm_overwrite(self._parent(), *paths_of_sides(path)):
            self._session.comparison.export(path)

    def report(self) -> None:
        if (path := self._ask_save_path("Write report", "report.html", REPORTS)) is not None:
            self._session.comparison.report(path)

    def open(self) -> None:
        """Open a file that the bench writes; what it is, is seen from its content."""
        chosen, _ = QFileDialog.getOpenFileName(self._parent(), "Open", str(self._folder), ";;".join(_READABLE))
        if chosen:
            self._folder = Path(chosen).parent
            with self._errors_shown():
                if words := self._session.open_file(Path(chosen)):
                    self._show_message(words, "")
                else:
                    prefer_own_reader()

    def save_settings(self) -> None:
        path, choices = self._ask_save_path("Save settings", "settings.toml", _SETTINGS), self._session.choices
        if path is not None:
            with self._errors_shown(), file_errors_named(path):
                save_settings(path, SettingsFile(choices.settings, choices.recipe))
                self._show_message(*saved_message([path]))

    @contextmanager
    def _errors_shown(self) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            self._show_message(f"⚠ {error}", "")

    def _ask_save_path(self, title: str, name: str, kinds: Mapping[str, str]) -> Path | None:
        path = ask_save_path(self._parent(), title, str(self._folder / name), kinds)
        self._folder = self._folder if path is None else path.parent
        return path


def ask_save_path(parent: QWidget | None, title: str, name: str, kinds: Mapping[str, str]) -> Path | None:
    """Ask for a file name to write to; without an ending, it gets that of the chosen kind of file.

    The kinds are the entries of the file dialog, each with its ending.
    """
    chosen, kind = QFileDialog.getSaveFileName(parent, title, name, ";;".join(kinds))
    if not chosen:
        return None
    path = with_ending(Path(chosen), kinds.get(kind, next(iter(kinds.values()))))
    return path if path == Path(chosen) or _confirm_overwrite(parent, path) else None


def _confirm_overwrite(parent: QWidget | None, *paths: Path) -> bool:
    """Ask before overwriting files that the file dialog has not asked about."""
    there = [path.name for path in paths if path.exists()]
    if not there:
        return True
    words = f"{' and '.join(there)} {'exist' if len(there) > 1 else 'exists'} already. Replace?"
    return bool(QMessageBox.question(parent, "Replace files", tip(words)) == QMessageBox.StandardButton.Yes)
