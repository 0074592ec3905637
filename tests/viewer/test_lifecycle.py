"""Layers added, changed and removed before, during and after a run."""

import gc
import subprocess
import sys
import time
import weakref
from pathlib import Path

import numpy as np
import pytest
from napari.components import ViewerModel
from qtpy.QtWidgets import QApplication

from docks import chosen_names, curves_of, listeners, open_answer, press, run, set_choices, slow, words_of
from image_makers import spots
from napari_shape_ensembles.comparison.colorings import COLORINGS
from napari_shape_ensembles.progress import report
from napari_shape_ensembles.viewer import comparing
from napari_shape_ensembles.viewer.inputs import is_own
from napari_shape_ensembles.viewer.task import JobRunner

# Choosing ------------------------------------------------------------------------------------------------------


def test_renamed_moved_hidden_and_restyled_layers_remain_chosen_and_compared(bare_dock, model, qtbot):
    one, two = (model.layers[name] for name in ("one", "two"))
    one.visible = False
    run(bare_dock, qtbot)
    two.visible, one.visible = False, True
    assert bare_dock.state == "done"
    one.name = "first"
    assert chosen_names(bare_dock) == [["first"], ["two"]]
    one.name = "one"
    model.layers.move(0, len(model.layers))
    assert chosen_names(bare_dock) == [["one"], ["two"]]
    one.translate, one.contrast_limits, one.colormap, one.opacity = (3, 4), (0, 2), "red", 0.5
    qtbot.wait(300)
    assert bare_dock.state == "done"
    assert bare_dock.stale.isHidden()


# Deleting, replacing -------------------------------------------------------------------------------------------


def test_deleted_layers_and_curves_are_not_kept_alive_and_the_others_keep_their_rows(bare_dock, model, qtbot):
    run(bare_dock, qtbot)
    row, layer = len(bare_dock.result.a) + 3, model.layers["two curves"]
    dead = [weakref.ref(model.layers[name]) for name in ("one", "one curves")]
    model.layers.remove("one curves")
    bare_dock.color_by.choice.setCurrentIndex([*COLORINGS].index("undulation"))
    assert bare_dock.state == "done"
    assert layer.features["painted"].equals(layer.features["undulation"])
    bare_dock.comparison.curves.connect_events()  # as when the dock is closed and reopened
    bare_dock.comparison.selection.pick([row])
    bare_dock.comparison.exclude(row)
    assert set(layer.selected_data) == {3}
    assert np.flatnonzero(layer.features["excluded"]).tolist() == [3]
    model.layers.remove("one")
    qtbot.wait(300)
    gc.collect()
    assert [ref() for ref in dead] == [None, None]


def test_a_replacement_layer_is_chosen_and_makes_the_result_stale(bare_dock, model, qtbot):
    run(bare_dock, qtbot)
    model.layers.remove("two")
    model.add_image(spots(5), name="two", scale=(0.5, 0.5), units=("um", "um"))
    assert chosen_names(bare_dock) == [["one"], ["two"]]
    assert bare_dock.state == "stale"
    press(bare_dock.stale.button, qtbot)
    qtbot.waitUntil(lambda: bare_dock.state == "done")


def test_a_copy_of_the_curves_belongs_to_the_user(bare_dock, model, qtbot):
    run(bare_dock, qtbot)
    data, attributes, kind = curves_of(model, "one").as_layer_data_tuple()
    copy = model.add_shapes(data, **(attributes | {"name": "copy"}))
    assert kind == "shapes"
    assert not is_own(copy)
    assert copy in bare_dock.session.design.offered()
    run(bare_dock, qtbot)
    assert copy in model.layers


# Stale results -------------------------------------------------------------------------------------------------


def edit_pixels(layer):
    layer.data[5, 5] += 1
    layer.refresh()


CHANGES = {
    "new data": lambda layer: setattr(layer, "data", spots(7)),
    "edited pixels": edit_pixels,
    "rescaled": lambda layer: setattr(layer, "scale", (0.6, 0.6)),
    "other units": lambda layer: setattr(layer, "units", ("nm", "nm")),
}


def test_a_changed_layer_makes_the_result_stale_and_one_press_renews_it(bare_dock, model, qtbot):
    run(bare_dock, qtbot)
    for change in CHANGES.values():
        assert bare_dock.state == "done"
        assert bare_dock.stale.isHidden()
        assert bare_dock.results.table.isEnabled()
        change(model.layers["one"])
        qtbot.waitUntil(lambda: not bare_dock.stale.isHidden())
        assert bare_dock.state == "stale"
        assert "one was changed" in bare_dock.stale.label.text()
        assert not bare_dock.results.table.isEnabled()
        model.layers["two"].units = model.layers["one"].units
        with qtbot.waitSignal(bare_dock.finished):
            press(bare_dock.stale.button, qtbot)
    assert bare_dock.state == "done"
    assert bare_dock.stale.isHidden()
    assert bare_dock.results.table.isEnabled()


