"""Scores of all shifts versus the objective in the theorem, and their two best peaks."""

import numpy as np
import pytest

from brute_force import nuclear_objective
from curve_makers import blobs
from napari_shape_ensembles.shapes.registration import shift_scores, two_best


def spectrum(curve):
    return np.fft.fft(curve[..., 0] + 1j * curve[..., 1])


def centred(curve):
    return curve - curve.mean(axis=-2, keepdims=True)


@pytest.mark.parametrize("n", [40, 41])
def test_scores_are_the_objective_over_all_shifts_and_both_directions(n):
    curve, archetype = centred(blobs(2, n, seed=3))
    fast = np.abs(shift_scores(spectrum(curve[None]), spectrum(archetype[None]), True))[0]
    forward = nuclear_objective(curve, archetype, mirrored=False)
    backward = nuclear_objective(np.roll(curve[::-1], 1, axis=0), archetype, mirrored=True)
    np.testing.assert_allclose(fast[0], forward, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fast[1], np.roll(backward[::-1], 1), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("n", "accuracy"), [(50, 2e-5), (250, 2e-6)])
def test_scores_match_the_figure_in_the_paper(shared_data, n, accuracy):
    data = np.load(shared_data / "paper" / "cyclic_procrustes.npz")
    shape, archetype = centred(data[f"matched_n{n}"]), centred(data[f"archetype_n{n}"])
    proper = np.abs(shift_scores(spectrum(shape[None]), spectrum(archetype[None]), False))[0, 0]
    improper = np.abs(shift_scores(spectrum(shape[None]), spectrum(archetype[None] * [1, -1]), False))[0, 0]
    objective = np.maximum(proper, improper)
    objective /= objective.max()
    # The file starts the matched shape at its best shift, the figure at the shape's own first landmark.
    errors = [np.abs(np.roll(objective, offset) - data[f"objective_n{n}"][:, 1]).max() for offset in range(n)]
    assert min(errors) < accuracy


def scored(*rows):
    """Registration scores given as one or two rows over the shifts of one curve."""
    return np.array([rows], dtype=complex)


def test_the_second_best_is_another_peak_rather_than_a_neighbor():
    first, second, distinct = two_best(scored([1, 8, 10, 8, 1, 3, 6, 3]))
    assert (first[0], second[0]) == (2, 6)
    assert distinct[0] == pytest.approx(1 - 6 / 10, abs=0.02)


def test_the_second_best_may_be_a_mirror_image():
    first, second, distinct = two_best(scored([1, 2, 5, 2, 1, 1], [1, 1, 2, 9, 2, 1]))
    assert (first[0], second[0]) == (6 + 3, 2)
    assert distinct[0] > 0.3


def test_peaks_are_cyclic():
    first, second, _ = two_best(scored([10, 7, 1, 4, 1, 7]))
    assert (first[0], second[0]) == (0, 3)
    first, second, _ = two_best(scored([7, 1, 4, 1, 7, 10]))
    assert (first[0], second[0]) == (5, 2)


def test_distinctness_is_zero_for_a_constant_and_one_for_a_single_peak():
    assert two_best(scored([3, 3, 3, 3, 3, 3]))[2] == 0
    assert two_best(scored([1, 2, 5, 2, 1, 0.5]))[2] == 1


def test_peaks_between_samples_are_interpolated():
    p = np.arange(200)
    # Two equal peaks, one on a sample and one midway between two.
    score = 1 + np.exp(-(((p - 40) / 15) ** 2)) + np.exp(-(((p - 140.5) / 15) ** 2))
    assert abs(two_best(scored(score))[2][0]) < 1e-5
    assert 1 - score[140] / score[40] > 5e-4
