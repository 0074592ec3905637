"""Segmentation labels of YOLO: one text file per image, of lines "class x1 y1 x2 y2 …" in fractions of the image."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._types import Real
from ..archive import ContentError, StrPath
from ..budget import reserve_curves
from ..outlines.reasons import Reason
from .annotation_files import merged
from .curve_table import CENTRE, CurveTable, Found, positions
from .images import ENDINGS

_BOXES = Reason("boxes without an outline")
# A class and three points; and a class and a box, with a confidence or without.
_MIN_WORDS, _BOX_WORDS = 7, (5, 6)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_CLASSES = "classes.txt"


def is_yolo(text: str) -> bool:
    """Whether a text holds segmentation labels of YOLO."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    boxes = len(lines) > 1 and all(len(words) in _BOX_WORDS for words in lines)  # which are counted as left out
    return (boxes or any(len(words) >= _MIN_WORDS for words in lines)) and all(_is_label(words) for words in lines)


def _is_label(words: list[str]) -> bool:
    """Whether the words of a line are a class and fractions; a polygon may end with a confidence."""
    if len(words) < min(_BOX_WORDS) or not words[0].isdecimal():
        return False
    return all(_NUMBER.fullmatch(word) is not None and -0.5 <= float(word) <= 1.5 for word in words[1:])


def read_yolo(text: str, path: StrPath) -> Found:
    """Return the outlines, numbered by their lines, with the class as a feature; its name, if beside `classes.txt`."""
    path = Path(path)
    rows, columns = size_of_image(path)
    names = _names_beside(path)
    found = Found()
    lines = text.splitlines()
    reserve_curves(text.count(" ") // 2, len(lines))
    for number, words in enumerate((line.split() for line in lines), start=1):
        if len(words) in _BOX_WORDS:
            found.dropped[_BOXES] += 1
        elif words:
            values = np.array(words[1:], dtype=np.float64)
            points = values[: len(values) // 2 * 2].reshape(-1, 2) * (columns, rows)
            kind = names[place] if (place := int(words[0])) < len(names) else words[0]
            found.add(positions(points) - CENTRE, number, {"class": kind, "image": path.stem})
    return found


def size_of_image(path: Path) -> tuple[int, int]:
    """Return rows and columns of the image to which labels belong: beside them, or in images/ beside labels/.

    Raises
    ------
    ValueError
        If there is no such image: fractions of an unknown size are no outlines.
    """
    from PIL import Image

    folders = [path.parent, path.parent.parent / "images"]
    if "labels" in path.parent.parts:
        parts = list(path.parent.parts)
        place = len(parts) - 1 - parts[::-1].index("labels")
        folders.append(Path(*parts[:place], "images", *parts[place + 1 :]))
    for folder in folders:
        beside = {image.name.lower(): image for image in (folder.iterdir() if folder.is_dir() else ())}
        for ending in ENDINGS:
            image = beside.get(f"{path.stem}{ending}".lower())
            if image is None or not image.is_file():
                continue
            if ending == ".npy":
                rows, columns = np.load(image, "r", allow_pickle=False).shape[:2]
                return int(rows), int(columns)
            most, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
            try:
                with Image.open(image) as opened:  # reads the header only
                    return opened.height, opened.width
            finally:
                Image.MAX_IMAGE_PIXELS = most
    raise ContentError(
        f"holds coordinates in fractions of an image (YOLO), whose size is unknown: put the image {path.stem}.png (or "
        ".tif, .jpg, …) beside it, or the labels into a folder labels and the images into images beside that"
    )


def _names_beside(path: Path) -> list[str]:
    files = [folder / _CLASSES for folder in (path.parent, path.parent.parent)]
    listed = next((file for file in files if file.is_file()), None)
    if listed is None or listed.stat().st_size > 2**20:
        return []
    return [line.strip() for line in listed.read_text("utf-8", "replace").splitlines()]


def write_yolo(table: CurveTable, path: Path, original: str | None, before: CurveTable | None) -> bytes:
    """Return labels of YOLO in fractions of the image beside the file; other lines of the original are kept."""
    rows, columns = size_of_image(path)
    names = _names_beside(path)
    lines = {number: line for number, line in enumerate((original or "").splitlines(), start=1) if line.strip()}

    def line(entry: str | None, curve: Real, row: Mapping[str, Any]) -> str:
        stated = str(row.get("class", "0"))
        kind = entry.split()[0] if entry else str(names.index(stated)) if stated in names else stated
        if not kind.isdecimal():
            raise ContentError(f"YOLO numbers classes, and there is no {_CLASSES} beside it that names {kind[:40]!r}")
        fractions = (curve[:, ::-1] + CENTRE) / (columns, rows)
        return " ".join([kind, *(f"{value:.6f}" for value in fractions.ravel())])

    return "".join(f"{one}\n" for one in merged(lines, before, table, line)).encode()
