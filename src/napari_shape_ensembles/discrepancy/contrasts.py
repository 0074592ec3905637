"""How large a difference is: in standard deviations, as a ratio of spreads, as a ratio with its interval."""

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]

# A standard deviation below this is rounding.
_STILL = 1e-9


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
    """Standard deviation of B over that of A, (...) of (N, ...): infinite where A alone does not vary, NaN if neither.

    The values are logarithms or angles: without unit.
    """
    return _ratio(values[:first].std(axis=0), values[first:].std(axis=0))


def spread_interval(values: Real, first: int, counts: Real, coverage: float = 0.95) -> Real:
    """Lower and upper end of the bootstrap interval of `spread_ratio`, (2, k), for (N, k) values.

    Rounds in which neither sample varies count as equal spreads.
    """
    spreads = []
    for side in (slice(first), slice(first, None)):
        centred = values[side] - values[side].mean(axis=0)
        share = counts[:, side] / len(centred)
        spreads.append(np.sqrt(np.maximum(share @ centred**2 - (share @ centred) ** 2, 0)))
    ratios = _ratio(*spreads)
    ends = [(1 - coverage) / 2, (1 + coverage) / 2]
    # No interpolation: some rounds may be infinite.
    return np.quantile(np.where(np.isnan(ratios), 1, ratios), ends, axis=0, method="nearest")


def _ratio(a: Real, b: Real) -> Real:
    a, b = (np.where(spread > _STILL, spread, 0) for spread in (a, b))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(b / a)


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
