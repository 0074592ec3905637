"""The controls of a segmentation, each with its unit and default in its tooltip; only those that matter are shown."""

from dataclasses import fields
from typing import Any

from qtpy.QtCore import Signal
from qtpy.QtWidgets import QCheckBox, QComboBox, QDoubleSpinBox, QFormLayout, QLabel, QSpinBox, QVBoxLayout, QWidget

from ..outlines import Outlines
from .fonts import fit_text
from .settings_form import Control, _changes, _choice, _decimal, _switch, _whole
from .widgets import form

METHODS = {
    "otsu": "Otsu threshold",
    "li": "Li threshold",
    "triangle": "triangle threshold",
    "manual": "manual threshold",
    "local": "local threshold",
    "multi-otsu": "multi-Otsu classes",
    "hysteresis": "hysteresis",
    "level": "level set of a field",
    "boundaries": "cells between lines",
    "superpixels": "superpixels",
}
_CHANNELS: dict[Any, str] = {"luminance": "luminance", 0: "red", 1: "green", 2: "blue"}
# Controls that belong to some methods only.
_OF_METHOD = {
    "threshold": ("manual", "hysteresis"),
    "low": ("hysteresis",),
    "quantile": ("level",),
    "window": ("local", "boundaries"),
    "offset": ("local", "boundaries"),
    "classes": ("multi-otsu",),
    "object_classes": ("multi-otsu",),
    "superpixels": ("superpixels",),
    "compactness": ("superpixels",),
    "merge": ("superpixels",),
    "all_regions": ("superpixels",),
}
_NOT_OF_TILINGS = ("opening", "closing", "fill_holes")


