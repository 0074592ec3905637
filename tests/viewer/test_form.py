"""Forms generated from declared parameters: values are preserved, only relevant controls are shown, no side effects."""

from dataclasses import dataclass, fields, replace
from typing import Literal

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as checked
from hypothesis import strategies as st
from napari.qt import get_stylesheet
from qtpy.QtCore import QPoint, QPointF, Qt
from qtpy.QtGui import QWheelEvent
from qtpy.QtWidgets import QApplication, QComboBox, QDoubleSpinBox, QLabel, QLineEdit

from napari_shape_ensembles.comparison import Settings
from napari_shape_ensembles.outlines import Outlines
from napari_shape_ensembles.parameters import check, parameter, parameters_of
from napari_shape_ensembles.viewer.form import Form, OutlinesForm, in_words
from napari_shape_ensembles.viewer.panels.widgets import ScrollColumn

METHODS = tuple(parameters_of(Outlines)["method"].choices)
LARGE = 18  # points
#: Every parameter differs from its default, some with values that no control can show.
EVERY = Outlines(
    method="hysteresis",
    objects="dark",
    channel=2,
    smoothing=1.25,
    background=20,
    threshold=1234.5678,
    low=-3.25,
    quantile=0.123456789,
    window=5000,
    offset=-2.5,
    classes=5,
    object_classes=4,
    superpixels=10**7,
    compactness=0.00005,
    merge=1,
    all_regions=True,
    opening=0.5,
    closing=2,
    fill_holes=False,
    min_size=10**10,
    split_touching="none",
    neck=1 / 3,
    outline_smoothing=1e-9,
    smoothing_unit="window",
    iterations=0,
    min_area=15.5,
    keep_border=True,
    holes=True,
    min_vertices=20,
    min_length=1e15,
    pixel_size=(0.5, 0.25),
    unit="µm",
)


@dataclass(frozen=True)
class Others:
    """Types of parameters that a recipe does not have."""

    first: Literal["any", "last"] | int = parameter("any", "Which one.", least=0, group="One")
    widths: float | tuple[float, ...] = parameter(1.0, "One or several.", above=0, group="One")
    most: int | None = parameter(None, "For more than this.", least=1, group="Two")
    share: float = parameter(0.5, "How much, <b> & all.", above=0, below=1, decimals=2, group="Two")

    def __post_init__(self):
        check(self)


@pytest.fixture
def made(qtbot):
    """Return a function that creates a form and keeps it alive during the test."""

    def make(kind, *args, **options):
        form = kind(*args, **options)
        qtbot.addWidget(form)
        return form

    return make


@pytest.fixture
def form(made):
    form = made(OutlinesForm, Outlines())
    form.show()
    return form


@pytest.fixture
def emissions(form):
    """Signals emitted by the form during the test."""
    values = []

    def listen():
        try:
            values.append(form.value)
        except ValueError as error:
            values.append(str(error))

    form.changed.connect(listen)
    return values


def choose(form, name, value):
    form.controls[name].setCurrentIndex(form.controls[name].findData(value))


def rows(form):
    return {name for name, control in form.controls.items() if not control.isHidden()}


def numbers(declared):
    """Values in the range of a parameter, of all magnitudes."""
    least, most = declared.least, declared.most
    if declared.kind is int:
        return st.integers(0 if least is None else least, 10**12 if most is None else most)
    low = declared.above if least is None else least
    high = declared.below if most is None else most
    ends = {"exclude_min": least is None and low is not None, "exclude_max": most is None and high is not None}
    return st.floats(low, high, allow_nan=False, allow_infinity=False, **ends)


def values(declared):
    if declared.choices:
        return st.sampled_from(list(declared.choices))
    if declared.kind is bool:
        return st.booleans()
    if declared.name == "unit":
        return st.sampled_from(["pixel", "µm", "um", "micrometer", "nm", "mm", "m", "inch"])
    if declared.name == "ignore":
        return st.sampled_from(["auto", "none", "448:512, :; 0:40, 0:200"])
    if declared.name == "find":
        return st.none() | st.from_regex(r"[a-z]{1,5}(\.npz)?", fullmatch=True)
    if declared.name == "pixel_size":
        return numbers(declared) | st.tuples(numbers(declared), numbers(declared))
    return st.none() | numbers(declared) if declared.optional else numbers(declared)


