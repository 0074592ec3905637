"""Screens in the window: images that stay on disk, a control group, a heat map, and opening a well."""

import json

import napari
import numpy as np
import pandas as pd
import pytest
import tifffile
from napari.components import ViewerModel
from npe2 import PluginManager
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QFileDialog

from docks import add_spots, ended, press, set_choices, status, wait_until_idle
from image_makers import labels_of
from napari_shape_ensembles.explanation.headline import headline
from napari_shape_ensembles.io import rerun
from napari_shape_ensembles.io.image_parts import ImagePart
from napari_shape_ensembles.viewer import design_files, experimenting
from napari_shape_ensembles.viewer.close_confirmation import loss_warnings
from napari_shape_ensembles.viewer.docks.answer import AnswerPage
from napari_shape_ensembles.viewer.docks.images import ImagesPage
from napari_shape_ensembles.viewer.docks.trust import TrustPage
from napari_shape_ensembles.viewer.docks.why import WhyPage
from napari_shape_ensembles.viewer.inputs import ImageRow, is_own
from napari_shape_ensembles.viewer.page_status import PageStatus
from napari_shape_ensembles.viewer.report import script_of
from napari_shape_ensembles.viewer.session import Session
from napari_shape_ensembles.viewer.splitting import NewPart, layers_of

pytestmark = pytest.mark.usefixtures("blank_files")
WELLS = [f"{row}{column:02d}" for row in "AB" for column in range(1, 6)]


def entry(button, words):
    """Entry of a button's menu."""
    return next(one for one in button.menu().actions() if words in one.text())


def tick(ticked, words):
    """Check or uncheck an item of a list, as by a click."""
    (item,) = ticked.findItems(words, Qt.MatchFlag.MatchExactly)
    on = item.checkState() == Qt.CheckState.Checked
    item.setCheckState(Qt.CheckState.Unchecked if on else Qt.CheckState.Checked)


@pytest.fixture
def plate(tmp_path):
    """Label files for ten wells, one field each and two of A02 and B05, in which objects are larger."""
    rows = []
    for well in (*WELLS, "A02", "B05"):
        name = f"{well}_f{len([row for row in rows if row['group'] == well])}.labels.ome.tif"
        plane = labels_of(len(rows), size=14.0 if well == "B05" else 10.0)
        tifffile.imwrite(tmp_path / name, plane)
        rows.append({"image": name, "group": well})
    pd.DataFrame(rows).to_csv(tmp_path / "screen.csv", index=False)
    return tmp_path


