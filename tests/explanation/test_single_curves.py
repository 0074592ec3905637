"""Single curves of a comparison: alignment with its mean, and nearest neighbors."""

from dataclasses import replace

import numpy as np
import pytest

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Settings, compare
from napari_shape_ensembles.explanation.single_curves import aligned, mean_outline, nearest_curves, pooled_curve


@pytest.fixture(scope="module")
def result():
    a, b = (Ensemble(list(blobs(36, 60, seed=seed, elongation=1.5)), unit="µm") for seed in (1, 2))
    return compare(a, b, Settings(landmarks=50, permutations=199))


def test_neighbors_are_the_nearest_in_both_images(result):
    coordinates = np.hstack([result.t, result.l])
    first = len(result.a)
    for row in (0, first + 3):
        a, b = nearest_curves(result, row)
        assert len(a) == len(b) == 3
        assert row not in [*a, *b]
        distance = np.linalg.norm(coordinates - coordinates[row], axis=1)
        others = [distance[i] for i in range(first, len(distance)) if i != row]
        np.testing.assert_allclose(np.sort(others)[:3], distance[b])


def test_outlines_are_aligned_with_the_mean_and_keep_their_size(result):
    rows = [0, 5, len(result.a)]
    outlines = aligned(result, rows)
    np.testing.assert_allclose(outlines.mean(axis=1), 0, atol=1e-9)
    for row, outline in zip(rows, outlines, strict=True):
        original = pooled_curve(result, row)
        extent = [np.ptp(outline, axis=0).max(), np.ptp(original, axis=0).max()]
        assert 0.6 < extent[0] / extent[1] < 1.6
        moved = aligned_copy(result, row)
        np.testing.assert_allclose(np.abs(outline - moved).max(), 0, atol=0.05 * extent[0])
    assert np.isfinite(mean_outline(result)).all()


def aligned_copy(result, row):
    """The same curve, rotated by 90 degrees and translated, aligned again."""
    turned = [one @ [[0, 1], [-1, 0]] + 9 for one in (*result.a.curves, *result.b.curves)]
    first = len(result.a)
    return aligned(replace(result, a=Ensemble(turned[:first]), b=Ensemble(turned[first:])), [row])[0]
