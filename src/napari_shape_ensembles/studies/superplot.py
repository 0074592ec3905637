"""Figures of an experiment: replicates over their outlines, distances of groups, doses, and plate maps."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .._types import Real
from ..comparison import Experiment
from ..comparison.experiment_words import EFFECTS
from ..comparison.verdict import DIFFERS
from ..palette import COLORMAP, with_log_ticks
from ..words import shortened_apart

# Quantities plotted, maximum number of outlines plotted per replicate, and markers of the replicates of a group.
_DEFAULT_QUANTITIES, _OUTLINES = ("size", "elongation", "lobes 3", "lobes 4", "roughness"), 200
_MARKS = "osD^vP*Xhp"
_MAX_LETTERS_SIDE_BY_SIDE = 14  # of names that fit side by side
_GROUPS = 20  # maximum for plotting replicates individually
_WELL = re.compile(r"([A-Pa-p])0?(\d{1,2})")
# Labels of the color bar for columns of the table.
_VALUE_LABELS = {
    "undulation_p_adjusted": "-log₁₀ of adjusted p, form",
    "scale_p_adjusted": "-log₁₀ of adjusted p, scale",
    **{f"{test}_effect": f"{quantity} ratio" for test, quantity in EFFECTS.items()},
}


def superplot(result: Experiment, quantities: Sequence[str] = _DEFAULT_QUANTITIES) -> Figure:
    """Plot every replicate as one marker over its outlines, for each quantity and group (Lord et al. 2020).

    Parameters
    ----------
    result : Experiment
    quantities : sequence of str
        Rows of `ReplicateQuantities.variance`.

    Returns
    -------
    matplotlib Figure
        Gray dots are outlines (at most 200 of each replicate), markers are replicates (geometric means), with the same
        shape in all panels; the line is the mean of the replicates of a group, the bar its 95 % interval.

    References
    ----------
    S. J. Lord, K. B. Velle, R. D. Mullins, L. K. Fritz-Laylin, "SuperPlots: Communicating reproducibility and
    variability in cell biology", Journal of Cell Biology 219 (2020) e202001064.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from napari_shape_ensembles import Settings, experiment, samples
    >>> from napari_shape_ensembles.studies.superplot import superplot
    >>> a, b = samples.powder_outlines().ensembles()
    >>> images = [side[np.arange(len(side)) % 4 == i] for side in (a, b) for i in range(4)]
    >>> design = pd.DataFrame({"group": ["sieved"] * 4 + ["raw"] * 4})
    >>> figure = superplot(experiment(images, design, Settings(landmarks=60, rank=10)), ("size", "elongation"))
    >>> [ax.get_title() for ax in figure.axes]
    ['size, pixel', 'elongation']
    """
    groups = result.design.groups
    width = max(2.2, 0.55 * len(groups) + 1)
    figure = Figure(figsize=(min(width * len(quantities), 40), 3.4), layout="constrained")
    draw_superplot(figure, result, quantities)
    return figure


def draw_superplot(figure: Figure, result: Experiment, quantities: Sequence[str] = _DEFAULT_QUANTITIES) -> list[Axes]:
    """Draw `superplot` on a figure, and return its panels."""
    groups, group, ink = result.design.groups, result.design.group, mpl.rcParams["text.color"]
    rng = np.random.default_rng(0)
    number = np.concatenate([np.arange(count) for count in np.bincount(group, minlength=len(groups))])
    within = np.empty(len(group), dtype=int)
    within[np.argsort(group, kind="stable")] = number
    outlines = result.quantities.outlines.groupby("replicate").head(_OUTLINES)
    axes = list(figure.subplots(1, len(quantities), squeeze=False)[0])
    for axis, quantity in zip(axes, quantities, strict=True):
        places = group[outlines["replicate"]] + rng.uniform(-0.3, 0.3, len(outlines))
        axis.plot(places, np.exp(outlines[quantity]), ".", color="0.75", markersize=2, rasterized=True, zorder=1)
        means = result.quantities.means[quantity].to_numpy()
        for place in range(len(groups)):
            own = np.flatnonzero(group == place)
            offsets = place + (np.linspace(-0.25, 0.25, len(own)) if len(own) > 1 else np.zeros(1))
            for offset, replicate in zip(offsets, own, strict=True):
                mark = _MARKS[within[replicate] % len(_MARKS)]
                axis.plot(offset, np.exp(means[replicate]), mark, color="C0", markeredgecolor=ink, zorder=3)
            low, high = _interval(means[own])
            axis.plot([place - 0.35, place + 0.35], [np.exp(means[own].mean())] * 2, color=ink, zorder=4)
            axis.plot([place, place], np.exp([low, high]), color=ink, linewidth=1, zorder=2)
        with_log_ticks(axis)
        _name_groups(axis, groups)
        axis.set_title(f"{quantity}, {result.unit}" if quantity == "size" else quantity, fontsize=9)
    return axes


def _name_groups(axis: Axes, names: Sequence[str]) -> None:
    """Label a panel with the names of groups: side by side if there is room, else rotated."""
    shown, longest = shortened_apart(names), max(map(len, names))
    beside = len(names) <= 3 and longest * len(names) <= _MAX_LETTERS_SIDE_BY_SIDE
    turned: dict[str, Any] = {} if beside else {"rotation": 45, "ha": "right"} if longest < 10 else {"rotation": 90}
    axis.set_xticks(range(len(names)), shown, parse_math=False, **turned)


def _interval(means: Real) -> tuple[float, float]:
    """Student's 95 % interval of the mean of replicates; the value itself for a single one."""
    from scipy.special import stdtrit

    if len(means) < 2:
        return float(means.mean()), float(means.mean())
    reach = float(stdtrit(len(means) - 1, 0.975)) * means.std(ddof=1) / np.sqrt(len(means))
    return float(means.mean() - reach), float(means.mean() + reach)


