"""Compiled loops over pairs of points agree with NumPy."""

import numpy as np
import pytest

from napari_shape_ensembles.mmd import combined_mmd_test


@pytest.mark.parametrize("dimension", [1, 3, 40])
def test_energy_distances_summed_over_bins(both_ways, dimension):
    rng = np.random.default_rng(dimension)
    x, y = rng.normal(size=(700, dimension)), 1.1 * rng.normal(size=(633, dimension)) + 5
    y[:20] = x[:20]  # some points are duplicated
    numpy, compiled = both_ways(
        lambda: combined_mmd_test({"": (x, y)}, kernels={"": "energy"}, permutations=99, bins=150)
    )
    assert numpy.p_value == compiled.p_value
    np.testing.assert_allclose(compiled.mmd, numpy.mmd, rtol=1e-9)
    np.testing.assert_allclose(compiled.null, numpy.null, rtol=1e-9)
