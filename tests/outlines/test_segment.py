"""Segmentation of images into labels: objects, splitting, and rejection of bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from skimage.data import coins
from skimage.draw import disk, polygon2mask
from skimage.io import imread
from skimage.measure import label as pieces

from curve_makers import blobs
from napari_shape_ensembles import segment


def scene(*discs, shape=(120, 120), noise=0.1, seed=0):
    image = np.random.default_rng(seed).normal(0, noise, shape)
    for row, column, radius in discs:
        image[disk((row, column), radius, shape=shape)] += 1
    return image


def test_separate_objects_get_consecutive_labels():
    labels = segment(scene((30, 30, 12), (80, 80, 15), (30, 90, 8)))
    assert labels.dtype == np.int32
    assert np.unique(labels).tolist() == [0, 1, 2, 3]
    assert labels[30, 30] != labels[80, 80]


def test_dark_objects_in_the_inverted_image():
    image = scene((30, 30, 12), (80, 80, 15))
    np.testing.assert_array_equal(segment(image) > 0, segment(-image, objects="dark") > 0)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int32, np.float32])
def test_every_dtype_gives_the_same_objects(kind):
    image = np.clip(scene((30, 30, 12), (80, 80, 15)) * 50 + 60, 0, 200)
    expected = segment(np.round(image))
    np.testing.assert_array_equal(segment(np.round(image).astype(kind)), expected)


def test_holes_are_filled_by_default():
    image = scene((60, 60, 30)) - scene((60, 60, 10), noise=0)
    assert segment(image)[60, 60] == 1
    assert segment(image, fill_holes=False, split_touching=False)[60, 60] == 0


def test_touching_discs_are_cut_at_their_neck():
    image = scene((60, 42, 20), (60, 78, 20))
    assert segment(image).max() == 2
    assert segment(image, split_touching=False).max() == 1
    labels = segment(image)
    assert {labels[60, 42], labels[60, 78]} == {1, 2}
    assert (labels[:, :59] == labels[60, 42]).sum() == pytest.approx(np.pi * 400, rel=0.05)


def test_a_chain_of_three_disks_is_split_into_three():
    assert segment(scene((30, 25, 18), (60, 40, 18), (90, 60, 20))).max() == 3


def test_irregular_and_elongated_objects_are_not_split():
    for index, outline in enumerate(blobs(12, 200, seed=8, elongation=2.5)):
        outline = (outline - outline.mean(axis=0)) * 18 + 80
        mask = polygon2mask((160, 160), outline).astype(float)
        labels = segment(mask + np.random.default_rng(index).normal(0, 0.05, mask.shape))
        sizes = np.bincount(labels.ravel())[1:]
        assert sizes.max() > 0.9 * mask.sum()


def test_color_images_are_converted_to_luminance():
    image = np.clip(scene((30, 30, 12), (80, 80, 15)), 0, 1)
    grey = segment(image)
    for channels in (3, 4):
        colour = np.stack([image] * 3 + [np.ones_like(image)] * (channels - 3), axis=-1)
        np.testing.assert_array_equal(segment(colour) > 0, grey > 0)


def test_a_mask_is_used_as_it_is():
    mask = scene((30, 30, 12), noise=0) > 0
    np.testing.assert_array_equal(segment(mask) > 0, mask)


@settings(max_examples=200)
@given(arrays(bool, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12)), st.booleans())
def test_every_pixel_of_a_mask_belongs_to_one_connected_object(mask, split):
    labels = segment(mask, fill_holes=False, split_touching=split)
    np.testing.assert_array_equal(labels > 0, mask)
    assert np.unique(labels[mask]).tolist() == list(range(1, labels.max() + 1))
    assert pieces(labels, connectivity=1).max() == labels.max()


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_invariance_to_the_scale_of_intensity(factor):
    image = scene((30, 30, 12), (80, 80, 15))
    np.testing.assert_array_equal(segment(image * factor), segment(image))


def test_the_alpha_channel_is_ignored():
    image = scene((30, 30, 12), (80, 80, 15))
    colour = np.stack([image] * 3, axis=-1)
    opacity = np.full((*image.shape, 1), 255.0)
    np.testing.assert_array_equal(segment(np.concatenate([colour, opacity], axis=-1)), segment(colour))


def test_coins_are_separated():
    assert 20 <= (np.bincount(segment(coins(), smoothing=2).ravel())[1:] > 500).sum() <= 30


def test_nuclei_are_found_with_reasonable_accuracy(real_data):
    image, reference = (imread(real_data / "dsb_nuclei" / name) for name in ("image.png", "labels.png"))
    found = segment(image)
    count = (np.bincount(found.ravel())[1:] >= 60).sum()
    assert 0.75 * 125 <= count <= 1.1 * 125
    overlap = ((found > 0) & (reference > 0)).sum() / ((found > 0) | (reference > 0)).sum()
    assert overlap > 0.6


@pytest.mark.parametrize(
    ("image", "options", "message"),
    [
        (np.zeros((0, 4)), {}, "empty"),
        (np.zeros((4, 5, 6)), {}, "not a stack"),
        (np.zeros((5, 5)), {}, "every pixel is 0"),
        (np.where(np.eye(5), 1e308, -1e308), {}, "too far apart"),
        (np.full((5, 5), np.nan), {}, "25 of 25 pixels are NaN"),
        (np.array([["a", "b"]]), {}, "give real numbers"),
        (np.eye(5), {"objects": "grey"}, "bright"),
        (np.eye(5), {"method": "magic"}, "otsu"),
        (np.eye(5), {"smoothing": -1}, "smoothing must be a number between 0 and 5000 pixels, not -1"),
        (np.eye(5), {"smoothing": 1e9}, "smoothing must be a number between 0 and 5000 pixels"),
        (np.eye(5), {"window": np.inf}, "window must be a number between 3 and 5000 pixels"),
        (np.eye(5), {"background": 1e9}, "background must be a number between 0 and 5000 pixels"),
        (np.eye(5), {"closing": 1e6}, "closing must be a number between 0 and 5000 pixels"),
        (np.eye(5), {"method": "manual", "threshold": np.nan}, "threshold must be a finite number, not nan"),
        (np.eye(5), {"method": "local", "offset": np.nan}, "offset must be a finite number"),
        (np.eye(5), {"classes": 2.5}, "classes must be an integer"),
        (np.eye(5), {"method": "superpixels", "compactness": 0}, "compactness must be a number above 0"),
    ],
)
def test_malformed_input_is_rejected(image, options, message):
    with pytest.raises(ValueError, match=message):
        segment(image, **options)


def test_subnormal_intensities_are_segmented():
    image = scene((30, 30, 12), noise=0) > 0
    found = segment(image * 5e-324, smoothing=0)
    np.testing.assert_array_equal(found > 0, image)


def test_a_manual_threshold_of_a_color_image_is_in_its_own_units():
    grey = np.round(255 * np.clip(scene((30, 30, 12), (80, 80, 15)), 0, 1)).astype(np.uint8)
    colour = np.stack([grey] * 3, axis=-1)
    expected = segment(grey, method="manual", threshold=128.5)
    assert expected.max() == 2
    for kind in (np.uint8, np.int64, np.float32):
        np.testing.assert_array_equal(segment(colour.astype(kind), method="manual", threshold=128.5), expected)


@pytest.mark.parametrize("name", ["smoothing", "background", "opening", "closing"])
def test_a_filter_wider_than_the_image_is_rejected(name):
    image = np.random.default_rng(0).normal(size=(300, 200))
    with pytest.raises(ValueError, match=rf"{name} of 5000 pixels is wider than the image \(300 × 200\)"):
        segment(image, **{name: 5000.0})
