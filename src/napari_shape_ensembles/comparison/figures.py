"""Plots of comparisons, their effect sizes and experiments, on Matplotlib axes, which are returned.

Color is never the only cue, and the state of pyplot is not used: without axes, a new figure is created, which is
`ax.figure`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._types import Real
from ..mmd import MMDTest
from ..mmd.dependence import DependenceTest
from ..palette import COLOR_A, COLOR_B, axes_of
from ..words import p_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


# Height of a null distribution, in rows.
_HIGH = 0.7
_QUANTITIES = (("size", "o"), ("roughness", "s"))


def plot_typical(
    outlines: Sequence[Sequence[Real]],
    names: Sequence[str],
    unit: str,
    ax: "Axes | None" = None,
    *,
    means: Sequence[tuple[Real, Real] | None] = (None, None),
) -> "Axes":
    """Plot some outlines of each of two groups over each other, the groups beside each other at one scale.

    Parameters
    ----------
    outlines : two sequences of (n, 2) arrays
        Centered, the most typical outline first.
    names : two str
    unit : str
    ax : matplotlib Axes, optional
        By default the axes of a new figure.
    means : two pairs of arrays, or None
        Mean outlines, drawn as dashed lines, and the bands around them.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_of(ax, height=3.5)
    reach = 1.1 * max(float(np.abs(curve).max()) for side in outlines for curve in side)
    for place, (side, mean, color) in enumerate(zip(outlines, means, (COLOR_A, COLOR_B), strict=True)):
        (most, *others), right = side, 2 * reach * place
        for curve in others:
            ax.plot(*_closed(curve, right), color=color, linewidth=0.9)
        ax.fill(*_closed(most, right), facecolor=color, alpha=0.2)
        ax.plot(*_closed(most, right), color=color, linewidth=2)
        if mean is not None:
            outline, band = mean
            ax.fill(*_closed(band, right), facecolor="0.5", alpha=0.3, linewidth=0)
            ax.plot(*_closed(outline, right), color="0.2", linewidth=0.9, linestyle="--")
    ax.set(aspect="equal", xlim=(-reach, 3 * reach), ylim=(reach, -reach), ylabel=unit)
    ax.set_xticks([0, 2 * reach], list(names), parse_math=False)
    ax.tick_params(axis="x", length=0)
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    dashed = " (dashed: mean; gray: the middle half of the forms)" if any(mean is not None for mean in means) else ""
    ax.set_title(f"typical outlines{dashed}", loc="left")
    return ax


def _closed(curve: Real, right: float) -> tuple[Real, Real]:
    """Column and row of a closed curve that is moved to the right, for plotting with rows downwards."""
    around = np.concatenate([curve, curve[:1]])
    return around[:, 1] + right, around[:, 0]


def plot_comparison(undulation: MMDTest, scale: MMDTest, case: str, ax: "Axes | None" = None) -> "Axes":
    """Plot the two tests and their parts: observed MMD and its permutation distribution, relative to the threshold.

    Parameters
    ----------
    undulation, scale : MMDTest
    case : str
        Row of the truth table, such as "1∧0".
    ax : matplotlib Axes, optional
        By default the axes of a new figure.

    Returns
    -------
    matplotlib Axes
        One row per test and part. Beyond the line at 1 a difference is detected (filled diamonds).
    """
    rows: list[tuple[str, MMDTest]] = []
    for name, test in (("undulation", undulation), ("scale", scale)):
        rows.append((name, test))
        rows += [(part, found) for part, found in test.judged.items() if part]
    ax = axes_of(ax, height=0.9 + 0.45 * len(rows))
    _draw_nulls([(name, test.null, test.mmd, test.threshold, test.p_value, test.rejected) for name, test in rows], ax)
    for tick in ax.get_yticklabels():
        tick.set_fontweight("bold" if tick.get_text() in ("undulation", "scale") else "normal")
    ax.set_xlabel("MMD / threshold")
    ax.set_title(case, loc="left")
    return ax


def _draw_nulls(rows: Sequence[tuple[str, Real, float, float, float, bool]], ax: "Axes") -> None:
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


