"""Points of the shape space, and geodesics between them."""

import numpy as np
import pytest

from curve_makers import blobs, ellipse
from napari_shape_ensembles import Ensemble, Settings, compare
from napari_shape_ensembles.explanation.shape_paths import Geodesic, ShapePlaces, lipschitz
from napari_shape_ensembles.shapes import decompose, grassmann, spd
from napari_shape_ensembles.shapes.expansion import TrigonometricExpansion


@pytest.fixture(scope="module")
def result():
    a = Ensemble(list(blobs(30, 80, seed=1)), name="one", unit="µm", ids=np.arange(100, 130))
    b = Ensemble(list(blobs(35, 80, seed=2) * 1.6), name="two", unit="µm")
    return compare(a, b, Settings(landmarks=100, rank=20, permutations=199))


def test_a_geodesic_connects_two_curves_at_constant_speed(result):
    places = ShapePlaces(result)
    start, end = (places.curve(row)[0] for row in (3, 50))
    path = Geodesic(places, start, end)
    np.testing.assert_allclose(path.at(0), places.draw(start), atol=1e-9)
    undulation, scale = decompose(np.stack([path.at(time) for time in (0, 0.25, 0.5, 1)]))
    target, last = decompose(places.draw(end)[None])
    assert grassmann.dist(undulation[-1], target[0]) == pytest.approx(0, abs=1e-8)
    np.testing.assert_allclose(np.linalg.eigvalsh(scale[-1]), np.linalg.eigvalsh(last[0]), rtol=1e-9)
    for steps in (grassmann.dist(undulation[0], undulation), spd.dist(scale[0], scale)):
        np.testing.assert_allclose(steps / steps[-1], [0, 0.25, 0.5, 1], atol=1e-6)


def test_the_lipschitz_constant_matches_the_fourier_series():
    assert lipschitz(ellipse(2.0, 2.0, 60)) == pytest.approx(1)
    u = ellipse(3.0, 1.0, 200)
    series = TrigonometricExpansion.through(u[None])
    assert lipschitz(u) == pytest.approx(float(series.lipschitz()[0] / series.lengths()[0]), rel=1e-4)
