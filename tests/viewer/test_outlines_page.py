"""The page *Outlines* operated by its controls: preview, counts and sizes, commit, and layers."""

import numpy as np
import pytest
from qtpy.QtWidgets import QCheckBox, QComboBox

from docks import listeners, press, set_choices, show_docks
from image_makers import spots
from napari_shape_ensembles import extract_curves, propose, segment, unusual_outlines
from napari_shape_ensembles.comparison.colorings import COLORINGS
from napari_shape_ensembles.outlines import Outlines, Quality
from napari_shape_ensembles.outlines.gate import Finding
from napari_shape_ensembles.outlines.reasons import AT_BORDER
from napari_shape_ensembles.viewer.canvas_context import CanvasContext
from napari_shape_ensembles.viewer.docks.inspect import InspectCurves
from napari_shape_ensembles.viewer.docks.segment import SegmentCurves
from napari_shape_ensembles.viewer.layers import colormap_of
from napari_shape_ensembles.viewer.segmenting import Verdict
from napari_shape_ensembles.viewer.session import Session

PREVIEW = "one preview"


@pytest.fixture
def viewer(model):
    """A headless viewer model, unless a test makes a window: layers and docks behave the same."""
    return model


@pytest.fixture
def dock(viewer, qtbot):
    viewer.add_image(spots(1), name="one", scale=(0.5, 0.5), units=("um", "um"))
    return opened(viewer, qtbot)


def opened(viewer, qtbot):
    Session.of(viewer).choices.recipe_loaded = True  # no recipes are proposed
    if hasattr(viewer, "window"):
        _, dock = viewer.window.add_plugin_dock_widget("napari-shape-ensembles", "Segment curves")
    else:
        qtbot.addWidget(dock := SegmentCurves(viewer))
    if dock.segmentation.image.chosen() is not None and dock.segmentation.preview is None:
        with qtbot.waitSignal(dock.previewed):
            pass
    return dock


def turn(dock, qtbot, name, value):
    """Change a control like a user, and wait for the preview."""
    control = dock.form.controls[name]
    with qtbot.waitSignal(dock.previewed):
        if isinstance(control, QComboBox):
            control.setCurrentIndex(control.findData(value))
        elif isinstance(control, QCheckBox):
            control.setChecked(value)
        else:
            control.setValue(value)


def committed(dock, qtbot):
    with qtbot.waitSignal(dock.finished):
        press(dock.run_button, qtbot)
    return dock.result


def test_the_button_remains_visible_on_a_small_screen(make_napari_viewer, qtbot):
    viewer = make_napari_viewer(show=True)
    viewer.window.resize(1280, 800)
    viewer.add_image(spots(1), name="one")
    dock = opened(viewer, qtbot)
    for part in (dock.run_button, dock.settings.heading, dock.count):
        qtbot.waitUntil(lambda part=part: part.isVisible() and not part.visibleRegion().isEmpty())


def test_a_preview_is_shown_before_committing(viewer, qtbot):
    viewer.add_image(spots(1), name="one", scale=(0.5, 0.5), units=("um", "um"))
    dock = opened(viewer, qtbot)
    assert [layer.name for layer in viewer.layers] == ["one", PREVIEW]
    lines, image = viewer.layers[PREVIEW], viewer.layers["one"]
    assert lines.data.shape == image.data.shape
    np.testing.assert_array_equal(lines.scale, image.scale)
    assert viewer.layers.selection.active == image
    assert len(dock.segmentation.preview.diameters) == 16
    assert "16 objects" in dock.count.text()
    assert "µm" in dock.sizes.labels[1]
    assert dock.sizes.counts().sum() == 16


def test_every_control_changes_the_preview_and_the_count(dock, qtbot):
    before = dock.segmentation.preview.lines.copy()
    turn(dock, qtbot, "smoothing", 3.0)
    assert not np.array_equal(before, dock.segmentation.preview.lines)
    turn(dock, qtbot, "min_area", 10_000)
    assert len(dock.segmentation.preview.diameters) == 0
    assert "16 left out: smaller than 10000 px² (dotted)" in dock.count.text()
    assert dock.sizes.labels[1] == "no objects"
    turn(dock, qtbot, "min_area", 16)
    turn(dock, qtbot, "objects", "dark")
    assert "left out: touching the image border" in dock.count.text()


def test_the_automatic_method_becomes_the_recipe_that_was_found(dock, viewer, qtbot):
    turn(dock, qtbot, "method", "auto")
    best = propose(viewer.layers["one"].data, Outlines())[0].recipe
    assert dock.session.choices.recipe == best
    assert dock.form.controls["method"].currentData() == best.method
    viewer.layers["one"].data = np.zeros((50, 50))
    with qtbot.waitSignal(dock.previewed):
        dock.session.choices.set(recipe=Outlines(method="auto"))
    assert "every pixel is 0" in dock.message.text()


