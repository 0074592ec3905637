"""The segmentation task without a dock: previews, drafts, the shared recipe, and labels and outlines as layers."""

import gc
import weakref

import numpy as np
import pytest

from docks import ended
from image_makers import labels_of, spots
from napari_shape_ensembles import Outlines, Settings, extract_curves, segment
from napari_shape_ensembles.outlines.reasons import too_small
from napari_shape_ensembles.progress import reporting
from napari_shape_ensembles.viewer.docks.segment import verdict_lines
from napari_shape_ensembles.viewer.inputs import source_of
from napari_shape_ensembles.viewer.segmenting import (
    FeatureCache,
    downsampled,
    grey_levels,
    preview_of,
    report_previews,
    run_segmentation,
    verdict_on,
)
from napari_shape_ensembles.viewer.session import Session
from napari_shape_ensembles.viewer.task import JobRunner

PREVIEW = "one preview"


@pytest.fixture
def task(model, qapp):
    """The segmentation task of a viewer with one image, activated as by an open dock."""
    model.add_image(spots(1), name="one", scale=(0.5, 0.5), units=("um", "um"))
    task = Session.of(model).segmentation
    task.choices.recipe_loaded = True  # no recipes are searched for
    task.activate()
    yield task
    task.deactivate()


def seen(task, qtbot, change=lambda: None):
    """Wait for the preview after a change."""
    came = []
    task.previewed.connect(lambda: came.append(1), check_nargs=False)
    change()
    qtbot.waitUntil(lambda: bool(came))
    return task.preview


def test_a_preview_is_one_layer_and_is_removed_on_deactivation(task, model, qtbot):
    assert len(seen(task, qtbot).diameters) == 16
    lines = model.layers[PREVIEW]
    np.testing.assert_array_equal(lines.scale, model.layers["one"].scale)
    seen(task, qtbot, lambda: task.choices.set(Outlines(smoothing=3)))
    assert model.layers[PREVIEW] is lines
    task.deactivate()
    assert [layer.name for layer in model.layers] == ["one"]
    assert task.preview is None


def test_previews_of_other_images_do_not_affect_the_selection(task, model, qtbot):
    for seed in (2, 3):
        model.add_image(spots(seed, rows=2), name=str(seed), scale=(0.5, 0.5), units=("um", "um"))
    one, *others = model.layers
    others[1].visible = False
    model.layers.selection = {one}
    told, seen_empty = [], []
    model.layers.selection.events.changed.connect(told.append)
    model.layers.events.inserted.connect(lambda event: seen_empty.append(event.value.visible))
    task.choices.design.choose([one], others)
    qtbot.waitUntil(lambda: len(task.verdict.counts) == 3)
    assert seen_empty == [False, False, False]  # until they have lines
    assert [model.layers[f"{name} preview"].visible for name in (2, 3)] == [True, False]  # like their images
    assert not told
    assert model.layers.selection == {one}
    assert model.layers.selection.active is one


def test_previews_and_counts_follow_changes_of_every_image(task, model, qtbot):
    model.add_image(spots(2), name="two", scale=(0.5, 0.5), units=("um", "um"))
    task.choices.design.choose([model.layers["one"]], [model.layers["two"]])
    qtbot.waitUntil(lambda: len(task.verdict.counts) == 2)
    assert task.image.chosen() is model.layers["one"]
    for name, lines in (("one", model.layers[PREVIEW]), ("two", model.layers["two preview"])):
        image, before = model.layers[name], dict(task.verdict.counts)
        for change, place in (
            ("translate", (7, 9)),
            ("rotate", 20),
            ("affine", np.diag([2.0, 2.0, 1.0])),
            ("data", spots(3, rows=3)),
        ):
            setattr(image, change, place)
            assert task.is_preview_pending
            qtbot.waitUntil(lambda: not task.is_preview_pending)
            np.testing.assert_allclose(lines.data_to_world((10, 20)), image.data_to_world((10, 20)))
        assert task.verdict.counts == {**before, name: 9}
        assert before[name] == 16
        assert lines.data.shape == image.data.shape


