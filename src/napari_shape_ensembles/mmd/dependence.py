"""Test of dependence between undulation and scale.

The truth table tests undulation and scale one at a time. If the two depend on each other (larger outlines being
rougher, say), a change of one tends to come with a change of the other, and a difference in their dependence alone is
detected by neither test.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from .._types import Real
from ..checks import RandomState, Sealed, seed_of
from ..progress import over_blocks
from .figures import plot_null
from .kernel import PERMUTATIONS, SIGNIFICANCE, median_distance
from .permutations import chunks, nystrom_features
from .two_sample import check_level

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Nyström features of the kernels, and elements shuffled per chunk of permutations.
_FEATURES, _BATCH = 100, 2**20
# Permutations per task of a thread.
_BLOCK = 16


@dataclass(frozen=True, eq=False)
class DependenceTest(Sealed):
    """Outcome of a permutation test of independence.

    Attributes
    ----------
    hsic : float
        Hilbert-Schmidt independence criterion: squared MMD between the joint distribution and the product of
        its margins. Its size depends on the kernels.
    normalized : float
        HSIC relative to its largest possible value: 0 for independence, 1 where one determines the other.
    p_value : float
        (1 + #{null ≥ observed}) / (B + 1).
    rejected : bool
        True: dependent, at the given significance.
    null : (B,) array
        HSIC under permuted pairings.
    significance : float

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import dependence_test
    >>> rng = np.random.default_rng(0)
    >>> t = rng.normal(size=(80, 3))
    >>> test = dependence_test(t, t + 0.5 * rng.normal(size=(80, 3)), 40, permutations=199)
    >>> test.p_value, test.rejected
    (0.005, True)
    """

    hsic: float
    normalized: float
    p_value: float
    rejected: bool
    null: Real
    significance: float

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the HSIC of permuted pairings as a histogram, and the observed one; returns the Matplotlib axes."""
        return plot_null(self.null, self.hsic, self.p_value, "HSIC", ax)


class Compared(Protocol):
    """Protocol of a comparison: coordinates of the pooled curves, A's rows first."""

    @property
    def t(self) -> Real:
        """Undulation coordinates, (N, r)."""

    @property
    def l(self) -> Real:  # noqa: E743
        """Scale coordinates, (N, 3)."""

    @property
    def a(self) -> Sized:
        """The curves of the first sample."""


def coordinates_of(t: Real | Compared, l: Real | None, first: int | None) -> tuple[Real, Real, int]:
    """Coordinates and the number of A's rows, from a comparison or from the arguments themselves.

    Raises
    ------
    TypeError
        Unless given a comparison alone, or all three arguments.
    """
    if l is not None and first is not None and not hasattr(t, "t"):
        return np.asarray(t), l, first
    if l is None and first is None and all(hasattr(t, name) for name in ("t", "l", "a")):
        compared = cast("Compared", t)
        return compared.t, compared.l, len(compared.a)
    raise TypeError(
        "give a Comparison alone, or t, l and the number of A's curves"
        + ("; for an Experiment, use its .effects and .planning()" if hasattr(t, "design") else "")
    )


def dependence_test(
    t: Real | Compared,
    l: Real | None = None,
    first: int | None = None,
    *,
    permutations: int = PERMUTATIONS,
    significance: float = SIGNIFICANCE,
    random_state: RandomState = 0,
) -> DependenceTest:
    """Test whether undulation and scale are independent within each of the two samples.

    Parameters
    ----------
    t : Comparison, or (N, r) array
        A comparison; or the undulation coordinates of the pooled curves, A's rows first.
    l : (N, 3) array, optional
        Scale coordinates, if t is an array.
    first : int, optional
        Number of A's rows, if t is an array.
    permutations, significance, random_state
        As in `mmd_test`.

    Returns
    -------
    DependenceTest

    Raises
    ------
    ValueError
        For arrays of different lengths, or a side with fewer than two rows.
    TypeError
        For anything but a comparison, or all three of t, l and first.

    Notes
    -----
    Gretton et al. 2005 (HSIC); the biased estimate. Gaussian kernels with median distances as widths, in a Nyström
    approximation by 100 seeded points: the p-value is valid whatever their number. Pairings are permuted, and features
    centered, within each sample, so that a difference between the samples does not count as dependence.

    References
    ----------
    A. Gretton, O. Bousquet, A. Smola, B. Schölkopf, "Measuring statistical dependence with Hilbert-Schmidt norms",
    Algorithmic Learning Theory (2005) 63-77.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import dependence_test
    >>> rng = np.random.default_rng(0)
    >>> t = rng.normal(size=(80, 3))
    >>> dependent, independent = t + 0.5 * rng.normal(size=(80, 3)), rng.normal(size=(80, 3))
    >>> [dependence_test(t, l, 40, permutations=199).rejected for l in (dependent, independent)]
    [True, False]
    """
    check_level(significance)
    t, l, first = coordinates_of(t, l, first)
    seed = seed_of(random_state)
    if len(t) != len(l) or not 2 <= first <= len(t) - 2:
        raise ValueError(
            f"{len(t)} undulations and {len(l)} scales, {first} of the first sample: give one of each per curve, "
            "and at least two curves of each sample"
        )
    sizes = first, len(t) - first
    return independence_test([t], [l], sizes, permutations=permutations, significance=significance, seed=seed)


def independence_test(
    one: Sequence[Real],
    other: Sequence[Real],
    sizes: Sequence[int],
    *,
    permutations: int = PERMUTATIONS,
    significance: float = SIGNIFICANCE,
    seed: int = 0,
) -> DependenceTest:
    """Test whether two descriptions of N points are independent within each of several groups, of contiguous rows.

    Each description is one or several arrays (N, d), whose kernels are summed. Pairings are permuted, and features
    centered, within each group.
    """
    left, right = (
        np.concatenate([_features(table, sizes, seed) for table in tables], axis=1) for tables in (one, other)
    )
    total, rng = len(left), np.random.default_rng(seed)
    batches = (pairings(rng, sizes, some.stop - some.start) for some in chunks(permutations, total, _BATCH))
    hsic = np.concatenate(
        [_cross_covariances(left, right, orders) for orders in chain([np.arange(total)[None]], batches)]
    )
    hsic[np.abs(hsic - hsic[0]) <= 1e-12 * hsic[0]] = hsic[0]
    largest = np.sqrt(np.prod([((part.T @ part) ** 2).sum() for part in (left, right)])) / total**2
    p_value = float(np.mean(hsic >= hsic[0]))
    normalized = float(hsic[0] / largest) if largest > 0 else 0.0
    return DependenceTest(float(hsic[0]), normalized, p_value, p_value <= significance, hsic[1:], significance)


def _features(points: Real, sizes: Sequence[int], seed: int) -> Real:
    """Kernel features (N, q), centered within each group."""
    phi = nystrom_features(points, median_distance(points, seed), _FEATURES, seed)
    return np.concatenate([part - part.mean(axis=0) for part in np.split(phi, np.cumsum(sizes)[:-1])])


def pairings(rng: np.random.Generator, sizes: Sequence[int], count: int) -> NDArray[np.intp]:
    """Random permutations of the rows within each of several groups, (count, N)."""
    orders = np.tile(np.arange(sum(sizes)), (count, 1))
    for rows in np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1]):
        own = slice(rows[0], rows[-1] + 1)
        rng.permuted(orders[:, own], axis=1, out=orders[:, own])
    return orders


def _cross_covariances(one: Real, other: Real, orders: NDArray[np.intp]) -> Real:
    """HSIC of each pairing: ‖ΦᵀΨ‖² / N²."""

    def some(part: NDArray[np.intp]) -> list[float]:
        return [float(np.square(one.T @ other[order]).sum()) for order in part]

    parts = over_blocks(some, np.array_split(orders, range(_BLOCK, len(orders), _BLOCK)))
    return np.concatenate(parts) / len(other) ** 2
