"""Segmentation by example and recipe proposals: in a headless session, and once in a window."""

import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from napari.layers import Labels
from skimage.measure import label

from docks import add_spots, ended, press, set_choices
from image_makers import spots
from napari_shape_ensembles import Comparison, ObjectModel, Outlines, Settings, match_labels
from napari_shape_ensembles.viewer.docks.bench import Bench
from napari_shape_ensembles.viewer.learning import BACKGROUND, painted_objects
from napari_shape_ensembles.viewer.session import Session

TRUTH = {seed: label(spots(seed, rows=3, noise=0) > 0.5) for seed in (1, 2)}  # nine objects each


@pytest.fixture
def session(model, qtbot):
    """A session with two images as the two samples, activated as by open docks."""
    for seed, name in ((1, "one"), (2, "two")):
        model.add_image(spots(seed, rows=3, noise=0.2), name=name, scale=(0.5, 0.5), units=("um", "um"))
    session = Session.of(model)
    session.choices.recipe_loaded = True  # no recipes are proposed without being asked for
    session.attach()
    session.segmentation.activate()
    previewed(session, qtbot, lambda: session.segmentation.image.choose(model.layers["one"]))
    yield session
    session.segmentation.deactivate()
    session.detach()


def paint(session, count=5, seed=1, background=True):
    """Paint objects of the chosen image, with consecutive labels."""
    image = session.segmentation.image.chosen()
    for number in range(1, count + 1):
        session.learning.paint()
        layer = dict(session.learning.examples())[image]
        layer.data_setitem(np.nonzero(TRUTH[seed] == number), layer.selected_label)
    if background:
        session.learning.paint(background=True)
        layer.data_setitem((np.repeat(np.arange(5), 5), np.tile(np.arange(5), 5)), layer.selected_label)
    return layer


def previewed(session, qtbot, change):
    """Wait until all images are previewed after a change, with a verdict."""
    came = []
    session.segmentation.verdict_changed.connect(lambda: came.append(1), check_nargs=False)
    change()
    qtbot.waitUntil(lambda: bool(came))
    return session.segmentation


def test_a_model_trained_on_one_image_segments_both(session, qtbot):
    paint(session)
    assert session.learning.painted_counts() == {"one": (5, True)}
    task = previewed(session, qtbot, session.learning.run)
    model = session.choices.recipe.find
    assert isinstance(model, ObjectModel)
    assert str(model) == "learned from 5 objects in 1 image"
    assert len(match_labels(TRUTH[1], task.preview.labels).pairs) == 9
    assert task.verdict.counts.keys() == {"one", "two"}
    assert min(task.verdict.counts.values()) >= 8
    # The lines of the other image are right above it.
    names = [layer.name for layer in session.choices.layers]
    assert names.index("two preview") == names.index("two") + 1
    assert session.learning.changed_since() == []


def test_one_model_is_trained_on_both_images_and_outdated_by_a_stroke(session, qtbot):
    paint(session, 2)
    session.segmentation.image.choose(session.choices.layers["two"])
    layer = paint(session, 2, seed=2, background=False)
    ended(session.learning, qtbot, session.learning.run)
    assert [(one.name, one.objects) for one in session.learning.result.sources] == [("one", 2), ("two", 2)]
    layer.undo()
    assert session.learning.painted_counts()["two"] == (1, False)
    assert session.learning.changed_since() == ["the painted examples were changed"]


def test_live_training_follows_strokes_and_undo(session, qtbot):
    layer = paint(session, 2)
    ended(session.learning, qtbot, session.learning.run)
    session.learning.live = True
    counts = []
    for change in (lambda: layer.data_setitem(np.nonzero(TRUTH[1] == 4), 9), layer.undo):
        with qtbot.waitSignal(session.learning.finished):
            change()
        counts.append(session.learning.result.sources[0].objects)
    assert counts == [3, 2]
    with qtbot.assertNotEmitted(session.learning.finished, wait=500):
        layer.refresh()  # nothing was painted
    session.learning.live = False


