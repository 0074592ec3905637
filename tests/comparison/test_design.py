"""Experimental designs: which images form a replicate, and what is rejected."""

import numpy as np
import pandas as pd
import pytest

from napari_shape_ensembles import Settings, design_from_names
from napari_shape_ensembles.comparison.design import RequestedTests, checked_design


def frame(**columns):
    return pd.DataFrame(columns)


def test_each_image_is_a_replicate_by_default():
    design = checked_design(frame(group=["a", "b", "a"]), 3)
    assert design.groups == ("a", "b")
    assert design.group.tolist() == [0, 1, 0]
    assert design.of_image.tolist() == [0, 1, 2]
    assert design.blocks is None
    assert design.pairs == [(0, 1)]


def test_images_of_a_replicate_are_adjacent_and_covariates_averaged():
    table = frame(
        group=["a", "a", "b", "b", "a"],
        replicate=[1, 1, 2, 2, 3],
        dose=[1.0, 3, 5, 5, 7],
        field=["f1", "f2", "f1", "f2", "f1"],
        sex=["m", "m", "f", "f", "m"],
    )
    design = checked_design(table, 5)
    assert design.of_image.tolist() == [0, 0, 1, 1, 2]
    assert design.replicates["images"].tolist() == [2, 2, 1]
    assert design.column("dose")[:, 0].tolist() == [2, 5, 7]
    assert (design.covariates, design.factors) == (("dose",), ("group", "sex"))
    assert any("dose differs between images" in note for note in design.notes)


def test_replicates_with_the_same_name_in_two_groups_are_distinct():
    design = checked_design(frame(group=["a", "b"] * 2, replicate=["m1", "m1", "m2", "m2"]), 4)
    assert len(design.replicates) == 4
    assert "m1, m2 occur in several groups" in design.notes[0]
    blocked = checked_design(frame(group=["a", "b"] * 2, block=["m1", "m1", "m2", "m2"]), 4)
    assert blocked.blocks.tolist() == [0, 0, 1, 1]
    assert not blocked.notes


def test_groups_that_are_numbers_become_names():
    assert checked_design(frame(group=[1.0, 2.0]), 2, control=2).groups == ("2", "1")


def test_the_design_needed_for_a_significance_level_is_reported():
    design = checked_design(frame(group=["a"] * 3 + ["b"] * 3), 6)
    assert design.forecast(Settings(significance=0.01)) == [
        "a and b: 3 and 3 images cannot reach p ≤ 0.005 by permutation (smallest p = 0.1); 6 and 6 could; "
        "the small-sample test decides"
    ]
    assert not checked_design(frame(group=["a"] * 6 + ["b"] * 6), 12).forecast(Settings(significance=0.01))
    paired = frame(group=["a", "b"] * 5, block=np.repeat(range(5), 2))
    assert "within blocks (smallest p = 0.062)" in checked_design(paired, 10).forecast(Settings(significance=0.05))[0]


@pytest.mark.parametrize(
    ("table", "images", "control", "words"),
    [
        (frame(group=["a", "b"]), 3, None, "2 rows for 3 images"),
        (frame(group=[]), 0, None, "the design has no rows"),
        (frame(condition=["a", "b"]), 2, None, "no column 'group'; its columns are 'condition'"),
        (frame(group=["a", None]), 2, None, "column 'group' of the design is empty in row 2"),
        (frame(group=["a", "b"], dose=[1, np.nan]), 2, None, "column 'dose' of the design is empty in row 2"),
        (frame(group=["a", "b"]), 2, "c", "control 'c' is not one of the groups: a, b"),
        (frame(group=["a", " "]), 2, None, "column 'group' of the design is empty in row 2"),
        (frame(group=["a", "b"], dose=[1, np.inf]), 2, None, "column 'dose' of the design contains an infinite number"),
        (frame(group=["a", "a"]), 2, None, r"there is only one group \(a\) and no covariate that varies"),
        (
            frame(group=["a", "a", "b", "b"], block=[1, 1, 2, 2]),
            4,
            None,
            ("no block contains two groups.*remove the column"),
        ),
        (pd.DataFrame([["a", 1, 2]], columns=["group", "dose", "dose"]), 1, None, "'dose' occurs twice in the design"),
        ([{"group": "a"}], 1, None, "a DataFrame with one row per image, not list"),
    ],
)
def test_an_invalid_design_is_rejected(table, images, control, words):
    with pytest.raises(ValueError, match=words):
        checked_design(table, images, control)