@st.composite
def recipes(draw):
    drawn = {name: draw(values(declared)) for name, declared in parameters_of(Outlines).items()}
    drawn["object_classes"] = min(drawn["object_classes"], drawn["classes"] - 1)
    if drawn["method"] == "manual" and drawn["threshold"] is None:
        drawn["threshold"] = 0.5
    if drawn["method"] == "level":
        drawn["quantile"] = 0.5 if drawn["threshold"] is None else None
    if draw(st.booleans()):
        drawn["pixel_size"] = drawn["unit"] = None
    return Outlines(**drawn)


# Values ----------------------------------------------------------------------------------------------------


def test_the_form_has_a_control_for_every_parameter_that_people_set(form):
    assert form.value == Outlines()
    assert list(form.controls) == [name for name, item in parameters_of(Outlines).items() if not item.expert]
    assert len(form.controls) == 24
    assert list(form.sections) == list(dict.fromkeys(item.group for item in parameters_of(Outlines).values()))
    assert form.more.isHidden()


@pytest.mark.parametrize("method", METHODS)
def test_files_of_any_method_round_trip(form, tmp_path, method):
    recipe = replace(EVERY, method=method, **{"quantile": None} if method == "level" else {})
    recipe.save(tmp_path / "before.toml")
    form.value = Outlines.load(tmp_path / "before.toml")
    form.value.save(tmp_path / "after.toml")
    assert (tmp_path / "after.toml").read_text() == (tmp_path / "before.toml").read_text()


def test_values_without_control_are_listed_and_kept_until_reset(form, emissions, qtbot):
    assert form.value == Outlines()
    form.value = EVERY
    assert form.value == EVERY
    for name in ("smoothing", "threshold", "low", "offset", "min_area", "pixel_size"):
        assert form.controls[name].read() == getattr(EVERY, name)
    words = form.more.label.text()
    assert "Outline smoothing = 1e-09 px" in words
    assert "Shortest outline = 1000000000000000.0 px" in words
    assert "Quantile" not in words  # irrelevant for hysteresis
    form.controls["holes"].setChecked(False)
    assert form.value == replace(EVERY, holes=False)
    qtbot.mouseClick(form.more.button, Qt.MouseButton.LeftButton)
    assert form.more.isHidden()
    assert form.value == replace(
        EVERY, holes=False, opening=0.0, closing=0.0, outline_smoothing=1.0, min_vertices=3, min_length=0.0
    )
    assert emissions == [replace(EVERY, holes=False), form.value]


@checked(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(recipes(), min_size=1, max_size=3))
def test_any_recipe_round_trips(form, shown):
    for recipe in shown:
        form.value = recipe
        assert form.value == recipe
    exact = {name for name in rows(form) if form.controls[name].read() == getattr(recipe, name)}
    named = {name for name in rows(form) if f"{parameters_of(Outlines)[name].label} = " in form.more.label.text()}
    assert exact | named == rows(form)


def test_every_control_changes_its_value(form, emissions):
    form.show_image(rgb=True, low=0, high=10, middle=5)
    choose(form, "method", "hysteresis")
    for name, value in (("threshold", 7.0), ("low", 3.0), ("min_size", 9)):
        form.controls[name].setValue(value)
    choose(form, "channel", 1)
    form.controls["fill_holes"].setChecked(False)
    form.controls["pixel_size"].setText("0.5 × 0.25")
    with pytest.raises(ValueError, match="pixel_size and unit go together"):
        _ = form.value
    form.controls["unit"].setText("µm ")
    assert form.value == emissions[-1]
    assert form.value == Outlines(
        method="hysteresis",
        threshold=7,
        low=3,
        min_size=9,
        channel=1,
        fill_holes=False,
        pixel_size=(0.5, 0.25),
        unit="µm",
    )
    assert isinstance(form.value.min_size, int)