def test_the_layer_of_examples_is_not_offered_for_comparison(session):
    layer = paint(session, 1)
    assert isinstance(layer, Labels)
    np.testing.assert_array_equal(layer.scale, session.choices.layers["one"].scale)
    assert layer not in session.design.offered()
    assert session.design.sides() == tuple((session.choices.layers[name],) for name in ("one", "two"))


def test_painted_pieces_are_separate_objects_and_specks_are_ignored():
    plane = np.zeros((20, 20), dtype=int)
    plane[2:6, 2:6] = plane[10:15, 10:15] = 2
    plane[2:6, 6:9] = 3
    plane[18, 18] = 2
    plane[0, :] = BACKGROUND
    objects, ground = painted_objects(plane)
    assert sorted(np.unique(objects[objects > 0], return_counts=True)[1].tolist()) == [12, 16, 25]
    assert objects[18, 18] == 0
    assert ground.sum() == 20


def test_clicking_an_object_toggles_it_as_an_example(session, qtbot):
    task = previewed(session, qtbot, session.segmentation.schedule_preview)
    session.learning.click()
    layer = dict(session.learning.examples())[session.choices.layers["one"]]
    row, column = np.argwhere(task.preview.labels == 3)[40]
    session.learning.toggle_found_object(layer, row, column)
    assert np.array_equal(layer.data > 0, task.preview.labels == 3)
    session.learning.toggle_found_object(layer, row, column)
    assert not layer.data.any()
    session.learning.toggle_found_object(layer, row, column, background=True)
    assert set(np.unique(layer.data)) == {0, BACKGROUND}
    layer.data_setitem(np.nonzero(layer.data), 0)

    viewer, image = session.choices.viewer, session.choices.layers["one"]
    previewed(session, qtbot, lambda: setattr(viewer.dims, "order", (1, 0)))
    session.choices.layers["two"].units = "nm", "nm"
    factor = 1000
    place = np.argwhere(TRUTH[1] == 3)[40]
    event = SimpleNamespace(type="mouse_press", position=factor * np.array(image.data_to_world(place)), modifiers=())
    (callback,) = [one for one in layer.mouse_drag_callbacks if getattr(one, "__self__", None) is session.learning]
    step = callback(layer, event)
    next(step)
    event.type = "mouse_release"
    next(step, None)
    shared = (layer.data > 0) & (TRUTH[1] == 3)
    assert shared.sum() > 0.8 * (TRUTH[1] == 3).sum()
    assert shared.sum() > 0.8 * (layer.data > 0).sum()


def test_a_saved_model_is_used_in_settings_files_and_scripts(session, qtbot, tmp_path):
    paint(session, 2)
    ended(session.learning, qtbot, session.learning.run)
    path = tmp_path / "spots.npz"
    ended(session.learning, qtbot, lambda: session.learning.save(path))
    assert session.choices.recipe.find == str(path)
    session.choices.recipe.save(tmp_path / "recipe.toml")
    assert Outlines.load(tmp_path / "recipe.toml") == session.choices.recipe
    session.learning.discard_model()
    assert session.choices.recipe.find is None
    ended(session.learning, qtbot, lambda: session.learning.load(path))
    assert session.choices.recipe.find == str(path)
    ended(session.learning, qtbot, lambda: session.learning.load(tmp_path / "none.npz"))
    assert "none.npz cannot be read" in session.learning.message


def test_a_comparison_is_saved_with_its_model(session, qtbot, tmp_path):
    paint(session, 2)
    ended(session.learning, qtbot, session.learning.run)
    session.choices.set(settings=Settings(landmarks=60, rank=10, permutations=199))
    task = session.comparison
    ended(task, qtbot, task.run)
    assert task.result is not None, task.message
    model = session.choices.recipe.find
    session.learning.discard_model()
    assert task.changed_since() == ["find was learned from 2 objects in 1 image and is not set"]
    ended(task, qtbot, lambda: task.save(tmp_path / "pair.comparison.npz"))
    ended(task, qtbot, lambda: task.open(tmp_path / "pair.comparison.npz"))
    assert session.choices.recipe.find == model
    assert Comparison.load(tmp_path / "pair.comparison.npz").case == task.result.case


