"""Objects learned from painted examples: results, saving, rejection of bad input, and accuracy on real images."""

import pickle
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from skimage.io import imread

from napari_shape_ensembles import ObjectModel, Outlines, learn_objects, match_labels, segment
from napari_shape_ensembles.io import load_settings, read_folder, save_settings
from napari_shape_ensembles.outlines.learned import PixelFeatures


def discs(side=160, spacing=40, radius=11, noise=0.1, seed=0, dark=False):
    """Return a noisy image of disks on a grid, and their labels."""
    rows, columns = np.indices((side, side))
    truth = (rows // spacing) * (side // spacing) + columns // spacing + 1
    truth[np.hypot(rows % spacing - spacing / 2, columns % spacing - spacing / 2) > radius] = 0
    image = np.where(truth > 0, 1.0, 0.0) + np.random.default_rng(seed).normal(0, noise, truth.shape)
    return -image if dark else image, truth


def first(truth, count):
    return np.where(truth <= count, truth, 0)


@cache
def four_painted(dark):
    """An image, its labels, and a model trained on four of its objects."""
    image, truth = discs(dark=dark)
    return image, truth, learn_objects(image, first(truth, 4))


def test_a_saved_or_pickled_model_of_all_objects_gives_the_same_labels(tmp_path):
    image, truth = discs()
    model = learn_objects(image, truth)
    model.save(tmp_path / "model.npz")
    labels = model.labels(image)
    for other in (ObjectModel.load(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.labels(image), labels)


@pytest.mark.parametrize("dark", [True, False])
def test_objects_like_the_painted_ones_are_found(dark):
    image, truth, model = four_painted(dark=dark)
    matching = match_labels(truth, model.labels(image), min_iou=0.8)
    assert len(matching.pairs) == truth.max()
    assert not matching.only_b


def test_one_kind_of_object_is_found_among_others():
    """Disks of two sizes; only large ones were painted."""
    large, truth = discs(radius=14)
    small, others = discs(radius=4)
    rows, columns = np.indices(truth.shape) // 40
    image = np.where((rows * 4 + columns) % 2 == 1, small, large)
    truth = np.where(truth % 2 == 1, truth, 0)
    painted = np.where(np.isin(truth, (1, 3, 5, 7)), truth, 0)
    background = (others > 0) & (others <= 8) & (others % 2 == 0)
    found = learn_objects(image, painted, background=background).labels(image)
    matching = match_labels(truth, found, min_iou=0.7)
    assert len(matching.pairs) == len(np.unique(truth)) - 1
    assert len(matching.only_b) == 0


def test_touching_objects_are_separated_by_the_size_of_the_examples():
    rows, columns = np.indices((120, 200))
    truth = np.zeros(rows.shape, dtype=int)
    for label, (row, column) in enumerate([(30, 30), (30, 90), (30, 150), (85, 40), (85, 59), (85, 140), (85, 159)], 1):
        truth[(np.hypot(rows - row, columns - column) < 10) & (truth == 0)] = label
    image = 100.0 * (truth > 0) + np.random.default_rng(1).normal(0, 5, truth.shape)
    found = learn_objects(image, first(truth, 3)).labels(image)
    assert len(match_labels(truth, found, min_iou=0.7).pairs) == 7


def test_results_are_reproducible_and_precomputed_features_change_nothing(small):
    image, painted, model, labels = small
    features = PixelFeatures.of(image)
    again = learn_objects(features, painted, random_state=0)
    assert model == again
    assert hash(model) == hash(again)
    assert np.array_equal(labels, again.labels(features))
    assert model != learn_objects(image, painted, random_state=6)


def test_fewer_training_pixels_find_the_same_objects(known):
    image, truth, model, labels = known
    quick = learn_objects(image, first(truth, 4), max_pixels=300)
    assert np.bincount(quick.classes).max() <= 300 + 1.2 * 300  # of the background, random pixels too
    assert len(quick.classes) < len(model.classes)
    assert len(match_labels(labels, quick.labels(image)).pairs) == labels.max()


@pytest.fixture(scope="module")
def known():
    """An image, its labels, a model trained on four of its objects, and the labels it finds."""
    image, truth, model = four_painted(dark=False)
    return image, truth, model, model.labels(image)


@pytest.fixture(scope="module")
def small():
    """A small image, the painted labels, a model trained on them, and the labels it finds."""
    image, truth = discs(side=80)
    painted = first(truth, 2)
    model = learn_objects(image, painted)
    return image, painted, model, model.labels(image)


@given(gain=st.floats(0.01, 1000), shift=st.floats(-1000, 1000))
@settings(max_examples=5)
def test_invariance_to_brightness_and_contrast(small, gain, shift):
    image, _, model, found = small
    assert match_labels(model.labels(image * gain + shift), found).pairs["iou"].min() > 0.95


def test_a_draft_is_similar(known):
    image, _, model, labels = known
    draft = model.labels(image, step=2)
    assert draft.shape == image.shape
    assert match_labels(labels, draft).pairs["iou"].min() > 0.75
    with pytest.raises(ValueError, match="step must be an integer"):
        model.labels(image, step=0)


def test_a_model_trained_on_several_images_records_them():
    (one, truth), (other, _) = discs(seed=0), discs(seed=1, noise=0.3)
    model = learn_objects([one, other], [first(truth, 2), first(truth, 3)], names=["a", "b"])
    assert [(item.name, item.objects) for item in model.sources] == [("a", 2), ("b", 3)]
    assert model.sources[0].digest == PixelFeatures.of(one).digest
    for image in (one, other):
        assert len(match_labels(truth, model.labels(image)).pairs) == truth.max()


def test_a_saved_model_round_trips_without_pickle(known, tmp_path):
    image, _, model, labels = known
    path = tmp_path / "objects.npz"
    model.save(path)
    loaded = ObjectModel.load(path)
    assert loaded == model
    assert loaded.sources == model.sources
    assert loaded.versions == model.versions
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.labels(image), labels)
    with np.load(path, allow_pickle=False) as arrays:
        assert set(arrays.files) >= {"features", "classes", "areas"}
        assert all(arrays[name].dtype != object for name in ("features", "classes", "areas"))


def test_a_damaged_or_foreign_file_is_rejected_with_its_name(known, tmp_path):
    path = tmp_path / "objects.npz"
    np.savez(path, features=np.ones(3))
    with pytest.raises(ValueError, match=r"objects\.npz.*object-model"):
        ObjectModel.load(path)
    model = known[2]
    from napari_shape_ensembles.archive import write_archive

    tree = {"features": model.features[:5], "classes": model.classes, "areas": model.areas, "seed": 0}
    write_archive(path, "object-model", 1, tree | {"sources": [], "versions": {}})
    with pytest.raises(ValueError, match="examples are not valid training examples"):
        ObjectModel.load(path)


def test_a_recipe_accepts_a_model_or_its_file(known, tmp_path):
    image, truth, model, labels = known
    path = tmp_path / "objects.npz"
    model.save(path)
    assert np.array_equal(Outlines(find=model).labels(image), labels)
    assert np.array_equal(segment(image, find=str(path)), labels)
    assert len(Outlines(find=model)(image)) == truth.max()
    save_settings(tmp_path / "settings.toml", Outlines(find=str(path)))
    kept = load_settings(tmp_path / "settings.toml").outlines
    assert kept == Outlines(find=str(path))
    assert np.array_equal(kept.labels(image), labels)
    with pytest.raises(ValueError, match=r"find is ObjectModel.*save it to a file and give its path"):
        save_settings(tmp_path / "other.toml", Outlines(find=model))


def test_a_segmentation_function_is_accepted_and_validated():
    image, truth = discs()
    assert np.array_equal(Outlines(find=lambda pixels: truth).labels(image), truth)
    with pytest.raises(ValueError, match="segmenter broken failed: RuntimeError: no weights"):
        segment(image, find=broken)
    with pytest.raises(ValueError, match="returned float64 of shape"):
        segment(image, find=lambda pixels: pixels)
    with pytest.raises(ValueError, match="returned labels from -1"):
        segment(image, find=lambda pixels: truth - 1)


def broken(image):
    raise RuntimeError("no weights")


def test_an_installed_segmenter_is_found_by_name(tmp_path, monkeypatch):
    """A package with an entry point, as installed by a user."""
    package = tmp_path / "bright_things-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: bright-things\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(
        "[napari_shape_ensembles.segmenters]\nbright = bright_things:find\ncellpose = bright_things:find\n"
        "gone = not_there:find\n"
        "number = bright_things:NUMBER\n"
    )
    (tmp_path / "bright_things.py").write_text(
        "from scipy import ndimage\nNUMBER = 3\n\ndef find(image):\n    return ndimage.label(image > 0.5)[0]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    image, truth = discs(noise=0)
    assert len(match_labels(truth, segment(image, find="bright"), min_iou=1).pairs) == truth.max()
    np.save(tmp_path / "image.npy", image)
    for name in ("bright", "cellpose"):  # the second without a Python of its own
        assert len(read_folder(tmp_path / "image.npy", outlines=Outlines(find=name))[0]) == truth.max()
    with pytest.raises(ValueError, match="segmenter gone cannot be loaded: ModuleNotFoundError"):
        segment(image, find="gone")
    with pytest.raises(ValueError, match="segmenter number is int, not a function"):
        segment(image, find="number")
    with pytest.raises(ValueError, match="'ilastik' is neither the file of a model nor a segmenter: installed are br"):
        segment(image, find="ilastik")


def test_an_image_and_painted_objects_in_the_wrong_order_are_refused():
    image, truth = discs()
    with pytest.raises(ValueError, match="gray levels are given as labels, and labels as the image: exchange the two"):
        learn_objects(first(truth, 3), image)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"painted": np.zeros((160, 160), int)}, "no object is painted"),
        ({"painted": np.ones((16, 16), int)}, r"painted labels of shape \(16, 16\) on an image of \(160, 160\)"),
        ({"painted": np.ones((160, 160))}, "painted objects must be a plane of integers"),
        ({"background": np.ones((160, 160), bool)}, "painted as object and as background"),
        ({"painted": np.ones((160, 160), int)}, "no background is left beside"),
        ({"images": np.full((160, 160), 3.0)}, "every pixel is 3"),
        ({"images": np.full((160, 160, 3), 3, np.uint8)}, "every pixel is 3"),
        ({"images": np.zeros((160, 160), bool)}, "every pixel is 0"),
        ({"images": np.ma.array(np.eye(160), mask=np.eye(160) > 0)}, "160 values of the image are masked"),
        ({"images": np.full((160, 160), np.nan)}, "NaN or infinite"),
        ({"images": [np.eye(160)], "painted": []}, "1 images need as many planes of painted objects"),
        ({"max_pixels": 0}, "max_pixels must be an integer of 1 or more, not 0"),
    ],
)
def test_invalid_training_data_are_rejected(changes, words):
    image, truth = discs()
    given = {"images": image, "painted": first(truth, 3), **changes}
    with pytest.raises(ValueError, match=words):
        learn_objects(given.pop("images"), given.pop("painted"), **given)


