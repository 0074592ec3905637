"""Recognition of labels, masks, classes and intensity images, synthetic and real."""

import numpy as np
import pytest
from imageio.v3 import imread, imwrite
from scipy import ndimage

from napari_shape_ensembles import content_of, extract_curves, objects_of_classes, samples
from napari_shape_ensembles.outlines.reasons import NEGATIVE
from napari_shape_ensembles.outlines.recognise import as_labels, drawn_outlines, refuse_grey


def labels(count=9, spacing=20, radius=6):
    rows, columns = np.indices((3 * spacing, 3 * spacing))
    found = (rows // spacing) * 3 + columns // spacing + 1
    found[(np.hypot(rows % spacing - spacing / 2, columns % spacing - spacing / 2) > radius) | (found > count)] = 0
    return found


@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.float64])
def test_labels_masks_and_classes_are_recognized_for_any_dtype(kind):
    plane = labels()
    assert content_of(plane.astype(kind)) == "labels"
    assert content_of((plane > 0).astype(kind) * 255) == "mask"
    assert content_of(np.where(plane % 2, plane > 0, 2 * (plane > 0)).astype(kind)) == "classes"
    assert content_of(np.random.default_rng(0).integers(0, 200, plane.shape).astype(kind)) == "grey"


@pytest.mark.parametrize("kind", [np.uint8, np.float16, np.int64])
def test_a_mask_with_single_pixel_noise_is_a_mask(kind):
    dusty = labels() > 0
    dusty[::3, ::3] = True
    assert content_of(dusty.astype(kind) * 255) == "mask"
    negative = np.where(dusty, 255, -1).astype(np.int16)
    assert content_of(negative) == "mask"
    assert content_of(np.where(dusty, np.arange(dusty.size).reshape(dusty.shape) % 200, 0).astype(kind)) == "grey"
    found, _ = as_labels(dusty.astype(kind) * 255, insist=True)
    assert np.array_equal(found, dusty)


def test_a_tiling_without_background_is_labels():
    rows, columns = np.indices((40, 40)) // 10
    assert content_of(rows * 4 + columns + 1) == "labels"


def test_color_fractional_and_constant_images_are_not_labels():
    assert content_of(np.zeros((5, 5, 3), np.uint8)) == "grey"
    assert content_of(np.full((5, 5), 0.5)) == "grey"
    assert content_of(np.full((5, 5), 7)) == "grey"
    assert content_of(np.full((5, 5), np.nan)) == "grey"


def test_the_components_of_classes_are_objects():
    plane = np.where(labels() % 2, 1, 2) * (labels() > 0)
    assert objects_of_classes(plane).max() == 9
    assert objects_of_classes(plane, [1]).max() == 5
    with pytest.raises(ValueError, match="no class 3: the classes are 1, 2"):
        objects_of_classes(plane, [3])
    with pytest.raises(ValueError, match="plane of integers"):
        objects_of_classes(plane + 0.5)


def test_negative_labels_are_background_and_counted():
    plane = labels() - 1
    plane[0:3] = -2
    ensemble = extract_curves(plane)
    assert len(ensemble) == 8
    assert ensemble.dropped == {NEGATIVE: 2}
    found, note = as_labels(plane)
    assert found.min() == 0
    assert "pixels with negative labels are treated as background" in note


def test_labels_starting_at_0_are_reported_with_the_remedy():
    plane = labels().astype(int) - 1
    remedy = "labels -1 and 0, taken as background: where 0 is an object, add 1 to all labels"
    assert {str(key): count for key, count in extract_curves(plane).dropped.items()} == {remedy: 1}
    assert remedy in as_labels(plane)[1]
    assert remedy in as_labels(plane, insist=True)[1]
    assert not extract_curves(plane + 1).dropped


def test_the_users_choice_has_priority():
    grey = np.random.default_rng(0).integers(0, 200, (40, 40))
    with pytest.raises(ValueError, match="are gray levels, not labels: omit --labels"):
        as_labels(grey, insist=True)
    assert as_labels(grey)[0] is None
    assert as_labels(labels(), insist=False)[0] is None
    assert as_labels(labels() > 0)[0] is None  # a mask is segmented, which only changes objects at the border
    assert as_labels(labels() * 1, insist=True)[1] == ""


def test_few_gray_levels_declared_as_labels_are_doubted_and_refused_beside_labels():
    grey = np.random.default_rng(0).integers(0, 16, labels().shape)  # as a photograph saved with 16 gray levels
    found, note = as_labels(grey, insist=True)
    assert found is grey
    assert note.endswith("as a gray image does: omit --labels to segment it")
    refuse_grey(grey)
    refuse_grey(grey, grey + 0.5)
    with pytest.raises(ValueError, match="labels as the image: exchange the two"):
        refuse_grey(grey, labels())


def test_all_shared_images_are_recognized(shared_data):
    """Every label image and micrograph of the shared sets, without false recognition."""
    for folder in ("segmentation", "mask_corrections"):
        for path in sorted((shared_data / folder).glob("*.png")):
            kind = content_of(imread(path))
            assert kind == ("grey" if path.stem.endswith("image") else "labels"), path.name
    for path in sorted((shared_data / "uhcs_spheroidite").glob("*.png")):
        assert content_of(imread(path)) == ("grey" if path.stem.endswith("image") else "mask"), path.name


def test_own_images_are_recognized(real_data):
    assert content_of(imread(real_data / "dsb_nuclei" / "image.png")) == "grey"
    assert content_of(imread(real_data / "dsb_nuclei" / "labels.png")) == "labels"
    assert content_of(imread(real_data / "ebsd_sdss" / "phase.png")) in ("classes", "mask")
    pair = samples.powder()
    assert [content_of(image) for image in (pair.a, pair.b)] == ["grey", "grey"]


def figure(thick=1):
    """A noisy gray micrograph with the outlines of nine objects drawn in yellow."""
    rng, plane = np.random.default_rng(0), labels()
    grey = np.clip(rng.normal(90, 25, plane.shape) + 60 * (plane > 0), 0, 255).astype(np.uint8)
    drawn = np.stack([grey] * 3, axis=-1)
    edge = (plane > 0) & ~ndimage.binary_erosion(plane > 0, iterations=thick)
    drawn[edge] = (255, 230, 0)
    return drawn


def test_outlines_drawn_on_a_figure_are_rejected_with_the_remedy():
    for thick in (1, 2):
        assert drawn_outlines(figure(thick)) == 9
    with pytest.raises(ValueError, match="9 closed colored lines are drawn on a gray image"):
        as_labels(figure())
    assert as_labels(figure(), insist=False) == (None, "")


def test_other_color_images_have_no_drawn_outlines():
    rng, plane = np.random.default_rng(0), labels() > 0
    fluorescence = np.zeros((*plane.shape, 3), np.uint8)
    fluorescence[plane, 1] = rng.integers(100, 255, plane.sum())
    stained = rng.integers(120, 250, (*plane.shape, 3)).astype(np.uint8)
    grey = figure()[..., :1].repeat(3, axis=2)
    bar = grey.copy()
    bar[-8:-5, 5:30] = (255, 0, 0)  # a scale bar
    for image in (fluorescence, stained, grey, bar, grey[..., 0], fluorescence.astype(float)):
        assert drawn_outlines(image) == 0


def test_drawn_outlines_are_recognized_in_a_jpeg(tmp_path):
    imwrite(tmp_path / "x.jpg", figure().repeat(4, axis=0).repeat(4, axis=1), quality=75)
    assert drawn_outlines(imread(tmp_path / "x.jpg")) >= 3
