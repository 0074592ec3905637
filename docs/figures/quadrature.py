"""Draws docs/images/quadrature.png and stores the table of docs/explanation/geometry.md: convergence on a Cassini oval.

python docs/figures/quadrature.py    (needs matplotlib, and ../shared/data beside the repository)
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from kept import keep
from theme import BOTH, GREY

from napari_shape_ensembles.shapes.quadrature import Eigenfunctions, quadrature_weights

mpl.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[2]
PAPER = ROOT.parent / "shared" / "data" / "paper" / "cassini_convergence.csv"
IMAGE = ROOT / "docs" / "images" / "quadrature.png"
COUNTS = np.array([4, 8, 16, 24, 32, 40, 48, 56, 64, 96, 128, 256])
OVALS = {"b = 1.2": 1.2, "b⁴ = 1.5, as drawn in the paper": 1.5**0.25}


def oval(angles, b):
    """Points of a Cassini oval: the product of the distances from (±1, 0) is b²."""
    radius = np.sqrt(np.cos(2 * angles) + np.sqrt(b**4 - np.sin(2 * angles) ** 2))
    return radius[..., None] * np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def angles(n):
    """Equal steps, off the symmetry axes."""
    return 2 * np.pi * np.arange(n) / n + 0.1


def errors(b):
    """Maximum error of the eigenfunctions at 10 000 points, relative to 8192 nodes, by number of nodes."""
    fine = oval(angles(10_000), b)[None]

    def evaluated(n):
        nodes = oval(angles(n), b)[None]
        return Eigenfunctions.from_nodes(nodes, quadrature_weights(nodes))(fine)

    reference = evaluated(8192)
    return np.array([np.linalg.norm(evaluated(n) - reference, axis=-1).max() for n in COUNTS])


def draw_nodes(axes):
    """The oval with 8, 16 and 32 nodes; shared nodes are darker."""
    curve = oval(np.linspace(0, 2 * np.pi, 1000), 1.2)
    axes.plot(*curve.T, color=GREY, alpha=0.4, lw=6, zorder=0)
    for n, size, colour in ((32, 22, "#b9d3ee"), (16, 42, "#5b9bd5"), (8, 80, "#3a78b5")):
        points = oval(angles(n), 1.2)
        axes.plot(*np.vstack([points, points[:1]]).T, "--", color=colour, lw=0.8)
        axes.scatter(*points.T, s=size, color=colour, label=f"n = {n}", zorder=3)
    axes.set_aspect("equal")
    axes.legend(loc="center", frameon=False)
    axes.set_axis_off()
    axes.set_title("Nodes at equal steps of the angle")


def draw_errors(axes, found):
    """Errors by number of nodes, and those in the paper's figure."""
    for (name, error), marker in zip(found.items(), "os", strict=True):
        axes.semilogy(COUNTS, error, f"{marker}-", label=name)
    n, error = np.loadtxt(PAPER, delimiter=",", skiprows=1).T
    axes.semilogy(n, error, "^:", label="drawn in the paper", color=GREY)
    axes.axhline(np.finfo(float).eps, color="0.6", lw=0.8)
    axes.text(4, 1.3 * np.finfo(float).eps, "rounding", va="bottom", color=GREY)
    axes.set_xscale("log", base=2)
    axes.set_xticks(2 ** np.arange(2, 9), 2 ** np.arange(2, 9))
    axes.set(xlabel="nodes n", ylabel="largest error of the eigenfunctions", title="Convergence")
    axes.legend()


def main():
    """Compute, print, draw."""
    found = {name: errors(b) for name, b in OVALS.items()}
    n, drawn = np.loadtxt(PAPER, delimiter=",", skiprows=1).T
    paper = dict(zip(n.round().astype(int).tolist(), drawn.tolist(), strict=True))
    keep("quadrature", {str(n): [*row, paper.get(n)] for n, *row in zip(COUNTS.tolist(), *found.values(), strict=True)})
    plt.rcParams.update(BOTH)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    draw_nodes(left)
    draw_errors(right, found)
    IMAGE.parent.mkdir(exist_ok=True)
    figure.savefig(IMAGE, dpi=110)


if __name__ == "__main__":
    main()
