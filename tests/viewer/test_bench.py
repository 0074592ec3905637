"""The bench as a user operates it: from two images to a result, its explanation and its robustness."""

import weakref
from dataclasses import replace
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest
from napari.components import ViewerModel
from napari.layers import Image
from npe2 import PluginManifest
from qtpy.QtCore import QEvent, QPointF, Qt
from qtpy.QtGui import QIcon, QKeyEvent
from qtpy.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QFileDialog,
    QInputDialog,
    QLabel,
    QLineEdit,
    QListView,
    QSlider,
    QTabBar,
    QWidget,
)
from scipy import ndimage

from docks import (
    PLUGIN,
    add_labels,
    add_spots,
    cells,
    ended,
    grid_of,
    press,
    set_choices,
    show_docks,
    show_given_result,
    status,
    wait_until_idle,
    wait_until_released,
    wheel,
)
from image_makers import labels_of, spots
from napari_shape_ensembles import Outlines
from napari_shape_ensembles.comparison.design import GROUP
from napari_shape_ensembles.comparison.verdict import ROW_WORDS
from napari_shape_ensembles.explanation.headline import headline
from napari_shape_ensembles.io import save_settings
from napari_shape_ensembles.palette import COLOR_A, COLOR_B
from napari_shape_ensembles.viewer import comparing, studying
from napari_shape_ensembles.viewer.curves.canvas_overlays import FloatingCard
from napari_shape_ensembles.viewer.designing import frame_of
from napari_shape_ensembles.viewer.docks.bench import Bench, TabbedPage
from napari_shape_ensembles.viewer.docks.images import DesignView
from napari_shape_ensembles.viewer.docks.inspect import InspectCurves
from napari_shape_ensembles.viewer.docks.pixel_size import PixelSize
from napari_shape_ensembles.viewer.docks.segment import SegmentCurves
from napari_shape_ensembles.viewer.inputs import is_own
from napari_shape_ensembles.viewer.page_status import STATES, STEPS, PageStatus
from napari_shape_ensembles.viewer.panels.plot_view import PlotView
from napari_shape_ensembles.viewer.panels.widgets import ScrollColumn
from napari_shape_ensembles.viewer.session import Session
from napari_shape_ensembles.viewer.tour import Tour

QUICK = {"permutations": 199, "landmarks": 50, "rank": 10}


def captions(viewer):
    """Captions of the images in each cell of the grid."""
    found = {}
    for caption in Session.of(viewer).comparison.side_by_side.captions((1000, 1000)):
        left, top, width, height = caption.cell
        found[round(top / height), round(left / width)] = caption.text
    return found


@pytest.mark.usefixtures("blank_files")
def test_workflow_from_two_images_to_a_folder_for_a_paper(model, qtbot, tmp_path, monkeypatch, shown):
    viewer = model
    for name, size in (("small", 9.0), ("large", 13.0)):
        viewer.add_image(spots(3, size=size), name=name)
    before = list(viewer.layers)
    viewer.layers.selection = set(before)
    bench = shown(Bench(viewer), height=750)
    session = bench.session
    set_choices(session.choices, **QUICK)
    assert bench.step == "Images"
    assert session.design.groups() == {"A": [before[0]], "B": [before[1]]}
    assert cells(viewer) == {(0, 0): {"small"}, (0, 1): {"large"}}
    assert captions(viewer) == {(0, 0): "A · small", (0, 1): "B · large"}
    qtbot.waitUntil(lambda: "✓" in bench.headings["Images"].text())

    shapes = set()
    viewer.layers.events.end_batch.connect(lambda _: shapes.add(grid_of(viewer).actual_shape(viewer.layers)))
    told = []  # states in which napari lays out its canvas, once per batch of changes
    viewer.layers.events.end_batch.connect(lambda _: told.append(cells(viewer)))
    press(bench.next, qtbot)
    assert bench.step == "Outlines"
    qtbot.waitUntil(lambda: len([one for one in viewer.layers if one.name.endswith("preview")]) == 2)
    qtbot.waitUntil(lambda: all(len(own) == 2 for own in cells(viewer).values()))
    previews = {"large preview", "small preview"}
    assert all(own - {"small", "large"} <= previews for own in cells(viewer).values())
    for control in parts_of(bench.pages["Outlines"], QAbstractSpinBox, QComboBox):
        shown = control.text() if isinstance(control, QAbstractSpinBox) else control.currentText()
        wheel(control)
        assert shown == (control.text() if isinstance(control, QAbstractSpinBox) else control.currentText())
    wheel(bench.pages["Outlines"].tabBar())
    assert bench.pages["Outlines"].currentIndex() == 0

    qtbot.waitUntil(bench.next.isEnabled)
    press(bench.next, qtbot)
    answer = bench.pages["Answer"]
    wait_until_idle(session.comparison, qtbot)
    wait_until_idle(session.explanation, qtbot)
    qtbot.waitUntil(lambda: session.explanation.result is not None)
    assert answer.verdict.sentence.text().startswith("These two images differ. large's outlines are larger: 1.")
    assert "One image a side cannot show a difference" in answer.verdict.beside.text()
    assert answer.row.heading.text().startswith("▸  Truth table: scale differs")
    assert cells(viewer) == {
        (0, 0): {"small", "small curves"},
        (0, 1): {"large", "large curves"},
    }
    assert captions(viewer) == {(0, 0): "A · small", (0, 1): "B · large"}
    assert {layer.name for layer in viewer.layers} == {"small", "large", "small curves", "large curves"}
    assert shapes == {(1, 2)}  # the layout does not change when layers are added
    for own in told:  # every layer is already in its cell
        assert all("large" not in name for name in own[0, 0]), own
        assert all("small" not in name for name in own[0, 1]), own
    assert session.comparison.unsaved

    assert answer.paper.isVisibleTo(answer)
    assert not answer.scroll.isAncestorOf(answer.paper)  # where contents that arrive later would move it
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(tmp_path))
    press(answer.paper, qtbot)
    wait_until_idle(session.comparison, qtbot)
    written = {path.name for path in tmp_path.iterdir()}
    assert written >= {"figure.svg", "figure.png", "methods.txt", "objects.csv", "images.csv", "pair.comparison.npz"}
    assert "large's outlines are larger" in (tmp_path / "methods.txt").read_text()
    assert not session.comparison.unsaved
    (tmp_path / "methods.txt").write_text("my words")
    press(answer.paper, qtbot)
    wait_until_idle(session.comparison, qtbot)
    assert "methods.txt already exists and is not as a run left it: choose another" in answer.results.message.text()
    assert (tmp_path / "methods.txt").read_text() == "my words"
    set_choices(session.choices, landmarks=60)
    assert not answer.stale.isHidden()
    assert answer.run_button.isHidden()  # since *Run again* is shown
    set_choices(session.choices, **QUICK)

    press(bench.next, qtbot)
    why = bench.pages["Why"]
    assert "larger" in why.panel.sentences.text()
    assert why.explorer.isHidden()
    press(why.folded_explorer.heading, qtbot)
    why.show_result()
    assert why.explorer.isVisibleTo(why)
    qtbot.keyClick(bench.headings["Why"], Qt.Key.Key_Right)
    assert bench.step == "Trust"
    bench.activateWindow()
    qtbot.waitUntil(bench.isActiveWindow)
    qtbot.keyClick(bench, Qt.Key.Key_4, Qt.KeyboardModifier.AltModifier)
    assert bench.step == "Why"
    qtbot.waitUntil(lambda: all("✓" in bench.headings[name].text() for name in STEPS[:4]))
    set_choices(session.choices, rank=9)
    qtbot.waitUntil(lambda: "↻" in bench.headings["Answer"].text())
    bench.show_page(STEPS.index("Answer"))
    answer.settings.fold(False)
    (bar,) = (area.verticalScrollBar() for area in parts_of(answer, ScrollColumn))
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    bar.setValue(bar.maximum())
    bench.show_page(STEPS.index("Outlines"))
    press(bench.next, qtbot)
    assert bar.value() == 0  # where the new result appears
    press(answer.cancel_button, qtbot)
    qtbot.waitUntil(lambda: not session.comparison.busy)

    bench.hide()
    qtbot.waitUntil(lambda: not grid_of(viewer).enabled)
    assert [layer for layer in viewer.layers if not is_own(layer)] == before
    assert len(viewer.layers) == 4
    result = session.comparison.result
    bench.show()
    qtbot.waitUntil(lambda: grid_of(viewer).enabled)
    assert session.comparison.result is result


def test_closing_a_detached_page_does_not_stop_the_bench(viewer, qtbot, monkeypatch):
    bench = viewer.window.add_plugin_dock_widget(PLUGIN, "Shape bench")[1]
    add_spots(viewer, "one", "two", rows=3)
    bench.show_page(STEPS.index("Answer"))
    for _ in range(2):  # the second time, the same dock is raised
        bench.headings["Images"].actions()[0].trigger()
    assert viewer.window.dock_widgets["Shape bench: Images"].table.rowCount() == 2
    (tear,) = bench.headings["Answer"].actions()
    assert "tear off" in bench.headings["Answer"].toolTip()
    tear.trigger()
    dock = viewer.window.dock_widgets["Shape bench: Answer"]
    bench.show_page(STEPS.index("Trust"))
    for place in range(3):  # the visible part
        bench.pages["Trust"].show_tab(place)
        bench.headings["Trust"].actions()[0].trigger()
    torn = set(viewer.window.dock_widgets)
    assert torn >= {"Shape bench: Overview", "Shape bench: Rank", "Shape bench: Smoothing"}
    bench.show_page(STEPS.index("Answer"))
    page = bench.pages["Answer"]
    assert dock is not page
    assert dock.session is bench.session
    set_choices(bench.session.choices, **QUICK)
    page.run()
    viewer.window.remove_dock_widget(dock)
    wait_until_idle(bench.session.comparison, qtbot)
    assert bench.session.comparison.shown is not None
    gone = weakref.ref(dock)
    del dock
    wait_until_released(qtbot, gone)


