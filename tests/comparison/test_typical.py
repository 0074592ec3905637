"""Typical outlines, and whether a group has a common form."""

from dataclasses import replace

import numpy as np
import pytest

from curve_makers import blobs, clover
from napari_shape_ensembles import Ensemble, Settings, compare, extract_curves
from napari_shape_ensembles.comparison.common_form import COMMON
from napari_shape_ensembles.comparison.quantities import geometric_median
from napari_shape_ensembles.comparison.typical import typical_outlines, typical_rows
from napari_shape_ensembles.explanation.headline import headline

QUICK = Settings(landmarks=60, rank=10, permutations=199)
ANGLE = np.linspace(0, 2 * np.pi, 120, endpoint=False)


def lobed(count, seed, *, common):
    """Outlines of two to six lobes, whose phases are the same, or random, in all of them."""
    rng, angle = np.random.default_rng(seed), 2 * np.pi * np.arange(120) / 120
    curves = []
    for _ in range(count):
        radius = np.ones(120)
        for lobes in range(2, 7):
            height = 0.06 * abs(1 + 0.3 * rng.normal()) / np.sqrt(lobes - 1)
            radius += height * np.cos(lobes * angle + (1.3 * lobes if common else rng.uniform(0, 2 * np.pi)))
        radius *= np.exp(0.1 * rng.normal())
        curves.append(np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1))
    return curves


@pytest.fixture(scope="module")
def larger():
    a, b = (Ensemble(list(blobs(40, 80, seed=seed) * by), name=name) for seed, by, name in ((1, 1, "x"), (2, 1.4, "y")))
    return compare(a, b, QUICK)


def test_typical_outlines_are_real_ones_of_the_middle_in_what_differs(larger):
    table = larger.typical(3)
    assert table.columns.tolist() == ["sample", "id", "rank"]
    assert table["sample"].tolist() == ["x"] * 3 + ["y"] * 3
    assert table["rank"].tolist() == [1, 2, 3] * 2
    assert set(table["id"][:3]) <= set(larger.a.ids)
    # Only the size differs: the typical sizes are in the middle.
    sizes = np.split(larger.components["size"], [40])
    for size, rows in zip(sizes, typical_rows(larger), strict=True):
        ranks = np.argsort(np.argsort(size))[rows % 40]
        assert np.abs(ranks - 19.5).max() < 10
    assert larger.typical(1)["id"].tolist() == table["id"][[0, 3]].tolist()


def test_an_outlier_is_not_typical():
    curves = lobed(20, 1, common=True)
    curves[7] = clover(3, 120, depth=0.6)
    a, b = Ensemble(curves), Ensemble(lobed(20, 2, common=True))
    result = compare(a, b, QUICK, overrule=True)
    assert 7 not in typical_rows(result, 10)[0]
    assert 7 in typical_rows(result, 20)[0]


def test_an_outline_that_was_cut_for_the_comparison_is_not_typical(larger):
    """What is drawn is the outline as given, which no longer looks as it was compared."""
    first, second = typical_rows(larger)
    cut = [0.8 * curve if row == first[0] else curve for row, curve in enumerate(larger.a.curves)]
    again = typical_rows(replace(larger, compared=(larger.a.derived(cut), larger.b)), 10)
    assert first[0] not in again[0]
    assert second[0] in again[1]


def test_typical_outlines_keep_their_size_and_are_turned_alike(larger):
    rows = typical_rows(larger)
    for side, outlines, own in zip((larger.a, larger.b), typical_outlines(larger, rows), rows, strict=True):
        for outline, row in zip(outlines, own.tolist(), strict=True):
            given = side.curves[row % 40]
            assert np.ptp(np.linalg.norm(outline, axis=1)) > 0
            spread = np.linalg.norm(given - given.mean(axis=0), axis=1).max()
            assert np.linalg.norm(outline, axis=1).max() == pytest.approx(spread, rel=0.1)


@pytest.mark.parametrize("n", [0, -1, 1.5, "3"])
def test_a_number_of_typical_outlines_is_a_positive_integer(larger, n):
    with pytest.raises(ValueError, match="typical outlines: give a positive integer"):
        larger.typical(n)


def test_small_samples_have_fewer_typical_outlines():
    a, b = (Ensemble(list(blobs(count, 80, seed=count))) for count in (2, 12))
    result = compare(a, b, QUICK, overrule=True)
    assert [len(rows) for rows in typical_rows(result, 5)] == [2, 5]


