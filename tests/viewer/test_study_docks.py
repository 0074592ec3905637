"""The docks of studies as a person uses them: choose, run, watch, cancel, click."""

import time

import numpy as np
import pytest
from napari.components import ViewerModel
from qtpy.QtCore import QEvent, QPoint, Qt
from qtpy.QtGui import QHelpEvent
from qtpy.QtWidgets import QApplication

from docks import press, spots
from napari_shape_ensembles import decision_landscape, extract_curves
from napari_shape_ensembles.progress import report, reporting
from napari_shape_ensembles.viewer import landscape_dock as landscape_module
from napari_shape_ensembles.viewer import plot_view
from napari_shape_ensembles.viewer.landscape_dock import LandscapeDock
from napari_shape_ensembles.viewer.smoothing_dock import SmoothingDock

PLUGIN = "napari-shape-ensembles"


def labels_of(seed, *, size=12.0):
    from skimage.measure import label

    return label(spots(seed, size=size, rows=4, noise=0) > 0.5).astype(np.int32)


@pytest.fixture
def model():
    """A viewer without a window, with two labels layers and an image."""
    viewer = ViewerModel()
    viewer.add_labels(labels_of(1), name="one")
    viewer.add_labels(labels_of(2, size=15.0), name="two")
    viewer.add_image(spots(3, rows=4), name="three")
    return viewer


def quick(dock):
    dock.settings.load({"permutations": 99, "significance": 0.05, "landmarks": 40, "rank": 5})
    dock.ranges["ranks"].setText("2, 5-15:5")
    dock.ranges["landmarks"].setText("24, 40")
    return dock


@pytest.fixture
def landscape_dock(model, qtbot):
    dock = LandscapeDock(model)
    qtbot.addWidget(dock, before_close_func=lambda dock: settle(dock, qtbot))
    dock.sides.choose([model.layers["one"]], [model.layers["two"]])
    return quick(dock)


@pytest.fixture
def smoothing_dock(model, qtbot):
    dock = SmoothingDock(model)
    qtbot.addWidget(dock, before_close_func=lambda dock: settle(dock, qtbot))
    dock.ranges["sigmas"].setText("0-3")
    return quick(dock)


def settle(dock, qtbot):
    dock.cancel()
    dock.choice.rest()
    qtbot.waitUntil(lambda: not dock.view.busy and not dock._redraw.isActive(), timeout=20_000)


def run(dock, qtbot):
    with qtbot.waitSignal(dock.finished, timeout=60_000):
        press(dock.run_button, qtbot)
    qtbot.waitUntil(lambda: not dock.view.busy, timeout=20_000)
    return dock.result


def click(dock, qtbot, axes, x, y):
    place = dock.view.place(axes, x, y)
    qtbot.mouseClick(dock.view, Qt.MouseButton.LeftButton, pos=QPoint(*map(round, place)))


def test_a_run_ends_with_the_landscape_of_the_two_layers(landscape_dock, model, qtbot):
    result = run(landscape_dock, qtbot)
    a, b = (extract_curves(model.layers[name].data) for name in ("one", "two"))
    expected = decision_landscape(
        a, b, ranks=[2, 5, 10, 15], landmarks=[24, 40], settings=landscape_dock.settings.analysis()
    )
    np.testing.assert_array_equal(result.mmd, expected.mmd)
    assert result.complete
    assert landscape_dock.answer.text() == result.summary()
    assert len(landscape_dock.view.axes) == 3
    drawn = landscape_dock.view.axes[1].images[0].get_array().filled(np.nan)
    np.testing.assert_array_equal(drawn, result.mmd)


def test_another_test_is_drawn_when_chosen(landscape_dock, qtbot):
    result = run(landscape_dock, qtbot)
    with qtbot.waitSignal(landscape_dock.view.drawn, timeout=20_000):
        landscape_dock.shown.setCurrentIndex(landscape_dock.shown.findData("scale"))
    np.testing.assert_array_equal(landscape_dock.view.axes[1].images[0].get_array(), result.scale.mmd)


