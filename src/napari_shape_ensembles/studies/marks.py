"""Marks, colors and axes that the plots of studies share.

Lines and text have the color of the active style (`rcParams["text.color"]`), so they work on dark backgrounds. Color is
never the only cue: × marks a cell that rejects, ○ one that does not.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..palette import COLORMAP
from .recommendation import Recommendation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Counts = NDArray[np.int64]

REJECTED, NOT_REJECTED = "x", "o"
_TICKS = 12


def tall_figure(figure: "Figure | None") -> "Figure":
    """Return the given figure, or a new one with room for several panels below each other."""
    from matplotlib.figure import Figure

    return Figure(figsize=(7, 9), layout="constrained") if figure is None else figure


def ink() -> str:
    """Color of lines and text in the active style."""
    from matplotlib import rcParams

    return str(rcParams["text.color"])


def spread_colors(count: int) -> "NDArray[Any]":
    """Return colors from one end of the color map to the other, visible on the background of the active style."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    low, high = (0.4, 1.0) if sum(to_rgb(ink())) > 1.5 else (0.0, 0.85)
    return np.asarray(colormaps[COLORMAP](np.linspace(low, high, count)))


def draw_marks(ax: "Axes", x: NDArray[Any], y: NDArray[Any], rejected: NDArray[np.bool_], colors: NDArray[Any]) -> None:
    """Draw a cross for each cell that rejects, a ring for each that does not."""
    ax.scatter(x[rejected], y[rejected], s=16, marker=REJECTED, c=colors[rejected], linewidths=1)
    ring = ~rejected
    ax.scatter(x[ring], y[ring], s=16, marker=NOT_REJECTED, facecolors="none", edgecolors=list(colors[ring]))


def draw_frame(ax: "Axes", landmarks: Counts, ranks: Counts, current: tuple[int, int]) -> None:
    """Highlight the cell nearest to given numbers of landmarks and coordinates, dotted if there is no such cell."""
    from matplotlib.patches import Rectangle

    i = int(np.abs(landmarks - current[0]).argmin())
    j = int(np.abs(ranks - current[1]).argmin())
    exact = (int(landmarks[i]), int(ranks[j])) == tuple(current)
    style = "-" if exact else ":"
    ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, edgecolor="red", linewidth=2, linestyle=style))


def label_ranks(ax: "Axes", ranks: Counts) -> None:
    """Label the x axis, on which ranks are equally spaced."""
    count = len(ranks)
    shown = range(0, count, max(1, -(-count // _TICKS)))
    ax.set_xticks(shown, [str(ranks[i]) for i in shown])
    ax.set_xlim(-0.6, count - 0.4)
    ax.set_xlabel("rank r")


def label_sigmas(ax: "Axes", found: Recommendation | None) -> "Axes":
    """Label the x axis of smoothings, mark the recommended range, and return the axes."""
    if found is not None:
        ax.axvspan(found.low, found.high, color=ink(), alpha=0.1, linewidth=0)
        ax.axvline(found.best, color=ink(), linewidth=0.8, linestyle="--")
    ax.set_xlabel("smoothing (px)")
    return ax
