"""Sensitivity to the archetype: agreement, disagreement, and cancellation."""

from dataclasses import replace

import numpy as np
import pytest

from curve_makers import blobs
from image_makers import labels_of
from napari_shape_ensembles import Comparison, Ensemble, Settings, archetype_sensitivity, compare
from napari_shape_ensembles.comparison.learning import COMPARISON_STEPS
from napari_shape_ensembles.comparison.sensitivity import ArchetypeSensitivity
from napari_shape_ensembles.progress import Stopped, reporting

QUICK = Settings(landmarks=60, rank=10, permutations=200)


def pair(count=30, stretch=1.5):
    return Ensemble(list(blobs(count, 60, seed=1))), Ensemble(list(blobs(count, 60, seed=2) * stretch))


def test_agreeing_archetypes_give_one_row_and_a_range():
    found = archetype_sensitivity(compare(*pair(), QUICK), 4)
    assert found.cases == ("1∧0",) * 4
    assert found.stable
    assert found.comparison.case == "1∧0"
    assert len({comparison.settings.archetype for comparison in found.comparisons}) == 4
    low, high = found.p_values("undulation")
    assert 0.01 < low < high <= 1
    assert found.mmd("scale")[0] > found.comparison.scale.threshold / 2
    assert found.summary().startswith("All 4 archetypes lead to the same answer: scale differs (form p from ")


def test_results_are_comparisons_with_each_archetype():
    a, b = pair()
    found = archetype_sensitivity(compare(a, b, QUICK), 3)
    assert (found.comparisons[0].t == compare(a, b, QUICK).t).all()
    chosen = found.comparisons[2].settings
    assert (found.comparisons[2].t == compare(a, b, chosen).t).all()


def test_resampling_to_one_pixel_size_is_reported_by_every_comparison():
    a, b = (
        Ensemble.from_labels(
            labels_of(seed)[::every, ::every], scale=(every / 4,) * 2, unit="µm", name=f"every {every}"
        )
        for seed, every in ((1, 1), (2, 2))
    )
    found = archetype_sensitivity(compare(a, b, QUICK), 2)
    assert {one.note for one in found.comparisons} == {compare(a, b, QUICK).note}
    assert "of every 1 were brought to the coarser precision of the others" in found.comparison.note


def test_disagreeing_archetypes_are_inconclusive():
    a, b = pair()
    differ = compare(a, b, QUICK)
    same = compare(a, Ensemble(list(blobs(30, 60, seed=2))), QUICK)
    found = ArchetypeSensitivity((differ, same, differ))
    assert not found.stable
    assert found.comparison.case == "inconclusive"
    assert "depends on the archetype" in found.comparison.summary()
    assert "of 3, 2: scale differs, 1: no difference" in found.summary()


def test_steps_are_numbered_consecutively_and_cancellable():
    seen = []
    archetype_sensitivity(compare(*pair(10), QUICK), 2, progress=seen.append)
    assert [step.done for step in seen] == list(range(2 * len(COMPARISON_STEPS)))
    assert seen[-1].name == f"archetype 2 of 2: {COMPARISON_STEPS[-1]}"
    heard, result = [], compare(*pair(10), QUICK)
    with reporting(heard.append, stop=lambda: len(heard) == len(COMPARISON_STEPS) + 2), pytest.raises(Stopped):
        archetype_sensitivity(result)
    assert heard[-1].name == f"archetype 2 of 5: {COMPARISON_STEPS[1]}"
    assert {step.total for step in heard} == {5 * len(COMPARISON_STEPS)}


def test_one_archetype_is_rejected():
    with pytest.raises(ValueError, match="at least 2"):
        archetype_sensitivity(compare(*pair(10), QUICK), 1)


def test_draws_are_reproducible_with_the_seed():
    one, other = (archetype_sensitivity(compare(*pair(10), QUICK), 3) for _ in range(2))
    assert [c.settings.archetype for c in one.comparisons] == [c.settings.archetype for c in other.comparisons]
    assert np.array_equal(one.comparisons[1].t, other.comparisons[1].t)


def test_archetypes_are_distinct_and_steps_count_them():
    a, b = pair(3)
    seen = []
    found = archetype_sensitivity(compare(a, b, QUICK, archetype=4), 20, progress=seen.append)
    assert sorted(comparison.settings.archetype for comparison in found.comparisons) == list(range(6))
    assert {step.total for step in seen} == {6 * len(COMPARISON_STEPS)}
    assert seen[-1].done == 6 * len(COMPARISON_STEPS) - 1


def test_the_archetype_warning_is_removed_after_a_passed_check(tmp_path):
    a, b = pair()
    result = compare(a, b, QUICK)
    result = replace(result, ambiguous=len(result.t))
    asked = lambda one: any("with another archetype" in warning for warning in one.warnings)  # noqa: E731
    assert asked(result)
    agreeing = ArchetypeSensitivity((result, result))
    differing = ArchetypeSensitivity((result, compare(a, Ensemble(list(blobs(30, 60, seed=2))), QUICK)))
    assert not asked(agreeing.judged(result))
    assert asked(differing.judged(result))
    agreeing.judged(result).save(tmp_path / "x.npz")
    assert not asked(Comparison.load(tmp_path / "x.npz"))
