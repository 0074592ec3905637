"""Parsing of number ranges, in the docks and on the command line."""

import numpy as np
import pytest

from napari_shape_ensembles.studies.ranges import LANDSCAPE, SMOOTHING, numbers, whole_numbers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", [5]),
        ("3-6", [3, 4, 5, 6]),
        ("2-20:6, 25, 25 , 7", [2, 7, 8, 14, 20, 25]),
        ("0-1:0.25", [0, 0.25, 0.5, 0.75, 1]),
        ("0.5–2.5", [0.5, 1.5, 2.5]),
        ("0-0.3:0.1", [0, 0.1, 0.2, 0.3]),
        ("1,2,5", [1, 2, 5]),
        ("5:9:2", [5, 7, 9]),
        ("0:1:0.1", np.linspace(0, 1, 11)),
        ("1:3", [1, 2, 3]),
        ("1e2:3e2:1e2, 2:4:2", [2, 4, 100, 200, 300]),
        ("2 to 8 by 2, 25, 3 to 5", [2, 3, 4, 5, 6, 8, 25]),
        ("0 to 1 by 0.25", [0, 0.25, 0.5, 0.75, 1]),
    ],
)
def test_ranges_include_their_end(text, expected):
    assert numbers(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", '"" is not a number or range: write numbers and ranges, for example 2 to 20 by 2, 25, 50 or 5:150:5'),
        ("2 to", '"2 to" is not a number or range'),
        ("2 by 3", '"2 by 3" is not a number or range'),
        ("a", '"a" is not a number or range'),
        ("5, x", '"x" is not a number or range'),
        ("1,,2", '"" is not a number or range'),
        ("5-", '"5-" is not a number'),
        ("1:2:3:4", '"1:2:3:4" is not a number or range'),
        ("0:inf:1", '"0:inf:1" is not a number or range'),
        ("nan:2:1", '"nan:2:1" is not a number or range'),
        ("1e999", '"1e999" is not a number or range'),
        ("8-3", "the lower end first"),
        ("5:1:1", "the lower end first"),
        ("1-5:0", "a step above 0"),
        ("1:2:0", "a step above 0"),
        ("1-9000000000", "too many for one study"),
        ("0:1:1e-9", "too many for one study"),
    ],
)
def test_invalid_ranges_are_reported_with_the_remedy(text, words):
    with pytest.raises(ValueError, match=words):
        numbers(text)


def test_numbers_out_of_bounds_are_rejected():
    assert whole_numbers("8-10", least=8) == [8, 9, 10]
    with pytest.raises(ValueError, match="7 is too small: use at least 8"):
        numbers("7-9", least=8)
    with pytest.raises(ValueError, match=r"8\.5 is not an integer"):
        whole_numbers("8.5")
    with pytest.raises(ValueError, match="use at most 5"):
        numbers("1-6", most=5)


def test_the_default_ranges_of_the_studies_are_valid():
    assert whole_numbers(LANDSCAPE["ranks"], least=1)[-3:] == [75, 100, 150]
    for study in (LANDSCAPE, SMOOTHING):
        assert all(len(numbers(text)) > 1 for text in study.values())
