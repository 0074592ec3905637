"""Keyboard use of every dock: Enter runs, Esc cancels, focus is kept, and Alt+letter shortcuts do not clash."""

import re
import time

import pytest
from qtpy.QtCore import Qt
from qtpy.QtTest import QTest
from qtpy.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QScrollBar,
    QTabBar,
)

from curve_makers import blobs
from docks import add_spots, choose_for_selected, includes_again, open_answer, press, run, show_docks, show_given_result
from image_makers import spots
from napari_shape_ensembles import Ensemble, Settings, compare
from napari_shape_ensembles.progress import Progress, report
from napari_shape_ensembles.viewer import comparing, explaining, inspecting, segmenting, studying
from napari_shape_ensembles.viewer.docks.bench import TabbedPage
from napari_shape_ensembles.viewer.docks.inspect import InspectCurves
from napari_shape_ensembles.viewer.docks.segment import SegmentCurves
from napari_shape_ensembles.viewer.docks.study import LandscapePage, SmoothingPage
from napari_shape_ensembles.viewer.docks.why import WhyPage
from napari_shape_ensembles.viewer.page_status import STEPS
from napari_shape_ensembles.viewer.panels.widgets import ScrollColumn, Section

CONTROLS = (QAbstractButton, QAbstractItemView, QAbstractSlider, QComboBox, QLineEdit, QTabBar)


def slow(*_, **__):
    """Replaces the work of a dock by an endless loop."""
    while True:
        report("counting", 0, 0)
        time.sleep(0.01)


# For each dock: module and name of its work, its run button, and another control.
DOCKS = {
    "segment": (
        SegmentCurves,
        segmenting,
        "run_segmentation",
        "run_button",
        lambda dock: dock.form.controls["min_area"],
    ),
    "inspect": (InspectCurves, inspecting, "inspect_suspicious", "run_button", lambda dock: dock.question),
    "landscape": (LandscapePage, studying, "landscape_of", "run_button", lambda dock: dock.ranges["ranks"]),
    "smoothing": (SmoothingPage, studying, "smoothing_of", "run_button", lambda dock: dock.merge),
    "space": (WhyPage, explaining, "explain", "run_button", lambda dock: dock.explorer.sliders[0]),
}


@pytest.fixture(params=DOCKS.values(), ids=DOCKS)
def ready(request, model, qtbot, monkeypatch):
    """A visible dock whose work never ends, its run button, and another control."""
    make, module, work, button, control = request.param
    add_spots(model, "one", "two", rows=3)
    dock = make(model)
    qtbot.addWidget(dock, before_close_func=lambda dock: settle(dock, qtbot))
    if make is WhyPage:
        a, b = (Ensemble(list(blobs(20, 60, seed=seed)), name=str(seed)) for seed in (1, 2))
        show_given_result(compare(a, b, Settings(landmarks=50, rank=5, permutations=99)), model)
    monkeypatch.setattr(module, work, slow)
    dock.resize(420, 900)
    with qtbot.waitExposed(dock):
        dock.show()
    dock.activateWindow()
    qtbot.waitUntil(dock.isActiveWindow)
    return dock, getattr(dock, button), control(dock)


def settle(dock, qtbot):
    dock.hide()
    qtbot.waitUntil(lambda: not dock.busy and not dock.task.threads)


def focused(dock):
    """The focused widget, which must belong to the dock."""
    widget = QApplication.focusWidget()
    assert widget is not None
    assert dock.isAncestorOf(widget)
    return widget


def test_the_button_and_enter_run_and_escape_cancels(ready, qtbot):
    dock, button, control = ready
    button.setFocus()
    press(button, qtbot)
    assert dock.busy
    qtbot.keyClick(focused(dock), Qt.Key.Key_Escape)
    assert not dock.busy
    assert button.isEnabled()
    focused(dock)
    if isinstance(dock, SegmentCurves):  # Enter runs only from its button
        control = button
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
        qtbot.waitUntil(lambda: not dock.task.threads)
        control.setFocus()
        qtbot.keyClick(control, key)
        assert dock.busy
        qtbot.keyClick(focused(dock), key)  # a second run is not started meanwhile
        qtbot.waitUntil(lambda: dock.task.threads == 1)
        qtbot.keyClick(focused(dock), Qt.Key.Key_Escape)
        assert not dock.busy


@pytest.mark.parametrize("ready", [DOCKS["segment"]], indirect=True)
def test_enter_in_a_field_of_segment_curves_adds_no_layers(ready, qtbot):
    dock, button, control = ready
    control.setFocus()
    qtbot.keyClick(control, Qt.Key.Key_Return)
    assert not dock.busy
    button.setFocus()
    qtbot.keyClick(button, Qt.Key.Key_Return)
    assert dock.busy