def test_three_menu_entries_open_the_bench_and_two_of_its_pages(make_napari_viewer):
    viewer = make_napari_viewer()
    menu = viewer.window.plugins_menu
    menu.aboutToShow.emit()
    (ours,) = [action.menu() for action in menu.actions() if action.menu() and action.text() == PLUGIN]
    ours.aboutToShow.emit()
    titles = {action.text().removesuffix(f" ({PLUGIN})"): action for action in ours.actions()}
    assert {*titles} == {"Shape bench", "Segment curves", "Inspect curves"}
    for action in titles.values():
        action.trigger()
    assert [*map(type, viewer.window.dock_widgets.values())] == [Bench, SegmentCurves, InspectCurves]
    assert viewer.window.add_plugin_dock_widget(PLUGIN, "Shape bench")[1] in viewer.window.dock_widgets.values()
    assert len(viewer.window.dock_widgets) == 3  # a script opens the same dock
    assert not PluginManifest.from_distribution(PLUGIN).contributions.menus


@pytest.mark.parametrize(("width", "height", "beside"), [(1280, 800, False), (1920, 1080, True)])
def test_headings_fit_and_detached_pages_have_the_height_of_the_window(
    make_napari_viewer, qtbot, width, height, beside
):
    viewer = make_napari_viewer(show=True)
    viewer.add_image(spots(1, rows=3), name="one")  # its layer controls take space beside the canvas
    window = viewer.window._qt_window
    window.resize(width, height)
    bench = viewer.window.add_plugin_dock_widget(PLUGIN, "Shape bench")[1]
    qtbot.waitUntil(lambda: window.centralWidget().width() + bench.width() < width)
    qtbot.waitUntil(lambda: bench.headings["Trust"].width() > 50)
    for state in STATES:
        for heading in bench.headings.values():
            heading.show_status(PageStatus(state))
            widest = max(map(heading.fontMetrics().horizontalAdvance, heading.text().splitlines()))
            assert widest < heading.width() - 8, heading.text()
    docks = []
    for name in ("Answer", "Why", "Trust"):
        before = set(viewer.window.dock_widgets)
        bench.show_page(STEPS.index(name))
        bench.headings[name].actions()[0].trigger()
        (new,) = set(viewer.window.dock_widgets) - before
        docks.append(viewer.window.dock_widgets[new])
        qtbot.waitUntil(lambda: docks[-1].isVisible() and docks[-1].height() > height / 2)
        qtbot.waitUntil(lambda: docks[-1].width() > 350)
    top = docks[-1].parentWidget().mapToGlobal(docks[-1].parentWidget().rect().topLeft())
    frame = bench.parentWidget()
    assert window.tabifiedDockWidgets(docks[0].parentWidget())  # as tabs
    assert (frame not in window.tabifiedDockWidgets(docks[0].parentWidget())) == beside
    if beside:
        assert bench.height() > height / 2
        assert bench.width() > 350
        assert top.x() >= frame.mapToGlobal(frame.rect().topRight()).x()
        assert window.centralWidget().width() >= 480
    bench.headings["Trust"].actions()[0].trigger()  # an existing dock is raised
    assert len(set(viewer.window.dock_widgets)) == len(docks) + 1


@pytest.fixture
def bench(model, qtbot):
    """The bench with labels of three groups, which are not entered, without a window."""
    for name, seed, size in (
        ("a_1", 1, 9),
        ("a_2", 2, 9),
        ("b_1", 3, 13),
        ("b_2", 4, 13),
        ("c_1", 5, 9),
        ("c_2", 6, 9),
    ):
        model.add_labels(labels_of(seed, size=size), name=name)
    bench = Bench(model)
    bench.session.design.undo_grouping()
    qtbot.addWidget(bench)
    return bench


@pytest.fixture
def bench_of_two(model, qtbot):
    """The bench with two images of a few spots, without a window."""
    add_spots(model, "one", "two", rows=3)
    bench = Bench(model)
    qtbot.addWidget(bench)
    return bench


def test_a_line_of_the_choices_leads_to_their_form(bench_of_two):
    bench_of_two.show_page(STEPS.index("Trust"))
    page = bench_of_two.pages["Trust"].show_tab(1)
    set_choices(bench_of_two.session.choices, rank=7, neck=0.5)
    assert "neck 0.5" in page.line.text()
    assert "rank 7" in page.line.text()
    page.line.linkActivated.emit("recipe")
    assert bench_of_two.step == "Outlines"
    segment = bench_of_two.pages["Outlines"].show_tab(0)
    assert segment.settings.unfolded
    assert "Neck = 0.5" in segment.form.more.label.text()
    page.line.linkActivated.emit("settings")
    assert bench_of_two.step == "Answer"
    answer = bench_of_two.pages["Answer"]
    assert answer.settings.unfolded
    answer.recipe.linkActivated.emit("recipe")
    assert bench_of_two.step == "Outlines"
    segment.request_page("Inspect")
    assert bench_of_two.pages["Outlines"].currentIndex() == 1
    bench_of_two.show_page(STEPS.index("Images"))
    bench_of_two.go_to_next()
    assert bench_of_two.pages["Outlines"].currentIndex() == 0


def test_a_design_is_read_from_names_and_compared_as_an_experiment(bench, model, qtbot, shown, monkeypatch):
    session, page = bench.session, bench.pages["Images"]
    set_choices(session.choices, **QUICK, significance=0.05)
    page.refresh()
    press(page.grouped.button, qtbot)  # grouped by their names when the bench was opened
    qtbot.waitUntil(lambda: "– · b_1" in captions(model).values())
    for name in ("Why", "Trust"):
        bench.show_page(STEPS.index(name))
    on_pairs = bench.pages["Why"], bench.pages["Trust"].show_tab(0)
    assert all(one.pair.isHidden() for one in on_pairs)
    bench.show_page(0)
    before = session.design.rows()
    fill = next(entry for entry in page.table_menu.menu().actions() if "Fill from" in entry.text())
    monkeypatch.setattr(QInputDialog, "getText", lambda *_, **__: ("{group}-{replicate}", True))
    fill.trigger()
    assert "does not fit the pattern" in page.message.text()
    assert session.design.rows() == before
    monkeypatch.setattr(QInputDialog, "getText", lambda *_, **__: ("{group}_{replicate}", True))
    fill.trigger()
    assert [one.pair.currentText() for one in on_pairs] == ["a and b"] * 2
    assert not any(one.pair.isHidden() for one in on_pairs)
    assert list(session.design.groups()) == ["a", "b", "c"]
    assert [[layer.name for layer in side] for side in session.design.sides()] == [
        ["a_1", "a_2"],
        ["b_1", "b_2"],
    ]
    assert session.design.is_experiment
    groups = ("a", ("a_1", "a_2")), ("b", ("b_1", "b_2")), ("c", ("c_1", "c_2"))
    wanted = {f"{group} · {name}" for group, names in groups for name in names}
    assert not wanted <= set(captions(model).values())
    assert "– · b_1" in captions(model).values()
    qtbot.waitUntil(lambda: wanted == set(captions(model).values()))
    bench.show_page(1)
    press(bench.next, qtbot)
    wait_until_idle(session.comparison, qtbot)
    assert status(session, "Outlines").state == "traced"
    bench.show_page(STEPS.index("Why"))
    shown(bench)
    why = bench.pages["Why"]
    press(why.compare, qtbot)
    qtbot.waitUntil(why.compare.isHidden)
    assert session.comparison.result is not None
    bench.show_page(STEPS.index("Answer"))
    page = bench.pages["Answer"].groups
    assert [row[0] for row in session.comparison.answer.rows] == ["b - a", "c - a", "c - b"]
    assert "Over all 3 groups" in page.sentences.text()
    session.design.write([(model.layers["a_1"], "block", "day 1")])
    assert "has no block" in session.comparison.blocking_reason()


def test_images_of_all_groups_are_previewed(bench_of_two, model, qtbot):
    bench_of_two.session.choices.recipe_loaded = True  # so that none is searched for
    session = bench_of_two.session
    bench_of_two.show_page(STEPS.index("Outlines"))
    qtbot.waitUntil(lambda: session.segmentation.verdict.counts.keys() == {"one", "two"})
    model.add_image(spots(3, rows=3), name="three")
    session.design.write([(model.layers["three"], "group", "C")])
    qtbot.waitUntil(lambda: session.segmentation.verdict.counts.keys() == {"one", "two", "three"})
    told = []
    model.layers["three preview"].events.visible.connect(told.append)
    set_choices(session.choices, min_area=20)
    qtbot.waitUntil(lambda: session.segmentation.previewer.busy)
    qtbot.waitUntil(lambda: not session.segmentation.previewer.busy)
    assert not told  # napari lays out all cells again for each of them
    assert status(session, "Outlines").state == "look"  # nine outlines are too few


def test_a_long_pixel_size_hides_no_column_of_a_narrow_table(qtbot, shown):
    table = shown(DesignView(), 290, 200)
    images = [Image(np.zeros((4, 4)), name=f"before mouse{number}") for number in range(5)]
    cells = [[image.name, "before", "mouse1", "", "0.5 × 1 µm"] for image in images]
    table.show_cells(["image", "group", "replicate", "block", "pixel"], cells, images, {"before": "A"})
    assert table.horizontalHeader().length() <= table.viewport().width()


def test_pixel_sizes_are_edited_in_the_table(bench, model):
    page = bench.pages["Images"]
    model.layers["b_2"].name = "b_2 with a name that is longer than its column"
    page.table.resize(400, 200)
    page.refresh()
    last = page.table.columnCount() - 1
    end = page.table.columnViewportPosition(last) + page.table.columnWidth(last)
    assert end <= page.table.viewport().width()  # names are elided, and no column is hidden
    page.table.item(0, last).setText("0.5 × 0.25 µm")
    np.testing.assert_allclose(model.layers["a_1"].scale, (0.5, 0.25))
    name = "cytochalasin D, 24 hours, 2 µM"
    for row in range(3):
        page.table.item(row, 1).setText(name)
        page.table.item(row, 2).setText(f"animal {row} of the second litter")
    page.refresh()
    end = page.table.columnViewportPosition(last) + page.table.columnWidth(last)
    assert end <= page.table.viewport().width()  # also with long group names
    assert page.table.columnWidth(last) >= page.table.sizeHintForColumn(last)
    assert page.table.columnWidth(1) < page.table.sizeHintForColumn(1)
    assert page.table.item(0, 1).toolTip() == name
    page.table.resize(1200, 200)
    assert page.table.columnWidth(1) == 170  # the maximum width, if there is room
    page.table.resize(400, 200)
    for row in range(6):
        page.table.item(row, 1).setText("a" if row < 3 else "b")
        page.table.item(row, 2).setText("")
    assert status(bench.session, "Images").state == "look"
    page.table.item(1, last).setText("half a metre")
    assert "is not a pixel size" in page.message.text()
    np.testing.assert_allclose(model.layers["a_2"].scale, (1, 1))
    for written, scale, shown in (
        ("0,5 µm", (0.5, 0.5), "0.5 µm"),
        ("0,5 × 0,25 nm", (0.5, 0.25), "0.5 × 0.25 nm"),
        ("0.5 micron", (0.5, 0.5), "0.5 µm"),
        ("0.5 Microns", (0.5, 0.5), "0.5 µm"),
    ):
        page.table.item(0, last).setText(written)
        page.refresh()
        np.testing.assert_allclose(model.layers["a_1"].scale, scale)
        assert page.table.item(0, last).text() == shown


