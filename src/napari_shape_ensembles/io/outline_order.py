"""Whether the vertices of curves follow an outline: in files of other programs they need not.

Boundary pixels in the order of rows, landmarks, centers of objects, missing points entered as (-1, -1) and several
outlines under one id all have the form of a curve, and are none.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from .._types import Real
from ..archive import ContentError
from ..outlines.offsets import following
from ..outlines.reasons import Reason
from ..words import counted
from .columns import MANY_VERTICES, MIN_JUMP, is_closed

# Outlines with a circularity 4πA/L² above this are not examined: of any order they would be far longer.
_MAX_CIRCULARITY = 0.35
# An outline crosses itself everywhere if it does so this often, and once in this many of its edges.
_MIN_CROSSINGS, _MAX_EDGES_PER_CROSSING = 3, 12
_MISSING_POINT, _TRIANGLE = -1.0, 3
# Outlines are larger than this many pixels; degrees lie within the others.
_LEAST_PIXELS, _LATITUDE, _LONGITUDE = 0.5, 91, 181
# Minimum vertices of each of several outlines in one.
_MIN_PIECE = 8

_CROSSING, _SEVERAL, _MISSING = Reason("order"), Reason("several"), Reason("missing points")
_REMEDIES = {
    _CROSSING: "cross themselves everywhere: their vertices do not follow the outline. Sort them around the object, "
    "or export outlines (polygons) or labels instead of pixels, centers or landmarks",
    _SEVERAL: "consist of several closed outlines each, under one id: ids that start again in each image or frame need "
    "a column of it",
    _MISSING: "have missing points, given as (-1, -1): remove these",
}


def rejected(curves: Sequence[Real], ids: NDArray[Any]) -> dict[int, Reason]:
    """Return the curves that are no outlines, with the reasons.

    Parameters
    ----------
    curves : sequence of (m, 2) arrays
    ids : (N,) array
        For the message.

    Raises
    ------
    ValueError
        If they are most of the curves, with the remedy.
    """
    found = {index: reason for index in _suspects(curves) if (reason := _fault(curves[index]))}
    if 2 * len(found) > len(curves):
        reason = max(_REMEDIES, key=list(found.values()).count)
        first = next(index for index, one in found.items() if one == reason)
        raise ContentError(
            f"{list(found.values()).count(reason)} of {counted(len(curves), 'curve')} (such as {ids[first]}) "
            f"{_REMEDIES[reason]}"
        )
    return found


def _suspects(curves: Sequence[Real]) -> list[int]:
    """Return the curves that are far longer than outlines of their area, and those with a missing point."""
    counts = np.array([len(curve) for curve in curves], dtype=np.int64)
    kept = np.flatnonzero(counts > _TRIANGLE)
    if not len(kept):
        return []
    offsets = np.append(0, np.cumsum(counts[kept]))
    vertices = np.concatenate([curves[index] for index in kept.tolist()])
    starts, after = offsets[:-1], following(offsets)
    x, y = (vertices - np.repeat(vertices[starts], counts[kept], axis=0)).T
    with np.errstate(invalid="ignore", over="ignore"):
        areas = np.abs(np.add.reduceat(x * y[after] - x[after] * y, starts)) / 2
        lengths = np.add.reduceat(np.hypot(x[after] - x, y[after] - y), starts)
        long = 4 * np.pi * areas <= _MAX_CIRCULARITY * lengths**2  # False for NaN
    missing = np.logical_or.reduceat((vertices == _MISSING_POINT).all(axis=1), starts)
    return [int(index) for index in kept[long | missing]]


def _fault(curve: Real) -> Reason | None:
    missing = (curve == _MISSING_POINT).all(axis=1)
    if not np.isfinite(curve).all():
        return None
    if missing.any() and (curve[~missing] >= 0).all():
        return _MISSING
    if outlines_in(curve):
        return _SEVERAL
    return _CROSSING if _crosses_everywhere(curve) else None


def outlines_in(curve: Real) -> int:
    """Return the number of closed outlines of which a curve consists, with jumps between them; 0 for one outline.

    The pieces between the long edges of an outline, such as the corners of a rectangle, are not closed.
    """
    if len(curve) < MANY_VERTICES:
        return 0
    lengths = np.linalg.norm(np.roll(curve, -1, axis=0) - curve, axis=1)
    jumps = np.flatnonzero(lengths > MIN_JUMP * np.median(lengths)) + 1
    if len(jumps) < 2:
        return 0
    pieces = np.split(np.roll(curve, -jumps[0], axis=0), jumps[1:] - jumps[0])
    closed = sum(len(piece) >= _MIN_PIECE and is_closed(piece) for piece in pieces)
    return len(pieces) if 2 * closed > len(pieces) else 0


def _crosses_everywhere(curve: Real) -> bool:
    ring = shapely.linearrings(curve)
    if shapely.is_simple(ring):
        return False
    # At a crossing, two edges become four pieces of a line.
    crossings = (len(shapely.get_parts(shapely.node(ring))) - 1) // 2
    return crossings >= max(_MIN_CROSSINGS, len(curve) / _MAX_EDGES_PER_CROSSING)


def refuse_degrees(curves: Sequence[Real]) -> None:
    """Raise for outlines that are smaller than a pixel and lie where longitudes and latitudes do.

    GeoJSON is in degrees by its specification, and in pixels in QuPath.
    """
    known = [curve for curve in curves if np.isfinite(curve).all()]
    if not known:
        return
    size = float(np.median([np.ptp(curve, axis=0).max() for curve in known]))
    low, high = (bound([bound(curve, axis=0) for curve in known], axis=0) for bound in (np.min, np.max))
    if size < _LEAST_PIXELS and (np.maximum(abs(low), abs(high)) <= (_LATITUDE, _LONGITUDE)).all():
        raise ContentError(
            f"its outlines measure {size:.2g} in the median, which may be degrees: export them in pixels or a unit of "
            "length"
        )