@pytest.mark.parametrize("ready", [DOCKS["segment"], DOCKS["inspect"]], indirect=True)
def test_enter_presses_the_focused_button(ready, qtbot):
    dock, _, _ = ready
    section = next(one for one in dock.findChildren(Section) if one.heading.isVisible())
    section.heading.setFocus()
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
        unfolded = section.unfolded
        qtbot.keyClick(section.heading, key)
        assert section.unfolded != unfolded
        assert section.heading.accessibleName().endswith(", folded" if unfolded else ", unfolded")
        assert not dock.busy


@pytest.mark.parametrize("ready", [DOCKS["inspect"], DOCKS["landscape"], DOCKS["smoothing"]], indirect=True)
def test_escape_cancels_a_run_started_from_an_outdated_result(ready, qtbot):
    dock, _, _ = ready
    dock.stale.set_message("one was changed")
    dock.stale.button.setFocus()
    qtbot.keyClick(dock.stale.button, Qt.Key.Key_Space)
    assert dock.busy
    assert dock.stale.isHidden()
    qtbot.keyClick(focused(dock), Qt.Key.Key_Escape)
    assert not dock.busy


def test_escape_works_after_a_click_on_the_canvas_without_scrolling(dock, viewer, qtbot, monkeypatch):
    run(dock, qtbot)
    window = viewer.window._qt_window
    window.resize(1000, 600)
    with qtbot.waitExposed(window):
        window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    monkeypatch.setattr(comparing, "checked", slow)
    bar = dock.scroll.verticalScrollBar()
    dock.numbers.fold(False)
    qtbot.waitUntil(lambda: bar.maximum() > 300)
    bar.setValue(0)
    dock.scroll.ensureWidgetVisible(dock.results.check)
    dock.results.check.setFocus()
    before = bar.value()
    qtbot.keyClick(dock.results.check, Qt.Key.Key_Space)
    assert dock.busy
    assert not dock.results.check.isEnabled()
    assert abs(bar.value() - before) < 100
    canvas = window.centralWidget()
    canvas.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    canvas.setFocus()
    assert not dock.isAncestorOf(QApplication.focusWidget())
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
    assert not dock.busy
    assert "Cancelled" in dock.results.message.text()
    dock.show_progress(Progress("σ = 2: tracing outlines", 1, 3))
    assert dock.step.text() == "σ = 2: tracing outlines …"  # Σ is a sum


# Letters -------------------------------------------------------------------------------------------------------

# The Alt+letter of napari's developer menu, which is shown only on demand.
DEBUG = {"t"}


@pytest.fixture
def beside(viewer):
    """A viewer with a window, two images, and a dock opened through the manifest."""
    add_spots(viewer, "one", "two", rows=4)
    return lambda title: viewer.window.add_plugin_dock_widget("napari-shape-ensembles", title)[1]


def letters_of(texts):
    return [letter.lower() for text in texts for letter in re.findall(r"(?<!&)&(\w)", text)]


def entries(menu):
    """All entries of a menu and its submenus, as shown when opened."""
    menu.aboutToShow.emit()
    for entry in menu.actions():
        if entry.menu() is None:
            yield entry
        else:
            yield from entries(entry.menu())


def letters_of_napari(viewer):
    """Letters that napari's window uses with Alt."""
    menus = viewer.window.main_menu.actions()
    keys = [key.toString() for menu in menus for entry in entries(menu.menu()) for key in entry.shortcuts()]
    alone = [key.lower() for key in keys if re.fullmatch(r"Alt\+[A-Z]", key)]
    return {*letters_of(menu.text() for menu in menus), *(key[-1] for key in alone), *DEBUG}


def letters(*pages):
    """Letters that parts of docks use with Alt, visible or not."""
    texts = []
    for page in pages:
        texts += [button.text() for button in page.findChildren(QAbstractButton)]
        texts += [label.text() for label in page.findChildren(QLabel) if label.buddy() is not None]
        texts += [bar.tabText(index) for bar in page.findChildren(QTabBar) for index in range(bar.count())]
    return letters_of(texts)


def assert_free(found, taken):
    assert found
    assert len(found) == len(set(found)), sorted(found)
    assert not set(found) & taken, sorted(found)


def test_shortcuts_of_a_dock_do_not_clash(beside, viewer, qtbot):
    taken = letters_of_napari(viewer)
    assert {"f", "v", "l", "p", "w", "h", "s", "c"} <= taken
    for title in ("Segment curves", "Inspect curves"):
        assert_free(letters(beside(title)), taken)


def test_shortcuts_of_the_answer_and_curves_do_not_clash(beside, viewer, qtbot):
    taken = letters_of_napari(viewer)
    dock = open_answer(viewer, qtbot)
    run(dock, qtbot)
    press(dock.results.explore, qtbot)
    explorer = dock.curve_window.explorer
    explorer.selection.pick([3])
    assert_free(letters(dock, explorer), taken)
    choose_for_selected(explorer.card, "Leave out")
    qtbot.wait(50)  # the card deletes its previous buttons
    assert includes_again(explorer.card)
    assert_free(letters(dock, explorer), taken)


