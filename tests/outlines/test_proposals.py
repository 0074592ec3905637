"""Recipes proposed without reference labels: ranking, fixed parameters, and the automatic method."""

from functools import cache

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from napari_shape_ensembles import Outlines, match_labels, propose, samples, segment
from napari_shape_ensembles.outlines.proposals import (
    best_recipe,
    candidate_examples,
    describe_finding,
    distinguishing_descriptions,
    opposite_contrast,
    places_tried,
    varied,
)


def discs(side=120, spacing=40, radius=11, noise=5.0, seed=0, bright=False):
    rows, columns = np.indices((side, side))
    truth = (rows // spacing) * (side // spacing) + columns // spacing + 1
    truth[np.hypot(rows % spacing - spacing / 2, columns % spacing - spacing / 2) > radius] = 0
    grey = np.where((truth > 0) == bright, 200, 60)
    return np.clip(grey + np.random.default_rng(seed).normal(0, noise, truth.shape), 0, 255).astype(np.uint8), truth


@cache
def proposed(bright=False):
    """Proposals for dark or bright disks, shared by all tests."""
    return propose(discs(bright=bright)[0], Outlines())


@pytest.mark.parametrize("bright", [True, False])
def test_bright_or_dark_objects_are_recognized(bright):
    image, truth = discs(bright=bright)
    best = proposed(bright)[0]
    assert best.recipe.objects == ("bright" if bright else "dark")
    assert len(match_labels(truth, segment(image, method="auto"), min_iou=0.8).pairs) == truth.max()


def test_dark_objects_under_uneven_illumination_are_found():
    image, truth = discs()
    uneven = image + np.linspace(0, 250, image.shape[1])
    assert len(match_labels(truth, segment(uneven, method="auto"), min_iou=0.7).pairs) == truth.max()


def test_proposals_are_ranked_and_differ():
    image, _ = discs(noise=30)
    found = propose(image)
    scores = [item.score for item in found]
    assert len(found) > 3
    assert scores == sorted(scores, reverse=True)
    assert len({item.labels.tobytes() for item in found}) == len(found)
    assert len(set(distinguishing_descriptions([item.recipe for item in found]))) == len(found)
    for item in found:
        assert item.labels.shape == item.thumbnail.shape
        assert {"closed", "round", "repeatable"} <= set(item.measures)
        assert all(0 <= value <= 1.2 for value in item.measures.values())


def test_measurements_of_perfect_outlines():
    """Nine disks on a uniform background, found by nearly all recipes; then some of them cut by the border."""
    image, truth = discs(side=120, noise=0.0)
    best = propose(image)[0]
    measures = best.measures
    assert measures["closed"] == 1
    assert measures["covered"] == pytest.approx((truth > 0).mean(), rel=0.1)
    assert measures["specks"] == 0
    assert measures["round"] > 0.9
    assert measures["repeatable"] > 0.8
    cut = propose(image[20:, 20:])[0]
    areas = np.bincount(cut.labels.ravel())[1:]
    inner = np.setdiff1d(np.unique(cut.labels), np.concatenate([cut.labels[0], cut.labels[:, 0]]))
    assert cut.measures["closed"] == pytest.approx(areas[inner - 1].sum() / areas.sum())


def test_nuclei_within_dark_cells_are_proposed():
    """Dark nuclei in cells that are also darker than the background."""
    (_, truth), (_, cells) = (discs(side=180, spacing=60, radius=radius) for radius in (8, 24))
    grey = 220 - 50.0 * (cells > 0) - 90 * (truth > 0) + np.random.default_rng(0).normal(0, 4, truth.shape)
    proposals = propose(grey)
    shown = varied(proposals, 6)
    assert shown[0] is proposals[0]
    for wanted in (truth, cells):
        assert max(len(match_labels(wanted, item.labels, min_iou=0.7).pairs) for item in shown) == wanted.max()
    assert len(varied(proposals, len(proposals))) == len(proposals)


def test_a_proposal_matches_its_recipe():
    image, _ = discs()
    for item in proposed()[:3]:
        assert np.array_equal(segment(image, item.recipe), item.labels)


def test_dim_nuclei_are_found_beside_a_few_bright_ones():
    """Bright nuclei have the strongest edges, and many recipes agree on them alone."""
    image, truth = samples.nuclei().a, samples.nuclei_labels().a
    best = propose(image)[0]
    found = len(match_labels(truth, segment(image, best.recipe)).pairs)
    assert found > 0.6 * len(np.unique(truth[truth > 0]))


def test_tracing_and_cleaning_parameters_are_kept():
    image, _ = discs()
    given = Outlines(min_area=80, keep_border=True, fill_holes=False, pixel_size=0.5, unit="µm", outline_smoothing=2)
    best = propose(image, given)[0].recipe
    assert isinstance(best, Outlines)
    for name in ("min_area", "keep_border", "fill_holes", "pixel_size", "unit", "outline_smoothing"):
        assert getattr(best, name) == getattr(given, name)


def test_a_large_image_is_tried_at_lower_resolution():
    image, truth = (plane[:300] for plane in discs(side=1400, spacing=100, radius=30))
    best = propose(image)[0]
    assert max(best.thumbnail.shape) <= 360
    assert best.recipe.smoothing == 2.0
    assert len(match_labels(truth, segment(image, best.recipe), min_iou=0.8).pairs) == truth.max()


def test_small_objects_of_a_large_image_are_found_at_full_resolution():
    """At a third of the resolution, disks with a radius of 7 pixels are smaller than the noise filter."""
    image, truth = discs(side=280, spacing=35, radius=7)
    best = propose(np.tile(image, (10, 10)))[0]
    assert best.recipe.smoothing == 1.0
    assert len(match_labels(truth, segment(image, best.recipe), min_iou=0.7).pairs) == truth.max()


def test_a_narrow_strip_is_tried():
    strip = np.tile(discs()[0][18:21], 40)
    assert propose(strip)[0].thumbnail.shape[0] == 3


def test_recipes_for_very_wide_images_are_within_the_allowed_range():
    strip = np.tile(discs()[0][:40], 450)
    found = propose(strip)
    assert strip.shape[1] / 1300 > 5000 / 121  # unclipped, the widest window would be rejected
    assert found[0].recipe(strip)


def test_a_mask_is_unchanged():
    _, truth = discs()
    assert np.array_equal(segment(truth > 0, method="auto"), segment(truth > 0))


@pytest.mark.parametrize("kind", ["8 bits", "inverted", "two grays", "colors", "compressed", "enlarged"])
def test_a_mask_saved_as_an_image_keeps_the_size_of_its_objects(kind, tmp_path):
    _, truth = discs()
    mask = np.uint8(255) * (truth > 0)
    if kind == "compressed":
        Image.fromarray(mask).save(tmp_path / "mask.jpg", quality=80)
    image = {
        "8 bits": lambda: mask,
        "inverted": lambda: 255 - mask,
        "two grays": lambda: mask // 4 + 64,
        "colors": lambda: np.dstack([mask, 0 * mask, 0 * mask]),
        "compressed": lambda: np.asarray(Image.open(tmp_path / "mask.jpg")),
        "enlarged": lambda: ndimage.zoom(mask, 2, order=1),
    }[kind]()
    found = np.bincount(segment(image, method="auto").ravel())[1:]
    expected = np.bincount(segment(truth > 0).ravel())[1:] * (4 if kind == "enlarged" else 1)
    np.testing.assert_allclose(np.median(found), np.median(expected), rtol=0.02)


def test_dim_objects_beside_bright_ones_are_no_mask():
    image, truth = discs(side=240, noise=0, bright=True)
    dim = image.copy()
    dim[(truth > 0) & (truth % 6 == 0)] = 110
    methods = {proposal.recipe.method for proposal in propose(dim)}
    assert len(methods) > 1
    assert {proposal.recipe.method for proposal in propose(image)} == {"otsu"}


def test_a_constant_image_is_rejected_and_noise_is_not():
    with pytest.raises(ValueError, match="every pixel is 3"):
        propose(np.full((50, 50), 3))
    one_in_double = np.full((50, 50), 2**63, dtype=np.uint64)
    one_in_double[5, 5] += np.uint64(1)
    with pytest.raises(ValueError, match=r"every pixel is 9.22337e\+18"):
        propose(one_in_double)
    noise = np.random.default_rng(0).normal(size=(60, 60))
    with pytest.warns(UserWarning, match="these outlines are doubtful: compare them with the image, or learn from"):
        assert segment(noise, method="auto").shape == noise.shape


def test_what_is_drawn_on_an_image_is_not_tried():
    image, truth = discs(side=160, bright=True)
    image = np.concatenate([image, np.full((30, 160), 255, np.uint8)])
    image[168:182, 10:150:6] = 0  # strokes
    best = propose(image)[0]
    assert best.thumbnail.shape == truth.shape
    assert len(match_labels(truth, best.labels, min_iou=0.8).pairs) == truth.max()


def test_a_good_proposal_is_not_doubtful_and_candidates_are_whole_objects():
    image, truth = discs(side=160)
    proposals = propose(image)
    assert not proposals[0].is_doubtful
    assert proposals[0].expected > 0.9
    chosen = candidate_examples(image, proposals)
    assert chosen.max() == 5
    assert len(match_labels(truth, chosen, min_iou=0.8).pairs) == 5


def test_the_common_recipe_has_the_best_mean_score():
    """Disks on a uniform background and under uneven illumination: a recipe's score is the mean over both images."""
    bright, _ = discs(side=80, bright=True, noise=20)
    both = bright, np.clip(bright[::-1] + np.linspace(0, 120, 80), 0, 255)
    alone = [{item.recipe: item.score for item in propose(image)} for image in both]
    together = propose(list(both))
    known = [item for item in together if all(item.recipe in own for own in alone)]
    assert len(known) > 5
    for item in known:
        assert item.score == pytest.approx(np.mean([own[item.recipe] for own in alone]), rel=1e-12)
    assert together[0].score == max(item.score for item in together)
    assert together[0].thumbnail.shape == together[0].labels.shape == bright.shape
    assert np.array_equal(together[0].labels, segment(bright, together[0].recipe))
    again = propose(list(both[::-1]))[0]
    assert again.recipe == together[0].recipe
    assert again.score == pytest.approx(together[0].score, rel=1e-12)


def test_a_proposal_lists_the_images_with_objects():
    image, _ = discs(side=120)
    dot = np.zeros_like(image)
    dot[30, 30] = 100
    found = propose([image, dot])
    assert found[0].finds == (True, False)
    assert not any(proposal.finds[1] for proposal in found)  # background found as an object, cut by the border
    assert any(proposal.finds[1] for proposal in propose([image, dot], Outlines(keep_border=True)))
    dot_first = propose([dot, image])
    assert [proposal.labels.max() for proposal in dot_first].count(0) > 1
    assert varied(dot_first, 6)[0] is dot_first[0]


def test_the_common_recipe_ignores_masks_and_uses_a_subset_of_images():
    image, truth = discs(side=120)
    assert best_recipe([truth > 0, image], Outlines()) == proposed()[0].recipe
    assert best_recipe([truth > 0], Outlines(method="auto")) == Outlines()
    assert [places_tried(count) for count in (1, 4, 6, 11)] == [
        [0],
        [0, 1, 2, 3],
        [0, 1, 2, 3, 4, 5],
        [0, 2, 4, 6, 8, 10],
    ]


def test_a_blank_image_is_reported_and_ignored():
    image, _ = discs(side=120)
    blank = np.full((50, 50), 3)
    with pytest.raises(ValueError, match=r"^image 2 of 2: every pixel is 3"):
        propose([image, blank])
    assert best_recipe([blank, image], Outlines(method="auto")) == proposed()[0].recipe
    assert best_recipe([blank], Outlines(method="auto")) == Outlines()


def test_bright_and_dark_objects_are_noticed_where_one_recipe_has_to_find_both():
    image, _ = discs(side=120)
    names = ["a", "b"]
    assert opposite_contrast(propose([image, image // 2]), names) == ""
    words = opposite_contrast(propose([image, image.max() - image]), names)
    side = proposed()[0].recipe.objects
    one, other = ("a", "b") if side == "bright" else ("b", "a")
    assert words.startswith(f"objects are bright in {one}, but dark in {other}: ")


def test_a_recipe_is_described_briefly():
    assert describe_finding(Outlines(split_touching="none")) == "Otsu threshold, bright"
    assert (
        describe_finding(Outlines(method="li", objects="dark", split_touching="distance"))
        == "Li threshold, dark, split at necks"
    )


def test_recipes_of_one_method_are_described_by_their_differences():
    ways = [
        {"method": "local", "window": 31.0, "offset": 0.02},
        {"method": "local", "window": 31.0, "offset": 0.05},
        {"method": "local", "window": 61.0, "offset": 0.02},
        {"method": "multi-otsu", "classes": 3, "object_classes": 1},
        {"method": "multi-otsu", "classes": 3, "object_classes": 2},
        {"method": "hysteresis", "split_touching": "none"},
        {"method": "hysteresis", "split_touching": "intensity"},
        {"method": "otsu", "split_touching": "distance"},
    ]
    assert distinguishing_descriptions([Outlines(**way) for way in ways]) == [
        "local threshold, bright, window 31 px, offset 0.02, split at necks",
        "local threshold, bright, window 31 px, offset 0.05, split at necks",
        "local threshold, bright, window 61 px, offset 0.02, split at necks",
        "multi-Otsu classes, bright, 1 class of objects, split at necks",
        "multi-Otsu classes, bright, 2 classes of objects, split at necks",
        "hysteresis, bright, not split",
        "hysteresis, bright, split at dim saddles",
        "Otsu threshold, bright, split at necks",
    ]


def test_doubtful_objects_are_refined_by_learning_from_the_best_of_them():
    image, truth = discs(side=200, noise=200)
    best = propose(image)[0]
    assert best.recipe.refine
    assert best_recipe([image], Outlines(method="auto")) == best.recipe
    assert describe_finding(best.recipe).endswith(", refined by learning")
    plain, refined = (segment(image, best.recipe, refine=on) for on in (False, True))
    assert plain.max() > 1.5 * truth.max()  # some are noise
    assert len(match_labels(truth, refined).pairs) > 0.9 * truth.max()
    assert refined.max() < 1.1 * truth.max()
    assert np.array_equal(best.labels, refined)
    assert not proposed()[0].recipe.refine


def test_masks_and_tilings_are_not_refined():
    image, _ = discs(side=200)
    mask = np.where(segment(image, method="otsu", objects="dark", min_size=0) > 0, 255, 0).astype(np.uint8)
    for given, method in ((mask > 0, "otsu"), (mask, "otsu"), (image, "boundaries"), (image, "superpixels")):
        plain, refined = (segment(given, method=method, refine=on) for on in (False, True))
        assert np.array_equal(plain, refined)


def test_few_whole_objects_and_masks_are_not_refined():
    image, truth = discs(side=120, noise=80)
    few = image[:60]  # three whole objects
    assert np.array_equal(segment(few, objects="dark", refine=True), segment(few, objects="dark"))
    assert np.array_equal(segment(truth > 0, refine=True), segment(truth > 0))
