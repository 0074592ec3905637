"""Figures of single tests, on given Matplotlib axes or on those of a new figure (`ax.figure`)."""

from typing import TYPE_CHECKING

from .._types import Real
from ..palette import axes_of
from ..words import p_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_null(null: Real, observed: float, p_value: float, name: str, ax: "Axes | None" = None) -> "Axes":
    """Draw a statistic under permuted labels, if there are any, as a histogram, and the observed value as a line."""
    ax = axes_of(ax, height=3.0)
    if len(null):
        ax.hist(null, bins=30, color="0.75", label="permuted labels")
    ax.axvline(observed, color="C3", label=f"observed, p = {p_text(p_value)}")
    ax.set(xlabel=name, ylabel="permutations")
    ax.legend(frameon=False, fontsize="small")
    return ax
