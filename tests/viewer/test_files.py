"""Files in napari: opened through the manifest, saved from layers, and round trips."""

import json

import npe2
import numpy as np
import pandas as pd
import pytest
from napari.components import ViewerModel
from napari.plugins.utils import get_preferred_reader
from napari.settings import get_settings

from curve_makers import blobs
from napari_shape_ensembles import Comparison, Ensemble, Settings, compare
from napari_shape_ensembles.io import CurveTable, read_comparison_view, read_curves, write_curves
from napari_shape_ensembles.outlines.reasons import OPEN
from napari_shape_ensembles.viewer.displayed_result import comparison_view
from napari_shape_ensembles.viewer.files import prefer_own_reader, reader
from napari_shape_ensembles.viewer.inputs import is_own, source_of, symbol

PLUGIN = "napari-shape-ensembles"


@pytest.fixture
def viewer():
    """A headless viewer model, with the installed plugins."""
    npe2.PluginManager.instance().discover()
    return ViewerModel()


def curves(count=8, seed=0):
    return [curve * 10 + 50 for curve in blobs(count, 40, seed=seed)]


def table():
    ensemble = Ensemble(curves(), name="cells", unit="µm", ids=np.arange(8) + 5)
    return CurveTable(ensemble, ensemble.features.drop(columns="id").assign(kind=["a", "b"] * 4), (0.5, 0.25))


@pytest.fixture
def result():
    a, b = (Ensemble(curves(12, seed), name=f"image {seed}", unit="µm") for seed in (1, 2))
    return compare(a, b, Settings(landmarks=40, permutations=300))


@pytest.mark.parametrize("ending", ["curves.csv", "parquet", "geojson", "zip", "curves.npz"])
def test_a_curve_file_opens_as_shapes_in_place(tmp_path, viewer, ending):
    write_curves(tmp_path / f"cells.{ending}", table())
    (layer,) = viewer.open(tmp_path / f"cells.{ending}", plugin=PLUGIN)
    assert layer.name == "cells"
    assert layer.scale.tolist() == [0.5, 0.25]
    assert [symbol(unit) for unit in layer.units] == ["µm", "µm"]
    assert layer.features["id"].tolist() == table().ensemble.ids.tolist()
    assert layer.features["kind"].tolist() == ["a", "b"] * 4
    assert not is_own(layer)  # so that it can be compared
    np.testing.assert_allclose(np.asarray(layer.data[3]) * layer.scale, table().ensemble[3], rtol=1e-6)


@pytest.mark.parametrize("ending", [".geojson", ".parquet", ".npz", ".zip", ".csv"])
def test_a_shapes_layer_is_saved_with_features_scale_and_unit(tmp_path, viewer, ending):
    write_curves(tmp_path / "cells.curves.npz", table())
    (layer,) = viewer.open(tmp_path / "cells.curves.npz", plugin=PLUGIN)
    layer.add_lines([[0, 0], [1, 1]])
    path = tmp_path / f"again{ending}"
    assert layer.save(str(path), plugin=PLUGIN) == [str(path)]
    again = read_curves(path)
    np.testing.assert_allclose(again.ensemble.vertices, table().ensemble.vertices, rtol=1e-6)
    assert again.ensemble.ids.tolist() == table().ensemble.ids.tolist()
    assert (again.ensemble.unit, again.scale) == ("µm", (0.5, 0.25))
    assert again.ensemble.dropped == {OPEN: 1}
    pd.testing.assert_series_equal(again.features["area"], table().features["area"], rtol=1e-6)


def test_three_dimensional_shapes_are_rejected(viewer, tmp_path):
    layer = viewer.add_shapes([np.zeros((4, 3)) + np.eye(4, 3)], shape_type="polygon")
    with pytest.raises(OSError, match="more than two axes"):
        layer.save(str(tmp_path / "x.geojson"), plugin=PLUGIN)


def test_an_ellipse_is_saved_as_its_outline(viewer, tmp_path):
    layer = viewer.add_shapes([[[0, 0], [0, 20], [10, 20], [10, 0]]], shape_type="ellipse")
    layer.save(str(tmp_path / "x.geojson"), plugin=PLUGIN)
    assert read_curves(tmp_path / "x.geojson").ensemble.features["area"][0] == pytest.approx(50 * np.pi, rel=1e-3)


