"""Ranges of numbers as people write them."""

import pytest

from napari_shape_ensembles.viewer.ranges import Range, numbers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", [5]),
        ("3-6", [3, 4, 5, 6]),
        ("2-20:6, 25, 25 , 7", [2, 7, 8, 14, 20, 25]),
        ("0-1:0.25", [0, 0.25, 0.5, 0.75, 1]),
        ("0.5–2.5", [0.5, 1.5, 2.5]),
        ("0-0.3:0.1", [0, 0.1, 0.2, 0.3]),
    ],
)
def test_numbers_and_ranges_are_read(text, expected):
    assert numbers(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", '"" is no number or range'),
        ("5, x", '"x" is no number or range'),
        ("5-", '"5-" is no number'),
        ("8-3", "lower end first"),
        ("1-5:0", "a step above 0"),
        ("1-9000000000", "more than a study can show"),
    ],
)
def test_what_cannot_be_read_is_named(text, words):
    with pytest.raises(ValueError, match=words):
        numbers(text)


def test_a_range_knows_what_it_may_hold():
    swept = Range("Ranks", "8-10", "Numbers.", least=8)
    assert swept.read(swept.default) == [8, 9, 10]
    assert all(type(value) is int for value in swept.read("8-10"))
    with pytest.raises(ValueError, match="7 is too small: take at least 8"):
        swept.read("7")
    with pytest.raises(ValueError, match=r"8\.5 is no whole number"):
        swept.read("8.5")
    assert Range("σ", "0-1", "Numbers.", least=0, whole=False).read("0-1:0.5") == [0, 0.5, 1]
