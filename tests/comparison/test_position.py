"""Dependence of shape on the position in the image."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from napari_shape_ensembles import Ensemble, Settings, compare, experiment, position_dependence
from napari_shape_ensembles.comparison.position_trends import centroids, position_trends
from napari_shape_ensembles.samples.synthetic import draw_forms, draw_scales

QUICK = Settings(landmarks=60, rank=8, permutations=199)


def image(seed, *, gradient=0.0, count=60, size=10.0):
    """An image whose outlines grow along its rows, by this logarithm over half the image."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(-1, 1, (count, 2))
    curves = draw_forms(rng, count, roughness=0.03, waves=(6, 10), vertices=60)
    curves = curves @ draw_scales(rng, count, size=size, spread=0.1, elongation=1.4)
    curves = curves * np.exp(gradient * places[:, :1, None]) + 1000 * places[:, None]
    return Ensemble(curves, name=f"image {seed}", unit="µm")


def test_a_size_gradient_is_found_in_scale_only():
    found = position_dependence(image(0, gradient=0.2), QUICK)
    assert found.scale.rejected
    assert not found.undulation.rejected
    assert found.p_value == pytest.approx(0.01)
    assert found.sentence().startswith("Scale depends on position within the image")


def test_differences_between_images_are_not_a_dependence():
    result = compare(image(1), image(2, size=15), QUICK)
    assert result.scale.rejected
    found = position_dependence(result)
    assert (found.rejected, found.images) == (False, 2)
    assert found.sentence().startswith("No dependence of shape on position within the images was detected")


def test_a_comparison_of_single_images_warns_of_a_gradient():
    depends = compare(image(0, gradient=0.2), image(3), QUICK).warnings
    assert any(words.startswith("Size depends on position within the images (p = ") for words in depends)
    assert not any("position" in words for words in compare(image(1), image(2), QUICK).warnings)


def test_trends_with_the_position_have_the_p_values_of_a_regression():
    result = compare(image(0, gradient=0.05), image(3, size=14), QUICK)
    places = np.concatenate([centroids(result.a), centroids(result.b)])
    columns = np.zeros((120, 4))
    columns[:60, 0] = columns[60:, 1] = 1
    columns[:60, 2:], columns[60:, 2:] = places[:60] - places[:60].mean(axis=0), places[60:] - places[60:].mean(axis=0)
    size = result.components["size"]
    whole, rest = (((size - x @ np.linalg.lstsq(x, size)[0]) ** 2).sum() for x in (columns[:, :2], columns))
    expected = stats.f.sf((whole - rest) / 2 / (rest / 116), 2, 116)
    assert position_trends([result.a, result.b], result.components)["size"] == pytest.approx(min(1, 3 * expected))


def test_invariance_to_order_of_outlines_and_position_of_images():
    images = [image(3, gradient=0.1), image(4)]
    moved = [Ensemble([curve + np.array([5000, -300]) for curve in images[0]], name="moved", unit="µm"), images[1]]
    first, other = (position_dependence(one, QUICK) for one in (images, moved))
    assert other.scale.hsic == pytest.approx(first.scale.hsic, rel=1e-6)
    assert other.scale.p_value == first.scale.p_value


def test_centroids_are_weighted_by_area():
    curve = np.array([[0, 0], [0, 1], [0, 2], [0, 3], [0, 4], [2, 4], [2, 0.0]])  # more vertices on one side
    assert centroids(Ensemble([curve, curve + np.array([7, 9])])) == pytest.approx(np.array([[1, 2], [8, 11]]))


def test_the_level_holds_if_shape_is_independent_of_position():
    rejected = 0
    settings = Settings(landmarks=40, rank=5, permutations=99, significance=0.2)
    for seed in range(60):
        found = position_dependence(image(100 + seed, count=20), settings)
        rejected += found.rejected
    assert rejected <= 22  # 12 expected at most; more with a probability of 0.001


@pytest.mark.parametrize("given", ["image", [], [np.zeros((5, 2))]])
def test_empty_ensembles_are_rejected(given):
    with pytest.raises(ValueError, match="give a Comparison, an Ensemble or a list of ensembles"):
        position_dependence(given)


def test_too_few_outlines_are_rejected():
    with pytest.raises(ValueError, match=r"the largest of 1 image has 5 outlines: .* at least 8 in one image"):
        position_dependence(image(0, count=5), QUICK)


def test_an_experiment_is_rejected_with_the_remedy():
    made = experiment([image(i, count=8) for i in range(4)], pd.DataFrame({"group": list("aabb")}), QUICK)
    with pytest.raises(ValueError, match="for an experiment, its ensembles"):
        position_dependence(made)
