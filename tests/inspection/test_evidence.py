"""Measurements of simple objects: concavities, level lines, blobs."""

import numpy as np
import pytest
from scipy import ndimage

from napari_shape_ensembles.inspection.evidence import dilated, evidence

ROWS, COLUMNS = np.indices((120, 240))
RADIUS, DEPTH = 25, 12


def disk(column, radius=RADIUS):
    return np.hypot(ROWS - 60, COLUMNS - column) < radius


@pytest.fixture(scope="module")
def measured():
    """A disk, and a disk with a notch as wide as deep; the image shows two blurred disks."""
    labels = disk(60) + 2 * disk(180)
    labels[(np.abs(ROWS - 60) <= DEPTH / 2) & (COLUMNS >= 180 + RADIUS - DEPTH)] = 0
    return evidence(labels, 20 + ndimage.gaussian_filter(80.0 * (disk(60) | disk(180)), 2))


@pytest.mark.parametrize("reach", [1.5, 2.5, 5**0.5, 5.0, 7.3])
@pytest.mark.parametrize("shape", [(30, 40), (3, 50), (1, 1)])
def test_a_mask_is_dilated_by_the_distance(reach, shape):
    mask = np.random.default_rng(0).random(shape) < 0.01
    mask[0, 0] = True
    np.testing.assert_array_equal(dilated(mask, reach), ndimage.distance_transform_edt(~mask) <= reach)
    assert not dilated(np.zeros(shape, bool), reach).any()


def test_concavity_depth_of_a_notch(measured):
    assert measured.loc[1, "dent"] < 0.05
    # The hull follows the chord between the corners of the notch.
    chord = RADIUS - np.sqrt(RADIUS**2 - (DEPTH / 2) ** 2)
    assert measured.loc[2, "dent"] == pytest.approx((DEPTH - chord) / RADIUS, abs=0.08)
    assert (measured["dent2"] <= measured["dent"]).all()


def test_an_outline_on_the_edge_is_at_the_half_level(measured):
    one = measured.loc[1]
    assert one["outline_level"] == pytest.approx(0.5, abs=0.08)
    assert one["steep_level"] == pytest.approx(0.5, abs=0.11)
    assert one["steep_area"] == pytest.approx(0, abs=0.05)
    assert measured.loc[2, "outline_spread"] > 2 * one["outline_spread"]  # its notch is inside the disk of the image


def test_dilated_and_eroded_outlines_are_at_other_levels():
    image = ndimage.gaussian_filter(80.0 * disk(60), 2)
    wide, narrow = (evidence(disk(60, RADIUS + by), image).loc[1] for by in (2, -2))
    assert wide["outline_level"] < 0.35 < 0.65 < narrow["outline_level"]
    assert wide["steep_area"] < 0 < narrow["steep_area"]


def test_two_disks_in_one_label_are_two_blobs():
    labels = np.where(np.hypot(ROWS % 60 - 30, COLUMNS % 60 - 30) < 14, ROWS // 60 * 4 + COLUMNS // 60 + 1, 0)
    image = ndimage.gaussian_filter(100.0 * (labels > 0), 2) + np.random.default_rng(0).normal(0, 1, labels.shape)
    labels[(labels == 2) | ((ROWS == 30) & (COLUMNS >= 30) & (COLUMNS <= 90))] = 1
    blobs = evidence(labels, image)["blobs"]
    assert blobs[1] == 2
    assert (blobs.drop(1) == 1).all()
