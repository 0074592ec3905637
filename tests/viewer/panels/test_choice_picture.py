"""The plot of the sensitivity to settings: labels are readable at every dock width."""

from itertools import combinations

import pytest

from napari_shape_ensembles.studies import ChoiceStudy
from napari_shape_ensembles.studies.choices import Choice
from napari_shape_ensembles.viewer.panels.choices import ChoicePicture


@pytest.mark.parametrize("width", [180, 340, 900])
def test_labels_that_do_not_fit_in_one_row_are_staggered(qtbot, shown, width):
    methods = [Choice("method", value, "1∧1") for value in ("triangle", "local", "hysteresis")]
    ranks = [Choice("rank", value, "1∧0") for value in (20, 50, 100)]
    study = ChoiceStudy(Choice("", None, "1∧1"), (*methods, *ranks), {"method": "otsu", "rank": 150})
    picture = ChoicePicture()
    picture.show_study(study)
    shown(picture, width, picture.heightForWidth(width))
    boxes = picture.boxes()
    assert len(boxes) == 8
    for box, one in boxes:
        words = one.label, "no difference" if one.case == "1∧1" else "scale differs !"
        assert box.width() - 4 >= max(map(picture.fontMetrics().horizontalAdvance, words))
        assert picture.rect().contains(box.toRect())
    assert not any(one.intersects(other) for (one, _), (other, _) in combinations(boxes, 2))
    for name in ("rank", "method"):
        assert (len({box.top() for box, one in boxes if one.name == name}) == 1) is (width == 900)
