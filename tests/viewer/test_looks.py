"""Appearance: plain names, explained markers, visible checkboxes, and rows that fit their window."""

from html import escape

import numpy as np
import pytest
from qtpy.QtCore import Qt
from qtpy.QtGui import QImage
from qtpy.QtWidgets import QLabel, QWidget

from docks import open_answer, press, run
from image_makers import spots
from napari_shape_ensembles.viewer.comparing import Outcome
from napari_shape_ensembles.viewer.panels.fonts import NamedLine
from napari_shape_ensembles.viewer.panels.queue import Queue, brief
from napari_shape_ensembles.viewer.panels.widgets import WrappedLabel, tip

ONE, TWO = "<u>one</u> & co", "two <b>of</b> &amp; <i>them</i>"
THEMES = "dark", "light"
LONG = "experiment 2024-03-12, {}, stage 3, channel 2 of 4, replicate {:02d}, maximum projection"


@pytest.fixture
def window(make_napari_viewer):
    return make_napari_viewer(show=True)


@pytest.fixture
def dock_with_html_names(model, qtbot, shown):
    """The dock on the screen without a window, with two images whose names look like HTML."""
    return shown(beside(model, [ONE, TWO], qtbot))


def beside(viewer, names, qtbot):
    for seed, name in enumerate(names):
        viewer.add_image(spots(seed, rows=4), name=name, scale=(0.5, 0.5), units=("um", "um"))
    return open_answer(viewer, qtbot)


def open_explorer(dock, qtbot):
    """The window of the curves, with one of them selected."""
    run(dock, qtbot)
    press(dock.results.explore, qtbot)
    dock.comparison.selection.pick([3])
    return dock.curve_window.explorer


def said(page):
    """Labels that contain a layer name; all of them show it as plain text."""
    found = []
    for part in page.findChildren(QWidget):
        assert not any(name in part.toolTip() for name in (ONE, TWO)), part.toolTip()
        text = part.text() if isinstance(part, QLabel) else ""
        plain = any(name in text for name in (ONE, TWO))
        if plain or any(escape(name, quote=False) in text for name in (ONE, TWO)):
            assert part.textFormat() == (Qt.TextFormat.PlainText if plain else Qt.TextFormat.RichText), text
            found.append(part)
    return found


# Names -----------------------------------------------------------------------------------------------------


def test_names_in_results_are_plain_text(dock_with_html_names, qtbot):
    run(dock_with_html_names, qtbot)
    assert {dock_with_html_names.verdict.sentence, dock_with_html_names.results.details} <= set(
        said(dock_with_html_names)
    )
    assert "<b>" in dock_with_html_names.results.details.text()


def test_names_in_changes_are_plain_text(dock_with_html_names, qtbot):
    run(dock_with_html_names, qtbot)
    dock_with_html_names.viewer.layers[ONE].data = spots(5, rows=4)
    qtbot.waitUntil(dock_with_html_names.stale.isVisible)
    assert dock_with_html_names.stale.label in said(dock_with_html_names)


def test_names_of_a_recoverable_result_are_plain_text(dock_with_html_names, qtbot):
    run(dock_with_html_names, qtbot)
    dock_with_html_names.comparison.recoverable = Outcome(dock_with_html_names.comparison.shown, [])
    dock_with_html_names.show_state()
    assert dock_with_html_names.recover_notice.label in said(dock_with_html_names)


def test_names_in_card_and_gallery_are_plain_text(dock_with_html_names, qtbot, shown):
    explorer = shown(open_explorer(dock_with_html_names, qtbot))
    found = said(explorer)
    assert explorer.card.numbers in found
    explorer.tabs.setCurrentIndex(2)
    explorer.resize(1500, 500)
    qtbot.waitUntil(lambda: len({part for part in said(explorer) if isinstance(part, NamedLine)}) == 4)


def test_qlabels_are_plain_text_unless_intended_as_html(qtbot):
    plain, rich = WrappedLabel("a <b>"), WrappedLabel("a <b>b</b>", rich=True)
    for label in (plain, rich):
        qtbot.addWidget(label)
    assert plain.textFormat() == Qt.TextFormat.PlainText
    assert rich.textFormat() == Qt.TextFormat.RichText
    assert tip("a\nb") == "a\nb"
    assert tip("<u>a</u>\nb") == "<qt>&lt;u&gt;a&lt;/u&gt;<br>b</qt>"


