"""The dock *Inspect curves* operated by its controls: rank, zoom, exclude, rerun, compare two segmentations."""

import numpy as np
import pandas as pd
import pytest
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QApplication, QFileDialog, QLabel

from docks import out_of_date, press, set_choices, show_docks
from fault_makers import ODD, faulty
from image_makers import labels_with_a_fault, segmented, spots
from napari_shape_ensembles import Settings, segment
from napari_shape_ensembles.io import read_image
from napari_shape_ensembles.outlines.reasons import BY_HAND
from napari_shape_ensembles.viewer.docks.bench import Bench
from napari_shape_ensembles.viewer.docks.inspect import InspectCurves

FAST = Settings(landmarks=50, rank=10, permutations=199)


@pytest.fixture
def viewer(model):
    """A headless viewer model, unless a test makes a window: layers and docks behave the same."""
    return model


def opened(viewer, qtbot):
    if hasattr(viewer, "window"):
        return viewer.window.add_plugin_dock_widget("napari-shape-ensembles", "Inspect curves")[1]
    qtbot.addWidget(dock := InspectCurves(viewer))
    return dock


def text(dock, row, heading, role=Qt.ItemDataRole.DisplayRole):
    model = dock.queue.model
    (column,) = [c for c in range(model.columnCount()) if model.headerData(c, Qt.Orientation.Horizontal) == heading]
    return model.data(model.index(row, column), role)


def exclude(dock, row, excluded=True):
    state = Qt.CheckState.Checked if excluded else Qt.CheckState.Unchecked
    dock.queue.model.setData(dock.queue.model.index(row, 0), state, Qt.ItemDataRole.CheckStateRole)


def pressed(button, dock, qtbot):
    assert button.isEnabled(), dock.reason.text()
    with qtbot.waitSignal(dock.finished):
        press(button, qtbot)


@pytest.fixture
def inspected(viewer, qtbot):
    return inspect(viewer, qtbot)


def inspect(viewer, qtbot):
    viewer.add_labels(labels_with_a_fault(1), name="one", scale=(0.5, 0.5), units=("um", "um"))
    # As large an image, so that outlines of one are not left out as the border of the other would have cut them.
    viewer.add_labels(np.pad(segmented(2), ((0, 150), (0, 0))), name="two", scale=(0.5, 0.5), units=("um", "um"))
    dock = opened(viewer, qtbot)
    dock.session.choices.set(settings=FAST)
    dock.inspection.a.choose(viewer.layers["one"])
    dock.inspection.b.choose(viewer.layers["two"])
    pressed(dock.run_button, dock, qtbot)
    return viewer, dock


def test_the_fault_ranks_first_with_its_reasons_and_its_exclusion_can_be_undone(inspected, qtbot):
    viewer, dock = inspected
    assert text(dock, 0, "label") == "one 17"
    assert {"First", "Second"} <= {label.text() for label in dock.findChildren(QLabel)}
    assert text(dock, 0, "why").startswith("large")
    assert ":" not in text(dock, 0, "why")
    assert "large: 5013 px" in text(dock, 0, "why", Qt.ItemDataRole.ToolTipRole)
    assert "17 curves" in dock.verdict.text()
    assert dock.queue.progress.text() == "0 of 33 labels reviewed"
    columns, model = range(dock.queue.model.columnCount()), dock.queue.model
    tips = [model.headerData(place, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole) for place in columns]
    assert all(tips)
    assert "rank until there are enough verdicts" in tips[2].replace("\n", " ")
    layer = viewer.layers["one inspected"]
    row = layer.features.set_index("id").loc[17]
    assert row["score"] == dock.result.ranking["score"].max()
    assert "large: 5013 px" in row["reasons"]
    assert not row["excluded"]
    colors = np.array(layer.edge_color)
    exclude(dock, 0)
    assert layer.features.loc[layer.features["excluded"], "id"].tolist() == [17]
    assert len(layer.data) == 17
    assert not np.array_equal(colors, layer.edge_color)
    pressed(dock.again_button, dock, qtbot)
    said = "Without the excluded: These two images were not found to differ. one (16 curves)"
    assert said in dock.verdict_again.text()
    assert dock.inspection.again.a.dropped[BY_HAND] == 1
    exclude(dock, 0, False)
    assert not layer.features["excluded"].any()
    np.testing.assert_array_equal(colors, layer.edge_color)
    assert dock.verdict_again.text() == ""


