"""Curves as layers: simplified for display only, colored correctly by any column, without blocking the event loop.

Several tests cover pitfalls of napari's Shapes layer and of worker threads.
"""

import threading
import time
import weakref
from functools import partial
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
import shapely
from napari.components import ViewerModel
from qtpy.QtCore import QTimer

from curve_makers import blobs
from docks import run, wait_until_released
from napari_shape_ensembles import Comparison, Ensemble, Settings, compare
from napari_shape_ensembles.comparison.colorings import COLORINGS
from napari_shape_ensembles.comparison.display import MARK, edge_width, simplified
from napari_shape_ensembles.progress import report
from napari_shape_ensembles.viewer import comparing, inputs
from napari_shape_ensembles.viewer import layers as own_layers
from napari_shape_ensembles.viewer.displayed_result import comparison_view
from napari_shape_ensembles.viewer.inputs import Source, is_own
from napari_shape_ensembles.viewer.layers import colormap_of, curve_layers, repaint
from napari_shape_ensembles.viewer.task import JobRunner


def source(curves, name="one", scale=1.0):
    placement = {"scale": np.full(2, scale), "translate": np.zeros(2), "units": ("um", "um")}
    return Source("shapes", list(curves), name, np.full(2, scale), "µm", placement, "", {})


@pytest.fixture(scope="module")
def compared():
    ensembles = tuple(Ensemble(blobs(40, 200, seed=seed) * 20, unit="µm") for seed in (1, 2))
    return compare(*ensembles, Settings(landmarks=60, permutations=99, rank=20))


@pytest.fixture
def layers(compared):
    sources = tuple((source(side.curves, scale=0.5),) for side in (compared.a, compared.b))
    return curve_layers(compared, comparison_view(compared, sources), sources)


def test_curves_are_simplified_for_display_within_a_quarter_of_a_pixel(compared, layers):
    for layer, ensemble in zip(layers, (compared.a, compared.b), strict=True):
        full = layer.metadata[MARK]["curves"]
        assert full is ensemble
        assert sum(map(len, layer.data)) < 0.7 * sum(map(len, full.curves))
        assert len(layer.data) == len(full.curves)
        for shown, curve in zip(layer.data[::4], full.curves[::4], strict=True):
            distance = shapely.hausdorff_distance(shapely.Polygon(shown), shapely.Polygon(curve / 0.5), densify=0.01)
            assert distance <= 0.25 + 1e-3


def test_simplified_curves_do_not_self_intersect():
    rng = np.random.default_rng(0)
    ragged = [curve + rng.normal(scale=0.05, size=curve.shape) for curve in blobs(300, 80, seed=3) * 3]
    assert all(shapely.is_valid(shapely.Polygon(curve)) for curve in simplified([c for c in ragged if valid(c)]))


def valid(curve):
    return shapely.is_valid(shapely.Polygon(curve))


def test_simplification_keeps_order_and_small_curves():
    tiny, large = np.array([[0, 0], [0, 0.1], [0.1, 0]]), blobs(1, 300, seed=1)[0] * 30
    thinned = simplified([tiny, large, tiny + 5])
    np.testing.assert_allclose(thinned[0], tiny)
    np.testing.assert_allclose(thinned[2], tiny + 5)
    assert 10 < len(thinned[1]) < 150
    assert simplified([]) == []


def test_triangulation_is_compiled(layers):
    from napari.settings import get_settings
    from napari.utils.triangulation_backend import TriangulationBackend, get_backend

    assert get_settings().experimental.triangulation_backend is get_backend()
    assert get_backend() not in (TriangulationBackend.pure_python, TriangulationBackend.numba)


def test_thousands_of_curves_are_drawn_without_edges():
    many = Ensemble(np.tile(blobs(1, 20), (2001, 1, 1)) + np.arange(2001)[:, None, None], unit="µm")
    few = many[np.arange(2001) < 30]
    result = compare(few, few, Settings(landmarks=20, permutations=19, rank=2))
    sources = (source(few.curves),), (source(few.curves),)
    shown = curve_layers(result, comparison_view(result, sources), sources)
    assert min(shown[0].edge_width) > 0

    assert edge_width(many, {"scale": [0.5, 0.5]}) == 0