def test_undoing_an_edit_makes_the_result_valid_again(model, qtbot):
    labels = np.zeros((100, 100), dtype=np.uint16)
    for index in range(9):
        row, column = divmod(index, 3)
        labels[row * 30 + 5 : row * 30 + 25, column * 30 + 5 : column * 30 + 10 + index] = index + 1
    painted = model.add_labels(labels.copy(), name="one")
    model.add_labels(labels.T.copy(), name="two")
    dock = open_answer(model, qtbot)
    run(dock, qtbot)
    painted.fill((8, 8), 20)
    qtbot.waitUntil(lambda: not dock.stale.isHidden())
    painted.undo()
    qtbot.waitUntil(dock.stale.isHidden)
    np.testing.assert_array_equal(painted.data, labels)


def test_excluding_and_moving_shapes_makes_the_result_stale(model, qtbot):
    boxes = [np.array([[0, 0], [0, 15], [20, 15 + i], [20, 0]]) + 30 * i for i in range(8)]
    shapes = model.add_shapes(boxes, shape_type="polygon", name="one", features={"excluded": [False] * 8})
    model.add_shapes(boxes, shape_type="polygon", name="two")
    dock = open_answer(model, qtbot)
    run(dock, qtbot)
    shapes.features = shapes.features.assign(excluded=[True] + [False] * 7)
    qtbot.waitUntil(lambda: not dock.stale.isHidden())
    run(dock, qtbot)
    assert len(dock.result.a) == 7
    qtbot.waitUntil(dock.stale.isHidden)
    shapes.data = [boxes[0], boxes[1] * 1.1, *boxes[2:]]
    qtbot.waitUntil(lambda: not dock.stale.isHidden())


def test_a_layer_edited_during_a_run_makes_its_result_stale(bare_dock, model, qtbot):
    with qtbot.waitSignal(bare_dock.finished):
        press(bare_dock.run_button, qtbot)
        model.layers["one"].data = spots(8)
    assert bare_dock.state == "stale"


def test_cancelling_keeps_the_previous_result(bare_dock, qtbot, monkeypatch):
    run(bare_dock, qtbot)
    before = bare_dock.result
    monkeypatch.setattr(comparing, "compare_groups", slow)
    press(bare_dock.run_button, qtbot)
    press(bare_dock.cancel_button, qtbot)
    assert bare_dock.result is before
    assert bare_dock.results.table.marked() == [before.case]
    assert "Cancelled" in words_of(bare_dock)


# Worker threads ------------------------------------------------------------------------------------------------


def test_a_cancelled_run_releases_its_image_copies(bare_dock, qtbot, monkeypatch):
    copies = []

    def copying(sources, *_):
        copies.extend(weakref.ref(source.data) for side in sources for source in side)
        while True:
            report("counting", 0, 0)
            time.sleep(0.01)

    monkeypatch.setattr(comparing, "compare_groups", copying)
    press(bare_dock.run_button, qtbot)
    qtbot.waitUntil(lambda: len(copies) == 2)
    assert bare_dock.task.threads
    press(bare_dock.cancel_button, qtbot)
    qtbot.waitUntil(lambda: not any(copy() is not None for copy in copies))


def test_a_run_waits_for_the_thread_of_a_cancelled_one(bare_dock, qtbot, monkeypatch):
    threads = []

    def stubborn(*_):
        threads.append("in")
        time.sleep(0.5)
        threads.append("out")
        report("never seen", 0, 1)

    with monkeypatch.context() as patch:
        patch.setattr(comparing, "compare_groups", stubborn)
        press(bare_dock.run_button, qtbot)
        qtbot.waitUntil(lambda: bool(threads))
        press(bare_dock.cancel_button, qtbot)
    assert threads == ["in"]
    with qtbot.waitSignal(bare_dock.finished):
        press(bare_dock.run_button, qtbot)
        qtbot.waitUntil(lambda: len(threads) == 2)
    assert bare_dock.state == "done"


def test_a_multithreaded_step_is_cancelled_between_blocks(qtbot):
    from napari_shape_ensembles.progress import over_blocks

    completed = []

    def function():
        report("one long step", 0, 1)
        over_blocks(lambda block: completed.append(block) or time.sleep(0.02), range(500))
        report("never reached", 1, 1)

    def steps():
        yield function

    background = JobRunner()
    background.begin(steps())
    qtbot.waitUntil(lambda: bool(completed))
    background.cancel()
    qtbot.wait(200)
    count = len(completed)
    qtbot.wait(200)
    assert len(completed) == count < 500


def test_pressing_run_twice_starts_one_run_and_a_cancelled_one_leaves_the_dock_ready(bare_dock, qtbot, monkeypatch):
    starts = []
    monkeypatch.setattr(comparing, "compare_groups", lambda *_: starts.append(1) or slow())
    press(bare_dock.run_button, qtbot)
    press(bare_dock.run_button, qtbot)
    bare_dock.run()
    qtbot.waitUntil(lambda: bool(starts))
    press(bare_dock.run_button, qtbot)
    bare_dock.run()
    qtbot.wait(100)
    assert len(starts) == 1
    bare_dock.cancel()
    qtbot.waitUntil(lambda: not bare_dock.task.threads)
    press(bare_dock.run_button, qtbot)
    press(bare_dock.cancel_button, qtbot)  # before the first step
    assert bare_dock.state == "ready"
    qtbot.wait(100)
    assert bare_dock.state == "ready"


