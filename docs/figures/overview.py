"""Draws docs/images/overview.png: two groups of cells: no difference in size is detected, and their forms differ.

Run as ``python docs/figures/overview.py``. The text is also stored as the description of the picture, which
tools/write_docs.py compares with the stored results.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt
from real_data import PAIRS

from napari_shape_ensembles import compare

IMAGES = Path(__file__).resolve().parents[1] / "images"
HEADING = "Osteosarcoma cells, two lines under the drug"
COLORS = ("#1f77b4", "#d95f02")


def words(found):
    """Text below the figure, from a result of the gallery."""
    size = found["parts"]["mean size"]
    return f"size: no difference detected (mean size, p = {size:.2g})    form: differs (p = {found['undulation']:.2g})"


def upright(curve):
    """A curve about its center, its long axis upright; x to the right, y up."""
    points = curve[:, ::-1] - curve.mean(axis=0)[::-1]
    return points @ np.linalg.svd(points, full_matrices=False)[2][::-1].T


def main():
    """Compare and draw."""
    pair = next(pair for pair in PAIRS if pair.heading == HEADING)
    result = compare(*pair.load())
    parts = {name: part.p_value for name, part in {**result.undulation.parts, **result.scale.parts}.items()}
    said = words({"parts": parts, "undulation": result.undulation.p_value})
    sides = (result.a, result.b)
    figure, (sizes, shown) = plt.subplots(1, 2, figsize=(8.4, 3.3), width_ratios=(1, 3.2), layout="constrained")
    rng = np.random.default_rng(0)
    for place, (side, color) in enumerate(zip(sides, COLORS, strict=True)):
        diameter = side.features["equivalent_diameter"]
        sizes.plot(place + rng.uniform(-0.2, 0.2, len(side)), diameter, ".", color=color, ms=4, alpha=0.6)
        sizes.plot([place - 0.3, place + 0.3], [diameter.median()] * 2, color=color, lw=2)
    sizes.set_xticks((0, 1), [side.name for side in sides])
    sizes.set(ylabel="diameter, pixels", xlim=(-0.5, 1.5), ylim=(0, None), title="sizes")
    sizes.spines[["top", "right"]].set_visible(False)
    typical = result.typical(10)
    curves = [
        [upright(side.curves[list(side.ids).index(one)]) for one in typical.loc[typical["sample"] == name, "id"]]
        for side, name in zip(sides, typical["sample"].unique(), strict=True)
    ]
    width, height = 1.1 * np.max([np.ptp(curve, axis=0) for group in curves for curve in group], axis=0)
    for group, color in zip(curves, COLORS, strict=True):
        for place, curve in enumerate(group):
            middle = (curve.max(axis=0) + curve.min(axis=0)) / 2
            closed = np.vstack([curve, curve[:1]]) - middle + [width * (place % 5), -height * (place // 5)]
            shown.plot(*closed.T, color=color, lw=1.6)
    shown.set_aspect("equal")
    shown.axis("off")
    shown.set_title(f"typical outlines of {sides[0].name} (blue) and {sides[1].name} (orange), over each other")
    figure.supxlabel(said, fontsize=11)
    path = IMAGES / "overview.png"
    figure.savefig(path, dpi=110, metadata={"Description": said})
    plt.close(figure)


if __name__ == "__main__":
    main()
