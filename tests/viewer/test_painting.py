"""Outlines painted as labels if they are too many for shapes: same colors, selection and positions."""

import numpy as np
import pandas as pd
import pytest
import shapely
from napari.layers import Labels, Layer, Shapes
from napari.settings import get_settings
from napari.utils.color import ColorValue
from napari.utils.colormaps import ensure_colormap
from qtpy.QtCore import QPoint
from qtpy.QtGui import QImage, QRegion
from qtpy.QtWidgets import QMessageBox, QWidget
from scipy import ndimage
from skimage.io import imread

from curve_makers import blobs
from docks import (
    add_spots,
    choose_for_selected,
    curves_of,
    grid_of,
    includes_again,
    move_on_canvas,
    open_answer,
    own_callbacks,
    position_inside,
    press,
    press_on_canvas,
    run,
    selected_in_table,
    selected_rows,
    set_choices,
)
from image_makers import spots
from napari_shape_ensembles.comparison.colorings import COLORINGS
from napari_shape_ensembles.comparison.display import MARK
from napari_shape_ensembles.palette import PICKED
from napari_shape_ensembles.viewer import layers, painting
from napari_shape_ensembles.viewer.curves import canvas_overlays
from napari_shape_ensembles.viewer.docks.bench import Bench
from napari_shape_ensembles.viewer.layers import colormap_of
from napari_shape_ensembles.viewer.painting import MAX_LABELS, label_layer, row_under


def options_of(count, **placement):
    """Options of a Shapes layer, as in the layer data of a comparison."""
    return {
        "name": "one curves",
        "shape_type": "polygon",
        "edge_width": 0,
        "face_color": "painted",
        "face_colormap": ensure_colormap("viridis"),
        "face_contrast_limits": (0.0, 1.0),
        "opacity": 0.8,
        "scale": (0.5, 0.5),
        "translate": (0.0, 0.0),
        "features": pd.DataFrame({"id": range(count), "painted": np.linspace(0, 1, count)}),
        "metadata": {MARK: {"source": "A"}},
        **placement,
    }


def rows_of(layer):
    """For each pixel 1 + the row of its outline, or 0."""
    return getattr(layer.data[0], "rows", layer.data[0])


def drawn(layer):
    """Color of each row, as napari draws one of its pixels."""
    rows = np.ravel(rows_of(layer))
    places = np.full(len(layer.features) + 1, -1)
    places[rows] = np.arange(len(rows))
    assert (places[1:] >= 0).all()
    return layer.colormap.map(np.asarray(layer.data[0]).flat[places[1:]])


@pytest.fixture
def few(monkeypatch, request):
    """Paint any number of outlines as labels; the parameter limits how many have a label of their own."""
    monkeypatch.setattr(layers, "MAX_SHAPES", 10)
    monkeypatch.setattr(painting, "MAX_LABELS", getattr(request, "param", MAX_LABELS))


# The layer -----------------------------------------------------------------------------------------------------

TURNED = {"scale": (0.5, 0.4), "translate": (30.0, -7.0), "rotate": np.array([[0.8, -0.6], [0.6, 0.8]])}
AFFINE = {"affine": np.array([[1.5, 0.2, 3.0], [0.0, 0.9, -4.0], [0.0, 0.0, 1.0]])}


@pytest.mark.parametrize("placement", [{}, TURNED, TURNED | AFFINE])
@pytest.mark.parametrize(("size", "most", "shift"), [(0.3, 2**26, 0), (12, 2**26, -3000.6), (12, 2**12, 500)])
def test_painted_outlines_are_at_the_position_of_shapes(placement, size, most, shift, monkeypatch):
    get_settings()  # otherwise napari triangulates in Python
    monkeypatch.setattr(painting, "MAX_PIXELS", most)
    places = np.stack(np.divmod(np.arange(25), 5), axis=-1) * 3.2 * size + shift
    curves = list(blobs(25, 60, seed=3) * size + places[:, None])
    (shapes, labels) = (
        Layer.create(*data)
        for data in ((curves, options_of(25, **placement), "shapes"), label_layer(curves, options_of(25, **placement)))
    )
    assert isinstance(labels, Labels)
    np.testing.assert_allclose(labels.extent.world[0], shapes.extent.world[0], atol=4 * size)
    spots = np.random.default_rng(0).uniform(*shapes.extent.data, (400, 2))
    edges = shapely.distance(shapely.points(spots), shapely.MultiLineString([[*c, c[0]] for c in curves]))
    step = np.linalg.norm(np.subtract(labels.data_to_world((1, 0)), labels.data_to_world((0, 0))))
    step /= np.linalg.norm(np.subtract(shapes.data_to_world((1, 0)), shapes.data_to_world((0, 0))))
    clear = edges > step
    assert clear.sum() > 100
    places = [(place, labels.world_to_data(shapes.data_to_world(place))) for place in spots[clear]]
    hits = [(row_under(labels, pixel), shapes.get_value(place)[0]) for place, pixel in places]
    assert len({one for one, _ in hits}) > 8
    assert all(one == other for one, other in hits)


