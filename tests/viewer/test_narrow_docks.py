"""Every page fits into 320 pixels, empty and with results, without clipping or horizontal scrolling.

With larger fonts it needs more.
"""

import pytest
from napari.qt import get_stylesheet
from napari.settings import get_settings
from qtpy.QtCore import Qt
from qtpy.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDockWidget,
    QLabel,
    QLineEdit,
    QMainWindow,
    QScrollArea,
    QTabBar,
    QTableView,
    QTableWidget,
    QTabWidget,
    QWidget,
)

from docks import press, set_choices
from image_makers import spots
from napari_shape_ensembles.viewer.docks.answer import AnswerPage
from napari_shape_ensembles.viewer.docks.inspect import InspectCurves
from napari_shape_ensembles.viewer.docks.segment import SegmentCurves
from napari_shape_ensembles.viewer.docks.study import LandscapePage, SmoothingPage
from napari_shape_ensembles.viewer.docks.why import WhyPage
from napari_shape_ensembles.viewer.panels.color_by import ColorBar
from napari_shape_ensembles.viewer.panels.distributions import Histogram, ShareBar
from napari_shape_ensembles.viewer.panels.shape_canvas import ShapeCanvas
from napari_shape_ensembles.viewer.panels.widgets import NarrowList, Section

NARROW, NARROW_OF_LARGE = 320, 560
LARGE = 18  # points, twice napari's default
LONG = "embryo 12, stage 3, channel 2 of 4, maximum projection"
_READ = (QLabel, QAbstractButton, QComboBox, QAbstractSpinBox, QLineEdit, QTabBar)


def unfolded(dock):
    """Unfold all sections, as their widest contents may be hidden."""
    for section in dock.findChildren(Section):
        section.fold(False)
    return dock


def ended(signal, button, qtbot):
    with qtbot.waitSignal(signal):
        press(button, qtbot)


def compared(dock, qtbot):
    set_choices(dock.session.choices, permutations=199, landmarks=50, rank=20)
    ended(dock.finished, dock.run_button, qtbot)
    dock.session.explanation.activate()  # as in the bench
    dock.session.explanation.run()
    qtbot.waitUntil(lambda: dock.verdict.table.isVisible())
    dock.comparison.exclude(0)
    dock.results.show_note("Saved comparison.npz in /a/folder/of/many/names/that/is/long")
    assert dock.state == "stale"


def segmented(dock, qtbot):
    for method in range(dock.form.controls["method"].count()):
        dock.form.controls["method"].setCurrentIndex(method)
        make_narrow(dock, qtbot)
        assert cut_off(dock) == []
    dock.form.controls["method"].setCurrentIndex(0)
    ended(dock.finished, dock.run_button, qtbot)


def inspected(dock, qtbot):
    dock.b.setCurrentIndex(2)
    ended(dock.finished, dock.run_button, qtbot)
    ended(dock.finished, dock.again_button, qtbot)


def explained(dock, qtbot):
    set_choices(dock.session.choices, permutations=199, landmarks=50, rank=20)
    ended(dock.session.comparison.finished, dock.compare, qtbot)
    ended(dock.finished, dock.run_button, qtbot)


def studied(dock, qtbot):
    set_choices(dock.session.choices, permutations=99, significance=0.05, landmarks=40, rank=5)
    dock.ranges["ranks"].setText("2, 5-15:5")
    dock.ranges["landmarks"].setText("24, 40")
    if "sigmas" in dock.ranges:
        dock.ranges["sigmas"].setText("0-3")
    ended(dock.finished, dock.run_button, qtbot)
    qtbot.waitUntil(lambda: not dock.drawing)


PAGES = {
    AnswerPage: compared,
    SegmentCurves: segmented,
    InspectCurves: inspected,
    WhyPage: explained,
    LandscapePage: studied,
    SmoothingPage: studied,
}


def lines_of(part: QWidget) -> list[str]:
    """Texts that a custom-painted widget draws on one line each."""
    if isinstance(part, ShareBar):
        return part.lines
    if isinstance(part, Histogram):
        return list(part.labels)
    return [" ".join(part.labels)] if isinstance(part, ColorBar) else []


