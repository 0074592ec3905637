"""The shared selection of layers, scatter plot, table, card and gallery; exclusion; side by side; keys."""

import gc

import numpy as np
import pytest
from qtpy.QtCore import QPoint, QPointF, QRect, Qt
from qtpy.QtGui import QMouseEvent, QScreen
from qtpy.QtWidgets import QAbstractButton, QAbstractSpinBox, QComboBox

from docks import (
    add_spots,
    choose_for_selected,
    curves_of,
    includes_again,
    move_on_canvas,
    open_answer,
    own_callbacks,
    position_inside,
    press,
    press_on_canvas,
    run,
    selected_in_table,
    selected_rows,
    set_choices,
    show_given_result,
    slow,
    swap,
    toggle_side_by_side,
)
from image_makers import spots
from napari_shape_ensembles.comparison.colorings import COLORINGS
from napari_shape_ensembles.explanation.single_curves import (
    nearest_and_farthest,
)
from napari_shape_ensembles.outlines.reasons import BY_HAND
from napari_shape_ensembles.viewer import comparing
from napari_shape_ensembles.viewer.docks.bench import Bench


@pytest.fixture
def finished_dock(bare_dock, qtbot):
    """The dock with a result and the window *Curves*."""
    run(bare_dock, qtbot)
    press(bare_dock.results.explore, qtbot)
    qtbot.addWidget(bare_dock.curve_window.explorer)
    return bare_dock


@pytest.fixture
def explorer(finished_dock):
    return finished_dock.curve_window.explorer


@pytest.fixture
def explored(shared_dock):
    """The dock with a result, the window *Curves* and the layers, for tests that only look and select."""
    layers = [layer.name for layer in shared_dock.viewer.layers]
    shared_dock.curve_window.open()
    yield shared_dock, shared_dock.curve_window.explorer, shared_dock.viewer
    shared_dock.comparison.selection.pick([])
    shared_dock.comparison.selection.hover(-1)
    for layer in shared_dock.viewer.layers:
        layer.visible = True
    assert shared_dock.state == "done"
    assert [layer.name for layer in shared_dock.viewer.layers] == layers


# One selection -------------------------------------------------------------------------------------------------


def test_curves_selected_in_a_layer_are_highlighted_everywhere(explored):
    dock, explorer, model = explored
    curves_of(model, "two").selected_data = {3, 5}
    first = len(dock.result.a)
    assert selected_rows(dock) == [first + 3, first + 5]
    assert selected_in_table(explorer) == [first + 3, first + 5]
    assert explorer.scatter.rows.tolist() == [first + 3, first + 5]
    assert "2 curves selected" in explorer.card.numbers.text()


def test_rows_selected_in_the_table_are_highlighted_in_both_layers(explored):
    dock, explorer, model = explored
    first = len(dock.result.a)
    explorer.table.sortByColumn(3, Qt.SortOrder.DescendingOrder)
    order = explorer.table.curves.order
    assert (
        dock.result.distances["distance_from_mean"].to_numpy()[order[0]]
        == dock.result.distances["distance_from_mean"].max()
    )
    explorer.table.selectRow(0)
    row = int(order[0])
    assert selected_rows(dock) == [row]
    name, index = ("one", row) if row < first else ("two", row - first)
    assert set(curves_of(model, name).selected_data) == {index}


def test_the_selection_is_kept_by_sorting(explored):
    dock, explorer, _ = explored
    dock.comparison.selection.pick([1, 20, 30])
    explorer.table.sortByColumn(3, Qt.SortOrder.AscendingOrder)
    assert selected_in_table(explorer) == [1, 20, 30]
    assert selected_rows(dock) == [1, 20, 30]


def test_clicking_a_point_selects_it_and_shift_adds(explored, qtbot):
    dock, explorer, _ = explored
    plot = explorer.scatter
    plot.resize(400, 300)
    for row, modifier in ((7, Qt.KeyboardModifier.NoModifier), (25, Qt.KeyboardModifier.ShiftModifier)):
        x, y = plot.widget_points()[row]
        qtbot.mouseClick(plot, Qt.MouseButton.LeftButton, modifier, QPoint(round(x), round(y)))
    places = plot.widget_points()
    for row, one in zip((7, 25), selected_rows(dock), strict=True):
        assert np.linalg.norm(places[row] - places[one]) < 2