def test_many_previews_are_removed_one_per_turn_before_others_are_added(task, model, qtbot):
    for seed in range(2, 7):
        model.add_image(spots(seed, rows=2), name=str(seed), scale=(0.5, 0.5), units=("um", "um"))
    images = list(model.layers)
    task.choices.design.choose(images[:3], images[3:])
    qtbot.waitUntil(lambda: len(model.layers) == 12)
    task.deactivate()
    assert len(images) < len(model.layers) < 12
    qtbot.waitUntil(lambda: list(model.layers) == images)
    task.activate()
    qtbot.waitUntil(lambda: len(model.layers) == 12)
    task.deactivate()
    assert list(model.layers) != images
    task.finish_removal()
    assert list(model.layers) == images


def test_two_previews_are_removed_one_per_turn(task, model, qtbot):
    model.add_image(spots(2, rows=2), name="two", scale=(0.5, 0.5), units=("um", "um"))
    one, two = model.layers
    task.choices.design.choose([one], [two])
    qtbot.waitUntil(lambda: len(task.verdict.counts) == 2)
    task.deactivate()
    assert len(model.layers) == 3
    qtbot.waitUntil(lambda: list(model.layers) == [one, two])


def test_a_preview_waits_for_the_removal_of_earlier_ones(task, model, qtbot, monkeypatch):
    for seed in range(2, 7):
        model.add_image(spots(seed, rows=2), name=str(seed), scale=(0.5, 0.5), units=("um", "um"))
    images = list(model.layers)
    task.choices.design.choose(images[:3], images[3:])
    qtbot.waitUntil(lambda: len(model.layers) == 12)
    monkeypatch.setattr(JobRunner, "turn_pause_ms", 100)
    counts = []
    for event in (model.layers.events.inserted, model.layers.events.removed):
        event.connect(lambda _: counts.append(len(model.layers)))
    task.deactivate()
    task.activate()
    qtbot.waitUntil(lambda: task.previewer.busy)
    assert len(model.layers) > len(images)
    qtbot.waitUntil(lambda: len(counts) == 12)
    assert counts == [11, 10, 9, 8, 7, 6, 7, 8, 9, 10, 11, 12]


def test_the_preview_uses_the_recipe_of_the_session(task, model, qtbot):
    seen(task, qtbot)
    preview = seen(task, qtbot, lambda: task.choices.set(Outlines(min_area=10_000)))
    assert preview.left_out == {too_small(10000): 16}
    qtbot.waitUntil(lambda: not task.previewer.busy)
    task.choices.set(settings=Settings(rank=7))  # settings of the comparison start no preview
    qtbot.wait(100)
    assert task.preview is preview
    assert not task.previewer.busy
    ended(task, qtbot, task.run)
    assert task.result[0].dropped == {too_small(10000): 16}
    assert model.layers["one labels"].metadata == {"segmentation": {"min_area": 10_000}}


def test_an_inactive_task_is_disconnected_without_preview(model, qtbot, qapp):
    image = model.add_image(spots(1), name="one")
    task = Session.of(model).segmentation
    task.choices.design.connect_events()
    task.choices.set(recipe=Outlines(smoothing=2))
    qtbot.wait(100)
    assert [layer.name for layer in model.layers] == ["one"]
    assert task.source is None
    task.choices.design.disconnect_events()
    before = len(image.events.data.callbacks)
    task.activate()
    assert len(image.events.data.callbacks) == before + 1
    task.deactivate()
    assert len(image.events.data.callbacks) == before


def test_the_reason_for_a_missing_preview_is_shown(model, qtbot, qapp):
    model.add_image(np.zeros((40, 40)), name="one")
    task = Session.of(model).segmentation
    assert seen(task, qtbot, task.activate) is None
    assert task.preview_error.startswith("⚠ one: every pixel is 0")
    seen(task, qtbot, lambda: setattr(model.layers["one"], "data", spots(1)))
    assert task.preview_error == ""
    task.deactivate()


