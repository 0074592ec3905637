"""The page *Answer* as a user operates it: run, read, cancel, and change layers."""

import numpy as np
import pytest

from docks import curves_of, open_answer, press, run, slow
from image_makers import spots
from napari_shape_ensembles import Outlines
from napari_shape_ensembles.comparison.answer import in_one_line
from napari_shape_ensembles.outlines.proposals import best_recipe
from napari_shape_ensembles.progress import report
from napari_shape_ensembles.viewer import comparing


@pytest.fixture
def viewer(model):
    """A headless viewer model unless a test asks for a window: layers and docks behave the same."""
    return model


@pytest.fixture
def dock(bare_dock):
    return bare_dock


@pytest.fixture
def window(make_napari_viewer, qtbot):
    """A visible window with the dock: only there are layers drawn, and docks notified when hidden."""
    viewer = make_napari_viewer(show=True)
    viewer.window.resize(900, 600)  # a small canvas is drawn faster
    for seed, name in ((1, "one"), (2, "two")):
        viewer.add_image(spots(seed), name=name, scale=(0.5, 0.5), units=("um", "um"))
    dock = open_answer(viewer, qtbot)
    qtbot.waitUntil(dock.isVisible)
    return viewer, dock


def test_a_disabled_run_button_states_the_reason(viewer, qtbot):
    dock = open_answer(viewer, qtbot)
    assert not dock.run_button.isEnabled()
    assert "Open two images" in dock.reason.text()
    viewer.add_image(spots(1), name="one")
    assert not dock.run_button.isEnabled()
    viewer.add_image(spots(2), name="two")
    assert dock.run_button.isEnabled()
    assert not dock.reason.text()


def test_a_run_highlights_the_row_and_colors_curves(window, qtbot):
    viewer, dock = window
    text = run(dock, qtbot)
    assert dock.results.table.marked() == [dock.result.case] == ["1∧1"]
    assert in_one_line(dock.result) in text
    for part in ("Undulation", "coarse form", "roughness", "Scale", "not detected", "16 curves, in µm"):
        assert part in text
    layers = [curves_of(viewer, name) for name in ("one", "two")]
    assert layers[0].face_contrast_limits == layers[1].face_contrast_limits
    for name, layer in zip(dock.result.names, layers, strict=True):
        table = dock.result.distances
        own = table[table["sample"] == name]
        np.testing.assert_allclose(layer.features["distance_from_mean"], own["distance_from_mean"])
        np.testing.assert_allclose(layer.features["painted"], own["distance_from_mean"])
        assert {"id", "area", "perimeter", "undulation", "scale", "sample"} <= set(layer.features)
        assert len(np.unique(np.asarray(layer.face_color), axis=0)) > 10


def test_the_automatic_method_uses_one_recipe_for_both(viewer, qtbot):
    """The result reports the recipe, which all docks share, so that it can be reproduced."""
    images = [1 - spots(seed, rows=4) for seed in (1, 2)]
    for name, image in zip(("one", "two"), images, strict=True):
        viewer.add_image(image, name=name)
    dock = open_answer(viewer, qtbot, permutations=300, method="auto")
    assert "16 curves" in run(dock, qtbot)
    task = dock.session.comparison
    assert task.run_inputs.recipe == dock.session.choices.recipe == best_recipe(images, Outlines(method="auto"))
    assert task.run_inputs.recipe.objects == "dark"
    assert task.state == "done"


def test_a_size_difference_is_reported(viewer, qtbot):
    for name, size in (("small", 9.0), ("large", 14.0)):
        viewer.add_image(spots(3, size=size), name=name)
    dock = open_answer(viewer, qtbot)
    text = run(dock, qtbot)
    assert "size or elongation differs" in text
    assert "in pixels" in text


def test_units_are_converted_to_those_of_a(viewer, qtbot):
    viewer.add_image(spots(1), name="one", scale=(0.5, 0.5), units=("um", "um"))
    viewer.add_image(spots(2), name="two", scale=(500, 500), units=("nm", "nm"))
    dock = open_answer(viewer, qtbot)
    run(dock, qtbot)
    assert (dock.result.case, dock.result.b.unit) == ("1∧1", "µm")


@pytest.mark.parametrize("translate", [(0, 0), (30, -70)])
def test_curves_match_their_objects_at_any_scale(viewer, qtbot, translate):
    image = spots(1)
    one = viewer.add_image(image, name="one", scale=(0.5, 2.0), units=("um", "um"), translate=translate)
    viewer.add_image(spots(2), name="two", scale=(0.5, 2.0), units=("um", "um"))
    run(open_answer(viewer, qtbot), qtbot)
    curves = curves_of(viewer, "one")
    assert tuple(curves.units) == tuple(one.units)
    for outline in curves.data:
        centre = one.world_to_data(curves.data_to_world(outline.mean(axis=0)))
        assert image[tuple(np.round(centre).astype(int))] > 0.5


