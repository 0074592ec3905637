"""The four simulated pairs, and the functions that generate them."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import distance_transform_edt, label
from scipy.stats import binom
from skimage.segmentation import find_boundaries

from napari_shape_ensembles import Ensemble, Settings, compare, decompose, explain, samples, segment, to_landmarks
from napari_shape_ensembles.comparison.answer import differing
from napari_shape_ensembles.samples import synthetic

ROWS = {
    samples.simulated_fields: "1∧1",
    samples.simulated_sieving: "1∧0",
    samples.simulated_treatment: "0∧1",
    samples.simulated_rolling: "0∧0",
}
STORED = Path(__file__).parents[2] / "docs" / "results" / "simulated.json"
# Quantities that differ, and the expected sentence.
DIFFERENCES = {
    samples.simulated_fields: ((), "No difference was detected"),
    samples.simulated_sieving: (("size",), "B's outlines are more varied in size"),
    # Coordinates of the coarse form hold the finer waves as well.
    samples.simulated_treatment: (("coarse form", "roughness", "concavity"), "B's outlines are rougher"),
    samples.simulated_rolling: (
        ("elongation", "coarse form", "roughness", "concavity"),
        "B's outlines are more elongated",
    ),
}
# Module scope keeps the tests of a sample together, so that a single worker process simulates it.
each_sample = pytest.mark.parametrize("sample", ROWS, ids=lambda sample: sample.__name__, scope="module")


@cache
def drawn(sample):
    return sample()


@cache
def outlines(sample):
    """Both ensembles of a sample, with default settings throughout."""
    return drawn(sample).ensembles()


@cache
def compared(sample):
    return compare(*outlines(sample))


@each_sample
def test_a_pair_is_two_images_of_equal_pixel_size_in_micrometers(sample):
    pair = drawn(sample)
    assert pair.kind == "image"
    assert pair.a.shape == pair.b.shape == (1024, pair.width)
    assert (pair.unit, pair.source, pair.licence) == ("µm", "simulated", "")
    assert pair.pixel_size < 2
    assert pair.names[0] != pair.names[1]


@each_sample
def test_a_pair_states_that_it_is_simulated_but_not_the_result(sample):
    pair = drawn(sample)
    assert pair.title.startswith("Simulated: ")
    assert all(name.startswith("Simulated ") for name in pair.names)
    assert not any(word in pair.title for word in ("differ", "∧", "undulation", "scale"))


@each_sample
def test_a_sample_is_reproducible_and_depends_on_its_seed(sample):
    one, again, other = sample(0, side=256), sample(side=256), sample(1, side=256)
    assert one.a.shape == one.b.shape == (256, 256)
    np.testing.assert_array_equal(one.a, again.a)
    np.testing.assert_array_equal(one.b, again.b)
    assert not np.array_equal(one.a, other.a)


@each_sample
def test_an_image_without_room_for_objects_is_refused(sample):
    assert sample(side=128).a.shape == (128, 128)
    with pytest.raises(ValueError, match="side 127"):
        sample(side=127)


@each_sample
def test_gray_levels_and_noise_are_equal_in_both_images(sample):
    dark, bright, noise = np.transpose([_levels(image) for image in (drawn(sample).a, drawn(sample).b)])
    np.testing.assert_allclose(dark[1], dark[0], rtol=0.05)
    np.testing.assert_allclose(bright[1], bright[0], rtol=0.03)
    np.testing.assert_allclose(noise[1], noise[0], rtol=0.05)


def _levels(image):
    objects = segment(image, split_touching=False) > 0
    depth = distance_transform_edt(objects)
    far = (depth > 6) & (depth < 12)
    neighbours = far[:, 1:] & far[:, :-1]
    steps = np.diff(image.astype(float), axis=1)[neighbours]
    return np.median(image[~objects]), np.median(image[far]), steps.std()


@each_sample
def test_nearly_every_object_is_found(sample):
    for ensemble in outlines(sample):
        area = ensemble.features["area"]
        assert 150 < len(ensemble) < 400
        assert (area < np.median(area) / 8).sum() <= 3


@pytest.mark.parametrize("seed", [0, 1])
@each_sample
def test_the_default_settings_give_the_row_that_the_page_counts(sample, seed):
    """Nearly always that of the sample: at a level of 0.05 not with every seed, and the page says with which not."""
    stored = {found["sample"]: found["rows"] for found in json.loads(STORED.read_text(encoding="utf-8")).values()}
    rows = stored[sample.__name__]
    assert sum(row != ROWS[sample] for row in rows) <= binom.isf(0.001, len(rows), 0.05)
    found = compared(sample) if seed == 0 else compare(*sample(seed).ensembles())
    assert found.case == rows[seed]


@each_sample
def test_p_values_of_the_first_pair_are_far_from_the_level(sample):
    verdict = compared(sample)
    assert verdict.case == ROWS[sample]
    for test in (verdict.undulation, verdict.scale):
        assert test.p_value <= 0.003 or test.p_value > 0.05


@each_sample
def test_only_the_simulated_difference_is_reported(sample):
    named, words = DIFFERENCES[sample]
    found = compared(sample)
    assert (*differing(found.scale), *differing(found.undulation)) == named
    assert words in " ".join(explain(found).sentences())


@pytest.mark.parametrize(("seed", "archetype"), [(1, "random"), (3, "mean")])
@each_sample
def test_the_row_is_independent_of_the_archetype(sample, seed, archetype):
    settings = Settings(landmarks=100, seed=seed, archetype=archetype, permutations=499)
    assert compare(*outlines(sample), settings).case == ROWS[sample]


@pytest.mark.parametrize("roughness", [0.0, 0.016, 0.05])
def test_shapes_have_unit_scale_for_any_roughness(roughness):
    forms = synthetic.draw_forms(np.random.default_rng(3), 20, roughness=roughness, waves=(6, 14))
    _, scale = decompose(to_landmarks(Ensemble(forms)))
    np.testing.assert_allclose(scale, np.broadcast_to(np.eye(2), scale.shape), atol=2e-3)


def test_scales_have_the_requested_size_and_elongation():
    scales = synthetic.draw_scales(np.random.default_rng(3), 4000, size=16, spread=0.1, elongation=1.4)
    extents = np.linalg.eigvalsh(scales)
    np.testing.assert_allclose(np.median(np.sqrt(extents.prod(axis=1))), 16, rtol=0.01)
    np.testing.assert_allclose(np.median(extents[:, 1] / extents[:, 0]), 1.4, rtol=0.01)
    np.testing.assert_allclose(scales, scales.swapaxes(1, 2))


def test_scattered_objects_keep_their_area_and_minimum_distance():
    rng = np.random.default_rng(3)
    discs = 10 * np.sqrt(2) * synthetic.draw_forms(rng, 12, roughness=0, waves=(6, 7))
    coverage, numbers = synthetic.scatter(rng, discs, (300, 300), gap=6)
    for number in np.unique(numbers[numbers > 0]):
        here = numbers == number
        assert label(here)[1] == 1
        others = (numbers > 0) & ~here
        assert distance_transform_edt(~others)[here].min() > 6
        if not here[[0, -1]].any() and not here[:, [0, -1]].any():
            area = Ensemble([discs[number - 1]]).features["area"].item()
            np.testing.assert_allclose(coverage[here].sum(), area, rtol=0.01)


def test_a_crowded_image_is_rejected():
    rng = np.random.default_rng(3)
    forms = 20 * synthetic.draw_forms(rng, 40, roughness=0, waves=(6, 7))
    with pytest.raises(ValueError, match="no room left"):
        synthetic.scatter(rng, forms, (100, 100))


def test_distances_in_a_stretched_tiling():
    distance, grain = synthetic.tile(np.random.default_rng(3), (300, 300), spacing=50, waviness=0, stretch=(0.8, 1.25))
    seen = distance_transform_edt(~find_boundaries(grain, mode="thick")) + 0.5
    inner = (slice(20, -20), slice(20, -20))  # nearer to the border, a boundary may lie outside the image
    wrong = np.abs(distance - seen)[inner][distance[inner] < 8] > 1
    assert wrong.mean() < 0.005
    assert 300**2 / 50**2 < len(np.unique(grain)) < 340**2 / 44**2


def test_a_random_field_has_mean_0_and_variance_1():
    field = synthetic.random_field(np.random.default_rng(3), (128, 96), wavelength=10)
    assert field.shape == (128, 96)
    np.testing.assert_allclose([field.mean(), field.std()], [0, 1], atol=1e-12)


def test_an_exposure_ranges_from_dark_to_saturated():
    rng = np.random.default_rng(3)
    dark, full = (synthetic.expose(rng, np.full((200, 200), light), photons=400, shading=0) for light in (0, 1))
    assert dark.dtype == full.dtype == np.uint16
    np.testing.assert_allclose(full.mean(), 3500, rtol=0.01)
    assert 90 < dark.mean() < 120
    np.testing.assert_allclose(full.std(), 3400 / 400 * np.sqrt(400 + 25), rtol=0.05)
