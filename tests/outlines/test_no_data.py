"""Regions of a picture without data are found, masked and counted; objects and background of one color are left."""

from pathlib import Path

import numpy as np
import pytest
import skimage.data
from PIL import Image
from scipy.ndimage import binary_dilation, binary_erosion, gaussian_filter
from skimage.draw import disk, polygon
from skimage.transform import rotate

from image_makers import spots
from napari_shape_ensembles import Outlines, learn_objects, propose, segment
from napari_shape_ensembles.outlines import Reason, not_image

DATA = Path(__file__).resolve().parents[1] / "data"
SHAPE = 260, 300


def picture():
    """Gray levels of 8 bits between 40 and 215: blobs on an uneven ground with noise."""
    rng = np.random.default_rng(0)
    image = np.clip(spots(rows=7), -0.3, 1.5)[: SHAPE[0], : SHAPE[1]] + gaussian_filter(rng.normal(size=SHAPE), 20) * 3
    return (40 + 175 * (image - image.min()) / np.ptp(image)).astype(np.uint8)


def region(*places):
    """Mask of rectangles."""
    mask = np.zeros(SHAPE, dtype=bool)
    for place in places:
        mask[place] = True
    return mask


def within(*, of):
    """Mask of pixels with a normalized distance of less than 1 from the middle."""
    rows, columns = np.indices(SHAPE)
    return np.hypot((rows - SHAPE[0] / 2) / of[0], (columns - SHAPE[1] / 2) / of[1]) < 1


STAIRS = region(np.s_[:12, :90], np.s_[:25, 90:180], np.s_[:7, 180:], np.s_[-20:, :150])
EMPTY = {
    "a tile inside": region(np.s_[60:140, 90:200]),
    "tiles at an edge and in a corner": region(np.s_[90:180, :100], np.s_[180:, 200:]),
    "a mosaic of shifted rows": STAIRS,
    "what surrounds a circle": ~within(of=(126, 126)),
    "what surrounds a circle that is cut": ~within(of=(146, 146)),
    "what surrounds an ellipse": ~within(of=(126, 146)),
    "bars above and below": region(np.s_[:30], np.s_[-30:]),
}


@pytest.mark.parametrize("color", [0, 255, 128])
@pytest.mark.parametrize("name", EMPTY)
def test_regions_of_one_color_are_masked_to_the_pixel(name, color):
    image, empty = picture(), EMPTY[name]
    image[empty] = color
    found = not_image(image)
    assert found.mask[empty].all()
    assert not (found.mask & ~binary_dilation(empty, iterations=3)).any()


def test_their_share_of_the_picture_is_counted():
    image, empty = picture(), EMPTY["a tile inside"]
    image[empty] = 0
    (reason,) = not_image(image).reasons
    assert reason.limit == pytest.approx(100 * empty.mean(), rel=0.1)
    assert str(reason) == f"region without data, in all {reason.limit:g} % of the picture"
    assert Outlines(method="otsu")(image).dropped[reason] == 1


@pytest.mark.parametrize("form", [EMPTY["a tile inside"], within(of=(60, 90)), region(np.s_[:, 250:]), STAIRS])
def test_regions_of_nan_are_left_out_and_change_no_object_elsewhere(form):
    image = spots(rows=7)[: SHAPE[0], : SHAPE[1]]
    holed = np.where(form, np.nan, image)
    found = not_image(holed)
    np.testing.assert_array_equal(found.mask, form)
    assert all(reason.key == "no data" for reason in found.reasons)
    recipe = Outlines(method="manual", threshold=0.5)
    whole, rest = recipe.labels(image), recipe.labels(holed)
    far = ~binary_dilation(form, iterations=10)
    np.testing.assert_array_equal(whole[far] > 0, rest[far] > 0)
    assert not rest[form].any()
    assert propose(holed)[0].recipe.objects == "bright"
    with pytest.raises(ValueError, match="pixels are NaN"):
        segment(holed, ignore="none")


def test_proposals_ignore_what_surrounds_a_field_of_view():
    image, empty = picture(), ~within(of=(110, 110))
    image[empty] = 0
    filled = not_image(image).mask
    for proposal in propose(image):
        assert not proposal.labels[filled].any()
        cut = np.unique(proposal.labels[binary_dilation(filled)])
        whole = np.isin(proposal.labels, cut[1:], invert=True) & (proposal.labels > 0)
        assert proposal.measures["closed"] == pytest.approx(whole.sum() / (proposal.labels > 0).sum(), abs=0.02)


def test_models_learn_beside_regions_of_nan():
    image = spots(rows=6)
    truth = segment(image, method="otsu")
    holed = image.copy()
    holed[:, -40:] = np.nan
    model = learn_objects(holed, np.where(truth <= 5, truth, 0))
    found = Outlines(find=model).labels(holed)
    assert not found[:, -40:].any()
    assert found.max() >= 25


def test_installed_segmenters_get_values_everywhere():
    image = spots(rows=6)
    image[:, -40:] = np.nan
    found = Outlines(find=lambda pixels: (pixels > 0.5) * np.isfinite(pixels).all()).labels(image)
    assert found[:, :-40].any()
    assert not found[:, -40:].any()


