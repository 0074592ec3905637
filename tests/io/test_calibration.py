"""Pixel sizes from file metadata, and safe reading of images."""

import struct

import imageio.v3 as imageio
import numpy as np
import pytest
import tifffile
from PIL import Image

from napari_shape_ensembles import Ensemble
from napari_shape_ensembles.io import Calibration, read_calibration, read_image

IMAGE = np.arange(12, dtype=np.uint16).reshape(3, 4)


def tagged(path, tag, content):
    """A TIFF with one private tag, as written by microscope vendors."""
    tifffile.imwrite(path, IMAGE, extratags=[(tag, "s", 0, content, True)], metadata=None)
    return path


def assert_calibrated(path, scale, unit, source):
    found = read_calibration(path)
    np.testing.assert_allclose(found.scale, scale, rtol=1e-6)
    assert (found.unit, found.source) == (unit, source)
    image = read_image(path)
    assert image.calibration == found
    np.testing.assert_array_equal(image.pixels, IMAGE)


@pytest.mark.parametrize(("unit", "expected"), [("µm", "µm"), ("nm", "nm"), ("mm", "mm")])
def test_ome(tmp_path, unit, expected):
    metadata = {"axes": "YX", "PhysicalSizeY": 0.5, "PhysicalSizeYUnit": unit, "PhysicalSizeX": 0.25,
                "PhysicalSizeXUnit": unit}  # fmt: skip
    tifffile.imwrite(tmp_path / "x.ome.tif", IMAGE, metadata=metadata)
    assert_calibrated(tmp_path / "x.ome.tif", (0.5, 0.25), expected, "OME-TIFF")


def test_ome_of_two_units(tmp_path):
    metadata = {"axes": "YX", "PhysicalSizeY": 0.5, "PhysicalSizeYUnit": "µm", "PhysicalSizeX": 250,
                "PhysicalSizeXUnit": "nm"}  # fmt: skip
    tifffile.imwrite(tmp_path / "x.ome.tif", IMAGE, metadata=metadata)
    assert_calibrated(tmp_path / "x.ome.tif", (0.5, 0.25), "µm", "OME-TIFF")


@pytest.mark.parametrize(("unit", "expected"), [("micron", "µm"), ("\\u00B5m", "µm"), ("nm", "nm"), ("inch", "inch")])
def test_imagej(tmp_path, unit, expected):
    tifffile.imwrite(tmp_path / "x.tif", IMAGE, imagej=True, resolution=(4, 2), metadata={"unit": unit, "axes": "YX"})
    assert_calibrated(tmp_path / "x.tif", (0.5, 0.25), expected, "ImageJ TIFF")


def test_fei(tmp_path):
    text = "[Scan]\r\nPixelWidth=2.5e-08\r\nPixelHeight=5e-08\r\n"
    assert_calibrated(tagged(tmp_path / "x.tif", 34682, text), (0.05, 0.025), "µm", "FEI/Thermo Fisher tags")


def test_zeiss(tmp_path):
    text = "0\r\nAP_IMAGE_PIXEL_SIZE\r\nImage Pixel Size = 12.5 nm\r\nAP_WD\r\nWD = 5 mm\r\n"
    assert_calibrated(tagged(tmp_path / "x.tif", 34118, text), (12.5, 12.5), "nm", "Zeiss tags")


def test_tescan(tmp_path):
    text = "[MAIN]\r\nDevice=MIRA\r\nPixelSizeX=1e-08\r\nPixelSizeY=2e-08\r\n"
    assert_calibrated(tagged(tmp_path / "x.tif", 50431, text), (0.02, 0.01), "µm", "Tescan tags")


def test_without_metadata_the_unit_is_pixels(tmp_path):
    tifffile.imwrite(tmp_path / "plain.tif", IMAGE, resolution=(300, 300), resolutionunit="INCH", metadata=None)
    tifffile.imwrite(tmp_path / "pixel.tif", IMAGE, imagej=True, metadata={"unit": "pixel", "axes": "YX"})
    text = "[Scan]\r\nPixelWidth=0\r\nPixelHeight=0\r\n"
    tagged(tmp_path / "zero.tif", 34682, text)
    (tmp_path / "x.png").write_bytes(b"")
    for name in ("plain.tif", "pixel.tif", "zero.tif", "x.png"):
        assert read_calibration(tmp_path / name) == Calibration()


