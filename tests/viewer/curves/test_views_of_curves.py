"""The window *Curves* without a viewer: scatter plot, table, gallery and card share one selection."""

import numpy as np
import pandas as pd
import pytest
from qtpy.QtCore import QPoint, QRect, Qt
from qtpy.QtGui import QFont, QFontMetrics

from curve_makers import blobs
from docks import choose_for_selected, includes_again, press, wheel
from napari_shape_ensembles import Ensemble, Settings, compare
from napari_shape_ensembles.viewer.curves.card import CurveCard
from napari_shape_ensembles.viewer.curves.scatter import ScatterPlot
from napari_shape_ensembles.viewer.curves.table import CurveTableModel
from napari_shape_ensembles.viewer.curves.window import CurveExplorer, measured_columns, table_of
from napari_shape_ensembles.viewer.layers import CurveSelection


@pytest.fixture
def explorer(qtbot, comparison):
    widget = CurveExplorer(CurveSelection())
    qtbot.addWidget(widget)
    widget.show_result(comparison)
    return widget


def marked(explorer):
    places = [index.row() for index in explorer.table.selectionModel().selectedRows()]
    return sorted(explorer.table.curves.order[places].tolist())


def test_the_selection_is_shown_in_every_view(explorer):
    explorer.selection.pick([40])
    assert marked(explorer) == explorer.scatter.rows.tolist() == [40]
    assert explorer.card.row == 40
    explorer.selection.pick([2, 40])
    assert marked(explorer) == [2, 40]
    assert explorer.card.numbers.text() == "2 curves selected."


def test_the_wheel_over_the_tabs_or_axes_changes_nothing(explorer):
    explorer.show()
    for control in (explorer.tabs.tabBar(), explorer.x, explorer.y):
        wheel(control)
    assert explorer.tabs.currentIndex() == 0
    assert explorer.x.currentText() == "undulation distance from the mean"


def test_axes_can_be_changed_and_are_kept_for_the_next_result(explorer, comparison):
    explorer.x.setCurrentText("scale ℓ2")
    np.testing.assert_array_equal(explorer.scatter.points[:, 0], comparison.l[:, 1])
    explorer.show_result(comparison)
    assert explorer.x.currentText() == "scale ℓ2"


def test_columns_have_units_and_one_number_per_curve(comparison):
    columns = measured_columns(comparison)
    assert {"area (µm²)", "circularity", "undulation t6", "scale ℓ3"} <= set(columns)
    assert all(len(values) == 65 for values in columns.values())
    table = table_of(comparison)
    assert table.columns[:3].tolist() == ["sample", "image", "id"]
    assert table.iloc[0, :3].tolist() == ["one", "one", 100]
    assert table.iloc[64, :3].tolist() == ["two <b>", "two <b>", 34]


def test_the_table_shows_the_image_of_each_curve_of_a_pooled_sample(comparison):
    a = Ensemble.pooled([Ensemble(list(blobs(12, 80, seed=seed)), name=f"dish {seed}", unit="µm") for seed in (1, 2)])
    table = table_of(compare(a, comparison.b, Settings(landmarks=60, rank=5, permutations=99)))
    assert table["sample"].value_counts().to_dict() == {"dish 1 + dish 2": 24, "two <b>": 35}
    assert table["image"].value_counts().to_dict() == {"dish 1": 12, "dish 2": 12, "two <b>": 35}


def test_bold_table_headings_are_not_cut_off(explorer):
    table = explorer.table
    heads, font = table.horizontalHeader(), QFont(table.font())
    font.setBold(True)
    flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
    room = QRect(0, 0, heads.defaultSectionSize() - 10, 1000)
    for column in range(heads.count()):
        words = table.model().headerData(column, Qt.Orientation.Horizontal)
        needed = QFontMetrics(font).boundingRect(room, int(flags), words)
        assert needed.height() <= heads.minimumHeight(), words
        assert needed.width() <= room.width(), words


def test_the_plot_is_whole_in_the_lowest_window(explorer):
    explorer.resize(800, explorer.minimumSizeHint().height())
    explorer.show()
    around = explorer.scatter.parentWidget()
    assert explorer.scatter.height() <= around.height()  # nothing is scrolled
    # Above and below all points is room, 3 % of their range.
    assert np.ptp(explorer.scatter.widget_points()[:, 1]) * 1.06 >= 150 - 1e-6


def test_the_table_shows_the_row_of_a_curve_that_was_selected_while_it_was_hidden(explorer):
    explorer.resize(900, explorer.minimumSizeHint().height())
    explorer.show()
    table = explorer.table
    for row in (29, 3, 17):
        explorer.tabs.setCurrentIndex(0)
        explorer.selection.pick([row])
        explorer.tabs.setCurrentIndex(1)
        place = int(np.flatnonzero(table.curves.order == row)[0])
        seen = table.visualRect(table.curves.index(place, 0))
        assert table.viewport().rect().contains(seen.topLeft())
        assert table.viewport().rect().contains(seen.bottomLeft())


