"""Comparisons of images with unequal pixel size, at the larger one."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from skimage.io import imread

from napari_shape_ensembles import (
    Comparison,
    Ensemble,
    Settings,
    at_pixel_size,
    compare,
    decision_landscape,
    experiment,
    extract_curves,
)
from napari_shape_ensembles.outlines.resolution import at_one_pixel_size

QUICK = Settings(landmarks=100, rank=30, permutations=300)


@pytest.fixture(scope="module")
def pooled(real_data):
    """Return a function that traces nuclei from every n-th pixel, cached."""
    labels = imread(real_data / "dsb_nuclei" / "labels.png").astype(int)

    @cache
    def traced(factor):
        small = labels[::factor, ::factor]
        return extract_curves(small, scale=(factor * 0.5,) * 2, unit="µm", min_area=16, name=f"at {factor}")

    return traced


@pytest.mark.parametrize("factor", [2, 4])
def test_resampled_outlines_match_those_of_the_coarser_image(pooled, factor):
    """Areas and perimeters agree with those traced from every second or fourth pixel of the labels."""
    coarse, brought = pooled(factor), at_pixel_size(pooled(1), 0.5 * factor)
    assert brought.pixel_size == coarse.pixel_size
    one = coarse.features.merge(brought.features, on="id", suffixes=("", "_brought"))
    assert len(one) > 0.9 * len(coarse)
    for name in ("area", "perimeter"):
        ratio = one[f"{name}_brought"] / one[name]
        assert abs(ratio.median() - 1) < 0.02
        assert ratio.sub(1).abs().quantile(0.9) < 0.1


def test_nothing_changes_at_the_same_or_a_smaller_pixel_size(pooled):
    ensemble = pooled(2)
    assert at_pixel_size(ensemble, 1.0) is ensemble
    assert at_pixel_size(ensemble, 0.2) is ensemble
    for size in (0, np.nan, np.inf):
        with pytest.raises(ValueError, match="size of a pixel must be a positive number"):
            at_pixel_size(ensemble, size)
    with pytest.raises(ValueError, match="pixel size of x is unknown"):
        at_pixel_size(Ensemble(ensemble.curves, name="x"), 1.0)


def test_small_objects_are_excluded_and_counted(pooled):
    fine = pooled(1)
    coarse = at_pixel_size(fine, 4.0)
    assert len(coarse) < len(fine)
    assert sum(coarse.dropped.values()) - sum(fine.dropped.values()) >= len(fine) - len(coarse)
    (reason,) = set(coarse.dropped) - set(fine.dropped)
    assert (reason.key, reason.limit) == ("small", 16)
    assert str(reason).startswith("smaller than 16 px² at pixels of ")


def test_a_comparison_uses_the_larger_pixel_size_and_reports_it(pooled, tmp_path):
    fine, coarse = pooled(1), pooled(4)
    half = np.arange(len(coarse)) % 2 == 0
    kept = set(coarse.ids[half].tolist())
    result = compare(fine[[label not in kept for label in fine.ids.tolist()]], coarse[half], QUICK)
    assert result.a.pixel_size == result.b.pixel_size == (2.0, 2.0)
    assert result.case == "1∧1"
    assert any(words.startswith("Pixels measure 0.5 to 2 µm: all outlines were brought") for words in result.warnings)
    result.save(tmp_path / "r.npz")
    assert Comparison.load(tmp_path / "r.npz").note == result.note
    assert compare(coarse[half], coarse[~half], QUICK).note == ""


def test_outlines_too_small_for_the_larger_pixels_are_counted(pooled):
    fine, coarse = pooled(1), pooled(4)
    lost = len(fine) - len(at_pixel_size(fine, 2.0))
    assert lost > 1
    _, _, note = at_one_pixel_size(fine, coarse)
    assert note.endswith(f"; {lost} outlines too small for these pixels were left out")


def test_images_of_one_sample_may_differ_in_pixel_size(pooled):
    result = compare([pooled(1), pooled(2)], pooled(2), QUICK, overrule=True)
    assert result.a.pixel_size == (1.0, 1.0)


def test_pairs_are_compared_at_the_larger_pixel_size(pooled):
    """Halves of one population, one of them traced from every fourth pixel, do not differ."""
    fine, coarse = pooled(1), pooled(4)
    half = np.arange(len(coarse)) % 2 == 0
    kept = set(coarse.ids[half].tolist())
    a, b = fine[[label not in kept for label in fine.ids.tolist()]], coarse[half]
    design = pd.DataFrame({"group": ["a", "b"]})
    result, pairs = compare(a, b, QUICK), experiment([a, b], design, QUICK)
    assert pairs.table["undulation_statistic"][0] == result.undulation.mmd
    assert pairs.table["case"][0] == "1∧1"
    assert f"{result.note}." in pairs.warnings
    assert pairs.contrast().note == result.note
    assert experiment([coarse[half], coarse[~half]], design, QUICK).contrast().note == ""


def test_a_landscape_reports_resampling_to_one_pixel_size(pooled):
    fine, coarse = pooled(1), pooled(2)
    found = decision_landscape(fine, coarse, ranks=[5], landmarks=[40], settings=QUICK)
    assert found.note.startswith("Pixels measure 0.5 to 1 µm: all outlines were brought to the largest")
    assert found.summary().endswith(f". {found.note}.")
    same = decision_landscape(coarse, coarse, ranks=[5], landmarks=[40], settings=QUICK)
    assert (same.note, found.note in same.summary()) == ("", False)


def unsized(ensemble, name):
    return ensemble.derived(ensemble.curves, name=name, pixel_size=None)


def test_unknown_pixel_sizes_that_prevent_resampling_are_reported(pooled):
    fine, coarse = pooled(1), pooled(2)
    bare = unsized(fine, "from a table")
    words = "Outlines were not brought to one pixel size, as that of from a table is unknown: differences in roughness"
    found = compare(bare, coarse, QUICK, overrule=True)
    assert found.note.startswith(words)
    assert f"{found.note}." in found.warnings
    assert (len(found.a), len(found.b)) == (len(fine), len(coarse))
    third = np.arange(len(bare)) % 3
    images = [(bare if part == 1 else fine)[third == part] for part in range(3)]
    images += [coarse[third[: len(coarse)] == part] for part in range(3)]
    result = experiment(images, pd.DataFrame({"group": [*"aaabbb"]}), QUICK)
    assert any(one.startswith(words) for one in result.warnings)
    assert compare(bare, unsized(coarse, "drawn"), QUICK, overrule=True).note == ""  # not images, as far as is known


def test_samples_pooled_from_unequal_pixel_sizes_are_reported(pooled, tmp_path):
    fine, coarse = pooled(1), pooled(2)
    both = Ensemble.pooled([fine, coarse], name="both")
    words = "Outlines were not brought to one pixel size, as both pools images of unequal pixel size: differences"
    assert compare(both, coarse, QUICK, overrule=True).note.startswith(words)
    again = Ensemble.pooled([both, both], name="again")
    result = compare(both, again, QUICK, overrule=True)
    assert "as both, again pool images of unequal pixel size" in result.note
    result.save(tmp_path / "r.npz")
    saved = Comparison.load(tmp_path / "r.npz")
    assert compare(saved.a, saved.b, QUICK, overrule=True).note == result.note
    assert "pixel_size" not in Ensemble.pooled([coarse, coarse]).tracing


def test_images_from_an_iterator_are_resampled_to_one_pixel_size(pooled):
    images = [pooled(1), pooled(2)]
    for given in (iter(images), dict(enumerate(images)).values()):
        assert compare(given, pooled(2), QUICK, overrule=True).a.pixel_size == (1.0, 1.0)


def test_a_real_difference_is_found_between_unequal_pixel_sizes(pooled):
    fine, coarse = pooled(1), pooled(2)
    half = np.arange(len(fine)) % 2 == 0
    stretched = Ensemble([curve * (1.5, 1.0) for curve in coarse.curves], unit="µm", ids=coarse.ids, pixel_size=1.0)
    kept = set(fine.ids[half].tolist())
    other = stretched[[label not in kept for label in stretched.ids.tolist()]]
    assert compare(fine[half], other, QUICK).scale.rejected
