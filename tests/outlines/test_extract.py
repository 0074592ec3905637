"""Outlines from labels: geometry, image borders, pieces, and counts of excluded objects."""

from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage
from skimage.io import imread
from skimage.measure import find_contours

from napari_shape_ensembles import Ensemble, extract_curves, level_curves, segment, segment_stack, trace_mask
from napari_shape_ensembles.outlines.reasons import AT_BORDER, EXTRA, VANISHED, Reason, too_small
from napari_shape_ensembles.outlines.tiling import Tiling
from napari_shape_ensembles.outlines.tracing import has_holes, highest_level
from napari_shape_ensembles.shapes.registration import doubled_area
from napari_shape_ensembles.words import account_of


def disc(radius, shape=(100, 100), centre=(50, 50), label=1):
    rows, columns = np.indices(shape)
    return label * ((rows - centre[0]) ** 2 + (columns - centre[1]) ** 2 <= radius**2).astype(int)


@pytest.mark.parametrize("smoothing", [0, 1.0, 2.0])
def test_a_disc_has_the_expected_area_center_and_perimeter(smoothing):
    ensemble = extract_curves(disc(30), smoothing=smoothing)
    assert ensemble.features["area"][0] == pytest.approx(np.pi * 30**2, rel=0.01)
    np.testing.assert_allclose(ensemble[0].mean(axis=0), [50, 50], atol=0.05)
    if smoothing:
        assert ensemble.features["perimeter"][0] == pytest.approx(2 * np.pi * 30, rel=0.01)


def test_pixel_centers_have_integer_coordinates():
    labels = np.zeros((20, 20), dtype=int)
    labels[5:9, 7:15] = 3
    outline = extract_curves(labels, smoothing=0)[0]
    np.testing.assert_array_equal([outline.min(axis=0), outline.max(axis=0)], [[4.5, 6.5], [8.5, 14.5]])


def test_anisotropic_pixels_stretch_the_coordinates():
    plain, scaled = extract_curves(disc(20)), extract_curves(disc(20), scale=(0.5, 3), unit="um")
    np.testing.assert_allclose(scaled[0], plain[0] * [0.5, 3])
    assert scaled.unit == "um"


def test_one_number_is_the_size_of_a_square_pixel():
    labels = np.zeros((20, 20), dtype=int)
    labels[5:15, 5:15] = 1
    one, two = (extract_curves(labels, scale=scale) for scale in (0.5, (0.5, 0.5)))
    np.testing.assert_array_equal(one.vertices, two.vertices)
    assert one.pixel_size == two.pixel_size == (0.5, 0.5)


def test_all_outlines_have_positive_signed_area():
    ring = disc(30) - disc(10)
    for curve in extract_curves(ring, holes=True).curves:
        x, y = curve.T
        assert x @ np.roll(y, -1) - np.roll(x, -1) @ y > 0


def test_holes_are_separate_curves_on_request():
    ring = disc(30, label=5) - disc(10, label=5)
    assert extract_curves(ring).ids.tolist() == [5]
    both = extract_curves(ring, holes=True)
    assert both.ids.tolist() == [5, -1]
    np.testing.assert_allclose(both.features["area"], np.pi * np.array([900, 100]), rtol=0.03)
    tiny = disc(30) - disc(2)
    assert extract_curves(tiny, holes=True).dropped == {too_small(16): 1}


@pytest.mark.parametrize("centre", [(30, 50), (69, 50), (50, 30), (50, 69)])
def test_objects_at_the_border_are_excluded_or_closed_along_it(centre):
    labels = disc(30, centre=centre)
    assert extract_curves(labels).dropped == {AT_BORDER: 1}
    kept = extract_curves(labels, border=True)
    assert kept.features["area"][0] == pytest.approx(labels.sum(), rel=0.02)


def test_ids_are_label_values_including_gaps_and_large_values():
    labels = disc(8, centre=(20, 20), label=7).astype(np.uint32)
    labels[60:80, 60:80] = 4_000_000_000
    assert extract_curves(labels).ids.tolist() == [7, 4_000_000_000]


@pytest.mark.parametrize("kind", [bool, np.uint8, np.float32])
def test_masks_and_labels_of_every_dtype_are_accepted(kind):
    assert len(extract_curves(disc(20).astype(kind))) == 1


def test_a_mask_is_split_into_components():
    mask = (disc(10, centre=(25, 25)) + disc(10, centre=(70, 70))).astype(bool)
    assert len(extract_curves(mask)) == 2


