"""Figures of studies: functions that draw on Matplotlib axes and return them.

The methods `plot` of the results draw one of them each. Lines and text have the color of the active style
(`rcParams["text.color"]`), so they work on dark backgrounds. Color is never the only cue: × marks a cell that rejects,
○ one that does not.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..palette import axes_of
from .landscape import DecisionLandscape
from .marks import NOT_REJECTED, REJECTED, draw_marks, ink, label_ranks, label_sigmas, spread_colors, tall_figure
from .smoothing import SmoothingStudy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_BAND = 0.25


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

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, decision_landscape, samples
    >>> from napari_shape_ensembles.studies.figures import plot_mmd
    >>> a, b = samples.powder_outlines().ensembles()
    >>> quick = Settings(landmarks=60, rank=10, permutations=199)
    >>> landscape = decision_landscape(a, b, ranks=[2, 5], landmarks=[40, 60], settings=quick)
    >>> plot_mmd(landscape).get_ylabel()
    'MMD (undulation)'
    """
    ax = axes_of(ax)
    decisions = landscape.test(test)
    known = decisions.computed
    lines, places = np.nonzero(known)
    colors = spread_colors(len(landscape.landmarks))[lines]
    draw_marks(ax, places, decisions.mmd[known], decisions.rejected[known], colors)
    ends = spread_colors(len(landscape.landmarks))
    for i in sorted({0, len(landscape.landmarks) - 1}):  # the legend names the fewest and the most landmarks
        ax.plot([], [], "s", color=ends[i], markersize=4, label=f"n = {landscape.landmarks[i]}")
    some = known.any(axis=0)
    low = np.where(some, np.where(known, decisions.mmd, np.inf).min(axis=0), np.nan)
    high = np.where(some, np.where(known, decisions.mmd, -np.inf).max(axis=0), np.nan)
    x = np.arange(len(landscape.ranks))
    ax.fill_between(x, low, high, color=ink(), alpha=_BAND, linewidth=0)
    ax.plot(x, decisions.mean_mmd, color=ink(), linewidth=1.2, label="mean over n")
    ax.legend(loc="best", fontsize="small", framealpha=0.6)
    ax.set_ylabel(f"MMD ({test})")
    label_ranks(ax, landscape.ranks)
    return ax


