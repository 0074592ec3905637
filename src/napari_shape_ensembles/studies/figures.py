"""Figures of studies: functions that draw on Matplotlib axes and return them.

Lines and text have the color of the active style (`rcParams["text.color"]`), so they work on dark backgrounds. Color is
never the only cue: × marks a cell that rejects, ○ one that does not.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..palette import COLORMAP, axes_of
from .choices import ChoiceStudy
from .landscape import DecisionLandscape
from .pairs import PairTable
from .smoothing import SmoothingStudy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Real = NDArray[np.float64]

_REJECTED, _NOT_REJECTED = "x", "o"
_BAND = 0.25
_TICKS = 12
# Maximum number of letters of a name.
_MAX_LETTERS = 28


def plot_mmd(landscape: DecisionLandscape, ax: "Axes | None" = None, *, test: str = "undulation") -> "Axes":
    """Plot MMD over the ranks: one mark per cell, the mean over landmark counts, and its band.

    Parameters
    ----------
    landscape : DecisionLandscape
    ax : matplotlib Axes, optional
        By default the axes of a new figure.
    test : str
        "undulation", "scale", "product", or a part such as "roughness" or "raw".

    Returns
    -------
    matplotlib Axes
        Ranks are equally spaced, in order. × rejects, ○ does not; the color is the number of landmarks.
    """
    ax = axes_of(ax)
    decisions = landscape.test(test)
    known = decisions.computed
    lines, places = np.nonzero(known)
    colors = _colors(len(landscape.landmarks))[lines]
    _marks(ax, places, decisions.mmd[known], decisions.rejected[known], colors)
    ends = _colors(len(landscape.landmarks))
    for i in sorted({0, len(landscape.landmarks) - 1}):  # the legend names the fewest and the most landmarks
        ax.plot([], [], "s", color=ends[i], markersize=4, label=f"n = {landscape.landmarks[i]}")
    some = known.any(axis=0)
    low = np.where(some, np.where(known, decisions.mmd, np.inf).min(axis=0), np.nan)
    high = np.where(some, np.where(known, decisions.mmd, -np.inf).max(axis=0), np.nan)
    x = np.arange(len(landscape.ranks))
    ax.fill_between(x, low, high, color=_ink(), alpha=_BAND, linewidth=0)
    ax.plot(x, decisions.mean_mmd, color=_ink(), linewidth=1.2, label="mean over n")
    ax.legend(loc="best", fontsize="small", framealpha=0.6)
    ax.set_ylabel(f"MMD ({test})")
    _rank_axis(ax, landscape)
    return ax


def plot_decisions(
    landscape: DecisionLandscape,
    ax: "Axes | None" = None,
    *,
    test: str = "undulation",
    current: tuple[int, int] | None = None,
) -> "Axes":
    """Plot the grid of ranks and landmark counts: MMD as color, × where the test rejects and ○ where it does not.

    Parameters
    ----------
    landscape, ax, test
        As in `plot_mmd`.
    current : (landmarks, rank), optional
        A cell to highlight, such as that of the settings in use.

    Returns
    -------
    matplotlib Axes
        Its first image is the grid, cell (i, j) at x = j, y = i; cells not computed are empty.
    """
    ax = axes_of(ax)
    decisions = landscape.test(test)
    known = decisions.computed
    lines, places = np.nonzero(known)
    low, high = (np.min(decisions.mmd[known]), np.max(decisions.mmd[known])) if known.any() else (0.0, 1.0)
    ax.imshow(decisions.mmd, cmap=COLORMAP, aspect="auto", origin="lower", interpolation="nearest", vmin=low, vmax=high)
    colors = np.where(decisions.mmd[known] > (low + high) / 2, "black", "white")
    _marks(ax, places, lines, decisions.rejected[known], colors)
    _frame(ax, landscape, current)
    ax.set_ylabel("landmarks n")
    ax.set_yticks(range(len(landscape.landmarks)), [str(n) for n in landscape.landmarks])
    _rank_axis(ax, landscape)
    return ax


def plot_ambiguity(landscape: DecisionLandscape, ax: "Axes | None" = None, *, test: str = "undulation") -> "Axes":
    """Plot for each rank the fraction of landmark counts that reject (×) and that do not (○), and the ambiguity."""
    ax = axes_of(ax)
    decisions = landscape.test(test)
    x = np.arange(len(landscape.ranks))
    q = decisions.share_not_rejected
    stems = ax.stem(x, decisions.ambiguity, basefmt=" ", label="ambiguity")
    stems.markerline.set(marker="D", markersize=4, color="C1")
    stems.stemlines.set(color="C1")
    ax.plot(x, 1 - q, _REJECTED, color=_ink(), markersize=4, label="rejects")
    ax.plot(x, q, _NOT_REJECTED, color=_ink(), markersize=4, fillstyle="none", label="does not")
    ax.set(ylim=(-0.08, 1.08), ylabel="share, ambiguity")
    ax.legend(loc="center right", fontsize="small", framealpha=0.6)
    _rank_axis(ax, landscape)
    return ax


def plot_landscape(
    landscape: DecisionLandscape,
    figure: "Figure | None" = None,
    *,
    test: str = "undulation",
    current: tuple[int, int] | None = None,
) -> "NDArray[Any]":
    """Plot the paper's three panels, one above the other: MMD, decisions and ambiguity, over one rank axis.

    Returns
    -------
    array of three matplotlib Axes
    """
    axes = _figure(figure).subplots(3, 1, sharex=True)
    plot_mmd(landscape, axes[0], test=test)
    plot_decisions(landscape, axes[1], test=test, current=current)
    plot_ambiguity(landscape, axes[2], test=test)
    for ax in axes[:2]:
        ax.set_xlabel("")
    axes[1].figure.colorbar(axes[1].images[0], ax=axes[1], label="MMD", pad=0.02, aspect=12)
    return axes


def plot_study_mmd(study: SmoothingStudy, ax: "Axes | None" = None, *, test: str = "undulation") -> "Axes":
    """Plot MMD over σ: one mark per cell (× rejects, ○ does not) and their mean."""
    ax = axes_of(ax)
    for sigma, decisions in zip(study.sigmas, study.tests(test), strict=True):
        if decisions is not None:
            known = decisions.computed
            mmd, rejected = decisions.mmd[known], decisions.rejected[known]
            _marks(ax, np.full(len(mmd), sigma), mmd, rejected, np.full(len(mmd), "C0"))
    ax.plot(study.sigmas, study.mean_mmd(test), color=_ink(), linewidth=1.2, label="mean over cells")
    ax.plot([], [], _REJECTED, color="C0", markersize=4, label="rejects")
    ax.plot([], [], _NOT_REJECTED, color="C0", markersize=4, fillstyle="none", label="does not")
    ax.legend(loc="best", fontsize="small", framealpha=0.6)
    ax.set_ylabel(f"MMD ({test})")
    return _sigma_axis(ax, study)


def plot_study_ambiguity(study: SmoothingStudy, ax: "Axes | None" = None, *, test: str = "undulation") -> "Axes":
    """Plot mean ambiguity over σ, with the band from minimum to maximum over the ranks."""
    ax = axes_of(ax)
    low, high = study.ambiguity_band(test).T
    ax.fill_between(study.sigmas, low, high, color="C1", alpha=_BAND, linewidth=0, label="smallest to largest")
    ax.plot(study.sigmas, study.mean_ambiguity(test), "D-", color="C1", markersize=4, label="mean over ranks")
    ax.set(ylim=(-0.08, 1.08), ylabel="ambiguity")
    ax.legend(loc="best", fontsize="small", framealpha=0.6)
    return _sigma_axis(ax, study)


def plot_study_sizes(study: SmoothingStudy, ax: "Axes | None" = None) -> "Axes":
    """Plot the number of curves of A (squares) and B (triangles) over σ."""
    ax = axes_of(ax)
    for side, marker, sizes in zip("AB", "s^", study.sizes.T, strict=True):
        ax.plot(study.sigmas, sizes, f"{marker}-", markersize=4, label=side)
    ax.margins(y=0.15)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("curves")
    ax.legend(loc="best", fontsize="small", framealpha=0.6)
    return _sigma_axis(ax, study)


def plot_study(
    study: SmoothingStudy, figure: "Figure | None" = None, *, test: str = "undulation", current: float | None = None
) -> "NDArray[Any]":
    """Plot the three panels of a smoothing study, one above the other: MMD, ambiguity and curves, over σ.

    Parameters
    ----------
    study : SmoothingStudy
    figure : matplotlib Figure, optional
    test : str
        As in `plot_mmd`.
    current : float, optional
        A σ to highlight, such as that in use.

    Returns
    -------
    array of three matplotlib Axes
    """
    axes = _figure(figure).subplots(3, 1, sharex=True)
    plot_study_mmd(study, axes[0], test=test)
    plot_study_ambiguity(study, axes[1], test=test)
    plot_study_sizes(study, axes[2])
    for ax in axes[:2]:
        ax.set_xlabel("")
    if current is not None:
        for ax in axes:
            ax.axvline(current, color=_ink(), linewidth=1.5, linestyle=":")
    return axes


def plot_choices(study: ChoiceStudy, ax: "Axes | None" = None) -> "Axes":
    """Plot the row of the truth table for every choice: one line per field, a box for each of its values.

    Parameters
    ----------
    study : ChoiceStudy
    ax : matplotlib Axes, optional
        By default the axes of a new figure.

    Returns
    -------
    matplotlib Axes
        Boxes with the same row as the choices in use are filled, others dashed; the value in use has a bold frame.
    """
    lines = study.rows()
    ax = axes_of(ax, height=0.6 + 0.6 * max(len(lines), 1))
    for place, (name, own) in enumerate(lines.items()):
        for column, one in enumerate(own):
            same = one.case == study.used.case
            box = {
                "boxstyle": "round",
                "edgecolor": _ink(),
                "facecolor": (0.5, 0.5, 0.5, 0.3 if same else 0.0),
                "linestyle": "-" if same else "--",
                "linewidth": 2 if one.value == study.values[name] else 0.8,
            }
            words = f"{one.label}\n{one.case}"
            ax.text(column, place, words, ha="center", va="center", fontsize="small", color=_ink(), bbox=box)
    longest = max(map(len, lines.values()), default=1)
    labels = [next(iter(own)).field_label for own in lines.values()]
    ax.set(xlim=(-0.6, longest - 0.4), ylim=(len(lines) - 0.4, -0.6), xticks=[])
    ax.set_yticks(range(len(lines)), labels)
    ax.spines[["top", "right", "bottom", "left"]].set_visible(False)
    ax.tick_params(length=0)
    return ax


def plot_pairs(table: PairTable, figure: "Figure | None" = None) -> "NDArray[Any]":
    """Plot the tree of the images, and below it the matrix of their distances, each cell with its row of the table.

    Returns
    -------
    array of two matplotlib Axes
    """
    from scipy.cluster import hierarchy

    tree, matrix = _figure(figure).subplots(2, 1, height_ratios=(1, 3))
    hierarchy.dendrogram(table.linkage, ax=tree, color_threshold=0, above_threshold_color=_ink(), no_labels=True)
    tree.set_ylabel("distance")
    order = table.order
    distances = table.distance[np.ix_(order, order)]
    shown = matrix.imshow(distances, cmap=COLORMAP, aspect="auto", vmin=0)
    matrix.figure.colorbar(shown, ax=[tree, matrix], label="distance", fraction=0.04, pad=0.01)
    for (i, j), case in np.ndenumerate(table.case[np.ix_(order, order)]):
        if i != j:
            color = "black" if distances[i, j] > distances.max() / 2 else "white"
            matrix.text(j, i, case, ha="center", va="center", color=color, fontsize="small")
    names = [_shown(table.names[i]) for i in order]
    # Names of files may contain dollar signs, and are not formulas.
    matrix.set_xticks(range(len(names)), names, rotation=45, ha="right", parse_math=False)
    matrix.set_yticks(range(len(names)), names, parse_math=False)
    return np.array([tree, matrix])


def _shown(name: str) -> str:
    """Abbreviate a name to one line that leaves room for the figure."""
    line = " ".join(name.split())
    return line if len(line) <= _MAX_LETTERS else f"{line[: _MAX_LETTERS - 9]}…{line[-8:]}"


def _figure(figure: "Figure | None") -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=(7, 9), layout="constrained") if figure is None else figure


def _ink() -> str:
    from matplotlib import rcParams

    return str(rcParams["text.color"])


def _colors(count: int) -> "NDArray[Any]":
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    low, high = (0.4, 1.0) if sum(to_rgb(_ink())) > 1.5 else (0.0, 0.85)  # visible on either background
    return np.asarray(colormaps[COLORMAP](np.linspace(low, high, count)))


def _marks(ax: "Axes", x: NDArray[Any], y: NDArray[Any], rejected: NDArray[np.bool_], colors: NDArray[Any]) -> None:
    """Draw a cross for each cell that rejects, a ring for each that does not."""
    ax.scatter(x[rejected], y[rejected], s=16, marker=_REJECTED, c=colors[rejected], linewidths=1)
    ring = ~rejected
    ax.scatter(x[ring], y[ring], s=16, marker=_NOT_REJECTED, facecolors="none", edgecolors=list(colors[ring]))


def _frame(ax: "Axes", landscape: DecisionLandscape, current: tuple[int, int] | None) -> None:
    """Highlight the cell nearest to given settings."""
    if current is None:
        return
    from matplotlib.patches import Rectangle

    i = int(np.abs(landscape.landmarks - current[0]).argmin())
    j = int(np.abs(landscape.ranks - current[1]).argmin())
    exact = (int(landscape.landmarks[i]), int(landscape.ranks[j])) == tuple(current)
    style = "-" if exact else ":"
    ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, edgecolor="red", linewidth=2, linestyle=style))


def _rank_axis(ax: "Axes", landscape: DecisionLandscape) -> None:
    count = len(landscape.ranks)
    shown = range(0, count, max(1, -(-count // _TICKS)))
    ax.set_xticks(shown, [str(landscape.ranks[i]) for i in shown])
    ax.set_xlim(-0.6, count - 0.4)
    ax.set_xlabel("rank r")


def _sigma_axis(ax: "Axes", study: SmoothingStudy) -> "Axes":
    found = study.recommended
    if found is not None:
        ax.axvspan(found.low, found.high, color=_ink(), alpha=0.1, linewidth=0)
        ax.axvline(found.best, color=_ink(), linewidth=0.8, linestyle="--")
    ax.set_xlabel("smoothing σ (px)")
    return ax