def test_single_pixels_of_nan_are_refused():
    image = spots(rows=6)
    image[50, 70] = np.nan
    with pytest.raises(ValueError, match=r"1 of \d+ pixels are NaN"):
        segment(image)


@pytest.mark.parametrize("degrees", [0.8, 3, -12, 33, 45, 80])
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("color", [0, 255])
def test_corners_of_scans_rotated_by_any_angle_are_masked(degrees, order, color):
    options = {"resize": True, "order": order, "preserve_range": True}
    turned = rotate(picture(), degrees, **options, cval=color).round().astype(np.uint8)
    empty = rotate(np.ones(SHAPE), degrees, resize=True, order=0) < 0.5
    found = not_image(turned)
    assert found.reasons == {Reason("corners"): 4}
    assert found.mask[binary_erosion(empty)].all()
    assert not (found.mask & ~binary_dilation(empty, iterations=3)).any()


@pytest.mark.parametrize("turns", range(4))
def test_a_single_corner_in_any_position_is_masked(turns):
    image, empty = picture(), np.zeros(SHAPE, dtype=bool)
    empty[polygon([0, 0, 80], [0, 120, 0])] = True
    image[empty] = 0
    found = not_image(np.rot90(image, turns))
    assert found.reasons == {Reason("corners"): 1}
    assert found.mask[np.rot90(empty, turns)].all()
    assert found.mask.sum() < 1.1 * empty.sum()


def test_a_region_masked_by_hand_is_told_from_objects_of_its_color():
    image, empty = picture(), np.zeros(SHAPE, dtype=bool)
    empty[polygon([60, 190, 220, 100], [40, 60, 150, 210])] = True
    image[empty] = 0
    assert not_image(image).mask[empty].all()
    for place in ((30, 250), (230, 250), (230, 30)):  # clipped, with a blurred border
        blob = np.zeros(SHAPE, dtype=bool)
        blob[disk(place, 16)] = True
        image = np.minimum(image, np.clip(400 * gaussian_filter((~blob).astype(float), 2) - 200, 0, 255)).astype(
            np.uint8
        )
    assert not not_image(image)


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("color", [0, 255, 128])
def test_thin_frames_are_masked(width, color):
    image = np.pad(picture(), width, constant_values=color)
    found = not_image(image)
    assert found.reasons == {Reason("frame rows", width): 2, Reason("frame columns", width): 2}
    assert found.window == (slice(width, width + SHAPE[0]), slice(width, width + SHAPE[1]))


@pytest.mark.parametrize("turns", range(4))
def test_a_line_at_one_edge_is_masked(turns):
    image = picture()
    image[-1:] = 255
    found = not_image(np.rot90(image, turns))
    assert list(found.reasons.values()) == [1]
    assert found.mask.sum() == SHAPE[1]


def clipped(image, low, high):
    """Gray levels of 8 bits, clipped to the lowest and the highest where they leave a range."""
    return (255 * np.clip((image - low) / (high - low), 0, 1)).astype(np.uint8)


def test_background_and_objects_that_are_clipped_are_image():
    blobs = gaussian_filter(spots(rows=7), 2)
    noise = np.random.default_rng(1).normal(0, 0.02, blobs.shape)
    for image in (
        clipped(blobs + noise, 0.2, 1),  # a flat black background
        clipped(blobs + noise, 0, 0.5),  # saturated objects
        clipped(blobs, 0.2, 0.6),
        clipped(1 - blobs + noise, 0.3, 0.9),  # dark pores in a white matrix
        clipped(blobs, 0.49, 0.51),  # nearly a mask
    ):
        assert not not_image(image)
    for mask in (blobs > 0.5, (blobs > 0.5).astype(np.uint8) * 255, EMPTY["a mosaic of shifted rows"] * 1.0):
        assert not not_image(mask)


def test_one_grain_on_black_is_no_field_of_view():
    turns = np.linspace(0, 2 * np.pi, 200)
    radius = 100 * (1 + 0.1 * np.cos(3 * turns) + 0.05 * np.cos(2 * turns))
    grain = np.zeros(SHAPE, dtype=bool)
    grain[polygon(130 + radius * np.sin(turns), 150 + radius * np.cos(turns))] = True
    assert not not_image(np.where(grain, picture(), 0).astype(np.uint8))


def test_real_images_have_no_regions_without_data_but_those_with_a_field_of_view():
    images = [
        np.array(Image.open(path))
        for path in (DATA / "dsb_nuclei" / "image.png", *(DATA / "ampis_powder").glob("*.png"))
    ]
    names = ("camera", "coins", "moon", "brick", "grass", "gravel", "cell", "page", "text", "coffee", "rocket")
    images += [getattr(skimage.data, name)() for name in names]
    for image in images:
        assert not any(reason.key in ("no data", "corners") for reason in not_image(image).reasons)
    for name in ("color.png", "retina.jpg"):
        field = np.array(Image.open(Path(skimage.data.__file__).with_name(name)))
        assert {reason.key for reason in not_image(field).reasons} == {"no data"}
