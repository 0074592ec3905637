"""Annotation files of other programs: read as these write them, and corrections written back into them."""

import base64
import json
import zipfile
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
import shapely
from PIL import Image

from command_line import run
from curve_makers import blobs
from napari_shape_ensembles import Ensemble, Outlines
from napari_shape_ensembles.io import CurveTable, read_curves, write_curves
from napari_shape_ensembles.io.masks import counts_of_text
from napari_shape_ensembles.io.sources import files_of
from napari_shape_ensembles.outlines.reasons import AT_BORDER, NOT_POLYGON, OPEN, PARTS, UNREADABLE, Reason

# One mask of two overlapping rectangles, as pycocotools and the SDK of Label Studio encode it.
MASK = np.zeros((12, 16), bool)
MASK[2:9, 3:11], MASK[5:10, 7:14] = True, True
COCO_TEXT = "V1750000001O000003M0000c0"
BRUSH = [0, 0, 3, 0, 57, 27, 254, 139, 0, 195, 255, 248, 124, 3, 15, 255, 225, 240, 12, 63, 255, 135, 192, 49, 95, 254,
         19, 0, 197, 127, 248, 76, 3, 21, 255, 225, 48, 12, 87, 255, 136, 192, 48, 223, 254, 135, 0, 0]  # fmt: skip
RING = [[1, 1], [9, 1], [9, 7], [1, 7]]
#: The formats of annotations that are written, by the name of a file.
WRITTEN = {
    "i.json": "COCO",
    "l.json": "labelme",
    "q.json": "GeoJSON",
    "q.geojson": "",
    "i.xml": "CVAT",
    "i.txt": "YOLO",
}


