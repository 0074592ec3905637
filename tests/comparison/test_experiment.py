"""Experiments with groups of images: synthetic and real outlines."""

from collections import Counter
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imageio.v3 import imread
from scipy import stats

from napari_shape_ensembles import (
    Comparison,
    Ensemble,
    Experiment,
    Outlines,
    Settings,
    archetype_sensitivity,
    compare,
    experiment,
)
from napari_shape_ensembles.comparison import engine
from napari_shape_ensembles.comparison.answer import ratio_words
from napari_shape_ensembles.comparison.precision import at_one_precision
from napari_shape_ensembles.comparison.quantities import BENDS, LOBES, lobes
from napari_shape_ensembles.comparison.replicate_quantities import t_test_power
from napari_shape_ensembles.comparison.saved import EXPERIMENT, read_view
from napari_shape_ensembles.io import rerun
from napari_shape_ensembles.samples.synthetic import draw_forms, draw_scales
from napari_shape_ensembles.shapes import ShapeSpace
from napari_shape_ensembles.shapes.lobes import BANDS

QUICK = Settings(landmarks=64, rank=10, significance=0.05)


@cache
def image(seed, *, count=12, size=10.0, elongation=1.4, roughness=0.03, between=0.03, name="", unit="µm"):
    """An image of outlines whose mean size varies from image to image."""
    rng = np.random.default_rng(seed)
    forms = draw_forms(rng, count, roughness=roughness, waves=(6, 10), vertices=80)
    own = size * np.exp(between * rng.normal())
    scales = draw_scales(rng, count, size=own, spread=0.1, elongation=elongation)
    return Ensemble(forms @ scales, name=name or f"image {seed}", unit=unit)


def groups_of(sizes, factors, **more):
    """Images of groups, with the outlines of each group scaled by its factor."""
    images = [
        image(100 * g + i, size=10 * factor, **more)
        for g, (size, factor) in enumerate(zip(sizes, factors, strict=True))
        for i in range(size)
    ]
    return images, pd.DataFrame({"group": np.repeat([f"g{g}" for g in range(len(sizes))], sizes)})


@pytest.fixture(scope="module")
def three():
    images, design = groups_of((5, 5, 5), (1, 1, 1.5))
    return experiment(images, design.assign(dose=np.repeat([0.0, 1, 4], 5)), QUICK)


@pytest.fixture(scope="module")
def alike():
    """Two groups of many images of nearly the same size, and one group of larger outlines."""
    return experiment(*groups_of((8, 8, 8), (1, 1, 1.3), between=0.01, count=25), QUICK)


def test_images_may_be_generated_lazily():
    images, design = groups_of((3, 3), (1, 1.5))
    assert experiment((one for one in images), design, QUICK).table.equals(experiment(images, design, QUICK).table)


def test_groups_may_be_given_by_name():
    images, design = groups_of((3, 4), (1, 1.5))
    found = experiment({"g0": images[:3], "g1": images[3:]}, settings=QUICK)
    assert found.table.equals(experiment(images, design, QUICK).table)
    with pytest.raises(TypeError, match="'g0' must be a list of ensembles, not int"):
        experiment({"g0": 3})
    with pytest.raises(ValueError, match="'g1' has no ensembles"):
        experiment({"g0": images[:3], "g1": [], "g2": images[3:]})


