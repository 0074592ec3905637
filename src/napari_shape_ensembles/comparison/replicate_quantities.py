"""Plain quantities of replicates: differences of groups, slopes, variance components and plans of experiments."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, ndtr, stdtr, stdtrit

from .._types import Index, Real
from ..mmd.contrasts import welch
from ..mmd.replicates import Hypothesis, least_p, precisions
from .design import Design

if TYPE_CHECKING:
    import pandas as pd

#: Columns that identify an outline: its id, and the indices of its image and replicate.
ID_COLUMNS = ("id", "image", "replicate")
_COVERAGE = 0.95
# Quantiles of a standard deviation over which a power is averaged.
_QUANTILES = 100_000


class Difference(NamedTuple):
    """Difference of two means of replicates, with its standard error and degrees of freedom."""

    value: float
    error: float
    freedom: float

    def interval(self) -> tuple[float, float]:
        """Student's 95 % interval; infinite without replication."""
        if not self.freedom > 0:
            return -np.inf, np.inf
        reach = float(stdtrit(self.freedom, (1 + _COVERAGE) / 2)) * self.error
        return self.value - reach, self.value + reach

    @property
    def p_value(self) -> float:
        """p-value of Student's two-sided test; 1 without replication."""
        if not self.freedom > 0:
            return 1.0
        return float(2 * stdtr(self.freedom, -abs(self.value) / max(self.error, np.finfo(float).tiny)))

    def equivalence_p(self, margin: float) -> float:
        """p-value of the null "at least as far apart as the margin": two one-sided t-tests (TOST)."""
        if not self.freedom > 0:
            return 1.0
        error = max(self.error, np.finfo(float).tiny)
        return float(stdtr(self.freedom, (abs(self.value) - margin) / error))