def test_lines_break_within_long_words_but_not_within_a_number_or_a_tag(qtbot):
    words = "mean area × 1.40, form p = 0.03, 95 % of 20 px"
    plain, rich = WrappedLabel(f"{words} in 20 pixels"), WrappedLabel("<b style='font-weight:bold'>a</b>", rich=True)
    for label in (plain, rich):
        qtbot.addWidget(label)
    broken = QLabel.text(plain).split(" ")
    assert [part.replace("\u00a0", " ") for part in broken] == (
        ["mean", "area × 1.40,", "form", "p = 0.03,", "95 %", "of", "20 px", "in", "20", "pixels"]
    )
    assert QLabel.text(rich) == "<b style='font-weight:bold'>a</b>"
    plain.setSelection(0, len(QLabel.text(plain)))
    assert plain.selectedText() == f"{words} in 20 pixels"


# The window Curves -----------------------------------------------------------------------------------------


def test_long_names_do_not_widen_the_window(model, qtbot, shown):
    names = [LONG.format("treated", 1) * 5, LONG.format("control", 2) * 5]
    explorer = shown(open_explorer(beside(model, names, qtbot), qtbot))
    assert explorer.minimumSizeHint().width() < 800
    heading = explorer.gallery.findChildren(NamedLine)[0]
    assert heading.toolTip() == f"A: {names[0]}"
    explorer.tabs.setCurrentIndex(2)
    qtbot.waitUntil(lambda: heading.text() != f"● A: {names[0]}: most typical")
    assert heading.text().startswith("● A: experiment")
    assert heading.text().endswith(": most typical")
    assert heading.fontMetrics().horizontalAdvance(heading.text()) <= heading.width()


def test_the_nearest_curves_are_never_cut_off(window, qtbot):
    explorer = open_explorer(beside(window, ["one", "two"], qtbot), qtbot)
    frame = explorer.parentWidget()
    frame.setFloating(True)
    card = explorer.card
    lines = {}
    for width in (explorer.minimumSizeHint().width() + 20, 1500):
        frame.resize(width, 600)
        qtbot.wait(100)
        lines[width] = {button.y() for button in card.buttons}
        assert len(card.buttons) == 6
        assert max(button.geometry().right() for button in card.buttons) < card.width()
        assert card.width() <= card.parentWidget().width()
    assert [len(line) for line in lines.values()] == [2, 1]


def test_the_legend_of_the_scatter_plot_is_above_all_points(window, qtbot):
    explorer = open_explorer(beside(window, ["alpha", LONG.format("control", 2) * 3], qtbot), qtbot)
    plot, line = explorer.scatter, explorer.scatter.fontMetrics().height()
    a, b = plot.legend()
    assert a == "A: alpha"
    assert b.startswith("B: experiment")
    assert "…" in b
    assert np.nanmin(plot.widget_points()[:, 1]) > 2 * line
    for theme in THEMES:
        window.theme = theme
        red, _, blue = pixels(plot.grab().toImage().copy(0, 0, plot.width(), line)).T
        assert (blue - red > 100).any(), theme  # a blue and an orange marker
        assert (red - blue > 100).any(), theme


def pixels(image):
    """Red, green and blue of all pixels (N, 3)."""
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    colors = [image.pixelColor(x, y) for y in range(image.height()) for x in range(image.width())]
    return np.array([(color.red(), color.green(), color.blue()) for color in colors])


# Lists and tables ------------------------------------------------------------------------------------------


def test_checkboxes_are_visible_in_both_themes(window, qtbot):
    window.add_image(spots(1, rows=4), name="one")
    _, dock = window.window.add_plugin_dock_widget("napari-shape-ensembles", "Inspect curves")
    with qtbot.waitSignal(dock.finished):
        press(dock.run_button, qtbot)
    table = dock.queue.table
    for theme in THEMES:
        window.theme = theme
        qtbot.wait(50)
        cell = table.visualRect(table.model().index(0, 0)).adjusted(2, 2, -2, -2)
        lightness = pixels(table.viewport().grab(cell).toImage()).mean(axis=1)
        assert np.abs(lightness - np.median(lightness)).max() > 80, theme


def test_buttons_have_room_for_their_text_whether_enabled_or_not(window):
    _, bench = window.window.add_plugin_dock_widget("napari-shape-ensembles", "Shape bench")
    button, heights = bench.next, set()
    for enabled in (True, False):
        button.setEnabled(enabled)
        heights.add(button.sizeHint().height())
    assert len(heights) == 1  # napari draws a frame around disabled ones


def test_rows_of_the_queue_have_room_for_two_lines_though_it_was_empty_at_first(window):
    _, bench = window.window.add_plugin_dock_widget("napari-shape-ensembles", "Shape bench")
    bench.show_part("Inspect")
    table = bench.findChild(Queue).table
    assert table.verticalHeader().defaultSectionSize() >= 2 * table.fontMetrics().height()


def test_long_reasons_are_shown_in_the_queue_by_their_first_words():
    assert brief("marked by 2 of 3: Ada, Cem") == "marked by 2 of 3: Ada, Cem"
    assert brief("cut: by 30 % of its area, and 5 % of its outline; small: 25 px, 0.1 times the median") == "cut; small"