def saved(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_curves(path)


def runs(mask):
    """Run lengths along the rows, of background first."""
    values = mask.ravel().astype(int)
    ends = np.flatnonzero(np.diff(values, prepend=0, append=-1))
    return np.diff(ends, prepend=0).tolist()


def coco(*annotations):
    return {"images": [{"id": 1, "file_name": "a.png"}], "categories": [{"id": 3, "name": "cell"}],
            "annotations": [{"id": 7 + i, "image_id": 1, "category_id": 3, "iscrowd": 0, "segmentation": one}
                            for i, one in enumerate(annotations)]}  # fmt: skip


def labelme(*shapes):
    return {"version": "5.4.1", "flags": {}, "shapes": list(shapes), "imagePath": "a.png", "imageData": None,
            "imageHeight": 12, "imageWidth": 16}  # fmt: skip


def shape(kind, points, label="cell", group=None, **more):
    return {"label": label, "points": points, "group_id": group, "shape_type": kind, "flags": {}, **more}


def task(*results):
    return {"id": 1, "data": {"image": "/data/upload/1/a%20b.png"}, "annotations": [{"id": 2, "result": list(results)}]}


def region(kind, value, identifier="r"):
    sides = {"original_width": 16, "original_height": 12}
    return {"id": identifier, "type": kind, **sides, "value": {**value, kind: ["cell"]}}


def cvat(shapes):
    return (
        '<?xml version="1.0" encoding="utf-8"?><annotations><version>1.1</version><meta/>'
        f'<image id="0" name="a.png" width="16" height="12">{shapes}</image></annotations>'
    )


def area(table):
    return table.ensemble.features["area"].round(3).tolist()


# ---------------------------------------------------------------------------------------------------- masks of pixels


def test_masks_of_every_encoding_give_the_outline_of_the_labels(tmp_path):
    top, left = 2, 3
    part = MASK[2:10, 3:14]
    png = BytesIO()
    Image.fromarray(part).save(png, "PNG")
    mask = base64.b64encode(png.getvalue()).decode()
    files = {
        "counts.json": coco({"size": [12, 16], "counts": runs(MASK.T)}),
        "text.json": coco({"size": [12, 16], "counts": COCO_TEXT}),
        "labelme.json": labelme(shape("mask", [[left, top], [13, 9]], mask=mask)),
        "studio.json": [task(region("brushlabels", {"format": "rle", "rle": BRUSH}))],
        "cvat.xml": cvat(
            f'<mask label="cell" rle="{", ".join(map(str, runs(part)))}" left="3" top="2" width="11" height="8"/>'
        ),
    }
    expected = Outlines().trace(MASK.astype(int))
    for name, content in files.items():
        ensemble = saved(tmp_path / name, content).ensemble
        np.testing.assert_allclose(ensemble[0], expected[0], atol=1e-12, err_msg=name)
        assert (ensemble.pixel_size, ensemble.tracing) == ((1.0, 1.0), expected.tracing), name


def test_compressed_runs_are_decoded_as_pycocotools_encodes_them():
    assert counts_of_text(COCO_TEXT) == runs(MASK.T)
    with pytest.raises(ValueError, match="no run lengths"):
        counts_of_text("!!")


def test_masks_that_cannot_be_traced_are_counted(tmp_path):
    whole, small = np.zeros((12, 16), bool), np.zeros((12, 16), bool)
    whole[:9, 3:11], small[4, 4] = True, True
    runs_of = [{"size": [12, 16], "counts": runs(one.T)} for one in (whole, small, MASK)]
    wrong = [{"size": [12, 16], "counts": [500, 500]}, {"size": [12, 16]}, {"size": [12, 16], "counts": [192]}]
    table = saved(tmp_path / "x.json", coco(*runs_of, *wrong))
    assert table.ensemble.ids.tolist() == [9]
    small, empty = Reason("small", 16), Reason("empty masks")
    assert table.ensemble.dropped == {AT_BORDER: 1, small: 1, UNREADABLE: 2, empty: 1}


def test_crowds_are_groups_unless_every_mask_is_marked(tmp_path):
    content = coco({"size": [12, 16], "counts": COCO_TEXT}, [np.ravel(RING).tolist()])
    content["annotations"][0]["iscrowd"] = 1
    assert saved(tmp_path / "x.json", content).ensemble.dropped == {Reason("crowds"): 1}
    del content["annotations"][1]  # as CVAT exports masks
    assert len(saved(tmp_path / "x.json", content).ensemble) == 1


# ------------------------------------------------------------------------------------------------------- the programs


def test_labelme_shapes_become_outlines(tmp_path):
    shapes = [
        shape("polygon", RING),
        shape("rectangle", [[9, 7], [1, 1]]),
        shape("circle", [[6, 6], [6, 9]]),
        shape("line", RING[:2]),
        shape("linestrip", RING),
        shape("point", [[1, 1]]),
        shape("polygon", [["a"]]),
        shape("polygon", RING, label="__ignore__"),
        shape("polygon", RING, group=0),
        shape("polygon", RING[:3], group=0),
    ]
    table = saved(tmp_path / "x.json", labelme(*shapes))
    assert table.ensemble.ids.tolist() == [1, 2, 3, 9]
    assert area(table) == [48, 48, pytest.approx(9 * np.pi, rel=1e-3), 48]
    assert table.ensemble[0][0].tolist() == [0.5, 0.5]  # from the outer corner of the first pixel
    ignored = Reason("regions to be ignored")
    assert table.ensemble.dropped == {OPEN: 2, NOT_POLYGON: 1, UNREADABLE: 1, ignored: 1, PARTS: 1}
    assert table.features.iloc[0].to_dict() == {"image": "a.png", "label": "cell"}


def test_label_studio_regions_are_in_percent(tmp_path):
    half = [[x * 100 / 16, y * 100 / 12] for x, y in RING]
    results = [
        region("polygonlabels", {"points": half, "closed": True}, "one"),
        region("rectanglelabels", {"x": 6.25, "y": 8.333333, "width": 50, "height": 50, "rotation": 90}, "two"),
        region("ellipselabels", {"x": 50, "y": 50, "radiusX": 25, "radiusY": 25, "rotation": 0}, "three"),
        region("polygonlabels", {"points": half, "closed": False}, "open"),
        region("keypointlabels", {"x": 1, "y": 1}, "point"),
        {"type": "choices", "value": {"choices": ["good"]}},
    ]
    content = [task(*results), {**task(results[0]), "annotations": [{"was_cancelled": True, "result": results}] * 2}]
    content[0]["annotations"].append({"id": 3, "result": results[:2]})
    table = saved(tmp_path / "x.json", content)
    assert table.ensemble.ids.tolist() == ["one", "two", "three"]
    assert area(table) == [48, pytest.approx(48, rel=1e-5), pytest.approx(12 * np.pi, rel=1e-3)]
    assert np.ptp(table.ensemble[1], axis=0).tolist() == pytest.approx([8, 6], rel=1e-5)  # turned by a right angle
    others = Reason("by other annotators, of the same objects")
    assert table.ensemble.dropped == {OPEN: 1, NOT_POLYGON: 1, others: 2}
    assert table.features.iloc[0].to_dict() == {"image": "a b.png", "label": "cell"}
    plain = {"original_width": 16, "original_height": 12, "polygonlabels": ["cell"], "points": half}
    assert area(saved(tmp_path / "min.json", [{"id": 1, "image": "/x/a.png", "label": [plain]}])) == [48]


def test_cvat_shapes_and_tracks_become_outlines(tmp_path):
    points = ";".join(f"{x},{y}" for x, y in RING)
    shapes = (
        f'<polygon label="cell" points="{points}"><attribute name="dose">3</attribute></polygon>'
        '<box label="b" xtl="2" ytl="2" xbr="10" ybr="6" rotation="90"/><polyline label="x" points="1,1;2,2"/>'
        '<ellipse label="e" cx="6" cy="6" rx="3" ry="4"/><points label="p" points="1,1"/><tag label="t"/>'
        '<polygon label="cell" points="1,a"/>'
    )
    table = saved(tmp_path / "x.xml", cvat(shapes))
    assert table.ensemble.ids.tolist() == [1, 2, 4]
    assert area(table) == [48, 32, pytest.approx(12 * np.pi, rel=1e-3)]
    assert np.ptp(table.ensemble[1], axis=0).tolist() == pytest.approx([8, 4])
    assert table.ensemble.dropped == {OPEN: 1, NOT_POLYGON: 1, UNREADABLE: 1}
    assert table.features.iloc[0].to_dict() == {"dose": "3", "image": "a.png", "label": "cell"}
    frames = "".join(f'<polygon frame="{i}" outside="{i // 2}" points="{points}"/>' for i in range(3))
    video = f'<annotations><meta/><track id="0" label="cell">{frames}</track></annotations>'
    assert saved(tmp_path / "video.xml", video).features["frame"].tolist() == [0, 1]
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("annotations.xml", cvat(shapes))
        archive.writestr("images/a.png", b"")
    again = read_curves(tmp_path / "export.zip")
    assert (again.ensemble.ids.tolist(), again.ensemble.dropped) == (
        table.ensemble.ids.tolist(),
        table.ensemble.dropped,
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("<OME/>", "holds no CVAT annotations"),
        ('<!DOCTYPE a [<!ENTITY x "y">]><annotations>&x;</annotations>', "declares entities"),
        ("<annotations>", "damaged"),
    ],
)
def test_other_xml_is_refused(tmp_path, content, said):
    with pytest.raises(ValueError, match=rf"x\.xml.*{said}"):
        saved(tmp_path / "x.xml", content)