def test_painted_pixels_and_pyramid_levels_are_aligned_with_the_image():
    curves = [curve * 9 + (40, 60) for curve in blobs(3, 50)]
    (whole, *levels), options, kind = label_layer(curves, options_of(3))
    assert kind == "labels"
    assert tuple(options["scale"]) == (0.5, 0.5)
    assert (np.asarray(options["translate"]) / 0.5 == np.round(np.asarray(options["translate"]) / 0.5)).all()
    for power, level in enumerate(levels, 1):
        np.testing.assert_array_equal(level, whole[:: 2**power, :: 2**power])
        assert np.array_equal(np.array(level.shape) * 2**power, whole.shape)


def test_outlines_unsuitable_for_labels_remain_shapes_or_share_labels(monkeypatch):
    curves = list(blobs(30, 400) + np.arange(30)[:, None, None] * 4)
    apart = [*curves[:-1], curves[-1] + 1e6]
    shown, _, kind = label_layer(apart, options_of(30))
    assert kind == "shapes"
    for thin, full in zip(shown, apart, strict=True):
        assert len(thin) < 100
        assert shapely.hausdorff_distance(shapely.Polygon(thin), shapely.Polygon(full), densify=0.01) < 0.05
    assert label_layer(curves, options_of(30))[2] == "labels"
    own = Layer.create(*label_layer(curves, options_of(30)))
    monkeypatch.setattr(painting, "MAX_LABELS", 29)
    shared = Layer.create(*label_layer(curves, options_of(30)))
    np.testing.assert_array_equal(rows_of(shared), rows_of(own))
    np.testing.assert_allclose(drawn(shared), drawn(own), atol=1 / 255)
    for one, other in zip(shared.data, own.data, strict=True):
        np.testing.assert_array_equal(np.asarray(one) == 0, other == 0)
    pixel = np.argwhere(rows_of(shared) == 4).mean(axis=0).round()
    assert row_under(shared, pixel) == row_under(own, pixel) == 3
    place = shared.data_to_world(pixel)
    assert "id: 3" in own.get_status(place, world=True)["value"]
    assert "id:" not in shared.get_status(place, world=True)["value"]  # napari would show values of another outline


def test_up_to_the_limit_every_outline_has_its_own_color(viewer):
    places = np.stack(np.divmod(np.arange(MAX_LABELS), 256), axis=-1) * 3.0
    square = np.array([[0, 0], [0, 1.4], [1.4, 1.4], [1.4, 0]])
    layer = Layer.create(*label_layer(list(square + places[:, None]), options_of(MAX_LABELS)))
    viewer.add_layer(layer)
    colors = drawn(layer)
    assert len(colors) == MAX_LABELS
    np.testing.assert_allclose(colors[[0, -1]], ensure_colormap("viridis").map([0, 1]), atol=1 / 255)
    assert row_under(layer, layer.metadata[MARK]["boxes"][-1].reshape(2, 2).mean(axis=0)) == MAX_LABELS - 1


# In a window ---------------------------------------------------------------------------------------------------


@pytest.fixture
def finished_dock(dock, qtbot, few):
    """A dock in a window, with a result of painted outlines and the window *Curves*."""
    run(dock, qtbot)
    press(dock.results.explore, qtbot)
    return dock


def centre(layer, row):
    """World coordinates of a point inside a painted outline."""
    return layer.data_to_world(np.argwhere(rows_of(layer) == row + 1).mean(axis=0).round())


