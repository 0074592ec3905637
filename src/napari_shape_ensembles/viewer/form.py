"""Forms generated from declared parameters: a control for each, with label, range, unit and tooltip."""

import re
from collections.abc import Collection
from html import escape
from typing import Any, Generic, TypeAlias, TypeVar, get_origin

from qtpy.QtCore import QSignalBlocker, Signal
from qtpy.QtGui import QValidator
from qtpy.QtWidgets import QCheckBox, QFormLayout, QLineEdit, QWidget

from ..comparison import Settings
from ..outlines import Outlines
from ..parameters import NOT_SET, Parameter, matters, parameters_of, tree
from .panels.fonts import DecimalBox, with_label_font
from .panels.widgets import NarrowList, Notice, Section, column, form, pass_wheel

Chosen = TypeVar("Chosen")

# Limits of a control whose parameter has none; extended by larger values that are set, up to the second.
_DEFAULT_LIMIT, _MAX_LIMIT = 1e6, 1e12
_DECIMALS, _MAX_DECIMALS = 3, 6
#: Parameters that describe a recipe or settings even at their defaults.
_MAIN = ("method", "objects", "outline_smoothing", "landmarks", "rank", "significance", "permutations")
_SEPARATORS = re.compile(r"[\s,;×]+")


class SwitchBox(QCheckBox):
    """A check box for a boolean parameter."""

    def __init__(self, _: Parameter) -> None:
        super().__init__()
        self.edited = self.toggled

    def read(self) -> bool:
        return self.isChecked()

    def show_value(self, value: bool) -> None:
        self.setChecked(value)


class ChoiceList(NarrowList):
    """A combo box of a parameter's choices; any other value is appended when it is set."""

    def __init__(self, declared: Parameter) -> None:
        super().__init__(choices=declared.choices)
        self.edited = self.currentIndexChanged
        self._label, self._values = declared.label, list(declared.choices or {})  # PySide6 item data can overflow

    def read(self) -> Any:
        return self._values[self.currentIndex()]

    def show_value(self, value: Any) -> None:
        """Set the value, appended to the choices if new."""
        if value not in self._values:
            self._values.append(value)
            self.addItem(f"{self._label} {value}")
        self.setCurrentIndex(self._values.index(value))


class NumberBox(DecimalBox):
    """A spin box; for an optional number, the value below the range, or an empty text, means "not set"."""

    def __init__(self, declared: Parameter) -> None:
        super().__init__()
        self.edited = self.valueChanged
        self.optional = declared.optional
        self._whole = declared.kind is int
        self._decimals = 0 if self._whole else _DECIMALS if declared.decimals is None else declared.decimals
        self._low, self._above = declared.least, declared.above
        self._high, self._below = declared.most, declared.below
        self.first: float | None = None  # first value when stepping up from "not set"
        if declared.least is not None and declared.most is not None:
            self.first = (declared.least + declared.most) / 2
        self.setSuffix(f" {declared.unit}" if declared.unit else "")
        self.setSingleStep(declared.step or 10.0**-self._decimals)

    def set_range(self, low: float, high: float, first: float) -> None:
        """Set the range and step from an image, and the first value when stepping up from "not set"."""
        self._low, self._high = low, high
        self._decimals = 0 if high - low > 100 else 3
        self.first = round(first, self._decimals)
        self.setSingleStep((high - low) / 100)
        self.show_value(self.read())

    def read(self) -> float | None:
        if self.specialValueText() and self.value() == self.minimum():
            return None
        return round(self.value()) if self._whole else self.value()

    def show_value(self, value: float | None) -> None:
        """Set the value, with as many decimals as it needs."""
        _, _, places = f"{value or 0:.{_MAX_DECIMALS}f}".rstrip("0").partition(".")
        decimals = max(self._decimals, len(places))
        least = 10.0**-decimals
        low = self._low if self._above is None else self._above + least
        high = self._high if self._below is None else self._below - least
        low, high = -_DEFAULT_LIMIT if low is None else low, _DEFAULT_LIMIT if high is None else high
        if value is not None:
            low, high = min(low, max(value, -_MAX_LIMIT)), max(high, min(value, _MAX_LIMIT))
        self.setDecimals(decimals)
        self.setRange(low - least if self.optional else low, high)
        self.setSpecialValueText(NOT_SET if self.optional else "")
        self.setValue(self.minimum() if value is None else value)
        self.fit()

    def stepBy(self, steps: int) -> None:
        """Step up from "not set" to the first value, rather than to the minimum."""
        if self.read() is None and steps > 0 and self.first is not None:
            self.setValue(self.first)
        else:
            super().stepBy(steps)

    def validate(self, text: str | None, position: int) -> Any:
        """Accept the special value text also if typed; Qt accepts it only if it set the text itself."""
        if text and text == self.specialValueText():
            return QValidator.State.Acceptable, text, position
        return super().validate(text, position)

    def valueFromText(self, text: str | None) -> float:
        """Return the number of a text, or the minimum for the special value text."""
        return self.minimum() if text and text == self.specialValueText() else super().valueFromText(text)

    def fixup(self, text: str | None) -> str:
        """Interpret an empty text as "not set"."""
        if self.optional and not (text or "").removesuffix(self.suffix()).strip():
            return self.specialValueText()
        return str(super().fixup(text) or "")


