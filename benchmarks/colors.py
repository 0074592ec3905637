"""How well colors of outlines agree with the paper's and show planted faults, and which real sets have a common form.

    python benchmarks/colors.py [--draws 5] [--first 300] [--out docs/results/colors.json]

Data: ../shared/data. Rank correlations of the colorings with the colors of the paper's 933 grains; the area under the
ROC curve of 6 % planted faults among up to 400 outlines of a set; and U (see `comparison.common_form`) of every group.
"""

import sys
from pathlib import Path

import numpy as np
import shapely
from scipy.stats import rankdata, spearmanr
from shapely import affinity

from napari_shape_ensembles import Ensemble, compare
from napari_shape_ensembles.comparison.common_form import unexplained
from power import labelled
from results_file import parser_of, printed, record

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs" / "figures"))
from real_data import AGED_24, AGED_85, DATA, cells, curves, grains, powder, steel

COLORINGS = ("distance_from_mean", "paper_distance", "unusual", "unusual_form", "unusual_size", "scale")
SHARE = 0.06
MOST = 400


def nuclei(kind):
    """Mouse fibroblasts in labeled fields, wild type or knock-out, without debris."""
    paths = (DATA / "replicates" / "mef_nuclei").glob(f"{kind}_*.png")
    return Ensemble(labelled(paths, 600).curves, name=kind)


def hearts(half):
    """Hearts drawn by hand by four of eight persons."""
    outlines, data = curves("replicates/hearts.npz")
    chosen = np.isin(data["person"], np.unique(data["person"])[4 * half : 4 * half + 4])
    return Ensemble(
        [one for one, keep in zip(outlines, chosen, strict=True) if keep],
        name=f"persons {4 * half + 1} to {4 * half + 4}",
    )


SETS = {
    "powder": lambda: (powder(0, "image 1"), powder(1, "image 2")),
    "nuclei": lambda: (nuclei("wt"), nuclei("ko")),
    "cells": lambda: (cells(0, 0, "control"), cells(0, 2, "cytochalasin D")),
    "carbides": lambda: (steel(AGED_24, "24 h"), steel(AGED_85, "85 h")),
    "hearts": lambda: (hearts(0), hearts(1)),
    "grains": lambda: (grains("hlf1_smooth5", "half 1"), grains("hlf2_smooth5", "half 2")),
}


def faulty(curve, other, kind, rng):
    """An outline with a fault of a kind."""
    whole = shapely.Polygon(curve).buffer(0)
    radius, angle = np.sqrt(whole.area / np.pi), rng.uniform(0, 2 * np.pi)
    out = np.array([np.cos(angle), np.sin(angle)])
    edge = np.array(whole.centroid.coords[0]) + out * radius
    if kind == "merged pair":
        there = shapely.Polygon(other).buffer(0)
        by = edge - np.array(there.centroid.coords[0]) + 0.85 * out * np.sqrt(there.area / np.pi)
        whole = whole.union(affinity.translate(there, *by))
    elif kind == "bite":
        whole = whole.difference(shapely.Point(edge).buffer(0.5 * radius))
    elif kind == "spike":
        side = 0.15 * radius * np.array([-out[1], out[0]])
        base = edge - 0.5 * out * radius
        whole = whole.union(shapely.Polygon([base - side, edge + 0.8 * out * radius, base + side]))
    elif kind == "shift":  # one half along the other, as at the seam of two tiles
        far, along = 10 * radius * out, np.array([-out[1], out[0]])
        center = np.array(whole.centroid.coords[0])
        corners = (-1, 0), (1, 0), (1, 1), (-1, 1)
        half = shapely.Polygon([center + 10 * radius * side * along + end * far for side, end in corners])
        moved = affinity.translate(whole.intersection(half), *(0.3 * radius * along))
        whole = whole.difference(half).union(moved).buffer(0.01 * radius)
    else:
        whole = affinity.scale(whole, *[0.5 if kind == "half size" else 2.0] * 2)
    largest = max(getattr(whole, "geoms", [whole]), key=lambda one: one.area)
    return np.array(largest.exterior.coords)[:-1]


FAULTS = ("merged pair", "bite", "spike", "half size", "double size", "shift")


def under_curve(values, planted):
    """Area under the ROC curve."""
    ranks, count = rankdata(values), planted.sum()
    return (ranks[planted].sum() - count * (count + 1) / 2) / count / (~planted).sum()


def planted_faults(name, draws, first):
    """Mean area under the ROC curve of each coloring for planted faults in a set."""
    found = []
    for seed in range(first, first + draws):
        rng = np.random.default_rng(seed)
        whole = [curve for side in SETS[name]() for curve in side.curves]
        whole = [whole[place] for place in rng.permutation(len(whole))[:MOST]]
        planted = np.zeros(len(whole), dtype=bool)
        chosen = rng.choice(len(whole), int(np.ceil(SHARE * len(whole))), replace=False)
        for place, row in enumerate(chosen):
            other = whole[rng.integers(len(whole))]
            whole[row] = faulty(whole[row], other, FAULTS[place % len(FAULTS)], rng)
            planted[row] = True
        half = len(whole) // 2
        table = compare(Ensemble(whole[:half]), Ensemble(whole[half:]), permutations=19, overrule=True).outlines
        found.append([under_curve(table[one].to_numpy(), planted) for one in COLORINGS])
    return dict(zip(COLORINGS, np.mean(found, axis=0), strict=True))


def agreement():
    """Rank correlation of the colorings with the colors of the paper's figure."""
    rows = []
    for first in ("hlf1_noisy", "hlf1_smooth5"):
        keys = first, "hlf2_smooth5"
        table = compare(*(grains(key, key) for key in keys), permutations=19, overrule=True).outlines
        colors = np.concatenate([curves("paper/pil184_grains.npz", key)[1][f"{key}_colour_value"] for key in keys])
        found = {one: f"{spearmanr(table[one], colors)[0]:.3f}" for one in COLORINGS}
        rows.append(printed(grains="as mapped" if "noisy" in first else "smoothed", **found))
    return rows


def common_form(name):
    """U of both groups of a set, and the outlines in each."""
    a, b = SETS[name]()
    result = compare(a, b, permutations=199, overrule=True)
    of_a, of_b = unexplained(result)
    sides = {f"{side.name} ({len(side)})": f"{u:.2f}" for side, u in ((a, of_a), (b, of_b))}
    return printed(set=name, groups=" / ".join(sides), U=" / ".join(sides.values()))


def main():
    """Print the tables, and store them."""
    options = parser_of(__doc__, draws=5, first=300).parse_args()
    record(options.out, common_form=[common_form(name) for name in SETS])
    record(options.out, agreement=agreement())
    record(options.out, draws=options.draws)
    areas = {name: planted_faults(name, options.draws, options.first) for name in SETS}
    areas["mean"] = {one: np.mean([of[one] for of in areas.values()]) for one in COLORINGS}
    rows = [printed(set=name, **{one: f"{area:.2f}" for one, area in of.items()}) for name, of in areas.items()]
    record(options.out, faults=rows)


if __name__ == "__main__":
    main()
