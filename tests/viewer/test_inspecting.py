"""The inspection task without a dock: ranking, exclusions, inputs, layers, and error messages."""

import gc
import json
import weakref

import npe2
import numpy as np
import pandas as pd
import pytest
import tifffile

from docks import exclude
from fault_makers import ODD, faulty
from image_makers import labels_with_a_fault, segmented, spots
from napari_shape_ensembles import Outlines, Settings, rank_suspects
from napari_shape_ensembles.io import read_calibration
from napari_shape_ensembles.io.calibration import StackAxes, read_axes
from napari_shape_ensembles.outlines.reasons import BY_HAND
from napari_shape_ensembles.viewer.files import read_curve_layers
from napari_shape_ensembles.viewer.inputs import OWN, source_of, trace, trace_sides
from napari_shape_ensembles.viewer.inspecting import AGREE
from napari_shape_ensembles.viewer.session import Session
from napari_shape_ensembles.viewer.splitting import layers_of, split_options
from napari_shape_ensembles.viewer.task import JobRunner


@pytest.fixture
def task(model, qapp):
    """The inspection task of a viewer, activated as by an open dock."""
    session = Session.of(model)
    session.choices.set(settings=Settings(landmarks=50, rank=10, permutations=199))
    session.inspection.activate()
    yield session.inspection
    session.inspection.deactivate()


@pytest.fixture
def pair(task, model, qtbot):
    """Two label layers, inspected."""
    model.add_labels(labels_with_a_fault(1), name="one", scale=(0.5, 0.5), units=("um", "um"))
    model.add_labels(segmented(2), name="two", scale=(0.5, 0.5), units=("um", "um"))
    task.b.choose(model.layers["two"])
    ended(task, qtbot, task.run)
    assert task.result is not None, task.message
    return task


def ended(task, qtbot, start):
    assert not task.blocking_reason()
    start()
    qtbot.waitUntil(lambda: not task.busy)


def reasons(task):
    return task.result.ranking.set_index("id")["reasons"]


def test_labels_are_ranked_with_the_visible_image_below_them_which_no_layer_of_the_plugin_is(task, model, qtbot):
    labels, image, _ = faulty("cut", reach=1)
    model.add_image(image, name="photograph")
    model.add_labels(labels, name="one")
    OWN.add(model.add_image(np.zeros(image.shape), name="one preview"))
    task.a.choose(model.layers["one"])
    ended(task, qtbot, task.run)
    assert reasons(task)[ODD].startswith("cut: ")
    expected = rank_suspects(labels, image)
    assert task.result.ranking[["id", "score"]].to_numpy().tolist() == expected[["label", "score"]].to_numpy().tolist()
    model.layers["photograph"].visible = False
    ended(task, qtbot, task.run)
    assert "cut" not in reasons(task)[ODD]


def test_labels_are_ranked_with_the_image_of_the_same_name_and_position(task, model, qtbot):
    labels, image, _ = faulty("cut", reach=1)
    for name, pixels in (("01_image", image), ("02_image", image[::-1])):
        model.add_image(pixels, name=name)
    model.add_labels(labels, name="01_mask")
    task.a.choose(model.layers["01_mask"])
    ended(task, qtbot, task.run)
    assert task.ranked_with == '"01_mask" is ranked with the image "01_image".'
    expected = rank_suspects(labels, image)
    seen = task.result.ranking[["id", "score"]].to_numpy().tolist()
    assert seen == expected[["label", "score"]].to_numpy().tolist()
    model.layers["01_image"].translate = (0, 500)
    ended(task, qtbot, task.run)
    assert task.ranked_with == '"01_mask" is ranked with the image "02_image".'
    model.layers["02_image"].data = image[:100]
    ended(task, qtbot, task.run)
    assert task.ranked_with == '"01_mask" is ranked without an image: no visible one has its size and place.'


