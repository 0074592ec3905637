"""Sizes of many closed polygons at once.

Curves are held flat: `vertices` (M, 2) and `offsets` (N + 1,), curve q being `vertices[offsets[q]:offsets[q + 1]]`,
closed, of at least one vertex, the first not
repeated.
"""

import numpy as np
from numpy.typing import NDArray

from .spline import following

Real = NDArray[np.float64]
Index = NDArray[np.int64]


def signed_areas(vertices: Real, offsets: Index) -> Real:
    """Area enclosed by each curve (N,), positive where it runs from the first axis towards the second.

    Loops that run the other way round count negative (shoelace formula).
    """
    spokes = centred(vertices, offsets)
    onward = spokes[following(offsets)]
    return per_curve(np.add, spokes[:, 0] * onward[:, 1] - spokes[:, 1] * onward[:, 0], offsets) / 2


def perimeters(vertices: Real, offsets: Index) -> Real:
    """Length of each curve (N,), closing edge included."""
    edges = vertices[following(offsets)] - vertices
    return per_curve(np.add, np.hypot(edges[:, 0], edges[:, 1]), offsets)


def centred(vertices: Real, offsets: Index) -> Real:
    """Vertices relative to the mean vertex of their curve, (M, 2)."""
    counts = np.diff(offsets)
    # From the first vertex first: far from the origin a mean would lose the digits that matter.
    near = vertices - np.repeat(vertices[offsets[:-1]], counts, axis=0)
    means = per_curve(np.add, near, offsets) / counts[:, None]
    return near - np.repeat(means, counts, axis=0)


def per_curve(operation: np.ufunc, values: Real, offsets: Index) -> Real:
    """Reduce values per vertex, along the first axis, to one per curve."""
    reduced: Real = operation.reduceat(values, offsets[:-1], axis=0)
    return reduced