def test_settings_in_use_are_framed_and_the_frame_follows_the_form(landscape_dock, qtbot):
    run(landscape_dock, qtbot)
    assert landscape_dock.view.axes[1].patches[0].get_xy() == (0.5, 0.5)
    with qtbot.waitSignal(landscape_dock.view.drawn, timeout=20_000):
        landscape_dock.settings.controls["rank"].setValue(15)
    assert landscape_dock.view.axes[1].patches[0].get_xy() == (2.5, 0.5)


def test_results_show_as_they_come_and_stay_when_cancelled(landscape_dock, qtbot):
    landscape_dock.ranges["ranks"].setText("1-28")
    landscape_dock.ranges["landmarks"].setText("100-2000:50")
    landscape_dock.settings.load({"permutations": 5000})
    press(landscape_dock.run_button, qtbot)
    qtbot.waitUntil(lambda: len(landscape_dock.view.axes) == 3, timeout=60_000)
    assert landscape_dock.runner.busy
    assert "landmarks: " in landscape_dock.step.text()
    started = time.perf_counter()
    with qtbot.waitSignal(landscape_dock.finished, timeout=1000):
        press(landscape_dock.cancel_button, qtbot)
    assert time.perf_counter() - started < 1
    kept = landscape_dock.result
    assert kept.done_something
    assert not kept.complete
    assert landscape_dock.answer.text().startswith("Cancelled. So far: one (16 curves) and two (16 curves)")
    assert landscape_dock.run_button.isEnabled()
    qtbot.wait(300)
    assert landscape_dock.result is kept


def test_a_cell_under_the_mouse_is_described_and_empty_places_are_not(landscape_dock, qtbot, monkeypatch):
    result = run(landscape_dock, qtbot)
    words = landscape_dock.describe(1, 2.2, 0.8)
    assert words.startswith(f"40 landmarks, rank 10: {result.case[1, 2]} (undulation p = ")
    assert landscape_dock.describe(1, 9, 0) == ""
    assert landscape_dock.describe(0, 2, 0.1) == ""
    shown = []
    monkeypatch.setattr(plot_view.QToolTip, "showText", lambda _, text, __: shown.append(text))
    point = QPoint(*map(round, landscape_dock.view.place(1, 2, 1)))
    help_event = QHelpEvent(QEvent.Type.ToolTip, point, landscape_dock.view.mapToGlobal(point))
    QApplication.sendEvent(landscape_dock.view, help_event)
    assert shown == [words]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("ranks", "2, many", 'Ranks: "many" is no number'),
        ("landmarks", "4", "Landmarks: 4 is too small: take at least 20"),
    ],
)
def test_ranges_that_cannot_be_read_give_their_reason(landscape_dock, name, text, words):
    landscape_dock.ranges[name].setText(text)
    assert words in landscape_dock.reason.text()
    assert not landscape_dock.run_button.isEnabled()


STALE_SOON = 2000


def out_of_date(dock):
    return "" if dock.stale.isHidden() else dock.stale.words.text()


def test_a_landscape_says_what_has_changed_and_holds_again_when_it_is_undone(landscape_dock, model, qtbot):
    dock, ranks = landscape_dock, landscape_dock.ranges["ranks"]
    first = run(dock, qtbot)
    written = ranks.text()
    permutations = dock.settings.controls["permutations"]
    pixels = model.layers["one"].data
    for change, back, words in (
        (lambda: ranks.setText("2, 5"), lambda: ranks.setText(written.replace(" ", "")), 'the range "Ranks"'),
        (lambda: ranks.setText("many"), lambda: ranks.setText(written), "no number or range"),
        (lambda: permutations.setValue(199), lambda: permutations.setValue(99), "permutations was 99 and is 199"),
        (lambda: press(dock.sides.swap, qtbot), lambda: press(dock.sides.swap, qtbot), "other layers are chosen"),
        (
            lambda: setattr(model.layers["one"], "data", labels_of(7)),
            lambda: setattr(model.layers["one"], "data", pixels),
            "one was changed",
        ),
    ):
        change()
        qtbot.waitUntil(lambda words=words: words in out_of_date(dock), timeout=STALE_SOON)
        back()
        qtbot.waitUntil(lambda: not out_of_date(dock), timeout=STALE_SOON)
    assert dock.result is first


