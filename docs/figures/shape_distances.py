"""Draws docs/images/geodesic.png and stores the table of docs/explanation/geometry.md, from the paper's grains.

python docs/figures/shape_distances.py    (needs matplotlib, and ../shared/data beside the repository)
"""

from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
from kept import keep

from napari_shape_ensembles import Ensemble, decompose, register, to_landmarks
from napari_shape_ensembles.shapes import procrustes_distances, product, shape_distances
from napari_shape_ensembles.shapes.registration import distinctness

mpl.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[2]
GRAINS = ROOT.parent / "shared" / "data" / "paper" / "pil184_grains.npz"
IMAGE = ROOT / "docs" / "images" / "geodesic.png"
BINS = (0, 0.02, 0.05, 0.1, 0.2, 0.4, 1)
ENDS = (184, 61)


def landmarks(key):
    """Landmarks of one set of outlines."""
    data = np.load(GRAINS)
    factor, *origin = data[f"{key}_to_steps"]
    vertices = (data[f"{key}_xy"] * factor + origin)[:, ::-1]
    return to_landmarks(Ensemble(np.split(vertices, data[f"{key}_offsets"][1:-1])))


def flips(noisy, smooth):
    """Number of matches, and fraction changed by smoothing, by distinctness."""
    noisy, smooth = (decompose(curves)[0] for curves in (noisy, smooth))
    archetype = smooth[distinctness(smooth).argmax()]
    one, other = (register(curves, archetype) for curves in (noisy, smooth))
    apart = np.linalg.norm(one.landmarks - other.landmarks, axis=(1, 2)) / np.sqrt(2)
    nearest = np.array([procrustes_distances(a[None], b[None])[0, 0] for a, b in zip(noisy, smooth, strict=True)])
    changed = apart > 1.5 * nearest
    found = []
    for low, high in pairwise(BINS):
        chosen = (other.distinctness >= low) & (other.distinctness < high)
        found.append((chosen.sum(), changed[chosen].mean()))
    return found


def draw_geodesic(start, end):
    """Draw seven curves on the geodesic from one grain to another; returns their distance."""
    end = register(end[None], start).landmarks[0]
    points = [tuple(part[0] for part in decompose(curve[None])) for curve in (start, end)]
    curves = product.compose(product.geodesic(*points, np.linspace(0, 1, 7)))
    figure, axes = plt.subplots(figsize=(11, 1.9), layout="constrained")
    step = 1.25 * np.ptp(curves[..., 1], axis=1).max()
    for i, (curve, colour) in enumerate(zip(curves, plt.get_cmap("viridis")(np.linspace(0, 0.85, 7)), strict=True)):
        axes.fill(curve[:, 1] + i * step, curve[:, 0], color=colour, alpha=0.85)
    axes.set_aspect("equal")
    axes.set_axis_off()
    figure.savefig(IMAGE, dpi=110, bbox_inches="tight", transparent=True)
    found = shape_distances(end[None], start)
    return {"undulation": found.undulation[0], "scale": found.scale[0]}


def main():
    """Compute, print, draw."""
    noisy, smooth = landmarks("hlf1_noisy"), landmarks("hlf1_smooth5")
    apart = draw_geodesic(*(smooth[i] for i in ENDS))
    keep("shape-distances", {"apart": apart, "flips": flips(noisy, smooth)})


if __name__ == "__main__":
    main()
