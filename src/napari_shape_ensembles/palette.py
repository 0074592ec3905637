"""Colors of A, B, quantities and annotations, the same in layers, plots, docks and reports.

A and B differ in lightness as well as in hue, so that they are distinguishable with any color vision deficiency.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Color map of quantities, as in napari and Matplotlib.
COLORMAP = "viridis"
COLOR_A = "#0073b3"
COLOR_B = "#e69e00"
#: Color of each side by its letter.
SIDE_COLORS = {"A": COLOR_A, "B": COLOR_B}
#: Midpoint of the diverging color map from B to A.
NEUTRAL = "#f0f0f0"
#: Outlines over an image.
OUTLINE = "#ffd400"
#: Outlines over an image for ranked curves, and for excluded ones.
RANKED, EXCLUDED = "#9aa0a6", "#e0529c"
#: Selected outlines: a color outside all color maps used for outlines.
PICKED = "#ff40ff"

_DECADE = 10


def axes_of(ax: "Axes | None", *, width: float = 7.0, height: float = 5.0) -> "Axes":
    """Return the given axes, or those of a new figure (size in inches) that is not registered with pyplot."""
    if ax is not None:
        return ax
    from matplotlib.figure import Figure  # slow to import, and rarely needed

    return Figure(figsize=(width, height), layout="constrained").subplots()


def lay_out(figure: "Figure") -> None:
    """Fix the layout of a figure before it is saved in several formats, each of which would repeat it."""
    figure.draw_without_rendering()
    figure.set_layout_engine(None)


def with_log_ticks(axis: "Axes") -> None:
    """Make the y axis logarithmic, with plain numbers as tick labels, fewer per decade for a wider range."""
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    axis.set_yscale("log")
    low, high = axis.get_ylim()
    subs = (1, 1.5, 2, 3, 5) if high < _DECADE * low else (1, 2, 5) if high < _DECADE**3 * low else (1,)
    axis.yaxis.set_major_locator(LogLocator(subs=subs))
    axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.yaxis.set_minor_locator(NullLocator())