def test_a_color_image_needs_a_model_trained_on_color(known):
    image, truth, model, labels = known
    colours = np.stack([image, -image, image * 0.5], axis=-1)
    with pytest.raises(ValueError, match="learned from gray images, and this one is color"):
        model.labels(colours)
    assert np.array_equal(model.labels(np.stack([image] * 3, axis=-1)), labels)
    assert len(match_labels(truth, learn_objects(colours, first(truth, 3)).labels(colours)).pairs) == truth.max()


@pytest.mark.parametrize(("radius", "spacing"), [(5, 20), (22, 70)])
def test_objects_of_another_size_are_found_in_another_image(radius, spacing):
    _, _, model = four_painted(dark=False)
    other, wanted = discs(side=4 * spacing, spacing=spacing, radius=radius, seed=3)
    matching = match_labels(wanted, model.labels(other), min_iou=0.7)
    assert len(matching.pairs) == wanted.max()
    assert not matching.only_b


DISC = np.hypot(*(np.indices((48, 48)) - 24)) < 9


@pytest.mark.parametrize(
    "image",
    [
        DISC,
        np.where(DISC, 255, np.clip(np.random.default_rng(0).normal(240, 10, DISC.shape), 0, 255)).astype(np.uint8),
        DISC * 1e300,
        DISC * 1e-300,
        np.where(DISC, np.uint64(2**63), np.uint64(0)),
        np.stack([200 * DISC, 90 * DISC, 250 * ~DISC, 0 * DISC + 255], axis=-1).astype(np.uint8),
    ],
    ids=["mask", "saturated", "huge", "tiny", "large numbers", "RGBA"],
)
@pytest.mark.filterwarnings("error")
def test_one_object_is_learned_for_any_range_of_values(image):
    model = learn_objects(image, DISC.astype(int))
    for step in (1, 2):
        assert len(match_labels(DISC.astype(int), model.labels(image, step=step), min_iou=0.8).pairs) == 1
    assert len(match_labels(DISC.astype(int), segment(image, method="auto"), min_iou=0.8).pairs) == 1


