"""Draws docs/images/scale-and-undulation.png: four outlines, each decomposed into scale and undulation."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from theme import BOTH, GREY

from napari_shape_ensembles import Ensemble, decompose, to_landmarks

OUT = Path(__file__).resolve().parents[1] / "images" / "scale-and-undulation.png"
ANGLE = np.linspace(0, 2 * np.pi, 400, endpoint=False)


def outline(aspect, waves=()):
    """Closed curve with an ellipse's aspect ratio and (order, amplitude, phase) modes of its radius."""
    radius = 1 + sum((height * np.cos(order * ANGLE + phase) for order, height, phase in waves), np.zeros_like(ANGLE))
    z = radius * np.exp(1j * ANGLE)
    return 10 * np.stack([z.imag / np.sqrt(aspect), z.real * np.sqrt(aspect)], axis=-1)


LOBES = ((3, 0.18, 0.4), (4, 0.08, 1.9))
ROUGH = tuple((order, 0.011, order**2 * 1.3) for order in range(11, 33))
OUTLINES = {
    "circle": outline(1),
    "ellipse": outline(2),
    "blob": outline(1, LOBES),
    "rough, stretched blob": outline(2, LOBES + ROUGH),
}


def main():
    """Draw and save."""
    plt.rcParams.update(BOTH)
    curves = Ensemble(list(OUTLINES.values()))
    landmarks = to_landmarks(curves, 500)
    undulation, scale = decompose(landmarks)
    figure, axes = plt.subplots(len(OUTLINES), 3, figsize=(7.2, 7.4), sharex=True, sharey=True, layout="constrained")
    circle = np.stack([np.sin(ANGLE), np.cos(ANGLE)], axis=-1) * np.sqrt(2)
    for row, name, points, form, size in zip(axes, OUTLINES, landmarks, undulation, scale, strict=True):
        parts = (points - points.mean(axis=0), circle @ size, form * np.sqrt(len(form)) * 7)
        for axis, part, colour in zip(row, parts, (GREY, "#d07a1c", "#6b6bd0"), strict=True):
            axis.fill(*part.T[::-1], facecolor=colour, alpha=0.18)
            axis.plot(*np.vstack([part, part[:1]]).T[::-1], color=colour, lw=1.6)
            axis.set_aspect("equal")
            axis.axis("off")
        row[0].text(-0.02, 0.5, name, transform=row[0].transAxes, rotation=90, va="center", ha="right", fontsize=11)
    titles = (
        "the outline\n",
        "its scale P:\nsize, elongation, direction",
        "its undulation X̃:\nwhat no linear map\ncan produce",
    )
    for axis, title in zip(axes[0], titles, strict=True):
        axis.set_title(title, fontsize=11)
    OUT.parent.mkdir(exist_ok=True)
    figure.savefig(OUT, dpi=110)


if __name__ == "__main__":
    main()