def test_curves_are_recolored_and_replaced_and_the_sentence_follows_the_names(dock, viewer, qtbot):
    pixels = viewer.layers["one"].data.copy()
    run(dock, qtbot)
    np.testing.assert_array_equal(viewer.layers["one"].data, pixels)
    assert ". one (" in dock.result.summary()
    viewer.layers["one"].name = "first"
    viewer.layers["first"].name = "at last"
    assert dock.state == "done"
    assert ". at last (" in dock.result.summary()
    assert "at last" in dock.verdict.sentence.text()
    assert "at last" in dock.results.text()
    assert "at last" in dock.color_by.colorbar.toolTip()
    viewer.layers["at last"].name = "one"
    before = np.array(curves_of(viewer, "one").face_color)
    dock.color_by.choice.setCurrentIndex(dock.color_by.choice.findData("scale"))
    after = curves_of(viewer, "one")
    np.testing.assert_allclose(after.features["painted"], after.features["scale"])
    assert not np.allclose(before, after.face_color)
    high = np.percentile(dock.result.distances["scale"], 99)
    assert after.face_contrast_limits == pytest.approx((0, high))
    assert dock.color_by.colorbar.labels == ["0", f"{high / 2:.3g}", f"≥ {high:.3g}"]
    mine = viewer.add_shapes(np.array([[0, 0], [0, 5], [5, 5]]), shape_type="polygon", name="mine")
    count = len(viewer.layers)
    viewer.layers.remove("one curves")
    dock.color_by.choice.setCurrentIndex(1)
    for _ in range(2):  # with and without the curves of one
        run(dock, qtbot)
        assert len(viewer.layers) == count
        assert mine in viewer.layers
        assert [layer.name for layer in viewer.layers].count("one curves") == 1


def test_layers_deleted_and_renamed_during_a_run_do_not_disturb_it(dock, viewer, qtbot):
    def change_layers(step):
        if "segmenting" in step.name and "one" in viewer.layers:
            viewer.layers["two"].name = "other"
            viewer.layers.remove("one")

    dock.task.progressed.connect(change_layers)
    run(dock, qtbot)
    assert dock.result is not None
    assert dock.state == "stale"
    assert not dock.stale.button.isEnabled()
    assert "one" not in viewer.layers
    assert {"one curves", "other curves"} <= {layer.name for layer in viewer.layers}


def test_cancelling_between_steps_leaves_the_dock_ready(dock, viewer, qtbot, monkeypatch):
    monkeypatch.setattr(comparing, "compare_groups", slow)
    press(dock.run_button, qtbot)
    qtbot.waitUntil(lambda: "Counting" in dock.step.text())
    assert not dock.run_button.isEnabled()
    with qtbot.waitSignal(dock.finished):
        press(dock.cancel_button, qtbot)
    qtbot.waitUntil(lambda: not dock.task.threads)  # it would count for 10 s
    assert dock.run_button.isEnabled()
    assert dock.verdict.sentence.text() == "Cancelled."
    assert len(viewer.layers) == 2


def test_every_kind_of_error_is_shown_in_the_panel(dock, qtbot, monkeypatch):
    for error in (ValueError, RuntimeError, NotImplementedError, RecursionError, MemoryError, KeyError):

        def failing(*_, error=error):
            report("failing", 0, 1)
            raise error(f"the reason of {error.__name__}")

        monkeypatch.setattr(comparing, "compare_groups", failing)
        assert f"the reason of {error.__name__}" in run(dock, qtbot)
        assert dock.run_button.isEnabled()
        assert dock.result is None


def test_unusable_images_are_reported_with_the_reason(viewer, qtbot):
    viewer.add_image(spots(1), name="good")
    bad = viewer.add_image(np.eye(60), name="bad", contrast_limits=(0, 1))
    dock = open_answer(viewer, qtbot)
    for image, sentence in (
        (np.zeros((60, 60)), "every pixel is 0"),
        (np.where(np.arange(3600).reshape(60, 60) == 5, np.nan, 1.0), "1 of 3600 pixels are NaN"),
        (np.pad(np.ones((5, 5)), ((0, 50), (0, 50))), "no usable outline (1 touching the image border"),
    ):
        bad.data = image
        text = run(dock, qtbot)
        assert "bad" in text
        assert sentence in text


def test_one_object_is_inconclusive(viewer, qtbot):
    viewer.add_image(spots(1), name="many")
    single, places = spots(2), np.indices(spots(2).shape)
    viewer.add_image(np.where(((places >= 10) & (places < 50)).all(axis=0), single, 0), name="single")
    dock = open_answer(viewer, qtbot)
    text = run(dock, qtbot)
    assert "inconclusive: 16 and 1 curves cannot reach p ≤ 0.0125" in text
    assert dock.results.table.marked() == []
    assert "too few" in text


