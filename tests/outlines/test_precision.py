"""What outlines can show, and comparisons of those of unequal precision."""

import itertools
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from scipy.ndimage import gaussian_filter, label
from scipy.spatial import cKDTree
from skimage.io import imread
from skimage.measure import find_contours

from curve_makers import ragged_blobs
from napari_shape_ensembles import (
    Comparison,
    Ensemble,
    Settings,
    at_pixel_size,
    compare,
    decision_landscape,
    experiment,
    extract_curves,
    quality,
)
from napari_shape_ensembles.comparison.learning import KNOWN, learn
from napari_shape_ensembles.comparison.precision import at_one_precision
from napari_shape_ensembles.comparison.typical import typical_outlines, typical_rows
from napari_shape_ensembles.io import rerun
from napari_shape_ensembles.outlines.acquisition import acquired_at
from napari_shape_ensembles.outlines.precision import Precision, pixels_of, precision_of
from napari_shape_ensembles.outlines.rasterize import rasterize
from napari_shape_ensembles.outlines.reasons import VANISHED
from napari_shape_ensembles.outlines.retracing import traced_again
from napari_shape_ensembles.shapes import to_landmarks
from napari_shape_ensembles.shapes.decomposition import decompose
from napari_shape_ensembles.shapes.lobes import band_amplitudes

QUICK = Settings(landmarks=100, rank=30, permutations=300)


@pytest.fixture(scope="module")
def pooled(real_data):
    """Return a function that traces nuclei from every n-th pixel, cached."""
    labels = imread(real_data / "dsb_nuclei" / "labels.png").astype(int)

    @cache
    def traced(factor):
        small = labels[::factor, ::factor]
        return extract_curves(small, scale=(factor * 0.5,) * 2, unit="µm", min_area=16, name=f"at {factor}")

    return traced


@pytest.mark.parametrize("factor", [2, 4])
def test_resampled_outlines_match_those_of_the_coarser_image(pooled, factor):
    """Areas and perimeters agree with those traced from every second or fourth pixel of the labels."""
    coarse, brought = pooled(factor), at_pixel_size(pooled(1), 0.5 * factor)
    assert brought.pixel_size == coarse.pixel_size
    one = coarse.features.merge(brought.features, on="id", suffixes=("", "_brought"))
    assert len(one) > 0.9 * len(coarse)
    for name in ("area", "perimeter"):
        ratio = one[f"{name}_brought"] / one[name]
        assert abs(ratio.median() - 1) < 0.02
        assert ratio.sub(1).abs().quantile(0.9) < 0.1


def test_outlines_between_the_larger_pixels_are_counted():
    thin = Ensemble([[(0, 0), (0, 200), (0.5, 200), (0.5, 0)]], pixel_size=1.0)
    lost = at_pixel_size(thin, 2.0)
    assert (len(lost), lost.dropped) == (0, {VANISHED: 1})


def test_nothing_changes_at_the_same_or_a_smaller_pixel_size(pooled):
    ensemble = pooled(2)
    assert at_pixel_size(ensemble, 1.0) is ensemble
    assert at_pixel_size(ensemble, 0.2) is ensemble
    for size in (0, np.nan, np.inf):
        with pytest.raises(ValueError, match="size of a pixel must be a positive number"):
            at_pixel_size(ensemble, size)
    with pytest.raises(ValueError, match="pixel size of x is unknown"):
        at_pixel_size(Ensemble(ensemble.curves, name="x"), 1.0)


def test_small_objects_are_excluded_and_counted(pooled):
    fine = pooled(1)
    coarse = at_pixel_size(fine, 4.0)
    assert len(coarse) < len(fine)
    assert sum(coarse.dropped.values()) - sum(fine.dropped.values()) >= len(fine) - len(coarse)
    (reason,) = set(coarse.dropped) - set(fine.dropped)
    assert (reason.key, reason.limit) == ("small", 16)
    assert str(reason).startswith("smaller than 16 px² at pixels of ")


def halves(pooled, coarser):
    """Random halves of the nuclei, the second at larger pixels."""
    fine, coarse = pooled(1), pooled(coarser)
    half = np.arange(len(coarse)) % 2 == 0
    kept = set(coarse.ids[half].tolist())
    return fine[[label not in kept for label in fine.ids.tolist()]], coarse[half]


