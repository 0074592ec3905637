"""The pages of the studies as a user operates them: choose, run, watch, cancel, click."""

import numpy as np
import pytest
from napari.components import ViewerModel
from qtpy.QtCore import QEvent, QPoint, Qt
from qtpy.QtGui import QHelpEvent
from qtpy.QtWidgets import QApplication

from docks import choose_several, chosen_names, exclude, out_of_date, press, set_choices, status, swap
from image_makers import labels_of, spots
from napari_shape_ensembles.comparison.verdict import ROW_WORDS
from napari_shape_ensembles.viewer import studying
from napari_shape_ensembles.viewer.docks.study import LandscapePage, SmoothingPage, StudyPage
from napari_shape_ensembles.viewer.panels import plot_view
from napari_shape_ensembles.viewer.session import Session

PLUGIN = "napari-shape-ensembles"


@pytest.fixture
def model():
    """A headless viewer model, with two label layers and an image."""
    viewer = ViewerModel()
    viewer.add_labels(labels_of(1), name="one")
    viewer.add_labels(labels_of(2, size=15.0), name="two")
    viewer.add_image(spots(3, rows=4), name="three")
    return viewer


def quick(dock):
    layers = dock.session.choices.viewer.layers
    dock.session.design.choose([layers["one"]], [layers["two"]])
    set_choices(dock.session.choices, permutations=99, significance=0.05, landmarks=40, rank=5)
    dock.ranges["ranks"].setText("2, 5-15:5")
    dock.ranges["landmarks"].setText("24, 40")
    return dock


@pytest.fixture
def landscape_dock(model, qtbot):
    dock = LandscapePage(model)
    qtbot.addWidget(dock, before_close_func=lambda dock: settle(dock, qtbot))
    return quick(dock)


@pytest.fixture
def smoothing_dock(model, qtbot):
    dock = SmoothingPage(model)
    qtbot.addWidget(dock, before_close_func=lambda dock: settle(dock, qtbot))
    dock.ranges["sigmas"].setText("0-3")
    return quick(dock)


def settle(dock, qtbot):
    dock.hide()
    qtbot.waitUntil(lambda: not dock.busy and not dock.drawing)


def run(dock, qtbot):
    with qtbot.waitSignal(dock.finished):
        press(dock.run_button, qtbot)
    qtbot.waitUntil(lambda: not dock.view.busy)
    return dock.result


def click(dock, qtbot, axes, x, y):
    place = dock.view.place(axes, x, y)
    qtbot.mouseClick(dock.view, Qt.MouseButton.LeftButton, pos=QPoint(*map(round, place)))


def test_a_run_shows_the_landscape_and_its_summary(landscape_dock, qtbot, monkeypatch):
    def failing(figure):
        raise ZeroDivisionError("no reason")

    view = landscape_dock.view
    with qtbot.waitSignal(view.drawn):
        view.show_plot(failing)
    assert "ZeroDivisionError: no reason" in view.failure
    result = run(landscape_dock, qtbot)
    assert len(result.table()) == 8
    assert not view.failure
    assert landscape_dock.answer.text() == result.summary()
    assert len(view.axes) == 3
    np.testing.assert_array_equal(view.axes[1].images[0].get_array().filled(np.nan), result.mmd)
    # The cell under the mouse is described.
    words = landscape_dock.describe(1, 2.2, 0.8)
    assert words.startswith(f"40 landmarks, rank 10: {ROW_WORDS[result.case[1, 2]]} (form p = ")
    assert landscape_dock.describe(1, 9, 0) == ""
    assert landscape_dock.describe(0, 2, 0.1) == ""
    shown = []
    monkeypatch.setattr(plot_view.QToolTip, "showText", lambda _, text, __: shown.append(text))
    point = QPoint(*map(round, view.place(1, 2, 1)))
    QApplication.sendEvent(view, QHelpEvent(QEvent.Type.ToolTip, point, view.mapToGlobal(point)))
    assert shown == [words]
    # The current settings are framed.
    assert view.axes[1].patches[0].get_xy() == (0.5, 0.5)
    with qtbot.waitSignal(view.drawn):
        set_choices(landscape_dock.session.choices, rank=15)
    assert view.axes[1].patches[0].get_xy() == (2.5, 0.5)
    # Another test is drawn when it is chosen.
    with qtbot.waitSignal(view.drawn):
        landscape_dock.shown.setCurrentIndex(landscape_dock.shown.findData("scale"))
    np.testing.assert_array_equal(view.axes[1].images[0].get_array(), result.scale.mmd)


