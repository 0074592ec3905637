"""Local differences along the outline: known bumps are found, normals point outwards, the level holds."""

import numpy as np
import pytest

from curve_makers import ellipse
from napari_shape_ensembles import ShapeSpace, decompose
from napari_shape_ensembles.comparison.mean_outline import outward_normals
from napari_shape_ensembles.explanation.outline import outline_difference

N = 120


def outlines(count, seed, *, bump=0.0, waver=0.0):
    """Ellipses with fixed corners and random waves; with a bump, or more variation, around landmark 30."""
    rng = np.random.default_rng(seed)
    u = 2 * np.pi * np.arange(N) / N
    k = np.arange(2, 8)[:, None]
    waves = rng.normal(size=(count, 6)) @ np.cos(k * u) + rng.normal(size=(count, 6)) @ np.sin(k * u)
    local = np.exp(-(((np.arange(N) - 30) / 5) ** 2))
    radius = 1 + 0.01 * waves + (bump + waver * rng.normal(size=(count, 1))) * local
    return radius[..., None] * ellipse(3.0, 2.0, N)


def difference(a, b, **options):
    undulation, scale = decompose(np.concatenate([a, b]))
    space = ShapeSpace.learn(undulation, scale, 60)
    t, l = space.coordinates(undulation, scale)
    return outline_difference(space, t, l, len(a), **options)


def near(landmarks, place=30, width=12):
    return (np.abs(landmarks - place) <= width).all()


def test_a_bump_is_located_and_points_outwards():
    found = difference(outlines(80, 1), outlines(90, 2, bump=0.06), significance=0.01)
    assert found.shifted[30]
    assert near(np.flatnonzero(found.shifted))
    assert found.shift.argmax() == pytest.approx(30, abs=2)
    assert found.shift.max() == pytest.approx(0.06 * 2, rel=0.35)
    assert not found.spread.any()


def test_local_variation_is_found_as_spread():
    found = difference(outlines(80, 1), outlines(90, 2, waver=0.06))
    assert found.spread[30]
    assert near(np.flatnonzero(found.spread))
    assert (found.spread_b > found.spread_a)[found.spread].all()
    assert not found.shifted.any()


def test_the_level_holds_along_the_outline():
    false = [
        difference(outlines(25, 2 * s), outlines(25, 2 * s + 1), permutations=99, significance=0.1) for s in range(60)
    ]
    assert sum(one.shifted.any() for one in false) <= 14  # 6 expected, 3.4 standard deviations
    assert sum(one.spread.any() for one in false) <= 14


@pytest.mark.parametrize("order", [1, -1])
def test_normals_of_an_ellipse_point_outwards(order):
    curve = ellipse(3.0, 2.0, N)[::order]
    expected = curve / [9, 4]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(outward_normals(curve), expected, atol=1e-12)


@pytest.mark.parametrize(("m", "n"), [(2, 2), (3, 3), (2, 3)])
def test_rounding_errors_of_few_curves_are_no_difference(m, n):
    for seed in range(20):
        found = difference(outlines(m, 2 * seed), outlines(n, 2 * seed + 1, bump=0.1), permutations=199)
        assert not found.shifted.any()
        assert not found.spread.any()


@pytest.mark.parametrize(("m", "n"), [(20, 20), (45, 45), (7, 60)])
def test_curves_equal_up_to_rounding_differ_nowhere(m, n):
    space = ShapeSpace.learn(*decompose(outlines(40, 1)), 10)
    for digits in (0, 1e-14):
        t = digits * np.random.default_rng(0).normal(size=(m + n, 10))
        found = outline_difference(space, t + 0.01, np.zeros((m + n, 3)), m)
        assert not found.shifted.any()
        assert not found.spread.any()


def test_equal_curves_differ_nowhere():
    one = outlines(1, 1)
    found = difference(np.repeat(one, 20, axis=0), np.repeat(one, 30, axis=0), permutations=199)
    assert not found.shifted.any()
    assert not found.spread.any()
