"""Parts of one image as rows of a design: planes of a stack, regions, classes of a mask."""

import shutil

import imageio.v3 as iio
import numpy as np
import pandas as pd
import pytest
import tifffile

from napari_shape_ensembles import Ensemble
from napari_shape_ensembles.io import CurveTable, read_image, write_curves
from napari_shape_ensembles.io.design import read_design
from napari_shape_ensembles.io.image_parts import WHOLE, ImagePart
from napari_shape_ensembles.io.sources import Reading, ensemble_of_file
from napari_shape_ensembles.outlines.reasons import AT_BORDER

GRID = np.arange(12, 120, 24)


def squares(half, value=1):
    """Twenty-five squares of 2·half pixels side length."""
    plane = np.zeros((128, 128), dtype=np.uint8)
    for row in GRID:
        for column in GRID:
            plane[row - half : row + half, column - half : column + half] = value
    return plane


@pytest.fixture
def folder(tmp_path):
    """A stack of two time points, and a mask with class 1 in its left half and class 2 in its right half."""
    tifffile.imwrite(tmp_path / "stack.tif", np.stack([squares(5), squares(8)]), photometric="minisblack")
    classes = squares(6)
    classes[:, 72:] *= 2
    iio.imwrite(tmp_path / "phases.png", classes)
    return tmp_path


def rows(folder, text):
    (folder / "design.csv").write_text(text, encoding="utf-8")
    paths, table, parts, _ = read_design(folder / "design.csv")
    return paths, parts, table


def ensembles(folder, text, **reading):
    paths, parts, _ = rows(folder, text)
    return [ensemble_of_file(path, Reading(**reading), part) for path, part in zip(paths, parts, strict=True)]


def test_time_points_of_a_stack_are_rows(folder):
    text = "image,plane,group,time\nstack.tif,0,before,0\nstack.tif,1,after,30\n"
    before, after = ensembles(folder, text)
    assert (before.name, after.name) == ("stack plane 0", "stack plane 1")
    assert (len(before), len(after)) == (25, 25)
    assert after.features["area"].mean() > 2 * before.features["area"].mean()
    _, _, table = rows(folder, text)
    assert table.to_dict("list") == {"group": ["before", "after"], "time": [0, 30], "replicate": ["stack", "stack"]}


def test_classes_of_a_mask_are_rows(folder):
    one, other, both = ensembles(folder, "image,class,group\nphases.png,1,a\nphases.png,2,b\nphases.png,,all\n")
    assert (len(one), len(other), len(both)) == (15, 10, 25)
    assert one.name == "phases class 1"


def test_regions_are_rows_and_cut_objects_touch_the_border(folder):
    text = 'image,region,group\nphases.png,"0:128, 0:72",a\nphases.png,0:128 72:128,b\nphases.png,"0:12, 0:128",c\n'
    left, right, cut = ensembles(folder, text, labels=True)
    assert (len(left), len(right), len(cut)) == (15, 10, 0)
    assert sum(cut.dropped.values()) == 5
    assert left.name == "phases region 0:128, 0:72"


def test_a_polygon_is_a_region(folder):
    text = 'image,region,group\nphases.png,"POLYGON ((-1 -1, 71 -1, 71 71, -1 71, -1 -1))",a\nphases.png,,b\n'
    part, whole = ensembles(folder, text, labels=True)
    assert part.name == "phases region within -1:72, -1:72"
    assert len(part) == sum(curve.max() < 71 for curve in whole.curves) == 9
    cut = 'image,region,group\nphases.png,"POLYGON ((-1 -1, 84 -1, 84 71, -1 71, -1 -1))",a\n'
    (part,) = ensembles(folder, cut, labels=True)
    assert (len(part), part.dropped) == (9, {AT_BORDER: 3})


def test_curves_of_one_class_are_rows(folder):
    squares = Ensemble([np.array([[0, 0], [0, 4], [4, 4], [4, 0]]) + 9 * i for i in range(6)])
    kinds = pd.DataFrame({"kind": list("ababab"), "stage": [1, 2, 1, 2, 2, 2]})
    write_curves(folder / "cells.csv", CurveTable(squares, kinds))
    one, other = ensembles(folder, "image,feature,group\ncells.csv,kind = a,x\ncells.csv,stage=2,y\n")
    assert (one.name, len(one), other.name, len(other)) == ("cells kind = a", 3, "cells stage = 2", 4)
    for cell, words in (
        ("kind = c", "no curve has kind = c: the values are a, b"),
        ("x = 1", "no feature 'x'; the features are kind"),
    ):
        with pytest.raises(ValueError, match=words):
            ensembles(folder, f"image,feature,group\ncells.csv,{cell},x\n")
    with pytest.raises(ValueError, match="an image has no features"):
        ensembles(folder, "image,feature,group\nphases.png,kind = a,x\n")


