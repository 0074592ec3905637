"""Pixel size from image metadata: OME-TIFF, ImageJ TIFF, and tags of electron microscope vendors."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any

from ..archive import ContentError, StrPath, errors_named, opened
from ..outlines.units import conversion_factor, length_unit, unit_name

Stated = tuple[float, float, str]

_MICROMETRE = "µm"
# No object is further from 1 in any unit of length; areas and moments would underflow or overflow.
_MIN_SIZE = 1e-40
_TESCAN_TAG = 50431
# Spellings in files of units that pint knows under another name.
_SPELLINGS = {
    "micron": _MICROMETRE,
    "microns": _MICROMETRE,
    "um": _MICROMETRE,
    "\\u00b5m": _MICROMETRE,
    "μm": _MICROMETRE,  # Greek mu
    "å": "angstrom",
    "inches": "inch",
}
_NO_UNIT = ("", "pixel", "reference frame")
# ImageJ reports the print resolution as a pixel size in inches or centimeters; these are common screen and print
# values.
_INCH = {"inch": 1.0, "cm": 2.54}
_DOTS_PER_INCH = (72, 96, 100, 120, 144, 150, 180, 200, 220, 240, 250, 300, 350, 360, 400, 600, 720, 800, 1200, 2400)

# Leading axes that OME-TIFF defines ("Q" is any other), and the default axes of a stack without metadata.
_LEADING_AXES = "TCZQ"
_DEFAULT_AXES = {2: "YX", 3: "ZYX", 4: "TZYX", 5: "TCZYX"}
_TIME_UNITS = ("ns", "µs", "ms", "s", "min", "h", "d")


@dataclass(frozen=True)
class Calibration:
    """Size of a pixel.

    Attributes
    ----------
    scale : (float, float)
        Pixel height and width in `unit`.
    unit : str
        A unit of length, or "pixel".
    source : str
        Where the size was found, such as "OME-TIFF".

    Examples
    --------
    >>> from napari_shape_ensembles.io import Calibration
    >>> Calibration((0.5, 0.5), "µm", "OME-TIFF")
    Calibration(scale=(0.5, 0.5), unit='µm', source='OME-TIFF')
    """

    scale: tuple[float, float] = (1.0, 1.0)
    unit: str = "pixel"
    source: str = "not stated"

    def __post_init__(self) -> None:
        if not (all(map(isfinite, self.scale)) and min(self.scale) > 0):
            raise ValueError(f"the height and width of a pixel must be above 0, not {self.scale!r}")
        if not _MIN_SIZE < min(self.scale) <= max(self.scale) < 1 / _MIN_SIZE:
            raise ValueError(
                f"a pixel of {self.scale[0]:g} × {self.scale[1]:g} {self.unit} is not plausible: give its size"
            )
        object.__setattr__(self, "unit", length_unit(self.unit))

    @property
    def ome(self) -> dict[str, object]:
        """Metadata that `tifffile.imwrite` takes for an OME-TIFF; empty if the size is not known."""
        if self.unit == "pixel":
            return {}
        sizes: dict[str, object] = {f"PhysicalSize{axis}": size for axis, size in zip("YX", self.scale, strict=True)}
        return sizes | {f"PhysicalSize{axis}Unit": self.unit for axis in "YX"}

    def __str__(self) -> str:
        height, width = self.scale
        size = f"{height:g}" if height == width else f"{height:g} × {width:g}"
        return f"{size} {self.unit} per pixel ({self.source})" if self.unit != "pixel" else f"pixels ({self.source})"


def read_calibration(path: StrPath, image: int = 0) -> Calibration:
    """Read the pixel size from the metadata of an image file.

    Supported are OME-TIFF, ImageJ TIFF, and the tags of FEI/Thermo Fisher, Zeiss and Tescan. The print resolution that
    any TIFF may hold is ignored, as it is rarely that of the object; likewise where ImageJ repeats it as a pixel size
    in inches or centimeters.

    Parameters
    ----------
    path : path
    image : int
        Index of the image in an OME-TIFF of several.

    Returns
    -------
    Calibration
        In pixels if the file states no size, a size of 0, or a print resolution.

    Raises
    ------
    ValueError
        For a damaged file, a size that is negative, NaN or infinite, or a unit that is not one of length, with the
        remedy.
    OSError
        If the file does not exist, or cannot be read.

    Examples
    --------
    >>> import numpy as np
    >>> import tifffile
    >>> from napari_shape_ensembles.io import read_calibration
    >>> tifffile.imwrite("field.ome.tif", np.zeros((8, 8)), metadata={"PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5})
    >>> read_calibration("field.ome.tif")
    Calibration(scale=(0.5, 0.5), unit='µm', source='OME-TIFF')
    """
    if Path(path).suffix.lower() not in (".tif", ".tiff"):
        return Calibration()
    with opened(path):
        pass  # raise system errors before those of a library
    import tifffile  # imported lazily

    with errors_named(path, "TIFF"), tifffile.TiffFile(path) as tiff:
        for source, (kind, read) in _SOURCES.items():
            found = read(tiff, image) if not kind or getattr(tiff, kind) else None
            # Uncalibrated microscopes write a size of 0, and some programs the unit "pixel".
            if found is None or unit_name(found[2]).lower() in _NO_UNIT or 0 in found[:2]:
                continue
            rows, columns, unit = found
            if not (isfinite(rows) and isfinite(columns) and min(rows, columns) > 0):
                raise ContentError(
                    f"states pixels of {rows:g} × {columns:g} {unit[:40]}, which is not a size: give the pixel "
                    "size and its unit"
                )
            return Calibration((float(rows), float(columns)), _unit(unit), source)
    return Calibration()


@dataclass(frozen=True)
class StackAxes:
    """Names of the axes of a stack, and the distance between planes along each.

    Attributes
    ----------
    names : str
        One letter per axis as in OME-TIFF: T for time, C for channel, Z for depth, Q for any other; rows (Y) and
        columns (X) last.
    steps : mapping of str to (float, str)
        For Z the distance between planes and its unit, for T the time between them.
    """

    names: str = "YX"
    steps: Mapping[str, tuple[float, str]] = field(default_factory=dict)

    def fitted(self, shape: tuple[int, ...], steps: Mapping[int, tuple[float, str]]) -> StackAxes:
        """The axes of an array of this shape, with steps given by axis; the usual names where these do not fit it."""
        before, count = self.names[:-2], len(shape)
        names, own = _DEFAULT_AXES.get(count, ""), dict[str, tuple[float, str]]()
        if len(self.names) == count and set(before) <= set(_LEADING_AXES) and len(set(before)) == len(before):
            names, own = self.names, dict(self.steps)
        usual = names != self.names
        for axis, (step, unit) in steps.items():
            letter = "T" if unit in _TIME_UNITS else "Z" if unit_name(unit).lower() not in _NO_UNIT else ""
            if names[axis : axis + 1] == "Q" and letter and letter not in names:
                names = names.replace("Q", letter)
            elif usual and names == "ZYX" and letter == "T":  # planes of which only the time interval is known
                names = "TYX"
            if letter and names[axis : axis + 1] == letter:
                own[letter] = step, unit
        return StackAxes(names, own)


def read_axes(path: StrPath) -> StackAxes:
    """Read the axes of the first image of a TIFF; the default for other formats and for a file that is gone."""
    if Path(path).suffix.lower() not in (".tif", ".tiff") or not Path(path).exists():
        return StackAxes()
    import tifffile  # imported lazily

    with errors_named(path, "TIFF"), tifffile.TiffFile(path) as tiff:
        steps = {}
        if tiff.is_ome:
            pixels = _pixels_element(tiff)
            for letter, field_, unit in (("Z", "PhysicalSizeZ", _MICROMETRE), ("T", "TimeIncrement", "s")):
                if pixels is not None and (step := pixels.get(field_)) is not None and float(step) > 0:
                    steps[letter] = float(step), pixels.get(f"{field_}Unit", unit)
        elif tiff.is_imagej:
            stated = tiff.imagej_metadata or {}
            unit = str(stated.get("unit", ""))
            if unit_name(unit).lower() not in _NO_UNIT and stated.get("spacing"):
                steps["Z"] = float(stated["spacing"]), _unit(unit)
            if stated.get("finterval"):
                steps["T"] = float(stated["finterval"]), "s"
        return StackAxes(str(tiff.series[0].axes), steps)


def _unit(stated: str) -> str:
    unit = _SPELLINGS.get(stated.strip().lower(), stated.strip())
    try:
        length_unit(unit)
    except ValueError as error:
        raise ContentError(
            f'states its pixel size in "{stated[:40]}", which is not a unit of length: give the pixel size and its unit'
        ) from error
    return unit


def _ome(tiff: Any, image: int) -> Stated | None:
    element = _pixels_element(tiff, image)
    if element is None:
        return None
    rows, columns = (element.get(f"PhysicalSize{axis}") for axis in "YX")
    units = [element.get(f"PhysicalSize{axis}Unit", _MICROMETRE) for axis in "YX"]
    if rows is None or columns is None:
        return None
    factor = 1.0 if units[0] == units[1] else conversion_factor(_unit(units[1]), _unit(units[0]))
    return float(rows), float(columns) * factor, units[0]


def _pixels_element(tiff: Any, image: int = 0) -> ElementTree.Element | None:
    """The `Pixels` element of an image in the OME metadata."""
    elements = ElementTree.fromstring(tiff.ome_metadata).iter()
    of_images = (one for one in elements if one.tag.endswith("}Pixels") or one.tag == "Pixels")
    return next(islice(of_images, image, None), None)


def _imagej(tiff: Any, _: int) -> Stated | None:
    tags = tiff.pages[0].tags
    unit = str((tiff.imagej_metadata or {}).get("unit", ""))
    if "XResolution" not in tags or "YResolution" not in tags:
        return None
    # TIFF resolutions are fractions: pixels per unit.
    (rows, height), (columns, width) = (tags[name].value for name in ("YResolution", "XResolution"))
    sizes = (height / rows if rows else 0.0, width / columns if columns else 0.0)
    if _is_for_printing(sizes, unit):
        return None
    of_rows = str((tiff.imagej_metadata or {}).get("yunit", unit))  # stated where it differs
    if of_rows == unit or {of_rows, unit} & {*_NO_UNIT}:
        return (*sizes, unit)
    return sizes[0] * conversion_factor(_unit(of_rows), _unit(unit)), sizes[1], unit


def _is_for_printing(sizes: tuple[float, float], unit: str) -> bool:
    """Whether a pixel size is merely the print resolution of the TIFF."""
    inch = _INCH.get(_SPELLINGS.get(unit.strip().lower(), unit.strip().lower()))
    if inch is None or sizes[0] != sizes[1] or not sizes[0]:
        return False
    return any(abs(inch / sizes[0] - dots) < 1e-4 * dots for dots in _DOTS_PER_INCH)


def _fei(tiff: Any, _: int) -> Stated | None:
    scan = (tiff.fei_metadata or {}).get("Scan")
    return _micrometres(scan.get("PixelHeight"), scan.get("PixelWidth")) if scan else None


def _zeiss(tiff: Any, _: int) -> Stated | None:
    values = tiff.sem_metadata or {}
    for name in ("ap_image_pixel_size", "ap_pixel_size"):
        if name in values and len(values[name]) == 3:
            _, size, unit = values[name]
            return float(size), float(size), str(unit)
    return None


def _tescan(tiff: Any, _: int) -> Stated | None:
    tag = tiff.pages[0].tags.get(_TESCAN_TAG)
    if tag is None:
        return None
    text = bytes(tag.value).decode("latin-1") if not isinstance(tag.value, str) else tag.value
    found = [re.search(rf"PixelSize{axis}\s*=\s*([0-9.eE+-]+)", text) for axis in "YX"]
    return _micrometres(*(match.group(1) if match else None for match in found))


def _micrometres(rows: Any, columns: Any) -> Stated | None:
    """Convert vendor sizes in meters to micrometers."""
    return None if rows is None or columns is None else (float(rows) * 1e6, float(columns) * 1e6, _MICROMETRE)


# Name of each source, the property of tifffile.TiffFile by which it is recognized, if any, and its reader.
_SOURCES: dict[str, tuple[str, Callable[[Any, int], Stated | None]]] = {
    "OME-TIFF": ("is_ome", _ome),
    "ImageJ TIFF": ("is_imagej", _imagej),
    "FEI/Thermo Fisher tags": ("is_fei", _fei),
    "Zeiss tags": ("is_sem", _zeiss),
    "Tescan tags": ("", _tescan),
}