def test_repeated_outlines_have_their_own_form_in_common():
    one, *others = blobs(20, 80, seed=1)
    repeated, single = (
        compare(Ensemble([one] * count), Ensemble(others), QUICK, overrule=True).common_form[0] for count in (20, 1)
    )
    assert repeated < 1e-6
    assert single == 1


@pytest.mark.parametrize("lobes", [0, 5, 6])
def test_one_form_in_many_sizes_is_a_common_form(lobes):
    """A circle too, and what has waves of one number, as phases drawn at random change no form of those."""
    rng, angle = np.random.default_rng(0), 2 * np.pi * np.arange(120) / 120
    z = (1 + 0.2 * np.cos(lobes * angle)) * np.exp(1j * angle)
    sides = [z * np.exp(1j * turn) * size for size, turn in rng.uniform(1, 6, (24, 2))]
    curves = [np.stack([one.real, one.imag], axis=-1) for one in sides]
    result = compare(Ensemble(curves[:12]), Ensemble(curves[12:]), QUICK, overrule=True)
    assert result.common_form == (0, 0)
    assert headline(result).formless == ""


@pytest.mark.parametrize(("dents", "common"), [((1,), True), ((3, 4, 5), False)])
def test_round_outlines_have_a_common_form_with_a_dent_each_but_not_with_several_anywhere(dents, common):
    def dented(seed):
        rng, curves = np.random.default_rng(seed), []
        for _ in range(50):
            depth = np.zeros(120)
            for place in rng.uniform(0, 2 * np.pi, rng.choice(dents)):
                depth += rng.uniform(0.1, 0.25) * np.exp(
                    -((((ANGLE - place + np.pi) % (2 * np.pi) - np.pi) / 0.35) ** 2)
                )
            curves.append((1 - depth)[:, None] * np.stack([np.sin(ANGLE), np.cos(ANGLE)], axis=-1))
        return Ensemble(curves)

    assert compare(dented(1), dented(2), QUICK).has_common_form == (common, common)


def test_discs_of_pixels_have_a_common_form():
    """Differently traced at every position, by less than a picture shows."""
    rng, (row, column) = np.random.default_rng(0), np.mgrid[:300, :360]
    labels = np.zeros(row.shape, dtype=int)
    for place in range(30):
        center = 30 + 60 * np.array(divmod(place, 6)) + rng.uniform(-1, 1, 2)
        labels[np.hypot(row - center[0], column - center[1]) < rng.uniform(12, 24)] = place + 1
    curves = extract_curves(labels).curves
    result = compare(Ensemble(curves[:15]), Ensemble(curves[15:]), QUICK, overrule=True)
    assert result.has_common_form == (True, True)


def test_a_mean_is_drawn_only_of_outlines_with_a_common_form():
    with_form, without = (
        compare(*(Ensemble(lobed(60, seed, common=common)) for seed in (1, 2)), QUICK) for common in (True, False)
    )
    assert max(with_form.common_form) < 0.6 < COMMON < 0.9 < min(without.common_form)
    assert headline(with_form).formless == ""
    for side, (mean, band) in zip((0, 1), headline(with_form).means, strict=True):
        # Half of the forms are within the band at every point, and the mean is inside of it nearly everywhere.
        outer, inner = band[: len(mean)], band[: len(mean) + 1 : -1]
        assert (np.linalg.norm(outer, axis=1) > np.linalg.norm(inner, axis=1)).all()
        first = typical_outlines(with_form, typical_rows(with_form))[side][0]
        from_first = np.linalg.norm(mean[:, None] - first[None], axis=-1).min(axis=1)
        assert from_first.max() < 0.15 * np.linalg.norm(first, axis=1).mean()
    assert headline(without).means == (None, None)
    for result, means in ((with_form, headline(with_form).means), (without, ())):
        dashed = [line.get_xydata() for line in result.plot().lines if line.get_linestyle() == "--"]
        for drawn, (mean, _) in zip(dashed, means, strict=True):
            np.testing.assert_allclose(np.ptp(drawn, axis=0), np.ptp(mean[:, ::-1], axis=0))
    assert headline(without).formless.startswith("The outlines of A and of B have no common form")


def test_outliers_do_not_pull_the_geometric_median():
    points = np.random.default_rng(0).normal(size=(50, 4))
    points[:5] += 100
    assert np.linalg.norm(geometric_median(points, np.ones(50))) < 1
    assert np.linalg.norm(points.mean(axis=0)) > 10
    np.testing.assert_allclose(geometric_median(points[:1], np.ones(1)), points[0])
