"""The whole comparison: real data with known rows, invariances, settings, units, and malformed input."""

from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from curve_makers import blobs, ellipse, load_curves, pixelated, ragged_blobs, randomly_moved
from napari_shape_ensembles import (
    Ensemble,
    Progress,
    Settings,
    Stopped,
    compare,
    decision_landscape,
    experiment,
    reporting,
    to_landmarks,
)
from napari_shape_ensembles.comparison.compare import expected_seconds
from napari_shape_ensembles.comparison.learning import COMPARISON_STEPS

QUICK = {"landmarks": 100, "rank": 20, "permutations": 300}


def pair(count=40, *, stretch=1.0, roughness=0.15, **options):
    a = Ensemble(list(blobs(count, 80, seed=1)), name="one", unit="um", **options)
    b = Ensemble(list(blobs(count, 80, seed=2, roughness=roughness) * stretch), name="two", unit="um")
    return a, b


def grains(shared_data, key):
    """Curves of the paper's map in one coordinate frame, in steps of the map."""
    data = np.load(shared_data / "paper" / "pil184_grains.npz")
    factor, *origin = data[f"{key}_to_steps"]
    return [curve * factor + origin[::-1] for curve in load_curves(shared_data / "paper" / "pil184_grains.npz", key)]


@pytest.mark.parametrize(
    ("first", "second", "stretch", "settings", "case"),
    [
        ("hlf1_smooth5", "hlf2_smooth5", (1, 1), Settings(), "1∧1"),
        ("hlf1_noisy", "hlf2_smooth5", (1, 1), Settings(), "0∧1"),
        ("hlf1_smooth5", "hlf2_smooth5", (1.4, 1 / 1.4), Settings(), "1∧0"),
        ("hlf1_smooth5", "hlf2_smooth5", (1.4, 1 / 1.4), Settings.paper(), "0∧0"),
    ],
    ids=["smooth halves", "noisy and smooth", "one stretched", "one stretched, paper's settings"],
)
def test_rows_for_the_grains_of_the_paper(shared_data, first, second, stretch, settings, case):
    a = Ensemble(grains(shared_data, first))
    b = Ensemble([curve * stretch for curve in grains(shared_data, second)])
    assert (len(a), len(b)) == (466, 467)
    assert compare(a, b, settings).case == case


@pytest.fixture
def cells(real_data):
    """Outlines by cell line (0 dunn, 1 dlm8) and treatment (0 control, 1 jasp, 2 cytd)."""
    data = np.load(real_data / "osteosarcoma_cells" / "cells.npz")
    curves = load_curves(real_data / "osteosarcoma_cells" / "cells.npz")

    def group(line, treatment):
        chosen = np.flatnonzero((data["cell_line"] == line) & (data["treatment"] == treatment))
        return [curves[i] for i in chosen]

    return group


def test_rows_for_osteosarcoma_cells(cells):
    control, treated = cells(0, 0), cells(0, 2)
    assert (len(control), len(treated)) == (204, 93)
    assert compare(Ensemble(control), Ensemble(treated)).case == "0∧0"
    assert compare(Ensemble(control[::2]), Ensemble(control[1::2])).case == "1∧1"
    enlarged = [curve * 1.5 for curve in control[1::2]]
    assert compare(Ensemble(control[::2]), Ensemble(enlarged)).case == "1∧0"
    lines = compare(Ensemble(treated), Ensemble(cells(1, 2)))
    # They differ in elongation.
    assert lines.case == "0∧0"
    assert lines.scale.parts["elongation"].p_value < 0.01
    assert lines.scale.p_value < lines.settings.test_level
    assert lines.scale.parts["size"].p_value > 0.1


@pytest.mark.parametrize("outlines", ["smooth", "pixelated"])
@pytest.mark.parametrize("registration", ["standardized", "raw"])
@pytest.mark.parametrize("measure", ["affine", "arc-length"])
def test_results_are_invariant_to_rigid_motions_of_single_curves(outlines, registration, measure):
    rng = np.random.default_rng(5)
    curves = ragged_blobs(80, seed=3, roughness=0.2)
    curves = curves if outlines == "smooth" else [pixelated(curve) for curve in curves]
    settings = Settings(**QUICK, registration=registration, measure=measure)
    again = [randomly_moved(curve, rng, mirror=bool(i % 2)) for i, curve in enumerate(curves)]
    # Turned outlines no longer show that they follow pixels; these are stated.
    size = 1.0 if outlines == "pixelated" else None
    one, other = (
        compare(*(Ensemble(part, pixel_size=size) for part in (c[:40], c[40:])), settings) for c in (curves, again)
    )
    np.testing.assert_allclose(other.t, one.t, atol=1e-8)
    np.testing.assert_allclose(other.l, one.l, atol=1e-8)
    assert (other.undulation.p_value, other.scale.p_value) == (one.undulation.p_value, one.scale.p_value)


