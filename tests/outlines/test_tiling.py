"""The boundary network: edges, fixed junctions, shared boundaries, and the grains of the paper."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage
from scipy.spatial import cKDTree
from skimage.io import imread

from napari_shape_ensembles import Settings, compare, extract_curves
from napari_shape_ensembles.outlines.reasons import VANISHED, too_small
from napari_shape_ensembles.outlines.tiling import Tiling

random_labels = arrays(np.uint8, st.tuples(st.integers(1, 12), st.integers(1, 12)), elements=st.integers(0, 3))


def area(curve):
    x, y = (curve - curve[0]).T
    return (x @ np.roll(y, -1) - np.roll(x, -1) @ y) / 2


def quarters():
    labels = np.ones((40, 40), dtype=int)
    labels[:20, 20:], labels[20:, :20], labels[20:, 20:] = 2, 3, 4
    return labels


@settings(max_examples=150)
@given(random_labels)
def test_every_pixel_edge_between_two_labels_is_on_one_boundary(labels):
    tiling = Tiling.of(labels) if len(np.unique(labels[labels > 0])) != 1 else Tiling.of(np.where(labels, 2, 1))
    plane = labels if len(np.unique(labels[labels > 0])) != 1 else np.where(labels, 2, 1)
    padded = np.pad(plane.astype(int), 1, constant_values=-1)
    assert len(tiling.edges) == (np.diff(padded, axis=0) != 0).sum() + (np.diff(padded, axis=1) != 0).sum()
    boundaries = tiling.boundaries()
    assert sum(len(boundary.points) - 1 for boundary in boundaries) == len(tiling.edges)
    assert all(left != right for left, right in (boundary.labels for boundary in boundaries))


@settings(max_examples=150)
@given(random_labels, st.integers(0, 6))
def test_rings_enclose_their_pixels_and_share_boundaries_when_smoothed(labels, iterations):
    labels = labels + np.uint8(1)
    tiling = Tiling.of(labels) if len(np.unique(labels)) > 1 else Tiling.of(np.pad(labels, 1, constant_values=9))
    smooth = tiling.smoothed(iterations)
    sums, smooth_sum = {}, 0.0
    for label, corners in tiling.rings():
        sums[label] = sums.get(label, 0) + area(tiling.points[corners])
        smooth_sum += area(smooth.points[corners])
    assert sums == pytest.approx({label: count for label, count in tiling.pixels.items() if label > 0})
    assert smooth_sum == pytest.approx(sum(tiling.pixels.values()))


def test_four_squares_meet_in_one_junction_and_four_on_the_border():
    tiling = Tiling.of(quarters())
    places = tiling.points[tiling.degrees > 2]
    assert sorted(map(tuple, places.tolist())) == [(-0.5, 19.5), (19.5, -0.5), (19.5, 19.5), (19.5, 39.5), (39.5, 19.5)]
    pairs = [tuple(sorted(boundary.labels)) for boundary in tiling.boundaries()]
    assert sorted(pairs) == [(-1, 1), (-1, 2), (-1, 3), (-1, 4), (1, 2), (1, 3), (2, 4), (3, 4)]


def test_boundary_labels_are_on_its_left_and_right():
    rng = np.random.default_rng(3)
    labels = np.kron(rng.integers(1, 5, (8, 9)), np.ones((6, 6), dtype=int))
    for boundary in Tiling.of(labels).boundaries():
        start, end = boundary.points[:2]
        ahead = end - start
        left = (start + end) / 2 + 0.5 * np.array([-ahead[1], ahead[0]])
        right = (start + end) / 2 - 0.5 * np.array([-ahead[1], ahead[0]])
        for place, label in zip((left, right), boundary.labels, strict=True):
            row, column = np.round(place).astype(int)
            inside = 0 <= row < labels.shape[0] and 0 <= column < labels.shape[1]
            assert (labels[row, column] if inside else -1) == label


def test_junctions_and_the_border_are_fixed():
    rng = np.random.default_rng(3)
    labels = np.kron(rng.integers(1, 5, (6, 6)), np.ones((5, 5), dtype=int))
    before, after = Tiling.of(labels), Tiling.of(labels).smoothed(10)
    np.testing.assert_array_equal(before.points[before.fixed], after.points[before.fixed])
    assert (before.degrees[before.fixed] > 2).any()
    assert not np.allclose(before.points[~before.fixed], after.points[~before.fixed])


def test_one_iteration_is_the_mean_of_three():
    labels = np.full((20, 20), 2)
    labels[5:15, 5:15] = 1
    tiling = Tiling.of(labels)
    corner = int(np.flatnonzero((tiling.points == (4.5, 4.5)).all(axis=1))[0])
    moved = tiling.smoothed(1).points[corner]
    np.testing.assert_allclose(moved, (4.5 + 1 / 3, 4.5 + 1 / 3))


def test_smoothing_removes_the_steps_of_a_disk():
    rows, columns = np.indices((80, 80)) - 40
    labels = 1 + (rows**2 + columns**2 < 30**2)
    rough, smooth = (Tiling.of(labels).smoothed(count).ensemble() for count in (0, 8))
    assert rough.features["perimeter"][0] == pytest.approx(8 * 30, rel=0.02)
    assert smooth.features["perimeter"][0] == pytest.approx(2 * np.pi * 30, rel=0.02)
    assert smooth.features["area"][0] == pytest.approx(np.pi * 30**2, rel=0.02)


def test_exclusions_are_counted_as_by_extract_curves():
    rng = np.random.default_rng(5)
    field = ndimage.gaussian_filter(rng.normal(size=(90, 90)), 3)
    labels = 1 + np.digitize(field, np.quantile(field, [0.2, 0.4, 0.6, 0.8]))
    labels[40:50, 40:50] = 7
    labels[60:62, 60:62] = 8
    ours, theirs = Tiling.of(labels).ensemble(), extract_curves(labels, smoothing=0)
    assert ours.ids.tolist() == theirs.ids.tolist() == [7]
    assert ours.dropped == theirs.dropped
    ours, theirs = Tiling.of(labels).ensemble(border=True), extract_curves(labels, smoothing=0, border=True)
    assert sorted(ours.ids) == sorted(theirs.ids)
    assert ours.dropped == theirs.dropped


def test_holes_are_separate_curves_on_request():
    labels = np.zeros((40, 40), dtype=int)
    labels[5:35, 5:35] = 3
    labels[15:25, 15:25] = 4
    labels[8:10, 8:10] = 0
    ensemble = Tiling.of(labels).ensemble(holes=True, scale=(0.5, 2.0), unit="µm")
    assert ensemble.ids.tolist() == [3, 4, -1]
    np.testing.assert_allclose(ensemble.features["area"], [900, 100, 100])
    assert ensemble.dropped == {too_small(16): 1}
    assert ensemble.unit == "µm"


@pytest.mark.parametrize("iterations", [-1, 1.5])
def test_an_invalid_number_of_iterations_is_rejected(iterations):
    with pytest.raises(ValueError, match="an integer of 0 or more"):
        Tiling.of(quarters()).smoothed(iterations)


@pytest.fixture(scope="module")
def grains(shared_data):
    return Tiling.of(imread(shared_data / "paper" / "pil184_hlf1_noisy_labels.png"))


def paper_grains(shared_data, key):
    """Curves of the paper in pixels of the label image: (row, column), integers at pixel centers."""
    data = np.load(shared_data / "paper" / "pil184_grains.npz")
    factor, *offset = data[f"{key}_to_steps"]
    steps = factor * data[f"{key}_xy"].astype(float) + offset - 0.5
    return np.split(steps[:, ::-1], data[f"{key}_offsets"][1:-1])


def rms_distance(one, other):
    """Symmetric root mean square distance between two outlines."""
    one, other = (np.concatenate(_dense(curve)) for curve in (one, other))
    gaps = np.concatenate([cKDTree(other).query(one)[0], cKDTree(one).query(other)[0]])
    return np.sqrt(np.mean(gaps**2))


def _dense(curve):
    return [curve + share * (np.roll(curve, -1, axis=0) - curve) for share in (0, 0.25, 0.5, 0.75)]


@pytest.mark.parametrize(("iterations", "key", "apart"), [(0, "hlf1_noisy", 0.26), (5, "hlf1_smooth5", 0.34)])
def test_outlines_of_grains_match_the_paper(shared_data, grains, iterations, key, apart):
    ensemble = grains.smoothed(iterations).ensemble()
    assert len(ensemble) == 466
    theirs = paper_grains(shared_data, key)
    chosen = range(0, 466, 10)
    distances = [rms_distance(ensemble[list(ensemble.ids).index(i + 1)], theirs[i]) for i in chosen]
    assert np.median(distances) < apart
    assert np.quantile(distances, 0.9) < 2 * apart


def test_smoothing_of_grains_changes_the_undulation(grains):
    rough, smooth = (grains.smoothed(count).ensemble() for count in (0, 5))
    assert compare(rough, smooth, Settings(landmarks=200, permutations=300)).case == "0∧1"


def test_a_grain_inverted_by_smoothing_is_counted_as_vanished():
    """A shallow cap: its lower boundary is held by junctions, and its free upper boundary sinks below."""
    row, column = np.indices((30, 80))
    roof = np.clip(np.minimum(column - 10, 70 - column), 0, 10)
    labels = np.where(row > 20 - roof, np.where(column < 40, 1, 4), 2)
    labels[(row <= 20 - roof) & (row > 18 - roof) & (roof > 0)] = 3
    network = Tiling.of(labels)
    assert 3 in network.ensemble(border=True, min_area=0).ids
    smooth = network.smoothed(5000)
    areas = [area(smooth.points[corners]) for label, corners in smooth.rings() if label == 3]
    assert sum(areas) < 0
    for holes in (False, True):
        ensemble = smooth.ensemble(border=True, min_area=0, holes=holes)
        assert sorted(ensemble.ids) == [1, 2, 4]
        assert ensemble.dropped[VANISHED] == 1
