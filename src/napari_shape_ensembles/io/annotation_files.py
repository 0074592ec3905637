"""What readers and writers of annotation files share: polygons around pixels, and the entries of a file written back.

Files of annotations count coordinates from the outer corner of the first pixel, and state more of an object than its
outline. Where outlines of a file were corrected, all else in it is kept.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from .._types import Real
from ..archive import ContentError
from .curve_table import CENTRE, CurveTable

Entry = TypeVar("Entry")

#: Columns for the image and the class of an object, in the order of preference.
IMAGES, CLASSES = ("image",), ("category", "label", "class", "classification", "kind")
#: Number of vertices of an ellipse or a circle.
_ROUND = 180
# Outlines whose vertices differ by less, in pixels, were not changed.
_TOLERANCE = 1e-6


def ellipse(x: float, y: float, radius_x: float, radius_y: float, degrees: float = 0) -> Real:
    """Return the outline of an ellipse as (m, 2) points x, y; the angle turns it clockwise on the screen."""
    u = 2 * np.pi * np.arange(_ROUND) / _ROUND
    around = np.stack([radius_x * np.cos(u), radius_y * np.sin(u)], axis=1)
    center = np.array([x, y])
    return _turned(around, degrees) + center


def box(x: float, y: float, width: float, height: float, degrees: float = 0, *, about_center: bool = True) -> Real:
    """Return the corners of a rectangle as (4, 2) points x, y; the angle turns it clockwise on the screen.

    `x`, `y` is its upper left corner, around which or around whose center it turns.
    """
    corners = np.array([(0, 0), (width, 0), (width, height), (0, height)], dtype=np.float64)
    pivot = (width / 2, height / 2) if about_center else (0, 0)
    return _turned(corners - pivot, degrees) + np.add(pivot, (x, y))


def _turned(points: Real, degrees: float) -> Real:
    cosine, sine = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    turned: Real = points @ np.array([[cosine, sine], [-sine, cosine]])
    return turned


def points_of(curve: Real) -> list[list[float]]:
    """Return a curve in our pixels as points x, y of an annotation file, with four decimals."""
    return np.round(curve[:, ::-1] + CENTRE, 4).tolist()


def value_of(row: Mapping[str, Any], names: tuple[str, ...], otherwise: str = "") -> str:
    """Return the first of these features that is not empty, as text."""
    stated = (str(row[name]) for name in names if name in row)
    return next((text for text in stated if text and text != "nan"), otherwise)


def merged(
    entries: Mapping[Any, Entry],
    before: CurveTable | None,
    table: CurveTable,
    entry_of: Callable[[Entry | None, Real, Mapping[str, Any]], Entry],
) -> list[Entry]:
    """Return the entries of a file of which outlines were corrected.

    Parameters
    ----------
    entries : mapping
        All entries of the original file by id: also those that are no outlines, which are kept.
    before : CurveTable, optional
        The outlines that were read from it.
    table : CurveTable
        The outlines as they are now: what has an id of `before` replaces it, unless it is the same.
    entry_of : callable
        Makes the entry of an outline in our pixels from the entry that it replaces, if any, and its features.
    """
    pixels = table.pixels
    now = dict(zip(table.ensemble.ids.tolist(), zip(pixels, table.rows, strict=True), strict=True))
    earlier = {} if before is None else dict(zip(before.ensemble.ids.tolist(), before.pixels, strict=True))
    if earlier.keys() - entries.keys():
        raise ContentError("ids of its objects repeat, so corrections cannot be assigned: save under a new name")
    result: list[Entry] = []
    for key, entry in entries.items():
        if key not in earlier:
            result.append(entry)
        elif key in now:
            curve, row = now.pop(key)
            same = curve.shape == earlier[key].shape and np.allclose(curve, earlier[key], rtol=0, atol=_TOLERANCE)
            result.append(entry if same else entry_of(entry, curve, row))
    return [*result, *(entry_of(None, curve, row) for curve, row in now.values())]
