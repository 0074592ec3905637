"""Corrected labels are saved as they came."""

import numpy as np
import pandas as pd
import pytest
import tifffile

from napari_shape_ensembles.inspection import CorrectedLabels
from napari_shape_ensembles.io import read_calibration, read_image, save_corrected


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
def test_type_and_values_stay_and_the_log_lies_beside(tmp_path, name, dtype):
    found = corrected(dtype)
    path, log = save_corrected(tmp_path / name, found)
    pixels = read_image(path).pixels
    assert pixels.dtype == dtype
    np.testing.assert_array_equal(pixels, found.labels)
    assert log.name == "a.log.csv"
    assert pd.read_csv(log)[["action", "label", "by"]].to_numpy().tolist() == [["delete", 3, "Ada"]]


@pytest.mark.parametrize("kind", [{"ome": True}, {"imagej": True}])
def test_the_size_of_a_pixel_stays(tmp_path, kind):
    found, path = corrected(np.uint16), tmp_path / "came.tif"
    if "ome" in kind:
        size = {"PhysicalSizeX": 0.25, "PhysicalSizeXUnit": "nm", "PhysicalSizeY": 0.5, "PhysicalSizeYUnit": "nm"}
        tifffile.imwrite(path, found.original, ome=True, metadata={"axes": "YX", **size})
    else:
        tifffile.imwrite(path, found.original, imagej=True, resolution=(4, 2), metadata={"unit": "nm"})
    saved, _ = save_corrected(tmp_path / "went.tif", found, original=path)
    came, went = read_calibration(path), read_calibration(saved)
    assert (went.scale, went.unit) == (came.scale, came.unit) == ((0.5, 0.25), "nm")
    with pytest.raises(ValueError, match="cannot hold the size of a pixel"):
        save_corrected(tmp_path / "went.png", found, original=path)


def test_what_a_format_cannot_hold_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not int32"):
        save_corrected(tmp_path / "a.png", corrected(np.int32))
    with pytest.raises(ValueError, match="written as"):
        save_corrected(tmp_path / "a.jpg", corrected(np.uint8))
