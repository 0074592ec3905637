"""Outlines of shape analysis programs as text: chain codes (SHAPE, Momocs, ktch), TPS curves, plain coordinates."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..archive import ContentError, StrPath
from .content import content_of
from .curve_table import FORMAT, LAYOUT, Found, Real, positions

# Steps (row, column) of the eight directions, counted from the right against the clock: 3 2 1 / 4 * 0 / 5 6 7.
_STEPS = np.array([(0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0), (1, 1)], dtype=np.float64)
_HEADER = 5
_END = "-1"


def _text(path: StrPath) -> str:
    content = content_of(path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")  # older programs on Windows


def read_chain_codes(path: StrPath) -> Found:
    """Outlines of a .chc file: name, x, y, mm² per pixel, pixels, then directions 0 to 7 and -1 for each.

    The outlines are in mm where the first of them states the area of a pixel, and in pixels otherwise.
    """
    found = Found(features={"x": [], "y": []})
    names: list[str] = []
    areas = []
    for name, header, chain in _chains(_text(path).split()):
        names.append(name)
        x, y, area = header
        areas.append(area)
        found.features["x"].append(x)
        found.features["y"].append(y)
        found.curves.append(np.cumsum(_STEPS[chain], axis=0))
    found.ids = names
    if areas and areas[0] > 0:
        if len(set(areas)) > 1:
            raise ContentError(
                f"its outlines have {len(set(areas))} different areas per pixel: split the file by scale"
            )
        side = float(np.sqrt(areas[0]))
        found.meta = {
            "format": FORMAT, "version": LAYOUT, "name": Path(path).stem, "unit": "mm", "scale": [side, side]
        }  # fmt: skip
    return found


def _chains(words: list[str]) -> Iterator[tuple[str, tuple[float, float, float], np.ndarray]]:
    place = 0
    while place < len(words):
        try:
            end = words.index(_END, place + _HEADER)
        except ValueError as error:
            raise ContentError(f"the chain code of {words[place][:40]!r} has no end ({_END})") from error
        x, y, area = (float(word) for word in words[place + 1 : place + 4])
        chain = np.array(words[place + _HEADER : end], dtype=np.int64)
        if ((chain < 0) | (chain > 7)).any():
            raise ContentError(f"the chain code of {words[place][:40]!r} has directions other than 0 to 7")
        if not len(chain):
            raise ContentError(f"the chain code of {words[place][:40]!r} is empty")
        yield words[place], (x, y, area), chain
        place = end + 1


def read_tps(path: StrPath) -> Found:
    """Curves of a .tps file, y pointing up; SCALE is applied per specimen, landmarks are counted."""
    found = Found()
    names: list[str] = []
    for text in re.split(r"(?im)^(?=\s*LM3?\s*=)", _text(path)):
        if not text.strip():
            continue
        fields = dict(re.findall(r"(?im)^\s*(LM3?|ID|IMAGE|SCALE)\s*=\s*(.*?)\s*$", text))
        fields = {key.upper(): value for key, value in fields.items()}
        found.dropped["landmarks"] += int(fields.get("LM", 0) or 0)
        scale = float(fields.get("SCALE", 1))
        if not 0 < scale < np.inf:
            raise ContentError(f"SCALE={fields['SCALE'][:40]}: a scale is a number above 0")
        outlines = re.findall(r"(?im)^\s*POINTS\s*=\s*(\d+)\s*$\n((?:[^=\n]*(?:\n|\Z))*)", text)
        for number, (count, lines) in enumerate(outlines, start=1):
            points = _numbers(lines)[: int(count)]
            if len(points) < int(count):
                raise ContentError(f"POINTS={count}, but {len(points)} points follow")
            found.curves.append(positions(points * (1, -1)) * scale)
            specimen = fields.get("ID") or fields.get("IMAGE") or str(len(names) + 1)
            names.append(specimen if len(outlines) == 1 else f"{specimen}/{number}")
    found.ids = names
    return found


def read_coordinates(path: StrPath) -> Found:
    """Outlines of a text file of x and y (rightwards and downwards), one vertex to a line, blank lines between."""
    blocks = [block for block in re.split(r"\n\s*\n", _text(path).replace("\r\n", "\n")) if block.strip()]
    curves = [positions(_numbers(block)) for block in blocks]
    stem = Path(path).stem
    names = [stem] if len(curves) == 1 else [f"{stem}/{number}" for number in range(1, len(curves) + 1)]
    return Found(curves, names)


def _numbers(lines: str) -> Real:
    """Pairs of numbers parted by blanks, tabs, commas or semicolons; a heading is passed over."""
    rows = [re.split(r"[\s,;]+", line.strip()) for line in lines.splitlines() if line.strip()]
    if rows and not _is_number(rows[0][-1]):
        rows = rows[1:]
    if any(len(row) != 2 for row in rows) or not rows:
        raise ContentError("holds no lines of two numbers, x and y")
    return np.array(rows, dtype=np.float64)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
