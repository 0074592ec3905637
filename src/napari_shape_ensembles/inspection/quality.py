"""Suspicious curves: checks of single outlines, and a ranked list with reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray

from .._types import Real
from ..checks import expect
from ..outlines import Ensemble
from ..outlines.repair import self_touching
from ..shapes import to_landmarks

if TYPE_CHECKING:
    import pandas as pd


# Outlier limit in robust standard deviations (Iglewicz and Hoaglin 1993).
_OUTLIER_SIGMAS = 3.5
# Maximum score of a single reason.
_CAP = 3.0
# With fewer curves than this there is no basis for outliers.
_MIN_CURVES = 8
# Fourier modes above this one are roughness.
_COARSE_MODES = 10


def suspicious(
    ensemble: Ensemble,
    *,
    distances: ArrayLike | None = None,
    ambiguous: ArrayLike | None = None,
) -> pd.DataFrame:
    """Rank suspicious curves by their outlines alone, with reasons.

    For labels, with or without their image, see `rank_suspects`; this is for outlines without pixels.

    Every check gives a curve a score; from 1 it is suspicious. Curves are ranked by the sum of their scores of at least
    1, each limited to 3.

    Parameters
    ----------
    ensemble : Ensemble
    distances : (N,) array, optional
        Distances of the curves from the mean shape.
    ambiguous : (N,) bool array, optional
        Whether the registration of each curve is ambiguous.

    Returns
    -------
    DataFrame
        One row per suspicious curve, the most suspicious first: index (in the ensemble), id, score, reasons (joined by
        "; ").

    Raises
    ------
    ValueError
        If `distances` or `ambiguous` do not hold one number per curve.

    References
    ----------
    B. Iglewicz, D. C. Hoaglin, "How to Detect and Handle Outliers", ASQC Quality Press (1993).

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Ensemble, suspicious
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    >>> circles = [size * circle + (0, 50 * place) for place, size in enumerate((20, 21, 19, 20))]
    >>> ensemble = Ensemble([*circles, 5 * circle])
    >>> suspicious(ensemble)[["id", "reasons"]].values.tolist()
    [[4, 'lies inside another curve']]
    """
    import pandas as pd  # slow to import, and not needed for a comparison

    expect(ensemble, Ensemble, "suspicious takes an Ensemble")
    scores = _scores(ensemble, distances, ambiguous) if len(ensemble) else {}
    table = np.stack(list(scores.values()), axis=1) if scores else np.empty((0, 1))
    table = np.where(table >= 1, np.minimum(table, _CAP), 0)
    total = table.sum(axis=1)
    order = [int(i) for i in np.argsort(-total, kind="stable") if total[i] > 0]
    reasons = list(scores)
    return pd.DataFrame(
        {
            "index": np.array(order, dtype=int),
            "id": ensemble.ids[order],
            "score": total[order],
            "reasons": ["; ".join(reasons[j] for j in np.argsort(-table[i]) if table[i, j]) for i in order],
        }
    )


def _scores(
    ensemble: Ensemble,
    distances: ArrayLike | None,
    ambiguous: ArrayLike | None,
) -> Mapping[str, NDArray[np.floating]]:
    rough = roughness(ensemble)
    scores: dict[str, NDArray[np.floating]] = {
        "touches or crosses itself": 2.0 * self_touching(ensemble),
        "lies inside another curve": 1.0 * nested(ensemble),
        "unusually rough": unusual(rough),
        "unusually smooth": unusual(-rough),
        "unusually large": unusual(np.log(ensemble.features["area"].to_numpy())),
    }
    if distances is not None:
        scores["far from the mean shape"] = unusual(_one_each(ensemble, distances, "distances"))
    if ambiguous is not None:
        scores["ambiguous registration"] = _one_each(ensemble, ambiguous, "ambiguous")
    return scores


def _one_each(ensemble: Ensemble, values: ArrayLike, name: str) -> Real:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (len(ensemble),):
        raise ValueError(
            f"{name} must hold one number for each of {len(ensemble)} curves, not an array of {array.shape}"
        )
    return array


def unusual(values: Real) -> Real:
    """Distance of each value above the median, as a fraction of the 3.5 robust standard deviations allowed (N,).

    Zero for fewer than 8 values.
    """
    apart = values - np.median(values)
    spread = np.median(np.abs(apart))
    if len(values) < _MIN_CURVES or spread == 0:
        return np.zeros(len(values))
    return 0.6745 * np.maximum(apart, 0) / spread / _OUTLIER_SIGMAS


def roughness(ensemble: Ensemble) -> Real:
    """Log of the fraction of each outline's power (N,) in Fourier modes above the tenth, by arc length."""
    points = to_landmarks(ensemble, 256, measure="arc-length", interpolation="polygon")
    power = np.abs(np.fft.fft(points[..., 0] + 1j * points[..., 1])) ** 2
    mode = np.abs(np.fft.fftfreq(256, 1 / 256))
    share = power[:, mode > _COARSE_MODES].sum(axis=1) / power[:, mode > 0].sum(axis=1)
    return np.log(np.maximum(share, 1e-15))


def nested(ensemble: Ensemble) -> NDArray[np.bool_]:
    """Whether each curve (N,) lies inside another one."""
    index = np.repeat(np.arange(len(ensemble)), np.diff(ensemble.offsets))
    rings = shapely.linearrings(ensemble.vertices, indices=index)
    whole = shapely.polygons(rings)
    valid = np.where(shapely.is_valid(whole), whole, shapely.buffer(whole, 0))
    inner, outer = shapely.STRtree(valid).query(shapely.get_point(rings, 0), predicate="within")
    surely = shapely.area(valid[inner]) < shapely.area(valid[outer])
    inside = np.zeros(len(ensemble), dtype=bool)
    inside[inner[(inner != outer) & surely]] = True
    return inside