def test_the_undulation_test_is_invariant_to_linear_maps_of_one_image():
    a, b = pair()
    mapped = Ensemble([curve @ np.array([[1.5, 0.4], [0.1, 0.8]]) for curve in b.curves], unit="um")
    one, other = compare(a, b, Settings(**QUICK)), compare(a, mapped, Settings(**QUICK))
    np.testing.assert_allclose(other.t, one.t, atol=1e-8)
    assert other.undulation.p_value == one.undulation.p_value
    assert other.scale.rejected
    assert not one.scale.rejected


def test_handedness_matters_only_without_reflections():
    curves = blobs(80, 100, seed=4)
    curves[:, :, 1] += 0.4 * curves[:, :, 0] ** 0
    u = 2 * np.pi * np.arange(100) / 100
    rng = np.random.default_rng(0)
    handed = [
        ((1 + (0.3 + 0.02 * rng.normal()) * np.cos(2 * u) + (0.2 + 0.02 * rng.normal()) * np.sin(3 * u + 0.5))
         * np.stack([np.cos(u), np.sin(u)])).T
        for _ in range(60)
    ]  # fmt: skip
    a, b = Ensemble(handed[:30]), Ensemble([curve * [1, -1] for curve in handed[30:]])
    assert compare(a, b, Settings(**QUICK)).case[0] == "1"
    assert compare(a, b, Settings(**QUICK, reflections=False)).case[0] == "0"


def test_the_four_rows_for_synthetic_outlines():
    assert compare(*pair(), Settings(**QUICK)).case == "1∧1"
    assert compare(*pair(stretch=1.5), Settings(**QUICK)).case == "1∧0"
    assert compare(*pair(roughness=0.3, stretch=2.0), Settings(**QUICK)).case == "0∧0"


@pytest.mark.parametrize("archetype", ["asymmetric", "random", "mean", 0, 79])
def test_every_archetype_gives_the_same_row(archetype):
    assert compare(*pair(stretch=1.5), Settings(**QUICK, archetype=archetype)).case == "1∧0"


@pytest.mark.parametrize("registration", ["standardized", "raw", "none"])
@pytest.mark.parametrize("coordinates", ["components", "both", "raw", "normalized"])
def test_every_combination_of_registration_and_coordinates_runs(registration, coordinates):
    result = compare(*pair(), Settings(**QUICK, registration=registration, coordinates=coordinates))
    parts = {"components": ["coarse form", "roughness", "concavity"], "both": ["raw", "normalized"]}
    assert list(result.undulation.parts) == parts.get(coordinates, [])
    assert list(result.scale.parts) == (
        ["mean size", "size", "elongation", "direction of elongation", "size and elongation"]
        if coordinates == "components"
        else []
    )
    assert result.case in {"1∧1", "1∧0", "0∧1", "0∧0"}


def test_the_parts_of_the_result_are_consistent():
    a, b = pair(stretch=1.5)
    result = compare(a, b, Settings(**QUICK))
    assert result.t.shape == (80, 20)
    assert result.l.shape == (80, 3)
    assert result.pmmd == pytest.approx(np.hypot(result.undulation.mmd, result.scale.mmd))
    assert result.pmmd_threshold == pytest.approx(np.hypot(result.undulation.threshold, result.scale.threshold))
    assert set(result.versions) == {"python", "napari-shape-ensembles", "numpy", "scipy", "scikit-image"}


def test_distances_from_the_mean_are_norms_of_the_coordinates():
    result = compare(*pair(), Settings(**QUICK))
    table = result.distances
    assert table["sample"].tolist() == ["one"] * 40 + ["two"] * 40
    assert table["id"].tolist() == [*range(40), *range(40)]
    np.testing.assert_allclose(table["undulation"] ** 2, (result.t**2).sum(axis=1))
    np.testing.assert_allclose(table["scale"] ** 2, (result.l**2).sum(axis=1))
    most = table["undulation"] / table["undulation"].max(), table["scale"] / table["scale"].max()
    np.testing.assert_allclose(table["paper_distance"], np.hypot(*most))


