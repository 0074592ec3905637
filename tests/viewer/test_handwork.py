"""Nothing made by hand is lost: corrections save themselves and come back; closing warns of all the rest."""

import npe2
import numpy as np
import pytest
import tifffile
from napari.components import ViewerModel

from docks import add_spots, exclude, press
from fault_makers import ODD, faulty
from napari_shape_ensembles import Settings
from napari_shape_ensembles.io import read_image, read_log
from napari_shape_ensembles.viewer import close_confirmation
from napari_shape_ensembles.viewer.close_confirmation import loss_warnings
from napari_shape_ensembles.viewer.panels.queue import Queue
from napari_shape_ensembles.viewer.session import Session


@pytest.fixture
def labels_file(tmp_path):
    """A file of labels with a hole in one of them."""
    path = tmp_path / "nuclei.tif"
    tifffile.imwrite(path, faulty("hole")[0].astype(np.uint16))
    return path


@pytest.fixture
def inspected(qtbot):
    """Return a function that opens the labels in a new viewer and inspects them."""
    tasks = []

    def inspect(path):
        npe2.PluginManager.instance().discover()
        model = ViewerModel()
        model.canvas.size = 600, 800
        model.open(path, plugin="napari", layer_type="labels")
        session = Session.of(model)
        session.choices.set(settings=Settings(landmarks=50, rank=10, permutations=199))
        task = session.inspection
        tasks.append((model, task))
        task.activate()
        task.run()
        qtbot.waitUntil(lambda: not task.busy)
        assert task.result is not None, task.message
        return session

    yield inspect
    for _, task in tasks:
        task.deactivate()


def done(task, qtbot, action):
    action()
    qtbot.waitUntil(lambda: not task.update_runner.busy)


def test_corrections_save_themselves_and_come_back(labels_file, inspected, qtbot):
    given = labels_file.read_bytes()
    session = inspected(labels_file)
    task = session.inspection
    saved = labels_file.with_name("nuclei.corrected.tif")
    task.go_to(0)
    assert task.current == (0, ODD)
    assert not saved.exists()
    done(task, qtbot, task.fix)
    assert labels_file.read_bytes() == given
    np.testing.assert_array_equal(read_image(saved).pixels, task.review.corrected[0].labels)
    assert read_log(saved)["action"].tolist() == ["fill holes"]
    assert task.saved_as == "Saved automatically: nuclei.corrected.tif, beside nuclei.tif."
    assert loss_warnings(session) == []
    filled = task.review.corrected[0].labels.copy()
    # In another session, the corrections are there again, can be undone, and continue in the same file.
    session = inspected(labels_file)
    task = session.inspection
    copy = session.choices.layers["nuclei corrected"]
    np.testing.assert_array_equal(copy.data, filled)
    assert "Corrections of nuclei.corrected.tif are continued" in task.saved_as
    assert ODD not in task.rows.loc[task.rows["reasons"].str.startswith("hole"), "label"].tolist()
    assert loss_warnings(session) == []
    done(task, qtbot, task.undo)
    np.testing.assert_array_equal(copy.data, faulty("hole")[0])
    np.testing.assert_array_equal(read_image(saved).pixels, faulty("hole")[0])


def test_marks_without_a_correction_save_themselves_and_come_back(labels_file, inspected, qtbot):
    session = inspected(labels_file)
    qtbot.addWidget(queue := Queue(session.inspection))
    queue.refresh()
    session.inspection.changed.connect(queue.refresh)
    press(queue.next_button, qtbot)
    wrong = session.inspection.current.label
    press(queue.wrong_button, qtbot)
    right = session.inspection.current.label
    press(queue.right_button, qtbot)
    press(queue.right_button, qtbot)
    press(queue.undo_button, qtbot)
    assert loss_warnings(session) == [close_confirmation.CORRECTIONS.format("nuclei corrected")]
    saved = labels_file.with_name("nuclei.corrected.tif")
    qtbot.waitUntil(lambda: loss_warnings(session) == [])
    log = read_log(saved)
    assert log["action"].tolist() == ["wrong", "right"]
    assert log["label"].tolist() == [f"{wrong}", f"{right}"]
    assert "1 right, 1 wrong" in queue.progress.text()
    assert "Saved automatically: nuclei.corrected.tif" in queue.progress.text()
    # In another session, the marks are there again, without a copy of the labels, and each stays one row of the log.
    session = inspected(labels_file)
    task = session.inspection
    assert task.saved_as == "Marks of nuclei.corrected.tif are continued."
    marks = task.rows.set_index("label")["mark"]
    assert (marks[wrong], marks[right], marks.ne("").sum()) == ("wrong", "right", 2)
    assert "nuclei corrected" not in session.choices.layers
    assert loss_warnings(session) == []
    task.go_to(task.rows["label"].tolist().index(right))
    task.tick(wrong=True)
    qtbot.waitUntil(lambda: loss_warnings(session) == [])
    again = read_log(saved)
    assert again["action"].tolist() == ["wrong", "wrong"]
    assert again["label"].tolist() == log["label"].tolist()
    assert again.loc[0].equals(log.loc[0])


def test_corrections_of_labels_that_were_changed_since_are_kept_apart(labels_file, inspected, qtbot):
    task = inspected(labels_file).inspection
    task.go_to(0)
    done(task, qtbot, task.fix)
    saved = labels_file.with_name("nuclei.corrected.tif")
    before = saved.read_bytes()
    tifffile.imwrite(labels_file, faulty("hole")[0].T.astype(np.uint16))
    task = inspected(labels_file).inspection
    assert task.saved_as == ""
    assert not task.review.corrected[0].changes
    task.go_to(0)
    done(task, qtbot, task.fix)
    assert saved.read_bytes() == before
    assert labels_file.with_name("nuclei.corrected 2.tif").exists()


def test_closing_warns_of_everything_made_by_hand(model, qtbot, tmp_path):
    session = Session.of(model)
    add_spots(model, "one", "two", rows=3)
    model.add_labels(faulty("hole")[0], name="nuclei")
    session.attach()
    session.design.connect_events()
    assert loss_warnings(session) == []
    one = model.layers["one"]
    exclude(session.choices, one, "3")
    assert loss_warnings(session) == [close_confirmation.EXCLUSIONS.format("1 curve")]
    session.choices.exclusions.clear()
    session.design.write([(one, "group", "wild type")])
    assert loss_warnings(session) == [close_confirmation.GROUPS]
    session.design_work.save(tmp_path / "design.csv")
    qtbot.waitUntil(lambda: not session.design_work.busy)
    assert loss_warnings(session) == []
    session.segmentation.activate()
    session.segmentation.image.choose(one)
    session.learning.paint()
    model.layers["one examples"].data_setitem((np.repeat(np.arange(3), 3), np.tile(np.arange(3), 3)), 2)
    assert loss_warnings(session) == [close_confirmation.EXAMPLES.format("one")]
    model.layers.remove("one examples")
    task = session.inspection
    task.activate()
    task.a.choose(model.layers["nuclei"])
    task.run()
    qtbot.waitUntil(lambda: not task.busy)
    task.go_to(0)
    done(task, qtbot, task.fix)
    assert "in no file yet" in task.saved_as
    assert loss_warnings(session) == [close_confirmation.CORRECTIONS.format("nuclei corrected")]
    for part in (task, session.segmentation):
        part.deactivate()
    session.detach()