def test_corrected_labels_are_compared_instead_of_the_image(model, qtbot):
    one, two = (model.add_image(spots(seed, rows=3, noise=0.2), name=name) for seed, name in ((1, "one"), (2, "two")))
    qtbot.addWidget(bench := Bench(model))
    session = bench.session
    session.design.write([(one, "replicate", "m1"), (two, "replicate", "m2")])
    bench.show_page(1)
    outlines, inspection = bench.pages["Outlines"].show_tab(0), session.inspection
    outlines.layer.setCurrentIndex(outlines.layer.findText("one"))
    qtbot.waitUntil(lambda: session.segmentation.verdict.counts.keys() == {"one", "two"})
    found = session.segmentation.verdict.counts["one"]

    ended(inspection, qtbot, lambda: press(outlines.by_example.correct, qtbot))
    assert bench.pages["Outlines"].currentIndex() == 1
    page = bench.pages["Outlines"].show_tab(1)
    assert inspection.a.chosen() is one
    assert not page.chosen.unfolded  # once there is a list
    assert not page.queue.undo_button.isVisibleTo(page)
    label = int(inspection.rows.loc[inspection.rows["index"] >= 0, "label"].iloc[0])
    inspection.go_to(int(np.flatnonzero(inspection.rows["label"] == label)[0]))
    inspection.fix("delete")
    qtbot.waitUntil(lambda: not inspection.update_runner.busy)
    copy = model.layers["one corrected"]
    assert page.message.text() == "one corrected takes the place of one."
    assert session.design.sides() == ((copy,), (two,))
    assert [session.design.cell(copy, name) for name in ("group", "replicate")] == ["A", "m1"]
    assert session.design.cell(one, "group") == ""
    # The outlines to compare are the corrected ones, also after another change.
    qtbot.waitUntil(lambda: session.segmentation.verdict.counts.get("one corrected") == found - 1)
    assert page.queue.undo_button.isVisibleTo(page)
    press(page.queue.undo_button, qtbot)
    qtbot.waitUntil(lambda: session.segmentation.verdict.counts.get("one corrected") == found)
    qtbot.waitUntil(lambda: not (inspection.update_runner.busy or session.segmentation.previewer.busy))

    # Without corrections the image itself is compared again, in its original place in the table.
    bench.show()
    bench.show_page(0)
    model.layers.remove(copy)
    said = "one corrected was deleted: one is back in its place."
    assert session.design.sides() == ((one,), (two,))
    assert [session.design.cell(one, name) for name in ("group", "replicate")] == ["A", "m1"]
    assert page.message.text() == said
    assert bench.pages["Images"].message.text() == said
    qtbot.waitUntil(lambda: session.segmentation.verdict.counts.keys() == {"one", "two"})


def test_images_unsuitable_for_training_are_reported(session, qtbot):
    layer, proposing, learning = paint(session), session.proposing, session.learning
    image, other = (session.choices.layers[name] for name in ("one", "two"))
    everything, kept = np.full(image.data.shape, 7, np.uint8), other.data
    hole = np.where(TRUTH[1] > 0, np.nan, 1.0)
    session.segmentation.show_live(False)  # a preview would report them
    for data, words in ((hole, "pixels are NaN or infinite"), (everything, "every pixel is 7")):
        image.data = data
        ended(learning, qtbot, learning.run)
        assert words in learning.message
        assert learning.message.startswith("⚠")
        # Proposals need only the other image.
        other.data = kept
        ended(proposing, qtbot, proposing.run)
        assert proposing.result.images == 1
        assert "⚠ one gives no outlines: " in proposing.status_text()
        assert words in proposing.status_text()
        other.data = data
        ended(proposing, qtbot, proposing.run)
        said = proposing.status_text().splitlines()
        assert [line.partition(":")[0] for line in said[:2]] == ["⚠ one gives no outlines", "⚠ two gives no outlines"]
        assert proposing.status_text().count(words) == 2
        assert said[2] == "Choose other images, or paint examples."
    for other in session.proposing.current_inputs().layers[0]:
        other().data = np.eye(3)
    ended(proposing, qtbot, proposing.run)
    assert proposing.status_text().count("gives no outlines: no recipe finds objects in it.") == 2
    ended(learning, qtbot, learning.run)
    assert f"painted labels of shape {layer.data.shape} on an image of (3, 3)" in learning.message