@dataclass(frozen=True, eq=False)
class ReplicateQuantities:
    """Logarithms of plain quantities of all outlines of an experiment, and what follows from their replicates' means.

    Attributes
    ----------
    outlines : DataFrame
        One row per outline: its id, image and replicate (indices), and the logarithms of its quantities.
    design : Design
    significance : float
        Level of the tests that are planned.
    """

    outlines: "pd.DataFrame"
    design: Design
    significance: float

    @cached_property
    def means(self) -> "pd.DataFrame":
        """Mean logarithm of each quantity over the outlines of every replicate, one row per replicate."""
        return self.outlines.drop(columns=["id", "image"]).groupby("replicate", sort=True).mean()

    @cached_property
    def within(self) -> "pd.Series[float]":
        """Standard deviation of each quantity between the outlines of one replicate."""
        import pandas as pd

        values = self.outlines.drop(columns=list(ID_COLUMNS))
        left = values.to_numpy() - self.means.to_numpy()[self.outlines["replicate"]]
        freedom = max(len(values) - len(self.means), 1)
        return pd.Series(np.sqrt((left**2).sum(axis=0) / freedom), values.columns)

    @cached_property
    def counts(self) -> Index:
        """Number of outlines of each replicate, (U,)."""
        return np.bincount(self.outlines["replicate"])

    def slope(self, quantity: str, x: Real, hypothesis: Hypothesis) -> Difference:
        """Slope of a quantity of all replicates on x, with replicates weighted by their precision; see `slope`."""
        return slope(x, self.means[quantity].to_numpy(), hypothesis, self.counts, float(self.within[quantity]))

    def difference(self, quantity: str, i: int, j: int) -> Difference:
        """Mean of group j minus mean of group i, at the level of replicates; see `difference_of_replicates`."""
        chosen = np.flatnonzero(np.isin(self.design.group, (i, j)))
        blocks = None if self.design.blocks is None else self.design.blocks[chosen]
        values, within = self.means[quantity].to_numpy()[chosen], float(self.within[quantity])
        second = self.design.group[chosen] == j
        if blocks is None:
            return difference_of_replicates(values, second)
        return slope(second.astype(float), values, Hypothesis(second, blocks), self.counts[chosen], within)

    def slopes(self, column: str, given: Sequence[str] = ()) -> "pd.DataFrame":
        """Ratio of every plain quantity per unit of a covariate, with its 95 % interval over replicates."""
        import pandas as pd

        hypothesis = self.design.hypothesis(self.design.column(column), given)
        rows = []
        for quantity in map(str, self.means):
            found = self.slope(quantity, self.design.column(column)[:, 0], hypothesis)
            low, high = found.interval()
            ratios = {"ratio": np.exp(found.value), "low": np.exp(low), "high": np.exp(high)}
            rows.append({"quantity": quantity, **ratios})
        return pd.DataFrame(rows)

    @cached_property
    def variance(self) -> "pd.DataFrame":
        """Variance components of the replicates of one group and the outlines within them; one row per quantity.

        Columns: quantity; within, between: standard deviations (of logarithms) of outlines within a replicate, and of
        replicates of one group beyond the sampling error of their outlines; icc, the intraclass correlation, is the
        share of the variance between replicates; outlines, their mean number per replicate; design_effect, 1 +
        (outlines - 1)·icc; worth, the effective number of independent outlines per replicate.
        """
        import pandas as pd

        counts = self.counts
        nuisance = self.design.hypothesis(self.design.column("group")).nuisance
        group = basis_of(np.concatenate([nuisance, self.design.column("group")], axis=1))
        freedom = len(counts) - group.shape[1]
        rows = []
        for quantity in map(str, self.means):
            values = self.means[quantity].to_numpy()
            rest = values - group @ (group.T @ values)
            within = float(self.within[quantity])
            between = max((rest**2).sum() / freedom - within**2 * (1 / counts).mean(), 0) if freedom > 0 else np.nan
            icc = between / (between + within**2) if within or between else 0.0
            effect = 1 + (counts.mean() - 1) * icc
            sizes = {"outlines": counts.mean(), "design_effect": effect, "worth": counts.mean() / effect}
            rows.append({"quantity": quantity, "within": within, "between": between**0.5, "icc": icc, **sizes})
        return pd.DataFrame(rows)

    def power(self, ratio: float, replicates: int, quantity: str = "size") -> float:
        """Probability that a given number of replicates per side detects a ratio of a quantity.

        Parameters
        ----------
        ratio : float
            Ratio of the means of two groups, such as 1.15.
        replicates : int
            Number of replicates a side, each with as many outlines as here.
        quantity : str
            One of the quantities of `variance`.

        Returns
        -------
        float
            Power of a two-sided t-test of replicates at the level of the settings, with the variance between replicates
            estimated here.
        """
        spread = self._spread_of_means(quantity)
        if not ratio > 0 or replicates < 2:
            raise ValueError(f"ratio {ratio}, {replicates} replicates: give a positive ratio and at least 2 per side")
        return t_test_power(abs(float(np.log(ratio))) / max(spread, 1e-12), replicates, self.significance)

    def planning(self, replicates: Sequence[int] = (3, 4, 5, 6, 8, 10, 12, 20), power: float = 0.8) -> "pd.DataFrame":
        """Smallest ratio of each quantity that a given number of replicates per side detects with a given probability.

        Returns
        -------
        DataFrame
            One row per number of replicates a side: replicates, least_p by permutation, and a column for each quantity.
            The variance between replicates is estimated here (see `variance`).

        Raises
        ------
        ValueError
            For fewer than 2 replicates a side, or a power that is not between the level and 1.
        """
        import pandas as pd
        from scipy.optimize import brentq

        if not self.significance < power < 1:
            raise ValueError(
                f"power {power}: give a probability between the level {self.significance:g} and 1, such as 0.8"
            )
        if odd := [count for count in replicates if count != int(count) or count < 2]:
            raise ValueError(f"{odd[0]} replicates: give integers of at least 2 per side")
        replicates = [int(count) for count in replicates]
        rows = []
        for count in replicates:
            found: dict[str, float] = {"replicates": count, "least_p": least_p(count, count)}
            # The difference in standard deviations of replicates' means is the same for all quantities.
            most = 200.0
            while t_test_power(most, count, self.significance) < power:
                most *= 10
            shift = brentq(lambda x, n=count: t_test_power(x, n, self.significance) - power, 0, most)
            found |= {str(name): float(np.exp(shift * self._spread_of_means(str(name)))) for name in self.means}
            rows.append(found)
        return pd.DataFrame(rows)

    def _spread_of_means(self, quantity: str) -> float:
        """Standard deviation of the means of replicates of one group."""
        if quantity not in self.means:
            raise ValueError(f"{quantity!r} is not one of the quantities: {', '.join(map(str, self.means))}")
        one = self.variance.set_index("quantity").loc[quantity]
        counts = self.counts
        if np.isnan(one["between"]):
            raise ValueError("no group has two replicates: the variation between replicates is unknown")
        return float(np.sqrt(one["between"] ** 2 + one["within"] ** 2 * (1 / counts).mean()))