def test_the_summary_names_images_counts_row_and_p_values():
    summary = compare(*pair(stretch=1.5), Settings(**QUICK)).summary()
    for part in (
        "one (40 curves)",
        "two (40 curves)",
        "size or elongation differs; no difference in form was detected",
        "scale p = 0.00067",  # 1/1500: permutations of 299 do not settle a level of 0.025
    ):
        assert part in summary


def test_steps_are_named_counted_and_cancellable():
    seen = []
    compare(*pair(10), Settings(**QUICK), progress=seen.append)
    assert seen == [Progress(name, index, len(COMPARISON_STEPS)) for index, name in enumerate(COMPARISON_STEPS)]
    heard = []
    with reporting(heard.append, stop=lambda: len(heard) == 2), pytest.raises(Stopped):
        compare(*pair(10), Settings(**QUICK))
    assert [step.name for step in heard] == list(COMPARISON_STEPS[:2])


def test_an_error_in_progress_ends_the_comparison():
    def refuse(step):
        raise RuntimeError(step.name)

    with pytest.raises(RuntimeError, match=COMPARISON_STEPS[0]):
        compare(*pair(10), Settings(**QUICK), progress=refuse)


@pytest.mark.parametrize(("name", "blocks"), [("testing undulation", 4), ("testing scale", 1)])
def test_a_long_test_can_be_cancelled_between_blocks(name, blocks):
    heard, asked = [], []

    def stop():
        asked.extend(step.name for step in heard[-1:])
        return asked.count(name) > blocks

    with reporting(heard.append, stop), pytest.raises(Stopped):
        compare(*pair(300), Settings(**QUICK))
    assert heard[-1].name == name
    assert [step.done for step in heard] == list(range(COMPARISON_STEPS.index(name) + 1))


def test_single_settings_can_be_keyword_arguments():
    result = compare(*pair(10), Settings(**QUICK), rank=3, coordinates="raw")
    assert result.settings == Settings(**QUICK | {"rank": 3, "coordinates": "raw"})
    assert result.t.shape[1] == 3
    with pytest.raises(TypeError, match="ranks"):
        compare(*pair(10), ranks=3)


def test_the_result_is_reproducible_exactly():
    one, other = (compare(*pair(), Settings(**QUICK)) for _ in range(2))
    assert (one.t == other.t).all()
    assert (one.undulation.null == other.undulation.null).all()


def test_units_are_converted_to_those_of_a():
    a, b = pair()
    in_nanometres = Ensemble([curve * 1000 for curve in b.curves], unit="nm", ids=b.ids)
    result = compare(a, in_nanometres, Settings(**QUICK))
    assert result.b.unit == "um"
    np.testing.assert_allclose(result.l, compare(a, b, Settings(**QUICK)).l, atol=1e-9)


def test_incompatible_units_are_rejected_with_the_remedy():
    a, b = pair(5)
    with pytest.raises(ValueError, match="give all images a pixel size"):
        compare(a, Ensemble(b.curves, unit="pixel"))


def test_an_empty_ensemble_reports_what_was_excluded():
    empty = Ensemble([np.full((5, 2), np.nan)], name="blank")
    with pytest.raises(ValueError, match=r"blank has no usable outline \(1 NaN"):
        compare(empty, Ensemble(list(blobs(5, 50))))
    with pytest.raises(ValueError, match="B has no usable outline: check"):
        compare(Ensemble(list(blobs(5, 50))), Ensemble([]))


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 30), (4, 4)])
def test_too_few_curves_are_inconclusive_with_the_reason(m, n):
    curves = list(blobs(m + n, 60))
    result = compare(Ensemble(curves[:m]), Ensemble(curves[m:]))
    assert result.case == "inconclusive"
    assert f"{m} and {n} curves cannot reach p ≤ 0.0125" in result.summary()
    assert len(result.distances) == m + n


def test_warnings_for_pixel_units_small_samples_and_distant_curves():
    a, b = Ensemble(list(blobs(20, 60, seed=1))), Ensemble(list(blobs(40, 60, seed=2)))
    warnings = " ".join(compare(a, b, Settings(**QUICK)).warnings)
    assert "in pixels" in warnings
    assert "Only 20 curves" in warnings
    assert not compare(*pair(), Settings(**QUICK)).warnings