def test_a_proposal_is_applied_to_all_images(session, qtbot):
    ended(session.proposing, qtbot, session.proposing.run)
    proposals = session.proposing.result.proposals
    assert 1 < len(proposals) <= 6
    session.proposing.keep_largest(True)
    task = previewed(session, qtbot, lambda: session.proposing.choose(1))
    assert session.choices.recipe == proposals[1].recipe.__class__(**{**vars(proposals[1].recipe), "largest": True})
    assert int(task.preview.labels.max()) == 1
    assert set(task.verdict.counts.values()) <= {0, 1}
    assert [finding.check for finding in task.verdict.quality.findings].count("few curves") == 2


def test_outlines_drawn_on_a_figure_are_reported_in_the_preview(session, qtbot):
    figure = np.random.default_rng(0).integers(60, 200, (90, 90, 1), np.uint8).repeat(3, axis=2)
    for top in (5, 35, 65):
        figure[top, 10:31] = figure[top + 20, 10:31] = figure[top : top + 21, 10] = figure[top : top + 21, 30] = (
            255,
            0,
            0,
        )
    layer = session.choices.viewer.add_image(figure, name="figure", rgb=True)
    task = previewed(session, qtbot, lambda: session.segmentation.image.choose(layer))
    (finding,) = [finding for finding in task.verdict.quality.findings if finding.check == "drawn"]
    assert finding.text.startswith("figure: 3 closed colored lines are drawn on it")


def convert(task, qtbot, **options):
    """Use images as labels."""
    task.use_as_labels(**options)
    qtbot.waitUntil(lambda: not task.converter.busy)


def test_labels_and_classes_opened_as_images_are_recognized(session, qtbot):
    model = session.choices.viewer
    labels = model.add_image(TRUTH[1].astype(np.uint16), name="numbers")
    classes = model.add_image(((TRUTH[2] % 2 + 1) * (TRUTH[2] > 0)).astype(np.uint8), name="phases")
    session.segmentation.image.choose(labels)
    task = previewed(session, qtbot, lambda: session.design.choose([labels], [model.layers["two"]]))
    assert task.contents == {"numbers": "labels"}
    convert(task, qtbot)
    a, b = session.design.sides()
    assert isinstance(a[0], Labels)
    np.testing.assert_array_equal(a[0].data, TRUTH[1])
    assert b == (model.layers["two"],)
    task = previewed(session, qtbot, lambda: session.segmentation.image.choose(classes))
    assert task.contents == {"phases": "classes"}
    convert(task, qtbot, classes_apart=True)
    assert [layer.name for side in session.design.sides() for layer in side] == [
        "phases class 1",
        "phases class 2",
    ]
    mask = model.add_image(TRUTH[1] > 0, name="mask")
    session.segmentation.image.choose(mask)
    task = previewed(session, qtbot, lambda: session.design.choose([mask], [model.layers["two"]]))
    assert task.contents == {"mask": "mask"}
    convert(task, qtbot)
    assert model.layers["mask labels"].data.max() == TRUTH[1].max()  # the components of the mask are its objects
    assert session.design.sides() == ((model.layers["mask labels"],), (model.layers["two"],))


def test_the_class_that_surrounds_the_others_is_not_compared(session, qtbot):
    """As ilastik writes them: from 1 on, with the background as a class."""
    model = session.choices.viewer
    simple = np.where(TRUTH[2] > 0, TRUTH[2] % 2 + 2, 1).astype(np.uint8)
    image = model.add_image(simple, name="simple")
    session.segmentation.image.choose(image)
    task = previewed(session, qtbot, lambda: session.design.choose([image], [model.layers["two"]]))
    assert task.contents == {"simple": "classes"}
    convert(task, qtbot, classes_apart=True)
    a, b = session.design.sides()
    assert (a[0].name, b[0].name) == ("simple class 2", "simple class 3")
    for layer, value in ((a[0], 2), (b[0], 3)):
        np.testing.assert_array_equal(layer.data > 0, simple == value)
    image.visible = True
    session.segmentation.image.choose(image)
    image.data = np.where(TRUTH[2] > 0, 2, 1).astype(np.uint8)
    task = previewed(session, qtbot, lambda: session.design.choose([image], [model.layers["two"]]))
    convert(task, qtbot, classes_apart=True)
    assert "one class beside the background" in task.message


