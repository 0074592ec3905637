"""Quality checks: each on a case it is meant for, and none on good outlines."""

import numpy as np
import pytest
from scipy import ndimage
from skimage.io import imread

from napari_shape_ensembles import Comparison, Ensemble, Settings, compare, extract_curves, quality, samples
from napari_shape_ensembles.cli import FailingResult, hit
from napari_shape_ensembles.outlines import Reason, at_pixel_size
from napari_shape_ensembles.outlines.gate import reasons_of_sets

QUICK = Settings(landmarks=60, rank=10, permutations=300)


def outlines(count=40, *, seed=0, size=20.0, vertices=90, name="", rough=0.05):
    """Return ellipses with a few random waves."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0, 2 * np.pi, vertices, endpoint=False)
    curves = []
    for place in range(count):
        waves = sum(rng.normal(0, rough) * np.cos(k * angle + rng.uniform(0, 6)) for k in range(2, 6))
        radius = size * rng.lognormal(0, 0.15) * (1 + waves)
        curves.append(np.stack([radius * np.sin(angle), 1.3 * radius * np.cos(angle) + 100 * place], axis=1))
    return Ensemble(curves, name=name, pixel_size=1.0)


def checks(a, b, *, serious=None):
    return [item.check for item in quality(a, b).findings if serious is None or item.serious is serious]


def test_good_outlines_pass():
    assert not quality(outlines(seed=1, name="a"), outlines(seed=2, name="b"))
    assert quality(outlines(seed=1), outlines(seed=2)).reason is None
    for sample in (samples.powder_outlines(), samples.nuclei_labels(), samples.cells()):
        assert checks(*sample.ensembles(), serious=True) == []


def test_gaps_between_objects_withhold_the_row():
    angle = np.linspace(0, 2 * np.pi, 90, endpoint=False)
    gap = np.stack([2 * np.sin(angle) - np.sin(2 * angle), 2 * np.cos(angle) + np.cos(2 * angle)], axis=1)  # of disks
    sizes = np.random.default_rng(0).lognormal(2, 1, 30)
    at_border = {Reason("border"): 10}

    def found(curves, **more):
        return [finding for finding in quality(Ensemble(curves, **more)).serious if finding.check == "gaps"]

    gaps = [size * gap for size in sizes]
    (one,) = found(gaps, name="x", dropped=at_border)
    assert "these may be the gaps between objects, or groups of them; invert bright and dark" in one.text
    assert not found(gaps)  # objects may be so irregular
    assert not found([10 * gap + size for size in sizes], dropped=at_border)
    circle = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    assert not found([size * circle for size in sizes], dropped=at_border)


def test_a_sample_of_fewer_than_ten_curves_is_noted():
    found = quality(outlines(38, seed=1, name="a"), outlines(4, seed=2, name="b"))
    assert [item.check for item in found.findings] == ["few curves"]
    assert found.findings[0].text == "b has only 4 curves: only large differences can be detected"
    assert found.reason is None


def test_specks_and_merged_objects_are_reported():
    dust = [curve / 15 for curve in outlines(40, seed=3).curves]
    assert checks(Ensemble([*outlines().curves, *dust[:35]]), outlines(seed=2)) == ["specks"]
    a, rows = outlines(60), np.arange(0, 60, 3)
    angle = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    radius = 5 + 45 * np.abs(np.cos(angle))  # two disks connected by a neck
    dumbbell = np.stack([radius * np.sin(angle), radius * np.cos(angle)], axis=1) * 1.3
    merged = [dumbbell * (1 + 0.01 * row) for row in rows]
    assert checks(Ensemble([*a.curves, *merged]), outlines(seed=2)) == ["merged"]


def test_many_specks_are_serious():
    rows, columns = np.indices((240, 400))
    labels = rows // 40 * 10 + columns // 40 + 1
    apart = np.hypot(rows % 40 - 20, columns % 40 - 20)
    few, many = (np.where(apart < np.where(labels % part == 0, 2, 12), labels, 0) for part in (4, 3))
    assert quality(extract_curves(few)).serious == ()  # 15 of 60
    (found,) = quality(extract_curves(many, name="field")).serious
    assert (found.check, found.where) == ("specks", "field")
    assert found.text.startswith("20 of 60 objects of field are smaller than 16 px²")
    (same,) = quality(extract_curves(many, min_area=15, name="field")).serious
    assert same.text == found.text.replace("16 px²", "15 px²")
    assert quality(extract_curves(many, min_area=20)).serious == ()  # as chosen by the user
    fine = extract_curves(np.where(apart < np.where(labels % 3 == 0, 8, 15), labels, 0), scale=(1.0, 1.0), unit="µm")
    coarse = at_pixel_size(fine, 5.0)
    assert (len(fine), len(coarse)) == (60, 40)
    assert quality(coarse).serious == ()


def test_objects_cut_by_a_border_are_reported():
    plane = np.zeros((60, 1600), int)
    rows, columns = np.indices(plane.shape)
    for place in range(40):
        plane[np.hypot(rows - (4 if place % 2 else 30), columns - 40 * place - 20) < 14] = place + 1
    cut = extract_curves(plane, border=True)
    assert "cut" in checks(cut, outlines(seed=2))
    assert "cut" not in checks(extract_curves(plane), outlines(seed=2))


def test_open_outlines_are_serious_but_unevenly_sampled_ones_are_not():
    half = [curve[: len(curve) * 2 // 3] for curve in outlines(vertices=120).curves]
    assert checks(Ensemble(half), outlines(seed=2)) == ["open"]
    thinned = [np.delete(curve, [*range(20, 32), *range(80, 90)], axis=0) for curve in outlines(vertices=120).curves]
    assert "open" not in checks(Ensemble(thinned), outlines(seed=2))


def test_duplicate_curves_are_serious_wherever_they_occur():
    a, b = outlines(seed=1, name="a"), outlines(seed=2, name="b")
    doubled = Ensemble([*a.curves, *[curve + 7 for curve in a.curves]], name="a")
    assert quality(doubled, b).reason.startswith("40 outlines occur twice, in a:")
    shared = Ensemble([*b.curves[:20], *a.curves[:20]], name="b")
    assert checks(a, shared, serious=True) == ["duplicates"]
    assert checks(a, Ensemble([curve * 1.5 for curve in a.curves])) == []  # another size is another outline
    images = [outlines(20, seed=seed, name=f"C{seed}") for seed in (3, 4)]
    copied = Ensemble([curve + 3 for curve in images[0].curves], name="copy")
    found = quality(Ensemble.pooled([*images, copied], name="cells"), b)
    assert found.reason.startswith("20 outlines occur twice, in C3 (cells) and in copy (cells)")


def test_small_outlines_may_be_equal_by_chance_in_many_images():
    rng, images = np.random.default_rng(0), [list(outlines(60, seed=seed).curves) for seed in range(16)]
    for place in range(40):  # a few pairs of images share two
        one, other = rng.integers(16, size=2)
        images[one][place % 60] = images[other][rng.integers(60)] + 5
    images[0][:2] = images[1][:2]
    pooled = [Ensemble.pooled([Ensemble(curves, name=f"C{place}") for place, curves in enumerate(side)], name=name)
              for name, side in (("a", images[:8]), ("b", images[8:]))]  # fmt: skip
    assert "duplicates" not in checks(*pooled)
    images[4][:12] = images[5][:12]
    again = Ensemble.pooled([Ensemble(curves, name=f"C{place}") for place, curves in enumerate(images[:8])], name="a")
    assert "occur twice, in C4 (a) and in C5 (a)" in quality(again, pooled[1]).reason


def test_an_outlying_image_is_reported():
    images = [outlines(30, seed=seed, name=f"C{seed:02}") for seed in range(8)]
    images[1] = outlines(30, seed=1, size=60, name="C01")
    found = quality(Ensemble.pooled(images, name="cells"), outlines(seed=9, name="other"))
    assert [(item.check, item.where) for item in found.serious] == [("stands out", "C01")]
    assert "its median area lies" in found.serious[0].text
    assert not quality(Ensemble.pooled(images[2:], name="cells"), outlines(seed=9, name="other"))


def test_failed_thresholds_are_found_among_fields_of_a_cell_line(shared_data):
    """Three fields of 30 of one cell line, with nuclei fragmented as by a threshold set too high."""
    paths = sorted((shared_data / "replicates" / "mef_nuclei").glob("wt_*.png"))
    good = [extract_curves(imread(path), min_area=600, name=path.name[:5]) for path in paths]
    good = [field for field in good if len(field)]
    rng = np.random.default_rng(0)
    broken = []
    for path in paths[:3]:
        texture = ndimage.gaussian_filter(rng.normal(size=imread(path).shape), 6)
        broken.append(extract_curves(ndimage.label((imread(path) > 0) & (texture > 0))[0], name=path.name[:5]))
    side = Ensemble.pooled([*broken, *good[3:]], name="wt")
    named = {item.where for item in quality(side, outlines(seed=9)).serious}
    assert named == {field.name for field in broken}


def test_unequal_vertex_density_and_few_pixels_are_reported():
    corners, fine = outlines(vertices=7, name="a"), outlines(seed=2, vertices=22, name="b")
    assert checks(corners, fine) == ["vertices"]
    assert checks(outlines(vertices=16), fine) == []  # compared at one density
    assert checks(outlines(vertices=100), outlines(seed=2, vertices=140)) == []
    small = outlines(size=3)
    assert checks(small, outlines(seed=2, size=3.1)) == ["pixels", "pixels"]


def test_serious_faults_withhold_the_row_unless_overruled(tmp_path):
    a, b = outlines(seed=1, name="a"), outlines(5, seed=2, name="b")
    b = Ensemble([*b.curves, *b.curves], name="b")
    result = compare(a, b, QUICK)
    assert result.case == "inconclusive"
    assert "look at the outlines first" in result.summary()
    assert result.quality.findings[0].text + "." in result.warnings
    assert hit(result, [FailingResult.quality])
    result.save(tmp_path / "r.npz")
    assert Comparison.load(tmp_path / "r.npz").quality == result.quality
    overruled = compare(a, b, QUICK, overrule=True)
    assert overruled.case != "inconclusive"
    assert overruled.quality.serious
    assert not hit(compare(a, outlines(seed=2, name="b"), QUICK), [FailingResult.quality])


def test_findings_are_a_table():
    table = quality(outlines(seed=1), outlines(4, seed=2)).to_dataframe()
    assert table[["check", "limit", "where", "serious"]].values.tolist() == [["few curves", 10, "B", False]]
    assert len(quality(outlines(seed=1), outlines(seed=2)).to_dataframe()) == 0


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_checks_do_not_depend_on_units(scale):
    a = Ensemble([curve * scale for curve in outlines(seed=1).curves], unit="m")
    b = Ensemble([curve * scale for curve in outlines(4, seed=1).curves], unit="m")
    assert checks(a, b, serious=True) == ["duplicates"]


def test_pairs_of_many_samples_are_checked_like_single_pairs():
    same = outlines(seed=1)
    given = [outlines(seed=0), same, same, outlines(4, seed=2), outlines(12, seed=3, vertices=9)]
    sides = [side.derived(side.curves, name=f"sample {number}") for number, side in enumerate(given)]
    pairs = [(i, j) for i in range(5) for j in range(5) if i != j]
    found = reasons_of_sets(sides, pairs)
    assert found == [quality(sides[i], sides[j]).reason for i, j in pairs]
    assert found[pairs.index((1, 2))].startswith("40 outlines occur twice, in sample 1 and in sample 2")
    assert found[pairs.index((0, 1))] is None
    (of_all,) = reasons_of_sets(sides[:3], [range(3)])
    assert of_all.startswith("40 outlines occur twice, in sample 1 and in sample 2")
