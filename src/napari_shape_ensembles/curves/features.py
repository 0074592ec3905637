"""Sizes of many closed polygons at once.

Curves are held flat, as in `spline`: all vertices in one complex array (row + 1j * column) with `offsets`, curve q
being `vertices[offsets[q]:offsets[q + 1]]`, closed, of at least one vertex, the first not repeated.
"""

from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from .spline import Complex, Index, Real, following

Number = TypeVar("Number", np.float64, np.complex128)


def signed_areas(vertices: Complex, offsets: Index) -> Real:
    """Area enclosed by each curve (N,), positive where it runs from the row axis towards the column axis.

    Loops that run the other way round count negative (shoelace formula).
    """
    spokes = centred(vertices, offsets)
    return per_curve((spokes.conj() * spokes[following(offsets)]).imag / 2, offsets)


def perimeters(vertices: Complex, offsets: Index) -> Real:
    """Length of each curve (N,), closing edge included."""
    return per_curve(np.abs(vertices[following(offsets)] - vertices), offsets)


def centred(vertices: Complex, offsets: Index) -> Complex:
    """Vertices relative to the mean vertex of their curve."""
    counts = np.diff(offsets)
    # From the first vertex first: far from the origin a mean would lose the digits that matter.
    near = vertices - np.repeat(vertices[offsets[:-1]], counts)
    return near - np.repeat(per_curve(near, offsets) / counts, counts)


def per_curve(values: NDArray[Number], offsets: Index) -> NDArray[Number]:
    """Sum values per vertex over each curve."""
    return cast("NDArray[Number]", np.add.reduceat(values, offsets[:-1]))
