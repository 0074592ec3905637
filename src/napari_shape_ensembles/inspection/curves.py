"""Suspicious outlines, without pixels: unusual shapes and sizes, nesting, and the position in shape space."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import shapely
from numpy.typing import NDArray

from .._types import Real
from ..comparison import Settings
from ..comparison.unusual import distance_columns
from ..outlines import Ensemble
from ..outlines.repair import self_touching
from ..shapes import ShapeSpace, to_landmarks

if TYPE_CHECKING:
    import pandas as pd

# Outlier limit in robust standard deviations (Iglewicz and Hoaglin 1993).
OUTLIER_SIGMAS = 3.5
# Maximum weight of a single reason.
_MAX_WEIGHT = 3.0
# With fewer curves than this there is no basis for outliers, and the mean shape is not meaningful.
_MIN_CURVES = 8
# Fourier modes above this one are roughness.
_COARSE_MODES = 10


def ranked_curves(ensemble: Ensemble, settings: Settings, distances: Real | None = None) -> pd.DataFrame:
    """Rank curves as `rank_suspects` does; `distances` from the mean shape are computed if they are not given."""
    import pandas as pd  # slow to import, and not needed for a comparison

    reasons, table = [], np.empty((0, 1))
    if len(ensemble):
        weighted = weights(ensemble, distances_from_mean(ensemble, settings) if distances is None else distances)
        reasons, table = list(weighted), np.stack(list(weighted.values()), axis=1)
    table = np.where(table >= 1, np.minimum(table, _MAX_WEIGHT), 0)
    total = table.sum(axis=1)
    words = ["; ".join(reasons[j] for j in np.argsort(-row) if row[j]) for row in table]
    # Between 0 and 1, as the scores of labels are.
    ranking = pd.DataFrame(
        {"label": ensemble.ids, "score": total / (1 + total), "reasons": pd.Series(words, dtype=str)}
    )
    return ranking.sort_values("score", ascending=False, kind="stable", ignore_index=True)


def weights(ensemble: Ensemble, distances: Real) -> dict[str, Real]:
    """Weight of each reason for each curve (N,); from 1 it holds."""
    rough = roughness(ensemble)
    return {
        "touches or crosses itself": np.where(self_touching(ensemble), 2.0, 0),
        "lies inside another curve": np.where(nested(ensemble), 1.0, 0),
        "unusually rough": unusual(rough),
        "unusually smooth": unusual(-rough),
        "unusually large": unusual(np.log(ensemble.features["area"].to_numpy())),
        "far from the mean shape": unusual(distances),
    }


def unusual(values: Real) -> Real:
    """Distance of each value above the median, as a fraction of the 3.5 robust standard deviations allowed (N,).

    Zero for fewer than 8 values.
    """
    apart = values - np.median(values)
    spread = np.median(np.abs(apart))
    if len(values) < _MIN_CURVES or spread == 0:
        return np.zeros(len(values))
    return 0.6745 * np.maximum(apart, 0) / spread / OUTLIER_SIGMAS


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


def distances_from_mean(ensemble: Ensemble, settings: Settings) -> Real:
    """Distance of every curve (N,) from the mean shape; 0 for fewer than 8 curves."""
    if len(ensemble) < _MIN_CURVES:
        return np.zeros(len(ensemble))
    landmarks = to_landmarks(ensemble, settings.landmarks, measure=settings.measure)
    space = ShapeSpace(settings.rank, landmarks=settings.landmarks, reflections=settings.reflections)
    undulation, scale, _ = space.fit_landmarks(landmarks, overwrite=True)
    t, l = space.coordinates(undulation, scale)
    return distance_columns(t, l)["distance_from_mean"]
