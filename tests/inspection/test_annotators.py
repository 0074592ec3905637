"""Several label sets of one image: tendencies of annotators, and their consensus."""

import numpy as np
import pytest

from napari_shape_ensembles import annotators


def drawn(radius=10.0, seed=0, wobble=0.3):
    """25 disks whose radii vary a little between annotators."""
    rng = np.random.default_rng(seed)
    rows, columns = np.indices((200, 200))
    radii = radius + rng.normal(0, wobble, (5, 5))[rows // 40, columns // 40]
    return (np.hypot(rows % 40 - 20, columns % 40 - 20) < radii) * (rows // 40 * 5 + columns // 40 + 1)


def tendency(found, name, measure):
    return found.tendencies.set_index(["annotator", "measure"]).loc[(name, measure)]


def test_equal_annotators_do_not_differ():
    found = annotators([drawn(seed=seed) for seed in range(4)])
    assert (found.tendencies["p_adjusted"] > 0.05).all()
    assert "No annotator differs" in found.summary()
    assert (found.objects["votes"] == 4).all()


def test_an_annotator_who_draws_larger_is_found_with_a_valid_interval():
    found = annotators({"A": drawn(seed=1), "B": drawn(seed=2), "C": drawn(11, seed=3)})
    larger = tendency(found, "C", "size")
    assert larger.p_adjusted < 0.001
    assert larger.low < (11 / 10) ** 2 < larger.high
    assert "C marks objects" in found.summary()
    assert larger.objects == 25


def test_an_annotator_who_splits_more_is_found():
    split = drawn(seed=1)
    columns = np.indices(split.shape)[1]
    split[(split > 0) & (split <= 15) & (columns % 40 >= 20)] += 100
    found = annotators({"A": drawn(seed=2), "B": drawn(seed=3), "C": split})
    more = tendency(found, "C", "splits")
    assert (more.effect, more.objects) == (1.0, 30)
    assert more.p_adjusted < 0.001
    assert "C splits more" in found.summary()


def test_an_annotator_who_draws_rougher_is_found():
    rng = np.random.default_rng(0)
    rough = drawn(seed=1)
    near = np.roll(rough, 1, 0) + np.roll(rough, -1, 0)
    rough[(rng.random(rough.shape) < 0.5) & ((rough == 0) | (near == 0))] = 0
    frayed = np.where((rng.random(rough.shape) < 0.4) & (np.roll(rough, 1, 1) == 0), 0, rough)
    found = annotators({"A": drawn(seed=2), "B": drawn(seed=3), "C": frayed})
    assert tendency(found, "C", "smoothness").effect < 1
    assert tendency(found, "C", "smoothness").p_adjusted < 0.001
    assert tendency(found, "C", "smoothness").words.startswith("draws rougher outlines (circularity × 0.")
    same = annotators({"A": drawn(seed=2), "B": drawn(seed=2)})
    assert tendency(same, "A", "smoothness").words == "draws equally smooth outlines (circularity × 1.00)"
    assert tendency(same, "A", "size").words == "marks objects equally large"


def test_the_consensus_is_a_majority_vote_of_objects_and_pixels():
    a, b, c = (np.zeros((40, 60), int) for _ in range(3))
    a[5:15, 5:15], b[5:15, 5:17], c[5:15, 5:19] = 1, 4, 9
    a[25:35, 5:15] = 2  # annotated by one only
    b[25:35, 30:40], c[25:35, 30:40] = 5, 2
    found = annotators([a, b, c])
    expected = np.zeros((40, 60), int)
    expected[5:15, 5:17], expected[25:35, 30:40] = 1, 2
    assert (np.unique(found.consensus) == [0, 1, 2]).all()
    np.testing.assert_array_equal(found.consensus > 0, expected > 0)
    assert sorted(found.objects["votes"]) == [1, 2, 3]
    assert found.objects.loc[found.objects["votes"] == 3, ["1", "2", "3"]].to_numpy().tolist() == [[1, 4, 9]]


def test_results_do_not_depend_on_the_order_of_annotators():
    sets = {"A": drawn(seed=1), "B": drawn(9.5, seed=2), "C": drawn(10.5, seed=3)}
    one, other = annotators(sets), annotators(dict(reversed(sets.items())))
    np.testing.assert_array_equal(one.consensus > 0, other.consensus > 0)
    for name in sets:
        a, b = tendency(one, name, "size"), tendency(other, name, "size")
        assert a.effect == pytest.approx(b.effect)
        assert a.p == pytest.approx(b.p)


def hesitant(seed):
    """Disks that are moved, split or omitted at random, with shuffled labels."""
    rng = np.random.default_rng(seed)
    clean, found = drawn(seed=seed), np.zeros((200, 200), int)
    columns = np.indices(clean.shape)[1]
    for label in range(1, 26):
        own = np.roll(clean == label, rng.integers(-3, 4, 2), (0, 1))
        if rng.random() < 0.8:
            found[own] = label
        if rng.random() < 0.3:
            found[own & (columns % 40 >= 20)] = label + 25
    return np.append(0, rng.permutation(50) + 1)[found]


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_disputes_do_not_depend_on_the_order_of_annotators(count, seed):
    sets = {"ABCD"[place]: hesitant(10 * seed + place) for place in range(count)}
    found = []
    for names in (sorted(sets), sorted(sets, reverse=True)):
        compared = annotators({name: sets[name] for name in names})
        labels, table = compared.differences()
        found.append((compared.consensus, labels, sorted(table["score"].round(9))))
    for one, other in zip(*(parts[:2] for parts in found), strict=True):
        pairs = np.unique(np.stack([one.ravel(), other.ravel()]), axis=1)
        assert pairs.shape[1] == len(np.unique(one)) == len(np.unique(other))  # the same objects with other labels
    assert found[0][2] == found[1][2]


def test_annotators_without_an_object_are_reported():
    nothing = np.zeros((200, 200), int)
    assert annotators([nothing, nothing]).summary() == "2 annotators, none of whom marked an object."
    assert "mean F1 0.00, no matched objects" in annotators([drawn(), nothing]).summary()


def test_incompatible_labels_are_rejected():
    for name in ("label", "votes", "iou"):
        with pytest.raises(ValueError, match=f"cannot be named '{name}'"):
            annotators({name: drawn(), "B": drawn()})
    with pytest.raises(ValueError, match="two label sets or more"):
        annotators([drawn()])
    with pytest.raises(ValueError, match="the same shape"):
        annotators([drawn(), drawn()[1:]])
