"""Whether the vertices of a curve follow an outline: those from other programs and from other code need not.

Boundary pixels in the order of rows, landmarks, centers of objects, missing points entered as (-1, -1) and several
outlines in one sequence all have the form of a curve, and are none.
"""

import numpy as np
import shapely

from .._types import Real
from .reasons import Reason

#: Minimum vertices for jump detection; and jump threshold in median steps.
MANY_VERTICES, MIN_JUMP = 30, 20
#: Outlines with a circularity 4πA/L² above this are not examined: of any order they would be far longer.
MAX_CIRCULARITY = 0.35
#: Coordinates of a missing point.
MISSING_POINT = -1.0
# An outline crosses itself everywhere if it does so this often, and once in this many of its edges.
_MIN_CROSSINGS, _MAX_EDGES_PER_CROSSING = 3, 12
# Vertices fill an area if their rows and columns are so few, and at least one in so many has all four neighbors.
_MAX_CELLS_PER_VERTEX, _MAX_VERTICES_PER_INNER = 20, 4
# Decimals of the extent of an outline to which its crossings are found.
_DECIMALS = 9
# Minimum vertices of a curve, and of each of several outlines in one.
_MIN_VERTICES, _MIN_PIECE = 3, 8
# An outline closes on itself if its last edge is at most this many times its median edge; one of few vertices, half.
_MAX_CLOSING_EDGE, _FEW_VERTICES = 4.0, 12

CROSSING, SEVERAL, MISSING = Reason("order"), Reason("several"), Reason("missing points")


def fault_of(curve: Real) -> Reason | None:
    """Return why a curve of finite vertices is no outline; None for an outline."""
    if len(curve) <= _MIN_VERTICES:
        return None
    missing = (curve == MISSING_POINT).all(axis=1)
    if missing.any() and (curve[~missing] >= 0).all():
        return MISSING
    if outlines_in(curve):
        return SEVERAL
    return CROSSING if _fills_area(curve) or _crosses_everywhere(curve) else None


def is_closed(curve: Real, most: float = _MAX_CLOSING_EDGE) -> bool:
    """Whether a row of vertices is an outline: it ends where it began, within this many median edges."""
    edges = np.linalg.norm(np.diff(curve, axis=0), axis=1)
    closing = float(np.linalg.norm(curve[-1] - curve[0]))
    allowed = min(most, 2) if len(curve) < _FEW_VERTICES else most
    return len(curve) > _MIN_VERTICES and closing <= allowed * float(np.median(edges))


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


def _fills_area(curve: Real) -> bool:
    """Whether the vertices are the pixels of an object, rather than those at its boundary."""
    (rows, down), (columns, across) = (np.unique(axis, return_inverse=True) for axis in curve.T)
    if len(rows) * len(columns) > _MAX_CELLS_PER_VERTEX * len(curve):
        return False
    filled = np.zeros((len(rows) + 2, len(columns) + 2), dtype=np.bool_)
    filled[down + 1, across + 1] = True
    center = filled[1:-1, 1:-1]
    inside = center & filled[:-2, 1:-1] & filled[2:, 1:-1] & filled[1:-1, :-2] & filled[1:-1, 2:]
    return bool(_MAX_VERTICES_PER_INNER * np.count_nonzero(inside) > np.count_nonzero(center))


def _crosses_everywhere(curve: Real) -> bool:
    half = curve / 2 - curve.min(axis=0) / 2  # extents of the largest numbers would overflow
    if not (extent := float(half.max())):
        return False
    # On a grid, as GEOS divides by the lengths of edges, and finds crossings of any edges there.
    ring = shapely.linearrings(np.round(half / extent, _DECIMALS))
    if shapely.is_simple(ring):
        return False
    # At a crossing, two edges become four pieces of a line.
    pieces = shapely.get_parts(shapely.unary_union(ring, grid_size=10.0**-_DECIMALS))
    return (len(pieces) - 1) // 2 >= max(_MIN_CROSSINGS, len(curve) / _MAX_EDGES_PER_CROSSING)
