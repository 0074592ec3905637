"""Explanations of whole comparisons: only known differences are reported; swaps as control experiments."""

from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from curve_makers import blobs, load_curves
from napari_shape_ensembles import Ensemble, Settings, compare, explain, resynthesis, samples
from napari_shape_ensembles.comparison.answer import differing
from napari_shape_ensembles.explanation.explain import EXPLANATION_STEPS
from napari_shape_ensembles.explanation.properties import properties
from napari_shape_ensembles.explanation.swaps import polar_factors
from napari_shape_ensembles.progress import Progress, Stopped, reporting
from napari_shape_ensembles.shapes import to_landmarks

QUICK = Settings(landmarks=100, rank=20, permutations=199)
FEWER = Settings(landmarks=120, rank=60, permutations=299)


def differences(result):
    return (*differing(result.scale), *differing(result.undulation))


def grains(shared_data, key):
    factor, *origin = np.load(shared_data / "paper" / "pil184_grains.npz")[f"{key}_to_steps"]
    curves = load_curves(shared_data / "paper" / "pil184_grains.npz", key)
    return Ensemble([curve * factor + origin[::-1] for curve in curves])


@pytest.fixture(scope="module")
def small():
    a = Ensemble(list(blobs(40, 80, seed=1)), name="one", unit="um")
    b = Ensemble(list(blobs(40, 80, seed=2) * 1.6), name="two", unit="um")
    return compare(a, b, QUICK)


@pytest.fixture(scope="module")
def explained(small):
    return explain(small)


def test_representations_do_not_list_arrays(explained):
    """At a prompt, thousands of coordinates would push the question off the screen."""
    for result in (explained, explained.form, explained.modes, explained.comparison.undulation):
        assert repr(result).startswith(f"{type(result).__name__}(")
        assert len(repr(result)) < 500
    assert "mean=<ndarray of shape (100, 2)>" in repr(explained.form)
    assert f"p_value={explained.comparison.undulation.p_value!r}" in repr(explained.comparison.undulation)
    single = replace(explained.form, mean=np.array(0.5))
    assert "mean=array(0.5)" in repr(single)


def test_noise_on_the_grains_of_the_paper_is_roughness_confirmed_by_swaps(shared_data):
    a, b = (grains(shared_data, key) for key in ("hlf1_noisy", "hlf2_smooth5"))
    result = compare(a, b, FEWER)
    found = explain(result)
    assert differences(result) == ("coarse form", "roughness", "concavity")
    assert found.components.share[3] > 0.9
    assert any(words.startswith("B's outlines are smoother") for words in found.sentences())
    fine = [mode for mode in found.modes.order()[:20].tolist() if found.modes.label(mode).startswith("waves of")]
    assert fine
    assert all("B's outlines are smoother; B's spread is 0." in found.modes.sentence(mode) for mode in fine)
    swaps = resynthesis(result)
    assert_only_replaced_parts_differ(swaps, result)


def assert_only_replaced_parts_differ(swaps, result):
    """More than one of the four tests of kept parts rejects with a probability of 0.004: 6 · 0.025²."""
    kept = 0
    for swap in swaps:
        kept += (swap.of_form.undulation if swap.form == swap.against else swap.of_scale.scale).rejected
        assert {*swap.expected(result)} <= {*swap.found()}
    assert kept <= 1


def test_stretched_grains_are_only_more_elongated(shared_data):
    a, b = (grains(shared_data, key)[::2] for key in ("hlf1_smooth5", "hlf2_smooth5"))
    result = compare(a, Ensemble([curve * [1.4, 1 / 1.4] for curve in b.curves]), FEWER)
    found = explain(result)
    assert differences(result) == ("elongation",)
    assert found.components.share[1] > 0.97
    swaps = resynthesis(result)
    assert [swap.case for swap in swaps] == ["1∧0", "1∧1", "1∧1", "1∧0"]
    assert swaps[0].plot().get_title(loc="left") == "1∧0"