@pytest.mark.parametrize("value", [True, 255, 255.0, np.uint32(7)])
def test_a_single_value_beside_0_is_a_mask(value):
    mask = np.where(disc(10, centre=(25, 25)) + disc(10, centre=(70, 70)), value, 0 * value)
    assert extract_curves(mask).ids.tolist() == [1, 2]


def test_the_largest_piece_of_a_label_is_kept_and_the_others_counted():
    labels = disc(20, centre=(30, 30)) + disc(8, centre=(75, 75)) + disc(8, centre=(75, 20), label=2)
    ensemble = extract_curves(labels)
    assert ensemble.dropped == {EXTRA: 1}
    assert ensemble.features["area"][0] == pytest.approx(np.pi * 400, rel=0.02)


def test_smoothing_in_physical_units_is_isotropic():
    flat = disc(30)[::2]  # pixels twice as high as wide
    options = {"scale": (2.0, 1.0), "unit": "µm"}
    physical = extract_curves(flat, smoothing=8, smoothing_unit="physical", **options)[0]
    square = extract_curves(disc(30), smoothing=8)[0]
    for curve in (physical, square):
        curve = curve - curve.mean(axis=0)
        assert np.ptp(curve, axis=0) == pytest.approx(np.ptp(square, axis=0), rel=0.02)
    in_pixels = extract_curves(flat, smoothing=8, **options)[0]
    assert abs(np.subtract(*np.ptp(in_pixels, axis=0))) > 2


def test_physical_smoothing_does_not_depend_on_the_unit():
    one = extract_curves(disc(20), smoothing=1.5, smoothing_unit="physical", scale=(0.5, 0.5), unit="µm")
    other = extract_curves(disc(20), smoothing=1500, smoothing_unit="physical", scale=(500, 500), unit="nm")
    np.testing.assert_allclose(one[0] * 1000, other[0])
    np.testing.assert_allclose(one[0] * 2, extract_curves(disc(20), smoothing=3)[0])


def test_the_sigma_of_the_paper_is_a_window():
    labels = disc(30)
    curves = [extract_curves(labels, smoothing=sigma, smoothing_unit="window")[0] for sigma in (1, 4, 5)]
    np.testing.assert_array_equal(curves[0], extract_curves(labels, smoothing=0)[0])  # a window of one pixel
    expected = ndimage.gaussian_filter(labels.astype(float), 5.0, radius=2)
    values = ndimage.map_coordinates(expected, curves[2].T, order=1)
    np.testing.assert_allclose(values, 0.5, atol=1e-6)
    assert np.abs(curves[1] - curves[2]).max() < 0.1  # σ 4 and 5 have the same window


def test_outlines_with_too_few_vertices_are_counted():
    labels = disc(20, centre=(30, 30)) + disc(3, centre=(75, 75), label=2)
    assert extract_curves(labels, min_length=20).dropped == {Reason("length", 20): 1}
    assert extract_curves(labels, min_vertices=30).dropped == {Reason("vertices", 30): 1}


def test_objects_that_vanish_under_smoothing_are_counted():
    labels = np.zeros((40, 60), dtype=int)
    labels[20, 5:55] = 1
    assert extract_curves(labels, smoothing=2).dropped == {VANISHED: 1}


@settings(max_examples=60)
@given(arrays(bool, (24, 24)), st.sampled_from([0.0, 1.0]), st.booleans(), st.sampled_from([0, 5]))
def test_every_component_of_a_random_mask_is_kept_or_counted(mask, smoothing, border, least):
    labels, count = ndimage.label(mask)
    ensemble = extract_curves(labels, smoothing=smoothing, border=border, min_area=least)
    extra = ensemble.dropped.get(EXTRA, 0)
    assert len(ensemble) + sum(ensemble.dropped.values()) - extra == count


@settings(max_examples=60)
@given(arrays(np.uint8, (16, 16), elements=st.integers(0, 3)))
def test_every_piece_of_every_label_is_kept_or_counted(labels):
    pieces = sum(ndimage.label(labels == value)[1] for value in (1, 2, 3))
    ensemble = extract_curves(labels, smoothing=0, border=True, min_area=0)
    assert len(ensemble) + sum(ensemble.dropped.values()) == pieces


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1.0]))
@example(279742, 1.0)
def test_areas_match_pixel_counts_after_corner_and_smoothing_corrections(seed, smoothing):
    """A contour removes an eighth of a pixel at each convex corner and adds it at each concave one, four fewer.

    A Gaussian moves it inwards by κσ²/2 to first order, κ its curvature, and the integral of κ along it is 2π: πσ².
    """
    field = ndimage.gaussian_filter(np.random.default_rng(seed).normal(size=(120, 120)), 9)
    labels, _ = ndimage.label(ndimage.binary_fill_holes(field > np.quantile(field, 0.7)))
    ensemble = extract_curves(labels, smoothing=smoothing)
    counts = np.bincount(labels.ravel())[ensemble.ids]
    large = counts > 200
    taken = (counts - ensemble.features["area"])[large]
    np.testing.assert_allclose(taken, 0.5 + np.pi * smoothing**2, rtol=0, atol=0.6 * smoothing + 1e-9)


