"""Linear trends of size, elongation and roughness with the position of outlines within their images."""

from collections.abc import Mapping, Sequence

import numpy as np
import shapely
from scipy.special import fdtrc

from .._types import Real
from ..mmd.replicates import group_means
from ..outlines import Ensemble
from .samples import image_numbers

# Logarithms, or relative places, that vary less are constant to the precision of the outlines.
LEAST_SPREAD = 1e-6


def position_trends(sides: Sequence[Ensemble], components: Mapping[str, Real]) -> dict[str, float]:
    """p-values of linear trends of size, elongation and roughness with the position within images (F tests).

    Adjusted for their number (Bonferroni); a screen of a few milliseconds. `position_dependence` finds other
    dependences, too. `components` are those of all outlines, side after side.
    """
    image, places = image_numbers(sides), np.concatenate([centroids(side) for side in sides])
    places -= group_means(places, image)[image]
    places /= max(float(np.abs(places).max(initial=0)), np.finfo(float).tiny)
    basis = np.linalg.qr(places[:, places.std(axis=0) > LEAST_SPREAD])[0]
    freedom = basis.shape[1], len(places) - int(image.max()) - 1 - basis.shape[1]
    names, found = ("size", "elongation", "roughness"), {}
    if not freedom[0] or freedom[1] < 1:
        return {}
    for name in names:
        values = components[name]
        values = values - group_means(values[:, None], image)[image, 0]
        explained, whole = float(((basis.T @ values) ** 2).sum()), float((values**2).sum())
        if whole > (LEAST_SPREAD**2) * len(values):
            f = (explained / freedom[0]) / (max(whole - explained, np.finfo(float).tiny) / freedom[1])
            found[name] = min(1.0, len(names) * float(fdtrc(*freedom, f)))
    return found


def centroids(ensemble: Ensemble) -> Real:
    """Centroids of the areas of all outlines, (N, 2), row and column."""
    rings = np.repeat(np.arange(len(ensemble)), np.diff(ensemble.offsets))
    found = shapely.centroid(shapely.polygons(shapely.linearrings(ensemble.vertices, indices=rings)))
    return np.asarray(shapely.get_coordinates(found))