@pytest.mark.parametrize(
    "value",
    [
        Others(first=7, widths=(0.5, 1.0, 2.0), most=10, share=0.9999),
        Others(first="last", widths=0.25, most=10**15, share=1e-9),
        Others(first=10**20, widths=(1.0,), most=1),
    ],
)
def test_indices_sequences_and_optional_numbers_round_trip(made, value):
    form = made(Form, Others())
    form.value = value
    assert form.value == value
    form.value = Others()
    assert form.value == Others()
    assert form.more.isHidden()


def test_sequences_are_entered_with_commas_or_spaces(made):
    form = made(Form, Others())
    line = form.controls["widths"]
    for text, expected in (("0.5, 1,2", (0.5, 1.0, 2.0)), (" 2 4 ", (2.0, 4.0)), ("3", 3.0)):
        line.setText(text)
        assert form.value.widths == expected
    for text in ("", "wide", "1, 0", "-2"):
        line.setText(text)
        with pytest.raises(ValueError, match="widths must be a number above 0, or a list of them, not"):
            _ = form.value


def test_parameters_may_be_omitted_from_the_form(made):
    value = Others(first=7, widths=2.0)
    form = made(Form, value, omitted=("first", "widths", "most"), folded=("Two",))
    assert list(form.controls) == ["share"]
    assert list(form.sections) == ["Two"]
    assert not form.sections["Two"].unfolded
    assert form.more.label.text() == "Also set: First = 7, Widths = 2.0."
    form.controls["share"].setValue(0.25)
    assert form.value == replace(value, share=0.25)


def test_setting_values_emits_no_signal_and_keeps_unfinished_input(form, emissions, qtbot):
    form.value = EVERY
    form.value = Outlines()
    assert emissions == []
    line, box = form.controls["pixel_size"], form.controls["smoothing"]
    form.controls["unit"].setText("nm")
    line.setText("0.5")
    form.changed.connect(lambda: setattr(form, "value", form.value))  # as a dock does
    qtbot.keyClicks(line, "0")
    box.selectAll()
    qtbot.keyClicks(box, "2")
    assert (line.text(), box.text()) == ("0.50", "2 px")
    assert form.value == emissions[-1] == Outlines(pixel_size=0.5, unit="nm", smoothing=2.0)


# What matters ----------------------------------------------------------------------------------------------


def test_only_relevant_controls_are_shown(form):
    shown = {}
    for method in METHODS:
        choose(form, "method", method)
        shown[method] = rows(form)
    assert "threshold" in shown["manual"]
    assert "threshold" not in shown["otsu"]
    assert {"threshold", "low"} <= shown["hysteresis"]
    assert "threshold" in shown["level"]
    assert "window" in shown["boundaries"]
    assert "outline_smoothing" not in shown["boundaries"]
    assert {"classes", "object_classes"} <= shown["multi-otsu"]
    assert "split_touching" not in shown["superpixels"]
    assert "channel" not in shown["otsu"]
    assert not form.sections["Clean up and split"].isHidden()
    form.value = Outlines(method="superpixels", all_regions=True)
    assert form.sections["Clean up and split"].isHidden()
    assert "Keep all regions = True" in form.more.label.text()


def test_the_channel_is_shown_for_color_images_and_where_one_was_chosen(form):
    form.show_image(rgb=True, low=0, high=1, middle=0.5)
    assert "channel" in rows(form)
    form.show_image(rgb=False, low=0, high=1, middle=0.5)
    assert "channel" not in rows(form)
    form.value = Outlines(channel=0)
    assert "channel" in rows(form)


def test_a_manual_threshold_starts_within_the_image_and_is_kept(form, emissions):
    form.show_image(rgb=False, low=-0.5, high=9.5, middle=2.34567)
    assert emissions == []
    assert form.value == Outlines()
    choose(form, "method", "manual")
    box = form.controls["threshold"]
    assert (box.minimum(), box.maximum(), box.value()) == (-0.5, 9.5, 2.346)
    assert emissions == [Outlines(method="manual", threshold=2.346)]
    form.show_image(rgb=False, low=0, high=200, middle=80)
    assert box.singleStep() == 2
    form.show_image(rgb=False, low=0, high=1, middle=0.5)
    assert emissions[1:] == []
    assert form.value.threshold == box.value() == 2.346


