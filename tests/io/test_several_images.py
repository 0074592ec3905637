"""Files of several images: the positions of a TIFF, and the scenes of a microscope's own format."""

import sys
import uuid
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import tifffile

from command_line import run
from napari_shape_ensembles import Outlines
from napari_shape_ensembles.io import read_curves, read_experiment, read_image
from napari_shape_ensembles.io.settings_file import SettingsFile
from napari_shape_ensembles.io.sources import Reading, ensemble_of_file, files_of, with_one_recipe

ROWS, COLUMNS = np.indices((60, 120))


def field(*radii):
    """Labels of discs of these radii."""
    plane = np.zeros(ROWS.shape, np.uint8)
    for number, radius in enumerate(radii):
        plane[np.hypot(ROWS - 30, COLUMNS - 20 - 40 * number) < radius] = number + 1
    return plane


FIELDS = [field(10, 12, 14), field(9, 13), field(8, 8, 8)]


@pytest.fixture
def positions(tmp_path):
    path = tmp_path / "x.ome.tif"
    with tifffile.TiffWriter(path, ome=True) as writer:
        for number, plane in enumerate(FIELDS):
            size = 0.5 * (number + 1)
            writer.write(plane, metadata={"PhysicalSizeX": size, "PhysicalSizeY": size})
    return path


def test_all_positions_of_a_tiff_are_read_each_with_its_pixel_size(positions):
    found = ensemble_of_file(positions, Reading())
    assert len(found) == 8
    assert dict(zip(*np.unique(found.images, return_counts=True), strict=True)) == {
        "x plane 0": 3, "x plane 1": 2, "x plane 2": 3,
    }  # fmt: skip
    diameters = found.features["equivalent_diameter"].to_numpy()
    np.testing.assert_allclose(diameters, np.array([10, 12, 14, 18, 26, 24, 24, 24]), rtol=0.03)
    assert read_image(positions, plane=(1,)).pixels.tolist() == FIELDS[1].tolist()
    with pytest.raises(ValueError, match=r"x\.ome\.tif: holds 3 images, .* column plane selects one"):
        read_image(positions)
    with pytest.raises(ValueError, match="has no image 3: it holds 3, counted from 0"):
        read_image(positions, plane=(3,))


def test_a_column_plane_chooses_a_position_and_segment_writes_each(positions, tmp_path):
    pd.DataFrame({"image": [positions.name] * 3, "plane": [0, 1, 2], "group": list("aab")}).to_csv(
        tmp_path / "design.csv", index=False
    )
    ensembles, _ = read_experiment(tmp_path / "design.csv")
    assert [len(one) for one in ensembles] == [3, 2, 3]
    assert run("segment", positions, "--out", tmp_path / "out").exit_code == 0
    tables = [read_curves(tmp_path / "out" / f"x plane {number}.curves.csv") for number in range(3)]
    assert [len(one.ensemble) for one in tables] == [3, 2, 3]
    np.testing.assert_allclose([one.scale[0] for one in tables], [0.5, 1, 1.5])
    labels = read_image(tmp_path / "out" / "x plane 2.labels.ome.tif")
    assert (labels.pixels > 0).sum() == (FIELDS[2] > 0).sum()


def test_a_slide_is_not_pooled_with_its_thumbnail(tmp_path):
    with tifffile.TiffWriter(tmp_path / "x.tif") as writer:
        writer.write(FIELDS[0][::4, ::4])
        writer.write(FIELDS[0])
    with pytest.raises(ValueError, match="holds 2 images"):
        ensemble_of_file(tmp_path / "x.tif", Reading())
    assert len(read_image(tmp_path / "x.tif", plane=(1,)).pixels) == 60


def test_the_files_of_one_ome_tiff_hold_an_image_each(tmp_path):
    names = [f"{letter}.ome.tif" for letter in "ab"]
    ids = [f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_DNS, name)}" for name in names]
    pixels = "".join(
        f'<Image ID="Image:{number}"><Pixels ID="Pixels:{number}" DimensionOrder="XYZCT" Type="uint8" SizeX="120" '
        'SizeY="60" SizeZ="1" SizeC="1" SizeT="1"><TiffData IFD="0" PlaneCount="1">'
        f'<UUID FileName="{name}">{own}</UUID></TiffData></Pixels></Image>'
        for number, (name, own) in enumerate(zip(names, ids, strict=True))
    )
    for name, own, plane in zip(names, ids, FIELDS, strict=False):
        text = f'<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" UUID="{own}">{pixels}</OME>'
        tifffile.imwrite(tmp_path / name, plane, description=text, metadata=None)
    assert [len(ensemble_of_file(tmp_path / name, Reading())) for name in names] == [3, 2]


