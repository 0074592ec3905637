"""Small files that would need excessive memory or time: rejected within a second or two, using little memory.

Each file is read in a separate process with resource limits, so that excessive allocation and endless loops are
detected.
"""

import base64
import json
import os
import re
import struct
import sys
import zipfile
import zlib
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import tifffile

from curve_makers import blobs
from napari_shape_ensembles import Comparison, Ensemble, ObjectModel, compare, learn_objects
from napari_shape_ensembles.budget import budget, reserve
from napari_shape_ensembles.io import CurveTable, load_settings, read_curves, read_ebsd, read_image, write_curves

resource = pytest.importorskip("resource", reason="limits of memory and time are those of Linux")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="limits of memory and time are those of Linux"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),  # the child process reads one file and ends
]

GIB = 2**30
READERS = {".tif": read_image, ".npy": read_image, ".png": read_image, ".ang": read_ebsd, ".h5": read_ebsd,
           ".h5oina": read_ebsd, ".toml": load_settings}  # fmt: skip


def reader_of(path):
    return Comparison.load if "comparison" in path.name else READERS.get(path.suffix, read_curves)


def read_apart(path, *, seconds=10, **options):
    """Read a file in a separate process, killed after `seconds`; returns its message and its additional memory."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        said = "ended by an error"
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            here = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (here + 6 * GIB,) * 2)
            before = resource.getrusage(resource.RUSAGE_SELF)
            try:
                reader_of(path)(path, **options)
                said = "read"
            except (ValueError, OSError) as error:
                said = f"{type(error).__name__}: {error}"
            after = resource.getrusage(resource.RUSAGE_SELF)
            answer = json.dumps([said, (after.ru_maxrss - before.ru_maxrss) * 1024])
            os.write(writing, answer.encode()[:60_000])
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    status = os.waitpid(child, 0)[1]
    assert answer, f"{path.name}: the reader was ended by the system (status {status}): no end, or too much memory"
    said, memory = json.loads(answer)
    return said, memory


def npy(shape, dtype):
    """Header of an array, without its values."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def packed(path, entries):
    """A zip whose entries, repeated bytes, are compressed to less than a hundredth."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, head, count in entries:
            with archive.open(name, "w", force_zip64=True) as file:
                file.write(head)
                for start in range(0, count, 2**24):
                    file.write(bytes(min(2**24, count - start)))


def npz(path):
    count = 15 * 10**7  # eight bytes each in memory
    offsets = np.array([0, count], np.int64)
    packed(path, [("vertices.npy", npy((count // 2, 2), "|i1"), count)])
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("offsets.npy", npy((2,), "<i8") + offsets.tobytes())


def parquet(path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    same = pyarrow.array(np.zeros(5_000_000, np.int8))
    parquet.write_table(pyarrow.table(dict.fromkeys(("id", "row", "column", "a", "b", "c"), same)), path)


def parquet_of_words(path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    words = pyarrow.DictionaryArray.from_arrays(np.zeros(200_000, np.int32), ["w" * 100_000])
    zeros = pyarrow.array(np.zeros(200_000, np.int8))
    parquet.write_table(pyarrow.table({"id": zeros, "row": zeros, "column": zeros, "word": words}), path)


def tif(path):
    """An image of 40 000 × 40 000 pixels whose strips are compressed to a few bytes each."""
    strip = zlib.compress(bytes(40_000 * 1_000), 9)
    tifffile.imwrite(path, iter([strip] * 40), shape=(40_000, 40_000), dtype=np.uint8, compression="zlib",
                     rowsperstrip=1_000)  # fmt: skip


def tif_of_pages(path):
    """200 000 chained pages with a single tag each."""
    head = struct.pack("<2sHI", b"II", 42, 8)
    page = [struct.pack("<HHHIII", 1, 256, 3, 1, 1, 8 + (i + 1) * 18) for i in range(200_000)]
    page[-1] = struct.pack("<HHHIII", 1, 256, 3, 1, 1, 0)
    path.write_bytes(head + b"".join(page))


def tif_in_a_circle(path):
    path.write_bytes(struct.pack("<2sHI", b"II", 42, 8) + struct.pack("<HHHIII", 1, 256, 3, 1, 1, 8))


def regions(path):
    roifile = pytest.importorskip("roifile")
    roi = roifile.ImagejRoi.frompoints(np.zeros((65_535, 2), np.int16)).tobytes()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(400):
            archive.writestr(f"{number}.roi", roi)


def npy_with_a_hole(path):
    with path.open("wb") as file:
        file.write(npy((10**6, 10**6), "|u1"))
        file.truncate(10**12 + 128)


def geojson_of_names(path):
    ring = [[0, 0], [0, 5], [5, 5], [0, 0]]
    features = [
        {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [ring]}, "properties": {f"p{i}": i}}
        for i in range(12_000)
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))


def json_of_lists(path):
    path.write_text('{"annotations": [' + ",".join(["[]"] * 10_000_000) + "]}")


def comparison_of_lists(path):
    """A comparison whose manifest takes thirty times its size in memory."""
    with zipfile.ZipFile(path, "w") as archive:
        text = '{"format": "shape-ensembles comparison", "version": 1, "data": {"a": [' + ",".join(["[]"] * 10_000_000)
        archive.writestr("manifest.json", text + "]}}")


def via_of_names(path):
    shape = {"name": "polygon", "all_points_x": [0, 5, 5], "all_points_y": [0, 0, 5]}
    regions = [{"shape_attributes": shape, "region_attributes": {f"p{i}": "1"}} for i in range(12_000)]
    path.write_text(json.dumps({"a": {"filename": "a", "regions": regions}}))


def coco_of_masks(path):
    """Masks of a few characters that claim an image of 10⁹ pixels each, and all of them the object."""
    mask = {"size": [30_000, 30_000], "counts": [0, 900_000_000]}
    path.write_text(json.dumps({"images": [], "annotations": [{"segmentation": mask}] * 1000}))


def coco_of_boxes(path):
    """Masks of two pixels in opposite corners."""
    mask = {"size": [3000, 3000], "counts": [0, 1, 8_999_998, 1]}
    path.write_text(json.dumps({"images": [], "annotations": [{"segmentation": mask}] * 1000}))


def brush_of_zeros(path):
    """A mask of Label Studio whose header claims 10⁹ pixels."""
    rle = [*(4 * 10**9).to_bytes(4, "big"), 57, 27, 254, 0, 0]
    region = {"original_width": 50_000, "original_height": 20_000, "value": {"rle": rle}}
    path.write_text(json.dumps([{"data": {}, "annotations": [{"result": [region] * 100}]}]))


def xml_of_entities(path):
    layers = "".join(f'<!ENTITY a{i + 1} "{f"&a{i};" * 10}">' for i in range(10))
    path.write_text(f'<!DOCTYPE a [<!ENTITY a0 "x">{layers}]><annotations>&a10;</annotations>')


def labelme_of_png(path):
    """A mask in base64: a PNG of 40 000 × 40 000 pixels, compressed to a few bytes."""
    rows = zlib.compress(bytes(5_001 * 1_000), 9)
    head = struct.pack(">IIBBBBB", 40_000, 40_000, 1, 0, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", rows), (b"IEND", b""))
    png = b"".join(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
                   for kind, data in chunks)  # fmt: skip
    mask = base64.b64encode(b"\x89PNG\r\n\x1a\n" + png).decode()
    path.write_text(json.dumps({"shapes": [{"points": [[0, 0], [9, 9]], "shape_type": "mask", "mask": mask}] * 20}))


def oina_of_claims(path):
    """A map whose angles claim 10¹⁰ points, none of which are stored."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file.create_group("1/EBSD/Header")
        file.create_dataset("1/EBSD/Data/Euler", (10**10, 3), "f4")
        file.create_dataset("1/EBSD/Data/Phase", (10**10, 1), "u1")