# Coloring by any column ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", COLORINGS)
def test_every_color_feature_colors_by_its_values(layers, compared, column):
    paint = COLORINGS[column]
    values = paint.values(compared)
    limits = paint.limits(values, 99)
    repaint(layers[0], column, limits)
    own = values[: len(compared.a)]
    share = np.clip((own - limits[0]) / (limits[1] - limits[0]), 0, 1)
    np.testing.assert_allclose(layers[0].face_color, colormap_of(paint).map(share), atol=1 / 255)
    assert layers[0].features["painted"].to_numpy() == pytest.approx(own)


COLUMNS = {
    "NaN": [np.nan, *range(1, 40)],
    "constant": [3] * 40,
    "whole numbers": [index % 5 for index in range(40)],
    "switches": [index % 2 == 0 for index in range(40)],
    "infinite": [np.inf, *range(1, 40)],
}


@pytest.mark.parametrize("name", COLUMNS)
def test_unusual_columns_are_colored_by_the_scale(layers, name):
    layer = layers[0]
    values = np.asarray(COLUMNS[name])
    layer.features = layer.features.assign(distance_from_mean=values)
    repaint(layer, "distance_from_mean", (0.0, 40.0))
    colors = np.asarray(layer.face_color)
    expected = colormap_of(COLORINGS["distance_from_mean"]).map(np.clip(values.astype(float) / 40, 0, 1))
    known = ~np.isnan(values.astype(float))
    np.testing.assert_allclose(colors[known], expected[known], atol=1 / 255)
    assert (colors[~known, 3] == 0).all()


@pytest.mark.parametrize("values", [[5.0] * 4, [np.nan] * 4, [0.0] * 4, [np.inf, 1.0, 2.0, np.nan]])
def test_color_limits_are_finite_and_distinct_for_any_values(values):
    for paint in COLORINGS.values():
        low, high = paint.limits(np.array(values), 99)
        assert np.isfinite([low, high]).all()
        assert low < high


def test_selecting_a_curve_does_not_upload_the_mesh_again(layers):
    from napari_shape_ensembles.viewer.layers import select

    model = ViewerModel()
    model.add_layer(layers[0])
    uploads = []
    layers[0].events.edge_width.connect(uploads.append)
    select(layers[0], {3})
    assert set(layers[0].selected_data) == {3}
    assert not uploads


def test_recoloring_uploads_once_and_keeps_the_limits(layers):
    uploads = []
    layers[0].events.face_color.connect(uploads.append)
    repaint(layers[0], "scale", (0.0, 0.125))
    assert len(uploads) == 1
    assert layers[0].face_contrast_limits == (0.0, 0.125)


def test_the_color_column_is_kept_when_features_change(layers):
    layer = layers[0]
    layer.features = layer.features.assign(extra=1.0)
    repaint(layer, "undulation", (0.0, 1.0))
    assert {"painted", "extra"} <= set(layer.features)


def test_a_copy_can_be_recolored_from_its_features(layers):
    data, attributes, _ = layers[0].as_layer_data_tuple()
    copy = ViewerModel().add_shapes(data, **attributes)
    pd.testing.assert_frame_equal(copy.features, layers[0].features, check_dtype=False)
    np.testing.assert_allclose(copy.face_color, layers[0].face_color, atol=1 / 255)


def test_worker_errors_are_raised_and_functions_released(qtbot):
    def failing():
        report("failing", 0, 1)
        raise RuntimeError("the reason")

    ended, alive, functions = [], weakref.ref(failing), [failing]

    def steps():
        try:
            yield functions.pop()
        except ValueError as error:
            ended.append(str(error))

    background = JobRunner()
    background.begin(steps())
    del failing
    qtbot.waitUntil(lambda: bool(ended))
    assert "the reason" in ended[0]
    wait_until_released(qtbot, alive)


