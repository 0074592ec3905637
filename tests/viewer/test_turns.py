"""User actions between event loop turns, while results arrive in parts."""

import threading

import npe2
import pytest
from napari.components import ViewerModel
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QApplication

from docks import (
    grid_of,
    includes_again,
    listeners,
    open_answer,
    press,
    run,
    save_as,
    set_choices,
    show_docks,
    toggle_side_by_side,
)
from image_makers import spots
from napari_shape_ensembles.viewer import comparing, inputs
from napari_shape_ensembles.viewer import task as tasks
from napari_shape_ensembles.viewer.task import JobRunner

PLUGIN = "napari-shape-ensembles"


@pytest.fixture
def stepped(monkeypatch):
    """Run event loop turns one by one, on request."""
    monkeypatch.setattr(JobRunner, "turn_pause_ms", 10**7)


def delivering(dock, qtbot):
    """Press *Run* and wait until the first curves arrive."""
    press(dock.run_button, qtbot)
    qtbot.waitUntil(lambda: dock.task.running and dock.task.step.name == "drawing curves")
    qtbot.waitUntil(lambda: dock.task.delivering)


def take_turns(dock):
    while dock.task.delivering:
        dock.task.advance(dock.task.steps)
        yield


# Run and cancel ------------------------------------------------------------------------------------------------


def test_a_run_cancelled_while_layers_are_copied_never_starts(bare_dock, qtbot, monkeypatch):
    started = []
    monkeypatch.setattr(comparing, "compare_groups", lambda *_: started.append(1))
    press(bare_dock.run_button, qtbot)
    assert bare_dock.state == "running"
    press(bare_dock.cancel_button, qtbot)
    qtbot.wait(100)
    assert not started
    assert bare_dock.state == "ready"


def test_large_images_are_copied_in_the_background_and_edits_detected(bare_dock, model, qtbot, monkeypatch):
    run(bare_dock, qtbot)
    expected, threads, meanwhile = bare_dock.result, [], []

    def copying(*given):
        threads.append(threading.get_ident())
        for act in meanwhile:
            act()
        return inputs.copy_pixels(*given)

    monkeypatch.setattr(tasks, "copy_pixels", copying)
    monkeypatch.setattr(tasks, "MAX_SYNC_COPY_BYTES", 1000)
    run(bare_dock, qtbot)
    assert (bare_dock.result.t == expected.t).all()
    assert threads
    assert threading.get_ident() not in threads
    assert bare_dock.state == "done"
    meanwhile.append(lambda: model.layers["one"].data.__setitem__((slice(None), slice(None, 40)), 0))
    run(bare_dock, qtbot)
    assert len(bare_dock.result.a) < len(expected.a)
    assert bare_dock.state == "stale"


def test_an_error_in_a_turn_is_shown_in_the_panel(bare_dock, qtbot, monkeypatch, caplog):
    def failing(*_, **__):
        raise KeyError("no such thing")

    monkeypatch.setattr(bare_dock.comparison.curves, "replace", failing)
    run(bare_dock, qtbot)
    assert "Unexpected error (KeyError" in bare_dock.verdict.sentence.text()
    assert bare_dock.state == "error"
    assert "a turn failed" in caplog.text
    monkeypatch.undo()
    run(bare_dock, qtbot)
    assert bare_dock.state == "done"


def test_an_error_that_cannot_be_shown_is_raised_and_the_dock_idle(bare_dock, monkeypatch):
    def failing(*_):
        raise KeyError("no such thing")

    monkeypatch.setattr(tasks, "source_of", failing)
    monkeypatch.setattr(bare_dock.task, "on_failed", failing)
    with pytest.raises(KeyError, match="no such thing"):
        bare_dock.task.run()
    assert not bare_dock.busy


@pytest.mark.parametrize("turn", [0, 2, 5])
def test_a_dock_closed_between_two_turns_is_disconnected(bare_dock, model, qtbot, stepped, turn):
    design, images = bare_dock.session.design, list(model.layers)
    bare_dock.show()
    bare_dock.hide()
    qtbot.waitUntil(lambda: not design.is_connected)
    resting = listeners(model, images)
    bare_dock.show()
    delivering(bare_dock, qtbot)
    for _ in zip(range(turn), take_turns(bare_dock), strict=False):
        pass
    bare_dock.hide()
    qtbot.waitUntil(lambda: not design.is_connected)
    assert bare_dock.result is not None
    assert not bare_dock.busy
    callbacks = *model.mouse_drag_callbacks, *model.mouse_move_callbacks
    assert bare_dock.comparison.curves not in [getattr(one, "__self__", None) for one in callbacks]
    assert listeners(model, images) == resting


# Outdated results and exclusions -------------------------------------------------------------------------------


def test_a_cancelled_check_keeps_the_reported_changes(finished_dock, qtbot):
    press(finished_dock.results.check, qtbot)
    set_choices(finished_dock.session.choices, rank=10)
    assert not finished_dock.stale.isHidden()
    press(finished_dock.cancel_button, qtbot)
    assert finished_dock.state == "stale"
    assert not finished_dock.stale.isHidden()


def test_the_card_of_another_curve_does_not_inherit_an_exclusion(finished_dock, qtbot):
    finished_dock.curve_window.open()
    explorer = finished_dock.curve_window.explorer
    qtbot.addWidget(explorer)
    finished_dock.comparison.exclude(3)
    explorer.selection.pick([3])
    assert includes_again(explorer.card)
    run(finished_dock, qtbot)
    explorer.selection.pick([3])
    assert not includes_again(explorer.card)
    assert finished_dock.comparison.excluded_rows() == frozenset()