def test_a_manual_threshold_is_initialized_by_the_first_image(form, emissions):
    choose(form, "method", "manual")
    assert 'method "manual" needs a threshold' in emissions[-1]
    form.show_image(rgb=False, low=0, high=10, middle=5)
    assert emissions[-1] == form.value == Outlines(method="manual", threshold=5)


def test_a_level_begins_with_a_threshold_that_replaces_a_quantile(form, emissions):
    choose(form, "method", "level")
    assert form.value == Outlines(method="level", quantile=0.5)  # without an image
    form.value = Outlines()
    form.show_image(rgb=False, low=0, high=10, middle=5)
    choose(form, "method", "level")
    assert form.value == Outlines(method="level", threshold=5)
    form.value = Outlines(method="level", quantile=0.25)
    assert "Quantile = 0.25" in form.more.label.text()
    assert form.controls["threshold"].text() == "not set"
    form.controls["threshold"].setValue(4)
    assert form.value == emissions[-1] == Outlines(method="level", threshold=4)


def test_foreground_classes_are_fewer_than_all_classes(form):
    choose(form, "method", "multi-otsu")
    form.controls["object_classes"].setValue(4)
    assert form.controls["classes"].value() == 5
    form.controls["classes"].setValue(2)
    assert form.value == Outlines(method="multi-otsu", classes=2, object_classes=1)


# Looks and hands -------------------------------------------------------------------------------------------


def test_every_control_has_a_name_label_and_tooltip(form):
    for name, control in form.controls.items():
        declared = parameters_of(Outlines)[name]
        (label,) = [part for part in form.findChildren(QLabel) if part.buddy() is control]
        assert control.objectName() == name
        assert label.text() == declared.label
        assert label.toolTip() == control.toolTip()
        assert "Default: " in control.toolTip()
        assert declared.unit in control.toolTip()
    assert "between 0 and 5000 px" in form.controls["smoothing"].toolTip().lower()
    texts = {"smoothing": "1.0 px", "background": "0 px", "min_size": "0 px²"}
    assert {name: form.controls[name].text() for name in texts} == texts
    for name, control in form.controls.items():
        if isinstance(control, QDoubleSpinBox) and not parameters_of(Outlines)[name].optional:
            least, most = parameters_of(Outlines)[name].least, parameters_of(Outlines)[name].most
            assert least is None or control.minimum() == least
            assert control.maximum() == (1e6 if most is None else most)


def test_help_is_shown_as_plain_text(made):
    assert "&lt;b&gt; &amp; all" in made(Form, Others()).controls["share"].toolTip()


def test_the_mouse_wheel_scrolls_the_page(form, qtbot):
    form.value = recipe = Outlines(method="hysteresis", threshold=5.0)
    with qtbot.waitActive(form):
        form.activateWindow()
    for control in (form.controls[name] for name in rows(form)):
        for focused in (False, True):
            if focused:
                control.setFocus()
            middle, turn = QPointF(control.rect().center()), QPoint(0, 120)
            none = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase
            event = QWheelEvent(middle, control.mapToGlobal(middle), QPoint(), turn, *none, False)
            QApplication.sendEvent(control, event)
            assert not event.isAccepted(), control.objectName()
            assert control.hasFocus() == focused
            assert not control.focusPolicy() & Qt.FocusPolicy.WheelFocus & ~Qt.FocusPolicy.StrongFocus
    assert form.value == recipe


