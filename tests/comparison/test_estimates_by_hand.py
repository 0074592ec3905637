"""Estimates of made outlines, computed again from their vertices: moments, polygons, and Fourier series of radii."""

import numpy as np
import pytest
import shapely
from scipy.spatial.distance import cdist

from napari_shape_ensembles import Ensemble, Settings, compare

SETTINGS = Settings(landmarks=240, rank=40, permutations=19)
ANGLE = 2 * np.pi * np.arange(360) / 360


def made(seed, count, *, size=1.0, spread=0.15, stretch=1.0, lobes=1.0, fine=1.0, dent=0.0):
    """Outlines of 3 to 5 lobes with finer waves, all of random phases, and a dent; sizes of a given spread."""
    rng, curves = np.random.default_rng(seed), []
    for _ in range(count):
        radius = np.ones(len(ANGLE))
        for waves in (3, 4, 5):
            height = 0.04 * lobes * np.exp(0.2 * rng.normal())
            radius += height * np.cos(waves * ANGLE + rng.uniform(0, 2 * np.pi))
        for waves in range(8, 13):
            height = 0.006 * fine * np.exp(0.2 * rng.normal())
            radius += height * np.cos(waves * ANGLE + rng.uniform(0, 2 * np.pi))
        radius -= dent * np.exp(0.2 * rng.normal()) * np.exp(-4 * (1 - np.cos(ANGLE - rng.uniform(0, 2 * np.pi))))
        points = radius[:, None] * np.stack([np.cos(ANGLE), np.sin(ANGLE)], axis=-1) * [stretch, 1 / stretch]
        curves.append(points * 10 * size * np.exp(spread * rng.normal()))
    return curves


def extents(curve):
    """RMS extents along the principal axes, of vertices weighted by the length around them in the whitened outline."""
    moments = np.eye(2)
    for _ in range(30):
        whitened = curve @ np.linalg.inv(np.linalg.cholesky(moments)).T
        step = np.linalg.norm(np.roll(whitened, -1, axis=0) - np.roll(whitened, 1, axis=0), axis=1)
        moments = np.cov(curve.T, aweights=step, bias=True)
    return np.sqrt(np.linalg.eigvalsh(moments))


def amplitude(curve, low, high):
    """RMS of some waves of the radius by direction, over the mean radius."""
    radius = np.abs(np.fft.rfft(np.linalg.norm(curve, axis=1)))
    return np.linalg.norm(radius[low : high + 1]) / radius[0]


def unfilled(curve):
    """Share of the convex hull that an outline does not fill."""
    outline = shapely.Polygon(curve)
    return 1 - outline.area / outline.convex_hull.area


def ratio(measure, a, b):
    """Ratio of geometric means."""
    return np.exp(np.mean(np.log([measure(one) for one in b])) - np.mean(np.log([measure(one) for one in a])))


def estimated(a, b):
    return compare(Ensemble(a, unit="µm"), Ensemble(b, unit="µm"), SETTINGS).estimates.set_index("quantity")["estimate"]


@pytest.mark.parametrize("change", [{"size": 1.3}, {"spread": 0.3}, {"size": 0.8, "stretch": 1.15}])
def test_scale(change):
    a, b = made(1, 60), made(2, 60, **change)
    found = estimated(a, b)
    sizes = [np.log([np.sqrt(np.prod(extents(one))) for one in side]) for side in (a, b)]
    areas = [np.mean([shapely.Polygon(one).area for one in side]) for side in (a, b)]
    assert found["size"] == pytest.approx(np.exp(sizes[1].mean() - sizes[0].mean()), abs=0.02)
    assert found["area"] == pytest.approx(areas[1] / areas[0], abs=0.02)
    assert found["spread of size"] == pytest.approx(sizes[1].std() / sizes[0].std(), abs=0.02)
    assert found["elongation"] == pytest.approx(ratio(lambda one: np.divide(*extents(one)[::-1]), a, b), abs=0.02)


def test_roughness():
    a, b = made(3, 60), made(4, 60, fine=1.6)
    found = estimated(a, b)
    assert found["roughness"] == pytest.approx(1.6, abs=0.1)
    assert found["roughness"] == pytest.approx(ratio(lambda one: amplitude(one, 8, 12), a, b), abs=0.02)
    assert found["lobes"] == pytest.approx(ratio(lambda one: amplitude(one, 3, 5), a, b), abs=0.02)


def test_lobes():
    a, b = made(5, 60), made(6, 60, lobes=1.3)
    assert estimated(a, b)["lobes"] == pytest.approx(ratio(lambda one: amplitude(one, 3, 5), a, b), abs=0.02)


def test_concavity():
    a, b = made(7, 60, dent=0.15), made(8, 60, dent=0.22)
    assert estimated(a, b)["concavity"] == pytest.approx(ratio(unfilled, a, b), abs=0.02)


def test_coarse_form():
    """Distances of all pairs of outlines in their coarse waves, between the samples and within them."""
    result = compare(Ensemble(made(9, 40)), Ensemble(made(10, 50, lobes=1.5)), SETTINGS)
    a, b = np.split(result.components["coarse form"], [40])
    within = [cdist(side, side).sum() / (len(side) * (len(side) - 1)) for side in (a, b)]
    expected = np.sqrt((2 * cdist(a, b).mean() - sum(within)) / np.mean(within))
    found = result.estimates.set_index("quantity")["estimate"]["coarse form"]
    assert found == pytest.approx(expected, abs=1e-6)