def test_a_comparison_brings_outlines_to_larger_pixels_and_reports_it(pooled, tmp_path):
    a, b = halves(pooled, 4)
    result = compare(a, b, QUICK)
    assert result.case == "1∧1"
    assert "brought to the coarser precision of the others: finer detail is not compared" in result.note
    assert f"{result.note}." in result.warnings
    assert np.median(pixels_of(result.compared[0])) == pytest.approx(2.0, rel=0.15)
    result.save(tmp_path / "r.npz")
    assert Comparison.load(tmp_path / "r.npz").note == result.note


def test_outlines_too_small_for_the_larger_pixels_are_counted(pooled):
    fine, coarse = pooled(1), pooled(4)
    lost = len(fine) - len(at_pixel_size(fine, 2.0))
    assert lost > 1
    ((given,), _), ((brought,), _), note = at_one_precision([[fine], [coarse]])
    assert note.endswith(f"; {lost} outlines too small for the largest pixels were left out")
    assert len(given) == len(fine) - lost - given.dropped.get(VANISHED, 0)
    assert given.dropped == brought.dropped
    assert given.ids.tolist() == brought.ids.tolist()
    originals = dict(zip(fine.ids.tolist(), fine.curves, strict=True))
    assert all(np.array_equal(originals[name], curve) for name, curve in zip(given.ids, given.curves, strict=True))


def test_what_is_left_of_an_outline_that_came_apart_is_an_outline_only_if_it_would_be_traced():
    """Lines as thin as a coarse pixel break into crumbs; the larger half of a dumbbell stays."""
    rows, columns = np.indices((128, 128)) - 64
    labels = np.zeros((128, 128 * 28), int)
    for number in range(28):
        angle, size = np.pi * number / 28, 12 + number / 7
        along, across = (
            rows * f + columns * g for f, g in ((np.cos(angle), np.sin(angle)), (-np.sin(angle), np.cos(angle)))
        )
        mask = np.hypot(along, across) < size
        if number % 7 == 3:
            mask = np.hypot(along / 55, across / 3) < 1
        elif number % 7 == 5:
            mask = np.hypot(abs(along) - 25, across) < 15 - (along > 0)
            mask |= (abs(along) < 25) & (abs(across) < 1.5)
        labels[:, 128 * number : 128 * (number + 1)][mask] = number + 1
    fine = extract_curves(labels, scale=(0.5, 0.5), unit="µm")
    coarse = extract_curves(labels[::4, ::4], scale=(2.0, 2.0), unit="µm")
    ((given,), _), ((brought,), _), _ = at_one_precision([[fine], [coarse]])
    left = (brought.features["area"] / given.features["area"]).to_numpy()
    is_dumbbell = (brought.ids - 1) % 7 == 5
    assert np.count_nonzero(is_dumbbell) == 4
    assert ((left[is_dumbbell] > 0.4) & (left[is_dumbbell] < 0.6)).all()
    assert left[~is_dumbbell].min() > 0.5
    assert given.dropped[VANISHED] == len(fine) - len(given) > 0


def test_pooled_images_keep_their_pixels(pooled):
    """Pooled before a comparison or by it, images of unequal pixels lead to the same result."""
    images = [pooled(1), pooled(2)]
    both = Ensemble.pooled(images, name="both").to("nm")
    assert np.unique(pixels_of(both)).tolist() == [500, 1000]
    results = [compare(given, pooled(2), QUICK, overrule=True) for given in (images, iter(images), both.to("µm"))]
    assert len({result.undulation.p_value for result in results}) == 1


def test_an_experiment_of_two_groups_brings_them_to_one_precision_like_a_comparison(pooled):
    a, b = halves(pooled, 4)
    design = pd.DataFrame({"group": ["a", "b"]})
    result, pairs = compare(a, b, QUICK), experiment([a, b], design, QUICK)
    assert pairs.table["undulation_statistic"][0] == result.undulation.mmd
    assert f"{result.note}." in pairs.warnings
    assert pairs.contrast().note == result.note
    found = decision_landscape(a, b, ranks=[5], landmarks=[40], settings=QUICK)
    assert found.summary().endswith(f". {result.note}.")


def circles(count, vertices, *, seed=0, waves=0.03):
    """Wavy circles of about 40 units across."""
    rng, u = np.random.default_rng(seed), 2 * np.pi * np.arange(vertices) / vertices
    found = []
    for _ in range(count):
        phases, k = rng.uniform(0, 2 * np.pi, 8), np.arange(2, 10)
        radius = rng.uniform(18, 22) * (1 + waves * np.cos(k * u[:, None] + phases) @ (1 / k))
        found.append(radius[:, None] * np.stack([np.cos(u), np.sin(u)], axis=1) + rng.uniform(0, 1, 2))
    return found


