"""Fuzzed files: a reader returns a result or raises a `ValueError` that names the file, for any bytes.

`--hypothesis-profile=thorough` runs many more examples. Add files that fail to `fuzzed/`.
"""

import gzip
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
import pytest
import tifffile
from hypothesis import given
from hypothesis import strategies as st

from napari_shape_ensembles import Comparison, Ensemble, Settings, compare
from napari_shape_ensembles.io import (
    CurveTable,
    find_grains,
    load_settings,
    read_curves,
    read_ebsd,
    read_image,
    save_settings,
    write_curves,
)
from napari_shape_ensembles.outlines.reasons import Reason

FILES = sorted((Path(__file__).parent / "fuzzed").iterdir())
READERS = {".tif": read_image, ".png": read_image, ".ang": read_ebsd, ".toml": load_settings}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_that_once_broke_a_reader_are_rejected_with_their_name(path):
    read = Comparison.load if path.name.startswith("comparison") else READERS.get(path.suffix, read_curves)
    with pytest.raises(ValueError, match=path.name):
        read(path)


def curves():
    """A few small curves with features of every type."""
    u = 2 * np.pi * np.arange(9) / 9
    rings = [np.stack([np.cos(u), (1 + i / 5) * np.sin(u) + np.cos(2 * u) / 3], axis=-1) * 20 + 50 for i in range(3)]
    ensemble = Ensemble(rings, name="a", unit="µm", ids=["x", "y", "z"], dropped={Reason("tiny"): 2})
    features = ensemble.features.drop(columns="id").assign(
        word=["a", "", "b"], whole=[1, 2, 3], odd=[True, False, True]
    )
    return CurveTable(ensemble, features, (0.5, 0.5), {"image": "a.tif"})


def write_comparison(path):
    ensemble = curves().ensemble
    compare(ensemble, ensemble, Settings(landmarks=10, rank=2, permutations=5)).save(path)