def test_settings_that_a_study_sweeps_leave_its_result(landscape_dock, smoothing_dock, qtbot):
    smoothing_dock.ranges["sigmas"].setText("0, 1")
    for dock in (landscape_dock, smoothing_dock):
        run(dock, qtbot)
        dock.settings.controls["rank"].setValue(7)
        dock.settings.controls["landmarks"].setValue(77)
        assert not out_of_date(dock)
    smoothing_dock.settings.controls["outline_smoothing"].setValue(3)
    assert not out_of_date(smoothing_dock)
    landscape_dock.settings.controls["outline_smoothing"].setValue(3)
    assert "outline smoothing was 1.0 and is 3.0" in out_of_date(landscape_dock)


def test_one_press_renews_a_study_that_is_out_of_date(smoothing_dock, model, qtbot):
    smoothing_dock.ranges["sigmas"].setText("0, 1")
    run(smoothing_dock, qtbot)
    smoothing_dock.merge.click()
    assert '"Smooth each image as a whole" was changed' in out_of_date(smoothing_dock)
    tick(smoothing_dock.groups.a, "three")
    assert "other layers are chosen" in out_of_date(smoothing_dock)
    with qtbot.waitSignal(smoothing_dock.finished, timeout=60_000):
        press(smoothing_dock.stale.again, qtbot)
    assert not out_of_date(smoothing_dock)
    model.layers.remove("three")
    assert "other layers are chosen" in out_of_date(smoothing_dock)
    assert smoothing_dock.stale.again.isEnabled()
    model.layers.remove("one")
    assert not smoothing_dock.stale.again.isEnabled()


def test_a_layer_edited_during_a_study_gives_a_result_that_is_out_of_date_at_once(landscape_dock, model, qtbot):
    with qtbot.waitSignal(landscape_dock.finished, timeout=60_000):
        press(landscape_dock.run_button, qtbot)
        model.layers["one"].data = labels_of(7)
    assert "one was changed" in out_of_date(landscape_dock)


def test_a_run_cancelled_at_once_leaves_the_finished_study(landscape_dock, qtbot):
    before = run(landscape_dock, qtbot)
    landscape_dock.ranges["landmarks"].setText("100-2000:50")
    press(landscape_dock.run_button, qtbot)
    assert not out_of_date(landscape_dock)
    press(landscape_dock.cancel_button, qtbot)
    assert landscape_dock.result is before
    expected = f"Cancelled. This is the result of the run before. {before.summary()}"
    assert landscape_dock.answer.text() == expected
    assert landscape_dock.view.isVisibleTo(landscape_dock)
    assert 'the range "Landmarks" was changed' in out_of_date(landscape_dock)


@pytest.mark.parametrize("late", [False, True], ids=["at once", "half way"])
def test_a_run_that_fails_leaves_the_finished_study(landscape_dock, qtbot, monkeypatch, late):
    before = run(landscape_dock, qtbot)
    works = landscape_module.run_landscape

    def failing(*args):
        def fail_half_way(step):
            report(step.name, step.done, step.total, step.result)
            if step.result is not None:
                raise ValueError("the reason")

        if late:
            with reporting(fail_half_way):
                works(*args)
        raise ValueError("the reason")

    monkeypatch.setattr(landscape_module, "run_landscape", failing)
    run(landscape_dock, qtbot)
    assert landscape_dock.result is before
    assert landscape_dock.answer.text().startswith("⚠ the reason")
    assert before.summary() in landscape_dock.answer.text()
    assert landscape_dock.view.isVisibleTo(landscape_dock)
    assert not out_of_date(landscape_dock)


