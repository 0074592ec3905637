"""Files as other programs write them: read as an expert would read them, or refused with the cause and the remedy."""

import gzip
import json
import re
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import roifile
import tifffile
from PIL import Image

from command_line import run
from curve_makers import blobs, load_curves
from napari_shape_ensembles import Outlines, compare, content_of
from napari_shape_ensembles.io import read_calibration, read_curves, read_folder, read_image
from napari_shape_ensembles.io.settings_file import SettingsFile
from napari_shape_ensembles.io.sources import Reading, ensemble_of_file, files_of
from napari_shape_ensembles.outlines.order import fault_of
from napari_shape_ensembles.outlines.reasons import AT_BORDER, OPEN

FILES = Path(__file__).parents[1] / "data" / "files"
RINGS = [(10 * curve - (10 * curve).min(axis=0) + (5, 60 * number + 5)) for number, curve in enumerate(blobs(6, 60))]
DISC = np.hypot(*(np.indices((80, 200)) - np.array([40, 100])[:, None, None]))


def labels_plane():
    """Eight disks on a background of 0."""
    rows, columns = np.indices((80, 200))
    plane = np.zeros((80, 200), np.uint8)
    for number in range(8):
        centre = 20 + 40 * (number // 4), 25 + 50 * (number % 4)
        plane[np.hypot(rows - centre[0], columns - centre[1]) < 8 + number] = number + 1
    return plane


def ensemble(path, **changes):
    said = []
    options = {name: changes.pop(name) for name in ("labels", "pixel_sizes") if name in changes}
    reading = Reading(SettingsFile(outlines=replace(Outlines(), **changes)), tell=said.append, **options)
    return ensemble_of_file(Path(path), reading), said


def roi(curve, name, **attributes):
    one = roifile.ImagejRoi.frompoints(curve[:, ::-1].astype(np.float32) + 0.5, name=name)
    one.roitype = roifile.ROI_TYPE.POLYGON
    for key, value in attributes.items():
        setattr(one, key, value)
    return one.tobytes()


def roi_zip(path, rois, prefix=""):
    with zipfile.ZipFile(path, "w") as archive:
        for number, content in enumerate(rois):
            archive.writestr(f"{prefix}{number:03d}.roi", content)
    return path


# ------------------------------------------------------------------------------------------ the recipe and curves


def test_pixel_sizes_apply_to_files_of_curves():
    sizes = "--pixel-sizes", FILES / "s01-sizes.csv"
    done = run("compare", FILES / "s01-a.zip", FILES / "s01-b.zip", *sizes)
    assert "(form p = 0.16, scale p = 0.001)" in done.stdout, done.output
    a, b = (
        ensemble(FILES / f"s01-{side}.zip", pixel_size=size, unit="µm")[0] for side, size in (("a", 0.5), ("b", 0.25))
    )
    assert (a.unit, a.pixel_size, b.pixel_size) == ("µm", (0.5, 0.5), (0.25, 0.25))
    assert 0.4 < np.median(b.features["perimeter"]) / np.median(a.features["perimeter"]) < 0.6


def test_limits_of_the_recipe_apply_to_files_of_curves_and_its_smoothing_is_refused(tmp_path):
    path = roi_zip(tmp_path / "x.zip", [roi(curve, f"r{i}") for i, curve in enumerate(RINGS)])
    whole, _ = ensemble(path)
    least = float(np.median(whole.features["area"]))
    some, _ = ensemble(path, min_area=least)
    assert (len(whole), len(some), some.dropped[next(iter(some.dropped))]) == (6, 3, 3)
    scaled, _ = ensemble(path, min_area=least, pixel_size=0.5, unit="µm")
    assert len(scaled) == 3
    with pytest.raises(ValueError, match=r"x\.zip: outline_smoothing = 2\.0 has no effect on outlines"):
        ensemble(path, outline_smoothing=2.0)
    write_geoparquet(tmp_path / "x.geoparquet", projected())
    with pytest.raises(ValueError, match=r"x\.geoparquet: its outlines are in m already"):
        ensemble(tmp_path / "x.geoparquet", pixel_size=0.5, unit="µm")


def test_smoothing_with_which_outlines_were_traced_may_be_given(tmp_path):
    from napari_shape_ensembles.io import write_curves

    traced = Outlines(outline_smoothing=2.0).trace(labels_plane())
    write_curves(tmp_path / "x.csv", traced)
    assert len(ensemble(tmp_path / "x.csv", outline_smoothing=2.0)[0]) == len(traced)
    with pytest.raises(ValueError, match="outline_smoothing"):
        ensemble(tmp_path / "x.csv", outline_smoothing=3.0)


# --------------------------------------------------------------------------------------------------- frames


@pytest.mark.parametrize("place", ["t_position", "z_position", "position"])
def test_the_same_objects_in_several_frames_count_once(tmp_path, place):
    moved = [(curve + 0.2 * frame, frame) for frame in range(3) for curve in RINGS]
    rois = [roi(curve, f"r{i}", **{place: frame + 1}) for i, (curve, frame) in enumerate(moved)]
    path = roi_zip(tmp_path / "x.zip", rois)
    found, said = ensemble(path)
    assert (len(found), sum(found.dropped.values())) == (6, 12)
    assert "shows the same objects in 3 frames: those of" in said[0]
    assert f"such as {'frame' if place == 't_position' else 'slice'} = 2" in said[0]
    table = read_curves(path)
    assert len(table.ensemble) == 18
    assert (
        table.features["frame" if place == "t_position" else "slice"].tolist() == np.repeat([1.0, 2.0, 3.0], 6).tolist()
    )


def test_slices_in_the_default_names_of_imagej_are_frames(tmp_path):
    rois = [roi(curve + 0.2 * z, f"{z:04d}-0012-{i:04d}") for z in (1, 2) for i, curve in enumerate(RINGS)]
    found, said = ensemble(roi_zip(tmp_path / "x.zip", rois))
    assert (len(found), "those of slice 1 are used" in said[0]) == (6, True)
    named = [roi(curve, f"0012-{i:04d}") for i, curve in enumerate(RINGS)]  # of one image
    assert ensemble(roi_zip(tmp_path / "y.zip", named))[1] == []


def test_other_objects_in_other_frames_all_count(tmp_path):
    rois = [roi(curve + 400 * frame, "", t_position=frame + 1) for frame in range(2) for curve in RINGS]
    found, said = ensemble(roi_zip(tmp_path / "x.zip", rois))
    assert len(found) == 12
    assert list(dict.fromkeys(found.images.tolist())) == ["x frame 1", "x frame 2"]
    assert "outlines of 2 frames: each counts as an image of its own" in said[0]


def test_frames_are_those_of_their_image_and_measured_times_are_none(tmp_path):
    rows = [
        (image, track, (track + 3 * frame) % len(RINGS), frame, 0.5 * track, x, y)
        for image, moves in (("a.tif", 60), ("b.tif", 0))
        for frame in range(2)
        for track, curve in enumerate(RINGS)
        for y, x in curve + moves * frame
    ]
    table = pd.DataFrame(rows, columns=["image", "track_id", "label", "frame", "t", "x", "y"])
    # Without tracks, the objects of a that have moved are others; those of b stay where they are.
    for column, names in (("track_id", ["a.tif", "b.tif"]), ("label", ["a.tif frame 0", "a.tif frame 1", "b.tif"])):
        table[["image", column, "frame", "t", "x", "y"]].to_csv(tmp_path / "x.csv", index=False)
        found, _ = ensemble(tmp_path / "x.csv")
        assert sorted(set(found.images.tolist())) == names
        assert len(found) == len(RINGS) * len(names)


# ---------------------------------------------------------------------------------- entries that are no outlines


def test_texts_lines_and_damaged_regions_cost_only_themselves(tmp_path):
    text = roi(RINGS[0], "text", roitype=roifile.ROI_TYPE.RECT, subtype=roifile.ROI_SUBTYPE.TEXT)
    line = roi(RINGS[0], "line", roitype=roifile.ROI_TYPE.POLYLINE)
    path = roi_zip(tmp_path / "x.zip", [roi(curve, "") for curve in RINGS] + [text, line, b"Iout" + bytes(30)])
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("__MACOSX/._000.roi", b"\0\5\x16\7")
    found = read_curves(path).ensemble
    assert len(found) == 6
    assert {reason.key: count for reason, count in found.dropped.items()} == {
        "not a polygon": 1, "open": 1, "unreadable": 1
    }  # fmt: skip


def test_polylines_of_via_are_open_unless_they_end_where_they_began(tmp_path):
    def region(name, curve):
        shape = {"name": name, "all_points_x": curve[:, 1].tolist(), "all_points_y": curve[:, 0].tolist()}
        return {"shape_attributes": shape, "region_attributes": {}}

    regions = [region("polygon", RINGS[0]), region("polyline", RINGS[1]), region("polyline", RINGS[2][:30])]
    content = {"a": {"filename": "a.tif", "regions": [*regions, region("polyline", RINGS[3][:5])]}}
    (tmp_path / "x.json").write_text(json.dumps(content), encoding="utf-8")
    found = read_curves(tmp_path / "x.json").ensemble
    assert (len(found), found.dropped) == (2, {OPEN: 2})


def feature(curve, **more):
    ring = [*curve[:, ::-1].tolist(), curve[0, ::-1].tolist()]
    return {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [ring]}, "properties": {}, **more}


