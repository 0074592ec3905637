"""Images larger than the memory limit: a plane of a stack is read alone, labels by tile, other planes are rejected."""

import re
import tracemalloc
from functools import cache

import numpy as np
import pytest
import tifffile

from command_line import run
from napari_shape_ensembles import Outlines
from napari_shape_ensembles.io import Calibration, SettingsFile, read_curves, write_ome_zarr_labels
from napari_shape_ensembles.io.image_parts import ImagePart
from napari_shape_ensembles.io.lazy_images import lazy_labels
from napari_shape_ensembles.io.sources import Reading, ensemble_of_file

zarr = pytest.importorskip("zarr")

#: GiB, less than the images need.
LITTLE = 0.0015
REMEDY = r"would take .* GiB of memory; the limit .* is 0\.0015 GiB: .*bring its labels .*, which are read by tile"
AXES = [
    {"name": "c", "type": "channel"},
    {"name": "z", "type": "space", "unit": "micrometer"},
    {"name": "y", "type": "space", "unit": "micrometer"},
    {"name": "x", "type": "space", "unit": "micrometer"},
]


@cache
def cells(seed, size=260):
    """Non-touching ellipses on a grid, with noise."""
    rng, image = np.random.default_rng(seed), np.zeros((size, size + 20))
    rows, columns = np.indices(image.shape)
    for row in range(16, size, 26):
        for column in range(16, size + 20, 26):
            a, b = rng.uniform(5, 10, 2)
            image[((rows - row) / a) ** 2 + ((columns - column) / b) ** 2 < 1] = 90
    return (image + rng.normal(60, 6, image.shape)).clip(0, 255).astype(np.uint8)


def write_zarr(path, array, side=64):
    group = zarr.open_group(str(path), mode="w", zarr_format=2)
    group.create_array("0", data=array, chunks=(*(1,) * (array.ndim - 2), side, side))
    sizes = [{"type": "scale", "scale": [1.0] * (array.ndim - 2) + [0.5, 0.5]}]
    scales = {"version": "0.4", "axes": AXES[-array.ndim :]}
    group.attrs["multiscales"] = [{**scales, "datasets": [{"path": "0", "coordinateTransformations": sizes}]}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place, size = tmp_path_factory.mktemp("large"), {"PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5}
    tifffile.imwrite(place / "stack.ome.tif", np.stack([cells(1), cells(2)]), metadata={"axes": "ZYX", **size})
    tifffile.imwrite(place / "colors.tif", np.repeat(cells(1)[..., None], 3, axis=2), photometric="rgb")
    write_zarr(place / "stack.ome.zarr", np.stack([cells(1), cells(2)])[:, None])
    return place


@pytest.mark.parametrize("ending", ["tif", "zarr"])
def test_a_plane_that_fits_into_memory_is_segmented_whole(tmp_path, ending):
    path, memory = tmp_path / f"stack.ome.{ending}", 0.006  # 0.005 for the plane, 0.008 for the stack
    stack = np.stack([cells(1), *[cells(2)] * 39])
    if ending == "tif":
        tifffile.imwrite(path, stack, metadata={"axes": "ZYX", "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5})
    else:
        write_zarr(path, stack[:, None], side=260)
    settings = SettingsFile(outlines=Outlines(method="li"))
    for part in (ImagePart(plane=(0,)), ImagePart(plane=(0,), region=(10, 250, 0, 200))):
        whole = ensemble_of_file(path, Reading(settings), part)
        found = ensemble_of_file(path, Reading(settings, memory=memory), part)
        assert found.to_dataframe().equals(whole.to_dataframe())
        np.testing.assert_array_equal(found.vertices, whole.vertices)
        assert (found.name, found.unit, found.pixel_size) == (whole.name, "µm", (0.5, 0.5))
    with pytest.raises(ValueError, match=REMEDY):
        ensemble_of_file(path, Reading(settings, memory=LITTLE), ImagePart(plane=(0,)))


def test_only_the_needed_part_of_a_single_strip_tiff_is_read(tmp_path):
    image, path = np.arange(1 << 22, dtype=np.uint16).reshape(2048, 2048), tmp_path / "x.tif"
    tifffile.imwrite(path, image.astype(">u2"), byteorder=">")
    array = lazy_labels(path, labels=True, memory=LITTLE).array
    tracemalloc.start()
    part = array[1000:1010, 20:50]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(part, image[1000:1010, 20:50])
    assert most < image.nbytes / 4


def test_large_labels_are_read_by_tile(tmp_path):
    labels = np.kron(np.arange(1, 37).reshape(6, 6), np.pad(np.ones((30, 30), np.uint8), 6)).astype(np.uint16)
    tifffile.imwrite(tmp_path / "x.tif", labels)
    with pytest.raises(ValueError, match=REMEDY):
        ensemble_of_file(tmp_path / "x.tif", Reading(memory=LITTLE))
    assert len(ensemble_of_file(tmp_path / "x.tif", Reading(memory=LITTLE, labels=True))) == 36
    write_ome_zarr_labels(tmp_path / "x.ome.zarr", labels, Calibration((0.5, 0.5), "µm"))
    assert len(ensemble_of_file(tmp_path / "x.ome.zarr", Reading(memory=LITTLE))) == 36
    done = run("segment", tmp_path / "x.tif", "--labels", "--memory", str(LITTLE), "--out", tmp_path / "out")
    assert done.exit_code == 0, done.stderr
    assert "larger than memory, so no labels are written" in done.stdout
    assert len(read_curves(tmp_path / "out" / "x.curves.csv").ensemble) == 36


@pytest.mark.parametrize("name", ["stack.ome.tif", "stack.ome.zarr"])
def test_a_large_stack_needs_a_plane(folder, name):
    with pytest.raises(ValueError, match=r"\(2, 260, 280\): save one plane.* a column plane selects a plane"):
        ensemble_of_file(folder / name, Reading(memory=LITTLE))
    with pytest.raises(ValueError, match="has no plane 2: it is a stack of 2 planes"):
        ensemble_of_file(folder / name, Reading(memory=LITTLE), ImagePart(plane=(2,)))


def test_the_command_line_reports_the_remedy(folder):
    done = run("compare", folder / "colors.tif", folder / "colors.tif", "--memory", str(LITTLE))
    assert done.exit_code == 2
    assert re.search(r"colors\.tif: " + REMEDY, done.stderr)
