"""The tree of candidate regions: measurements versus single masks, and selection versus exhaustive search."""

from itertools import combinations

import numpy as np
import pytest
from scipy import ndimage

from napari_shape_ensembles.outlines.hierarchy import Candidates, object_features


@pytest.fixture(scope="module")
def planes():
    """Probabilities with overlapping blobs, one of them at the border; gray levels and gradients."""
    rng = np.random.default_rng(3)
    rows, columns = np.indices((60, 80))
    inside = np.zeros(rows.shape)
    for row, column, radius in [(20, 20, 9), (22, 36, 8), (38, 28, 7), (45, 60, 10), (30, 66, 8), (2, 60, 6)]:
        inside = np.maximum(inside, np.clip(1.5 - np.hypot(rows - row, columns - column) / radius, 0, 1))
    levels = inside + 0.1 * rng.normal(size=inside.shape)
    return inside, inside - 0.5, levels, ndimage.gaussian_gradient_magnitude(levels, 1)


EXAMPLES = np.array([[250.0, 0.05, 0.2, 0.05], [180.0, 0.06, 0.25, 0.06], [300.0, 0.04, 0.2, 0.05]])


def masks(candidates):
    """Pixels of every candidate."""
    found = [candidates.basins == number for number in range(1, int(candidates.basins.max()) + 1)]
    for one, other in candidates.children[len(found) :]:
        found.append(found[one] | found[other])
    return found


def test_measurements_of_unions_match_their_masks(planes):
    inside, _, levels, edges = planes
    candidates = Candidates.of(*planes, EXAMPLES)
    assert len(candidates.children) > candidates.basins.max() > 5
    for node, mask in enumerate(masks(candidates)):
        ((area, concavity, texture, edge),) = object_features(mask.astype(int), levels, edges)
        assert area == mask.sum()
        assert texture == pytest.approx(levels[mask].std())
        assert candidates.measures["concavity"][node] == pytest.approx(concavity)
        assert candidates.measures["inside"][node] == pytest.approx(inside[mask].mean())
        size = (np.log(area) - np.log(250)) / 0.4
        assert candidates.measures["size"][node] == pytest.approx(size)
        assert candidates.measures["edge"][node] == pytest.approx((edge - 0.05) / 0.01)
        steps = [mask[one] & ~mask[other] for one, other in neighbours()]
        along = np.concatenate([inside[one][step] for (one, _), step in zip(neighbours(), steps, strict=True)])
        assert candidates.measures["rim"][node] == pytest.approx(along.mean())
        at_border = mask[[0, -1]].any() or mask[:, [0, -1]].any()
        assert candidates.measures["at border"][node] == at_border


def neighbours():
    pairs = [(np.s_[:, 1:], np.s_[:, :-1]), (np.s_[1:], np.s_[:-1])]
    return [*pairs, *(pair[::-1] for pair in pairs)]


@pytest.mark.parametrize("seed", range(5))
def test_the_selection_is_the_best_set_without_overlap(planes, seed):
    candidates = Candidates.of(*planes, EXAMPLES)
    gain = np.random.default_rng(seed).normal(size=len(candidates.children))
    every = masks(candidates)
    few = [node for node in range(len(gain)) if gain[node] > 0]
    best = max(
        (
            gain[list(some)].sum()
            for count in range(len(few) + 1)
            for some in combinations(few, count)
            if np.sum([every[node] for node in some], axis=0).max(initial=0) <= 1
        ),
        default=0.0,
    )
    chosen = candidates.best(gain)
    assert np.sum([every[node] for node in chosen], axis=0).max() == 1
    assert gain[chosen].sum() == pytest.approx(best)


def test_a_square_has_no_concavities_and_an_empty_plane_no_candidates():
    square = np.zeros((20, 20), int)
    square[5:15, 5:15] = 7
    assert object_features(square, square / 7, square / 7).tolist() == [[100, 0, 0, 1]]
    empty = np.zeros((20, 20))
    assert Candidates.of(empty, empty, empty, empty, EXAMPLES).objects().max() == 0
