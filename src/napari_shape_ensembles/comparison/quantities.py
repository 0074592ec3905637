"""Quantities of every outline: its components of scale and form, and the amplitudes of its lobes.

The form of an outline, without its scale, is a Fourier series of z = row + 1j·column; harmonics 1 ± k make k lobes
around a circle.
"""

from collections.abc import Sequence

import numpy as np

from .._types import Real
from ..outlines import Ensemble
from ..progress import one_library_thread, over_blocks
from ..shapes import ShapeSpace, decompose, spd
from ..shapes.lobes import (
    BANDS,
    band_amplitudes,
    band_name,
    coarse_waves,
    fine_amplitude,
    hull_measures,
    sharpest_bends,
    without_finer_waves,
)
from .learning import KNOWN
from .settings import Settings, landmarks_of

#: Names of the bands of lobes around the outline; more than 25 lobes are limited by the landmarks and the pixels.
LOBES = tuple(band_name(*band) for band in BANDS)
#: Names of the bends that are sharpest; see `shapes.lobes.sharpest_bends`.
BENDS = ("outward bend", "inward bend")
#: Waves of up to this many lobes around the outline are its coarse form, higher ones are roughness.
COARSE = 5
#: The four components that a difference is split into: two of scale, and two of form.
COMPONENTS = ("size", "elongation", "coarse form", "roughness")
# Lower limit of amplitudes and curvatures relative to the size: smaller ones are rounding error.
_MIN_AMPLITUDE = 1e-6
# Added to the unfilled share of the convex hull, which may be 0.
_MIN_CONCAVITY = 1e-3
# Along directions in which points hardly lie beside their median it is that of numbers, of which the second derivative
# says nothing: those with less than this share of that of a single direction across.
_LEAST_BEND = 0.1
# Outlines per block, and rounds of the iteration for a geometric median, at most.
_BLOCK, _ROUNDS = 2000, 100


def resolved_lobes(bands: Sequence[tuple[int, int]]) -> Sequence[str]:
    """Names of the bands of lobes that the pixels resolve, at least of the coarsest."""
    return [band_name(*band) for band in bands] or LOBES[:1]


def unresolved(bands: Sequence[tuple[int, int]]) -> Sequence[str]:
    """Names of the bands of lobes that the pixels do not resolve, and "roughness" if they hold coarse waves only."""
    fine = any(band[1] > COARSE for band in bands)
    return [*(name for name in LOBES if name not in resolved_lobes(bands)), *([] if fine else ["roughness"])]


def lobes(ensembles: Sequence[Ensemble], settings: Settings, bands: Sequence[tuple[int, int]]) -> dict[str, Real]:
    """Logarithms of the amplitudes of each band of `LOBES`, "lobes", `BENDS` and "concavity".

    See `amplitudes_and_scales`.
    """
    return amplitudes_and_scales(ensembles, settings, bands)[0]


def amplitudes_and_scales(
    ensembles: Sequence[Ensemble], settings: Settings, bands: Sequence[tuple[int, int]] = BANDS
) -> tuple[dict[str, Real], Real]:
    """Amplitudes of lobes, and the scales, of outlines: they depend on no registration, no mean and no other outline.

    Parameters
    ----------
    ensembles : sequence of Ensemble
        N outlines in all.
    settings : Settings
        How landmarks are placed.
    bands : sequence of pairs of int
        Those of `BANDS` that the pixels resolve.

    Returns
    -------
    lobes : dict of str to (N,) array
        Logarithms of the RMS amplitudes of each band of `LOBES`, relative to the RMS radius of the form; and of
        "lobes", those of the coarse form, which do not depend on finer waves; of the curvatures at `BENDS`; and of
        "concavity", the share of its convex hull that an outline, without waves beyond `bands`, does not fill.
    scales : (N, 2, 2) array
    """
    finest = max((band[1] for band in bands), default=1)

    @one_library_thread()
    def measured(place: int, start: int) -> tuple[Real, Real]:
        part = ensembles[place]
        if len(part) > _BLOCK:
            part = part[start : start + _BLOCK]
        undulation, scale = decompose(landmarks_of(part, settings))
        coarse = np.linalg.norm(coarse_waves(undulation, COARSE), axis=1)
        amplitudes = np.column_stack([band_amplitudes(undulation, BANDS), coarse, sharpest_bends(undulation)])
        resolved = undulation if finest == BANDS[-1][1] else without_finer_waves(undulation, finest)
        area, hull, _ = hull_measures(resolved).T
        lacking = np.maximum(1 - area / hull, 0) + _MIN_CONCAVITY
        return np.log(np.column_stack([np.maximum(amplitudes, _MIN_AMPLITUDE), lacking])), scale

    parts = [(place, start) for place, one in enumerate(ensembles) for start in range(0, len(one), _BLOCK)]
    amplitudes, scales = map(np.concatenate, zip(*over_blocks(lambda part: measured(*part), parts), strict=True))
    return dict(zip((*LOBES, "lobes", *BENDS, "concavity"), amplitudes.T, strict=True)), scales