def test_partial_results_are_shown_and_kept_on_cancel(landscape_dock, qtbot):
    landscape_dock.ranges["ranks"].setText("1-28")
    landscape_dock.ranges["landmarks"].setText("100-2000:50")
    set_choices(landscape_dock.session.choices, permutations=5000)
    press(landscape_dock.run_button, qtbot)
    qtbot.waitUntil(lambda: len(landscape_dock.view.axes) == 3)
    assert landscape_dock.busy
    assert "landmarks: " in landscape_dock.step.text()
    with qtbot.waitSignal(landscape_dock.finished):
        press(landscape_dock.cancel_button, qtbot)
    assert landscape_dock.answer.text().startswith("Cancelled. So far: one (16 curves) and two (16 curves)")
    assert landscape_dock.run_button.isEnabled()
    assert status(landscape_dock.session, "Trust").state == "open"  # not done


def test_an_invalid_range_is_reported(landscape_dock):
    landscape_dock.ranges["ranks"].setText("2, many")
    assert 'Ranks: "many" is not a number' in landscape_dock.reason.text()
    assert not landscape_dock.run_button.isEnabled()


def test_a_study_outlives_a_failed_run_and_detects_changes_on_reopening(landscape_dock, model, qtbot, monkeypatch):
    def failing(*_, **__):
        raise ValueError("the reason")

    layer = model.layers["one"]
    before = len(layer.events.data.callbacks)
    result = run(landscape_dock, qtbot)
    with monkeypatch.context() as patch:
        patch.setattr(studying, "landscape_of", failing)
        run(landscape_dock, qtbot)
    assert landscape_dock.result is result
    assert landscape_dock.answer.text().startswith("⚠ the reason")
    assert result.summary() in landscape_dock.answer.text()
    assert landscape_dock.view.isVisibleTo(landscape_dock)
    assert not out_of_date(landscape_dock)
    assert not landscape_dock.run_button.isHidden()
    landscape_dock.show()
    landscape_dock.hide()
    qtbot.waitUntil(lambda: not landscape_dock.session.design.is_connected)
    assert len(layer.events.data.callbacks) == before
    layer.data = labels_of(7)
    landscape_dock.show()
    assert "one was changed" in out_of_date(landscape_dock)
    assert landscape_dock.run_button.isHidden()  # since *Run again* is shown
    with qtbot.waitSignal(landscape_dock.finished):
        press(landscape_dock.stale.button, qtbot)
    assert not out_of_date(landscape_dock)
    assert not landscape_dock.run_button.isHidden()
    layer.data = layer.data[::-1].copy()  # while it is open
    qtbot.waitUntil(lambda: "one was changed" in out_of_date(landscape_dock))


def test_one_press_reruns_an_outdated_study(smoothing_dock, model, qtbot):
    smoothing_dock.ranges["sigmas"].setText("0, 1")
    run(smoothing_dock, qtbot)
    smoothing_dock.merge.click()
    assert '"Smooth each image as a whole" was changed' in out_of_date(smoothing_dock)
    choose_several(smoothing_dock, ["one", "three"], ["two"])
    assert "other layers are chosen" in out_of_date(smoothing_dock)
    assert not smoothing_dock.answer.isEnabled()
    with qtbot.waitSignal(smoothing_dock.finished):
        press(smoothing_dock.stale.button, qtbot)
    assert not out_of_date(smoothing_dock)
    assert smoothing_dock.answer.isEnabled()
    model.layers.remove("three")
    assert "a layer was deleted" in out_of_date(smoothing_dock)
    assert smoothing_dock.stale.button.isEnabled()
    model.layers.remove("one")
    assert not smoothing_dock.stale.button.isEnabled()


def test_a_reopened_dock_shows_the_previous_study(model, qtbot):
    dock = quick(LandscapePage(model))
    dock.show()
    result = run(dock, qtbot)
    dock.shown.setCurrentIndex(dock.shown.findData("scale"))
    dock.ranges["landmarks"].setText("24-40")
    qtbot.waitUntil(lambda: not dock.drawing)
    dock.close()
    dock.deleteLater()
    qtbot.waitUntil(lambda: not Session.of(model).choices.design.is_connected)
    again = LandscapePage(model)
    qtbot.addWidget(again, before_close_func=lambda dock: settle(dock, qtbot))
    with qtbot.waitSignal(again.view.drawn):
        again.show()
    assert again.result is result
    assert again.answer.text() == result.summary()
    assert again.ranges["ranks"].text() == "2, 5-15:5"
    assert again.ranges["landmarks"].text() == "24-40"
    assert 'the range "Landmarks"' in out_of_date(again)
    np.testing.assert_array_equal(again.view.axes[1].images[0].get_array(), result.scale.mmd)


def test_a_dock_destroyed_during_a_study_stops_it(model, qtbot):
    dock = quick(LandscapePage(model))
    dock.ranges["landmarks"].setText("100-2000:50")
    dock.show()
    press(dock.run_button, qtbot)
    task = dock.task
    qtbot.waitUntil(lambda: "landmarks: " in task.step.name)
    dock.deleteLater()
    del dock
    qtbot.waitUntil(lambda: not task.busy)
    assert task.answer.startswith("Cancelled.")
    assert not task.choices.design.is_connected


