"""What is drawn on a picture is found, masked and counted; images without it are left as they are."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from scipy.ndimage import gaussian_filter, maximum_filter
from skimage.data import coins
from skimage.draw import polygon
from skimage.transform import rotate

from image_makers import spots
from napari_shape_ensembles import Outlines, segment
from napari_shape_ensembles.outlines import Reason, not_image

DATA = Path(__file__).resolve().parents[1] / "data"


def picture(rows=6):
    """Gray levels of 8 bits with blobs, between 40 and 215."""
    image = np.clip(spots(rows=rows), -0.3, 1.5)
    return (40 + 175 * (image + 0.3) / 1.8).astype(np.uint8)


def written(image, words, place, *, color=255, size=18):
    """Write on an image, x and y of the upper left corner."""
    drawn = Image.fromarray(image)
    ImageDraw.Draw(drawn).text(place, words, fill=color, font=ImageFont.load_default(size))
    return np.array(drawn)


def with_bar(image, *, color=0, height=40):
    """Append an information bar below."""
    bar = np.full((height, image.shape[1]), color, np.uint8)
    return np.concatenate([image, written(bar, "5.0 kV  x2000  10 µm", (8, 8), color=255 - color)])


@pytest.mark.parametrize("color", [0, 255, 110])
@pytest.mark.parametrize("turns", range(4))
def test_an_information_bar_at_any_edge_is_found_to_the_row(color, turns):
    image = picture()
    if color == 110:
        bar = written(np.full((40, image.shape[1]), color, np.uint8), "5.0 kV  x2000", (8, 8), color=255)
        whole = np.concatenate([image, bar])
    else:
        whole = with_bar(image, color=color)
    found = not_image(np.rot90(whole, turns))
    key = "bar columns" if turns % 2 else "bar rows"
    assert found.reasons == {Reason(key, 40): 1}
    expected = np.zeros(whole.shape, dtype=bool)
    expected[len(image) :] = True
    np.testing.assert_array_equal(found.mask, np.rot90(expected, turns))


def test_a_bar_changes_no_object_and_is_counted():
    image = picture()  # the last row of which is far from any object
    alone, whole = Outlines(method="otsu")(image), Outlines(method="otsu")(with_bar(image, color=255))
    assert Outlines(method="otsu", ignore="none")(with_bar(image, color=255)) != alone
    assert len(whole) == len(alone) == 36
    for one, other in zip(whole.curves, alone.curves, strict=True):
        np.testing.assert_array_equal(one, other)
    assert whole.dropped == {**alone.dropped, Reason("bar rows", 40): 1}
    assert str(Reason("bar rows", 40)) == "information bar of 40 rows"


def test_letters_and_a_scale_bar_are_no_objects():
    image = written(picture(), "100 nm", (8, 225))
    image[250:256, 10:90] = 255
    found = not_image(image)
    assert found.reasons == {Reason("letters"): 1, Reason("scale bar"): 1}
    changed = image != picture()
    assert found.mask[changed].all()
    assert found.mask.mean() < 3 * changed.mean() + 0.02
    assert not segment(image)[found.mask].any()


@pytest.mark.parametrize("color", [255, 0])
@pytest.mark.parametrize("compressed", [False, True])
def test_a_scale_bar_is_found_among_specks_of_its_color(color, compressed, tmp_path):
    image = picture()
    specks = np.random.default_rng(0).random(image.shape) < 0.001
    specks[190:, 120:] = False
    image[maximum_filter(specks, 9)] = color  # more of them than of the bar
    plain = image.copy()
    image = written(image, "100 nm", (150, 205), color=color, size=26)
    image[238:246, 140:240] = color
    changed = image != plain
    if compressed:
        Image.fromarray(image).save(tmp_path / "picture.jpg", quality=85)
        image = np.array(Image.open(tmp_path / "picture.jpg"))
    found = not_image(image)
    assert found.reasons[Reason("scale bar")] == 1
    assert found.mask[238:246, 140:240].all()
    assert found.mask.mean() < 3 * changed.mean() + 0.02


def test_ticks_at_the_ends_of_a_scale_bar_belong_to_it():
    image = picture()
    plain = image.copy()
    image[240:244, 140:240] = 255
    image[230:254, 140:142] = image[230:254, 238:240] = 255
    assert not_image(image).mask[image != plain].all()


def needles(seed, turns=0.035):
    """Fifteen bright needles, horizontal up to some degrees."""
    rng, image = np.random.default_rng(seed), np.zeros((300, 400))
    for _ in range(15):
        middle, half, turn = rng.uniform(0, image.shape), rng.uniform((2, 20), (4, 60)), rng.normal(0, turns)
        corners = np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]]) * half
        corners = middle + corners @ [[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]
        image[polygon(*corners.T, image.shape)] = 210
    return (image + 60 + rng.normal(0, 8, image.shape)).clip(0, 255).astype(np.uint8)


def texture(seed):
    """Islands that are wider than high, the brightest and the darkest of them saturated."""
    waves = gaussian_filter(np.random.default_rng(seed).normal(size=(300, 400)), (3, 12))
    return (128 + 120 * waves / waves.std()).clip(0, 255).astype(np.uint8)


def layers(seed):
    """Saturated layers from edge to edge."""
    noise = np.random.default_rng(seed).normal(0, 6, (300, 400))
    return (128 + 170 * np.sin(np.arange(300) / 6)[:, None] + noise).clip(0, 255).astype(np.uint8)


@pytest.mark.parametrize("objects", [needles, texture, layers])
def test_long_objects_are_no_scale_bars(objects):
    found = [not_image(objects(seed)).reasons for seed in range(20)]
    assert sum(Reason("scale bar") in reasons for reasons in found) <= 1


def test_crossing_needles_are_no_letters():
    assert not any(not_image(needles(seed, turns=0.8)) for seed in range(20))


def test_letters_beside_a_scale_bar_may_be_close_to_the_background_in_gray():
    image = (picture() / 6 + 190).astype(np.uint8)
    image[30, 30] = 0
    image = written(image, "100 nm", (150, 210))
    plain = image.copy()
    image[238:246, 140:240] = 255
    assert not not_image(plain)
    found = not_image(image)
    assert found.reasons == {Reason("letters"): 1, Reason("scale bar"): 1}


def test_a_box_with_letters_is_masked_whole():
    image = picture()
    image[:30, :44] = 255
    image = written(image, "(b)", (6, 4), color=0)
    found = not_image(image)
    assert found.reasons == {Reason("box"): 1}
    assert found.mask[:30, :44].all()
    assert not found.mask[40:].any()


def test_the_letter_of_a_panel_is_found_in_a_corner_only():
    image = picture()
    assert not_image(written(image, "B", (4, 2), size=30)).reasons == {Reason("letters"): 1}
    assert not not_image(written(image, "B", (120, 120), size=30))


@pytest.mark.parametrize("degrees", [5, -20])
def test_corners_of_a_rotated_scan_are_masked(degrees):
    turned = rotate(picture(), degrees, resize=True, order=0, preserve_range=True).astype(np.uint8)
    inside = rotate(np.ones(picture().shape), degrees, resize=True, order=0) > 0.5
    found = not_image(turned)
    assert found.reasons == {Reason("corners"): 4}
    assert (found.mask == ~inside).mean() > 0.97


def test_a_frame_is_masked_on_all_sides():
    image = np.pad(picture(), 12, constant_values=255)
    found = not_image(image)
    assert found.reasons == {Reason("frame rows", 12): 2, Reason("frame columns", 12): 2}
    assert found.window == (slice(12, -12 + len(image)),) * 2


def test_an_object_cut_by_a_bar_is_left_out_like_one_at_the_border():
    image = picture()[:-25]  # through the last row of blobs
    at_border, at_bar = Outlines()(image), Outlines()(with_bar(image, color=0))
    assert len(at_bar) == len(at_border) == 30
    assert at_bar.dropped[Reason("masked")] == at_border.dropped[Reason("border")] == 6
    assert len(Outlines(keep_border=True)(with_bar(image, color=0))) == 36


def test_images_masks_and_drawings_are_left_as_they_are():
    two_levels = np.zeros((60, 60))
    two_levels[10:30, 5:55] = 1
    dark_below = picture()
    dark_below[-40:] = np.random.default_rng(0).integers(38, 48, dark_below[-40:].shape)
    gradient = picture() / 2 + np.linspace(0, 60, 260)
    smooth = np.where(picture() > 110, 150.0, 0) + np.linspace(0, 60, 260)  # without noise
    for image in (gradient, smooth, two_levels, two_levels > 0, np.zeros((50, 50)), picture(), dark_below, np.eye(40)):
        assert not not_image(image)


def test_real_images_without_letters_are_left_as_they_are():
    for path in (DATA / "dsb_nuclei" / "image.png", *sorted((DATA / "ampis_powder").glob("*.png"))):
        assert not not_image(np.array(Image.open(path))), path.name
    assert not not_image(coins())  # dark in a corner


def test_given_regions_replace_what_is_found():
    image = with_bar(picture())
    rows = len(image)
    found = Outlines(ignore=f"{rows - 60}:, :; :20, 0:30").ignored(image)
    assert found.mask.sum() == 60 * image.shape[1] + 20 * 30
    assert found.reasons == {Reason("given"): 2}
    assert not Outlines(ignore="none").ignored(image)
    for wrong in ("bottom", "1:2", "1:2, 3:4, 5:6", "1, 2"):
        with pytest.raises(ValueError, match="rows and columns such as"):
            Outlines(ignore=wrong)


def test_it_does_not_depend_on_the_units_of_the_gray_levels():
    image = with_bar(written(picture(), "SiO2", (8, 8)))
    expected = not_image(image)
    for same in (image.astype(np.uint16) * 200, image / 7 - 3, np.stack([image] * 3, axis=-1)):
        found = not_image(same)
        assert found.reasons == expected.reasons
        np.testing.assert_array_equal(found.mask, expected.mask)