def type_in(table, text, qtbot):
    """Type in the current cell, and press Enter."""
    none, letter = Qt.KeyboardModifier.NoModifier, text[0]
    QApplication.sendEvent(table, QKeyEvent(QEvent.Type.KeyPress, ord(letter.upper()), none, letter))
    (editor,) = [one for one in table.viewport().findChildren(QLineEdit) if one.isVisible()]
    editor.setText(text)
    QApplication.sendEvent(editor, QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Return, none))
    qtbot.waitUntil(lambda: table.state() != QAbstractItemView.State.EditingState)


def test_a_text_is_entered_in_all_selected_rows(bench, model, qtbot, shown):
    shown(bench)
    table, design = bench.pages["Images"].table, bench.session.design
    table.setCurrentCell(0, 0)
    for row in (1, 3):
        table.item(row, 0).setSelected(True)  # the names, by Ctrl and a click
    told = []
    design.changed.connect(lambda: told.append(len(design.groups().get("drug", []))))
    type_in(table, "drug", qtbot)
    assert [row.name for row in design.groups()["drug"]] == ["a_1", "a_2", "b_2"]
    assert told[0] == 3  # at once: each row on its own would start a preview
    qtbot.waitUntil(lambda: table.item(3, 1).text() == "drug")
    table.clearSelection()
    last = table.columnCount() - 1
    table.setCurrentCell(5, last)
    for row in range(6):
        table.item(row, last).setSelected(True)
    type_in(table, "0.5 um", qtbot)
    assert all(layer.scale.tolist() == [0.5, 0.5] for layer in model.layers)
    table.clearSelection()
    table.setCurrentCell(1, 1)
    for row in (1, 3):
        table.item(row, 1).setSelected(True)
    type_in(table, "drug", qtbot)  # as it is
    assert len(design.groups()["drug"]) == 3
    QApplication.sendEvent(table, QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Delete, Qt.KeyboardModifier.NoModifier))
    assert [row.name for row in design.groups()["drug"]] == ["a_1"]


def mark_color(table, row, mode=QIcon.Mode.Normal):
    """Return the color of the mark in a cell of the column of groups: the one color of its opaque pixels."""
    picture = table.item(row, 1).icon().pixmap(14, 14, mode).toImage()
    pixels = [picture.pixelColor(x, y) for x in range(picture.width()) for y in range(picture.height())]
    assert any(pixel.alpha() == 0 for pixel in pixels)
    (color,) = {pixel.name() for pixel in pixels if pixel.alpha() == 255}
    return color


def test_the_groups_that_are_a_and_b_have_their_colors_and_are_swapped_in_the_menu(bench, qtbot, shown, monkeypatch):
    shown(bench)
    page, table = bench.pages["Images"], bench.pages["Images"].table
    bench.session.design.paste("group\nctrl\nctrl\ndrug\ndrug\nother\nother", 0, 0)
    qtbot.waitUntil(lambda: table.item(2, 1).text() == "drug" and not table.item(2, 1).icon().isNull())
    said = [table.item(row, 1).data(Qt.ItemDataRole.AccessibleDescriptionRole) for row in range(6)]
    assert [one or "" for one in said] == [*["first group"] * 2, *["second group"] * 2, "", ""]
    for row, color in ((0, COLOR_A), (2, COLOR_B)):
        for mode in (QIcon.Mode.Normal, QIcon.Mode.Selected):
            assert mark_color(table, row, mode) == color
    assert table.item(4, 1).icon().isNull()
    before = bench.session.design.sides()
    entries = {one.text().replace("&", ""): one for one in page.table_menu.menu().actions()}
    of_table = ["Fill from names …", "Swap the first two groups", "Add column …", "Open table …", "Save table …"]
    assert list(entries) == [*of_table, "Compare with a reference …", "Take a tour"]
    entries["Swap the first two groups"].trigger()
    assert bench.session.design.sides() == before[::-1]
    qtbot.waitUntil(lambda: mark_color(table, 0) == COLOR_B)
    monkeypatch.setattr(QInputDialog, "getText", lambda *_: ("dose", True))
    entries["Add column …"].trigger()
    assert "dose" in bench.session.design.columns


def test_the_first_in_the_table_of_two_selected_images_is_a(bench_of_two, model, qtbot, shown):
    shown(bench_of_two)
    session, table = bench_of_two.session, bench_of_two.pages["Images"].table
    for seed, name in ((3, "three"), (4, "four")):
        model.add_image(spots(seed, rows=3), name=name)
    for pair in (("three", "four"), ("one", "two"), ("four", "two"), ("one", "three"), ("two", "three")):
        model.layers.selection = {model.layers[name] for name in pair}
        wanted = [[name] for name in sorted(pair)]
        assert [[layer.name for layer in side] for side in session.design.sides()] == wanted
        qtbot.waitUntil(lambda pair=pair: model.layers[0].name == min(pair))  # the canvas is arranged
        qtbot.waitUntil(lambda: table.rowCount() == 4)
        rows = [table.item(row, 0).text() for row in range(4)]
        assert [name for name in rows if name in pair] == sorted(pair)


def test_layers_dropped_on_a_row_join_its_group(bench, model):
    page = bench.pages["Images"]
    table, design = page.table, bench.session.design
    table.item(0, 1).setText("ctrl")
    table.item(2, 1).setText("drug")
    page.refresh()
    points = model.add_points([[0, 0]])
    model.layers.selection = {model.layers["c_1"], model.layers["c_2"], points}

    def drop_on(row):
        where = QPointF(table.visualItemRect(table.item(row, 0)).center())
        event = SimpleNamespace(position=lambda: where, source=QListView, acceptProposedAction=lambda: None)
        for handle in (table.dragEnterEvent, table.dragMoveEvent, table.dropEvent):
            handle(event)

    drop_on(2)
    assert [row.name for row in design.groups()["drug"]] == ["b_1", "c_1", "c_2"]
    assert table.selectedIndexes()[0].row() == 2
    drop_on(3)
    assert len(design.groups()["drug"]) == 3
    assert "row that has a group" in page.message.text()


def test_the_pixel_size_of_a_stack_is_that_of_displayed_planes(bench, model):
    turned = model.add_image(np.zeros((40, 60, 5)), name="turned", scale=(0.5, 0.25, 60), units=("um", "um", "s"))
    model.dims.order = 2, 0, 1
    page = bench.pages["Images"]
    page.refresh()
    (row,) = [row for row in range(page.table.rowCount()) if page.table.item(row, 0).text() == "turned"]
    last = page.table.columnCount() - 1
    assert page.table.item(row, last).text() == "0.5 × 0.25 µm"
    page.table.item(row, last).setText("2 nm")
    assert turned.scale.tolist() == [2, 2, 60]
    assert [str(unit) for unit in turned.units] == ["nanometer", "nanometer", "second"]


def test_incompatible_units_are_reported_before_comparing(bench_of_two, model):
    page = bench_of_two.pages["Images"]
    page.refresh()
    assert page.reason.text() == ""
    page.table.item(0, page.table.columnCount() - 1).setText("0.5 µm")
    page.refresh()
    assert page.reason.text().startswith(
        '⚠ "one" is measured in µm, "two" in pixel: they cannot be compared. Enter the pixel size'
    )
    set_choices(bench_of_two.session.choices, pixel_size=0.5, unit="µm")
    page.refresh()
    assert page.reason.text() == ""
    set_choices(bench_of_two.session.choices, pixel_size=None, unit=None)
    page.table.item(1, page.table.columnCount() - 1).setText("500 nm")
    page.refresh()
    assert page.reason.text() == ""


def test_labels_show_no_segmentation_controls(model, qtbot, shown):
    add_labels(model, "one", "two")
    bench = shown(Bench(model))
    bench.show_page(STEPS.index("Outlines"))
    page = bench.pages["Outlines"].show_tab(0)
    assert "Labels need no segmentation" in page.reason.text()
    assert not any(part.isVisible() for part in (page.layer, page.sizes))
    model.add_image(spots(1), name="image")
    qtbot.waitUntil(lambda: page.layer.isVisible() and page.sizes.isVisible())


@pytest.mark.parametrize("kind", ["labels", "shapes"])
def test_outlines_without_an_image_are_counted_and_judged(model, qtbot, shown, kind):
    counts = {}
    for seed, name in ((1, "one"), (2, "two")):
        labels = labels_of(seed)
        curves = list(Outlines().trace(labels).curves)
        counts[name] = len(curves)
        if kind == "labels":
            model.add_labels(labels, name=name)
        else:
            model.add_shapes(curves, shape_type="polygon", name=name)
    bench = shown(Bench(model))
    bench.show_page(STEPS.index("Outlines"))
    page = bench.pages["Outlines"].show_tab(0)
    wanted = "<br>".join(f"<b>{count} outlines</b> in {name}" for name, count in counts.items())
    qtbot.waitUntil(lambda: page.count.text() == wanted and page.count.isVisible())
    assert page.verdict.text() == "✓ No faults found."
    qtbot.waitUntil(lambda: "✓" in bench.headings["Outlines"].text())
    layer = model.layers["two"]
    layer.data = np.where(layer.data == 1, 1, 0) if kind == "labels" else layer.data[:1]
    qtbot.waitUntil(lambda: page.verdict.text().startswith("• two has only 1 curve"))
    assert "<b>1 outline</b> in two" in page.count.text()
    model.layers.clear()
    qtbot.waitUntil(lambda: page.count.isHidden() and not page.verdict.text())


