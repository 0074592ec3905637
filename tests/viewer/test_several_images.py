"""Several images per sample: chosen in the dock, pooled, and shown with one curve layer each."""

import napari
import numpy as np
import pytest
from napari.components import ViewerModel
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QApplication

from docks import (
    choose_menu_entry,
    choose_several,
    chosen_names,
    execute,
    open_answer,
    press,
    reopen,
    run,
    same,
    save_as,
    set_choices,
    toggle_side_by_side,
    words_of,
)
from image_makers import spots
from napari_shape_ensembles import Comparison, compare, decision_landscape
from napari_shape_ensembles.outlines.reasons import BY_HAND
from napari_shape_ensembles.viewer import task
from napari_shape_ensembles.viewer.docks.study import LandscapePage
from napari_shape_ensembles.viewer.inputs import ensemble_of
from napari_shape_ensembles.viewer.session import Session

# Micrometers per pixel, so that positions and lengths differ between the images.
IMAGES = {"one": 0.5, "two": 0.5, "three": 0.25, "four": 0.5}
A, B = ["one", "three"], ["four", "two"]


def with_images(model):
    for seed, (name, size) in enumerate(IMAGES.items(), start=1):
        data = spots(seed, rows=3, size=12.0 if size == 0.5 else 9.0)
        model.add_image(data, name=name, scale=(size, size), translate=(0, 200 * seed), units=("um", "um"))
    return model


@pytest.fixture
def dock(model, qtbot):
    dock = open_answer(with_images(model), qtbot)
    set_choices(dock.session.choices, rank=10)
    # Two images per sample cannot reach the level if whole images are permuted.
    set_choices(dock.session.choices, permute="curves")
    choose_several(dock, A, B)
    return dock


@pytest.fixture
def finished_dock(dock, qtbot):
    run(dock, qtbot)
    return dock


def expected(model, settings, names=(A, B)):
    a, b = ([ensemble_of(model.layers[name], model.dims) for name in side] for side in names)
    return compare(a, b, settings)


# Run -----------------------------------------------------------------------------------------------------------


def test_checked_images_are_pooled_and_each_gets_a_curve_layer_and_a_cell(dock, model, qtbot, monkeypatch):
    activated, selected = [], set(model.layers.selection)
    model.layers.selection.events.active.connect(activated.append)
    run(dock, qtbot)
    assert activated == []  # by adding the curve layers
    assert set(model.layers.selection) == selected
    result = expected(model, dock.result.settings)
    assert dock.state == "done"
    assert dock.result.a.name == "one + three"
    assert dock.result.summary() == result.summary()
    np.testing.assert_array_equal(dock.result.undulation.null, result.undulation.null)
    np.testing.assert_array_equal(dock.result.distances["distance_from_mean"], result.distances["distance_from_mean"])
    assert dock.result.a.images.tolist() == result.a.images.tolist()
    assert dock.result.note == result.note
    words = "brought to the coarser precision of the others: finer detail is not compared"
    assert words in dock.results.warnings.text()
    text = dock.results.text()
    assert "The curves of 2 images of A and 2 images of B are pooled and treated as independent." in text
    for name in (*A, *B):
        count = sum(image == name for part in (dock.result.a, dock.result.b) for image in part.images)
        assert f"{name}: {count} curves" in text

    layers = list(dock.comparison.curves)
    assert [layer.name for layer in layers] == ["one curves", "three curves", "four curves", "two curves"]
    row = 0
    for layer, name in zip(layers, [*A, *B], strict=True):
        image = model.layers[name]
        assert layer.scale.tolist() == image.scale.tolist()
        assert layer.translate.tolist() == image.translate.tolist()
        low, high = layer.extent.world
        assert (low >= image.extent.world[0]).all()
        assert (high <= image.extent.world[1]).all()
        rows = slice(row, row + len(layer.data))
        assert layer.features["id"].tolist() == result.distances["id"][rows].tolist()
        assert layer.features["distance_from_mean"].tolist() == result.distances["distance_from_mean"][rows].tolist()
        assert set(layer.features["sample"]) == {name}
        row += len(layer.data)
    assert row == len(result.distances)
    assert len({layer.face_contrast_limits for layer in layers}) == 1

    looked = []
    with monkeypatch.context() as patch:
        patch.setattr(task, "fingerprint", lambda *_: looked.append(1))
        toggle_side_by_side(dock)
        toggle_side_by_side(dock)
    assert not looked  # no pixels are read
    toggle_side_by_side(dock)
    cells = {layer.name: model.canvas.grid.position(place, model.layers) for place, layer in enumerate(model.layers)}
    assert [cells[name] for name in (*A, *B)] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert all(cells[f"{name} curves"] == cells[name] for name in (*A, *B))
    assert dock.state == "done"