def test_nuclei_and_planes_of_qupath_are_told(tmp_path):
    cells = [feature(curve, nucleusGeometry=feature(0.5 * curve)["geometry"]) for curve in RINGS]
    cells[0]["geometry"]["plane"] = {"c": -1, "z": 2, "t": 0}
    cells.append(feature(RINGS[0], geometry={"type": "Polygon", "coordinates": [[[1], [2]]]}))
    (tmp_path / "x.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": cells}), encoding="utf-8")
    table = read_curves(tmp_path / "x.geojson")
    assert {reason.key: count for reason, count in table.ensemble.dropped.items()} == {"unreadable": 1, "nuclei": 6}
    assert table.features["slice"].tolist()[0] == 2


def projected(name="metre", kind="ProjectedCRS"):
    axes = [{"name": axis, "unit": name} for axis in ("E", "N")]
    return {"type": kind, "coordinate_system": {"axis": axes}}


def write_geoparquet(path, system):
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    from napari_shape_ensembles import Ensemble
    from napari_shape_ensembles.io.curve_table import CurveTable
    from napari_shape_ensembles.io.geoparquet import geoparquet_bytes

    path.write_bytes(geoparquet_bytes(CurveTable(Ensemble(RINGS))))
    table = parquet.read_table(path)
    geo = json.loads(table.schema.metadata[b"geo"])
    geo["columns"]["geometry"]["crs"] = system
    parquet.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), path)
    return path


