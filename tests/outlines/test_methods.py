"""Segmentation methods: each on a suitable image, and behavior common to all."""

import dataclasses
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from skimage.draw import disk
from skimage.measure import label as pieces
from skimage.segmentation import find_boundaries

from napari_shape_ensembles import segment
from napari_shape_ensembles.outlines import Outlines, segment_stack
from napari_shape_ensembles.outlines.methods import crofton_perimeters
from napari_shape_ensembles.outlines.recipe import Method
from napari_shape_ensembles.progress import Stopped, reporting

CENTRES = ((30, 30), (30, 90), (90, 30), (90, 90))
METHODS = get_args(Method)
OPTIONS = {
    "manual": {"threshold": 150},
    "level": {"quantile": 0.9},
    "local": {"window": 61},
    "superpixels": {"superpixels": 100},
}


def spots(*, noise=3.0, seed=0, ground=100.0, height=100.0):
    image = np.random.default_rng(seed).normal(ground, noise, (120, 120))
    for centre in CENTRES:
        image[disk(centre, 12)] += height
    return image


def found_at(labels, places=CENTRES):
    return [int(labels[place]) for place in places]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("method", [method for method in METHODS if method != "boundaries"])
def test_every_method_finds_bright_and_dark_spots(method, dark):
    image = 300 - spots() if dark else spots()
    options = {"quantile": 0.1} if method == "level" and dark else OPTIONS.get(method, {})
    labels = segment(image, method=method, objects="dark" if dark else "bright", min_size=60, **options)
    assert sorted(found_at(labels)) == [1, 2, 3, 4]
    assert labels[60, 60] == 0
    assert labels.dtype == np.int32
    assert labels.max() == 4


@pytest.mark.parametrize("method", METHODS)
def test_invariance_to_the_dtype(method):
    image = np.round(spots(seed=2))
    options = OPTIONS.get(method, {})
    np.testing.assert_array_equal(
        segment(image.astype(np.uint8), method=method, **options),
        segment(image.astype(np.int32), method=method, **options),
    )


def test_a_manual_threshold_is_in_the_values_of_the_image():
    image = np.zeros((60, 60), dtype=np.uint16)
    image[disk((20, 20), 8)] = 1000
    image[disk((40, 40), 8)] = 3000
    for threshold, count in ((500, 2), (2000, 1), (3500, 0)):
        assert segment(image, method="manual", threshold=threshold, smoothing=0).max() == count
    assert segment(image, method="manual", threshold=2000, objects="dark", smoothing=0, split_touching=False).max() == 1


def test_uneven_illumination_needs_background_or_local_thresholds():
    image = spots() + np.linspace(0, 200, 120)
    assert found_at(segment(image, min_size=60)) != [1, 2, 3, 4]
    for options in ({"background": 20}, {"method": "local", "window": 61, "offset": 0.03}):
        labels = segment(image, min_size=60, split_touching=False, **options)
        assert sorted(found_at(labels)) == [1, 2, 3, 4]
        assert labels.max() == 4


def test_manual_thresholds_are_relative_to_the_background():
    image = spots(ground=1000, noise=0)
    assert segment(image, method="manual", threshold=50, background=20).max() == 4
    assert segment(300 - image, method="manual", threshold=-50, background=20, objects="dark").max() == 4


def test_several_classes_can_be_foreground():
    image = spots(noise=1)
    image[disk((60, 60), 8)] += 50
    assert segment(image, method="multi-otsu").max() == 4
    assert segment(image, method="multi-otsu", object_classes=2).max() == 5
    with pytest.raises(ValueError, match="too few gray levels for 3 classes"):
        segment(np.eye(9), method="multi-otsu", smoothing=0)


def test_hysteresis_keeps_only_dim_parts_of_bright_objects():
    image = spots(noise=0)
    image[disk((60, 60), 10)] = 150
    image[30:40, 42:50] = 150
    options = {"method": "hysteresis", "smoothing": 0, "split_touching": False}
    labels = segment(image, low=130, threshold=180, **options)
    assert labels[60, 60] == 0
    assert labels[35, 45] == labels[30, 30] > 0
    np.testing.assert_array_equal(labels, segment(image, low=180, threshold=130, **options))


def test_a_level_is_a_value_or_a_quantile():
    field = np.add.outer(np.arange(50.0), np.zeros(40))
    for options in ({"quantile": 0.7}, {"threshold": 34.5}):
        labels = segment(field, method="level", smoothing=0, **options)
        np.testing.assert_array_equal(labels > 0, field > 34.5)
    below = segment(field, method="level", smoothing=0, quantile=0.3, objects="dark")
    np.testing.assert_array_equal(below > 0, field < 14.5)