def test_whole_images_are_permuted_by_default(model, qtbot):
    dock = open_answer(with_images(model), qtbot)
    set_choices(dock.session.choices, rank=10)
    choose_several(dock, A, B)
    run(dock, qtbot)
    assert (dock.result.decided_by, dock.result.permuted) == ("small-sample", "images")
    text = words_of(dock)
    assert "2 and 2 images permuted cannot go below p = 0.33" in text
    assert "Whole images were permuted: 2 images of A and 2 images of B." in text
    assert "size" in text


def done_names(dock):
    return tuple(list(dict.fromkeys(part.images.tolist())) for part in (dock.result.a, dock.result.b))


def test_what_stops_a_run_is_stated(dock, model, qtbot):
    choose_several(dock, ["one", "two"], [])
    assert "Enter two groups, each for at least one image." in dock.reason.text()
    assert not dock.run_button.isEnabled()
    model.add_labels(np.zeros((50, 50), dtype=np.int32), name="empty", units=("um", "um"))
    choose_several(dock, ["one", "empty"], ["two"])
    run(dock, qtbot)
    assert dock.state == "error"
    assert "empty has no usable outline" in dock.verdict.sentence.text()
    assert "remove the image from its sample" in dock.verdict.sentence.text()
    choose_several(dock, A, B)
    model.layers["three"].units = ("pixel", "pixel")
    run(dock, qtbot)
    assert dock.state == "error"
    assert dock.verdict.sentence.text().startswith("⚠ three: ")
    assert "pixel" in dock.verdict.sentence.text()


def test_the_curves_of_a_rotated_image_are_rotated(dock, model, qtbot):
    model.layers["three"].rotate = 30
    run(dock, qtbot)
    image, layer = model.layers["three"], model.layers["three curves"]
    np.testing.assert_allclose(layer.rotate, image.rotate)
    middle = image.world_to_data(layer.data_to_world(layer.data[0].mean(axis=0)))
    assert min(middle) > 0
    assert max(middle) < image.data.shape[0]


# Lifecycle -----------------------------------------------------------------------------------------------------


def test_a_result_is_stale_while_an_image_is_unchecked_edited_or_deleted(finished_dock, model, qtbot):
    choose_several(finished_dock, ["one"], B)
    assert finished_dock.state == "stale"
    assert "other layers are chosen" in finished_dock.stale.label.text()
    choose_several(finished_dock, A, B)
    assert finished_dock.state == "done"
    for name in (*A, *B):
        image = model.layers[name]
        before, image.data = image.data, image.data + 1
        qtbot.waitUntil(lambda: finished_dock.state == "stale")
        assert finished_dock.task.changed_since() == [f"{name} was changed"]
        image.data = before
        qtbot.waitUntil(lambda: finished_dock.state == "done")
    result = finished_dock.result
    model.layers.move(model.layers.index(model.layers["three"]), 0)  # another order changes nothing
    assert finished_dock.state == "done"
    run(finished_dock, qtbot)
    np.testing.assert_array_equal(finished_dock.result.t, result.t)
    choose_several(finished_dock, ["one"], B)
    run(finished_dock, qtbot)  # which replaces all layers of the run before
    own = [layer.name for layer in model.layers if layer.name.endswith("curves")]
    assert own == ["one curves", "four curves", "two curves"]
    del model.layers["four"]
    assert finished_dock.state == "stale"
    assert finished_dock.task.blocking_reason() == ""


def test_images_remain_checked_and_exclusions_kept_when_images_are_renamed(finished_dock, model, qtbot):
    model.layers["three"].name = "a third"
    assert chosen_names(finished_dock)[0] == ["a third", "one"]
    assert finished_dock.state == "done"
    # Curves are renamed with their image, unless the user has renamed them.
    assert {"one curves", "a third curves"} <= {layer.name for layer in model.layers}
    model.layers["a third curves"].name = "mine"
    model.layers["a third"].name = "three"
    assert "mine" in model.layers
    assert not {"a third curves", "three curves"} & {layer.name for layer in model.layers}
    exclude(finished_dock, "one", 3)
    assert not finished_dock.excluded.isHidden()
    finished_dock.session.choices.exclusions.clear()
    assert finished_dock.state == "done"
    exclude(finished_dock, "one", 3)
    counts = {name: int((finished_dock.result.a.images == name).sum()) for name in A}
    one, three = model.layers["one"], model.layers["three"]
    one.name, three.name = "x", "one"
    one.name = "three"
    run(finished_dock, qtbot)
    assert int((finished_dock.result.a.images == "three").sum()) == counts["one"] - 1
    assert int((finished_dock.result.a.images == "one").sum()) == counts["three"]