def moved(rows):
    return np.array([[1.0, 0, rows], [0, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize(
    ("of_image", "of_labels", "same"),
    [
        ({"scale": (100, 100), "units": "nm"}, {"scale": (0.1, 0.1), "units": "um"}, True),
        ({"affine": np.diag([2.0, 2, 1])}, {"scale": (2, 2)}, True),
        ({"scale": (-1, 1)}, {"scale": (-1, 1)}, True),
        ({"scale": (0.325, 0.325)}, {"scale": (0.32501, 0.325), "translate": (1e-4, 0)}, True),
        ({"affine": moved(500)}, {}, False),
        ({"rotate": 90}, {}, False),
        ({"scale": (1e-9, 1e-9), "units": "m"}, {"scale": (2e-9, 2e-9), "units": "m"}, False),
    ],
)
def test_the_image_of_labels_is_the_one_displayed_below_them(task, model, qtbot, of_image, of_labels, same):
    labels, image, _ = faulty("cut", reach=1)
    model.add_image(image, name="field", **of_image)
    model.add_labels(labels, name="nuclei", **of_labels)
    task.a.choose(model.layers["nuclei"])
    ended(task, qtbot, task.run)
    assert task.ranked_with.startswith('"nuclei" is ranked with the image "field"') is same


@pytest.mark.parametrize("kind", ["pixel size of the recipe", "pyramid", "one plane"])
def test_labels_are_ranked_with_an_image_on_the_same_pixel_grid(task, model, qtbot, kind):
    labels, image, _ = faulty("cut", reach=1)
    if kind == "pixel size of the recipe":
        task.choices.set(recipe=Outlines(pixel_size=0.2, unit="µm"))
    image = [image, image[::2, ::2]] if kind == "pyramid" else image[None] if kind == "one plane" else image
    model.add_image(image, name="field", multiscale=kind == "pyramid")
    model.add_labels(labels, name="nuclei")
    task.a.choose(model.layers["nuclei"])
    ended(task, qtbot, task.run)
    assert task.ranked_with == '"nuclei" is ranked with the image "field".'


def test_objects_can_be_dark(task, model, qtbot):
    model.add_image(1 - spots(1), name="one")
    task.choices.set(recipe=Outlines(objects="dark", split_touching=False))
    ended(task, qtbot, task.run)
    assert len(task.result.ensembles[0]) == 16


def test_the_comparison_uses_the_settings_of_the_session(pair, qtbot):
    assert pair.result.comparison.settings.rank == 10
    ended(pair, qtbot, pair.compare_again)
    assert pair.again.settings.rank == 10


def test_exclusions_are_kept_if_the_layer_is_deleted(pair, model, qtbot):
    model.layers.remove("one inspected")
    ranking = pair.result.ranking
    first = int(((ranking["source"] == "A") & (ranking["index"] >= 0)).idxmax())
    pair.exclude(first, True)
    pair.go_to(first)
    assert pair.is_excluded(first)
    ended(pair, qtbot, pair.compare_again)
    assert pair.again.a.dropped[BY_HAND] == 1
    pair.exclude(first, False)
    assert not pair.is_excluded(first)
    assert pair.again is None


def test_curves_excluded_from_a_comparison_are_inspected(pair, model):
    layer = model.layers["one"]
    exclude(pair.choices, layer, "3")
    assert pair.changed_since() == []


def test_a_result_is_kept_on_closing_and_detects_later_changes(pair, model):
    pair.exclude(0, True)
    pair.deactivate()
    layer = model.layers["one"]
    listeners = len(layer.events.data.callbacks)
    layer.data = layer.data[::-1]
    pair.activate()
    assert len(layer.events.data.callbacks) == listeners + 1
    assert pair.changed_since() == ["one was changed"]
    assert pair.is_excluded(0)


def test_layers_are_not_kept_alive(pair, model, qtbot):
    dead = [weakref.ref(model.layers[name]) for name in ("two", "two inspected")]
    for ref in dead:
        model.layers.remove(ref())
    model.layers.selection.active = model.layers["one"]  # napari keeps the last active layer alive
    qtbot.wait(100)
    gc.collect()
    assert [ref() for ref in dead] == [None, None]
    assert pair.changed_since() == ["a layer was deleted"]
    assert pair.b.chosen() is None


@pytest.mark.parametrize("taken", [0, 2, 4])
def test_layers_deleted_while_others_are_added_stay_deleted(pair, model, qtbot, monkeypatch, taken):
    monkeypatch.setattr(JobRunner, "turn_pause_ms", 10**7)
    pair.run()
    qtbot.waitUntil(lambda: pair.step.name == "inspecting two" and pair.delivering)
    for _ in range(taken):
        pair.advance(pair.steps)
    mine = [layer for layer in model.layers if layer.name.endswith("inspected")]
    for layer in mine:
        model.layers.remove(layer)
    monkeypatch.undo()
    pair.advance(pair.steps)
    qtbot.waitUntil(lambda: not pair.busy)
    assert not pair.blocking_reason()
    assert not [layer for layer in mine if layer in model.layers]


def test_an_image_without_a_curve_is_reported_without_layers(task, model, qtbot):
    levels = np.pad(np.ones((30, 30)), ((0, 30), (0, 30))) + np.random.default_rng(0).uniform(0, 0.1, (60, 60))
    model.add_image(levels, name="one")  # no mask, which would be refused
    ended(task, qtbot, task.run)
    assert "one has no usable outline" in task.message
    assert task.result is None
    assert [layer.name for layer in model.layers] == ["one"]
    model.add_image(np.zeros((60, 60)), name="two")
    task.b.choose(model.layers["two"])
    task.set_question(AGREE)
    ended(task, qtbot, task.run)
    assert "every pixel is 0" in task.message


def test_a_pixel_size_in_the_recipe_does_not_move_the_outlines(task, model, qtbot):
    model.add_labels(labels_with_a_fault(), name="one")
    ended(task, qtbot, task.run)
    pixels, before = task.result, model.layers["one inspected"].data
    task.choices.set(recipe=Outlines(pixel_size=0.5, unit="µm"))
    ended(task, qtbot, task.run)
    np.testing.assert_allclose(model.layers["one inspected"].data[3], before[3], atol=1e-3)
    assert task.result.ensembles[0].unit == "µm"
    assert task.result.ranking["reasons"].tolist() == pixels.ranking["reasons"].tolist()


def test_excluded_shapes_are_omitted_everywhere(model):
    boxes = [np.array([[0, 0], [0, 9], [9, 9], [9, 0]]) + 20 * i for i in range(3)]
    layer = model.add_shapes(boxes, shape_type="polygon", features={"excluded": [False, True, False]})
    source = source_of(layer, model.dims)
    assert len(source.data) == 2
    assert source.left_out == {BY_HAND: 1}


def test_outlines_are_edited_in_their_layer_and_written_to_the_format_they_came_in(task, model, qtbot, tmp_path):
    """Of a file of labelme, one inside another is moved and a third deleted; all else in the file is kept."""
    squares = (5, 5, 20), (9, 9, 5), (50, 5, 9)
    boxes = [[[x, y], [x + side, y], [x + side, y + side], [x, y + side]] for x, y, side in squares]
    shapes = [{"label": "cell", "points": box, "shape_type": "polygon"} for box in boxes]
    shapes.insert(1, {"label": "crack", "points": boxes[0][:2], "shape_type": "line"})
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"version": "5", "flags": {"done": True}, "shapes": shapes, "imagePath": "x.png"}))
    ((data, options, _),) = read_curve_layers(str(path))
    layer = model.add_shapes(data, **options)
    ended(task, qtbot, task.run)
    assert task.rows["reasons"].tolist() == ["lies inside another curve"]
    task.go_to(0)
    task.fix()
    assert (model.layers.selection.active, layer.mode, layer.selected_data) == (layer, "direct", {1})
    layer.data = [layer.data[0], layer.data[1] + 30, layer.data[2]]
    layer.selected_data = {2}
    layer.remove_selected()
    assert task.to_save() == {0: str(path)}
    ended(task, qtbot, lambda: task.save({0: tmp_path / "x.corrected.json"}))
    assert task.message == "Saved as x.corrected.json."
    written = json.loads((tmp_path / "x.corrected.json").read_text())
    assert written["flags"] == {"done": True}
    assert [one["shape_type"] for one in written["shapes"]] == ["polygon", "line", "polygon"]
    assert written["shapes"][:2] == shapes[:2]
    np.testing.assert_allclose(written["shapes"][2]["points"], np.array(boxes[1]) + 30)