class SegmentForm(QWidget):
    """Method, clean-up, splitting and outlines, in the order they are applied.

    Signals
    -------
    changed
        Any control was changed.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.controls: dict[str, Control] = {}
        self._forms: dict[str, QFormLayout] = {}
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        for title, controls in (
            ("Find", _find_controls()),
            ("Clean up and split", _clean_controls()),
            ("Outlines", _outline_controls()),
        ):
            layout.addWidget(QLabel(f"<b>{title}</b>"))
            layout.addWidget(self._section(controls))
        for control in self.controls.values():
            _changes(control).connect(lambda *_: self.changed.emit())
        for name in ("method", "split_touching", "all_regions"):
            _changes(self.controls[name]).connect(lambda *_: self._show_rows())
        self._rgb = self._fitted = False
        self._show_rows()

    def _section(self, controls: dict[str, tuple[str, Control, str]]) -> QWidget:
        page = QWidget()
        rows = form(page)
        rows.setContentsMargins(6, 0, 0, 6)
        for name, (label, control, tooltip) in controls.items():
            control.setToolTip(tooltip)
            control.setObjectName(name)
            self.controls[name] = control
            self._forms[name] = rows
            rows.addRow(label, control)
            rows.labelForField(control).setToolTip(tooltip)
        return page

    def show_image(self, *, rgb: bool, low: float, high: float, middle: float) -> None:
        """Fit the controls to an image: its colours, and the range and a first guess of its thresholds."""
        self._rgb = rgb
        for name in ("threshold", "low"):
            box = self.controls[name]
            assert isinstance(box, QDoubleSpinBox)
            kept = self._fitted and low <= box.value() <= high
            was_blocked = box.blockSignals(True)
            box.setDecimals(0 if high - low > 100 else 3)
            box.setRange(low, high)
            box.setSingleStep((high - low) / 100)
            fit_text(box)
            if not kept:
                box.setValue(middle if name == "threshold" else (low + middle) / 2)
            box.blockSignals(was_blocked)
        self._fitted = True
        self._show_rows()

    def segmentation(self) -> Outlines:
        """The recipe as set.

        Raises
        ------
        ValueError
            For choices that do not go together.
        """
        method = self._value("method")
        names = [field.name for field in fields(Outlines) if field.name in self.controls]
        wanted = [name for name in names if name not in _OF_METHOD or method in _OF_METHOD[name]]
        return Outlines(**{name: self._value(name) for name in wanted})

    def _value(self, name: str) -> Any:
        control = self.controls[name]
        if isinstance(control, QComboBox):
            return control.currentData()
        return control.isChecked() if isinstance(control, QCheckBox) else control.value()

    def _show_rows(self) -> None:
        method = self._value("method")
        regions = method in ("boundaries", "superpixels")
        tiling = method == "boundaries" or (method == "superpixels" and self._value("all_regions"))
        for name, control in self.controls.items():
            shown = method in _OF_METHOD.get(name, (method,)) and not (regions and name in _NOT_OF_TILINGS)
            if name == "channel":
                shown = self._rgb
            elif name in ("outline_smoothing", "smoothing_unit"):
                shown = not tiling
            elif name == "iterations":
                shown = tiling
            elif name == "split_touching":
                shown = method != "superpixels"
            elif name == "neck":
                shown = method != "superpixels" and self._value("split_touching") != "none"
            self._forms[name].setRowVisible(control, shown)


def _find_controls() -> dict[str, tuple[str, Control, str]]:
    default = Outlines()
    return {
        "method": ("Method", _choice(METHODS, default.method), "How objects are told from the background."),
        "objects": (
            "Objects are",
            _choice({"bright": "bright", "dark": "dark"}, default.objects),
            "Which side of a threshold is objects; bright cells have dark lines between them.",
        ),
        "channel": (
            "Colour",
            _choice(_CHANNELS, default.channel),
            "What of a colour image is segmented.",
        ),
        "smoothing": (
            "Image smoothing",
            _decimal(default.smoothing, 0, 50, 0.5, " px"),
            "Gaussian σ in pixels applied to the image first; 0 for none. Default 1 px.",
        ),
        "background": (
            "Background",
            _whole_of(default.background, 0, 1000, " px"),
            "Takes uneven light off, by an opening with a window of this half width in pixels.\n"
            "Wider than the widest object; 0 for none. Thresholds then count from the background.",
        ),
        **_threshold_controls(default),
        **_superpixel_controls(default),
    }


def _threshold_controls(default: Outlines) -> dict[str, tuple[str, Control, str]]:
    return {
        "threshold": (
            "Threshold",
            _decimal(0, 0, 1, 1, ""),
            "Grey value between background and objects, in the image's own values.",
        ),
        "low": (
            "Low threshold",
            _decimal(0, 0, 1, 1, ""),
            "Objects reach as far as this grey value, where they hold some of the other one.",
        ),
        "quantile": (
            "Quantile",
            _decimal(0.5, 0, 1, 0.01, "", decimals=3),
            "Share of the pixels below the level, 0 to 1. Default 0.5.",
        ),
        "window": (
            "Window",
            _whole_of(default.window, 3, 2000, " px"),
            "Width in pixels of the neighbourhood each pixel is compared with. Default 51 px.",
        ),
        "offset": (
            "Offset",
            _decimal(default.offset, -1, 1, 0.01, "", decimals=3),
            "How far beyond the mean of its neighbourhood, as a share of the image's range. Default 0.05.",
        ),
        "classes": (
            "Classes",
            _whole(default.classes, 2, 5, ""),
            "Classes of grey that Otsu's method makes. Default 3.",
        ),
        "object_classes": (
            "Object classes",
            _whole(default.object_classes, 1, 4, ""),
            "How many of the classes are objects, counted from the objects' side. Default 1.",
        ),
    }


def _superpixel_controls(default: Outlines) -> dict[str, tuple[str, Control, str]]:
    return {
        "superpixels": (
            "Superpixels",
            _whole(default.superpixels, 2, 20_000, ""),
            "About how many regions before those of like colour are merged. Default 500.",
        ),
        "compactness": (
            "Compactness",
            _decimal(default.compactness, 0.001, 10, 0.01, "", decimals=3),
            "Larger makes squarer regions, smaller ones follow the grey levels. Without unit. Default 0.05.",
        ),
        "merge": (
            "Merge below",
            _decimal(default.merge, 0, 1, 0.01, "", decimals=3),
            "Neighbours closer in colour than this share of the range become one. Default 0.1.",
        ),
        "all_regions": (
            "Keep all regions",
            _switch(default.all_regions),
            "Keep every region as a tiling; off: only those on the objects' side of Otsu's threshold.",
        ),
    }


def _clean_controls() -> dict[str, tuple[str, Control, str]]:
    default = Outlines()
    return {
        "opening": (
            "Opening",
            _decimal(default.opening, 0, 100, 1, " px"),
            "Radius in pixels of a disc: parts of objects that it does not fit into go. 0 for none.",
        ),
        "closing": (
            "Closing",
            _decimal(default.closing, 0, 100, 1, " px"),
            "Radius in pixels of a disc: gaps that it does not fit into are filled. 0 for none.",
        ),
        "fill_holes": ("Fill holes", _switch(default.fill_holes), "Fill holes inside objects. Default on."),
        "min_size": (
            "Noise below",
            _whole(default.min_size, 0, 10**6, " px"),
            "Specks of fewer pixels are taken for noise, before objects are split and counted. 0 for none.",
        ),
        "split_touching": (
            "Split touching",
            _choice({"distance": "at necks", "intensity": "at dim saddles", "none": "no"}, default.split_touching),
            "Cut touching objects by a watershed of the distance to their edge, or of the image.",
        ),
        "neck": (
            "Neck",
            _decimal(default.neck, 0, 1, 0.05, "", decimals=2),
            "How narrow (or dim) a neck must be, as a share of the lesser object beside it; smaller cuts less.\n"
            "Default 0.85.",
        ),
    }


def _outline_controls() -> dict[str, tuple[str, Control, str]]:
    default = Outlines()
    return {
        "outline_smoothing": (
            "Smoothing σ",
            _decimal(default.outline_smoothing, 0, 50, 0.5, ""),
            "Takes the pixel steps off each outline; 0 for none. Default 1. Use the same for images to be compared.",
        ),
        "smoothing_unit": (
            "σ is",
            _choice(
                {"pixel": "in pixels", "physical": "in the image's unit", "window": "the paper's, a window"},
                default.smoothing_unit,
            ),
            "Gaussian σ in pixels; in the layer's unit (for pixels of unequal sides); or the paper's σ in pixels,\n"
            "which is cut off to a window of 2⌊σ/2⌋ + 1 pixels and smooths far less.",
        ),
        "iterations": (
            "Smoothing steps",
            _whole(default.iterations, 0, 1000, ""),
            "How often the boundaries shared by neighbours are smoothed, junctions fixed. Default 5.",
        ),
        "min_area": (
            "Smallest object",
            _whole(int(default.min_area), 0, 10**6, " px"),
            "Objects of fewer pixels are left out and counted. Default 16 px.",
        ),
        "keep_border": (
            "Keep border objects",
            _switch(default.keep_border),
            "Keep objects cut by the image border, closed along it. Default off: their outlines are not whole.",
        ),
        "holes": ("Trace holes", _switch(default.holes), "Holes become curves of their own. Default off."),
    }


def _whole_of(default: float, low: int, high: int, suffix: str) -> QSpinBox:
    return _whole(int(default), low, high, suffix)