def test_yolo_needs_the_size_of_the_image(tmp_path):
    lines = "1 0.1 0.1 0.9 0.1 0.9 0.7 0.1 0.7\n0 0.5 0.5 0.1 0.1\n0 0 0 1 0 1 1\n"
    with pytest.raises(ValueError, match=r"fractions of an image \(YOLO\), whose size is unknown: put the image x"):
        saved(tmp_path / "x.txt", lines)
    (tmp_path / "labels" / "train").mkdir(parents=True)
    (tmp_path / "images" / "train").mkdir(parents=True)
    Image.new("L", (10, 20)).save(tmp_path / "images" / "train" / "X.PNG")
    (tmp_path / "labels" / "classes.txt").write_text("round\nlong\n")
    table = saved(tmp_path / "labels" / "train" / "x.txt", lines)
    assert (area(table), table.features["class"].tolist()) == ([96, 100], ["long", "round"])
    assert table.ensemble.ids.tolist() == [1, 3]
    assert table.ensemble.dropped == {Reason("boxes without an outline"): 1}
    boxes = saved(tmp_path / "labels" / "train" / "x.txt", "0 0.5 0.5 0.1 0.1\n1 0.5 0.5 0.1 0.1\n")
    assert boxes.ensemble.dropped == {Reason("boxes without an outline"): 2}