@pytest.mark.parametrize("maker", [labels_of, spots])
def test_outlines_in_units_that_cannot_be_pooled_are_reported(model, qtbot, shown, maker):
    add = model.add_labels if maker is labels_of else model.add_image
    layers = [add(maker(seed), name=str(seed)) for seed in (1, 2, 3)]
    layers[1].scale, layers[1].units = (0.5, 0.5), ("um", "um")
    bench = shown(Bench(model))
    bench.session.design.choose(layers[:2], layers[2:])
    bench.session.choices.recipe_loaded = True  # so that none is searched for
    bench.show_page(STEPS.index("Outlines"))
    page = bench.pages["Outlines"].show_tab(0)
    qtbot.waitUntil(lambda: "cannot be compared" in page.verdict.text())


def test_doubtful_outlines_are_to_be_checked(model, qtbot, shown):
    noise = ndimage.gaussian_filter(np.random.default_rng(0).normal(size=(120, 120)), 2)
    model.add_image(noise, name="noise")
    bench = shown(Bench(model))
    bench.show_page(STEPS.index("Outlines"))
    page = bench.pages["Outlines"].show_tab(0)
    qtbot.waitUntil(lambda: page.verdict.text().startswith("⚠ These outlines are doubtful"))
    qtbot.waitUntil(lambda: bench.headings["Outlines"].text() == "Outlines\n! check")


def test_comparing_needs_two_layers(model, qtbot, shown):
    bench = shown(Bench(model))
    for place in (0, 1):
        bench.show_page(place)
        assert bench.next.isEnabled() is (place == 0)
    assert bench.reason.text() == "Open two images (or labels, or shapes) to compare."
    assert bench.reason.isVisible()
    bench.go_to_next()
    assert bench.step == "Outlines"
    for seed in (1, 2):
        model.add_labels(labels_of(seed))
    qtbot.waitUntil(bench.next.isEnabled)
    assert bench.reason.isHidden()
    page = bench.page("Outlines").show_tab(0)
    assert page.reason.text().startswith("Labels need no segmentation")
    set_choices(bench.session.choices, **QUICK)
    bench.go_to_next()
    wait_until_idle(bench.session.comparison, qtbot)
    model.layers.clear()
    bench.show_page(1)
    assert bench.next.isEnabled()  # to the existing result
    model.add_image(spots(1, rows=3), name="alone")
    qtbot.waitUntil(lambda: bench.next.isEnabled() and bench.next.text().startswith("Make"))  # it is in no result


def test_a_single_image_becomes_labels_and_outlines_colored_by_how_unusual_they_are(model, qtbot, shown):
    model.add_image(spots(1, rows=3), name="one")
    bench = shown(Bench(model))
    set_choices(bench.session.choices, smoothing=0.5)  # chosen by hand, so that none is proposed
    bench.show_page(1)
    qtbot.waitUntil(lambda: bench.next.isEnabled() and bench.next.text().startswith("Make"))
    kinds = (QAbstractButton, QComboBox, QAbstractSpinBox, QLineEdit)
    controls = [one for one in parts_of(bench, *kinds) if one.isVisible()]
    assert len(controls) <= 12, [one.accessibleName() or one.text() for one in controls]
    press(bench.next, qtbot)
    wait_until_idle(bench.session.segmentation, qtbot)
    assert [layer.name for layer in model.layers if layer.name.startswith("one ")] == ["one labels", "one outlines"]
    assert model.layers["one outlines"].features["unusual"].notna().all()
    assert bench.step == "Outlines"
    qtbot.waitUntil(bench.next.isEnabled)
    assert bench.next.text().startswith("Make")
    assert bench.reason.text() == "Open two images (or labels, or shapes) to compare."  # not those made of one


@pytest.mark.parametrize("planes", [0, 3])
def test_labels_alone_become_outlines_colored_by_how_unusual_they_are(model, qtbot, shown, planes):
    labels = labels_of(1)
    model.add_labels(np.stack([labels] * planes) if planes else labels, name="one")
    bench = shown(Bench(model))
    press(bench.next, qtbot)
    qtbot.waitUntil(lambda: bench.next.isEnabled() and bench.next.text() == "Make outlines")
    if planes:
        bench.pages["Outlines"].show_tab(0).planes.click()
    press(bench.next, qtbot)
    wait_until_idle(bench.session.segmentation, qtbot)
    assert [layer.name for layer in model.layers] == ["one", "one outlines"]
    made = model.layers["one outlines"]
    assert made.features["unusual"].notna().all()
    assert made.ndim == model.layers["one"].ndim
    assert "Colored by how unusual" in bench.pages["Outlines"].show_tab(0).message.text()
    model.add_labels(labels_of(2), name="two")
    qtbot.waitUntil(lambda: bench.next.text().startswith("Compare"))


def test_who_inspects_one_image_is_not_asked_for_groups(model, qtbot, shown):
    bench = shown(Bench(model))
    model.add_image(spots(1), name="image")
    model.add_labels(labels_of(1), name="mask")
    session = bench.session
    session.design.write([(layer, "group", "") for layer in model.layers])
    bench.show_part("Inspect")
    qtbot.waitUntil(bench.reason.isHidden)
    assert not bench.next.isEnabled()
    assert "two groups" in bench.next.toolTip()
    bench.pages["Outlines"].setCurrentIndex(0)
    qtbot.waitUntil(bench.reason.isVisible)
    bench.pages["Outlines"].setCurrentIndex(1)
    qtbot.waitUntil(bench.reason.isHidden)


def test_the_heading_of_the_images_follows_their_pixel_sizes(bench_of_two, model, qtbot, shown):
    shown(bench_of_two)
    heading, table = bench_of_two.headings["Images"], bench_of_two.pages["Images"].table

    def told(state):
        qtbot.waitUntil(lambda: heading.text() == f"Images\n{STATES[state]}")

    told("done")
    last = table.columnCount() - 1
    table.item(0, last).setText("0.5 µm")
    told("look")
    table.item(1, last).setText("0.5 µm")
    told("done")
    model.layers["two"].scale = 2, 2
    told("look")
    assert table.item(1, last).text() == "2 µm"
    bench_of_two.pages["Images"].pixels.fold(False)
    form = bench_of_two.findChild(PixelSize)
    form.layer.setCurrentText("two")
    form.height.setValue(0.5)
    form.width.setValue(0.5)
    form.apply.click()
    told("done")
    assert table.item(1, last).text() == "0.5 µm"


def test_duplicate_images_and_labels_opened_as_images_are_reported(qtbot):
    model = ViewerModel()
    model.add_image(labels_of(1), name="one")
    model.add_image(labels_of(1), name="two")
    bench = Bench(model)
    qtbot.addWidget(bench)
    page = bench.pages["Images"]
    page.check_images()
    qtbot.waitUntil(lambda: "one and two show the same" in page.warnings.text())
    assert page.as_labels.label.text() == "one, two hold labels or a mask."  # once for all images
    assert status(bench.session, "Images").state == "look"
    for layer, seed in zip(list(model.layers), (1, 2), strict=True):
        layer.data = spots(seed)
    page.check_images()
    qtbot.waitUntil(lambda: not page.warnings.text())
    assert page.as_labels.isHidden()
    assert status(bench.session, "Images").state == "done"


def test_curves_of_another_recipe_do_not_lie_over_the_preview(bench_of_two, model, qtbot, shown):
    bench = shown(bench_of_two)
    session = bench.session
    session.choices.recipe_loaded = True
    set_choices(session.choices, **QUICK)
    ended(session.comparison, qtbot, session.comparison.run)
    bench.show_part("Settings and preview")
    page = bench.pages["Outlines"].show_tab(0)
    qtbot.waitUntil(lambda: session.segmentation.is_preview_drawn)

    def seen():
        return [layer.visible for layer in session.comparison.curves]

    assert seen() == [True, True]
    size = page.form.controls["min_area"]
    before = size.value()
    size.setValue(before + 20)
    qtbot.waitUntil(lambda: seen() == [False, False])
    next(iter(session.comparison.curves)).visible = True  # as the user wants it
    size.setValue(before + 30)
    qtbot.waitUntil(lambda: not session.segmentation.previewer.busy)
    assert seen() == [True, False]
    size.setValue(before)
    qtbot.waitUntil(lambda: seen() == [True, True])
    size.setValue(before + 20)
    qtbot.waitUntil(lambda: seen() == [False, False])
    bench.show_answer()  # without a preview
    qtbot.waitUntil(lambda: seen() == [True, True])


def test_the_numbers_on_outlines_are_those_of_compared_images(model, qtbot, shown):
    add_spots(model, "one", "two", "other", rows=4)
    shown(bench := Bench(model))
    session, other = bench.session, model.layers["other"]
    session.design.write([(other, "group", "")])
    model.layers.selection.active = other
    press(bench.next, qtbot)
    page = bench.pages["Outlines"].show_tab(0)
    qtbot.waitUntil(lambda: len(session.segmentation.verdict.counts) == 2)
    assert [page.layer.itemText(row) for row in range(page.layer.count())] == ["one", "two"]
    assert page.layer.currentText() == "one"
    for group, names in (("A", ["one", "two", "other"]), ("", ["one", "two"])):
        session.design.write([(other, "group", group)])
        assert {page.layer.itemText(row) for row in range(page.layer.count())} == {*names}


def test_outlines_of_labels_opened_as_images_are_to_be_checked(model, qtbot, shown):
    for seed in (1, 2):
        model.add_image(labels_of(seed), name=f"labels {seed}")
    shown(bench := Bench(model))
    press(bench.next, qtbot)
    page, heading = bench.pages["Outlines"].show_tab(0), bench.headings["Outlines"]
    qtbot.waitUntil(lambda: "not gray levels" in page.labels.label.text())
    qtbot.waitUntil(lambda: heading.text() == f"Outlines\n{STATES['look']}")
    assert "not gray levels" in heading.toolTip()
    assert "✓" not in page.verdict.text()
    press(page.labels.button, qtbot)
    qtbot.waitUntil(lambda: heading.text() == f"Outlines\n{STATES['traced']}")


def test_labels_opened_as_a_stack_of_images_are_reported(bench_of_two, model, qtbot):
    model.add_image(np.stack([labels_of(1), labels_of(2)]), name="stack")
    bench_of_two.session.design.write([(model.layers["stack"], "group", "B")])
    page = bench_of_two.pages["Images"]
    page.check_images()
    qtbot.waitUntil(lambda: page.as_labels.label.text() == "stack holds labels or a mask.")


