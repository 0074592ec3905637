"""Selected curves, by lasso, gallery or table: left out, put into a group, opened side by side by one menu."""

import numpy as np
import pytest
from qtpy.QtCore import QItemSelectionModel, QPoint, Qt
from qtpy.QtWidgets import QInputDialog

from docks import add_labels, choose_for_selected, curves_of, press, press_on_canvas, run, selected_rows
from image_makers import labels_of, spots
from napari_shape_ensembles.explanation.checklist import BLANK, checklist
from napari_shape_ensembles.viewer.curves import crops
from napari_shape_ensembles.viewer.docks.images import ImagesPage
from napari_shape_ensembles.viewer.inputs import ensemble_of


@pytest.fixture
def explorer(finished_dock, qtbot):
    finished_dock.curve_window.open()
    qtbot.addWidget(explorer := finished_dock.curve_window.explorer)
    return explorer


@pytest.fixture
def named(monkeypatch):
    """Return a function that answers the question for the name of the group."""
    return lambda name: monkeypatch.setattr(QInputDialog, "getText", lambda *_, **__: (name, True))


def by_lasso(dock, explorer, qtbot):
    layer = curves_of(dock.viewer, "one")
    box = np.concatenate([layer.data[row] for row in (2, 5)])
    (top, left), (bottom, right) = box.min(axis=0) - 1, box.max(axis=0) + 1
    corners = [(top, left), (top, right), (bottom, right), (bottom, left), (top, left)]
    press_on_canvas(dock.viewer, *map(layer.data_to_world, corners), modifiers=("Shift",))


def in_the_gallery(dock, explorer, qtbot):
    press(explorer.gallery.buttons[0], qtbot)
    qtbot.mouseClick(explorer.gallery.buttons[7], Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier)


def in_the_table(dock, explorer, qtbot):
    explorer.table.selectRow(2)
    more = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
    explorer.table.selectionModel().select(explorer.table.model().index(5, 0), more)


def outlines_of(dock, layer):
    return ensemble_of(layer, dock.session.choices.dims, dock.session.choices.recipe)


def wait_for(dock, qtbot):
    qtbot.waitUntil(lambda: not dock.comparison.busy)


def test_one_menu_serves_lasso_gallery_and_table(finished_dock, explorer, named, qtbot):
    named("odd")
    design = finished_dock.session.design
    for select in (by_lasso, in_the_gallery, in_the_table):
        select(finished_dock, explorer, qtbot)
        rows = selected_rows(finished_dock)
        assert len(rows) >= 2
        assert f"all {len(rows)}" in explorer.card.actions.text()
        choose_for_selected(explorer.card, "Open side by side")
        assert [button.row for button in explorer.crops.buttons] == rows
        choose_for_selected(explorer.card, "Leave out")
        assert sorted(finished_dock.comparison.excluded_rows()) == rows
        choose_for_selected(explorer.card, "Include again")
        assert not finished_dock.comparison.excluded_rows()
        choose_for_selected(explorer.card, "Put into a group")
        wait_for(finished_dock, qtbot)
        assert sum(len(outlines_of(finished_dock, part)) for part in design.groups()["odd"]) == len(rows)
        press(finished_dock.divided.button, qtbot)
        assert "odd" not in design.groups()


def test_a_group_of_selected_curves_is_compared_and_taken_back_by_one_click(finished_dock, explorer, named, qtbot):
    design, model, before = finished_dock.session.design, finished_dock.viewer, finished_dock.result
    qtbot.addWidget(images := ImagesPage(model))
    tables = design.rows(), [list(side) for side in design.sides()], list(model.layers), model.layers["one"].visible
    finished_dock.comparison.exclude([4])
    named("odd")
    finished_dock.comparison.selection.pick([4])
    choose_for_selected(explorer.card, "Put into a group")
    assert "The selected curves are left out" in finished_dock.results.message.text()
    finished_dock.comparison.selection.pick([0, 3, 4, len(before.a) + 1])  # the excluded one stays excluded
    choose_for_selected(explorer.card, "Put into a group")
    wait_for(finished_dock, qtbot)
    assert [(row.name, design.cell(row, "group"), design.cell(row, "replicate")) for row in design.grouped()] == [
        ("one rest", "A", "one"),
        ("two rest", "B", "two"),
        ("one odd", "odd", "one"),
        ("two odd", "odd", "two"),
    ]
    own = {row.name: outlines_of(finished_dock, row) for row in design.grouped()}
    for name, curves, chosen in (("one", before.a, [0, 3]), ("two", before.b, [1])):
        picked, rest = own[f"{name} odd"], own[f"{name} rest"]
        assert picked.ids.tolist() == curves.ids[chosen].tolist()
        assert sorted([*picked.ids.tolist(), *rest.ids.tolist()]) == curves.ids.tolist()
        np.testing.assert_array_equal(picked.curves[0], curves.curves[chosen[0]])
        assert picked.pixel_size == curves.pixel_size
    assert finished_dock.state == "stale"
    assert "3 selected curves put into the group odd" in finished_dock.divided.label.text()
    images.refresh()
    assert "3 selected curves" in images.divided.label.text()
    assert "1 curve excluded manually" in finished_dock.excluded.label.text()
    press(images.divided.button, qtbot)
    finished_dock.comparison.exclude([4])
    assert tables == (
        design.rows(),
        [list(side) for side in design.sides()],
        list(model.layers),
        model.layers["one"].visible,
    )
    assert finished_dock.state == "done"
    assert finished_dock.divided.isHidden()


