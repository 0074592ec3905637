"""Compiled tracing agrees with SciPy's filter and scikit-image's marching squares."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from napari_shape_ensembles import extract_curves

planes = arrays(np.int32, (14, 17), elements=st.integers(-1, 3)) | arrays(np.uint8, (9, 30), elements=st.integers(0, 2))


def alike(one, other):
    assert one.ids.tolist() == other.ids.tolist()
    assert one.dropped == other.dropped
    assert one.filled == other.filled
    np.testing.assert_array_equal(one.offsets, other.offsets)
    np.testing.assert_allclose(one.vertices, other.vertices, atol=5e-13, rtol=0)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    planes, st.sampled_from([0.0, 0.05, 0.6, 1.0, 2.0]), st.sampled_from(["pixel", "window", "physical"]), st.booleans()
)
def test_outlines_of_any_labels(both_ways, labels, smoothing, unit, holes):
    options = {"smoothing": smoothing, "smoothing_unit": unit, "scale": (1, 0.7), "holes": holes, "min_area": 2}
    alike(*both_ways(lambda: extract_curves(labels, border=True, min_vertices=3, **options)))


@pytest.mark.parametrize("smoothing", [0, 1, 3])
def test_outlines_of_many_objects_some_with_holes(both_ways, smoothing):
    rows, columns = np.indices((300, 420))
    labels = np.zeros((300, 420), dtype=np.uint16)
    for number in range(70):
        row, column = 30 * (number // 10) + 45, 40 * (number % 10) + 20
        away = np.hypot(rows - row, (columns - column) / (1 + number / 90))
        labels[(away < 13) & (away > (number % 4))] = 500 + number
    alike(*both_ways(lambda: extract_curves(labels, smoothing=smoothing, scale=(0.5, 0.5), unit="µm", min_length=30)))


@pytest.mark.parametrize(("labels", "size"), [(4, 100), (100, 8)])  # more vertices and more contours than preallocated
def test_outlines_of_objects_in_many_pieces(both_ways, labels, size):
    numbers = 1 + np.arange(labels).reshape(2, -1).repeat(size, axis=0).repeat(size, axis=1)
    scattered = np.random.default_rng(0).random(numbers.shape) < 0.35
    pieces = numbers * (scattered & (np.indices(numbers.shape) % size).all(axis=0))
    alike(*both_ways(lambda: extract_curves(pieces, smoothing=0, min_area=0, min_vertices=3)))
