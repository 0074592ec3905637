"""Figures of an explanation, each a function that returns a Matplotlib figure.

A is blue and drawn first, B orange and dashed or hatched, so that color is never the only cue.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from .._types import Real
from ..archive import replacing
from ..comparison import Comparison
from ..comparison.answer import formless, names_of
from ..comparison.figures import closed, plot_typical
from ..comparison.mean_outline import mean_outlines
from ..comparison.quantities import COMPONENTS
from ..comparison.typical import typical_outlines, typical_rows
from ..mmd.witness import most_typical
from ..palette import COLOR_A, COLOR_B, lay_out
from ..words import p_text
from .explain import Explanation
from .modes import along_mode, exaggeration
from .outline import OutlineDifference

A, B, GREY = COLOR_A, COLOR_B, "0.35"
FORMATS = ("svg", "png")  #: file formats of saved figures
_MODES, _TYPICAL = 4, 10
# Units and labels are drawn literally, dollar signs included; the salt makes files reproducible.
_STYLE: dict[Any, Any] = {"text.parse_math": False, "svg.hashsalt": "shape-ensembles", "font.size": 9}


@contextmanager
def style() -> Iterator[None]:
    """Apply the style of this module to drawing and saving."""
    with mpl.rc_context(_STYLE):
        yield


def null_distributions(explanation: Explanation) -> Figure:
    """MMD under permuted labels, with the observed value and the threshold, for every test."""
    result = explanation.comparison
    both = {"undulation": result.undulation, "scale": result.scale}
    lines = [
        {f"{of},\n{name}": part for name, part in test.judged.items()} if test.parts else {of: test}
        for of, test in both.items()
    ]
    figure, axes = _panels(len(lines), max(map(len, lines)), height=4.3)
    for line, tests in zip(axes, lines, strict=True):
        for axis in line[len(tests) :]:
            axis.remove()
        for axis, (name, test) in zip(line, tests.items(), strict=False):
            axis.hist(test.null, bins=40, histtype="stepfilled", color="0.75", label="permuted labels")
            axis.axvline(test.threshold, color="0.2", linestyle=":", label="threshold")
            axis.axvline(test.mmd, color="#b2182b", label="observed")
            axis.set(xlabel="MMD", yticks=[])
            axis.locator_params(axis="x", nbins=3)
            axis.set_title(f"{name}\np = {p_text(test.p_value, test.significance)}", fontsize=8)
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False, fontsize=8
    )
    return figure


def shares(explanation: Explanation) -> Figure:
    """Share of each component in the difference, with bootstrap intervals."""
    figure, axes = _panels(1, 1, height=1.9)
    explanation.plot(axes[0, 0])
    return figure


def component_distributions(explanation: Explanation) -> Figure:
    """Distributions of size, elongation and roughness."""
    result = explanation.comparison
    parts = result.components
    p_values = result.ratios.set_index("quantity")["p_adjusted"]
    single = [name for name in COMPONENTS if parts[name].ndim == 1]
    units = {"size": f"RMS extent in {result.a.unit}", "elongation": "ratio of RMS extents"}
    figure, axes = _panels(1, len(single), height=2.3)
    for axis, name in zip(axes.flat, single, strict=True):
        values = np.exp(parts[name])
        _histograms(axis, result, values)
        axis.set_xlabel(units.get(name, "relative amplitude"))
        p = p_text(p_values[name], result.settings.test_level)
        tested = f"\nadjusted p = {p}" if p_values[name] == p_values[name] else ""
        axis.set_title(f"{name}{tested}", fontsize=8)
    axes.flat[0].legend(frameon=False, fontsize=8)
    return figure


def typical_curves(explanation: Explanation) -> Figure:
    """Curves most typical of A and not of B, and the reverse, by undulation and by scale."""
    result = explanation.comparison
    first, (name_a, name_b) = len(result.a), names_of(result)
    figure, axes = _panels(4, 1, height=5.2)
    for half, kind in enumerate(("undulation", "scale")):
        of_a, of_b = most_typical(explanation.witness[f"witness_{kind}"].to_numpy(), first, _TYPICAL)
        for row, (side, curves, colour) in enumerate(
            (
                (name_a, [result.a.curves[i] for i in of_a], A),
                (name_b, [result.b.curves[i - first] for i in of_b], B),
            )
        ):
            axis = axes[2 * half + row, 0]
            _draw_side_by_side(axis, curves, colour)
            axis.set_title(f"typical of {side} by {kind}", loc="left")
    return figure


def mode_figure(explanation: Explanation) -> Figure:
    """The modes with the largest differences: the outline along each, and the distributions of A and B."""
    result, modes = explanation.comparison, explanation.modes
    chosen = modes.order()[:_MODES].tolist()
    figure, axes = _panels(2, len(chosen), height=4.2)
    for column, mode in enumerate(chosen):
        times = exaggeration(result.space, result.t, mode)
        low, mean, high = along_mode(result.space, result.t, mode, (-2 * times, 0, 2 * times))
        outline, density = axes[:, column]
        for curve, line, width in ((mean, "-", 0.6), (low, "--", 1.2), (high, "-", 1.6)):
            outline.plot(*closed(curve), color="0.15", linestyle=line, linewidth=width)
        _bare(outline)
        words = [f"mode {mode + 1}, p = {p_text(modes.tests.adjusted[mode], result.settings.test_level)}"]
        words += [modes.label(mode)] if modes.label(mode) else []
        words += [f"{times} × enlarged"] if times > 1 else []
        outline.set_title("\n".join(words), fontsize=8)
        _histograms(density, result, result.t[:, mode])
        density.set_xlabel("coordinate")
    axes[1, 0].legend(frameon=False, fontsize=8)
    return figure


def outline_figure(explanation: Explanation) -> Figure:
    """Where on the outline the form differs: shift of the mean, and ratio of the variabilities."""
    found = explanation.form
    if words := formless(explanation.comparison):
        return _without_figure(words)
    figure, axes = _panels(1, 2, height=3.4)
    ratio, (a, b) = np.log2(found.spread_b / found.spread_a), names_of(explanation.comparison)
    unit = explanation.comparison.a.unit
    for axis, values, differs, words in (
        (axes[0, 0], found.shift, explanation.mean_differs, f"{b}'s mean outside {a}'s, in {unit}"),
        (axes[0, 1], ratio, found.spread, f"log₂ of {b}'s variability over {a}'s"),
    ):
        _painted(figure, axis, found, values, words)
        points = found.mean[differs] * 1.1
        axis.plot(points[:, 1], points[:, 0], ".", color="0.1", markersize=2)
        axis.set_title(f"dots: differs at the level of the outline ({differs.mean():.0%})", fontsize=8)
    return figure


def mean_figure(explanation: Explanation) -> Figure:
    """Mean outlines of A and B at the mean scale, and their variability along the outline."""
    if words := formless(explanation.comparison):
        return _without_figure(words)
    found, (a, b) = explanation.form, names_of(explanation.comparison)
    figure, axes = _panels(1, 2, height=3.0)
    axes[0, 0].plot(*closed(found.mean_a), color=A, label=a)
    axes[0, 0].plot(*closed(found.mean_b), color=B, linestyle="--", label=b)
    _bare(axes[0, 0])
    axes[0, 0].set_title("mean forms")
    axes[0, 0].legend(frameon=False, fontsize=8)
    place = np.arange(len(found.shift)) / len(found.shift)
    axes[0, 1].plot(place, found.spread_a, color=A, label=a)
    axes[0, 1].plot(place, found.spread_b, color=B, linestyle="--", label=b)
    unit = explanation.comparison.a.unit
    axes[0, 1].set(xlabel="position along the outline", ylabel=f"standard deviation in {unit}", ylim=(0, None))
    return figure


def typical_figure(explanation: Explanation) -> Figure:
    """Typical outlines of A and of B beside each other, with the mean outline of a group that has a common form."""
    result = explanation.comparison
    outlines = typical_outlines(result, typical_rows(result))
    figure, axes = _panels(1, 1, height=3.2)
    means = mean_outlines(result, (outlines[0][0], outlines[1][0]))
    plot_typical(outlines, names_of(result), result.a.unit, axes[0, 0], means=means)
    return figure


#: Name of every figure, its plotting function, and its caption.
FIGURES: dict[str, tuple[Callable[[Explanation], Figure], str]] = {
    "outlines": (
        typical_figure,
        "Typical outlines of the two samples at one scale: real ones, nearest to the middle of their sample in the "
        "quantities that differ, the most typical one bold. Dashed: the mean, where a sample has a common form.",
    ),
    "tests": (
        null_distributions,
        "MMD of the two samples and its null distribution (permuted labels), for every part of the two tests, with "
        "p-values adjusted for the other parts of its test.",
    ),
    "shares": (
        shares,
        "Share of the difference due to each component. If no component differs, the intervals cover the whole "
        "range and the shares are meaningless.",
    ),
    "components": (component_distributions, "Distributions of size, elongation and roughness over the curves."),
    "typical": (
        typical_curves,
        "Curves with the largest witness function on each side, strongest first, at the same scale within each "
        "row. Descriptive, not a test of single curves.",
    ),
    "modes": (
        mode_figure,
        "The modes of form with the smallest adjusted p-values: −2 standard deviations dashed, +2 bold, enlarged "
        "where marked; below, the distributions of the coordinate.",
    ),
    "means": (mean_figure, "Mean forms at the mean scale, and the variability of single curves about their mean."),
    "outline": (outline_figure, "Where along the mean outline the form differs."),
}


def figures(explanation: Explanation, names: Iterable[str] = tuple(FIGURES)) -> dict[str, Figure]:
    """Draw figures by name, all by default.

    Parameters
    ----------
    explanation : Explanation
    names : iterable of str
        Keys of `FIGURES`.

    Returns
    -------
    dict of str to matplotlib Figure
    """
    with style():
        return {name: FIGURES[name][0](explanation) for name in names}


def figure_paths(folder: Path, formats: Iterable[str] = FORMATS) -> list[Path]:
    """Return the paths of the files that `save_figures` writes."""
    return [folder / f"{name}.{kind}" for name, kind in itertools.product(FIGURES, formats)]


def save_figures(
    explanation: Explanation, folder: Path | str, *, formats: Iterable[str] = FORMATS, dpi: int = 300
) -> list[Path]:
    """Save every figure as `<name>.<format>` into a folder, which is created if missing.

    Parameters
    ----------
    explanation : Explanation
    folder : path
    formats : iterable of {"svg", "png", "pdf"}
    dpi : int
        Resolution of raster formats.

    Returns
    -------
    list of Path
    """
    if dpi < 1:
        raise ValueError(f"dpi {dpi}: give dots per inch, such as 300")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    saved = []
    with style():
        for name, figure in figures(explanation).items():
            lay_out(figure)
            for kind in formats:
                saved.append(folder / f"{name}.{kind}")
                with replacing(saved[-1]) as file:
                    figure.savefig(file, format=kind, dpi=dpi)
    return saved


def _panels(rows: int, columns: int, *, height: float) -> tuple[Figure, NDArray[Any]]:
    figure = Figure(figsize=(7.2, height), layout="constrained")
    axes: NDArray[Any] = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _without_figure(words: str) -> Figure:
    """A sentence instead of a figure: why there is none."""
    figure, axes = _panels(1, 1, height=1.0)
    axes[0, 0].axis("off")
    axes[0, 0].text(0.5, 0.5, words, ha="center", va="center", wrap=True)
    return figure


def _histograms(axis: Axes, result: Comparison, pooled: Real) -> None:
    low, high = np.quantile(pooled, [0.005, 0.995])
    edges = np.linspace(low, high if high > low else low + 1, 26)
    sides = np.split(pooled, [len(result.a)])
    for values, name, look in zip(sides, names_of(result), (_A_BARS, _B_STEPS), strict=True):
        shown = np.clip(values, edges[0], edges[-1])
        axis.hist(shown, edges.tolist(), weights=np.full(len(shown), 1 / len(shown)), label=name, **look)
    axis.set_yticks([])


_A_BARS: dict[str, Any] = {"histtype": "stepfilled", "color": A, "alpha": 0.45}
_B_STEPS: dict[str, Any] = {"histtype": "step", "color": B, "linestyle": "--", "linewidth": 1.4}


def _bare(axis: Axes) -> None:
    axis.set_aspect("equal")
    axis.invert_yaxis()
    axis.axis("off")


def _draw_side_by_side(axis: Axes, curves: list[Real], colour: str) -> None:
    """Draw outlines side by side at one scale."""
    step = 1.15 * max((float(np.ptp(curve, axis=0).max()) for curve in curves), default=1.0)
    for place, curve in enumerate(curves):
        centred = curve - (curve.min(axis=0) + curve.max(axis=0)) / 2 + [0, place * step]
        x, y = closed(centred)
        axis.fill(x, y, facecolor=colour, alpha=0.25)
        axis.plot(x, y, color=colour, linewidth=1)
    axis.set_xlim(-step / 2, (_TYPICAL - 0.5) * step)
    _bare(axis)


def _painted(figure: Figure, axis: Axes, found: OutlineDifference, values: Real, words: str) -> None:
    """Draw the mean outline, colored by a signed value along it, white at zero."""
    x, y = closed(found.mean)
    points = np.stack([x, y], axis=-1)
    limit = float(np.abs(values).max()) or 1.0
    lines = LineCollection(list(np.stack([points[:-1], points[1:]], axis=1)), cmap="PuOr", linewidths=5, array=values)
    lines.set_clim(-limit, limit)
    axis.plot(x, y, color=GREY, linewidth=6)
    axis.add_collection(lines)
    _bare(axis)
    figure.colorbar(lines, ax=axis, label=words, shrink=0.8)
