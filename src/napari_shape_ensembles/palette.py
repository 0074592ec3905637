"""The colors of A, of B and of what is drawn beside them, the same in layers, plots, docks and reports.

A and B differ in lightness as well as in hue, and are told apart with every kind of color vision.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOR_A = "#0073b3"
COLOR_B = "#e69e00"
#: Of each side by its letter.
SIDE_COLORS = {"A": COLOR_A, "B": COLOR_B}
#: The middle of a scale from B to A.
NEUTRAL = "#f0f0f0"
#: Outlines over an image.
OUTLINE = "#ffd400"
#: Outlines over an image of curves that are ranked, and of those among them that are excluded.
RANKED, EXCLUDED = "#9aa0a6", "#e0529c"
#: Painted outlines that are picked: on none of the scales that outlines are painted by.
PICKED = "#ff40ff"


def axes_of(ax: "Axes | None", *, width: float = 7.0, height: float = 5.0) -> "Axes":
    """Axes to draw on: those given, or those of a new figure, in inches, that pyplot knows nothing of."""
    if ax is not None:
        return ax
    from matplotlib.figure import Figure  # heavy, and seldom needed

    return Figure(figsize=(width, height), layout="constrained").subplots()


def with_log_ticks(axis: "Axes") -> None:
    """Make the upward axis logarithmic, with plain numbers at its ticks."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5)))
    axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())
