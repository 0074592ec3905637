"""Readers of hand-drawn polygons: COCO and VIA annotation files."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..archive import ContentError, StrPath
from ..outlines.reasons import NOT_POLYGON, OPEN, UNREADABLE, Reason
from .columns import is_closed
from .content import json_of
from .curve_table import CENTRE, Found, columns_of, positions
from .geojson import geojson_found, is_geojson

_MASKS, _CROWDS = Reason("masks"), Reason("crowds")
# Three points, two numbers each.
_MIN_NUMBERS = 6


def read_json(path: StrPath) -> Found:
    """Return the outlines of a JSON file: GeoJSON, COCO or VIA, detected by content."""
    content = json_of(path)
    if is_geojson(content):
        return geojson_found(content)
    if isinstance(content, dict) and isinstance(content.get("annotations"), list):
        return _coco(content)
    images = _via_images(content)
    if images is not None:
        return _via(images)
    raise ContentError("holds neither GeoJSON features nor COCO or VIA annotations")


def is_annotated(content: Any) -> bool:
    """Whether a JSON value has a layout that `read_json` can read."""
    coco = isinstance(content, dict) and isinstance(content.get("annotations"), list) and "images" in content
    return coco or is_geojson(content) or _via_images(content) is not None


def _coco(content: Mapping[str, Any]) -> Found:
    """Return the polygons of a COCO file, with image and category as features."""
    images = {image["id"]: str(image.get("file_name", image["id"])) for image in content.get("images", [])}
    kinds = {kind["id"]: str(kind.get("name", kind["id"])) for kind in content.get("categories", [])}
    found = Found(features={"image": [], "category": []})
    ids: list[Any] = []
    for annotation in content["annotations"]:
        shape = annotation.get("segmentation")
        if annotation.get("iscrowd"):
            found.dropped[_CROWDS] += 1
            continue
        if isinstance(shape, dict):
            found.dropped[_MASKS] += 1
            continue
        try:
            rings = [
                positions(np.reshape(np.array(numbers, dtype=np.float64), (-1, 2)))  # x, y, x, y, …
                for numbers in shape or []
                if len(numbers) >= _MIN_NUMBERS
            ]
        except (TypeError, ValueError):
            found.dropped[UNREADABLE] += 1
            continue
        outline = found.outline_of(rings)
        if outline is None:
            continue
        found.curves.append(outline - CENTRE)
        ids.append(annotation.get("id", len(ids) + 1))
        found.features["image"].append(images.get(annotation.get("image_id"), ""))
        found.features["category"].append(kinds.get(annotation.get("category_id"), ""))
    found.ids = ids
    return found


def _via_images(content: Any) -> list[Mapping[str, Any]] | None:
    """Return the images of a VIA project or annotation export; None for anything else."""
    if not isinstance(content, dict):
        return None
    images = list(content.get("_via_img_metadata", content).values())
    is_via = images and all(isinstance(image, dict) and "regions" in image and "filename" in image for image in images)
    return images if is_via else None


def _via(images: list[Mapping[str, Any]]) -> Found:
    """Return the polygons of a VIA file, with image and region attributes as features."""
    found = Found()
    rows: list[dict[str, Any]] = []
    regions = ((image["filename"], image["regions"]) for image in images)
    listed = ((name, of.values() if isinstance(of, dict) else of) for name, of in regions)
    for image, region in ((str(name), region) for name, of in listed for region in of):
        shape = region["shape_attributes"]
        if shape.get("name") not in ("polygon", "polyline") or "all_points_x" not in shape:
            found.dropped[NOT_POLYGON] += 1
            continue
        try:
            points = np.array([shape["all_points_x"], shape["all_points_y"]], dtype=np.float64).T
            vertices = positions(points)
        except (TypeError, ValueError):
            found.dropped[UNREADABLE] += 1
            continue
        if shape["name"] == "polyline" and not is_closed(vertices, most=1):  # drawn around an object, or a line
            found.dropped[OPEN] += 1
            continue
        found.curves.append(vertices - CENTRE)
        row = {"image": image}
        for name, value in (region.get("region_attributes") or {}).items():  # checked options are joined
            row[str(name)] = ", ".join(map(str, value)) if isinstance(value, dict | list) else str(value)
        rows.append(row)
    found.ids = list(range(1, len(rows) + 1))
    found.features = columns_of(rows, "")
    return found
