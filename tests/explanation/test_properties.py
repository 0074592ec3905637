"""Measured properties of curves: closed forms, invariances, and specificity."""

import numpy as np
import pytest

from curve_makers import blobs, ellipse, randomly_moved
from napari_shape_ensembles import Ensemble, decompose, to_landmarks
from napari_shape_ensembles.explanation.properties import PROPERTIES, bands, harmonics, properties


def lobed(lobes, amplitude, n=240):
    """Curve z = e^(iu) + amplitude · e^(i(1 - lobes)u)."""
    u = 2 * np.pi * np.arange(n) / n
    z = np.exp(1j * u) + amplitude * np.exp(1j * (1 - lobes) * u)
    return np.stack([z.real, z.imag], axis=-1)[None]


@pytest.mark.parametrize(
    ("lobes", "raised"),
    [(3, {"triangularity", "asymmetry"}), (4, {"squareness"}), (5, {"asymmetry"}), (9, {"roughness"})],
)
def test_a_wave_increases_only_the_property_named_after_it(lobes, raised):
    measured = properties(lobed(lobes, 0.02))
    for name in ("triangularity", "squareness", "asymmetry", "roughness"):
        expected = 0.02 / np.sqrt(1 + 0.02**2) if name in raised else 1e-9
        expected /= np.sqrt(2) if name == "roughness" else 1  # the RMS of the height, without what is along the outline
        assert measured[name][0] == pytest.approx(expected, rel=0.01, abs=1e-6), name


def test_size_and_elongation_of_an_ellipse():
    measured = properties(ellipse(3.0, 2.0)[None])
    assert measured["size"][0] == pytest.approx(np.sqrt(3.0), rel=1e-12)
    assert measured["elongation"][0] == pytest.approx(1.5, rel=1e-12)
    assert measured["roughness"][0] == pytest.approx(0, abs=2e-6)


def test_concavity_is_the_missing_fraction_of_the_convex_hull():
    star = np.array([[0, 2], [0.5, 0.5], [2, 0], [0.5, -0.5], [0, -2], [-0.5, -0.5], [-2, 0], [-0.5, 0.5]])
    assert properties(star[None])["concavity"][0] == pytest.approx(0.5)
    assert properties(ellipse(3.0, 2.0)[None])["concavity"][0] == pytest.approx(0, abs=1e-12)


def test_properties_are_invariant_to_pose_and_parametrization():
    rng = np.random.default_rng(0)
    curves = list(blobs(20, 300, seed=4))
    one, other = (
        properties(to_landmarks(Ensemble(some), 200))
        for some in (curves, [randomly_moved(c, rng, mirror=True) for c in curves])
    )
    for name in one:
        np.testing.assert_allclose(other[name], one[name], rtol=1e-6, err_msg=name)


def test_a_linear_map_changes_size_and_elongation_only():
    curves = blobs(10, 300, seed=5)
    one, other = (properties(to_landmarks(Ensemble(list(some)), 200)) for some in (curves, curves * [1.5, 0.7]))
    for name in ("triangularity", "squareness", "asymmetry", "roughness"):
        np.testing.assert_allclose(other[name], one[name], rtol=1e-6)
    assert not np.allclose(other["size"], one["size"], rtol=0.01)


def test_every_property_has_a_description():
    assert list(properties(blobs(2, 60))) == [one.name for one in PROPERTIES]


@pytest.mark.parametrize("order", [1, -1])
def test_harmonics_preserve_power_and_ignore_orientation(order):
    undulation, _ = decompose(blobs(5, 100)[:, ::order])
    coefficients, lobes = harmonics(undulation)
    np.testing.assert_allclose((np.abs(coefficients) ** 2).sum(axis=1), 1, rtol=1e-12)
    assert (np.abs(coefficients[:, lobes == 0]) > 0.8).all()


@pytest.mark.parametrize("order", [1, -1])
def test_the_band_of_a_direction_contains_its_waves(order):
    """For either orientation: most of the power lies between the two ends of the band."""
    u = 2 * np.pi * np.arange(100) / 100
    waves = {(6, 9): {-5: 1.0, -8: 1.0, 20: 0.1}, (3, 3): {-2: 1.0, 9: 0.2}, (2, 12): {3: 1.0, -11: 0.9}}
    curves = [np.exp(1j * u), *(sum(a * np.exp(1j * k * u) for k, a in one.items()) for one in waves.values())]
    z = np.stack(curves)[:, ::order]
    undulation = np.stack([z.real, z.imag], axis=-1) * np.sqrt(2 / 100)
    assert [tuple(band) for band in bands(undulation[0], undulation[1:]).tolist()] == list(waves)