def test_clicking_shows_a_curve(make_napari_viewer, qtbot):
    viewer = make_napari_viewer(show=True)
    viewer.window.resize(1000, 700)  # a small canvas is drawn faster
    _, dock = inspect(viewer, qtbot)
    camera = getattr(viewer, "scene", viewer).camera
    camera.zoom, before = 1.5, 1.5
    table = dock.queue.table
    table.setFocus()  # which is not a user's choice
    assert dock.inspection.current is None
    assert camera.zoom == before
    place = table.visualRect(dock.queue.model.index(0, 1)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    layer = viewer.layers["one inspected"]
    index = layer.features.index[layer.features["id"] == 17][0]
    assert layer.selected_data == {index}
    assert viewer.layers.selection.active == layer
    np.testing.assert_allclose(camera.center[-2:], layer.data[index].mean(axis=0) * 0.5, atol=2)
    assert camera.zoom > before


def test_changes_outdate_an_inspection_until_undone(inspected, qtbot):
    viewer, dock = inspected
    one, two = (viewer.layers[name] for name in ("one", "two"))
    pixels = one.data
    for change, back, words in (
        (
            lambda: set_choices(dock.session.choices, keep_border=True),
            lambda: set_choices(dock.session.choices, keep_border=False),
            "keep border was off and is on",
        ),
        (
            lambda: dock.question.setCurrentIndex(1),
            lambda: dock.question.setCurrentIndex(0),
            "the question was changed",
        ),
        (lambda: dock.b.setCurrentIndex(0), lambda: dock.inspection.b.choose(two), "other layers are chosen"),
        (lambda: setattr(one, "data", pixels[::-1]), lambda: setattr(one, "data", pixels), "one was changed"),
        (lambda: setattr(one, "scale", (1, 1)), lambda: setattr(one, "scale", (0.5, 0.5)), "one was changed"),
    ):
        change()
        qtbot.waitUntil(lambda words=words: words in out_of_date(dock))
        back()
        qtbot.waitUntil(lambda: not out_of_date(dock))
    viewer.layers.remove(two)
    assert "a layer was deleted" in out_of_date(dock)
    pressed(dock.stale.button, dock, qtbot)
    assert not out_of_date(dock)
    assert len(dock.result.ensembles) == 1


def test_a_closed_inspection_detects_changes_on_reopening(make_napari_viewer, qtbot):
    show_docks(viewer := make_napari_viewer())
    _, dock = inspect(viewer, qtbot)
    qtbot.waitUntil(dock.isVisible)
    layer = viewer.layers["one"]
    before = len(layer.events.data.callbacks)
    dock.parentWidget().close()
    qtbot.waitUntil(lambda: not dock.inspection.a.is_connected)
    assert len(layer.events.data.callbacks) < before
    layer.data = layer.data[::-1]
    dock.parentWidget().show()
    assert "one was changed" in out_of_date(dock)


def test_a_single_layer_can_be_inspected(viewer, qtbot):
    viewer.add_labels(labels_with_a_fault(), name="one")
    dock = opened(viewer, qtbot)
    pressed(dock.run_button, dock, qtbot)
    assert text(dock, 0, "label") == "17"  # not from a group
    assert dock.ranked_with.isVisibleTo(dock)
    assert "without an image" in dock.ranked_with.text()
    assert {"Layer", "Second"} <= {label.text() for label in dock.findChildren(QLabel)}
    assert not dock.again_button.isVisibleTo(dock)
    assert [layer.name for layer in viewer.layers] == ["one", "one inspected"]
    pressed(dock.run_button, dock, qtbot)
    assert len(viewer.layers) == 2


def test_two_segmentations_of_one_image_are_matched_object_by_object(viewer, qtbot):
    one = segmented(1)
    two = one.copy()
    two[one == 2] = 1
    two[one == 3] = 0
    viewer.add_labels(one, name="one")
    viewer.add_labels(two, name="two")
    dock = opened(viewer, qtbot)
    dock.question.setCurrentIndex(1)
    assert "two labels layers" in dock.reason.text()
    dock.inspection.a.choose(viewer.layers["one"])
    dock.inspection.b.choose(viewer.layers["two"])
    pressed(dock.run_button, dock, qtbot)
    reasons = dock.result.ranking.set_index(["source", "id"])["reasons"]
    assert "merged into two 1" in reasons["A", 2]
    assert reasons["A", 3] == "no partner in two"
    assert reasons["A", 10].startswith("IoU 1.00 with two 10")
    assert "1 merged in two" in dock.verdict.text()
    dock.inspection.go_to(0)
    dock.inspection.trigger("fix")  # by keyboard
    assert dock.message.text() == '⚠ labels are corrected under the question "Which curves are suspicious?"'


def test_annotators_are_compared_and_their_consensus_corrected_and_saved(viewer, qtbot, tmp_path, monkeypatch):
    one = segmented(1)
    added, fewer = one.copy(), one.copy()
    added[0:9, 0:9] = np.where(one[0:9, 0:9] == 0, one.max() + 1, one[0:9, 0:9])
    fewer[fewer == 3] = 0
    viewer.add_labels(one, name="Ada", scale=(0.5, 0.5), units=("um", "um"))
    dock = opened(viewer, qtbot)
    dock.question.setCurrentIndex(2)
    assert "two or more labels layers" in dock.reason.text()
    for name, labels in (("Ben", fewer), ("Cem", added)):
        viewer.add_labels(labels, name=name, scale=(0.5, 0.5), units=("um", "um"))
    viewer.add_labels(one, name="hidden", scale=(0.5, 0.5), units=("um", "um"), visible=False)
    dock.inspection.a.choose(viewer.layers["Ada"])
    assert dock.sets.text() == "Ada, Ben, Cem"
    pressed(dock.run_button, dock, qtbot)
    assert dock.verdict.text().startswith("3 annotators")
    assert text(dock, 0, "why") == "marked by 1 of 3: Cem"
    assert text(dock, 1, "why") == "marked by 2 of 3: Ada, Cem"
    assert [layer.name for layer in viewer.layers][:4] == ["Ada", "Ben", "Cem", "hidden"]
    dock.queue.table.selectRow(0)
    design = dock.session.design
    design.write([(viewer.layers[name], "group", "by hand") for name in ("Ada", "Cem")])
    design.write([(viewer.layers["Ben"], "group", "")])
    table = [[layer.name, design.cell(layer, "group")] for layer in design.layers()]
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "consensus.tif"), ""))
    pressed(dock.queue.save_button, dock, qtbot)  # a consensus counts as new without any correction
    assert np.array_equal(read_image(tmp_path / "consensus.tif").pixels > 0, (one > 0) | (added > 0))
    listed = dock.queue.model.rowCount()
    dock.inspection.fix("delete")
    qtbot.waitUntil(lambda: dock.queue.model.rowCount() == listed - 1)
    assert text(dock, 0, "why") == "marked by 2 of 3: Ada, Cem"
    assert "consensus corrected" in viewer.layers
    assert dock.sets.text() == "Ada, Ben, Cem"  # which no annotator made
    # The consensus is a label set of its own, and replaces none of theirs.
    now = [[layer.name, design.cell(layer, "group")] for layer in design.layers()]
    assert sorted(now) == sorted([*table, ["consensus corrected", ""]])
    assert dock.session.design.sides() == ((viewer.layers["Ada"], viewer.layers["Cem"]), ())
    assert "takes the place of" not in dock.message.text()
    assert dock.inspection.state == "done"
    viewer.layers["Ben"].visible = False
    assert dock.sets.text() == "Ada, Cem"
    assert dock.inspection.state == "stale"


