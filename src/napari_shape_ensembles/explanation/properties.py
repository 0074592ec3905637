"""Measured properties of single curves that have names in plain words."""

from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray

from .._types import Real
from ..comparison.quantities import COARSE
from ..progress import one_library_thread
from ..shapes import decompose
from ..shapes.lobes import LINEAR, fine_amplitude, harmonics

# Fractions of the power below the lower and the upper end of a band.
_BAND = 0.1, 0.9
# Relative precision of curves.
_PRECISION = 1e-9


@dataclass(frozen=True)
class Property:
    """A property of curves, with the words for less and more of it."""

    name: str
    less: str
    more: str


#: Properties measured by `properties`, in order.
PROPERTIES = (
    Property("size", "smaller", "larger"),
    Property("elongation", "less elongated", "more elongated"),
    Property("triangularity", "less triangular", "more triangular"),
    Property("squareness", "less square", "squarer"),
    Property("asymmetry", "more symmetric", "less symmetric"),
    Property("concavity", "less concave", "more concave"),
    Property("roughness", "smoother", "rougher"),
)


def bands(mean: Real, directions: Real) -> NDArray[np.intp]:
    """Numbers of lobes of the waves that each direction adds to a mean form.

    Parameters
    ----------
    mean : (n, 2) array
        Orthonormal columns.
    directions : (r, n, 2) array
        Tangents at the mean.

    Returns
    -------
    (r, 2) int array
        Minimum and maximum lobes of the waves that hold 80 % of the power, with 10 % below and 10 % above.
    """
    coefficients, lobes = harmonics(np.concatenate([mean[None], directions]))
    power = np.abs(coefficients[1:]) ** 2
    by_lobes = np.stack([power[:, lobes == count].sum(axis=1) for count in range(lobes.max() + 1)], axis=1)
    held = np.cumsum(by_lobes, axis=1) / by_lobes.sum(axis=1, keepdims=True)
    return np.stack([(held < share).sum(axis=1) for share in _BAND], axis=1)


@one_library_thread()
def properties(landmarks: Real) -> dict[str, Real]:
    """Measure every property of `PROPERTIES` on every curve, invariant to position, direction and first landmark.

    Parameters
    ----------
    landmarks : (N, n, 2) array
        Landmarks at equal weights.

    Returns
    -------
    dict of str to (N,) array
        size: geometric mean of the two RMS extents, in the landmarks' unit. elongation: their ratio, from 1.
        triangularity, squareness: amplitude of the waves of 3 and of 4 lobes relative to the RMS radius of the
        form. asymmetry: amplitude of all odd numbers of lobes up to `COARSE`, which a half turn does not map
        onto themselves. concavity: 1 - area / area of the convex hull. roughness: `lobes.fine_amplitude` of waves
        above `COARSE`.
    """
    undulation, scale = decompose(landmarks)
    extents = np.linalg.eigvalsh(scale)
    coefficients, lobes = harmonics(undulation)
    form = {
        "triangularity": lobes == 3,
        "squareness": lobes == 4,
        "asymmetry": (lobes % 2 == 1) & (lobes <= COARSE),
    }
    nonlinear = np.ones(len(lobes), dtype=bool)
    nonlinear[LINEAR] = False
    return {
        "size": np.sqrt(extents[:, 0] * extents[:, 1]),
        "elongation": extents[:, 1] / extents[:, 0],
        **{name: np.linalg.norm(coefficients[:, chosen & nonlinear], axis=1) for name, chosen in form.items()},
        "concavity": _concavity(landmarks),
        "roughness": fine_amplitude(undulation, COARSE),
    }


def _concavity(landmarks: Real) -> Real:
    polygons = shapely.polygons(landmarks)
    x, y = landmarks[..., 0], landmarks[..., 1]
    area = np.abs((x * np.roll(y, -1, axis=1) - y * np.roll(x, -1, axis=1)).sum(axis=1)) / 2
    missing = 1 - area / shapely.area(shapely.convex_hull(polygons))
    return np.where(missing > _PRECISION, missing, 0)