HOSTILE = {
    "claims.h5oina": (oina_of_claims, "would take .* GiB of memory"),
    "masks.json": (coco_of_masks, "would take .* GiB of memory"),
    "boxes.json": (coco_of_boxes, "would take .* GiB of memory"),
    "brush.json": (brush_of_zeros, "would take .* GiB of memory"),
    "png.json": (labelme_of_png, "would take .* GiB of memory"),
    "entities.xml": (xml_of_entities, "declares entities"),
    "tags.xml": (lambda path: path.write_text("<a>" + "<a/>" * 5_000_000 + "</a>"), "would take .* GiB of memory"),
    "x.npz": (npz, "would take .* GiB of memory"),
    "numbers.parquet": (parquet, "would take .* GiB of memory"),
    "words.parquet": (parquet_of_words, "read"),
    "large.tif": (tif, "would take .* GiB of memory"),
    "pages.tif": (tif_of_pages, "holds more than 1000 pages: save one plane"),
    "circle.tif": (tif_in_a_circle, "form a cycle"),
    "regions.zip": (regions, "would take .* GiB of memory"),
    "header.npy": (lambda path: path.write_bytes(b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b" " * 10**6), "damaged"),
    "hole.npy": (npy_with_a_hole, "would take .* GiB of memory"),
    "blank.tps": (lambda path: path.write_text("LM=1\n1 2\nPOINTS=3\n" + "\n" * 60_000 + "x"), "damaged|holds no"),
    "blanks.tps": (lambda path: path.write_text("POINTS=3\n" + " \n" * 100_000 + "LM=" * 9), "points follow|holds no"),
    "blank.txt": (lambda path: path.write_text("\n \n" * 300_000 + "x"), "holds no lines"),
    "names.geojson": (geojson_of_names, "12000 curves have 12000 names of features"),
    "via.json": (via_of_names, "12000 curves have 12001 names of features"),
    "lists.comparison.npz": (comparison_of_lists, "would take .* GiB of memory"),
    "lists.json": (json_of_lists, "would take .* GiB of memory"),
    "deep.json": (lambda path: path.write_text("[" * 500_000), "damaged"),
    "long.chc": (lambda path: path.write_text("a 1 1 1 1 " + "0 " * 7_500_000), "would take .* GiB of memory"),
    "cells.csv": (lambda path: path.write_text("id,row,column\n" + "," * 22_500_000), "would take .* GiB of memory"),
    "lines.ang": (lambda path: path.write_text("# x\n" + "\n" * 5_000_000), "would take .* GiB of memory"),
    "keys.toml": (lambda path: path.write_text("a." * 400_000 + "a=1"), "not a settings file"),
}  # fmt: skip