@pytest.fixture
def bench(beside, viewer, qtbot):
    """The bench in a window that receives key events."""
    bench, window = beside("Shape bench"), viewer.window._qt_window
    with qtbot.waitExposed(window):
        show_docks(viewer)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    return bench


def stops(bench):
    """Widgets focused by Tab, starting at a page heading, until focus leaves the bench or returns."""
    heading = bench.headings[bench.step]
    heading.setFocus()
    found = [heading]
    for _ in range(100):
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        focused = QApplication.focusWidget()
        if focused is heading or not bench.isAncestorOf(focused):
            return found
        assert not focused.visibleRegion().isEmpty(), focused
        found.append(focused)
    raise AssertionError(f"Tab never leaves {found[-1]}")


def in_sight(page):
    """The controls of a page visible without scrolling or unfolding."""
    kinds = QAbstractButton, QComboBox, QAbstractSpinBox, QAbstractSlider, QLineEdit
    parts = [one for kind in kinds for one in page.findChildren(kind)]  # PySide finds one type at a time
    bars = [one for one in parts if isinstance(one, QScrollBar)]
    inner = [one for one in parts if isinstance(one.parent(), QAbstractSpinBox | QComboBox)]
    return [one for one in parts if one not in (*bars, *inner) and not one.visibleRegion().isEmpty()]


def test_every_page_of_the_bench_has_a_free_shortcut(bench, viewer, qtbot):
    taken = letters_of_napari(viewer)
    foot = [bench.next, *bench.headings.values()]
    for place, name in enumerate(STEPS):
        qtbot.keyClick(bench.window(), str(place + 1), Qt.KeyboardModifier.AltModifier)
        assert bench.step == name
        assert bench.headings[name].hasFocus()
        page = bench.pages[name]
        for tab in range(page.count() if isinstance(page, TabbedPage) else 1):
            part = page.show_tab(tab) if isinstance(page, TabbedPage) else page
            qtbot.waitUntil(bench.next.isEnabled)  # on *Outlines* once the recipe is found
            found = letters(part) + letters_of([button.text() for button in foot])
            assert len(found) == len(set(found)), (name, tab, sorted(found))
            assert not set(found) & taken, (name, tab, sorted(found))
            assert len(in_sight(bench)) <= 12, (name, tab)
            reached = stops(bench)
            controls = [
                one for kind in CONTROLS for one in part.findChildren(kind) if one.isVisible() and one.isEnabled()
            ]
            by_tab = [one for one in controls if one.focusPolicy() & Qt.FocusPolicy.TabFocus and not one.focusProxy()]
            assert set(by_tab) <= set(reached), (name, tab, set(by_tab) - set(reached))
            assert bench.next in reached
    bench.show_page(0)
    qtbot.keyClick(bench.window(), Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert bench.step == STEPS[1]
    assert bench.headings[STEPS[1]].hasFocus()


def test_tab_visits_the_bench_in_reading_order_and_then_the_window(bench, viewer, qtbot):
    for seed in (1, 2):
        viewer.add_image(spots(seed, rows=3), name=str(seed))
    for section in bench.page("Outlines").findChildren(Section):
        section.fold(False)
    bench.show_page(STEPS.index("Outlines"))
    qtbot.waitUntil(lambda: bench.next.isEnabled() and not bench.session.proposing.busy)
    (page,) = [one for one in bench.pages["Outlines"].findChildren(ScrollColumn) if one.isVisible()]
    form = bench.pages["Outlines"].show_tab(0).form
    last = [form.controls["holes"], *([form.more.button] if form.more.isVisible() else [])]  # what proposals set more
    bar = page.verticalScrollBar()
    assert bar.maximum() > 0
    bar.setValue(bar.maximum() // 2)
    reached = stops(bench)
    assert len(reached) == len(set(reached))  # and not again after scrolling
    assert isinstance(reached[1], QTabBar)
    assert reached[-len(last) - 1 :] == [*last, bench.next]
    assert not last[-1].visibleRegion().isEmpty()
    heading, others = reached[0], []
    while QApplication.focusWidget() is not heading:
        others.append(QApplication.focusWidget())
        assert len(others) < 100
        QTest.keyClick(others[-1], Qt.Key.Key_Tab)
    assert not any(map(bench.isAncestorOf, others))
    assert viewer.window._qt_viewer.layers in others


def test_enter_continues_and_focus_stays_in_the_bench(bench, viewer, qtbot):
    for seed in (1, 2):
        viewer.add_image(spots(seed, rows=3), name=str(seed))
    bench.next.setFocus()
    QTest.keyClick(bench.next, Qt.Key.Key_Return)
    assert bench.step == "Outlines"
    qtbot.waitUntil(lambda: not bench.next.isEnabled())
    assert bench.headings["Outlines"].hasFocus()