def plot_ambiguity(landscape: DecisionLandscape, ax: "Axes | None" = None, *, test: str = "undulation") -> "Axes":
    """Plot for each rank the fraction of landmark counts that reject (×) and that do not (○), and the ambiguity.

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, decision_landscape, samples
    >>> from napari_shape_ensembles.studies.figures import plot_ambiguity
    >>> a, b = samples.powder_outlines().ensembles()
    >>> quick = Settings(landmarks=60, rank=10, permutations=199)
    >>> landscape = decision_landscape(a, b, ranks=[2, 5], landmarks=[40, 60], settings=quick)
    >>> plot_ambiguity(landscape).get_ylabel()
    'share, ambiguity'
    """
    ax = axes_of(ax)
    decisions = landscape.test(test)
    x = np.arange(len(landscape.ranks))
    q = decisions.share_not_rejected
    stems = ax.stem(x, decisions.ambiguity, basefmt=" ", label="ambiguity")
    stems.markerline.set(marker="D", markersize=4, color="C1")
    stems.stemlines.set(color="C1")
    ax.plot(x, 1 - q, REJECTED, color=ink(), markersize=4, label="rejects")
    ax.plot(x, q, NOT_REJECTED, color=ink(), markersize=4, fillstyle="none", label="does not")
    ax.set(ylim=(-0.08, 1.08), ylabel="share, ambiguity")
    ax.legend(loc="center right", fontsize="small", framealpha=0.6)
    label_ranks(ax, landscape.ranks)
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

    Examples
    --------
    >>> from napari_shape_ensembles import Settings, decision_landscape, samples
    >>> from napari_shape_ensembles.studies.figures import plot_landscape
    >>> a, b = samples.powder_outlines().ensembles()
    >>> quick = Settings(landmarks=60, rank=10, permutations=199)
    >>> landscape = decision_landscape(a, b, ranks=[2, 5], landmarks=[40, 60], settings=quick)
    >>> [ax.get_ylabel() for ax in plot_landscape(landscape)]
    ['MMD (undulation)', 'landmarks n', 'share, ambiguity']
    """
    axes = tall_figure(figure).subplots(3, 1, sharex=True)
    plot_mmd(landscape, axes[0], test=test)
    landscape.plot(axes[1], test=test, current=current)
    plot_ambiguity(landscape, axes[2], test=test)
    for ax in axes[:2]:
        ax.set_xlabel("")
    axes[1].figure.colorbar(axes[1].images[0], ax=axes[1], label="MMD", pad=0.02, aspect=12)
    return axes


def plot_study_ambiguity(study: SmoothingStudy, ax: "Axes | None" = None, *, test: str = "undulation") -> "Axes":
    """Plot mean ambiguity over σ, with the band from minimum to maximum over the ranks.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Settings, smoothing_study
    >>> from napari_shape_ensembles.studies.figures import plot_study_ambiguity
    >>> rows, columns = np.indices((160, 160)) % 20 - 10
    >>> a, b = (np.hypot(rows, stretch * columns) < 7 for stretch in (1, 1.4))
    >>> study = smoothing_study(a, b, sigmas=[0, 1], ranks=[2], landmarks=[40], settings=Settings(permutations=199))
    >>> plot_study_ambiguity(study).get_ylabel()
    'ambiguity'
    """
    ax = axes_of(ax)
    low, high = study.ambiguity_band(test).T
    ax.fill_between(study.sigmas, low, high, color="C1", alpha=_BAND, linewidth=0, label="smallest to largest")
    ax.plot(study.sigmas, study.mean_ambiguity(test), "D-", color="C1", markersize=4, label="mean over ranks")
    ax.set(ylim=(-0.08, 1.08), ylabel="ambiguity")
    ax.legend(loc="best", fontsize="small", framealpha=0.6)
    return label_sigmas(ax, study.recommended)


def plot_study_sizes(study: SmoothingStudy, ax: "Axes | None" = None) -> "Axes":
    """Plot the number of curves of the first group (squares) and the second (triangles) over σ.

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Settings, smoothing_study
    >>> from napari_shape_ensembles.studies.figures import plot_study_sizes
    >>> rows, columns = np.indices((160, 160)) % 20 - 10
    >>> a, b = (np.hypot(rows, stretch * columns) < 7 for stretch in (1, 1.4))
    >>> study = smoothing_study(a, b, sigmas=[0, 1], ranks=[2], landmarks=[40], settings=Settings(permutations=199))
    >>> plot_study_sizes(study).get_ylabel()
    'curves'
    """
    ax = axes_of(ax)
    for name, marker, sizes in zip(study.names, "s^", study.sizes.T, strict=True):
        ax.plot(study.sigmas, sizes, f"{marker}-", markersize=4, label=name)
    ax.margins(y=0.15)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("curves")
    ax.legend(loc="best", fontsize="small", framealpha=0.6)
    return label_sigmas(ax, study.recommended)


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

    Examples
    --------
    >>> import numpy as np
    >>> from napari_shape_ensembles import Settings, smoothing_study
    >>> from napari_shape_ensembles.studies.figures import plot_study
    >>> rows, columns = np.indices((160, 160)) % 20 - 10
    >>> a, b = (np.hypot(rows, stretch * columns) < 7 for stretch in (1, 1.4))
    >>> study = smoothing_study(a, b, sigmas=[0, 1], ranks=[2], landmarks=[40], settings=Settings(permutations=199))
    >>> [ax.get_ylabel() for ax in plot_study(study)]
    ['MMD (undulation)', 'ambiguity', 'curves']
    """
    axes = tall_figure(figure).subplots(3, 1, sharex=True)
    study.plot(axes[0], test=test)
    plot_study_ambiguity(study, axes[1], test=test)
    plot_study_sizes(study, axes[2])
    for ax in axes[:2]:
        ax.set_xlabel("")
    if current is not None:
        for ax in axes:
            ax.axvline(current, color=ink(), linewidth=1.5, linestyle=":")
    return axes
