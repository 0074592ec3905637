"""Detection of outlines that touch or cross themselves, and reduction to their largest simple part."""

from __future__ import annotations

import numpy as np
import shapely

from .._types import Mask
from ..checks import expect
from .ensemble import Ensemble
from .reasons import Reason

_LOOPS = Reason("loops")


def self_touching(ensemble: Ensemble) -> Mask:
    """Whether each curve (N,) touches or crosses itself (OGC simple feature rule)."""
    expect(ensemble, Ensemble, "give an Ensemble")
    index = np.repeat(np.arange(len(ensemble)), np.diff(ensemble.offsets))
    simple: Mask = shapely.is_simple(shapely.linearrings(ensemble.vertices, indices=index))
    return ~simple


def repair(ensemble: Ensemble) -> Ensemble:
    """Replace each self-touching curve by the outline of its largest simple part.

    Spikes of zero width are removed; of loops only the largest is kept, the others are counted in `dropped` as "loops
    cut off self-touching outlines". Curves that do not touch themselves are unchanged, bit for bit.

    Returns
    -------
    Ensemble
        With the same ids. The ensemble itself if nothing touches itself.

    Examples
    --------
    >>> from napari_shape_ensembles import Ensemble, repair
    >>> square_with_whisker = [(0, 0), (0, 4), (0, 9), (0, 4), (4, 4), (4, 0)]
    >>> repair(Ensemble([square_with_whisker])).features["perimeter"].tolist()
    [16.0]
    """
    touching = self_touching(ensemble)
    if not touching.any():
        return ensemble
    curves = list(ensemble.curves)
    cut = 0
    for index in np.flatnonzero(touching):
        # The regions that the curve encloses an odd number of times, including those that touch at a point only.
        valid = shapely.get_parts(shapely.make_valid(shapely.Polygon(curves[index])))
        parts = shapely.get_parts([part for part in valid if part.geom_type in ("Polygon", "MultiPolygon")]).tolist()
        if parts:
            curves[index] = shapely.get_coordinates(max(parts, key=shapely.area).exterior)[:-1]
            cut += len(parts) - 1
    dropped = ensemble.dropped
    if cut:
        dropped[_LOOPS] = dropped.get(_LOOPS, 0) + cut
    return ensemble.derived(curves, dropped=dropped)