def test_a_lasso_selects_the_points_inside(explored, qtbot):
    dock, explorer, _ = explored
    plot = explorer.scatter
    plot.resize(400, 300)
    places = plot.widget_points()
    x0, y0 = np.median(places, axis=0)
    corners = [(x0 - 90, y0 - 60), (x0 + 90, y0 - 60), (x0 + 90, y0 + 60), (x0 - 90, y0 + 60)]
    drag(plot, corners)
    expected = (np.abs(places[:, 0] - x0) < 90) & (np.abs(places[:, 1] - y0) < 60)
    assert 1 < expected.sum() < len(places)
    assert selected_rows(dock) == np.flatnonzero(expected).tolist()
    drag(plot, [(x0, y0), (x0 + 30, y0 + 1), (x0 + 1, y0 + 2)])


def drag(widget, corners, kind=None):
    from qtpy.QtWidgets import QApplication

    kinds = [QMouseEvent.Type.MouseButtonPress, *[QMouseEvent.Type.MouseMove] * (len(corners) - 2)]
    kinds = [*kinds, QMouseEvent.Type.MouseButtonRelease] if kind is None else [kind]
    for kind, (x, y) in zip(kinds, corners, strict=True):
        button = Qt.MouseButton.LeftButton
        place = QPointF(float(x), float(y))
        event = QMouseEvent(kind, place, place, button, button, Qt.KeyboardModifier.NoModifier)
        QApplication.sendEvent(widget, event)


def test_clicking_a_curve_selects_it_unless_the_active_layer_is_edited(finished_dock, model):
    one, two = curves_of(model, "one"), curves_of(model, "two")
    two.visible = False
    press_on_canvas(model, position_inside(one, 4))
    assert selected_rows(finished_dock) == [4]
    model.layers.selection.active = model.layers["one"]
    press_on_canvas(model, position_inside(one, 9), modifiers=("Shift",))
    assert selected_rows(finished_dock) == [4, 9]
    press_on_canvas(model, position_inside(one, 5), position_inside(one, 4))
    assert selected_rows(finished_dock) == [4, 9]
    press_on_canvas(model, (-1000, -1000))
    assert selected_rows(finished_dock) == []
    two.visible = True
    press_on_canvas(model, position_inside(two, 6))
    assert selected_rows(finished_dock) == [len(finished_dock.result.a) + 6]
    painted = model.add_labels(np.zeros((9, 9), int), name="painted")
    painted.mode = "paint"
    press_on_canvas(model, position_inside(two, 5))
    assert selected_rows(finished_dock) == [len(finished_dock.result.a) + 6]
    painted.mode = "pan_zoom"
    press_on_canvas(model, position_inside(two, 5))
    assert selected_rows(finished_dock) == [len(finished_dock.result.a) + 5]


def test_shift_dragging_on_the_canvas_selects_the_curves_inside(explored):
    dock, _, model = explored
    one, two = curves_of(model, "one"), curves_of(model, "two")
    two.visible = False
    centres = np.array([one.data_to_world(curve.mean(axis=0)) for curve in one.data])
    (low_y, low_x), (high_y, high_x) = centres.min(axis=0) - 1, np.median(centres, axis=0)
    corners = [(low_y, low_x), (low_y, high_x), (high_y, high_x), (high_y, low_x)]
    drawn = []
    dock.comparison.selection.drawing.connect(drawn.append)
    press_on_canvas(model, *corners, modifiers=("Shift",))
    expected = np.flatnonzero((centres < (high_y, high_x)).all(axis=1)).tolist()
    assert 1 < len(expected) < len(centres)
    assert selected_rows(dock) == expected
    assert drawn == [True] * 3 + [False]


def test_the_curve_under_the_mouse_is_highlighted_in_every_view(explored, qtbot):
    dock, explorer, model = explored
    selection, one = dock.comparison.selection, curves_of(model, "one")
    curves_of(model, "two").visible = False
    move_on_canvas(model, position_inside(one, 4))
    assert selection.hovered_row == 4
    move_on_canvas(model, (-1000, -1000))
    assert selection.hovered_row == -1
    table, first = explorer.table, explorer.gallery.buttons[0]
    first.hovered.emit(first.row)
    assert set(one.selected_data) == {first.row}
    place = table.curves.index(int(np.flatnonzero(table.curves.order == first.row)[0]), 0)
    assert table.curves.data(place, Qt.ItemDataRole.BackgroundRole) is not None
    table.entered.emit(table.curves.index(7, 0))
    assert selection.hovered_row == table.curves.order[7]
    assert selected_rows(dock) == []
    plot = explorer.scatter
    plot.resize(400, 300)
    drag(plot, [plot.widget_points()[9]], kind=QMouseEvent.Type.MouseMove)
    near = np.linalg.norm(plot.widget_points()[selection.hovered_row] - plot.widget_points()[9])
    assert near < 2
    assert set(one.selected_data) | set(curves_of(model, "two").selected_data)


