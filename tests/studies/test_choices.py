"""Sensitivity to single settings: the row after changing one at a time."""

import numpy as np
import pytest

from curve_makers import blobs
from image_makers import labels_of
from napari_shape_ensembles import Ensemble, Outlines, Settings, Stopped, at_pixel_size, compare
from napari_shape_ensembles.studies import ChoiceStudy, choice_study
from napari_shape_ensembles.studies.choices import Choice

QUICK = Settings(landmarks=50, rank=10, permutations=299)


def pair(recipe):
    """Two samples with the same shapes; outlines of B are larger without smoothing."""
    factor = 1.5 if recipe.outline_smoothing < 1.5 else 1.0
    return tuple(Ensemble(list(blobs(30, 80, seed=s) * f)) for s, f in ((1, 1.0), (2, factor)))


def test_each_choice_is_a_comparison_with_that_setting():
    study = choice_study(pair, settings=QUICK, choices={"outline_smoothing": (0, 2, 3), "rank": (5, 10)})
    assert [(one.name, one.value) for one in study.choices] == [("outline_smoothing", v) for v in (0, 2, 3)] + [
        ("rank", 5)
    ]
    assert study.used.case == "1∧0"
    assert [one.case for one in study.rows()["outline_smoothing"]] == ["1∧0", "1∧0", "1∧1", "1∧1"]
    alone = compare(*pair(Outlines()), QUICK, rank=5)
    assert study.choices[-1].scale_p == alone.scale.p_value
    assert study.choices[-1].undulation_p == alone.undulation.p_value
    assert study.summary() == (
        "scale differs in 3 of 5 choices; no difference in size or elongation is detected from outline smoothing 2 px."
    )


@pytest.mark.parametrize("unit", ["pixel", "physical"])
def test_larger_pixels_are_those_of_an_image_of_lower_resolution(unit):
    recipe = Outlines(outline_smoothing=0.5, smoothing_unit=unit)
    a, b = (
        recipe.trace(labels_of(seed), scale=(size, size), unit=name)
        for seed, size, name in ((1, 0.5, "µm"), (2, 500, "nm"))
    )
    study = choice_study(lambda recipe: (a, b), recipe, QUICK, choices={"coarsening": (1, 2)})
    (one,) = study.choices
    smoothing = 0.5 if unit == "pixel" else 0.0
    expected = compare(at_pixel_size(a, 1.0, smoothing=smoothing), at_pixel_size(b, 1000, smoothing=smoothing), QUICK)
    assert (one.undulation_p, one.scale_p) == (expected.undulation.p_value, expected.scale.p_value)
    assert [choice.label for choice in study.rows()["coarsening"]] == ["× 1", "× 2"]


def test_larger_pixels_need_a_known_pixel_size():
    (one,) = choice_study(pair, settings=QUICK, choices={"coarsening": (2,)}).choices
    assert one.case == "inconclusive"
    assert "pixel size" in one.reason


def made(used, *others):
    found = [Choice(name, value, case) for name, value, case in others]
    return ChoiceStudy(Choice("", None, used), tuple(found), {"rank": 150, "method": "otsu", "outline_smoothing": 1.0})