def test_images_of_labels_are_converted_in_a_window_that_draws_them(viewer, qtbot):
    """The driver crashed, as the images were hidden when their previews were removed."""
    viewer.window._qt_window.resize(800, 600)  # a small canvas is drawn faster
    viewer.window._qt_window.show()
    for seed, name in ((1, "one"), (2, "two")):
        viewer.add_image(TRUTH[seed].astype(np.uint16), name=name)
    bench = viewer.window.add_plugin_dock_widget("napari-shape-ensembles", "Shape bench")[1]
    bench.show_page(1)
    page, task = bench.pages["Outlines"].show_tab(0), bench.session.segmentation
    qtbot.waitUntil(page.labels.isVisible)
    press(page.labels.button, qtbot)
    qtbot.waitUntil(lambda: not task.converter.busy)
    qtbot.wait(500)
    chosen = [layer.name for side in bench.session.design.sides() for layer in side]
    assert chosen == ["one labels", "two labels"]
    assert task.image.chosen() is None  # nothing is left to segment
    assert page.labels.isHidden()
    viewer.layers.remove("two labels")
    assert task.image.chosen() is viewer.layers["two"]


def test_a_stack_moved_out_of_view_is_not_converted(session, qtbot):
    model = session.choices.viewer
    image = model.add_image(TRUTH[1].astype(np.uint16), name="numbers")
    session.segmentation.image.choose(image)
    task = previewed(session, qtbot, lambda: session.design.choose([image], [model.layers["two"]]))
    image.shear = [0.5]
    convert(task, qtbot)
    assert "sheared" in task.message
    assert "numbers labels" not in model.layers


def test_a_second_click_adds_no_labels_and_an_image_that_fails_or_is_deleted_does_not_stop_the_others(session, qtbot):
    model = session.choices.viewer
    images = [model.add_image(TRUTH[seed].astype(np.uint16), name=f"numbers {seed}") for seed in (1, 2)]
    session.segmentation.image.choose(images[0])
    task = previewed(session, qtbot, lambda: session.design.choose(images[:1], images[1:]))
    task.use_as_labels()
    model.layers.remove(images[0])
    convert(task, qtbot)
    assert [layer.name for layer in model.layers if layer.name.endswith("labels")] == ["numbers 2 labels"]
    assert model.layers["numbers 2 labels"] in [layer for side in session.design.sides() for layer in side]


def test_painting_training_and_previewing_in_a_window(viewer, qtbot):
    add_spots(viewer, "one", "two", rows=3, noise=0.2)
    _, dock = viewer.window.add_plugin_dock_widget("napari-shape-ensembles", "Segment curves")
    panel, task = dock.by_example, dock.segmentation
    dock.layer.setCurrentIndex(dock.layer.findText("one"))
    qtbot.waitUntil(lambda: bool(task.verdict.counts))
    assert not panel.learn.isEnabled()
    assert "Paint about five whole objects" in panel.painted.text()
    for number in range(1, 5):
        press(panel.paint, qtbot)
        layer = viewer.layers.selection.active
        assert (layer.name, layer.mode) == ("one examples", "paint")
        place = np.argwhere(TRUTH[1] == number)
        layer.brush_size = int(np.sqrt(4 * len(place) / np.pi))
        layer.paint(place.mean(axis=0), layer.selected_label)
    qtbot.waitUntil(lambda: panel.painted.text() == "Painted: 4 objects in one.")
    assert panel.learn.isEnabled()
    before = task.preview
    press(panel.learn, qtbot)
    qtbot.waitUntil(lambda: "finds all objects" in panel.message.text() and task.preview is not before)
    qtbot.waitUntil(lambda: not task.previewer.busy)
    assert task.verdict.counts["two"] == 9
    assert "two has only 9 curves" in dock.verdict.text()
    # Clicking a proposal replaces the model.
    press(dock.proposals.propose, qtbot)
    qtbot.waitUntil(lambda: dock.proposals.pictures.count() > 1)
    dock.proposals.pictures.itemClicked.emit(dock.proposals.pictures.item(0))
    assert dock.session.choices.recipe.find is None
    assert "is not in use" in panel.message.text()
    qtbot.waitUntil(lambda: not task.previewer.busy)


