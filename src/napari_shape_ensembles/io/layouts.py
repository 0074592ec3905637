"""Formats of annotations, which often share an extension and are told apart by their content.

Corrected outlines can be written into a file of annotations, all else of which is kept.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..archive import ContentError, StrPath
from .cellpose import is_cellpose, read_cellpose
from .coco import is_coco, read_coco, write_coco
from .content import bytes_of, decoded, json_of
from .curve_table import CurveTable, Found
from .cvat import is_cvat, is_cvat_zip, parsed, read_cvat, write_cvat
from .geojson import (
    geojson_found,
    geojson_merged,
    is_geojson,
    is_geometry_collection,
    read_geometry_collection,
)
from .label_studio import is_label_studio, read_label_studio
from .labelme import is_labelme, read_labelme, write_labelme
from .morphometrics import read_coordinates
from .tables import has_header, read_csv
from .via import is_via, read_via
from .yolo import is_yolo, read_yolo, write_yolo

#: Makes the content of a file from curves, its path, the parsed content of the original and what was read from that.
Writer = Callable[[CurveTable, Path, Any, CurveTable | None], bytes]


@dataclass(frozen=True)
class Layout:
    """A format of annotations.

    Attributes
    ----------
    name : str
        By which it is chosen for writing.
    programs : str
        That write or read it.
    unit : str
        Of its coordinates, for the documentation.
    recognizes : callable
        Whether the parsed content of a file is of this format.
    read : callable
        Returns the outlines in the parsed content of the file at a path.
    write : Writer, optional
    """

    name: str
    programs: str
    unit: str
    recognizes: Callable[[Any], bool]
    read: Callable[[Any, StrPath], Found]
    write: Writer | None = None


_GEOJSON = Layout("GeoJSON", "QuPath", "pixel", is_geojson, lambda content, _: geojson_found(content), geojson_merged)
#: Formats by extension, in the order in which they are tried.
LAYOUTS: Mapping[str, tuple[Layout, ...]] = MappingProxyType(
    {
        ".geojson": (_GEOJSON,),
        ".json": (
            _GEOJSON,
            Layout("COCO", "COCO, CVAT, Roboflow, Detectron2", "pixel", is_coco, read_coco, write_coco),
            Layout("VIA", "VGG Image Annotator", "pixel", is_via, read_via),
            Layout("labelme", "labelme, X-AnyLabeling", "pixel", is_labelme, read_labelme, write_labelme),
            Layout("Label Studio", "Label Studio", "percent of the image", is_label_studio, read_label_studio),
            Layout(
                "GeometryCollection", "Baysor, Xenium Ranger", "as in the program",
                is_geometry_collection, read_geometry_collection,
            ),
        ),
        ".xml": (Layout("CVAT", "CVAT for images, CVAT for video", "pixel", is_cvat, read_cvat, write_cvat),),
        ".txt": (
            Layout("Cellpose", "Cellpose", "pixel", is_cellpose, read_cellpose),
            Layout("YOLO", "Ultralytics YOLO", "fractions of the image", is_yolo, read_yolo, write_yolo),
        ),
    }
)  # fmt: skip


#: Extensions that are usually those of notes, settings and other data.
AMBIGUOUS = (".txt", ".json", ".xml")
# How the content of a file is parsed.
_PARSERS: Mapping[str, Callable[[StrPath], Any]] = MappingProxyType(
    {".geojson": json_of, ".json": json_of, ".xml": parsed, ".txt": lambda path: decoded(bytes_of(path))}
)


def ending_of(path: StrPath) -> str:
    """Return the extension with which annotations of the format of a file are written; empty for other files."""
    ending = Path(path).suffix.lower()
    if ending == ".zip" and is_cvat_zip(path):
        return ".xml"
    return ending if ending in LAYOUTS and layout_of(path)[0] is not None else ""


def layout_of(path: StrPath) -> tuple[Layout | None, Any]:
    """Return the format of a file of annotations by its content, or None, and the parsed content."""
    ending = Path(path).suffix.lower().replace(".zip", ".xml")  # of CVAT
    content = _PARSERS[ending](path)
    return next((layout for layout in LAYOUTS[ending] if layout.recognizes(content)), None), content


def holds_outlines(path: StrPath) -> bool:
    """Whether a file, whose extension is also that of notes and settings, holds outlines by its content."""
    try:
        layout, content = layout_of(path)
        if layout is not None or Path(path).suffix.lower() != ".txt":
            return layout is not None
        return bool((read_csv(path) if has_header(content) else read_coordinates(path)).curves)
    except (OSError, ValueError, RecursionError, SyntaxError):
        return False


def read_annotations(path: StrPath) -> Found:
    """Return the outlines of a file of annotations, in the format that its content has.

    A text file of another content holds one vertex per line, or a table with the names of its columns.
    """
    layout, content = layout_of(path)
    if layout is not None:
        return layout.read(content, path)
    ending = Path(path).suffix.lower()
    if ending == ".txt":
        return read_csv(path) if has_header(content) else read_coordinates(path)
    first, *others = (one.name for one in LAYOUTS[ending])
    what = f"neither {first} features nor {', '.join(others)}" if others else f"no {first}"
    raise ContentError(f"holds {what} annotations")


def writer_of_layout(name: str, ending: str) -> Writer:
    """Return the writer of the format of this name.

    Raises
    ------
    ValueError
        For a format that is not written with this extension, listing those that are.
    """
    written = {layout.name: layout.write for layout in LAYOUTS.get(ending, ()) if layout.write is not None}
    if name not in written:
        what = f"{name} is not written as {ending}" if name else f"several formats end in {ending}"
        raise ContentError(f"{what}: give layout, one of {', '.join(written) or 'none'}")
    return written[name]
