"""The control *Color by* alone: what it requests, and the color bar of each feature."""

from dataclasses import replace

import numpy as np
import pytest

from napari_shape_ensembles.comparison.colorings import COLORINGS
from napari_shape_ensembles.viewer.panels.color_by import ColorBar, ColorBy
from napari_shape_ensembles.viewer.panels.fonts import elided_apart


@pytest.fixture
def color_by(qtbot):
    widget = ColorBy()
    qtbot.addWidget(widget)
    return widget


def shown_by(color_by, comparison, column, percentile=99):
    """The color bar of a feature."""
    color_by.show_colors(column, percentile, comparison)
    return color_by.colorbar


@pytest.mark.parametrize("column", COLORINGS)
def test_the_color_scale_of_every_feature_covers_all_curves(color_by, comparison, column):
    bar, feature = shown_by(color_by, comparison, column), COLORINGS[column]
    np.testing.assert_allclose([share.sum() for share in bar.shares()], 1)
    low, middle, high = bar.labels
    if feature.ends:
        assert (low, middle, high) == (
            feature.ends[0].format(a="one", b="two <b>"),
            "0" if feature.diverging else "",
            feature.ends[1].format(a="one", b="two <b>"),
        )
    else:
        assert high.endswith(feature.unit.format(comparison.a.unit))


def test_curves_beyond_the_percentile_share_the_last_color(color_by, comparison):
    bar = shown_by(color_by, comparison, "distance_from_mean", 50)
    middle = np.percentile(comparison.distances["distance_from_mean"], 50)
    assert bar.labels[-1] == f"≥ {middle:.3g}"
    assert bar.shares()[1][-1] > 0.3
    assert "≥" not in shown_by(color_by, comparison, "distance_from_mean", 100).labels[-1]


def test_only_user_choices_emit_signals(color_by, comparison, qtbot):
    with qtbot.waitSignal(color_by.changed) as told:
        color_by.choice.setCurrentIndex(color_by.choice.findData("area"))
    assert told.args == ["area", 99]
    with qtbot.waitSignal(color_by.changed) as told:
        color_by.percentile.setValue(90)
    assert told.args == ["area", 90]
    with qtbot.assertNotEmitted(color_by.changed):
        shown_by(color_by, comparison, "scale", 95)
    assert (color_by.choice.currentData(), color_by.percentile.value()) == ("scale", 95)


def test_missing_values_are_not_counted(qtbot):
    bar = ColorBar()
    qtbot.addWidget(bar)
    bar.show_values(COLORINGS["area"], (0.0, 2.0), np.array([1.0, np.nan]), np.array([np.nan]), "px")
    assert [share.sum() for share in bar.shares()] == [1, 0]
    assert bar.labels == ["0", "1", "2 px"]
    assert not bar.grab().isNull()


def test_the_groups_are_called_by_their_names(color_by, comparison, shown):
    shown(color_by)
    bar = shown_by(color_by, comparison, "witness_scale")
    assert color_by.choice.currentText() == "typical of one or two <b>, by scale"
    assert "histograms of one and of two &lt;b&gt;" in bar.toolTip()


def test_long_names_are_elided_and_do_not_widen_the_dock(color_by, comparison):
    width = shown_by(color_by, comparison, "witness_scale").sizeHint().width()
    long = replace(comparison, a=comparison.a.derived(comparison.a.curves, name="control " * 20))
    bar = shown_by(color_by, long, "witness_scale")
    assert bar.labels[-1] == "typical of control cont…ol control "
    assert "control " * 20 in bar.toolTip()
    assert bar.sizeHint().width() <= width + 80


def test_names_beside_the_bar_stay_apart_and_short_ones_are_whole(color_by):
    metrics = color_by.fontMetrics()
    assert elided_apart(metrics, ["good", "bad"], [1, 1]) == ["good", "bad"]
    names = ["Powder, drawn by the first hand", "Powder, drawn by the other hand"]
    shown = elided_apart(metrics, names, [100, 100])
    assert shown[0] != shown[1]
    assert all(metrics.horizontalAdvance(one) <= 100 for one in shown)
    whole = max(map(metrics.horizontalAdvance, names))
    assert elided_apart(metrics, names, [whole, whole]) == names