def test_choices_are_shared_between_docks(landscape_dock, smoothing_dock, model, qtbot):
    swap(landscape_dock)
    set_choices(landscape_dock.session.choices, rank=12)
    assert chosen_names(smoothing_dock) == [["two"], ["one"]]
    assert "rank 12" in smoothing_dock.line.text()
    landscape_dock.ranges["ranks"].setText("3")
    assert smoothing_dock.ranges["ranks"].text() == "2, 5-15:5"


def test_manually_excluded_curves_are_counted_and_can_be_restored(landscape_dock, smoothing_dock, model, qtbot):
    choices = landscape_dock.session.choices
    exclude(choices, model.layers["one"], "3")
    assert "1 curve excluded manually" in landscape_dock.excluded.label.text()
    assert smoothing_dock.excluded.isHidden()
    landscape_dock.excluded.button.click()
    assert landscape_dock.excluded.isHidden()


def test_a_smoothing_study_of_groups_shows_a_recommendation(smoothing_dock, model, qtbot):
    design = smoothing_dock.session.design
    design.choose([model.layers["one"], model.layers["three"]], [model.layers["two"]])
    result = run(smoothing_dock, qtbot)
    assert smoothing_dock.answer.text() == result.summary()
    np.testing.assert_allclose(smoothing_dock.view.axes[2].lines[0].get_ydata(), result.sizes[:, 0])
    assert "32 and 16 curves; 2 and 1 images cannot reach p ≤ 0.025 by perm" in smoothing_dock.describe(0, 2.1, 0.1)
    set_choices(smoothing_dock.session.choices, permute="curves")
    run(smoothing_dock, qtbot)
    assert "Smoothed by 2 px: 32 and 16 curves; form differs in" in smoothing_dock.describe(0, 2.1, 0.1)


def test_smoothing_as_a_whole_is_kept(smoothing_dock, model, qtbot):
    smoothing_dock.merge.click()
    assert smoothing_dock.smoothing.merge
    again = SmoothingPage(model)
    qtbot.addWidget(again)
    assert again.merge.isChecked()


@pytest.fixture
def shown(make_napari_viewer, qtbot):
    """Return a function that shows a tab of the bench's page *Trust* on a small screen, with two label layers."""
    viewer = make_napari_viewer(show=True)
    viewer.window.resize(1280, 800)
    viewer.add_labels(labels_of(1), name="one")
    viewer.add_labels(labels_of(2, size=15.0), name="two")
    bench = viewer.window.add_plugin_dock_widget(PLUGIN, "Shape bench")[1]
    pages = []

    def show(title):
        bench.show_part(title)
        pages.append(bench.pages["Trust"].currentWidget().findChild(StudyPage))
        return viewer, bench, quick(pages[0])

    yield show
    settle(pages[0], qtbot)


def assert_nothing_is_cramped(page, qtbot):
    qtbot.wait(100)
    for part in (*page.ranges.values(), page.run_button, page.line):
        assert part.visibleRegion().boundingRect() == part.rect(), part
    assert page.view.height() >= page.view.minimumSizeHint().height()
    assert not page.view.visibleRegion().isEmpty()


def test_a_landscape_in_a_window_fits_and_applies_a_clicked_cell(shown, qtbot):
    viewer, bench, dock = shown("Rank")
    swap(dock)
    set_choices(dock.session.choices, measure="arc-length", outline_smoothing=2.0)
    run(dock, qtbot)
    assert_nothing_is_cramped(dock, qtbot)

    dark = dock.view.axes[0].get_facecolor()
    with qtbot.waitSignal(dock.view.drawn):
        viewer.theme = "light"
    light = dock.view.axes[0].get_facecolor()
    assert sum(light[:3]) > sum(dark[:3]) + 1

    click(dock, qtbot, 1, 2, 0)
    assert bench.step == "Answer"
    answer = bench.pages["Answer"]
    assert answer.settings_form.value == dock.result.settings_at(24, 10)
    assert "24 landmarks, rank 10" in dock.picked.text()
    with qtbot.waitSignal(answer.finished):
        press(answer.run_button, qtbot)
    assert answer.result.case == dock.result.case[0, 2]
    assert answer.result.undulation.p_value == pytest.approx(dock.result.p_value[0, 2])


def test_a_smoothing_study_in_a_window_fits_and_applies_a_clicked_sigma(shown, qtbot):
    _, bench, dock = shown("Smoothing")
    dock.ranges["sigmas"].setText("0, 2.5")
    run(dock, qtbot)
    assert_nothing_is_cramped(dock, qtbot)
    click(dock, qtbot, 0, 2.4, dock.result.mean_mmd()[1])
    assert bench.step == "Answer"
    assert dock.session.choices.recipe.outline_smoothing == 2.5