def test_geoparquet_states_its_unit_and_is_known_by_its_content(tmp_path):
    assert read_curves(write_geoparquet(tmp_path / "x.geoparquet", projected())).ensemble.unit == "m"
    assert len(read_curves(write_geoparquet(tmp_path / "x.parquet", None)).ensemble) == 6
    compound = {"type": "CompoundCRS", "components": [projected("US survey foot")]}
    assert read_curves(write_geoparquet(tmp_path / "f.parquet", compound)).ensemble.unit == "survey_foot"
    for system in (projected("degree"), projected("metre", "GeographicCRS")):
        with pytest.raises(ValueError, match="export the outlines in pixels"):
            read_curves(write_geoparquet(tmp_path / "x.parquet", system))


def tps(scales):
    parts = []
    for number, scale in enumerate(scales):
        points = "\n".join(f"{x} {y}" for y, x in RINGS[number])
        parts.append(
            f"LM=0\nOUTLINES=1\nPOINTS=60\n{points}\nID=s{number}\n" + ("" if scale is None else f"SCALE={scale}\n")
        )
    return "".join(parts)


def test_scales_of_tps_are_those_of_all_specimens_or_of_none(tmp_path):
    path = tmp_path / "x.tps"
    path.write_text(tps([0.5, None, 0.5]), encoding="utf-8")
    with pytest.raises(ValueError, match=r"x\.tps: 1 of 3 specimens have no SCALE: s1"):
        read_curves(path)
    path.write_text(tps(["0,5", "0.5"]), encoding="utf-8")
    assert np.ptp(read_curves(path).ensemble[0], axis=0) == pytest.approx(np.ptp(RINGS[0], axis=0) / 2)
    path.write_text(re.sub(r"(\d)\.(\d)", r"\1,\2", tps(["0.5", "0.5"])), encoding="utf-8")
    assert np.ptp(read_curves(path).ensemble[0], axis=0) == pytest.approx(np.ptp(RINGS[0], axis=0) / 2)
    path.write_text(tps([0.5, ""]), encoding="utf-8")
    with pytest.raises(ValueError, match="specimen s1: SCALE= has no number"):
        read_curves(path)