@pytest.mark.parametrize("shape", [(8, 8), (3, 3), (2, 9), (1, 50)])
@pytest.mark.filterwarnings("error")
def test_tiny_images(shape):
    image = np.random.default_rng(0).normal(size=shape)
    painted = np.zeros(shape, dtype=int)
    painted[:2, :2] = 1
    assert learn_objects(image, painted).labels(image).shape == shape
    assert segment(image, method="auto").shape == shape


def test_the_border_is_not_learned_as_an_edge():
    image, truth = discs()
    half, known = image[20:], truth[20:]
    model = learn_objects(half, np.where(known <= 4, known, 0))
    found = model.labels(half)
    assert len(match_labels(known, found, min_iou=0.7).pairs) == len(np.unique(known)) - 1


def test_five_painted_nuclei_suffice_to_find_the_others(shared_data):
    """Nuclei on a dark background: most of the others are found, at an IoU of 0.5."""
    folder = shared_data / "segmentation"
    image, truth = imread(folder / "06_image.png"), imread(folder / "06_labels.png").astype(int)
    rng = np.random.default_rng(0)
    chosen = rng.choice(np.unique(truth[truth > 0]), 5, replace=False)
    found = learn_objects(image, np.where(np.isin(truth, chosen), truth, 0)).labels(image)
    rest = np.where(np.isin(truth, chosen), 0, truth)
    count = len(np.unique(rest)) - 1
    assert len(match_labels(rest, found).pairs) >= 0.85 * count
    assert ndimage.label(found > 0)[1] <= 1.3 * (count + 5)


def test_all_of_the_background_may_be_painted():
    painted = np.zeros((60, 60), int)
    painted[20:40, 20:40] = 1
    image = 9.0 * painted + np.random.default_rng(0).normal(size=painted.shape)
    assert len(np.unique(learn_objects(image, painted, background=painted == 0).labels(image))) == 2
