"""Parts of the two tests: named components of form and of scale, learned from the pooled curves without their labels.

Each part is an array with one row per curve, and a kernel (`mmd.KERNELS`). The parts of one test are combined on shared
permutations, so that the joint level is exact for any parts. The names are those of the explanation's components.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from .._types import Real
from ..mmd.kernel import Kernel
from ..shapes import spd
from ..shapes.lobes import BANDS, band_amplitudes, hull_measures, without_finer_waves
from ..words import counted
from .settings import Settings

#: Parts of form, and of scale.
FORM = ("coarse form", "roughness", "concavity")
SCALE = ("mean size", "size", "elongation", "direction of elongation", "size and elongation")
#: Parts that depend on the number of undulation coordinates.
OF_RANK = ("coarse form", "raw", "normalized")
# Lower limits of amplitude and concavity, relative to the size of an outline: smaller ones are interpolation and
# rounding error, whatever the number of digits of the coordinates.
_MIN_AMPLITUDE, _MIN_CONCAVITY = 1e-4, 1e-3
#: If pixels resolve fewer lobes (outlines of about 33 pixels across), their rounding dominates the concavity.
MIN_CONCAVITY_LOBES = 12
# Up to this many waves around an outline are its coarse form.
_COARSE_WAVES = 5
# Reasons for omitting a part.
_MIRRORED = "without reflections it would tell mirrored outlines apart"
_NO_VARIATION = "it is the same in all outlines, to the precision of their coordinates"
# Winsorization limit of sizes, in median absolute deviations from the median (two standard deviations of a normal
# distribution): a few merged or cut objects would hide a difference between all others.
_WINSOR_LIMIT = 2 * 1.482602218505602
#: Logarithms that vary by less than this (1 %) reflect variation below the floor only.
MIN_LOG_SPREAD = 0.01


@dataclass(frozen=True, eq=False)
class Part:
    """Points (N, d) of the pooled curves, and the kernel of their test."""

    points: Real
    kernel: Kernel = "gaussian"


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of one test, and those that have no power with these curves: name → reason."""

    tested: Mapping[str, Part]
    left_out: Mapping[str, str] = field(default_factory=dict)


def form_descriptors(undulation: Real, known: float, lobes: float = np.inf) -> Real:
    """Descriptors of the form of every curve, invariant to its first landmark and rotation: (N, k + 2).

    Logarithms of the RMS amplitudes of the k `BANDS` that n landmarks, and the pixels, resolve; of the fraction of its
    convex hull that an outline does not fill; of its excess squared length over a circle of equal area; 0 for the last
    two if pixels are too coarse for them. These two are of outlines without the waves that the pixels do not resolve,
    those of more than `lobes` (see `learning.learn`). All are invariant to linear maps of an outline. Undulations (N,
    n, 2) are traversed in the same direction, and `known` is the relative precision of the outlines.
    """
    n = undulation.shape[1]
    held = [band for band in BANDS if 2 * (band[1] + 1) < n and band[1] <= lobes]
    found = np.empty((len(undulation), len(held) + 2))
    np.hypot(band_amplitudes(undulation, held), least_amplitude(known), out=found[:, :-2])
    if lobes < BANDS[-1][1]:  # errors of pixels are concavities of their own, the more the finer the waves
        undulation = without_finer_waves(undulation, lobes)
    area, hull, length = hull_measures(undulation).T
    lacking, longer = 1 - area / hull, length**2 / (4 * np.pi * area) - 1
    floor = max(_MIN_CONCAVITY, 10 * known)
    found[:, -2:] = np.maximum(np.stack([lacking, longer], axis=1), 0) + floor
    if lobes < MIN_CONCAVITY_LOBES:
        found[:, -2:] = 1
    return np.log(found, out=found)


def least_amplitude(known: float) -> float:
    """Amplitude of lobes that is added to that of every band, so that smaller ones do not differ.

    Relative to the size of an outline, as is the precision `known`.
    """
    return max(_MIN_AMPLITUDE, 10 * known)


def form_parts(t: Real, descriptors: Real, settings: Settings, *, any_rank: bool = False) -> Parts:
    """Parts of the test of form.

    Parameters
    ----------
    t : (N, r) array
        Undulation coordinates; those below the precision of the outlines are zero.
    descriptors : (N, k + 2) array
        From `form_descriptors`.
    settings : Settings
    any_rank : bool
        Keep normalized coordinates even if they have no power at this rank, for tests at lower ranks.

    Returns
    -------
    Parts
        With coordinates "components": the coarse form, by the energy distance of the raw coordinates; the roughness, by
        that of the amplitudes of all bands of modes and their squares, hence of their levels and spreads; and the
        concavity, by Hotelling's T² of its two numbers and, with half the weight, the difference between the means of
        their squares. Otherwise raw coordinates, normalized ones, or both.
    """
    if not tests_components(settings):
        return _coordinates(t, settings, any_rank=any_rank)
    varying = descriptors.std(axis=0) > MIN_LOG_SPREAD
    bands, rest = descriptors[:, :-2][:, varying[:-2]], descriptors[:, -2:][:, varying[-2:]]
    # An outline with more concavity is longer, too. Length beyond that is roughness.
    both, squares = _uncorrelated(standardized(rest)), standardized(standardized(rest) ** 2)
    parts = {
        "coarse form": Part(t if t.any() else t[:, :0], "energy"),
        "roughness": Part(_with_squares(bands), "energy"),
        "concavity": Part(np.concatenate([both, squares / np.sqrt(2)], axis=1), "mean"),
    }
    # They are exactly 0 only if `form_descriptors` found too few pixels.
    waves, few = max((band[1] for band in BANDS[: descriptors.shape[1] - 2]), default=0), not descriptors[:, -2:].any()
    coarse = {"roughness": few and waves <= _COARSE_WAVES, "concavity": few}
    if coarse["roughness"]:
        parts["roughness"] = Part(bands[:, :0])
    return _varying(parts, {name: f"the outlines hold {counted(waves, 'wave')}" for name in coarse if coarse[name]})