def test_an_empty_plane_gives_an_empty_ensemble():
    assert len(extract_curves(np.zeros((10, 10), dtype=int))) == 0


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (np.zeros((3, 4, 5), dtype=int), {}, "one plane"),
        (np.full((4, 4), 0.5), {}, "16 pixels are not integers"),
        (np.full((4, 4), np.nan), {}, "16 pixels are not integers"),
        (np.full((4, 4), 1e300), {}, "16 pixels are not integers"),
        (np.full((4, 4), 2**64 - 1, dtype=np.uint64), {}, "highest label is 18446744073709551615"),
        (np.zeros((4, 4), dtype=complex), {}, "give integers"),
        (np.zeros((4, 4), dtype=int), {"smoothing": -1}, "smoothing"),
        (np.zeros((4, 4), dtype=int), {"smoothing_unit": "mm"}, "pixel, physical, window"),
        (np.zeros((4, 4), dtype=int), {"min_length": -1}, "min_length"),
        (np.zeros((4, 4), dtype=int), {"scale": (1, 0)}, "two positive numbers"),
        (np.zeros((4, 4), dtype=int), {"min_area": -1}, "min_area"),
    ],
)
def test_malformed_input_is_rejected(labels, options, message):
    with pytest.raises(ValueError, match=message):
        extract_curves(labels, **options)


def test_all_grains_of_the_paper_are_found(shared_data):
    labels = imread(shared_data / "paper" / "pil184_hlf1_noisy_labels.png")
    ensemble = extract_curves(labels)
    assert len(ensemble) == 466
    assert set(ensemble.dropped) <= {EXTRA}
    pixels = np.bincount(labels.ravel())[ensemble.ids]
    excess = ensemble.features["area"].to_numpy() / pixels - 1
    # A few grains enclose others, or are connected by a corner only: there outline and pixel count differ.
    assert (np.abs(excess[pixels > 200]) < 0.03).mean() > 0.98


@pytest.mark.parametrize(
    "options",
    [
        {"smoothing": 1e5},
        {"smoothing": 1e9, "smoothing_unit": "window"},
        {"scale": (1e-6, 1), "smoothing_unit": "physical"},
    ],
)
def test_smoothing_wider_than_the_image_is_rejected_before_allocation(options):
    with pytest.raises(ValueError, match="the maximum is 1000"):
        extract_curves(np.pad(np.ones((9, 9), int), 3), **options)


@pytest.mark.parametrize("switch", ["border", "holes"])
def test_strings_are_not_accepted_as_booleans(switch):
    labels = np.pad(np.ones((10, 10), int), 5)
    calls = (extract_curves, trace_mask, lambda image, **options: Tiling.of(image).ensemble(**options))
    for call in calls:
        with pytest.raises(ValueError, match="must be True or False, not 'no'"):
            call(labels, **{switch: "no"})


def test_masked_pixels_are_rejected():
    plane = np.ma.masked_greater(np.pad(np.eye(12) + np.eye(12)[::-1], 5), 1.5)
    plane[8, 8] = np.ma.masked
    for call in (segment, extract_curves, trace_mask, Tiling.of, partial(level_curves, value=0.5)):
        with pytest.raises(ValueError, match=r"1 values of the \w+ are masked: fill them"):
            call(plane)
    with pytest.raises(ValueError, match="plane 1: 1 values of the image are masked"):
        list(segment_stack([plane.filled(0), plane]))


def test_objects_that_vanish_under_a_very_wide_filter_are_counted():
    labels = np.zeros((300, 300), int)
    for number, (row, column) in enumerate(np.ndindex(6, 6), start=1):
        labels[row * 48 + 5 : row * 48 + 30, column * 48 + 5 : column * 48 + 30] = number
    ensemble = extract_curves(labels, smoothing=900)
    assert ensemble.dropped == {VANISHED: 36}


