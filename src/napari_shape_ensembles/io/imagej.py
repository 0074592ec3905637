"""Curves as regions of interest of ImageJ and Fiji: a zip of .roi files, or a single one."""

import json
import re
import zipfile
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from .._types import Real
from ..archive import ContentError, StrPath
from ..budget import reserve_curves
from ..outlines.exchange import needed
from ..outlines.reasons import NOT_POLYGON, OPEN
from ..words import listed
from .content import bytes_of, names_in_zip, unpacked
from .curve_table import CENTRE, FORMAT, CurveTable, Found, columns_of, metadata

_MAX_VERTICES = 2**16 - 1
# Maximum rounding of vertices, relative to the size of their curve.
_MAX_ROUNDING = 0.01
# Minimum number of bytes per vertex in a file.
_VERTEX_BYTES = 4
_CLOSED = ("POLYGON", "FREEHAND", "TRACED", "RECT", "OVAL")
_OPEN = ("LINE", "POLYLINE", "FREELINE", "ANGLE", "POINT", "NOROI")


def roi_zip_bytes(table: CurveTable) -> bytes:
    """Return a zip of polygons with subpixel vertices (ImageJ: single precision); features become properties."""
    if not len(table.ensemble):
        raise ContentError("no curves to save: a zip of ImageJ regions needs at least one")
    meta = json.dumps(metadata(table))
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (name, curve, row) in enumerate(
            zip(table.ensemble.ids.tolist(), table.pixels, table.rows, strict=True)
        ):
            content = _roi_bytes(_one_line(str(name)), curve, {**row, FORMAT: meta})
            # Without characters that are special to file systems.
            safe = "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in str(name))[:60]
            archive.writestr(f"{number:05d}-{safe}.roi", content)
    return file.getvalue()


def _roi_bytes(name: str, curve: Real, words: Mapping[str, Any]) -> bytes:
    roifile = needed("roifile", "imagej", "a file of ImageJ regions")
    if len(curve) > _MAX_VERTICES:
        raise ContentError(f"curve {name} has {len(curve)} vertices: ImageJ allows at most {_MAX_VERTICES}")
    exact = curve[:, ::-1] + CENTRE
    single = exact.astype(np.float32)
    rounding = np.abs(single - exact).max() / np.ptp(curve, axis=0).max()
    if rounding > _MAX_ROUNDING:
        raise ContentError(
            f"curve {name} would be rounded by {rounding:.0%} of its size, as ImageJ stores single precision: "
            "give the pixel size, or save another format"
        )
    roi = roifile.ImagejRoi.frompoints(single, name=name)
    roi.roitype = roifile.ROI_TYPE.POLYGON
    roi.props = "".join(f"{_one_line(name, ':')}: {_one_line(str(value))}\n" for name, value in words.items())
    return roi.tobytes()


def _one_line(words: str, mark: str = "\n") -> str:
    """Return a string unchanged, or JSON-quoted if line ends, whitespace or the mark would not survive.

    Also quoted are characters outside the BMP: two UTF-16 units, which roifile counts as one.
    """
    kept = words == " ".join(words.split()) and mark not in words and max(words, default="") <= "\uffff"
    if kept and not words.startswith('"'):
        return words
    return json.dumps(words).replace(":", r"\u003a")


def _properties(text: str) -> dict[str, str]:
    pairs = [line.partition(":") for line in re.split(r"\r?\n", text)]
    found = {name.strip(): words.strip() for name, colon, words in pairs if colon}
    return {_unquoted(name): _unquoted(words) for name, words in found.items()} if FORMAT in found else found


def _unquoted(words: str) -> str:
    try:
        return str(json.loads(words)) if words.startswith('"') else words
    except ValueError:  # written by an older version
        return words


def read_roi(path: StrPath) -> Found:
    """Read the closed regions of a zip or a single .roi file; lines and points are counted as dropped."""
    content = bytes_of(path)
    if content[:4] == b"Iout":
        return _found([(PurePosixPath(Path(path).name), content)])
    with zipfile.ZipFile(BytesIO(content)) as archive:
        # The Mac's Finder adds files of attributes: __MACOSX/._name.roi.
        entries = [
            entry
            for entry in archive.infolist()
            if entry.filename.lower().endswith(".roi") and not PurePosixPath(entry.filename).name.startswith("._")
        ]
        reserve_curves(sum(entry.file_size for entry in entries) // _VERTEX_BYTES, len(entries))
        regions = unpacked(archive, {entry.filename for entry in entries})
        others = sorted(entry.filename for entry in archive.infolist() if not entry.is_dir())
        if not entries and others:
            raise ContentError(f"holds no .roi files, but {listed(others)}: unpack it, and give the files in it")
        return _found((PurePosixPath(name), data) for name, data in regions)


def holds_regions(path: StrPath) -> bool:
    """Whether a zip has entries that are ImageJ regions by their names."""
    return any(name.lower().endswith(".roi") for name in names_in_zip(path))


def _found(entries: Iterable[tuple[PurePosixPath, bytes]]) -> Found:
    """Return the closed regions of files; where these are in several folders, each is of an image."""
    roifile = needed("roifile", "imagej", "a file of ImageJ regions")
    found = Found(calibrated=True)
    folders = []
    empty = True
    for name, content in entries:
        empty = False
        with found.entry(Exception):  # of any type, for a region that is malformed or of an unknown kind
            roi = roifile.ImagejRoi.frombytes(content)
            rings = roi.coordinates(multi=True) if _is_outline(roifile, roi) else []
            rings = [np.asarray(ring, np.float64)[:, ::-1] for ring in rings if len(ring)]
            curve = found.outline_of(rings, none=OPEN if roi.roitype.name in _OPEN else NOT_POLYGON)
            if curve is not None:
                words = _properties(roi.props)
                own = FORMAT in words
                called = _unquoted(roi.name) if own else roi.name or name.stem
                found.add(curve - CENTRE, called, words if own else _places(roi) | words)
                folders.append(str(name.parent))
    if empty:
        raise ContentError("holds no .roi files")
    found.meta = json.loads(found.rows[0].pop(FORMAT, "{}")) if found.rows else {}
    found.rows = [{name: value for name, value in row.items() if name != FORMAT} for row in found.rows]
    own = bool(found.meta)
    for feature, column in columns_of(found.rows, None).items():
        found.features[feature] = [_value(value, own=own) for value in column]
    if len(set(folders)) > 1:
        found.features.setdefault("image", folders)
    scale = found.meta.get("scale", [1, 1])
    found.curves = [curve * scale for curve in found.curves]
    return found


def _is_outline(roifile: Any, roi: Any) -> bool:
    """Whether a region encloses an area: texts and pictures have the type of a rectangle."""
    return roi.roitype.name in _CLOSED and roi.subtype not in (roifile.ROI_SUBTYPE.TEXT, roifile.ROI_SUBTYPE.IMAGE)


def _places(roi: Any) -> dict[str, str]:
    """Return where in a stack a region lies, counted from 1; a plain stack has positions, or only default names."""
    named = {"channel": roi.c_position, "slice": roi.z_position, "frame": roi.t_position}
    known = {name: str(place) for name, place in named.items() if place > 0}
    named_by = re.fullmatch(r"(\d{4,})-\d{4,}-\d{4,}", str(roi.name))  # slice, row, column
    place = roi.position or int(named_by.group(1) if named_by else 0)
    return known or ({"slice": str(place)} if place > 0 else {})


def _value(words: str | None, *, own: bool) -> Any:
    """Convert strings of foreign files to float where possible; our own are typed later."""
    try:
        return words if own else float(words or "nan")
    except ValueError:
        return words
