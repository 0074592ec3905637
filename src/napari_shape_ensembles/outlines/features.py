"""Sizes of many closed polygons at once.

Curves are held flat, as in `spline`: all vertices in one complex array (row + 1j * column) with `offsets`, curve q
being `vertices[offsets[q]:offsets[q + 1]]`, closed, of at least one vertex, the first not repeated.
"""

from typing import TypeVar, cast

import numpy as np
import shapely
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


def aspect_ratios(vertices: Complex, offsets: Index) -> Real:
    """Longer over shorter axis of the ellipse with the second moments of each polygon's area (N,), 1 or more.

    The moments are those of the area inside, by the exact formula for polygons, so the spacing of the vertices
    plays no part. Infinite where loops cancel the shorter moment.
    """
    here = centred(vertices, offsets)
    there = here[following(offsets)]
    cross = (here.conj() * there).imag
    area = per_curve(cross, offsets) / 2
    centre = per_curve(cross * (here + there), offsets) / (6 * area)
    # ∫z² and ∫|z|² over the area, then about the centroid.
    square = per_curve(cross * (here**2 + here * there + there**2), offsets) / 12
    power = per_curve(cross * (np.abs(here) ** 2 + (here * there.conj()).real + np.abs(there) ** 2), offsets) / 12
    elongation = np.abs(square / area - centre**2)
    total = power / area - np.abs(centre) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt((total + elongation) / np.maximum(total - elongation, 0))


def solidities(vertices: Complex, offsets: Index) -> Real:
    """Area over the area of the convex hull of each polygon (N,), at most 1."""
    index = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    rings = shapely.linearrings(vertices.view(np.float64).reshape(-1, 2), indices=index)
    return np.abs(signed_areas(vertices, offsets)) / shapely.area(shapely.convex_hull(rings))


def centred(vertices: Complex, offsets: Index) -> Complex:
    """Vertices relative to the mean vertex of their curve."""
    counts = np.diff(offsets)
    # From the first vertex first: far from the origin a mean would lose the digits that matter.
    near = vertices - np.repeat(vertices[offsets[:-1]], counts)
    return near - np.repeat(per_curve(near, offsets) / counts, counts)


def per_curve(values: NDArray[Number], offsets: Index) -> NDArray[Number]:
    """Sum values per vertex over each curve."""
    return cast("NDArray[Number]", np.add.reduceat(values, offsets[:-1]))
