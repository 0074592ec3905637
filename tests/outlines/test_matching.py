"""Matching of two segmentations: partners, merges and splits versus plain counting; distances between outlines."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from skimage.draw import disk

from curve_makers import ellipse
from napari_shape_ensembles import Ensemble
from napari_shape_ensembles.outlines import match_labels
from napari_shape_ensembles.outlines.matching import boundary_distances

planes = arrays(np.uint8, (9, 11), elements=st.integers(0, 4))


def scene():
    a, b = np.zeros((2, 100, 140), dtype=np.uint16)
    a[disk((20, 20), 12)], b[disk((21, 20), 12)] = 5, 40
    a[disk((20, 60), 10)], a[disk((20, 80), 10)] = 6, 7
    b[10:31, 50:91] = 41
    a[60:90, 10:50] = 8
    b[60:90, 10:29], b[60:90, 31:50] = 42, 43
    a[disk((70, 70), 8)] = 9
    b[disk((70, 110), 8)] = 44
    return a, b


def test_partners_merges_splits_and_unmatched_objects():
    matching = match_labels(*scene())
    assert matching.pairs[["a", "b"]].to_numpy().tolist() == [[5, 40]]
    assert matching.only_a == (6, 7, 8, 9)
    assert matching.only_b == (41, 42, 43, 44)
    assert matching.merges == {41: (6, 7)}
    assert matching.splits == {8: (42, 43)}
    assert "1 merged in B, 1 split in B" in matching.summary()


def test_the_two_sides_can_be_swapped():
    one, other = match_labels(*scene()), match_labels(*scene()[::-1])
    assert one.merges == other.splits
    assert one.only_a == other.only_b
    assert one.pairs["iou"].tolist() == other.pairs["iou"].tolist()


def test_a_lower_iou_threshold_accepts_the_best_partner():
    matching = match_labels(*scene(), min_iou=0.2)
    assert matching.pairs["a"].tolist() == [5, 6, 8] or matching.pairs["a"].tolist() == [5, 7, 8]


@settings(max_examples=150)
@given(planes, planes, st.sampled_from([0.1, 0.3, 0.5, 0.8]))
def test_matching_agrees_with_plain_counting(a, b, least):
    a, b = np.pad(a, 2), np.pad(b, 2)
    a[0, 0], a[0, -1], b[0, 0], b[0, -1] = 8, 9, 8, 9  # two values, so that it is not taken for a mask
    matching = match_labels(a, b, min_iou=least)
    iou = {(i, j): plain_iou(a == i, b == j) for i in set(a.flat) - {0} for j in set(b.flat) - {0}}
    found = {(row.a, row.b): row.iou for row in matching.pairs.itertuples()}
    assert found == pytest.approx({pair: iou[pair] for pair in found})
    assert all(value >= least for value in found.values())
    assert len({i for i, _ in found}) == len({j for _, j in found}) == len(found)
    assert {i for i, _ in found} | set(matching.only_a) == set(a.flat) - {0}
    if least >= 0.5:
        assert {pair for pair, value in iou.items() if value >= least} >= set(found)
        assert sum(value > 0.5 for value in iou.values()) <= len(found) or least > 0.5
    else:
        assert sum(found.values()) >= greedy(iou, least) - 1e-12


def test_matching_of_more_objects_than_fit_into_a_dense_table():
    one = np.arange(1, 901).reshape(30, 30)
    other = np.roll(one, 7)
    other[0, 0] = 0
    pairs = match_labels(one, other).pairs
    assert pairs["a"].tolist() == [*range(2, 901)]
    assert pairs["b"].tolist() == other.ravel()[1:].tolist()
    assert (pairs["iou"] == 1).all()


def plain_iou(one, other):
    return (one & other).sum() / (one | other).sum()


def greedy(iou, least):
    total, used = 0, set()
    for (i, j), value in sorted(iou.items(), key=lambda item: -item[1]):
        if value >= least and not {("a", i), ("b", j)} & used:
            used |= {("a", i), ("b", j)}
            total += value
    return total


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        (np.zeros((3, 3), int), np.zeros((3, 4), int), {}, r"the same shape, not \(3, 3\) and \(3, 4\)"),
        (np.zeros((3, 3), int), np.zeros((3, 3), int), {"min_iou": 0}, "above 0"),
        (
            np.arange(900).reshape(30, 30) % 99,
            np.eye(30, dtype=int),
            {},
            "99 values from 0 to 98 in small",
        ),
    ],
)
def test_malformed_input_is_rejected(a, b, options, message):
    with pytest.raises(ValueError, match=message):
        match_labels(a, b, **options)


def test_no_objects_match_nothing():
    matching = match_labels(np.zeros((4, 4), int), np.zeros((4, 4), int))
    assert len(matching.pairs) == 0
    assert "0 matched" in matching.summary()


def test_distance_between_circles_is_the_difference_of_radii():
    distances = boundary_distances(Ensemble([ellipse(10, 10)]), Ensemble([ellipse(12, 12)]))
    np.testing.assert_allclose(distances, [[2, 2]], rtol=1e-3)


def test_a_spike_affects_only_the_largest_distance():
    box = np.array([[0, 0], [0, 50], [50, 50], [50, 0]], dtype=float)
    spiked = np.insert(box, 1, [[0, 24], [-20, 25], [0, 26]], axis=0)
    mean, largest = boundary_distances(Ensemble([box]), Ensemble([spiked]))[0]
    assert largest == pytest.approx(20, abs=1)
    assert mean < 2.5


def test_unequal_numbers_of_curves_are_rejected():
    with pytest.raises(ValueError, match="1 curves in pixel cannot be matched with 1 curves in mm"):
        boundary_distances(Ensemble([ellipse(1, 1)]), Ensemble([ellipse(1, 1)], unit="mm"))
