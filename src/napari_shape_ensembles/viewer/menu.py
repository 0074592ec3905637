"""Entries of napari's menus, which open the bench at one of its pages.

The menu *Plugins* opens the same pages as separate docks.
"""

import napari

from .choices import PLUGIN
from .docks.bench import Bench


def _open_bench(page: str = "") -> Bench | None:
    """Open or raise the bench of the current viewer, at the page that takes the place of a dock."""
    viewer = napari.current_viewer()
    if viewer is None:
        return None
    frame, bench = viewer.window.add_plugin_dock_widget(PLUGIN, "Shape bench")
    frame.show()
    frame.raise_()
    if page:
        bench.show_instead_of(page)
    return bench


def take_tour() -> None:
    """Start the tour of the bench, with a sample pair if there are no layers."""
    if bench := _open_bench():
        bench.start_tour()


def open_pixel_size() -> None:
    """Open the bench at the pixel sizes of the page *Images*."""
    _open_bench("Pixel size")


def open_outlines() -> None:
    """Open the bench at the page *Outlines*."""
    _open_bench("Segment curves")


def open_inspection() -> None:
    """Open the bench at the tab *Inspect* of the page *Outlines*."""
    _open_bench("Inspect curves")


def open_answer() -> None:
    """Open the bench at the page *Answer*."""
    _open_bench("Compare shapes")


def open_why() -> None:
    """Open the bench at the page *Why*."""
    _open_bench("Shape space")


def open_rank_study() -> None:
    """Open the bench at the tab *Rank* of the page *Trust*."""
    _open_bench("Decision landscape")


def open_smoothing_study() -> None:
    """Open the bench at the tab *Smoothing* of the page *Trust*."""
    _open_bench("Smoothing study")