def test_picked_outlines_are_compared_with_a_warning(finished_dock, explorer, named, qtbot):
    finished_dock.comparison.selection.pick(np.arange(0, 12))
    named("first rows")
    choose_for_selected(explorer.card, "Put into a group")
    wait_for(finished_dock, qtbot)
    run(finished_dock, qtbot)
    answer = finished_dock.comparison.answer
    assert "first rows" in answer.groups
    assert any("one first rows were picked by hand" in note for note in answer.notes)
    assert finished_dock.comparison.shown.kinds[0] == "image"  # as their labels were not given
    kinds = answer.to_view(finished_dock.comparison.run_inputs, {})["kinds"]
    assert kinds == ["image", "picked"]
    said = checklist(None, {}, kinds, 0, [])
    assert f"[ ] Manual ROIs: by what outlines were picked by hand, {BLANK}." in said


def test_shapes_and_labels_are_put_into_groups_too(model, bare_dock, named, qtbot):
    model.layers.clear()
    model.add_labels(labels_of(1), name="labels")
    shapes = model.add_shapes(
        [np.array([[20 * k, 0], [20 * k, 9 + k], [20 * k + 9, 0]]) for k in range(12)],
        shape_type="polygon",
        name="shapes",
    )
    run(bare_dock, qtbot)
    task, design = bare_dock.comparison, bare_dock.session.design
    first = len(task.result.a)
    task.selection.pick([1, first + 2, first + 5])
    task.selection.group_requested.emit("odd")
    wait_for(bare_dock, qtbot)
    labels, drawn = design.groups()["odd"]
    assert np.unique(labels.data).tolist() == [0, task.result.a.ids[1]]
    assert not model.layers["labels"].visible
    for shape, row in zip(drawn.data, (2, 5), strict=True):
        np.testing.assert_array_equal(shape, shapes.data[row])
    task.divisions.undo()
    assert model.layers["labels"].visible


def test_undo_removes_no_parts_of_an_image_that_was_deleted(model, bare_dock, qtbot):
    model.layers.clear()
    add_labels(model, "one", "two")
    run(bare_dock, qtbot)
    task = bare_dock.comparison
    first = len(task.result.a)
    task.selection.pick([1, first + 2])
    task.selection.group_requested.emit("odd")
    wait_for(bare_dock, qtbot)
    model.layers.remove("one")
    press(bare_dock.divided.button, qtbot)
    assert {"one rest", "one odd", "two"} <= {layer.name for layer in model.layers}
    assert not {"two rest", "two odd"} & {layer.name for layer in model.layers}
    assert model.layers["two"].visible
    assert [row.name for row in bare_dock.session.design.groups()["odd"]] == ["one odd"]
    task.selection.pick([first + 3])
    run(bare_dock, qtbot)
    assert bare_dock.divided.isHidden()


@pytest.mark.parametrize("kind", ["image", "labels"])
def test_parts_lie_over_their_image_until_the_next_run(model, bare_dock, qtbot, kind):
    model.layers.clear()
    for seed, name in ((1, "one"), (2, "two")):
        (model.add_image if kind == "image" else model.add_labels)(
            spots(seed) if kind == "image" else labels_of(seed), name=name
        )
    run(bare_dock, qtbot)
    bare_dock.comparison.selection.pick([0, 3, 4])
    bare_dock.comparison.selection.group_requested.emit("odd")
    wait_for(bare_dock, qtbot)
    found = [{layer.name for layer in cell.layers} for cell in bare_dock.session.image_cells.cells() if cell.layers]
    assert found == [{"one", "one curves", "one rest", "one odd"}, {"two", "two curves"}]


