"""Effect sizes: how large a difference is, and in which aspects of shape it lies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .._types import Real
from ..checks import RandomState, seed_of
from ..mmd.contrasts import RESAMPLES, Estimate, bootstrap_counts, difference_of_means, percentile_ends, welch_interval
from ..mmd.dependence import Compared, coordinates_of
from ..mmd.kernel import Distances, median_distance, quadratic_forms
from ..mmd.replicates import mean_kernels
from ..outlines import Ensemble
from .figures import plot_effects

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Undulation coordinates that explain this fraction of the pooled variance are the coarse form; the rest is roughness.
_COARSE_VARIANCE = 0.9
#: With fewer images or curves a side the bootstrap undercovers: 80 to 86 % with 3 in simulations, 93 to 95 % with 4.
MIN_UNITS = 4


@dataclass(frozen=True)
class EffectSizes:
    """Effect sizes of the difference between two samples.

    Attributes
    ----------
    mmd : mapping of str to Estimate
        For "undulation", "scale" and every aspect: MMD without its small-sample bias; 0 if the samples are as similar
        as two of one distribution. Dimensionless, between 0 and √2.
    standardized : mapping of str to Estimate
        The same relative to the spread within the samples, analogous to Cohen's d: at 1 the samples are as far apart as
        the curves of one sample are from each other.
    shares : mapping of str to Estimate
        Shares of "size", "elongation", "coarse form" and "roughness" in the sum of their squared standardized values;
        they add up to 1. NaN if there is no difference.
    size_ratio : Estimate
        Mean length of B's outlines over that of A's (geometric means): 1.1 means 10 % longer in every direction.
    resampled : {"curves", "images"}
        Resampling unit of the intervals: single curves (these images alone), or images.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, effect_sizes, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
    >>> effects = effect_sizes(result, resamples=20)
    >>> {part: round(share.value, 2) for part, share in effects.shares.items()}
    {'size': 0.97, 'elongation': 0.0, 'coarse form': 0.0, 'roughness': 0.03}
    """

    mmd: Mapping[str, Estimate]
    standardized: Mapping[str, Estimate]
    shares: Mapping[str, Estimate]
    size_ratio: Estimate
    resampled: str = "curves"

    def to_dataframe(self) -> "pd.DataFrame":
        """Table with one row per aspect: aspect, then mmd, standardized and share, each with `_low` and `_high`."""
        import pandas as pd

        kinds = {"mmd": self.mmd, "standardized": self.standardized, "share": self.shares}
        missing = Estimate(float("nan"), float("nan"), float("nan"))
        rows = []
        for aspect in self.mmd:
            found = {kind: values.get(aspect, missing) for kind, values in kinds.items()}
            row: dict[str, str | float] = {"aspect": aspect}
            for kind, one in found.items():
                row |= {kind: one.value, f"{kind}_low": one.low, f"{kind}_high": one.high}
            rows.append(row)
        return pd.DataFrame(rows)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Plot the standardized size of every aspect with its interval; returns the Matplotlib axes."""
        return plot_effects(self.standardized, self.size_ratio, ax)


def aspects(t: Real, l: Real) -> dict[str, Real]:
    """Split coordinates into interpretable aspects: size, elongation, coarse form and roughness.

    Parameters
    ----------
    t : (N, r) array
        Undulation coordinates, by decreasing variance.
    l : (N, 3) array
        Scale coordinates (a, √2 b, c) of the symmetric matrix log(P₀^-½ P P₀^-½).

    Returns
    -------
    dict
        "size" (N, 1): the trace of that matrix, over √2; "elongation" (N, 2): its traceless part; "coarse form": the
        leading undulation coordinates that explain 90 % of the variance; "roughness": the others over their deviations,
        missing if there is only one undulation coordinate.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles.comparison import aspects
    >>> rng = np.random.default_rng(0)
    >>> t, l = rng.normal(size=(50, 4)) * [3, 2, 1, 0.5], rng.normal(size=(50, 3))
    >>> {name: values.shape for name, values in aspects(t, l).items()}
    {'size': (50, 1), 'elongation': (50, 2), 'coarse form': (50, 3), 'roughness': (50, 1)}
    """
    root = np.sqrt(2)
    parts = {
        "size": ((l[:, 0] + l[:, 2]) / root)[:, None],
        "elongation": np.stack([(l[:, 0] - l[:, 2]) / root, l[:, 1]], axis=1),
    }
    spread = t.std(axis=0)
    held = np.cumsum(spread**2) / max((spread**2).sum(), np.finfo(float).tiny)
    coarse = min(int(np.searchsorted(held, _COARSE_VARIANCE)) + 1, max(t.shape[1] - 1, 1))
    parts["coarse form"] = t[:, :coarse]
    if coarse < t.shape[1]:
        parts["roughness"] = t[:, coarse:] / np.where(spread > 0, spread, 1)[coarse:]
    return parts


