"""Multi-Otsu thresholds: exhaustive search, and agreement with scikit-image."""

from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skimage.exposure import histogram
from skimage.filters import threshold_multiotsu
from skimage.io import imread

from napari_shape_ensembles.outlines.multi_otsu import multi_otsu


def between(counts, thresholds):
    """Between-class variance up to terms common to all thresholds, in exact fractions."""
    classes = [range(first, last) for first, last in pairwise([0, *(t + 1 for t in thresholds), len(counts)])]
    weights = [sum(counts[bin_] for bin_ in one) for one in classes]
    moments = [sum(counts[bin_] * bin_ for bin_ in one) for one in classes]
    return sum(Fraction(moment**2, weight) for moment, weight in zip(moments, weights, strict=True) if weight)


@given(st.lists(st.integers(0, 9), min_size=5, max_size=9), st.integers(2, 5))
def test_thresholds_maximize_the_between_class_variance(counts, classes):
    if np.count_nonzero(counts) < classes:
        with pytest.raises(ValueError, match=f"too few gray levels for {classes} classes"):
            multi_otsu(np.array(counts), np.arange(len(counts)), classes)
        return
    found = multi_otsu(np.array(counts), np.arange(len(counts)), classes)
    largest = max(between(counts, all_) for all_ in combinations(range(len(counts) - 1), classes - 1))
    assert float(between(counts, found.tolist())) == pytest.approx(float(largest), rel=1e-12)
    for threshold in found:
        assert counts[threshold] > 0  # the lowest in a gap


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_thresholds_agree_with_scikit_image_on_a_micrograph(classes, real_data):
    image = imread(real_data / "dsb_nuclei" / "image.png")
    np.testing.assert_array_equal(multi_otsu(*histogram(image.ravel()), classes), threshold_multiotsu(image, classes))
