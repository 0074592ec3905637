"""Shape descriptors: closed forms, concave outlines and units."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skimage.draw import polygon2mask
from skimage.measure import label, regionprops

from curve_makers import blobs, ellipse, randomly_moved, rotation
from napari_shape_ensembles import Ensemble, extract_curves

U = np.array([[0, 0], [0, 6], [8, 6], [8, 4], [2, 4], [2, 2], [8, 2], [8, 0]], dtype=float)
NAMES = ["area", "perimeter", "equivalent_diameter", "circularity", "aspect_ratio", "solidity"]


def features(*curves, **options):
    return Ensemble(list(curves), **options).features


def test_closed_forms_of_a_rectangle():
    row = features(np.array([[0, 0], [0, 3], [6, 3], [6, 0]], dtype=float)).iloc[0]
    expected = (18, 18, np.sqrt(72 / np.pi), 4 * np.pi * 18 / 18**2, 2, 1)
    np.testing.assert_allclose(row[NAMES].astype(float), expected)


def test_a_concave_outline_has_its_own_area_and_perimeter():
    row = features(U).iloc[0]
    assert (row["area"], row["perimeter"], row["solidity"]) == pytest.approx((36, 40, 0.75))


@pytest.mark.parametrize("ratio", [1.0, 1.5, 4.0])
def test_aspect_ratio_of_an_ellipse(ratio):
    curve = ellipse(5 * ratio, 5, 2000, turn=0.7)
    row = features(curve).iloc[0]
    assert row["aspect_ratio"] == pytest.approx(ratio, rel=1e-5)
    assert row["area"] == pytest.approx(25 * np.pi * ratio, rel=1e-5)
    assert row["solidity"] == pytest.approx(1)


def test_the_spacing_of_vertices_does_not_matter():
    sparse = np.array([[0, 0], [0, 3], [6, 3], [6, 0]], dtype=float)
    crowded = np.concatenate([np.linspace(sparse[0], sparse[1], 500, endpoint=False), sparse[1:]])
    np.testing.assert_allclose(features(sparse)[NAMES], features(crowded)[NAMES])


@given(st.integers(0, 10**6))
def test_descriptors_are_invariant_to_rigid_motions(seed):
    rng = np.random.default_rng(seed)
    curve = blobs(1, 120, seed=seed)[0]
    np.testing.assert_allclose(
        features(curve)[NAMES], features(randomly_moved(curve, rng, mirror=True))[NAMES], rtol=1e-7
    )


def test_lengths_have_units_and_ratios_do_not():
    pixels, micrometres = features(U), features(U * 0.5, unit="µm")
    powers = np.array([2, 1, 1, 0, 0, 0])
    np.testing.assert_allclose(micrometres[NAMES], pixels[NAMES] * 0.5**powers)


def test_descriptors_agree_with_pixel_measurements():
    image = np.zeros((400, 400), dtype=int)
    for index, outline in enumerate(blobs(9, 300, seed=3, elongation=2)):
        outline = (outline - outline.mean(axis=0)) * 22 @ rotation(0.3) + np.array(divmod(index, 3)) * 130 + 70
        image[polygon2mask(image.shape, outline)] = index + 1
    image = label(image)
    ensemble = extract_curves(image, smoothing=0)
    regions = {region.label: region for region in regionprops(image)}
    for row in ensemble.features.itertuples():
        region = regions[row.id]
        assert row.area == pytest.approx(region.area, rel=0.01)
        assert row.aspect_ratio == pytest.approx(region.axis_major_length / region.axis_minor_length, rel=0.02)
        assert row.solidity == pytest.approx(region.solidity, abs=0.03)