@pytest.mark.parametrize(
    ("study", "words"),
    [
        (made("1∧0", ("rank", 20, "1∧0")), "scale differs in 2 of 2 choices."),
        (
            made("1∧0", ("outline_smoothing", 0, "0∧0"), ("outline_smoothing", 0.5, "0∧0"), ("rank", 20, "1∧0")),
            "scale differs in 2 of 4 choices; form differs only up to outline smoothing 0.5 px.",
        ),
        (
            made("0∧0", ("rank", 20, "1∧0"), ("method", "li", "1∧0")),
            "both differ in 1 of 3 choices; no difference in form is detected with rank 20, method Li threshold.",
        ),
        (
            made("0∧0", ("method", "li", "1∧0"), ("method", "triangle", "1∧0"), ("rank", 20, "1∧0")),
            "both differ in 1 of 4 choices; no difference in form is detected with method Li threshold or "
            "triangle threshold, rank 20.",
        ),
        (
            made("0∧0", ("split_touching", "none", "0∧1")),
            'both differ in 1 of 2 choices; no difference in size or elongation is detected with split touching "no".',
        ),
        (
            made("1∧1", ("rank", 20, "inconclusive")),
            "no difference in 1 of 2 choices; no answer with rank 20.",
        ),
        (
            made("inconclusive", ("rank", 20, "inconclusive"), ("method", "li", "1∧0")),
            "inconclusive in 2 of 3 choices.",
        ),
    ],
)
def test_the_sentence_lists_settings_with_another_row(study, words):
    assert study.summary() == words


def test_the_plot_has_a_box_for_each_choice():
    study = made("1∧0", ("outline_smoothing", 0.0, "1∧0"), ("outline_smoothing", 2.0, "1∧1"), ("method", "li", "1∧0"))
    ax = study.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Outline smoothing, px", "Method"]
    drawn = {text.get_text(): text.get_bbox_patch() for text in ax.texts}
    assert list(drawn) == [
        *("0\nscale differs", "1\nscale differs", "2\nno difference"),
        *("Otsu threshold\nscale differs", "Li threshold\nscale differs"),
    ]
    assert [patch.get_linestyle() for patch in drawn.values()] == ["-", "-", "--", "-", "-"]
    assert [patch.get_linewidth() == 2 for patch in drawn.values()] == [False, True, False, True, False]
    assert study.plot(ax) is ax


def test_an_inconclusive_choice_has_a_reason():
    def trace(recipe):
        if recipe.min_area > 100:
            raise ValueError("one has no usable outline")
        return pair(recipe)

    (one,) = choice_study(trace, settings=QUICK, choices={"min_area": (144,)}).choices
    assert (one.case, one.reason) == ("inconclusive", "one has no usable outline")
    assert np.isnan(one.scale_p)


def test_a_withheld_row_has_a_reason():
    same = pair(Outlines())[0]
    study = choice_study(lambda recipe: (same, same), settings=QUICK, choices={"rank": (5,)})
    reason = "30 outlines occur twice, in A and in B: look at the outlines first"
    assert [one.reason for one in (study.used, *study.choices)] == [reason, reason]
    assert study.summary() == f"inconclusive in 2 of 2 choices: {reason}."


def test_resampling_to_one_pixel_size_is_reported():
    a, b = (
        Ensemble.from_labels(
            labels_of(seed)[::every, ::every], scale=(every / 4,) * 2, unit="µm", name=f"every {every}"
        )
        for seed, every in ((1, 1), (2, 2))
    )
    study = choice_study(lambda recipe: (a, b), settings=QUICK, choices={"rank": (5,)})
    assert "of every 1 were brought to the coarser precision of the others" in study.note
    assert study.note == compare(a, b, QUICK).note
    assert study.summary().endswith(f". {study.note}.")


def test_partial_results_are_reported_and_work_is_cancellable():
    known = []

    def listen(step):
        known.append(step.result)
        if isinstance(step.result, ChoiceStudy) and len(step.result.choices) == 1:
            raise Stopped

    with pytest.raises(Stopped):
        choice_study(pair, settings=QUICK, choices={"rank": (5, 6, 7)}, progress=listen)
    assert list(dict.fromkeys(len(one.choices) for one in known if one is not None)) == [0, 1]
    assert known[-1].summary().startswith("scale differs in 2 of 2 choices (2 more not compared)")
    assert "not compared" not in choice_study(pair, settings=QUICK, choices={"rank": (5,)}).summary()


def test_an_unknown_choice_is_rejected():
    with pytest.raises(ValueError, match="no setting 'colour'"):
        choice_study(pair, choices={"colour": (1,)})