def test_a_grid_of_coordinates_is_found_in_both_directions():
    whole = [np.round(curve / [0.325, 0.65]) * [0.325, 0.65] + [17, 3] for curve in circles(3, 40)]
    np.testing.assert_allclose(precision_of(Ensemble(whole)).step, [[0.325, 0.65]] * 3, rtol=1e-6)
    single = [curve.astype(np.float32) for curve in whole]
    np.testing.assert_allclose(precision_of(Ensemble(single)).step, [[0.325, 0.65]] * 3, rtol=1e-4)
    assert not precision_of(Ensemble(circles(3, 40))).step.any()
    decimals = [np.round(curve, 2) for curve in circles(3, 40)]
    assert not precision_of(Ensemble(decimals)).step.any()  # they hold all that is tested


def test_dense_curves_are_exact_however_they_are_sampled():
    for count in (60, 400):
        known = precision_of(Ensemble(circles(3, count)))
        assert np.isinf(known.vertices).all()
        assert not np.concatenate([known.pixel, known.step, known.smoothing]).any()
    assert precision_of(Ensemble(circles(3, 40))).vertices.tolist() == [40, 40, 40]


def test_tracing_gives_pixels_and_smoothing_in_both_directions():
    mask = rasterize([circles(1, 100)[0] + 25], (50, 50)) > 0
    traced = extract_curves(mask, scale=(1, 3), smoothing=2, unit="µm")
    known = precision_of(traced)
    assert known.pixel.tolist() == [[1, 3]]
    assert known.smoothing.tolist() == [[2, 6]]
    isotropic = extract_curves(mask, scale=(1, 3), smoothing=2, smoothing_unit="physical", unit="µm")
    np.testing.assert_allclose(precision_of(isotropic).smoothing, [[2, 2]])


def test_whole_pixels_are_rounded_on_the_other_side_too():
    """Vertices of the finer side move to the grid of the coarser one, whose outlines stay as they are."""
    fine, whole = Ensemble(circles(30, 40)), Ensemble([np.round(curve) for curve in circles(30, 40, seed=1)])
    _, ((a,), (b,)), note = at_one_precision([[fine], [whole]])
    assert b is whole
    assert note.startswith("30 outlines were brought")
    assert np.abs(np.concatenate([x - y for x, y in zip(a.curves, fine.curves, strict=True)])).max() < 0.7
    assert compare(fine, whole, QUICK).case == "1∧1"


def test_clicked_polygons_are_thinned_rank_by_rank():
    dense = Ensemble(circles(40, 40))
    mixed = Ensemble([curve[::2] if place % 2 else curve for place, curve in enumerate(circles(40, 40, seed=1))])
    _, ((a,), (b,)), _ = at_one_precision([[dense], [mixed]])
    assert b is mixed
    assert sorted(map(len, a.curves)) == [20] * 20 + [40] * 20
    assert all(np.isin(a[i], dense[i]).all() for i in range(40))


@pytest.mark.parametrize("count", [37, 40, 45])
def test_polygons_are_thinned_to_the_same_vertices_from_any_start_and_in_any_direction(count):
    curves = circles(30, count)
    mixed = Ensemble([curve[::2] if place % 2 else curve for place, curve in enumerate(circles(30, 40, seed=1))])

    def thinned(of):
        _, ((found,), _), _ = at_one_precision([[Ensemble(of)], [mixed]])
        return [{tuple(vertex) for vertex in curve} for curve in found.curves]

    expected = thinned(curves)
    assert min(map(len, expected)) < count - 10
    assert thinned([np.roll(curve, 7, axis=0) for curve in curves]) == expected
    assert thinned([curve[::-1] for curve in curves]) == expected
    mirrored = thinned([curve * [1, -1] for curve in curves])
    assert [{(row, -column) for row, column in curve} for curve in mirrored] == expected


def clicked(curves, least, most, *, seed=0):
    """Polygons of `least` to `most` vertices at unequal distances."""
    rng, found = np.random.default_rng(seed), []
    for curve in curves:
        count = rng.integers(least, most + 1)
        places = (np.arange(count) + rng.uniform(-0.3, 0.3, count)) * len(curve) / count
        found.append(curve[np.unique(places.astype(int) % len(curve))])
    return Ensemble(found)


def labeled(curves, smoothing=1.0, side=80):
    """Curves traced from labels, one below the other."""
    masks = [rasterize([curve + side / 2], (side, side)) for curve in curves]
    plane = np.concatenate([mask * number for number, mask in enumerate(masks, 1)])
    return extract_curves(plane, smoothing=smoothing)


def rounded(curves):
    return Ensemble([np.round(curve) for curve in curves])


