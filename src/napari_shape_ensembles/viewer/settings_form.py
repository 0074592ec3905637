"""The controls for segmentation and analysis, each with its unit and default in its tooltip."""

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any, TypeAlias

from qtpy.QtCore import Signal
from qtpy.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QHBoxLayout,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from ..comparison import Settings
from ..outlines import Outlines
from .fonts import DecimalBox, WholeBox
from .preferences import preferred
from .widgets import NarrowList, Section, form, wrapped

Control: TypeAlias = QCheckBox | QComboBox | QDoubleSpinBox | QSpinBox

#: Settings whose first value napari's preferences may say.
PREFERRED = ("significance", "permutations", "landmarks", "rank")


class SettingsForm(QWidget):
    """Segmentation in view, analysis folded away with the advanced choices under their own heading."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None, *, folded: bool = False) -> None:
        super().__init__(parent)
        self.controls: dict[str, Control] = {}
        self._more, self._more_outlines = Settings(), Outlines()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        for title, controls, closed in (
            ("Segmentation", _segmentation_controls(), folded),
            ("Analysis", _analysis_controls(), True),
            ("Advanced", _advanced_controls(), True),
        ):
            layout.addWidget(self._section(title, controls, closed))
        self.more = MoreRow()
        self.more.reset.clicked.connect(self._reset_more)
        layout.addWidget(self.more)
        for name in PREFERRED:
            self.controls[name].setValue(preferred(name, self.controls[name].value()))
        for control in self.controls.values():
            _changes(control).connect(self.changed)

    def _section(self, title: str, controls: dict[str, tuple[str, Control, str]], folded: bool) -> Section:
        page = QWidget()
        rows = form(page)
        rows.setContentsMargins(6, 0, 0, 6)
        for name, (label, control, tooltip) in controls.items():
            tooltip = tooltip if "Default" in tooltip else f"{tooltip} Default: {_shown(control)}."
            control.setToolTip(tooltip)
            control.setObjectName(name)
            self.controls[name] = control
            rows.addRow(label, control)
            rows.labelForField(control).setToolTip(tooltip)
        return Section(title, page, folded=folded)

    def segmentation(self) -> Outlines:
        """The recipe as set."""
        shown = {name: self._value(name) for name in _fields(Outlines) if name in self.controls}
        if shown["split_touching"] and self._more_outlines.split_touching != "none":
            del shown["split_touching"]  # by the intensity, where a file says so
        return replace(self._more_outlines, **shown)

    def analysis(self) -> Settings:
        """The settings of the comparison as set."""
        return replace(self._more, **{name: self._value(name) for name in _fields(Settings) if name in self.controls})

    def show_settings(self, analysis: Settings, outlines: Outlines | None = None) -> list[str]:
        """Set all controls; settings that have none are kept beside them, and named below them.

        Returns
        -------
        list of str
            Settings out of the range of their controls, in words: they are now at the nearest that can be set.
        """
        values = asdict(analysis)
        if outlines is not None:
            values |= asdict(outlines) | {"split_touching": outlines.split_touching != "none"}
            self._more_outlines = outlines
        shown = {name: value for name, value in values.items() if name in self.controls}
        self.load(shown)
        self._set_more(analysis)
        return [f"{name.replace('_', ' ')} = {value}" for name, value in shown.items() if self._value(name) != value]

    def _reset_more(self) -> None:
        self._more_outlines = Outlines()
        self._set_more(Settings())

    def _set_more(self, analysis: Settings) -> None:
        """Keep the settings that have no control."""
        names = [name for name in _fields(Settings) if name not in self.controls]
        self._more = replace(Settings(), **{name: getattr(analysis, name) for name in names})
        default = Settings()
        set_ = {name: getattr(analysis, name) for name in names if getattr(analysis, name) != getattr(default, name)}
        split = {"split_touching"} if self._more_outlines.split_touching != "intensity" else set()
        set_ |= {
            name: value
            for name, value in self._more_outlines.changed().items()
            if name not in self.controls.keys() - {"split_touching"} | split
        }
        self.more.show_words([f"{name.replace('_', ' ')} = {value}" for name, value in set_.items()])
        self.changed.emit()

    def load(self, values: Mapping[str, Any]) -> None:
        """Set controls by their names; a choice is set by its value. Only the last change is told."""
        was_blocked = self.blockSignals(True)
        for name, value in values.items():
            control = self.controls[name]
            if isinstance(control, QComboBox):
                if control.findData(value) < 0:
                    control.addItem(f"outline {value}", value)  # the archetype may be a certain one
                control.setCurrentIndex(control.findData(value))
            elif isinstance(control, QCheckBox):
                control.setChecked(value)
            else:
                control.setValue(value)
        self.blockSignals(was_blocked)
        self.changed.emit()

    def values(self) -> dict[str, Any]:
        """What all controls are set to, by their names."""
        return {name: self._value(name) for name in self.controls}

    def _value(self, name: str) -> Any:
        control = self.controls[name]
        if isinstance(control, QComboBox):
            return control.currentData()
        return control.isChecked() if isinstance(control, QCheckBox) else control.value()


class MoreRow(QWidget):
    """Says which settings are set that have no control, and takes them back; hidden as long as there are none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.words = wrapped()
        self.reset = QPushButton("Reset")
        self.reset.setToolTip("Set these back to their defaults")
        row = QHBoxLayout(self)
        row.setContentsMargins(6, 0, 0, 0)
        row.addWidget(self.words, 1)
        row.addWidget(self.reset)
        self.hide()

    def show_words(self, words: list[str]) -> None:
        """Name what is set."""
        self.words.setText(f"Also set: {', '.join(words)}.")
        self.setVisible(bool(words))