def size_and_elongation(scales: Real) -> dict[str, Real]:
    """Logarithms of the geometric mean of the RMS extents, and of their ratio, of scales (N, 2, 2): (N,) each."""
    extents = np.linalg.eigvalsh(scales)
    return {"size": np.log(extents).mean(axis=1), "elongation": np.log(extents[:, 1] / extents[:, 0])}


@one_library_thread()
def geometric_median(points: Real, weights: Real) -> Real:
    """Point with the smallest weighted mean distance to points (N, d), (d,): a mean that outliers do not pull.

    By Weiszfeld's iteration from the mean.
    """
    middle: Real = np.average(points, axis=0, weights=weights)
    floor = 1e-9 * float(np.linalg.norm(points.std(axis=0))) or 1.0
    for _ in range(_ROUNDS):
        pull = weights / np.maximum(np.linalg.norm(points - middle, axis=1), floor)
        moved: Real = np.average(points, axis=0, weights=pull)
        step, middle = float(np.linalg.norm(moved - middle)), moved
        if step <= floor:
            break
    return middle


def log_deviations(points: Real) -> Real:
    """Logarithms of the distances of points (n, d) from their geometric median, whose mean is the spread, (n,).

    To every one its influence on the mean by way of the median is added (Hampel 1974), which sums to zero: so their
    standard error includes that of the median, without which 95 % intervals hold the true spread in 0.93 of pairs
    (`benchmarks/sentences.py --coverage 1000`).
    """
    middle = geometric_median(points, np.ones(len(points)))
    away = np.linalg.norm(points - middle, axis=1)
    # On a line one point is the median, with a logarithm of -∞: the nearest of n others is about so near.
    away = np.maximum(away, np.median(away) / len(points))
    # Points are nearer to their own median than to that of their population.
    found = np.log(np.maximum(away * np.sqrt(len(points) / max(len(points) - 1, 1)), KNOWN))
    if away.min() < KNOWN:
        return np.asarray(found)
    towards = (points - middle) / away[:, None]
    # Derivatives by the median: of the mean logarithm, and of the mean direction, which is zero there.
    slope = (towards / away[:, None]).mean(axis=0)
    bends, axes = np.linalg.eigh(np.eye(len(slope)) - (towards / away[:, None]).T @ towards / (1 / away).sum())
    told = bends > _LEAST_BEND
    moved = axes[:, told] @ ((slope @ axes[:, told]) / bends[told]) / (1 / away).mean()
    return np.asarray(found - (towards - towards.mean(axis=0)) @ moved)


def components(space: ShapeSpace, t: Real, l: Real) -> dict[str, Real]:
    """Coordinates of every curve in each component of `COMPONENTS`.

    Parameters
    ----------
    space : ShapeSpace
    t : (N, r) array
    l : (N, 3) array

    Returns
    -------
    dict of str to array
        size (N,): logarithm of the geometric mean of the RMS extents. elongation (N,): logarithm of their ratio.
        coarse form (N, d): waves of up to `COARSE` lobes, in the registered frame; they do not depend on finer waves.
        roughness (N,): logarithm of the RMS height above and below the coarse form; see `lobes.fine_amplitude`. What
        varies by no more than the precision of outlines is rounding error, and constant here.
    """

    def measured(rows: slice) -> tuple[Real, Real]:
        forms = space.undulations(t[rows])
        waves = coarse_waves(forms, COARSE)
        return np.concatenate([waves.real, waves.imag], axis=1), fine_amplitude(forms, COARSE)

    blocks = (slice(start, start + _BLOCK) for start in range(0, len(t), _BLOCK))
    coarse, fine = map(np.concatenate, zip(*over_blocks(measured, blocks), strict=True))
    found = size_and_elongation(spd.from_coordinates(space.scale_mean_, l))
    found |= {"coarse form": coarse, "roughness": np.log(fine)}
    return {name: np.where(values.std(axis=0) > KNOWN, values, values.mean(axis=0)) for name, values in found.items()}