def test_incompatible_units_are_reported_with_the_remedy(viewer, qtbot):
    viewer.add_image(spots(1), name="one", scale=(0.5, 0.5), units=("um", "um"))
    viewer.add_image(spots(2), name="two")
    assert "give all images a pixel size" in run(open_answer(viewer, qtbot), qtbot)


def test_the_displayed_plane_of_a_stack_is_compared(viewer, qtbot):
    viewer.add_image(np.stack([np.zeros_like(spots(1)), spots(1), spots(2)]), name="stack")
    viewer.add_image(spots(2), name="plane")
    viewer.dims.set_current_step(0, 1)
    dock = open_answer(viewer, qtbot)
    text = run(dock, qtbot)
    assert dock.result.case == "1∧1"
    assert "stack: the plane axis 0 = 1 is compared" in text


def test_color_images_are_segmented_by_luminance(viewer, qtbot):
    grey = (np.clip(spots(1), 0, 1) * 255).astype(np.uint8)
    viewer.add_image(np.stack([grey] * 3, axis=-1), name="colour", rgb=True)
    viewer.add_image(grey, name="grey")
    dock = open_answer(viewer, qtbot)
    run(dock, qtbot)
    np.testing.assert_allclose(dock.result.a.features["area"], dock.result.b.features["area"], rtol=0.02)


def test_labels_and_shapes_are_used_as_they_are(viewer, qtbot):
    labels = np.zeros((100, 100), dtype=np.uint16)
    for index in range(9):
        row, column = divmod(index, 3)
        labels[row * 30 + 5 : row * 30 + 25, column * 30 + 5 : column * 30 + 20] = 10 * index + 7
    viewer.add_labels(labels, name="labels")
    boxes = [np.array([[0, 0], [0, 15], [20, 15], [20, 0]]) + 30 * i for i in range(8)]
    shapes = viewer.add_shapes(boxes, shape_type="rectangle", name="shapes")
    shapes.add_ellipses(np.array([[0, 0], [0, 10], [10, 10], [10, 0]]))
    shapes.add_lines(np.array([[0, 0], [5, 5]]))
    dock = open_answer(viewer, qtbot)
    text = run(dock, qtbot)
    assert dock.result.a.ids.tolist() == [10 * index + 7 for index in range(9)]
    assert len(dock.result.b) == 9
    assert "1 left out: open" in text
    # The shapes are brought to the pixels of the labels.
    assert dock.result.b.features["area"].iloc[-1] == pytest.approx(np.pi * 25, rel=0.02)


def test_every_control_has_a_tooltip(dock):
    assert all(control.toolTip() for control in dock.settings_form.controls.values())
    assert dock.run_button.toolTip()


def in_sight(widget, dock):
    """Whether the upper edge of a part of a dock, and one line below it, are visible."""
    region = widget.visibleRegion().boundingRect()
    return dock.isVisible() and region.top() == 0 and region.height() >= widget.fontMetrics().height()


def test_the_result_is_scrolled_into_view_in_a_short_dock(bare_dock, qtbot, tmp_path):
    dock, bar = bare_dock, bare_dock.scroll.verticalScrollBar()
    dock.resize(360, 260)
    dock.show()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    run(dock, qtbot)
    qtbot.waitUntil(lambda: in_sight(dock.verdict.sentence, dock))
    shown = dock.comparison.shown
    shown.result.save(tmp_path / "pair.comparison.npz", view=shown.to_view("distance_from_mean"))
    qtbot.wait(100)  # focus may have scrolled it into view before the dock does
    bar.setValue(bar.maximum())
    qtbot.waitUntil(lambda: not in_sight(dock.verdict.sentence, dock))
    with qtbot.waitSignal(dock.finished):
        dock.comparison.open(tmp_path / "pair.comparison.npz")
    qtbot.waitUntil(lambda: in_sight(dock.verdict.sentence, dock))


def test_a_withheld_row_is_shown_after_confirmation(bare_dock, qtbot):
    bare_dock.viewer.layers["two"].data = bare_dock.viewer.layers["one"].data.copy()
    run(bare_dock, qtbot)
    assert bare_dock.state == "inconclusive"
    assert "occur twice" in bare_dock.results.text()
    assert "withheld" in bare_dock.results.tests.text()
    assert "No answer until the outlines have been checked" in bare_dock.faults.label.text()
    with qtbot.waitSignal(bare_dock.finished):
        press(bare_dock.faults.button, qtbot)
    assert bare_dock.result.case == "1∧1"
    assert bare_dock.state == "done"
    assert bare_dock.faults.label.text() == ""
    assert bare_dock.session.choices.settings.overrule
    assert bare_dock.results.message.isHidden()  # the progress of this step stayed