def cut_off(dock):
    """Visible parts that are narrower than their content, or extend beyond the dock."""
    found = []
    for part in dock.findChildren(QWidget):
        if not part.isVisible():
            continue
        left = part.mapTo(dock, part.rect().topLeft()).x()
        read = isinstance(part, _READ) and part.parent() is not None
        need = part.minimumWidth() or part.minimumSizeHint().width() if read else 0
        if isinstance(part, NarrowList) and part.font().pointSize() > LARGE:
            # In a form, the label column takes up to one character; the list then elides one more, but clips none.
            need -= part.fontMetrics().averageCharWidth()
        if isinstance(part, QAbstractSpinBox):  # napari's style sheet sets a minimum width regardless of content
            need = part.sizeHint().width()
        need = max([need, *(part.fontMetrics().horizontalAdvance(words) for words in lines_of(part))])
        if read and not isinstance(part.parent(), _READ) and (left < 0 or left + part.width() > dock.width()):
            found.append((part, "beyond the dock", left, part.width()))
        if part.width() < need:
            found.append((part, "too narrow", part.width(), need))
        if isinstance(part, Histogram) and part.height() < part.heightForWidth(part.width()):
            found.append((part, "too low", part.height(), part.heightForWidth(part.width())))
    return found


def small_print(dock, *, large):
    """Visible parts whose font is smaller than that of labels."""
    size = QLabel(dock)
    size.ensurePolished()
    assert (size.fontMetrics().height() > 24) == large
    least = size.fontMetrics().height() - 3  # napari makes some parts one point smaller
    written = (*_READ, QTableView, ColorBar, Histogram, ShareBar, ShapeCanvas)
    parts = [part for part in dock.findChildren(QWidget) if isinstance(part, written) and part.isVisible()]
    return [part for part in parts if part.fontMetrics().height() < least]


@pytest.mark.parametrize("page", PAGES)
def test_every_page_fits_into_320_pixels_and_adapts_to_large_fonts(model, shown, qtbot, page):
    dock, frame, window = page(model), QDockWidget(), QMainWindow()
    frame.setWidget(dock)
    window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, frame)
    usual = get_settings().appearance.font_size
    style(window, usual)
    shown(window, 1200, 900)
    assert_fits(unfolded(dock), qtbot, usual)
    assert_fits(dock, qtbot, LARGE)
    for seed in (1, 2):
        options = {"scale": (0.5, 0.5), "units": ("um", "um"), "name": f"{LONG} {seed}"}
        model.add_image(spots(seed), **options)
    assert_fits(dock, qtbot, LARGE)
    assert_fits(dock, qtbot, usual)
    PAGES[page](dock, qtbot)
    assert_fits(dock, qtbot, usual)
    assert_fits(dock, qtbot, LARGE)


def style(window, size):
    """Style a window as napari does at a font size."""
    window.setStyleSheet(get_stylesheet("dark", extra_variables={"font_size": f"{size}pt"}))


def assert_fits(dock, qtbot, size):
    """Check a dock at a font size."""
    style(dock.window(), size)
    assert_narrow(dock, qtbot, NARROW_OF_LARGE if size == LARGE else NARROW)


def make_narrow(dock, qtbot):
    """Make a dock as narrow as possible, but not below 320 pixels."""
    for _ in range(2):  # text that became smaller is laid out again once there is less room
        qtbot.wait(10)
        dock.parentWidget().setFixedWidth(max(NARROW, dock.minimumSizeHint().width()))
    qtbot.wait(20)


def assert_narrow(dock, qtbot, most):
    make_narrow(dock, qtbot)
    assert dock.minimumSizeHint().width() <= most
    assert dock.width() <= most
    assert small_print(dock, large=most > NARROW) == []
    for area in dock.findChildren(QScrollArea):
        assert area.widget().width() <= area.viewport().width()
    assert_nothing_cut_off(dock, [tabs for tabs in dock.findChildren(QTabWidget) if tabs.isVisible()])


def assert_nothing_cut_off(dock, tabs):
    """Check every page of all tabs."""
    if tabs:
        for page in range(tabs[0].count()):
            tabs[0].setCurrentIndex(page)
            assert_nothing_cut_off(dock, tabs[1:])
    else:
        QApplication.processEvents()
        assert cut_off(dock) == []
        for table in dock.findChildren(QTableWidget):
            assert not table.isVisible() or table.horizontalHeader().length() <= table.viewport().width()