def test_a_screen_is_read_from_files_and_a_well_opened(model, plate, qtbot, monkeypatch):
    monkeypatch.setattr(design_files, "MAX_OPENED_IMAGES", 4)
    session = Session.of(model)
    images, page = ImagesPage(model), AnswerPage(model)
    qtbot.addWidget(images)
    qtbot.addWidget(page)
    set_choices(session.choices, landmarks=40, rank=5, significance=0.05)
    session.design_work.open(plate / "screen.csv")
    wait_until_idle(session.design_work, qtbot)
    assert "More than 4 images are read when needed, not opened as layers" in images.message.text()
    assert not len(model.layers)
    assert all(isinstance(row, ImageRow) for row in session.design.layers())
    images.refresh()
    assert images.table.item(0, 0).text() == "A01_f0"
    page.show_state()
    assert page.groups.control.currentData() == "A01"  # ten groups have 45 pairs
    page.groups.control.setCurrentIndex(page.groups.control.findData("A02"))
    page.groups.control.activated.emit(page.groups.control.currentIndex())
    press(page.run_button, qtbot)
    wait_until_idle(session.comparison, qtbot)
    assert [row[0] for row in page.comparison.answer.rows][:2] == ["A01 - A02", "A03 - A02"]
    assert "Over all 10 groups" in page.groups.sentences.text()
    assert page.groups.figure.itemText(0) == "Plate, form"
    wells = page.comparison.answer.experiment.design.groups
    assert wells[0] == "A02"

    page.groups.view.clicked.emit(0, 4.2, 0.9)  # the plate: columns to the right, rows downwards
    wait_until_idle(session.comparison, qtbot)
    assert [layer.name for layer in model.layers] == ["B05_f0 outlines", "B05_f1 outlines"]
    assert all(is_own(layer) for layer in model.layers)
    first = model.layers[0]
    assert len(first.data) == 16
    size = page.comparison.answer.experiment.quantities.outlines
    quantity = first.features.columns[1]
    own = size[
        size["image"] == [ref().name for own in session.comparison.run_inputs.layers for ref in own].index("B05_f0")
    ]
    np.testing.assert_allclose(sorted(first.features[quantity]), sorted(np.exp(own[quantity])))
    told = []
    events = model.layers.events
    for event in (events.begin_batch, events.inserted, events.removed, events.end_batch):
        event.connect(lambda event: told.append(event.type))
    table = page.groups.table
    table.setFixedSize(343, 200)  # as in a dock of the initial width
    table.grab()
    for place in (0, 2, 3, 4, 5):  # the words of the row are written in two lines
        needed = table.sizeHintForColumn(place), table.horizontalHeader().sectionSizeHint(place)
        assert table.columnWidth(place) >= max(needed)
    assert table.horizontalHeader().length() <= table.viewport().width()
    table.cellDoubleClicked.emit(0, 0)
    wait_until_idle(session.comparison, qtbot)
    layers_changed = ["removed", "removed", "inserted"]
    # The canvas is laid out once; the batch is announced again before its end, for CanvasContext.
    assert told == ["begin_batch", *layers_changed, "begin_batch", "end_batch"]
    assert [(layer.name, layer.visible) for layer in model.layers] == [("A01_f0 outlines", True)]
    assert "A01: outlines colored by" in page.results.message.text()

    written = []
    monkeypatch.setattr(experimenting, "write_experiment", lambda *given, **_: written.append(given) or [plate / "x"])
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(plate / "out"))
    entry(page.groups.files, "Export").trigger()
    wait_until_idle(session.comparison, qtbot)
    assert written == [(plate / "out", page.comparison.answer.experiment)]
    session.design.set_control("B05")
    assert session.comparison.changed_since() == ["the control was changed"]
    session.design.set_control("A02")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(plate / "screen.experiment.npz"), ""))
    entry(page.groups.files, "Save").trigger()
    wait_until_idle(session.comparison, qtbot)
    assert page.results.message.text().startswith("Saved screen.experiment.npz")
    again = rerun(plate / "screen.experiment.npz")
    assert (again.same, again.notes) == (True, ())

    # In another session, neither table nor images are open.
    again = Session.of(viewer := ViewerModel())
    other = AnswerPage(viewer)
    qtbot.addWidget(other)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(plate / "screen.experiment.npz"), ""))
    entry(other.files, "Open").trigger()
    wait_until_idle(again.comparison, qtbot)
    assert again.design.rows() == session.design.rows()
    assert [vars(row) for row in again.design.layers()] == [vars(row) for row in session.design.layers()]
    assert other.results.message.text() == "Opened from screen.experiment.npz."
    assert (other.comparison.answer.rows, other.comparison.answer.wells) == (
        page.comparison.answer.rows,
        page.comparison.answer.wells,
    )
    assert other.state == "done"
    other.groups.table.cellDoubleClicked.emit(0, 0)
    wait_until_idle(again.comparison, qtbot)
    assert [layer.name for layer in viewer.layers] == ["A01_f0 outlines"]
    (plate / "A01_f0.labels.ome.tif").unlink()
    other.groups.table.cellDoubleClicked.emit(0, 0)
    wait_until_idle(again.comparison, qtbot)
    assert "A01_f0.labels.ome.tif cannot be opened: No such file or directory" in other.results.message.text()
    press(other.stale.button, qtbot)
    wait_until_idle(again.comparison, qtbot)
    assert "A01_f0.labels.ome.tif cannot be opened" in other.verdict.sentence.text()
    entry(other.groups.files, "Open").trigger()
    wait_until_idle(again.comparison, qtbot)
    assert "Its original images are not in the viewer" in other.results.message.text()
    assert other.groups.sentences.text() == page.groups.sentences.text()


