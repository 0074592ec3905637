"""Compares every pair of real ensembles, draws docs/images/gallery-*.png and writes docs/gallery.md.

Run as ``python docs/figures/gallery.py``.
"""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PolyCollection
from real_data import pairs

from napari_shape_ensembles import compare

DOCS = Path(__file__).resolve().parents[1]
HEAD = """# Gallery

Real images, each compared with the default settings. Curves are filled by their distance from the common mean shape;
both sides share one scale. This page and its pictures are written by `python docs/figures/gallery.py` from the data
described in [data.md](data.md).
"""
SHOWN = 60


def draw(result, path):
    """Show the curves of both ensembles nearest to their places, filled by distance from the mean shape."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    distances = result.distances["product"].to_numpy()
    top = np.quantile(distances, 0.98)
    parts = ((result.a, distances[: len(result.a)]), (result.b, distances[len(result.a) :]))
    for axis, (ensemble, values) in zip(axes, parts, strict=True):
        chosen = np.random.default_rng(0).permutation(len(ensemble))[:SHOWN]
        boxes = np.array([np.ptp(ensemble.curves[i], axis=0) for i in chosen])
        cell = np.quantile(boxes, 0.95) * 1.15
        polygons = [
            (ensemble.curves[i] - ensemble.curves[i].mean(axis=0))[:, ::-1] + np.array(divmod(place, 6)) * cell
            for place, i in enumerate(chosen)
        ]
        fill = PolyCollection(polygons, array=values[chosen], cmap="viridis", clim=(0, top), ec="0.2", lw=0.4)
        axis.add_collection(fill)
        axis.autoscale()
        axis.set_aspect("equal")
        axis.axis("off")
        axis.set_title(f"{ensemble.name}: {len(ensemble)} curves, {len(chosen)} shown", fontsize=10)
    figure.colorbar(fill, ax=axes, label="distance from the mean shape", shrink=0.8)
    figure.savefig(path, dpi=90)
    plt.close(figure)


def entry(heading, remark, result):
    """Text of one pair: what it is, the picture, the answer and its numbers."""
    picture = f"images/gallery-{re.sub('[^a-z0-9]+', '-', heading.lower()).strip('-')}.png"
    draw(result, DOCS / picture)
    tested = {**result.undulation.parts, **result.scale.parts}
    parts = "; ".join(f"{name} p = {part.p_value:.2g}" for name, part in tested.items())
    return (
        f"\n## {heading}\n\n{remark}\n\n![Outlines of both ensembles]({picture})\n\n"
        f"**{result.case}**: {result.summary()} Parts: {parts}.\n"
    )


def main():
    """Write the page."""
    text = HEAD + "".join(entry(heading, remark, compare(a, b)) for heading, remark, a, b in pairs())
    (DOCS / "gallery.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
