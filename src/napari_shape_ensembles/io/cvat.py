"""Annotations of CVAT ("CVAT for images 1.1" and "CVAT for video 1.1"): polygons, boxes, ellipses and masks in XML."""

import zipfile
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from .._types import Real
from ..archive import ContentError, StrPath
from ..budget import reserve
from ..outlines.reasons import NOT_POLYGON, OPEN
from .annotation_files import CLASSES, IMAGES, box, ellipse, merged, points_of, value_of
from .content import bytes_of, names_in_zip, unpacked
from .curve_table import CENTRE, CurveTable, Found, positions
from .masks import outline_of_runs

_ANNOTATIONS = "annotations.xml"  # in a zip of CVAT
_OUTLINES = ("polygon", "box", "ellipse", "mask")
_LINES = "polyline"
_OTHERS = ("points", "cuboid", "skeleton")
_SHAPES = (*_OUTLINES, _LINES, *_OTHERS)
# Attributes of a shape that do not depend on its kind.
_KEPT = ("label", "source", "occluded", "z_order", "group_id")
# Memory in bytes of a parsed element per "<" of the text.
_BYTES_PER_TAG = 1000


def parsed(path: StrPath) -> Element:
    """Return the root element of an XML file, or of the one in an export of CVAT, within the memory budget.

    Entities, which could expand, are refused.
    """
    content = bytes_of(path)
    if content.startswith(b"PK"):
        with zipfile.ZipFile(BytesIO(content)) as archive:
            ((_, content),) = unpacked(archive, {_ANNOTATIONS})
    reserve(content.count(b"<") * _BYTES_PER_TAG + 2 * len(content))
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content or b"\0" in content:
        raise ContentError("declares entities, or is not in UTF-8: export it from CVAT again")
    return ElementTree.fromstring(content)


def is_cvat_zip(path: StrPath) -> bool:
    """Whether a zip is an export of CVAT, by the names of its entries."""
    return names_in_zip(path).count(_ANNOTATIONS) == 1


def is_cvat(root: Element) -> bool:
    """Whether an XML file is one of CVAT."""
    return root.tag == "annotations" and (root.find("meta") is not None or root.find("image") is not None)


def read_cvat(root: Element, _: StrPath) -> Found:
    """Return the outlines of the shapes with image, label, frame and attributes as features.

    They are numbered from 1 in the order of the file, all shapes counted. In a video, those of each frame are read.
    """
    found = Found()
    for number, (shape, row, size) in enumerate(_shapes(root), start=1):
        if shape.tag not in _OUTLINES:
            found.dropped[OPEN if shape.tag == _LINES else NOT_POLYGON] += 1
            continue
        stated = {one.get("name", ""): (one.text or "").strip() for one in shape.findall("attribute")}
        with found.entry():
            found.add(_outline(shape, found, size), number, {key: own for key, own in stated.items() if key} | row)
    return found


def _shapes(root: Element) -> Iterator[tuple[Element, dict[str, Any], tuple[int, int] | None]]:
    """Yield the shapes of images and tracks in the order of the file, with their features and the size of the image."""
    for image in root.iter("image"):
        sides = image.get("height"), image.get("width")
        size = (int(sides[0]), int(sides[1])) if sides[0] and sides[1] else None
        for shape in image:
            if shape.tag in _SHAPES:
                yield shape, {"image": image.get("name", ""), "label": shape.get("label", "")}, size
    for track in root.iter("track"):
        for shape in track:
            if shape.tag in _SHAPES and shape.get("outside") != "1":  # where the object is out of sight
                row = {"label": track.get("label", ""), "track": track.get("id", "")}
                yield shape, {**row, "frame": int(shape.get("frame", 0))}, None


def _outline(shape: Element, found: Found, size: tuple[int, int] | None) -> Real | None:
    if shape.tag == "polygon":
        points = np.array([pair.split(",") for pair in shape.attrib["points"].split(";")], dtype=np.float64)
        return positions(points) - CENTRE
    if shape.tag == "mask":
        left, top, width, height = (int(shape.attrib[name]) for name in ("left", "top", "width", "height"))
        counts = [int(word) for word in shape.attrib["rle"].split(",")]
        return outline_of_runs(found, counts, (height, width), by_columns=False, corner=(top, left), image=size)
    degrees = float(shape.get("rotation", 0))
    if shape.tag == "ellipse":
        numbers = [float(shape.attrib[name]) for name in ("cx", "cy", "rx", "ry")]
        return positions(ellipse(numbers[0], numbers[1], numbers[2], numbers[3], degrees)) - CENTRE
    x, y, right, bottom = (float(shape.attrib[name]) for name in ("xtl", "ytl", "xbr", "ybr"))
    return positions(box(x, y, right - x, bottom - y, degrees)) - CENTRE


def write_cvat(table: CurveTable, path: Path, original: Element | None, before: CurveTable | None) -> bytes:
    """Return a file of CVAT for images; all but the outlines is taken from the original, if there is one."""
    root = original if original is not None else _empty()
    if original is not None and root.find("track") is not None:
        raise ContentError("corrections of a video cannot be written back: export the frames as CVAT for images")
    images = {image.get("name", ""): image for image in root.iter("image")}
    stem = table.ensemble.name or path.stem
    shapes = {number: shape for number, (shape, _, _) in enumerate(_shapes(root), start=1)}
    parents = {id(shape): image for image in images.values() for shape in image}
    added: list[tuple[Element, str]] = []

    def polygon(entry: Element | None, curve: Real, row: Mapping[str, Any]) -> Element:
        points = ";".join(f"{x:.4f},{y:.4f}" for x, y in points_of(curve))
        if entry is None:
            label = value_of(row, CLASSES, "object")
            made = Element("polygon", label=label, source="manual", occluded="0", points=points, z_order="0")
            added.append((made, value_of(row, IMAGES, stem)))
            return made
        stated: dict[str, str] = {key: entry.attrib[key] for key in _KEPT if key in entry.attrib}
        made = Element("polygon", stated | {"points": points})
        made.extend(entry.findall("attribute"))
        image = parents[id(entry)]
        image[list(image).index(entry)] = made
        return made

    kept = {id(shape) for shape in merged(shapes, before, table, polygon)}
    for shape in shapes.values():
        image = parents[id(shape)]
        if id(shape) not in kept and shape in list(image):
            image.remove(shape)
    for shape, image_name in added:
        if image_name not in images:
            images[image_name] = ElementTree.SubElement(root, "image", id=str(len(images)), name=image_name)
        images[image_name].append(shape)
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text


def _empty() -> Element:
    root = Element("annotations")
    ElementTree.SubElement(root, "version").text = "1.1"
    ElementTree.SubElement(root, "meta")
    return root