def scale_parts(l: Real, scale_mean: Real, settings: Settings, known: float = 1e-8) -> Parts:
    """Parts of the test of scale.

    Parameters
    ----------
    l : (N, 3) array
        Scale coordinates.
    scale_mean : (2, 2) array
        Base point of the coordinates.
    settings : Settings
    known : float
        Relative precision of the outlines.

    Returns
    -------
    Parts
        With coordinates "components": the mean of log size; the size, by Hotelling's T² of log size and its square,
        hence of its mean and spread; the elongation, by the mean of its logarithm, in any direction; the direction of
        elongation, by the means of the two elongations in the registered frame, which shows a common stretch of the
        form; and size and elongation, by the energy distance of both together, in any direction. Log sizes are
        winsorized. Otherwise l as it is.
    """
    if not tests_components(settings):
        return Parts({"": Part(l)})
    size, elongations = scale_measures(l, scale_mean)
    varying = elongations.std(axis=0) > known
    free = standardized(elongations[:, :1][:, varying[:1]])
    along = standardized(elongations[:, 1:][:, varying[1:]])
    size = size[:, size.std(axis=0) > known]
    middle = np.median(size, axis=0)
    limit = _WINSOR_LIMIT * np.median(np.abs(size - middle), axis=0)
    limit = np.where(limit > known, limit, np.inf)
    levels = _with_squares(np.clip(size, middle - limit, middle + limit))
    both = _uncorrelated(levels)
    parts = {
        "mean size": Part(levels[:, : size.shape[1]], "mean"),
        "size": Part(both, "mean"),
        "elongation": Part(free, "mean"),
        # The frame of a mirrored outline turns over unless it is registered with its mirror image.
        "direction of elongation": Part(along if settings.reflections else along[:, :0], "mean"),
    }
    if size.size and varying[0]:
        parts["size and elongation"] = Part(np.concatenate([both, free], axis=1), "energy")
    return _varying(parts, {} if settings.reflections else {"direction of elongation": _MIRRORED})


def scale_measures(l: Real, scale_mean: Real) -> tuple[Real, Real]:
    """Size (N, 1), and elongation (N, 3): in any direction, and along and across the registered frame.

    All are logarithms: of the geometric mean of the RMS extents; of their ratio; and the traceless part of l.
    """
    extents = np.linalg.eigvalsh(spd.from_coordinates(scale_mean, l))
    size = np.log(extents).mean(axis=1, keepdims=True)
    return size, np.stack([np.log(extents[:, 1] / extents[:, 0]), l[:, 0] - l[:, 2], l[:, 1]], axis=1)


def sides(parts: Mapping[str, Part], first: int) -> tuple[dict[str, tuple[Real, Real]], dict[str, Kernel]]:
    """Parts in the format of `combined_mmd_test`: both samples of each, split at `first`; and the kernels."""
    samples = {name: (part.points[:first], part.points[first:]) for name, part in parts.items()}
    return samples, {name: part.kernel for name, part in parts.items()}


def tests_components(settings: Settings) -> bool:
    """Whether the parts are named components; thresholds without permutations support the Gaussian kernel only."""
    return settings.coordinates == "components" and settings.null == "permutation"


def standardized(values: Real) -> Real:
    """Standardize columns (N, d): zero mean, unit standard deviation."""
    spread = values.std(axis=0)
    return (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1)


def _with_squares(values: Real) -> Real:
    """Standardized columns and their standardized squares: their means capture levels and spreads."""
    levels = standardized(values)
    return np.concatenate([levels, standardized(levels**2)], axis=1)


def _uncorrelated(values: Real) -> Real:
    """Whiten centered columns, so that the difference of means is Hotelling's T."""
    variances, directions = np.linalg.eigh(values.T @ values / len(values))
    kept = variances > 1e-6 * variances.max(initial=0)
    return np.asarray(values @ directions[:, kept] / np.sqrt(variances[kept]))


def _varying(parts: dict[str, Part], reasons: Mapping[str, str] = MappingProxyType({})) -> Parts:
    """Parts that vary; if none does, a constant point, which no test rejects."""
    blind = {name: reasons.get(name, _NO_VARIATION) for name in parts if not parts[name].points.size}
    tested = {name: part for name, part in parts.items() if name not in blind}
    count = len(next(iter(parts.values())).points)
    return Parts(tested or {"": Part(np.zeros((count, 1)))}, blind)


def _coordinates(t: Real, settings: Settings, *, any_rank: bool) -> Parts:
    """Raw or normalized coordinates, or both; normalized ones only if they do not determine the N points.

    N points in N - 1 normalized coordinates are all equidistant: no kernel separates them.
    """
    spread = t.std(axis=0)
    kinds = {"raw": Part(t), "normalized": Part(t / np.where(spread > 0, spread, 1))}
    if settings.coordinates in kinds:
        return Parts({settings.coordinates: kinds[settings.coordinates]})
    if np.count_nonzero(spread) >= len(t) - 1 and not any_rank:
        reason = f"not testable with {len(t)} curves at rank {t.shape[1]}: use a rank of at most {len(t) // 4}"
        return Parts({"raw": kinds["raw"]}, {"normalized": reason})
    return Parts(kinds)