@given(
    shape=st.tuples(st.integers(1, 30), st.integers(1, 30)),
    smoothing=st.just(0.0) | st.floats(0.01, 40),
    unit=st.sampled_from(["pixel", "window"]),
)
def test_the_highest_level_equals_that_of_a_full_box(shape, smoothing, unit):
    reach = int(smoothing / 2) if unit == "window" else int(np.ceil(4 * smoothing))
    full = np.pad(np.ones(shape), reach + 1)
    if reach:
        full = ndimage.gaussian_filter(full, smoothing, radius=reach)
    assert highest_level(shape, (smoothing,) * 2, (reach,) * 2) == pytest.approx(full.max(), abs=1e-12)


def test_smoothing_wider_than_the_mask_is_rejected():
    with pytest.raises(ValueError, match=r"smoothing by 900 pixels is wider than the mask \(300 × 200\)"):
        trace_mask(np.ones((300, 200), bool), smoothing=900, border=True)


def test_objects_with_holes_are_counted_as_filled():
    labels = np.zeros((40, 90), int)
    labels[5:35, 5:25], labels[5:35, 32:52], labels[5:35, 60:80] = 1, 2, 3
    labels[20, 10] = 0  # of one pixel, which smoothing would close
    labels[10:20, 36:46] = 0
    labels[12:18, 38:44] = 2  # an island in the hole
    found = extract_curves(labels)
    assert (found.filled, len(found)) == (2, 3)
    assert extract_curves(labels, holes=True).filled == 0
    assert found.to("pixel")[[True, False, True]].filled == 2
    assert Ensemble.pooled([found, found]).filled == 4
    assert account_of({"collinear": 1}, found.filled) == ["1 left out: collinear", "2 objects have holes: filled"]


def test_holes_closed_by_smoothing_are_counted_if_holes_are_traced():
    labels = np.zeros((40, 60), int)
    labels[5:35, 5:25], labels[5:35, 32:52] = 1, 2
    labels[20, 10] = 0
    labels[10:20, 36:46] = 0
    found = extract_curves(labels, holes=True)
    assert (found.ids.tolist(), found.dropped) == ([1, 2, -1], {VANISHED: 1})


@given(arrays(np.uint8, (7, 16), elements=st.integers(0, 2)))
def test_has_holes_agrees_with_binary_fill_holes(labels):
    # Background pixels that meet only at a corner are separate if the object's pixels are connected there.
    filled = [ndimage.binary_fill_holes(labels == label) & (labels != label) for label in range(1, labels.max() + 1)]
    assert has_holes(labels).tolist() == [False, *(mask.any() for mask in filled)]


def outer_contours(labels, smoothing, smallest):
    """Largest contour of each label, by SciPy's filter and scikit-image's marching squares."""
    for label in np.unique(labels[labels > 0]):
        if (labels == label).sum() < smallest:
            continue
        level = np.pad((labels == label).astype(float), 10)
        level = ndimage.gaussian_filter(level, smoothing, radius=int(np.ceil(4 * smoothing))) if smoothing else level
        contours = [contour[:-1] - 10 for contour in find_contours(level, 0.5, positive_orientation="high")]
        yield from sorted(contours, key=lambda contour: -abs(doubled_area(contour @ [1, 1j])))[:1]


@pytest.mark.parametrize("smoothing", [0, 0.6, 2])
@pytest.mark.parametrize(("labels", "size"), [(4, 100), (100, 12), (6, 30)])  # more vertices and contours than expected
def test_outlines_are_those_of_marching_squares_on_smoothed_masks(smoothing, labels, size):
    numbers = 1 + np.arange(labels).reshape(2, -1).repeat(size, axis=0).repeat(size, axis=1)
    scattered = ndimage.gaussian_filter(np.random.default_rng(size).random(numbers.shape), 0.7) < 0.52
    numbers = numbers * (scattered & (np.indices(numbers.shape) % size).all(axis=0))
    curves = extract_curves(numbers, smoothing=smoothing, border=True, min_area=4, min_vertices=3, min_length=0)
    expected = list(outer_contours(numbers, smoothing, 4))
    assert len(curves) == len(expected) > 0
    for curve, contour in zip(curves.curves, expected, strict=True):
        assert len(curve) == len(contour)
        first = np.linalg.norm(contour - curve[0], axis=1).argmin()
        np.testing.assert_allclose(curve, np.roll(contour, -first, axis=0), atol=1e-9)


def test_pixels_exactly_at_the_level_leave_no_repeated_vertices():
    mask = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1]]).repeat(6, axis=0).repeat(6, axis=1)
    mask = np.pad(mask, 3)
    for curve in extract_curves(np.stack([mask, mask * 0]).reshape(-1, mask.shape[1]), smoothing=1.0):
        assert np.linalg.norm(curve - np.roll(curve, 1, axis=0), axis=1).min() > 0
