"""How precisely coordinates are known: to their last place, which matters far from the origin."""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from ..outlines import Ensemble

Real = NDArray[np.float64]

# Conversions between units are powers of ten nearly always; the size of a pixel is known where the reader knew it.
_GRID = 16
_FACTORS = tuple(10.0**power for power in (0, -3, 3, -6, 6))


def coordinate_precision(ensemble: Ensemble) -> Real:
    """Half the last place of the coordinates of every curve, (N,), in the ensemble's unit.

    Coordinates that were once kept in single precision are known to 7 digits, whatever type they have now: they are
    recognised by being numbers of single precision, or such numbers times the size of a pixel or a power of ten.

    Parameters
    ----------
    ensemble : Ensemble

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Ensemble
    >>> from napari_shape_ensembles.comparison.precision import coordinate_precision
    >>> u = 2 * np.pi * np.arange(50) / 50
    >>> far = np.stack([np.cos(u), np.sin(u)], axis=-1) + 60_000
    >>> [f"{coordinate_precision(Ensemble([curve]))[0]:.0e}" for curve in (far, far.astype(np.float32))]
    ['7e-12', '4e-03']
    """
    if not len(ensemble):
        return np.empty(0)
    largest = np.maximum.reduceat(np.abs(ensemble.vertices).max(axis=1), ensemble.offsets[:-1])
    return largest * np.finfo(np.float32 if is_single(ensemble) else np.float64).eps / 2


def is_single(ensemble: Ensemble) -> bool:
    """Whether all coordinates are numbers of single precision, in the unit that they came in."""
    pixel = np.asarray(ensemble.pixel_size or (1.0, 1.0))
    units = {tuple(size * factor) for size, factor in product((np.ones(2), pixel), _FACTORS)}
    return any(_fits_single(ensemble.vertices / np.array(unit)) for unit in units)


def _fits_single(vertices: Real) -> bool:
    if (vertices * _GRID == np.rint(vertices * _GRID)).all():
        return False  # whole pixels and simple fractions are exact in any precision
    with np.errstate(over="ignore"):
        error = np.abs(vertices - vertices.astype(np.float32))
    return bool((error <= 4 * np.finfo(np.float64).eps * np.abs(vertices)).all())
