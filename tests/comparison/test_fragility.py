"""What repeated comparisons say about a row: when it is fragile, in which words, and that files keep it."""

from dataclasses import replace

import numpy as np
import pytest

from curve_makers import blobs
from napari_shape_ensembles import Comparison, Ensemble, Outlines, Settings, compare
from napari_shape_ensembles.comparison.fragility import Checks, Without, checks_in_words, is_fragile
from napari_shape_ensembles.comparison.sensitivity import influence
from napari_shape_ensembles.explanation.headline import headline
from napari_shape_ensembles.explanation.paper import methods
from napari_shape_ensembles.studies import choice_study

QUICK = Settings(landmarks=50, rank=10, permutations=199)


@pytest.fixture(scope="module")
def result():
    a = Ensemble(list(blobs(30, 60, seed=1)), name="one", unit="µm")
    b = Ensemble(list(blobs(30, 60, seed=2) * 1.6), name="two", unit="µm")
    return compare(a, b, QUICK)


def with_checks(result, **checks):
    return replace(result, checks=Checks(**checks))


def test_nothing_is_said_of_a_row_that_was_not_repeated(result):
    assert not result.fragile
    assert checks_in_words(result) == ()


@pytest.mark.parametrize(("same", "fragile"), [(20, False), (15, False), (14, True), (0, True)])
def test_a_row_is_fragile_if_more_than_a_quarter_of_other_choices_change_it(result, same, fragile):
    checked = with_checks(result, same=same, tried=20, exceptions=("scale differs only up to rank 50",))
    assert is_fragile(checked) is fragile
    words = f"The answer is the same with {same} of 20 other choices"
    fragile_words = ("The answer is fragile.",) if fragile else ()
    assert checks_in_words(checked) == (
        f"{words} of recipe and settings (scale differs only up to rank 50).",
        *fragile_words,
    )
    assert checks_in_words(checked, briefly=True) == (f"Same answer with {same} of 20 other choices.", *fragile_words)


def test_a_row_is_fragile_if_a_single_outline_decides_it(result):
    assert result.case == "1∧0"
    checked = with_checks(result, without=(Without("two", "7", "1∧1"), Without("one", "3", "1∧0")))
    assert checked.fragile
    assert checks_in_words(checked)[0] == "Without outline 7 of two the answer is: no difference was detected."
    unclear = with_checks(result, without=(Without("two", "7", "inconclusive"),))
    assert not unclear.fragile
    same = "without any of the 1 outlines farthest from the mean, and with 8 of 9 other choices of recipe and settings"
    checked = with_checks(result, without=(Without("two", "7", "1∧0"),), same=8, tried=9)
    assert checks_in_words(checked) == (f"The answer is the same {same}.",)


def test_suspects_and_earlier_rows_are_counted_in_words(result):
    suspects = ("one", "cut", 1), ("two", "cut", 4), ("two", "merged", 2)
    words = checks_in_words(with_checks(result, suspects=suspects, earlier=(("0∧0", 0), ("0∧1", 3))))
    assert words == (
        "7 outlines look wrong: 5 cut, 2 merged (1 of one, 6 of two).",
        "The answer was 'both differ' before any outline was excluded by hand.",
        "The answer was 'form differs' with 3 outlines excluded.",
    )


def test_file_report_and_methods_say_the_same(result, tmp_path):
    checked = with_checks(
        result,
        same=3,
        tried=9,
        exceptions=("form differs from rank 20",),
        without=(Without("two", "7", "1∧1"),),
        suspects=(("two", "cut", 4),),
        earlier=(("0∧0", 0),),
    )
    checked.save(tmp_path / "x.comparison.npz")
    again = Comparison.load(tmp_path / "x.comparison.npz")
    assert again.checks == checked.checks
    assert again.fragile
    text = methods(again, None, headline(again))
    for words in checks_in_words(checked):
        assert words in again.warnings
        assert words in text
    assert "number 2 of those proposed" in methods(again, Outlines(), headline(again), proposal=2)
    assert "proposed" not in methods(again, Outlines(), headline(again))


def test_influence_leaves_out_the_farthest_outlines_whatever_their_sample():
    a, b = (Ensemble(list(blobs(25, 60, seed=seed)), name=name) for seed, name in ((3, "one"), (4, "two")))
    spike = np.array(b.curves[5]) * [6.0, 0.2]
    b = Ensemble([*b.curves[:5], spike, *b.curves[6:]], name="two")
    result = compare(a, b, QUICK)
    (first,) = influence(result, 1)
    assert (first.image, first.id) == ("two", str(b.ids[5]))
    keep = np.arange(len(b)) != 5
    assert first.case == compare(a, b[keep], QUICK).case


def test_a_study_of_choices_tells_how_many_give_the_same_row(result):
    pair = result.a, result.b
    study = choice_study(lambda _: pair, settings=QUICK, choices={"rank": (5, 8, 12)})
    checks = study.judged(result).checks
    assert (checks.same, checks.tried) == (sum(one.case == result.case for one in study.choices), 3)