def test_shapes_cannot_be_matched_as_segmentation(viewer, qtbot):
    viewer.add_labels(segment(spots(1)), name="one")
    viewer.add_shapes([np.array([[0, 0], [0, 9], [9, 9]])], shape_type="polygon", name="shapes")
    dock = opened(viewer, qtbot)
    dock.question.setCurrentIndex(1)
    dock.inspection.a.choose(viewer.layers["one"])
    dock.inspection.b.choose(viewer.layers["shapes"])
    assert "two labels layers" in dock.reason.text()
    assert not dock.run_button.isEnabled()


def test_errors_are_shown_in_the_dock(viewer, qtbot):
    viewer.add_labels(np.zeros((30, 30), dtype=int), name="one")
    viewer.add_labels(np.zeros((30, 31), dtype=int), name="two")
    dock = opened(viewer, qtbot)
    dock.question.setCurrentIndex(1)
    dock.inspection.a.choose(viewer.layers["one"])
    dock.inspection.b.choose(viewer.layers["two"])
    pressed(dock.run_button, dock, qtbot)
    assert "the same shape, not (30, 30) and (30, 31)" in dock.message.text()


def test_a_reopened_dock_shows_the_previous_result(model, qtbot):
    model.add_labels(labels_with_a_fault(1), name="one")
    model.add_labels(segmented(2), name="two")
    dock = InspectCurves(model)
    dock.session.choices.set(settings=FAST)
    dock.inspection.a.choose(model.layers["one"])
    dock.inspection.b.choose(model.layers["two"])
    set_choices(dock.session.choices, min_area=20)
    pressed(dock.run_button, dock, qtbot)
    exclude(dock, 0)
    dock.inspection.go_to(1)
    dock.inspection.tick(wrong=True)
    pressed(dock.again_button, dock, qtbot)

    def shown(dock):
        rows = [[text(dock, row, heading) for heading in ("label", "score", "why")] for row in range(33)]
        return rows, dock.queue.progress.text(), dock.verdict_again.text()

    before = shown(dock)
    assert before[1] == "1 of 33 labels reviewed: 1 wrong"
    assert before[2]
    dock.deleteLater()
    qtbot.waitUntil(lambda: not dock.inspection.a.is_connected)
    again = InspectCurves(model)
    qtbot.addWidget(again)
    assert [again.a.currentText(), again.b.currentText()] == ["one", "two"]
    assert "smallest object 20 px²" in again.recipe.text()
    assert shown(again) == before
    model_of = again.queue.model
    assert model_of.data(model_of.index(0, 0), Qt.ItemDataRole.CheckStateRole) == Qt.CheckState.Checked
    assert not out_of_date(again)


