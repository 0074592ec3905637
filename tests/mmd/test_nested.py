"""Nested tests: each rank agrees with a test of its coordinates alone."""

import numpy as np
import pytest

from napari_shape_ensembles.mmd import nested
from napari_shape_ensembles.mmd.nested import nested_mmd_tests
from napari_shape_ensembles.mmd.two_sample import combined_mmd_test

LEVELS = {"permutations": 199, "significance": 0.05, "seed": 3}


def two_descriptions(m=40, n=55, d=12, *, seed=0, shift=0.8):
    rng = np.random.default_rng(seed)
    scales = np.geomspace(1, 0.05, d)
    x, y = rng.normal(size=(m, d)) * scales, (rng.normal(size=(n, d)) + shift * (np.arange(d) == 4)) * scales
    return {"raw": (x, y), "normalized": (x / scales, y / scales)}


def assert_same(test, expected):
    assert test.mmd == pytest.approx(expected.mmd, abs=1e-10)
    np.testing.assert_allclose(test.null, expected.null, atol=1e-10)
    assert test.threshold == pytest.approx(expected.threshold, abs=1e-10)
    assert test.bandwidth == pytest.approx(expected.bandwidth, rel=1e-12)
    assert (test.p_value, test.rejected) == (expected.p_value, expected.rejected)
    assert list(test.parts) == list(expected.parts)
    for name, part in test.parts.items():
        assert_same(part, expected.parts[name])


@pytest.mark.parametrize("names", [("raw",), ("raw", "normalized")])
@pytest.mark.parametrize("bandwidth", [None, 0.7])
@pytest.mark.parametrize("kept", [True, False], ids=["distances kept", "distances made anew"])
def test_every_rank_equals_the_test_of_its_coordinates(monkeypatch, names, bandwidth, kept):
    monkeypatch.setattr(nested, "MAX_KEPT_DISTANCES", 10**9 if kept else 0)
    samples = {name: pair for name, pair in two_descriptions().items() if name in names}
    ranks = (1, 2, 5, 6, 12)
    tests = list(nested_mmd_tests(samples, ranks, bandwidth=bandwidth, **LEVELS))
    assert len(tests) == len(ranks)
    for rank, test in zip(ranks, tests, strict=True):
        cut = {name: (x[:, :rank], y[:, :rank]) for name, (x, y) in samples.items()}
        assert_same(test, combined_mmd_test(cut, bandwidth=bandwidth, **LEVELS))


def test_a_difference_in_the_fifth_coordinate_shows_from_rank_five():
    samples = {"raw": two_descriptions(200, 200, shift=1.5)["normalized"]}
    p_values = [test.p_value for test in nested_mmd_tests(samples, (3, 4, 5, 6), **LEVELS)]
    assert min(p_values[:2]) > 0.05
    assert max(p_values[2:]) <= 0.005


def test_more_points_than_used_for_the_median():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(1200, 3)), rng.normal(size=(1000, 3))
    levels = {**LEVELS, "permutations": 19}
    for rank, test in zip((1, 3), nested_mmd_tests({"": (x, y)}, (1, 3), **levels), strict=True):
        assert_same(test, combined_mmd_test({"": (x[:, :rank], y[:, :rank])}, **levels))


def test_coincident_points_do_not_differ():
    same = {"": (np.ones((6, 4)), np.ones((7, 4)))}
    assert [test.p_value for test in nested_mmd_tests(same, (1, 4), **LEVELS)] == [1, 1]


@pytest.mark.parametrize("ranks", [(0, 3), (3, 2), (2, 2), (5, 13)])
def test_impossible_ranks_are_rejected(ranks):
    with pytest.raises(ValueError, match=r"increasing numbers from 1 to 12, the number of coordinates"):
        next(nested_mmd_tests(two_descriptions(), ranks, **LEVELS))
