"""The control Color by without layers: what its color bar says of each feature."""

import numpy as np
import pytest

from napari_shape_ensembles.viewer.color_features import COLOR_FEATURES
from napari_shape_ensembles.viewer.panels.color_by import ColorBar, ColorBy


@pytest.fixture
def color_by(qtbot, comparison):
    widget = ColorBy([])
    qtbot.addWidget(widget)
    widget.show_result(comparison)
    return widget


@pytest.mark.parametrize("column", COLOR_FEATURES)
def test_every_feature_has_a_scale_that_all_curves_are_on(color_by, comparison, column):
    color_by.choice.setCurrentIndex(color_by.choice.findData(column))
    np.testing.assert_allclose([share.sum() for share in color_by.colorbar.shares()], 1)
    low, middle, high = color_by.colorbar.labels()
    feature = COLOR_FEATURES[column]
    if feature.ends:
        assert (low, middle, high) == (feature.ends[0], "0" if feature.diverging else "", feature.ends[1])
    else:
        assert high.endswith(feature.unit(comparison))


def test_beyond_the_percentile_curves_share_the_last_color(color_by, comparison):
    color_by.percentile.setValue(50)
    middle = np.percentile(comparison.distances["product"], 50)
    assert color_by.colorbar.labels()[-1] == f"≥ {middle:.3g}"
    assert color_by.colorbar.shares()[1][-1] > 0.3
    color_by.percentile.setValue(100)
    assert "≥" not in color_by.colorbar.labels()[-1]


def test_choosing_a_feature_for_the_next_result_leaves_this_one(color_by, comparison):
    before = color_by.colorbar.labels()
    color_by.choose("area")
    assert color_by.colorbar.labels() == before
    color_by.show_result(comparison)
    assert color_by.colorbar.labels()[-1].endswith("µm²")


def test_values_that_are_missing_are_not_counted(qtbot):
    bar = ColorBar()
    qtbot.addWidget(bar)
    bar.show_values(COLOR_FEATURES["area"], (0.0, 2.0), np.array([1.0, np.nan]), np.array([np.nan]), "px")
    assert [share.sum() for share in bar.shares()] == [1, 0]
    assert bar.labels() == ["0", "1", "2 px"]
    assert not bar.grab().isNull()
