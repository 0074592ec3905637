"""The form for the pixel size on the page *Images*, operated by its controls."""

import numpy as np
import pytest
import tifffile
from napari.components import ViewerModel
from qtpy.QtCore import Qt

from docks import cells
from napari_shape_ensembles.viewer.docks.pixel_size import PixelSize, calibration_of
from napari_shape_ensembles.viewer.inputs import symbol
from napari_shape_ensembles.viewer.session import Session

IMAGE = np.zeros((20, 30), np.uint8)


@pytest.fixture
def viewer():
    return ViewerModel()


@pytest.fixture
def widget(viewer, qtbot):
    widget = PixelSize(viewer)
    qtbot.addWidget(widget)
    widget.show()
    return widget


def press(button, qtbot):
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def typed(widget, height, width, unit):
    widget.height.setValue(height)
    widget.width.setValue(width)
    widget.unit.setText(unit)


def test_the_chosen_layer_is_shown(viewer, widget):
    assert "Open an image" in widget.message.text()
    assert not widget.apply.isEnabled()
    viewer.add_image(IMAGE, name="one", scale=(0.5, 0.25), units=("um", "um"))
    viewer.add_image(IMAGE, name="two")
    assert widget.message.text() == "0.5 × 0.25 µm per pixel (layer)."
    widget.layer.setCurrentText("two")
    assert widget.message.text() == "pixels (layer)."
    viewer.layers["two"].name = "renamed"
    assert widget.layer.currentText() == "renamed"
    viewer.layers.remove("renamed")
    assert widget.layer.currentText() == "one"


def test_the_form_of_the_bench_sets_the_size_of_the_layer(make_napari_viewer, qtbot):
    """Napari gives it a proxy of the viewer, whose layers are proxies, too."""
    viewer = make_napari_viewer()
    layer = viewer.add_image(IMAGE, name="one")
    bench = viewer.window.add_plugin_dock_widget("napari-shape-ensembles", "Shape bench")[1]
    section = bench.pages["Images"].pixels
    assert section.findChild(PixelSize) is None
    section.fold(False)
    widget = section.findChild(PixelSize)
    typed(widget, 0.5, 0.25, "nm")
    press(widget.apply, qtbot)
    assert layer.scale.tolist() == [0.5, 0.25]


def test_a_pixel_size_that_is_changed_elsewhere_is_shown(viewer, widget):
    layer = viewer.add_image(IMAGE, name="one")
    layer.units, layer.scale = ("nm", "nm"), (0.5, 0.25)
    assert (widget.height.value(), widget.width.value(), widget.unit.text()) == (0.5, 0.25, "nm")
    widget.hide()
    layer.scale = 3, 3
    widget.show()
    assert widget.height.value() == 3


def test_a_typed_pixel_size_is_applied_to_the_layer(viewer, widget, qtbot):
    layer = viewer.add_image(np.zeros((3, 20, 30)), name="stack", scale=(2, 1, 1), translate=(0, 10, 0))
    typed(widget, 0.5, 0.25, "nm")
    press(widget.apply, qtbot)
    assert layer.scale.tolist() == [2, 0.5, 0.25]
    assert layer.translate.tolist() == [0, 5, 0]
    assert (calibration_of(layer, viewer.dims).scale, calibration_of(layer, viewer.dims).unit) == ((0.5, 0.25), "nm")
    assert "0.5 × 0.25 nm per pixel" in widget.message.text()
    typed(widget, 0.5, 0.25, "um")
    press(widget.apply, qtbot)
    assert widget.message.text() == "0.5 × 0.25 µm per pixel (set)."


@pytest.mark.parametrize(
    ("height", "unit", "message"), [(0, "nm", "above 0"), (1, "second", "a unit of length"), (1, "", "")]
)
def test_invalid_input_is_rejected_in_place(viewer, widget, qtbot, height, unit, message):
    layer = viewer.add_image(IMAGE)
    typed(widget, height, 1, unit)
    press(widget.apply, qtbot)
    assert widget.message.text().startswith("⚠ ")
    assert message in widget.message.text()
    assert layer.scale.tolist() == [1, 1]


def test_the_pixel_size_is_the_length_of_the_scale_bar_over_the_pixels_between_its_ends(viewer, widget, qtbot):
    layer = viewer.add_image(IMAGE, name="one")
    press(widget.draw, qtbot)
    bar = viewer.layers["one scale bar"]
    assert (bar.mode, viewer.layers.selection.active, widget.layer.currentText()) == ("add_line", bar, "one")
    bar.add_lines([[12, 5], [12, 25]])
    assert "20 pixels" in widget.message.text()
    assert "Enter its length" in widget.message.text()
    widget.length.setValue(50)
    widget.unit.setText("nm")
    assert (widget.height.value(), widget.width.value()) == (2.5, 2.5)
    bar.data = [np.array([[12, 5], [12, 15]])]  # an end was moved
    assert widget.width.value() == 5
    press(widget.apply, qtbot)
    assert layer.scale.tolist() == [5, 5]
    assert list(viewer.layers) == [layer]


