"""Where on the outline two ensembles differ: in their mean, and in how much they vary there."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..tensors import ShapeSpace
from .contrasts import standardised_difference
from .family import label_weights

Real = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OutlineDifference:
    """Two ensembles along the outline, landmark by landmark of the registered curves.

    Attributes
    ----------
    mean, mean_a, mean_b : (n, 2) arrays
        Mean curves of all, of A and of B, in the ensembles' unit.
    shift : (n,) array
        How far B's mean lies outside A's, along the outward normal of the mean outline, in the unit.
    effect : (n,) array
        The same in standard deviations of single curves there.
    spread_a, spread_b : (n,) arrays
        Standard deviation of the curves of A, and of B, along the normal.
    effect_threshold, spread_threshold : float
        |effect|, and |log(spread_b / spread_a)|, exceed these anywhere on the outline with a probability of at
        most the significance level if there is no difference.
    """

    mean: Real
    mean_a: Real
    mean_b: Real
    shift: Real
    effect: Real
    spread_a: Real
    spread_b: Real
    effect_threshold: float
    spread_threshold: float

    @property
    def shifted(self) -> NDArray[np.bool_]:
        """Landmarks at which the means differ, at the level of the whole outline."""
        return np.abs(self.effect) > self.effect_threshold

    @property
    def spread(self) -> NDArray[np.bool_]:
        """Landmarks at which the variability differs, at the level of the whole outline."""
        return np.abs(np.log(self.spread_b / self.spread_a)) > self.spread_threshold


def outline_difference(
    space: ShapeSpace,
    t: Real,
    l: Real,
    first: int,
    *,
    permutations: int = 1000,
    significance: float = 0.01,
    seed: int = 0,
) -> OutlineDifference:
    """Compare two ensembles point by point along the mean outline.

    Parameters
    ----------
    space : ShapeSpace
    t : (N, r) array
        Undulation coordinates, A's rows first.
    l : (N, 3) array
        Scale coordinates. Zeros put every curve at the mean scale, so that only the form is left to differ.
    first : int
        Number of curves in A.
    permutations, significance, seed
        Of the two thresholds, which hold for the outline as a whole (largest value over all landmarks).

    Returns
    -------
    OutlineDifference
    """
    curves = space.reconstruct(t, l)
    mean = curves.mean(axis=0)
    normal = outward_normals(mean)
    along = np.einsum("qnk,nk->qn", curves - mean, normal)
    mean_a, mean_b = curves[:first].mean(axis=0), curves[first:].mean(axis=0)
    effects, ratios = _permuted(along, first, permutations, seed)
    return OutlineDifference(
        mean,
        mean_a,
        mean_b,
        np.einsum("nk,nk->n", mean_b - mean_a, normal),
        standardised_difference(along, first),
        along[:first].std(axis=0),
        along[first:].std(axis=0),
        float(np.quantile(effects, 1 - significance, method="higher")),
        float(np.quantile(ratios, 1 - significance, method="higher")),
    )


def outward_normals(curve: Real) -> Real:
    """Unit normals (n, 2) of a closed curve (n, 2), away from what it encloses; derivatives by Fourier series."""
    n = len(curve)
    z = curve[:, 0] + 1j * curve[:, 1]
    k = np.fft.fftfreq(n, 1 / n)
    if n % 2 == 0:
        k[n // 2] = 0  # the highest mode has no derivative on the grid
    tangent = np.fft.ifft(1j * k * np.fft.fft(z))
    side = np.sign((z.conj() * tangent).imag.sum()) or 1.0
    normal = -1j * side * tangent / np.maximum(np.abs(tangent), 1e-300)
    return np.stack([normal.real, normal.imag], axis=-1)


def _permuted(along: Real, first: int, permutations: int, seed: int) -> tuple[Real, Real]:
    """Largest |effect| and largest |log ratio of spreads| over the outline, for every labelling: (1 + B,) each."""
    total = len(along)
    in_a = label_weights(first, total, permutations, seed) > 0
    squared = along**2
    moments = []
    for chosen, size in ((in_a, first), (~in_a, total - first)):
        share = chosen / size
        mean = share @ along
        moments.append((mean, np.maximum(share @ squared - mean**2, 1e-300), size))
    (mean_a, variance_a, m), (mean_b, variance_b, n) = moments
    pooled = np.sqrt((m * variance_a + n * variance_b) / max(total - 2, 1))
    return (
        np.abs((mean_b - mean_a) / pooled).max(axis=1),
        np.abs(np.log(variance_b / variance_a)).max(axis=1) / 2,
    )