def test_exclusions_made_before_and_during_a_check_are_kept(finished_dock, qtbot):
    finished_dock.comparison.exclude(3)
    with qtbot.waitSignal(finished_dock.finished):
        press(finished_dock.results.check, qtbot)
        finished_dock.comparison.exclude(5)
    (a, _) = finished_dock.comparison.curves
    assert a.features["excluded"].to_numpy().nonzero()[0].tolist() == [3, 5]
    finished_dock.curve_window.open()
    qtbot.addWidget(finished_dock.curve_window.explorer)
    finished_dock.comparison.selection.pick([5])
    assert includes_again(finished_dock.curve_window.explorer.card)


# Results that fail, come, and are deleted ----------------------------------------------------------------------


def test_a_failed_run_keeps_the_unsaved_result_recoverable(finished_dock, model, qtbot):
    toggle_side_by_side(finished_dock)
    grid = model.canvas.grid
    before = finished_dock.result
    model.layers["two"].units = ("pixel", "pixel")
    run(finished_dock, qtbot)
    assert finished_dock.state == "error"
    assert not grid.enabled
    finished_dock.comparison.exclude(0)
    assert "No result." in finished_dock.results.message.text()
    with qtbot.waitSignal(finished_dock.finished):
        press(finished_dock.recover_notice.button, qtbot)
    assert finished_dock.result is before
    assert finished_dock.comparison.unsaved
    model.layers["two"].units = model.layers["one"].units
    assert finished_dock.task.changed_since() == []


def test_undo_can_itself_be_undone(finished_dock, qtbot, tmp_path, answer):
    path = save_as(finished_dock, answer, tmp_path / "pair.comparison.npz", qtbot)
    first = finished_dock.result
    set_choices(finished_dock.session.choices, rank=5)
    run(finished_dock, qtbot)
    second = finished_dock.result
    npe2.PluginManager.instance().discover()
    with qtbot.waitSignal(finished_dock.finished):
        finished_dock.viewer.open(path, plugin=PLUGIN)
    assert finished_dock.comparison.recoverable.shown.result is second
    with qtbot.waitSignal(finished_dock.finished):
        press(finished_dock.results.check, qtbot)
    checked = finished_dock.result
    assert checked.summary() == first.summary()
    with qtbot.waitSignal(finished_dock.finished):
        press(finished_dock.recover_notice.button, qtbot)
    assert finished_dock.result is second
    assert finished_dock.comparison.recoverable.shown.result is checked


def dropped(path, qtbot):
    """A dock in a viewer onto which a comparison was dropped, while its layers are being added."""
    npe2.PluginManager.instance().discover()
    dock = open_answer(ViewerModel(), qtbot)
    dock.viewer.open(path, plugin=PLUGIN)
    qtbot.waitUntil(lambda: dock.busy)
    assert not any(layer.editable for layer in dock.viewer.layers)
    qtbot.waitUntil(lambda: dock.task.delivering)
    return dock


def test_dropped_layers_changed_or_deleted_meanwhile_are_not_adopted(saved, qtbot, stepped):
    dock = dropped(saved, qtbot)
    first = dock.viewer.layers[0]
    first.selected_data = {0}
    first.remove_selected()
    for _ in take_turns(dock):
        pass
    assert "changed in the meantime" in dock.results.message.text()
    assert dock.result is None


def test_dropped_layers_deleted_meanwhile_stay_deleted(saved, qtbot, stepped):
    dock = dropped(saved, qtbot)
    del dock.viewer.layers[0]
    for _ in take_turns(dock):
        pass
    assert len(dock.viewer.layers) == 1
    assert dock.result is not None


# Side by side --------------------------------------------------------------------------------------------------


def test_side_by_side_ends_with_the_layer_order_of_before_or_of_the_user(finished_dock, model, qtbot):
    before = [layer.name for layer in model.layers]
    toggle_side_by_side(finished_dock)
    assert [layer.name for layer in model.layers] != before
    toggle_side_by_side(finished_dock)
    assert [layer.name for layer in model.layers] == before
    toggle_side_by_side(finished_dock)
    model.layers.reverse()
    own = [layer.name for layer in model.layers]
    toggle_side_by_side(finished_dock)
    assert [layer.name for layer in model.layers] == own
    finished_dock.show()
    toggle_side_by_side(finished_dock)
    finished_dock.hide()  # as when it is closed
    qtbot.waitUntil(lambda: not finished_dock.session.design.is_connected)
    assert not grid_of(model).enabled


# Keys ----------------------------------------------------------------------------------------------------------


def test_escape_cancels_a_run_and_enter_runs_again(make_napari_viewer, qtbot):
    viewer = make_napari_viewer()
    for seed in (1, 2):
        viewer.add_image(spots(seed), name=str(seed))
    dock = open_answer(viewer, qtbot)
    show_docks(viewer)
    dock.window().activateWindow()
    qtbot.waitUntil(dock.isActiveWindow)
    run(dock, qtbot)
    set_choices(dock.session.choices, permutations=50_000)
    dock.stale.button.setFocus()
    qtbot.keyClick(dock.stale.button, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: dock.cancel_button.hasFocus())
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
    assert dock.state == "stale"
    assert dock.stale.button.hasFocus()
    set_choices(dock.session.choices, permutations=300)
    with qtbot.waitSignal(dock.finished):
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return)
    assert dock.state == "done"