@pytest.mark.parametrize("few", [MAX_LABELS, 3], indirect=True)
def test_painted_outlines_behave_like_shapes(finished_dock, viewer, qtbot):
    one, two = curves_of(viewer, "one"), curves_of(viewer, "two")
    explorer, selection, first = (
        finished_dock.curve_window.explorer,
        finished_dock.comparison.selection,
        len(finished_dock.result.a),
    )
    assert isinstance(one, Labels)
    assert len(one.features) == first
    assert not one.editable

    for column, feature in COLORINGS.items():
        finished_dock.color_by.choice.setCurrentIndex(list(COLORINGS).index(column))
        values = feature.values(finished_dock.result)
        low, high = feature.limits(values, 99)
        expected = colormap_of(feature).map(np.clip((values - low) / (high - low), 0, 1))
        np.testing.assert_allclose(np.concatenate([drawn(one), drawn(two)]), expected, atol=1 / 255, err_msg=column)
    before = drawn(one)

    two.visible = False
    move_on_canvas(viewer, centre(one, 4))
    assert selection.hovered_row == 4
    marked = np.flatnonzero((drawn(one) != before).any(axis=1)).tolist()
    assert marked == [4]
    move_on_canvas(viewer, (-1000, -1000))
    assert selection.hovered_row == -1
    np.testing.assert_array_equal(drawn(one), before)

    press_on_canvas(viewer, centre(one, 4))
    press_on_canvas(viewer, centre(one, 9), modifiers=("Shift",))
    assert selected_rows(finished_dock) == selected_in_table(explorer) == [4, 9]
    np.testing.assert_array_equal(drawn(one)[[4, 9]], np.tile(ColorValue(PICKED), (2, 1)))
    two.visible = True
    press_on_canvas(viewer, centre(two, 6))
    assert selected_rows(finished_dock) == [first + 6]
    assert f"curve {finished_dock.result.b.ids[6]}" in explorer.card.numbers.text()
    np.testing.assert_array_equal(drawn(one), before)
    explorer.table.selectRow(0)
    assert selected_rows(finished_dock) == [int(explorer.table.curves.order[0])]

    two.visible = False
    centres = np.array([centre(one, row) for row in range(first)])
    (low_y, low_x), (high_y, high_x) = centres.min(axis=0) - 3, np.median(centres, axis=0) + 3
    press_on_canvas(viewer, (-9, -9), modifiers=())
    corners = [(low_y, low_x), (low_y, high_x), (high_y, high_x), (high_y, low_x)]
    press_on_canvas(viewer, *corners, modifiers=("Shift",))
    assert selected_rows(finished_dock) == np.flatnonzero((centres < (high_y, high_x)).all(axis=1)).tolist()
    assert len(selected_rows(finished_dock)) > 3

    box = finished_dock.comparison.curves.outline(4)
    outline = finished_dock.result.a.curves[4]
    np.testing.assert_allclose([box.min(axis=0), box.max(axis=0)], [outline.min(axis=0), outline.max(axis=0)])

    selection.pick([4])
    choose_for_selected(explorer.card, "Leave out")
    assert finished_dock.state == "stale"
    selection.pick([])
    assert np.flatnonzero(drawn(one)[:, 3] == 0).tolist() == [4]
    with qtbot.waitSignal(finished_dock.finished):
        press(finished_dock.stale.button, qtbot)
    assert len(curves_of(viewer, "one").features) == first - 1
    assert [layer.name for layer in viewer.layers] == ["one", "two", "one curves", "two curves"]


def test_a_saved_comparison_opens_with_painted_outlines(qtbot, few, model, tmp_path):
    for seed, name in ((1, "one"), (2, "two")):
        model.add_image(spots(seed), name=name, scale=(0.5, 0.5), units=("um", "um"))
    dock = open_answer(model, qtbot)
    run(dock, qtbot)
    before = [(layer.data[0], layer.extent.world, drawn(layer)) for layer in dock.comparison.curves]
    path = tmp_path / "pair.comparison.npz"
    with qtbot.waitSignal(dock.finished):
        dock.comparison.save(path)
    with qtbot.waitSignal(dock.finished):
        dock.comparison.open(path)
    by_dock = list(dock.comparison.curves)
    with qtbot.waitSignal(dock.finished):
        model.open(path, plugin="napari-shape-ensembles")
    by_napari = list(dock.comparison.curves)
    assert not set(by_dock) & set(by_napari)
    for opened in (by_dock, by_napari):
        for layer, (pixels, extent, colors) in zip(opened, before, strict=True):
            np.testing.assert_array_equal(layer.data[0], pixels)
            np.testing.assert_allclose(layer.extent.world, extent)
            np.testing.assert_allclose(drawn(layer), colors, atol=1 / 255)
    press_on_canvas(model, centre(by_napari[1], 3))
    assert selected_rows(dock) == [len(dock.result.a) + 3]
    dock.show()
    order = list(model.layers)
    dock.comparison.arrange(True)
    grid = getattr(model, "canvas", model).grid
    assert grid.enabled
    press_on_canvas(model, centre(by_napari[1], 5))
    dock.hide()
    qtbot.waitUntil(lambda: own_callbacks(model.mouse_drag_callbacks) == [])
    assert not grid.enabled
    assert list(model.layers) == order