def test_ambiguous_matches_are_counted_with_a_warning():
    result = compare(*pair(), Settings(**QUICK))
    assert 0 < result.ambiguous < 40
    assert not any("equally well in two ways" in warning for warning in result.warnings)
    a, b = pair()
    symmetric = Ensemble([ellipse(2, 1, 80), *a.curves], unit="um")
    result = compare(symmetric, b, Settings(**QUICK, archetype=0))
    assert result.archetype_is_ambiguous
    assert result.ambiguous >= 79
    assert any(
        f"{result.ambiguous} of 81 curves match the nearly symmetric archetype" in text for text in result.warnings
    )
    assert compare(symmetric, b, Settings(**QUICK, register=False)).ambiguous == 0


def test_curves_with_rotational_symmetry_are_not_ambiguous():
    rng = np.random.default_rng(0)
    a, b = (
        Ensemble([ellipse(rng.uniform(1, 2), 1, 80, turn=rng.uniform(0, 6)) for _ in range(30)], unit="um")
        for _ in "ab"
    )
    result = compare(a, b, Settings(**QUICK))
    assert result.ambiguous == 0
    assert result.warnings == (
        "Not tested: coarse form, roughness, concavity (it is the same in all outlines, to the precision of their "
        "coordinates).",
    )


def test_paper_settings():
    paper = Settings.paper()
    assert (paper.measure, paper.registration, paper.coordinates, paper.archetype) == (
        "arc-length",
        "raw",
        "raw",
        "random",
    )
    assert (paper.landmarks, paper.significance, paper.permutations) == (500, 0.02, 1000)


def test_shorthands_choose_registration_and_coordinates():
    assert Settings(register=False).registration == "none"
    assert Settings(register=True).registration == "standardized"
    assert Settings(normalize=True).coordinates == "normalized"
    assert Settings(normalize=False).coordinates == "raw"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"landmarks": 4}, "landmarks must be an integer of at least 8, not 4"),
        ({"rank": 2.5}, "rank must be an integer"),
        ({"permutations": 0}, "permutations"),
        ({"significance": 5}, "significance must be a number strictly between 0 and 1, not 5"),
        ({"measure": "area"}, "measure must be one of affine, arc-length"),
        ({"registration": "yes"}, "registration must be one of"),
        ({"coordinates": "all"}, "coordinates must be one of"),
        ({"interpolation": "cubic"}, "interpolation must be one of"),
        ({"archetype": "best"}, "archetype must be one of"),
        ({"bandwidth": 0.0}, "bandwidth must be a number above 0 and of at most 1000000, or a list of them, not 0"),
        ({"bandwidth": ()}, "bandwidth must be a number above 0 and of at most 1000000, or a list of them, not"),
        (
            {"bandwidth": "wide"},
            "bandwidth must be a number above 0 and of at most 1000000, or a list of them, not 'wide'",
        ),
        ({"bandwidth": (1.0, 1.0)}, "contains a multiple twice"),
        ({"null": "normal"}, "null must be one of permutation, gamma, bound"),
        ({"approximate_above": -1}, "approximate_above must be an integer of 0 or more"),
        ({"permutations": 10**12}, "permutations must be an integer between 1 and 10000000, not 1000000000000"),
    ],
)
def test_settings_out_of_range_are_rejected(options, message):
    with pytest.raises(ValueError, match=message):
        Settings(**options)


def test_several_widths_of_the_kernel_are_combined():
    settings = Settings(**QUICK, coordinates="both", bandwidth=[0.5, 1.0])
    assert settings.bandwidth == (0.5, 1.0)
    result = compare(*pair(stretch=1.5), settings)
    assert result.case == "1∧0"
    assert list(result.scale.parts) == ["s = 0.5 × median", "s = 1 × median"]
    assert list(result.undulation.parts)[:2] == ["raw, s = 0.5 × median", "raw, s = 1 × median"]
    narrow = compare(*pair(stretch=1.5), Settings(**QUICK, coordinates="both", bandwidth=0.5))
    assert narrow.scale.p_value == result.scale.parts["s = 0.5 × median"].p_value