def centers(curves):
    """Outlines through the outermost pixels of masks, as OpenCV finds them."""
    padded = [rasterize([curve + 40], (80, 80)) for curve in curves]
    found = [np.round(max(find_contours(mask, 0.999), key=len))[:-1] for mask in padded]
    return Ensemble([curve[np.any(curve != np.roll(curve, 1, axis=0), axis=1)] for curve in found])


def corners(curves):
    """These outlines without what lies on straight lines between others, as OpenCV's CHAIN_APPROX_SIMPLE."""

    def reduced(curve):
        before, after = curve - np.roll(curve, 1, axis=0), np.roll(curve, -1, axis=0) - curve
        return curve[np.any(before != after, axis=1)]

    return Ensemble([reduced(curve) for curve in centers(curves).curves])


def contours(curves):
    """Contours of masks, as scikit-image finds them."""
    return Ensemble([max(find_contours(rasterize([curve + 40], (80, 80)), 0.5), key=len)[:-1] for curve in curves])


ACQUISITIONS = {
    "9 to 12 clicked": partial(clicked, least=9, most=12),
    "12 to 20 clicked": partial(clicked, least=12, most=20),
    "20 to 30 clicked": partial(clicked, least=20, most=30),
    "40 to 55 clicked": partial(clicked, least=40, most=55),
    "exact": Ensemble,
    "labels": labeled,
    "labels, not smoothed": partial(labeled, smoothing=0.0),
    "whole pixels": rounded,
    "centers of pixels": centers,
    "corners of centers": corners,
    "contours of masks": contours,
}


@pytest.mark.parametrize("offset", [0.0, 0.3, 0.5])
def test_outermost_pixels_are_compared_as_the_masks_they_belong_to(offset):
    """Wherever the centers of pixels are: at integers, or halfway between them."""
    curves = circles(30, 400)
    chains = Ensemble([curve + offset for curve in centers(curves).curves])
    _, (_, (brought,)), _ = at_one_precision([[labeled(circles(30, 400, seed=1))], [chains]])
    expected = labeled(curves).features["area"]
    np.testing.assert_allclose(brought.features["area"], expected, rtol=1e-3)
    assert (chains.features["area"] < 0.97 * expected).all()


@pytest.mark.parametrize("pair", list(itertools.combinations(ACQUISITIONS, 2)), ids=" and ".join)
def test_outlines_of_one_form_acquired_in_two_ways_do_not_differ(pair):
    """Pixels lead to other errors than clicks, and following their boundaries to others than rounding does."""
    one, other = (ACQUISITIONS[name] for name in pair)
    rejected = 0
    for seed in range(6):
        forms = circles(80, 400, seed=seed, waves=0.1)
        rejected += compare(one(forms[:40]), other(forms[40:]), QUICK, seed=seed).undulation.rejected
    assert rejected <= 2  # more are expected of 1 pair in 3000


def test_clicked_polygons_show_other_forms_than_labels():
    smooth, lobed = circles(40, 400, waves=0.06), circles(40, 400, seed=1, waves=0.12)
    assert compare(clicked(smooth, 20, 30), labeled(lobed), QUICK).undulation.rejected
    assert compare(labeled(smooth), clicked(lobed, 20, 30), QUICK).undulation.rejected


def test_outlines_reduced_to_vertices_like_clicked_ones_are_about_as_long():
    """Clicks at any place of an outline rarely hit its ends."""
    rng = np.random.default_rng(0)
    forms = [np.roll(curve * [3, 1], rng.integers(400), axis=0) for curve in circles(300, 400)]

    def mean_length(curves):
        return np.mean([np.ptp(curve, axis=0)[0] for curve in curves])

    polygons = clicked(forms, 9, 12)
    _, (_, (reduced,)), _ = at_one_precision([[polygons], [Ensemble(forms)]])
    assert mean_length(polygons.curves) < 0.985 * mean_length(forms)
    assert mean_length(reduced.curves) == pytest.approx(mean_length(polygons.curves), rel=0.008)


def test_outlines_reduced_to_vertices_like_clicked_ones_do_not_depend_on_start_and_direction():
    curves = circles(30, 400)
    curves += [curve + 100 for curve in curves]  # equal ones stay equal
    polygons = clicked(circles(30, 400, seed=1), 12, 20)

    def reduced(of):
        _, ((found,), _), _ = at_one_precision([[Ensemble(of)], [polygons]])
        return [{tuple(vertex) for vertex in curve} for curve in found.curves]

    expected = reduced(curves)
    assert {len(curve) for curve in expected} <= set(range(11, 21))
    assert {tuple(np.subtract(vertex, 100).round(6)) for vertex in expected[30]} == {
        tuple(np.round(vertex, 6)) for vertex in expected[0]
    }
    assert reduced([np.roll(curve, 7, axis=0) for curve in curves]) == expected
    assert reduced([curve[::-1] for curve in curves]) == expected


