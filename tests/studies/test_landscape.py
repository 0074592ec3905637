"""The decision landscape: agreement with `compare` cell by cell, partial results, and cancellation."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from curve_makers import blobs, load_curves
from napari_shape_ensembles import DecisionLandscape, Ensemble, Settings, compare, decision_landscape
from napari_shape_ensembles.progress import Stopped, reporting
from napari_shape_ensembles.studies.landscape import Decisions

QUICK = Settings(permutations=199, significance=0.05)
GRID = {"ranks": [2, 5, 20, 40], "landmarks": [16, 48, 100]}


def pair(count=30, *, roughness=0.3, stretch=1.0):
    a = Ensemble(list(blobs(count, 80, seed=1)), name="one", unit="µm")
    b = Ensemble(list(blobs(count + 5, 80, seed=2, roughness=roughness) * stretch), name="two", unit="µm")
    return a, b


@pytest.mark.parametrize("settings", [QUICK, replace(Settings.paper(), permutations=199)], ids=["defaults", "paper"])
def test_every_cell_is_a_comparison_with_its_settings(settings):
    a, b = pair()
    landscape = decision_landscape(a, b, settings=settings, **GRID)
    assert landscape.complete
    for i, n in enumerate(landscape.landmarks):
        for j, rank in enumerate(landscape.ranks):
            if not landscape.feasible[i, j]:
                continue
            result = compare(a, b, landscape.settings_at(n, rank))
            tests = {"undulation": result.undulation, "scale": result.scale, **result.undulation.parts}
            decisions = {"undulation": landscape.undulation, "scale": landscape.scale, **landscape.parts}
            assert tests.keys() == decisions.keys()
            for name, test in tests.items():
                for kind in ("mmd", "p_value", "threshold"):
                    assert getattr(decisions[name], kind)[i, j] == pytest.approx(getattr(test, kind), abs=1e-9)
                assert decisions[name].rejected[i, j] == test.rejected
            assert landscape.case[i, j] == result.case
            assert landscape.product.mmd[i, j] == pytest.approx(result.pmmd, abs=1e-9)
            assert landscape.product.threshold[i, j] == pytest.approx(result.pmmd_threshold, abs=1e-9)


def test_cells_beyond_the_maximum_rank_are_empty():
    landscape = decision_landscape(*pair(), settings=QUICK, **GRID)
    assert landscape.feasible.tolist() == [[True, True, True, False], [True] * 4, [True] * 4]
    assert np.isnan(landscape.mmd[0, 3])
    assert landscape.case[0, 3] == ""
    assert not landscape.rejected[0, 3]
    assert len(landscape.table()) == 11
    few = decision_landscape(*pair(8), settings=QUICK, ranks=[5, 20, 30], landmarks=[50])
    assert few.feasible.tolist() == [[True, True, False]]


def decided(rejected, computed=None):
    rejected = np.array(rejected, dtype=bool)
    mmd = np.where(np.ones_like(rejected) if computed is None else np.array(computed, dtype=bool), 0.1, np.nan)
    return Decisions(mmd, mmd, mmd, rejected)


def test_ambiguity_is_one_for_split_decisions_and_zero_for_agreement():
    decisions = decided([[0, 1, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]])
    np.testing.assert_allclose(decisions.share_not_rejected, [1, 0, 0.5, 0.25])
    np.testing.assert_allclose(decisions.ambiguity, [0, 0, 1, 0.75])


def test_ambiguity_counts_computed_cells_only():
    decisions = decided([[0, 1, 0], [0, 0, 0]], computed=[[1, 1, 0], [1, 0, 0]])
    np.testing.assert_allclose(decisions.share_not_rejected, [1, 0, np.nan])
    np.testing.assert_allclose(decisions.ambiguity, [0, 0, np.nan])
    np.testing.assert_allclose(decisions.mean_mmd, [0.1, 0.1, np.nan])


def test_partial_results_are_final():
    steps = []
    decision_landscape(*pair(), settings=QUICK, progress=steps.append, **GRID)
    done = [step.done for step in steps]
    assert done == sorted(done)
    assert done[0] == 0
    assert done[-1] == steps[-1].total == 11
    assert set(range(1, 12)) <= set(done)
    assert any(step.name == "16 landmarks: registering undulations" for step in steps)
    for early, late in pairwise(steps):
        known = early.result.undulation.computed
        np.testing.assert_array_equal(early.result.p_value[known], late.result.p_value[known])


def test_a_cancelled_landscape_keeps_partial_results():
    heard = []
    with reporting(heard.append, stop=lambda: bool(heard) and heard[-1].done == 5), pytest.raises(Stopped):
        decision_landscape(*pair(), settings=QUICK, **GRID)
    kept = heard[-1].result
    whole = decision_landscape(*pair(), settings=QUICK, **GRID)
    assert not kept.complete
    assert "5 cells" in kept.summary()
    known = kept.undulation.computed
    assert known.sum() == len(kept.table()) == 5
    np.testing.assert_array_equal(kept.mmd[known], whole.mmd[known])


def test_an_error_in_progress_ends_the_study():
    class StopError(Exception):
        pass

    def stop(partial):
        if partial.done == 2:
            raise StopError

    with pytest.raises(StopError):
        decision_landscape(*pair(), settings=QUICK, progress=stop, **GRID)


def test_cells_of_several_images_permute_images():
    a, b = pair(roughness=0.6)
    a, b = ([side[np.arange(len(side)) % 5 == part] for part in range(5)] for side in (a, b))
    landscape = decision_landscape(a, b, settings=QUICK, **GRID)
    assert (landscape.images, landscape.complete) == ((5, 5), True)
    i, j = np.argwhere(landscape.feasible)[0]
    result = compare(a, b, landscape.settings_at(landscape.landmarks[i], landscape.ranks[j]))
    assert result.permuted == "images"
    assert landscape.undulation.p_value[i, j] == pytest.approx(result.undulation.p_value)
    assert landscape.undulation.threshold[i, j] == pytest.approx(result.undulation.threshold)
    assert landscape.scale.mmd[i, j] == pytest.approx(result.scale.mmd)
    assert landscape.case[i, j] == result.case
    assert "one + 4 more (5 images, 30 curves)" in landscape.summary()
    few = decision_landscape(a[:2], b[:2], settings=QUICK, **GRID)
    assert "2 and 2 images cannot reach p ≤ 0.025 by permutation" in few.summary()
    alone = decision_landscape(a[:2], b[:2], settings=replace(QUICK, permute="curves"), **GRID)
    assert (alone.images, alone.inconclusive) == (None, None)
    assert "in these images only" in alone.summary()


def test_several_images_of_a_sample_are_pooled():
    a, b = pair()
    halves = [a[np.arange(30) % 2 == part] for part in (0, 1)]
    grid = {"ranks": [5], "landmarks": [48]}
    landscape = decision_landscape(halves, b, settings=QUICK, **grid)
    assert landscape.sizes == (30, 35)
    assert landscape.names == ("one + one (2)", "two")


def test_ranges_may_be_unordered_with_duplicates():
    landscape = decision_landscape(*pair(), settings=QUICK, ranks=[20, 5, 20], landmarks=(48, 16))
    assert landscape.ranks.tolist() == [5, 20]
    assert landscape.landmarks.tolist() == [16, 48]


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"ranks": []}, "ranks must be a sequence of integers of at least 1"),
        ({"ranks": [0, 4]}, "ranks must be a sequence of integers of at least 1"),
        ({"ranks": [2.5]}, "ranks must be a sequence of integers of at least 1"),
        ({"landmarks": [4]}, "landmarks must be a sequence of integers of at least 8"),
        (
            {"executor": "two"},
            ("executor must be None, a concurrent.futures executor or a dask.distributed.Client, not str"),
        ),
    ],
)
def test_impossible_ranges_are_rejected(grid, words):
    with pytest.raises(ValueError, match=words):
        decision_landscape(*pair(), **{**GRID, **grid})


def test_too_few_curves_are_inconclusive_in_every_cell():
    landscape = decision_landscape(*pair(2), ranks=[2], landmarks=[16, 24])
    assert landscape.case.tolist() == [["inconclusive"], ["inconclusive"]]
    assert "inconclusive: 2 and 7 curves" in landscape.summary()


def test_serious_outline_faults_withhold_the_row_of_every_cell():
    a, b = pair(6, stretch=3.0)
    a = Ensemble([*a.curves, *a.curves], name=a.name, unit=a.unit)
    whole = decision_landscape(a, b, settings=QUICK, ranks=[2], landmarks=[48, 100])
    assert compare(a, b, whole.settings_at(48, 2)).case == "inconclusive"
    reason = "6 outlines occur twice, in one: look at the outlines first"
    assert (set(whole.case.ravel()), set(whole.table()["case"])) == ({"inconclusive"}, {"inconclusive"})
    assert whole.summary() == f"one (12 curves) and two (11 curves): inconclusive: {reason}."
    assert np.isfinite(whole.scale.p_value).all()
    overruled = decision_landscape(a, b, settings=replace(QUICK, overrule=True), ranks=[2], landmarks=[48, 100])
    assert [case[-1] for case in overruled.case.ravel()] == ["0", "0"]
    assert overruled.summary().endswith(f" {reason}.")


def test_the_table_holds_every_test_of_every_cell():
    landscape = decision_landscape(*pair(stretch=3.0), settings=QUICK, **GRID)
    table = landscape.table()
    assert list(table.columns[:3]) == ["landmarks", "rank", "case"]
    cell = table[(table.landmarks == 48) & (table["rank"] == 20)].iloc[0]
    assert cell.undulation_mmd == landscape.mmd[1, 2]
    assert cell.scale_rejected
    assert cell.case[-1] == "0"
    assert {"coarse_form_p_value", "roughness_mmd", "concavity_rejected", "product_threshold"} <= set(table.columns)


def test_the_landscape_of_the_paper_increases_with_rank_and_levels_off(shared_data):
    def grains(key):
        factor, *_ = np.load(shared_data / "paper" / "pil184_grains.npz")[f"{key}_to_steps"]
        return Ensemble([curve * factor for curve in load_curves(shared_data / "paper" / "pil184_grains.npz", key)])

    ranks = [4, 10, 25, 50, 150]
    landscape: DecisionLandscape = decision_landscape(
        grains("hlf1_noisy"), grains("hlf1_smooth5"), ranks=ranks, landmarks=[200, 300], settings=Settings.paper()
    )
    mean = landscape.undulation.mean_mmd
    assert (np.diff(mean) > 0).all()
    assert mean[4] - mean[3] < 0.1 * (mean[3] - mean[0])
    paper = np.genfromtxt(shared_data / "paper" / "landscape_registered_unnormalised.csv", delimiter=",", names=True)
    theirs = np.array([paper["mmd"][paper["r"] == rank].mean() for rank in ranks])
    assert np.corrcoef(mean, theirs)[0, 1] > 0.98