def test_an_image_with_labels_of_several_annotators_has_one_cell(model, qtbot):
    model.add_image(spots(1, rows=4), name="field")
    for name in ("Ada", "Ben", "Cem"):
        model.add_labels(labels_of(1), name=name)
    bench = Bench(model)
    qtbot.addWidget(bench)
    assert sorted(map(sorted, cells(model).values())) == [["Ada", "Ben", "field"], ["Cem"]]
    bench.show_page(STEPS.index("Outlines"))
    qtbot.waitUntil(lambda: bench.session.segmentation.preview is not None)
    assert not bench.session.proposing.is_choosing  # for an image that is not part of any sample
    assert bench.next.isEnabled()
    page = bench.page("Outlines").show_tab(1)
    page.question.setCurrentIndex(2)
    press(page.run_button, qtbot)
    wait_until_idle(bench.session.inspection, qtbot)
    qtbot.waitUntil(lambda: len(cells(model)) == 2)  # the consensus is over one of the label sets
    assert "consensus inspected" in model.layers
    inspection = bench.session.inspection
    inspection.go_to(0)
    inspection.fix("delete")
    qtbot.waitUntil(lambda: not inspection.update_runner.busy)
    # A label set of its own, beside those of the annotators; the image shows the object whose label was deleted.
    own = {"consensus corrected", "consensus inspected", "consensus without outline"}
    qtbot.waitUntil(lambda: own in cells(model).values())
    told = {"– · consensus corrected", "A · Ada"}  # captions follow the cells one event loop turn later
    qtbot.waitUntil(lambda: told <= set(captions(model).values()))
    bench.session.deactivate()


def test_labels_are_shown_over_their_image(model, qtbot):
    model.add_image(spots(1, rows=4), name="field")
    model.add_labels(labels_of(1), name="masks")
    bench = Bench(model)
    qtbot.addWidget(bench)
    page = bench.pages["Images"]
    page.check_images()
    qtbot.waitUntil(lambda: page.mask.label.text() == "masks may be labels of field.")
    page.table.item(0, 1).setText("")
    page.check_images()
    qtbot.waitUntil(page.mask.isHidden)
    assert bench.session.design.groups() == {"B": [model.layers["masks"]]}
    qtbot.waitUntil(lambda: not grid_of(model).enabled)
    assert captions(model) == {(0, 0): "masks"}  # the compared layer, although the image is below it
    model.layers["masks"].name = "of Ada"
    qtbot.waitUntil(lambda: captions(model) == {(0, 0): "of Ada"})


def test_a_mask_beside_its_photograph_is_inspected_by_one_button(model, qtbot):
    model.add_image(spots(1, rows=4), name="field")
    model.add_image(labels_of(1), name="mask")
    bench = Bench(model)
    qtbot.addWidget(bench)
    page, inspection = bench.pages["Images"], bench.session.inspection
    page.check_images()
    qtbot.waitUntil(lambda: page.mask.label.text() == "mask may be labels of field.")
    press(page.mask.button, qtbot)
    qtbot.waitUntil(lambda: inspection.result is not None and not inspection.busy)
    assert inspection.ranked_with == '"mask labels" is ranked with the image "field".'
    assert (bench.step, inspection.a.chosen()) == ("Outlines", model.layers["mask labels"])
    qtbot.waitUntil(lambda: not model.layers["mask"].visible)  # once the previews are renewed
    qtbot.waitUntil(lambda: captions(model) == {(0, 0): "mask labels"})  # over the image
    # The picture of the labels itself is refused, with the remedy beside the message.
    inspection.a.choose(model.layers["mask"])
    tab = bench.page("Outlines").show_tab(1)
    inspection.run()
    qtbot.waitUntil(lambda: not inspection.busy)
    assert tab.as_labels.label.text().startswith("⚠ mask holds labels, opened as an image")
    assert inspection.result is not None
    bench.session.deactivate()


def test_images_are_grouped_by_their_names_until_undone(model, qtbot):
    for name in ("wt_01", "wt_02", "ko_01", "ko_02"):
        model.add_image(spots(1, rows=2), name=name)
    bench = Bench(model)
    qtbot.addWidget(bench)
    page, design = bench.pages["Images"], bench.session.design
    assert {name: len(own) for name, own in design.groups().items()} == {"ko": 2, "wt": 2}
    model.add_image(spots(2, rows=2), name="ko_03")
    assert {name: len(own) for name, own in design.groups().items()} == {"ko": 3, "wt": 2}
    page.refresh()
    assert page.grouped.label.text() == "Grouped by names: ko (3), wt (2)."
    before = [(layer.data, layer.name) for layer in model.layers]
    model.layers.clear()
    model.add_image(spots(4, rows=2), name="another")
    page.refresh()
    assert page.grouped.isHidden()
    model.layers.clear()
    for pixels, name in before:
        model.add_image(pixels, name=name)
    page.refresh()
    assert page.grouped.label.text() == "Grouped by names: ko (3), wt (2)."
    press(page.grouped.button, qtbot)
    assert {name: len(own) for name, own in design.groups().items()} == {"A": 1, "B": 1}
    model.add_image(spots(3, rows=2), name="wt_03")
    assert set(design.groups()) == {"A", "B"}
    qtbot.waitUntil(page.grouped.isHidden)


def test_proposals_of_images_removed_on_another_page_disappear(model, qtbot, shown):
    for seed in (1, 2):
        model.add_image(spots(seed, rows=3))
    bench = shown(Bench(model))
    page = outlines_page_of(bench, qtbot)
    qtbot.waitUntil(lambda: page.proposals.pictures.count() > 0)
    bench.show_page(STEPS.index("Images"))
    qtbot.wait(50)  # a hidden page is disconnected
    model.layers.clear()
    for seed in (1, 2):
        model.add_labels(labels_of(seed))
    bench.show_page(STEPS.index("Outlines"))
    qtbot.waitUntil(page.isVisible)
    assert bench.session.proposing.result is None
    assert page.proposals.pictures.count() == 0
    assert page.proposals.message.isHidden()


def test_the_outlines_status_depends_on_the_compared_images(bench, model, qtbot):
    session = bench.session
    set_choices(session.choices, **QUICK)
    ended(session.comparison, qtbot, session.comparison.run)
    compared = status(session, "Outlines")
    counts = f"{len(session.comparison.result.a)} and {len(session.comparison.result.b)} outlines"
    assert compared == PageStatus(
        "traced", f"{counts}, without faults. Whether objects are missing is not checked: look."
    )
    session.design.choose(*session.design.sides()[::-1])
    assert status(session, "Outlines") == compared  # of the same images
    model.layers.clear()
    assert [status(session, name).state for name in ("Images", "Outlines")] == ["open", "open"]
    for seed in (3, 4):
        model.add_image(spots(seed, rows=4))
    qtbot.waitUntil(lambda: status(session, "Images").state == "done")
    assert status(session, "Outlines").state == "open"
    assert status(session, "Answer").state == "stale"


def test_the_sensitivity_to_settings_is_computed_and_summarized(bench, qtbot):
    session = bench.session
    set_choices(session.choices, **QUICK)
    bench.show_page(STEPS.index("Trust"))
    page = bench.pages["Trust"].show_tab(0)
    assert "thirty comparisons" in page.message.text()
    press(page.run_button, qtbot)
    assert page.message.isHidden()
    qtbot.waitUntil(lambda: session.trust.result is not None)
    press(page.cancel_button, qtbot)
    wait_until_idle(session.trust, qtbot)
    assert page.message.text() == "Cancelled."
    press(page.run_button, qtbot)  # partial results do not prevent continuing
    assert session.trust.busy
    wait_until_idle(session.trust, qtbot)
    assert page.run_button.isHidden()
    study = session.trust.result
    of_labels = {"min_area", "outline_smoothing", "landmarks", "rank", "archetype", "coarsening"}
    assert {one.name for one in study.choices} == of_labels
    assert page.sentence.text().lower().startswith(f"{ROW_WORDS[study.used.case].lower()} in ")
    assert page.sentence.text()[0].isupper()
    others = [line.removeprefix("• ").rstrip(".").lower() for line in page.exceptions.text().splitlines()]
    assert page.exceptions.isHidden() == (not others)
    assert study.summary().lower() == "; ".join([page.sentence.text().rstrip("."), *others]).lower() + "."
    set_choices(session.choices, rank=9)
    qtbot.waitUntil(lambda: not page.stale.isHidden())
    assert page.run_button.isHidden()  # since *Run again* is shown
    assert not page.picture.isEnabled()
    assert not page.sentence.isEnabled()


def test_trust_is_to_be_checked_if_smoothing_changes_the_answer(model, qtbot):
    rng = np.random.default_rng(0)
    rows, columns = np.indices((320, 320))
    for name, lobes in (("round", 0.0), ("wavy", 2.0)):
        labels = np.zeros(rows.shape, dtype=int)
        for row, column in np.ndindex(4, 4):
            y, x = rows - 80 * row - rng.uniform(38, 42), columns - 80 * column - rng.uniform(38, 42)
            radius = rng.uniform(18, 24) + lobes * np.cos(12 * np.arctan2(y, x) + rng.uniform(0, 6))
            turn, stretch = rng.uniform(0, 3), rng.uniform(1, 1.3)
            u, v = y * np.cos(turn) + x * np.sin(turn), x * np.cos(turn) - y * np.sin(turn)
            labels[np.hypot(u * stretch, v) < radius] = 4 * row + column + 1
        model.add_labels(labels, name=name)
    qtbot.addWidget(bench := Bench(model))
    session = bench.session
    set_choices(session.choices, **QUICK, significance=0.05, outline_smoothing=0.0)
    ended(session.comparison, qtbot, session.comparison.run)
    assert session.comparison.result.case[0] == "0"
    bench.show_page(STEPS.index("Trust"))
    page, heading = bench.pages["Trust"].show_tab(2), bench.headings["Trust"]
    for name, text in (("ranks", "10"), ("landmarks", "40")):
        page.ranges[name].setText(text)
    for sigmas, state in (("0, 0.5", "done"), ("0, 6 to 8", "look")):
        page.ranges["sigmas"].setText(sigmas)
        press(page.run_button if page.stale.isHidden() else page.stale.button, qtbot)
        wait_until_idle(session.smoothing, qtbot)
        qtbot.waitUntil(lambda state=state: heading.text() == f"Trust\n{STATES[state]}")
    assert "Smoothing: another answer in 3 of 4 cells." in heading.toolTip()


