"""Components of a difference: shares by definition, and samples with known differences."""

import numpy as np
import pytest

from curve_makers import blobs
from napari_shape_ensembles import ShapeSpace, decompose
from napari_shape_ensembles.comparison.quantities import COMPONENTS, components
from napari_shape_ensembles.explanation.components import component_shares
from napari_shape_ensembles.mmd.kernel import median_distance


def parts(seed=0, total=80):
    rng = np.random.default_rng(seed)
    values = {name: rng.normal(size=total) for name in COMPONENTS}
    values["coarse form"] = rng.normal(size=(total, 6))
    return values


def unbiased(x, first):
    x = x.reshape(len(x), -1)
    kernel = np.exp(-((x[:, None] - x) ** 2).sum(axis=-1) / (2 * median_distance(x) ** 2))
    a, b, across = kernel[:first, :first], kernel[first:, first:], kernel[:first, first:]
    means = [(k.sum() - len(k)) / (len(k) * (len(k) - 1)) for k in (a, b)]
    return sum(means) - 2 * across.mean()


def test_shares_are_parts_of_the_unbiased_squared_mmd():
    given = parts()
    given["size"][:30] += 0.8
    given["roughness"][:30] *= 2
    found = component_shares(given, 30, resamples=50)
    positive = np.maximum([unbiased(given[name], 30) for name in COMPONENTS], 0)
    np.testing.assert_allclose(found.share, positive / positive.sum(), atol=1e-12)
    assert (found.interval[0] <= found.share + 0.1).all()
    assert (found.interval[1] >= found.share - 0.1).all()


@pytest.mark.parametrize("altered", COMPONENTS)
def test_the_altered_component_carries_the_difference(altered):
    given = parts(1, total=300)
    given[altered][150:] += 0.7
    assert component_shares(given, 150, resamples=100).share[COMPONENTS.index(altered)] > 0.9


def test_intervals_of_shares_without_a_difference_are_wide():
    found = component_shares(parts(4), 40, resamples=200)
    assert np.ptp(found.interval, axis=0).max() > 0.5


def test_images_are_resampled_as_a_whole():
    found = component_shares(parts(2), 40, image=np.repeat(np.arange(8), 10), resamples=100)
    assert found.share.sum() == pytest.approx(1)
    assert np.isfinite(found.interval).all()


def test_shares_of_too_few_curves_have_no_interval():
    for m, known in ((3, False), (4, True)):
        found = component_shares(parts(total=m + 20), m, resamples=50)
        assert np.isfinite(found.share).all()
        assert (np.isfinite(found.interval) == known).all()
        assert all((" to " in words) == known for words in found.in_words())


def test_a_linear_map_changes_size_and_elongation_only():
    undulation, scale = decompose(blobs(30, 200, elongation=1.2))
    space = ShapeSpace.learn(undulation, scale, 20)
    one = components(space, *space.coordinates(undulation, scale))
    other = components(space, *space.coordinates(undulation, 2 * scale))
    assert one["coarse form"].shape == (30, 16)
    np.testing.assert_allclose(other["size"] - one["size"], np.log(2), rtol=1e-10)
    for name in COMPONENTS[1:]:
        np.testing.assert_allclose(other[name], one[name], atol=1e-10)
