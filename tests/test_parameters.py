"""Declared parameters: valid values, and what is derived from the declarations."""

from dataclasses import dataclass
from inspect import signature
from typing import Literal

import numpy as np
import pytest

from napari_shape_ensembles import Outlines, Settings
from napari_shape_ensembles.parameters import (
    changed,
    check,
    documented,
    from_tree,
    matters,
    parameter,
    parameters_of,
    tree,
    when_words,
)


@documented
@dataclass(frozen=True)
class Choice:
    """Some choices.

    Raises
    ------
    ValueError
        Always.
    """

    way: Literal["short", "long"] = parameter("short", "Which way.", choices={"short": "the short one", "long": "long"})
    width: float = parameter(3.0, "How wide.", unit="px", least=0, most=50)
    share: float = parameter(0.5, "How much.", above=0, below=1, needs={"way": ("long",)})
    count: int = parameter(2, "How many.", least=1, label="Number")
    level: float | None = parameter(None, "Where.", needs=({"way": ("long",)}, {"flag": (True,)}))
    flag: bool = parameter(False, "Whether.", group="Others")
    first: Literal["any"] | int = parameter("any", "Which one.", least=0)
    widths: float | tuple[float, ...] = parameter(1.0, "One or several.", above=0)
    side: float | tuple[float, float] | None = parameter(None, "One or two.", above=0)
    word: str | None = parameter(None, "What it is called.")

    def __post_init__(self):
        check(self)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"way": "fast"}, "way must be one of short, long, not 'fast'"),
        ({"way": ["short"]}, "way must be one of short, long, not"),
        ({"width": -1}, "width must be a number between 0 and 50 pixels, not -1"),
        ({"width": 51}, "width must be a number between 0 and 50 pixels, not 51"),
        ({"width": np.nan}, "width must be a number between 0 and 50 pixels, not nan"),
        ({"width": True}, "width must be a number between 0 and 50 pixels, not True"),
        ({"width": "1"}, "width must be a number between 0 and 50 pixels, not '1'"),
        ({"share": 0}, "share must be a number strictly between 0 and 1, not 0"),
        ({"count": 0}, "count must be an integer of at least 1, not 0"),
        ({"count": 2.0}, r"count must be an integer of at least 1, not 2\.0"),
        ({"count": True}, "count must be an integer of at least 1, not True"),
        ({"count": np.inf}, "count must be an integer of at least 1, not inf"),
        ({"level": np.inf}, "level must be a finite number, not inf"),
        ({"level": 10**400}, "level must be a finite number"),
        ({"flag": 1}, "flag must be True or False, not 1"),
        ({"first": "last"}, "first must be one of any, or an integer of 0 or more, not 'last'"),
        ({"first": -1}, "first must be one of any, or an integer of 0 or more, not -1"),
        ({"widths": ()}, "widths must be a number above 0, or a list of them, not"),
        ({"widths": (1, 0)}, "widths must be a number above 0, or a list of them, not"),
        ({"side": (1, 2, 3)}, "side must be a number above 0, or 2 of them, not"),
        ({"word": 3}, "word must be a string, not 3"),
    ],
)
def test_an_invalid_value_is_reported_with_the_allowed_ones(values, message):
    with pytest.raises(ValueError, match=message):
        Choice(**values)


@pytest.mark.parametrize("choices", [Choice, Outlines, Settings])
def test_defaults_are_valid(choices):
    for declared in parameters_of(choices).values():
        found = declared.checked(declared.default)
        assert found == declared.default
        assert type(found) is type(declared.default)


def test_numpy_numbers_and_lists_become_python_types():
    found = Choice(width=np.float32(2), count=np.int64(3), widths=[1, 2], side=np.array([1.0, 2.0]))
    assert tree(found) == tree(Choice(width=2.0, count=3, widths=(1, 2), side=(1.0, 2.0)))
    assert type(found.count) is int
    assert hash(found)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("way", "long", "long"),
        ("width", "2.5", 2.5),
        ("count", "12", 12),
        ("first", "any", "any"),
        ("first", "3", 3),
        ("widths", "1,2", (1.0, 2.0)),
        ("side", "0.5", 0.5),
        ("word", "1,2", "1,2"),
        ("flag", True, True),
    ],
)
def test_text_is_parsed(name, text, value):
    found = parameters_of(Choice)[name].read(text)
    assert found == value
    assert type(found) is type(value)


def test_invalid_text_is_reported_with_the_callers_name():
    with pytest.raises(ValueError, match=r"--count must be an integer of at least 1, not '2\.5'"):
        parameters_of(Choice)["count"].read("2.5", "--count")


def test_trees_hold_only_changed_values_and_round_trip():
    assert changed(Choice()) == {}
    chosen = Choice(width=2, widths=(1.0, 2.0), first=4, level=0.25)
    assert changed(chosen) == {"width": 2, "widths": (1.0, 2.0), "first": 4, "level": 0.25}
    assert from_tree(Choice, tree(chosen)) == chosen
    assert from_tree(Choice, changed(chosen)) == chosen


@pytest.mark.parametrize("choice", [Settings(), Settings.paper(), Outlines(), Outlines(method="li", min_area=20)])
def test_the_representation_is_the_shortest_call_that_makes_it(choice):
    assert eval(repr(choice)) == choice
    assert len(repr(choice)) < 300
    assert repr(Outlines(method="li", min_area=20)) == "Outlines(method='li', min_area=20)"


def test_unknown_names_are_reported_with_the_known_ones():
    with pytest.raises(ValueError, match="Choice has no option 'wdth'; the options are way, width, share"):
        from_tree(Choice, {"wdth": 3})
    with pytest.raises(ValueError, match="Choice must be a table of names and values, not 3"):
        from_tree(Choice, 3)


def test_irrelevant_parameters_for_complete_and_partial_choices():
    assert not matters(Choice(), "share")
    assert matters(Choice(way="long"), "share")
    assert not matters(Choice(), "level")
    assert matters(Choice(flag=True), "level")
    assert matters((Choice, {"way": "long"}), "level")
    assert when_words(Choice, "level") == "for way long; or for flag True"
    assert when_words(Choice, "width") == ""


def test_labels_and_help_come_from_the_declaration():
    declared = parameters_of(Choice)
    assert declared["count"].label == "Number"
    assert declared["widths"].label == "Widths"
    assert declared["flag"].group == "Others"
    assert declared["width"].description == "How wide. Between 0 and 50 px. Default: 3 px."
    assert declared["way"].description == "Which way. Default: the short one."
    assert declared["flag"].description == "Whether. Default: off."
    assert [declared[name].kind for name in ("way", "width", "count", "flag", "word")] == [str, float, int, bool, str]
    assert [name for name, item in declared.items() if item.optional] == ["level", "side", "word"]


def test_the_docstring_lists_every_parameter_before_raises():
    head, _, tail = Choice.__doc__.partition("\nRaises\n")
    for name in parameters_of(Choice):
        assert f"\n{name} : " in head
    assert "\nwidth : float, default 3.0\n    How wide. Between 0 and 50 px." in head
    assert "ValueError" in tail


@pytest.mark.parametrize(
    ("given", "meant"),
    [("alpha", "significance"), ("n_permutations", "permutations"), ("landmark", "landmarks"), ("ranks", "rank")],
)
def test_an_unknown_setting_suggests_the_nearest_name(given, meant):
    with pytest.raises(TypeError, match=f"Settings has no parameter '{given}'; do you mean {meant}"):
        Settings(**{given: 1})
    assert "landmarks" in signature(Settings).parameters  # as help shows it
