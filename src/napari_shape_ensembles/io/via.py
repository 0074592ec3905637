"""Annotations of VIA, the VGG Image Annotator: polygons, and polylines that are closed."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..archive import ContentError, StrPath
from ..outlines.order import is_closed
from ..outlines.reasons import NOT_POLYGON, OPEN
from .curve_table import CENTRE, Found, positions

if TYPE_CHECKING:
    import pandas as pd

#: Column of the outlines in an export of VIA as a table.
REGIONS = "region_shape_attributes"


def via_of_table(frame: "pd.DataFrame") -> dict[str, Any]:
    """Return an export of VIA as a table in the form of one as JSON."""
    images: dict[str, Any] = {}
    rows = zip(frame.iloc[:, 0], frame[REGIONS], frame.get("region_attributes", [None] * len(frame)), strict=True)
    for place, (image, shape, stated) in enumerate(rows, start=2):
        try:
            region = {"shape_attributes": json.loads(shape), "region_attributes": json.loads(stated or "{}")}
        except (TypeError, ValueError) as error:
            raise ContentError(f"row {place} holds a damaged region ({str(error)[:80]})") from error
        of = images.setdefault(str(image), {"filename": str(image), "regions": []})
        if region["shape_attributes"]:  # an image without regions has one row
            of["regions"].append(region)
    return images


def is_via(content: Any) -> bool:
    """Whether a JSON value is a VIA project or an export of its annotations."""
    return _images(content) is not None


def _images(content: Any) -> list[Mapping[str, Any]] | None:
    """Return the images of a VIA project or annotation export; None for anything else."""
    if not isinstance(content, dict):
        return None
    metadata = content.get("_via_img_metadata", content)
    images = list(metadata.values()) if isinstance(metadata, dict) else []
    known = images and all(isinstance(image, dict) and "regions" in image and "filename" in image for image in images)
    return images if known else None


def read_via(content: Any, _: StrPath) -> Found:
    """Return the polygons, with image and region attributes as features."""
    found = Found()
    regions = ((image["filename"], image["regions"]) for image in _images(content) or [])
    listed = ((name, of.values() if isinstance(of, dict) else of) for name, of in regions)
    for image, region in ((str(name), region) for name, of in listed for region in of):
        shape = region["shape_attributes"]
        if shape.get("name") not in ("polygon", "polyline") or "all_points_x" not in shape:
            found.dropped[NOT_POLYGON] += 1
            continue
        row = {"image": image}
        for name, value in (region.get("region_attributes") or {}).items():  # checked options are joined
            row[str(name)] = ", ".join(map(str, value)) if isinstance(value, dict | list) else str(value)
        with found.entry():
            vertices = positions(np.array([shape["all_points_x"], shape["all_points_y"]], dtype=np.float64).T)
            if shape["name"] == "polygon" or is_closed(vertices, most=1):  # drawn around an object, or a line
                found.add(vertices - CENTRE, len(found.ids) + 1, row)
            else:
                found.dropped[OPEN] += 1
    return found