# Several docks, closing and opening ----------------------------------------------------------------------------


def test_two_viewers_are_independent(bare_dock, model, qtbot):
    other = ViewerModel()
    for seed in (3, 4):
        other.add_image(spots(seed), name=str(seed))
    second = open_answer(other, qtbot)
    run(second, qtbot)
    assert chosen_names(bare_dock) == [["one"], ["two"]]
    assert [layer.name for layer in model.layers] == ["one", "two"]
    assert len(other.layers) == 4
    assert bare_dock.state == "ready"


def test_two_docks_in_one_viewer_show_the_same_result(bare_dock, model, qtbot):
    second = open_answer(model, qtbot)
    run(bare_dock, qtbot)
    run(second, qtbot)
    assert bare_dock.result is second.result is not None
    assert bare_dock.results.text() == second.results.text()
    assert [layer.name for layer in model.layers if is_own(layer)] == ["one curves", "two curves"]


def test_a_closed_dock_is_disconnected_and_detects_changes_on_reopening(model, qtbot):
    for seed in (1, 2):
        model.add_image(spots(seed), name=str(seed), scale=(0.5, 0.5), units=("um", "um"))
    before = listeners(model, model.layers)
    dock = open_answer(model, qtbot)
    dock.show()
    run(dock, qtbot)
    opened = listeners(model, model.layers)
    assert sum(opened) > sum(before)
    for change in (None, None, lambda: setattr(model.layers["1"], "scale", (1, 1))):
        dock.hide()
        qtbot.waitUntil(lambda: not dock.session.design.is_connected)
        if change is not None:
            change()
        dock.show()
        assert listeners(model, model.layers) == opened
    assert dock.state == "stale"
    assert not dock.stale.isHidden()
    dock.hide()
    qtbot.waitUntil(lambda: not dock.session.design.is_connected)
    for layer in list(dock.comparison.curves):
        model.layers.remove(layer)
    assert listeners(model, model.layers) == before


def test_closing_the_viewer_during_a_run_leaves_no_window_and_no_error(make_napari_viewer, qtbot):
    viewer = make_napari_viewer()
    for seed in (1, 2):
        viewer.add_image(spots(seed), name=str(seed))
    dock = open_answer(viewer, qtbot)
    set_choices(dock.session.choices, permutations=100_000)
    windows = set(QApplication.topLevelWidgets())
    press(dock.run_button, qtbot)
    qtbot.waitUntil(lambda: "Testing" in dock.step.text())
    viewer.close()
    qtbot.wait(500)
    assert set(QApplication.topLevelWidgets()) <= windows


LEAVING = """
import sys, napari
sys.path.insert(0, {tests!r})
from docks import open_answer, show_docks
from image_makers import spots
from qtpy.QtCore import QTimer
from qtpy.QtWidgets import QApplication
show_docks(viewer := napari.Viewer(show=False))
for seed in (1, 2):
    viewer.add_image(spots(seed), name=str(seed))
dock = open_answer(viewer, None, permutations=100_000)
dock.run_button.click()
def look():
    if "Testing" in dock.step.text():
        timer.stop()
        QTimer.singleShot(100, lambda: {leave})
timer = QTimer()
timer.timeout.connect(look)
timer.start(20)
napari.run()
"""


def run_script(code):
    """Run a script in a process of its own, and return that."""
    command = [sys.executable, "-X", "faulthandler", "-c", code]
    # The timeout is for a process that hangs.
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("leave", ["viewer.close()", "QApplication.quit()"])
def test_quitting_napari_during_a_permutation_test_is_clean(leave):
    completed = run_script(LEAVING.format(leave=leave, tests=str(Path(__file__).parents[1])))
    assert completed.returncode == 0, completed.stderr
    assert "Error" not in completed.stderr
    assert "Traceback" not in completed.stderr


FAILING = """
import sys, napari
sys.path.insert(0, {tests!r})
from docks import show_docks
from image_makers import spots
from qtpy.QtTest import QTest
show_docks(viewer := napari.Viewer(show=False))
for seed in (1, 2):
    viewer.add_image(spots(seed), name=str(seed))
viewer.window.add_plugin_dock_widget("napari-shape-ensembles", "Shape bench")
QTest.qWait(1000)
raise SystemExit("the script has failed")
"""


def test_a_failing_script_with_an_open_bench_reports_only_its_error():
    completed = run_script(FAILING.format(tests=str(Path(__file__).parents[1])))
    assert "the script has failed" in completed.stderr
    assert completed.returncode == 1
    assert "Traceback" not in completed.stderr
    assert "RuntimeError" not in completed.stderr


def test_a_worker_does_not_end_the_process(qtbot):
    """Exit handlers that run in a worker's thread wait for that thread, or crash."""
    resumed = []

    def steps():
        yield sys.exit  # as where Python, which exits, has shut down its pool of threads
        resumed.append(True)

    runner = JobRunner()
    runner.begin(steps())
    qtbot.waitUntil(lambda: bool(resumed))
