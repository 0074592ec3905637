"""How unusual outlines are, and why; and the colorings that show it."""

import re

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import median_abs_deviation

from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Settings, compare, unusual_outlines
from napari_shape_ensembles.comparison.colorings import COLORINGS, with_names
from napari_shape_ensembles.comparison.outline_table import outline_table
from napari_shape_ensembles.comparison.quantities import BENDS, LOBES
from napari_shape_ensembles.comparison.unusual import distance_columns, unusual_columns

QUICK = Settings(landmarks=60, rank=10, permutations=99)
COUNT = 40
LARGE, STAR, LONG = 5, 11, 23


def made(seed):
    """Blobs of nearly equal size."""
    curves = blobs(COUNT, 60, seed=seed)
    curves -= curves.mean(axis=1, keepdims=True)
    sizes = 10 * (1 + 0.1 * np.sin(np.arange(COUNT)))
    return curves * (sizes / np.linalg.norm(curves, axis=(1, 2)))[:, None, None]


@pytest.fixture(scope="module")
def outlines():
    """Blobs, of which one is 2.1 times as large, one has eight deep lobes, and one is stretched."""
    curves = made(4)
    curves[LARGE] *= 2.1
    u = 2 * np.pi * np.arange(60) / 60
    radius = np.sqrt((curves[STAR] ** 2).sum(axis=-1).mean()) * (1 + 0.4 * np.cos(8 * u))
    curves[STAR] = np.stack([radius * np.cos(u), radius * np.sin(u)], axis=-1)
    curves[LONG] = curves[LONG] * (2.5, 1 / 2.5)
    return Ensemble(list(curves), name="one")


@pytest.fixture(scope="module")
def result(outlines):
    return compare(outlines, Ensemble(list(made(5)), name="two"), QUICK)


def test_planted_outlines_are_the_most_unusual_ones_and_say_why(outlines):
    table = unusual_outlines(outlines, QUICK)
    assert {LARGE, STAR, LONG} <= set(table["unusual"].nlargest(5).index)
    assert table["unusual_size"].idxmax() == LARGE
    assert table["unusual_form"].idxmax() == STAR
    assert float(re.match(r"Unusual: (\S+) times as large as usual", table["why"][LARGE])[1]) == pytest.approx(
        2.1, abs=0.2
    )
    assert "a form with few like it: 97th percentile" in table["why"][STAR]
    assert "times as elongated as usual" in table["why"][LONG]
    assert table["why"].str.startswith("Not unusual").sum() >= COUNT / 2


def test_unusual_does_not_depend_on_place_turn_mirror_or_unit(outlines):
    turned = [curve[::-1, ::-1] @ [[0, 1], [-1, 0]] * 0.1 + (70, 9) for curve in outlines.curves]
    first, second = (unusual_outlines(Ensemble(curves), QUICK) for curves in (outlines.curves, turned))
    for name in ("unusual", "unusual_form", "unusual_size"):
        np.testing.assert_allclose(first[name], second[name], rtol=1e-6)


def test_an_elongated_outline_has_no_unusual_form(outlines):
    stretched = [curve * (1.5, 0.8) for curve in outlines.curves]
    form = [unusual_outlines(Ensemble(curves), QUICK)["unusual_form"] for curves in (outlines.curves, stretched)]
    np.testing.assert_allclose(form[0], form[1], rtol=1e-6)


def test_unusual_form_is_the_mean_distance_of_the_seven_nearest(result):
    forms = np.exp(np.stack([result.measured[name] for name in (*LOBES, *BENDS)], axis=1))
    forms /= median_abs_deviation(forms, scale="normal")
    expected = np.sort(cdist(forms, forms), axis=1)[:, 1:8].mean(axis=1)
    np.testing.assert_allclose(result.outlines["unusual_form"], expected, rtol=1e-9)


def test_a_spike_or_a_cut_is_unusual_where_waves_are_as_high():
    """Amplitudes of the waves are those of the other outlines; they meet in phase in one place, as at a spike."""
    u, k = 2 * np.pi * np.arange(240) / 240, np.arange(2, 13)[:, None]
    phases = np.random.default_rng(2).uniform(0, 2 * np.pi, (60, len(k), 1))
    phases[:2] = [[[0]], [[np.pi]]]
    radius = 1 + 0.03 * np.cos(k * u + phases).sum(axis=1)
    table = unusual_outlines(Ensemble(list(np.stack([radius * np.cos(u), radius * np.sin(u)], axis=-1))))
    assert {0, 1} == set(table["unusual_form"].nlargest(2).index)


def test_rounding_error_of_one_form_is_not_unusual():
    rng, u = np.random.default_rng(0), 2 * np.pi * np.arange(200) / 200
    curves = []
    for height in [0.1] * 19 + [0.12]:
        outline = (1 + height * np.cos(3 * u)) * np.exp(1j * (u + rng.uniform(0, 6))) + 100 * rng.normal()
        curves.append(np.stack([outline.real, outline.imag], axis=1))
    form = unusual_outlines(Ensemble(curves))["unusual_form"]
    assert form[:19].max() < 1e-3
    assert 1 < form[19] < 1e4


def test_of_many_outlines_a_sample_is_searched():
    rng = np.random.default_rng(0)
    measured = {name: rng.normal(size=6000) for name in ("size", "elongation", *LOBES, *BENDS)}
    measured["lobes 2"][17] = 8
    columns = unusual_columns(measured)
    assert columns["unusual_form"].argmax() == 17
    assert np.isfinite(columns["unusual"]).all()
    assert columns["unusual_form"].min() > 0


def test_few_outlines_have_no_usual_one(outlines):
    table = unusual_outlines(outlines[np.arange(COUNT) < 7], QUICK)
    assert table["unusual"].isna().all()
    assert table["why"].unique().tolist() == ["Fewer than 8 outlines: none is usual."]
    empty = unusual_outlines(outlines[np.zeros(COUNT, bool)], QUICK)
    assert len(empty) == 0
    assert empty.columns.tolist() == table.columns.tolist()


def test_form_and_scale_count_the_same_in_the_distance_and_outliers_do_not_move_the_middle():
    rng = np.random.default_rng(1)
    t, l = 0.1 * rng.normal(size=(200, 5)), rng.normal(size=(200, 3))
    columns = distance_columns(t, l)
    np.testing.assert_allclose(distance_columns(1000 * t, l)["distance_from_mean"], columns["distance_from_mean"])
    t[:10] += 50
    moved = distance_columns(t, l)["distance_from_mean"]
    assert np.corrcoef(moved[10:], columns["distance_from_mean"][10:])[0, 1] > 0.99


def test_every_coloring_is_a_column_and_says_what_it_means(result):
    columns = set(outline_table((result.a, result.b), result.names, result.t, result.l, result.measured))
    for name, coloring in COLORINGS.items():
        assert name == coloring.name
        assert coloring.slow or name in columns
        assert with_names(coloring.meaning, result.names).endswith(".")
        assert len(coloring.values(result)) == 2 * COUNT
        low, high = coloring.limits(coloring.values(result), 99)
        assert low < high
    assert re.match(r"Unusual: (1\.9|2|2\.[0-3]) times as large as usual", result.why_unusual(LARGE))