def write_tiff(path):
    metadata = {"axes": "YX", "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5}
    tifffile.imwrite(path, np.arange(64, dtype=np.uint8).reshape(8, 8), ome=True, metadata=metadata)


def write_seg(path):
    held = {"masks": np.eye(9, dtype=np.uint16), "filename": "x", "flows": [np.ones((2, 3)), None], "n": np.int64(3)}
    np.save(path, held, allow_pickle=True)


def write_png(path):
    imageio.imwrite(path, np.arange(64, dtype=np.uint8).reshape(8, 8))


def read_grains(path):
    return find_grains(read_ebsd(path))


COCO = """{"images": [{"id": 1, "file_name": "a"}], "annotations": [{"id": 1, "image_id": 1, "iscrowd": 0,
"category_id": 1, "segmentation": [[0, 0, 5, 0, 5, 5]]}]}"""
VIA = """{"a1": {"filename": "a", "regions": [{"shape_attributes": {"name": "polygon", "all_points_x": [0, 5, 5],
"all_points_y": [0, 0, 5]}, "region_attributes": {"k": "v"}}]}}"""
COCO_MASK = """{"images": [{"id": 1, "file_name": "a"}], "annotations": [{"id": 1, "image_id": 1, "segmentation":
{"size": [12, 16], "counts": "V1750000001O000003M0000c0"}}, {"id": 2, "segmentation": {"size": [6, 8], "counts": [9, 4,
2, 4, 2, 4, 23]}}]}"""
LABELME = """{"version": "5", "shapes": [{"label": "a", "points": [[0, 0], [5, 0], [5, 5]], "shape_type": "polygon"},
{"label": "a", "points": [[3, 3], [5, 0]], "group_id": 1, "shape_type": "circle"}, {"label": "b", "points": [[1, 2],
[7, 6]], "shape_type": "mask", "mask": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABAQAAAAA3bvkkAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJ
RU5ErkJggg=="}], "imagePath": "a.png", "imageHeight": 12, "imageWidth": 16}""".replace("ABJ\n", "ABJ")
LABEL_STUDIO = """[{"data": {"image": "/a/b.png"}, "annotations": [{"result": [{"id": "r", "original_width": 16,
"original_height": 12, "value": {"points": [[0, 0], [50, 0], [50, 50]], "polygonlabels": ["a"]}}, {"original_width": 16,
"original_height": 12, "value": {"format": "rle", "brushlabels": ["b"], "rle": [0, 0, 3, 0, 57, 27, 254, 139, 0, 195,
255, 248, 124, 3, 15, 255, 225, 240, 12, 63, 255, 135, 192, 49, 95, 254, 19, 0, 197, 127, 248, 76, 3, 21, 255, 225, 48,
12, 87, 255, 136, 192, 48, 223, 254, 135, 0, 0]}}, {"original_width": 9, "original_height": 9, "value": {"x": 1, "y": 2,
"width": 30, "height": 20, "rotation": 5}}]}]}]"""
COLLECTION = """{"type": "GeometryCollection", "geometries": [{"type": "Polygon", "coordinates": [[[0, 0], [5, 0],
[5, 5], [0, 0]]], "cell": 3}]}"""
CVAT = """<?xml version="1.0" encoding="utf-8"?><annotations><meta/><image id="0" name="a" width="16" height="12">
<polygon label="a" points="0,0;5,0;5,5"><attribute name="k">v</attribute></polygon><box label="b" xtl="1" ytl="1"
xbr="5" ybr="6" rotation="9"/><ellipse cx="5" cy="5" rx="2" ry="3"/><mask rle="9, 4, 2, 4, 2, 4" left="2" top="3"
width="6" height="5"/></image><track id="1" label="t"><polygon frame="2" points="0,0;5,0;5,5"/></track></annotations>"""
CELLPOSE = "3,2,3,3,3,4,4,5,5,5,6,4,6,3,5,2,4,2\n\n9,9,9,10,9,11,10,12,11,12,12,11,12,10,11,9,10,9\n"
YOLO = "1 0.1 0.1 0.9 0.1 0.9 0.7 0.1 0.7\n0 0.5 0.5 0.1 0.1\n0 0 0 1 0 1 1\n"
XENIUM = "cell_id,vertex_x,vertex_y\n" + "".join(
    f"a-{i // 4},{i % 4 // 2 + i // 4},{(i + 1) % 4 // 2}\n" for i in range(12)
)
CHC = "leaf_1 10 20 0.25 9 0 0 6 6 4 4 2 2 -1\nleaf_2 0 0 0.25 4 0 6 4 2 -1"
TPS = "LM=1\n1 2\nCURVES=1\nPOINTS=4\n0 0\n6 0\n6 4\n0 4\nID=one\nSCALE=0.5\n"
TXT = "x y\n0 0\n6 0\n6 4\n0 4\n\n0 0\n1 0\n1 1\n"
CTF = """Channel Text File
Prj\ta.ctf
JobMode\tGrid
XCells\t6
YCells\t4
XStep\t0.5
YStep\t0.5
AcqE1\t0
Euler angles refer to Sample Coordinate system (CS0)!\tMag\t100\tCoverage\t100\tDevice\t0\tKV\t20
Phases\t1
3.66;3.66;3.66\t90;90;90\tIron fcc\t11\t225
Phase\tX\tY\tBands\tError\tEuler1\tEuler2\tEuler3\tMAD\tBC\tBS
""" + "".join(f"1\t{i % 6 / 2}\t{i // 6 / 2}\t8\t0\t{i}\t20\t30\t0.5\t100\t90\n" for i in range(24))
ANG = """# TEM_PIXperUM 1.0
# x-star 0.5
# y-star 0.5
# z-star 0.5
# WorkingDistance 10.0
#
# Phase 1
# MaterialName Iron
# Formula Fe
# Symmetry 43
# LatticeConstants 2.87 2.87 2.87 90.0 90.0 90.0
#
# GRID: SqrGrid
# XSTEP: 0.5
# YSTEP: 0.5
# NCOLS_ODD: 6
# NCOLS_EVEN: 6
# NROWS: 4
#
""" + "".join(f"0.{i} 0.2 0.3 {i % 6 / 2} {i // 6 / 2} 50.0 0.9 0 1 0.5\n" for i in range(24))


def text(content):
    return lambda path: path.write_text(content, encoding="utf-8")


def write_yolo(path):
    imageio.imwrite(path.with_suffix(".png"), np.zeros((20, 30), np.uint8))
    path.write_text(YOLO, encoding="utf-8")


def write_gzip(path):
    path.write_bytes(gzip.compress(XENIUM.encode()))


def save_curves(path):
    write_curves(path, curves())


# For each format: functions that write a valid file and read it.
KINDS = {
    "x.csv": (save_curves, read_curves),
    "x.parquet": (save_curves, read_curves),
    "x.geojson": (save_curves, read_curves),
    "x.zip": (save_curves, read_curves),
    "x.npz": (save_curves, read_curves),
    "coco.json": (text(COCO), read_curves),
    "via.json": (text(VIA), read_curves),
    "masks.json": (text(COCO_MASK), read_curves),
    "labelme.json": (text(LABELME), read_curves),
    "studio.json": (text(LABEL_STUDIO), read_curves),
    "collection.json": (text(COLLECTION), read_curves),
    "x.xml": (text(CVAT), read_curves),
    "cellpose.txt": (text(CELLPOSE), read_curves),
    "yolo.txt": (write_yolo, read_curves),
    "cell_boundaries.csv": (text(XENIUM), read_curves),
    "cell_boundaries.csv.gz": (write_gzip, read_curves),
    "x.chc": (text(CHC), read_curves),
    "x.tps": (text(TPS), read_curves),
    "x.txt": (text(TXT), read_curves),
    "comparison.npz": (write_comparison, Comparison.load),
    "x.toml": (lambda path: save_settings(path, Settings()), load_settings),
    "x_seg.npy": (write_seg, read_image),
    "x.tif": (write_tiff, read_image),
    "x.png": (write_png, read_image),
    "x.ang": (text(ANG), read_grains),
    "x.ctf": (text(CTF), read_grains),
}
STUMBLES = ("0", "-1", "1e999", "1e-320", "nan", "NaN", "9" * 20, "null", "[]", "{}", '""', "\n")


@st.composite
def damaged(draw, content):
    """Remove, repeat or replace one to four spans of the content, using bytes that are hard to parse."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(start + 30, len(content))) | st.just(len(content)))
        span = content[start:end]
        stumbles = st.sampled_from([b"", span * 2, *(word.encode() for word in STUMBLES)])
        content = content[:start] + draw(stumbles | st.binary(min_size=1, max_size=4)) + content[end:]
    return content


@pytest.fixture(scope="module")
def valid(tmp_path_factory):
    """Return a function (name) -> path of a valid file and its content."""

    def write(name):
        path = tmp_path_factory.mktemp("valid") / name
        KINDS[name][0](path)
        return path, path.read_bytes()

    return write


def refusal(read, path):
    """The reader's error message about the file, or None if it reads it."""
    try:
        read(path)
    except ValueError as error:
        return str(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KINDS)
def test_a_damaged_file_is_read_or_rejected_with_its_name(name, valid, request):
    path, content = valid(name)
    read = KINDS[name][1]
    if read is read_grains:
        request.getfixturevalue("orix")
    read(path)

    @given(damaged(content))
    def is_read_or_refused(changed):
        path.unlink()  # truncating an existing file waits for the disk
        path.write_bytes(changed)
        said = refusal(read, path)
        assert said is None or name in said

    is_read_or_refused()
