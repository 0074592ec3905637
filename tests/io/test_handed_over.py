"""Files as people hand them over: what is read of each, or the words with which it is refused."""

import pytest

from napari_shape_ensembles import Settings, compare
from napari_shape_ensembles.io.sources import Reading, files_of, read_images

# Of each case, for the files of both samples: the numbers of outlines, the unit, and what else is there to see.
READ = {
    "s02-{}.csv": ((60, 60), "pixel", "holds outlines of 3 frames: each counts as an image of its own"),
    "s03-{}.zip": ((20, 20), "pixel", "shows the same objects in 3 frames: those of frame 1 are used"),
    "s07-{}.png": ((30, 30), "pixel", "holds labels and is not segmented"),
    "s11-{}.ctf.gz": ((41, 35), "µm", "31 left out: touching the image border"),
    "s12-{}.json": ((20, 20), "pixel", "12 left out: open"),
    "s14-{}.ome.tif": ((40, 40), "pixel", "of 2 images, pooled"),
    "s15-{}.geoparquet": ((20, 20), "m", ""),
    "s16-{}.zip": ((20, 20), "pixel", "6 left out: not a polygon"),
    "s17-{}.tif": ((30, 30), "pixel", "class 2, which surrounds them, is taken as background"),
    "s18-{}.tif": ((20, 20), "µm", ""),
    "s19-{}.geojson": ((20, 20), "pixel", "20 left out: nuclei of cells"),
    "s20-{}.csv": ((20, 20), "pixel", ""),
    "s21-{}.json": ((20, 20), "pixel", ""),
    "r01-{}.tif": ((20, 20), "pixel", ""),
    "r02-{}.zip": ((20, 20), "pixel", ""),
    "r04-{}.csv": ((20, 20), "pixel", ""),
    "r04-{}.ctf": ((5, 6), "µm", "8 left out: touching the image border"),
    "r05-{}.curves.csv": ((4, 4), "um", ""),
    "r07-{}.png": ((20, 20), "pixel", ""),
    "r08-{}.tif": ((20, 20), "pixel", ""),
    "r10-{}.ctf": ((5, 6), "µm", "8 left out: touching the image border"),
    "r11-{}.parquet": ((20, 20), "pixel", ""),
    "r15-upper-{}.csv": ((20, 20), "pixel", ""),
    "r15-vertex-{}.csv": ((20, 20), "pixel", ""),
    "m01-{}.json": ((20, 20), "pixel", ""),
    "m02-{}_cp_outlines.txt": ((20, 20), "pixel", ""),
    "m03-{}.json": ((20, 20), "pixel", ""),
}
REFUSED = {
    "s08-{}.csv": "cross themselves everywhere: their vertices do not follow the outline. Sort them",
    "s09-{}.csv": r"curves in space \(column z\): save them in one plane, or remove the column",
    "s13-{}.tps": r"5 of 20 specimens have no SCALE: .*: give the SCALE of each, or of none",
    "r13-{}.tps": r"specimen .0: SCALE= has no number: correct it, or remove the line",
}


@pytest.fixture(scope="module")
def files(shared_data):
    return shared_data / "../cases/files"


@pytest.mark.parametrize("name", READ)
def test_a_file_is_read(files, name, request):
    if ".ctf" in name:
        request.getfixturevalue("orix")
    numbers, unit, words = READ[name]
    said = []
    found, _ = read_images([files / name.format(side) for side in "ab"], Reading(tell=said.append))
    assert (tuple(map(len, found)), {one.unit for one in found}) == (numbers, {unit})
    assert words in "\n".join(said)


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("side", "ab")
def test_a_file_is_refused_with_the_remedy(files, name, side):
    path = files / name.format(side)
    with pytest.raises(ValueError, match=f"^{path.name}: .*{REFUSED[name]}"):
        read_images([path], Reading())


def test_images_beside_their_outlines_count_once(files):
    said = []
    for group in ("ctl", "trt"):
        paths = files_of(files / "s04" / group, groups=True, tell=said.append)
        assert [path.suffix for path in paths] == [".png"] * 6
    assert all("img0.zip" in words for words in said)


@pytest.mark.parametrize(
    ("names", "settings", "differs"),
    [
        (("s05-a-subpixel.csv", "s05-b-whole.csv"), Settings(), "nothing"),
        (("s06-a.png", "s06-b.png"), Settings(), "scale"),
        (("s10-right.csv", "s10-left.csv"), Settings(reflections=False), "form"),
    ],
)
def test_a_pair_differs_as_its_objects_do(files, names, settings, differs):
    found, _ = read_images([files / name for name in names], Reading())
    assert compare(*found, settings).differs == differs