def test_up_to_the_limit_outlines_are_shapes(qtbot, model, monkeypatch):
    add_spots(model, "one", "two")
    dock = open_answer(model, qtbot)
    run(dock, qtbot)
    monkeypatch.setattr(layers, "MAX_SHAPES", len(dock.result.distances))
    run(dock, qtbot)
    assert isinstance(curves_of(model, "one"), Shapes)
    press_on_canvas(model, position_inside(curves_of(model, "two"), 6))
    assert selected_rows(dock) == [len(dock.result.a) + 6]
    monkeypatch.setattr(layers, "MAX_SHAPES", len(dock.result.distances) - 1)
    run(dock, qtbot)
    assert isinstance(curves_of(model, "one"), Labels)
    assert selected_rows(dock) == []


@pytest.fixture
def closed_unasked(monkeypatch):
    """Close windows opened after this without confirmation, as by a script."""
    questions = []
    monkeypatch.setattr(
        QMessageBox, "question", lambda *words: questions.append(words) or QMessageBox.StandardButton.Close
    )
    yield
    assert questions == []


def test_zoomed_in_the_outlines_themselves_are_drawn(closed_unasked, make_napari_viewer, qtbot, few, tmp_path):
    viewer = make_napari_viewer(show=True)
    viewer.window.resize(1100, 700)
    for seed, name in ((1, "one"), (2, "two")):
        viewer.add_image(spots(seed), name=name, scale=(0.5, 0.5), translate=(3.0, 0.0), contrast_limits=(5, 9))
    viewer.layers.selection = set(viewer.layers)
    bench = Bench(viewer)
    viewer.window.add_dock_widget(bench)
    comparison = bench.session.comparison
    set_choices(bench.session.choices, permutations=99, landmarks=50, rank=10)
    comparison.run()
    qtbot.waitUntil(lambda: comparison.result is not None and not comparison.busy)
    qtbot.waitUntil(lambda: bench.canvas_overlays.outlines is not None and grid_of(viewer).enabled)
    drawn = bench.canvas_overlays.outlines
    total = len(comparison.result.distances)
    qtbot.waitUntil(lambda: len(drawn.shown) == total)
    one = curves_of(viewer, "one")
    camera = viewer.scene.camera
    box = comparison.curves.outline(4)
    camera.center = 0, *box.mean(axis=0)
    camera.zoom = 120 / np.ptp(box, axis=0).max()
    assert 4 in drawn.shown
    assert len(drawn.shown) < total

    def seen(shown):
        one.visible = curves_of(viewer, "two").visible = shown
        return viewer.screenshot(canvas_only=True, flash=False)[..., :3].astype(int)

    painted = np.abs(seen(True) - seen(False)).sum(axis=-1) > 20
    qtbot.waitUntil(lambda: not drawn.isVisible())
    one.visible = curves_of(viewer, "two").visible = True
    qtbot.waitUntil(drawn.isVisible)
    size = drawn.size()
    picture = QImage(size, QImage.Format.Format_Grayscale8)
    picture.fill(0)
    drawn.render(picture, QPoint(), QRegion(), QWidget.RenderFlag(0))  # its name differs between Qt bindings
    picture.save(str(tmp_path / "lines.png"))
    lines = imread(tmp_path / "lines.png") > 100
    clear = np.zeros_like(lines)  # of the borders of the cells
    for caption, _ in bench.canvas_overlays.captions.shown:
        left, top, width, height = np.round(caption.cell).astype(int)
        clear[top + 8 : top + height - 8, left + 8 : left + width - 8] = True
    edges = painted & ~ndimage.binary_erosion(painted)
    assert (edges & clear).sum() > 300
    far_from_line, far_from_edge = (ndimage.distance_transform_edt(~one) for one in (lines, edges))
    assert far_from_line[edges & clear].max() < 12  # a painted pixel is 8 canvas pixels, rotated 11
    assert far_from_edge[lines & clear].max() < 12
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(canvas_overlays, "MAX_POLYGONS", 3)
        camera.zoom *= 0.2
        assert not drawn.isVisible()
    assert comparison.unsaved
    comparison.selection.pick([4])
    qtbot.waitUntil(lambda: bench.canvas_overlays.card is not None and bench.canvas_overlays.card.isVisible())
    card = bench.canvas_overlays.card
    place = card.geometry()
    choose_for_selected(card.card, "Leave out")
    assert comparison.excluded_rows() == {4}
    assert includes_again(card.card)
    comparison.choices.exclusions.clear()  # as by "Include all"
    assert not includes_again(card.card)
    assert card.geometry() == place
    canvas = card.parentWidget().rect()
    for (across, down), corner in {(0.1, 0.1): "bottomRight", (0.9, 0.1): "bottomLeft", (0.9, 0.9): "topLeft"}.items():
        card.move_away_from(QPoint(round(across * canvas.width()), round(down * canvas.height())))
        assert getattr(card.geometry(), corner)() == getattr(canvas, corner)()
    assert card.isVisible()
    viewer.layers.remove(one)
    qtbot.waitUntil(lambda: not card.isVisible())