def test_an_image_without_a_curve_is_reported(model, qtbot):
    model.add_labels(np.pad(np.ones((9, 9), dtype=int), ((0, 9), (0, 9))), name="one")
    dock = InspectCurves(model)
    qtbot.addWidget(dock)
    pressed(dock.run_button, dock, qtbot)
    assert "one has no usable outline (1 touching the image border)" in dock.message.text()
    assert dock.queue.isHidden()
    assert [layer.name for layer in model.layers] == ["one"]


def test_a_whole_review_by_keyboard_and_mouse(make_napari_viewer, qtbot, tmp_path, monkeypatch):
    show_docks(viewer := make_napari_viewer())
    labels, image, _ = faulty("hole", reach=1)
    labels[labels == 36] = 0
    labels[0:8, 100:108] = 99
    given = labels.copy()
    viewer.add_image(image, name="field", scale=(0.5, 0.5), units=("um", "um"))
    viewer.add_labels(labels, name="nuclei", scale=(0.5, 0.5), units=("um", "um"))
    dock = opened(viewer, qtbot)
    task, queue = dock.inspection, dock.queue
    task.a.choose(viewer.layers["nuclei"])
    pressed(dock.run_button, dock, qtbot)
    qtbot.waitUntil(dock.isVisible)
    canvas = viewer.window._qt_viewer.canvas.native

    def renewed():
        qtbot.waitUntil(lambda: not task.update_runner.busy)

    rows = [text(dock, row, "label") for row in range(3)]
    assert set(rows) == {"99", "28", "none"}
    qtbot.keyClick(canvas, Qt.Key.Key_N)
    assert (task.row, queue.table.currentIndex().row()) == (0, 0)
    queue.table.setFocus()
    viewer.window._qt_window.activateWindow()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is queue.table)
    qtbot.keyClick(queue.table, Qt.Key.Key_N)
    assert task.row == 1
    task.go_to(rows.index("28"))
    assert queue.reasons.text().startswith("hole: 1 of 25 px")
    qtbot.keyClick(canvas, Qt.Key.Key_Q)
    renewed()
    copy = viewer.layers["nuclei corrected"]
    assert (copy.data == ODD).sum() == (given == ODD).sum() + 25
    assert queue.reasons.text() == "Nothing stands out."
    assert "1 corrected" in queue.progress.text()
    # Missing labels are added, and false objects deleted, through the correction menu.
    task.go_to([text(dock, row, "label") for row in range(2)].index("none"))
    press(queue.fix_button, qtbot)
    renewed()
    assert (copy.data == 100).sum() > 400
    assert task.current.label == 100
    task.go_to(0)
    assert task.current.label == 99
    qtbot.keyClick(canvas, Qt.Key.Key_Q)
    renewed()
    assert not (copy.data == 99).any()
    assert task.current is None
    assert not queue.right_button.isEnabled()  # it cannot be judged any more
    # A stroke of napari's brush is recorded and logged, too.
    task.go_to(0)
    label = task.current.label
    task.fix("redraw")
    assert (viewer.layers.selection.active, copy.mode, copy.selected_label) == (copy, "paint", label)
    where = np.argwhere(copy.data == label).min(axis=0) - 2
    copy.paint(where, label)
    qtbot.waitUntil(lambda: len(task.review.corrected[0].changes) == 4)
    renewed()
    press(queue.undo_button, qtbot)
    renewed()
    assert copy.data[tuple(where)] == 0
    queue.by.setText("Ada")
    qtbot.keyClick(canvas, Qt.Key.Key_N)
    waiting = task.current
    qtbot.keyClick(canvas, Qt.Key.Key_K)
    assert task.current != waiting
    press(queue.wrong_button, qtbot)
    assert "1 right, 1 wrong, 3 corrected" in queue.progress.text()  # one of them was deleted
    assert "scores are ranks, and no probabilities, until 10 " in dock.ranked_with.text().lower()
    counts = int((~task.ticks.wrong).sum()), int(task.ticks.wrong.sum())
    assert counts[0] == 1
    assert dock.ranked_with.text().endswith("so far {} and {}.".format(*counts))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "no folder" / "nuclei.tif"), ""))
    with qtbot.waitSignal(dock.finished):
        press(queue.save_button, qtbot)
    assert "nuclei.tif cannot be written: No such file" in dock.message.text()
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "day 1.2"), ""))
    with qtbot.waitSignal(dock.finished):
        press(queue.save_button, qtbot)
    np.testing.assert_array_equal(read_image(tmp_path / "day 1.2.tif").pixels, copy.data)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "nuclei.tif"), ""))
    with qtbot.waitSignal(dock.finished):
        press(queue.save_button, qtbot)
    saved = read_image(tmp_path / "nuclei.tif")
    np.testing.assert_array_equal(saved.pixels, copy.data)
    assert saved.pixels.dtype == given.dtype
    assert (saved.calibration.scale, saved.calibration.unit) == ((0.5, 0.5), "µm")
    log = pd.read_csv(tmp_path / "nuclei.log.csv")
    assert log["action"].tolist() == ["fill holes", "add", "delete", "right", "wrong"]
    assert int(log["label"].iloc[3]) == waiting.label
    np.testing.assert_array_equal(viewer.layers["nuclei"].data, given)
    # Undone corrections can be saved as well: the file differs from the original labels.
    while task.review.corrected[0].changes:
        press(queue.undo_button, qtbot)
        qtbot.waitUntil(lambda: not task.busy)
    renewed()
    with qtbot.waitSignal(dock.finished):
        press(queue.save_button, qtbot)
    np.testing.assert_array_equal(read_image(tmp_path / "nuclei.tif").pixels, given)