def test_the_last_change_wins(dock, qtbot):
    box = dock.form.controls["min_area"]
    with qtbot.waitSignal(dock.previewed):
        for value in (100, 10_000, 200, 5000, 16):
            box.setValue(value)
    qtbot.wait(200)
    assert len(dock.segmentation.preview.diameters) == 16


def test_the_commit_equals_the_preview(dock, viewer, qtbot):
    turn(dock, qtbot, "method", "li")
    diameters = dock.segmentation.preview.diameters
    image = viewer.layers["one"].data
    dock.segmentation.preview.left_out[AT_BORDER] = 2
    result = committed(dock, qtbot)
    assert "2 left out" in dock.count.text()
    assert "dotted" not in dock.count.text()  # the lines of the preview are gone
    labels, outlines = viewer.layers["one labels"], viewer.layers["one outlines"]
    np.testing.assert_array_equal(labels.data, segment(image, method="li"))
    expected = extract_curves(labels.data, scale=(0.5, 0.5), unit="µm")
    assert len(outlines.data) == len(expected) == len(diameters)
    np.testing.assert_allclose(outlines.data[3] * 0.5, expected[3], atol=1e-5)
    assert {"id", "area", "perimeter", "circularity", "aspect_ratio", "solidity", "excluded"} <= set(outlines.features)
    np.testing.assert_allclose(outlines.features["area"], expected.features["area"])
    unusual = unusual_outlines(expected)  # no second image is needed
    np.testing.assert_allclose(outlines.features["unusual"], unusual["unusual"], rtol=1e-3)
    assert outlines.features["why"].tolist() == unusual["why"].tolist()
    limits = COLORINGS["unusual"].limits(unusual["unusual"].to_numpy(), 99)
    share = np.clip((unusual["unusual"] - limits[0]) / (limits[1] - limits[0]), 0, 1)
    np.testing.assert_allclose(outlines.face_color, colormap_of(COLORINGS["unusual"]).map(share), atol=0.01)
    assert unusual["why"][unusual["unusual"].idxmax()] in dock.message.text()
    for layer in (labels, outlines):
        np.testing.assert_array_equal(layer.scale, (0.5, 0.5))
        assert {str(unit) for unit in layer.units} == {"micrometer"}
    assert PREVIEW not in viewer.layers
    assert "16 outlines made" in dock.message.text()
    assert result[0].unit == "µm"
    with qtbot.assertNotEmitted(dock.previewed, wait=500):  # the commit starts no preview of its own
        pass
    assert {layer.name for layer in viewer.layers} == {"one", "one labels", "one outlines"}
    turn(dock, qtbot, "method", "otsu")
    assert PREVIEW in viewer.layers


def test_a_manual_threshold_is_kept_for_another_image(model, qtbot):
    for name, scale in (("one", 1), ("two", 100)):
        model.add_image(scale * spots(1), name=name)
    dock = SegmentCurves(model)
    qtbot.addWidget(dock)
    dock.segmentation.image.choose(model.layers["one"])
    turn(dock, qtbot, "method", "manual")
    guessed = dock.session.choices.recipe.threshold
    assert model.layers["one"].data.min() < guessed < model.layers["one"].data.max()
    with qtbot.waitSignal(dock.previewed):
        dock.segmentation.image.choose(model.layers["two"])
    assert dock.session.choices.recipe.threshold == dock.form.controls["threshold"].value() == guessed


def test_a_single_object_and_one_at_the_border_which_is_told_once(viewer, qtbot):
    image = np.zeros((60, 60))
    image[20:40, 20:40] = image[:8, :8] = 1
    viewer.add_image(image, name="one")
    dock = opened(viewer, qtbot)
    assert dock.count.text().startswith("<b>1 object</b>")
    committed(dock, qtbot)
    assert "1 left out: touching the image border" in dock.count.text()
    assert dock.message.text() == "1 outline made."


def test_a_pixel_size_of_the_recipe_is_reported_and_can_be_reset(dock, qtbot):
    assert dock.form.more.isHidden()
    with qtbot.waitSignal(dock.previewed):
        dock.session.choices.set(recipe=Outlines(pixel_size=0.25, unit="nm"))
    assert "Pixel size = 0.25" in dock.form.more.label.text()
    assert "'nm'" in dock.form.more.label.text()
    assert "nm" in dock.sizes.labels[1]
    with qtbot.waitSignal(dock.previewed):
        dock.form.more.button.click()
    assert dock.session.choices.recipe == Outlines()
    assert "µm" in dock.sizes.labels[1]