def test_chains_of_cellpose_give_the_outline_of_its_masks(tmp_path):
    cv2_order = "3,2,3,3,3,4,3,5,3,6,3,7,3,8,4,8,5,8,6,8,7,9,8,9,9,9,10,9,11,9,12,9,13,9,13,8,13,7,13,6,13,5,12,5,11,5,"
    chain = cv2_order + "10,4,10,3,10,2,9,2,8,2,7,2,6,2,5,2,4,2"
    table = saved(tmp_path / "x_cp_outlines.txt", f"{chain}\n\n")
    np.testing.assert_allclose(table.ensemble[0], Outlines().trace(MASK.astype(int))[0], atol=1e-12)
    assert table.ensemble.dropped == {Reason("objects of a few pixels"): 1}
    corners = saved(tmp_path / "corners.txt", "1,1,9,1,9,7,1,7\n")
    assert area(corners) == [48]


def test_geometry_collections_are_not_shifted(tmp_path):
    polygon = {"type": "Polygon", "coordinates": [[*RING, RING[0]]], "cell": 19}
    table = saved(tmp_path / "x.json", {"type": "GeometryCollection", "geometries": [polygon, {"type": "Point"}]})
    assert table.ensemble.ids.tolist() == ["19"]
    assert table.ensemble[0][0].tolist() == [1, 1]
    assert table.ensemble.dropped == {NOT_POLYGON: 1}


@pytest.mark.parametrize("name", ["cell_boundaries.csv.gz", "nucleus_boundaries.csv", "cell_boundaries.parquet"])
def test_xenium_boundaries_are_in_microns(tmp_path, name):
    rows = [(f"aaa-{cell}", 5 * cell + x, y) for cell in (1, 2) for x, y in [*RING, RING[0]]]
    frame = pd.DataFrame(rows, columns=["cell_id", "vertex_x", "vertex_y"])
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
        frame.to_parquet(tmp_path / name)
    else:
        frame.to_csv(tmp_path / name, index=False)
    table = read_curves(tmp_path / name)
    assert (table.ensemble.unit, area(table)) == ("µm", [48, 48])
    assert table.ensemble.ids.tolist() == ["aaa-1", "aaa-2"]


@pytest.mark.parametrize("ending", [".shp", ".gpkg", ".fgb"])
def test_vector_files_are_read_by_geopandas(tmp_path, ending, monkeypatch):
    geopandas = pytest.importorskip("geopandas")
    pytest.importorskip("pyogrio")
    path = tmp_path / f"x{ending}"
    polygons = [shapely.Polygon(RING), shapely.box(20, 0, 30, 5)]
    frame = geopandas.GeoDataFrame({"kind": ["a", "b"]}, geometry=polygons, crs=25832)
    frame.to_file(path)
    table = read_curves(path)
    assert (table.ensemble.unit, sorted(area(table))) == ("m", [48, 50])
    assert sorted(table.features["kind"]) == ["a", "b"]
    frame.to_crs(4326).to_file(path)
    with pytest.raises(ValueError, match="coordinates are geographic"):
        read_curves(path)
    monkeypatch.setitem(__import__("sys").modules, "geopandas", None)
    with pytest.raises(ValueError, match=r'needs geopandas: pip install "napari-shape-ensembles\[geo\]"'):
        read_curves(path)


# ---------------------------------------------------------------------------------------------------- written, and back


