"""COCO annotations of objects: polygons, and run-length masks, which are traced."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._types import Real
from ..archive import ContentError, StrPath, Tree
from ..outlines.extract import signed_area
from ..outlines.reasons import Reason
from .annotation_files import CLASSES, IMAGES, merged, points_of, value_of
from .curve_table import CENTRE, CurveTable, Found, positions
from .masks import counts_of_text, outline_of_runs

_CROWDS = Reason("crowds")
# Three points, two numbers each.
_MIN_NUMBERS = 6


def is_coco(content: Any) -> bool:
    """Whether a JSON value is a file of COCO annotations."""
    if isinstance(content, list):  # as results of a detector are saved
        return bool(content) and all(isinstance(one, dict) and "image_id" in one for one in content)
    annotations = content.get("annotations") if isinstance(content, dict) else None
    if not isinstance(annotations, list) or not all(isinstance(one, dict) for one in annotations):
        return False
    return "images" in content or any("segmentation" in one for one in annotations)


def read_coco(content: Any, _: StrPath) -> Found:
    """Return the outlines of the annotations, with image and category as features."""
    content = {"annotations": content} if isinstance(content, list) else content
    images = {image["id"]: image for image in content.get("images", [])}
    kinds = {kind["id"]: str(kind.get("name", kind["id"])) for kind in content.get("categories", [])}
    found = Found()
    # COCO marks groups of objects, which are stored as masks; CVAT marks every mask.
    are_groups = any(not annotation.get("iscrowd") for annotation in content["annotations"])
    for annotation in content["annotations"]:
        if annotation.get("iscrowd") and are_groups:
            found.dropped[_CROWDS] += 1
            continue
        image = images.get(annotation.get("image_id"), {})
        name = str(image.get("file_name", image.get("id", "")))
        row = {"image": name, "category": kinds.get(annotation.get("category_id"), "")}
        with found.entry():
            found.add(_outline(annotation.get("segmentation"), found), annotation.get("id", len(found.ids) + 1), row)
    return found


def _outline(shape: Any, found: Found) -> Real | None:
    """Return the outline of an object in our pixels."""
    if isinstance(shape, dict):
        counts = shape["counts"]
        rows, columns = (int(side) for side in shape["size"])
        counts = counts_of_text(counts) if isinstance(counts, str) else counts
        return outline_of_runs(found, counts, (rows, columns), by_columns=True, image=(rows, columns))
    if shape and not isinstance(shape[0], list):  # a polygon that is not in a list
        shape = [shape]
    rings = [_ring(numbers) for numbers in shape or [] if len(numbers) >= _MIN_NUMBERS]
    outline = found.outline_of(rings)
    return None if outline is None else outline - CENTRE


def _ring(numbers: list[Any]) -> Real:
    """Return the vertices of a polygon of COCO: x, y, x, y, …"""
    if len(numbers) % 2:
        raise ContentError(f"a polygon of {len(numbers)} numbers: x and y must come in pairs")
    return positions(np.reshape(np.array(numbers, dtype=np.float64), (-1, 2)))


def write_coco(table: CurveTable, path: Path, original: Tree | None, before: CurveTable | None) -> bytes:
    """Return a file of COCO polygons; all but the outlines is taken from the original, if there is one."""
    content = original or {"images": [], "categories": [], "annotations": []}
    images = {str(image.get("file_name", image["id"])): image["id"] for image in content.get("images", [])}
    kinds = {str(kind.get("name", kind["id"])): kind["id"] for kind in content.get("categories", [])}
    entries = {one.get("id", f"entry {place}"): one for place, one in enumerate(content["annotations"])}
    number = max([0, *(key for key in entries if isinstance(key, int))])
    stem = table.ensemble.name or path.stem

    def annotation(entry: Tree | None, curve: Real, row: Mapping[str, Any]) -> Tree:
        nonlocal number
        if entry is None:
            number += 1
            image, kind = value_of(row, IMAGES, stem), value_of(row, CLASSES, "object")
            entry = {
                "id": number,
                "image_id": images.setdefault(image, 1 + max([0, *images.values()])),
                "category_id": kinds.setdefault(kind, 1 + max([0, *kinds.values()])),
            }
        points = np.array(points_of(curve))
        low, high = points.min(axis=0), points.max(axis=0)
        measured = {
            "segmentation": [points.ravel().tolist()],
            "area": round(abs(signed_area(curve)), 4),
            "bbox": np.round([*low, *(high - low)], 4).tolist(),
            "iscrowd": 0,
        }
        return {**entry, **measured}

    annotations = merged(entries, before, table, annotation)
    stated = {image["id"]: image for image in content.get("images", [])}
    classes = {kind["id"]: kind for kind in content.get("categories", [])}
    return json.dumps(
        {
            **content,
            "images": [stated.get(key, {"id": key, "file_name": image}) for image, key in images.items()],
            "categories": [classes.get(key, {"id": key, "name": kind}) for kind, key in kinds.items()],
            "annotations": annotations,
        }
    ).encode()
