"""Periodic cubic splines through many closed curves at once, and their arc lengths.

A ragged ensemble is stored flat: all vertices in one complex array (row + 1j * column) with `offsets`, curve q being
`vertices[offsets[q]:offsets[q + 1]]`. Segment i runs from vertex i to the next vertex of its curve, with a local
parameter u from 0 to 1. Each curve's spline system is a block of one tridiagonal matrix, so a single banded solve is
enough.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray
from scipy.linalg import solveh_banded

from .._types import Complex, Index, Real

Number = TypeVar("Number", np.float64, np.complex128)

# A polygon has at most this many corners, of at least this angle, that make up at least this fraction of its total
# turning. Smooth curves turn at all vertices, pixel steps at far more of them.
MAX_CORNERS, MIN_CORNER_ANGLE, MIN_CORNER_SHARE = 24, np.deg2rad(20), 0.95
# Three Gauss-Legendre nodes give lengths to seventh order in the chord: more accurate than the spline itself.
_NODES, _WEIGHTS = (np.asarray(values) for values in leggauss(3))
NODES: Real = (_NODES + 1) / 2
WEIGHTS: Real = _WEIGHTS / 2


@dataclass(frozen=True)
class RaggedSpline:
    """Piecewise cubics z(u) = c₀ + c₁u + c₂u² + c₃u³, one per segment of every curve.

    Attributes
    ----------
    coefficients : (4, M) complex array
        c₀ to c₃ of the M segments.
    offsets : (N + 1,) int array
        Curve q owns the segments `offsets[q]` to `offsets[q + 1]`.
    """

    coefficients: Complex
    offsets: Index

    def per_segment(self, values: NDArray[Number]) -> NDArray[Number]:
        """Repeat one value per curve for each of its segments, along the last axis."""
        return np.repeat(values, np.diff(self.offsets), axis=-1)

    def at_nodes(self) -> tuple[Complex, Complex]:
        """Positions and derivatives dz/du at the Gauss-Legendre nodes, each (3, M)."""
        powers = NODES[:, None] ** np.arange(4)
        slopes = np.zeros_like(powers)
        slopes[:, 1:] = powers[:, :3] * (1, 2, 3)
        parts = self.coefficients.view(np.float64)
        return (powers @ parts).view(np.complex128), (slopes @ parts).view(np.complex128)


def following(offsets: Index) -> Index:
    """Index of the next vertex of the same curve, for each vertex."""
    following = np.arange(1, offsets[-1] + 1)
    following[offsets[1:] - 1] = offsets[:-1]
    return following


def interpolate(vertices: Complex, offsets: Index, kind: str) -> RaggedSpline:
    """Closed curves through the vertices: `"spline"` (C², chord-length parameter), `"polygon"`, or `"auto"`: per curve.

    A polygon is a curve that turns at a few corners only, however many vertices lie on the edges between them.
    """
    after = following(offsets)
    chord = vertices[after] - vertices
    coefficients = np.zeros((4, len(vertices)), dtype=np.complex128)
    coefficients[0] = vertices
    if kind != "polygon":
        # The second derivatives at the vertices solve one cyclic tridiagonal system per curve. The corner entry h of
        # each is split off as h·(e₀ + e₋₁)(e₀ + e₋₁)ᵀ, which leaves a positive definite tridiagonal matrix; the
        # Sherman-Morrison formula restores it.
        length = np.abs(chord)
        direction = chord / length
        first, last = offsets[:-1], offsets[1:] - 1
        before = np.empty_like(after)
        before[after] = np.arange(len(length))
        corner = length[last]
        bands = np.empty((2, len(length)))
        bands[0] = 2 * (length + length[before])
        bands[0, first] -= corner
        bands[0, last] -= corner
        bands[1] = length
        bands[1, last] = 0
        jump = 6 * (direction - direction[before])
        ends = np.zeros(len(length))
        ends[first] = ends[last] = 1
        right = np.stack([jump.real, jump.imag, ends]).T
        solved: Real = solveh_banded(bands, right, lower=True, overwrite_b=True, check_finite=False)
        x, y, q = solved.T
        z = x + 1j * y
        share = corner * (z[first] + z[last]) / (1 + corner * (q[first] + q[last]))
        second = z - np.repeat(share, np.diff(offsets)) * q
        quarter = length**2 / 6
        coefficients[2], coefficients[3] = 3 * quarter * second, quarter * (second[after] - second)
    if kind == "auto":
        turn = np.abs(np.angle(chord[after] * chord.conj()))
        sharp = turn > MIN_CORNER_ANGLE
        corners = np.add.reduceat(sharp.astype(np.int64), offsets[:-1])
        at_corners, all_of_it = (np.add.reduceat(part, offsets[:-1]) for part in (np.where(sharp, turn, 0), turn))
        polygonal = (corners <= MAX_CORNERS) & (at_corners >= MIN_CORNER_SHARE * all_of_it)
        coefficients[2:, np.repeat(polygonal, np.diff(offsets))] = 0
    coefficients[1] = chord - coefficients[2] - coefficients[3]
    return RaggedSpline(coefficients, offsets)