class TextLine(QLineEdit):
    """A line edit for a text, or for one or several numbers; empty if an optional value is not set."""

    def __init__(self, declared: Parameter) -> None:
        super().__init__()
        with_label_font(self)
        self.edited = self.textChanged
        self._text = str in declared.kinds
        self._last_value: tuple[str, Any] = "", None  # an object without a text form, while its repr is shown
        self._optional = declared.optional
        self.setPlaceholderText(NOT_SET if declared.optional else "")

    def read(self) -> Any:
        text = self.text().strip()
        if not text and self._optional:
            return None
        if text == self._last_value[0]:
            return self._last_value[1]
        try:
            numbers = () if self._text else tuple(float(part) for part in _SEPARATORS.split(text))
        except ValueError:
            return text
        return text if self._text else numbers[0] if len(numbers) == 1 else numbers

    def show_value(self, value: Any) -> None:
        """Set the text from a value."""
        values = () if value is None else value if isinstance(value, tuple) else (value,)
        self.setText(", ".join(str(item).removesuffix(".0") for item in values))
        self._last_value = (
            (self.text(), value) if not isinstance(value, str | int | float | tuple | None) else ("", None)
        )
        self.setCursorPosition(0)


Control: TypeAlias = SwitchBox | ChoiceList | NumberBox | TextLine


def control_of(declared: Parameter) -> Control:
    """Return a control for the main type of a parameter."""
    if declared.choices:
        return ChoiceList(declared)
    if declared.kind is str or any(get_origin(kind) is tuple for kind in declared.kinds):
        return TextLine(declared)
    return SwitchBox(declared) if declared.kind is bool else NumberBox(declared)


class Form(QWidget, Generic[Chosen]):
    """A form generated from the declared parameters of a frozen dataclass; the groups in `folded` start collapsed.

    `omitted` parameters, and those that are seldom set, keep their values, and are listed below the form if not at
    their defaults.
    """

    changed = Signal()  #: the user changed a control; not emitted when `value` is set

    def __init__(self, value: Chosen, *, folded: Collection[str] = (), omitted: Collection[str] = ()) -> None:
        super().__init__()
        self._type = type(value)
        self._declared = parameters_of(self._type)
        # Source of truth: controls are read only when the user changes them, so that they cannot round values.
        self._values = tree(value)
        self.controls: dict[str, Control] = {}
        self.sections: dict[str, Section] = {}
        self._rows: dict[str, QFormLayout] = {}
        for name, declared in self._declared.items():
            if name in omitted or declared.expert:
                continue
            if declared.group not in self.sections:
                page = QWidget()
                form(page).setContentsMargins(6, 0, 0, 6)
                self.sections[declared.group] = Section(declared.group, page, folded=declared.group in folded)
            rows = self._rows[name] = self.sections[declared.group].content.layout()
            control = self.controls[name] = control_of(declared)
            pass_wheel(control)
            control.setObjectName(name)
            control.show_value(self._values[name])
            control.edited.connect(lambda *_, name=name: self._on_edited(name))
            rows.addRow(declared.label, control)
            default = f" Default: {NOT_SET}." if declared.default is None else ""
            words = escape(f"{declared.description.replace('`', '')}{default}", quote=False)
            for part in (control, rows.labelForField(control)):
                part.setToolTip(f"<qt>{words}</qt>")  # rich text, so that lines are wrapped
        self.more = Notice("Reset", "Reset these to their defaults")
        self.more.button.clicked.connect(self._reset_more)
        column(*self.sections.values(), self.more, page=self).layout().setSpacing(2)
        self._show()

    @property
    def value(self) -> Chosen:
        """The current value of the form.

        Raises
        ------
        ValueError
            For invalid or incompatible parameters.
        """
        return self._type(**self._values)

    @value.setter
    def value(self, value: Chosen) -> None:
        self._values = tree(value)
        self._show()

    def _on_edited(self, name: str) -> None:
        self._values[name] = self.controls[name].read()
        self._complete(name)
        self._show()
        self.changed.emit()

    def _complete(self, turned: str) -> None:
        """Adjust parameters that are incompatible with the one just changed."""

    def _is_relevant(self, name: str) -> bool:
        return matters((self._type, self._values), name)

    def _can_be_none(self, name: str) -> bool:
        return self._declared[name].optional

    def _show(self) -> None:
        for name, control in self.controls.items():
            value = self._values[name]
            with QSignalBlocker(control):
                if isinstance(control, NumberBox) and control.optional != self._can_be_none(name):
                    control.optional = self._can_be_none(name)
                    control.show_value(value)
                if control.read() != value:  # do not disturb a control while the user types
                    control.show_value(value)
            self._rows[name].setRowVisible(control, self._is_relevant(name))
        for group, section in self.sections.items():
            section.setVisible(
                any(self._declared[name].group == group and self._is_relevant(name) for name in self._rows)
            )
        more = [(self._declared[name], self._values[name]) for name in self._not_shown()]
        words = [f"{declared.label} = {value!r} {declared.unit}".rstrip() for declared, value in more]
        self.more.set_message(f"Also set: {', '.join(words)}." if words else "")

    def _not_shown(self) -> list[str]:
        """Return the relevant parameters whose values no control shows."""
        return [
            name
            for name, declared in self._declared.items()
            if self._values[name] != (self.controls[name].read() if name in self.controls else declared.default)
            and self._is_relevant(name)
        ]

    def _reset_more(self) -> None:
        for name in self._not_shown():
            self._values[name] = self._declared[name].default
        self._show()
        self.changed.emit()