def test_renaming_keeps_an_image_recognized_as_labels(session, model, qtbot):
    task = session.segmentation
    previewed(session, qtbot, lambda: setattr(model.layers["one"], "data", TRUTH[1]))
    assert list(task.contents.values()) == ["labels"]
    model.layers["one"].name = "cells"
    (usable,) = session.proposing.current_inputs().layers[0]
    assert usable().name == "two"
    convert(task, qtbot)
    assert model.layers["cells labels"].data.max() == TRUTH[1].max()


# Automatic proposals ---------------------------------------------------------------------------------------------


@pytest.fixture
def proposing(model, qtbot):
    """A session without images that proposes recipes for new ones, activated as by open docks."""
    session = Session.of(model)
    session.attach()
    session.proposing.activate()
    session.segmentation.activate()
    yield session
    session.proposing.deactivate()
    session.segmentation.deactivate()
    session.detach()


def add_image(session, pixels, name):
    """Add an image, and choose it in *Segment curves*."""
    image = session.choices.viewer.add_image(pixels, name=name)
    session.segmentation.image.choose(image)
    return image


def test_choices_made_while_recipes_are_tried_are_kept(proposing, qtbot):
    task, choices = proposing.proposing, proposing.choices
    add_image(proposing, 1 - spots(1, rows=3), "one")
    add_image(proposing, 1 - spots(2, rows=3), "two")
    qtbot.waitUntil(lambda: task.busy and task.step.name == "proposing recipes")
    set_choices(choices, min_area=50.0, min_size=7)
    qtbot.waitUntil(lambda: task.result is not None and not task.busy)
    assert choices.recipe.objects == "dark"
    assert (choices.recipe.min_area, choices.recipe.min_size) == (50, 7)
    assert task.status_text().startswith("The best of several tried on 2 images is used")
    set_choices(choices, holes=True)
    task.choose(1)
    assert (choices.recipe.min_area, choices.recipe.min_size, choices.recipe.holes) == (50, 7, True)


def test_recipes_are_tried_again_for_an_image_added_meanwhile(proposing, qtbot):
    task, image = proposing.proposing, 1 - spots(1, rows=3)
    add_image(proposing, image, "one")
    add_image(proposing, image, "two")
    qtbot.waitUntil(lambda: task.result is not None and not task.is_choosing)
    for name in ("three", "four"):  # the same recipe is best for the same pixels: no preview follows
        qtbot.waitUntil(lambda: not proposing.segmentation.is_preview_pending)
        image_of_name = add_image(proposing, image, name)
        qtbot.waitUntil(lambda: task.busy and task.step.name == "proposing recipes")
    qtbot.waitUntil(lambda: not task.is_choosing)
    assert weakref.ref(image_of_name) in task.run_inputs.layers[0]


def test_recipes_are_tried_again_if_the_page_was_left_meanwhile(proposing, qtbot):
    task, segmentation = proposing.proposing, proposing.segmentation
    for number, name in enumerate(("one", "two")):
        add_image(proposing, 1 - spots(number, rows=3), name)
    qtbot.waitUntil(lambda: task.busy and task.step.name == "proposing recipes")
    for one in (task, segmentation):
        one.deactivate()
    assert not task.busy
    for one in (task, segmentation):
        one.activate()
    qtbot.waitUntil(lambda: task.result is not None)
    assert proposing.choices.recipe.objects == "dark"