def test_checkmarks_are_not_restored_automatically(dock, model):
    choose_several(dock, [], [])
    model.add_image(spots(9), name="new")
    model.layers["one"].name = "first"
    assert dock.session.design.sides() == ((), ())


def test_images_are_pooled_in_the_order_of_their_names(model, qtbot):
    for number in (10, 2, 1):
        model.add_image(spots(number, rows=3), name=f"field {number}")
    dock = open_answer(model, qtbot)
    a, b = ([model.layers[f"field {number}"] for number in side] for side in ((10, 2), (1,)))
    dock.session.design.choose(a, b)
    assert [layer.name for layer in dock.session.design.sides()[0]] == ["field 2", "field 10"]


# Curves --------------------------------------------------------------------------------------------------------


def test_a_curve_of_the_second_image_is_selected_in_its_layer_and_excluded(finished_dock, qtbot):
    layers = list(finished_dock.comparison.curves)
    row = len(layers[0].data) + 3
    finished_dock.comparison.selection.pick([row])
    assert [set(layer.selected_data) for layer in layers] == [set(), {3}, set(), set()]
    layers[2].selected_data = {1}
    assert finished_dock.comparison.selection.rows.tolist() == [row, len(finished_dock.result.a) + 1]

    one, number = finished_dock.result.a.ids.tolist()[row], len(finished_dock.result.a)
    finished_dock.comparison.exclude(row)
    assert finished_dock.state == "stale"
    assert layers[1].features["excluded"].tolist().index(True) == 3
    run(finished_dock, qtbot)
    assert len(finished_dock.result.a) == number - 1
    assert one not in finished_dock.result.a.ids.tolist()
    assert finished_dock.result.a.dropped[BY_HAND] == 1
    assert done_names(finished_dock) == (A, B)
    for place in range(int((finished_dock.result.a.images == "one").sum())):
        exclude(finished_dock, "one", place)
    run(finished_dock, qtbot)
    assert "one has no usable outline" in finished_dock.verdict.sentence.text()
    assert "excluded by hand" in finished_dock.verdict.sentence.text()


def test_a_curve_of_one_image_beside_several_is_excluded(dock, qtbot):
    choose_several(dock, A, ["two"])
    run(dock, qtbot)
    dock.comparison.exclude(len(dock.result.a) + 2)
    number = len(dock.result.b)
    run(dock, qtbot)
    assert len(dock.result.b) == number - 1
    dock.curve_window.open()
    dock.curve_window.explorer.table.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    dock.curve_window.explorer.close()


def excluded_curves(dock):
    """Image and index of the curves marked as excluded, from the layers."""
    return [
        (layer.name.removesuffix(" curves"), row)
        for layer in dock.comparison.curves
        for row in np.flatnonzero(layer.features["excluded"])
    ]


def exclude(dock, name, place):
    """Exclude a curve of an image."""
    first = [image for part in (dock.result.a, dock.result.b) for image in part.images].index(name)
    dock.comparison.exclude(first + place)


def test_exclusions_are_kept_when_other_images_are_checked(dock, model, qtbot):
    choose_several(dock, ["one"], B)
    run(dock, qtbot)
    assert done_names(dock) == (["one"], B)
    assert dock.result.summary() == expected(model, dock.result.settings, (["one"], B)).summary()
    exclude(dock, "one", 2)
    count = len(dock.result.a)
    assert excluded_curves(dock) == [("one", 2)]
    for a in (["one"], ["one", "three", "four"], A):
        choose_several(dock, a, ["two"])
        assert "1 curve excluded manually" in dock.excluded.label.text()
        run(dock, qtbot)
        assert int((dock.result.a.images == "one").sum()) == count - 1
    choose_several(dock, ["three"], ["two"])
    assert dock.excluded.isHidden()