def test_outlines_without_a_suspect_are_inspected(task, model, qtbot):
    model.add_shapes([np.array([[0, 0], [0, 9], [9, 9], [9, 0]])], shape_type="polygon")
    ended(task, qtbot, task.run)
    assert task.result is not None, task.message
    assert len(task.rows) == 0


def test_cached_outlines_are_kept_when_a_curve_is_excluded(model):
    labels = model.add_labels(labels_with_a_fault(1), name="one", scale=(0.5, 0.5), units=("um", "um"))
    source = source_of(labels, model.dims)
    whole = trace(source, Outlines())
    one, both = trace_sides(([source], [source, source]), Outlines(), [{"1"}])
    assert len(one) == len(whole) - 1
    assert one.dropped == whole.dropped | {BY_HAND: 1}
    for left in (one, both):
        assert whole.tracing
        assert (left.unit, left.pixel_size, left.tracing) == (whole.unit, whole.pixel_size, whole.tracing)


@pytest.fixture
def reviewed(task, model, qtbot):
    """Labels with a hole in one of them, inspected with their image."""
    labels, image, _ = faulty("hole", reach=1)
    model.add_image(image, name="field")
    model.add_labels(labels, name="nuclei", scale=(0.5, 0.5), units=("um", "um"))
    model.layers["field"].scale = (0.5, 0.5)
    task.a.choose(model.layers["nuclei"])
    ended(task, qtbot, task.run)
    task.go_to(0)
    assert task.current == (0, ODD)
    return task


def fixed(task, qtbot, *options):
    task.fix(*options)
    qtbot.waitUntil(lambda: not task.update_runner.busy)


def test_a_correction_changes_a_copy_and_retraces_its_outline(reviewed, model, qtbot):
    given = model.layers["nuclei"].data.copy()
    before = model.layers["nuclei inspected"]
    excluded = int(reviewed.rows.index[reviewed.rows["label"] == 19][0])
    reviewed.exclude(excluded, True)
    fixed(reviewed, qtbot)
    copy = model.layers["nuclei corrected"]
    assert copy.data.dtype == given.dtype
    np.testing.assert_array_equal(copy.scale, (0.5, 0.5))
    np.testing.assert_array_equal(model.layers["nuclei"].data, given)
    now = model.layers["nuclei inspected"]
    assert now is not before
    assert now.features.set_index("id").loc[ODD, "reasons"] == ""
    assert now.features.loc[now.features["excluded"], "id"].tolist() == [19]
    assert reviewed.changed_since() == []
    reviewed.go_to(len(reviewed.rows) // 2)
    assert reviewed.current.label != ODD
    reviewed.undo()
    assert reviewed.current == (0, ODD)  # the label of the undone correction
    qtbot.waitUntil(lambda: not reviewed.update_runner.busy)
    np.testing.assert_array_equal(copy.data, given)
    assert reasons(reviewed)[ODD].startswith("hole: ")
    reviewed.undo()
    assert "nothing to undo" in reviewed.message


@pytest.mark.parametrize("axes", [(1, 2), (0, 2)])
def test_labels_of_a_stack_are_ranked_with_the_image_plane_below_them(task, model, qtbot, axes):
    labels, image, _ = faulty("cut", reach=1)
    planes = np.stack([labels[::-1], labels]), np.stack([image[::-1], image])
    whole, pictures = (np.ascontiguousarray(np.moveaxis(one, (1, 2), axes)) for one in planes)
    model.add_image(pictures, name="field")
    model.add_labels(whole, name="nuclei")
    (hidden,) = {0, 1, 2} - {*axes}
    model.dims.order = (hidden, *axes)
    model.dims.set_point(hidden, 1)
    task.a.choose(model.layers["nuclei"])
    ended(task, qtbot, task.run)
    seen = rank_suspects(labels, image)
    pd.testing.assert_series_equal(
        task.rows.set_index("label")["score"].sort_index(), seen.set_index("label")["score"].sort_index()
    )
    without = rank_suspects(labels)
    assert not np.allclose(seen["score"], without["score"])


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 1, 0), (1, 2, 0)])
def test_a_corrected_plane_is_ranked_with_its_image_along_any_axes(task, model, qtbot, order):
    labels, image, _ = faulty("cut", reach=1)
    _, *axes = order
    both = (np.moveaxis(np.stack([one, one]), (1, 2), axes) for one in (image, labels))
    pictures, whole = map(np.ascontiguousarray, both)
    model.add_image(pictures, name="field", scale=(2, 3, 4), translate=(5, 6, 7))
    model.add_labels(whole, name="nuclei", scale=(2, 3, 4), translate=(5, 6, 7))
    model.dims.order = order
    task.a.choose(model.layers["nuclei"])
    ended(task, qtbot, task.run)
    task.go_to(0)
    fixed(task, qtbot, "delete")
    model.dims.order = (0, 1, 2)
    (copy,) = [layer for layer in model.layers if layer.name.endswith("corrected")]
    task.a.choose(copy)
    ended(task, qtbot, task.run)
    assert task.ranked_with == f'"{copy.name}" is ranked with the image "field".'


