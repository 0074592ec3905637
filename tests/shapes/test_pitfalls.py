"""Pitfalls of plausible shortcuts, from curves to coordinates, each covered by no other test."""

import numpy as np
import pytest
from scipy.linalg import logm

from curve_makers import blobs, clover, ellipse, pixelated, ragged_blobs, randomly_moved, rotation
from napari_shape_ensembles import Ensemble, ShapeSpace, decompose, register, to_landmarks
from napari_shape_ensembles.shapes import grassmann, spd
from napari_shape_ensembles.shapes.registration import archetype_index, choose_archetype, distinctness

STRETCH = np.array([[2.1, 0.3], [0.0, 0.7]])


def undulations(curves, **options):
    return decompose(to_landmarks(Ensemble(list(curves)), 200, **options))[0]


def chordal_spread(undulation):
    """Mean squared chordal distance from the best-fitting plane."""
    columns = np.moveaxis(undulation, 0, 1).reshape(undulation.shape[1], -1)
    return 2 - (np.linalg.svd(columns, compute_uv=False)[:2] ** 2).sum() / len(undulation)


def test_separability_holds_for_the_affine_measure_only():
    curves = [ellipse(3, 1, 400), *blobs(3, 400, seed=1)]
    images = [curve @ STRETCH for curve in curves]
    for measure, low, high in (("arc-length", 0.02, 1), ("affine", 0, 1e-7)):
        one, other = undulations(curves, measure=measure), undulations(images, measure=measure)
        matched = [register(b[None], a).landmarks[0] for a, b in zip(one, other, strict=True)]
        apart = grassmann.dist(one, np.stack(matched))
        assert (apart >= low).all(), measure
        assert (apart <= high).all(), measure


def test_registering_a_mirror_image_needs_both_directions():
    curve = blobs(1, 300, seed=2)[0]
    archetype = decompose(curve[None])[0][0]
    mirrored = curve * [1, -1]
    for copy in (mirrored, mirrored[::-1]):
        undulation = decompose(copy[None])[0]
        found = register(undulation, archetype).landmarks
        assert grassmann.dist(archetype, found)[0] < 1e-7
        kept = register(undulation, archetype, reflections=False).landmarks
        assert grassmann.dist(archetype, kept)[0] > 0.05


def test_determinants_identify_mirror_images():
    curves = blobs(1, 150, seed=3).repeat(10, axis=0)
    curves[::2] *= [1, -1]
    determinants = np.linalg.det(register(curves, curves[1]).rotation)
    np.testing.assert_allclose(determinants, np.tile([-1, 1], 5))


def test_shifts_alone_leave_scales_in_the_pose_of_the_image():
    rng = np.random.default_rng(0)
    curves = blobs(20, 120, seed=4)
    again = np.stack([randomly_moved(curve, rng) for curve in curves])
    shifted = [
        np.roll(curve, -round(s), axis=0) for curve, s in zip(again, register(again, curves[0]).shift, strict=True)
    ]
    before, turned = (decompose(register(c, curves[0]).landmarks)[1] for c in (curves, again))
    np.testing.assert_allclose(turned, before, atol=1e-6)
    assert np.abs(decompose(np.stack(shifted))[1] - before).max() > 0.1


def test_standardized_registration_minimizes_the_spread_of_undulations():
    landmarks = blobs(60, 128, seed=5, elongation=4)
    undulation, _ = decompose(landmarks)
    index = archetype_index(undulation, "asymmetric")
    raw = decompose(register(landmarks, landmarks[index]).landmarks)[0]
    standardized = decompose(register(undulation, undulation[index]).landmarks)[0]
    to_archetype = [grassmann.dist(undulation[index], x).mean() for x in (standardized, raw, undulation)]
    assert to_archetype == sorted(to_archetype)
    assert chordal_spread(standardized) < chordal_spread(raw) < chordal_spread(undulation)


@pytest.mark.parametrize(("leaves", "matches"), [(2, 2), (3, 3), (4, 4)])
def test_symmetric_archetypes_have_as_many_matches_as_symmetries(leaves, matches):
    curve = clover(leaves, 240)
    z = curve[:, 0] + 1j * curve[:, 1]
    score = np.abs(np.fft.ifft(np.abs(np.fft.fft(z)) ** 2))
    assert (score > score.max() * (1 - 1e-9)).sum() == matches
    assert distinctness(curve[None])[0] < 1e-9


