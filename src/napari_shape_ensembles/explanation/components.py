"""Shares of size, elongation, coarse form and roughness in a difference."""

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from .._types import Index, Real
from ..checks import Sealed
from ..comparison.estimates import percentile_interval, resample, sizes, squared_mmd
from ..comparison.quantities import COMPONENTS
from ..mmd.contrasts import RESAMPLES
from ..palette import axes_of
from ..progress import one_library_thread

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Components(Sealed):
    """Decomposition of the difference into the four components.

    Attributes
    ----------
    share : (4,) array
        Unbiased MMD² of each component, clipped at zero, over their sum: the additive parts of the MMD² of the sum of
        their kernels. All zero if no component shows a difference.
    interval : (2, 4) array
        95 % bootstrap interval of the shares; NaN if there are too few images or curves.
    """

    share: Real
    interval: Real

    def in_words(self) -> list[str]:
        """Return the share of each component with its interval, if there is one."""
        return [
            f"{share:.0%}{f' ({low:.0%} to {high:.0%})' if isfinite(high) else ''}"
            for share, (low, high) in zip(self.share, self.interval.T, strict=True)
        ]

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Plot the share of each component, with its bootstrap interval, on axes, by default those of a new figure."""
        axis = axes_of(ax, height=1.9)
        rows = np.arange(len(COMPONENTS))[::-1]
        axis.barh(rows, self.share, color="0.7", edgecolor="0.2")
        # The interval of a share need not hold it, as shares below zero count as zero.
        middle, reach = self.interval.mean(axis=0), np.ptp(self.interval, axis=0) / 2
        axis.errorbar(middle, rows, xerr=reach, fmt="none", ecolor="black", capsize=3)
        axis.set_yticks(rows, COMPONENTS)
        axis.set(xlim=(0, 1.02), xlabel="share of the squared MMD of all components (bar: 95 % bootstrap interval)")
        return axis


@one_library_thread()
def component_shares(
    parts: dict[str, Real], first: int, *, image: Index | None = None, resamples: int = RESAMPLES, seed: int = 0
) -> Components:
    """Compute the shares of the four `comparison.quantities.components` in the difference.

    With the image of each curve, those of A, which come first, numbered first, images are resampled, with equal
    weights; else curves are. The MMD² of a sum of kernels, each on its own component, is exactly the sum of the
    components' MMD², which makes the shares additive. It does not detect differences in the dependence between
    components.
    """
    own, total = sizes(first, len(parts["size"]), image)
    counts = resample(own, total, resamples, seed)
    squared = np.stack([squared_mmd(parts[name], first, counts, image)[0] for name in COMPONENTS], axis=1)
    # Resamples of a single curve, or of a single image, have no value.
    positive = np.maximum(np.nan_to_num(squared, posinf=0), 0)
    whole = positive.sum(axis=1, keepdims=True)
    shares = positive / np.where(whole > 0, whole, 1)
    return Components(shares[0], percentile_interval(shares[1:], own, total))
