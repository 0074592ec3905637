"""Tests of single quantities: which of them differ where a test of the whole rejects.

Each quantity is one number of every outline. Its statistic is a difference of means in its own standard errors, so that
a permutation test of it holds approximately under equal means with unequal spread as well (Chung and Romano 2013).
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from .._types import Index, Real
from ..mmd.contrasts import labeled_spreads
from ..mmd.replicates import DRAWS, Hypothesis, joint_p_values, rounded_ties
from ..progress import cancellation_check
from .learning import KNOWN

# Labelings per block of permutations, in numbers.
_PER_BLOCK = 2_000_000
# Of more curves the statistics are normal: permutations would take a minute.
_MAX_PERMUTED = 20_000
_TINY = 1e-300
# Standard error of a difference, relative to the standard deviation of the values, below which it is rounding error.
_LEAST_ERROR = 1e-9
# Share of the labels that covariates have to leave: less is rounding error, and nothing is known of the difference.
_LEAST_LEFT = 1e-12
# Share of the squares that vary within groups, below which it is not told from rounding errors of the sums.
_LEAST_SPREAD = 1e-4


class PermutedDifferences(NamedTuple):
    """Difference of means of B and A given covariates, for every labeling: values and standard errors, (1 + B,)."""

    value: Real
    error: Real


def label_orders(
    first: int, image: Index | None, blocks: Index | None, total: int, permutations: int, seed: int
) -> NDArray[np.bool_]:
    """Whether each curve, or image, is of B, for every labeling, (1 + B, U); row 0 is the observed one."""
    if image is None:
        second = np.arange(total) >= first
        if total > _MAX_PERMUTED:
            return second[None]
        labels = np.repeat(second[None], 1 + permutations, axis=0)
        np.random.default_rng(seed).permuted(labels[1:], axis=1, out=labels[1:])
        return labels
    second = np.arange(int(image.max()) + 1) > image[:first].max()
    orders = Hypothesis(second, blocks).rearrangements(draws=max(permutations, DRAWS), seed=seed).orders
    return np.asarray(second[orders])


def adjusted_difference(
    values: Real, labels: NDArray[np.bool_], covariates: Real, weights: Real | None = None
) -> PermutedDifferences:
    """Difference of means, B minus A, of values (U,) given covariates (U, p), for every labeling.

    Least squares with the standard errors of White (1980), which hold under unequal spread; without covariates, the
    difference of means over Welch's standard error. With weights (U,), by weighted least squares.
    """
    count = len(values)
    given = np.ones(count) if weights is None else weights / weights.mean()
    root = np.sqrt(given)
    centred = root[:, None] * (covariates - given @ covariates / count)
    u, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    basis = np.concatenate([root[:, None] * count**-0.5, u[:, sizes > 1e-8 * sizes.max(initial=1)]], axis=1)
    rest = root * values
    rest -= basis @ (basis.T @ rest)
    freedom = max(count - basis.shape[1] - 1, 1)
    found, errors, leave = np.zeros(len(labels)), np.full(len(labels), _TINY), cancellation_check()
    # Values that do not vary within the groups have an error of zero: a difference of them is limited instead.
    if (floor := _LEAST_ERROR * float(values.std())) <= _LEAST_ERROR * KNOWN:
        return PermutedDifferences(found, errors)
    step = max(_PER_BLOCK // count, 1)
    for start in range(0, len(labels), step):
        leave()
        part = np.arange(start, min(start + step, len(labels)))
        if weights is None and basis.shape[1] == 1:
            # The same from sums over the groups, in a quarter of the time, where differences of sums are exact enough.
            size, total, square = (labels[part].astype(np.float64) @ np.stack([np.ones(count), rest, rest**2], 1)).T
            other, squares, whole = count - size, size * (count - size) / count, (rest**2).sum()
            found[part] = total / squares
            within = square - total**2 / size, whole - square - total**2 / other
            spread = sum((share / count) ** 2 * one for share, one in zip((other, size), within, strict=True))
            errors[part] = np.hypot(np.sqrt(np.maximum(spread, 0) * count / freedom) / squares, floor)
            part = part[spread < _LEAST_SPREAD * whole]
        group = labels[part] * root
        least = _LEAST_LEFT * (group**2).sum(axis=1)
        group -= (group @ basis) @ basis.T
        squares = (group**2).sum(axis=1)
        told, squares = squares > least, np.maximum(squares, _TINY)
        found[part] = np.where(told, group @ rest / squares, 0)
        left = rest - found[part, None] * group
        error = np.hypot(np.sqrt(((group * left) ** 2).sum(axis=1) * count / freedom) / squares, floor)
        errors[part] = np.where(told, error, np.inf)
    return PermutedDifferences(found, errors)


def p_value_of_points(points: Real, labels: NDArray[np.bool_]) -> float:
    """p-value of the difference of the means of two samples of points in a plane (U, 2), which may vary unequally.

    Hotelling's T² with a covariance for each sample (James 1954), over all labelings, the observed one first; 1 if a
    sample has fewer than three points.
    """
    count, step, found = len(points), max(_PER_BLOCK // len(points), 1), list[Real]()
    if not 3 <= np.count_nonzero(labels[0]) <= count - 3:
        return 1.0
    x, y = ((points - points.mean(axis=0)) / (points.std(axis=0).max() or 1.0)).T
    columns, leave = np.stack([x, y, x * x, x * y, y * y], axis=1), cancellation_check()
    for start in range(0, len(labels), step):
        leave()
        second = labels[start : start + step].astype(np.float64)
        size, sums = second.sum(axis=1)[:, None], second @ columns
        means, covariance = np.zeros((len(second), 2)), np.zeros((len(second), 3))
        for sign, n, total in ((1, size, sums), (-1, count - size, columns.sum(axis=0) - sums)):
            mean = total / n
            means += sign * mean[:, :2]
            products = np.stack([mean[:, 0] ** 2, mean[:, 0] * mean[:, 1], mean[:, 1] ** 2], axis=1)
            covariance += (mean[:, 2:] - products) / (n - 1)
        (u, v), (uu, uv, vv) = means.T, covariance.T
        uu, vv = np.maximum(uu, _LEAST_ERROR), np.maximum(vv, _LEAST_ERROR)
        determinant = np.maximum(uu * vv - uv**2, _LEAST_ERROR * uu * vv)
        found.append((u * u * vv - 2 * u * v * uv + v * v * uu) / determinant)
    statistics = np.concatenate(found)
    if len(statistics) == 1:  # too many curves to permute: χ² of two degrees of freedom
        return float(np.exp(-statistics[0] / 2))
    return float(np.mean(statistics >= statistics[0] * (1 - 1e-9)))


def spread_difference(values: Real, labels: NDArray[np.bool_]) -> PermutedDifferences:
    """Difference of the logarithms of standard deviations, B minus A, of values (U,), for every labeling.

    Deviations from the means of the samples are permuted, as these may differ. The statistic is that of the interval of
    the ratio (`mmd.contrasts.spread_interval`).
    """
    second = labels[0]
    apart = values - np.where(second, values[second].mean(), values[~second].mean())
    step, leave, found = max(_PER_BLOCK // len(values), 1), cancellation_check(), []
    for start in range(0, len(labels), step):
        leave()
        found.append(labeled_spreads(apart, labels[start : start + step]))
    return PermutedDifferences(*map(np.concatenate, zip(*found, strict=True)))


def quantile_of(found: PermutedDifferences) -> float | None:
    """Standard errors that a difference exceeds where its p-value is at most 0.05; None without permutations."""
    apart = np.abs(found.value[1:]) / found.error[1:]
    return float(np.quantile(apart, 0.95, method="higher")) if len(apart) else None


def family_p_values(differences: Mapping[str, PermutedDifferences]) -> dict[str, tuple[float, float]]:
    """p-value of each quantity, and the one adjusted for the others on the same labelings (step-down min-p)."""
    if not differences:
        return {}
    statistics = np.stack([np.abs(one.value) / one.error for one in differences.values()])
    if statistics.shape[1] == 1:  # too many curves to permute: normal
        return holm(dict(zip(differences, (2 * ndtr(-statistics[:, 0])).tolist(), strict=True)))
    statistics = rounded_ties(statistics)
    each = joint_p_values(statistics)[0][:, 0]
    order, found, least = np.argsort(each, kind="stable"), dict[str, tuple[float, float]](), 0.0
    for place, one in enumerate(order.tolist()):
        joint = joint_p_values(statistics[order[place:]])[1]  # ties of p-values broken by the statistics
        least = max(least, float(np.mean(joint <= joint[0])), float(each[one]))
        found[list(differences)[one]] = float(each[one]), least
    return found


def holm(p_values: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Each p-value, and the one adjusted for the others by Holm's method."""
    found, least = dict[str, tuple[float, float]](), 0.0
    for place, (name, p) in enumerate(sorted(p_values.items(), key=lambda one: one[1])):
        least = max(least, min((len(p_values) - place) * p, 1.0))
        found[name] = p, least
    return found
