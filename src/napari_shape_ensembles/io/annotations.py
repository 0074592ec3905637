"""Polygons that people have drawn: COCO and VIA annotation files."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..archive import ContentError, StrPath
from .content import json_of
from .curve_table import CENTRE, Found, Real, largest_ring, positions
from .geojson import geojson_found, is_geojson

_NOT_POLYGON = "not a polygon"
_MASKS = "run-length masks (not polygons)"
_CROWDS = "crowds"
_PIECES = "extra pieces of an object"
# Three points, two numbers each.
_FEWEST_NUMBERS = 6


def read_json(path: StrPath) -> Found:
    """Outlines of a JSON file: GeoJSON, COCO or VIA, whichever it is."""
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
    """Whether a JSON value is one that `read_json` knows."""
    coco = isinstance(content, dict) and isinstance(content.get("annotations"), list) and "images" in content
    return coco or is_geojson(content) or _via_images(content) is not None


def _coco(content: Mapping[str, Any]) -> Found:
    """Polygons of a COCO file with the image and the category of each as features."""
    images = {image["id"]: str(image.get("file_name", image["id"])) for image in content.get("images", [])}
    kinds = {kind["id"]: str(kind.get("name", kind["id"])) for kind in content.get("categories", [])}
    found = Found(features={"image": [], "category": []})
    ids: list[Any] = []
    for annotation in content["annotations"]:
        ring = _coco_outline(annotation, found)
        if ring is not None:
            found.curves.append(ring - CENTRE)
            ids.append(annotation.get("id", len(ids) + 1))
            found.features["image"].append(images.get(annotation.get("image_id"), ""))
            found.features["category"].append(kinds.get(annotation.get("category_id"), ""))
    found.ids = ids
    return found


def _coco_outline(annotation: Mapping[str, Any], found: Found) -> Real | None:
    shape = annotation.get("segmentation")
    if annotation.get("iscrowd"):
        found.dropped[_CROWDS] += 1
    elif isinstance(shape, dict):
        found.dropped[_MASKS] += 1
    else:
        rings = [_flat(ring) for ring in shape or [] if len(ring) >= _FEWEST_NUMBERS]
        if rings:
            found.dropped[_PIECES] += len(rings) - 1
            return largest_ring(rings)
        found.dropped[_NOT_POLYGON] += 1
    return None


def _flat(numbers: list[float]) -> Real:
    """Rows and columns from x, y, x, y, …"""
    if len(numbers) % 2:
        raise ContentError(f"a polygon of {len(numbers)} numbers: x and y come in pairs")
    return positions(np.reshape(np.array(numbers, dtype=np.float64), (-1, 2)))


def _via_images(content: Any) -> list[Mapping[str, Any]] | None:
    """The images of a VIA project, or of the annotations it exports; None where it is neither."""
    if not isinstance(content, dict):
        return None
    images = list(content.get("_via_img_metadata", content).values())
    is_via = images and all(isinstance(image, dict) and "regions" in image and "filename" in image for image in images)
    return images if is_via else None


def _via(images: list[Mapping[str, Any]]) -> Found:
    """Polygons of a VIA file with the image and the attributes of each as features."""
    found = Found()
    rows: list[dict[str, Any]] = []
    for image, region in _regions(images):
        shape = region["shape_attributes"]
        if shape.get("name") not in ("polygon", "polyline") or "all_points_x" not in shape:
            found.dropped[_NOT_POLYGON] += 1
            continue
        points = np.array([shape["all_points_x"], shape["all_points_y"]], dtype=np.float64).T
        found.curves.append(positions(points) - CENTRE)
        rows.append({"image": image, **_attributes(region.get("region_attributes") or {})})
    found.ids = list(range(1, len(rows) + 1))
    found.features = {key: [row.get(key, "") for row in rows] for key in dict.fromkeys(k for r in rows for k in r)}
    return found


def _regions(images: list[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for image in images:
        regions = image["regions"]
        for region in regions.values() if isinstance(regions, dict) else regions:
            yield str(image["filename"]), region


def _attributes(attributes: Mapping[str, Any]) -> dict[str, str]:
    """What a person entered for a region; the choices of a check box are joined."""
    return {
        str(name): ", ".join(map(str, value)) if isinstance(value, dict | list) else str(value)
        for name, value in attributes.items()
    }