def test_equal_precision_changes_nothing():
    whole = [Ensemble([np.round(curve) for curve in circles(20, 40, seed=seed)]) for seed in (0, 1)]
    clicked = [Ensemble(circles(20, 30, seed=seed)) for seed in (0, 1)]
    dense = [Ensemble(circles(20, 100)), Ensemble(circles(20, 300))]
    for a, b in (whole, clicked, dense):
        given, compared, note = at_one_precision([[a], [b]])
        for (one,), (other,) in (given, compared):
            assert one is a
            assert other is b
        assert note == ""


def test_outlines_of_another_size_lose_as_much_as_the_smaller_ones():
    """Labels of one form half as large again: form does not differ, and the larger ones were traced again."""
    sides = []
    for seed, size in ((0, 1.0), (1, 1.6)):
        masks = [rasterize([size * curve + 40], (80, 80)) > 0 for curve in circles(30, 200, seed=seed, waves=0.06)]
        sides.append(Ensemble.from_masks(masks))
    result = compare(*sides, QUICK)
    assert result.case == "1∧0"
    (a, b), given = map(pixels_of, result.compared), pixels_of(result.b)
    assert np.median(b) == pytest.approx(1.6, rel=0.1)
    assert not a.max() > 1.2
    assert (given == pixels_of(sides[1])).all()


@pytest.mark.parametrize("whole", [False, True])
def test_errors_of_pixels_on_smooth_outlines_are_those_of_the_coarser_side_in_all_waves(whole):
    """Circles have no waves but errors of pixels, be they traced or have vertices on whole pixels."""
    rng = np.random.default_rng(0)
    around = 2 * np.pi * np.arange(600) / 600
    circle = np.stack([np.cos(around), np.sin(around)], axis=1)

    def traced(across):
        curves = [across / 2 * size * circle + rng.uniform(0, 1, 2) for size in rng.uniform(0.85, 1.15, 150)]
        if whole:
            return Ensemble([np.round(curve) for curve in curves])
        placed = [curve + np.array([across, (2 * place + 1) * across]) for place, curve in enumerate(curves)]
        return Ensemble.from_labels(rasterize(placed, (2 * across, 300 * across)))

    def waves(ensemble):
        found = []
        for curve in ensemble.curves:
            away = (curve - curve.mean(axis=0)) @ [1, 1j]
            angles = np.angle(away) % (2 * np.pi)
            order = np.argsort(angles)
            radius = np.interp(around, angles[order], np.abs(away)[order], period=2 * np.pi)
            found.append(np.abs(np.fft.rfft(radius / radius.mean())) ** 2)
        mean = np.mean(found, axis=0)
        return np.array([mean[3:6].sum(), mean[6:10].sum(), mean[10:16].sum(), mean[16:21].sum()])

    _, ((coarse,), (brought,)), _ = at_one_precision([[traced(80)], [traced(120)]])
    assert abs(waves(brought) / waves(coarse) - 1).max() < 0.25


def test_exact_outlines_among_those_of_equal_pixels_are_smoothed():
    """A circle loses half the variance over the radius, also where pixels are alike and only smoothing is not."""
    forms = circles(40, 400)
    exact = Ensemble([20 * curve / np.hypot(*curve.T)[:, None] for curve in forms[:2]])
    groups = [[labeled(forms, smoothing=2.0)], [rounded(forms[2:]), exact]]
    _, (_, (_, smoothed)), _ = at_one_precision(groups)
    for curve in smoothed.curves:
        assert np.hypot(*(curve - curve.mean(axis=0)).T).mean() == pytest.approx(20 - 2**2 / 40, abs=0.03)


def test_rectangles_along_the_pixels_stay_symmetric_and_of_one_form():
    """On straight edges along rows and columns pixels make no waves, neither real nor simulated ones."""
    rng, corners = np.random.default_rng(0), np.array([(-1, -1), (-1, 1), (1, 1), (1, -1)])

    def traced(across):
        halves = across / 2 * np.exp(0.1 * rng.normal(size=(24, 2))) * (1, 1.5)
        curves = [half * corners + 1.5 * across + rng.uniform(0, 1, 2) for half in halves]
        return Ensemble.from_masks([rasterize([curve], (int(3 * across),) * 2) > 0 for curve in curves])

    result = compare(traced(40), traced(60), QUICK, overrule=True)
    assert not result.undulation.rejected
    form, _ = decompose(to_landmarks(result.compared[1], 200))
    assert band_amplitudes(form, [(1, 1), (3, 3), (5, 5)]).max() < 3e-4