@pytest.mark.parametrize("name", WRITTEN)
def test_hundreds_of_polygons_survive_a_round_trip(tmp_path, name):
    rng = np.random.default_rng(0)
    curves = [curve * 8 + rng.uniform(20, 1000, 2) for curve in blobs(300, 60, seed=1)]
    features = pd.DataFrame({"image": "i.png", "label": ["a", "b"] * 150, "class": ["0", "1"] * 150})
    Image.new("L", (1100, 1050)).save(tmp_path / "i.png")
    write_curves(tmp_path / name, CurveTable(Ensemble(curves, name="i"), features), layout=WRITTEN[name])
    again = read_curves(tmp_path / name)
    before, after = (shapely.make_valid([shapely.Polygon(one) for one in some]) for some in (curves, again.ensemble))
    shared = shapely.area(shapely.intersection(before, after)) / shapely.area(shapely.union(before, after))
    assert len(again.ensemble) == 300
    assert shared.min() >= 0.999
    column = next(column for column in ("label", "category", "class") if column in again.features)
    assert again.features[column].nunique() == 2


def test_outlines_without_pixels_are_not_written_as_annotations(tmp_path):
    ensemble = Ensemble([np.array(RING)], unit="µm")
    with pytest.raises(ValueError, match=r"x\.json: annotations are in pixels, and these outlines are in µm"):
        write_curves(tmp_path / "x.json", ensemble, layout="COCO")
    with pytest.raises(ValueError, match=r"several formats end in \.json: give layout, one of GeoJSON, COCO, labelme"):
        write_curves(tmp_path / "x.json", ensemble)


def corrected(table):
    """Move the first outline, remove the second and add one."""
    ensemble = table.ensemble
    curves = [ensemble[0] + 1, *ensemble.curves[2:], ensemble[0] * 0.5 + 20]
    numbers = ensemble.ids.dtype.kind in "iu"
    ids = [ensemble.ids[0], *ensemble.ids[2:], 99 if numbers else "new"]
    rows = [0, *range(2, len(ensemble)), 0]
    return CurveTable(Ensemble(curves, ids=ids), table.features.iloc[rows].reset_index(drop=True))


ORIGINALS = {
    "x.json": {**labelme(shape("polygon", RING), shape("line", RING[:2]), shape("polygon", RING[:3], label="b"),
                         shape("circle", [[6, 6], [6, 9]], description="kept")), "flags": {"done": True}},
    "y.json": {**coco([np.ravel(RING).tolist()], [np.ravel(RING[:3]).tolist()], {"size": [12, 16], "counts": COCO_TEXT},
                      [1, 2]), "info": {"year": 2024}},
    "x.geojson": {"type": "FeatureCollection", "features": [
        {"type": "Feature", "id": str(i), "geometry": {"type": kind, "coordinates": points},
         "properties": {"objectType": "annotation", "classification": {"name": "Tumor"}}}
        for i, (kind, points) in enumerate([
            ("Polygon", [[*RING, RING[0]]]), ("LineString", RING[:2]), ("Polygon", [[*RING[:3], RING[0]]]),
            ("Polygon", [[*RING, RING[0]], [[2, 2], [3, 2], [3, 3], [2, 2]]])])]},
    "x.xml": cvat('<polygon label="cell" points="1,1;9,1;9,7;1,7"><attribute name="dose">3</attribute></polygon>'
                  '<polyline label="x" points="1,1;2,2"/><polygon label="b" points="1,1;9,1;9,7"/>'
                  f'<mask label="cell" rle="{",".join(map(str, runs(MASK)))}" left="0" top="0" width="16" height="12"/>'
                  ),
    "x.txt": "1 0.1 0.1 0.9 0.1 0.9 0.7 0.1 0.7\n0 0.5 0.5 0.1 0.1\n1 0 0 1 0 1 1\n1 0.2 0.1 0.9 0.1 0.9 0.7 0.1 0.7\n",
}  # fmt: skip


@pytest.mark.parametrize("name", ORIGINALS)
def test_corrections_are_written_into_the_file_they_came_from(tmp_path, name):
    Image.new("L", (64, 64)).save(tmp_path / "x.png")
    path = tmp_path / name
    before = saved(path, ORIGINALS[name])
    text = path.read_text(encoding="utf-8")
    now = corrected(before)
    assert len(before.ensemble) == 3
    write_curves(path, now, original=path)
    again = read_curves(path)
    assert len(again.ensemble) == 3
    for curve, expected in zip(again.ensemble, now.ensemble, strict=True):
        np.testing.assert_allclose(curve, expected, atol=1e-3)
    assert again.ensemble.dropped == before.ensemble.dropped  # lines, boxes, holes: kept in the file
    kept = {"x.json": '"description": "kept"', "y.json": '"year": 2024', "x.geojson": '"Tumor"', "x.xml": "dose",
            "x.txt": "0.2 0.1 0.9 0.1 0.9 0.7 0.1 0.7"}[name]  # fmt: skip
    assert kept in text
    assert kept in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*ORIGINALS, "cvat.zip", "x.csv"])
