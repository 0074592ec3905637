"""Tables of vertices as other programs write them: what their columns mean, by name and by value."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
import shapely
from skimage.draw import polygon2mask

from curve_makers import blobs
from napari_shape_ensembles import Ensemble
from napari_shape_ensembles.io import read_curves, write_curves
from napari_shape_ensembles.io.columns import roles_of
from napari_shape_ensembles.io.drawn import one_frame
from napari_shape_ensembles.outlines.reasons import Reason

GROUPS = 3, 4  # images or frames, and objects in each


def outlines(vertices=40):
    """Outlines on a grid, as (image, object, vertices)."""
    images, objects = GROUPS
    curves = [10 * curve for curve in blobs(images * objects, vertices, seed=3)]
    places = [(100 * (number % objects), 200 * (number // objects)) for number in range(len(curves))]
    return [
        (number // objects, number % objects, curve - curve.mean(axis=0) + place + 50)
        for number, (curve, place) in enumerate(zip(curves, places, strict=True))
    ]


def table(image="image", label="label", of=outlines, **more):
    parts = []
    for number, name, curve in of():
        columns = {image: number, label: name + 1, **{key: value(number, name) for key, value in more.items()}}
        parts.append(pd.DataFrame({**columns, "x": curve[:, 1], "y": curve[:, 0]}))
    return pd.concat(parts, ignore_index=True)


def read(tmp_path, frame, ending=".csv", **options):
    path = tmp_path / f"x{ending}"
    if ending == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)
    return read_curves(path, **options)


def assert_all(found):
    """Every outline is a curve of its own, with its own area."""
    assert len(found.ensemble) == 12
    np.testing.assert_allclose(found.ensemble.curves, [curve for *_, curve in outlines()])


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("image", "label"),
    [
        ("image", "label"),
        ("frame", "cell_id"),
        ("ImageNumber", "ObjectNumber"),
        ("slice", "cell"),
        ("t", "id"),
        ("plane", "id"),
        ("Filename", "contour"),
        ("Z", "ROI"),
        ("Position", "index"),
    ],
)
def test_ids_that_start_again_are_told_apart_by_the_column_of_their_image(tmp_path, ending, image, label):
    assert_all(read(tmp_path, table(image, label), ending))
    assert_all(read(tmp_path, table(image, label)[["x", label, "y", image]], ending))


def test_images_become_images_and_frames_features(tmp_path):
    images = read(tmp_path, table("image", "label"))
    assert list(dict.fromkeys(images.ensemble.images.tolist())) == ["0", "1", "2"]
    numbers = read(tmp_path, table("ImageNumber", "ObjectNumber"))
    assert numbers.ensemble.images[0] == "ImageNumber 0"
    frames = read(tmp_path, table("frame", "cell_id"))
    assert set(frames.ensemble.images.tolist()) == {"x"}
    assert frames.features["frame"].tolist() == np.repeat([0, 1, 2], 4).tolist()
    assert frames.ensemble.ids.tolist()[:2] == ["0:1", "0:2"]


def test_an_unknown_column_tells_outlines_apart_but_not_the_pieces_of_an_outline(tmp_path):
    assert_all(read(tmp_path, table("recording", "label")))
    frame = table("frame", "id")
    frame["id"] = 10 * frame["frame"] + frame["id"]
    pieces = np.tile(np.repeat([0, 1], 20), 12)
    assert_all(read(tmp_path, frame.assign(edge=pieces)))


def test_row_numbers_are_no_ids_and_a_class_is_no_object(tmp_path):
    unique = table("frame", "object").assign(object=lambda frame: 10 * frame["frame"] + frame["object"])
    assert_all(read(tmp_path, unique.assign(index=np.arange(len(unique)))))
    assert_all(read(tmp_path, unique.assign(label=np.where(unique["object"] % 2, "round", "long"))))
    assert_all(read(tmp_path, unique.assign(index=np.tile(np.arange(40), 12))))


def test_the_wells_of_a_plate_are_not_vertices(tmp_path):
    plate = table("row", "cell_id", column=lambda number, _: number + 3)
    found = read(tmp_path, plate)
    assert_all(found)
    assert found.ensemble.images[0] == "row 0 column 3"
    assert read(tmp_path, table("row", "cell_id", column=lambda *_: "B")).ensemble.ids.size == 12


def test_what_stays_ambiguous_is_asked_for_by_name(tmp_path):
    lost = table("image", "label").drop(columns="image")
    with pytest.raises(ValueError, match=r"values of label come again after others, 8 times: .*curve-column"):
        read(tmp_path, lost)
    with pytest.raises(ValueError, match="consist of several closed outlines"):
        read(tmp_path, lost.sort_values("label", kind="stable"))
    numbered = lost.assign(vertex=np.tile(np.arange(40), 12))
    with pytest.raises(ValueError, match="320 of 480 vertices repeat a number"):
        read(tmp_path, numbered)
    two = table("frame", "id").assign(row=np.random.default_rng(0).random(480), column=np.arange(480) % 7)
    with pytest.raises(ValueError, match="row, column and y, x are different positions"):
        read(tmp_path, two)
    for wrong in ("x", ["x"], ["item", "y"]):
        with pytest.raises(ValueError, match=r"x\.csv: curve_column: [xy] holds coordinates"):
            read(tmp_path, table("recording", "item"), curve_column=wrong)
    with pytest.raises(ValueError, match="has no column 3"):
        read(tmp_path, table("recording", "item"), curve_column=3)
    assert_all(read(tmp_path, table("recording", "item"), curve_column="Recording, item"))
    assert_all(read(tmp_path, table("recording", "item"), curve_column=["Recording", "item"]))
    assert_all(read(tmp_path, table("recording", "item"), curve_column="recording, item, Item"))  # named twice


def test_measures_of_vertices_are_no_features_of_curves(tmp_path):
    frame = table("frame", "cell_id")
    found = read(tmp_path, frame.assign(curvature=np.linspace(0, 1, len(frame)), kind="cell"))
    assert_all(found)
    assert "curvature" not in found.features
    assert set(found.features["kind"]) == {"cell"}


def test_outlines_in_space_are_refused_and_those_of_planes_are_not(tmp_path):
    frame = table("frame", "id")
    with pytest.raises(ValueError, match=r"curves in space \(column z\)"):
        read(tmp_path, frame.assign(z=np.sin(np.arange(len(frame)))))
    assert_all(read(tmp_path, frame.drop(columns="frame").assign(z=frame["frame"])))


@pytest.mark.parametrize(
    "names", [("X", "Y"), ("vertex_x", "vertex_y"), ("x_px", "y_px"), ("X [px]", "Y [px]"), ("x_coord", "Y_Coord")]
)
def test_names_of_coordinates_are_not_case_sensitive(tmp_path, names):
    frame = table("frame", "Cell ID").rename(columns=dict(zip("xy", names, strict=True)))
    assert_all(read(tmp_path, frame))


@pytest.mark.parametrize("names", [("x (µm)", "y (µm)"), ("X_um", "Y_um"), ("x [micron]", "y [micron]")])
def test_a_unit_in_the_name_of_a_column_is_that_of_the_outlines(tmp_path, names):
    frame = table("frame", "id").rename(columns=dict(zip("xy", names, strict=True)))
    assert read(tmp_path, frame).ensemble.unit == "µm"


def test_numbers_are_read_as_spreadsheets_write_them(tmp_path):
    frame = table("frame", "id").round(3)
    path = tmp_path / "x.csv"
    for encoding in ("utf-8-sig", "utf-16", "cp1252"):
        frame.to_csv(path, index=False, sep=";", decimal=",", encoding=encoding)
        np.testing.assert_allclose(read_curves(path).ensemble.curves, [curve.round(3) for *_, curve in outlines()])
    path.write_text("sep=;\n" + frame.to_csv(index=False, sep=";", decimal=",") + ";;;\n;;;\n", encoding="utf-8")
    assert len(read_curves(path).ensemble) == 12


def test_a_missing_vertex_costs_its_curve_and_not_the_file(tmp_path):
    frame = table("frame", "id")
    frame.loc[7, "x"] = np.nan
    found = read(tmp_path, frame).ensemble
    assert (len(found), sum(found.dropped.values())) == (11, 1)
    frame.loc[90:95, ["x", "y"]] = -1
    assert {reason.key for reason in read(tmp_path, frame).ensemble.dropped} == {"missing points", "not finite"}
    (tmp_path / "x.csv").write_text("id,x,y\n1,0,0\n1,0,1,5\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"x\.csv: row 3 of the table has 4 cells, and those above it 3"):
        read_curves(tmp_path / "x.csv")


def test_a_table_that_a_spreadsheet_saved_again_keeps_its_unit(tmp_path):
    from napari_shape_ensembles import Ensemble
    from napari_shape_ensembles.io import CurveTable, write_curves

    path = tmp_path / "cells.curves.csv"
    write_curves(path, CurveTable(Ensemble([curve for *_, curve in outlines()], unit="µm"), scale=(0.5, 0.5)))
    before = read_curves(path)
    rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    width = max(map(len, rows))
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([*row, *[""] * (width - len(row))] for row in rows)
    again = read_curves(path)
    assert (again.ensemble.unit, again.scale) == ("µm", (0.5, 0.5))
    np.testing.assert_allclose(again.ensemble.curves, before.ensemble.curves)
    path.write_text(path.read_text(encoding="utf-8").replace('""unit""', '""un', 1), encoding="utf-8")
    with pytest.raises(ValueError, match="its first line, which holds unit and pixel size, was changed"):
        read_curves(path)


def scattered(curve):
    return curve[np.random.default_rng(0).permutation(len(curve))]


def by_rows(curve):
    pixels = np.unique(np.round(curve), axis=0)
    return pixels[np.lexsort((pixels[:, 1], pixels[:, 0]))]


def all_pixels(curve):
    inside = polygon2mask((30, 30), curve - curve.min(axis=0))
    return np.argwhere(inside) + np.round(curve.min(axis=0))


@pytest.mark.parametrize("disorder", [scattered, by_rows, all_pixels])
def test_vertices_that_follow_no_outline_are_refused(tmp_path, disorder):
    frame = table("image", "label", of=lambda: [(i, j, disorder(curve)) for i, j, curve in outlines()])
    with pytest.raises(ValueError, match=r"12 of 12 curves .* cross themselves everywhere: .*Sort them around"):
        read(tmp_path, frame)
    one = table("image", "label", of=lambda: [(i, j, disorder(c) if i + j == 0 else c) for i, j, c in outlines()])
    found = read(tmp_path, one).ensemble
    assert (len(found), [reason.key for reason in found.dropped]) == (11, ["order"])


def test_roles_are_found_whatever_the_order_of_the_columns():
    roles = roles_of(table("frame", "cell_id")[["y", "cell_id", "x", "frame"]])
    assert (roles.row, roles.column, sorted(roles.keys)) == ("y", "x", ["cell_id", "frame"])
    assert json.dumps(roles.images) == "[]"


def test_a_table_with_one_row_per_object_is_no_outline(tmp_path):
    centers = [(name, *curve.mean(axis=0)) for name, (_, _, curve) in enumerate(outlines())]
    with pytest.raises(ValueError, match="has one row per label, such as the center of each object"):
        read(tmp_path, pd.DataFrame(centers, columns=["label", "y", "x"]))


@pytest.mark.parametrize(("column", "reason"), [("ring", "holes"), ("part", "parts")])
def test_rings_and_parts_of_an_object_are_no_objects(tmp_path, column, reason):
    rows = []
    for number, name, curve in outlines():
        closed = np.concatenate([curve, curve[:1]])
        inner = 0.3 * closed + 0.7 * curve.mean(axis=0)
        rows += [(f"{number}-{name}", place, *point) for place, one in enumerate((inner, closed)) for point in one]
    found = read(tmp_path, pd.DataFrame(rows, columns=["id", column, "y", "x"])).ensemble
    np.testing.assert_allclose([curve.max() for curve in found], [curve.max() for *_, curve in outlines()])
    assert {one.key: count for one, count in found.dropped.items()} == {reason: 12}
    assert found.ids[0] == "0-0"


def test_shapes_of_napari_in_the_planes_of_a_stack(tmp_path):
    rows = [
        (10 * number + name, "polygon", place, number, *point)
        for number, name, curve in outlines()
        for place, point in enumerate(curve)
    ]
    frame = pd.DataFrame(rows, columns=["index", "shape-type", "vertex-index", "axis-0", "axis-1", "axis-2"])
    found = read(tmp_path, frame)
    assert_all(found)
    assert found.features["axis-0"].tolist() == np.repeat([0, 1, 2], 4).tolist()


def test_unit_and_pixel_size_in_columns_are_those_of_the_outlines(tmp_path):
    frame = table("image", "label")
    found = read(tmp_path, frame.assign(unit="um")).ensemble
    assert (found.unit, len(found)) == ("µm", 12)
    half = read(tmp_path, frame.assign(unit="um", pixel_size=0.5)).ensemble
    np.testing.assert_allclose(half.vertices, found.vertices / 2)
    with pytest.raises(ValueError, match=r"several units \(um, px\): save those of each in a file of its own"):
        read(tmp_path, frame.assign(unit=np.where(frame["image"] == 0, "um", "px")))


def seen_again(moved=0.0):
    """Twelve objects in two frames; by the next frame they have moved."""
    return [
        (frame, 4 * number + name, curve + moved * frame) for frame in range(2) for number, name, curve in outlines()
    ]


def test_ids_with_the_same_areas_in_all_frames_are_the_same_objects(tmp_path):
    kept, remark = one_frame(read(tmp_path, table("frame", "cell", of=lambda: seen_again(70.0))))
    assert (len(kept.ensemble), kept.ensemble.dropped[Reason("frames")]) == (12, 12)
    assert "shows the same objects in 2 frames" in remark
    # Ids that start again in each frame go with other objects.
    others = [(frame, (5 * name + 7 * frame) % 12, curve) for frame, name, curve in seen_again(70.0)]
    kept, remark = one_frame(read(tmp_path, table("frame", "cell", of=lambda: others)))
    assert (len(kept.ensemble), len(set(kept.ensemble.images.tolist()))) == (24, 2)
    by_size = np.argsort(np.argsort([shapely.Polygon(curve).area for *_, curve in outlines()]))
    sizes = [(frame, by_size[name], curve) for frame, name, curve in seen_again(70.0)]
    kept, _ = one_frame(read(tmp_path, table("frame", "cell", of=lambda: sizes)))
    assert len(kept.ensemble) == 24


def test_rows_of_nan_are_between_outlines(tmp_path):
    gap = np.full((1, 2), np.nan)
    rows = np.concatenate([part for *_, curve in outlines() for part in (curve, gap)])
    found = read(tmp_path, pd.DataFrame(rows, columns=["y", "x"]).fillna("NaN")).ensemble
    np.testing.assert_allclose(found.vertices, rows[~np.isnan(rows[:, 0])])
    assert found.ids.tolist() == [*range(1, 13)]
    one = rows[:40].copy()
    one[20] = np.nan  # a missing vertex
    with pytest.raises(ValueError, match="1 of 1 curves have NaN"):
        read(tmp_path, pd.DataFrame(one, columns=["y", "x"]).fillna("NaN"))


@pytest.mark.parametrize("mark", ["", "# outline", "> outline"])
def test_lines_between_outlines_in_a_text_file(tmp_path, mark):
    blocks = ["\n".join(f"{x:.4f} {y:.4f}" for y, x in curve) for *_, curve in outlines()]
    (tmp_path / "x.txt").write_text(f"\n{mark}\n".join(blocks), encoding="utf-8")
    assert len(read_curves(tmp_path / "x.txt").ensemble) == 12


@pytest.mark.parametrize("image", ["Metadata_Site", "scene_name", "folder", "dish", "mouse"])
def test_what_starts_the_ids_again_is_an_image_whatever_its_name(tmp_path, image):
    found = read(tmp_path, table(image, "cell_id"))
    assert_all(found)
    assert len(set(found.ensemble.images)) == GROUPS[0]


def test_a_class_or_the_number_of_an_outline_is_no_image(tmp_path):
    frame = table("image", "contour_idx").assign(contour_idx=lambda one: one.image * 10 + one.contour_idx)
    for column in ("label", "class"):
        named = frame.assign(**{column: np.where(frame.contour_idx % 2, "cell", "nucleus")}).drop(columns="image")
        found = read(tmp_path, named)
        assert_all(found)
        assert len(set(found.ensemble.images)) == 1


def test_the_same_objects_in_two_channels_count_once(tmp_path):
    both = pd.concat([table("image", "id").drop(columns="image").assign(id=0, channel=one) for one in (1, 2)])
    both["id"] = (both.groupby("channel").cumcount() // 40) + 1
    found, remark = one_frame(read(tmp_path, both))
    assert len(found.ensemble) == 12
    assert "the same objects in 2 channels" in remark
    second = both.channel == 2  # now other objects of the same image
    both.loc[second, ["x", "y"]] = np.roll(both.loc[second, ["x", "y"]], 200, axis=0) + 35
    found, remark = one_frame(read(tmp_path, both))
    assert (len(found.ensemble), len(set(found.ensemble.images)), remark) == (24, 1, "")


def test_classes_of_which_one_lies_within_another_are_told(tmp_path):
    cells = table("image", "id").drop(columns="image")
    cells["id"] = np.arange(len(cells)) // 40
    means = cells.groupby("id")[["x", "y"]].transform("mean")
    nuclei = cells.assign(id=cells["id"] + 12, **{name: (cells[name] + means[name]) / 2 for name in ("x", "y")})
    frame = pd.concat([cells.assign(kind="cell"), nuclei.assign(kind="nucleus")])
    found, remark = one_frame(read(tmp_path, frame))
    assert len(found.ensemble) == 24
    assert "those of nucleus lie within others" in remark
    assert "kind = nucleus" in remark
    missing = frame.assign(kind=frame["kind"].where(frame["id"] % 4 > 0))
    assert "those of nucleus lie within others" in one_frame(read(tmp_path, missing))[1]
    beside = frame.assign(x=frame["x"] + 1e4 * (frame["kind"] == "nucleus"))
    assert one_frame(read(tmp_path, beside))[1] == ""


@pytest.mark.parametrize("column", ["Position Z", "z_um", "vertex_z", "zpos"])
def test_a_third_coordinate_is_known_by_its_name(tmp_path, column):
    frame = table().assign(**{column: lambda one: np.sin(one.x)})
    with pytest.raises(ValueError, match=f"curves in space .column {column}"):
        read(tmp_path, frame)


def test_centers_over_time_are_no_outlines(tmp_path):
    spots = pd.DataFrame({"TRACK_ID": np.repeat(range(4), 10), "FRAME": np.tile(range(10), 4)})
    spots = spots.assign(POSITION_X=np.sin(spots.index), POSITION_Y=np.cos(spots.index))
    with pytest.raises(ValueError, match="one row per TRACK_ID and FRAME"):
        read(tmp_path, spots)


def test_other_names_of_coordinates_and_tables_without_names(tmp_path):
    frame = table().drop(columns="image").assign(label=lambda one: np.arange(len(one)) // 40)
    assert_all(read(tmp_path, frame.rename(columns={"x": "contour_x", "y": "contour_y"})))
    twice = frame.rename(columns={"x": "ax", "y": "ay"}).assign(bx=1, by=2)
    with pytest.raises(ValueError, match=r"several pairs of columns that may be positions \(ay, ax; by, bx\)"):
        read(tmp_path, twice)
    frame.to_csv(tmp_path / "x.csv", index=False, header=False)
    with pytest.raises(ValueError, match="numbers in its first row"):
        read_curves(tmp_path / "x.csv")


@pytest.mark.parametrize("ending", [".tsv", ".txt"])
def test_tables_with_tabs_and_text_tables_with_names(tmp_path, ending):
    frame = table().drop(columns="image").assign(label=lambda one: np.arange(len(one)) // 40)
    frame.to_csv(tmp_path / f"x{ending}", sep="\t" if ending == ".tsv" else " ", index=False)
    assert_all(read_curves(tmp_path / f"x{ending}"))


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_polygons_in_cells_of_a_table(tmp_path, ending):
    """Well-known text of GIS programs, and well-known binary of Vizgen with the same cells in several planes."""
    shapes = [shapely.Polygon(curve[:, ::-1]) for *_, curve in outlines()]
    if ending == ".csv":
        frame = pd.DataFrame({"id": range(1, 13), "WKT": [shape.wkt for shape in shapes]})
    else:
        cells = pd.DataFrame({"EntityID": range(12), "Geometry": shapely.to_wkb(shapes)})
        frame = pd.concat([cells.assign(ZIndex=plane) for plane in range(3)])
    found, remark = one_frame(read(tmp_path, frame, ending))
    np.testing.assert_allclose(found.ensemble.curves, [curve for *_, curve in outlines()])
    assert ("3 frames" in remark) == (ending == ".parquet")


@pytest.mark.parametrize("way", [{"encoding": "utf-16", "sep": "\t"}, {"encoding": "cp1252", "sep": ";"}])
def test_our_table_in_the_encodings_of_spreadsheets(tmp_path, way):
    squares = Ensemble([[(0, 0), (0, 2), (2, 2), (2, 0)]], unit="µm", pixel_size=(0.5, 0.5))
    write_curves(tmp_path / "a.curves.csv", squares)
    with (tmp_path / "a.curves.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    with (tmp_path / "b.curves.csv").open("w", encoding=way["encoding"], newline="") as file:
        csv.writer(file, delimiter=way["sep"]).writerows(rows)
    found = read_curves(tmp_path / "b.curves.csv").ensemble
    assert (found.unit, found.pixel_size) == ("µm", (0.5, 0.5))