def traced_discs(rng, count, elongation, roughness=0.03):
    """Discs with waves, stretched in a random direction, as traced from pixels; 44 of these across."""
    u, k = 2 * np.pi * np.arange(400) / 400, np.arange(2, 21)
    planes = []
    for _ in range(count):
        waves = rng.normal(size=(2, len(k))) / k
        radius = 22 * (1 + roughness * (waves[0] @ np.cos(np.outer(k, u)) + waves[1] @ np.sin(np.outer(k, u))))
        curve = np.stack([radius * np.cos(u), radius * np.sin(u)], axis=1) * (elongation**0.5, elongation**-0.5)
        angle = rng.uniform(0, 2 * np.pi)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        planes.append(rasterize([curve @ turn + 40 + rng.uniform(0, 1, 2)], (80, 80)) > 0)
    return Ensemble.from_labels(label(np.concatenate(planes, axis=1))[0], scale=(1.0, 1.0), unit="µm")


def test_elongation_does_not_make_errors_of_pixels_a_difference_in_form():
    """They are larger across a stretched outline, and smaller along it, once elongation is divided out."""
    rng = np.random.default_rng(0)
    discs, ellipses = traced_discs(rng, 190, 1.0), traced_discs(rng, 190, 1.5)
    result = compare(discs, ellipses)
    assert not result.undulation.rejected
    assert result.scale.rejected
    # Pixels and smoothing are as coarse in all forms, in both directions.
    _, brought, note = at_one_precision([[discs], [ellipses]])
    assert note.startswith("380 outlines were brought to the coarser precision")
    means = [
        np.log(band_amplitudes(decompose(to_landmarks(images[0], 300))[0], [(9, 13), (14, 24)])).mean(axis=0)
        for images in brought
    ]
    np.testing.assert_allclose(*means, atol=0.05)


def test_errors_of_pixels_alone_are_no_form():
    """All that is left of perfect ellipses without their elongation."""
    rng = np.random.default_rng(1)
    images = [traced_discs(rng, 40, elongation, roughness=0.0) for elongation in (1.0, 1.0, 1.0, 3.0, 3.0, 3.0)]
    left_out = compare(images[0], images[3]).undulation.left_out
    assert {name: "to the precision of their coordinates" in why for name, why in left_out.items()} == dict.fromkeys(
        ("coarse form", "roughness", "concavity"), True
    )
    assert compare(images[:3], images[3:]).case == "1∧0"


def test_waves_below_the_errors_of_simulated_pixels_are_not_compared():
    """The least amplitude is ten times the precision that is known."""
    sides = [rasterize([size * curve + 40], (80, 80)) > 0 for size in (1.0, 1.6) for curve in circles(12, 100)]
    small, large = Ensemble.from_masks(sides[:12]), Ensemble.from_masks(sides[12:])
    assert learn([small, small], QUICK).known == KNOWN
    _, ((same,), (brought,)), _ = at_one_precision([[small], [large]])
    assert learn([same, brought], QUICK).known == pytest.approx(np.sqrt(1 / 2) * 0.02 / 10, rel=0.1)


def test_outlines_are_shown_and_saved_as_they_were_given(tmp_path):
    """What is learned and tested is thinned; pictures, tables and files hold every vertex."""
    dense, sparse = Ensemble(circles(20, 40), name="dense"), Ensemble(circles(20, 20, seed=1), name="sparse")
    result = compare(dense, sparse, QUICK)
    assert set(map(len, result.compared[0].curves)) == {20}
    result.save(tmp_path / "thinned.comparison.npz")
    again = Comparison.load(tmp_path / "thinned.comparison.npz")
    for one in (result, again):
        np.testing.assert_array_equal(one.a.vertices, dense.vertices)
        assert one.compared[1] is one.b
        assert one.to_dataframe()["area"][:20].tolist() == dense.features["area"].tolist()
        assert all(map(np.array_equal, one.layer_data(thin=False)[0][0], dense.curves))
        rows = typical_rows(one)
        drawn = Ensemble(typical_outlines(one, rows)[0]).features["area"]
        np.testing.assert_allclose(drawn, dense.features["area"][rows[0]], rtol=0.002)
        assert (drawn > 1.005 * result.compared[0].features["area"][rows[0]].to_numpy()).all()
    np.testing.assert_array_equal(again.compared[0].vertices, result.compared[0].vertices)
    assert again.estimates.equals(result.estimates)
    assert rerun(tmp_path / "thinned.comparison.npz").same
    # As if the thinned outlines had been given.
    thinned = compare(*result.compared, QUICK)
    assert thinned.note == ""
    assert thinned.numbers().keys() == result.numbers().keys()
    assert all(np.array_equal(value, thinned.numbers()[name]) for name, value in result.numbers().items())
    assert thinned.estimates.equals(result.estimates)