def test_areas_are_those_of_the_curves_not_of_the_mesh(layers, compared):
    np.testing.assert_allclose(layers[0].features["area"], compared.a.features["area"])
    concave = np.array([[0, 0], [0, 3], [1, 3], [1, 1], [2, 1], [2, 3], [3, 3], [3, 0]], dtype=float)
    assert Ensemble([concave]).features["area"].iloc[0] == pytest.approx(7)


def test_one_worker_at_a_time(qtbot):
    inside, most = [], []

    def function():
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.15)
        inside.pop()
        report("slept", 1, 1)

    background, ended = JobRunner(), []

    def steps():
        ended.append((yield function))

    for _ in range(4):
        background.begin(steps())
        qtbot.wait(30)
    qtbot.waitUntil(lambda: bool(ended))
    assert max(most) == 1


def test_curves_that_cannot_be_drawn_are_excluded():
    flat, holed, pair = [[0, 0], [0, 1], [0, 2]], [[0, 0], [0, np.nan], [1, 1]], [[0, 0], [1, 1]]
    ensemble = Ensemble([*blobs(2, 30), flat, holed, pair])
    assert len(ensemble) == 2
    assert sum(ensemble.dropped.values()) == 3


# The event loop is not blocked ---------------------------------------------------------------------------------


def test_layers_are_added_and_removed_with_time_to_draw_in_between(bare_dock, model, qtbot):
    ticks, moved, timer = [], [], QTimer()
    timer.timeout.connect(lambda: ticks.append(len(moved)))
    for event in (model.layers.events.inserted, model.layers.events.removed):
        event.connect(lambda event: moved.append(event.value.name) if is_own(event.value) else None)
    timer.start(0)
    run(bare_dock, qtbot)
    run(bare_dock, qtbot)
    timer.stop()
    # New layers come before the previous ones go, and then take their names.
    assert moved == ["one curves", "two curves", "one curves [1]", "two curves [1]", "one curves", "two curves"]
    assert {*ticks, 5} == set(range(len(moved) + 1))  # removals share a turn: nothing is drawn meanwhile


def test_slow_work_never_runs_in_the_main_thread(bare_dock, qtbot, tmp_path, monkeypatch):
    where = {}

    def watched(owner, name):
        function = getattr(owner, name)

        def noting(*arguments, **options):
            where.setdefault(name, set()).add(threading.current_thread() is threading.main_thread())
            return function(*arguments, **options)

        monkeypatch.setattr(owner, name, noting)

    names = ["compare_groups", "curve_layers", "read_view"]
    witness = import_module("napari_shape_ensembles.comparison.outline_table"), "witness"
    owners = (inputs, "trace"), (Comparison, "save"), (own_layers, "comparison_layer_data"), witness
    for owner, name in (*owners, *((comparing, name) for name in names)):
        watched(owner, name)
    run(bare_dock, qtbot)
    path, task = tmp_path / "pair.comparison.npz", bare_dock.comparison
    for act in (partial(task.save, path), partial(task.open, path), task.check_robustness, task.overrule):
        with qtbot.waitSignal(bare_dock.finished):
            act()
    assert where == {name: {False} for name in where}
    assert len(where) == len(owners) + len(names)


def test_a_run_cancelled_while_curves_are_added_is_shown_completely(bare_dock, model, qtbot):
    model.layers.events.inserted.connect(lambda event: is_own(event.value) and bare_dock.cancel())
    run(bare_dock, qtbot)
    assert [layer.name for layer in model.layers] == ["one", "two", "one curves", "two curves"]
    assert bare_dock.state == "done"
    assert not bare_dock.busy


def test_curves_are_not_recolored_needlessly(layers):
    uploads = []
    layers[0].events.face_color.connect(uploads.append)
    limits = layers[0].face_contrast_limits
    repaint(layers[0], "distance_from_mean", limits)
    assert not uploads
    repaint(layers[0], "distance_from_mean", (0.0, 2 * limits[1]))
    layers[0].features.loc[0, "excluded"] = True
    repaint(layers[0], "distance_from_mean", (0.0, 2 * limits[1]))
    assert len(uploads) == 2
