"""What the dock *Compare shapes* does with a result when asked: copies, files by menus and dialogs, and the check."""

import weakref
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

from napari.layers import Layer
from qtpy.QtCore import QObject
from qtpy.QtWidgets import QApplication, QFileDialog, QMenu, QMessageBox, QPushButton

from ..io import load_settings, save_settings
from .inputs import Source
from .report import as_python, as_python_of_file, as_text
from .settings_files import take_over, to_file
from .tasks import ENDING, Robustness, checking, exported, exporting, opening, saving, writing_report
from .widgets import tip

if TYPE_CHECKING:
    from collections.abc import Callable

    from .compare_dock import CompareShapes
    from .worker import Turn

_COMPARISONS = {"Comparison (*.npz)": ENDING}
_CURVES = {
    "CSV tables (*.csv)": ".csv",
    "GeoJSON, for QuPath (*.geojson)": ".geojson",
    "ImageJ regions (*.zip)": ".zip",
    "NumPy archives (*.npz)": ".npz",
    "Parquet tables (*.parquet)": ".parquet",
}
_NEEDS = {".zip": "roifile", ".parquet": "pyarrow"}
_REPORTS = {"Web page (*.html)": ".html", "PDF (*.pdf)": ".pdf"}
_SETTINGS = {"Settings (*.toml)": ".toml"}


