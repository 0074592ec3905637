"""The archetype: its pose, and its choice."""

import numpy as np
import pytest

from curve_makers import blobs, ellipse, rotation
from napari_shape_ensembles.shapes import register, registration
from napari_shape_ensembles.shapes.decomposition import decompose
from napari_shape_ensembles.shapes.registration import archetype_index, choose_archetype, distinctness, posed


def complex_of(curve):
    return curve[:, 0] + 1j * curve[:, 1]


@pytest.mark.parametrize("reflections", [True, False])
def test_a_pose_is_centered_and_oriented_by_its_moments(reflections):
    for curve in blobs(10, 60, seed=1):
        z = complex_of(posed(curve, reflections))
        heading = (np.abs(z) ** 2 * z).sum()
        assert abs(z.sum()) < 1e-11
        assert heading.real > 0
        assert abs(heading.imag) < 1e-9 * heading.real
        assert (z**3).sum().imag > 0 or not reflections


def test_a_pose_does_not_depend_on_the_pose_of_the_curve():
    for curve in blobs(10, 60, seed=2):
        np.testing.assert_allclose(posed(curve @ rotation(1.3).T + [3, -8]), posed(curve), atol=1e-10)
        mirrored = np.roll((curve * [1, -1])[::-1], 1, axis=0)
        np.testing.assert_allclose(posed(mirrored), posed(curve), atol=1e-10)
        kept = posed(mirrored, reflections=False)
        assert np.abs(kept - posed(curve, reflections=False)).max() > 0.01
        np.testing.assert_allclose(kept[[0, *range(59, 0, -1)]] * [1, -1], posed(curve, reflections=False), atol=1e-10)


def test_choices_of_archetype():
    curves = blobs(12, 80, seed=3)
    np.testing.assert_array_equal(choose_archetype(curves, 4), posed(curves[4]))
    assert archetype_index(curves, np.int64(0)) == 0
    assert archetype_index(curves, 11) == 11
    drawn = [archetype_index(curves, "random", seed=seed) for seed in range(30)]
    assert drawn == [archetype_index(curves, "random", seed=seed) for seed in range(30)]
    assert len(set(drawn)) > 5
    assert set(drawn) <= set(range(12))
    symmetric = np.stack([ellipse(2, 1, 80), curves[0], ellipse(3, 1, 80)])
    assert archetype_index(symmetric, "asymmetric") == 1
    assert archetype_index(symmetric, "mean") == 1


def test_of_copies_of_one_form_the_first_is_the_archetype():
    """Copies in other sizes, as in a resynthesis, are equal but for rounding, which differs between computers."""
    rng = np.random.default_rng(0)
    forms = decompose(blobs(15, 80, seed=3))[0]
    chosen = archetype_index(forms, "asymmetric")
    copies = np.concatenate([forms, forms, forms])
    for _ in range(10):
        assert archetype_index(copies * (1 + 1e-14 * rng.normal(size=copies.shape)), "asymmetric") == chosen


@pytest.mark.parametrize(
    ("choice", "message"),
    [(12, "there are curves 0 to 11"), (-1, "archetype -1"), ("median", 'archetype must be "asymmetric')],
)
def test_invalid_choices_are_rejected(choice, message):
    with pytest.raises(ValueError, match=message):
        archetype_index(blobs(12, 40), choice)


@pytest.mark.parametrize("reflections", [True, False])
def test_the_mean_is_the_mean_of_curves_registered_to_it(reflections):
    curves = blobs(15, 90, seed=4)
    mean = choose_archetype(curves, "mean", reflections=reflections)
    registered = register(curves, mean, reflections=reflections).landmarks
    sizes = np.linalg.norm(registered, axis=(1, 2), keepdims=True)
    again = (registered / sizes).mean(axis=0)
    assert np.linalg.norm(again - mean) < 0.02 * np.linalg.norm(mean)


def test_a_mean_that_does_not_converge_is_rejected(monkeypatch):
    monkeypatch.setattr(registration, "MAX_ITERATIONS", 1)
    with pytest.raises(ValueError, match='did not converge in 1 iterations: use archetype="asymmetric"'):
        choose_archetype(blobs(15, 90, seed=4), "mean")


def test_an_outlier_is_not_the_archetype():
    """The least symmetric curve of all is often one that no other resembles; it would turn all others."""
    curves = blobs(40, 80, seed=3)
    around = 2 * np.pi * np.arange(80) / 80
    outlier = curves[7] * (1 + 0.8 * np.exp(-4 * (1 - np.cos(around - 1))))[:, None]
    curves[7] = outlier - outlier.mean(axis=0)
    assert np.argmax(distinctness(curves)) == 7
    chosen = archetype_index(curves, "asymmetric")
    assert chosen != 7
    assert distinctness(curves)[chosen] > np.median(distinctness(curves))
    # In whatever direction and order the landmarks run, and wherever the curves lie.
    turned = np.roll(curves[:, ::-1], 5, axis=1) @ np.array([[0.6, 0.8], [-0.8, 0.6]]) + [3, 4]
    assert archetype_index(turned, "asymmetric") == chosen