class Scenes:
    """The part of bioio.BioImage that is used."""

    def __init__(self, path):
        if path.suffix == ".lif":
            raise type("UnsupportedFileFormatError", (Exception,), {})("no reader")
        self.scenes, self._scene = ("P1", "P2", "P3"), 0
        self.physical_pixel_sizes = SimpleNamespace(Z=None, Y=0.5, X=0.25)

    def set_scene(self, scene):
        self._scene = scene

    @property
    def dask_data(self):
        return np.stack([FIELDS[self._scene], 0 * FIELDS[0]])[None, :, None]  # T, C, Z, rows, columns


def test_formats_of_microscopes_are_read_through_bioio(tmp_path, monkeypatch):
    for name in ("x.czi", "x.lif"):
        (tmp_path / name).write_bytes(b"content")
    monkeypatch.setitem(sys.modules, "bioio", None)
    with pytest.raises(ValueError, match=r'x\.czi: .* needs bioio: pip install "napari-shape-ensembles\[bioio\]"'):
        ensemble_of_file(tmp_path / "x.czi", Reading())
    done = run("compare", tmp_path / "x.czi", tmp_path / "x.lif")
    assert (done.exit_code, "pip install" in done.stderr) == (2, True)

    fake = ModuleType("bioio")
    fake.BioImage = Scenes
    monkeypatch.setitem(sys.modules, "bioio", fake)
    image = read_image(tmp_path / "x.czi", plane=(1, 0))
    assert (image.pixels == FIELDS[1]).all()
    assert (image.calibration.scale, image.calibration.unit) == ((0.5, 0.25), "µm")
    with pytest.raises(ValueError, match=r"x\.czi: holds an image of shape"):  # two channels
        ensemble_of_file(tmp_path / "x.czi", Reading())
    with pytest.raises(ValueError, match=r"no reader of x\.lif: pip install .*\[bioio\]"):
        read_image(tmp_path / "x.lif")
    pd.DataFrame({"image": ["x.czi"] * 3, "plane": ["0,0", "1,0", "2,0"]}).to_csv(tmp_path / "d.csv", index=False)
    assert [len(one) for one in read_experiment(tmp_path / "d.csv")[0]] == [3, 2, 3]


def test_scan_modes_that_bioio_cannot_read_are_not_called_damaged(tmp_path, monkeypatch):
    """As bioio-lif raises for real files of wavelength and xz scans."""

    class Unreadable:
        shape, ndim, dtype = (1, 60, 80), 3, np.dtype(np.uint8)

        def __getitem__(self, place):
            raise KeyError("cannot select frame dimension 'Z'")

    fake = ModuleType("bioio")
    fake.BioImage = type("Mode", (Scenes,), {"dask_data": Unreadable()})
    monkeypatch.setitem(sys.modules, "bioio", fake)
    (tmp_path / "x.czi").write_bytes(b"content")
    with pytest.raises(ValueError, match=r"x\.czi: bioio cannot read its pixels .*: export the image as TIFF"):
        read_image(tmp_path / "x.czi", plane=(1,))


def test_images_of_a_microscope_beside_others_in_a_folder_are_left_out(tmp_path):
    said = []
    (tmp_path / "x.czi").write_bytes(b"content")
    assert files_of(tmp_path, groups=True) == [tmp_path / "x.czi"]
    tifffile.imwrite(tmp_path / "x_exported.tif", FIELDS[0])
    assert files_of(tmp_path, groups=True, tell=said.append) == [tmp_path / "x_exported.tif"]
    assert "x.czi left out" in said[0]


def test_outlines_of_images_of_related_names_are_not_left_out_unsaid(tmp_path):
    for name in ("slide.tif", "slide.curves.csv", "slide.labels.ome.tif"):
        (tmp_path / name).write_bytes(b"content")
    said = []
    assert files_of(tmp_path, groups=True, tell=said.append) == [tmp_path / "slide.tif"]
    assert not said  # made of this image by `segment`
    (tmp_path / "slide_roi_1.curves.csv").write_bytes(b"content")
    assert files_of(tmp_path, groups=True, tell=said.append) == [tmp_path / "slide.tif"]
    assert "left out (slide_roi_1.curves.csv)" in said[0]


def test_one_recipe_is_found_for_all_positions(tmp_path):
    generator = np.random.default_rng(0)
    grey = [(60 + 100 * (plane > 0) + generator.normal(0, 5, plane.shape)).astype(np.uint8) for plane in FIELDS]
    with tifffile.TiffWriter(tmp_path / "x.ome.tif", ome=True) as writer:
        for plane in grey:
            writer.write(plane)
    said = []
    reading = Reading(SettingsFile(outlines=Outlines(method="auto")), tell=said.append)
    with_one_recipe([tmp_path / "x.ome.tif"], reading)
    assert "tried on 3 images" in said[0]