def test_the_camera_moves_only_for_selections_outside_the_canvas(finished_dock, explorer, model, qtbot):
    bench = Bench(model)
    qtbot.addWidget(bench)
    one = curves_of(model, "one")
    model.layers.selection.active = one
    move, zoom = model.scene.camera.center, model.scene.camera.zoom
    press_on_canvas(model, position_inside(one, 4))
    qtbot.wait(50)
    assert (model.scene.camera.center, model.scene.camera.zoom) == (move, zoom)
    explorer.table.selectRow(0)
    row = int(explorer.table.curves.order[0])
    outline = finished_dock.comparison.curves.outline(row)
    middle = (outline.min(axis=0) + outline.max(axis=0)) / 2
    qtbot.waitUntil(lambda: np.allclose(model.scene.camera.center[-2:], middle))
    assert model.scene.camera.zoom > zoom


def test_curves_cannot_be_dragged(explored):
    _, _, model = explored
    assert not curves_of(model, "one").editable
    assert str(curves_of(model, "one").mode) == "pan_zoom"


def test_every_view_calls_a_renamed_image_by_its_new_name(finished_dock, explorer, model):
    finished_dock.comparison.selection.pick([1, 2])
    model.layers["one"].name = "first"
    assert "● first" in explorer.scatter.toolTip()
    assert "first" in explorer.gallery.buttons[0].toolTip()
    assert {explorer.table.curves.index(row, 0).data() for row in range(len(finished_dock.result.a))} == {"first"}
    assert set(finished_dock.result.to_dataframe()["sample"]) == {"first", "two"}
    assert selected_in_table(explorer) == [1, 2]


def test_another_result_or_opening_connects_the_views_once(finished_dock, explorer, model, qtbot):
    finished_dock.comparison.selection.pick([1, 2])
    run(finished_dock, qtbot)
    assert selected_rows(finished_dock) == []
    assert selected_in_table(explorer) == []
    assert len(own_callbacks(model.mouse_drag_callbacks)) == 1
    assert explorer.table.curves.rowCount() == len(finished_dock.result.a) + len(finished_dock.result.b)
    finished_dock.show()
    finished_dock.hide()
    qtbot.waitUntil(lambda: not finished_dock.session.design.is_connected)
    assert own_callbacks(model.mouse_drag_callbacks) == []
    assert own_callbacks(model.mouse_move_callbacks) == []
    finished_dock.show()
    finished_dock.show()
    assert len(own_callbacks(model.mouse_drag_callbacks)) == 1
    model.layers.remove("one curves")  # the other views work without it
    finished_dock.comparison.selection.pick([2, len(finished_dock.result.a) + 2])
    assert selected_in_table(explorer) == [2, len(finished_dock.result.a) + 2]
    assert set(curves_of(model, "two").selected_data) == {2}


def test_the_axes_offer_distances_descriptors_and_coordinates(explored):
    dock, explorer, _ = explored
    names = [explorer.x.itemText(index) for index in range(explorer.x.count())]
    assert {"distance from the mean shape", "area (µm²)", "circularity", "undulation t1", "scale ℓ3"} <= set(names)
    explorer.x.setCurrentText("scale ℓ1")
    np.testing.assert_array_equal(explorer.scatter.points[:, 0], dock.result.l[:, 0])


def test_the_explorer_opens_in_the_viewer_and_again_after_closing(viewer, qtbot):
    add_spots(viewer, "one", "two")
    dock = open_answer(viewer, qtbot)
    run(dock, qtbot)
    press(dock.results.explore, qtbot)
    frame = dock.curve_window.explorer.parentWidget()
    assert frame.windowTitle() == "Curves"
    frame.close()
    qtbot.wait(50)
    gc.collect()
    press(dock.results.explore, qtbot)
    assert not dock.curve_window.explorer.parentWidget().isHidden()