def _fields(kind: type[Settings] | type[Outlines]) -> list[str]:
    return [field.name for field in fields(kind)]


def _shown(control: Control) -> str:
    """What a control shows, in words."""
    if isinstance(control, QCheckBox):
        return "on" if control.isChecked() else "off"
    return control.currentText() if isinstance(control, QComboBox) else control.text()


def _changes(control: Control) -> Any:
    if isinstance(control, QComboBox):
        return control.currentIndexChanged
    return control.toggled if isinstance(control, QCheckBox) else control.valueChanged


def _segmentation_controls() -> dict[str, tuple[str, Control, str]]:
    default = Outlines()
    return {
        "objects": (
            "Objects are",
            _choice({"bright": "bright", "dark": "dark"}, default.objects),
            "Which side of the threshold is objects. For image layers.",
        ),
        "smoothing": (
            "Image smoothing",
            _decimal(default.smoothing, 0, 50, 0.5, " px"),
            "Gaussian σ in pixels applied to the image before the Otsu threshold; 0 for none. Default 1 px.",
        ),
        "split_touching": (
            "Split touching",
            _switch(default.split_touching != "none"),
            "Cut objects apart where a neck joins them. For image layers. Default on.",
        ),
        "outline_smoothing": (
            "Outline smoothing",
            _decimal(default.outline_smoothing, 0, 50, 0.5, " px"),
            "Gaussian σ in pixels that takes the pixel steps off each outline; 0 for none. Default 1 px.\n"
            "Use the same for both images: it decides how much fine roughness is left.",
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
    }


def _analysis_controls() -> dict[str, tuple[str, Control, str]]:
    default = Settings()
    return {
        "significance": (
            "Significance",
            _decimal(default.significance, 0.001, 0.5, 0.01, "", decimals=3),
            "Level of each of the two tests, without unit. Default 0.01.\nThe whole row errs at most twice as often.",
        ),
        "permutations": (
            "Permutations",
            _whole(default.permutations, 99, 100_000, ""),
            "How often the labels A and B are shuffled in each test. Default 1000.",
        ),
        "landmarks": (
            "Landmarks",
            _whole(default.landmarks, 20, 5000, ""),
            "Points placed on every outline. Default 500.",
        ),
        "rank": (
            "Rank",
            _whole(default.rank, 1, 2000, ""),
            "Undulation coordinates kept; fewer look at smoother forms. Default 150.",
        ),
        "reflections": (
            "Mirror images match",
            _switch(default.reflections),
            "An outline and its mirror image count as the same. Off: handedness is a feature. Default on.",
        ),
        "seed": (
            "Seed",
            _whole(default.seed, 0, 2**31 - 1, ""),
            "Of every random draw: the same seed repeats the result.",
        ),
    }


def _advanced_controls() -> dict[str, tuple[str, Control, str]]:
    default = Settings()
    return {
        "measure": (
            "Measure",
            _choice({"affine": "affine arc length", "arc-length": "arc length (paper)"}, default.measure),
            "Which length the landmarks divide equally. Affine: stretching an image is a scale difference only.",
        ),
        "registration": (
            "Registration",
            _choice(
                {"standardized": "standardized outlines", "raw": "raw outlines (paper)", "none": "none"},
                default.registration,
            ),
            "What is matched to find where each outline starts and how it is turned.",
        ),
        "coordinates": (
            "Coordinates",
            _choice(
                {"both": "both, jointly", "raw": "raw: coarse form (paper)", "normalized": "normalized: roughness"},
                default.coordinates,
            ),
            "Undulation coordinates tested: raw ones see coarse form, normalized ones fine roughness.",
        ),
        "archetype": (
            "Archetype",
            _choice(
                {"asymmetric": "least symmetric outline", "random": "random outline (paper)", "mean": "mean outline"},
                default.archetype,
            ),
            "The outline all others are registered against.",
        ),
        "interpolation": (
            "Interpolation",
            _choice({"spline": "periodic spline", "polygon": "straight lines"}, default.interpolation),
            "Between the vertices of an outline.",
        ),
    }


def _choice(options: dict[str, str], default: Any) -> QComboBox:
    combo = NarrowList()
    for value, words in options.items():
        combo.addItem(words, value)
    combo.setCurrentIndex(list(options).index(default))
    return combo


def _switch(default: bool) -> QCheckBox:
    box = QCheckBox()
    box.setChecked(default)
    return box


def _whole(default: int, low: int, high: int, suffix: str) -> QSpinBox:
    box = WholeBox()
    box.setRange(low, high)
    box.setValue(default)
    box.setSuffix(suffix)
    return box


def _decimal(default: float, low: float, high: float, step: float, suffix: str, decimals: int = 1) -> QDoubleSpinBox:
    box = DecimalBox()
    box.setDecimals(decimals)
    box.setRange(low, high)
    box.setSingleStep(step)
    box.setValue(default)
    box.setSuffix(suffix)
    return box
