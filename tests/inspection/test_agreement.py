"""Two segmentations of one image: distances between matched objects, and the verdict on the pair."""

import numpy as np
import pytest
from scipy import ndimage
from skimage.io import imread

from napari_shape_ensembles import Outlines, Settings, agreement
from napari_shape_ensembles.inspection.ranking import disagreement

FEW = Settings(landmarks=100, rank=30, permutations=300)


@pytest.fixture(scope="module")
def nuclei(real_data):
    return imread(real_data / "dsb_nuclei" / "labels.png")


def test_a_segmentation_agrees_with_itself(nuclei):
    result = agreement(nuclei, nuclei, FEW)
    assert (result.objects["iou"] == 1).all()
    np.testing.assert_allclose(result.objects[["boundary", "hausdorff", "shape"]], 0, atol=1e-6)
    assert result.comparison.case == "1∧1"
    assert not result.matching.only_a
    assert not result.matching.merges


def test_a_dilated_segmentation_is_one_pixel_away_and_larger(nuclei):
    grown = ndimage.grey_dilation(nuclei, footprint=ndimage.generate_binary_structure(2, 1))
    grown[nuclei > 0] = nuclei[nuclei > 0]
    result = agreement(nuclei, grown, FEW, scale=(0.5, 0.5), unit="µm", min_iou=0.3)
    assert result.objects["boundary"].median() == pytest.approx(0.5, rel=0.2)
    assert result.comparison.scale.p_value < 0.05
    assert (result.objects["scale"] > result.objects["undulation"]).mean() > 0.8
    assert "µm apart" in result.summary()


def test_merged_nuclei_are_listed(nuclei):
    joined = nuclei.copy()
    pairs = {
        tuple(sorted(p)) for p in zip(nuclei[:, 1:].flat, nuclei[:, :-1].flat, strict=True) if 0 < p[0] != p[1] > 0
    }
    one, other = min(pairs)
    joined[joined == other] = one
    assert agreement(nuclei, joined, FEW, outlines=Outlines(keep_border=True)).matching.merges == {one: (one, other)}


def test_without_a_match_the_summary_has_no_distance():
    one, other = (np.zeros((80, 80), int) for _ in range(2))
    one[10:30, 10:30], other[50:70, 50:70] = 1, 1
    words = agreement(one, other, FEW).summary()
    assert words.startswith("0 matched")
    assert "nan" not in words
    assert "apart" not in words


def test_the_list_agrees_with_the_summary():
    """An object at the border has no curve, but is not an object of one segmentation only either."""
    one, other = np.zeros((2, 100, 100), int)
    for label, row in enumerate((10, 40, 70), start=1):
        one[row : row + 16, 10:26], other[row : row + 14, 10:26] = label, label
        one[row : row + 16, 60:76] = 3 + label  # in A only
    one[40:56, 84:99], other[40:56, 84:100] = 7, 7  # matched, but not traced in B
    one[10:26, 90:100] = 8  # in A only, and not traced
    found = disagreement((one, other), FEW)
    assert found.sentence.startswith("4 matched (mean IoU 0.891), 4 only in A, 0 only in B")
    assert "Without a usable outline, hence not listed: 1 of A and 1 of B." in found.sentence
    alone = found.ranking["reasons"].str.contains("no partner")
    assert alone.sum() == 4 - 1
    assert found.ranking.loc[~alone & (found.ranking["id"] == 7), "reasons"].tolist() == [
        "IoU 0.94 with B 7, which has no usable outline"
    ]
