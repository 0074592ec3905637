"""Segmentation and tracing in tiles: every object of the whole image exactly once, wherever the seams lie."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imageio.v3 import imread
from scipy import ndimage
from scipy.spatial import cKDTree

from napari_shape_ensembles import Outlines, Stopped, reporting, segment
from napari_shape_ensembles.outlines.large_images import outlines_of_large_image
from napari_shape_ensembles.outlines.methods import gray_plane
from napari_shape_ensembles.progress import one_processor

METHODS = {
    "otsu": {},
    "triangle": {},
    "multi-otsu": {"classes": 4, "object_classes": 2},
    "manual": {"threshold": 130},
    "level": {"threshold": 120},
    "local": {"window": 21, "offset": 0.02},
    "hysteresis": {},
    "hysteresis between given levels": {"low": 110, "threshold": 140},
}


def clouds(seed, shape=(97, 120)):
    """Blobs of all sizes that touch each other and the border, some enclosing others, with noise."""
    rng = np.random.default_rng(seed)
    levels = ndimage.gaussian_filter(rng.normal(size=shape), rng.choice([2.0, 4.0, 6.0]))
    levels = 100 + levels / np.ptp(levels) * rng.choice([60, 200]) + rng.choice([0, 0.5, 3]) * rng.normal(size=shape)
    return levels.clip(0, 255).astype(rng.choice([np.uint8, np.uint16, np.float32]))


def packed(seed, size=80):
    """Cells that fill the plane except for gaps of one to a few pixels."""
    rng = np.random.default_rng(seed)
    near = cKDTree(rng.uniform(0, size, (60, 2))).query(np.indices((size, size)).reshape(2, -1).T, k=2)[0]
    inside = np.reshape(near[:, 1] - near[:, 0] > rng.uniform(0.8, 3), (size, size))
    return 60 + 150 * inside + 30 * rng.normal(size=(size, size))


def discs(*places, shape=(90, 110)):
    """Disks of (row, column, radius), and rings of (row, column, radius, width)."""
    image = np.zeros(shape)
    for row, column, radius, *width in places:
        distance = np.hypot(*(np.indices(shape) - np.reshape([row, column], (2, 1, 1))))
        image[(distance < radius) & (distance >= radius - (width or [radius])[0])] = 200
    return image


def assert_same(image, recipe, tile, *, scale=(1.0, 1.0), unit="pixel"):
    """Same objects as in the whole image, up to renumbering: ids in tiles are indices of first pixels."""
    with one_processor():  # multithreading is slower for such small tiles
        labels = recipe.labels(image)
        whole = recipe.trace(labels, scale=scale, unit=unit)
        tiled = outlines_of_large_image(image, recipe, scale=scale, unit=unit, tile=tile)
    first = dict(zip(*np.unique(labels, return_index=True), strict=True))
    expected = {int(first[name]) + 1: curve for name, curve in zip(whole.ids, whole.curves, strict=True) if name > 0}
    found = {int(name): curve for name, curve in zip(tiled.ids, tiled.curves, strict=True) if name > 0}
    assert found.keys() == expected.keys()
    for name, curve in expected.items():
        np.testing.assert_allclose(found[name], curve, rtol=0, atol=1e-11)
    assert list(found) == sorted(found)
    assert tiled.ids[tiled.ids < 0].tolist() == [-1 - place for place in range((whole.ids < 0).sum())]
    assert (tiled.dropped, tiled.filled, tiled.tracing) == (whole.dropped, whole.filled, whole.tracing)
    assert (tiled.unit, tiled.pixel_size) == (whole.unit, whole.pixel_size)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=4)
@given(data=st.data())
def test_tiles_give_the_objects_of_the_whole_image(method, data):
    choices = {
        "objects": ["bright", "dark"],
        "smoothing": [0.0, 1.0, 2.3],
        "background": [0.0, 0.0, 9.0],
        "opening": [0.0, 0.0, 2.0, 3.5],
        "closing": [0.0, 0.0, 2.0, 3.5],
        "fill_holes": [True, False],
        "min_size": [0, 30],
        "split_touching": ["none", "distance", "intensity"],
        "keep_border": [True, False],
        "holes": [True, False],
        "outline_smoothing": [0.0, 1.0],
        "smoothing_unit": ["pixel", "physical"],
    }
    drawn = {name: data.draw(st.sampled_from(some), label=name) for name, some in choices.items()}
    image = clouds(data.draw(st.integers(0, 10**6), label="seed"))
    tile = data.draw(st.sampled_from([19, 33, 57, 64, 200]), label="tile")
    recipe = Outlines(method=method.split()[0], **METHODS[method], **drawn)
    assert_same(image, recipe, tile, scale=(0.5, 0.25), unit="µm")


@pytest.mark.parametrize("tile", [7, 30, 45])
def test_objects_on_corners_over_many_tiles_and_inside_others(tile):
    image = discs((45, 50, 40, 6), (45, 50, 25, 4), (45, 50, 9), (30, 95, 12), (45, 102, 9), (84, 104, 5), (3, 3, 8))
    for recipe in (
        Outlines(fill_holes=False, holes=True),
        Outlines(fill_holes=False, split_touching=False),
        Outlines(),
    ):
        assert_same(image, recipe, tile)


@pytest.mark.parametrize("seed", [48, 61, 93, 135, 197])
def test_splitting_depends_on_the_surroundings_of_an_object(seed):
    split = ["distance", "intensity"][seed % 2]
    recipe = Outlines(
        method="manual", threshold=135, smoothing=0.7, neck=0.95, split_touching=split, keep_border=True, min_area=0,
        outline_smoothing=0,
    )  # fmt: skip
    assert_same(packed(seed), recipe, [9, 14, 20][seed % 3])


def test_a_micrograph(real_data):
    image = imread(real_data / "dsb_nuclei" / "image.png")
    assert_same(image, Outlines(smoothing=2), 100)
    assert_same(image, Outlines(method="local", background=20, split_touching="intensity"), 83)


def test_colors_masks_and_lazily_read_arrays():
    colors = np.stack([clouds(seed).astype(np.uint8) for seed in (1, 2, 3)], axis=-1)
    for channel in ("luminance", 1):
        assert_same(colors, Outlines(channel=channel), 33)
    for objects in ("bright", "dark"):
        assert_same(clouds(4) > 120, Outlines(objects=objects, split_touching="intensity"), 33)
    array, image = pytest.importorskip("dask.array"), discs((30, 30, 12), (60, 70, 20))
    found = Outlines(pixel_size=0.5, unit="µm").in_tiles(array.from_array(image, chunks=32), name="a", memory=1e-3)
    assert (len(found), found.name, found.unit, found.pixel_size) == (2, "a", "µm", (0.5, 0.5))


@pytest.mark.parametrize("turned", [False, True])
def test_an_image_no_wider_than_a_tile(turned):
    image = np.zeros((75, 24))  # objects at the right edge of one tile are not adjacent to the left edge of the next
    image[4:16, 14:], image[24:36, :9], image[62:, 12:] = 200, 200, 200
    image = image.T if turned else image
    for choices in ({}, {"fill_holes": False}, {"objects": "dark", "fill_holes": False}):
        assert_same(image, Outlines(min_size=130, keep_border=True, smoothing=0, **choices), 24)


def test_a_threshold_equal_to_the_luminance_of_gray_colors():
    image = np.repeat(np.random.default_rng(5).integers(0, 256, (40, 61, 1)), 3, axis=2).astype(np.uint8)
    values, recipe = gray_plane(image), Outlines(keep_border=True, min_area=0, smoothing=0, split_touching=False)
    for left in range(0, 61, 5):
        np.testing.assert_array_equal(gray_plane(image[:, left : left + 5]), values[:, left : left + 5])
    for level in range(100, 140, 5):
        assert_same(image, replace(recipe, method="manual", threshold=level), 5)


def test_boolean_colors_are_gray_but_a_single_channel_is_a_mask():
    colors = np.stack([clouds(seed) for seed in (1, 2, 3)], axis=-1) > 110
    for channel in ("luminance", 1):
        for method in ("triangle", "hysteresis"):
            assert_same(colors, Outlines(method=method, channel=channel, objects="dark"), 33)


def test_an_image_without_an_object():
    found = Outlines(method="manual", threshold=300).in_tiles(discs((40, 40, 20)))
    assert (len(found), found.dropped) == (0, {})


def test_opening_with_a_large_disk_leaves_nothing_in_the_corners():
    image = discs((50, 60, 6))
    assert not segment(image, opening=10).any()
    assert segment(255 - image, objects="bright", closing=10, split_touching=False).all()


NO_NUMBER = np.where(np.arange(900).reshape(30, 30) == 800, np.nan, 1.0)


@pytest.mark.parametrize(
    ("image", "choices", "words"),
    [
        (discs((40, 40, 20)), {"method": "auto"}, "method auto: choose the recipe on a typical part"),
        (discs((40, 40, 20)), {"method": "li"}, "method li: choose otsu or triangle"),
        (discs((40, 40, 20)), {"method": "boundaries"}, "method boundaries: segment it with a tool"),
        (discs((40, 40, 20)), {"method": "level", "quantile": 0.5}, "by a quantile: give the threshold"),
        (discs((40, 40, 20)), {"largest": True}, "largest object only"),
        (discs((40, 40, 20)), {"find": np.sign}, "by a model or another segmenter: save its labels"),
        (discs((40, 40, 40)), {}, r"reach over 79 × 79 pixels from row 1, column 1: .* set objects to dark"),
        (discs((40, 40, 20)), {"background": 60}, "background, window, opening and closing reach 180 pixels around"),
        (discs((40, 40, 20)), {"opening": 200}, "opening of 200 pixels is wider than the image"),
        (np.ones((30, 30)), {}, "every pixel is 1"),
        (NO_NUMBER, {}, "the tile at row .*: 1 of .* pixels are NaN"),
        (np.ones((4, 30, 30)), {}, "give one plane"),
        (np.ones((0, 30)), {}, "the image is empty"),
        (np.arange(900).reshape(30, 30) % 2, {"method": "multi-otsu"}, "too few gray levels for 3 classes"),
    ],
)
def test_images_and_methods_unsuitable_for_tiles_are_rejected(image, choices, words):
    with pytest.raises(ValueError, match=words):
        Outlines(**{"smoothing": 0, **choices}).in_tiles(image, memory=3e-4)


@pytest.mark.parametrize("memory", [0, -1, "4", True])
def test_an_invalid_memory_limit_is_rejected(memory):
    with pytest.raises(ValueError, match="memory must be a number of GiB above 0"):
        Outlines().in_tiles(discs((40, 40, 20)), memory=memory)


def test_steps_are_reported_and_cancellable():
    image, steps = discs((40, 40, 20), (70, 80, 10)), []
    with reporting(steps.append):
        Outlines().in_tiles(image, memory=1e-3)
    names = list(dict.fromkeys(step.name for step in steps))
    assert names == [
        "reading the image", "smoothing", "finding the threshold", "finding objects", "cleaning", "tracing outlines",
    ]  # fmt: skip
    assert all(step.done <= step.total for step in steps)
    with pytest.raises(Stopped), reporting(stop=lambda: True):
        Outlines().in_tiles(image)