def test_the_archetype_does_not_depend_on_the_order_of_curves():
    curves = decompose(blobs(30, 100, seed=6))[0]
    order = np.random.default_rng(0).permutation(30)
    chosen = archetype_index(curves, "asymmetric")
    assert order[archetype_index(curves[order], "asymmetric")] == chosen
    np.testing.assert_allclose(choose_archetype(curves[order], "asymmetric"), choose_archetype(curves, "asymmetric"))


def test_the_mean_archetype_is_at_least_as_good_as_its_start():
    curves = decompose(blobs(40, 100, seed=7))[0]
    one, other = (
        chordal_spread(decompose(register(curves, choose_archetype(curves, choice)).landmarks)[0])
        for choice in ("mean", "asymmetric")
    )
    assert one <= other


def test_scale_coordinates_without_the_root_two_depend_on_the_frame():
    points = decompose(blobs(30, 64))[1]
    turn = rotation(0.5)

    def pairs(base, points, weight):
        vectors = spd.coordinates(base, points) * [1, weight / np.sqrt(2), 1]
        return np.linalg.norm(vectors[:, None] - vectors, axis=-1)

    base = spd.frechet_mean(points)
    for weight, changes in ((np.sqrt(2), False), (1, True)):
        before = pairs(base, points, weight)
        after = pairs(turn @ base @ turn.T, turn @ points @ turn.T, weight)
        change = np.abs(after - before).max() / np.median(before)
        assert change > 0.05 if changes else change < 1e-12


def test_unrefined_shifts_cost_thousandths_of_a_radian():
    fine = blobs(1, 1000, seed=9)[0]
    curve, half = fine[::2], fine[1::2]
    archetype, undulation = (decompose(c[None])[0] for c in (curve, half))
    whole = min(grassmann.dist(archetype[0], np.roll(undulation[0], p, axis=0)) for p in (-1, 0, 1))
    assert 1e-3 < whole < 1e-2
    assert grassmann.dist(archetype[0], register(undulation, archetype[0]).landmarks[0]) < 2e-6


def test_arccosines_of_singular_values_lose_precision_of_small_distances():
    base = np.linalg.qr(np.random.default_rng(0).normal(size=(50, 2)))[0]
    other = np.linalg.qr(np.random.default_rng(1).normal(size=(50, 2)))[0]
    tangent = grassmann.log(base, other[None])[0]
    tangent *= 1e-8 / np.linalg.norm(tangent)
    near = grassmann.exp(base, tangent[None])[0]
    assert grassmann.dist(base, near) == pytest.approx(1e-8, rel=1e-7)
    assert np.linalg.norm(grassmann.log(base, near[None])) == pytest.approx(1e-8, rel=1e-7)
    careless = np.linalg.norm(np.arccos(np.minimum(np.linalg.svd(base.T @ near, compute_uv=False), 1)))
    assert abs(careless - 1e-8) > 1e-9


def test_the_slowly_decaying_spectrum_of_pixelated_outlines_is_exact():
    curves = ragged_blobs(220, seed=10)
    tails = []
    for outlines in (curves, [pixelated(curve) for curve in curves]):
        landmarks = to_landmarks(Ensemble(outlines), 200)
        undulation, scale = decompose(register(landmarks, landmarks[0]).landmarks)
        space = ShapeSpace.learn(undulation, scale, 150)
        tangents = grassmann.log(space.undulation_mean_, undulation).reshape(220, -1)
        expected = np.linalg.svd(tangents, compute_uv=False)
        np.testing.assert_allclose(space.singular_values_[:150], expected[:150], rtol=1e-8)
        tails.append(space.singular_values_[150] / space.singular_values_[0])
    assert tails[1] > 3 * tails[0]


def test_distances_and_logarithms_agree_with_those_of_dense_projectors():
    rng = np.random.default_rng(2)
    base, other = np.linalg.qr(rng.normal(size=(2, 12, 2)))[0]
    reflections = [np.eye(12) - 2 * x @ x.T for x in (base, other)]
    turn = logm(reflections[1] @ reflections[0]).real / 2
    # As tangent vectors of projectors, norms are √2 times those of (n, 2) representatives.
    assert np.linalg.norm(turn) / np.sqrt(2) == pytest.approx(grassmann.dist(base, other), rel=1e-10)
    np.testing.assert_allclose(turn @ base, grassmann.log(base, other[None])[0], atol=1e-10)