def test_outlines_said_to_be_wrong_are_left_out_in_the_format_they_came_in(tmp_path, name):
    Image.new("L", (64, 64)).save(tmp_path / "x.png")
    path, ending = tmp_path / name, name[name.index(".") :].replace("zip", "xml")
    if name == "cvat.zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("annotations.xml", ORIGINALS["x.xml"])
    elif name == "x.csv":
        write_curves(path, saved(tmp_path / "y.json", ORIGINALS["y.json"]))
    else:
        saved(path, ORIGINALS[name])
    before = read_curves(path)
    (tmp_path / "said.csv").write_text(
        f"label,status\n{before.ensemble.ids[1]},wrong\n{before.ensemble.ids[0]},right\n"
    )
    done = run("inspect", path, "--out", tmp_path / "out", "--ticks", tmp_path / "said.csv")
    assert f"{path.stem}.corrected{ending}: without 1 outline said to be wrong" in done.output
    corrected_file = tmp_path / "out" / f"{path.stem}.corrected{ending}"
    if ending == ".txt":  # its fractions need the image
        Image.new("L", (64, 64)).save(corrected_file.with_suffix(".png"))
    again = read_curves(corrected_file)
    for curve, expected in zip(again.ensemble, (before.ensemble[0], before.ensemble[2]), strict=True):
        np.testing.assert_allclose(curve, expected, atol=1e-4)
    assert again.ensemble.dropped == before.ensemble.dropped
    assert len(pd.read_csv(tmp_path / "out" / f"{path.stem}.suspects.csv")) == 3


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [("label,status\n9,wrong\n", "there is no outline 9: the ids are 1, 3, 4"),
     ("label,status\n1,maybe\n", "status must be right or wrong, not 'maybe'"), ("label\n1\n", "status is missing")],
)  # fmt: skip
def test_verdicts_on_outlines_are_checked(tmp_path, verdicts, words):
    saved(tmp_path / "x.json", ORIGINALS["x.json"])
    (tmp_path / "said.csv").write_text(verdicts)
    done = run("inspect", tmp_path / "x.json", "--out", tmp_path / "out", "--ticks", tmp_path / "said.csv")
    assert done.exit_code == 2
    assert words in done.output + done.stderr


def test_outlines_of_other_images_are_left_as_they_are(tmp_path):
    content = coco([np.ravel(RING).tolist()], [np.ravel(RING[:3]).tolist()])
    content["images"].append({"id": 2, "file_name": "b.png"})
    content["annotations"][1]["image_id"] = 2
    table = saved(tmp_path / "x.json", content)
    first = CurveTable(table.ensemble[:1], table.features.iloc[:1])
    write_curves(tmp_path / "x.json", first, original=tmp_path / "x.json")
    assert len(read_curves(tmp_path / "x.json").ensemble) == 2
    with pytest.raises(ValueError, match="is not a file of labelme"):
        write_curves(tmp_path / "x.json", first, original=tmp_path / "x.json", layout="labelme")


def test_folders_of_annotations_alone_are_samples(tmp_path):
    for number in range(3):
        saved(tmp_path / f"{number}.json", labelme(shape("polygon", RING)))
    (tmp_path / "settings.json").write_text('{"a": 1}')
    (tmp_path / "classes.txt").write_text("cell\n")
    assert [path.name for path in files_of(tmp_path, groups=True)] == ["0.json", "1.json", "2.json"]
    Image.new("L", (16, 12)).save(tmp_path / "0.png")
    assert [path.name for path in files_of(tmp_path, groups=True)] == ["0.png"]