def test_outlines_that_become_alike_are_no_duplicates():
    """Twins that differ in those vertices only by which they are denser than outlines of the other side."""
    fine, coarse, twins = Ensemble(circles(12, 58)), Ensemble(circles(24, 44, seed=1)), []
    _, ((reduced,), _), _ = at_one_precision([[fine], [coarse]])
    for curve, kept in zip(fine.curves, reduced.curves, strict=True):
        between = ~np.isin(curve, kept).all(axis=1)
        twins.append(curve - 0.01 * between[:, None] * (curve - curve.mean(axis=0)))
    result = compare(Ensemble([*fine.curves, *twins]), coarse, QUICK)
    assert [finding.check for finding in quality(*result.compared).serious] == ["duplicates"]
    assert result.withheld == ""


def test_unequal_parameters_of_tracing_withhold_the_row():
    masks = [rasterize([curve + 25], (50, 50)) > 0 for curve in circles(24, 100, waves=0.1)]
    a, b = Ensemble.from_masks(masks[:12]), Ensemble.from_masks(masks[12:], smoothing=2.0)
    result = compare(a, b, QUICK)
    assert result.withheld == (
        "outlines were traced with unequal outline smoothing: 1.0 in A and 2.0 in B: trace all of them alike"
    )
    overruled = compare(a, b, QUICK, overrule=True)
    assert overruled.inconclusive is None
    assert not compare(a, Ensemble.from_masks(masks[12:]), QUICK).quality.serious


def test_a_real_difference_is_found_between_unequal_pixel_sizes(pooled):
    fine, coarse = pooled(1), pooled(2)
    half = np.arange(len(fine)) % 2 == 0
    stretched = Ensemble([curve * (1.5, 1.0) for curve in coarse.curves], unit="µm", ids=coarse.ids, pixel_size=1.0)
    kept = set(fine.ids[half].tolist())
    other = stretched[[label not in kept for label in stretched.ids.tolist()]]
    assert compare(fine[half], other, QUICK).scale.rejected


@pytest.mark.parametrize("sigma", [(1.0, 1.0), (0.5, 1.5)])
def test_outlines_are_traced_again_as_their_pixels_would_be(sigma):
    """Also those of which the pixels come apart: as by scikit-image, from their largest part."""
    rng = np.random.default_rng(0)
    thin = np.stack([25 * np.cos(2 * np.pi * np.arange(200) / 200), np.sin(2 * np.pi * np.arange(200) / 200)], axis=1)
    curves = [curve / rng.uniform(0.5, 2) for curve in circles(40, 100, waves=0.2)] + [0.5 * thin, 0.2 * thin]
    pixel = np.full((len(curves), 2), [1.0, 1.5])
    for curve, again in zip(curves, traced_again(curves, pixel, np.array(sigma)), strict=True):
        mask = rasterize([curve / [1.0, 1.5] + 50], (100, 100)) > 0
        found = find_contours(gaussian_filter(mask.astype(float), sigma), 0.5)
        if not found:
            assert again is None
            continue
        expected = (max(found, key=polygon_area)[:-1] - 50) * [1.0, 1.5]
        apart, _ = cKDTree(expected).query(again)
        assert len(again) == len(expected)
        assert apart.max() < 1e-9


def polygon_area(curve):
    """Area of a closed contour."""
    return abs(np.sum(curve[1:, 0] * curve[:-1, 1] - curve[:-1, 0] * curve[1:, 1]))