def test_the_copy_of_a_plane_of_a_stack_is_named_after_it(task, model, qtbot):
    labels, _, _ = faulty("hole", reach=1)
    model.add_labels(np.stack([labels, labels[::-1]]), name="nuclei")
    model.dims.set_point(0, 1)
    ended(task, qtbot, task.run)
    task.go_to(0)
    fixed(task, qtbot)
    np.testing.assert_array_equal(model.layers["nuclei plane axis 0 = 1 corrected"].data.shape, labels.shape)


@pytest.fixture
def in_stack(task, model, qtbot):
    """Plane 1 of a calibrated stack of labels from a file, inspected, and chosen as A by the user."""
    labels, _, _ = faulty("hole", reach=1)
    stack = np.stack([labels, labels, np.ascontiguousarray(labels[::-1])]).astype(np.uint16)
    model.add_labels(stack, name="nuclei", scale=(2, 0.5, 0.5), units=("um",) * 3)
    task.choices.design.connect_events()
    model.dims.set_point(0, 2)  # plane 1, in world units
    ended(task, qtbot, task.run)
    task.go_to(0)
    yield task
    task.choices.design.disconnect_events()


def saved_stack(task, qtbot, folder):
    (image,) = task.to_save()
    ended(task, qtbot, lambda: task.save({image: folder / "nuclei.tif"}))
    assert task.message == "Saved as nuclei.tif, the log as nuclei.log.csv."
    return tifffile.imread(folder / "nuclei.tif"), pd.read_csv(folder / "nuclei.log.csv")


def test_corrected_planes_are_saved_in_their_stack(in_stack, model, qtbot, tmp_path):
    task, given = in_stack, model.layers["nuclei"].data.copy()
    assert task.current == (0, ODD)
    fixed(task, qtbot)
    assert task.to_save() == {0: "nuclei corrected"}
    pixels, log = saved_stack(task, qtbot, tmp_path)
    assert (pixels.dtype, pixels.shape) == (given.dtype, given.shape)
    np.testing.assert_array_equal(pixels[[0, 2]], given[[0, 2]])
    np.testing.assert_array_equal(pixels[1], task.review.corrected[0].labels)
    calibration = read_calibration(tmp_path / "nuclei.tif")
    assert (calibration.scale, calibration.unit) == ((0.5, 0.5), "µm")
    assert read_axes(tmp_path / "nuclei.tif") == StackAxes("ZYX", {"Z": (2.0, "µm")})
    assert log[["plane", "action", "label"]].to_numpy().tolist() == [["axis 0 = 1", "fill holes", ODD]]
    np.testing.assert_array_equal(model.layers["nuclei"].data, given)
    # Another plane is added to what is saved, although it has no corrections yet; later, so is the first one.
    first = model.layers["nuclei plane axis 0 = 1 corrected"]
    model.dims.set_point(0, 4)
    ended(task, qtbot, task.run)
    assert task.to_save() == {0: "nuclei corrected"}
    task.go_to(0)
    fixed(task, qtbot, "delete")
    second = model.layers["nuclei plane axis 0 = 2 corrected"]
    assert (first.visible, second.visible) == (False, True)
    assert task.choices.design.sides()[0] == (second,)
    model.dims.set_point(0, 2)
    ended(task, qtbot, task.run)
    assert task.layers.copy_of(0) is first
    assert (first.visible, second.visible) == (True, False)
    assert reasons(task)[ODD] == ""  # it is corrected
    task.go_to(0)
    fixed(task, qtbot, "delete")
    pixels, log = saved_stack(task, qtbot, tmp_path)
    np.testing.assert_array_equal(pixels, np.stack([given[0], first.data, second.data]))
    assert log["plane"].tolist() == ["axis 0 = 1", "axis 0 = 2", "axis 0 = 1"]
    assert log["action"].tolist() == ["fill holes", "delete", "delete"]
    task.undo()
    pixels, log = saved_stack(task, qtbot, tmp_path)
    np.testing.assert_array_equal(pixels[1], np.where(given[1] == 0, first.data, given[1]))
    assert log["action"].tolist() == ["fill holes", "delete"]
    # The copy of a plane can be inspected itself, and is still saved with its stack.
    task.a.choose(first)
    ended(task, qtbot, task.run)
    assert task.to_save() == {0: "nuclei corrected"}
    model.layers.remove(second)
    assert task.choices.design.sides()[0] == (first,)


