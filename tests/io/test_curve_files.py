"""Curve files of every format: round trips, coordinate conventions, and rejection of bad files."""

import io
import json
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curve_makers import blobs, ragged_blobs
from napari_shape_ensembles import Ensemble, Outlines
from napari_shape_ensembles.io import CurveTable, read_curves, write_curves
from napari_shape_ensembles.outlines.reasons import AT_BORDER, HOLES, NOT_POLYGON, OPEN, PARTS, Reason, too_small

EXACT = {".csv", ".parquet", ".npz"}
WRITTEN = [".csv", ".parquet", ".geojson", ".zip", ".npz"]
SQUARE = np.array([[0, 0], [4, 0], [4, 6], [0, 6]], dtype=float)


def table(ids=None, unit="µm", scale=(0.5, 0.25), count=12):
    curves = [curve * 20 + 100 for curve in ragged_blobs(count, seed=1, fewest=20, most=60)]
    dropped = {too_small(16): 3, AT_BORDER: 1, Reason("small", 9.5, "2 µm"): 2}
    ensemble = Ensemble(curves, name="cells, ∧ µ", unit=unit, dropped=dropped, ids=ids)
    features = ensemble.features.drop(columns="id").assign(
        odd=np.arange(count) % 2 == 1,
        place=np.arange(count) - 5,
        group=["a: b", "007", "", 'quoted "x", y'] * (count // 4),
        gap=[np.nan, 1.5] * (count // 2),
    )
    return CurveTable(ensemble, features, scale, {"image": "one.tif"})


def assert_same(one, other, *, tolerance):
    assert other.ensemble.offsets.tolist() == one.ensemble.offsets.tolist()
    assert other.ensemble.ids.tolist() == one.ensemble.ids.tolist()
    np.testing.assert_allclose(other.ensemble.vertices, one.ensemble.vertices, rtol=tolerance, atol=0)
    for name in ("name", "unit", "dropped"):
        assert getattr(other.ensemble, name) == getattr(one.ensemble, name)
    assert other.scale == one.scale
    assert other.provenance["image"] == "one.tif"
    assert other.provenance["software"].startswith("napari-shape-ensembles")
    pd.testing.assert_frame_equal(other.features, one.features, check_dtype=False)


@pytest.mark.parametrize("ending", WRITTEN)
@pytest.mark.parametrize("ids", [None, [f"00{i}" for i in range(12)], np.arange(12) - 6])
def test_curves_round_trip_with_features_scale_unit_and_provenance(tmp_path, ending, ids):
    written = table(ids)
    write_curves(tmp_path / f"cells.curves{ending}", written)
    tolerance = 0 if ending in EXACT else 1e-14 if ending == ".geojson" else 1e-6
    assert_same(written, read_curves(tmp_path / f"cells.curves{ending}"), tolerance=tolerance)


@pytest.mark.parametrize("ending", [*WRITTEN, ".geoparquet"])
def test_tracing_parameters_round_trip(tmp_path, ending):
    rows, columns = np.indices((40, 80))
    labels = (np.hypot(rows - 20, columns % 40 - 20) < 15) * (columns // 40 + 1)
    labels[18:22, 18:22] = 0
    for name, scale in (("fine", (0.5, 0.5)), ("coarse", (2.0, 1.5))):
        traced = Outlines(outline_smoothing=0.7).trace(labels, scale=scale, unit="µm", name=name)
        write_curves(tmp_path / f"{name}{ending}", traced)
        table = read_curves(tmp_path / f"{name}{ending}")
        assert table.ensemble.pixel_size == table.scale == scale
        assert table.ensemble.tracing == traced.tracing
        assert (table.ensemble.filled, traced.filled) == (1, 1)
    drawn = Ensemble([SQUARE], unit="µm")
    write_curves(tmp_path / f"drawn{ending}", drawn)
    assert read_curves(tmp_path / f"drawn{ending}").ensemble.pixel_size is None


coordinates = st.floats(-1e6, 1e6)


@given(
    ending=st.sampled_from(sorted(EXACT)),
    curves=st.lists(st.lists(st.tuples(coordinates, coordinates), min_size=3, max_size=6), min_size=1, max_size=4),
    name=st.text(st.characters(codec="utf-8"), max_size=10),
    words=st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=10),
)
def test_curves_round_trip_exactly(tmp_path_factory, ending, curves, name, words):
    path = tmp_path_factory.mktemp("curves") / f"x{ending}"
    ensemble = Ensemble([np.array(curve) for curve in curves], name=name)
    written = CurveTable(ensemble, pd.DataFrame({"words": [words] * len(ensemble)}))
    write_curves(path, written)
    if not len(ensemble) and not ensemble.dropped:
        return
    again = read_curves(path)
    assert again.ensemble.vertices.tobytes() == ensemble.vertices.tobytes()
    assert again.ensemble.name == (name or "x")  # a curve file without a name is named after its file
    assert again.features["words"].tolist() == [words] * len(ensemble)


def test_an_ensemble_is_written_with_its_measurements(tmp_path):
    ensemble = Ensemble(list(blobs(5, 30)), unit="nm")
    write_curves(tmp_path / "x.csv", ensemble)
    again = read_curves(tmp_path / "x.csv")
    pd.testing.assert_frame_equal(again.features, ensemble.features.drop(columns="id"))


def test_the_csv_is_tidy(tmp_path):
    written = table()
    write_curves(tmp_path / "x.csv", written)
    frame = pd.read_csv(tmp_path / "x.csv", comment="#")
    assert list(frame.columns[:4]) == ["id", "vertex", "row", "column"]
    assert len(frame) == len(written.ensemble.vertices)
    first = frame[frame["id"] == 0]
    assert first["vertex"].tolist() == list(range(len(written.ensemble[0])))
    assert first["area"].nunique() == 1


def test_geojson_and_imagej_coordinates_start_at_the_corner_of_the_first_pixel(tmp_path):
    square = Ensemble([SQUARE * 0.5], unit="µm")
    source = CurveTable(square, scale=(0.5, 0.5))
    write_curves(tmp_path / "x.geojson", source)
    ring = json.loads((tmp_path / "x.geojson").read_text(encoding="utf-8"))["features"][0]["geometry"]["coordinates"][0]
    assert ring == [[0.5, 0.5], [0.5, 4.5], [6.5, 4.5], [6.5, 0.5], [0.5, 0.5]]
    import roifile

    write_curves(tmp_path / "x.zip", source)
    (roi,) = roifile.roiread(tmp_path / "x.zip")
    assert roi.coordinates().tolist() == ring[:-1]
    assert roi.roitype == roifile.ROI_TYPE.POLYGON


def test_geojson_has_the_structure_of_qupath(tmp_path):
    write_curves(tmp_path / "x.geojson", table())
    content = json.loads((tmp_path / "x.geojson").read_text(encoding="utf-8"))
    assert content["type"] == "FeatureCollection"
    first = content["features"][0]
    assert first["properties"]["objectType"] == "annotation"
    assert {"area", "place"} <= first["properties"]["measurements"].keys()
    assert "gap" not in first["properties"]["measurements"]  # NaN is not valid JSON
    assert all(isinstance(value, str) for value in first["properties"]["metadata"].values())
    assert len({feature["id"] for feature in content["features"]}) == 12


def feature(geometry, **properties):
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def ring(square=SQUARE, closed=True):
    points = (square[:, ::-1] + 0.5).tolist()
    return [*points, points[0]] if closed else points


def write(path, content):
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_geojson_written_by_qupath_is_read(tmp_path):
    content = {
        "type": "FeatureCollection",
        "features": [
            feature(
                {"type": "Polygon", "coordinates": [ring(), ring(SQUARE / 4 + 1)]},
                objectType="annotation",
                name="one",
                classification={"name": "Tumour", "color": [200, 0, 0]},
                measurements={"Area µm^2": 6.0},
            ),
            feature(
                {"type": "MultiPolygon", "coordinates": [[ring(SQUARE / 2)], [ring(SQUARE + 20)]]},
                measurements=[{"name": "Area µm^2", "value": 7.0}],
            ),
            feature({"type": "Point", "coordinates": [1, 2]}),
        ],
    }
    found = read_curves(write(tmp_path / "x.geojson", content))
    assert found.ensemble.ids.tolist() == ["one", "2"]
    np.testing.assert_allclose(found.ensemble[0], SQUARE)
    np.testing.assert_allclose(found.ensemble[1], SQUARE + 20)
    assert found.ensemble.unit == "pixel"
    assert found.ensemble.dropped == {HOLES: 1, PARTS: 1, NOT_POLYGON: 1}
    assert found.features["Area µm^2"].tolist() == [6, 7]
    assert found.features["classification"].tolist()[0] == "Tumour"


def test_coco_polygons_are_read_with_image_and_category(tmp_path):
    flat = np.ravel(ring(closed=False)).tolist()
    large = np.ravel(ring(SQUARE * 2, closed=False)).tolist()
    content = {
        "images": [{"id": 7, "file_name": "seven.png"}],
        "categories": [{"id": 1, "name": "cell"}],
        "annotations": [
            {"id": 11, "image_id": 7, "category_id": 1, "segmentation": [flat]},
            {"id": 12, "image_id": 7, "category_id": 1, "segmentation": [flat, large]},
            {"id": 13, "image_id": 7, "category_id": 1, "segmentation": {"counts": [1, 2], "size": [3, 1]}},
            {"id": 14, "image_id": 7, "category_id": 1, "segmentation": [flat], "iscrowd": 1},
            {"id": 15, "image_id": 7, "category_id": 1, "bbox": [0, 0, 1, 1]},
        ],
    }
    found = read_curves(write(tmp_path / "x.json", content))
    assert found.ensemble.ids.tolist() == [11, 12]
    np.testing.assert_allclose(found.ensemble[0], SQUARE)
    np.testing.assert_allclose(found.ensemble[1], SQUARE * 2)
    assert found.features.to_dict("list") == {"image": ["seven.png"] * 2, "category": ["cell"] * 2}
    assert sum(found.ensemble.dropped.values()) == 4


@pytest.mark.parametrize("project", [True, False])
@pytest.mark.parametrize("old", [True, False])
def test_via_polygons_are_read_with_their_attributes(tmp_path, project, old):
    x, y = np.array(ring(closed=False)).T.tolist()
    regions = [
        {"shape_attributes": {"name": "polygon", "all_points_x": x, "all_points_y": y},
         "region_attributes": {"kind": "satellite", "tags": {"round": True}}},
        {"shape_attributes": {"name": "rect", "x": 1, "y": 2, "width": 3, "height": 4}, "region_attributes": {}},
    ]  # fmt: skip
    images = {"a.png12": {"filename": "a.png", "size": 12, "regions": dict(enumerate(regions)) if old else regions}}
    content = {"_via_settings": {}, "_via_img_metadata": images} if project else images
    found = read_curves(write(tmp_path / "x.json", content))
    np.testing.assert_allclose(found.ensemble[0], SQUARE)
    assert found.features.to_dict("list") == {"image": ["a.png"], "kind": ["satellite"], "tags": ["round"]}
    assert found.ensemble.dropped == {NOT_POLYGON: 1}


def test_chain_codes_are_read_with_their_scale(tmp_path):
    found = read_curves(
        write(tmp_path / "x.chc", "leaf_1 10 20 0.25 9 0 0 6 6 4 4 2 2 -1\nleaf_2 0 0 0.25 4 0 6 4 2 -1")
    )
    assert found.ensemble.ids.tolist() == ["leaf_1", "leaf_2"]
    assert found.ensemble.unit == "mm"
    assert found.ensemble.features["area"].tolist() == [1.0, 0.25]  # 2 × 2 and 1 × 1 steps of half a millimeter
    np.testing.assert_allclose(found.ensemble[0][:3], [[0, 0.5], [0, 1.0], [0.5, 1.0]])
    unscaled = read_curves(write(tmp_path / "y.chc", "a 0 0 -1 9 0 6 4 2 -1"))
    assert (unscaled.ensemble.unit, unscaled.ensemble.features["area"].tolist()) == ("pixel", [1.0])


def test_tps_curves_are_read_with_y_upwards(tmp_path):
    text = "LM=1\n1 2\nCURVES=1\nPOINTS=4\n0 0\n6 0\n6 4\n0 4\nIMAGE=a.jpg\nID=one\nSCALE=0.5\n" \
           "LM=0\nCURVES=1\nPOINTS=3\n0 0\n1 0\n0 1\nID=two\nSCALE=1\n"  # fmt: skip
    found = read_curves(write(tmp_path / "x.tps", text))
    assert found.ensemble.ids.tolist() == ["one", "two"]
    np.testing.assert_allclose(found.ensemble[0], np.array([[0, 0], [0, 6], [-4, 6], [-4, 0]]) / 2)
    assert found.ensemble.dropped == {Reason("landmarks"): 1}


@pytest.mark.parametrize(
    "text", ["x y\n0 0\n6 0\n6 4\n0 4\n", "0,0\n6,0\n6,4\n0,4", "0\t0\r\n6\t0\r\n6\t4\r\n0\t4\r\n"]
)
def test_coordinates_as_text_are_read(tmp_path, text):
    found = read_curves(write(tmp_path / "leaf.txt", text))
    assert found.ensemble.ids.tolist() == ["leaf"]
    np.testing.assert_allclose(found.ensemble[0], [[0, 0], [0, 6], [4, 6], [4, 0]])


def test_blank_lines_separate_outlines(tmp_path):
    found = read_curves(write(tmp_path / "leaf.txt", "0 0\n6 0\n6 4\n\n0 0\n1 0\n1 1\n"))
    assert found.ensemble.ids.tolist() == ["leaf/1", "leaf/2"]


def test_npy_arrays_of_other_programs_are_read(tmp_path, real_data):
    found = read_curves(real_data / "osteosarcoma_cells" / "cells.npz")
    assert len(found.ensemble) + sum(found.ensemble.dropped.values()) == 650
    assert {"cell_line", "treatment"} <= set(found.features)
    np.savez(tmp_path / "x.npz", vertices=SQUARE, offsets=[0, 4], ids=["a"])
    assert read_curves(tmp_path / "x.npz").ensemble.ids.tolist() == ["a"]


def test_napari_shapes_tables_are_read(tmp_path):
    text = "index,shape-type,vertex-index,axis-0,axis-1\n" + "".join(
        f"{i},{kind},{v},{y},{x}\n"
        for i, kind in enumerate(["polygon", "line", "ellipse"])
        for v, (y, x) in enumerate(SQUARE.tolist())
    )
    found = read_curves(write(tmp_path / "x.csv", text))
    assert found.ensemble.ids.tolist() == [0]
    np.testing.assert_allclose(found.ensemble[0], SQUARE)
    assert sum(found.ensemble.dropped.values()) == 2


@pytest.mark.parametrize(
    ("header", "swapped"), [("id,row,column", False), ("contour,x,y", True), ("label,y,x,weight", False)]
)
def test_tables_of_other_programs_are_read(tmp_path, header, swapped):
    rows = SQUARE[:, ::-1] if swapped else SQUARE
    extra = ",1.5" if header.endswith("weight") else ""
    text = header + "\n" + "".join(f"{i},{a},{b}{extra}\n" for i in (3, 4) for a, b in rows.tolist())
    found = read_curves(write(tmp_path / "x.csv", text))
    assert found.ensemble.ids.tolist() == [3, 4]
    np.testing.assert_allclose(found.ensemble[1], SQUARE)


def test_repeated_names_become_a_feature(tmp_path):
    content = [feature({"type": "Polygon", "coordinates": [ring()]}, name="cell") for _ in range(3)]
    found = read_curves(write(tmp_path / "x.json", content))
    assert found.ensemble.ids.tolist() == [1, 2, 3]
    assert found.features["name"].tolist() == ["cell"] * 3


def test_imagej_lines_are_counted_and_single_regions_read(tmp_path):
    import roifile

    polygon = roifile.ImagejRoi.frompoints(np.array(ring(closed=False), dtype=np.float32), name="cell")
    line = roifile.ImagejRoi.frompoints(np.array([[0, 0], [5, 5]]), name="line")
    line.roitype = roifile.ROI_TYPE.POLYLINE
    box = roifile.ImagejRoi(name="box", roitype=roifile.ROI_TYPE.RECT, left=0, top=0, right=6, bottom=4)
    roifile.roiwrite(tmp_path / "RoiSet.zip", [polygon, line, box])
    found = read_curves(tmp_path / "RoiSet.zip")
    assert found.ensemble.ids.tolist() == ["cell", "box"]
    np.testing.assert_allclose(found.ensemble[0], SQUARE)
    assert found.ensemble.features["area"].tolist() == [24, 24]
    assert found.ensemble.dropped == {OPEN: 1}
    write(tmp_path / "one.roi", polygon.tobytes())
    assert read_curves(tmp_path / "one.roi").ensemble.ids.tolist() == ["cell"]


def test_imagej_coordinates_of_large_images(tmp_path):
    far = Ensemble([SQUARE + np.array([40_000, 50_000])])
    write_curves(tmp_path / "x.zip", far)
    np.testing.assert_allclose(read_curves(tmp_path / "x.zip").ensemble[0], far[0], atol=0.01)


def zipped(*entries, compression=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return file.getvalue()


def coco(segmentation):
    return {"images": [], "annotations": [{"id": 1, "segmentation": segmentation}]}


def polygon(points):
    return {"type": "FeatureCollection", "features": [feature({"type": "Polygon", "coordinates": [points]})]}


NEWER = {"format": "shape-ensembles curves", "version": 2, "scale": [1, 1], "unit": "µm"}
TIMED = {"format": "shape-ensembles curves", "version": 1, "scale": [1, 1], "unit": "second"}
THREE = "id,row,column\n1,0,0\n1,0,9\n1,9,9\n"
BAD = {
    "unknown ending": ("x.xyz", b"", "the extension is not one of .csv"),
    "empty": ("x.csv", b"", r"is empty \(0 bytes\): export or copy it again"),
    "no columns": ("x.csv", b"a,b\n1,2\n", "no columns row and column"),
    "words for numbers": ("x.csv", b"id,row,column\n1,a,b\n", "row does not hold numbers, but words such as"),
    "NaN vertices": ("x.csv", b"id,row,column\n1,0,0\n1,nan,1\n1,2,2\n", "1 of 1 curves have NaN"),
    "three axes": ("x.csv", b"index,axis-0,axis-1,axis-2\n0,0,0,0\n0,1,5,0\n0,2,0,5\n0,3,0,0\n", "curves in space"),
    "a newer table": ("x.csv", f"# {json.dumps(NEWER)}\nid,row,column\n1,0,0\n".encode(), "newer version"),
    "a unit that is no length": ("x.csv", f"# {json.dumps(TIMED)}\n{THREE}".encode(), 'of length .*, not "second"'),
    "bytes that are no text": ("x.csv", b"\xff\xfe\x00", "damaged, or not a valid CSV"),
    "no parquet": ("x.parquet", b"PAR1nothing", "damaged, or not a valid Parquet"),
    "cut JSON": ("x.geojson", b'{"type": "FeatureColl', "damaged, or not a valid GeoJSON"),
    "nested deeply": ("x.json", b"[" * 100_000, "damaged, or not a valid JSON"),
    "JSON of something else": ("x.json", b'{"a": 1}', "neither GeoJSON features nor COCO"),
    "JSON null": ("x.json", b"null", "neither GeoJSON features"),
    "geographic": (
        "x.geojson",
        {**polygon(ring()), "crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::4326"}}},
        r"coordinates are geographic \(urn:ogc:def:crs:EPSG::4326\)",
    ),
    "points of one number": ("x.geojson", polygon([[1], [2], [3]]), "points must have two coordinates"),
    "NaN in GeoJSON": ("x.geojson", polygon([[0, 0], [float("nan"), 1], [1, 1]]), "1 of 1 curves have NaN"),
    "a number beyond all": ("x.geojson", polygon([[0, 0], [10**400, 1], [1, 1]]), "damaged"),
    "ragged points": ("x.geojson", polygon([[0, 0], [1, 2, 3], [1, 1]]), "damaged"),
    "an odd polygon": ("x.json", coco([[0, 0, 1, 1, 2, 2, 3]]), "x and y must come in pairs"),
    "words in a polygon": ("x.json", coco([["a"] * 6]), "damaged"),
    "no regions": ("x.zip", zipped(("readme.txt", "hello")), r"holds no \.roi files"),
    "a cut region": ("x.zip", zipped(("a.roi", b"Iout" + bytes(30))), "damaged, or not a valid zip"),
    "a region of something else": ("x.zip", zipped(("a.roi", bytes(100))), "damaged, or not a valid zip"),
    "no zip": ("x.zip", b"PK no", "damaged, or not a valid zip"),
    "chain without end": ("x.chc", "a 0 0 1 9 0 6 4 2", "has no end"),
    "direction 8": ("x.chc", "a 0 0 1 9 0 8 4 2 -1", "other than 0 to 7"),
    "mixed scales": ("x.chc", "a 0 0 1 9 0 6 4 2 -1 b 0 0 2 9 0 6 4 2 -1", "2 different pixel areas"),
    "too few points": ("x.tps", "LM=0\nCURVES=1\nPOINTS=9\n0 0\n1 1\n", "POINTS=9, but 2 points follow"),
    "prose": ("x.txt", "a b c\nd e f\n", "no lines of two numbers"),
    "no arrays": ("x.npz", zipped(("a.npy", b"")), "damaged"),
    "nothing in it": ("x.geojson", {"type": "FeatureCollection", "features": []}, "holds no"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content", "message"), BAD.values(), ids=BAD)
def test_bad_files_are_rejected_with_their_name(tmp_path, name, content, message):
    path = write(tmp_path / name, content)
    with pytest.raises(ValueError, match=rf"(?s)^{name}.*{message}"):
        read_curves(path)


def test_a_zip_bomb_of_rois_is_rejected_unread(tmp_path):
    path = write(tmp_path / "bomb.zip", zipped(("a.roi", bytes(10**7))))
    assert path.stat().st_size < 10**5
    with pytest.raises(ValueError, match=r"bomb\.zip.*would take .* GiB of memory"):
        read_curves(path, memory=2**-10)


def test_path_traversal_in_zip_names_is_harmless(tmp_path):
    import roifile

    roi = roifile.ImagejRoi.frompoints(np.array(ring(closed=False), dtype=np.float32), name="")
    roi.name = ""
    path = write(tmp_path / "x.zip", zipped(("../../evil.roi", roi.tobytes())))
    assert read_curves(path).ensemble.ids.tolist() == ["evil"]
    assert [item.name for item in tmp_path.iterdir()] == ["x.zip"]


def test_pickled_arrays_are_rejected(tmp_path):
    np.savez(tmp_path / "x.npz", vertices=np.array([{}], dtype=object), offsets=[0])
    with pytest.raises(ValueError, match=r"x\.npz.*holds object values"):
        read_curves(tmp_path / "x.npz")


def test_a_missing_library_is_reported_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "roifile", None)
    with pytest.raises(ValueError, match=r"unlike CSV, needs pyarrow: pip install .*\[parquet\]"):
        write_curves(tmp_path / "x.parquet", table())
    with pytest.raises(ValueError, match=r"pip install .*\[imagej\]"):
        write_curves(tmp_path / "x.zip", table())
    assert not list(tmp_path.iterdir())


def test_curves_a_format_cannot_hold_are_rejected_without_a_partial_file(tmp_path):
    with pytest.raises(ValueError, match=r"curves can be saved as \.csv"):
        write_curves(tmp_path / "x.chc", table())
    clash = CurveTable(table().ensemble, pd.DataFrame({"row": range(12)}))
    with pytest.raises(ValueError, match='a feature cannot be named "row"'):
        write_curves(tmp_path / "x.csv", clash)
    with pytest.raises(ValueError, match="12 curves need as many rows of features, not 3"):
        CurveTable(table().ensemble, pd.DataFrame({"a": range(3)}))
    with pytest.raises(ValueError, match="two positive numbers"):
        CurveTable(table().ensemble, scale=(0, 1))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("factor", "offset", "unit"), [(1e-9, 0, "m"), (1, 1e7, "pixel")])
def test_outlines_that_imagej_would_round_are_rejected(tmp_path, factor, offset, unit):
    with pytest.raises(ValueError, match="% of its size, as ImageJ stores single precision"):
        write_curves(tmp_path / "x.zip", Ensemble([SQUARE * factor + offset], unit=unit))
    assert not (tmp_path / "x.zip").exists()


@pytest.mark.parametrize("name", ["id", "geometry"])
def test_a_feature_named_like_a_geoparquet_column_is_rejected(tmp_path, name):
    source = CurveTable(Ensemble([SQUARE]), pd.DataFrame({name: [1.0]}))
    with pytest.raises(ValueError, match=f'cannot be named "{name}" in GeoParquet'):
        write_curves(tmp_path / "x.geoparquet", source)


def test_a_missing_file_raises_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_curves(tmp_path / "none.csv")


def tidy(names, count=6, order=None):
    """A table of outlines with one row per vertex, as written by other programs, and the outlines."""
    outlines = blobs(count, 40)
    rows = []
    for number, outline in enumerate(outlines):
        known = {"specimen_id": f"s{number}", "case": number // 2, "coord_id": range(40), "part": f"p{number % 2}"}
        rows.append(pd.DataFrame({"x": outline[:, 1], "y": outline[:, 0]}).assign(**known))
    frame = pd.concat(rows, ignore_index=True)[[*names, "x", "y"]]
    return frame if order is None else frame.sample(frac=1, random_state=order), outlines


@pytest.mark.parametrize(
    "names", [["specimen_id", "coord_id"], ["specimen_id", "case", "coord_id"], ["case", "specimen_id"]], ids=str
)
@pytest.mark.parametrize("called", ["specimen_id", "Probe", "filename"])
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_tidy_table_of_many_outlines(tmp_path, names, called, ending):
    frame, outlines = tidy(names)
    frame = frame.rename(columns={"specimen_id": called})
    getattr(frame, f"to_{ending[1:]}")(tmp_path / f"x{ending}", index=False)
    found = read_curves(tmp_path / f"x{ending}")
    assert found.ensemble.ids.tolist() == [f"s{number}" for number in range(6)]
    np.testing.assert_allclose(found.ensemble.curves, outlines)


def test_shuffled_rows_are_sorted_by_vertex_number(tmp_path):
    frame, outlines = tidy(["specimen_id", "coord_id"], order=1)
    frame.to_csv(tmp_path / "x.csv", index=False)
    found = read_curves(tmp_path / "x.csv").ensemble
    for name, curve in zip(found.ids.tolist(), found.curves, strict=True):
        np.testing.assert_allclose(curve, outlines[int(name[1:])])


def test_outlines_that_no_column_separates_are_rejected(tmp_path):
    frame, _ = tidy(["part"])
    frame.to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(ValueError, match=r"x\.csv: .*as one curve its vertices jump \d+ times: give the column"):
        read_curves(tmp_path / "x.csv")
    one = frame.iloc[:40][["x", "y"]]
    one.to_csv(tmp_path / "one.csv", index=False)
    assert len(read_curves(tmp_path / "one.csv").ensemble) == 1


def test_the_curve_column_can_be_chosen(tmp_path):
    frame, _ = tidy(["specimen_id", "case"])
    frame.to_csv(tmp_path / "x.csv", index=False)
    assert len(read_curves(tmp_path / "x.csv", curve_column="Specimen_ID").ensemble) == 6
    with pytest.raises(ValueError, match=r"2 of 3 curves .* consist of several closed outlines"):
        read_curves(tmp_path / "x.csv", curve_column="case")
    with pytest.raises(ValueError, match="has no column leaf; its columns are specimen_id, case, x, y"):
        read_curves(tmp_path / "x.csv", curve_column="leaf")
    with pytest.raises(ValueError, match="curve_column applies only to tables"):
        read_curves(tmp_path / "x.npz", curve_column="case")


def test_the_images_of_a_via_file_remain_separate(tmp_path):
    shape = {"name": "polygon", "all_points_x": [0, 5, 5, 0], "all_points_y": [0, 0, 5, 4]}
    region = {"shape_attributes": shape, "region_attributes": {}}
    content = {name: {"filename": f"{name}.tif", "regions": [region] * 3} for name in "abcd"}
    (tmp_path / "all.json").write_text(json.dumps(content))
    found = read_curves(tmp_path / "all.json").ensemble
    assert found.images.tolist() == [f"{name}.tif" for name in "abcd" for _ in range(3)]
    write_curves(tmp_path / "again.csv", found)
    assert read_curves(tmp_path / "again.csv").ensemble.images.tolist() == found.images.tolist()


def test_one_curve_or_a_slice_of_a_table_is_a_table_with_its_features():
    whole = table()
    assert whole[2].ensemble.ids.tolist() == [whole.ensemble.ids[2]]
    assert whole[-1].features.equals(whole.features.iloc[[-1]].reset_index(drop=True))
    assert len(whole[1:4].ensemble) == len(whole[1:4].features) == 3