def plate_of(groups: Sequence[str]) -> dict[str, tuple[int, int]] | None:
    """Row and column of each group named as a well ("B07"); None unless at least ten and half of them are."""
    found = {name: match for name in groups if (match := _WELL.fullmatch(name))}
    if len(found) < 10 or 2 * len(found) < len(groups):
        return None
    return {name: (ord(match[1].upper()) - ord("A"), int(match[2]) - 1) for name, match in found.items()}


def draw_groups(result: Experiment, figure: Figure) -> list[Axes]:
    """Plot the distance matrix of all pairs of groups, in the order of the tree (average linkage) above it.

    The row of the truth table is written into the cells of up to 12 groups.

    Parameters
    ----------
    result : Experiment
        With two groups or more.
    figure : matplotlib Figure

    Returns
    -------
    list of Axes
        Axes of the tree, and of the matrix.
    """
    from scipy.cluster.hierarchy import dendrogram

    distances, names = result.distance.to_numpy(), list(result.design.groups)
    above, below = figure.subplots(2, 1, height_ratios=(1, 3))
    ink = mpl.rcParams["text.color"]
    flat = not result.linkage[:, 2].any()  # SciPy cannot draw a tree without height
    order = dendrogram(result.linkage, ax=above, no_labels=True, link_color_func=lambda _: ink, no_plot=flat)["leaves"]
    above.set_ylabel("distance")
    for side in ("top", "right", "bottom"):
        above.spines[side].set_visible(False)
    picture = below.imshow(distances[np.ix_(order, order)], cmap=COLORMAP, aspect="auto")
    if len(names) <= _GROUPS:
        for (i, j), case in zip(result.design.pairs, result.table["case"], strict=True):
            color = "black" if distances[i, j] > distances.max() / 2 else "white"
            for x, y in ((order.index(i), order.index(j)), (order.index(j), order.index(i))):
                below.text(x, y, DIFFERS.get(case, "?"), ha="center", va="center", color=color, fontsize="small")
    shown = [names[place] for place in order]
    _name_groups(below, shown)
    below.set_yticks(range(len(shown)), shortened_apart(shown), parse_math=False)
    figure.colorbar(picture, ax=below, label="distance (MMD)")
    return [above, below]


def draw_dose(
    figure: Figure, result: Experiment, column: str, quantities: Sequence[str] = ("size", "elongation", "roughness")
) -> list[Axes]:
    """Plot the means of replicates over a covariate, with the least squares line and its slope.

    Parameters
    ----------
    figure : matplotlib Figure
    result : Experiment
    column : str
        A covariate.
    quantities : sequence of str
        Rows of `ReplicateQuantities.slopes`.

    Returns
    -------
    list of Axes
        One per quantity, on a logarithmic axis.
    """
    x, slopes = result.design.column(column)[:, 0], result.quantities.slopes(column).set_index("quantity")
    axes, ink = list(figure.subplots(1, len(quantities), squeeze=False)[0]), mpl.rcParams["text.color"]
    for axis, quantity in zip(axes, quantities, strict=True):
        y, found = result.quantities.means[quantity].to_numpy(), slopes.loc[quantity]
        for place in range(len(result.design.groups)):
            own = result.design.group == place
            axis.plot(x[own], np.exp(y[own]), _MARKS[place % len(_MARKS)], color="C0", markeredgecolor=ink)
        ends = np.array([x.min(), x.max()])
        axis.plot(ends, np.exp(y.mean() + np.log(found["ratio"]) * (ends - x.mean())), color=ink)
        with_log_ticks(axis)
        axis.set_xlabel(column, parse_math=False)
        name = f"{quantity}, {result.unit}" if quantity == "size" else quantity
        interval = f"\n{found['low']:.3g} to {found['high']:.3g}" if np.isfinite(found["high"]) else ""
        axis.set_title(f"{name}\n×{found['ratio']:.3g}{interval}", fontsize=8)
    figure.suptitle(f"Ratio per unit of {column}, 95 % interval", fontsize=8, parse_math=False)
    if 1 < len(result.design.groups) <= len(_MARKS):
        shown = shortened_apart(result.design.groups)
        legend = figure.legend(
            axes[0].lines[: len(shown)],
            list(map(str, range(len(shown)))),
            loc="outside lower center",
            ncols=2 if max(map(len, shown)) > 10 else 4,
            fontsize=7,
        )
        for text, name in zip(legend.get_texts(), shown, strict=True):  # Matplotlib ignores labels that start with _
            text.set(text=name, parse_math=False)
    return axes