@lru_cache(maxsize=1024)  # tables and sentences ask for the same plans
def t_test_power(shift: float, replicates: int, significance: float) -> float:
    """Power of a two-sided t-test at given replicates per side; `shift` in standard deviations of their means."""
    from scipy.stats import nct  # slow to import

    freedom, apart = 2 * replicates - 2, shift / np.sqrt(2 / replicates)
    cut = float(stdtrit(freedom, 1 - significance / 2))
    power = float(nct.sf(cut, freedom, apart) + nct.cdf(-cut, freedom, apart))
    if np.isnan(power):  # SciPy's series fail at low levels: the mean over the quantiles of the standard deviation
        spread = _deviation_quantiles(freedom)
        power = float((ndtr(apart - cut * spread) + ndtr(-apart - cut * spread)).mean())
    return power


@lru_cache(maxsize=16)  # slow, and the same for every shift and level
def _deviation_quantiles(freedom: int) -> Real:
    """Quantiles of the estimated standard deviation, as fractions of the true one."""
    quantiles = np.sqrt(chdtri(freedom, (np.arange(_QUANTILES) + 0.5) / _QUANTILES) / freedom)
    quantiles.flags.writeable = False
    return quantiles


def difference_of_replicates(values: Real, second: NDArray[np.bool_], blocks: Index | None = None) -> Difference:
    """Difference of the means of a quantity (U,) of two groups of replicates, the second minus the first.

    By Welch's method, or in blocks, whose own effects are adjusted for, by least squares with one residual variance.
    """
    if blocks is None:
        return Difference(*map(float, welch(values[~second], values[second])))
    return slope(second.astype(float), values, Hypothesis(second, blocks))


def slope(x: Real, y: Real, hypothesis: Hypothesis, counts: Index | None = None, within: float = 0.0) -> Difference:
    """Least squares slope of means of replicates y on x, (U,), adjusted for the nuisance columns of the hypothesis.

    If the numbers of outlines, `counts`, are unequal, replicates are weighted by the `precisions` of their means, as in
    the small-sample test; `within` is the standard deviation of the outlines of one replicate.
    """
    if counts is not None and np.ptp(counts) and within > 0:
        weights = precisions(np.outer(y, y) / within**2, 1.0, counts, hypothesis)
        x, y, hypothesis = x * weights, y * weights, replace(hypothesis, weights=weights)
    nuisance = hypothesis.nuisance
    x, y = (values - nuisance @ (nuisance.T @ values) for values in (x, y))
    square = float(x @ x)
    if square < 1e-20:
        return Difference(np.nan, np.nan, 0)
    slope, freedom = float(x @ y) / square, len(y) - nuisance.shape[1] - 1
    rest = float(((y - slope * x) ** 2).sum())
    return Difference(slope, float(np.sqrt(rest / freedom / square)) if freedom > 0 else np.nan, freedom)


def basis_of(columns: Real) -> Real:
    """Orthonormal basis of the span of columns."""
    u, values, _ = np.linalg.svd(columns, full_matrices=False)
    return u[:, values > 1e-8 * values.max(initial=1)]