def test_choices_are_not_tried_with_too_few_images_and_a_failure_is_to_be_checked(bench, qtbot, model, monkeypatch):
    def fail(*_):
        raise ValueError("no memory left")

    session, layers = bench.session, list(model.layers)
    set_choices(session.choices, **QUICK)
    session.design.choose(layers[:1], layers[3:])
    bench.show_page(STEPS.index("Trust"))
    page = bench.pages["Trust"].show_tab(0)
    press(page.run_button, qtbot)
    assert not session.trust.busy
    assert page.reason.text().startswith("With every choice, 1 and 3 images cannot reach p ≤ 0.025 by permutation")
    for changes in ({"permute": "curves"}, {"permute": "auto", "significance": 0.5}):
        set_choices(session.choices, **changes)
        assert page.run_button.isEnabled()
    monkeypatch.setattr(studying, "choices_of", fail)
    press(page.run_button, qtbot)
    qtbot.waitUntil(lambda: bench.headings["Trust"].text() == f"Trust\n{STATES['look']}")
    assert "⚠ no memory left" in bench.headings["Trust"].toolTip()


@pytest.mark.parametrize("exists", [False, True])
def test_a_cancelled_export_leaves_no_folder_behind(bench_of_two, qtbot, monkeypatch, tmp_path, exists):
    task, folder = bench_of_two.session.comparison, tmp_path / "paper"
    set_choices(bench_of_two.session.choices, **QUICK)
    answer = bench_of_two.page("Answer")
    ended(task, qtbot, task.run)
    if exists:
        folder.mkdir()
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    cancelled = Event()
    monkeypatch.setattr(comparing, "headline", lambda result: cancelled.wait(20) and headline(result))
    press(answer.paper, qtbot)
    task.cancel()
    cancelled.set()
    qtbot.waitUntil(lambda: not task.threads)
    assert answer.results.message.text() == "Cancelled."
    assert folder.exists() == exists


def test_an_answer_shown_despite_faults_says_so(bench_of_two, qtbot, model):
    session = bench_of_two.session
    set_choices(session.choices, **QUICK, significance=0.05)
    model.layers[1].data = model.layers[0].data.copy()
    answer = bench_of_two.page("Answer")
    session.comparison.run()
    qtbot.waitUntil(lambda: session.explanation.result is not None)
    assert "No answer until" in answer.faults.label.text()
    assert "despite" not in answer.verdict.beside.text()
    press(answer.faults.button, qtbot)
    qtbot.waitUntil(lambda: "No difference" in answer.verdict.sentence.text())
    assert "⚠ Shown despite faults of the outlines." in answer.verdict.beside.text()


def test_trust_states_doubts_that_most_results_have_and_is_dimmed_if_outdated(bench, qtbot):
    comparison = bench.session.comparison
    set_choices(bench.session.choices, **QUICK)
    answer = bench.page("Answer")
    bench.show_page(STEPS.index("Trust"))
    page = bench.pages["Trust"].show_tab(0)
    ended(comparison, qtbot, comparison.run)
    qtbot.waitUntil(lambda: page.position.isVisibleTo(page))
    assert page.position.isEnabled()
    assert page.notes.isEnabled()
    comparison.exclude(3)
    qtbot.waitUntil(lambda: not page.position.isEnabled())
    assert not page.notes.isEnabled()
    comparison.exclude(3)
    qtbot.waitUntil(lambda: page.position.isEnabled())
    shown = comparison.shown
    far = shown.result.t.copy()
    far[0, 0] = 2.0
    doubtful = replace(shown, result=replace(shown.result, t=far))
    list(comparison.show_in_turns(doubtful))
    doubt = "1 curve lies so far from the mean form that it may not be unique: check for outliers."
    assert doubt in doubtful.result.warnings
    assert "mean form" not in answer.results.warnings.text()
    assert doubt in page.notes.text()


def test_a_preview_is_in_the_cell_of_its_image(model, qtbot):
    for name in ("one", "two"):
        model.add_image(spots(1, rows=3), name=name)
    session = Session.of(model)
    session.comparison.arrange(True)
    dock = SegmentCurves(model)
    qtbot.addWidget(dock)
    session.segmentation.image.choose(model.layers["one"])
    wanted = {(0, 0): {"one", "one preview"}, (0, 1): {"two", "two preview"}}
    qtbot.waitUntil(lambda: cells(model) == wanted)
    session.segmentation.deactivate()
    qtbot.waitUntil(lambda: [layer.name for layer in model.layers] == ["one", "two"])
    session.comparison.arrange(False)
    assert [layer.name for layer in model.layers] == ["one", "two"]


CONTROLS = (QAbstractButton, QAbstractSpinBox, QComboBox, QSlider, QLineEdit, QAbstractItemView, QTabBar)


def parts_of(page, *kinds):
    """Widgets of these types; PySide6 finds one type at a time."""
    return [part for part in page.findChildren(QWidget) if isinstance(part, kinds)]


def lacking(page):
    """Controls of a page without a name for screen readers or a tooltip; tabs, whose pages explain them, need none."""
    found = []
    labels = [(label.buddy(), label.text()) for label in page.findChildren(QLabel)]
    for control in parts_of(page, *CONTROLS):
        inner = isinstance(control.parentWidget(), QAbstractSpinBox | QComboBox | QAbstractItemView | QTabBar)
        popup = control.window() is not page.window()
        texts = [text for buddy, text in labels if buddy is control]
        texts += [control.text()] if isinstance(control, QAbstractButton) else []
        texts += map(control.tabText, range(control.count())) if isinstance(control, QTabBar) else []
        is_named = bool(control.accessibleName() or any(texts))
        if not (inner or popup or (is_named and (control.toolTip() or isinstance(control, QTabBar)))):
            found.append((type(control).__name__, control.accessibleName(), texts, control.toolTip()))
    return found


def test_every_control_of_every_page_has_a_tooltip_and_a_name_for_screen_readers(model, comparison, qtbot):
    for name in ("one", "two"):
        model.add_image(spots(1, rows=3), name=name)
    show_given_result(comparison, model)
    bench = Bench(model)
    qtbot.addWidget(bench)
    for place, name in enumerate(STEPS):
        bench.show_page(place)
        page = bench.pages[name]
        for tab in range(page.count() if isinstance(page, TabbedPage) else 0):
            page.show_tab(tab)
        assert parts_of(page, *CONTROLS)
    segment, inspect = map(bench.pages["Outlines"].show_tab, (0, 1))
    drawings = [segment.sizes, inspect.colorbar, inspect.recipe, *bench.findChildren(PlotView)]
    assert all(drawing.toolTip() for drawing in drawings)
    assert lacking(bench) == []
    bench.canvas_overlays.show_card()  # needs a window
    card = FloatingCard(bench, bench.session.comparison)
    card.card.show_curve(comparison, np.array([3]), frozenset())
    assert lacking(card) == []


def test_a_selected_curve_is_highlighted_for_any_active_layer_until_esc(make_napari_viewer, qtbot):
    viewer = make_napari_viewer(show=True)
    viewer.window.resize(800, 600)  # a small canvas is drawn faster
    for seed in (1, 2):
        viewer.add_labels(labels_of(seed), name=str(seed))
    bench = Bench(viewer)
    viewer.window.add_dock_widget(bench)
    set_choices(bench.session.choices, **QUICK)
    ended(bench.session.comparison, qtbot, bench.session.comparison.run)
    one, two = bench.session.comparison.curves
    assert one.selected_data == two.selected_data == set()

    def marked(picked):
        bench.session.comparison.selection.pick(picked)
        return viewer.screenshot(canvas_only=True, flash=False).astype(int)

    seen = []
    for active in (None, two, one):  # napari itself highlights curves of the active layer only
        viewer.layers.selection.active = active
        pixels = np.abs(marked([]) - marked([3])).sum(axis=-1) > 100
        assert pixels.sum() > 10
        seen.append(marked([3]))
    np.testing.assert_array_equal(*seen[1:])
    qtbot.waitUntil(lambda: bench.canvas_overlays.outlines is not None)
    canvas, selection = bench.canvas_overlays.outlines.parentWidget(), bench.session.comparison.selection
    qtbot.keyClick(canvas, Qt.Key.Key_Escape)
    assert len(selection.rows) == 0
    selection.hover(2)
    QApplication.sendEvent(canvas, QEvent(QEvent.Type.Leave))
    assert selection.hovered_row == -1


def test_proposals_are_unfolded_once_if_a_threshold_fragments_objects(model, qtbot, shown):
    rng = np.random.default_rng(0)
    for seed in (1, 2):
        image = spots(seed)
        dust = np.zeros(image.shape)
        dust[tuple(rng.integers(0, len(image), (2, 60)))] = 1  # bright single pixels
        model.add_image(np.maximum(image, dust), name=f"{seed}")
    model.layers.selection = set(model.layers)
    bench = shown(Bench(model))
    set_choices(bench.session.choices, smoothing=0.0)
    press(bench.next, qtbot)
    page, verdict = bench.page("Outlines").show_tab(0), bench.session.segmentation
    qtbot.waitUntil(lambda: len(verdict.verdict.counts) == 2)
    assert "are smaller than 16 px²" in page.verdict.text()
    assert page.other_ways.unfolded
    page.other_ways.heading.click()
    assert "updating" not in page.count.text()
    set_choices(bench.session.choices, smoothing=0.1)
    assert "updating …" in page.count.text()  # the old numbers and text
    assert not page.verdict.isEnabled()
    qtbot.waitUntil(page.verdict.isEnabled)
    assert "updating" not in page.count.text()
    assert not page.other_ways.unfolded  # the user has folded it
    # After leaving the page, it remains done or in need of review until the images change.
    qtbot.waitUntil(lambda: "updating" not in page.count.text() and not verdict.previewer.busy)
    bench.show_page(0)
    qtbot.waitUntil(lambda: not verdict.verdict.counts)
    assert status(bench.session, "Outlines") == PageStatus("look", verdict.cached_verdict().quality.findings[0].text)
    first = model.layers[0]
    first.data = 1 - first.data
    assert status(bench.session, "Outlines").state == "open"


