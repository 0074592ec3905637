"""Selection by the image border: weighted estimates have the planted values, and unequal windows are made equal."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from napari_shape_ensembles import Ensemble, Settings, compare, experiment, explain
from napari_shape_ensembles.comparison import Comparison, Experiment
from napari_shape_ensembles.comparison.border import at_one_window
from napari_shape_ensembles.comparison.estimates import Units, mean_ratios
from napari_shape_ensembles.explanation.headline import headline
from napari_shape_ensembles.explanation.paper import experiment_methods, image_table, methods
from napari_shape_ensembles.mmd.contrasts import bootstrap_counts
from napari_shape_ensembles.outlines.reasons import Reason

QUICK = Settings(landmarks=32, rank=3, permutations=99)
SPREAD = 0.4
_TURN = 2 * np.pi * np.arange(48) / 48
# Boxes of (1 + 0.1 cos 3θ) e^iθ, whose forms are all alike.
_FORM = (1 + 0.1 * np.cos(3 * _TURN)) * np.exp(1j * _TURN)


def kept_sizes(diameter, count):
    """Log sizes of discs of lognormal diameter that lie whole in a window of side 1: quantiles of their exact law."""
    z = np.linspace(-5, 5, 20_001)
    density = np.exp(-(z**2) / 2) * np.maximum(1 - diameter * np.exp(SPREAD * z), 0) ** 2
    share = np.cumsum(density) / density.sum()
    return SPREAD * np.interp((np.arange(count) + 0.5) / count, share, z)


def sample(sizes, diameter, side=1.0, name="", turn=1.0):
    """Outlines of these log sizes, whose bounding boxes are nearly squares of their diameters, in a square window."""
    curves = [diameter / 2 * np.exp(size) * turn * _FORM for size in sizes]
    points = [np.stack([curve.real, curve.imag], axis=1) for curve in curves]
    return Ensemble(points, name=name, unit="mm", window=None if side is None else (side, side))


@cache
def of_two_sizes(correction, windows=True):
    """Comparison of outlines of which the large ones are on average twice as large before the border selects them."""
    side = 1.0 if windows else None
    sides = [
        sample(kept_sizes(diameter, 120), diameter, side, name) for diameter, name in ((0.08, "small"), (0.16, "large"))
    ]
    return compare(*sides, QUICK, border_correction=correction)


def test_kept_over_true_size_is_0_96_at_a_tenth_of_the_window_and_one_with_weights():
    rng = np.random.default_rng(0)
    size, places = rng.normal(0, SPREAD, 40_000), rng.uniform(size=(40_000, 2))
    across = 0.1 * np.exp(size)[:, None]
    inside = ((places > across / 2) & (places < 1 - across / 2)).all(axis=1)
    squares = [np.array([(0, 0), (0, d), (d, d), (d, 0)]) for d in across[inside, 0]]
    weights = Ensemble(squares, window=(1, 1)).border_weights
    # The other side was not selected.
    pooled, none = np.concatenate([size, size[inside]])[:, None], np.zeros((0, len(size) + inside.sum()))
    ratio, _, high = mean_ratios(pooled, len(size), none, Units())[:, 0]
    assert ratio == pytest.approx(0.96, abs=0.005)
    assert high < 1
    weighted = mean_ratios(pooled, len(size), none, Units(weights=np.concatenate([np.ones(len(size)), weights])))[:, 0]
    assert weighted[0] == pytest.approx(1, abs=0.01)
    assert weighted[1] < 1 < weighted[2]


def test_weighted_ratios_are_those_before_the_border_selected():
    found = {on: of_two_sizes(on).ratios.set_index("quantity")["estimate"] for on in (True, False)}
    selected = np.exp(kept_sizes(0.16, 120).mean() - kept_sizes(0.08, 120).mean())
    assert found[False]["size"] == pytest.approx(2 * selected, rel=1e-3)
    assert selected < 0.97
    assert found[True]["size"] == pytest.approx(2, rel=0.01)
    assert found[True]["area"] == pytest.approx(4, rel=0.03)
    assert found[False]["area"] < 3.7
    assert abs(np.log(found[True]["spread of size"])) < abs(np.log(found[False]["spread of size"])) / 3


def test_tests_are_not_weighted_and_nothing_changes_or_is_said_without_windows():
    on, off, unknown = of_two_sizes(True), of_two_sizes(False), of_two_sizes(True, windows=False)
    assert on.scale.p_value == off.scale.p_value == unknown.scale.p_value
    assert_allclose(on.ratios["p"], off.ratios["p"], rtol=0)
    columns = ["estimate", "low", "high"]
    assert_allclose(unknown.ratios[columns], off.ratios[columns], rtol=1e-9)
    for result in (off, unknown):
        assert (result.weights == 1).all()
        assert not any("border" in words for words in result.warnings)
        assert "Miles" not in methods(result, None, headline(result))


def test_it_is_said_by_how_much_mean_sizes_change():
    result = of_two_sizes(True)
    (said,) = [words for words in result.warnings if "border" in words]
    factors = [
        np.exp(np.average(size, weights=weights) - size.mean())
        for size, weights in zip(
            np.split(result.components["size"], [120]), np.split(result.weights, [120]), strict=True
        )
    ]
    assert said == (
        "Ratios are weighted for outlines cut by the image border (Miles 1974; Lantuéjoul 1980), which are large ones "
        f"more often: mean sizes are {factors[0]:.3f} times in small and {factors[1]:.3f} times in large what they "
        "would be without weights."
    )
    assert said in methods(result, None, headline(result))
    tiny = compare(sample(kept_sizes(0.01, 30), 0.01), sample(kept_sizes(0.01, 30), 0.012), QUICK)
    assert not any("border" in words for words in tiny.warnings)


def test_images_have_weighted_means_in_experiments_too(tmp_path):
    images = [
        sample(kept_sizes(d, 40) + shift, d, 1.0, f"{d} {shift}") for d in (0.08, 0.16) for shift in (0, 0.01, 0.02)
    ]
    design = pd.DataFrame({"group": ["small"] * 3 + ["large"] * 3})
    result = experiment(images, design, QUICK)
    contrast = result.contrast("small", "large")
    size = contrast.ratios.set_index("quantity").loc["size", "estimate"]
    assert size == pytest.approx(2, rel=0.01)
    assert result.table["scale_effect"][0] == pytest.approx(size, rel=1e-12)
    means = image_table(contrast).groupby("sample")["size"].apply(lambda of: np.exp(np.log(of).mean()))
    assert means["large"] / means["small"] == pytest.approx(size, rel=1e-9)
    (said,) = [words for words in result.warnings if "border" in words]
    assert said in experiment_methods(result, None)
    result.save(tmp_path / "sizes.experiment.npz")
    assert Experiment.load(tmp_path / "sizes.experiment.npz").groups.ratios(0, 1)["size"][0] == pytest.approx(size)
    # Ratios to a group of unknown windows have equal weights.
    unknown = [Ensemble(image.curves, name=image.name, unit="mm") for image in images[:3]]
    partly = experiment([*unknown, *images[3:]], design, QUICK)
    assert set(partly.groups.size_factors.values()) == {1.0}
    (said,) = [words for words in partly.warnings if "border" in words]
    assert said.startswith("The extent of 0.08 0, 0.08 0.01, 0.08 0.02 is unknown")


def test_weights_survive_a_file_and_a_comparison_at_one_precision(tmp_path):
    fine = sample(kept_sizes(0.16, 60), 40, 250.0, "fine")
    whole = fine.derived([np.round(curve) for curve in fine.curves], name="whole")
    result = compare(fine, whole, QUICK)
    assert result.compared[0] is not result.a
    assert result.compared[0].window == (250, 250)
    assert result.weights.max() > 1.5
    result.save(tmp_path / "one.comparison.npz")
    again = Comparison.load(tmp_path / "one.comparison.npz")
    assert_allclose(again.weights, result.weights, rtol=0)
    assert_allclose(again.ratios["estimate"], result.ratios["estimate"])
    assert explain(again) is not None


def test_of_the_larger_window_as_many_of_each_size_are_left_out_as_the_smaller_one_would_have_cut():
    large, small = (
        sample(kept_sizes(0.04, 400), 0.04 * 5, 5.0, "large"),
        sample(kept_sizes(0.2, 100), 0.2, 1.0, "small"),
    )
    ((kept,), (same,)), note = at_one_window([[large], [small]])
    assert same is small
    assert kept.window == pytest.approx((1, 1))
    size = np.log(np.sqrt(kept.features["area"].to_numpy()))
    expected = np.log(np.sqrt(small.features["area"].to_numpy()))
    assert_allclose(np.quantile(size, [0.1, 0.5, 0.9]), np.quantile(expected, [0.1, 0.5, 0.9]), atol=0.02)
    sides = np.array([np.ptp(curve, axis=0) for curve in large.curves])
    ratio = np.maximum(1 - sides, 0).prod(axis=1) / (1 - sides / 5).prod(axis=1)
    assert abs(len(kept) - ratio.sum()) <= 1
    lost = len(large) - len(kept)
    assert kept.dropped == {Reason("window"): lost}
    assert note.startswith(f"{lost} outlines of large were left out, as many of each size as the border")
    result = compare(large, small, QUICK)
    assert (len(result.a), len(result.b)) == (len(kept), 100)
    assert result.note == note
    untouched = compare(large, small, QUICK, border_correction=False)
    assert len(untouched.a) == 400
    ratios = [one.ratios.set_index("quantity").loc["size", "estimate"] for one in (result, untouched)]
    assert ratios == [pytest.approx(1, abs=0.02), pytest.approx(0.935, abs=0.01)]
    assert untouched.scale.p_value < 0.5 < result.scale.p_value


def test_the_smallest_height_and_the_smallest_width_of_groups_are_those_of_all():
    sizes = kept_sizes(0.1, 50)
    wide, high = (sample(sizes, 0.1).derived(sample(sizes, 0.1).curves, window=sides) for sides in ((1, 2), (2, 1)))
    ((one,), (other,)), _ = at_one_window([[wide], [high]])
    assert one.window == other.window == pytest.approx((1, 1))


def test_windows_that_vary_alike_in_all_groups_or_are_unknown_leave_everything():
    sizes = kept_sizes(0.1, 30)
    group = [sample(sizes, 0.1, side, str(side)) for side in (1.0, 3.0)]
    for groups in ([group, group[::-1]], [group, [sample(sizes, 0.1, None, "A")]], [group[:1], group[:1], group[:1]]):
        found, note = at_one_window(groups)
        unknown = "The extent of A is unknown: whether borders cut large outlines alike was not taken into account"
        assert note == (unknown if len(groups[1]) == 1 and len(groups) == 2 else "")
        assert all(
            one is given for new, old in zip(found, groups, strict=True) for one, given in zip(new, old, strict=True)
        )


def test_a_side_that_loses_most_outlines_for_a_small_image_says_so_as_a_finding():
    many, few = sample(kept_sizes(0.02, 60), 0.02 * 20, 20.0, "many"), sample([0, 0.1, -0.1], 0.4, 1.0, "few")
    result = compare(many, few, QUICK)
    lost = 60 - len(result.a)
    finding = next(one for one in result.quality.findings if one.check == "windows")
    assert finding.text.startswith(f"{lost} of 60 outlines of many were left out, as the border of much smaller images")
    assert not finding.serious
    assert lost > 30


@pytest.mark.parametrize("entry", ["wide", 0, -1, np.nan])
def test_a_window_that_is_no_positive_number_is_unknown(entry):
    sizes = kept_sizes(0.1, 3)
    mixed = Ensemble.pooled([sample(sizes, 0.1, side, str(side)) for side in (1.0, 3.0)])
    column = mixed.metadata["window_width"].astype(type(entry))
    column.iloc[0] = entry
    damaged = mixed.derived(mixed.curves, metadata=mixed.metadata.assign(window_width=column))
    assert np.isnan(damaged.border_weights).tolist() == [True] + [False] * 5


def test_pooled_images_of_unequal_windows_are_made_equal_on_average():
    sizes = kept_sizes(0.1, 60)
    mixed = Ensemble.pooled([sample(sizes, 0.1, side, str(side)) for side in (1.0, 3.0)])
    ((kept,), _), _ = at_one_window([[mixed], [sample(sizes, 0.1)]])
    assert_allclose((1 / kept.windows).mean(axis=0), 1, rtol=0.02)
    assert len(kept) < len(mixed)


def test_intervals_of_weighted_means_hold_the_truth():
    """Discs of one law, seen through a window and without one: the ratio is 1 before selection."""
    rng, held = np.random.default_rng(3), []
    for seed in range(150):
        size = rng.normal(0, SPREAD, 240)
        across = 0.2 * np.exp(size)
        chosen = size[rng.uniform(size=240) < np.maximum(1 - across, 0) ** 2][:60]
        weights = np.concatenate([np.ones(60), 1 / (1 - 0.2 * np.exp(chosen)) ** 2])
        values = np.concatenate([rng.normal(0, SPREAD, 60), chosen])[:, None]
        _, low, high = mean_ratios(
            values, 60, bootstrap_counts(60, 60 + len(chosen), 150, seed), Units(weights=weights)
        )[:, 0]
        held.append(low < 1 < high)
    assert 0.9 < np.mean(held) < 0.99


def test_images_cropped_around_single_outlines_stay_whole():
    small, large = ([sample([0], d, 1.2 * d, f"{name}{i}") for i in range(4)] for name, d in (("s", 1), ("l", 2)))
    (a, b), note = at_one_window([small, large])
    assert [*a, *b] == [*small, *large]
    assert note.endswith("none were left out to make up for it, as nothing of l0, l1, l2 and 1 more would be left")
    # Images that are pooled count, too; the first of these keeps some.
    pooled = Ensemble.pooled([sample(kept_sizes(0.1, 60), 0.1, 9.0, "field"), large[0]])
    ((kept,), _), note = at_one_window([[pooled], small])
    assert kept is pooled
    assert note.endswith("as nothing of l0 would be left")


def test_the_change_of_a_mean_size_is_that_of_the_means_of_images():
    # Each has outlines of one size: weights that differ between images change no mean within them.
    images = [sample([np.log(side)] * 5, 0.3, side**2, f"{side}") for side in (1, 1.5, 2, 1.1, 1.6, 2.1)]
    assert compare(images[:3], images[3:], QUICK).size_factors == pytest.approx({"A": 1, "B": 1}, rel=1e-12)
    groups = experiment(images, pd.DataFrame({"group": ["a"] * 3 + ["b"] * 3}), QUICK).groups
    assert groups.size_factors == pytest.approx({"a": 1, "b": 1}, rel=1e-12)
