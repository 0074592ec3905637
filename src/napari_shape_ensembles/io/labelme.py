"""Annotations of labelme: one JSON file per image, with polygons, rectangles, circles and masks."""

import base64
import json
import struct
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from .._types import Real
from ..archive import ContentError, StrPath, Tree
from ..budget import reserve_pixels
from ..outlines.extract import signed_area
from ..outlines.reasons import NOT_POLYGON, OPEN, PARTS, Reason
from .annotation_files import CLASSES, IMAGES, box, ellipse, merged, points_of, value_of
from .curve_table import CENTRE, CurveTable, Found, positions
from .masks import outline_of_mask

# X-AnyLabeling, which writes the same files, adds rectangles that are turned.
_POLYGONS = ("polygon", "rotation", "quadrilateral")
_OPEN = ("line", "linestrip")
_IGNORED = "__ignore__"


def is_labelme(content: Any) -> bool:
    """Whether a JSON value is a file of labelme."""
    shapes = content.get("shapes") if isinstance(content, dict) else None
    return isinstance(shapes, list) and all(isinstance(shape, dict) and "points" in shape for shape in shapes)


def read_labelme(content: Mapping[str, Any], _: StrPath) -> Found:
    """Return the outlines of the shapes, numbered from 1 in the order of the file, with label and image as features.

    Shapes of one label and group are parts of one object, of which the largest is used.
    """
    found = Found()
    objects: dict[Any, list[tuple[int, Real]]] = {}
    image = str(content.get("imagePath") or "")
    sides = content.get("imageHeight"), content.get("imageWidth")
    size = (sides[0], sides[1]) if all(isinstance(side, int) and side > 0 for side in sides) else None
    for number, shape in enumerate(content["shapes"], start=1):
        if shape.get("label") == _IGNORED:
            found.dropped[Reason("regions to be ignored")] += 1
            continue
        group = shape.get("group_id")
        key = number if group is None else (str(shape.get("label")), str(group))
        with found.entry():
            if (outline := _outline(shape, found, size)) is not None:
                objects.setdefault(key, []).append((number, outline))
    for parts in objects.values():
        number, outline = max(parts, key=lambda part: abs(signed_area(part[1])))
        found.dropped[PARTS] += len(parts) - 1
        found.add(outline, number, {"image": image, "label": str(content["shapes"][number - 1].get("label") or "")})
    return found


def _outline(shape: Mapping[str, Any], found: Found, size: Any) -> Real | None:
    kind, points = shape.get("shape_type") or "polygon", np.array(shape["points"], dtype=np.float64)
    if kind in _OPEN or kind not in (*_POLYGONS, "rectangle", "circle", "mask"):
        found.dropped[OPEN if kind in _OPEN else NOT_POLYGON] += 1
        return None
    if kind == "mask":
        return outline_of_mask(found, _mask(shape["mask"]), (int(points[0][1]), int(points[0][0])), size)
    if kind == "rectangle" and len(points) == 2:
        low, sides = points.min(axis=0), np.ptp(points, axis=0)
        points = box(low[0], low[1], sides[0], sides[1])
    elif kind == "circle":
        radius = float(np.hypot(*(points[1] - points[0])))
        points = ellipse(points[0][0], points[0][1], radius, radius)
    return positions(points) - CENTRE


def _mask(text: str) -> Any:
    """Return the pixels of a mask: a PNG in base64."""
    from PIL import Image

    content = base64.b64decode(text, validate=True)
    reserve_pixels(struct.unpack(">II", content[16:24])[::-1], 1)  # before Pillow refuses large images on its own
    with Image.open(BytesIO(content), formats=["PNG"]) as image:
        return np.asarray(image.convert("L")) > 0


def write_labelme(table: CurveTable, path: Path, original: Tree | None, before: CurveTable | None) -> bytes:
    """Return a file of labelme; all but the outlines is taken from the original, if there is one."""
    images = list(dict.fromkeys(value_of(row, IMAGES) for row in table.rows))
    if len(images) > 1:
        raise ContentError(f"labelme has one file per image, and these outlines are of {len(images)}: save one by one")
    stem = table.ensemble.name or path.stem
    content = original or {
        "version": "5.4.1",
        "flags": {},
        "shapes": [],
        "imagePath": next(iter(images), "") or f"{stem}.png",
        "imageData": None,
        "imageHeight": None,
        "imageWidth": None,
    }
    entries = dict(enumerate(content["shapes"], start=1))
    return json.dumps({**content, "shapes": merged(entries, before, table, _shape)}, indent=2).encode()


def _shape(entry: Tree | None, curve: Real, row: Mapping[str, Any]) -> Tree:
    plain: Tree = {"label": value_of(row, CLASSES, "object"), "group_id": None, "description": "", "flags": {}}
    kept = {key: value for key, value in (entry or plain).items() if key != "mask"}
    return {**kept, "points": points_of(curve), "shape_type": "polygon"}