def test_a_closed_study_listens_to_nothing_and_sees_at_reopening_what_has_changed(landscape_dock, model, qtbot):
    layer = model.layers["one"]
    before = len(layer.events.data.callbacks)
    run(landscape_dock, qtbot)
    landscape_dock.show()
    landscape_dock.hide()
    qtbot.waitUntil(lambda: not landscape_dock.sides.following, timeout=2000)
    assert len(layer.events.data.callbacks) == before
    layer.data = labels_of(7)
    landscape_dock.show()
    assert "one was changed" in out_of_date(landscape_dock)


def test_errors_end_in_the_panel(landscape_dock, model, qtbot):
    model.layers["two"].data = np.zeros((50, 50), dtype=np.int32)
    run(landscape_dock, qtbot)
    assert "⚠ two has no usable outline" in landscape_dock.answer.text()
    assert landscape_dock.run_button.isEnabled()


def test_a_plot_that_fails_says_so_and_the_next_one_is_drawn(landscape_dock, qtbot):
    def failing(figure):
        raise ZeroDivisionError("no reason")

    with qtbot.waitSignal(landscape_dock.view.drawn, timeout=20_000):
        landscape_dock.view.show_plot(failing)
    assert "ZeroDivisionError: no reason" in landscape_dock.view.failure
    assert len(run(landscape_dock, qtbot).table()) == 8
    assert not landscape_dock.view.failure
    assert len(landscape_dock.view.axes) == 3


def tick(group, name, state=Qt.CheckState.Checked):
    (item,) = group.findItems(name, Qt.MatchFlag.MatchExactly)
    item.setCheckState(state)


def test_groups_hold_the_layers_that_are_ticked(smoothing_dock, model, qtbot):
    names = [[layer.name for layer in group] for group in smoothing_dock.groups.chosen()]
    assert names == [["one"], ["two"]]
    tick(smoothing_dock.groups.a, "three")
    assert [layer.name for layer in smoothing_dock.groups.chosen()[0]] == ["one", "three"]
    model.layers["one"].name = "first"
    assert [layer.name for layer in smoothing_dock.groups.chosen()[0]] == ["first", "three"]
    tick(smoothing_dock.groups.b, "three")
    assert '"three" is in both groups' in smoothing_dock.reason.text()
    model.layers.remove("two")
    tick(smoothing_dock.groups.b, "three", Qt.CheckState.Unchecked)
    assert "at least one layer in A and one in B" in smoothing_dock.reason.text()
    assert not smoothing_dock.run_button.isEnabled()


def test_a_smoothing_study_of_groups_ends_with_a_recommendation(smoothing_dock, model, qtbot):
    smoothing_dock.groups.tick([model.layers["one"], model.layers["three"]], [model.layers["two"]])
    result = run(smoothing_dock, qtbot)
    assert result.complete
    assert result.sigmas.tolist() == [0, 1, 2, 3]
    assert result.sizes[:, 0].tolist() == [32] * 4
    assert smoothing_dock.answer.text() == result.summary()
    np.testing.assert_allclose(smoothing_dock.view.axes[2].lines[0].get_ydata(), result.sizes[:, 0])
    assert "σ = 2 px: 32 and 16 curves; undulation differs in" in smoothing_dock.describe(0, 2.1, 0.1)


def test_objects_merge_when_images_are_smoothed_as_a_whole(smoothing_dock, model, qtbot):
    crowded = np.zeros((120, 120), dtype=np.int32)
    for index in range(16):
        row, column = divmod(index, 4)
        crowded[10 + row * 25 : 30 + row * 25, 10 + column * 24 : 32 + column * 24] = index + 1
    model.layers["one"].data = crowded
    smoothing_dock.ranges["sigmas"].setText("3")
    apart = run(smoothing_dock, qtbot).sizes[0, 0]
    smoothing_dock.merge.setChecked(True)
    assert run(smoothing_dock, qtbot).sizes[0, 0] < apart == 16