def test_annotations_of_several_images_open_as_one_layer_each(tmp_path, viewer):
    ring = np.ravel(curves(1)[0]).tolist()
    content = {
        "images": [{"id": 1, "file_name": "one.png"}, {"id": 2, "file_name": "two.png"}],
        "annotations": [{"id": i, "image_id": 1 + i % 2, "segmentation": [ring]} for i in range(4)],
    }
    (tmp_path / "x.json").write_text(json.dumps(content))
    layers = viewer.open(tmp_path / "x.json", plugin=PLUGIN)
    assert [(layer.name, len(layer.data)) for layer in layers] == [("one.png", 2), ("two.png", 2)]


def test_other_json_files_are_left_to_other_readers(tmp_path):
    (tmp_path / "x.json").write_text('{"a": 1}')
    assert reader(str(tmp_path / "x.json")) is None
    assert reader([str(tmp_path / "x.geojson"), str(tmp_path / "x.json")]) is None


@pytest.mark.parametrize(
    ("name", "content"),
    [("notes.txt", b"to do: measure"), ("image.xml", b"<OME/>"), ("images.zip", b"PK\x05\x06" + bytes(18)),
     ("broken.xml", b"<"), ("x.shape.txt", b"1 2 3\n")],
)  # fmt: skip
def test_files_of_shared_extensions_are_left_to_other_readers(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert reader(str(tmp_path / name)) is None


@pytest.mark.parametrize("name", ["labels.npz", "filtered_matrix.h5", "table.csv", "table.csv.gz"])
def test_names_that_others_use_are_not_claimed(name):
    npe2.PluginManager.instance().discover()
    found = npe2.PluginManager.instance().iter_compatible_readers([name])
    assert PLUGIN not in {one.plugin_name for one in found}


def test_shapes_read_from_annotations_are_saved_in_their_format(tmp_path, viewer):
    ring = [[9, 9], [40, 9], [40, 30], [9, 30]]
    shapes = [{"label": "a", "points": ring, "shape_type": "polygon"}, {"label": "b", "points": ring[:2],
              "shape_type": "line"}, {"label": "c", "points": ring[:3], "shape_type": "polygon"}]  # fmt: skip
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"version": "5.4.1", "shapes": shapes, "imagePath": "x.png", "imageData": "kept"}))
    (layer,) = viewer.open(path, plugin=PLUGIN)
    layer.data = [layer.data[0] + 2, layer.data[1], layer.data[0] + 50]
    layer.save(str(path), plugin=PLUGIN)
    written = json.loads(path.read_text())
    assert written["imageData"] == "kept"
    assert [shape["label"] for shape in written["shapes"]] == ["a", "b", "c", "c"]  # napari repeats the last features
    assert written["shapes"][0]["points"][0] == [11, 11]
    assert written["shapes"][1:3] == shapes[1:]
    new = viewer.add_shapes([np.array(ring)], shape_type="polygon")
    new.save(str(tmp_path / "new.json"), plugin=PLUGIN)
    assert json.loads((tmp_path / "new.json").read_text())["annotations"][0]["bbox"] == [9.5, 9.5, 21, 31]


def test_an_invalid_file_adds_no_layer_and_is_reported(tmp_path, viewer):
    (tmp_path / "x.geojson").write_text("{")
    with pytest.raises(ValueError, match=r"x\.geojson is damaged"):
        viewer.open(tmp_path / "x.geojson", plugin=PLUGIN)
    assert not viewer.layers


def test_a_saved_comparison_reopens_with_layers_colors_and_positions(tmp_path, viewer, result):
    inputs = [
        viewer.add_shapes(
            [curve / pixel for curve in ensemble.curves],
            shape_type="polygon",
            name=ensemble.name,
            scale=(pixel, pixel),
            translate=(0, shift),
            units=("µm", "µm"),
        )
        for ensemble, pixel, shift in ((result.a, 0.5, 0), (result.b, 0.25, 300))
    ]
    sources = tuple(source_of(layer, viewer.dims) for layer in inputs)
    path = tmp_path / "pair.comparison.npz"
    result.save(path, view=comparison_view(result, tuple((source,) for source in sources), painted="scale"))
    viewer.layers.clear()
    layers = viewer.open(path, plugin=PLUGIN)
    assert [layer.name for layer in layers] == ["image 1 curves", "image 2 curves"]
    for layer, ensemble, source in zip(layers, (result.a, result.b), sources, strict=True):
        assert is_own(layer)
        assert layer.scale.tolist() == source.scale.tolist()
        assert layer.translate.tolist() == source.placement["translate"].tolist()
        np.testing.assert_allclose(np.ptp(layer.data[0], axis=0) * layer.scale, np.ptp(ensemble[0], axis=0), atol=0.2)
    shown = pd.concat([layer.features["painted"] for layer in layers], ignore_index=True)
    assert shown.tolist() == result.distances["scale"].tolist()
    assert layers[0].face_contrast_limits == layers[1].face_contrast_limits
    again = layers[0].metadata[PLUGIN]["comparison"]
    assert again.summary() == result.summary()
    assert read_comparison_view(path)["b"]["translate"] == [0, 300]