def test_images_of_unequal_pixel_size_are_compared_at_the_largest(tmp_path):
    rng = np.random.default_rng(0)
    images = []
    for place in range(6):
        step = 2 if place == 3 else 1  # one image with pixels twice as large
        rows, columns = np.indices((240 // step, 240 // step)) * step
        labels = np.zeros(rows.shape, int)
        for label, (top, left) in enumerate(np.ndindex(4, 4), start=1):
            size = rng.uniform(16, 20, 2)
            labels[np.hypot((rows - 60 * top - 30) / size[0], (columns - 60 * left - 30) / size[1]) < 1] = label
        images.append(Ensemble.from_labels(labels, scale=(0.1 * step,) * 2, unit="µm", name=f"{place}"))
    design = pd.DataFrame({"group": [*"aaabbb"]})
    found = experiment(images, design, QUICK)
    assert "brought to the coarser precision of the others" in found.groups.note
    assert f"{found.groups.note}." in found.warnings
    assert Experiment.of_tree(found.to_tree()).warnings == found.warnings
    _, compared, note = at_one_precision([images[:3], images[3:]])
    assert note == found.groups.note
    assert experiment([*compared[0], *compared[1]], design, QUICK).table.equals(found.table)
    found.save(tmp_path / "pixels.experiment.npz")
    assert rerun(tmp_path / "pixels.experiment.npz").same
    for result in (found, Experiment.load(tmp_path / "pixels.experiment.npz")):
        contrast, own = result.contrast("a", "b"), Ensemble.pooled(images[:3])
        np.testing.assert_array_equal(contrast.a.vertices, own.vertices)
        np.testing.assert_array_equal(contrast.compared[0].vertices, Ensemble.pooled(compared[0]).vertices)
        assert contrast.compared[1] is contrast.b
        assert (result.to_dataframe()["area"][: len(own)] == own.features["area"]).all()
    assert experiment(images[:3] + images[4:], design.drop(3), QUICK).groups.note == ""


def test_no_ratio_is_said_of_waves_that_pixels_do_not_hold():
    """Of objects 9 px across the roughness is not tested: a sentence gave its ratio as what differs in form."""
    rng, images = np.random.default_rng(0), []
    for place in range(6):
        rows, columns = np.indices((72, 72))
        labels = np.zeros(rows.shape, int)
        for label, (top, left) in enumerate(np.ndindex(4, 4), start=1):
            size = rng.uniform(4, 5, 2)
            labels[np.hypot((rows - 18 * top - 9) / size[0], (columns - 18 * left - 9) / size[1]) < 1] = label
        images.append(Ensemble.from_labels(labels, scale=(0.1, 0.1), unit="µm", name=f"{place}"))
    design = pd.DataFrame({"group": [*"aaabbb"], "age": [1.0, 2, 4, 1, 3, 5]})
    found = experiment(images, design, QUICK)
    assert any("Not tested: roughness" in words for words in found.warnings)
    said = [*found.sentences(), *found.overall(given=["age"])]
    assert "roughness" not in " ".join(said)
    assert "size ratio" in said[0]
    assert found.table[["undulation_effect", "undulation_low", "undulation_high"]].isna().all(axis=None)
    effects = found.effects.set_index("quantity")["ratio"]
    assert np.isnan(effects["roughness"])
    assert np.isfinite(effects[["size", "elongation"]]).all()
    assert found.table["elongation"][0] == effects["elongation"]


def test_serious_outline_faults_withhold_the_row_of_a_contrast():
    images, design = groups_of((5, 5, 5), (1, 1, 1.5))
    images[12] = Ensemble([*images[2].curves[:6], *images[12].curves[6:]], name="field 12", unit="µm")
    found = experiment(images, design, QUICK)
    assert compare(images[:5], images[10:], QUICK).case == "inconclusive"
    cases = found.table.set_index("contrast")["case"]
    withheld = ["g2 - g0"]
    assert cases[cases == "inconclusive"].index.tolist() == withheld
    reason = "6 outlines occur twice, in image 2 (g0) and in field 12 (g2)"
    assert f"g2 against g0: inconclusive: {reason}: look at the outlines first." in found.sentences()
    assert any(words.startswith(reason) for words in found.warnings)
    same = found.equivalence().set_index("contrast")["case"]
    assert same[same == "inconclusive"].index.tolist() == withheld
    again = Experiment.of_tree(found.to_tree())
    assert again.overall() == found.overall()
    assert found.overall()[0] == f"Over all 3 groups: inconclusive ({reason}: look at the outlines first)."
    assert (again.all_faults, again.table["case"].tolist()) == (found.all_faults, found.table["case"].tolist())
    overruled = experiment(images, design, QUICK, overrule=True)
    assert overruled.table["case"].tolist() == ["1∧1", "1∧0", "1∧0"]
    assert overruled.overall()[0].startswith("Over all 3 groups: form ")
    assert any(words.startswith(reason) for words in overruled.warnings)


def test_serious_outline_faults_withhold_all_other_results():
    images, design = groups_of((5, 5), (1, 1.5))
    images[8] = Ensemble([*images[2].curves[:6], *images[8].curves[6:]], name="field 8", unit="µm")
    design = design.assign(dose=range(10), sex=list("mfmfmmfmfm"))
    reason = "6 outlines occur twice, in image 2 (g0) and in field 8 (g1): look at the outlines first"
    said = experiment(images, design, QUICK).overall(["dose"], [("group", "sex")])
    assert said[:-1] == [
        f"Given dose: inconclusive ({reason}).",
        f"With dose: inconclusive ({reason}).",
        f"Interaction group × sex: inconclusive ({reason}).",
    ]
    alone = experiment(images, design.assign(group="g"), QUICK)
    reason = "6 outlines occur twice, in image 2 (g) and in field 8 (g)"
    assert alone.overall()[0] == f"With dose: inconclusive ({reason}: look at the outlines first)."
    assert any(words.startswith(reason) for words in alone.warnings)


def test_the_table_names_each_contrast_with_its_numbers(three):
    table = three.table.set_index("contrast")
    assert table.index.tolist() == ["g1 - g0", "g2 - g0", "g2 - g1"]
    assert table["case"].tolist() == ["1∧1", "1∧0", "1∧0"]
    assert (table["scale_p_adjusted"] >= table["scale_p"]).all()
    assert table["scale_n_replicates"].tolist() == [10] * 3
    assert table["scale_least_p"].tolist() == pytest.approx([2 / 252] * 3)
    row = table.loc["g2 - g0"]
    assert row["scale_low"] < 1.5 < row["scale_high"]
    assert table.loc["g1 - g0", "scale_low"] < 1 < table.loc["g1 - g0", "scale_high"]
    assert {f"undulation_{name}" for name in ("p", "p_adjusted", "statistic", "effect", "low", "high")} <= {*table}


def test_markers_of_withheld_rows_are_not_filled():
    def filled(result):
        return [line.get_fillstyle() == "full" for line in result.plot().lines if line.get_marker() in ("o", "s", "^")]

    images, design = groups_of((5, 5), (1, 1.5))
    images[8] = Ensemble([*images[2].curves[:6], *images[8].curves[6:]], name="field 8", unit="µm")
    withheld = experiment(images, design, QUICK)
    assert any(filled(withheld.overruled()))
    assert len(filled(withheld)) == len(filled(withheld.overruled()))
    assert not any(filled(withheld))


def test_a_contrast_is_a_comparison_with_the_numbers_of_its_row(three):
    for row in three.table.to_dict("records"):
        found = three.contrast(row["a"], row["b"])
        assert (found.names, found.case, found.differs) == ((row["a"], row["b"]), row["case"], row["differs"])
        assert (found.permuted, found.unit_counts, found.least_p) == ("images", (5, 5), row["scale_least_p"])
        for name, test in (("undulation", found.undulation), ("scale", found.scale)):
            assert (test.p_value, test.mmd) == (row[f"{name}_p"], row[f"{name}_statistic"])
        assert found.p_adjusted == (row["undulation_p_adjusted"], row["scale_p_adjusted"])
        assert found.small_sample == (row["undulation_small_sample_p"], row["scale_small_sample_p"])
        assert len(found.t) == len(found.outlines) == 120
    assert "adjusted for all contrasts" in found.summary()
    turned = three.contrast("g2", "g0")
    assert turned.names == ("g2", "g0")
    assert turned.scale.p_value == three.contrast("g0", " g2\n").scale.p_value  # names as in the design, normalized
    with pytest.raises(ValueError, match="'g9' is not one of the groups: g0, g1, g2"):
        three.contrast("g0", "g9")
    with pytest.raises(ValueError, match="'g0' is compared with itself"):
        three.contrast("g0", "g0")


def test_a_pair_without_the_control_is_tested_by_itself():
    result = experiment(*groups_of((5, 5, 5), (1, 1, 1.5)), QUICK, control="g1")
    assert result.table["contrast"].tolist() == ["g0 - g1", "g2 - g1"]
    found = result.contrast("g0", "g2")
    assert (found.p_adjusted, found.case) == (None, "1∧0")


def test_an_experiment_learns_measures_and_tests_once(monkeypatch):
    calls = Counter()

    def counted(module, name):
        inner = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *args, **more: (calls.update([name]), inner(*args, **more))[1])

    for module, name in (
        (import_module(compare.__module__), "learn"),
        (import_module(experiment.__module__), "learn"),
        (engine, "components"),
        (engine, "lobes"),
        (engine, "replicate_mmd_test"),
        (engine, "mean_kernels_of_widths"),
        (ShapeSpace, "fit_held"),
    ):
        counted(module, name)
    result = experiment(*groups_of((5, 5, 5), (1, 1, 1.5)), QUICK)
    for row in result.table.to_dict("records"):
        found = result.contrast(row["a"], row["b"])
        assert (found.case, found.summary()) == (row["case"], found.summary())
    assert calls["learn"] == calls["fit_held"] == calls["components"] == calls["lobes"] == 1
    assert calls["replicate_mmd_test"] == 2 * 3
    assert calls["mean_kernels_of_widths"] == 3 + 5


def test_unreplicated_groups_are_compared_by_outlines_without_contradiction():
    """All pairs of single images: outlines are permuted, which no sentence calls impossible."""
    images, design = groups_of((1, 1, 1, 1), (1, 1, 1.6, 1), count=30, between=0)
    result = experiment(images, design, QUICK)
    assert "cannot reach" not in " ".join(result.warnings)
    assert result.settings.permutations == 1000  # enough for six contrasts at this level
    assert experiment(images, design, QUICK, significance=0.01).settings.permutations == 3600
    assert set(result.table["permuted"]) == {"curves"}
    larger = [False, True, False, True, False, True]
    assert (result.table["scale_p_adjusted"] <= 0.025).tolist() == larger
    assert result.distance.loc["g0", "g2"] > result.distance.loc["g0", "g1"]
    assert result.linkage.shape == (3, 4)
    for row in result.table.to_dict("records"):
        found = result.contrast(row["a"], row["b"])
        assert (found.permuted, found.replicates, found.case) == ("curves", None, row["case"])
        assert found.scale.p_value == row["scale_p"]


def test_replicates_of_several_images_are_permuted_whole(tmp_path):
    images, design = groups_of((8, 8), (1, 1.5))
    result = experiment(images, design.assign(replicate=np.repeat(np.arange(8), 2)), QUICK)
    found = result.contrast()
    assert (found.permuted, found.unit_counts, found.image_counts) == ("replicates", (4, 4), (8, 8))
    assert "(4 replicates, 96 curves)" in found.summary()
    assert found.scale.p_value == result.table["scale_p"][0] <= 2 / 70
    again = archetype_sensitivity(found, 2).comparisons[0]
    assert (again.scale.p_value, again.permuted) == (found.scale.p_value, "replicates")
    found.save(tmp_path / "contrast.npz")
    loaded = Comparison.load(tmp_path / "contrast.npz")
    assert (loaded.summary(), loaded.warnings) == (found.summary(), found.warnings)
    np.testing.assert_array_equal(loaded.replicates, found.replicates)


def test_omnibus_and_trend_find_simulated_effects(three):
    assert three.omnibus.scale < 0.01 < three.omnibus.undulation
    assert three.trend("dose").scale < 0.01 < three.trend("dose").undulation
    slope = three.quantities.slopes("dose").set_index("quantity").loc["size"]
    assert slope["low"] > 1
    # Given the dose, only the curvature of its effect remains.
    assert three.test("dose", given=["group"] if False else []).scale.p_value == three.trend("dose").scale
    with pytest.raises(ValueError, match="a numeric column, which 'group' is not; the design has dose"):
        three.trend("group")
    with pytest.raises(ValueError, match="no column 'age': choose one of group, dose"):
        three.test("age")


def test_effects_are_ratios_of_means_of_replicates(three):
    size = np.log(10) + three.quantities.means["size"] * 0
    a, b = (three.quantities.means["size"].to_numpy()[three.design.group == g] for g in (0, 2))
    effect = three.effects.set_index(["contrast", "quantity"]).loc[("g2 - g0", "size")]
    assert effect["ratio"] == pytest.approx(np.exp(b.mean() - a.mean()))
    low, high = stats.ttest_ind(b, a, equal_var=False).confidence_interval()
    assert (effect["low"], effect["high"]) == (pytest.approx(np.exp(low)), pytest.approx(np.exp(high)))
    assert size.notna().all()


def test_shares_of_variance_match_the_simulation():
    images, design = groups_of((12, 12), (1, 1), between=0.1, count=25)
    size = experiment(images, design, QUICK).quantities.variance.set_index("quantity").loc["size"]
    assert size["within"] == pytest.approx(0.1, rel=0.15)
    assert size["icc"] == pytest.approx(0.5, abs=0.15)
    assert size["design_effect"] == pytest.approx(1 + 24 * size["icc"])
    assert size["worth"] == pytest.approx(25 / size["design_effect"])


@pytest.mark.parametrize("count", [2, 3, 4])
def test_the_small_sample_test_decides_where_permutations_cannot(count):
    images, design = groups_of((count, count), (1, 1.6))
    result = experiment(images, design, QUICK)
    row, found = result.table.iloc[0], result.contrast()
    assert (row["case"], row["differs"], row["decided_by"]) == ("1∧0", "scale", "small-sample")
    assert row["scale_p"] == row["scale_p_adjusted"] == row["scale_small_sample_p"] < 0.025 < row["scale_least_p"]
    assert (found.case, found.decided_by, found.scale.p_value) == ("1∧0", "small-sample", row["scale_p"])
    for test in (found.undulation, found.scale, *found.scale.parts.values()):
        assert test.rejected == (test.mmd > test.threshold) == (test.p_value <= 0.025)
        assert not len(test.null)
        assert f"{count} and {count} images permuted cannot go below p = " in test.approximation
    assert "by the small-sample test" in found.summary()
    size = found.estimates.set_index("quantity").loc["size"]
    assert row["scale_p"] <= size["p_adjusted"] <= (0.1 if count == 2 else 0.05)
    assert result.equivalence()["case"].tolist() == ["1∧0"]


def test_small_sample_and_permutation_tests_of_several_contrasts_are_adjusted_together():
    images, design = groups_of((3, 3, 8), (1, 1, 1.6))
    table = experiment(images, design, QUICK).table
    assert table["decided_by"].tolist() == ["small-sample", "permutation", "permutation"]
    assert (table["scale_p_adjusted"] >= table["scale_p"]).all()
    assert table["case"].tolist() == ["1∧1", "1∧0", "1∧0"]


def test_waves_that_pixels_do_not_hold_are_not_tested_between_replicates():
    """Three images a side of outlines of 22 pixels that differ in waves of 40 around the outline only."""
    images, u = [], 2 * np.pi * np.arange(300) / 300
    for number in range(6):
        rng = np.random.default_rng(number)
        forms = draw_forms(rng, 20, roughness=0.03, waves=(2, 5), vertices=300)
        fine = 0.004 * (number > 2) * np.cos(40 * u + rng.uniform(0, 2 * np.pi, (20, 1)))
        images.append(Ensemble(8 * forms * (1 + fine)[..., None], name=f"image {number}", unit="µm", pixel_size=1.0))
    design = pd.DataFrame({"group": list("aaabbb"), "run": [1, 2, 3, 2, 3, 1]})
    result = experiment(images, design, QUICK)
    assert result.table["undulation_p"][0] > 0.1
    assert result.test("group", given=["run"]).p_values.undulation > 0.1
    assert result.equivalence(form=3)["undulation_p"][0] < 0.05


def test_a_single_image_against_few_is_inconclusive():
    images, design = groups_of((1, 4), (1, 1.6))
    result = experiment(images, design, QUICK)
    assert result.table["case"].tolist() == result.equivalence()["case"].tolist() == ["inconclusive"]
    reason = result.contrast().inconclusive
    assert "1 and 4 images cannot reach p ≤ 0.025 by permutation" in reason
    assert reason.endswith("5 and 5 could, and 2 and 2 by the small-sample test")


def test_images_of_unequally_many_outlines_are_not_permuted():
    """The means of few outlines vary more: whole images are exchangeable only if they are equally precise."""
    few, _ = groups_of((6,), (1,), count=5)
    many, _ = groups_of((10,), (1,), count=40)
    result = compare(few, many, QUICK)
    assert result.decided_by == "small-sample"
    assert "5 and 40 outlines in each are too unequal for a permutation" in result.undulation.approximation
    assert compare(many[:5], many[5:], QUICK).decided_by == "permutation"
    design = pd.DataFrame({"group": ["few"] * 6 + ["many"] * 10})
    words = " ".join(experiment([*few, *many], design, QUICK).warnings)
    assert f"at most {engine.HIGHEST_RATE} of null designs were rejected" in words
    single = compare(few[:1], [*many] * 1, QUICK)
    assert (single.case, single.decided_by) == ("inconclusive", "permutation")
    assert "5 and 40 outlines per image are too unequal for a permutation of images" in single.inconclusive


def test_elongation_is_found_where_sizes_vary_more_between_images_of_unequally_many_outlines():
    """A score of both would follow the sizes."""
    images = [
        image(place, count=count, elongation=elongation, between=0.3)
        for place, (count, elongation) in enumerate([(30, 1.6)] * 5 + [(5, 1.3)] * 12)
    ]
    row = experiment(images, pd.DataFrame({"group": ["few"] * 5 + ["many"] * 12}), QUICK).table.iloc[0]
    assert row["decided_by"] == "small-sample"
    assert row["scale_p"] < 0.005


def test_few_replicates_are_reported_before_and_after():
    images, design = groups_of((3, 3), (1, 1.6))
    result = experiment(images, design, QUICK)
    assert "3 and 3 images cannot reach p ≤ 0.025 by permutation" in " ".join(result.warnings)
    assert all(words.endswith(".") for words in result.warnings)
    assert "by the small-sample test" in result.sentences()[0]


def test_one_image_per_group_gives_a_result_for_these_images_only():
    images, design = groups_of((1, 1), (1, 1.6), count=40)
    result = experiment(images, design, QUICK)
    assert result.table["permuted"].tolist() == ["curves"]
    assert result.table["case"].tolist() == ["1∧0"]
    assert "for these images only" in result.sentences()[0]
    assert 1 < result.table["scale_low"][0] < 1.6 < result.table["scale_high"][0]
    replicates = experiment(images, design, QUICK, permute="images").table.iloc[0]
    assert np.isinf(replicates["scale_high"])
    assert (replicates["case"], replicates["scale_p"]) == ("inconclusive", 1)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_one_image_of_few_outlines_per_group_is_inconclusive(count):
    images, design = groups_of((1, 1), (1, 3), count=count)
    found = experiment(images, design, QUICK, significance=0.01)
    assert compare(*images, QUICK, significance=0.01).case == "inconclusive"
    assert found.table["case"].tolist() == ["inconclusive"]
    assert "scale not testable by permutation" in found.sentences()[0]
    assert found.table["scale_least_p"][0] > 0.005


def test_permuting_outlines_is_reported_instead_of_attainable_p_values():
    images, design = groups_of((2, 2), (1, 1.5))
    words = " ".join(experiment(images, design, QUICK, permute="curves").warnings)
    assert "Single outlines were permuted: the rows hold for these images only" in words
    assert "cannot reach" not in words
    assert "no side has a replicate" not in words


def test_equivalence_is_a_third_result(alike):
    result = alike
    same = result.equivalence(0.15, form=0.8).set_index("contrast")
    assert same.loc["g1 - g0", "case"] == "=∧="
    assert same.loc["g2 - g0", "case"] == "=∧0"
    assert result.equivalence(0.0001, form=0.001)["case"].tolist() == result.table["case"].tolist()
    assert (result.equivalence(of_replicates=1e-6)["scale_p"] > 0.05).all()
    assert (result.equivalence(of_replicates=100)["scale_p"] < 0.05).all()
    with pytest.raises(ValueError, match="margin -1"):
        result.equivalence(-1)


def test_sentences_grade_the_results(alike):
    result = alike
    assert result.table["case"].tolist() == ["1∧1", "1∧0", "1∧0"]
    alike, larger, _ = result.sentences(0.15)
    assert "scale is equivalent within 15 % in size and elongation (equivalence p = " in alike
    assert "no difference in form detected" in alike
    assert "could have been missed" in alike
    assert "scale differs (p = " in larger
    # A difference may be significant and yet smaller than the margin.
    assert "scale differs but is equivalent within 50 % in size and elongation" in result.sentences(0.5)[1]
    assert all("the same" not in sentence for sentence in result.sentences(0.001))
    # Scale may differ in elongation alone.
    found = result.effects.query("quantity == 'elongation'")[["ratio", "low", "high"]].to_numpy()[1]
    words = ratio_words(*found)
    assert f"; elongation ratio {words[0]}, 95 % interval {words[1]} to {words[2]})" in larger
    assert all((float(word) > 1) == (value > 1) for word, value in zip(words, found, strict=True))


def test_power_grows_with_replicates_and_ratio(three):
    powers = [three.quantities.power(1.1, n) for n in (2, 4, 8, 16)]
    assert powers == sorted(powers)
    assert three.quantities.power(1.0, 6) == pytest.approx(0.025, abs=1e-6)
    plan = three.quantities.planning((4, 8), power=0.8).set_index("replicates")
    assert three.quantities.power(plan.loc[4, "size"], 4) == pytest.approx(0.8, abs=1e-6)
    assert plan.loc[8, "size"] < plan.loc[4, "size"]
    with pytest.raises(ValueError, match="'area' is not one of the quantities"):
        three.quantities.power(1.1, 4, "area")


@cache
def deviations(freedom):
    """Quantiles of an estimated standard deviation."""
    return np.sqrt(stats.chi2.ppf((np.arange(20_000) + 0.5) / 20_000, freedom) / freedom)


@pytest.mark.parametrize("level", [0.05, 1e-3, 1e-5, 1e-7])
def test_power_equals_that_of_the_t_test_at_any_level(level):
    """Integral over the standard deviation, on a grid: SciPy's noncentral t is NaN at low levels."""
    for replicates in (2, 3, 6, 12):
        freedom, cut = 2 * replicates - 2, stats.t.isf(level / 2, 2 * replicates - 2)
        spread = deviations(freedom)
        for shift in (0.0, 1.0, 3.0, 10.0, 50.0):
            apart = shift / np.sqrt(2 / replicates)
            expected = (stats.norm.sf(cut * spread - apart) + stats.norm.cdf(-cut * spread - apart)).mean()
            assert t_test_power(shift, replicates, level) == pytest.approx(expected, abs=1e-4), (replicates, shift)


def test_invalid_power_analyses_are_rejected(three):
    for replicates in ((1,), (2.5,), (0, 3)):
        with pytest.raises(ValueError, match="replicates: give integers of at least 2 per side"):
            three.quantities.planning(replicates)
    for power in (0.001, 1, np.nan):
        with pytest.raises(ValueError, match=r"power .*: give a probability between the level 0.025 and 1"):
            three.quantities.planning(power=power)
    strict = replace(three.quantities, significance=1e-6)
    sizes = strict.planning((2, 3, 6, 12))["size"]
    assert (np.diff(sizes) < 0).all()
    assert strict.power(sizes[2], 6) == pytest.approx(0.8, abs=1e-6)


def test_an_interval_that_excludes_1_where_nothing_is_detected_is_explained(three):
    words = "Where an interval excludes 1 and no difference is detected: intervals are 95 % intervals of single "
    assert not any(words in note for note in three.warnings)
    strict = replace(three, groups=replace(three.groups, settings=replace(three.settings, significance=1e-9)))
    assert f"{words}ratios, groups are compared by adjusted p-values at a level of 5e-10." in strict.warnings


def test_the_summary_in_sentences(three):
    groups, dose, plan = three.overall()
    assert groups.startswith("Over all 3 groups: form does not differ detectably")
    assert "scale differs between groups" in groups
    assert dose.startswith("With dose: form does not change detectably")
    ratio = three.quantities.planning((6, 12))["size"]
    assert plan == (
        f"6 replicates per group detect a size ratio of {ratio[0]:.2f} with probability 0.8, 12 one of {ratio[1]:.2f}."
    )
    images, design = groups_of((1, 1, 1), (1, 1, 1))
    assert "not testable (3 replicates for 3 groups" in experiment(images, design, QUICK).overall()[0]


def test_covariates_and_interactions_are_reported_on_request():
    images, design = groups_of((5, 5), (1.0, 1.3))
    design = design.assign(length=np.arange(10) % 4, sex=list("mfmfmmfmfm"), field=list("abcdefghij"))
    result = experiment(images, design, QUICK)
    known = result.overall()
    said = result.overall(given=["length"], interactions=[("group", "sex"), ("group", "field"), ("group", "age")])
    assert [one for one in said if one in known] == known  # as without the request
    given, interaction, field, age = (one for one in said if one not in known)
    p_values = result.test("group", given=["length"]).p_values
    assert f"scale differs between groups (p = {p_values.scale:.2g}); roughness ratio" in given
    assert given.startswith("Given length: form does not differ detectably")
    p_values = result.interaction("group", "sex").p_values
    assert interaction == (
        f"Interaction group × sex: in form not detected (p = {p_values.undulation:.2g}); "
        f"in scale not detected (p = {p_values.scale:.2g})."
    )
    assert "not testable (whether the effect of group depends on field cannot be tested" in field
    assert "not testable (the design has no column 'age': choose one of group, " in age
    # The ratio adjusted for a length orthogonal to the groups equals the unadjusted ratio.
    crossed = experiment(images, design.assign(length=[0, 1, 2, 3, 4] * 2), QUICK)
    ratio = np.exp(crossed.quantities.means["size"][5:].mean() - crossed.quantities.means["size"][:5].mean())
    assert f"size ratio {ratio:.3g}, 95 % interval" in crossed.overall(given=["length"])[0]
    assert (
        "not testable (length is the same in all replicates"
        in experiment(images, design.assign(length=3), QUICK).overall(given=["length"])[0]
    )


def test_groups_without_a_common_block_are_reported_and_others_tested():
    images, design = groups_of((4, 4, 2), (1.0, 1.3, 1.0))
    result = experiment(images, design.assign(block=[1, 2, 3, 4, 1, 2, 3, 4, 5, 5]), QUICK)
    assert result.table["scale_least_p"].tolist() == [0.125, 1, 1]
    assert result.table["decided_by"].tolist() == ["small-sample", "permutation", "permutation"]
    assert result.table["scale_p"].tolist()[1:] == [1, 1]
    assert result.table["scale_small_sample_p"].isna().tolist() == [False, True, True]
    assert "not testable by permutation (p = 1; no block contains both groups)" in result.sentences()[1]
    with pytest.raises(ValueError, match=r"depends on dose cannot be tested: each must vary while the other"):
        experiment(images[:8], design[:8].assign(dose=[0, 0, 0, 0, 1, 1, 3, 3]), QUICK).interaction("group", "dose")


def test_few_outlines_and_reserved_names_are_reported():
    images, design = groups_of((4, 4), (1.0, 1.0))
    few = [images[0][np.arange(12) < 2], *images[1:]]
    result = experiment(few, design.assign(size=range(8)), QUICK)
    assert "Means of few outlines have less weight: 1 of g0 (2 at most; the median is 12)." in " ".join(result.warnings)
    assert result.to_dataframe().columns.is_unique
    assert result.to_dataframe()["size of the design"].tolist()[:3] == [0, 0, 1]
    with pytest.raises(ValueError, match="column name 'images' is reserved for"):
        experiment(images, design.assign(images=range(8)), QUICK)
    with pytest.raises(ValueError, match=r'image 100 \(row 5\): lengths in "pixel" cannot be compared'):
        experiment([*images[:4], *groups_of((0, 4), (1, 1), unit="pixel")[0]], design, QUICK)


def test_an_experiment_round_trips_through_a_file(three, tmp_path):
    three.save(tmp_path / "e.npz", view={"x": 1})
    again = Experiment.load(tmp_path / "e.npz")
    assert read_view(tmp_path / "e.npz", EXPERIMENT) == {"x": 1}
    for one, other in (
        *((getattr(again, name), getattr(three, name)) for name in ("table", "effects", "distance")),
        *((getattr(again.quantities, name), getattr(three.quantities, name)) for name in ("outlines", "variance")),
        (again.to_dataframe(), three.to_dataframe()),
    ):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    assert again.contrast("g0", "g2").summary() == three.contrast("g0", "g2").summary()
    pd.testing.assert_frame_equal(again.design.replicates, three.design.replicates)
    assert (again.overall(), again.sentences(), again.warnings) == (three.overall(), three.sentences(), three.warnings)
    assert again.settings == three.settings


@pytest.mark.parametrize(
    ("place", "wrong", "words"),
    [
        (("design", "groups"), ["a", "x"], "design does not fit its groups"),
        (("design", "control"), "c", "control 'c' is not the first"),
        (("measured", "column0"), np.full(1, 0.0), "size holds float64 values of shape"),
        (("kernels", "scale"), "x", "scale is missing, or not a dict"),
        (("correction",), "none", "no correction 'none'"),
        (("images",), {}, "it has 0 images with outlines, and its design 15"),
    ],
)
def test_files_that_no_experiment_has_written_are_rejected(three, place, wrong, words):
    tree = branch = three.to_tree()
    for name in place[:-1]:
        branch[name] = dict(branch[name])
        branch = branch[name]
    branch[place[-1]] = wrong
    with pytest.raises(ValueError, match=words):
        Experiment.of_tree(tree)
    tree = three.to_tree()
    tree["design"] = {**tree["design"], "of_image": np.full(15, 99)}
    with pytest.raises(ValueError, match="of_image contains numbers other than 0 to"):
        Experiment.of_tree(tree)


def test_images_weigh_equally():
    images, design = groups_of((3, 3), (1, 1))
    with pytest.raises(ValueError, match=r"image 1 and image 1 \(images 2 and 4\) contain the same outlines"):
        experiment([*images[:3], images[1], *images[4:]], design, QUICK)


def test_additive_effects_are_not_an_interaction():
    """Both factors change the size by so much that a kernel of outlines saturates."""
    rejected = 0
    for seed in range(5):
        images = [
            image(100 * seed + i, size=10 * 1.3 ** (i % 2) * 1.3 ** (i // 8), between=0.01, count=8) for i in range(16)
        ]
        design = pd.DataFrame({"group": np.tile(["a", "b"], 8), "sex": np.repeat(["f", "m"], 8)})
        rejected += experiment(images, design, QUICK).interaction("group", "sex").scale.p_value <= 0.05
    assert rejected <= 2
    empty = pd.DataFrame({"group": ["a"] * 4 + ["b"] * 4, "sex": ["f", "f", "m", "m"] + ["f"] * 4})
    with pytest.raises(ValueError, match="cannot be tested: no replicate is b with m"):
        experiment(images[:8], empty, QUICK).interaction("group", "sex")


def test_doses_without_groups_have_a_trend_but_no_contrasts():
    images = [image(i, size=10 * (1 + 0.08 * i)) for i in range(8)]
    result = experiment(images, pd.DataFrame({"group": ["all"] * 8, "dose": np.arange(8.0)}), QUICK)
    assert result.trend("dose").scale < 0.05
    assert not len(result.table)
    assert not len(result.equivalence())
    assert "0 contrasts" in result.summary()
    with pytest.raises(ValueError, match="there is only one group"):
        result.omnibus  # noqa: B018 - it is computed
    assert list(result.effects) == ["contrast", "quantity", "ratio", "low", "high", "difference"]
    assert not any("per group" in sentence for sentence in result.overall())
    with pytest.raises(ValueError, match="only one group"):
        result.plot()


def test_kernels_of_many_outlines_are_of_equally_many_of_each_replicate(monkeypatch):
    images, design = groups_of((6, 6), (1, 1.5), count=30)
    monkeypatch.setattr(engine, "MAX_KERNEL_OUTLINES", 120)
    result = experiment([*images[:-1], image(9, size=15, count=8)], design, QUICK)
    assert result.groups.kernels["undulation"]["coarse form"].counts.tolist() == [10] * 11 + [8]
    assert np.bincount(result.groups.replicate).tolist() == [30] * 11 + [8]
    assert result.table["case"][0] == "1∧0"
    words = "of 338 outlines 118, equally many of each replicate, enter the kernels"
    assert f"The tests are approximate: {words}." in result.contrast().warnings


def test_blocking_increases_power_if_blocks_differ():
    rng = np.random.default_rng(0)
    sizes = np.exp(0.3 * rng.normal(size=8))
    images = [
        image(10 * b + g, size=10 * size * (1.15 if g else 1), between=0.01)
        for b, size in enumerate(sizes)
        for g in (0, 1)
    ]
    design = pd.DataFrame({"group": ["a", "b"] * 8, "block": np.repeat(np.arange(8), 2)})
    blocked, plain = experiment(images, design, QUICK), experiment(images, design[["group"]], QUICK)
    assert blocked.table["scale_p"][0] <= 2 / 256 * 3 < plain.table["scale_p"][0]
    assert blocked.table["scale_low"][0] > 1
    assert blocked.table["scale_least_p"][0] == 2 / 256


def test_interactions_of_two_factors():
    images, rows = [], []
    for i in range(24):
        drug, sex = i % 2, i // 2 % 2
        images.append(image(i, size=10 * (1.4 if drug and sex else 1)))
        rows.append({"group": "drug" if drug else "ctrl", "sex": "f" if sex else "m"})
    result = experiment(images, pd.DataFrame(rows), QUICK)
    assert result.interaction("group", "sex").scale.p_value < 0.01
    assert result.interaction("group", "sex").undulation.p_value > 0.05
    assert result.test("group", given=["sex"]).scale.p_value < 0.01


def test_a_screen_is_ranked_by_false_discovery_rate():
    sizes, factors = (4, *[2] * 22), (1, 1.6, *[1] * 21)
    result = experiment(*groups_of(sizes, factors), QUICK, control="g0")
    assert result.correction == "fdr"
    assert len(result.table) == 22
    assert result.table.sort_values("scale_small_sample_p")["b"].iloc[0] == "g1"
    p_values = result.table["scale_small_sample_p"].to_numpy()
    np.testing.assert_allclose(
        result.table["scale_small_sample_p_adjusted"], stats.false_discovery_control(p_values), rtol=1e-9
    )


def test_units_are_converted_and_images_without_outlines_reported():
    images, design = groups_of((3, 3), (1, 1))
    nm = [one.to("nm") if i % 2 else one for i, one in enumerate(images)]
    same, other = (experiment(one, design, QUICK) for one in (images, nm))
    assert other.table["scale_p"][0] == pytest.approx(same.table["scale_p"][0], rel=1e-9)
    with pytest.raises(ValueError, match=r"1 of 6 images have no usable outline \(empty\)"):
        experiment([*images[:5], Ensemble([], name="empty", unit="µm")], design, QUICK)
    with pytest.raises(ValueError, match='correction must be "auto"'):
        experiment(images, design, QUICK, correction="none")


@pytest.fixture(scope="module")
def unmoved():
    images, design = groups_of((3, 3), (1, 1.2), count=6)
    return images, design, experiment(images, design, QUICK).table


@given(st.permutations(range(6)), st.floats(0, 6), st.booleans())
@settings(max_examples=8)
def test_p_values_are_invariant_to_order_and_pose_of_images(unmoved, order, angle, mirrored):
    images, design, first = unmoved
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) * [1, -1 if mirrored else 1]
    moved = [Ensemble([c @ turn + 7 for c in images[i].curves], unit="µm") for i in order]
    # Which group comes first follows the order of the rows.
    again = experiment(moved, design.iloc[list(order)], QUICK).table
    for column in ("undulation_p", "scale_p", "undulation_small_sample_p", "scale_small_sample_p"):
        assert again[column][0] == pytest.approx(first[column][0], rel=1e-3)


def test_lobes_do_not_change_with_scaling_and_stretching():
    one = image(1)
    plain, larger, stretched = (
        lobes([Ensemble([curve * by for curve in one.curves], unit="µm")], QUICK, BANDS) for by in (1, 2, [2, 1])
    )
    assert tuple(plain) == (*LOBES, "lobes", *BENDS, "concavity")
    for name in plain:
        np.testing.assert_allclose(larger[name], plain[name], atol=1e-6)
    for name in LOBES[1:]:
        np.testing.assert_allclose(stretched[name], plain[name], atol=0.02)


@pytest.mark.parametrize("changes", [{}, {"permute": "curves"}])
@pytest.mark.parametrize("blocked", [False, True])
def test_the_table_holds_the_estimates_of_its_contrasts(changes, blocked):
    """Size, elongation and roughness of a contrast are the same numbers wherever they are given."""
    images, design = groups_of((4, 4, 1), (1, 1.2, 1.1), between=0.1)
    design = design.assign(block=[0, 1, 2, 3, 0, 1, 2, 3, 0]) if blocked else design
    found = experiment(images, design, QUICK, **changes)
    effects = found.effects.set_index(["contrast", "quantity"])
    for row in found.table.to_dict("records"):
        given = found.contrast(row["a"], row["b"]).estimates.set_index("quantity")[["estimate", "low", "high"]]
        for name in ("size", "elongation", "roughness"):
            expected = pytest.approx(given.loc[name].tolist(), rel=1e-9, nan_ok=True)
            assert effects.loc[(row["contrast"], name), ["ratio", "low", "high"]].tolist() == expected
        for test, name in (("undulation", "roughness"), ("scale", "size")):
            numbers = [row[f"{test}_{number}"] for number in ("effect", "low", "high")]
            assert numbers == pytest.approx(given.loc[name].tolist(), rel=1e-9, nan_ok=True)


# ------------------------------------------------------------------------------------ compare by images


def test_rounding_errors_of_elongation_do_not_affect_the_small_sample_test():
    """Circles: the last digits of their elongation vary between and within images, but this is no elongation."""
    rng = np.random.default_rng(3)
    angle = 2 * np.pi * np.arange(60) / 60
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    images = [
        Ensemble([rng.normal(10 + 2 * (i >= 3), 1) * circle + rng.uniform(0, 300, 2) for _ in range(15)], name=f"{i}")
        for i in range(6)
    ]
    found = experiment(images, pd.DataFrame({"group": [*"aaabbb"]}), QUICK)
    sizes = found.quantities.means["size"].to_numpy()
    expected = stats.ttest_ind(sizes[:3], sizes[3:]).pvalue
    assert found.table["scale_small_sample_p"][0] == pytest.approx(expected, rel=1e-6)
    assert compare(images[:3], images[3:], QUICK).small_sample[1] == pytest.approx(expected, rel=1e-6)
    assert found.table["undulation_p"][0] == 1
    reason = "it is the same in all outlines, to the precision of their coordinates"
    for one in (found, Experiment.of_tree(found.to_tree())):
        assert (
            f"Not tested: coarse form, roughness, concavity, elongation, direction of elongation ({reason})."
            in one.warnings
        )


def test_images_are_permuted_if_a_side_has_several():
    images, _ = groups_of((6, 6), (1, 1.5))
    result = compare(images[:6], images[6:], QUICK)
    assert (result.permuted, result.image_counts, result.case) == ("images", (6, 6), "1∧0")
    assert len(result.scale.null) == 923
    assert "(6 images, 72 curves)" in result.summary()
    pooled = compare(Ensemble.pooled(images[:6]), Ensemble.pooled(images[6:]), QUICK)
    assert pooled.scale.p_value == result.scale.p_value
    table = experiment(images, pd.DataFrame({"group": ["a"] * 6 + ["b"] * 6}), QUICK).table
    assert table["scale_p"][0] == result.scale.p_value
    assert table["undulation_p"][0] == result.undulation.p_value


def test_curves_are_permuted_on_request_and_this_is_reported():
    images, _ = groups_of((3, 3), (1, 1.5))
    asked = compare(images[:3], images[3:], QUICK, permute="curves")
    assert (asked.permuted, asked.case) == ("curves", "1∧0")
    assert "for these images only" in asked.summary()
    assert "holds for these images only" in asked.warnings[0]
    assert compare(images[0], images[3], QUICK).permuted == "curves"
    by_images = compare(images[:3], images[3:], QUICK)
    assert (by_images.case, by_images.decided_by) == ("1∧0", "small-sample")
    assert by_images.small_sample == (by_images.undulation.p_value, by_images.scale.p_value)
    row = experiment(images, pd.DataFrame({"group": ["a"] * 3 + ["b"] * 3}), QUICK).table.iloc[0]
    assert by_images.small_sample == pytest.approx((row["undulation_small_sample_p"], row["scale_small_sample_p"]))


def test_the_permuted_unit_is_saved(tmp_path):
    images, _ = groups_of((6, 6), (1, 1.5))
    result = compare(images[:6], images[6:], QUICK)
    result.save(tmp_path / "r.npz")
    loaded = Comparison.load(tmp_path / "r.npz")
    assert (loaded.permuted, loaded.case, loaded.summary()) == ("images", result.case, result.summary())
    assert loaded.small_sample == result.small_sample


# --------------------------------------------------------------------------------------------- real data


def test_people_who_drew_hearts_do_not_differ_between_halves(shared_data):
    with np.load(shared_data / "replicates" / "hearts.npz") as data:
        curves = np.split(data["xy"].astype(float), data["offsets"][1:-1])
        person = data["person"]
    hearts = [
        Ensemble([c for c, p in zip(curves, person, strict=True) if p == one], name=str(one))
        for one in np.unique(person)
    ]
    quick, rng = Settings(landmarks=100, rank=20, significance=0.05), np.random.default_rng(0)
    wrong = {"images": 0, "curves": 0}
    for _ in range(12):
        order = rng.permutation(8)
        sides = [hearts[i] for i in order[:4]], [hearts[i] for i in order[4:]]
        for permute in wrong:
            result = compare(*sides, quick, permute=permute)
            wrong[permute] += result.undulation.rejected + result.scale.rejected
    assert wrong["curves"] >= 20
    assert wrong["images"] <= 4


def fields(folder: Path, group: str):
    outlines = Outlines(min_area=600)
    found = [outlines.trace(imread(path), name=path.stem) for path in sorted(folder.glob(f"{group}_*.png"))]
    return [ensemble for ensemble in found if len(ensemble) > 1]


def test_nuclei_without_lamin_differ_in_undulation_but_not_scale(shared_data):
    sides = [fields(shared_data / "replicates" / "mef_nuclei", group) for group in ("wt", "ko")]
    design = pd.DataFrame({"group": np.repeat(["wt", "ko"], [len(side) for side in sides])})
    result = experiment([*sides[0], *sides[1]], design, Settings(), control="wt")
    row = result.table.iloc[0]
    assert row["case"] == "0∧1"
    assert row["undulation_p"] <= 0.001
    assert row["scale_p"] > 0.05
    assert row["undulation_high"] < 1
