"""Areas, convex hulls and perimeters of closed curves, versus Shapely."""

import numpy as np
import pytest
import shapely

from curve_makers import blobs
from napari_shape_ensembles.shapes.lobes import hull_measures


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
