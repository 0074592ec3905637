"""Exchange formats: written here, read by their own libraries, and read back."""

import json
import shutil
import sys

import numpy as np
import pandas as pd
import pytest
import tifffile

from command_line import run
from curve_makers import blobs, ragged_blobs
from napari_shape_ensembles import Ensemble, Outlines, Settings, compare, experiment
from napari_shape_ensembles.io import (
    Calibration,
    read_curves,
    read_image,
    read_ome_zarr,
    save_settings,
    write_curves,
    write_objects,
    write_ome_zarr_labels,
)
from napari_shape_ensembles.io.ome_zarr import open_ome_zarr
from napari_shape_ensembles.io.sources import Reading, ensemble_of_file, files_of, read_images
from napari_shape_ensembles.outlines.reasons import HOLES, NOT_POLYGON, PARTS

QUICK = Settings(landmarks=40, rank=6, permutations=99)
LABELS = np.kron(np.arange(1, 10, dtype=np.int32).reshape(3, 3), np.pad(np.ones((20, 20), np.int32), 10))


@pytest.fixture(scope="module")
def result():
    a = Ensemble(ragged_blobs(12, seed=1, fewest=30, most=60), name="one", unit="µm", pixel_size=(0.5, 0.25))
    b = Ensemble(list(blobs(14, 40, seed=2)), name="two", unit="µm", pixel_size=(0.5, 0.25))
    return compare(a, b.assign(well="B2"), QUICK)


def assert_same_outlines(one, other, **tolerance):
    assert one.unit == other.unit
    assert [str(value) for value in one.ids] == [str(value) for value in other.ids]
    np.testing.assert_array_equal(one.offsets, other.offsets)
    np.testing.assert_allclose(one.vertices, other.vertices, rtol=1e-12, atol=0, **tolerance)