def effect_sizes(
    t: Real | Compared,
    l: Real | None = None,
    first: int | None = None,
    *,
    resamples: int = RESAMPLES,
    random_state: RandomState = 0,
) -> EffectSizes:
    """Measure the difference of two samples, with bootstrap intervals.

    Parameters
    ----------
    t : Comparison, or (N, r) array
        A result; or the undulation coordinates of the pooled curves, A's rows first.
    l : (N, 3) array, optional
        Scale coordinates, if t is an array.
    first : int, optional
        Number of A's rows, if t is an array.
    resamples : int
        Bootstrap resamples of the curves, or of the images, of each sample.
    random_state : int, Generator or RandomState
        Seed of the resamples.

    Returns
    -------
    EffectSizes

    Raises
    ------
    ValueError
        For arrays of different lengths, fewer than two curves on a side, or fewer than 20 resamples.
    TypeError
        For anything but a comparison, or all three of t, l and first.

    Notes
    -----
    For a comparison that permuted images, images are resampled, with equal weights: MMD between the images' mean
    embeddings, without pairs within an image. The size ratio has Student's interval (Welch) of the images' means, from
    2 a side on. See `Experiment.effects` for those of every plain quantity. In all other cases curves are resampled,
    and intervals hold for these images alone.
    Percentile intervals, widened for small samples, and none (NaN at both ends) with fewer than 4 images or curves a
    side; that of the size ratio is a symmetric bootstrap-t, with fewer than five curves on a side Student's
    (`mmd.contrasts.difference_of_means`). Pairs of a curve with itself are excluded, in the samples and the resamples
    alike, so neither is biased by their size. Intervals are conditional on the coordinates: they ignore that the shape
    space was itself learned from these curves.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, compare, effect_sizes, samples
    >>> a, b = samples.powder_outlines().ensembles()
    >>> result = compare(a, b, Settings(landmarks=60, rank=10, permutations=199))
    >>> effects = effect_sizes(result, resamples=20)
    >>> ratio = effects.size_ratio
    >>> round(ratio.value, 2), round(ratio.low, 1), round(ratio.high, 1)
    (0.81, 0.7, 0.9)
    """
    image = image_numbers((t.a, t.b)) if isinstance(t, _Permuted) and t.permuted == "images" else None
    t, l, first = coordinates_of(t, l, first)
    seed = seed_of(random_state)
    if len(t) != len(l) or not 2 <= first <= len(t) - 2:
        raise ValueError(
            f"{len(t)} undulations and {len(l)} scales, {first} of the first sample: give one of each per curve, "
            "and at least two curves of each sample"
        )
    if resamples < 20:
        raise ValueError(f"{resamples} resamples: an interval needs at least 20 ({RESAMPLES} is the default)")
    parts = aspects(t, l)
    units, own = (len(t), first) if image is None else (int(image.max()) + 1, int(image[:first].max()) + 1)
    counts = resample(own, units, resamples, seed)
    squared, spread = {}, {}
    for name, points in {"undulation": t, "scale": l, **parts}.items():
        width = median_distance(points, seed)
        if image is None:
            squared[name], spread[name] = unbiased(points, counts, first, width)
        else:
            between = mean_kernels(points, image, bandwidth=width).between
            squared[name], spread[name] = unbiased_of_images(between, counts, own)
    standardized = {name: np.maximum(squared[name], 0) / spread[name] for name in squared}
    total = np.sum([standardized[name] for name in parts], axis=0)
    shares = {
        name: np.divide(standardized[name], total, out=np.full_like(total, np.nan), where=total > 0) for name in parts
    }
    few = min(own, units - own) < MIN_UNITS
    ends = None if few else percentile_ends(own, units - own)
    return EffectSizes(
        {name: _estimate(np.sqrt(np.maximum(values, 0)), ends) for name, values in squared.items()},
        {name: _estimate(np.sqrt(values), ends) for name, values in standardized.items()},
        {name: _estimate(values, ends) for name, values in shares.items()},
        _size_ratio(l, counts, first) if image is None else _size_ratio_of_images(l, image, own),
        "curves" if image is None else "images",
    )


@runtime_checkable
class _Permuted(Protocol):
    """Attributes of a comparison that concern its images."""

    a: Ensemble
    b: Ensemble
    permuted: str