def test_positions_are_kept_in_the_unit_of_the_comparison(viewer, result):
    inputs = [
        viewer.add_shapes(
            [curves(1)[0]], shape_type="polygon", scale=(size, size), translate=(size, 0), units=(unit,) * 2
        )
        for size, unit in ((0.5, "µm"), (250, "nm"))
    ]
    view = comparison_view(result, tuple((source_of(layer, viewer.dims),) for layer in inputs))
    assert view["a"] == {"scale": [0.5, 0.5], "translate": [0.5, 0]}
    np.testing.assert_allclose([view["b"]["scale"], view["b"]["translate"]], [[0.25, 0.25], [0.25, 0]])


def test_a_result_is_added_to_a_viewer_from_a_notebook(viewer, result):
    layers = result.to_layers(viewer)
    assert list(viewer.layers) == layers
    assert len(layers[0].data) == len(result.a)
    assert layers[0].face_contrast_limits == layers[1].face_contrast_limits


def test_a_folder_of_comparisons_reads_back_without_a_view(tmp_path, viewer, result):
    result.save(tmp_path / "x.comparison.npz")
    assert len(viewer.open(tmp_path / "x.comparison.npz", plugin=PLUGIN)) == 2
    assert Comparison.load(tmp_path / "x.comparison.npz").case == result.case


def test_our_own_files_open_without_a_reader_dialog():
    plugins = get_settings().plugins
    before = plugins.extension2reader
    try:
        plugins.extension2reader = {"*.curves.csv": "napari"}  # the user's choice is kept
        npe2.PluginManager.instance().discover()
        manifest = npe2.PluginManager.instance().get_manifest(PLUGIN)
        assert manifest.on_activate is None  # nothing is written before a person saves or opens such a file
        prefer_own_reader()
        assert get_preferred_reader("day 1/x.comparison.npz") == PLUGIN
        assert get_preferred_reader("x.curves.npz") == PLUGIN
        assert get_preferred_reader("x.curves.csv") == "napari"
        assert get_preferred_reader("labels.npz") is None
    finally:
        plugins.extension2reader = before


def test_what_a_file_holds_beside_outlines_is_told_when_it_is_opened(tmp_path, viewer, monkeypatch):
    said = []
    monkeypatch.setattr("napari_shape_ensembles.viewer.files.show_warning", said.append)
    ring = [[0, 0], [9, 0], [9, 9], [0, 9]]
    masks = {"annotations": [{"segmentation": {"counts": [1], "size": [1, 1]}}] * 3, "images": []}
    masks["annotations"] = [*masks["annotations"], {"segmentation": [np.ravel(ring).tolist()]}]
    (tmp_path / "coco.json").write_text(json.dumps(masks), encoding="utf-8")
    viewer.open(tmp_path / "coco.json", plugin=PLUGIN)
    assert said == ["coco.json: 1 curve; 3 left out: empty masks"]
    write_curves(tmp_path / "cells.curves.npz", table())
    viewer.open(tmp_path / "cells.curves.npz", plugin=PLUGIN)
    assert len(said) == 1


def test_frames_of_one_file_open_as_layers_of_their_own(tmp_path, viewer):
    rows = [f"{frame},{name},{x},{y}" for frame in (1, 2) for name, one in enumerate(curves()) for y, x in one]
    (tmp_path / "movie.curves.csv").write_text("\n".join(["frame,id,x,y", *rows]), encoding="utf-8")
    layers = viewer.open(tmp_path / "movie.curves.csv", plugin=PLUGIN)
    assert [layer.name for layer in layers] == ["movie frame 1", "movie frame 2"]
    assert [len(layer.data) for layer in layers] == [8, 8]


def test_masks_of_cellpose_are_labels_and_plain_arrays_are_left_to_napari(tmp_path):
    masks = np.arange(12, dtype=np.uint16).reshape(3, 4)
    np.save(tmp_path / "a_seg.npy", {"masks": masks, "filename": "a.tif"}, allow_pickle=True)
    np.save(tmp_path / "b_seg.npy", masks)
    ((found, options, kind),) = reader(str(tmp_path / "a_seg.npy"))(str(tmp_path / "a_seg.npy"))
    np.testing.assert_array_equal(found, masks)
    assert (options["name"], kind) == ("a_seg", "labels")
    assert found.flags.writeable  # to be painted on
    assert reader(str(tmp_path / "b_seg.npy")) is None
