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
from ..outlines.reasons import Reason
from ..words import counted
from .columns import MANY_VERTICES, MIN_JUMP, is_closed

# Outlines with a circularity 4πA/L² above this are not examined: of any order they would be far longer.
_MAX_CIRCULARITY = 0.35
# An outline crosses itself everywhere if it does so this often, and once in this many of its edges.
_MIN_CROSSINGS, _MAX_EDGES_PER_CROSSING = 3, 12
_MISSING_POINT = -1.0
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
    found: dict[int, Reason] = {}
    for index, curve in enumerate(curves):
        if len(curve) > 3 and np.isfinite(curve).all() and (reason := _fault(curve)):
            found[index] = reason
    if 2 * len(found) > len(curves):
        reason = max(_REMEDIES, key=list(found.values()).count)
        first = next(index for index, one in found.items() if one == reason)
        raise ContentError(
            f"{list(found.values()).count(reason)} of {counted(len(curves), 'curve')} (such as {ids[first]}) "
            f"{_REMEDIES[reason]}"
        )
    return found


def _fault(curve: Real) -> Reason | None:
    missing = (curve == _MISSING_POINT).all(axis=1)
    if missing.any() and (curve[~missing] >= 0).all():
        return _MISSING
    x, y = (curve - curve[0]).T
    edges = np.roll(curve, -1, axis=0) - curve
    lengths = np.hypot(*edges.T)
    area = abs(float(x @ np.roll(y, -1) - np.roll(x, -1) @ y)) / 2
    if 4 * np.pi * area > _MAX_CIRCULARITY * float(lengths.sum()) ** 2:
        return None
    if len(curve) >= MANY_VERTICES and _are_several(curve, lengths):
        return _SEVERAL
    return _CROSSING if _crosses_everywhere(curve) else None


def _are_several(curve: Real, lengths: Real) -> bool:
    """Whether a curve consists of closed outlines, with jumps between them."""
    jumps = np.flatnonzero(lengths > MIN_JUMP * np.median(lengths)) + 1
    if len(jumps) < 2:
        return False
    pieces = np.split(np.roll(curve, -jumps[0], axis=0), jumps[1:] - jumps[0])
    return all(len(piece) >= _MIN_PIECE and is_closed(piece) for piece in pieces)


def _crosses_everywhere(curve: Real) -> bool:
    ring = shapely.linearrings(curve)
    if shapely.is_simple(ring):
        return False
    # At a crossing, two edges become four pieces of a line.
    crossings = (len(shapely.get_parts(shapely.node(ring))) - 1) // 2
    return crossings >= max(_MIN_CROSSINGS, len(curve) / _MAX_EDGES_PER_CROSSING)
