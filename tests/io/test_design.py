"""Design tables: pixel sizes per image, and reading."""

import imageio.v3 as iio
import numpy as np
import pytest

from napari_shape_ensembles.comparison.design import checked_design
from napari_shape_ensembles.io.design import read_design
from napari_shape_ensembles.io.sources import Reading, ensemble_of_file


@pytest.fixture
def images(tmp_path):
    """Two label images, each with one square of 20 × 20 pixels."""
    for name in ("fine", "coarse"):
        labels = np.zeros((40, 40), dtype=np.uint8)
        labels[10:30, 10:30] = 1
        iio.imwrite(tmp_path / f"{name}.png", labels)
    return tmp_path


def written(folder, text):
    (folder / "design.csv").write_text(text, encoding="utf-8")
    _, table, _, sizes = read_design(folder / "design.csv")
    return sizes, table


def test_each_image_has_the_pixel_size_of_its_row(images):
    sizes, table = written(images, "image,group,pixel_size,unit\nfine.png,a,0.5,µm\ncoarse.png,b,2,µm\n")
    assert list(table.columns) == ["group"]
    reading = Reading(labels=True, pixel_sizes=sizes)
    fine, coarse = (ensemble_of_file(images / f"{name}.png", reading) for name in ("fine", "coarse"))
    assert (fine.unit, coarse.unit) == ("µm", "µm")
    assert coarse.features["area"][0] == pytest.approx(16 * fine.features["area"][0], rel=1e-6)


def test_pixels_may_be_anisotropic(images):
    sizes, _ = written(images, "image,group,pixel_size,unit\nfine.png,a,0.5 × 0.25,µm\ncoarse.png,b,2,µm\n")
    assert sizes[(images / "fine.png").resolve()] == ((0.5, 0.25), "µm")
    found = ensemble_of_file(images / "fine.png", Reading(labels=True, pixel_sizes=sizes))
    np.testing.assert_allclose(np.ptp(found.curves[0], axis=0), (10, 5), rtol=0.02)


def test_pixel_sizes_may_have_decimal_commas(images):
    sizes, _ = written(images, "image;group;pixel_size;unit\nfine.png;a;0,5;µm\ncoarse.png;b;2,5 × 1,25;µm\n")
    assert list(sizes.values()) == [(0.5, "µm"), ((2.5, 1.25), "µm")]


def test_groups_may_be_named_none_or_null(images):
    """A control group without treatment or a knock-out, not missing values."""
    _, table = written(images, "image,group,genotype,dose\nfine.png,None,null,0\ncoarse.png,null,wt,1.5\n")
    assert table.to_dict("list") == {"group": ["None", "null"], "genotype": ["null", "wt"], "dose": [0, 1.5]}
    assert checked_design(table, 2).groups == ("None", "null")
    _, table = written(images, "image,group,dose\nfine.png,None,null\ncoarse.png,1,1.5\n")
    assert table["group"].tolist() == ["None", "1"]
    assert table["dose"].isna().tolist() == [True, False]
    with pytest.raises(ValueError, match="'dose' of the design is empty in row 1"):
        checked_design(table, 2)
    with pytest.raises(ValueError, match="'group' of the design is empty in row 2"):
        checked_design(written(images, "image,group\nfine.png,a\ncoarse.png,NA\n")[1], 2)


def test_names_of_digits_are_kept_as_text(images):
    """As in the window: dishes 01 and 1 are distinct, and replicate 01 is not renamed in the results."""
    _, table = written(images, "image,Group,replicate,block,dose\nfine.png,007,01,1,01\ncoarse.png,7,1,1,2\n")
    assert table[["group", "replicate"]].to_numpy().tolist() == [["007", "01"], ["7", "1"]]
    assert checked_design(table, 2).groups == ("007", "7")
    assert checked_design(table, 2).replicates["dose"].tolist() == [1, 2]


def test_a_folder_instead_of_a_table_is_rejected_with_the_remedy(tmp_path):
    with pytest.raises(ValueError, match=r"is a folder: give a table of its images, or .* \(--pattern\)"):
        read_design(tmp_path)


def test_a_row_without_pixel_size_uses_that_of_the_image(images):
    sizes, _ = written(images, "image,group,pixel_size,unit\nfine.png,a,0.5,µm\ncoarse.png,b,,\n")
    assert [path.name for path in sizes] == ["fine.png"]
    assert ensemble_of_file(images / "coarse.png", Reading(labels=True, pixel_sizes=sizes)).unit == "pixel"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("image,pixel_size\nfine.png,1\n", "no column unit"),
        ("image,pixel_size,unit\nfine.png,-1,µm\n", "not a size with a unit"),
        ("image,pixel_size,unit\nfine.png,1,\n", "not a size with a unit"),
        ("image,pixel_size,unit\nfine.png,small,µm\n", "not a size with a unit"),
        ("image,pixel_size,unit\nfine.png,1,s\n", 'fine.png: unit must be "pixel" or a unit of length .*, not "s"'),
    ],
)
def test_invalid_pixel_sizes_are_rejected(images, rows, words):
    with pytest.raises(ValueError, match=words):
        written(images, rows)


def test_a_table_without_pixel_sizes_is_unchanged(images):
    sizes, table = written(images, "image,unit\nfine.png,a\n")
    assert sizes == {}
    assert list(table.columns) == ["unit"]


@pytest.mark.parametrize("encoded", ["utf-8-sig", "cp1252", "utf-16"])
def test_a_table_saved_by_excel_is_read(tmp_path, encoded):
    names = [f"{number:03d}" for number in range(4)]
    for name in names:
        (tmp_path / name).touch()
    groups = ["témoin", "traité"] * 2
    rows = [f"{name};{group};{number},5" for number, (name, group) in enumerate(zip(names, groups, strict=True))]
    lines = ["sep=;", "Image;Group;Dose", *rows, ";;", ";;", ""]
    (tmp_path / "design.csv").write_bytes("\r\n".join(lines).encode(encoded))
    paths, table, *_ = read_design(tmp_path / "design.csv")
    assert [path.name for path in paths] == names
    assert table["group"].tolist() == groups
    assert checked_design(table, 4).column("Dose")[:, 0].tolist() == [0.5, 1.5, 2.5, 3.5]
