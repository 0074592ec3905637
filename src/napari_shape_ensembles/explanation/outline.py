"""Where on the outline two ensembles differ, in their mean and in their variability."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._types import Real
from ..checks import Sealed
from ..comparison.mean_outline import outward_normals
from ..mmd.family import image_labelings
from ..mmd.kernel import PERMUTATIONS, SIGNIFICANCE
from ..mmd.permutations import chunks, permuted_labels
from ..progress import one_library_thread
from ..shapes import ShapeSpace

# Relative precision of outlines; statistics closer than this fraction are equal.
_PRECISION, _TIE = 1e-7, 1e-9
# Labelings per block: of images there may be 20 000.
_LABELLINGS = 2000


@dataclass(frozen=True, eq=False)
class OutlineDifference(Sealed):
    """Difference of two ensembles along the outline, per landmark of the registered curves.

    Attributes
    ----------
    mean, mean_a, mean_b : (n, 2) arrays
        Mean curves of all, of A and of B, in the ensembles' unit.
    shift : (n,) array
        Displacement of B's mean from A's, along the outward normal of the mean outline, in the unit.
    effect : (n,) array
        The same in standard deviations of single curves at that landmark.
    spread_a, spread_b : (n,) arrays
        Standard deviation of the curves of A, and of B, along the normal.
    effect_threshold, spread_threshold : float
        If there is no difference, |effect|, and |log(spread_b / spread_a)|, exceed these anywhere on the outline with a
        probability of at most the significance level.
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
        """Landmarks at which the means differ, at the family-wise level of the whole outline."""
        return np.abs(self.effect) > self.effect_threshold

    @property
    def spread(self) -> NDArray[np.bool_]:
        """Landmarks at which the variability differs, at the family-wise level of the whole outline."""
        return np.abs(np.log(self.spread_b / self.spread_a)) > self.spread_threshold


@one_library_thread()
def outline_difference(
    space: ShapeSpace,
    t: Real,
    l: Real,
    first: int,
    *,
    image: NDArray[np.intp] | None = None,
    permutations: int = PERMUTATIONS,
    significance: float = SIGNIFICANCE,
    seed: int = 0,
) -> OutlineDifference:
    """Compare two ensembles point by point along the mean outline.

    From the coordinates of the pooled curves, A's first; scale coordinates of zero put every curve at the mean scale,
    so that only form can differ. With the image of each curve, those of A numbered first, images are permuted, with
    equal weights. The two thresholds hold for the outline as a whole (maximum over all landmarks).
    """
    curves = space.reconstruct(t, l)
    mean = curves.mean(axis=0)
    normal = outward_normals(mean)
    along = np.einsum("qnk,nk->qn", curves - mean, normal)
    floor = _PRECISION * float(np.linalg.norm(mean, axis=1).mean())
    along = np.where(along.std(axis=0) > floor, along, 0)
    if image is None:
        moments, lost = (along, along**2), 2
        labels = permuted_labels(first, len(along), permutations, seed)
        parts = (labels.indicators(some).astype(np.bool_) for some in chunks(len(labels), 1, _LABELLINGS))
        observed = np.arange(len(along))[None] < first
        mean_a, mean_b = curves[:first].mean(axis=0), curves[first:].mean(axis=0)
    else:  # mean and mean square of each image
        share = (image == np.arange(image.max() + 1)[:, None]) / np.bincount(image)[:, None]
        moments, lost = (share @ along, share @ along**2), 0
        in_a, orders = image_labelings(image, first, permutations, seed)
        parts, observed = (in_a[orders[some]] for some in chunks(len(orders), 1, _LABELLINGS)), in_a[None]
        of_images = np.tensordot(share, curves, axes=1)
        mean_a, mean_b = of_images[in_a].mean(axis=0), of_images[~in_a].mean(axis=0)
    largest = [
        (np.abs(effects).max(axis=1), np.abs(np.log(of_b / of_a)).max(axis=1))
        for part in parts
        for effects, of_a, of_b in [_compared(*moments, part, floor, lost)]
    ]
    effects, spread_a, spread_b = _compared(*moments, observed, floor, lost)
    shifts, ratios = (np.concatenate(kind) for kind in zip(*largest, strict=True))
    return OutlineDifference(
        mean,
        mean_a,
        mean_b,
        np.einsum("nk,nk->n", mean_b - mean_a, normal),
        effects[0],
        spread_a[0],
        spread_b[0],
        _threshold(shifts, significance),
        _threshold(ratios, significance),
    )


def _compared(along: Real, squared: Real, in_a: NDArray[np.bool_], floor: float, lost: int) -> tuple[Real, Real, Real]:
    """Effect, and spreads of A and of B, at every landmark for every labeling: (labelings, n) each.

    The observed labeling is included, so that rounding errors are the same for all.
    """
    moments = []
    for chosen in (in_a, ~in_a):
        size = int(chosen[0].sum())
        share = chosen / size
        mean = share @ along
        moments.append((size, mean, np.maximum(share @ squared - mean**2, floor**2)))
    (m, mean_a, variance_a), (n, mean_b, variance_b) = moments
    pooled = np.sqrt((m * variance_a + n * variance_b) / max(m + n - lost, 1))
    return (mean_b - mean_a) / pooled, np.sqrt(variance_a), np.sqrt(variance_b)


def _threshold(largest: Real, significance: float) -> float:
    """Threshold exceeded by the observed value with at most the given probability, ties up to rounding excluded."""
    return float(np.quantile(largest, 1 - significance, method="higher")) * (1 + _TIE)