def test_powder_particles_differ_in_size():
    result = compare(*samples.powder_outlines().ensembles(), FEWER)
    assert differences(result) == ("size",)
    assert result.estimates["estimate"][0] == pytest.approx(0.81, abs=0.02)
    assert_only_replaced_parts_differ(resynthesis(result), result)


def test_old_battery_particles_are_smaller(shared_data):
    path = shared_data / "paper" / "battery_curves.npz"
    a, b = (Ensemble(load_curves(path, f"{age}_sigma15")) for age in ("new", "old"))
    assert differences(compare(a, b, FEWER)) == ("size",)


def test_a_size_difference_is_explained_as_such(small, explained):
    found, result = explained, small
    assert differences(result) == ("size",)
    assert result.estimates["estimate"][0] == pytest.approx(1.6, rel=0.2)
    assert found.sentences()[0].startswith("two's outlines are larger: 1.")
    assert "area" in found.descriptors.tests.names
    area = found.descriptors.tests.names.index("area")
    assert found.descriptors.tests.adjusted[area] <= 0.01
    assert found.descriptors.medians[1, area] > found.descriptors.medians[0, area]


def test_witnesses_are_of_the_deciding_description(small):
    table = small.witnesses
    assert table["sample"].tolist() == ["one"] * 40 + ["two"] * 40
    from napari_shape_ensembles.mmd.witness import witness

    deciding = min(small.scale.parts, key=lambda name: small.scale.parts[name].p_value)
    expected = witness(small.scale_parts().tested[deciding].points, 40)
    np.testing.assert_array_equal(table["witness_scale"], expected)
    assert expected[:40].mean() > 0 > expected[40:].mean()


def test_steps_are_ordered_and_cancellable(small):
    seen = []
    explain(small, progress=seen.append)
    assert seen == [Progress(name, index, len(EXPLANATION_STEPS)) for index, name in enumerate(EXPLANATION_STEPS)]
    heard = []
    with reporting(heard.append, stop=lambda: bool(heard)), pytest.raises(Stopped):
        explain(small)
    assert heard == seen[:1]


@pytest.mark.parametrize("name", ["computing shares", "testing descriptors"])
def test_a_step_can_be_cancelled_midway(small, name):
    heard, asked = [], []

    def stop():
        asked.extend(step.name for step in heard[-1:])
        return asked.count(name) > 2

    with reporting(heard.append, stop), pytest.raises(Stopped):
        explain(small)
    assert heard[-1].name == name


def test_the_same_seed_gives_the_same_explanation(small, explained):
    one, other = explained, explain(small)
    assert one.sentences() == other.sentences()
    np.testing.assert_array_equal(one.modes.tests.adjusted, other.modes.tests.adjusted)


def test_swaps_use_all_curves_for_the_replaced_part_and_halves_for_the_kept(small):
    swaps = resynthesis(small)
    assert [(swap.form, swap.scale, swap.against) for swap in swaps] == [
        ("A", "B", "A"),
        ("A", "B", "B"),
        ("B", "A", "A"),
        ("B", "A", "B"),
    ]
    for swap in swaps:
        for source, read in ((swap.form, swap.of_form), (swap.scale, swap.of_scale)):
            assert len(read.a) == len(read.b) == (20 if source == swap.against else 40)
    areas = [swap.of_scale.a.features["area"].median() for swap in swaps]
    assert areas[0] > 1.5 * areas[2]  # B's scale is larger


def test_swaps_permute_curves_if_the_comparison_permuted_images(small):
    """Curves made of parts of two images belong to neither; one image per sample could never be distinguished."""
    of_images = compare(small.a, small.b, small.settings, permute="images")
    assert [swap.case for swap in resynthesis(of_images)] == [swap.case for swap in resynthesis(small)]