def test_label_images_without_clashing_ids_are_distinguished(dock, model, qtbot):
    labels = np.zeros((60, 80), dtype=np.int32)
    for index in range(10):
        labels[5 + 10 * (index % 5) : 13 + 10 * (index % 5), 10 + 40 * (index // 5) :][:, :18] = index + 1
    model.add_labels(np.where(labels <= 5, labels, 0), name="low", units=("um", "um"))
    model.add_labels(np.where(labels > 5, labels, 0), name="high", units=("um", "um"))
    choose_several(dock, ["low", "high"], B)
    run(dock, qtbot)
    assert dock.result.a.ids[0] == "high:6"
    exclude(dock, "low", 0)
    assert excluded_curves(dock) == [("low", 0)]
    run(dock, qtbot)
    assert "low:1" not in dock.result.a.ids
    assert len(dock.result.a) == 9


@pytest.mark.parametrize("gone", ["one curves", "three"])
def test_side_by_side_never_shows_curves_over_another_image(finished_dock, model, qtbot, gone):
    del model.layers[gone]
    grid = model.canvas.grid
    toggle_side_by_side(finished_dock)
    cells = {layer.name: grid.position(index, model.layers) for index, layer in enumerate(model.layers)}
    for name in {*A, *B} - {gone, gone.removesuffix(" curves")}:
        assert cells[name] == cells[f"{name} curves"]
    assert len({cells[name] for name in {*A, *B} - {gone}}) == len({*A, *B} - {gone})


# Saving and copying --------------------------------------------------------------------------------------------


def test_a_saved_result_opens_with_its_exclusions_with_and_without_its_images(finished_dock, qtbot, tmp_path, answer):
    finished_dock.comparison.exclude(2)
    run(finished_dock, qtbot)
    path = save_as(finished_dock, answer, tmp_path / "pooled.comparison.npz", qtbot)
    again = reopen(with_images(ViewerModel()), path, qtbot)
    assert again.result.summary() == finished_dock.result.summary()
    assert again.state == "done"
    assert "1 curve excluded manually" in again.excluded.label.text()
    assert chosen_names(again) == [A, B]
    for before, after in zip(finished_dock.comparison.curves, again.comparison.curves, strict=True):
        assert after.name == before.name
        np.testing.assert_allclose(after.extent.world, before.extent.world, atol=0.2)
        np.testing.assert_allclose(after.face_color, before.face_color, atol=1 / 255)
    again.viewer.layers["four"].data = again.viewer.layers["four"].data + 1
    qtbot.waitUntil(lambda: again.state == "stale")

    alone = reopen(ViewerModel(), path, qtbot)
    names = [layer.name for layer in finished_dock.comparison.curves]
    assert [layer.name for layer in alone.comparison.curves] == names
    assert "not in the viewer" in alone.results.origin.text()
    assert Comparison.load(path).a.images.tolist() == finished_dock.result.a.images.tolist()

    answer(tmp_path / "pooled.csv")  # exported curves name their image
    assert choose_menu_entry(finished_dock.results.store, "Export curves", qtbot).startswith("Saved")
    layers = ViewerModel().open(tmp_path / "pooled.A.curves.csv", plugin="napari-shape-ensembles")
    assert [layer.name for layer in layers] == A


def test_the_copied_script_gives_the_same_result_for_many_renamed_and_excluded(dock, model, qtbot, monkeypatch):
    monkeypatch.setattr(napari, "current_viewer", lambda: model)
    choose_several(dock, ["one", "three", "four"], ["two"])
    run(dock, qtbot)
    assert dock.result.a.name == "four + 2 more"
    dock.comparison.exclude(1)
    run(dock, qtbot)
    model.layers["three"].name = "3rd\n'field'"
    assert dock.state == "done"
    press(dock.results.copy_python, qtbot)
    code = QApplication.clipboard().text()
    assert "Ensemble.pooled(" in code
    scope, out = execute(code)
    same(scope["result"], dock.result)
    assert dock.result.summary() in out
    press(dock.results.copy_text, qtbot)
    assert "A: four + 2 more" in QApplication.clipboard().text()
    model.add_image(np.stack([spots(1, rows=3)] * 2), name="stack\nof two", units=("um",) * 3)
    choose_several(dock, ["stack\nof two"], ["two"])
    run(dock, qtbot)
    assert dock.result.a.name == "stack of two"
    press(dock.results.copy_python, qtbot)
    compile(QApplication.clipboard().text(), "copied", "exec")


# Decision landscape --------------------------------------------------------------------------------------------


def test_a_landscape_pools_images_and_passes_them_on(model, qtbot):
    with_images(model)
    dock = LandscapePage(model)
    qtbot.addWidget(dock)
    set_choices(dock.session.choices, permutations=99, significance=0.05)
    dock.ranges["ranks"].setText("2, 5")
    dock.ranges["landmarks"].setText("24")
    choose_several(dock, A, B)
    with qtbot.waitSignal(dock.finished):
        press(dock.run_button, qtbot)
    a, b = ([ensemble_of(model.layers[name], model.dims) for name in side] for side in (A, B))
    whole = decision_landscape(a, b, ranks=[2, 5], landmarks=[24], settings=dock.session.choices.settings)
    np.testing.assert_array_equal(dock.result.mmd, whole.mmd)

    compare_dock = open_answer(model, qtbot)
    assert chosen_names(compare_dock) == [A, B]
    dock.hide()
    qtbot.waitUntil(lambda: not dock.drawing)


def test_a_layer_on_both_sides_has_one_place_in_the_grid(model, monkeypatch):
    layer, cells = model.add_labels(np.eye(9, dtype=int)), Session.of(model).image_cells
    monkeypatch.setattr(cells, "compared", lambda: [("A", layer, None), ("B", layer, None)])
    assert [one for cell in cells.cells() for one in cell.layers] == [layer]
