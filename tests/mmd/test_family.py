"""Families of tests: statistics versus single tests, joint p-values versus a loop, and the level."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_shape_ensembles.mmd import family, mmd_test
from napari_shape_ensembles.mmd.family import family_tests, median_gap
from napari_shape_ensembles.mmd.kernel import gaussian, median_distance
from napari_shape_ensembles.mmd.permutations import permuted_labels


def descriptions(seed=0, total=60):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(total, 5))
    x[:, 2] = rng.standard_t(1.5, size=total)
    return {"first": x[:, 0], "heavy": x[:, 2], "plane": x[:, 3:]}


@pytest.mark.parametrize("name", ["first", "heavy", "plane"])
def test_every_mmd_equals_that_of_the_single_test(name):
    x = descriptions()[name].reshape(60, -1)
    width = median_gap(x[:, 0]) if x.shape[1] == 1 else None
    single = mmd_test(x[:25], x[25:], permutations=10, bandwidth=width)
    found = family_tests({name: x}, 25, permutations=10)
    assert found.mmd[0] == pytest.approx(single.mmd, rel=1e-9)


@settings(max_examples=30)
@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=40, unique=True))
def test_the_median_gap_is_the_median_distance(values):
    x = np.array(values)
    if len(x) * (len(x) - 1) // 2 % 2:  # for an even number of pairs, the lower median
        assert median_gap(x) == pytest.approx(median_distance(x[:, None]), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("size", [1e-170, 1e-162, 1e-103, 1.0, 1e103, 1e170])
def test_the_median_distance_of_very_small_and_large_numbers(size):
    x = np.array([0.0, 1, 3, 7, 12, 13]) * size
    assert median_gap(x) == pytest.approx(6 * size, rel=1e-9)
    assert median_distance(x[:, None]) == pytest.approx(median_gap(x), rel=1e-9)
    near = np.abs(x[:, None] - x) / (6 * size)
    np.testing.assert_allclose(gaussian(x[:, None], x[:, None], 6 * size), np.exp(-(near**2) / 2), rtol=1e-9)
    assert median_distance(np.zeros((5, 2))) == median_distance(np.array([[size]] + [[0.0]] * 9)) == 1.0


def test_points_whose_squares_overflow_are_rejected():
    with pytest.raises(ValueError, match="the points spread over 1e-170, whose square overflows"):
        mmd_test(np.zeros((5, 1)), np.full((5, 1), 1e-170))
    with pytest.raises(ValueError, match="spread over 2e"):
        mmd_test(np.full((5, 1), -1e200), np.full((5, 1), 1e200))


def test_the_median_gap_of_equal_numbers_is_1():
    assert median_gap(np.full(5, 3.0)) == 1.0


def squared_mmd(x, weights, width):
    x = x.reshape(len(x), -1)
    kernel = np.exp(-((x[:, None] - x) ** 2).sum(axis=-1) / (2 * width**2))
    return np.array([w @ kernel @ w for w in weights])


def test_joint_p_values_agree_with_a_step_down_loop():
    given_ = descriptions(1)
    given_["first"][:25] += 0.9
    found = family_tests(given_, 25, permutations=200, seed=4)
    weights = permuted_labels(25, 60, 200, 4).weights(slice(None)) * (1 / 25 + 1 / 35)
    rows = []
    for x in given_.values():
        width = median_gap(x) if x.ndim == 1 else median_distance(x)
        values = squared_mmd(x, weights, width)
        rows.append((values - values.mean()) / values.std())
    rows = np.array(rows)
    left, expected, so_far = [0, 1, 2], {}, 0.0
    while left:
        best = max(left, key=lambda i: rows[i, 0])
        reach = rows[left].max(axis=0) >= rows[best, 0] - 1e-9
        so_far = max(so_far, reach.mean())
        expected[best] = so_far
        left.remove(best)
    np.testing.assert_allclose(found.adjusted, [expected[i] for i in range(3)], atol=1e-12)
    assert (found.adjusted >= found.p_values - 1e-12).all()


def test_only_the_shifted_variable_is_significant():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(200, 40))
    x[100:, 17] += 1
    x[100:, 5] *= 2
    found = family_tests({str(i): x[:, i] for i in range(40)}, 100)
    assert set(np.flatnonzero(found.rejected(0.01))) == {5, 17}


def test_the_family_wise_level_holds_for_dependent_descriptions():
    rng = np.random.default_rng(6)
    false = 0
    for seed in range(200):
        x = rng.normal(size=(40, 8)) + rng.normal(size=(40, 1))
        found = family_tests({str(i): x[:, i] for i in range(8)}, 20, permutations=99, seed=seed)
        false += found.rejected(0.1).any()
    assert 6 <= false <= 36  # 20 expected; within 3.5 standard deviations


@pytest.mark.parametrize(
    ("x", "first", "sentence"),
    [
        ({"a": np.ones(5), "b": np.ones(6)}, 2, "of the same curves"),
        ({"a": np.array([1.0, np.nan, 2])}, 1, "a: some values are NaN"),
        ({"a": np.ones(5)}, 5, "samples of 5 and 0 curves"),
        ({}, 1, "at least one description"),
    ],
)
def test_degenerate_input_is_rejected(x, first, sentence):
    with pytest.raises(ValueError, match=sentence):
        family_tests(x, first)


def test_a_million_permutations_fit_in_memory(monkeypatch):
    """As float64 weights, 300 points in 40 000 labelings alone would take 96 MB."""
    monkeypatch.setattr(family, "WEIGHTS_AT_ONCE", 2**20)
    values = {"one": np.random.default_rng(0).normal(size=300)}
    few = family_tests(values, 150, permutations=999)
    tracemalloc.start()
    many = family_tests(values, 150, permutations=40_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60 * 2**20
    assert many.p_values[0] == pytest.approx(few.p_values[0], abs=0.06)