def test_covariates_interactions_and_restoring_a_result(model, qtbot, tmp_path, monkeypatch):
    """Ten images of two groups and two sexes, with random lengths."""
    session = Session.of(model)
    page = AnswerPage(model)
    qtbot.addWidget(page)
    set_choices(session.choices, landmarks=40, rank=5, significance=0.05)
    cells = []
    for place in range(10):
        layer = model.add_labels(labels_of(place, size=11.0 if place % 2 else 10.0), name=f"image {place}")
        cells += [(layer, "group", "ab"[place % 2]), (layer, "length", str(place // 3))]
        cells += [(layer, "sex", "mf"[place // 2 % 2]), (layer, "cage", str(place % 2))]
    session.design.write(cells)
    entry(page.groups.files, "Save").trigger()
    assert page.results.message.text() == "⚠ There is nothing to save yet: compare first."
    assert not page.groups.requested.isHidden()
    page.groups.requested.heading.click()
    assert [page.groups.given.item(place).text() for place in range(page.groups.given.count())] == [
        "length",
        "sex",
        "cage",
    ]
    for words in ("length", "cage"):
        tick(page.groups.given, words)
    tick(page.groups.given, "cage")
    tick(page.groups.interactions, "group × sex")
    tick(page.groups.interactions, "group × cage")
    assert page.groups.requested.heading.text().endswith("(3)")
    press(page.run_button, qtbot)
    wait_until_idle(session.comparison, qtbot)
    result = page.comparison.answer.experiment
    said = page.groups.sentences.text().replace("\xa0", " ")
    given = result.test("group", ["length"]).p_values
    assert "Given length: form " in said
    assert f"(p = {given.scale:.2g})" in said
    assert "roughness ratio" not in said  # their pixels do not hold it
    assert f"in scale not detected (p = {result.interaction('group', 'sex').scale.p_value:.2g})" in said
    assert "Interaction group × cage: not testable (whether the effect of group depends on cage" in said
    tick(page.groups.interactions, "group × cage")
    assert page.stale.label.text() == "<b>↻ Out of date:</b> the choice of covariates and interactions was changed."
    assert page.run_button.isHidden()  # since *Run again* is shown
    tick(page.groups.interactions, "group × cage")
    assert page.state == "done"

    session.comparison.export_experiment(tmp_path / "results")
    wait_until_idle(session.comparison, qtbot)
    exported = json.loads((tmp_path / "results" / "experiment.json").read_text())
    assert set(exported["overall"]) < set(said.split("\n"))
    assert {"omnibus given length", "interaction group × sex"} < exported["tests"].keys()

    # The page is closed and recreated; then the comparison file restores everything in another viewer.
    page.hide()
    second = AnswerPage(model)
    qtbot.addWidget(second)
    assert (second.groups.sentences.text(), second.state) == (page.groups.sentences.text(), "done")
    assert second.groups.given.findItems("length", Qt.MatchFlag.MatchExactly)[0].checkState() == Qt.CheckState.Checked
    assert loss_warnings(session) == [
        "The experiment is not saved: it would be lost.",
        "The table of groups is not saved: it would be lost.",
    ]
    session.attach(session.comparison)
    ended(session.comparison, qtbot, session.comparison.run)
    session.comparison.save(tmp_path / "all.comparison.npz")
    wait_until_idle(session.comparison, qtbot)
    again = Session.of(other := ViewerModel())
    for layer in [layer for layer in model.layers if layer.name.startswith("image") and not is_own(layer)]:
        other.add_labels(layer.data, name=layer.name)
    third = AnswerPage(other)
    qtbot.addWidget(third)
    again.attach(again.comparison)
    again.comparison.open(tmp_path / "all.comparison.npz")
    wait_until_idle(again.comparison, qtbot)
    assert (third.groups.sentences.text(), third.state) == (page.groups.sentences.text(), "done")
    assert third.results.origin.text() == "Opened from all.comparison.npz."
    other.layers["image 3"].data[:20] = 0
    other.layers["image 3"].refresh()
    other.layers["image 3"].events.data()
    qtbot.waitUntil(lambda: "image 3 was changed" in third.stale.label.text())
    assert not third.groups.sentences.isEnabled()
    assert not third.groups.table.isEnabled()
    session.detach(session.comparison)
    again.detach(again.comparison)


def test_an_experiment_can_be_rerun_while_its_files_are_unchanged(model, qtbot, tmp_path):
    """Two files, and two planes of a third, one displayed and one split off."""
    session, path, told = Session.of(model), tmp_path / "four.experiment.npz", []
    session.comparison.message_posted.connect(lambda words, _: told.append(words))
    set_choices(session.choices, landmarks=40, rank=5)
    for place in range(2):
        tifffile.imwrite(tmp_path / f"{place}.tif", labels_of(place))
        model.open(tmp_path / f"{place}.tif", plugin="napari", layer_type="labels")
    tifffile.imwrite(
        tmp_path / "stack.tif", np.stack([labels_of(place) for place in (2, 3, 4)]).astype(np.uint16), imagej=True
    )
    (stack,) = model.open(tmp_path / "stack.tif", plugin="napari", layer_type="labels")
    model.dims.set_point(0, 1)
    (piece,) = layers_of(stack, [NewPart("z = 2", ImagePart(plane=(2,)), (stack.data[2].copy(), {}, "labels"))])
    model.add_layer(piece)
    rows = [*model.layers[:2], stack, piece]
    session.design.write([(layer, "group", "aabb"[place]) for place, layer in enumerate(rows)])
    assert session.design.blocking_reason() == ""
    ended(session.comparison, qtbot, session.comparison.run)
    session.comparison.save_experiment(path)
    wait_until_idle(session.comparison, qtbot)
    again = rerun(path)
    assert (again.same, again.notes) == (True, ())
    other = Session.of(elsewhere := ViewerModel())  # without open images, a copy keeps its files
    other.comparison.open(path)
    assert elsewhere.layers == []
    wait_until_idle(other.comparison, qtbot)
    other.comparison.save_experiment(tmp_path / "copy.experiment.npz")
    wait_until_idle(other.comparison, qtbot)
    assert rerun(tmp_path / "copy.experiment.npz").same
    model.layers[0].data[:20] = 0  # as if painted over: the file differs
    ended(session.comparison, qtbot, session.comparison.run)
    session.comparison.save_experiment(path)
    wait_until_idle(session.comparison, qtbot)
    assert "so rerun compares the saved outlines" in told[-1]
    assert "the file does not record its inputs" in rerun(path).notes[0]


def test_position_dependence_is_shown_for_two_images(model, qtbot):
    add_spots(model, "one", "two", rows=4)
    session = Session.of(model)
    page = TrustPage(model)
    qtbot.addWidget(page)
    set_choices(session.choices, landmarks=40, rank=5, permutations=99)
    session.attach(session.comparison)
    ended(session.comparison, qtbot, session.comparison.run)
    qtbot.waitUntil(lambda: "on position within the images" in page.position.text())
    assert page.position.text()[0] in "⚠✓"
    ended(session.comparison, qtbot, session.comparison.run)
    wait_until_idle(session.position, qtbot)
    assert page.position.text()
    session.detach(session.comparison)


def test_replicates_of_two_groups_are_permuted(model, qtbot):
    """Six images per sample, from three dishes each: images of one dish are not independent."""
    session, page = Session.of(model), AnswerPage(model)
    qtbot.addWidget(page)
    set_choices(session.choices, landmarks=40, rank=5, permutations=199, significance=0.3)
    layers = [model.add_labels(labels_of(place), name=f"{'ab'[place // 6]}{place}") for place in range(12)]
    session.design.write((layer, "group", layer.name[0]) for layer in layers)
    session.design.write((layer, "replicate", f"dish {place % 3}") for place, layer in enumerate(layers))
    press(page.run_button, qtbot)
    wait_until_idle(session.comparison, qtbot)
    assert page.result.permuted == "replicates"
    assert page.result.names == ("a", "b")
    page.verdict.show_headline(page.result, headline(page.result))
    assert "whole replicates were permuted (3 and 3)" in page.verdict.beside.text()
    assert session.comparison.unsaved
    session.design.write((layer, "replicate", f"dish {place % 2}") for place, layer in enumerate(layers))
    assert page.state == "stale"
    assert "the design table was changed" in page.stale.label.text()
    session.design.write((layer, "replicate", "") for layer in layers)
    press(page.stale.button, qtbot)
    wait_until_idle(session.comparison, qtbot)
    assert page.result.permuted == "images"


def test_groups_are_called_by_their_names(model, qtbot, tmp_path):
    session, page, path = Session.of(model), AnswerPage(model), tmp_path / "pair.comparison.npz"
    qtbot.addWidget(page)
    set_choices(session.choices, landmarks=40, rank=5, permutations=299)
    layers = [model.add_labels(labels_of(seed, size=9 + 2 * seed), name=f"image {seed}") for seed in range(2)]
    session.design.write((layer, "group", name) for layer, name in zip(layers, ("control", "drug"), strict=True))
    page.comparison.arrange(True, captioned=True)
    press(page.run_button, qtbot)
    task = wait_until_idle(session.comparison, qtbot)
    assert task.result.names == ("control", "drug")
    page.verdict.show_headline(page.result, headline(page.result))
    assert "drug's outlines are larger" in page.verdict.sentence.text()
    assert page.verdict.picture.names == ("control", "drug")
    assert [layer.name for layer in model.layers if is_own(layer)] == ["image 0 curves", "image 1 curves"]
    captions = {caption.text for caption in task.side_by_side.captions((600, 800))}
    assert captions == {"control · image 0", "drug · image 1"}
    assert "a = Ensemble.pooled([a], name='control')" in script_of(task.shown)
    task.save(path)
    wait_until_idle(task, qtbot)
    task.open(path)
    wait_until_idle(task, qtbot)
    assert task.result.names == ("control", "drug")
    assert [ref() for side in task.run_inputs.layers for ref in side] == layers  # found by the names of the images
    assert task.changed_since() == []
    ended(task, qtbot, task.run)
    session.design.write([(layers[1], "group", "dose")])
    assert task.changed_since() == ["a group was renamed"]


def test_a_saved_comparison_restores_the_design(model, qtbot, tmp_path):
    def with_images(viewer):
        for seed, name in enumerate(("one", "two", "three")):
            viewer.add_labels(labels_of(seed), name=name)
        session = Session.of(viewer)
        session.attach(session.comparison)
        set_choices(session.choices, landmarks=40, rank=5, permutations=99)
        return session, [viewer.layers[name] for name in ("one", "two", "three")]

    session, layers = with_images(model)
    for layer, group, dose in zip(layers, ("ctrl", "drug", "other"), ("0", "3", "10"), strict=True):
        session.design.write([(layer, "group", group), (layer, "replicate", "m1"), (layer, "dose", dose)])
    rows = session.design.rows()
    ended(session.comparison, qtbot, session.comparison.run)
    session.comparison.save(tmp_path / "pair.comparison.npz")
    wait_until_idle(session.comparison, qtbot)
    other = ViewerModel()
    again, _ = with_images(other)
    again.comparison.open(tmp_path / "pair.comparison.npz")
    wait_until_idle(again.comparison, qtbot)
    assert again.design.rows() == rows
    chosen = [[[layer.name for layer in side] for side in one.choices.design.sides()] for one in (session, again)]
    assert chosen[0] == chosen[1]
    again.design.restore_tree({"columns": 3})  # nothing of a damaged file
    assert again.design.rows() == rows
    for one in (session, again):
        one.detach(one.comparison)


def test_any_pair_of_groups_is_shown_and_an_experiment_opened_with_its_own_images(model, qtbot, tmp_path, monkeypatch):
    session, page, why = Session.of(model), AnswerPage(model), WhyPage(model)
    for widget in (page, why):
        qtbot.addWidget(widget)
    set_choices(session.choices, landmarks=40, rank=5, permutations=99)
    for seed in range(6):
        model.add_labels(labels_of(seed, size=9 + 2 * (seed // 2)), name=f"{'abc'[seed // 2]}_{seed % 2}")
    session.design.fill("{group}_{replicate}")
    press(page.run_button, qtbot)
    wait_until_idle(session.comparison, qtbot)
    pairs = [why.pair.itemText(place) for place in range(why.pair.count())]
    assert pairs == ["a and b", "a and c", "b and c"]
    why.pair.setCurrentIndex(1)
    why.pair.activated.emit(1)
    wait_until_idle(session.comparison, qtbot)
    result, table = session.comparison.shown.result, session.comparison.answer.experiment.table
    (row,) = table[(table["a"] == "a") & (table["b"] == "c")].to_dict("records")
    assert result.scale.p_value == row["scale_p"]
    assert why.explanation.explained_comparison is result
    assert {one.name for one in model.layers if one.name.endswith("curves")} == {
        f"{name} curves" for name in ("a_0", "a_1", "c_0", "c_1")
    }
    assert session.comparison.changed_since() == []
    assert (session.design.samples, session.comparison.state) == (["a", "c"], "done")

    rows, path = session.design.rows(), tmp_path / "groups.experiment.npz"
    session.comparison.save_experiment(path)
    wait_until_idle(session.comparison, qtbot)
    more = model.add_labels(labels_of(7), name="a_7")
    session.design.write([(more, "group", "a"), (more, "replicate", "7")])
    assert page.state == "stale"
    session.comparison.open(path)
    wait_until_idle(session.comparison, qtbot)
    assert session.design.rows() == rows
    assert more in session.design.layers()
    assert (page.state, page.results.message.text()) == ("done", "Opened from groups.experiment.npz.")
    page.groups.table.cellDoubleClicked.emit(0, 0)
    wait_until_idle(session.comparison, qtbot)
    assert "outlines colored by" in page.results.message.text()
    session.design.write([(more, "group", "a")])
    assert page.state == "stale"

    viewer = ViewerModel()  # without the images
    other = AnswerPage(viewer)
    qtbot.addWidget(other)
    mine = viewer.add_labels(labels_of(0), name="mine")
    Session.of(viewer).design.write([(mine, "group", "a")])
    monkeypatch.setattr(napari, "current_viewer", lambda: viewer)
    PluginManager.instance().discover()
    viewer.open(path, plugin="napari-shape-ensembles")  # as when dropped on the window
    wait_until_idle(Session.of(viewer).comparison, qtbot)
    assert Session.of(viewer).design.groups() == {"a": [mine]}
    other.groups.table.cellDoubleClicked.emit(0, 0)
    assert "images of this result are not in the viewer" in other.results.message.text()


def test_withheld_rows_are_shown_after_confirmation(model, qtbot):
    session, page = Session.of(model), AnswerPage(model)
    qtbot.addWidget(page)
    set_choices(session.choices, landmarks=40, rank=5, significance=0.2)
    for place in range(3):
        labels = labels_of(place)
        model.add_labels(labels, name=f"a_{place}")
        model.add_labels(np.where(labels == 1, 0, labels), name=f"b_{place}")  # the same outlines, except for one
    model.add_labels(labels_of(9), name="c_0")
    session.design.fill("{group}_{replicate}")
    press(page.run_button, qtbot)
    wait_until_idle(session.comparison, qtbot)
    assert [row[1] for row in page.comparison.answer.rows] == ["inconclusive"] * 3
    assert page.faults.label.text() == "⚠ No answer for 1 of 3 contrasts until the outlines have been checked."
    assert "occur twice" in page.groups.contrasts.text()
    assert status(session, "Answer") == PageStatus("look", page.faults.label.text())
    press(page.faults.button, qtbot)
    wait_until_idle(session.comparison, qtbot)
    assert [row[1] for row in page.comparison.answer.rows] == ["no difference", "inconclusive", "inconclusive"]
    assert page.faults.isHidden()
    assert session.choices.settings.overrule
    assert status(session, "Answer").state == "done"
    assert session.comparison.unsaved
    assert page.stale.isHidden()