def test_outlines_that_coarser_images_do_not_show_stay_with_the_rest(model, bare_dock, qtbot):
    model.layers.clear()
    fine = np.pad(labels_of(1), ((0, 12), (0, 0)))
    fine[-9:-4, 5:10] = speck = int(fine.max()) + 1
    for name, labels, pixel in (("fine", fine, 0.5), ("coarse", labels_of(2, size=14.0), 1.0)):
        model.add_labels(labels, name=name, scale=(pixel, pixel), units=("um", "um"))
    run(bare_dock, qtbot)
    task = bare_dock.comparison
    every = outlines_of(bare_dock, model.layers["fine"]).ids.tolist()
    assert set(every) - set(task.result.a.ids.tolist()) == {speck}
    task.selection.pick([1, 2])
    task.selection.group_requested.emit("odd")
    wait_for(bare_dock, qtbot)
    rest = outlines_of(bare_dock, model.layers["fine rest"]).ids.tolist()
    assert sorted([*rest, *task.result.a.ids[[1, 2]].tolist()]) == every


def test_side_by_side_shows_the_picture_around_each_curve(finished_dock, explorer, qtbot, monkeypatch):
    task = finished_dock.comparison
    task.selection.pick([2, len(task.result.a)])
    choose_for_selected(explorer.card, "Open side by side")
    assert explorer.tabs.tabText(explorer.tabs.currentIndex()) == "Side by side"
    for button in explorer.crops.buttons:
        picture = button.picture.toImage()
        middle = picture.pixelColor(picture.width() // 2, picture.height() // 2).lightness()
        assert middle > picture.pixelColor(1, 1).lightness() + 50  # bright spots
    press(explorer.crops.buttons[1], qtbot)
    assert selected_rows(finished_dock) == [len(task.result.a)]
    monkeypatch.setattr(crops, "MAX_SHOWN", 9)
    task.selection.pick(np.arange(14))
    choose_for_selected(explorer.card, "Open side by side")
    assert len(explorer.crops.buttons) == 9
    assert "first 9" in explorer.crops.heading.text()


def test_the_selection_is_kept_when_the_window_opens(bare_dock, qtbot):
    run(bare_dock, qtbot)
    bare_dock.comparison.selection.pick([1, 4])
    bare_dock.comparison.selection.side_by_side_requested.emit()
    qtbot.addWidget(explorer := bare_dock.curve_window.explorer)
    assert [button.row for button in explorer.crops.buttons] == selected_rows(bare_dock) == [1, 4]
    with qtbot.waitSignal(bare_dock.finished):
        press(bare_dock.results.check, qtbot)  # the same curves, with what was found about them
    assert [button.row for button in explorer.crops.buttons] == [1, 4]


def test_curves_of_images_that_have_changed_are_not_put_into_a_group(finished_dock, qtbot):
    finished_dock.viewer.layers["one"].data = finished_dock.viewer.layers["one"].data[::-1]
    finished_dock.comparison.selection.pick([1])
    finished_dock.comparison.selection.group_requested.emit("odd")
    assert "compare again" in finished_dock.results.message.text()
    assert not finished_dock.comparison.divisions.sentence()


def test_curves_of_images_that_were_removed_are_neither_left_out_nor_grouped(finished_dock):
    task, layers = finished_dock.comparison, finished_dock.viewer.layers
    removed = layers["two"]  # held, as by an undo history or a console
    layers.remove(removed)
    task.selection.pick([1, len(task.result.a) + 1])
    task.selection.leave_out_requested.emit()
    assert "only from layers in the viewer" in finished_dock.results.message.text()
    assert not task.excluded_rows()
    task.selection.group_requested.emit("odd")
    assert "compare again" in finished_dock.results.message.text()
    assert not task.busy


def test_the_right_button_opens_the_menu_and_draws_no_lasso(explorer, qtbot):
    explorer.selection.pick([1, 2])
    qtbot.mousePress(explorer.scatter, Qt.MouseButton.RightButton, pos=QPoint(5, 5))
    qtbot.mouseRelease(explorer.scatter, Qt.MouseButton.RightButton, pos=QPoint(80, 80))
    assert explorer.selection.rows.tolist() == [1, 2]
    explorer.scatter.customContextMenuRequested.emit(QPoint(5, 5))
    assert explorer.card.menu.isVisible()
    explorer.card.menu.hide()
