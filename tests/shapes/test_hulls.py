"""Areas, convex hulls and perimeters of closed curves, versus Shapely."""

import numpy as np
import pytest
import shapely

from curve_makers import blobs
from napari_shape_ensembles.shapes.lobes import hull_measures, without_finer_waves


def wild(seed=0):
    """Self-intersecting polygons with a repeated vertex."""
    points = np.random.default_rng(seed).normal(size=(40, 30, 2))
    points[:, 1] = points[:, 0]
    return points


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("points", [blobs(5, 60, seed=2), wild(), np.round(2 * wild(1))])
def test_hulls_agree_with_shapely(points, backwards):
    points = points[:, ::-1] if backwards else points
    outlines, x, y = shapely.polygons(points), points[..., 0], points[..., 1]
    area = np.abs((x * np.roll(y, -1, axis=1) - y * np.roll(x, -1, axis=1)).sum(axis=1)) / 2
    expected = np.stack([area, shapely.area(shapely.convex_hull(outlines)), shapely.length(outlines)], axis=1)
    np.testing.assert_allclose(hull_measures(points), expected, rtol=1e-9, atol=1e-12)


def test_smoothing_scales_each_wave_by_its_periods():
    z = np.exp(1j * np.array([1, -4, 13])[:, None] * 2 * np.pi * np.arange(60) / 60)
    smooth = without_finer_waves(np.stack([z.real, z.imag], axis=-1), 10.0)
    np.testing.assert_allclose(
        smooth[..., 0] + 1j * smooth[..., 1], np.exp([[-0.01], [-0.16], [-1.69]]) * z, atol=1e-12
    )


def test_convex_outlines_stay_convex_without_their_finer_waves():
    side = np.linspace(0, 1, 25)[:-1] * np.ones((2, 1))
    square = np.concatenate([[side[0], 0 * side[0]], [1 + 0 * side[0], side[0]]], axis=1).T
    square = np.concatenate([square, 1 - square])
    area, hull, _ = hull_measures(without_finer_waves(square[None], 12.0))[0]
    assert area == pytest.approx(hull, rel=1e-9)
    assert 0.9 < area < 1