# Read with a quarter of the default memory limit, so that files of a quarter of the size suffice.
SMALLER = {
    *("x.npz", "numbers.parquet", "large.tif", "regions.zip", "lists.comparison.npz", "lists.json", "long.chc"),
    *("boxes.json", "cells.csv", "lines.ang"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_small_file_that_needs_excessive_memory_is_rejected_quickly(tmp_path, name, request):
    if name.endswith((".ang", ".h5oina")):
        request.getfixturevalue("orix")
    write, expected = HOSTILE[name]
    path = tmp_path / name
    write(path)
    size = path.stat().st_blocks * 512
    said, memory = read_apart(path, **({"memory": 1} if name in SMALLER else {}))
    assert re.search(expected, said), said
    assert said == "read" or f"{name}:" in said or f"{name} " in said
    assert memory < 0.5 * GIB + 3 * size, f"{memory / GIB:.2f} GiB for {size / 2**20:.1f} MiB"


@pytest.mark.parametrize("name", ["x.csv", "x.tif", "x.npz", "x.json", "x.toml", "x.h5", "x.comparison.npz", "x.zip"])
def test_a_named_pipe_does_not_block(tmp_path, name):
    os.mkfifo(tmp_path / name)
    said, _ = read_apart(tmp_path / name, seconds=5)
    assert "a pipe or a device, not a file" in said


ENDINGS = [".csv", ".parquet", ".npz", ".geojson", ".zip", ".txt", ".tps", ".chc"]


@cache
def many():
    """1000 outlines of 100 vertices, with metadata of each."""
    ensemble = Ensemble(list(blobs(1000, 100) * 20))
    return CurveTable(ensemble, ensemble.features.drop(columns="id"))


def many_curves(path):
    """A valid file of these outlines."""
    curves = many().ensemble.curves
    if path.suffix == ".chc":
        path.write_text("\n".join("a 0 0 0 4 " + "0 6 4 2 " * 25 + "-1" for _ in curves))
    elif path.suffix == ".txt":
        path.write_text("\n\n".join("\n".join(f"{x!r} {y!r}" for y, x in curve.tolist()) for curve in curves))
    elif path.suffix == ".tps":
        lines = ("\n".join(f"{x!r} {y!r}" for y, x in curve.tolist()) for curve in curves)
        path.write_text("\n".join(f"LM=0\nPOINTS=100\n{text}" for text in lines))
    else:
        write_curves(path, many())


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_memory_estimate_matches_actual_use(tmp_path, ending):
    path = tmp_path / f"x{ending}"
    many_curves(path)
    said, memory = read_apart(path)
    assert said == "read"
    said, spent = read_apart(path, memory=0.8 * memory / GIB)
    assert "would take" in said, f"{memory / 2**20:.0f} MiB were taken, less were counted"
    assert spent <= memory + 2**22


def test_the_memory_limit_can_be_raised(tmp_path):
    path = tmp_path / "x.csv"
    write_curves(path, Ensemble(list(blobs(50, 100))))
    with pytest.raises(
        ValueError, match=r"x\.csv: would take .* the limit for one file is 0\.0001 GiB: split it, or raise the limit"
    ):
        read_curves(path, memory=1e-4)
    assert len(read_curves(path, memory=1).ensemble) == 50
    np.save(tmp_path / "x.npy", np.zeros((300, 300)))
    with pytest.raises(ValueError, match="raise the limit"):
        read_image(tmp_path / "x.npy", memory=1e-4)


def test_the_memory_limit_applies_to_own_files(tmp_path):
    path, curves = tmp_path / "x.npz", Ensemble(list(blobs(40, 60)))
    result = compare(curves, curves, landmarks=40, rank=5, permutations=99)
    result.save(path)
    refused = r"x\.npz: would take .* the limit for one file is 0\.0001 GiB: split it, or raise the limit"
    with pytest.raises(ValueError, match=refused):
        Comparison.load(path, memory=1e-4)
    with pytest.raises(ValueError, match=refused), budget(1e-4):
        Comparison.load(path)
    assert Comparison.load(path, memory=1).summary() == result.summary()
    with pytest.raises(ValueError, match="is a saved comparison, not curves"):
        read_curves(path)
    painted = np.zeros((60, 60), int)
    painted[20:40, 20:40] = 1
    learn_objects(painted * 9.0, painted, background=painted == 0).save(path)
    with pytest.raises(ValueError, match=refused):
        ObjectModel.load(path, memory=1e-4)
    assert ObjectModel.load(path, memory=1).sources[0].objects == 1
    write_curves(path, curves)
    with pytest.raises(ValueError, match=refused):
        read_curves(path, memory=1e-4)


@pytest.mark.parametrize("memory", [0, -1, "4", True])
def test_the_memory_limit_is_a_number_of_gib(memory):
    with pytest.raises(ValueError, match="memory must be a number of GiB above 0"), budget(memory):
        reserve(1)


def test_a_memory_error_is_not_reported_as_damage(tmp_path, monkeypatch):
    write_curves(tmp_path / "x.csv", Ensemble(list(blobs(5, 30))))

    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr("pandas.read_csv", fail)
    with pytest.raises(ValueError, match=r"^x\.csv: not enough memory to read it") as found:
        read_curves(tmp_path / "x.csv")
    assert "damaged" not in str(found.value)