def test_outlines_of_text_need_blank_lines_between_them(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("\n".join(f"{x} {y}" for curve in RINGS for y, x in curve), encoding="utf-8")
    with pytest.raises(ValueError, match=r"x\.txt: holds at least \d outlines that no blank lines tell apart"):
        read_curves(path)
    corner = np.linspace(0, np.pi / 2, 10)
    rounded = np.concatenate(
        [
            np.c_[np.sin(corner + turn), np.cos(corner + turn)]
            + 90 * np.round(np.c_[np.sin(corner * 0 + turn + np.pi / 4), np.cos(corner * 0 + turn + np.pi / 4)])
            for turn in np.arange(4) * np.pi / 2
        ]
    )
    np.savetxt(path, rounded)
    assert len(read_curves(path).ensemble) == 1
    path.write_text("\n".join(f"{x:.2f};{y:.2f}".replace(".", ",") for y, x in RINGS[0]), encoding="utf-8")
    np.testing.assert_allclose(read_curves(path).ensemble[0], RINGS[0], atol=0.01)


def test_outlines_that_were_traced_well_are_all_kept():
    data = Path(__file__).parents[1] / "data"
    for path in (data / "osteosarcoma_cells" / "cells.npz", data / "ampis_powder" / "polygons.npz"):
        curves = load_curves(path)
        assert [fault_of(np.asarray(curve)) for curve in curves] == [None] * len(curves)


def test_regions_around_detections_are_no_outlines(tmp_path):
    cells = [feature(curve, properties={"objectType": "detection"}) for curve in RINGS]
    region = np.array([(0.0, 0), (0, 400), (90, 400), (90, 0)])
    around, core = (feature(region, properties={"objectType": kind}) for kind in ("annotation", "tma_core"))
    of_older = [feature(region, id="PathAnnotationObject"), *(feature(one, id="PathDetectionObject") for one in RINGS)]
    for objects, kept in (([around, *cells], 6), ([around], 1), ([core, *cells], 6), (of_older, 6)):
        path = tmp_path / "x.geojson"
        path.write_text(json.dumps({"type": "FeatureCollection", "features": objects}), encoding="utf-8")
        found = read_curves(path).ensemble
        assert (len(found), sum(found.dropped.values())) == (kept, kept // 6)


def test_outlines_of_stardist_in_an_archive(tmp_path):
    stars = np.stack([curve[:40].T for curve in RINGS])
    np.savez(tmp_path / "x.npz", coord=stars, points=stars.mean(axis=2), prob=np.linspace(0, 1, 6))
    found, _ = ensemble(tmp_path / "x.npz")
    np.testing.assert_array_equal(found[2], RINGS[2][:40])


# ------------------------------------------------------------------------------------------------------ images


def test_regions_in_the_folders_of_a_zip_are_of_an_image_each(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for number, curve in enumerate(RINGS):
            archive.writestr(f"{'ab'[number % 2]}/{number // 2}.roi", roi(curve, ""))
    assert sorted(set(read_curves(tmp_path / "x.zip").ensemble.images)) == ["a", "b"]
    with zipfile.ZipFile(tmp_path / "y.zip", "w") as archive:
        archive.writestr("table.csv", "x,y")
    with pytest.raises(ValueError, match=r"holds no .roi files, but table.csv: unpack it"):
        read_curves(tmp_path / "y.zip")


def test_annotations_in_the_forms_of_other_exports(tmp_path):
    """Results and a bare polygon of COCO, VIA as a table, GeoJSON with an object in each line, in gzip and in zip."""
    points = [curve[:, ::-1] + 0.5 for curve in RINGS]
    results = [{"image_id": 1, "score": 0.9, "segmentation": [one.ravel().tolist()]} for one in points]
    (tmp_path / "results.json").write_text(json.dumps(results))
    bare = {"images": [], "annotations": [{"id": 1, "segmentation": points[0].ravel().tolist()}]}
    (tmp_path / "bare.json").write_text(json.dumps(bare))
    shapes = [
        {"name": "polygon", "all_points_x": one[:, 0].tolist(), "all_points_y": one[:, 1].tolist()} for one in points
    ]
    table = {"#filename": "a.png", "region_shape_attributes": map(json.dumps, [*shapes, {}]), "region_attributes": "{}"}
    pd.DataFrame(table).to_csv(tmp_path / "via.csv", index=False)
    forms = [{"type": "Polygon", "coordinates": [one.tolist()]} for one in points]
    features = [json.dumps({"type": "Feature", "geometry": form, "properties": {}}) for form in forms]
    (tmp_path / "lines.geojson").write_text("\n".join(features))
    (tmp_path / "x.geojson.gz").write_bytes(gzip.compress(f"[{','.join(features)}]".encode()))
    with zipfile.ZipFile(tmp_path / "qupath.zip", "w") as archive:
        archive.writestr("qupath.geojson", f"[{','.join(features)}]")
    for name in ("results.json", "bare.json", "via.csv", "lines.geojson", "x.geojson.gz", "qupath.zip"):
        found = read_curves(tmp_path / name).ensemble
        np.testing.assert_allclose(found.curves, RINGS[: len(found)])
        assert len(found) == (1 if name == "bare.json" else 6)


@pytest.mark.parametrize(("name", "p_values"), [("s07", (0.176, 0.567)), ("s17", (0.172, 0.587))])
def test_labels_with_a_palette_and_classes_without_0_are_read_as_objects(name, p_values):
    ending = "png" if name == "s07" else "tif"
    a, b = (ensemble(FILES / f"{name}-{side}.{ending}")[0] for side in "ab")
    assert (len(a), len(b)) == (30, 30)
    result = compare(a, b)
    assert (result.undulation.p_value, result.scale.p_value) == pytest.approx(p_values, abs=0.006)


def test_labels_stored_as_colors_are_labels(tmp_path):
    plane = labels_plane()
    expected = len(Outlines().trace(plane))
    colours = np.random.default_rng(1).integers(40, 255, (9, 3), np.uint8)
    colours[0] = 0
    white = colours.copy()
    white[0] = 255
    grey = np.repeat(plane[..., None], 3, axis=2)
    for number, pixels in enumerate((colours[plane], white[plane], grey)):
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
        found, said = ensemble(tmp_path / f"{number}.png")
        assert (len(found), "in flat colors" in said[0]) == (expected, True)
    tifffile.imwrite(tmp_path / "deep.tif", 300 * grey.astype(np.uint16), photometric="rgb")
    assert len(ensemble(tmp_path / "deep.tif")[0]) == expected
    border = plane != np.roll(plane, 1, axis=0)
    indices = Image.fromarray(np.where(border, 255, plane).astype(np.uint8), mode="P")
    indices.putpalette(bytes(range(256)) * 3)
    indices.save(tmp_path / "voc.png")
    found, said = ensemble(tmp_path / "voc.png")
    assert (len(found), said) == (expected, ["note: voc.png holds labels and is not segmented"])
    classes = np.array([(0, 0, 0), (128, 0, 0), (0, 128, 0)], np.uint8)[np.where(plane > 0, 1 + plane % 2, 0)]
    Image.fromarray(classes).save(tmp_path / "classes.png")
    assert len(ensemble(tmp_path / "classes.png")[0]) == expected
    photo = np.random.default_rng(0).integers(0, 255, (60, 60, 3), np.uint8)
    from napari_shape_ensembles.outlines.recognise import labels_of_colours

    assert labels_of_colours(photo) is None
    ring = np.zeros((40, 40, 3), np.uint8)
    ring[10:30, 10:30], ring[12:28, 12:28] = (255, 0, 0), 200  # a line around an object
    assert labels_of_colours(ring) is None


def test_outlines_recognize_labels_also_with_many_specks():
    from scipy import ndimage

    plane = labels_plane()
    assert Outlines()(plane).ids.tolist() == Outlines().trace(plane).ids.tolist()
    noise = np.random.default_rng(0).random(plane.shape) < 0.03
    specks, count = ndimage.label((plane > 0) | noise)
    assert count > 200
    assert content_of(specks) == "labels"
    assert len(Outlines()(specks)) == len(Outlines().trace(specks))


def test_silhouettes_on_a_transparent_background_are_objects(tmp_path):
    plane = labels_plane() > 0
    for colour, name in ((0, "black.png"), (90, "grey.png")):
        pixels = np.full((*plane.shape, 4), colour, np.uint8)
        pixels[~plane, :3] = 255
        pixels[..., 3] = 255 * plane
        Image.fromarray(pixels).save(tmp_path / name)
        assert len(ensemble(tmp_path / name)[0]) == 8
    indexed = Image.fromarray(plane.astype(np.uint8))
    indexed.putpalette([0] * 768)
    indexed.save(tmp_path / "indexed.png", transparency=0)
    assert len(ensemble(tmp_path / "indexed.png")[0]) == 8


def test_colors_in_separate_planes_are_colors(tmp_path):
    pixels = np.repeat(labels_plane()[None] * np.uint8(20), 3, axis=0)
    tifffile.imwrite(tmp_path / "x.tif", pixels, photometric="rgb", planarconfig="separate")
    assert read_image(tmp_path / "x.tif").pixels.shape == (80, 200, 3)


def test_compression_without_its_codec_is_read_otherwise_or_named(tmp_path, monkeypatch):
    assert read_image(FILES / "r01-a.tif").pixels.shape == (160, 200)
    monkeypatch.setattr(Image, "open", lambda *_: (_ for _ in ()).throw(OSError("no decoder")))
    if pytest.importorskip("importlib.util").find_spec("imagecodecs") is None:
        with pytest.raises(ValueError, match=r"r01-a\.tif: is compressed \(LZW\).*: pip install imagecodecs"):
            read_image(FILES / "r01-a.tif")


def test_compression_that_only_a_newer_python_decodes_is_named(tmp_path, monkeypatch):
    def missing(*_, **__):
        raise ImportError("No module named 'compression'")

    tifffile.imwrite(tmp_path / "a.tif", np.zeros((2, 9, 9), np.uint8), compression="zlib")
    monkeypatch.setattr(tifffile.TiffFile, "asarray", missing)
    with pytest.raises(ValueError, match=r"a\.tif: is compressed .*: pip install imagecodecs"):
        read_image(tmp_path / "a.tif", plane=(1,))


def test_zero_is_white_only_where_it_is(tmp_path):
    plane = labels_plane()
    grey = np.where(plane > 0, 200, 20).astype(np.uint8)
    grey[::7] += np.uint8(3)
    for pixels in (grey, grey.astype(np.uint16) * 200):
        tifffile.imwrite(tmp_path / "x.tif", np.iinfo(pixels.dtype).max - pixels, photometric="miniswhite")
        np.testing.assert_array_equal(read_image(tmp_path / "x.tif").pixels, pixels)
    tifffile.imwrite(tmp_path / "x.tif", plane, photometric="miniswhite")
    np.testing.assert_array_equal(read_image(tmp_path / "x.tif").pixels, plane)
    tifffile.imwrite(tmp_path / "x.tif", plane > 0)
    np.testing.assert_array_equal(read_image(tmp_path / "x.tif").pixels, plane > 0)


def test_several_images_in_one_file_are_counted(tmp_path):
    path = tmp_path / "x.ome.tif"
    with tifffile.TiffWriter(path, ome=True) as file:
        for _ in range(3):
            file.write(labels_plane(), photometric="minisblack")
    with pytest.raises(ValueError, match=r"x\.ome\.tif: holds 3 images, such as positions"):
        read_image(path)
    with tifffile.TiffWriter(tmp_path / "y.tif") as file:
        file.write(labels_plane()[::4, ::4], photometric="minisblack", subfiletype=1)
        file.write(labels_plane(), photometric="minisblack")
    assert read_image(tmp_path / "y.tif").pixels.shape == (80, 200)


def test_imagej_may_state_another_unit_for_rows(tmp_path):
    described = {"unit": "micron", "yunit": "nm"}
    tifffile.imwrite(tmp_path / "x.tif", labels_plane(), imagej=True, resolution=(4, 1 / 250), metadata=described)
    assert read_calibration(tmp_path / "x.tif").scale == pytest.approx((0.25, 0.25))


def test_a_field_of_a_plate_is_an_image(tmp_path):
    pytest.importorskip("zarr")
    from napari_shape_ensembles.io import write_ome_zarr_labels

    field = tmp_path / "plate.ome.zarr" / "A" / "1" / "0"
    field.parent.mkdir(parents=True)
    write_ome_zarr_labels(field, labels_plane())
    found, _ = ensemble(field)
    assert (len(found), found.name) == (8, "plate A 1 0")
    with pytest.raises(ValueError, match="is an array, which is one level of an image"):
        ensemble(field / "0")
    well = {"well": {"images": [{"path": "0"}, {"path": "1"}]}}
    (field.parent / ".zgroup").write_text('{"zarr_format": 2}')
    (field.parent / ".zattrs").write_text(json.dumps(well))
    with pytest.raises(ValueError, match=r"holds 2 fields of a plate: give a field, such as 1/0"):
        ensemble(field.parent)


# ---------------------------------------------------------------------------------------------------- folders


@pytest.mark.parametrize(
    "beside",
    ["img.zip", "img_cp_masks.png", "img_Simple Segmentation.tif", "img-RoiSet.zip", "img_GT.tif", "mask_img.png",
     "img_cellpose_masks.tif", "img_flows.tif", "IMG_Object Predictions.tif", "img.png", "img_instance_mask.png",
     "img.corrected 2.tif", "img_mask_1.tif", "img.tif_cp_masks.png", "img_Simple Segmentation Stage 2.tif"],
)  # fmt: skip
def test_an_image_and_what_was_made_of_it_are_one(tmp_path, beside):
    Image.fromarray(labels_plane() * np.uint8(20)).save(tmp_path / "img.tif")
    if beside.endswith("zip"):
        roi_zip(tmp_path / beside, [roi(RINGS[0], "")])
    else:
        Image.fromarray(labels_plane()).save(tmp_path / beside)
    said = []
    assert [path.name for path in files_of(tmp_path, groups=True, tell=said.append)] == ["img.tif"]
    assert beside in said[0]
    with pytest.warns(UserWarning, match="outlines or labels, are left out") as told:
        read_folder(tmp_path)
    assert told[0].filename == __file__
    (tmp_path / "img.tif").unlink()
    assert [path.name for path in files_of(tmp_path, groups=True)] == [beside]


def test_of_several_files_of_labels_or_curves_one_is_used(tmp_path):
    for name in ("a_cp_outlines.png", "a_cp_masks.png", "b.geojson", "b.csv", "b.zip", "sub"):
        (tmp_path / name).touch()
    assert [path.name for path in files_of(tmp_path, groups=True)] == ["a_cp_masks.png", "b.csv"]


def test_folders_in_a_folder_are_told(tmp_path):
    (tmp_path / "dish 1").mkdir()
    with pytest.raises(ValueError, match=r"its folders \(dish 1\) are not searched"):
        files_of(tmp_path, groups=True)


def test_texts_in_a_folder_are_read_if_they_are_outlines_and_told_if_not(tmp_path):
    folder = tmp_path / "leaves"
    folder.mkdir()
    (folder / "notes.txt").write_text("measured on Monday", encoding="utf-8")
    with pytest.raises(ValueError, match=r"holds no images and no curves .*; notes\.txt may be notes"):
        files_of(folder, groups=True)
    for number, curve in enumerate(RINGS):
        np.savetxt(folder / f"leaf{number}.txt", curve)
    assert len(files_of(folder, groups=True)) == 6


# ------------------------------------------------------------------------------------------------------- maps


@pytest.mark.usefixtures("orix")
@pytest.mark.parametrize(("side", "whole", "cut"), [("a", 41, 31), ("b", 35, 24)])
def test_grains_cut_by_the_edge_of_the_measured_area_are_left_out(side, whole, cut):
    found, _ = ensemble(FILES / f"s11-{side}.ctf.gz")
    assert (len(found), found.dropped[AT_BORDER]) == (whole, cut)
    kept, _ = ensemble(FILES / f"s11-{side}.ctf.gz", keep_border=True)
    assert len(kept) > whole


@pytest.mark.usefixtures("orix")
def test_ctf_with_decimal_commas_or_without_a_column_is_read(tmp_path):
    import gzip

    text = gzip.decompress((FILES / "s11-a.ctf.gz").read_bytes()).decode()
    whole, _ = ensemble(FILES / "s11-a.ctf.gz")
    head, row, rows = text.partition("\nPhase\t")
    lines = (row + rows).strip("\n").split("\n")
    versions = {
        "commas.ctf": text.replace(".", ","),
        "less.ctf": "\n".join([head, lines[0], *(line.rpartition("\t")[0] for line in lines[1:]), ""]),
        "none.ctf": "\n".join([head, *(line.rpartition("\t")[0] for line in lines), ""]),
    }
    for name, content in versions.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
        found, _ = ensemble(tmp_path / name)
        np.testing.assert_allclose(found.vertices, whole.vertices)


# ------------------------------------------------------------------------------------------------- design tables


def test_grouped_thousands_are_no_pixel_size(tmp_path):
    from napari_shape_ensembles.io.design import read_design

    shutil.copy(FILES / "s07-a.png", tmp_path / "a.png")
    table = tmp_path / "design.csv"
    table.write_text('image,group,pixel_size,unit\na.png,x,"1,300",nm\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"pixel size 1,300 of a\.png may be 1300 or 1\.300: write it without a comma"):
        read_design(table)
    for text, size in (('"0,65"', 0.65), ("1300", 1300.0), ('"0,65 × 0,5"', (0.65, 0.5))):
        table.write_text(f"image,group,pixel_size,unit\na.png,x,{text},nm\n", encoding="utf-8")
        assert list(read_design(table).pixel_sizes.values()) == [(size, "nm")]


@pytest.mark.usefixtures("orix")
def test_hdf5_of_other_programs_is_not_called_damaged(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["exported_data"] = np.zeros((5, 5), np.uint8)
    with pytest.raises(
        ValueError, match=r"x\.h5: is an HDF5 file without .*\(it holds exported_data\): save an image as"
    ):
        ensemble(tmp_path / "x.h5")


def test_degrees_are_not_pixels(tmp_path):
    cells = [feature(0.001 * curve + (46, 7)) for curve in RINGS]
    (tmp_path / "x.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": cells}), encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"x\.geojson: its outlines measure 0\.0\d+ in the median, which may be degrees"
    ):
        read_curves(tmp_path / "x.geojson")


@pytest.mark.parametrize(
    ("names", "words"),
    [(("x_deg", "y_deg"), "in degrees"), (("x [°]", "y [°]"), "in degrees"), (("x_nm", "y_um"), "different units"),
     (("x_um", "y [µm]"), "")],
)  # fmt: skip
def test_columns_of_other_units_are_refused(tmp_path, names, words):
    rows = [(number, *point[::-1]) for number, curve in enumerate(RINGS) for point in curve]
    pd.DataFrame(rows, columns=["id", *names]).to_csv(tmp_path / "x.csv", index=False)
    if not words:
        assert read_curves(tmp_path / "x.csv").ensemble.unit == "µm"
        return
    with pytest.raises(ValueError, match=rf"x\.csv: its columns? .*{words}"):
        read_curves(tmp_path / "x.csv")


def test_integers_said_to_be_labels_are_labels(tmp_path):
    plane = np.zeros((60, 60), np.uint16)
    for number in range(200):
        plane[4 * (number // 15) : 4 * (number // 15) + 2, 4 * (number % 15) : 4 * (number % 15) + 2] = number + 1
    tifffile.imwrite(tmp_path / "x.tif", plane)
    found, _ = ensemble(tmp_path / "x.tif", labels=True, min_area=1.0, outline_smoothing=0.0)
    assert len(found) > 100
    noise = np.random.default_rng(0).integers(0, 60000, (60, 60)).astype(np.uint16)
    tifffile.imwrite(tmp_path / "y.tif", noise)
    with pytest.raises(ValueError, match="are gray levels, not labels"):
        ensemble(tmp_path / "y.tif", labels=True)


def test_options_without_effect_on_curves_are_told(tmp_path):
    from napari_shape_ensembles.io.sources import read_images

    path = roi_zip(tmp_path / "x.zip", [roi(curve, "") for curve in RINGS])
    said = []
    reading = Reading(SettingsFile(outlines=Outlines(method="local")), tell=said.append)
    read_images([path], reading)
    assert said[0] == "note: method has no effect on files of outlines"
    del said[:]
    read_images([path], Reading(tell=said.append))
    assert said == ["x.zip: 6 curves in pixel"]
    with pytest.raises(ValueError, match="none of the files is a table with a column cell"):
        read_images([path], Reading(curve_column="cell"))