@pytest.mark.parametrize(("height", "floats"), [(2000, False), (500, True)])
def test_the_explorer_floats_on_a_low_screen(viewer, qtbot, comparison, monkeypatch, height, floats):
    monkeypatch.setattr(QScreen, "availableGeometry", lambda _: QRect(0, 0, 1280, height))
    dock = open_answer(viewer, qtbot)
    show_given_result(comparison, viewer)
    press(dock.results.explore, qtbot)
    frame = dock.curve_window.explorer.parentWidget()
    assert frame.isFloating() == floats
    assert frame.minimumSizeHint().height() > dock.curve_window.explorer.scatter.minimumSizeHint().height()
    if floats:
        assert frame.geometry().bottomLeft() == viewer.window._qt_window.geometry().bottomLeft()


# The card ------------------------------------------------------------------------------------------------------


def test_the_card_shows_the_numbers_of_a_curve_with_their_units(explored):
    dock, explorer, _ = explored
    row = len(dock.result.a) + 2
    dock.comparison.selection.pick([row])
    text = explorer.card.numbers.text()
    assert f"<b>two</b>, curve {dock.result.b.ids[2]}" in text
    assert f"area: {dock.result.b.features['area'].iloc[2]:.4g} µm²" in text
    assert f"distance from the mean shape: {dock.result.distances['distance_from_mean'].iloc[row]:.4g}" in text
    assert dock.result.why_unusual(row) in text


def test_clicking_a_neighbor_shows_it_in_the_card(explored, qtbot):
    dock, explorer, _ = explored
    dock.comparison.selection.pick([0])
    button = explorer.card.buttons[4]
    assert button.side == "B"
    press(button, qtbot)
    assert selected_rows(dock) == [button.row]


def test_the_gallery_shows_typical_and_unusual_curves_of_each_image(explored, qtbot):
    dock, explorer, _ = explored
    product = dock.result.distances["distance_from_mean"].to_numpy()
    first = len(dock.result.a)
    (usual, unusual), _ = nearest_and_farthest(dock.result)
    assert product[usual].max() <= np.sort(product[:first])[5]
    assert product[unusual[0]] == product[:first].max()
    assert len(explorer.gallery.buttons) == 24
    assert [button.side for button in explorer.gallery.buttons] == ["A"] * 12 + ["B"] * 12
    press(explorer.gallery.buttons[20], qtbot)
    assert selected_rows(dock) == [explorer.gallery.buttons[20].row]


# Excluding -----------------------------------------------------------------------------------------------------


def test_an_excluded_curve_is_omitted_from_the_next_run_and_can_be_restored(finished_dock, explorer, model, qtbot):
    number = len(finished_dock.result.a)
    one = finished_dock.result.a.ids[4]
    pixels = model.layers["one"].data.copy()
    finished_dock.comparison.selection.pick([4])
    choose_for_selected(explorer.card, "Leave out")
    assert finished_dock.state == "stale"
    assert curves_of(model, "one").features["excluded"].tolist() == [index == 4 for index in range(number)]
    assert np.asarray(curves_of(model, "one").face_color)[4, 3] == 0
    assert "1 curve excluded manually" in finished_dock.excluded.label.text()
    with qtbot.waitSignal(finished_dock.finished):
        press(finished_dock.stale.button, qtbot)
    assert finished_dock.state == "done"
    assert one not in finished_dock.result.a.ids
    assert finished_dock.result.a.dropped[BY_HAND] == 1
    press(finished_dock.excluded.button, qtbot)
    assert finished_dock.state == "stale"
    run(finished_dock, qtbot)
    assert len(finished_dock.result.a) == number
    np.testing.assert_array_equal(model.layers["one"].data, pixels)


def test_exclusions_are_undone_end_with_other_outlines_and_follow_a_swap(finished_dock, explorer, qtbot):
    finished_dock.comparison.selection.pick([4])
    choose_for_selected(explorer.card, "Leave out")
    assert includes_again(explorer.card)
    choose_for_selected(explorer.card, "Include again")
    assert finished_dock.state == "done"
    assert finished_dock.excluded.isHidden()
    choose_for_selected(explorer.card, "Leave out")
    swap(finished_dock)
    assert not finished_dock.excluded.isHidden()
    set_choices(finished_dock.session.choices, min_area=30)
    assert finished_dock.excluded.isHidden()