def image_numbers(sides: Sequence[Ensemble]) -> NDArray[np.intp]:
    """Image of each outline, (N,), numbered over all sides."""
    numbers, count = [], 0
    for side in sides:
        names, own = np.unique(side.images, return_inverse=True)
        numbers.append(count + own)
        count += len(names)
    return np.concatenate(numbers).astype(np.intp)


def resample(first: int, total: int, resamples: int, seed: int) -> Real:
    """Bootstrap counts of each curve, (1 + resamples, N); row 0 holds the samples as they are."""
    return np.concatenate([np.ones((1, total)), bootstrap_counts(first, total, resamples, seed)])


def unbiased(points: Real, counts: Real, first: int, bandwidth: float) -> tuple[Real, Real]:
    """Unbiased squared MMD of every resample, and the mean spread 1 - k within the samples."""
    side = np.arange(len(points)) < first
    sizes = first, len(points) - first
    of_x, of_y = np.where(side, counts / sizes[0], 0), np.where(side, 0, counts / sizes[1])
    weights = np.concatenate([of_x - of_y, of_x, of_y])
    # Row 0 of each third is the observed one: in double precision.
    rows = np.arange(3) * len(counts)
    fast, precise = quadratic_forms(Distances(points), [bandwidth], weights.astype(np.float32), weights[rows])
    forms = fast[0].reshape(3, -1)
    forms[:, 0] = precise[0]
    squared, spread = forms[0], np.zeros(len(counts))
    for within, form in ((of_x, forms[1]), (of_y, forms[2])):
        repeats = (within**2).sum(axis=1)  # pairs of a curve with itself
        # NaN for a resample of one curve alone.
        apart = np.divide(1 - form, 1 - repeats, out=np.full_like(repeats, np.nan), where=repeats < 1)
        squared = squared - repeats * apart
        spread += apart / 2
    return squared, np.maximum(spread, np.finfo(float).tiny)


def unbiased_of_images(between: Real, counts: Real, own: int) -> tuple[Real, Real]:
    """Unbiased squared MMD of every resample of images, and the mean spread 1 - k between images of one sample.

    Parameters
    ----------
    between : (U, U) array
        Mean kernels between images, those of the first sample first.
    counts : (1 + R, U) array
        From `resample`.
    own : int
        Number of images of the first sample. For a single image the pairs within it replace those between images.

    Returns
    -------
    squared, spread : (1 + R,) arrays
        NaN if a resample repeats a single image.
    """

    def within(side: slice) -> Real:
        kernel, drawn = between[side, side], counts[:, side]
        if len(kernel) < 2:
            return np.full(len(counts), kernel[0, 0])
        itself = (drawn**2 * np.diag(kernel)).sum(axis=1)
        pairs = drawn.sum(axis=1) ** 2 - (drawn**2).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((((drawn @ kernel) * drawn).sum(axis=1) - itself) / pairs)

    first, second = slice(own), slice(own, None)
    a, b = counts[:, first], counts[:, second]
    across = ((a @ between[first, second]) * b).sum(axis=1) / (a.sum(axis=1) * b.sum(axis=1))
    with np.errstate(invalid="ignore"):
        inside = within(first) + within(second)
    return inside - 2 * across, np.maximum(1 - inside / 2, np.finfo(float).tiny)


def _size_ratio_of_images(l: Real, image: NDArray[np.intp], own: int) -> Estimate:
    """Size ratio of images, with Student's interval of their means."""
    means = np.bincount(image, (l[:, 0] + l[:, 2]) / 2) / np.bincount(image)
    with np.errstate(over="ignore"):
        value, low, high = np.exp(welch_interval(means[:own], means[own:])).tolist()
    return Estimate(value, low, high) if np.isfinite(high) else Estimate(value, float("nan"), float("nan"))


def _size_ratio(l: Real, counts: Real, first: int) -> Estimate:
    """Geometric mean of the outlines' lengths in B over that in A."""
    log_length = (l[:, [0]] + l[:, [2]]) / 2  # log √det P, up to a constant
    with np.errstate(over="ignore"):
        value, low, high = np.exp(difference_of_means(log_length, first, counts[1:]))[:, 0]
    return Estimate(float(value), float(low), float(high))


def _estimate(values: Real, ends: tuple[float, float] | None) -> Estimate:
    """The first value with quantiles of the others, at levels `ends`."""
    rest = values[1:][np.isfinite(values[1:])]
    if ends is None or not len(rest):
        return Estimate(float(values[0]), float("nan"), float("nan"))
    low, high = np.quantile(rest, ends)
    return Estimate(float(values[0]), float(low), float(high))