def test_approximations_are_chosen_and_reported():
    curves = pair(150, stretch=1.5)
    for options in ({"null": "gamma"}, {"approximate_above": 100}):
        result = compare(*curves, Settings(**QUICK, **options))
        assert result.case == "1∧0"
        assert "The tests are approximate" in " ".join(result.warnings)
    assert not compare(*curves, Settings(**QUICK, approximate_above=0)).undulation.approximation
    assert Settings.paper().approximate_above == 0
    assert "exceeds any possible MMD" in compare(*pair(12, stretch=2), Settings(**QUICK, null="bound")).summary()


def test_a_null_distribution_for_single_outlines_is_rejected_with_images():
    samples = [[Ensemble(list(side[i : i + 6]), name=f"{i}") for i in range(0, 36, 6)] for side in pair(36)]
    permuted, gamma = (compare(*samples, Settings(**QUICK, null=null)) for null in ("permutation", "gamma"))
    assert gamma.permuted == "images"
    assert not gamma.scale.approximation
    assert not any("null distribution" in words for words in permuted.warnings)
    assert "the null distribution 'gamma' is for single outlines, and was not used" in " ".join(gamma.warnings)


def test_an_archetype_outside_the_ensembles_is_rejected():
    with pytest.raises(ValueError, match="there are curves 0 to 79"):
        compare(*pair(), Settings(**QUICK, archetype=80))


@pytest.mark.parametrize("form", ["circles", "ellipses"])
def test_rounding_errors_are_not_undulation(form):
    rng = np.random.default_rng(2)
    of_a, of_b = rng.uniform(5, 10, 60), rng.uniform(15, 20, 60)
    axes = {"circles": lambda s: (s, s), "ellipses": lambda s: (5, s + 1)}[form]
    a, b = ([ellipse(*axes(size), 200) + rng.normal(size=2) * 100 for size in sizes] for sizes in (of_a, of_b))
    result = compare(Ensemble(a), Ensemble(b), Settings(permutations=400))
    assert result.case == "1∧0"
    assert result.undulation.p_value == 1


def test_distances_preserve_ids_of_any_type():
    a = Ensemble(blobs(8, 60, seed=1), ids=[f"cell {index}" for index in range(8)])
    b = Ensemble(blobs(7, 60, seed=2), ids=range(10, 17))
    ids = compare(a, b, Settings(landmarks=40, rank=4, permutations=19)).distances["id"].tolist()
    assert ids == [*a.ids.tolist(), *b.ids.tolist()]


def test_lists_of_arrays_are_accepted():
    a, b = (list(blobs(12, 60, seed=seed)) for seed in (1, 2))
    expected = compare(Ensemble(a), Ensemble(b), Settings(**QUICK))
    for one, other in ((a, b), (np.array(a), [curve.tolist() for curve in b]), (iter(a), tuple(b))):
        result = compare(one, other, Settings(**QUICK))
        assert result.a.unit == "pixel"
        np.testing.assert_array_equal(result.t, expected.t)


@pytest.mark.parametrize(
    ("sample", "said"),
    [
        ("cells.csv", r"not the path 'cells.csv': use io.read_curves\(path\).ensemble to read outlines"),
        (5, "a sample must be an ensemble, or a list of ensembles"),
        ([Ensemble(list(blobs(3))), blobs(1)[0]], "mixes ensembles and arrays"),
        (blobs(1)[0], r"curve 0 has shape \(2,\): curves must be \(m, 2\) arrays"),
        ([], "a sample needs at least one image"),
    ],
    ids=["path", "number", "mixture", "one curve", "nothing"],
)
def test_invalid_samples_are_rejected(sample, said):
    with pytest.raises(ValueError, match=said):
        compare(sample, list(blobs(3)))


def test_a_result_cannot_be_changed_by_accident():
    result = compare(*pair(12), Settings(**QUICK))
    table = result.distances
    table.loc[:, "distance_from_mean"] = 0.0
    assert result.distances["distance_from_mean"].min() > 0
    space, test = result.space, result.undulation
    for values in (result.t, result.l, test.null, test.parts["roughness"].null, space.basis_, space.undulation_mean_):
        with pytest.raises(ValueError, match="read-only"):
            values[...] = 0


@pytest.mark.parametrize("name", ["register", "normalize", "reflections"])
@pytest.mark.parametrize("word", ["no", "yes", 0, None])
def test_strings_are_not_accepted_as_booleans(name, word):
    if word is None and name != "reflections":
        assert Settings(**{name: None}) == Settings()
        return
    with pytest.raises(ValueError, match=f"{name} must be True or False, not {word!r}"):
        Settings(**{name: word})


