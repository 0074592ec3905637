"""Parts of the tests: analytic values, invariances, precision limits, and power at high rank."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.spatial.distance import cdist, pdist
from scipy.stats import median_abs_deviation
from skimage.draw import polygon2mask

from curve_makers import blobs, ellipse, rotation
from napari_shape_ensembles import (
    Ensemble,
    Settings,
    compare,
    decompose,
    extract_curves,
    to_landmarks,
)
from napari_shape_ensembles.comparison.detectable import detectable_differences
from napari_shape_ensembles.comparison.learning import coordinate_precision, is_single
from napari_shape_ensembles.comparison.parts import form_descriptors, form_parts, scale_parts, sides
from napari_shape_ensembles.io import read_curves, write_curves
from napari_shape_ensembles.mmd import mmd_test
from napari_shape_ensembles.mmd.two_sample import combined_mmd_test
from napari_shape_ensembles.shapes import spd

QUICK = {"landmarks": 130, "rank": 20, "permutations": 300}


def descriptors(curves, landmarks=300):
    undulation, _ = decompose(to_landmarks(Ensemble(list(curves)), landmarks, measure="affine"))
    return form_descriptors(undulation, 1e-8)


def lobed(amplitude, lobes, count=400):
    u = 2 * np.pi * np.arange(count) / count
    z = np.exp(1j * u) + amplitude * np.exp(1j * (1 - lobes) * u)
    return np.stack([z.real, z.imag], axis=-1)


def test_amplitudes_fall_into_the_band_of_their_lobes():
    found = np.exp(descriptors([lobed(0.02, 3), lobed(0.02, 7), lobed(0.01, 20)]))[:, :-2]
    np.testing.assert_array_equal(found.argmax(axis=1), [2, 5, 7])
    # At equal arc length, a wave across the outline is shared by the modes 1 ± lobes: amplitude / √2.
    np.testing.assert_allclose(found.max(axis=1), np.array([0.02, 0.02, 0.01]) / np.sqrt(2), rtol=0.06)


def test_convex_outlines_fill_their_hull_and_whitened_ellipses_are_circles():
    convex, star = descriptors([ellipse(3, 1, 300), lobed(0.3, 5)])[:, -2:]
    np.testing.assert_allclose(np.exp(convex), 1e-3, rtol=0.2)
    assert (np.exp(star) > 0.1).all()


@settings(max_examples=20)
@given(
    st.integers(0, 10**6),
    st.tuples(*[st.floats(-2, 2)] * 4).filter(lambda m: abs(m[0] * m[3] - m[1] * m[2]) > 0.3),
)
def test_form_descriptors_are_invariant_to_linear_maps_and_rigid_motions(seed, entries):
    curves = blobs(3, 200, seed=seed)
    mapped = np.roll(curves, 17, axis=1) @ np.array(entries).reshape(2, 2) + 5
    # What differs is the place of the first landmark on the curve, which the registration determines.
    np.testing.assert_allclose(descriptors(mapped, 500), descriptors(curves, 500), atol=0.02)


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.floats(0.5, 2), st.floats(-1, 1), st.floats(-1, 1), st.floats(0.5, 2))
def test_p_values_of_form_are_invariant_to_linear_maps_of_one_image(seed, a, b, c, d):
    matrix = np.array([[a, b], [c, d]])
    if np.linalg.cond(matrix) > 10:
        matrix = np.diag([a, d])
    curves = blobs(50, 80, seed=seed)
    one = compare(Ensemble(list(curves[:25])), Ensemble(list(curves[25:])), **QUICK)
    other = compare(Ensemble(list(curves[:25])), Ensemble([curve @ matrix for curve in curves[25:]]), **QUICK)
    assert other.undulation.p_value == one.undulation.p_value
    for name, part in one.undulation.parts.items():
        assert other.undulation.parts[name].p_value == part.p_value


def test_elongation_is_invariant_to_rotation():
    rng = np.random.default_rng(0)
    curves = blobs(40, 80, seed=3)
    turned = [curve @ rotation(rng.uniform(0, 6)).T for curve in curves]
    one, other = (compare(Ensemble(list(c[:20])), Ensemble(list(c[20:])), **QUICK) for c in (curves, turned))
    for name in ("size", "elongation"):
        assert other.scale.parts[name].p_value == one.scale.parts[name].p_value


def winsorized(x):
    """Clip numbers to two robust standard deviations from their median."""
    middle, far = np.median(x), 2 * median_abs_deviation(x, scale="normal")
    return np.minimum(np.maximum(x, middle - far), middle + far)


def test_size_is_hotellings_statistic_of_log_size_and_its_square():
    rng = np.random.default_rng(0)
    l = rng.normal(size=(50, 3)) * 0.2
    points = scale_parts(l, np.diag([2.0, 3.0]), Settings()).tested["size"].points
    np.testing.assert_allclose(points.T @ points / 50, np.eye(2), atol=1e-10)
    size = winsorized((l[:, 0] + l[:, 2]) / 2)
    z = (size - size.mean()) / size.std()
    columns = np.stack([z, z**2], axis=1)
    a, b = columns[:20], columns[20:]
    within = (20 * np.cov(a.T, bias=True) + 30 * np.cov(b.T, bias=True)) / 48
    apart = a.mean(axis=0) - b.mean(axis=0)
    t2 = 20 * 30 / 50 * apart @ np.linalg.solve(within, apart)
    squared = combined_mmd_test({"": (points[:20], points[20:])}, kernels={"": "mean"}).mmd ** 2
    # The covariance is that of the pooled sample: a monotone function of T².
    assert 2 * squared * 20 * 30 / 50 / 50 == pytest.approx(t2 / (t2 + 48))


def test_concavity_is_hotellings_statistic_plus_half_of_the_squares():
    rng = np.random.default_rng(0)
    lacking = rng.normal(size=50)
    rest = np.stack([lacking, 0.9 * lacking + 0.1 * rng.normal(size=50)], axis=1)  # nearly collinear
    points = form_parts(np.empty((50, 0)), np.hstack([np.zeros((50, 3)), rest]), Settings()).tested["concavity"].points
    apart = points[:20].mean(axis=0) - points[20:].mean(axis=0)

    z = (rest - rest.mean(axis=0)) / rest.std(axis=0)
    squares = (z**2 - 1) / (z**2).std(axis=0)
    means, wider = (x[:20].mean(axis=0) - x[20:].mean(axis=0) for x in (z, squares))
    assert apart @ apart == pytest.approx(means @ np.linalg.solve(z.T @ z / 50, means) + wider @ wider / 2)


def test_other_parts_of_scale_are_mean_differences_and_an_energy_distance():
    l = np.random.default_rng(0).normal(size=(50, 3)) * 0.2
    base = np.diag([2.0, 3.0])
    parts = scale_parts(l, base, Settings()).tested
    found = combined_mmd_test(*sides(parts, 20)[:1], kernels=sides(parts, 20)[1], permutations=99).parts

    z = winsorized((l[:, 0] + l[:, 2]) / 2)
    z /= z.std()
    assert found["mean size"].mmd == pytest.approx(abs(z[:20].mean() - z[20:].mean()))

    root = np.sqrt(base)
    extents = np.linalg.eigvalsh([root @ expm([[a, b / np.sqrt(2)], [b / np.sqrt(2), c]]) @ root for a, b, c in l])
    columns = np.stack([np.log(extents[:, 1] / extents[:, 0]), l[:, 0] - l[:, 2], l[:, 1]], axis=1)
    columns = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    apart = columns[:20].mean(axis=0) - columns[20:].mean(axis=0)
    assert found["elongation"].mmd == pytest.approx(abs(apart[0]))
    assert found["direction of elongation"].mmd ** 2 == pytest.approx(apart[1:] @ apart[1:] / 2)  # in units of √2

    both = np.concatenate([parts["size"].points, columns[:, :1]], axis=1)
    a, b = both[:20], both[20:]
    energy = 2 * cdist(a, b).mean() - cdist(a, a).mean() - cdist(b, b).mean()
    unit = np.median(pdist(both))
    assert found["size and elongation"].mmd ** 2 == pytest.approx(energy / unit)


def test_merged_objects_do_not_mask_a_difference_between_the_others():
    """One outline in fifteen is many times larger than the others, equally in both samples."""
    rng = np.random.default_rng(0)
    sizes = np.exp(rng.normal(np.array([[0], [0.25]]), 0.2, (2, 45)))
    sizes[:, :3] *= [30, 40, 50]
    a, b = ([ellipse(s, s / (1.5 + 0.2 * rng.random()), 60) for s in side] for side in sizes)
    assert compare(Ensemble(a), Ensemble(b), **QUICK).scale.parts["mean size"].p_value <= 0.01


def test_outliers_do_not_turn_rounding_into_a_difference():
    """Disks that are equal except for rounding, which differs between the samples, and two larger ones."""
    rng = np.random.default_rng(0)
    l = np.zeros((60, 3))
    l[:, [0, 2]] = (1e-12 * rng.normal(size=60) + 3e-12 * (np.arange(60) < 30))[:, None]
    l[[0, 59]] += [1, 0, 1]
    samples, kernels = sides(scale_parts(l, np.eye(2), Settings()).tested, 30)
    assert combined_mmd_test(samples, kernels=kernels).p_value > 0.5


@pytest.mark.parametrize("count", [10, 20, 40])
def test_roughness_is_detected_with_fewer_curves_than_coordinates(count):
    """150 coordinates of at most 80 curves: normalized, all have the same distance from each other."""
    rng = np.random.default_rng(1)
    u = 2 * np.pi * np.arange(200) / 200
    curves = blobs(2 * count, 200, seed=5, modes=6)
    waves = np.stack([np.cos(15 * u + phase) for phase in rng.uniform(0, 6, 2 * count)])
    curves[count:] *= 1 + 0.03 * waves[count:, :, None]
    a, b = Ensemble(list(curves[:count])), Ensemble(list(curves[count:]))
    result = compare(a, b)
    assert result.undulation.parts["roughness"].p_value <= 0.002
    assert result.undulation.rejected
    before = compare(a, b, coordinates="both")
    assert list(before.undulation.parts) == ["raw"]
    assert f"normalized (not testable with {2 * count} curves" in " ".join(before.warnings)


def test_elongation_in_random_directions_is_detected():
    rng = np.random.default_rng(0)
    a, b = blobs(40, 80, seed=1, elongation=1.2), blobs(40, 80, seed=2, elongation=1.2)
    stretched = []
    for curve in b:
        turn = rotation(rng.uniform(0, 6))
        stretched.append((curve - curve.mean(axis=0)) @ turn @ np.diag([1.25, 0.8]) @ turn.T)
    result = compare(Ensemble(list(a)), Ensemble(stretched), **QUICK)
    assert result.scale.rejected
    assert result.scale.parts["elongation"].p_value < 0.01


def test_identical_disks_in_a_mosaic_do_not_differ():
    rng = np.random.default_rng(0)
    disc = ellipse(10, 10, 60)
    places = rng.uniform(20, 4980, (90, 2))
    curves = [disc + place for place in places[np.argsort(places[:, 1])]]
    for choices in (
        {},
        {"coordinates": "both"},
        {"measure": "arc-length", "registration": "raw", "coordinates": "raw"},
    ):
        for size in (1.0, 0.1):
            left, right = (Ensemble([curve * size for curve in side]) for side in (curves[:45], curves[45:]))
            result = compare(left, right, **choices)
            assert result.case == "1∧1"
            assert result.scale.p_value == result.undulation.p_value == 1
    assert "Not tested: mean size, size, elongation" in " ".join(compare(left, right).warnings)


@pytest.mark.parametrize("coordinates", ["components", "both", "normalized"])
def test_single_precision_outlines_far_from_the_origin_do_not_differ(tmp_path, coordinates):
    curves = [curve * 20 for curve in blobs(150, 120, seed=3, modes=8)]
    write_curves(tmp_path / "far.zip", Ensemble([curve + np.array([20_000, 60_000]) for curve in curves]))
    far = read_curves(tmp_path / "far.zip").ensemble
    assert is_single(far)
    result = compare(Ensemble(curves), far, coordinates=coordinates)
    assert result.case == "1∧1"
    assert "single-precision coordinates resolve only" in " ".join(result.warnings)
    assert "single-precision coordinates" in " ".join(result.warnings)


def test_precision_is_one_unit_in_the_last_place():
    curve = ellipse(10, 8, 50) + 60_000
    single = curve.astype(np.float32).astype(float)
    assert coordinate_precision(Ensemble([curve]))[0] == pytest.approx(60_000 * 2**-53, rel=0.01)
    for factor in (1, 0.65, 1e-3):
        ensemble = Ensemble([single * factor], pixel_size=factor)
        assert coordinate_precision(ensemble)[0] == pytest.approx(factor * 60_000 * 2**-24, rel=0.01)
    assert not is_single(Ensemble([np.round(curve)]))  # integer pixels are exact


def test_parts_below_the_precision_are_reported():
    a, b = ([ellipse(s, s / 2, 100) for s in sizes] for sizes in np.linspace(5, 9, 40).reshape(2, 20))
    result = compare(Ensemble(a), Ensemble(b), **QUICK)
    assert list(result.scale.parts) == ["mean size", "size"]
    assert list(result.scale.left_out) == ["elongation", "direction of elongation"]
    assert list(result.undulation.left_out) == ["coarse form", "roughness", "concavity"]
    assert (result.undulation.p_value, result.case) == (1, "1∧0")


def test_omitted_parts_and_kernels_are_saved(tmp_path):
    a, b = ([ellipse(s, s / 2, 100) for s in sizes] for sizes in np.linspace(5, 9, 40).reshape(2, 20))
    result = compare(Ensemble(a), Ensemble(b), **QUICK)
    result.save(tmp_path / "one.npz")
    again = type(result).load(tmp_path / "one.npz")
    assert again.scale.left_out == result.scale.left_out
    assert again.warnings == result.warnings
    np.testing.assert_array_equal(again.descriptors, result.descriptors)


def test_detectable_sizes_match_the_power_of_the_scale_test():
    """Power for the detectable differences, by simulation of the whole test of scale."""
    rng = np.random.default_rng(0)

    def draw(count):
        return rng.normal(size=(count, 3)) * (0.3, 0.2, 0.3)

    t = rng.normal(size=(100, 5))

    def tested(l, seed=0):
        parts = scale_parts(l, np.eye(2), Settings()).tested
        samples = {name: (part.points[:50], part.points[50:]) for name, part in parts.items()}
        kernels = {name: part.kernel for name, part in parts.items()}
        return combined_mmd_test(samples, kernels=kernels, permutations=399, significance=0.05, seed=seed)

    form = combined_mmd_test({"coarse form": (t[:50], t[50:]), "z": (t[:50] ** 2, t[50:] ** 2)})
    found = [detectable_differences(t, l, 50, form, tested(l)) for l in (draw(100) for _ in range(10))]
    ratio = np.exp(np.mean([np.log(least.size_ratio) for least in found]))
    hits = 0
    for seed in range(150):
        l = draw(100)
        l[50:] += np.log(ratio) * np.array([1, 0, 1])
        hits += tested(l, seed).rejected
    assert 0.7 < hits / 150 < 0.93


@pytest.mark.parametrize(("change", "along"), [("size_ratio", [1, 1]), ("elongation_ratio", [-0.5, 0.5])])
def test_detectable_ratios_match_the_power_for_heavy_tails_and_elongated_outlines(change, along):
    """Most sizes are similar and a third are not, so that many are winsorized; the mean outline is elongated."""
    rng, mean = np.random.default_rng(0), spd.from_coordinates(np.eye(2), np.array([0.4, 0, -0.4]))

    def draw(count):
        sizes = rng.normal(size=(count, 1)) * np.where(rng.random((count, 1)) < 0.35, 0.75, 0.09)
        return rng.normal(size=(count, 3)) * (0.03, 0.02, 0.03) + sizes * np.array([1, 0, 1])

    def tested(l, seed):
        samples, kernels = sides(scale_parts(l, mean, Settings()).tested, 40)
        return combined_mmd_test(samples, kernels=kernels, permutations=399, seed=seed)

    t = rng.normal(size=(90, 5))
    form = mmd_test(t[:40], t[40:], permutations=199)
    stated = []
    for seed in range(20):
        l = draw(90)
        least = detectable_differences(t, l, 40, form, tested(l, seed), scale_mean=mean, random_state=seed)
        stated.append(np.log(getattr(least, change)))
    logs = np.mean(stated) * np.array(along)
    hits = 0
    for seed in range(200):
        l = draw(90)
        extents, axes = np.linalg.eigh(spd.from_coordinates(mean, l[40:]))
        l[40:] = spd.coordinates(mean, (axes * (extents * np.exp(logs))[:, None]) @ axes.swapaxes(1, 2))
        hits += tested(l, seed).rejected
    assert 0.7 < hits / 200 < 0.9


def test_planned_power_matches_the_rejection_rate_of_comparisons():
    """40 outlines per sample, 15 % elongation: planned from 100 outlines, versus comparisons of other outlines."""
    rng = np.random.default_rng(0)
    u = 2 * np.pi * np.arange(60) / 60

    def drawn(count, elongation):
        own = np.exp(rng.normal(0, 0.2, (4, count)))
        own[1] *= elongation
        z = own[0, :, None] * (np.sqrt(own[1])[:, None] * np.cos(u) + 1j * np.sin(u) / np.sqrt(own[1])[:, None])
        z *= 1 + 0.1 * np.log(own[2])[:, None] * np.cos(3 * u) + 0.1 * np.log(own[3])[:, None] * np.sin(5 * u)
        z *= np.exp(1j * rng.uniform(0, 2 * np.pi, (count, 1)))
        return Ensemble(list(np.stack([z.real, z.imag], axis=-1)))

    quick = Settings(landmarks=60, rank=5, permutations=199, significance=0.05)
    pilot = compare(drawn(50, 1.5), drawn(50, 1.5), quick)
    planned = pilot.planned_power(40, elongation_ratio=1.15)
    hits = [compare(drawn(40, 1.5), drawn(40, 1.5 * 1.15), quick).scale.rejected for _ in range(60)]
    assert 0.3 < planned < 0.95
    assert abs(np.mean(hits) - planned) < 0.13
    assert pilot.planned_power(40, draws=100) < 0.12
    with pytest.raises(ValueError, match="give at least two outlines"):
        pilot.planned_power(1)
    for count, draws in ((20.5, 5), ((20, 30.5), 5), (20, 2.5)):
        with pytest.raises((ValueError, TypeError), match="give integers"):
            pilot.planned_power(count, draws=draws)
    assert pilot.planned_power(np.int64(20), draws=2) == pilot.planned_power(20, draws=2)
    with pytest.raises(ValueError, match="give positive numbers"):
        pilot.planned_power(20, size_ratio=0)


def test_form_parts_of_coordinates_are_unchanged():
    t = np.random.default_rng(0).normal(size=(60, 10)) * np.linspace(2, 0.1, 10)
    parts = form_parts(t, np.empty((60, 0)), Settings(coordinates="both")).tested
    np.testing.assert_allclose(parts["normalized"].points.std(axis=0), 1)
    assert parts["raw"].points is t
    assert list(form_parts(t, np.empty((60, 0)), Settings(null="gamma")).tested) == ["raw", "normalized"]


def test_parts_not_tested_for_outlines_of_few_pixels_are_reported():
    def said(across):
        sides = []
        for seed in (1, 2):
            labels = np.zeros((100, 100 * 16), int)
            for place, curve in enumerate(blobs(16, 60, seed=seed, elongation=1.2)):
                curve = (curve - curve.mean(axis=0)) * across / np.ptp(curve, axis=0).mean() + [50, 50 + 100 * place]
                labels[polygon2mask(labels.shape, curve)] = place + 1
            sides.append(extract_curves(labels))
        return " ".join(compare(*sides, **QUICK).warnings)

    assert "Not tested: concavity (the outlines hold 8 waves)." in said(30)
    assert "Not tested: roughness, concavity (the outlines hold 5 waves)." in said(20)
    assert "waves)" not in said(70)


def test_mirrored_outlines_do_not_differ_in_elongation_without_reflections():
    """Elongation is that of each outline; along the registered frame it turns over with a mirrored form."""
    u = 2 * np.pi * np.arange(100) / 100
    hook = np.stack([np.cos(u), np.sin(u) + 0.3 * np.cos(2 * u) + 0.2 * np.cos(3 * u)], axis=1)
    sheared, rng = hook @ [[1.2, 0.5], [0.0, 1.0]], np.random.default_rng(0)
    a, b = ([s * sheared for s in rng.lognormal(0, 0.2, 30)] for _ in "ab")
    mirrored = [curve * [1, -1] for curve in b]
    result = compare(Ensemble(a), Ensemble(mirrored), **QUICK, reflections=False)
    assert result.case == "0∧1"
    assert list(result.scale.left_out) == ["elongation", "direction of elongation"]
    assert compare(Ensemble(a), Ensemble(mirrored), **QUICK).case == "1∧1"
