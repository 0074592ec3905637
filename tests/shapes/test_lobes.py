"""Fine waves of outlines: those that are there, and not those that coarse lobes make on the way."""

import numpy as np
import pytest

from napari_shape_ensembles import Ensemble, decompose, to_landmarks
from napari_shape_ensembles.shapes.lobes import band_amplitudes, fine_amplitude, sharpest_bends

ANGLE = 2 * np.pi * np.arange(400) / 400


def forms(radius):
    """Forms of outlines of radius (N, 400) by direction."""
    z = radius * np.exp(1j * ANGLE)
    return decompose(to_landmarks(Ensemble(list(np.stack([z.real, z.imag], axis=-1))), 300))[0]


def radii(count, heights, seed=0):
    """Radii with waves of given heights, by their number, and random phases."""
    phases = np.random.default_rng(seed).uniform(0, 2 * np.pi, (count, len(heights), 1))
    waves = np.array([*heights])[:, None] * ANGLE
    return 1 + (np.array([*heights.values()])[:, None] * np.cos(waves + phases)).sum(axis=1)


@pytest.mark.parametrize("height", [0.005, 0.02])
def test_the_amplitude_is_the_rms_height_of_waves(height):
    np.testing.assert_allclose(fine_amplitude(forms(radii(3, {11: height})), 5), height / np.sqrt(2), rtol=0.01)


def test_lobes_make_few_fine_waves():
    """Along the arc length of the standardized outlines they make as many as the fine waves below, nine times these."""
    lobes, fine = {2: 0.09, 3: 0.06, 4: 0.05, 5: 0.045}, dict.fromkeys(range(7, 15), 0.006)
    lobed = forms(radii(30, lobes))
    made, along = fine_amplitude(lobed, 5).mean(), band_amplitudes(lobed, [(6, 60)]).mean()
    assert made < along / 9
    rough = fine_amplitude(forms(radii(30, lobes | fine)), 5).mean()
    assert rough == pytest.approx(0.006 * 2, rel=0.05)
    assert rough == pytest.approx(fine_amplitude(forms(radii(30, fine)), 5).mean(), rel=0.05)


def test_high_lobes_that_move_the_center_make_few_fine_waves():
    """From the centroid as center, waves of k lobes have some of k + 1: the fine ones seemed 1.13 times as high."""
    fine, rng, amplitudes = dict.fromkeys(range(7, 15), 0.006), np.random.default_rng(0), []
    for height in (0.06, 0.18):
        heights = [height / np.sqrt(k - 1) * np.exp(0.25 * rng.normal(size=40)) for k in range(2, 6)]
        each = [{k: high[place] for k, high in enumerate(heights, 2)} | fine for place in range(40)]
        lobed = np.concatenate([radii(1, one, seed) for seed, one in enumerate(each)])
        amplitudes.append(np.exp(np.log(fine_amplitude(forms(lobed), 5)).mean()))
    assert amplitudes[1] / amplitudes[0] == pytest.approx(1, abs=0.1)


def test_six_lobes_are_none_of_a_linear_map():
    for height in (0.0, 0.01, 0.03):
        heights = {6: 0.05} | dict.fromkeys(range(2, 6), height)
        assert fine_amplitude(forms(radii(10, heights)), 5).min() > 0.7 * 0.05 / np.sqrt(2)


def test_bent_outlines_are_not_rough():
    """Rays from their center leave them more than once."""
    along, across = 3 * np.cos(ANGLE), 0.8 * np.sin(ANGLE)
    z = (1.5 + across) * np.exp(1j * along / 1.5)
    bent, _ = decompose(to_landmarks(Ensemble([np.stack([z.real, z.imag], axis=-1)]), 300))
    found = fine_amplitude(bent, 5)[0]
    assert found < 0.04
    assert found == pytest.approx(band_amplitudes(bent, [(6, 148)])[0], rel=0.01)


def test_few_landmarks_hold_as_many_fine_waves():
    """At 32 of them, sums over the landmarks took those of some lobed outlines for 20 times as high."""
    radius = radii(60, {2: 0.08, 3: 0.05, 4: 0.04, 5: 0.03})
    z = radius * np.exp(1j * ANGLE)
    outlines = Ensemble(list(np.stack([z.real, z.imag], axis=-1)))
    few, many = (fine_amplitude(decompose(to_landmarks(outlines, count))[0], 5) for count in (32, 300))
    np.testing.assert_allclose(few, many, atol=3e-4)
    mirrored = decompose(to_landmarks(outlines, 32)[:, ::-1] * [1, -1])[0]
    np.testing.assert_allclose(fine_amplitude(mirrored, 5), few, rtol=1e-6)


def test_the_sharpest_bends_do_not_depend_on_start_direction_mirror_and_linear_maps():
    u = ANGLE
    radius = 1 + 0.3 * np.exp(-((u - 2) ** 2) / 0.01) - 0.2 * np.exp(-((u - 4) ** 2) / 0.02)
    outline = np.stack([radius * np.cos(u), radius * np.sin(u)], axis=-1)
    same = [outline, outline[::-1], outline * [1, -1], np.roll(outline, 70, axis=0) @ [[3, 0.5], [0, 1]]]
    found = np.concatenate([sharpest_bends(decompose(one[None])[0]) for one in same])
    np.testing.assert_allclose(found[1:], found[[0, 0, 0]], rtol=1e-6)
    assert (found[0] > 5).all()
    ellipse = np.stack([3 * np.cos(u), np.sin(u)], axis=-1)[None]
    np.testing.assert_allclose(sharpest_bends(decompose(ellipse)[0]), [[1, 0]], atol=0.01)