def test_places_without_a_label_are_counted_as_such(viewer, qtbot):
    """A verdict on one does not bring the scores nearer to probabilities, which are those of labels."""
    labels, image, _ = faulty("hole")
    labels[labels == 13] = 0
    viewer.add_image(image, name="image")
    layer = viewer.add_labels(labels, name="labels")
    dock = opened(viewer, qtbot)
    dock.inspection.a.choose(layer)
    pressed(dock.run_button, dock, qtbot)
    (missing,) = dock.inspection.rows.index[dock.inspection.rows["label"] < 0]
    dock.inspection.go_to(int(missing))
    press(dock.queue.wrong_button, qtbot)
    qtbot.waitUntil(lambda: "1 wrong" in dock.queue.progress.text())
    assert "1 of 25 labels and places without one reviewed: 1 wrong" in dock.queue.progress.text()
    assert "so far 0 and 0" in dock.ranked_with.text()


def test_a_merge_counts_as_two_labels_corrected_by_one_change(viewer, qtbot):
    labels, image, _ = faulty("split")
    viewer.add_image(image, name="field")
    viewer.add_labels(labels, name="nuclei")
    dock = opened(viewer, qtbot)
    dock.inspection.a.choose(viewer.layers["nuclei"])
    pressed(dock.run_button, dock, qtbot)
    press(dock.queue.next_button, qtbot)
    assert dock.queue.fix_button.text() == "Fix: merge it with its neighbor  Q"
    press(dock.queue.fix_button, qtbot)
    qtbot.waitUntil(lambda: not dock.inspection.update_runner.busy)
    assert "2 corrected by 1 change" in dock.queue.progress.text()
    assert "a merge or split corrects two labels" in dock.queue.table.toolTip()


def test_an_inspection_goes_on_while_another_page_of_the_bench_is_shown(model, qtbot, shown):
    model.add_labels(labels_with_a_fault(1), name="one")
    bench = shown(Bench(model), 420, 700)
    bench.show_part("Inspect")
    task, page = bench.session.inspection, bench.pages["Outlines"].show_tab(1)
    for ends in (True, False):
        press(page.run_button, qtbot)
        bench.show_page(0)
        qtbot.wait(20)  # by now, the page has left the session
        assert task.busy
        if ends:
            qtbot.waitUntil(lambda: not task.busy)
            assert task.result is not None
            assert task.message == ""
            bench.show_part("Inspect")
            press(page.chosen.heading, qtbot)
    bench.hide()
    qtbot.waitUntil(lambda: not task.busy)
    assert task.message == "Cancelled."