def test_the_reason_for_a_failed_segmentation_is_shown(viewer, qtbot):
    viewer.add_image(np.zeros((40, 40)), name="empty")
    dock = opened(viewer, qtbot)
    if not dock.message.text():
        with qtbot.waitSignal(dock.previewed):
            pass
    assert "every pixel is 0" in dock.message.text()
    assert [layer.name for layer in viewer.layers] == ["empty"]
    with qtbot.waitSignal(dock.finished):
        press(dock.run_button, qtbot)
    qtbot.waitUntil(lambda: not dock.segmentation.is_preview_pending)
    said = "⚠ empty: every pixel is 0: objects cannot be told from background"
    assert [part.text() for part in (dock.verdict, dock.message) if part.text()] == [said]


def test_without_an_image_the_button_is_disabled(viewer, qtbot):
    dock = opened(viewer, qtbot)
    assert not dock.run_button.isEnabled()
    assert "Open an image" in dock.reason.text()
    with qtbot.waitSignal(dock.previewed):
        viewer.add_image(spots(1), name="one")
    assert dock.run_button.isEnabled()


def test_the_preview_can_be_switched_off_and_deleted(dock, viewer, qtbot):
    dock.live.click()
    qtbot.waitUntil(lambda: PREVIEW not in viewer.layers)
    with qtbot.waitSignal(dock.previewed):
        dock.live.click()
    viewer.layers.remove(PREVIEW)
    turn(dock, qtbot, "smoothing", 2.0)
    assert PREVIEW in viewer.layers


def test_renamed_replaced_and_deleted_images_are_followed(dock, viewer, qtbot):
    viewer.layers["one"].name = "first"
    assert dock.layer.currentText() == "first"
    with qtbot.waitSignal(dock.previewed):
        viewer.layers["first"].data = spots(2, rows=4)
    assert len(dock.segmentation.preview.diameters) == 16
    assert [layer.name for layer in viewer.layers] == ["first", "first preview"]
    viewer.layers.remove("first")
    qtbot.waitUntil(lambda: not len(viewer.layers))
    assert dock.segmentation.image.chosen() is None
    assert not dock.run_button.isEnabled()


def test_a_closed_dock_is_disconnected_until_reopened(make_napari_viewer, qtbot):
    show_docks(viewer := make_napari_viewer())
    image = viewer.add_image(spots(1), name="one")
    CanvasContext.watch(viewer.window._qt_window.centralWidget(), viewer.layers)  # stays with the window
    before = listeners(viewer, [image])
    dock = opened(viewer, qtbot)
    dock.form.controls["min_area"].setValue(20)  # a preview is scheduled
    dock.parentWidget().close()
    qtbot.waitUntil(lambda: not dock.segmentation.image.is_connected)
    assert listeners(viewer, [image]) == before
    image.data = spots(2, rows=4)
    image.scale = (0.5, 0.5)
    qtbot.wait(300)
    assert [layer.name for layer in viewer.layers] == ["one"]
    with qtbot.waitSignal(dock.previewed):
        dock.parentWidget().show()
    assert len(dock.segmentation.preview.diameters) == 16


def test_the_displayed_plane_or_all_planes_of_a_stack_are_segmented(viewer, qtbot):
    viewer.add_image(np.stack([spots(1, rows=4), spots(2, rows=4)]), name="stack")
    viewer.dims.set_point(0, 0)
    dock = opened(viewer, qtbot)
    first = dock.segmentation.preview.lines.copy()
    with qtbot.waitSignal(dock.previewed):
        viewer.dims.set_point(0, 1)
    assert not np.array_equal(first, dock.segmentation.preview.lines)
    dock.planes.setChecked(True)
    dock.segmentation.schedule_preview()
    committed(dock, qtbot)  # pressed before the preview ends
    assert not dock.segmentation.is_preview_pending
    assert "updating" not in dock.count.text()
    labels, outlines = viewer.layers["stack labels"], viewer.layers["stack outlines"]
    assert labels.data.shape == (2, *spots(1, rows=4).shape)
    assert outlines.ndim == 3
    assert outlines.features["plane 0"].value_counts().to_dict() == {0: 16, 1: 16}
    assert {int(shape[0, 0]) for shape in outlines.data} == {0, 1}


def test_cells_between_lines_get_shared_boundaries(viewer, qtbot):
    image = np.ones((120, 120))
    image[::30] = image[:, ::30] = 0
    viewer.add_image(image, name="cells")
    dock = opened(viewer, qtbot)
    turn(dock, qtbot, "method", "boundaries")
    committed(dock, qtbot)
    outlines = viewer.layers["cells outlines"]
    assert viewer.layers["cells labels"].data.min() == 1
    vertices = np.concatenate([np.round(shape, 6) for shape in outlines.data])
    _, counts = np.unique(vertices, axis=0, return_counts=True)
    assert (counts > 1).mean() > 0.2


