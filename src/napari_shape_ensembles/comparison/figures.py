"""Plots of comparisons and experiments, on Matplotlib axes, which are returned.

Color is never the only cue, and the state of pyplot is not used: without axes, a new figure is created, which is
`ax.figure`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._types import Real
from ..mmd import MMDTest
from ..palette import COLOR_A, COLOR_B, axes_of
from ..words import p_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


# Height of a null distribution, in rows.
_HIGH = 0.7


def plot_typical(
    outlines: Sequence[Sequence[Real]],
    names: Sequence[str],
    unit: str,
    ax: "Axes | None" = None,
    *,
    means: Sequence[tuple[Real, Real] | None] = (None, None),
) -> "Axes":
    """Plot outlines of each of two groups over each other, the groups beside each other at one scale.

    Outlines are centered, the most typical first. Mean outlines, dashed, come with the bands around them.
    """
    ax = axes_of(ax, height=3.5)
    reach = 1.1 * max(float(np.abs(curve).max()) for side in outlines for curve in side)
    for place, (side, mean, color) in enumerate(zip(outlines, means, (COLOR_A, COLOR_B), strict=True)):
        (most, *others), right = side, 2 * reach * place
        for curve in others:
            ax.plot(*closed(curve, right), color=color, linewidth=0.9)
        ax.fill(*closed(most, right), facecolor=color, alpha=0.2)
        ax.plot(*closed(most, right), color=color, linewidth=2)
        if mean is not None:
            outline, band = mean
            ax.fill(*closed(band, right), facecolor="0.5", alpha=0.3, linewidth=0)
            ax.plot(*closed(outline, right), color="0.2", linewidth=0.9, linestyle="--")
    ax.set(aspect="equal", xlim=(-reach, 3 * reach), ylim=(reach, -reach), ylabel=unit)
    ax.set_xticks([0, 2 * reach], list(names), parse_math=False)
    ax.tick_params(axis="x", length=0)
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    dashed = " (dashed: mean; gray: the middle half of the forms)" if any(mean is not None for mean in means) else ""
    ax.set_title(f"typical outlines{dashed}", loc="left")
    return ax


def closed(curve: Real, right: float = 0) -> tuple[Real, Real]:
    """Column and row of a closed curve that is moved to the right, for plotting with rows downwards."""
    around = np.concatenate([curve, curve[:1]])
    return around[:, 1] + right, around[:, 0]


def plot_comparison(undulation: MMDTest, scale: MMDTest, case: str, ax: "Axes | None" = None) -> "Axes":
    """Plot the two tests and their parts: observed MMD and its null distribution, relative to the threshold.

    One row per test and part. Beyond the line at 1 a difference is detected (filled diamonds). The title is the row of
    the truth table, such as "1∧0".
    """
    rows: list[tuple[str, MMDTest]] = []
    for name, test in (("undulation", undulation), ("scale", scale)):
        rows.append((name, test))
        rows += [(part, found) for part, found in test.judged.items() if part]
    ax = axes_of(ax, height=0.9 + 0.45 * len(rows))
    draw_nulls([(name, test.null, test.mmd, test.threshold, test.p_value, test.rejected) for name, test in rows], ax)
    for tick in ax.get_yticklabels():
        tick.set_fontweight("bold" if tick.get_text() in ("undulation", "scale") else "normal")
    ax.set_xlabel("MMD / threshold")
    ax.set_title(case, loc="left")
    return ax


def draw_nulls(rows: Sequence[tuple[str, Real, float, float, float, bool]], ax: "Axes") -> None:
    """Plot rows from top to bottom of name, permuted values, observed value, threshold, p-value, and rejected."""
    ax.axvline(1, color="0.3", linestyle=":", label="threshold")
    for place, (_, null, observed, threshold, p_value, rejected) in enumerate(rows):
        low = len(rows) - place - 1
        over = threshold if 0 < threshold < np.inf else max(observed, np.finfo(float).tiny)
        if len(null):
            counts, edges = np.histogram(null / over, bins=30)
            heights = np.append(counts, 0) / max(counts.max(), 1) * _HIGH
            label = None if place else "permuted labels"
            ax.fill_between(edges, low, low + heights, step="post", color="0.75", linewidth=0, label=label)
        label = None if place else "observed"
        style = "full" if rejected else "none"
        ax.plot(observed / over, low + _HIGH / 4, "D", color="C3", fillstyle=style, label=label)
        ax.annotate(
            f"p = {p_text(p_value)}", (1.01, low), xycoords=("axes fraction", "data"), va="bottom", fontsize="small"
        )
    ax.set_yticks(range(len(rows)), [name for name, *_ in reversed(rows)])
    ax.set(ylim=(-0.15, len(rows)), xlim=(0, None))
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False, fontsize="x-small")


def draw_ratios(ax: "Axes", ratios: "Mapping[tuple[str, str], pd.DataFrame]") -> None:
    """Draw tables of ratios on a logarithmic axis, one line a row, each table by its name and marker.

    Columns are ratio, low and high, the ends of its interval, and differs, for which the marker is filled.
    """
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    ax.axvline(1, color="0.3", linestyle=":")
    for shift, ((name, mark), table) in enumerate(ratios.items()):
        rows = table[["ratio", "low", "high", "differs"]].to_numpy().tolist()
        for place, (ratio, low, high, differs) in enumerate(reversed(rows)):
            y, style = place + 0.15 - 0.3 * shift, "full" if differs else "none"
            if low > 0 and np.isfinite(high):
                ax.plot([low, high], [y, y], color=f"C{shift}")
            label = None if place else name
            ax.plot(ratio, y, mark, color=f"C{shift}", fillstyle=style, label=label)
    lines = [*table.index]
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 1.1, 1.25, 1.5, 2, 3, 5, 7, 8, 9)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_yticks(range(len(lines)), lines[::-1], parse_math=False)
    ax.set_ylim(-0.6, len(lines) - 0.4)
