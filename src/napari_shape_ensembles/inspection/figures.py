"""Plots of agreements of segmentations, on given Matplotlib axes or on those of a new figure."""

from typing import TYPE_CHECKING

import numpy as np

from ..outlines import Matching
from ..palette import axes_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_MEASURES = (("size", "area", "o"), ("smoothness", "circularity", "s"))
# Number of pairs annotated: those with the smallest overlap.
_MAX_ANNOTATED_PAIRS = 3


def plot_agreement(objects: "pd.DataFrame", matching: Matching, unit: str, ax: "Axes | None" = None) -> "Axes":
    """Plot the overlap of matched objects against the mean distance of their outlines; the worst are annotated.

    Parameters
    ----------
    objects : DataFrame
    matching : Matching
        From an `Agreement`.
    unit : str
    ax : matplotlib Axes, optional
        By default the axes of a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_of(ax, height=4.0)
    ax.plot(objects["boundary"], objects["iou"], "o", color="C0", alpha=0.6, markersize=5)
    for pair in objects.nsmallest(_MAX_ANNOTATED_PAIRS, "iou").itertuples():
        ax.annotate(
            f"{pair.a} in A, {pair.b} in B",
            (pair.boundary, pair.iou),
            (-6, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize="x-small",
        )
    ax.set(xlabel=f"mean distance of the outlines ({unit})", ylabel="IoU", xlim=(0, None))
    drawn = "" if len(objects) == len(matching.pairs) else f" ({len(objects)} with outlines on both sides)"
    alone = f"{len(matching.only_a)} only in A, {len(matching.only_b)} only in B"
    ax.set_title(f"{len(matching.pairs)} matched{drawn}, {alone}", loc="left", fontsize="medium")
    return ax


def plot_annotators(tendencies: "pd.DataFrame", f1: float, significance: float, ax: "Axes | None" = None) -> "Axes":
    """Plot each annotator's areas and circularities relative to the others, with 95 % intervals.

    Parameters
    ----------
    tendencies : DataFrame
        From `Annotators`.
    f1 : float
        Mean over all pairs of annotators.
    significance : float
        Markers are filled for adjusted p-values below this.
    ax : matplotlib Axes, optional
        By default the axes of a new figure.

    Returns
    -------
    matplotlib Axes
    """
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    names = tendencies["annotator"].unique().tolist()
    ax = axes_of(ax, height=1.4 + 0.5 * len(names))
    ax.axvline(1, color="0.3", linestyle=":")
    for shift, (measure, words, mark) in enumerate(_MEASURES):
        rows = tendencies[tendencies["measure"] == measure].set_index("annotator")
        for place, name in enumerate(reversed(names)):
            found, y = rows.loc[name], place + 0.15 - 0.3 * shift
            if found["low"] > 0 and np.isfinite(found["high"]):
                ax.plot([found["low"], found["high"]], [y, y], color=f"C{shift}")
            style = "full" if found["p_adjusted"] < significance else "none"
            label = None if place else words
            ax.plot(found["effect"], y, mark, color=f"C{shift}", fillstyle=style, label=label)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 1.1, 1.25, 1.5, 2, 3, 5, 7, 8, 9)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_yticks(range(len(names)), list(reversed(names)), parse_math=False)
    ax.set(xlabel="ratio to the other annotators (bars: 95 % intervals)", ylim=(-0.6, len(names) - 0.4))
    ax.set_title(f"mean F1 {f1:.2f}", loc="left", fontsize="medium")
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False, fontsize="x-small")
    return ax
