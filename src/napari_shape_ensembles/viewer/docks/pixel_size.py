"""The widget *Pixel size*: shows a layer's pixel size, reads it from its file or a scale bar, and sets it."""

import weakref
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from magicgui import magicgui
from napari.components import ViewerModel
from napari.layers import Layer, Shapes
from napari.utils.events import Event
from qtpy.QtGui import QHideEvent, QShowEvent
from qtpy.QtWidgets import QDoubleSpinBox, QFormLayout, QWidget

from ...io.calibration import Calibration, read_calibration
from ..inputs import ACCEPTED, MADE_FOR, OWN, is_own, pixel_size_of, placement_of, unit_factors
from ..layer_choice import LayerChoice
from ..layers import name_after
from ..offered import PIXEL_SIZE_EVENTS, ChosenLayer
from ..panels.fonts import with_label_font
from ..panels.widgets import WrappedLabel, button, pass_wheel, row
from ..session import Session
from ..world import drawn_axes

if TYPE_CHECKING:
    from napari.components import Dims


_DECIMALS = 6
_SIDE = {"min": 0, "max": 1e6}
# Options of the controls, by parameter of `_entered`.
_CONTROLS: dict[str, dict[str, Any]] = {
    "height": {**_SIDE, "tooltip": "Height of a pixel, in the unit below."},
    "width": {**_SIDE, "tooltip": "Width of a pixel, in the unit below."},
    "unit": {"tooltip": 'A unit of length, such as µm or nm; or "pixel".'},
}