def test_no_curve_is_in_both_samples_of_a_swap():
    """Forms reveal their curve by the area in units of scale, scales by their size: none may be in both samples."""
    a = Ensemble([curve * size for curve, size in zip(blobs(30, 80, seed=1), np.linspace(1, 2, 30), strict=True)])
    b = Ensemble([curve * size for curve, size in zip(blobs(17, 80, seed=2), np.linspace(3, 4, 17), strict=True)])
    for swap in resynthesis(compare(a, b, QUICK)):
        for source, read, measured in (
            (swap.form, swap.of_form, lambda one: properties(one)["triangularity"]),
            (swap.scale, swap.of_scale, lambda one: properties(one)["size"]),
        ):
            made, others = (measured(to_landmarks(side, 100)) for side in (read.a, read.b))
            assert len(made) == {"A": 30, "B": 17}[source] // (2 if source == swap.against else 1)
            everything = np.sort(np.concatenate([made, others]))
            assert (np.diff(everything) > 1e-6 * everything[1:]).all()


def test_a_swap_preserves_undulation_up_to_rounding(small):
    """Retraced at another scale, an outline keeps its undulation, since the measure is affine."""
    forms, scales = polar_factors(small)
    made = [Ensemble(list(np.sqrt(100) * forms[:40] @ scales[rows])) for rows in (slice(40), slice(40, 80))]
    found = compare(*made, QUICK)
    np.testing.assert_allclose(found.t[40:], found.t[:40], atol=1e-9 * found.t.std())


@pytest.mark.parametrize(("count", "call"), [(1, explain), (3, resynthesis)])
def test_too_few_curves_are_rejected(count, call):
    result = compare(Ensemble(list(blobs(count, 60))), Ensemble(list(blobs(9, 60, seed=3))), QUICK)
    with pytest.raises(ValueError, match=f"{count} and 9 curves"):
        call(result)


def test_an_explanation_reports_an_inconclusive_verdict(small, explained):
    undecided = replace(explained, comparison=replace(small, row_depends_on_archetype=True))
    assert undecided.sentences()[0].startswith("The comparison is inconclusive")
    decided = replace(small, settings=replace(small.settings, permutations=999))
    assert not replace(explained, comparison=decided).sentences()[0].startswith("The comparison is inconclusive")


def test_a_small_part_of_the_outline_is_not_rounded_to_none(small, explained):
    effect = np.zeros(1000)
    effect[0] = 2 * explained.form.effect_threshold
    form = replace(small.undulation, rejected=True)
    differs = replace(small, undulation=form)
    one = replace(explained, comparison=differs, form=replace(explained.form, effect=effect))
    words = "On less than 1% of the outline the mean form differs."
    assert words not in one.sentences()
    assert "have no common form" in one.sentences()[-1]
    vars(differs)["has_common_form"] = (True, True)
    assert words not in one.sentences()  # the coarse form does not differ
    assert not one.mean_differs.any()
    vars(differs)["quantity_p_values"] = {"coarse form": (0.001, 0.001)}
    assert words in one.sentences()


def test_explanations_are_identical_for_any_number_of_threads():
    a, b = (Ensemble(list(blobs(300, 60, seed=seed))) for seed in (1, 2))
    result = compare(a, b, Settings(landmarks=100, rank=20, permutations=199))
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            found.append(explain(result))
    for part in ("components", "form", "modes"):
        for name, one in vars(getattr(found[0], part)).items():
            if isinstance(one, np.ndarray):
                assert one.tobytes() == getattr(getattr(found[1], part), name).tobytes(), f"{part}.{name}"


def test_modes_are_stated_only_where_the_form_differs(small, explained):
    """The answer of two images said that no difference in form was detected, and the next page that modes differ."""
    level = explained.comparison.settings.significance
    modes = replace(explained.modes, variance=np.where(np.arange(20) == 3, 0.001, explained.modes.variance))
    adjusted = np.full(20, 0.5)
    adjusted[[3, 4]] = level / 3, level / 2
    seen = replace(explained, modes=replace(modes, tests=replace(modes.tests, adjusted=adjusted)))
    assert not any(one.about.startswith("mode") for one in seen.statements())
    rejected = replace(seen, comparison=replace(small, undulation=small.scale))
    said = next(one for one in rejected.statements() if one.about.startswith("mode"))
    assert said.about == "mode 5"  # mode 4 has no visible effect
    assert said.text.startswith("2 of 20 modes of form differ. Mode 5 ")
    assert seen.modes.by_relevance(level)[:2] == [4, 3]