def test_a_unit_other_than_length_is_rejected_with_the_remedy(tmp_path):
    tifffile.imwrite(tmp_path / "x.tif", IMAGE, imagej=True, resolution=(4, 2), metadata={"unit": "sec", "axes": "YX"})
    with pytest.raises(ValueError, match=r'x\.tif: states its pixel size in "sec".*give the pixel size'):
        read_calibration(tmp_path / "x.tif")


def test_a_calibration_is_printable_and_validated():
    assert str(Calibration((0.5, 0.25), "µm", "OME-TIFF")) == "0.5 × 0.25 µm per pixel (OME-TIFF)"
    assert str(Calibration()) == "pixels (not stated)"
    with pytest.raises(ValueError, match="above 0"):
        Calibration((0, 1), "µm")
    with pytest.raises(ValueError, match=r'a unit of length .* not "second"'):
        Calibration((1, 1), "second")


def test_images_of_other_formats_are_read(tmp_path):
    grey = IMAGE.astype(np.uint8)
    for name, image in {"x.png": grey, "x.bmp": grey, "colour.png": np.dstack([grey] * 3)}.items():
        imageio.imwrite(tmp_path / name, image)
        np.testing.assert_array_equal(read_image(tmp_path / name).pixels, image)
    np.save(tmp_path / "x.npy", IMAGE)
    np.testing.assert_array_equal(read_image(tmp_path / "x.npy").pixels, IMAGE)


def test_bad_images_are_rejected_with_their_name(tmp_path):
    tifffile.imwrite(tmp_path / "stack.tif", np.zeros((5, 8, 8), np.uint8))
    with pytest.raises(ValueError, match=r"stack\.tif: holds an image of shape \(5, 8, 8\): save one plane"):
        read_image(tmp_path / "stack.tif")
    np.save(tmp_path / "odd.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"odd\.npy: holds Python objects, .*: export the masks or the image as PNG"):
        read_image(tmp_path / "odd.npy")
    for name, content in {"x.tif": b"II*\0", "x.png": b"no"}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=rf"{name} is damaged, or not a valid image"):
            read_image(tmp_path / name)
    (tmp_path / "x.jpg").touch()
    with pytest.raises(ValueError, match=r"x\.jpg is empty"):
        read_image(tmp_path / "x.jpg")
    with pytest.raises(ValueError, match="unknown image format"):
        read_image(tmp_path / "x.xyz")


def test_a_header_claiming_ten_gigabytes_is_rejected_before_allocation(tmp_path):
    tifffile.imwrite(tmp_path / "x.tif", IMAGE, metadata=None)
    content = bytearray((tmp_path / "x.tif").read_bytes())
    with tifffile.TiffFile(tmp_path / "x.tif") as tiff:
        for name in ("ImageWidth", "ImageLength", "RowsPerStrip"):
            tag = tiff.pages[0].tags[name]
            form = "<H" if tag.dtype == 3 else "<I"
            struct.pack_into(form, content, tag.valueoffset, 60_000)
    (tmp_path / "x.tif").write_bytes(content)
    with pytest.raises(ValueError, match=r"x\.tif: declares 7200000000 bytes"):
        read_image(tmp_path / "x.tif")


@pytest.mark.parametrize("unit", ["9**9**9", "9**9**9 m", "m+m", "__import__('os')", "2 m", "µm " * 200])
def test_a_formula_instead_of_a_unit_is_rejected_unevaluated(tmp_path, unit):
    path = tmp_path / "one.ome.tif"
    sizes = {"PhysicalSizeX": 1, "PhysicalSizeY": 1, "PhysicalSizeXUnit": "AA", "PhysicalSizeYUnit": "AA"}
    tifffile.imwrite(path, np.zeros((4, 4), np.uint8), ome=True, metadata={"axes": "YX", **sizes})
    stated = tifffile.tiffcomment(path).replace('"AA"', f'"{unit}"')
    tifffile.imwrite(path, np.zeros((4, 4), np.uint8), description=stated.encode(), metadata=None)
    with pytest.raises(ValueError, match=r"one\.ome\.tif.*not a unit of length"):
        read_calibration(path)
    with pytest.raises(ValueError, match="a unit of length"):
        Ensemble([[[0, 0], [0, 1], [1, 1]]], unit=unit)


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_impossible_pixel_sizes_are_rejected(size):
    with pytest.raises(ValueError, match="a pixel of"):
        Calibration((size, size), "µm")


