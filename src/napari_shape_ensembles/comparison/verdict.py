"""The truth table: four outcomes of two decisions."""

from math import ceil, comb, sqrt
from types import MappingProxyType
from typing import Any

import numpy as np

from ..mmd.thresholds import distribution_free_threshold
from .settings import Settings

#: Meaning of each row of the truth table (undulation ∧ scale; 1 = no difference detected) for two images.
TRUTH_TABLE = MappingProxyType(
    {
        "1∧1": "no difference was detected",
        "1∧0": "size or elongation differs; no difference in form was detected",
        "0∧1": "form differs; no difference in size or elongation was detected",
        "0∧0": "form differs, and so does size or elongation",
    }
)

INCONCLUSIVE = "inconclusive"
#: What decides a row: permutations, or, where these cannot, the small-sample test (`mmd.replicates`).
PERMUTATION, SMALL_SAMPLE = "permutation", "small-sample"
#: What differs, for every row of the truth table.
DIFFERS = MappingProxyType({"1∧1": "nothing", "0∧1": "form", "1∧0": "scale", "0∧0": "both"})
#: The same as a statement in two words, for lists and cells; inconclusive rows have their name.
ROW_WORDS = MappingProxyType(
    {"1∧1": "no difference", "0∧1": "form differs", "1∧0": "scale differs", "0∧0": "both differ"}
    | {INCONCLUSIVE: INCONCLUSIVE}
)
DEPENDS_ON_ARCHETYPE = "the result depends on the archetype: use the mean or the least symmetric outline"

# Upper bound of the MMD for kernels between 0 and 1.
_MAX_MMD = sqrt(2)
# From this many curves on the smaller side there are more than 2**1100 labelings.
_MAX_COUNTED = 1100
# So many permutations that their number does not limit a p-value.
_ANY_NUMBER = 10**9
#: Relative rounding error of a p-value.
ROUNDING = 1e-9


def table_row(undulation_rejected: bool, scale_rejected: bool) -> str:
    """Row of the truth table for two decisions (paper, table "logical conjunction")."""
    return f"{int(not undulation_rejected)}∧{int(not scale_rejected)}"


def reachable(settings: Settings, least: Any, permuted: Any) -> Any:
    """Whether least p-values reach the level; those of permuted curves half of it, as they vary with the draw."""
    return least <= np.where(permuted == "curves", 0.5, 1) * settings.test_level * (1 + ROUNDING)


def smallest_p_value(m: int, n: int, permutations: int) -> float:
    """Smallest p-value to be expected for two perfectly separated samples of m and n.

    A random relabeling of small samples repeats the observed one, or its mirror image if m = n, with a probability of
    one (two) in all (m + n choose m) labelings.
    """
    # For tens of thousands of curves counting labelings takes a second; the inverse is 0 from 2**1100 on.
    repeats = (2 if m == n else 1) / comb(m + n, m) if min(m, n) < _MAX_COUNTED else 0.0
    return (1 + permutations * repeats) / (1 + permutations)


def inconclusive(m: int, n: int, permutations: int, significance: float, *, null: str = "permutation") -> str | None:
    """Explain why a test cannot reach its significance level, with a remedy; None if it can.

    The smallest p-value must be at most half the level: closer to it the result depends on the random draw of
    permutations.

    Parameters
    ----------
    m, n : int
        Number of curves on either side.
    permutations : int
        Number B of random relabelings.
    significance : float
        Level of each test.
    null : {"permutation", "gamma", "bound"}
        Null distribution of the statistics.
    """
    drawn, limit = permutations if null == "permutation" else _ANY_NUMBER, significance / 2 * (1 + ROUNDING)
    if smallest_p_value(m, n, drawn) > limit:
        reach = f"cannot reach p ≤ {significance / 2:g}, half the level of a test"
        repeats = smallest_p_value(m, n, _ANY_NUMBER)
        if repeats > limit:
            return f"{m} and {n} curves {reach}: add images or lower the minimum size"
        enough = max(round(2 / significance), ceil((1 - limit) / (limit - repeats)))
        return f"{drawn} permutations {reach}: use at least {enough}"
    if null == "bound" and distribution_free_threshold(m, n, significance) >= _MAX_MMD:
        return f"the distribution-free bound exceeds any possible MMD of {m} and {n} curves: use permutations"
    return None