def voronoi(shape=(160, 200), count=30, seed=1):
    """Cells around random points, and an image of dark lines between them."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 1, (count, 2)) * shape
    square = ((np.indices(shape)[..., None] - points.T[:, None, None]) ** 2).sum(axis=0)
    cells = square.argmin(axis=-1) + 1
    lines = ndimage.gaussian_filter((~find_boundaries(cells)).astype(float), 1)
    return cells, lines + rng.normal(0, 0.02, shape)


@pytest.mark.parametrize("dark_lines", [True, False])
def test_cells_between_lines_share_their_boundaries(dark_lines):
    cells, image = voronoi()
    labels = segment(
        image if dark_lines else -image,
        method="boundaries",
        objects="bright" if dark_lines else "dark",
        window=25,
        min_size=20,
    )
    assert labels.min() == 1
    table = np.zeros((cells.max() + 1, labels.max() + 1))
    np.add.at(table, (cells, labels), 1)
    overlap = table.max(axis=1)[1:] / (np.bincount(cells.ravel())[1:])
    assert abs(labels.max() - cells.max()) <= 2
    assert np.median(overlap) > 0.93


def test_gaps_in_lines_are_closed_by_splitting():
    image = np.ones((60, 100))
    image[:, 49:51] = 0
    image[28:32, 49:51] = 1
    assert segment(image, method="boundaries", window=31, smoothing=0.5).max() == 2
    assert segment(image, method="boundaries", window=31, smoothing=0.5, split_touching=False).max() == 1


def test_an_image_without_cells_is_reported():
    with pytest.raises(ValueError, match="no cells found between the lines"):
        segment(np.eye(12), method="boundaries", min_size=1000)


def test_superpixels_of_similar_color_are_merged():
    image = np.zeros((80, 80, 3), dtype=np.uint8)
    image[:, :40] = 200, 60, 60
    image[:, 40:] = 60, 60, 200
    image[20:60, 20:60] = 60, 200, 60
    labels = segment(image, method="superpixels", superpixels=60, smoothing=0, all_regions=True)
    assert labels[5, 5] == labels[70, 10]
    assert len({labels[5, 5], labels[5, 70], labels[40, 40]}) == 3
    assert (np.bincount(labels.ravel())[1:] > 100).sum() == 3


def test_a_single_channel_of_a_color_image():
    image = np.zeros((120, 120, 3), dtype=np.uint8)
    image[..., 2] = spots()
    image[..., 0] = 255 - image[..., 2]
    assert segment(image, channel=2).max() == 4
    assert segment(image, channel=0, objects="dark").max() == 4


def test_thin_bridges_are_opened_and_gaps_closed():
    mask = np.zeros((60, 90), dtype=bool)
    mask[disk((30, 25), 15)] = mask[disk((30, 65), 15)] = True
    mask[29:31, 25:65] = True
    assert segment(mask, split_touching=False).max() == 1
    assert segment(mask, split_touching=False, opening=3).max() == 2
    mask[29:31] = False
    assert segment(mask, split_touching=False).max() == 4
    assert segment(mask, split_touching=False, closing=2).max() == 2


def test_opening_with_a_large_disk_leaves_nothing_in_the_corners():
    image = np.zeros((90, 110))
    image[disk((50, 60), 6)] = 200
    assert not segment(image, opening=10).any()
    assert segment(255 - image, objects="bright", closing=10, split_touching=False).all()


def test_closing_does_not_extend_objects_along_the_border():
    mask = np.zeros((30, 30), dtype=bool)
    mask[:4, 10:14] = True
    np.testing.assert_array_equal(segment(mask, closing=3) > 0, mask)


def test_specks_are_removed_on_request():
    mask = np.zeros((30, 30), dtype=bool)
    mask[5, 5] = True
    mask[10:20, 10:20] = True
    assert segment(mask).max() == 2
    assert segment(mask, min_size=2).max() == 1
    assert segment(mask, min_size=100).max() == 1
    assert segment(mask, min_size=101).max() == 0


def test_touching_objects_are_split_by_distance_or_intensity():
    rows, columns = np.indices((60, 90))
    hills = sum(np.exp(-((rows - 30) ** 2 + (columns - c) ** 2) / 128) for c in (32, 56))
    slab = np.zeros((60, 90), dtype=bool)
    slab[15:45, 15:75] = True
    image = np.where(slab, 0.5 + hills, 0)
    options = {"method": "manual", "threshold": 0.3, "smoothing": 0}
    assert segment(image, **options).max() == 1
    assert segment(image, split_touching="intensity", **options).max() == 2
    assert segment(image, split_touching="none", **options).max() == 1


def test_a_smaller_neck_cuts_less():
    mask = np.zeros((60, 90), dtype=bool)
    mask[disk((30, 30), 18)] = mask[disk((30, 58), 18)] = True
    assert [segment(mask, neck=neck).max() for neck in (0.2, 0.95)] == [1, 2]


@pytest.mark.filterwarnings("ignore:these outlines are doubtful")
@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from(["distance", "intensity", "none"]), st.sampled_from(METHODS))
def test_labels_of_noise_are_numbered_without_gaps_and_connected(seed, split, method):
    rng = np.random.default_rng(seed)
    image = ndimage.gaussian_filter(rng.normal(size=(40, 50)), rng.uniform(0, 3))
    options = {"manual": {"threshold": 0.01}, "level": {"quantile": rng.uniform()}}.get(method, {})
    labels = segment(image, method=method, split_touching=split, window=15, superpixels=30, **options)
    assert labels.shape == image.shape
    assert np.unique(labels[labels > 0]).tolist() == list(range(1, labels.max() + 1))
    if method != "superpixels":
        assert pieces(labels, connectivity=1).max() == labels.max()


def test_a_segmentation_can_be_cancelled_between_steps():
    heard = []
    with reporting(heard.append, stop=lambda: len(heard) == 2), pytest.raises(Stopped):
        segment(spots())
    assert [step.name for step in heard] == ["smoothing", "finding objects"]


def test_planes_of_a_stack_are_segmented_independently():
    stack = np.stack([spots(seed=1), 5 * spots(seed=2)])
    planes = list(segment_stack(stack, min_size=60))
    assert [plane.max() for plane in planes] == [4, 4]
    np.testing.assert_array_equal(planes[1], segment(stack[1], min_size=60))
    with pytest.raises(ValueError, match="plane 1: every pixel is 0"):
        list(segment_stack(np.stack([spots(), np.zeros((120, 120))])))


def test_parameters_scale_with_the_resolution():
    fine = Outlines(smoothing=2, background=30, opening=4, min_size=80, window=41)
    coarse = fine.at_resolution(0.5)
    assert (coarse.smoothing, coarse.background, coarse.opening, coarse.min_size, coarse.window) == (1, 15, 2, 20, 20.5)
    assert fine.changed() == {"smoothing": 2, "background": 30, "opening": 4, "min_size": 80, "window": 41}


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"method": "magic"}, "method must be one of otsu, auto, li"),
        ({"split_touching": "force"}, "split_touching must be one of none, distance, intensity"),
        ({"channel": 7}, "channel"),
        ({"method": "manual"}, "needs a threshold"),
        ({"method": "level"}, "either a threshold"),
        ({"method": "level", "threshold": 1, "quantile": 0.5}, "either a threshold"),
        ({"quantile": 2, "method": "level"}, "quantile must be a number between 0 and 1"),
        ({"neck": -1}, "neck must be a number between 0 and 1, not -1"),
        ({"window": 1}, "between 3 and 5000 pixels, not 1"),
        ({"classes": 9}, "classes must be an integer between 2 and 5, not 9"),
        ({"classes": 2, "object_classes": 2}, "between 1 and 1 with 2 classes"),
        ({"superpixels": 1}, "at least 2"),
        ({"opening": -2}, "opening must be a number between 0 and 5000 pixels, not -2"),
        ({"background": np.nan}, "background must be a number between 0 and 5000 pixels, not nan"),
    ],
)
def test_parameters_out_of_range_are_rejected(choices, message):
    with pytest.raises(ValueError, match=message):
        Outlines(**choices)


def test_every_parameter_is_documented():
    for field in dataclasses.fields(Outlines):
        assert field.name in Outlines.__doc__


def test_perimeters_of_digital_disks_are_those_of_circles():
    rows, columns = np.indices((100, 200))
    labels = (np.hypot(rows - 50, columns - 50) < 20) + 2 * (np.hypot(rows - 50, columns - 150) < 40)
    np.testing.assert_allclose(crofton_perimeters(labels, 2), [40 * np.pi, 80 * np.pi], rtol=0.01)
    cut = crofton_perimeters(labels[50:], 2)  # the border of the plane is not part of an outline
    np.testing.assert_allclose(cut, [20 * np.pi, 40 * np.pi], rtol=0.05)
