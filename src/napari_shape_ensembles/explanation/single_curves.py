"""Single curves of a comparison: aligned with the mean, nearest to each other, typical and unusual."""

import numpy as np
from numpy.typing import ArrayLike

from .._types import Index, Real
from ..comparison import Comparison
from ..outlines import Ensemble
from ..shapes import register, to_landmarks

_LANDMARKS = 200  # enough for figures of a few centimeters


def mean_outline(result: Comparison) -> Real:
    """The mean shape (n, 2), centered, in the comparison's unit."""
    outline: Real = result.space.reconstruct(np.zeros((1, result.space.rank_)), np.zeros((1, 3)))[0]
    return outline


def aligned(result: Comparison, rows: ArrayLike) -> Real:
    """Landmarks (k, n, 2) of pooled curves, registered to the mean by rotation and reflection (if allowed)."""
    mean = Ensemble([mean_outline(result)])
    chosen = Ensemble([pooled_curve(result, row) for row in np.atleast_1d(np.asarray(rows))])
    target, landmarks = (to_landmarks(part, _LANDMARKS, interpolation="polygon") for part in (mean, chosen))
    return register(landmarks, target[0], reflections=result.settings.reflections).landmarks


def pooled_curve(result: Comparison, row: int) -> Real:
    """Outline of a pooled curve, A's first."""
    first = len(result.a)
    return result.a[row] if row < first else result.b[row - first]


def nearest_curves(result: Comparison, row: int, count: int = 3) -> tuple[Index, Index]:
    """Indices of the pooled curves of A and of B nearest to a curve in (t, ℓ), nearest first, excluding itself."""
    coordinates = np.hstack([result.t, result.l])
    distance = np.linalg.norm(coordinates - coordinates[row], axis=1)
    distance[row] = np.inf
    first = len(result.a)
    a, b = np.argsort(distance[:first], kind="stable"), np.argsort(distance[first:], kind="stable") + first
    return a[a != row][:count], b[b != row][:count]


def nearest_and_farthest(result: Comparison, count: int = 6) -> tuple[tuple[Index, Index], tuple[Index, Index]]:
    """For A and for B: indices of the pooled curves nearest to the mean shape, and of the farthest, farthest first."""
    distance = result.distances["distance_from_mean"].to_numpy()
    first = len(result.a)
    sides = np.arange(first), np.arange(first, len(distance))
    ordered = [side[np.argsort(distance[side], kind="stable")] for side in sides]
    a, b = ((rows[:count], rows[::-1][: max(min(count, len(rows) - count), 0)]) for rows in ordered)
    return a, b