@pytest.mark.usefixtures("orix")
def test_phases_of_a_map_are_rows(tmp_path, real_data):
    shutil.copy(real_data / "ebsd_sdss" / "sdss_ferrite_austenite.ang.gz", tmp_path / "steel.ang.gz")
    text = "image,phase,group\nsteel.ang.gz,{},a\nsteel.ang.gz,2,b\nsteel.ang.gz,,c\n"
    with pytest.raises(ValueError, match=r"no phase sigma: the map holds 1 \(aus.*\), 2 \(fer.*\)") as error:
        ensembles(tmp_path, text.format("sigma"))
    name = str(error.value).split("holds 1 (")[1].split(")")[0]
    one, other, whole = ensembles(tmp_path, text.format(name))
    assert len(one) + len(other) == len(whole)
    assert min(len(one), len(other)) > 5


def test_a_phase_of_an_image_is_a_factor(folder):
    _, parts, table = rows(folder, "image,phase,group\nphases.png,liquid,a\nstack.tif,solid,b\n")
    assert set(parts) == {WHOLE}
    assert "phase" in table


def test_planes_of_two_axes_and_color_planes_are_read(tmp_path):
    stack = np.arange(2 * 3 * 8 * 9, dtype=np.uint16).reshape(2, 3, 8, 9)
    np.save(tmp_path / "stack.npy", stack)
    assert (read_image(tmp_path / "stack.npy", plane=(1, 2)).pixels == stack[1, 2]).all()
    colours = np.zeros((2, 8, 9, 3), dtype=np.uint8)
    np.save(tmp_path / "colours.npy", colours)
    assert read_image(tmp_path / "colours.npy", plane=(1,)).pixels.shape == (8, 9, 3)
    np.save(tmp_path / "four.npy", np.concatenate([stack, stack]))
    with pytest.raises(ValueError, match=r"no plane 5,0: it is a stack of 2 × 3 planes, counted from 0"):
        read_image(tmp_path / "stack.npy", plane=(5, 0))
    with pytest.raises(ValueError, match="a column plane selects a plane"):
        read_image(tmp_path / "four.npy")


def test_regions_and_classes_as_text_are_factors(folder):
    text = "image,region,class,group\nstack.tif,cortex,mild,a\nphases.png,stem,severe,b\n"
    _, parts, table = rows(folder, text)
    assert set(parts) == {WHOLE}
    assert list(table.columns) == ["region", "class", "group"]


def test_a_named_replicate_is_kept(folder):
    text = "image,plane,group,replicate\nstack.tif,0,a,m1\nstack.tif,1,a,m2\n"
    assert rows(folder, text)[2]["replicate"].tolist() == ["m1", "m2"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("image,plane\nstack.tif,first\n", "row 1 has plane 'first': give integers from 0"),
        ("image,plane\nstack.tif,-1\n", "row 1 has plane '-1'"),
        ("image,plane\nstack.tif,0.5\n", "row 1 has plane '0.5'"),
        ("image,plane\nstack.tif,7\n", "stack.tif: .*no plane 7: it is a stack of 2 planes, counted from 0"),
        ("image,plane\nphases.png,0\n", "phases.png: .*no plane 0: it is not a stack"),
        ("image,region\nphases.png,9:3 0:5\n", "row 1 has region '9:3 0:5': give top:bottom, left:right"),
        ("image,region\nphases.png,0:500 0:5\n", "phases.png: region 0:500, 0:5 reaches beyond its 128 × 128"),
        ('image,region\nphases.png,"POLYGON ((0 0, 9 9))"\n', "row 1 has region 'POLYGON .* is not a polygon"),
        (
            'image,region\nphases.png,"POLYGON ((500 500, 600 500, 600 600, 500 500))"\n',
            "the region lies outside its 128",
        ),
        ("image,feature\nphases.png,= 3\n", "row 1 has feature '= 3': give a name and a value"),
        ("image,class\nphases.png,0\n", "row 1 has class '0': give an integer above 0"),
        ("image,class\nphases.png,3\n", "phases.png: there is no class 3: the classes are 1, 2"),
        ("image,plane,group\nstack.tif,1,a\nstack.tif,1,b\n", "stack.tif plane 1 is in more than one row"),
        (
            "image,region,group\nstack.tif,cortex,a\nstack.tif,stem,b\n",
            "stack.tif is in more than one row: .*distinguish its parts by a column",
        ),
    ],
)
def test_missing_parts_are_reported(folder, text, words):
    with pytest.raises(ValueError, match=words):
        ensembles(folder, text, labels=True)


def test_files_of_curves_have_no_parts(folder):
    pd.DataFrame({"curve": 0, "x": [0, 4, 4, 0], "y": [0, 0, 3, 3]}).to_csv(folder / "curves.csv", index=False)
    with pytest.raises(ValueError, match=r"curves\.csv: holds curves, so there is no class 2"):
        ensemble_of_file(folder / "curves.csv", Reading(), ImagePart(value=2))
