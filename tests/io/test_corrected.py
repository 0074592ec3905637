"""Corrected labels are saved in the format of the original."""

import numpy as np
import pandas as pd
import pytest
import tifffile

from napari_shape_ensembles.inspection import CorrectedLabels
from napari_shape_ensembles.inspection.correcting import CorrectedStack
from napari_shape_ensembles.io import Calibration, read_calibration, read_image, read_log, save_corrected
from napari_shape_ensembles.io.calibration import StackAxes, read_axes


def corrected(dtype):
    labels = np.zeros((30, 40), dtype)
    labels[5:25, 5:20], labels[5:25, 25:35] = 3, 200
    found = CorrectedLabels(labels, by="Ada")
    found.delete(3)
    return found


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("a.png", np.uint8), ("a.png", np.uint16), ("a.npy", np.int64), ("a.tif", np.int32), ("a.ome.tif", np.uint16)],
)
def test_dtype_and_values_are_kept_with_a_log_file(tmp_path, name, dtype):
    found = corrected(dtype)
    path, log = save_corrected(tmp_path / name, found)
    pixels = read_image(path).pixels
    assert pixels.dtype == dtype
    np.testing.assert_array_equal(pixels, found.labels)
    assert log.name == "a.log.csv"
    assert pd.read_csv(log)[["action", "label", "by"]].to_numpy().tolist() == [["delete", 3, "Ada"]]


@pytest.mark.parametrize("kind", [{"ome": True}, {"imagej": True}])
def test_the_pixel_size_is_kept(tmp_path, kind):
    found, path = corrected(np.uint16), tmp_path / "came.tif"
    if "ome" in kind:
        size = {"PhysicalSizeX": 0.25, "PhysicalSizeXUnit": "nm", "PhysicalSizeY": 0.5, "PhysicalSizeYUnit": "nm"}
        tifffile.imwrite(path, found.original, ome=True, metadata={"axes": "YX", **size})
    else:
        tifffile.imwrite(path, found.original, imagej=True, resolution=(4, 2), metadata={"unit": "nm"})
    saved, _ = save_corrected(tmp_path / "went.tif", found, original=path)
    came, went = read_calibration(path), read_calibration(saved)
    assert (went.scale, went.unit) == (came.scale, came.unit) == ((0.5, 0.25), "nm")
    with pytest.raises(ValueError, match="cannot store the pixel size"):
        save_corrected(tmp_path / "went.png", found, original=path)


@pytest.mark.parametrize(("dtype", "narrow"), [(np.int64, np.int32), (np.uint64, np.uint32)])
def test_64_bit_labels_are_saved_with_32_bits_and_pixel_size(tmp_path, dtype, narrow):
    size = Calibration((0.5, 0.25), "nm")
    with pytest.warns(UserWarning, match=f"holds {np.dtype(narrow)} labels, as OME-TIFF cannot hold"):
        saved, _ = save_corrected(tmp_path / "a.tif", found := corrected(dtype), calibration=size)
    image = read_image(saved)
    assert (image.pixels.dtype, image.calibration.scale, image.calibration.unit) == (narrow, (0.5, 0.25), "nm")
    np.testing.assert_array_equal(image.pixels, found.labels)
    found.labels[0, 0] = 2**33
    with pytest.raises(ValueError, match="up to 8589934592"):
        save_corrected(tmp_path / "b.tif", found, calibration=size)


@pytest.mark.parametrize("dtype", [np.uint16, np.int64])
def test_the_print_resolution_is_kept(tmp_path, dtype):
    found, path = corrected(dtype), tmp_path / "came.tif"
    tifffile.imwrite(path, found.original, resolution=(20000, 10000), resolutionunit="CENTIMETER")
    saved, _ = save_corrected(tmp_path / "went.tif", found, original=path)
    with tifffile.TiffFile(saved) as tiff:
        tags = tiff.pages.first.tags
        found = [tags.valueof(name) for name in ("XResolution", "YResolution", "ResolutionUnit")]
    assert found == [(20000, 1), (10000, 1), 3]


def test_labels_a_format_cannot_hold_are_rejected(tmp_path):
    with pytest.raises(ValueError, match="not int32"):
        save_corrected(tmp_path / "a.png", corrected(np.int32))
    with pytest.raises(ValueError, match="be saved as"):
        save_corrected(tmp_path / "a.jpg", corrected(np.uint8))


STATED = {"PhysicalSizeX": 0.25, "PhysicalSizeXUnit": "nm", "PhysicalSizeY": 0.5, "PhysicalSizeYUnit": "nm"}
APART = {"PhysicalSizeZ": 2.0, "PhysicalSizeZUnit": "nm"}
IMAGEJ = {"imagej": True, "resolution": (4, 2)}


def a_stack(dtype=np.uint16, *before):
    labels = np.zeros((*(before or (3,)), 30, 40), dtype)
    labels[..., 5:25, 5:20], labels[..., 5:25, 25:35] = 3, 200
    return labels