@pytest.mark.parametrize(("pooled", "words"), [(True, "has no usable outline"), (False, "has no curves")])
def test_an_image_without_outlines_is_reported_among_several(model, pooled, words):
    dot = np.zeros_like(spots(1))
    dot[30, 30] = 1
    found = []
    for name, image in {"one": spots(1), "two": spots(2), "dot": dot}.items():
        source = source_of(model.add_image(image, name=name), model.dims)
        found.append((source, Outlines().labels(source.data)))
    one, two, empty = found
    verdict = verdict_on([[one, empty], [two]] if pooled else [[one], [two]], Outlines(), [] if pooled else [empty])
    listed, fine = verdict_lines(verdict)
    assert listed[0].startswith(f"⚠ dot {words}")
    assert "dot" not in fine[0]


def test_labels_and_shapes_need_no_segmentation(model):
    task = Session.of(model).segmentation
    assert task.blocking_reason() == "Open an image to segment."
    model.add_labels(np.eye(4, dtype=int))
    assert task.blocking_reason() == ""  # their outlines can be made
    model.add_labels(np.eye(4, dtype=int))
    assert task.blocking_reason() == "Labels need no segmentation: they are compared as they are."
    model.add_shapes([np.eye(3, 2)], shape_type="polygon")
    assert task.blocking_reason().startswith("Labels and Shapes need no segmentation")
    task.image.connect_events()
    model.add_image(np.zeros((40, 40)))
    assert task.blocking_reason() == ""
    task.image.disconnect_events()


def test_all_planes_of_a_stack_are_segmented_along_the_displayed_axes(model, qtbot):
    stack = np.stack([spots(seed, rows=2)[:-9] for seed in (1, 2)], axis=1)
    model.add_image(stack, name="stack", scale=(0.5, 2, 0.25), units=("um",) * 3)
    task = Session.of(model).segmentation
    task.show_live(False)
    task.activate()
    task.all_planes = True
    for order, turned in (((1, 0, 2), False), ((1, 2, 0), True)):
        model.dims.order = order
        ended(task, qtbot, task.run)
        labels, outlines = (model.layers[name] for name in ("stack labels", "stack outlines"))
        assert labels.data.shape == stack.shape
        for place in (0, 1):
            plane = stack[:, place].T if turned else stack[:, place]
            np.testing.assert_array_equal(labels.data[:, place].T if turned else labels.data[:, place], segment(plane))
            on_plane = outlines.features["plane 1"] == place
            assert on_plane.sum() == 4
            for row in np.flatnonzero(on_plane):
                middle = np.asarray(outlines.data[row]).mean(axis=0)
                assert middle[1] == place
                assert labels.data[tuple(np.round(middle).astype(int))] == outlines.features["id"][row]
        assert outlines.features["area"].max() < stack[:, 0].size * 0.5 * 0.25 / 4
        model.layers.remove("stack labels")
        model.layers.remove("stack outlines")
    task.deactivate()


def test_a_preview_of_stacks_sliced_along_the_last_axis_is_stable(model, qtbot):
    session, snapshots = Session.of(model), []
    for seed in (1, 5):
        stack = np.stack([spots(seed + place, rows=2) for place in range(3)], axis=-1)
        model.add_image(stack, scale=(0.5, 0.5, 1), rgb=False)
    model.dims.order = 2, 0, 1
    session.choices.recipe_loaded = True  # no recipes are searched for
    task = session.segmentation
    session.attach(task, by="a page")
    task.snapshot_changed.connect(lambda: snapshots.append(task.source))
    qtbot.waitUntil(lambda: bool(task.verdict.counts))
    assert not snapshots
    model.dims.set_point(2, 2)
    assert len(snapshots) == 1
    np.testing.assert_array_equal(snapshots[0].data, task.image.chosen().data[..., 2])
    session.detach(task, by="a page")