def test_the_best_recipe_is_used_unless_the_user_has_chosen_one(model, qtbot, shown):
    for seed, name in ((1, "one"), (2, "two")):
        model.add_image(1 - spots(seed, rows=3), name=name)
    model.layers.selection = set(model.layers)
    bench = shown(Bench(model))
    session, proposing = bench.session, bench.session.proposing
    press(bench.next, qtbot)
    page = bench.page("Outlines").show_tab(0)
    qtbot.waitUntil(lambda: bench.next.text().startswith("Choosing"))
    assert not bench.next.isEnabled()  # a comparison now would use another recipe
    qtbot.waitUntil(lambda: proposing.result is not None)
    assert session.choices.recipe == proposing.result.proposals[0].recipe
    assert session.choices.recipe.objects == "dark"
    assert page.other_ways.unfolded
    assert page.proposals.pictures.currentRow() == 0
    assert page.proposals.message.text().startswith("The best of several tried on 2 images is used: ")
    bench.resize(400, 2000)  # text is not spread out on a tall screen
    QApplication.processEvents()
    message = page.proposals.message
    assert message.height() <= message.heightForWidth(message.width()) + 2
    pictures = list(map(page.proposals.pictures.item, range(page.proposals.pictures.count())))
    assert len({item.text() for item in pictures}) == len(pictures) > 1
    assert all(item.toolTip().startswith(item.text()) for item in pictures)
    qtbot.waitUntil(lambda: session.segmentation.verdict.counts == {"one": 9, "two": 9})
    qtbot.waitUntil(lambda: bench.next.isEnabled() and bench.next.text() == "Compare ›")
    # Another image starts a new search, unless the user has chosen a recipe in between.
    before = proposing.result
    model.add_image(1 - spots(3, rows=3), name="three")
    session.design.write([(model.layers["three"], "group", "B")])
    qtbot.waitUntil(lambda: proposing.result is not before and not proposing.busy)
    assert proposing.result.images == 3
    set_choices(session.choices, smoothing=0.5)
    chosen, before = session.choices.recipe, proposing.result
    model.layers.remove("three")
    model.add_image(1 - spots(4, rows=3), name="four")
    session.design.write([(model.layers["four"], "group", "B")])
    qtbot.waitUntil(lambda: session.segmentation.verdict.counts.keys() == {"one", "two", "four"})
    assert not proposing.busy
    assert proposing.result is before
    assert session.choices.recipe == chosen


def outlines_page_of(bench, qtbot):
    """The bench's page *Outlines* after recipes were proposed and all images are previewed."""
    proposing, segmentation = bench.session.proposing, bench.session.segmentation
    press(bench.next, qtbot)
    qtbot.waitUntil(lambda: proposing.result is not None or proposing.failed)
    qtbot.waitUntil(lambda: not (proposing.busy or segmentation.is_preview_pending))
    return bench.page("Outlines").show_tab(0)


def lines_about(name, page):
    """All lines on a page that start with an image's name."""
    labels = [label for label in page.findChildren(QLabel) if label.isVisible()]
    lines = [line for label in labels for line in label.text().replace("<br>", "\n").splitlines()]
    return [line for line in lines if line.removeprefix("⚠ ").startswith(name)]


@pytest.mark.parametrize(("place", "alone"), [(0, True), (1, False)])
def test_a_blank_image_is_reported_once_and_others_get_proposals(model, qtbot, shown, place, alone):
    images = [1 - spots(seed, rows=3) for seed in ((1,) if alone else (1, 2))]
    images.insert(place, np.zeros_like(images[0]))
    for number, image in enumerate(images):
        model.add_image(image, name="blank" if number == place else f"good {number}")
    Session.of(model).design.write([(layer, GROUP, "B" if place else "A") for place, layer in enumerate(model.layers)])
    bench = shown(Bench(model))
    set_choices(bench.session.choices, **QUICK)
    page = outlines_page_of(bench, qtbot)
    assert bench.session.proposing.result.images == len(images) - 1
    assert bench.session.choices.recipe.objects == "dark"
    assert page.proposals.message.text().startswith(
        f"The best of several tried on {'1 image' if alone else '2 images'} is"
    )
    said = "⚠ blank: every pixel is 0: objects cannot be told from background"
    assert lines_about("blank", page) == [said]
    page.live.click()  # without a preview, the proposals report it
    instead = [said.replace("blank:", "blank gives no outlines:") + "."]
    qtbot.waitUntil(lambda: lines_about("blank", page) == instead)
    page.live.click()
    qtbot.waitUntil(bench.next.isEnabled)
    press(bench.next, qtbot)
    wait_until_idle(bench.session.comparison, qtbot)
    assert bench.session.comparison.failed
    assert status(bench.session, "Outlines") == PageStatus("look", said.removeprefix("⚠ "))


def test_a_sheared_image_is_reported_and_others_get_proposals(model, qtbot, shown):
    model.add_image(spots(1, rows=3), name="good")
    model.add_image(spots(2, rows=3), name="sheared", shear=[0.3])
    model.layers.selection = set(model.layers)
    bench = shown(Bench(model))
    bench.session.segmentation.image.choose(model.layers["good"])
    page = outlines_page_of(bench, qtbot)
    assert bench.session.proposing.result.images == 1
    assert page.proposals.message.text().startswith("The best of several tried on 1 image is used")
    (said,) = lines_about("sheared", page)
    assert "its pixels are not rectangular" in said


def test_an_image_in_which_no_recipe_finds_an_object_is_reported(model, qtbot, shown):
    dot = np.zeros_like(spots(1, rows=3))
    dot[30, 30] = 1
    for name, image in {"one": spots(1, rows=3), "two": spots(2, rows=3), "dot": dot}.items():
        model.add_image(image, name=name)
    model.layers.selection = set(model.layers)
    bench = shown(Bench(model))
    bench.session.segmentation.image.choose(model.layers["dot"])
    page = outlines_page_of(bench, qtbot)
    assert bench.session.proposing.result.images == 3
    said = "⚠ dot gives no outlines: no recipe finds objects in it."
    assert page.proposals.message.text().splitlines()[1:] == [said]
    assert lines_about("dot", page) == ["⚠ dot has no curves", said]


@pytest.mark.parametrize("why", ["settings from a file", "a changed recipe", "an answer", "labels"])
def test_nothing_is_proposed_if_the_recipe_is_given(model, qtbot, shown, comparison, tmp_path, monkeypatch, why):
    for seed, name in ((1, "one"), (2, "two")):
        model.add_image(labels_of(seed) if why == "labels" else spots(seed, rows=3), name=name)
    model.layers.selection = set(model.layers)
    bench = shown(Bench(model))
    session = bench.session
    if why == "settings from a file":
        save_settings(tmp_path / "settings.toml", Outlines(smoothing=0.5))
        chosen = str(tmp_path / "settings.toml"), ""
        monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_, **__: chosen)
        bench.page("Outlines").show_tab(0).dialogs.open()
    elif why == "a changed recipe":
        set_choices(session.choices, smoothing=0.5)
    elif why == "an answer":
        show_given_result(comparison, model)
    before = session.choices.recipe
    press(bench.next, qtbot)
    qtbot.waitUntil(lambda: len(session.segmentation.verdict.counts) >= 2)
    assert not session.proposing.busy
    assert session.choices.recipe == before
    qtbot.waitUntil(bench.next.isEnabled)


def test_thumbnails_disappear_with_their_image(bench_of_two, model, qtbot):
    page = outlines_page_of(bench_of_two, qtbot)
    task = bench_of_two.session.proposing
    qtbot.waitUntil(lambda: not task.busy)
    bench_of_two.go_to_next()
    wait_until_idle(bench_of_two.session.comparison, qtbot)
    assert page.proposals.pictures.count() > 1
    pictured = task.run_inputs.layers[0][task.result.pictured]()
    (other,) = [layer for layer in model.layers if layer.name in ("one", "two") and layer is not pictured]
    model.layers.remove(other)
    qtbot.wait(50)
    assert page.proposals.pictures.count() > 1
    model.layers.remove(pictured)
    qtbot.waitUntil(lambda: page.proposals.pictures.count() == 0)


def test_no_thumbnails_of_an_image_removed_meanwhile(bench_of_two, model, qtbot):
    task = bench_of_two.session.proposing
    press(bench_of_two.next, qtbot)
    qtbot.waitUntil(lambda: task.busy)
    model.layers.remove(task.current_inputs().layers[0][0]())
    wait_until_idle(task, qtbot)
    assert task.run_inputs is not None
    assert bench_of_two.page("Outlines").show_tab(0).proposals.pictures.count() == 0


def test_the_tour_visits_all_pages_by_keyboard(viewer, qtbot):
    for seed, size in ((1, 9), (2, 13)):
        viewer.add_labels(labels_of(seed, size=size), name=f"{size} large")
    show_docks(viewer)
    set_choices(Session.of(viewer).choices, **QUICK)
    bench = viewer.window.add_plugin_dock_widget(PLUGIN, "Shape bench")[1]
    bench.pages["Images"].tour_requested.emit()
    (tour,) = bench.window().findChildren(Tour)
    seen = []
    for _ in STEPS:
        seen.append(bench.step)
        assert tour.title.text() == bench.step
        assert len(tour.text.text().split()) <= 40
        qtbot.keyClick(tour, Qt.Key.Key_Right)
    assert seen == list(STEPS)
    qtbot.waitUntil(lambda: not bench.window().findChildren(Tour))
    wait_until_idle(bench.session.comparison, qtbot)
    assert bench.session.comparison.result is not None
    bench.start_tour()
    (tour,) = bench.window().findChildren(Tour)
    qtbot.keyClick(tour, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not bench.window().findChildren(Tour))
    assert bench.session.choices.recipe.method == "otsu"
    viewer.layers.clear()
    bench.start_tour()  # with its own image pair
    assert [layer.name for layer in viewer.layers][:2] == ["Powder, field 1", "Powder, field 2"]
    bench.window().findChild(Tour).close()