@pytest.mark.parametrize("factor", [1e-100, 1e100])
def test_outlines_of_extreme_size_are_rejected_with_a_specific_message(factor):
    curves = [curve * factor for curve in blobs(5, 40)]
    with pytest.raises(ValueError, match=r"5 (vertices beyond 1e\+30|shorter than 1e-30)"):
        compare(curves, curves)


RECTANGLE = np.array([(0, 0), (0, 1), (1, 1), (1, 0)], dtype=float)


def dense(polygon, per_edge):
    """The same polygon, with more vertices on its edges."""
    share = np.arange(per_edge)[:, None] / per_edge
    ends = np.roll(polygon, -1, axis=0)
    return np.concatenate([one + share * (other - one) for one, other in zip(polygon, ends, strict=True)])


def test_rectangles_with_4_and_with_200_vertices_are_equal():
    rng = np.random.default_rng(0)
    sizes = rng.uniform(5, 20, (80, 2))
    few = [randomly_moved(RECTANGLE * size, rng) for size in sizes[:40]]
    many = [randomly_moved(dense(RECTANGLE * size, 50), rng) for size in sizes[40:]]
    result = compare(few, many, Settings(permutations=300))
    assert result.case == "1∧1"
    assert result.undulation.p_value == 1
    assert compare(few, many, Settings(permutations=300, interpolation="spline")).case[0] == "0"


@pytest.mark.parametrize("measure", ["affine", "arc-length"])
def test_interpolation_is_chosen_for_each_outline(measure):
    star = np.array([(0, 0), (4, 0), (4, 4), (2, 1), (0, 4.0)])
    smooth = ellipse(3, 2, 60)
    steps = pixelated(blobs(1, 300)[0])
    polygons, curves = Ensemble([star, dense(star, 20), RECTANGLE]), Ensemble([smooth, steps, blobs(1, 60)[0]])
    for ensemble, expected in ((polygons, "polygon"), (curves, "spline")):
        found, wanted = (to_landmarks(ensemble, 60, measure=measure, interpolation=kind) for kind in ("auto", expected))
        np.testing.assert_array_equal(found, wanted)


def test_the_duration_of_a_long_comparison_is_estimated_first(monkeypatch):
    a, b = (Ensemble(list(blobs(30, 60, seed=seed))) for seed in (1, 2))
    assert expected_seconds(a, b, Settings()) < 1
    long = expected_seconds(a, b, Settings(permutations=10**7, bins=0))
    assert long > 30 * expected_seconds(a, b, Settings(bins=0))  # per-curve costs are independent of it
    seen, module = [], import_module("napari_shape_ensembles.comparison.compare")
    monkeypatch.setattr(module, "expected_seconds", lambda *_: 240.0)
    compare(a, b, Settings(**QUICK), progress=seen.append)
    assert seen[0].name == "comparing 60 curves, expected to take about 4 min"
    assert seen[1].name == "placing landmarks"
    monkeypatch.setattr(module, "expected_seconds", lambda *_: 5.0)
    seen.clear()
    compare(a, b, Settings(**QUICK), progress=seen.append)
    assert seen[0].name == "placing landmarks"


def test_every_kernel_width_is_tested_if_images_are_permuted():
    a, b = ([Ensemble(list(blobs(6, 60, seed=10 * side + i)), name=f"{i}") for i in range(4)] for side in (0, 1))
    settings = Settings(landmarks=48, rank=6, coordinates="raw", bandwidth=(0.25, 4.0), significance=0.1)
    both = compare(a, b, settings).undulation
    assert list(both.parts) == ["raw, s = 0.25 × median", "raw, s = 4 × median"]
    alone = [compare(a, b, settings, bandwidth=width).undulation for width in (0.25, 4.0)]
    assert [part.p_value for part in both.parts.values()] == [one.p_value for one in alone]
    assert [part.mmd for part in both.parts.values()] == pytest.approx([one.mmd for one in alone])
    cell = decision_landscape(a, b, ranks=[6], landmarks=[48], settings=settings)
    assert cell.undulation.p_value[0, 0] == both.p_value
    assert list(cell.parts) == list(both.parts)
    design = pd.DataFrame({"group": [*"aaaabbbb"]})
    found = experiment([*a, *(one.derived(one.curves, name=f"b{i}") for i, one in enumerate(b))], design, settings)
    assert found.table["undulation_p"][0] == both.p_value
