"""Components of a difference: shares by definition, and samples with known differences."""

import numpy as np
import pytest

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Settings, ShapeSpace, compare, decompose, explain
from napari_shape_ensembles.explanation.components import COMPONENTS, component_tests, components, ratio_words
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
    found = component_tests(given, 30, permutations=99, rounds=50)
    positive = np.maximum([unbiased(given[name], 30) for name in COMPONENTS], 0)
    np.testing.assert_allclose(found.share, positive / positive.sum(), atol=1e-12)
    assert (found.share_interval[0] <= found.share + 0.1).all()
    assert (found.share_interval[1] >= found.share - 0.1).all()


@pytest.mark.parametrize("altered", COMPONENTS)
def test_the_altered_component_is_named_and_carries_the_difference(altered):
    given = parts(1, total=300)
    given[altered][150:] += 0.7
    found = component_tests(given, 150, rounds=100)
    assert found.differing(0.01) == (altered,)
    assert found.share[COMPONENTS.index(altered)] > 0.9
    assert f"{found.tests.adjusted[COMPONENTS.index(altered)]:.2g}" in found.sentence(altered)


def test_ratios_are_of_geometric_means_and_their_intervals_cover():
    covered = 0
    for seed in range(60):
        given = parts(seed)
        given["size"][40:] += np.log(1.5)
        found = component_tests(given, 40, permutations=9, rounds=200, seed=seed)
        expected = np.exp(given["size"][40:].mean() - given["size"][:40].mean())
        assert found.ratio[0] == pytest.approx(expected)
        covered += found.ratio_interval[0, 0] <= 1.5 <= found.ratio_interval[1, 0]
    assert covered >= 50
    assert np.isnan(found.ratio[COMPONENTS.index("coarse form")])


def test_intervals_of_shares_without_a_difference_are_wide():
    found = component_tests(parts(4), 40, rounds=200)
    assert not found.differing(0.01)
    assert np.ptp(found.share_interval, axis=0).max() > 0.5


def test_a_linear_map_changes_size_and_elongation_only():
    undulation, scale = decompose(blobs(30, 200, elongation=1.2))
    space = ShapeSpace.learn(undulation, scale, 20)
    one = components(space, *space.coordinates(undulation, scale))
    other = components(space, *space.coordinates(undulation, 2 * scale))
    np.testing.assert_allclose(other["size"] - one["size"], np.log(2), rtol=1e-10)
    for name in COMPONENTS[1:]:
        np.testing.assert_allclose(other[name], one[name], atol=1e-10)


def test_spread_intervals_cover_and_insignificant_spreads_are_not_reported():
    covered = 0
    for seed in range(60):
        given = parts(seed)
        given["size"][40:] *= 1.5
        found = component_tests(given, 40, permutations=9, rounds=200, seed=seed)
        low, high = found.spread_interval[:, 0]
        covered += low <= 1.5 <= high
        assert ("varies" in found.sentence("size")) == (not low <= 1 <= high and found.spread[0] > 1.15)
    assert covered >= 50


@pytest.mark.parametrize(("still", "side"), [(slice(40), "A"), (slice(40, None), "B")])
def test_a_sample_without_variation_is_reported(still, side):
    given = parts(3)
    given["size"][still] = 0.3 + 1e-15 * np.arange(40)
    assert f"{side}'s size does not vary" in component_tests(given, 40, permutations=9, rounds=40).sentence("size")


def test_ratios_close_to_one_or_zero_are_formatted():
    given = parts(5, total=400)
    given["size"] *= 1e-3
    given["size"][200:] += 0.003
    given["elongation"][200:] -= 7.5
    found = component_tests(given, 200, permutations=9, rounds=100)
    assert "larger: size 1.003 times A's, 95 % interval 1.00" in found.sentence("size")
    assert "1.00 " not in found.sentence("size").split("interval")[1]
    assert "elongation 0.00 " not in found.sentence("elongation")


def test_extreme_ratios_keep_significant_digits():
    assert ratio_words(1.026e-8, 9.5e-9, 1.11e-8) == ["1.03e-08", "9.5e-09", "1.11e-08"]
    assert ratio_words(1026285.6, 951079.6, np.inf) == ["1.03e+06", "9.51e+05", "inf"]
    assert ratio_words(0.0012, 0.0, 99_999.0) == ["0.00120", "0.00000", "99999.00000"]


def test_differences_up_to_rounding_are_ignored():
    """Squares of two sizes have the same elongation and undulation, up to rounding of their coordinates."""
    square = np.array([(0, 0), (0, 2), (2, 2), (2, 0)])
    a, b = (Ensemble([size * square + 7.3 * place for place in range(20)], unit="µm") for size in (1, 1.5))
    explanation = explain(compare(a, b, Settings(landmarks=60, rank=10, permutations=499)))
    assert explanation.components.differing() == ("size",)
    assert len(explanation.sentences()) == 1


def test_shares_of_too_few_curves_have_no_interval():
    for m, known in ((3, False), (4, True)):
        found = component_tests(parts(total=m + 20), m, permutations=49, rounds=50)
        assert np.isfinite(found.share).all()
        assert (np.isfinite(found.share_interval) == known).all()