@pytest.mark.parametrize("shape", [(1, 50), (50, 1), (1, 1)])
@pytest.mark.parametrize("ending", ["png", "tif", "npy"])
def test_an_image_one_pixel_wide_is_a_plane(tmp_path, shape, ending):
    path = tmp_path / f"one.{ending}"
    pixels = np.ones(shape, np.uint8)
    write = {"png": imageio.imwrite, "tif": tifffile.imwrite, "npy": np.save}[ending]
    write(path, pixels)
    assert read_image(path).pixels.shape == shape


def test_large_scans_are_read(tmp_path, monkeypatch):
    imageio.imwrite(tmp_path / "scan.png", np.random.default_rng(0).integers(0, 255, (30, 30), np.uint8))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    assert read_image(tmp_path / "scan.png").pixels.shape == (30, 30)
    assert Image.MAX_IMAGE_PIXELS == 100


@pytest.mark.parametrize(("mode", "name", "channels"), [("CMYK", "inks.jpg", 3), ("LA", "see-through.png", 4)])
def test_cmyk_and_gray_with_alpha_become_rgb(tmp_path, mode, name, channels):
    colours = np.zeros((30, 40, 3), np.uint8)
    colours[5:20, 5:20] = 200
    Image.fromarray(colours).convert(mode).save(tmp_path / name)
    pixels = read_image(tmp_path / name).pixels
    assert pixels.shape == (30, 40, channels)
    assert np.abs(pixels[..., :3].astype(float) - colours).mean() < 5  # JPEG compression changes some
    assert (pixels[..., 3:] == 255).all()


@pytest.mark.parametrize("dots", [72, 96, 150, 300, 600, 1200])
@pytest.mark.parametrize(("unit", "inch"), [("inch", 1), ("cm", 2.54)])
def test_the_default_print_resolution_of_imagej_is_no_calibration(tmp_path, dots, unit, inch):
    options = {"imagej": True, "metadata": {"unit": unit, "axes": "YX"}}
    tifffile.imwrite(tmp_path / "x.tif", IMAGE, resolution=(dots / inch, dots / inch), **options)
    assert read_calibration(tmp_path / "x.tif") == Calibration()


@pytest.mark.parametrize(("unit", "resolution"), [("inch", 87.34), ("cm", 50), ("mm", 300)])
def test_an_imagej_resolution_is_a_calibration(tmp_path, unit, resolution):
    options = {"imagej": True, "metadata": {"unit": unit, "axes": "YX"}}
    tifffile.imwrite(tmp_path / "x.tif", IMAGE, resolution=(resolution, resolution), **options)
    assert read_calibration(tmp_path / "x.tif").scale == pytest.approx((1 / resolution,) * 2)


@pytest.mark.parametrize("unit", ["px", "pix", "pixel", "pixels"])
def test_pixels_are_not_a_unit_of_length(tmp_path, unit):
    metadata = {"axes": "YX", "PhysicalSizeY": 2, "PhysicalSizeX": 2}
    tifffile.imwrite(tmp_path / "x.ome.tif", IMAGE, metadata=metadata)
    stated = tifffile.tiffcomment(tmp_path / "x.ome.tif").replace(
        'PhysicalSizeX="2"', f'PhysicalSizeX="2" PhysicalSizeXUnit="{unit}" PhysicalSizeYUnit="{unit}"'
    )
    tifffile.imwrite(tmp_path / "x.ome.tif", IMAGE, description=stated.encode(), metadata=None)
    assert read_calibration(tmp_path / "x.ome.tif") == Calibration()
    assert Calibration((2, 2), unit).unit == "pixel"


@pytest.mark.parametrize("size", ["-1", "NaN", "inf"])
def test_an_invalid_pixel_size_is_rejected_unless_another_is_given(tmp_path, size):
    path = tmp_path / "x.ome.tif"
    tifffile.imwrite(path, IMAGE, metadata={"axes": "YX", "PhysicalSizeY": 3.0, "PhysicalSizeX": 3.0})
    stated = tifffile.tiffcomment(path).replace('"3.0"', f'"{size}"')
    assert size in stated
    tifffile.imwrite(path, IMAGE, description=stated.encode(), metadata=None)
    number = float(size)
    with pytest.raises(ValueError, match=rf"states pixels of {number:g} × {number:g} µm.*give the pixel size"):
        read_image(path)
    given = Calibration((0.5, 0.5), "µm", "as given")
    assert read_image(path, given).calibration == given
