"""Weights of Miles and Lantuéjoul: the window of an image, carried by its outlines."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from napari_shape_ensembles import Ensemble, Outlines, at_pixel_size, extract_curves, io, level_curves, trace_mask
from napari_shape_ensembles.io.drawn import with_recipe
from napari_shape_ensembles.io.image_parts import ImagePart
from napari_shape_ensembles.io.sources import Reading, ensemble_of_file
from napari_shape_ensembles.outlines.not_image import ignored_parts
from napari_shape_ensembles.outlines.tiles import outlines_in_tiles

CURVES = [[(1, 1), (1, 1 + side), (1 + side, 1 + side), (1 + side, 1)] for side in (1, 4, 7)]


def boxes(shape=(30, 50)):
    """Labels of two rectangles off the border, 10 × 20 and 5 × 8 pixels, and one at it."""
    labels = np.zeros(shape, dtype=np.int32)
    labels[4:14, 5:25], labels[20:25, 30:38], labels[:4, 40:] = 1, 2, 3
    return labels


def share_of_places(height, width, shape):
    """Share of the places of a box in an image at which it does not touch the border, counted."""
    inside = [
        (row > 0) & (row + height < shape[0]) & (column > 0) & (column + width < shape[1])
        for row in range(shape[0] - height + 1)
        for column in range(shape[1] - width + 1)
    ]
    return np.count_nonzero(inside)


@pytest.mark.parametrize("tracing", [{"smoothing": 0}, {"smoothing": 0, "scale": (0.5, 2), "unit": "µm"}])
def test_weights_are_those_of_the_places_that_the_border_rule_leaves(tracing):
    labels = boxes()
    found = extract_curves(labels, min_area=1, **tracing)
    counted = [share_of_places(10, 20, labels.shape), share_of_places(5, 8, labels.shape)]
    assert found.ids.tolist() == [1, 2]
    assert_allclose(found.border_weights[0] / found.border_weights[1], counted[1] / counted[0], rtol=1e-12)
    assert_allclose(found.border_weights, 29 * 49 / np.array(counted), rtol=1e-12)


def test_weights_are_the_formula_up_to_ten_and_unknown_without_a_window():
    assert_allclose(Ensemble(CURVES, window=(10, 20)).border_weights[:2], [200 / (9 * 19), 200 / (6 * 16)])
    assert Ensemble(CURVES, window=(7.5, 20)).border_weights[2] == 10
    assert np.isnan(Ensemble(CURVES).border_weights).all()
    assert Ensemble([], window=(1, 1)).border_weights.shape == (0,)
    with pytest.raises(ValueError, match="window must be the height and width of a part of an image"):
        Ensemble(CURVES, window=(0, 2))


def test_every_way_of_tracing_knows_the_window_unless_the_border_is_kept():
    labels, (rows, columns) = boxes(), np.indices((30, 50))
    ways = [
        extract_curves(labels),
        Ensemble.from_labels(labels),
        Ensemble.from_masks([labels == 1, labels == 2]),
        trace_mask(labels > 0),
        level_curves(np.hypot(rows - 15, columns - 25), value=8),
        Outlines()(labels),
        Outlines(method="boundaries").trace(labels),
        outlines_in_tiles(labels, Outlines(), tile=16),
    ]
    assert [way.window for way in ways] == [(29, 49)] * len(ways)
    assert Outlines(keep_border=True).trace(labels).window is None
    assert Outlines(keep_border=True, method="boundaries").trace(labels).window is None
    assert outlines_in_tiles(labels, Outlines(keep_border=True), tile=16).window is None
    assert extract_curves(labels, holes=True).window is None  # a hole is left out with the object around it


def test_the_window_is_that_of_the_measured_part():
    labels, recipe = boxes(), Outlines()
    bar = ignored_parts(labels, "26:30, 0:50")
    assert recipe.trace(labels, ignored=bar).window == (25, 49)
    assert recipe.trace(labels, region=(2, 28, 3, 43), scale=(0.5, 2)).window == (12.5, 78)
    assert recipe.trace(labels, region="POLYGON ((0 0, 9 0, 9 9, 0 0))").window is None


def test_the_window_of_a_region_of_a_file(tmp_path):
    np.savez(tmp_path / "labels.npz", boxes())
    reading = Reading(labels=True)
    assert ensemble_of_file(tmp_path / "labels.npz", reading).window == (29, 49)
    box = ensemble_of_file(tmp_path / "labels.npz", reading, ImagePart(region=(0, 18, 0, 32)))
    assert (box.window, box.ids.tolist()) == ((17, 31), [1])
    polygon = ImagePart(region="POLYGON ((-1 -1, 60 -1, 60 18, -1 18, -1 -1))")
    assert ensemble_of_file(tmp_path / "labels.npz", reading, polygon).window is None


def test_the_window_survives_selection_units_pixels_and_files(tmp_path):
    given = extract_curves(boxes(), scale=(2, 1), unit="µm", min_area=1)
    assert given.window == (58, 49)
    assert given[[1]].window == given.assign(well="B2").window == at_pixel_size(given, 3).window == given.window
    assert_allclose(given.to("mm").window, (0.058, 0.049))
    assert_array_equal(given.to("mm")[:1].border_weights.round(12), given[:1].border_weights.round(12))
    assert Ensemble.from_polygons(given.to_geodataframe()).window == given.window
    assert Ensemble.from_anndata(given.to_anndata()).window == given.window
    for name in ("curves.npz", "curves.parquet", "curves.csv", "curves.geojson", "curves.zip"):
        io.write_curves(tmp_path / name, given)
        assert io.read_curves(tmp_path / name).ensemble.window == given.window
    calibrated = with_recipe(io.read_curves(tmp_path / "curves.csv"), Outlines(pixel_size=0.5, unit="mm"))
    assert calibrated.window == (14.5, 24.5)
    both = tmp_path / "both.npz"
    io.write_curves(both, given + given.derived(given.curves, window=(80, 49)))
    assert with_recipe(io.read_curves(both), Outlines(pixel_size=1, unit="mm")).windows[-1].tolist() == [40, 49]


def test_windows_of_pooled_images_are_those_of_each():
    large, small, unknown = (Ensemble(CURVES, name=str(one), window=one) for one in ((20, 30), (10, 12), None))
    assert (large + large).window == (20, 30)
    both = small + large + unknown
    assert both.window is None
    assert_array_equal(both.windows[[0, 3, 6]], [[10, 12], [20, 30], [np.nan, np.nan]])
    weights = np.concatenate([one.border_weights for one in (small, large, unknown)])
    assert_array_equal(both.border_weights, weights)
    assert_array_equal(both[::-1].border_weights, weights[::-1])
    assert_array_equal(Ensemble.pooled([both, small]).border_weights, [*weights, *small.border_weights])