def test_the_tour_compares_by_the_recipe_that_is_chosen(viewer, qtbot):
    """It showed another row than the same images did without it, by a recipe of its own."""
    for seed in (1, 2):
        viewer.add_image(spots(seed, rows=3), name=f"{seed}")
    window = viewer.window._qt_window
    window.show()
    bench = viewer.window.add_plugin_dock_widget(PLUGIN, "Shape bench")[1]
    bench.start_tour()
    (tour,) = window.findChildren(Tour)
    qtbot.keyClick(tour, Qt.Key.Key_Right)
    assert not tour.next.isEnabled()
    qtbot.keyClick(tour, Qt.Key.Key_Right)
    assert bench.step == "Outlines"
    qtbot.waitUntil(tour.next.isEnabled, timeout=30_000)
    assert bench.session.proposing.result is not None
    press(tour.next, qtbot)
    assert bench.step == "Answer"
    assert bench.session.comparison.current_inputs().recipe == bench.session.proposing.result.proposals[0].recipe
    bench.session.comparison.cancel()
    tour.close()


def test_the_tour_stays_in_the_window_and_ends_with_the_bench(viewer, qtbot):
    viewer.add_labels(labels_of(1), name="one")
    window = viewer.window._qt_window
    window.resize(1200, 800)
    window.show()
    bench = viewer.window.add_plugin_dock_widget(PLUGIN, "Shape bench")[1]
    bench.start_tour()
    (tour,) = window.findChildren(Tour)
    qtbot.waitUntil(lambda: tour.x() > 500)
    window.resize(700, 600)
    qtbot.waitUntil(lambda: window.rect().contains(tour.geometry()))
    bench.parentWidget().hide()  # as by the button in its title bar
    qtbot.waitUntil(lambda: not window.findChildren(Tour))


def test_manual_outlines_are_in_the_cell_of_their_image(model, qtbot):
    for place, name in enumerate(("left", "right")):
        model.add_image(np.zeros((60, 60)), name=name, translate=(0, 80 * place))
        square = np.array([[10.0, 10], [10, 40], [40, 40], [40, 10]]) + np.array([0, 80 * place])
        model.add_shapes([square], shape_type="polygon", name=f"{name} drawn")
    Session.of(model).choices.design.choose([model.layers["left drawn"]], [model.layers["right drawn"]])
    bench = Bench(model)
    qtbot.addWidget(bench)
    side_by_side = [[layer.name for layer in cell.layers] for cell in bench.session.image_cells.cells()]
    assert side_by_side == [["left", "left drawn"], ["right", "right drawn"]]


def test_examples_and_corrections_are_in_the_cell_of_their_image(bench_of_two, model, qtbot):
    bench_of_two.session.choices.recipe_loaded = True  # so that none is searched for
    session, page = bench_of_two.session, bench_of_two.page("Outlines").show_tab(0)
    session.segmentation.image.choose(model.layers["one"])
    press(page.by_example.paint, qtbot)
    press(page.by_example.correct, qtbot)
    wait_until_idle(session.inspection, qtbot)
    session.inspection.next()
    session.inspection.fix("delete")
    qtbot.waitUntil(lambda: not session.inspection.update_runner.busy)
    mine = {"one", "one examples", "one corrected", "one inspected"}
    qtbot.waitUntil(lambda: len(cells(model)) == 2 and mine <= cells(model)[0, 0])
    assert captions(model) == {(0, 0): "A · one corrected", (0, 1): "B · two"}
    over = [layer.name for layer in model.layers if layer.name in mine]
    assert over.index("one") < over.index("one corrected") < over.index("one inspected")


def test_corrected_labels_are_above_those_they_replace(model, qtbot):
    model.add_image(spots(1, rows=4), name="field")
    model.add_labels(labels_of(1), name="masks")
    bench = Bench(model)
    qtbot.addWidget(bench)
    session = bench.session
    session.design.write([(model.layers["field"], "group", "")])
    bench.page("Outlines").show_tab(1)
    session.inspection.a.choose(model.layers["masks"])
    ended(session.inspection, qtbot, session.inspection.run)
    session.inspection.go_to(0)
    session.inspection.fix("delete")
    qtbot.waitUntil(lambda: not session.inspection.update_runner.busy)
    names = ["field", "masks", "masks corrected", "masks inspected"]
    qtbot.waitUntil(lambda: [layer.name for layer in model.layers if layer.name in names] == names)
    assert captions(model) == {(0, 0): "masks corrected"}
    bench.session.deactivate()


def test_file_errors_are_visible_on_the_answer_page(bench_of_two, shown, tmp_path, qtbot):
    shown(bench_of_two)
    bench_of_two.show_page(STEPS.index("Answer"))
    said = bench_of_two.page("Answer").results.message
    assert not said.isVisible()
    bench_of_two.session.comparison.open(tmp_path / "gone.comparison.npz")
    qtbot.waitUntil(lambda: "gone.comparison.npz cannot be opened" in said.text())
    assert said.isVisible()


def test_images_are_shown_as_large_as_the_canvas_allows(bench_of_two, model, qtbot):
    assert set(cells(model)) == {(0, 0), (0, 1)}
    if hasattr(model, "canvas"):  # older napari does not report its canvas size
        page = bench_of_two.pages["Images"]
        for row in (0, 1):
            page.table.item(row, page.table.columnCount() - 1).setText("0.01 mm")
        model.canvas.size = 900, 400
        qtbot.waitUntil(lambda: set(cells(model)) == {(0, 0), (1, 0)})
        side = np.ptp(model.layers["one"].extent.world, axis=0)[0]
        qtbot.waitUntil(lambda: model.scene.camera.zoom * side > 300)
    bench_of_two.hide()
    bench_of_two.session.comparison.arrange(False)
    assert grid_of(model).shape == (-1, -1)


def test_painting_does_not_hide_an_adjacent_image(bench_of_two, model, qtbot):
    bench_of_two.session.choices.recipe_loaded = True  # so that none is searched for
    model.layers["two"].translate = 0, 500
    page = bench_of_two.page("Outlines").show_tab(0)
    qtbot.waitUntil(lambda: not grid_of(model).enabled)
    bench_of_two.session.segmentation.image.choose(model.layers["one"])
    press(page.by_example.paint, qtbot)
    assert model.layers["two"].visible


def test_replacement_images_with_another_unit_get_cells(bench_of_two, model, qtbot):
    set_choices(bench_of_two.session.choices, **QUICK)
    comparison = bench_of_two.session.comparison
    ended(comparison, qtbot, comparison.run)
    kept = list(model.layers)  # kept alive, as by napari's undo, a console or a script
    model.layers.clear()
    for name in ("three", "four"):
        model.add_labels(labels_of(1), name=name, scale=(0.5, 0.5), units=("um", "um"))
    bench_of_two.session.comparison.side_by_side.arrange()
    named = {one.name for own in (cell.layers for cell in bench_of_two.session.image_cells.cells()) for one in own}
    assert named == {"three", "four"}
    assert not named & {one.name for one in kept}


# The design table without a window -----------------------------------------------------------------------------


@pytest.fixture
def design(model):
    for name in ("one", "two", "three"):
        model.add_image(np.zeros((4, 4)), name=name)
    session = Session.of(model)
    session.attach()
    yield session.design
    session.detach()


def test_a_spreadsheet_is_pasted_by_headings_or_position(design, model):
    design.paste("image\tgroup\tdose\ntwo\tdrug\t10\none\tctrl\t0\nthree\tdrug\t20", 0, 0)
    assert design.rows() == (("group", "dose"), ("ctrl", "0"), ("drug", "20"), ("drug", "10"))
    assert frame_of(design.rows())["dose"].tolist() == [0, 20, 10]
    design.paste("x\ty\n", 0, 0)
    assert design.cell(model.layers["one"], "group") == "x"
    assert design.cell(model.layers["one"], "replicate") == "y"
    with pytest.raises(ValueError, match="no layer 'four'"):
        design.paste("image\tgroup\nfour\tdrug", 0, 0)
    design.paste("group\nwild  type\nwild\xa0type\nGro\u0308ße", 0, 0)
    assert list(design.groups()) == ["wild type", "Größe"]  # as the engine calls them


def test_a_group_named_a_or_b_is_that_sample(design, model):
    one, two, three = (model.layers[name] for name in ("one", "two", "three"))
    design = Session.of(model).choices.design
    for layer in (one, two, three):
        design.write([(layer, "group", "")])
    design.write([(one, "group", "B")])
    design.write([(two, "group", "A")])
    assert design.sides() == ((two,), (one,))
    design.write([(two, "group", ""), (three, "group", "drug")])
    assert design.sides() == ((three,), (one,))
    design.paste("image\tgroup\none\tB\nthree\tC\ntwo\tA", 0, 0)
    assert list(design.groups()) == ["A", "B", "C"]
    design.swap()
    assert [design.cell(layer, "group") for layer in (one, two)] == ["A", "B"]
    design.replace_by_parts(one, ["upper", "lower"], [two, three])
    assert list(design.groups()) == ["A", "upper", "lower"]  # no part is in sample A beside a group A
    design.write([(three, "dose", "1")])
    assert design.sides() == ((one,), (two,))


def test_groups_are_reset_when_all_images_are_replaced(design, model):
    one, two = (model.layers[name] for name in ("one", "two"))
    design.write([(one, "group", "ctrl"), (two, "group", "drug")])
    model.layers.clear()
    for name in ("four", "five"):
        model.add_image(np.zeros((4, 4)), name=name)
    assert list(design.groups()) == ["A", "B"]


def test_a_failed_paste_keeps_the_order_of_groups(design, model):
    design.paste("image\tgroup\none\tdrug\ntwo\tctrl", 0, 0)
    Session.of(model).choices.design.swap()
    before = list(design.groups())
    with pytest.raises(ValueError, match="no layer 'four'"):
        design.paste("image\tgroup\nfour\tdrug", 0, 0)
    assert list(design.groups()) == before


def test_groups_follow_the_chosen_samples(design, model):
    one, two, three = (model.layers[name] for name in ("one", "two", "three"))
    design = Session.of(model).choices.design
    assert design.groups() == {"A": [one], "B": [three]}  # the selected one
    design.swap()
    assert design.groups() == {"A": [three], "B": [one]}
    design.write([(one, "group", "drug"), (two, "group", "ctrl"), (three, "group", "drug")])
    assert {frozenset(side) for side in design.sides()} == {frozenset({one, three}), frozenset({two})}
    assert not design.is_experiment
    before = design.groups()
    design.swap()
    assert design.groups() == before
    assert list(design.groups()) == list(reversed(before))
    model.layers.remove(two)
    assert two not in design.layers()
