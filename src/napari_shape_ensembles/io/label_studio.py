"""Annotations of Label Studio (JSON, JSON-MIN): polygons, boxes and ellipses in percent, and brush strokes.

A brush mask is a stream of bits: the number of values (32 bits), their size less one (5 bits), four sizes of run
lengths less one (4 bits each), then runs: one bit tells whether a single value is repeated, two bits which size the
length has, then the length less one and the value or values. The values are the channels red, green, blue and alpha of
each pixel, of which alpha is the mask.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

from .._types import Mask, Real
from ..archive import ContentError, StrPath
from ..budget import budget, reserve
from ..outlines.reasons import NOT_POLYGON, OPEN, Reason
from .annotation_files import box, ellipse
from .curve_table import CENTRE, Found, positions
from .masks import outline_of_mask

_OTHERS = Reason("by other annotators, of the same objects")
# Channels of a pixel, and bytes of the values of a mask and its copies.
_CHANNELS, _BYTES_PER_VALUE = 4, 3
# Bits of a value.
_MAX_WORD = 16


def is_label_studio(content: Any) -> bool:
    """Whether a JSON value is an export of Label Studio."""
    if not (isinstance(content, list) and content and all(isinstance(task, dict) for task in content)):
        return False
    tasks = all(isinstance(task.get("annotations", task.get("completions")), list) for task in content)
    return (tasks and all("data" in task for task in content)) or any(_regions_of_control(task) for task in content)


def read_label_studio(content: list[Mapping[str, Any]], _: StrPath) -> Found:
    """Return the outlines of the regions, with image and label as features.

    Of several annotations of one task, by as many people, the first that was not cancelled is used.
    """
    found = Found()
    for task in content:
        image = _image_of(task)
        for region in _regions(task, found):
            with found.entry():
                outline, name = _outline(region, found), str(region.get("id", len(found.ids) + 1))
                found.add(outline, name, {"image": image, "label": _label_of(region)})
    return found


def _image_of(task: Mapping[str, Any]) -> str:
    data = task.get("data", task)
    stated = next((value for value in data.values() if isinstance(value, str)), "") if isinstance(data, dict) else ""
    return PurePosixPath(unquote(urlsplit(str(stated)).path)).name


def _regions(task: Mapping[str, Any], found: Found) -> Iterator[Mapping[str, Any]]:
    annotations = task.get("annotations", task.get("completions"))
    if annotations is None:
        yield from _regions_of_control(task)
        return
    valid = [one for one in annotations if isinstance(one, dict) and not one.get("was_cancelled")]
    for place, annotation in enumerate(valid):
        regions = [region for region in annotation.get("result") or [] if isinstance(region, dict)]
        if place:
            found.dropped[_OTHERS] += sum("original_width" in region for region in regions)
        else:
            yield from regions


def _regions_of_control(task: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the regions of a task of JSON-MIN, which lie under the name of the control that drew them."""
    lists = [value for value in task.values() if isinstance(value, list)]
    return [region for one in lists for region in one if isinstance(region, dict) and "original_width" in region]


def _label_of(region: Mapping[str, Any]) -> str:
    value = region.get("value", region)
    labels: list[Any] = next(
        (value[name] for name in value if name.endswith("labels") and isinstance(value[name], list)), []
    )
    return ", ".join(map(str, labels))


def _outline(region: Mapping[str, Any], found: Found) -> Real | None:
    value = region.get("value", region)
    if not {"points", "rle", "radiusX", "width"} & value.keys():
        if "original_width" in region:  # a key point or the like; other results are no regions
            found.dropped[NOT_POLYGON] += 1
        return None
    if value.get("closed") is False:
        found.dropped[OPEN] += 1
        return None
    width, height = int(region["original_width"]), int(region["original_height"])
    if "rle" in value:
        return outline_of_mask(found, _decoded(value["rle"], height, width), (0, 0), (height, width))
    percent = (width / 100, height / 100)
    degrees = float(value.get("rotation", 0))
    if "points" in value:
        return positions(np.array(value["points"], dtype=np.float64) * percent) - CENTRE
    x, y = value["x"] * percent[0], value["y"] * percent[1]
    if "radiusX" in value:
        points = ellipse(x, y, value["radiusX"] * percent[0], value["radiusY"] * percent[1], degrees)
    else:
        points = box(x, y, value["width"] * percent[0], value["height"] * percent[1], degrees, about_center=False)
    return positions(points) - CENTRE


def _decoded(numbers: Any, height: int, width: int) -> Mask:
    """Return the pixels of a brush mask."""
    with budget():
        reserve(8 * len(numbers) + height * width * _CHANNELS * _BYTES_PER_VALUE)
        bits = np.unpackbits(np.array(numbers, dtype=np.uint8))
        place = 0

        def number(size: int) -> int:
            nonlocal place
            if place + size > len(bits):
                raise ContentError("a brush mask is incomplete")
            place += size
            return int("".join(map(str, bits[place - size : place])), 2)

        count, word = number(32), number(5) + 1
        if count != height * width * _CHANNELS or word > _MAX_WORD:
            raise ContentError(f"a brush mask of {count} values does not match an image of {height} × {width} pixels")
        sizes = [number(4) + 1 for _ in range(4)]
        values = np.zeros(count, dtype=np.uint16)
        done = 0
        while done < count:
            repeated = number(1)
            length = number(sizes[number(2)]) + 1
            if repeated:
                values[done : done + length] = number(word)
            else:
                end = place + length * word
                if end > len(bits) or done + length > count:
                    raise ContentError("a brush mask is incomplete")
                weights = 1 << np.arange(word)[::-1]
                values[done : done + length] = bits[place:end].reshape(length, word) @ weights
                place = end
            done += length
        return np.asarray(values.reshape(height, width, _CHANNELS)[..., -1] > 0)
