"""Draws docs/images/smooth-curves.png and stores the numbers of docs/evidence/paper.md, from the paper's grains.

python docs/figures/smooth_curves.py    (needs matplotlib, and ../shared/data beside the repository)
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from kept import keep
from theme import BOTH, GREY

from napari_shape_ensembles import Ensemble, ShapeSpace, decompose, register, to_landmarks
from napari_shape_ensembles.shapes import product
from napari_shape_ensembles.shapes.expansion import LegendreExpansion, TrigonometricExpansion
from napari_shape_ensembles.shapes.registration import distinctness

mpl.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[2]
GRAINS = ROOT.parent / "shared" / "data" / "paper" / "pil184_grains.npz"
IMAGE = ROOT / "docs" / "images" / "smooth-curves.png"
RANKS = np.array([1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 900])
DRAWN = (5, 20, 50, 150)
GRAIN = 184


def landmarks():
    """Landmarks of the 466 unsmoothed grains of one half of the map and the 467 smoothed ones of the other."""
    data = np.load(GRAINS)
    curves = []
    for key in ("hlf1_noisy", "hlf2_smooth5"):
        factor, *origin = data[f"{key}_to_steps"]
        vertices = (data[f"{key}_xy"] * factor + origin)[:, ::-1]
        curves += np.split(vertices, data[f"{key}_offsets"][1:-1])
    return to_landmarks(Ensemble(curves), 500, measure="arc-length")


def learned():
    """The paper's shape space, and the coordinates of all grains, each aligned with the mean."""
    curves = landmarks()
    points = decompose(register(curves, curves[distinctness(curves).argmax()]).landmarks)
    space = ShapeSpace.learn(*points, 932)
    return space, *space.coordinates(*product.align(space.undulation_mean_, points))


def constants(space, t, l):
    """Lipschitz constants and lengths, (ranks, grains) each, relative to λ of the ellipse of the same scale."""
    rebuilt = [TrigonometricExpansion.through(space.reconstruct(t[:, :r], l)) for r in RANKS]
    long_axis = np.linalg.eigvalsh(rebuilt[0].decompose()[1])[:, 1]
    unit = 2 * np.pi * np.sqrt(2) * long_axis
    return np.array([curves.lipschitz() for curves in rebuilt]) / unit, np.array([c.lengths() for c in rebuilt]) / unit


def draw_grain(axes, space, t, l):
    """One grain and its smooth reconstructions of lower rank."""
    u = np.linspace(0, 1, 4001)

    def curve(r):
        return TrigonometricExpansion.through(space.reconstruct(t[GRAIN, None, :r], l[GRAIN, None]))

    axes.fill(*curve(932)(u)[0].T[::-1], color=GREY, alpha=0.35, label="the grain")
    for r, colour in zip(DRAWN, plt.get_cmap("viridis")(np.linspace(0, 0.85, len(DRAWN))), strict=True):
        smooth = curve(r)
        axes.plot(*smooth(u)[0].T[::-1], color=colour, lw=1.2, label=f"r = {r}, λ = {smooth.lipschitz()[0]:.0f} steps")
    axes.set_aspect("equal")
    axes.set(xlabel="EBSD steps", title="A grain of the ice, reconstructed")
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(0, -0.14), ncols=2, frameon=False)


def draw_constants(axes, ratios, lengths):
    """The Lipschitz constant by rank, for this grain and all others, and the length."""
    noisy = ratios[:, :466]
    low, middle, high = np.quantile(noisy, [0.1, 0.5, 0.9], axis=1)
    axes.fill_between(RANKS, low, high, alpha=0.25, label="80 % of the unsmoothed grains")
    axes.loglog(RANKS, middle, label="median λ, unsmoothed")
    axes.loglog(RANKS, np.median(ratios[:, 466:], axis=1), label="median λ, smoothed")
    axes.loglog(RANKS, np.median(lengths[:, :466], axis=1), "C0--", label="median length, unsmoothed")
    axes.loglog(RANKS, np.median(lengths[:, 466:], axis=1), "C1--", label="median length, smoothed")
    axes.loglog(RANKS, ratios[:, GRAIN], ".-", color=GREY, lw=0.8, label="λ of the grain on the left")
    axes.set(xlabel="rank r", ylabel="over λ of an ellipse of the same scale", title="Lipschitz constant λ")
    axes.set_ylim(0.75, 2.6)
    axes.set_yticks([0.8, 1, 1.5, 2], ["0.8", "1", "1.5", "2"])
    axes.yaxis.set_minor_formatter("")
    axes.legend(fontsize=8, ncols=2)


def figures(space, t, l, ratios, lengths):
    """Numbers quoted in the page."""
    medians = {}
    for r, row, length in zip(RANKS, ratios, lengths, strict=True):
        medians[str(r)] = [np.median(values) for values in (row[:466], row[466:], length[:466], length[466:])]
    grows = {}
    for name, values in (("λ", ratios), ("length", lengths)):
        rises = np.diff(values, axis=0) > 0
        grows[name] = [rises[RANKS[1:] <= 50].mean(), rises[RANKS[1:] > 50].mean()]
    trigonometric = TrigonometricExpansion.through(space.reconstruct(t[GRAIN, None, :50], l[GRAIN, None]))
    legendre = LegendreExpansion.project(trigonometric)
    coefficients = [trigonometric.coefficients.shape[1], legendre.coefficients.shape[1]]
    lipschitz = [trigonometric.lipschitz()[0], legendre.lipschitz()[0]]
    return {"medians": medians, "grows": grows, "coefficients": coefficients, "λ": lipschitz}


def main():
    """Compute, print, draw."""
    space, t, l = learned()
    ratios, lengths = constants(space, t, l)
    keep("smooth-curves", figures(space, t, l, ratios, lengths))
    plt.rcParams.update(BOTH)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 5), layout="constrained")
    draw_grain(left, space, t, l)
    draw_constants(right, ratios, lengths)
    IMAGE.parent.mkdir(exist_ok=True)
    figure.savefig(IMAGE, dpi=110)


if __name__ == "__main__":
    main()