# A beside B ----------------------------------------------------------------------------------------------------


def test_a_and_b_are_side_by_side_with_their_curves(finished_dock, model, qtbot):
    model.add_image(spots(6), name="other")
    grid = model.canvas.grid
    toggle_side_by_side(finished_dock)
    assert grid.enabled
    names = [layer.name for layer in model.layers]
    assert names == ["one", "one curves", "two", "two curves", "other"]
    cells = [grid.position(index, model.layers) for index in range(5)]
    assert cells[0] == cells[1] == (0, 0)
    assert cells[2] == cells[3] == (0, 1)
    run(finished_dock, qtbot)
    assert [layer.name for layer in model.layers] == names
    toggle_side_by_side(finished_dock)
    assert not grid.enabled
    assert grid.stride == 1


# Keys and words ------------------------------------------------------------------------------------------------


@pytest.fixture
def shown(bare_dock, qtbot):
    bare_dock.resize(420, 900)
    with qtbot.waitExposed(bare_dock):
        bare_dock.show()
    bare_dock.activateWindow()
    qtbot.waitUntil(bare_dock.isActiveWindow)
    return bare_dock


def test_enter_runs_and_escape_cancels_from_any_control(shown, qtbot, monkeypatch):
    monkeypatch.setattr(comparing, "compare_groups", slow)
    for name in ("landmarks", "measure", "reflections"):
        for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            control = shown.settings_form.controls[name]
            control.setFocus()
            qtbot.keyClick(control, key)
            assert shown.state == "running"
            qtbot.keyClick(shown.settings_form.controls["rank"], Qt.Key.Key_Escape)
            assert shown.state == "ready"


def test_every_control_is_described(explored):
    dock, explorer, _ = explored
    for parent in (dock, explorer):
        for kind in (QAbstractButton, QAbstractSpinBox, QComboBox):
            for control in parent.findChildren(kind):
                name = control.objectName()
                if name.startswith(("qt_", "Scroll")) or "qt_" in str(control.parentWidget().objectName()):
                    continue
                assert control.toolTip() or control.parentWidget().toolTip(), (kind, control.text(), name)


def test_every_setting_states_default_and_unit(explored):
    dock, _, _ = explored
    for name, control in dock.settings_form.controls.items():
        assert "Default" in control.toolTip(), name


def test_the_color_bar_counts_every_curve_clips_on_request_and_states_units(finished_dock):
    shares = finished_dock.color_by.colorbar.shares()
    assert [share.sum() for share in shares] == pytest.approx([1, 1])
    finished_dock.color_by.percentile.setValue(50)
    high = np.percentile(finished_dock.result.distances["distance_from_mean"], 50)
    assert next(iter(finished_dock.comparison.curves)).face_contrast_limits[1] == pytest.approx(high)
    assert finished_dock.color_by.colorbar.labels[-1] == f"≥ {high:.3g}"
    finished_dock.color_by.percentile.setValue(100)
    assert "≥" not in finished_dock.color_by.colorbar.labels[-1]
    finished_dock.color_by.choice.setCurrentIndex(list(COLORINGS).index("area"))
    assert finished_dock.color_by.colorbar.labels[-1].endswith("µm²")
    finished_dock.color_by.choice.setCurrentIndex(list(COLORINGS).index("image"))
    assert finished_dock.color_by.colorbar.labels == ["one", "", "two"]


def test_deleted_curves_are_shown_again(bare_dock, model, qtbot):
    run(bare_dock, qtbot)
    toggle_side_by_side(bare_dock)
    assert bare_dock.redraw.isHidden()
    bare_dock.comparison.exclude([2])
    model.layers.remove(curves_of(model, "one"))
    model.layers.remove(curves_of(model, "two"))
    bare_dock.comparison.exclude([2])  # so that nothing is out of date
    bare_dock.comparison.set_coloring("area", 98)
    qtbot.waitUntil(lambda: bare_dock.redraw.label.text() == "The curves of one, two were deleted.")
    result = bare_dock.result
    press(bare_dock.redraw.button, qtbot)
    qtbot.waitUntil(lambda: not bare_dock.comparison.busy)
    assert bare_dock.result is result
    assert curves_of(model, "one").features["painted"].equals(curves_of(model, "one").features["area"])
    assert curves_of(model, "two").visible
    assert bare_dock.redraw.isHidden()
    assert not bare_dock.results.message.text()