class PixelSize(QWidget):
    """Form for the pixel size of a layer along the displayed axes."""

    def __init__(self, napari_viewer: ViewerModel) -> None:
        super().__init__()
        viewer = Session.of(napari_viewer).choices.viewer  # not its proxy, whose layers are proxies that exist briefly
        self._dims, self._layers = viewer.dims, viewer.layers
        self._chosen = ChosenLayer(viewer, lambda layer: isinstance(layer, ACCEPTED) and not is_own(layer))
        self.bar: Shapes | None = None  # a line that the user draws along the scale bar
        self._measured: weakref.ref[Layer] | None = None  # the layer on which it is drawn
        self.layer = LayerChoice(self._chosen, "Image, labels or shapes whose pixel size is set.")
        self.form = magicgui(_entered, call_button=False, **_CONTROLS)
        self.form.native.setParent(self)  # its controls stand in the rows below; it goes with this widget
        self.form.native.hide()
        self.height, self.width, self.unit = (self.form[name].native for name in _CONTROLS)
        for control in (self.height, self.width, self.unit):
            with_label_font(control)
        for box in (self.height, self.width):
            box.setDecimals(_DECIMALS)
            pass_wheel(box)
        self.read = button(
            "F&rom file", "Read the size from the file: OME, ImageJ, FEI/Thermo Fisher, Zeiss or Tescan TIFF."
        )
        self.apply = button("S&et", "Give the layer this pixel size: its scale and units.")
        self.length = QDoubleSpinBox()
        self.length.setRange(0, _SIDE["max"])
        self.length.setDecimals(_DECIMALS)
        self.length.setAccessibleName("Length of the scale bar")
        self.length.setToolTip("Length written at the scale bar, in the unit above.")
        pass_wheel(self.length)
        self.draw = button("&Draw along it", "Click both ends of the scale bar in the image, or drag between them.")
        self.message = WrappedLabel()
        rows = QFormLayout(self)
        rows.addRow("Layer", self.layer)
        for name, control in zip(_CONTROLS, (self.height, self.width, self.unit), strict=True):
            rows.addRow(name.capitalize(), control)
        rows.addRow("Scale bar", row(self.length, self.draw))
        rows.addRow(row(self.read, self.apply))
        rows.addRow(self.message)
        self._chosen.changed.connect(self.show_layer)
        self.read.clicked.connect(self.read_file)
        self.apply.clicked.connect(self.set_layer)
        self.draw.clicked.connect(self.draw_bar)
        self.length.valueChanged.connect(self._show_bar)
        self._connect_events()

    def _connect_events(self) -> None:
        if not self._chosen.is_connected:
            self._layers.events.connect(self._on_layer_event)
        self._chosen.connect_events()

    def showEvent(self, event: QShowEvent | None) -> None:
        super().showEvent(event)
        self._connect_events()

    def hideEvent(self, event: QHideEvent | None) -> None:
        """Disconnect, so that a closed dock leaves no callbacks behind."""
        super().hideEvent(event)
        if self._chosen.is_connected:
            self._layers.events.disconnect(self._on_layer_event)
        self._chosen.disconnect_events()

    def _on_layer_event(self, event: Event) -> None:
        """Show a pixel size that was changed elsewhere."""
        if event.type in PIXEL_SIZE_EVENTS:
            self.show_layer()

    def show_layer(self) -> None:
        """Show the chosen layer and its current pixel size."""
        self.layer.refresh()
        layer = self._chosen.chosen()
        if self.bar is not None and not self._is_drawn_on(layer, self.bar):
            self._remove_bar()
        self.form.enabled = layer is not None
        self.read.setEnabled(layer is not None)
        self.apply.setEnabled(layer is not None)
        self.draw.setEnabled(layer is not None)
        if layer is None:
            self.message.setText("Open an image to see its pixel size.")
        else:
            try:
                self._show(calibration_of(layer, self._dims))
            except ValueError as error:
                self.message.setText(f"⚠ {error}")

    def _show(self, calibration: Calibration) -> None:
        height, width = calibration.scale
        # Not `update`, which magicgui 0.8 confuses with the height and width of the form itself.
        for name, value in zip(_CONTROLS, (height, width, calibration.unit), strict=True):
            self.form[name].value = value
        self.message.setText(f"{calibration}.")

    def read_file(self) -> None:
        """Show the pixel size from the layer's file, without applying it to the layer."""
        layer = self._chosen.chosen()
        path = layer.source.path if layer is not None else None
        if path is None:
            self.message.setText("This layer has no file: enter the size.")
            return
        try:
            found = read_calibration(path)
        except (ValueError, OSError) as error:
            self.message.setText(f"⚠ {error}")
        else:
            if found.unit != "pixel":
                self._show(found)
            missing = f"{Path(path).name} contains no pixel size: enter it."
            self.message.setText(missing if found.unit == "pixel" else f"{found}. Press Set to use it.")

    def draw_bar(self) -> None:
        """Add a layer in which the user draws a line along the scale bar."""
        layer = self._chosen.chosen()
        if layer is None:
            return
        self._remove_bar()
        self._measured = weakref.ref(layer)
        self.bar = Shapes(ndim=layer.ndim, edge_color="yellow", edge_width=1, **placement_of(layer))
        name_after(self.bar, layer, "scale bar")
        OWN.add(self.bar)  # so that it is not offered for comparison
        MADE_FOR[self.bar] = self._measured
        self._layers.append(self.bar)
        self.bar.mode = "add_line"
        self.bar.events.data.connect(self._show_bar)
        self.message.setText("Click both ends of the scale bar in the image.")

    def _show_bar(self, _: object = None) -> None:
        """Show the pixel size by the line that was drawn last, and the length entered."""
        layer = self._chosen.chosen()
        if layer is None or self.bar is None or self.bar not in self._layers or not self.bar.data:
            return
        line = np.asarray(self.bar.data[-1])[:, drawn_axes(layer, self._dims)]
        pixels = float(np.linalg.norm(line[-1] - line[0]))
        if pixels and self.length.value():
            self.height.setValue(self.length.value() / pixels)
            self.width.setValue(self.length.value() / pixels)
        todo = "Press Set to use it." if self.length.value() else "Enter its length and unit."
        self.message.setText(f"Scale bar of {pixels:.4g} pixels. {todo}")

    def _is_drawn_on(self, layer: Layer | None, bar: Shapes) -> bool:
        """Whether a scale bar is drawn on this layer, whose pixel size is still that of the bar."""
        if self._measured is None or self._measured() is not layer or layer is None:
            return False
        return np.array_equal(layer.scale, bar.scale) and layer.units == bar.units

    def _remove_bar(self) -> None:
        if self.bar is not None and self.bar in self._layers:
            self._layers.remove(self.bar)
        self.bar = None

    def set_layer(self) -> None:
        """Give the chosen layer the pixel size entered."""
        layer = self._chosen.chosen()
        if layer is None:
            return
        try:
            calibration = self.form()
            calibrate(layer, calibration, self._dims)
        except ValueError as error:
            self.message.setText(f"⚠ {error}")
        else:
            self._remove_bar()
            self.message.setText(
                f"{replace(calibration_of(layer, self._dims), source=calibration.source)}."
            )  # um is µm


def _entered(height: float = 1.0, width: float = 1.0, unit: str = "pixel") -> Calibration:
    """Return the pixel size entered in the form, which magicgui makes of these parameters."""
    return Calibration((height, width), unit.strip(), "set")


def calibration_of(layer: Layer, dims: "Dims") -> Calibration:
    """Return the pixel size of a layer along the displayed axes, from its full transform, in the unit of its rows.

    Raises
    ------
    ValueError
        For pixels that are not rectangular (sheared), with the remedy in the message.
    """
    (height, width), unit = pixel_size_of(layer, drawn_axes(layer, dims))
    return Calibration((float(height), float(width)), unit, "layer")


def calibrate(layer: Layer, calibration: Calibration, dims: "Dims") -> None:
    """Set scale and units of a layer's displayed axes, and preserve its translation in its own pixels.

    Mirrored axes stay mirrored, and the scale of an affine transform is divided out.
    """
    axes, scale, translate = drawn_axes(layer, dims), np.array(layer.scale), np.array(layer.translate)
    before, alike = pixel_size_of(layer, axes)[0], unit_factors(layer, axes, [layer.units[axes[0]]] * 2)
    grown = np.array(calibration.scale) / before * alike
    scale[axes] *= grown
    translate[axes] *= grown
    layer.units = tuple(calibration.unit if axis in axes else unit for axis, unit in enumerate(layer.units))
    layer.scale, layer.translate = scale, translate
