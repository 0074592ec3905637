"""Cyclic Procrustes registration: brute force, the objective in the paper, and invariance to rigid motions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import nuclear_objective
from curve_makers import blobs, clover, ellipse, load_curves, rotation
from napari_shape_ensembles import Ensemble, register, to_landmarks
from napari_shape_ensembles.shapes.expansion import TrigonometricExpansion
from napari_shape_ensembles.shapes.registration import distinctness, doubled_area


def centred(curve):
    return curve - curve.mean(axis=0)


@pytest.mark.parametrize("n", [60, 61])
@pytest.mark.parametrize("reflections", [True, False])
def test_agreement_with_brute_force_over_shifts_and_directions(n, reflections):
    curves, archetype = blobs(6, n, seed=3), centred(blobs(1, n, seed=4)[0])
    matches = register(curves, archetype, reflections=reflections)
    for curve, shift, backwards in zip(curves, matches.shift, matches.reversed, strict=True):
        curve = centred(curve)
        forward = nuclear_objective(curve, archetype, mirrored=False)
        backward = nuclear_objective(np.roll(curve[::-1], 1, axis=0), archetype, mirrored=True)
        expect_backwards = reflections and backward.max() > forward.max()
        assert backwards == expect_backwards
        best = -backward.argmax() if expect_backwards else forward.argmax()
        assert abs((shift - best + n / 2) % n - n / 2) <= 1


@pytest.mark.parametrize(("n", "accuracy"), [(50, 2e-5), (250, 2e-6)])
def test_objective_of_the_paper_is_reproduced(shared_data, n, accuracy):
    data = np.load(shared_data / "paper" / "cyclic_procrustes.npz")
    shape, archetype = centred(data[f"matched_n{n}"]), centred(data[f"archetype_n{n}"])
    drawn = data[f"objective_n{n}"][:, 1]
    proper, improper = (nuclear_objective(shape, archetype, mirrored=mirrored) for mirrored in (False, True))
    objective = np.maximum(proper, improper) / np.maximum(proper, improper).max()
    # The file starts the matched shape at its best shift, the figure at the shape's own first landmark.
    errors = [np.abs(np.roll(objective, offset) - drawn).max() for offset in range(n)]
    assert min(errors) < accuracy
    best = register(shape[None], archetype, reflections=False).shift[0]
    assert abs((best - proper.argmax() + n / 2) % n - n / 2) <= 1


def test_registered_landmarks_are_the_shifted_curve_times_the_rotation():
    curves = blobs(3, 50, seed=1)
    archetype = curves[0]
    started = np.stack([np.roll(archetype @ rotation(1.0).T, -7, axis=0), np.roll(archetype, 5, axis=0)])
    match = register(started, archetype)
    np.testing.assert_allclose(match.shift, [43, 5], atol=1e-9)
    for curve, shift, turn, landmarks in zip(started, match.shift, match.rotation, match.landmarks, strict=True):
        moved = np.roll(centred(curve), -round(shift), axis=0) @ turn.T
        np.testing.assert_allclose(landmarks, moved, atol=1e-9)
        np.testing.assert_allclose(landmarks, centred(archetype), atol=1e-9)
    assert match.residual.max() < 1e-9


def test_reversed_and_the_determinant_identify_order_and_mirror_images():
    archetype = blobs(1, 64, seed=2)[0]
    mirrored = archetype * [1, -1]
    cases = np.stack([archetype, archetype[::-1], mirrored, mirrored[::-1]])
    match = register(cases, archetype)
    assert match.reversed.tolist() == [False, True, False, True]
    np.testing.assert_allclose(np.linalg.det(match.rotation), [1, 1, -1, -1])
    np.testing.assert_allclose(match.landmarks, np.tile(centred(archetype), (4, 1, 1)), atol=1e-9)
    for curve, shift, turn, back in zip(cases, match.shift, match.rotation, match.reversed, strict=True):
        index = (round(shift) - np.arange(64) if back else np.arange(64) + round(shift)) % 64
        np.testing.assert_allclose(centred(curve)[index] @ turn.T, centred(archetype), atol=1e-9)


def test_without_reflections_a_mirror_image_differs():
    archetype = blobs(1, 128, seed=2)[0]
    mirrored = (archetype * [1, -1])[None]
    assert register(mirrored, archetype).residual[0] < 1e-9
    apart = register(mirrored, archetype, reflections=False)
    assert apart.residual[0] > 0.05
    assert np.linalg.det(apart.rotation[0]) == pytest.approx(1)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.floats(0, 2 * np.pi), st.booleans(), st.booleans(), st.integers(0, 95))
def test_registered_landmarks_are_invariant_to_rigid_motions(seed, turn, mirror, backwards, start):
    archetype, curve = blobs(2, 96, seed=seed)
    changed = np.roll(curve, start, axis=0) * ([1, -1] if mirror else [1, 1]) @ rotation(turn).T + [5, -8]
    changed = changed[::-1] if backwards else changed
    one, other = register(np.stack([curve, changed]), archetype).landmarks
    np.testing.assert_allclose(one, other, atol=1e-7)


def test_a_fractional_shift_of_a_smooth_curve_is_recovered():
    u = 2 * np.pi * (np.arange(200) + 0.37) / 200

    def curve(u):
        return np.stack([np.cos(u) + 0.2 * np.cos(2 * u), 1.5 * np.sin(u) + 0.1 * np.sin(3 * u + 1)], axis=-1)

    archetype = curve(2 * np.pi * np.arange(200) / 200)
    match = register(curve(u)[None], archetype)
    assert match.shift[0] == pytest.approx(200 - 0.37, abs=1e-9)
    np.testing.assert_allclose(match.landmarks[0], centred(archetype), atol=1e-10)


@pytest.mark.parametrize("n", [40, 41])
def test_shifts_of_rough_curves_are_optimal_for_their_interpolants(n):
    rng = np.random.default_rng(3)
    rough = blobs(6, n, seed=5) + 0.2 * rng.normal(size=(6, n, 2))
    # The highest mode, which is sampled only once for even n, counts as a cosine.
    rough += 0.3 * np.cos(np.pi * np.arange(n))[:, None] * rng.normal(size=(6, 1, 2))
    curves, archetype = centred(rough[1:].swapaxes(0, 1)).swapaxes(0, 1), centred(rough[0])
    match = register(curves, archetype)
    for curve, shift, turn, back, found in zip(
        curves, match.shift, match.rotation, match.reversed, match.landmarks, strict=True
    ):
        interpolant = TrigonometricExpansion.through(curve[None])

        def shifted(by, interpolant=interpolant, shift=shift, back=back, turn=turn):
            steps = -np.arange(n) if back else np.arange(n)
            return interpolant((steps + shift + by) / n)[0]

        np.testing.assert_allclose(shifted(0) @ turn.T, found, atol=1e-9)
        scores = [np.linalg.svd(archetype.T @ shifted(by), compute_uv=False) for by in (-1e-3, 0, 1e-3)]
        signed = [s[0] + s[1] * np.sign(np.linalg.det(archetype.T @ shifted(0)) * np.linalg.det(turn)) for s in scores]
        slope, bend = (signed[2] - signed[0]) / 2e-3, (signed[2] - 2 * signed[1] + signed[0]) / 1e-6
        assert abs(slope / bend) < 1e-6


def test_symmetric_archetypes_are_indistinct():
    scores = distinctness(np.stack([ellipse(2, 1, 240), clover(3), blobs(1, 240)[0]]))
    assert scores[0] < 1e-12
    assert scores[1] < 1e-12
    assert scores[2] > 1e-4


def test_a_mirror_symmetric_curve_is_distinct_only_without_reflections():
    u = 2 * np.pi * np.arange(240) / 240
    egg = ((1 + 0.2 * np.cos(u) + 0.1 * np.cos(2 * u)) * np.stack([np.cos(u), np.sin(u)])).T[None]
    assert distinctness(egg)[0] < 1e-12
    assert distinctness(egg, reflections=False)[0] > 1e-4


def test_distinctness_is_determined_by_the_second_best_match():
    curves, archetype = blobs(20, 90, seed=7), centred(blobs(1, 90, seed=8)[0])
    match = register(curves, archetype, reflections=False)
    for curve, distinct in zip(curves, match.distinctness, strict=True):
        scores = nuclear_objective(centred(curve), archetype, mirrored=False)
        peaks = np.sort(scores[(scores > np.roll(scores, 1)) & (scores > np.roll(scores, -1))])
        misfits = 1 - peaks / (np.linalg.norm(centred(curve)) * np.linalg.norm(archetype))
        assert distinct == pytest.approx(1 - misfits[-1] / misfits[-2], abs=0.02)


def test_distinctness_does_not_depend_on_amplitude():
    angle = np.linspace(0, 2 * np.pi, 120, endpoint=False)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    rough = blobs(40, 120, seed=9)
    rounder = rough.copy()
    rounder[:] = circle + 0.05 * (rough - circle)  # the same shapes with twenty times smaller deviations from a circle
    faint, plain = (register(curves[1:], curves[0]) for curves in (rounder, rough))
    assert abs(np.median(faint.distinctness) - np.median(plain.distinctness)) < 0.1
    assert abs(faint.ambiguous.mean() - plain.ambiguous.mean()) < 0.2
    assert not faint.archetype_is_ambiguous


def test_symmetric_curves_are_not_ambiguous_but_double_matches_are():
    archetype = blobs(1, 240, seed=2)[0]
    repeating = np.stack([ellipse(2, 1, 240, turn=0.3), clover(3), ellipse(1, 1, 240)])
    match = register(repeating, archetype)
    assert match.distinctness.max() < 1e-9
    assert not match.ambiguous.any()
    assert not match.archetype_is_ambiguous
    twice = register(archetype[None], ellipse(2, 1, 240))
    assert twice.ambiguous.all()
    assert twice.archetype_is_ambiguous


def test_symmetries_between_samples_are_recognized():
    curve = np.tile(clover(3, 500), (1, 1, 1))
    match = register(curve, blobs(1, 500, seed=2)[0])
    assert match.distinctness[0] < 1e-6
    assert not match.ambiguous[0]


def test_a_nearly_symmetric_curve_is_ambiguous():
    archetype = blobs(1, 240, seed=2)[0]
    u = 2 * np.pi * np.arange(240) / 240
    marked = ellipse(2, 1, 240) * (1 + 1e-4 * np.cos(u - 0.4))[:, None]
    match = register(np.stack([marked, archetype]), archetype)
    assert match.ambiguous.tolist() == [True, False]
    assert match.distinctness[0] < 1e-3 < match.distinctness[1]
    assert match.archetype_distinctness == pytest.approx(distinctness(archetype[None])[0], rel=1e-9)


def test_smoothing_changes_mostly_ambiguous_matches(shared_data):
    noisy, smooth = (
        to_landmarks(Ensemble(load_curves(shared_data / "paper" / "pil184_grains.npz", key)), 250)
        for key in ("hlf1_noisy", "hlf1_smooth5")
    )
    archetype = smooth[distinctness(smooth).argmax()]
    one, other = (register(curves, archetype) for curves in (noisy, smooth))
    # The same grain twice: if both matches agree, its two outlines coincide.
    apart = np.linalg.norm(one.landmarks - other.landmarks, axis=(1, 2)) / np.linalg.norm(other.landmarks, axis=(1, 2))
    unclear, clear = other.distinctness < 5e-3, other.distinctness > 2e-2
    assert 0.02 < other.ambiguous.mean() < 0.2
    assert (apart[unclear] > 0.25).mean() > 3 * (apart[clear] > 0.25).mean()


def test_doubled_area_is_twice_the_shoelace_area():
    assert doubled_area(np.array([0, 1, 1 + 1j, 1j]))[()] == pytest.approx(2)


def test_no_curves_give_an_empty_registration():
    match = register(np.empty((0, 40, 2)), blobs(1, 40)[0])
    assert match.landmarks.shape == (0, 40, 2)
    assert match.rotation.shape == (0, 2, 2)
    for field in (match.shift, match.reversed, match.residual, match.distinctness, match.ambiguous):
        assert field.shape == (0,)


def test_archetypes_with_another_number_of_landmarks_are_rejected():
    with pytest.raises(ValueError, match="50 landmarks and the archetype 60"):
        register(blobs(2, 50), blobs(1, 60)[0])


def test_an_empty_ensemble_has_an_empty_registration():
    match = register(np.empty((0, 32, 2)), blobs(1, 32)[0])
    assert match.landmarks.shape == (0, 32, 2)
    assert match.shift.shape == (0,)