def test_planes_along_other_axes_and_split_planes_are_saved_in_their_stack(task, model, qtbot, tmp_path):
    labels, _, _ = faulty("hole", reach=1)
    turned = np.ascontiguousarray(np.moveaxis(np.stack([labels, labels]), 0, 2)).astype(np.int32)
    whole = model.add_labels(turned, name="nuclei", scale=(0.5, 0.25, 2), units=("um",) * 3)
    model.dims.order = (2, 1, 0)
    model.dims.set_point(2, 2)
    ended(task, qtbot, task.run)
    task.go_to(0)
    fixed(task, qtbot, "delete")
    pixels, log = saved_stack(task, qtbot, tmp_path)
    assert read_calibration(tmp_path / "nuclei.tif").scale == (0.25, 2.0)  # those of its own rows and columns
    assert read_axes(tmp_path / "nuclei.tif").steps == {"Z": (0.5, "µm")}
    np.testing.assert_array_equal(pixels, np.stack([labels, np.where(labels == ODD, 0, labels)], axis=2))
    assert log["plane"].tolist() == ["axis 2 = 1"]
    model.dims.order = (0, 1, 2)
    whole.data = np.ascontiguousarray(np.stack([labels, labels]))
    (way,) = [way for way in split_options(whole, [], model.dims) if way.title.startswith("Planes")]
    _, part = layers_of(whole, way.pieces())
    model.add_layer(part)
    task.a.choose(part)
    ended(task, qtbot, task.run)
    task.go_to(0)
    fixed(task, qtbot, "delete")
    pixels, _ = saved_stack(task, qtbot, tmp_path)
    np.testing.assert_array_equal(pixels, np.stack([labels, np.where(labels == ODD, 0, labels)]))


def test_labels_are_saved_with_the_pixel_size_of_their_file(task, model, qtbot, tmp_path):
    labels, _, _ = faulty("hole", reach=1)
    size = {"PhysicalSizeX": 0.25, "PhysicalSizeXUnit": "nm", "PhysicalSizeY": 0.5, "PhysicalSizeYUnit": "nm"}
    metadata = {"axes": "TYX", "TimeIncrement": 5.0, **size}
    tifffile.imwrite(tmp_path / "came.tif", np.stack([labels, labels]).astype(np.uint16), ome=True, metadata=metadata)
    npe2.PluginManager.instance().discover()
    model.open(tmp_path / "came.tif", plugin="napari", layer_type="labels")
    ended(task, qtbot, task.run)
    task.go_to(0)
    fixed(task, qtbot, "delete")
    saved_stack(task, qtbot, tmp_path)
    calibration = read_calibration(tmp_path / "nuclei.tif")
    assert (calibration.scale, calibration.unit) == ((0.5, 0.25), "nm")
    assert read_axes(tmp_path / "nuclei.tif") == StackAxes("TYX", {"T": (5.0, "s")})


def test_labels_of_both_samples_are_saved_in_turn(task, model, qtbot, tmp_path):
    labels, _, _ = faulty("hole", reach=1)
    for name in ("one", "two"):
        model.add_labels(labels.copy(), name=name)
    task.a.choose(model.layers["one"])
    task.b.choose(model.layers["two"])
    ended(task, qtbot, task.run)
    for image in (0, 1):
        task.go_to(task.rows.index[(task.rows["image"] == image) & (task.rows["label"] == 19)][0])
        fixed(task, qtbot, "delete")
    assert task.to_save() == {0: "one corrected", 1: "two corrected"}
    paths = {image: tmp_path / f"{name}.tif" for image, name in task.to_save().items()}
    ended(task, qtbot, lambda: task.save(paths))
    for path in paths.values():
        np.testing.assert_array_equal(tifffile.imread(path), np.where(labels == 19, 0, labels))


def test_inspection_layers_are_renamed_with_the_inspected_layer(task, model, qtbot):
    labels, image, _ = faulty("hole", reach=1)
    labels[labels == 19] = 0  # an object without a label, and therefore without an outline
    model.add_image(image, name="field")
    model.add_labels(labels, name="nuclei")
    task.choices.design.connect_events()
    task.a.choose(model.layers["nuclei"])
    ended(task, qtbot, task.run)
    task.go_to(task.rows.index[task.rows["label"] == ODD][0])
    fixed(task, qtbot)

    def names():
        return {layer.name for layer in model.layers} - {"field"}

    assert names() == {"nuclei", "nuclei inspected", "nuclei without outline", "nuclei corrected"}
    model.layers["nuclei"].name = "cells"
    assert names() == {"cells", "cells inspected", "cells without outline", "cells corrected"}
    assert task.to_save() == {0: "cells corrected"}
    fixed(task, qtbot, "delete")  # which recreates the outline layers
    assert names() == {"cells", "cells inspected", "cells without outline", "cells corrected"}
    model.layers["cells corrected"].name = "mine"
    model.layers["cells"].name = "nuclei"
    assert names() == {"nuclei", "nuclei inspected", "nuclei without outline", "mine"}
    task.choices.design.disconnect_events()


def test_a_copy_replaces_only_its_layer(reviewed, model, qtbot):
    design, (nuclei, field) = Session.of(model).design, (model.layers[name] for name in ("nuclei", "field"))
    reviewed.choices.design.connect_events()
    design.write([(nuclei, "group", "ctrl"), (field, "group", "")])
    fixed(reviewed, qtbot)
    copy = model.layers["nuclei corrected"]
    model.layers.selection.active = field  # whatever is selected in the layer list
    assert reviewed.choices.design.sides() == ((copy,), ())
    assert design.groups() == {"ctrl": [copy]}
    model.layers.remove(copy)
    assert design.groups() == {"ctrl": [nuclei]}
    reviewed.choices.design.disconnect_events()


