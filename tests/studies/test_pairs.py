"""All pairs: Holm's correction, a common metric, a dendrogram, and the family-wise level."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Settings, all_pairs, compare
from napari_shape_ensembles.studies.pairs import holm

QUICK = Settings(landmarks=60, rank=15, permutations=199, significance=0.05)


def image(name, seed, *, count=40, stretch=1.0, roughness=0.15):
    return Ensemble(list(blobs(count, 60, seed=seed, roughness=roughness) * stretch), name=name)


@pytest.fixture(scope="module")
def four():
    """Two images of one type, and two with larger and rougher outlines."""
    images = [image("a", 1), image("c", 2, stretch=3, roughness=0.3), image("b", 3)]
    return all_pairs([*images, image("d", 4, stretch=3, roughness=0.3)], QUICK)


def test_two_images_agree_with_compare():
    a, b = image("a", 1), image("b", 2, stretch=1.2)
    settings = Settings(landmarks=60, rank=15, permutations=400, significance=0.05)
    table, result = all_pairs([a, b], settings), compare(a, b, settings)
    assert table.settings.permutations == 400
    for test, expected in ((table.undulation, result.undulation), (table.scale, result.scale)):
        assert test.mmd[0, 1] == test.mmd[1, 0] == pytest.approx(expected.mmd, abs=1e-9)
        assert test.p_value[0, 1] == pytest.approx(expected.p_value)
    assert table.pmmd[0, 1] == pytest.approx(result.pmmd, abs=1e-9)


def test_results_of_pooled_images_hold_for_these_images_only():
    entries = [[image("a", 1), image("b", 2)], image("c", 3)]
    table = all_pairs(entries, QUICK)
    assert compare(*entries, QUICK).permuted == "images"
    assert table.of_these_images
    assert "Single outlines were permuted: the rows hold for these images only, not for the cond" in table.summary()
    assert not all_pairs([image("a", 1), image("c", 3)], QUICK).of_these_images


def test_serious_outline_faults_withhold_the_row_of_a_pair():
    a, few = image("a", 1), image("few", 2, count=6)
    table = all_pairs([a, a, few, image("b", 3)], QUICK)
    withheld = {tuple(pair) for pair in np.argwhere(np.triu(table.case == "inconclusive")).tolist()}
    assert withheld == {(0, 1), (0, 2), (1, 2), (2, 3)}
    assert table.case[1, 0] == "inconclusive"
    assert "a and a (2): 40 outlines occur twice, in a and in a (2): look at the outlines first." in table.summary()
    assert "a and few: few has only 6 curves; at least 10 are needed: look at" in table.summary()
    assert table.summary().endswith(" Faults of the outlines in 1 more pair.")
    assert table.table()["case"].tolist().count("inconclusive") == len(withheld)
    overruled = all_pairs([a, a, image("b", 3)], replace(QUICK, overrule=True))
    assert overruled.case[0].tolist() == ["1∧1", "1∧1", "1∧1"]
    assert "a and a (2): 40 outlines occur twice" in overruled.summary()


def test_only_pairs_of_different_types_differ(four):
    kinds = np.array([0, 1, 0, 1])
    same = kinds[:, None] == kinds
    assert (four.case[same] == "1∧1").all()
    assert (four.case[~same] == "0∧0").all()
    assert four.case[0, 0] == "1∧1"


def test_matrices_are_symmetric_with_zero_diagonal(four):
    assert four.complete
    for matrix in (four.pmmd, four.undulation.mmd, four.scale.p_value, four.scale.adjusted):
        np.testing.assert_array_equal(matrix, matrix.T)
    assert (np.diag(four.pmmd) == 0).all()
    assert (np.diag(four.scale.adjusted) == 1).all()


def test_the_shared_kernel_makes_the_mmd_a_metric(four):
    for matrix in (four.undulation.kernel_mmd, four.scale.kernel_mmd, four.distance):
        through = matrix[:, :, None] + matrix[None]
        assert (matrix <= through.min(axis=1) + 1e-12).all()


def test_the_mmd_uses_the_mean_of_both_kernels():
    images = [image("a", 1), image("b", 2, roughness=0.25), image("c", 3)]
    both, raw, normalized = (
        all_pairs(images, replace(QUICK, coordinates=kind)).undulation for kind in ("both", "raw", "normalized")
    )
    np.testing.assert_allclose(both.kernel_mmd**2, (raw.mmd**2 + normalized.mmd**2) / 2, atol=1e-12)
    np.testing.assert_allclose(raw.kernel_mmd, raw.mmd, atol=1e-12)


def test_the_dendrogram_joins_types_first_and_keeps_them_adjacent(four):
    first, second = ({int(i) for i in step[:2]} for step in four.linkage[:2])
    assert {frozenset(first), frozenset(second)} == {frozenset({0, 2}), frozenset({1, 3})}
    assert set(four.order[:2].tolist()) in ({0, 2}, {1, 3})


def test_enough_permutations_are_drawn_for_holm_to_reject_at_all(four):
    assert four.settings.permutations == 3 * 12 / 0.05
    assert "6 pairs" in four.summary()
    assert "(Holm)" in four.summary()


def test_the_table_lists_every_pair(four):
    table = four.table()
    assert table[["a", "b"]].to_numpy().tolist() == [list(pair) for pair in ("ac", "ab", "ad", "cb", "cd", "bd")]
    assert (table["undulation_adjusted"] >= table["undulation_p_value"]).all()


def test_an_executor_gives_the_same_results(four):
    images = [image("a", 1), image("c", 2, stretch=3, roughness=0.3), image("b", 3)]
    images.append(image("d", 4, stretch=3, roughness=0.3))
    with ThreadPoolExecutor(2) as pool:
        other = all_pairs(images, QUICK, executor=pool)
    np.testing.assert_array_equal(other.undulation.p_value, four.undulation.p_value)
    np.testing.assert_array_equal(other.pmmd, four.pmmd)


def test_partial_results_pair_by_pair():
    steps = []
    all_pairs([image(str(seed), seed) for seed in range(3)], QUICK, progress=steps.append)
    assert [step.done for step in steps][-3:] == [1, 2, 3]
    half = steps[-2].result
    assert not half.complete
    assert half.case[1, 2] == ""
    assert "not computed 1 ×" in half.summary()
    with pytest.raises(ValueError, match="to completion"):
        half.linkage  # noqa: B018


def test_an_entry_of_several_images_is_pooled_and_units_are_converted():
    fine = Ensemble([curve * 1000 for curve in image("c", 3).curves], name="c", unit="nm")
    others = [Ensemble(list(image(name, seed).curves), name=name, unit="µm") for seed, name in enumerate("ab")]
    table = all_pairs([others, fine], QUICK)
    assert table.names == ("a + b", "c")
    assert table.sizes == (80, 40)
    assert not table.scale_rejected[0, 1]


def test_too_few_curves_are_inconclusive_at_the_corrected_level():
    anyway = replace(QUICK, overrule=True)
    tiny = all_pairs([image("a", 1, count=3), image("b", 2, count=3), image("c", 4)], anyway)
    assert tiny.case[0, 1] == "inconclusive"
    assert tiny.case[0, 2] == "1∧1"
    # The 1716 labelings of 6 and 7 curves reach 0.01 for one pair, but not corrected for six tests.
    six, seven = image("a", 1, count=6), image("b", 2, count=7)
    assert all_pairs([six, seven, image("c", 4)], anyway).case[0, 1] == "1∧1"
    strict = replace(anyway, significance=0.01, permutations=999)
    assert compare(six, seven, strict).case == "1∧1"
    assert all_pairs([six, seven, image("c", 3)], strict).case[0, 1] == "inconclusive"


def test_images_may_come_from_a_generator():
    a, b = image("a", 1), image("b", 2)
    assert all_pairs((one for one in (a, b)), QUICK).names == ("a", "b")
    assert Ensemble.pooled(one for one in (a, b)).name == "a + b"


def test_one_image_has_no_pairs():
    with pytest.raises(ValueError, match="at least two"):
        all_pairs([image("a", 1)])


@given(arrays(float, st.integers(1, 12), elements=st.floats(0, 1)))
def test_holm_agrees_with_the_step_down_procedure(p_values):
    adjusted = holm(p_values)
    for level in (0.01, 0.05, 0.3):
        rejected = np.zeros(len(p_values), dtype=bool)
        for step, place in enumerate(np.argsort(p_values, kind="stable")):
            if p_values[place] > level / (len(p_values) - step) * (1 + 1e-12):
                break
            rejected[place] = True
        np.testing.assert_array_equal(adjusted <= level * (1 + 1e-12), rejected)


def test_holm_on_a_textbook_example_and_with_pending_tests():
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm(np.array([0.01, np.nan, 0.02])), [0.03, np.nan, 0.04])


def test_all_images_without_curves_are_reported_together():
    images = [image("a", 1), Ensemble([], name="none"), image("b", 2), Ensemble([])]
    with pytest.raises(ValueError, match=r"2 of 4 images have no usable outline \(none, image 4\): remove them"):
        all_pairs(images, QUICK)


def test_repeated_names_are_made_unique():
    table = all_pairs([image(name, seed, count=9) for seed, name in enumerate(["a", "a", "a (2)", ""])], QUICK)
    assert table.names == ("a", "a (2)", "a (2) (2)", "image 4")
