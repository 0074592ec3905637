"""The answer in words: what is named, in which direction, and with which numbers."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Settings, compare, explain
from napari_shape_ensembles.comparison import answer
from napari_shape_ensembles.comparison.answer import differing, named, ratio_words, statements, unnamed
from napari_shape_ensembles.outlines.reasons import AT_BORDER, too_small
from napari_shape_ensembles.words import p_text

QUICK = Settings(landmarks=60, rank=10, permutations=499)


def pair(change, names=("", ""), seeds=(1, 2), count=40):
    a, b = (list(blobs(count, 80, seed=seed)) for seed in seeds)
    sides = (Ensemble(curves, name=name, unit="µm") for curves, name in zip((a, change(b)), names, strict=True))
    return compare(*sides, QUICK)


def larger(curves):
    return [1.4 * curve for curve in curves]


def wider(curves):
    return [curve * (0.5, 2.0)[place % 2] for place, curve in enumerate(curves)]


def test_a_part_does_not_differ_where_the_test_does_not_reject():
    result = pair(larger)
    assert differing(result.scale) == ("size",)
    assert "size" in named(result)["scale"]
    assert named(result)["undulation"] == ()
    undetected = replace(result, scale=replace(result.scale, rejected=False))
    assert differing(undetected.scale) == ()
    assert statements(undetected) == []
    assert answer.sentence(undetected).startswith("No difference in size or elongation was detected.")


@pytest.mark.parametrize(("counts", "notes"), [((9, 40), 1), ((9, 9), 2), ((20, 40), 1), ((12, 12), 1), ((30, 30), 0)])
def test_few_curves_are_noted_once_a_side(counts, notes):
    a, b = (Ensemble(blobs(count, 80, seed=seed), unit="µm") for seed, count in enumerate(counts))
    said = [words for words in compare(a, b, QUICK).warnings if "curves" in words and "nly" in words]
    assert len(said) == notes
    if said and min(counts) > 9:  # fewer have a note of their own on each side
        side = "either" if counts[0] == counts[1] else "one"
        assert said == [f"Only {min(counts)} curves on {side} side: a difference may have gone unnoticed."]


def test_headline_and_statements_name_the_same_quantities():
    for result in (pair(larger), pair(wider)):
        said = answer.sentence(result), statements(result)[0].text
        assert statements(result)[0].about == "size"
        assert all(("larger" in words) == (result.ratios["low"][0] > 1) for words in said)


def test_the_direction_of_elongation_has_a_row():
    """Every p-value of a sentence is one of the table."""
    angle, rng = 2 * np.pi * np.arange(80) / 80, np.random.default_rng(0)
    z = (1 + 0.15 * np.cos(3 * angle) + 0.05 * np.cos(2 * angle + 1)) * np.exp(1j * angle)
    curve = np.stack([z.real, z.imag], axis=-1)
    a, b = (
        [curve @ np.diag([side, 1 / side] + 0.05 * rng.normal(size=2)) for _ in range(30)] for side in (1.2, 1 / 1.2)
    )
    result = compare(Ensemble(a), Ensemble(b), QUICK)
    assert "direction of elongation" in named(result)["scale"]
    row = result.estimates.set_index("quantity").loc["direction of elongation"]
    assert row["kind"] == "distance"
    assert 0 < row["low"] < row["estimate"] < row["high"]
    (said,) = [one.text for one in statements(result) if one.text.startswith("The direction of elongation differs")]
    assert said.endswith(f"; adjusted p = {p_text(row['p_adjusted'])}).")
    assert "common form" not in " ".join(explain(result).sentences()) or all(result.has_common_form)
    without = compare(Ensemble(a), Ensemble(b), QUICK, reflections=False).estimates.set_index("quantity")
    assert without.loc["direction of elongation", ["estimate", "p"]].isna().all()


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (["size"], "The distribution of size differs"),
        (["size", "elongation"], "The distributions of size and elongation differ"),
        ([], "Size or elongation differs"),
    ],
)
def test_distributions_that_differ_are_listed_where_no_quantity_is_named(parts, words, monkeypatch):
    result = pair(larger)
    test = replace(result.scale, parts=dict.fromkeys(parts, result.scale.parts["size"]), null=np.empty(0))
    monkeypatch.setattr(type(result), "quantity_p_values", {"size": (0.01, 0.06), "elongation": (0.01, 0.06)})
    found = unnamed(replace(result, scale=test))
    assert found == {"scale": f"{words}, but no single quantity can be named"}


def test_wider_spread_about_the_same_mean_is_named():
    result = pair(wider)
    assert "spread of size" in named(result)["scale"]
    assert "size" not in named(result)["scale"]
    assert answer.sentence(result).startswith("B's outlines are more varied in size: ")
    assert "more varied in size" in statements(result)[0].text


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (("control", "drug"), ("control", "drug")),
        (("", "drug"), ("A", "B")),
        (("same", "same"), ("A", "B")),
        (("one + two + three", "drug"), ("A", "B")),
        (("a" * 31, "drug"), ("A", "B")),
    ],
)
def test_groups_are_called_by_short_names(names, shown):
    result = pair(larger, names, count=20)
    words = answer.sentence(result)
    assert words.startswith(f"{shown[1]}'s outlines are larger: 1.")
    assert f" times {shown[0]}'s in length (" in words
    for used, name in zip(shown, names, strict=True):  # a letter is said to be whose it is, once
        title = name if used == name else f"{used}: {name}".removesuffix(": ")
        assert f" {title} (20 curves)" in answer.in_one_line(result)
        assert f" {title} (20 curves)" in result.summary()


def test_a_name_that_begins_with_as_repeats_no_word():
    """Of "as long as" and "as mapped"."""
    result = pair(lambda curves: larger(wider(curves)), ("as mapped", "smoothed"))
    words = " ".join([result.summary(), answer.sentence(result), *explain(result).sentences()])
    assert "as mapped's" in words
    assert "as as" not in words


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.02504, "0.02504"), (0.025, "0.025"), (0.0249, "0.025"), (0.0504, "0.0504"), (0.0049, "0.0049"), (1.0, "1")],
)
def test_a_p_value_is_written_on_its_own_side_of_the_level(p, text):
    assert p_text(p) == text
    assert p_text(0.0504, 0.0503) == "0.0504"
    assert p_text(0.03049, 0.0304) == "0.0305"
    assert p_text(np.nan) == "–"
    result = pair(larger, count=20)
    scale = replace(result.scale, p_value=p, rejected=p <= result.settings.test_level)
    said = answer.p_words(replace(result, scale=scale))
    shown = float(said.partition("scale p = ")[2].split()[0])
    assert (shown <= result.settings.test_level) == scale.rejected


def test_ratios_close_to_one_or_zero_are_formatted():
    assert ratio_words(1.0031, 1.0012, 1.0049) == ["1.003", "1.001", "1.005"]
    assert ratio_words(1.026e-8, 9.5e-9, 1.11e-8) == ["1.03e-08", "9.5e-09", "1.11e-08"]
    assert ratio_words(1026285.6, 951079.6, np.inf) == ["1.03e+06", "9.51e+05", "inf"]
    assert ratio_words(0.0012, 0.0, 99_999.0) == ["0.0012", "0", "99999.00"]
    assert ratio_words(1.0, 0.8, 1.25) == ["1.00", "0.80", "1.25"]  # an estimate of 1 needs no more digits
    assert ratio_words(1.0, 1.0, 1.0) == ["1.00"] * 3  # which no number of digits tells from 1


def test_a_sample_without_variation_is_reported():
    one = blobs(1, 80, seed=1)[0]
    alike, different = [one * 1.7] * 40, [one * size for size in np.linspace(0.5, 1.5, 40)]
    result = compare(Ensemble(alike, unit="µm"), Ensemble(different, unit="µm"), QUICK, overrule=True)
    assert any(one.text.startswith("A's size does not vary (adjusted p = 0.00") for one in statements(result))
    forms = compare(Ensemble([one] * 20), Ensemble(list(blobs(20, 80, seed=2))), QUICK, overrule=True)
    assert any(one.text.startswith("A's form does not vary (adjusted p = 0.00") for one in statements(forms))
    assert forms.estimates.set_index("quantity")["estimate"]["spread of form"] == np.inf


def test_differences_up_to_rounding_are_ignored():
    """Squares of two sizes have the same elongation and undulation, up to rounding of their coordinates."""
    square = np.array([(0, 0), (0, 2), (2, 2), (2, 0)])
    a, b = (Ensemble([size * square + 7.3 * place for place in range(20)], unit="µm") for size in (1, 1.5))
    said = statements(compare(a, b, QUICK))
    assert [one.about for one in said] == ["size"]


@pytest.mark.parametrize("changes", [{}, {"null": "gamma"}, {"permute": "images", "significance": 0.2}])
def test_parts_are_judged_together(changes):
    """A part of a test that does not reject is never detected, however small its own p-value."""
    images = [[Ensemble(list(blobs(8, 60, seed=10 * s + i) * 1.3**s), unit="µm") for i in range(4)] for s in (0, 1)]
    result = compare(*images, replace(QUICK, permute="curves"), **changes)
    for test in (result.undulation, result.scale):
        for name, part in test.judged.items():
            assert part.rejected == (part.mmd > part.threshold)
            assert part.rejected <= test.rejected
            assert part.p_value == test.adjusted[name]
        if test.rejected and test.parts:
            assert any(part.rejected for part in test.judged.values())
        undetected = replace(test, rejected=False)
        assert not any(part.rejected for part in undetected.judged.values())


def plants(seed, count=4):
    """An image of blobs of several plants, each with its own size."""
    rng = np.random.default_rng(seed)
    own = np.repeat(np.arange(count), 10)
    sizes = np.exp(0.2 * rng.normal(size=count))[own]
    curves = [size * curve for size, curve in zip(sizes, blobs(10 * count, 40, seed=seed), strict=True)]
    columns = {"plant": [f"p{one}" for one in own], "note": ["x"] * len(own)}
    return Ensemble(curves, unit="µm", name=f"image {seed}", metadata=columns)


def test_a_column_of_specimens_is_found_and_can_be_the_replicate():
    a, b = plants(1), plants(2)
    alone = compare(a, b, QUICK)
    (words,) = (words for words in alone.warnings if "plant" in words)
    assert "a column 'plant' with 4 and 4 values" in words
    assert "compare(a, b, replicate='plant')" in words
    assert alone.summary().startswith("These two images ")
    assert "One image a side cannot show a difference between conditions." in answer.scope(alone)
    assert answer.border_words(alone) == ""
    cut = replace(alone, b=b.derived(b.curves, dropped={AT_BORDER: 3, too_small(9): 2}))
    assert answer.border_words(cut) == "Left out at the border: 3 of image 2."
    assert answer.border_words(cut, briefly=True) == "Left out at border: 0, 3."
    whole = compare(a, b, QUICK, replicate="plant")
    assert (whole.permuted, whole.unit_counts, whole.decided_by) == ("replicates", (4, 4), "small-sample")
    assert not any("plant" in words for words in whole.warnings)
    split = [side[side.metadata["plant"] == one] for side in (a, b) for one in sorted(set(side.metadata["plant"]))]
    images = [Ensemble(part.curves, unit="µm", name=str(place)) for place, part in enumerate(split)]
    same = compare(images[:4], images[4:], QUICK)
    assert same.scale.p_value == pytest.approx(whole.scale.p_value, rel=1e-6)


@pytest.mark.parametrize(
    "name",
    [
        *("Plants", "plantID", "ImageNumber", "Metadata_Well", "FOVs", "SITE no.", "rep 1"),
        *("dishes", "Leaves", "mice_treated", "colonies", "plates"),
    ],
)
def test_columns_of_replicates_are_found_by_any_word_of_their_names(name):
    table = pd.DataFrame({name: np.arange(40) // 10, "plantation": np.arange(40) // 10, "note": 1})
    assert answer.replicate_columns(table, table) == [(name, [4, 4])]


def test_an_unknown_or_incomplete_column_of_replicates_is_an_error():
    a, b = plants(1), plants(2)
    with pytest.raises(ValueError, match=r"image 1 have no column 'animal'; they have 'plant', 'note'"):
        compare(a, b, QUICK, replicate="animal")
    for missing in (b.assign(plant=[np.nan, *np.arange(39.0) // 10]), b.assign(plant=[" ", *list("abc" * 13)])):
        with pytest.raises(ValueError, match=r"1 of 40 outlines of image 2 have no plant: fill the column"):
            compare(a, missing, QUICK, replicate="plant")


def test_a_p_value_close_to_the_level_has_its_error():
    result = pair(lambda curves: [1.05 * curve for curve in curves])
    test = replace(result.scale, p_value=0.026, p_error=0.0007, null=np.zeros(50_000))
    close, clear = (replace(result, scale=one) for one in (test, replace(test, p_error=0.0002)))
    assert "scale p = 0.026 ± 0.0007 from 50000 permutations" in close.summary()
    assert "scale p = 0.026)" in clear.summary()
