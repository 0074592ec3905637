"""Couplings of scale and form: which the two tests of the row cannot see."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from napari_shape_ensembles import Ensemble, Settings, compare
from napari_shape_ensembles.comparison.coupling import coupling

QUICK = Settings(landmarks=80, rank=8, permutations=199)


def image(seed, coupled, count=60, images=1):
    """Circles with waves whose amplitude is independent of their size, or grows with it; equal margins."""
    rng = np.random.default_rng(seed)
    u = 2 * np.pi * np.arange(120) / 120
    found = []
    for place in range(images):
        size = stats.norm.ppf((rng.permutation(count) + 0.5) / count)
        wave = size if coupled else rng.permutation(size)
        wave = stats.norm.ppf((stats.rankdata(wave + 0.5 * rng.normal(size=count)) - 0.5) / count)
        radius = 1 + 0.02 * np.exp(0.3 * wave)[:, None] * np.cos(9 * u + 2 * np.pi * rng.random((count, 1)))
        radius = radius * (1 + 0.05 * np.cos(3 * u)) * 20 * np.exp(0.2 * size)[:, None]
        curves = np.stack([radius * np.sin(u), radius * np.cos(u)], axis=-1) + rng.normal(size=(count, 1, 2))
        found.append(Ensemble(list(curves), name=f"{seed} {place}", unit="µm"))
    return found


def test_a_coupling_in_one_sample_alone_is_found_beside_an_equal_row():
    result = compare(image(1, False), image(2, True), QUICK)
    assert result.case == "1∧1"
    (words,) = (words for words in result.warnings if "related differently" in words)
    assert words.startswith("Outside the row: size and roughness of the outlines are related differently")
    row = result.coupling.query("scale == 'size' and form == 'roughness'").iloc[0]
    for side, column in ((slice(60), "correlation_a"), (slice(60, None), "correlation_b")):
        expected = stats.spearmanr(result.components["size"][side], result.components["roughness"][side]).statistic
        assert row[column] == pytest.approx(expected)


def test_the_same_coupling_in_both_is_none():
    assert (compare(image(3, True), image(4, True), QUICK).coupling["p_adjusted"] > 0.05).all()


@pytest.mark.parametrize("noise", [0, 1e-3, 0.05])
def test_two_nearly_perfect_correlations_do_not_differ_for_their_numbers_of_outlines(noise):
    rng = np.random.default_rng(0)
    size = rng.normal(size=312)
    quantities = {"size": size, "elongation": size, "roughness": size + noise * rng.normal(size=312)}
    pair = SimpleNamespace(
        a=range(12), t=np.zeros(312), replicates=None, components=quantities, descriptors=np.zeros((312, 0))
    )
    assert (coupling(pair)["p"] > 0.1).all()


def test_the_level_holds_if_size_and_roughness_depend_on_each_other_without_a_trend():
    """Such as two kinds of outlines with opposite trends: rank correlations vary more than of independent pairs."""
    rng, found = np.random.default_rng(0), []
    for _ in range(300):
        size, kind = rng.normal(size=80), rng.choice([-3, 3], size=80)
        quantities = {"size": size, "elongation": rng.normal(size=80), "roughness": kind * size + rng.normal(size=80)}
        pair = SimpleNamespace(
            a=range(40), t=np.zeros(80), replicates=None, components=quantities, descriptors=np.zeros((80, 0))
        )
        found.append(coupling(pair).query("scale == 'size'")["p"].iloc[0])
    assert 2 <= np.count_nonzero(np.array(found) <= 0.05) <= 26


def test_replicates_are_compared_by_their_own_correlations():
    result = compare(image(5, False, 20, 4), image(6, True, 20, 4), QUICK)
    assert result.permuted == "images"
    row = result.coupling.query("scale == 'size' and form == 'roughness'").iloc[0]
    size, rough = result.components["size"], result.components["roughness"]
    z = [np.arctanh(stats.spearmanr(size[i : i + 20], rough[i : i + 20]).statistic) for i in range(0, 160, 20)]
    assert row["p"] == pytest.approx(stats.ttest_ind(z[:4], z[4:], equal_var=False).pvalue, rel=1e-6)
    assert row["p_adjusted"] < 0.01