def test_every_control_is_operated_by_keyboard(form, qtbot):
    with qtbot.waitActive(form):
        form.activateWindow()
    form.controls["method"].setFocus()
    reached = []
    for _ in range(60):
        reached.append(QApplication.focusWidget())
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
    assert [part for part in form.controls.values() if part.objectName() in rows(form)] == [
        part for part in dict.fromkeys(reached) if part in form.controls.values()
    ]
    qtbot.keyClick(form.controls["smoothing"], Qt.Key.Key_Up)
    qtbot.keyClick(form.controls["objects"], Qt.Key.Key_Down)
    qtbot.keyClick(form.controls["holes"], Qt.Key.Key_Space)
    qtbot.keyClicks(form.controls["unit"], "nm")
    qtbot.keyClicks(form.controls["pixel_size"], "2")
    expected = Outlines(smoothing=1.5, objects="dark", holes=True, pixel_size=2.0, unit="nm")
    assert form.value == expected


def test_typing_over_an_unset_optional_number(form, qtbot):
    form.show_image(rgb=False, low=0, high=10, middle=5)
    choose(form, "method", "hysteresis")
    box = form.controls["low"]
    assert (box.text(), form.value.low) == ("not set", None)
    with qtbot.waitActive(form):
        form.activateWindow()
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, "3.5")
    qtbot.keyClick(box, Qt.Key.Key_Tab)
    assert form.value.low == 3.5
    box.setFocus()
    box.selectAll()
    qtbot.keyClick(box, Qt.Key.Key_Delete)
    qtbot.keyClick(box, Qt.Key.Key_Tab)
    assert (box.text(), form.value.low) == ("not set", None)
    qtbot.keyClick(box, Qt.Key.Key_Up)
    assert form.value.low == 2.5


def too_narrow(form):
    """Visible controls and labels that are narrower than their content, or extend beyond the form."""
    parts = [part for kind in (QLabel, QComboBox, QDoubleSpinBox, QLineEdit) for part in form.findChildren(kind)]
    found = []
    for part in parts:
        if not part.isVisible() or isinstance(part.parent(), QDoubleSpinBox):
            continue
        need = part.sizeHint() if isinstance(part, QDoubleSpinBox) else part.minimumSizeHint()
        right = part.mapTo(form, part.rect().topRight()).x()
        if part.width() < need.width() or right >= form.width():
            found.append((part.objectName() or part.text(), part.width(), need.width(), right))
    return found


@pytest.mark.parametrize(("size", "width"), [(9, 320), (LARGE, 560)])
def test_the_form_fits_into_a_narrow_dock(made, qtbot, size, width):
    form = OutlinesForm(Outlines())
    area = made(ScrollColumn, form)
    area.setStyleSheet(get_stylesheet("dark", extra_variables={"font_size": f"{size}pt"}))
    area.show()
    for method in METHODS:
        choose(form, "method", method)
        qtbot.wait(20)
        area.resize(max(width, area.minimumWidth()), 900)
        qtbot.wait(20)
        assert area.width() == width
        assert too_narrow(form) == []


# Recipe and settings ---------------------------------------------------------------------------------------


def test_names_are_unique_across_recipe_and_settings():
    assert not {field.name for field in fields(Outlines)} & {field.name for field in fields(Settings)}


def test_the_settings_have_the_controls_that_people_set(made):
    form = made(Form, Settings())
    assert list(form.controls) == [name for name, item in parameters_of(Settings).items() if not item.expert]
    assert len(form.controls) == 11


def test_a_recipe_and_settings_are_described_in_a_line():
    assert in_words(Outlines()) == "Otsu threshold, objects are bright, outline smoothing 1 px"
    assert in_words(Outlines(neck=0.5, find=abs)).endswith(", neck 0.5, outline smoothing 1 px")
    assert "model of painted examples" in in_words(Outlines(find=abs))
    assert in_words(Settings(rank=20)) == "landmarks 500, rank 20, significance 0.05, permutations 1000"


def test_any_settings_round_trip_without_signals(made):
    form, emissions = made(Form, Settings()), []
    form.changed.connect(lambda: emissions.append(form.value))
    settings = Settings.paper(bandwidth=(0.5, 1, 2), null="gamma", approximate_above=10**4, seed=2**35, archetype=12)
    form.value = settings
    assert form.value == settings
    assert emissions == []
    assert "Null distribution = 'gamma'" in form.more.label.text()
