"""Text formats of shape analysis programs: chain codes (SHAPE, Momocs, ktch), TPS curves, plain coordinates."""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np

from .._types import Real
from ..archive import ContentError, StrPath
from ..budget import reserve, reserve_curves
from ..outlines.order import outlines_in
from ..outlines.reasons import Reason
from ..words import listed
from .content import bytes_of, number_in
from .curve_table import FORMAT, LAYOUT, Found, positions

# Steps (row, column) of the eight directions, counterclockwise from the right: 3 2 1 / 4 * 0 / 5 6 7.
_DIRECTIONS = np.array([(0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0), (1, 1)], dtype=np.float64)
_HEADER = 5
# Memory in bytes per character of text, as every second one may be a separate word.
_BYTES_PER_CHARACTER = 32
_END = "-1"


def _text(path: StrPath) -> str:
    content = bytes_of(path)
    reserve(len(content) * _BYTES_PER_CHARACTER)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")  # written by older Windows programs


def read_chain_codes(path: StrPath) -> Found:
    """Read the outlines of a .chc file: name, x, y, mm² per pixel, pixels, then directions 0 to 7 and -1 for each.

    The outlines are in mm if the first of them states the pixel area, and in pixels otherwise.
    """
    found = Found()
    areas = []
    words = _text(path).split()
    reserve_curves(len(words))
    for name, (x, y, area), chain in _chains(words):
        areas.append(area)
        found.add(np.cumsum(_DIRECTIONS[chain], axis=0), name, {"x": x, "y": y})
    if areas and areas[0] > 0:
        if len(set(areas)) > 1:
            raise ContentError(f"its outlines have {len(set(areas))} different pixel areas: split the file by scale")
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
    """Read the curves of a .tps file, y upwards; SCALE is applied per specimen, landmarks are only counted."""
    found = Found()
    scaled: list[str] = []
    unscaled: list[str] = []
    lines = _text(path).splitlines()
    starts = [number for number, line in enumerate(lines) if re.match(r"(?i)\s*LM3?\s*=", line)]
    for start, stop in pairwise([0, *starts, len(lines)]):
        fields: dict[str, str] = {}
        outlines: list[tuple[str, list[str]]] = []
        points: list[str] = []  # of the landmarks or the last outline
        for line in lines[start:stop]:
            name, equals, value = line.partition("=")
            if not equals:
                points += [line] if line.strip() else []
                continue
            points = []
            if name.strip().upper() == "POINTS":
                outlines.append((value.strip(), points))
            else:
                fields[name.strip().upper()] = value.strip()
        found.dropped[Reason("landmarks")] += int(fields.get("LM", 0) or 0)
        specimen = fields.get("ID") or fields.get("IMAGE") or str(len(found.ids) + 1)
        scale = _scale(fields, specimen)
        if outlines:
            (scaled if "SCALE" in fields else unscaled).append(specimen)
        for number, (count, own) in enumerate(outlines, start=1):
            reserve_curves(len(own), 1)
            vertices = _numbers(own)[: int(count)]
            if len(vertices) < int(count):
                raise ContentError(f"POINTS={count}, but {len(vertices)} points follow")
            name = specimen if len(outlines) == 1 else f"{specimen}/{number}"
            found.add(positions(vertices * (1, -1)) * scale, name, {})
    if scaled and unscaled:
        raise ContentError(
            f"{len(unscaled)} of {len(scaled) + len(unscaled)} specimens have no SCALE: {listed(unscaled)}. Sizes "
            "would be in different units: give the SCALE of each, or of none"
        )
    return found


def _scale(fields: Mapping[str, str], specimen: str) -> float:
    """Return the length of a pixel of a specimen, 1 where none is stated."""
    text = fields.get("SCALE", "1")
    scale = number_in(text)
    if scale is None or not 0 < scale < np.inf:
        what = f"SCALE={text[:40]} is not a number above 0" if text else "SCALE= has no number"
        raise ContentError(f"specimen {specimen[:40]}: {what}: correct it, or remove the line from all specimens")
    return scale


def read_coordinates(path: StrPath) -> Found:
    """Read the outlines of a text file of x and y (rightwards, downwards), one vertex per line.

    Blank lines, and those that begin with # or >, are between outlines.
    """
    lines = _text(path).splitlines()
    reserve_curves(len(lines))
    blocks = [
        list(block) for some, block in groupby(lines, lambda line: line.strip()[:1] not in ("", "#", ">")) if some
    ]
    curves = [positions(_numbers(block)) for block in blocks]
    if len(curves) == 1 and (count := outlines_in(curves[0])):
        raise ContentError(f"holds at least {count} outlines that no blank lines tell apart: put one between any two")
    stem = Path(path).stem
    names = [stem] if len(curves) == 1 else [f"{stem}/{number}" for number in range(1, len(curves) + 1)]
    return Found(curves, names)


def _numbers(lines: list[str]) -> Real:
    """Parse pairs of numbers separated by spaces, tabs, commas or semicolons, skipping a header line."""
    lines = [line.strip() for line in lines]
    commas = any(re.search(r"\d,\d+[\s;]+\S*\d,\d", line) for line in lines)  # decimal ones: "1,5 2,5", "1,5; 2"
    rows = [re.split(r"[\s;]+" if commas else r"[\s,;]+", line) for line in lines]
    cells = [[number_in(word.replace(",", ".")) for word in row if word] for row in rows]
    if cells and None in cells[0]:
        cells = cells[1:]
    if not any(len(row) == 2 and None not in row for row in cells):
        raise ContentError("holds no lines of two numbers, x and y")
    if wrong := next(
        (line for line, row in zip(lines[::-1], cells[::-1], strict=False) if len(row) != 2 or None in row), ""
    ):
        raise ContentError(f"holds {wrong[:40]!r} instead of two numbers, x and y")
    return np.array(cells, dtype=np.float64)