def test_a_deleted_copy_is_restored_with_its_corrections(reviewed, model, qtbot):
    fixed(reviewed, qtbot)
    model.layers.remove("nuclei corrected")
    reviewed.go_to(0)
    fixed(reviewed, qtbot, "delete")
    copy = model.layers["nuclei corrected"]
    assert reviewed.review.corrected[0].log["action"].tolist() == ["fill holes", "delete"]
    np.testing.assert_array_equal(copy.data, reviewed.review.corrected[0].labels)
    reviewed.a.choose(copy)
    ended(reviewed, qtbot, reviewed.run)
    reviewed.go_to(1)  # after the object whose label was deleted
    fixed(reviewed, qtbot, "delete")
    assert len(reviewed.review.corrected[0].log) == 3
    assert reviewed.layers.copy_of(0) is copy
    assert reviewed.changed_since() == []


def test_rerunning_an_inspection_resumes_corrections_verdicts_and_undo(reviewed, model, qtbot):
    reviewed.choices.design.connect_events()
    reviewed.tick(wrong=True)
    reviewed.tick(wrong=False)
    reviewed.go_to(0)
    deleted = reviewed.current
    fixed(reviewed, qtbot, "delete")
    before = reviewed.review.counts()
    ended(reviewed, qtbot, reviewed.run)
    assert reviewed.a.chosen() is model.layers["nuclei"]
    assert reviewed.review.counts() == before == {"all": 10, "right": 1, "wrong": 1, "corrected": 1}
    assert deleted.label not in set(reviewed.rows["label"])
    reviewed.go_to(reviewed.rows.index[reviewed.rows["label"] > 0][0])
    fixed(reviewed, qtbot, "delete")
    assert [layer.name for layer in model.layers if "corrected" in layer.name] == ["nuclei corrected"]
    for _ in range(2):
        reviewed.undo()
    assert reviewed.message == ""
    np.testing.assert_array_equal(model.layers["nuclei corrected"].data, model.layers["nuclei"].data)
    qtbot.waitUntil(lambda: not reviewed.update_runner.busy)
    assert reviewed.current == deleted
    assert reviewed.row >= 0
    reviewed.choices.design.disconnect_events()


def test_changed_labels_are_inspected_from_scratch(reviewed, model, qtbot):
    reviewed.tick(wrong=False)
    fixed(reviewed, qtbot, "delete")
    model.layers.remove("nuclei corrected")
    ended(reviewed, qtbot, reviewed.run)
    assert reviewed.review.counts() == {"all": 9, "right": 0, "wrong": 0, "corrected": 0}
    reviewed.go_to(0)
    reviewed.tick(wrong=False)
    changed = model.layers["nuclei"].data.copy()
    changed[changed == 19] = 0
    model.layers["nuclei"].data = changed
    ended(reviewed, qtbot, reviewed.run)
    assert reviewed.review.counts()["right"] == 0


def test_changed_labels_are_not_replaced_by_an_outdated_copy(reviewed, model, qtbot):
    model.layers["nuclei"].data_setitem((np.array([0]), np.array([0])), 3)
    reviewed.fix("delete")
    assert reviewed.message == "⚠ nuclei was changed since it was inspected: inspect it again to correct it"
    assert "nuclei corrected" not in model.layers
    ended(reviewed, qtbot, reviewed.run)
    reviewed.go_to(0)
    fixed(reviewed, qtbot, "delete")
    assert model.layers["nuclei corrected"].data[0, 0] == 3


def test_labels_are_corrected_after_changes_of_the_view(reviewed, model, qtbot):
    model.dims.transpose()
    fixed(reviewed, qtbot, "delete")
    assert reviewed.message == "nuclei corrected takes the place of nuclei."


@pytest.mark.parametrize("replaced", [False, True])
def test_an_outdated_plane_is_not_corrected(in_stack, model, qtbot, replaced):
    layer = model.layers["nuclei"]
    model.dims.set_point(0, 0)  # another plane than the inspected one, which is no change
    stack = layer.data.copy()
    stack[1, 0, 0] = 3
    if replaced:
        layer.data = stack
    else:
        layer.data_setitem((np.array([1]), np.array([0]), np.array([0])), 3)
    in_stack.fix("delete")
    assert in_stack.message == "⚠ nuclei was changed since it was inspected: inspect it again to correct it"
    assert in_stack.to_save() == {}


def test_the_copy_of_deleted_labels_replaces_nothing(reviewed, model, qtbot):
    deleted = model.layers.pop("nuclei")  # kept alive, as by napari's undo
    fixed(reviewed, qtbot, "delete")
    assert deleted not in model.layers
    assert "nuclei corrected" in model.layers
    assert reviewed.message == ""


def test_a_suggested_fix_right_after_an_undo_waits_for_the_reasons_unless_undone(reviewed, qtbot):
    reviewed.tick(wrong=True)
    reviewed.go_to(int(reviewed.rows.index[reviewed.rows["label"] == ODD][0]))
    for undone in (False, True):
        fixed(reviewed, qtbot)
        own = reviewed.review.corrected[0]
        reviewed.undo()
        assert reviewed.current == (0, ODD)
        assert not reviewed.review.reasons(reviewed.current).startswith("hole")  # of the filled label
        reviewed.fix()
        assert own.changes == []
        if undone:
            reviewed.undo()  # of the verdict: the waiting fix is dropped
            qtbot.waitUntil(lambda: not reviewed.update_runner.busy)
            assert own.changes == []
        else:
            qtbot.waitUntil(lambda own=own: own.changes != [])
            assert own.log["action"].tolist() == ["wrong", "fill holes"]
            qtbot.waitUntil(lambda: not reviewed.update_runner.busy)
            assert reviewed.message == ""
            reviewed.undo()
            qtbot.waitUntil(lambda: not reviewed.update_runner.busy)