def test_planes_of_mirrored_stacks_are_segmented_in_place(model, qtbot):
    stack = np.stack([spots(1, rows=2)] * 2)
    model.add_image(stack, name="stack", rotate=np.diag([1.0, -1.0, -1.0]), affine=np.diag([1.0, 2, 2, 1]))
    task = Session.of(model).segmentation
    task.show_live(False)
    task.activate()
    task.all_planes = True
    for order in ((0, 2, 1), (0, 1, 2)):
        model.dims.order = order
        ended(task, qtbot, task.run)
        for made in ("stack labels", "stack outlines"):
            layer = model.layers[made]
            np.testing.assert_allclose(layer.data_to_world((1, 3, 5)), model.layers["stack"].data_to_world((1, 3, 5)))
            model.layers.remove(layer)
    task.deactivate()


def test_a_failed_run_reports_the_image_and_adds_no_layer(model, qtbot, qapp):
    model.add_image(np.zeros((40, 40)), name="one")
    task = Session.of(model).segmentation
    task.show_live(False)
    task.activate()
    ended(task, qtbot, task.run)
    assert "one: every pixel is 0" in task.message
    assert [layer.name for layer in model.layers] == ["one"]
    task.deactivate()


def test_the_layers_of_a_run_belong_to_the_user(task, model, qtbot):
    ended(task, qtbot, task.run)
    dead = [weakref.ref(model.layers[f"one {kind}"]) for kind in ("labels", "outlines")]
    assert "16 outlines made" in task.message
    for ref in dead:
        model.layers.remove(ref())
    model.layers.selection.active = model.layers["one"]  # napari keeps the last active layer alive
    qtbot.wait(100)
    gc.collect()
    assert [ref() for ref in dead] == [None, None]
    assert len(task.result[0]) == 16


def test_activating_another_image_does_not_replace_the_chosen_one(task, model):
    model.add_image(spots(2), name="two")
    assert task.image.chosen() is model.layers["one"]
    model.layers.remove("one")
    assert task.image.chosen() is model.layers["two"]
    assert not task.blocking_reason()


def test_stacks_are_segmented_plane_by_plane_in_place(model):
    layer = model.add_image(np.stack([spots(1, rows=4), spots(2, rows=4)]), name="stack", scale=(2, 0.5, 0.5))
    placement = {name: getattr(layer, name) for name in ("scale", "translate", "units")}
    found = run_segmentation(source_of(layer, model.dims), Outlines(), layer.data, placement)
    assert found.labels.data.shape == layer.data.shape
    assert found.curves.features["plane 0"].value_counts().to_dict() == {0: 16, 1: 16}
    np.testing.assert_array_equal(found.labels.scale, layer.scale)
    np.testing.assert_array_equal(found.labels.data[1], segment(layer.data[1]))


def test_a_pixel_size_in_the_recipe_does_not_move_the_outlines(model):
    layer = model.add_image(spots(1), name="one")
    recipe = Outlines(pixel_size=0.5, unit="µm")
    source = source_of(layer, model.dims).calibrated(recipe)
    found = run_segmentation(source, recipe)
    assert found.ensembles[0].unit == "µm"
    pixels = extract_curves(segment(layer.data))
    np.testing.assert_allclose(found.curves.data[3], pixels[3], atol=1e-4)
    np.testing.assert_allclose(found.curves.features["area"], pixels.features["area"] / 4)
    shown = preview_of(segment(layer.data), source, recipe)
    assert shown.unit == "µm"
    assert shown.diameters.max() < 20


def test_a_preview_counts_objects_with_filled_holes(model):
    image = spots(1)
    labels = segment(image)
    for label in (3, 5):
        row, column = np.argwhere(labels == label).mean(axis=0).astype(int)
        labels[row, column] = 0
    labels[0, :5] = labels[1, [0, 4]] = labels[2, :5] = 99  # cut by the border, and excluded
    source = source_of(model.add_image(image), model.dims)
    assert preview_of(labels, source, Outlines(min_area=10)).filled == 2
    assert preview_of(labels, source, Outlines(min_area=10, holes=True)).filled == 0
    assert Outlines(min_area=10).trace(labels).filled == 2