def test_a_scale_bar_is_measured_in_pixels_of_a_layer_that_has_a_size(viewer, widget, qtbot):
    layer = viewer.add_image(np.zeros((3, 20, 30)), scale=(1, 0.5, 0.5), units=("um",) * 3)
    press(widget.draw, qtbot)
    widget.bar.add_lines([[0, 12, 5], [0, 12, 25]])
    widget.length.setValue(4)
    press(widget.apply, qtbot)
    assert layer.scale.tolist() == [1, 0.2, 0.2]


@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_scale_bar_goes_with_the_image_on_which_it_is_drawn(viewer, widget, qtbot, is_deleted):
    one, two = (viewer.add_image(IMAGE, name=name) for name in ("one", "two"))
    widget.layer.setCurrentText("one")
    press(widget.draw, qtbot)
    if is_deleted:
        viewer.layers.remove(one)
    else:
        widget.layer.setCurrentText("two")
    assert list(viewer.layers) == ([two] if is_deleted else [one, two])
    assert widget.bar is None


@pytest.mark.parametrize("change", [{"scale": (0.5, 0.5)}, {"units": ("um", "um")}])
def test_a_scale_bar_in_pixels_of_another_size_is_removed(viewer, widget, qtbot, change):
    one, two = (viewer.add_image(IMAGE, name=name) for name in ("one", "two"))
    widget.layer.setCurrentText("one")
    press(widget.draw, qtbot)
    two.scale = (3, 3)
    one.name = "renamed"
    assert widget.bar in viewer.layers
    for name, value in change.items():
        setattr(one, name, value)
    assert list(viewer.layers) == [one, two]
    assert widget.bar is None


@pytest.fixture
def opened(make_napari_viewer):
    """A viewer with a window, which can open files, and the form."""
    viewer = make_napari_viewer()
    viewer.window.add_dock_widget(widget := PixelSize(viewer), name="Pixel size")
    return viewer, widget


def test_the_pixel_size_is_read_from_the_file_and_applied_on_request(tmp_path, opened, qtbot):
    viewer, widget = opened
    metadata = {"axes": "YX", "PhysicalSizeY": 0.5, "PhysicalSizeX": 0.5}
    tifffile.imwrite(tmp_path / "x.ome.tif", IMAGE, ome=True, metadata=metadata)
    (layer,) = viewer.open(tmp_path / "x.ome.tif", plugin="napari")
    press(widget.read, qtbot)
    assert "0.5 µm per pixel (OME-TIFF)" in widget.message.text()
    assert layer.scale.tolist() == [1, 1]
    press(widget.apply, qtbot)
    assert layer.scale.tolist() == [0.5, 0.5]


def test_a_missing_pixel_size_is_reported(tmp_path, opened, qtbot):
    viewer, widget = opened
    viewer.add_image(IMAGE)
    press(widget.read, qtbot)
    assert "no file" in widget.message.text()
    viewer.layers.clear()
    tifffile.imwrite(tmp_path / "x.tif", IMAGE, metadata=None)
    viewer.open(tmp_path / "x.tif", plugin="napari")
    press(widget.read, qtbot)
    assert "x.tif contains no pixel size" in widget.message.text()


def test_a_closed_widget_is_disconnected_and_released(viewer, widget):
    before = len(viewer.layers.events.inserted.callbacks)
    widget.hide()
    assert len(viewer.layers.events.inserted.callbacks) == before - 1
    widget.show()
    assert len(viewer.layers.events.inserted.callbacks) == before


@pytest.mark.parametrize(("short", "expected"), [("\N{GREEK SMALL LETTER MU}m", "µm"), ("µm", "µm"), ("nm", "nm")])
def test_both_micro_signs_are_the_same_unit(short, expected):
    class Unit:
        def __format__(self, kind):
            return short

    assert symbol(Unit()) == expected == expected.replace("\N{GREEK SMALL LETTER MU}", "")


def test_the_line_along_a_scale_bar_lies_over_its_image_in_a_grid(viewer, widget, qtbot):
    for name in ("one", "two"):
        viewer.add_image(IMAGE, name=name)
    comparison = Session.of(viewer).comparison
    comparison.design.connect_events()
    comparison.arrange(True)
    widget.layer.setCurrentText("one")
    press(widget.draw, qtbot)
    qtbot.waitUntil(lambda: cells(viewer) == {(0, 0): {"one", "one scale bar"}, (1, 0): {"two"}})
    comparison.arrange(False)
    comparison.design.disconnect_events()