def test_a_copy_with_a_clashing_name_is_numbered(reviewed, model, qtbot):
    reviewed.choices.design.connect_events()
    model.add_labels(model.layers["nuclei"].data, name="nuclei corrected")  # the user's own
    fixed(reviewed, qtbot)
    copy = reviewed.layers.copy_of(0)
    assert copy.name == "nuclei corrected [1]"
    model.layers["field"].name = "photograph"
    assert copy.name == "nuclei corrected [1]"
    model.layers["nuclei"].name = "cells"
    assert copy.name == "cells corrected"
    assert "nuclei corrected" in model.layers
    reviewed.choices.design.disconnect_events()


def paint(layer, value, rows=5):
    layer.data_setitem((np.arange(rows), np.arange(rows)), value)
    layer.events.paint(value=[])


def test_undoing_strokes_in_napari_undoes_corrections(reviewed, model, qtbot):
    fixed(reviewed, qtbot)
    copy = model.layers["nuclei corrected"]
    paint(copy, 3)
    qtbot.waitUntil(lambda: len(reviewed.review.corrected[0].changes) == 2)
    copy.undo()
    assert copy.data[2, 2] == 0
    qtbot.waitUntil(lambda: reviewed.review.corrected[0].labels[2, 2] == 0)
    np.testing.assert_array_equal(reviewed.review.corrected[0].labels, copy.data)


def test_a_stroke_is_kept_if_an_action_follows_immediately(reviewed, model, qtbot):
    fixed(reviewed, qtbot)
    own = reviewed.review.corrected[0]
    paint(model.layers["nuclei corrected"], 3)
    reviewed.undo()  # the stroke, which is the last change
    assert own.log["action"].tolist() == ["fill holes"]
    paint(model.layers["nuclei corrected"], 3)
    fixed(reviewed, qtbot, "delete")
    assert own.log["action"].tolist() == ["fill holes", "paint", "delete"]


def test_strokes_on_a_copy_not_under_review_are_kept(reviewed, model, qtbot):
    fixed(reviewed, qtbot)
    copy, own = model.layers["nuclei corrected"], reviewed.review.corrected[0]
    labels, _, _ = faulty("cut", reach=1)
    model.add_labels(labels, name="others", scale=(0.5, 0.5), units=("um", "um"))
    reviewed.a.choose(model.layers["others"])
    ended(reviewed, qtbot, reviewed.run)
    paint(copy, 3)
    reviewed.go_to(0)
    fixed(reviewed, qtbot, "delete")
    assert copy.data[2, 2] == own.labels[2, 2] == 3
    assert own.log["action"].tolist() == ["fill holes", "paint"]


def test_a_copy_with_labels_of_another_shape_is_detached(reviewed, model, qtbot):
    fixed(reviewed, qtbot)
    copy = model.layers["nuclei corrected"]
    copy.data = np.ones((5, 5), dtype=copy.data.dtype)
    reviewed.undo()
    assert reviewed.review.corrected[0].changes == []
    reviewed.go_to(0)
    fixed(reviewed, qtbot, "delete")
    assert copy.data.shape == (5, 5)
    np.testing.assert_array_equal(reviewed.layers.copy_of(0).data, reviewed.review.corrected[0].labels)


def test_the_most_uncertain_label_can_be_next(reviewed, model, qtbot):
    task = reviewed
    task.uncertain_first = True
    far = (task.rows["score"] - 0.5).abs()
    looked_at = []
    for _ in range(3):
        task.next()
        looked_at.append(task.row)
    assert looked_at == np.argsort(far.to_numpy(), kind="stable")[:3].tolist()
    task.tick(wrong=False)
    assert task.rows["mark"].iloc[task.row] == ""
    waiting = task.rows[task.rows["mark"] == ""]
    assert abs(task.rows["score"].iloc[task.row] - 0.5) == (waiting["score"] - 0.5).abs().min()


def test_verdicts_are_kept_for_later_inspections(reviewed, model, qtbot):
    reviewed.tick(wrong=True)
    for _ in range(3):
        reviewed.tick(wrong=False)
    assert len(reviewed.ticks.table) == 4
    labels, image, _ = faulty("cut", reach=1)
    model.add_labels(labels, name="others", scale=(0.5, 0.5), units=("um", "um"))
    model.layers["field"].data = image
    reviewed.a.choose(model.layers["others"])
    ended(reviewed, qtbot, reviewed.run)
    alone = rank_suspects(labels, image).set_index("label")["score"]
    assert not np.allclose(reviewed.rows.set_index("label")["score"].sort_index(), alone.sort_index())
    assert reviewed.review.counts()["wrong"] == 0


def test_canvas_key_bindings_are_restored(reviewed, model):
    assert "N" in map(str, model.keymap)
    reviewed.deactivate()
    assert not {"N", "K", "W", "Q", "U"} & set(map(str, model.keymap))
    own = lambda _: None  # noqa: E731 - a key of the user's
    model.bind_key("N", own)
    reviewed.activate()
    reviewed.deactivate()
    assert own in model.keymap.values()


