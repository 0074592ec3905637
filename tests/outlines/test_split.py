"""Splitting of touching objects: independent of strips and plateaus."""

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from skimage.draw import disk
from skimage.segmentation import watershed

from napari_shape_ensembles import segment
from napari_shape_ensembles.outlines.methods import by_strips

strips = importlib.import_module("napari_shape_ensembles.outlines.methods")


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 900), st.floats(0.2, 40))
def test_strips_give_the_result_of_the_whole_image(seed, rows, sigma):
    plane = np.random.default_rng(seed).normal(size=(rows, 9))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strips, "processors", lambda: 5)
        found = by_strips(lambda strip: ndimage.gaussian_filter(strip, sigma), plane, int(4 * sigma + 0.5))
    np.testing.assert_array_equal(found, ndimage.gaussian_filter(plane, sigma))


@pytest.mark.parametrize("split", ["distance", "intensity"])
def test_splits_do_not_depend_on_the_number_of_processors(split, monkeypatch):
    image = ndimage.gaussian_filter(np.random.default_rng(3).normal(size=(700, 90)), 4.0)
    found = []
    for count in (1, 2, 7):
        monkeypatch.setattr(strips, "processors", lambda count=count: count)
        found.append(segment(image, split_touching=split))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_a_mask_without_background_is_one_object():
    assert np.unique(segment(np.ones((300, 20), dtype=bool))).tolist() == [1]


@pytest.mark.parametrize("neck", [0.5, 0.95, 1.0])
def test_a_plateau_is_one_maximum(neck):
    mask = np.zeros((40, 60), dtype=bool)
    mask[10:20, 5:55] = True
    mask[30:33, 5:55] = True
    assert segment(mask, neck=neck).max() == 2


def test_splits_agree_with_a_watershed():
    mask = np.zeros((80, 150), dtype=bool)
    centres = (30, 36), (34, 74), (52, 108)
    for centre in centres:
        mask[disk(centre, 22)] = True
    markers = np.zeros(mask.shape, dtype=int)
    for number, centre in enumerate(centres, start=1):
        markers[centre] = number
    flooded = watershed(-ndimage.gaussian_filter(ndimage.distance_transform_edt(mask), 1), markers, mask=mask)
    labels = segment(mask, neck=0.95)
    assert labels.max() == 3
    number = np.array([0, *(labels[centre] for centre in centres)])
    assert (number[flooded] != labels).sum() <= 20