# ------------------------------------------------------------------------------------------------- tables of outlines


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_has_one_row_per_outline(result, tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    path = write_objects(tmp_path / f"objects.{ending}", result)
    exact = {"float_precision": "round_trip"} if pd.__version__ < "3" else {}  # from pandas 3 on the default
    table = pd.read_csv(path, **exact) if ending == "csv" else pd.read_parquet(path)
    assert len(table) == 26
    assert table["sample"].tolist() == np.repeat(result.names, [12, 14]).tolist()
    np.testing.assert_array_equal(table["area"][:12], result.a.features["area"])
    np.testing.assert_array_equal(table[["l1", "l2", "l3"]], result.l)


@pytest.mark.parametrize("ending", ["csv", "geojson", "h5ad"])
def test_a_table_of_an_experiment_has_one_row_per_outline(tmp_path, ending):
    images = [Ensemble(list(blobs(6, 40, seed=seed)), name=f"image {seed}") for seed in range(4)]
    found = experiment(images, pd.DataFrame({"group": list("abab")}), QUICK)
    path = tmp_path / f"objects.{ending}"
    if ending == "h5ad":
        with pytest.raises(ValueError, match=r"objects\.h5ad: \.h5ad holds one contrast: write \.parquet"):
            write_objects(path, found)
        return
    write_objects(path, found)
    table = pd.read_csv(path) if ending == "csv" else read_curves(path).features
    assert table["sample"].tolist() == np.repeat(list("abab"), 6).tolist()
    if ending == "geojson":
        read = read_curves(path).ensemble
        np.testing.assert_allclose(read.vertices, np.concatenate([one.vertices for one in images]))


def test_unknown_suffixes_are_rejected_before_processing(tmp_path):
    done = run("compare", "none.csv", "none.csv", "--table", tmp_path / "x.doc")
    assert done.exit_code == 2
    assert "x.doc: a table of outlines must end in .csv (table)" in done.stderr


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labels")
    save_settings(folder / "s.toml", QUICK)
    rng = np.random.default_rng(0)
    for name in "abcd":
        plane = np.zeros((240, 240), np.uint16)
        for place in range(16):
            row, column = 30 + 60 * (place // 4), 30 + 60 * (place % 4)
            height, width = rng.integers(10, 20, 2)
            plane[row - height : row + height, column - width : column + 9] = place + 1
        tifffile.imwrite(folder / f"{name}.tif", plane)
    (folder / "plan").mkdir()
    rows = {"image": [f"../{name}.tif" for name in "abcd"], "group": list("xxyy"), "area": [1, 2, 3, 4]}
    pd.DataFrame(rows).to_csv(folder / "plan" / "design.csv", index=False)
    return folder


COMMANDS = {
    "compare": (["{f}/a.tif", "{f}/b.tif", "--labels", "--settings", "{f}/s.toml"], 32),
    "experiment": (["{f}/plan/design.csv", "--labels", "--settings", "{f}/s.toml"], 64),
    "segment": (["{f}/a.tif", "{f}/b.tif", "{f}/c.tif", "--labels"], 48),
    "pairs": (["{f}", "--labels", "--settings", "{f}/s.toml", "--set", "permutations=19"], 64),
    "landscape": (
        ["{f}/a.tif", "{f}/b.tif", "--labels", "--ranks", "3", "--landmarks", "40", "--settings", "{f}/s.toml"],
        32,
    ),
}


@pytest.mark.usefixtures("blank_files")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_writes_tables(images, tmp_path, command):
    arguments, count = COMMANDS[command]
    given = [argument.format(f=images) for argument in arguments]
    done = run(command, *given, "--out", tmp_path / "r", "--table", tmp_path / "objects.csv")
    assert done.exit_code == 0, done.output
    table = pd.read_csv(tmp_path / "objects.csv")
    assert len(table) == count
    assert set("abcd"[: count // 16]) == set(table["image"])
    assert {"id", "area", "perimeter"} <= set(table)
    if command == "experiment":
        assert table.groupby("image")["sample"].first().tolist() == ["x", "x", "y", "y"]
        assert sorted(set(table["area of the design"])) == [1, 2, 3, 4]


# -------------------------------------------------------------------------------------------------------- GeoParquet


def test_geoparquet_round_trips_and_is_read_by_geopandas(result, tmp_path):
    pytest.importorskip("pyarrow")
    geopandas = pytest.importorskip("geopandas")
    path = tmp_path / "one.geoparquet"
    write_curves(path, result.a)
    again = read_curves(path)
    assert_same_outlines(result.a, again.ensemble)
    np.testing.assert_array_equal(again.features["area"], result.a.features["area"])
    frame = geopandas.read_parquet(path)
    assert frame.crs is None
    np.testing.assert_allclose(frame.area, result.a.features["area"])
    assert frame.total_bounds[0] == pytest.approx(result.a.vertices[:, 1].min())  # x is the column


def test_polygons_of_other_programs_with_holes_and_pieces_counted(tmp_path):
    pytest.importorskip("pyarrow")
    geopandas = pytest.importorskip("geopandas")
    import shapely

    ring = shapely.Point(0, 0).buffer(5) - shapely.Point(0, 0).buffer(1)
    two = shapely.MultiPolygon([shapely.box(0, 0, 4, 1), shapely.box(9, 9, 10, 10)])
    frame = geopandas.GeoDataFrame({"kind": ["a", "b", "c"]}, geometry=[ring, two, shapely.Point(1, 1)])
    frame.to_parquet(tmp_path / "x.geoparquet")
    table = read_curves(tmp_path / "x.geoparquet")
    assert table.features["kind"].tolist() == ["a", "b"]
    assert table.ensemble.dropped == {HOLES: 1, PARTS: 1, NOT_POLYGON: 1}
    np.testing.assert_array_equal(np.ptp(table.ensemble[1], axis=0), [1, 4])
    frame.set_crs(4326).to_parquet(tmp_path / "globe.geoparquet")
    with pytest.raises(ValueError, match="geographic"):
        read_curves(tmp_path / "globe.geoparquet")
    pd.DataFrame({"row": [1]}).to_parquet(tmp_path / "plain.geoparquet")
    with pytest.raises(ValueError, match="has no geometry"):
        read_curves(tmp_path / "plain.geoparquet")


def test_a_table_with_polygons_keeps_unit_and_pixel_size(tmp_path):
    pytest.importorskip("pyarrow")
    labels = np.zeros((30, 60), int)
    labels[5:25, 5:25], labels[5:25, 35:55] = 1, 2
    ensembles = [Outlines().trace(labels, scale=(0.5, 0.5), unit="µm", name=name) for name in ("one", "two")]
    write_objects(tmp_path / "t.geoparquet", Ensemble.pooled(ensembles))
    again = read_curves(tmp_path / "t.geoparquet").ensemble
    assert (again.unit, again.pixel_size) == ("µm", (0.5, 0.5))
    assert again.images.tolist() == ["one", "one", "two", "two"]
    np.testing.assert_array_equal(again.features["area"], Ensemble.pooled(ensembles).features["area"])


# ------------------------------------------------------------------------------------------ QuPath, as a stream


def test_geojson_has_one_line_per_outline_and_round_trips(result, tmp_path):
    write_objects(tmp_path / "x.geojson", result)
    lines = (tmp_path / "x.geojson").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 28
    whole = json.loads("\n".join(lines))
    assert whole["features"][0]["properties"]["measurements"]["area"] == result.a.features["area"][0]
    again = read_curves(tmp_path / "x.geojson")
    assert len(again.ensemble) == 26
    np.testing.assert_allclose(again.ensemble[0], result.a[0], atol=1e-9)
    write_curves(tmp_path / "none.geojson", Ensemble([], name="none"))
    assert json.loads((tmp_path / "none.geojson").read_text())["features"] == []


# ---------------------------------------------------------------------------------------------- AnnData, SpatialData


@pytest.mark.filterwarnings("ignore")  # of anndata itself
def test_anndata_holds_the_coordinates_and_round_trips(result, tmp_path):
    anndata = pytest.importorskip("anndata")
    path = write_objects(tmp_path / "x.h5ad", result)
    data = anndata.read_h5ad(path)
    np.testing.assert_array_equal(data.obsm["undulation"], result.t)
    np.testing.assert_array_equal(data.obsm["scale"], result.l)
    assert data.obs["sample"].tolist() == ["one"] * 12 + ["two"] * 14
    assert {"id", "image", "sample", "area", "distance_from_mean", "undulation", "scale"} <= set(data.obs)
    again = Ensemble.from_anndata(data[12:])
    assert_same_outlines(Ensemble(list(result.b.curves), unit="µm", ids=again.ids), again)
    assert again.metadata["well"].tolist() == ["B2"] * 14
    assert list(again.metadata) == ["well"]


@pytest.mark.filterwarnings("ignore")
def test_spatialdata_aligns_outlines_with_image_pixels(result, tmp_path):
    spatialdata = pytest.importorskip("spatialdata", reason="spatialdata is not installed")
    write_objects(tmp_path / "x.zarr", result)
    data = spatialdata.read_zarr(tmp_path / "x.zarr")
    assert sorted(data.shapes) == ["one", "two"]
    table = data.tables["outlines"]
    assert table.uns["spatialdata_attrs"]["region"] == ["one", "two"]
    assert table.obs["region"].tolist() == ["one"] * 12 + ["two"] * 14
    np.testing.assert_array_equal(table.obsm["undulation"], result.t)
    shapes, joined = spatialdata.join_spatialelement_table(
        sdata=data, spatial_element_names="two", table_name="outlines", how="inner"
    )
    assert joined.obs["id"].tolist() == shapes["two"]["id"].tolist()
    placed = spatialdata.transform(data["one"], to_coordinate_system="pixels")
    first = result.a[0] / (0.5, 0.25) + 0.5
    np.testing.assert_allclose(placed.geometry.iloc[0].bounds, [*first.min(axis=0)[::-1], *first.max(axis=0)[::-1]])
    np.testing.assert_allclose(data["one"].area, result.a.features["area"])


@pytest.mark.filterwarnings("ignore")
def test_outlines_are_read_from_a_spatialdata_store(result, tmp_path):
    pytest.importorskip("zarr")
    pooled = Ensemble.pooled([result.a, result.b])
    store = tmp_path / "x.zarr"
    pooled.to_anndata().write_zarr(store / "tables" / "outlines")
    frame = pooled.to_geodataframe()
    for name in ("one", "two"):  # as SpatialData lays them out
        (store / "shapes" / name).mkdir(parents=True)
        frame[frame["image"] == name].to_parquet(store / "shapes" / name / "shapes.parquet")
    again, _ = read_images([store], Reading())
    assert_same_outlines(again[0], pooled)
    assert again[0].metadata["well"].tolist() == [""] * 12 + ["B2"] * 14
    assert files_of(store, groups=False) == [store]

    shutil.rmtree(store / "tables")  # as other programs write it
    with pytest.raises(
        ValueError, match=r"x\.zarr: holds polygons in several shapes \(one, two\), .*x\.zarr/shapes/one"
    ):
        read_curves(store)
    one = ensemble_of_file(store / "shapes" / "one", Reading())
    np.testing.assert_allclose(one.features["area"], result.a.features["area"])
    shutil.rmtree(store / "shapes" / "two")
    assert len(read_curves(store).ensemble) == 12
    shutil.rmtree(store / "shapes" / "one")
    with pytest.raises(ValueError, match=r"holds no polygons \(its shapes are none\)"):
        read_curves(store)


@pytest.mark.parametrize(
    ("ending", "package", "extra"),
    [("h5ad", "anndata", "anndata"), ("zarr", "spatialdata", "spatialdata"), ("parquet", "pyarrow", "parquet"),
     ("geoparquet", "pyarrow", "parquet")],
)  # fmt: skip
def test_a_missing_extra_is_reported_in_one_sentence(result, tmp_path, monkeypatch, ending, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises((ImportError, ValueError), match=rf'needs {package}: pip install ".*\[{extra}\]"'):
        write_objects(tmp_path / f"x.{ending}", result)
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------------------------------------------- OME-Zarr


def test_labels_in_ome_zarr_round_trip_with_pixel_size(tmp_path):
    pytest.importorskip("zarr")
    path = tmp_path / "cells.ome.zarr"
    write_ome_zarr_labels(path, LABELS, Calibration((0.5, 0.25), "µm"), levels=3)
    found = open_ome_zarr(path)
    assert (found.name, found.calibration.unit, found.calibration.scale) == ("cells", "µm", (0.5, 0.25))
    again = read_ome_zarr(path)
    with pytest.raises(ValueError, match="read an OME-Zarr image with"):
        read_image(path)
    np.testing.assert_array_equal(again.pixels, LABELS)
    import zarr

    group = zarr.open_group(str(path), mode="r")
    np.testing.assert_array_equal(group["2"][:], LABELS[::4, ::4])
    assert group.attrs["multiscales"][0]["datasets"][1]["coordinateTransformations"][0]["scale"] == [1.0, 0.5]
    with pytest.raises(ValueError, match="already exists"):
        write_ome_zarr_labels(path, LABELS)
    with pytest.raises(ValueError, match="plane of integers"):
        write_ome_zarr_labels(tmp_path / "x.zarr", LABELS / 2)
    with pytest.raises(ValueError, match=r"x\.tif|more pixels|GiB"):
        read_ome_zarr(path, memory=1e-6)


def test_labels_larger_than_memory_are_traced_in_tiles(tmp_path):
    """The outlines are those of the whole plane, although reading it whole would be rejected."""
    pytest.importorskip("zarr")
    path = tmp_path / "cells.ome.zarr"
    write_ome_zarr_labels(path, LABELS, Calibration((0.5, 0.25), "µm"))
    whole, tiled = (ensemble_of_file(path, Reading(labels=True, memory=memory)) for memory in (None, 1e-6))
    assert (len(tiled), tiled.name, tiled.unit) == (len(whole), whole.name, whole.unit)
    for one, other in zip(whole.ids.argsort(), tiled.ids.argsort(), strict=True):
        np.testing.assert_allclose(tiled.curves[other], whole.curves[one], rtol=1e-13)
    with pytest.raises(ValueError, match="GiB"):
        read_ome_zarr(path, memory=1e-6)


def test_labels_inside_an_image_of_version_05_are_found(tmp_path):
    zarr = pytest.importorskip("zarr")
    root = zarr.open_group(str(tmp_path / "field.ome.zarr"), mode="w", zarr_format=3)
    axes = [{"name": "c", "type": "channel"}, *({"name": n, "type": "space", "unit": "micrometer"} for n in "yx")]
    scale = {"type": "scale", "scale": [1, 0.5, 0.5]}
    scales = [{"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": [scale]}]}]
    root.attrs["ome"] = {"version": "0.5", "multiscales": scales}
    root["0"] = np.zeros((2, 90, 120), np.uint8)
    labels = root.create_group("labels")
    labels.attrs["ome"] = {"version": "0.5", "labels": ["cells"]}
    cells = labels.create_group("cells")
    own = [
        {"axes": axes[1:], "datasets": [{"path": "0", "coordinateTransformations": [{**scale, "scale": [0.5, 0.5]}]}]}
    ]
    cells.attrs["ome"] = {"version": "0.5", "multiscales": own, "image-label": {}}
    cells["0"] = LABELS
    found = open_ome_zarr(tmp_path / "field.ome.zarr", labels=True)
    assert found.array.shape == LABELS.shape
    assert found.calibration.scale == (0.5, 0.5)
    assert open_ome_zarr(tmp_path / "field.ome.zarr" / "labels" / "cells").name == "field cells"
    assert read_ome_zarr(tmp_path / "field.ome.zarr", plane=(1,)).pixels.shape == (90, 120)
    labels.attrs["ome"] = {"version": "0.5", "labels": ["cells", "nuclei"]}
    with pytest.raises(ValueError, match="several sets of labels"):
        open_ome_zarr(tmp_path / "field.ome.zarr", labels=True)
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(ValueError, match=r"empty\.zarr"):
        open_ome_zarr(tmp_path / "empty.zarr")


def test_the_command_line_accepts_ome_zarr(tmp_path):
    pytest.importorskip("zarr")
    write_ome_zarr_labels(tmp_path / "cells.ome.zarr", LABELS, Calibration((0.5, 0.5), "µm"))
    done = run("segment", tmp_path / "cells.ome.zarr", "--labels", "--out", tmp_path / "r")
    assert done.exit_code == 0, done.output
    assert "9 curves" in done.stdout
    assert "0.5 µm per pixel (OME-Zarr)" in done.stdout