def test_the_log_of_a_stack_matches_the_file_and_continues(in_stack, model, qtbot, tmp_path):
    task = in_stack

    def on(label, *options):
        task.go_to(int(task.rows.index[task.rows["label"] == label][0]))
        fixed(task, qtbot, *options)

    def log_of(saved):
        return saved[["plane", "action", "label"]].astype(str).to_numpy().tolist()

    given = model.layers["nuclei"].data.copy()
    on(ODD, "fill holes")
    on(19, "merge", 20)
    merged = task.review.corrected[0].labels.copy()
    on(19, "split")
    on(21, "delete")
    task.undo()
    qtbot.waitUntil(lambda: not task.update_runner.busy)
    pixels, log = saved_stack(task, qtbot, tmp_path)
    highest = int(given.max())
    told = [["fill holes", str(ODD)], ["merge", "19, 20"], ["split", f"19, {highest + 1}"]]
    assert log_of(log) == [["axis 0 = 1", *one] for one in told]
    np.testing.assert_array_equal(pixels[1] > 0, merged > 0)
    assert (pixels[1] == highest + 1).any()
    assert not (pixels[[0, 2]] > highest).any()
    assert (pixels[1] == 21).any()
    # After reopening, the log continues.
    npe2.PluginManager.instance().discover()
    (again,) = model.open(tmp_path / "nuclei.tif", plugin="napari", layer_type="labels")
    task.a.choose(again)
    model.dims.set_point(0, 1)
    ended(task, qtbot, task.run)
    on(21, "delete")
    after, log = saved_stack(task, qtbot, tmp_path)
    number = int(np.argmax((after != pixels).any(axis=(1, 2))))
    np.testing.assert_array_equal(after[number], np.where(pixels[number] == 21, 0, pixels[number]))
    assert log_of(log) == [*(["axis 0 = 1", *one] for one in told), [f"axis 0 = {number}", "delete", "21"]]
    saved_stack(task, qtbot, tmp_path)  # once more, which adds nothing
    task.undo()
    _, log = saved_stack(task, qtbot, tmp_path)
    assert log_of(log) == [["axis 0 = 1", *one] for one in told]
    assert read_axes(tmp_path / "nuclei.tif") == StackAxes("ZYX", {"Z": (2.0, "µm")})


def test_a_stroke_is_kept_where_corrected_planes_cross(task, model, qtbot):
    labels, _, _ = faulty("hole", reach=1)
    model.add_labels(np.pad(np.stack([labels] * 30), [(5, 5), (0, 0), (0, 0)]), name="nuclei")
    model.dims.set_point(0, 10)
    ended(task, qtbot, task.run)
    task.go_to(0)
    fixed(task, qtbot, "delete")
    flat = task.layers.copy_of(0)
    middle = int(np.nonzero(labels == 19)[0].mean())
    model.dims.order = (1, 0, 2)
    model.dims.set_point(1, middle)
    task.a.choose(model.layers["nuclei"])
    ended(task, qtbot, task.run)
    task.go_to(0)
    fixed(task, qtbot, "delete")
    upright = task.layers.copy_of(0)
    assert upright.data.shape == (40, labels.shape[1])
    for copy, row in ((flat, middle), (upright, 10)):  # where the planes cross
        columns = np.nonzero(copy.data[row] == 0)[0][:3]
        copy.data_setitem((np.full(3, row), columns), 19)
        copy.events.paint(value=[])
        qtbot.waitUntil(lambda: (flat.data[middle] == upright.data[10]).all())
        assert (copy.data[row, columns] == 19).all()


def test_verdicts_on_a_plane_of_a_stack_are_resumed(in_stack, model, qtbot):
    in_stack.tick(wrong=False)
    assert in_stack.review.counts()["right"] == 1
    ended(in_stack, qtbot, in_stack.run)
    assert in_stack.review.counts()["right"] == 1
    model.dims.set_point(0, 4)
    ended(in_stack, qtbot, in_stack.run)
    assert in_stack.review.counts()["right"] == 0
    model.dims.set_point(0, 2)
    ended(in_stack, qtbot, in_stack.run)
    assert in_stack.review.counts()["right"] == 1


def test_undoing_a_correction_after_a_rerun_removes_its_verdict(reviewed, qtbot):
    for action in ("fill holes", "delete"):
        fixed(reviewed, qtbot, action)
        ended(reviewed, qtbot, reviewed.run)
        reviewed.undo()
        qtbot.waitUntil(lambda: not reviewed.update_runner.busy)
        assert reviewed.current == (0, ODD)
        assert reviewed.rows["mark"].tolist() == [""] * len(reviewed.rows)
        assert reviewed.ticks.table is None


def test_verdicts_and_corrections_made_during_a_rerun_are_kept(reviewed, model, qtbot):
    fixed(reviewed, qtbot)
    reviewed.run()
    qtbot.waitUntil(lambda: reviewed.threads == 1)
    reviewed.go_to(reviewed.rows.index[reviewed.rows["mark"] == ""][0])
    reviewed.tick(wrong=False)
    reviewed.fix("delete")
    paint(model.layers["nuclei corrected"], 3)
    counts, changes = reviewed.review.counts(), 3
    qtbot.waitUntil(lambda: not reviewed.busy)
    qtbot.waitUntil(lambda: not reviewed.update_runner.busy)
    own = reviewed.review.corrected[0]
    assert len(own.changes) == changes
    assert model.layers["nuclei corrected"].data[2, 2] == 3
    assert reviewed.review.counts()["right"] == counts["right"] == 1
    listed = reviewed.rows["label"][reviewed.rows["label"] > 0]
    assert {0, *listed} == set(np.unique(own.labels).tolist())
    for _ in range(changes):
        reviewed.undo()
    assert own.changes == []


def test_labels_inspected_beside_their_corrected_copy_are_unchanged(reviewed, model, qtbot):
    fixed(reviewed, qtbot, "delete")
    reviewed.b.choose(model.layers["nuclei corrected"])
    ended(reviewed, qtbot, reviewed.run)
    listed = [set(own["label"]) for _, own in reviewed.rows.groupby("image")]
    assert [ODD in own for own in listed] == [True, False]
    reviewed.undo()
    assert ODD in reviewed.review.corrected[1].labels
    reviewed.undo()
    assert reviewed.message == "⚠ there is nothing to undo"
