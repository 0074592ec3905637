"""Tracing of labels in tiles: every outline of the whole plane exactly once, wherever the seams lie."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.draw import ellipse

from napari_shape_ensembles import Outlines, extract_curves
from napari_shape_ensembles.outlines.tiles import boxes_in, outlines_in_tiles


def plane(seed=0, size=150, count=25):
    """Random ellipses that overlap each other and the border; some are divided by others."""
    rng, labels = np.random.default_rng(seed), np.zeros((size, size + 20), np.int32)
    for value in rng.choice(np.arange(1, 5 * count), count, replace=False):
        rows, columns = ellipse(
            *rng.uniform(0, size, 2), *rng.uniform(3, 22, 2), shape=labels.shape, rotation=rng.uniform(0, 3)
        )
        labels[rows, columns] = value
    return labels


def by_id(ensemble):
    return {int(name): curve for name, curve in zip(ensemble.ids, ensemble.curves, strict=True) if name > 0}


def assert_same(one, other):
    first, second = by_id(one), by_id(other)
    assert first.keys() == second.keys()
    for name, curve in first.items():
        np.testing.assert_allclose(curve, second[name], rtol=1e-13, atol=1e-12)
    assert one.dropped == other.dropped
    assert one.filled == other.filled
    assert (one.unit, one.pixel_size, one.tracing) == (other.unit, other.pixel_size, other.tracing)
    assert (one.ids < 0).sum() == (other.ids < 0).sum()


@settings(max_examples=12)
@given(
    seed=st.integers(0, 1000),
    tile=st.sampled_from([17, 40, 64, 200]),
    border=st.booleans(),
    holes=st.booleans(),
    smoothing=st.sampled_from([0.0, 1.0, 2.5]),
    smoothed=st.sampled_from(["pixel", "physical"]),
)
def test_tiles_give_the_outlines_of_the_whole_plane(seed, tile, border, holes, smoothing, smoothed):
    labels = plane(seed)
    recipe = Outlines(
        keep_border=border, holes=holes, outline_smoothing=smoothing, smoothing_unit=smoothed, min_area=20
    )
    scale = (0.5, 0.25)
    tiled = outlines_in_tiles(labels, recipe, scale=scale, unit="µm", tile=tile)
    assert_same(recipe.trace(labels, scale=scale, unit="µm"), tiled)


def test_very_large_labels_and_lazily_read_arrays():
    labels = plane(3)
    large = np.where(labels > 0, labels.astype(np.int64) + 2**40, 0)
    zarr = pytest.importorskip("zarr")
    stored = zarr.array(large, chunks=(32, 32))
    assert_same(extract_curves(large), outlines_in_tiles(stored, Outlines(), tile=48))


def test_one_label_in_two_pieces_is_not_a_mask():
    labels = np.zeros((80, 90), np.uint16)
    labels[5:25, 5:25], labels[60:75, 60:85], labels[40:55, 40:55] = 7, 7, 9
    assert_same(extract_curves(labels), outlines_in_tiles(labels, Outlines(), tile=30))


def test_an_empty_plane_and_invalid_input():
    assert len(outlines_in_tiles(np.zeros((50, 60), np.int32), Outlines(), tile=20)) == 0
    with pytest.raises(ValueError, match="plane of integers"):
        outlines_in_tiles(np.zeros((50, 60)), Outlines())


def test_bounding_boxes_match_the_pixels():
    labels = plane(5)
    boxes = boxes_in(labels, (0, 0, *labels.shape))
    for value, (top, left, bottom, right), area in zip(boxes.values, boxes.corners, boxes.areas, strict=True):
        rows, columns = np.nonzero(labels == value)
        assert (top, left, bottom, right) == (rows.min(), columns.min(), rows.max() + 1, columns.max() + 1)
        assert area == len(rows)
