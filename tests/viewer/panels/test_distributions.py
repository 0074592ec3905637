"""Histograms: every value is counted, labels fit, and markers are at their value."""

import numpy as np
import pytest
from qtpy.QtCore import QRectF
from qtpy.QtGui import QColor, QImage, QPainter, QPen

from napari_shape_ensembles.palette import COLOR_A, COLOR_B
from napari_shape_ensembles.viewer.panels.distributions import (
    NullPlot,
    PairedHistogram,
    SizeHistogram,
    bin_shares,
    paint_steps,
)


@pytest.fixture
def sizes(qtbot):
    widget = SizeHistogram()
    qtbot.addWidget(widget)
    return widget


def test_outer_bins_include_values_beyond_the_range():
    counted, empty = bin_shares([np.array([-9.0, 0.1, 0.6, 0.9, 99.0]), np.empty(0)], 0.0, 1.0, 2)
    np.testing.assert_allclose(counted, [0.4, 0.6])
    np.testing.assert_array_equal(empty, [0, 0])


def test_step_heights_match_the_bins(qtbot):
    image = QImage(40, 20, QImage.Format.Format_RGB32)
    image.fill(0)
    painter = QPainter(image)
    paint_steps(painter, QRectF(0, 0, 39, 19), np.array([0.5, 1.0]), QPen(QColor("white")), 255)
    painter.end()
    lit = [sum(image.pixelColor(x, y).red() > 0 for y in range(20)) for x in (10, 30)]
    assert lit == pytest.approx([10, 20], abs=1)


def test_sizes_are_summarized_by_range_and_median_with_unit(sizes):
    sizes.show_values([1.0, 4.0, 100.0], "µm")
    assert list(sizes.labels) == ["1", "median diameter 4 µm", "100"]
    assert sizes.counts().sum() == 3
    assert sizes.span == pytest.approx((0, np.log(100)))


@pytest.mark.parametrize("values", [[], [7.0], [7.0, 7.0]])
def test_empty_and_constant_sizes_are_drawn(sizes, values):
    sizes.show_values(values, "px")
    assert sizes.counts().sum() == len(values)
    assert sizes.span[0] < sizes.span[1]
    assert not sizes.grab().isNull()


def test_the_width_hint_does_not_depend_on_the_sizes(sizes):
    width = sizes.sizeHint().width()
    sizes.show_values([123.456, 12345.6], "pixel")
    assert sizes.sizeHint().width() == width
    assert sizes.heightForWidth(width // 2) > sizes.heightForWidth(4 * width)


def test_the_observed_statistic_is_drawn_at_its_value(shown, comparison):
    plot = NullPlot("Scale")
    plot.show_test(comparison.scale)
    shown(plot, 300, plot.heightForWidth(300))
    low, high = plot.span
    assert plot.place(low) == 8
    assert plot.place(high) == plot.width() - 8
    ink = plot.palette().windowText().color()
    image = plot.grab().toImage()
    tall = [sum(image.pixelColor(x, y) == ink for y in range(image.height())) for x in range(image.width())]
    assert abs(int(np.argmax(tall)) - plot.place(comparison.scale.mmd)) <= 2


def test_two_samples_are_drawn_in_their_colors(shown):
    widget = PairedHistogram()
    widget.show_samples(np.linspace(0, 1, 50), np.linspace(2, 3, 80))
    np.testing.assert_allclose([share.sum() for share in widget.shares()], 1)
    image = shown(widget, 300, 60).grab().toImage()
    colors = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}
    assert {COLOR_A, COLOR_B} <= colors
