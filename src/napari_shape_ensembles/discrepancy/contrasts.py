"""How large a difference is: in standard deviations, as a ratio of spreads, as a ratio with its interval."""

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]


def standardised_difference(values: Real, first: int) -> Real:
    """Mean of B less mean of A over the pooled within-sample standard deviation (Cohen's d).

    Parameters
    ----------
    values : (N, ...) array
        A's rows first.
    first : int
        Number m of A's rows.

    Returns
    -------
    (...) array
        0 where neither sample varies.
    """
    a, b = values[:first], values[first:]
    freedom = max(len(values) - 2, 1)
    spread = np.sqrt((len(a) * a.var(axis=0) + len(b) * b.var(axis=0)) / freedom)
    return np.where(spread > 0, b.mean(axis=0) - a.mean(axis=0), 0) / np.where(spread > 0, spread, 1)


def spread_ratio(values: Real, first: int) -> Real:
    """Standard deviation of B over that of A, (...) of (N, ...); NaN where A does not vary."""
    a, b = values[:first].std(axis=0), values[first:].std(axis=0)
    return np.where(a > 0, b / np.where(a > 0, a, 1), np.nan)


def bootstrap_counts(first: int, total: int, rounds: int, seed: int) -> Real:
    """How often each curve is drawn in every round, each sample redrawn within itself: (rounds, total)."""
    rng = np.random.default_rng(seed)
    parts = [rng.multinomial(size, np.full(size, 1 / size), size=rounds) for size in (first, total - first)]
    return np.concatenate(parts, axis=1).astype(np.float64)


def difference_of_means(values: Real, first: int, counts: Real, coverage: float = 0.95) -> tuple[Real, Real, Real]:
    """Mean of B less mean of A with its bootstrap interval (percentiles): value, lower and upper end, each (k,).

    Parameters
    ----------
    values : (N, k) array
    first : int
    counts : (R, N) array
        Of `bootstrap_counts`.
    coverage : float
        Of the interval.
    """
    total = len(values)
    redrawn = counts[:, first:] @ values[first:] / (total - first) - counts[:, :first] @ values[:first] / first
    low, high = np.quantile(redrawn, [(1 - coverage) / 2, (1 + coverage) / 2], axis=0)
    return values[first:].mean(axis=0) - values[:first].mean(axis=0), low, high
