"""Explanations at the level of images: exact permutations of whole images, intervals over image means."""

import itertools

import numpy as np
import pytest

from napari_shape_ensembles import Ensemble, Settings, compare, explain
from napari_shape_ensembles.comparison.answer import differing as differing_parts
from napari_shape_ensembles.explanation.report import paragraphs
from napari_shape_ensembles.mmd.family import family_tests
from napari_shape_ensembles.samples.synthetic import draw_forms, draw_scales

QUICK = Settings(landmarks=60, rank=8, significance=0.05, permutations=199)


def image(rng, *, size=10.0, between=0.1, count=10, name=""):
    forms = draw_forms(rng, count, roughness=0.03, waves=(6, 10), vertices=60)
    return Ensemble(
        forms @ draw_scales(rng, count, size=size * np.exp(between * rng.normal()), spread=0.1, elongation=1.4),
        name=name,
        unit="µm",
    )


def sides(seed, m, n, factor=1.0, **more):
    rng = np.random.default_rng(seed)
    return [
        [image(rng, size=10 * f, name=f"{s}{i}", **more) for i in range(k)]
        for s, k, f in (("a", m, 1), ("b", n, factor))
    ]


def test_p_values_enumerate_all_labelings_of_images():
    rng = np.random.default_rng(0)
    counts = np.array([3, 5, 4, 6, 2, 7, 5])
    numbers = np.repeat(np.arange(7), counts)
    points = rng.normal(size=(len(numbers), 2)) + numbers[:, None] / 3
    first = int(counts[:3].sum())
    found = family_tests({"both": points, "one": points[:, 0]}, first, image=numbers)
    for place, x in enumerate((points, points[:, :1])):
        squares = ((x[:, None] - x[None]) ** 2).sum(axis=-1)
        width = np.median(np.sqrt(squares[np.triu_indices(len(x), 1)]))
        kernel = np.exp(-squares / (2 * width**2))
        between = np.array([[kernel[numbers == i][:, numbers == j].mean() for j in range(7)] for i in range(7)])
        for i, count in enumerate(counts):
            own = kernel[numbers == i][:, numbers == i]
            between[i, i] = (own.sum() - count) / (count * (count - 1))
        statistics = []
        for chosen in itertools.combinations(range(7), 3):
            weights = np.where(np.isin(np.arange(7), chosen), 1 / 3, -1 / 4)
            statistics.append(weights @ between @ weights)
        assert len(statistics) == 35
        assert found.p_values[place] == pytest.approx(np.mean(np.array(statistics) >= statistics[0] - 1e-10))


def test_one_curve_per_image_changes_only_the_unit():
    x = np.random.default_rng(1).normal(size=(8, 3))
    one = family_tests({"x": x}, 4, image=np.arange(8))
    other = family_tests({"x": x}, 4, permutations=20)
    np.testing.assert_allclose(one.mmd, other.mmd)
    assert one.p_values[0] * 70 == pytest.approx(round(one.p_values[0] * 70))


def test_an_explanation_names_the_replicated_unit():
    explanation = explain(compare(*sides(3, 5, 5, 1.4), QUICK))
    said = explanation.sentences()
    assert said[0].startswith("B's outlines are larger: 1.")
    assert "P-values and intervals are over images (5 and 5)" in " ".join(said)
    assert "whole images (5 and 5)" in paragraphs(explanation)[-1]
    least = 2 / 252
    families = (explanation.modes.tests, explanation.descriptors.tests)
    for p_values in (tests.p_values for tests in families):
        np.testing.assert_allclose(p_values / least * 2, np.round(p_values / least * 2), atol=1e-6)


def test_variation_between_images_is_not_explained_as_a_difference():
    """With variation between images, a curve-level test finds a difference in size; a test of images does not."""
    differing = {"images": 0, "curves": 0}
    for seed in range(6):
        a, b = sides(10 + seed, 4, 4, between=0.15, count=20)
        for kind in differing:
            found = compare(a, b, QUICK, permute=kind, permutations=99)
            differing[kind] += "size" in differing_parts(found.scale)
    assert differing["images"] <= 1
    assert differing["curves"] >= 4


def test_too_few_images_have_neither_ratios_nor_p_values():
    """A ratio of a single image has no interval, without which it would seem to be known."""
    explanation = explain(compare(*sides(4, 1, 2, 1.4), QUICK))
    (only,) = explanation.sentences()
    assert "too few images to reach the significance" in only
    assert explanation.comparison.estimates["p_adjusted"].min() > 0.05
