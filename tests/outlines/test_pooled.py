"""Several images pooled into one ensemble."""

import pickle

import numpy as np
import pytest

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Settings, compare
from napari_shape_ensembles.outlines.reasons import OPEN, Reason


def image(name, seed, count=5, **options):
    return Ensemble(list(blobs(count, 40, seed=seed)), name=name, **options)


def test_curves_keep_images_ids_and_exclusion_counts():
    one = image("one", 1, ids=[3, 5, 7, 9, 11], dropped={OPEN: 2})
    two = image("two", 2, ids=[2, 4, 6, 8, 10], dropped={OPEN: 1, Reason("tiny"): 4})
    both = Ensemble.pooled([one, two])
    assert len(both) == 10
    assert both.name == "one + two"
    assert both.images.tolist() == ["one"] * 5 + ["two"] * 5
    assert both.ids.tolist() == [*one.ids, *two.ids]
    assert both.dropped == {OPEN: 3, Reason("tiny"): 4}
    np.testing.assert_array_equal(both[7], two[2])


def test_clashing_ids_are_prefixed_by_their_image():
    both = Ensemble.pooled([image("spot", 1, 2), image("spot", 2, 2)], name="all")
    assert both.name == "all"
    assert both.ids.tolist() == ["spot:0", "spot:1", "spot (2):0", "spot (2):1"]
    assert both.images.tolist() == ["spot", "spot", "spot (2)", "spot (2)"]


def test_images_are_pooled_in_the_unit_of_the_first():
    both = Ensemble.pooled([image("a", 1, unit="um"), image("b", 2, unit="nm")])
    assert both.unit == "um"
    np.testing.assert_allclose(both[5], image("b", 2)[0] / 1000)
    with pytest.raises(ValueError, match="give all images a pixel size"):
        Ensemble.pooled([image("a", 1, unit="um"), image("b", 2)])


def test_the_image_of_a_curve_is_kept_by_indexing_converting_and_pickling():
    both = Ensemble.pooled([image("a", 1, unit="um"), image("b", 2, unit="um")])
    chosen = both[np.arange(10) % 4 == 3]
    assert chosen.images.tolist() == ["a", "b"]
    assert chosen.to("nm").images.tolist() == ["a", "b"]
    again = pickle.loads(pickle.dumps(both))
    assert again.images.tolist() == both.images.tolist()
    np.testing.assert_array_equal(again.vertices, both.vertices)
    assert not again.vertices.flags.writeable
    assert Ensemble.pooled([chosen, image("c", 3, 1, unit="um")]).images.tolist() == ["a", "b", "c"]


def test_a_pickle_holds_every_vertex_once():
    ensemble = image("a", 1, 100)
    alone = len(pickle.dumps(ensemble))
    assert len(ensemble.curves) == len(ensemble.features) == 100
    assert len(pickle.dumps(ensemble)) == alone


def test_excluded_curves_take_their_image_along():
    bad = np.zeros((3, 2))
    ensemble = Ensemble([blobs(1, 30)[0], bad, blobs(1, 30, seed=1)[0]], images=["a", "b", "c"])
    assert ensemble.images.tolist() == ["a", "c"]
    with pytest.raises(ValueError, match="2 curves need 2 names of images"):
        Ensemble(list(blobs(2, 30)), images=["a"])


def test_no_images_are_rejected_and_one_image_is_unchanged():
    with pytest.raises(ValueError, match="at least one image"):
        Ensemble.pooled([])
    one = image("a", 1)
    assert Ensemble.pooled([one]) is one
    assert one.images.tolist() == ["a"] * 5


def test_groups_of_images_are_compared_like_their_pool():
    a, b, c = (image(name, seed, 20) for name, seed in (("a", 1), ("b", 2), ("c", 3)))
    settings = Settings(landmarks=50, rank=10, permutations=99)
    grouped = compare([a, b], c, settings)
    assert (len(grouped.a), len(grouped.b)) == (40, 20)
    assert grouped.undulation.p_value == compare(Ensemble.pooled([a, b]), c, settings).undulation.p_value


def test_images_with_the_same_name_remain_separate():
    pool = Ensemble.pooled([image("x", 1), image("x", 2), image("x (2)", 3)])
    assert len(set(pool.images)) == 3
    assert len(set(pool.ids)) == len(pool)


def test_images_remain_separate_in_nested_pools():
    one = Ensemble.pooled([image("a", 1), image("b", 2)])
    again = Ensemble.pooled([one, one])
    assert sorted(set(again.images)) == ["a", "a (2)", "b", "b (2)"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], ["1", "x"]),
        ([2**53 + 1, 1], [2.0**53, 2.5]),
        (np.array([2**63 + 1, 2**63 + 2], np.uint64), [1, 2]),
    ],
)
def test_ids_of_different_types_remain_distinct_and_exact(one, other):
    pool = Ensemble.pooled([image("a", 1, len(one), ids=one), image("b", 2, 2, ids=other)])
    assert pool.ids.tolist() == [*(f"a:{value}" for value in one), *(f"b:{value}" for value in other)]


def test_ids_that_clash_even_with_their_image_are_numbered():
    pool = Ensemble.pooled([image("a", 1, 2, ids=["1:2", "q"]), image("a:1", 2, 2, ids=["2", "q"])])
    assert pool.ids.tolist() == ["a:1:2", "a:q", "a:1:2 (2)", "a:1:q"]