@pytest.mark.parametrize(
    ("came", "axes", "steps"),
    [
        ({"ome": True, "metadata": {"axes": "ZYX", **STATED, **APART}}, "ZYX", {"Z": (2.0, "nm")}),
        ({"ome": True, "metadata": {"axes": "TYX", **STATED, "TimeIncrement": 5.0}}, "TYX", {"T": (5.0, "s")}),
        ({**IMAGEJ, "metadata": {"axes": "ZYX", "unit": "nm", "spacing": 2.0}}, "ZYX", {"Z": (2.0, "nm")}),
        ({**IMAGEJ, "metadata": {"axes": "TYX", "unit": "nm", "finterval": 5.0}}, "TYX", {"T": (5.0, "s")}),
    ],
)
def test_a_stack_is_saved_with_axes_and_plane_spacing(tmp_path, came, axes, steps):
    labels, path = a_stack(), tmp_path / "came.tif"
    tifffile.imwrite(path, labels, **came)
    stack = CorrectedStack(labels, by="Ada")
    stack.plane(1).delete(3)
    stack.plane(2).merge(200, 3)
    saved, log = save_corrected(tmp_path / "went.tif", stack, original=path)
    with tifffile.TiffFile(saved) as tiff:
        assert tiff.series[0].axes == axes
        pixels = tiff.asarray()
    assert pixels.dtype == labels.dtype
    np.testing.assert_array_equal(pixels[0], labels[0])
    np.testing.assert_array_equal(pixels[1], np.where(labels[1] == 3, 0, labels[1]))
    np.testing.assert_array_equal(pixels[2] == 200, labels[2] > 0)
    assert read_axes(saved) == read_axes(path) == StackAxes(axes, steps)
    assert (read_calibration(saved).scale, read_calibration(saved).unit) == ((0.5, 0.25), "nm")
    rows = pd.read_csv(log)[["plane", "action", "label", "by"]].to_numpy().tolist()
    assert rows == [["axis 0 = 1", "delete", "3", "Ada"], ["axis 0 = 2", "merge", "3, 200", "Ada"]]


@pytest.mark.parametrize(
    ("name", "dtype", "before", "axes"),
    [("a.npy", np.int64, (2, 3), ""), ("a.tif", np.int64, (3,), "ZYX"), ("a.tif", np.uint8, (2, 3), "TZYX")],
)
def test_a_stack_without_file_has_default_axes(tmp_path, name, dtype, before, axes):
    labels = a_stack(dtype, *before)
    stack = CorrectedStack(labels)
    stack.plane(*(1 for _ in before)).delete(3)
    saved, _ = save_corrected(tmp_path / name, stack, steps={len(before) - 1: (1.0, "pixel")})
    pixels = np.load(saved) if name.endswith("npy") else tifffile.imread(saved)
    assert pixels.dtype == dtype
    np.testing.assert_array_equal(pixels, stack.labels)
    if axes:
        with tifffile.TiffFile(saved) as tiff:
            assert tiff.series[0].axes == axes


def test_a_stack_without_file_with_plane_spacing_in_time_is_a_time_series(tmp_path):
    stack = CorrectedStack(a_stack())
    saved, _ = save_corrected(tmp_path / "a.tif", stack, steps={0: (5.0, "s")})
    assert read_axes(saved) == StackAxes("TYX", {"T": (5.0, "s")})


def test_saving_as_npy_reports_the_loss_of_plane_spacing(tmp_path):
    words = r"a\.npy cannot store the spacing of its planes \(2 nm along Z\): save the stack as \.tif"
    with pytest.warns(UserWarning, match=words):
        save_corrected(tmp_path / "a.npy", CorrectedStack(a_stack()), steps={0: (2.0, "nm")})
    assert (tmp_path / "a.log.csv").is_file()


def test_a_log_is_continued(tmp_path):
    stack = CorrectedStack(a_stack(), by="Ada")
    stack.plane(1).delete(3)
    saved, _ = save_corrected(tmp_path / "a.tif", stack)
    again = CorrectedStack(tifffile.imread(saved), by="Bob")
    again.plane(2).delete(200)
    save_corrected(saved, again, original=saved, earlier=read_log(saved))
    assert read_log(saved)[["plane", "by"]].to_numpy().tolist() == [["axis 0 = 1", "Ada"], ["axis 0 = 2", "Bob"]]
    assert read_log(tmp_path / "none.tif") is None


def test_stacks_a_format_cannot_hold_are_rejected(tmp_path):
    stack = CorrectedStack(a_stack(np.uint8, 1, 1, 1, 3))
    with pytest.raises(ValueError, match="single plane"):
        save_corrected(tmp_path / "a.png", stack)
    with pytest.raises(ValueError, match="up to five axes, not 6"):
        save_corrected(tmp_path / "a.tif", stack)