def test_questionable_designs_are_accepted_with_a_note():
    said = checked_design(
        frame(
            group=["ctrl", "Ctrl"] * 4,
            replicate=["m1", "m1", "m2", "m2"] * 2,
            block=["d1"] * 4 + ["d2"] * 4,
            dose=["0 nM", "3 nM"] * 4,
            time=[4] * 8,
        ),
        8,
    ).notes
    for words in (
        "Groups ctrl and Ctrl differ only in case",
        "Replicates m1, m2 occur in several blocks and are treated as different",
        "dose contains text, such as '0 nM', and is treated as an unordered factor",
        "time is the same in all replicates: there is no trend",
    ):
        assert any(note.startswith(words) for note in said), words
    alone = checked_design(frame(group=["a", "b", "a", "a"], block=[1, 1, 2, 2]), 4)
    assert alone.notes[0].endswith(
        "Blocks with only one group, which carry no information about differences between groups: 2."
    )
    assert checked_design(frame(group=["a", "b"], dose=["1", "2.5"]), 2).covariates == ("dose",)


def test_a_design_from_file_names():
    table = design_from_names(["x/ctrl_m3_f02.tif", "drug_m1_f01.ome.tif"], "{group}_{replicate}_{}")
    assert table.columns.tolist() == ["image", "group", "replicate"]
    assert table["replicate"].tolist() == ["m3", "m1"]
    with pytest.raises(ValueError, match=r"'ctrl' does not fit the pattern .* or give a design table"):
        design_from_names(["ctrl.tif"])
    for pattern in ("group", "{group}_{group}"):
        with pytest.raises(ValueError, match="name each column once"):
            design_from_names(["a_b"], pattern)


@pytest.mark.parametrize(
    ("dose", "expected"),
    [
        (["0,5", "1,5", "2", "3,25"], [0.5, 1.5, 2, 3.25]),  # the number format of Excel in most of Europe
        (["1e-3", "2", "3.5", " 4 "], [0.001, 2, 3.5, 4]),
        (pd.array([1, 2, 3, 4], dtype="Int64"), [1, 2, 3, 4]),
    ],
)
def test_numbers_in_common_notations_are_read(dose, expected):
    design = checked_design(frame(group=["a", "a", "b", "b"], dose=dose), 4)
    assert design.column("dose")[:, 0].tolist() == expected


@pytest.mark.parametrize(
    ("dose", "words"),
    [
        (["1,500", "2,000", "3", "4"], "its commas group thousands"),
        (["1", "2", "much", "4"], "dose contains numbers except for 'much', and is treated as an unordered factor"),
        (["0,5", "2", "much", "4"], "dose contains numbers except for 'much', and is treated as an unordered factor"),
        (["1 nM", "2 nM", "3 nM", "4 nM"], "enter only numbers to test a trend"),
    ],
)
def test_a_column_with_invalid_numbers_becomes_a_factor_with_a_note(dose, words):
    design = checked_design(frame(group=["a", "a", "b", "b"], dose=dose), 4)
    assert (design.covariates, design.factors) == ((), ("group", "dose"))
    assert any(words in note for note in design.notes)


def test_names_are_normalized_for_whitespace_and_unicode():
    table = frame(group=["te\u0301moin", "t\u00e9moin ", "b", "b"], replicate=["mouse  1", "mouse 1", "x", "y"])
    design = checked_design(table, 4)
    assert design.groups == ("t\u00e9moin", "b")
    assert design.of_image.tolist() == [0, 0, 1, 2]
    categories = pd.Categorical(["a", "a", "b", "b"], categories=["a", "b", "unused"])
    assert checked_design(frame(group=categories), 4).groups == ("a", "b")


def test_requested_analyses_are_parsed_from_text():
    design = checked_design(frame(group=["a", "a", "b", "b"], sex=["m", "f", "m", "f"], block=[1, 2, 1, 2]), 4)
    asked = RequestedTests.of_names(design, ["sex", "sex"], ["group:sex", "group : sex"])
    assert asked == RequestedTests(("sex",), (("group", "sex"),))
    for given, interactions, words in (
        (["age"], [], "no column 'age': choose one of group, sex, which have one value per replicate"),
        (["block"], [], "blocks are already adjusted for in every test"),
        ([], ["group"], "interaction 'group': name two columns, such as group:sex"),
        ([], ["sex:sex"], "name two columns"),
        ([], ["group:age"], "no column 'age'"),
    ):
        with pytest.raises(ValueError, match=words):
            RequestedTests.of_names(design, given, interactions)


def test_names_that_fit_a_pattern_in_several_ways_are_refused():
    with pytest.raises(
        ValueError, match=r"'high_dose_m0_f1' fits .* in several ways, such as group high, .* and group high_dose"
    ):
        design_from_names(["ctrl_m0_f1", "high_dose_m0_f1"])
    assert design_from_names(["high-dose_m0_f1"])["group"].tolist() == ["high-dose"]
    assert design_from_names(["a_b"], "{group}_{}")["group"].tolist() == ["a"]


@pytest.mark.parametrize(("values", "message"), [(["inf", "1"], "an infinite number"), ([[1], [2]], r"holds \[1\]")])
def test_a_covariate_of_infinite_numbers_or_lists_is_refused(values, message):
    with pytest.raises(ValueError, match=f"column 'dose' of the design .*{message}"):
        checked_design(pd.DataFrame({"group": ["a", "b"], "dose": values}), 2)
