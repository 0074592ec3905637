"""Whether quantities of scale and of form go together in one sample otherwise than in the other.

The row compares the two margins: size and roughness may be independent in A and coupled in B while neither differs.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Index, Real
from ..mmd.replicates import ranks
from .quantity_tests import holm
from .replicate_quantities import Difference, difference_of_replicates

if TYPE_CHECKING:
    import pandas as pd

# A `Comparison` has the function of this module as a method.
Comparison = Any

# With fewer outlines a rank correlation is hardly known.
_MIN_OUTLINES = 10
# Bands of coarse lobes in the descriptors.
_COARSE = 5


def coupling(comparison: Comparison) -> "pd.DataFrame":
    """Compare the correlations between scale and form; see `Comparison.coupling`.

    Notes
    -----
    Fisher's transformation of Spearman's correlations, by Welch's test with the variances of their influence functions,
    which hold for any kind of dependence, or of those of the replicates. Ranks within samples do not depend on the
    margins.
    """
    import pandas as pd

    c = comparison
    first, total = len(c.a), len(c.t)
    second = np.arange(total) >= first
    unit = second.astype(np.intp) if c.replicates is None else c.replicates
    of_second = np.zeros(unit.max() + 1, dtype=np.bool_)
    of_second[unit[second]] = True
    form = {"roughness": c.components["roughness"]}
    if c.descriptors.shape[1] > _COARSE + 2:
        form["lobes"] = np.logaddexp.reduce(2 * c.descriptors[:, :_COARSE], axis=1) / 2
    rows, tests = [], {}
    known = np.bincount(unit) >= _MIN_OUTLINES
    for scale in ("size", "elongation"):
        for name, values in form.items():
            z = _transformed(c.components[scale], values, unit)
            usable = known & np.isfinite(z)
            if not (usable & of_second).any() or not (usable & ~of_second).any():
                continue
            if c.replicates is None:
                # At one limit: nearly perfect correlations of few and of many outlines do not differ.
                limit = np.arctanh(1 - 1 / np.bincount(unit).min())
                limited = np.clip(z, -limit, limit)
                sides = [_error_of(*(x[unit == one] for x in (c.components[scale], values))) for one in (0, 1)]
                squared, spent = float(np.sum(sides)), float((np.square(sides) / (np.bincount(unit) - 3)).sum())
                freedom = squared**2 / spent if spent else 0.0
                p = Difference(float(limited[1] - limited[0]), squared**0.5, freedom).p_value
            else:
                blocks = None if c.blocks is None else c.blocks[usable]
                p = difference_of_replicates(z[usable], of_second[usable], blocks).p_value
            means = (float(np.tanh(z[usable & side].mean())) for side in (~of_second, of_second))
            rows.append([scale, name, *means])
            tests[f"{scale} {name}"] = p
    adjusted = [holm(tests)[name] for name in tests]
    table = pd.DataFrame(rows, columns=["scale", "form", "correlation_a", "correlation_b"])
    return table.assign(p=[p for p, _ in adjusted], p_adjusted=[p for _, p in adjusted])


def _transformed(one: Real, other: Real, unit: Index) -> Real:
    """Inverse hyperbolic tangent of the rank correlation within each unit; NaN if one of both does not vary."""
    found = np.full(int(unit.max()) + 1, np.nan)
    for place in range(len(found)):
        x, y = (values[unit == place] for values in (one, other))
        if x.min() < x.max() and y.min() < y.max():
            limit = 1 - 1 / len(x)
            found[place] = np.arctanh(np.clip(np.corrcoef(ranks(x), ranks(y))[0, 1], -limit, limit))
    return found


def _error_of(one: Real, other: Real) -> float:
    """Squared standard error of the inverse hyperbolic tangent of a rank correlation, from its influence function."""
    count = len(one)
    u, v = ((ranks(x) - (count + 1) / 2) / count for x in (one, other))
    influence = (u * v + _mean_above(u, v) + _mean_above(v, u)) / (u.std() * v.std())
    limit = 1 - 1 / count
    return float(influence.var(ddof=1) / (count - 1) / (1 - np.clip(np.corrcoef(u, v)[0, 1], -limit, limit) ** 2) ** 2)


def _mean_above(u: Real, v: Real) -> Real:
    """For each u, the sum of v over all points with at least this u, divided by the number of all points."""
    order = np.argsort(u)
    sums = v[order][::-1].cumsum()[::-1]
    return np.asarray(sums[np.searchsorted(u[order], u)] / len(u))