def test_a_reopened_dock_shows_the_previous_state(model, qtbot):
    for seed in (1, 2):
        model.add_image(spots(seed, rows=4), name=str(seed))
    model.layers.selection.active = model.layers["1"]
    Session.of(model).choices.recipe_loaded = True  # no recipes are proposed
    dock = SegmentCurves(model)
    turn(dock, qtbot, "min_area", 10_000)
    dock.planes.setChecked(True)
    dock.deleteLater()
    qtbot.waitUntil(lambda: [layer.name for layer in model.layers] == ["1", "2"])
    again = SegmentCurves(model)
    qtbot.addWidget(again)
    with qtbot.waitSignal(again.previewed):
        pass
    assert again.layer.currentText() == "1"
    assert again.form.value == Outlines(min_area=10_000)
    assert "16 left out" in again.count.text()
    assert again.planes.isChecked()


def test_a_dock_destroyed_during_a_run_is_not_notified(model, qtbot):
    model.add_image(spots(1), name="one")
    dock = SegmentCurves(model)
    task = dock.segmentation
    dock.run()
    dock.deleteLater()
    qtbot.waitUntil(lambda: not task.busy and not task.threads and not task.previewer.threads)
    assert [layer.name for layer in model.layers] == ["one"]


def test_the_page_begins_with_the_active_layer(model, qtbot):
    one, two = (model.add_image(spots(seed, rows=3), name=str(seed)) for seed in (1, 2))
    model.layers.selection.active = one
    qtbot.addWidget(dock := SegmentCurves(model))
    assert dock.segmentation.image.chosen() is one
    dock.show()
    dock.hide()
    qtbot.waitUntil(lambda: not dock.segmentation.image.is_connected)
    model.layers.selection.active = two
    dock.show()
    assert dock.layer.currentText() == "2"


def test_the_recipe_is_shared_with_the_other_pages(model, qtbot):
    model.add_image(spots(1), name="one")
    segment, inspect = SegmentCurves(model), InspectCurves(model)
    for page in (segment, inspect):
        qtbot.addWidget(page)
    turn(segment, qtbot, "smoothing", 2.5)
    assert "image smoothing 2.5 px" in inspect.recipe.text()
    with qtbot.waitSignal(segment.previewed):
        set_choices(segment.session.choices, min_area=10_000)
    assert segment.form.controls["min_area"].value() == 10_000
    assert "16 left out" in segment.count.text()


def test_settings_are_saved_and_loaded_in_the_dock(model, qtbot, answer, tmp_path):
    model.add_image(spots(1), name="one")
    dock = SegmentCurves(model)
    qtbot.addWidget(dock)
    turn(dock, qtbot, "min_area", 10_000)
    save, load = reversed(dock.files.menu().actions())
    answer(tmp_path / "s.toml")
    save.trigger()
    assert "Saved s.toml" in dock.message.text()
    turn(dock, qtbot, "min_area", 16)
    with qtbot.waitSignal(dock.previewed):
        load.trigger()
    assert "s.toml" in dock.message.text()
    assert dock.form.value.min_area == 10_000
    assert "16 left out" in dock.count.text()
    (tmp_path / "s.toml").write_text("nonsense")
    load.trigger()
    assert dock.message.text().startswith("⚠ s.toml")


def test_the_worst_findings_are_listed_and_others_in_the_tooltip(dock):
    notes = [Finding("specks", f"image {place}", place == 6, f"specks in image {place}") for place in range(1, 7)]
    dock.segmentation.verdict = Verdict(Quality(tuple(notes)), {"image": 5, "image 1": 3, "fine": 4})
    dock.show_state()
    *listed, more, fine = dock.verdict.text().split("<br>")
    assert listed == ["⚠ specks in image 6", "• specks in image 1"]
    assert more == "… and 4 more, in the tooltip"
    assert "specks in image 5" in dock.verdict.toolTip()
    dock.segmentation.verdict = Verdict(Quality(()), {"one": 5, "two": 3, "three": 4})
    dock.show_state()
    assert "three" not in dock.verdict.text()
    assert "three: 4 outlines" in dock.verdict.toolTip()
    dock.segmentation.verdict = Verdict(Quality(tuple(notes)), {"image": 5, "image 1": 3, "fine": 4})
    dock.show_state()
    assert "fine: 4 outlines" in fine
    assert "image 1" not in fine