def test_the_table_sorts_rows_without_a_number_last(qtbot):
    model = CurveTableModel()
    model.show_frame(
        pd.DataFrame({"id": ["a", "b", "c", "d"], "roughness": [np.nan, 2.0, np.nan, 1.0]}, index=[4, 5, 6, 7])
    )
    model.sort(1)
    assert model.order.tolist() == [3, 1, 0, 2]
    model.sort(0, Qt.SortOrder.DescendingOrder)
    assert model.order.tolist() == [3, 2, 1, 0]


def test_the_table_sorts_by_column_and_keeps_the_selection(explorer, comparison):
    explorer.selection.pick([1, 40])
    explorer.table.sortByColumn(3, Qt.SortOrder.DescendingOrder)
    order = explorer.table.curves.order
    assert order[0] == comparison.distances["distance_from_mean"].to_numpy().argmax()
    assert marked(explorer) == [1, 40]
    explorer.table.selectRow(0)
    assert explorer.selection.rows.tolist() == [order[0]]


def test_neighbors_and_gallery_outlines_can_be_clicked(explorer, qtbot):
    explorer.selection.pick([0])
    nearest = explorer.card.buttons[3]
    assert [button.side for button in explorer.card.buttons] == ["A"] * 3 + ["B"] * 3
    press(nearest, qtbot)
    assert explorer.selection.rows.tolist() == [nearest.row]
    unusual = explorer.gallery.buttons[6]
    press(unusual, qtbot)
    assert explorer.selection.rows.tolist() == [unusual.row]


def test_the_gallery_shows_nearest_and_farthest_curves_of_each_sample(explorer, comparison):
    product = comparison.distances["distance_from_mean"].to_numpy()
    rows = [button.row for button in explorer.gallery.buttons]
    assert rows[0] == product[:30].argmin()
    assert rows[6] == product[:30].argmax()
    assert rows[12] == 30 + product[30:].argmin()
    assert rows[18] == 30 + product[30:].argmax()
    assert len(rows) == len(set(rows)) == 24


def test_the_card_shows_measurements_outline_and_mean(explorer, comparison):
    explorer.selection.pick([32])
    text = explorer.card.numbers.text()
    assert text.startswith("<b>two &lt;b&gt;</b>, curve 2<br>")
    assert f"area: {comparison.b.features['area'].iloc[2]:.4g} µm²" in text
    curve, mean = explorer.card.outline.outlines
    assert (curve.side, curve.dashed) == ("B", False)
    assert (mean.side, mean.dashed) == ("", True)


def test_the_card_requests_and_shows_exclusion(explorer):
    explorer.selection.pick([7])
    asked = []
    explorer.selection.leave_out_requested.connect(lambda: asked.append(explorer.selection.rows.tolist()))
    choose_for_selected(explorer.card, "Leave out")
    assert asked == [[7]]
    assert not includes_again(explorer.card)
    explorer.show_excluded(frozenset({7}))
    assert includes_again(explorer.card)
    assert "left out" in explorer.card.actions.text()


def test_an_empty_card_explains_how_to_select_a_curve(qtbot, comparison):
    card = CurveCard(CurveSelection())
    qtbot.addWidget(card)
    card.show_curve(comparison, np.array([], dtype=int), frozenset())
    assert "Click a curve" in card.numbers.text()
    assert not card.actions.isEnabled()


def test_missing_values_do_not_affect_the_plot(shown, qtbot):
    plot = ScatterPlot()
    points = np.array([[0.0, 1.0], [np.nan, 2.0], [4.0, 3.0]])
    plot.show_points(points, 1, ("x", "y"), ("one", "two"))
    picked = []
    plot.picked.connect(lambda rows: picked.append(rows.tolist()))
    shown(plot, 300, 240)
    for x, y in plot.widget_points()[[0, 2]]:
        qtbot.mouseClick(plot, Qt.MouseButton.LeftButton, pos=QPoint(round(x), round(y)))
    qtbot.mouseClick(plot, Qt.MouseButton.LeftButton, pos=QPoint(150, 100))
    assert picked == [[0], [2], []]
    assert plot.legend() == ("one", "two")


@pytest.mark.parametrize("points", [np.empty((0, 2)), np.full((3, 2), np.nan), np.ones((2, 2))])
def test_an_empty_plot_is_drawn(shown, points):
    plot = ScatterPlot()
    plot.show_points(points, 1, ("x", "y"))
    shown(plot, 240, 200)
    assert len(plot.widget_points()) == len(points)
    assert not plot.grab().isNull()


def test_the_axis_of_a_distance_starts_at_zero(qtbot):
    plot = ScatterPlot()
    qtbot.addWidget(plot)
    plot.resize(300, 240)
    plot.show_points(np.array([[0.0, -1.0], [10.0, 1.0]]), 1, ("distance", "coordinate"))
    (left, low), _ = plot.span()
    assert left == 0
    assert low < -1