class FileActions(QObject):
    """Fills the menus of a dock and does what they say; how it went is said in the dock's panel."""

    def __init__(self, dock: "CompareShapes") -> None:
        super().__init__(dock)
        self._folder = Path()
        dock.results.check.clicked.connect(self.check)
        dock.results.copy_text.clicked.connect(self.copy_text)
        dock.results.copy_python.clicked.connect(self.copy_python)
        _fill(
            dock.results.store,
            {
                "&Save comparison …": (self.save, "Everything in one file, to be opened again here"),
                "&Export curves …": (self.export, "Curves of A and B with distances and measures, a file each"),
                "Write &report …": (self.report, "What differs, and why, with figures; takes a few seconds"),
            },
        )
        _fill(
            dock.files,
            {
                "&Open comparison …": (self.open, "Show a comparison that was saved"),
                "&Load settings …": (self.load_settings, "Set all controls by a file"),
                "&Save settings …": (self.save_settings, "Save all controls, for the command line too"),
            },
        )

    @property
    def _dock(self) -> "CompareShapes":
        """The parent: an attribute would keep both alive in a ring."""
        return cast("CompareShapes", self.parent())

    def copy_text(self) -> None:
        """Put the result in words on the clipboard, and what has changed since."""
        shown = self._dock.shown
        if shown is not None:
            changed = self._dock.changed_since()
            stale = [f"Out of date: {', '.join(changed)}."] if changed else []
            origin = [shown.origin] if shown.origin else []
            _to_clipboard(as_text(shown.result, shown.segmentation, (*stale, *origin, *shown.notes)))

    def copy_python(self) -> None:
        """Put a script that makes the comparison again, or reads it again, on the clipboard."""
        shown = self._dock.shown
        if shown is None:
            return
        if shown.basis is not None and shown.sources is not None:
            basis = shown.basis
            a, b = (tuple(map(_named_now, *both)) for both in zip(shown.sources, basis.layers, strict=True))
            _to_clipboard(as_python((a, b), basis.segmentation, basis.analysis, basis.excluded))
        elif Path(shown.path).is_file():
            _to_clipboard(as_python_of_file(shown.path))
        else:
            self._dock.results.note("⚠ No script can make this result again: its layers and its file are gone.")

    def save(self) -> None:
        """Save the result under a name that is asked for."""
        shown = self._dock.shown
        path = None if shown is None else self._asked("Save comparison", f"comparison{ENDING}", _COMPARISONS)
        if shown is not None and path is not None:
            painted = self._dock.painting.choice.currentData()
            self._dock.start_task(partial(saving, shown, painted, path), self._saved)

    def _saved(self, paths: list[Path]) -> None:
        self._dock.unsaved = False
        self._written(paths)

    def export(self) -> None:
        """Write the curves of both images."""
        shown = self._dock.shown
        kinds = {words: ending for words, ending in _CURVES.items() if find_spec(_NEEDS.get(ending, "csv"))}
        path = None if shown is None else self._asked("Export curves of A and B", "curves.csv", kinds)
        if shown is not None and path is not None and self._may_replace(*exported(path)):
            self._dock.start_task(partial(exporting, shown, path), self._written)

    def report(self) -> None:
        """Explain the result, and write that."""
        shown = self._dock.shown
        path = None if shown is None else self._asked("Write report", "report.html", _REPORTS)
        if shown is not None and path is not None:
            self._dock.start_task(partial(writing_report, shown.result, path), self._written)

    def check(self) -> None:
        """Test how robust the result is."""
        if self._dock.shown is not None:
            self._dock.start_task(partial(checking, self._dock.shown.result), self._judge)

    def _judge(self, found: Robustness) -> "list[Turn]":
        shown = self._dock.shown
        return [] if shown is None else self._dock.showing(found.judged(shown))

    def open(self) -> None:
        """Show a result out of a file."""
        path = self._chosen("Open comparison", _COMPARISONS)
        if path is not None:
            self._dock.start_task(partial(opening, path), self._dock.opened.take_up)

    def save_settings(self) -> None:
        """Save what the form sets."""
        path = self._asked("Save settings", "settings.toml", _SETTINGS)
        if path is None:
            return
        try:
            save_settings(path, to_file(self._dock.settings))
        except ValueError as error:
            self._dock.results.note(f"⚠ {error}")
        except OSError as error:
            self._dock.results.note(f"⚠ {path.name} cannot be written: {error.strerror or error}")
        else:
            self._written([path])

    def load_settings(self) -> None:
        """Set the form by a file."""
        path = self._chosen("Load settings", _SETTINGS)
        if path is None:
            return
        try:
            left = take_over(self._dock.settings, load_settings(path))
        except ValueError as error:
            self._dock.results.note(f"⚠ {error}")
        except OSError as error:
            self._dock.results.note(f"⚠ {path.name} cannot be read: {error.strerror or error}")
        else:
            self._dock.results.note(f"Settings of {path.name} are set. {left_out(left)}".strip())

    def _written(self, paths: list[Path]) -> None:
        names, folder = " and ".join(path.name for path in paths), paths[0].absolute().parent
        self._dock.results.note(f"Saved {names} in {folder}", "\n".join(str(path.absolute()) for path in paths))

    def _asked(self, title: str, name: str, kinds: dict[str, str]) -> Path | None:
        """A name to write to; without an ending it gets that of the kind chosen."""
        chosen, kind = QFileDialog.getSaveFileName(self._dock, title, str(self._folder / name), ";;".join(kinds))
        if not chosen:
            return None
        path = Path(chosen)
        self._folder = path.parent
        if path.suffix:
            return path
        whole = path.with_name(path.name + kinds.get(kind, next(iter(kinds.values()))))
        return whole if self._may_replace(whole) else None

    def _may_replace(self, *paths: Path) -> bool:
        """Ask before files are replaced that the dialog has not asked about."""
        there = [path.name for path in paths if path.exists()]
        if not there:
            return True
        words = f"{' and '.join(there)} {'exist' if len(there) > 1 else 'exists'} already. Replace?"
        answer = QMessageBox.question(self._dock, "Replace files", tip(words))
        return bool(answer == QMessageBox.StandardButton.Yes)

    def _chosen(self, title: str, kinds: dict[str, str]) -> Path | None:
        chosen, _ = QFileDialog.getOpenFileName(self._dock, title, str(self._folder), ";;".join(kinds))
        if not chosen:
            return None
        self._folder = Path(chosen).parent
        return Path(chosen)


def _named_now(source: Source, ref: "weakref.ref[Layer]") -> Source:
    """What a layer was copied as, under the name that it has now."""
    layer = ref()
    return source if layer is None else replace(source, name=layer.name)


def left_out(settings: list[str]) -> str:
    """Say which settings of a file the dock cannot have."""
    return f"⚠ This dock cannot have all of them: {'; '.join(settings)} in the file." if settings else ""


def _fill(button: QPushButton, entries: "dict[str, tuple[Callable[[], None], str]]") -> None:
    menu = QMenu(button)
    menu.setToolTipsVisible(True)
    for words, (action, tooltip) in entries.items():
        entry = menu.addAction(words)
        entry.setToolTip(tooltip)
        entry.triggered.connect(action)
    button.setMenu(menu)


def _to_clipboard(text: str) -> None:
    clipboard = QApplication.clipboard()
    assert clipboard is not None
    clipboard.setText(text)
