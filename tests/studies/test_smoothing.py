"""The smoothing study and its recommended range of σ."""

from collections import Counter

import numpy as np
import pytest

from curve_makers import blobs
from napari_shape_ensembles import (
    Ensemble,
    Outlines,
    Settings,
    decision_landscape,
    extract_curves,
    smoothing_study,
    trace_mask,
)
from napari_shape_ensembles.progress import Stopped, reporting
from napari_shape_ensembles.studies.recommendation import recommend

QUICK = Settings(permutations=199, significance=0.05)
GRID = {"ranks": [3, 10], "landmarks": [32, 60], "settings": QUICK}


def field(seed, *, rows=4, size=9.0, roughness=0.15):
    """Labels of blobs on a grid, far from the border."""
    from skimage.draw import polygon2mask

    labels = np.zeros((rows * 40 + 20,) * 2, dtype=np.int32)
    for index, outline in enumerate(blobs(rows * rows, 60, seed=seed, elongation=1.3, roughness=roughness)):
        outline = outline - outline.mean(axis=0)
        outline *= size / np.sqrt((outline**2).sum(axis=1).mean())
        centre = np.array(divmod(index, rows)) * 40 + 30
        labels[polygon2mask(labels.shape, outline + centre)] = index + 1
    return labels


def test_each_sigma_is_a_landscape_of_its_curves():
    groups = [field(1), field(2)], [field(3, size=11.0)]
    study = smoothing_study(*groups, sigmas=[0, 1.5], **GRID)
    assert study.complete
    assert study.sizes.tolist() == [[32, 16], [32, 16]]
    for sigma, landscape in zip(study.sigmas, study.landscapes, strict=True):
        a, b = ([extract_curves(labels, smoothing=sigma) for labels in group] for group in groups)
        expected = decision_landscape(a, b, **GRID)
        np.testing.assert_array_equal(landscape.mmd, expected.mmd)
        np.testing.assert_array_equal(landscape.case, expected.case)


def test_masks_are_smoothed_as_a_whole_and_labels_individually():
    labels = field(1)
    masks = smoothing_study(labels > 0, labels > 0, sigmas=[6], **GRID)
    assert masks.sizes[0, 0] == len(trace_mask(labels > 0, smoothing=6))
    bright = smoothing_study((labels > 0) * 255, labels > 0, sigmas=[6], **GRID)
    assert bright.sizes.tolist() == masks.sizes.tolist()
    np.testing.assert_array_equal(bright.mmd(), masks.mmd())
    single = smoothing_study(labels, labels, sigmas=[6], **GRID)
    assert single.sizes[0, 0] == len(extract_curves(labels, smoothing=6))


def test_averages_and_bands_agree_with_the_landscapes():
    study = smoothing_study(field(1), field(3, roughness=0.3), sigmas=[0, 1, 2], **GRID)
    for index, landscape in enumerate(study.landscapes):
        assert study.mean_mmd()[index] == pytest.approx(landscape.mmd.mean())
        assert study.mean_ambiguity()[index] == pytest.approx(landscape.ambiguity.mean())
        assert study.ambiguity_band()[index].tolist() == [landscape.ambiguity.min(), landscape.ambiguity.max()]
        assert study.share_rejected()[index] == pytest.approx(landscape.rejected.mean())
        assert study.share_rejected("scale")[index] == pytest.approx(landscape.scale.rejected.mean())
    table = study.table()
    assert table["sigma"].tolist() == [0, 1, 2]
    assert table["curves_a"].tolist() == [16, 16, 16]


def test_a_sigma_at_which_all_objects_vanish_has_a_reason():
    study = smoothing_study(field(1) > 0, field(2) > 0, sigmas=[1, 150], **GRID)
    assert study.complete
    assert study.landscapes[0] is not None
    assert study.landscapes[1] is None
    assert "no usable outline" in study.reasons[1]
    assert np.isnan(study.mean_mmd()[1])
    assert np.isnan(study.ambiguity_band()[1]).all()


def test_a_cancelled_study_keeps_partial_results():
    heard = []
    with reporting(heard.append, stop=lambda: bool(heard) and heard[-1].done == 1), pytest.raises(Stopped):
        smoothing_study(field(1), field(2), sigmas=[0, 1, 2], **GRID)
    kept = heard[-1].result
    assert not kept.complete
    assert [landscape is not None for landscape in kept.landscapes][::2] == [True, False]
    assert np.isnan(kept.sizes[2]).all()


def test_progress_counts_sigmas():
    seen = []
    smoothing_study(field(1), field(2), sigmas=[0, 1], progress=seen.append, **GRID)
    assert seen[-1].done == seen[-1].total == 2
    assert any(partial.name == "smoothing 1 px: tracing outlines" for partial in seen)


def test_pixel_size_and_border_options_are_passed_on():
    labels = field(1)
    labels[:12, :12] = 99
    kept = smoothing_study(labels, labels, sigmas=[1], outlines=Outlines(keep_border=True, min_area=20), **GRID)
    assert kept.sizes.tolist() == [[17, 17]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sigmas": []}, "sigmas must be a sequence"),
        ({"sigmas": [-1]}, "0 or more"),
        ({"sigmas": [1], "settings": Settings(null="gamma")}, "null='permutation'"),
        ({"sigmas": [1], "ranks": [0]}, "ranks must be a sequence of integers"),
    ],
)
def test_impossible_ranges_are_rejected(options, words):
    with pytest.raises(ValueError, match=words):
        smoothing_study(field(1), field(2), **{**GRID, **options})


