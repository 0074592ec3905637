"""Areas, perimeters and moments of many closed curves, concatenated; block by block, as temporaries take memory."""

import itertools
from collections.abc import Iterable

import numpy as np

from .._types import Complex, Index, Real
from .offsets import following

# Vertices per block, few enough for the CPU caches.
_BLOCK = 1 << 15


def areas_and_perimeters(vertices: Real, offsets: Index) -> tuple[Real, Real]:
    """Area and perimeter of each curve, (N,) each, as in `Ensemble.features`, whose convex hulls take longer."""
    points, found = vertices.view(np.complex128)[:, 0], np.empty((2, len(offsets) - 1))
    for start, stop in blocks(offsets):
        some, starts = points[offsets[start] : offsets[stop]], offsets[start : stop + 1] - offsets[start]
        here, after = centred(some, starts), following(starts)
        found[0, start:stop] = np.abs(np.add.reduceat((here.conj() * here[after]).imag, starts[:-1]) / 2)
        found[1, start:stop] = np.add.reduceat(np.abs(some[after] - some), starts[:-1])
    return found[0], found[1]


def moments_of_area(vertices: Real, offsets: Index) -> tuple[Real, Complex]:
    """Second central moments of the area of each curve z = row + 1j·column, per area: of |z|² and of z², (N,) each.

    By the exact formula for polygons: independent of the spacing of the vertices.
    """
    here = centred(vertices.view(np.complex128)[:, 0], offsets)
    there = here[following(offsets)]
    cross = (here.conj() * there).imag
    square = cross * (here**2 + here * there + there**2)
    power = cross * (np.abs(here) ** 2 + (here * there.conj()).real + np.abs(there) ** 2)
    sums = [np.add.reduceat(values, offsets[:-1]) for values in (cross, cross * (here + there), square, power)]
    signed = sums[0] / 2
    centre = sums[1] / (6 * signed)
    return np.asarray(sums[3] / 12 / signed - np.abs(centre) ** 2), np.asarray(sums[2] / 12 / signed - centre**2)


def blocks(offsets: Index) -> Iterable[tuple[int, int]]:
    """First curve, and the one after the last, of each block."""
    block = offsets[:-1] // _BLOCK
    return itertools.pairwise([*np.flatnonzero(np.diff(block, prepend=-1)).tolist(), len(block)])


def centred(vertices: Complex, offsets: Index) -> Complex:
    """Vertices of each curve relative to their mean."""
    counts = np.diff(offsets)
    # Relative to the first vertex first: far from the origin the mean would lose precision.
    near = vertices - np.repeat(vertices[offsets[:-1]], counts)
    return near - np.repeat(np.add.reduceat(near, offsets[:-1]) / counts, counts)