def figures_of(result: Experiment) -> dict[str, Callable[[Figure], list[Axes]]]:
    """Applicable figures of an experiment by name, in the order in which to show them."""
    groups = len(result.design.groups)
    found: dict[str, Callable[[Figure], list[Axes]]] = {}
    if plate_of(result.design.groups) is not None and len(result.table):
        found |= {
            "Plate, form": partial(draw_plate, result=result, value="undulation_p_adjusted"),
            "Plate, scale": partial(draw_plate, result=result, value="scale_p_adjusted"),
            "Plate, size ratio": partial(draw_plate, result=result, value="scale_effect"),
        }
    if groups <= _GROUPS:
        found["SuperPlot"] = partial(draw_superplot, result=result, quantities=("size", "elongation", "roughness"))
    for column in result.design.covariates:
        found[f"Trend with {column}"] = partial(draw_dose, result=result, column=column)
    if 2 < groups <= 2 * _GROUPS:
        found["Distances"] = partial(draw_groups, result)
    return found


def plot_plate(result: Experiment, value: str = "undulation_p_adjusted") -> Figure:
    """Plot a screen as a plate map: one cell per well, colored by a column of the table.

    Parameters
    ----------
    result : Experiment
        Against a control, with groups named as wells, such as "B07".
    value : str
        Column; p-values are plotted as -log₁₀.

    Raises
    ------
    ValueError
        If groups are not named as wells.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from napari_shape_ensembles import Settings, experiment, samples
    >>> from napari_shape_ensembles.studies.superplot import plot_plate
    >>> drawn, _ = samples.powder_outlines().ensembles()
    >>> images = [drawn[np.arange(len(drawn)) % 20 == i] for i in range(20)]
    >>> design = pd.DataFrame({"group": [f"B{1 + i // 2:02}" for i in range(20)]})
    >>> figure = plot_plate(experiment(images, design, Settings(landmarks=60, rank=5), control="B01"))
    >>> [text.get_text() for text in figure.axes[0].texts]  # the control
    ['C']
    """
    rows, columns = _plate_values(result, value).shape
    figure = Figure(figsize=(columns / 2.2 + 1.5, rows / 2.2 + 0.6), layout="constrained")
    draw_plate(figure, result, value)
    return figure


def draw_plate(figure: Figure, result: Experiment, value: str = "undulation_p_adjusted") -> list[Axes]:
    """Draw `plot_plate` on a figure; cells without a well are empty, that of a control has a C."""
    plate = _plate_values(result, value)
    rows, columns = plate.shape
    axis = figure.subplots()
    limits = {}
    if "_p" in value:  # up to the level at least, so that chance does not span the range of colors
        limits = {"vmin": 0.0, "vmax": max(np.nanmax(plate, initial=0), -np.log10(result.settings.test_level))}
    picture = axis.imshow(plate, cmap=COLORMAP, **limits)
    wells = plate_of(result.design.groups) or {}
    if (control := wells.get(str(result.design.control))) is not None:
        axis.text(*control[::-1], "C", ha="center", va="center", fontsize=7)
    axis.set_xticks(range(columns), [str(i + 1) for i in range(columns)], fontsize=7)
    axis.set_yticks(range(rows), [chr(ord("A") + i) for i in range(rows)], fontsize=7)
    label = _VALUE_LABELS.get(value, f"-log₁₀ {value}" if "_p" in value else value)
    figure.colorbar(picture, label=label, location="bottom", shrink=0.8, aspect=30)
    return [axis]


def _plate_values(result: Experiment, value: str) -> Real:
    places = plate_of(result.design.groups)
    if places is None:
        raise ValueError('the groups are not named like wells of a plate, such as "B07"')
    rows, columns = (max(place[axis] for place in places.values()) + 1 for axis in (0, 1))
    rows, columns = (8, 12) if rows <= 8 and columns <= 12 else (16, 24)
    plate = np.full((rows, columns), np.nan)
    for name, number in zip(result.table["b"], result.table[value], strict=True):
        if name in places:
            plate[places[name]] = -np.log10(max(number, 1e-300)) if "_p" in value else number
    return plate