def test_pixel_sizes_that_differ_are_refused(smoothing_dock, model, qtbot):
    model.layers["two"].scale = (0.5, 0.5)
    run(smoothing_dock, qtbot)
    assert "The pixel sizes differ (one: 1 × 1 pixel, two: 0.5 × 0.5 pixel)" in smoothing_dock.answer.text()


def test_every_control_has_a_tooltip(smoothing_dock, landscape_dock):
    for dock in (smoothing_dock, landscape_dock):
        for control in (*dock.ranges.values(), dock.run_button, dock.cancel_button, dock.shown, dock.view):
            assert control.toolTip()
    assert smoothing_dock.merge.toolTip()
    assert smoothing_dock.groups.a.toolTip()


@pytest.fixture
def shown(make_napari_viewer, qtbot):
    """Return a function that opens a dock through the manifest, on the screen, beside two labels layers."""
    viewer = make_napari_viewer(show=True)
    viewer.add_labels(labels_of(1), name="one")
    viewer.add_labels(labels_of(2, size=15.0), name="two")

    def show(name):
        _, dock = viewer.window.add_plugin_dock_widget(PLUGIN, name)
        docks.append(dock)
        return viewer, quick(dock)

    docks = []
    yield show
    for dock in docks:
        settle(dock, qtbot)


def test_clicking_a_cell_loads_its_settings_into_compare_shapes(shown, qtbot):
    viewer, dock = shown("Decision landscape")
    press(dock.sides.swap, qtbot)
    dock.settings.load({"measure": "arc-length", "outline_smoothing": 2.0})
    run(dock, qtbot)
    click(dock, qtbot, 1, 2, 0)
    _, compare = viewer.window.add_plugin_dock_widget(PLUGIN, "Compare shapes")
    assert compare.settings.analysis() == dock.result.settings_at(24, 10)
    assert compare.settings.segmentation().outline_smoothing == 2.0
    assert [layer.name for layer in compare.sides.pair.chosen()] == ["two", "one"]
    assert "24 landmarks, rank 10" in dock.picked.text()
    with qtbot.waitSignal(compare.finished, timeout=30_000):
        press(compare.run_button, qtbot)
    assert compare.result.case == dock.result.case[0, 2]
    assert compare.result.undulation.p_value == pytest.approx(dock.result.p_value[0, 2])


def test_clicking_a_sigma_loads_it_into_compare_shapes(shown, qtbot):
    viewer, dock = shown("Smoothing study")
    dock.ranges["sigmas"].setText("0, 2.5")
    run(dock, qtbot)
    click(dock, qtbot, 0, 2.4, dock.result.mean_mmd()[1])
    _, compare = viewer.window.add_plugin_dock_widget(PLUGIN, "Compare shapes")
    assert compare.settings.segmentation().outline_smoothing == 2.5
    assert [layer.name for layer in compare.sides.pair.chosen()] == ["one", "two"]


def test_the_plot_follows_the_theme_and_closing_stops_a_run(shown, qtbot):
    viewer, dock = shown("Decision landscape")
    run(dock, qtbot)
    dark = dock.view.axes[0].get_facecolor()
    with qtbot.waitSignal(dock.view.drawn, timeout=20_000):
        viewer.theme = "light"
    light = dock.view.axes[0].get_facecolor()
    assert sum(light[:3]) > sum(dark[:3]) + 1
    dock.ranges["landmarks"].setText("100-2000:50")
    press(dock.run_button, qtbot)
    dock.parentWidget().close()
    qtbot.waitUntil(lambda: not dock.runner.busy, timeout=2000)
    assert not dock.sides.following
