"""The widget *Pixel size*: shows how large a layer's pixels are, reads it from the image's file, and sets it."""

from pathlib import Path

from napari.components import ViewerModel
from napari.layers import Layer
from qtpy.QtCore import Qt
from qtpy.QtGui import QHideEvent, QShowEvent
from qtpy.QtWidgets import QComboBox, QDoubleSpinBox, QFormLayout, QHBoxLayout, QLabel, QLineEdit, QPushButton, QWidget

from ..io.calibration import Calibration, read_calibration
from ..outlines import conversion_factor
from .fonts import DecimalBox, with_label_font
from .inputs import ACCEPTED, symbol

_FOLLOWED = ("inserted", "removed", "reordered", "renamed")


class PixelSize(QWidget):
    """Size of a pixel of one layer, along its last two axes.

    Parameters
    ----------
    napari_viewer : ViewerModel
        The viewer whose layers are measured.
    """

    def __init__(self, napari_viewer: ViewerModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._layers = napari_viewer.layers
        self._following = False
        self.layer = QComboBox()
        self.layer.setToolTip("The image, labels or shapes whose pixels are measured.")
        self.height = _size("Height of a pixel, in the unit below.")
        self.width = _size("Width of a pixel, in the unit below.")
        self.unit = QLineEdit("pixel")
        with_label_font(self.unit)
        self.unit.setToolTip('A unit of length, such as µm or nm; or "pixel".')
        self.read = QPushButton("F&rom file")
        self.read.setToolTip("Read the size from the file: OME, ImageJ, FEI/Thermo Fisher, Zeiss or Tescan TIFF.")
        self.apply = QPushButton("S&et")
        self.apply.setToolTip("Give the layer this pixel size: its scale and units.")
        self.message = QLabel()
        self.message.setTextFormat(Qt.TextFormat.PlainText)
        self.message.setWordWrap(True)
        self._lay_out()
        self.layer.currentIndexChanged.connect(lambda _: self.show_layer())
        self.read.clicked.connect(self.read_file)
        self.apply.clicked.connect(self.set_layer)
        self.follow()

    def _lay_out(self) -> None:
        form = QFormLayout(self)
        for name, control in (
            ("Layer", self.layer),
            ("Height", self.height),
            ("Width", self.width),
            ("Unit", self.unit),
        ):
            form.addRow(name, control)
        buttons = QHBoxLayout()
        buttons.addWidget(self.read)
        buttons.addWidget(self.apply)
        form.addRow(buttons)
        form.addRow(self.message)

    def showEvent(self, event: QShowEvent | None) -> None:  # noqa: N802 - Qt's name
        """Follow the layer list again."""
        super().showEvent(event)
        self.follow()

    def hideEvent(self, event: QHideEvent | None) -> None:  # noqa: N802 - Qt's name
        """Stop following, so that a closed dock leaves nothing behind."""
        super().hideEvent(event)
        if self._following:
            for name in _FOLLOWED:
                getattr(self._layers.events, name).disconnect(self.refresh)
            self._following = False

    def follow(self) -> None:
        """Keep in step with the layer list from now on, and catch up with it."""
        if not self._following:
            for name in _FOLLOWED:
                getattr(self._layers.events, name).connect(self.refresh)
            self._following = True
        self.refresh()

    def refresh(self) -> None:
        """List the layers of now, keeping the one that is chosen where it is still there."""
        chosen = self.chosen()
        layers = [layer for layer in self._layers if isinstance(layer, ACCEPTED)]
        self.layer.blockSignals(True)
        self.layer.clear()
        for layer in layers:
            self.layer.addItem(layer.name, layer)
        active = self._layers.selection.active
        wanted = chosen if chosen in layers else active if active in layers else layers[0] if layers else None
        self.layer.setCurrentIndex(layers.index(wanted) if wanted is not None else -1)
        self.layer.blockSignals(False)
        self.show_layer()

    def chosen(self) -> Layer | None:
        """The layer, if there is any."""
        return self.layer.currentData(Qt.ItemDataRole.UserRole)

    def show_layer(self) -> None:
        """Show the size that the layer has now."""
        layer = self.chosen()
        for control in (self.height, self.width, self.unit, self.read, self.apply):
            control.setEnabled(layer is not None)
        if layer is None:
            self.message.setText("Open an image to see how large its pixels are.")
            return
        self._show(calibration_of(layer))

    def _show(self, calibration: Calibration) -> None:
        self.height.setValue(calibration.scale[0])
        self.width.setValue(calibration.scale[1])
        self.unit.setText(calibration.unit)
        self.message.setText(f"{calibration}.")

    def read_file(self) -> None:
        """Show what the file of the layer states; the layer changes when it is set."""
        layer = self.chosen()
        path = layer.source.path if layer is not None else None
        if path is None:
            self.message.setText("This layer has no file: type the size.")
            return
        try:
            found = read_calibration(path)
        except (ValueError, OSError) as error:
            self.message.setText(f"⚠ {error}")
            return
        if found.unit == "pixel":
            self.message.setText(f"{Path(path).name} states no pixel size: type it.")
        else:
            self._show(found)
            self.message.setText(f"{found}. Press Set to use it.")

    def set_layer(self) -> None:
        """Give the layer the size shown."""
        layer = self.chosen()
        if layer is None:
            return
        try:
            calibration = Calibration((self.height.value(), self.width.value()), self.unit.text().strip(), "set")
        except ValueError as error:
            self.message.setText(f"⚠ {error}")
            return
        calibrate(layer, calibration)
        self.message.setText(f"{calibration}.")


def _size(tooltip: str) -> QDoubleSpinBox:
    box = DecimalBox()
    box.setDecimals(6)
    box.setRange(0, 1e6)
    box.setValue(1)
    box.setToolTip(tooltip)
    return box


def calibration_of(layer: Layer) -> Calibration:
    """Size of a pixel of a layer along its last two axes, in the unit of its rows."""
    rows, columns = (symbol(unit) for unit in layer.units[-2:])
    height, width = (float(size) for size in layer.scale[-2:])
    factor = 1.0 if rows == columns else conversion_factor(columns, rows)
    return Calibration((height, width * factor), rows, "layer")


def calibrate(layer: Layer, calibration: Calibration) -> None:
    """Set scale and units of a layer's last two axes; it stays where it starts, in pixels of its own."""
    shift = [float(place) / float(size) for place, size in zip(layer.translate[-2:], layer.scale[-2:], strict=True)]
    layer.units = (*layer.units[:-2], calibration.unit, calibration.unit)
    layer.scale = (*layer.scale[:-2], *calibration.scale)
    moved = [place * size for place, size in zip(shift, calibration.scale, strict=True)]
    layer.translate = (*layer.translate[:-2], *moved)