@pytest.mark.parametrize("sigma", [(1.0, 1.0), (0.5, 1.25)])
def test_smoothing_again_equals_filtering_a_fine_mask(sigma):
    """Of outlines with pixels of 1 that lack this smoothing; the reference has pixels of 0.05."""
    curve = 20 * ragged_blobs(1, seed=2, roughness=0.1)[0]
    none, pixel = np.zeros((1, 2)), np.ones((1, 2))
    own = Precision(np.full(1, 40.0), pixel, pixel, none, np.full(1, np.inf), np.zeros(1))
    wanted = own._replace(pixel=pixel / 40, smoothing=np.sqrt(1 + np.square([sigma])) / 40)
    (smoothed,) = acquired_at(Ensemble([curve]), own, wanted, 40 * np.eye(2)[None], []).curves
    corner = curve.min(axis=0) - 5
    mask = rasterize([(curve - corner) / 0.05], tuple(np.ptp(curve, axis=0).astype(int) * 20 + 220)) > 0
    level = gaussian_filter(mask.astype(float), 20 * np.array(sigma))
    expected = max(find_contours(level, 0.5), key=len) * 0.05 + corner
    assert cKDTree(expected).query(smoothed)[0].max() < 0.05


def test_corners_on_whole_pixels_are_compared_with_exact_ones_at_whole_pixels():
    """A grid is found in the corners of many outlines: exact rectangles differed from those in every draw."""
    rng = np.random.default_rng(0)

    def rectangles():
        sides, turns = rng.uniform(30, 60, (60, 2)), rng.uniform(0, 2 * np.pi, 60)
        corners = np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]]) / 2 * sides[:, None]
        turned = [[[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]] for turn in turns]
        return list(corners @ np.array(turned) + rng.uniform(0, 100, (60, 1, 2)))

    whole, exact = Ensemble([np.round(one) for one in rectangles()]), Ensemble(rectangles())
    assert (precision_of(whole).step == 1).all()
    assert np.isinf(precision_of(whole).vertices).all()
    result = compare(exact, whole, QUICK)
    assert not result.undulation.rejected
    assert "brought to the coarser precision" in " ".join(result.warnings)


@pytest.mark.parametrize("unit", [0.1, 0.325, 0.0073])
@pytest.mark.parametrize("kind", ["masks", "polygons"])
def test_outlines_at_one_precision_do_not_depend_on_the_unit(kind, unit):
    """Multiples of a unit have rounding errors: of centers on a boundary, and of sizes that are equal otherwise."""
    small = [np.round(curve) for curve in circles(30, 400)]
    large = [np.round(1.5 * curve) for curve in circles(30, 400, seed=1)]
    if kind == "polygons":  # each twice, so that sizes and numbers of vertices are equal
        large = [curve[:: 40 if place % 2 else 20] for place, curve in enumerate(small)]
        large += [curve + 100 for curve in large]
        small = [curve[::20] for curve in small]
    _, (first, second), note = at_one_precision([[Ensemble(small)], [Ensemble(large)]])
    assert note
    scaled = [[Ensemble([unit * curve for curve in curves])] for curves in (small, large)]
    _, again, same = at_one_precision(scaled)
    assert same == note
    for (one,), (other,) in zip((first, second), again, strict=True):
        for a, b in zip(one.curves, other.curves, strict=True):
            np.testing.assert_allclose(b / unit, a, atol=1e-6)


@pytest.mark.parametrize("kind", ["curves", "masks", "polygons", "labels"])
def test_outlines_at_one_precision_do_not_depend_on_their_place(kind):
    """Cropping an image moves its outlines, and some software draws rows upwards."""
    rng, fine, coarse = np.random.default_rng(3), circles(30, 400), circles(30, 400, seed=1)

    def acquired(curves, step):
        if kind == "curves" and step == 1:
            return Ensemble(curves)
        if kind == "polygons":
            return Ensemble([np.round(curve[::20] / step) * step for curve in curves])
        if kind in ("curves", "masks"):
            return Ensemble([np.round(curve / step) * step + 0.3 for curve in curves])
        corners = np.array([np.floor(curve.min(axis=0) / step) - 3 for curve in curves])
        planes = [rasterize([curve / step - corner], (60, 60)) for curve, corner in zip(curves, corners, strict=True)]
        traced = [extract_curves(plane, scale=(step, step), unit="µm") for plane in planes]
        return Ensemble([one.curves[0] for one in traced], pixel_size=step, unit="µm", tracing=traced[0].tracing)

    one, other = acquired(fine, 1.0), acquired(coarse, 1.7)
    _, ((before,), _), note = at_one_precision([[one], [other]])
    assert note
    for moved in (np.add(rng.integers(-500, 500, 2), np.zeros(2)), np.array([0.37, 100.4])):
        there = one.derived([curve + moved for curve in one.curves], np.arange(len(one)))
        _, ((after,), _), same = at_one_precision([[there], [other]])
        assert same == note
        for a, b in zip(before.curves, after.curves, strict=True):
            np.testing.assert_allclose(b - moved, a, atol=1e-6)
