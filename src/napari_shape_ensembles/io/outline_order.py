"""What makes the outlines of a whole file useless: most are none, or they are in degrees."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._types import Real
from ..archive import ContentError
from ..outlines import Ensemble
from ..outlines.order import CROSSING, MISSING, SEVERAL, fault_of
from ..words import counted

# Outlines are larger than this many pixels; degrees lie within the others.
_LEAST_PIXELS, _LATITUDE, _LONGITUDE = 0.5, 91, 181

_REMEDIES = {
    CROSSING: "cross themselves everywhere: their vertices do not follow the outline. Sort them around the object, "
    "or export outlines (polygons) or labels instead of pixels, centers or landmarks",
    SEVERAL: "consist of several closed outlines each, under one id: ids that start again in each image or frame need "
    "a column of it",
    MISSING: "have missing points, given as (-1, -1): remove these",
}


def refuse_no_outlines(kept: Ensemble, curves: Sequence[Real], ids: Sequence[Any]) -> None:
    """Raise if the vertices of most curves of a file do not follow an outline, with the remedy.

    `kept` are the curves that `Ensemble` does not leave out; `curves` and `ids` are all of them.
    """
    counts = {reason: kept.dropped.get(reason, 0) for reason in _REMEDIES}
    if 2 * sum(counts.values()) <= len(curves):
        return
    reason = max(counts, key=lambda one: counts[one])
    rest = set(kept.ids.tolist())
    first = next(name for name, curve in zip(ids, curves, strict=True) if name not in rest and fault_of(curve))
    raise ContentError(f"{counts[reason]} of {counted(len(curves), 'curve')} (such as {first}) {_REMEDIES[reason]}")


def refuse_degrees(curves: Sequence[Real]) -> None:
    """Raise for outlines that are smaller than a pixel and lie where longitudes and latitudes do.

    GeoJSON is in degrees by its specification, and in pixels in QuPath.
    """
    known = [curve for curve in curves if np.isfinite(curve).all()]
    if not known:
        return
    size = float(np.median([np.ptp(curve, axis=0).max() for curve in known]))
    low, high = (bound([bound(curve, axis=0) for curve in known], axis=0) for bound in (np.min, np.max))
    if size < _LEAST_PIXELS and (np.maximum(abs(low), abs(high)) <= (_LATITUDE, _LONGITUDE)).all():
        raise ContentError(
            f"its outlines measure {size:.2g} in the median, which may be degrees: export them in pixels or a unit of "
            "length"
        )
