"""Draws docs/images/data-flow.png: the flow of data through the packages."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

OUT = Path(__file__).resolve().parents[1] / "images" / "data-flow.png"
# Types of data, with the package and the function that produce the next.
WAY = (
    ("image", "outlines/  segment"),
    ("labels", "outlines/  extract_curves"),
    ("Ensemble of closed curves", "shapes/  to_landmarks"),
    ("landmarks (N, n, 2)", "shapes/  register, decompose"),
    ("undulation X̃, scale P", "shapes/  ShapeSpace"),
    ("coordinates t, ℓ", "mmd/  mmd_test"),
    ("two tests", "comparison/  compare"),
    ("Comparison:\nrow of the truth table", ""),
)
BOX = {"boxstyle": "round,pad=0.45", "facecolor": "#dbe7f4", "edgecolor": "#4a77a8"}
OTHER = BOX | {"facecolor": "#f6e3cf", "edgecolor": "#b5762c"}
GREY = "#808080"  # readable on light and dark backgrounds


def main():
    """Draw and save."""
    figure, axis = plt.subplots(figsize=(7, 7.6))
    places = [(0, -i) for i in range(len(WAY) - 1)] + [(0, 0.85 - len(WAY))]
    for (x, y), (name, step) in zip(places, WAY, strict=True):
        axis.text(x, y, name, ha="center", va="center", bbox=BOX, fontsize=11, color="#14202c")
        if step:
            axis.annotate("", (x, y - 0.76), (x, y - 0.24), arrowprops={"arrowstyle": "->", "color": GREY, "lw": 1.4})
            axis.text(x + 0.08, y - 0.5, step, ha="left", va="center", fontsize=9.5, color=GREY, family="monospace")
    beside = (
        ("recipe: Outlines", (-1.6, -0.5), (-0.1, -0.5)),
        ("polygons", (-1.9, -2), (-1.0, -2)),
        ("Settings", (-1.6, -5.5), (-0.1, -5.5)),
        ("reasons: explanation/,\ninspection/, studies/", (-1.75, -8.5), (-0.6, -7.5)),
        ("files: io/", (0, -8.5), (0, -7.5)),
        ("layers and docks:\nviewer/", (1.6, -8.5), (0.6, -7.5)),
    )
    for name, place, target in beside:
        outwards = place[1] < -8
        ends = (place, target) if not outwards else ((place[0], place[1] + 0.3), target)
        arrow = {"arrowstyle": "<-" if outwards else "->", "color": GREY, "lw": 1.2}
        arrow |= {"linestyle": "-" if outwards or name == "polygons" else "--"}
        axis.annotate("", ends[1], ends[0], arrowprops=arrow)
        axis.text(*place, name, ha="center", va="center", bbox=OTHER, fontsize=10, color="#2c1d0a")
    axis.set(xlim=(-2.7, 2.7), ylim=(-8.8, 0.4))
    axis.axis("off")
    figure.savefig(OUT, dpi=100, transparent=True, bbox_inches="tight", pad_inches=0.05)


if __name__ == "__main__":
    main()