# Previews ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("enlarged", "recipe"),
    [(4, Outlines(smoothing=4)), (3, Outlines(smoothing=3, opening=1.5))],
    ids=["large", "takes long"],
)
def test_large_images_and_slow_methods_get_a_draft_first(model, enlarged, recipe):
    image = np.kron(spots(1), np.ones((enlarged, enlarged)))
    *drafts, exact = all_previews(model, image, recipe)
    (draft,) = drafts
    assert (draft.draft, exact.draft) == (True, False)
    assert draft.lines.shape == exact.lines.shape == image.shape
    assert len(draft.diameters) == len(exact.diameters) == 16
    np.testing.assert_allclose(np.sort(draft.diameters), np.sort(exact.diameters), rtol=0.05)


def test_medium_images_are_previewed_exactly_if_fast(model):
    image = np.kron(spots(1), np.ones((3, 3)))
    for split, drafts in (("none", 0), ("distance", 1)):
        shown = all_previews(model, image, Outlines(smoothing=3, split_touching=split))
        assert [one.draft for one in shown] == [True] * drafts + [False]


@pytest.mark.parametrize("kind", [float, bool])
@pytest.mark.parametrize("shape", [(2, 1500), (1500, 1)])
def test_a_strip_narrower_than_a_draft_block_is_previewed(model, shape, kind):
    image = np.zeros(shape, dtype=kind)
    image[shape[0] // 3 :, shape[1] // 3 : 900] = 1
    for shown in all_previews(model, image, Outlines(min_size=2)):
        assert shown.lines.shape == shown.labels.shape == shape
        assert shown.labels.max() == 1


def test_an_image_that_is_constant_in_its_draft_is_previewed(model):
    stripes = np.tile([0.0, 1.0], (40, 800))
    (exact,) = all_previews(model, stripes, Outlines(smoothing=0, min_size=1))
    assert exact.labels.max() == 800


def all_previews(model, image, recipe):
    """Drafts and exact preview of an image, in order."""
    found, source = [], source_of(model.add_image(image), model.dims)
    with reporting(lambda step: found.append(step.result)):
        report_previews([(None, source)], recipe, FeatureCache())
    return [one.preview for one in found if one is not None]


def test_images_are_reduced_by_block_means():
    np.testing.assert_allclose(downsampled(np.arange(24.0).reshape(4, 6), 2), [[3.5, 5.5, 7.5], [15.5, 17.5, 19.5]])
    assert downsampled(np.ones((9, 9, 3), dtype=np.uint8), 2).shape == (4, 4, 3)
    assert downsampled(np.ones((9, 9), dtype=bool), 2).dtype == bool


def test_the_preview_follows_strokes_on_labels_and_undo(model, qtbot):
    model.add_image(spots(1), name="one")
    labels = model.add_labels(labels_of(2), name="two")
    session = Session.of(model)
    session.choices.recipe_loaded = True  # no recipes are searched for
    session.attach()
    task = session.segmentation
    session.design.choose((model.layers["one"],), (labels,))
    task.activate()
    with qtbot.waitSignal(task.verdict_changed):
        task.image.choose(model.layers["one"])
    count = task.verdict.counts["two"]
    with qtbot.waitSignal(task.verdict_changed):
        labels.data_setitem(np.nonzero(labels.data == 6), 0)
    assert task.verdict.counts["two"] == count - 1
    with qtbot.waitSignal(task.verdict_changed):
        labels.undo()
    assert task.verdict.counts["two"] == count
    with qtbot.assertNotEmitted(task.verdict_changed, wait=300):
        labels.refresh()  # nothing was painted
    task.deactivate()
    session.detach()


def test_initial_thresholds_in_half_and_single_precision_agree(model):
    image = spots(1, rows=2) * 400
    half, single = (
        grey_levels(source_of(model.add_image(image.astype(kind)), model.dims)) for kind in (np.float16, np.float32)
    )
    assert half["middle"] == pytest.approx(single["middle"], rel=1e-3)
    assert half["middle"] < 0.9 * half["high"]