def plot_position(form: DependenceTest, scale: DependenceTest, ax: "Axes | None" = None) -> "Axes":
    """Plot the HSIC of form and of scale with position, observed and permuted, relative to the threshold.

    Parameters
    ----------
    form, scale : DependenceTest
    ax : matplotlib Axes, optional
        By default the axes of a new figure.

    Returns
    -------
    matplotlib Axes
        Beyond the line at 1 a dependence is detected (filled diamonds).
    """
    ax = axes_of(ax, height=1.9)
    rows = [
        (name, test.null, test.hsic, _threshold(test), test.p_value, test.rejected)
        for name, test in (("form", form), ("scale", scale))
    ]
    _draw_nulls(rows, ax)
    ax.set_xlabel("HSIC with position / threshold")
    return ax


def _threshold(test: DependenceTest) -> float:
    """Critical value of the permutation distribution, including the observed value."""
    return float(np.quantile(np.append(test.null, test.hsic), 1 - test.significance, method="higher"))


def plot_sensitivity(
    p_values: Mapping[str, Sequence[float]], significance: float, title: str, ax: "Axes | None" = None
) -> "Axes":
    """Plot the p-values of both tests for every archetype, the first as a diamond, and the level.

    Parameters
    ----------
    p_values : mapping of str to sequence of float
        p-values of each test, one per archetype.
    significance : float
    title : str
    ax : matplotlib Axes, optional
        By default the axes of a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_of(ax, height=1.9)
    ax.axvline(significance, color="0.3", linestyle=":", label=f"level {significance:g}")
    for place, (first, *others) in enumerate(reversed([*p_values.values()])):
        spread = np.linspace(-0.25, 0.25, len(others))
        label = None if place else "other archetypes"
        ax.plot(others, place + spread, "o", color="0.4", fillstyle="none", markersize=5, label=label)
        ax.plot(first, place, "D", color="C3", label=None if place else "archetype of the settings")
    ax.set_yticks(range(len(p_values)), [*p_values][::-1])
    ax.set(xscale="log", xlabel="p-value", ylim=(-0.5, len(p_values) - 0.5), xlim=(None, 1.3))
    ax.set_title(title, loc="left", fontsize="medium")
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False, fontsize="x-small")
    return ax


def plot_experiment(table: "pd.DataFrame", effects: "pd.DataFrame", ax: "Axes | None" = None) -> "Axes":
    """Plot the ratio of size and of roughness of every contrast, with its 95 % interval over replicates.

    Parameters
    ----------
    table, effects : DataFrame
        Attributes of an `Experiment`.
    ax : matplotlib Axes, optional
        By default the axes of a new figure.

    Returns
    -------
    matplotlib Axes
        Filled markers where the row of the contrast holds a difference (in scale for the size, in undulation for the
        roughness).
        Without replicates there is no interval.
    """
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    contrasts = table["contrast"].tolist()
    ax = axes_of(ax, height=1.2 + 0.5 * len(contrasts))
    effects = effects.set_index(["contrast", "quantity"])
    ax.axvline(1, color="0.3", linestyle=":")
    for shift, ((quantity, mark), sign) in enumerate(zip(_QUANTITIES, (-1, 0), strict=True)):
        rejected = [case[sign] == "0" for case in table["case"]]
        for place, contrast in enumerate(reversed(contrasts)):
            found, y = effects.loc[(contrast, quantity)], place + 0.15 - 0.3 * shift
            style = "full" if rejected[len(contrasts) - 1 - place] else "none"
            if np.isfinite(found["high"]):
                ax.plot([found["low"], found["high"]], [y, y], color=f"C{shift}")
            label = None if place else quantity
            ax.plot(found["ratio"], y, mark, color=f"C{shift}", fillstyle=style, label=label)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 1.1, 1.25, 1.5, 2, 3, 5, 7, 8, 9)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_yticks(range(len(contrasts)), list(reversed(contrasts)), parse_math=False)
    ax.set(xlabel="ratio (bars: 95 % intervals over replicates)", ylim=(-0.6, len(contrasts) - 0.4))
    ax.legend(frameon=False, fontsize="small")
    return ax