def test_images_that_are_not_two_dimensional_are_rejected():
    with pytest.raises(ValueError, match="group B holds images of shapes"):
        smoothing_study(field(1), [np.ones(5)], sigmas=[1], **GRID)
    with pytest.raises(ValueError, match="group A holds images of shapes"):
        smoothing_study([], field(1), sigmas=[1], **GRID)


def study_of(answers, sizes):
    cells = [None if letters is None else np.array(list(letters)) for letters in answers]
    return recommend(
        np.arange(len(cells), dtype=float), cells, np.array([(size, size + 9) for size in sizes], dtype=float)
    )


def test_the_run_with_most_curves_is_recommended():
    found = study_of(["ab", "aa", "aa", "ab", "bb", "bb", "bb"], [100, 90, 80, 50, 20, 15, 10])
    assert (found.low, found.high, found.best, found.answer) == (1, 2, 1, "a")
    assert "Smoothed by 1 to 2 px: a in all 2 cells" in found.reason
    assert "Below, at 0 px, a in 1, b in 1 of 2 cells." in found.reason
    assert "unnoticed" not in found.reason


def test_adjacent_runs_with_different_rows_are_separate():
    found = study_of(["aa", "aa", "bb", "bb", "bb"], [10, 10, 30, 40, 30])
    assert (found.low, found.high, found.best, found.answer) == (2, 4, 3, "b")


def test_too_few_curves_at_every_sigma_are_inconclusive():
    one = field(1)
    study = smoothing_study(np.where(one == one.max(), one, 0), field(2), sigmas=[0, 1], **GRID)
    assert study.recommended is None
    assert study.summary().startswith("Inconclusive at every smoothing: 1 and 16 curves cannot reach p ≤ 0.0125")


def test_a_sigma_whose_outlines_have_faults_has_a_reason_and_is_not_recommended():
    labels = field(1)
    study = smoothing_study(labels, labels, sigmas=[0, 1], **GRID)
    reason = "16 outlines occur twice, in A and in B: look at the outlines first"
    assert study.reasons == (reason, reason)
    assert study.table()["reason"].tolist() == [reason, reason]
    assert study.recommended is None
    assert study.summary() == f"Inconclusive at every smoothing: {reason}."


def test_a_range_ending_with_few_curves_has_a_caveat():
    found = study_of(["aa", "aa", "aa"], [100, 60, 40])
    assert found.reason.endswith(
        "At 2 px only 40 of 100 curves are left on the smaller side: a difference may go unnoticed there."
    )


def test_no_range_is_recommended_if_there_is_none():
    assert study_of(["ab", "aa", "ab"], [9, 9, 9]) is None
    assert study_of([None, None], [9, 9]) is None
    assert study_of(["aa"], [9]).best == 0
    inconclusive = [np.array(["inconclusive"] * 2)] * 2
    assert recommend(np.arange(2.0), inconclusive, np.ones((2, 2))) is None


def test_the_numbers_of_the_paper_give_the_range_of_the_paper(shared_data):
    folder = shared_data / "paper"
    sizes = np.genfromtxt(folder / "battery_study_by_sigma.csv", delimiter=",", names=True)
    raw = np.genfromtxt(folder / "battery_study_raw.csv", delimiter=",", names=True)
    cells = [np.where(raw["reject"][raw["sigma"] == sigma] == 1, "rejects", "does not") for sigma in sizes["sigma"]]
    assert Counter(map(len, cells)) == {60: 31}
    found = recommend(sizes["sigma"], cells, np.stack([sizes["n_new"], sizes["n_used"]], axis=1))
    assert (found.low, found.high, found.answer) == (3, 11, "rejects")
    assert found.best == 3


def test_the_battery_masks_lose_curves_with_smoothing(shared_data):
    from skimage.io import imread

    masks = [imread(shared_data / "paper" / f"battery_{name}_mask_sigma5.png") > 0 for name in ("new", "old")]
    study = smoothing_study(*masks, sigmas=[0, 4], ranks=[20], landmarks=[100], settings=QUICK)
    assert (study.sizes[1] < 0.7 * study.sizes[0]).all()
    assert isinstance(trace_mask(masks[0]), Ensemble)


@pytest.mark.filterwarnings("error")
def test_every_partial_result_has_a_summary_and_table():
    seen = []
    smoothing_study([field(1)], [field(2)], sigmas=[0, 60], progress=seen.append, **GRID)
    for partial in seen:
        table = partial.result.table()
        assert table["sigma"].tolist() == [0, 60]
        assert partial.result.summary()
    assert (
        partial.result.summary() == "Only smoothing by 0 px led to a comparison: a range needs two neighboring values."
    )
    assert np.isnan(table["share_rejected"]).tolist() == [False, True]


def test_singular_for_a_single_cell():
    sizes = np.full((2, 2), 30.0)
    found = recommend(np.array([0.0, 1.0]), [np.array(["1∧1"])] * 2, sizes)
    assert "px: no difference in the one cell" in found.reason