def in_words(value: Outlines | Settings) -> str:
    """Describe a recipe or settings in a line: their main parameters, and all others that were changed."""
    words = []
    for name, declared in parameters_of(type(value)).items():
        chosen = getattr(value, name)
        if matters(value, name) and (name in _MAIN or chosen != declared.default) and chosen is not None:
            text = "of painted examples" if callable(chosen) else f"{declared.shown(chosen)} {declared.unit}".strip()
            words.append(text if name == "method" else f"{declared.label.lower()} {text}")
    return ", ".join(words)


class OutlinesForm(Form[Outlines]):
    """The form of a recipe, with ranges from the image it is tried on, and the parameters required by a method."""

    _rgb = False

    def show_image(self, *, rgb: bool, low: float, high: float, middle: float) -> None:
        """Adapt the controls to an image: its color channels, and the range and initial guess of thresholds.

        Values are kept; only a required threshold that is not set is initialized.
        """
        self._rgb = rgb
        for name, first in (("threshold", middle), ("low", (low + middle) / 2)):
            control = self.controls.get(name)
            if isinstance(control, NumberBox):
                with QSignalBlocker(control):
                    control.set_range(low, high, first)
        before = dict(self._values)
        self._complete("")
        self._show()
        if self._values != before:
            self.changed.emit()

    def _complete(self, turned: str) -> None:
        values = self._values
        if turned == "method":  # replaces a model
            values["find"] = None
        if values["object_classes"] >= values["classes"]:
            if turned == "object_classes":
                values["classes"] = values["object_classes"] + 1
            else:
                values["object_classes"] = values["classes"] - 1
        if turned == "threshold":
            values["quantile"] = None
        if (
            self._needs_threshold()
            and values["threshold"] is None
            and isinstance(control := self.controls.get("threshold"), NumberBox)
        ):
            values["threshold"] = control.first
        if values["method"] == "level" and values["threshold"] is None and values["quantile"] is None:
            values["quantile"] = 0.5  # without an image, to which a threshold refers

    def _needs_threshold(self) -> bool:
        method, quantile = self._values["method"], self._values["quantile"]
        return bool(method == "manual" or (method == "level" and quantile is None))

    def _is_relevant(self, name: str) -> bool:
        if name == "channel" and not self._rgb and self._values[name] == self._declared[name].default:
            return False
        return super()._is_relevant(name)

    def _can_be_none(self, name: str) -> bool:
        needed = name == "threshold" and self._needs_threshold() and self._values[name] is not None
        return super()._can_be_none(name) and not needed
